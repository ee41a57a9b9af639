//! `grep`: searches the worktree's files with ripgrep's engines, within limits of time and hits.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use ignore::types::{FileTypeDef, TypesBuilder};
use orchestrate_core::text::invisible::shown;
use orchestrate_core::text::similar::most_similar;
use orchestrate_sandbox::Cancel;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::list::{below, path_glob, require_pattern, walk_limits};
use crate::answer::{Answer, FileContents, FileStamp, ToolError};
use crate::call::AnswersFrom;
use crate::files::{
    Entry, EntryKind, FileOrFolder, FileReader, Files, Flow, Required, SeenTrigrams, Trigrams,
    Visitor, WalkLimits, WalkSummary, walk_order,
};
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// Maximum number of matching lines to show.
const MAX_SHOWN: usize = 200;
/// Maximum number of matching lines to count; a pattern with more is too broad.
const MAX_HITS: usize = 10_000;
/// Maximum number of characters to show of one line.
const MAX_LINE_CHARACTERS: usize = 300;
/// How many similar kinds of files an error names.
const NEAREST_TYPES: usize = 3;
/// Maximum number of context lines on each side.
const MAX_CONTEXT: usize = 20;
/// Maximum memory of the search of one file, in bytes; a file with longer lines is skipped,
/// since it is hardly text.
const HEAP_BYTES: usize = 16 << 20;
/// Maximum size of a compiled pattern in bytes.
const PATTERN_BYTES: usize = 4 << 20;

/// The size in bytes from which on a file is searched in parts. It must be the searcher's own: in
/// so much of a slice it looks for zero bytes.
const WHOLE_BYTES: usize = 64 << 10;
/// Maximum size of a file whose trigrams are kept, in bytes; larger ones are hardly sources.
const MAX_INDEXED_BYTES: u64 = 1 << 20;
/// What stands around the number of a line with a match.
const HIT: char = ':';
/// What stands around the number of a line of context.
const NO_HIT: char = '-';

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
    /// The lines before a match; `None` means as many as of context. These and the following are of
    /// calls in the form of other products.
    before: Option<usize>,
    after: Option<usize>,
    /// The maximum number of matches, or of files, to show.
    limit: Option<usize>,
    /// How many of them are passed over.
    #[serde(default)]
    skip: usize,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    multiline: bool,
    /// A kind of files, as ripgrep calls it.
    r#type: Option<String>,
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
    facts!(
        "grep", FILES, FileRead,
        path_fields: &["path"],
        names_folders: true,
        answers_from: AnswersFrom::Contents,
    );

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, _, arguments: Arguments| {
            arguments.compiled()?;
            files.find(&arguments.path).map(drop)
        });
        Ok(Prepared {
            fault: require_pattern(&arguments).err(),
            rehearsal: Some(rehearsal),
            ..Prepared::on_paths(self.properties(), site, arguments)?
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: Arguments = read(arguments)?;
        let (matcher, globs) = arguments.compiled()?;
        let lines = |own: Option<usize>| own.unwrap_or(arguments.context).min(MAX_CONTEXT);
        let search = Search {
            matcher,
            globs,
            before: lines(arguments.before),
            after: lines(arguments.after),
            is_multiline: arguments.multiline,
            shown: arguments.shown(),
            limits: walk_limits(context, true),
            hits: AtomicUsize::new(0),
            known: Known::find(context, &arguments.expression()),
        };
        context
            .blocking(move |files, _| search.run(files, &arguments.path))
            .await
    }
}

impl Arguments {
    /// Compiles the pattern and the globs, all of which a file has to match.
    fn compiled(&self) -> Result<(RegexMatcher, Vec<GlobSet>), ToolError> {
        let glob = self.glob.as_deref().map(path_glob).transpose()?;
        let of_type = self.r#type.as_deref().map(type_globs).transpose()?;
        Ok((self.matcher()?, glob.into_iter().chain(of_type).collect()))
    }

