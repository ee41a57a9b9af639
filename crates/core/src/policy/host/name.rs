//! The canonical form of a host: a name in ASCII and lower case, without a closing dot, or an
//! address.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::text::invisible::shown;

/// Maximum length of a host's name in bytes, and of one of its labels (RFC 1035).
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;
/// Maximum length of a host as written: a name of the longest kind in another script is longer than
/// in ASCII.
const MAX_WRITTEN: usize = 1024;

/// A host in the form in which it is compared and dialled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A name: letters, digits, hyphens and underscores in labels that dots separate.
    Name(String),
    /// An address. One of IPv4 that is written as one of IPv6 is one of IPv4.
    Address(IpAddr),
}

/// A text that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no host")]
pub struct InvalidHost(String);

impl Host {
    /// Parses a host as browsers do: names of other scripts become ASCII, and every spelling of an
    /// IPv4 address (`127.1`, `0x7f000001`, `017700000001`) is that address. Escapes and zones are
    /// refused.
    ///
    /// # Errors
    /// [`InvalidHost`] if the text names no host.
    ///
    /// ```
    /// use orchestrate_core::policy::host::Host;
    /// assert_eq!(Host::parse("BÜCHER.example.").unwrap().to_string(), "xn--bcher-kva.example");
    /// assert_eq!(Host::parse("[::ffff:7f00:1]"), Host::parse("0x7f.1"));
    /// assert!(Host::parse("evil.org\0.github.com").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Host, InvalidHost> {
        let host = if text.len() > MAX_WRITTEN || text.chars().any(is_odd) {
            None
        } else if let Ok(address) = text.parse::<Ipv6Addr>() {
            Some(Host::Address(address.to_canonical()))
        } else {
            match url::Host::parse(text) {
                Ok(url::Host::Domain(name)) => Host::of_name(&name),
                Ok(url::Host::Ipv4(address)) => Some(Host::Address(address.into())),
                Ok(url::Host::Ipv6(address)) => Some(Host::Address(address.to_canonical())),
                Err(_) => None,
            }
        };
        host.ok_or_else(|| InvalidHost(shown(text)))
    }

    /// Returns the address, if the host is written as one.
    pub fn address(&self) -> Option<IpAddr> {
        if let Host::Address(address) = self {
            Some(*address)
        } else {
            None
        }
    }

    fn of_name(name: &str) -> Option<Host> {
        let name = name.strip_suffix('.').unwrap_or(name);
        (name.len() <= MAX_NAME && name.split('.').all(is_label))
            .then(|| Host::Name(name.to_owned()))
    }
}

fn is_label(label: &str) -> bool {
    !label.is_empty() && label.len() <= MAX_LABEL && label.bytes().all(is_plain)
}

fn is_odd(c: char) -> bool {
    c.is_control() || c.is_whitespace() || c == '%'
}

fn is_plain(c: u8) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'_')
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> Option<String> {
        Host::parse(text).ok().map(|host| host.to_string())
    }

    #[test]
    fn every_spelling_has_one_form() {
        let long = |count: usize| vec!["a".repeat(MAX_LABEL); count].join(".");
        let table = [
            ("GitHub.com", "github.com"),
            ("github.com.", "github.com"),
            ("ｇｉｔｈｕｂ．com", "github.com"),
            ("github。com", "github.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
            ("faß.de", "xn--fa-hia.de"),
            ("_dmarc.example.org", "_dmarc.example.org"),
            ("localhost", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("017700000001", "127.0.0.1"),
            ("0177.0.0.01", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("１２７.0.0.1", "127.0.0.1"),
            ("0", "0.0.0.0"),
            ("1.2.3.0x", "1.2.3.0"),
            ("[::1]", "[::1]"),
            ("::1", "[::1]"),
            ("[0:0:0:0:0:0:0:1]", "[::1]"),
            ("[::ffff:127.0.0.1]", "127.0.0.1"),
            ("[::FFFF:7F00:1]", "127.0.0.1"),
            ("[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]"),
            (
                &format!("{}.{}", long(3), "a".repeat(61)),
                &format!("{}.{}", long(3), "a".repeat(61)),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_names_no_host_is_refused() {
        let long = vec!["a".repeat(MAX_LABEL); 4].join(".");
        let label = format!("{}.org", "a".repeat(MAX_LABEL + 1));
        let table = [
            "",
            ".",
            "..",
            "a..b",
            ".github.com",
            "github.com..",
            "*.github.com",
            "github.com@evil.org",
            "a/b",
            "a:80",
            "evil.org#github.com",
            "evil.org?x=.github.com",
            "evil.org\\github.com",
            "evil\0.github.com",
            "a b",
            "a\tb",
            "a\u{202e}b.org",
            "evil.org%00.github.com",
            "%31.2.3.4",
            "[fe80::1%eth0]",
            "[fe80::1%25eth0]",
            "[::1",
            "::1]",
            "1.2.3.4.5",
            "256.1.1.1",
            "0x100000000",
            "[1.2.3.4]",
            "a!b.org",
            "a$b",
            &long,
            &label,
        ];
        for text in table {
            assert_eq!(canonical(text), None, "{text}");
        }
    }

    proptest! {
        /// A canonical host is its own canonical form, whatever it was written as.
        #[test]
        fn the_form_of_a_form_is_itself(text in "[a-zA-Z0-9.:x_ \
                                                 -]{0,24}|\\PC{0,12}|\\[[0-9a-f:.]{0,30}\\]") {
            if let Ok(host) = Host::parse(&text) {
                prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
            }
        }

        /// Every IPv4 address has one form, in whichever base and with however many parts it is
        /// written.
        #[test]
        fn every_spelling_of_an_address_is_that_address(bits in any::<u32>()) {
            let [a, b, c, d] = bits.to_be_bytes();
            let rest = bits & 0x00ff_ffff;
            let low = bits & 0xffff;
            for text in [
                format!("{a}.{b}.{c}.{d}"),
                format!("{a:#x}.{b:#o}.{c}.{d}").replace("0o", "0"),
                format!("{a}.{rest}"),
                format!("{a}.{b}.{low:#x}"),
                bits.to_string(),
                format!("{bits:#X}").replace("0X", "0x"),
                format!("[::ffff:{a}.{b}.{c}.{d}]"),
                format!("{a}.{b}.{c}.{d}."),
            ] {
                let expected = Host::Address(IpAddr::from([a, b, c, d]));
                prop_assert_eq!(Host::parse(&text), Ok(expected), "{}", text);
            }
        }
    }
}
