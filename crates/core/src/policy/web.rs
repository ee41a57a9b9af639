//! Requests to other hosts as values: what tools ask for, what comes back, and which services they
//! ask.

use std::net::IpAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::host::{Host, WebUrl};

/// The rule that refuses a redirect. It is not the one that is against the redirect's host: that
/// one may have asked about the call as well, and a call whose first request was sent would look
/// like one that was never made.
pub const REDIRECT_RULE: &str = "built-in:redirect";

/// A service of the web that a tool asks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum WebServiceName {
    /// A search engine that people run themselves.
    Searxng,
    /// Brave's search.
    Brave,
    /// Tavily's search.
    Tavily,
    /// The search of the endpoint of the agent's model.
    Model,
    /// Stack Overflow's questions.
    StackExchange,
    /// GitHub's repositories.
    Github,
    /// The documentation of Rust's crates.
    #[serde(rename = "docs.rs")]
    DocsRs,
    /// Python's packages.
    Pypi,
    /// Packages of JavaScript.
    Npm,
    /// The documentation of Go's packages.
    #[serde(rename = "pkg.go.dev")]
    GoPackages,
}

/// A key that a request carries, by the variables that may hold it. Its value never passes through
/// a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The variables of the user's environment, the first that is set counts.
    pub variables: &'static [&'static str],
    /// The field of the request.
    pub field: &'static str,
    /// What stands before the key in that field.
    pub prefix: &'static str,
    /// Whether there is no answer without it.
    pub is_required: bool,
}

impl WebServiceName {
    /// Every service.
    pub const ALL: [WebServiceName; 10] = [
        WebServiceName::Searxng,
        WebServiceName::Brave,
        WebServiceName::Tavily,
        WebServiceName::Model,
        WebServiceName::StackExchange,
        WebServiceName::Github,
        WebServiceName::DocsRs,
        WebServiceName::Pypi,
        WebServiceName::Npm,
        WebServiceName::GoPackages,
    ];

    /// Returns the name as settings have it.
    pub fn as_str(self) -> &'static str {
        match self {
            WebServiceName::Searxng => "searxng",
            WebServiceName::Brave => "brave",
            WebServiceName::Tavily => "tavily",
            WebServiceName::Model => "model",
            WebServiceName::StackExchange => "stackexchange",
            WebServiceName::Github => "github",
            WebServiceName::DocsRs => "docs.rs",
            WebServiceName::Pypi => "pypi",
            WebServiceName::Npm => "npm",
            WebServiceName::GoPackages => "pkg.go.dev",
        }
    }

    /// Finds a service by its name.
    pub fn named(name: &str) -> Option<WebServiceName> {
        WebServiceName::ALL
            .into_iter()
            .find(|service| service.as_str() == name)
    }

    /// Returns the tool that asks it.
    pub fn tool(self) -> &'static str {
        match self {
            WebServiceName::Searxng
            | WebServiceName::Brave
            | WebServiceName::Tavily
            | WebServiceName::Model => "web_search",
            WebServiceName::StackExchange => "search_stackoverflow",
            WebServiceName::Github => "search_github",
            WebServiceName::DocsRs
            | WebServiceName::Pypi
            | WebServiceName::Npm
            | WebServiceName::GoPackages => "fetch_api_docs",
        }
    }

    /// Returns its own address; `None` for one that everybody runs elsewhere, and for the model's,
    /// which is asked as the model is.
    pub fn own_url(self) -> Option<&'static str> {
        match self {
            WebServiceName::Searxng | WebServiceName::Model => None,
            WebServiceName::Brave => Some("https://api.search.brave.com/"),
            WebServiceName::Tavily => Some("https://api.tavily.com/"),
            WebServiceName::StackExchange => Some("https://api.stackexchange.com/2.3/"),
            WebServiceName::Github => Some("https://api.github.com/"),
            WebServiceName::DocsRs => Some("https://docs.rs/"),
            WebServiceName::Pypi => Some("https://pypi.org/"),
            WebServiceName::Npm => Some("https://registry.npmjs.org/"),
            WebServiceName::GoPackages => Some("https://pkg.go.dev/"),
        }
    }

    /// Returns the key that it takes, if it takes one.
    pub fn credential(self) -> Option<Credential> {
        let key = |variables, field, prefix, is_required| {
            Some(Credential {
                variables,
                field,
                prefix,
                is_required,
            })
        };
        match self {
            WebServiceName::Brave => key(&["BRAVE_API_KEY"], "x-subscription-token", "", true),
            WebServiceName::Tavily => key(&["TAVILY_API_KEY"], "authorization", "Bearer ", true),
            WebServiceName::Github => key(
                &["GITHUB_TOKEN", "GH_TOKEN"],
                "authorization",
                "Bearer ",
                false,
            ),
            _ => None,
        }
    }
}

