//! The requirements on every tool, as one function that checks any tool.
//!
//! Requires the feature `harness`. It calls the tool only through the executor, as an agent does.
//! That a tool is asynchronous, and that nothing runs it but the executor, is required by types:
//! [`Tool`] and [`orchestrate_tools::Permit`].

use std::fmt;
use std::fs;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::ToolCall;
use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::{Grant, Policy, RuleDecision, RuleText};
use orchestrate_sandbox::Sandbox;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber as _;
use tracing::{Level, span};

use crate::harness::{Recorded, ToolHarness};
use orchestrate_tools::{
    Answer, CallOutcome, CallSite, Category, ErrorKind, MIN_RESULT_TOKENS, Prepared, Prompt,
    PromptFile, Tool, ToolContext, ToolError, ToolOutput, ToolProperties, ToolRegistry,
    allowed_bytes, check_schema, is_name,
};

/// A tool with the calls to check it with.
pub struct Specimen<'a> {
    /// The tool to check.
    pub tool: Arc<dyn Tool>,
    /// Arguments of a call that succeeds once `prepare` has run.
    pub valid: Value,
    /// Arguments that name something that does not exist; `None` if the tool has no such arguments.
    pub missing: Option<Value>,
    /// Builds calls that name a path in a longer argument; none if every path is an argument by
    /// itself.
    pub naming_path: &'a dyn Fn(&str) -> Vec<Value>,
    /// Sets up the worktree for the valid call.
    pub prepare: &'a dyn Fn(&ToolHarness) -> io::Result<()>,
}

/// Checks a tool against all requirements and returns those that it violates.
///
/// # Errors
/// Fails if the check itself cannot run.
pub async fn check(specimen: &Specimen<'_>, sandbox: &Sandbox) -> io::Result<Vec<String>> {
    let mut faults = Faults::default();
    if let Err(error) = check_schema(specimen.tool.name(), specimen.tool.schema()) {
        faults.0.push(format!("its schema is not valid: {error}"));
        return Ok(faults.0);
    }
    documented(specimen, &mut faults);
    path_first(specimen, &mut faults);
    reworded(specimen, &mut faults);
    succeeds(specimen, sandbox, &mut faults).await?;
    refuses(specimen, sandbox, &mut faults).await?;
    stays_inside(specimen, sandbox, &mut faults).await?;
    classifies(specimen, sandbox, &mut faults).await?;
    passes_errors_on(specimen, sandbox, &mut faults).await?;
    serves_several(specimen, sandbox, &mut faults).await?;
    stops(specimen, sandbox, &mut faults).await?;
    Ok(faults.0)
}

#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn unless(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.0.push(fault());
        }
    }
}

fn documented(specimen: &Specimen<'_>, faults: &mut Faults) {
    let tool = &specimen.tool;
    let name = tool.name();
    faults.unless(is_name(name), || {
        format!("the name {name:?} is not one that all providers accept")
    });
    faults.unless(tool.to_string() == name, || {
        "it is not shown by its name".to_owned()
    });
    faults.unless(!tool.description().trim().is_empty(), || {
        "it has no description".to_owned()
    });
    faults.unless(tool.help().contains(name), || {
        "its help does not name it".to_owned()
    });
    let is_object = tool.schema().get("type") == Some(&json!("object"));
    faults.unless(is_object, || "its schema is not of an object".to_owned());
    let valid = jsonschema::is_valid(tool.schema(), &specimen.valid);
    faults.unless(valid, || {
        "its schema does not take the valid arguments".to_owned()
    });
}

/// Checks that a file tool has a path, which is its first parameter if it is required, or finds its
/// paths in a text.
fn path_first(specimen: &Specimen<'_>, faults: &mut Faults) {
    if specimen.tool.category() != Category::FILES {
        return;
    }
    let schema = specimen.tool.schema();
    let Some(path) = specimen
        .tool
        .path_fields()
        .first()
        .map(|path| (*path).to_owned())
    else {
        let site = CallSite {
            worktree: "/worktree".into(),
            policy: Arc::default(),
        };
        let prepared = specimen.tool.prepare(&site, specimen.valid.clone());
        let found = prepared.is_ok_and(|prepared| !prepared.effects.is_empty());
        return faults.unless(found, || "a file tool without a path".to_owned());
    };
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|names| names.contains(&json!(path)));
    let first = schema
        .get("properties")
        .and_then(Value::as_object)
        .and_then(|properties| properties.keys().next());
    faults.unless(!required || first == Some(&path), || {
        "its path is not first".to_owned()
    });
}

