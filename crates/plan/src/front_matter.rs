//! The YAML between `---` lines at the head of a plan.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use orchestrate_core::price::micro_usd;
use orchestrate_core::settings::MergeMode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::check::finding::{FindingCode, Findings, Pending};
use crate::fields::names;
use crate::fields::names::KnownNames;
use crate::fields::value;
use crate::read::source::Source;
use orchestrate_core::similar::{edit_distance, nearest};

/// The settings in a plan's front matter, all of them optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrontMatter {
    /// The plan's title.
    pub title: Option<String>,
    /// The revision that the run starts from.
    pub base: Option<String>,
    /// Shell command that must exit 0 on every merged tree.
    pub verify: Option<String>,
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
    /// Whether every task waits for the user's approval.
    pub review: bool,
    /// The line of each key, from 1.
    pub lines: BTreeMap<String, usize>,
}

/// How the order of tasks follows from the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The author's order with the freedom that the plan gives: phases are barriers, and `[P]` marks and `files` let
    /// tasks run together; a flat checklist is read as `Eager`.
    #[default]
    Auto,
    /// Everything runs together that neither depends on another task nor writes the same path.
    Eager,
    /// Every section is a barrier; its tasks run together unless they write the same path.
    Phases,
    /// One task after another.
    Sequential,
}

/// What the budget in dollars expects.
const DOLLARS: &str = "a number of dollars, with at most six decimals";

/// Keys of other templates that are almost ours.
const OTHER_KEYS: &[&str] = &["mode", "reviewer", "reviewed", "reviews"];

/// From this length on, a word that is two letters off a key counts as a slip rather than another word.
const LONG_WORD: usize = 7;

pub(crate) const KEYS: &[&str] = &[
    "title",
    "base",
    "verify",
    "parallel",
    "max_agents",
    "agent",
    "model",
    "budget_tokens",
    "budget_usd",
    "merge",
    "review",
];

/// Returns the range of the YAML and the offset of the body; `None` without a closed front matter, or if the first line
/// is a rule with prose below it.
pub(crate) fn split(source: &Source<'_>) -> Option<(Range<usize>, usize)> {
    let (open, lines) = opened(source)?;
    let lines: Vec<_> = lines.collect();
    let at = lines.iter().position(|(_, line)| is_closing(line))?;
    let (within, close) = (lines.get(..at)?, lines.get(at)?.0);
    let said = first_said(within.iter().map(|(_, line)| *line));
    if said.is_some_and(|line| !may_be_yaml(line)) {
        return None;
    }
    let body = source.line_start(source.line_of(close) + 1);
    Some((source.line_start(source.line_of(open) + 1)..close, body))
}

/// Returns the offset of a front matter that begins with a key of ours but is not closed.
pub(crate) fn unclosed(source: &Source<'_>) -> Option<usize> {
    let (open, lines) = opened(source)?;
    let lines: Vec<&str> = lines.map(|(_, line)| line).collect();
    let (key, value) = first_said(lines.iter().copied())?.split_once(':')?;
    let is_ours = KEYS.contains(&key.trim_end()) && (value.is_empty() || value.starts_with([' ', '\t']));
    (is_ours && !lines.into_iter().any(is_closing)).then_some(open)
}

