//! Handles the failure of a call: it runs again, with a longer time limit or after a wait, or
//! another tool answers. What a command had changed when it was ended in the middle is named, with
//! how to undo it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use orchestrate_core::event::Recovery;
use orchestrate_core::policy::failure_handling::{FailedCall, Failure, LONGER, Reaction};
use orchestrate_core::policy::{Access, Target};
use serde_json::Value;

use crate::answer::{Answer, ToolError};
use crate::call::{Effect, Meter};
use crate::execute::{Finding, LeftBehind, RestorePoint, isolated};
use crate::services::GitChange;
use crate::tool::{Tool, ToolContext, panicked};

/// How often a wait looks whether the call is cancelled.
const CANCEL_LOOK: Duration = Duration::from_millis(50);
/// What a model is told if a person can help.
const ASK: &str = "[the operating system does not let agents do this; make the same call again if \
                   it is needed, and it waits for the user, who can change the permission]";
/// The argument by which an agent sets a time limit itself.
const TIMEOUT: &str = "timeout";

/// A tool that may answer for another one, with the context of its permit.
pub(crate) struct Alternative<'a> {
    pub(crate) tool: Arc<dyn Tool>,
    /// Where its threads are counted if it is one of the program's own.
    pub(crate) isolated: Option<&'a LeftBehind>,
    pub(crate) arguments: Value,
    pub(crate) context: Arc<ToolContext>,
}

/// A permitted call that runs.
pub(crate) struct Attempt<'a> {
    pub(crate) tool: &'a Arc<dyn Tool>,
    /// Where its threads are counted if it is one of the program's own.
    pub(crate) isolated: Option<&'a LeftBehind>,
    pub(crate) context: &'a mut Arc<ToolContext>,
    pub(crate) arguments: &'a Value,
    /// What it was decided that it may affect.
    pub(crate) effects: &'a [Effect],
    /// The tools that may answer instead, in order.
    pub(crate) alternatives: Vec<Alternative<'a>>,
    /// Why the tool that the user names cannot answer this call.
    pub(crate) unfit: Option<String>,
}

/// How a call ended, after all tries.
pub(crate) struct Attempted {
    pub(crate) result: Result<Answer, ToolError>,
    /// What was done about failures on the way.
    pub(crate) recovered: Vec<Recovery>,
    /// What the tool's own last try says about what the call needs.
    pub(crate) finding: Finding,
    /// Whether a person is asked if the agent makes the same call again.
    pub(crate) asks_person: bool,
}

/// One try of a call that has failed, or was ended in the middle.
#[derive(Clone, Copy)]
struct Failed<'a> {
    result: &'a Result<Answer, ToolError>,
    /// What was done before it.
    recovered: &'a [Recovery],
    /// What it changed; `None` if that is not known.
    changes: Option<&'a [GitChange]>,
}

