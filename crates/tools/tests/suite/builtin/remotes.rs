//! Tests of `git_push` and `git_pull`: what is decided about and shown, and that exactly that is
//! done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::policy::RuleDecision::{Allow, Ask, Deny};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{Approval, CallOutcome};
use serde_json::{Value, json};

use crate::support::{policy, said};

/// Returns what a call is answered with, or by which rule it asks.
async fn answered(harness: &ToolHarness, tool: &str, arguments: Value) -> String {
    match harness.outcome(tool, arguments).await {
        CallOutcome::NeedsApproval { rule, .. } => format!("asks by {rule}"),
        CallOutcome::Done(output) => said(&output),
        CallOutcome::Waits => "waits".to_owned(),
    }
}

pub(crate) async fn the_user_sees_what_is_pushed_and_exactly_that_is(mut harness: ToolHarness) {
    harness.scope.ask_parks = true;
    let call = harness.make_call("git_push", json!({"branch": "try/one"}));
    let ask = |harness: &ToolHarness| {
        let executor = Arc::clone(&harness.executor);
        let call = call.clone();
        let scope = harness.scope.clone();
        async move { executor.call(&call, &scope).await }
    };
    let CallOutcome::NeedsApproval {
        call: hash,
        arguments,
        rule,
        ..
    } = ask(&harness).await
    else {
        unreachable!()
    };
    let shown = json!({
        "remote": "origin", "address": "https://git.example/a.git", "host": "git.example", "branch": "try/one",
        "commit": "0123456789abcdef0123456789abcdef01234567", "commits": ["0123456789 Begin"],
    });
    assert_eq!((arguments, rule.as_str()), (shown, "built-in:remote"));
    harness.scope.approvals = Arc::new(BTreeMap::from([(hash.clone(), Approval::Approved)]));
    // The remote leads elsewhere now, which nobody has approved.
    harness
        .git
        .hosts
        .lock()
        .insert("origin".to_owned(), "other.example".to_owned());
    let CallOutcome::NeedsApproval {
        call: other,
        arguments,
        ..
    } = ask(&harness).await
    else {
        unreachable!()
    };
    assert!(
        other != hash && arguments["host"] == "other.example",
        "{arguments}"
    );
    assert!(harness.git.pushed.lock().is_empty() && harness.recorder.records().is_empty());
    harness.git.hosts.lock().clear();
    let CallOutcome::Done(output) = ask(&harness).await else {
        unreachable!()
    };
    let expected = "ok: pushed 0123456789 as the new branch origin/try/one (https://git.example/a.git)\n0123456789 Begin";
    assert_eq!(said(&output), expected);
    assert_eq!(harness.git.pushed.lock().len(), 1);
}

pub(crate) async fn commits_of_the_user_are_not_published_unasked(mut harness: ToolHarness) {
    harness.scope.policy = policy(&[(Allow, "git_push"), (Allow, "git_push(behind/try)")]);
    let arguments = json!({"remote": "behind", "branch": "try"});
    let refused = answered(&harness, "git_push", arguments.clone()).await;
    let expected = "the rule `built-in:unpublished-commits` needs approval for `behind/try`, which nobody can give";
    assert!(refused.contains(expected), "{refused}");
    harness.scope.ask_parks = true;
    let call = harness.make_call("git_push", arguments);
    let CallOutcome::NeedsApproval {
        call: hash,
        arguments,
        ..
    } = harness.executor.call(&call, &harness.scope).await
    else {
        unreachable!()
    };
    assert_eq!(
        arguments["users_commits"],
        json!({"count": 2, "newest": ["aaaaaaaaaa Draft"]})
    );
    assert!(harness.git.pushed.lock().is_empty());
    harness.scope.approvals = Arc::new(BTreeMap::from([(hash, Approval::Approved)]));
    let CallOutcome::Done(output) = harness.executor.call(&call, &harness.scope).await else {
        unreachable!()
    };
    let told = "0123456789 Begin\nwith it, commits of the user's that the remote was not known to have, 2 in all:\n\
        aaaaaaaaaa Draft\nand 1 more";
    assert!(said(&output).ends_with(told), "{}", said(&output));
}

