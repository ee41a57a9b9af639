//! Hints after a refusal or an error: what to type next, for text and JSON alike. No message of the
//! crates below the terminal names a command line.

use std::path::Path;

use orchestrate_coordinator::{ChecksError, CoordinatorError, LandingError, ResultRefusal};
use orchestrate_core::messages::MessageRefused;
use orchestrate_core::run::request::{Holder, Purpose};
use orchestrate_core::text::similar::nearest;
use orchestrate_core::{Reopening, RequestRefused, RunId, TaskId, shell_word};
use orchestrate_journal::JournalError;

use super::Wording;

/// Returns the hint for an error, or `None` if its message says everything.
pub(crate) fn of_error(error: &CoordinatorError) -> Option<String> {
    match error {
        CoordinatorError::CannotGoOn { run, why } => Some(next_step(run, why, Wording::Command)),
        CoordinatorError::Landing(error) => of_landing(error),
        CoordinatorError::RedBase(failure) => Some(red_base(&failure.run, failure.fix)),
        CoordinatorError::Journal(error) => of_journal(error),
        CoordinatorError::Checks(ChecksError::StateFolder { .. }) => {
            Some("set XDG_STATE_HOME to another folder that you own".to_owned())
        }
        CoordinatorError::NeverMerged { .. } => Some("omit `--merge none`".to_owned()),
        CoordinatorError::SecretInPlan { .. } => Some("remove it".to_owned()),
        CoordinatorError::Model(error) if error.is_none_found() => Some(
            "choose one with `--model` or `--base-url`; `orchestrate demo` runs without a model"
                .to_owned(),
        ),
        CoordinatorError::NoIdentity => Some(
            "type `git config user.name \"Your Name\"` and `git config user.email \
             you@example.com`, or correct the variables GIT_AUTHOR_NAME and similar if they are \
             set"
            .to_owned(),
        ),
        CoordinatorError::FewFiles { .. } => {
            Some("start it where `ulimit -Hn` allows more, such as in a new shell".to_owned())
        }
        CoordinatorError::BranchMoved {
            run,
            branch,
            expected,
            found,
            checkout,
        } => Some(move_back(run, branch, expected, found, checkout.as_deref())),
        _ => None,
    }
}

fn of_landing(error: &LandingError) -> Option<String> {
    match error {
        LandingError::Refused(refusal) => of_refusal(refusal),
        LandingError::NothingToAdopt { run, task } => Some(format!(
            "`orchestrate open {task} --run {run}` starts a shell in its worktree"
        )),
        LandingError::OwnChanges { run, task, .. } => Some(format!(
            "`orchestrate adopt {task} --run {run}` takes it first"
        )),
        LandingError::NotChanged { run, task, .. } => Some(format!(
            "`orchestrate review {task} --run {run}` lists the files"
        )),
        LandingError::NoPlace { run, task, .. } => Some(format!(
            "`orchestrate review {task} --run {run}` shows its work"
        )),
        _ => None,
    }
}

fn of_journal(error: &JournalError) -> Option<String> {
    Some(match error {
        JournalError::NoSuchRun(_) => {
            "`orchestrate status --all` lists the runs of this repository".to_owned()
        }
        JournalError::Held {
            run,
            holder: Holder {
                purpose: Purpose::Run,
                ..
            },
        } => {
            format!("`orchestrate stop {run}` stops it")
        }
        JournalError::DiskFull { .. } => {
            "free some space, then resume the run or repeat the command; nothing is lost".to_owned()
        }
        JournalError::ReadOnly { .. } => {
            "make it writable or set XDG_STATE_HOME to another folder".to_owned()
        }
        JournalError::Unusable { .. } => "set XDG_STATE_HOME to another folder".to_owned(),
        JournalError::ForeignFileSystem { .. } => {
            "set XDG_STATE_HOME to a folder on a local disk".to_owned()
        }
        JournalError::Corrupt { path, .. } => {
            format!("restore it from a backup, or {}", moved_away(path))
        }
        JournalError::Undecodable { run, .. } => format!(
            "`orchestrate log {run}` shows what was recorded before it, and `orchestrate recover \
             {run}` the work that is kept; what it has merged is on the branch {}; `orchestrate \
             run PLAN` continues with what is left of the plan, and `orchestrate discard {run}` \
             removes this run",
            run.integration_branch()
        ),
        JournalError::OtherFormat { found, known, .. } if found > known => {
            "use that version".to_owned()
        }
        JournalError::OtherFormat { path, .. } => {
            format!("finish its runs with that version, or {}", moved_away(path))
        }
        _ => return None,
    })
}

