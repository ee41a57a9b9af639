//! Parses a configuration file into a [`Layer`], and reports each problem with its line and column.
//!
//! Nothing in a file is ignored: an unknown key is an error that names the nearest known one.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use orchestrate_core::policy::RuleExample;
use orchestrate_core::text::parts::Parts;
use orchestrate_files::{Links, read_plain};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::environment::SECRETS;
use crate::json::{self, TOOLS};
use crate::keys::{Class, Expected, GivenRule, Kind, Value, named};
use crate::layers::{Excerpt, Layer, Location, Problem, ProblemCode, Source, names};

/// The maximum size of a configuration file: people write a few kilobytes, so a larger one is the
/// wrong file.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The name of the table with keys and endpoints in the user's own file.
const ENVIRONMENT_TABLE: &str = "environment";

/// The content of a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigFile {
    /// The settings in it.
    pub layer: Layer,
    /// Keys and endpoints by the name of their variable; only the user's own file may have them.
    pub environment: BTreeMap<String, String>,
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
    let text = text_of(path, links, &source, shown)?;
    text.map(|text| parse(&text, source, shown)).transpose()
}

/// Reads a file of tool settings that the environment names.
///
/// # Errors
/// As [`load_file`]; also if it does not exist.
pub(crate) fn load_tool_settings(path: &Path, shown: &str) -> Result<Layer, Vec<Problem>> {
    let source = Source::Environment;
    let Some(text) = text_of(path, Links::Anywhere, &source, shown)? else {
        let place = Location::new(source, shown);
        return Err(vec![Problem::new(
            place,
            ProblemCode::Unreadable,
            "there is no such file",
        )]);
    };
    parse_tool_settings(&text, source, shown).map(|file| file.layer)
}

fn text_of(
    path: &Path,
    links: Links<'_>,
    source: &Source,
    shown: &str,
) -> Result<Option<String>, Vec<Problem>> {
    let unreadable = |message: String| {
        vec![Problem::new(
            Location::new(source.clone(), shown),
            ProblemCode::Unreadable,
            message,
        )]
    };
    let bytes = match read_plain(path, links, MAX_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(format!("the file cannot be read: {error}"))),
    };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(unreadable(format!(
            "the file is larger than {MAX_FILE_BYTES} bytes"
        )));
    }
    let text = String::from_utf8(bytes);
    text.map(Some)
        .map_err(|error| unreadable(format!("the file cannot be read as text: {error}")))
}

/// Parses the text of a configuration file; `shown` names the file in messages.
///
/// # Errors
/// Returns every problem with the text.
pub fn parse(text: &str, source: Source, shown: &str) -> Result<ConfigFile, Vec<Problem>> {
    parse_with(text, source, shown, |reader, table| reader.table(table))
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
    if text.trim_start().starts_with('{') {
        let layer = json::tool_settings(text, &Location::new(source, shown))?;
        return Ok(ConfigFile {
            layer,
            ..ConfigFile::default()
        });
    }
    parse_with(text, source, shown, |reader, table| {
        reader.table_of_tools(table)
    })
}

fn parse_with(
    text: &str,
    source: Source,
    shown: &str,
    read: impl FnOnce(&mut Reader<'_>, &DeTable<'_>),
) -> Result<ConfigFile, Vec<Problem>> {
    let mut reader = Reader {
        text: text.into(),
        source,
        shown,
        file: ConfigFile::default(),
        problems: Vec::new(),
    };
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = text.len() - body.len();
    match DeTable::parse(body) {
        Ok(table) if skipped == 0 => read(&mut reader, table.get_ref()),
        Ok(_) => {
            let message = "the file begins with a byte order mark: save it as UTF-8 without one";
            reader.problem(0..skipped, ProblemCode::Syntax, message.to_owned());
        }
        Err(error) => {
            let message = error.message().replace('\n', ", ");
            let span = error.span().unwrap_or(0..0);
            let mut problem = Problem::new(reader.place(span.start), ProblemCode::Syntax, message);
            problem.suggestion = says_land_twice(body).then(|| {
                "`land = true` and the table `[land]` cannot stand in one file: write `auto = true` in the table"
                    .to_owned()
            });
            reader.push(problem, span);
        }
    }
    if reader.problems.is_empty() {
        Ok(reader.file)
    } else {
        Err(reader.problems)
    }
}

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

