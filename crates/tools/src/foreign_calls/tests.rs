use super::*;

fn converted(called: &str, tool: &str, arguments: &Value) -> Result<Value, String> {
    own_form(called, tool, arguments)
        .map(Cow::into_owned)
        .map_err(|error| error.to_string())
}

#[test]
fn calls_of_other_products_are_converted() {
    let table = [
        (
            "shell",
            "run_shell_command",
            json!({"command": ["bash", "-lc", "ls | wc"], "workdir": "a", "timeout_ms": 1500}),
            json!({"command": "bash -c 'ls | wc'", "cwd": "a", "timeout": 2}),
        ),
        (
            "shell",
            "run_shell_command",
            json!({"command": ["git", "log", "-1 a"]}),
            json!({"command": "git log '-1 a'"}),
        ),
        (
            "exec_command",
            "run_shell_command",
            json!({"cmd": "ls", "yield_time_ms": 100, "login": true, "tty": false}),
            json!({"command": "ls"}),
        ),
        (
            "Bash",
            "run_shell_command",
            json!({"command": "ls", "timeout": 120_000, "run_in_background": false}),
            json!({"command": "ls", "timeout": 120}),
        ),
        (
            "run_shell_command",
            "run_shell_command",
            json!({"command": "ls", "timeout": 1200}),
            json!({"command": "ls", "timeout": 1200}),
        ),
        (
            "view",
            "read_file",
            json!({"path": "a", "view_range": [3, 7]}),
            json!({"path": "a", "offset": 3, "limit": 5}),
        ),
        (
            "view",
            "read_file",
            json!({"path": "a", "view_range": [3, -1]}),
            json!({"path": "a", "offset": 3}),
        ),
        (
            "Read",
            "read_file",
            json!({"file_path": "a", "start_line": 2, "end_line": 2}),
            json!({"file_path": "a", "offset": 2, "limit": 1}),
        ),
        (
            "read_many_files",
            "read_file",
            json!({"paths": ["a"], "include": ["b/**"], "recursive": true}),
            json!({"paths": ["a", "b/**"]}),
        ),
        (
            "Grep",
            "grep",
            json!({"pattern": "a", "-n": true, "-i": true, "-A": 1, "-B": 2, "head_limit": 3,
            "output_mode": "files_with_matches", "type": "rust"}),
            json!({"pattern": "a", "ignore_case": true, "after": 1, "before": 2, "limit": 3, "mode": "files", "type": "rust"}),
        ),
        (
            "grep_search",
            "grep",
            json!({"query": "a.b", "fixed_strings": true, "case_sensitive": true, "offset": 0}),
            json!({"pattern": "a\\.b"}),
        ),
        (
            "MultiEdit",
            "update_file",
            json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}),
            json!({"file_path": "a", "edits": [{"old": "x", "new": "y"}]}),
        ),
        (
            "replace",
            "update_file",
            json!({"old_string": "x", "new_string": "y", "expected_replacements": 2,
            "instruction": "why"}),
            json!({"old_string": "x", "new_string": "y", "expected_replacements": 2, "replace_all": true}),
        ),
        (
            "update_plan",
            "todo_write",
            json!({"plan": [{"step": "a", "status": "in_progress"}]}),
            json!({"items": [{"content": "a", "status": "in_progress"}]}),
        ),
        (
            "write_todos",
            "todo_write",
            json!({"todos": [{"description": "a", "status": "cancelled"}]}),
            json!({"items": [{"content": "a (cancelled)", "status": "completed"}]}),
        ),
        (
            "Task",
            "spawn_child_agent",
            json!({"description": "Look", "prompt": "Find it.", "run_in_background": true}),
            json!({"task": "Look\n\nFind it."}),
        ),
        (
            "SendMessage",
            "send_message_to_agent",
            json!({"type": "broadcast", "content": "a", "summary": "b"}),
            json!({"content": "a", "agent_id": "all"}),
        ),
        (
            "web_fetch",
            "fetch_url",
            json!({"prompt": "Summarize https://example.com/a."}),
            json!({"prompt": "Summarize https://example.com/a.", "url": "https://example.com/a"}),
        ),
        (
            "WebSearch",
            "web_search",
            json!({"query": "a", "allowed_domains": ["b.c"], "blocked_domains": ["d.e"]}),
            json!({"query": "a site:b.c -site:d.e"}),
        ),
        (
            "list_dir",
            "list_directory",
            json!({"dir_path": "a", "depth": 2}),
            json!({"dir_path": "a", "depth": 2, "recursive": true}),
        ),
        (
            "glob",
            "search_files",
            json!({"pattern": "a", "case_sensitive": false, "respect_git_ignore": true}),
            json!({"pattern": "a", "ignore_case": true}),
        ),
    ];
    for (called, tool, given, expected) in table {
        assert_eq!(
            converted(called, tool, &given),
            Ok(expected),
            "{called} {given}"
        );
    }
}

#[test]
fn what_cannot_be_had_is_refused_with_the_reason() {
    let table = [
        (
            "Bash",
            "run_shell_command",
            json!({"command": "a", "run_in_background": true}),
            "in the background",
        ),
        (
            "shell",
            "run_shell_command",
            json!({"command": ["a"], "with_escalated_permissions": true}),
            "outside the sandbox",
        ),
        (
            "exec_command",
            "run_shell_command",
            json!({"cmd": "a", "sandbox_permissions": "require_escalated"}),
            "outside",
        ),
        (
            "shell",
            "run_shell_command",
            json!({"command": [1]}),
            "an array of texts",
        ),
        (
            "view",
            "read_file",
            json!({"path": "a", "view_range": [3]}),
            "expected two line numbers",
        ),
        (
            "Read",
            "read_file",
            json!({"path": "a", "start_line": 3, "end_line": 2}),
            "before the first",
        ),
        (
            "todo",
            "todo_write",
            json!({"merge": true, "todos": []}),
            "replaced as a whole",
        ),
        (
            "web_fetch",
            "fetch_url",
            json!({"prompt": "https://a.b and https://c.d"}),
            "names 2 addresses",
        ),
        (
            "glob",
            "search_files",
            json!({"pattern": "a", "respect_git_ignore": false}),
            "what git ignores",
        ),
    ];
    for (called, tool, given, expected) in table {
        let error = converted(called, tool, &given).unwrap_err();
        assert!(
            error.starts_with("Invalid parameters: ") && error.contains(expected),
            "{error}"
        );
    }
}
