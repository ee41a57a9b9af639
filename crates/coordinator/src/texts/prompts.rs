//! All prompts of ours: embedded, and replaceable by the user's project.
//!
//! Templates have one feature, `{{name}}`; an unknown name is left unchanged, so that a text with
//! braces survives.

use std::collections::BTreeMap;
use std::path::Path;

use orchestrate_core::checks::EVIDENCE_BYTES;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::{Oid, block};
use orchestrate_git::{GitError, Repo};
use serde::{Deserialize, Serialize};

use crate::error::CoordinatorError;

/// The shipped texts by name.
const SHIPPED: [(&str, &str); 22] = [
    ("agent", include_str!("../../prompts/system/agent.md")),
    ("strict", include_str!("../../prompts/system/strict.md")),
    ("task", include_str!("../../prompts/system/task.md")),
    ("map", include_str!("../../prompts/system/map.md")),
    ("conflict", include_str!("../../prompts/system/conflict.md")),
    ("markers", include_str!("../../prompts/system/markers.md")),
    (
        "undecided",
        include_str!("../../prompts/system/undecided.md"),
    ),
    (
        "deletions",
        include_str!("../../prompts/system/deletions.md"),
    ),
    ("claims", include_str!("../../prompts/system/claims.md")),
    (
        "unstorable",
        include_str!("../../prompts/system/unstorable.md"),
    ),
    (
        "task_check",
        include_str!("../../prompts/system/task_check.md"),
    ),
    (
        "run_check",
        include_str!("../../prompts/system/run_check.md"),
    ),
    ("rejected", include_str!("../../prompts/system/rejected.md")),
    ("retried", include_str!("../../prompts/system/retried.md")),
    ("rest", include_str!("../../prompts/system/rest.md")),
    (
        "changes_requested",
        include_str!("../../prompts/system/changes_requested.md"),
    ),
    (
        "no_verdict",
        include_str!("../../prompts/system/no_verdict.md"),
    ),
    (
        "invalid_answer",
        include_str!("../../prompts/system/invalid_answer.md"),
    ),
    (
        "invalid_plan",
        include_str!("../../prompts/system/invalid_plan.md"),
    ),
    ("hook", include_str!("../../prompts/system/hook.md")),
    ("new_work", include_str!("../../prompts/system/new_work.md")),
    (
        "children_ended",
        include_str!("../../prompts/system/children_ended.md"),
    ),
];

/// The maximum size of a project's text in bytes: far more than fits into any context, and small
/// enough to be part of every assignment.
const PROJECT_TEXT_BYTES: usize = 256 * 1024;

/// The texts of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prompts {
    project: BTreeMap<String, String>,
}

impl Prompts {
    /// Loads the project's own prompts (`.orchestrate/prompts/system/<name>.md`) from the base
    /// commit, so that no agent can change another agent's instructions.
    ///
    /// # Errors
    ///
    /// Fails with the first text that cannot be read.
    pub(crate) fn of_project<E>(
        read: impl Fn(&str) -> Result<Option<String>, E>,
    ) -> Result<Self, E> {
        let mut project = BTreeMap::new();
        for (name, _) in SHIPPED {
            if let Some(text) = read(&format!(".orchestrate/prompts/system/{name}.md"))? {
                project.insert(name.to_owned(), text);
            }
        }
        Ok(Self { project })
    }

    /// Returns a prompt with its placeholders filled in.
    pub(crate) fn render(&self, name: &str, places: &[(&str, &str)]) -> String {
        let shipped = || {
            SHIPPED
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, text)| (*text).to_owned())
        };
        let template = self
            .project
            .get(name)
            .cloned()
            .or_else(shipped)
            .unwrap_or_default();
        fill(&template, places)
    }

    /// Returns a prompt with its placeholders filled in, untrusted text in blocks.
    pub(crate) fn render_around(
        &self,
        name: &str,
        ours: &[(&str, &str)],
        material: &[(&str, &str)],
    ) -> String {
        let blocks: Vec<(&str, String)> = material
            .iter()
            .map(|(place, text)| (*place, block(&[name, place], text)))
            .collect();
        let blocks = blocks.iter().map(|(place, text)| (*place, text.as_str()));
        let places: Vec<(&str, &str)> = ours.iter().copied().chain(blocks).collect();
        self.render(name, &places)
    }

    /// Returns an agent's system text: what holds for every agent, what its report must contain if
    /// it is strict about that, and its role.
    pub(crate) fn system(&self, role_body: &str, strict_hand_back: bool) -> String {
        let report = if strict_hand_back {
            format!("\n{}", self.render("strict", &[]))
        } else {
            String::new()
        };
        format!(
            "{}{report}\n{}",
            self.render("agent", &[]),
            role_body.trim()
        )
    }
}

/// Returns the names of the prompts.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

