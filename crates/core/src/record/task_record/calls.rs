//! The events of an agent's calls, applied to its task.

use super::started::Started;
use crate::event::{Event, Illegal, ToolOutcome};
use crate::task::Task;

impl Started {
    /// Applies the start or the end of a call, or what was decided during it.
    pub(super) fn apply_call(&mut self, event: &Event, task: &Task) -> Result<(), Illegal> {
        match event {
            Event::ToolStarted {
                call_id,
                tool,
                cache,
                ..
            } => {
                self.running()?.insert(call_id.clone());
                self.replayed_calls += u64::from(cache.as_ref().is_some_and(|lookup| lookup.hit));
                self.last_tool = Some(tool.clone());
                if task.is_command() {
                    // A command is only ever rerun in a clean worktree, and this one is not clean
                    // any more.
                    self.branch.lose_worktree();
                }
                Ok(())
            }
            Event::ToolFinished {
                call_id,
                outcome,
                resource_usage,
                ..
            } => {
                self.command_cpu_ms += resource_usage.command_cpu_ms();
                if let Some(open_calls) = self.stage.open_calls_mut() {
                    open_calls.remove(call_id);
                }
                self.attempt.tally.denied |= *outcome == ToolOutcome::Denied;
                Ok(())
            }
            _ => Err(self.refusal()),
        }
    }
}
