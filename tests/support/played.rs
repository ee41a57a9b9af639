//! A run that has ended, and what its journal recorded.

use std::fmt;

use libtest_mimic::Failed;
use orchestrate_coordinator::{Coordinator, RequestReader};
use orchestrate_core::event::{Event, Recorded};
use orchestrate_core::run::request::Request;
use orchestrate_core::task::FailureCause;
use orchestrate_core::{BlobId, Message, ModelRequest, Report, RunId, TaskId, TaskState};
use orchestrate_journal::Store;

use super::{Outcome, fail};

/// A run that has ended, with its report and its recorded facts.
pub(crate) struct Played {
    pub(crate) coordinator: Coordinator,
    pub(crate) report: Report,
    pub(crate) facts: Vec<Recorded>,
}

impl Played {
    /// Reads the facts of a run that has just ended.
    pub(crate) fn of(coordinator: Coordinator, report: Report) -> Result<Self, Failed> {
        let facts = coordinator.store().events(&report.run_id, 0, usize::MAX)?;
        Ok(Self {
            coordinator,
            report,
            facts,
        })
    }

    /// Maps the facts with `pick` and returns the values, in the order of the journal.
    pub(crate) fn pick<'f, T: 'f>(&'f self, pick: impl Fn(&'f Event) -> Option<T>) -> Vec<T> {
        self.facts
            .iter()
            .filter_map(|fact| pick(&fact.event))
            .collect()
    }

    /// Returns the sequence number of the first fact that fits; fails if there is none.
    pub(crate) fn first(&self, fits: impl Fn(&Event) -> bool) -> Result<u64, Failed> {
        let found = self
            .facts
            .iter()
            .find(|fact| fits(&fact.event))
            .map(|fact| fact.seq);
        found.ok_or_else(|| Failed::from(format!("no such fact\n{}", self.story())))
    }

    /// Returns the names of the tools that a task's agent started, in order.
    pub(crate) fn tools(&self, of: &str) -> Vec<&str> {
        self.pick(|event| match event {
            Event::ToolStarted { task, tool, .. } if task.as_str() == of => Some(tool.as_str()),
            _ => None,
        })
    }

    /// Returns the results of a task's tool calls as its agent received them, in order.
    pub(crate) fn results(&self, of: &str) -> Result<Vec<String>, Failed> {
        let ids = self.pick(|event| match event {
            Event::ToolFinished { task, result, .. } if task.as_str() == of => Some(result),
            _ => None,
        });
        ids.into_iter().map(|id| self.text(id)).collect()
    }

    /// Returns every recorded model request, in order.
    pub(crate) fn requests(&self) -> Result<Vec<ModelRequest>, Failed> {
        let mut reader = RequestReader::new(self.coordinator.store());
        let read = self
            .facts
            .iter()
            .filter_map(|fact| reader.read(fact).transpose());
        read.map(|request| Ok(serde_json::from_slice(&request?)?))
            .collect()
    }

    /// Returns the text in a task's requests that the model did not write: user messages and tool
    /// results.
    pub(crate) fn told(&self, of: &str) -> Result<String, Failed> {
        let requests = self.requests()?;
        let of_task = requests
            .iter()
            .filter(|request| request.origin.task.as_str() == of);
        let texts =
            of_task
                .flat_map(|request| &request.messages)
                .flat_map(|message| match message {
                    Message::User { text } => vec![text.as_str()],
                    Message::Tool { results } => {
                        results.iter().map(|result| result.text.as_str()).collect()
                    }
                    Message::Assistant { .. } => Vec::new(),
                });
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }

    /// Requires that each of these texts is part of what a task's agent was told.
    pub(crate) fn require_told(&self, of: &str, facts: &[&str]) -> Outcome {
        let told = self.told(of)?;
        assert!(facts.iter().all(|fact| told.contains(fact)), "{told}");
        Ok(())
    }

    /// Reads a blob as text.
    pub(crate) fn text(&self, id: &BlobId) -> Result<String, Failed> {
        Ok(String::from_utf8(self.coordinator.store().blob(id)?)?)
    }

    /// Requires the run's exit code and the final state of every task.
    pub(crate) fn require(&self, exit_code: u8, tasks: &[(&str, TaskState)]) -> Outcome {
        let states: Vec<_> = self
            .report
            .tasks
            .iter()
            .map(|task| (task.id.as_str(), task.state))
            .collect();
        if self.report.exit_code == Some(exit_code) && states == tasks {
            return Ok(());
        }
        fail(format!("{:#?}\n{}", self.report, self.story()))
    }

    /// Requires that the run succeeded, and that these are its tasks, each of which was merged.
    pub(crate) fn require_merged(&self, tasks: &[&str]) -> Outcome {
        let states: Vec<_> = tasks.iter().map(|id| (*id, TaskState::Merged)).collect();
        self.require(0, &states)
    }

    /// Requires that a task failed for this cause, with a message that contains the text.
    pub(crate) fn require_failure(&self, of: &str, why: FailureCause, text: &str) -> Outcome {
        let failures = self.pick(|event| match event {
            Event::TaskFailed {
                task,
                cause,
                message,
            } => Some((task, *cause, message.as_str())),
            _ => None,
        });
        let is_it = |(task, cause, message): &(&TaskId, FailureCause, &str)| {
            task.as_str() == of && *cause == why && message.contains(text)
        };
        assert!(failures.iter().any(is_it), "{failures:?}\n{self}");
        Ok(())
    }

    /// Allows every call that asks, as the user of the run does after its end, and returns the run.
    pub(crate) fn allow_all(self) -> Result<RunId, Failed> {
        allow_all(self.coordinator.store(), &self.report.run_id)?;
        Ok(self.report.run_id)
    }

    /// Returns the facts as they are displayed.
    pub(crate) fn story(&self) -> String {
        self.to_string()
    }
}

/// Shows the facts as lines of JSON, each cut at 400 characters, for the message of a failed test.
impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fact in &self.facts {
            let text: String = fact.stream_json().to_string().chars().take(400).collect();
            writeln!(f, "{text}")?;
        }
        Ok(())
    }
}

/// Allows every call of a run that asks, as its user does.
pub(crate) fn allow_all(store: &Store, run: &RunId) -> Outcome {
    for (call, _) in store.state(run)?.open_approvals() {
        let request = Request::Decide {
            call: call.clone(),
            allowed: true,
            message: None,
        };
        store.send(run, &request)?;
    }
    Ok(())
}
