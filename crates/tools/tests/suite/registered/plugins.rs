//! Tests of tools and plugins that a program adds: they are like the built-in ones, and what is
//! wrong with one of them is refused, or fails alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::policy::tool_extensions::{PluginTools, ToolExtensions};
use orchestrate_core::policy::{Permission, Policy, RuleDecision, RuleText};
use orchestrate_sandbox::Sandbox;
use orchestrate_tool_testing::conformance::{Specimen, check};
use orchestrate_tool_testing::harness::{Recorded, ToolHarness};
use orchestrate_tools::{
    Answer, CallSite, Category, ErrorKind, Extensions, Plugin, PluginError, Prepared, PromptFile,
    Tool, ToolContext, ToolError, ToolPlugin, ToolProperties, ToolRegistry, plain_tools,
};
use serde_json::{Value, json};

use crate::support::{calls, said, unconfined};

/// Counts the words of a file.
pub(crate) struct WordCount(Value);

impl WordCount {
    pub(crate) fn new() -> WordCount {
        WordCount(json!({
            "type": "object",
            "properties": {"path": {"type": "string", "description": "The file"}},
            "required": ["path"],
            "additionalProperties": false,
        }))
    }
}

#[async_trait]
impl Tool for WordCount {
    fn name(&self) -> &str {
        "word_count"
    }

    fn description(&self) -> &str {
        "Counts the words of a text file."
    }

    fn category(&self) -> Category {
        Category::named("words")
    }

    fn properties(&self) -> ToolProperties {
        ToolProperties {
            path_fields: &["path"],
            ..ToolProperties::new(Permission::FileRead)
        }
    }

    fn schema(&self) -> &Value {
        &self.0
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let path = arguments["path"].as_str().unwrap_or_default().to_owned();
        let count = move |files: &orchestrate_tools::Files, _: &_| {
            let (_, bytes) = files.read(&path)?;
            Ok(String::from_utf8_lossy(&bytes).split_whitespace().count())
        };
        let count = context.blocking(count).await?;
        context
            .shared()
            .value::<AtomicUsize>()
            .fetch_add(count, Ordering::SeqCst);
        Ok(Answer::new(
            format!("{count} words"),
            json!({"words": count}),
        ))
    }
}

/// A plugin whose parts are given by the test.
struct Made {
    name: &'static str,
    version: &'static str,
    initialize: fn(&Value) -> Result<(), PluginError>,
    register: fn(&mut ToolRegistry) -> Result<(), PluginError>,
}

impl ToolPlugin for Made {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> &str {
        self.version
    }

    fn initialize(&self, config: &Value) -> Result<(), PluginError> {
        (self.initialize)(config)
    }

    fn register_tools(&self, registry: &mut ToolRegistry) -> Result<(), PluginError> {
        (self.register)(registry)
    }
}

const WORDS: Made = Made {
    name: "words",
    version: "1.0.2",
    initialize: |config| match config.get("language").and_then(Value::as_str) {
        Some("en") => Ok(()),
        other => Err(format!("no language {other:?}").into()),
    },
    register: |registry| {
        registry.register(Arc::new(WordCount::new()), Category::named("words"))?;
        Ok(())
    },
};

fn words() -> Extensions {
    Extensions::load(&[], &[Plugin::configured(WORDS, json!({"language": "en"}))]).unwrap()
}

/// Returns the built-in tools with those of a program.
fn registry(extensions: &Extensions) -> ToolRegistry {
    let mut registry = plain_tools().unwrap();
    extensions.add_to(&mut registry, &|_| None).unwrap();
    registry
}

fn harness_with(tool: Odd) -> ToolHarness {
    let extensions = Extensions::load(&[Arc::new(tool) as Arc<dyn Tool>], &[]).unwrap();
    ToolHarness::new(registry(&extensions), unconfined()).unwrap()
}

