//! Merging of finished work: where it goes, what may be merged now, and what becomes of work that
//! no branch takes.
//!
//! A task of the plan is merged into the integration branch. A child is merged into the branch of
//! the agent that spawned it while that agent waits for others: it has no worker then, so no file
//! moves under a running command. Once the parent itself is merged, its children go where it went.

use crate::event::settings::MergeMode;
use crate::event::{Event, MergeTarget};
use crate::ids::{AgentId, Oid, TaskId};
use crate::record::{HandOver, TaskRecord};
use crate::run::agenda::List;
use crate::run::merge_queue::{Candidate, MergeQueue, MergeStep, Situation};
use crate::run::run_state::RunState;
use crate::task::TaskState;

impl RunState {
    /// Returns the branch that a task's work is merged into.
    pub fn merge_target(&self, record: &TaskRecord) -> MergeTarget {
        let mut record = record;
        // At most as many steps as there are tasks, in case a parent is its own ancestor.
        for _ in 0..self.tasks.len() {
            let Some(parent) = record.parent.as_ref().and_then(|id| self.task(id)) else {
                break;
            };
            // A command has nothing to do with what was spawned below it.
            if !parent.state().is_merged() && !parent.is_command() {
                return MergeTarget::Agent(parent.task.id.clone());
            }
            record = parent;
        }
        MergeTarget::Integration
    }

    /// Returns the tip of a branch that work is merged into; `None` if it does not exist yet.
    pub fn tip_of(&self, target: &MergeTarget) -> Option<&Oid> {
        match target {
            MergeTarget::Integration => Some(&self.integration),
            MergeTarget::Agent(agent) => self.task(agent)?.tip(),
        }
    }

    /// Returns the tip of the branch that a task's work is merged into.
    pub fn target_tip(&self, record: &TaskRecord) -> &Oid {
        self.tip_of(&self.merge_target(record))
            .unwrap_or(&self.integration)
    }

    /// Reports whether a branch takes work now: an agent's only while the agent waits for others.
    pub(crate) fn takes_work(&self, target: &MergeTarget) -> bool {
        match target {
            MergeTarget::Integration => self.settings.merge != MergeMode::None,
            MergeTarget::Agent(agent) => self.task(agent).is_some_and(TaskRecord::takes_work),
        }
    }

    /// Reports whether a task's work is left on its branch, since the run merges nothing.
    pub fn stays_unmerged(&self, record: &TaskRecord) -> bool {
        self.settings.merge == MergeMode::None && self.merge_target(record).is_integration()
    }

    /// Reports whether a person's review of a task's finished work is due and has not been asked
    /// for.
    pub(super) fn needs_new_review(&self, record: &TaskRecord) -> bool {
        record.state() == TaskState::Verified
            && self.needs_review(record)
            && !self.is_held(record)
            && !self.stays_unmerged(record)
            && self.approved_work(record).is_none()
    }

