//! The attributes of a task: `(key: value)` in its line, `key: value` in a bullet below, `@role`,
//! `[P]`.
//!
//! A parenthesis whose word before the colon is not a key is prose and stays in the title. A word
//! that is nearly a key is an error: if `(depnds: T1)` were treated as prose, the plan would run in
//! the wrong order. For the same reason `(depends on T1)` without a colon counts as a dependency if
//! it names nothing but tasks; it stays in the title.

use std::cell::OnceCell;
use std::ops::Range;

use crate::fields::closing;
use crate::fields::identify;
use crate::fields::identify::Label;
use crate::fields::key::{self, Key, key_of};
use crate::fields::names;
use crate::fields::names::KnownNames;
use crate::fields::programs;
use crate::fields::value;
use crate::fields::value::PathList;
use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::source::Inline;
use crate::lines::text;
use crate::words;
use orchestrate_core::ReviewMode;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

/// The maximum length of a possible key before a colon.
const MAX_KEY_BYTES: usize = 24;

/// The maximum length of a value: enough for any readable command or list, yet small enough for a
/// group to pass to many tasks.
const MAX_VALUE_BYTES: usize = 8 * 1024;

/// The maximum length of text without a colon that may be a list of tasks.
const MAX_LIKELY_BYTES: usize = 200;

/// The maximum number of a task's paths, of its `depends` fields, and of those without a colon.
const MAX_LIST: usize = 200;

/// The colon of Chinese and Japanese.
const WIDE_COLON: char = '：';

/// What stands before the numbers of the acceptance criteria that a task is for: `(AC: 1, 4)`.
const CRITERIA: &[&str] = &["AC", "ACs"];

/// The parentheses of Chinese and Japanese.
const WIDE_OPEN: char = '（';

/// What an attribute begins with.
const STARTS: [char; 5] = ['(', WIDE_OPEN, '@', '[', '{'];

/// Text of the plan with its byte offset in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) text: String,
    pub(crate) offset: usize,
}

impl Located {
    pub(crate) fn new(text: impl Into<String>, offset: usize) -> Self {
        let text = text.into();
        Self { text, offset }
    }
}

/// The attributes of one task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) depends: Vec<Located>,
    /// The text after `depends` in a parenthesis without a colon: dependencies, or prose.
    pub(crate) likely_depends: Vec<Located>,
    pub(crate) files: Vec<Located>,
    pub(crate) agent: Option<Located>,
    pub(crate) model: Option<Located>,
    pub(crate) verify: Option<String>,
    pub(crate) tokens: Option<u64>,
    pub(crate) turns: Option<u32>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) priority: Option<i64>,
    pub(crate) run: Option<String>,
    pub(crate) review: Option<ReviewMode>,
    pub(crate) parallel: bool,
    pub(crate) labels: Vec<String>,
    /// Whether a person does it.
    pub(crate) by_person: bool,
    pub(crate) optional: bool,
    /// The status that a mark in brackets says.
    pub(crate) said: Option<TaskStatus>,
    /// The keys that were set, a bit for each.
    given: u16,
}

/// One `key: value` whose value is not parsed yet.
pub(crate) struct Field<'a> {
    pub(crate) key: Key,
    pub(crate) value: &'a str,
    /// The byte offset of the value in the source.
    pub(crate) offset: usize,
    /// Its paths, if it is a list of such.
    paths: OnceCell<PathList>,
}

impl Attributes {
    /// Parses one field and stores its value, or records an error.
    pub(crate) fn set(&mut self, field: &Field<'_>, findings: &mut Findings) {
        let accumulates = matches!(field.key, Key::Depends | Key::Files);
        if self.is_given(field.key) && !accumulates {
            return field.is_set_twice(findings);
        }
        self.given |= 1 << field.key as u16;
        let lists = self.depends.len().max(self.files.len());
        if field.value.len() > MAX_VALUE_BYTES || lists > MAX_LIST {
            let message = format!(
                "a value has at most {MAX_VALUE_BYTES} bytes, and a task at most {MAX_LIST} of them"
            );
            return findings.error(field.found(FindingCode::InvalidValue, message));
        }
        let text = text::unwrap_marks(field.value);
        match field.key {
            Key::Depends => {
                let list = value::without_quotes(field.value);
                self.depends.push(field.located(list));
            }
            Key::Files => self.add_files(field, findings),
            Key::Agent => self.agent = Some(field.located(text.trim_start_matches('@'))),
            Key::Model => self.model = Some(field.located(text)),
            Key::Verify => self.verify = field.command(text, findings),
            Key::Run => self.run = field.command(text, findings),
            Key::Tokens => self.tokens = field.expect(value::count(text), findings),
            Key::Turns => self.turns = field.expect(turns(text), findings),
            Key::Timeout => self.timeout_ms = field.timeout(text, findings),
            Key::Priority => self.priority = field.expect(value::priority(text), findings),
            Key::Review => self.review = field.expect(value::review(text), findings),
            // It has no effect, and so stays where it is.
            Key::Branch => {}
        }
    }

