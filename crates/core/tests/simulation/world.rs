//! The journal and the repository that processes work on, and how a process reaches them.
//!
//! Every access suspends the job first, so that others come before it, and a crash can come between
//! any two.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use orchestrate_core::event::{Event, Recorded, VERSION};
use orchestrate_core::{
    BlobId, ModelReply, Oid, RunState, ShutdownLevel, TaskId, TaskRecord, ToolAnswer,
};

use crate::git::Git;
use crate::ledger::Ledger;
use crate::random::Random;
use crate::scenario::Scenario;

/// How often the lists that the run's state keeps are compared with those of all records: once in
/// this many events.
const AGENDA_EVERY: u64 = 5;

/// The branch with the result.
pub(crate) const INTEGRATION: &str = "integration";

/// A stored text or value.
#[derive(Clone, Debug)]
pub(crate) enum Blob {
    Reply(ModelReply),
    Answer(ToolAnswer),
}

/// What a process shares among its jobs. Only the state, which is derived, is lost in a crash.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) git: RefCell<Git>,
    pub(crate) random: RefCell<Random>,
    pub(crate) state: RefCell<RunState>,
    pub(crate) level: Cell<ShutdownLevel>,
    journal: RefCell<Vec<Recorded>>,
    blobs: RefCell<BTreeMap<BlobId, Blob>>,
    ledger: RefCell<Ledger>,
    now_ms: Cell<u64>,
    /// Whether the job that is polled waits for a change of the state.
    pub(crate) is_blocked: Cell<bool>,
}

impl World {
    pub(crate) fn new(scenario: Scenario, order: u64) -> Self {
        let mut git = Git::default();
        let empty = git.store(&BTreeMap::new());
        let base = git.commit(&empty, &[]);
        git.set_ref(INTEGRATION, &base);
        let started = Event::RunStarted {
            plan: None,
            plan_source: None,
            title: None,
            settings: Box::new(scenario.settings.clone()),
            base_commit: base,
            base_branch: None,
        };
        let first = Recorded {
            run_id: "r-abcdef".into(),
            seq: 1,
            ts_ms: 1_000,
            v: VERSION,
            event: started,
        };
        let world = Self {
            git: RefCell::new(git),
            random: RefCell::new(Random::new(order)),
            state: RefCell::new(RunState::begin(&first).unwrap()),
            level: Cell::default(),
            journal: RefCell::new(vec![first]),
            blobs: RefCell::default(),
            ledger: RefCell::new(Ledger::new(&scenario)),
            now_ms: Cell::new(1_000),
            is_blocked: Cell::new(false),
            scenario,
        };
        let added = world.scenario.plan.iter().cloned().map(Event::planned);
        world.record(added.collect());
        world
    }

