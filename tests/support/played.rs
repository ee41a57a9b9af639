//! A run that was played to its end, and what its journal says of it.

use libtest_mimic::Failed;
use orchestrate_coordinator::Coordinator;
use orchestrate_core::event::{Event, FailureCause, Recorded};
use orchestrate_core::{BlobId, Message, ModelRequest, Report, TaskId, TaskState};

use super::{Outcome, fail};

/// A run, its report and its facts.
pub(crate) struct Played {
    pub(crate) coordinator: Coordinator,
    pub(crate) report: Report,
    pub(crate) facts: Vec<Recorded>,
}

impl Played {
    /// Reads the facts of a run that has just ended.
    pub(crate) fn of(coordinator: Coordinator, report: Report) -> Result<Self, Failed> {
        let facts = coordinator.store().events(&report.run_id, 0, usize::MAX)?;
        Ok(Self { coordinator, report, facts })
    }

    /// Returns what a closure picks of the facts, in their order.
    pub(crate) fn pick<'f, T: 'f>(&'f self, pick: impl Fn(&'f Event) -> Option<T>) -> Vec<T> {
        self.facts.iter().filter_map(|fact| pick(&fact.event)).collect()
    }

    /// Returns the place in the journal of the first fact that fits.
    pub(crate) fn first(&self, fits: impl Fn(&Event) -> bool) -> Result<u64, Failed> {
        let found = self.facts.iter().find(|fact| fits(&fact.event)).map(|fact| fact.seq);
        found.ok_or_else(|| Failed::from(format!("no such fact\n{}", self.story())))
    }

    /// Returns the tools that a task's agent started, in their order.
    pub(crate) fn tools(&self, of: &str) -> Vec<&str> {
        self.pick(|event| match event {
            Event::ToolStarted { task, tool, .. } if task.as_str() == of => Some(tool.as_str()),
            _ => None,
        })
    }

    /// Returns the texts that a task's agent was given as results of its calls, in their order.
    pub(crate) fn results(&self, of: &str) -> Result<Vec<String>, Failed> {
        let ids = self.pick(|event| match event {
            Event::ToolFinished { task, result, .. } if task.as_str() == of => Some(result),
            _ => None,
        });
        ids.into_iter().map(|id| self.text(id)).collect()
    }

    /// Returns every request that was recorded.
    pub(crate) fn requests(&self) -> Result<Vec<ModelRequest>, Failed> {
        let ids = self.pick(|event| match event {
            Event::ModelRequested { request, .. } => Some(request),
            _ => None,
        });
        ids.into_iter().map(|id| Ok(serde_json::from_slice(&self.coordinator.store().blob(id)?)?)).collect()
    }

    /// Returns everything that is not the model's own in the requests of a task.
    pub(crate) fn told(&self, of: &str) -> Result<String, Failed> {
        let requests = self.requests()?;
        let of_task = requests.iter().filter(|request| request.origin.task.as_str() == of);
        let texts = of_task.flat_map(|request| &request.messages).flat_map(|message| match message {
            Message::User { text } => vec![text.as_str()],
            Message::Tool { results } => results.iter().map(|result| result.text.as_str()).collect(),
            Message::Assistant { .. } => Vec::new(),
        });
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }

    /// Requires that a task's agent was told all of this, in whatever words.
    pub(crate) fn require_told(&self, of: &str, facts: &[&str]) -> Outcome {
        let told = self.told(of)?;
        if facts.iter().all(|fact| told.contains(fact)) { Ok(()) } else { fail(told) }
    }

    /// Reads a blob as text.
    pub(crate) fn text(&self, id: &BlobId) -> Result<String, Failed> {
        Ok(String::from_utf8(self.coordinator.store().blob(id)?)?)
    }

    /// Requires how the run and each task ended.
    pub(crate) fn require(&self, exit_code: u8, tasks: &[(&str, TaskState)]) -> Outcome {
        let states: Vec<_> = self.report.tasks.iter().map(|task| (task.id.as_str(), task.state)).collect();
        if self.report.exit_code == Some(exit_code) && states == tasks {
            return Ok(());
        }
        fail(format!("{:#?}\n{}", self.report, self.story()))
    }

    /// Requires why a task failed, and that the message has this in it.
    pub(crate) fn require_failure(&self, of: &str, why: FailureCause, text: &str) -> Outcome {
        let failures = self.pick(|event| match event {
            Event::TaskFailed { task, cause, message } => Some((task, *cause, message.as_str())),
            _ => None,
        });
        let is_it = |(task, cause, message): &(&TaskId, FailureCause, &str)| {
            task.as_str() == of && *cause == why && message.contains(text)
        };
        if failures.iter().any(is_it) { Ok(()) } else { fail(format!("{failures:?}\n{}", self.story())) }
    }

    /// Reports the facts by their types, for a test that failed.
    pub(crate) fn story(&self) -> String {
        let lines = self.facts.iter().map(|fact| {
            let text: String = fact.stream_json().to_string().chars().take(400).collect();
            format!("{text}\n")
        });
        lines.collect()
    }
}
