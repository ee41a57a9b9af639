//! Parses a configuration file, TOML or JSON, into a [`Layer`], and reports each problem with its
//! line and column.
//!
//! Nothing in a file is ignored: an unknown key is an error that names the nearest known one.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use orchestrate_core::policy::hook::HookPoint;
use orchestrate_core::policy::{RuleExample, RuleExamples};
use orchestrate_core::text::similar::nearest;
use orchestrate_files::{Links, read_plain};
use serde::Deserialize;
use toml::de::{DeArray, DeString, DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Table, Value as Written};

use crate::hooks::{GivenHook, HOOKS, OF_HOOK, WrittenHook};
use crate::keys::{Class, KEYS, Key, named};
use crate::layer::{Excerpt, Layer, Location, Problem, ProblemCode, Source, checked};
use crate::secrets::SECRETS;
use crate::values::{Expected, GivenRule, Kind, Value};

/// The maximum size of a configuration file: people write a few kilobytes, so a larger one is the
/// wrong file.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The name of the table with keys and endpoints in the user's own file.
const ENVIRONMENT_TABLE: &str = "environment";
/// The name of the table with the settings of tools.
const TOOLS: &str = "tools";

/// The content of a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigFile {
    /// The settings in it.
    pub layer: Layer,
    /// Keys and endpoints by the name of their variable; only the user's own file may have them.
    pub environment: BTreeMap<String, String>,
    /// The hooks, in the order of the file.
    pub(crate) hooks: Vec<GivenHook>,
}

/// Reads a configuration file; returns `None` if it does not exist.
///
/// # Errors
/// Returns every problem with the file.
pub(crate) fn load_file(
    path: &Path,
    links: Links<'_>,
    source: Source,
    shown: &str,
) -> Result<Option<ConfigFile>, Vec<Problem>> {
    match text_of(path, links) {
        Ok(text) => parse(&text, source, shown).map(Some),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(unreadable(&error, source, shown)),
    }
}

/// Reads a file of tool settings that the environment names.
///
/// # Errors
/// As [`load_file`]; also if it does not exist.
pub(crate) fn load_tool_settings(path: &Path, shown: &str) -> Result<Layer, Vec<Problem>> {
    let source = Source::Environment;
    match text_of(path, Links::Anywhere) {
        Ok(text) => parse_tool_settings(&text, source, shown).map(|file| file.layer),
        Err(error) => Err(unreadable(&error, source, shown)),
    }
}

fn text_of(path: &Path, links: Links<'_>) -> std::io::Result<String> {
    let bytes = read_plain(path, links, MAX_FILE_BYTES)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let message = format!("it is larger than {MAX_FILE_BYTES} bytes");
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn unreadable(error: &std::io::Error, source: Source, shown: &str) -> Vec<Problem> {
    let message = if is_missing(error) {
        "there is no such file".to_owned()
    } else {
        format!("the file cannot be read: {error}")
    };
    let place = Location::new(source, shown);
    vec![Problem::new(place, ProblemCode::Unreadable, message)]
}

/// Parses the text of a configuration file; `shown` names the file in messages.
///
/// # Errors
/// Returns every problem with the text.
pub fn parse(text: &str, source: Source, shown: &str) -> Result<ConfigFile, Vec<Problem>> {
    Reader::new(Content::Settings, source, shown).toml(text)
}

/// Parses the text of a file of tool settings, as TOML, or as JSON if it begins like that.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_tool_settings(
    text: &str,
    source: Source,
    shown: &str,
) -> Result<ConfigFile, Vec<Problem>> {
    let reader = Reader::new(Content::Tools, source, shown);
    if text.trim_start().starts_with('{') {
        reader.json(text)
    } else {
        reader.toml(text)
    }
}

/// Parses the JSON text of a variable with limits of resources.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_limits(text: &str, shown: &str) -> Result<Layer, Vec<Problem>> {
    let reader = Reader::new(Content::Limits, Source::Overrides, shown);
    reader.json(text).map(|file| file.layer)
}

/// What to write instead of the key `land` and keys of the table of that name.
const LAND_TWICE: &str = "`land = true` and the table `[land]` cannot stand in one file: \
                          write `auto = true` in the table";

