//! What is said of open boxes whose text says that their work is over, and of statuses that are not
//! known.
//!
//! No run starts such a task: what is done would be done again.

use crate::finding::{FindingCode, Pending};
use crate::tasks::draft::{Draft, Reader};
use crate::tasks::status;
use orchestrate_core::task::TaskStatus;

impl Reader<'_, '_> {
    /// Keeps an open box from being run whose text, from its head on, or whose field below it says
    /// that its work is done or not to be done.
    pub(crate) fn take_said(&mut self, draft: &mut Draft, text: &str) {
        // A mark before an id is no part of the title.
        let begins_with_mark = text.starts_with(|c: char| !c.is_ascii());
        let first = Some(text)
            .filter(|_| begins_with_mark)
            .and_then(|text| text.lines().next());
        let said = first
            .and_then(status::beside_box)
            .or_else(|| status::beside_box(&draft.title));
        let said = said.or_else(|| draft.details.iter().find_map(|detail| said_in(detail)));
        if let Some((status, words)) = said.filter(|(status, _)| !status.runs()) {
            let reason = format!("its box is open, but it says `{words}`: tick it, or cut this");
            draft.hold(status, reason);
        }
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
