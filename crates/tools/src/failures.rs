//! Carries out what is decided about a call that has failed: it runs again, with a longer time
//! limit or after a wait, or another tool answers. What a command had changed when it was ended in
//! the middle is named, with how to undo it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use orchestrate_core::Oid;
use orchestrate_core::event::Recovery;
use orchestrate_core::policy::failure_handling::{
    FailedCall, Failure, Health, LONGER, Lacking, Reaction,
};
use orchestrate_core::policy::{Access, Permission, Target};
use orchestrate_core::text::invisible::shown;
use serde_json::Value;

use crate::context::{ToolContext, panicked};
use crate::effect::Effect;
use crate::error::ToolError;
use crate::isolated::{self, LeftBehind};
use crate::meter::Meter;
use crate::output::Answer;
use crate::services::GitChange;
use crate::tool::{Category, Tool};

/// The maximum number of things of which it is kept whether they are out of order: the hosts are
/// named by agents.
const MAX_KEPT_HEALTH: usize = 1_000;
/// The maximum number of changed files to name.
const SHOWN_CHANGES: usize = 10;
/// How many digits of a commit's id are shown.
const COMMIT_DIGITS: usize = 12;
/// How often a wait looks whether the call is cancelled.
const CANCEL_LOOK: Duration = Duration::from_millis(50);
/// What a model is told if a person can help.
const ASK: &str = "[the operating system does not let agents do this; make the same call again if it is needed, and it waits \
                   for the user, who can change the permission]";
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
    /// Whether a person is asked if the agent makes the same call again.
    pub(crate) asks_person: bool,
}

/// What a call says about what it needs.
#[derive(Debug)]
pub(crate) enum Shown {
    /// It is available.
    Works,
    /// This part of it is not, for this reason.
    Fails(Lacking, String),
    /// Nothing: the call was interrupted.
    Nothing,
}

