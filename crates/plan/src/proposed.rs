//! A plan that an agent proposes as its answer, for a person to review before anything of it runs.

use orchestrate_core::TaskId;
use orchestrate_core::event::settings::RunSettings;
use orchestrate_core::task::schedule::Schedule;
use orchestrate_core::text::parts::Parts;

use crate::check::report::unfit;
use crate::citations::{self, Citation};
use crate::fields::names::KnownNames;
use crate::finding::{Finding, FindingCode, PlanError};
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
    let divided = citations::divide(answer);
    let Some(cited) = divided.citations else {
        let message = "the answer does not end with a block of code marked `lines` that says what \
                       becomes of each line of the document";
        return Err(vec![of_answer(FindingCode::Citation, message)]);
    };
    let (text, plan) = runnable(&divided.plan, known, settings)?;
    citations::check(cited, document, &plan)?;
    Ok(format!("{text}\n{cited}\n"))
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
        let divided = citations::divide(answer);
        let plan = format!("{}\n", divided.plan.trim_end());
        // Only its ids matter: it was checked with the roles of the project, which are not known
        // here.
        let (read, _) = parse::read(&plan, &KnownNames::default());
        let cited = divided.citations.unwrap_or_default();
        let citations = citations::check(cited, document, &read).unwrap_or_default();
        Self { plan, citations }
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
    if let Some((line, column)) = control_character(text) {
        let code = FindingCode::HiddenText;
        return Err(vec![Finding {
            line,
            column,
            ..of_answer(code, "a control character")
        }]);
    }
    let plan = Plan::parse(text, known)?;
    let errors = unfit(&plan, settings, known);
    if !errors.is_empty() {
        return Err(errors);
    }
    if plan.is_goal() {
        return Err(vec![of_answer(
            FindingCode::NoTasks,
            "no tasks found, only prose; write each as `- [ ] T1 title`",
        )]);
    }
    if Schedule::new(&plan.tasks).is_ok_and(|schedule| schedule.waves().is_empty()) {
        return Err(vec![of_answer(
            FindingCode::NoTasks,
            "no task can start; write open ones as `- [ ] T1 title`",
        )]);
    }
    Ok((format!("{text}\n"), plan))
}

fn of_answer(code: FindingCode, message: &str) -> Finding {
    Finding {
        line: 0,
        column: 0,
        code,
        message: message.to_owned(),
        text: String::new(),
        suggestion: None,
    }
}

/// Returns what is inside the only fenced block of a text that has no tasks outside of it, else the
/// text.
fn unfenced<'t>(text: &'t str, known: &KnownNames) -> &'t str {
    let (plan, _) = parse::read(text, known);
    let has_tasks = plan.tasks.iter().any(|task| !task.goal);
    match fenced_blocks(text).as_slice() {
        [only] if !has_tasks => only.trim(),
        _ => text,
    }
}

/// Returns the contents of the fenced blocks that are not inside another block (CommonMark 0.31,
/// section 4.5). A block that is not closed ends with the text.
fn fenced_blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        match (&open, Fence::parse(line)) {
            (None, Some(fence)) => open = Some((fence, next)),
            (Some((opening, from)), Some(fence)) if fence.closes(opening) => {
                blocks.push(text.part(*from..at));
                open = None;
            }
            _ => {}
        }
        at = next;
    }
    blocks.extend(open.and_then(|(_, from)| text.get(from..)));
    blocks
}

/// A line that may open or close a block of code.
struct Fence {
    mark: char,
    length: usize,
    has_info: bool,
}

impl Fence {
    fn parse(line: &str) -> Option<Self> {
        let text = line.trim_end();
        let marks = text.trim_start_matches(' ');
        let mark = marks
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let info = marks.trim_start_matches(mark);
        let length = marks.len() - info.len();
        let is_fence =
            text.len() - marks.len() <= 3 && length >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then_some(Self {
            mark,
            length,
            has_info: !info.is_empty(),
        })
    }

    fn closes(&self, opening: &Self) -> bool {
        self.mark == opening.mark && self.length >= opening.length && !self.has_info
    }
}

/// Returns the line and the column of the first control character, which a terminal would obey.
fn control_character(text: &str) -> Option<(usize, usize)> {
    text.lines()
        .enumerate()
        .find_map(|(at, line)| Some((at + 1, control_in_line(line)? + 1)))
}

fn control_in_line(line: &str) -> Option<usize> {
    line.chars().position(is_one)
}

fn is_one(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t' | '\r')
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
