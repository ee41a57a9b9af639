//! `install_package` at the tool's face: what is refused before a package manager runs, and what
//! one leaves behind.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use orchestrate_core::ToolSettings;
use orchestrate_core::policy::RuleDecision;
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{Approval, CallOutcome, InstallResults, PackageChange};
use serde_json::{Value, json};

use crate::execute::conformance::conforms_with;
use crate::support::{begins, calls, holding, policy, said, says, starting};

/// A program in the place of pip, which installs `greeting` as pip records it.
const PIP: &str = "#!/bin/sh\ncase \"$*\" in *--version*) echo pip 1.0; exit;; esac\n\
    mkdir -p .venv/lib/python3/site-packages/greeting-1.0.dist-info\necho done\n";

fn put_pip(harness: &ToolHarness, program: &str) -> io::Result<()> {
    harness.put(".venv/bin/python", program)?;
    harness.put(".venv/.gitignore", "*\n")?;
    std::fs::set_permissions(
        harness.path().join(".venv/bin/python"),
        std::fs::Permissions::from_mode(0o755),
    )
}

fn specimen() -> (&'static str, Value, Option<Value>) {
    (
        "install_package",
        json!({"package": "greeting"}),
        Some(json!({"package": "../greeting"})),
    )
}

/// Allows every call that installs.
fn allow(harness: &mut ToolHarness) {
    harness.scope.policy = policy(&[(RuleDecision::Allow, "install_package")]);
}

pub(crate) async fn what_is_no_package_is_refused(mut harness: ToolHarness) {
    allow(&mut harness);
    for package in [
        "",
        "-r",
        "./a",
        "https://evil.example/a.whl",
        "git+https://evil.example/a",
        "a b",
        "a@1.0",
    ] {
        let output = harness
            .call("install_package", json!({"package": package}))
            .await;
        assert!(
            said(&output).starts_with("Retry: ")
                && said(&output).contains("is no name of a package"),
            "{package}"
        );
    }
    for (version, language) in [
        ("file:../a", None),
        ("1.0", Some("go")),
        ("--pre", Some("python")),
    ] {
        let arguments = json!({"package": "a", "version": version, "language": language});
        let output = harness.call("install_package", arguments).await;
        assert!(
            said(&output).starts_with("Retry: "),
            "{version}: {}",
            said(&output)
        );
    }
}

pub(crate) async fn a_refusal_names_the_registry_of_the_language(mut harness: ToolHarness) {
    allow(&mut harness);
    let table = [
        (
            "./a",
            None,
            Some("python"),
            "`./a` is no name of a package at PyPI, such as requests[socks];",
        ),
        (
            "./a",
            None,
            Some("javascript"),
            "`./a` is no name of a package at npm, such as @types/node;",
        ),
        (
            "./a",
            None,
            Some("rust"),
            "`./a` is no name of a crate at crates.io, such as serde;",
        ),
        (
            "a",
            None,
            Some("go"),
            "`a` is no name of a Go module, such as golang.org/x/text;",
        ),
        (
            "./a",
            None,
            None,
            "`./a` is no name of a package at PyPI, of a package at npm, of a crate at crates.io or of a Go module, such \
             as requests[socks], @types/node, serde or golang.org/x/text;",
        ),
        (
            "a",
            Some("--pre"),
            Some("python"),
            "`--pre` is no version of a package at PyPI; for a package at PyPI, name one",
        ),
        (
            "a",
            Some("--pre"),
            Some("rust"),
            "`--pre` is no version of a crate at crates.io; for a crate at",
        ),
        (
            "a.example/b",
            Some("--pre"),
            None,
            "`--pre` is no version of a Go module; for a Go module, name one such as v1",
        ),
        (
            "a",
            Some("--pre"),
            None,
            "`--pre` is no version of a package at PyPI, of a package at npm or of a crate at crates.io; for a package",
        ),
    ];
    for (package, version, language, expected) in table {
        let arguments = json!({"package": package, "version": version, "language": language});
        calls! { harness; install_package (arguments) => holding(expected); }
    }
    harness.scope.policy = policy(&[(RuleDecision::Allow, "fetch_api_docs")]);
    for (library, version, expected) in [
        (
            "a b",
            "",
            "`library` is the name of a library, such as serde, npm:react",
        ),
        (
            "npm:a b",
            "",
            "`library` is the name of a package at npm, such as",
        ),
        (
            "python:a b",
            "",
            "`library` is the name of a package at PyPI, such as",
        ),
        (
            "rust:a b",
            "",
            "`library` is the name of a crate at crates.io, such as",
        ),
        (
            "go:a b",
            "",
            "`library` is the name of a Go package, such as",
        ),
        ("go:a.example/b", "1 2", "`version` is one such as v1.2.3"),
        ("rust:a", "1 2", "`version` is one such as 1.2.3"),
    ] {
        calls! { harness;
            fetch_api_docs {"library": library, "version": version} => holding(expected);
        }
    }
}

