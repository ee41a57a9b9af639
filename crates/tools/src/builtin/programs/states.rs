//! Which files a program changes, for programs that do not say.

use std::collections::BTreeMap;
use std::time::Duration;

use orchestrate_sandbox::Cancel;

use crate::answer::ToolError;
use crate::files::{EntryKind, Files, Flow, WalkLimits};

/// Maximum time to look at all files, before and after.
const LOOKING_TIME: Duration = Duration::from_secs(30);

/// What changes when a file is written, by its path.
pub(super) type States = BTreeMap<String, (i128, u64)>;

/// Looks at all files that git does not ignore.
///
/// # Errors
/// `Interrupted` if cancelled, `TooBroad` if there are too many files.
pub(super) fn states(files: &Files, cancel: &Cancel) -> Result<States, ToolError> {
    let limits = WalkLimits::within(LOOKING_TIME, cancel);
    let mut found = States::new();
    files.walk("", &limits, &mut |entry| {
        if entry.kind == EntryKind::File
            && let Some(stamp) = entry.stamp()
        {
            found.insert(entry.path.clone(), (files.modified(&stamp), stamp.size));
        }
        Ok(Flow::Continue)
    })?;
    Ok(found)
}

/// Returns the files that are new or were written, and then those that are gone.
pub(super) fn changed(before: &States, after: &States) -> Vec<String> {
    let written = after
        .iter()
        .filter(|(path, state)| before.get(*path) != Some(*state));
    let gone = before.iter().filter(|(path, _)| !after.contains_key(*path));
    written.chain(gone).map(|(path, _)| path.clone()).collect()
}
