//! The YAML between `---` lines at the head of a plan.

use std::collections::BTreeMap;
use std::ops::Range;

use orchestrate_core::ReviewMode;
use orchestrate_core::agent::price::micro_usd;
use orchestrate_core::event::settings::MergeMode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fields::names;
use crate::fields::names::KnownNames;
use crate::fields::names::ReadAs;
use crate::fields::value;
use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::source::Source;
use crate::tasks::checkbox::looks_like_box;
use crate::yaml::{self, Entry, Mapping, NotMapping};
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
    /// Whether a model rewrites the plan before it is run (`read: model`).
    #[serde(default)]
    pub read_by_model: bool,
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

/// The maximum of `verify_retries`, as in the settings.
const MOST_RETRIES: u64 = 100;

/// Keys of other templates that are almost ours.
const OTHER_KEYS: &[&str] = &["mode", "reviewer", "reviewed", "reviews"];

/// The maximum number of keys of other products that are named.
const MAX_OTHERS: usize = 20;

/// From this length on, a word that is two letters off a key counts as a slip rather than another
/// word.
const LONG_WORD: usize = 7;

/// The maximum length of a key that may be a slip of ours.
const MAX_KEY_BYTES: usize = 24;

/// The keys, each with what its value is.
const KEYS: &[(&str, &str)] = &[
    ("title", "a text"),
    ("base", "a revision"),
    ("verify", "a shell command"),
    ("verify_retries", "a whole number from 0 to 100"),
    ("parallel", "auto, eager, phases or sequential"),
    ("max_agents", "a whole number, at least 1"),
    ("agent", "the name of a role"),
    ("model", "provider/model"),
    ("budget_tokens", "a number of tokens"),
    (
        "budget_usd",
        "a number of dollars, with at most six decimals",
    ),
    ("merge", "auto, review or none"),
    ("review", value::REVIEWS),
    ("read", "headings, boxes, table, items, whole or model"),
];

/// Returns the names of the keys.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(key, _)| *key)
}

fn is_key(word: &str) -> bool {
    keys().any(|key| key == word)
}

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
        let is_set = first.starts_with('{') || lines.iter().any(|line| is_ours(line));
        let is_read = is_set || yaml::read::<Mapping>(source.slice(range.clone())).is_ok();
        let has_list = lines.iter().any(|line| line.trim_end().ends_with(':'));
        let may_be_item = |line: &str| has_list && line.starts_with('-') && !looks_like_box(line);
        let mut lines = lines.iter();
        let are_keys = lines.all(|line| may_be_of_mapping(line) || may_be_item(line));
        may_be_yaml(first) && (is_read || are_keys)
    });
    is_meant.then(|| (range, source.line_start(source.line_of(close) + 1)))
}

/// Returns the offset of a front matter that begins with a key of ours but is not closed.
pub(crate) fn unclosed(source: &Source<'_>) -> Option<usize> {
    let (open, lines) = opened(source)?;
    let lines: Vec<&str> = lines.map(|(_, line)| line).collect();
    let (key, value) = first_said(lines.iter().copied())?.split_once(':')?;
    let is_ours = is_key(key.trim_end()) && yaml::begins_value(value);
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
        Some((key, value)) => !is_prose(key.trim_end()) && yaml::begins_value(value),
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
        key.starts_with(char::is_alphabetic) && (is_key(key) || is_slip())
    })
}

/// Parses the YAML of a front matter. One that cannot be read says nothing, if it is that of
/// another template.
fn mapping(source: &Source<'_>, range: Range<usize>) -> Result<Vec<Entry>, NotMapping> {
    let text = source.slice(range.clone());
    match yaml::read(text) {
        Ok(mapping) => Ok(yaml::entries(mapping, range.start)),
        Err(wrong) => {
            let is_meant = text.trim_start().starts_with('{') || text.lines().any(is_ours);
            match wrong.is_bomb || is_meant {
                true => Err(wrong),
                false => Ok(Vec::new()),
            }
        }
    }
}

/// Reports whether a line may stand in a mapping: it begins with a key, goes on with a value, or is
/// a comment.
fn may_be_of_mapping(line: &str) -> bool {
    let goes_on = line.trim().is_empty() || line.starts_with([' ', '\t', '#']);
    !looks_like_box(line) && (goes_on || yaml::key_at_head(line).is_some())
}

/// Parses the front matter as far as possible.
pub(crate) fn read(
    source: &Source<'_>,
    range: Range<usize>,
    known: &KnownNames,
    findings: &mut Findings,
) -> FrontMatter {
    let mut front = FrontMatter::default();
    match mapping(source, range.clone()) {
        Ok(entries) => {
            for entry in &entries {
                let line = source.line_of(entry.at);
                front.lines.insert(entry.key.clone(), line);
                let mut key = FrontMatterKey {
                    entry,
                    written: source.slice(entry.place.clone()),
                    known,
                    findings,
                };
                key.store(&mut front);
            }
        }
        Err(NotMapping { line, reason, .. }) => {
            let offset = source.line_start(source.line_of(range.start) + line - 1);
            let text = source.slice(offset..range.end.max(offset));
            let message = format!("the front matter cannot be read: {reason}");
            let code = FindingCode::FrontMatter;
            let found = Pending::new(offset, code, text.lines().next().unwrap_or(text), message);
            findings.error(found.suggest("write `key: value` lines between `---` lines"));
        }
    }
    front
}

