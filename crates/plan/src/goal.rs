//! A goal: work without tasks, which one agent gets as a whole and divides among others.
//!
//! A document is a goal if it describes work and nothing in it is certain to be a task
//! ([`crate::formats::whole`]); a text that a person types instead of a file's name is one
//! as it stands.

use orchestrate_core::TaskId;
use orchestrate_core::task::Work;

use crate::citations;
use crate::fields::names::{KnownNames, ReadAs};
use crate::finding::{Findings, PlanError};
use crate::formats::whole;
use crate::order::assign;
use crate::parse;
use crate::parse::Plan;
use crate::tasks::draft::Draft;

/// The role whose agent makes a plan of a goal.
pub const PLANNER: &str = "planner";

impl Plan {
    /// Creates the plan of a typed goal, whose only task is the text as it stands; `None` if the
    /// text lists tasks of its own, and so is a plan.
    pub fn of_goal(text: &str) -> Option<Plan> {
        let (listed, _) = parse::read(text, &KnownNames::default());
        // Whoever types a goal has said what a list in it is that may as well be one of tasks.
        let first = listed.readings.first();
        let is_doubtful = first.is_some_and(|own| own.read == ReadAs::Items.word());
        if !is_doubtful && listed.tasks.iter().any(|task| !task.goal) {
            return None;
        }
        let whole = text.trim();
        let details = match whole::headline(whole) == whole {
            true => Vec::new(),
            false => vec![whole.to_owned()],
        };
        Some(one_task(whole, details))
    }

    /// Reports whether the plan is a goal.
    pub fn is_goal(&self) -> bool {
        self.tasks.iter().any(|task| task.goal)
    }

    /// Creates the plan whose only task is to rewrite a document as a plan, whatever it contains.
    ///
    /// # Errors
    /// The document is empty, binary or too large.
    pub fn of_document(text: &str) -> Result<Plan, PlanError> {
        parse::require_text(text)?;
        Ok(one_task(first_words(text), vec![numbered_document(text)]))
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

/// Returns the first line of a document that has a word, without the marks of a heading.
fn first_words(text: &str) -> &str {
    let has_word = |line: &&str| line.contains(char::is_alphanumeric);
    let line = text.lines().find(has_word).unwrap_or(text);
    line.trim_start_matches(['#', ' ', '\u{feff}'])
}

/// Creates a plan whose only task is the goal that a text describes.
fn one_task(text: &str, details: Vec<String>) -> Plan {
    let title = whole::headline(text.trim());
    let drafts = [Draft {
        title: title.clone(),
        details,
        goal: true,
        ..Draft::default()
    }];
    let names = assign::assign(&drafts, &mut Findings::default());
    let ids: Vec<TaskId> = names.into_iter().map(|name| name.id).collect();
    let named = drafts.into_iter().zip(ids);
    let tasks = named.map(|(draft, id)| draft.into_task(id)).collect();
    Plan {
        title: Some(title),
        tasks,
        ..Plan::default()
    }
}

/// What the agent is told of a document that it rewrites as a plan.
const REWRITE: &str = "\
Rewrite this document as a plan. Its lines are numbered here; the numbers are not part of it. Keep what it
says: every piece of work becomes a task, with what the document says of it, and no task is added. Keep marks of done
work ([x]), commands, files, dependencies, and a front matter that sets something. After the plan, end your
answer with a block of code marked `lines` that says what becomes of each line with text, by the ids of your plan:

```lines
1-2, 9: told
3-5: T1
6: T2, T3
7-8: not run: an example
```

`told` is what all agents have to know; `not run` needs a reason. Each task needs a line of its own
that says the work: a title is none, and no two tasks share a line that says one thing. Write a
`run:` or `verify:` only if the document names that command. What is done, dropped, blocked or work
of a person stays so: mark it as the document does, or say that it is not run. Do not put a fence
around the plan itself.

The document:

";

/// Returns what the agent is told of a document, with the number of each line.
fn numbered_document(text: &str) -> String {
    let mut told = REWRITE.to_owned();
    for (number, line) in (1..).zip(citations::lines(text)) {
        told.push_str(&format!("{number}\t{line}\n"));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_rewritten_whatever_it_contains() {
        let plan = Plan::of_document("# Shop\n\n- [ ] Add the cart\n").unwrap();
        let [task] = plan.tasks.as_slice() else {
            panic!("{plan:?}")
        };
        assert!(task.details.concat().contains("3\t- [ ] Add the cart\n"));
        assert!(plan.is_goal() && task.title == "Shop");
        assert!(Plan::of_document(" \n").is_err());
        let numbered = numbered_document("# Shop\r\r- [ ] Add the cart\r\n- [ ] Add the till\n");
        assert!(
            numbered.ends_with("1\t# Shop\n2\t\n3\t- [ ] Add the cart\n4\t- [ ] Add the till\n")
        );
    }

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
                "Why is it slow?\n\n1. measure first\n2. then look",
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
