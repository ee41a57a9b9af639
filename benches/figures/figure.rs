//! One line of the table: the measured value, the cost of the bare counterpart, and the limit.

use std::fmt;
use std::time::Duration;

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

/// Returns a duration in milliseconds.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Returns the median; fails without values.
pub(crate) fn median(mut values: Vec<f64>) -> Result<f64, Failed> {
    values.sort_unstable_by(f64::total_cmp);
    values
        .get(values.len() / 2)
        .copied()
        .ok_or_else(|| Failed::from("nothing was measured"))
}
