//! The Agent Skills of a run: those of the project at the base commit, and the user's.
//!
//! Agents see the name and the description of each; the tool `read_skill` returns the body, and
//! other files of its folder. A skill that breaks the specification is left out and named in a
//! warning.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{Oid, block};
use orchestrate_files::{Links, entries, read_plain};
use orchestrate_git::{GitError, Repo};
use orchestrate_roles::Skill;
use orchestrate_roles::skill::{MAX_SKILL_BYTES, SKILL_FILE};
use serde::{Deserialize, Serialize};

use crate::error::CoordinatorError;
use crate::ruling::Ruling;

/// The folders of a project's skills, nearest first.
const PROJECT_FOLDERS: [&str; 2] = [".agents/skills", ".claude/skills"];

/// The most skills of a run.
const MOST_SKILLS: usize = 200;

/// The maximum size of the list of skills in the system text.
const LIST_BYTES: usize = 4 * 1024;

/// How much of a description is listed, which is enough to tell when to use the skill.
const DESCRIPTION_CHARS: usize = 300;

/// The maximum size of a file of a skill.
const SKILL_FILE_BYTES: usize = 256 * 1024;

/// The skills of a run, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skills {
    found: BTreeMap<String, Found>,
    left_out: Vec<String>,
}

/// A skill and its folder.
#[derive(Clone, Debug)]
struct Found {
    skill: Skill,
    folder: Folder,
}

#[derive(Clone, Debug)]
enum Folder {
    /// In the base commit.
    Project(PathBuf),
    /// In the user's configuration.
    User(PathBuf),
}

/// A file below a skill's folder.
#[derive(Debug, PartialEq, Eq)]
enum SkillFile {
    InCommit(PathBuf),
    OfUser { folder: PathBuf, path: PathBuf },
}

/// Why a skill, or a file of it, cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub(crate) enum SkillRefused {
    #[error("there is no skill `{name}`; the skills: {known}")]
    Unknown { name: String, known: String },
    #[error(
        "the skill `{name}` has no file `{file}`; its body names its files, relative to its folder"
    )]
    NoFile { name: String, file: String },
    #[error("the file `{file}` of the skill `{name}` has more than {SKILL_FILE_BYTES} bytes")]
    TooLarge { name: String, file: String },
    #[error("the file `{file}` of the skill `{name}` is not UTF-8 text")]
    NoText { name: String, file: String },
}

