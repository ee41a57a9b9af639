//! What requests spend: reserved before each is sent, and counted if one is cut off.

use std::mem;

use orchestrate_checks::ShutdownLevel;
use orchestrate_core::agent::budget::{Amount, Reservation, Unit};
use orchestrate_core::agent::context::{TokenCounter, request_tokens};
use orchestrate_core::collections::Mutex;
use orchestrate_core::event::Event;
use orchestrate_core::task::FailureCause;
use orchestrate_core::{AgentLoop, DividedRequest, ModelRequest, Price, RequestChain};
use orchestrate_model::{Delta, ModelError};

use super::agent_driver::DriverEnd;
use crate::error::CoordinatorError;
use crate::link::requests::{AwaitBudget, ReadLimits, Reserve};
use crate::ruling::Ruling;
use crate::worker::workplace::Workplace;

/// An agent's request that is due.
pub(super) struct Due<'a> {
    pub(super) request: &'a ModelRequest,
    /// The agent, which knows the size of its request; `None` if this is its last one, which is
    /// sent only once.
    pub(super) agent: Option<&'a AgentLoop>,
    /// What the agent's requests are made of.
    pub(super) requests: &'a mut RequestChain,
}

impl Due<'_> {
    /// Returns the tokens of the request, or an upper bound.
    fn input_tokens(&self, counter: &dyn TokenCounter) -> u64 {
        tokens_of(self.agent.map_or_else(
            || request_tokens(self.request, counter),
            |agent| agent.request_tokens(counter),
        ))
    }
}

/// The part of a reply that has arrived.
#[derive(Default)]
pub(super) struct Arrived(Mutex<Part>);

/// A part of a reply.
#[derive(Default)]
pub(super) struct Part {
    text: String,
    /// Whether a tool call had begun, whose arguments are not known before it is whole.
    has_call: bool,
}

impl Arrived {
    /// Adds what arrives.
    pub(super) fn note(&self, delta: Delta<'_>) {
        let mut part = self.0.lock();
        match delta {
            Delta::Text(text) | Delta::Reasoning(text) => part.text.push_str(text),
            Delta::ToolCall { .. } => part.has_call = true,
            Delta::Retry { .. } => {}
        }
    }

    /// Takes what has arrived, if the model had begun to answer when the error occurred or, without
    /// one, by now.
    pub(super) fn cut_by(&self, error: Option<&ModelError>) -> Option<Part> {
        let part = mem::take(&mut *self.0.lock());
        let has_begun = part.has_call || !part.text.is_empty();
        (has_begun || error.is_some_and(ModelError::had_begun_to_answer)).then_some(part)
    }
}

/// Records that a request is about to be sent, as soon as every budget covers it; returns how the
/// driver's work ends if it is not to be sent.
pub(super) async fn announce(
    workplace: &Workplace,
    due: &mut Due<'_>,
) -> Result<Option<DriverEnd>, CoordinatorError> {
    let (link, request) = (&workplace.link, due.request);
    if due.agent.is_none() && link.task().await?.has_asked_for_report() {
        return Ok(Some(DriverEnd::Interrupted));
    }
    let divided = due.requests.divide(request);
    let divided = divided.map_err(|source| CoordinatorError::Recorded {
        what: "model request",
        source,
    })?;
    let price = price_of(workplace, &request.model);
    let limited = link.ask(ReadLimits {}).await?;
    if price.is_none() && limited.money {
        let error = ModelError::NoPrice {
            model: request.model.clone(),
        };
        return Ok(Some(DriverEnd::Failed(
            FailureCause::Cost,
            error.to_string(),
        )));
    }
    if limited.tokens || limited.money {
        // An upper bound that is several times too large would block others that share the budget.
        workplace.host.counter.wait().await?;
    }
    loop {
        let counter = workplace.host.counter.current();
        let input = due.input_tokens(&*counter);
        let output = u64::from(request.max_output_tokens);
        let micro_usd = price.map(|price| price.most(input, output));
        let amount = Amount {
            tokens: input.saturating_add(output),
            micro_usd,
        };
        let refusal = match link.ask(reservation(request, &divided, amount)).await? {
            Ruling::Granted(seq) => {
                let followed = due.requests.follow(seq, &divided.parts);
                followed.map_err(|error| {
                    CoordinatorError::underivable(&workplace.assignment.run, seq, error)
                })?;
                return Ok(None);
            }
            Ruling::Refused(refusal) => refusal,
        };
        match refusal {
            // A request may be sent on an upper bound, but nothing is reserved: a budget may have
            // become limited meanwhile.
            _ if !counter.is_exact() => {
                workplace.host.counter.wait().await?;
            }
            Reservation::Refused(exhausted) => {
                let cause = match exhausted.unit {
                    Unit::Tokens => FailureCause::Budget,
                    Unit::Money => FailureCause::Cost,
                };
                return Ok(Some(DriverEnd::Failed(cause, exhausted.to_string())));
            }
            Reservation::Fits | Reservation::Waits => tokio::select! {
                decided = link.ask(AwaitBudget { amount }) => decided?,
                () = workplace.shutdown.reached(ShutdownLevel::Stop) => {
                    return Ok(Some(DriverEnd::Interrupted));
                }
            },
        }
    }
}

/// Returns the request for the budgets that a request to a model needs.
fn reservation(request: &ModelRequest, divided: &DividedRequest, amount: Amount) -> Reserve {
    Reserve {
        turn: request.origin.turn,
        model: request.model.clone(),
        request: divided.hash.clone(),
        parts: divided.parts.clone(),
        new: divided
            .new
            .iter()
            .map(|part| part.clone().into_bytes().into())
            .collect(),
        amount,
    }
}

/// Counts a request that was cut off: the prompt and, if nothing but text has arrived, that text;
/// otherwise the maximum.
pub(super) async fn count_cut(
    workplace: &Workplace,
    due: &Due<'_>,
    arrived: Part,
) -> Result<(), CoordinatorError> {
    let (request, counter) = (due.request, workplace.host.counter.current());
    let most = u64::from(request.max_output_tokens);
    let output = match arrived {
        Part {
            text,
            has_call: false,
        } if !text.is_empty() => most.min(tokens_of(counter.count(&text))),
        _ => most,
    };
    let input = due.input_tokens(&*counter);
    let micro_usd = price_of(workplace, &request.model).map(|price| price.most(input, output));
    let (task, turn) = (workplace.task().clone(), request.origin.turn);
    let cut = Event::ModelCut {
        task,
        turn,
        tokens: input.saturating_add(output),
        micro_usd,
    };
    workplace.link.record(vec![cut]).await
}

/// Returns the price of a model, or `None` if it is not known.
pub(super) fn price_of(workplace: &Workplace, model: &str) -> Option<Price> {
    workplace.host.models.price(model).ok()
}

fn tokens_of(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
