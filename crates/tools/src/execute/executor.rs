//! Runs every tool call in the same steps: resolve, validate, decide, permit, limit, look into the
//! cache, record the start, run, handle failures, shape, record the end.
//!
//! Invariants: nothing runs without a [`crate::Permit`] or before its start is recorded; every
//! start gets its end, also after a panic, after a cancellation, or if the caller is dropped. Each
//! call runs in a task of the executor's own, so dropping the caller does not leave it half done.
//!
//! Deliberately absent: asking the user (the worker parks the call and repeats it with the
//! decision), and deciding what follows from a failure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::failure_handling::Failure;
use orchestrate_core::policy::{Access, Decision, Grant, Permission, Target};
use orchestrate_core::{AgentId, Redactor, ToolCall, ToolCalls, ToolMetrics, ToolSpec};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tracing::instrument::WithSubscriber as _;

use crate::answer::{CallOutcome, ToolError, ToolOutput, ToolsError, sha256_hex, shape};
use crate::call::{Authorization, CallScope, Effect, Meter, PathGuard, Permit, authorize, permit};
use crate::execute::hooks::{HookedCall, Hooks};
use crate::execute::{
    Alternative, Attempt, Attempted, CircuitBreaker, EndGuard, Finding, Need, Replay, Resolver,
    brief_name, caught, describe_call, may_stand_in, record, redact_error, redact_result, request,
    with_way_to_ask, without_users,
};
use crate::files::Files;
use crate::registry::{Resolved, ToolRegistry};
use crate::services::CallRecord;
use crate::tool::{CallSite, Prepared, Tool, ToolContext, Waits};

/// Maximum number of concurrent calls: more than a run has workers, few enough for the limit on
/// file descriptors.
const MAX_RUNNING_CALLS: usize = 64;
/// Maximum number of calls of one agent within [`RATE_WINDOW`]: no model is that fast, only a loop
/// is.
const MAX_CALLS_PER_WINDOW: u32 = 600;
/// The window in which an agent's calls are counted.
const RATE_WINDOW: Duration = Duration::from_secs(60);

/// Maximum number of remembered calls that the user would be asked about: far more than agents
/// repeat.
const MAX_FORBIDDEN: usize = 1_000;

/// Runs tool calls.
pub struct Executor {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    hooks: Hooks,
}

/// The state that the executor shares with the tasks of running calls.
struct Shared {
    resolver: Resolver,
    calls: Mutex<ToolCalls>,
    slots: Semaphore,
    rates: Mutex<HashMap<AgentId, (Instant, u32)>>,
    circuit_breaker: CircuitBreaker,
    /// The calls that the operating system's permissions were against, by agent, tool and the hash
    /// of their arguments, which may be as large as a file.
    forbidden: Mutex<BTreeSet<(AgentId, String, String)>>,
    redactor: Redactor,
}

/// A resolved and prepared call.
struct PreparedCall {
    tool: Arc<dyn Tool>,
    /// The tool that has the name otherwise, if the call is one of its second form.
    first_form: Option<Arc<dyn Tool>>,
    record: CallRecord,
    /// The call as the tool has prepared it. Its arguments are the record's.
    prepared: Prepared,
    hooked: HookedCall,
}

/// A refused call, with its record.
struct CallRefusal {
    record: CallRecord,
    error: ToolError,
}

impl Executor {
    /// Creates an executor for the registry's tools, without redaction.
    ///
    /// # Errors
    /// [`ToolsError::Schema`] for a tool whose schema cannot be compiled.
    pub fn new(registry: ToolRegistry) -> Result<Executor, ToolsError> {
        Executor::redacting(registry, Redactor::default())
    }

    /// Creates an executor that redacts secrets from results and logs.
    ///
    /// # Errors
    /// As [`Executor::new`].
    pub fn redacting(registry: ToolRegistry, redactor: Redactor) -> Result<Executor, ToolsError> {
        let shared = Shared {
            resolver: Resolver::new(registry)?,
            calls: Mutex::default(),
            slots: Semaphore::new(MAX_RUNNING_CALLS),
            rates: Mutex::default(),
            circuit_breaker: CircuitBreaker::new(),
            forbidden: Mutex::default(),
            redactor,
        };
        Ok(Executor {
            shared: Arc::new(shared),
            tasks: TaskTracker::new(),
            hooks: Hooks::default(),
        })
    }

