//! A plan that an agent proposes as its answer, for a person to review before anything of it runs.

use orchestrate_core::TaskId;
use orchestrate_core::event::settings::RunSettings;
use orchestrate_core::task::Task;
use orchestrate_core::task::schedule::Schedule;

use crate::answer;
use crate::check::report::unfit;
use crate::citations::{self, Citation};
use crate::fields::names::KnownNames;
use crate::finding::{Finding, FindingCode, PlanError, Skipped};
use crate::parse::{self, Plan};
use crate::write_back;

/// Returns the text of a proposed plan. Of an answer that has tasks only in its one fenced block,
/// that is what is in the block. Where the answer rewrites a document, what becomes of each line of
/// it follows in a block of its own ([`Rewritten`] divides them).
///
/// # Errors
/// Every error of the plan, an answer of which no task could start in a run with these settings,
/// and one that does not account for the whole document.
pub fn proposed(
    answer: &str,
    document: Option<&str>,
    known: &KnownNames,
    settings: &RunSettings,
) -> Result<String, Vec<PlanError>> {
    let Some(document) = document else {
        return Ok(runnable(answer, known, settings)?.0);
    };
    let divided = answer::divide(answer);
    let Some(account) = divided.account else {
        let message = "the answer does not end with a block of code marked `lines` that says what \
                       becomes of each line of the document";
        return Err(vec![Finding::of_whole(FindingCode::Citation, message)]);
    };
    require_printable(account)?;
    let (text, plan) = runnable(&divided.plan, known, settings)?;
    citations::check(account, document, &plan)?;
    let whole = format!("{text}\n{account}\n");
    if answer::divide(&whole).account != Some(account) {
        let message = "a fence of the plan is not closed";
        return Err(vec![Finding::of_whole(FindingCode::Unclosed, message)]);
    }
    Ok(whole)
}

/// A document that was rewritten as a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The text of the plan, as it is written to a file.
    pub plan: String,
    /// What becomes of the lines of the document, in their order; empty if the plan was made of a
    /// typed goal, and if another version has taken an account that this one would not.
    pub citations: Vec<Citation>,
}

impl Rewritten {
    /// Divides what [`proposed`] returned for a document; the plan of a typed goal has none.
    pub fn from_answer(answer: &str, document: Option<&str>) -> Self {
        let Some(document) = document else {
            return Self {
                plan: answer.to_owned(),
                citations: Vec::new(),
            };
        };
        let divided = answer::divide(answer);
        Self {
            plan: format!("{}\n", divided.plan.trim_end()),
            citations: divided
                .account
                .map_or_else(Vec::new, |account| citations::taken(account, document)),
        }
    }

    /// Returns the tasks of the plan.
    pub fn tasks(&self) -> Vec<Task> {
        parse::read(&self.plan, &KnownNames::default()).0.tasks
    }

    /// Returns the lines of the document that look like work and are not run.
    pub fn not_run(&self, document: &str) -> Vec<Skipped> {
        citations::not_run(&self.citations, document)
    }

    /// Returns the document with its open boxes ticked whose lines became tasks that have all
    /// landed; every other byte is unchanged.
    pub fn write_boxes(&self, document: &str, landed: &[TaskId]) -> String {
        write_back::write_cited(document, &self.citations, landed)
    }
}

/// Returns the text of a plan of which something can run, and the plan.
fn runnable(
    answer: &str,
    known: &KnownNames,
    settings: &RunSettings,
) -> Result<(String, Plan), Vec<PlanError>> {
    let text = unfenced(answer.trim(), known);
    require_printable(text)?;
    let plan = Plan::parse(text, known)?;
    let errors = unfit(&plan, settings, known);
    if !errors.is_empty() {
        return Err(errors);
    }
    let message = if plan.is_goal() {
        "no tasks found, only prose; write each as `- [ ] T1 title`"
    } else if Schedule::new(&plan.tasks).is_ok_and(|schedule| schedule.waves().is_empty()) {
        "no task can start; write open ones as `- [ ] T1 title`"
    } else {
        return Ok((format!("{text}\n"), plan));
    };
    Err(vec![Finding::of_whole(FindingCode::NoTasks, message)])
}

