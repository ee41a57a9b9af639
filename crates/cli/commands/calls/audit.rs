//! `audit`: prints the audit log of a run's tool calls, and compares its file with the run's
//! journal.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use orchestrate_core::projections::audit::{
    AuditLog, Broken, Chain, Foreign, check, check_run, foreign,
};
use orchestrate_core::{Recorded as Fact, RunId};
use orchestrate_files::{Links, read_plain};
use orchestrate_journal::Store;
use serde_json::Value;

use crate::args::{AuditArgs, AuditCommand, AuditVerifyArgs};
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::json::{AuditLine, Audited, AuditedRun, Envelope, ForeignLine, Output};
use crate::show::output;

/// How many events are read at once.
const EVENTS_AT_ONCE: usize = 512;
/// The maximum size of a log that is verified.
const MOST_BYTES: u64 = 4 << 30;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &AuditArgs) -> Result<u8, CommandError> {
    match &arguments.command {
        AuditCommand::Show(arguments) => {
            show(context, arguments.which.run.as_deref(), arguments.json.json)
        }
        AuditCommand::Verify(arguments) => verify(context, arguments),
    }
    .map(|()| 0)
}

fn show(context: &Context, run: Option<&str>, as_json: bool) -> Result<(), CommandError> {
    let (store, run) = context.find_run(run)?;
    for_each_line(&store, &run, |fact, line| match as_json {
        true => {
            let record: Value = serde_json::from_str(line)
                .map_err(|error| CommandError::internal(error.to_string()))?;
            let line = Output::AuditLine(AuditLine { record });
            output::json(&Envelope::at(fact.ts_ms, Some(&fact.run_id), line))
        }
        false => output::line(&in_words(line)),
    })?;
    // What the file has beside that was not written by the run.
    let runs = context.runs()?;
    let text = read(&runs.audit_log(&run), true)?;
    for Foreign { line, text } in foreign(&text, &run, runs.shares_audit_log()) {
        if as_json {
            let text = text.to_owned();
            let foreign = Output::ForeignLine(ForeignLine { line, text });
            output::json(&Envelope::new(Some(&run), foreign))?;
        } else {
            let text = shown(text);
            let line = format!("foreign: line {line} of the file is no record of the run: {text}");
            output::line(&line)?;
        }
    }
    Ok(())
}

/// Returns a foreign line for people.
fn shown(text: &str) -> String {
    output::one_line(text, 200)
}

/// Calls a function with each line of a run's audit log, as the journal gives it, and the event
/// that it is made of; returns the log's end.
fn for_each_line(
    store: &Store,
    run: &RunId,
    mut each: impl FnMut(&Fact, &str) -> Result<(), CommandError>,
) -> Result<Chain, CommandError> {
    let (mut log, mut seen, mut lines) = (AuditLog::default(), 0, 0);
    loop {
        let facts = store.events(run, seen, EVENTS_AT_ONCE)?;
        for fact in &facts {
            seen = fact.seq;
            if let Some(line) = log.apply(fact) {
                lines += 1;
                each(fact, &line)?;
            }
        }
        if facts.len() < EVENTS_AT_ONCE {
            return Ok(Chain {
                lines,
                head: log.head().to_owned(),
            });
        }
    }
}

/// Returns a line of the log for people: when, who, what, how it ended, what it used, and who
/// decided.
fn in_words(line: &str) -> String {
    let entry: Value = serde_json::from_str(line).unwrap_or_default();
    let text = |pointer: &str| match entry.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    };
    let value = |pointer: &str| match entry.pointer(pointer) {
        Some(value) => value.to_string(),
        None => String::new(),
    };
    let end = match entry.get("success").and_then(Value::as_bool) {
        Some(true) => "ok".to_owned(),
        _ => output::one_line(&format!("failed: {}", text("/error")), 120),
    };
    let (seconds, parameters) = (value("/execution_time"), value("/parameters"));
    let call = output::one_line(&format!("{} {parameters}", text("/tool_name")), 120);
    let mut by = text("/decision/outcome");
    let rule = text("/decision/rule");
    if !rule.is_empty() {
        if let Some(Value::String(name)) = entry.pointer("/decision/by") {
            by += &format!(" by {}", output::one_line(name, 60));
        }
        by += &format!(" by {rule}");
    }
    let used = entry
        .get("resource_usage")
        .map_or_else(String::new, of_commands);
    let (time, agent) = (text("/timestamp"), text("/agent_id"));
    format!("{time} {agent} {call} {end} ({seconds}s, {used}{by})")
}

