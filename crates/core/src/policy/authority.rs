//! The authority of an agent and its limits, as a value that only ever narrows from parent to
//! child.
//!
//! A child has the meet of what its role and its parent have, decided once, when it is spawned
//! ([`crate::RunState::decide_spawn`]), and recorded with it. Its tokens are no part of this:
//! budgets form a tree ([`crate::agent::budget`]), in which every ancestor's cap holds for the
//! child anyway.

use serde::{Deserialize, Serialize};

use crate::policy::decision::Grant;
use crate::policy::host::covers_host;
use crate::policy::rule::{RuleDecision, RuleText};

/// The authority of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Authority {
    /// Its tools and permissions.
    pub grant: Grant,
    /// The rules of its role and of its ancestors' roles, which narrow those of the run.
    pub rules: Vec<RuleText>,
    /// The hosts that its tools for the web reach without asking: names, or `*.name` for every host
    /// below a name.
    pub domains: Vec<String>,
    /// Its limits.
    pub limits: AgentLimits,
}

/// The limits of an agent, whatever its task says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentLimits {
    /// Maximum size of a request in tokens.
    pub context_tokens: u64,
    /// Maximum size of a reply in tokens.
    pub max_output_tokens: u32,
    /// Maximum number of turns of one attempt.
    pub max_turns: u32,
}

impl Authority {
    /// Returns what both allow, and nothing more.
    #[must_use]
    pub fn meet(&self, other: &Authority) -> Authority {
        let mut rules = self.narrowing_rules();
        rules.extend(other.narrowing_rules());
        Authority {
            grant: self.grant.meet(&other.grant),
            rules: unique(rules),
            domains: common_hosts(&self.domains, &other.domains),
            limits: self.limits.meet(other.limits),
        }
    }

    /// Reports whether everything that this allows is allowed by the other as well.
    pub fn is_within(&self, other: &Authority) -> bool {
        for host in &self.domains {
            if !other.domains.iter().any(|wide| covers_host(wide, host)) {
                return false;
            }
        }
        self.grant.is_within(&other.grant)
            && other
                .narrowing_rules()
                .iter()
                .all(|rule| self.rules.contains(rule))
            && self.limits.is_within(other.limits)
    }

    /// Returns a run's rules with these, which only narrow them.
    pub fn rules_within(&self, of_run: &[RuleText]) -> Vec<RuleText> {
        of_run
            .iter()
            .cloned()
            .chain(self.narrowing_rules())
            .collect()
    }

    /// Returns its rules without those that allow something: no rule of an agent widens what the
    /// run allows.
    fn narrowing_rules(&self) -> Vec<RuleText> {
        self.rules
            .iter()
            .filter(|rule| rule.decision != RuleDecision::Allow)
            .cloned()
            .collect()
    }
}

impl AgentLimits {
    /// Returns the smaller of each.
    fn meet(self, other: AgentLimits) -> AgentLimits {
        AgentLimits {
            context_tokens: self.context_tokens.min(other.context_tokens),
            max_output_tokens: self.max_output_tokens.min(other.max_output_tokens),
            max_turns: self.max_turns.min(other.max_turns),
        }
    }

    fn is_within(self, other: AgentLimits) -> bool {
        self.meet(other) == self
    }
}

impl Grant {
    /// Returns the tools and permissions that both grant.
    #[must_use]
    pub fn meet(&self, other: &Grant) -> Grant {
        Grant {
            tools: self.tools.intersection(&other.tools).cloned().collect(),
            permissions: self
                .permissions
                .intersection(&other.permissions)
                .copied()
                .collect(),
            withheld: Default::default(),
        }
    }

    /// Reports whether the other grants all of this.
    pub fn is_within(&self, other: &Grant) -> bool {
        self.tools.is_subset(&other.tools) && self.permissions.is_subset(&other.permissions)
    }
}

/// Returns the rules without repeated ones.
fn unique(rules: Vec<RuleText>) -> Vec<RuleText> {
    let mut kept: Vec<RuleText> = Vec::with_capacity(rules.len());
    for rule in rules {
        if !kept.contains(&rule) {
            kept.push(rule);
        }
    }
    kept
}

/// Returns the hosts that are in both lists, in order.
fn common_hosts(one: &[String], other: &[String]) -> Vec<String> {
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    let mut common: Vec<String> = pairs
        .filter_map(|(a, b)| narrower_host(a, b))
        .cloned()
        .collect();
    common.sort();
    common.dedup();
    common
}

