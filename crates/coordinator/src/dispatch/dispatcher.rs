//! One run in this process: the dispatcher's loop, and its handle.
//!
//! The loop waits for a change, turns it into an [`Input`], passes it to the [`Board`], and carries
//! out the effects in tasks of their own. It waits for the journal's disk, but never for a model, a
//! command or git. A panic in a worker fails its task and nothing else.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use orchestrate_checks::{RunningChecks, Shutdown, ShutdownLevel};
use orchestrate_core::event::{Event, RunStatus};
use orchestrate_core::projections::report::Standing;
use orchestrate_core::run::board::{Board, Effect, Input, Stay};
use orchestrate_core::run::feed::Live;
use orchestrate_core::run::request::{Holder, Request, RequestRefused, StopLevel};
use orchestrate_core::run::{EXIT_INTERRUPTED, Expiry, outcome_if_stopped};
use orchestrate_core::task::FailureCause;
use orchestrate_core::{CallHash, Report, RunId, RunState, TaskId};
use orchestrate_journal::{Answer, Appended, Batch, JournalError, Received, Store};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};

use crate::dispatch::{call_approver, requests};
use crate::error::CoordinatorError;
use crate::link::requests::Failure;
use crate::merge::{base, step};
use crate::run::context::RunContext;
use crate::run::handle::RunHandle;
use crate::run::machine::logs::RunLogs;
use crate::run::program::callbacks::Callbacks;
use crate::run::program::live::{LiveItem, LiveItems};
use crate::run::until_due;
use crate::worker::{spawn, task_end};
use crate::worktree::release;

/// A run that this process works on until it ends, even if this handle is dropped.
pub struct Run {
    handle: RunHandle,
    live: LiveItems,
    running: RunningChecks,
    shutdown: Shutdown,
    closing: Closing,
    answers: Vec<Answer>,
    ended: tokio::task::JoinHandle<Result<(), CoordinatorError>>,
}

/// The outcome of a request for which a run was taken over.
pub enum Takeover {
    /// The run continues: the request was carried out, or another one that was recorded before it
    /// ([`Run::answers`]).
    Begun {
        /// The run.
        run: Run,
    },
    /// It is refused, with the reason; nothing has changed.
    Refused(RequestRefused),
    /// Another process has answered it.
    Answered,
}

/// Lets a run that stays open although nothing is left to do end.
#[derive(Clone)]
pub struct Closing {
    stay: watch::Sender<Stay>,
}

impl Closing {
    /// Lets the run end once nothing is left to do.
    pub fn close(&self) {
        self.stay.send_replace(Stay::Never);
    }
}

