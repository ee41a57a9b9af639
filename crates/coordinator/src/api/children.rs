//! Spawning children from a program: each is a task of one open run, merged on the program's
//! request.
//!
//! The run is opened with the first child, or by the name of a session. Verified children wait for
//! an approval, which [`Coordinator::merge`] gives; so merging takes the same path as everywhere,
//! the run's check included. Handles to children do not keep the run open, and waiting for a child
//! ends with the run.

use std::collections::VecDeque;
use std::sync::Arc;

use orchestrate_core::event::Recorded;
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::messages::{Body, Envelope, Origin, Outgoing, SpawnRefused};
use orchestrate_core::projections::HandBacks;
use orchestrate_core::projections::aggregated::AggregatedResults;
use orchestrate_core::projections::report::TaskReport;
use orchestrate_core::run::board::Stay;
use orchestrate_core::run::request::{Decision, Request, RequestRefused};
use orchestrate_core::task::{Work, answer};
use orchestrate_core::{AgentId, Report, RunSettings, RunState, Task, TaskId, TaskRecord};
use orchestrate_journal::{Appended, Batch, Blob};
use serde::Serialize;
use serde_json::Value;

use crate::api::coordinator::{Coordinator, PlanInput};
use crate::error::CoordinatorError;
use crate::ruling::Ruling;
use crate::run::codec::value_bytes;
use crate::run::handle::RunHandle;
use crate::run::machine::secrets::require_none_in;
use crate::run::new_child::{self, NewChild};
use crate::worktree::aggregate::aggregate;

/// How many events are read from the journal at once.
const EVENTS_AT_ONCE: usize = 256;

/// A child to be spawned.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ChildSpec {
    /// Its id; `None` means one that is made of the words of its task.
    pub id: Option<TaskId>,
    /// Its assignment, in one line.
    pub task: String,
    /// Further instructions.
    pub details: Vec<String>,
    /// What it is given beside its task, as material: text, or JSON.
    pub context: Option<String>,
    /// The tools that it is to have, of those that its role and its parent have; `None` means all
    /// of them.
    pub tools: Option<Vec<String>>,
    /// Its role; `None` means the run's default role, and that the child may answer without
    /// changing a file.
    pub role: Option<String>,
    /// `provider/model`; `None` means the run's model.
    pub model: Option<String>,
    /// Shell command that must exit 0 in its worktree.
    pub verify: Option<String>,
    /// Its token budget.
    pub tokens: Option<u64>,
    /// Its maximum number of turns.
    pub turns: Option<u32>,
    /// The JSON Schema of the answer that it has to end with; `None` for words of its own.
    pub answers: Option<Value>,
    /// The agent that is its parent. The child begins with what that has committed, and may do no
    /// more than it.
    pub parent: Option<AgentId>,
}

impl ChildSpec {
    /// Creates a child's specification from its assignment.
    pub fn new(task: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            ..Self::default()
        }
    }
}

/// A spawned child.
#[derive(Clone)]
pub struct ChildHandle {
    /// Its id, which is also its task's id and names its branch.
    pub id: AgentId,
    pub(super) run: RunHandle,
}

impl Coordinator {
    /// Spawns a child, in the run that the first child opens and [`Coordinator::finish`] ends.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot start or has ended ([`Coordinator::finish`] returns the reason); if
    /// the id is taken or invalid, the role or parent does not exist, or the parent may have no
    /// more children, or none with these tools.
    pub async fn spawn(&self, spec: ChildSpec) -> Result<ChildHandle, CoordinatorError> {
        let mut open = self.children.lock().await;
        let run = match &mut *open {
            Some(run) => run,
            none => {
                let settings = RunSettings {
                    merge: MergeMode::Review,
                    ..self.settings().run.clone()
                };
                none.insert(
                    self.begin(PlanInput::default(), settings, Stay::UntilClosed)
                        .await?,
                )
            }
        };
        let run = run.handle().clone();
        let context = run.context()?;
        let asked = Blob::new(value_bytes(&spec, "child")?).id().clone();
        let task = task_of(&spec);
        let name = spec
            .id
            .as_ref()
            .map_or_else(|| spec.task.clone(), TaskId::to_string);
        let details = spec.details.iter().chain(&spec.context).cloned().collect();
        let id = spec.id.clone().unwrap_or_else(|| TaskId::from("child"));
        let written = Task {
            id,
            details,
            ..task.clone()
        };
        require_none_in(&self.redactor, "", &[written])?;
        let parents_work = |parent: &AgentId| {
            context
                .state()
                .task(parent)
                .and_then(|record| record.tip().cloned())
        };
        let base = spec.parent.as_ref().and_then(parents_work);
        let ChildSpec {
            id,
            parent,
            context: given,
            tools,
            ..
        } = spec;
        let new = NewChild {
            parent,
            call: None,
            asked: id.is_some().then_some(asked),
            id,
            task,
            base,
            context: given,
            tools,
        };
        match new_child::add(&context, new).await? {
            Ruling::Granted(child) => Ok(ChildHandle {
                id: child.agent_id,
                run,
            }),
            Ruling::Refused(SpawnRefused::RunEnded) => Err(run.ended()),
            Ruling::Refused(refused) => Err(CoordinatorError::Spawn {
                child: name,
                refused,
            }),
        }
    }

