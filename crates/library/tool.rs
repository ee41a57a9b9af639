//! Tools that a program defines by a function.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::policy::Permission;
use orchestrate_core::{AgentId, CallId};
use orchestrate_tools::{
    Answer, CallRecorder, Category, Tool, ToolContext, ToolError, ToolProperties,
};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// The category of a program's tools in the catalogue.
const CATEGORY: &str = "program";

type Answering = Pin<Box<dyn Future<Output = Result<String>> + Send>>;
type Function = dyn Fn(CallContext, Value) -> Answering + Send + Sync;

/// A tool made of a function, by [`tool_fn`].
pub struct ToolFn {
    name: String,
    description: String,
    schema: Value,
    function: Box<Function>,
}

/// Makes a tool of a function. Agents see its name and its description, and the schema of its
/// arguments; a call with other arguments is answered with what is wrong and never reaches it. It
/// runs in this process, outside of the sandbox, so it decides itself what a call may do.
///
/// ```
/// use orchestrate::tool_fn;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Shout {
///     /// What to shout.
///     text: String,
/// }
///
/// let shout = tool_fn("shout", "Shouts.", |cx, arguments: Shout| async move {
///     cx.progress("warming up");
///     Ok(arguments.text.to_uppercase())
/// });
/// ```
pub fn tool_fn<A, F, W>(
    name: impl Into<String>,
    description: impl Into<String>,
    function: F,
) -> ToolFn
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(CallContext, A) -> W + Send + Sync + 'static,
    W: Future<Output = Result<String>> + Send + 'static,
{
    let call = move |context: CallContext, arguments: Value| -> Answering {
        match serde_json::from_value(arguments) {
            Ok(arguments) => Box::pin(function(context, arguments)),
            Err(error) => Box::pin(std::future::ready(Err(Error::new(error)))),
        }
    };
    ToolFn {
        name: name.into(),
        description: description.into(),
        schema: schema_of::<A>(),
        function: Box::new(call),
    }
}

/// Returns the JSON Schema of a type, without references to other schemas, which not every provider
/// follows.
pub(crate) fn schema_of<A: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    schema.remove("$schema");
    schema.to_value()
}

/// One call of a program's tool; see [`tool_fn`].
///
/// ```
/// fn begin(call: &orchestrate::CallContext) {
///     call.progress(format!("working for {}", call.child()));
/// }
/// ```
#[derive(Clone)]
pub struct CallContext {
    recorder: Arc<dyn CallRecorder>,
    agent: AgentId,
    call: CallId,
}

impl CallContext {
    /// Returns the id of the child that calls.
    pub fn child(&self) -> &str {
        self.agent.as_str()
    }

    /// Tells the followers of the session how far the call is.
    pub fn progress(&self, text: impl AsRef<str>) {
        self.recorder.progress(&self.call, text.as_ref());
    }
}

#[async_trait]
impl Tool for ToolFn {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn category(&self) -> Category {
        Category::named(CATEGORY)
    }

    fn properties(&self) -> ToolProperties {
        ToolProperties::new(Permission::None)
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let call = CallContext {
            recorder: Arc::clone(&context.services().recorder),
            agent: context.agent().clone(),
            call: context.call().clone(),
        };
        let answered = (self.function)(call, arguments).await;
        let text = answered.map_err(|error| ToolError::Execution(error.to_string()))?;
        Ok(Answer::new(text, json!({})))
    }
}