    /// Lets hooks decide about each call before the rules do, and look at its result.
    pub fn with_hooks(self, hooks: Hooks) -> Executor {
        Executor { hooks, ..self }
    }

    /// Returns the specifications, for a model, of the tools that a role grants.
    pub fn specs(&self, grant: &Grant) -> Vec<ToolSpec> {
        self.shared.resolver.registry.specs(grant)
    }

    /// Returns the metrics of every tool that has run.
    pub fn metrics(&self) -> BTreeMap<String, ToolMetrics> {
        self.shared.calls.lock().metrics()
    }

    /// Waits until no call is running. It does not cancel any.
    pub async fn drained(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    /// Runs one call, refuses or parks it, or lets it wait.
    pub async fn call(&self, call: &ToolCall, scope: &CallScope) -> CallOutcome {
        let started = Instant::now();
        match self.decide(call, scope).await {
            Ok(Decided::Permitted(call, permit)) => self
                .run(*call, permit, scope)
                .await
                .map_or(CallOutcome::Waits, CallOutcome::Done),
            Ok(Decided::Parked { record, rule }) => {
                let CallRecord {
                    hash: call,
                    tool,
                    arguments,
                    ..
                } = *record;
                let arguments = self.shared.redactor.value(arguments);
                CallOutcome::NeedsApproval {
                    call,
                    tool,
                    arguments,
                    rule,
                }
            }
            Err(mut refusal) => {
                refusal.error = redact_error(&self.shared.redactor, refusal.error);
                refusal.record.arguments =
                    without_users(self.shared.redactor.value(refusal.record.arguments));
                CallOutcome::Done(refuse(*refusal, started, scope).await)
            }
        }
    }

    async fn decide(
        &self,
        call: &ToolCall,
        scope: &CallScope,
    ) -> Result<Decided, Box<CallRefusal>> {
        let mut call = self
            .hooked(self.shared.prepare(call, scope)?, scope)
            .await?;
        let mut authorization = self.shared.judged(&call, scope);
        // What the rules refuse anyway is not looked up.
        let foreseen = match authorization {
            Authorization::Refused {
                decision: Decision::Deny { .. },
                ..
            } => None,
            _ => {
                self.shared
                    .foresee(&mut call, authorization.decision(), scope)
                    .await?
            }
        };
        if foreseen.is_some() {
            authorization = self.shared.judged(&call, scope);
        }
        match authorization {
            Authorization::Parked { rule } => {
                // No answer of the user's changes what these find.
                let left = require_left(call.tool.permission(), scope);
                let rehearsed = match left {
                    Ok(()) => self.shared.rehearse(&mut call, &rule, scope).await,
                    nothing_left => nothing_left,
                };
                if let Err(error) = rehearsed {
                    return Err(refused(call.record, error));
                }
                tracing::info!(agent = %scope.agent, %rule, hash = %call.record.hash, "a tool call \
                                                                                       waits for \
                                                                                       approval");
                let mut record = call.record;
                record.arguments = with_details(record.arguments, foreseen);
                Ok(Decided::Parked {
                    record: Box::new(record),
                    rule,
                })
            }
            Authorization::Refused { decision, reason } => {
                let rule = decision.rule().to_owned();
                call.record.decision = Some(decision);
                Err(Box::new(CallRefusal {
                    record: call.record,
                    error: ToolError::Denied { reason, rule },
                }))
            }
            Authorization::Permitted(permit) => {
                call.record.decision = Some(permit.decision().clone());
                match self.shared.check_resources(call.tool.permission(), scope) {
                    Ok(()) => Ok(Decided::Permitted(
                        Box::new(call),
                        permit.for_foreseen(foreseen),
                    )),
                    Err(error) => Err(Box::new(CallRefusal {
                        record: call.record,
                        error,
                    })),
                }
            }
        }
    }

    /// Returns a prepared call as the hooks let it be decided about.
    async fn hooked(
        &self,
        mut call: PreparedCall,
        scope: &CallScope,
    ) -> Result<PreparedCall, Box<CallRefusal>> {
        let mut hooked = HookedCall::new(&self.hooks);
        let mut asked_again = 0;
        for (number, hook) in self.hooks.iter().enumerate() {
            let asked = self.shared.shown_to_hooks(&call);
            match hooked.before(hook.as_ref(), &asked, scope).await {
                Ok(None) => {}
                Ok(Some(changed)) => {
                    call = self.shared.prepare(&changed, scope)?;
                    asked_again = number;
                }
                Err(denied) => return Err(refused(call.record, denied)),
            }
        }
        // Those before the last one that has changed the call have not seen what will run.
        for hook in self.hooks.iter().take(asked_again) {
            let asked = self.shared.shown_to_hooks(&call);
            let denied = match hooked.before(hook.as_ref(), &asked, scope).await {
                Ok(None) => continue,
                Ok(Some(_)) => ToolError::denied(
                    hook.name(),
                    "another hook changes the arguments back; let one of the two pass them",
                ),
                Err(denied) => denied,
            };
            return Err(refused(call.record, denied));
        }
        Ok(PreparedCall { hooked, ..call })
    }

    /// Runs a permitted call; returns `None` if it waits.
    async fn run(
        &self,
        call: PreparedCall,
        permit: Permit,
        scope: &CallScope,
    ) -> Option<ToolOutput> {
        let id = call.record.call.clone();
        let (shared, scope) = (Arc::clone(&self.shared), scope.clone());
        // Its logs go where the caller's go.
        let run = async move { shared.run(call, permit, scope).await }.with_current_subscriber();
        let task = self.tasks.spawn(run);
        task.await
            .unwrap_or_else(|_| Some(ToolOutput::interrupted(&id)))
    }
}

/// The decision about a call that is not refused.
enum Decided {
    Permitted(Box<PreparedCall>, Permit),
    Parked {
        record: Box<CallRecord>,
        rule: String,
    },
}

impl Shared {
    /// Resolves the tool's name, prepares the call, and computes the call's hash.
    fn prepare(
        &self,
        call: &ToolCall,
        scope: &CallScope,
    ) -> Result<PreparedCall, Box<CallRefusal>> {
        let mut record = CallRecord {
            call: call.id.clone(),
            hash: permit::unresolved_hash(call, scope),
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            writes: Vec::new(),
            deletes: Vec::new(),
            decision: None,
            cache: None,
        };
        let Some(resolved) = self
            .resolver
            .registry
            .resolve_call(&call.name, &call.arguments)
        else {
            let error = self.not_found(&call.name, &scope.grant);
            return Err(Box::new(CallRefusal { record, error }));
        };
        resolved.tool.name().clone_into(&mut record.tool);
        let prepared = match self.accepted(&resolved, call, scope) {
            Ok(prepared) => prepared,
            Err(error) => return Err(refused(record, error)),
        };
        let tool = resolved.tool.as_ref();
        record.hash = permit::call_hash(&call.id, tool.name(), &prepared.arguments, scope);
        (record.writes, record.deletes) = changed_paths(tool, &prepared.effects);
        record.arguments = prepared.arguments.clone();
        Ok(PreparedCall {
            tool: Arc::clone(resolved.tool),
            first_form: resolved.first_form.cloned(),
            record,
            prepared,
            hooked: HookedCall::default(),
        })
    }

