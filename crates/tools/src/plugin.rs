//! The tools of a program that uses the library: single ones, and plugins that bring several.
//!
//! [`Extensions::load`] runs a plugin's code for the first time: within a time limit, and a panic
//! is an error. What a tool says of itself is read once and kept, so that its name, its permission
//! and its schema cannot change later. A tool that cannot be used is refused with its name; nothing
//! is registered then.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::policy::tool_extensions::{PluginTools, ToolExtensions};
use serde_json::Value;

use crate::answer::{Answer, ToolError, ToolsError};
use crate::builtin::{Overrides, families_of};
use crate::call::AnswersFrom;
use crate::registry::{PluginId, ToolRegistry};
use crate::tool::{
    CallSite, Category, MAX_NAME, Prepared, Prompt, Tool, ToolContext, ToolProperties, Wrap,
    arguments, is_name, panicked,
};

/// How long a plugin may take to initialize and to register its tools: it may read files, not wait
/// for a person.
const MAX_SETUP: Duration = Duration::from_secs(30);
/// Maximum size of a description or a schema in bytes: both are part of every request of an agent
/// that has the tool.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Maximum number of tools that a program can add: far more than the agents of one run can be
/// offered.
const MAX_TOOLS: usize = 256;

/// Why a plugin cannot be used; any error of the plugin's own.
pub type PluginError = Box<dyn std::error::Error + Send + Sync>;

/// Several tools that belong together, in the program's own process.
pub trait ToolPlugin: Send + Sync {
    /// Returns the name, which is recorded in every run that has the plugin.
    fn name(&self) -> &str;

    /// Returns the version, which is recorded with the name.
    fn version(&self) -> &str;

    /// Prepares the plugin once, before it registers its tools, with the configuration that the
    /// program gives.
    ///
    /// # Errors
    /// Fails if the plugin cannot be used, for example because its configuration is wrong.
    fn initialize(&self, config: &Value) -> Result<(), PluginError>;

    /// Registers the plugin's tools. The registry is empty; names that are taken are refused
    /// afterwards.
    ///
    /// # Errors
    /// Fails if the plugin cannot be used.
    fn register_tools(&self, registry: &mut ToolRegistry) -> Result<(), PluginError>;
}

/// A plugin with its configuration.
#[derive(Clone)]
pub struct Plugin {
    plugin: Arc<dyn ToolPlugin>,
    config: Value,
}

impl Plugin {
    /// Uses a plugin without a configuration.
    pub fn new(plugin: impl ToolPlugin + 'static) -> Plugin {
        Plugin {
            plugin: Arc::new(plugin),
            config: Value::Null,
        }
    }

    /// Uses a plugin with a configuration, which is not recorded.
    pub fn configured(plugin: impl ToolPlugin + 'static, config: Value) -> Plugin {
        Plugin {
            config,
            ..Plugin::new(plugin)
        }
    }
}

/// The tools that a program adds to the built-in ones, ready to be registered.
#[derive(Clone, Default)]
pub struct Extensions {
    added: Vec<Added>,
    frozen: ToolExtensions,
}

/// A tool with what it said of itself when it was added.
#[derive(Clone)]
struct Added {
    tool: Arc<dyn Tool>,
    category: Category,
    plugin: Option<Arc<PluginId>>,
    facts: Arc<Facts>,
}

impl Extensions {
    /// Initializes the plugins, and collects their tools and the others.
    ///
    /// # Errors
    /// [`ToolsError::Plugin`] for a plugin that fails, panics or takes too long, or whose name or
    /// version cannot be recorded; [`ToolsError::Unusable`], [`ToolsError::Schema`] or
    /// [`ToolsError::Duplicate`] for a tool.
    pub fn load(tools: &[Arc<dyn Tool>], plugins: &[Plugin]) -> Result<Extensions, ToolsError> {
        let mut extensions = Extensions::default();
        for tool in tools {
            let (category, facts) = facts_of(tool)?;
            extensions.frozen.tools.push(facts.name.clone());
            extensions.added.push(Added {
                tool: Arc::clone(tool),
                category,
                plugin: None,
                facts,
            });
        }
        for plugin in plugins {
            extensions.load_plugin(plugin)?;
        }
        if extensions.added.len() > MAX_TOOLS {
            let reason = format!("a program can add at most {MAX_TOOLS} tools");
            let last = extensions
                .added
                .pop()
                .map(|added| added.facts.name.clone())
                .unwrap_or_default();
            return Err(ToolsError::Unusable { tool: last, reason });
        }
        // Names that are taken are an error now, not when the first run starts.
        extensions.add_to(&mut crate::builtin::plain_tools()?, &|_| None)?;
        Ok(extensions)
    }

