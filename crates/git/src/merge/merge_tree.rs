//! Merging two commits without a checkout, with `git merge-tree`.
//!
//! Git runs in a scratch repository of its own (see [`crate::program::scratch_repo`]), so the
//! result depends on the two commits only: it sees no configuration, neither of the repository nor
//! of the user or the machine, and so no merge driver either. Attributes come from the target only,
//! not from the files that the user has checked out or anywhere else. An attribute `merge=union` in
//! the user's own file would make a clean merge, with both versions, of what is a conflict for
//! everyone else.
//!
//! Git writes the merged tree to the real repository's objects, where no ref holds it yet: see
//! [`Merging::merge`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use orchestrate_core::Oid;
use orchestrate_core::text::git_path;

use crate::error::GitError;
use crate::files::openat::path_of;
use crate::program::run::{Ended, Run};
use crate::program::scratch_repo::ScratchRepo;
use crate::repo::repository::{CommitSpec, Identities, Identity, Repo, theirs, tree_of};
use crate::version::ATTR_SOURCE;

/// The name of what was merged before in conflict markers.
const INTEGRATION: &str = "integration";
/// The name of the author's own work in conflict markers.
const YOURS: &str = "yours";
/// The kind of a conflict for which git gives no kind.
const UNNAMED: &str = "conflict";
/// Fixed settings for merging, whatever the user has configured. The rename limit is git's default.
const SETTINGS: [(&str, &str); 7] = [
    ("core.attributesFile", "/dev/null"),
    ("merge.conflictStyle", "diff3"),
    ("merge.renames", "true"),
    ("merge.renameLimit", "7000"),
    ("merge.directoryRenames", "conflict"),
    ("core.commitGraph", "true"),
    ("core.fsync", "committed,reference"),
];

/// What merges commits without a checkout, returned by [`Repo::merging`].
#[derive(Clone, Copy, Debug)]
pub struct Merging<'r> {
    pub(super) repo: &'r Repo,
}

impl Repo {
    /// Returns the operations that merge two commits, and return a conflict to its author.
    pub fn merging(&self) -> Merging<'_> {
        Merging { repo: self }
    }
}

/// The result of merging two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The merge has no conflicts.
    Clean {
        /// The merged tree.
        tree: Oid,
    },
    /// The merge has conflicts.
    Conflict {
        /// The merged tree, with conflict markers.
        tree: Oid,
        /// The files in conflict, sorted by path.
        files: Vec<ConflictFile>,
        /// Git's messages about the conflicts, one line each.
        messages: Vec<String>,
    },
}

/// One of the two commits of a merge.
#[derive(Clone, Copy, Debug)]
pub struct Side<'s> {
    /// Its name in conflict markers, which can be part of a ref.
    pub name: &'s str,
    /// The commit.
    pub commit: &'s Oid,
}

impl<'s> Side<'s> {
    /// Returns the side of what was merged before.
    pub(crate) fn integration(commit: &'s Oid) -> Self {
        let name = INTEGRATION;
        Self { name, commit }
    }
}

/// A file that two sides changed in incompatible ways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConflictFile {
    /// The path that git reports.
    pub path: PathBuf,
    /// Git's name of the conflict, for example `contents` or `modify/delete`.
    pub kind: String,
}

impl fmt::Display for ConflictFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", git_path::text(&self.path), self.kind)
    }
}