/// Returns what the commands of a call used; empty if it ran none.
fn of_commands(usage: &Value) -> String {
    let number = |field: &str| usage.get(field).and_then(Value::as_u64).unwrap_or(0);
    let processes = match number("processes") {
        0 => return String::new(),
        1 => "1 process".to_owned(),
        processes => format!("{processes} processes"),
    };
    let mib = number("peak_memory_bytes").div_ceil(1 << 20);
    let seconds = std::time::Duration::from_millis(number("cpu_ms")).as_secs_f64();
    format!("{seconds}s of CPU time, {mib} MiB, {processes}, ")
}

/// A run's lines in the file, and what they were compared with.
struct Checked {
    run: RunId,
    found: Chain,
    recorded: Recorded,
}

/// The log as the journal gives it.
enum Recorded {
    /// The journal does not have the run, or there is none here.
    Unknown,
    /// The run goes on, and its file may lag behind.
    Growing,
    /// The whole log.
    Whole(Chain),
}

fn verify(context: &Context, arguments: &AuditVerifyArgs) -> Result<(), CommandError> {
    let (path, run) = match &arguments.file {
        Some(file) => (file.clone(), None),
        None => {
            let (_, run) = context.find_run(arguments.which.run.as_deref())?;
            (context.runs()?.audit_log(&run), Some(run))
        }
    };
    let failed = |reason: String| {
        CommandError::new(ErrorKind::Failed, format!("{}: {reason}", path.display()))
    };
    let text = read(&path, run.is_some())?;
    let at_line = |broken: Broken| failed(format!("line {}: {}", broken.line, broken.fault));
    let (chains, unreadable, beside) = match &run {
        Some(run) => {
            let (chain, unreadable) = check_run(&text, run).map_err(at_line)?;
            let beside = foreign(&text, run, context.runs()?.shares_audit_log());
            (BTreeMap::from([(run.clone(), chain)]), unreadable, beside)
        }
        None => (check(&text).map_err(at_line)?, None, Vec::new()),
    };
    // A file can be verified anywhere.
    let store = context.store().ok();
    let mut checked = Vec::new();
    for (run, found) in chains {
        let recorded = match &store {
            Some(store) => recorded(store, &run)?,
            None => Recorded::Unknown,
        };
        if let Recorded::Whole(whole) = &recorded
            && let Some(difference) = found.difference(whole)
        {
            let error = match unreadable {
                Some(broken) => at_line(broken),
                None => failed(format!("run {run}: {difference}")),
            };
            return Err(error.hint(format!(
                "`orchestrate audit show {run} --json` prints the log as the journal gives it"
            )));
        }
        if let Some(Foreign { line, text }) = beside.first()
            && !matches!(recorded, Recorded::Growing)
        {
            let text = shown(text);
            let error = failed(format!("line {line} is no record of run {run}: {text}"));
            let hint = format!("`orchestrate audit show {run}` shows all such lines as foreign");
            return Err(error.hint(hint));
        }
        checked.push(Checked {
            run,
            found,
            recorded,
        });
    }
    print(&path, run.as_ref(), &checked, arguments.json.json)
}

fn recorded(store: &Store, run: &RunId) -> Result<Recorded, CommandError> {
    if !store.runs()?.iter().any(|known| known.run_id == *run) {
        return Ok(Recorded::Unknown);
    }
    if store.standing(run)?.is_live {
        return Ok(Recorded::Growing);
    }
    for_each_line(store, run, |_, _| Ok(())).map(Recorded::Whole)
}

impl From<&Checked> for AuditedRun {
    fn from(checked: &Checked) -> Self {
        Self {
            run_id: checked.run.clone(),
            calls: checked.found.lines,
            head: checked.found.head.clone(),
            compared: matches!(checked.recorded, Recorded::Whole(_)),
        }
    }
}

fn print(
    path: &Path,
    run: Option<&RunId>,
    checked: &[Checked],
    as_json: bool,
) -> Result<(), CommandError> {
    if as_json {
        let audited = Audited {
            file: path.to_owned(),
            items: checked.iter().map(AuditedRun::from).collect(),
        };
        return output::json(&Envelope::new(run, Output::Audited(audited)));
    }
    if checked.is_empty() {
        return output::line(&format!("{}: no calls", path.display()));
    }
    let mut text = String::new();
    for checked in checked {
        let more = match checked.recorded {
            Recorded::Whole(_) => "as the journal recorded them",
            Recorded::Growing => "so far: the run continues",
            Recorded::Unknown => {
                "unchanged among themselves; this repository's journal does not have the run"
            }
        };
        text += &format!(
            "run {}: {} calls, {more}\n",
            checked.run, checked.found.lines
        );
    }
    output::result(&text)
}

/// Reads a log. A run without calls has none.
fn read(path: &Path, may_be_missing: bool) -> Result<String, CommandError> {
    match read_plain(path, Links::Anywhere, MOST_BYTES) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_missing => {
            Ok(String::new())
        }
        Err(error) => Err(CommandError::of_file("read", path, error)),
    }
}
