//! A test case for the harness, and the outside tools that it needs.
//!
//! This module deliberately does not know what the tests do.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use libtest_mimic::{Completion, Failed, Trial};
use orchestrate_sandbox::{Confinement, Helper, Probe, probe};

use super::durations;

/// The result of a test. Every error that can be displayed converts into a failure, so `?` works on
/// all of them.
pub(crate) type Outcome = Result<(), Failed>;

/// The environment variable that, set to [`REQUIRE_ALL`], makes a test fail instead of being
/// ignored if a tool is missing.
pub(crate) const REQUIRE: &str = "ORCHESTRATE_REQUIRE";
const REQUIRE_ALL: &str = "all";

/// The environment variable that, set to the name of a [`Place`], selects the tests that depend on
/// that place.
pub(crate) const PLACE: &str = "ORCHESTRATE_PLACE";

/// Where `.ci/run` runs tests a second time, because they depend on it. Everything runs once, as an
/// ordinary user with all tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The user is root, whom permissions of files do not hold off, and who needs no user
    /// namespace.
    Root,
    /// Bubblewrap is missing, so the fallback tier is the strongest.
    WithoutBubblewrap,
    /// The oldest git of the machine comes first.
    OldestGit,
}

impl Place {
    const NAMES: [(&str, Place); 3] = [
        ("root", Place::Root),
        ("without-bubblewrap", Place::WithoutBubblewrap),
        ("oldest-git", Place::OldestGit),
    ];

    /// Returns the place that [`PLACE`] names, or `None` if it is not set.
    pub(crate) fn asked() -> Result<Option<Place>, Failed> {
        match std::env::var(PLACE) {
            Ok(name) => Self::named(&name).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Returns the place of this name. Another name is an error, since no test would depend on it.
    pub(crate) fn named(name: &str) -> Result<Place, Failed> {
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        known.map_or_else(
            || fail(format!("{PLACE}={name} names no place")),
            |(_, place)| Ok(*place),
        )
    }
}

/// An outside tool or kernel feature that a machine may lack. Rust and git are always required.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    name: &'static str,
    how_to_get: &'static str,
    is_present: fn() -> bool,
}

impl Need {
    /// Bubblewrap, and a kernel that lets it start.
    pub(crate) const BUBBLEWRAP: Need = Need::new("bubblewrap", "apt install bubblewrap", || {
        starts("bwrap", &["--ro-bind", "/", "/", "--unshare-all", "true"])
    });
    /// The full sandbox tier, detected by starting a process in it.
    pub(crate) const FULL_TIER: Need = Need::new(
        "the full sandbox tier",
        "apt install bubblewrap; `orchestrate doctor` says what else is missing",
        || tiers().full.is_ok(),
    );
    /// The fallback sandbox tier, detected in the same way.
    pub(crate) const FALLBACK_TIER: Need = Need::new(
        "the fallback sandbox tier",
        "Linux 6.2 or newer with Landlock enabled",
        || tiers().fallback.is_ok(),
    );
    /// Any sandbox tier: every run needs one unless it is told to run without.
    pub(crate) const SANDBOX: Need = Need::new(
        "a sandbox tier",
        "apt install bubblewrap; `orchestrate doctor` says what else is missing",
        || tiers().full.is_ok() || tiers().fallback.is_ok(),
    );
    /// `setsid` of util-linux, which starts a program in a terminal of its own.
    pub(crate) const TERMINAL: Need = Need::new("setsid", "apt install util-linux", || {
        starts("setsid", &["--version"])
    });
    /// Private mounts, in namespaces that need no privilege.
    pub(crate) const MOUNTS: Need = Need::new(
        "user and mount namespaces",
        "apt install util-linux; `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        || {
            let mount = [
                "sh",
                "-c",
                "mount -t tmpfs none /mnt && mount -o remount,ro none /mnt",
            ];
            starts(
                "unshare",
                &[&["--user", "--map-root-user", "--mount"], &mount[..]].concat(),
            )
        },
    );
    /// cargo-deny, which checks dependencies and their licences.
    pub(crate) const CARGO_DENY: Need =
        Need::new("cargo-deny", "cargo install --locked cargo-deny", || {
            starts("cargo-deny", &["--version"])
        });
    /// Clippy of the toolchain that builds the tests.
    pub(crate) const CLIPPY: Need = Need::new("clippy", "rustup component add clippy", || {
        starts("cargo", &["clippy", "--version"])
    });

    /// The system's Python, with which a virtual environment can be made.
    pub(crate) const PYTHON: Need = Need::new("python3", "apt install python3", || {
        starts("/usr/bin/python3", &["-c", "import venv, unittest"])
    });
    /// Node and its package manager.
    pub(crate) const NPM: Need = Need::new("npm", "apt install nodejs npm", || {
        starts("node", &["--version"]) && starts("npm", &["--version"])
    });
    /// Make.
    pub(crate) const MAKE: Need = Need::new("make", "apt install make", || {
        starts("make", &["--version"])
    });

    /// `setpriv` of util-linux, with which root starts programs as another user.
    pub(crate) const SETPRIV: Need = Need::new("setpriv", "apt install util-linux", || {
        starts("setpriv", &["--version"])
    });

