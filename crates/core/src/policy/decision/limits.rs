//! The limits in the settings of tools, which forbid or ask about calls, besides the rules.
//!
//! Paths and programs that are not allowed are denied before any rule is asked, so no rule widens a
//! limit. A command that is more than one program with plain words is asked about, since its
//! programs cannot be named for certain.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::Command;
use super::programs;
use crate::policy::host::{Host, HostPattern, WebUrl};
use crate::policy::tool_settings::{ALLOWED_DOMAINS, ToolSettings};
use crate::text::invisible::shown;

const FORBIDDEN: &str = "tools.file_operations.forbidden_paths";
const WITHHELD: &str = "built-in:secrets";
const EXTENSIONS: &str = "tools.file_operations.allowed_extensions";
const COMMANDS: &str = "tools.code_execution.allowed_commands";
pub(super) const DOMAINS: &str = "tools.web_requests.allowed_domains";

/// The folders of the system's programs: a program there is the one that its name alone finds.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/bin/", "/usr/bin/", "/bin/"];

/// Why something is never allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LimitRefusal {
    /// The key of the setting.
    pub(super) rule: &'static str,
    /// The fault of the call, and what is allowed.
    pub(super) reason: String,
}

/// The endings that names of files may have.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Extensions {
    lower_case: Vec<String>,
    /// As the user wrote them.
    shown: String,
}

/// The limits on what calls name, for one worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// Paths relative to the worktree.
    forbidden: Vec<String>,
    extensions: Option<Extensions>,
    commands: Option<Vec<String>>,
    domains: Option<Vec<HostPattern>>,
    /// The hosts of services that the user has chosen, each with the tool that asks it.
    services: Vec<(&'static str, Host)>,
    /// Files of the worktree that look like secrets.
    pub(super) withheld: Vec<WithheldFile>,
}

impl Limits {
    /// Returns the limits as they hold in a worktree. A forbidden path outside of it needs no
    /// limit, since no tool leaves the worktree; one above it is about what surrounds the worktree.
    pub(super) fn in_worktree(settings: &ToolSettings, worktree: &Path) -> Limits {
        let files = &settings.file_operations;
        let mut forbidden = Vec::new();
        for path in &files.forbidden_paths {
            forbidden.extend(below(path, worktree).map(str::to_owned));
        }
        let mut domains = Vec::new();
        for host in &settings.web_requests.allowed_domains {
            domains.extend(HostPattern::parse(host));
        }
        Limits {
            forbidden,
            extensions: files.allowed_extensions.as_deref().map(Extensions::new),
            commands: settings.code_execution.allowed_commands.clone(),
            domains: Some(domains),
            services: services(settings),
            withheld: Vec::new(),
        }
    }

    /// Refuses a path that is forbidden, or that is withheld.
    pub(super) fn refuse_path(&self, path: &str) -> Option<LimitRefusal> {
        if let Some(file) = self.withheld.iter().find(|file| file.path == path) {
            let reason =
                format!("{file} stays out of sight until the user decides about it; do without it");
            return Some(LimitRefusal {
                rule: WITHHELD,
                reason,
            });
        }
        let forbidden = self
            .forbidden
            .iter()
            .find(|forbidden| Path::new(path).starts_with(forbidden))?;
        let reason =
            format!("the user forbids `{forbidden}` and everything below it; do without `{path}`");
        Some(LimitRefusal {
            rule: FORBIDDEN,
            reason,
        })
    }

    /// Refuses a file whose path is forbidden, or that is not of an allowed kind.
    pub(super) fn refuse_file(&self, path: &str) -> Option<LimitRefusal> {
        self.refuse_path(path).or_else(|| self.refuse_name(path))
    }

    /// Refuses a line for a shell that is one command, of a program that is not allowed.
    pub(super) fn refuse_line(&self, text: &str) -> Option<LimitRefusal> {
        match self.program(text)? {
            Program::Single(program) => self.refuse_program(&program),
            Program::Several => None,
        }
    }

