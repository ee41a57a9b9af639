//! The lists of names in the settings of tools: what may be in them, and which of two lists is
//! stricter.

use orchestrate_core::policy::host::{HostPattern, WebUrl, covers_host};
use orchestrate_core::policy::matches_text;
use orchestrate_core::policy::setup_hosts::SetupHosts;
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::policy::web::WebServiceName;

/// How the names of tools of MCP servers begin.
const OF_SERVERS: &str = "mcp__";

/// What a list of names is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// The endings of files that tools may touch.
    Extensions,
    /// Paths that tools never touch.
    ForbiddenPaths,
    /// Programs that tools may run.
    Programs,
    /// Hosts that tools reach without asking, by name or as `*.name`.
    Domains,
    /// Hosts that a setup reaches, each with its port unless that is one of the web's.
    Servers,
    /// Tools with the ones that answer instead, as `tool=other`.
    Alternatives,
    /// Providers of models.
    Providers,
    /// Services of the web with their addresses, as `service=url`.
    Services,
    /// Globs over paths of the project.
    Globs,
    /// Absolute paths, or paths below `~/`.
    Readable,
    /// Names of environment variables.
    Variables,
    /// Models, in order.
    Models,
}

impl Names {
    /// Returns what separates the names in one text.
    pub(crate) fn separator(self) -> char {
        if self == Names::Readable { ':' } else { ',' }
    }

    /// Returns a name as it is kept, or `None` if it cannot be in the list.
    pub(crate) fn read(self, text: &str) -> Option<String> {
        let may_have_blanks = matches!(
            self,
            Names::ForbiddenPaths | Names::Globs | Names::Readable | Names::Models
        );
        if text.is_empty() || !text.chars().all(is_plain) && !may_have_blanks {
            return None;
        }
        match self {
            Names::Extensions => {
                let bare = text.strip_prefix('.').unwrap_or(text);
                let is_ending = !bare.is_empty() && !bare.contains(['/', '*', '?']);
                is_ending.then(|| format!(".{bare}"))
            }
            Names::ForbiddenPaths => forbidden_path(text),
            Names::Programs => (!text.starts_with('-') && !text.contains(['*', '=', '\'', '"']))
                .then(|| text.to_owned()),
            Names::Alternatives => {
                let (tool, other) = text.split_once('=')?;
                (is_name(tool) && is_name(other) && tool != other).then(|| text.to_owned())
            }
            Names::Providers => text
                .chars()
                .all(|c| c.is_ascii_lowercase())
                .then(|| text.to_owned()),
            Names::Domains => HostPattern::parse(text).map(|pattern| pattern.to_string()),
            Names::Servers => SetupHosts::is_host(text).then(|| text.to_owned()),
            Names::Services => service(text),
            Names::Readable => {
                let is_read = text.starts_with('/') || text.starts_with("~/");
                is_read.then(|| text.to_owned())
            }
            Names::Variables => is_variable(text).then(|| text.to_owned()),
            Names::Models => Some(text.to_owned()),
            // Everything is no part of the project.
            Names::Globs => {
                (!text.trim_matches(['/', '*', '.']).is_empty()).then(|| text.to_owned())
            }
        }
    }

    /// Returns the stricter of two lists: what both allow, or what either forbids.
    pub(crate) fn meet(self, one: &[String], other: &[String]) -> Vec<String> {
        let mut met: Vec<String> = match self {
            Names::ForbiddenPaths | Names::Globs => one.iter().chain(other).cloned().collect(),
            Names::Extensions | Names::Programs | Names::Domains => {
                let within = |name: &&String, list: &[String]| {
                    list.iter().any(|allowed| self.covers(allowed, name))
                };
                let of_one = one.iter().filter(|name| within(name, other));
                of_one
                    .chain(other.iter().filter(|name| within(name, one)))
                    .cloned()
                    .collect()
            }
            _ => one.to_vec(),
        };
        let mut seen = std::collections::BTreeSet::new();
        met.retain(|name| seen.insert(name.clone()));
        met
    }

