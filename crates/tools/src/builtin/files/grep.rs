//! `grep`: searches the worktree's files with ripgrep's engines, within limits of time and hits.

use std::io::{self, Read};
use std::time::Instant;

use async_trait::async_trait;
use globset::GlobMatcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use orchestrate_core::invisible::shown;
use orchestrate_sandbox::Cancel;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments::read;
use super::super::facts::facts;
use super::list::{path_glob, require_pattern, walk_limits};
use crate::arguments::invalid;
use crate::context::ToolContext;
use crate::effect::AnswersFrom;
use crate::error::ToolError;
use crate::files::{EntryKind, Files, Flow, WalkLimits, WalkSummary};
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::tool::Tool;

/// Maximum number of matching lines to show.
const MAX_SHOWN: usize = 200;
/// Maximum number of matching lines to count; a pattern with more is too broad.
const MAX_HITS: usize = 10_000;
/// Maximum number of characters to show of one line.
const MAX_LINE_CHARACTERS: usize = 300;
/// Maximum number of context lines on each side.
const MAX_CONTEXT: usize = 20;
/// Maximum memory of the search of one file, in bytes; a file with longer lines is skipped,
/// since it is hardly text.
const HEAP_BYTES: usize = 16 << 20;
/// Maximum size of a compiled pattern in bytes.
const PATTERN_BYTES: usize = 4 << 20;

/// The `grep` tool.
pub(crate) struct Grep(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    #[serde(default)]
    path: String,
    glob: Option<String>,
    #[serde(default)]
    context: usize,
    #[serde(default)]
    mode: Mode,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Content,
    Files,
    Count,
}

#[async_trait]
impl Tool for Grep {
    facts!("grep", FILES, FileRead, paths["path"]);

    fn names_folders(&self) -> bool {
        true
    }

    fn answers_from(&self) -> AnswersFrom {
        AnswersFrom::Contents
    }

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        require_pattern(arguments)
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: Arguments = read(arguments)?;
        let search = Search {
            matcher: matcher(&arguments.pattern)?,
            glob: arguments.glob.as_deref().map(path_glob).transpose()?,
            context: arguments.context.min(MAX_CONTEXT),
            limits: walk_limits(context, true),
        };
        context.blocking(move |files, _| search.run(files, &arguments)).await
    }
}

fn matcher(pattern: &str) -> Result<RegexMatcher, ToolError> {
    let built = RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_BYTES)
        .build(pattern);
    built.map_err(|error| invalid(&format!("`pattern`: {error}")))
}