/// Checks that a project's file replaces the description but not the schema, and that a malformed
/// file is an error.
fn reworded(specimen: &Specimen<'_>, faults: &mut Faults) {
    let own = Prompt {
        description: specimen.tool.description().to_owned(),
        parameters: specimen.tool.schema().clone(),
    };
    let other = own.clone().reworded(&prompt_file(
        "<tool><description>Other words</description></tool>",
    ));
    let replaced = other.is_ok_and(|other| {
        other.description == "Other words" && other.parameters == own.parameters
    });
    faults.unless(replaced, || {
        "a project's words do not replace its own alone".to_owned()
    });
    faults.unless(own.reworded(&prompt_file("<broken")).is_err(), || {
        "a broken file is passed over".to_owned()
    });
}

fn prompt_file(text: &str) -> PromptFile {
    PromptFile {
        path: "project.xml".to_owned(),
        text: text.to_owned(),
    }
}

async fn succeeds(
    specimen: &Specimen<'_>,
    sandbox: &Sandbox,
    faults: &mut Faults,
) -> io::Result<()> {
    let (harness, lines) = (harness(specimen, sandbox)?, Lines::default());
    let output = call(&harness, specimen, specimen.valid.clone())
        .with_subscriber(lines.clone())
        .await;
    is_logged(specimen, &lines, faults);
    faults.unless(output.success, || {
        format!("the valid call failed: {:?}", output.error)
    });
    faults.unless(!output.text().trim().is_empty(), || {
        "its result is empty".to_owned()
    });
    paired(&harness, "a call that succeeds", faults);
    Ok(())
}

async fn refuses(
    specimen: &Specimen<'_>,
    sandbox: &Sandbox,
    faults: &mut Faults,
) -> io::Result<()> {
    let harness = harness(specimen, sandbox)?;
    let mut unknown = specimen.valid.clone();
    if let Some(fields) = unknown.as_object_mut() {
        fields.insert("no_such_parameter".to_owned(), json!(1));
    }
    let output = call(&harness, specimen, unknown).await;
    let started = output
        .error
        .as_deref()
        .is_some_and(|error| error.starts_with("Invalid parameters"));
    faults.unless(started, || {
        format!("an unknown parameter is answered with {:?}", output.error)
    });
    expect(&output, ErrorKind::Retry, "an unknown parameter", faults);
    if let Some(missing) = &specimen.missing {
        let output = call(&harness, specimen, missing.clone()).await;
        expect(&output, ErrorKind::Retry, "what does not exist", faults);
        faults.unless(output.text().starts_with("ERROR: "), || {
            "a failure does not read `ERROR: …`".to_owned()
        });
    }

    let stopped = self::harness(specimen, sandbox)?;
    stopped.scope.cancel.cancel();
    let output = call(&stopped, specimen, specimen.valid.clone()).await;
    expect(&output, ErrorKind::Interrupted, "a cancelled call", faults);
    paired(&harness, "a call that fails", faults);
    paired(&stopped, "a cancelled call", faults);

    let mut full = self::harness(specimen, sandbox)?;
    full.scope.result_tokens = 0;
    let output = call(&full, specimen, specimen.valid.clone()).await;
    let exceeded = output
        .error
        .as_deref()
        .is_some_and(|error| error.starts_with("Resource limits exceeded"));
    faults.unless(exceeded, || {
        format!("no room for a result is answered with {:?}", output.error)
    });

    let mut ungranted = self::harness(specimen, sandbox)?;
    ungranted.scope.grant = Arc::new(Grant::of_tools([]));
    let output = call(&ungranted, specimen, specimen.valid.clone()).await;
    let refused = output
        .error
        .as_deref()
        .is_some_and(|error| error.starts_with("Security validation failed"));
    faults.unless(refused, || {
        format!("a role without it is answered with {:?}", output.error)
    });
    expect(&output, ErrorKind::Denied, "a role without it", faults);
    Ok(())
}

async fn stays_inside(
    specimen: &Specimen<'_>,
    sandbox: &Sandbox,
    faults: &mut Faults,
) -> io::Result<()> {
    for hostile in [
        "../canary",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        ".git/config",
        "out/canary",
        "out",
    ] {
        for arguments in naming(specimen, hostile) {
            let harness = harness(specimen, sandbox)?;
            let canary = harness.outside().join("canary");
            fs::write(&canary, "untouched")?;
            std::os::unix::fs::symlink(harness.outside(), harness.path().join("out"))?;
            let output = call(&harness, specimen, arguments.clone()).await;
            // A tool may delete or describe the link itself.
            let is_link_itself =
                hostile == "out" && matches!(specimen.tool.name(), "delete_file" | "get_file_info");
            if !is_link_itself {
                let is_kept = output.error_kind == Some(ErrorKind::Denied)
                    || (hostile == "out" && !output.success);
                faults.unless(is_kept, || {
                    format!(
                        "{arguments} is answered with {:?}: {:?}",
                        output.error_kind, output.error
                    )
                });
            }
            let whole =
                fs::read_to_string(&canary)? == "untouched" && !output.text().contains("untouched");
            faults.unless(whole, || format!("{arguments} reached a file outside"));
        }
    }
    Ok(())
}

