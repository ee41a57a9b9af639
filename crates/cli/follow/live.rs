//! The lines of a run that are drawn over on a terminal: one for each agent at work, and the total.
//!
//! There are never more than the screen has room for, and none is wider than the screen, so that [`output`] can take
//! them away again, whatever is said meanwhile.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use orchestrate_core::{RunState, TaskId, TaskRecord};

use crate::show::columns;
use crate::show::output;
use crate::show::progress;
use crate::show::terminal;

/// How often the lines move although nothing has happened, so that one sees that the program lives.
pub(crate) const TICK: Duration = Duration::from_millis(120);
/// Lines of the terminal that are no agent's: the total, and one of what was said before.
const RESERVED_ROWS: usize = 2;
/// What a line begins with, one after the other.
const SPINNER: [char; 8] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧'];

/// The lines that are drawn over.
pub(crate) struct Live {
    /// When each agent at work was first seen.
    since: BTreeMap<TaskId, Instant>,
    begun: Instant,
    ticks: usize,
    /// Each line as it is to be shown, with the time since when it counts.
    lines: Vec<(String, Instant)>,
}

impl Live {
    /// Begins with nothing on the screen.
    pub(crate) fn new() -> Live {
        Live { since: BTreeMap::new(), begun: Instant::now(), ticks: 0, lines: Vec::new() }
    }

    /// Shows how the run stands.
    pub(crate) fn show(&mut self, state: &RunState) {
        let (rows, columns) = terminal::size().unwrap_or((usize::MAX, usize::MAX));
        let at_work: Vec<&TaskRecord> = state.tasks().filter(|record| progress::is_at_work(record)).collect();
        let (shown, hidden) = at_work.split_at(rows.saturating_sub(RESERVED_ROWS).min(at_work.len()));
        self.since.retain(|id, _| at_work.iter().any(|record| record.task.id == *id));
        self.lines.clear();
        for record in shown {
            let since = *self.since.entry(record.task.id.clone()).or_insert_with(Instant::now);
            self.lines.push((progress::agent_line(record), since));
        }
        self.lines.push((progress::total_line(state, hidden.len()), self.begun));
        self.draw(columns);
    }

    /// Moves the lines on.
    pub(crate) fn tick(&mut self) {
        self.ticks += 1;
        self.draw(columns());
    }

    /// Takes the lines away.
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

fn columns() -> usize {
    terminal::size().map_or(usize::MAX, |(_, columns)| columns)
}

/// Fits a line with its time at the end into the screen, one column apart from the edge, where terminals differ.
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
