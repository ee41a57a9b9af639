//! Shows a run in progress: live lines on a terminal, plain lines elsewhere, events as JSON on
//! standard output.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use orchestrate_coordinator::{Retry, RunningCheck};
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{Event, Recorded, RunId, RunMarkers, RunState, TaskId};
use tokio::time::{Interval, MissedTickBehavior};

use crate::error::CommandError;
use crate::follow::live::{Live, TICK};
use crate::json::{Envelope, LineAnswer, Output};
use crate::show::terminal::Terminal;
use crate::show::{output, parked_call, progress, table};

/// How often the last line of a long check is printed where no lines can be redrawn.
const STILL_RUNNING: Duration = Duration::from_secs(30);

/// The format of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A table at the end.
    Text,
    /// One object at the end.
    Json,
    /// One object for each event.
    StreamJson,
    /// The lines that `docs/markers.md` describes.
    Markers,
}

/// How a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// The format of standard output.
    pub(crate) format: Format,
    /// Whether progress is hidden.
    pub(crate) quiet: bool,
    /// Whether nearly every event is shown.
    pub(crate) verbose: bool,
    /// The capabilities of the terminal.
    pub(crate) terminal: Terminal,
}

/// Shows a run in progress.
pub(crate) struct Display {
    style: Style,
    live: Option<Live>,
    markers: RunMarkers,
    /// The agents of the events that were shown, each with the number of its newest, until the
    /// state contains that.
    news: BTreeMap<TaskId, u64>,
    /// The agents that the user has been told to be flagged.
    flagged: BTreeSet<TaskId>,
    /// Whether to write nothing more to standard output.
    deaf: bool,
    /// The error that caused this, unless the reader has closed the output.
    lost: Option<CommandError>,
}

impl Display {
    /// Starts to show a run.
    pub(crate) fn new(style: Style) -> Display {
        let is_live = style.terminal.live && !style.quiet && !style.verbose;
        Display {
            style,
            live: is_live.then(|| Live::new(style.terminal.branches)),
            markers: RunMarkers::default(),
            news: BTreeMap::new(),
            flagged: BTreeSet::new(),
            deaf: false,
            lost: None,
        }
    }

    /// Shows events that have become durable. A failed write does not stop the run; its error is
    /// kept for the end.
    pub(crate) fn facts(&mut self, facts: &[Recorded]) {
        for fact in facts {
            if let Some(task) = fact.event.task() {
                self.news.insert(task.clone(), fact.seq);
            }
            if !self.deaf
                && let Err(error) = self.result(fact)
            {
                self.lose(error);
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

    /// Shows the answer to a request on standard input: in the stream of events if there is one,
    /// otherwise beside the result.
    pub(crate) fn answered(&mut self, run: &RunId, answered: LineAnswer) {
        if self.style.format != Format::StreamJson {
            let LineAnswer {
                line, ok, message, ..
            } = answered;
            let refused = if ok { "" } else { "refused: " };
            return self.note(&format!("line {line}: {refused}{message}"));
        }
        let answered = Envelope::new(Some(run), Output::LineAnswer(answered));
        if !self.deaf
            && let Err(error) = output::json(&answered)
        {
            self.lose(error);
        }
    }

    /// Writes nothing more to standard output; keeps the error for the end, unless the reader has
    /// closed it.
    fn lose(&mut self, error: CommandError) {
        self.deaf = true;
        self.lost = Some(error).filter(|error| !error.is_silent());
    }

    /// Takes note of events that are not to be shown.
    pub(crate) fn pass_over(&mut self, facts: &[Recorded]) {
        for fact in facts {
            self.markers.apply(fact);
        }
    }

    /// Writes what an event adds to standard output.
    fn result(&mut self, fact: &Recorded) -> Result<(), CommandError> {
        match self.style.format {
            Format::StreamJson if !is_last(&fact.event) => {
                output::json(&parked_call::event_line(fact).in_envelope(fact))
            }
            Format::Markers => {
                for marker in self.markers.apply(fact) {
                    output::line(&marker.to_string())?;
                }
                Ok(())
            }
            Format::StreamJson | Format::Text | Format::Json => Ok(()),
        }
    }

    /// Shows the state of the run, and says of agents that they are flagged since the last time.
    pub(crate) fn state(&mut self, state: &RunState) {
        for line in self.newly_flagged(state) {
            if !self.style.quiet {
                output::note(&line);
            }
        }
        if let Some(live) = &mut self.live {
            live.show(state);
        }
    }

    /// Returns a line for each agent with news that is flagged, and was not before.
    fn newly_flagged(&mut self, state: &RunState) -> Vec<String> {
        let mut lines = Vec::new();
        for agent in self.news.keys() {
            let line = table::flagged(agent, state.taint(agent).as_ref());
            if !line.is_empty() && self.flagged.insert(agent.clone()) {
                lines.push(line.trim_end().to_owned());
            }
        }
        self.news.retain(|_, seq| *seq > state.seq);
        lines
    }

    /// Shows that an agent waits before it retries a request to its model.
    pub(crate) fn retry(&mut self, retry: &Retry) {
        if !self.style.quiet
            && let Some(line) = progress::retry_line(retry)
        {
            self.note(&line);
        }
    }

    /// Returns what says when the checks that run are to be shown again; live lines are animated
    /// even if nothing happens.
    pub(crate) fn ticks(&self) -> Interval {
        let period = if self.live.is_some() {
            TICK
        } else {
            STILL_RUNNING
        };
        let mut ticks = tokio::time::interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        ticks
    }

    /// Shows the last line of each check that runs: animated, or where that is not possible if it
    /// runs for long.
    pub(crate) fn checks(&mut self, running: &[RunningCheck]) {
        if let Some(live) = &mut self.live {
            return live.tick(running);
        }
        for check in running {
            if check.elapsed >= STILL_RUNNING && !self.style.quiet {
                self.note(&progress::still_running_line(check));
            }
        }
    }

    /// Prints a line above the live lines.
    pub(crate) fn note(&mut self, line: &str) {
        output::note(line);
    }

    /// Removes the live lines; returns whether standard output is still read, or the error of a
    /// failed write.
    pub(crate) fn end(self) -> Result<bool, CommandError> {
        if let Some(mut live) = self.live {
            live.clear();
        }
        self.lost.map_or(Ok(!self.deaf), Err)
    }

    /// Records that the terminal is gone; a result that does not go to the terminal is still
    /// written.
    pub(crate) fn hang_up(&mut self) {
        self.deaf |= self.style.terminal.shows_results;
    }
}

/// Reports whether the event ends the run: the caller prints the whole report instead, as the last
/// line.
fn is_last(event: &Event) -> bool {
    matches!(event, Event::RunFinished { .. })
}

/// Returns the annotation of an event for GitHub Actions, if it has one.
fn annotation(event: &Event) -> Option<String> {
    let (level, task, what, message) = match event {
        Event::TaskFailed { task, message, .. } => ("error", task, " failed", message.as_str()),
        Event::TaskConflicted {
            task,
            cause: ReturnCause::Conflict,
            message,
        } => ("error", task, " conflicts", message.as_str()),
        Event::TaskConflicted { task, message, .. } => {
            ("error", task, " is not merged", message.as_str())
        }
        Event::ModelRejected { task, error, .. } => {
            ("error", task, " waits for another key", error.as_str())
        }
        Event::ReviewRequested { task } => ("notice", task, "", "waits for review"),
        _ => return None,
    };
    let title = output::workflow_property(&format!("task {task}{what}"));
    let message = output::workflow_data(message);
    Some(format!("::{level} title={title}::{message}"))
}
