//! Decides where a package manager may connect.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use orchestrate_core::policy::host::{Host, WebUrl};
use orchestrate_core::policy::web::{Destinations, WebFailure};
use orchestrate_core::policy::{Decision, Grant, Policy, Registry};

use crate::call::CallScope;

/// The tool under which rules name hosts.
const TOOL: &str = "install_package";
/// The ports of the web, between which registries redirect. They count as one, the last.
const WEB_PORTS: [u16; 2] = [80, 443];
const WEB_PORT: u16 = 443;

/// Where a registry answers: on another port of its host, something else does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Server {
    host: Host,
    port: u16,
}

impl Server {
    /// Returns where an address leads.
    pub(super) fn from_url(url: &WebUrl) -> Server {
        let port = if WEB_PORTS.contains(&url.port()) {
            WEB_PORT
        } else {
            url.port()
        };
        Server {
            host: url.host().clone(),
            port,
        }
    }

    /// Returns where the addresses in a line lead, one of each word. One with a user or a password
    /// is none.
    pub(super) fn all_in(line: &str) -> Vec<Server> {
        line.split(|c: char| c.is_whitespace() || "\"'`,;<>()[]{}".contains(c))
            .filter_map(web_part)
            .filter_map(|url| WebUrl::parse(url).ok())
            .map(|url| Server::from_url(&url))
            .collect()
    }
}

/// Returns an address of the web from its scheme on, before which some managers write how they
/// speak to it.
pub(super) fn web_part(text: &str) -> Option<&str> {
    let starts = [text.find("http://"), text.find("https://")];
    text.get(starts.into_iter().flatten().min()?..)
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            WEB_PORT => write!(f, "{}", self.host),
            port => write!(f, "{}:{port}", self.host),
        }
    }
}

/// Judges the connections of one call.
pub(super) struct Registries {
    policy: Arc<Policy>,
    grant: Grant,
    well_known: Vec<Server>,
    of_project: Vec<Server>,
    /// The hosts that the call itself names, about which it was decided.
    named: Vec<Host>,
}

impl Registries {
    /// Creates what judges the connections of a call, by the hosts of the registry that its package
    /// manager asks by itself, by the registries that the project names, and by the hosts that the
    /// call names.
    pub(super) fn new(
        scope: &CallScope,
        well_known: &[&str],
        of_project: Vec<Server>,
        named: Vec<Host>,
    ) -> Registries {
        let mut grant = Grant::clone(&scope.grant);
        // A role that lists a wrapper need not list the wrapped tool.
        grant.tools.insert(TOOL.to_owned());
        let well_known = well_known.iter().filter_map(|host| Host::parse(host).ok());
        let well_known = well_known
            .map(|host| Server {
                host,
                port: WEB_PORT,
            })
            .collect();
        Registries {
            policy: Arc::clone(&scope.policy),
            grant,
            well_known,
            of_project,
            named,
        }
    }

    /// Reports whether a server is that of one of the registries.
    pub(super) fn knows(&self, server: &Server) -> bool {
        self.well_known.contains(server) || self.of_project.contains(server)
    }

    /// Returns the hosts of the registries: those that the policy lets a package manager reach, and
    /// the others.
    pub(super) fn hosts(&self) -> (Vec<String>, Vec<String>) {
        let all: BTreeSet<&Server> = self.well_known.iter().chain(&self.of_project).collect();
        let (open, closed): (Vec<&Server>, Vec<&Server>) =
            all.into_iter().partition(|server| self.is_open(server));
        (names_of(open), names_of(closed))
    }

    fn is_open(&self, server: &Server) -> bool {
        let is_refused = self
            .policy
            .refuse_port(TOOL, &server.host, server.port)
            .is_some();
        !is_refused && matches!(self.decide(server), Decision::Allow { .. })
    }

    fn decide(&self, server: &Server) -> Decision {
        let decision =
            self.policy
                .decide_registry(&self.grant, TOOL, &server.host, self.kind(server));
        match (decision, self.beside(server)) {
            (Decision::Deny { rule, reason }, Some(registry)) => Decision::Deny {
                rule,
                reason: format!("`{server}` is not the registry `{registry}`: {reason}"),
            },
            (decision, _) => decision,
        }
    }

    /// Returns a registry that is on another port of this server's host.
    fn beside(&self, server: &Server) -> Option<&Server> {
        let mut all = self.well_known.iter().chain(&self.of_project);
        all.find(|registry| registry.host == server.host)
            .filter(|_| !self.knows(server))
    }

    fn kind(&self, server: &Server) -> Registry {
        if self.well_known.contains(server) {
            Registry::WellKnown
        } else if self.named.contains(&server.host) {
            Registry::OfCall
        } else if self.of_project.contains(server) {
            Registry::OfProject
        } else {
            Registry::Other
        }
    }
}

fn names_of(servers: Vec<&Server>) -> Vec<String> {
    servers.into_iter().map(Server::to_string).collect()
}

impl Destinations for Registries {
    fn admit(&self, url: &WebUrl) -> Result<String, WebFailure> {
        let host = url.host();
        let rule = admitted(self.decide(&Server::from_url(url)))?;
        self.policy
            .refuse_port(TOOL, host, url.port())
            .map_or(Ok(rule), admitted)
    }

