use std::path::Path;

use serde_json::{Value, json};

use super::reach::Reach;
use super::*;
use crate::agent::conversation::ToolSpec;
use crate::event::settings::RunSettings;
use crate::event::{Event, Recorded};
use crate::ids::AgentId;
use crate::policy::tool_names::{ToolNames, ToolTraits};
use crate::policy::tool_settings::TaintPolicy;
use crate::policy::{Decision, Grant, Permission, Policy, RuleDecision, RuleText, Sending};

/// The tools of the tests with their permissions.
const TOOLS: [(&str, Permission); 12] = [
    ("read_file", Permission::FileRead),
    ("write_file", Permission::FileWrite),
    ("run_shell_command", Permission::CodeExecution),
    ("git_diff", Permission::GitOperations),
    ("git_push", Permission::GitOperations),
    ("git_pull", Permission::GitOperations),
    ("git_checkout", Permission::GitOperations),
    ("wait_for_agents", Permission::AgentSpawn),
    ("fetch_url", Permission::NetworkAccess),
    ("install_package", Permission::CodeExecution),
    ("aggregate_agent_results", Permission::AgentSpawn),
    ("todo_write", Permission::None),
];

fn settings(policy: TaintPolicy) -> RunSettings {
    let mut settings = RunSettings::default();
    settings.tool_settings.taint.policy = policy;
    for (tool, permission) in TOOLS {
        let traits = ToolTraits {
            permission,
            is_default: true,
            changes_files: false,
            deletes_files: false,
            stays_in_view: false,
        };
        settings.tools.add(tool, traits);
    }
    settings
}

fn permission(tool: &str) -> Permission {
    TOOLS.into_iter().find(|(name, _)| *name == tool).unwrap().1
}

/// Returns `o`, `p` and `e` for what a call reads from outside, reads of private data, and sends.
fn letters(reach: Reach) -> String {
    let letters = [
        (reach.reads_outside, 'o'),
        (reach.reads_private, 'p'),
        (reach.sends, 'e'),
    ];
    letters
        .into_iter()
        .filter_map(|(has, letter)| has.then_some(letter))
        .collect()
}

#[test]
fn what_a_call_reads_and_sends_follows_from_its_tool_and_arguments() {
    let plain = json!({});
    let networked = json!({"command": "make", "network": true});
    // The tool, the arguments, its letters, and those in a public repository whose commands see
    // nothing else.
    let table = [
        ("read_file", &plain, "p", ""),
        ("write_file", &plain, "p", ""),
        ("git_diff", &plain, "p", ""),
        ("run_shell_command", &plain, "p", ""),
        ("run_shell_command", &networked, "ope", "oe"),
        ("run_shell_command", &json!({"network": false}), "p", ""),
        ("run_shell_command", &json!({"network": "true"}), "p", ""),
        ("read_file", &networked, "p", ""),
        ("install_package", &plain, "ope", "oe"),
        ("fetch_url", &plain, "oe", "oe"),
        ("git_push", &plain, "pe", "e"),
        (
            "run_shell_command",
            &json!({"command": "make", "Net-work": true}),
            "ope",
            "oe",
        ),
        ("git_pull", &plain, "op", "o"),
        ("git_pull", &json!({"branch": null}), "op", "o"),
        // The remote repository is told the name.
        ("git_pull", &json!({"branch": "aGlkZGVu"}), "ope", "oe"),
        ("git_checkout", &plain, "p", ""),
        ("todo_write", &plain, "", ""),
        ("aggregate_agent_results", &plain, "", ""),
    ];
    let (private, mut public) = (settings(TaintPolicy::Flag), settings(TaintPolicy::Flag));
    public.tool_settings.taint.public_repository = true;
    for (tool, arguments, in_private, in_public) in table {
        let of = |settings| {
            letters(Reach::for_call(
                tool,
                permission(tool),
                arguments,
                PrivateData::from_settings(settings),
            ))
        };
        assert_eq!(
            [of(&private), of(&public)],
            [in_private, in_public],
            "{tool} {arguments}"
        );
    }
    public.sandbox_read = vec!["~/data".to_owned()];
    let of = |tool: &str| {
        letters(Reach::for_call(
            tool,
            permission(tool),
            &plain,
            PrivateData::from_settings(&public),
        ))
    };
    assert_eq!([of("run_shell_command"), of("read_file")], ["p", ""]);
}

/// Returns the events of a call that ended so.
fn call(task: &str, turn: u32, tool: &str, arguments: &Value, outcome: &str) -> Vec<Value> {
    let id = format!("{tool}-{turn}");
    vec![
        json!({"type": "tool.started", "task": task, "turn": turn, "call_id": id, "tool": tool,
               "arguments": arguments, "rule": "default"}),
        json!({"type": "tool.finished", "task": task, "turn": turn, "call_id": id, "tool": tool, "outcome": outcome,
               "result": "blob", "duration_ms": 1}),
    ]
}

