//! Checks every built-in tool with the conformance suite.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::policy::Permission;
use orchestrate_tool_testing::conformance::{Specimen, check};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{
    Answer, Category, Tool, ToolContext, ToolError, ToolProperties, builtin_tools, tools_reference,
};
use serde_json::{Value, json};

use super::web;

/// Returns each tool's name, arguments that succeed, and arguments that name something that does
/// not exist.
#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
fn specimens() -> Vec<(&'static str, Value, Option<Value>)> {
    let missing = |path: &str| Some(json!({ "path": path }));
    vec![
        ("read_file", json!({"path": "a.txt"}), missing("nowhere")),
        ("write_file", json!({"path": "b.txt", "content": "x"}), None),
        (
            "update_file",
            json!({"path": "a.txt", "old": "one", "new": "1"}),
            Some(json!({"path": "nowhere", "old": "one", "new": "1"})),
        ),
        (
            "append_file",
            json!({"path": "a.txt", "content": "three\n"}),
            None,
        ),
        (
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch"}),
            Some(json!({"patch": "*** Begin Patch\n*** Delete File: nowhere\n*** End Patch"})),
        ),
        (
            "copy_file",
            json!({"src": "a.txt", "dst": "b.txt"}),
            Some(json!({"src": "nowhere", "dst": "b.txt"})),
        ),
        (
            "move_file",
            json!({"src": "a.txt", "dst": "b.txt"}),
            Some(json!({"src": "nowhere", "dst": "b.txt"})),
        ),
        (
            "get_file_info",
            json!({"path": "a.txt"}),
            missing("nowhere"),
        ),
        ("delete_file", json!({"path": "a.txt"}), missing("nowhere")),
        ("list_directory", json!({"path": "."}), missing("nowhere")),
        (
            "create_directory",
            json!({"path": "d/e"}),
            Some(json!({"path": "x/y", "parents": false})),
        ),
        (
            "search_files",
            json!({"pattern": "*.txt"}),
            Some(json!({"pattern": "*", "path": "nowhere"})),
        ),
        ("run_tests", json!({}), None),
        ("run_linter", json!({}), Some(json!({"files": ["nowhere"]}))),
        (
            "run_type_checker",
            json!({}),
            Some(json!({"files": ["nowhere"]})),
        ),
        (
            "run_formatter",
            json!({"files": ["src/lib.rs"]}),
            Some(json!({"files": ["nowhere"]})),
        ),
        (
            "grep",
            json!({"pattern": "one"}),
            Some(json!({"pattern": "one", "path": "nowhere"})),
        ),
        (
            "run_shell_command",
            json!({"command": "true"}),
            Some(json!({"command": "true", "cwd": "nowhere"})),
        ),
        (
            "react",
            json!({"action": "think", "note": "first this"}),
            None,
        ),
        (
            "todo_write",
            json!({"items": [{"content": "Begin", "status": "in_progress"}]}),
            None,
        ),
        (
            "read_plan",
            json!({"section": "Goal"}),
            Some(json!({"section": "nowhere"})),
        ),
        (
            "read_skill",
            json!({"name": "release"}),
            Some(json!({"name": "nowhere"})),
        ),
        (
            "review_verdict",
            json!({"verdict": "approve", "comment": "fine"}),
            Some(json!({"verdict": "changes", "changes": [{"task": "T9", "text": "mend it"}]})),
        ),
        (
            "send_message_to_agent",
            json!({"agent_id": "T2", "message": "hello"}),
            Some(json!({"agent_id": "T9", "message": "hello"})),
        ),
        (
            "spawn_child_agent",
            json!({"task": "Write it", "context": {"port": 4711}, "budget": 5000}),
            Some(json!({"task": "Write it", "role": "nobody"})),
        ),
        (
            "terminate_agent",
            json!({"agent_id": "T2"}),
            Some(json!({"agent_id": "T9"})),
        ),
        (
            "get_agent_status",
            json!({"agent_id": "T2"}),
            Some(json!({"agent_id": "T9"})),
        ),
        ("list_active_agents", json!({}), None),
        (
            "wait_for_agents",
            json!({"agent_ids": ["T2"], "timeout": 5}),
            Some(json!({"agent_ids": ["T9"]})),
        ),
        (
            "aggregate_agent_results",
            json!({"agent_ids": ["T2", "T3"]}),
            Some(json!({"agent_ids": ["T9"]})),
        ),
    ]
}

