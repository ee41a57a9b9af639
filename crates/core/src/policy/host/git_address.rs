//! Addresses of git's remote repositories: by which protocol, at which host or in which folder, and
//! without a password.
//!
//! An address comes from a configuration, and git, curl and ssh each read it in their own way. So
//! what they might read differently is refused, and the address that git gets has the host about
//! which it was decided.

use std::fmt;

use super::name::Host;
use crate::text::invisible::shown;
use crate::text::percent_decoded;

/// Maximum length of an address in bytes.
const MAX_BYTES: usize = 8 << 10;
/// The protocols of the web.
const WEB: [&str; 2] = ["https", "http"];
/// The names of ssh.
const SSH: [&str; 3] = ["ssh", "git+ssh", "ssh+git"];

/// The address of a remote repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitAddress {
    /// Without a password, and without a user except for ssh.
    text: String,
    place: Place,
    login: Option<Login>,
}

/// Where a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Host(Host),
    /// A folder of this machine.
    Folder(String),
}

/// The user and the password that an address of the web contained.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The protocol, the host and the port.
    origin: String,
    /// Each as it was written, with escapes.
    user: String,
    password: Option<String>,
}

/// Why a text is no address of a remote repository that git may be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGitAddress {
    /// Git, or what it starts, could read it in different ways. The text is not repeated, since it
    /// may hold a password.
    #[error("the address is written in a way that programs may read differently")]
    Syntax,
    /// It is reached in another way, perhaps by a program that it names.
    #[error("only https, http, ssh, git and folders are used, not `{0}`")]
    Protocol(String),
    /// It names no host.
    #[error("the address names no host")]
    Host,
    /// It has a user or a password where the protocol takes none.
    #[error("the address has a password or a user where {0} takes none")]
    Login(&'static str),
}

impl GitAddress {
    /// Parses an address as git does.
    ///
    /// # Errors
    /// [`InvalidGitAddress`] if git could start a program that it names, or take its host for
    /// another one.
    ///
    /// ```
    /// use orchestrate_core::policy::host::GitAddress;
    /// let address = GitAddress::parse("https://me:secret@GitHub.com/a/b.git").unwrap();
    /// assert_eq!(address.to_string(), "https://github.com/a/b.git");
    /// assert_eq!(GitAddress::parse("git@github.com:a/b.git").unwrap().host(), address.host());
    /// assert!(GitAddress::parse("ext::sh -c id").is_err());
    /// assert!(GitAddress::parse("ssh://-oProxyCommand=id/x").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<GitAddress, InvalidGitAddress> {
        let is_odd = text.is_empty() || text.len() > MAX_BYTES || text.starts_with('-');
        if is_odd || text.chars().any(char::is_control) {
            return Err(InvalidGitAddress::Syntax);
        }
        let rest = text.trim_start_matches(is_of_scheme);
        let scheme = text.strip_suffix(rest).unwrap_or(text);
        if rest.starts_with("::") {
            return Err(InvalidGitAddress::Protocol(shown(scheme)));
        }
        match rest.strip_prefix("://") {
            Some(rest) if !scheme.is_empty() => of_url(scheme, rest),
            _ => of_short_form(text),
        }
    }

    /// Returns the address of a folder of this machine.
    pub fn of_folder(path: &str) -> GitAddress {
        GitAddress {
            text: path.to_owned(),
            place: Place::Folder(path.to_owned()),
            login: None,
        }
    }

    /// Returns the host; `None` for a folder of this machine.
    pub fn host(&self) -> Option<&Host> {
        if let Place::Host(host) = &self.place {
            Some(host)
        } else {
            None
        }
    }

    /// Returns the folder of this machine, if it is one.
    pub fn folder(&self) -> Option<&str> {
        if let Place::Folder(folder) = &self.place {
            Some(folder)
        } else {
            None
        }
    }

    /// Returns the address as git gets it and people see it: without a password.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the user and the password that it contained.
    pub fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// Reports whether two addresses name one repository, as far as they show it: by two protocols,
    /// the same path at the same host; by one, only if they are equal.
    ///
    /// ```
    /// use orchestrate_core::policy::host::GitAddress;
    /// let web = GitAddress::parse("https://github.com/a/b").unwrap();
    /// assert!(web.names_repository_of(&GitAddress::parse("git@github.com:a/b.git").unwrap()));
    /// ```
    pub fn names_repository_of(&self, other: &GitAddress) -> bool {
        let is_same_host = self.host().is_some() && self.host() == other.host();
        let by_two_protocols = self.protocol() != other.protocol() && self.path() == other.path();
        self.text == other.text || (is_same_host && by_two_protocols)
    }

    /// Returns the protocol; an address without one means ssh.
    fn protocol(&self) -> &str {
        self.text
            .split_once("://")
            .map_or("ssh", |(protocol, _)| protocol)
    }

    /// Returns the path at the host in one form, such as `owner/project`: servers take each with
    /// and without its ending.
    pub fn path(&self) -> &str {
        let is_bracketed = self.text.starts_with('[') || self.text.contains("@[");
        let path = match self.text.split_once("://") {
            Some((_, rest)) => rest.split_once('/'),
            None => self.text.split_once(if is_bracketed { "]:" } else { ":" }),
        };
        let path = path.map_or("", |(_, path)| path).trim_matches('/');
        path.strip_suffix(".git").unwrap_or(path)
    }
}