    fn add_files(&mut self, field: &Field<'_>, findings: &mut Findings) {
        let list = field.paths();
        if list.is_prose() {
            let message = "this is prose, of which only words that look like paths count as files";
            findings.warn(field.found(FindingCode::InvalidValue, message));
        }
        if self.files.len() + list.paths.len() > MAX_LIST {
            let message = format!("a task names at most {MAX_LIST} paths");
            return findings.error(field.found(FindingCode::InvalidValue, message));
        }
        self.files
            .extend(list.paths.iter().map(|path| field.located(path)));
    }

    fn is_given(&self, key: Key) -> bool {
        self.given & (1 << key as u16) != 0
    }

    /// Reports whether the task says what it depends on, be it nothing.
    pub(crate) fn names_dependencies(&self) -> bool {
        self.is_given(Key::Depends) || !self.depends.is_empty() || !self.likely_depends.is_empty()
    }

    /// Adds a group's dependencies and files, and takes its other attributes unless the task sets
    /// its own.
    pub(crate) fn inherit(&mut self, group: &Attributes) {
        self.depends.extend(group.depends.iter().cloned());
        self.likely_depends
            .extend(group.likely_depends.iter().cloned());
        self.files.extend(group.files.iter().cloned());
        fill(&mut self.agent, &group.agent);
        fill(&mut self.model, &group.model);
        fill(&mut self.verify, &group.verify);
        fill(&mut self.tokens, &group.tokens);
        fill(&mut self.turns, &group.turns);
        fill(&mut self.timeout_ms, &group.timeout_ms);
        fill(&mut self.priority, &group.priority);
        fill(&mut self.run, &group.run);
        fill(&mut self.review, &group.review);
    }
}

fn fill<T: Clone>(own: &mut Option<T>, group: &Option<T>) {
    if own.is_none() {
        own.clone_from(group);
    }
}

fn turns(text: &str) -> Option<u32> {
    text.parse().ok().filter(|turns| *turns > 0)
}

impl<'a> Field<'a> {
    pub(crate) fn new(key: Key, value: &'a str, offset: usize) -> Self {
        Self {
            key,
            value,
            offset,
            paths: OnceCell::new(),
        }
    }

    fn paths(&self) -> &PathList {
        self.paths.get_or_init(|| PathList::read(self.value))
    }

    /// Reports whether it says more than the paths in it.
    pub(crate) fn says_more(&self) -> bool {
        self.key == Key::Files && self.paths().says_more()
    }

    fn located(&self, text: impl Into<String>) -> Located {
        Located::new(text, self.offset)
    }

    /// Returns a finding about the value.
    fn found(&self, code: FindingCode, message: impl Into<String>) -> Pending {
        Pending::new(self.offset, code, self.value, message)
    }

    /// Reports that its key has a value already, which counts. It is an error if that leaves open
    /// what runs.
    fn is_set_twice(&self, findings: &mut Findings) {
        let found = self.found(
            FindingCode::DuplicateKey,
            "this key is set twice for one task",
        );
        match self.key {
            Key::Agent | Key::Model | Key::Verify | Key::Run => findings.error(found),
            _ => findings.warn(found.suggest("the first one counts")),
        }
    }

    /// Reports whether the value of `after` may name a task: it is a word, has a number in it, or
    /// is one without a unit. `85 seconds` and `93%` are what is measured afterwards.
    fn names_task(&self) -> bool {
        let value = text::unwrap_marks(self.value);
        let value = value.trim_start_matches(['~', '<', '>', '+', '-', ' ']);
        if !value.starts_with(|c: char| c.is_ascii_digit()) {
            let is_word = !value.contains(char::is_whitespace);
            return is_word || value.contains(|c: char| c.is_ascii_digit());
        }
        let lists = value.split(" and ");
        let mut parts = lists
            .flat_map(|list| list.split([',', ';', '&', '(']))
            .map(str::trim);
        parts.any(|part| !part.is_empty() && part.bytes().all(is_byte_of_numbers))
    }

    /// Warns of a text after a key that names no task; a quantity is none of a task's.
    fn warn_of_text(&self, findings: &mut Findings) {
        if self.value.starts_with(|c: char| c.is_alphabetic()) {
            let message = "this names no task, so it is read as text";
            let found = self.found(FindingCode::UnknownDependency, message);
            findings
                .warn(found.suggest("if it is meant as a dependency, write the id of the task"));
        }
    }

