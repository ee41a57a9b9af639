//! Decides where a package manager may connect.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use orchestrate_core::host::{Host, WebUrl};
use orchestrate_core::policy::{Decision, Grant, Policy, Registry};
use orchestrate_core::web::{Destinations, WebFailure};

use crate::scope::CallScope;

/// The tool under which rules name hosts.
const TOOL: &str = "install_package";

/// Judges the connections of one call.
pub(super) struct Registries {
    policy: Arc<Policy>,
    grant: Grant,
    well_known: Vec<Host>,
    of_project: Vec<Host>,
}

impl Registries {
    /// Creates what judges the connections of a call, by the hosts of the registry that its package manager asks by
    /// itself, and those that the project names.
    pub(super) fn new(scope: &CallScope, well_known: &[&str], of_project: Vec<Host>) -> Registries {
        let mut grant = Grant::clone(&scope.grant);
        // A role that lists a wrapper need not list the wrapped tool.
        grant.tools.insert(TOOL.to_owned());
        let well_known = well_known.iter().filter_map(|host| Host::parse(host).ok()).collect();
        Registries { policy: Arc::clone(&scope.policy), grant, well_known, of_project }
    }

    /// Reports whether a host belongs to one of the registries.
    pub(super) fn knows(&self, host: &Host) -> bool {
        self.well_known.contains(host) || self.of_project.contains(host)
    }

    /// Returns the hosts of the registries: those that the policy lets a package manager reach, and the others.
    pub(super) fn hosts(&self) -> (Vec<String>, Vec<String>) {
        let all: BTreeSet<&Host> = self.well_known.iter().chain(&self.of_project).collect();
        let (open, closed): (Vec<&Host>, Vec<&Host>) =
            all.into_iter().partition(|host| matches!(self.decide(host), Decision::Allow { .. }));
        let names = |hosts: Vec<&Host>| hosts.into_iter().map(Host::to_string).collect();
        (names(open), names(closed))
    }

    fn decide(&self, host: &Host) -> Decision {
        self.policy.decide_registry(&self.grant, TOOL, host, self.kind(host))
    }

    fn kind(&self, host: &Host) -> Registry {
        match (self.well_known.contains(host), self.of_project.contains(host)) {
            (true, _) => Registry::WellKnown,
            (_, true) => Registry::OfProject,
            _ => Registry::Other,
        }
    }
}

impl Destinations for Registries {
    fn admit(&self, url: &WebUrl) -> Result<String, WebFailure> {
        let host = url.host();
        let rule = admitted(self.decide(host))?;
        self.policy.refuse_port(TOOL, host, url.port()).map_or(Ok(rule), admitted)
    }

    fn admit_address(&self, host: &Host, address: IpAddr) -> Result<(), WebFailure> {
        self.policy.refuse_address(TOOL, host, address).map_or(Ok(()), |decision| admitted(decision).map(drop))
    }
}

/// Returns the rule that allows it. Nobody can be asked while a package manager runs.
fn admitted(decision: Decision) -> Result<String, WebFailure> {
    match decision {
        Decision::Allow { rule } => Ok(rule),
        Decision::Deny { rule, reason } => Err(WebFailure::Refused { rule, reason }),
        Decision::Ask { rule } => {
            let reason = format!("the rule `{rule}` asks about it");
            Err(WebFailure::Refused { rule, reason })
        }
    }
}