/// Returns the narrower one of two patterns, or `None` if no host matches both.
fn narrower_host<'a>(one: &'a String, other: &'a String) -> Option<&'a String> {
    if covers_host(one, other) {
        return Some(other);
    }
    covers_host(other, one).then_some(one)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::permission::Permission;

    const TOOLS: [&str; 4] = [
        "read_file",
        "write_file",
        "run_shell_command",
        "spawn_child_agent",
    ];
    const HOSTS: [&str; 5] = [
        "*.example.org",
        "a.example.org",
        "*.a.example.org",
        "example.org",
        "other.net",
    ];
    const RULES: [(RuleDecision, &str); 4] = [
        (RuleDecision::Deny, "run_shell_command(rm*)"),
        (RuleDecision::Ask, "write_file"),
        (RuleDecision::Deny, "write_file(secret/**)"),
        (RuleDecision::Allow, "run_shell_command"),
    ];

    fn limits(context_tokens: u64, max_output_tokens: u32, max_turns: u32) -> AgentLimits {
        AgentLimits {
            context_tokens,
            max_output_tokens,
            max_turns,
        }
    }

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn rule(at: usize) -> RuleText {
        let (decision, text) = RULES[at];
        RuleText::new(decision, text, "a role")
    }

    /// Any authority, from subsets of few values, so that two of them often have something in
    /// common.
    fn any_authority() -> impl Strategy<Value = Authority> {
        let tools = proptest::sample::subsequence(TOOLS.to_vec(), 0..=TOOLS.len());
        let permissions =
            proptest::sample::subsequence(Permission::ALL.to_vec(), 0..=Permission::ALL.len());
        let domains = proptest::sample::subsequence(HOSTS.to_vec(), 0..=HOSTS.len());
        let rules =
            proptest::sample::subsequence((0..RULES.len()).collect::<Vec<_>>(), 0..=RULES.len());
        let numbers = (0_u64..4, 0_u32..4, 0_u32..4);
        (tools, permissions, domains, rules, numbers).prop_map(
            |(tools, permissions, domains, rules, numbers)| {
                let grant = Grant {
                    permissions: permissions.into_iter().collect(),
                    ..Grant::of_tools(tools)
                };
                let rules = rules.into_iter().map(rule).collect();
                Authority {
                    grant,
                    rules,
                    domains: strings(&domains),
                    limits: limits(numbers.0, numbers.1, numbers.2),
                }
            },
        )
    }

    fn is_same(one: &Authority, other: &Authority) -> bool {
        one.is_within(other) && other.is_within(one)
    }

    proptest! {
        /// The meet is the greatest authority below both, and so it does not matter in which order,
        /// how often and in how many steps authorities are met.
        #[test]
        fn the_meet_is_the_greatest_below_both(
            a in any_authority(),
            b in any_authority(),
            c in any_authority(),
        ) {
            let meet = a.meet(&b);
            prop_assert!(meet.is_within(&a) && meet.is_within(&b));
            prop_assert!(!(c.is_within(&a) && c.is_within(&b)) || c.is_within(&meet),
                "{c:?} in {meet:?}");
            prop_assert!(is_same(&a.meet(&a), &a));
            prop_assert!(is_same(&meet, &b.meet(&a)));
            prop_assert!(is_same(&meet.meet(&c), &a.meet(&b.meet(&c))));
        }
    }

    #[test]
    fn hosts_are_narrowed_by_their_names() {
        let table: [(&[&str], &[&str], &[&str]); 7] = [
            (&["*.example.org"], &["a.example.org"], &["a.example.org"]),
            (
                &["*.a.example.org"],
                &["*.example.org"],
                &["*.a.example.org"],
            ),
            (&["*.example.org"], &["example.org"], &[]),
            (
                &["*.example.org"],
                &["*.badexample.org", "badexample.org"],
                &[],
            ),
            (
                &["B.example.org", "other.net"],
                &["b.Example.org."],
                &["b.Example.org."],
            ),
            (
                &["*.example.org", "a.net"],
                &["*.example.org", "b.net"],
                &["*.example.org"],
            ),
            (&[], &["a.net"], &[]),
        ];
        for (one, other, expected) in table {
            assert_eq!(
                common_hosts(&strings(one), &strings(other)),
                strings(expected),
                "{one:?} {other:?}"
            );
        }
    }

    #[test]
    fn rules_add_up_and_limits_are_the_smaller_ones() {
        let of = |rules: &[usize], limits: AgentLimits| Authority {
            grant: Grant::of_tools(TOOLS),
            rules: rules.iter().map(|at| rule(*at)).collect(),
            domains: Vec::new(),
            limits,
        };
        let met = of(&[0, 3], limits(16_000, 100, 60)).meet(&of(&[1, 0], limits(8_000, 200, 60)));
        assert_eq!(
            (met.rules.clone(), met.limits),
            (vec![rule(0), rule(1)], limits(8_000, 100, 60))
        );
        // A rule of a role that allows something has no effect.
        assert_eq!(
            of(&[3, 2], met.limits).rules_within(&[rule(1)]),
            [rule(1), rule(2)]
        );
    }
}
