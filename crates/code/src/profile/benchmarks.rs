//! What criterion measured: its files `estimates.json` and `sample.json`, and the messages of
//! cargo-criterion.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::damage::{Damage, ProfileFormat, check, json};
use super::model::{Function, Measure, PerformanceAnalysis, sum, whole};
use crate::source::Stop;

/// What stands in the files and messages of criterion, and in no other JSON.
const SIGNS: [&str; 4] = [
    "\"point_estimate\"",
    "\"benchmark-complete\"",
    "\"full_id\"",
    "\"sampling_mode\"",
];
/// Fractions of a nanosecond matter for the shortest benchmarks.
const MEASURE: Measure<'_> = Measure("time of one iteration", "picoseconds");
const PICOSECONDS: f64 = 1e3;

/// A file or a message, as far as it is used.
#[derive(Deserialize)]
struct Measured {
    /// The name of a benchmark in a message.
    id: Option<String>,
    /// The name of a benchmark in `benchmark.json`.
    full_id: Option<String>,
    typical: Option<Typical>,
    slope: Option<Estimate>,
    mean: Option<Estimate>,
    iters: Option<Vec<f64>>,
    times: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Typical {
    estimate: f64,
    unit: Option<String>,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: Option<f64>,
}

/// Reports whether a text of JSON is criterion's.
pub(super) fn is_criterion(text: &str) -> bool {
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// Reads a file, or messages.
pub(super) fn read(text: &str, stop: Stop<'_>) -> Result<PerformanceAnalysis, Damage> {
    let mut benchmarks = Vec::new();
    let (mut unread, mut has_name) = (0, false);
    for measured in json::<Measured>(text, stop) {
        let measured = measured?;
        has_name |= measured.full_id.is_some();
        match measured.picoseconds() {
            Some(time) => {
                benchmarks.push((measured.id.unwrap_or_else(|| "benchmark".to_owned()), time))
            }
            None => unread += usize::from(measured.typical.is_some()),
        }
    }
    if benchmarks.is_empty() && has_name {
        let reason = "it names a benchmark; what was measured is in `estimates.json` beside it";
        return Err(Damage::At(reason.to_owned()));
    }
    analysis(benchmarks, unread)
}

/// Reads the files of a folder of criterion, by their paths. One that is damaged, as a killed
/// benchmark leaves it, is counted, unless no other one has a time.
pub(super) fn of_files(
    files: &[(String, Vec<u8>)],
    stop: Stop<'_>,
) -> Result<PerformanceAnalysis, Damage> {
    let mut benchmarks: BTreeMap<&str, (Option<String>, Option<u64>)> = BTreeMap::new();
    let (mut damaged, mut first_damage) = (0, None);
    for (path, bytes) in files {
        check(stop)?;
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let measured: Measured = match serde_json::from_slice(bytes) {
            Ok(measured) => measured,
            Err(error) => {
                damaged += 1;
                first_damage.get_or_insert_with(|| Damage::At(format!("{path}: {error}")));
                continue;
            }
        };
        let (name, time) = benchmarks.entry(folder).or_default();
        if file == "benchmark.json" {
            *name = measured.full_id;
        } else if file == "estimates.json" || time.is_none() {
            *time = measured.picoseconds().or(*time);
        }
    }
    let unread = benchmarks
        .values()
        .filter(|(_, time)| time.is_none())
        .count();
    let named = benchmarks.into_iter().filter_map(|(folder, (name, time))| {
        let name = name.unwrap_or_else(|| name_of(folder).to_owned());
        Some((name, time?))
    });
    let named: Vec<(String, u64)> = named.collect();
    match first_damage {
        Some(damage) if named.is_empty() => Err(damage),
        _ => analysis(named, unread + damaged),
    }
}

/// Returns the name of a benchmark whose files are in a folder such as
/// `target/criterion/parse/small/new`.
fn name_of(folder: &str) -> &str {
    let below = folder
        .rsplit_once("criterion/")
        .map_or(folder, |(_, below)| below);
    let name = below
        .strip_suffix("/new")
        .or(below.strip_suffix("/base"))
        .unwrap_or(below);
    if name.is_empty() { "benchmark" } else { name }
}

fn analysis(benchmarks: Vec<(String, u64)>, unread: usize) -> Result<PerformanceAnalysis, Damage> {
    if benchmarks.is_empty() {
        return Err(Damage::At("it holds no time of a benchmark".to_owned()));
    }
    let functions: Vec<Function<'_>> = benchmarks
        .into_iter()
        .map(|(name, time)| Function {
            name: Cow::Owned(name),
            own: time,
            total: time,
            calls: None,
        })
        .collect();
    let total = sum(functions.iter().map(|function| function.own))?;
    let mut analysis =
        PerformanceAnalysis::of_functions(ProfileFormat::Criterion, MEASURE, &functions, total);
    analysis.left_out.unread = unread;
    Ok(analysis)
}

impl Measured {
    /// Returns the time of one iteration, which criterion measures in nanoseconds: by preference
    /// what it calls typical, as it does itself.
    fn picoseconds(&self) -> Option<u64> {
        let nanoseconds = match &self.typical {
            Some(typical) if typical.unit.as_ref().is_none_or(|unit| unit == "ns") => {
                typical.estimate
            }
            Some(_) => return None,
            None => {
                let estimates = [&self.slope, &self.mean].into_iter().flatten();
                let estimate = estimates
                    .filter_map(|estimate| estimate.point_estimate)
                    .next();
                estimate.or_else(|| self.mean_of_samples())?
            }
        };
        Some(whole(nanoseconds * PICOSECONDS))
    }

    fn mean_of_samples(&self) -> Option<f64> {
        let iterations = self.iters.as_ref()?.iter().sum::<f64>();
        let times = self.times.as_ref()?.iter().sum::<f64>();
        (iterations > 0.0).then(|| times / iterations)
    }
}