impl Attempt<'_> {
    /// Runs the call, and handles its failures; also returns what it says about what it needs.
    pub(crate) async fn run(self) -> (Attempted, Shown) {
        let before = Before::store(self.tool.as_ref(), self.context).await;
        let mut recovered = Vec::new();
        loop {
            let result = once(
                self.tool,
                self.context,
                self.arguments.clone(),
                self.isolated,
            )
            .await;
            let failure = result.as_ref().err().map(ToolError::failure);
            let shown = Shown::by(&result);
            let changed = if ends_in_the_middle(&result) {
                before.changed(self.context).await
            } else {
                None
            };
            let reaction = failure.map_or(Reaction::Return, |failure| {
                self.failed_call(failure, &result, &recovered, changed.as_deref())
                    .reaction()
            });
            match reaction {
                Reaction::RunLonger => {
                    // A tool that still runs has its own limit, which is never longer.
                    if let Some(context) = Arc::get_mut(self.context) {
                        context.lengthen(LONGER);
                    }
                    recovered.push(Recovery::RanLonger {
                        seconds: seconds_of(&result),
                    });
                }
                Reaction::RunAgain(wait) if self.waits(wait).await => {
                    recovered.push(Recovery::RanAgain)
                }
                Reaction::UseAlternative => {
                    return (self.use_alternative(result, recovered).await, shown);
                }
                Reaction::RunAgain(_) | Reaction::AskPerson | Reaction::Return => {
                    let asks_person = reaction == Reaction::AskPerson;
                    let advice = before
                        .advice(changed.as_deref())
                        .or(asks_person.then(|| ASK.to_owned()));
                    let notes = advice.into_iter().chain(self.more_time(&result)).collect();
                    let result = told(result, &recovered, notes);
                    return (
                        Attempted {
                            result,
                            recovered,
                            asks_person,
                        },
                        shown,
                    );
                }
            }
        }
    }

    fn failed_call(
        &self,
        failure: Failure,
        result: &Result<Answer, ToolError>,
        recovered: &[Recovery],
        changed: Option<&[GitChange]>,
    ) -> FailedCall {
        let has_own_limit = self
            .arguments
            .get(TIMEOUT)
            .is_some_and(|limit| !limit.is_null());
        let (limit, longest) = (Duration::from_secs(seconds_of(result)), self.longest());
        let limits = self.context.limits();
        FailedCall {
            failure,
            retries: u32::try_from(recovered.len()).unwrap_or(u32::MAX),
            is_repeatable: self.tool.is_repeatable() || self.leaves_nothing(changed),
            can_be_longer: !has_own_limit && limit < longest,
            has_alternative: !self.alternatives.is_empty() || self.unfit.is_some(),
            may_ask: self.context.scope().ask_parks,
            asked_wait: result.as_ref().err().and_then(ToolError::asked_wait),
            longest_wait: limits.longest_retry_wait,
        }
    }

    /// Returns the longest time limit that the call can have.
    fn longest(&self) -> Duration {
        let limits = self.context.limits();
        if self.asks_hosts() {
            limits.max_web_timeout
        } else {
            limits.max_command_timeout
        }
    }

    /// Returns how the agent gets more time for a call that ran out of it.
    fn more_time(&self, result: &Result<Answer, ToolError>) -> Option<String> {
        let Err(ToolError::Timeout { seconds, .. }) = result else {
            return None;
        };
        let longest = self.longest().as_secs();
        let takes_limit = self.tool.schema().pointer("/properties/timeout").is_some();
        Some(match takes_limit {
            true if *seconds < longest => {
                format!("[ask for more with `timeout`, up to {longest} s]")
            }
            _ if *seconds < longest => return None,
            _ => format!("[{longest} s is the most that a call gets here; do it in smaller parts]"),
        })
    }

    /// Reports whether the tool itself asks other hosts, rather than a program that it runs.
    fn asks_hosts(&self) -> bool {
        self.tool.effects(self.arguments).iter().any(asks_host)
    }

    /// Reports whether the call has no effect that is left: none on the worktree, and none
    /// elsewhere.
    fn leaves_nothing(&self, changed: Option<&[GitChange]>) -> bool {
        let is_networked = || {
            self.tool
                .effects(self.arguments)
                .iter()
                .any(|effect| effect.access == Access::Network)
        };
        changed.is_some_and(<[GitChange]>::is_empty) && !is_networked()
    }

    /// Waits before another try; returns false if the call is cancelled meanwhile.
    async fn waits(&self, wait: Duration) -> bool {
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
        let why = failed
            .as_ref()
            .err()
            .map_or_else(String::new, ToolError::to_string);
        let own = self.tool.name();
        let mut also: Vec<String> = self.unfit.into_iter().collect();
        for Alternative {
            tool,
            isolated,
            arguments,
            context,
        } in self.alternatives
        {
            let answered = once(&tool, &context, arguments, isolated).await;
            self.context.meter().add(context.meter());
            match answered {
                Ok(answer) => {
                    let rule = context.permit().decision().rule().to_owned();
                    recovered.push(Recovery::Alternative {
                        tool: tool.name().to_owned(),
                        rule,
                    });
                    let note = format!(
                        "[`{own}` failed: {why}; `{}` answered instead]",
                        tool.name()
                    );
                    let answer = Answer {
                        text: format!("{note}\n{}", answer.text),
                        ..answer
                    };
                    return Attempted {
                        result: Ok(answer),
                        recovered,
                        asks_person: false,
                    };
                }
                Err(error) => also.push(format!("[`{}` instead: {error}]", tool.name())),
            }
        }
        let result = told(failed, &recovered, also);
        Attempted {
            result,
            recovered,
            asks_person: false,
        }
    }
}

fn asks_host(effect: &Effect) -> bool {
    effect.access == Access::Own && matches!(effect.target, Target::Host(_))
}

impl Shown {
    fn by(result: &Result<Answer, ToolError>) -> Shown {
        match result {
            Err(error) if error.failure() == Failure::Interrupted => Shown::Nothing,
            Err(error) => match error.failure().shows() {
                Some(lacking) => Shown::Fails(lacking, error.to_string()),
                None => Shown::Works,
            },
            Ok(_) => Shown::Works,
        }
    }

