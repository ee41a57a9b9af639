//! Authorizes calls. Only this module can create a [`Permit`], and no call runs without one.

use orchestrate_core::policy::{
    Access, DEFAULT_RULE, DOMAINS_RULE, Decision, Grant, NETWORK_RULE, Permission, Policy,
    Question, Target,
};
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{CallHash, CallId, ToolCall, hex};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::call::{Approval, CallScope, Effect};
use crate::template::ARGUMENTS;

/// The rule by which the user is asked about a call that the operating system did not permit.
pub(crate) const FORBIDDEN: &str = "built-in:operating-system";

/// The permission to run one call, once. The field is private: only `authorize`, which asks the
/// policy, creates one.
#[derive(Debug)]
pub struct Permit {
    decision: Decision,
    /// What the call would reach, about which it was decided.
    foreseen: Option<Value>,
}

impl Permit {
    /// Returns the policy's decision, with the rule's id.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns what the call would reach, as it was foreseen and decided about.
    pub fn foreseen(&self) -> Option<&Value> {
        self.foreseen.as_ref()
    }

    /// Binds the permit to what was foreseen.
    #[must_use]
    pub(crate) fn for_foreseen(self, foreseen: Option<Value>) -> Permit {
        Permit { foreseen, ..self }
    }
}

/// The result of asking for a permit.
#[derive(Debug)]
pub(crate) enum Authorization {
    Permitted(Permit),
    /// The user has to decide.
    Parked {
        rule: String,
    },
    Refused {
        decision: Decision,
        reason: String,
    },
}

impl Authorization {
    /// Returns the policy's decision.
    pub(crate) fn decision(&self) -> Decision {
        match self {
            Authorization::Permitted(permit) => permit.decision.clone(),
            Authorization::Parked { rule } => Decision::Ask { rule: rule.clone() },
            Authorization::Refused { decision, .. } => decision.clone(),
        }
    }
}

/// A resolved and validated call to authorize.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) tool: &'a str,
    pub(crate) wrapper: Option<Wrapper<'a>>,
    pub(crate) permission: Permission,
    pub(crate) effects: &'a [Effect],
    /// What is against the call whatever the rules say of its effects.
    pub(crate) refused: Option<Decision>,
}

/// What a wrapper hands its calls to.
#[derive(Debug)]
pub(crate) struct Wrapper<'a> {
    /// The canonical name of the wrapped tool.
    pub(crate) wrapped: &'a str,
    /// If the wrapper is a second form, the tool that has its name otherwise, and how that is
    /// called.
    pub(crate) first_form: Option<FirstForm<'a>>,
}

/// The tool that has the name of a second form otherwise.
#[derive(Debug)]
pub(crate) struct FirstForm<'a> {
    pub(crate) tool: &'a str,
    /// Its parameters, for a message.
    pub(crate) parameters: String,
}

/// Decides a call and, if it may run, creates its permit. `was_forbidden` says whether the
/// operating system's permissions were against the same call before.
pub(crate) fn authorize(
    request: &Request<'_>,
    hash: &CallHash,
    arguments: &Value,
    was_forbidden: bool,
    scope: &CallScope,
) -> Authorization {
    let of_policy = decide(request, &scope.policy, &scope.grant);
    let mut decision =
        strictest(std::iter::once(of_policy).chain(tainted(request, arguments, scope)));
    if was_forbidden && scope.ask_parks && matches!(decision, Decision::Allow { .. }) {
        decision = Decision::Ask {
            rule: FORBIDDEN.to_owned(),
        };
    }
    match &decision {
        Decision::Allow { .. } => Authorization::Permitted(Permit {
            decision,
            foreseen: None,
        }),
        Decision::Deny { reason, .. } => {
            let reason = reason.clone();
            Authorization::Refused { decision, reason }
        }
        Decision::Ask { rule } => match scope.approvals.get(hash) {
            Some(Approval::Approved) => Authorization::Permitted(Permit {
                decision,
                foreseen: None,
            }),
            Some(Approval::Rejected { reason }) => {
                let reason = format!("the user rejected the call: {reason}");
                Authorization::Refused { decision, reason }
            }
            None if scope.ask_parks => Authorization::Parked { rule: rule.clone() },
            None => {
                let reason = no_person(request, rule, scope);
                Authorization::Refused { decision, reason }
            }
        },
    }
}