/// Describes how to start over without a journal that cannot be read.
fn moved_away(journal: &Path) -> String {
    let folder = shell_word(journal.parent().unwrap_or(journal));
    format!("move the folder {folder} away to start over: branches and snapshots are safe in git")
}

/// Describes what to do about a base that does not pass the run's check.
fn red_base(run: &RunId, fix: Option<&str>) -> String {
    let ways = format!(
        "no agent was started; fix the base and run again, choose another check with `--verify`, \
         or skip this check with `--no-verify-base` if it is red until the work is done; \
         `orchestrate log {run}` shows the run"
    );
    fix.map_or_else(
        || ways.clone(),
        |fix| format!("{fix}; `orchestrate resume {run}` then checks again ({ways})"),
    )
}

fn of_refusal(refusal: &ResultRefusal) -> Option<String> {
    Some(match refusal {
        ResultRefusal::Unfinished { run } => format!("`orchestrate resume {run}` completes it"),
        ResultRefusal::Requested { run } => {
            format!("`orchestrate resume {run}` carries it out")
        }
        ResultRefusal::LandingOpen { run } => {
            format!(
                "`orchestrate land {run}` completes it; then `orchestrate land --undo {run}` can \
                 undo it"
            )
        }
        ResultRefusal::Rejected { run, tasks, drops } => undecided(run, tasks, drops),
        ResultRefusal::Entangled { run, task, .. }
        | ResultRefusal::RedWithout { run, task, .. } => {
            format!("`orchestrate retry {task} -m TEXT --run {run}` replaces its work instead")
        }
        ResultRefusal::NotDropped {
            run,
            why: RequestRefused::HasDependents { task, .. },
        } => {
            format!("`orchestrate drop {task} --with-dependents --run {run}` drops them too")
        }
        ResultRefusal::NotDropped {
            run,
            why: RequestRefused::WithinParent { parent, .. },
        } => {
            format!(
                "`orchestrate drop {parent} --run {run}` drops {parent} with the agents below it"
            )
        }
        ResultRefusal::NotDropped {
            run,
            why: RequestRefused::Landed { .. },
        } => {
            format!("`orchestrate land --undo {run}` undoes the landing first")
        }
        ResultRefusal::NotDropped { run, why } => next_step(run, why, Wording::Command),
        ResultRefusal::Cautions { run, .. } => {
            format!("`orchestrate review {run}` shows it; `orchestrate land {run}` lands it")
        }
        ResultRefusal::Interrupted { run } => format!("`orchestrate land {run}` lands it"),
        ResultRefusal::DetachedHead { result, .. } => {
            format!("`git merge {result}` merges it into the current branch")
        }
        ResultRefusal::BaseLost { result, .. }
        | ResultRefusal::Conflict { result, .. }
        | ResultRefusal::RedCheck { result, .. } => {
            format!("`git merge {result}` merges it by hand")
        }
        ResultRefusal::NotLanded {
            other: Some(other), ..
        } => {
            format!("`orchestrate land --undo {other}` undoes run {other}")
        }
        ResultRefusal::NotLanded { run, other: None } => {
            format!("`orchestrate land {run}` lands it")
        }
        ResultRefusal::MovedSince { .. } => "`git revert` undoes single commits".to_owned(),
        ResultRefusal::NoSnapshot { run, .. } => {
            format!("`orchestrate recover {run}` lists its snapshots")
        }
        ResultRefusal::BranchTaken { .. } => "choose another name with `--branch`".to_owned(),
        _ => return None,
    })
}

