//! How an agent could send data out with the tools that it has: asked when it begins.
//!
//! Each tool is judged by all that its calls could name, so the answer may be milder than the
//! decision about a call that is made, but never stricter. What the agent was exposed to changes
//! nothing here: that is for the guard.

use super::reach::{INSTALL, could_send};
use crate::agent::conversation::ToolSpec;
use crate::event::settings::RunSettings;
use crate::policy::host::{Host, WebUrl};
use crate::policy::tool_settings::WebRequests;
use crate::policy::web::WebServiceName;
use crate::policy::{
    Access, Decision, Grant, Permission, Policy, Question, Registry, RemoteBranch, Sending, Target,
};

/// The tools that connect to whichever host a call names.
const NAME_HOSTS: [&str; 2] = ["fetch_url", "parse_documentation"];
/// The tool that asks the service that the user has chosen.
const SEARCH: &str = "web_search";
/// A host that stands for each that no list and no rule names.
const ANY_HOST: &str = "any.invalid";

/// The part of the network that an agent's commands reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandNetwork {
    /// Nothing: their sandbox has none.
    Absent,
    /// As much as a proxy lets through, if the call asks for the network.
    Proxied,
    /// Everything: they run without a sandbox.
    Unlimited,
}

/// The means of an agent to send data out.
#[derive(Clone, Copy, Debug)]
pub struct Means<'a> {
    /// Its tools, with the parameters of each.
    pub tools: &'a [ToolSpec],
    /// The tools and permissions of its role.
    pub grant: &'a Grant,
    /// The rules for its calls, with the limits of its tools.
    pub policy: &'a Policy,
    /// The hosts that its tools for the web may reach.
    pub web: &'a WebRequests,
    /// The part of the network that its commands reach.
    pub commands: CommandNetwork,
    /// The settings of its run.
    pub settings: &'a RunSettings,
}

impl Means<'_> {
    /// Returns how the agent could send data out; `None` if a rule or the sandbox is against every
    /// call that could.
    pub fn sending(&self) -> Option<Sending> {
        let names = &self.settings.tools;
        self.tools
            .iter()
            .filter_map(|tool| self.by(tool, names.tool(&tool.name)?.permission))
            .max()
    }

    fn by(&self, tool: &ToolSpec, permission: Permission) -> Option<Sending> {
        let name = tool.name.as_str();
        let own = |targets: &[Target]| self.decided(name, permission, Access::Own, targets);
        if permission == Permission::CodeExecution && self.commands == CommandNetwork::Unlimited {
            return own(&[]);
        }
        if !could_send(name, permission, &tool.parameters) {
            return None;
        }
        match permission {
            Permission::CodeExecution if self.commands == CommandNetwork::Absent => None,
            Permission::CodeExecution if name == INSTALL => own(&[]).min(self.by_registry()),
            Permission::CodeExecution => own(&[]).min(self.by_proxy(name)),
            Permission::NetworkAccess => self
                .named_by(name)
                .iter()
                .filter_map(|all| own(all.as_slice()))
                .max(),
            _ => own(&[Target::Remote(RemoteBranch::default())]),
        }
    }

    fn by_proxy(&self, tool: &str) -> Option<Sending> {
        self.decided(
            tool,
            Permission::NetworkAccess,
            Access::Network,
            &[Target::Network],
        )
    }

    /// Decides about what an installation tells a registry; consent to the call is consent to
    /// that.
    fn by_registry(&self) -> Option<Sending> {
        let host = Host::parse(ANY_HOST).ok()?;
        let decision = self
            .policy
            .decide_registry(self.grant, INSTALL, &host, Registry::WellKnown);
        matches!(decision, Decision::Allow { .. }).then_some(Sending::Allowed)
    }

    /// Returns what calls of a tool for the web could name, each as the targets of one call.
    fn named_by(&self, tool: &str) -> Vec<Vec<Target>> {
        if NAME_HOSTS.contains(&tool) {
            let mut named = Vec::new();
            for domain in &self.web.allowed_domains {
                named.push(vec![Target::Host(domain.replacen('*', "any", 1))]);
            }
            named.push(vec![Target::Host(ANY_HOST.to_owned())]);
            return named;
        }
        if tool == SEARCH {
            // It names no host: the user has chosen the one that is asked.
            return self.web.search_service.iter().map(|_| Vec::new()).collect();
        }
        let mut services = WebServiceName::ALL
            .into_iter()
            .filter(|service| service.tool() == tool)
            .peekable();
        if services.peek().is_none() {
            // What it names is known to the program alone that adds it.
            return vec![Vec::new()];
        }
        let own = services.filter_map(|service| WebUrl::parse(service.own_url()?).ok());
        own.map(|url| vec![Target::Host(url.host().to_string())])
            .collect()
    }

    fn decided(
        &self,
        tool: &str,
        permission: Permission,
        access: Access,
        targets: &[Target],
    ) -> Option<Sending> {
        match self.policy.mildest(
            self.grant,
            &Question {
                tool,
                permission,
                access,
                targets,
            },
        ) {
            Decision::Allow { .. } => Some(Sending::Allowed),
            // Where no person can be asked, the call is refused.
            Decision::Ask { .. } => self.settings.ask_parks.then_some(Sending::Asked),
            Decision::Deny { .. } => None,
        }
    }
}
