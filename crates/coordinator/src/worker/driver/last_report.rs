//! The last report of an agent that has reached a limit: one request, without tools, within a time
//! of its own.

use std::time::Duration;

use orchestrate_checks::{Shutdown, ShutdownLevel};
use orchestrate_core::{AgentFact, ModelRequest};

use super::agent_driver::DriverEnd;
use super::asking::{Answer, complete, failed};
use super::loop_driver::LoopDriver;
use super::spending::{Due, announce};
use crate::error::CoordinatorError;
use crate::link::requests::ReachLimit;
use crate::worker::workplace::Workplace;

/// The time for the report: it begins when all other time may be used up.
const REPORT_TIME: Duration = Duration::from_secs(60);

impl LoopDriver {
    /// Lets an agent that has reached a limit report next; returns how the driver's work ends
    /// otherwise.
    pub(super) async fn report_at_limit(
        &mut self,
        workplace: &Workplace,
        end: DriverEnd,
    ) -> Result<Option<DriverEnd>, CoordinatorError> {
        let (cause, text) = match end {
            DriverEnd::Failed(cause, text) if cause.asks_for_report() => (cause, text),
            other => return Ok(Some(other)),
        };
        match workplace
            .link
            .ask(ReachLimit {
                cause,
                message: text.clone(),
            })
            .await?
        {
            Some(limit) => {
                self.agent.apply(AgentFact::ReportDue { limit })?;
                Ok(None)
            }
            None => Ok(Some(DriverEnd::Failed(cause, text))),
        }
    }

    /// Sends the last request; returns `None` if the agent ends with what has become of it.
    pub(super) async fn report(
        &mut self,
        workplace: &Workplace,
        request: ModelRequest,
    ) -> Result<Option<DriverEnd>, CoordinatorError> {
        let shutdown = workplace.shutdown.for_report();
        let within = Workplace {
            shutdown: shutdown.clone(),
            ..workplace.clone()
        };
        {
            let asking = self.ask_for_report(&within, request);
            tokio::pin!(asking);
            tokio::select! {
                asked = &mut asking => asked?,
                () = tokio::time::sleep(REPORT_TIME) => {
                    shutdown.raise(ShutdownLevel::Stop);
                    asking.await?;
                }
            }
        }
        if is_stopped(&shutdown) {
            return Ok(Some(DriverEnd::Interrupted));
        }
        if self.agent.is_at_limit() {
            self.agent.apply(AgentFact::ReportAsked)?;
        }
        Ok(None)
    }

    /// Sends the last request, if the budgets cover it, and records its reply.
    async fn ask_for_report(
        &mut self,
        workplace: &Workplace,
        request: ModelRequest,
    ) -> Result<(), CoordinatorError> {
        let turn = request.origin.turn;
        let mut due = Due {
            request: &request,
            agent: None,
            requests: &mut self.requests,
        };
        if announce(workplace, &mut due).await?.is_some() {
            return Ok(());
        }
        let answer = match workplace.host.models.model(&request.model) {
            Ok(model) => complete(workplace, &*model, &mut due, None).await?,
            Err(error) => Answer::failed(&error),
        };
        match answer {
            Answer::Reply(reply) => {
                self.agent.apply(AgentFact::ReportAsked)?;
                self.take_reply(workplace, &request, reply).await
            }
            // The task fails for the limit, whatever the model's error is.
            Answer::Out(out) => failed(workplace, turn, out).await.map(drop),
            Answer::Ended(_) => Ok(()),
        }
    }
}

/// Reports whether the run is being stopped, so that the agent goes on once it is resumed.
fn is_stopped(shutdown: &Shutdown) -> bool {
    shutdown.level() >= ShutdownLevel::Stop && !shutdown.is_own(ShutdownLevel::Stop)
}
