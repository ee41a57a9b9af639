//! Names from outside a plan that it may use: roles, and providers of models.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{FindingCode, Pending};
use orchestrate_core::event::settings::RunSettings;
use orchestrate_core::text::similar::nearest;

/// The names that a plan may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownNames {
    /// Every role; a plan that names another one has an error, even if this is empty.
    pub roles: BTreeSet<String>,
    /// The providers of models (`openai`, `anthropic`, …); empty means that models are not checked.
    pub providers: BTreeSet<String>,
    /// How to read a plan of no known format; without it, one that can be read in several ways is
    /// an error.
    pub read: Option<ReadAs>,
    /// Which tag of a file of task-master is run; without it, one in which several have open tasks
    /// is an error.
    pub tag: Option<String>,
}

impl KnownNames {
    /// Creates a set of known roles; models are not checked.
    pub fn roles<'a>(roles: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            roles: roles.into_iter().map(str::to_owned).collect(),
            ..Self::default()
        }
    }

    /// Creates what is needed to find the tasks of a run's plan again, which no role changes.
    pub fn of_run(settings: &RunSettings) -> Self {
        Self {
            read: settings.plan_read.as_deref().and_then(ReadAs::named),
            tag: settings.plan_tag.clone(),
            ..Self::default()
        }
    }
}

/// A way to read a document of no known format.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReadAs {
    /// The tasks are headings.
    Headings,
    /// The tasks are boxes.
    Boxes,
    /// The tasks are the rows of a table.
    Table,
    /// The tasks are the items of lists.
    Items,
    /// The whole document is one goal.
    Whole,
}

impl ReadAs {
    /// Every way, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::Headings,
        Self::Boxes,
        Self::Table,
        Self::Items,
        Self::Whole,
    ];

    /// Returns the word for it, as it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Headings => "headings",
            Self::Boxes => "boxes",
            Self::Table => "table",
            Self::Items => "items",
            Self::Whole => "whole",
        }
    }

    /// Returns the way with this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.word() == word)
    }

    /// Says what the tasks are, as the reason why something else is none.
    pub(crate) fn tasks(self) -> &'static str {
        match self {
            Self::Headings => "the plan's tasks are its headings",
            Self::Boxes => "the plan's tasks are its boxes",
            Self::Table => "the plan's tasks are the rows of its table",
            Self::Items => "the plan's tasks are the items of its lists",
            Self::Whole => "the whole document is one goal",
        }
    }
}

/// Returns an error for an unknown role.
pub(crate) fn role(name: &str, offset: usize, known: &KnownNames) -> Option<Pending> {
    if known.roles.contains(name) {
        return None;
    }
    let suggestion = match nearest(name, known.roles.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => all_roles(known),
    };
    let message = format!("unknown role `{name}`");
    let found = Pending::new(offset, FindingCode::UnknownRole, name, message);
    Some(found.suggest(suggestion))
}

/// Returns a warning if `@name` at the end of a title is text: neither a role nor nearly one.
pub(crate) fn mention(name: &str, offset: usize, known: &KnownNames) -> Option<Pending> {
    let found = |reason: &str| {
        let message = format!("`@{name}` is read as part of the title: {reason}");
        Pending::new(offset, FindingCode::UnknownRole, name, message)
    };
    if name.contains(|c: char| c.is_ascii_uppercase()) {
        return Some(found("roles are written in lower case"));
    }
    (!is_meant(name, known)).then(|| found("no role has this name").suggest(all_roles(known)))
}

/// Reports whether a name is that of a role, or nearly one.
pub(crate) fn is_meant(name: &str, known: &KnownNames) -> bool {
    known.roles.contains(name) || nearest(name, known.roles.iter().map(String::as_str)).is_some()
}

/// Returns an error for a model that is neither `provider/model` with a known provider,
/// `script:FILE` nor `replay:RUN`.
pub(crate) fn model(name: &str, offset: usize, known: &KnownNames) -> Option<Pending> {
    let provider = name.split_once('/').map_or("", |(provider, _)| provider);
    let is_own = name.starts_with("script:") || name.starts_with("replay:");
    if known.providers.is_empty() || is_own || known.providers.contains(provider) {
        return None;
    }
    let suggestion = match nearest(provider, known.providers.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}/…`?"),
        None => {
            let all = joined(&known.providers);
            format!("write provider/model, with one of {all}")
        }
    };
    let message = format!("unknown model `{name}`");
    let found = Pending::new(offset, FindingCode::UnknownModel, name, message);
    Some(found.suggest(suggestion))
}

fn all_roles(known: &KnownNames) -> String {
    match known.roles.is_empty() {
        true => "no role is known".to_owned(),
        false => format!("known roles: {}", joined(&known.roles)),
    }
}

fn joined(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.join(", ")
}
