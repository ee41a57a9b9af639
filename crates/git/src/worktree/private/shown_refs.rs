//! The refs that a command of an agent sees: the repository's own, and of the refs of runs its
//! agent's branch alone.
//!
//! What another agent has made may contain text from outside, and is given to an agent by tools
//! alone, which record that it got it. So the names of such work are not shown; objects cannot be
//! hidden, since agents share their store.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use orchestrate_files::Links;

use crate::repo::refs::{OUR_REFS, branch_ref};

/// The folder of a git directory with one file for each ref.
pub(crate) const REFS: &str = "refs";
/// The file of a git directory with many refs.
pub(crate) const PACKED: &str = "packed-refs";
/// The refs of the user's own checkout, and what was set aside there, which no other one has.
const OF_CHECKOUT: [&str; 4] = [
    "refs/bisect/",
    "refs/rewritten/",
    "refs/worktree/",
    "refs/stash",
];
/// Maximum size of a ref's file; it contains an object's id, or the name of another ref.
const REF_BYTES: u64 = 4 << 10;
/// Maximum size of the packed refs, of which there are then ten million.
const PACKED_BYTES: u64 = 1 << 30;
/// Maximum number of folders in each other; names of refs have fewer.
const MAX_DEPTH: usize = 64;
/// The beginning of the content of a ref that stands for another one.
const SYMBOLIC: &[u8] = b"ref: ";

/// The refs of a repository that are shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ShownRefs {
    /// The id of each, by name.
    direct: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The content of the files of those that stand for another one, by name.
    symbolic: BTreeMap<Vec<u8>, Vec<u8>>,
    own: Option<String>,
}

impl ShownRefs {
    /// Reads those for a worktree with this branch. What cannot be read is not shown.
    pub(crate) fn read(common_dir: &Path, branch: Option<&str>) -> Self {
        let mut shown = Self {
            own: branch.map(branch_ref),
            ..Self::default()
        };
        let packed =
            orchestrate_files::read_plain(&common_dir.join(PACKED), Links::Anywhere, PACKED_BYTES);
        for line in packed.unwrap_or_default().split(|byte| *byte == b'\n') {
            if let Some((id, name)) = split_at_space(line).filter(|(id, _)| is_id(id)) {
                shown.add(name.to_vec(), id.to_vec());
            }
        }
        // A ref's own file counts more than what was packed.
        shown.add_below(&common_dir.join(REFS), REFS.as_bytes(), 0);
        if let Some(own) = shown.own.clone() {
            let file = common_dir.join(&own);
            let content = orchestrate_files::read_plain(&file, Links::Anywhere, REF_BYTES);
            if let Ok(content) = content {
                shown.add(own.into_bytes(), content);
            }
        }
        shown
    }

    fn add_below(&mut self, folder: &Path, name: &[u8], depth: usize) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = [name, b"/", entry.file_name().as_bytes()].concat();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && depth < MAX_DEPTH {
                // Those of the runs are many, and none but the agent's own branch is shown.
                if is_of_runs(&name) {
                    continue;
                }
                self.add_below(&entry.path(), &name, depth + 1);
            } else if kind.is_file() && self.is_shown(&name) {
                let content =
                    orchestrate_files::read_plain(&entry.path(), Links::Anywhere, REF_BYTES);
                self.add(name, content.unwrap_or_default());
            }
        }
    }

    fn add(&mut self, name: Vec<u8>, content: Vec<u8>) {
        let value = content.trim_ascii_end();
        if !self.is_shown(&name) {
            return;
        }
        if is_id(value) {
            self.symbolic.remove(&name);
            self.direct.insert(name, value.to_vec());
        } else if value
            .strip_prefix(SYMBOLIC)
            .is_some_and(|target| self.is_shown(target))
        {
            self.direct.remove(&name);
            self.symbolic.insert(name, content);
        }
    }

    fn is_shown(&self, name: &[u8]) -> bool {
        let is_below = |folder: &&str| name.starts_with(folder.as_bytes());
        let is_own = self.own.as_ref().is_some_and(|own| own.as_bytes() == name);
        is_own || !(name.ends_with(b".lock") || OUR_REFS.iter().chain(&OF_CHECKOUT).any(is_below))
    }

    /// Returns the content of a file of packed refs.
    pub(crate) fn packed(&self) -> Vec<u8> {
        // Without a heading, git makes sure of the order itself, and looks up what a tag stands
        // for.
        self.direct
            .iter()
            .flat_map(|(name, id)| [id.as_slice(), b" ", name, b"\n"].concat())
            .collect()
    }

    /// Returns the files of the refs that stand for others, relative to a git directory, with their
    /// contents.
    pub(crate) fn symbolic(&self) -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
        self.symbolic
            .iter()
            .map(|(name, content)| (PathBuf::from(OsStr::from_bytes(name)), content.clone()))
    }

    /// Returns the file of the agent's own branch with its content, if the branch exists: with it,
    /// programs that do not use git itself find their commit.
    pub(crate) fn own(&self) -> Option<(PathBuf, Vec<u8>)> {
        let name = self.own.as_ref()?;
        let id = self.direct.get(name.as_bytes())?;
        Some((PathBuf::from(name), [id, b"\n".as_slice()].concat()))
    }
}

