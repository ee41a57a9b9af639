//! The settings that a project's files suggest, with the reason for each.

use std::collections::BTreeSet;
use std::path::Path;

use orchestrate_core::shell_word;

use crate::suggest::ecosystems::{Ecosystem, Installed, Kind, ecosystems_of, managers};
use crate::suggest::project_files::ProjectFiles;

/// The settings that a project's files suggest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// What was found, in the order of the table.
    pub found: Vec<Found>,
    /// The command that installs what the project needs, with the network.
    pub setup: Option<String>,
    /// The command that runs the project's tests.
    pub verify: Option<String>,
    /// The lines for `.worktreeinclude`.
    pub include: Vec<String>,
    /// Files of the checkout that may hold passwords, and come along only if the user wants them
    /// to.
    pub secrets: Vec<String>,
    /// What the user should know, in sentences.
    pub notes: Vec<String>,
}

/// An ecosystem that a project uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: &'static str,
    /// The program that installs or runs what it needs.
    pub manager: &'static str,
    /// The file that shows it, relative to the project.
    pub by: String,
}

/// A folder of a project.
struct Folder<'a> {
    /// Its name; empty for the top.
    name: &'a str,
    files: &'a ProjectFiles,
    /// What git ignores, relative to the project.
    ignored: &'a BTreeSet<String>,
}

/// What one ecosystem adds to a suggestion.
struct Part {
    kind: Kind,
    setup: Option<String>,
    verify: Option<String>,
}

impl Suggestion {
    /// Looks at a project: at its top, and at its folders if nothing is found there. `ignored` are
    /// the files and folders of the checkout that git ignores; `is_found` reports whether commands
    /// find a program.
    pub fn read(
        root: &Path,
        ignored: &BTreeSet<String>,
        is_found: &dyn Fn(&str) -> bool,
    ) -> Suggestion {
        let programs = managers()
            .into_iter()
            .filter(|name| is_found(name))
            .map(str::to_owned)
            .collect();
        let top = Suggestion::from_files(
            &[(String::new(), ProjectFiles::read(root, &programs))],
            ignored,
        );
        if !top.found.is_empty() {
            return top;
        }
        Suggestion::from_files(&ProjectFiles::read_below(root, &programs), ignored)
    }

    /// Returns what the files of these folders suggest, each with its name; the empty name stands
    /// for the top.
    pub fn from_files(
        folders: &[(String, ProjectFiles)],
        ignored: &BTreeSet<String>,
    ) -> Suggestion {
        let mut suggestion = Suggestion {
            secrets: secrets(ignored),
            ..Suggestion::default()
        };
        let mut parts = Vec::new();
        for (name, files) in folders {
            let folder = Folder {
                name,
                files,
                ignored,
            };
            for (row, by) in ecosystems_of(files) {
                parts.push(suggestion.add(&folder, row, &by));
            }
        }
        let is_checked = parts
            .iter()
            .any(|part| part.kind != Kind::Make && part.verify.is_some());
        let checks = parts
            .iter()
            .filter(|part| part.kind != Kind::Make || !is_checked);
        suggestion.verify = joined(checks.filter_map(|part| part.verify.as_deref()));
        suggestion.setup = joined(parts.iter().filter_map(|part| part.setup.as_deref()));
        suggestion
    }

    /// Adds what an ecosystem brings along and what is to be said of it, and returns its commands.
    fn add(&mut self, folder: &Folder<'_>, row: &Ecosystem, by: &str) -> Part {
        let files = folder.files;
        self.found.push(Found {
            name: row.name,
            manager: row.manager,
            by: folder.path(by),
        });
        let lock = row.locks.iter().find(|lock| files.has(lock));
        let wanted = lock.and_then(|_| (row.setup)(files));
        let setup = wanted.clone().filter(|_| files.finds(row.manager));
        let installed = if setup.is_some() {
            Installed::BySetup
        } else {
            Installed::Already
        };
        if setup.is_none() {
            let before = self.include.len();
            self.bring(folder, row);
            if let (Some(lock), Some(wanted)) = (lock, wanted) {
                let instead = match self.include.get(before..) {
                    Some([]) | None => "nothing of it lies in the checkout either".to_owned(),
                    Some(brought) => format!(
                        "{} of the checkout is brought instead",
                        brought.join(" and ")
                    ),
                };
                let (lock, manager) = (folder.path(lock), row.manager);
                self.notes.push(format!(
                    "{lock}: commands find no `{manager}` for `{wanted}`; {instead}"
                ));
            }
        }
        let verify = (row.verify)(files, installed);
        let within = |command: String| folder.command(&command);
        Part {
            kind: row.kind,
            setup: setup.map(within),
            verify: verify.map(within),
        }
    }

    /// Brings along what lies in the checkout, if git ignores it: of anything else, a worktree has
    /// its own.
    fn bring(&mut self, folder: &Folder<'_>, row: &Ecosystem) {
        for name in row.brought.iter().filter(|name| folder.files.has(name)) {
            let path = folder.path(name);
            let is_ignored = Path::new(&path).ancestors().any(|above| {
                above
                    .to_str()
                    .is_some_and(|above| folder.ignored.contains(above))
            });
            if is_ignored {
                self.include.push(format!("{path}/"));
            } else {
                self.notes.push(format!(
                    "{path} is not brought to worktrees unless git ignores it: add `{path}/` to \
                     .gitignore, unless it is committed"
                ));
            }
        }
    }
}

impl Folder<'_> {
    fn path(&self, below: &str) -> String {
        if self.name.is_empty() {
            below.to_owned()
        } else {
            format!("{}/{below}", self.name)
        }
    }

    fn command(&self, command: &str) -> String {
        if self.name.is_empty() {
            command.to_owned()
        } else {
            format!("(cd {} && {command})", shell_word(self.name))
        }
    }
}

fn joined<'a>(commands: impl Iterator<Item = &'a str>) -> Option<String> {
    let commands: Vec<&str> = commands.collect();
    (!commands.is_empty()).then(|| commands.join(" && "))
}

/// Returns the ignored files that programs read passwords from by custom: `.env`, and `.env.local`
/// and the like.
fn secrets(ignored: &BTreeSet<String>) -> Vec<String> {
    let is_secret = |path: &&String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name == ".env" || name.starts_with(".env.")
    };
    ignored.iter().filter(is_secret).cloned().collect()
}

#[cfg(test)]
mod tests;
