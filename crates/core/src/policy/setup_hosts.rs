//! The hosts that a project's setup may reach, if it has the network: the public registries of
//! packages, and those that settings name. A person consents to exactly these.
//!
//! A public registry has to be on the internet, so that no answer to the question where it is leads
//! a setup to this machine or its network. A host that settings name may be there.

use std::fmt;
use std::net::IpAddr;

use crate::policy::host::{Host, WebUrl, special_use};
use crate::policy::web::{Destinations, WebFailure};

/// The hosts of public registries, and those from which they let packages be loaded.
pub const PUBLIC_REGISTRIES: [&str; 20] = [
    "crates.io",
    "index.crates.io",
    "static.crates.io",
    "pypi.org",
    "files.pythonhosted.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "proxy.golang.org",
    "sum.golang.org",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "plugins.gradle.org",
    "plugins-artifacts.gradle.org",
    "rubygems.org",
    "index.rubygems.org",
    "packagist.org",
    "repo.packagist.org",
    "api.nuget.org",
    "repo.hex.pm",
    "pub.dev",
];

/// The ports of the web, between which registries redirect.
const WEB_PORTS: [u16; 2] = [80, 443];
/// The rules of decisions.
const PUBLIC: &str = "built-in:registry";
const NAMED: &str = "worktree.setup_hosts";
const OTHER: &str = "built-in:setup-host";
const ADDRESS: &str = "built-in:address";

/// A host, and the port at which it answers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Server {
    host: Host,
    /// `None` for those of the web.
    port: Option<u16>,
}

/// The hosts of one setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupHosts {
    public: Vec<Server>,
    named: Vec<Server>,
}

impl SetupHosts {
    /// Returns the public registries with the hosts that settings name, each as `HOST` or
    /// `HOST:PORT`. What names no host is left out: it opens nothing.
    pub fn new<'a>(named: impl IntoIterator<Item = &'a str>) -> SetupHosts {
        let mut named: Vec<Server> = named.into_iter().filter_map(Server::parse).collect();
        named.sort();
        named.dedup();
        SetupHosts {
            public: PUBLIC_REGISTRIES
                .into_iter()
                .filter_map(Server::parse)
                .collect(),
            named,
        }
    }

    /// Reports whether a text names a host as [`SetupHosts::new`] reads it.
    pub fn is_host(text: &str) -> bool {
        Server::parse(text).is_some()
    }

    /// Returns the hosts that settings name.
    pub fn named(&self) -> Vec<String> {
        self.named.iter().map(Server::to_string).collect()
    }
}

impl Server {
    fn parse(text: &str) -> Option<Server> {
        let url = WebUrl::parse(&format!("https://{text}/"))
            .ok()
            .filter(|url| url.authority() == text)?;
        Some(Server::from_url(&url))
    }

    fn from_url(url: &WebUrl) -> Server {
        let port = Some(url.port()).filter(|port| !WEB_PORTS.contains(port));
        Server {
            host: url.host().clone(),
            port,
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            None => write!(f, "{}", self.host),
            Some(port) => write!(f, "{}:{port}", self.host),
        }
    }
}

impl Destinations for SetupHosts {
    fn admit(&self, url: &WebUrl) -> Result<String, WebFailure> {
        let server = Server::from_url(url);
        if self.named.contains(&server) {
            return Ok(NAMED.to_owned());
        }
        if self.public.contains(&server) {
            return Ok(PUBLIC.to_owned());
        }
        let reason = format!(
            "`{server}` is no host of the setup; `{NAMED}` names those besides the public \
             registries"
        );
        Err(WebFailure::Refused {
            rule: OTHER.to_owned(),
            reason,
        })
    }

    fn admit_address(&self, host: &Host, address: IpAddr) -> Result<(), WebFailure> {
        let is_named = self.named.iter().any(|server| server.host == *host);
        match special_use(address) {
            Some(used_for) if !is_named => {
                let reason = format!(
                    "`{host}` leads to {address}, which is for {used_for}, and `{NAMED}` does not \
                     name it"
                );
                Err(WebFailure::Refused {
                    rule: ADDRESS.to_owned(),
                    reason,
                })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_registries_and_named_hosts_are_admitted() {
        let hosts = SetupHosts::new([
            "127.0.0.1:8702",
            "npm.example",
            "npm.example",
            "not a host",
            "a.example/path",
        ]);
        assert_eq!(hosts.named(), ["npm.example", "127.0.0.1:8702"]);
        let admits = |url: &str| hosts.admit(&WebUrl::parse(url).unwrap());
        for (url, rule) in [
            ("https://pypi.org/simple/", PUBLIC),
            ("http://pypi.org/simple/", PUBLIC),
            ("https://npm.example/x", NAMED),
            ("http://127.0.0.1:8702/x", NAMED),
        ] {
            assert_eq!(admits(url), Ok(rule.to_owned()), "{url}");
        }
        for url in [
            "https://evil.example/",
            "https://pypi.org.evil.example/",
            "https://pypi.org:8443/",
            "http://127.0.0.1:8701/",
            "http://127.0.0.1/",
            "https://not/",
        ] {
            assert!(
                matches!(admits(url), Err(WebFailure::Refused { rule, .. }) if rule == OTHER),
                "{url}"
            );
        }
    }

    #[test]
    fn no_public_registry_is_on_this_machine() {
        let hosts = SetupHosts::new(["npm.example", "127.0.0.1:8702"]);
        let admits = |host: &str, address: &str| {
            hosts
                .admit_address(&Host::parse(host).unwrap(), address.parse().unwrap())
                .is_ok()
        };
        assert!(admits("pypi.org", "151.101.0.223") && admits("npm.example", "10.0.0.7"));
        assert!(admits("127.0.0.1", "127.0.0.1"));
        for address in ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1"] {
            assert!(!admits("pypi.org", address), "{address}");
        }
    }

    #[test]
    fn every_public_registry_is_a_host() {
        assert_eq!(SetupHosts::new([]).public.len(), PUBLIC_REGISTRIES.len());
    }
}