    /// Reports whether everything that one name allows is allowed by another.
    fn covers(self, allowed: &str, name: &str) -> bool {
        allowed == name
            || match self {
                Names::Extensions => name.to_lowercase().ends_with(&allowed.to_lowercase()),
                Names::Domains => covers_host(allowed, name),
                _ => false,
            }
    }

    /// Returns what the names are, for messages.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Names::Extensions => "endings",
            Names::ForbiddenPaths | Names::Globs | Names::Readable => "paths",
            Names::Programs => "programs",
            Names::Domains | Names::Servers => "hosts",
            Names::Alternatives => "tools with the one that answers instead,",
            Names::Providers => "providers",
            Names::Services => {
                "services with their addresses (searxng, brave, tavily, stackexchange, github, \
                 docs.rs, pypi, npm or pkg.go.dev)"
            }
            Names::Variables => "names of variables",
            Names::Models => "models",
        }
    }

    /// Returns an example for users to change.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Names::Extensions => "[\".py\", \".md\"]",
            Names::ForbiddenPaths => "[\"/etc\", \"~/.ssh\", \"secrets\"]",
            Names::Programs => "[\"python\", \"pytest\"]",
            Names::Domains => "[\"docs.python.org\", \"*.github.com\"]",
            Names::Servers => "[\"npm.example\", \"10.0.0.7:8702\"]",
            Names::Globs => "[\"build/\", \"*.tmp\"]",
            Names::Alternatives => "[\"rg=grep\"]",
            Names::Providers => "[\"anthropic\", \"openrouter\"]",
            Names::Services => "[\"searxng=http://localhost:8888/\"]",
            Names::Readable => "[\"~/tools\", \"/srv/data\"]",
            Names::Variables => "[\"CI\"]",
            Names::Models => "[\"anthropic/claude-sonnet-5\"]",
        }
    }
}

/// Reports whether a text can be the name of an environment variable (POSIX).
fn is_variable(text: &str) -> bool {
    text.chars().all(is_letter) && text.starts_with(|first: char| !first.is_ascii_digit())
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn is_plain(c: char) -> bool {
    !c.is_whitespace() && !c.is_control()
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '*', '(', ','])
}

/// Returns a service with its address in one form; `None` if there is no such service, or the
/// address holds anything that may be a secret.
fn service(text: &str) -> Option<String> {
    let (name, url) = text.split_once('=')?;
    // The model's endpoint is where the model is.
    let service =
        WebServiceName::named(name).filter(|service| *service != WebServiceName::Model)?;
    let url = WebUrl::parse(url).ok()?;
    (!url.path_and_query().contains('?')).then(|| format!("{}={url}", service.as_str()))
}

/// Returns a path without `.`, `..` and repeated slashes; `None` if it is everything, or leads out
/// of the project.
fn forbidden_path(text: &str) -> Option<String> {
    let start = ["~/", "/"]
        .into_iter()
        .find(|start| text.starts_with(start))
        .unwrap_or_default();
    let mut parts: Vec<&str> = Vec::new();
    for part in text.get(start.len()..)?.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    let is_home = text == "~" || parts.first() == Some(&"~") && start.is_empty();
    let is_path = !parts.is_empty() && !is_home && !text.contains('\0');
    is_path.then(|| format!("{start}{}", parts.join("/")))
}

