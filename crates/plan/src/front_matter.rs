//! The YAML between `---` lines at the head of a plan.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use orchestrate_core::ReviewMode;
use orchestrate_core::agent::price::micro_usd;
use orchestrate_core::event::settings::MergeMode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fields::names;
use crate::fields::names::KnownNames;
use crate::fields::names::ReadAs;
use crate::fields::value;
use crate::finding::{FindingCode, Findings, Pending};
use crate::front_and_body::{NotMapping, not_mapping};
use crate::lines::source::Source;
use crate::tasks::checkbox::looks_like_box;
use orchestrate_core::text::similar::{edit_distance, nearest};

/// The settings in a plan's front matter, all of them optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrontMatter {
    /// The plan's title.
    pub title: Option<String>,
    /// The revision that the run starts from.
    pub base: Option<String>,
    /// Shell command that must exit 0 on every merged tree.
    pub verify: Option<String>,
    /// How often a check that fails is tried again on the very same files.
    pub verify_retries: Option<u64>,
    /// How the order of tasks follows from the document.
    pub parallel: Order,
    /// Maximum number of concurrent agents.
    pub max_agents: Option<usize>,
    /// Role of tasks that name none.
    pub agent: Option<String>,
    /// `provider/model` of tasks that name none.
    pub model: Option<String>,
    /// Token budget of the whole run.
    pub budget_tokens: Option<u64>,
    /// Budget of the whole run in US dollars.
    pub budget_usd: Option<f64>,
    /// What happens to finished branches.
    pub merge: Option<MergeMode>,
    /// When a person must approve finished work.
    pub review: Option<ReviewMode>,
    /// How a plan of no known format is read.
    #[serde(default)]
    pub read: Option<ReadAs>,
    /// The line of each key, from 1.
    pub lines: BTreeMap<String, usize>,
}

/// How the order of tasks follows from the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The author's order with the freedom that the plan gives: phases are barriers, and `[P]`
    /// marks and `files` let tasks run together, as all do in a flat checklist between its set-up
    /// and its tests.
    #[default]
    Auto,
    /// Everything runs together that neither depends on another task nor writes the same path; also
    /// written `depends`.
    #[serde(alias = "depends")]
    Eager,
    /// Every section is a barrier; its tasks run together unless they write the same path.
    Phases,
    /// One task after another.
    Sequential,
}

/// What the budget in dollars expects.
const DOLLARS: &str = "a number of dollars, with at most six decimals";

/// The maximum of `verify_retries`, as in the settings.
const MOST_RETRIES: u64 = 100;

/// Keys of other templates that are almost ours.
const OTHER_KEYS: &[&str] = &["mode", "reviewer", "reviewed", "reviews"];

/// The maximum number of keys of other products that are named.
const MAX_OTHERS: usize = 20;

/// From this length on, a word that is two letters off a key counts as a slip rather than another
/// word.
const LONG_WORD: usize = 7;

/// The maximum length of a key that may be a slip of ours, and the maximum number of words of
/// another template's key.
const MAX_KEY_BYTES: usize = 24;
const MAX_KEY_WORDS: usize = 3;

pub(crate) const KEYS: &[&str] = &[
    "title",
    "base",
    "verify",
    "verify_retries",
    "parallel",
    "max_agents",
    "agent",
    "model",
    "budget_tokens",
    "budget_usd",
    "merge",
    "review",
    "read",
];

/// Returns the range of the YAML and the offset of the body; `None` without a closed front matter,
/// or if the first line is a rule with Markdown below it rather than a mapping.
pub(crate) fn split(source: &Source<'_>) -> Option<(Range<usize>, usize)> {
    let (open, lines) = opened(source)?;
    let lines: Vec<_> = lines.collect();
    let at = lines.iter().position(|(_, line)| is_closing(line))?;
    let (within, close) = (lines.get(..at)?, lines.get(at)?.0);
    let range = source.line_start(source.line_of(open) + 1)..close;
    let lines: Vec<&str> = within.iter().map(|(_, line)| *line).collect();
    let is_meant = first_said(lines.iter().copied()).is_none_or(|first| {
        // A plan that says a check or a limit of ours in YAML that cannot be read must not run
        // without it.
        let sets_ours = || first.starts_with('{') || lines.iter().any(|line| is_ours(line));
        may_be_yaml(first) && (sets_ours() || mapping(source, range.clone()).is_ok())
    });
    is_meant.then(|| (range, source.line_start(source.line_of(close) + 1)))
}

