//! Finds the tool that a call means, and converts the call's arguments to what that tool gets.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::answer::{ToolError, ToolsError};
use crate::call::{FirstForm, Request, Wrapper};
use crate::execute::{LeftBehind, isolated, more_parameters, own_form, replaced_parameters};
use crate::registry::{Resolved, ToolRegistry};
use crate::tool::{CallSite, Prepared, Tool, arguments, panicked};

/// The tools of a registry, with what validates their arguments.
pub(crate) struct Resolver {
    pub(crate) registry: ToolRegistry,
    validators: BTreeMap<String, OnceLock<Validator>>,
    /// The schemas of calls with parameters that models are not told of.
    wide: BTreeMap<String, Wide>,
    /// The validators of second forms, by their name in lower case.
    second_validators: BTreeMap<String, OnceLock<Validator>>,
    left_behind: LeftBehind,
}

impl Resolver {
    /// Creates a resolver of the registry's tools. The schemas of the shipped tools are compiled
    /// once they are needed: most runs call few of them.
    ///
    /// # Errors
    /// [`ToolsError::Schema`] for a tool of the program's own whose schema cannot be compiled.
    pub(crate) fn new(registry: ToolRegistry) -> Result<Resolver, ToolsError> {
        let mut validators = BTreeMap::new();
        for tool in registry.tools(None) {
            let validator = match registry.is_added(tool.name()) {
                true => OnceLock::from(arguments::compile(tool.name(), tool.schema())?),
                false => OnceLock::new(),
            };
            validators.insert(tool.name().to_owned(), validator);
        }
        let mut wide = BTreeMap::new();
        for tool in registry
            .tools(None)
            .into_iter()
            .filter(|tool| !registry.is_added(tool.name()))
        {
            if let Some(more) = more_parameters(tool.name()) {
                wide.insert(tool.name().to_owned(), Wide::new(tool.schema(), more));
            }
        }
        let mut second_validators = BTreeMap::new();
        for tool in registry.second_forms() {
            second_validators.insert(tool.name().to_lowercase(), OnceLock::new());
        }
        Ok(Resolver {
            registry,
            validators,
            wide,
            second_validators,
            left_behind: LeftBehind::default(),
        })
    }

    /// Returns the arguments in the form that the tool's schema describes.
    ///
    /// # Errors
    /// `Retry` for arguments that the tool does not take.
    pub(crate) fn conform(
        &self,
        resolved: &Resolved<'_>,
        given: &Value,
    ) -> Result<Value, ToolError> {
        let tool = resolved.tool;
        let is_builtin = resolved.first_form.is_none() && !self.registry.is_added(tool.name());
        let given = if is_builtin {
            own_form(resolved.called, tool.name(), given)?
        } else {
            Cow::Borrowed(given)
        };
        let validator = match resolved.first_form {
            Some(_) => self.second_validators.get(&tool.name().to_lowercase()),
            None => self.validators.get(tool.name()),
        };
        let validator = validator
            .ok_or_else(|| ToolError::Execution("the tool has no validator".to_owned()))?;
        let validator = arguments::compiled(validator, tool.name(), tool.schema())?;
        let wide = self
            .wide
            .get(tool.name())
            .filter(|_| is_builtin)
            .and_then(|wide| wide.for_call(&given));
        match wide {
            Some(schema) => {
                let validator = arguments::compile(tool.name(), &schema)
                    .map_err(|error| ToolError::Execution(error.to_string()))?;
                arguments::conform(&given, &schema, &validator)
            }
            None => arguments::conform(&given, tool.schema(), validator),
        }
    }

    /// Lets a tool prepare a call, which is the tool's own code as well.
    ///
    /// # Errors
    /// As [`Tool::prepare`].
    pub(crate) fn prepare(
        &self,
        tool: &Arc<dyn Tool>,
        arguments: Value,
        site: CallSite,
    ) -> Result<Prepared, ToolError> {
        let own = Arc::clone(tool);
        let work = move || own.prepare(&site, arguments);
        match self.isolated(tool.as_ref()) {
            Some(left_behind) => isolated::check(left_behind, work),
            None => catch_unwind(AssertUnwindSafe(work))
                .unwrap_or_else(|panic| Err(panicked(panic.as_ref()))),
        }
    }

    /// Returns where the threads of a tool of the program's own are counted, which the tool runs
    /// on.
    pub(crate) fn isolated(&self, tool: &dyn Tool) -> Option<&LeftBehind> {
        let own = tool
            .wrapping()
            .map_or(tool.name(), |wrapping| wrapping.tool);
        self.registry.is_added(own).then_some(&self.left_behind)
    }
}

/// The parameters that a tool takes from the calls of other products beside those that models are
/// told of.
struct Wide {
    schema: Value,
    more: Map<String, Value>,
}

impl Wide {
    fn new(schema: &Value, more: Value) -> Wide {
        let Value::Object(more) = more else {
            return Wide {
                schema: schema.clone(),
                more: Map::new(),
            };
        };
        let mut schema = schema.clone();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.extend(more.clone());
        }
        Wide { schema, more }
    }

    /// Returns the schema for a call that gives one of these parameters.
    fn for_call(&self, given: &Value) -> Option<Value> {
        let given = given.as_object()?;
        if !given.keys().any(|name| self.more.contains_key(name)) {
            return None;
        }
        let mut schema = self.schema.clone();
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            let replaced = replaced_parameters(given);
            required.retain(|name| !name.as_str().is_some_and(|name| replaced.contains(&name)));
        }
        Some(schema)
    }
}

/// Returns what the policy is asked about a call of a tool: `first_form` is the tool that has its
/// name otherwise, if it is a second form.
pub(crate) fn request<'a>(
    tool: &'a Arc<dyn Tool>,
    first_form: Option<&'a Arc<dyn Tool>>,
    prepared: &'a Prepared,
) -> Request<'a> {
    let wrapper = tool.wrapping().map(|wrapping| Wrapper {
        wrapped: wrapping.tool,
        first_form: first_form.map(|first| FirstForm {
            tool: first.name(),
            parameters: arguments::required_names(first.schema()),
        }),
    });
    Request {
        tool: tool.name(),
        wrapper,
        permission: tool.permission(),
        effects: &prepared.effects,
        refused: prepared.refused.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::builtin::plain_tools;
    use crate::tool::arguments;

    #[test]
    fn every_shipped_schema_compiles() {
        let registry = plain_tools().unwrap();
        for tool in registry
            .tools(None)
            .into_iter()
            .chain(registry.second_forms())
        {
            arguments::compile(tool.name(), tool.schema()).unwrap();
        }
    }
}
