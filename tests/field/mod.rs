//! Projects as people have them, each worked on from its setup to its landing, in each tier of the
//! sandbox.
//!
//! A scripted model carries out three tasks, two of which first plant a bug that the project's own
//! tests have to find: one in a task's worktree, one in the merged tree. A check that tests the
//! checkout instead stays green, and so fails the case. Most public projects are set up by `init
//! --yes` alone. The short form makes small projects of each shape ([`shapes`]).
//! `ORCHESTRATE_FIELD=all` adds public ones ([`public`]), which need the network and the tools of
//! their languages.

mod public;
mod shapes;
mod transcript;

use orchestrate_sandbox::Confinement;
use serde_json::json;

use crate::support::{
    Case, Home, Need, Outcome, Repository, Rule, Script, Session, World, case, done, on,
    require_words,
};

/// The environment variable that, set to `all`, adds the public projects.
const LONG_FORM: &str = "ORCHESTRATE_FIELD";
/// The setting that names registries whose addresses are not public ones; it is passed on.
const SETUP_HOSTS: &str = "ORCHESTRATE_WORKTREE_SETUP_HOSTS";
/// The folder of programs below the home that a project's setup may fill.
const PROGRAMS: &str = ".pyenv/versions/field/bin";
/// The tasks: one only adds a file, the check of the merged tree finds the bug of one, and one has
/// its own check.
const HARMLESS: &str = "T1";
const UNCHECKED: &str = "T2";
const CHECKED: &str = "T3";

/// A project and how its users work on it.
#[derive(Clone, Copy)]
struct Project {
    name: &'static str,
    needs: &'static [Need],
    /// Writes the files to be committed, and what the user's own setup makes beside them.
    lay_out: fn(&World) -> Outcome,
    /// The command that runs the project's own tests: `init` finds it itself if it is used.
    verify: &'static str,
    /// What `init --yes` says besides the check; `None` if the check is typed for the run instead.
    init: Option<&'static [&'static str]>,
    /// What is planted in the merged tree, and in a task's worktree.
    bugs: [Bug; 2],
}

/// A bug that the project's tests find.
#[derive(Clone, Copy)]
struct Bug {
    file: &'static str,
    good: &'static str,
    bad: &'static str,
    /// What the failed check prints.
    symptom: &'static str,
}

pub(crate) fn cases() -> Vec<Case> {
    let is_long = std::env::var_os(LONG_FORM).is_some_and(|value| value == "all");
    let public = if is_long {
        public::projects()
    } else {
        Vec::new()
    };
    let projects = shapes::projects().into_iter().chain(public);
    let tiers = [Confinement::Full, Confinement::Fallback];
    let followed = projects.flat_map(|project| tiers.map(|tier| in_tier(project, tier)));
    followed.chain(transcript::cases()).collect()
}

fn in_tier(project: Project, tier: Confinement) -> Case {
    let case = case(format!("field::{}_{tier}", project.name), move || {
        follow(&project, tier)
    });
    project
        .needs
        .iter()
        .fold(case.in_tier(tier), |case, need| case.needs(*need))
}

/// Follows a user from the project's setup to the landing, and back.
fn follow(project: &Project, tier: Confinement) -> Outcome {
    let world = World {
        home: Home::new()?,
        repository: Repository::unborn()?,
    };
    let repository = &world.repository;
    (project.lay_out)(&world)?;
    repository.commit_all("Start")?;
    let mut session = Session::new(&world.home, repository.path(), tier)?.with_programs(PROGRAMS);
    if let Ok(hosts) = std::env::var(SETUP_HOSTS) {
        session = session.with_variable(SETUP_HOSTS, &hosts);
    }
    let check = match project.init {
        Some(words) => {
            let said = session.types("orchestrate init --yes")?;
            require_words(&said, words)?;
            require_words(&said, &[project.verify])?;
            String::new()
        }
        None => format!(" --verify {:?}", project.verify),
    };
    let start = repository.fingerprint()?;

    let (plan, script) = (
        world.write("plan.md", &plan(project))?,
        world.script(&script(project))?,
    );
    let run = session.types(&format!("orchestrate run {plan} --model {script}{check}"))?;
    require_words(&run, &[&format!("sandbox tier: {tier}"), "succeeded in"])?;
    for step in [
        "T2: check of the merged tree FAILED",
        "T2: returned",
        "T3: check FAILED",
        "T3: returned",
    ] {
        require_words(&run, &[step])?;
    }
    for (task, bug) in [UNCHECKED, CHECKED].into_iter().zip(&project.bugs) {
        require_words(
            &session.quietly(&format!("orchestrate log {task}"))?,
            &["FAILED", bug.symptom],
        )?;
    }
    start.require_same(&repository.fingerprint()?)?;

    session.types("orchestrate land")?;
    for task in [HARMLESS, UNCHECKED, CHECKED] {
        repository.read(&note(task))?;
    }
    project
        .bugs
        .iter()
        .try_for_each(|bug| require_words(&repository.read(bug.file)?, &[bug.good]))?;
    session.types("orchestrate land --undo")?;
    start.require_same_bytes(&repository.fingerprint()?)
}

/// The file that a task adds.
fn note(task: &str) -> String {
    format!("notes/{task}.md")
}

fn plan(project: &Project) -> String {
    let verify = project.verify;
    format!(
        "- [ ] {HARMLESS} Write a note\n- [ ] {UNCHECKED} Write another one\n- [ ] {CHECKED} Write the last one\n  \
         - verify: {verify}\n"
    )
}

/// Returns the replies: the tasks that plant a bug take it out again when their work comes back.
fn script(project: &Project) -> Script {
    let script = Script::default()
        .rule(writing(HARMLESS))
        .rule(done(HARMLESS));
    [UNCHECKED, CHECKED]
        .into_iter()
        .zip(&project.bugs)
        .fold(script, |script, (task, bug)| {
            let (planted, mended) = (
                edit(bug.file, bug.good, bug.bad),
                edit(bug.file, bug.bad, bug.good),
            );
            script
                .rule(writing(task).call("update_file", &planted))
                .rule(on(task, 3).call("update_file", &mended))
                .rule(done(task))
        })
}

fn writing(task: &str) -> Rule {
    crate::support::write(task, &note(task), "A note.\n")
}

fn edit(path: &str, old: &str, new: &str) -> serde_json::Value {
    json!({ "path": path, "old": old, "new": new })
}