/// Returns the events of a call that was allowed by the rule `default`, and denied by this one.
fn denied_by(task: &str, turn: u32, tool: &str, rule: &str) -> Vec<Value> {
    let mut events = call(task, turn, tool, &json!({}), "denied");
    events[1]["denied_by"] = json!(rule);
    events[1]["resource_usage"] = json!({"read_bytes": 80});
    events
}

fn stored(task: &str, commit: &str) -> Vec<Value> {
    vec![
        json!({"type": "snapshot.taken", "task": task, "number": 1, "commit": commit, "tree": "0", "on_branch": true}),
    ]
}

fn returned(task: &str, cause: &str) -> Vec<Value> {
    vec![
        json!({"type": "task.returned", "task": task, "cause": cause, "text": "blob", "onto": null}),
    ]
}

fn added(task: &str, parent: Option<&str>, depends: &[&str]) -> Vec<Value> {
    let of_task = json!({"id": task, "title": "t", "status": "todo", "depends": depends});
    vec![json!({"type": "task.added", "task": of_task, "parent": parent})]
}

fn begun(task: &str) -> Vec<Value> {
    vec![
        json!({"type": "agent.spawned", "task": task, "attempt": 1, "agent": "r", "model": "m", "branch": "b",
               "base": "0", "spec": null}),
    ]
}

fn merged(task: &str, into: Option<&str>) -> Vec<Value> {
    let into = into.map_or(json!("integration"), |agent| json!({ "agent": agent }));
    vec![
        json!({"type": "merge.started", "task": task, "into": into, "target": "0", "candidate": "1"}),
        json!({"type": "task.merged", "task": task, "commit": "2", "target": "0"}),
    ]
}

/// Applies events, and returns what an agent was exposed to.
fn exposed(events: &[Vec<Value>], agent: &str) -> Exposure {
    let mut exposures = Exposures::new(&settings(TaintPolicy::Flag));
    for event in events.iter().flatten() {
        let event: Event = serde_json::from_value(event.clone())
            .unwrap_or_else(|error| panic!("{event}: {error}"));
        exposures.apply(&event);
    }
    exposures
        .for_agent(&AgentId::from(agent))
        .cloned()
        .unwrap_or_default()
}

#[test]
fn only_all_three_together_are_flagged_in_any_order() {
    let none = json!({});
    let read = call("T1", 1, "read_file", &none, "ok");
    let fetch = call("T1", 2, "fetch_url", &none, "ok");
    let pull = call("T1", 3, "git_pull", &none, "ok");
    let push = call("T1", 4, "git_push", &none, "failed");
    let networked = call(
        "T1",
        5,
        "run_shell_command",
        &json!({"network": true}),
        "timed_out",
    );
    let refused = call("T1", 6, "fetch_url", &none, "denied");
    // A redirect is refused after the first request; what decides about a call refuses it before.
    let [redirected, undecided] =
        ["built-in:redirect", "default"].map(|rule| denied_by("T1", 7, "fetch_url", rule));
    let table: [(&[&Vec<Value>], &str, bool); 11] = [
        (&[&redirected], "OutsideText Egress", false),
        (&[&undecided], "", false),
        (&[], "", false),
        (&[&read], "", false),
        (&[&read, &push], "", false),
        (&[&read, &refused], "", false),
        (&[&fetch], "OutsideText Egress", false),
        (&[&pull], "OutsideText PrivateData", false),
        (&[&pull, &push], "OutsideText PrivateData Egress", true),
        (&[&fetch, &read], "OutsideText PrivateData Egress", true),
        (&[&networked], "OutsideText PrivateData Egress", true),
    ];
    for (events, legs, is_flagged) in table {
        let events: Vec<Vec<Value>> = events.iter().map(|events| (*events).clone()).collect();
        let found = exposed(&events, "T1");
        let shown = found
            .legs()
            .iter()
            .map(|leg| format!("{leg:?}"))
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(
            (shown.as_str(), found.is_complete()),
            (legs, is_flagged),
            "{events:?}"
        );
    }
}

