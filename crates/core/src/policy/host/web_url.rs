//! Addresses of pages: `http` or `https`, a canonical host, and no user in front of it.

use std::fmt;

use url::Url;

use super::name::Host;
use crate::text::REDACTED;
use crate::text::invisible::shown;

/// Maximum length of an address in bytes; servers take no longer ones.
const MAX_BYTES: usize = 8 << 10;

/// The address of a page. Its fragment is dropped, since no server gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebUrl {
    url: Url,
    host: Host,
}

/// Why a text is no address of a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// It is no absolute URL.
    #[error("`{0}` is no address of a page; write it as https://host/path")]
    Syntax(String),
    /// It has another scheme.
    #[error("only http and https are fetched, not `{0}`")]
    Scheme(String),
    /// It names a user, behind whose name a host may hide.
    #[error(
        "an address with a user or a password before its host is not fetched; leave out the part \
         before `@`"
    )]
    User,
    /// Its host is none.
    #[error("`{0}` names no host")]
    Host(String),
    /// It is longer than servers take.
    #[error("the address is longer than {MAX_BYTES} bytes")]
    TooLong,
}

impl WebUrl {
    /// Parses an absolute address as browsers do.
    ///
    /// # Errors
    /// [`InvalidUrl`] if it is no address of a page.
    ///
    /// ```
    /// use orchestrate_core::policy::host::{InvalidUrl, WebUrl};
    /// let url = WebUrl::parse("HTTPS://Docs.RS:443/a/../b#c").unwrap();
    /// assert_eq!(url.to_string(), "https://docs.rs/b");
    /// assert_eq!(WebUrl::parse("https://github.com@evil.org"), Err(InvalidUrl::User));
    /// ```
    pub fn parse(text: &str) -> Result<WebUrl, InvalidUrl> {
        let text = text.trim();
        require_plain(text)?;
        let url = Url::parse(text).map_err(|_| InvalidUrl::Syntax(brief_address(text)))?;
        WebUrl::checked(url)
    }

    /// Returns the address that a redirect of this page leads to, absolute or relative.
    ///
    /// # Errors
    /// As [`WebUrl::parse`].
    pub fn join(&self, location: &str) -> Result<WebUrl, InvalidUrl> {
        require_plain(location)?;
        WebUrl::checked(
            self.url
                .join(location)
                .map_err(|_| InvalidUrl::Syntax(brief_address(location)))?,
        )
    }

    /// Returns the address below this one with these further segments of its path, each escaped.
    #[must_use]
    pub fn below<'s>(&self, segments: impl IntoIterator<Item = &'s str>) -> WebUrl {
        let mut below = self.clone();
        // An address with a host has a path of segments. `.` and `..` would lead elsewhere and are
        // left out.
        if let Ok(mut path) = below.url.path_segments_mut() {
            path.pop_if_empty()
                .extend(segments.into_iter().filter(|segment| !segment.is_empty()));
        }
        below
    }

    /// Returns this address with a slash at the end of its path.
    #[must_use]
    pub fn below_folder(&self) -> WebUrl {
        let mut folder = self.clone();
        if let Ok(mut path) = folder.url.path_segments_mut() {
            path.pop_if_empty().push("");
        }
        folder
    }

    /// Returns this address with these parameters in its query, each escaped.
    #[must_use]
    pub fn with_query<'s>(
        &self,
        parameters: impl IntoIterator<Item = (&'s str, &'s str)>,
    ) -> WebUrl {
        let mut with_query = self.clone();
        with_query.url.query_pairs_mut().extend_pairs(parameters);
        with_query
    }

    /// Returns the host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the port, which follows from the scheme if none is written.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// Reports whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Returns the host with the port, unless that follows from the scheme: the field `Host` of a
    /// request.
    pub fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.to_string(),
        }
    }

    /// Returns the path with the query: what a server is asked for.
    pub fn path_and_query(&self) -> String {
        match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        }
    }

    /// Reports whether two addresses have the same scheme, host and port.
    pub fn has_origin_of(&self, other: &WebUrl) -> bool {
        self.is_secure() == other.is_secure()
            && self.host == other.host
            && self.port() == other.port()
    }

    /// Returns the whole address.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    fn checked(mut url: Url) -> Result<WebUrl, InvalidUrl> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidUrl::Scheme(brief(url.scheme())));
        }
        // Not even an empty one: `https://@host`.
        let has_user = url
            .as_str()
            .split('/')
            .nth(2)
            .is_some_and(|authority| authority.contains('@'));
        if has_user || !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidUrl::User);
        }
        let written = url.host_str().unwrap_or_default().to_owned();
        let Ok(host) = Host::parse(&written) else {
            return Err(InvalidUrl::Host(brief(&written)));
        };
        // The canonical host is also the one that is shown, and that the server is asked for.
        if url.set_host(Some(&host.to_string())).is_err() {
            return Err(InvalidUrl::Host(brief(&written)));
        }
        url.set_fragment(None);
        if url.as_str().len() > MAX_BYTES {
            return Err(InvalidUrl::TooLong);
        }
        Ok(WebUrl { url, host })
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Refuses what the parser would drop without a word.
fn require_plain(text: &str) -> Result<(), InvalidUrl> {
    match text {
        _ if text.len() > MAX_BYTES => Err(InvalidUrl::TooLong),
        _ if text.chars().any(char::is_control) => Err(InvalidUrl::Syntax(brief_address(text))),
        _ => Ok(()),
    }
}