/// Returns the offset of the line that opens a front matter, and the lines after it; only blank lines may precede it.
fn opened<'a>(source: &Source<'a>) -> Option<(usize, impl Iterator<Item = (usize, &'a str)> + use<'a>)> {
    let start = source.text.len() - source.text.trim_start_matches('\u{feff}').len();
    let mut lines = source.lines(start..source.text.len()).skip_while(|(_, line)| line.trim().is_empty());
    let (open, _) = lines.next().filter(|(_, line)| line.trim_end() == "---")?;
    Some((open, lines))
}

fn is_closing(line: &str) -> bool {
    matches!(line.trim_end(), "---" | "...")
}

/// Returns the first line that is neither empty nor a comment.
fn first_said<'a>(lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    lines.map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Reports whether the first line of a front matter may be YAML: it has a colon, opens a bracket or a quote, or is an
/// item of a list. Prose between two rules of Markdown begins otherwise.
fn may_be_yaml(line: &str) -> bool {
    let is_prose = |word: &str| word.contains(' ');
    match line.split_once(':') {
        Some((key, value)) => !is_prose(key.trim_end()) && (value.is_empty() || value.starts_with([' ', '\t'])),
        None => line.starts_with(['{', '[', '"', '\'', '-']) || !is_prose(line),
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
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return front;
    }
    match serde_saphyr::from_str::<Map<String, Value>>(text) {
        Ok(map) => {
            let lines = lines_of_keys(source, range.clone());
            for (key, value) in &map {
                let (offset, line) = lines.get(key.as_str()).copied().unwrap_or((range.start, ""));
                front.lines.insert(key.clone(), source.line_of(offset));
                FrontMatterKey { key, value, offset, line, known }.store(&mut front, findings);
            }
        }
        Err(error) => {
            let line = error.location().map_or(1, |location| usize::try_from(location.line()).unwrap_or(1));
            let offset = source.line_start(source.line_of(range.start) + line.saturating_sub(1));
            let reason = error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            let (_, text) = source.lines(offset..range.end.max(offset)).next().unwrap_or_default();
            findings.error(
                Pending::new(
                    offset,
                    FindingCode::FrontMatter,
                    text,
                    format!("the front matter cannot be read: {reason}"),
                )
                .suggest(Some("write `key: value` lines between `---` lines".to_owned())),
            );
        }
    }
    front
}

/// Parses only a plan's front matter, as far as possible and without reporting errors: settings such as the base are
/// needed before the plan itself can be parsed.
pub fn front_matter(text: &str) -> FrontMatter {
    let source = Source::new(text);
    let (known, mut findings) = (KnownNames::default(), Findings::default());
    split(&source).map_or_else(FrontMatter::default, |(range, _)| read(&source, range, &known, &mut findings))
}

/// Returns the offset and the text of the first line of each key.
fn lines_of_keys<'a>(source: &Source<'a>, range: Range<usize>) -> HashMap<&'a str, (usize, &'a str)> {
    let mut lines = HashMap::new();
    for (offset, line) in source.lines(range) {
        let Some((key, _)) = line.split_once(':') else { continue };
        let key = key.trim_start_matches(['"', '\'']).trim_end_matches(['"', '\'', ' ']);
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
            "parallel" => {
                front.parallel =
                    self.take(self.word(), "auto, eager, phases or sequential", findings).unwrap_or_default();
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
            "budget_tokens" => front.budget_tokens = self.take(self.count(), "a number of tokens", findings),
            "budget_usd" => front.budget_usd = self.take(self.dollars(), DOLLARS, findings),
            "merge" => front.merge = self.take(self.word(), "auto, review or none", findings),
            "review" => front.review = self.take(self.review(), "`required` or `none`", findings).unwrap_or_default(),
            _ => {
                let message = format!("unknown key `{}` in the front matter", self.key);
                let found = Pending::new(self.offset, FindingCode::UnknownKey, self.key, message);
                match slip_of(self.key) {
                    // A check or a limit that is misspelled would be missing.
                    Some(near) => findings.error(found.suggest(Some(format!("did you mean `{near}`?")))),
                    // Other products' keys do no harm.
                    None => {
                        findings.warn(found.suggest(Some(format!("it has no effect; known keys: {}", KEYS.join(", ")))))
                    }
                }
            }
        }
    }

    /// Returns the value, or records an error if it is invalid; an empty value counts as not set.
    fn take<T>(&self, value: Option<T>, expected: &str, findings: &mut Findings) -> Option<T> {
        if value.is_none() && !self.value.is_null() {
            let message = format!("`{}` expects {expected}", self.key);
            let text = format!("{}: {}", self.key, self.value);
            findings.error(Pending::new(self.offset, FindingCode::InvalidValue, &text, message));
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

    /// Returns the value as written: where text is expected, `no` and `0123` are text, although YAML parses them
    /// otherwise.
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

    /// Returns an amount that a budget can hold: any other one would not limit the run.
    fn dollars(&self) -> Option<f64> {
        let usd: f64 = self.text()?.trim_start_matches('$').parse().ok()?;
        (usd > 0.0 && micro_usd(&usd.to_string()).is_some()).then_some(usd)
    }

    fn review(&self) -> Option<bool> {
        value::review(&self.text()?)
    }
}

/// Returns the key that a word most likely is a slip of: one letter off, or two in a long word.
fn slip_of(word: &str) -> Option<&'static str> {
    let limit = if word.len() < LONG_WORD { 1 } else { 2 };
    let near = nearest(word, KEYS.iter().copied()).filter(|near| edit_distance(word, near, limit).is_some());
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
        let codes = |findings: Vec<crate::Finding>| findings.into_iter().map(|found| found.code).collect();
        (ids, codes(errors), codes(plan.warnings))
    }

    #[test]
    fn a_harmless_line_refuses_no_plan() {
        use FindingCode::{UnknownKey, UnknownRole};
        let one = vec!["T1".to_owned()];
        let table = [
            ("---\ndescription: a template's\nstatus: draft\n---\n- [ ] T1 a\n", vec![UnknownKey, UnknownKey]),
            ("---\n\nThis is the plan: short.\n\n---\n\n- [ ] T1 a\n", vec![]),
            ("---\n# Title\n\nSome words here.\n\n---\n- [ ] T1 a\n", vec![]),
            ("---\nname: x\ndate: x\nmode: x\nphase: x\nreviewer: x\n---\n- [ ] T1 a\n", vec![UnknownKey; 5]),
            ("- [ ] T1 Add @ControllerAdvice to the server\n", vec![]),
            ("- [ ] T1 Ask @angular for help, then go on\n", vec![]),
            ("- [ ] T1 Add @ControllerAdvice\n", vec![UnknownRole]),
            ("- [ ] T1 a (structure: flat)\n", vec![UnknownKey]),
            ("---\n- [ ] T1 a\n", vec![]),
        ];
        for (text, warnings) in table {
            assert_eq!(parsed(text), (one.clone(), vec![], warnings), "{text}");
        }
    }

    #[test]
    fn empty_lines_may_precede_it() {
        let text = "\n \n---\nbase: v1\n---\n- [ ] T1 a\n";
        assert_eq!(front_matter(text).base.as_deref(), Some("v1"));
        assert_eq!(parsed(text), (vec!["T1".to_owned()], vec![], vec![]));
    }

    #[test]
    fn a_slip_of_a_key_is_still_an_error() {
        for text in ["---\nverfy: make\n---\n- [ ] T1 a\n", "---\nbudget_token: 9\n---\n- [ ] T1 a\n"] {
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
            assert!(parsed(&text).1.is_empty() && front_matter(&text).budget_usd.is_some(), "{text}");
        }
    }

    #[test]
    fn yaml_that_cannot_be_read_is_still_an_error() {
        for text in [
            "---\nverify: [\n---\n- [ ] T1 a\n",
            "---\n{title\n---\n- [ ] T1 a\n",
            "---\nword\n---\n- [ ] T1 a\n",
            // Without its last line.
            "---\nverify: make\n- [ ] T1 a\n",
        ] {
            assert_eq!(parsed(text).1, [FindingCode::FrontMatter], "{text}");
        }
    }
}
