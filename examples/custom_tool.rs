//! Adds a tool of the program's own for agents, as part of a plugin, and observes what they do with
//! it.
//!
//! The tests at the end hold the tool to the same requirements as the built-in ones; type `cargo
//! test --example custom_tool`. To see an agent use it, type `cargo run --example custom_tool`. It
//! needs no key: the replies are scripted, and everything else is the real engine.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]
#![expect(
    clippy::disallowed_methods,
    reason = "an example makes its own sample project"
)]

mod sample;

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_coordinator::{
    Answer, Category, Coordinator, PlanInput, Plugin, PluginError, Settings, Tool, ToolContext,
    ToolError, ToolPlugin, ToolProperties, ToolRegistry, run_helper_if_asked,
};
use orchestrate_core::Task;
use orchestrate_core::policy::Permission;
use orchestrate_model::ScriptedModel;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The arguments of a call. The executor has checked them against the schema before the tool runs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, relative to the worktree
    path: String,
    /// Count only words with at least this many letters
    #[serde(default)]
    #[schemars(range(max = 100))]
    at_least: usize,
}

/// Counts the words of a file. One instance serves all agents at once, so it holds nothing that
/// belongs to a call.
struct WordCount {
    schema: Value,
}

impl WordCount {
    fn new() -> WordCount {
        WordCount {
            schema: schemars::schema_for!(Arguments).to_value(),
        }
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
        Category::FILES
    }

    // What the role of the calling agent must grant: rules about `Read` hold for the tool because
    // of it. The executor rewrites the arguments that are paths, and refuses those outside the
    // worktree.
    fn properties(&self) -> ToolProperties {
        ToolProperties {
            path_fields: &["path"],
            ..ToolProperties::new(Permission::FileRead)
        }
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { path, at_least } = serde_json::from_value(arguments)
            .map_err(|error| ToolError::Retry(error.to_string()))?;
        // Files are opened below the agent's worktree, on a thread that may block. A missing file
        // is a `Retry`, which the model can correct; any other failure of the disk is a `File`
        // error.
        let (_, bytes) = context.blocking(move |files, _| files.read(&path)).await?;
        let text = String::from_utf8_lossy(&bytes);
        let words = text
            .split_whitespace()
            .filter(|word| word.chars().count() >= at_least)
            .count();
        Ok(Answer::new(
            format!("{words} words"),
            json!({ "words": words }),
        ))
    }
}

/// A plugin brings several tools, with a name and a version that every run records.
struct Words;

impl ToolPlugin for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn initialize(&self, _config: &Value) -> Result<(), PluginError> {
        Ok(())
    }

    fn register_tools(&self, registry: &mut ToolRegistry) -> Result<(), PluginError> {
        registry.register(Arc::new(WordCount::new()), Category::FILES)?;
        Ok(())
    }
}

/// A role that may use the tool.
const ROLE: &str = "---\nname: counter\ndescription: Counts words.\ntools: word_count, write_file\n---\nCount them.\n";

/// The model's replies: the agent counts, writes the number down, and ends.
const SCRIPT: &str = r#"
{"when": {"turn": 1}, "reply": {"tool_calls": [{"name": "word_count", "arguments": {"path": "README.md"}}]}}
{"when": {"turn": 2}, "reply": {"tool_calls": [{"name": "write_file", "arguments": {"path": "words.txt", "content": "3\n"}}]}}
{"reply": {"text": "I counted the words."}}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The sandbox starts this program again as its helper, so this comes first.
    run_helper_if_asked();

    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    sample::make(
        &project,
        &[
            ("README.md", "a sample project\n"),
            ("agents/counter.md", ROLE),
        ],
    )?;

    let mut settings = Settings::new(folder.path().join("state"));
    settings.model = Some(Arc::new(ScriptedModel::parse("example", SCRIPT)?));
    settings.run.agent = "counter".to_owned();
    settings.plugins = vec![Plugin::new(Words)];
    settings.on_tool_start = Some(Arc::new(|start| {
        println!("{} calls {}({})", start.agent, start.name, start.arguments)
    }));
    settings.on_tool_complete = Some(Arc::new(|end| {
        println!("{} got {:?}", end.agent, end.result)
    }));
    let coordinator = Coordinator::open(&project, settings)?;

    let task = Task {
        id: "count".into(),
        title: "Count the words of README.md".to_owned(),
        ..Task::default()
    };
    let report = coordinator
        .run(PlanInput {
            tasks: vec![task],
            ..PlanInput::default()
        })
        .await?;
    println!("the result is on {}:", report.run_id.integration_branch());
    println!(
        "{}",
        sample::git(
            &project,
            &[
                "show",
                &format!("{}:words.txt", report.run_id.integration_branch())
            ]
        )?
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use orchestrate_sandbox::Sandbox;
    use orchestrate_tool_testing::conformance::{Specimen, check};
    use orchestrate_tool_testing::harness::ToolHarness;
    use orchestrate_tools::{ErrorKind, Extensions};

    use super::*;

    fn harness() -> ToolHarness {
        let mut registry = ToolRegistry::new();
        let extensions = Extensions::load(&[], &[Plugin::new(Words)]).unwrap();
        extensions.add_to(&mut registry, &|_| None).unwrap();
        // The tool starts no program.
        ToolHarness::new(registry, Sandbox::closed()).unwrap()
    }

    #[tokio::test]
    async fn words_are_counted() {
        let harness = harness();
        harness.put("a.txt", "one three five\n").unwrap();
        let output = harness
            .call("word_count", json!({"path": "a.txt", "at_least": 4}))
            .await;
        assert_eq!(
            (output.text().as_str(), output.data["words"].as_u64()),
            ("2 words", Some(2))
        );
    }

    #[tokio::test]
    async fn a_call_that_cannot_work_is_explained() {
        let harness = harness();
        let table = [
            (
                json!({"path": "nowhere"}),
                ErrorKind::Retry,
                "file not found: nowhere",
            ),
            (
                json!({"at_least": 4}),
                ErrorKind::Retry,
                "Invalid parameters: `path` is required but missing",
            ),
            (
                json!({"path": "../secret"}),
                ErrorKind::Denied,
                "Security validation failed",
            ),
        ];
        for (arguments, kind, begin) in table {
            let output = harness.call("word_count", arguments).await;
            let error = output.error.unwrap_or_default();
            assert!(
                output.error_kind == Some(kind) && error.starts_with(begin),
                "{error}"
            );
        }
    }

    #[tokio::test]
    async fn it_meets_the_requirements_on_every_tool() {
        let specimen = Specimen {
            tool: Arc::new(WordCount::new()),
            valid: json!({"path": "a.txt"}),
            missing: Some(json!({"path": "nowhere"})),
            naming_path: &|_| Vec::new(),
            prepare: &|harness| harness.put("a.txt", "one two\n"),
        };
        assert_eq!(
            check(&specimen, &Sandbox::closed()).await.unwrap(),
            Vec::<String>::new()
        );
    }
}
