//! Checks every built-in tool with the conformance suite.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::policy::Permission;
use orchestrate_tool_testing::conformance::{Specimen, check};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{
    Answer, Category, Tool, ToolContext, ToolError, ToolProperties, plain_tools, tools_reference,
};
use serde_json::{Value, json};

use crate::builtin::web;
use crate::support::{Call, listed_calls};

/// Calls of tools that succeed, each with arguments that name something that does not exist, if
/// there are such.
const SPECIMENS: &str = r#"
read_file {"path": "a.txt"}
    {"path": "nowhere"}
write_file {"path": "b.txt", "content": "x"}
    -
update_file {"path": "a.txt", "old": "one", "new": "1"}
    {"path": "nowhere", "old": "one", "new": "1"}
append_file {"path": "a.txt", "content": "three\n"}
    -
apply_patch {"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch"}
    {"patch": "*** Begin Patch\n*** Delete File: nowhere\n*** End Patch"}
copy_file {"src": "a.txt", "dst": "b.txt"}
    {"src": "nowhere", "dst": "b.txt"}
move_file {"src": "a.txt", "dst": "b.txt"}
    {"src": "nowhere", "dst": "b.txt"}
get_file_info {"path": "a.txt"}
    {"path": "nowhere"}
delete_file {"path": "a.txt"}
    {"path": "nowhere"}
list_directory {"path": "."}
    {"path": "nowhere"}
create_directory {"path": "d/e"}
    {"path": "x/y", "parents": false}
search_files {"pattern": "*.txt"}
    {"pattern": "*", "path": "nowhere"}
run_tests {}
    -
run_linter {}
    {"files": ["nowhere"]}
run_type_checker {}
    {"files": ["nowhere"]}
run_formatter {"files": ["src/lib.rs"]}
    {"files": ["nowhere"]}
grep {"pattern": "one"}
    {"pattern": "one", "path": "nowhere"}
run_shell_command {"command": "true"}
    {"command": "true", "cwd": "nowhere"}
react {"action": "think", "note": "first this"}
    -
todo_write {"items": [{"content": "Begin", "status": "in_progress"}]}
    -
read_plan {"section": "Goal"}
    {"section": "nowhere"}
read_skill {"name": "release"}
    {"name": "nowhere"}
review_verdict {"verdict": "approve", "comment": "fine"}
    {"verdict": "changes", "changes": [{"task": "T9", "text": "mend it"}]}
send_message_to_agent {"agent_id": "T2", "message": "hello"}
    {"agent_id": "T9", "message": "hello"}
spawn_child_agent {"task": "Write it", "context": {"port": 4711}, "budget": 5000}
    {"task": "Write it", "role": "nobody"}
terminate_agent {"agent_id": "T2"}
    {"agent_id": "T9"}
get_agent_status {"agent_id": "T2"}
    {"agent_id": "T9"}
list_active_agents {}
    -
wait_for_agents {"agent_ids": ["T2"], "timeout": 5}
    {"agent_ids": ["T9"]}
aggregate_agent_results {"agent_ids": ["T2", "T3"]}
    {"agent_ids": ["T9"]}
git_status {}
    -
git_diff {}
    -
git_log {"limit": 1}
    -
git_commit {"message": "Begin"}
    {"message": "nothing"}
git_add {"files": ["a.txt"]}
    {"files": ["nowhere"]}
git_stash {}
    {"action": "pop"}
git_branch {"action": "create", "branch_name": "try"}
    {"action": "delete", "branch_name": "nowhere"}
git_checkout {"branch_or_commit": "HEAD", "paths": ["a.txt"]}
    {"branch_or_commit": "nowhere"}
git_merge {"branch": "T2"}
    {"branch": "nowhere"}
git_push {"branch": "try/one"}
    {"remote": "nowhere"}
git_pull {"remote": "origin"}
    {"remote": "nowhere"}
analyze_code_structure {"path": "src/lib.rs"}
    {"path": "nowhere"}
analyze_dependencies {"path": "src"}
    {"path": "nowhere"}
find_code_patterns {"pattern": "fn $F() { }"}
    {"pattern": "f()", "path": "nowhere"}
analyze_performance {"profiling_data": "main;work 3"}
    {"path": "nowhere"}
find_similar_code {"code_snippet": "fn f(a: u8) -> u8 { if a > 1 { g(a, 2) } else { h(a) } }"}
    {"code_snippet": "f()", "path": "."}
measure_code_complexity {"files": ["src/lib.rs"]}
    {"files": ["nowhere"]}
"#;

/// Returns each tool's name, arguments that succeed, and arguments that name something that does
/// not exist.
fn specimens() -> Vec<(&'static str, Value, Option<Value>)> {
    let row = |call: Call| {
        let failing = serde_json::from_str(call.expected).ok();
        (call.tool, call.arguments, failing)
    };
    listed_calls(SPECIMENS).into_iter().map(row).collect()
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
    let registry = plain_tools().unwrap();
    let mut specimens = specimens();
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
    let registry = plain_tools().unwrap();
    let page = tools_reference(&registry);
    let specimens = specimens().into_iter().chain(web::specimens());
    for (name, valid, _) in specimens {
        let own = ToolHarness::new(
            plain_tools().unwrap(),
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
    let registry = plain_tools().unwrap();
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
