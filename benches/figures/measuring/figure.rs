//! One line of the table (the measured value, the limit, and what stands beside it), and what is
//! measured for it.

use std::fmt;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

/// The header of the table.
pub(crate) const HEADER: &str =
    "figure                                                   measured       limit  kept  beside";

/// A figure and its limit, in the same unit.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) measured: f64,
    pub(crate) limit: f64,
    pub(crate) unit: &'static str,
    /// The bare counterpart of the same run, in words.
    pub(crate) beside: String,
}

impl Figure {
    /// Reports whether the figure is below its limit.
    pub(crate) fn is_kept(&self) -> bool {
        self.measured < self.limit
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            measured,
            limit,
            unit,
            beside,
        } = self;
        let kept = if self.is_kept() { "yes" } else { "NO" };
        write!(
            f,
            "{name:<52} {measured:>9.2} {unit:<2} {limit:>7} {unit:<2}  {kept:<4}  {beside}"
        )
    }
}

/// The times of two sides of a comparison, measured alternately, so that load on the machine slows
/// both.
#[derive(Default)]
pub(crate) struct Pairs {
    ours: Vec<f64>,
    bare: Vec<f64>,
}

impl Pairs {
    /// Measures both sides this many times.
    pub(crate) fn measure(
        samples: usize,
        mut ours: impl FnMut() -> Result<f64, Failed>,
        mut bare: impl FnMut() -> Result<f64, Failed>,
    ) -> Result<Self, Failed> {
        let mut pairs = Self::default();
        for _ in 0..samples {
            pairs.ours.push(ours()?);
            pairs.bare.push(bare()?);
        }
        Ok(pairs)
    }

    /// Leaves out the first times, which fill caches.
    pub(crate) fn without_first(mut self, times: usize) -> Self {
        self.ours.drain(..times);
        self.bare.drain(..times);
        self
    }

    pub(crate) fn ours(&self) -> Result<f64, Failed> {
        median(&self.ours)
    }

    pub(crate) fn bare(&self) -> Result<f64, Failed> {
        median(&self.bare)
    }

    /// Returns how many times as long ours takes.
    pub(crate) fn ratio(&self) -> Result<f64, Failed> {
        self.median_of(|ours, bare| ours / bare)
    }

    /// Returns how much longer ours takes.
    pub(crate) fn beyond(&self) -> Result<f64, Failed> {
        self.median_of(|ours, bare| ours - bare)
    }

    fn median_of(&self, compare: fn(f64, f64) -> f64) -> Result<f64, Failed> {
        let pairs = self.ours.iter().zip(&self.bare);
        median(
            &pairs
                .map(|pair| compare(*pair.0, *pair.1))
                .collect::<Vec<_>>(),
        )
    }
}

/// Returns a duration in milliseconds.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Returns how long an act takes, in milliseconds.
pub(crate) fn timed(act: impl FnOnce() -> Result<(), Failed>) -> Result<f64, Failed> {
    let since = Instant::now();
    act()?;
    Ok(ms(since.elapsed()))
}

/// Returns the median; fails without values.
pub(crate) fn median(values: &[f64]) -> Result<f64, Failed> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.get(sorted.len() / 2).copied();
    middle.ok_or_else(|| Failed::from("nothing was measured"))
}
