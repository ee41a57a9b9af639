//! A plan that an agent proposes as its answer, for a person to review before anything of it runs.

use orchestrate_core::schedule::Schedule;
use orchestrate_core::settings::RunSettings;

use crate::check::finding::{Finding, FindingCode, PlanError};
use crate::check::report::unfit;
use crate::fields::names::KnownNames;
use crate::parse::Plan;

/// What fences a block of code.
const FENCE: &str = "```";

/// Returns the text of a proposed plan, as it is written to a file. An answer that is one fenced block as a whole
/// counts as what is in the block.
///
/// # Errors
/// Every error of the plan, and an answer of which no task could start in a run with these settings.
pub fn proposed(answer: &str, known: &KnownNames, settings: &RunSettings) -> Result<String, Vec<PlanError>> {
    let text = unfenced(answer.trim());
    if let Some((line, column)) = control_character(text) {
        let code = FindingCode::HiddenText;
        return Err(vec![Finding { line, column, ..of_answer(code, "a control character") }]);
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
        return Err(vec![of_answer(FindingCode::NoTasks, "no task can start; write open ones as `- [ ] T1 title`")]);
    }
    Ok(format!("{text}\n"))
}

fn of_answer(code: FindingCode, message: &str) -> Finding {
    Finding { line: 0, column: 0, code, message: message.to_owned(), text: String::new(), suggestion: None }
}

/// Returns what is inside the fence of a text that is one fenced block, else the text.
fn unfenced(text: &str) -> &str {
    let inside = || {
        let (info, rest) = text.strip_prefix(FENCE)?.split_once('\n')?;
        let inside = rest.strip_suffix(FENCE)?;
        let is_one = !info.contains('`') && !inside.lines().any(|line| line.starts_with(FENCE));
        is_one.then(|| inside.trim())
    };
    inside().unwrap_or(text)
}

/// Returns the line and the column of the first control character, which a terminal would obey.
fn control_character(text: &str) -> Option<(usize, usize)> {
    let is_one = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    let of_line = |line: &str| line.chars().position(is_one);
    text.lines().enumerate().find_map(|(at, line)| Some((at + 1, of_line(line)? + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn propose(answer: &str) -> Result<String, Vec<String>> {
        let known = KnownNames::roles(["implementer", "coordinator"]);
        let errors = |errors: Vec<PlanError>| errors.iter().map(ToString::to_string).collect();
        proposed(answer, &known, &RunSettings::default()).map_err(errors)
    }

    #[test]
    fn a_proposed_plan_is_what_can_be_run() {
        let plan = "# Login\n\n- [ ] T1 Fix the test @implementer (files: a.rs)\n- [ ] T2 Try it (depends: T1)\n";
        assert_eq!(propose(plan).as_deref(), Ok(plan));
        for fenced in [format!("```markdown\n{plan}```\n"), format!("\n```\n{plan}\n```")] {
            assert_eq!(propose(&fenced).as_deref(), Ok(plan), "{fenced}");
        }
    }

    #[test]
    fn an_answer_that_is_no_plan_is_an_error() {
        for (answer, expected) in [
            ("", "the plan is empty"),
            ("I would fix the test first, then the login.", "no tasks found, only prose"),
            ("Here is the plan:\n\n```\n- [ ] T1 Fix\n```\n", "no tasks found"),
            ("- [x] T1 Fix the test\n", "no task can start"),
            ("- [ ] T1 Fix (depends: T9)\n", "T9"),
            ("- [ ] T1 Fix (agent: wizard)\n", "unknown role `wizard`"),
            ("- [ ] T1 Fix\u{1b}[2J it\n", "line 1, column 13: a control character"),
        ] {
            let errors = propose(answer).unwrap_err();
            assert!(errors.iter().any(|error| error.contains(expected)), "{answer}: {errors:?}");
        }
    }
}
