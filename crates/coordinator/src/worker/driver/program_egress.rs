//! The proxies of the programs of one agent's calls: what they decide is a part of the run.

use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::CallId;
use orchestrate_core::event::Event;
use orchestrate_core::policy::egress::{EgressDecided, EgressDecision};
use orchestrate_core::policy::web::{Destinations, WebFailure};
use orchestrate_tools::{DecidedHosts, EgressService, ProxiedProgram, ServiceError};
use orchestrate_web::{Egress, Recording};

use super::agent_services::{AgentServices, Lost};
use crate::worker::workplace::Workplace;

/// What the program of one call may reach.
struct ProgramEgress {
    workplace: Arc<Workplace>,
    turn: u32,
    call: CallId,
    destinations: Arc<dyn Destinations>,
    decided: DecidedHosts,
    lost: Lost,
}

#[async_trait]
impl EgressService for AgentServices {
    async fn serve(&self, program: ProxiedProgram) -> ServiceError {
        let (workplace, turn) = match (self.workplace(), self.turn().await) {
            (Ok(workplace), Ok(turn)) => (workplace, turn),
            (Err(error), _) | (_, Err(error)) => return error,
        };
        let ProxiedProgram {
            call,
            listener,
            destinations,
            decided,
        } = program;
        let web = Arc::clone(&workplace.host.web);
        let egress = ProgramEgress {
            workplace,
            turn,
            call,
            destinations,
            decided,
            lost: self.losses(),
        };
        let error = web.serve_proxy(listener, Arc::new(egress)).await;
        ServiceError::Failed(format!("failed to serve the command's proxy: {error}"))
    }
}

impl Egress for ProgramEgress {
    fn unreached(&self, asked: &str, failure: &WebFailure) {
        self.decided.note_unreached(
            &self
                .workplace
                .host
                .site
                .redactor
                .owned(format!("{asked}: {failure}")),
        );
    }

    fn destinations(&self) -> &dyn Destinations {
        &*self.destinations
    }

    fn record(&self, decision: EgressDecision) -> Recording<'_> {
        let redactor = &self.workplace.host.site.redactor;
        let EgressDecision {
            asked,
            host,
            reason,
            ..
        } = decision;
        let decision = EgressDecision {
            asked: redactor.owned(asked),
            host: host.map(|host| redactor.owned(host)),
            reason: reason.map(|reason| redactor.owned(reason)),
            ..decision
        };
        let task = self.workplace.task().clone();
        let (turn, call_id) = (self.turn, self.call.clone());
        let fact = Event::EgressDecided(EgressDecided {
            task,
            turn,
            call_id,
            decision: decision.clone(),
        });
        Box::pin(async move {
            let recorded = self.workplace.link.record(vec![fact]).await;
            recorded.map_err(|error| self.lost.note(error).to_string())?;
            self.decided.push(decision);
            Ok(())
        })
    }
}
