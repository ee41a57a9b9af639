//! `analyze_performance`: what a profile says about where the time went.

use async_trait::async_trait;
use orchestrate_code::{
    CodeError, HotFunction, HotPath, LeftOut, MAX_PROFILE_BYTES, PerformanceAnalysis, Stop,
    within_memory,
};
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;

use crate::answer::{Answer, ToolError, size};
use crate::code_files::Surveyor;
use crate::files::{EntryKind, Files, Flow, WalkLimits};
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// Maximum number of functions that the text shows.
const MAX_FUNCTIONS: usize = 30;
/// Maximum number of paths that the text shows.
const MAX_PATHS: usize = 10;
/// The files of the newest results of criterion, and the maximum number and size of those that are
/// read.
const RESULTS: [&str; 2] = ["/new/estimates.json", "/new/benchmark.json"];
const MAX_RESULTS: usize = 2_000;
const MAX_RESULT_BYTES: u64 = 1 << 20;

/// The `analyze_performance` tool.
pub(crate) struct AnalyzePerformance(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    profiling_data: Option<String>,
    path: Option<String>,
}

/// Where a profile is.
enum Profile {
    /// In a file, or in files below a folder.
    At(String),
    /// In the call.
    Given(String),
}

impl Arguments {
    /// Returns where the profile is.
    fn profile(self, files: &Files) -> Result<Profile, ToolError> {
        match (self.path, self.profiling_data) {
            (Some(path), None) => Ok(Profile::At(path)),
            (None, Some(data)) => Ok(Profile::Given(data)),
            (path, _) => {
                // A path that may not be read is refused for that reason.
                path.map(|path| files.open(&path)).transpose()?;
                Err(invalid("expected either `profiling_data` or `path`"))
            }
        }
    }
}

