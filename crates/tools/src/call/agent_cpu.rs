//! What an agent's commands may still use of its processor time.
//!
//! A command can be ended only at a limit that is known when it starts, so commands of such an
//! agent that are started at once run one after the other: each may use what those before it have
//! left.

use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::ToolSettings;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::answer::ToolError;

/// The rest of an agent's processor time, which clones share; by default, no limit.
#[derive(Clone, Debug, Default)]
pub struct AgentCpu(Option<Arc<Mutex<Duration>>>);

impl AgentCpu {
    /// Returns what the settings leave to an agent whose commands have used this many milliseconds.
    pub fn from_settings(settings: &ToolSettings, used_ms: u64) -> AgentCpu {
        let most = settings
            .code_execution
            .agent_cpu_seconds
            .map(Duration::from_secs);
        most.map_or_else(AgentCpu::default, |most| {
            AgentCpu::rest(most.saturating_sub(Duration::from_millis(used_ms)))
        })
    }

    /// Limits an agent's commands to this time.
    pub fn rest(rest: Duration) -> AgentCpu {
        AgentCpu(Some(Arc::new(Mutex::new(rest))))
    }

    /// Refuses a call that would run a command if nothing is left; while another command runs, that
    /// is not known.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        match self.0.as_ref().map(|rest| rest.try_lock()) {
            Some(Ok(rest)) if rest.is_zero() => Err(used_up()),
            _ => Ok(()),
        }
    }

    /// Waits until no other command of the agent runs.
    ///
    /// # Errors
    /// `Retry` if nothing is left.
    pub(crate) async fn turn(&self) -> Result<CpuTurn, ToolError> {
        let Some(rest) = &self.0 else {
            return Ok(CpuTurn(None));
        };
        let rest = Arc::clone(rest).lock_owned().await;
        if rest.is_zero() {
            Err(used_up())
        } else {
            Ok(CpuTurn(Some(rest)))
        }
    }
}

fn used_up() -> ToolError {
    ToolError::Retry(
        "Resource limits exceeded: this agent's commands have used all its processor time, which \
         `tools.code_execution.agent_cpu_seconds` sets; finish without running programs"
            .to_owned(),
    )
}

/// The turn of one command.
#[derive(Debug)]
pub(crate) struct CpuTurn(Option<OwnedMutexGuard<Duration>>);

impl CpuTurn {
    /// Returns what the command may use; `None` for no limit.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.0.as_deref().copied()
    }

    /// Counts what the command has used, and ends its turn.
    pub(crate) fn end(mut self, used: Duration) {
        if let Some(rest) = &mut self.0 {
            **rest = rest.saturating_sub(used);
        }
    }
}
