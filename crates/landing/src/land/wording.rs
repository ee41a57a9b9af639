//! The messages of the commits that a landing makes, and the text of a pull request: the user's
//! template, or a default.

use std::cell::Cell;

use orchestrate_core::text::cut;
use orchestrate_core::text::message_template::{MessageTemplate, Place, Placeholder};
use orchestrate_core::{RunState, TaskId, TaskRecord};

/// The maximum size of a task's summary in a message, in bytes: some paragraphs, as a person would
/// write.
const SUMMARY_BYTES: usize = 2_000;

/// The maximum number of tasks that a subject names.
const SUBJECT_TASKS: usize = 5;

/// The maximum size of the beginning of a summary in a pull request, in bytes: a few lines, as its
/// reader skims a list.
const ITEM_BYTES: usize = 500;

/// The maximum size of the description of a pull request, in bytes: GitHub takes 65,536 characters,
/// and Linux twice as many bytes in one argument of a program.
const DESCRIPTION_BYTES: usize = 60_000;

/// How much of a commit's id a description names, in characters.
const COMMIT_CHARS: usize = 12;

/// The texts from which a message is made.
pub(crate) struct Wording<'a> {
    pub(crate) state: &'a RunState,
    /// The tasks that have landed before, if any have.
    pub(crate) since: Option<Vec<TaskId>>,
}

