//! The attributes of a task: `(key: value)` in its line, `key: value` in a bullet below, `@role`,
//! `[P]`.
//!
//! A parenthesis whose word before the colon is not a key is prose and stays in the title. A word
//! that is nearly a key is an error: if `(depnds: T1)` were treated as prose, the plan would run in
//! the wrong order. For the same reason `(depends on T1)` without a colon counts as a dependency if
//! it names nothing but tasks; it stays in the title.

use std::ops::Range;

use crate::check::finding::{FindingCode, Findings, Pending};
use crate::fields::closing::Closing;
use crate::fields::identify;
use crate::fields::identify::Label;
use crate::fields::key::{self, Key, key_of};
use crate::fields::names;
use crate::fields::names::KnownNames;
use crate::fields::value;
use crate::read::lines::source::Inline;
use crate::read::lines::text;
use memchr::memchr;
use orchestrate_core::ReviewMode;
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

/// What becomes of an unknown key.
const IN_TITLE: &str = "it is read as part of the title";
const NO_EFFECT: &str = "it has no effect";

/// The parentheses of Chinese and Japanese, and the first byte of them and of other wide
/// characters.
const WIDE_OPEN: char = '（';
const WIDE_CLOSE: char = '）';
const WIDE_BYTE: u8 = 0xef;

/// Text of the plan with its byte offset in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) text: String,
    pub(crate) offset: usize,
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
    /// The keys that were set, a bit for each.
    given: u16,
}

/// One `key: value` whose value is not parsed yet.
pub(crate) struct Field<'a> {
    pub(crate) key: Key,
    pub(crate) value: &'a str,
    /// The byte offset of the value in the source.
    pub(crate) offset: usize,
}

impl Attributes {
    /// Parses one field and stores its value, or records an error.
    pub(crate) fn set(&mut self, field: &Field<'_>, findings: &mut Findings) {
        let accumulates = matches!(field.key, Key::Depends | Key::Files);
        if self.is_given(field.key) && !accumulates {
            let message = "this key is set twice for one task";
            let found = Pending::new(
                field.offset,
                FindingCode::DuplicateKey,
                field.value,
                message,
            );
            let is_ambiguous =
                matches!(field.key, Key::Agent | Key::Model | Key::Verify | Key::Run);
            return match is_ambiguous {
                true => findings.error(found),
                false => findings.warn(found.suggest(Some("the first one counts".to_owned()))),
            };
        }
        self.given |= 1 << field.key as u16;
        if field.value.len() > MAX_VALUE_BYTES
            || self.depends.len().max(self.files.len()) > MAX_LIST
        {
            let message = format!(
                "a value has at most {MAX_VALUE_BYTES} bytes, and a task at most {MAX_LIST} of them"
            );
            return findings.error(Pending::new(
                field.offset,
                FindingCode::InvalidValue,
                field.value,
                message,
            ));
        }
        let text = text::unwrap_marks(field.value);
        let located = |text: &str| Located {
            text: text.to_owned(),
            offset: field.offset,
        };
        match field.key {
            Key::Depends => self
                .depends
                .push(located(&value::without_quotes(field.value))),
            Key::Files => {
                let is_prose = value::is_prose(field.value);
                let paths = value::paths(field.value, is_prose);
                if is_prose {
                    let message =
                        "this is prose, of which only words that look like paths count as files";
                    findings.warn(Pending::new(
                        field.offset,
                        FindingCode::InvalidValue,
                        field.value,
                        message,
                    ));
                }
                if self.files.len() + paths.len() > MAX_LIST {
                    let message = format!("a task names at most {MAX_LIST} paths");
                    return findings.error(Pending::new(
                        field.offset,
                        FindingCode::InvalidValue,
                        field.value,
                        message,
                    ));
                }
                self.files.extend(paths.into_iter().map(|text| Located {
                    text,
                    offset: field.offset,
                }));
            }
            Key::Agent => self.agent = Some(located(text.trim_start_matches('@'))),
            Key::Model => self.model = Some(located(text)),
            Key::Verify => self.verify = field.command(text, findings),
            Key::Run => self.run = field.command(text, findings),
            Key::Tokens => {
                self.tokens = field.expect(value::count(text), findings);
            }
            Key::Turns => self.turns = field.expect(turns(text), findings),
            Key::Timeout => self.timeout_ms = field.timeout(text, findings),
            Key::Priority => {
                self.priority = value::priority(text);
                if self.priority.is_none() {
                    let message =
                        "this priority has no effect: expected a whole number, high, medium or low";
                    findings.warn(Pending::new(
                        field.offset,
                        FindingCode::InvalidValue,
                        field.value,
                        message,
                    ));
                }
            }
            Key::Review => self.review = field.expect(value::review(text), findings),
            Key::Branch => {
                let message =
                    "`branch` has no effect: each task has a branch named after its run and id";
                findings.warn(Pending::new(
                    field.offset,
                    FindingCode::UnusedKey,
                    field.value,
                    message,
                ));
            }
        }
    }

