//! The values that one source sets, each with its place, and the problems with them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use orchestrate_core::agent::price::micro_usd;
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::text::similar::{most_similar, nearest};
use orchestrate_plan::FrontMatter;
use serde_json::json;

use crate::keys::{Class, Key, named, of_settings};
use crate::values::Value;

/// How many tools are named instead of one that does not exist.
const SIMILAR_TOOLS: usize = 3;

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

impl Source {
    /// Reports whether it may have been written by others than the user.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Source::Plan | Source::Project)
    }
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

    /// Adds the known name that is nearest to an unknown one, if any is near.
    pub(crate) fn suggest_nearest<'n>(
        self,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Problem {
        match nearest(name, known) {
            Some(nearest) => self.suggest(format!("did you mean `{nearest}`?")),
            None => self,
        }
    }

    /// Adds the tools that may be meant by a name or a pattern of none.
    pub(crate) fn suggest_tools(self, tool: &str, names: &ToolNames) -> Problem {
        let literal = tool.replace('*', "");
        let similar = most_similar(&literal, names.names(), SIMILAR_TOOLS).join(", ");
        let problem = self.suggest(format!("the most similar tools are {similar}"));
        problem.suggest_nearest(&literal, names.names())
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
        let name = key.name;
        if key.class == Class::TypedOnly && place.source != Source::Flags {
            let message = format!("`{name}` can only be set on the command line");
            return Err(Problem::new(place, ProblemCode::NotAllowedHere, message));
        }
        if key.class == Class::Personal && place.source.is_shared() {
            let message = format!("`{name}` is never read from a repository");
            let problem = Problem::new(place, ProblemCode::NotAllowedHere, message);
            return Err(problem.suggest(elsewhere(key)));
        }
        if is_replay(key, &value) {
            let message = "`model` as `replay:RUN` is not available yet";
            return Err(Problem::new(place, ProblemCode::NotAvailable, message));
        }
        self.given.push(Given { key, value, place });
        Ok(())
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
        checked(layer, problems)
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

    /// Converts a plan's front matter into a layer, and also returns the problems with values that
    /// a plan cannot set. `shown` is the plan's path as typed.
    pub fn of_plan(front: &FrontMatter, shown: &str) -> (Layer, Vec<Problem>) {
        let dollars = front.budget_usd.and_then(|usd| micro_usd(&usd.to_string()));
        let given = [
            ("base", of_settings(&json!(front.base))),
            ("verify", of_settings(&json!(front.verify))),
            ("verify_retries", of_settings(&json!(front.verify_retries))),
            ("agent", of_settings(&json!(front.agent))),
            ("model", of_settings(&json!(front.model))),
            ("max_agents", of_settings(&json!(front.max_agents))),
            ("budget_tokens", of_settings(&json!(front.budget_tokens))),
            ("budget_usd", dollars.map(Value::Dollars)),
            ("merge", of_settings(&json!(front.merge))),
            ("review", of_settings(&json!(front.review))),
        ];
        let mut layer = Layer::default();
        let mut problems = Vec::new();
        for (name, value) in given {
            if let (Some(key), Some(value)) = (named(name), value) {
                let mut place = Location::new(Source::Plan, shown);
                if let Some(line) = front.lines.get(name) {
                    (place.line, place.column) = (*line, 1);
                }
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

/// Reports whether a value is a model that is recognised but not implemented yet.
fn is_replay(key: &Key, value: &Value) -> bool {
    key.name == "model" && matches!(value, Value::Text(model) if model.starts_with("replay:"))
}

/// Returns a value if there are no problems.
///
/// # Errors
/// Returns the problems otherwise.
pub(crate) fn checked<T>(value: T, problems: Vec<Problem>) -> Result<T, Vec<Problem>> {
    if problems.is_empty() {
        Ok(value)
    } else {
        Err(problems)
    }
}
