//! Lines for programs that follow a run or a loop: `:::NAME::: key=value …`.
//!
//! One line is one [`Marker`]. No value contains a space, so a reader splits the line at spaces and
//! each part at its first `=`. [`MarkerEscape`] keeps text from elsewhere from passing for a
//! marker.

use std::fmt::{self, Display, Formatter};

/// A line for programs that follow a run or a loop. `ts` is the time in Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields have the names that the line has; docs/markers.md describes them"
)]
pub enum Marker {
    /// An agent's turn has begun.
    IterStart { iter: u64, run_id: String, ts: u64 },
    /// An agent's turn has ended.
    IterEnd { iter: u64, run_id: String, ts: u64 },
    /// A phase of a turn has begun.
    PhaseStart {
        iter: u64,
        phase: String,
        run_id: String,
        ts: u64,
    },
    /// A phase of a turn has ended.
    PhaseEnd {
        iter: u64,
        phase: String,
        status: String,
        run_id: String,
        ts: u64,
    },
    /// A tool is about to start.
    ToolStart {
        id: String,
        tool: String,
        cache_key: String,
        git_sha: String,
        ts: u64,
    },
    /// A tool has ended, in whatever way. Each started id ends exactly once.
    ToolEnd {
        id: String,
        rc: i32,
        duration_ms: u64,
        reason: Option<Reason>,
        ts: u64,
    },
    /// A stored result was replayed; nothing was started.
    CacheHit {
        cache_key: String,
        tool: String,
        ts: u64,
    },
    /// No stored result was found.
    CacheMiss {
        cache_key: String,
        tool: String,
        ts: u64,
    },
    /// Nothing may be replayed.
    CacheGuard {
        iter: Option<u64>,
        reason: String,
        phase: String,
        ts: u64,
    },
    /// How the cache is used.
    CacheConfig {
        mode: String,
        scope: String,
        exported: bool,
        iter: Option<u64>,
        ts: u64,
    },
}

/// Why a tool did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It ended with an exit code other than zero.
    ExitCode,
    /// It was interrupted, or its end was lost.
    Interrupted,
    /// It took too long.
    Timeout,
}

/// The name of a marker and its fields in order; a field without a value is left out.
type Parts = (&'static str, Vec<(&'static str, Option<String>)>);

impl Marker {
    /// Returns the end of a tool that ended with this exit code by itself.
    pub fn ended(id: impl Into<String>, rc: i32, duration_ms: u64, ts: u64) -> Marker {
        let reason = (rc != 0).then_some(Reason::ExitCode);
        Marker::ToolEnd {
            id: id.into(),
            rc,
            duration_ms,
            reason,
            ts,
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table, with one row per marker")]
    fn parts(&self) -> Parts {
        let iter = |iter: &Option<u64>| ("iter", iter.map(|iter| iter.to_string()));
        let of_run = |name, iter: &u64, run: &String, ts: &u64| {
            (
                name,
                vec![number("iter", iter), text("run_id", run), number("ts", ts)],
            )
        };
        let of_cache = |name, key: &String, tool: &String, ts: &u64| {
            (
                name,
                vec![text("cache_key", key), text("tool", tool), number("ts", ts)],
            )
        };
        match self {
            Marker::IterStart { iter, run_id, ts } => of_run("ITER_START", iter, run_id, ts),
            Marker::IterEnd { iter, run_id, ts } => of_run("ITER_END", iter, run_id, ts),
            Marker::PhaseStart {
                iter,
                phase,
                run_id,
                ts,
            } => (
                "PHASE_START",
                vec![
                    number("iter", iter),
                    text("phase", phase),
                    text("run_id", run_id),
                    number("ts", ts),
                ],
            ),
            Marker::PhaseEnd {
                iter,
                phase,
                status,
                run_id,
                ts,
            } => (
                "PHASE_END",
                vec![
                    number("iter", iter),
                    text("phase", phase),
                    text("status", status),
                    text("run_id", run_id),
                    number("ts", ts),
                ],
            ),
            Marker::ToolStart {
                id,
                tool,
                cache_key,
                git_sha,
                ts,
            } => (
                "TOOL_START",
                vec![
                    text("id", id),
                    text("tool", tool),
                    text("cache_key", cache_key),
                    text("git_sha", git_sha),
                    number("ts", ts),
                ],
            ),
            Marker::ToolEnd {
                id,
                rc,
                duration_ms,
                reason,
                ts,
            } => (
                "TOOL_END",
                vec![
                    text("id", id),
                    text("result", if reason.is_none() { "PASS" } else { "FAIL" }),
                    number("rc", rc),
                    number("exit", rc),
                    number("duration_ms", duration_ms),
                    ("reason", reason.map(|reason| reason.text(*rc))),
                    number("ts", ts),
                ],
            ),
            Marker::CacheHit {
                cache_key,
                tool,
                ts,
            } => of_cache("CACHE_HIT", cache_key, tool, ts),
            Marker::CacheMiss {
                cache_key,
                tool,
                ts,
            } => of_cache("CACHE_MISS", cache_key, tool, ts),
            Marker::CacheGuard {
                iter: turn,
                reason,
                phase,
                ts,
            } => (
                "CACHE_GUARD",
                vec![
                    iter(turn),
                    text("allowed", "0"),
                    text("reason", reason),
                    text("phase", phase),
                    number("ts", ts),
                ],
            ),
            Marker::CacheConfig {
                mode,
                scope,
                exported,
                iter: turn,
                ts,
            } => (
                "CACHE_CONFIG",
                vec![
                    text("mode", mode),
                    text("scope", scope),
                    number("exported", u8::from(*exported)),
                    iter(turn),
                    number("ts", ts),
                ],
            ),
        }
    }
}

impl Reason {
    fn text(self, rc: i32) -> String {
        match self {
            Reason::ExitCode => format!("exit_code_{rc}"),
            Reason::Interrupted => "interrupted".to_owned(),
            Reason::Timeout => "timeout".to_owned(),
        }
    }
}

fn text(name: &'static str, value: &str) -> (&'static str, Option<String>) {
    (name, Some(without_spaces(value)))
}

fn number(name: &'static str, value: impl Display) -> (&'static str, Option<String>) {
    (name, Some(value.to_string()))
}

/// Returns a value with spaces, control characters, `%` and what begins a marker written as `%` and
/// two hexadecimal digits.
fn without_spaces(value: &str) -> String {
    let mut written = String::with_capacity(value.len());
    for c in value.chars() {
        if c.is_whitespace() || c.is_control() || c == '%' {
            let mut bytes = [0; 4];
            written.extend(
                c.encode_utf8(&mut bytes)
                    .bytes()
                    .map(|byte| format!("%{byte:02X}")),
            );
        } else {
            written.push(c);
        }
    }
    written.replace(":::", "%3A%3A%3A")
}

impl Display for Marker {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, fields) = self.parts();
        write!(f, ":::{name}:::")?;
        for (field, value) in fields {
            if let Some(value) = value {
                write!(f, " {field}={value}")?;
            }
        }
        Ok(())
    }
}

