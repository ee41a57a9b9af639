//! The ignore rules of a worktree's directories.

use std::io::Read;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::open::Files;
use super::path::join;

/// The names of ignore files; within a directory, later ones take precedence.
pub(super) const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore"];
/// The number of bytes of an ignore file that are read; rules after them have no effect.
const MAX_IGNORE_BYTES: u64 = 1 << 20;
/// What some editors write before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The ignore rules of a directory and of those above it, nearest first.
pub(super) struct Rules {
    directory: String,
    own: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Files {
    /// Reads the rules of all directories above one.
    pub(super) fn rules_above(&self, start: &str) -> Option<Arc<Rules>> {
        let mut rules = None;
        let mut above = String::new();
        for name in start.split('/').filter(|name| !name.is_empty()) {
            rules = self.rules_of(&above, rules, IGNORE_FILES);
            above = join(&above, name);
        }
        rules
    }

    /// Adds the rules of a directory, which has ignore files of these names.
    pub(super) fn rules_of(
        &self,
        directory: &str,
        above: Option<Arc<Rules>>,
        names: &[&str],
    ) -> Option<Arc<Rules>> {
        if names.is_empty() {
            return above;
        }
        let mut builder = GitignoreBuilder::new("");
        let mut any = false;
        for name in names {
            let Ok(opened) = self.open_unseen(&join(directory, name)) else {
                continue;
            };
            let mut bytes = Vec::new();
            if opened
                .file
                .take(MAX_IGNORE_BYTES)
                .read_to_end(&mut bytes)
                .is_err()
            {
                continue;
            }
            // Like git: a line in another encoding costs no other line, and a mark before the first
            // is none of it.
            let text =
                String::from_utf8_lossy(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes));
            for line in text.lines() {
                // An invalid pattern is skipped, as in git.
                any |= builder.add_line(None, line).is_ok();
            }
        }
        match builder.build() {
            Ok(own) if any => Some(Arc::new(Rules {
                directory: directory.to_owned(),
                own,
                above,
            })),
            _ => above,
        }
    }
}

impl Rules {
    /// Reports whether they exclude a path below their directory.
    pub(super) fn ignores(&self, path: &str, is_directory: bool) -> bool {
        let below = path
            .strip_prefix(&self.directory)
            .unwrap_or(path)
            .trim_start_matches('/');
        match self.own.matched(below, is_directory) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self
                .above
                .as_ref()
                .is_some_and(|above| above.ignores(path, is_directory)),
        }
    }
}