    /// Returns the setting that asks about a line for a shell, since its programs cannot be named
    /// for certain.
    pub(super) fn doubt_line(&self, text: &str) -> Option<&'static str> {
        matches!(self.program(text)?, Program::Several).then_some(COMMANDS)
    }

    /// Returns the setting that asks about a host, since it does not list it.
    pub(super) fn doubt_host(&self, tool: &str, host: &str) -> Option<&'static str> {
        self.domains.as_ref()?;
        let is_listed = Host::parse(host).is_ok_and(|host| self.lists_host(tool, &host));
        (!is_listed).then_some(DOMAINS)
    }

    /// Reports whether the user has listed a host, or chosen it as the service that a tool asks.
    pub(super) fn lists_host(&self, tool: &str, host: &Host) -> bool {
        self.domains
            .iter()
            .flatten()
            .any(|domain| domain.matches(host))
            || self.is_service(tool, host)
    }

    /// Reports whether the user has listed a host besides those that are shipped, which are for the
    /// tools of the web.
    pub(super) fn lists_more(&self, host: &Host) -> bool {
        self.domains
            .iter()
            .flatten()
            .filter(|domain| !is_shipped(domain))
            .any(|domain| domain.matches(host))
    }

    /// Reports whether the user has listed exactly this host, or chosen it as the service that a
    /// tool asks.
    pub(super) fn names_host(&self, tool: &str, host: &Host) -> bool {
        let exact = HostPattern::Exact(host.clone());
        self.domains.iter().flatten().any(|domain| *domain == exact) || self.is_service(tool, host)
    }

    fn is_service(&self, tool: &str, host: &Host) -> bool {
        self.services
            .iter()
            .any(|(of, service)| *of == tool && service == host)
    }

    /// Reports whether some paths are not allowed.
    pub(super) fn restricts_paths(&self) -> bool {
        !self.forbidden.is_empty() || self.extensions.is_some() || !self.withheld.is_empty()
    }

    /// Reports whether only some programs are allowed.
    pub(super) fn restricts_programs(&self) -> bool {
        self.commands.is_some()
    }

    fn refuse_name(&self, path: &str) -> Option<LimitRefusal> {
        let extensions = self.extensions.as_ref()?;
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        if path.is_empty() {
            return None;
        }
        for extension in &extensions.lower_case {
            if name.len() > extension.len() && name.ends_with(extension) {
                return None;
            }
        }
        let allowed = &extensions.shown;
        let reason =
            format!("`{path}` has none of the endings that the user allows for files: {allowed}");
        Some(LimitRefusal {
            rule: EXTENSIONS,
            reason,
        })
    }

    /// Returns what a command line runs, if programs are limited.
    fn program(&self, text: &str) -> Option<Program> {
        self.commands.as_ref()?;
        let command = Command::read(text).ok()?;
        let single = command.single().and_then(|words| words.first());
        Some(
            match single.filter(|program| !programs::is_assignment(program)) {
                Some(program) => Program::Single(program.clone()),
                None => Program::Several,
            },
        )
    }

    /// Refuses a program that is not allowed.
    pub(super) fn refuse_program(&self, program: &str) -> Option<LimitRefusal> {
        let commands = self.commands.as_ref()?;
        let name = SYSTEM_FOLDERS
            .iter()
            .find_map(|folder| program.strip_prefix(folder))
            .unwrap_or(program);
        // `python3.12` is the program `python` in one version.
        let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if commands
            .iter()
            .any(|command| [program, name, unversioned].contains(&command.as_str()))
        {
            return None;
        }
        let allowed = commands.join(" ");
        let reason =
            format!("`{program}` is not one of the programs that the user allows: {allowed}");
        Some(LimitRefusal {
            rule: COMMANDS,
            reason,
        })
    }
}

fn is_shipped(domain: &&HostPattern) -> bool {
    ALLOWED_DOMAINS.contains(&domain.to_string().as_str())
}

impl Extensions {
    fn new(extensions: &[String]) -> Extensions {
        let lower_case = extensions
            .iter()
            .map(|extension| extension.to_lowercase())
            .collect();
        Extensions {
            lower_case,
            shown: extensions.join(" "),
        }
    }
}

/// Returns a path below the worktree relative to it; `None` for the worktree itself, and for other
/// paths outside it.
fn below<'p>(path: &'p str, worktree: &Path) -> Option<&'p str> {
    let path = Path::new(path);
    let below = if path.is_absolute() {
        path.strip_prefix(worktree).ok()?
    } else {
        path
    };
    below.to_str().filter(|below| !below.is_empty())
}

/// Returns the hosts of the services that the user has chosen: those with an address of the user's,
/// which are not asked at their own, so that naming that one asks nothing; and the one that
/// searches.
fn services(settings: &ToolSettings) -> Vec<(&'static str, Host)> {
    let web = &settings.web_requests;
    let set = web
        .services
        .iter()
        .map(|(service, url)| (*service, url.as_str()));
    let chosen = web.services.keys().copied().chain(web.search_service);
    let own = chosen.filter_map(|service| Some((service, service.own_url()?)));
    set.chain(own)
        .filter_map(|(service, url)| {
            Some((service.tool(), WebUrl::parse(url).ok()?.host().clone()))
        })
        .collect()
}

/// The programs of a command line.
enum Program {
    /// One program, with plain words.
    Single(String),
    /// Several programs, or some that cannot be named for certain.
    Several,
}

/// A new file that looks like a secret: it stays in its worktree, out of every commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct WithheldFile {
    /// Its path, relative to the worktree.
    pub path: String,
    /// Why it looks like one.
    pub reason: String,
}

impl std::fmt::Display for WithheldFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", shown(&self.path), self.reason)
    }
}