/// Reports whether a file sets the key `land` as well as keys of the table of that name.
fn says_land_twice(text: &str) -> bool {
    let lines = || text.lines().map(str::trim);
    lines().any(is_key) && lines().any(is_table)
}

fn is_key(line: &str) -> bool {
    line.strip_prefix("land")
        .is_some_and(|rest| rest.trim_start().starts_with('='))
}

fn is_table(line: &str) -> bool {
    line.starts_with("[land]") || line.starts_with("land.")
}

/// What a text has settings of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Everything.
    Settings,
    /// Tools, whose table it may leave out.
    Tools,
    /// Limits of resources that are numbers; it may leave out the table of tools.
    Limits,
}

impl Content {
    /// Returns the name of a key or of a table from the name that it has inside another one.
    fn full_name(self, outer: &str, name: &str) -> String {
        let of_tool = format!("{TOOLS}.{name}");
        if !outer.is_empty() {
            format!("{outer}.{name}")
        } else if self != Content::Settings && (named(&of_tool).is_some() || has_keys(&of_tool)) {
            of_tool
        } else {
            name.to_owned()
        }
    }

    /// Returns the key of this name, if the text may have it.
    fn key(self, name: &str) -> Option<&'static Key> {
        // TOML has no room for `land = true` beside the table `[land]`.
        let name = if name == "land.auto" { "land" } else { name };
        named(name).filter(|key| self.has(key))
    }

    fn has(self, key: &Key) -> bool {
        let is_amount = matches!(
            key.kind,
            Kind::Number { .. } | Kind::Duration | Kind::Dollars
        );
        match self {
            Content::Settings => true,
            Content::Tools => is_inside(key.name, TOOLS),
            Content::Limits => key.class == Class::Limit && is_amount,
        }
    }

    /// Reports whether a table has keys of its own, instead of being the value of one. A table that
    /// is unknown has unknown keys, unless it is empty.
    fn is_group(self, name: &str, is_empty: bool) -> bool {
        has_keys(name) || !is_empty && self.key(name).is_none()
    }

    /// Returns the known name that is nearest to an unknown one.
    fn nearest(self, name: &str) -> Option<&'static str> {
        let known: Vec<&str> = KEYS
            .iter()
            .filter(|key| self.has(key))
            .map(|key| key.name)
            .collect();
        nearest(name, known.iter().copied().chain([HOOKS]))
            .or_else(|| nearest(&format!("{TOOLS}.{name}"), known))
    }
}

fn has_keys(table: &str) -> bool {
    KEYS.iter().any(|key| is_inside(key.name, table))
}

fn is_inside(name: &str, table: &str) -> bool {
    name.strip_prefix(table)
        .is_some_and(|rest| rest.starts_with('.'))
}

/// A rule with its examples.
#[derive(Deserialize)]
#[serde(expecting = "a text, or a table with the key `rule`")]
struct WrittenRule {
    rule: String,
    #[serde(default, rename = "match")]
    matches: Vec<RuleExample>,
    #[serde(default, rename = "not_match")]
    not_matches: Vec<RuleExample>,
}

/// The keys of the table of a rule.
const OF_RULE: [&str; 3] = ["rule", "match", "not_match"];

