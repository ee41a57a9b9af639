//! Waiting for other agents: whether an agent may, when its wait is over, and when its deadline
//! passes; and waiting for endpoints that reject the key or the account.
//!
//! A task that waits for an endpoint keeps its work and its attempt. Only a resumption ends its
//! wait, since only the user can mend the cause.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::event::settings::ROOT_AGENT;
use crate::event::{Event, MergeTarget, RejectingEndpoint, Wait, WaitRefused};
use crate::ids::{AgentId, CallHash, CallOfTurn, TaskId};
use crate::messages::{MAX_DEADLINE_SECONDS, Receiver};
use crate::record::TaskRecord;
use crate::run::agenda::List;
use crate::run::asked_wait::{AskedWait, Expiring, Expiry, WaitDecision};
use crate::run::run_state::RunState;
use crate::task::TaskState;
use crate::task::schedule::Progress;

impl RunState {
    /// Decides about a call that would wait for other agents.
    ///
    /// # Errors
    ///
    /// Fails with the reason for the agent.
    pub fn decide_wait(
        &self,
        waiter: &TaskId,
        asked: &AskedWait,
    ) -> Result<WaitDecision, WaitRefused> {
        if let Some(ended) = self
            .task(waiter)
            .and_then(TaskRecord::ended_wait)
            .filter(|ended| ended.of == asked.of)
        {
            return Ok(WaitDecision::Over {
                timed_out: ended.timed_out,
            });
        }
        let Some(wait) = self.new_wait(waiter, &asked.ids, asked.timeout)? else {
            return Ok(WaitDecision::Over { timed_out: false });
        };
        let CallOfTurn { turn, call } = asked.of.clone();
        let waiting = Event::AgentWaiting {
            task: waiter.clone(),
            turn,
            call_id: call,
            wait,
        };
        Ok(WaitDecision::Waits(Box::new(waiting)))
    }

    /// Requires that an agent may wait for others, before it is asked to.
    ///
    /// # Errors
    ///
    /// Fails as [`RunState::decide_wait`] does.
    pub fn check_wait(
        &self,
        waiter: &TaskId,
        agents: &[TaskId],
        timeout: Option<Duration>,
    ) -> Result<(), WaitRefused> {
        self.new_wait(waiter, agents, timeout).map(drop)
    }