pub(crate) async fn nobody_is_asked_where_nothing_can_be_installed(mut harness: ToolHarness) {
    harness.put("package.json", "{}").unwrap();
    harness.scope.ask_parks = true;
    // Nothing keeps this sandbox's programs from the network.
    let output = harness
        .call("install_package", json!({"package": "greeting"}))
        .await;
    assert_eq!(
        output.denied_by.as_deref(),
        Some("built-in:no-network"),
        "{}",
        said(&output)
    );
}

/// Nobody is asked about a call that would fail whatever the answer is.
pub(crate) async fn what_the_project_lacks_is_said_before_anybody_is_asked(
    mut harness: ToolHarness,
) {
    harness.scope.ask_parks = true;
    harness.put("requirements.txt", "").unwrap();
    calls! { harness;
        install_package {"package": "greeting"}
            => starting("Retry: this project has no virtual environment");
    }
    harness.put("package.json", "{}").unwrap();
    calls! { harness;
        install_package {"package": "greeting"}
            => holding("one of Python and JavaScript; say which with `language`");
    }
    let output = harness
        .call("install_package", json!({"package": "golang.org/x/text"}))
        .await;
    let refusal = "`golang.org/x/text` is no name of a package at PyPI or of a package at npm, such as requests[socks] or @";
    assert!(said(&output).contains(refusal), "{}", said(&output));
    for (language, package, expected) in [
        ("rust", "greeting", "`cargo add` needs a Cargo.toml"),
        ("go", "a.example/greeting", "`go get` needs a go.mod"),
    ] {
        calls! { harness;
            install_package {"package": package, "language": language}
                => starting(format!("Retry: {expected} in the worktree's root"));
        }
    }
    let outcome = harness
        .outcome(
            "install_package",
            json!({"package": "greeting", "language": "javascript"}),
        )
        .await;
    assert!(
        matches!(outcome, CallOutcome::NeedsApproval { .. }),
        "{outcome:?}"
    );
}

pub(crate) async fn a_call_that_installs_is_asked_about(mut harness: ToolHarness) {
    harness.put("package.json", "{}").unwrap();
    calls! { harness;
        install_package {"package": "greeting"}
            => holding("the rule `built-in:packages` needs approval");
    }
    harness.scope.ask_parks = true;
    let outcome = harness
        .outcome("install_package", json!({"package": "greeting"}))
        .await;
    assert!(
        matches!(outcome, CallOutcome::NeedsApproval { rule, .. } if rule == "built-in:packages")
    );
    harness.scope.policy = policy(&[
        (RuleDecision::Allow, "install_package(greet*)"),
        (RuleDecision::Deny, "install_package(evil)"),
    ]);
    let outcome = harness
        .outcome("install_package", json!({"package": "other"}))
        .await;
    assert!(matches!(outcome, CallOutcome::NeedsApproval { .. }));
    let output = harness
        .call("install_package", json!({"package": "evil"}))
        .await;
    assert_eq!(
        output.denied_by.as_deref(),
        Some("deny:install_package(evil)")
    );
}

