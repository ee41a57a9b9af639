//! What there is to know about the changes of a task's work.

use std::path::Path;

use orchestrate_core::Oid;
use orchestrate_core::projections::review::{BranchChanges, ChangedFile};
use orchestrate_core::run::WorkSpan;
use orchestrate_core::task::kept_out::secret_in;
use orchestrate_core::task::test_changes::{FileVersions, reads_tests_of, weakened_tests};
use orchestrate_core::text::git_path::text;
use orchestrate_core::text::invisible::shown;
use orchestrate_git::{ChangeStatus, FileChange, GitError, Repo};

/// How many changed files are read for what they change: a person looks at larger changes anyhow,
/// and they are rare.
const MAX_READ_FILES: usize = 1_000;
/// The largest file that is read for this; tests are written by people.
const MAX_READ_BYTES: usize = 1 << 20;
/// How much of what was read is held at once, for tests that move from one file to another.
const MAX_HELD_BYTES: usize = 16 << 20;

/// Returns what there is to know about the files that differ between two commits.
pub fn changes_between(
    repo: &Repo,
    from: &Oid,
    to: &Oid,
    files: Vec<FileChange>,
) -> Result<BranchChanges, GitError> {
    let (mut versions, mut secrets, mut held) = (Vec::new(), Vec::new(), 0);
    for file in files.iter().take(MAX_READ_FILES) {
        let read = read_versions(repo, from, to, file)?;
        let path = text(&file.path);
        if let Some(reason) = read
            .after
            .as_deref()
            .and_then(|after| secret_in(&path, after))
        {
            let how = if file.status == ChangeStatus::Added {
                "new"
            } else {
                "changed"
            };
            secrets.push(format!("{} is {how}: {reason}", shown(&path)));
        }
        let version = versions_of(file, path, read);
        held += [&version.before, &version.after]
            .into_iter()
            .flatten()
            .map(String::len)
            .sum::<usize>();
        let is_too_much = held > MAX_HELD_BYTES;
        versions.push(if is_too_much {
            FileVersions {
                before: None,
                after: None,
                ..version
            }
        } else {
            version
        });
    }
    let loses_most = repo.store().loses_most(from, to)?;
    let weakened = weakened_tests(&versions);
    let files = files.into_iter().map(changed_file).collect();
    Ok(BranchChanges {
        files,
        loses_most,
        own: None,
        secrets,
        weakened,
    })
}

/// Returns both versions of a file for a look at its tests. What is not known of one version would
/// look like something that the other has lost, so that neither is given then.
fn versions_of(file: &FileChange, path: String, read: Versions) -> FileVersions {
    let (before, after) = (text_of(read.before), text_of(read.after));
    let old_path = file.old_path.as_deref().map(text);
    // A file of tests under a name by which no tool finds them is gone.
    if let Some(path) = old_path.filter(|old| reads_tests_of(old) && !reads_tests_of(&path)) {
        return FileVersions {
            path,
            before,
            after: None,
            is_deleted: true,
        };
    }
    let is_deleted = file.status == ChangeStatus::Deleted;
    let is_half = before.is_some() && after.is_none() && !is_deleted;
    if is_half || !reads_tests_of(&path) {
        return FileVersions {
            path,
            before: None,
            after: None,
            is_deleted,
        };
    }
    FileVersions {
        path,
        before,
        after,
        is_deleted,
    }
}

fn text_of(bytes: Option<Vec<u8>>) -> Option<String> {
    bytes.and_then(|bytes| String::from_utf8(bytes).ok())
}

/// A file before and after a change; `None` if it is not there, or too large to be read.
struct Versions {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

fn read_versions(
    repo: &Repo,
    from: &Oid,
    to: &Oid,
    file: &FileChange,
) -> Result<Versions, GitError> {
    let read = |commit: &Oid, path: &Path| match repo.store().read_file_within(
        commit,
        path,
        MAX_READ_BYTES,
    ) {
        // A link that leads nowhere has no content of its own.
        Err(GitError::TooLarge { .. } | GitError::Io { .. } | GitError::LinkLeadsOut { .. }) => {
            Ok(None)
        }
        read => read,
    };
    let old_path = file.old_path.as_deref().unwrap_or(&file.path);
    Ok(Versions {
        before: read(from, old_path)?,
        after: read(to, &file.path)?,
    })
}

/// Returns a change as it is listed.
pub fn changed_file(change: FileChange) -> ChangedFile {
    ChangedFile {
        path: text(&change.path),
        old_path: change.old_path.map(|path| text(&path)),
        added: change.added,
        removed: change.removed,
        mode_changed: change.mode_changed,
        is_new: change.status == ChangeStatus::Added,
    }
}

/// Returns the commit that a task's own work begins at: what it was built on, or what it has taken
/// over since of the branch that it is merged into.
pub fn base_of(repo: &Repo, span: &WorkSpan, work: &Oid) -> Result<Oid, GitError> {
    let base = span.base.clone();
    match repo.merge_base(&span.target, work)? {
        Some(shared) if shared != *work && repo.contains(&shared, &base)? => Ok(shared),
        _ => Ok(base),
    }
}