    /// Returns a call as hooks see it: by the tool's own name, without secrets.
    fn shown_to_hooks(&self, call: &PreparedCall) -> ToolCall {
        ToolCall {
            id: call.record.call.clone(),
            name: call.record.tool.clone(),
            arguments: self.redactor.value(call.record.arguments.clone()),
        }
    }

    /// Lets a tool prepare a call, and refuses one that it does not take.
    fn accepted(
        &self,
        resolved: &Resolved<'_>,
        call: &ToolCall,
        scope: &CallScope,
    ) -> Result<Prepared, ToolError> {
        self.require_unredacted(&call.arguments)?;
        let arguments = self.resolver.conform(resolved, &call.arguments)?;
        let site = CallSite::in_scope(scope);
        let mut prepared = self.resolver.prepare(resolved.tool, arguments, site)?;
        match prepared.fault.take() {
            Some(fault) => Err(fault),
            None => Ok(prepared),
        }
    }

    /// Looks up what a call would reach, and binds its effects and its hash to that. The project's
    /// files are seen as the call itself sees them once it is approved.
    async fn foresee(
        &self,
        call: &mut PreparedCall,
        decision: Decision,
        scope: &CallScope,
    ) -> Result<Option<Value>, Box<CallRefusal>> {
        let PreparedCall {
            tool,
            record,
            prepared,
            ..
        } = call;
        if self.resolver.isolated(tool.as_ref()).is_some() {
            return Ok(None);
        }
        let mut details = None;
        if let Some(look) = prepared.foresight.take() {
            let files = project(tool.as_ref(), &decision, scope);
            match look.run(scope, files, prepared.last_arguments()).await {
                Ok(None) => {}
                Ok(Some(foreseen)) => {
                    prepared.effects = foreseen.effects;
                    details = Some(foreseen.details);
                }
                Err(error) => return Err(refused(record.clone(), error)),
            }
        }
        let of_wrapper = prepared.handed_on.as_mut();
        let of_wrapper = of_wrapper.and_then(|handed_on| handed_on.details.take());
        let details = match (details, of_wrapper) {
            (Some(own), of_wrapper) => with_details(own, of_wrapper),
            (None, Some(of_wrapper)) => of_wrapper,
            (None, None) => return Ok(None),
        };
        let whole = with_details(record.arguments.clone(), Some(details.clone()));
        record.hash = permit::call_hash(&record.call, tool.name(), &whole, scope);
        Ok(Some(details))
    }