/// Returns the same of the tools for git.
fn git_specimens() -> Vec<(&'static str, Value, Option<Value>)> {
    vec![
        ("git_status", json!({}), None),
        ("git_diff", json!({}), None),
        ("git_log", json!({"limit": 1}), None),
        (
            "git_commit",
            json!({"message": "Begin"}),
            Some(json!({"message": "nothing"})),
        ),
        (
            "git_add",
            json!({"files": ["a.txt"]}),
            Some(json!({"files": ["nowhere"]})),
        ),
        ("git_stash", json!({}), Some(json!({"action": "pop"}))),
        (
            "git_branch",
            json!({"action": "create", "branch_name": "try"}),
            Some(json!({"action": "delete", "branch_name": "nowhere"})),
        ),
        (
            "git_checkout",
            json!({"branch_or_commit": "HEAD", "paths": ["a.txt"]}),
            Some(json!({"branch_or_commit": "nowhere"})),
        ),
        (
            "git_merge",
            json!({"branch": "T2"}),
            Some(json!({"branch": "nowhere"})),
        ),
        (
            "git_push",
            json!({"branch": "try/one"}),
            Some(json!({"remote": "nowhere"})),
        ),
        (
            "git_pull",
            json!({"remote": "origin"}),
            Some(json!({"remote": "nowhere"})),
        ),
    ]
}

/// Returns the same of the tools that understand code.
fn analysis_specimens() -> Vec<(&'static str, Value, Option<Value>)> {
    let missing = |path: &str| Some(json!({ "path": path }));
    vec![
        (
            "analyze_code_structure",
            json!({"path": "src/lib.rs"}),
            missing("nowhere"),
        ),
        (
            "analyze_dependencies",
            json!({"path": "src"}),
            missing("nowhere"),
        ),
        (
            "find_code_patterns",
            json!({"pattern": "fn $F() { }"}),
            Some(json!({"pattern": "f()", "path": "nowhere"})),
        ),
        (
            "analyze_performance",
            json!({"profiling_data": "main;work 3"}),
            missing("nowhere"),
        ),
        (
            "find_similar_code",
            json!({"code_snippet": "fn f(a: u8) -> u8 { if a > 1 { g(a, 2) } else { h(a) } }"}),
            Some(json!({"code_snippet": "f()", "path": "."})),
        ),
        (
            "measure_code_complexity",
            json!({"files": ["src/lib.rs"]}),
            Some(json!({"files": ["nowhere"]})),
        ),
    ]
}

/// Returns the same of the tools that need Python.
pub(crate) fn python_specimens() -> Vec<(&'static str, Value, Option<Value>)> {
    vec![
        ("run_python", json!({"code": "print(1)"}), None),
        (
            "create_virtual_environment",
            json!({"path": "v"}),
            Some(json!({"path": "a.txt"})),
        ),
    ]
}

/// Returns patches that change, create, delete and move the file at a path, and move one to it.
fn patches(path: &str) -> Vec<Value> {
    let changes = [
        format!("*** Update File: {path}\n@@\n-untouched\n+x\n"),
        format!("*** Add File: {path}\n+x\n"),
        format!("*** Delete File: {path}\n"),
        format!("*** Update File: {path}\n*** Move to: b.txt\n"),
        format!("*** Update File: a.txt\n*** Move to: {path}\n"),
    ];
    let diff = format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-untouched\n+x\n");
    let patches = changes
        .into_iter()
        .map(|change| format!("*** Begin Patch\n{change}*** End Patch"));
    patches
        .chain([diff])
        .map(|patch| json!({"patch": patch}))
        .collect()
}

/// Returns calls that name a path among others.
fn lists(path: &str) -> Vec<Value> {
    vec![json!({"files": ["a.txt", path]})]
}

fn prepare(harness: &ToolHarness) -> io::Result<()> {
    harness.put(
        "Cargo.toml",
        "[package]\nname = \"sums\"\nedition = \"2021\"\n",
    )?;
    harness.put("src/lib.rs", "#[test]\nfn adds() {}\n")?;
    web::put_pages(harness);
    harness.put("a.txt", "one\ntwo\n")
}

pub(crate) async fn every_built_in_tool_conforms(harness: ToolHarness) {
    let registry = builtin_tools(&|_| None).unwrap();
    let mut specimens = specimens();
    specimens.extend(git_specimens());
    specimens.extend(analysis_specimens());
    specimens.extend(web::specimens());
    // Those are tried where Python is installed, and where a program can be led to a proxy.
    let python = python_specimens();
    let elsewhere: Vec<&str> = python
        .iter()
        .map(|(name, ..)| *name)
        .chain(["install_package"])
        .collect();
    let names: Vec<&str> = registry
        .tools(None)
        .iter()
        .map(|tool| tool.name())
        .collect();
    let names: Vec<&str> = names
        .into_iter()
        .filter(|name| !elsewhere.contains(name))
        .collect();
    let mut tried: Vec<&str> = specimens.iter().map(|(name, ..)| *name).collect();
    tried.sort_unstable();
    assert_eq!(names, tried, "every tool is tried");
    conforms(&harness, specimens).await;
}

