//! `discard`: removes all of a run, after it was said what would be lost.

use orchestrate_coordinator::Discarded;
use orchestrate_core::event::rfc3339;
use orchestrate_core::run::request::{Adoption, Request};
use orchestrate_core::run::{EXIT_FAILED, EXIT_OK};
use orchestrate_core::{RunId, TaskId};
use orchestrate_journal::Received;

use crate::args::DiscardArgs;
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::json::{DiscardReport, Envelope, LostEntry, Output, RecordedRequest};
use crate::show::output;
use crate::show::progress::short;

/// How many lost commits are named; the others are counted.
const MOST_NAMED: usize = 20;
/// The maximum number of characters of a commit's subject.
const SUBJECT_CHARS: usize = 60;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &DiscardArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(Some(&arguments.run))?;
    let runs = context.runs()?;
    let is_json = arguments.json.json;
    let requests = store.recorded_requests(&run)?;
    if arguments.dry_run {
        let found = runs.would_discard(&run)?;
        match is_json {
            true => say(&run, true, found, &requests)?,
            false => output::result(&described(&run, &found, &requests))?,
        }
        return Ok(EXIT_OK);
    }
    if !arguments.yes {
        let found = runs.would_discard(&run)?;
        if !context.terminal.can_ask {
            let message = format!("discarding run {run} removes all of it; nothing was removed");
            return Err(CommandError::usage(message)
                .hint(format!(
                    "`orchestrate discard {run} --dry-run` says what would be lost"
                ))
                .hint(format!("`orchestrate discard {run} --yes` removes it")));
        }
        output::note(&described(&run, &found, &requests));
        if !output::confirm(&format!("Remove all of run {run} for good? [y/N] ")) {
            let message = format!("run {run} was not discarded");
            return Err(CommandError::new(ErrorKind::NeedsPerson, message));
        }
    }
    let discarded = runs.discard(&run)?;
    for undeleted in &discarded.undeleted {
        output::warning(&format!("failed to {undeleted}"));
    }
    let exit_code = match discarded.undeleted.is_empty() {
        true => EXIT_OK,
        false => EXIT_FAILED,
    };
    match is_json {
        true => say(&run, false, discarded, &requests)?,
        false => output::result(&described_removal(&run, &discarded))?,
    }
    Ok(exit_code)
}

/// Describes what would be lost.
fn described(run: &RunId, found: &Discarded, requests: &[Received]) -> String {
    let mut text = format!("discarding run {run} removes {}\n", counted(found));
    for path in &found.edited {
        let path = path.display();
        text += &format!("lost: files in {path} that are in no commit\n");
    }
    for lost in found.lost.iter().take(MOST_NAMED) {
        let subject = output::one_line(&lost.subject, SUBJECT_CHARS);
        let (commit, name) = (short(&lost.commit), output::one_line(&lost.name, 100));
        text += &format!("lost: {commit} {subject} ({name})\n");
    }
    let more = found.lost.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        text.push_str(&format!("lost: {more} more commits\n"));
    }
    for received in requests {
        let request = output::one_line(&in_words(&recorded(received)), SUBJECT_CHARS);
        text += &format!("lost: the request `{request}`, which nobody has carried out\n");
    }
    if found.lost.is_empty() && found.edited.is_empty() {
        text.push_str("none of its work is lost: your branches have all of it\n");
    }
    text + &kept(found)
}

/// Describes what was removed.
fn described_removal(run: &RunId, removed: &Discarded) -> String {
    let mut text = format!("run {run} is gone: removed {}\n", counted(removed));
    if removed.goes_on {
        text += "its files are being deleted in the background\n";
    }
    text + &kept(removed)
}

/// Returns a recorded request, as its command makes it.
fn recorded(received: &Received) -> RecordedRequest {
    let mut said = RecordedRequest {
        requested: rfc3339(received.sent_ms),
        command: String::new(),
        task: None,
        call: None,
        to: None,
        message: None,
    };
    let command = match received.request.clone() {
        Request::Approve { task, .. } => {
            said.task = Some(task);
            "approve"
        }
        Request::Adopt(Adoption { task, part, .. }) => {
            said.task = Some(task);
            match part {
                Some(part) => {
                    said.message = part.message;
                    "approve"
                }
                None => "adopt",
            }
        }
        Request::Reject { task, message, .. } => {
            (said.task, said.message) = (Some(task), Some(message));
            "reject"
        }
        Request::Decide {
            call,
            allowed,
            message,
        } => {
            (said.call, said.message) = (Some(call), message);
            if allowed { "approve" } else { "reject" }
        }
        Request::Retry { task, message } => {
            (said.task, said.message) = (Some(task), message);
            "retry"
        }
        Request::RetryFailed { message } => {
            said.message = message;
            "retry"
        }
        Request::Message { to, body, .. } => {
            (said.to, said.message) = (Some(to.to_string()), Some(body.to_string()));
            "message"
        }
        Request::Stop { .. } | Request::StopAgent { .. } => "stop",
    };
    said.command = command.to_owned();
    said
}

/// Describes a recorded request in one line.
fn in_words(recorded: &RecordedRequest) -> String {
    let mut text = recorded.command.clone();
    let call = recorded.call.as_ref().map(short);
    let about = [
        recorded.task.as_ref().map(TaskId::as_str),
        call,
        recorded.to.as_deref(),
    ];
    for word in about.into_iter().flatten() {
        text = text + " " + word;
    }
    match &recorded.message {
        Some(message) => format!("{text}: {message}"),
        None => text,
    }
}

fn counted(found: &Discarded) -> String {
    let (worktrees, refs, events) = (found.worktrees.len(), found.refs.len(), found.events);
    format!(
        "{worktrees} worktrees, {refs} branches and other refs, and {events} events with what they \
         record"
    )
}

fn kept(found: &Discarded) -> String {
    let kept = found.kept_refs.iter();
    kept.map(|name| format!("kept {name}, which is checked out\n"))
        .collect()
}

/// Prints what was removed, or would be, as JSON.
fn say(
    run: &RunId,
    dry_run: bool,
    found: Discarded,
    requests: &[Received],
) -> Result<(), CommandError> {
    let lost = found.lost.into_iter().map(|lost| LostEntry {
        r#ref: lost.name,
        commit: lost.commit,
        subject: lost.subject,
    });
    let discarded = Output::Discarded(DiscardReport {
        dry_run,
        worktrees: found.worktrees,
        edited: found.edited,
        refs: found.refs,
        lost: lost.collect(),
        kept_refs: found.kept_refs,
        events: found.events,
        requests: requests.iter().map(recorded).collect(),
        warnings: found.undeleted,
    });
    output::json(&Envelope::new(Some(run), discarded))
}