    /// Looks whether a call that this rule asks about could succeed.
    async fn rehearse(
        &self,
        call: &mut PreparedCall,
        rule: &str,
        scope: &CallScope,
    ) -> Result<(), ToolError> {
        let PreparedCall { tool, prepared, .. } = call;
        let rehearsal = prepared.rehearsal.take();
        let Some(look) = rehearsal.filter(|_| self.resolver.isolated(tool.as_ref()).is_none())
        else {
            return Ok(());
        };
        let rule = rule.to_owned();
        let files = project(tool.as_ref(), &Decision::Ask { rule }, scope);
        let rehearsed = look.run(scope, files, prepared.last_arguments()).await;
        rehearsed.or_else(|error| self.foreseen_failure(error, call, scope))
    }

    /// Returns a failure that was foreseen, unless the user is to be asked about the call
    /// nevertheless.
    fn foreseen_failure(
        &self,
        error: ToolError,
        call: &PreparedCall,
        scope: &CallScope,
    ) -> Result<(), ToolError> {
        let PreparedCall { tool, record, .. } = call;
        let has_alternative = || !self.alternatives(tool.as_ref(), record, scope).0.is_empty();
        match error.failure() {
            // Another tool answers. What a rule denies is not asked about, whichever tool could
            // answer.
            Failure::Absent | Failure::Forbidden if has_alternative() => Ok(()),
            // The agent knows of it; whoever is asked can change the permission before the answer.
            Failure::Forbidden if self.was_forbidden(record, scope) => Ok(()),
            Failure::Forbidden => {
                self.note_forbidden(record, scope);
                Err(with_way_to_ask(error))
            }
            _ => Err(error),
        }
    }

    /// Refuses arguments that contain the mark of a redacted secret. The call would do something
    /// other than intended, and a file that was read and written back would lose the secret.
    fn require_unredacted(&self, given: &Value) -> Result<(), ToolError> {
        let Some(name) = self.redactor.mark_in(&given.to_string()) else {
            return Ok(());
        };
        let reason = format!(
            "the arguments contain `[redacted:{name}]`, which stands for a secret that agents do \
             not see; nothing was done. Change only the text around it, or leave that file to the \
             user"
        );
        Err(ToolError::denied("secrets", reason))
    }

    /// Names the most similar tools that the agent has.
    fn not_found(&self, name: &str, grant: &Grant) -> ToolError {
        let registry = &self.resolver.registry;
        let has = |tool: &&str| {
            registry
                .tool(tool)
                .is_some_and(|known| grant.permits(tool, known.permission()))
        };
        let nearest = registry.nearest_of(name, has).join("`, `");
        let similar = if nearest.is_empty() {
            String::new()
        } else {
            format!("; similar tools: `{nearest}`")
        };
        ToolError::Retry(format!("Tool '{}' not found{similar}", brief_name(name)))
    }