    /// Parses a shell command, and reports one that seems to be cut off at a `)`.
    fn command(&self, text: &str, findings: &mut Findings) -> Option<String> {
        if closing::is_open(text) {
            let message = "a quote or a substitution in this command is not closed";
            let found = self.found(FindingCode::Unclosed, message);
            findings
                .error(found.suggest("write the command between backticks if a `)` belongs to it"));
        }
        if text.is_empty() {
            let message = "expected a shell command";
            findings.error(self.found(FindingCode::InvalidValue, message));
        }
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Parses a time limit, and reports one that is a slip of a unit.
    fn timeout(&self, text: &str, findings: &mut Findings) -> Option<u64> {
        let timeout = self.expect(value::duration_ms(text), findings)?;
        if timeout > value::LONGEST_MS {
            let message = "a timeout is at most a year (8760h)";
            findings.error(self.found(FindingCode::InvalidValue, message));
        }
        Some(timeout)
    }

    /// Returns the value, or warns that it has no effect if there is none.
    fn expect<T>(&self, value: Option<T>, findings: &mut Findings) -> Option<T> {
        if value.is_none() {
            let message = format!("this has no effect: expected {}", self.key.kind());
            findings.warn(self.found(FindingCode::InvalidValue, message));
        }
        value
    }
}

impl Key {
    /// Describes the values that the key may have.
    fn kind(self) -> &'static str {
        match self {
            Self::Tokens => "a number of tokens, such as 50000 or 50k",
            Self::Turns => "a number of turns, at least 1",
            Self::Timeout => "a duration, such as 30s, 5m or 1h",
            Self::Review => value::REVIEWS,
            Self::Model => "provider/model",
            Self::Agent => "a role",
            Self::Priority => "a whole number, high, medium or low",
            _ => "a value",
        }
    }

    /// Reports whether text in parentheses after the key cannot be a value of it, and so is prose
    /// (`(model: User)`). A misspelled model is one nevertheless.
    fn is_prose(self, text: &str) -> bool {
        let text = text::unwrap_marks(text);
        match self {
            Self::Tokens => value::count(text).is_none(),
            Self::Turns => turns(text).is_none(),
            Self::Timeout => value::duration_ms(text).is_none(),
            Self::Priority => value::priority(text).is_none(),
            Self::Review => value::review(text).is_none(),
            Self::Model => {
                !text.contains(|c: char| c.is_ascii_digit() || matches!(c, '/' | ':' | '-'))
            }
            Self::Agent => text.contains(char::is_whitespace),
            Self::Branch => true,
            Self::Depends | Self::Files | Self::Verify | Self::Run => false,
        }
    }
}

/// Everything in a task's line except its title.
#[derive(Default)]
pub(crate) struct Line {
    pub(crate) attributes: Attributes,
    /// `{#id}` or `<!-- id: … -->`, if there is one.
    pub(crate) marked_id: Option<Located>,
    /// The byte ranges of the line that are not part of the title.
    pub(crate) cuts: Vec<Range<usize>>,
}

/// Parses everything in a task's line, from byte `start` on.
pub(crate) fn read_line(
    inline: &Inline<'_>,
    start: usize,
    known: &KnownNames,
    findings: &mut Findings,
) -> Line {
    // Most titles have neither an attribute nor a comment.
    let text = inline.text.tail(start);
    if !text.contains(STARTS) && !text.contains('<') {
        return Line::default();
    }
    let spans = text::spans(&inline.text);
    let opaque = spans.all();
    let reader = LineReader {
        inline,
        known,
        pairs: text::parentheses(&inline.text, &opaque),
        opaque: &opaque,
    };
    let marked_id = spans.comments.iter().find_map(|comment| {
        let id = identify::comment_id(inline.slice(comment.clone()))?;
        Some(Located::new(id, inline.offset(comment.start)))
    });
    let mut line = Line {
        marked_id,
        cuts: spans.comments,
        ..Line::default()
    };
    reader.read(start, &mut line, findings);
    line
}

/// Parses one task's line from left to right.
struct LineReader<'a> {
    inline: &'a Inline<'a>,
    known: &'a KnownNames,
    pairs: Vec<(usize, usize)>,
    /// Code spans and comments: nothing in them is an attribute.
    opaque: &'a [Range<usize>],
}