/// Describes how to decide about rejected work that is part of a result: dropping it, with what
/// contains it, or having it done again.
fn undecided(run: &RunId, tasks: &[TaskId], drops: &[TaskId]) -> String {
    let drop = |task: &TaskId| {
        let what = if tasks.contains(task) {
            "it"
        } else {
            "it, with the agents below it,"
        };
        format!("`orchestrate drop {task} --run {run}` takes {what} out of the result")
    };
    let retry =
        |task: &TaskId| format!("`orchestrate retry {task} -m TEXT --run {run}` has it done again");
    drops
        .iter()
        .map(drop)
        .chain(tasks.iter().map(retry))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Describes how to move a branch of a run back, keeping what was added to it.
fn move_back(
    run: &RunId,
    branch: &str,
    expected: &str,
    found: &str,
    checkout: Option<&Path>,
) -> String {
    let leave = checkout.map(|path| {
        let path = shell_word(path.display().to_string());
        format!(
            "switch {path} to another branch (after `git stash -u` there if your changes are in \
             the way), "
        )
    });
    format!(
        "keep the additions with `git branch NAME {found}`, {}move the branch back with \
         `git update-ref refs/heads/{branch} {expected}`, and type `orchestrate resume {run}`",
        leave.unwrap_or_default()
    )
}

/// Returns the hint for a refusal of a request that was made in these words.
pub(crate) fn next_step(run: &RunId, refused: &RequestRefused, wording: Wording) -> String {
    match refused {
        RequestRefused::Changed { task } => {
            format!("look again with `orchestrate review {task} --run {run}`")
        }
        RequestRefused::BeingMerged { .. } => resuming(run),
        RequestRefused::NothingToReturn { task, state } if state.reads_messages() => format!(
            "{} writes to its agent, if it has one; {}",
            wording.message(run, task),
            resuming(run)
        ),
        RequestRefused::NothingToReturn { task, state } => {
            reopen(run, task, state.reopening(), wording)
        }
        RequestRefused::ParentEnded {
            task,
            first: Some(first),
            ..
        } => format!(
            "{} continues {first} first; `orchestrate recover {run}` lists what is kept of {task}",
            wording.retry(run, first)
        ),
        RequestRefused::ParentEnded {
            task, first: None, ..
        } => format!(
            "`orchestrate recover {run}` lists what is kept of {task}, for you to merge; a plan \
             with the task gives it to a new agent"
        ),
        RequestRefused::HoldsDropped { .. } => format!(
            "`orchestrate recover {run}` lists what is kept of them, for you to merge; a plan with \
             the task gives it to a new agent"
        ),
        RequestRefused::OutOfTime { .. } => {
            format!(
                "`orchestrate resume {run} --timeout TIME` extends it and continues what it stopped"
            )
        }
        RequestRefused::StillOutOfTime {
            more_tokens,
            more_money,
            ..
        } => {
            let tokens = if *more_tokens {
                " --budget-tokens N"
            } else {
                ""
            };
            let money = if *more_money { " --budget-usd N" } else { "" };
            format!("`orchestrate resume {run}{tokens}{money} --timeout TIME` raises the limits")
        }
        RequestRefused::UnknownCost => format!(
            "`orchestrate resume {run}` continues it without that limit, and `--budget-tokens N` \
             limits its tokens; a new run with the model's price below `[prices]` can be limited \
             from its start"
        ),
        RequestRefused::Message(refused) => of_message(run, refused, wording),
        _ => format!("`orchestrate status {run}` shows its state"),
    }
}

/// Returns the hint for a message of the user that is not sent.
fn of_message(run: &RunId, refused: &MessageRefused, wording: Wording) -> String {
    match refused {
        MessageRefused::UnknownRecipient { to, known } => match nearest(to, known.split(", ")) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("`orchestrate status {run}` shows what each of them does"),
        },
        MessageRefused::NobodyThere { .. } => addresses(run),
        MessageRefused::NoAgent { to } => {
            format!("`orchestrate log {run} {to}` shows what it does")
        }
        MessageRefused::BeingMerged { .. } => resuming(run),
        MessageRefused::ReadsNoMore { to, state } => reopen(run, to, state.reopening(), wording),
        MessageRefused::ByAll { .. } => format!(
            "{} returns work to its agent with a message, and {} a task that did not succeed",
            wording.reject(run, "TASK"),
            wording.retry(run, "TASK")
        ),
        MessageRefused::Empty => {
            format!("add the text: {}", wording.message(run, "TASK"))
        }
        MessageRefused::TooLong { .. } => "divide it among several messages".to_owned(),
        MessageRefused::MailboxFull { .. } => {
            format!("`orchestrate status {run}` shows what it has not read")
        }
        MessageRefused::NoSuchQuestion { .. } => {
            format!(
                "`orchestrate status {run}` shows the open questions; without {} it is a message",
                wording.argument("reply_to")
            )
        }
        MessageRefused::NoAnswer => {
            format!(
                "omit {}, which an answer does not need, or {}",
                wording.argument("kind"),
                wording.argument("reply_to")
            )
        }
        _ => format!("`orchestrate status {run}` shows its state"),
    }
}

/// Describes to whom the user can write.
pub(crate) fn addresses(run: &RunId) -> String {
    format!(
        "write to a task by its id (`orchestrate status {run}` lists them), or to `role:NAME`, \
         `children` or `all`"
    )
}

