//! A goal: work without tasks, which one agent gets as a whole and divides among others.
//!
//! A document is a goal if it describes work and no line of it looks like a task
//! ([`crate::read::headings::whole`]); a text that a person types instead of a file's name is one
//! as it stands.

use orchestrate_core::TaskId;
use orchestrate_core::task::Work;

use crate::check::finding::Findings;
use crate::fields::assign;
use crate::fields::names::KnownNames;
use crate::parse;
use crate::parse::Plan;
use crate::read::headings::whole;
use crate::read::lists::task_line::Draft;

/// The role whose agent makes a plan of a goal.
pub const PLANNER: &str = "planner";

impl Plan {
    /// Creates the plan of a typed goal, whose only task is the text as it stands; `None` if the
    /// text lists tasks of its own, and so is a plan.
    pub fn of_goal(text: &str) -> Option<Plan> {
        let (listed, _) = parse::read(text, &KnownNames::default());
        if listed.tasks.iter().any(|task| !task.goal) {
            return None;
        }
        let text = text.trim();
        let title = whole::headline(text);
        let details = if title == text {
            Vec::new()
        } else {
            vec![text.to_owned()]
        };
        let drafts = [Draft {
            title: title.clone(),
            details,
            goal: true,
            ..Draft::default()
        }];
        let names = assign::assign(&drafts, &mut Findings::default());
        let ids: Vec<TaskId> = names.into_iter().map(|name| name.id).collect();
        let tasks = drafts
            .into_iter()
            .zip(ids)
            .map(|(draft, id)| draft.into_task(id))
            .collect();
        Some(Plan {
            title: Some(title),
            tasks,
            ..Plan::default()
        })
    }

    /// Reports whether the plan is a goal.
    pub fn is_goal(&self) -> bool {
        self.tasks.iter().any(|task| task.goal)
    }

    /// Returns the plan with an agent that makes a plan of the goal instead of carrying it out.
    #[must_use]
    pub fn for_planning(mut self) -> Plan {
        for task in self.tasks.iter_mut().filter(|task| task.goal) {
            task.work = Work::Agent(Some(PLANNER.to_owned()));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_goal_is_one_task_with_the_whole_text() {
        let long = format!(
            "Fix the flaky login test. {}",
            "It fails now and then. ".repeat(9)
        );
        for (text, id, title, details) in [
            (
                "fix the flaky login test",
                "fix_the_flaky",
                "fix the flaky login test",
                0,
            ),
            ("  fix tests\n", "fix_tests", "fix tests", 0),
            (
                "Why is it slow?\n\n- measure first",
                "why_is_it_slow",
                "Why is it slow?",
                1,
            ),
            (
                long.as_str(),
                "fix_the_flaky",
                "Fix the flaky login test. It fails now and then. It fails now and then. It fails…",
                1,
            ),
        ] {
            let plan = Plan::of_goal(text).unwrap();
            let [task] = plan.tasks.as_slice() else {
                panic!("{plan:?}")
            };
            assert_eq!(
                (task.id.as_str(), task.title.as_str(), task.details.len()),
                (id, title, details)
            );
            assert!(task.details.iter().all(|whole| whole == text.trim()) && plan.is_goal());
            assert_eq!(task.work, Work::Agent(Some("coordinator".to_owned())));
            let planned = plan.for_planning();
            assert_eq!(
                planned.tasks[0].work,
                Work::Agent(Some("planner".to_owned()))
            );
        }
        assert_eq!(
            Plan::of_goal("- [ ] T1 fix the test\n- [ ] T2 fix the login\n"),
            None
        );
    }
}
