//! A run's input from its project besides the plan: roles, prompts, descriptions of tools, skills,
//! and instructions.
//!
//! All of it is read from the run's base commit, so that no agent can change another agent's
//! instructions, and before the run starts: ignoring an unreadable text would silently change the
//! run.

use std::collections::BTreeMap;
use std::path::Path;

use orchestrate_core::Oid;
use orchestrate_core::event::settings::ToolFile;
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::text::similar::nearest;
use orchestrate_git::Repo;
use orchestrate_tools::{
    Extensions, PromptFile, Severity, ToolRegistry, add_tool_files, builtin_tools, plain_tools,
    unknown_parameters,
};

use crate::error::CoordinatorError;
use crate::texts::instructions::{self, Instructions};
use crate::texts::prompts;
use crate::texts::prompts::{Prompts, TextWithin, passed_over, project_text, text_within};
use crate::texts::roles::Roles;
use crate::texts::skills::Skills;
use crate::texts::tool_files::{PROJECT_TOOLS, is_tool_file};

/// The folder of a project's own descriptions of tools.
const TOOL_WORDS: &str = ".orchestrate/prompts/tools";
/// The folder of a project's own prompts.
const SYSTEM_TEXTS: &str = ".orchestrate/prompts/system";
/// The folder of both.
const PROMPTS: &str = ".orchestrate/prompts";
/// The folder of a project's own texts and tools.
const PROJECT_FOLDER: &str = ".orchestrate";
/// The maximum number of files without effect that are named.
const MOST_NAMED: usize = 20;

/// A run's input from its project.
pub(crate) struct ProjectTexts {
    pub(crate) roles: Roles,
    pub(crate) prompts: Prompts,
    /// The tools, with the project's descriptions, and those of the run's `.tool` files.
    pub(crate) tools: ToolRegistry,
    pub(crate) skills: Skills,
}

impl ProjectTexts {
    /// Reads the project's texts at a commit, and the roles and skills of the user's folder, for a
    /// run with these `.tool` files and the tools of the program.
    ///
    /// # Errors
    ///
    /// Fails with the first file that cannot be read.
    pub(crate) fn load(
        repo: &Repo,
        base: &Oid,
        user_folder: Option<&Path>,
        tool_files: &[ToolFile],
        extensions: &Extensions,
    ) -> Result<Self, CoordinatorError> {
        let mut known = plain_tools()?;
        extensions.add_to(&mut known, &|_| None)?;
        let words = tool_words(repo, base, known.names())?;
        let own_words = |name: &str| words.get(name).cloned();
        let mut tools = if words.is_empty() {
            plain_tools()?
        } else {
            builtin_tools(&own_words)?
        };
        extensions.add_to(&mut tools, &own_words)?;
        let problems = add_tool_files(&mut tools, tool_files);
        // A name that has been taken since, by a newer version of this program, is no reason to
        // give a run up.
        if let Some(problem) = problems
            .iter()
            .find(|problem| problem.severity == Severity::Error)
        {
            let reason = problem.to_string();
            return Err(CoordinatorError::BadFile {
                path: Path::new(&problem.file).to_owned(),
                reason,
            });
        }
        // Every agent gets those of the root; those of other folders are read for the tasks that
        // need them.
        instructions(repo, base, &[])?;
        Ok(Self {
            roles: Roles::load(repo, base, user_folder, tools.names())?,
            prompts: Prompts::of_project(|path| project_text(repo, base, Path::new(path)))?,
            tools,
            skills: Skills::load(repo, base, user_folder)?,
        })
    }
}

/// Returns the names of the built-in tools.
///
/// # Errors
///
/// Fails if the shipped description of a tool is malformed.
pub(crate) fn builtin_names() -> Result<ToolNames, CoordinatorError> {
    Ok(plain_tools()?.names().clone())
}

/// Reads the instructions at a commit for a task with these files.
///
/// # Errors
///
/// Fails with the first file that cannot be read.
pub(crate) fn instructions(
    repo: &Repo,
    base: &Oid,
    files: &[String],
) -> Result<Instructions, CoordinatorError> {
    Instructions::of_files(files, |path| match text_within(repo, base, path)? {
        TextWithin::Found(text) => Ok(Some(text)),
        TextWithin::Missing | TextWithin::LinkLeadsOut => Ok(None),
    })
}