struct Reader<'a> {
    content: Content,
    source: Source,
    shown: &'a str,
    /// The text if its lines are shown, as those of TOML are.
    text: Option<Arc<str>>,
    file: ConfigFile,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn new(content: Content, source: Source, shown: &str) -> Reader<'_> {
        Reader {
            content,
            source,
            shown,
            text: None,
            file: ConfigFile::default(),
            problems: Vec::new(),
        }
    }

    fn toml(mut self, text: &str) -> Result<ConfigFile, Vec<Problem>> {
        self.text = Some(text.into());
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let skipped = text.len() - body.len();
        match DeTable::parse(body) {
            Ok(table) if skipped == 0 => self.table("", table.get_ref()),
            Ok(_) => {
                let message =
                    "the file begins with a byte order mark: save it as UTF-8 without one";
                self.problem(0..skipped, ProblemCode::Syntax, message);
            }
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let message = error.message().replace('\n', ", ");
                let problem = Problem::new(self.place(span.start), ProblemCode::Syntax, message);
                if says_land_twice(body) {
                    self.push(problem.suggest(LAND_TWICE), span);
                } else {
                    self.push(problem, span);
                }
            }
        }
        checked(self.file, self.problems)
    }

    fn json(mut self, text: &str) -> Result<ConfigFile, Vec<Problem>> {
        match serde_json::from_str(text) {
            Ok(Written::Table(table)) => self.object("", &table),
            Ok(_) => {
                let message = "expected a JSON object such as \
                               {\"code_execution\": {\"timeout_seconds\": 30}}";
                self.problem(0..0, ProblemCode::InvalidValue, message);
            }
            Err(error) => {
                let place = Location {
                    line: error.line(),
                    column: error.column().max(1),
                    ..self.place(0)
                };
                let message = if error.is_data() {
                    error.to_string()
                } else {
                    format!("this is not JSON: {error}")
                };
                let problem = Problem::new(place, ProblemCode::Syntax, message);
                self.problems.push(problem);
            }
        }
        checked(self.file, self.problems)
    }

    /// Reads a table of TOML.
    fn table(&mut self, outer: &str, table: &DeTable<'_>) {
        for (name, value) in in_order(table) {
            let path = self.content.full_name(outer, name.get_ref());
            match value.get_ref() {
                DeValue::Table(secrets)
                    if path == ENVIRONMENT_TABLE && self.content == Content::Settings =>
                {
                    self.environment(name.span(), secrets);
                }
                DeValue::Table(points) if path == HOOKS && self.content == Content::Settings => {
                    self.hooks(points);
                }
                DeValue::Table(inner) if self.content.is_group(&path, inner.is_empty()) => {
                    self.table(&path, inner);
                }
                _ => {
                    if let Some(key) = self.key(&path, name.span()) {
                        self.entry(key, name.span(), value);
                    }
                }
            }
        }
    }

    /// Reads an object of JSON.
    fn object(&mut self, outer: &str, object: &Table) {
        // An object keeps the order of its text only if another crate asks for that.
        let sorted: BTreeMap<&String, &Written> = object.iter().collect();
        for (name, value) in sorted {
            let path = self.content.full_name(outer, name);
            match value {
                Written::Table(inner) if self.content.is_group(&path, inner.is_empty()) => {
                    self.object(&path, inner);
                }
                _ => {
                    let Some(key) = self.key(&path, 0..0) else {
                        continue;
                    };
                    match key.kind.read(value) {
                        Ok(value) => self.take(key, 0..0, value),
                        Err(_) => self.refuse(key, 0..0, &value.to_string()),
                    }
                }
            }
        }
    }

    fn entry(&mut self, key: &'static Key, span: Range<usize>, value: &Spanned<DeValue<'_>>) {
        if let (Kind::Rules, DeValue::Array(items)) = (key.kind, value.get_ref()) {
            if let Some(rules) = self.rules(items) {
                self.take(key, span, Value::Rules(rules));
            }
            return;
        }
        let written = Written::deserialize(ValueDeserializer::from(value.clone())).ok();
        match written.and_then(|written| key.kind.read(&written).ok()) {
            Some(read) => self.take(key, span, read),
            None => {
                let written = self.written(value.span()).to_owned();
                self.refuse(key, value.span(), &written);
            }
        }
    }

    /// Returns the key of a name; `None`, with a problem, if there is none.
    fn key(&mut self, name: &str, span: Range<usize>) -> Option<&'static Key> {
        let found = self.content.key(name);
        if found.is_none() {
            self.unknown(name, span, self.content.nearest(name));
        }
        found
    }

    fn take(&mut self, key: &'static Key, span: Range<usize>, value: Value) {
        let place = self.place(span.start);
        let given = &self.file.layer.given;
        let problem = if given.iter().any(|given| given.key == key) {
            let message = format!("`{}` is set twice", key.name);
            Some(Problem::new(place, ProblemCode::Ambiguous, message))
        } else {
            self.file.layer.take(key, value, place).err()
        };
        if let Some(problem) = problem {
            self.push(problem, span);
        }
    }

    fn refuse(&mut self, key: &Key, span: Range<usize>, written: &str) {
        let (name, expected) = (key.name, Expected(key.kind));
        let message = format!("invalid value `{written}` for `{name}`: expected {expected}");
        self.problem(span, ProblemCode::InvalidValue, message);
    }

    /// Reads a list of rules, each a text or a table with examples; `None` if there is a problem
    /// with one.
    fn rules(&mut self, items: &DeArray<'_>) -> Option<Vec<GivenRule>> {
        let rules: Vec<Option<GivenRule>> = items.iter().map(|item| self.rule(item)).collect();
        rules.into_iter().collect()
    }

    fn rule(&mut self, item: &Spanned<DeValue<'_>>) -> Option<GivenRule> {
        let Location { line, column, .. } = self.place(item.span().start);
        let written = match item.get_ref() {
            DeValue::String(rule) => WrittenRule {
                rule: rule.to_string(),
                matches: Vec::new(),
                not_matches: Vec::new(),
            },
            value => {
                if let DeValue::Table(table) = value {
                    self.require_known_parts(table, &OF_RULE)?;
                }
                match WrittenRule::deserialize(ValueDeserializer::from(item.clone())) {
                    Ok(written) => written,
                    Err(error) => {
                        let message = format!("in a rule: {}", error.message());
                        let span = error.span().unwrap_or(item.span());
                        self.problem(span, ProblemCode::InvalidValue, message);
                        return None;
                    }
                }
            }
        };
        Some(GivenRule {
            rule: written.rule.trim().to_owned(),
            examples: RuleExamples {
                matches: written.matches,
                not_matches: written.not_matches,
            },
            position: Some((line, column)),
        })
    }

    /// Returns `None`, with a problem, if a table in a list has a key that is not one of these.
    fn require_known_parts(&mut self, table: &DeTable<'_>, known: &[&str]) -> Option<()> {
        let name = table
            .keys()
            .find(|name| !known.contains(&name.get_ref().as_ref()));
        let Some(name) = name else { return Some(()) };
        let nearest = nearest(name.get_ref(), known.iter().copied());
        self.unknown(name.get_ref(), name.span(), nearest);
        None
    }

    /// Reads the table of hooks, which has a list of them for each point.
    fn hooks(&mut self, points: &DeTable<'_>) {
        for (name, value) in in_order(points) {
            let text: &str = name.get_ref();
            let Some(point) = HookPoint::ALL
                .into_iter()
                .find(|point| point.as_str() == text)
            else {
                let known = HookPoint::ALL.map(HookPoint::as_str);
                self.unknown(
                    &format!("{HOOKS}.{text}"),
                    name.span(),
                    nearest(text, known),
                );
                continue;
            };
            let DeValue::Array(items) = value.get_ref() else {
                let message = format!("write each hook as a table `[[{HOOKS}.{text}]]`");
                self.problem(value.span(), ProblemCode::InvalidValue, message);
                continue;
            };
            for item in items {
                self.hook(point, item);
            }
        }
    }

    fn hook(&mut self, point: HookPoint, item: &Spanned<DeValue<'_>>) {
        if let DeValue::Table(table) = item.get_ref()
            && self.require_known_parts(table, &OF_HOOK).is_none()
        {
            return;
        }
        let of_hook =
            |error: &dyn std::fmt::Display| format!("in a hook of `{}`: {error}", point.as_str());
        let written = WrittenHook::deserialize(ValueDeserializer::from(item.clone()));
        let (span, message) = match written {
            Ok(written) => match written.given(point, self.place(item.span().start)) {
                Ok(given) => return self.file.hooks.push(given),
                Err(message) => (item.span(), of_hook(&message)),
            },
            Err(error) => {
                let span = error.span().unwrap_or(item.span());
                (span, of_hook(&error.message()))
            }
        };
        self.problem(span, ProblemCode::InvalidValue, message);
    }

    fn environment(&mut self, span: Range<usize>, table: &DeTable<'_>) {
        if self.source != Source::User {
            let message = "keys and endpoints are never taken from a repository";
            return self.problem(span, ProblemCode::NotAllowedHere, message);
        }
        for (name, value) in in_order(table) {
            let text: &str = name.get_ref();
            match value.get_ref() {
                _ if !SECRETS.contains(&text) => {
                    self.unknown(text, name.span(), nearest(text, SECRETS.iter().copied()));
                }
                DeValue::String(given) => {
                    let environment = &mut self.file.environment;
                    environment.insert(text.to_owned(), given.to_string());
                }
                _ => {
                    let message = format!("`{text}` must be a string in quotes");
                    self.problem(value.span(), ProblemCode::InvalidValue, message);
                }
            }
        }
    }

    fn unknown(&mut self, name: &str, span: Range<usize>, nearest: Option<&str>) {
        let here = match self.content {
            Content::Settings => "",
            Content::Tools | Content::Limits => " here",
        };
        let message = format!("there is no key `{name}`{here}");
        let place = self.place(span.start);
        let mut problem = Problem::new(place, ProblemCode::UnknownKey, message);
        problem.suggestion = nearest.map(|nearest| format!("did you mean `{nearest}`?"));
        self.push(problem, span);
    }

    fn problem(&mut self, span: Range<usize>, code: ProblemCode, message: impl Into<String>) {
        let problem = Problem::new(self.place(span.start), code, message);
        self.push(problem, span);
    }

    fn push(&mut self, mut problem: Problem, span: Range<usize>) {
        if let Some(text) = &self.text {
            let text = Arc::clone(text);
            problem.excerpt = Some(Box::new(Excerpt { text, span }));
        }
        self.problems.push(problem);
    }

    /// Returns a part of the text; nothing if the settings are of no text.
    fn written(&self, span: Range<usize>) -> &str {
        let written = self.text.as_deref().and_then(|text| text.get(span));
        written.map_or("", str::trim)
    }

    fn place(&self, offset: usize) -> Location {
        let place = Location::new(self.source.clone(), self.shown);
        let Some(text) = &self.text else {
            return place;
        };
        let (before, _) = text.split_at(text.floor_char_boundary(offset));
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let (_, line) = before.split_at(line_start);
        Location {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            ..place
        }
    }
}

