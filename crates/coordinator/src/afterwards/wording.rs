//! The messages of the commits that a landing makes: the user's template, or a default.

use orchestrate_core::{RunState, TaskId, TaskRecord};

use crate::texts::prompts::cut;

/// The maximum size of a task's summary in a message, in bytes: some paragraphs, as a person would write.
const SUMMARY_BYTES: usize = 2_000;

/// The plan's title, or the run's id if it has none.
const TITLE: &str = "{title}";
/// The run's id.
const RUN: &str = "{run}";
/// A list of the tasks whose work lands, each with its agent's summary.
const TASKS: &str = "{tasks}";
/// What a template can contain.
const PLACEHOLDERS: [&str; 3] = [TITLE, RUN, TASKS];

/// The texts from which a message is made.
pub(crate) struct Wording<'a> {
    pub(crate) state: &'a RunState,
    /// The tasks that have landed before, if any have.
    pub(crate) since: Option<Vec<TaskId>>,
}

impl Wording<'_> {
    /// Returns the message of a merge.
    pub(crate) fn of_merge(&self, template: Option<&str>) -> String {
        let run = &self.state.run_id;
        let default = || {
            self.state.title.as_ref().map_or(format!("Merge run {run}"), |title| format!("Merge run {run}: {title}"))
        };
        template.map_or_else(default, |template| self.filled(template))
    }

    /// Returns the message of a commit with the work of all tasks.
    pub(crate) fn of_squash(&self, template: Option<&str>) -> String {
        self.filled(template.unwrap_or("{title}\n\n{tasks}"))
    }

    /// Returns the title and the description of a pull request: the first line of the message, and the rest.
    pub(crate) fn of_request(&self, template: Option<&str>) -> (String, String) {
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

    fn filled(&self, template: &str) -> String {
        filled(template, |placeholder| self.value(placeholder))
    }

    fn value(&self, placeholder: &str) -> String {
        match placeholder {
            TITLE => self.state.title.clone().unwrap_or_else(|| format!("Run {}", self.state.run_id)),
            RUN => self.state.run_id.to_string(),
            _ => self.tasks().map(entry).collect::<Vec<_>>().join("\n"),
        }
    }

    /// Returns the tasks whose work lands.
    fn tasks(&self) -> impl Iterator<Item = &TaskRecord> {
        let merged = self.state.newly_merged().into_iter();
        let new = merged.filter(|task| !self.since.as_ref().is_some_and(|since| since.contains(task)));
        new.filter_map(|task| self.state.task(&task))
    }
}

/// Replaces the placeholders of a template in one pass, so that none in a title or a summary is replaced.
fn filled(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut message = String::new();
    let mut rest = template;
    while let Some((before, from)) = rest.split_once('{') {
        message.push_str(before);
        let known = PLACEHOLDERS.into_iter().find_map(|name| Some((name, from.strip_prefix(name.get(1..)?)?)));
        match known {
            Some((name, after)) => {
                message.push_str(&value(name));
                rest = after;
            }
            None => {
                message.push('{');
                rest = from;
            }
        }
    }
    message + rest
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_once() {
        let value = |name: &str| format!("<{}{{run}}>", name.trim_matches(['{', '}']));
        let table = [
            ("", ""),
            ("plain }", "plain }"),
            ("{title}: {tasks}", "<title{run}>: <tasks{run}>"),
            ("{{run}} {other} {", "{<run{run}>} {other} {"),
            ("{ré", "{ré"),
        ];
        for (template, expected) in table {
            assert_eq!(filled(template, value), expected);
        }
    }
}
