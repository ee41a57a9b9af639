//! The instructions of the project's owner: `AGENTS.md` of the root and of the folders of a task's
//! files.
//!
//! They are read from the run's base commit, so that no agent can change another agent's
//! instructions. A file in a folder nearer to the task's files comes later, and counts where two
//! differ; it is also the last to be left out for want of room. Imports inside of a longer text are
//! not followed.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use orchestrate_core::text::cut;
use orchestrate_core::text::git_path::{self, shown_path};

/// The files that may contain a folder's instructions; the first that there is counts.
const NAMES: [&str; 3] = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md"];

/// The maximum size of all instructions in an agent's system text: with them, little of a small
/// context is used.
const MAX_BYTES: usize = 6 * 1024;

/// The least room for a part of a file; what fits into less says nothing.
const LEAST_BYTES: usize = 512;

/// Room for the mark of a cut.
const MARK_BYTES: usize = 48;

/// The most folders that are searched for one task.
const MOST_FOLDERS: usize = 100;

/// The most imports in a chain, as in the product that invented them.
const MOST_IMPORTS: usize = 5;

/// The instructions that apply to one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Instructions {
    /// The nearest last.
    files: Vec<File>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    path: PathBuf,
    text: String,
}

impl Instructions {
    /// Collects the instructions for a task with these files; `read` returns a file of the base
    /// commit.
    ///
    /// # Errors
    ///
    /// Fails with the first file that cannot be read.
    pub(crate) fn of_files<E>(
        files: &[String],
        read: impl Fn(&Path) -> Result<Option<String>, E>,
    ) -> Result<Self, E> {
        let mut found: Vec<File> = Vec::new();
        for folder in folders(files) {
            let Some(file) = of_folder(&folder, &read)? else {
                continue;
            };
            // A link to a farther file, or an import of it, adds nothing.
            if found.iter().all(|other| other.text != file.text) {
                found.push(file);
            }
        }
        Ok(Self { files: found })
    }

    /// Returns the part of the system text with the instructions; empty if there are none.
    pub(crate) fn render(&self) -> String {
        if self.files.is_empty() {
            return String::new();
        }
        let mut room = MAX_BYTES;
        let (mut parts, mut left_out) = (Vec::new(), Vec::new());
        for file in self.files.iter().rev() {
            let path = shown_path(&file.path);
            let heading = format!("### {path}\n\n");
            let free = room.saturating_sub(heading.len());
            if file.text.len() > free {
                let is_cut = free >= LEAST_BYTES + MARK_BYTES;
                left_out.push(format!(
                    "{} `{path}`",
                    if is_cut { "a part of" } else { "all of" }
                ));
                if !is_cut {
                    continue;
                }
            }
            let text = cut(
                &file.text,
                if file.text.len() > free {
                    free - MARK_BYTES
                } else {
                    free
                },
            );
            room = free.saturating_sub(text.len());
            parts.push(format!("{heading}{text}"));
        }
        parts.reverse();
        let order = if parts.len() > 1 {
            "; where they differ, the last one counts"
        } else {
            ""
        };
        let mut text = format!(
            "\n\nInstructions of this project's owner{order}:\n\n{}",
            parts.join("\n\n")
        );
        if !left_out.is_empty() {
            left_out.reverse();
            text.push_str(&format!(
                "\n\nLeft out of these instructions because they are too long: {}. `read_file` \
                 shows these files.",
                left_out.join(", ")
            ));
        }
        text
    }
}

/// Returns the paths at which there may be instructions for tasks with these files.
pub(crate) fn places(files: &[String]) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for folder in folders(files) {
        places.extend(NAMES.iter().map(|name| folder.join(name)));
    }
    places
}

/// Returns the root and every folder on the way to these files, farther ones first. A path may be a
/// pattern, whose folders are those before its first wildcard; its last part may itself be a
/// folder.
fn folders(files: &[String]) -> Vec<PathBuf> {
    let mut folders = BTreeSet::from([PathBuf::new()]);
    for file in files {
        let mut folder = PathBuf::new();
        for part in Path::new(file)
            .components()
            .filter(|part| *part != Component::CurDir)
        {
            match part {
                Component::Normal(name)
                    if !name.to_string_lossy().contains(['*', '?', '[', '{']) =>
                {
                    folder.push(name)
                }
                _ => break,
            }
            folders.insert(folder.clone());
        }
    }
    let mut folders: Vec<PathBuf> = folders.into_iter().collect();
    folders.sort_by_key(|folder| folder.components().count());
    folders.truncate(MOST_FOLDERS);
    folders
}

/// Returns the instructions of one folder.
fn of_folder<E>(
    folder: &Path,
    read: &impl Fn(&Path) -> Result<Option<String>, E>,
) -> Result<Option<File>, E> {
    for name in NAMES {
        let path = folder.join(name);
        let Some(text) = read(&path)?.filter(|text| !text.trim().is_empty()) else {
            continue;
        };
        let text = imported(&path, text, read)?.trim().to_owned();
        return Ok(Some(File { path, text }));
    }
    Ok(None)
}

/// Returns a file's text; for a file that consists of an import alone, that of the imported file.
fn imported<E>(
    path: &Path,
    mut text: String,
    read: &impl Fn(&Path) -> Result<Option<String>, E>,
) -> Result<String, E> {
    let mut at = path.to_owned();
    for _ in 0..MOST_IMPORTS {
        let Some(target) = import(&at, &text) else {
            break;
        };
        let Some(next) = read(&target)? else { break };
        (at, text) = (target, next);
    }
    Ok(text)
}