/// Returns a table's entries in the order of the file, so that problems are listed from top to
/// bottom.
fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

#[cfg(test)]
mod tests {
    use orchestrate_core::policy::RuleExamples;

    use super::*;
    use crate::layer::Given;

    fn lines(result: Result<ConfigFile, Vec<Problem>>) -> Vec<String> {
        match result {
            Ok(file) => file
                .layer
                .given
                .iter()
                .map(|given| format!("{} {} = {}", given.place, given.key.name, given.value))
                .collect(),
            Err(problems) => problems
                .iter()
                .map(|problem| match &problem.suggestion {
                    Some(suggestion) => format!("{problem} ({suggestion})"),
                    None => problem.to_string(),
                })
                .collect(),
        }
    }

    #[test]
    fn every_key_is_read_with_its_place() {
        let text = "model = 'script:x'\nmax_agents = 0x10\ntimeout = '5m'\nmerge = 'review'\ndeny \
                    = ['Bash(git push:*)']\n[worktree]\nsetup = 'npm ci'\n";
        assert_eq!(
            lines(parse(text, Source::Project, "orchestrate.toml")),
            [
                "orchestrate.toml:1:1 model = script:x",
                "orchestrate.toml:2:1 max_agents = 16",
                "orchestrate.toml:3:1 timeout = 300000",
                "orchestrate.toml:4:1 merge = review",
                "orchestrate.toml:5:1 deny = Bash(git push:*)",
                "orchestrate.toml:7:1 worktree.setup = npm ci",
            ]
        );
    }

