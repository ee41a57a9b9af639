use super::*;

/// Calls of other products by the name that they have for a tool, ours, and their arguments; each
/// with ours.
const CALLS: &str = r#"
shell run_shell_command {"command": ["bash", "-lc", "ls | wc"], "workdir": "a", "timeout_ms": 1500}
    {"command": "bash -c 'ls | wc'", "cwd": "a", "timeout": 2}
shell run_shell_command {"command": ["git", "log", "-1 a"]}
    {"command": "git log '-1 a'"}
exec_command run_shell_command {"cmd": "ls", "yield_time_ms": 100, "login": true, "tty": false}
    {"command": "ls"}
Bash run_shell_command {"command": "ls", "timeout": 120000, "run_in_background": false}
    {"command": "ls", "timeout": 120}
run_shell_command run_shell_command {"command": "ls", "timeout": 1200}
    {"command": "ls", "timeout": 1200}
view read_file {"path": "a", "view_range": [3, 7]}
    {"path": "a", "offset": 3, "limit": 5}
view read_file {"path": "a", "view_range": [3, -1]}
    {"path": "a", "offset": 3}
Read read_file {"file_path": "a", "start_line": 2, "end_line": 2}
    {"file_path": "a", "offset": 2, "limit": 1}
read_many_files read_file {"paths": ["a"], "include": ["b/**"], "recursive": true}
    {"paths": ["a", "b/**"]}
Grep grep {"pattern": "a", "-n": true, "-i": true, "-A": 1, "-B": 2, "head_limit": 3, "output_mode": "files_with_matches", "type": "rust"}
    {"pattern": "a", "ignore_case": true, "after": 1, "before": 2, "limit": 3, "mode": "files", "type": "rust"}
grep_search grep {"query": "a.b", "fixed_strings": true, "case_sensitive": true, "offset": 0}
    {"pattern": "a\\.b"}
MultiEdit update_file {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}
    {"file_path": "a", "edits": [{"old": "x", "new": "y"}]}
replace update_file {"old_string": "x", "new_string": "y", "expected_replacements": 2, "instruction": "why"}
    {"old_string": "x", "new_string": "y", "expected_replacements": 2, "replace_all": true}
update_plan todo_write {"plan": [{"step": "a", "status": "in_progress"}]}
    {"items": [{"content": "a", "status": "in_progress"}]}
write_todos todo_write {"todos": [{"description": "a", "status": "cancelled"}]}
    {"items": [{"content": "a (cancelled)", "status": "completed"}]}
Task spawn_child_agent {"description": "Look", "prompt": "Find it.", "run_in_background": true}
    {"task": "Look\n\nFind it."}
SendMessage send_message_to_agent {"type": "broadcast", "content": "a", "summary": "b"}
    {"content": "a", "agent_id": "all"}
web_fetch fetch_url {"prompt": "Summarize https://example.com/a."}
    {"prompt": "Summarize https://example.com/a.", "url": "https://example.com/a"}
WebSearch web_search {"query": "a", "allowed_domains": ["b.c"], "blocked_domains": ["d.e"]}
    {"query": "a site:b.c -site:d.e"}
list_dir list_directory {"dir_path": "a", "depth": 2}
    {"dir_path": "a", "depth": 2, "recursive": true}
glob search_files {"pattern": "a", "case_sensitive": false, "respect_git_ignore": true}
    {"pattern": "a", "ignore_case": true}
"#;
/// Such calls, each with why it is refused.
const REFUSED: &str = r#"
Bash run_shell_command {"command": "a", "run_in_background": true}
    in the background
shell run_shell_command {"command": ["a"], "with_escalated_permissions": true}
    outside the sandbox
exec_command run_shell_command {"cmd": "a", "sandbox_permissions": "require_escalated"}
    outside
shell run_shell_command {"command": [1]}
    an array of texts
view read_file {"path": "a", "view_range": [3]}
    expected two line numbers
Read read_file {"path": "a", "start_line": 3, "end_line": 2}
    before the first
todo todo_write {"merge": true, "todos": []}
    replaced as a whole
web_fetch fetch_url {"prompt": "https://a.b and https://c.d"}
    names 2 addresses
glob search_files {"pattern": "a", "respect_git_ignore": false}
    what git ignores
"#;

/// A call, and what is expected of it.
struct Row {
    called: &'static str,
    tool: &'static str,
    given: Value,
    expected: &'static str,
}

fn rows(table: &'static str) -> Vec<Row> {
    let lines: Vec<&str> = table.trim().lines().collect();
    let row = |pair: &[&'static str]| {
        let words: Vec<&str> = pair[0].splitn(3, ' ').collect();
        Row {
            called: words[0],
            tool: words[1],
            given: serde_json::from_str(words[2]).unwrap(),
            expected: pair[1].trim(),
        }
    };
    lines.chunks(2).map(row).collect()
}

fn converted(row: &Row) -> Result<Value, String> {
    own_form(row.called, row.tool, &row.given)
        .map(Cow::into_owned)
        .map_err(|error| error.to_string())
}

#[test]
fn calls_of_other_products_are_converted() {
    for row in rows(CALLS) {
        let expected = serde_json::from_str(row.expected).unwrap();
        assert_eq!(
            converted(&row),
            Ok(expected),
            "{} {}",
            row.called,
            row.given
        );
    }
}

#[test]
fn what_cannot_be_had_is_refused_with_the_reason() {
    for row in rows(REFUSED) {
        let error = converted(&row).unwrap_err();
        assert!(
            error.starts_with("Invalid parameters: ") && error.contains(row.expected),
            "{error}"
        );
    }
}