    /// Suspends the job once, or lets it go on at once.
    pub(crate) async fn pause(&self) {
        let mut is_over = self.random.borrow_mut().percent(30);
        poll_fn(|_| {
            if std::mem::replace(&mut is_over, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Suspends the job until the state is so.
    pub(crate) async fn until(&self, is_so: impl Fn(&RunState) -> bool) {
        poll_fn(|_| {
            let is_over = is_so(&self.state.borrow());
            self.is_blocked.set(!is_over);
            if is_over {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Records what is decided on the newest state, and returns the number of the newest event.
    pub(crate) async fn append(&self, decide: impl FnOnce(&RunState) -> Vec<Event>) -> usize {
        self.pause().await;
        let events = decide(&self.state.borrow());
        let count = self.record(events);
        self.pause().await;
        count
    }

    /// Records events at once, and returns how many they are.
    pub(crate) fn record(&self, events: Vec<Event>) -> usize {
        let count = events.len();
        for event in events {
            self.now_ms
                .set(self.now_ms.get() + self.random.borrow_mut().next() % 2_000);
            let seq = self.state.borrow().seq + 1;
            let (run_id, ts_ms) = ("r-abcdef".into(), self.now_ms.get());
            let fact = Recorded {
                run_id,
                seq,
                ts_ms,
                v: VERSION,
                event,
            };
            let applied = self.state.borrow_mut().apply(&fact);
            self.journal.borrow_mut().push(fact.clone());
            applied.unwrap();
            self.require_current_agenda();
            self.ledger.borrow_mut().note(self, &fact.event);
        }
        count
    }

    /// Requires that the lists which are kept are those of all records.
    fn require_current_agenda(&self) {
        let state = self.state.borrow();
        if state.seq.is_multiple_of(AGENDA_EVERY) {
            assert_eq!(
                *state,
                state.with_new_agenda(),
                "a list is not that of the records"
            );
        }
    }

    /// Does something in the repository.
    pub(crate) async fn effect<T>(&self, act: impl FnOnce(&mut Git) -> T) -> T {
        self.pause().await;
        act(&mut self.git.borrow_mut())
    }

    pub(crate) fn chance(&self, percent: usize) -> bool {
        self.random.borrow_mut().percent(percent)
    }

    pub(crate) fn task(&self, task: &TaskId) -> TaskRecord {
        self.state.borrow().task(task).unwrap().clone()
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.level.get() >= ShutdownLevel::Stop
    }

    pub(crate) fn keep(&self, blob: Blob) -> BlobId {
        let mut blobs = self.blobs.borrow_mut();
        let id = BlobId::new(format!("b{}", blobs.len()));
        blobs.insert(id.clone(), blob);
        id
    }

    pub(crate) fn blob(&self, id: &BlobId) -> Blob {
        self.blobs.borrow()[id].clone()
    }

    /// Returns the events of a task, and the messages to it.
    pub(crate) fn history(&self, task: &TaskId) -> Vec<Recorded> {
        let is_of_task = |fact: &&Recorded| match &fact.event {
            Event::MessageSent { envelope } => envelope.to.agent() == Some(task),
            Event::MessageDelivered { to, .. } => to == task,
            other => other.task() == Some(task),
        };
        self.journal
            .borrow()
            .iter()
            .filter(is_of_task)
            .cloned()
            .collect()
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, milliseconds: u64) {
        self.now_ms.set(self.now_ms.get() + milliseconds);
    }

    /// Replaces the state by that of the journal, as a process does that takes over.
    pub(crate) fn replay(&self) {
        let replayed = RunState::replay(&*self.journal.borrow()).unwrap().unwrap();
        assert_eq!(
            replayed,
            *self.state.borrow(),
            "the state is not the fold of the journal"
        );
        self.state.replace(replayed);
    }

    /// Repeats what was recorded before: the state has to refuse it.
    pub(crate) fn repeat(&self) {
        let journal = self.journal.borrow();
        let at = self.random.borrow_mut().below(journal.len());
        let (old, mut state) = (&journal[at], self.state.borrow_mut());
        let before = state.clone();
        assert!(
            state.apply(old).is_err(),
            "an old fact was accepted: {old:?}"
        );
        let is_once = matches!(
            old.event,
            Event::TaskAdded { .. }
                | Event::MessageSent { .. }
                | Event::MessageDelivered { .. }
                | Event::MessageExpired(_)
                | Event::ApprovalDecided { .. }
                | Event::RunStarted { .. }
        );
        if is_once {
            let again = Recorded {
                seq: state.seq + 1,
                ..old.clone()
            };
            assert!(
                state.apply(&again).is_err(),
                "a fact was accepted twice: {old:?}"
            );
        }
        assert_eq!(
            before, *state,
            "a refused fact has changed the state: {old:?}"
        );
    }

    /// Reports whether nothing is lost, once nothing is left to do.
    pub(crate) fn require_complete(&self) {
        self.ledger.borrow().require_complete(self);
    }

    pub(crate) fn trace(&self) -> String {
        let line = |fact: &Recorded| {
            format!(
                "{} {}",
                fact.seq,
                serde_json::to_string(&fact.event).unwrap()
            )
        };
        self.journal
            .borrow()
            .iter()
            .skip(1)
            .map(line)
            .collect::<Vec<_>>()
            .join("\n")
    }

    pub(crate) fn events(&self) -> usize {
        self.journal.borrow().len()
    }

    /// Returns the name of a task's branch.
    pub(crate) fn branch(&self, task: &TaskId) -> String {
        self.state.borrow().run_id.task_branch(task)
    }

    pub(crate) fn tree_of(&self, commit: &Oid) -> crate::git::Tree {
        let git = self.git.borrow();
        git.tree(&git.tree_of(commit)).clone()
    }
}

/// A world that its jobs share.
pub(crate) type Shared = Rc<World>;