    fn is_given(&self, key: Key) -> bool {
        self.given & (1 << key as u16) != 0
    }

    /// Returns the usual spelling of each key that was set.
    pub(crate) fn given_keys(&self) -> impl Iterator<Item = &'static str> {
        key::usual_spellings()
            .filter(|(_, key)| self.is_given(*key))
            .map(|(spelling, _)| spelling)
    }

    /// Reports whether the task says what it depends on, be it nothing.
    pub(crate) fn names_dependencies(&self) -> bool {
        self.is_given(Key::Depends) || !self.depends.is_empty() || !self.likely_depends.is_empty()
    }

    /// Reports whether these are attributes that only tasks have, rather than their steps.
    pub(crate) fn makes_task(&self) -> bool {
        self.given != 0 || self.parallel || !self.labels.is_empty()
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

impl Field<'_> {
    /// Parses a shell command, and reports one that seems to be cut off at a `)`.
    fn command(&self, text: &str, findings: &mut Findings) -> Option<String> {
        let found = |message| {
            let advice = "write the command between backticks if a `)` belongs to it";
            Pending::new(self.offset, FindingCode::Unclosed, self.value, message)
                .suggest(Some(advice.to_owned()))
        };
        match Closing::check(text) {
            Closing::Closed => {}
            Closing::DoubtfulQuote => {
                findings.warn(found("a quote in this command seems unclosed"))
            }
            Closing::OpenQuote => findings.error(found("a quote in this command is not closed")),
            Closing::OpenCase => findings.error(found("a `case` in this command has no `esac`")),
            Closing::OpenSubstitution => {
                findings.error(found("a `$(` or `${` in this command is not closed"))
            }
        }
        if text.is_empty() {
            let message = "expected a shell command";
            findings.error(Pending::new(
                self.offset,
                FindingCode::InvalidValue,
                self.value,
                message,
            ));
        }
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Parses a time limit, and reports one that is a slip of a unit.
    fn timeout(&self, text: &str, findings: &mut Findings) -> Option<u64> {
        let timeout = self.expect(value::duration_ms(text), findings)?;
        if timeout > value::LONGEST_MS {
            let message = "a timeout is at most a year (8760h)";
            findings.error(Pending::new(
                self.offset,
                FindingCode::InvalidValue,
                self.value,
                message,
            ));
        }
        Some(timeout)
    }

    /// Returns the value, or warns that it has no effect if there is none.
    fn expect<T>(&self, value: Option<T>, findings: &mut Findings) -> Option<T> {
        if value.is_none() {
            let message = format!("this has no effect: expected {}", self.key.kind());
            findings.warn(Pending::new(
                self.offset,
                FindingCode::InvalidValue,
                self.value,
                message,
            ));
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
            Self::Review => value::review(text).is_none(),
            Self::Model => {
                !text.contains(|c: char| c.is_ascii_digit() || matches!(c, '/' | ':' | '-'))
            }
            _ => false,
        }
    }
}

/// Everything in a task's line except its title.
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
    if is_plain(inline.text.tail(start)) {
        return Line {
            attributes: Attributes::default(),
            marked_id: None,
            cuts: Vec::new(),
        };
    }
    let spans = text::spans(&inline.text);
    let mut opaque: Vec<Range<usize>> = spans.code.iter().chain(&spans.comments).cloned().collect();
    opaque.sort_by_key(|range| range.start);
    let mut pairs = text::parentheses(&inline.text, &opaque);
    if inline.text.contains(WIDE_OPEN) {
        pairs.extend(text::wide_parentheses(&inline.text, &opaque));
        pairs.sort_unstable();
    }
    let reader = LineReader {
        inline,
        known,
        pairs,
        opaque: &opaque,
    };
    let marked_id = spans.comments.iter().find_map(|comment| {
        let id = identify::comment_id(inline.slice(comment.clone()))?;
        Some(Located {
            text: id.to_owned(),
            offset: inline.offset(comment.start),
        })
    });
    let mut line = Line {
        attributes: Attributes::default(),
        marked_id,
        cuts: spans.comments,
    };
    reader.read(start, &mut line, findings);
    line
}