/// Returns the valid arguments with this path in the place of each path.
fn naming(specimen: &Specimen<'_>, path: &str) -> Vec<Value> {
    let with_field = |field: &str| {
        let mut arguments = specimen.valid.clone();
        if let Some(fields) = arguments.as_object_mut() {
            fields.insert(field.to_owned(), json!(path));
        }
        arguments
    };
    let of_fields = specimen.tool.path_fields().iter().copied().map(with_field);
    of_fields.chain((specimen.naming_path)(path)).collect()
}

/// The size of the mark of what is left out.
const MARK_BYTES: usize = 200;
/// How long a call may take to end once it is cancelled.
const PATIENCE: Duration = Duration::from_secs(60);

/// Checks that I/O errors of a file tool have their class: `File`, or `Retry` if the argument is
/// what is wrong.
async fn classifies(
    specimen: &Specimen<'_>,
    sandbox: &Sandbox,
    faults: &mut Faults,
) -> io::Result<()> {
    if specimen.tool.category() != Category::FILES {
        return Ok(());
    }
    let long = "n".repeat(300);
    for path in ["a_folder", "a_file/below", long.as_str()] {
        for arguments in naming(specimen, path) {
            let harness = harness(specimen, sandbox)?;
            harness.put("a_folder/inside.txt", "inside\n")?;
            harness.put("a_file", "a file\n")?;
            let output = call(&harness, specimen, arguments).await;
            let is_classed = matches!(
                output.error_kind,
                None | Some(ErrorKind::File | ErrorKind::Retry)
            );
            faults.unless(is_classed, || {
                format!(
                    "an I/O error is answered with {:?}: {:?}",
                    output.error_kind, output.error
                )
            });
        }
    }
    Ok(())
}

/// A tool with the facts of another one, which fails.
struct Failing {
    of: Arc<dyn Tool>,
    error: Option<ToolError>,
}

#[async_trait]
impl Tool for Failing {
    fn name(&self) -> &str {
        self.of.name()
    }

    fn description(&self) -> &str {
        self.of.description()
    }

    fn category(&self) -> Category {
        self.of.category()
    }

    fn properties(&self) -> ToolProperties {
        ToolProperties {
            path_fields: self.of.path_fields(),
            ..ToolProperties::new(self.of.permission())
        }
    }

    fn schema(&self) -> &Value {
        self.of.schema()
    }

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let of = self.of.prepare(site, arguments)?;
        let mut prepared = Prepared::new(of.arguments);
        (prepared.effects, prepared.fault) = (of.effects, of.fault);
        Ok(prepared)
    }

    async fn execute(&self, _: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        match &self.error {
            Some(error) => Err(error.clone()),
            // A panic without a message on standard error.
            None => std::panic::resume_unwind(Box::new("a bug")),
        }
    }
}

/// Checks that the classes of errors reach the caller unchanged under the tool's name, and that a
/// panic is an `Execution` failure.
async fn passes_errors_on(
    specimen: &Specimen<'_>,
    sandbox: &Sandbox,
    faults: &mut Faults,
) -> io::Result<()> {
    let file = ToolError::File {
        path: "p".to_owned(),
        reason: "the disk is full".to_owned(),
    };
    let table = [
        (
            Some(ToolError::Retry("again".to_owned())),
            ErrorKind::Retry,
            "again",
        ),
        (Some(file), ErrorKind::File, "the disk is full: p"),
        (
            Some(ToolError::Execution("broken".to_owned())),
            ErrorKind::Execution,
            "broken",
        ),
        (None, ErrorKind::Execution, "the tool panicked: a bug"),
    ];
    for (error, kind, text) in table {
        let failing: Arc<dyn Tool> = Arc::new(Failing {
            of: Arc::clone(&specimen.tool),
            error,
        });
        let harness = harness(
            &Specimen {
                tool: failing,
                valid: specimen.valid.clone(),
                missing: None,
                ..*specimen
            },
            sandbox,
        )?;
        let output = call(&harness, specimen, specimen.valid.clone()).await;
        let is_same = output.error_kind == Some(kind) && output.error.as_deref() == Some(text);
        faults.unless(is_same, || {
            format!(
                "{kind:?} arrives as {:?}: {:?}",
                output.error_kind, output.error
            )
        });
        faults.unless(output.text() == format!("ERROR: {text}"), || {
            format!("a failure reads {:?}", output.text())
        });
        paired(&harness, "a call that fails", faults);
    }
    Ok(())
}

