//! Stopping agents: who may, which agents it concerns, and what is left to do about them.
//!
//! A request to stop an agent is an event, so it outlives the process, and it holds for all its
//! descendants from that moment: a child that it is about to spawn is refused. Each of them is
//! cancelled as soon as no worker works on it.

use std::collections::BTreeMap;

use crate::event::{Event, Illegal, StopRequest, Wait};
use crate::ids::{AgentId, CallOfTurn, TaskId};
use crate::messages::StopRefused;
use crate::record::TaskRecord;
use crate::run::agenda::List;
use crate::run::child::{KeptWork, TerminateDecision};
use crate::run::run_state::RunState;

impl RunState {
    /// Decides about an agent's call that ends one of its descendants, which waits until that and
    /// all below it have ended.
    ///
    /// # Errors
    /// Fails with the reason for the agent.
    pub fn decide_termination(
        &self,
        by: &AgentId,
        of: &CallOfTurn,
        agent: &AgentId,
    ) -> Result<TerminateDecision, StopRefused> {
        if self
            .task(by)
            .and_then(TaskRecord::ended_wait)
            .is_some_and(|ended| ended.of == *of)
        {
            return Ok(TerminateDecision::Over);
        }
        self.check_termination(by, agent)?;
        let open: Vec<TaskId> = self
            .subtree(agent)
            .filter(|record| is_open(record))
            .map(id_of)
            .collect();
        if open.is_empty() {
            return Ok(TerminateDecision::Over);
        }
        let CallOfTurn { turn, call } = of.clone();
        let wait = Wait::Agents {
            ids: open,
            until_ms: None,
        };
        Ok(TerminateDecision::Stops(vec![
            Event::StopRequested(StopRequest {
                task: agent.clone(),
                by: Some(by.clone()),
            }),
            Event::AgentWaiting {
                task: by.clone(),
                turn,
                call_id: call,
                wait,
            },
        ]))
    }

    /// Requires that an agent may end another one, before it is asked to: only those below it.
    ///
    /// # Errors
    /// Fails with the reason for the agent.
    pub fn check_termination(&self, by: &AgentId, agent: &AgentId) -> Result<(), StopRefused> {
        if self.is_ancestor(by, agent) {
            Ok(())
        } else {
            Err(self.may_not_stop(by, agent))
        }
    }

    /// Reports whether an agent, or one of those below it, has not ended.
    pub fn is_any_open(&self, agent: &AgentId) -> bool {
        self.subtree(agent).any(is_open)
    }

    /// Returns the agents that are to be cancelled now, with those that a worker may still work on.
    /// Those with a merge in progress are not among them.
    pub fn stopping(&self) -> impl Iterator<Item = &TaskId> {
        let stopping = self.listed(List::Stopping).map(|record| &record.task.id);
        stopping.filter(|task| !self.is_merging(task))
    }

    /// Returns the events that cancel a task, if it is to be cancelled now; no worker works on it
    /// any more.
    pub fn decide_cancellation(&self, task: &TaskId) -> Vec<Event> {
        let record = self.task(task).filter(|_| !self.is_merging(task));
        record.map(TaskRecord::cancellation).unwrap_or_default()
    }

    /// Returns what is left of an agent and of all below it.
    pub fn kept_work(&self, agent: &AgentId) -> Vec<KeptWork> {
        self.subtree(agent).map(KeptWork::from_record).collect()
    }

    /// Applies a request to stop an agent and all below it.
    pub(super) fn stop_requested(&mut self, request: &StopRequest) -> Result<(), Illegal> {
        if self.task(&request.task).is_none() {
            return Err(Illegal::NoTask(request.task.clone()));
        }
        let concerned: Vec<TaskId> = self.subtree(&request.task).map(id_of).collect();
        for id in concerned {
            if let Some(record) = self.tasks.get_mut(&id) {
                record.request_stop(request);
            }
        }
        Ok(())
    }

    /// Reports whether a task's work, or that of one of its children, is part of the merge in
    /// progress, which ends before the task may.
    fn is_merging(&self, task: &TaskId) -> bool {
        let is_target = self
            .merges
            .target()
            .is_some_and(|into| into.agent() == Some(task));
        is_target || self.merges.current() == Some(task)
    }

    /// Returns an agent and all its descendants, in the order of the plan, then of addition.
    fn subtree(&self, agent: &AgentId) -> impl Iterator<Item = &TaskRecord> {
        let mut found = BTreeMap::new();
        let mut open: Vec<&TaskRecord> = self.task(agent).into_iter().collect();
        while let Some(record) = open.pop() {
            if let Some(place) = self.schedule.place(&record.task.id)
                && found.insert(place, record).is_none()
            {
                open.extend(self.children(&record.task.id));
            }
        }
        found.into_values()
    }

    fn may_not_stop(&self, by: &AgentId, agent: &AgentId) -> StopRefused {
        let own = self
            .subtree(by)
            .filter(|record| record.task.id != *by)
            .map(id_of)
            .collect();
        let agent = agent.clone();
        if self.task(&agent).is_some() {
            StopRefused::NotBelow { agent, own }
        } else {
            StopRefused::Unknown { agent, own }
        }
    }
}

fn is_open(record: &TaskRecord) -> bool {
    !record.state().is_settled()
}

fn id_of(record: &TaskRecord) -> TaskId {
    record.task.id.clone()
}