/// Reports whether a path is a regular file that can be opened; false if it may be a directory.
fn is_file(files: &Files, path: &str) -> Result<bool, ToolError> {
    match files.open(path) {
        Ok(_) => Ok(true),
        Err(ToolError::File { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

struct Search {
    matcher: RegexMatcher,
    glob: Option<GlobMatcher>,
    context: usize,
    limits: WalkLimits,
}

/// The hits found so far.
#[derive(Default)]
struct Found {
    lines: Vec<String>,
    shown: usize,
    hits: usize,
    /// Files with hits, each with the number of its hits.
    files: Vec<(String, usize)>,
    /// Number of files whose search failed, such as for a line over the memory limit. Binary
    /// files are not counted.
    skipped: usize,
}

impl Search {
    fn run(&self, files: &Files, arguments: &Arguments) -> Result<Answer, ToolError> {
        let mut found = Found::default();
        let mut summary = WalkSummary::default();
        if is_file(files, &arguments.path)? {
            self.file(files, &arguments.path, &mut found)?;
        } else {
            let directory = files.directory(&arguments.path)?;
            summary = files.walk(&directory, &self.limits, &mut |entry| {
                let name = entry.path.strip_prefix(&directory).unwrap_or(&entry.path).trim_start_matches('/');
                if entry.kind == EntryKind::File && self.glob.as_ref().is_none_or(|glob| glob.is_match(name)) {
                    self.file(files, &entry.path, &mut found)?;
                }
                Ok(Flow::Continue)
            })?;
        }
        Ok(found.answer(arguments.mode, &summary))
    }

    fn file(&self, files: &Files, path: &str, found: &mut Found) -> Result<(), ToolError> {
        // A file that has been deleted, or that is not readable, has no hits.
        let Ok(opened) = files.open(path) else { return Ok(()) };
        let reader = LimitedReader { inner: opened.file, deadline: self.limits.deadline, cancel: &self.limits.cancel };
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .before_context(self.context)
            .after_context(self.context)
            .heap_limit(Some(HEAP_BYTES))
            .build();
        let before = (found.lines.len(), found.shown, found.hits);
        let mut sink = LineSink { path: &shown(&opened.path), found, binary: false };
        let result = searcher.search_reader(&self.matcher, reader, &mut sink);
        if sink.binary {
            // The lines before the first zero byte are part of a binary file too.
            found.lines.truncate(before.0);
            (found.shown, found.hits) = (before.1, before.2);
        }
        let hits = found.hits - before.2;
        if hits > 0 {
            found.files.push((opened.path, hits));
        }
        self.check(found, result.is_err())
    }

    /// Fails if the whole search was cancelled or reached a limit; a failure of one file is only counted.
    fn check(&self, found: &mut Found, failed: bool) -> Result<(), ToolError> {
        if self.limits.cancel.is_cancelled() {
            return Err(ToolError::Interrupted("the search was cancelled".to_owned()));
        }
        if found.hits > MAX_HITS {
            let files = found.files.len();
            let reason =
                format!("more than {MAX_HITS} matches in {files} files; narrow the pattern, the path or the glob");
            return Err(ToolError::TooBroad(reason));
        }
        if Instant::now() > self.limits.deadline {
            let reason = "the search ran into its time limit; name a directory further down, or a glob";
            return Err(ToolError::TooBroad(reason.to_owned()));
        }
        found.skipped += usize::from(failed);
        Ok(())
    }
}

impl Found {
    fn answer(self, mode: Mode, summary: &WalkSummary) -> Answer {
        let mut lines = match mode {
            Mode::Content => self.lines,
            Mode::Files => self.files.iter().map(|(path, _)| shown(path)).collect(),
            Mode::Count => self.files.iter().map(|(path, hits)| format!("{}: {hits}", shown(path))).collect(),
        };
        if self.hits == 0 {
            lines.push("no matches".to_owned());
        }
        if mode == Mode::Content && self.hits > self.shown {
            let (hits, files) = (self.hits, self.files.len());
            lines.push(format!("[the first {MAX_SHOWN} of {hits} matches in {files} files; mode `count` shows where]"));
        }
        if self.skipped > 0 {
            lines.push(format!("[{} files could not be searched as text]", self.skipped));
        }
        lines.extend(summary.note());
        let files: Vec<Value> = self.files.iter().map(|(path, hits)| json!({"path": path, "matches": hits})).collect();
        Answer::new(lines.join("\n"), json!({"matches": self.hits, "files": files}))
    }
}

/// Collects the matching lines of one file.
struct LineSink<'a> {
    path: &'a str,
    found: &'a mut Found,
    /// Whether the file contains a zero byte.
    binary: bool,
}

impl LineSink<'_> {
    fn push(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        let shown: String = line.chars().take(MAX_LINE_CHARACTERS).collect();
        let cut = if shown.len() < line.len() { "…" } else { "" };
        let number = number.unwrap_or_default();
        self.found.lines.push(format!("{}{mark}{number}{mark}{shown}{cut}", self.path));
    }
}

impl Sink for LineSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, hit: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.found.hits += 1;
        if self.found.shown < MAX_SHOWN {
            self.found.shown += 1;
            self.push(':', hit.line_number(), hit.bytes());
        }
        Ok(self.found.hits <= MAX_HITS)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.found.shown < MAX_SHOWN {
            self.push('-', context.line_number(), context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if self.found.shown < MAX_SHOWN {
            self.found.lines.push("--".to_owned());
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A reader that fails once the search is cancelled or out of time, so that one endless file cannot block it.
struct LimitedReader<'a, R> {
    inner: R,
    deadline: Instant,
    cancel: &'a Cancel,
}

impl<R: Read> Read for LimitedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() || Instant::now() > self.deadline {
            return Err(io::Error::other("the search is over"));
        }
        self.inner.read(buffer)
    }
}
