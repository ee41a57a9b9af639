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
        match decision {
            Decision::Allow { .. } => Ok(()),
            Decision::Ask { rule } if self.approved_rule.as_ref() == Some(&rule) => Ok(()),
            Decision::Deny { rule, reason } => Err(ToolError::Denied { reason, rule }),
            Decision::Ask { rule } => Err(ToolError::Denied { reason: asks(&rule), rule }),
        }
    }

    fn decide(&self, target: Target) -> Decision {
        let targets = [target];
        let permission = self.access.permission(self.permission);
        let question =
            Question { tool: &self.tool, permission, access: self.access.beside(self.permission), targets: &targets };
        self.policy.decide(&self.grant, &question)
    }
}