    /// Returns the pattern with what else is asked for of it.
    fn expression(&self) -> String {
        let flags = [(self.ignore_case, "(?i)"), (self.multiline, "(?s)")];
        let flags = flags
            .into_iter()
            .filter(|(is_on, _)| *is_on)
            .map(|(_, flag)| flag);
        flags.chain([self.pattern.as_str()]).collect()
    }

    fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        let built = RegexMatcherBuilder::new()
            .multi_line(true)
            .line_terminator((!self.multiline).then_some(b'\n'))
            .size_limit(PATTERN_BYTES)
            .build(&self.expression());
        built.map_err(|error| invalid(&format!("`pattern`: {error}")))
    }

    fn shown(&self) -> Shown {
        let most = self.limit.unwrap_or(MAX_SHOWN).min(MAX_SHOWN);
        Shown {
            mode: self.mode,
            skip: self.skip.min(MAX_HITS),
            most,
            has_limit: self.limit.is_some() || self.skip > 0,
        }
    }
}

/// Returns the globs of a kind of files.
fn type_globs(name: &str) -> Result<GlobSet, ToolError> {
    let known = TypesBuilder::new().add_defaults().definitions();
    let Some(kind) = known.iter().find(|kind| kind.name() == name) else {
        let nearest =
            most_similar(name, known.iter().map(FileTypeDef::name), NEAREST_TYPES).join("`, `");
        return Err(invalid(&format!(
            "`type`: there is no kind of files `{}`; similar: `{nearest}`",
            shown(name)
        )));
    };
    let mut globs = GlobSetBuilder::new();
    for glob in kind.globs() {
        let glob = GlobBuilder::new(&format!("**/{glob}"))
            .literal_separator(true)
            .build();
        globs.add(glob.map_err(|error| ToolError::Execution(error.to_string()))?);
    }
    globs
        .build()
        .map_err(|error| ToolError::Execution(error.to_string()))
}

/// What of the matches is shown.
#[derive(Clone, Copy)]
struct Shown {
    mode: Mode,
    /// How many are passed over.
    skip: usize,
    /// How many are shown after these.
    most: usize,
    /// Whether the call says so.
    has_limit: bool,
}

impl Shown {
    /// Returns the number of matches whose lines are needed.
    fn needed(self) -> usize {
        self.skip + self.most
    }
}

struct Search {
    matcher: RegexMatcher,
    globs: Vec<GlobSet>,
    before: usize,
    after: usize,
    is_multiline: bool,
    shown: Shown,
    limits: WalkLimits,
    /// The number of matching lines that all threads have found so far.
    hits: AtomicUsize,
    /// `None` if every file has to be read.
    known: Option<Known>,
}

/// What earlier searches found out about the files.
struct Known {
    required: Required,
    contents: Arc<dyn FileContents>,
    seen: Arc<SeenTrigrams>,
    /// Whether no file was searched before.
    is_first: bool,
}

impl Known {
    fn find(context: &ToolContext, pattern: &str) -> Option<Known> {
        let required = Required::by(pattern)?;
        let contents = context.services().replay.contents()?;
        let seen = context.shared().value::<SeenTrigrams>();
        let is_first = seen.is_empty();
        Some(Known {
            required,
            contents,
            seen,
            is_first,
        })
    }

    /// Reports whether it is certain that the pattern does not match in a file.
    fn rules_out(&self, entry: &Entry) -> bool {
        let trigrams = || {
            self.seen
                .find(&self.contents.known(&entry.path, &entry.stamp()?)?)
        };
        !self.is_first && trigrams().is_some_and(|trigrams| !trigrams.may_match(&self.required))
    }
}