impl LineReader<'_> {
    fn read(&self, start: usize, line: &mut Line, findings: &mut Findings) {
        let text = self.inline.text.as_ref();
        let mut at = start;
        let mut opaque = self.opaque.iter().peekable();
        while let Some(found) = text.tail(at).find(STARTS) {
            let next = at + found;
            while opaque.next_if(|range| range.end <= next).is_some() {}
            if let Some(range) = opaque.peek().filter(|range| range.contains(&next)) {
                at = range.end;
                continue;
            }
            at = match text.as_bytes().get(next) {
                Some(b'@') => self.role(next, line, findings),
                Some(b'[') => self.label(next, line, findings),
                Some(b'{') => self.marked_id(next, line),
                _ => self.parenthesis(next, line, findings),
            };
        }
    }

    /// Parses `(key: value; key: value)`, and returns the offset to continue from. The first word
    /// decides whether it is prose, which stays in the title.
    fn parenthesis(&self, open: usize, line: &mut Line, findings: &mut Findings) -> usize {
        let inner = open + self.width(open);
        let Some((word, value_at)) = self.key_before_colon(inner) else {
            return self.without_key(open, line);
        };
        let Some(close) = self.closing(open) else {
            if key_of(word).is_some() {
                let message = format!("`({word}:` has no closing parenthesis");
                let offset = self.inline.offset(open);
                findings.error(Pending::new(offset, FindingCode::Unclosed, word, message));
            }
            return inner;
        };
        if key_of(word).is_none() {
            self.unknown_key(inner, word, value_at..close, findings);
        }
        // Only the first characters are looked at, since parentheses may be nested.
        let text = &self.inline.text;
        let short = text.floor_char_boundary(value_at + MAX_LIKELY_BYTES);
        let Some((word, key, value_at)) = self.first_key(inner..short.min(close)) else {
            return inner;
        };
        let end = self.value_end(key, value_at..short.min(close), &mut Findings::default());
        let field = self.field(key, &(value_at..end));
        if !is_attribute_in_line(word, &field, &mut line.attributes, findings) {
            return inner;
        }
        let fields = self.fields(key, value_at..close, findings);
        let after = close + self.width(close);
        if !fields.iter().any(Field::says_more) {
            line.cuts.push(self.with_emphasis(open..after));
        }
        for field in &fields {
            line.attributes.set(field, findings);
        }
        after
    }

    /// Returns the first key of ours in a parenthesis, as written, with the offset of its value.
    /// Those of others before it have no effect, unless they are of a sentence or a URL.
    fn first_key(&self, range: Range<usize>) -> Option<(&str, Key, usize)> {
        let mut at = range.start;
        loop {
            let found = self.key_before_colon(at);
            let (word, value_at) = found.filter(|(_, value_at)| *value_at <= range.end)?;
            let value = self.inline.slice(value_at..range.end);
            if let Some(key) = key_of(word) {
                let name = value.trim().trim_start_matches('@');
                let is_role = key != Key::Agent || names::is_meant(name, self.known);
                return Some((word, key, value_at)).filter(|_| is_role || at == range.start);
            }
            let end = value.find([',', ';', '，', '；', '(', WIDE_OPEN])?;
            let mark = value.tail(end).chars().next()?;
            if value.starts_with("//") || matches!(mark, '(' | WIDE_OPEN) {
                return None;
            }
            at = value_at + end + mark.len_utf8();
        }
    }

    /// Divides the text in a parenthesis, after its first key, into fields.
    fn fields(&self, first: Key, range: Range<usize>, findings: &mut Findings) -> Vec<Field<'_>> {
        let mut fields = Vec::new();
        let mut next = Some((first, range.start));
        while let Some((key, value_at)) = next {
            let end = self.value_end(key, value_at..range.end, findings);
            fields.push(self.field(key, &(value_at..end)));
            let separator = self.inline.slice(end..range.end).chars().next();
            let found = separator.and_then(|it| self.first_key(end + it.len_utf8()..range.end));
            next = found.map(|(_, key, value_at)| (key, value_at));
        }
        fields
    }

    fn field(&self, key: Key, value: &Range<usize>) -> Field<'_> {
        let written = self.inline.slice(value.clone()).trim_start();
        let offset = self.inline.offset(value.end - written.len());
        Field::new(key, written.trim_end(), offset)
    }

    /// Returns the range of a parenthesis with the marks of emphasis around it.
    fn with_emphasis(&self, parenthesis: Range<usize>) -> Range<usize> {
        let Range { mut start, mut end } = parenthesis;
        let bytes = self.inline.text.as_bytes();
        while let Some(mark @ (b'_' | b'*')) = start.checked_sub(1).and_then(|at| bytes.get(at))
            && bytes.get(end) == Some(mark)
        {
            (start, end) = (start - 1, end + 1);
        }
        start..end
    }

    /// Returns the number of bytes of a parenthesis.
    fn width(&self, at: usize) -> usize {
        let own = self.inline.text.tail(at).chars().next();
        own.map_or(1, char::len_utf8)
    }

    /// Returns the offset of the parenthesis that closes another.
    fn closing(&self, open: usize) -> Option<usize> {
        let at = self
            .pairs
            .binary_search_by_key(&open, |(start, _)| *start)
            .ok()?;
        self.pairs.get(at).map(|(_, end)| *end)
    }

    /// Parses `(P)`, `(optional)`, and `(depends on T1)`, of which it is known only after all tasks
    /// are parsed whether it names some. Returns the offset to continue from.
    fn without_key(&self, open: usize, line: &mut Line) -> usize {
        let start = open + self.width(open);
        let Some(close) = self.closing(open) else {
            return start;
        };
        let inner = self.inline.slice(start..close);
        let own = &mut line.attributes;
        let is_optional = inner.eq_ignore_ascii_case("optional");
        if is_optional || inner == "P" {
            own.optional |= is_optional;
            own.parallel |= !is_optional;
            line.cuts.push(open..close + self.width(close));
            return close + self.width(close);
        }
        let head = inner.head(inner.floor_char_boundary(MAX_KEY_BYTES));
        let ends = head.match_indices(' ').map(|(at, _)| at).take(2);
        let ends = ends.filter(|end| key_of(inner.head(*end)) == Some(Key::Depends));
        let value = ends.last().map_or("", |end| inner.tail(end)).trim_start();
        let is_list = !value.is_empty() && value.len() <= MAX_LIKELY_BYTES && !value.contains('(');
        if is_list && own.likely_depends.len() < MAX_LIST {
            let offset = self.inline.offset(close - value.len());
            own.likely_depends
                .push(Located::new(value.trim_end(), offset));
        }
        start
    }

    /// Returns the end of the value of a key: the first semicolon that another field follows, or
    /// such a comma outside quotes, else the end of the range.
    ///
    /// A command after a comma is no field, since it would replace the agent.
    fn value_end(&self, key: Key, range: Range<usize>, findings: &mut Findings) -> usize {
        let is_command = matches!(key, Key::Run | Key::Verify);
        let mut is_quoted = false;
        for (at, c) in self.inline.slice(range.clone()).char_indices() {
            match c {
                '"' | '`' => is_quoted = !is_quoted,
                '\'' if is_command => is_quoted = !is_quoted,
                _ => {}
            }
            let is_strong = matches!(c, ';' | '；');
            if !is_strong && (is_quoted || !matches!(c, ',' | '，')) {
                continue;
            }
            let next = range.start + at + c.len_utf8();
            let found = self.key_before_colon(next);
            let found = found.filter(|(_, value_at)| *value_at <= range.end);
            let Some((word, value_at)) = found else {
                continue;
            };
            let ends = match key_of(word) {
                Some(next) => is_strong || next != Key::Run,
                None => !is_command && self.is_likely_key(word, value_at),
            };
            if ends {
                if key_of(word).is_none() {
                    self.unknown_key(next, word, value_at..range.end, findings);
                }
                return range.start + at;
            }
        }
        range.end
    }

    /// Refuses a word that is most likely a typo of a key that changes what runs, or in which
    /// order, and warns of another one. Several words, a URL and a value of a program are prose.
    fn unknown_key(&self, at: usize, word: &str, value: Range<usize>, findings: &mut Findings) {
        let written = self.inline.slice(value.clone());
        let is_prose = word.contains(' ') || written.starts_with("//") || written.trim().is_empty();
        if is_prose || CRITERIA.contains(&word) {
            return;
        }
        let blanks = self.inline.text.tail(at);
        let at = at + blanks.len() - blanks.trim_start().len();
        let found = unknown_key(self.inline.offset(at), word);
        if let Some(near) = key::grave_slip(word) {
            findings.error(found.suggest(format!("did you mean `{near}`?")));
        } else if self.is_likely_key(word, value.start) && !is_of_program(word, written) {
            findings.warn(found.suggest("it has no effect"));
        }
    }

    /// Reports whether a word before a colon that is no key of ours is one all the same: a single
    /// word with a blank after the colon, unlike a path with a line number or a URL.
    fn is_likely_key(&self, word: &str, value_at: usize) -> bool {
        let (before, after) = self.inline.text.split_at(value_at);
        let is_apart = before.ends_with(WIDE_COLON) || after.starts_with(char::is_whitespace);
        is_apart && !word.contains(' ')
    }

    /// Returns the word between `start` and a colon, and the offset of the value after it.
    fn key_before_colon(&self, start: usize) -> Option<(&str, usize)> {
        let (word, rest) = key_and_colon(self.inline.text.tail(start))?;
        Some((word.trim(), self.inline.text.len() - rest.len()))
    }

    /// Parses `@role` at the end of the title or before parentheses, or alone in one; an address, a
    /// path, a person or another word of the title is none, nor is one of a remark in parentheses.
    fn role(&self, at: usize, line: &mut Line, findings: &mut Findings) -> usize {
        let (before, rest) = (self.inline.text.head(at), self.inline.text.tail(at + 1));
        let (name, rest) = rest.split_at(text::position(rest, |c| !is_name(c)));
        let end = at + 1 + name.len();
        let begins = before.is_empty() || before.ends_with(|c: char| c.is_whitespace() || c == '(');
        // A decorator of a program (`@app(…)`), say.
        let goes_on = rest.starts_with(['(', WIDE_OPEN, '[', '{', '@', '<']);
        let next = rest.trim_start_matches([' ', '\t', '.', ',', ';', '!', '?']);
        let ends_title =
            next.is_empty() || next.starts_with(['\n', '(', WIDE_OPEN, '[', '{', '@', ')', '<']);
        let around = self.parenthesis_around(at);
        let is_remark = around.as_ref().is_some_and(|range| {
            let inner = self.inline.slice(range.clone());
            inner.trim_matches([' ', '.', ',', ';', '!', '?', '(', ')'])
                != self.inline.slice(at..end)
        });
        if name.is_empty() || !begins || goes_on || !ends_title || is_remark {
            return at + 1;
        }
        let offset = self.inline.offset(at);
        if !self.known.roles.contains(name) && words::sure_status(name).is_some() {
            return end;
        }
        if let Some(warning) = names::mention(name, offset, self.known) {
            findings.warn(warning);
            return end;
        }
        // What separates a role from the title goes with it.
        let cut = around.unwrap_or(at..end + text::length_of_ending(rest));
        let title = self.inline.text.head(cut.start);
        let title = title.trim_end_matches([' ', ',', ';', ':']);
        line.cuts.push(title.len()..cut.end);
        line.attributes
            .set(&Field::new(Key::Agent, name, offset), findings);
        end
    }

    /// Returns the range of the parenthesis that an offset is in.
    fn parenthesis_around(&self, at: usize) -> Option<Range<usize>> {
        let next = self.pairs.partition_point(|(open, _)| *open < at);
        let (open, close) = *self.pairs.get(next.checked_sub(1)?)?;
        (at < close).then(|| open..close + self.width(close))
    }

    /// Parses a mark such as `[P]` or `[US1]`, and warns of an attribute in brackets.
    fn label(&self, at: usize, line: &mut Line, findings: &mut Findings) -> usize {
        let word = self.key_before_colon(at + 1).map_or("", |(word, _)| word);
        if key_of(word).is_some() {
            let message = "attributes need parentheses, so this stays in the title";
            let offset = self.inline.offset(at + 1);
            findings.warn(Pending::new(offset, FindingCode::UnknownKey, word, message));
        }
        let Some((inner, end)) = self.until(']', at + 1) else {
            return at + 1;
        };
        let own = &mut line.attributes;
        match identify::label(inner) {
            Some(Label::Parallel) => own.parallel = true,
            Some(Label::Story(story)) => own.labels.push(story.to_owned()),
            Some(Label::Human) => own.by_person = true,
            Some(Label::Blocked) => own.said = Some(TaskStatus::Blocked),
            Some(Label::InProgress) => own.said = Some(TaskStatus::InProgress),
            Some(Label::Optional) => own.optional = true,
            Some(Label::Other) | None => return at + 1,
        }
        line.cuts.push(at..end);
        end
    }

    /// Parses `{#id}`.
    fn marked_id(&self, at: usize, line: &mut Line) -> usize {
        let found = self.until('}', at + 1).filter(|_| line.marked_id.is_none());
        let Some((inner, end)) = found else {
            return at + 1;
        };
        let Some(id) = inner
            .strip_prefix('#')
            .filter(|id| !id.contains([' ', '\n']))
        else {
            return at + 1;
        };
        line.marked_id = Some(Located::new(id, self.inline.offset(at + 2)));
        line.cuts.push(at..end);
        end
    }

    /// Returns the short text from an offset up to a mark, and the offset after that.
    fn until(&self, mark: char, start: usize) -> Option<(&str, usize)> {
        let rest = self.inline.text.tail(start);
        let short = rest.head(rest.floor_char_boundary(MAX_LIKELY_BYTES));
        let (inner, _) = short.split_once(mark)?;
        Some((inner, start + inner.len() + mark.len_utf8()))
    }
}

