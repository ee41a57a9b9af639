//! Asks the hooks whether an agent may hand back its work.

use orchestrate_checks::ShutdownLevel;
use orchestrate_core::policy::hook::HookRuling;
use orchestrate_sandbox::Cancel;
use orchestrate_tools::HookPlace;

use crate::worker::workplace::Workplace;

/// What the hooks say about the end of an agent's work.
pub(super) enum HookedEnd {
    /// They have no objection.
    Passed,
    /// One of them does not take the work.
    Refused {
        /// The hook.
        hook: String,
        /// Why.
        reason: String,
    },
    /// The work was interrupted; they are asked again when it goes on.
    Interrupted,
}

/// Asks the hooks in order, until one refuses.
pub(super) async fn ask_hooks(workplace: &Workplace, report: &str) -> HookedEnd {
    let Workplace {
        assignment,
        host,
        sandbox,
        ..
    } = workplace;
    let cancel = Cancel::new();
    let place = HookPlace {
        run: &assignment.run,
        agent: &assignment.agent,
        worktree: &workplace.scope,
        sandbox,
        cancel: &cancel,
    };
    for hook in host.hooks.iter() {
        let asked = hook.before_finish(&place, report);
        let answer = workplace.shutdown.guard(&cancel, asked).await;
        if workplace.shutdown.level() >= ShutdownLevel::Stop {
            return HookedEnd::Interrupted;
        }
        if let HookRuling::Deny(reason) = answer.ruling {
            return HookedEnd::Refused {
                hook: hook.name().to_owned(),
                reason: host.site.redactor.owned(reason),
            };
        }
    }
    HookedEnd::Passed
}