/// Reads a project's text at a commit, or returns `None` if there is no such file.
pub(crate) fn project_text(
    repo: &Repo,
    base: &Oid,
    path: &Path,
) -> Result<Option<String>, CoordinatorError> {
    let unusable = |reason: String| CoordinatorError::BadFile {
        path: path.to_owned(),
        reason,
    };
    let bytes = match repo
        .store()
        .read_file_within(base, path, PROJECT_TEXT_BYTES)
    {
        Err(GitError::TooLarge { limit, .. }) => {
            return Err(unusable(format!(
                "it is longer than {limit} bytes, too long for agents to read; shorten it and \
                 commit it, since agents get the committed version"
            )));
        }
        read => read?,
    };
    let Some(bytes) = bytes else { return Ok(None) };
    let reason =
        "it is not UTF-8; save it as UTF-8 and commit it, since agents get what is committed";
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| unusable(reason.to_owned()))
}

/// Reads a project's text at a commit like [`project_text`], but passes over a link that leads out
/// of the commit.
pub(crate) fn text_within(
    repo: &Repo,
    base: &Oid,
    path: &Path,
) -> Result<TextWithin, CoordinatorError> {
    match project_text(repo, base, path) {
        Ok(Some(text)) => Ok(TextWithin::Found(text)),
        Ok(None) => Ok(TextWithin::Missing),
        Err(CoordinatorError::Git(GitError::LinkLeadsOut { .. })) => Ok(TextWithin::LinkLeadsOut),
        Err(error) => Err(error),
    }
}

/// What a commit has at the path of a text.
pub(crate) enum TextWithin {
    /// This text.
    Found(String),
    /// No file.
    Missing,
    /// A link to what the commit does not contain.
    LinkLeadsOut,
}

/// Returns the warning about a link of a project that is passed over.
pub(crate) fn passed_over(link: &Path) -> String {
    format!(
        "{} is a link to a file that the commit does not contain, and is ignored",
        shown_path(link)
    )
}

/// Fills `{{name}}` in one pass, so that a value is never taken for a placeholder.
fn fill(template: &str, places: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let place = after.split_once("}}").and_then(|(name, tail)| {
            places
                .iter()
                .find(|(known, _)| *known == name.trim())
                .map(|(_, value)| (*value, tail))
        });
        match place {
            Some((value, tail)) => {
                out.push_str(value);
                rest = tail;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Lists files, as many as are returned to an agent, and says how many more there are: a merge may
/// conflict in thousands.
pub(crate) fn listed(files: &[String], between: &str) -> String {
    let mut text = String::new();
    for (at, file) in files.iter().enumerate() {
        if at > 0 {
            if text.len() + between.len() + file.len() > EVIDENCE_BYTES {
                return format!("{text}{between}and {} more", files.len() - at);
            }
            text.push_str(between);
        }
        text.push_str(file);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_never_taken_for_a_place() {
        assert_eq!(
            fill("{{a}} {{b}} {{c}} {{", &[("a", "{{b}}"), ("b", "1")]),
            "{{b}} 1 {{c}} {{"
        );
    }

    #[test]
    fn no_role_is_told_to_run_commands_that_it_may_have_no_tool_for() {
        for (name, text) in SHIPPED {
            let sentences = text
                .split_inclusive(['.', ':'])
                .map(|sentence| sentence.replace('\n', " "));
            let of_the_shell = sentences.filter(|said| {
                ["shell", "`touch", "`git show"]
                    .iter()
                    .any(|w| said.contains(w))
            });
            for sentence in of_the_shell {
                assert!(
                    sentence
                        .trim_start()
                        .starts_with("If you can run commands, "),
                    "{name}: {sentence}"
                );
            }
        }
    }

    #[test]
    fn of_thousands_of_files_as_many_are_listed_as_fit() {
        let files: Vec<String> = (0..10_000)
            .map(|number| format!("src/file-{number}.rs (contents)"))
            .collect();
        for between in ["\n", ", "] {
            let text = listed(&files, between);
            let (names, more) = text.rsplit_once(&format!("{between}and ")).unwrap();
            let shown = names.split(between).count();
            assert_eq!(more, format!("{} more", files.len() - shown));
            assert!(names.len() <= EVIDENCE_BYTES && shown > 100, "{shown}");
            // The control: as many files as fit are listed whole.
            assert_eq!(listed(files.get(..shown).unwrap(), between), names);
        }
        assert_eq!(listed(&[], ", "), "");
    }

    #[test]
    fn a_project_overrides_a_text() {
        let read = |path: &str| match path {
            ".orchestrate/prompts/system/agent.md" => {
                Ok::<_, std::convert::Infallible>(Some("Ours.".to_owned()))
            }
            _ => Ok(None),
        };
        let prompts = Prompts::of_project(read).unwrap();
        assert_eq!(prompts.system("Role.", false), "Ours.\nRole.");
        assert!(prompts.system("Role.", true).contains("a line `Claims:`"));
    }
}