/// Notes once the keys that belong to other products: they do no harm.
pub(crate) fn note_others(front: &FrontMatter, source: &Source<'_>, findings: &mut Findings) {
    let mut others: Vec<(usize, &str)> = Vec::new();
    for (key, line) in &front.lines {
        // What a document says of its own status is read in every format.
        let is_known = is_key(key) || key == "status";
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
    let known: Vec<&str> = keys().collect();
    findings.warn(found.suggest(format!("known keys: {}", known.join(", "))));
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

/// A key of the front matter.
struct FrontMatterKey<'a> {
    entry: &'a Entry,
    /// Its value as written, if it is one word.
    written: &'a str,
    known: &'a KnownNames,
    findings: &'a mut Findings,
}

impl FrontMatterKey<'_> {
    fn store(&mut self, front: &mut FrontMatter) {
        match self.entry.key.as_str() {
            "title" => front.title = self.take(self.text()),
            "base" => front.base = self.take(self.text()),
            "verify" => front.verify = self.take(self.text()),
            "verify_retries" => front.verify_retries = self.take(self.retries()),
            "parallel" => front.parallel = self.take(self.word()).unwrap_or(Order::Auto),
            "max_agents" => {
                let count = self.count().and_then(|count| usize::try_from(count).ok());
                front.max_agents = self.take(count);
            }
            "agent" => {
                front.agent = self.take(self.text());
                self.check(front.agent.as_deref(), names::role);
            }
            "model" => {
                front.model = self.take(self.text());
                self.check(front.model.as_deref(), names::model);
            }
            "budget_tokens" => front.budget_tokens = self.take(self.count()),
            "budget_usd" => front.budget_usd = self.take(self.dollars()),
            "merge" => front.merge = self.take(self.word()),
            "review" => front.review = self.take(self.review()),
            "read" if self.written == "model" => front.read_by_model = true,
            "read" => front.read = self.take(self.word()),
            key => {
                // A check or a limit that is misspelled would be missing.
                if let Some(near) = slip_of(key) {
                    let message = format!("unknown key `{key}` in the front matter");
                    let code = FindingCode::UnknownKey;
                    let found = Pending::new(self.entry.at, code, key, message);
                    let advice = format!("did you mean `{near}`?");
                    self.findings.error(found.suggest(advice));
                }
            }
        }
    }

    /// Returns the value, or records an error if it is invalid; an empty value counts as not set.
    fn take<T>(&mut self, value: Option<T>) -> Option<T> {
        let Entry {
            key,
            value: written,
            at,
            ..
        } = self.entry;
        if value.is_none() && !written.is_null() {
            let expected = KEYS.iter().find(|(name, _)| name == key);
            let expected = expected.map_or("another value", |(_, expected)| *expected);
            let message = format!("`{key}` expects {expected}");
            let text = format!("{key}: {written}");
            let code = FindingCode::InvalidValue;
            self.findings.error(Pending::new(*at, code, &text, message));
        }
        value
    }

    fn check(
        &mut self,
        name: Option<&str>,
        judge: fn(&str, usize, &KnownNames) -> Option<Pending>,
    ) {
        if let Some(problem) = name.and_then(|name| judge(name, self.entry.at, self.known)) {
            self.findings.error(problem);
        }
    }

    fn text(&self) -> Option<String> {
        match &self.entry.value {
            Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            // Where text is expected, `no` and `0123` are text, though YAML parses them otherwise.
            Value::Number(_) | Value::Bool(_) => Some(self.written.to_owned()),
            _ => None,
        }
    }

    fn word<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_value(self.entry.value.clone()).ok()
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
    let near = nearest(word, keys()).filter(|near| edit_distance(word, near, limit).is_some());
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
                vec![],
            ),
        ];
        for (text, warnings) in table {
            assert_eq!(parsed(text), (one.clone(), vec![], warnings), "{text}");
        }
    }

    #[test]
    fn a_plan_may_ask_for_a_model() {
        let front = front_matter("---\nread: model\n---\n- [ ] T1 a\n");
        assert_eq!((front.read, front.read_by_model), (None, true));
        let plan = "---\nread: model\n---\n- [ ] T1 a\n";
        assert_eq!(parsed(plan), (vec!["T1".to_owned()], vec![], vec![]));
    }

    #[test]
    fn a_key_of_ours_beside_a_value_that_is_no_yaml_is_an_error() {
        let text = "---\n# Of us\ntitle: My plan: the second # draft\ntags: [a\nverify: x\n---\n- [ ] T1 a\n";
        let found = parsed(text);
        assert_eq!(found.1, [FindingCode::FrontMatter]);
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