/// Reads the project's own descriptions of tools, by tool name.
///
/// # Errors
///
/// Fails if a file cannot be read, or if two files describe the same tool.
fn tool_words(
    repo: &Repo,
    base: &Oid,
    names: &ToolNames,
) -> Result<BTreeMap<String, PromptFile>, CoordinatorError> {
    let mut words: BTreeMap<String, PromptFile> = BTreeMap::new();
    for path in repo.store().list_files(base, Path::new(TOOL_WORDS))? {
        let Some(tool) = described_tool(&path, names) else {
            continue;
        };
        let Some(text) = project_text(repo, base, &path)? else {
            continue;
        };
        let file = PromptFile {
            path: shown_path(&path),
            text,
        };
        if let Some(other) = words.insert(tool.clone(), file) {
            let reason = format!(
                "{} describes `{tool}` as well; keep one of them",
                other.path
            );
            return Err(CoordinatorError::BadFile { path, reason });
        }
    }
    Ok(words)
}

/// Lists the files of prompts and tools at a commit that have no effect, those of instructions for
/// tasks with these files, and descriptions of parameters that a tool does not have, each with its
/// location.
///
/// # Errors
///
/// Fails if a description is malformed or cannot be read.
pub(crate) fn without_effect(
    repo: &Repo,
    base: &Oid,
    files: &[String],
) -> Result<Vec<String>, CoordinatorError> {
    let (names, mut found) = (builtin_names()?, Vec::new());
    for path in instructions::places(files) {
        if matches!(text_within(repo, base, &path)?, TextWithin::LinkLeadsOut) {
            found.push(passed_over(&path));
        }
    }
    for path in repo.store().list_files(base, Path::new(TOOL_WORDS))? {
        let Some(tool) = described_tool(&path, &names) else {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            found.push(for_nothing(
                &path,
                "no such tool exists",
                nearest(&name, names.names()),
            ));
            continue;
        };
        let Some(text) = project_text(repo, base, &path)? else {
            continue;
        };
        let unknown = unknown_parameters(
            &tool,
            &PromptFile {
                path: shown_path(&path),
                text,
            },
        )?;
        found.extend(
            unknown.iter().map(|place| {
                format!("{place} is not a parameter of `{tool}`, so it has no effect")
            }),
        );
    }
    for path in repo.store().list_files(base, Path::new(SYSTEM_TEXTS))? {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_text = path.extension().is_some_and(|ending| ending == "md");
        if !is_text || !prompts::names().any(|known| known == name) {
            found.push(for_nothing(
                &path,
                "no such prompt exists",
                nearest(&name, prompts::names()),
            ));
        }
    }
    for path in repo.store().list_files(base, Path::new(PROMPTS))? {
        found.push(for_nothing(
            &path,
            "prompts are read from `system` and `tools` in this folder",
            None,
        ));
    }
    for path in repo.store().list_files(base, Path::new(PROJECT_FOLDER))? {
        if [PROJECT_TOOLS, PROMPTS]
            .iter()
            .any(|folder| path == Path::new(folder))
        {
            found.push(for_nothing(
                &path,
                "only a folder is read here, and this is a link or a file",
                None,
            ));
        }
    }
    for path in repo.store().list_files(base, Path::new(PROJECT_TOOLS))? {
        if !is_tool_file(&path) {
            found.push(for_nothing(
                &path,
                "only files that end in `.tool` are read here",
                None,
            ));
        }
    }
    if found.len() > MOST_NAMED {
        let more = found.split_off(MOST_NAMED).len();
        found.push(format!(
            "{more} more files of `.orchestrate` have no effect"
        ));
    }
    Ok(found)
}

fn for_nothing(path: &Path, why: &str, nearest: Option<&str>) -> String {
    let near = nearest
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default();
    format!(
        "{}: {why}, so this file has no effect{near}",
        shown_path(path)
    )
}

/// Returns the built-in tool that a file describes: `<name>.xml` or `<name>_prompt.xml`, by any of
/// its names.
fn described_tool(path: &Path, names: &ToolNames) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".xml")?;
    let name = names.canonical(name.strip_suffix("_prompt").unwrap_or(name));
    names.tool(&name).is_some().then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_described_under_each_of_its_names() {
        let names = builtin_names().unwrap();
        let table = [
            ("read_file.xml", Some("read_file")),
            ("read_file_prompt.xml", Some("read_file")),
            ("bash_prompt.xml", Some("run_shell_command")),
            ("LS.xml", Some("list_directory")),
            ("read_file.md", None),
            ("fetch_url_prompt.xml", Some("fetch_url")),
            ("no_such_tool_prompt.xml", None),
        ];
        for (name, expected) in table {
            assert_eq!(
                described_tool(&Path::new(TOOL_WORDS).join(name), &names).as_deref(),
                expected,
                "{name}"
            );
        }
    }
}