/// Reports whether a field in parentheses is an attribute, rather than prose in the title. A word
/// of prose without an id may name tasks by their titles, which is known later.
fn is_attribute_in_line(
    word: &str,
    field: &Field<'_>,
    own: &mut Attributes,
    findings: &mut Findings,
) -> bool {
    let key = field.key;
    if key == Key::Depends && key::is_word_of_prose(word) && !begins_with_id(field.value) {
        if own.likely_depends.len() < MAX_LIST {
            own.likely_depends.push(field.located(field.value));
        }
        return false;
    }
    let is_prose = key.is_prose(field.value);
    if is_prose && key != Key::Branch {
        let message = format!(
            "this stays in the title: `{word}` is {} elsewhere",
            key.kind()
        );
        findings.warn(field.found(FindingCode::InvalidValue, message));
    }
    !is_prose
}

/// Reports whether a value, or the word before it, is of a program: a literal or a name in camel
/// case.
fn is_of_program(word: &str, value: &str) -> bool {
    let names = value.split(|c: char| !c.is_ascii_alphanumeric());
    let mut names = names.chain([word]).filter(|name| name.is_ascii());
    value.trim_start().starts_with(['\'', '"', '{', '['])
        || names.any(|name| {
            let inner = name.trim_start_matches(|c: char| c.is_ascii_uppercase());
            name.len() == inner.len() && inner.contains(|c: char| c.is_ascii_uppercase())
        })
}