impl Run {
    /// Starts to work on a run whose journal is open, after these answers to requests that were
    /// recorded before.
    #[expect(
        clippy::disallowed_methods,
        reason = "its handle is kept, and joined when the run ends"
    )]
    pub(crate) fn start(
        context: Arc<RunContext>,
        stay: Stay,
        callbacks: &Callbacks,
        answers: Vec<Answer>,
    ) -> Result<Self, CoordinatorError> {
        let shutdown = Shutdown::of_run();
        let requests = context.journal.requests()?;
        let (stay, staying) = watch::channel(stay);
        let (handle, live) = (RunHandle::new(&context), context.live.clone());
        let running = context.host.site.running.clone();
        let (asked, cancel) = (shutdown.clone(), context.cancel.clone());
        let warn = context.warn;
        let markers = context.host.site.layout.markers(&context.run);
        let logs = RunLogs::new(
            context.store.clone(),
            context.run.clone(),
            markers,
            context.audit_log.clone(),
        );
        let logs = logs.follow(handle.state.clone());
        let subscribers = callbacks.subscribe(&context, &handle.state);
        let board = Board::new(context.approver.is_some());
        let dispatcher = Dispatcher {
            context,
            shutdown: shutdown.clone(),
            board,
            jobs: JoinSet::new(),
            names: BTreeMap::new(),
            agents: BTreeMap::new(),
            staying,
            out_of_time: false,
            no_room: None,
        };
        // The logs end once the journal is closed, which the dispatcher holds.
        let ended = tokio::task::spawn(async move {
            let (served, unwritten) =
                tokio::join!(asked.guard(&cancel, dispatcher.serve(requests)), logs);
            if let Some(why) = unwritten {
                warn(&why);
            }
            subscribers.finish().await;
            served
        });
        Ok(Self {
            handle,
            live,
            running,
            shutdown,
            closing: Closing { stay },
            answers,
            ended,
        })
    }

    /// Returns the run's id.
    pub fn id(&self) -> &RunId {
        &self.handle.id
    }

    /// Returns a receiver of the run's durable state.
    pub fn watch(&self) -> watch::Receiver<Arc<RunState>> {
        self.handle.state.clone()
    }

    /// Returns a receiver of what is not recorded, from now on.
    pub fn live(&self) -> broadcast::Receiver<Live<LiveItem>> {
        self.live.follow()
    }

    /// Returns the sender of these.
    pub(crate) fn live_items(&self) -> LiveItems {
        self.live.clone()
    }

    /// Returns what lists the checks, setups and commands of the plan that run at a moment.
    pub fn running_checks(&self) -> RunningChecks {
        self.running.clone()
    }

    /// Returns the store with the run's events and blobs.
    pub fn store(&self) -> &Store {
        &self.handle.store
    }

    /// Raises the level of shutdown; a lower level changes nothing.
    pub fn raise(&self, level: ShutdownLevel) {
        self.shutdown.ask(level, EXIT_INTERRUPTED);
    }

    /// Returns the level of shutdown, so that other tasks can raise it.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Returns what lets the run end although it stays open for people or for children.
    pub fn closing(&self) -> Closing {
        self.closing.clone()
    }

    /// Returns the answers to the requests that were recorded while no process worked on the run,
    /// and that were carried out before anything else.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// Returns a handle that does not keep the run open.
    pub(crate) fn handle(&self) -> &RunHandle {
        &self.handle
    }

    /// Waits until nothing more can be done; the run is then released, and any process can take it
    /// over.
    ///
    /// # Errors
    ///
    /// Fails if the coordinator could not continue, or if the base does not pass the run's check
    /// ([`CoordinatorError::RedBase`]); the run can be resumed then.
    pub async fn wait(self) -> Result<Report, CoordinatorError> {
        match self.ended.await {
            Ok(ended) => ended?,
            Err(_) => {
                return Err(CoordinatorError::Panicked {
                    what: "the dispatcher",
                });
            }
        }
        if let Some(refusal) = self.handle.refusal()? {
            return Err(refusal);
        }
        Ok(Standing {
            state: Arc::clone(&self.handle.state.borrow()),
            is_live: false,
        }
        .report())
    }
}

/// The kind of a finished job.
#[derive(Clone)]
enum Job {
    Worker(TaskId),
    /// Failing or cancelling a task, which counts as active until then.
    Failure(TaskId),
    Merge,
    Base,
    Due,
    Request,
    Approver(CallHash),
    Release(TaskId),
}

/// The loop of one run.
struct Dispatcher {
    context: Arc<RunContext>,
    shutdown: Shutdown,
    board: Board,
    jobs: JoinSet<Result<(), CoordinatorError>>,
    /// The kind of each job, since a panicked job cannot report it.
    names: BTreeMap<Id, Job>,
    /// The level of shutdown of each worker.
    agents: BTreeMap<TaskId, Shutdown>,
    staying: watch::Receiver<Stay>,
    /// Whether the run is being stopped because its time is used up.
    out_of_time: bool,
    /// Why agents wait for room on the disk, since the first of them.
    no_room: Option<CoordinatorError>,
}

impl Dispatcher {
    /// Works on the run until it ends; on an error, stops all jobs before ending the run, and drops
    /// none.
    async fn serve(mut self, requests: mpsc::Receiver<Received>) -> Result<(), CoordinatorError> {
        let served = self.work(requests).await;
        if let Err(error) = &served {
            // For those who follow the run; nobody else sets it.
            let _ = self.context.stopped_by.set(error.to_string());
            self.shutdown.raise(ShutdownLevel::Stop);
        }
        // Every job holds the run. Only the first error is reported; those of jobs that it
        // interrupted add nothing.
        while self.jobs.join_next().await.is_some() {}
        served
    }