    fn load_plugin(&mut self, plugin: &Plugin) -> Result<(), ToolsError> {
        let id = id_of(plugin)?;
        if self
            .frozen
            .plugins
            .iter()
            .any(|other| other.name == id.name)
        {
            let reason = "another plugin has the same name".to_owned();
            return Err(unusable_plugin(&id.name, reason));
        }
        let registry =
            set_up(plugin, MAX_SETUP).map_err(|reason| unusable_plugin(&id.name, reason))?;
        let plugin = Arc::new(id.clone());
        let mut names = Vec::new();
        for (category, tool) in registry.with_categories() {
            let (_, facts) =
                facts_of(tool).map_err(|error| unusable_plugin(&id.name, error.to_string()))?;
            names.push(facts.name.clone());
            let (tool, category) = (Arc::clone(tool), category.clone());
            self.added.push(Added {
                tool,
                category,
                plugin: Some(Arc::clone(&plugin)),
                facts,
            });
        }
        self.frozen.plugins.push(PluginTools {
            name: id.name,
            version: id.version,
            tools: names,
        });
        Ok(())
    }

    /// Returns the names and versions to record in a run.
    pub fn frozen(&self) -> &ToolExtensions {
        &self.frozen
    }

    /// Returns the names of the tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.added.iter().map(|added| added.facts.name.as_str())
    }

    /// Registers the tools, with the project's own descriptions where it has any.
    ///
    /// # Errors
    /// [`ToolsError::Duplicate`] for a name that is taken, [`ToolsError::Description`] for a
    /// malformed description.
    pub fn add_to(
        &self,
        registry: &mut ToolRegistry,
        overrides: Overrides<'_>,
    ) -> Result<(), ToolsError> {
        for added in &self.added {
            let facts = match overrides(&added.facts.name) {
                Some(project) => {
                    let mut facts = Facts::clone(&added.facts);
                    facts.prompt = facts.prompt.reworded(&project)?;
                    Arc::new(facts)
                }
                None => Arc::clone(&added.facts),
            };
            let (category, plugin) = (added.category.clone(), added.plugin.as_deref().cloned());
            let families = families_of(facts.properties.permission);
            let tool = AddedTool {
                tool: Arc::clone(&added.tool),
                category: category.clone(),
                facts,
            };
            registry.register_added(Arc::new(tool), category, plugin, families)?;
        }
        Ok(())
    }
}

/// Creates the error for a plugin that is not used.
fn unusable_plugin(plugin: &str, reason: String) -> ToolsError {
    ToolsError::Plugin {
        plugin: plugin.to_owned(),
        reason,
    }
}

/// Returns the id of a plugin if it can be recorded and shown.
fn id_of(plugin: &Plugin) -> Result<PluginId, ToolsError> {
    let id = catch_unwind(AssertUnwindSafe(|| PluginId {
        name: plugin.plugin.name().to_owned(),
        version: plugin.plugin.version().to_owned(),
    }));
    let PluginId { name, version } =
        id.map_err(|panic| unusable_plugin("?", panicked(panic.as_ref()).to_string()))?;
    if !is_name(&name) {
        let shown = orchestrate_core::text::invisible::shown(&name);
        return Err(unusable_plugin(
            &shown,
            format!("its name is not 1 to {MAX_NAME} letters, digits, `_` and `-`"),
        ));
    }
    let is_plain = !version.is_empty()
        && version.len() <= MAX_NAME
        && version.chars().all(|c| c.is_ascii_graphic());
    if !is_plain {
        return Err(unusable_plugin(
            &name,
            format!("its version is not 1 to {MAX_NAME} visible ASCII characters"),
        ));
    }
    Ok(PluginId { name, version })
}

fn register_tools(Plugin { plugin, config }: Plugin) -> Result<ToolRegistry, String> {
    plugin
        .initialize(&config)
        .map_err(|error| format!("initialize it: {error}"))?;
    let mut registry = ToolRegistry::new();
    plugin
        .register_tools(&mut registry)
        .map_err(|error| format!("register its tools: {error}"))?;
    Ok(registry)
}

