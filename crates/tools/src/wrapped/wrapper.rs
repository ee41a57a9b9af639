//! The tool that a wrapper's file defines. Its calls are calls of the wrapped tool with other
//! arguments.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use jsonschema::Validator;
use orchestrate_core::shell_word;
use serde_json::{Value, json};

use super::annotations::Mistake;
use super::definition::Wrapper;
use super::parameter::Kind;
use crate::answer::{Answer, ToolError};
use crate::template::{ARGUMENTS, CommandTemplate};
use crate::tool::arguments::{compiled, conform, is_ignored, own_name};
use crate::tool::{
    CallSite, Category, HandedOn, Prepared, Tool, ToolContext, ToolProperties, Wrap, Wrapping,
};

/// A tool that hands its calls to another one.
pub(super) struct WrappedTool {
    name: String,
    title: String,
    description: String,
    schema: Value,
    command: Option<CommandTemplate>,
    wrapped: Arc<dyn Tool>,
    /// Checks the arguments of the wrapped tool, which a template always fits; it is compiled once
    /// it is needed.
    inner: OnceLock<Validator>,
}

impl WrappedTool {
    /// Creates the tool; texts that the file leaves out are those of the wrapped tool.
    pub(super) fn new(
        name: &str,
        wrapper: Wrapper,
        wrapped: Arc<dyn Tool>,
    ) -> Result<WrappedTool, String> {
        if wrapped.as_wrap().is_none() {
            return Err(format!("Tool '{}' is not wrappable", wrapped.name()));
        }
        let mut schema = wrapper.schema();
        add_descriptions(&mut schema, wrapped.schema());
        Ok(WrappedTool {
            name: name.to_owned(),
            title: wrapper.title.unwrap_or_else(|| wrapped.title().to_owned()),
            description: wrapper
                .description
                .unwrap_or_else(|| wrapped.description().to_owned()),
            schema,
            command: wrapper.command,
            wrapped,
            inner: OnceLock::new(),
        })
    }

    /// Returns the arguments of the wrapped tool.
    fn inner_arguments(&self, arguments: &Value) -> Result<Value, ToolError> {
        let wrap = self.wrapped.as_wrap();
        let wrap = wrap.ok_or_else(|| {
            ToolError::Execution(format!("Tool '{}' is not wrappable", self.wrapped.name()))
        })?;
        let inner = wrap.deserialize_wrapped(arguments, self.command.as_ref())?;
        match &self.command {
            Some(_) => Ok(inner),
            None => {
                let schema = self.wrapped.schema();
                let validator = compiled(&self.inner, self.wrapped.name(), schema)?;
                conform(&inner, schema, validator)
            }
        }
    }

    /// Returns what a command makes of the arguments, for whoever is asked about the call.
    fn details(&self, arguments: &Value) -> Option<Value> {
        let words = self.command.as_ref()?.fill(arguments).ok()?;
        let line = words.iter().map(shell_word).collect::<Vec<_>>().join(" ");
        Some(json!({ self.wrapped.name(): line }))
    }
}

/// Requires that the calls of a wrapper without a command, whose `@wrapped` stands on this line,
/// can be calls of the wrapped tool.
pub(super) fn require_callable(
    wrapper: &Wrapper,
    wrapped: &dyn Tool,
    line: u32,
) -> Result<(), Mistake> {
    let (tool, schema) = (wrapped.name(), wrapped.schema());
    let known = schema.get("properties").and_then(Value::as_object);
    let Some(known) = known.filter(|_| wrapper.command.is_none()) else {
        return Ok(());
    };
    if is_words(wrapper) && wrapped.as_wrap().is_some_and(Wrap::takes_words) {
        return Ok(());
    }
    for parameter in &wrapper.parameters {
        let name = &parameter.name;
        let own = own_name(name, |own| known.contains_key(own));
        let Some(property) = own.and_then(|own| known.get(own)) else {
            let is_taken =
                is_ignored(name) || schema.get("additionalProperties") != Some(&Value::Bool(false));
            if is_taken {
                continue;
            }
            let names = known
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join("`, `");
            return Err(Mistake::new(
                parameter.line,
                format!("`{tool}` has no parameter `{name}`; it has `{names}`"),
            ));
        };
        if let Some(expected) = unfit(&parameter.kind, property) {
            let given = parameter.kind.json_type();
            let reason = format!(
                "the parameter `{name}` is of type {given}, but `{tool}` expects {expected}"
            );
            return Err(Mistake::new(parameter.line, reason));
        }
    }
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    for name in required {
        let is_given = wrapper.parameters.iter().any(|parameter| {
            own_name(&parameter.name, |own| known.contains_key(own)) == Some(name)
        });
        if !is_given {
            return Err(Mistake::new(
                line,
                format!("`{tool}` requires `{name}`, which no parameter gives"),
            ));
        }
    }
    Ok(())
}

fn is_words(wrapper: &Wrapper) -> bool {
    wrapper
        .parameters
        .iter()
        .all(|parameter| parameter.name == ARGUMENTS)
}

/// Returns the types that a property may have, if values of this type are none of them.
fn unfit(kind: &Kind, property: &Value) -> Option<String> {
    let names = match property.get("type")? {
        Value::String(name) => vec![name.as_str()],
        several => several
            .as_array()?
            .iter()
            .filter_map(Value::as_str)
            .collect(),
    };
    let given = kind.json_type();
    for name in &names {
        let is_number = matches!(*name, "integer" | "number");
        if *name == given || is_number && matches!(given, "integer" | "number") {
            return None;
        }
    }
    Some(names.join(" or "))
}

/// Adds the descriptions of the wrapped tool's parameters to those of the same name that have none.
fn add_descriptions(schema: &mut Value, wrapped: &Value) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let text = wrapped
            .get("properties")
            .and_then(|all| all.get(name)?.get("description"));
        if let (Some(property), Some(text)) = (property.as_object_mut(), text) {
            property
                .entry("description")
                .or_insert_with(|| text.clone());
        }
    }
}

#[async_trait]
impl Tool for WrappedTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn category(&self) -> Category {
        self.wrapped.category()
    }

    /// Only roles that list it have it: each tool more makes every request longer.
    fn properties(&self) -> ToolProperties {
        let wrapped = self.wrapped.properties();
        ToolProperties {
            is_default: false,
            path_fields: match self.command {
                Some(_) => &[],
                None => wrapped.path_fields,
            },
            changes_files: wrapped.changes_files,
            deletes_files: wrapped.deletes_files,
            ..ToolProperties::new(wrapped.permission)
        }
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    /// Prepares the call of the wrapped tool. What a command makes of the arguments is shown beside
    /// them, which do not show it.
    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        // Without a command, the wrapped tool's paths are the wrapper's.
        let arguments = Prepared::on_paths(self.properties(), site, arguments)?.arguments;
        let inner = match self.inner_arguments(&arguments) {
            Ok(inner) => self.wrapped.prepare(site, inner)?,
            Err(error) => Prepared {
                fault: Some(error),
                ..Prepared::new(Value::Null)
            },
        };
        Ok(Prepared {
            handed_on: Some(HandedOn {
                details: self.details(&arguments),
                arguments: inner.arguments,
            }),
            arguments,
            ..inner
        })
    }

    fn wrapping(&self) -> Option<Wrapping<'_>> {
        Some(Wrapping {
            tool: self.wrapped.name(),
            template: self.command.as_ref(),
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let site = CallSite::in_scope(context.scope());
        let arguments = self
            .wrapped
            .prepare(&site, self.inner_arguments(&arguments)?)?;
        self.wrapped.execute(context, arguments.arguments).await
    }
}