    #[test]
    fn a_rule_may_have_examples() {
        let text = "deny = [\n  'Bash(x)',\n  { rule = 'Bash(git:*)', match = ['git a', ['git', 'b \
                    c']], not_match = ['x'] },\n]\n";
        let file = parse(text, Source::Project, "orchestrate.toml").unwrap();
        let [
            Given {
                value: Value::Rules(rules),
                ..
            },
        ] = file.layer.given.as_slice()
        else {
            panic!("{file:?}")
        };
        let words = RuleExample::Words(vec!["git".to_owned(), "b c".to_owned()]);
        let text = |text: &str| RuleExample::Text(text.to_owned());
        let examples = RuleExamples {
            matches: vec![text("git a"), words],
            not_matches: vec![text("x")],
        };
        let expected = [
            GivenRule {
                position: Some((2, 3)),
                ..GivenRule::new("Bash(x)")
            },
            GivenRule {
                position: Some((3, 3)),
                examples,
                ..GivenRule::new("Bash(git:*)")
            },
        ];
        assert_eq!(*rules, expected);
    }

    #[test]
    fn a_rule_of_another_form_is_refused_with_its_place() {
        let refused = |rule: &str| {
            lines(parse(
                &format!("ask = [\n{rule}]\n"),
                Source::User,
                "config.toml",
            ))
        };
        let table = [
            (
                "7",
                "config.toml:2:1: in a rule: invalid type: integer `7`, expected a text, or a \
                 table with the key `rule`",
            ),
            (
                "{ match = ['a'] }",
                "config.toml:2:1: in a rule: missing field `rule`",
            ),
            (
                "{ rule = 'a', matchs = [] }",
                "config.toml:2:15: there is no key `matchs` (did you mean `match`?)",
            ),
            (
                "{ rule = 1 }",
                "config.toml:2:10: in a rule: invalid type: integer `1`, expected a string",
            ),
            (
                "{ rule = 'a', match = 'a' }",
                "config.toml:2:23: in a rule: invalid type: string \"a\", expected a sequence",
            ),
            (
                "{ rule = 'a', not_match = [[1]] }",
                "config.toml:2:27: in a rule: expected a text, or a list of words",
            ),
        ];
        for (rule, expected) in table {
            assert_eq!(refused(rule), [expected]);
        }
    }

