//! What keeps open tasks from being run, whatever format they were read in: a reason that the
//! format found, or that a person does them. Both are said in the same way, of the task and of its
//! lines.

use crate::finding::{FindingCode, Findings, Pending};
use crate::formats::collected::Collected;
use crate::tasks::draft::Draft;
use crate::tasks::section;
use orchestrate_core::task::TaskStatus;

/// Why a task of a person is not run.
const OF_PERSON: &str = "it is work of a person";

/// Leaves the work of persons to them, and says of each task that is held why it is not run.
pub(crate) fn settle(found: &mut Collected, findings: &mut Findings) {
    let mut before: Option<&Draft> = None;
    for draft in &mut found.drafts {
        if draft.attributes.by_person || section::is_of_person(&draft.title) {
            draft.hold(TaskStatus::Blocked, OF_PERSON);
        }
        if let Some(before) = before {
            note_goes_on(before, draft, findings);
        }
        before = Some(draft);
    }
    say(found, findings);
}

/// Says of each task that is held why it is not run.
pub(crate) fn say(found: &mut Collected, findings: &mut Findings) {
    for (at, draft) in found.drafts.iter_mut().enumerate() {
        if let Some(reason) = draft.held.take() {
            found.lines.withhold(at, &reason);
            findings.skip(draft.at, reason);
        }
    }
}

/// Warns of a task that goes on without the one before it in its order, which a person does.
fn note_goes_on(before: &Draft, draft: &Draft, findings: &mut Findings) {
    let is_after = draft.counts && draft.section_index == before.section_index;
    let goes_on = draft.status.runs() && !draft.attributes.names_dependencies();
    if !is_after || !goes_on || before.held.as_deref() != Some(OF_PERSON) {
        return;
    }
    let message = "this does not wait for the task before it, which is work of a person";
    let found = Pending::new(draft.at, FindingCode::NeverMerged, &draft.title, message);
    let advice = "write `(depends: …)` with the id of that task to have this one wait";
    findings.warn(found.suggest(advice));
}

/// Describes a status of what is not run.
pub(crate) fn said(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Done => "done",
        TaskStatus::Blocked => "blocked or put off",
        _ => "cancelled",
    }
}