pub(crate) async fn the_user_sees_what_an_installation_reaches_and_only_that_is(
    mut harness: ToolHarness,
) {
    put_pip(&harness, PIP).unwrap();
    harness
        .put(
            "requirements.txt",
            "-i https://pypi.corp.example/simple\n-i https://no.example/\n",
        )
        .unwrap();
    let mut settings = ToolSettings::default();
    settings
        .web_requests
        .allowed_domains
        .push("pypi.corp.example".to_owned());
    harness.limit(&settings);
    harness.scope.ask_parks = true;
    let call = harness.make_call(
        "install_package",
        json!({"package": "greeting", "version": "1.0"}),
    );
    let ask = |harness: &ToolHarness| {
        let executor = Arc::clone(&harness.executor);
        let call = call.clone();
        let scope = harness.scope.clone();
        async move { executor.call(&call, &scope).await }
    };
    let CallOutcome::NeedsApproval {
        call: hash,
        arguments,
        ..
    } = ask(&harness).await
    else {
        unreachable!()
    };
    let shown = json!({
        "package": "greeting", "version": "1.0", "manager": "pip or uv pip",
        "registries": ["files.pythonhosted.org", "pypi.corp.example", "pypi.org"], "closed_registries": ["no.example"],
        "code": "a package without a wheel is built from its source, which runs its code in the sandbox",
    });
    assert_eq!(arguments, shown);
    harness.scope.approvals = Arc::new(BTreeMap::from([(hash.clone(), Approval::Approved)]));
    // The project names another registry now, about which nobody has decided.
    harness
        .put("requirements.txt", "-i https://pypi.corp.example/simple\n")
        .unwrap();
    let CallOutcome::NeedsApproval {
        call: other,
        arguments,
        ..
    } = ask(&harness).await
    else {
        unreachable!()
    };
    assert!(
        other != hash && arguments.get("closed_registries").is_none(),
        "{arguments}"
    );
    harness
        .put(
            "requirements.txt",
            "-i https://pypi.corp.example/simple\n-i https://no.example/\n",
        )
        .unwrap();
    let CallOutcome::Done(output) = ask(&harness).await else {
        unreachable!()
    };
    assert!(
        output.text().starts_with("installed: greeting 1.0\n"),
        "{}",
        said(&output)
    );
}

/// A host that was refused to one call is asked about when the next one names it.
pub(crate) async fn a_call_asks_for_the_hosts_that_it_names(mut harness: ToolHarness) {
    put_pip(&harness, PIP).unwrap();
    allow(&mut harness);
    harness.scope.ask_parks = true;
    let with = |domains: &[&str]| json!({"package": "greeting", "domains": domains});
    let outcome = harness
        .outcome("install_package", with(&["example.org"]))
        .await;
    assert!(
        matches!(
            &outcome,
            CallOutcome::NeedsApproval { rule, arguments, .. }
                if rule == "built-in:network" && arguments["domains"] == json!(["example.org"])
        ),
        "{outcome:?}"
    );
    let output = harness
        .call("install_package", with(&["169.254.169.254"]))
        .await;
    assert_eq!(output.denied_by.as_deref(), Some("built-in:address"));
    for domain in ["*.example.org", "https://example.org/", ""] {
        let output = harness.call("install_package", with(&[domain])).await;
        assert!(
            said(&output).starts_with("Retry: ")
                && said(&output).contains("in `domains` is no host"),
            "{domain}: {}",
            said(&output)
        );
    }
    // Only the host that a rule allows is reached.
    harness.scope.policy = policy(&[
        (RuleDecision::Allow, "install_package"),
        (RuleDecision::Allow, "install_package(domain:example.org)"),
    ]);
    let output = harness
        .call("install_package", with(&["example.org"]))
        .await;
    let results: InstallResults = serde_json::from_value(output.data).unwrap();
    let allowed: Vec<&str> = results
        .egress
        .iter()
        .filter(|decision| decision.allowed)
        .map(|decision| decision.asked.as_str())
        .collect();
    assert_eq!(allowed, ["http://example.org/"], "{:?}", results.egress);
}