    #[test]
    fn landing_is_switched_on_beside_its_message() {
        let parsed = |text: &str| lines(parse(text, Source::User, "config.toml"));
        assert_eq!(parsed("land = true\n"), ["config.toml:1:1 land = true"]);
        let both = "[land]\nauto = true\nmessage = '{title}'\n";
        assert_eq!(
            parsed(both),
            [
                "config.toml:2:1 land = true",
                "config.toml:3:1 land.message = {title}"
            ]
        );
        for clash in [
            "land = true\n[land]\nmessage = 'x'\n",
            "land = true\nland.message = 'x'\n",
        ] {
            let advice = "(`land = true` and the table `[land]` cannot stand in one file: write \
                          `auto = true` in the table)";
            let said = parsed(clash);
            assert!(
                said.len() == 1 && said.iter().all(|line| line.ends_with(advice)),
                "{said:?}"
            );
        }
    }

    #[test]
    fn all_problems_are_found_with_line_and_column() {
        let text = "max_agent = 3\nmerge = 'maybe'\n  max_depth = -1\nno_sandbox = true\nbase_url \
                    = 'http://x'\nmodel = 'replay:r-a'\n[worktree]\nsetpu = 'x'\n[environment]\n\
                    OPENAI_API_KEY = 'k'\n";
        assert_eq!(
            lines(parse(text, Source::Project, "o.toml")),
            [
                "o.toml:1:1: there is no key `max_agent` (did you mean `max_agents`?)",
                "o.toml:2:9: invalid value `'maybe'` for `merge`: expected one of auto, review, \
                 none",
                "o.toml:3:15: invalid value `-1` for `max_depth`: expected a whole number from 0 \
                 to 100",
                "o.toml:4:1: `no_sandbox` can only be set on the command line",
                "o.toml:5:1: `base_url` is never read from a repository (set it in your own \
                 configuration file, or use the option)",
                "o.toml:6:1: `model` as `replay:RUN` is not available yet",
                "o.toml:8:1: there is no key `worktree.setpu` (did you mean `worktree.setup`?)",
                "o.toml:9:2: keys and endpoints are never taken from a repository",
            ]
        );
    }

