//! The English words that the generic grammar knows. Formats of their own are recognised by their
//! structure, in any language; a document in another language has boxes, numbers and tables, or is
//! asked about.

use orchestrate_core::task::TaskStatus;

/// The words of a status.
pub(crate) struct StatusWords {
    pub(crate) status: TaskStatus,
    pub(crate) sure: &'static [&'static str],
    /// Those that a title in parentheses may be about as well: `Handle sockets (closed)`.
    pub(crate) of_things: &'static [&'static str],
}

/// What people write for each status; `_` stands for a blank or a hyphen.
#[rustfmt::skip]
pub(crate) const STATUS: &[StatusWords] = &[
    StatusWords {
        status: TaskStatus::Todo,
        sure: &["todo", "to_do", "open", "pending", "planned", "not_started", "not_done"],
        of_things: &["new", "ready", "next", "backlog", "draft", "approved"],
    },
    StatusWords {
        status: TaskStatus::Done,
        sure: &[
            "done", "complete", "completed", "finished", "merged", "implemented", "resolved",
            "fixed",
        ],
        of_things: &["closed", "shipped", "released"],
    },
    StatusWords {
        status: TaskStatus::InProgress,
        sure: &["in_progress", "wip", "doing", "ongoing", "started", "partially_done"],
        of_things: &["active"],
    },
    StatusWords {
        status: TaskStatus::Cancelled,
        sure: &[
            "cancelled", "canceled", "abandoned", "obsolete", "removed", "superseded", "replaced",
            "moved", "archived",
        ],
        of_things: &["dropped", "skipped", "rejected"],
    },
    StatusWords {
        status: TaskStatus::Blocked,
        sure: &["blocked", "on_hold", "deferred", "postponed"],
        of_things: &["waiting"],
    },
];

/// Returns the status that a word says wherever it stands as a mark.
pub(crate) fn sure_status(word: &str) -> Option<TaskStatus> {
    let word = word.to_lowercase();
    let mut known = STATUS.iter();
    let known = known.find(|known| known.sure.contains(&word.as_str()))?;
    Some(known.status)
}

/// What a cell or a field says of work that waits for a review, alone or at its end (`in review`).
pub(crate) const REVIEW: &str = "review";

/// Beginnings of headings below which boxes are checks or remarks rather than tasks.
#[rustfmt::skip]
pub(crate) const CHECKS: &[&str] = &[
    "acceptance", "success", "validation", "verification", "definition of", "done when", "note",
    "progress", "prerequisites", "out of scope", "non goals", "assumptions", "test plan",
];
/// First words of those that are no such label above a list (`**Notes:**`), where work stands as
/// well.
#[rustfmt::skip]
pub(crate) const GENERAL: &[&str] = &[
    "note", "validation", "verification", "progress", "checklist",
];
/// Ends of such headings, unless they name work.
pub(crate) const CHECKS_AT_END: &[&str] = &["criteria", "checkpoints", "legend"];
/// The word of a heading of a bug report that says how to see the bug.
pub(crate) const REPRODUCE: &str = "reproduce";
/// A heading of which one of these is a word is one of checks alone, or beside a word that says
/// what is checked: one of [`CHECKED`], [`DELIVERED`], [`CHECKS`] or [`OF_PERSON`].
pub(crate) const CHECKLIST: &[&str] = &["checklist", "check", "gate"];
pub(crate) const CHECKED: &[&str] = &["quality", "commit", "merge", "pr", "constitution"];
/// What is delivered may also be the work of a whole document: `# Launch checklist`.
pub(crate) const DELIVERED: &[&str] = &["release", "final", "deployment", "launch", "execution"];

/// Words of a heading below which a list is work.
#[rustfmt::skip]
pub(crate) const WORK: &[&str] = &[
    "plan", "task", "step", "todo", "implementation", "remaining", "priorities",
];
/// First words of headings that describe a document, so that a series of such ones alone is no
/// work.
pub(crate) const DOCUMENT: &[&str] = &["background", "goals", "scope", "context", "overview"];
/// Whole headings below which bullets are tasks, also in the plural.
#[rustfmt::skip]
pub(crate) const LISTS: &[&str] = &[
    "todo", "to do", "task", "task list", "todo list", "remaining", "next step", "backlog",
    "what s next", "what is next", "follow up",
];

/// Who does the work that waits for a person, before one of [`OF_PERSON`].
pub(crate) const PERSON: &[&str] = &["manual", "human", "user"];
#[rustfmt::skip]
pub(crate) const OF_PERSON: &[&str] = &[
    "step", "task", "action", "test", "testing", "verification", "validation", "review", "approval",
    "qa", "required", "check", "verify", "verifies",
];
/// Words that mark the work of a person (`[HUMAN]`, `(manual)`).
pub(crate) const BY_PERSON: &[&str] = &["human", "manual"];
/// Whole headings, and beginnings of headings, of what waits for a person.
#[rustfmt::skip]
pub(crate) const WAITING: &[&str] = &[
    "blocked", "waiting", "open questions", "questions", "sign off", "approvals",
];
#[rustfmt::skip]
pub(crate) const WAITING_FOR: &[&str] = &[
    "waiting for", "waiting on", "blocked on", "blocked by", "questions for", "open questions",
];

/// Whole headings, alone or before one of [`NOUNS`], of what is not to be done, at least not now.
#[rustfmt::skip]
pub(crate) const DROPPED: &[&str] = &[
    "won t do", "won t have", "won t fix", "not doing", "not in scope", "rejected", "deferred",
    "postponed", "idea", "future", "later", "icebox", "post mvp", "long term",
];
/// The same of what is no work.
pub(crate) const REMARKS: &[&str] = &["rollback", "risk", "references"];
/// The same of work that may be left out, and that comes last.
pub(crate) const OPTIONAL: &[&str] = &["nice to have", "could have", "stretch", "optional"];
#[rustfmt::skip]
pub(crate) const NOUNS: &[&str] = &[
    "work", "item", "task", "idea", "scope", "enhancement", "plan", "step", "goal", "phase",
    "milestone", "assessment",
];
/// Remarks in parentheses at the end of a heading that put its section off.
#[rustfmt::skip]
pub(crate) const PUT_OFF: &[&str] = &[
    "deferred", "postponed", "out of scope", "future", "later", "on hold", "cancelled", "abandoned",
    "obsolete", "superseded",
];

/// Words before the number of a task or a step, with the letter of its id.
pub(crate) const TASKS: &[(&str, &str)] = &[("task", "T"), ("step", "S"), ("story", "US-")];
/// Words before the number of a phase.
pub(crate) const PHASES: &[&str] = &["phase", "stage", "milestone"];
/// Words of a heading that names a priority.
pub(crate) const LEVELS: &[&str] = &["critical", "high", "medium", "low"];
