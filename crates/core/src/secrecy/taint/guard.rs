//! Decides about a call that could give private data away because text from outside asks for it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exposure::{Exposure, OutsideSource};
use super::reach::{PrivateData, Reach};
use crate::event::settings::RunSettings;
use crate::policy::tool_settings::TaintPolicy;
use crate::policy::{Decision, Permission};

/// The rule of its decisions: the setting.
pub const TAINT_RULE: &str = "taint.policy";

/// Everything that a decision about one agent's next call depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaintGuard {
    /// What the user wants.
    pub policy: TaintPolicy,
    /// Which data are private.
    pub private: PrivateData,
    /// What the agent was exposed to.
    pub exposure: Exposure,
}

impl TaintGuard {
    /// Creates that of an agent of a run with these settings.
    pub fn new(settings: &RunSettings, exposure: Exposure) -> TaintGuard {
        TaintGuard {
            policy: settings.tool_settings.taint.policy,
            private: PrivateData::from_settings(settings),
            exposure,
        }
    }

    /// Decides about a call of the agent's request with this number; `None` if nothing is against
    /// it.
    pub fn decide(
        &self,
        tool: &str,
        permission: Permission,
        arguments: &Value,
        turn: u32,
    ) -> Option<Decision> {
        let reach = Reach::for_call(tool, permission, arguments, self.private);
        let holds_private = self.exposure.holds_private() || reach.reads_private;
        let is_led = self.exposure.leads(turn) || reach.is_program_outside();
        if !(reach.sends && holds_private && is_led) {
            return None;
        }
        let rule = TAINT_RULE.to_owned();
        match self.policy {
            TaintPolicy::Flag => None,
            TaintPolicy::Ask => Some(Decision::Ask { rule }),
            TaintPolicy::Deny => Some(Decision::Deny {
                rule,
                reason: self.reason(tool),
            }),
        }
    }

    fn reason(&self, tool: &str) -> String {
        let from = match self.exposure.outside() {
            Some(OutsideSource::Tool(read)) => {
                format!("this agent has read text from outside (`{read}`)")
            }
            Some(OutsideSource::Agent(agent)) => {
                format!("this agent has read text from outside (through {agent})")
            }
            None => "the program would get text from outside".to_owned(),
        };
        format!(
            "{from} beside private data, and `{tool}` could send these out; the user does not let \
             one agent have all three. Finish with what you know, and say what is missing"
        )
    }
}
