//! The names by which other products call the built-in tools, and the names that stand for several of them.
//!
//! Some belong to tools that do not exist here: roles and rules written for other products name them, too.

use orchestrate_core::tool_names::ToolNames;

/// Other products' names with ours, compared ignoring case.
const ALIASES: &[(&str, &str)] = &[
    ("Read", "read_file"),
    ("view", "read_file"),
    ("read_many_files", "read_file"),
    ("Write", "write_file"),
    ("create_file", "write_file"),
    ("Edit", "update_file"),
    ("MultiEdit", "update_file"),
    ("replace", "update_file"),
    ("str_replace", "update_file"),
    ("Bash", "run_shell_command"),
    ("shell", "run_shell_command"),
    ("execute", "run_shell_command"),
    ("run_command", "run_shell_command"),
    ("exec_command", "run_shell_command"),
    ("Grep", "grep"),
    ("grep_search", "grep"),
    ("Glob", "search_files"),
    ("LS", "list_directory"),
    ("list_dir", "list_directory"),
    ("list", "list_directory"),
    ("WebFetch", "fetch_url"),
    ("web_fetch", "fetch_url"),
    ("web", "fetch_url"),
    ("WebSearch", "web_search"),
    ("google_search", "web_search"),
    ("google_web_search", "web_search"),
    ("TodoWrite", "todo_write"),
    ("todo", "todo_write"),
    ("write_todos", "todo_write"),
    ("update_plan", "todo_write"),
    ("Agent", "spawn_child_agent"),
    ("Task", "spawn_child_agent"),
    ("Skill", "read_skill"),
    ("activate_skill", "read_skill"),
    ("SendMessage", "send_message_to_agent"),
    ("send_message", "send_message_to_agent"),
];

/// Tools that only read files.
const READING: &[&str] = &["read_file", "grep", "search_files", "list_directory", "get_file_info"];
/// Tools that edit files.
const EDITING: &[&str] =
    &["update_file", "write_file", "append_file", "apply_patch", "delete_file", "copy_file", "move_file"];

/// Adds these names.
pub(super) fn add_to(names: &mut ToolNames) {
    for (alias, canonical) in ALIASES {
        names.add_alias(alias, canonical);
    }
    for name in ["Read", "read"] {
        names.add_family(name, READING);
    }
    for name in ["Edit", "edit", "Write", "MultiEdit"] {
        names.add_family(name, EDITING);
    }
    names.add_list("edit", &["update_file", "write_file"]);
    names.add_list("search", &["grep", "search_files"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_alias_leads_to_another_alias() {
        let mut names = ToolNames::default();
        add_to(&mut names);
        for (alias, canonical) in ALIASES {
            assert!(names.alias(canonical).is_none_or(|next| next == *canonical), "{alias}");
        }
    }

    #[test]
    fn a_list_names_one_tool_where_a_rule_names_a_family() {
        let mut names = ToolNames::default();
        add_to(&mut names);
        assert_eq!(names.in_role("edit"), ["update_file", "write_file"]);
        assert_eq!(names.in_role("Edit"), ["update_file"]);
        assert_eq!(names.in_rule("Edit").len(), EDITING.len());
    }
}