    async fn work(
        &mut self,
        mut requests: mpsc::Receiver<Received>,
    ) -> Result<(), CoordinatorError> {
        let mut state = self.context.journal.watch();
        let mut level = ShutdownLevel::None;
        let deadline = self.deadline();
        tokio::pin!(deadline);
        let mut expiry = Box::pin(until_due::next_expiry(self.context.journal.watch()));
        let mut abandoned = false;
        let mut input = Input::Changed;
        loop {
            self.board.stay = match abandoned {
                true => Stay::Never,
                false => *self.staying.borrow(),
            };
            let now = Arc::clone(&state.borrow_and_update());
            let effects = self.board.handle(input, &now, self.shutdown.level());
            for effect in effects {
                if self.perform(effect).await? {
                    return Ok(());
                }
            }
            let shutdown = self.shutdown.clone();
            let next = level.next();
            input = tokio::select! {
                changed = state.changed() => {
                    if changed.is_err() {
                        return Err(CoordinatorError::Ended(self.context.run.clone()));
                    }
                    Input::Changed
                }
                Some(ended) = self.jobs.join_next_with_id() => self.ended(ended)?,
                // Sequentially, so that requests are answered in the order in which they were sent.
                Some(command) = requests.recv(), if !self.carries_out() => {
                    self.command(command).await?;
                    Input::Changed
                }
                () = shutdown.reached(next), if next > level => {
                    level = shutdown.level();
                    Input::Changed
                }
                () = &mut deadline, if self.shutdown.level() == ShutdownLevel::None => {
                    self.out_of_time = true;
                    self.shutdown.raise(ShutdownLevel::Stop);
                    Input::Changed
                }
                expired = &mut expiry, if self.shutdown.level() < ShutdownLevel::Drain => {
                    self.expire(expired).await?;
                    expiry = Box::pin(until_due::next_expiry(self.context.journal.watch()));
                    Input::Changed
                }
                changed = self.staying.changed(), if !abandoned => {
                    // Without a handle no more children can be spawned, so the run may end.
                    abandoned = changed.is_err();
                    Input::Changed
                }
            };
        }
    }

    /// Resolves when the run's time is used up. It stands still while all agents wait for models
    /// that do not answer.
    fn deadline(&self) -> impl Future<Output = ()> + use<> {
        let left = |state: &RunState| state.time_left().filter(|_| !state.stands_still());
        until_due::reached(self.context.journal.watch(), left)
    }

    /// Records that a deadline has passed, unless the wait is over or the message delivered.
    async fn expire(&self, expiry: Expiry) -> Result<(), CoordinatorError> {
        self.context
            .decide(move |state| Batch::from(state.decide_expiry(&expiry)))
            .await
    }

    /// Carries out an effect; returns whether the run is over.
    async fn perform(&mut self, effect: Effect) -> Result<bool, CoordinatorError> {
        let context = Arc::clone(&self.context);
        match effect {
            Effect::RecordDue => {
                self.spawn(
                    Job::Due,
                    async move { record_due(&context).await.map(drop) },
                )
            }
            Effect::StartWorker(task) => {
                let own = self.shutdown.of_agent();
                self.agents.insert(task.clone(), own.clone());
                self.spawn(Job::Worker(task.clone()), spawn::start(context, task, own));
            }
            Effect::StopWorker(task) => {
                if let Some(own) = self.agents.get(&task) {
                    own.raise(ShutdownLevel::Stop);
                }
            }
            Effect::CallOff(task) => {
                let stopped = task.clone();
                self.spawn(Job::Failure(task), async move {
                    task_end::call_off(&context, stopped).await
                });
            }
            Effect::VerifyBase(command) => {
                let shutdown = self.shutdown.clone();
                self.spawn(Job::Base, async move {
                    base::verify(&context, command, &shutdown).await
                });
            }
            Effect::StartMerge(step) => {
                let shutdown = self.shutdown.clone();
                self.spawn(Job::Merge, async move {
                    step::carry_out(&context, step, &shutdown).await
                });
            }
            Effect::GiveUp(task) => {
                self.fail(
                    task,
                    FailureCause::Internal,
                    "its workers keep ending without progress",
                );
            }
            Effect::AskApprover(call) => {
                if let Some(approver) = context.approver.clone() {
                    let shutdown = self.shutdown.clone();
                    self.spawn(
                        Job::Approver(call.clone()),
                        call_approver::ask(context, approver, call, shutdown),
                    );
                }
            }
            Effect::ReleaseWorktree(task) => {
                let released = task.clone();
                self.spawn(Job::Release(task), async move {
                    release::release(&context, released).await
                });
            }
            Effect::EndWithoutRoom => {
                let ended = CoordinatorError::Ended(self.context.run.clone());
                return Err(self.no_room.take().unwrap_or(ended));
            }
            Effect::Finish(status, exit_code) => return self.finish(status, exit_code).await,
        }
        Ok(false)
    }

    fn spawn(
        &mut self,
        job: Job,
        work: impl Future<Output = Result<(), CoordinatorError>> + Send + 'static,
    ) {
        let handle = self.jobs.spawn(work);
        self.names.insert(handle.id(), job);
    }

