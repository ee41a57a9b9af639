//! The table that Python's cProfile and pstats print. What they save has the form of `marshal`,
//! which belongs to one version of Python and is read by it alone; the error for it says how to
//! print its table.

use std::borrow::Cow;

use super::damage::{Damage, ProfileFormat, check};
use super::model::{Function, Measure, PerformanceAnalysis, sum, whole};
use crate::error::CodeError;
use crate::source::Stop;

/// What begins the table.
const HEADING: &str = "ncalls  tottime";
const MEASURE: Measure<'_> = Measure("time", "nanoseconds");
const NANOSECONDS: f64 = 1e9;
/// After so many rows, `stop` is asked.
const ROWS_BETWEEN_STOPS: usize = 4_096;

/// Begins of saved statistics: a table of `marshal`, which may be one that is referred to.
const SAVED: [u8; 2] = [b'{', b'{' | 0x80];
/// What is said of saved statistics.
const ONLY_SAVED: &str = "it is saved for Python alone; print its table and give that: \
    `python3 -c 'import pstats; pstats.Stats(\"FILE\").print_stats()' > profile.txt`";

/// Reports whether binary data begins as saved statistics do.
pub(super) fn is_saved(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|begin| SAVED.contains(begin))
}

/// Returns the error for saved statistics, which says how to print their table.
pub(super) fn saved() -> CodeError {
    Damage::At(ONLY_SAVED.to_owned()).in_format(ProfileFormat::Cprofile)
}

/// Reports whether a text holds the table.
pub(super) fn has_table(text: &str) -> bool {
    text.contains(HEADING)
}

/// Reads the table.
pub(super) fn table(text: &str, stop: Stop<'_>) -> Result<PerformanceAnalysis, Damage> {
    let (mut functions, mut unread) = (Vec::new(), 0);
    let mut stated = 0;
    let mut lines = text.lines();
    for line in lines.by_ref().take_while(|line| !line.contains(HEADING)) {
        // A list may be limited to its first rows, so the whole is what the line above it states.
        if let Some((_, seconds)) = line
            .trim_end_matches(" seconds")
            .rsplit_once(") in ")
            .or(line
                .trim_end_matches(" seconds")
                .rsplit_once(" function calls in "))
        {
            stated = seconds
                .trim()
                .parse()
                .map_or(stated, |seconds: f64| whole(seconds * NANOSECONDS));
        }
    }
    for (number, row) in lines.enumerate().filter(|(_, row)| !row.trim().is_empty()) {
        if number.is_multiple_of(ROWS_BETWEEN_STOPS) {
            check(stop)?;
        }
        match table_row(row) {
            Some(function) => functions.push(function),
            None => unread += 1,
        }
    }
    let total = whole_of(&functions)?.max(stated);
    let mut analysis =
        PerformanceAnalysis::of_functions(ProfileFormat::Cprofile, MEASURE, &functions, total);
    analysis.left_out.unread = unread;
    Ok(analysis)
}

/// Reads a row of number of calls, own time, own time per call, whole time, whole time per call,
/// and name.
fn table_row(row: &str) -> Option<Function<'_>> {
    let mut rest = row.trim();
    let mut column = || {
        let (word, after) = rest.split_once(char::is_whitespace)?;
        rest = after.trim_start();
        Some(word)
    };
    let (calls, own, _, total, _) = (column()?, column()?, column()?, column()?, column()?);
    // Of `20/1`, the first are all calls.
    let calls = calls
        .split('/')
        .next()
        .and_then(|calls| calls.parse().ok())?;
    Some(Function {
        name: Cow::Borrowed(rest),
        own: seconds(own)?,
        total: seconds(total)?,
        calls: Some(calls),
    })
}

fn seconds(word: &str) -> Option<u64> {
    word.parse()
        .ok()
        .map(|seconds: f64| whole(seconds * NANOSECONDS))
}

/// Returns what shares relate to: the sum of the functions' own times, or a longer total of one of
/// them, since cProfile measures the two apart.
fn whole_of(functions: &[Function<'_>]) -> Result<u64, Damage> {
    let longest = functions
        .iter()
        .map(|function| function.total)
        .max()
        .unwrap_or_default();
    Ok(sum(functions.iter().map(|function| function.own))?.max(longest))
}
