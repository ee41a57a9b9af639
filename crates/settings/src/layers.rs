//! The values that one source sets, each with its place, and the problems with them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use orchestrate_core::agent::price::micro_usd;
use orchestrate_plan::FrontMatter;

use crate::keys::{Class, KEYS, Key, Value, named};

/// Where settings come from, the most specific source first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The command-line options.
    Flags,
    /// The variable with limits of resources, which takes the place of the user's other sources but
    /// for options.
    Overrides,
    /// The process's environment, and files that it names.
    Environment,
    /// The plan's front matter.
    Plan,
    /// The project's configuration file.
    Project,
    /// The user's configuration file.
    User,
    /// No source: the built-in default.
    Default,
}

/// The place of a value or of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The source that it is in.
    pub source: Source,
    /// The name of the option, the variable or the file.
    pub name: String,
    /// The line, from 1; 0 in a source without lines.
    pub line: usize,
    /// The column in characters, from 1; 0 in a source without lines.
    pub column: usize,
}

/// A value that a source sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The key that is set.
    pub key: &'static Key,
    /// The value that it is set to.
    pub value: Value,
    /// Where the value is written.
    pub place: Location,
}

/// All values that one source sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// The values, in the order in which they are written.
    pub given: Vec<Given>,
}

/// A problem with a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Problem {
    /// Where it is.
    pub place: Location,
    /// The kind of problem, for programs.
    pub code: ProblemCode,
    /// The description, in lower case and without a full stop.
    pub message: String,
    /// What to write instead, if known.
    pub suggestion: Option<String>,
    /// The file's text and the part of it that is wrong; `None` outside of files.
    pub excerpt: Option<Box<Excerpt>>,
}

/// The part of a file that a problem refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The text of the whole file.
    pub text: Arc<str>,
    /// The byte range that is wrong.
    pub span: Range<usize>,
}

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemCode {
    /// The file cannot be read.
    Unreadable,
    /// The file is not TOML.
    Syntax,
    /// The key does not exist.
    UnknownKey,
    /// The key does not accept the value.
    InvalidValue,
    /// This source may not set the key.
    NotAllowedHere,
    /// The setting is recognised but not implemented yet.
    NotAvailable,
    /// Two files exist where only one may.
    Ambiguous,
}

impl ProblemCode {
    /// Returns its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ProblemCode::Unreadable => "unreadable",
            ProblemCode::Syntax => "syntax",
            ProblemCode::UnknownKey => "unknown_key",
            ProblemCode::InvalidValue => "invalid_value",
            ProblemCode::NotAllowedHere => "not_allowed_here",
            ProblemCode::NotAvailable => "not_available",
            ProblemCode::Ambiguous => "ambiguous",
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        Ok(())
    }
}

impl Location {
    /// Returns the location of an option, a variable or a whole file.
    pub fn new(source: Source, name: impl Into<String>) -> Location {
        Location {
            source,
            name: name.into(),
            line: 0,
            column: 0,
        }
    }
}

impl Problem {
    /// Creates a problem without suggestion or excerpt.
    pub fn new(place: Location, code: ProblemCode, message: impl Into<String>) -> Problem {
        Problem {
            place,
            code,
            message: message.into(),
            suggestion: None,
            excerpt: None,
        }
    }

    /// Adds what to write or do instead.
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Problem {
        self.suggestion = Some(suggestion.into());
        self
    }
}