    /// Fails a task in a job of its own, since storing its worktree first takes time.
    fn fail(&mut self, task: TaskId, cause: FailureCause, why: &str) {
        let (context, failed) = (Arc::clone(&self.context), task.clone());
        let failure = Failure {
            cause,
            message: why.to_owned(),
            report: None,
        };
        self.spawn(Job::Failure(task), async move {
            task_end::fail(&context, &failed, failure).await
        });
    }

    /// Handles the end of a job; an error that is not a task's own ends the run, which can be
    /// resumed. An error that only says that the run is being killed is ignored: the run is ending
    /// already, and the job's events stay unchanged.
    fn ended(
        &mut self,
        ended: Result<(Id, Result<(), CoordinatorError>), JoinError>,
    ) -> Result<Input, CoordinatorError> {
        let (id, outcome) = match ended {
            Ok((id, Err(error))) if error.is_kill() => (id, Ok(())),
            Ok((id, outcome)) => (id, outcome),
            Err(error) => (
                error.id(),
                Err(CoordinatorError::Panicked { what: "a worker" }),
            ),
        };
        let job = self.names.remove(&id);
        let panicked = matches!(outcome, Err(CoordinatorError::Panicked { .. }));
        match job {
            Some(Job::Worker(task)) => {
                self.agents.remove(&task);
                if panicked {
                    self.fail(
                        task,
                        FailureCause::Panicked,
                        "the worker panicked; its worktree is kept",
                    );
                    return Ok(Input::Changed);
                }
                match outcome {
                    Err(error @ CoordinatorError::NoRoom { .. }) => {
                        Ok(self.waits_for_room(task, error))
                    }
                    outcome => outcome.map(|()| Input::WorkerEnded(task)),
                }
            }
            Some(Job::Failure(task)) => outcome.map(|()| Input::WorkerEnded(task)),
            Some(Job::Approver(call)) => {
                if let (true, Some(approver)) = (panicked, &self.context.approver) {
                    call_approver::left_to_person(
                        &self.context,
                        approver.name(),
                        &call,
                        "panicked",
                    );
                    return Ok(Input::ApproverAsked(call));
                }
                outcome.map(|()| Input::ApproverAsked(call))
            }
            Some(Job::Merge) => outcome.map(|()| Input::MergeEnded),
            Some(Job::Base) => outcome.map(|()| Input::BaseVerified),
            Some(Job::Release(task)) => outcome.map(|()| Input::WorktreeReleased(task)),
            Some(Job::Due) => outcome.map(|()| Input::DueRecorded),
            Some(Job::Request) | None => outcome.map(|()| Input::Changed),
        }
    }

    /// Lets a task wait until the disk has room for its worktree, and tells the user once.
    fn waits_for_room(&mut self, task: TaskId, error: CoordinatorError) -> Input {
        if self.no_room.is_none() {
            (self.context.warn)(&format!(
                "failed to {error}; it waits until the worktree of other work is gone"
            ));
        }
        self.no_room = Some(error);
        Input::NoRoom(task)
    }

    /// Reports whether a request is being carried out.
    fn carries_out(&self) -> bool {
        self.names.values().any(|job| matches!(job, Job::Request))
    }

    async fn command(&mut self, received: Received) -> Result<(), CoordinatorError> {
        if let Request::Stop {
            holder: Some(holder),
            ..
        }
        | Request::StopAgent {
            holder: Some(holder),
            ..
        } = &received.request
            && self.holder().await?.as_ref() != Some(holder)
        {
            // Its addressee has ended, and the process that took over the run was not asked to
            // stop.
            let late = Err(RequestRefused::Late);
            return Ok(self.context.journal.answer(received.id, late).await?);
        }
        if let Request::Stop { level, .. } = &received.request {
            self.shutdown.ask(shutdown_level(*level), EXIT_INTERRUPTED);
        }
        let context = Arc::clone(&self.context);
        self.spawn(Job::Request, async move {
            requests::carry_out(&context, received).await
        });
        Ok(())
    }

    /// Returns the process that holds the run's lease.
    async fn holder(&self) -> Result<Option<Holder>, CoordinatorError> {
        let run = self.context.run.clone();
        self.context.read(move |store| store.lease(&run)).await
    }

