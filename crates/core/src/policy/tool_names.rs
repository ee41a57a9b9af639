//! The names of a run's tools: canonical ones, the names used by other products, and the families
//! that lists may name.
//!
//! Agent files and permission rules written for other products work unchanged because every name
//! goes through [`ToolNames`]. It is a value, made where the tools are registered and frozen when a
//! run starts, so a tool is added in one place, and a resumed run reads its rules as it did before.
//! It contains names and permissions only; what a tool does is up to the executor.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::policy::permission::Permission;

/// The traits of a tool that roles and rules depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolTraits {
    /// The permission that the caller's role must grant.
    pub permission: Permission,
    /// Whether roles that list no tools have it.
    pub is_default: bool,
    /// Whether it can change files of the worktree; a role with no such tool is read-only.
    pub changes_files: bool,
    /// Whether it can delete a file whatever its content.
    pub deletes_files: bool,
    /// Whether its newest result, such as the agent's list of steps, is never left out of the
    /// agent's context.
    #[serde(alias = "lists_steps")]
    pub stays_in_view: bool,
}

/// The names of a run's tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolNames {
    tools: BTreeMap<String, ToolTraits>,
    /// Other names in lower case, with the canonical ones; some belong to tools that this run does
    /// not have.
    aliases: BTreeMap<String, String>,
    /// Names that stand for several tools in a rule.
    families: BTreeMap<String, Vec<String>>,
    /// Names that stand for several tools in a role's list.
    lists: BTreeMap<String, Vec<String>>,
    /// Names in lower case that mean a wrapper if a call gives the array `arguments`, with the tool
    /// that it wraps.
    #[serde(default)]
    second_forms: BTreeMap<String, String>,
}

impl ToolNames {
    /// Adds a tool under its canonical name.
    pub fn add(&mut self, name: &str, traits: ToolTraits) {
        self.tools.insert(name.to_owned(), traits);
    }

    /// Adds another name of a tool, compared ignoring case; the tool need not exist.
    pub fn add_alias(&mut self, alias: &str, canonical: &str) {
        self.aliases
            .insert(alias.to_lowercase(), canonical.to_owned());
    }

    /// Adds a name that stands for several tools in a rule.
    pub fn add_family(&mut self, name: &str, members: &[&str]) {
        self.families.insert(name.to_owned(), owned(members));
    }

    /// Adds a tool to a name that stands for several in a rule.
    pub fn add_to_family(&mut self, name: &str, member: &str) {
        self.families
            .entry(name.to_owned())
            .or_default()
            .push(member.to_owned());
    }

    /// Adds a name that stands for several tools in a role's list.
    pub fn add_list(&mut self, name: &str, members: &[&str]) {
        self.lists.insert(name.to_owned(), owned(members));
    }

    /// Adds a name that means a wrapper around a tool if a call gives the array `arguments`.
    pub fn add_second_form(&mut self, name: &str, wrapped: &str) {
        self.second_forms
            .insert(name.to_lowercase(), wrapped.to_owned());
    }

    /// Returns the tools that can delete a file whatever its content, in order.
    pub fn deleting(&self) -> impl Iterator<Item = &str> {
        self.tools
            .iter()
            .filter(|(_, traits)| traits.deletes_files)
            .map(|(name, _)| name.as_str())
    }

    /// Returns every other name of a tool, in lower case and in order.
    pub fn aliases_of(&self, canonical: &str) -> impl Iterator<Item = &str> {
        self.aliases
            .iter()
            .filter(move |(_, of)| *of == canonical)
            .map(|(alias, _)| alias.as_str())
    }

    /// Returns the canonical names of all tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// Returns the tools that roles have if they list none, in order.
    pub fn defaults(&self) -> impl Iterator<Item = &str> {
        self.tools
            .iter()
            .filter(|(_, traits)| traits.is_default)
            .map(|(name, _)| name.as_str())
    }

    /// Returns the traits of a tool by its canonical name.
    pub fn tool(&self, name: &str) -> Option<ToolTraits> {
        self.tools.get(name).copied()
    }

    /// Returns the canonical name for another product's name, or `None` if it is not an alias.
    pub fn alias(&self, name: &str) -> Option<&str> {
        self.aliases.get(&name.to_lowercase()).map(String::as_str)
    }

