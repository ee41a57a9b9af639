//! What must hold at every instant, counted from the events alone and not from the run's state.

use std::collections::{BTreeMap, BTreeSet};

use orchestrate_core::event::Event;
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::messages::{Envelope, Receiver, Sender};
use orchestrate_core::{CallOfTurn, MergeTarget, Oid, RunState, TaskId, TaskState};

use crate::scenario::Scenario;
use crate::world::World;

/// Independent books of a run.
pub(crate) struct Ledger {
    /// The caps, by task; `None` is the run.
    caps: BTreeMap<Option<TaskId>, u64>,
    parents: BTreeMap<TaskId, Option<TaskId>>,
    spent: BTreeMap<TaskId, u64>,
    reserved: BTreeMap<TaskId, u64>,
    sent: BTreeSet<(Sender, Receiver, u64)>,
    /// The receivers of each call, which sends only once.
    calls: BTreeSet<(Sender, Receiver, u32, String)>,
    /// Those that were delivered or have expired.
    taken: BTreeSet<(Sender, Receiver, u64)>,
    newest_delivered: BTreeMap<(Sender, TaskId), u64>,
    /// The branch that the merge in progress is into.
    into: MergeTarget,
    merged: BTreeMap<MergeTarget, BTreeSet<Oid>>,
}

