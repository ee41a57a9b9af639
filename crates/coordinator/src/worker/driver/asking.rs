//! Sends a request to a model until it is answered, or until another model should be asked.

use std::collections::BTreeMap;
use std::time::Duration;

use orchestrate_checks::ShutdownLevel;
use orchestrate_core::ModelReply;
use orchestrate_core::agent::model_fallback::{Failure, NextModel, NoAnswer, Unanswered};
use orchestrate_core::event::Event;
use orchestrate_model::{Delta, Model, ModelError};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::agent_driver::DriverEnd;
use super::spending::{Arrived, Due, announce, count_cut};
use crate::error::CoordinatorError;
use crate::run::program::live::{LiveItem, Retry};
use crate::worker::workplace::Workplace;

/// The length from which an outage is recorded and its time does not count, or another model takes
/// over: shorter ones are part of every day.
const LASTING_OUTAGE: Duration = Duration::from_secs(5);

/// How many outages of one request are noted: one, since it lasts until the request is answered.
const OUTAGES: usize = 1;

/// How many cut attempts of one request wait to be counted: one, since the wait before the next
/// attempt is longer.
const CUTS: usize = 1;

/// How a model answered a request.
pub(super) enum Answer {
    /// With a reply.
    Reply(ModelReply),
    /// Not at all, or with an error.
    Out(Out),
    /// The agent was stopped meanwhile, or the budgets do not cover another attempt.
    Ended(DriverEnd),
}

/// Why a model did not answer.
#[derive(Clone, Debug)]
pub(super) struct Out {
    pub(super) failure: Failure,
    /// The endpoint that rejects the key or the account.
    pub(super) rejecting: Option<String>,
    /// The error; fits "failed to …".
    pub(super) error: String,
}

impl Answer {
    /// Returns the answer for an error that ends the request.
    pub(super) fn failed(error: &ModelError) -> Self {
        let rejecting = error.rejecting_endpoint().map(str::to_owned);
        let failure = if error.is_outage() {
            Failure::Outage(error.retry_after().unwrap_or_default())
        } else if error.is_context_too_long() {
            Failure::TooLarge
        } else if rejecting.is_some() {
            Failure::Account
        } else {
            Failure::Invalid
        };
        Self::Out(Out {
            failure,
            rejecting,
            error: error.to_string(),
        })
    }
}

/// What the models of an agent answered to its current request.
pub(super) struct Asking {
    unanswered: Unanswered,
    /// When the first of them failed.
    since: Option<Instant>,
    /// The rejections of the key or the account, by the model's number.
    rejections: BTreeMap<usize, Rejection>,
}

/// A rejection of the key or the account.
#[derive(Clone, Debug)]
struct Rejection {
    endpoint: String,
    error: String,
}

impl Asking {
    /// Creates the state of a request that none of this many models was asked.
    pub(super) fn new(models: usize) -> Self {
        Self {
            unanswered: Unanswered::new(models),
            since: None,
            rejections: BTreeMap::new(),
        }
    }

    /// Returns after how long an outage of a model another one is asked instead; `None` if there is
    /// no other.
    pub(super) fn leaves_after(&self, model: usize) -> Option<Duration> {
        let leaves_after = if self.is_outage() {
            Duration::ZERO
        } else {
            LASTING_OUTAGE
        };
        self.unanswered
            .has_alternative(model)
            .then_some(leaves_after)
    }

    /// Reports whether every model was asked and none has answered.
    pub(super) fn is_outage(&self) -> bool {
        self.unanswered.are_all_out()
    }

    /// Records that a model did not answer, and decides which one is asked next; `None` if none is.
    pub(super) fn after(
        &mut self,
        model: usize,
        out: &Out,
        patience: Duration,
    ) -> Option<NextModel> {
        let now = self.since.get_or_insert_with(Instant::now).elapsed();
        self.unanswered.failed(model, out.failure, now);
        if let Some(endpoint) = out.rejecting.clone() {
            self.rejections.insert(
                model,
                Rejection {
                    endpoint,
                    error: out.error.clone(),
                },
            );
        }
        // A single model was waited for by its own client.
        self.unanswered
            .next(model, now, patience)
            .filter(|_| self.unanswered.has_alternative(model))
    }

    /// Ends a request that no model answers, the last one of them for this reason.
    pub(super) async fn end(
        &self,
        workplace: &Workplace,
        turn: u32,
        model: usize,
        out: Out,
    ) -> Result<DriverEnd, CoordinatorError> {
        let rejection = match self.unanswered.no_answer(model) {
            NoAnswer::Wait { model } => self.rejections.get(&model).cloned(),
            NoAnswer::Fail => None,
        };
        let Some(Rejection { endpoint, error }) = rejection else {
            return failed(workplace, turn, out).await;
        };
        let task = workplace.task().clone();
        workplace
            .link
            .record(vec![Event::ModelRejected {
                task,
                turn,
                endpoint,
                error,
            }])
            .await?;
        Ok(DriverEnd::Parked)
    }