/// A request to another host.
#[derive(Clone, Debug, PartialEq)]
pub struct WebRequest {
    /// The address.
    pub url: WebUrl,
    /// The types of content that are wanted, as the field `Accept` has them.
    pub accept: &'static str,
    /// The key that it carries, to this origin only.
    pub credential: Option<Credential>,
    /// What is sent, as JSON; `None` for a request that only reads.
    pub json: Option<Value>,
    /// Maximum time until the whole response has been read, redirects included.
    pub timeout: Duration,
    /// Maximum size of the content in bytes, compressed or not; what is longer is cut.
    pub max_bytes: u64,
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebResponse {
    /// The address that answered, after redirects.
    pub url: WebUrl,
    /// The status.
    pub status: u16,
    /// The type of the content, with its charset, as the server states it.
    pub content_type: Option<String>,
    /// The time after which a server that answers no more now may be asked again, in seconds.
    pub retry_after: Option<u64>,
    /// How the content was compressed, as the server states it.
    pub coding: Option<String>,
    /// The content, decompressed.
    pub body: Vec<u8>,
    /// Whether the content is longer than what is here.
    pub is_cut: bool,
    /// Whether the server confirmed that what was kept of an earlier response still holds.
    pub was_kept: bool,
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebFailure {
    /// A rule is against the host, its address or its port.
    #[error("{reason}")]
    Refused {
        /// The id of the rule.
        rule: String,
        /// Why, and what is allowed instead.
        reason: String,
    },
    /// The host does not exist.
    #[error("the host `{0}` is not known")]
    UnknownHost(Host),
    /// No connection, or one that ended too early.
    #[error("{0}")]
    Unreachable(String),
    /// The same in words, or of an address, that those who answer have chosen.
    #[error("{0}")]
    Broken(String),
    /// The response was not complete in time.
    #[error("no complete response within {seconds} s")]
    Timeout {
        /// The limit in seconds.
        seconds: u64,
    },
    /// The server answers in a way that no client can follow.
    #[error("{0}")]
    Malformed(String),
    /// The same in words, or of an address, that those who answer have chosen.
    #[error("{0}")]
    Garbled(String),
    /// A key is required, and no variable holds it.
    #[error(
        "it requires a key in the variable {variable} of the user's environment, which is not set"
    )]
    NoKey {
        /// The variable.
        variable: &'static str,
    },
    /// This program cannot make requests.
    #[error("{0}")]
    Unavailable(String),
}

impl WebFailure {
    /// Returns how many bytes of what it says those may have chosen who answered a request for this
    /// address.
    pub fn bytes_from_outside(&self, asked: &WebUrl) -> u64 {
        let is_ours = match self {
            WebFailure::Refused { rule, .. } => rule != REDIRECT_RULE,
            WebFailure::UnknownHost(host) => host == asked.host(),
            WebFailure::Unreachable(_)
            | WebFailure::Malformed(_)
            | WebFailure::Timeout { .. }
            | WebFailure::NoKey { .. }
            | WebFailure::Unavailable(_) => true,
            WebFailure::Broken(_) | WebFailure::Garbled(_) => false,
        };
        if is_ours {
            0
        } else {
            u64::try_from(self.to_string().len()).unwrap_or(u64::MAX)
        }
    }
}

/// Decides where the connections of one call, or of its program, may lead. It is asked about every
/// address that a request or a redirect names, and again about every address that its host is
/// resolved to; only what it admits is dialled.
pub trait Destinations: Send + Sync {
    /// Admits an address before its host is resolved, and returns the id of the rule that does.
    ///
    /// # Errors
    /// [`WebFailure::Refused`] if a rule is against it.
    fn admit(&self, url: &WebUrl) -> Result<String, WebFailure>;

    /// Admits an address that a host was resolved to.
    ///
    /// # Errors
    /// [`WebFailure::Refused`] if a rule is against it.
    fn admit_address(&self, host: &Host, address: IpAddr) -> Result<(), WebFailure>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_may_have_said_in_a_failure_is_known() {
        let url = WebUrl::parse("https://a.example/").unwrap();
        let refused = |rule: &str| WebFailure::Refused {
            rule: rule.to_owned(),
            reason: "no".to_owned(),
        };
        let unknown = |host: &str| WebFailure::UnknownHost(Host::parse(host).unwrap());
        let table = [
            (refused("built-in:address"), false),
            (refused(REDIRECT_RULE), true),
            (unknown("a.example"), false),
            (unknown("do-as-i-say.example"), true),
            (WebFailure::Unreachable("no connection".to_owned()), false),
            (
                WebFailure::Broken("the certificate is for do-as-i-say.example".to_owned()),
                true,
            ),
            (WebFailure::Timeout { seconds: 30 }, false),
            (
                WebFailure::Malformed("the response cannot be read".to_owned()),
                false,
            ),
            (
                WebFailure::Garbled("a.example redirects to no page: do as I say".to_owned()),
                true,
            ),
            (WebFailure::NoKey { variable: "KEY" }, false),
            (
                WebFailure::Unavailable("TLS is not set up".to_owned()),
                false,
            ),
        ];
        for (failure, is_from_outside) in table {
            assert_eq!(
                failure.bytes_from_outside(&url) > 0,
                is_from_outside,
                "{failure:?}"
            );
        }
    }

    #[test]
    fn every_service_has_one_name_and_an_address() {
        for service in WebServiceName::ALL {
            assert_eq!(WebServiceName::named(service.as_str()), Some(service));
            assert_eq!(serde_json::to_value(service).unwrap(), service.as_str());
            let Some(url) = service.own_url() else {
                continue;
            };
            assert_eq!(WebUrl::parse(url).unwrap().as_str(), url);
        }
    }
}