/// Describes how to return a task's work to its agent with a message.
fn reopen(run: &RunId, task: &TaskId, reopening: Reopening, wording: Wording) -> String {
    match reopening {
        Reopening::Reject => format!(
            "{} returns its work with a message",
            wording.reject(run, task)
        ),
        Reopening::Retry => {
            format!("{} retries it with a message", wording.retry(run, task))
        }
        Reopening::RetryDependency => {
            "retry the task that it depends on; it then becomes pending again".to_owned()
        }
        Reopening::Resume => resuming(run),
    }
}

fn resuming(run: &RunId) -> String {
    format!("`orchestrate resume {run}` continues the run if no process is working on it")
}

#[cfg(test)]
mod tests {
    use orchestrate_core::task::TaskState;

    use super::*;

    #[test]
    fn a_message_that_is_not_sent_is_refused_with_what_to_do() {
        let unknown = |to: &str| MessageRefused::UnknownRecipient {
            to: to.to_owned(),
            known: "T1, lead".to_owned(),
        };
        let of_state = |state| MessageRefused::ReadsNoMore {
            to: "T1".into(),
            state,
        };
        let table = [
            (unknown("laed"), "did you mean `lead`?"),
            (
                unknown("nobody"),
                "`orchestrate status r-abcdef` shows what each of them does",
            ),
            (
                of_state(TaskState::Merged),
                "`orchestrate reject T1 -m TEXT --run r-abcdef` returns its work with a message",
            ),
            (
                of_state(TaskState::Failed),
                "`orchestrate retry T1 -m TEXT --run r-abcdef` retries it with a message",
            ),
            (
                MessageRefused::Empty,
                "add the text: `orchestrate message TASK TEXT --run r-abcdef`",
            ),
            (
                MessageRefused::NoAgent { to: "T1".into() },
                "`orchestrate log r-abcdef T1` shows what it does",
            ),
        ];
        for (refused, hint) in table {
            assert_eq!(
                next_step(
                    &"r-abcdef".into(),
                    &RequestRefused::Message(refused),
                    Wording::Command
                ),
                hint
            );
        }
    }

    #[test]
    fn a_task_whose_parent_has_ended_is_refused_with_what_can_be_retried() {
        let refused = |first: Option<&str>| RequestRefused::ParentEnded {
            task: "g".into(),
            parent: "c".into(),
            first: first.map(TaskId::from),
        };
        let table = [
            (
                Some("p"),
                "`orchestrate retry p -m TEXT --run r-abcdef` continues p first; `orchestrate \
                 recover r-abcdef` lists what is kept of g",
            ),
            (
                None,
                "`orchestrate recover r-abcdef` lists what is kept of g, for you to merge; a plan \
                 with the task gives it to a new agent",
            ),
        ];
        for (first, hint) in table {
            let said = next_step(&"r-abcdef".into(), &refused(first), Wording::Command);
            assert_eq!(said, hint);
        }
    }

    #[test]
    fn a_task_that_has_not_ended_is_refused_with_what_to_do() {
        let resume =
            "`orchestrate resume r-abcdef` continues the run if no process is working on it";
        let message =
            "`orchestrate message T1 TEXT --run r-abcdef` writes to its agent, if it has one; ";
        let table = [
            (TaskState::Running, message),
            (TaskState::Waiting, message),
            (TaskState::Committed, ""),
        ];
        for (state, first) in table {
            let refused = RequestRefused::NothingToReturn {
                task: "T1".into(),
                state,
            };
            assert_eq!(
                refused.to_string(),
                "T1 has not ended: there is nothing to retry or to reject yet"
            );
            assert_eq!(
                next_step(&"r-abcdef".into(), &refused, Wording::Command),
                format!("{first}{resume}")
            );
        }
    }

    #[test]
    fn a_journal_that_cannot_be_used_is_refused_with_what_to_do() {
        let path = Path::new("/s/my journals/journal.db").to_owned();
        let format = |found| JournalError::OtherFormat {
            path: path.clone(),
            found,
            known: 5,
        };
        let away = "move the folder '/s/my journals' away to start over: branches and snapshots \
                    are safe in git";
        let table = [
            (
                JournalError::Corrupt {
                    path: path.clone(),
                    reason: "cut".to_owned(),
                },
                "restore it from a backup, or ",
            ),
            (format(1), "finish its runs with that version, or "),
        ];
        for (error, first) in table {
            assert_eq!(of_error(&error.into()), Some(format!("{first}{away}")));
        }
        assert_eq!(
            of_error(&format(9).into()),
            Some("use that version".to_owned())
        );
        let unusable = JournalError::Unusable {
            path: path.clone(),
            reason: "it is a file".to_owned(),
        };
        assert_eq!(
            of_error(&unusable.into()),
            Some("set XDG_STATE_HOME to another folder".to_owned())
        );
    }
}
