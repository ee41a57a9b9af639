//! Branches of remote repositories: what leaves this machine in a push, or comes from elsewhere in
//! a pull.
//!
//! A rule names the remote, one of its branches as `remote/branch`, or its host. Without a rule,
//! the user is asked about each call. Two things need more than that: a branch that is not an
//! agent's to change, which only a rule with exactly its name opens; and a host of this machine or
//! its network, which only the user names, as for the web. And no rule allows to publish commits of
//! the user's: the user is asked each time.

use super::{DOMAIN, Decision, Pattern, Policy, Question, RemoteBranch, Rule, Target, glob};
use crate::policy::rule::RuleDecision;

/// The rule by which the user is asked.
const ASKS: &str = "built-in:remote";
/// The rule by which the user is asked about the user's own commits.
const PUBLISHES: &str = "built-in:unpublished-commits";
/// The rule by which a branch is refused.
const PROTECTED: &str = "built-in:protected-branch";

impl Pattern {
    /// Reports whether a branch of a remote matches, by the remote, by `remote/branch`, or by the
    /// host.
    pub(super) fn matches_remote(&self, to: &RemoteBranch, strict: bool) -> bool {
        if to
            .host
            .as_ref()
            .is_some_and(|host| self.matches_host(&host.to_string(), strict))
        {
            return true;
        }
        // A remote that has the name of a host may lead to another one.
        let is_host =
            self.text.starts_with(DOMAIN) || self.hosts.is_some() && self.text.contains('.');
        if strict && is_host {
            return false;
        }
        glob::matches_text(&self.text, &to.remote)
            || glob::matches_text(&self.text, &format!("{}/{}", to.remote, to.branch))
    }
}

impl Policy {
    /// Reports whether a rule of the user's, which allows or asks, names exactly this branch of a
    /// remote for a tool.
    pub fn names_branch(&self, tool: &str, remote: &str, branch: &str) -> bool {
        let names = |rule: &Rule| {
            let name = format!("{remote}/{branch}");
            rule.decision != RuleDecision::Deny
                && rule.tools.iter().any(|named| named == tool)
                && rule
                    .pattern
                    .as_ref()
                    .is_some_and(|pattern| pattern.text == name)
        };
        self.rules.iter().any(names)
    }

    /// Denies to change a branch that is not an agent's, and to reach this machine or its network,
    /// unless the user names it.
    pub(super) fn refuse_remote(&self, question: &Question<'_>) -> Option<Decision> {
        question.targets.iter().find_map(|target| {
            let Target::Remote(to) = target else {
                return None;
            };
            self.refuse_protected(question.tool, to)
                .or_else(|| self.refuse_host(question.tool, to.host.as_ref()?))
        })
    }

    fn refuse_protected(&self, tool: &str, to: &RemoteBranch) -> Option<Decision> {
        let RemoteBranch {
            remote,
            branch,
            protected,
            ..
        } = to;
        let why = protected.as_ref()?;
        if self.names_branch(tool, remote, branch) {
            return None;
        }
        Some(Decision::Deny {
            rule: PROTECTED.to_owned(),
            reason: format!(
                "{why}; push to a branch of your own instead (without `branch`, it has your \
                 branch's name). Only a rule of the user's that names it, \
                 `{tool}({remote}/{branch})`, opens it"
            ),
        })
    }
}