impl Ledger {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let run = scenario.settings.budget_tokens.map(|cap| (None, cap));
        Self {
            caps: run.into_iter().collect(),
            parents: BTreeMap::new(),
            spent: BTreeMap::new(),
            reserved: BTreeMap::new(),
            sent: BTreeSet::new(),
            calls: BTreeSet::new(),
            taken: BTreeSet::new(),
            newest_delivered: BTreeMap::new(),
            into: MergeTarget::Integration,
            merged: BTreeMap::new(),
        }
    }

    /// Notes an event that has been applied.
    pub(crate) fn note(&mut self, world: &World, event: &Event) {
        match event {
            Event::TaskAdded { task, parent, .. } => {
                self.parents.insert(task.id.clone(), parent.clone());
                self.caps
                    .extend(task.tokens.map(|cap| (Some(task.id.clone()), cap)));
            }
            Event::ModelRequested {
                task,
                reserved_tokens,
                ..
            } => {
                self.reserved.insert(task.clone(), *reserved_tokens);
                self.require_budgets();
            }
            Event::ModelReplied { task, usage, .. } => self.settle(task, usage.total()),
            Event::ModelCut { task, tokens, .. } => self.settle(task, *tokens),
            Event::ModelFailed { task, .. } => self.settle(task, 0),
            Event::MessageSent { envelope } => self.send(envelope),
            Event::MessageDelivered {
                from, to, sequence, ..
            } => self.deliver(from, to, *sequence),
            Event::MessageExpired(expired) => {
                self.take(&expired.from, &expired.to, expired.sequence)
            }
            Event::MergeStarted { into, .. } => self.into = into.clone(),
            Event::TaskMerged {
                task,
                commit: Some(commit),
                ..
            } => self.merge(world, task, commit),
            _ => {}
        }
    }

    fn settle(&mut self, task: &TaskId, tokens: u64) {
        self.reserved.remove(task);
        *self.spent.entry(task.clone()).or_default() += tokens;
        self.require_budgets();
    }

    fn require_budgets(&self) {
        for (capped, cap) in &self.caps {
            let counts = |task: &&TaskId| {
                capped
                    .as_ref()
                    .is_none_or(|above| self.is_below(task, above))
            };
            let of = |amounts: &BTreeMap<TaskId, u64>| -> u64 {
                amounts.keys().filter(counts).map(|it| amounts[it]).sum()
            };
            let (spent, reserved) = (of(&self.spent), of(&self.reserved));
            assert!(
                spent + reserved <= *cap,
                "{capped:?} has spent {spent} and reserved {reserved} of {cap}"
            );
        }
    }

    fn is_below(&self, task: &TaskId, above: &TaskId) -> bool {
        let mut at = Some(task);
        while let Some(id) = at {
            if id == above {
                return true;
            }
            at = self.parents[id].as_ref();
        }
        false
    }

    fn send(&mut self, envelope: &Envelope) {
        let Envelope {
            from,
            to,
            sequence,
            call,
            ..
        } = envelope;
        assert!(
            self.sent.insert((from.clone(), to.clone(), *sequence)),
            "a number was used twice: {envelope:?}"
        );
        if let Some(CallOfTurn { turn, call }) = call {
            let is_new = self
                .calls
                .insert((from.clone(), to.clone(), *turn, call.to_string()));
            assert!(is_new, "a call has sent a message twice: {envelope:?}");
        }
    }

    fn deliver(&mut self, from: &Sender, to: &TaskId, sequence: u64) {
        self.take(from, &to.clone().into(), sequence);
        let newest = self
            .newest_delivered
            .insert((from.clone(), to.clone()), sequence)
            .unwrap_or(0);
        assert!(
            newest < sequence,
            "message {sequence} from {from:?} to {to} came after {newest}"
        );
    }

    fn take(&mut self, from: &Sender, to: &Receiver, sequence: u64) {
        let message = (from.clone(), to.clone(), sequence);
        assert!(self.sent.contains(&message), "{message:?} was not sent");
        assert!(
            self.taken.insert(message),
            "message {sequence} from {from:?} to {to:?} was delivered twice"
        );
    }

    /// Requires of a merge that the check passes, that nothing merged before is gone, and that
    /// nothing is merged twice.
    fn merge(&mut self, world: &World, task: &TaskId, commit: &Oid) {
        let (scenario, tree) = (&world.scenario, world.tree_of(commit));
        assert!(
            scenario.settings.verify.is_none() || scenario.passes(&tree),
            "{task} broke the check: {tree:?}"
        );
        assert!(
            tree.contains_key(&scenario.scripts[task].own_file()),
            "{task} was merged without its work"
        );
        let git = world.git.borrow();
        let taken_in = self
            .merged
            .get(&MergeTarget::Agent(task.clone()))
            .into_iter()
            .flatten();
        for before in self
            .merged
            .get(&self.into)
            .into_iter()
            .flatten()
            .chain(taken_in)
        {
            assert!(git.contains(commit, before), "{before} is lost in {commit}");
        }
        let is_new = self
            .merged
            .entry(self.into.clone())
            .or_default()
            .insert(commit.clone());
        assert!(is_new, "{commit} was merged twice");
    }

    /// Requires that no task is stuck and no message lost.
    pub(crate) fn require_complete(&self, world: &World) {
        let state = &*world.state.borrow();
        require_result(world, state);
        for record in state.tasks() {
            let is_unmerged = state.settings.merge == MergeMode::None
                && matches!(record.state(), TaskState::Verified | TaskState::Pending);
            assert!(
                record.state().is_settled() || is_unmerged,
                "{} is left {:?}",
                record.task.id,
                record.state()
            );
        }
        for message @ (from, to, sequence) in &self.sent {
            let Some(to) = to.agent() else { continue };
            let of = |unread: &Envelope| {
                (&unread.from, unread.to.agent(), unread.sequence) == (from, Some(to), *sequence)
            };
            let is_unread = state.unread().any(of);
            let is_delivered = self.taken.contains(message);
            assert!(is_delivered != is_unread, "message {message:?} is lost");
            let is_read_later = state
                .task(to)
                .is_some_and(|record| record.state() == TaskState::Pending);
            let has_ended = state
                .task(to)
                .is_some_and(|record| record.state().is_settled());
            assert!(
                is_delivered || has_ended || is_read_later,
                "message {message:?} waits"
            );
        }
        assert!(
            self.reserved.is_empty(),
            "a reservation is left: {:?}",
            self.reserved
        );
    }
}

/// Requires that the result contains the work of exactly the tasks that are part of it.
fn require_result(world: &World, state: &RunState) {
    let (tree, git) = (world.tree_of(&state.integration), world.git.borrow());
    for record in state.tasks() {
        let is_in = state.is_in_result(record);
        let own = world.scenario.scripts[&record.task.id].own_file();
        assert_eq!(
            tree.contains_key(&own),
            is_in,
            "the work of {} in the result",
            record.task.id
        );
        if let Some(merged) = record.merged().last().filter(|_| is_in) {
            assert!(
                git.contains(&state.integration, &merged.commit),
                "the merge of {} is lost",
                record.task.id
            );
        }
    }
}