impl fmt::Display for GitAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Login {
    /// Returns the user, decoded as git does.
    pub fn user(&self) -> String {
        unescaped(&self.user)
    }

    /// Returns the line of a file of passwords, as `git credential-store` reads it; `None` without
    /// a password.
    pub fn stored(&self) -> Option<String> {
        let (scheme, host) = self.origin.split_once("://")?;
        Some(format!(
            "{scheme}://{}:{}@{host}",
            self.user,
            self.password.as_ref()?
        ))
    }
}

/// Shows neither.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({})", self.origin)
    }
}

/// The part of an address between its protocol and its path.
struct Authority<'a> {
    user: Option<&'a str>,
    host: &'a str,
    port: Option<&'a str>,
}

impl<'a> Authority<'a> {
    fn parse(text: &'a str) -> Result<Authority<'a>, InvalidGitAddress> {
        if text.chars().any(is_odd) {
            return Err(InvalidGitAddress::Syntax);
        }
        let (user, place) = match text.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, text),
        };
        if user.is_some_and(|user| user.is_empty() || user.starts_with('-') || user.contains('@')) {
            return Err(InvalidGitAddress::Syntax);
        }
        let end = if place.starts_with('[') {
            place.find(']').map(|at| at + 1)
        } else {
            place.find(':')
        };
        let (host, rest) = place.split_at(end.unwrap_or(place.len()));
        let port = match rest.strip_prefix(':') {
            None if !rest.is_empty() => return Err(InvalidGitAddress::Host),
            port => port.filter(|port| !port.is_empty()),
        };
        if port.is_some_and(|port| port.parse::<u16>().is_err()) || host.starts_with('-') {
            return Err(InvalidGitAddress::Host);
        }
        Ok(Authority { user, host, port })
    }

    fn host(&self) -> Result<Host, InvalidGitAddress> {
        Host::parse(self.host).map_err(|_| InvalidGitAddress::Host)
    }

    /// Returns host and port with the host in this form.
    fn place(&self, host: &str) -> String {
        self.port
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

fn is_odd(c: char) -> bool {
    c.is_whitespace() || matches!(c, '?' | '#' | '\\' | '"' | '\'' | '`' | '$')
}

fn is_of_scheme(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')
}

fn of_url(scheme: &str, rest: &str) -> Result<GitAddress, InvalidGitAddress> {
    if scheme == "file" {
        // Git decodes the path; an escape is nothing that people write.
        let is_plain = rest.starts_with('/') && !rest.contains('%');
        return if is_plain {
            Ok(GitAddress::of_folder(rest))
        } else {
            Err(InvalidGitAddress::Syntax)
        };
    }
    let (authority, path) = rest.split_at(rest.find('/').ok_or(InvalidGitAddress::Syntax)?);
    match scheme {
        scheme if WEB.contains(&scheme) => of_web(scheme, authority, path),
        scheme if SSH.contains(&scheme) => {
            let authority = of_ssh(authority)?;
            if path.starts_with("/-") {
                return Err(InvalidGitAddress::Syntax);
            }
            let user = authority
                .user
                .map(|user| format!("{user}@"))
                .unwrap_or_default();
            let host = authority.host()?;
            let text = format!(
                "ssh://{user}{}{path}",
                authority.place(&spelling_for_ssh(&host, authority.host))
            );
            Ok(GitAddress {
                text,
                place: Place::Host(host),
                login: None,
            })
        }
        "git" => {
            let authority = Authority::parse(authority)?;
            if authority.user.is_some() {
                return Err(InvalidGitAddress::Login("git"));
            }
            let host = authority.host()?;
            let text = format!("git://{}{path}", authority.place(&host.to_string()));
            Ok(GitAddress {
                text,
                place: Place::Host(host),
                login: None,
            })
        }
        other => Err(InvalidGitAddress::Protocol(shown(other))),
    }
}

fn of_web(scheme: &str, authority: &str, path: &str) -> Result<GitAddress, InvalidGitAddress> {
    if path.contains(['?', '#', '\\']) || path.chars().any(char::is_whitespace) {
        return Err(InvalidGitAddress::Syntax);
    }
    let authority = Authority::parse(authority)?;
    let host = authority.host()?;
    let origin = format!("{scheme}://{}", authority.place(&host.to_string()));
    let login = authority.user.map(|user| {
        let (user, password) = user
            .split_once(':')
            .map_or((user, None), |(user, password)| (user, Some(password)));
        Login {
            origin: origin.clone(),
            user: user.to_owned(),
            password: password.map(str::to_owned),
        }
    });
    Ok(GitAddress {
        text: format!("{origin}{path}"),
        place: Place::Host(host),
        login,
    })
}

fn of_ssh(authority: &str) -> Result<Authority<'_>, InvalidGitAddress> {
    // Git decodes the whole, so that an escaped `@` would move the host.
    if authority.contains('%') {
        return Err(InvalidGitAddress::Syntax);
    }
    let authority = Authority::parse(authority)?;
    if authority.user.is_some_and(|user| user.contains(':')) {
        return Err(InvalidGitAddress::Login("ssh"));
    }
    Ok(authority)
}