    /// Returns the wait of an agent for others; `None` if it is over already.
    fn new_wait(
        &self,
        waiter: &TaskId,
        agents: &[TaskId],
        timeout: Option<Duration>,
    ) -> Result<Option<Wait>, WaitRefused> {
        self.check_named(waiter, agents)?;
        let seconds = timeout.map(|timeout| timeout.as_secs());
        if let Some(seconds) = seconds.filter(|seconds| *seconds > MAX_DEADLINE_SECONDS) {
            return Err(WaitRefused::TooLong { seconds });
        }
        let mut ids: Vec<TaskId> = Vec::new();
        for id in agents {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        let until_ms =
            timeout.map(|timeout| self.worked_ms().saturating_add(milliseconds(timeout)));
        let wait = Wait::Agents { ids, until_ms };
        if self.is_over(waiter, &wait) {
            return Ok(None);
        }
        let held_up = self.held_up_by(waiter, agents);
        if held_up.is_empty() {
            return Ok(Some(wait));
        }
        Err(self
            .asked_by_another(waiter)
            .unwrap_or(WaitRefused::Cycle(held_up)))
    }

    /// Returns the question of an agent that waits for the answer of this one.
    fn asked_by_another(&self, waiter: &TaskId) -> Option<WaitRefused> {
        self.tasks().find_map(|record| match record.wait()? {
            Wait::Message {
                to: Receiver::Agent(asked),
                question,
                ..
            } if asked == waiter => Some(WaitRefused::Asked {
                asker: record.task.id.clone(),
                question: *question,
            }),
            _ => None,
        })
    }

    fn check_named(&self, waiter: &TaskId, ids: &[TaskId]) -> Result<(), WaitRefused> {
        if ids.is_empty() {
            return Err(WaitRefused::NoAgents);
        }
        for id in ids {
            let id = &self.known_agent(id)?.task.id;
            if id == waiter {
                return Err(WaitRefused::Itself);
            }
            if self.is_ancestor(id, waiter) {
                return Err(WaitRefused::Ancestor { agent: id.clone() });
            }
        }
        Ok(())
    }

    /// Returns the records of agents that another one names, each once.
    ///
    /// # Errors
    ///
    /// Fails if none is named or there is no such agent, with the names of those that there are.
    pub fn named_agents(&self, ids: &[AgentId]) -> Result<Vec<&TaskRecord>, WaitRefused> {
        if ids.is_empty() {
            return Err(WaitRefused::NoAgents);
        }
        let mut records: Vec<&TaskRecord> = Vec::new();
        for id in ids {
            let record = self.known_agent(id)?;
            if !records.iter().any(|known| known.task.id == record.task.id) {
                records.push(record);
            }
        }
        Ok(records)
    }

    /// Returns the record of an agent that another one names; the agent of the goal also by the
    /// name of the root.
    ///
    /// # Errors
    ///
    /// Fails if there is none, with the names of those that there are.
    pub fn known_agent(&self, id: &AgentId) -> Result<&TaskRecord, WaitRefused> {
        if let Some(record) = self.task(self.agent_named(id)) {
            return Ok(record);
        }
        let known: Vec<&str> = self.tasks().map(|record| record.task.id.as_str()).collect();
        Err(WaitRefused::Unknown {
            agent: id.clone(),
            known: known.join(", "),
        })
    }

    /// Returns what an agent waits for.
    pub(super) fn wait_of(&self, agent: &AgentId) -> Option<&Wait> {
        self.task(agent)?.wait()
    }

    /// Returns the agent that has spawned another one.
    pub(super) fn parent_of(&self, agent: &AgentId) -> Option<&AgentId> {
        self.task(agent)?.parent.as_ref()
    }

    /// Reports whether one agent is the parent of the other, or an ancestor of its parent.
    pub fn is_ancestor(&self, ancestor: &AgentId, of: &AgentId) -> bool {
        let mut agent = of;
        // At most as many steps as there are tasks, in case a parent is its own ancestor.
        for _ in 0..self.tasks.len() {
            let Some(parent) = self.parent_of(agent) else {
                return false;
            };
            if parent == ancestor {
                return true;
            }
            agent = parent;
        }
        false
    }

    /// Reports whether a task waits for something that has happened.
    pub fn is_woken(&self, task: &TaskId) -> bool {
        match self.wait_of(task) {
            Some(wait) => self.is_over(task, wait),
            None => false,
        }
    }

    fn is_over(&self, waiter: &TaskId, wait: &Wait) -> bool {
        match wait {
            Wait::Person { call } => self.is_answered(call),
            // A resumption is itself the event that ends it.
            Wait::Endpoint { .. } => false,
            Wait::Message { .. } => self.has_message(waiter),
            // Its branch is about to move, and its files follow when it goes on.
            Wait::Agents { .. } | Wait::Children if self.is_merged_into(waiter) => false,
            Wait::Agents { .. } | Wait::Children if self.has_message(waiter) => true,
            Wait::Agents { ids, .. } => ids.iter().all(|id| self.is_done_for(waiter, id)),
            Wait::Children => self.open_children(waiter).next().is_none(),
        }
    }

    /// Reports whether the agent reads a message after its call, which must then not wait for the
    /// sender.
    fn has_message(&self, waiter: &TaskId) -> bool {
        self.messages_for(waiter).next().is_some()
    }

    /// Reports whether an agent's wait for others is over, or will be once the merge into its
    /// branch has ended.
    fn will_wake(&self, task: &TaskId) -> bool {
        self.is_woken(task) || self.has_message(task)
    }

    /// Reports whether a merge into an agent's branch is in progress.
    fn is_merged_into(&self, agent: &TaskId) -> bool {
        self.merges.target().and_then(MergeTarget::agent) == Some(agent)
    }

    /// Reports whether an agent that is waited for is done: at rest, and merged into the waiting
    /// one if its work is to be.
    pub fn is_done_for(&self, waiter: &TaskId, id: &TaskId) -> bool {
        let Some(record) = self.task(id) else {
            return true;
        };
        let goes_to_waiter = self.merge_target(record).agent() == Some(waiter);
        self.is_at_rest(record) && !(goes_to_waiter && self.approved_work(record).is_some())
    }

    fn is_answered(&self, call: &CallHash) -> bool {
        match self.approvals.get(call) {
            Some(approval) => approval.decision.is_some(),
            None => false,
        }
    }

    /// Reports whether an agent's work is over as far as it can be without a person's review: it
    /// has ended, or its finished work waits for a review.
    pub fn is_at_rest(&self, record: &TaskRecord) -> bool {
        let is_verified = record.state() == TaskState::Verified && !self.can_go_on(record);
        let is_handed_over = record.state().awaits_review() || is_verified;
        record.state().is_settled() || is_handed_over && !record.is_stopping()
    }

    /// Returns the task whose work has come to an end with this event, as far as it can without a
    /// person's review; `None` for any other event, and if the task has gone on since.
    pub fn ended_by(&self, event: &Event) -> Option<&TaskRecord> {
        let end = match event {
            Event::ReviewRequested { .. } => TaskState::AwaitingReview,
            Event::TaskMerged { .. } => TaskState::Merged,
            Event::NothingToDo { .. } => TaskState::NothingToDo,
            Event::TaskFailed { .. } => TaskState::Failed,
            Event::TaskConflicted { .. } => TaskState::Conflicted,
            Event::TaskSkipped { .. } => TaskState::Skipped,
            Event::TaskCancelled { .. } => TaskState::Cancelled,
            _ => return None,
        };
        let record = self.task(event.task()?)?;
        (record.state() == end && self.is_at_rest(record)).then_some(record)
    }

    /// Returns the deadline that passes next, of a wait or of a message; `None` if there is none,
    /// or while the run's time stands still.
    pub fn next_expiry(&self) -> Option<Expiry> {
        if self.stands_still() {
            return None;
        }
        match (self.next_message_expiry(), self.next_wait_expiry()) {
            (Some(message), Some(wait)) if wait.left < message.left => Some(wait),
            // If both pass at once, the message comes first: its sender, which waits, is then told
            // that it is closed.
            (Some(message), _) => Some(message),
            (None, wait) => wait,
        }
    }

    fn next_wait_expiry(&self) -> Option<Expiry> {
        let mut waits: BTreeSet<(u64, &TaskId)> = BTreeSet::new();
        for record in self.listed(List::Waiting) {
            let task = &record.task.id;
            if let Some(until_ms) = record.wait().and_then(Wait::until_ms)
                && !self.is_merged_into(task)
            {
                waits.insert((until_ms, task));
            }
        }
        let (until_ms, task) = waits.pop_first()?;
        Some(Expiry {
            of: Expiring::Wait {
                task: task.clone(),
                until_ms,
            },
            left: Duration::from_millis(until_ms.saturating_sub(self.worked_ms())),
        })
    }

    fn next_message_expiry(&self) -> Option<Expiry> {
        let (deadline, message) = self.next_deadline()?;
        Some(Expiry {
            of: Expiring::Message {
                from: message.from.clone(),
                to: message.to.clone(),
                sequence: message.sequence,
            },
            left: Duration::from_millis(deadline.saturating_sub(self.updated_ms)),
        })
    }

    /// Returns the events of a deadline that has passed; none if the wait is over, or the message
    /// read or answered.
    pub fn decide_expiry(&self, expiry: &Expiry) -> Vec<Event> {
        match &expiry.of {
            Expiring::Wait { task, until_ms } => {
                let until = self.wait_of(task).and_then(Wait::until_ms);
                if until != Some(*until_ms) || self.is_merged_into(task) {
                    return Vec::new();
                }
                vec![Event::AgentWoken {
                    task: task.clone(),
                    timed_out: true,
                }]
            }
            Expiring::Message { from, to, sequence } => {
                for message in self.outstanding() {
                    if message.from == *from && message.to == *to && message.sequence == *sequence {
                        return self.expired(message);
                    }
                }
                Vec::new()
            }
        }
    }

    /// Returns the events that end the waits for what has happened.
    pub(super) fn wakes(&self) -> Vec<Event> {
        let mut woken = Vec::new();
        for record in self.listed(List::Waiting) {
            let task = &record.task.id;
            if waits_for_others(record) && (self.is_woken(task) || self.is_stranded(record)) {
                woken.push(Event::AgentWoken {
                    task: task.clone(),
                    timed_out: false,
                });
            }
        }
        woken
    }

    /// Reports whether an agent waits for one that will never come to rest, though not because that
    /// one waits, too. When the wait began, this could not be known: where nothing is merged, what
    /// depends on work that is then handed over never starts.
    fn is_stranded(&self, record: &TaskRecord) -> bool {
        let Some(Wait::Agents { ids, .. }) = record.wait() else {
            return false;
        };
        if self.can_any_go_on() {
            return false;
        }
        for id in self.held_up_by(&record.task.id, ids) {
            if self.wait_of(&id).is_none() {
                return true;
            }
        }
        false
    }

    /// Returns those of the agents that cannot come to rest while the waiter waits, even if
    /// everything else ends well.
    pub(super) fn held_up_by(&self, waiter: &TaskId, ids: &[TaskId]) -> Vec<AgentId> {
        // Asked after every event while a question waits, of runs with thousands of tasks.
        let order = self.needed_for(ids);
        let mut supposed = SupposedProgress::default();
        for place in &order {
            if let Some(record) = self.at(*place) {
                supposed.0.insert(&record.task.id, self.progress(record));
            }
        }
        let mut held_up = ids.to_vec();
        loop {
            held_up.retain(|id| !supposed.is_at_rest(id));
            if held_up.is_empty() {
                return held_up;
            }
            let ended = self.would_end(waiter, &order, &supposed);
            if ended.is_empty() {
                return held_up;
            }
            supposed.0.extend(ended);
        }
    }

    /// Returns the places of tasks, and of all that may have to end before they can come to rest,
    /// in the order of the schedule.
    fn needed_for(&self, ids: &[TaskId]) -> Vec<usize> {
        let mut needed = BTreeSet::new();
        let mut open: Vec<usize> = Vec::new();
        for id in ids {
            open.extend(self.schedule.place(id));
        }
        while let Some(place) = open.pop() {
            if !needed.insert(place) {
                continue;
            }
            open.extend(self.schedule.waits_of(place));
            if let Some(record) = self.at(place) {
                for id in self.awaited_by(record) {
                    open.extend(self.schedule.place(&id));
                }
            }
        }
        self.schedule.in_order(needed)
    }

    /// Returns the tasks that one waits for that has started: by its call, or because they review
    /// its work.
    fn awaited_by(&self, record: &TaskRecord) -> Vec<TaskId> {
        let mut awaited = self.waits_for_verdict_of(record);
        match record.wait() {
            Some(Wait::Agents { ids, .. }) => awaited.extend(ids.iter().cloned()),
            Some(Wait::Children) => {
                for child in self.open_children(&record.task.id) {
                    awaited.push(child.task.id.clone());
                }
            }
            Some(Wait::Message {
                to: Receiver::Agent(asked),
                ..
            }) => awaited.push(asked.clone()),
            Some(
                Wait::Message {
                    to: Receiver::User, ..
                }
                | Wait::Person { .. }
                | Wait::Endpoint { .. },
            )
            | None => {}
        }
        awaited
    }

    /// Returns the tasks at these places that would end next if the progress were as supposed, and
    /// how.
    fn would_end(
        &self,
        waiter: &TaskId,
        order: &[usize],
        supposed: &SupposedProgress<'_>,
    ) -> Vec<(&TaskId, Progress)> {
        let prospects = self.schedule.prospects(order, |id| supposed.of_task(id));
        let mut ending = Vec::new();
        for place in order {
            let Some(record) = self.at(*place) else {
                continue;
            };
            let id = &record.task.id;
            if id == waiter {
                continue;
            }
            match supposed.of_task(id) {
                Progress::Merged | Progress::Failed => {}
                Progress::Waiting => {
                    if prospects.ready.contains(id) {
                        ending.push((id, Progress::Merged));
                    } else if prospects.skipped.contains(id) {
                        ending.push((id, Progress::Failed));
                    }
                }
                Progress::Held => {
                    let mut reviewers = self.waits_for_verdict_of(record);
                    reviewers.retain(|reviewer| supposed.of_task(reviewer) != Progress::Merged);
                    if reviewers.is_empty() && !self.stays_unmerged(record) {
                        ending.push((id, Progress::Merged));
                    }
                }
                Progress::Active | Progress::Parked => {
                    if self.would_go_on(record, supposed) {
                        ending.push((id, Progress::Merged));
                    }
                }
            }
        }
        ending
    }

    /// Reports whether the agent of a task would go on to its end if others had this progress.
    fn would_go_on(&self, record: &TaskRecord, supposed: &SupposedProgress<'_>) -> bool {
        let id = &record.task.id;
        match record.wait() {
            Some(Wait::Agents { ids, until_ms }) => {
                until_ms.is_some()
                    || self.will_wake(id)
                    || ids.iter().all(|id| supposed.is_at_rest(id))
            }
            Some(Wait::Children) => {
                self.will_wake(id)
                    || self
                        .open_children(id)
                        .all(|child| supposed.is_at_rest(&child.task.id))
            }
            Some(Wait::Message {
                to: Receiver::Agent(asked),
                until_ms,
                ..
            }) => until_ms.is_some() || self.is_woken(id) || supposed.is_at_rest(asked),
            Some(
                Wait::Message {
                    to: Receiver::User, ..
                }
                | Wait::Person { .. }
                | Wait::Endpoint { .. },
            )
            | None => true,
        }
    }
}

/// Reports whether a task's wait ends by an event of its own: a decision about a call is itself the
/// event that ends the wait for it, and so is a resumption.
fn waits_for_others(record: &TaskRecord) -> bool {
    match record.wait() {
        Some(wait) => !wait.has_own_end(),
        None => false,
    }
}

/// The progress that tasks would have made.
#[derive(Default)]
struct SupposedProgress<'a>(BTreeMap<&'a TaskId, Progress>);