fn unknown_key(offset: usize, word: &str) -> Pending {
    let message = format!("unknown key `{word}`");
    Pending::new(offset, FindingCode::UnknownKey, word, message)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

fn is_byte_of_numbers(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b'-')
}

/// Reports whether a value begins with an id, after a word such as `Task`.
fn begins_with_id(value: &str) -> bool {
    let bare = identify::without_word(value).unwrap_or(value);
    let found = identify::leading(bare);
    found.is_some_and(|found| !found.bare_number || found.rest == bare.len())
}

/// Where a line below a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// It is an item of a list below a task's item.
    Bullet,
    /// It is a line of a paragraph below a task's item.
    Paragraph,
    /// It is an item of a list below a task's heading.
    Point,
    /// It is a line of a paragraph below a task's heading.
    Line,
}

/// Parses a line below a task as an attribute; `None` for prose. A key that is nearly one that
/// changes the order or the check is an error, and text where a command may stand is said.
pub(crate) fn read_detail<'i>(
    inline: &'i Inline<'_>,
    form: Form,
    findings: &mut Findings,
) -> Option<Field<'i>> {
    let (word, value_at) = detail_key(&inline.text)?;
    let Some(key) = key_of(word) else {
        if let Some(known) = key::grave_slip_in_line(word) {
            let found = unknown_key(inline.offset(0), word);
            findings.error(found.suggest(format!("did you mean `{known}`?")));
        }
        return None;
    };
    let raw = inline.text.get(value_at..)?;
    let value = raw.trim_start_matches(['*', '_']).trim_start();
    let offset = inline.offset(value_at + raw.len() - value.len());
    let value = value
        .strip_suffix('_')
        .filter(|_| inline.text.starts_with('_'))
        .unwrap_or(value);
    // A sentence may end with code.
    let value = value.trim();
    let code = value.strip_suffix('.').filter(|value| is_code(value));
    let field = Field::new(key, code.unwrap_or(value), offset);
    if key == Key::Depends && word.trim().eq_ignore_ascii_case("after") && !field.names_task() {
        field.warn_of_text(findings);
        return None;
    }
    is_attribute(&field, inline, form, findings).then_some(field)
}