/// Returns a host as ssh gets it: a name as it is written, since the user's configuration of ssh
/// may be about it.
fn spelling_for_ssh(host: &Host, written: &str) -> String {
    let is_same = written.is_ascii() && host.to_string().eq_ignore_ascii_case(written);
    if is_same {
        written.to_owned()
    } else {
        host.to_string()
    }
}

/// Parses `[user@]host:path`, or a path.
fn of_short_form(text: &str) -> Result<GitAddress, InvalidGitAddress> {
    let colon = match text.find("]:") {
        Some(at) if text.starts_with('[') || text.contains("@[") => Some(at + 1),
        _ => text.find(':'),
    };
    let parts = colon.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)));
    let Some((place, path)) = parts else {
        return Ok(GitAddress::of_folder(text));
    };
    if place.contains('/') {
        return Ok(GitAddress::of_folder(text));
    }
    let authority = of_ssh(place)?;
    if authority.port.is_some() || path.is_empty() || path.starts_with('-') {
        return Err(InvalidGitAddress::Syntax);
    }
    let host = authority.host()?;
    let user = authority
        .user
        .map(|user| format!("{user}@"))
        .unwrap_or_default();
    let text = format!("{user}{}:{path}", spelling_for_ssh(&host, authority.host));
    Ok(GitAddress {
        text,
        place: Place::Host(host),
        login: None,
    })
}

