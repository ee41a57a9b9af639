//! The lines of a run that are redrawn on a terminal: one for each agent that works or waits, and
//! the total.
//!
//! Their times are those of the journal, so that they are the same for all who watch a run,
//! whenever they have begun. They always fit the rows and columns of the screen, so that [`output`]
//! can erase them at any time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use orchestrate_coordinator::RunningCheck;
use orchestrate_core::{Liveness, RunState, TaskId, TaskRecord};
use orchestrate_journal::unix_ms;

use crate::show::tree::{self, Branches, Node, Row};
use crate::show::{columns, output, progress, terminal};

/// How often the lines are animated if nothing happens, to show that the program is alive.
pub(crate) const TICK: Duration = Duration::from_millis(120);
/// Rows that are not for agents: the total, and one line of earlier output.
const RESERVED_ROWS: usize = 2;
/// How many checks have a line.
const MOST_CHECKS: usize = 3;
/// The frames of the animation at the beginning of a line.
const SPINNER: [char; 8] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧'];

/// The lines that are redrawn.
pub(crate) struct Live {
    branches: Branches,
    ticks: usize,
    /// The number of the newest event that was shown, and when it was recorded.
    newest: Option<(u64, Instant)>,
    /// The lines of agents, and the total.
    lines: Vec<Line>,
    /// The lines of checks, which stand above the total.
    checks: Vec<Line>,
}

/// A line that is redrawn.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    text: String,
    /// The time worked up to the newest event.
    worked: Duration,
    /// Whether this time goes on.
    goes_on: bool,
}