    #[test]
    fn only_the_user_adds_to_what_commands_see() {
        let text = "[sandbox]\nread = ['~/tools', '/srv']\nenv = ['CI']\n";
        assert_eq!(
            lines(parse(text, Source::User, "config.toml")),
            [
                "config.toml:2:1 sandbox.read = ~/tools, /srv",
                "config.toml:3:1 sandbox.env = CI"
            ]
        );
        let refused = |line: usize, key: &str| {
            format!(
                "o.toml:{line}:1: `sandbox.{key}` is never read from a repository (set it in your \
                 own configuration file)"
            )
        };
        assert_eq!(
            lines(parse(text, Source::Project, "o.toml")),
            [refused(2, "read"), refused(3, "env")]
        );
        let wrong = "[sandbox]\nread = ['tools']\nenv = ['A=1']\nwrite = ['~/x']\n";
        assert_eq!(
            lines(parse(wrong, Source::User, "config.toml")),
            [
                "config.toml:2:8: invalid value `['tools']` for `sandbox.read`: expected a list of \
                 paths such as [\"~/tools\", \"/srv/data\"]",
                "config.toml:3:7: invalid value `['A=1']` for `sandbox.env`: expected a list of \
                 names of variables such as [\"CI\"]",
                "config.toml:4:1: there is no key `sandbox.write`",
            ]
        );
    }

    #[test]
    fn the_settings_of_tools_have_tables_of_their_own() {
        let text = "[tools.file_operations]\nmax_file_size_mb = 5\nallowed_extensions = ['py']\n\
            [tools]\ncode_execution.timeout_seconds = 30\n";
        let expected = |file: &str| {
            [
                format!("{file}:2:1 tools.file_operations.max_file_size_mb = 5"),
                format!("{file}:3:1 tools.file_operations.allowed_extensions = .py"),
                format!("{file}:5:16 tools.code_execution.timeout_seconds = 30"),
            ]
        };
        assert_eq!(
            lines(parse(text, Source::Project, "o.toml")),
            expected("o.toml")
        );
        assert_eq!(
            lines(parse_tool_settings(text, Source::Environment, "t.toml")),
            expected("t.toml")
        );
        let bare = text
            .replace("tools.", "")
            .replace("[tools]\n", "[code_execution]\n")
            .replace("code_execution.", "");
        let found = lines(parse_tool_settings(&bare, Source::Environment, "t.toml"));
        assert_eq!(
            found.last().map(String::as_str),
            Some("t.toml:5:1 tools.code_execution.timeout_seconds = 30")
        );
        let wrong = "max_agents = 3\n[file_operation]\nmax_file_size_mb = 5\n[code_execution]\n\
                     allowed_commands = ['a b']\n";
        assert_eq!(
            lines(parse_tool_settings(wrong, Source::Environment, "t.toml")),
            [
                "t.toml:1:1: there is no key `max_agents` here",
                "t.toml:3:1: there is no key `file_operation.max_file_size_mb` here (did you mean \
                 `tools.file_operations.max_file_size_mb`?)",
                "t.toml:5:20: invalid value `['a b']` for `tools.code_execution.allowed_commands`: \
                 expected a list of programs such as [\"python\", \"pytest\"]",
            ]
        );
    }

    #[test]
    fn what_is_no_toml_is_shown_where_it_breaks() {
        let found = lines(parse("model = \n", Source::User, "config.toml"));
        assert_eq!(found.len(), 1);
        assert!(
            found.iter().all(|line| line.starts_with("config.toml:1:")),
            "{found:?}"
        );
    }

    #[test]
    fn the_user_may_keep_keys_and_endpoints() {
        let text = "[environment]\nOPENAI_API_KEY = 'k'\nOPENAI_BASE_UR = 'x'\n";
        assert_eq!(
            lines(parse(text, Source::User, "config.toml")),
            ["config.toml:3:1: there is no key `OPENAI_BASE_UR` (did you mean `OPENAI_BASE_URL`?)"]
        );
    }

    fn tool_settings(text: &str) -> Vec<String> {
        lines(parse_tool_settings(text, Source::Environment, "tools.json"))
    }