/// Returns the offset of a front matter that begins with a key of ours but is not closed.
pub(crate) fn unclosed(source: &Source<'_>) -> Option<usize> {
    let (open, lines) = opened(source)?;
    let lines: Vec<&str> = lines.map(|(_, line)| line).collect();
    let (key, value) = first_said(lines.iter().copied())?.split_once(':')?;
    let is_ours =
        KEYS.contains(&key.trim_end()) && (value.is_empty() || value.starts_with([' ', '\t']));
    (is_ours && !lines.into_iter().any(is_closing)).then_some(open)
}

/// Returns the offset of the line that opens a front matter, and the lines after it; only blank
/// lines may precede it.
fn opened<'a>(
    source: &Source<'a>,
) -> Option<(usize, impl Iterator<Item = (usize, &'a str)> + use<'a>)> {
    let start = source.text.len() - source.text.trim_start_matches('\u{feff}').len();
    let mut lines = source
        .lines(start..source.text.len())
        .skip_while(|(_, line)| line.trim().is_empty());
    let (open, _) = lines.next().filter(|(_, line)| line.trim_end() == "---")?;
    Some((open, lines))
}

fn is_closing(line: &str) -> bool {
    matches!(line.trim_end(), "---" | "...")
}

/// Returns the first line that is neither empty nor a comment.
fn first_said<'a>(lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    lines
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Reports whether the first line of a front matter may be YAML: it has a colon, opens a bracket or
/// a quote, or is an item of a list. Prose between two rules of Markdown begins otherwise.
fn may_be_yaml(line: &str) -> bool {
    match line.split_once(':') {
        Some((key, value)) => {
            !is_prose(key.trim_end()) && (value.is_empty() || value.starts_with([' ', '\t']))
        }
        None => line.starts_with(['{', '[', '"', '\'', '-']) || !is_prose(line),
    }
}

fn is_prose(word: &str) -> bool {
    word.contains(' ')
}

/// Reports whether a line sets a key of ours, or one that is most likely a slip of it; an indented
/// one or one in a list does not.
fn is_ours(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, _)| {
        let key = key.trim_end().trim_matches(['"', '\'']);
        let is_slip = || key.len() <= MAX_KEY_BYTES && slip_of(key).is_some();
        key.starts_with(char::is_alphabetic) && (KEYS.contains(&key) || is_slip())
    })
}

/// Parses the YAML of a front matter; if it is none as a whole, each key on its own.
fn mapping(source: &Source<'_>, range: Range<usize>) -> Result<Map<String, Value>, NotMapping> {
    serde_saphyr::from_str(source.slice(range.clone())).or_else(|error| {
        if is_bomb(&error) {
            return Err(not_mapping(&error));
        }
        // The error describes the text as written.
        by_key(source.lines(range).map(|(_, line)| line)).ok_or_else(|| not_mapping(&error))
    })
}

/// Reports whether the text stands for more values than anybody writes, as aliases of aliases do. A
/// key of another template is passed over, but not the time that such a text takes.
fn is_bomb(error: &serde_saphyr::Error) -> bool {
    use serde_saphyr::Error;
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => is_bomb(error),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => true,
        _ => false,
    }
}