impl Wording<'_> {
    /// Returns the message of a merge.
    pub(crate) fn of_merge(&self, template: Option<&MessageTemplate>) -> String {
        let run = &self.state.run_id;
        let default = || {
            self.state
                .title
                .as_ref()
                .map_or(format!("Merge run {run}"), |title| {
                    format!("Merge run {run}: {title}")
                })
        };
        template.map_or_else(default, |template| self.filled(template))
    }

    /// Returns the message of a commit with the work of all tasks.
    pub(crate) fn of_squash(&self, template: Option<&MessageTemplate>) -> String {
        template.map_or_else(
            || self.filled(&MessageTemplate::default()),
            |template| self.filled(template),
        )
    }

    /// Returns the title of a pull request, and its description in Markdown: the first line of the
    /// user's message, and the rest of it above the tasks and how the result was checked.
    pub(crate) fn of_request(&self, template: Option<&MessageTemplate>) -> (String, String) {
        let has_tasks = Cell::new(false);
        let message = template.map(|template| {
            template.fill(|placeholder, place| {
                has_tasks.set(
                    has_tasks.get() || (placeholder, place) == (Placeholder::Tasks, Place::Body),
                );
                self.value(placeholder, place)
            })
        });
        let (title, begin) = message
            .as_deref()
            .map_or(("", ""), |text| text.split_once('\n').unwrap_or((text, "")));
        let title = if title.trim().is_empty() {
            self.title()
        } else {
            title.trim().to_owned()
        };
        let tasks = if has_tasks.get() {
            String::new()
        } else {
            self.section_of_tasks()
        };
        let run = format!("Made by orchestrate, run {}.", self.state.run_id);
        let mut parts = vec![begin.trim().to_owned(), tasks, self.section_of_check(), run];
        parts.retain(|part| !part.is_empty());
        (title, cut(&parts.join("\n\n"), DESCRIPTION_BYTES))
    }

    /// Returns the trailers of that commit: each model once, and the run.
    pub(crate) fn trailers(&self) -> Vec<(String, String)> {
        let mut trailers: Vec<(String, String)> = Vec::new();
        for model in self.tasks().filter_map(TaskRecord::model) {
            let trailer = ("Assisted-by".to_owned(), format!("orchestrate:{model}"));
            if !trailers.contains(&trailer) {
                trailers.push(trailer);
            }
        }
        trailers.push(("Orchestrate-Run".to_owned(), self.state.run_id.to_string()));
        trailers
    }

    /// Lists the tasks whose work lands, each with the first paragraph of its agent's summary.
    fn section_of_tasks(&self) -> String {
        let items: Vec<String> = self.tasks().map(item).collect();
        if items.is_empty() {
            String::new()
        } else {
            format!("## Tasks\n\n{}", items.join("\n"))
        }
    }

    /// Says how the result was checked.
    fn section_of_check(&self) -> String {
        let commit: String = self
            .state
            .integration
            .as_str()
            .chars()
            .take(COMMIT_CHARS)
            .collect();
        let said = match &self.state.settings.verify {
            Some(command) => format!(
                "{} passed on exactly the files of commit {commit}.",
                code(command.trim())
            ),
            None => "The run had no command to check its result.".to_owned(),
        };
        format!("## Verification\n\n{said}")
    }

    fn title(&self) -> String {
        self.state
            .title
            .clone()
            .unwrap_or_else(|| format!("Run {}", self.state.run_id))
    }

    fn filled(&self, template: &MessageTemplate) -> String {
        template.fill(|placeholder, place| self.value(placeholder, place))
    }

    /// Returns what stands for a placeholder: one line in the subject.
    fn value(&self, placeholder: Placeholder, place: Place) -> String {
        let state = self.state;
        match (placeholder, place) {
            (Placeholder::Title, _) => self.title(),
            (Placeholder::Run, _) => state.run_id.to_string(),
            (Placeholder::Tasks, Place::Subject) => ids(self.tasks()),
            (Placeholder::Tasks, Place::Body) => {
                self.tasks().map(entry).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// Returns the tasks whose work lands.
    fn tasks(&self) -> impl Iterator<Item = &TaskRecord> {
        let merged = self.state.newly_merged().into_iter();
        let new = merged.filter(|task| {
            !self
                .since
                .as_ref()
                .is_some_and(|since| since.contains(task))
        });
        let records = new.filter_map(|task| self.state.task(&task));
        records.filter(|record| !record.state().did_nothing())
    }
}

/// Returns the ids of tasks in one line.
fn ids<'r>(tasks: impl Iterator<Item = &'r TaskRecord>) -> String {
    let mut ids: Vec<String> = tasks.map(|record| record.task.id.to_string()).collect();
    let more = ids.len().saturating_sub(SUBJECT_TASKS);
    if more > 0 {
        ids.truncate(SUBJECT_TASKS);
        ids.push(format!("{more} more"));
    }
    ids.join(", ")
}

/// Returns the list entry of a task, with its agent's summary indented below.
fn entry(record: &TaskRecord) -> String {
    let mut entry = format!("- {}", record.task.label());
    for line in cut(record.summary().trim(), SUMMARY_BYTES).lines() {
        entry.push('\n');
        entry.push_str(format!("  {line}").trim_end());
    }
    entry
}

/// Returns the list entry of a task in Markdown, with the first paragraph of its agent's summary as
/// one of its own.
fn item(record: &TaskRecord) -> String {
    let (id, label) = (record.task.id.as_str(), record.task.label());
    let mut item = format!("- **{id}**{}", label.strip_prefix(id).unwrap_or_default());
    let first = record
        .summary()
        .trim()
        .split("\n\n")
        .next()
        .unwrap_or_default();
    if !first.is_empty() {
        item.push('\n');
    }
    for line in cut(first, ITEM_BYTES).lines() {
        item.push_str(format!("\n  {line}").trim_end());
    }
    item
}

/// Returns a text as code in Markdown: between more backquotes than it has in a row.
fn code(text: &str) -> String {
    let longest = text
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let (fence, space) = ("`".repeat(longest + 1), if longest > 0 { " " } else { "" });
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_more_backquotes_than_it_has() {
        let table = [
            ("make check", "`make check`"),
            ("echo `date`", "`` echo `date` ``"),
            ("``", "``` `` ```"),
        ];
        for (text, expected) in table {
            assert_eq!(code(text), expected);
        }
    }
}
