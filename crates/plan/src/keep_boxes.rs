//! Keeps the boxes of a plan as they were, in a text that somebody has edited: only landing changes
//! them.
//!
//! What says whether a task is done is put back by the task's id, and a box of any other line (a
//! part of a task) by the line's text. Should a task be done, put off or cancelled in the end that
//! was not, because its line was written anew, or be missing, the whole edit is dropped: a plan
//! that calls failed work done, or has lost it, would skip it for ever.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use orchestrate_core::ids::TaskId;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts;

use crate::fields::names::KnownNames;
use crate::mark::Mark;
use crate::parse;
use crate::parse::Plan;
use crate::tasks::checkbox::box_in_line;

/// A text with the boxes of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBoxes {
    /// The text.
    pub text: String,
    /// What the edit had changed: the ids of tasks, and the lines of their parts.
    pub changed: Vec<String>,
}

/// Returns an edited plan with the boxes that it had before the edit; `None` if the edit changes
/// none.
pub fn keep_boxes(before: &str, edited: &str, known: &KnownNames) -> Option<KeptBoxes> {
    if before == edited {
        return None;
    }
    let (was, now) = (parse::read(before, known).0, parse::read(edited, known).0);
    let (text, mut changed) = with_marks(before, &was, edited, &now);
    let (text, lines) = with_boxes_of_lines(before, &text);
    changed.extend(lines);
    let lost = lost(&was, &parse::read(&text, known).0);
    if lost.is_empty() {
        return (!changed.is_empty()).then_some(KeptBoxes { text, changed });
    }
    changed.extend(lost);
    let mut seen = BTreeSet::new();
    changed.retain(|what| seen.insert(what.clone()));
    Some(KeptBoxes {
        text: before.to_owned(),
        changed,
    })
}

/// Puts back what says whether a task is done, for each task that both texts have.
fn with_marks(before: &str, was: &Plan, edited: &str, now: &Plan) -> (String, Vec<String>) {
    let marks: BTreeMap<&TaskId, &Vec<Mark>> =
        was.marks.iter().map(|(id, marks)| (id, marks)).collect();
    let (mut replaced, mut changed) = (Vec::new(), Vec::new());
    for (id, of_task) in &now.marks {
        let earlier = marks.get(id).filter(|own| own.len() == of_task.len());
        let pairs = earlier.into_iter().flat_map(|own| own.iter().zip(of_task));
        let count = replaced.len();
        for (old, new) in pairs {
            let (old, range) = (before.get(old.range.clone()), new.range.clone());
            if let Some(old) = old.filter(|old| edited.get(range.clone()) != Some(old)) {
                replaced.push((range, old));
            }
        }
        if replaced.len() > count {
            changed.push(id.to_string());
        }
    }
    replaced.sort_by_key(|(range, _)| range.start);
    (parts::replaced(edited, replaced), changed)
}

/// Puts back the boxes of lines that are otherwise as before.
fn with_boxes_of_lines(before: &str, edited: &str) -> (String, Vec<String>) {
    let mut known: BTreeMap<String, VecDeque<char>> = BTreeMap::new();
    for line in before.lines().filter_map(BoxLine::parse) {
        known.entry(line.key()).or_default().push_back(line.mark);
    }
    let (mut text, mut changed) = (String::with_capacity(edited.len()), Vec::new());
    for whole in edited.split_inclusive('\n') {
        let line = BoxLine::parse(whole);
        let earlier = line.as_ref().and_then(|line| known.get_mut(&line.key()));
        match (line, earlier.and_then(VecDeque::pop_front)) {
            (Some(line), Some(old)) if old != line.mark => {
                text.push_str(&format!("{}[{old}]{}", line.head, line.rest));
                changed.push(line.rest.trim().to_owned());
            }
            _ => text.push_str(whole),
        }
    }
    (text, changed)
}

/// A line with a box.
struct BoxLine<'l> {
    /// Everything up to the bracket.
    head: &'l str,
    mark: char,
    /// What follows the closing bracket.
    rest: &'l str,
}

