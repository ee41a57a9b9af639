//! Asks the policy again while a tool runs, about paths, programs and hosts that the call did not
//! name.
//!
//! A link may lead to another file, and a search finds many files; each is judged by the path that
//! is opened. Which program runs a project's tests is known once its files have been looked at.

use std::net::IpAddr;
use std::sync::Arc;

use orchestrate_core::policy::host::{Host, HostPattern, WebUrl};
use orchestrate_core::policy::web::{Destinations, WebFailure};
use orchestrate_core::policy::{Access, Decision, Grant, Permission, Policy, Question, Target};

use crate::answer::ToolError;
use orchestrate_core::text::invisible::shown;

/// The tool by which agents read files.
const READ_FILE: &str = "read_file";
/// The tool by which agents run commands.
const SHELL: &str = "run_shell_command";

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
    pub(crate) fn new(
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

    /// Returns the guard of a call by which the agent would read files, about which nobody was
    /// asked.
    pub(crate) fn of_reading(&self) -> PathGuard {
        PathGuard {
            tool: READ_FILE.to_owned(),
            permission: Permission::FileRead,
            access: Access::Own,
            approved_rule: None,
            ..self.clone()
        }
    }

    /// Refuses a file that a rule or a limit denies or asks about; the rule approved with the call
    /// does not refuse it.
    pub(crate) fn check(&self, path: &str) -> Result<(), ToolError> {
        self.judge(path, Target::Path(path.to_owned()))
    }

    /// The same for a folder.
    pub(crate) fn check_folder(&self, path: &str) -> Result<(), ToolError> {
        self.judge(path, Target::Folder(path.to_owned()))
    }

    /// Returns what judges all that one walk finds.
    pub(crate) fn for_walk(&self) -> WalkGuard<'_> {
        WalkGuard {
            guard: self,
            policy: self.policy.about_paths(&self.grant, &self.question(&[])),
        }
    }

    /// The same for a program with these arguments.
    pub(crate) fn check_program(&self, argv: &[String]) -> Result<(), ToolError> {
        let permission = Access::Run.permission(self.permission);
        let targets = [Target::Argv(argv.to_vec())];
        let question = Question {
            tool: &self.tool,
            permission,
            access: Access::Run,
            targets: &targets,
        };
        self.result(self.policy.decide(&self.grant, &question), |rule| {
            let command = shown(&argv.join(" "));
            let asks = self.grant.permits(SHELL, Permission::CodeExecution);
            let way = if asks {
                "; run that command with run_shell_command, which can ask for it"
            } else {
                ""
            };
            format!("the rule `{rule}` needs approval for `{command}`{way}")
        })
    }

    fn judge(&self, path: &str, target: Target) -> Result<(), ToolError> {
        self.result(self.decide(target), |rule| {
            format!(
                "the rule `{rule}` needs approval for `{}`; name that path itself",
                shown(path)
            )
        })
    }

    fn result(
        &self,
        decision: Decision,
        asks: impl FnOnce(&str) -> String,
    ) -> Result<(), ToolError> {
        if self.admits(&decision) {
            return Ok(());
        }
        match decision {
            Decision::Deny { rule, reason } => Err(ToolError::Denied { reason, rule }),
            Decision::Ask { rule } | Decision::Allow { rule } => Err(ToolError::Denied {
                reason: asks(&rule),
                rule,
            }),
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
        let (permission, access) = (
            self.access.permission(self.permission),
            self.access.beside(self.permission),
        );
        Question {
            tool: &self.tool,
            permission,
            access,
            targets,
        }
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
        let decide =
            |policy: &Policy| policy.decide(&self.guard.grant, &self.guard.question(&[found()]));
        self.policy
            .as_ref()
            .is_none_or(|policy| self.guard.admits(&decide(policy)))
    }
}

/// Judges where the connections of one call lead, or those of the program that it runs.
pub(crate) struct HostGuard {
    policy: Arc<Policy>,
    grant: Grant,
    /// The tool that connects, whichever name it was called by.
    tool: &'static str,
    /// How the hosts are used.
    access: Access,
    /// The hosts that the call names, about which it was decided already.
    named: Vec<HostPattern>,
    /// The rule that decided.
    rule: String,
}

impl HostGuard {
    /// Creates the guard of a tool that connects; `rule` has decided about its call.
    pub(crate) fn of_tool(
        call: &PathGuard,
        tool: &'static str,
        named: Vec<Host>,
        rule: &str,
    ) -> HostGuard {
        let named = named.into_iter().map(HostPattern::Exact).collect();
        HostGuard::new(call, tool, named, rule.to_owned())
    }

    /// Creates the guard of a program that a tool runs.
    pub(crate) fn of_program(
        call: &PathGuard,
        tool: &'static str,
        named: Vec<HostPattern>,
        rule: &str,
    ) -> HostGuard {
        HostGuard {
            access: Access::Network,
            ..HostGuard::new(call, tool, named, rule.to_owned())
        }
    }

    fn new(
        call: &PathGuard,
        tool: &'static str,
        named: Vec<HostPattern>,
        rule: String,
    ) -> HostGuard {
        let mut grant = Grant::clone(&call.grant);
        // A role that lists a wrapper need not list the wrapped tool.
        grant.tools.insert(tool.to_owned());
        HostGuard {
            policy: Arc::clone(&call.policy),
            grant,
            tool,
            access: Access::Own,
            named,
            rule,
        }
    }

    /// Decides about a host. What the user approves are hosts, not a rule.
    fn judge(&self, host: &Host) -> Decision {
        let targets = [Target::Host(host.to_string())];
        let (permission, access) = (Permission::NetworkAccess, self.access);
        let question = Question {
            tool: self.tool,
            permission,
            access,
            targets: &targets,
        };
        let is_consented = || {
            self.named
                .iter()
                .any(|named| self.policy.consent_covers(&question, named, host))
        };
        match self.policy.decide(&self.grant, &question) {
            Decision::Ask { .. } if is_consented() => Decision::Allow {
                rule: self.rule.clone(),
            },
            decision => decision,
        }
    }

    /// Reports whether a rule denies a host, so that not even what is known of its pages is shown.
    pub(crate) fn denies(&self, host: &Host) -> bool {
        matches!(self.judge(host), Decision::Deny { .. })
    }

    /// Words the decision about a host, unless it is allowed.
    fn require_allowed(&self, decision: Decision, host: &Host) -> Result<String, WebFailure> {
        match decision {
            Decision::Allow { rule } => Ok(rule),
            Decision::Deny { rule, reason } => Err(WebFailure::Refused { rule, reason }),
            Decision::Ask { rule } => {
                let how = match self.access {
                    Access::Network => "name that host in `domains` of a call",
                    _ => "name an address of that host in a call",
                };
                let reason = format!(
                    "the rule `{rule}` needs approval for `{host}`; {how}, which can ask for it"
                );
                Err(WebFailure::Refused { rule, reason })
            }
        }
    }
}

impl Destinations for HostGuard {
    fn admit(&self, url: &WebUrl) -> Result<String, WebFailure> {
        let host = url.host();
        // What no approval opens is refused as that, also where a rule would ask.
        let decision = self
            .policy
            .refuse_url(self.tool, url)
            .unwrap_or_else(|| self.judge(host));
        self.require_allowed(decision, host)
    }

    fn admit_address(&self, host: &Host, address: IpAddr) -> Result<(), WebFailure> {
        let refused = self.policy.refuse_address(self.tool, host, address);
        refused.map_or(Ok(()), |decision| {
            self.require_allowed(decision, host).map(drop)
        })
    }
}