    /// Returns the canonical name of a tool: the same, that of an alias, or the only one that
    /// differs in case alone. Any other name is returned unchanged.
    pub fn canonical(&self, name: &str) -> String {
        let name = name.trim();
        if self.tools.contains_key(name) {
            return name.to_owned();
        }
        if let Some(known) = self.alias(name) {
            return known.to_owned();
        }
        let alike: Vec<&str> = self
            .names()
            .filter(|known| known.eq_ignore_ascii_case(name))
            .collect();
        match alike.as_slice() {
            [only] => (*only).to_owned(),
            _ => name.to_owned(),
        }
    }

    /// Returns every name, in lower case, of the tools whose newest result is never left out of an
    /// agent's context, each with the tool's canonical name.
    pub fn in_view(&self) -> BTreeMap<String, String> {
        let own = self
            .tools
            .keys()
            .filter(|name| self.stays_in_view(name))
            .map(|name| (name.to_lowercase(), name.clone()));
        let aliases = self
            .aliases
            .iter()
            .filter(|(_, canonical)| self.stays_in_view(canonical));
        own.chain(aliases.map(|(alias, canonical)| (alias.clone(), canonical.clone())))
            .collect()
    }

    fn stays_in_view(&self, canonical: &str) -> bool {
        let traits = self.tools.get(canonical);
        traits.is_some_and(|traits| traits.stays_in_view)
    }

    /// Reports whether a canonical name can mean a tool: one of this run, or one that only other
    /// products have.
    pub fn knows(&self, canonical: &str) -> bool {
        let families = self.families.values().flatten();
        self.tools.contains_key(canonical)
            || self
                .aliases
                .values()
                .chain(families)
                .any(|known| known == canonical)
    }

    /// Returns the tools that a name in a rule stands for.
    ///
    /// A rule about reading or about editing must apply to every tool that reads or edits, so the
    /// names that other products use for a whole family stand for the family; every other name
    /// stands for itself.
    pub fn in_rule(&self, name: &str) -> Vec<String> {
        self.families
            .get(name.trim())
            .cloned()
            .unwrap_or_else(|| vec![self.canonical(name)])
    }

    /// Returns the tools that a name in a role's list grants or withholds.
    ///
    /// Two products have one name for several tools; every other name means one tool.
    pub fn in_role(&self, name: &str) -> Vec<String> {
        self.lists
            .get(name.trim())
            .cloned()
            .unwrap_or_else(|| vec![self.canonical(name)])
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> ToolNames {
        let mut names = ToolNames::default();
        let traits = |stays_in_view: bool| ToolTraits {
            permission: Permission::None,
            is_default: !stays_in_view,
            changes_files: false,
            deletes_files: false,
            stays_in_view,
        };
        names.add("grep", traits(false));
        names.add("todo_write", traits(true));
        names.add_alias("TodoWrite", "todo_write");
        names.add_alias("WebFetch", "fetch_url");
        names.add_family("Read", &["read_file", "grep"]);
        names.add_list("search", &["grep", "search_files"]);
        names
    }

    #[test]
    fn aliases_ignore_case_and_other_names_stay() {
        let table = [
            ("TODOWRITE", "todo_write"),
            (" TodoWrite ", "todo_write"),
            ("webfetch", "fetch_url"),
            ("grep", "grep"),
            ("Grep", "grep"),
            ("mcp__Server__Tool", "mcp__Server__Tool"),
        ];
        for (name, expected) in table {
            assert_eq!(names().canonical(name), expected);
        }
    }

    #[test]
    fn a_name_can_stand_for_several_tools_in_a_rule_and_for_others_in_a_role() {
        let names = names();
        assert_eq!(
            (names.in_rule("Read"), names.in_role("Read")),
            (owned(&["read_file", "grep"]), owned(&["Read"]))
        );
        assert_eq!(
            (names.in_rule("search"), names.in_role("search")),
            (owned(&["search"]), owned(&["grep", "search_files"]))
        );
    }

    #[test]
    fn tools_that_stay_in_view_are_known_by_all_their_names() {
        let in_view: Vec<_> = names().in_view().into_iter().collect();
        assert_eq!(
            in_view,
            [("todo_write", "todo_write"), ("todowrite", "todo_write")]
                .map(|(name, of)| (name.to_owned(), of.to_owned()))
        );
        assert_eq!(names().defaults().collect::<Vec<_>>(), ["grep"]);
    }

    #[test]
    fn tools_that_only_other_products_have_are_known() {
        assert!(
            ["grep", "fetch_url", "read_file"]
                .iter()
                .all(|name| names().knows(name))
        );
        assert!(!names().knows("Raed"));
    }
}