    fn check_resources(&self, permission: Permission, scope: &CallScope) -> Result<(), ToolError> {
        if scope.cancel.is_cancelled() {
            return Err(ToolError::Interrupted(
                "the agent was stopped before the call ran".to_owned(),
            ));
        }
        require_left(permission, scope)?;
        let now = Instant::now();
        let mut rates = self.rates.lock();
        let (since, count) = rates.entry(scope.agent.clone()).or_insert((now, 0));
        if now.duration_since(*since) > RATE_WINDOW {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        if *count > MAX_CALLS_PER_WINDOW {
            return Err(exceeded(
                "too many calls within a minute; do more with each call",
            ));
        }
        Ok(())
    }

    /// Asks the policy.
    fn judged(&self, call: &PreparedCall, scope: &CallScope) -> Authorization {
        let PreparedCall {
            tool,
            first_form,
            record,
            prepared,
            ..
        } = call;
        let was_forbidden = self.was_forbidden(record, scope);
        let asked = request(tool, first_form.as_ref(), prepared);
        authorize(
            &asked,
            &record.hash,
            &record.arguments,
            was_forbidden,
            scope,
        )
    }

    fn was_forbidden(&self, record: &CallRecord, scope: &CallScope) -> bool {
        // Hardly ever is there any, and large arguments take a while to hash.
        let forbidden = self.forbidden.lock();
        !forbidden.is_empty() && forbidden.contains(&same_call(record, scope))
    }

    fn note_forbidden(&self, record: &CallRecord, scope: &CallScope) {
        let call = same_call(record, scope);
        let mut forbidden = self.forbidden.lock();
        if forbidden.len() < MAX_FORBIDDEN {
            forbidden.insert(call);
        }
    }

    /// Runs an admitted call, and handles its failures.
    async fn attempt(
        &self,
        tool: &Arc<dyn Tool>,
        context: &mut Arc<ToolContext>,
        record: &CallRecord,
        effects: &[Effect],
    ) -> Attempted {
        let (alternatives, unfit) = self.alternatives(tool.as_ref(), record, context.scope());
        let isolated = self.resolver.isolated(tool.as_ref());
        let attempt = Attempt {
            tool,
            isolated,
            context,
            arguments: &record.arguments,
            effects,
            alternatives,
            unfit,
        };
        let attempted = attempt.run().await;
        if attempted.asks_person {
            self.note_forbidden(record, context.scope());
        } else if attempted.result.is_ok() && self.was_forbidden(record, context.scope()) {
            let call = same_call(record, context.scope());
            self.forbidden.lock().remove(&call);
        }
        attempted
    }

    /// Returns the tools that may answer if this one cannot, and why the one that the user names
    /// cannot answer this call.
    fn alternatives(
        &self,
        tool: &dyn Tool,
        record: &CallRecord,
        scope: &CallScope,
    ) -> (Vec<Alternative<'_>>, Option<String>) {
        let own = tool.properties().alternatives.iter();
        let mut fit: Vec<Alternative<'_>> = own
            .filter_map(|name| self.alternative(name, tool, record, scope).ok())
            .collect();
        let configured = scope.alternatives.get(tool.name());
        match configured.map(|name| (name, self.alternative(name, tool, record, scope))) {
            None => (fit, None),
            Some((_, Ok(alternative))) => {
                fit.push(alternative);
                (fit, None)
            }
            Some((name, Err(why))) => (
                fit,
                Some(format!("[`{}` instead: {why}]", brief_name(name))),
            ),
        }
    }

    /// Returns a tool that may answer this call, or why it may not.
    fn alternative(
        &self,
        name: &str,
        tool: &dyn Tool,
        record: &CallRecord,
        scope: &CallScope,
    ) -> Result<Alternative<'_>, String> {
        let call = ToolCall {
            id: record.call.clone(),
            name: name.to_owned(),
            arguments: record.arguments.clone(),
        };
        let other = self
            .prepare(&call, scope)
            .map_err(|refusal| refusal.error.to_string())?;
        let is_itself = std::ptr::addr_eq(Arc::as_ptr(&other.tool), std::ptr::from_ref(tool));
        if is_itself || !may_stand_in(other.tool.as_ref(), tool) {
            return Err("it may not stand in".to_owned());
        }
        let permit = match self.judged(&other, scope) {
            Authorization::Permitted(permit) => permit,
            Authorization::Refused { reason, .. } => return Err(reason),
            Authorization::Parked { rule } => {
                return Err(format!("the rule `{rule}` needs approval for it"));
            }
        };
        let guard = path_guard(other.tool.as_ref(), permit.decision(), scope);
        let context = Arc::new(ToolContext::new(permit, guard, scope.clone(), &record.call));
        let isolated = self.resolver.isolated(other.tool.as_ref());
        Ok(Alternative {
            tool: other.tool,
            isolated,
            arguments: other.record.arguments,
            context,
        })
    }