#[test]
fn an_agent_that_can_send_is_flagged_before_it_does() {
    let none = json!({});
    let with = |sends: &str| {
        let mut events = begun("T1");
        events[0]["sends"] = json!(sends);
        events
    };
    let (plain, asked, allowed) = (begun("T1"), with("asked"), with("allowed"));
    let read = call("T1", 1, "read_file", &none, "ok");
    let pull = call("T1", 2, "git_pull", &none, "ok");
    let refused = call("T1", 3, "fetch_url", &none, "denied");
    let table: [(&[&Vec<Value>], &str, bool); 7] = [
        (&[&plain, &pull], "OutsideText PrivateData", false),
        (&[&asked, &pull], "OutsideText PrivateData Egress", true),
        (&[&allowed, &pull], "OutsideText PrivateData Egress", true),
        // What the policy refuses it would have sent.
        (
            &[&asked, &pull, &refused],
            "OutsideText PrivateData Egress",
            true,
        ),
        (&[&allowed, &read], "", false),
        // Its next attempt has other tools.
        (&[&asked, &pull, &plain], "OutsideText PrivateData", false),
        (
            &[&plain, &pull, &asked],
            "OutsideText PrivateData Egress",
            true,
        ),
    ];
    for (events, legs, is_flagged) in table {
        let events: Vec<Vec<Value>> = events.iter().map(|events| (*events).clone()).collect();
        let found = exposed(&events, "T1");
        let shown = found
            .legs()
            .iter()
            .map(|leg| format!("{leg:?}"))
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(
            (shown.as_str(), found.is_complete(), found.has_sent()),
            (legs, is_flagged, false),
            "{events:?}"
        );
    }
}

/// The tools, the rules, what commands reach of the network, and how the agent could send data out
/// if somebody can be asked, and if nobody can.
type Equipped<'a> = (
    &'a [&'a str],
    &'a [(RuleDecision, &'a str)],
    CommandNetwork,
    [Option<Sending>; 2],
);

#[test]
fn an_agent_can_send_by_what_its_tools_its_rules_and_its_sandbox_leave() {
    use CommandNetwork::{Absent, Proxied, Unlimited};
    use RuleDecision::{Allow, Ask, Deny};
    const SHELL: &[&str] = &["run_shell_command"];
    const DENIED: [Option<Sending>; 2] = [None, None];
    const ASKED: [Option<Sending>; 2] = [Some(Sending::Asked), None];
    const ALLOWED: [Option<Sending>; 2] = [Some(Sending::Allowed); 2];
    let no_listed_host = [
        (Deny, "fetch_url(domain:*.github.com)"),
        (Deny, "fetch_url(domain:*.stackoverflow.com)"),
        (Deny, "fetch_url(domain:*.python.org)"),
    ];
    let table: [Equipped<'_>; 23] = [
        (
            &["read_file", "git_diff", "todo_write"],
            &[],
            Proxied,
            DENIED,
        ),
        (&["fetch_url"], &[], Absent, ALLOWED),
        (
            &["read_file", "fetch_url", "git_push"],
            &[],
            Proxied,
            ALLOWED,
        ),
        (&["fetch_url"], &[(Deny, "fetch_url")], Proxied, DENIED),
        (&["fetch_url"], &[(Deny, "network_access")], Proxied, DENIED),
        (&["fetch_url"], &[(Ask, "fetch_url")], Proxied, ASKED),
        (&["fetch_url"], &no_listed_host, Proxied, ASKED),
        (&["search_stackoverflow"], &[], Proxied, ASKED),
        // No service is chosen.
        (&["web_search"], &[], Proxied, DENIED),
        (SHELL, &[], Proxied, ASKED),
        (SHELL, &[], Absent, DENIED),
        (SHELL, &[], Unlimited, ALLOWED),
        (SHELL, &[(Deny, "run_shell_command")], Unlimited, DENIED),
        (
            SHELL,
            &[(Allow, "network_access(pypi.org)")],
            Proxied,
            ALLOWED,
        ),
        (
            SHELL,
            &[(Ask, "run_shell_command"), (Allow, "network_access")],
            Proxied,
            ASKED,
        ),
        (SHELL, &[(Deny, "network_access")], Proxied, DENIED),
        (&["git_push"], &[], Proxied, ASKED),
        (
            &["git_push"],
            &[(Allow, "git_push(origin/try/*)")],
            Proxied,
            ALLOWED,
        ),
        (
            &["git_push", "git_pull"],
            &[(Deny, "git_push"), (Deny, "git_pull")],
            Proxied,
            DENIED,
        ),
        (&["git_pull"], &[], Proxied, ASKED),
        (&["install_package"], &[], Proxied, ASKED),
        (
            &["install_package"],
            &[(Allow, "install_package")],
            Proxied,
            ALLOWED,
        ),
        (
            &["install_package"],
            &[(Deny, "network_access")],
            Proxied,
            DENIED,
        ),
    ];
    let mut settings = settings(TaintPolicy::Deny);
    let of_web = settings.tools.tool("fetch_url").unwrap();
    ["web_search", "search_stackoverflow"]
        .into_iter()
        .for_each(|name| settings.tools.add(name, of_web));
    for (tools, rules, commands, expected) in table {
        let tools: Vec<ToolSpec> = tools.iter().map(|name| spec(name)).collect();
        let text =
            |(decision, rule): &(RuleDecision, &str)| RuleText::new(*decision, *rule, "the user");
        let rules: Vec<RuleText> = rules.iter().map(text).collect();
        let policy = Policy::new(&rules, &settings.tools)
            .unwrap()
            .limited(&settings.tool_settings, Path::new("/w"));
        let grant = Grant::of_tools(tools.iter().map(|tool| tool.name.as_str()));
        let found = [true, false].map(|ask_parks| {
            let settings = RunSettings {
                ask_parks,
                ..settings.clone()
            };
            let web = &settings.tool_settings.web_requests;
            Means {
                tools: &tools,
                grant: &grant,
                policy: &policy,
                web,
                commands,
                settings: &settings,
            }
            .sending()
        });
        assert_eq!(found, expected, "{tools:?} {rules:?} {commands:?}");
    }
}