struct Reader<'a> {
    text: Arc<str>,
    source: Source,
    shown: &'a str,
    file: ConfigFile,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>) {
        for (name, value) in in_order(table) {
            let text: &str = name.get_ref();
            match (text, value.get_ref()) {
                (ENVIRONMENT_TABLE, DeValue::Table(table)) => self.environment(name.span(), table),
                (
                    "clean" | "commit" | "land" | "sandbox" | "taint" | TOOLS | "worktree",
                    DeValue::Table(table),
                ) => self.subtable(text, table),
                _ => self.entry(text, name.span(), value),
            }
        }
    }

    /// Reads a file that is about tools only, and may leave out the name of their table.
    fn table_of_tools(&mut self, table: &DeTable<'_>) {
        for (name, value) in in_order(table) {
            match (name.get_ref().as_ref(), value.get_ref()) {
                (TOOLS, DeValue::Table(tools)) => self.subtable(TOOLS, tools),
                (name_of_group, DeValue::Table(group)) => {
                    self.subtable(&format!("{TOOLS}.{name_of_group}"), group)
                }
                (other, _) => self.entry(&format!("{TOOLS}.{other}"), name.span(), value),
            }
        }
    }

    fn subtable(&mut self, outer: &str, table: &DeTable<'_>) {
        for (name, value) in in_order(table) {
            let inner = name.get_ref().as_ref();
            match (outer, inner, value.get_ref()) {
                // TOML has no room for `land = true` beside the table `[land]`.
                ("land", "auto", _) => self.entry("land", name.span(), value),
                (TOOLS, _, DeValue::Table(group)) => {
                    self.subtable(&format!("{TOOLS}.{inner}"), group)
                }
                ("worktree", "warm_limit", DeValue::Table(limits)) => {
                    self.subtable("worktree.warm_limit", limits)
                }
                _ => self.entry(&format!("{outer}.{inner}"), name.span(), value),
            }
        }
    }

    fn entry(&mut self, name: &str, span: Range<usize>, value: &Spanned<DeValue<'_>>) {
        let Some(key) = named(name) else {
            return self.unknown(name, span, &mut names());
        };
        let given = match (key.class, value.get_ref()) {
            (Class::Rules, DeValue::Array(items)) => match self.rules(items) {
                Some(rules) => Ok(Value::Rules(rules)),
                None => return,
            },
            (_, value) => read_value(key.kind, value),
        };
        match given {
            Ok(given) => {
                let place = self.place(span.start);
                if let Err(problem) = self.file.layer.take(key, given, place) {
                    self.push(problem, span);
                }
            }
            Err(expected) => {
                let written = self.text.part(value.span()).trim().to_owned();
                let message =
                    format!("invalid value `{written}` for `{name}`: expected {expected}");
                self.problem(value.span(), ProblemCode::InvalidValue, message);
            }
        }
    }

    /// Reads a list of rules, each a text or a table with examples; `None` if there is a problem
    /// with one.
    fn rules(&mut self, items: &DeArray<'_>) -> Option<Vec<GivenRule>> {
        let rules: Vec<Option<GivenRule>> = items.iter().map(|item| self.rule(item)).collect();
        rules.into_iter().collect()
    }

    fn rule(&mut self, item: &Spanned<DeValue<'_>>) -> Option<GivenRule> {
        let Location { line, column, .. } = self.place(item.span().start);
        let position = Some((line, column));
        let mut given = match item.get_ref() {
            DeValue::String(rule) => {
                return Some(GivenRule {
                    position,
                    ..GivenRule::new(rule.trim())
                });
            }
            DeValue::Table(table) => {
                let mut given = GivenRule {
                    position,
                    ..GivenRule::new("")
                };
                for (name, value) in in_order(table) {
                    self.part_of_rule(&mut given, name, value)?;
                }
                given
            }
            _ => GivenRule::new(""),
        };
        if given.rule.is_empty() {
            let written = self.text.part(item.span()).trim().to_owned();
            let message =
                format!("`{written}` is no rule: expected a text, or a table with the key `rule`");
            self.problem(item.span(), ProblemCode::InvalidValue, message);
            return None;
        }
        given.rule = given.rule.trim().to_owned();
        Some(given)
    }

    /// Reads one key of the table of a rule; `None` if there is a problem with it.
    fn part_of_rule(
        &mut self,
        given: &mut GivenRule,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<()> {
        let name_of: &str = name.get_ref();
        let is_read = match (name_of, value.get_ref()) {
            ("rule", DeValue::String(rule)) => {
                given.rule = rule.to_string();
                true
            }
            ("match", DeValue::Array(items)) => examples(items)
                .map(|read| given.examples.matches = read)
                .is_some(),
            ("not_match", DeValue::Array(items)) => examples(items)
                .map(|read| given.examples.not_matches = read)
                .is_some(),
            ("rule" | "match" | "not_match", _) => false,
            _ => {
                self.unknown(
                    name_of,
                    name.span(),
                    &mut ["rule", "match", "not_match"].into_iter(),
                );
                return None;
            }
        };
        if !is_read {
            let expected = if name_of == "rule" {
                "a text"
            } else {
                "a list of texts, or of lists of words"
            };
            let message = format!("`{name_of}` of a rule must be {expected}");
            self.problem(value.span(), ProblemCode::InvalidValue, message);
        }
        is_read.then_some(())
    }

    fn environment(&mut self, span: Range<usize>, table: &DeTable<'_>) {
        if self.source != Source::User {
            let message = "keys and endpoints are never taken from a repository".to_owned();
            return self.problem(span, ProblemCode::NotAllowedHere, message);
        }
        for (name, value) in in_order(table) {
            let text: &str = name.get_ref();
            match value.get_ref() {
                _ if !SECRETS.contains(&text) => {
                    self.unknown(text, name.span(), &mut SECRETS.iter().copied())
                }
                DeValue::String(given) => {
                    self.file
                        .environment
                        .insert(text.to_owned(), given.to_string());
                }
                _ => self.problem(
                    value.span(),
                    ProblemCode::InvalidValue,
                    format!("`{text}` must be a string in quotes"),
                ),
            }
        }
    }

    fn unknown(
        &mut self,
        name: &str,
        span: Range<usize>,
        known: &mut dyn Iterator<Item = &'static str>,
    ) {
        let nearest = orchestrate_core::text::similar::nearest(name, known);
        let mut problem = Problem::new(
            self.place(span.start),
            ProblemCode::UnknownKey,
            format!("there is no key `{name}`"),
        );
        problem.suggestion = nearest.map(|nearest| format!("did you mean `{nearest}`?"));
        self.push(problem, span);
    }

    fn problem(&mut self, span: Range<usize>, code: ProblemCode, message: String) {
        let problem = Problem::new(self.place(span.start), code, message);
        self.push(problem, span);
    }

    fn push(&mut self, mut problem: Problem, span: Range<usize>) {
        problem.excerpt = Some(Box::new(Excerpt {
            text: Arc::clone(&self.text),
            span,
        }));
        self.problems.push(problem);
    }

    fn place(&self, offset: usize) -> Location {
        let before = self.text.head(offset);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Location {
            source: self.source.clone(),
            name: self.shown.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.tail(line_start).chars().count() + 1,
        }
    }
}

