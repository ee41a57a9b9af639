//! Boxes below a task, which are its steps: what a check says of them.

use crate::check::finding::{FindingCode, Findings, Pending, SkippedKind};
use crate::fields::attributes;
use crate::fields::attributes::{Attributes, Form};
use crate::read::lines::outline::{Block, Item};
use crate::read::lists::task_line::{Reader, items_of};
use orchestrate_core::task::TaskStatus;

/// Why a box below a task is no task.
const IS_STEP: &str = "it is a step of the task above";
const IS_OPEN_STEP_OF_DONE: &str =
    "it is an open step of a task that is done: write it beside that task to have it carried out";

impl Reader<'_, '_> {
    /// Says of each box below a task that it is a step, and warns of attributes that only a task
    /// can have.
    pub(crate) fn note_steps(&mut self, body: &[Block], task: TaskStatus) {
        for block in body {
            match block {
                Block::List(items) => items.iter().for_each(|item| self.note_step(item, task)),
                Block::Opaque { .. } => self.skip_boxes(block),
                _ => {}
            }
        }
    }

    fn note_step(&mut self, item: &Item, task: TaskStatus) {
        // A line below that is nearly a box, such as `-[ ] x`, belongs to the item's paragraph.
        let first = self.first_line(item);
        if !first.is_one_line() {
            self.note_odd_lines(&first, 0);
        }
        if let Some((line, mark)) = self.boxed_line(item) {
            match task == TaskStatus::Done && mark.status.runs() {
                true => self.findings.skip_as(
                    SkippedKind::OpenStep,
                    item.range.start,
                    IS_OPEN_STEP_OF_DONE,
                ),
                false => self.findings.skip(item.range.start, IS_STEP),
            }
            let line_keys =
                attributes::read_line(&line, mark.rest, self.known, &mut Findings::default());
            self.warn_of_unused(line.offset(mark.rest), &line_keys.attributes);
            let mut below = Attributes::default();
            for bullet in item
                .blocks
                .iter()
                .flat_map(items_of)
                .filter(|bullet| self.boxed_line(bullet).is_none())
            {
                let line = self.first_line(bullet);
                if let Some(field) =
                    attributes::read_detail(&line, Form::Bullet, &mut Findings::default())
                {
                    below.set(&field, &mut Findings::default());
                }
            }
            self.warn_of_unused(item.range.start, &below);
        }
        self.note_steps(&item.blocks, task);
    }

    /// Warns of the attributes of a step, which have no effect.
    fn warn_of_unused(&mut self, offset: usize, attributes: &Attributes) {
        let keys = attributes
            .given_keys()
            .map(|key| format!("`{key}`"))
            .collect::<Vec<_>>()
            .join(", ");
        if keys.is_empty() {
            return;
        }
        let message = format!("ignored, because this box is a step of the task above: {keys}");
        let text = self
            .source
            .lines(offset..self.source.text.len())
            .next()
            .map_or("", |(_, line)| line);
        let advice =
            "write it beside that task, without the indentation, to make it a task of its own";
        let found = Pending::new(offset, FindingCode::UnusedKey, text, message);
        self.findings.warn(found.suggest(Some(advice.to_owned())));
    }
}
