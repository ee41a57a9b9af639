//! What to type next: the commands for the user's possible actions after a result.

use orchestrate_core::{Action, RunId};

use crate::show::progress::short;
use crate::show::run_argument::Named;

/// Returns the commands for these actions on a run.
pub(crate) fn commands(named: Named<'_>, run: &RunId, actions: &[Action]) -> Vec<String> {
    actions
        .iter()
        .map(|action| command(named, run, action))
        .collect()
}

fn command(named: Named<'_>, run: &RunId, action: &Action) -> String {
    match action {
        Action::Resume {
            more_tokens,
            more_money,
            more_time,
        } => {
            let tokens = if *more_tokens {
                " --budget-tokens N"
            } else {
                ""
            };
            let money = if *more_money { " --budget-usd N" } else { "" };
            let time = if *more_time { " --timeout TIME" } else { "" };
            format!("orchestrate resume {run}{tokens}{money}{time}")
        }
        Action::Stop => named.whole("stop"),
        Action::Log(None) => named.whole("log"),
        Action::Log(Some(task)) => format!("orchestrate log {run} {task}"),
        Action::Review(None) => named.whole("review"),
        Action::Review(Some(task)) => named.review(task),
        Action::Answer(call) => named.within(format!("approve {}", short(call))),
        Action::Reply { task, question } => {
            named.within(format!("message {task} TEXT --reply-to {question}"))
        }
        Action::Approve(task) => named.within(format!("approve {task}")),
        Action::Adopt(task) => named.within(format!("adopt {task}")),
        Action::Reject(task) => named.within(format!("reject {task} -m TEXT")),
        Action::Retry(task) => named.within(format!("retry {task} -m TEXT")),
        Action::Drop {
            task,
            with_dependents,
        } => named.within(format!(
            "drop {task}{}",
            if *with_dependents {
                " --with-dependents"
            } else {
                ""
            }
        )),
        Action::Land => named.whole("land"),
        Action::MergeByHand(result) => format!("git merge {result}"),
        Action::RunAnotherPlan => "orchestrate run PLAN".to_owned(),
    }
}

/// Renders a list of commands; empty if there are none.
pub(crate) fn render(next: &[String]) -> String {
    if next.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = next.iter().map(|command| format!("  {command}")).collect();
    format!("next:\n{}\n", lines.join("\n"))
}