/// Returns an address with a mark in the place of the user and the password before its host; `None`
/// if it has none.
///
/// ```
/// use orchestrate_core::policy::host::without_user;
/// let hidden = without_user("https://me:hunter2@a.example/b");
/// assert_eq!(hidden.as_deref(), Some("https://[redacted:user]@a.example/b"));
/// ```
pub fn without_user(text: &str) -> Option<String> {
    match Url::parse(text.trim()) {
        Ok(url) if url.username().is_empty() && url.password().is_none() => None,
        Ok(mut url) => {
            url.set_username("").ok()?;
            url.set_password(None).ok()?;
            url.as_str()
                .split_once("://")
                .map(|(scheme, rest)| marked(scheme, rest))
        }
        // No host follows, or one that is none.
        Err(_) => {
            let (scheme, rest) = text.split_once("://")?;
            let (authority, path) =
                rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
            let (_, host) = authority.rsplit_once('@')?;
            Some(marked(scheme, &format!("{host}{path}")))
        }
    }
}

fn marked(scheme: &str, rest: &str) -> String {
    format!("{scheme}://{REDACTED}user]@{rest}")
}

/// Returns the begin of an address for a message, without a user.
fn brief_address(text: &str) -> String {
    brief(without_user(text).as_deref().unwrap_or(text))
}

