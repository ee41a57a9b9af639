//! Tests of permissions: which tools each covers, and that a role without it has none of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use orchestrate_core::policy::Permission::{
    self, AgentMessage, AgentSpawn, CodeExecution, FileModify, FileRead, FileWrite, GitOperations,
    NetworkAccess,
};
use orchestrate_core::policy::{Grant, Policy, RuleDecision};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::plain_tools;
use serde_json::{Value, json};

use crate::builtin::web::put_pages;
use crate::support::{policy, said};

/// The permissions with the tools that the reference names, each with a call.
fn covered() -> Vec<(Permission, &'static str, Value)> {
    let path = || json!({"path": "a"});
    let paths = || json!({"src": "a", "dst": "b"});
    vec![
        (FileRead, "read_file", path()),
        (FileRead, "list_directory", json!({"path": "."})),
        (FileRead, "get_file_info", path()),
        (
            FileWrite,
            "write_file",
            json!({"path": "a", "content": "x"}),
        ),
        (
            FileWrite,
            "append_file",
            json!({"path": "a", "content": "x"}),
        ),
        (FileWrite, "create_directory", json!({"path": "d"})),
        (FileModify, "copy_file", paths()),
        (FileModify, "move_file", json!({"src": "b", "dst": "c"})),
        (FileModify, "delete_file", path()),
        (
            CodeExecution,
            "run_shell_command",
            json!({"command": "true"}),
        ),
        (CodeExecution, "run_python", json!({"code": "1"})),
        (GitOperations, "git_status", json!({})),
        (GitOperations, "git_commit", json!({"message": "m"})),
        (GitOperations, "git_push", json!({})),
        (NetworkAccess, "web_search", json!({"query": "q"})),
        (
            NetworkAccess,
            "fetch_url",
            json!({"url": "https://page.example/"}),
        ),
        (
            AgentMessage,
            "send_message_to_agent",
            json!({"agent_id": "T2", "message": "m"}),
        ),
        (AgentMessage, "get_agent_status", json!({"agent_id": "T2"})),
        (AgentMessage, "list_active_agents", json!({})),
        (AgentSpawn, "spawn_child_agent", json!({"task": "Write it"})),
        (AgentSpawn, "terminate_agent", json!({"agent_id": "T2"})),
        (AgentSpawn, "wait_for_agents", json!({"agent_ids": ["T2"]})),
        (
            AgentSpawn,
            "aggregate_agent_results",
            json!({"agent_ids": ["T2"]}),
        ),
    ]
}

pub(crate) async fn each_covers_the_tools_of_the_reference(mut harness: ToolHarness) {
    harness.put("a", "x").unwrap();
    put_pages(&harness);
    // The user is asked about it otherwise.
    harness.scope.policy = policy(&[(RuleDecision::Allow, "git_push")]);
    let tools = plain_tools().unwrap();
    let granting = |permissions: BTreeSet<Permission>| {
        let of_all = Grant::of_tools(tools.tools(None).iter().map(|tool| tool.name()));
        Arc::new(Grant {
            permissions,
            ..of_all
        })
    };
    for (permission, tool, arguments) in covered() {
        assert_eq!(tools.tool(tool).unwrap().permission(), permission, "{tool}");
        harness.scope.grant = granting(
            Permission::ALL
                .into_iter()
                .filter(|other| *other != permission)
                .collect(),
        );
        let denied = harness.call(tool, arguments.clone()).await;
        let expected = format!(
            "Denied: Security validation failed: this agent's role does not grant `{tool}` ({permission})"
        );
        assert!(
            said(&denied).starts_with(&expected),
            "{tool}: {}",
            said(&denied)
        );
        // What the program of a script does is its own business; its permission has been asked
        // about.
        harness.scope.grant = granting(BTreeSet::from([permission, FileRead]));
        let allowed = harness.call(tool, arguments).await;
        assert!(
            tool == "run_python" || allowed.success,
            "{tool}: {}",
            said(&allowed)
        );
    }
}

/// Also those of tools that only others have.
pub(crate) async fn a_grant_needs_tool_and_permission(_: ToolHarness) {
    let policy = Policy::default();
    for permission in Permission::ALL
        .into_iter()
        .filter(|permission| *permission != Permission::None)
    {
        let with = Grant {
            permissions: BTreeSet::from([permission]),
            ..Grant::of_tools(["deploy"])
        };
        let without = Grant {
            permissions: BTreeSet::new(),
            ..with.clone()
        };
        let of_another = Grant {
            tools: BTreeSet::from(["other".to_owned()]),
            ..with.clone()
        };
        let permits =
            [&with, &without, &of_another].map(|grant| policy.permits(grant, "deploy", permission));
        assert_eq!(permits, [true, false, false], "{permission}");
    }
}
