//! The `.tool` files of a run: those of the user's folder, and those of the project that the user
//! trusts.
//!
//! A project's files are read from the base commit, so that no agent can define a tool for another
//! one, and each counts only after the user has consented to its content. A file that cannot be
//! used is left out and reported. A run freezes the files that it starts with.

use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use orchestrate_core::event::settings::ToolFile;
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_files::{Links, entries, read_plain};
use orchestrate_git::{GitError, Repo};
use orchestrate_settings::consent::{Consents, ProjectCommand};
use orchestrate_tools::{
    Extensions, MAX_TOOL_FILE_BYTES, Severity, ToolFileProblem, ToolRegistry, add_tool_files,
    plain_tools,
};

use crate::error::CoordinatorError;
use crate::texts::never_replayed::never_replayed;

/// The folder of a project's own tools.
pub(crate) const PROJECT_TOOLS: &str = ".orchestrate/tools";
/// The folder of the user's own tools, in the folder of their configuration.
const USER_TOOLS: &str = "tools";
/// How the names of the files end.
const ENDING: &str = "tool";

/// The tools that a run would have, and what becomes of each `.tool` file.
#[derive(Clone, Default)]
pub struct FoundTools {
    /// The tools: the built-in ones, the shipped files, those of the program and those below.
    pub registry: ToolRegistry,
    /// The files that define some of them.
    pub files: Vec<ToolFile>,
    /// Why other files are skipped.
    pub problems: Vec<ToolFileProblem>,
    /// The project's files, as the user is asked about them.
    pub of_project: Vec<ProjectCommand>,
    /// Those of them that the user does not trust yet, which are skipped.
    pub untrusted: Vec<ProjectCommand>,
    /// The tools whose results are never replayed.
    pub never_replayed: Vec<String>,
    /// The tools that the program adds.
    extensions: Extensions,
}

impl FoundTools {
    /// Finds the tools of the user's folder, and of a commit, beside those of the program.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be read; a file that cannot be used is reported as a problem.
    pub(crate) fn load(
        repo: &Repo,
        base: &Oid,
        user_folder: Option<&Path>,
        consents: &Consents,
        extensions: &Extensions,
    ) -> Result<Self, CoordinatorError> {
        let mut found = Self {
            extensions: extensions.clone(),
            ..Self::default()
        };
        if let Some(folder) = user_folder {
            found.read_folder(&folder.join(USER_TOOLS), Links::Anywhere);
        }
        let project = repo
            .workdir()
            .canonicalize()
            .unwrap_or_else(|_| repo.workdir().to_owned());
        for path in repo.store().list_files(base, Path::new(PROJECT_TOOLS))? {
            if !is_tool_file(&path) {
                continue;
            }
            match of_commit(repo, base, &path) {
                Err(problem) => found.problems.push(problem),
                Ok(file) => {
                    let asked = question(&project, &file);
                    if consents.covers(&asked) {
                        found.files.push(file);
                    } else {
                        found.untrusted.push(asked.clone());
                    }
                    found.of_project.push(asked);
                }
            }
        }
        let mut found = found.registered()?;
        found.never_replayed =
            never_replayed(Some((repo, base)), user_folder, found.registry.names())?;
        Ok(found)
    }

    /// Finds the tools of the user's folder alone.
    ///
    /// # Errors
    ///
    /// Fails if a shipped text is malformed, or the user's list of what is never replayed cannot be
    /// read.
    pub fn without_project(user_folder: &Path) -> Result<Self, CoordinatorError> {
        let mut found = Self::default();
        found.read_folder(&user_folder.join(USER_TOOLS), Links::Anywhere);
        let mut found = found.registered()?;
        found.never_replayed = never_replayed(None, Some(user_folder), found.registry.names())?;
        Ok(found)
    }

