//! Leaves out what a plan marks as optional, if the settings say so, and says what a run leaves out
//! besides.

use std::collections::{HashMap, HashSet};

use crate::citations;
use crate::finding::Skipped;
use crate::parse::Plan;
use orchestrate_core::event::settings::RunSettings;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::{Task, TaskStatus};

impl Plan {
    /// Returns the plan as a run with these settings carries it out: without its open optional
    /// tasks if they are left out, apart from those that a required task depends on.
    #[must_use]
    pub fn within(mut self, settings: &RunSettings) -> Self {
        if settings.skip_optional {
            let needed = needed(&self.tasks);
            for task in &mut self.tasks {
                if task.status.runs() && !needed.contains(&task.id) {
                    task.status = TaskStatus::LeftOut;
                }
            }
        }
        self
    }

    /// Says in one line that what looks like work is not run, if there is any; `check` is the
    /// command that lists it.
    pub fn not_run(&self, check: &str) -> Option<String> {
        let are_not_run = count(&self.skipped)?;
        let shows = match self.skipped.len() {
            1 => "shows it",
            _ => "lists them",
        };
        Some(format!("{are_not_run}: `{check}` {shows}"))
    }
}

/// Says in one line which lines of a document look like work and are not run, if there are any.
pub fn not_run_of_document(skipped: &[Skipped]) -> Option<String> {
    let are_not_run = count(skipped)?;
    let lines: Vec<usize> = skipped.iter().map(|skipped| skipped.line).collect();
    let numbers = citations::numbered(&lines);
    Some(format!("{are_not_run}: {numbers} of the document"))
}

fn count(skipped: &[Skipped]) -> Option<String> {
    match skipped.len() {
        0 => None,
        1 => Some("1 line that looks like work is not run".to_owned()),
        many => Some(format!("{many} lines that look like work are not run")),
    }
}

/// Returns the open tasks that are required, with all that they depend on.
fn needed(tasks: &[Task]) -> HashSet<TaskId> {
    let by_id: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    let required = tasks
        .iter()
        .filter(|task| task.status.runs() && !task.optional);
    let mut open: Vec<&Task> = required.collect();
    let mut needed = HashSet::new();
    while let Some(task) = open.pop() {
        if needed.insert(task.id.clone()) {
            open.extend(task.depends.iter().filter_map(|on| by_id.get(on)));
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KnownNames;

    /// Returns the ids of the tasks that are left out of a plan.
    fn left_out(text: &str, skip_optional: bool) -> Vec<String> {
        let settings = RunSettings {
            skip_optional,
            ..RunSettings::default()
        };
        let plan = Plan::parse(text, &KnownNames::default())
            .unwrap()
            .within(&settings);
        let left_out = plan
            .tasks
            .into_iter()
            .filter(|task| task.status == TaskStatus::LeftOut);
        left_out.map(|task| task.id.to_string()).collect()
    }

    #[test]
    fn open_optional_tasks_are_left_out_unless_a_required_one_needs_them() {
        let plan = "- [ ] T1 Build\n- [ ]* T2 Polish\n- [x]* T3 Done\n- [ ]* T4 Needed (depends: T5)\n- [ ]* T5 By T4\n\
                    - [ ] T6 Needs it (depends: T4)\n- [ ]* T7 After T2 (depends: T2)\n";
        assert_eq!(left_out(plan, true), ["T2", "T7"]);
        assert_eq!(left_out(plan, false), [""; 0]);
    }
}
