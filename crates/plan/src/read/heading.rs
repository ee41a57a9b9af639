//! Classifies headings: a phase, a task with fields, or a section whose boxes are not tasks.

use crate::fields::identify;
use crate::read::text;

/// Headings that begin with one of these have no tasks below them.
const NO_TASKS: &[&str] = &[
    "acceptance",
    "success criteria",
    "validation",
    "checklist",
    "definition of done",
    "done when",
    "notes",
    "note",
    "outcomes",
    "outcome",
    "progress",
];
/// Headings that end with one of these have none either, unless they contain a word of `WORK`.
const NO_TASKS_AT_END: &[&str] =
    &["acceptance criteria", "success criteria", "checklist", "definition of done", "notes"];
/// Words that mark a section as one of work.
const WORK: &[&str] = &["task", "tasks", "todo", "implementation", "plan", "steps", "phase", "stage"];

/// Reports whether boxes under such a heading are not tasks.
pub(crate) fn holds_no_tasks(title: &str) -> bool {
    let title = title.to_lowercase();
    let words: Vec<&str> = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let numbered = words.iter().take_while(|word| word.bytes().all(|byte| byte.is_ascii_digit())).count();
    let plain = words.get(numbered..).unwrap_or_default().join(" ");
    let follows = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    let begins = NO_TASKS.iter().any(|start| plain.strip_prefix(start).is_some_and(follows));
    let ends = NO_TASKS_AT_END.iter().any(|end| plain.ends_with(end));
    begins || (ends && !words.iter().any(|word| WORK.contains(word)))
}

/// Reports whether a heading contains `Phase N` or `Stage N`.
pub(crate) fn is_phase(title: &str) -> bool {
    let title = title.to_lowercase();
    let words: Vec<&str> = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.windows(2).any(|pair| match pair {
        ["phase" | "stage", number] => is_number(number),
        _ => false,
    })
}

fn is_number(word: &str) -> bool {
    let words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    word.starts_with(|c: char| c.is_ascii_digit())
        || word.len() == 1
        || word.bytes().all(|byte| matches!(byte, b'i' | b'v' | b'x'))
        || words.contains(&word)
}

/// A heading of the form `Task N: …`, `Step N: …`, `TN: …`, `US-N: …`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TaskHeading<'a> {
    /// `T` (task) or `S` (step) with the number, or the id as written.
    pub(crate) id: String,
    /// The byte offset of the title.
    pub(crate) rest: usize,
    /// The number alone, for references such as `Tasks 1-4`.
    pub(crate) number: &'a str,
}

/// Parses the heading of a task; `None` for other headings.
pub(crate) fn task(title: &str) -> Option<TaskHeading<'_>> {
    let body = title.trim_start_matches(['*', '`']);
    let start = title.len() - body.len();
    for (word, letter) in [("task", "T"), ("step", "S")] {
        let Some(rest) = body.get(..word.len()).filter(|w| w.eq_ignore_ascii_case(word)).and(body.get(word.len()..))
        else {
            continue;
        };
        let number_at = rest.len() - rest.trim_start_matches([' ', '#']).len();
        let found = identify::leading(rest.get(number_at..)?)?;
        let digits = found.id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        return (number_at > 0 && digits).then(|| TaskHeading {
            id: format!("{letter}{}", found.id),
            rest: start + word.len() + number_at + found.rest,
            number: found.id,
        });
    }
    let found = identify::leading(body)?;
    let number = found.id.strip_prefix("US-").or_else(|| found.id.strip_prefix('T'))?;
    Some(TaskHeading { id: found.id.to_owned(), rest: start + found.rest, number })
}

/// Returns a heading's text without `#` marks, strong emphasis and comments.
pub(crate) fn title(raw: &str) -> String {
    let raw = raw.trim_start_matches('#').trim();
    let open = raw.trim_end_matches('#');
    let raw = if open.ends_with(' ') || open.is_empty() { open } else { raw };
    text::without_strong(&text::without(raw, &text::spans(raw).comments).join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_headings_hold_no_tasks() {
        let table = [
            ("Acceptance", true),
            ("Acceptance Criteria", true),
            ("3. Validation and Acceptance", true),
            ("Progress", true),
            ("✅ Definition of Done", true),
            ("Outcomes & Retrospective", true),
            ("Release checklist", true),
            ("Implementation checklist", false),
            ("Phase 3: Validation", false),
            ("Tasks", false),
            ("Progressive rendering", false),
            ("Notebook support", false),
        ];
        for (title, expected) in table {
            assert_eq!(holds_no_tasks(title), expected, "{title}");
        }
    }

    #[test]
    fn phases_are_told() {
        let table = [
            ("Phase 1: Setup", true),
            ("Stage II", true),
            ("Phase N: Polish", true),
            ("phase two", true),
            ("Phases of the moon", false),
            ("Setup", false),
        ];
        for (title, expected) in table {
            assert_eq!(is_phase(title), expected, "{title}");
        }
    }

    #[test]
    fn task_headings_are_read() {
        let heading = |id: &str, rest, number| Some(TaskHeading { id: id.to_owned(), rest, number });
        let table = [
            ("Task 1: Do", heading("T1", 8, "1")),
            ("Step 2. Do", heading("S2", 8, "2")),
            ("**Task 1.2 — Do", heading("T1.2", 15, "1.2")),
            ("T003 - Do", heading("T003", 7, "003")),
            ("US-001: Do", heading("US-001", 8, "001")),
            ("Tasks", None),
            ("Task force", None),
            ("Phase 1", None),
        ];
        for (title, expected) in table {
            assert_eq!(task(title), expected, "{title}");
        }
    }
}
