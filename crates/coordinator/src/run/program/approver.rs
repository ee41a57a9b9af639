//! A program's own approver, which decides about calls that a rule asks about.

use std::error::Error;

use async_trait::async_trait;
use orchestrate_core::{AgentId, CallHash, RunId, RunState};
use serde_json::Value;

/// Decides about the calls that a rule asks about, instead of a person.
///
/// A call is parked first, as for a person, so its agent holds no slot meanwhile. Each call is
/// asked about once while this process works on the run. If a person decides first, or the run is
/// stopped, the future is dropped. A call that it fails or panics on waits for a person.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Returns the name that is recorded with its decisions.
    fn name(&self) -> &str;

    /// Decides about a call.
    ///
    /// # Errors
    /// Returns why it cannot decide; the call then waits for a person.
    async fn decide(
        &self,
        call: &AskedCall,
    ) -> Result<ApproverAnswer, Box<dyn Error + Send + Sync>>;
}

/// A call that a rule asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedCall {
    /// The run.
    pub run: RunId,
    /// The agent that wants to call the tool.
    pub agent: AgentId,
    /// The hash that the decision is bound to.
    pub call: CallHash,
    /// The tool's canonical name.
    pub tool: String,
    /// The complete arguments in canonical form, secrets redacted.
    pub arguments: Value,
    /// The call in one line, truncated if it is long.
    pub summary: String,
    /// The rule that asks.
    pub rule: String,
}

/// What an approver says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApproverAnswer {
    /// The call may run.
    Allow,
    /// The call may not run; the agent is told why.
    Deny {
        /// Why.
        reason: String,
    },
    /// A person has to decide.
    LeaveToPerson,
}

impl AskedCall {
    /// Returns a call that waits for a decision.
    pub(crate) fn open(state: &RunState, call: &CallHash) -> Option<AskedCall> {
        let (call, approval) = state.open_approvals().find(|(open, _)| *open == call)?;
        Some(AskedCall {
            run: state.run_id.clone(),
            agent: approval.task.clone(),
            call: call.clone(),
            tool: approval.tool.clone(),
            arguments: approval.arguments.clone(),
            summary: approval.summary.clone(),
            rule: approval.rule.clone(),
        })
    }
}