    /// Returns the problems that these files have, beside the other files of a run here.
    ///
    /// # Errors
    ///
    /// Fails if a shipped text is malformed.
    pub fn check(
        &self,
        paths: &[PathBuf],
        top: Option<&Path>,
    ) -> Result<Vec<ToolFileProblem>, CoordinatorError> {
        let checked: Vec<PathBuf> = paths.iter().map(|path| real_path(path)).collect();
        let placed = |file: &ToolFile| {
            top.map_or_else(|| PathBuf::from(&file.path), |top| top.join(&file.path))
        };
        let is_other = |file: &&ToolFile| !checked.contains(&real_path(&placed(file)));
        let others: Vec<ToolFile> = self.files.iter().filter(is_other).cloned().collect();
        let mut registry = self.without_files()?;
        // Their own problems are not asked about.
        add_tool_files(&mut registry, &others);
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        for path in paths {
            match read_tool_file(path, Links::Anywhere) {
                Ok(file) => files.push(file),
                Err(problem) => problems.push(problem),
            }
        }
        problems.extend(add_tool_files(&mut registry, &files));
        Ok(problems)
    }

    /// Reads the files of a folder. A missing folder has none.
    fn read_folder(&mut self, folder: &Path, links: Links<'_>) {
        match files_in(folder) {
            Ok(paths) => {
                for path in paths {
                    match read_tool_file(&path, links) {
                        Ok(file) => self.files.push(file),
                        Err(problem) => self.problems.push(problem),
                    }
                }
            }
            Err(error) => self.problems.push(problem(
                folder,
                format!("the folder cannot be read: {error}"),
            )),
        }
    }

    /// Returns the built-in tools and those of the program.
    fn without_files(&self) -> Result<ToolRegistry, CoordinatorError> {
        let mut registry = plain_tools()?;
        self.extensions.add_to(&mut registry, &|_| None)?;
        Ok(registry)
    }

    /// Adds the files to the other tools, and leaves out those with a problem.
    fn registered(mut self) -> Result<Self, CoordinatorError> {
        self.registry = self.without_files()?;
        let problems = add_tool_files(&mut self.registry, &self.files);
        self.files
            .retain(|file| !problems.iter().any(|problem| problem.file == file.path));
        self.problems.extend(problems);
        Ok(self)
    }
}

fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the names that permission rules may have: those of all tools, and of the files of the
/// user's folder and of a checkout. Whether a file of a checkout counts is decided when a run
/// starts.
///
/// # Errors
///
/// Fails if a shipped text is malformed.
pub fn tool_names(
    user_folder: Option<&Path>,
    checkout: Option<&Path>,
) -> Result<ToolNames, CoordinatorError> {
    let mut found = FoundTools::default();
    if let Some(folder) = user_folder {
        found.read_folder(&folder.join(USER_TOOLS), Links::Anywhere);
    }
    if let Some(checkout) = checkout {
        found.read_folder(&checkout.join(PROJECT_TOOLS), Links::Below(checkout));
    }
    Ok(found.registered()?.registry.names().clone())
}

/// Returns what the user is asked about a project's file. The consent holds for exactly this
/// content.
fn question(project: &Path, file: &ToolFile) -> ProjectCommand {
    ProjectCommand {
        project: project.to_owned(),
        key: file.path.clone(),
        command: file.text.clone(),
        network: None,
        place: file.path.clone(),
    }
}

/// Reports whether the name of a file is that of a `.tool` file.
pub(crate) fn is_tool_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

fn of_commit(repo: &Repo, base: &Oid, path: &Path) -> Result<ToolFile, ToolFileProblem> {
    let read = repo
        .store()
        .read_file_within(base, path, MAX_TOOL_FILE_BYTES);
    let bytes = read.map_err(|error| match error {
        GitError::TooLarge { .. } => problem(path, too_large()),
        other => problem(path, format!("the file cannot be read: failed to {other}")),
    })?;
    text_of(
        path,
        bytes.ok_or_else(|| problem(path, "it is not a file".to_owned()))?,
    )
}