    fn count(&self, tool: &str, output: &ToolOutput) {
        let mut calls = self.calls.lock();
        calls.add(tool, output.success, output.execution_time);
    }

    /// Answers a call that may wait, or runs it; returns `None` if it waits.
    async fn run(
        &self,
        call: PreparedCall,
        permit: Permit,
        scope: CallScope,
    ) -> Option<ToolOutput> {
        let PreparedCall { tool, record, .. } = &call;
        let Ok(_slot) = self.slots.acquire().await else {
            let closed = ToolError::Interrupted("the executor is closed".to_owned());
            return Some(ToolOutput::failed(&record.call, &closed));
        };
        let shown = describe_call(&record.tool, &self.redactor.value(record.arguments.clone()));
        tracing::info!(agent = %scope.agent, "{shown}");
        let guard_of_paths = path_guard(tool.as_ref(), permit.decision(), &scope);
        let context = Arc::new(ToolContext::new(
            permit,
            guard_of_paths,
            scope,
            &record.call,
        ));
        let tool = Arc::clone(tool);
        match tool.as_waits() {
            Some(waits) => self.answer(waits, call, &context).await,
            None => Some(self.run_tool(call, context).await),
        }
    }

    /// Answers a call that may wait, recording its start and its end in one step; returns `None` if
    /// it waits.
    async fn answer(
        &self,
        waits: &dyn Waits,
        call: PreparedCall,
        context: &ToolContext,
    ) -> Option<ToolOutput> {
        let PreparedCall { record, hooked, .. } = call;
        let asked = Instant::now();
        // A panic has an end to record, too.
        let answer = waits.answer(context, &record.call, record.arguments.clone());
        let answered = caught(context.meter(), answer).await.transpose()?;
        let answered = redact_result(&self.redactor, answered);
        let output = record::finish(context, &record.call, answered, asked.elapsed()).await;
        self.count(&record.tool, &output);
        let scope = context.scope();
        let output = hooked.after(&record, output, scope, &self.redactor).await;
        Some(not_run(&record, output, scope).await)
    }

