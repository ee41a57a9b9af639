//! The names that stand for several of the built-in tools; the other names of one tool are shipped `.tool` files.

use orchestrate_core::tool_names::ToolNames;

/// Tools that only read files.
const READING: &[&str] = &["read_file", "grep", "search_files", "list_directory", "get_file_info"];
/// Tools that edit files.
const EDITING: &[&str] =
    &["update_file", "write_file", "append_file", "apply_patch", "delete_file", "copy_file", "move_file"];

/// Adds these names.
pub(super) fn add_to(names: &mut ToolNames) {
    for name in ["Read", "read"] {
        names.add_family(name, READING);
    }
    for name in ["Edit", "edit", "Write", "MultiEdit"] {
        names.add_family(name, EDITING);
    }
    names.add_list("edit", &["update_file", "write_file"]);
    names.add_list("search", &["grep", "search_files"]);
}
