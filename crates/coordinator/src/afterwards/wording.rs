//! The messages of the commits that a landing makes: the user's template, or a default.

use orchestrate_core::message_template::{MessageTemplate, Place, Placeholder};
use orchestrate_core::{RunState, TaskId, TaskRecord};

use crate::texts::prompts::cut;

/// The maximum size of a task's summary in a message, in bytes: some paragraphs, as a person would write.
const SUMMARY_BYTES: usize = 2_000;

/// The maximum number of tasks that a subject names.
const SUBJECT_TASKS: usize = 5;

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
            self.state.title.as_ref().map_or(format!("Merge run {run}"), |title| format!("Merge run {run}: {title}"))
        };
        template.map_or_else(default, |template| self.filled(template))
    }

    /// Returns the message of a commit with the work of all tasks.
    pub(crate) fn of_squash(&self, template: Option<&MessageTemplate>) -> String {
        template.map_or_else(|| self.filled(&MessageTemplate::default()), |template| self.filled(template))
    }

    /// Returns the title and the description of a pull request: the first line of the message, and the rest.
    pub(crate) fn of_request(&self, template: Option<&MessageTemplate>) -> (String, String) {
        let message = self.of_squash(template);
        let (title, body) = message.split_once('\n').unwrap_or((&message, ""));
        (title.trim().to_owned(), body.trim().to_owned())
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

    fn filled(&self, template: &MessageTemplate) -> String {
        template.fill(|placeholder, place| self.value(placeholder, place))
    }

    /// Returns what stands for a placeholder: one line in the subject.
    fn value(&self, placeholder: Placeholder, place: Place) -> String {
        let state = self.state;
        match (placeholder, place) {
            (Placeholder::Title, _) => state.title.clone().unwrap_or_else(|| format!("Run {}", state.run_id)),
            (Placeholder::Run, _) => state.run_id.to_string(),
            (Placeholder::Tasks, Place::Subject) => ids(self.tasks()),
            (Placeholder::Tasks, Place::Body) => self.tasks().map(entry).collect::<Vec<_>>().join("\n"),
        }
    }

    /// Returns the tasks whose work lands.
    fn tasks(&self) -> impl Iterator<Item = &TaskRecord> {
        let merged = self.state.newly_merged().into_iter();
        let new = merged.filter(|task| !self.since.as_ref().is_some_and(|since| since.contains(task)));
        new.filter_map(|task| self.state.task(&task))
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
