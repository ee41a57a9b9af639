//! Runs each test with its own runtime and worktree, and the sandbox that it needs.

use std::collections::BTreeMap;
use std::env;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use libtest_mimic::{Completion, Failed, Trial};
use orchestrate_core::policy::{Policy, RuleDecision, RuleText};
use orchestrate_sandbox::{Confinement, Helper, Sandbox};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{Tool, ToolOutput, ToolRegistry, plain_tools};
use serde_json::Value;

/// Makes calls one after another, each with what it has to say: a whole text, what it [`begins`]
/// with, or what it [`holds`].
macro_rules! calls {
    ($harness:expr; $($tool:ident $arguments:tt => $told:expr;)*) => {$(
        let output = $harness.call(stringify!($tool), $crate::support::calls!(@of $arguments)).await;
        $crate::support::require_told(stringify!($tool $arguments), &output, $told);
    )*};
    (@of {$($json:tt)*}) => { serde_json::json!({$($json)*}) };
    (@of ($arguments:expr)) => { $arguments };
}
pub(crate) use calls;

/// What a call has to say.
pub(crate) enum Told {
    Whole(String),
    Begins(String),
    Holds(String),
}

impl<T: Into<String>> From<T> for Told {
    fn from(text: T) -> Self {
        Told::Whole(text.into())
    }
}

pub(crate) fn starting(text: impl AsRef<str>) -> Told {
    Told::Begins(text.as_ref().to_owned())
}

pub(crate) fn holding(text: impl AsRef<str>) -> Told {
    Told::Holds(text.as_ref().to_owned())
}

pub(crate) fn require_told(call: &str, output: &ToolOutput, told: impl Into<Told>) {
    let said = said(output);
    match told.into() {
        Told::Whole(text) => assert_eq!(said, text, "{call}"),
        Told::Begins(text) => assert!(said.starts_with(&text), "{call}: {said}"),
        Told::Holds(text) => assert!(said.contains(&text), "{call}: {said}"),
    }
}

pub(crate) type Test = Pin<Box<dyn Future<Output = ()>>>;

/// Creates a test that starts no confined process.
pub(crate) fn trial(name: &'static str, test: fn(ToolHarness) -> Test) -> Trial {
    Trial::test(name, move || run(test, unconfined()))
}

/// A program that commands have to find, with how to install it.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    /// A command that fails if it is absent.
    pub(crate) probe: &'static str,
    /// The program, as `name (how to install it)`.
    pub(crate) program: &'static str,
}

/// Creates a test of commands for each tier that also needs a program inside the sandbox.
pub(crate) fn needing(name: &'static str, need: Need, test: fn(ToolHarness) -> Test) -> Vec<Trial> {
    let trial = |tier: Tier| {
        Trial::ignorable_test(format!("{name}::{}", tier.name), move || {
            let (sandbox, lacking) = match tier.sandbox() {
                Ok(sandbox) if has(tier.name, &sandbox, need)? => (Some(sandbox), String::new()),
                Ok(_) => (None, need.program.to_owned()),
                Err(reason) => (None, format!("{}: {reason}", tier.need)),
            };
            match sandbox {
                Some(sandbox) => run(test, sandbox).map(|()| Completion::Completed),
                None => not_run(&lacking),
            }
        })
    };
    TIERS.map(trial).into()
}

