//! Tells a repository by its files.

use std::path::Path;

/// Reports whether a folder is the root of a git repository, or of one of its worktrees: its `.git`
/// is a file, a link, or a folder with a `HEAD`. An empty folder of that name is none: a sandbox
/// may leave one in `/tmp`.
#[must_use]
pub fn is_repository(folder: &Path) -> bool {
    let git = folder.join(".git");
    match git.symlink_metadata() {
        Ok(found) if found.is_dir() => git.join("HEAD").symlink_metadata().is_ok(),
        Ok(_) => true,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_of_gits_is_no_repository() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        assert!(!is_repository(root));
        std::fs::create_dir(root.join(".git")).unwrap();
        assert!(!is_repository(root));
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert!(is_repository(root));
        std::fs::remove_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join(".git"), "gitdir: elsewhere\n").unwrap();
        assert!(is_repository(root));
    }
}