/// Returns a table's entries in the order of the file, so that problems are listed from top to
/// bottom.
fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(
    &'t Spanned<std::borrow::Cow<'i, str>>,
    &'t Spanned<DeValue<'i>>,
)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

/// Reads the examples of a rule, each a text or a list of words.
fn examples(items: &DeArray<'_>) -> Option<Vec<RuleExample>> {
    let text = |item: &Spanned<DeValue<'_>>| item.get_ref().as_str().map(str::to_owned);
    let read = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::Array(words) => words
            .iter()
            .map(text)
            .collect::<Option<_>>()
            .map(RuleExample::Words),
        _ => text(item).map(RuleExample::Text),
    };
    items.iter().map(read).collect()
}

/// Returns a decimal number as it is written.
fn number_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().replace('_', "")),
        DeValue::Float(number) => Some(number.as_str().replace('_', "")),
        DeValue::String(text) => Some(text.trim().to_owned()),
        _ => None,
    }
}

/// Reads a table of models, each with the table of its rates.
fn prices(kind: Kind, table: &DeTable<'_>) -> Result<Value, Expected> {
    let mut prices = BTreeMap::new();
    for (model, rates) in table {
        let DeValue::Table(rates) = rates.get_ref() else {
            return Err(Expected(kind));
        };
        if !rates.iter().all(|(name, _)| is_known(name.get_ref())) {
            return Err(Expected(kind));
        }
        let rate = |wanted: &str| {
            let found = rates.iter().find(|(name, _)| name.get_ref() == wanted);
            found
                .map(|(_, value)| number_of(value.get_ref()).ok_or(Expected(kind)))
                .transpose()
        };
        let [input, cached, output] = [rate("input")?, rate("cached")?, rate("output")?];
        let price = kind.price(input.as_deref(), cached.as_deref(), output.as_deref())?;
        prices.insert(model.get_ref().to_string(), price);
    }
    Ok(Value::Prices(prices))
}

fn is_known(name: &str) -> bool {
    matches!(name, "input" | "cached" | "output")
}

