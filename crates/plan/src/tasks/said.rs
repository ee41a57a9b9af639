//! What is said of open boxes whose text, or whose heading, says that their work is over, and of
//! statuses that are not known.
//!
//! The boxes count: such a task is run.

use crate::finding::{FindingCode, Pending};
use crate::tasks::draft::{Draft, Reader};
use crate::tasks::status;
use orchestrate_core::task::TaskStatus;

impl Reader<'_, '_> {
    /// Warns of an open box whose text, from its head on, or whose field below says another status;
    /// returns whether it did.
    pub(crate) fn note_said(&mut self, draft: &Draft, text: &str) -> bool {
        if !draft.status.runs() {
            return false;
        }
        // A mark before an id is no part of the title.
        let begins_with_mark = text.starts_with(|c: char| !c.is_ascii());
        let first = Some(text)
            .filter(|_| begins_with_mark)
            .and_then(|text| text.lines().next());
        let said = first
            .and_then(status::beside_box)
            .or_else(|| status::beside_box(&draft.title));
        let said = said.or_else(|| draft.details.iter().find_map(|detail| said_in(detail)));
        let Some((_, words)) = said.filter(|(status, _)| *status != draft.status) else {
            return false;
        };
        let message =
            format!("the box is open, although `{words}` says otherwise, so the task is run");
        let found = Pending::new(draft.at, FindingCode::LookAlike, words, message);
        self.findings.warn(found.suggest(Some(
            "write `[x]` if it is done, `[-]` if it is not to be done".to_owned(),
        )));
        true
    }

    /// Warns of a status that is not known. Whether the task is to be run is not known then either:
    /// only a box or a mark beside it says so.
    pub(crate) fn note_unknown_status(&mut self, draft: &Draft, said: &str, at: usize) {
        let effect = match draft.status.runs() {
            true => "its mark counts",
            false => "this task is not run",
        };
        let message = format!("unknown status `{said}`: {effect}");
        self.findings
            .warn(Pending::new(at, FindingCode::InvalidValue, said, message));
    }
}

/// Returns the status that a detail such as `**Status**: done` says.
fn said_in(detail: &str) -> Option<(TaskStatus, &str)> {
    let line = Some(detail)
        .filter(|detail| detail.starts_with(['*', '_', 'S', 's']))?
        .lines()
        .next()?;
    let value = line.get(status::place_in(line)?)?;
    let status = status::of_text(value).filter(|status| *status != TaskStatus::Todo)?;
    Some((status, value))
}
