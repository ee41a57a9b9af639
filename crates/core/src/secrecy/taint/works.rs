//! The commits and branches whose work may contain text from outside, and what of it a program
//! could read.

use std::ops::Bound;

use serde_json::Value;

use crate::collections::SharedMap;
use crate::ids::{AgentId, Oid};

/// The length of the shortest beginning of an id by which git finds an object.
const LEAST_ID: usize = 4;
/// The same in the words of a command, which are no ids more often: what git itself prints.
const LEAST_ID_IN_COMMAND: usize = 7;
/// What is in a command that reads objects without naming them, beside `git`: subcommands and
/// options that list them, and the folder with their files.
const LISTS_OBJECTS: [&str; 6] = [
    "objects",
    "fsck",
    "lost-found",
    "verify-pack",
    "show-index",
    "prune",
];

/// Whose work was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// An agent's.
    Agent(AgentId),
    /// The merged result.
    Result,
    /// That of all agents.
    Everything,
}

/// The commits and branches whose work may contain text from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Works {
    commits: SharedMap<String, Vec<Found>>,
    /// By the last part of a branch's name.
    branches: SharedMap<String, AgentId>,
}

impl Works {
    /// Adds a commit, or whose work it also has.
    pub(super) fn add(&mut self, commit: &Oid, work: Found) {
        let mut all = self
            .commits
            .get(commit.as_str())
            .cloned()
            .unwrap_or_default();
        if !all.contains(&work) {
            all.push(work);
            self.commits.insert_mut(commit.as_str().to_owned(), all);
        }
    }

    /// Adds the branch of an agent.
    pub(super) fn add_branch(&mut self, agent: &AgentId) {
        let name = agent.branch_component();
        if !self.branches.contains_key(&name) {
            self.branches.insert_mut(name, agent.clone());
        }
    }

    /// Returns whose branch has a name that ends with this.
    pub(super) fn branch(&self, last: &str) -> Option<Found> {
        self.branches.get(last).cloned().map(Found::Agent)
    }

    /// Returns whose work is in the commit of this id, or with this beginning of an id.
    pub(super) fn commit(&self, id: &str) -> Vec<Found> {
        let id = id.to_ascii_lowercase();
        let is_id = id.len() >= LEAST_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let first = self
            .commits
            .range::<str, _>((Bound::Included(id.as_str()), Bound::Unbounded))
            .next()
            .filter(|(first, _)| is_id && first.starts_with(&id));
        first.map(|(_, work)| work.clone()).unwrap_or_default()
    }

    /// Returns whose work a program with these texts could read.
    pub(super) fn read_by(&self, texts: &[String]) -> Vec<Found> {
        if self.branches.is_empty() {
            return Vec::new();
        }
        let text = texts.join(" ").to_lowercase();
        if text.contains("git") && LISTS_OBJECTS.iter().any(|word| text.contains(word)) {
            return vec![Found::Everything];
        }
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        words
            .filter(|word| word.len() >= LEAST_ID_IN_COMMAND)
            .flat_map(|word| self.commit(word))
            .collect()
    }
}

/// Returns all strings in a value.
pub(super) fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