    /// Replays a stored result, or records the start, runs the tool, shapes its result, and records
    /// the end.
    async fn run_tool(&self, call: PreparedCall, mut context: Arc<ToolContext>) -> ToolOutput {
        let PreparedCall {
            tool,
            mut record,
            prepared,
            hooked,
            ..
        } = call;
        let (tool, effects) = (&tool, prepared.effects.as_slice());
        let needs = &Need::for_call(tool.as_ref(), effects);
        let looked = Instant::now();
        let (replay, found) = Replay::look_up(tool.as_ref(), &mut record, &context).await;
        if let Some(answer) = found {
            let answer = redact_result(&self.redactor, Ok(answer));
            let output = record::finish(&context, &record.call, answer, looked.elapsed()).await;
            let scope = context.scope();
            let output = hooked.after(&record, output, scope, &self.redactor).await;
            return not_run(&record, output, scope).await;
        }
        if let Err(error) = self
            .circuit_breaker
            .admit(needs, context.limits().probe_after)
        {
            return not_run(
                &record,
                ToolOutput::failed(&record.call, &redact_error(&self.redactor, error)),
                context.scope(),
            )
            .await;
        }
        let mut guard = match EndGuard::start(&record, context.scope()).await {
            Ok(guard) => guard,
            Err(error) => {
                self.circuit_breaker.record(needs, &Finding::Unknown);
                return ToolOutput::failed(&record.call, &record::lost("start", &error));
            }
        };
        let Attempted {
            result,
            recovered,
            finding,
            ..
        } = self.attempt(tool, &mut context, &record, effects).await;
        // The words of a server are for the agent that has asked it: whoever reads them is exposed
        // to them.
        let quotes_others = context
            .meter()
            .usage()
            .outside_bytes
            .is_some_and(|bytes| bytes > 0);
        let finding = if quotes_others {
            finding.without_words()
        } else {
            finding
        };
        self.circuit_breaker.record(needs, &finding);
        let result = match replay.filter(|_| recovered.is_empty()) {
            Some(replay) => {
                replay
                    .keep_and_redact(&context, &self.redactor, result)
                    .await
            }
            None => redact_result(&self.redactor, result),
        };
        let output = record::finish(&context, &record.call, result, guard.elapsed()).await;
        let output = ToolOutput {
            recovered,
            ..output
        };
        self.count(tool.name(), &output);
        let output = hooked
            .after(&record, output, context.scope(), &self.redactor)
            .await;
        match guard.finish(&output).await {
            Ok(()) => output,
            Err(error) => ToolOutput::failed(&record.call, &record::lost("end", &error)),
        }
    }
}

fn exceeded(what: &str) -> ToolError {
    ToolError::Retry(format!("Resource limits exceeded: {what}"))
}

/// Refuses a call if the agent has nothing left for it, of its context or of its processor time.
fn require_left(permission: Permission, scope: &CallScope) -> Result<(), ToolError> {
    if scope.result_tokens < shape::MIN_RESULT_TOKENS {
        return Err(exceeded(
            "the context has no room for a result; finish with what you know",
        ));
    }
    match permission {
        Permission::CodeExecution => scope.agent_cpu.check(),
        _ => Ok(()),
    }
}

/// Returns a call's arguments with the details of what it would reach.
fn with_details(arguments: Value, details: Option<Value>) -> Value {
    let (Value::Object(mut shown), Some(Value::Object(details))) = (arguments.clone(), details)
    else {
        return arguments;
    };
    shown.extend(details);
    Value::Object(shown)
}

/// Returns the paths that a call of a file tool may change, and those that it may delete.
fn changed_paths(tool: &dyn Tool, effects: &[Effect]) -> (Vec<String>, Vec<String>) {
    let (mut writes, mut deletes) = (Vec::new(), Vec::new());
    let changes_files = matches!(
        tool.permission(),
        Permission::FileWrite | Permission::FileModify
    );
    for effect in effects {
        let (Target::Path(path) | Target::Folder(path)) = &effect.target else {
            continue;
        };
        match effect.access {
            Access::Own if changes_files => writes.push(path.clone()),
            Access::Write => writes.push(path.clone()),
            Access::Delete => deletes.push(path.clone()),
            _ => {}
        }
    }
    (writes, deletes)
}

/// Returns what a call has in common with the same call of another turn.
fn same_call(record: &CallRecord, scope: &CallScope) -> (AgentId, String, String) {
    let arguments = permit::canonical_json(&record.arguments);
    (
        scope.agent.clone(),
        record.tool.clone(),
        sha256_hex(arguments.as_bytes()),
    )
}

/// Returns the project's files as a call sees them under this decision.
fn project(tool: &dyn Tool, decision: &Decision, scope: &CallScope) -> Files {
    Files::of_call(scope, path_guard(tool, decision, scope), Meter::default())
}

fn path_guard(tool: &dyn Tool, decision: &Decision, scope: &CallScope) -> PathGuard {
    PathGuard::new(
        tool.name(),
        tool.permission(),
        decision,
        &scope.policy,
        &scope.grant,
    )
}

/// Creates the refusal of a call before the rules have decided about it; a rule that denies it has
/// decided.
fn refused(mut record: CallRecord, error: ToolError) -> Box<CallRefusal> {
    if let ToolError::Denied { reason, rule } = &error {
        record.decision = Some(Decision::Deny {
            rule: rule.clone(),
            reason: reason.clone(),
        });
    }
    Box::new(CallRefusal { record, error })
}

async fn refuse(refusal: CallRefusal, started: Instant, scope: &CallScope) -> ToolOutput {
    let CallRefusal { record, error } = refusal;
    let call = describe_call(&record.tool, &record.arguments);
    let why = error.to_string();
    tracing::info!(agent = %scope.agent, "{call} refused: {}", why.escape_debug());
    let output = ToolOutput {
        execution_time: started.elapsed(),
        ..ToolOutput::failed(&record.call, &error)
    };
    not_run(&record, output, scope).await
}

/// Records a call for which nothing ran.
async fn not_run(record: &CallRecord, output: ToolOutput, scope: &CallScope) -> ToolOutput {
    match scope
        .services
        .recorder
        .not_run(record, output.to_record())
        .await
    {
        Ok(()) => output,
        Err(error) => ToolOutput::failed(&record.call, &record::lost("result", &error)),
    }
}
