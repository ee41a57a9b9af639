//! One test of the harness, and the outside tools that it needs.
//!
//! It deliberately knows nothing of what the tests do.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use libtest_mimic::{Completion, Failed, Trial};
use orchestrate_sandbox::{Confinement, Helper, Probe, probe};

/// How a test ends: anything that can be displayed is a failure, so `?` works on every error.
pub(crate) type Outcome = Result<(), Failed>;

/// The variable that turns "not run" into a failure when it holds [`REQUIRE_ALL`].
pub(crate) const REQUIRE: &str = "ORCHESTRATE_REQUIRE";
const REQUIRE_ALL: &str = "all";

/// A tool that is not part of Rust and git, so a machine may be without it.
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
    /// The full tier, found by starting a process in it.
    pub(crate) const FULL_TIER: Need = Need::new(
        "the full sandbox tier",
        "apt install bubblewrap; `orchestrate doctor` says what else is missing",
        || tiers().full.is_ok(),
    );
    /// The fallback tier, found in the same way.
    pub(crate) const FALLBACK_TIER: Need =
        Need::new("the fallback sandbox tier", "Linux 6.2 or newer with Landlock enabled", || tiers().fallback.is_ok());
    /// Some tier, as every run wants that is not told to go without.
    pub(crate) const SANDBOX: Need =
        Need::new("a sandbox tier", "apt install bubblewrap; `orchestrate doctor` says what else is missing", || {
            tiers().full.is_ok() || tiers().fallback.is_ok()
        });
    /// A terminal for a program of a test: `setsid` of util-linux, which gives it one.
    pub(crate) const TERMINAL: Need =
        Need::new("setsid", "apt install util-linux", || starts("setsid", &["--version"]));
    /// Mounts of a test's own, in namespaces that need no privilege.
    pub(crate) const MOUNTS: Need = Need::new(
        "user and mount namespaces",
        "apt install util-linux; `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        || {
            let mount = ["sh", "-c", "mount -t tmpfs none /mnt && mount -o remount,ro none /mnt"];
            starts("unshare", &[&["--user", "--map-root-user", "--mount"], &mount[..]].concat())
        },
    );
    /// The checker of dependencies.
    pub(crate) const CARGO_DENY: Need =
        Need::new("cargo-deny", "cargo install --locked cargo-deny", || starts("cargo-deny", &["--version"]));
    /// The lints of the toolchain that builds the tests.
    pub(crate) const CLIPPY: Need =
        Need::new("clippy", "rustup component add clippy", || starts("cargo", &["clippy", "--version"]));

    /// What starts programs as another user, for root.
    pub(crate) const SETPRIV: Need =
        Need::new("setpriv", "apt install util-linux", || starts("setpriv", &["--version"]));

    /// Names a tool, how to get it, and how to find out by starting it whether it is there.
    pub(crate) const fn new(name: &'static str, how_to_get: &'static str, is_present: fn() -> bool) -> Self {
        Self { name, how_to_get, is_present }
    }

    /// Returns what a tier needs, none if nothing.
    pub(crate) fn of_tier(confinement: Confinement) -> Option<Need> {
        match confinement {
            Confinement::Full => Some(Need::FULL_TIER),
            Confinement::Fallback => Some(Need::FALLBACK_TIER),
            Confinement::Unconfined => None,
        }
    }

    /// Returns why a test is not run; none if the tool is there.
    pub(crate) fn missing(&self) -> Option<String> {
        let is_present = (self.is_present)();
        (!is_present).then(|| format!("not run: needs {} ({})", self.name, self.how_to_get))
    }
}

/// Reports which tiers start here; the machine is asked once.
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

/// One test: its name, what it needs, what it does.
pub(crate) struct Case {
    name: String,
    needs: Vec<Need>,
    run: Box<dyn FnOnce(bool) -> Result<Completion, Failed> + Send>,
}

/// Makes a test out of a function; the name is `module::what_holds`.
pub(crate) fn case(name: impl Into<String>, run: impl FnOnce() -> Outcome + Send + 'static) -> Case {
    judging(name, |_| run().map(|()| Completion::Completed))
}

/// Makes a test that finds out itself what it cannot try, and is given whether it has to try all.
pub(crate) fn judging(
    name: impl Into<String>,
    run: impl FnOnce(bool) -> Result<Completion, Failed> + Send + 'static,
) -> Case {
    Case { name: name.into(), needs: Vec::new(), run: Box::new(run) }
}

/// Makes a test that starts a run.
pub(crate) fn sandboxed(name: impl Into<String>, run: impl FnOnce() -> Outcome + Send + 'static) -> Case {
    case(name, run).needs(Need::SANDBOX)
}

impl Case {
    /// Adds a tool without which the test is shown as ignored.
    pub(crate) fn needs(mut self, need: Need) -> Self {
        self.needs.push(need);
        self
    }

    /// Adds a tier without which the test is shown as ignored.
    pub(crate) fn in_tier(mut self, confinement: Confinement) -> Self {
        self.needs.extend(Need::of_tier(confinement));
        self
    }

    /// Runs the test, or says why it was not run.
    pub(crate) fn decide(self, required: bool) -> Result<Completion, Failed> {
        for need in &self.needs {
            if let Some(reason) = need.missing() {
                return if required { fail(reason) } else { Ok(Completion::ignored_with(reason)) };
            }
        }
        (self.run)(required)
    }

    /// Passes the test to the harness.
    pub(crate) fn into_trial(self) -> Trial {
        let required = std::env::var_os(REQUIRE).is_some_and(|value| value == REQUIRE_ALL);
        Trial::ignorable_test(self.name.clone(), move || self.decide(required))
    }
}

/// Fails a test with a message, for the end of a function or a closure.
pub(crate) fn fail<T>(message: impl std::fmt::Display) -> Result<T, Failed> {
    Err(Failed::from(message))
}