/// Returns the specification of a tool, with the parameters that let it use the network.
fn spec(name: &str) -> ToolSpec {
    let fields = match name {
        "run_shell_command" => json!({"command": {}, "network": {}}),
        "git_pull" => json!({"branch": {}}),
        _ => json!({"path": {}}),
    };
    let parameters = json!({"type": "object", "properties": fields});
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters,
    }
}

#[test]
fn only_a_call_that_brought_something_has_read_text_from_outside() {
    let none = json!({});
    let networked = json!({"network": true});
    // The tool and its arguments; the rule that decided, the outcome, what denied it, and the bytes
    // that it read.
    let table = [
        ("fetch_url", &none, "", "failed", None, 0, false),
        (
            "fetch_url",
            &none,
            "built-in:port",
            "denied",
            Some("built-in:port"),
            0,
            false,
        ),
        // It was decided about, and then the host led to this machine, or nowhere.
        (
            "fetch_url",
            &none,
            "default",
            "denied",
            Some("built-in:address"),
            0,
            false,
        ),
        ("fetch_url", &none, "default", "failed", None, 0, false),
        ("fetch_url", &none, "default", "timed_out", None, 0, false),
        ("fetch_url", &none, "default", "interrupted", None, 0, false),
        // The answer is quoted.
        (
            "fetch_url",
            &none,
            "default",
            "denied",
            Some("built-in:redirect"),
            80,
            true,
        ),
        ("fetch_url", &none, "default", "failed", None, 9, true),
        ("fetch_url", &none, "default", "ok", None, 0, true),
        // What a program has read of others is not counted.
        (
            "run_shell_command",
            &networked,
            "default",
            "timed_out",
            None,
            0,
            true,
        ),
        (
            "run_shell_command",
            &networked,
            "default",
            "failed",
            None,
            0,
            true,
        ),
        (
            "run_shell_command",
            &networked,
            "",
            "failed",
            None,
            0,
            false,
        ),
        ("git_pull", &none, "default", "failed", None, 0, true),
        ("git_pull", &none, "", "failed", None, 0, false),
    ];
    for (tool, arguments, rule, outcome, denied_by, read, has_read) in table {
        let mut events = call("T1", 1, tool, arguments, outcome);
        events[0]["rule"] = json!(rule);
        events[1]["denied_by"] = json!(denied_by);
        events[1]["resource_usage"] = json!({"read_bytes": read});
        let found = exposed(&[events], "T1").outside().is_some();
        assert_eq!(
            found, has_read,
            "{tool} {rule} {outcome} {denied_by:?} {read}"
        );
    }
}

#[test]
fn a_call_that_has_counted_what_it_shows_of_others_has_read_just_that() {
    let none = json!({});
    // The outcome, the bytes that came, and those that the result shows.
    let table = [
        // A document that is no text, and a failure without a word of the server's.
        ("failed", 4096, Some(0), false),
        ("failed", 90, Some(20), true),
        // A page without any text.
        ("ok", 0, Some(0), false),
        ("ok", 90, Some(90), true),
        // One of an older version.
        ("failed", 1, None, true),
        ("ok", 0, None, true),
    ];
    for (outcome, read, shown, has_read) in table {
        let mut events = call("T1", 1, "fetch_url", &none, outcome);
        events[1]["resource_usage"] = json!({"read_bytes": read, "outside_bytes": shown});
        let found = exposed(&[events], "T1");
        assert_eq!(
            (found.outside().is_some(), found.has_sent()),
            (has_read, true),
            "{outcome} {read} {shown:?}"
        );
    }
}

