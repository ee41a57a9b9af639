//! A tool that runs a function of the test.

use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use orchestrate_core::CallId;
use orchestrate_core::policy::Permission;
use orchestrate_tools::{
    Answer, CallSite, Category, Look, Prepared, Tool, ToolContext, ToolError, ToolProperties, Waits,
};
use serde_json::{Value, json};

type Ran<'a> = Pin<Box<dyn Future<Output = Result<Answer, ToolError>> + Send + 'a>>;

/// A tool named `probe` that runs a function; its schema accepts two optional texts.
pub(crate) struct Probe<F> {
    name: &'static str,
    schema: Value,
    is_repeatable: bool,
    alternatives: &'static [&'static str],
    may_wait: bool,
    /// What is found before a person is asked about a call.
    foreseen: Option<ToolError>,
    run: F,
}

impl<F> Probe<F> {
    /// Gives it another name than `probe`.
    pub(crate) fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Says whether it can be run twice.
    pub(crate) fn repeatable(self, is_repeatable: bool) -> Self {
        Self {
            is_repeatable,
            ..self
        }
    }

    /// Lets its calls be answered as those of a tool that may wait.
    pub(crate) fn waiting(self) -> Self {
        Self {
            may_wait: true,
            ..self
        }
    }

    /// Lets its calls fail so before a person is asked about them.
    pub(crate) fn foreseeing(self, error: ToolError) -> Self {
        Self {
            foreseen: Some(error),
            ..self
        }
    }

    /// Names the tools that may answer instead.
    pub(crate) fn or(self, alternatives: &'static [&'static str]) -> Self {
        Self {
            alternatives,
            ..self
        }
    }
}

/// Creates a tool from a function.
pub(crate) fn probe<F>(run: F) -> Probe<F>
where
    F: for<'a> Fn(&'a ToolContext) -> Ran<'a> + Send + Sync,
{
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}, "api_key": {"type": "string"}},
        "additionalProperties": false,
    });
    Probe {
        name: "probe",
        schema,
        is_repeatable: false,
        alternatives: &[],
        may_wait: false,
        foreseen: None,
        run,
    }
}

#[async_trait]
impl<F> Tool for Probe<F>
where
    F: for<'a> Fn(&'a ToolContext) -> Ran<'a> + Send + Sync,
{
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "Does what the test says."
    }

    fn category(&self) -> Category {
        Category::MEMORY
    }

    fn properties(&self) -> ToolProperties {
        ToolProperties {
            is_repeatable: self.is_repeatable,
            alternatives: self.alternatives,
            ..ToolProperties::new(Permission::None)
        }
    }

    fn as_waits(&self) -> Option<&dyn Waits> {
        if self.may_wait { Some(self) } else { None }
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let prepared = Prepared::new(arguments);
        Ok(match self.foreseen.clone() {
            Some(error) => {
                prepared.rehearsed(Look::new(|_, _, _: Value| async move { Err(error) }))
            }
            None => prepared,
        })
    }

    async fn execute(&self, context: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        (self.run)(context).await
    }
}

#[async_trait]
impl<F> Waits for Probe<F>
where
    F: for<'a> Fn(&'a ToolContext) -> Ran<'a> + Send + Sync,
{
    async fn answer(
        &self,
        context: &ToolContext,
        _: &CallId,
        _: Value,
    ) -> Result<Option<Answer>, ToolError> {
        (self.run)(context).await.map(Some)
    }
}
