//! The commands that are named to be typed next do, typed as they are printed, what was meant.

use libtest_mimic::Failed;

use crate::standing::Desk;
use crate::support::{Case, Outcome, Ran, at, fail, sandboxed};

pub(crate) fn cases() -> Vec<Case> {
    vec![sandboxed("next_steps::they_name_a_run_that_is_not_the_newest", they_name_a_run_that_is_not_the_newest)]
}

/// Finds the commands that are printed: each on a line of its own, or between backquotes.
fn commands(ran: &Ran) -> Vec<String> {
    let all = format!("{}\n{}", ran.stdout, ran.stderr);
    let parts = all.lines().flat_map(|line| line.split('`').map(str::trim));
    parts.filter(|part| part.starts_with("orchestrate ")).map(str::to_owned).collect()
}

fn run_of(desk: &Desk) -> Result<String, Failed> {
    Ok(at(&desk.types(&["status", "--json"], 0)?.json()?, "/run_id")?.as_str().unwrap_or_default().to_owned())
}

fn they_name_a_run_that_is_not_the_newest() -> Outcome {
    let desk = Desk::new(
        "- [ ] T1 one (run: touch one) (review: required)\n- [ ] T2 two (run: touch two)\n- [ ] T3 three (run: false)\n",
    )?;
    let first = desk.types(&["run", "plan.md"], 1)?;
    let next = ["orchestrate review T1", "orchestrate retry T3 -m TEXT", "orchestrate review", "orchestrate land"];
    if let Some(missing) = next.iter().find(|next| !commands(&first).contains(&(**next).to_owned())) {
        return fail(format!("{missing} is not in {:?}", commands(&first)));
    }
    let older = run_of(&desk)?;
    desk.repository.write("other.md", "- [ ] T1 one (run: touch other) (review: required)\n")?;
    desk.types(&["run", "other.md"], 3)?;
    let looks: [(&[&str], i32); 10] = [
        (&["status", &older], 0),
        (&["review", &older], 0),
        (&["review", "T1", "--run", &older], 0),
        (&["review", "T2", "--run", &older], 0),
        (&["review", "T3", "--run", &older], 0),
        (&["log", &older], 0),
        (&["retry", "T2", "--run", &older], 2),
        (&["reject", "T2", "-m", "Again.", "--run", &older], 1),
        (&["approve", "T1", "--tree", "0123", "--run", &older], 2),
        (&["approve", "T1", "--run", &older], 1),
    ];
    for (arguments, code) in looks {
        let named = commands(&desk.types(arguments, code)?);
        let astray = named.iter().find(|command| !command.contains(&older));
        if named.is_empty() || astray.is_some() {
            return fail(format!("{arguments:?}: {astray:?} of {named:?}"));
        }
    }
    let landed = desk.types(&["status", &older], 0)?;
    let land =
        commands(&landed).into_iter().find(|command| command.starts_with("orchestrate land")).unwrap_or_default();
    desk.types(&land.split_whitespace().skip(1).collect::<Vec<_>>(), 0)?;
    if desk.repository.path().join("two").exists() { Ok(()) } else { fail(land) }
}