/// Reports whether a text has nothing that begins an attribute or a comment.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| {
        (byte != b'(') & (byte != b'@') & (byte != b'[') & (byte != b'{') & (byte != b'<')
    };
    text::all_bytes(text, |byte| is_plain(byte) & (byte != WIDE_BYTE))
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
        while let Some(next) = text
            .get(at..)
            .and_then(|rest| rest.bytes().position(begins_part))
            .map(|found| at + found)
        {
            while opaque.next_if(|range| range.end <= next).is_some() {}
            if let Some(range) = opaque.peek().filter(|range| range.contains(&next)) {
                at = range.end;
                continue;
            }
            at = match text.as_bytes().get(next) {
                Some(b'(') => self.parenthesis(next, line, findings),
                Some(b'@') => self.role(next, line, findings),
                Some(b'[') => self.label(next, line, findings),
                Some(b'{') => self.marked_id(next, line, findings),
                _ if text
                    .get(next..)
                    .is_some_and(|rest| rest.starts_with(WIDE_OPEN)) =>
                {
                    self.parenthesis(next, line, findings)
                }
                _ => next + WIDE_OPEN.len_utf8(),
            };
        }
    }

    /// Parses `(key: value; key: value)` and `(P)`, and returns the offset to continue from.
    fn parenthesis(&self, open: usize, line: &mut Line, findings: &mut Findings) -> usize {
        if self.inline.slice(open..open + 3) == "(P)" {
            line.attributes.parallel = true;
            line.cuts.push(open..open + 3);
            return open + 3;
        }
        let inner = open + self.width(open);
        let Some((word, value_at)) = self.key_before_colon(inner) else {
            let likely = &mut line.attributes.likely_depends;
            let has_room = likely.len() < MAX_LIST;
            likely.extend(self.without_colon(open).filter(|_| has_room));
            return inner;
        };
        let key = key_of(word);
        let Some(close) = self.closing(open) else {
            if key.is_some() {
                let message = format!("`({word}:` has no closing parenthesis");
                findings.error(Pending::new(
                    self.inline.offset(open),
                    FindingCode::Unclosed,
                    word,
                    message,
                ));
            }
            return inner;
        };
        let Some(key) = key else {
            let leads_to_field = self.leads_to_field(value_at..close);
            let advice = if leads_to_field { NO_EFFECT } else { IN_TITLE };
            unknown_key(
                word,
                self.inline.slice(value_at..close),
                self.inline.offset(inner),
                advice,
                findings,
            );
            if !leads_to_field {
                return inner;
            }
            let end = close + self.width(close);
            line.cuts.push(self.with_emphasis(open..end));
            self.fields(None, value_at..close, line, findings);
            return end;
        };
        // A number or a name is short, and only the first characters are looked at, since
        // parentheses may be nested.
        let short = self
            .inline
            .text
            .floor_char_boundary(value_at + MAX_LIKELY_BYTES)
            .min(close);
        let value = self
            .inline
            .slice(value_at..self.value_end(Some(key), value_at..short).0);
        if key.is_prose(value) {
            let message = format!(
                "this stays in the title: `{word}` is {} elsewhere",
                key.kind()
            );
            findings.warn(Pending::new(
                self.inline.offset(inner),
                FindingCode::InvalidValue,
                value,
                message,
            ));
            return inner;
        }
        let end = close + self.width(close);
        let paths = || {
            self.inline
                .slice(value_at..self.value_end(Some(key), value_at..close).0)
        };
        let is_prose = key == Key::Files && value::is_prose(paths());
        if !is_prose {
            line.cuts.push(self.with_emphasis(open..end));
        }
        self.fields(Some(key), value_at..close, line, findings);
        end
    }

    /// Returns the range of a parenthesis with the marks of emphasis around it.
    fn with_emphasis(&self, parenthesis: Range<usize>) -> Range<usize> {
        let Range { mut start, mut end } = parenthesis;
        let byte = |at: usize| self.inline.text.as_bytes().get(at).copied();
        while let Some(mark) = start
            .checked_sub(1)
            .and_then(byte)
            .filter(|mark| matches!(mark, b'_' | b'*'))
            && byte(end) == Some(mark)
        {
            (start, end) = (start - 1, end + 1);
        }
        start..end
    }

    /// Returns the number of bytes of a parenthesis.
    fn width(&self, at: usize) -> usize {
        if self.inline.text.as_bytes().get(at) == Some(&WIDE_BYTE) {
            WIDE_OPEN.len_utf8()
        } else {
            1
        }
    }

    /// Returns the offset of the parenthesis that closes another.
    fn closing(&self, open: usize) -> Option<usize> {
        let at = self
            .pairs
            .binary_search_by_key(&open, |(start, _)| *start)
            .ok()?;
        self.pairs.get(at).map(|(_, end)| *end)
    }

    /// Returns the text after the key in `(depends on T1)`; whether it names tasks is known only
    /// after all are parsed.
    fn without_colon(&self, open: usize) -> Option<Located> {
        let start = open + self.width(open);
        let inner = self.inline.slice(start..self.closing(open)?);
        let blanks = inner
            .bytes()
            .take(MAX_KEY_BYTES)
            .enumerate()
            .filter(|(_, byte)| *byte == b' ')
            .take(2);
        let names_key = |at: &usize| inner.get(..*at).and_then(key_of) == Some(Key::Depends);
        let value_at = blanks.map(|(at, _)| at).filter(names_key).last()?;
        let value = inner.get(value_at..)?.trim_start();
        let offset = self.inline.offset(start + inner.len() - value.len());
        let is_list = value.len() <= MAX_LIKELY_BYTES && !value.contains('(');
        is_list.then(|| Located {
            text: value.trim_end().to_owned(),
            offset,
        })
    }

    /// Reports whether a field follows the value of an unknown key, rather than more prose. As only
    /// the first characters are looked at, it takes constant time.
    fn leads_to_field(&self, range: Range<usize>) -> bool {
        let short = self
            .inline
            .text
            .floor_char_boundary(range.start + MAX_LIKELY_BYTES)
            .min(range.end);
        let is_prose = |text: &str| text.starts_with("//") || text.contains(['(', WIDE_OPEN]);
        if is_prose(self.inline.slice(range.start..short)) {
            return false;
        }
        let mut start = range.start;
        while let (_, Some(next)) = self.value_end(None, start..short) {
            let Some((word, value_at)) = self.key_before_colon(next) else {
                return false;
            };
            if let Some(key) = key_of(word) {
                let value = self
                    .inline
                    .slice(value_at..self.value_end(Some(key), value_at..short).0)
                    .trim();
                let is_meant =
                    key != Key::Agent || names::is_meant(value.trim_start_matches('@'), self.known);
                return is_meant
                    && !key.is_prose(value)
                    && !(key == Key::Files && value::is_prose(value));
            }
            start = value_at;
        }
        false
    }

    /// Returns the end of the value of a key, be it an unknown one: the first semicolon that
    /// another field follows, or such a comma outside quotes, else the end of the range. Returns
    /// the offset after that separator, too.
    ///
    /// A command after a comma is no field, since it would replace the agent. An unknown key ends
    /// no command.
    fn value_end(&self, key: Option<Key>, range: Range<usize>) -> (usize, Option<usize>) {
        let is_command = matches!(key, Some(Key::Run | Key::Verify));
        let mut depth = 0usize;
        let mut is_quoted = false;
        let begins_field = |at: usize, depth: usize, may_run: bool| {
            let found = self
                .key_before_colon(at)
                .filter(|(_, value_at)| *value_at <= range.end);
            found.is_some_and(|(word, value_at)| match key_of(word) {
                Some(next) => may_run || next != Key::Run,
                None => depth == 0 && !is_command && self.is_likely_key(word, value_at),
            })
        };
        for (at, c) in self.inline.slice(range.clone()).char_indices() {
            let (end, next) = (range.start + at, range.start + at + c.len_utf8());
            match c {
                '"' | '`' => is_quoted = !is_quoted,
                '\'' if is_command => is_quoted = !is_quoted,
                '(' | WIDE_OPEN => depth += 1,
                ')' | WIDE_CLOSE => depth = depth.saturating_sub(1),
                ';' | '；' if begins_field(next, depth, true) => return (end, Some(next)),
                ',' | '，' if !is_quoted && begins_field(next, depth, false) => {
                    return (end, Some(next));
                }
                _ => {}
            }
        }
        (range.end, None)
    }

    /// Reports whether a word before a colon that is no key of ours is one all the same: a single
    /// word with a blank after the colon, unlike a path with a line number, a URL or a sentence.
    fn is_likely_key(&self, word: &str, value_at: usize) -> bool {
        let is_wide = self
            .inline
            .text
            .get(..value_at)
            .is_some_and(|before| before.ends_with(WIDE_COLON));
        let after = self.inline.text.tail(value_at);
        !word.contains(' ') && (is_wide || after.starts_with(char::is_whitespace))
    }

    /// Parses the value of a key, and further fields after a separator; a key that is unknown has
    /// no effect.
    fn fields(
        &self,
        first: Option<Key>,
        range: Range<usize>,
        line: &mut Line,
        findings: &mut Findings,
    ) {
        let (mut key, mut start) = (first, range.start);
        loop {
            let (end, next) = self.value_end(key, start..range.end);
            if let Some(key) = key {
                self.field(key, start..end, line, findings);
            }
            let Some(at) = next else { return };
            let Some((word, value_at)) = self.key_before_colon(at) else {
                return;
            };
            (key, start) = (key_of(word), value_at);
            if key.is_none() {
                let written = self.inline.slice(at..value_at);
                let offset = self
                    .inline
                    .offset(at + written.len() - written.trim_start().len());
                unknown_key(
                    word,
                    self.inline.slice(value_at..range.end),
                    offset,
                    NO_EFFECT,
                    findings,
                );
            }
        }
    }

    fn field(&self, key: Key, range: Range<usize>, line: &mut Line, findings: &mut Findings) {
        let raw = self.inline.slice(range.clone());
        let lead = raw.len() - raw.trim_start().len();
        let offset = self.inline.offset(range.start + lead);
        line.attributes.set(
            &Field {
                key,
                value: raw.trim(),
                offset,
            },
            findings,
        );
    }

    /// Returns the word between `start` and a colon, and the offset of the value after it.
    fn key_before_colon(&self, start: usize) -> Option<(&str, usize)> {
        let rest = self.inline.text.get(start..)?;
        let head = rest.get(..rest.floor_char_boundary(MAX_KEY_BYTES))?;
        let word = head.get(..head.bytes().take_while(is_key_byte).count())?;
        let wide = word
            .split_once(WIDE_COLON)
            .map(|(word, _)| (word, WIDE_COLON.len_utf8()));
        let (word, colon) = match wide {
            Some(found) => found,
            None if rest.as_bytes().get(word.len()) == Some(&b':') => (word, 1),
            None => return None,
        };
        (!word.trim().is_empty()).then(|| (word.trim(), start + word.len() + colon))
    }

    /// Parses `@role` at the end of the title or before parentheses; an address, a path, a person
    /// or another word of the title is none.
    fn role(&self, at: usize, line: &mut Line, findings: &mut Findings) -> usize {
        let text = self.inline.text.as_ref();
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let rest = text.tail(at + 1);
        let name = rest.head(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
        let end = at + 1 + name.len();
        let after = text.get(end..).and_then(|after| after.chars().next());
        let stands_alone = before.is_none_or(|c| c.is_whitespace() || c == '(')
            && after.is_none_or(|c| {
                c.is_whitespace() || matches!(c, ',' | ')' | ':' | ';' | '!' | '?')
            });
        let ends_sentence = after == Some('.')
            && text
                .get(end + 1..)
                .is_none_or(|rest| !rest.starts_with(is_name));
        let rest = text
            .tail(end)
            .trim_start_matches([' ', '\t', '.', ',', ';', '!', '?']);
        let ends_title =
            rest.is_empty() || rest.starts_with(['\n', '(', WIDE_OPEN, '[', '{', '@', ')', '<']);
        if name.is_empty() || !(stands_alone || ends_sentence) || !ends_title {
            return at + 1;
        }
        if let Some(warning) = names::mention(name, self.inline.offset(at), self.known) {
            findings.warn(warning);
            return end;
        }
        // What separates a role from the title goes with it.
        let title = text.head(at).trim_end_matches([' ', ',', ';', ':']);
        let mark = text::length_of_ending(text.tail(end));
        line.cuts.push(title.len()..end + mark);
        line.attributes.set(
            &Field {
                key: Key::Agent,
                value: name,
                offset: self.inline.offset(at),
            },
            findings,
        );
        end + mark
    }

    /// Parses `[P]` and `[US1]`, and warns of an attribute in brackets.
    fn label(&self, at: usize, line: &mut Line, findings: &mut Findings) -> usize {
        let rest = self.inline.text.tail(at + 1);
        self.warn_of_key(at + 1, findings);
        let length = rest
            .bytes()
            .take(MAX_KEY_BYTES)
            .take_while(u8::is_ascii_alphanumeric)
            .count();
        let closed = rest.as_bytes().get(length) == Some(&b']');
        let Some(label) = rest
            .get(..length)
            .filter(|_| closed)
            .and_then(identify::label)
        else {
            return at + 1;
        };
        match label {
            Label::Parallel => line.attributes.parallel = true,
            Label::Story(story) => line.attributes.labels.push(story.to_owned()),
        }
        let end = at + length + 2;
        line.cuts.push(at..end);
        end
    }

    /// Warns of a key after another bracket than a parenthesis.
    fn warn_of_key(&self, at: usize, findings: &mut Findings) {
        if let Some((word, _)) = self
            .key_before_colon(at)
            .filter(|(word, _)| key_of(word).is_some())
        {
            let message = "attributes need parentheses, so this stays in the title";
            let found = Pending::new(
                self.inline.offset(at),
                FindingCode::UnknownKey,
                word,
                message,
            );
            findings.warn(found.suggest(Some(format!("write `({word}: …)`"))));
        }
    }

    /// Parses `{#id}`, and warns of an attribute in braces.
    fn marked_id(&self, at: usize, line: &mut Line, findings: &mut Findings) -> usize {
        self.warn_of_key(at + 1, findings);
        let rest = self.inline.text.tail(at);
        let end = rest
            .bytes()
            .position(|byte| matches!(byte, b'}' | b'\n' | b' '));
        let inner = end
            .filter(|end| rest.as_bytes().get(*end) == Some(&b'}'))
            .and_then(|end| rest.get(1..end));
        let Some(id) = inner
            .and_then(|inner| inner.strip_prefix('#'))
            .filter(|_| line.marked_id.is_none())
        else {
            return at + 1;
        };
        line.marked_id = Some(Located {
            text: id.to_owned(),
            offset: self.inline.offset(at + 2),
        });
        let end = at + id.len() + 3;
        line.cuts.push(at..end);
        end
    }
}