    /// Merges the children's work in the given order, each verified on the merged tree; waits until
    /// all are done.
    ///
    /// Waits for children that are at work; those that failed or wait for the user are left as they
    /// are. Work that is returned to its child, as often as the run's rounds allow, is approved
    /// again when it is done. Returns the outcome of each.
    ///
    /// # Errors
    ///
    /// Fails if the run has ended meanwhile; [`Coordinator::finish`] returns the reason.
    pub async fn merge(
        &self,
        children: &[ChildHandle],
    ) -> Result<Vec<TaskReport>, CoordinatorError> {
        let mut reports = Vec::with_capacity(children.len());
        for child in children {
            let mut report = child.wait().await?;
            while report.state.awaits_review() {
                child.approve().await?;
                report = child.wait().await?;
            }
            reports.push(report);
        }
        Ok(reports)
    }

    /// Returns what children hand back side by side, in the given order: their reports, changes and
    /// costs, the files that several of them change, and the conflicts of their branches with each
    /// other and with the run's result.
    ///
    /// # Errors
    ///
    /// Fails if the run has ended meanwhile ([`Coordinator::finish`] returns the reason), or if git
    /// fails.
    pub async fn aggregate(
        &self,
        children: &[ChildHandle],
    ) -> Result<AggregatedResults, CoordinatorError> {
        let Some(first) = children.first() else {
            return Ok(AggregatedResults::combine(Vec::new(), &[]));
        };
        let context = first.run.context()?;
        let ids: Vec<AgentId> = children.iter().map(|child| child.id.clone()).collect();
        let unknown = |_| CoordinatorError::UnknownTask {
            run: context.run.clone(),
            task: first.id.clone(),
        };
        let handed = HandBacks::for_agents(&context.state(), &ids, None).map_err(unknown)?;
        aggregate(&context.host, handed, Arc::new(|_| true)).await
    }

    /// Ends the children's run once nothing is left to do, and returns its report, or `None` if no
    /// child was spawned. Remaining [`ChildHandle`]s can still read events.
    ///
    /// # Errors
    ///
    /// Fails if the run could not continue.
    pub async fn finish(&self) -> Result<Option<Report>, CoordinatorError> {
        let Some(run) = self.children.lock().await.take() else {
            return Ok(None);
        };
        run.closing().close();
        run.wait().await.map(Some)
    }
}

impl ChildHandle {
    /// Sends the child a message and returns its number; the child reads it before its next
    /// request. It answers the question that the child waits with, if there is one.
    ///
    /// # Errors
    ///
    /// Fails if the child has ended, if its mailbox is full, or if the message is too long.
    pub async fn send(&self, body: impl Into<Body>) -> Result<u64, CoordinatorError> {
        self.send_message(Outgoing::new(self.id.clone(), body))
            .await
    }

    /// Returns the child's questions that wait for an answer, oldest first; while it waits for one,
    /// [`ChildHandle::wait`] returns.
    ///
    /// # Errors
    ///
    /// Fails if the run has ended.
    pub fn questions(&self) -> Result<Vec<Envelope>, CoordinatorError> {
        let state = self.run.context()?.state();
        let of_child = state
            .questions_to_user()
            .filter(|(agent, _)| **agent == self.id);
        Ok(of_child.map(|(_, question)| question.clone()).collect())
    }

    /// Answers a question of the child and returns the number of the answer.
    ///
    /// # Errors
    ///
    /// Fails if there is no such question, and like [`ChildHandle::send`].
    pub async fn answer(
        &self,
        question: &Envelope,
        body: impl Into<Body>,
    ) -> Result<u64, CoordinatorError> {
        let reply_to = Some(question.sequence);
        self.send_message(Outgoing {
            reply_to,
            ..Outgoing::new(self.id.clone(), body)
        })
        .await
    }

