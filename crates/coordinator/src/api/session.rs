//! Sessions: runs that a program opens by a name, which finds the run again after a crash. A child
//! of the same id and specification is then the one that exists.
//!
//! A session does not keep its run open: [`Coordinator::finish`] ends the run, and what was
//! recorded can be read for as long as there is a handle to it.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;

use orchestrate_checks::blocking;
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::projections::report::Standing;
use orchestrate_core::run::board::Stay;
use orchestrate_core::run::request::{Request, RequestRefused};
use orchestrate_core::{AgentId, Report, RunId, RunSettings, RunState};
use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;
use tokio::sync::watch;

use crate::api::children::ChildHandle;
use crate::api::coordinator::{Coordinator, PlanInput};
use crate::api::run_events::RunEvents;
use crate::error::CoordinatorError;
use crate::ruling::Ruling;
use crate::run::handle::RunHandle;
use crate::run::program::live::LiveItems;

/// The run of a session, as far as this process knows it.
#[derive(Clone)]
pub struct Session {
    run: RunHandle,
    live: LiveItems,
    /// The children of earlier processes; `None` if this one has begun the run.
    earlier: Option<Arc<BTreeSet<AgentId>>>,
}

/// A run that can be continued.
struct EarlierRun {
    id: RunId,
    children: BTreeSet<AgentId>,
}

impl Coordinator {
    /// Opens the run of a session: the newest one of this name that has not landed, whose work is
    /// not finished, and whose base was not found to be red; or else a new one.
    /// [`Coordinator::spawn`] then adds children to it.
    ///
    /// # Errors
    ///
    /// Fails if a run is open already, if another process works on the session's run, or if it
    /// cannot start or continue.
    pub async fn open_session(&self, name: &str) -> Result<Session, CoordinatorError> {
        let plan = PlanInput {
            title: Some(name.to_owned()),
            ..PlanInput::default()
        };
        let settings = RunSettings {
            merge: MergeMode::Review,
            ..self.settings().run.clone()
        };
        self.open_plan_session(name, plan, settings).await
    }

    /// Opens the run of a session as [`Coordinator::open_session`] does, of which a new run begins
    /// with the tasks of a plan, and merges them as the settings say.
    ///
    /// # Errors
    ///
    /// See [`Coordinator::open_session`]; also fails if the plan cannot be run.
    pub async fn open_session_of_plan(
        &self,
        name: &str,
        plan: PlanInput,
    ) -> Result<Session, CoordinatorError> {
        let settings = self.settings().run.clone();
        self.open_plan_session(name, plan, settings).await
    }

    async fn open_plan_session(
        &self,
        name: &str,
        plan: PlanInput,
        settings: RunSettings,
    ) -> Result<Session, CoordinatorError> {
        let mut open = self.children.lock().await;
        if let Some(run) = &*open {
            return Err(CoordinatorError::SessionOpen(run.id().clone()));
        }
        // Two processes that begin a session of one name at once begin one run.
        let _lock = self.lock_sessions().await?;
        let earlier = self.run_of_session(name, plan.title.as_deref())?;
        let run = match &earlier {
            Some(earlier) => self.reopen(&earlier.id).await?,
            None => {
                let settings = RunSettings {
                    session: Some(name.to_owned()),
                    ..settings
                };
                self.begin(plan, settings, Stay::UntilClosed).await?
            }
        };
        let session = Session {
            run: run.handle().clone(),
            live: run.live_items(),
            earlier: earlier.map(|run| Arc::new(run.children)),
        };
        *open = Some(run);
        Ok(session)
    }

    /// Waits until no other process opens a session in the repository; the lock ends with the file.
    async fn lock_sessions(&self) -> Result<File, CoordinatorError> {
        let path = self.layout().journal();
        blocking("wait for another process that opens a session", move || {
            let locked = File::open(&path).and_then(|folder| {
                retry_on_intr(|| flock(&folder, FlockOperation::LockExclusive))?;
                Ok(folder)
            });
            locked.map_err(CoordinatorError::at(path))
        })
        .await
    }

