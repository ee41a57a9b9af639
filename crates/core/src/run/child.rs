//! A child: what is asked for, what follows from that, and what its parent gets to hold.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::ids::{AgentId, BlobId, CallOfTurn, Oid, TaskId};
use crate::policy::Authority;
use crate::record::TaskRecord;
use crate::task::{Task, TaskState};
use crate::text::invisible::shown;

/// The tool that spawns a child.
pub const SPAWN_TOOL: &str = "spawn_child_agent";
/// The tools that only an agent with children needs.
pub const PARENTS_TOOLS: [&str; 2] = [SPAWN_TOOL, "terminate_agent"];

/// The maximum number of agents that the agents of a run spawn, ended ones included: ten times what
/// any plan for people needs, and few enough that an agent that spawns in a loop ends.
pub const MAX_SPAWNED_PER_RUN: usize = 1_000;

/// The maximum size in bytes of what a child is given beside its task: more belongs into a file.
pub const MAX_CONTEXT_BYTES: usize = 64 * 1024;
/// The maximum number of characters of a title, which is also the subject of commits.
const MAX_TITLE_CHARS: usize = 120;

/// A child that an agent or a program asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedChild {
    /// The agent that becomes its parent; `None` for a child of the run.
    pub parent: Option<AgentId>,
    /// The call of the parent; `None` for a program.
    pub call: Option<CallOfTurn>,
    /// The id that a program has chosen; `None` for one made of the task's words.
    pub id: Option<TaskId>,
    /// The task, without its id.
    pub task: Task,
    /// The commit that it starts from.
    pub base: Option<Oid>,
    /// What it is given beside its task.
    pub context: Option<BlobId>,
    /// The hash of all that a program asks for: asking for it again leads to the same child.
    pub asked: Option<BlobId>,
    /// What its role allows.
    pub of_role: Authority,
    /// What the parent's role allows, which holds for a parent of the plan; a child has an
    /// authority of its own.
    pub of_parents_role: Option<Authority>,
    /// The canonical names of the tools that it is to have; `None` for all that it may have.
    pub tools: Option<BTreeSet<String>>,
    /// Whether its role has to change files.
    pub delivers_changes: bool,
}

/// What follows from asking for a child.
#[derive(Clone, Debug, PartialEq)]
pub enum SpawnDecision {
    /// This event is recorded.
    Adds(Box<Event>),
    /// The call, or the program, has spawned this child already.
    Exists(AgentId),
}

/// What a parent gets to hold of its child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentHandle {
    /// The child, whose id is its task's.
    pub agent_id: AgentId,
    /// The short name of its branch.
    pub branch: String,
    /// Its role.
    pub role: String,
    /// Its tools.
    pub tools: Vec<String>,
    /// The tokens that it may use at most; `None` if only the budgets of its parent and of the run
    /// limit it.
    pub budget: Option<u64>,
}

/// What follows from a call that ends an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum TerminateDecision {
    /// These events are recorded, and the call waits.
    Stops(Vec<Event>),
    /// Nothing is left to stop, or the wait for it is over, so the call is answered now.
    Over,
}

/// What is left of an agent that was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptWork {
    /// The agent.
    pub agent_id: AgentId,
    /// The task's title.
    pub title: String,
    /// The task's state.
    pub state: TaskState,
    /// The short name of its branch; `None` if it has not begun.
    pub branch: Option<String>,
    /// The newest commit with its files, of its branch or beside it.
    pub commit: Option<Oid>,
}

impl KeptWork {
    /// Returns what is left of a task's agent.
    pub(crate) fn from_record(record: &TaskRecord) -> Self {
        Self {
            agent_id: record.task.id.clone(),
            title: record.task.title.clone(),
            state: record.state(),
            branch: record.branch().map(str::to_owned),
            commit: record.newest_work().cloned(),
        }
    }
}

/// Returns the task of an assignment in free text: its first line is the title, and the rest are
/// the details. A title that is too long is cut, and the details repeat it.
pub fn assigned(text: &str) -> Task {
    let mut lines = text.trim().lines();
    let first = shown(lines.next().unwrap_or_default().trim());
    let is_long = first.chars().count() > MAX_TITLE_CHARS;
    let details = if is_long { text.trim().lines() } else { lines };
    let details: Vec<String> = details.map(|line| line.trim_end().to_owned()).collect();
    let title = if is_long {
        format!(
            "{}…",
            first.chars().take(MAX_TITLE_CHARS).collect::<String>()
        )
    } else {
        first
    };
    Task {
        title,
        details,
        ..Task::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_has_a_title_and_details() {
        let long = "word ".repeat(40);
        let cut = format!(
            "{}…",
            long.chars().take(MAX_TITLE_CHARS).collect::<String>()
        );
        let table: [(&str, &str, &[&str]); 5] = [
            ("  Write it.\n", "Write it.", &[]),
            (
                "Write it.\n\n- in src\n  - well  \n",
                "Write it.",
                &["", "- in src", "  - well"],
            ),
            ("", "", &[]),
            (&long, &cut, &[long.trim()]),
            ("a\u{202e}b", "a\\u{202e}b", &[]),
        ];
        for (text, title, details) in table {
            let task = assigned(text);
            assert_eq!(
                (task.title.as_str(), task.details),
                (title, details.iter().map(|&line| line.to_owned()).collect())
            );
        }
    }
}
