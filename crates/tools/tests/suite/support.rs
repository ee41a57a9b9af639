//! How a test is run: its own runtime, its own worktree, and the sandbox that it asks for.

use std::env;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Completion, Failed, Trial};
use orchestrate_core::policy::Policy;
use orchestrate_core::settings::{RuleDecision, RuleText};
use orchestrate_sandbox::{Confinement, Helper, Sandbox};
use orchestrate_tools::harness::ToolHarness;
use orchestrate_tools::{Tool, ToolOutput, ToolRegistry, builtin_tools};

pub(crate) type Test = Pin<Box<dyn Future<Output = ()>>>;

/// Makes a test that starts no confined process.
pub(crate) fn trial(name: &'static str, test: fn(ToolHarness) -> Test) -> Trial {
    Trial::test(name, move || run(test, unconfined()))
}

const TIER: &str = "a sandbox tier (apt install bubblewrap; `orchestrate doctor` says what else is missing)";

/// Makes a test of commands, which needs a tier of the sandbox that starts here.
pub(crate) fn confined(name: &'static str, test: fn(ToolHarness) -> Test) -> Trial {
    Trial::ignorable_test(name, move || match strongest() {
        Ok(sandbox) => run(test, sandbox.clone()).map(|()| Completion::Completed),
        Err(reason) if env::var_os("ORCHESTRATE_REQUIRE").is_some_and(|value| value == "all") => {
            Err(Failed::from(format!("not run: needs {TIER}: {reason}")))
        }
        Err(_) => Ok(Completion::ignored_with(format!("not run: needs {TIER}"))),
    })
}

/// Returns the sandbox that holds nothing back, for tests that start nothing or only commands of their own.
pub(crate) fn unconfined() -> Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::with(Confinement::Unconfined, Helper::default()).unwrap()).clone()
}

fn strongest() -> &'static Result<Sandbox, String> {
    static SANDBOX: OnceLock<Result<Sandbox, String>> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::strongest(Helper::default()).map_err(|error| format!("failed to {error}")))
}

fn run(test: fn(ToolHarness) -> Test, sandbox: Sandbox) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let harness = ToolHarness::new(builtin_tools(&|_| None).unwrap(), sandbox)?;
    runtime.block_on(test(harness));
    Ok(())
}

/// Makes a harness with one tool only.
pub(crate) fn harness_of(tool: impl Tool + 'static) -> ToolHarness {
    let mut registry = ToolRegistry::new();
    let category = tool.category();
    registry.register(Arc::new(tool), category).unwrap();
    ToolHarness::new(registry, unconfined()).unwrap()
}

/// Returns a policy of rules as typed.
pub(crate) fn policy(rules: &[(RuleDecision, &str)]) -> Arc<Policy> {
    let text = |(decision, rule): &(RuleDecision, &str)| RuleText {
        decision: *decision,
        rule: (*rule).to_owned(),
        source: "the test".to_owned(),
    };
    Arc::new(Policy::new(&rules.iter().map(text).collect::<Vec<_>>()).unwrap())
}

/// Returns the message of a failure, and the text of a success after `ok: `.
pub(crate) fn said(output: &ToolOutput) -> String {
    match &output.error {
        Some(error) => match output.error_kind {
            Some(kind) => format!("{kind:?}: {error}"),
            None => error.clone(),
        },
        None => format!("ok: {}", output.text()),
    }
}