/// Reports whether a line below a task is an attribute rather than prose that begins like one.
fn is_attribute(field: &Field<'_>, line: &Inline<'_>, form: Form, findings: &mut Findings) -> bool {
    let value = text::unwrap_marks(field.value);
    let is_word = !value.contains(char::is_whitespace);
    match field.key {
        Key::Depends | Key::Files => true,
        _ if value.is_empty() => false,
        Key::Verify | Key::Run => {
            let may_be_command = command_key(&line.text, form).is_some();
            let is_command = is_code(field.value) || programs::is_command(value);
            if may_be_command && !is_command {
                let message = "this is read as text, not as a command";
                let found = field.found(FindingCode::InvalidValue, message);
                findings.warn(found.suggest("write it in backticks"));
            }
            may_be_command && is_command
        }
        Key::Agent => is_word,
        Key::Model => is_word && is_model(value),
        // They may be what the task is about.
        Key::Tokens | Key::Turns | Key::Timeout => {
            form == Form::Line && is_emphasised(&line.text) && !field.key.is_prose(value)
        }
        Key::Priority | Key::Review => !field.key.is_prose(value),
        // Each task has a branch named after its run and id.
        Key::Branch => false,
    }
}

fn is_emphasised(line: &str) -> bool {
    line.starts_with(['*', '_'])
}

/// Reports whether a text is code as a whole.
fn is_code(text: &str) -> bool {
    text.starts_with('`') && text::unwrap_marks(text) != text
}

fn is_model(word: &str) -> bool {
    let is_own = word.starts_with("script:") || word.starts_with("replay:");
    is_own || (word.contains('/') && !word.starts_with('/') && !word.ends_with('/'))
}

