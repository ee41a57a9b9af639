//! `tool run`: runs a command of the user's own with the records that a run keeps of its tools.
//!
//! Markers go to standard error and to the log of the repository's calls. A start is written before
//! the command has any effect, and each start gets exactly one end: where this process was killed,
//! the next call writes it.

mod call;
mod call_audit;
mod call_log;
mod passing;
mod stdin;

use std::fmt::Display;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use orchestrate_cache::{Cache, CacheError, Lookup, Stream};
use orchestrate_coordinator::{Interrupts, Passed, SandboxError, Surroundings, pass_through};
use orchestrate_core::projections::audit::command::CommandEnd;
use orchestrate_core::projections::marker::{Marker, Reason};
use orchestrate_core::run::EXIT_INTERRUPTED;
use orchestrate_journal::unix_ms;

use self::call::{Call, Ending};
use self::call_audit::CallAudit;
use self::call_log::CallLog;
use self::passing::Passage;
use self::stdin::Given;
use crate::args::{ToolArgs, ToolCommand, ToolRunArgs};
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::show::output;

/// The exit code of shells for a command that cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// The exit code of shells for a command that is not found.
const NOT_FOUND: u8 = 127;
/// The exit code of a command that passed, but whose output was lost: that of a program that cannot
/// write it.
const OUTPUT_LOST: u8 = 1;
/// What shells add to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &ToolArgs) -> Result<u8, CommandError> {
    let ToolCommand::Run(arguments) = &arguments.command;
    run(context, arguments)
}

fn run(context: &Context, arguments: &ToolRunArgs) -> Result<u8, CommandError> {
    let state = context.directories()?.state;
    let surroundings = Surroundings::at(&context.directory, &state)?;
    if let Some(error) = surroundings.unreadable() {
        output::warning(&format!(
            "failed to {error}; the command runs as outside a repository"
        ));
    }
    // Before signals are held back: whoever waits for the end of an input can be interrupted.
    let mut call = Call::determine(context, arguments, &surroundings)?;
    let interrupts = Interrupts::hold()?;
    let log = CallLog::open(surroundings.calls())?;
    let audit = CallAudit::find(context, surroundings.calls());
    if let Some(marker) = call.configuration(unix_ms()) {
        emit(&log, &marker)?;
    }
    let cache = match call.stores_or_replays() {
        true => usable(Cache::open(&state)),
        false => None,
    };
    if let Some(cache) = &cache
        && replayed(&call, cache, &log, &interrupts)?
    {
        // Nothing started, so the call has no number of its own.
        let id = arguments
            .id
            .as_deref()
            .unwrap_or(call.identity.key.as_str());
        let ending = Ending {
            rc: 0,
            reason: None,
            duration_ms: 0,
            ended_ms: unix_ms(),
        };
        audit.note(CommandEnd {
            cached: true,
            ..call.ended(id, ending)
        });
        return Ok(0);
    }
    let given = call.given.take().map_or(Ok(()), Given::start);
    given.map_err(|error| failed("pass standard input on", error))?;
    let id = arguments.id.clone().map_or_else(|| log.next_id(), Ok)?;
    let passage = Passage::new(cache.filter(|_| call.stores()).as_ref(), &call.identity);
    let started = Started {
        call: &call,
        id,
        at: unix_ms(),
        audit: &audit,
    };
    let rc = start_to_end(&started, &log, &interrupts, &passage)?;
    if rc == 0 {
        store(&call, &surroundings, &passage);
    }
    Ok(rc)
}

/// Stores the result of a command that passed, if it has changed no file: a replay would pretend
/// that it has.
fn store(call: &Call, surroundings: &Surroundings, passage: &Passage) {
    if !passage.is_recorded() {
        return;
    }
    if !call.left_files_as_they_were(surroundings) {
        return passage.forget();
    }
    if let Err(error) = passage.keep() {
        output::warning(&format!("failed to store the result: {error}"));
    }
}

/// Returns what the cache gave. A cache that cannot be used keeps no command from running.
fn usable<T>(given: Result<T, CacheError>) -> Option<T> {
    given
        .map_err(|error| output::warning(&format!("failed to {error}; the cache is not used")))
        .ok()
}

/// Replays a stored result, if there is one and it may be replayed.
fn replayed(
    call: &Call,
    cache: &Cache,
    log: &CallLog,
    interrupts: &Interrupts,
) -> Result<bool, CommandError> {
    if !call.mode.reads() {
        return Ok(false);
    }
    if call.is_pending {
        emit(log, &call.guarded(unix_ms()))?;
        return Ok(false);
    }
    let (cache_key, tool) = (call.identity.key.as_str().to_owned(), call.tool.clone());
    match usable(cache.look_up(&call.identity)) {
        Some(Lookup::Hit(mut entry)) => {
            let ts = unix_ms();
            let hit = Marker::CacheHit {
                cache_key,
                tool,
                ts,
            };
            emit(log, &hit)?;
            interrupts.release();
            let mut piece = Vec::new();
            while let Some(stream) = entry
                .next(&mut piece)
                .map_err(|error| failed("read the stored result", error))?
            {
                let passed = match stream {
                    Stream::Output => output::pass_output(&piece),
                    Stream::Errors => output::pass_errors(&piece),
                };
                passed.map_err(|error| CommandError::of_output(&error))?;
            }
            return Ok(true);
        }
        Some(Lookup::Damaged(path)) => {
            let path = path.display();
            let text = format!("a stored result was damaged and has been removed: {path}");
            output::warning(&text);
        }
        Some(Lookup::Miss) | None => {}
    }
    let ts = unix_ms();
    let miss = Marker::CacheMiss {
        cache_key,
        tool,
        ts,
    };
    emit(log, &miss)?;
    Ok(false)
}