/// What a marker begins with, and what ends its name.
const MARK: &[u8] = b":::";
/// What a line that looks like a marker begins with instead, so that neither a reader of lines nor
/// a search for the mark finds it.
const ESCAPED: &[u8] = b"::\\:";
/// The longest name that is taken for a marker's, so that little of a line is held back.
const LONGEST_NAME: usize = 32;

/// Escapes lines that look like a marker in text that arrives piece by piece: `:::NAME:::` at the
/// beginning of a line becomes `::\:NAME:::`. At most the beginning of one line is held back.
#[derive(Clone, Debug)]
pub struct MarkerEscape {
    begins_line: bool,
    held: Vec<u8>,
}

/// What the beginning of a line is.
enum Look {
    Marker,
    Other,
    Open,
}

impl Default for MarkerEscape {
    fn default() -> Self {
        Self {
            begins_line: true,
            held: Vec::new(),
        }
    }
}

impl MarkerEscape {
    /// Appends the next piece to `out`, as far as it is known what it is.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while let Some((first, rest)) = bytes.split_first() {
            if !self.begins_line {
                let end = bytes
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .map_or(bytes.len(), |at| at + 1);
                let (line, rest) = bytes.split_at(end);
                out.extend_from_slice(line);
                self.begins_line = line.ends_with(b"\n");
                bytes = rest;
                continue;
            }
            self.held.push(*first);
            bytes = rest;
            match look(&self.held) {
                Look::Open => continue,
                Look::Marker => {
                    out.extend_from_slice(ESCAPED);
                    out.extend(self.held.drain(..).skip(MARK.len()));
                    self.begins_line = false;
                }
                Look::Other => {
                    out.append(&mut self.held);
                    self.begins_line = *first == b'\n';
                }
            }
        }
    }

    /// Appends what was held back to `out`: no more pieces follow.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.begins_line &= self.held.is_empty();
        out.append(&mut self.held);
    }

    /// Reports whether the text so far ends with a line's end, or is empty.
    pub fn is_whole(&self) -> bool {
        self.begins_line && self.held.is_empty()
    }
}

fn look(line: &[u8]) -> Look {
    let Some(name) = line.strip_prefix(MARK) else {
        return if MARK.starts_with(line) {
            Look::Open
        } else {
            Look::Other
        };
    };
    let end = name
        .iter()
        .position(|byte| !is_name(byte))
        .unwrap_or(name.len());
    let (name, closing) = name.split_at(end);
    match closing {
        _ if name.len() > LONGEST_NAME => Look::Other,
        [] => Look::Open,
        _ if name.is_empty() => Look::Other,
        MARK => Look::Marker,
        _ if MARK.starts_with(closing) => Look::Open,
        _ => Look::Other,
    }
}

fn is_name(byte: &u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_'
}

#[cfg(test)]
mod tests;
