//! Which programs commands find: determined by asking the shell in the current tier.
//!
//! This process's own search path says little: the sandbox has another one, and shows other
//! folders.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use orchestrate_sandbox::{
    Cancel, HostView, Job, Limits, Network, Sandbox, View, confined_search_path,
};

use crate::error::CoordinatorError;

/// The maximum number of names to look up: the arguments of one process, and far more than any plan
/// needs.
const MAX_NAMES: usize = 1_000;
/// Looking up names takes milliseconds; a machine that needs longer than this has other problems.
const PATIENCE: Duration = Duration::from_secs(30);
/// Prints each of its arguments that the shell does not know, one per line.
const LOOK_UP: &str =
    r#"for name do command -v -- "$name" >/dev/null || printf '%s\n' "$name"; done"#;

/// Returns the names that no command finds; starts one process, or none if there are no names.
pub(crate) async fn not_found(
    sandbox: &Sandbox,
    names: BTreeSet<&str>,
) -> Result<BTreeSet<String>, CoordinatorError> {
    if names.is_empty() {
        return Ok(BTreeSet::new());
    }
    let script = ["-c", LOOK_UP, "sh"].into_iter();
    let job = Job {
        view: View::Host(HostView {
            read_only: vec![PathBuf::from("/usr")],
            ..HostView::default()
        }),
        program: "/bin/sh".into(),
        args: script
            .chain(names.into_iter().take(MAX_NAMES))
            .map(OsString::from)
            .collect(),
        cwd: PathBuf::from("/usr"),
        stdin: Vec::new(),
        env: Default::default(),
        network: Network::None,
        limits: Limits {
            timeout: PATIENCE,
            ..Limits::default()
        },
    };
    let finished = sandbox.run_async(job, Cancel::new()).await?;
    Ok(finished.stdout.text().lines().map(str::to_owned).collect())
}

/// Reports, without starting a process, whether confined commands would find a program on their
/// search path.
pub fn may_find(program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::env::split_paths(&confined_search_path()).any(|folder| {
        let metadata = std::fs::metadata(folder.join(program));
        metadata
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    })
}
