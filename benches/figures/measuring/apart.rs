//! Parts that are measured in processes of their own, since the kernel counts memory and CPU time
//! by process; in both tiers of the sandbox, and as both users.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use orchestrate_sandbox::Confinement;

use super::median;

/// The user id of `nobody`, as which root measures too.
const ORDINARY_USER: u32 = 65_534;

/// The costs of several processes, by their names.
pub(crate) struct Costs(Vec<BTreeMap<String, f64>>);

impl Costs {
    /// Returns the median of a cost.
    pub(crate) fn of(&self, name: &str) -> Result<f64, Failed> {
        let values: Vec<f64> = self
            .0
            .iter()
            .filter_map(|cost| cost.get(name).copied())
            .collect();
        median(&values)
    }
}

/// A sandbox tier, and the user whose commands it confines.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) confinement: Confinement,
    /// Whether root becomes an ordinary user for the measurement.
    becomes_ordinary: bool,
}

/// Returns both tiers for the current user; root measures as an ordinary user too.
pub(crate) fn places() -> Vec<Place> {
    let mut places = Vec::new();
    for confinement in [Confinement::Full, Confinement::Fallback] {
        for becomes_ordinary in [false, true] {
            if !becomes_ordinary || rustix::process::getuid().is_root() {
                places.push(Place {
                    confinement,
                    becomes_ordinary,
                });
            }
        }
    }
    places
}

impl Place {
    fn tier(self) -> &'static str {
        match self.confinement {
            Confinement::Full => "full",
            _ => "fallback",
        }
    }

    /// Describes the place in the table.
    pub(crate) fn in_words(self) -> String {
        let is_root = rustix::process::getuid().is_root() && !self.becomes_ordinary;
        format!("{}, {}", self.tier(), if is_root { "root" } else { "user" })
    }

    /// Measures a part in the place; its first argument is the tier.
    pub(crate) fn costs_of(self, samples: usize, part: &[&str]) -> Result<Costs, Failed> {
        let (name, more) = part.split_first().ok_or("no part is named")?;
        let words = [&[*name, self.tier()], more].concat();
        costs(samples, self.becomes_ordinary, &words)
    }
}

/// Parses a tier as a part gets it.
pub(crate) fn tier(arguments: &[String]) -> Confinement {
    match arguments.first().map(String::as_str) {
        Some("full") => Confinement::Full,
        _ => Confinement::Fallback,
    }
}

/// Measures a part, which is named first, before its arguments, so often as this user.
pub(crate) fn costs_of(samples: usize, part: &[&str]) -> Result<Costs, Failed> {
    costs(samples, false, part)
}

fn costs(samples: usize, becomes_ordinary: bool, part: &[&str]) -> Result<Costs, Failed> {
    let mut costs = Vec::new();
    for _ in 0..samples {
        // By this path, the program need not be accessible to the other user.
        let mut command = Command::new("/proc/self/exe");
        command.arg("--part").args(part).current_dir("/");
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        if becomes_ordinary {
            // Other users cannot enter root's own home.
            command
                .uid(ORDINARY_USER)
                .gid(ORDINARY_USER)
                .env("HOME", "/");
        }
        let output = command.output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout);
            return Err(format!("{}: {text}", part.join(" ")).into());
        }
        costs.push(serde_json::from_slice(&output.stdout)?);
    }
    Ok(Costs(costs))
}