/// Parses each key with the lines that belong to it. A value with a colon in it is plain text, and
/// a key of another template whose value cannot be read has none. Returns `None` if a line is no
/// part of a mapping, or a value of ours cannot be read.
fn by_key<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Map<String, Value>> {
    let mut entries: Vec<(&str, String)> = Vec::new();
    for line in lines {
        if looks_like_box(line) {
            return None;
        }
        if let Some(key) = key_at_head(line) {
            entries.push((key, with_quotes(line)));
        } else if line.starts_with([' ', '\t', '-']) || line.trim().is_empty() {
            let head = entries
                .last()
                .and_then(|(_, text)| text.lines().next())
                .unwrap_or_default();
            if line.starts_with('-') && !head.trim_end().ends_with(':') {
                return None;
            }
            match entries.last_mut() {
                Some((_, text)) => text.extend([line, "\n"]),
                None if line.trim().is_empty() => {}
                None => return None,
            }
        } else if !line.starts_with('#') {
            return None;
        }
    }
    let mut map = Map::new();
    for (key, text) in entries {
        match serde_saphyr::from_str::<Map<String, Value>>(&text) {
            Ok(entry) if !map.contains_key(key) => map.extend(entry),
            _ if KEYS.contains(&key) => return None,
            _ => {
                map.entry(key).or_insert(Value::Null);
            }
        }
    }
    (!map.is_empty()).then_some(map)
}

/// Returns the key that a line begins with, if it is simple enough for one: Markdown begins
/// otherwise.
fn key_at_head(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_key = key.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && key.chars().all(is_simple)
        && !key.contains(". ")
        && key.split(' ').count() <= MAX_KEY_WORDS;
    (is_key && (value.is_empty() || value.starts_with([' ', '\t']))).then_some(key)
}

fn is_simple(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' ')
}

/// Returns the line of a key, with a plain value that has a colon in it between quotes.
fn with_quotes(line: &str) -> String {
    let Some((key, value)) = line.split_once(": ") else {
        return format!("{line}\n");
    };
    let value = value.split(" #").next().unwrap_or(value).trim();
    let is_plain = !value.starts_with([
        '"', '\'', '[', '{', '|', '>', '&', '*', '!', '%', '@', '`', '#',
    ]);
    match is_plain && (value.contains(": ") || value.ends_with(':')) {
        true => format!("{key}: {}\n", Value::from(value)),
        false => format!("{line}\n"),
    }
}

/// Parses the front matter as far as possible.
pub(crate) fn read(
    source: &Source<'_>,
    range: Range<usize>,
    known: &KnownNames,
    findings: &mut Findings,
) -> FrontMatter {
    let text = source.slice(range.clone());
    let mut front = FrontMatter::default();
    if text
        .lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
    {
        return front;
    }
    match mapping(source, range.clone()) {
        Ok(map) => {
            let lines = lines_of_keys(source, range.clone());
            for (key, value) in &map {
                let (offset, line) = lines
                    .get(key.as_str())
                    .copied()
                    .unwrap_or((range.start, ""));
                front.lines.insert(key.clone(), source.line_of(offset));
                FrontMatterKey {
                    key,
                    value,
                    offset,
                    line,
                    known,
                }
                .store(&mut front, findings);
            }
        }
        Err(NotMapping { line, reason }) => {
            // It counts as in a file whose first line opens the front matter.
            let offset = source.line_start(source.line_of(range.start) + line.saturating_sub(2));
            let (_, text) = source
                .lines(offset..range.end.max(offset))
                .next()
                .unwrap_or_default();
            findings.error(
                Pending::new(
                    offset,
                    FindingCode::FrontMatter,
                    text,
                    format!("the front matter cannot be read: {reason}"),
                )
                .suggest(Some(
                    "write `key: value` lines between `---` lines".to_owned(),
                )),
            );
        }
    }
    front
}

/// Notes once the keys that belong to other products, apart from those that the plan's format
/// reads: they do no harm.
pub(crate) fn note_others(
    front: &FrontMatter,
    read: &[&str],
    source: &Source<'_>,
    findings: &mut Findings,
) {
    let mut others: Vec<(usize, &str)> = Vec::new();
    for (key, line) in &front.lines {
        let is_known = KEYS.contains(&key.as_str()) || read.contains(&key.as_str());
        if !is_known && slip_of(key).is_none() {
            others.push((*line, key));
        }
    }
    others.sort_unstable();
    let Some((line, first)) = others.first().copied() else {
        return;
    };
    let shown = others.iter().take(MAX_OTHERS);
    let names: Vec<String> = shown.map(|(_, key)| format!("`{key}`")).collect();
    let more = match others.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "keys in the front matter without effect: {}{more}",
        names.join(", ")
    );
    let found = Pending::new(
        source.line_start(line),
        FindingCode::UnknownKey,
        first,
        message,
    );
    findings.warn(found.suggest(Some(format!("known keys: {}", KEYS.join(", ")))));
}

