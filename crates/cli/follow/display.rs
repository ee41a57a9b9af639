//! Shows a run while it goes on: live lines on a terminal, plain lines elsewhere, facts as JSON on standard output.

use orchestrate_coordinator::Retry;
use orchestrate_core::event::ReturnCause;
use orchestrate_core::{Event, Recorded, RunState};

use crate::error::CommandError;
use crate::follow::live::Live;
use crate::show::output;
use crate::show::progress;
use crate::show::terminal::Terminal;

/// What standard output carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The table at the end.
    Text,
    /// One object at the end.
    Json,
    /// One object for each fact.
    StreamJson,
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// What standard output carries.
    pub(crate) format: Format,
    /// No progress.
    pub(crate) quiet: bool,
    /// Every fact.
    pub(crate) verbose: bool,
    /// What can be shown.
    pub(crate) terminal: Terminal,
}

/// Shows a run while it goes on.
pub(crate) struct Display {
    style: Style,
    live: Option<Live>,
    /// Whether nothing is written to standard output any more.
    deaf: bool,
    /// Why not, where somebody would have read it.
    lost: Option<CommandError>,
}

impl Display {
    /// Begins to show a run.
    pub(crate) fn new(style: Style) -> Display {
        let live = (style.terminal.live && !style.quiet && !style.verbose).then(Live::new);
        Display { style, live, deaf: false, lost: None }
    }

    /// Shows facts that have become durable. What cannot be shown stops nobody: it is kept for the end of the run.
    pub(crate) fn facts(&mut self, facts: &[Recorded]) {
        for fact in facts {
            if self.style.format == Format::StreamJson
                && !self.deaf
                && !is_last(&fact.event)
                && let Err(error) = output::json(&fact.stream_json())
            {
                self.deaf = true;
                self.lost = Some(error).filter(|error| !error.is_silent());
            }
            if !self.style.quiet
                && let Some(line) = progress::line(fact, self.style.verbose)
            {
                self.note(&line);
            }
            if self.style.terminal.github
                && let Some(annotation) = annotation(&fact.event)
            {
                self.note(&annotation);
            }
        }
    }

    /// Shows how the run stands.
    pub(crate) fn state(&mut self, state: &RunState) {
        if let Some(live) = &mut self.live {
            live.show(state);
        }
    }

    /// Says that an agent waits to ask its model again.
    pub(crate) fn retry(&mut self, retry: &Retry) {
        if !self.style.quiet
            && let Some(line) = progress::retry_line(retry)
        {
            self.note(&line);
        }
    }

    /// Reports whether there are live lines, which move although nothing has happened.
    pub(crate) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Moves the live lines.
    pub(crate) fn tick(&mut self) {
        if let Some(live) = &mut self.live {
            live.tick();
        }
    }

    /// Says something beside the live lines.
    pub(crate) fn note(&mut self, line: &str) {
        output::note(line);
    }

    /// Takes the live lines away; tells whether somebody reads standard output, or what was lost on the way there.
    pub(crate) fn end(self) -> Result<bool, CommandError> {
        if let Some(mut live) = self.live {
            live.clear();
        }
        self.lost.map_or(Ok(!self.deaf), Err)
    }

    /// Takes note that the terminal has gone; a result that goes elsewhere is still written.
    pub(crate) fn hang_up(&mut self) {
        self.deaf |= self.style.terminal.shows_results;
    }
}

/// Reports whether the fact is the report's own, which the caller prints whole as the last line.
fn is_last(event: &Event) -> bool {
    matches!(event, Event::RunFinished { .. })
}

/// Returns what GitHub Actions shows beside the run.
fn annotation(event: &Event) -> Option<String> {
    let (level, task, what, message) = match event {
        Event::TaskFailed { task, message, .. } => ("error", task, " failed", message.as_str()),
        Event::TaskConflicted { task, cause: ReturnCause::Conflict, message } => {
            ("error", task, " conflicts", message.as_str())
        }
        Event::TaskConflicted { task, message, .. } => ("error", task, " is not merged", message.as_str()),
        Event::ReviewRequested { task } => ("notice", task, "", "waits for review"),
        _ => return None,
    };
    let title = output::workflow_property(&format!("task {task}{what}"));
    Some(format!("::{level} title={title}::{}", output::workflow_data(message)))
}