    /// Returns the same without the words of a failure.
    pub(crate) fn without_words(self) -> Shown {
        match self {
            Shown::Fails(lacking, _) => {
                Shown::Fails(lacking, "the last call that needed it failed".to_owned())
            }
            other => other,
        }
    }
}

/// Reports whether a call ended before it had done all of its work, though some of it may be done.
fn ends_in_the_middle(result: &Result<Answer, ToolError>) -> bool {
    match result {
        Ok(answer) => answer.failed.is_some() && answer.exit_code.is_none(),
        Err(error) => matches!(
            error.failure(),
            Failure::TimedOut | Failure::Network | Failure::Broken
        ),
    }
}

/// Returns the time limit that ended a call.
fn seconds_of(result: &Result<Answer, ToolError>) -> u64 {
    match result {
        Err(ToolError::Timeout { seconds, .. }) => *seconds,
        _ => 0,
    }
}

/// Returns a result that tells what was done on the way.
fn told(
    result: Result<Answer, ToolError>,
    recovered: &[Recovery],
    advice: Vec<String>,
) -> Result<Answer, ToolError> {
    let notes: Vec<String> = notes(recovered).into_iter().chain(advice).collect();
    if notes.is_empty() {
        return result;
    }
    let notes = notes.join("\n");
    match result {
        Ok(answer) => Ok(Answer {
            text: format!("{notes}\n{}", answer.text),
            ..answer
        }),
        Err(error) => Err(noted(error, notes)),
    }
}

/// Says of a call that the operating system's permissions are against what the agent can do about
/// it.
pub(crate) fn told_to_ask(error: ToolError) -> ToolError {
    noted(error, ASK.to_owned())
}

