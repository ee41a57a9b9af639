//! Whether a role lets its agents have all three: asked before anything runs.

use serde_json::Value;

use super::reach::{ASKED_ABOUT, PrivateData, Reach};
use crate::event::settings::RunSettings;
use crate::policy::tool_names::ToolNames;
use crate::policy::tool_settings::TaintPolicy;
use crate::policy::{Grant, Permission};

/// The tools by which an agent could have all three; for each of these the first by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossibleTaint {
    /// It brings text from outside.
    pub reads_outside: String,
    /// It reads private data.
    pub reads_private: String,
    /// It can send data out.
    pub sends: String,
}

/// Returns by which tools an agent with this grant could have all three without anybody being
/// asked; `None` if it cannot: it lacks one, no host is allowed, nothing is private, or the policy
/// asks or denies.
pub fn possible(grant: &Grant, names: &ToolNames, settings: &RunSettings) -> Option<PossibleTaint> {
    let web = &settings.tool_settings.web_requests;
    let reaches_hosts = !(web.allowed_domains.is_empty()
        && web.search_service.is_none()
        && web.services.is_empty());
    let may_connect = reaches_hosts && grant.permissions.contains(&Permission::NetworkAccess);
    if !may_connect || settings.tool_settings.taint.policy != TaintPolicy::Flag {
        return None;
    }
    let reaches: Vec<(&String, Reach)> = grant
        .tools
        .iter()
        .filter_map(|tool| Some((tool, names.tool(tool)?.permission)))
        .filter(|(tool, permission)| {
            grant.permits(tool, *permission) && !ASKED_ABOUT.contains(&tool.as_str())
        })
        // A command that asks for the network is asked about, too, so it counts as one without.
        .map(|(tool, permission)| {
            (
                tool,
                Reach::for_call(
                    tool,
                    permission,
                    &Value::Null,
                    PrivateData::from_settings(settings),
                ),
            )
        })
        .collect();
    let first = |has: fn(&Reach) -> bool| {
        reaches
            .iter()
            .find(|(_, reach)| has(reach))
            .map(|(tool, _)| (*tool).clone())
    };
    Some(PossibleTaint {
        reads_outside: first(|reach| reach.reads_outside)?,
        reads_private: first(|reach| reach.reads_private)?,
        sends: first(|reach| reach.sends)?,
    })
}