/// Replaces escapes by what they stand for; one that is none stays.
fn unescaped(text: &str) -> String {
    String::from_utf8_lossy(&percent_decoded(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the address as git gets it, and its host or `folder`; or why it is refused.
    fn parsed(text: &str) -> String {
        match GitAddress::parse(text) {
            Ok(address) => {
                let place = address
                    .host()
                    .map_or_else(|| "folder".to_owned(), Host::to_string);
                format!("{address} at {place}")
            }
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn each_form_of_an_address_has_its_host() {
        let table = [
            (
                "https://GitHub.com/a/b.git",
                "https://github.com/a/b.git at github.com",
            ),
            (
                "https://me:p%40ss@github.com:8443/a",
                "https://github.com:8443/a at github.com",
            ),
            (
                "https://ghp_token@github.com/a",
                "https://github.com/a at github.com",
            ),
            ("http://0x7f.1/a", "http://127.0.0.1/a at 127.0.0.1"),
            (
                "http://[::ffff:127.0.0.1]:80/a",
                "http://127.0.0.1:80/a at 127.0.0.1",
            ),
            (
                "http://bücher.example/a",
                "http://xn--bcher-kva.example/a at xn--bcher-kva.example",
            ),
            ("ssh://git@Work:2222/a", "ssh://git@Work:2222/a at work"),
            ("git+ssh://0177.0.0.1/a", "ssh://127.0.0.1/a at 127.0.0.1"),
            (
                "git@github.com:a/b.git",
                "git@github.com:a/b.git at github.com",
            ),
            ("github.com:a", "github.com:a at github.com"),
            (
                "ssh://git@host.example/v3/My%20Project/a",
                "ssh://git@host.example/v3/My%20Project/a at host.example",
            ),
            ("me@[::1]:a", "me@[::1]:a at [::1]"),
            (
                "git://host.example/a",
                "git://host.example/a at host.example",
            ),
            ("/srv/git/a.git", "/srv/git/a.git at folder"),
            ("../a.git", "../a.git at folder"),
            ("./a:b", "./a:b at folder"),
            ("file:///srv/a.git", "/srv/a.git at folder"),
        ];
        for (text, expected) in table {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn what_may_run_a_program_or_lead_elsewhere_is_refused() {
        let table = [
            ("ext::sh -c id", "Protocol(\"ext\")"),
            ("fd::17", "Protocol(\"fd\")"),
            ("evil::https://github.com/a", "Protocol(\"evil\")"),
            ("::x", "Protocol(\"\")"),
            ("ftp://a.org/b", "Protocol(\"ftp\")"),
            ("HTTPS://a.org/b", "Protocol(\"HTTPS\")"),
            ("-oProxyCommand=id:x", "Syntax"),
            ("--upload-pack=id", "Syntax"),
            ("ssh://-oProxyCommand=id/x", "Host"),
            ("ssh://%2doProxyCommand=id/x", "Syntax"),
            ("ssh://-x@host/a", "Syntax"),
            ("ssh://a%40evil.org%2f@github.com/a", "Syntax"),
            ("ssh://host/-oProxyCommand=id", "Syntax"),
            ("host:-oProxyCommand=id", "Syntax"),
            ("ssh://me:secret@host/a", "Login(\"ssh\")"),
            ("git://me@host/a", "Login(\"git\")"),
            ("https://github.com@evil.org@other.org/a", "Syntax"),
            ("https://github.com\\@evil.org/a", "Syntax"),
            ("https://evil.org?github.com/a", "Syntax"),
            ("https://evil.org#@github.com/a", "Syntax"),
            ("https://github.com/a?x=y", "Syntax"),
            ("https://a\nb/c", "Syntax"),
            ("https://host", "Syntax"),
            ("https://host:99999/a", "Host"),
            ("https://host:0x50/a", "Host"),
            ("https:///a", "Host"),
            ("https://[::1/a", "Host"),
            ("file://host/share", "Syntax"),
            ("file:///a%2fb", "Syntax"),
            ("host:", "Syntax"),
            ("", "Syntax"),
        ];
        for (text, expected) in table {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn one_repository_may_have_an_address_for_each_protocol() {
        let table = [
            ("https://github.com/a/b", "https://me@GitHub.com/a/b", true),
            ("https://github.com/a/b.git", "git@github.com:a/b", true),
            ("ssh://git@github.com/a/b", "https://github.com/a/b/", true),
            ("me@[::1]:a", "http://[::1]/a.git", true),
            ("https://github.com/a/b", "git@github.com:me/b", false),
            ("https://github.com/a/b", "git@gitlab.com:a/b", false),
            ("https://github.com:8443/a", "https://github.com/a", false),
            ("/srv/a.git", "/srv/a.git", true),
            ("/srv/a.git", "/srv/b.git", false),
        ];
        for (one, other, expected) in table {
            let [one, other] = [one, other].map(|text| GitAddress::parse(text).unwrap());
            assert_eq!(one.names_repository_of(&other), expected, "{one} {other}");
            assert_eq!(other.names_repository_of(&one), expected, "{other} {one}");
        }
    }

    #[test]
    fn a_password_is_in_nothing_that_is_shown() {
        let address = GitAddress::parse("https://me%40x:s3cr%2ft@host.example:81/a").unwrap();
        let login = address.login().unwrap();
        assert_eq!(login.user(), "me@x");
        assert_eq!(
            login.stored().as_deref(),
            Some("https://me%40x:s3cr%2ft@host.example:81")
        );
        assert!(!format!("{address} {address:?}").contains("s3cr"));
        assert_eq!(
            GitAddress::parse("https://token@host.example/a")
                .unwrap()
                .login()
                .unwrap()
                .stored(),
            None
        );
    }
}
