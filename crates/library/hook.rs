//! A program's own say about what its children call, and about the end of their work.

use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::event::Recorded;
use orchestrate_core::policy::hook::{HookAnswer, HookRuling};
use orchestrate_core::{AgentId, ToolCall};
use orchestrate_tools::{Hook, HookPlace, ToolOutput};
use serde_json::Value;

use crate::event::Fact;

/// How long a hook may take: a child waits for it.
const MAX_TIME: Duration = Duration::from_secs(60);
/// The name of every hook of a program, for records and messages.
const NAME: &str = "the program's hook";

/// A call that a hook decides about, before the rules do.
///
/// ```
/// use orchestrate::{HookedCall, Verdict};
///
/// fn decide(call: HookedCall) -> Verdict {
///     match (call.tool(), call.arguments()["path"].as_str()) {
///         ("write_file", Some("CHANGELOG.md")) => call.deny("the release writes it"),
///         _ => call.allow(),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct HookedCall {
    child: AgentId,
    call: ToolCall,
}

/// A call that has ended, with its result.
///
/// ```
/// use orchestrate::{HookedResult, Verdict};
///
/// fn look(result: HookedResult) -> Verdict {
///     if result.call().tool() == "fetch_url" && result.text().contains("login") {
///         return result.refuse("that page is behind a login");
///     }
///     result.accept()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct HookedResult {
    call: HookedCall,
    is_success: bool,
    text: String,
}

/// The work that a child hands back.
///
/// ```
/// use orchestrate::{HookedWork, Verdict};
///
/// fn check(work: HookedWork) -> Verdict {
///     if work.report().trim().is_empty() {
///         return work.send_back("say what you have changed, and why");
///     }
///     work.accept()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct HookedWork {
    child: AgentId,
    report: String,
}

/// What a hook decides; made by the methods of what it is asked about.
///
/// ```
/// fn allow(call: orchestrate::HookedCall) -> orchestrate::Verdict {
///     call.allow().context("the style guide is docs/style.md")
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Verdict(HookAnswer);

impl Verdict {
    /// Adds what the child is told beside the result of its call.
    pub fn context(mut self, text: impl Into<String>) -> Self {
        self.0.context = Some(text.into());
        self
    }
}

impl HookedCall {
    /// Returns the id of the child that calls.
    pub fn child(&self) -> &str {
        self.child.as_str()
    }

    /// Returns the tool's name.
    pub fn tool(&self) -> &str {
        &self.call.name
    }

    /// Returns the arguments, without secrets.
    pub fn arguments(&self) -> &Value {
        &self.call.arguments
    }

    /// Leaves the call to the rules.
    pub fn allow(self) -> Verdict {
        Verdict(HookAnswer::default())
    }

    /// Denies it; the child is told why.
    pub fn deny(self, why: impl Into<String>) -> Verdict {
        Verdict(HookAnswer::deny(why))
    }

    /// Leaves the call with other arguments to the rules, as if the child had asked for that.
    pub fn change(self, arguments: Value) -> Verdict {
        Verdict(HookAnswer {
            ruling: HookRuling::Change(arguments),
            context: None,
        })
    }
}

impl HookedResult {
    /// Returns the call.
    pub fn call(&self) -> &HookedCall {
        &self.call
    }

    /// Reports whether the tool did what was asked for.
    pub fn is_success(&self) -> bool {
        self.is_success
    }

    /// Returns the result as the child gets it, or the error of a call that failed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Lets the child use the result.
    pub fn accept(self) -> Verdict {
        Verdict(HookAnswer::default())
    }

    /// Says that the child must not use the result, and why. What the call has done stays.
    pub fn refuse(self, why: impl Into<String>) -> Verdict {
        Verdict(HookAnswer::deny(why))
    }
}

impl HookedWork {
    /// Returns the id of the child.
    pub fn child(&self) -> &str {
        self.child.as_str()
    }

    /// Returns its report.
    pub fn report(&self) -> &str {
        &self.report
    }

    /// Takes the work.
    pub fn accept(self) -> Verdict {
        Verdict(HookAnswer::default())
    }

    /// Sends the work back to the child with what is to be mended.
    pub fn send_back(self, why: impl Into<String>) -> Verdict {
        Verdict(HookAnswer::deny(why))
    }
}

/// Waits for a hook's verdict; one that takes too long denies.
async fn in_time(deciding: impl Future<Output = Verdict>) -> HookAnswer {
    match tokio::time::timeout(MAX_TIME, deciding).await {
        Ok(verdict) => verdict.0,
        Err(_) => HookAnswer::deny(format!(
            "the program's hook has not decided within {} s",
            MAX_TIME.as_secs()
        )),
    }
}

/// A function of the program that is asked before calls.
pub(crate) struct BeforeTool<F>(pub(crate) F);
/// One that is asked after calls.
pub(crate) struct AfterTool<F>(pub(crate) F);
/// One that is asked before a child's end.
pub(crate) struct BeforeFinish<F>(pub(crate) F);
/// One that observes events.
pub(crate) struct OnEvent<F>(pub(crate) F);

#[async_trait]
impl<F, W> Hook for BeforeTool<F>
where
    F: Fn(HookedCall) -> W + Send + Sync + 'static,
    W: Future<Output = Verdict> + Send + 'static,
{
    fn name(&self) -> &str {
        NAME
    }

    async fn before_tool(&self, at: &HookPlace<'_>, call: &ToolCall) -> HookAnswer {
        in_time((self.0)(HookedCall {
            child: at.agent.clone(),
            call: call.clone(),
        }))
        .await
    }
}

#[async_trait]
impl<F, W> Hook for AfterTool<F>
where
    F: Fn(HookedResult) -> W + Send + Sync + 'static,
    W: Future<Output = Verdict> + Send + 'static,
{
    fn name(&self) -> &str {
        NAME
    }

    async fn after_tool(
        &self,
        at: &HookPlace<'_>,
        call: &ToolCall,
        output: &ToolOutput,
    ) -> HookAnswer {
        in_time((self.0)(HookedResult {
            call: HookedCall {
                child: at.agent.clone(),
                call: call.clone(),
            },
            is_success: output.success,
            text: output.text(),
        }))
        .await
    }
}

#[async_trait]
impl<F, W> Hook for BeforeFinish<F>
where
    F: Fn(HookedWork) -> W + Send + Sync + 'static,
    W: Future<Output = Verdict> + Send + 'static,
{
    fn name(&self) -> &str {
        NAME
    }

    async fn before_finish(&self, at: &HookPlace<'_>, report: &str) -> HookAnswer {
        in_time((self.0)(HookedWork {
            child: at.agent.clone(),
            report: report.to_owned(),
        }))
        .await
    }
}

#[async_trait]
impl<F> Hook for OnEvent<F>
where
    F: Fn(Fact) + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        NAME
    }

    fn observes_events(&self) -> bool {
        true
    }

    async fn on_event(&self, fact: &Recorded) -> std::result::Result<(), String> {
        (self.0)(Fact::from(fact.clone()));
        Ok(())
    }
}