/// Returns the key of a line below a task if a command may follow it. `Run: …` is mostly an
/// instruction for an agent.
pub(crate) fn command_key(line: &str, form: Form) -> Option<Key> {
    let (word, _) = detail_key(line)?;
    let key = key_of(word).filter(|key| matches!(key, Key::Verify | Key::Run))?;
    let may_be_command = match form {
        Form::Bullet => true,
        Form::Paragraph | Form::Point => {
            key == Key::Verify || word.starts_with(|c: char| c.is_ascii_lowercase())
        }
        Form::Line => false,
    };
    (may_be_command || is_emphasised(line)).then_some(key)
}

/// Returns the word before the colon of `key: value`, `**Key**: value` or `_Key: value_`, and the
/// offset of the value.
pub(crate) fn detail_key(text: &str) -> Option<(&str, usize)> {
    let body = text.trim_start_matches(['*', '_']);
    let (word, rest) = key_and_colon(body)?;
    Some((word, text.len() - rest.len()))
}

/// Splits a text after the word that it begins with, any marks of emphasis, and a colon.
fn key_and_colon(text: &str) -> Option<(&str, &str)> {
    let length = text
        .bytes()
        .take(MAX_KEY_BYTES + 1)
        .take_while(is_key_byte)
        .count();
    let word = text.head(length).trim_end_matches('_');
    let rest = text.tail(word.len()).trim_start_matches(['*', '_']);
    let rest = rest.strip_prefix([':', WIDE_COLON])?;
    (!word.trim().is_empty()).then_some((word, rest))
}

fn is_key_byte(byte: &u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::source::Source;

    /// Returns the value of a line below a task if it is an attribute, and the number of findings.
    fn detail(line: &str, form: Form) -> (Option<String>, usize) {
        let source = Source::new(line);
        let inline = Inline::new(&source, 0..line.len());
        let mut findings = Findings::default();
        let field = read_detail(&inline, form, &mut findings);
        let value = field.map(|field| text::unwrap_marks(field.value).to_owned());
        (value, findings.errors.len() + findings.warnings.len())
    }

    #[test]
    fn commands_are_code_or_begin_with_a_program() {
        let table = [
            ("Verify: `npm test`", Some("npm test"), 0),
            ("**Verify**: `npm test`.", Some("npm test"), 0),
            ("Run: `npm run build`", Some("npm run build"), 0),
            ("Verify: cargo test", Some("cargo test"), 0),
            ("**Verify**: make sure the tests pass", None, 1),
            ("Verify: the page shows the posts", None, 1),
            ("Verify: `ls` shows nothing", None, 1),
            ("Run: npm test and look at the output", None, 1),
            ("Verification: run the app", None, 0),
        ];
        for (line, value, findings) in table {
            let expected = (value.map(str::to_owned), findings);
            assert_eq!(detail(line, Form::Bullet), expected, "{line}");
        }
        // An instruction for the agent of a task that more is said about.
        for form in [Form::Paragraph, Form::Point, Form::Line] {
            assert_eq!(detail("Run: `npm test`", form), (None, 0), "{form:?}");
        }
    }

    #[test]
    fn what_a_task_may_be_about_is_text() {
        let table = [
            ("timeout: 30s", None, 0),
            ("tokens: 4096", None, 0),
            ("turns: 3", None, 0),
            ("model: gpt-4o", None, 0),
            ("Model: Post belongs to User", None, 0),
            ("Model: src/", None, 0),
            ("model: openai/gpt-5", Some("openai/gpt-5"), 0),
            ("model: replay:1", Some("replay:1"), 0),
            ("Agent: backend developer", None, 0),
            ("priority: high", Some("high"), 0),
            ("Priority: requests of the user first", None, 0),
            ("branch: main", None, 0),
            ("Branch: where the paths part", None, 0),
            ("Needs: T1", Some("T1"), 0),
            ("depnds: T1", None, 1),
            ("After: T1", Some("T1"), 0),
            ("**After**: 3, 4", Some("3, 4"), 0),
            ("After: Task 3 (the parser)", Some("Task 3 (the parser)"), 0),
            ("After: Phase 2", Some("Phase 2"), 0),
            ("After: setup-db", Some("setup-db"), 0),
            ("After: none", Some("none"), 0),
            ("**After**: 85 seconds", None, 0),
            ("After: 1.5 seconds", None, 0),
            ("After: 93%", None, 0),
            ("After: the page is fast", None, 1),
        ];
        for (line, value, findings) in table {
            let expected = (value.map(str::to_owned), findings);
            assert_eq!(detail(line, Form::Bullet), expected, "{line}");
        }
        let limit = Some("30s".to_owned());
        assert_eq!(detail("**Timeout:** 30s", Form::Line), (limit, 0));
        assert_eq!(detail("Timeout: 30s", Form::Line), (None, 0));
        assert_eq!(detail("**Timeout:** 30 s each", Form::Line), (None, 0));
    }
}
