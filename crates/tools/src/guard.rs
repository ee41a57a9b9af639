//! Asks the policy again while a tool runs, about paths and programs that the call did not name.
//!
//! A link may lead to another file, and a search finds many files; each is judged by the path that is opened. Which
//! program runs a project's tests is known once its files have been looked at.

use std::sync::Arc;

use orchestrate_core::policy::{Access, Decision, Grant, Permission, Policy, Question, Target};

use crate::error::ToolError;
use orchestrate_core::invisible::shown;

/// Judges paths for one tool of one agent.
#[derive(Clone, Debug)]
pub(crate) struct PathGuard {
    pub(crate) policy: Arc<Policy>,
    pub(crate) grant: Arc<Grant>,
    pub(crate) tool: String,
    pub(crate) permission: Permission,
    /// How the paths are used.
    pub(crate) access: Access,
    /// The rule that asked about the call, if the user approved it: the approval covers other paths
    /// that this rule matches.
    pub(crate) approved_rule: Option<String>,
}

impl PathGuard {
    /// Creates the guard of a call of a tool, about which this was decided.
    pub(crate) fn of(
        tool: &str,
        permission: Permission,
        decision: &Decision,
        policy: &Arc<Policy>,
        grant: &Arc<Grant>,
    ) -> PathGuard {
        let approved_rule = match decision {
            Decision::Ask { rule } => Some(rule.clone()),
            Decision::Allow { .. } | Decision::Deny { .. } => None,
        };
        PathGuard {
            policy: Arc::clone(policy),
            grant: Arc::clone(grant),
            tool: tool.to_owned(),
            permission,
            access: Access::Own,
            approved_rule,
        }
    }

    /// Refuses a file that a rule or a limit denies or asks about; the rule approved with the call does not refuse it.
    pub(crate) fn check(&self, path: &str) -> Result<(), ToolError> {
        self.judge(path, Target::Path(path.to_owned()))
    }

    /// The same for a folder.
    pub(crate) fn check_folder(&self, path: &str) -> Result<(), ToolError> {
        self.judge(path, Target::Folder(path.to_owned()))
    }

    /// Returns what judges all that one walk finds.
    pub(crate) fn for_walk(&self) -> WalkGuard<'_> {
        WalkGuard { guard: self, policy: self.policy.about_paths(&self.grant, &self.question(&[])) }
    }

    /// The same for a program with these arguments.
    pub(crate) fn check_program(&self, argv: &[String]) -> Result<(), ToolError> {
        let permission = Access::Run.permission(self.permission);
        let targets = [Target::Argv(argv.to_vec())];
        let question = Question { tool: &self.tool, permission, access: Access::Run, targets: &targets };
        self.result(self.policy.decide(&self.grant, &question), |rule| {
            let command = shown(&argv.join(" "));
            format!(
                "the rule `{rule}` needs approval for `{command}`; run that command with run_shell_command, which can \
                ask for it"
            )
        })
    }

    fn judge(&self, path: &str, target: Target) -> Result<(), ToolError> {
        self.result(self.decide(target), |rule| {
            format!("the rule `{rule}` needs approval for `{}`; name that path itself", shown(path))
        })
    }

    fn result(&self, decision: Decision, asks: impl FnOnce(&str) -> String) -> Result<(), ToolError> {
        if self.admits(&decision) {
            return Ok(());
        }
        match decision {
            Decision::Deny { rule, reason } => Err(ToolError::Denied { reason, rule }),
            Decision::Ask { rule } | Decision::Allow { rule } => Err(ToolError::Denied { reason: asks(&rule), rule }),
        }
    }

    /// Reports whether it is allowed, or asked about by the rule that was approved with the call.
    fn admits(&self, decision: &Decision) -> bool {
        match decision {
            Decision::Allow { .. } => true,
            Decision::Ask { rule } => self.approved_rule.as_ref() == Some(rule),
            Decision::Deny { .. } => false,
        }
    }

    fn decide(&self, target: Target) -> Decision {
        self.policy.decide(&self.grant, &self.question(&[target]))
    }

    fn question<'q>(&'q self, targets: &'q [Target]) -> Question<'q> {
        let (permission, access) = (self.access.permission(self.permission), self.access.beside(self.permission));
        Question { tool: &self.tool, permission, access, targets }
    }
}

/// Judges the many paths that one walk finds, by the part of the policy that is about them.
pub(crate) struct WalkGuard<'g> {
    guard: &'g PathGuard,
    /// `None` if every path is allowed.
    policy: Option<Policy>,
}

impl WalkGuard<'_> {
    /// Reports whether the call may see what it found.
    pub(crate) fn shows(&self, found: impl FnOnce() -> Target) -> bool {
        let decide = |policy: &Policy| policy.decide(&self.guard.grant, &self.guard.question(&[found()]));
        self.policy.as_ref().is_none_or(|policy| self.guard.admits(&decide(policy)))
    }
}