impl Search {
    fn run(&self, files: &Files, path: &str) -> Result<Answer, ToolError> {
        match files.find(path)? {
            FileOrFolder::File(opened) => {
                let mut seeker = Seeker::new(self, files, "");
                let (path, mut file) = (opened.path, opened.file);
                seeker.file(&path, &mut file, opened.size)?;
                Ok(seeker.found.answer(&WalkSummary::default()))
            }
            FileOrFolder::Folder(directory) => self.directory(files, &directory),
        }
    }

    fn directory(&self, files: &Files, directory: &str) -> Result<Answer, ToolError> {
        let seeker = || Seeker::new(self, files, directory);
        let (seekers, summary) = files.walk_parallel(directory, &self.limits, seeker)?;
        let mut found = Found::new(self.shown);
        seekers
            .into_iter()
            .for_each(|seeker| found.merge(seeker.found));
        Ok(found.answer(&summary))
    }

    /// Fails if the whole search was cancelled or reached a limit.
    fn check(&self, new_hits: usize) -> Result<(), ToolError> {
        if self.limits.cancel.is_cancelled() {
            return Err(ToolError::Interrupted(
                "the search was cancelled".to_owned(),
            ));
        }
        if self.hits.fetch_add(new_hits, Ordering::Relaxed) + new_hits > MAX_HITS {
            let reason =
                format!("more than {MAX_HITS} matches; narrow the pattern, the path or the glob");
            return Err(ToolError::TooBroad(reason));
        }
        if Instant::now() > self.limits.deadline {
            let reason =
                "the search ran into its time limit; name a directory further down, or a glob";
            return Err(ToolError::TooBroad(reason.to_owned()));
        }
        Ok(())
    }
}

/// Searches files on one thread.
struct Seeker<'s> {
    search: &'s Search,
    files: &'s Files,
    directory: &'s str,
    /// A clone, since threads wait for each other in a shared one.
    matcher: RegexMatcher,
    searcher: Searcher,
    /// The beginning of a file, which is all of most files.
    buffer: Vec<u8>,
    /// How much of the buffer is of the file.
    length: usize,
    /// What follows in a file whose trigrams are kept.
    rest: Vec<u8>,
    found: Found,
}

impl Visitor for Seeker<'_> {
    fn visit(&mut self, entries: Vec<Entry>) -> Result<Flow, ToolError> {
        for entry in &entries {
            let wanted = |glob: &GlobSet| glob.is_match(below(self.directory, &entry.path));
            if entry.kind == EntryKind::File
                && self.search.globs.iter().all(wanted)
                && !self.search.known.as_ref().is_some_and(|known| known.rules_out(entry))
                // A file that has been deleted, or that is not readable, has no hits.
                && let Ok((file, stamp)) = self.files.open_found(&entry.path)
            {
                self.indexed(&entry.path, file, &stamp)?;
            }
        }
        Ok(Flow::Continue)
    }
}