fn begins_part(byte: u8) -> bool {
    matches!(byte, b'(' | b'@' | b'[' | b'{' | WIDE_BYTE)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// Reports a parenthesis with an unknown key: a typo of one that changes what runs, or in which
/// order, is an error, anything else a warning. Several words, a URL or an empty value are ignored
/// as prose.
fn unknown_key(word: &str, value: &str, offset: usize, advice: &str, findings: &mut Findings) {
    if word.contains(' ') || !word.is_ascii() || value.starts_with("//") || value.trim().is_empty()
    {
        return;
    }
    let found = Pending::new(
        offset,
        FindingCode::UnknownKey,
        word,
        format!("unknown key `{word}`"),
    );
    match key::grave_slip(word) {
        Some(near) => findings.error(found.suggest(Some(format!("did you mean `{near}`?")))),
        None => findings.warn(found.suggest(Some(advice.to_owned()))),
    }
}

/// Reports whether a byte may be part of a key, in any language.
fn is_key_byte(byte: &u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'_' | b'-') || !byte.is_ascii()
}

/// The form of a line below a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An item of a list.
    Bullet,
    /// A line of a paragraph.
    Line,
}

/// Parses a line below a task as an attribute; `None` for prose. A key that is nearly one that
/// changes the order or the check is an error.
pub(crate) fn read_detail<'i>(
    inline: &'i Inline<'_>,
    form: Form,
    findings: &mut Findings,
) -> Option<Field<'i>> {
    let (word, value_at) = detail_key(&inline.text)?;
    let Some(key) = key_of(word) else {
        if let Some(known) = key::grave_slip_in_line(word) {
            let found = Pending::new(
                inline.offset(0),
                FindingCode::UnknownKey,
                word,
                format!("unknown key `{word}`"),
            );
            findings.error(found.suggest(Some(format!("did you mean `{known}`?"))));
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
    let value = value.trim();
    let is_field = inline.text.starts_with(['*', '_']);
    let detail = Detail {
        key,
        word,
        value,
        is_field,
        form,
    };
    detail
        .is_attribute()
        .then_some(Field { key, value, offset })
}

/// A line below a task that begins with a key.
struct Detail<'a> {
    key: Key,
    word: &'a str,
    value: &'a str,
    /// Whether the key is emphasised (`**Key**: value`).
    is_field: bool,
    form: Form,
}