pub(crate) async fn packages_are_installed_behind_the_proxy_alone(mut harness: ToolHarness) {
    allow(&mut harness);
    put_pip(&harness, PIP).unwrap();
    let output = harness
        .call("install_package", json!({"package": "Greeting"}))
        .await;
    if harness.scope.sandbox.require_egress().is_err() {
        assert_eq!(output.denied_by.as_deref(), Some("built-in:no-network"));
        assert!(
            said(&output).contains("fallback (landlock, seccomp)"),
            "{}",
            said(&output)
        );
        return;
    }
    let results: InstallResults = serde_json::from_value(output.data.clone()).unwrap();
    let added = PackageChange {
        name: "greeting".to_owned(),
        added: vec!["1.0".to_owned()],
        removed: Vec::new(),
    };
    assert_eq!(
        (results.packages, results.package.as_str()),
        (vec![added], "Greeting"),
        "{}",
        output.text()
    );
    assert_eq!(
        (results.run.program.as_str(), results.run.version.as_str()),
        ("pip", "1.0")
    );
    assert!(
        output.success && results.changed.is_empty() && !results.from_source,
        "{}",
        output.text()
    );
    begins(&output, "installed: greeting 1.0\n");
    // The harness's proxy is asked for two hosts, which belong to no registry.
    assert!(
        output.text().contains(
            "(rule built-in:registry): `example.org` is no registry that the user allows"
        )
    );
    assert!(
        results.egress.iter().all(|decision| !decision.allowed),
        "{:?}",
        results.egress
    );
    let output = harness
        .call("install_package", json!({"package": "other"}))
        .await;
    let expected = "the command ended well, but `other` is not among what is installed";
    assert_eq!(
        (output.success, output.error.as_deref()),
        (false, Some(expected))
    );
}

/// What a build leaves running does not hold the call.
pub(crate) async fn an_installation_ends_at_its_time_limit(mut harness: ToolHarness) {
    allow(&mut harness);
    if harness.scope.sandbox.require_egress().is_err() {
        return;
    }
    let mut settings = ToolSettings::default();
    settings.code_execution.timeout_seconds = Some(4);
    harness.limit(&settings);
    // A server that outlives the build holds its output open.
    put_pip(&harness, &PIP.replace("echo done", "sleep 300 & echo done")).unwrap();
    let output = harness
        .call("install_package", json!({"package": "greeting"}))
        .await;
    assert!(output.success, "{}", said(&output));
    put_pip(&harness, &PIP.replace("echo done", "sleep 300 & wait")).unwrap();
    calls! { harness; install_package {"package": "greeting"} => holding("timed out after 4 s"); }
}

pub(crate) async fn a_registry_that_wants_a_password_is_for_the_user(mut harness: ToolHarness) {
    allow(&mut harness);
    put_pip(&harness, PIP).unwrap();
    let failing = PIP.replace(
        "echo done",
        "echo 'ERROR: HTTP error 401 Client Error: Unauthorized' >&2; exit 1",
    );
    let hint = "no job is given one, whether it is in the project or in the user's `~/.npmrc`";
    let install = async |harness: &ToolHarness| {
        harness
            .call("install_package", json!({"package": "other"}))
            .await
    };
    let output = install(&harness).await;
    assert!(
        !output.success && !output.text().contains(hint),
        "{}",
        output.text()
    );
    harness.put(".venv/bin/python", &failing).unwrap();
    let output = install(&harness).await;
    says(
        &output,
        &format!("[a registry wants a password or a token, and {hint}"),
    );
}

