//! Keeps the boxes of a plan as they were, in a text that somebody has edited: only landing changes
//! them.
//!
//! What says whether a task is done is put back by the task's id, and a box of any other line (a
//! part of a task) by the line's text. Should a task be done in the end that was not, because its
//! line was written anew, or be missing, the whole edit is dropped: a plan that calls failed work
//! done, or has lost it, would skip it for ever.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use orchestrate_core::ids::TaskId;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts;

use crate::fields::names::KnownNames;
use crate::mark::Mark;
use crate::parse;
use crate::parse::Plan;

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
    let kept = parse::read(&text, known).0;
    let mut wrongly = newly_done(&was, &kept);
    wrongly.extend(lost(&was, &kept));
    if wrongly.is_empty() {
        return (!changed.is_empty()).then_some(KeptBoxes { text, changed });
    }
    changed.extend(wrongly);
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
        let Some(earlier) = marks
            .get(id)
            .filter(|earlier| earlier.len() == of_task.len())
        else {
            continue;
        };
        let differ = earlier.iter().zip(of_task).filter_map(|(old, new)| {
            let (old, range) = (before.get(old.range.clone())?, new.range.clone());
            (edited.get(range.clone())? != old).then(|| (range, old.to_owned()))
        });
        let count = replaced.len();
        replaced.extend(differ);
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
        let old = line
            .as_ref()
            .and_then(|line| known.get_mut(&line.key())?.pop_front());
        match (line, old) {
            (Some(line), Some(old)) if old != line.mark => {
                text.push_str(line.head);
                text.push(old);
                text.push_str(line.rest);
                changed.push(line.rest.trim_start_matches(']').trim().to_owned());
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
    /// The closing bracket, and what follows it.
    rest: &'l str,
}

impl<'l> BoxLine<'l> {
    fn parse(line: &'l str) -> Option<BoxLine<'l>> {
        let open = line.find('[')?;
        let head = line.get(..=open)?;
        let mark = line.get(open + 1..)?.chars().next()?;
        let rest = line.get(open + 1 + mark.len_utf8()..)?;
        (is_bullet(line.get(..open)?) && rest.starts_with(']')).then_some(BoxLine {
            head,
            mark,
            rest,
        })
    }

    fn key(&self) -> String {
        format!("{}{}", self.head.trim(), self.rest.trim_end())
    }
}

fn is_bullet(text: &str) -> bool {
    let text = text.trim_start_matches(['>', ' ', '\t']).trim_end();
    matches!(text, "-" | "*" | "+") || text.strip_suffix(['.', ')']).is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// Returns the tasks that are done in the new text and were not before; a new one counts if one is
/// missing that was open, since its line may have been written anew.
fn newly_done(was: &Plan, now: &Plan) -> Vec<String> {
    let (was, now) = (statuses(was), statuses(now));
    let is_lost = was
        .iter()
        .any(|(id, status)| status.runs() && !now.contains_key(id));
    let is_wrong = |id: &TaskId| match was.get(id) {
        Some(before) => *before != TaskStatus::Done,
        None => is_lost,
    };
    let done = now
        .iter()
        .filter(|(_, status)| **status == TaskStatus::Done);
    done.filter(|(id, _)| is_wrong(id))
        .map(|(id, _)| id.to_string())
        .collect()
}

fn statuses(plan: &Plan) -> BTreeMap<TaskId, TaskStatus> {
    plan.tasks
        .iter()
        .map(|task| (task.id.clone(), task.status))
        .collect()
}

/// Returns the tasks that were to be done and are no longer in the plan.
fn lost(was: &Plan, now: &Plan) -> Vec<String> {
    let kept: BTreeSet<&TaskId> = now.tasks.iter().map(|task| &task.id).collect();
    let open = was.tasks.iter().filter(|task| task.status.runs());
    open.filter(|task| !kept.contains(&task.id))
        .map(|task| task.id.to_string())
        .collect()
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
    fn marks_of_other_formats_are_kept_by_their_task() {
        let json = "{\"userStories\":[{\"id\":\"US-1\",\"title\":\"a\",\"passes\":false},{\"id\":\"US-2\",\"title\":\"b\",\"passes\":false}]}";
        let passed = json.replacen("false", "true", 1);
        assert_eq!(
            kept(json, &passed),
            (json.to_owned(), vec!["US-1".to_owned()])
        );
    }
}
