//! The available tools, found by name, alias, category or search.

use std::collections::BTreeMap;
use std::sync::Arc;

use orchestrate_core::ToolSpec;
use orchestrate_core::policy::Grant;
use orchestrate_core::policy::tool_names::{ToolNames, ToolTraits};
use orchestrate_core::text::similar::most_similar;
use serde_json::Value;

use crate::answer::ToolsError;
use crate::template::ARGUMENTS;
use crate::tool::{Category, Tool};

/// Number of similar names to suggest for an unknown one.
const NEAREST_NAMES: usize = 3;

/// A set of tools with unique names.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, (Category, Arc<dyn Tool>)>,
    /// Wrappers that share a name with another tool, by that name in lower case.
    second_forms: BTreeMap<String, Arc<dyn Tool>>,
    /// The tools that the program adds by their names, with their plugin if they are from one.
    added: BTreeMap<String, Option<PluginId>>,
    names: ToolNames,
}

/// The name and version of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginId {
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
}

/// The tool that a call means.
#[derive(Clone, Copy)]
pub(crate) struct Resolved<'a> {
    /// The name that the call has for it.
    pub(crate) called: &'a str,
    /// The tool, or the second form of its name.
    pub(crate) tool: &'a Arc<dyn Tool>,
    /// The tool that has the name otherwise, if this is a second form.
    pub(crate) first_form: Option<&'a Arc<dyn Tool>>,
}

impl ToolRegistry {
    /// Creates an empty registry.
    pub fn new() -> ToolRegistry {
        ToolRegistry::default()
    }

    /// Creates an empty registry whose tools have other names as well.
    pub(crate) fn with_names(names: ToolNames) -> ToolRegistry {
        ToolRegistry {
            names,
            ..ToolRegistry::default()
        }
    }

    /// Returns the names of the tools, with their aliases.
    pub fn names(&self) -> &ToolNames {
        &self.names
    }

    /// Adds a tool under a category.
    ///
    /// # Errors
    /// [`ToolsError::Duplicate`] if the name is taken.
    pub fn register(&mut self, tool: Arc<dyn Tool>, category: Category) -> Result<(), ToolsError> {
        let name = tool.name().to_owned();
        if self.tools.contains_key(&name) {
            return Err(ToolsError::Duplicate(name));
        }
        let properties = tool.properties();
        let traits = ToolTraits {
            permission: properties.permission,
            is_default: properties.is_default,
            changes_files: properties.changes_files,
            deletes_files: properties.deletes_files,
            stays_in_view: properties.stays_in_view,
        };
        self.names.add(&name, traits);
        self.tools.insert(name, (category, tool));
        Ok(())
    }

    /// Adds a tool of the program's own to a category and to the families that rules may name.
    pub(crate) fn register_added(
        &mut self,
        tool: Arc<dyn Tool>,
        category: Category,
        plugin: Option<PluginId>,
        families: &[&str],
    ) -> Result<(), ToolsError> {
        let name = tool.name().to_owned();
        let is_taken = self.resolve(&name).is_some() || self.names.alias(&name).is_some();
        if is_taken || self.second_form(&name).is_some() {
            return Err(ToolsError::Duplicate(name));
        }
        self.register(tool, category)?;
        families
            .iter()
            .for_each(|family| self.names.add_to_family(family, &name));
        self.added.insert(name, plugin);
        Ok(())
    }

    /// Reports whether a tool, by its canonical name, is one that the program adds.
    pub(crate) fn is_added(&self, name: &str) -> bool {
        self.added.contains_key(name)
    }

    /// Returns the plugin that a tool, by its canonical name, is from.
    pub fn plugin_of(&self, name: &str) -> Option<&PluginId> {
        self.added.get(name)?.as_ref()
    }

    /// Adds another name of a tool, which need not be registered.
    pub(crate) fn add_alias(&mut self, alias: &str, canonical: &str) {
        self.names.add_alias(alias, canonical);
    }