#[test]
fn who_gets_the_words_or_the_work_of_an_agent_is_exposed_as_it_is() {
    let none = json!({});
    let plan = [
        added("T1", None, &[]),
        added("T2", None, &["T1"]),
        added("T3", None, &[]),
    ]
    .concat();
    let tainted = [
        plan,
        call("T1", 1, "fetch_url", &none, "ok"),
        call("T1", 2, "read_file", &none, "ok"),
    ];
    let message = |from: Value, expired: bool| {
        vec![
            json!({"type": "message.delivered", "from": from, "to": "T3", "sequence": 1, "expired": expired}),
        ]
    };
    let of_agent = message(
        serde_json::to_value(crate::messages::Sender::Agent("T1".into())).unwrap(),
        false,
    );
    let of_user = message(
        serde_json::to_value(crate::messages::Sender::User).unwrap(),
        false,
    );
    let aggregate = call(
        "T3",
        1,
        "aggregate_agent_results",
        &json!({"agent_ids": ["T1"]}),
        "ok",
    );
    let branch = call(
        "T3",
        1,
        "aggregate_agent_results",
        &json!({"x": {"branch": "orchestrate/r-1/T1"}}),
        "ok",
    );
    let other = call(
        "T3",
        1,
        "aggregate_agent_results",
        &json!({"agent_ids": ["T2", "T10"]}),
        "ok",
    );
    let verdict = vec![
        json!({"type": "review.verdict", "task": "T1", "verdict": "changes",
               "changes": [{"task": "T3", "text": "change it"}]}),
    ];
    // What happens after T1 has read text from outside, and who is exposed through it.
    let table: [(&str, Vec<Value>, &[&str]); 12] = [
        ("nothing", Vec::new(), &[]),
        ("a message", of_agent, &["T3"]),
        ("a message of the user", of_user, &[]),
        ("a spawn", added("T4", Some("T1"), &[]), &["T4"]),
        ("work that depends on it", begun("T2"), &["T2"]),
        ("other work before the merge", begun("T3"), &[]),
        (
            "other work after the merge",
            [merged("T1", None), begun("T3")].concat(),
            &["T3"],
        ),
        (
            "a merge into another agent's work",
            [merged("T1", Some("T9")), begun("T3")].concat(),
            &[],
        ),
        ("its results", aggregate, &["T3"]),
        ("its branch", branch, &["T3"]),
        ("the results of others", other, &[]),
        ("its verdict", verdict, &["T3"]),
    ];
    for (what, events, expected) in table {
        let mut all = tainted.to_vec();
        all.push(events);
        let is_exposed = |agent: &&str| {
            exposed(&all, agent).outside() == Some(&OutsideSource::Agent("T1".into()))
        };
        let found: Vec<&str> = ["T2", "T3", "T4"].into_iter().filter(is_exposed).collect();
        assert_eq!(found, expected, "{what}");
        assert!(
            found
                .iter()
                .all(|agent| exposed(&all, agent).legs().contains(&Leg::PrivateData)),
            "{what}"
        );
    }
}

#[test]
fn the_result_passes_on_what_all_whose_work_it_has_were_exposed_to() {
    let none = json!({});
    let fetch = |task: &str| call(task, 1, "fetch_url", &none, "ok");
    let plan = [
        added("T1", None, &[]),
        added("T2", None, &[]),
        added("T3", None, &[]),
    ]
    .concat();
    let first = [plan, fetch("T1"), merged("T1", None)];
    let second = [
        fetch("T2"),
        call("T2", 2, "read_file", &none, "ok"),
        merged("T2", None),
    ];
    let of_agent = |from: &str| Some(OutsideSource::Agent(from.into()));
    let outside = vec![Leg::OutsideText];
    let private = vec![Leg::OutsideText, Leg::PrivateData];
    let own = Some(OutsideSource::Tool("fetch_url".to_owned()));
    let both = vec![Leg::OutsideText, Leg::Egress];
    let all = vec![Leg::OutsideText, Leg::PrivateData, Leg::Egress];
    let table = [
        ("T3", false, of_agent("T1"), outside),
        ("T3", true, of_agent("T1"), private),
        ("T1", false, own.clone(), both),
        ("T1", true, own, all),
    ];
    for (agent, has_second, source, legs) in table {
        let mut events = first.to_vec();
        events.extend(second.iter().filter(|_| has_second).cloned());
        events.push(begun(agent));
        let found = exposed(&events, agent);
        assert_eq!(
            (found.outside().cloned(), found.legs()),
            (source, legs),
            "{agent} {has_second}"
        );
    }
}