/// Adds notes to an error.
fn noted(error: ToolError, notes: String) -> ToolError {
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
fn notes(recovered: &[Recovery]) -> Vec<String> {
    let (tries, first) = (
        recovered.iter().filter(|one| is_try(one)).count(),
        recovered.iter().position(is_try),
    );
    let told = recovered
        .iter()
        .enumerate()
        .filter(|(at, recovery)| !is_try(recovery) || Some(*at) == first);
    told.map(|(_, recovery)| note(recovery, tries)).collect()
}

fn is_try(recovery: &Recovery) -> bool {
    *recovery == Recovery::RanAgain
}

fn note(recovery: &Recovery, tries: usize) -> String {
    match recovery {
        Recovery::RanLonger { seconds } => {
            format!("[it ran out of {seconds} s, and was run once more with a longer limit]")
        }
        Recovery::RanAgain if tries == 1 => "[it was tried again]".to_owned(),
        Recovery::RanAgain => format!("[it was tried again {tries} times]"),
        Recovery::Alternative { tool, .. } => format!("[`{tool}` answered instead]"),
    }
}

/// The worktree's files before a call that runs programs.
struct Before(Option<Oid>);

impl Before {
    /// Stores the files, if the tool runs programs; without what git cannot store now, there is
    /// nothing to restore.
    async fn store(tool: &dyn Tool, context: &ToolContext) -> Before {
        if tool.permission() != Permission::CodeExecution {
            return Before(None);
        }
        Before(context.services().git.keep_before().await.ok())
    }

    /// Returns what has changed since; `None` if that is not known.
    async fn changed(&self, context: &ToolContext) -> Option<Vec<GitChange>> {
        context
            .services()
            .git
            .changes_since(self.0.as_ref()?)
            .await
            .ok()
    }

    /// Returns how to undo the changes of a call that was ended in the middle.
    fn advice(&self, changed: Option<&[GitChange]>) -> Option<String> {
        let (commit, changed) = (
            self.0.as_ref()?,
            changed.filter(|changed| !changed.is_empty())?,
        );
        Some(undo_advice(commit, changed))
    }
}

/// Returns a text on what a call had changed when it was ended, and how to undo it.
pub fn undo_advice(before: &Oid, changed: &[GitChange]) -> String {
    let named: Vec<String> = changed
        .iter()
        .take(SHOWN_CHANGES)
        .map(|change| shown(&change.path))
        .collect();
    let more = match changed.len().saturating_sub(SHOWN_CHANGES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let commit: String = before.as_str().chars().take(COMMIT_DIGITS).collect();
    format!(
        "[it was ended in the middle, after changes of {}{more}; `git_checkout` with `{commit}` and these paths brings \
        them back as they were before it]",
        named.join(", ")
    )
}

/// What a call needs of its class of tools, or of what it reaches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Need {
    class: Category,
    /// The hosts that the call names, or its tool if it names none; `None` for what the whole class
    /// needs.
    reached: Option<String>,
}

impl Need {
    /// Returns what a call needs.
    pub(crate) fn for_call(tool: &dyn Tool, effects: &[Effect]) -> [Need; 2] {
        let hosts: BTreeSet<String> = effects
            .iter()
            .filter_map(|effect| host_of(&effect.target))
            .collect();
        let hosts: Vec<String> = hosts.into_iter().collect();
        let reached = if hosts.is_empty() {
            tool.name().to_owned()
        } else {
            hosts.join(", ")
        };
        let class = tool.health_class();
        [
            Need {
                class: class.clone(),
                reached: None,
            },
            Need {
                class,
                reached: Some(reached),
            },
        ]
    }

    fn refuse(&self, why: &str, next: Duration) -> ToolError {
        let Need { class, reached } = self;
        let what = match reached {
            Some(reached) => format!(
                "`{}` is out of order for the tools of the category `{class}`",
                shown(reached)
            ),
            None => format!("the tools of the category `{class}` are out of order"),
        };
        let next = next.as_secs() + 1;
        ToolError::Unavailable(format!(
            "{what}: {why}; their calls are refused until one that tries again succeeds, which may be in {next} s. Go on \
            with other tools, or end and report what is missing"
        ))
    }
}

/// Returns the host that a call reaches.
fn host_of(target: &Target) -> Option<String> {
    match target {
        Target::Host(host) => Some(host.clone()),
        Target::Remote(branch) => branch.host.as_ref().map(ToString::to_string),
        _ => None,
    }
}

/// What of that which calls need is available, for all agents.
pub(crate) struct Needs {
    since: Instant,
    /// What failed last, with the reason.
    failed: Mutex<BTreeMap<Need, (Health, String)>>,
}

impl Default for Needs {
    fn default() -> Needs {
        Needs {
            since: Instant::now(),
            failed: Mutex::default(),
        }
    }
}

impl Needs {
    /// Admits a call, or refuses it because something that it needs is out of order.
    pub(crate) fn admit(&self, needs: &[Need], probe_after: Duration) -> Result<(), ToolError> {
        let now = self.since.elapsed();
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing counts as tried unless the call runs.
        for need in needs {
            if let Some((health, why)) = failed.get(need)
                && let Some(next) = health.refusal(now, probe_after)
            {
                return Err(need.refuse(why, next));
            }
        }
        for need in needs {
            if let Some((health, _)) = failed.get_mut(need) {
                health.begun();
            }
        }
        Ok(())
    }

    /// Notes what an admitted call has shown.
    pub(crate) fn ended(&self, needs: &[Need], shown: &Shown) {
        let now = self.since.elapsed();
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        for need in needs {
            let of_need = if need.reached.is_some() {
                Lacking::Reached
            } else {
                Lacking::Class
            };
            match shown {
                Shown::Fails(lacking, reason) if *lacking == of_need => {
                    let (health, why) = failed.entry(need.clone()).or_default();
                    health.ended(false, now);
                    reason.clone_into(why);
                }
                // Without what the class needs, nothing was reached.
                Shown::Fails(Lacking::Class, _) | Shown::Nothing => {
                    if let Some((health, _)) = failed.get_mut(need) {
                        health.undecided();
                    }
                }
                Shown::Fails(Lacking::Reached, _) | Shown::Works => drop(failed.remove(need)),
            }
        }
        while failed.len() > MAX_KEPT_HEALTH {
            let oldest = failed
                .iter()
                .min_by_key(|(_, (health, _))| health.noted_at())
                .map(|(need, _)| need.clone());
            let Some(oldest) = oldest else { return };
            failed.remove(&oldest);
        }
    }
}

/// Runs a tool once, on a thread of its own if it is one of the program's own.
async fn once(
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
