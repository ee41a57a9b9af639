//! Hooks: the user's, the project's and the program's own say about calls, before the rules decide
//! about them and after they have ended, and about the end of an agent's work.

use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::event::Recorded;
use orchestrate_core::policy::hook::{HookAnswer, HookRuling};
use orchestrate_core::text::cut;
use orchestrate_core::{AgentId, Redactor, RunId, ToolCall};
use orchestrate_sandbox::{Cancel, Sandbox};

use crate::answer::{ToolError, ToolOutput, allowed_bytes};
use crate::call::{CallScope, WorktreeScope};
use crate::services::CallRecord;

/// The part of a result's room that hooks may fill, as a divisor.
const PART_OF_RESULT: usize = 4;

/// Is asked about what agents do. It can only narrow what the rules allow, or change what is asked
/// for; a changed call is decided about as if the agent had asked for it.
///
/// A hook may be asked again about the same call, if the call had to wait or another hook has
/// changed it, and about the same end, if the run was interrupted: it has to answer the same.
#[async_trait]
pub trait Hook: Send + Sync {
    /// Returns its name, for records and messages.
    fn name(&self) -> &str;

    /// Decides about a call, by its name and its arguments as the tool takes them.
    async fn before_tool(&self, _at: &HookPlace<'_>, _call: &ToolCall) -> HookAnswer {
        HookAnswer::default()
    }

    /// Looks at a call's result. It can add context, or say why the result must not be used; what
    /// the call has done stays.
    async fn after_tool(
        &self,
        _at: &HookPlace<'_>,
        _call: &ToolCall,
        _output: &ToolOutput,
    ) -> HookAnswer {
        HookAnswer::default()
    }

    /// Decides whether an agent may hand back its work, by its report.
    async fn before_finish(&self, _at: &HookPlace<'_>, _report: &str) -> HookAnswer {
        HookAnswer::default()
    }

    /// Reports whether it observes recorded events.
    fn observes_events(&self) -> bool {
        false
    }

    /// Observes a recorded event.
    ///
    /// # Errors
    /// Returns why it could not; the run goes on.
    async fn on_event(&self, _fact: &Recorded) -> Result<(), String> {
        Ok(())
    }
}

/// The agent that a hook is asked about, and where it works.
#[derive(Clone, Copy)]
pub struct HookPlace<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The agent.
    pub agent: &'a AgentId,
    /// The agent's worktree, as its processes see it.
    pub worktree: &'a WorktreeScope,
    /// The sandbox of its commands.
    pub sandbox: &'a Sandbox,
    /// Ends the hook when cancelled.
    pub cancel: &'a Cancel,
}

impl<'a> HookPlace<'a> {
    /// Returns the place of a call.
    fn of_call(scope: &'a CallScope) -> Self {
        Self {
            run: &scope.run,
            agent: &scope.agent,
            worktree: &scope.worktree,
            sandbox: &scope.sandbox,
            cancel: &scope.cancel,
        }
    }
}

/// The hooks of a run, in the order in which they are asked.
#[derive(Clone, Default)]
pub struct Hooks(Arc<[Arc<dyn Hook>]>);

impl Hooks {
    /// Creates the list of a run's hooks.
    pub fn new(hooks: impl IntoIterator<Item = Arc<dyn Hook>>) -> Hooks {
        Hooks(hooks.into_iter().collect())
    }

    /// Returns them in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Hook>> {
        self.0.iter()
    }

    /// Reports whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What the hooks do with one call.
#[derive(Clone, Default)]
pub(super) struct HookedCall {
    hooks: Hooks,
    /// What the agent is told beside the result.
    told: Vec<String>,
}

impl HookedCall {
    pub(super) fn new(hooks: &Hooks) -> HookedCall {
        HookedCall {
            hooks: hooks.clone(),
            told: Vec::new(),
        }
    }

    /// Asks one hook about a call before it is decided about; returns the call if the hook has
    /// changed it.
    pub(super) async fn before(
        &mut self,
        hook: &dyn Hook,
        call: &ToolCall,
        scope: &CallScope,
    ) -> Result<Option<ToolCall>, ToolError> {
        let HookAnswer { ruling, context } =
            hook.before_tool(&HookPlace::of_call(scope), call).await;
        if scope.cancel.is_cancelled() {
            return Err(ToolError::Interrupted(
                "the agent was stopped before the call ran".to_owned(),
            ));
        }
        let arguments = match ruling {
            HookRuling::Deny(reason) => return Err(ToolError::denied(hook.name(), reason)),
            HookRuling::Pass => None,
            HookRuling::Change(arguments) => Some(arguments).filter(|new| *new != call.arguments),
        };
        if let Some(arguments) = &arguments {
            self.tell(hook, &format!("changed the arguments to {arguments}"));
        }
        if let Some(context) = context {
            self.tell(hook, &context);
        }
        Ok(arguments.map(|arguments| ToolCall {
            arguments,
            ..call.clone()
        }))
    }

    /// Asks all hooks about a call that has ended, and returns its result with what they say.
    pub(super) async fn after(
        mut self,
        record: &CallRecord,
        output: ToolOutput,
        scope: &CallScope,
        redactor: &Redactor,
    ) -> ToolOutput {
        let call = ToolCall {
            id: record.call.clone(),
            name: record.tool.clone(),
            arguments: redactor.value(record.arguments.clone()),
        };
        let mut refused = None;
        let hooks = self.hooks.clone();
        for hook in hooks.iter() {
            let place = HookPlace::of_call(scope);
            let HookAnswer { ruling, context } = hook.after_tool(&place, &call, &output).await;
            if let Some(context) = context {
                self.tell(hook.as_ref(), &context);
            }
            if let HookRuling::Deny(reason) = ruling {
                self.tell(hook.as_ref(), &format!("do not use this result: {reason}"));
                refused = refused.or_else(|| Some(format!("{} refuses its result", hook.name())));
            }
        }
        if self.told.is_empty() {
            return output;
        }
        let room = allowed_bytes(scope.result_tokens) / PART_OF_RESULT;
        let told = redactor.owned(cut(&self.told.join("\n"), room));
        let body = match output.body.as_str() {
            "" => told,
            body => format!("{body}\n{told}"),
        };
        ToolOutput {
            success: output.success && refused.is_none(),
            error: output.error.or(refused),
            body,
            ..output
        }
    }

    fn tell(&mut self, hook: &dyn Hook, text: &str) {
        let line = format!("[{}] {text}", hook.name());
        // A hook that is asked again says the same again.
        if !self.told.contains(&line) {
            self.told.push(line);
        }
    }
}