/// Reports whether all refs in a folder are those of runs.
fn is_of_runs(folder: &[u8]) -> bool {
    let folder = [folder, b"/"].concat();
    OUR_REFS
        .iter()
        .any(|ours| folder.starts_with(ours.as_bytes()))
}

fn split_at_space(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == b' ')?;
    Some((line.get(..at)?, line.get(at + 1..)?))
}

fn is_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refs that are packed, those in files of their own with their contents, and what is shown.
    type Refs<'r> = (&'r [&'r str], &'r [(&'r str, &'r str)], &'r str);

    /// Returns the names that are shown of refs, each of which is packed, in a file of its own, or
    /// both.
    fn shown(packed: &[&str], loose: &[(&str, &str)], branch: Option<&str>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let id = |digit: &str| digit.repeat(40);
        let lines: String = packed
            .iter()
            .map(|name| format!("{} {name}\n^{}\n", id("1"), id("2")))
            .collect();
        std::fs::write(
            folder.path().join(PACKED),
            format!("# pack-refs with: peeled fully-peeled sorted \n{lines}"),
        )
        .unwrap();
        for (name, content) in loose {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let content = if content.len() == 1 {
                format!("{}\n", id(content))
            } else {
                (*content).to_owned()
            };
            std::fs::write(path, content).unwrap();
        }
        let read = ShownRefs::read(folder.path(), branch);
        let packed = String::from_utf8(read.packed()).unwrap();
        let direct = packed
            .lines()
            .map(|line| format!("{}{}", &line[..1], &line[40..]));
        let symbolic = read.symbolic().map(|(name, content)| {
            format!(
                "{} = {}",
                name.display(),
                String::from_utf8(content).unwrap().trim_end()
            )
        });
        direct.chain(symbolic).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn of_the_refs_of_runs_only_the_agents_own_branch_is_shown() {
        let own = Some("orchestrate/r-1/T1");
        let of_runs = [
            ("refs/heads/orchestrate/r-1/T1", "3"),
            ("refs/heads/orchestrate/r-1/T10", "4"),
            ("refs/heads/orchestrate/r-1/integration", "4"),
            ("refs/heads/orchestrate/r-0/T1", "4"),
            ("refs/orchestrate/keep/r-1/T2/snapshot/1", "4"),
        ];
        let names = of_runs.map(|(name, _)| name);
        assert_eq!(shown(&[], &of_runs, own), "3 refs/heads/orchestrate/r-1/T1");
        assert_eq!(shown(&names, &[], own), "1 refs/heads/orchestrate/r-1/T1");
        assert_eq!(shown(&names, &of_runs, None), "");
    }

    #[test]
    fn the_refs_of_the_repository_are_shown_as_git_reads_them() {
        let table: [Refs<'_>; 8] = [
            (
                &["refs/heads/main", "refs/tags/v1"],
                &[],
                "1 refs/heads/main, 1 refs/tags/v1",
            ),
            (
                &["refs/heads/main"],
                &[("refs/heads/main", "5")],
                "5 refs/heads/main",
            ),
            (
                &[],
                &[("refs/heads/a/b/c", "5"), ("refs/notes/commits", "6")],
                "5 refs/heads/a/b/c, 6 refs/notes/commits",
            ),
            (
                &[],
                &[
                    ("refs/heads/main.lock", "5"),
                    ("refs/heads/half", "ref: "),
                    ("refs/heads/none", "12"),
                ],
                "",
            ),
            (
                &["refs/remotes/origin/HEAD"],
                &[(
                    "refs/remotes/origin/HEAD",
                    "ref: refs/remotes/origin/main\n",
                )],
                "refs/remotes/origin/HEAD = ref: refs/remotes/origin/main",
            ),
            (
                &[],
                &[("refs/heads/x", "ref: refs/heads/orchestrate/r-1/T2\n")],
                "",
            ),
            (
                &[],
                &[
                    ("refs/bisect/bad", "5"),
                    ("refs/worktree/x", "5"),
                    ("refs/rewritten/x", "5"),
                ],
                "",
            ),
            (
                &[],
                &[("refs/heads/orchestrated", "5")],
                "5 refs/heads/orchestrated",
            ),
        ];
        for (packed, loose, expected) in table {
            assert_eq!(
                shown(packed, loose, Some("orchestrate/r-1/T1")),
                expected,
                "{packed:?} {loose:?}"
            );
        }
    }
}
