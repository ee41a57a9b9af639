//! Why a reader does not reach the end of a profile.

use orchestrate_memory::watched;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::CodeError;
use crate::source::Stop;

/// Why a reader does not reach the end of a profile.
#[derive(Debug)]
pub(super) enum Damage {
    /// The caller stopped it.
    Stopped,
    /// It is damaged; the words say where.
    At(String),
}

impl Damage {
    /// Returns the damage of a line, by its place from 0.
    pub(super) fn in_line(self, line: usize) -> Damage {
        match self {
            Damage::Stopped => Damage::Stopped,
            Damage::At(reason) => Damage::At(format!("line {}: {reason}", line + 1)),
        }
    }

    /// Returns the error that says what the profile was taken for.
    pub(super) fn in_format(self, format: ProfileFormat) -> CodeError {
        match self {
            Damage::Stopped => CodeError::Stopped,
            Damage::At(reason) => CodeError::Profile {
                format: format.name(),
                reason,
            },
        }
    }
}

/// Fails if `stop` says so.
pub(super) fn check(stop: Stop<'_>) -> Result<(), Damage> {
    if stop() { Err(Damage::Stopped) } else { Ok(()) }
}

/// Reads values of JSON one after the other, and fails while it does once `stop` says so.
pub(super) fn json<'t, T: DeserializeOwned + 't>(
    text: &'t str,
    stop: Stop<'t>,
) -> impl Iterator<Item = Result<T, Damage>> + 't {
    let values =
        serde_json::Deserializer::from_reader(watched(text.as_bytes(), stop)).into_iter::<T>();
    values.map(|value| value.map_err(|error| damage_of(&error)))
}

fn damage_of(error: &serde_json::Error) -> Damage {
    if error.is_io() {
        Damage::Stopped
    } else {
        Damage::At(error.to_string())
    }
}

/// What wrote a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileFormat {
    /// Folded stacks: `main;work;sort 42`.
    Folded,
    /// What `perf script` prints.
    PerfScript,
    /// A profile in the format of pprof, compressed or not.
    Pprof,
    /// The table that cProfile prints.
    Cprofile,
    /// Estimates or samples of criterion, or the messages of cargo-criterion.
    Criterion,
}

impl ProfileFormat {
    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            ProfileFormat::Folded => "folded stacks",
            ProfileFormat::PerfScript => "perf script",
            ProfileFormat::Pprof => "pprof",
            ProfileFormat::Cprofile => "cProfile",
            ProfileFormat::Criterion => "criterion",
        }
    }
}