    /// Returns the commit of a task whose work has every approval that it needs.
    pub(super) fn approved_work<'r>(&self, record: &'r TaskRecord) -> Option<&'r Oid> {
        if record.is_stopping() {
            return None;
        }
        record.candidate(self.needs_review(record) || self.is_held(record))
    }

    /// Reports whether a task's finished work can be merged now.
    pub(super) fn is_to_be_merged(&self, record: &TaskRecord) -> bool {
        record.state() == TaskState::Verified
            && self.takes_work(&self.merge_target(record))
            && !self.is_held(record)
    }

    /// Reports whether a task's work may be merged into a branch.
    pub(super) fn is_candidate(
        &self,
        record: &TaskRecord,
        into: &MergeTarget,
        commit: &Oid,
    ) -> bool {
        let is_work = match into {
            // Older journals merge the work of all tasks into this branch.
            MergeTarget::Integration => {
                let is_reviewed = self.needs_review_in(record, into);
                record.candidate(is_reviewed || self.is_held(record)) == Some(commit)
            }
            MergeTarget::Agent(_) => {
                *into == self.merge_target(record) && self.approved_work(record) == Some(commit)
            }
        };
        is_work && (into.is_integration() || self.takes_work(into))
    }

    /// Decides the next step of merging, or `None` if there is nothing to do now.
    ///
    /// Candidates come in the plan's order: their dependencies are merged, or they would not have
    /// started.
    pub fn next_merge(&self) -> Option<MergeStep> {
        self.next_merge_of(&self.merges)
    }

    /// Returns the next step of merging as if the event were recorded already, or `None` if the
    /// event is not valid in this state.
    pub fn next_merge_after(&self, fact: &Event) -> Option<MergeStep> {
        let mut merges = self.merges.clone();
        merges.apply(fact).ok()?;
        self.next_merge_of(&merges)
    }

    fn next_merge_of(&self, merges: &MergeQueue) -> Option<MergeStep> {
        if let Some(into) = merges.target()
            && !self.takes_work(into)
        {
            return None;
        }
        merges.next(&Situation {
            settings: &self.settings,
            candidate: self
                .listed(List::Candidate)
                .find_map(|record| self.candidate(record)),
            current: merges.current().and_then(|task| self.task(task)),
        })
    }

    /// Returns a task's work if it may be merged now.
    pub(super) fn candidate(&self, record: &TaskRecord) -> Option<Candidate> {
        let commit = self.approved_work(record)?.clone();
        let into = self.merge_target(record);
        let target = self.tip_of(&into)?.clone();
        self.takes_work(&into).then_some(Candidate {
            task: record.task.id.clone(),
            commit,
            into,
            target,
        })
    }

    /// Applies a merge: the branch that it was into has a new tip.
    pub(super) fn merged(&mut self, task: &TaskId, into: Option<MergeTarget>, commit: &Oid) {
        let into = into.unwrap_or_default();
        match &into {
            MergeTarget::Integration => self.integration = commit.clone(),
            MergeTarget::Agent(agent) => {
                let mut tests = Vec::new();
                if let Some(work) = self.task(task).and_then(TaskRecord::compared) {
                    tests.extend_from_slice(&work.files);
                }
                tests.retain(|file| file.changes_test());
                if let Some(parent) = self.tasks.get_mut(agent) {
                    parent.take_in(commit, tests);
                }
            }
        }
        if let Some(record) = self.tasks.get_mut(task) {
            record.note_target(into);
        }
    }

    /// Reports whether a task's newest merged work is part of the run's result.
    pub fn is_in_result(&self, record: &TaskRecord) -> bool {
        let mut record = record;
        // At most as many steps as there are tasks, in case a parent is its own ancestor.
        for _ in 0..=self.tasks.len() {
            let Some(newest) = record.merged().last() else {
                return false;
            };
            let Some(agent) = newest.into.agent() else {
                return newest.into.is_integration();
            };
            let Some(parent) = self.task(agent) else {
                return false;
            };
            record = parent;
        }
        false
    }

    /// Returns the agent that has ended without success and keeps a task's merged work out of the
    /// result, since it was merged into that agent's.
    pub fn held_by(&self, record: &TaskRecord) -> Option<&AgentId> {
        let mut at = self.task(&record.task.id)?;
        if !at.state().is_merged() {
            return None;
        }
        // At most as many steps as there are tasks, in case a parent is its own ancestor.
        for _ in 0..self.tasks.len() {
            at = self.task(at.merged().last()?.into.agent()?)?;
            if !at.state().is_merged() {
                return at.state().is_settled().then_some(&at.task.id);
            }
        }
        None
    }

    /// Returns the agents that an agent has spawned, whose work is to be merged into its own and
    /// has not been merged, or given up.
    pub fn open_children<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a TaskRecord> {
        self.children(agent).filter(move |child| {
            !child.state().is_settled() && self.merge_target(child).agent() == Some(agent)
        })
    }

    /// Decides what happens when an agent hands its work over.
    pub fn decide_hand_over(&self, task: &TaskId) -> HandOver {
        if self.messages_for(task).next().is_some() {
            HandOver::AfterMessages
        } else if self.open_children(task).next().is_some() {
            HandOver::AfterChildren(Box::new(Event::HandOverWaiting { task: task.clone() }))
        } else if self.task(task).is_some_and(TaskRecord::awaits_children) {
            HandOver::AfterNews
        } else {
            HandOver::Now
        }
    }

    /// Returns the agent that a task's work would be merged into, if that has ended without
    /// success.
    pub fn lost_parent(&self, record: &TaskRecord) -> Option<&AgentId> {
        let MergeTarget::Agent(agent) = self.merge_target(record) else {
            return None;
        };
        let parent = self.task(&agent)?;
        parent.state().is_settled().then_some(&parent.task.id)
    }

    /// Returns the agent above a task that has ended without success, as those between the two
    /// have, and whose own work would be taken.
    pub(crate) fn highest_lost_parent(&self, record: &TaskRecord) -> Option<&AgentId> {
        let mut highest = self.lost_parent(record)?;
        // At most as many steps as there are tasks, in case a parent is its own ancestor.
        for _ in 0..self.tasks.len() {
            let Some(above) = self.lost_parent(self.task(highest)?) else {
                return Some(highest);
            };
            highest = above;
        }
        None
    }

    /// Returns the ends of tasks whose work nothing takes any more, once no worker is active for
    /// them.
    pub(super) fn abandoned(&self) -> Vec<Event> {
        let mut abandoned = Vec::new();
        for record in self.listed(List::Abandoned) {
            let task = &record.task.id;
            let Some(parent) = self.lost_parent(record) else {
                continue;
            };
            if self.merges.current() == Some(task) {
                continue;
            }
            let kept = match record.branch() {
                Some(branch) => format!("; its work is kept on the branch {branch}"),
                None => String::new(),
            };
            abandoned.push(Event::TaskCancelled {
                task: task.clone(),
                message: format!(
                    "agent {parent}, which spawned it, has ended without success{kept}"
                ),
            });
        }
        abandoned
    }
}