/// Reports whether commands find a program. A tier is asked once for each program, since starting
/// some takes as long as a test.
fn has(tier: &'static str, sandbox: &Sandbox, need: Need) -> Result<bool, Failed> {
    type Known = Mutex<BTreeMap<(&'static str, &'static str), bool>>;
    static KNOWN: Known = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known().get(&(tier, need.probe)) {
        return Ok(*found);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let harness = ToolHarness::new(plain_tools().unwrap(), sandbox.clone())?;
    let call = harness.call(
        "run_shell_command",
        serde_json::json!({"command": need.probe}),
    );
    let found = runtime.block_on(call).success;
    known().insert((tier, need.probe), found);
    Ok(found)
}

const TIER: &str =
    "a sandbox tier (apt install bubblewrap; `orchestrate doctor` says what else is missing)";

/// One of the two tiers, and what it needs.
#[derive(Clone, Copy)]
struct Tier {
    name: &'static str,
    confinement: Confinement,
    need: &'static str,
}

const FULL: Tier = Tier {
    name: "full",
    confinement: Confinement::Full,
    need: "the full sandbox tier (apt install bubblewrap; `orchestrate doctor` says what else is missing)",
};
const TIERS: [Tier; 2] = [
    FULL,
    Tier {
        name: "fallback",
        confinement: Confinement::Fallback,
        need: "the fallback sandbox tier (`orchestrate doctor` says what is missing)",
    },
];

impl Tier {
    fn sandbox(self) -> Result<Sandbox, String> {
        Sandbox::with(self.confinement, Helper::default())
            .map_err(|error| format!("failed to {error}"))
    }
}

/// Creates a test of commands. It needs a sandbox tier that works on this machine; otherwise it is
/// ignored, or fails with `ORCHESTRATE_REQUIRE=all`.
pub(crate) fn confined(name: &'static str, test: fn(ToolHarness) -> Test) -> Trial {
    Trial::ignorable_test(name, move || match strongest() {
        Ok(sandbox) => run(test, sandbox.clone()).map(|()| Completion::Completed),
        Err(reason) => not_run(&format!("{TIER}: {reason}")),
    })
}

/// Creates a test of commands for each of the two tiers; one that does not work here is ignored as
/// in [`confined`].
pub(crate) fn of_tiers(name: &'static str, test: fn(ToolHarness) -> Test) -> Vec<Trial> {
    TIERS.map(|tier| of_tier(name, tier, test)).into()
}

/// Creates a test of commands for the full tier alone.
pub(crate) fn of_full_tier(name: &'static str, test: fn(ToolHarness) -> Test) -> Trial {
    of_tier(name, FULL, test)
}

fn of_tier(name: &'static str, tier: Tier, test: fn(ToolHarness) -> Test) -> Trial {
    Trial::ignorable_test(format!("{name}::{}", tier.name), move || {
        match tier.sandbox() {
            Ok(sandbox) => run(test, sandbox).map(|()| Completion::Completed),
            Err(reason) => not_run(&format!("{}: {reason}", tier.need)),
        }
    })
}

/// Ignores a test that lacks something, or fails it with `ORCHESTRATE_REQUIRE=all`.
fn not_run(lacking: &str) -> Result<Completion, Failed> {
    match env::var_os("ORCHESTRATE_REQUIRE").is_some_and(|value| value == "all") {
        true => Err(Failed::from(format!("not run: needs {lacking}"))),
        false => Ok(Completion::ignored_with(format!(
            "not run: needs {lacking}"
        ))),
    }
}

/// Returns a sandbox without confinement, for tests that start no process or only their own
/// commands.
pub(crate) fn unconfined() -> Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX
        .get_or_init(|| Sandbox::with(Confinement::Unconfined, Helper::default()).unwrap())
        .clone()
}

fn strongest() -> &'static Result<Sandbox, String> {
    static SANDBOX: OnceLock<Result<Sandbox, String>> = OnceLock::new();
    SANDBOX.get_or_init(|| {
        Sandbox::strongest(Helper::default()).map_err(|error| format!("failed to {error}"))
    })
}

fn run(test: fn(ToolHarness) -> Test, sandbox: Sandbox) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let harness = ToolHarness::new(plain_tools().unwrap(), sandbox)?;
    runtime.block_on(test(harness));
    Ok(())
}

/// Creates a harness with a single tool.
pub(crate) fn harness_of(tool: impl Tool + 'static) -> ToolHarness {
    let mut registry = ToolRegistry::new();
    let category = tool.category();
    registry.register(Arc::new(tool), category).unwrap();
    ToolHarness::new(registry, unconfined()).unwrap()
}

/// Returns a policy of the given rules.
pub(crate) fn policy(rules: &[(RuleDecision, &str)]) -> Arc<Policy> {
    let text =
        |(decision, rule): &(RuleDecision, &str)| RuleText::new(*decision, *rule, "the test");
    let tools = plain_tools().unwrap();
    Arc::new(Policy::new(&rules.iter().map(text).collect::<Vec<_>>(), tools.names()).unwrap())
}

/// Returns `kind: message` for a failure, the message alone if it has no kind, or the text of a
/// success after `ok: `.
pub(crate) fn said(output: &ToolOutput) -> String {
    match &output.error {
        Some(error) => match output.error_kind {
            Some(kind) => format!("{kind:?}: {error}"),
            None => error.clone(),
        },
        None => format!("ok: {}", output.text()),
    }
}

/// Requires that an output's text begins so.
#[track_caller]
pub(crate) fn begins(output: &ToolOutput, text: &str) {
    assert!(output.text().starts_with(text), "{}", output.text());
}

/// Requires that an output's text contains this.
#[track_caller]
pub(crate) fn says(output: &ToolOutput, text: &str) {
    assert!(output.text().contains(text), "{}", output.text());
}

/// Requires that a call failed for this reason.
#[track_caller]
pub(crate) fn fails(output: &ToolOutput, reason: &str) {
    assert_eq!(output.error.as_deref(), Some(reason), "{}", output.text());
}

/// A call of a table, and what is expected of it.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) expected: &'static str,
}

/// Reads a table of two lines for each call: the tool with its arguments, and what is expected.
pub(crate) fn listed_calls(table: &'static str) -> Vec<Call> {
    let lines: Vec<&str> = table.trim().lines().collect();
    let call = |pair: &[&'static str]| {
        let (tool, arguments) = pair[0].split_once(' ').unwrap();
        Call {
            tool,
            arguments: serde_json::from_str(arguments).unwrap(),
            expected: pair[1].trim(),
        }
    };
    lines.chunks(2).map(call).collect()
}