#[async_trait]
impl Tool for AnalyzePerformance {
    facts!(
        "analyze_performance", ANALYSIS, FileRead,
        path_fields: &["path"],
        is_default: false,
        names_folders: true,
    );

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal =
            Look::at_files(
                |files, _, arguments: Arguments| match arguments.profile(files)? {
                    Profile::At(path) => files.find(&path).map(drop),
                    Profile::Given(_) => Ok(()),
                },
            );
        Ok(Prepared::on_paths(self.properties(), site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: Arguments = read(arguments)?;
        let limits = Surveyor::for_call(context).limits;
        context
            .blocking(move |files, _| analyze(files, arguments, &limits))
            .await
    }
}

fn analyze(files: &Files, arguments: Arguments, limits: &WalkLimits) -> Result<Answer, ToolError> {
    let profile = arguments.profile(files)?;
    let analysis = within_memory(&|| limits.check().is_err(), |stop| match profile {
        Profile::At(path) => of_path(files, &path, limits, stop),
        Profile::Given(data) => {
            PerformanceAnalysis::read(data.as_bytes(), stop).map(Profiled::Analyzed)
        }
    });
    match analysis {
        Ok(Profiled::Unread(error)) => Err(error),
        Ok(Profiled::Analyzed(analysis)) => Ok(answer(&analysis)),
        Err(error @ CodeError::Stopped) => {
            limits.check()?;
            Err(ToolError::Interrupted(error.to_string()))
        }
        Err(error @ CodeError::UnknownProfile) => Err(ToolError::Retry(format!(
            "this is {error}; a profile that is a file is named by `path`"
        ))),
        Err(error) => Err(ToolError::Retry(error.to_string())),
    }
}

/// A profile that a path names.
enum Profiled {
    /// What it says.
    Analyzed(PerformanceAnalysis),
    /// Why it could not be read.
    Unread(ToolError),
}

fn of_path(
    files: &Files,
    path: &str,
    limits: &WalkLimits,
    stop: Stop<'_>,
) -> Result<Profiled, CodeError> {
    if let Ok(opened) = files.open(path) {
        if opened.size > files.max_bytes() {
            let error = too_large(path, opened.size, files.max_bytes());
            return Ok(Profiled::Unread(error));
        }
        if opened.size > MAX_PROFILE_BYTES as u64 {
            return Err(CodeError::LargeProfile(MAX_PROFILE_BYTES >> 20));
        }
    }
    let folder = match files.read(path) {
        Ok((file, bytes)) if is_result(&file.path) => {
            return PerformanceAnalysis::of_benchmarks(&[(file.path, bytes)], stop)
                .map(Profiled::Analyzed);
        }
        Ok((_, bytes)) => return PerformanceAnalysis::read(&bytes, stop).map(Profiled::Analyzed),
        // It may be a directory.
        Err(error @ ToolError::File { .. }) => files.directory_instead(path, error),
        Err(error) => return Ok(Profiled::Unread(error)),
    };
    let results = match folder.and_then(|folder| results(files, &folder, limits, stop)) {
        Ok(results) => results,
        Err(error) => return Ok(Profiled::Unread(error)),
    };
    PerformanceAnalysis::of_benchmarks(&results, stop).map(Profiled::Analyzed)
}

/// A part of a profile says nothing, so only the limit helps.
fn too_large(path: &str, bytes: u64, limit: u64) -> ToolError {
    let (path, bytes, limit) = (shown(path), size(bytes), size(limit));
    ToolError::Retry(format!(
        "{path} has {bytes}, more than the limit of {limit}; the user can set another one, \
         `tools.file_operations.max_file_size_mb`, or record fewer samples"
    ))
}

/// Reports whether a path is that of a result of criterion, which names its benchmark.
fn is_result(path: &str) -> bool {
    ["estimates.json", "sample.json"].contains(&path.rsplit('/').next().unwrap_or_default())
}

/// Reads the newest results of criterion below a folder, which git usually ignores.
///
/// Once `stop` says so, no more are read, which is said when they are analysed.
fn results(
    files: &Files,
    folder: &str,
    limits: &WalkLimits,
    stop: Stop<'_>,
) -> Result<Vec<(String, Vec<u8>)>, ToolError> {
    let mut paths = Vec::new();
    files.walk_all(folder, limits, &mut |entry| {
        if entry.kind == EntryKind::File
            && RESULTS.iter().any(|result| entry.path.ends_with(result))
        {
            paths.push(entry.path.clone());
        }
        Ok(if paths.len() < MAX_RESULTS {
            Flow::Continue
        } else {
            Flow::Stop
        })
    })?;
    let mut results = Vec::new();
    for path in paths {
        limits.check()?;
        if stop() {
            break;
        }
        let bytes = files.read_found(&path, MAX_RESULT_BYTES);
        results.extend(bytes.map(|bytes| (path, bytes)));
    }
    if results.is_empty() {
        let name = if folder.is_empty() { "." } else { folder };
        let expected = "it holds no results of criterion, `…/new/estimates.json`";
        return Err(ToolError::Retry(format!(
            "{}: {expected}; name the file of a profile",
            shown(name)
        )));
    }
    Ok(results)
}

fn answer(analysis: &PerformanceAnalysis) -> Answer {
    let PerformanceAnalysis {
        format,
        measure,
        unit,
        total,
        functions,
        paths,
        left_out,
    } = analysis;
    let whole = quantity(*total, unit);
    let mut lines = vec![format!(
        "{}: {} ({}) in all",
        format.name(),
        whole,
        shown(measure)
    )];
    lines.push("   self    total        self  function".to_owned());
    lines.extend(
        functions
            .iter()
            .take(MAX_FUNCTIONS)
            .map(|one| function(one, unit)),
    );
    if functions.len() > MAX_FUNCTIONS {
        lines.push(format!(
            "[the first {MAX_FUNCTIONS} of {} that are in the data]",
            functions.len()
        ));
    }
    if !paths.is_empty() {
        lines.push("hottest paths:".to_owned());
    }
    lines.extend(paths.iter().take(MAX_PATHS).map(|one| path(one, unit)));
    lines.extend(notes(*left_out));
    Answer::new(lines.join("\n"), json!(analysis))
}

fn function(one: &HotFunction, unit: &str) -> String {
    let calls = one
        .calls
        .map(|calls| format!(" ({calls} calls)"))
        .unwrap_or_default();
    let (own, total) = (percent(one.own_share), percent(one.total_share));
    format!(
        "{own:>7}  {total:>7}  {:>10}  {}{calls}",
        quantity(one.own, unit),
        shown(&one.name)
    )
}

fn path(one: &HotPath, unit: &str) -> String {
    format!(
        "{:>7}  {:>10}  {}",
        percent(one.share),
        quantity(one.value, unit),
        shown(&one.frames.join(" > "))
    )
}

fn notes(left_out: LeftOut) -> Vec<String> {
    let LeftOut {
        unread,
        other_events,
        paths,
    } = left_out;
    let mut notes = Vec::new();
    if unread > 0 {
        notes.push(format!("[{unread} lines or records could not be read]"));
    }
    if other_events > 0 {
        notes.push(format!(
            "[{other_events} samples of other events are not counted]"
        ));
    }
    if paths > 0 {
        notes.push(format!(
            "[the paths of {paths} samples were not compared: there are too many]"
        ));
    }
    notes
}

/// Returns hundredths of a percent in words.
fn percent(share: u64) -> String {
    format!("{}.{:02}%", share / 100, share % 100)
}

/// Returns a value in words: a time, a size, or a number with its unit.
fn quantity(value: u64, unit: &str) -> String {
    let picoseconds = match unit {
        "picoseconds" => 1.0,
        "nanoseconds" => 1e3,
        "microseconds" => 1e6,
        "milliseconds" => 1e9,
        "seconds" => 1e12,
        "bytes" => return size(value),
        _ => return format!("{value} {}", shown(unit)),
    };
    let time = value as f64 * picoseconds;
    let (scale, name) = match time {
        1e12.. => (1e12, "s"),
        1e9.. => (1e9, "ms"),
        1e6.. => (1e6, "µs"),
        _ => (1e3, "ns"),
    };
    format!("{:.2} {name}", time / scale)
}