pub(crate) async fn rules_decide_about_hosts_and_branches(mut harness: ToolHarness) {
    harness.scope.ask_parks = true;
    let hosts = [
        ("home", "127.0.0.1"),
        ("here", "localhost"),
        ("corp", "git.corp.example"),
        ("evil", "git.example.evil.org"),
    ];
    *harness.git.hosts.lock() = hosts
        .map(|(remote, host)| (remote.to_owned(), host.to_owned()))
        .into();
    harness.scope.policy = policy(&[
        (Allow, "git_push(git.example)"),
        (Ask, "git_push(origin/release*)"),
        (Allow, "git_pull(home)"),
        (Deny, "git_pull(domain:*.evil.org)"),
    ]);
    const ASKS: &str = "asks by built-in:remote";
    const ADDRESS: &str = "Denied: Security validation failed: `127.0.0.1` leads to 127.0.0.1, which is for this machine";
    let table = [
        ("git_push", "origin", "try", "ok: pushed 0123456789"),
        (
            "git_push",
            "origin",
            "release/1",
            "asks by ask:git_push(origin/release*)",
        ),
        (
            "git_push",
            "origin",
            "main",
            "Denied: Security validation failed: `main` is a branch of the user's; push to a branch",
        ),
        ("git_push", "corp", "try", ASKS),
        ("git_push", "evil", "try", ASKS),
        ("git_push", "home", "try", ADDRESS),
        (
            "git_push",
            "here",
            "try",
            "Denied: Security validation failed: `localhost` is this machine",
        ),
        ("git_pull", "origin", "main", ASKS),
        ("git_pull", "home", "main", ADDRESS),
        (
            "git_pull",
            "evil",
            "main",
            "Denied: Security validation failed: the rule `deny:git_pull(domain:*.evil.org)`",
        ),
        (
            "git_push",
            "nowhere",
            "try",
            "Retry: there is no remote `nowhere`",
        ),
    ];
    for (tool, remote, branch, expected) in table {
        let seen = answered(&harness, tool, json!({"remote": remote, "branch": branch})).await;
        assert!(
            seen.starts_with(expected),
            "{tool} {remote} {branch}: {seen}"
        );
    }
    harness.scope.policy = policy(&[
        (Allow, "git_push(origin/main)"),
        (Allow, "git_pull(127.0.0.1)"),
    ]);
    assert!(
        answered(&harness, "git_push", json!({"branch": "main"}))
            .await
            .starts_with("ok: pushed")
    );
    let pulled = answered(&harness, "git_pull", json!({"remote": "home"})).await;
    assert!(
        pulled.starts_with("ok: home/main (0123456789) conflicts with your work."),
        "{pulled}"
    );
    // Where nobody can be asked, it is refused; and what rules refuse is not looked up.
    harness.scope.ask_parks = false;
    let refused = answered(&harness, "git_push", json!({})).await;
    assert!(
        refused.contains("the rule `built-in:remote` needs approval for `origin/"),
        "{refused}"
    );
    harness.scope.policy = policy(&[(Allow, "git_push(git.example)")]);
    assert!(
        answered(&harness, "git_push", json!({}))
            .await
            .starts_with("ok: pushed")
    );
    harness.scope.policy = policy(&[(Deny, "git_push")]);
    let refused = answered(&harness, "git_push", json!({"remote": "nowhere"})).await;
    assert!(refused.contains("the rule `deny:git_push`"), "{refused}");
}

/// Whatever git, or a program that it starts, could take for something else than a name.
pub(crate) async fn a_name_is_no_address_no_option_and_no_refspec(mut harness: ToolHarness) {
    harness.scope.policy = policy(&[(Allow, "git_push"), (Allow, "git_pull")]);
    let remotes = [
        "https://evil.example/a",
        "ext::sh -c id",
        "file:///srv/a",
        "/srv/a",
        "./a",
        "../a",
        "ssh://-oProxyCommand=id/x",
        "-oProxyCommand=id",
        "--upload-pack=id",
        "git@evil.example:a",
        "a b",
        "a\nb",
        "a\0b",
        "origin:main",
        "a//b",
    ];
    let branches = [
        "+main",
        "main:main",
        ":main",
        "main:",
        "refs/heads/main",
        "refs/tags/v1",
        "HEAD",
        "--force",
        "-f",
        "--mirror",
        "a b",
        "a..b",
        "a@{1}",
        "a*",
        "a?",
        "a[b",
        "a\\b",
        "a^",
        "a~1",
        "/a",
        ".a",
        "a\tb",
        "a\nb",
        "a\0b",
    ];
    let of_remotes = remotes.map(|remote| json!({ "remote": remote }));
    let of_branches = branches.map(|branch| json!({ "branch": branch }));
    let long = json!({"branch": "x".repeat(300)});
    for arguments in of_remotes.into_iter().chain(of_branches).chain([long]) {
        for tool in ["git_push", "git_pull"] {
            let seen = answered(&harness, tool, arguments.clone()).await;
            assert!(
                seen.starts_with("Retry: Invalid parameters: `"),
                "{tool} {arguments}: {seen}"
            );
        }
    }
    let unknown = answered(&harness, "git_push", json!({"force": true})).await;
    assert!(
        unknown.starts_with("Retry: Invalid parameters"),
        "{unknown}"
    );
    assert!(harness.git.pushed.lock().is_empty());
    // As with the other tools, an empty text is none.
    assert!(
        answered(&harness, "git_push", json!({"remote": "", "branch": ""}))
            .await
            .contains("origin/orchestrate/r-harness/T1")
    );
}

pub(crate) async fn a_server_that_is_away_stops_no_other_git_tool(mut harness: ToolHarness) {
    harness.scope.policy = policy(&[(Allow, "git_push"), (Allow, "git_pull")]);
    harness.scope.limits.longest_retry_wait = Duration::ZERO;
    harness
        .git
        .hosts
        .lock()
        .insert("away".to_owned(), "away.example".to_owned());
    for _ in 0..3 {
        let seen = answered(&harness, "git_push", json!({"remote": "away"})).await;
        assert!(
            seen.starts_with("Network: away.example cannot be reached"),
            "{seen}"
        );
    }
    let seen = answered(&harness, "git_pull", json!({"remote": "away"})).await;
    assert!(
        seen.starts_with(
            "Execution: `away.example` is out of order for the tools of the category `remotes`"
        ),
        "{seen}"
    );
    assert!(
        answered(&harness, "git_push", json!({"remote": "origin"}))
            .await
            .starts_with("ok: ")
    );
    assert!(
        answered(&harness, "git_status", json!({}))
            .await
            .starts_with("ok: ")
    );
}