    fn admit_address(&self, host: &Host, address: IpAddr) -> Result<(), WebFailure> {
        self.policy
            .refuse_address(TOOL, host, address)
            .map_or(Ok(()), |decision| admitted(decision).map(drop))
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use orchestrate_core::ToolSettings;
    use orchestrate_core::policy::tool_names::ToolNames;
    use orchestrate_core::policy::{RuleDecision, RuleText};

    use super::*;

    fn server(url: &str) -> Server {
        Server::from_url(&WebUrl::parse(url).unwrap())
    }

    /// Judges by this list of hosts, and these rules that allow something.
    fn registries(listed: &[&str], allowed: &[&str], of_project: &[&str]) -> Registries {
        let mut settings = ToolSettings::default();
        settings
            .web_requests
            .allowed_domains
            .extend(listed.iter().map(|host| (*host).to_owned()));
        let rules: Vec<RuleText> = allowed
            .iter()
            .map(|rule| RuleText::new(RuleDecision::Allow, *rule, "the user"))
            .collect();
        let policy = Policy::new(&rules, &ToolNames::default())
            .unwrap()
            .limited(&settings, Path::new("/w/T1"));
        Registries {
            policy: Arc::new(policy),
            grant: Grant::of_tools([TOOL]),
            well_known: vec![server("https://pypi.org/")],
            of_project: of_project.iter().map(|url| server(url)).collect(),
            named: vec![Host::parse("named.example").unwrap()],
        }
    }

    #[test]
    fn another_port_of_a_registrys_host_is_no_registry() {
        let registry = "http://127.0.0.1:8702/simple/";
        let (listed, by_rule): (&[&str], &[&str]) =
            (&["127.0.0.1"], &["install_package(domain:127.0.0.1)"]);
        let table: [(&[&str], &[&str], &str, bool); 7] = [
            (listed, &[], "http://127.0.0.1:8702/npm/", true),
            (listed, &[], "http://127.0.0.1:8701/evil.tgz", false),
            (listed, &[], "http://127.0.0.1/evil.tgz", false),
            (&[], by_rule, "http://127.0.0.1:8701/evil.tgz", true),
            (&[], &[], "http://127.0.0.1:8702/npm/", false),
            (&[], &[], "http://pypi.org/simple/", true),
            (&[], &[], "https://pypi.org:8443/simple/", false),
        ];
        for (listed, allowed, url, expected) in table {
            let registries = registries(listed, allowed, &[registry]);
            let admitted = registries.admit(&WebUrl::parse(url).unwrap());
            assert_eq!(
                admitted.is_ok(),
                expected,
                "{listed:?} {allowed:?} {url}: {admitted:?}"
            );
        }
        let refused = registries(listed, &[], &[registry])
            .admit(&WebUrl::parse("http://127.0.0.1:8701/").unwrap());
        let WebFailure::Refused { rule, reason } = refused.unwrap_err() else {
            unreachable!()
        };
        assert_eq!(rule, "built-in:registry");
        assert!(
            reason.starts_with(
                "`127.0.0.1:8701` is not the registry `127.0.0.1:8702`: `127.0.0.1` is no"
            ),
            "{reason}"
        );
    }

    #[test]
    fn a_host_that_the_call_names_is_reached_on_the_ports_of_the_web() {
        let registries = registries(&[], &[], &["https://named.example/simple/"]);
        for (url, expected) in [
            ("https://named.example/a.whl", true),
            ("http://named.example/a.whl", true),
            ("https://named.example:8443/a.whl", false),
            ("https://a.named.example/a.whl", false),
        ] {
            let admitted = registries.admit(&WebUrl::parse(url).unwrap());
            assert_eq!(admitted.is_ok(), expected, "{url}: {admitted:?}");
        }
        let open = ["named.example", "pypi.org"].map(str::to_owned).to_vec();
        assert_eq!(registries.hosts(), (open, Vec::new()));
    }

    #[test]
    fn a_line_is_read_in_time_of_its_length() {
        // It would take minutes to look for the end of the line from each of these beginnings.
        let word = "https://a.example/".repeat(100_000);
        assert!(Server::all_in(&word).len() <= 1);
        let line = format!("source = \"sparse+{word}\", url = 'https://b.example/'");
        assert_eq!(
            Server::all_in(&line).last(),
            Some(&server("https://b.example/"))
        );
    }

    #[test]
    fn registries_are_shown_with_the_ports_that_are_not_the_webs() {
        let names = [
            "http://127.0.0.1:8702/",
            "http://a.example/",
            "https://a.example/b",
            "https://b.example:8443/",
        ];
        let (open, closed) = registries(&["127.0.0.1", "*.example"], &[], &names).hosts();
        assert_eq!(
            (open, closed),
            (
                vec![
                    "a.example".to_owned(),
                    "pypi.org".to_owned(),
                    "127.0.0.1:8702".to_owned()
                ],
                vec!["b.example:8443".to_owned()]
            )
        );
    }
}
