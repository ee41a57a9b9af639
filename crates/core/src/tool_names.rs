//! The names of tools: canonical ones, the names used by other products, and the families that lists may name.
//!
//! Agent files and permission rules written for other products work unchanged because every name goes through
//! [`canonical`]. This table contains names only; what a tool does is up to the executor.

/// Other products' names with ours, compared ignoring case.
const ALIASES: &[(&str, &str)] = &[
    ("Read", "read_file"),
    ("read", "read_file"),
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

/// Returns the canonical name for another product's name, or `None` if it is not an alias.
///
/// ```
/// use orchestrate_core::tool_names::alias;
/// assert_eq!(alias("Bash"), Some("run_shell_command"));
/// assert_eq!(alias("read_file"), None);
/// ```
pub fn alias(name: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, canonical)| *canonical)
}

/// Returns the canonical name of a tool, or the name unchanged if it is not an alias.
pub fn canonical(name: &str) -> String {
    let name = name.trim();
    alias(name).unwrap_or(name).to_owned()
}

/// Returns every alias with its canonical name.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALIASES.iter().copied()
}

/// Returns the tools that a name in a rule or a list stands for.
///
/// A rule about reading or about editing must apply to every tool that reads or edits, so the names that other
/// products use for a whole family stand for the family; every other name stands for itself.
pub fn family(name: &str) -> Vec<String> {
    const READ: &[&str] = &["read_file", "grep", "search_files", "list_directory", "get_file_info"];
    const EDIT: &[&str] = &["update_file", "write_file", "append_file", "apply_patch", "delete_file"];
    let members = match name.trim() {
        "Read" | "read" => READ,
        "Edit" | "edit" | "Write" | "MultiEdit" => EDIT,
        other => return vec![canonical(other)],
    };
    members.iter().map(|&member| member.to_owned()).collect()
}

/// Returns the tools that a name in a role's list grants or withholds.
///
/// Two products have one name for several tools; every other name means one tool.
///
/// ```
/// use orchestrate_core::tool_names::listed;
/// assert_eq!(listed("edit"), ["update_file", "write_file"]);
/// assert_eq!(listed("Edit"), ["update_file"]);
/// ```
pub fn listed(name: &str) -> Vec<String> {
    let members: &[&str] = match name.trim() {
        "edit" => &["update_file", "write_file"],
        "search" => &["grep", "search_files"],
        other => return vec![canonical(other)],
    };
    members.iter().map(|&member| member.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_products_are_understood() {
        let table = [
            ("Read", "read_file"),
            ("bash", "run_shell_command"),
            ("LS", "list_directory"),
            ("ls", "list_directory"),
            ("glob", "search_files"),
            ("Task", "spawn_child_agent"),
            ("write_file", "write_file"),
            ("mcp__Server__Tool", "mcp__Server__Tool"),
        ];
        for (name, expected) in table {
            assert_eq!(canonical(name), expected);
        }
    }

    #[test]
    fn no_alias_leads_to_another_alias() {
        for (name, target) in aliases() {
            assert_eq!(alias(target).unwrap_or(target), target, "{name}");
        }
    }
}
