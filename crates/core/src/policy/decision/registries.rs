//! Which registries the package manager of a tool may connect to.

use super::limits::DOMAINS;
use super::{
    Access, Decision, Grant, NETWORK_RULE, Permission, Policy, Question, Registry, Target,
};
use crate::policy::host::Host;
use crate::policy::rule::RuleDecision;

/// The rule that decides about registries.
const REGISTRY_RULE: &str = "built-in:registry";

impl Policy {
    /// Decides whether the package manager of a tool may connect to a host.
    ///
    /// A well-known registry needs no consent of its own, since the call has one, and so has a host
    /// that the call names. One that the project names needs to be listed by the user, beside the
    /// hosts that are shipped for the tools of the web, and any other host needs a rule that names
    /// it for the tool. A rule about the tool as a whole opens neither.
    pub fn decide_registry(
        &self,
        grant: &Grant,
        tool: &str,
        host: &Host,
        registry: Registry,
    ) -> Decision {
        let mut grant = grant.clone();
        // Rules about the network hold, but a role only has to grant the tool.
        grant.permissions.insert(Permission::NetworkAccess);
        let targets = [Target::Host(host.to_string())];
        let question = Question {
            tool,
            permission: Permission::NetworkAccess,
            access: Access::Network,
            targets: &targets,
        };
        let is_open = match registry {
            Registry::WellKnown | Registry::OfCall => true,
            Registry::OfProject => self.names_for(tool, host) || self.limits.lists_more(host),
            Registry::Other => self.names_for(tool, host),
        };
        match self.decide(&grant, &question) {
            denied @ Decision::Deny { .. } => denied,
            Decision::Ask { rule }
                if registry != Registry::OfCall
                    && ![DOMAINS, NETWORK_RULE].contains(&rule.as_str()) =>
            {
                Decision::Deny {
                    reason: format!(
                        "the rule `{rule}` asks about `{host}`, and nobody can be asked while a \
                         package manager runs; the user can change that rule"
                    ),
                    rule,
                }
            }
            _ if is_open => Decision::Allow {
                rule: REGISTRY_RULE.to_owned(),
            },
            _ => Decision::Deny {
                rule: REGISTRY_RULE.to_owned(),
                reason: format!(
                    "`{host}` is no registry that the user allows; name it in `domains` of another \
                    call, which asks the user, who can also set the rule `{tool}(domain:{host})`"
                ),
            },
        }
    }