impl<'s> Seeker<'s> {
    fn new(search: &'s Search, files: &'s Files, directory: &'s str) -> Seeker<'s> {
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .before_context(search.before)
            .after_context(search.after)
            .multi_line(search.is_multiline)
            .heap_limit(Some(HEAP_BYTES))
            .build();
        let (matcher, buffer) = (search.matcher.clone(), vec![0; WHOLE_BYTES]);
        let found = Found::new(search.shown);
        Seeker {
            search,
            files,
            directory,
            matcher,
            searcher,
            buffer,
            length: 0,
            rest: Vec::new(),
            found,
        }
    }

    /// Searches a file, and keeps its trigrams for the next search.
    fn indexed(
        &mut self,
        path: &str,
        mut file: FileReader,
        stamp: &FileStamp,
    ) -> Result<(), ToolError> {
        self.file(path, &mut file, stamp.size)?;
        let (read, _) = self.buffer.split_at(self.length);
        // A file that changed while it was read is not the one with this id.
        let is_whole = || {
            (read.len() + self.rest.len()) as u64 == stamp.size
                && FileStamp::now(&file) == Some(*stamp)
        };
        if let Some(known) = &self.search.known
            && let Some(id) = known.contents.known(path, stamp)
            && is_whole()
            && let Some(trigrams) = Trigrams::from_content([read, &self.rest])
        {
            known.seen.keep(id, trigrams);
        }
        Ok(())
    }

    fn file(&mut self, path: &str, file: &mut FileReader, size: u64) -> Result<(), ToolError> {
        let hits = FileHits {
            path: path.to_owned(),
            ..FileHits::default()
        };
        let mut sink = LineSink {
            shown: self.search.shown,
            file: hits,
            binary: false,
        };
        let result = self.content(file, size, &mut sink);
        // The lines before the first zero byte are part of a binary file too.
        let hits = if sink.binary {
            FileHits::default()
        } else {
            sink.file
        };
        self.search.check(hits.hits)?;
        if hits.hits > 0 {
            self.found.add(hits);
        }
        self.found.skipped += usize::from(result.is_err());
        Ok(())
    }

    fn content(&mut self, file: &mut FileReader, size: u64, sink: &mut LineSink) -> io::Result<()> {
        self.rest.clear();
        self.length = fill(&mut self.buffer, file, size)?;
        let matcher = &self.matcher;
        let (begin, room) = self.buffer.split_at(self.length);
        if !room.is_empty() {
            return self.searcher.search_slice(matcher, begin, sink);
        }
        if size <= MAX_INDEXED_BYTES {
            file.by_ref()
                .take(MAX_INDEXED_BYTES)
                .read_to_end(&mut self.rest)?;
        }
        let Search {
            limits: WalkLimits {
                deadline, cancel, ..
            },
            ..
        } = self.search;
        let reader = LimitedReader {
            inner: begin.chain(self.rest.as_slice()).chain(file),
            deadline: *deadline,
            cancel,
        };
        self.searcher.search_reader(matcher, reader, sink)
    }
}

/// Reads a file of this size until it ends or the buffer is full, in most cases with one call of
/// the system; returns the number of bytes.
fn fill(buffer: &mut [u8], file: &mut FileReader, size: u64) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        let count = file.read(rest)?;
        length += count;
        if count == 0 || length as u64 == size {
            break;
        }
    }
    Ok(length)
}

/// The hits in one file.
#[derive(Default)]
struct FileHits {
    path: String,
    hits: usize,
    lines: Vec<Line>,
}

/// A line to show.
struct Line {
    text: String,
    is_hit: bool,
}

/// The hits of one thread, or of all.
struct Found {
    shown: Shown,
    files: Vec<FileHits>,
    /// Number of hits among the lines.
    lines: usize,
    /// Number of files whose search failed, such as for a line over the memory limit. Binary
    /// files are not counted.
    skipped: usize,
}

impl Found {
    fn new(shown: Shown) -> Found {
        Found {
            shown,
            files: Vec::new(),
            lines: 0,
            skipped: 0,
        }
    }

    fn add(&mut self, file: FileHits) {
        self.lines += file.hit_lines();
        self.files.push(file);
        if self.lines > 2 * self.shown.needed() {
            self.cut();
        }
    }

    fn merge(&mut self, other: Found) {
        other.files.into_iter().for_each(|file| self.add(file));
        self.skipped += other.skipped;
    }

    /// Drops the lines of files that come after those with enough hits.
    fn cut(&mut self) {
        self.files
            .sort_unstable_by(|left, right| walk_order(&left.path, &right.path));
        self.lines = 0;
        for file in &mut self.files {
            if self.lines >= self.shown.needed() {
                file.lines = Vec::new();
            }
            self.lines += file.hit_lines();
        }
    }