impl Merging<'_> {
    /// Merges `candidate` into `target` without a checkout.
    ///
    /// No ref holds the merged tree yet: the caller must make a commit of it and keep that
    /// ([`Repo::keep`](crate::Repo::keep)). If `git gc` removes the tree before that, the commit
    /// fails, and merging again creates the same tree.
    ///
    /// # Errors
    /// If git fails. A conflict is not an error.
    pub fn merge(&self, target: &Oid, candidate: &Oid) -> Result<Merge, GitError> {
        self.merge_named(Side::integration(target), candidate)
    }

    /// Like [`Merging::merge`], with another name for the target in the markers.
    pub(crate) fn merge_named(&self, target: Side<'_>, candidate: &Oid) -> Result<Merge, GitError> {
        // A candidate that contains the target already has the merged tree, by any strategy.
        if self.repo.contains(candidate, target.commit)? {
            return Ok(Merge::Clean {
                tree: self.repo.tree_of(candidate)?,
            });
        }
        self.merge_by(
            target,
            candidate,
            self.repo.program.version() >= ATTR_SOURCE,
        )
    }

    /// Applies to `target` what `candidate` has changed since `base`, without a checkout, whatever
    /// the three commits have in common otherwise.
    ///
    /// # Errors
    /// As [`Merging::merge`].
    pub fn apply(&self, base: &Oid, target: &Oid, candidate: &Oid) -> Result<Merge, GitError> {
        let tree = |commit: &Oid| self.repo.tree_of(commit);
        if tree(base)? == tree(target)? {
            return Ok(Merge::Clean {
                tree: tree(candidate)?,
            });
        }
        // Git finds the base of a merge in the history, and only newer versions can be given one.
        let from = self.stand_in(base, Vec::new())?;
        let [target, candidate] = [
            self.stand_in(target, vec![from.clone()])?,
            self.stand_in(candidate, vec![from])?,
        ];
        self.merge_by(
            Side::integration(&target),
            &candidate,
            self.repo.program.version() >= ATTR_SOURCE,
        )
    }

    /// Creates a commit with the files of another, which no ref ever holds.
    fn stand_in(&self, of: &Oid, parents: Vec<Oid>) -> Result<Oid, GitError> {
        let by = Identities {
            author: nobody(),
            committer: nobody(),
        };
        let tree = self.repo.tree_of(of)?;
        let message = format!("Stand in for {of}");
        let trailers = Vec::new();
        self.repo.commit(&CommitSpec {
            tree,
            parents,
            message,
            trailers,
            by,
            time_unix: 0,
        })
    }

    /// Merges; `told` says whether git can be told where attributes come from, or must find them as
    /// files.
    fn merge_by(&self, target: Side<'_>, candidate: &Oid, told: bool) -> Result<Merge, GitError> {
        let scratch = self.scratch([(target.name, target.commit), (YOURS, candidate)])?;
        let args = [
            "merge-tree",
            "--write-tree",
            "-z",
            "--messages",
            "--allow-unrelated-histories",
        ];
        let mut run = self.in_scratch(&scratch, args.iter().copied().chain([target.name, YOURS]));
        if told {
            run = run.env("GIT_ATTR_SOURCE", target.commit.as_str());
        } else {
            let handle = self.repo.handle()?;
            scratch.lay_out_attributes(&handle, &tree_of(&handle, target.commit)?)?;
        }
        let mut ended = self.repo.program.run(&run)?;
        if ended.code > 1 {
            // A concurrent `git gc` removes folders of objects that are empty at that moment.
            ended = self.repo.program.run(&run)?;
        }
        // A scratch repository with the attributes of this target cannot be reused.
        if told {
            *self.repo.shared.scratch.lock() = Some(scratch);
        }
        match ended.code {
            0 => Ok(Merge::Clean {
                tree: read_tree(&ended)?,
            }),
            1 if !ended.stdout.is_empty() => read_conflict(&ended),
            _ => Err(ended.failure("merge-tree")),
        }
    }

    /// Takes the scratch repository of the previous merge, or creates one.
    fn scratch(&self, branches: [(&str, &Oid); 2]) -> Result<ScratchRepo, GitError> {
        for (_, oid) in branches {
            theirs(oid)?;
        }
        let kept = self.repo.shared.scratch.lock().take();
        // A scratch repository that was removed meanwhile cannot be used again.
        if let Some(scratch) = kept.filter(|scratch| scratch.name(branches).is_ok()) {
            return Ok(scratch);
        }
        let scratch = ScratchRepo::new()?;
        scratch.name(branches)?;
        Ok(scratch)
    }

    fn in_scratch<'a>(
        &self,
        scratch: &'a ScratchRepo,
        args: impl IntoIterator<Item = &'a str>,
    ) -> Run<'a> {
        let shallow = self.repo.common_dir().join("shallow");
        let settings = SETTINGS.map(|(key, value)| (key.to_owned(), value.into()));
        let run = Run::new(scratch.git_dir(), scratch.work_tree(), args).settings(settings);
        let run = run
            .env(
                "GIT_OBJECT_DIRECTORY",
                self.repo.common_dir().join("objects"),
            )
            .env("GIT_ATTR_NOSYSTEM", "1");
        if shallow.exists() {
            run.env("GIT_SHALLOW_FILE", shallow)
        } else {
            run
        }
    }
}

fn nobody() -> Identity {
    Identity {
        name: "orchestrate".to_owned(),
        email: "orchestrate@localhost".to_owned(),
    }
}

fn read_tree(ended: &Ended) -> Result<Oid, GitError> {
    let mut fields = ended.stdout.split(|byte| *byte == 0);
    let first = fields.next().unwrap_or(&ended.stdout);
    let text = String::from_utf8_lossy(first).trim().to_owned();
    let oid = Oid::new(text);
    theirs(&oid)?;
    Ok(oid)
}