impl Detail<'_> {
    /// Reports whether the line is an attribute rather than prose that begins like one: a command
    /// is one only if it is clearly meant (`Run: the tests` is an instruction), and other values
    /// have to be valid.
    fn is_attribute(&self) -> bool {
        let value = text::unwrap_marks(self.value);
        let is_one_word = !value.contains(char::is_whitespace);
        let is_lower = self.word.starts_with(|c: char| c.is_ascii_lowercase());
        match self.key {
            _ if value.is_empty() => matches!(self.key, Key::Depends | Key::Files),
            Key::Run => self.is_field || (self.form == Form::Bullet && is_lower),
            Key::Verify => {
                self.is_field || (self.form == Form::Bullet && (is_lower || value != self.value))
            }
            Key::Review => value::review(value).is_some(),
            Key::Agent => is_one_word,
            Key::Model => is_one_word && value.contains(['/', ':']),
            Key::Tokens => value::count(value).is_some(),
            Key::Turns => turns(value).is_some(),
            Key::Timeout => value::duration_ms(value).is_some(),
            Key::Priority => value::priority(value).is_some(),
            Key::Depends | Key::Files | Key::Branch => true,
        }
    }
}

/// Returns the word before the colon of `key: value`, `**Key**: value` or `_Key: value_`, and the
/// offset of the value.
pub(crate) fn detail_key(text: &str) -> Option<(&str, usize)> {
    // Most lines have no colon.
    if memchr(b':', text.as_bytes()).is_none() && text.is_ascii() {
        return None;
    }
    let body = text.trim_start_matches(['*', '_']);
    let marks = text.len() - body.len();
    let length = body
        .bytes()
        .take(MAX_KEY_BYTES + 1)
        .take_while(is_key_byte)
        .count();
    let wide = body.get(..length).filter(|word| !word.is_ascii());
    if let Some((word, _)) = wide.and_then(|word| word.split_once(WIDE_COLON)) {
        return (!word.trim().is_empty())
            .then(|| (word, marks + word.len() + WIDE_COLON.len_utf8()));
    }
    let word = body.get(..length)?.trim_end_matches('_');
    let after = body.get(word.len()..)?;
    let closing = after.len() - after.trim_start_matches(['*', '_']).len();
    let colon = body.as_bytes().get(word.len() + closing) == Some(&b':');
    (colon && !word.trim().is_empty()).then(|| (word, marks + word.len() + closing + 1))
}
