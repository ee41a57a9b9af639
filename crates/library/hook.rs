//! A program's own say about what its children call.

use async_trait::async_trait;
use orchestrate_core::{AgentId, ToolCall};
use orchestrate_tools::{CallHook, HookRuling};
use serde_json::Value;

/// A call that a hook decides about, before the rules do.
#[derive(Clone, Debug)]
pub struct HookedCall {
    child: AgentId,
    call: ToolCall,
}

/// What a hook decides; made by the methods of its [`HookedCall`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Verdict(HookRuling);

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
        Verdict(HookRuling::Pass)
    }

    /// Denies it; the child is told why.
    pub fn deny(self, why: impl Into<String>) -> Verdict {
        Verdict(HookRuling::Deny(why.into()))
    }

    /// Leaves the call with other arguments to the rules, as if the child had asked for that.
    pub fn change(self, arguments: Value) -> Verdict {
        Verdict(HookRuling::Change(arguments))
    }
}

/// A function of the program as the engine asks it.
pub(crate) struct Hook<F>(pub(crate) F);

#[async_trait]
impl<F, W> CallHook for Hook<F>
where
    F: Fn(HookedCall) -> W + Send + Sync + 'static,
    W: Future<Output = Verdict> + Send + 'static,
{
    async fn before(&self, agent: &AgentId, call: &ToolCall) -> HookRuling {
        let hooked = HookedCall {
            child: agent.clone(),
            call: call.clone(),
        };
        (self.0)(hooked).await.0
    }
}
