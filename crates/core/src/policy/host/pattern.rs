//! Patterns of hosts, as people list them: one host, or `*.name` for every host below a name.

use std::fmt;

use super::name::Host;

/// A pattern of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// This host.
    Exact(Host),
    /// Every host below this name, not the name itself.
    Below(String),
}

impl HostPattern {
    /// Parses a pattern; `None` if it is neither a host nor `*.` and a name. There is no pattern of
    /// all hosts.
    pub fn parse(text: &str) -> Option<HostPattern> {
        let Some(above) = text.strip_prefix("*.") else {
            return Host::parse(text).ok().map(HostPattern::Exact);
        };
        match Host::parse(above) {
            Ok(Host::Name(name)) => Some(HostPattern::Below(name)),
            _ => None,
        }
    }

    /// Reports whether a host matches, label by label.
    pub fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (HostPattern::Exact(exact), host) => exact == host,
            (HostPattern::Below(above), Host::Name(name)) => is_below(name, above),
            (HostPattern::Below(_), Host::Address(_)) => false,
        }
    }

    /// Reports whether every host that matches another pattern matches this one as well.
    pub fn covers(&self, other: &HostPattern) -> bool {
        match (self, other) {
            (_, HostPattern::Exact(host)) => self.matches(host),
            (HostPattern::Below(wide), HostPattern::Below(narrow)) => {
                wide == narrow || is_below(narrow, wide)
            }
            (HostPattern::Exact(_), HostPattern::Below(_)) => false,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostPattern::Exact(host) => write!(f, "{host}"),
            HostPattern::Below(name) => write!(f, "*.{name}"),
        }
    }
}

/// Reports whether every host that matches one written pattern matches another one as well; a text
/// that is no pattern matches nothing.
///
/// ```
/// use orchestrate_core::policy::host::covers_host;
/// assert!(covers_host("*.example.org", "*.a.Example.org"));
/// assert!(!covers_host("*.example.org", "example.org"));
/// ```
pub fn covers_host(wide: &str, narrow: &str) -> bool {
    let (wide, narrow) = (HostPattern::parse(wide), HostPattern::parse(narrow));
    matches!((wide, narrow), (Some(wide), Some(narrow)) if wide.covers(&narrow))
}

fn is_below(name: &str, above: &str) -> bool {
    name.strip_suffix(above)
        .is_some_and(|below| below.len() > 1 && below.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hosts_match_label_by_label() {
        let table = [
            ("github.com", "GitHub.com.", true),
            ("GITHUB.com", "github.com", true),
            ("github.com", "api.github.com", false),
            ("*.github.com", "api.github.com", true),
            ("*.github.com", "a.b.github.com.", true),
            ("*.github.com", "github.com", false),
            ("*.github.com", "evilgithub.com", false),
            ("*.github.com", "github.com.evil.org", false),
            ("*.bücher.example", "a.xn--bcher-kva.example", true),
            ("127.0.0.1", "0x7f.1", true),
            ("127.0.0.1", "[::ffff:127.0.0.1]", true),
            ("[::1]", "0:0:0:0:0:0:0:1", true),
            ("*.0.0.1", "127.0.0.1", false),
            ("*.localhost", "localhost", false),
        ];
        for (pattern, host, expected) in table {
            let pattern = HostPattern::parse(pattern)
                .map(|pattern| pattern.matches(&Host::parse(host).unwrap()));
            assert_eq!(pattern.unwrap_or(false), expected, "{pattern:?} {host}");
        }
    }

    #[test]
    fn nothing_stands_for_all_hosts() {
        for text in [
            "",
            "*",
            "*.",
            "*.*",
            "**",
            "*.*.org",
            "a*.org",
            "*.127.0.0.1",
            "*.[::1]",
            "https://a.org",
            "a.org/b",
        ] {
            assert_eq!(HostPattern::parse(text), None, "{text}");
        }
        // The control: one host, and what is below one name, are patterns.
        for text in ["org", "*.org", "*.a.org", "127.0.0.1", "[::1]", "a.org"] {
            assert_eq!(
                HostPattern::parse(text)
                    .map(|pattern| pattern.to_string())
                    .as_deref(),
                Some(text)
            );
        }
    }

    proptest! {
        /// A pattern covers another one only if it matches all that the other one matches.
        #[test]
        fn covering_is_matching_all(
            wide in "(\\*\\.)?(a|b)(\\.(a|b)){0,2}",
            narrow in "(\\*\\.)?(a|b)(\\.(a|b)){0,2}",
            host in "(a|b)(\\.(a|b)){0,4}",
        ) {
            let [wide, narrow] = [&wide, &narrow].map(|text| HostPattern::parse(text).unwrap());
            let host = Host::parse(&host).unwrap();
            prop_assert!(!(wide.covers(&narrow) && narrow.matches(&host)) || wide.matches(&host));
            prop_assert!(wide.covers(&wide));
        }
    }
}
