//! How long cargo built each unit: the page of `cargo build --timings`, and its messages.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use orchestrate_memory::watched;
use serde::Deserialize;

use super::damage::{Damage, json};
use super::format::ProfileFormat;
use super::model::{Function, HotPath, Measure, PerformanceAnalysis, sum, whole};
use crate::source::Stop;

/// What begins the units in the page.
const HEADING: &str = "const UNIT_DATA = ";
/// What names a message.
const MESSAGE: &str = "\"timing-info\"";
const MEASURE: Measure<'_> = Measure("time of building", "nanoseconds");
/// Maximum number of units of the path that is shown; builds with longer ones are not known.
const MAX_PATH: usize = 200;
const NANOSECONDS: f64 = 1e9;

/// A unit of the page.
#[derive(Deserialize)]
struct Unit {
    i: u64,
    name: String,
    #[serde(default)]
    version: String,
    /// Such as ` app "bin"`, or nothing for a library.
    #[serde(default)]
    target: String,
    #[serde(default)]
    start: f64,
    duration: f64,
    /// The units that could start once this one was done, or once it had been checked.
    #[serde(default)]
    unblocked_units: Vec<u64>,
    #[serde(default)]
    unblocked_rmeta_units: Vec<u64>,
}

/// A message, as far as it is used; those of other kinds have no duration.
#[derive(Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    target: Option<Target>,
    duration: Option<f64>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    #[serde(default)]
    kind: Vec<String>,
}

/// Reports whether a text is such a page.
pub(super) fn is_page(text: &str) -> bool {
    text.contains(HEADING)
}

/// Reports whether a text of JSON holds such messages.
pub(super) fn has_messages(text: &str) -> bool {
    text.contains(MESSAGE)
}

/// Reads the page.
pub(super) fn page(text: &str, stop: Stop<'_>) -> Result<PerformanceAnalysis, Damage> {
    let (before, data) = text.split_once(HEADING).unwrap_or_default();
    let mut units = serde_json::Deserializer::from_reader(watched(data.as_bytes(), stop))
        .into_iter::<Vec<Unit>>();
    let units = match units.next() {
        Some(Ok(units)) => units,
        Some(Err(error)) if error.is_io() => return Err(Damage::Stopped),
        Some(Err(error)) => {
            let line = before.lines().count().max(1) + error.line().saturating_sub(1);
            return Err(Damage::At(format!("line {line}: the units: {error}")));
        }
        None => return Err(Damage::At("it ends before its units".to_owned())),
    };
    let functions: Vec<Function<'_>> = units
        .iter()
        .map(|unit| built(unit.name(), unit.duration))
        .collect();
    let mut analysis = analysis(&functions)?;
    analysis.paths.extend(critical_path(&units, analysis.total));
    Ok(analysis)
}

impl Unit {
    fn name(&self) -> String {
        let target = self.target.trim();
        let target = if target.is_empty() {
            String::new()
        } else {
            format!(" {target}")
        };
        format!("{} {}{target}", self.name, self.version)
    }
}

/// Returns the path that decides how long the whole build takes: to the unit that ends last, each
/// from the unit that it waited for. Its value is the time of its units.
fn critical_path(units: &[Unit], total: u64) -> Option<HotPath> {
    let mut waited_for: HashMap<u64, &Unit> = HashMap::new();
    for unit in units {
        for waiting in unit
            .unblocked_units
            .iter()
            .chain(&unit.unblocked_rmeta_units)
        {
            waited_for.insert(*waiting, unit);
        }
    }
    let mut unit = units
        .iter()
        .max_by(|left, right| left.end().total_cmp(&right.end()))?;
    let (mut path, mut seen) = (vec![unit], HashSet::from([unit.i]));
    while let Some(before) = waited_for
        .get(&unit.i)
        .filter(|before| seen.insert(before.i))
    {
        unit = before;
        path.push(unit);
    }
    // The last units of the path are those that the build ended with.
    let names: Vec<String> = path
        .iter()
        .take(MAX_PATH)
        .rev()
        .map(|unit| unit.name())
        .collect();
    let value = path.iter().fold(0_u64, |sum, unit| {
        sum.saturating_add(whole(unit.duration * NANOSECONDS))
    });
    Some(HotPath::new(names.iter().map(String::as_str), value, total))
}

impl Unit {
    fn end(&self) -> f64 {
        self.start + self.duration
    }
}

/// Reads messages.
pub(super) fn messages(text: &str, stop: Stop<'_>) -> Result<PerformanceAnalysis, Damage> {
    let (mut functions, mut unread) = (Vec::new(), 0);
    for message in json::<Message>(text, stop) {
        let message = message?;
        if message.reason != "timing-info" {
            continue;
        }
        let Message {
            package_id,
            target,
            duration,
            ..
        } = message;
        match (package_id, target, duration) {
            (Some(package), Some(target), Some(duration)) => {
                let kind = target.kind.join(", ");
                let kind = if kind == "lib" {
                    String::new()
                } else {
                    format!(" {} ({kind})", target.name)
                };
                functions.push(built(format!("{}{kind}", package_name(&package)), duration));
            }
            _ => unread += 1,
        }
    }
    let mut analysis = analysis(&functions)?;
    analysis.left_out.unread = unread;
    Ok(analysis)
}

/// Returns the name and the version of a package, such as `path+file:///a/app#0.1.0`.
fn package_name(id: &str) -> String {
    match id.rsplit_once('#') {
        Some((_, named)) if named.contains('@') => named.replace('@', " "),
        Some((source, version)) => format!(
            "{} {version}",
            source.rsplit('/').next().unwrap_or_default()
        ),
        None => id.to_owned(),
    }
}

fn built(name: String, seconds: f64) -> Function<'static> {
    let time = whole(seconds * NANOSECONDS);
    Function {
        name: Cow::Owned(name),
        own: time,
        total: time,
        calls: None,
    }
}

fn analysis(functions: &[Function<'_>]) -> Result<PerformanceAnalysis, Damage> {
    let total = sum(functions.iter().map(|function| function.own))?;
    Ok(PerformanceAnalysis::of_functions(
        ProfileFormat::CargoTimings,
        MEASURE,
        functions,
        total,
    ))
}
