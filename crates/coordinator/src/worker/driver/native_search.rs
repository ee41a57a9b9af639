//! Searches of the web by the endpoint of an agent's model: reserved before each is asked for, and
//! counted at its end.

use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::agent::budget::Reservation;
use orchestrate_core::agent::model_search::{
    SearchPrice, SearchReply, SearchRequest, SearchRequested, SearchUse,
};
use orchestrate_core::event::Event;
use orchestrate_model::ModelError;
use orchestrate_tools::{FoundByModel, Search, SearchService, ServiceError};

use super::agent_services::AgentServices;
use crate::link::requests::{AwaitBudget, ReadLimits, ReserveSearch};
use crate::ruling::Ruling;
use crate::worker::workplace::Workplace;

/// The rule that refuses a search for which a budget has too little left.
const BUDGET_RULE: &str = "built-in:budget";

/// Searches of one agent's calls by the endpoint of the model that it uses.
pub(super) struct NativeSearch {
    services: Arc<AgentServices>,
    model: String,
}

/// Why there is no reply, and what was used nevertheless.
struct Unanswered {
    used: SearchUse,
    failure: ServiceError,
}

impl NativeSearch {
    pub(super) fn new(services: Arc<AgentServices>, model: &str) -> NativeSearch {
        NativeSearch {
            services,
            model: model.to_owned(),
        }
    }

    /// Returns the price of a search; `None` if it is not known and no budget needs it.
    async fn price(&self, workplace: &Workplace) -> Result<Option<SearchPrice>, ServiceError> {
        let models = &workplace.host.models;
        models
            .require_search(&self.model)
            .map_err(|error| failed(&error))?;
        match models.search_price(&self.model) {
            Ok(price) => Ok(Some(price)),
            Err(error) => {
                let limits = workplace.link.ask(ReadLimits {}).await?;
                if limits.money {
                    Err(failed(&error))
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Makes the request.
    async fn ask(&self, workplace: &Workplace, search: &Search) -> Result<SearchReply, Unanswered> {
        let most = SearchUse::most(search.query.len());
        let unused = |error| Unanswered {
            used: SearchUse::default(),
            failure: failed(&error),
        };
        let model = workplace.host.models.model(&self.model).map_err(unused)?;
        let request = SearchRequest {
            model: self.model.clone(),
            query: search.query.clone(),
        };
        let searched = tokio::time::timeout(search.timeout, model.search(&request));
        tokio::select! {
            answered = searched => match answered {
                Ok(Ok(reply)) => Ok(reply),
                Ok(Err(error)) => {
                    let used = if error.may_be_charged_for() { most } else { SearchUse::default() };
                    Err(Unanswered { used, failure: failed(&error) })
                }
                // It is not made again unasked, since it would be paid for again.
                Err(_) => {
                    let why = format!("{} has not answered within {} \
                                       s", self.model, search.timeout.as_secs());
                    Err(Unanswered { used: most, failure: ServiceError::Failed(why) })
                }
            },
            () = search.cancel.cancelled() => Err(Unanswered { used: most, failure: given_up() }),
        }
    }
}

#[async_trait]
impl SearchService for NativeSearch {
    async fn search(&self, search: Search) -> Result<FoundByModel, ServiceError> {
        let (workplace, turn) = (self.services.workplace()?, self.services.turn().await?);
        let price = self.price(&workplace).await?;
        let amount = SearchUse::most(search.query.len()).amount(price);
        let asked = SearchRequested {
            task: workplace.task().clone(),
            turn,
            call_id: search.call.clone(),
            model: self.model.clone(),
            reserved_tokens: amount.tokens,
            reserved_micro_usd: amount.micro_usd,
        };
        reserve(&workplace, &asked, &search).await?;
        let answered = self.ask(&workplace, &search).await;
        let ended = match &answered {
            Ok(reply) => asked.ended(reply.into(), price, reply.failure.clone()),
            Err(Unanswered { used, failure }) => {
                asked.ended(*used, price, Some(failure.to_string()))
            }
        };
        let recorded = workplace.link.record(vec![Event::SearchEnded(ended)]).await;
        recorded.map_err(|error| self.services.losses().note(error))?;
        let reply = answered.map_err(|unanswered| unanswered.failure)?;
        Ok(FoundByModel {
            model: self.model.clone(),
            reply,
        })
    }
}

/// Records that the search is about to be asked for, as soon as every budget covers it.
async fn reserve(
    workplace: &Workplace,
    asked: &SearchRequested,
    search: &Search,
) -> Result<(), ServiceError> {
    loop {
        match workplace
            .link
            .ask(ReserveSearch {
                search: asked.clone(),
            })
            .await?
        {
            Ruling::Granted(()) => return Ok(()),
            Ruling::Refused(Reservation::Refused(exhausted)) => {
                let reason = format!(
                    "a search by the model's endpoint is not covered: {exhausted}; go on without it"
                );
                return Err(ServiceError::Denied {
                    rule: BUDGET_RULE.to_owned(),
                    reason,
                });
            }
            Ruling::Refused(Reservation::Fits | Reservation::Waits) => tokio::select! {
                decided = workplace.link.ask(AwaitBudget { amount: asked.amount() }) => decided?,
                () = search.cancel.cancelled() => return Err(given_up()),
            },
        }
    }
}

fn given_up() -> ServiceError {
    ServiceError::Interrupted("the search was given up".to_owned())
}

/// Classifies an error by what can be done about it. What may have been paid for is not repeated
/// unasked.
fn failed(error: &ModelError) -> ServiceError {
    let text = format!("failed to {error}");
    if error.is_without_search() {
        ServiceError::Absent(text)
    } else if error.is_outage() && !error.may_be_charged_for() {
        ServiceError::Unreachable(text)
    } else {
        ServiceError::Failed(text)
    }
}