    /// Reports whether a rule of the user's allows a tool to connect to this host, or to hosts
    /// below a name that include it.
    fn names_for(&self, tool: &str, host: &Host) -> bool {
        self.rules.iter().any(|rule| {
            let hosts = rule
                .pattern
                .as_ref()
                .filter(|_| rule.is_about_domain())
                .and_then(|pattern| pattern.hosts.as_ref());
            let is_about_tool = rule.tools.iter().any(|named| named == tool);
            rule.decision == RuleDecision::Allow
                && is_about_tool
                && hosts.is_some_and(|hosts| hosts.matches(host))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::policy::rule::RuleText;
    use crate::policy::tool_names::ToolNames;
    use crate::policy::tool_settings::ToolSettings;

    const TOOL: &str = "install_package";

    type Rules<'a> = &'a [(RuleDecision, &'a str)];

    fn policy(rules: Rules<'_>, listed: &[&str]) -> Policy {
        let text =
            |(decision, rule): &(RuleDecision, &str)| RuleText::new(*decision, *rule, "the user");
        let mut settings = ToolSettings::default();
        settings
            .web_requests
            .allowed_domains
            .extend(listed.iter().map(|host| (*host).to_owned()));
        let rules: Vec<RuleText> = rules.iter().map(text).collect();
        Policy::new(&rules, &ToolNames::default())
            .unwrap()
            .limited(&settings, Path::new("/w/T1"))
    }

    /// Decides about a host as each kind of registry.
    fn opens(policy: &Policy, host: &str) -> [bool; 3] {
        let mut grant = Grant::of_tools([TOOL]);
        grant.permissions = [Permission::CodeExecution].into();
        let host = Host::parse(host).unwrap();
        [Registry::WellKnown, Registry::OfProject, Registry::Other].map(|registry| {
            matches!(
                policy.decide_registry(&grant, TOOL, &host, registry),
                Decision::Allow { .. }
            )
        })
    }

    #[test]
    fn a_registry_is_reached_if_it_is_well_known_or_named_by_the_user() {
        use RuleDecision::{Allow, Ask, Deny};
        let own = "install_package(domain:a.example)";
        let table: &[(Rules<'_>, &[&str], &str, [bool; 3])] = &[
            (&[], &[], "a.example", [true, false, false]),
            (&[], &["a.example"], "a.example", [true, true, false]),
            (&[], &["*.example"], "a.example", [true, true, false]),
            // What is shipped is not what the user names.
            (&[], &[], "codeload.github.com", [true, false, false]),
            (
                &[],
                &["*.github.com"],
                "codeload.github.com",
                [true, false, false],
            ),
            (
                &[],
                &["codeload.github.com"],
                "codeload.github.com",
                [true, true, false],
            ),
            (
                &[],
                &["*.pkg.github.com"],
                "npm.pkg.github.com",
                [true, true, false],
            ),
            (&[(Allow, TOOL)], &[], "a.example", [true, false, false]),
            (
                &[(Allow, "code_execution")],
                &[],
                "a.example",
                [true, false, false],
            ),
            (
                &[(Allow, "network_access")],
                &[],
                "a.example",
                [true, false, false],
            ),
            (&[(Allow, own)], &[], "a.example", [true, true, true]),
            (&[(Allow, own)], &[], "b.a.example", [true, false, false]),
            (
                &[(Allow, "install_package(a.example)")],
                &[],
                "a.example",
                [true, false, false],
            ),
            (
                &[(Allow, "install_package(domain:*.example)")],
                &[],
                "A.example.",
                [true, true, true],
            ),
            (
                &[(Allow, "fetch_url(domain:a.example)")],
                &[],
                "a.example",
                [true, false, false],
            ),
            (
                &[(Allow, own), (Deny, own)],
                &["a.example"],
                "a.example",
                [false; 3],
            ),
            (
                &[(Deny, "network_access")],
                &["a.example"],
                "a.example",
                [false; 3],
            ),
            (
                &[(Deny, "network_access(domain:a.example)"), (Allow, own)],
                &[],
                "a.example",
                [false; 3],
            ),
            (
                &[(Ask, "network_access"), (Allow, own)],
                &["a.example"],
                "a.example",
                [false; 3],
            ),
        ];
        for (rules, listed, host, expected) in table {
            assert_eq!(
                opens(&policy(rules, listed), host),
                *expected,
                "{rules:?} {listed:?} {host}"
            );
        }
    }

    /// The call with it has been decided about, by a person where a rule asks.
    #[test]
    fn a_host_that_the_call_names_is_reached_unless_a_rule_denies_it() {
        use RuleDecision::{Ask, Deny};
        let table: &[(Rules<'_>, bool)] = &[
            (&[], true),
            (&[(Ask, "network_access(domain:a.example)")], true),
            (&[(Deny, "network_access(domain:a.example)")], false),
            (&[(Deny, "install_package(domain:*.example)")], false),
        ];
        let host = Host::parse("a.example").unwrap();
        for (rules, expected) in table {
            let policy = policy(rules, &[]);
            let grant = Grant::of_tools([TOOL]);
            let decision = policy.decide_registry(&grant, TOOL, &host, Registry::OfCall);
            let is_open = matches!(decision, Decision::Allow { .. });
            assert_eq!(is_open, *expected, "{rules:?}: {decision:?}");
        }
    }

    #[test]
    fn a_call_that_installs_is_asked_about_unless_a_rule_is_for_it() {
        let decide = |rules: Rules<'_>, access: Access| {
            let targets = [Target::Name("greeting".to_owned())];
            let question = Question {
                tool: TOOL,
                permission: Permission::CodeExecution,
                access,
                targets: &targets,
            };
            policy(rules, &[])
                .decide(&Grant::of_tools([TOOL]), &question)
                .rule()
                .to_owned()
        };
        assert_eq!(decide(&[], Access::Own), "built-in:packages");
        assert_eq!(decide(&[], Access::Run), "default");
        assert_eq!(
            decide(&[(RuleDecision::Allow, TOOL)], Access::Own),
            "allow:install_package"
        );
        assert_eq!(
            decide(
                &[(RuleDecision::Allow, "install_package(greet*)")],
                Access::Own
            ),
            "allow:install_package(greet*)"
        );
        assert_eq!(
            decide(
                &[(RuleDecision::Allow, "install_package(other)")],
                Access::Own
            ),
            "built-in:packages"
        );
        assert_eq!(
            decide(
                &[(RuleDecision::Allow, "install_package(domain:a.example)")],
                Access::Own
            ),
            "built-in:packages"
        );
        assert_eq!(
            decide(
                &[(RuleDecision::Deny, "install_package(greeting)")],
                Access::Own
            ),
            "deny:install_package(greeting)"
        );
        let opens = |target: Target| {
            let targets = [target];
            let (permission, access) = (Permission::CodeExecution, Access::Own);
            let question = Question {
                tool: TOOL,
                permission,
                access,
                targets: &targets,
            };
            policy(&[(RuleDecision::Allow, "install_package(greeting)")], &[])
                .decide(&Grant::of_tools([TOOL]), &question)
                .rule()
                .to_owned()
        };
        assert_eq!(
            opens(Target::Path("package-lock.json".to_owned())),
            "default"
        );
        assert_eq!(opens(Target::Folder("node_modules".to_owned())), "default");
        assert!(policy(&[], &[]).permits(
            &Grant::of_tools([TOOL]),
            TOOL,
            Permission::CodeExecution
        ));
    }
}
