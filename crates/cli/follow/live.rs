//! The lines of a run that are redrawn on a terminal: one for each working agent, and the total.
//!
//! They always fit the rows and columns of the screen, so that [`output`] can erase them at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use orchestrate_core::{Liveness, RunState, TaskId, TaskRecord};

use crate::show::columns;
use crate::show::output;
use crate::show::progress;
use crate::show::terminal;
use crate::show::tree::{self, Branches, Node, Row};

/// How often the lines are animated if nothing happens, to show that the program is alive.
pub(crate) const TICK: Duration = Duration::from_millis(120);
/// Rows that are not for agents: the total, and one line of earlier output.
const RESERVED_ROWS: usize = 2;
/// The frames of the animation at the beginning of a line.
const SPINNER: [char; 8] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧'];

/// The lines that are redrawn.
pub(crate) struct Live {
    branches: Branches,
    /// When each working agent was first seen.
    since: BTreeMap<TaskId, Instant>,
    begun: Instant,
    ticks: usize,
    /// The text of each line, with the start of the time that it shows.
    lines: Vec<(String, Instant)>,
}

impl Live {
    /// Creates the lines, with none on the screen yet.
    pub(crate) fn new(branches: Branches) -> Live {
        Live { branches, since: BTreeMap::new(), begun: Instant::now(), ticks: 0, lines: Vec::new() }
    }

    /// Shows the state of the run.
    pub(crate) fn show(&mut self, state: &RunState) {
        let (height, columns) = terminal::size().unwrap_or((usize::MAX, usize::MAX));
        let rows = rows_of(state, self.branches);
        let (shown, hidden) = rows.split_at(height.saturating_sub(RESERVED_ROWS).min(rows.len()));
        self.since.retain(|id, _| rows.iter().any(|row| row.item.task.id == *id));
        self.lines.clear();
        let is_tree = tree::has_children(&rows);
        for Row { branches, item: record } in shown {
            let since = *self.since.entry(record.task.id.clone()).or_insert_with(Instant::now);
            let line = match is_tree {
                true => progress::tree_line(branches, record, &state.liveness(record, true)),
                false => progress::agent_line(record),
            };
            self.lines.push((line, since));
        }
        let hidden = hidden.iter().filter(|row| progress::is_at_work(row.item)).count();
        self.lines
            .push((progress::base_line(state).unwrap_or_else(|| progress::total_line(state, hidden)), self.begun));
        self.draw(columns);
    }

    /// Draws the next frame of the animation.
    pub(crate) fn tick(&mut self) {
        self.ticks += 1;
        self.draw(columns());
    }

    /// Erases the lines.
    pub(crate) fn clear(&mut self) {
        self.lines.clear();
        self.draw(columns());
    }

    fn draw(&self, columns: usize) {
        let spinner = SPINNER.get(self.ticks % SPINNER.len()).copied().unwrap_or(' ');
        let fitted = |(text, since): &(String, Instant)| fitted(spinner, text, since.elapsed(), columns);
        output::live(self.lines.iter().map(fitted).collect());
    }
}

/// Returns what has a line: the working agents, the children that have not ended, and the agents above them.
fn rows_of(state: &RunState, branches: Branches) -> Vec<Row<&TaskRecord>> {
    let is_open = |record: &TaskRecord| record.parent.is_some() && state.liveness(record, true) != Liveness::IdleDone;
    let mut shown: BTreeSet<&TaskId> = BTreeSet::new();
    for record in state.tasks().filter(|record| progress::is_at_work(record) || is_open(record)) {
        let mut at = Some(record);
        // What is above an agent that is shown already is shown, too.
        while let Some(record) = at.filter(|record| shown.insert(&record.task.id)) {
            at = record.parent.as_ref().and_then(|parent| state.task(parent));
        }
    }
    let shown = state.tasks().filter(|record| shown.contains(&record.task.id));
    let nodes = shown.map(|record| Node { id: &record.task.id, parent: record.parent.as_ref(), item: record });
    tree::rows(&nodes.collect::<Vec<_>>(), branches)
}

fn columns() -> usize {
    terminal::size().map_or(usize::MAX, |(_, columns)| columns)
}

/// Fits a line, with its time at the end, to the screen; the last column stays free, since terminals treat it
/// differently.
fn fitted(spinner: char, text: &str, time: Duration, columns: usize) -> String {
    let time = clock(time.as_secs());
    let text = output::plain(text);
    let room = columns.saturating_sub(1).saturating_sub(3 + time.len());
    let kept = if room == 0 { "" } else { columns::split(&text, room).0 };
    let gap = if columns == usize::MAX { 0 } else { room.saturating_sub(columns::width(kept)) };
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

    #[test]
    fn a_line_is_never_wider_than_the_screen() {
        let table = [
            ("T1 running", 24, "⠋ T1 running        1m05s".to_owned(), 23),
            ("a line that is too long", 20, "⠋ a line that 1m05s".to_owned(), 19),
            ("日本語 running", 14, "⠋ 日本  1m05s".to_owned(), 13),
        ];
        for (text, columns, expected, wide) in table {
            let line = fitted('⠋', text, Duration::from_secs(65), columns);
            assert!(
                columns::width(&line) <= wide && line.starts_with(expected.split("  ").next().unwrap()),
                "{line:?}"
            );
            assert!(line.ends_with("1m05s"), "{line:?}");
        }
    }
}
