//! What formats add to the tasks that the walk found: numbers, the boxes of parts, and what waits
//! for a person.

use std::collections::HashSet;

use crate::fields::attributes::Located;
use crate::fields::identify;
use crate::formats::document::Document;
use crate::formats::numbers::{self, counted};
use crate::mark::Mark;
use crate::tasks::draft::Draft;
use orchestrate_core::task::TaskStatus;

/// Why no agent carries a task out, though it is open.
pub(crate) const OF_PERSON: &str = "it is work of a person: tick its box once it is done";

/// The same of one that a line below it calls blocked.
const BLOCKED: &str = "a line below it says that it is blocked";

/// Takes the number of a task from its title, which begins with words of its format, or of another
/// language (`任务 3：…`).
pub(crate) fn count(draft: &mut Draft) {
    let Some(found) = counted(&draft.title).filter(|_| draft.id.is_none()) else {
        return;
    };
    let (number, title) = (found.number.to_owned(), found.title.to_owned());
    draft.set_id(Located::new(format!("T{number}"), draft.at));
    draft.counts = true;
    draft.number = Some(number);
    draft.title = title;
}

/// Takes the numbers that titles begin with: of headings, and those that no mark ends (`3 Set up`).
pub(crate) fn number(drafts: &mut [Draft]) {
    for draft in drafts.iter_mut().filter(|draft| draft.id.is_none()) {
        let Some(text) = numbers::number(&draft.title).map(str::to_owned) else {
            continue;
        };
        let rest = identify::of_item(&draft.title).map_or(0, |found| found.rest);
        draft.title = draft.title.split_off(rest);
        draft.set_id(Located::new(text, draft.at));
    }
}

/// Adds the boxes within items to the marks of these tasks, which are ticked with them; cancelled
/// ones stay as they are, and tasks have their own. Headings have all marks below them already.
pub(crate) fn tick_parts(document: &Document<'_, '_>, drafts: &mut [Draft]) {
    let tasks: HashSet<usize> = drafts.iter().filter_map(own_mark).collect();
    for draft in drafts {
        let is_heading = document.heading_at(draft.at).is_some();
        let Some(at) = own_mark(draft).filter(|_| !is_heading) else {
            continue;
        };
        let own = document.boxes.partition_point(|boxed| boxed.at < at);
        let mut boxes = document.boxes.iter().skip(own);
        let depth = boxes.next().map_or(0, |task| task.depth);
        let mut inner = usize::MAX;
        for part in boxes.take_while(|part| part.depth > depth) {
            if tasks.contains(&part.at) {
                inner = part.depth;
            } else if part.depth <= inner {
                inner = usize::MAX;
                let is_cancelled = part.mark.status == TaskStatus::Cancelled;
                draft
                    .marks
                    .extend((!is_cancelled).then(|| Mark::of_box(part.at)));
            }
        }
    }
}

fn own_mark(draft: &Draft) -> Option<usize> {
    Some(draft.marks.first()?.range.start)
}

/// Keeps the tasks from being carried out that a line below them calls blocked, with these words.
pub(crate) fn hold_blocked(drafts: &mut [Draft], words: &str) {
    for draft in drafts {
        if draft.details.iter().any(|lines| lines.contains(words)) {
            draft.hold(TaskStatus::Blocked, BLOCKED);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fields::names::KnownNames;
    use crate::parse;

    #[test]
    fn parts_are_ticked_with_their_tasks() {
        let extras = "- [ ] 1. Make it\n  - _Need: 1.1_\n  - [ ]* 1.1 Test it\n    - [ ] twice\n";
        let table = [
            (include_str!("agent_os.md"), "T1", 3),
            (include_str!("agent_os_v1.md"), "2", 4),
            (include_str!("agent_os_v1.md"), "3", 2),
            (include_str!("bmad_story.md"), "T2", 3),
            (include_str!("conductor.md"), "store_the_choice", 3),
            (include_str!("execplan.md"), "remember_the", 1),
            (include_str!("kiro.md"), "3.1", 1),
            (include_str!("openspec.md"), "1.2", 3),
            (include_str!("superpowers.md"), "T1", 2),
            (extras, "1", 1),
            (extras, "1.1", 2),
        ];
        for (source, id, expected) in table {
            let (plan, errors) = parse::read(source, &KnownNames::default());
            assert_eq!(errors, []);
            let marks = plan.marks.iter().find(|(task, _)| task.as_str() == id);
            assert_eq!(
                marks.map(|(_, marks)| marks.len()),
                Some(expected),
                "{id}: {source}"
            );
        }
    }

    #[test]
    fn work_of_a_person_and_what_is_called_blocked_is_held_back() {
        let table = [
            (
                include_str!("conductor.md"),
                "16 it is work of a person: tick its box once it is done",
            ),
            (
                "- [ ] 1. Make it\n  - _Need: 1.1_\n  - _Blocked: no key yet_\n",
                "1 a line below it says that it is blocked",
            ),
            (
                "# Spec Tasks\n\n- [ ] 1. Make it\n  - [ ] 1.1 Test it\n\n  \
                 ⚠️ Blocking issue: no key\n",
                "3 a line below it says that it is blocked",
            ),
            (
                "## Phase 1: A [checkpoint: 7fae265]\n\n\
                 - [~] Task: Conductor - See (workflow.md)\n",
                "",
            ),
            (
                "## Phase 1: A [checkpoint: 7fae265]\n\n\
                 - [ ] Task: B\n- [ ] Task: Conductor - See (workflow.md)\n",
                "4 it is work of a person: tick its box once it is done",
            ),
        ];
        for (source, expected) in table {
            let (plan, errors) = parse::read(source, &KnownNames::default());
            assert_eq!(errors, []);
            let skipped: Vec<String> = plan
                .skipped
                .iter()
                .map(|skipped| format!("{} {}", skipped.line, skipped.reason))
                .collect();
            assert_eq!(skipped.join("; "), expected, "{source}");
        }
    }
}
