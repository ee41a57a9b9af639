//! One run in this process: the dispatcher's loop, and the handle to it.
//!
//! The loop waits for a change of the world, turns it into an [`Input`], asks the [`Board`], and carries the effects
//! out in tasks of their own; it never waits for any of them. A panic in a worker fails its task and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::event::{Event, FailureCause};
use orchestrate_core::{Report, RunId, RunState, TaskId};
use orchestrate_journal::{Command, Received, StopLevel, Store};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};

use crate::dispatcher::{Board, Effect, Input};
use crate::error::CoordinatorError;
use crate::run_context::RunContext;
use crate::shutdown::{Shutdown, ShutdownLevel};
use crate::{commands, merging, worker, worktrees};

/// A run that this process works on.
pub struct Run {
    context: Arc<RunContext>,
    shutdown: Shutdown,
    closing: watch::Sender<bool>,
    ended: tokio::task::JoinHandle<Result<(), CoordinatorError>>,
}

impl Run {
    /// Begins to work on a run whose journal is open.
    pub(crate) fn start(context: Arc<RunContext>, open_ended: bool) -> Result<Self, CoordinatorError> {
        let shutdown = Shutdown::of_run();
        let commands = context.journal.commands()?;
        let (closing, closed) = watch::channel(!open_ended);
        let dispatcher = Dispatcher {
            context: Arc::clone(&context),
            shutdown: shutdown.clone(),
            board: Board::default(),
            jobs: JoinSet::new(),
            names: BTreeMap::new(),
            agents: BTreeMap::new(),
            closed,
        };
        let ended = tokio::task::spawn(dispatcher.serve(commands));
        Ok(Self { context, shutdown, closing, ended })
    }

    /// Gives the run's id.
    pub fn id(&self) -> &RunId {
        &self.context.run
    }

    /// Follows the run's durable state.
    pub fn watch(&self) -> watch::Receiver<Arc<RunState>> {
        self.context.journal.watch()
    }

    /// Gives the store that holds the run's facts and blobs.
    pub fn store(&self) -> &Store {
        &self.context.store
    }

    /// Asks the run to end; a lower level than before changes nothing.
    pub fn raise(&self, level: ShutdownLevel) {
        self.shutdown.raise(level);
    }

    /// Gives the level, for others to raise.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Lets a run that was opened for spawning end once nothing is left to do.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    pub(crate) fn context(&self) -> &Arc<RunContext> {
        &self.context
    }

    /// Waits until nothing more can be done.
    ///
    /// # Errors
    ///
    /// Fails if the coordinator could not go on; the run can be resumed then.
    pub async fn wait(self) -> Result<Report, CoordinatorError> {
        match self.ended.await {
            Ok(ended) => ended?,
            Err(_) => return Err(CoordinatorError::Panicked { what: "the dispatcher" }),
        }
        Ok(Report::of(&self.context.state()))
    }
}

/// What a finished job was.
#[derive(Clone)]
enum Job {
    Worker(TaskId),
    Merge,
    Due,
    Command,
}

/// The loop of one run.
struct Dispatcher {
    context: Arc<RunContext>,
    shutdown: Shutdown,
    board: Board,
    jobs: JoinSet<Result<(), CoordinatorError>>,
    /// What each job is, since a job that panicked cannot say.
    names: BTreeMap<Id, Job>,
    /// Each worker's own level.
    agents: BTreeMap<TaskId, Shutdown>,
    closed: watch::Receiver<bool>,
}