    fn resource_limits(text: &str) -> Vec<String> {
        let layer = parse_limits(text, "RALPH_RESOURCE_LIMITS");
        lines(layer.map(|layer| ConfigFile {
            layer,
            ..ConfigFile::default()
        }))
    }

    #[test]
    fn settings_of_tools_may_leave_out_their_table() {
        let expected = [
            "tools.json tools.code_execution.timeout_seconds = 30",
            "tools.json tools.file_operations.forbidden_paths = /etc, a/b",
        ];
        let inner = r#"{"code_execution": {"timeout_seconds": 30},
            "file_operations": {"forbidden_paths": ["/etc/", "a//b"]}}"#;
        assert_eq!(tool_settings(inner), expected);
        assert_eq!(tool_settings(&format!(r#"{{"tools": {inner}}}"#)), expected);
    }

    #[test]
    fn every_problem_of_json_is_found() {
        let wrong = r#"{"code_execution": {"timeout_second": 30, "memory_limit_mb": "much"},
            "max_agents": 3}"#;
        assert_eq!(
            tool_settings(wrong),
            [
                "tools.json: invalid value `\"much\"` for `tools.code_execution.memory_limit_mb`: \
                 expected a whole number from 16 to 4294967295",
                "tools.json: there is no key `tools.code_execution.timeout_second` here (did you \
                 mean `tools.code_execution.timeout_seconds`?)",
                "tools.json: there is no key `max_agents` here",
            ]
        );
        assert_eq!(
            tool_settings("{"),
            ["tools.json:1:1: this is not JSON: EOF while parsing an object at line 1 column 1"]
        );
        let unknown = r#"{"code_execution": {}, "code_executio": {}}"#;
        assert_eq!(
            tool_settings(unknown),
            ["tools.json: there is no key `code_executio` here"]
        );
        let expected = "RALPH_RESOURCE_LIMITS: expected a JSON object such as \
                        {\"code_execution\": {\"timeout_seconds\": 30}}";
        assert_eq!(resource_limits("[]"), [expected]);
    }

    #[test]
    fn a_key_is_set_once() {
        let table = [
            (
                r#"{"max_agents": 4, "max_agents": 400}"#,
                "RALPH_RESOURCE_LIMITS:1:30: duplicate key: `max_agents` at line 1 column 30",
            ),
            (
                r#"{"code_execution": {"memory_limit_mb": 64}, "code_execution": {}}"#,
                "RALPH_RESOURCE_LIMITS:1:60: duplicate key: `code_execution` at line 1 column 60",
            ),
            (
                r#"{"code_execution": {"memory_limit_mb": 64},
                    "tools": {"code_execution": {"memory_limit_mb": 65}}}"#,
                "RALPH_RESOURCE_LIMITS: `tools.code_execution.memory_limit_mb` is set twice",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(resource_limits(text), [expected]);
        }
        let twice = "[code_execution]\ncpu_seconds = 5\n[tools.code_execution]\ncpu_seconds = 50\n";
        assert_eq!(
            tool_settings(twice),
            ["tools.json:4:1: `tools.code_execution.cpu_seconds` is set twice"]
        );
    }

    #[test]
    fn limits_of_resources_are_numbers() {
        let text = r#"{"max_agents": 4, "timeout": "5m", "budget_usd": 2.5,
            "code_execution": {"memory_limit_mb": 512}}"#;
        let given = |line: &str| format!("RALPH_RESOURCE_LIMITS {line}");
        assert_eq!(
            resource_limits(text),
            [
                given("budget_usd = $2.50"),
                given("tools.code_execution.memory_limit_mb = 512"),
                given("max_agents = 4"),
                given("timeout = 300000"),
            ]
        );
        let wrong =
            r#"{"model": "a/b", "max_agent": 4, "code_execution": {"allowed_commands": ["x"]}}"#;
        assert_eq!(
            resource_limits(wrong),
            [
                "RALPH_RESOURCE_LIMITS: there is no key `tools.code_execution.allowed_commands` \
                 here",
                "RALPH_RESOURCE_LIMITS: there is no key `max_agent` here (did you mean \
                 `max_agents`?)",
                "RALPH_RESOURCE_LIMITS: there is no key `model` here",
            ]
        );
    }
}