    /// Waits until the next model may be asked; returns whether the agent may continue.
    pub(super) async fn wait(
        &self,
        workplace: &Workplace,
        wait: Duration,
        why: (&Out, Duration),
    ) -> bool {
        if wait.is_zero() {
            return true;
        }
        let (out, patience) = why;
        let (task, error) = (workplace.task().clone(), out.error.clone());
        let waited = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        workplace.link.tell(LiveItem::Retry(Retry {
            task,
            error,
            attempt: 1,
            wait,
            waited,
            patience: Some(patience),
        }));
        tokio::select! {
            () = tokio::time::sleep(wait) => true,
            () = workplace.shutdown.reached(ShutdownLevel::Stop) => false,
        }
    }
}

/// Returns a piece of a reply, for the run's followers.
fn piece_of(workplace: &Workplace, delta: Delta<'_>) -> Option<LiveItem> {
    let task = workplace.task().clone();
    match delta {
        Delta::Text(piece) => Some(LiveItem::Text {
            task,
            delta: piece.to_owned(),
        }),
        Delta::Reasoning(piece) => Some(LiveItem::Reasoning {
            task,
            delta: piece.to_owned(),
        }),
        Delta::ToolCall { .. } | Delta::Retry { .. } => None,
    }
}

/// Sends a request until it is answered or fails, the agent is stopped, or an outage has lasted so
/// long that another model should be asked. An outage that is waited for is recorded once it lasts,
/// so that its time does not count.
pub(super) async fn complete(
    workplace: &Workplace,
    model: &dyn Model,
    due: &mut Due<'_>,
    leaves_after: Option<Duration>,
) -> Result<Answer, CoordinatorError> {
    let request = due.request;
    let (outage, mut outages) = mpsc::channel(OUTAGES);
    let (cut, mut cuts) = mpsc::channel(CUTS);
    let arrived = Arrived::default();
    let mut tell = |delta: Delta<'_>| {
        arrived.note(delta);
        if let Some(piece) = piece_of(workplace, delta) {
            workplace.link.tell(piece);
        }
        if let Delta::Retry {
            attempt,
            wait,
            waited,
            patience,
            cause,
        } = delta
        {
            if let Some(part) = arrived.cut_by(Some(cause)) {
                let _ = cut.try_send(part);
            }
            let (task, error) = (workplace.task().clone(), cause.to_string());
            let lasts =
                patience.is_some() && waited + wait >= leaves_after.unwrap_or(LASTING_OUTAGE);
            if lasts {
                // Full if this one is noted already.
                let _ = outage.try_send((error.clone(), wait));
            }
            if !lasts || leaves_after.is_none() {
                workplace.link.tell(LiveItem::Retry(Retry {
                    task,
                    error,
                    attempt,
                    wait,
                    waited,
                    patience,
                }));
            }
        }
    };
    let answer = model.complete(request, &mut tell);
    tokio::pin!(answer);
    loop {
        tokio::select! {
            biased;
            // The next attempt is not made meanwhile, since the future of the answer is not polled.
            Some(part) = cuts.recv() => {
                count_cut(workplace, due, part).await?;
                if let Some(end) = announce(workplace, due).await? {
                    return Ok(Answer::Ended(end));
                }
            }
            answer = &mut answer => {
                let error = match answer {
                    Ok(reply) => return Ok(Answer::Reply(reply)),
                    Err(error) => error,
                };
                if let Some(part) = arrived.cut_by(Some(&error)) {
                    count_cut(workplace, due, part).await?;
                }
                return Ok(Answer::failed(&error));
            }
            Some((error, wait)) = outages.recv() => {
                if leaves_after.is_some() {
                    let failure = Failure::Outage(wait);
                    return Ok(Answer::Out(Out { failure, rejecting: None, error }));
                }
                note_outage(workplace, request.origin.turn, error).await?;
            }
            () = workplace.shutdown.reached(ShutdownLevel::Stop) => {
                if let Some(part) = arrived.cut_by(None) {
                    count_cut(workplace, due, part).await?;
                }
                return Ok(Answer::Ended(DriverEnd::Interrupted));
            }
        }
    }
}

/// Records that an agent waits for an answer, unless that is recorded already.
pub(super) async fn note_outage(
    workplace: &Workplace,
    turn: u32,
    error: String,
) -> Result<(), CoordinatorError> {
    if workplace.link.task().await?.outage().is_some() {
        return Ok(());
    }
    workplace
        .link
        .record(vec![Event::ModelWaiting {
            task: workplace.task().clone(),
            turn,
            error,
        }])
        .await
}

/// Records that a request failed permanently, which releases its reservation.
pub(super) async fn failed(
    workplace: &Workplace,
    turn: u32,
    out: Out,
) -> Result<DriverEnd, CoordinatorError> {
    let Out { failure, error, .. } = out;
    let fact = Event::ModelFailed {
        task: workplace.task().clone(),
        turn,
        error: error.clone(),
    };
    workplace.link.record(vec![fact]).await?;
    Ok(DriverEnd::Failed(
        failure.cause(),
        format!("failed to {error}"),
    ))
}