impl Dispatcher {
    async fn serve(mut self, mut commands: mpsc::Receiver<Received>) -> Result<(), CoordinatorError> {
        let mut state = self.context.journal.watch();
        let mut level = ShutdownLevel::None;
        let deadline = self.deadline();
        tokio::pin!(deadline);
        let mut abandoned = false;
        let mut input = Input::Changed;
        loop {
            self.board.open_ended = !abandoned && !*self.closed.borrow();
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
                    if changed.is_err() { return Err(CoordinatorError::Ended(self.context.run.clone())) }
                    Input::Changed
                }
                Some(ended) = self.jobs.join_next_with_id() => self.ended(ended).await?,
                Some(command) = commands.recv() => { self.command(command); Input::Changed }
                () = shutdown.reached(next), if next > level => { level = shutdown.level(); Input::Changed }
                () = &mut deadline, if self.shutdown.level() == ShutdownLevel::None => {
                    self.out_of_time().await?;
                    Input::Changed
                }
                changed = self.closed.changed(), if !abandoned => {
                    // Without a handle nobody can spawn any more, so the run may end.
                    abandoned = changed.is_err();
                    Input::Changed
                }
            };
        }
    }

    /// Ends when the run's time is used up.
    fn deadline(&self) -> impl Future<Output = ()> + use<> {
        let limit = self.context.state().settings.timeout_ms.map(Duration::from_millis);
        async move {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Carries an effect out; tells whether the run is over.
    async fn perform(&mut self, effect: Effect) -> Result<bool, CoordinatorError> {
        let context = Arc::clone(&self.context);
        match effect {
            Effect::RecordDue => self.spawn(Job::Due, async move {
                let due = |state: &RunState| Ok::<_, std::convert::Infallible>(state.due_facts().into());
                context.journal.append_if(due).await?.map(|_| ()).map_err(|never| match never {})
            }),
            Effect::StartWorker(task) => {
                let own = self.shutdown.of_agent();
                self.agents.insert(task.clone(), own.clone());
                self.spawn(Job::Worker(task.clone()), worker::work(context, task, own));
            }
            Effect::StartMerge(step) => {
                let shutdown = self.shutdown.clone();
                self.spawn(Job::Merge, async move { merging::carry_out(&context, step, &shutdown).await });
            }
            Effect::GiveUp(task) => {
                let text = "its worker ended twice without having done anything".to_owned();
                worktrees::fail(&context, &task, FailureCause::Internal, text).await?;
            }
            Effect::Finish(status, exit_code) => {
                context.record(vec![Event::RunFinished { status, exit_code }]).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn spawn(&mut self, job: Job, work: impl Future<Output = Result<(), CoordinatorError>> + Send + 'static) {
        let handle = self.jobs.spawn(work);
        self.names.insert(handle.id(), job);
    }

    /// Takes in the end of a job; an error that is not a task's own ends the run, which can be resumed.
    async fn ended(
        &mut self,
        ended: Result<(Id, Result<(), CoordinatorError>), JoinError>,
    ) -> Result<Input, CoordinatorError> {
        let (id, outcome) = match ended {
            Ok((id, outcome)) => (id, outcome),
            Err(error) => (error.id(), Err(CoordinatorError::Panicked { what: "a worker" })),
        };
        let job = self.names.remove(&id);
        let panicked = matches!(outcome, Err(CoordinatorError::Panicked { .. }));
        match job {
            Some(Job::Worker(task)) => {
                self.agents.remove(&task);
                if panicked {
                    let text = "the worker panicked; its worktree is kept".to_owned();
                    worktrees::fail(&self.context, &task, FailureCause::Panicked, text).await?;
                } else {
                    outcome?;
                }
                Ok(Input::WorkerEnded(task))
            }
            Some(Job::Merge) => outcome.map(|()| Input::MergeEnded),
            Some(Job::Due) => outcome.map(|()| Input::DueRecorded),
            Some(Job::Command) | None => outcome.map(|()| Input::Changed),
        }
    }

    fn command(&mut self, received: Received) {
        if let Command::Stop { level, agent } = &received.command {
            let level = match level {
                StopLevel::Drain => ShutdownLevel::Drain,
                StopLevel::Stop => ShutdownLevel::Stop,
                StopLevel::Kill => ShutdownLevel::Kill,
            };
            match agent {
                None => self.shutdown.raise(level),
                Some(agent) => {
                    if let Some(own) = self.agents.get(agent) {
                        own.raise(level);
                    }
                }
            }
        }
        let context = Arc::clone(&self.context);
        self.spawn(Job::Command, async move { commands::carry_out(&context, received).await });
    }

    /// Fails what is not done yet, then stops.
    async fn out_of_time(&mut self) -> Result<(), CoordinatorError> {
        self.shutdown.raise(ShutdownLevel::Stop);
        while let Some(ended) = self.jobs.join_next_with_id().await {
            let input = self.ended(ended).await?;
            let state = self.context.state();
            self.board.handle(input, &state, ShutdownLevel::Stop);
        }
        let state = self.context.state();
        for record in state.tasks().filter(|record| !record.state.is_settled()) {
            let text = "the time of the run is used up".to_owned();
            worktrees::fail(&self.context, &record.task.id, FailureCause::Timeout, text).await?;
        }
        Ok(())
    }
}
