//! The tiers of the sandbox and the users as whom they are measured, each in a process of its own.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use orchestrate_sandbox::Confinement;
use serde_json::Value;

/// `nobody`, as whom root measures too.
const ORDINARY_USER: u32 = 65_534;

/// A tier, and the user who is confined in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) confinement: Confinement,
    /// Whether root gives up its own rights for the measurement.
    pub(crate) becomes_ordinary: bool,
}

/// Lists both tiers for whoever measures; root measures as an ordinary user too.
pub(crate) fn places() -> Vec<Place> {
    let users: &[bool] = if rustix::process::getuid().is_root() { &[false, true] } else { &[false] };
    let place = |confinement| users.iter().map(move |&becomes_ordinary| Place { confinement, becomes_ordinary });
    [Confinement::Full, Confinement::Fallback].into_iter().flat_map(place).collect()
}

impl Place {
    /// Returns the tier as an argument of this program.
    pub(crate) fn tier(self) -> &'static str {
        if self.confinement == Confinement::Full { "full" } else { "fallback" }
    }

    /// Returns the place in words.
    pub(crate) fn in_words(self) -> String {
        let is_root = rustix::process::getuid().is_root() && !self.becomes_ordinary;
        format!("{}, {}", self.tier(), if is_root { "root" } else { "user" })
    }

    /// Runs this program in the place, and reads the JSON that it prints.
    pub(crate) fn measure(self, arguments: &[&str]) -> Result<Value, Failed> {
        // By this name it need not be reachable for the other user.
        let mut command = Command::new("/proc/self/exe");
        command.args(arguments).current_dir("/").stdin(Stdio::null()).stderr(Stdio::inherit());
        if self.becomes_ordinary {
            // Root's own home is closed to others.
            command.uid(ORDINARY_USER).gid(ORDINARY_USER).env("HOME", "/");
        }
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(Failed::from(format!("{}: {text}", self.in_words())));
        }
        Ok(serde_json::from_str(&text)?)
    }
}

/// Reads a tier as [`Place::tier`] writes it.
pub(crate) fn tier(argument: &str) -> Confinement {
    if argument == "full" { Confinement::Full } else { Confinement::Fallback }
}
