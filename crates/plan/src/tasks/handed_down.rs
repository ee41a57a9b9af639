//! What a parent passes to each of its parts, and how long that may be: a plan has up to ten
//! thousand tasks, and each has a copy.

use crate::fields::attributes::{Attributes, Located};
use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::text;
use orchestrate_core::task::TaskStatus;

/// The maximum number of characters of its remarks: enough for its title and a few of them.
const MAX_REMARK_CHARS: usize = 2_000;

/// The maximum size of its dependencies and paths, in bytes: enough for the longest value of one
/// field.
const MAX_LIST_BYTES: usize = 16 * 1024;

/// What an item inherits from its parents.
#[derive(Clone, Default)]
pub(crate) struct Inherited {
    pub(crate) attributes: Attributes,
    pub(crate) details: Vec<String>,
    /// The status of a cancelled or blocked parent, which applies to all its open tasks.
    pub(crate) withheld: Option<TaskStatus>,
    pub(crate) optional: bool,
    /// The index of the task that it is an optional part of.
    pub(crate) extends: Option<usize>,
    /// Whether the details contain the parent's other items, which are no tasks.
    pub(crate) knows_remarks: bool,
}

/// Returns the status that the open parts of a cancelled or blocked parent have as well.
pub(crate) fn withheld(status: TaskStatus) -> Option<TaskStatus> {
    Some(status).filter(|status| matches!(status, TaskStatus::Cancelled | TaskStatus::Blocked))
}

/// Says to a task which group it is a part of; one without a box may have no id.
pub(crate) fn part_of(id: &str, title: &str) -> String {
    if id.is_empty() || id == title {
        format!("Part of {title}")
    } else {
        format!("Part of {id}: {title}")
    }
}

/// Truncates the remarks that a group passes to each of its tasks.
pub(crate) fn shortened(detail: &str) -> String {
    text::shortened(detail, MAX_REMARK_CHARS).into_owned()
}

/// Refuses dependencies and paths of a group, with those of the groups around it, that are too
/// long. They are dropped, so that the tasks have no copies of them.
pub(crate) fn require_short(attributes: &mut Attributes, at: usize, findings: &mut Findings) {
    let lists = attributes
        .depends
        .iter()
        .chain(&attributes.likely_depends)
        .chain(&attributes.files);
    let bytes: usize = lists
        .map(|list| size_of::<Located>() + list.text.len())
        .sum();
    if bytes <= MAX_LIST_BYTES {
        return;
    }
    let message = "the dependencies and paths of this group are too long, since each of its tasks \
                   has them as well";
    findings.error(Pending::new(at, FindingCode::InvalidValue, "", message));
    attributes.depends.clear();
    attributes.likely_depends.clear();
    attributes.files.clear();
}
