//! Tests of the names that other products have for our tools: each is called in the form of the
//! product that it comes from.

use std::collections::BTreeSet;

use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::plain_tools;
use serde_json::{Value, json};

use crate::support::said;

/// A call: the product, its name for the tool, its arguments, and a part of the answer.
type Call = (&'static str, &'static str, Value, &'static str);

/// Calls in their order; later ones find what earlier ones wrote.
fn calls() -> Vec<Call> {
    let (claude, codex, gemini) = ("Claude Code", "Codex", "Gemini CLI");
    let (opencode, editor, vscode) = ("OpenCode", "Anthropic's text editor", "VS Code");
    [
        files(claude, gemini, opencode),
        more_files(editor, vscode, codex, gemini),
        searches(claude, gemini),
    ]
    .into_iter()
    .chain([
        commands(claude, codex, gemini, vscode),
        steps(claude, codex, gemini),
        others(claude, gemini, vscode),
    ])
    .flatten()
    .collect()
}

fn files(claude: &'static str, gemini: &'static str, opencode: &'static str) -> Vec<Call> {
    let edits = json!([
        {"old_string": "beta", "new_string": "BETA"},
        {"old_string": "BETA\n", "new_string": "BETA 2\n", "replace_all": true},
    ]);
    vec![
        (
            claude,
            "Write",
            json!({"file_path": "src/a.rs", "content": "alpha\nbeta\ngamma\ndelta\n"}),
            "created src/a.rs",
        ),
        (
            claude,
            "Read",
            json!({"file_path": "src/a.rs", "offset": 2, "limit": 1}),
            "     2\tbeta\n[lines 2-2 of 4",
        ),
        (
            claude,
            "Read",
            json!({"file_path": "src/a.rs", "start_line": 2, "end_line": 3}),
            "     3\tgamma\n[lines 2-3",
        ),
        (
            opencode,
            "read",
            json!({"filePath": "src/a.rs", "offset": 0}),
            "     1\talpha",
        ),
        (
            claude,
            "Edit",
            json!({"file_path": "src/a.rs", "old_string": "alpha", "new_string": "ALPHA"}),
            "1 replacement",
        ),
        (
            opencode,
            "edit",
            json!({"filePath": "src/a.rs", "oldString": "ALPHA", "newString": "Alpha", "replaceAll": true}),
            "1 replacement",
        ),
        (
            claude,
            "MultiEdit",
            json!({"file_path": "src/a.rs", "edits": edits}),
            "2 replacements, line 2, 2",
        ),
        (
            gemini,
            "replace",
            json!({"file_path": "src/a.rs", "old_string": "delta", "new_string": "Delta",
            "expected_replacements": 1, "instruction": "Write it large."}),
            "1 replacement",
        ),
        (
            gemini,
            "read_many_files",
            json!({"paths": ["src/*.rs"], "recursive": true, "useDefaultExcludes": true}),
            "--- src/a.rs ---\n     1\tAlpha\n     2\tBETA 2\n",
        ),
    ]
}

fn more_files(
    editor: &'static str,
    vscode: &'static str,
    codex: &'static str,
    gemini: &'static str,
) -> Vec<Call> {
    vec![
        (
            editor,
            "view",
            json!({"path": "src/a.rs", "view_range": [3, -1]}),
            "     4\tDelta",
        ),
        (
            editor,
            "str_replace",
            json!({"path": "src/a.rs", "old_str": "Delta", "new_str": "delta"}),
            "1 replacement",
        ),
        (
            vscode,
            "create_file",
            json!({"filePath": "src/b.py", "content": "alpha = 1\n"}),
            "created src/b.py",
        ),
        (
            "Claude Code",
            "LS",
            json!({"path": "src", "ignore": ["*.py"]}),
            "a.rs",
        ),
        (
            codex,
            "list_dir",
            json!({"dir_path": ".", "depth": 2, "offset": 1, "limit": 2}),
            "src/a.rs",
        ),
        ("OpenCode", "list", json!({"path": "."}), "src/"),
        (
            gemini,
            "list_directory",
            json!({"dir_path": "src", "respect_git_ignore": true}),
            "b.py",
        ),
    ]
}

fn searches(claude: &'static str, gemini: &'static str) -> Vec<Call> {
    vec![
        (claude, "Glob", json!({"pattern": "**/*.rs"}), "src/a.rs"),
        (
            claude,
            "Grep",
            json!({"pattern": "ALPHA", "-i": true, "-n": true, "-A": 1, "output_mode": "content",
            "type": "rust", "head_limit": 2}),
            "src/a.rs:1:Alpha\nsrc/a.rs-2-BETA 2",
        ),
        (
            claude,
            "Grep",
            json!({"pattern": "alpha", "output_mode": "files_with_matches", "-B": 1, "-C": 1}),
            "src/b.py",
        ),
        (
            claude,
            "Grep",
            json!({"pattern": "Alpha.BETA", "multiline": true, "output_mode": "content"}),
            "src/a.rs:1:Alpha\nsrc/a.rs:2:BETA 2",
        ),
        (
            gemini,
            "grep_search",
            json!({"pattern": "a.rs", "fixed_strings": true, "include_pattern": "*.rs"}),
            "no matches",
        ),
        (
            "Cursor",
            "grep_search",
            json!({"query": "alpha", "case_sensitive": true, "include_pattern": "*.py"}),
            "src/b.py:1:alpha = 1",
        ),
    ]
}

fn commands(
    claude: &'static str,
    codex: &'static str,
    gemini: &'static str,
    vscode: &'static str,
) -> Vec<Call> {
    vec![
        (
            claude,
            "Bash",
            json!({"command": "echo one", "description": "Says it", "timeout": 60_000,
            "run_in_background": false}),
            "one",
        ),
        (
            codex,
            "shell",
            json!({"command": ["sh", "-lc", "pwd | sed 's,.*/,in ,'"], "workdir": "src", "timeout_ms": 5000}),
            "in src",
        ),
        (codex, "shell", json!({"command": ["echo", "a  b"]}), "a  b"),
        (
            codex,
            "exec_command",
            json!({"cmd": "echo two", "yield_time_ms": 1000, "max_output_tokens": 100}),
            "two",
        ),
        (
            gemini,
            "run_shell_command",
            json!({"command": "echo three", "dir_path": "src", "is_background": false}),
            "three",
        ),
        (vscode, "execute", json!({"command": "echo four"}), "four"),
        (
            "Windsurf",
            "run_command",
            json!({"CommandLine": "echo five", "Cwd": "src"}),
            "five",
        ),
    ]
}

fn steps(claude: &'static str, codex: &'static str, gemini: &'static str) -> Vec<Call> {
    vec![
        (
            claude,
            "TodoWrite",
            json!({"todos": [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]}),
            "[~] Look",
        ),
        (
            claude,
            "task-tool",
            json!({"todos": [{"id": "1", "content": "Look", "status": "completed", "priority": "high"}]}),
            "[x] Look",
        ),
        (
            codex,
            "update_plan",
            json!({"explanation": "why", "plan": [{"step": "Look", "status": "pending"}]}),
            "[ ] Look",
        ),
        (
            gemini,
            "write_todos",
            json!({"todos": [{"description": "Look", "status": "cancelled"}]}),
            "[x] Look (cancelled)",
        ),
        (
            "VS Code",
            "todo",
            json!({"todoList": [{"id": 1, "title": "Look", "status": "not-started"}]}),
            "[ ] Look",
        ),
    ]
}

fn others(claude: &'static str, gemini: &'static str, vscode: &'static str) -> Vec<Call> {
    let page = "https://example.org/page";
    let task =
        json!({"description": "Look", "prompt": "Find the cause.", "subagent_type": "implementer"});
    let mut agent = task.clone();
    agent["run_in_background"] = json!(true);
    vec![
        (
            claude,
            "WebFetch",
            json!({"url": page, "prompt": "What is it about?"}),
            "A page",
        ),
        (
            gemini,
            "web_fetch",
            json!({"prompt": format!("Summarize {page}.")}),
            "A page",
        ),
        (vscode, "web", json!({"url": page}), "A page"),
        (
            claude,
            "WebSearch",
            json!({"query": "q", "allowed_domains": ["a.example"]}),
            "A result",
        ),
        (
            gemini,
            "google_web_search",
            json!({"query": "q"}),
            "A result",
        ),
        (
            "Google's models",
            "google_search",
            json!({"query": "q"}),
            "A result",
        ),
        (
            claude,
            "Skill",
            json!({"skill": "release"}),
            "Tag the commit",
        ),
        (
            gemini,
            "activate_skill",
            json!({"name": "release"}),
            "Tag the commit",
        ),
        (claude, "Task", task, "child_1"),
        (claude, "Agent", agent, "child_2"),
        (
            claude,
            "SendMessage",
            json!({"type": "message", "recipient": "T2", "content": "hello", "summary": "hi"}),
            "T2",
        ),
        (
            "Codex",
            "send_message",
            json!({"to": "T2", "message": "hello"}),
            "T2",
        ),
    ]
}

pub(crate) async fn every_alias_is_called_in_the_form_of_its_product(harness: ToolHarness) {
    harness.web.put(
        "https://example.org/page",
        "text/html",
        "<title>A page</title><h1>A page</h1><p>It is one.</p>",
    );
    let found =
        r#"{"results": [{"title": "A result", "url": "https://a.example/", "content": "c"}]}"#;
    for query in ["q", "q%20site%3Aa.example", "q+site%3Aa.example"] {
        let url = format!("https://search.example/search?q={query}&format=json");
        harness.web.put(&url, "application/json", found);
    }
    let mut called = BTreeSet::new();
    for (product, name, arguments, expected) in calls() {
        let output = harness.call(name, arguments.clone()).await;
        let text = output.text();
        assert!(
            output.success && text.contains(expected),
            "{product}: {name} {arguments}: {}",
            said(&output)
        );
        called.insert(name.to_lowercase());
    }
    let first = harness.agents.children().remove(0);
    assert_eq!(
        (first.task.as_str(), first.role.as_deref()),
        ("Look\n\nFind the cause.", Some("implementer"))
    );
    // Names of the tools themselves are in other tests; a rule or a role may have the others as
    // well.
    let registry = plain_tools().unwrap();
    let aliases: BTreeSet<String> = registry
        .tools(None)
        .iter()
        .flat_map(|tool| {
            registry
                .names()
                .aliases_of(tool.name())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    let missing: Vec<&String> = aliases.difference(&called).collect();
    assert!(missing.is_empty(), "never called: {missing:?}");
}

/// What the form of another product asks for and cannot be had is refused with the reason, and
/// nothing is done.
pub(crate) async fn what_another_product_alone_can_do_is_refused(harness: ToolHarness) {
    harness.put("a.txt", "one\ntwo\n").unwrap();
    let edits = json!([{"old_string": "one", "new_string": "1"}, {"old_string": "three", "new_string": "3"}]);
    let table = [
        (
            "Bash",
            json!({"command": "touch made", "run_in_background": true}),
            "no command goes on in the background",
        ),
        (
            "shell",
            json!({"command": ["touch", "made"], "with_escalated_permissions": true}),
            "outside the sandbox",
        ),
        (
            "MultiEdit",
            json!({"file_path": "a.txt", "edits": edits}),
            "edit 2 of 2: `old` was not found in a.txt",
        ),
        (
            "replace",
            json!({"file_path": "a.txt", "old_string": "o", "new_string": "0", "expected_replacements": 3}),
            "occurs 2 times in a.txt, not 3 times",
        ),
        (
            "Grep",
            json!({"pattern": "a", "type": "rusty"}),
            "there is no kind of files `rusty`; similar: `rust`",
        ),
        (
            "Grep",
            json!({"pattern": "a", "--pcre2": true}),
            "unknown: `--pcre2`",
        ),
        (
            "read_many_files",
            json!({"paths": ["*.nothing"]}),
            "no file matches *.nothing",
        ),
        ("read_file", json!({}), "`path` is required but missing"),
        (
            "Edit",
            json!({"file_path": "a.txt"}),
            "`old` is required but missing",
        ),
    ];
    for (name, arguments, expected) in table {
        let output = harness.call(name, arguments.clone()).await;
        assert!(
            !output.success && said(&output).contains(expected),
            "{name} {arguments}: {}",
            said(&output)
        );
    }
    assert_eq!(harness.content("a.txt").unwrap(), "one\ntwo\n");
    assert!(!harness.path().join("made").exists());
}