#[test]
fn a_child_that_has_read_the_web_taints_its_parent_when_it_ends() {
    let none = json!({});
    let child = [
        added("P", None, &[]),
        added("C", Some("P"), &[]),
        call("C", 1, "fetch_url", &none, "ok"),
    ];
    let ends = [
        json!({"type": "task.committed", "task": "C", "commit": "1", "tree": "2", "summary": "done"}),
        json!({"type": "task.nothing_to_do", "task": "C", "summary": "done"}),
        json!({"type": "task.merged", "task": "C", "commit": null, "target": null, "summary": "a report"}),
        json!({"type": "task.failed", "task": "C", "cause": "model", "message": "m"}),
        json!({"type": "task.cancelled", "task": "C", "message": "m"}),
    ];
    let read = call("C", 1, "read_file", &none, "ok");
    let harmless = [added("P", None, &[]), added("C", Some("P"), &[]), read];
    assert_eq!(exposed(&child, "P").outside(), None);
    for end in ends {
        // The control: a child that has read nothing from outside ends alike, and taints nobody.
        let mut plain = harmless.to_vec();
        plain.push(vec![end.clone()]);
        assert_eq!(exposed(&plain, "P").outside(), None, "{end}");
        let mut all = child.to_vec();
        all.push(vec![end.clone()]);
        // What the child passes on is not private: it has read no file.
        let found = exposed(&all, "P");
        assert_eq!(
            (found.outside(), found.legs()),
            (
                Some(&OutsideSource::Agent("C".into())),
                vec![Leg::OutsideText]
            )
        );
    }
}

const WORK: &str = "c0ffee1de0000000000000000000000000000000";

/// A command does not see the branches of others, so only what it says of objects counts.
#[test]
fn a_call_that_could_read_the_work_of_others_counts_as_one_that_reads_it() {
    let none = json!({});
    let plan = [
        added("T1", None, &[]),
        added("a b", None, &[]),
        added("T3", None, &[]),
    ]
    .concat();
    let fetch = |task: &str| call(task, 1, "fetch_url", &none, "ok");
    let begin = [plan, fetch("T1"), stored("T1", WORK), fetch("a b")];
    let table = [
        ("command", "git show c0ffee1:notes.txt", "T1"),
        ("command", "git diff HEAD..C0FFEE1DE -- src", "T1"),
        ("command", "git cat-file --batch-all-objects --batch", "T1"),
        ("command", "git fsck --lost-found", "T1"),
        (
            "command",
            "find \"$(git rev-parse --git-common-dir)/objects\" -type f",
            "T1",
        ),
        ("code", "import os; os.listdir('.git/objects')", "T1"),
        (
            "command",
            "git log --all -p; git status; git show orchestrate/r-1/T1:notes.txt",
            "",
        ),
        ("command", "git show deadbee:notes.txt", ""),
        ("command", "cargo test T1 integration", ""),
        ("command", "python3 make_objects.py", ""),
        ("branch_or_commit", "c0ff", "T1"),
        ("branch_or_commit", "c0f", ""),
        ("branch_or_commit", "T1", "T1"),
        ("branch_or_commit", " T1~2", "T1"),
        ("branch_or_commit", "orchestrate/r-1/T1^2~1", "T1"),
        ("branch_or_commit", "orchestrate/r-1/a%20b", "a b"),
        ("branch_or_commit", "a b", "a b"),
        ("branch_or_commit", "HEAD~1", ""),
        ("branch_or_commit", "main", ""),
        ("branch_or_commit", "integration", ""),
    ];
    for (argument, text, expected) in table {
        let tool = if argument == "branch_or_commit" {
            "git_checkout"
        } else {
            "run_shell_command"
        };
        for outcome in ["ok", "failed", "denied"] {
            let arguments = json!({ argument: text });
            let events = [&begin[..], &[call("T3", 1, tool, &arguments, outcome)]].concat();
            let found = match exposed(&events, "T3").outside() {
                Some(OutsideSource::Agent(agent)) => agent.to_string(),
                None => String::new(),
                other => panic!("{other:?}"),
            };
            assert_eq!(
                found,
                if outcome == "denied" { "" } else { expected },
                "{argument}: {text} {outcome}"
            );
        }
    }
}

#[test]
fn the_merged_result_is_read_by_its_name_and_by_its_commits() {
    let none = json!({});
    let plan = [
        added("T1", None, &[]),
        added("T2", None, &[]),
        added("T3", None, &[]),
    ]
    .concat();
    let merge = |task: &str, commit: &str| {
        let mut events = merged(task, None);
        events[1]["commit"] = json!(commit);
        events
    };
    let second = WORK.replace("c0", "d1");
    let begin = [
        plan,
        call("T1", 1, "fetch_url", &none, "ok"),
        merge("T1", WORK),
        merge("T2", &second),
    ];
    for (argument, text) in [
        ("branch_or_commit", "integration"),
        ("branch_or_commit", "orchestrate/r-1/integration~1"),
        ("command", "git show c0ffee1"),
        // What another one has made is merged into work of the first.
        ("command", "git show d1ffee1"),
    ] {
        let tool = if argument == "command" {
            "run_shell_command"
        } else {
            "git_checkout"
        };
        let events = [
            &begin[..],
            &[call("T3", 1, tool, &json!({ argument: text }), "ok")],
        ]
        .concat();
        assert_eq!(
            exposed(&events, "T3").outside(),
            Some(&OutsideSource::Agent("T1".into())),
            "{text}"
        );
    }
}