/// Reports whether a name can mean a tool: one that exists or that other products have, one of an
/// MCP server, or several of these by a pattern.
pub(crate) fn is_about_some_tool(tool: &str, names: &ToolNames) -> bool {
    match tool.split_once('*') {
        None => tool.starts_with(OF_SERVERS) || names.knows(tool),
        Some(("", "")) => true,
        Some((start, _)) => {
            let is_of_servers =
                start.starts_with(OF_SERVERS) || !start.is_empty() && OF_SERVERS.starts_with(start);
            is_of_servers || names.names().any(|name| matches_text(tool, name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_in_one_form() {
        let table = [
            (Names::Extensions, "py", Some(".py")),
            (Names::Extensions, ".tar.gz", Some(".tar.gz")),
            (Names::Extensions, ".", None),
            (Names::Extensions, "*.py", None),
            (Names::ForbiddenPaths, "./a//b/../c/", Some("a/c")),
            (Names::ForbiddenPaths, "/etc/", Some("/etc")),
            (Names::ForbiddenPaths, "~/.ssh", Some("~/.ssh")),
            (Names::ForbiddenPaths, "my files", Some("my files")),
            (Names::ForbiddenPaths, "../a", None),
            (Names::ForbiddenPaths, "/", None),
            (Names::ForbiddenPaths, ".", None),
            (Names::Programs, "python", Some("python")),
            (Names::Programs, "git push", None),
            (Names::Programs, "*", None),
            (Names::Domains, "*.GitHub.com", Some("*.github.com")),
            (Names::Servers, "10.0.0.7:8702", Some("10.0.0.7:8702")),
            (Names::Servers, "https://npm.example", None),
            (Names::Servers, "*.example", None),
            (Names::Domains, "https://github.com", None),
            (Names::Domains, "*", None),
            (Names::Domains, "", None),
            (Names::Domains, "*.", None),
            (Names::Domains, "0x7f.1", Some("127.0.0.1")),
            (
                Names::Domains,
                "B\u{fc}cher.example",
                Some("xn--bcher-kva.example"),
            ),
            (
                Names::Services,
                "searxng=http://LOCALHOST:8888",
                Some("searxng=http://localhost:8888/"),
            ),
            (
                Names::Services,
                "docs.rs=https://docs.corp.example/",
                Some("docs.rs=https://docs.corp.example/"),
            ),
            (Names::Services, "brave=https://h/?key=secret", None),
            (Names::Services, "brave=https://user:secret@h/", None),
            (Names::Services, "bing=https://h/", None),
            (Names::Services, "brave", None),
            (Names::Services, "model=https://h/", None),
            (Names::Alternatives, "rg=grep", Some("rg=grep")),
            (Names::Alternatives, "rg", None),
            (Names::Alternatives, "rg=", None),
            (Names::Alternatives, "rg=rg", None),
            (Names::Alternatives, "rg=grep=ls", None),
        ];
        for (names, text, expected) in table {
            assert_eq!(names.read(text).as_deref(), expected, "{names:?} {text}");
        }
    }

    #[test]
    fn the_stricter_list_allows_what_both_allow() {
        let table: [(Names, [&[&str]; 3]); 7] = [
            (
                Names::Extensions,
                [
                    &[".py", ".gz"],
                    &[".md", ".py", ".tar.gz"],
                    &[".py", ".tar.gz"],
                ],
            ),
            (
                Names::Programs,
                [&["python", "pip"], &["pip", "cargo"], &["pip"]],
            ),
            (Names::Programs, [&["python"], &["cargo"], &[]]),
            (
                Names::Domains,
                [
                    &["*.github.com"],
                    &["api.github.com", "github.com"],
                    &["api.github.com"],
                ],
            ),
            (
                Names::Domains,
                [
                    &["*.api.github.com"],
                    &["*.github.com"],
                    &["*.api.github.com"],
                ],
            ),
            (
                Names::Domains,
                [&["*.github.com"], &["*.github.com"], &["*.github.com"]],
            ),
            (
                Names::ForbiddenPaths,
                [&["/etc", "a"], &["b", "a"], &["/etc", "a", "b"]],
            ),
        ];
        let list = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        for (names, [one, other, expected]) in table {
            assert_eq!(
                names.meet(&list(one), &list(other)),
                list(expected),
                "{names:?} {one:?} {other:?}"
            );
        }
    }
}
