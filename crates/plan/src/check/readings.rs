//! The ways to read a plan that can be read in several, one below the other.

use std::fmt::Write as _;

use crate::formats::reading::Reading;

/// Renders the readings as a table: the word for each, how many open tasks it has, why it fits, and
/// the titles of the first of them.
pub fn render(readings: &[Reading]) -> String {
    let mut out = String::new();
    if readings.is_empty() {
        return out;
    }
    let words = readings.iter().map(|reading| reading.read.chars().count());
    let width = words.max().unwrap_or(0);
    out.push_str("\nWays to read it:\n");
    for reading in readings {
        let Reading {
            read,
            tasks,
            over,
            titles,
            why,
        } = reading;
        let noun = if *tasks == 1 { "task" } else { "tasks" };
        let count = match over {
            Some(over) => over.clone(),
            None => format!("{tasks:>4} {noun:5}"),
        };
        let _ = writeln!(out, "  {read:width$}  {count}  {why}");
        for title in titles {
            let _ = writeln!(out, "  {:width$}              {title}", "");
        }
        let more = tasks.saturating_sub(titles.len());
        if more > 0 && !titles.is_empty() {
            let _ = writeln!(out, "  {:width$}              and {more} more", "");
        }
    }
    out
}