/// Parses only a plan's front matter, as far as possible and without reporting errors: settings
/// such as the base are needed before the plan itself can be parsed.
pub fn front_matter(text: &str) -> FrontMatter {
    let source = Source::new(text);
    let (known, mut findings) = (KnownNames::default(), Findings::default());
    split(&source).map_or_else(FrontMatter::default, |(range, _)| {
        read(&source, range, &known, &mut findings)
    })
}

/// Returns the offset and the text of the first line of each key.
fn lines_of_keys<'a>(
    source: &Source<'a>,
    range: Range<usize>,
) -> HashMap<&'a str, (usize, &'a str)> {
    let mut lines = HashMap::new();
    for (offset, line) in source.lines(range) {
        let Some((key, _)) = line.split_once(':') else {
            continue;
        };
        let key = key
            .trim_start_matches(['"', '\''])
            .trim_end_matches(['"', '\'', ' ']);
        lines.entry(key).or_insert((offset, line));
    }
    lines
}

/// A key of the front matter, with its value and its line.
struct FrontMatterKey<'a> {
    key: &'a str,
    value: &'a Value,
    offset: usize,
    line: &'a str,
    known: &'a KnownNames,
}

impl FrontMatterKey<'_> {
    fn store(&self, front: &mut FrontMatter, findings: &mut Findings) {
        match self.key {
            "title" => front.title = self.take(self.text(), "a text", findings),
            "base" => front.base = self.take(self.text(), "a revision", findings),
            "verify" => front.verify = self.take(self.text(), "a shell command", findings),
            "verify_retries" => {
                front.verify_retries =
                    self.take(self.retries(), "a whole number from 0 to 100", findings);
            }
            "parallel" => {
                front.parallel = self
                    .take(self.word(), "auto, eager, phases or sequential", findings)
                    .unwrap_or_default();
            }
            "max_agents" => {
                let count = self.count().and_then(|count| usize::try_from(count).ok());
                front.max_agents = self.take(count, "a whole number, at least 1", findings);
            }
            "agent" => {
                front.agent = self.take(self.text(), "the name of a role", findings);
                self.check(front.agent.as_deref(), names::role, findings);
            }
            "model" => {
                front.model = self.take(self.text(), "provider/model", findings);
                self.check(front.model.as_deref(), names::model, findings);
            }
            "budget_tokens" => {
                front.budget_tokens = self.take(self.count(), "a number of tokens", findings)
            }
            "budget_usd" => front.budget_usd = self.take(self.dollars(), DOLLARS, findings),
            "merge" => front.merge = self.take(self.word(), "auto, review or none", findings),
            "review" => front.review = self.take(self.review(), value::REVIEWS, findings),
            "read" => {
                let expected = "headings, boxes, table, items or whole";
                front.read = self.take(self.word(), expected, findings);
            }
            _ => {
                // A check or a limit that is misspelled would be missing.
                if let Some(near) = slip_of(self.key) {
                    let message = format!("unknown key `{}` in the front matter", self.key);
                    let code = FindingCode::UnknownKey;
                    let found = Pending::new(self.offset, code, self.key, message);
                    findings.error(found.suggest(Some(format!("did you mean `{near}`?"))));
                }
            }
        }
    }

    /// Returns the value, or records an error if it is invalid; an empty value counts as not set.
    fn take<T>(&self, value: Option<T>, expected: &str, findings: &mut Findings) -> Option<T> {
        if value.is_none() && !self.value.is_null() {
            let message = format!("`{}` expects {expected}", self.key);
            let text = format!("{}: {}", self.key, self.value);
            findings.error(Pending::new(
                self.offset,
                FindingCode::InvalidValue,
                &text,
                message,
            ));
        }
        value
    }

    fn check(
        &self,
        name: Option<&str>,
        judge: fn(&str, usize, &KnownNames) -> Option<Pending>,
        findings: &mut Findings,
    ) {
        if let Some(problem) = name.and_then(|name| judge(name, self.offset, self.known)) {
            findings.error(problem);
        }
    }

    fn text(&self) -> Option<String> {
        match self.value {
            Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Value::Number(number) => Some(self.written().unwrap_or_else(|| number.to_string())),
            Value::Bool(truth) => Some(self.written().unwrap_or_else(|| truth.to_string())),
            _ => None,
        }
    }

    /// Returns the value as written: where text is expected, `no` and `0123` are text, although
    /// YAML parses them otherwise.
    fn written(&self) -> Option<String> {
        let (_, value) = self.line.split_once(':')?;
        let value = value.split(" #").next().unwrap_or(value).trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    fn word<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_value(self.value.clone()).ok()
    }

    fn count(&self) -> Option<u64> {
        value::count(&self.text()?)
    }

    fn retries(&self) -> Option<u64> {
        self.text()?
            .parse()
            .ok()
            .filter(|retries| *retries <= MOST_RETRIES)
    }

    /// Returns an amount that a budget can hold: any other one would not limit the run.
    fn dollars(&self) -> Option<f64> {
        let usd: f64 = self.text()?.trim_start_matches('$').parse().ok()?;
        (usd > 0.0 && micro_usd(&usd.to_string()).is_some()).then_some(usd)
    }

    fn review(&self) -> Option<ReviewMode> {
        value::review(&self.text()?)
    }
}