impl<'l> BoxLine<'l> {
    fn parse(line: &'l str) -> Option<BoxLine<'l>> {
        box_in_line(line)?;
        let (head, boxed) = line.split_once('[')?;
        let mark = boxed.chars().next()?;
        let rest = boxed.strip_prefix(mark)?.strip_prefix(']')?;
        Some(BoxLine { head, mark, rest })
    }

    fn key(&self) -> String {
        format!("{}[]{}", self.head.trim(), self.rest.trim_end())
    }
}

/// Returns the tasks of a plan that another one does not carry out, though they were to be: they
/// are missing, or their status says otherwise.
fn lost(was: &Plan, now: &Plan) -> Vec<String> {
    let statuses: BTreeMap<&TaskId, TaskStatus> = now
        .tasks
        .iter()
        .map(|task| (&task.id, task.status))
        .collect();
    let mut lost = Vec::new();
    for task in &was.tasks {
        let is_lost = match statuses.get(&task.id) {
            None => task.status.runs(),
            Some(TaskStatus::Done) => task.status != TaskStatus::Done,
            Some(status) => task.status.runs() && !status.runs(),
        };
        if is_lost {
            lost.push(task.id.to_string());
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep_boxes(before: &str, edited: &str) -> Option<KeptBoxes> {
        super::keep_boxes(before, edited, &KnownNames::default())
    }

    const PLAN: &str =
        "# Plan\n\n- [ ] T1 Add a\n  - [ ] write it\n- [ ] T2 Add b\n- [x] T0 Set up\n";

    fn kept(before: &str, edited: &str) -> (String, Vec<String>) {
        let kept = keep_boxes(before, edited).unwrap();
        (kept.text, kept.changed)
    }

    #[test]
    fn boxes_are_as_before_and_other_edits_stay() {
        let ticked = PLAN
            .replace("[ ] T1", "[x] T1")
            .replace("[ ] write", "[x] write");
        assert_eq!(
            kept(PLAN, &ticked),
            (
                PLAN.to_owned(),
                vec!["T1".to_owned(), "write it".to_owned()]
            )
        );
        let edited = format!(
            "{}\n## Notes\n\nUse tabs.\n",
            ticked.replace("Add b", "Add b, then c")
        );
        let (text, changed) = kept(PLAN, &edited);
        assert_eq!(
            text,
            format!(
                "{}\n## Notes\n\nUse tabs.\n",
                PLAN.replace("Add b", "Add b, then c")
            )
        );
        assert_eq!(changed, ["T1", "write it"]);
        let unticked = PLAN.replace("[x] T0", "[ ] T0");
        assert_eq!(kept(PLAN, &unticked).0, PLAN);
    }

    #[test]
    fn an_edit_without_boxes_is_none_of_ours() {
        assert_eq!(keep_boxes(PLAN, PLAN), None);
        assert_eq!(
            keep_boxes(PLAN, &PLAN.replace("# Plan", "# The plan")),
            None
        );
        assert_eq!(keep_boxes(PLAN, &format!("{PLAN}- [ ] T3 Add c\n")), None);
        assert_eq!(
            keep_boxes(PLAN, &format!("{PLAN}- [x] T3 Done on the way\n")),
            None,
            "a new task takes none away"
        );
    }

    #[test]
    fn a_line_that_is_written_anew_makes_no_task_done() {
        let slugs = "- [ ] Add the parser\n- [ ] Add the printer\n";
        let anew = "- [x] Added the parser, finally\n- [ ] Add the printer\n";
        assert_eq!(kept(slugs, anew).0, slugs);
        let headings = "## Task 1: Add a\n\nDo it.\n\n## Task 2: Add b\n\nDo it.\n";
        let status = headings.replace(
            "## Task 1: Add a\n",
            "## Task 1: Add a\n\n**Status**: done\n",
        );
        let found = keep_boxes(headings, &status).map(|kept| kept.text);
        assert_eq!(found.as_deref().unwrap_or(headings), headings);
    }

    #[test]
    fn a_task_is_not_put_off_by_an_edit_either() {
        for edited in [
            PLAN.replace("Add a", "~~Add a~~"),
            PLAN.replace("# Plan\n", "# Plan\n\nStatus: deferred\n"),
            PLAN.replace("# Plan\n", "# Plan\n\n## Out of scope\n"),
            PLAN.replace("# Plan\n", "# Plan\n\n## Done\n"),
            PLAN.replace("# Plan\n", "---\nstatus: done\n---\n# Plan\n"),
            PLAN.replace("- [ ] T1", "```\n- [ ] T1"),
            PLAN.replace("- [ ] T1 Add a", "- [-] T1 Add an a"),
            PLAN.replace("- [ ] T1 Add a", "- [!] T1 Add an a"),
        ] {
            let found = keep_boxes(PLAN, &edited);
            let text = found.map_or(edited.clone(), |kept| kept.text);
            let kept = parse::read(&text, &KnownNames::default()).0;
            let open = kept.tasks.iter().filter(|task| task.status.runs());
            assert_eq!(open.count(), 2, "{edited}");
        }
    }

    #[test]
    fn marks_of_other_formats_are_kept_by_their_task() {
        let json = "{\"userStories\":[{\"id\":\"US-1\",\"title\":\"a\",\"passes\":false},{\"id\":\"US-2\",\"title\":\"b\",\"passes\":false}]}";
        let passed = json.replacen("false", "true", 1);
        assert_eq!(
            kept(json, &passed),
            (json.to_owned(), vec!["US-1".to_owned()])
        );
    }
}