/// The reference has each field that a result has; what it calls absent or `if` may be missing in a
/// result.
pub(crate) async fn the_fields_of_results_are_in_the_reference(harness: ToolHarness) {
    let registry = builtin_tools(&|_| None).unwrap();
    let page = tools_reference(&registry);
    let specimens = specimens()
        .into_iter()
        .chain(git_specimens())
        .chain(analysis_specimens())
        .chain(web::specimens());
    for (name, valid, _) in specimens {
        let own = ToolHarness::new(
            builtin_tools(&|_| None).unwrap(),
            harness.scope.sandbox.as_ref().clone(),
        )
        .unwrap();
        prepare(&own).unwrap();
        let output = own.call(name, valid).await;
        let section = page
            .split(&format!("### `{name}`\n"))
            .nth(1)
            .unwrap()
            .split("\n## ")
            .next()
            .unwrap();
        let section = section.split("\n### ").next().unwrap();
        let result = section
            .split("\nIts result is ")
            .nth(1)
            .unwrap()
            .split("\nCalled as ")
            .next()
            .unwrap();
        let data = if let Value::Array(all) = &output.data {
            all.first().cloned().unwrap_or_default()
        } else {
            output.data
        };
        let given: Vec<&String> = data
            .as_object()
            .into_iter()
            .flat_map(|object| object.keys())
            .collect();
        for field in &given {
            assert!(
                result.contains(&format!("\n| `{field}` |")),
                "{name} gives `{field}`, which is not in:\n{result}"
            );
        }
        let documented = result
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
        for (field, about) in documented {
            let may_lack =
                about.contains("absent") || about.contains(", if ") || about.contains("once its");
            let has = given.iter().any(|given| *given == field);
            assert!(
                has || may_lack || given.is_empty(),
                "{name} does not give `{field}`: {data}"
            );
        }
    }
}

/// Checks these tools.
pub(crate) async fn conforms(
    harness: &ToolHarness,
    specimens: Vec<(&'static str, Value, Option<Value>)>,
) {
    conforms_with(harness, specimens, &prepare).await;
}

/// Checks these tools in a worktree with other files.
pub(crate) async fn conforms_with(
    harness: &ToolHarness,
    specimens: Vec<(&'static str, Value, Option<Value>)>,
    prepare: &dyn Fn(&ToolHarness) -> io::Result<()>,
) {
    let registry = builtin_tools(&|_| None).unwrap();
    let mut faults = Vec::new();
    for (name, valid, missing) in specimens {
        let tool = Arc::clone(registry.tool(name).unwrap());
        let no_paths = |_: &str| Vec::new();
        let naming_path: &dyn Fn(&str) -> Vec<Value> = match name {
            "apply_patch" => &patches,
            "run_linter" | "run_type_checker" | "run_formatter" | "measure_code_complexity" => {
                &lists
            }
            _ => &no_paths,
        };
        let specimen = Specimen {
            tool,
            valid,
            missing,
            naming_path,
            prepare,
        };
        let found = check(&specimen, &harness.scope.sandbox).await.unwrap();
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert_eq!(faults, Vec::<String>::new());
}

/// A file tool that violates some of the requirements.
struct Bad {
    schema: Value,
    description: &'static str,
}

#[async_trait]
impl Tool for Bad {
    fn name(&self) -> &str {
        "bad"
    }

    fn description(&self) -> &str {
        self.description
    }

    fn category(&self) -> Category {
        Category::FILES
    }

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
        let path = arguments["path"].as_str().unwrap_or_default().to_owned();
        let read = context.blocking(move |files, _| files.read(&path)).await;
        read.map_err(|error| ToolError::Execution(error.to_string()))?;
        // Not even a word of it.
        Ok(Answer {
            footer: Some(" ".to_owned()),
            ..Answer::default()
        })
    }
}

pub(crate) async fn violations_are_found(harness: ToolHarness) {
    let properties = json!({"text": {"type": "string"}, "path": {"type": "string"}});
    let schema = json!({"type": "object", "properties": properties, "required": ["path"]});
    let faults = |bad: Bad| async {
        let specimen = Specimen {
            tool: Arc::new(bad),
            valid: json!({"path": "a.txt"}),
            missing: Some(json!({"path": "nowhere"})),
            naming_path: &|_| Vec::new(),
            prepare: &prepare,
        };
        check(&specimen, &harness.scope.sandbox)
            .await
            .unwrap()
            .join("\n")
    };
    let found = faults(Bad {
        schema,
        description: " ",
    })
    .await;
    for expected in [
        "it has no description",
        "its path is not first",
        "an unknown parameter is answered with None",
        "what does not exist: expected Retry, got Some(Execution)",
        "is answered with Some(Execution)",
        "an I/O error is answered with Some(Execution)",
    ] {
        assert!(found.contains(expected), "{expected} is not in:\n{found}");
    }
    let found = faults(Bad {
        schema: json!({"type": "object", "properties": 3}),
        description: "Is bad.",
    })
    .await;
    assert!(found.contains("its schema is not valid"), "{found}");
}