    /// Creates a need from the tool's name, how to install it, and a function that reports whether
    /// it works here.
    pub(crate) const fn new(
        name: &'static str,
        how_to_get: &'static str,
        is_present: fn() -> bool,
    ) -> Self {
        Self {
            name,
            how_to_get,
            is_present,
        }
    }

    /// Reports whether a program starts and succeeds.
    pub(crate) fn starts(program: &str, arguments: &[&str]) -> bool {
        starts(program, arguments)
    }

    /// Returns the need of a tier, or `None` if the tier confines nothing.
    pub(crate) fn of_tier(confinement: Confinement) -> Option<Need> {
        match confinement {
            Confinement::Full => Some(Need::FULL_TIER),
            Confinement::Fallback => Some(Need::FALLBACK_TIER),
            Confinement::Unconfined => None,
        }
    }

    /// Returns the reason why a test is not run, or `None` if the tool is present.
    pub(crate) fn missing(&self) -> Option<String> {
        let is_present = (self.is_present)();
        (!is_present).then(|| format!("not run: needs {} ({})", self.name, self.how_to_get))
    }
}

/// Returns which tiers work on this machine; it is probed once.
fn tiers() -> &'static Probe {
    static FOUND: OnceLock<Probe> = OnceLock::new();
    FOUND.get_or_init(|| probe(&Helper::default()))
}

/// Reports whether a program starts and succeeds.
fn starts(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// One test: its name, the tools that it needs, and its function.
pub(crate) struct Case {
    name: String,
    needs: Vec<Need>,
    places: Vec<Place>,
    run: Box<dyn FnOnce(bool) -> Result<Completion, Failed> + Send>,
}

/// Creates a test from a closure, or from a function that has another name than the test; the name
/// has the form `module::what_holds`.
pub(crate) fn case(
    name: impl Into<String>,
    run: impl FnOnce() -> Outcome + Send + 'static,
) -> Case {
    judging(name, |_| run().map(|()| Completion::Completed))
}

/// Creates a test that detects for itself what it cannot check. Its function receives whether
/// everything is required.
pub(crate) fn judging(
    name: impl Into<String>,
    run: impl FnOnce(bool) -> Result<Completion, Failed> + Send + 'static,
) -> Case {
    Case {
        name: name.into(),
        needs: Vec::new(),
        places: Vec::new(),
        run: Box::new(run),
    }
}

/// Creates a test of a function, whose name it has, behind that of its module or another one.
macro_rules! case_of {
    ($run:ident) => {
        $crate::support::case(
            $crate::support::name_of(module_path!(), stringify!($run)),
            $run,
        )
    };
    ($module:literal, $run:ident) => {
        $crate::support::case(concat!($module, "::", stringify!($run)), $run)
    };
}

/// Creates a test as `case_of` does, which starts a run, so it needs a sandbox tier.
macro_rules! sandboxed_of {
    ($($name:tt),*) => {
        $crate::support::case_of!($($name),*).needs($crate::support::Need::SANDBOX)
    };
}

pub(crate) use {case_of, sandboxed_of};

/// Returns the name of a test that is a function of the module with this path.
pub(crate) fn name_of(module: &str, function: &str) -> String {
    let module = module.rsplit("::").next().unwrap_or(module);
    format!("{module}::{function}")
}

/// Creates a test that starts a run, so it needs a sandbox tier.
pub(crate) fn sandboxed(
    name: impl Into<String>,
    run: impl FnOnce() -> Outcome + Send + 'static,
) -> Case {
    case(name, run).needs(Need::SANDBOX)
}

impl Case {
    /// Returns its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Adds a tool without which the test is shown as ignored.
    pub(crate) fn needs(mut self, need: Need) -> Self {
        self.needs.push(need);
        self
    }

    /// Adds a sandbox tier without which the test is shown as ignored.
    pub(crate) fn in_tier(mut self, confinement: Confinement) -> Self {
        self.needs.extend(Need::of_tier(confinement));
        self
    }

    /// Marks that the outcome depends on these places, so that the test is run there, too.
    pub(crate) fn depends_on(mut self, places: &[Place]) -> Self {
        self.places.extend(places);
        self
    }

    /// Reports whether the test is run in a place; `None` is where everything runs.
    pub(crate) fn runs_in(&self, place: Option<Place>) -> bool {
        place.is_none_or(|place| self.places.contains(&place))
    }

    /// Runs the test. If a tool is missing, the test is ignored with the reason, or fails if
    /// `required`.
    pub(crate) fn decide(self, required: bool) -> Result<Completion, Failed> {
        for need in &self.needs {
            if let Some(reason) = need.missing() {
                return if required {
                    fail(reason)
                } else {
                    Ok(Completion::ignored_with(reason))
                };
            }
        }
        (self.run)(required)
    }

    /// Converts the test for the harness; reads [`REQUIRE`].
    pub(crate) fn into_trial(self) -> Trial {
        let required = std::env::var_os(REQUIRE).is_some_and(|value| value == REQUIRE_ALL);
        let name = self.name.clone();
        Trial::ignorable_test(self.name.clone(), move || {
            durations::noted(&name, || self.decide(required))
        })
    }
}

/// Returns a failure with this message, for the end of a function or a closure.
pub(crate) fn fail<T>(message: impl std::fmt::Display) -> Result<T, Failed> {
    Err(Failed::from(message))
}