/// Lets a plugin initialize itself and register its tools, within a time limit. A plugin that does
/// not return in time is left alone on its thread.
fn set_up(plugin: &Plugin, limit: Duration) -> Result<ToolRegistry, String> {
    let plugin = plugin.clone();
    let (send, receive) = sync_channel(1);
    let thread = std::thread::Builder::new()
        .name("tool-plugin".to_owned())
        .spawn(move || {
            let tools = catch_unwind(AssertUnwindSafe(|| register_tools(plugin)));
            // The receiver is gone if the limit has passed.
            let _ =
                send.send(tools.unwrap_or_else(|panic| Err(panicked(panic.as_ref()).to_string())));
        });
    thread.map_err(|error| format!("start a thread for it: {error}"))?;
    match receive.recv_timeout(limit) {
        Ok(registry) => registry,
        Err(RecvTimeoutError::Timeout) => {
            Err(format!("it was not ready within {} s", limit.as_secs()))
        }
        Err(RecvTimeoutError::Disconnected) => Err("its thread ended".to_owned()),
    }
}

/// What a tool says of itself.
#[derive(Clone)]
struct Facts {
    name: String,
    title: String,
    prompt: Prompt,
    properties: ToolProperties,
}

impl Facts {
    fn read(tool: &Arc<dyn Tool>) -> Facts {
        let properties = tool.properties();
        Facts {
            name: tool.name().to_owned(),
            title: tool.title().to_owned(),
            prompt: Prompt {
                description: tool.description().to_owned(),
                parameters: tool.schema().clone(),
            },
            properties: ToolProperties {
                answers_from: AnswersFrom::Anything,
                is_repeatable: properties.may_be_repeated(),
                reaches_remotes: false,
                ..properties
            },
        }
    }
}

/// Reads what a tool says of itself, once, and refuses a tool that could not be called by it.
fn facts_of(tool: &Arc<dyn Tool>) -> Result<(Category, Arc<Facts>), ToolsError> {
    let read = catch_unwind(AssertUnwindSafe(|| (tool.category(), Facts::read(tool))));
    let (category, facts) =
        read.map_err(|panic| unusable("?", panicked(panic.as_ref()).to_string()))?;
    if !is_name(&facts.name) {
        let shown = orchestrate_core::text::invisible::shown(&facts.name);
        return Err(unusable(
            &shown,
            format!("its name is not 1 to {MAX_NAME} letters, digits, `_` and `-`"),
        ));
    }
    if facts.prompt.description.trim().is_empty() {
        return Err(unusable(
            &facts.name,
            "it has no description, from which a model learns what it does".to_owned(),
        ));
    }
    if facts.prompt.description.len() + facts.prompt.parameters.to_string().len() > MAX_TEXT_BYTES {
        let reason = format!(
            "its description and schema are larger than {} KiB",
            MAX_TEXT_BYTES >> 10
        );
        return Err(unusable(&facts.name, reason));
    }
    arguments::compile(&facts.name, &facts.prompt.parameters)?;
    Ok((category, Arc::new(facts)))
}

fn unusable(tool: &str, reason: String) -> ToolsError {
    ToolsError::Unusable {
        tool: tool.to_owned(),
        reason,
    }
}

/// A tool of the program, with what it said of itself when it was added. Its answers are never
/// replayed, since their keys would not contain its code.
struct AddedTool {
    tool: Arc<dyn Tool>,
    category: Category,
    facts: Arc<Facts>,
}

#[async_trait]
impl Tool for AddedTool {
    fn name(&self) -> &str {
        &self.facts.name
    }

    fn title(&self) -> &str {
        &self.facts.title
    }

    fn description(&self) -> &str {
        &self.facts.prompt.description
    }

    fn category(&self) -> Category {
        self.category.clone()
    }

    fn properties(&self) -> ToolProperties {
        self.facts.properties
    }

    fn schema(&self) -> &Value {
        &self.facts.prompt.parameters
    }

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        self.tool.prepare(site, arguments)
    }

    fn as_wrap(&self) -> Option<&dyn Wrap> {
        self.tool.as_wrap()
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        self.tool.execute(context, arguments).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plugin that never gets ready.
    struct Stuck;

    impl ToolPlugin for Stuck {
        fn name(&self) -> &str {
            "stuck"
        }

        fn version(&self) -> &str {
            "1"
        }

        fn initialize(&self, _: &Value) -> Result<(), PluginError> {
            loop {
                std::thread::park();
            }
        }

        fn register_tools(&self, _: &mut ToolRegistry) -> Result<(), PluginError> {
            Ok(())
        }
    }

    #[test]
    fn a_plugin_that_does_not_get_ready_is_left_alone() {
        let refused = set_up(&Plugin::new(Stuck), Duration::from_millis(10)).err();
        assert_eq!(refused.as_deref(), Some("it was not ready within 0 s"));
    }
}