fn read_tool_file(path: &Path, links: Links<'_>) -> Result<ToolFile, ToolFileProblem> {
    let bytes = read_plain(path, links, MAX_TOOL_FILE_BYTES as u64);
    text_of(
        path,
        bytes.map_err(|error| problem(path, format!("the file cannot be read: {error}")))?,
    )
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<ToolFile, ToolFileProblem> {
    if bytes.len() > MAX_TOOL_FILE_BYTES {
        return Err(problem(path, too_large()));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(ToolFile {
            path: shown_path(path),
            text,
        }),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let before = error.as_bytes().iter().take(valid);
            let line = before.filter(|byte| **byte == b'\n').count() + 1;
            let line = u32::try_from(line).ok();
            Err(ToolFileProblem {
                line,
                ..problem(path, "the file is not UTF-8".to_owned())
            })
        }
    }
}

fn too_large() -> String {
    format!("the file is larger than {} KiB", MAX_TOOL_FILE_BYTES >> 10)
}

fn problem(path: &Path, reason: String) -> ToolFileProblem {
    ToolFileProblem {
        file: shown_path(path),
        line: None,
        reason,
        severity: Severity::Error,
    }
}

/// Lists the `.tool` files of a folder by name.
fn files_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = entries(folder)?;
    files.retain(|path| is_tool_file(path));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIAS: &str = "@name peek\n@wrapped Read\n";

    #[test]
    fn a_folder_gives_its_files_and_says_which_cannot_be_used() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(USER_TOOLS);
        assert!(
            FoundTools::without_project(home.path())
                .unwrap()
                .problems
                .is_empty()
        );
        std::fs::create_dir(&folder).unwrap();
        let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
        put("a.tool", ALIAS.as_bytes());
        put("b.tool", &vec![b' '; 20 << 20]);
        put("c.tool", b"@name c\n@wrapped \xff\n");
        put("d.tool", b"@nam d\n@wrapped Read\n");
        put("e.tool", b"@name PEEK\n@wrapped Bash\n");
        put("read.me", b"not a tool");
        std::fs::create_dir(folder.join("f.tool")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.join("g.tool")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.join("h.tool"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        std::os::unix::fs::symlink("a.tool", folder.join("z.tool")).unwrap();
        let found = FoundTools::without_project(home.path()).unwrap();
        let mut said: Vec<String> = found
            .problems
            .iter()
            .map(|problem| {
                format!("{:?} {}", problem.severity, problem)
                    .replace(&format!("{}/", folder.display()), "")
            })
            .collect();
        said.sort();
        let expected = [
            "Error b.tool: the file is larger than 64 KiB",
            "Error c.tool:2: the file is not UTF-8",
            "Error d.tool:1: unknown annotation `@nam`; did you mean `@name`?",
            "Error f.tool: the file cannot be read: is a directory",
            "Error g.tool: the file cannot be read: No such file or directory (os error 2)",
            "Error h.tool: the file cannot be read: it is a pipe, a socket or a device, not a file",
            "Warning e.tool:1: the name `PEEK` is taken: `a.tool` defines it; the first definition \
             counts",
            "Warning z.tool:1: the name `peek` is taken: `a.tool` defines it; the first definition \
             counts",
        ];
        assert_eq!(said, expected);
        let files: Vec<&str> = found.files.iter().map(|file| file.text.as_str()).collect();
        assert_eq!(files, [ALIAS]);
        assert_eq!(found.registry.names().canonical("Peek"), "read_file");
        // A file that is checked does not stand in its own way.
        let checked = found.check(&[folder.join("a.tool")], None).unwrap();
        assert_eq!(checked, []);
        let checked = found
            .check(&[folder.join("e.tool"), folder.join("d.tool")], None)
            .unwrap();
        assert_eq!(checked.len(), 2, "{checked:?}");
    }

    #[test]
    fn a_checkout_shows_only_its_own_files() {
        let (outside, checkout) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = checkout.path().join(PROJECT_TOOLS);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(outside.path().join("x.tool"), ALIAS).unwrap();
        std::os::unix::fs::symlink(outside.path().join("x.tool"), folder.join("x.tool")).unwrap();
        std::fs::write(folder.join("y.tool"), ALIAS.replace("peek", "look")).unwrap();
        let names = tool_names(None, Some(checkout.path())).unwrap();
        assert_eq!(
            (names.canonical("look"), names.canonical("peek")),
            ("read_file".to_owned(), "peek".to_owned())
        );
    }
}