/// The public index would be asked in the place of one that is not passed on, and learn the name of
/// a private package.
pub(crate) async fn an_index_that_cannot_be_asked_is_not_replaced(mut harness: ToolHarness) {
    put_pip(&harness, PIP).unwrap();
    harness.scope.ask_parks = true;
    let source =
        "[[tool.poetry.source]]\nname = \"corp\"\nurl = \"https://pypi.corp.example/simple\"\n";
    let long = format!(
        "#{}\n-i https://pypi.corp.example/simple\n",
        "x".repeat(4 << 20)
    );
    for (file, text, expected) in [
        (
            "requirements.txt",
            "--index-url https://me:secret-4711@pypi.corp.example/simple\n",
            "a user or a password",
        ),
        (
            "requirements.txt",
            "-r pins/base.txt\n",
            "has `-r`, which includes a list that is not read here",
        ),
        (
            "requirements/base.txt",
            "-i https://${ME}:${PASSWORD}@pypi.corp.example/simple\n",
            "a user or a password",
        ),
        (
            "pip.conf",
            "[global]\nindex-url = https://me:secret-4711@pypi.corp.example/simple\n",
            "a user or a password",
        ),
        (
            "requirements.txt",
            "--no-index\n--find-links wheels\n",
            "says that no registry is asked",
        ),
        (
            "pyproject.toml",
            source,
            "has `tool.poetry.source.url`, which names the registry \
             https://pypi.corp.example/simple, which",
        ),
        ("requirements.txt", long.as_str(), "is too long to be read"),
    ] {
        harness
            .put(
                "pins/base.txt",
                "--extra-index-url https://me:secret-4711@pypi.corp.example/simple\n",
            )
            .unwrap();
        harness.put(file, text).unwrap();
        let output = harness
            .call("install_package", json!({"package": "greeting"}))
            .await;
        let is_refused = said(&output).starts_with("Retry: `") && said(&output).contains(expected);
        assert!(
            is_refused && !said(&output).contains("secret-4711"),
            "{file}: {}",
            said(&output)
        );
        std::fs::remove_file(harness.path().join(file)).unwrap();
    }
    harness.put("package.json", "{}").unwrap();
    harness
        .put(".npmrc", "//npm.corp.example/:_authToken=secret-4711\n")
        .unwrap();
    let call = json!({"package": "greeting", "language": "javascript"});
    let output = harness.call("install_package", call.clone()).await;
    assert!(
        said(&output).contains(
            "`.npmrc` has `//npm.corp.example/:_authToken`, which is a password or a token"
        ) && !said(&output).contains("secret-4711"),
        "{}",
        said(&output)
    );
    // A variable is none.
    harness
        .put(".npmrc", "//npm.corp.example/:_authToken=${NPM_TOKEN}\n")
        .unwrap();
    let outcome = harness.outcome("install_package", call).await;
    assert!(
        matches!(outcome, CallOutcome::NeedsApproval { .. }),
        "{outcome:?}"
    );
}

pub(crate) async fn a_project_says_which_manager_installs(mut harness: ToolHarness) {
    allow(&mut harness);
    let call = |arguments: Value| harness.call("install_package", arguments);
    let output = call(json!({"package": "a"})).await;
    assert!(
        said(&output).starts_with("Retry: found no project of Python, JavaScript, Rust or Go"),
        "{}",
        said(&output)
    );
    harness.put("Cargo.toml", "").unwrap();
    harness.put("package.json", "{}").unwrap();
    harness.put("poetry.lock", "").unwrap();
    harness.put("pyproject.toml", "").unwrap();
    let output = call(json!({"package": "a"})).await;
    assert!(
        said(&output).contains("one of Rust and Python and JavaScript; say which with `language`"),
        "{}",
        said(&output)
    );
    let output = call(json!({"package": "a", "language": "python"})).await;
    assert!(
        said(&output).starts_with("Retry: this project has poetry.lock, and `poetry add`"),
        "{}",
        said(&output)
    );
    let output = call(json!({"package": "a/b"})).await;
    assert!(
        said(&output).contains("is no name of a package"),
        "{}",
        said(&output)
    );
}

pub(crate) async fn the_tool_for_packages_conforms(harness: ToolHarness) {
    conforms_with(&harness, vec![specimen()], &|harness| put_pip(harness, PIP)).await;
}
