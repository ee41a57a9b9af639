//! Shows a run while it goes on: live lines on a terminal, plain lines elsewhere, facts as JSON on standard output.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use orchestrate_coordinator::Retry;
use orchestrate_core::{Event, Recorded, RunState, TaskId, TaskRecord};

use crate::error::CommandError;
use crate::output;
use crate::progress;
use crate::terminal::{self, Terminal};

/// How often live lines move although nothing has happened, so that one sees that the program lives.
const TICK: Duration = Duration::from_millis(120);

/// Lines of the terminal that are no agent's: the total, and the cursor's.
const RESERVED_ROWS: usize = 2;

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

/// The lines that are drawn over.
struct Live {
    area: MultiProgress,
    agents: BTreeMap<TaskId, ProgressBar>,
    total: ProgressBar,
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
    pub(crate) fn retry(&self, retry: &Retry) {
        if !self.style.quiet
            && let Some(line) = progress::retry_line(retry)
        {
            self.note(&line);
        }
    }

    /// Says something beside the live lines.
    pub(crate) fn note(&self, line: &str) {
        match &self.live {
            Some(live) => {
                let _ = live.area.println(output::plain(line));
            }
            None => output::note(line),
        }
    }

    /// Takes the live lines away; tells whether somebody reads standard output, or what was lost on the way there.
    pub(crate) fn end(self) -> Result<bool, CommandError> {
        if let Some(live) = self.live {
            let _ = live.area.clear();
        }
        self.lost.map_or(Ok(!self.deaf), Err)
    }

    /// Takes note that the terminal has gone; a result that goes elsewhere is still written.
    pub(crate) fn hang_up(&mut self) {
        self.deaf |= self.style.terminal.shows_results;
    }
}

impl Live {
    fn new() -> Live {
        let area = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let total = area.add(line_bar());
        Live { area, agents: BTreeMap::new(), total }
    }

    fn show(&mut self, state: &RunState) {
        let room = terminal::size().map_or(usize::MAX, |(rows, _)| rows.saturating_sub(RESERVED_ROWS));
        let at_work: Vec<&TaskRecord> = state.tasks().filter(|record| progress::is_at_work(record)).collect();
        let (shown, hidden) = at_work.split_at(room.min(at_work.len()));
        self.agents.retain(|id, bar| {
            let stays = shown.iter().any(|record| record.task.id == *id);
            if !stays {
                bar.finish_and_clear();
            }
            stays
        });
        for record in shown {
            let (area, total) = (&self.area, &self.total);
            let bar = self.agents.entry(record.task.id.clone());
            let bar = bar.or_insert_with(|| area.insert_before(total, line_bar()));
            bar.set_message(progress::agent_line(record));
        }
        self.total.set_message(progress::total_line(state, hidden.len()));
    }
}

fn line_bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

/// Tells whether the fact is the report's own, which the caller prints whole as the last line.
fn is_last(event: &Event) -> bool {
    matches!(event, Event::RunFinished { .. })
}

/// Gives what GitHub Actions shows beside the run.
fn annotation(event: &Event) -> Option<String> {
    let (level, task, what, message) = match event {
        Event::TaskFailed { task, message, .. } => ("error", task, " failed", message.as_str()),
        Event::TaskConflicted { task, message } => ("error", task, " conflicts", message.as_str()),
        Event::ReviewRequested { task } => ("notice", task, "", "waits for review"),
        _ => return None,
    };
    let title = output::workflow_property(&format!("task {task}{what}"));
    Some(format!("::{level} title={title}::{}", output::workflow_data(message)))
}