/// Checks that a call was logged as `name(arguments)`.
fn is_logged(specimen: &Specimen<'_>, lines: &Lines, faults: &mut Faults) {
    let begin = format!("{}(", specimen.tool.name());
    let lines = lines.0.lock();
    let names = || {
        specimen
            .valid
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
    };
    let is_call = |line: &&String| {
        line.starts_with(&begin) && names().all(|name| line.contains(name.as_str()))
    };
    faults.unless(lines.iter().filter(is_call).count() == 1, || {
        format!("a call is logged as {lines:?}")
    });
}

/// The messages that are logged for users.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == Level::INFO
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Message(self));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Message<'a>(&'a Lines);

impl Visit for Message<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.0.lock().push(format!("{value:?}"));
        }
    }
}

/// Checks that one instance serves several agents at once, each within the size of results that it
/// has room for.
async fn serves_several(
    specimen: &Specimen<'_>,
    sandbox: &Sandbox,
    faults: &mut Faults,
) -> io::Result<()> {
    let (large, mut small) = (harness(specimen, sandbox)?, harness(specimen, sandbox)?);
    small.scope.result_tokens = MIN_RESULT_TOKENS;
    let calls = [&large, &small].map(|harness| call(harness, specimen, specimen.valid.clone()));
    let [first, second] = calls;
    let (first, second) = tokio::join!(first, second);
    let bytes = second.text().len();
    let allowed = allowed_bytes(MIN_RESULT_TOKENS) + MARK_BYTES;
    faults.unless(bytes <= allowed, || {
        format!("a result of {bytes} bytes where {allowed} are allowed")
    });
    for output in [first, second] {
        faults.unless(output.success, || {
            format!("a call beside another one failed: {:?}", output.error)
        });
    }
    Ok(())
}

/// Checks that a call that is cancelled while it runs ends.
async fn stops(specimen: &Specimen<'_>, sandbox: &Sandbox, faults: &mut Faults) -> io::Result<()> {
    let stopped = harness(specimen, sandbox)?;
    let stop = async {
        while stopped.recorder.records().is_empty() {
            tokio::task::yield_now().await;
        }
        stopped.scope.cancel.cancel();
    };
    let ended = async { tokio::join!(call(&stopped, specimen, specimen.valid.clone()), stop).0 };
    match tokio::time::timeout(PATIENCE, ended).await {
        Ok(output) if output.success => {}
        Ok(output) => expect(
            &output,
            ErrorKind::Interrupted,
            "a call that is cancelled while it runs",
            faults,
        ),
        Err(_) => faults
            .0
            .push("a call that is cancelled while it runs does not end".to_owned()),
    }
    paired(&stopped, "a call that is cancelled while it runs", faults);
    Ok(())
}

fn harness(specimen: &Specimen<'_>, sandbox: &Sandbox) -> io::Result<ToolHarness> {
    let mut registry = ToolRegistry::new();
    let tool = Arc::clone(&specimen.tool);
    let category = tool.category();
    registry
        .register(tool, category)
        .map_err(io::Error::other)?;
    let rule = RuleText::new(RuleDecision::Allow, specimen.tool.name(), "the check");
    let policy = Policy::new(&[rule], registry.names());
    let mut harness = ToolHarness::new(registry, sandbox.clone())?;
    // What asks by default runs for a user who lets it.
    harness.scope.policy =
        Arc::new(policy.map_err(|errors| io::Error::other(format!("{errors:?}")))?);
    (specimen.prepare)(&harness)?;
    Ok(harness)
}

async fn call(harness: &ToolHarness, specimen: &Specimen<'_>, arguments: Value) -> ToolOutput {
    let call: ToolCall = harness.make_call(specimen.tool.name(), arguments);
    match harness.executor.call(&call, &harness.scope).await {
        CallOutcome::Done(output) => output,
        CallOutcome::NeedsApproval { .. } => ToolOutput::failed(
            &call.id,
            &orchestrate_tools::ToolError::denied("parked", "it parks"),
        ),
        CallOutcome::Waits => ToolOutput::failed(
            &call.id,
            &orchestrate_tools::ToolError::denied("waits", "it waits"),
        ),
    }
}

fn expect(output: &ToolOutput, kind: ErrorKind, what: &str, faults: &mut Faults) {
    faults.unless(output.error_kind == Some(kind), || {
        format!(
            "{what}: expected {kind:?}, got {:?}: {:?}",
            output.error_kind, output.error
        )
    });
}

/// Checks that every recorded start is followed by its end, and that nothing else is recorded.
fn paired(harness: &ToolHarness, what: &str, faults: &mut Faults) {
    let mut open = None;
    for record in harness.recorder.records() {
        match (record, open.take()) {
            (Recorded::Started(start), None) => open = Some(start.call),
            (Recorded::Ended(end), Some(call)) if end.call == call => {}
            (other, _) => faults
                .0
                .push(format!("{what} is recorded out of order: {other:?}")),
        }
    }
    faults.unless(open.is_none(), || {
        format!("{what} has a start without an end")
    });
}