/// Explains that nobody can approve a call: what the rule asks about, and what the user can set, as
/// far as it is known.
fn no_person(request: &Request<'_>, rule: &str, scope: &CallScope) -> String {
    let mut asked = Vec::new();
    for effect in request.effects {
        let alone = Request {
            tool: request.tool,
            wrapper: None,
            permission: request.permission,
            effects: std::slice::from_ref(effect),
            refused: None,
        };
        match decide_as(request.tool, &alone, &scope.policy, &scope.grant) {
            Decision::Ask { rule: asking } if asking == rule => asked.push(effect),
            _ => {}
        }
    }
    if asked
        .iter()
        .any(|effect| could_name_hosts(request, effect, scope))
    {
        return format!(
            "the rule `{rule}` needs approval for the network without named hosts, which nobody \
             can give in this run; name the hosts in `domains`, since a rule allows some"
        );
    }
    let mut names = Vec::new();
    for effect in &asked {
        match &effect.target {
            Target::Host(host) => names.push(format!("`{host}`")),
            Target::Remote(to) => names.push(format!("`{}/{}`", to.remote, to.branch)),
            _ => {}
        }
    }
    let about = if names.is_empty() {
        String::new()
    } else {
        format!(" for {}", shown(&names.join(", ")))
    };
    // What the user has set as a rule of their own is known to them.
    let is_of_hosts = [DOMAINS_RULE, NETWORK_RULE].contains(&rule);
    let set = match asked
        .iter()
        .find(|effect| is_of_hosts && matches!(effect.target, Target::Host(_)))
    {
        Some(effect) if effect.access == Access::Network => {
            "; the user can allow it with a rule such as `network_access(HOST)`"
        }
        Some(_) => "; the user can list it in `tools.web_requests.allowed_domains`",
        None => "",
    };
    format!(
        "the rule `{rule}` needs approval{about}, which nobody can give in this run; do without \
         the call{set}"
    )
}

/// Reports whether a call that asks for the network without a word on which hosts could be allowed
/// if it named some.
fn could_name_hosts(request: &Request<'_>, effect: &Effect, scope: &CallScope) -> bool {
    let (permission, access) = (
        effect.access.permission(request.permission),
        effect.access.beside(request.permission),
    );
    let targets = std::slice::from_ref(&effect.target);
    let question = Question {
        tool: request.tool,
        permission,
        access,
        targets,
    };
    effect.target == Target::Network
        && matches!(
            scope.policy.mildest(&scope.grant, &question),
            Decision::Allow { .. }
        )
}

/// Asks about the call or denies it if text from outside could have made the agent give private
/// data away with it.
fn tainted(request: &Request<'_>, arguments: &Value, scope: &CallScope) -> Option<Decision> {
    let wrapped = request.wrapper.as_ref().map(|wrapper| wrapper.wrapped);
    let names = std::iter::once(request.tool).chain(wrapped);
    let decided = names.filter_map(|name| {
        scope
            .taint
            .decide(name, request.permission, arguments, scope.turn)
    });
    decided.reduce(|one, other| strictest([one, other]))
}

/// Decides about the call by the rules, and by what is against it whatever they say.
pub(crate) fn decide(request: &Request<'_>, policy: &Policy, of_role: &Grant) -> Decision {
    strictest(std::iter::once(of_rules(request, policy, of_role)).chain(request.refused.clone()))
}

/// Judges the call under each name that rules may have for it, and returns the strictest decision.
fn of_rules(request: &Request<'_>, policy: &Policy, of_role: &Grant) -> Decision {
    let Some(wrapper) = &request.wrapper else {
        return decide_as(request.tool, request, policy, of_role);
    };
    let mut grant = of_role.clone();
    let own = match &wrapper.first_form {
        // A role that may not run commands may not do so under the name of a tool that only reads.
        Some(first) if !grant.permits(wrapper.wrapped, request.permission) => {
            return needs_first_form(request, wrapper.wrapped, first, of_role);
        }
        Some(first) => first.tool,
        None => request.tool,
    };
    let of_own = decide_as(own, request, policy, of_role);
    // A role that lists a wrapper need not list the wrapped tool.
    grant.tools.insert(wrapper.wrapped.to_owned());
    strictest([of_own, decide_as(wrapper.wrapped, request, policy, &grant)])
}