    fn answer(mut self, summary: &WalkSummary) -> Answer {
        let Shown {
            mode,
            skip,
            most,
            has_limit,
        } = self.shown;
        self.cut();
        let data: Vec<Value> = self
            .files
            .iter()
            .map(|file| json!({"path": file.path, "matches": file.hits}))
            .collect();
        let hits: usize = self.files.iter().map(|file| file.hits).sum();
        let count = self.files.len();
        let mut lines: Vec<String> = match mode {
            Mode::Content => self.first_lines(),
            Mode::Files => self.files.iter().map(|file| shown(&file.path)).collect(),
            Mode::Count => self
                .files
                .iter()
                .map(|file| format!("{}: {}", shown(&file.path), file.hits))
                .collect(),
        };
        if hits == 0 {
            lines.push("no matches".to_owned());
        }
        let (what, all) = if mode == Mode::Content {
            ("matches", hits)
        } else {
            ("files", count)
        };
        if mode != Mode::Content && has_limit {
            lines = lines.into_iter().skip(skip).take(most).collect();
        }
        if has_limit && all > most.min(all.saturating_sub(skip)) {
            let last = (skip + most).min(all);
            lines.push(format!(
                "[{what} {} to {last} of {all}]",
                (skip + 1).min(all)
            ));
        } else if mode == Mode::Content && hits > MAX_SHOWN {
            lines.push(format!(
                "[the first {MAX_SHOWN} of {hits} matches in {count} files; mode `count` shows \
                 where]"
            ));
        }
        if self.skipped > 0 {
            lines.push(format!(
                "[{} files could not be searched as text]",
                self.skipped
            ));
        }
        lines.extend(summary.note());
        Answer::new(lines.join("\n"), json!({"matches": hits, "files": data}))
    }

    /// Returns the lines from the first hit that is shown to the last one.
    fn first_lines(&mut self) -> Vec<String> {
        let (skip, needed) = (self.shown.skip, self.shown.needed());
        let mut hits = 0;
        let all = self.files.iter_mut().flat_map(|file| file.lines.drain(..));
        let first = all.take_while(|line| {
            let has_room = hits < needed;
            hits += usize::from(line.is_hit);
            has_room
        });
        let mut passed = 0;
        let shown = first.skip_while(|line| {
            passed += usize::from(line.is_hit);
            passed <= skip && skip > 0
        });
        shown.map(|line| line.text).collect()
    }
}

impl FileHits {
    fn hit_lines(&self) -> usize {
        self.lines.iter().filter(|line| line.is_hit).count()
    }
}

/// Collects the matching lines of one file.
struct LineSink {
    shown: Shown,
    file: FileHits,
    /// Whether the file contains a zero byte.
    binary: bool,
}

impl LineSink {
    /// Adds a line; or several, of a match that spans them and counts once.
    fn push(&mut self, mark: char, first: Option<u64>, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let path = shown(&self.file.path);
        for (number, line) in (first.unwrap_or_default()..).zip(text.split('\n')) {
            let line = line.trim_end_matches('\r');
            let begin: String = line.chars().take(MAX_LINE_CHARACTERS).collect();
            let cut = if begin.len() < line.len() { "…" } else { "" };
            let is_hit = mark == HIT && number == first.unwrap_or_default();
            self.file.lines.push(Line {
                text: format!("{path}{mark}{number}{mark}{begin}{cut}"),
                is_hit,
            });
        }
    }

    /// Reports whether a line at this place may be shown.
    fn shows(&self) -> bool {
        self.shown.mode == Mode::Content && self.file.hits < self.shown.needed()
    }
}

impl Sink for LineSink {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, hit: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.shows() {
            self.push(HIT, hit.line_number(), hit.bytes());
        }
        self.file.hits += 1;
        Ok(self.file.hits <= MAX_HITS)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.shows() {
            self.push(NO_HIT, context.line_number(), context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if self.shows() {
            self.file.lines.push(Line {
                text: "--".to_owned(),
                is_hit: false,
            });
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A reader that fails once the search is cancelled or out of time, so that one endless file cannot
/// block it.
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
