//! The names that stand for several of the built-in tools; the other names of one tool are shipped
//! `.tool` files.

use orchestrate_core::policy::Permission;
use orchestrate_core::policy::tool_names::ToolNames;

/// Tools that only read files.
const READING: &[&str] = &[
    "read_file",
    "grep",
    "search_files",
    "list_directory",
    "get_file_info",
    "analyze_code_structure",
    "analyze_performance",
    "analyze_dependencies",
    "find_code_patterns",
    "find_similar_code",
    "measure_code_complexity",
];
/// Tools that edit files.
const EDITING: &[&str] = &[
    "update_file",
    "write_file",
    "append_file",
    "apply_patch",
    "delete_file",
    "copy_file",
    "move_file",
];

/// Tools that read any page that they are told to.
const FETCHING: &[&str] = &["fetch_url", "parse_documentation"];

/// Names that stand for every tool that reads files.
const READING_FAMILIES: &[&str] = &["Read", "read"];
/// Names that stand for every tool that edits files.
const EDITING_FAMILIES: &[&str] = &["Edit", "edit", "Write", "MultiEdit"];

/// Returns the names that stand in rules for every tool with this permission.
pub(crate) fn families_of(permission: Permission) -> &'static [&'static str] {
    match permission {
        Permission::FileRead => READING_FAMILIES,
        Permission::FileWrite | Permission::FileModify => EDITING_FAMILIES,
        _ => &[],
    }
}

/// Adds these names.
pub(super) fn add_to(names: &mut ToolNames) {
    for name in READING_FAMILIES {
        names.add_family(name, READING);
    }
    for name in EDITING_FAMILIES {
        names.add_family(name, EDITING);
    }
    // A rule about fetching a page holds for every tool that fetches what it is told to.
    for name in ["WebFetch", "webfetch", "web_fetch"] {
        names.add_family(name, FETCHING);
    }
    names.add_list("edit", &["update_file", "write_file"]);
    names.add_list("search", &["grep", "search_files"]);
}