/// Returns what is inside the only fenced block of a text that has no tasks outside of it, else the
/// text.
fn unfenced<'t>(text: &'t str, known: &KnownNames) -> &'t str {
    let (plan, _) = parse::read(text, known);
    let has_tasks = plan.tasks.iter().any(|task| !task.goal);
    answer::only_code(text)
        .filter(|_| !has_tasks)
        .unwrap_or(text)
}

/// Refuses a text with a control character, which a terminal would obey.
fn require_printable(text: &str) -> Result<(), Vec<PlanError>> {
    for (line, text) in (1..).zip(text.lines()) {
        if let Some(column) = text.chars().position(commands_terminal) {
            return Err(vec![Finding {
                line,
                column: column + 1,
                ..Finding::of_whole(FindingCode::HiddenText, "a control character")
            }]);
        }
    }
    Ok(())
}

fn commands_terminal(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn propose(answer: &str) -> Result<String, Vec<String>> {
        let known = KnownNames::roles(["implementer", "coordinator"]);
        let errors = |errors: Vec<PlanError>| errors.iter().map(ToString::to_string).collect();
        proposed(answer, None, &known, &RunSettings::default()).map_err(errors)
    }

    #[test]
    fn a_rewritten_document_accounts_for_its_lines() {
        let document = "Add a cart.\n\nAdd a till.\n";
        let plan =
            "---\nagent: tester\n---\n- [ ] T1 Add a cart (agent: tester)\n- [ ] T2 Add a till\n";
        let known = KnownNames::roles(["implementer", "tester"]);
        let propose = |answer: &str| {
            let errors = |errors: Vec<PlanError>| format!("{errors:?}");
            proposed(answer, Some(document), &known, &RunSettings::default()).map_err(errors)
        };
        assert!(
            propose(plan)
                .unwrap_err()
                .contains("a block of code marked `lines`")
        );
        let lost = format!("{plan}\n```lines\n1: T1, T2\n```");
        assert!(propose(&lost).unwrap_err().contains("leave out line 3"));
        let whole = format!("{plan}\n```lines\n1: T1\n3: T2\n```");
        let rewritten = Rewritten::from_answer(&propose(&whole).unwrap(), Some(document));
        assert_eq!(rewritten.plan, plan);
        assert_eq!(rewritten.citations.len(), 2);
    }

    #[test]
    fn an_account_is_read_again_as_it_was_taken() {
        let document = "- [ ] Fix it\n\nAll of it.\n";
        let known = KnownNames::roles(["implementer", "tester"]);
        let settings = RunSettings::default();
        let propose = |answer: &str| proposed(answer, Some(document), &known, &settings);
        let taken = propose("- [ ] Fix it @tester\n\n```lines\n1, 3: fix_it\n```\n").unwrap();
        let rewritten = Rewritten::from_answer(&taken, Some(document));
        assert_eq!(rewritten.plan, "- [ ] Fix it @tester\n");
        let landed = [TaskId::from("fix_it")];
        assert!(
            rewritten
                .write_boxes(document, &landed)
                .starts_with("- [x]")
        );

        // A fence that never closes would hide the account below it.
        let open = "```lines\n1, 3: T1\n```\n\n- [ ] T1 Fix it\n\n```\ncode\n";
        let errors = propose(open).unwrap_err();
        assert!(format!("{errors:?}").contains("not closed"), "{errors:?}");
        let hidden = "- [ ] T1 Fix it\n\n```lines\n1: T1\n3: not run: \u{1b}[2J\n```\n";
        let errors = propose(hidden).unwrap_err();
        assert!(
            format!("{errors:?}").contains("a control character"),
            "{errors:?}"
        );
    }

    #[test]
    fn boxes_are_ticked_in_the_lines_that_the_agent_saw() {
        let document = "# Shop\r\r- [ ] Add the cart\n- [ ] Add the till\n";
        let answer = "- [ ] T1 Add\n- [ ] T2 Add\n\n```lines\n1: told\n3: T1\n4: T2\n```\n";
        let rewritten = Rewritten::from_answer(answer, Some(document));
        let written = rewritten.write_boxes(document, &[TaskId::from("T1")]);
        assert_eq!(written, document.replacen("[ ]", "[x]", 1));
    }

    #[test]
    fn boxes_of_a_rewritten_document_are_ticked_where_all_their_tasks_have_landed() {
        let document = "# Shop\n\n- [ ] Add a cart, and\n  a total\n  - [~] round it\n* [ ]* Add a till\n\n\
                        Sell [ ] gift cards.\n\n1. [-] Export\n\n```\n- [ ] no box\n```\n";
        let lines = "1: told\n3-5: T1\n6: T1, T2\n8-14: T1";
        let plan = "- [ ] T1 Add a cart\n- [ ] T2 Add a till\n";
        let answer = format!("{plan}\n```lines\n{lines}\n```\n");
        let rewritten = Rewritten::from_answer(&answer, Some(document));
        assert_eq!(rewritten.citations.len(), 4);
        let first = document.replacen("[ ]", "[x]", 1).replace("[~]", "[x]");
        for (landed, expected) in [
            (&[][..], document.to_owned()),
            (&["T2"][..], document.to_owned()),
            (&["T1"][..], first.clone()),
            (&["T1", "T2"][..], first.replace("[ ]*", "[x]*")),
        ] {
            let landed: Vec<TaskId> = landed.iter().map(|id| TaskId::from(*id)).collect();
            let written = rewritten.write_boxes(document, &landed);
            assert_eq!(written, expected, "{landed:?}");
            assert_eq!(rewritten.write_boxes(&written, &landed), written);
        }
    }

    #[test]
    fn a_proposed_plan_is_what_can_be_run() {
        let plan = "# Login\n\n- [ ] T1 Fix the test @implementer (files: a.rs)\n- [ ] T2 Try it (depends: T1)\n";
        assert_eq!(propose(plan).as_deref(), Ok(plan));
        for fenced in [
            format!("```markdown\n{plan}```\n"),
            format!("\n```\n{plan}\n```"),
            format!("Here is the plan:\n\n~~~ md\n{plan}~~~\n\nShall I begin?"),
            format!("I have read `login.rs`.\n\n   ```\n{plan}   ````\n"),
            format!("```markdown\n{plan}"),
        ] {
            assert_eq!(propose(&fenced).as_deref(), Ok(plan), "{fenced}");
        }
    }

    #[test]
    fn a_block_of_code_in_a_proposed_plan_is_part_of_it() {
        let plan = "- [ ] T1 Fix the test\n  ```\n  - [ ] T9 is an example\n  ```\n";
        assert_eq!(propose(plan).as_deref(), Ok(plan));
        assert_eq!(
            propose(&format!("Like this:\n````\n{plan}````")).as_deref(),
            Ok(plan)
        );
    }

    #[test]
    fn an_answer_that_is_no_plan_is_an_error() {
        for (answer, expected) in [
            ("", "the plan is empty"),
            (
                "I would fix the test first, then the login.",
                "no tasks found, only prose",
            ),
            (
                "Either:\n```\n- [ ] T1 Fix\n```\nor:\n```\n- [ ] T1 Try\n```\n",
                "no tasks found",
            ),
            ("Like this:\n```\nfn main() {}\n```\n", "no tasks found"),
            ("Here it is:\n```\n- [ ] T1 Fix (depends: T9)\n```\n", "T9"),
            ("- [x] T1 Fix the test\n", "no task can start"),
            ("- [ ] T1 Fix (depends: T9)\n", "T9"),
            ("- [ ] T1 Fix (agent: wizard)\n", "unknown role `wizard`"),
            (
                "- [ ] T1 Fix\u{1b}[2J it\n",
                "line 1, column 13: a control character",
            ),
        ] {
            let errors = propose(answer).unwrap_err();
            assert!(
                errors.iter().any(|error| error.contains(expected)),
                "{answer}: {errors:?}"
            );
        }
    }
}