    async fn send_message(&self, message: Outgoing) -> Result<u64, CoordinatorError> {
        let sent = self.run.context()?.send(Origin::user(), message).await?;
        let receipt = sent.granted().map_err(|why| CoordinatorError::NotSent {
            to: self.id.clone(),
            why,
        })?;
        let sequence = receipt.and_then(|receipt| receipt.sent.first().map(|sent| sent.sequence));
        sequence.ok_or_else(|| self.run.ended())
    }

    /// Returns the child's events, from the first; they end with the run.
    pub fn events(&self) -> ChildEvents {
        ChildEvents {
            run: self.run.clone(),
            child: self.id.clone(),
            seen: 0,
            read: VecDeque::new(),
        }
    }

    /// Waits until the child's work is verified, and merged if its parent waits for it, or until
    /// the child has ended or waits for the user.
    ///
    /// # Errors
    ///
    /// Fails if the run has ended meanwhile; [`Coordinator::finish`] returns the reason.
    pub async fn wait(&self) -> Result<TaskReport, CoordinatorError> {
        let mut state = self.run.state.clone();
        let reached = state
            .wait_for(|state| {
                state
                    .task(&self.id)
                    .is_some_and(|record| rests(state, record))
            })
            .await;
        let reached = reached.map_err(|_| self.run.ended())?;
        let record = reached.task(&self.id).ok_or_else(|| self.run.ended())?;
        Ok(reached.task_report(record))
    }

    /// Asks the child to stop; its worktree and branch are kept.
    ///
    /// # Errors
    ///
    /// Fails if the run has ended.
    pub fn cancel(&self) -> Result<(), CoordinatorError> {
        let context = self.run.context()?;
        // If the run ends before the request is read, a later owner of the run must ignore it.
        let holder = context.store.lease(&context.run)?;
        let command = Request::StopAgent {
            agent: self.id.clone(),
            holder,
        };
        context.store.send(&context.run, &command)?;
        Ok(())
    }

    async fn approve(&self) -> Result<(), CoordinatorError> {
        let id = self.id.clone();
        let approve = move |state: &RunState| {
            let record = state
                .task(&id)
                .filter(|record| record.state().awaits_review());
            // It may have been returned or have ended meanwhile.
            let Some(tree) = record.and_then(|record| record.tree().cloned()) else {
                return Ok(Batch::default());
            };
            let accepted = state.decide(&Request::Approve {
                task: id.clone(),
                tree,
            })?;
            Ok::<_, RequestRefused>(match accepted.decision {
                Decision::Record(facts) => Batch::from(facts),
                _ => Batch::default(),
            })
        };
        match self.run.context()?.journal.append_if(approve).await? {
            Appended::Recorded(_) => Ok(()),
            Appended::Refused(why) => Err(CoordinatorError::NotApproved {
                task: self.id.clone(),
                why,
            }),
        }
    }
}

/// A child that has been answered is about to go on.
fn rests(state: &RunState, record: &TaskRecord) -> bool {
    record.rests() && !state.is_woken(&record.task.id) || state.is_at_rest(record)
}

fn task_of(spec: &ChildSpec) -> Task {
    let form = spec.answers.as_ref().map(answer::instruction);
    Task {
        title: spec.task.clone(),
        details: spec.details.iter().cloned().chain(form).collect(),
        work: Work::Agent(spec.role.clone()),
        verify: spec.verify.clone(),
        model: spec.model.clone(),
        // Without a role, nobody has said that it must change files.
        may_change_nothing: spec.role.is_none(),
        tokens: spec.tokens,
        turns: spec.turns,
        answers: spec.answers.clone(),
        ..Task::default()
    }
}

/// A child's events as they are recorded; they are read from the journal on demand, so a slow
/// reader delays nothing.
pub struct ChildEvents {
    run: RunHandle,
    child: AgentId,
    /// The newest event that was read.
    seen: u64,
    /// Events that were read but not yet returned.
    read: VecDeque<Recorded>,
}

impl ChildEvents {
    /// Returns the next event, or `None` once the run has ended, or if the journal cannot be read,
    /// which is logged.
    pub async fn recv(&mut self) -> Option<Recorded> {
        loop {
            if let Some(fact) = self.read.pop_front() {
                return Some(fact);
            }
            // Before reading: an event recorded afterwards is another change.
            self.run.state.mark_unchanged();
            self.read = match self.run.store.events_of_task(
                &self.run.id,
                &self.child,
                self.seen,
                EVENTS_AT_ONCE,
            ) {
                Ok(facts) => facts.into(),
                Err(error) => {
                    tracing::error!(child = %self.child, %error,
                        "could not read on in a child's facts");
                    return None;
                }
            };
            match self.read.back() {
                Some(newest) => self.seen = newest.seq,
                // The end of the run is reported after its last change.
                None => self.run.state.changed().await.ok()?,
            }
        }
    }
}