impl Target {
    /// Returns the rule that asks about a branch of a remote that no other rule allows.
    pub(super) fn doubted_remote(&self) -> Option<&'static str> {
        matches!(self, Target::Remote(_)).then_some(ASKS)
    }

    /// Returns the rule that asks about commits of the user's that a push would publish, whatever
    /// other rules allow.
    pub(super) fn doubted_history(&self) -> Option<&'static str> {
        matches!(self, Target::Remote(to) if to.publishes_users).then_some(PUBLISHES)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::policy;
    use super::super::{Access, Grant, Permission};
    use super::*;
    use crate::policy::host::Host;
    use crate::policy::rule::RuleDecision::{Allow, Ask, Deny};
    use crate::policy::tool_settings::ToolSettings;

    /// Rules with what they decide.
    type Rules<'t> = &'t [(RuleDecision, &'t str)];

    fn decided(rules: Rules<'_>, to: RemoteBranch) -> String {
        let policy = policy(rules).limited(&ToolSettings::default(), Path::new("/w"));
        let (tool, targets) = ("git_push", [Target::Remote(to)]);
        let question = Question {
            tool,
            permission: Permission::GitOperations,
            access: Access::Own,
            targets: &targets,
        };
        match policy.decide(&Grant::of_tools([tool]), &question) {
            Decision::Allow { rule } => format!("allow by {rule}"),
            Decision::Ask { rule } => format!("ask by {rule}"),
            Decision::Deny { rule, .. } => format!("deny by {rule}"),
        }
    }

    fn at(host: &str) -> RemoteBranch {
        let host = (!host.is_empty()).then(|| Host::parse(host).unwrap());
        RemoteBranch {
            remote: "origin".to_owned(),
            branch: "try/one".to_owned(),
            host,
            ..RemoteBranch::default()
        }
    }

    #[test]
    fn rules_name_a_remote_its_branch_or_its_host() {
        let table: [(Rules<'_>, &str, &str); 17] = [
            (&[], "github.com", "ask by built-in:remote"),
            (&[], "", "ask by built-in:remote"),
            // What tools for the web may read is not where agents may push to.
            (&[], "api.github.com", "ask by built-in:remote"),
            (
                &[(Allow, "git_push")],
                "github.com",
                "allow by allow:git_push",
            ),
            (
                &[(Allow, "git_push(origin)")],
                "github.com",
                "allow by allow:git_push(origin)",
            ),
            (
                &[(Allow, "git_push(origin/try/*)")],
                "",
                "allow by allow:git_push(origin/try/*)",
            ),
            (
                &[(Allow, "git_push(origin/other)")],
                "",
                "ask by built-in:remote",
            ),
            (
                &[(Allow, "git_push(github.com)")],
                "GitHub.com.",
                "allow by allow:git_push(github.com)",
            ),
            (
                &[(Allow, "git_push(domain:*.corp.example)")],
                "git.corp.example",
                "allow by allow:git_push(domain:*.corp.example)",
            ),
            (
                &[(Allow, "git_push(*.corp.example)")],
                "corp.example.evil.org",
                "ask by built-in:remote",
            ),
            (
                &[(Allow, "git_push"), (Deny, "git_push(domain:evil.org)")],
                "evil.org",
                "deny by deny:git_push(domain:evil.org)",
            ),
            (
                &[(Allow, "git_push"), (Ask, "git_push(origin)")],
                "github.com",
                "ask by ask:git_push(origin)",
            ),
            (&[(Allow, "git_push")], "0x7f.1", "deny by built-in:address"),
            (
                &[(Allow, "git_push")],
                "localhost",
                "deny by built-in:address",
            ),
            (
                &[(Allow, "git_push(127.0.0.1)")],
                "127.0.0.1",
                "allow by allow:git_push(127.0.0.1)",
            ),
            (
                &[(Allow, "git_push(origin/*)")],
                "10.0.0.1",
                "deny by built-in:address",
            ),
            (
                &[(Allow, "git_push(a.localhost)")],
                "a.localhost",
                "allow by allow:git_push(a.localhost)",
            ),
        ];
        for (rules, host, expected) in table {
            assert_eq!(decided(rules, at(host)), expected, "{rules:?} {host}");
        }
    }

    #[test]
    fn a_remote_with_the_name_of_a_host_is_not_that_host() {
        let evil = RemoteBranch {
            remote: "github.com".to_owned(),
            ..at("evil.org")
        };
        assert_eq!(
            decided(&[(Allow, "git_push(github.com)")], evil.clone()),
            "ask by built-in:remote"
        );
        assert_eq!(
            decided(&[(Deny, "git_push(github.com)")], evil),
            "deny by deny:git_push(github.com)"
        );
    }

    #[test]
    fn no_rule_allows_to_publish_commits_of_the_users() {
        let table: [(Rules<'_>, &str); 6] = [
            (&[], "ask by built-in:unpublished-commits"),
            (
                &[(Allow, "git_push")],
                "ask by built-in:unpublished-commits",
            ),
            (
                &[(Allow, "git_push(origin/try/one)")],
                "ask by built-in:unpublished-commits",
            ),
            (
                &[(Allow, "git_push(github.com)")],
                "ask by built-in:unpublished-commits",
            ),
            (&[(Ask, "git_push(origin)")], "ask by ask:git_push(origin)"),
            (
                &[(Deny, "git_push(origin)")],
                "deny by deny:git_push(origin)",
            ),
        ];
        for (rules, expected) in table {
            let to = RemoteBranch {
                publishes_users: true,
                ..at("github.com")
            };
            assert_eq!(decided(rules, to), expected, "{rules:?}");
        }
    }

    #[test]
    fn only_a_rule_with_its_name_opens_a_protected_branch() {
        let main = || RemoteBranch {
            branch: "main".to_owned(),
            protected: Some("`main` is the user's".to_owned()),
            ..at("github.com")
        };
        let table: [(Rules<'_>, &str); 7] = [
            (&[], "deny by built-in:protected-branch"),
            (&[(Allow, "git_push")], "deny by built-in:protected-branch"),
            (&[(Ask, "git_push")], "deny by built-in:protected-branch"),
            (
                &[(Allow, "git_push(origin)"), (Allow, "git_push(github.com)")],
                "deny by built-in:protected-branch",
            ),
            (
                &[(Allow, "git_push(origin/*)")],
                "deny by built-in:protected-branch",
            ),
            (
                &[(Allow, "git_push(origin/main)")],
                "allow by allow:git_push(origin/main)",
            ),
            (
                &[(Ask, "git_push(origin/main)")],
                "ask by ask:git_push(origin/main)",
            ),
        ];
        for (rules, expected) in table {
            assert_eq!(decided(rules, main()), expected, "{rules:?}");
        }
    }
}