#[test]
fn what_was_read_while_a_call_waited_counts() {
    let none = json!({});
    let plan = [added("T1", None, &[]), added("T3", None, &[])].concat();
    let wait = call(
        "T3",
        1,
        "wait_for_agents",
        &json!({"agent_ids": ["T1"]}),
        "ok",
    );
    let [started, finished] = [wait[..1].to_vec(), wait[1..].to_vec()];
    let fetch = call("T1", 1, "fetch_url", &none, "ok");
    let before = [
        plan.clone(),
        fetch.clone(),
        started.clone(),
        finished.clone(),
    ];
    let meanwhile = [
        plan.clone(),
        started.clone(),
        fetch.clone(),
        finished.clone(),
    ];
    let after = [plan, started, finished, fetch];
    let found =
        [&before, &meanwhile, &after].map(|events| exposed(&events[..], "T3").outside().is_some());
    assert_eq!(found, [true, true, false]);
}

#[test]
fn work_that_comes_back_with_that_of_others_brings_what_they_have_read() {
    let none = json!({});
    let plan = [
        added("P", None, &[]),
        added("C", Some("P"), &[]),
        added("T2", None, &[]),
        added("T3", None, &["T2"]),
    ];
    let fetch = |task: &str| call(task, 1, "fetch_url", &none, "ok");
    let prepared =
        |task: &str| vec![json!({"type": "worktree.prepared", "task": task, "onto": "1"})];
    let table: [(&str, Vec<Value>, &str, bool); 7] = [
        (
            "its parent's",
            [fetch("P"), returned("C", "conflict")].concat(),
            "C",
            true,
        ),
        (
            "its parent's files",
            [fetch("P"), prepared("C")].concat(),
            "C",
            true,
        ),
        (
            "what it reviews",
            [fetch("T2"), returned("T3", "new_work")].concat(),
            "T3",
            true,
        ),
        (
            "the result",
            [fetch("P"), merged("P", None), returned("T3", "run_check")].concat(),
            "T3",
            true,
        ),
        (
            "its own check",
            [fetch("P"), merged("P", None), returned("T3", "task_check")].concat(),
            "T3",
            false,
        ),
        (
            "its own claims",
            [fetch("T2"), returned("T3", "claims")].concat(),
            "T3",
            false,
        ),
        (
            "nothing that was merged",
            [fetch("P"), returned("T3", "run_check")].concat(),
            "T3",
            false,
        ),
    ];
    for (what, events, agent, is_exposed) in table {
        let all = [&plan[..], &[events]].concat();
        assert_eq!(
            exposed(&all, agent).outside().is_some(),
            is_exposed,
            "{what}"
        );
    }
}

/// A report of an agent that has read only files may quote them, to one that reads the web.
#[test]
fn private_data_are_passed_on_by_those_who_have_read_nothing_from_outside() {
    let none = json!({});
    let plan = [
        added("T1", None, &[]),
        added("T2", None, &["T1"]),
        added("P", None, &[]),
        added("C", Some("P"), &[]),
    ];
    let read = |task: &str| call(task, 1, "read_file", &none, "ok");
    let message = vec![
        json!({"type": "message.delivered", "from": serde_json::to_value(crate::messages::Sender::Agent(
        "T1".into())).unwrap(), "to": "P", "sequence": 1}),
    ];
    let ended =
        vec![json!({"type": "task.nothing_to_do", "task": "C", "summary": "the key is 4711"})];
    let table = [
        ("T2", [read("T1"), begun("T2")].concat()),
        ("P", [read("T1"), message].concat()),
        ("P", [read("C"), ended].concat()),
    ];
    for (agent, events) in table {
        let fetch = call(agent, 1, "fetch_url", &none, "ok");
        let all = [&plan[..], &[events, fetch]].concat();
        let found = exposed(&all, agent);
        assert!(found.is_complete() && found.leads(2), "{agent}: {found:?}");
        let guard = TaintGuard::new(&settings(TaintPolicy::Deny), found);
        let decided = guard.decide("fetch_url", Permission::NetworkAccess, &none, 2);
        assert!(
            matches!(decided, Some(Decision::Deny { .. })),
            "{agent}: {decided:?}"
        );
    }
}

/// The calls so far, the number of the request, the call, and whether the policy decides about it.
type Asked<'a> = (&'a [Vec<Value>], u32, &'a str, &'a Value, bool);

