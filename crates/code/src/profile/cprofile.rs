//! What Python's cProfile and pstats write: statistics as `marshal` writes them, and the table that
//! they print.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::damage::{Damage, check};
use super::format::ProfileFormat;
use super::marshal::{self, Value};
use super::model::{Function, HotPath, MAX_HOTTEST, Measure, PerformanceAnalysis, sum, whole};
use crate::source::Stop;

/// What begins the table.
const HEADING: &str = "ncalls  tottime";
const MEASURE: Measure<'_> = Measure("time", "nanoseconds");
const NANOSECONDS: f64 = 1e9;
/// After so many functions or rows, `stop` is asked.
const ROWS_BETWEEN_STOPS: usize = 4_096;

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

/// Reads statistics: a table from each function to its calls without and with recursion, its own
/// and its whole time, and its callers.
pub(super) fn statistics(bytes: &[u8], stop: Stop<'_>) -> Result<PerformanceAnalysis, Damage> {
    let value = marshal::read(bytes, stop)?;
    let Value::Table(entries) = &value else {
        return Err(Damage::At("it holds no table of functions".to_owned()));
    };
    let (mut functions, mut edges) = (Vec::new(), Vec::new());
    for (number, (key, entry)) in entries.iter().enumerate() {
        if number.is_multiple_of(ROWS_BETWEEN_STOPS) {
            check(stop)?;
        }
        let strange = || Damage::At(format!("entry {} is not as cProfile writes it", number + 1));
        let Value::Tuple(entry) = entry else {
            return Err(strange());
        };
        let [_, calls, own, total, callers] = &entry[..] else {
            return Err(strange());
        };
        let name = label(key).ok_or_else(strange)?;
        let (own, total) = (
            time(own).ok_or_else(strange)?,
            time(total).ok_or_else(strange)?,
        );
        let calls = if let Value::Int(calls) = calls {
            u64::try_from(*calls).ok()
        } else {
            None
        };
        functions.push(Function {
            name: Cow::Owned(name),
            own,
            total,
            calls,
        });
        let Value::Table(callers) = callers else {
            return Err(strange());
        };
        for (caller, figures) in callers.iter() {
            // The module `profile` counts the calls of a caller only.
            if let Value::Tuple(figures) = figures
                && let [_, _, own, _] = &figures[..]
            {
                edges.push((time(own).ok_or_else(strange)?, caller, key));
            }
        }
    }
    let total = whole_of(&functions)?;
    let mut analysis =
        PerformanceAnalysis::of_functions(ProfileFormat::Cprofile, MEASURE, &functions, total);
    edges.retain(|(own, ..)| *own > 0);
    edges.sort_by_key(|(own, ..)| Reverse(*own));
    for (own, caller, key) in edges.into_iter().take(MAX_HOTTEST) {
        let strange = || Damage::At("a caller is no function of cProfile".to_owned());
        let frames = [
            label(caller).ok_or_else(strange)?,
            label(key).ok_or_else(strange)?,
        ];
        analysis
            .paths
            .push(HotPath::new(frames.iter().map(String::as_str), own, total));
    }
    Ok(analysis)
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

fn time(value: &Value) -> Option<u64> {
    match value {
        Value::Float(seconds) => Some(whole(seconds * NANOSECONDS)),
        Value::Int(seconds) => Some(whole(*seconds as f64 * NANOSECONDS)),
        _ => None,
    }
}

/// Returns the name of a function, worded as pstats does.
fn label(key: &Value) -> Option<String> {
    let Value::Tuple(parts) = key else {
        return None;
    };
    let [Value::Text(file), Value::Int(line), Value::Text(name)] = &parts[..] else {
        return None;
    };
    if &**file != "~" {
        return Some(format!("{file}:{line}({name})"));
    }
    let built_in = name
        .strip_prefix('<')
        .and_then(|name| name.strip_suffix('>'));
    Some(built_in.map_or_else(|| name.to_string(), |name| format!("{{{name}}}")))
}