pub(crate) async fn a_plugins_tools_are_like_built_in_ones(_: ToolHarness) {
    let extensions = words();
    let frozen = PluginTools {
        name: "words".to_owned(),
        version: "1.0.2".to_owned(),
        tools: vec!["word_count".to_owned()],
    };
    assert_eq!(
        extensions.frozen(),
        &ToolExtensions {
            plugins: vec![frozen],
            ..ToolExtensions::default()
        }
    );
    let registry = registry(&extensions);
    let tool = registry.resolve("Word_Count").unwrap();
    assert_eq!(
        (
            tool.name(),
            tool.to_string().as_str(),
            tool.category().as_str()
        ),
        ("word_count", "word_count", "words")
    );
    let names = |tools: Vec<&Arc<dyn Tool>>| {
        tools
            .iter()
            .map(|tool| tool.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(registry.tools(Some(&Category::named("words")))),
        ["word_count"]
    );
    assert_eq!(names(registry.search("WORDS of a text")), ["word_count"]);
    let plugin = registry.plugin_of("word_count").unwrap();
    assert_eq!(
        (plugin.name.as_str(), plugin.version.as_str()),
        ("words", "1.0.2")
    );
    assert!(registry.plugin_of("read_file").is_none());
    assert!(
        registry
            .names()
            .in_rule("Read")
            .contains(&"word_count".to_owned())
    );
    let page = orchestrate_tools::tools_reference(&registry);
    assert!(
        page.contains("## words\n\n### `word_count`\n")
            && page.contains("- plugin: `words` 1.0.2\n"),
        "{page}"
    );

    let mut harness = ToolHarness::new(registry.clone(), unconfined()).unwrap();
    harness.put("a.txt", "one two three\n").unwrap();
    harness.put("secret.txt", "four\n").unwrap();
    assert_eq!(
        said(
            &harness
                .call("word_count", json!({"file_path": "./a.txt"}))
                .await
        ),
        "ok: 3 words"
    );
    let Recorded::Started(start) = harness.recorder.records().remove(0) else {
        unreachable!()
    };
    assert_eq!(
        (start.tool.as_str(), start.arguments),
        ("word_count", json!({"path": "a.txt"}))
    );
    for rule in ["Read(secret.txt)", "word_count(secret.*)", "file_read"] {
        let text = RuleText::new(RuleDecision::Deny, rule, "the test");
        harness.scope.policy = Arc::new(Policy::new(&[text], registry.names()).unwrap());
        let denied = harness
            .call("word_count", json!({"path": "secret.txt"}))
            .await;
        assert!(
            said(&denied).starts_with("Denied: Security validation failed"),
            "{rule}: {}",
            said(&denied)
        );
    }
    assert_eq!(
        harness
            .scope
            .shared
            .value::<AtomicUsize>()
            .load(Ordering::SeqCst),
        3,
        "the run's tools share a value"
    );
}

pub(crate) async fn a_project_rewords_a_plugins_tool(_: ToolHarness) {
    let mut registry = plain_tools().unwrap();
    let text = "<tool><description>How long it is</description></tool>".to_owned();
    let file = PromptFile {
        path: "word_count.xml".to_owned(),
        text,
    };
    words()
        .add_to(&mut registry, &|name| {
            (name == "word_count").then(|| file.clone())
        })
        .unwrap();
    let tool = registry.tool("word_count").unwrap();
    assert_eq!(
        (tool.description(), tool.schema()),
        ("How long it is", WordCount::new().schema())
    );
}

/// A tool with one part that is wrong.
#[derive(Clone)]
struct Odd {
    name: &'static str,
    description: &'static str,
    schema: Value,
    how: How,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    Well,
    PanicsInName,
    PanicsInPrepare,
    BlocksInPrepare,
    Panics,
    Waits,
    Blocks,
    ChangesItsName,
}

fn odd(how: How) -> Odd {
    Odd {
        name: "odd",
        description: "Is odd.",
        schema: json!({"type": "object", "properties": {}}),
        how,
    }
}

static ASKED: AtomicUsize = AtomicUsize::new(0);

#[async_trait]
impl Tool for Odd {
    fn name(&self) -> &str {
        assert!(self.how != How::PanicsInName, "no name");
        match self.how == How::ChangesItsName && ASKED.fetch_add(1, Ordering::SeqCst) > 0 {
            true => "read_file",
            false => self.name,
        }
    }

    fn description(&self) -> &str {
        self.description
    }

    fn category(&self) -> Category {
        Category::named("odd")
    }

    fn properties(&self) -> ToolProperties {
        ToolProperties::new(Permission::None)
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        assert!(self.how != How::PanicsInPrepare, "boom");
        if self.how == How::BlocksInPrepare {
            loop {
                std::thread::park();
            }
        }
        Ok(Prepared::new(arguments))
    }

    async fn execute(&self, _: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        assert!(self.how != How::Panics, "boom");
        match self.how {
            How::Waits => std::future::pending().await,
            How::Blocks => loop {
                std::thread::park();
            },
            _ => Ok(Answer::new("fine", json!(null))),
        }
    }
}

#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
pub(crate) async fn what_cannot_be_used_is_refused_by_its_name(_: ToolHarness) {
    let well = odd(How::Well);
    let tools = [
        (
            Odd {
                name: "read_file",
                ..well.clone()
            },
            "register the tool `read_file`: the name is taken",
        ),
        (
            Odd {
                name: "Read_File",
                ..well.clone()
            },
            "register the tool `Read_File`: the name is taken",
        ),
        (
            Odd {
                name: "bash",
                ..well.clone()
            },
            "register the tool `bash`: the name is taken",
        ),
        (
            Odd {
                name: "",
                ..well.clone()
            },
            "its name is not 1 to 64 letters, digits, `_` and `-`",
        ),
        (
            Odd {
                name: "a b",
                ..well.clone()
            },
            "register the tool `a b`: its name is not",
        ),
        (
            Odd {
                description: " ",
                ..well.clone()
            },
            "register the tool `odd`: it has no description",
        ),
        (
            Odd {
                schema: json!({"type": "string"}),
                ..well.clone()
            },
            "compile the schema of the tool `odd`",
        ),
        (
            Odd {
                schema: json!({"type": "object", "properties": 3}),
                ..well.clone()
            },
            "compile the schema of the tool `odd`",
        ),
        (
            Odd {
                schema: json!({"type": "object", "x": "y".repeat(70_000)}),
                ..well
            },
            "are larger than 64 KiB",
        ),
        (odd(How::PanicsInName), "the tool panicked: no name"),
    ];
    for (tool, expected) in tools {
        let error = Extensions::load(&[Arc::new(tool) as Arc<dyn Tool>], &[])
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    // The control: the same tool under a name of its own is taken.
    let taken = Extensions::load(&[Arc::new(odd(How::Well)) as Arc<dyn Tool>], &[]).unwrap();
    assert_eq!(taken.frozen().tools, ["odd"]);
    let good = |_: &Value| Ok(());
    let fails = |config: &Value| {
        assert!(!config.is_null(), "boom");
        Ok(())
    };
    let breaks = |registry: &mut ToolRegistry| {
        assert!(!registry.tools(None).is_empty(), "boom");
        Ok(())
    };
    let twice = |registry: &mut ToolRegistry| {
        registry.register(Arc::new(odd(How::Well)), Category::MEMORY)?;
        Ok(registry.register(Arc::new(odd(How::Well)), Category::MEMORY)?)
    };
    let plugins = [
        (
            Made { ..WORDS },
            "use the plugin `words`: initialize it: no language None",
        ),
        (
            Made {
                initialize: fails,
                ..WORDS
            },
            "use the plugin `words`: the tool panicked: boom",
        ),
        (
            Made {
                initialize: good,
                register: breaks,
                ..WORDS
            },
            "the tool panicked: boom",
        ),
        (
            Made {
                initialize: good,
                register: twice,
                ..WORDS
            },
            "register its tools: register the tool `odd`: the name is taken",
        ),
        (
            Made {
                initialize: good,
                name: "no name",
                ..WORDS
            },
            "use the plugin `no name`: its name is not",
        ),
        (
            Made {
                initialize: good,
                version: "",
                ..WORDS
            },
            "use the plugin `words`: its version is not",
        ),
    ];
    for (plugin, expected) in plugins {
        let error = Extensions::load(&[], &[Plugin::new(plugin)])
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    let two = || {
        Plugin::new(Made {
            initialize: good,
            ..WORDS
        })
    };
    let error = Extensions::load(&[], &[two(), two()])
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        error,
        "use the plugin `words`: another plugin has the same name"
    );
    let one: Arc<dyn Tool> = Arc::new(WordCount::new());
    let error = Extensions::load(&[one], &[two()])
        .err()
        .unwrap()
        .to_string();
    assert_eq!(error, "register the tool `word_count`: the name is taken");
}

pub(crate) async fn a_tool_that_panics_hangs_or_lies_fails_alone(_: ToolHarness) {
    let table = [
        (How::Well, "ok: fine"),
        (How::PanicsInPrepare, "Execution: the tool panicked: boom"),
        (How::BlocksInPrepare, "Timeout: timed out after 1 s"),
        (How::Panics, "Execution: the tool panicked: boom"),
        (How::Waits, "Timeout: timed out after 1 s"),
        (How::Blocks, "Timeout: timed out after 1 s"),
        // Its permission and its records are those of the name that it was added under.
        (How::ChangesItsName, "ok: fine"),
    ];
    for (how, expected) in table {
        let mut harness = harness_with(odd(how));
        harness.put("a.txt", "one\n").unwrap();
        harness.scope.limits.max_command_timeout = match how {
            How::Waits | How::Blocks => Duration::from_millis(20),
            _ => Duration::from_secs(60),
        };
        assert_eq!(said(&harness.call("odd", json!({})).await), expected);
        let other = harness.call("read_file", json!({"path": "a.txt"})).await;
        assert!(other.success, "{}", said(&other));
        assert_eq!(harness.recorder.ends().len(), 2);
        let tools: Vec<String> = harness
            .recorder
            .records()
            .into_iter()
            .filter_map(|record| match record {
                Recorded::Started(start) => Some(start.tool),
                Recorded::Ended(_) => None,
            })
            .collect();
        assert_eq!(tools, ["odd", "read_file"]);
    }
}

pub(crate) async fn a_tool_that_never_ends_is_stopped_with_its_agent(_: ToolHarness) {
    let harness = harness_with(odd(How::Blocks));
    let call = harness.call("odd", json!({}));
    let stop = async {
        while harness.recorder.records().is_empty() {
            tokio::task::yield_now().await;
        }
        harness.scope.cancel.cancel();
    };
    let (output, ()) = tokio::join!(call, stop);
    assert!(
        said(&output).starts_with("Interrupted: "),
        "{}",
        said(&output)
    );
}

pub(crate) async fn calls_that_never_end_are_not_made_again_and_again(_: ToolHarness) {
    let mut harness = harness_with(odd(How::Blocks));
    harness.scope.limits.max_command_timeout = Duration::from_millis(1);
    let refused = "Execution: 16 earlier calls of this program's own tools have not ended yet";
    // The time of a call may pass before its thread has begun, which then keeps nothing.
    let mut blocked = 0;
    loop {
        let answer = said(&harness.call("odd", json!({})).await);
        if answer == refused {
            break;
        }
        blocked += 1;
        assert_eq!(
            (answer.as_str(), blocked < 1_000),
            ("Timeout: timed out after 1 s", true)
        );
    }
    assert!(blocked >= 16, "{blocked}");
    // A tool that waits gives its thread back.
    let mut harness = harness_with(odd(How::Waits));
    harness.scope.limits.max_command_timeout = Duration::from_millis(1);
    for _ in 0..40 {
        calls! { harness; odd {} => "Timeout: timed out after 1 s"; }
        while Arc::strong_count(&harness.scope.worktree) > 1 {
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) async fn a_plugin_conforms(harness: ToolHarness) {
    let registry = registry(&words());
    let prepare = |harness: &ToolHarness| harness.put("a.txt", "one two\n");
    let specimen = Specimen {
        tool: Arc::clone(registry.tool("word_count").unwrap()),
        valid: json!({"path": "a.txt"}),
        missing: Some(json!({"path": "nowhere"})),
        naming_path: &|_| Vec::new(),
        prepare: &prepare,
    };
    assert_eq!(
        check(&specimen, &harness.scope.sandbox).await.unwrap(),
        Vec::<String>::new()
    );
}

pub(crate) async fn a_closed_sandbox_starts_no_program(_: ToolHarness) {
    let mut harness = ToolHarness::new(plain_tools().unwrap(), Sandbox::closed()).unwrap();
    harness.scope.limits.longest_retry_wait = Duration::ZERO;
    let output = harness
        .call("run_shell_command", json!({"command": "touch made"}))
        .await;
    assert!(
        output.error_kind == Some(ErrorKind::Execution) && output.exit_code.is_none(),
        "{}",
        said(&output)
    );
    assert!(!harness.path().join("made").exists());
}