/// Returns the key that a word most likely is a slip of: one letter off, or two in a long word.
fn slip_of(word: &str) -> Option<&'static str> {
    let limit = if word.len() < LONG_WORD { 1 } else { 2 };
    let near = nearest(word, KEYS.iter().copied())
        .filter(|near| edit_distance(word, near, limit).is_some());
    near.filter(|_| !OTHER_KEYS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::read;

    /// Returns the ids of the tasks, and the codes of errors and of warnings.
    fn parsed(text: &str) -> (Vec<String>, Vec<FindingCode>, Vec<FindingCode>) {
        let (plan, errors) = read(text, &KnownNames::roles(["implementer"]));
        let ids = plan.tasks.iter().map(|task| task.id.to_string()).collect();
        let codes =
            |findings: Vec<crate::Finding>| findings.into_iter().map(|found| found.code).collect();
        (ids, codes(errors), codes(plan.warnings))
    }

    #[test]
    fn a_harmless_line_refuses_no_plan() {
        use FindingCode::{UnknownKey, UnknownRole};
        let one = vec!["T1".to_owned()];
        let table = [
            (
                "---\ndescription: a template's\nstatus: draft\n---\n- [ ] T1 a\n",
                vec![UnknownKey],
            ),
            (
                "---\n\nThis is the plan: short.\n\n---\n\n- [ ] T1 a\n",
                vec![],
            ),
            (
                "---\n# Title\n\nSome words here.\n\n---\n- [ ] T1 a\n",
                vec![],
            ),
            (
                "---\nname: x\ndate: x\nmode: x\nphase: x\nreviewer: x\n---\n- [ ] T1 a\n",
                vec![UnknownKey],
            ),
            ("- [ ] T1 Add @ControllerAdvice to the server\n", vec![]),
            ("- [ ] T1 Ask @angular for help, then go on\n", vec![]),
            ("- [ ] T1 Add @ControllerAdvice\n", vec![UnknownRole]),
            ("- [ ] T1 a (structure: flat)\n", vec![UnknownKey]),
            ("---\n- [ ] T1 a\n", vec![]),
            ("---\nword\n---\n- [ ] T1 a\n", vec![]),
            ("---\n# Plan\n- [ ] T1 a\n---\n", vec![]),
            ("---\n# Plan\n- [ ] T1 a\n  verify: make\n---\n", vec![]),
            ("---\nNote: this is a plan\n- [ ] T1 a\n---\n", vec![]),
            ("---\ntitle: My plan: the second\n---\n- [ ] T1 a\n", vec![]),
            (
                "---\ndescription: Use: it\ntags: [a\ndue date: {\n  x\n---\n- [ ] T1 a\n",
                vec![UnknownKey],
            ),
        ];
        for (text, warnings) in table {
            assert_eq!(parsed(text), (one.clone(), vec![], warnings), "{text}");
        }
    }

    #[test]
    fn keys_are_read_beside_values_that_are_no_yaml() {
        let text = "---\n# Of us\ntitle: My plan: the second # draft\ntags: [a\nlist:\n- x\nverify: |\n  echo a: b\n\n\
                    budget_usd: 3\n---\n- [ ] T1 a\n";
        let front = front_matter(text);
        assert_eq!(front.title.as_deref(), Some("My plan: the second"));
        assert_eq!(
            (front.verify.as_deref(), front.budget_usd),
            (Some("echo a: b"), Some(3.0))
        );
        assert_eq!(front.lines.get("budget_usd"), Some(&10));
        let (plan, errors) = read(
            "---\n# Plan\n- [ ] a\n---\n- [ ] b\n",
            &KnownNames::default(),
        );
        let titles: Vec<&str> = plan.tasks.iter().map(|task| task.title.as_str()).collect();
        assert_eq!((titles, errors.len()), (vec!["a", "b"], 0));
        assert!(
            split(&Source::new(
                "---\nNote: do this\n- first\n- then\n---\n- [ ] T1 a\n"
            ))
            .is_none()
        );
    }

    #[test]
    fn an_error_has_one_place() {
        let (_, errors) = read(
            "---\ntitle: a\nverify: [\n---\n- [ ] T1 a\n",
            &KnownNames::default(),
        );
        let messages: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
        assert!(
            matches!(messages.as_slice(), [message] if !message.contains("line ")),
            "{messages:?}"
        );
    }

    #[test]
    fn empty_lines_may_precede_it() {
        let text = "\n \n---\nbase: v1\n---\n- [ ] T1 a\n";
        assert_eq!(front_matter(text).base.as_deref(), Some("v1"));
        assert_eq!(parsed(text), (vec!["T1".to_owned()], vec![], vec![]));
    }

    #[test]
    fn a_slip_of_a_key_is_still_an_error() {
        for text in [
            "---\nverfy: make\n---\n- [ ] T1 a\n",
            "---\nbudget_token: 9\n---\n- [ ] T1 a\n",
        ] {
            assert_eq!(parsed(text).1, [FindingCode::UnknownKey], "{text}");
        }
    }

    #[test]
    fn a_budget_that_would_not_limit_is_an_error() {
        for amount in ["3.3333333", "0.0000001", "1e300", "0", "-1", "inf", "nan"] {
            let text = format!("---\nbudget_usd: {amount}\n---\n- [ ] T1 a\n");
            assert_eq!(parsed(&text).1, [FindingCode::InvalidValue], "{text}");
        }
        for amount in ["2.5", "$0.000001", "\"10\""] {
            let text = format!("---\nbudget_usd: {amount}\n---\n- [ ] T1 a\n");
            assert!(
                parsed(&text).1.is_empty() && front_matter(&text).budget_usd.is_some(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_bomb_of_aliases_is_refused() {
        let level = |(key, inner): (char, char)| {
            format!(
                "{key}: &{key} [{}]\n",
                vec![format!("*{inner}"); 9].join(", ")
            )
        };
        let levels = |last: char| ('b'..=last).zip('a'..).map(level).collect::<String>();
        let text = |last| {
            format!(
                "---\nverify: make\na: &a [x]\n{}---\n- [ ] T1 a\n",
                levels(last)
            )
        };
        assert_eq!(parsed(&text('j')).1, [FindingCode::FrontMatter]);
        // The control: keys of other templates, and a few aliases, refuse no plan.
        assert!(parsed(&text('c')).1.is_empty());
    }

    #[test]
    fn yaml_that_cannot_be_read_is_still_an_error() {
        for text in [
            "---\nverify: [\n---\n- [ ] T1 a\n",
            "---\n{title\n---\n- [ ] T1 a\n",
            "---\ntitle: a: b\nverify: [a\ntags: [a\n---\n- [ ] T1 a\n",
            "---\nverfiy: make\n- [ ] b\n---\n- [ ] T1 a\n",
            "---\nverify: make\nverify: true\n---\n- [ ] T1 a\n",
            // Without its last line.
            "---\nverify: make\n- [ ] T1 a\n",
        ] {
            assert_eq!(parsed(text).1, [FindingCode::FrontMatter], "{text}");
        }
    }
}
