//! The shipped `.tool` files: the names that other products have for our tools, and their ways of
//! calling them.

use orchestrate_core::event::settings::ToolFile;

use super::build::{Origin, add};
use crate::answer::ToolsError;
use crate::registry::ToolRegistry;

macro_rules! files {
    ($($name:literal)*) => {
        &[$((
            concat!("crates/tools/wrapped/", $name, ".tool"),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/wrapped/", $name, ".tool")),
        )),*]
    };
}

/// The files with their paths.
#[rustfmt::skip]
const FILES: &[(&str, &str)] = files![
    "aliases/Agent" "aliases/Bash" "aliases/Edit" "aliases/Glob" "aliases/LS" "aliases/MultiEdit"
    "aliases/Read" "aliases/SendMessage" "aliases/Skill" "aliases/Task" "aliases/TodoWrite"
    "aliases/WebFetch" "aliases/WebSearch" "aliases/Write" "aliases/activate_skill"
    "aliases/create_file" "aliases/exec_command" "aliases/execute" "aliases/google_search"
    "aliases/google_web_search" "aliases/grep_search" "aliases/list" "aliases/list_dir"
    "aliases/read_many_files" "aliases/replace" "aliases/run_command" "aliases/send_message"
    "aliases/shell" "aliases/str_replace" "aliases/task-tool" "aliases/todo" "aliases/update_plan"
    "aliases/view" "aliases/web" "aliases/web_fetch" "aliases/write_todos"
    "WebFetch" "glob" "grep" "ls"
];

/// Adds the shipped files; aliases of tools that do not exist are names that roles and rules may
/// have.
///
/// # Errors
/// [`ToolsError::Description`] if one of them is wrong.
pub(crate) fn add_shipped(registry: &mut ToolRegistry) -> Result<(), ToolsError> {
    let file = |(path, text): &(&str, &str)| ToolFile {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    };
    let files: Vec<ToolFile> = FILES.iter().map(file).collect();
    match add(registry, &files, Origin::Shipped).into_iter().next() {
        None => Ok(()),
        Some(problem) => Err(ToolsError::Description {
            file: problem.file,
            line: problem.line.unwrap_or(1),
            column: 1,
            reason: problem.reason,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::wrapped::definition::Definition;

    #[test]
    fn every_shipped_file_keeps_to_its_examples() {
        for (path, text) in FILES {
            assert!(Definition::parse(text).is_ok(), "{path}");
        }
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "looks at the files of this repository"
    )]
    fn every_file_of_the_folder_is_shipped() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("wrapped");
        let mut found = BTreeSet::new();
        for folder in ["", "aliases/"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".tool") {
                    found.insert(format!("crates/tools/wrapped/{folder}{name}"));
                }
            }
        }
        assert_eq!(
            found,
            FILES.iter().map(|(path, _)| (*path).to_owned()).collect()
        );
    }
}
