//! The tiers of confinement, and the program that is executed as the helper.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How strongly a process is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    /// Own namespaces with a minimal view of the files (bubblewrap), seccomp and Landlock.
    Full,
    /// Landlock and seccomp without namespaces: no network, nothing written or read outside the
    /// view.
    Fallback,
    /// No restrictions. Processes still end with the job, and inherit only harmless environment
    /// variables.
    Unconfined,
}

impl Confinement {
    /// Reports whether a process can find files at other paths than the host's: see
    /// [`crate::HostView::mounts`].
    #[must_use]
    pub fn mounts(self) -> bool {
        self == Self::Full
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full (bubblewrap, seccomp, landlock)",
            Self::Fallback => "fallback (landlock, seccomp)",
            Self::Unconfined => "unconfined (no sandbox)",
        })
    }
}

/// The program that is executed as the sandbox's helper; by default this very program.
///
/// Its `main` must begin with [`crate::run_helper_if_asked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper(pub(crate) PathBuf);

/// The path of the running program, even after its file was replaced by a newer build.
const OWN_PROGRAM: &str = "/proc/self/exe";

impl Default for Helper {
    fn default() -> Self {
        Self(PathBuf::from(OWN_PROGRAM))
    }
}

impl Helper {
    /// Uses another program as the helper.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self(program.into())
    }

    /// Reports whether the helper is this very program.
    #[must_use]
    pub fn is_own_program(&self) -> bool {
        self.0 == Path::new(OWN_PROGRAM)
    }
}