    /// Adds the second form of a name: the wrapper that a call with the array `arguments` means.
    pub(crate) fn add_second_form(&mut self, wrapper: Arc<dyn Tool>) {
        let wrapped = wrapper
            .wrapping()
            .map(|wrapping| wrapping.tool.to_owned())
            .unwrap_or_default();
        self.names.add_second_form(wrapper.name(), &wrapped);
        self.second_forms
            .insert(wrapper.name().to_lowercase(), wrapper);
    }

    /// Finds the second form of a name, ignoring case.
    pub fn second_form(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.second_forms.get(&name.to_lowercase())
    }

    /// Returns the second forms, ordered by name.
    pub fn second_forms(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.second_forms.values()
    }

    /// Finds the tool that a call means by its name and arguments.
    pub(crate) fn resolve_call<'a>(
        &'a self,
        called: &'a str,
        arguments: &Value,
    ) -> Option<Resolved<'a>> {
        let first = self.resolve(called)?;
        let is_second = arguments.get(ARGUMENTS).is_some();
        match self.second_form(called).filter(|_| is_second) {
            Some(tool) => Some(Resolved {
                called,
                tool,
                first_form: Some(first),
            }),
            None => Some(Resolved {
                called,
                tool: first,
                first_form: None,
            }),
        }
    }

    /// Finds a tool by its exact name.
    pub fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|(_, tool)| tool)
    }

    /// Finds a tool by the name that a model wrote: exactly, by alias, or ignoring case if that is
    /// unambiguous.
    pub fn resolve(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        if let Some(tool) = self.tool(name) {
            return Some(tool);
        }
        if let Some(tool) = self
            .names
            .alias(name)
            .and_then(|canonical| self.tool(canonical))
        {
            return Some(tool);
        }
        let mut alike = self
            .tools
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        match (alike.next(), alike.next()) {
            (Some((_, (_, tool))), None) => Some(tool),
            _ => None,
        }
    }

    /// Returns the tools of a category, or all tools, ordered by name.
    pub fn tools(&self, category: Option<&Category>) -> Vec<&Arc<dyn Tool>> {
        let wanted = self
            .tools
            .values()
            .filter(|(of, _)| category.is_none_or(|category| of == category));
        wanted.map(|(_, tool)| tool).collect()
    }

    /// Returns all tools with the categories that they are registered under, ordered by name.
    pub(crate) fn with_categories(&self) -> impl Iterator<Item = (&Category, &Arc<dyn Tool>)> {
        self.tools.values().map(|(category, tool)| (category, tool))
    }

    /// Finds the tools whose name, description or schema contains the text, ignoring case.
    pub fn search(&self, query: &str) -> Vec<&Arc<dyn Tool>> {
        let query = query.to_lowercase();
        let has = |tool: &Arc<dyn Tool>| {
            [
                tool.name(),
                tool.title(),
                tool.description(),
                &tool.schema().to_string(),
            ]
            .iter()
            .any(|text| text.to_lowercase().contains(&query))
        };
        self.tools
            .values()
            .map(|(_, tool)| tool)
            .filter(|tool| has(tool))
            .collect()
    }

    /// Returns the specifications, for a model, of the tools that a role grants, ordered by name.
    pub fn specs(&self, grant: &Grant) -> Vec<ToolSpec> {
        let granted = self
            .tools
            .values()
            .filter(|(_, tool)| grant.permits(tool.name(), tool.permission()));
        granted
            .map(|(_, tool)| ToolSpec {
                name: tool.name().to_owned(),
                description: tool.description().to_owned(),
                parameters: tool.schema().clone(),
            })
            .collect()
    }

    /// Returns the names most similar to an unknown one, most similar first.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        self.nearest_of(name, |_| true)
    }

    /// Returns those of some of the names.
    pub(crate) fn nearest_of(&self, name: &str, counts: impl Fn(&&str) -> bool) -> Vec<&str> {
        most_similar(
            name,
            self.tools.keys().map(String::as_str).filter(counts),
            NEAREST_NAMES,
        )
    }
}