fn failed(act: &str, why: impl Display) -> CommandError {
    CommandError::new(ErrorKind::Failed, format!("failed to {act}: {why}"))
}

/// A call that has begun.
struct Started<'a> {
    call: &'a Call,
    id: String,
    at: u64,
    audit: &'a CallAudit,
}

fn start_to_end(
    started: &Started<'_>,
    log: &CallLog,
    interrupts: &Interrupts,
    passage: &Passage,
) -> Result<u8, CommandError> {
    let Started {
        call,
        id,
        at,
        audit,
    } = started;
    let open = log.begin(id, *at)?;
    let start = Marker::ToolStart {
        id: id.clone(),
        tool: call.tool.clone(),
        cache_key: call.identity.key.as_str().to_owned(),
        git_sha: call.identity.commit.clone(),
        ts: *at,
    };
    emit(log, &start)?;
    let (to_output, to_errors) = passage.sinks();
    let passed = pass_through(
        &call.command,
        interrupts,
        Box::new(to_output),
        to_errors.map(|sink| Box::new(sink) as _),
    );
    let ended = unix_ms();
    let lost = passage.lost();
    let (rc, reason) = match outcome(&passed) {
        (0, None) if lost.is_some() => (OUTPUT_LOST, None),
        outcome => outcome,
    };
    passage.end_line();
    let duration_ms = ended.saturating_sub(*at);
    let ending = Ending {
        rc,
        reason,
        duration_ms,
        ended_ms: ended,
    };
    audit.note(call.ended(id, ending));
    let end = match reason {
        None => Marker::ended(id, rc.into(), duration_ms, ended),
        reason => Marker::ToolEnd {
            id: id.clone(),
            rc: rc.into(),
            duration_ms,
            reason,
            ts: ended,
        },
    };
    // Whatever becomes of the log, the caller learns how the command ended. An end that is missing
    // there is written by the next call.
    let line = output::redacted(&end.to_string());
    let logged = log.append(&line).and_then(|()| open.end());
    output::note(&line);
    if let Err(error) = logged {
        output::warning(&error.in_one_line());
    }
    if let Some(error) = lost {
        output::note(&format!("error: failed to write the output: {error}"));
    }
    if rc != 0 {
        passage.forget();
    }
    match passed {
        Ok(Passed::Interrupted { by_key: true }) => interrupts.end_process(),
        Ok(Passed::NotStarted(error)) => {
            let program = call
                .command
                .first()
                .map(|program| program.to_string_lossy());
            let program = program.unwrap_or_default();
            output::note(&format!("error: failed to start {program}: {error}"));
        }
        Err(error) => output::note(&format!("error: failed to {error}")),
        Ok(_) => {}
    }
    Ok(rc)
}

/// Returns the exit code, and the reason unless the code says it.
fn outcome(passed: &Result<Passed, SandboxError>) -> (u8, Option<Reason>) {
    match passed {
        Ok(Passed::Ended(status)) => (code_of(*status), None),
        Ok(Passed::Interrupted { .. }) => (EXIT_INTERRUPTED, Some(Reason::Interrupted)),
        Ok(Passed::NotStarted(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            (NOT_FOUND, None)
        }
        Ok(_) | Err(_) => (NOT_EXECUTABLE, None),
    }
}

/// Returns the exit code as shells count.
fn code_of(status: ExitStatus) -> u8 {
    let by_signal = || status.signal().map(|signal| SIGNALLED + signal);
    let code = status.code().or_else(by_signal);
    code.map_or(NOT_EXECUTABLE, |code| {
        u8::try_from(code).unwrap_or(NOT_EXECUTABLE)
    })
}

/// Writes a marker to the log, and then to standard error.
fn emit(log: &CallLog, marker: &Marker) -> Result<(), CommandError> {
    let line = output::redacted(&marker.to_string());
    log.append(&line)?;
    output::note(&line);
    Ok(())
}

impl From<SandboxError> for CommandError {
    fn from(error: SandboxError) -> Self {
        CommandError::new(ErrorKind::Failed, format!("failed to {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        let table = [(0, 0), (7 << 8, 7), (9, 137), (15, 143)];
        for (status, code) in table {
            assert_eq!(code_of(ExitStatus::from_raw(status)), code, "{status:#x}");
        }
    }
}