/// Parses `tree NUL (mode oid stage TAB path NUL)* NUL (count NUL path NUL … type NUL message
/// NUL)*`. Behind that, an older git prints advice about submodules, which no NUL ends.
fn read_conflict(ended: &Ended) -> Result<Merge, GitError> {
    let tree = read_tree(ended)?;
    let mut ends = ended.stdout.rsplitn(2, |byte| *byte == 0).skip(1);
    let ended = ends.next().ok_or_else(cut_off)?;
    let mut fields = ended.split(|byte| *byte == 0).skip(1);
    let mut kinds: BTreeMap<Vec<u8>, String> = BTreeMap::new();
    for field in fields.by_ref() {
        if field.is_empty() {
            break;
        }
        let mut parts = field.splitn(2, |byte| *byte == b'\t').skip(1);
        let path = parts.next().ok_or_else(cut_off)?;
        kinds.insert(path.to_vec(), UNNAMED.to_owned());
    }
    let mut messages = Vec::new();
    while let Some(count) = fields.next().filter(|field| !field.is_empty()) {
        let count: usize = std::str::from_utf8(count)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(cut_off)?;
        let paths: Vec<&[u8]> = fields.by_ref().take(count).collect();
        let kind = String::from_utf8_lossy(fields.next().ok_or_else(cut_off)?).into_owned();
        let message = String::from_utf8_lossy(fields.next().ok_or_else(cut_off)?)
            .trim_end()
            .to_owned();
        let Some(kind) = kind
            .strip_prefix("CONFLICT (")
            .and_then(|rest| rest.strip_suffix(')'))
        else {
            continue;
        };
        messages.push(message);
        for path in paths {
            // Git's first message about a file is the most specific: `binary`, and then that its
            // contents conflict.
            if let Some(known) = kinds.get_mut(path).filter(|known| *known == UNNAMED) {
                kind.clone_into(known);
            }
        }
    }
    let files = kinds
        .into_iter()
        .map(|(path, kind)| ConflictFile {
            path: path_of(&path),
            kind,
        })
        .collect();
    Ok(Merge::Conflict {
        tree,
        files,
        messages,
    })
}

fn cut_off() -> GitError {
    GitError::output("merge-tree", "its list of conflicts is cut off")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::index_entry::unread_entry;
    use crate::repo::repository::{Repo, ours};

    fn commit(
        repository: &git2::Repository,
        files: &[(&str, &str)],
        parents: &[&git2::Commit<'_>],
    ) -> git2::Oid {
        let mut index = git2::Index::new().unwrap();
        for (path, text) in files {
            let id = repository.blob(text.as_bytes()).unwrap();
            let entry = unread_entry(path.as_bytes(), 0o100_644, id);
            index.add(&entry).unwrap();
        }
        let tree = repository
            .find_tree(index.write_tree_to(repository).unwrap())
            .unwrap();
        let author = git2::Signature::new(
            "Test",
            "test@example.invalid",
            &git2::Time::new(1_700_000_000, 0),
        )
        .unwrap();
        repository
            .commit(None, &author, &author, "x", &tree, parents)
            .unwrap()
    }

    #[test]
    fn advice_of_an_older_git_is_no_part_of_the_list() {
        let tree = "3b8a585600d57c13e56c592780c340d81836336b";
        let entry = format!("160000 {tree} 2\tmodule");
        let message = "CONFLICT (submodule): Merge conflict in module\n";
        let list = [
            tree,
            &entry,
            "",
            "1",
            "module",
            "CONFLICT (submodule not initialized)",
            message,
            "",
        ]
        .join("\0");
        let read = |stdout: String| {
            read_conflict(&Ended {
                code: 1,
                stdout: stdout.into_bytes(),
                stderr: String::new(),
            })
        };
        let expected = Merge::Conflict {
            tree: Oid::new(tree.to_owned()),
            files: vec![ConflictFile {
                path: PathBuf::from("module"),
                kind: "submodule not initialized".to_owned(),
            }],
            messages: vec![message.trim_end().to_owned()],
        };
        for advice in [
            "",
            "Recursive merging with submodules currently only supports trivial cases.\n",
        ] {
            assert_eq!(
                read(format!("{list}{advice}")).unwrap(),
                expected,
                "{advice}"
            );
        }
        let cut = list.trim_end_matches('\0').to_owned();
        assert!(read(cut).is_err(), "a message that no NUL ends was cut off");
    }

    #[test]
    fn an_older_git_finds_the_attributes_as_files() {
        let folder = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init(folder.path()).unwrap();
        let base = repository
            .find_commit(commit(&repository, &[("deep/log", "1\n")], &[]))
            .unwrap();
        let with_union = [
            ("deep/.gitattributes", "log merge=union\n"),
            ("deep/log", "1\none\n"),
        ];
        let one = ours(commit(&repository, &with_union, &[&base]));
        let two = ours(commit(&repository, &[("deep/log", "1\ntwo\n")], &[&base]));
        repository
            .reference("refs/heads/main", base.id(), true, "")
            .unwrap();
        repository.set_head("refs/heads/main").unwrap();
        let repo = Repo::open(folder.path(), folder.path()).unwrap();
        let can_be_told = repo.program.version() >= ATTR_SOURCE;
        for told in [true, false]
            .into_iter()
            .filter(|told| !told || can_be_told)
        {
            assert!(
                matches!(
                    repo.merging().merge_by(Side::integration(&one), &two, told),
                    Ok(Merge::Clean { .. })
                ),
                "told: {told}"
            );
            assert!(
                matches!(
                    repo.merging().merge_by(Side::integration(&two), &one, told),
                    Ok(Merge::Conflict { .. })
                ),
                "told: {told}"
            );
        }
    }
}