impl Skills {
    /// Loads the skills of the project at a commit, and those of the user's folder.
    ///
    /// # Errors
    ///
    /// Fails if the commit cannot be read. A skill that cannot be read is left out.
    pub(crate) fn load(
        repo: &Repo,
        base: &Oid,
        user_folder: Option<&Path>,
    ) -> Result<Self, CoordinatorError> {
        let mut skills = Self::default();
        for folder in PROJECT_FOLDERS {
            for folder in repo.store().list_folders(base, Path::new(folder))? {
                let path = folder.join(SKILL_FILE);
                match repo.store().read_file_within(base, &path, MAX_SKILL_BYTES) {
                    Ok(None) => {}
                    Ok(Some(bytes)) => skills.add(Folder::Project(folder), &path, bytes),
                    Err(error @ (GitError::TooLarge { .. } | GitError::LinkLeadsOut { .. })) => {
                        skills.leave_out(&path, &error);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        if let Some(folder) = user_folder {
            for folder in folders_in(&folder.join("skills"))? {
                let path = folder.join(SKILL_FILE);
                match read_plain(&path, Links::Anywhere, MAX_SKILL_BYTES as u64) {
                    Ok(bytes) => skills.add(Folder::User(folder), &path, bytes),
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => skills.leave_out(&path, &error),
                }
            }
        }
        Ok(skills)
    }

    fn add(&mut self, folder: Folder, path: &Path, bytes: Vec<u8>) {
        let parent = path
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let parsed = match String::from_utf8(bytes) {
            Ok(text) => Skill::parse(&parent, &text),
            Err(error) => return self.leave_out(path, &error),
        };
        let skill = match parsed {
            Ok(skill) => skill,
            Err(error) => return self.leave_out(path, &error),
        };
        match self.found.get(&skill.name) {
            // The same skill is often stored once for each product.
            Some(nearer) if nearer.skill == skill => {}
            Some(nearer) => {
                let nearer = nearer.folder.shown();
                self.left_out.push(format!(
                    "{}: a skill of this name is in {nearer}, which counts",
                    shown_path(path)
                ));
            }
            None if self.found.len() == MOST_SKILLS => {
                self.left_out.push(format!(
                    "{}: there are more than {MOST_SKILLS} skills",
                    shown_path(path)
                ));
            }
            None => {
                self.found
                    .insert(skill.name.clone(), Found { skill, folder });
            }
        }
    }

    fn leave_out(&mut self, path: &Path, error: &dyn std::error::Error) {
        self.left_out.push(format!(
            "{} is not a valid skill and is ignored: failed to {error}",
            shown_path(path)
        ));
    }

    /// Returns the files that are not used, with the reasons.
    pub(crate) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Reports whether there is a skill that agents may read.
    pub(crate) fn is_empty(&self) -> bool {
        self.offered().next().is_none()
    }

    fn offered(&self) -> impl Iterator<Item = (&str, &Found)> {
        self.found
            .iter()
            .filter(|(_, found)| !found.skill.is_for_people)
            .map(|(name, found)| (name.as_str(), found))
    }

    /// Returns the part of the system text that lists the skills; empty if there are none. In a
    /// small context, the list takes up a sixteenth, since a token is about four bytes.
    pub(crate) fn list(&self, context_tokens: u64) -> String {
        if self.is_empty() {
            return String::new();
        }
        let most = usize::try_from(context_tokens / 4)
            .unwrap_or(usize::MAX)
            .min(LIST_BYTES);
        let (mut lines, mut more) = (String::new(), Vec::new());
        for (name, found) in self.offered() {
            let line = format!("{name}: {}\n", shortened(&found.skill.description));
            if lines.len() + line.len() <= most {
                lines.push_str(&line);
            } else {
                more.push(name);
            }
        }
        if !more.is_empty() {
            lines.push_str(&format!(
                "without their descriptions, for length: {}\n",
                more.join(", ")
            ));
        }
        format!(
            "\n\nThe project's owner or the user wrote these skills. If one fits your task, read \
             it with `read_skill` and follow it:\n{}",
            block(&["skills"], lines.trim_end())
        )
    }

    /// Returns the body of a skill, or a file below its folder; those of the project are read from
    /// the base commit.
    ///
    /// # Errors
    ///
    /// Fails if a file is there and cannot be read.
    pub(crate) fn read(
        &self,
        repo: &Repo,
        base: &Oid,
        name: &str,
        file: Option<&str>,
    ) -> Result<Ruling<String, SkillRefused>, CoordinatorError> {
        let found = match self.find(name) {
            Ok(found) => found,
            Err(refused) => return Ok(Ruling::Refused(refused)),
        };
        let Some(file) = file.filter(|file| Path::new(file) != Path::new(SKILL_FILE)) else {
            return Ok(Ruling::Granted(found.body()));
        };
        let (name, shown) = (name.to_owned(), shown(file));
        let bytes = match found.file(file) {
            Some(path) => path.read(repo, base)?,
            None => Bytes::Missing,
        };
        Ok(match bytes {
            Bytes::Missing => Ruling::Refused(SkillRefused::NoFile { name, file: shown }),
            Bytes::TooMany => Ruling::Refused(SkillRefused::TooLarge { name, file: shown }),
            Bytes::Found(bytes) => String::from_utf8(bytes)
                .map_err(|_| SkillRefused::NoText { name, file: shown })
                .into(),
        })
    }

    fn find(&self, name: &str) -> Result<&Found, SkillRefused> {
        let found = self.offered().find(|(known, _)| *known == name);
        found.map(|(_, found)| found).ok_or_else(|| {
            let known = self
                .offered()
                .map(|(known, _)| known)
                .collect::<Vec<_>>()
                .join(", ");
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known
            };
            SkillRefused::Unknown {
                name: shown(name),
                known,
            }
        })
    }
}

impl Found {
    /// Returns a file below the skill's folder; `None` if the path leads elsewhere.
    fn file(&self, file: &str) -> Option<SkillFile> {
        let mut below = PathBuf::new();
        for part in Path::new(file)
            .components()
            .filter(|part| *part != Component::CurDir)
        {
            match part {
                Component::Normal(name) => below.push(name),
                _ => return None,
            }
        }
        if below.as_os_str().is_empty() {
            return None;
        }
        Some(match &self.folder {
            Folder::Project(folder) => SkillFile::InCommit(folder.join(below)),
            Folder::User(folder) => SkillFile::OfUser {
                folder: folder.clone(),
                path: folder.join(below),
            },
        })
    }

    /// Returns the body below a line that says where the skill's files are.
    fn body(&self) -> String {
        let (name, body) = (&self.skill.name, &self.skill.body);
        match &self.folder {
            Folder::Project(folder) => {
                format!(
                    "Skill {name}; its files are in the worktree, below {}\n\n{body}\n",
                    shown_path(folder)
                )
            }
            Folder::User(_) => {
                format!("Skill {name}; only `read_skill` shows its files\n\n{body}\n")
            }
        }
    }
}

/// The content of a file, if it can be shown.
enum Bytes {
    Found(Vec<u8>),
    Missing,
    TooMany,
}

impl SkillFile {
    fn read(&self, repo: &Repo, base: &Oid) -> Result<Bytes, CoordinatorError> {
        match self {
            SkillFile::InCommit(path) => {
                match repo.store().read_file_within(base, path, SKILL_FILE_BYTES) {
                    Err(GitError::TooLarge { .. }) => Ok(Bytes::TooMany),
                    Err(GitError::LinkLeadsOut { .. }) => Ok(Bytes::Missing),
                    read => Ok(read?.map_or(Bytes::Missing, Bytes::Found)),
                }
            }
            SkillFile::OfUser { folder, path } => {
                match read_plain(path, Links::Below(folder), SKILL_FILE_BYTES as u64) {
                    Ok(bytes) if bytes.len() > SKILL_FILE_BYTES => Ok(Bytes::TooMany),
                    Ok(bytes) => Ok(Bytes::Found(bytes)),
                    Err(error) if is_absent(&error) => Ok(Bytes::Missing),
                    Err(source) => Err(CoordinatorError::Io {
                        path: path.clone(),
                        source,
                    }),
                }
            }
        }
    }
}

/// Reports whether there is no file at a path.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory
    )
}

impl Folder {
    fn shown(&self) -> String {
        match self {
            Folder::Project(path) | Folder::User(path) => shown_path(path),
        }
    }
}

/// Returns a description in one line, cut at its bound.
fn shortened(description: &str) -> String {
    let description = shown(description);
    if description.chars().count() <= DESCRIPTION_CHARS {
        return description;
    }
    let head: String = description.chars().take(DESCRIPTION_CHARS).collect();
    format!("{}…", head.trim_end())
}

/// Lists the folders in a folder, by name; empty if there is no such folder.
fn folders_in(folder: &Path) -> Result<Vec<PathBuf>, CoordinatorError> {
    let mut folders = entries(folder).map_err(CoordinatorError::at(folder))?;
    folders.retain(|path| path.is_dir());
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skills(of: &[(&str, &str)]) -> Skills {
        let mut skills = Skills::default();
        for (path, text) in of {
            let path = Path::new(path);
            skills.add(
                Folder::Project(path.parent().unwrap().to_owned()),
                path,
                text.as_bytes().to_vec(),
            );
        }
        skills
    }

    fn skill(name: &str, description: &str) -> String {
        format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
    }

    #[test]
    fn the_nearest_skill_of_a_name_counts() {
        let (one, two) = (skill("a", "One."), skill("a", "Two."));
        let same = skills(&[
            (".agents/skills/a/SKILL.md", &one),
            (".claude/skills/a/SKILL.md", &one),
        ]);
        assert!(same.left_out().is_empty());
        let other = skills(&[
            (".agents/skills/a/SKILL.md", &one),
            (".claude/skills/a/SKILL.md", &two),
        ]);
        let expected =
            ".claude/skills/a/SKILL.md: a skill of this name is in .agents/skills/a, which counts";
        assert_eq!(other.left_out(), [expected]);
        assert!(other.list(16_000).contains("\na: One.\n"));
    }

    #[test]
    fn the_list_is_bounded_and_names_every_skill() {
        assert_eq!(Skills::default().list(16_000), "");
        let long = "word ".repeat(200);
        let many: Vec<(String, String)> = (10..40)
            .map(|number| {
                (
                    format!("s/s{number}/SKILL.md"),
                    skill(&format!("s{number}"), &long),
                )
            })
            .collect();
        let many: Vec<(&str, &str)> = many
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        for (context, most) in [
            (3_000, 1_200),
            (16_000, LIST_BYTES + 400),
            (1_000_000, LIST_BYTES + 400),
        ] {
            let list = skills(&many).list(context);
            assert!(list.len() < most, "{}", list.len());
            assert!(
                (10..40).all(|number| list.contains(&format!("s{number}"))),
                "{list}"
            );
        }
    }

    #[test]
    fn a_file_is_found_below_the_folder_only() {
        let hidden = "---\nname: b\ndescription: B.\ndisable-model-invocation: true\n---\nDo it.\n";
        let skills = skills(&[
            ("s/a/SKILL.md", &skill("a", "One.")),
            ("s/b/SKILL.md", hidden),
        ]);
        let found = skills.find("a").unwrap();
        assert_eq!(
            found.body(),
            "Skill a; its files are in the worktree, below s/a\n\nDo it.\n"
        );
        assert_eq!(
            found.file("./x/y.md"),
            Some(SkillFile::InCommit("s/a/x/y.md".into()))
        );
        for file in ["", ".", "..", "../b/SKILL.md", "x/../../b", "/etc/passwd"] {
            assert_eq!(found.file(file), None, "{file}");
        }
        let unknown = skills.find("b").unwrap_err().to_string();
        assert_eq!(unknown, "there is no skill `b`; the skills: a");
    }
}
