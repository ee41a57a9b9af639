//! What a profile says, whatever wrote it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::damage::{Damage, ProfileFormat};
use crate::structure::cut;

/// Maximum number of functions by their own values, and of paths.
pub(super) const MAX_HOTTEST: usize = 50;
/// Maximum number of functions by their total values: those that lead to the hottest ones.
const MAX_CALLERS: usize = 25;
/// Maximum number of characters of a name.
const MAX_NAME: usize = 200;

/// Where the time, or what else was measured, went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerformanceAnalysis {
    /// What wrote the profile.
    pub format: ProfileFormat,
    /// What is measured, such as `cpu` or `cycles`.
    pub measure: String,
    /// What the values count, such as `nanoseconds` or `samples`.
    pub unit: String,
    /// The sum of all values.
    pub total: u64,
    /// The functions with the largest values of their own, and those with the largest totals; by
    /// their own values.
    pub functions: Vec<HotFunction>,
    /// The paths with the largest values.
    pub paths: Vec<HotPath>,
    /// What is not part of it.
    pub left_out: LeftOut,
}

/// A function with what was spent in it. Shares are hundredths of a percent of the whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotFunction {
    /// Its name.
    pub name: String,
    /// What was spent in it, without what it calls.
    #[serde(rename = "self")]
    pub own: u64,
    /// The share of `own`.
    #[serde(rename = "self_share")]
    pub own_share: u64,
    /// What was spent in it and in what it calls; a function that calls itself counts once.
    pub total: u64,
    /// The share of `total`.
    pub total_share: u64,
    /// How often it was called, if the profile says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

/// A path with what was spent at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotPath {
    /// The functions, each called by the one before it; `…` stands for those in the middle of a
    /// long path.
    pub frames: Vec<String>,
    /// What was spent in the last function on this path, without what it calls.
    pub value: u64,
    /// Its share of the whole, in hundredths of a percent.
    pub share: u64,
}

/// What of a profile is not part of its analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The number of lines or records that could not be read.
    pub unread: usize,
    /// The number of samples of other events than the one that is measured.
    pub other_events: usize,
    /// The number of samples whose paths are not among those that were compared, since there were
    /// too many.
    pub paths: usize,
}

/// What is measured, and what its values count.
#[derive(Clone, Copy)]
pub(super) struct Measure<'m>(pub(super) &'m str, pub(super) &'m str);

/// A function before the hottest ones are known.
pub(super) struct Function<'t> {
    pub(super) name: Cow<'t, str>,
    pub(super) own: u64,
    pub(super) total: u64,
    pub(super) calls: Option<u64>,
}

/// The sum of what was spent.
///
/// # Errors
/// If it does not fit.
pub(super) fn sum(values: impl Iterator<Item = u64>) -> Result<u64, Damage> {
    let mut sum = 0_u64;
    for value in values {
        sum = add(sum, value)?;
    }
    Ok(sum)
}

/// Adds a value to the sum of all.
///
/// # Errors
/// If it does not fit.
pub(super) fn add(sum: u64, value: u64) -> Result<u64, Damage> {
    sum.checked_add(value)
        .ok_or_else(|| Damage::At(format!("the values add up to more than {}", u64::MAX)))
}

impl PerformanceAnalysis {
    /// Creates an analysis from all functions.
    pub(super) fn of_functions(
        format: ProfileFormat,
        measure: Measure<'_>,
        functions: &[Function<'_>],
        total: u64,
    ) -> PerformanceAnalysis {
        let Measure(measure, unit) = measure;
        PerformanceAnalysis {
            format,
            measure: cut(measure, MAX_NAME),
            unit: cut(unit, MAX_NAME),
            total,
            functions: hottest(functions)
                .map(|function| hot(function, total))
                .collect(),
            paths: Vec::new(),
            left_out: LeftOut::default(),
        }
    }
}

impl HotPath {
    pub(super) fn new<'n>(
        frames: impl Iterator<Item = &'n str>,
        value: u64,
        total: u64,
    ) -> HotPath {
        HotPath {
            frames: frames.map(|name| cut(name, MAX_NAME)).collect(),
            value,
            share: share(value, total),
        }
    }
}

/// Returns the functions with the largest values of their own and with the largest totals, by their
/// own values.
fn hottest<'f, 't>(functions: &'f [Function<'t>]) -> impl Iterator<Item = &'f Function<'t>> {
    let mut order: Vec<usize> = (0..functions.len()).collect();
    let at = |number: &usize| functions.get(*number);
    order.sort_by_cached_key(|number| Reverse(at(number).map(|one| (one.total, one.own))));
    let callers: Vec<usize> = order.iter().copied().take(MAX_CALLERS).collect();
    order.sort_by_key(|number| {
        at(number).map(|one| (Reverse((one.own, one.total)), one.name.as_ref()))
    });
    let chosen: HashSet<usize> = order
        .iter()
        .take(MAX_HOTTEST)
        .chain(&callers)
        .copied()
        .collect();
    order
        .into_iter()
        .filter(move |number| chosen.contains(number))
        .filter_map(|number| functions.get(number))
}

fn hot(function: &Function<'_>, total: u64) -> HotFunction {
    HotFunction {
        name: cut(&function.name, MAX_NAME),
        own: function.own,
        own_share: share(function.own, total),
        total: function.total,
        total_share: share(function.total, total),
        calls: function.calls,
    }
}

/// Returns a share in hundredths of a percent, rounded.
fn share(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part) * 10_000, u128::from(whole));
    let share = (part + whole / 2).checked_div(whole).unwrap_or_default();
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Returns a measured number as a whole one; one that is negative or no number is 0, and one too
/// large the largest.
pub(super) fn whole(number: f64) -> u64 {
    number.round() as u64
}