    /// Returns the newest run of a session that can be continued.
    fn run_of_session(
        &self,
        name: &str,
        title: Option<&str>,
    ) -> Result<Option<EarlierRun>, CoordinatorError> {
        let mut runs = self.store().runs()?;
        runs.sort_by_key(|run| std::cmp::Reverse(run.started_ms));
        // The title says which states are worth reading.
        for run in runs.iter().filter(|run| run.title.as_deref() == title) {
            let state = self.store().state(&run.run_id)?;
            if state.settings.session.as_deref() != Some(name) {
                continue;
            }
            // On a base that is red no child has started, and none ever will.
            if state.is_settled() || state.red_base().is_some() {
                return Ok(None);
            }
            if !self.repo().has_object(&state.base)? {
                return Err(CoordinatorError::OtherRepository {
                    run: run.run_id.clone(),
                    base: state.base,
                });
            }
            if let Some(setting) = kept_setting(&state.settings, &self.settings().run) {
                return Err(CoordinatorError::OtherSettings {
                    run: run.run_id.clone(),
                    setting,
                });
            }
            return Ok(Some(EarlierRun {
                id: run.run_id.clone(),
                children: state.tasks().map(|record| record.task.id.clone()).collect(),
            }));
        }
        Ok(None)
    }
}

impl Session {
    /// Returns the run's id.
    pub fn run_id(&self) -> &RunId {
        &self.run.id
    }

    /// Reports whether an earlier process, which has ended, began the run.
    pub fn is_attached(&self) -> bool {
        self.earlier.is_some()
    }

    /// Reports whether a child is of an earlier process.
    pub fn is_earlier(&self, child: &AgentId) -> bool {
        let earlier = self.earlier.as_deref();
        earlier.is_some_and(|children| children.contains(child))
    }

    /// Returns the newest state; the last one if the run has ended in this process.
    pub fn state(&self) -> Arc<RunState> {
        Arc::clone(&self.run.state.borrow())
    }

    /// Returns a receiver of the durable state.
    pub fn watch(&self) -> watch::Receiver<Arc<RunState>> {
        self.run.state.clone()
    }

    /// Returns what all children have done so far.
    pub fn report(&self) -> Report {
        let standing = Standing {
            state: self.state(),
            is_live: self.run.context().is_ok(),
        };
        standing.report()
    }

    /// Returns handles to all children.
    pub fn children(&self) -> Vec<ChildHandle> {
        let state = self.state();
        let ids = state.tasks().map(|record| record.task.id.clone());
        ids.map(|id| self.handle(id)).collect()
    }

    /// Returns a handle to a child; `None` if there is none of this id.
    pub fn child(&self, id: &AgentId) -> Option<ChildHandle> {
        let is_known = self.state().task(id).is_some();
        is_known.then(|| self.handle(id.clone()))
    }

    fn handle(&self, id: AgentId) -> ChildHandle {
        ChildHandle {
            id,
            run: self.run.clone(),
        }
    }

    /// Follows the run from after an event (0 for its beginning): every event after that, once and
    /// in order, and what is not recorded.
    ///
    /// # Errors
    ///
    /// Fails if it has no such event.
    pub fn follow(&self, seen: u64) -> Result<RunEvents, CoordinatorError> {
        RunEvents::new(self.run.clone(), self.live.follow(), seen)
    }

    /// Asks the run for something, as a person would from another process, and returns what has
    /// happened.
    ///
    /// # Errors
    ///
    /// Fails if the run has ended, or if the request cannot be sent.
    pub async fn ask(
        &self,
        request: &Request,
    ) -> Result<Ruling<String, RequestRefused>, CoordinatorError> {
        self.run.ask(request).await
    }
}

/// Returns which setting of a program is another one than its run has, of those that limit what
/// agents do: a run keeps its own, so a new one would be without effect.
fn kept_setting(of_run: &RunSettings, of_program: &RunSettings) -> Option<&'static str> {
    let are_same = [
        ("list of rules", of_run.rules == of_program.rules),
        ("check (verify)", of_run.verify == of_program.verify),
        (
            "budget",
            of_run.budget_tokens == of_program.budget_tokens
                && of_run.budget_micro_usd == of_program.budget_micro_usd,
        ),
    ];
    are_same
        .into_iter()
        .find(|(_, is_same)| !is_same)
        .map(|(setting, _)| setting)
}