impl Attempt<'_> {
    /// Runs the call, and handles its failures.
    pub(crate) async fn run(self) -> Attempted {
        let restore_point = RestorePoint::create(self.tool.as_ref(), self.context).await;
        let mut recovered = Vec::new();
        loop {
            let arguments = self.arguments.clone();
            let result = run_once(self.tool, self.context, arguments, self.isolated).await;
            let changes = if ended_in_the_middle(&result) {
                restore_point.changes(self.context).await
            } else {
                None
            };
            let reaction = self.reaction(Failed {
                result: &result,
                recovered: &recovered,
                changes: changes.as_deref(),
            });
            match reaction {
                Reaction::RunLonger => {
                    // A tool that still runs has its own limit, which is never longer.
                    if let Some(context) = Arc::get_mut(self.context) {
                        context.lengthen(LONGER);
                    }
                    let seconds = exceeded_limit(&result);
                    recovered.push(Recovery::RanLonger { seconds });
                }
                Reaction::RunAgain(wait) if self.wait(wait).await => {
                    recovered.push(Recovery::RanAgain);
                }
                Reaction::UseAlternative => return self.use_alternative(result, recovered).await,
                Reaction::RunAgain(_) | Reaction::AskPerson | Reaction::Return => {
                    let mut notes = recovery_notes(&recovered);
                    if let Some(advice) = changes.and_then(|it| restore_point.undo_advice(&it)) {
                        notes.push(advice);
                    } else if reaction == Reaction::AskPerson {
                        notes.push(ASK.to_owned());
                    }
                    notes.extend(self.advice_on_time(&result));
                    return Attempted {
                        finding: Finding::from_result(&result),
                        result: with_notes(result, &notes),
                        recovered,
                        asks_person: reaction == Reaction::AskPerson,
                    };
                }
            }
        }
    }

    /// Decides what happens after a try.
    fn reaction(&self, failed: Failed<'_>) -> Reaction {
        let Err(error) = failed.result else {
            return Reaction::Return;
        };
        let sets_own_limit = match self.arguments.get(TIMEOUT) {
            Some(limit) => !limit.is_null(),
            None => false,
        };
        let limit = Duration::from_secs(exceeded_limit(failed.result));
        let call = FailedCall {
            failure: error.failure(),
            retries: u32::try_from(failed.recovered.len()).unwrap_or(u32::MAX),
            is_repeatable: self.tool.properties().may_be_repeated()
                || self.left_nothing(failed.changes),
            can_be_longer: !sets_own_limit && limit < self.longest_limit(),
            has_alternative: !self.alternatives.is_empty() || self.unfit.is_some(),
            may_ask: self.context.scope().ask_parks,
            asked_wait: error.asked_wait(),
            longest_wait: self.context.limits().longest_retry_wait,
        };
        call.reaction()
    }

    /// Returns the longest time limit that the call can have.
    fn longest_limit(&self) -> Duration {
        let limits = self.context.limits();
        if self.asks_hosts() {
            limits.max_web_timeout
        } else {
            limits.max_command_timeout
        }
    }

    /// Returns how the agent gets more time for a call that ran out of it.
    fn advice_on_time(&self, result: &Result<Answer, ToolError>) -> Option<String> {
        let Err(ToolError::Timeout { seconds, .. }) = result else {
            return None;
        };
        let longest = self.longest_limit().as_secs();
        if *seconds >= longest {
            return Some(format!(
                "[{longest} s is the most that a call gets here; do it in smaller parts]"
            ));
        }
        self.tool.schema().pointer("/properties/timeout")?;
        Some(format!("[ask for more with `timeout`, up to {longest} s]"))
    }

    /// Reports whether the tool itself asks other hosts, rather than a program that it runs.
    fn asks_hosts(&self) -> bool {
        self.effects.iter().any(is_own_request)
    }

    /// Reports whether the call has no effect that is left: none on the worktree, and none
    /// elsewhere.
    fn left_nothing(&self, changes: Option<&[GitChange]>) -> bool {
        let changed_no_file = changes.is_some_and(<[GitChange]>::is_empty);
        changed_no_file && !self.effects.iter().any(is_networked)
    }

    /// Waits before another try; returns false if the call is cancelled meanwhile.
    async fn wait(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        while Instant::now() < until && !self.context.cancel().is_cancelled() {
            tokio::time::sleep(CANCEL_LOOK.min(wait)).await;
        }
        !self.context.cancel().is_cancelled()
    }

    /// Lets the first alternative answer that can; if none can, the failure is the tool's own.
    async fn use_alternative(
        self,
        failed: Result<Answer, ToolError>,
        mut recovered: Vec<Recovery>,
    ) -> Attempted {
        let finding = Finding::from_result(&failed);
        let mut refusals: Vec<String> = self.unfit.into_iter().collect();
        for alternative in self.alternatives {
            let name = alternative.tool.name().to_owned();
            let context = &alternative.context;
            let result = run_once(
                &alternative.tool,
                context,
                alternative.arguments,
                alternative.isolated,
            )
            .await;
            self.context.meter().add(context.meter());
            let answer = match result {
                Ok(answer) => answer,
                Err(error) => {
                    refusals.push(format!("[`{name}` instead: {error}]"));
                    continue;
                }
            };
            let own = self.tool.name();
            let reason = match &failed {
                Ok(_) => String::new(),
                Err(error) => error.to_string(),
            };
            let note = format!("[`{own}` failed: {reason}; `{name}` answered instead]");
            recovered.push(Recovery::Alternative {
                tool: name,
                rule: context.permit().decision().rule().to_owned(),
            });
            return Attempted {
                result: with_notes(Ok(answer), &[note]),
                recovered,
                finding,
                asks_person: false,
            };
        }
        let mut notes = recovery_notes(&recovered);
        notes.append(&mut refusals);
        Attempted {
            result: with_notes(failed, &notes),
            recovered,
            finding,
            asks_person: false,
        }
    }
}

fn is_own_request(effect: &Effect) -> bool {
    effect.access == Access::Own && matches!(effect.target, Target::Host(_))
}

fn is_networked(effect: &Effect) -> bool {
    effect.access == Access::Network
}

