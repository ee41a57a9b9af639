//! What an agent's commands can see of the repository's git directory: an allow list.
//!
//! Files that are not listed here may contain secrets (credentials, keys, fetched URLs, settings of
//! submodules) or belong to another agent. The configuration is shown, and taken over into the
//! agent's own git directory, only if every setting is known to contain no secret and to name no
//! program; otherwise a plain one takes its place.

use std::path::{Path, PathBuf};

/// What git reads in the common directory to show commits and files.
pub(crate) const COMMON: [&str; 6] = [
    "HEAD",
    "objects",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/grafts",
];
/// What git reads in its own directory for the agent's worktree.
pub(crate) const OF_WORKTREE: [&str; 10] = [
    "HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "commondir",
    "gitdir",
    "index",
    "logs",
    "refs",
];

/// The configuration that is shown in place of one that may contain secrets or name programs.
const PLAIN_CONFIG: &[u8] = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
/// Settings without secrets or programs, in lower case as libgit2 returns them.
const HARMLESS: [&str; 20] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.quotepath",
    "core.abbrev",
    "core.sharedrepository",
    "core.protecthfs",
    "core.protectntfs",
    "extensions.objectformat",
    "extensions.worktreeconfig",
    "init.defaultbranch",
    "push.default",
    "user.email",
    "user.name",
];
/// Settings of branches, remotes and `gc` without secrets or programs, by prefix and suffix.
const HARMLESS_OF_NAMED: [(&str, &str); 5] = [
    ("branch.", ".remote"),
    ("branch.", ".merge"),
    ("branch.", ".rebase"),
    ("remote.", ".fetch"),
    ("gc.", ".auto"),
];

/// Lists the files of git's directories to be shown, whether they exist or not.
pub(crate) fn shown(common_dir: &Path, admin_dir: &Path) -> Vec<PathBuf> {
    let common = COMMON.iter().map(|name| common_dir.join(name));
    let of_worktree = OF_WORKTREE.iter().map(|name| admin_dir.join(name));
    common
        .chain(of_worktree)
        .chain([common_dir.join("config")])
        .collect()
}

/// Returns the configuration to be shown.
pub(crate) fn config(common_dir: &Path) -> Vec<u8> {
    harmless(&common_dir.join("config")).unwrap_or_else(|| PLAIN_CONFIG.to_vec())
}

/// Returns the bytes of a configuration if all its settings may be shown.
fn harmless(path: &Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(path).ok()?;
    // A comment may contain a former setting.
    let has_comments = bytes.iter().any(|byte| matches!(byte, b'#' | b';'));
    let config = git2::Config::open(path).ok()?;
    let mut all = !has_comments;
    let entries = config.entries(None).ok()?;
    entries
        .for_each(|entry| {
            let value = if entry.has_value() {
                entry.value_bytes()
            } else {
                b""
            };
            // What is not UTF-8 cannot be judged.
            all &= match (str::from_utf8(entry.name_bytes()), str::from_utf8(value)) {
                (Ok(name), Ok(value)) => is_harmless(name, value),
                _ => false,
            };
        })
        .ok()?;
    // The file was parsed in a separate read, so make sure that it has not changed.
    (all && std::fs::read(path).is_ok_and(|again| again == bytes)).then_some(bytes)
}

fn is_harmless(name: &str, value: &str) -> bool {
    let is_named = |(begin, end): &(&str, &str)| name.starts_with(begin) && name.ends_with(end);
    match name {
        "core.bare" => matches!(value, "false" | "no" | "off" | "0"),
        _ if HARMLESS.contains(&name) || HARMLESS_OF_NAMED.iter().any(is_named) => true,
        _ if name.starts_with("remote.")
            && (name.ends_with(".url") || name.ends_with(".pushurl")) =>
        {
            names_nobody(value)
        }
        _ => false,
    }
}

/// Reports whether a URL contains no user name, password or token, except the user `git`, under
/// which `ssh` serves git.
fn names_nobody(address: &str) -> bool {
    let plain = address.strip_prefix("ssh://").unwrap_or(address);
    let plain = plain.strip_prefix("git@").unwrap_or(plain);
    !plain.contains(['@', '?', '%', '#'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(text: impl AsRef<[u8]>) -> bool {
        let text = text.as_ref();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config"), text).unwrap();
        config(folder.path()) == text
    }

    #[test]
    fn a_setting_without_a_value_or_that_is_not_utf_8_is_not_shown() {
        assert!(!shows("[core]\n\tbare\n"));
        assert!(!shows(
            b"[remote \"x\"]\n\turl = https://t\xff@example.org/x\n"
        ));
    }

    #[test]
    fn a_plain_configuration_is_shown_and_one_that_may_hold_a_secret_is_not() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                     [remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tfetch = \
                     +refs/heads/*:refs/remotes/origin/*\n\
                     [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\
                     \tname = A\n";
        assert!(shows(plain));
        for more in [
            "[remote \"x\"]\n\turl = https://token@example.org/x\n",
            "[remote \"x\"]\n\turl = https://example.org/x?token=1\n",
            "[http]\n\textraHeader = Authorization: Basic x\n",
            "[url \"https://token@example.org/\"]\n\tinsteadOf = gh:\n",
            "[credential]\n\thelper = !echo password=x\n",
            "[include]\n\tpath = secrets\n",
            "[alias]\n\tx = !true\n",
            "[core]\n\tfsmonitor = ./evil\n",
            "[core]\n\tworktree = /elsewhere\n",
            "; token = x\n",
        ] {
            assert!(!shows(format!("{plain}{more}")), "{more}");
        }
    }
}