/// Returns the file that a text imports, if the text is `@path` and nothing else, and the path
/// stays in the repository.
fn import(path: &Path, text: &str) -> Option<PathBuf> {
    let target = text
        .trim()
        .strip_prefix('@')
        .filter(|target| !target.contains(char::is_whitespace))?;
    git_path::resolved(path.parent()?, Path::new(target))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use super::*;

    fn of(tree: &[(&str, &str)], files: &[&str]) -> Vec<(String, String)> {
        let found = instructions(tree, files).files;
        found
            .into_iter()
            .map(|file| (file.path.display().to_string(), file.text))
            .collect()
    }

    fn instructions(tree: &[(&str, &str)], files: &[&str]) -> Instructions {
        let tree: BTreeMap<&Path, &str> = tree
            .iter()
            .map(|(path, text)| (Path::new(*path), *text))
            .collect();
        let read = |path: &Path| Ok::<_, Infallible>(tree.get(path).map(|text| (*text).to_owned()));
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        Instructions::of_files(&files, read).unwrap()
    }

    #[test]
    fn the_chain_follows_the_files_of_the_task() {
        let tree = [
            ("AGENTS.md", "root"),
            ("a/AGENTS.md", "a"),
            ("a/b/AGENTS.md", "a/b"),
            ("a/b/AGENTS.override.md", "a/b instead"),
            ("c/CLAUDE.md", "c"),
            ("d/AGENTS.md", " \n"),
            ("d/CLAUDE.md", "d"),
        ];
        let table: [(&[&str], &[&str]); 8] = [
            (&[], &["root"]),
            (&["x.rs"], &["root"]),
            (&["a/x.rs"], &["root", "a"]),
            (&["a/b/x.rs", "a/y.rs"], &["root", "a", "a/b instead"]),
            (&["a/*/x.rs"], &["root", "a"]),
            (&["./a/b"], &["root", "a", "a/b instead"]),
            (&["c/x.rs", "a/b/"], &["root", "a", "c", "a/b instead"]),
            (&["../a/x", "/c/x", "d/x.rs"], &["root", "d"]),
        ];
        for (files, expected) in table {
            let texts: Vec<String> = of(&tree, files).into_iter().map(|(_, text)| text).collect();
            assert_eq!(texts, expected, "{files:?}");
        }
    }

    #[test]
    fn an_import_alone_is_followed_and_adds_nothing_twice() {
        let one = |path: &str, text: &str| vec![(path.to_owned(), text.to_owned())];
        let files = ["a/x.rs"];
        assert_eq!(
            of(
                &[("AGENTS.md", "@CLAUDE.md\n"), ("CLAUDE.md", "root")],
                &files
            ),
            one("AGENTS.md", "root")
        );
        assert_eq!(
            of(
                &[("AGENTS.md", "root"), ("a/CLAUDE.md", "@../AGENTS.md")],
                &files
            ),
            one("AGENTS.md", "root")
        );
        assert_eq!(
            of(
                &[
                    ("CLAUDE.md", "@docs/x.md"),
                    ("docs/x.md", "@y.md"),
                    ("docs/y.md", "y")
                ],
                &[]
            ),
            one("CLAUDE.md", "y")
        );
        for unresolved in [
            "@nowhere.md",
            "@../x.md",
            "@/etc/passwd",
            "@~/x.md",
            "See @docs/x.md",
            "@AGENTS.md",
        ] {
            assert_eq!(
                of(&[("AGENTS.md", unresolved), ("docs/x.md", "x")], &[]),
                one("AGENTS.md", unresolved)
            );
        }
    }

    #[test]
    fn what_is_too_long_is_named_and_the_nearest_is_kept() {
        let (short, long) = ("Use tabs.", "é".repeat(4_000));
        assert_eq!(instructions(&[], &[]).render(), "");
        let one = instructions(&[("AGENTS.md", short)], &[]).render();
        assert_eq!(
            one,
            "\n\nInstructions of this project's owner:\n\n### AGENTS.md\n\nUse tabs."
        );
        let two = instructions(
            &[("AGENTS.md", short), ("a/AGENTS.md", "Use spaces.")],
            &["a/x"],
        )
        .render();
        let expected = "\n\nInstructions of this project's owner; where they differ, the last one \
                        counts:\n\n\
                        ### AGENTS.md\n\nUse tabs.\n\n### a/AGENTS.md\n\nUse spaces.";
        assert_eq!(two, expected);
        let cut = instructions(&[("AGENTS.md", &long), ("a/AGENTS.md", short)], &["a/x"]).render();
        assert!(
            cut.contains(" bytes left out …]")
                && cut.contains("### a/AGENTS.md\n\nUse tabs.\n\nLeft out"),
            "{cut}"
        );
        assert!(
            cut.ends_with("too long: a part of `AGENTS.md`. `read_file` shows these files."),
            "{cut}"
        );
        assert!(cut.len() < MAX_BYTES + 300, "{}", cut.len());
        let gone = instructions(
            &[
                ("AGENTS.md", short),
                ("a/AGENTS.md", &long),
                ("a/b/AGENTS.md", "b"),
            ],
            &["a/b/x"],
        );
        let gone = gone.render();
        assert!(
            gone.ends_with(
                "too long: all of `AGENTS.md`, a part of `a/AGENTS.md`. `read_file` shows these \
                 files."
            ),
            "{gone}"
        );
    }
}