/// Reports whether a call ended before it had done all of its work, though some of it may be done.
fn ended_in_the_middle(result: &Result<Answer, ToolError>) -> bool {
    match result {
        Ok(answer) => answer.failed.is_some() && answer.exit_code.is_none(),
        Err(error) => matches!(
            error.failure(),
            Failure::TimedOut | Failure::Network | Failure::Broken
        ),
    }
}

/// Returns the time limit that ended a call, in seconds; 0 if none did.
fn exceeded_limit(result: &Result<Answer, ToolError>) -> u64 {
    match result {
        Err(ToolError::Timeout { seconds, .. }) => *seconds,
        _ => 0,
    }
}

/// Returns a result with notes: before the text of an answer, or behind that of an error.
fn with_notes(result: Result<Answer, ToolError>, notes: &[String]) -> Result<Answer, ToolError> {
    if notes.is_empty() {
        return result;
    }
    let notes = notes.join("\n");
    match result {
        Ok(answer) => Ok(Answer {
            text: format!("{notes}\n{}", answer.text),
            ..answer
        }),
        Err(error) => Err(error_with_notes(error, notes)),
    }
}

/// Returns the error of a call that the operating system's permissions are against, with what the
/// agent can do about it.
pub(crate) fn with_way_to_ask(error: ToolError) -> ToolError {
    error_with_notes(error, ASK.to_owned())
}

/// Returns an error with notes.
fn error_with_notes(error: ToolError, notes: String) -> ToolError {
    match error {
        ToolError::Timeout {
            seconds, partial, ..
        } => ToolError::Timeout {
            seconds,
            partial,
            notes,
        },
        ToolError::Network(text) => ToolError::Network(format!("{text}\n{notes}")),
        ToolError::Busy { reason, wait } => ToolError::Busy {
            reason: format!("{reason}\n{notes}"),
            wait,
        },
        ToolError::Unavailable(text) => ToolError::Unavailable(format!("{text}\n{notes}")),
        ToolError::Absent(text) => ToolError::Absent(format!("{text}\n{notes}")),
        ToolError::Execution(text) => ToolError::Execution(format!("{text}\n{notes}")),
        ToolError::Denied { reason, rule } => ToolError::Denied {
            reason: format!("{reason}\n{notes}"),
            rule,
        },
        ToolError::File { path, reason } => ToolError::File {
            path: format!("{path}\n{notes}"),
            reason,
        },
        // What the model can correct, and what was interrupted, is told as it is.
        other => other,
    }
}

/// Returns notes on what was done; that it was tried again is said once, with how often.
fn recovery_notes(recovered: &[Recovery]) -> Vec<String> {
    let retries = recovered
        .iter()
        .filter(|recovery| matches!(recovery, Recovery::RanAgain))
        .count();
    let mut notes = Vec::new();
    let mut tells_retries = false;
    for recovery in recovered {
        match recovery {
            Recovery::RanLonger { seconds } => notes.push(format!(
                "[it ran out of {seconds} s, and was run once more with a longer limit]"
            )),
            Recovery::RanAgain if tells_retries => {}
            Recovery::RanAgain => {
                tells_retries = true;
                notes.push(match retries {
                    1 => "[it was tried again]".to_owned(),
                    _ => format!("[it was tried again {retries} times]"),
                });
            }
            Recovery::Alternative { tool, .. } => {
                notes.push(format!("[`{tool}` answered instead]"));
            }
        }
    }
    notes
}

/// Runs a tool once, on a thread of its own if it is one of the program's own.
async fn run_once(
    tool: &Arc<dyn Tool>,
    context: &Arc<ToolContext>,
    arguments: Value,
    isolated: Option<&LeftBehind>,
) -> Result<Answer, ToolError> {
    match isolated {
        Some(left_behind) => isolated::run(Arc::clone(tool), context, arguments, left_behind).await,
        None => caught(context.meter(), tool.execute(context, arguments)).await,
    }
}

/// Runs a tool's future, measuring its processor time, and converting a panic into an `Execution`
/// failure.
pub(crate) async fn caught<T>(
    meter: &Meter,
    mut future: Pin<Box<dyn Future<Output = Result<T, ToolError>> + Send + '_>>,
) -> Result<T, ToolError> {
    let mut poll_future = move |cx: &mut Context<'_>| {
        meter.timed(|| catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))))
    };
    std::future::poll_fn(move |cx| match poll_future(cx) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(Err(panicked(panic.as_ref()))),
    })
    .await
}
