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
    let (mut reads_outside, mut reads_private, mut sends) = (None, None, None);
    for tool in &grant.tools {
        let Some(traits) = names.tool(tool) else {
            continue;
        };
        let permission = traits.permission;
        if !grant.permits(tool, permission) || ASKED_ABOUT.contains(&tool.as_str()) {
            continue;
        }
        // A command that asks for the network is asked about, too, so it counts as one without.
        let private = PrivateData::from_settings(settings);
        let reach = Reach::for_call(tool, permission, &Value::Null, private);
        if reach.reads_outside && reads_outside.is_none() {
            reads_outside = Some(tool.clone());
        }
        if reach.reads_private && reads_private.is_none() {
            reads_private = Some(tool.clone());
        }
        if reach.sends && sends.is_none() {
            sends = Some(tool.clone());
        }
    }
    Some(PossibleTaint {
        reads_outside: reads_outside?,
        reads_private: reads_private?,
        sends: sends?,
    })
}