fn read_value<'v>(kind: Kind, value: &'v DeValue<'_>) -> Result<Value, Expected> {
    match (kind, value) {
        (Kind::Number { .. } | Kind::Duration, DeValue::Integer(number)) => {
            let parsed = u64::from_str_radix(&number.as_str().replace('_', ""), number.radix());
            kind.number(parsed.map_err(|_| Expected(kind))?)
        }
        (Kind::Switch, DeValue::Boolean(on)) => Ok(Value::Switch(*on)),
        (Kind::Paths | Kind::Variables | Kind::Models | Kind::Names(_), DeValue::Array(items)) => {
            let text =
                |item: &'v Spanned<DeValue<'_>>| item.get_ref().as_str().ok_or(Expected(kind));
            kind.list(items.iter().map(text).collect::<Result<Vec<&str>, _>>()?)
        }
        (Kind::Dollars, number) => kind.dollars(&number_of(number).ok_or(Expected(kind))?),
        (Kind::Prices, DeValue::Table(table)) => prices(kind, table),
        (Kind::Limits, DeValue::Table(table)) => {
            let read =
                |(model, tokens): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
                    let DeValue::Integer(number) = tokens.get_ref() else {
                        return Err(Expected(kind));
                    };
                    let tokens =
                        u64::from_str_radix(&number.as_str().replace('_', ""), number.radix());
                    Ok((
                        model.get_ref().to_string(),
                        tokens.map_err(|_| Expected(kind))?,
                    ))
                };
            kind.limits(table.iter().map(read).collect::<Result<_, _>>()?)
        }
        (
            Kind::Text | Kind::Message | Kind::Duration | Kind::Merge | Kind::OneOf(_),
            DeValue::String(text),
        ) => kind.parse(text),
        _ => Err(Expected(kind)),
    }
}

#[cfg(test)]
mod tests {
    use orchestrate_core::policy::RuleExamples;

    use super::*;
    use crate::layers::Given;

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
        let text = "model = 'script:x'\nmax_agents = 0x10\ntimeout = '5m'\nmerge = 'review'\ndeny = ['Bash(git push:*)']\n[worktree]\nsetup = 'npm ci'\n";
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
        let text = "deny = [\n  'Bash(x)',\n  { rule = 'Bash(git:*)', match = ['git a', ['git', 'b c']], not_match = ['x'] },\n]\n";
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
                "config.toml:2:1: `7` is no rule: expected a text, or a table with the key `rule`",
            ),
            (
                "{ match = ['a'] }",
                "config.toml:2:1: `{ match = ['a'] }` is no rule: expected a text, or a table with the key `rule`",
            ),
            (
                "{ rule = 'a', matchs = [] }",
                "config.toml:2:15: there is no key `matchs` (did you mean `match`?)",
            ),
            (
                "{ rule = 1 }",
                "config.toml:2:10: `rule` of a rule must be a text",
            ),
            (
                "{ rule = 'a', match = 'a' }",
                "config.toml:2:23: `match` of a rule must be a list of texts, or of lists of words",
            ),
            (
                "{ rule = 'a', not_match = [[1]] }",
                "config.toml:2:27: `not_match` of a rule must be a list of texts, or of lists of words",
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
            let advice = "(`land = true` and the table `[land]` cannot stand in one file: write `auto = true` in the table)";
            let said = parsed(clash);
            assert!(
                said.len() == 1 && said.iter().all(|line| line.ends_with(advice)),
                "{said:?}"
            );
        }
    }

    #[test]
    fn all_problems_are_found_with_line_and_column() {
        let text = "max_agent = 3\nmerge = 'maybe'\n  max_depth = -1\nno_sandbox = true\nbase_url = 'http://x'\nmodel = 'replay:r-a'\n[worktree]\nsetpu = 'x'\n[environment]\nOPENAI_API_KEY = 'k'\n";
        assert_eq!(
            lines(parse(text, Source::Project, "o.toml")),
            [
                "o.toml:1:1: there is no key `max_agent` (did you mean `max_agents`?)",
                "o.toml:2:9: invalid value `'maybe'` for `merge`: expected auto, review or none",
                "o.toml:3:15: invalid value `-1` for `max_depth`: expected a whole number from 0 to 100",
                "o.toml:4:1: `no_sandbox` can only be set on the command line",
                "o.toml:5:1: `base_url` is never read from a repository (set it in your own configuration file, or use the option)",
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
                "o.toml:{line}:1: `sandbox.{key}` is never read from a repository (set it in your own configuration file)"
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
                "config.toml:2:8: invalid value `['tools']` for `sandbox.read`: expected a list of paths such as \
                 [\"~/tools\", \"/srv/data\"]",
                "config.toml:3:7: invalid value `['A=1']` for `sandbox.env`: expected a list of names of variables \
                 such as [\"CI\"]",
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
        let wrong = "max_agents = 3\n[file_operation]\nmax_file_size_mb = 5\n[code_execution]\nallowed_commands = ['a b']\n";
        assert_eq!(
            lines(parse_tool_settings(wrong, Source::Environment, "t.toml")),
            [
                "t.toml:1:1: there is no key `tools.max_agents`",
                "t.toml:3:1: there is no key `tools.file_operation.max_file_size_mb` (did you mean \
                 `tools.file_operations.max_file_size_mb`?)",
                "t.toml:5:20: invalid value `['a b']` for `tools.code_execution.allowed_commands`: expected a list of \
                 programs such as [\"python\", \"pytest\"]",
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
}
