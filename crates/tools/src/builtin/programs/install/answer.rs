//! What an agent is told of an installation.

use std::collections::BTreeSet;

use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::text::invisible::shown;
use serde_json::json;

use super::super::super::exec::refusals;
use super::super::candidate::Ran;
use super::destinations::Server;
use super::grammar::{Ecosystem, Requested};
use super::listing::Packages;
use super::login;
use super::sharing::Sharing;
use crate::answer::{Answer, InstallResults, PackageChange};

/// Maximum number of packages and of files to name.
const MAX_NAMED: usize = 20;
/// What holds for packages that are in the worktree alone.
const ELSEWHERE: &str = "what checks the result runs without the network, where only what git \
                         stores and the user's own caches have is found: say in your report that \
                         the user has to install it as well";

/// What an installation has done.
pub(super) struct Installed {
    pub(super) ecosystem: Ecosystem,
    pub(super) requested: Requested,
    /// The names of all packages afterwards.
    pub(super) has: BTreeSet<String>,
    pub(super) packages: Vec<PackageChange>,
    pub(super) changed: Vec<String>,
    pub(super) from_source: bool,
    /// How other jobs have the packages, or why they could not be downloaded for them.
    pub(super) shared: Option<Result<Sharing, String>>,
    /// What the manager's users have to know.
    pub(super) note: &'static str,
    /// What was decided about the hosts that the manager asked for.
    pub(super) egress: Vec<EgressDecision>,
    /// What could not be reached, with the reason.
    pub(super) unreached: BTreeSet<String>,
    /// Where the lock file leads, and no registry answers.
    pub(super) foreign: Vec<Server>,
}

impl Installed {
    /// Says what went wrong; `None` if the package is there.
    pub(super) fn fault(&self, ran: &Ran) -> Option<String> {
        if ran.run.exit_code != Some(0) {
            return Some(ran.how.clone());
        }
        let name = &self.requested.name;
        let is_asked = |has: &String| match self.ecosystem {
            // A package of Go is in the module whose path begins its own.
            Ecosystem::Go => name
                .strip_prefix(has.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            ecosystem => ecosystem.is_same(has, name),
        };
        let is_there = self.has.iter().any(is_asked);
        (!is_there)
            .then(|| format!("the command ended well, but `{name}` is not among what is installed"))
    }
}

impl Installed {
    /// Returns the packages that other jobs need: those that are new, and the one that was asked
    /// for.
    pub(super) fn wanted(&self, now: &Packages) -> Packages {
        let is_new = |name: &String| {
            self.packages
                .iter()
                .any(|change| change.name == *name && !change.added.is_empty())
        };
        let is_asked = |name: &String| self.ecosystem.is_same(name, &self.requested.name);
        now.iter()
            .filter(|(name, _)| is_new(name) || is_asked(name))
            .map(|(name, versions)| (name.clone(), versions.clone()))
            .collect()
    }
}

/// Returns the answer: what is installed now, and what else to know.
pub(super) fn answer(ran: &Ran, installed: Installed) -> Answer {
    let failed = installed.fault(ran);
    let mut parts = Vec::new();
    match &failed {
        Some(why) => {
            parts.push(ran.tail());
            if ran.run.exit_code == Some(0) {
                parts.push(format!("[{why}]"));
            }
        }
        None if installed.packages.is_empty() => {
            parts.push(format!("{} is installed already", installed.requested.name))
        }
        None => parts.push(list("installed", installed.packages.iter().map(describe))),
    }
    if !installed.changed.is_empty() {
        parts.push(list(
            "changed",
            installed.changed.iter().map(|path| shown(path)),
        ));
    }
    parts.extend(refusals(&installed.egress, &installed.unreached));
    if failed.is_some() {
        parts.extend(login::hint(ran));
    }
    if !installed.foreign.is_empty() {
        let hosts: Vec<String> = installed.foreign.iter().map(Server::to_string).collect();
        let hosts = hosts.join(", ");
        parts.push(format!(
            "[the lock file names hosts that belong to no registry of this project: {hosts}]"
        ));
    }
    if installed.from_source {
        let text = "no wheel fits, so packages were built from their sources, which ran their code \
                    in the sandbox";
        parts.push(format!("[{text}]"));
    }
    if failed.is_none() {
        let elsewhere = match &installed.shared {
            None => ELSEWHERE.to_owned(),
            Some(Ok(sharing)) => sharing.for_whom().to_owned(),
            Some(Err(reason)) => format!("{ELSEWHERE}; downloading it for them failed: {reason}"),
        };
        let notes = [installed.note.to_owned(), elsewhere]
            .into_iter()
            .filter(|note| !note.is_empty());
        parts.extend(notes.map(|note| format!("[{note}]")));
    }
    let results = InstallResults {
        run: ran.run.clone(),
        package: installed.requested.word,
        packages: installed.packages,
        changed: installed.changed,
        from_source: installed.from_source,
        egress: installed.egress,
        foreign: installed.foreign.iter().map(Server::to_string).collect(),
    };
    let exit_code = ran.run.exit_code;
    Answer {
        footer: Some(ran.footer()),
        failed,
        exit_code,
        ..Answer::new(parts.join("\n"), json!(results))
    }
}

/// Formats a change of a package as `name old → new`.
fn describe(change: &PackageChange) -> String {
    let PackageChange {
        name,
        removed,
        added,
    } = change;
    let (removed, added) = (removed.join(", "), added.join(", "));
    let versions = match (removed.as_str(), added.as_str()) {
        ("", added) => added.to_owned(),
        (removed, "") => format!("{removed} → gone"),
        (removed, added) => format!("{removed} → {added}"),
    };
    shown(&format!("{name} {versions}"))
}

fn list(what: &str, items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "{what}: {}{more}",
        items.take(MAX_NAMED).collect::<Vec<_>>().join(", ")
    )
}