impl Layer {
    /// Adds a value, if its source may set the key.
    ///
    /// # Errors
    /// Fails if the source may not set the key, or if the value is not implemented yet.
    pub fn take(
        &mut self,
        key: &'static Key,
        value: Value,
        place: Location,
    ) -> Result<(), Problem> {
        let refuse = |code, message: String| Err(Problem::new(place.clone(), code, message));
        let shared = matches!(place.source, Source::Plan | Source::Project);
        match key.class {
            Class::TypedOnly if place.source != Source::Flags => refuse(
                ProblemCode::NotAllowedHere,
                format!("`{}` can only be set on the command line", key.name),
            ),
            Class::Personal if shared => refuse(
                ProblemCode::NotAllowedHere,
                format!("`{}` is never read from a repository", key.name),
            )
            .map_err(|problem| problem.suggest(elsewhere(key))),
            _ => match not_built(key, &value) {
                Some(what) => refuse(
                    ProblemCode::NotAvailable,
                    format!("{what} is not available yet"),
                ),
                None => {
                    self.given.push(Given { key, value, place });
                    Ok(())
                }
            },
        }
    }

    /// Parses the command-line options; `values` are the names of keys with their texts. Skips
    /// unknown names.
    ///
    /// # Errors
    /// Returns every problem with them.
    pub fn of_flags<'a>(
        values: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Result<Layer, Vec<Problem>> {
        let mut layer = Layer::default();
        let mut problems = Vec::new();
        for (name, text) in values {
            let Some(key) = named(name) else { continue };
            let place = Location::new(Source::Flags, key.option());
            problems.extend(layer.take_text(key, &text, place).err());
        }
        if problems.is_empty() {
            Ok(layer)
        } else {
            Err(problems)
        }
    }

    /// Parses a value and adds it.
    ///
    /// # Errors
    /// Returns the problem with it.
    pub fn take_text(
        &mut self,
        key: &'static Key,
        text: &str,
        place: Location,
    ) -> Result<(), Problem> {
        let value = key.kind.parse(text).map_err(|expected| {
            let message = format!(
                "invalid value `{text}` for `{}`: expected {expected}",
                key.name
            );
            Problem::new(place.clone(), ProblemCode::InvalidValue, message)
        })?;
        self.take(key, value, place)
    }
}

impl Layer {
    /// Converts a plan's front matter into a layer, and also returns the problems with values that
    /// a plan cannot set. `shown` is the plan's path as typed.
    pub fn of_plan(front: &FrontMatter, shown: &str) -> (Layer, Vec<Problem>) {
        let text = |value: &Option<String>| value.clone().map(Value::Text);
        let given = [
            ("base", text(&front.base)),
            ("verify", text(&front.verify)),
            ("verify_retries", front.verify_retries.map(Value::Number)),
            ("agent", text(&front.agent)),
            ("model", text(&front.model)),
            (
                "max_agents",
                front.max_agents.map(|number| Value::Number(number as u64)),
            ),
            ("budget_tokens", front.budget_tokens.map(Value::Number)),
            (
                "budget_usd",
                front
                    .budget_usd
                    .and_then(|usd| micro_usd(&usd.to_string()))
                    .map(Value::Dollars),
            ),
            ("merge", front.merge.map(Value::Merge)),
            (
                "review",
                front.review.map(|mode| Value::Text(mode.word().to_owned())),
            ),
        ];
        let mut layer = Layer::default();
        let mut problems = Vec::new();
        for (name, value) in given {
            if let (Some(key), Some(value)) = (named(name), value) {
                let line = front.lines.get(name).copied().unwrap_or_default();
                let place = Location {
                    line,
                    column: usize::from(line > 0),
                    ..Location::new(Source::Plan, shown)
                };
                problems.extend(layer.take(key, value, place).err());
            }
        }
        (layer, problems)
    }
}

/// Returns where to set a key that a repository may not.
fn elsewhere(key: &Key) -> String {
    // Keys of tables have no option.
    let option = if key.name.contains('.') {
        ""
    } else {
        ", or use the option"
    };
    format!("set it in your own configuration file{option}")
}

/// Describes a value that is recognised but not implemented yet; returns `None` for all others.
fn not_built(key: &Key, value: &Value) -> Option<String> {
    match (key.name, value) {
        ("model", Value::Text(model)) if model.starts_with("replay:") => {
            Some("`model` as `replay:RUN`".to_owned())
        }
        _ => None,
    }
}

/// Returns the names of all keys, for suggestions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}
