//! What one source says, with the place of each word of it, and what is wrong with it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use orchestrate_core::settings::MergeMode;
use orchestrate_plan::FrontMatter;

use crate::keys::{Class, KEYS, Key, Value, named};

/// Where settings come from, the most particular first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// What was typed.
    Flags,
    /// The process's environment.
    Environment,
    /// The plan's front matter.
    Plan,
    /// The project's configuration file.
    Project,
    /// The user's configuration file.
    User,
    /// Nobody said anything.
    Default,
}

/// The exact place of a value or of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Which source it is.
    pub source: Source,
    /// The option, the variable or the file.
    pub name: String,
    /// From 1; zero where there are no lines.
    pub line: usize,
    /// From 1, in characters; zero where there are no lines.
    pub column: usize,
}

/// One value that a source gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// What is set.
    pub key: &'static Key,
    /// To what.
    pub value: Value,
    /// Where.
    pub place: Location,
}

/// Everything that one source says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// In the order in which it was written.
    pub given: Vec<Given>,
}

/// Something wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Problem {
    /// Where.
    pub place: Location,
    /// What kind of problem it is, for programs.
    pub code: ProblemCode,
    /// What it is: lower case, no full stop.
    pub message: String,
    /// What to write instead, if one can tell.
    pub suggestion: Option<String>,
    /// The file's text and the bytes of it that are wrong, where there is a file.
    pub excerpt: Option<Box<Excerpt>>,
}

/// The part of a file that a problem is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The whole file.
    pub text: Arc<str>,
    /// The bytes that are wrong.
    pub span: Range<usize>,
}

/// What kind of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemCode {
    /// A file that cannot be read.
    Unreadable,
    /// A file that is not TOML.
    Syntax,
    /// A key that does not exist.
    UnknownKey,
    /// A value that its key does not take.
    InvalidValue,
    /// A key that this source may not set.
    NotAllowedHere,
    /// Something whose time has not come.
    NotAvailable,
    /// Two files where one is meant.
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
    /// Names an option, a variable or a file as a whole.
    pub fn of(source: Source, name: impl Into<String>) -> Location {
        Location { source, name: name.into(), line: 0, column: 0 }
    }
}

impl Problem {
    /// Makes a problem without an excerpt.
    pub fn new(place: Location, code: ProblemCode, message: impl Into<String>) -> Problem {
        Problem { place, code, message: message.into(), suggestion: None, excerpt: None }
    }

    /// Adds what to do instead.
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Problem {
        self.suggestion = Some(suggestion.into());
        self
    }
}

impl Layer {
    /// Takes a value, if this source may give it.
    ///
    /// # Errors
    /// Why it may not.
    pub fn take(&mut self, key: &'static Key, value: Value, place: Location) -> Result<(), Problem> {
        let refuse = |code, message: String| Err(Problem::new(place.clone(), code, message));
        let shared = matches!(place.source, Source::Plan | Source::Project);
        match key.class {
            Class::NotYet => refuse(ProblemCode::NotAvailable, format!("`{}` is not available yet", key.name)),
            Class::TypedOnly if place.source != Source::Flags => {
                refuse(ProblemCode::NotAllowedHere, format!("`{}` can only be set on the command line", key.name))
            }
            Class::Personal if shared => {
                refuse(ProblemCode::NotAllowedHere, format!("`{}` is never read from a repository", key.name))
                    .map_err(|problem| problem.suggest("set it in your own configuration file, or use the option"))
            }
            _ => match not_built(key, &value) {
                Some(what) => refuse(ProblemCode::NotAvailable, format!("{what} is not available yet")),
                None => {
                    self.given.push(Given { key, value, place });
                    Ok(())
                }
            },
        }
    }

    /// Reads the options that were typed; `values` has each key's name with its text.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn of_flags<'a>(values: impl IntoIterator<Item = (&'a str, String)>) -> Result<Layer, Vec<Problem>> {
        let mut layer = Layer::default();
        let mut problems = Vec::new();
        for (name, text) in values {
            let Some(key) = named(name) else { continue };
            let place = Location::of(Source::Flags, key.option());
            problems.extend(layer.take_text(key, &text, place).err());
        }
        if problems.is_empty() { Ok(layer) } else { Err(problems) }
    }

    /// Takes a value that is still text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take_text(&mut self, key: &'static Key, text: &str, place: Location) -> Result<(), Problem> {
        if key.class == Class::NotYet {
            return self.take(key, Value::Switch(true), place);
        }
        let value = key.kind.parse(text).map_err(|expected| {
            let message = format!("invalid value `{text}` for `{}`: expected {expected}", key.name);
            Problem::new(place.clone(), ProblemCode::InvalidValue, message)
        })?;
        self.take(key, value, place)
    }
}

impl Layer {
    /// Takes what a plan's front matter says, and gives it with what it says and cannot have; `shown` is the plan's
    /// path as typed.
    pub fn of_plan(front: &FrontMatter, shown: &str) -> (Layer, Vec<Problem>) {
        let text = |value: &Option<String>| value.clone().map(Value::Text);
        let merge = if front.review { Some(MergeMode::Review) } else { None };
        let given = [
            ("base", text(&front.base)),
            ("verify", text(&front.verify)),
            ("agent", text(&front.agent)),
            ("model", text(&front.model)),
            ("max_agents", front.max_agents.map(|number| Value::Number(number as u64))),
            ("budget_tokens", front.budget_tokens.map(Value::Number)),
            ("budget_usd", front.budget_usd.map(|_| Value::Switch(true))),
            ("merge", front.merge.map(Value::Merge)),
            ("merge", merge.map(Value::Merge)),
        ];
        let mut layer = Layer::default();
        let mut problems = Vec::new();
        for (name, value) in given {
            if let (Some(key), Some(value)) = (named(name), value) {
                let written = front.lines.get(name).or_else(|| front.lines.get("review").filter(|_| name == "merge"));
                let line = written.copied().unwrap_or_default();
                let place = Location { line, column: usize::from(line > 0), ..Location::of(Source::Plan, shown) };
                problems.extend(layer.take(key, value, place).err());
            }
        }
        (layer, problems)
    }
}

/// Names a value that is understood and whose time has not come.
fn not_built(key: &Key, value: &Value) -> Option<String> {
    match (key.name, value) {
        ("cache", Value::Text(mode)) if mode != "off" => Some(format!("`cache` as `{mode}`")),
        ("output_format", Value::Text(format)) if format == "markers" => {
            Some("`output_format` as `markers`".to_owned())
        }
        ("model", Value::Text(model)) if model.starts_with("replay:") => Some("`model` as `replay:RUN`".to_owned()),
        _ => None,
    }
}

/// Returns the names of all keys, for suggestions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}
