//! What a task's work leaves in its worktree on purpose, in words.

use orchestrate_core::{LeftAside, TaskId};

use crate::show::output::one_line;

/// The maximum number of characters of a list.
const WIDTH: usize = 300;

/// Describes what a task's work leaves in its worktree on purpose, a line each; empty if nothing is
/// left.
pub(crate) fn lines(task: &TaskId, aside: &LeftAside) -> String {
    let mut text = String::new();
    if let Some(scratch) = aside.scratch_in_words() {
        text.push_str(&format!(
            "{task}: not in its commit: {}\n",
            one_line(&scratch, WIDTH)
        ));
    }
    for file in &aside.withheld {
        let file = one_line(&file.to_string(), WIDTH);
        text.push_str(&format!(
            "{task}: left in its worktree, not in its commit: {file}\n"
        ));
    }
    if !aside.boxes.is_empty() {
        let boxes = one_line(&aside.boxes.join(", "), WIDTH);
        text.push_str(&format!(
            "{task}: its agent changed boxes of the plan, which only landing does: {boxes}\n"
        ));
    }
    text
}