#[test]
fn a_call_that_could_give_data_away_is_decided_by_the_policy() {
    let none = json!({});
    let networked = json!({"network": true});
    let read = call("T1", 1, "read_file", &none, "ok");
    let fetched = call("T1", 2, "fetch_url", &none, "ok");
    let both = [read.clone(), fetched.clone()];
    let table: [Asked<'_>; 10] = [
        (&[], 1, "fetch_url", &none, false),
        (std::slice::from_ref(&read), 2, "fetch_url", &none, false),
        (std::slice::from_ref(&read), 2, "git_push", &none, false),
        (std::slice::from_ref(&fetched), 3, "fetch_url", &none, false),
        // It was made before the page was read.
        (&both, 2, "fetch_url", &none, false),
        (&both, 3, "fetch_url", &none, true),
        (&both, 3, "git_push", &none, true),
        (&both, 3, "read_file", &none, false),
        (std::slice::from_ref(&fetched), 3, "git_push", &none, true),
        // The program gets text from outside and the files in one call.
        (&[], 1, "run_shell_command", &networked, true),
    ];
    for (so_far, turn, tool, arguments, is_decided) in table {
        let decide = |policy: TaintPolicy| {
            let guard = TaintGuard::new(&settings(policy), exposed(so_far, "T1"));
            guard.decide(tool, permission(tool), arguments, turn)
        };
        let found = [TaintPolicy::Flag, TaintPolicy::Ask, TaintPolicy::Deny].map(decide);
        let ask = Decision::Ask {
            rule: TAINT_RULE.to_owned(),
        };
        match found {
            [None, Some(asked), Some(Decision::Deny { rule, .. })] if is_decided => {
                assert_eq!((asked, rule.as_str()), (ask, TAINT_RULE), "{tool}");
            }
            other => assert_eq!(
                (other, is_decided),
                ([None, None, None], false),
                "{tool} in {turn} after {so_far:?}"
            ),
        }
    }
}

#[test]
fn a_role_that_lets_agents_have_all_three_is_known_before_anything_runs() {
    let grant = |tools: &[&str], without: &[Permission]| {
        let mut grant = Grant::of_tools(tools.iter().copied());
        grant
            .permissions
            .retain(|permission| !without.contains(permission));
        grant
    };
    let all: Vec<&str> = TOOLS.iter().map(|(name, _)| *name).collect();
    let network = [Permission::NetworkAccess];
    let table: [(Grant, Option<[&str; 3]>); 6] = [
        (
            grant(&all, &[]),
            Some(["fetch_url", "git_checkout", "fetch_url"]),
        ),
        (grant(&all, &network), None),
        (grant(&["fetch_url", "todo_write"], &[]), None),
        (grant(&["read_file", "git_diff"], &[]), None),
        (
            grant(&["fetch_url", "read_file"], &[Permission::FileRead]),
            None,
        ),
        (
            grant(&["run_shell_command", "git_push", "git_pull"], &[]),
            None,
        ),
    ];
    let names = |settings: &RunSettings| -> ToolNames { settings.tools.clone() };
    let found = |grant: &Grant, settings: &RunSettings| {
        possible(grant, &names(settings), settings)
            .map(|found| [found.reads_outside, found.reads_private, found.sends])
    };
    let flag = settings(TaintPolicy::Flag);
    for (grant, expected) in &table {
        assert_eq!(
            found(grant, &flag),
            expected.map(|names| names.map(str::to_owned)),
            "{grant:?}"
        );
    }
    let changes: [fn(&mut RunSettings); 4] = [
        |settings| settings.tool_settings.taint.policy = TaintPolicy::Ask,
        |settings| settings.tool_settings.taint.policy = TaintPolicy::Deny,
        |settings| settings.tool_settings.taint.public_repository = true,
        |settings| settings.tool_settings.web_requests.allowed_domains.clear(),
    ];
    for change in changes {
        let mut settings = settings(TaintPolicy::Flag);
        change(&mut settings);
        assert_eq!(found(&table[0].0, &settings), None, "{settings:?}");
    }
}

#[test]
fn the_audit_log_flags_the_calls_of_an_exposed_agent() {
    let started = Event::RunStarted {
        plan: None,
        plan_source: None,
        title: None,
        settings: Box::new(settings(TaintPolicy::Flag)),
        base_commit: "0".into(),
        base_branch: None,
    };
    let none = json!({});
    let calls = [
        call("T1", 1, "read_file", &none, "ok"),
        call("T1", 2, "fetch_url", &none, "ok"),
        call("T2", 1, "read_file", &none, "ok"),
    ];
    let events = calls
        .iter()
        .flatten()
        .map(|event| serde_json::from_value(event.clone()).unwrap());
    let mut log = crate::projections::audit::AuditLog::default();
    let lines = std::iter::once(started)
        .chain(events)
        .zip(1..)
        .filter_map(|(event, seq)| {
            let line = log.apply(&Recorded {
                run_id: "r-1".into(),
                seq,
                ts_ms: seq,
                v: 1,
                event,
            })?;
            Some(serde_json::from_str::<Value>(&line).unwrap()["taint"].clone())
        });
    let all_three = json!(["outside_text", "private_data", "egress"]);
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [Value::Null, all_three, Value::Null]
    );
}
