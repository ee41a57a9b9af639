//! The users that attacks run as: root, and a user who owns nothing but a home.

use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use tempfile::TempDir;

use crate::support::Need;

/// The ids of the user and the group that own nothing.
const NOBODY: u32 = 65534;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    Root,
    User,
}

/// A user that starts programs, with a home for their files.
pub(super) struct User {
    who: Who,
    home: TempDir,
}

impl Who {
    /// Returns the users that are possible here: both for root, otherwise the ordinary user only.
    pub(super) fn here() -> &'static [Who] {
        if rustix::process::geteuid().is_root() {
            &[Who::Root, Who::User]
        } else {
            &[Who::User]
        }
    }

    /// Returns the user, prepared to start this program, or the reason why it cannot start it here.
    pub(super) fn can_start(self, program: &Path) -> Result<Result<User, String>, Failed> {
        let is_root = rustix::process::geteuid().is_root();
        let user = User {
            who: self,
            home: tempfile::Builder::new()
                .prefix("orchestrate-hostile-")
                .tempdir()?,
        };
        if self == Who::Root || !is_root {
            return Ok(Ok(user));
        }
        if let Some(reason) = Need::SETPRIV.missing() {
            return Ok(Err(reason));
        }
        chown(user.home.path(), Some(NOBODY), Some(NOBODY))?;
        let try_it = [
            "-c",
            "test -x \"$0\" && test -w \"$HOME\"",
            &program.display().to_string(),
        ]
        .map(str::to_owned);
        let status = user
            .command(Path::new("sh"))
            .args(try_it)
            .stderr(Stdio::null())
            .status();
        if status.is_ok_and(|status| status.success()) {
            return Ok(Ok(user));
        }
        let program = program.display();
        Ok(Err(format!(
            "not run: needs leave for everybody to start {program} (build where everybody may go)"
        )))
    }
}

/// Returns the `PATH` without folders that are root's own: a search through a folder that may not
/// be entered fails with a different error.
fn path_of_everybody() -> OsString {
    let everybody_enters = |folder: &Path| {
        folder
            .metadata()
            .is_ok_and(|found| found.mode() & 0o001 != 0)
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let entered =
        std::env::split_paths(&path).filter(|folder| folder.ancestors().all(everybody_enters));
    std::env::join_paths(entered).unwrap_or_default()
}

impl User {
    /// Prepares to start a program.
    pub(super) fn command(&self, program: &Path) -> Command {
        if self.who == Who::Root || !rustix::process::geteuid().is_root() {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        command.args([
            &format!("--reuid={NOBODY}"),
            &format!("--regid={NOBODY}"),
            "--clear-groups",
            "--",
        ]);
        command
            .arg(program)
            .env_clear()
            .env("PATH", path_of_everybody());
        command
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path());
        // Cargo sets this for every test; a test of what commands inherit needs something that they
        // must not.
        command.env("CARGO_PKG_NAME", env!("CARGO_PKG_NAME"));
        command
    }
}