impl SupposedProgress<'_> {
    fn of_task(&self, id: &TaskId) -> Progress {
        self.0.get(id).copied().unwrap_or(Progress::Waiting)
    }

    fn is_at_rest(&self, id: &TaskId) -> bool {
        matches!(
            self.of_task(id),
            Progress::Merged | Progress::Failed | Progress::Held
        )
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl RunState {
    /// Returns the endpoints that tasks wait for, in the order of the tasks and each once.
    pub fn rejecting_endpoints(&self) -> Vec<RejectingEndpoint> {
        let mut found: Vec<RejectingEndpoint> = Vec::new();
        for record in self.tasks() {
            let Some(Wait::Endpoint { endpoint, error }) = record.wait() else {
                continue;
            };
            let task = record.task.id.clone();
            match found.iter_mut().find(|known| known.endpoint == *endpoint) {
                Some(known) => known.tasks.push(task),
                None => {
                    let (endpoint, error) = (endpoint.clone(), error.clone());
                    found.push(RejectingEndpoint {
                        endpoint,
                        error,
                        tasks: vec![task],
                    });
                }
            }
        }
        found
    }

    /// Ends the waits for endpoints: the user who resumes the run may have mended the key or the
    /// account.
    pub(super) fn ask_endpoints_again(&mut self) {
        self.tasks.change_if(
            |record| record.rejecting_endpoint().is_some(),
            TaskRecord::ask_again,
        );
    }
}

impl RunState {
    /// Returns the task that is the goal of the run, whose agent is the root; `None` if the run has
    /// a plan.
    pub fn goal(&self) -> Option<&TaskRecord> {
        self.tasks().find(|record| record.task.goal)
    }

    /// Returns the agent that a name stands for: the agent of the goal for [`ROOT_AGENT`], unless a
    /// task has that name.
    pub(super) fn agent_named<'s>(&'s self, name: &'s AgentId) -> &'s AgentId {
        // Only for that name: finding the goal goes through all tasks.
        if name.as_str() != ROOT_AGENT || self.task(name).is_some() {
            return name;
        }
        self.goal().map_or(name, |goal| &goal.task.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::settings::RunSettings;
    use crate::event::{Recorded, VERSION};
    use crate::task::Task;

    fn state(events: Vec<Event>) -> RunState {
        let recorded = |(seq, event)| Recorded {
            run_id: "r-abcdef".into(),
            seq,
            ts_ms: 0,
            v: VERSION,
            event,
        };
        RunState::replay(&(1..).zip(events).map(recorded).collect::<Vec<_>>())
            .unwrap()
            .unwrap()
    }

    /// Only what an agent waits for, directly or not, has a say in when it comes to rest.
    #[test]
    fn what_holds_an_agent_up_is_looked_for_among_what_it_needs() {
        let started = Event::RunStarted {
            plan: None,
            plan_source: None,
            title: None,
            settings: Box::new(RunSettings::default()),
            base_commit: "base".into(),
            base_branch: None,
        };
        let planned = |id: &str, depends: &[&str]| {
            let depends = depends.iter().map(|id| TaskId::from(*id)).collect();
            Event::planned(Task {
                id: id.into(),
                depends,
                ..Task::default()
            })
        };
        let spawned = Event::AgentSpawned {
            task: "a".into(),
            attempt: 1,
            agent: Some("implementer".to_owned()),
            model: None,
            branch: "orchestrate/r-abcdef/a".to_owned(),
            base: "base".into(),
            spec: None,
            sends: None,
        };
        let wait = Wait::Agents {
            ids: vec!["x".into()],
            until_ms: None,
        };
        let state = state(vec![
            started,
            planned("c", &["b"]),
            planned("x", &[]),
            planned("y", &["x"]),
            planned("a", &[]),
            planned("b", &["a"]),
            Event::TaskReady { task: "a".into() },
            spawned,
            Event::AgentWaiting {
                task: "a".into(),
                turn: 1,
                call_id: "c1".into(),
                wait,
            },
        ]);
        let needed = state.needed_for(&["c".into()]);
        let mut names: Vec<&str> = needed
            .iter()
            .map(|place| state.schedule.id(*place).unwrap().as_str())
            .collect();
        assert!(
            names.iter().position(|name| *name == "b") < names.iter().position(|name| *name == "c")
        );
        names.sort_unstable();
        assert_eq!(names, ["a", "b", "c", "x"]);
        let table: [(&str, &str, Vec<TaskId>); 4] = [
            ("x", "c", vec!["c".into()]),
            ("y", "c", vec![]),
            ("c", "x", vec![]),
            ("a", "y", vec![]),
        ];
        for (waiter, id, held_up) in table {
            assert_eq!(
                state.held_up_by(&waiter.into(), &[id.into()]),
                held_up,
                "{waiter} waits for {id}"
            );
        }
    }
}