/// Returns the begin of a text for a message.
fn brief(text: &str) -> String {
    const SHOWN: usize = 100;
    shown(&text.chars().take(SHOWN).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        WebUrl::parse(text).map_or_else(|error| format!("{error:?}"), |url| url.to_string())
    }

    #[test]
    fn one_address_has_one_form() {
        let table = [
            ("https://Docs.RS/", "https://docs.rs/"),
            (" https://docs.rs:443/a?b#c ", "https://docs.rs/a?b"),
            ("https://docs.rs./a", "https://docs.rs/a"),
            (
                "http:\\\\evil.org\\@github.com",
                "http://evil.org/@github.com",
            ),
            ("http://0x7f.1:8080/", "http://127.0.0.1:8080/"),
            ("http://[::ffff:127.0.0.1]/", "http://127.0.0.1/"),
            ("https://evil.org#github.com", "https://evil.org/"),
            (
                "https://evil.org?x=.github.com",
                "https://evil.org/?x=.github.com",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_page_is_refused() {
        let table = [
            ("github.com", "Syntax(\"github.com\")"),
            ("/etc/passwd", "Syntax(\"/etc/passwd\")"),
            ("file:///etc/passwd", "Scheme(\"file\")"),
            ("ftp://a.org/", "Scheme(\"ftp\")"),
            ("javascript:alert(1)", "Scheme(\"javascript\")"),
            ("https://github.com@evil.org/", "User"),
            ("https://user:secret@evil.org/", "User"),
            ("https://:secret@evil.org/", "User"),
            (
                "https://a%00.github.com/",
                "Syntax(\"https://a%00.github.com/\")",
            ),
            ("https://a\tb.org/", r#"Syntax("https://a\\tb.org/")"#),
            ("https://", "Syntax(\"https://\")"),
            ("https://a!b.org/", "Host(\"a!b.org\")"),
        ];
        for (text, expected) in table {
            assert_eq!(parsed(text), expected, "{text}");
        }
        assert_eq!(
            parsed(&format!("https://a.org/{}", "x".repeat(MAX_BYTES))),
            "TooLong"
        );
    }

    #[test]
    fn a_user_and_a_password_are_hidden() {
        let table = [
            (
                "https://me:hunter2@a.example/b?c",
                Some("https://[redacted:user]@a.example/b?c"),
            ),
            (
                "https:me:hunter2@a.example",
                Some("https://[redacted:user]@a.example/"),
            ),
            (
                " HTTPS://token@A.example ",
                Some("https://[redacted:user]@a.example/"),
            ),
            (
                "ssh://me:hunter2@a.example/b",
                Some("ssh://[redacted:user]@a.example/b"),
            ),
            ("https://me:hunter2@", Some("https://[redacted:user]@")),
            (
                "https://me:hunter2@a b/c@d",
                Some("https://[redacted:user]@a b/c@d"),
            ),
            ("https://a.example/@me", None),
            ("https://", None),
            ("not a url", None),
            ("me@a.example", None),
        ];
        for (text, expected) in table {
            assert_eq!(without_user(text).as_deref(), expected, "{text}");
        }
        assert_eq!(
            parsed("https://me:hunter2@"),
            "Syntax(\"https://[redacted:user]@\")"
        );
    }

    #[test]
    fn a_redirect_is_read_like_an_address() {
        let page = WebUrl::parse("https://docs.rs/a/b").unwrap();
        let table = [
            ("c", Ok("https://docs.rs/a/c")),
            ("/c?d", Ok("https://docs.rs/c?d")),
            ("//evil.org/c", Ok("https://evil.org/c")),
            ("\\\\evil.org", Ok("https://evil.org/")),
            ("http://169.254.169.254/", Ok("http://169.254.169.254/")),
            ("//user@evil.org", Err(InvalidUrl::User)),
            (
                "file:///etc/passwd",
                Err(InvalidUrl::Scheme("file".to_owned())),
            ),
        ];
        for (location, expected) in table {
            assert_eq!(
                page.join(location).map(|url| url.to_string()),
                expected.map(str::to_owned),
                "{location}"
            );
        }
    }

    #[test]
    fn parts_are_escaped_and_stay_below() {
        let base = WebUrl::parse("https://pypi.org/pypi/").unwrap();
        assert_eq!(
            base.below(["a b", "../x?y#z", "json"]).as_str(),
            "https://pypi.org/pypi/a%20b/..%2Fx%3Fy%23z/json"
        );
        assert_eq!(
            base.below(["..", ".", "x"]).as_str(),
            "https://pypi.org/pypi/x"
        );
        assert_eq!(
            base.with_query([("q", "a&b=c d")]).as_str(),
            "https://pypi.org/pypi/?q=a%26b%3Dc+d"
        );
        assert_eq!(
            (base.authority(), base.port()),
            ("pypi.org".to_owned(), 443)
        );
        let other = WebUrl::parse("http://[2606:4700::1]:81/").unwrap();
        assert_eq!(
            (other.authority().as_str(), other.path_and_query().as_str()),
            ("[2606:4700::1]:81", "/")
        );
        assert!(!other.has_origin_of(&base) && base.has_origin_of(&base.below(["x"])));
    }
}
