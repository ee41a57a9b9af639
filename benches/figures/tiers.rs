//! The sandbox tiers and the users to measure, each in a process of its own.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use orchestrate_sandbox::Confinement;
use serde_json::Value;

/// The user id of `nobody`, as which root measures too.
const ORDINARY_USER: u32 = 65_534;

/// A sandbox tier, and the user whose commands it confines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) confinement: Confinement,
    /// Whether root becomes an ordinary user for the measurement.
    pub(crate) becomes_ordinary: bool,
}

/// Returns both tiers for the current user; root measures as an ordinary user too.
pub(crate) fn places() -> Vec<Place> {
    let users: &[bool] = if rustix::process::getuid().is_root() {
        &[false, true]
    } else {
        &[false]
    };
    let place = |confinement| {
        users.iter().map(move |&becomes_ordinary| Place {
            confinement,
            becomes_ordinary,
        })
    };
    [Confinement::Full, Confinement::Fallback]
        .into_iter()
        .flat_map(place)
        .collect()
}

impl Place {
    /// Returns the tier as an argument of this program.
    pub(crate) fn tier(self) -> &'static str {
        if self.confinement == Confinement::Full {
            "full"
        } else {
            "fallback"
        }
    }

    /// Describes the place in the table.
    pub(crate) fn in_words(self) -> String {
        let is_root = rustix::process::getuid().is_root() && !self.becomes_ordinary;
        format!("{}, {}", self.tier(), if is_root { "root" } else { "user" })
    }

    /// Runs this program in the place, and parses the JSON that it prints.
    pub(crate) fn measure(self, arguments: &[&str]) -> Result<Value, Failed> {
        // By this path, the program need not be accessible to the other user.
        let mut command = Command::new("/proc/self/exe");
        command
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        if self.becomes_ordinary {
            // Other users cannot enter root's own home.
            command
                .uid(ORDINARY_USER)
                .gid(ORDINARY_USER)
                .env("HOME", "/");
        }
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(Failed::from(format!("{}: {text}", self.in_words())));
        }
        Ok(serde_json::from_str(&text)?)
    }
}

/// Parses a tier as [`Place::tier`] writes it.
pub(crate) fn tier(argument: &str) -> Confinement {
    if argument == "full" {
        Confinement::Full
    } else {
        Confinement::Fallback
    }
}
