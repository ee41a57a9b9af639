//! Checks whether each tier works on this machine, by actually starting it.
//!
//! A version number or the presence of a program proves nothing: namespaces may be forbidden to
//! this very user, or fail only at the last step.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::cancel::Cancel;
use crate::disk_usage::Accounts;
use crate::environment::host::NO_BUBBLEWRAP;
use crate::error::SandboxError;
use crate::helper::forbidden_in_fallback;
use crate::job::{Exit, HostView, Job, Limits, Network, View};
use crate::run::drive;
use crate::setup::launch::Tier;
use crate::setup::room::{self, RoomOwner};
use crate::tier::{Confinement, Helper};

/// The time limit of a probe. A start takes some ten milliseconds; a machine that needs longer than
/// this limit cannot work in the tier anyway.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether each tier starts here; an error contains the reason and the exact fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Whether the tier with bubblewrap starts.
    pub full: Result<(), String>,
    /// Whether the tier with Landlock and seccomp alone starts.
    pub fallback: Result<(), String>,
    /// Whether the first tier keeps the namespaces of an agent's commands from one to the next, or
    /// why it makes them anew for each; `None` if it does not start.
    pub rooms: Option<Result<(), String>>,
    /// The uses that the fallback tier forbids and the full one allows.
    pub fallback_forbids: &'static str,
}

/// Probes both tiers by starting a process in each.
#[must_use]
pub fn probe(helper: &Helper) -> Probe {
    let full = start(Confinement::Full, helper);
    Probe {
        rooms: full.is_ok().then(|| keep_room(helper)),
        full,
        fallback: start(Confinement::Fallback, helper),
        fallback_forbids: forbidden_in_fallback(),
    }
}

/// Starts a process in a tier, as [`start`] does, unless that has succeeded before in this process
/// with the same helper: a program that works on many runs pays for it once. If the tier has been
/// taken away meanwhile, the next job says so.
pub(crate) fn start_once(confinement: Confinement, helper: &Helper) -> Result<(), String> {
    static STARTED: Mutex<Vec<(Confinement, Helper)>> = Mutex::new(Vec::new());
    let tier = (confinement, helper.clone());
    let started = || STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if started().contains(&tier) {
        return Ok(());
    }
    start(confinement, helper)?;
    started().push(tier);
    Ok(())
}

pub(crate) fn start(confinement: Confinement, helper: &Helper) -> Result<(), String> {
    start_in(&Tier {
        confinement,
        helper: helper.clone(),
        accounts: Accounts::default(),
        warn: |_| (),
        rooms: None,
        live: None,
    })
}

/// Starts a process in a room, which has to be kept then.
fn keep_room(helper: &Helper) -> Result<(), String> {
    let rooms = RoomOwner::new();
    start_in(&Tier {
        confinement: Confinement::Full,
        helper: helper.clone(),
        accounts: Accounts::default(),
        warn: |_| (),
        rooms: Some(rooms.clone()),
        live: None,
    })?;
    if rooms.has_room() {
        return Ok(());
    }
    Err(room::newest_failure().unwrap_or_else(|| "it ended with its first command".to_owned()))
}

fn start_in(tier: &Tier) -> Result<(), String> {
    let confinement = tier.confinement;
    let job = Job {
        view: View::Host(HostView {
            read_only: vec![PathBuf::from("/usr")],
            ..HostView::default()
        }),
        program: "true".into(),
        args: Vec::new(),
        cwd: PathBuf::from("/usr"),
        stdin: Vec::new(),
        env: BTreeMap::new(),
        network: Network::None,
        limits: Limits {
            timeout: PATIENCE,
            ..Limits::default()
        },
    };
    match drive::run(tier, &job, &[&Cancel::new()], None) {
        Ok(finished) if finished.exit == Exit::Code(0) => Ok(()),
        Ok(finished) => Err(format!(
            "a test process ended with {}: {}",
            finished.exit,
            finished.stderr.text().trim()
        )),
        Err(SandboxError::TierUnusable { reason, .. }) => Err(with_fix(confinement, reason)),
        Err(error) => Err(with_fix(confinement, format!("failed to {error}"))),
    }
}

fn with_fix(confinement: Confinement, reason: String) -> String {
    if confinement != Confinement::Full || reason == NO_BUBBLEWRAP {
        return reason;
    }
    match namespace_fix(|path| std::fs::read_to_string(path).ok()) {
        Some(fix) => format!("{reason}; fix: {fix}"),
        None => reason,
    }
}

/// Returns the fix for the setting that forbids user namespaces, if there is one.
fn namespace_fix(read: impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    let apparmor = read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    if is_setting(apparmor, "1") {
        return Some(
            "AppArmor denies user namespaces to programs without a profile: install the package \
             apparmor-profiles and load /usr/share/apparmor/extra-profiles/bwrap-userns-restrict, \
             or run `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        );
    }
    if is_setting(read("/proc/sys/kernel/unprivileged_userns_clone"), "0") {
        return Some("`sudo sysctl kernel.unprivileged_userns_clone=1`");
    }
    if is_setting(read("/proc/sys/user/max_user_namespaces"), "0") {
        return Some("`sudo sysctl user.max_user_namespaces=15000`");
    }
    if read("/.dockerenv").is_some() || read("/run/.containerenv").is_some() {
        return Some(
            "start the container with --security-opt seccomp=unconfined --security-opt \
             apparmor=unconfined --security-opt systempaths=unconfined",
        );
    }
    None
}

/// Reports whether the text of a kernel setting, if there is one, is this value.
fn is_setting(text: Option<String>, value: &str) -> bool {
    text.is_some_and(|text| text.trim() == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_switch_that_forbids_namespaces() {
        let fix = |files: &[(&str, &str)]| {
            namespace_fix(|path| Some(files.iter().find(|(name, _)| *name == path)?.1.to_owned()))
        };
        // The control: where no switch forbids namespaces, or each is at a value that allows them,
        // none is named.
        assert_eq!(fix(&[]), None);
        for (switch, allows) in [
            ("/proc/sys/user/max_user_namespaces", "100\n"),
            ("/proc/sys/kernel/unprivileged_userns_clone", "1\n"),
            (
                "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                "0\n",
            ),
        ] {
            assert_eq!(fix(&[(switch, allows)]), None, "{switch}");
        }
        assert_eq!(
            fix(&[("/proc/sys/kernel/unprivileged_userns_clone", "0\n")]),
            Some("`sudo sysctl kernel.unprivileged_userns_clone=1`")
        );
        assert!(
            fix(&[(
                "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                "1\n"
            )])
            .unwrap()
            .starts_with("AppArmor")
        );
    }
}