    /// Records the end of the run; returns whether the run is over, which it is not while a request
    /// is unanswered.
    ///
    /// The decision may be based on an old state, so it is made again inside the sequencer.
    async fn finish(&mut self, status: RunStatus, exit_code: u8) -> Result<bool, CoordinatorError> {
        let (board, level, out_of_time) =
            (self.board.clone(), self.shutdown.level(), self.out_of_time);
        let asked = self.shutdown.asked_exit_code();
        let ended = self.context.journal.append_last_if(move |state| {
            if out_of_time && !(left(state).is_empty() && state.due_facts().is_empty()) {
                return Err(NotOver::OutOfTime);
            }
            if !board.still_ends((status, exit_code), state, level) {
                return Err(NotOver::Changed);
            }
            let (status, exit_code) = outcome_if_stopped((status, exit_code), asked);
            Ok(Batch::from(Event::RunFinished { status, exit_code }))
        });
        match ended.await {
            Ok(Appended::Recorded(_)) => return Ok(true),
            Ok(Appended::Refused(NotOver::OutOfTime)) => {
                self.board.reopen_until_recorded();
                let shutdown = self.shutdown.clone();
                self.spawn(
                    Job::Due,
                    fail_what_is_left(Arc::clone(&self.context), shutdown),
                );
            }
            // A request may reopen a task; if it stayed unanswered, the next owner of the run would
            // carry it out.
            Ok(Appended::Refused(NotOver::Changed)) | Err(JournalError::RequestOpen { .. }) => {
                self.board.reopen()
            }
            Err(error) => return Err(error.into()),
        }
        Ok(false)
    }
}

/// Why a run has not ended after all.
enum NotOver {
    /// Its state has changed since.
    Changed,
    /// Its time is used up, but the tasks that this stops have not failed yet.
    OutOfTime,
}

fn shutdown_level(asked: StopLevel) -> ShutdownLevel {
    match asked {
        StopLevel::Drain => ShutdownLevel::Drain,
        StopLevel::Stop => ShutdownLevel::Stop,
        StopLevel::Kill => ShutdownLevel::Kill,
    }
}

/// Records the due events of the newest state, which a request may change meanwhile; returns
/// whether there were any.
async fn record_due(context: &RunContext) -> Result<bool, CoordinatorError> {
    let recorded = context.journal.append_if(due).await?.never_refused();
    Ok(!recorded.is_empty())
}

fn due(state: &RunState) -> Result<Batch, Infallible> {
    Ok(state.due_facts().into())
}

/// Fails the tasks that could continue if there were time, after their agents have reported; those
/// that wait for the user keep waiting.
async fn fail_what_is_left(
    context: Arc<RunContext>,
    shutdown: Shutdown,
) -> Result<(), CoordinatorError> {
    // The run is being stopped already, which does not concern the reports.
    let (own, kill) = (Shutdown::of_run(), shutdown.reached(ShutdownLevel::Kill));
    let failed = report_and_fail(&context, &own);
    tokio::pin!(failed);
    tokio::select! {
        failed = &mut failed => return failed,
        () = kill => own.raise(ShutdownLevel::Kill),
    }
    failed.await
}

/// Lets agents report and fails their tasks, until none is left: an agent that waits for others
/// goes on once these have failed, so it is among those that are left only then.
async fn report_and_fail(
    context: &Arc<RunContext>,
    shutdown: &Shutdown,
) -> Result<(), CoordinatorError> {
    loop {
        let had_due = record_due(context).await?;
        report_what_is_left(context, shutdown).await?;
        let state = context.state();
        let left = left(&state);
        for task in &left {
            task_end::time_out(context, task, state.out_of_time().to_string()).await?;
        }
        if left.is_empty() && !had_due {
            return Ok(());
        }
    }
}

/// Lets the agents that could continue if there were time make their last reports, all at once.
async fn report_what_is_left(
    context: &Arc<RunContext>,
    shutdown: &Shutdown,
) -> Result<(), CoordinatorError> {
    let (state, mut reports) = (context.state(), JoinSet::new());
    for task in left(&state) {
        let why = state.out_of_time().to_string();
        reports.spawn(spawn::report_out_of_time(
            Arc::clone(context),
            task,
            why,
            shutdown.of_agent(),
        ));
    }
    while let Some(reported) = reports.join_next().await {
        match reported {
            Ok(Err(error)) if error.own_failure().is_none() => return Err(error),
            // Without its agent's report, the task fails with what the facts say.
            Ok(Err(error)) => tracing::warn!(%error, "an agent could not make its last report"),
            Err(error) => tracing::warn!(%error, "an agent's last report panicked"),
            Ok(Ok(())) => {}
        }
    }
    Ok(())
}

/// Returns the tasks that could continue without the user if there were time.
fn left(state: &RunState) -> Vec<TaskId> {
    state
        .tasks()
        .filter(|record| state.can_go_on(record))
        .map(|record| record.task.id.clone())
        .collect()
}
