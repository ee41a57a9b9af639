//! Where connections may lead, once a host has been resolved: no rule about a name says where the
//! name leads.
//!
//! A name may lead to this machine or its network, on purpose or by a server that answers
//! differently each time. Only what the user names, host by host, may do so: in the list of hosts,
//! as the service that a tool asks, or by a rule that allows exactly that host. A name opens
//! private networks. This machine is opened by its own names and addresses, and for another name if
//! the user names the address that it leads to as well; a cloud's service for its machines is
//! opened for no name at all.

use std::net::IpAddr;

use super::{Decision, Permission, Policy, Question, Target};
use crate::policy::host::{
    Host, HostPattern, WebUrl, is_this_machine, may_be_led_to, may_lead_to, special_use,
};
use crate::policy::rule::RuleDecision;

/// The ports of the web.
const WEB_PORTS: [u16; 2] = [80, 443];

impl Policy {
    /// Denies to connect to a port of a host that is not one of the web's, unless the user names
    /// the host.
    pub fn refuse_port(&self, tool: &str, host: &Host, port: u16) -> Option<Decision> {
        if WEB_PORTS.contains(&port) || self.names_host(tool, host) {
            return None;
        }
        Some(Decision::Deny {
            rule: "built-in:port".to_owned(),
            reason: format!(
                "port {port} of `{host}` is not one of the web's (80, 443), and the user does not \
                 name that host"
            ),
        })
    }

    /// Denies to connect to the address that a host has been resolved to if it is not global,
    /// unless the user names the host, and the address is of a kind to which such a name may lead
    /// or is named as well.
    pub fn refuse_address(&self, tool: &str, host: &Host, address: IpAddr) -> Option<Decision> {
        let used_for = special_use(address)?;
        let why = match host {
            _ if !self.names_host(tool, host) => "the user does not name that host",
            Host::Address(_) => return None,
            Host::Name(name) if may_lead_to(name, address) => return None,
            Host::Name(_) if !may_be_led_to(address) => {
                "no name may lead there, only an address in the call itself"
            }
            Host::Name(_) if self.names_host(tool, &Host::Address(address.to_canonical())) => {
                return None;
            }
            Host::Name(_) => "the user does not name that address as well",
        };
        Some(Decision::Deny {
            rule: "built-in:address".to_owned(),
            reason: format!("`{host}` leads to {address}, which is for {used_for}, and {why}"),
        })
    }

    /// Denies an address of the web that no answer to a question of the user's opens: one with a
    /// port that is not one of the web's, or of a host as [`Policy::refuse_host`] denies it.
    pub fn refuse_url(&self, tool: &str, url: &WebUrl) -> Option<Decision> {
        self.refuse_port(tool, url.host(), url.port())
            .or_else(|| self.refuse_host(tool, url.host()))
    }

    /// Denies a host that is seen not to be global before it is resolved, unless the user names it:
    /// an address, or a name of this machine.
    pub fn refuse_host(&self, tool: &str, host: &Host) -> Option<Decision> {
        match host {
            Host::Address(address) => self.refuse_address(tool, host, *address),
            Host::Name(name) if is_this_machine(name) && !self.names_host(tool, host) => {
                Some(Decision::Deny {
                    rule: "built-in:address".to_owned(),
                    reason: format!(
                        "`{host}` is this machine, and the user does not name that host"
                    ),
                })
            }
            Host::Name(_) => None,
        }
    }

    /// Reports whether the consent to a call that names these hosts covers a host that the question
    /// is about: not if a rule of the user's asks about this one that did not ask about them.
    pub fn consent_covers(
        &self,
        question: &Question<'_>,
        named: &HostPattern,
        host: &Host,
    ) -> bool {
        let targets = [Target::Host(named.to_string())];
        if !named.matches(host) {
            return false;
        }
        if matches!(named, HostPattern::Exact(_)) {
            return true;
        }
        self.rules.iter().all(|rule| {
            let asks = rule.decision == RuleDecision::Ask && rule.is_about(question);
            !asks || !rule.matches_targets(question.targets) || rule.matches_targets(&targets)
        })
    }

    /// Reports whether the user names exactly this host for a tool.
    pub(super) fn names_host(&self, tool: &str, host: &Host) -> bool {
        if self.limits.names_host(tool, host) {
            return true;
        }
        for rule in &self.rules {
            // A rule about commands has a pattern for their lines, unless it says otherwise.
            let is_about_hosts =
                !rule.permissions.contains(&Permission::CodeExecution) || rule.is_about_domain();
            if rule.decision == RuleDecision::Allow
                && is_about_hosts
                && rule.tools.iter().any(|named| named == tool)
                && let Some(pattern) = &rule.pattern
                && let Some(HostPattern::Exact(exact)) = &pattern.hosts
                && exact == host
            {
                return true;
            }
        }
        false
    }
}