impl Live {
    /// Creates the lines, with none on the screen yet.
    pub(crate) fn new(branches: Branches) -> Live {
        Live {
            branches,
            ticks: 0,
            newest: None,
            lines: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// Shows the state of the run.
    pub(crate) fn show(&mut self, state: &RunState) {
        let (height, columns) = terminal::size().unwrap_or((usize::MAX, usize::MAX));
        let recorded = match self.newest {
            Some((seq, recorded)) if seq == state.seq => recorded,
            Some(_) => Instant::now(),
            None => moment(state.updated_ms),
        };
        self.newest = Some((state.seq, recorded));
        self.lines = lines_of(state, self.branches, height);
        self.draw(columns);
    }

    /// Draws the next frame of the animation, with the last lines of the checks that run.
    pub(crate) fn tick(&mut self, running: &[RunningCheck]) {
        let (height, columns) = terminal::size().unwrap_or((usize::MAX, usize::MAX));
        let room = height
            .saturating_sub(self.lines.len() + RESERVED_ROWS)
            .min(MOST_CHECKS);
        self.checks = running.iter().take(room).map(line_of_check).collect();
        self.ticks += 1;
        self.draw(columns);
    }

    /// Erases the lines.
    pub(crate) fn clear(&mut self) {
        self.lines.clear();
        self.checks.clear();
        self.draw(columns());
    }

    fn draw(&self, columns: usize) {
        let spinner = SPINNER.get(self.ticks % SPINNER.len());
        let spinner = spinner.copied().unwrap_or(' ');
        let since = match self.newest {
            Some((_, recorded)) => recorded.elapsed(),
            None => Duration::ZERO,
        };
        let (agents, total) = self.lines.split_at(self.lines.len().saturating_sub(1));
        let mut shown = Vec::new();
        for line in agents.iter().chain(&self.checks).chain(total) {
            // The time of a check is its own, since nothing is recorded of it until it ends.
            let more = if line.goes_on { since } else { Duration::ZERO };
            shown.push(fitted_line(
                spinner,
                &line.text,
                line.worked + more,
                columns,
            ));
        }
        output::live(&shown);
    }
}

/// Returns the line of a check that runs.
fn line_of_check(check: &RunningCheck) -> Line {
    Line {
        text: progress::running_line(check),
        worked: check.elapsed,
        goes_on: false,
    }
}

/// Returns the moment of a date, as far as the machine's clock has not been changed since; now if
/// it is too long ago.
fn moment(date_ms: u64) -> Instant {
    let now = Instant::now();
    now.checked_sub(Duration::from_millis(unix_ms().saturating_sub(date_ms)))
        .unwrap_or(now)
}

/// Returns the lines that fit into `height` rows.
fn lines_of(state: &RunState, branches: Branches, height: usize) -> Vec<Line> {
    let rows = rows_of(state, branches);
    let (shown, hidden) = rows.split_at(height.saturating_sub(RESERVED_ROWS).min(rows.len()));
    let is_tree = tree::has_children(&rows);
    let mut lines = Vec::new();
    for row in shown {
        let record = row.item;
        lines.push(Line {
            text: match is_tree {
                true => progress::tree_line(&row.branches, record, &state.liveness(record, true)),
                false => progress::agent_line(record),
            },
            worked: Duration::from_millis(state.worked_ms_on(record)),
            goes_on: record.is_at_work(),
        });
    }
    let hidden = hidden.iter().filter(|row| progress::is_under_way(row.item));
    let hidden = hidden.count();
    lines.push(Line {
        text: progress::base_line(state).unwrap_or_else(|| progress::total_line(state, hidden)),
        worked: Duration::from_millis(state.worked_ms()),
        goes_on: !state.stands_still(),
    });
    lines
}

/// Returns what has a line: the agents that work or wait, the children that have not ended, and the
/// agents above them.
fn rows_of(state: &RunState, branches: Branches) -> Vec<Row<&TaskRecord>> {
    let is_open = |record: &TaskRecord| {
        record.parent.is_some() && state.liveness(record, true) != Liveness::IdleDone
    };
    let mut shown: BTreeSet<&TaskId> = BTreeSet::new();
    let due = |record: &&TaskRecord| progress::is_under_way(record) || is_open(record);
    for record in state.tasks().filter(due) {
        let mut at = Some(record);
        // What is above an agent that is shown already is shown, too.
        while let Some(record) = at.filter(|record| shown.insert(&record.task.id)) {
            at = record.parent.as_ref().and_then(|parent| state.task(parent));
        }
    }
    let shown = state
        .tasks()
        .filter(|record| shown.contains(&record.task.id));
    let nodes = shown.map(|record| Node {
        id: &record.task.id,
        parent: record.parent.as_ref(),
        item: record,
    });
    tree::rows(&nodes.collect::<Vec<_>>(), branches)
}

fn columns() -> usize {
    terminal::size().map_or(usize::MAX, |(_, columns)| columns)
}

/// Fits a line, with its time at the end, to the screen; the last column stays free, since
/// terminals treat it differently.
fn fitted_line(spinner: char, text: &str, time: Duration, columns: usize) -> String {
    let time = clock(time.as_secs());
    let text = output::plain(text);
    let room = columns.saturating_sub(1).saturating_sub(3 + time.len());
    let kept = match room {
        0 => "",
        room => columns::split(&text, room).0,
    };
    let gap = match columns {
        usize::MAX => 0,
        _ => room.saturating_sub(columns::width(kept)),
    };
    format!("{spinner} {kept}{} {time}", " ".repeat(gap))
}

fn clock(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::progress::tests::asking_run;

    #[test]
    fn the_times_are_those_of_the_journal() {
        let lines = lines_of(&asking_run(), Branches::Lines, usize::MAX);
        let times: Vec<(u64, bool)> = lines
            .iter()
            .map(|line| (line.worked.as_secs(), line.goes_on))
            .collect();
        assert_eq!(times, [(120, true), (60, false), (180, true)]);
        let total = "0 of 2 merged, 1 at work, 1 waiting, 0 tokens, cost -";
        assert_eq!(lines.last().map(|line| line.text.as_str()), Some(total));
    }

    #[test]
    fn a_line_is_never_wider_than_the_screen() {
        let table = [
            ("T1 running", 24, "⠋ T1 running        1m05s".to_owned(), 23),
            (
                "a line that is too long",
                20,
                "⠋ a line that 1m05s".to_owned(),
                19,
            ),
            ("日本語 running", 14, "⠋ 日本  1m05s".to_owned(), 13),
        ];
        for (text, columns, expected, wide) in table {
            let line = fitted_line('⠋', text, Duration::from_secs(65), columns);
            assert!(
                columns::width(&line) <= wide
                    && line.starts_with(expected.split("  ").next().unwrap()),
                "{line:?}"
            );
            assert!(line.ends_with("1m05s"), "{line:?}");
        }
    }
}