fn needs_first_form(
    request: &Request<'_>,
    wrapped: &str,
    first: &FirstForm<'_>,
    of_role: &Grant,
) -> Decision {
    let (
        tool,
        permission,
        FirstForm {
            tool: built_in,
            parameters,
        },
    ) = (request.tool, request.permission, first);
    // A role that does not have the built-in tool either is not sent to it.
    let has_first = of_role.tools.contains(*built_in);
    let instead = if has_first {
        format!("; call `{built_in}` with {parameters} instead")
    } else {
        String::new()
    };
    Decision::Deny {
        rule: "built-in:role".to_owned(),
        reason: format!(
            "`{tool}` with `{ARGUMENTS}` runs a command, and this agent's role does not grant \
             `{wrapped}` ({permission}){instead}"
        ),
    }
}

/// Judges each kind of access on its own under one of the tool's names, and returns the strictest
/// decision.
fn decide_as(tool: &str, request: &Request<'_>, policy: &Policy, grant: &Grant) -> Decision {
    let judge = |access: Access| {
        let of_kind = request
            .effects
            .iter()
            .filter(|effect| effect.access == access);
        let targets: Vec<Target> = of_kind.map(|effect| effect.target.clone()).collect();
        let permission = access.permission(request.permission);
        let seen = access.beside(request.permission);
        let question = Question {
            tool,
            permission,
            access: seen,
            targets: &targets,
        };
        // A call without any effect is judged by the tool's own rules.
        let applies = access == Access::Own || !targets.is_empty();
        applies.then(|| policy.decide(grant, &question))
    };
    let files = [Access::Own, Access::Read, Access::Write, Access::Delete];
    strictest(
        files
            .into_iter()
            .chain([Access::Run, Access::Network])
            .filter_map(judge),
    )
}

/// Returns the strictest decision, the first of equal ones.
fn strictest(decisions: impl IntoIterator<Item = Decision>) -> Decision {
    let strictest = decisions.into_iter().min_by_key(|decision| match decision {
        Decision::Deny { .. } => 0,
        Decision::Ask { .. } => 1,
        Decision::Allow { .. } => 2,
    });
    strictest.unwrap_or_else(|| Decision::Allow {
        rule: DEFAULT_RULE.to_owned(),
    })
}

/// Hashes a call together with its place in the run, so that an approval applies to this call only,
/// and not even to an identical call of the same turn.
///
/// The hash covers the run, agent, attempt, turn, the call's id, the tool, and the arguments with
/// sorted keys.
pub(crate) fn call_hash(
    call: &CallId,
    tool: &str,
    arguments: &Value,
    scope: &CallScope,
) -> CallHash {
    let mut hasher = Sha256::new();
    for part in [
        scope.run.as_str(),
        scope.agent.as_str(),
        &scope.attempt.to_string(),
        &scope.turn.to_string(),
        call.as_str(),
        tool,
        &canonical_json(arguments),
    ] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    CallHash::new(hex(&hasher.finalize()))
}

/// Hashes a call as the model wrote it, for the record of a call whose tool or arguments could not
/// be resolved.
pub(crate) fn unresolved_hash(call: &ToolCall, scope: &CallScope) -> CallHash {
    call_hash(&call.id, &call.name, &call.arguments, scope)
}

/// Serializes a value without spaces and with the keys of every object sorted.
pub(crate) fn canonical_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by(|left, right| left.0.cmp(right.0));
            let inner: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| {
                    format!("{}:{}", Value::String(key.clone()), canonical_json(value))
                })
                .collect();
            format!("{{{}}}", inner.join(","))
        }
        Value::Array(items) => format!(
            "[{}]",
            items
                .iter()
                .map(canonical_json)
                .collect::<Vec<_>>()
                .join(",")
        ),
        plain => plain.to_string(),
    }
}
