//! Every offered action is accepted, in whatever state a run is.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::event::{AdoptedWork, Event, RunStatus, VERSION, VerifyScope};
use orchestrate_core::messages::{Origin, Sender};
use orchestrate_core::projections::report::Standing;
use orchestrate_core::projections::review::{BranchChanges, OwnChanges, ReviewEntry};
use orchestrate_core::run::request::{Adoption, Allowance, Request, RequestRefused};
use orchestrate_core::task::{FailureCause, ReturnCause, Work};
use orchestrate_core::{
    Action, BlobId, CallOfTurn, MergeStep, MessageKind, Oid, Outgoing, Recorded, Reopening,
    RequestHash, RequestParts, RunSettings, RunState, Task, TaskId, TaskRecord, TaskState, Usage,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

use crate::facts;
use crate::facts::{cancelled, ended, finished, merge_prepared, merge_started, merged, resumed};

/// A random walk through a run; invalid events are skipped.
struct Walk {
    state: RunState,
    now: u64,
    commits: u32,
}

/// One step: the task, the event, and the time it took.
type Push = (bool, u8, u8);

impl Walk {
    fn of(settings: RunSettings, tokens: Option<u64>) -> Walk {
        let started = Event::RunStarted {
            plan: None,
            plan_source: None,
            title: None,
            base_branch: settings.land.then(|| "main".to_owned()),
            settings: Box::new(settings),
            base_commit: Oid::from("base"),
        };
        let first = Recorded {
            run_id: "r-abcdef".into(),
            seq: 1,
            ts_ms: 0,
            v: VERSION,
            event: started,
        };
        let mut walk = Walk {
            state: RunState::begin(&first).unwrap(),
            now: 0,
            commits: 0,
        };
        let verify = Some("true".to_owned());
        let agent = Task {
            id: "T1".into(),
            verify,
            tokens,
            ..Task::default()
        };
        let work = Work::Run("make".to_owned());
        let command = Task {
            id: "T2".into(),
            work,
            depends: vec!["T1".into()],
            ..Task::default()
        };
        for task in [agent, command] {
            walk.tell(Event::planned(task));
        }
        walk
    }

    fn tell(&mut self, event: Event) {
        let (run_id, seq) = (self.state.run_id.clone(), self.state.seq + 1);
        let mut next = self.state.clone();
        if next
            .apply(&Recorded {
                run_id,
                seq,
                ts_ms: self.now,
                v: VERSION,
                event,
            })
            .is_ok()
        {
            assert_eq!(next, next.with_new_agenda());
            self.state = next;
        }
    }

    fn push(&mut self, (second, what, pause): Push) {
        self.now += u64::from(pause);
        let task = TaskId::from(if second { "T2" } else { "T1" });
        let attempt = self.state.task(&task).unwrap().attempt() + 1;
        let tree = tree_of(&self.state, &task);
        match what {
            0..5 => self
                .state
                .due_facts()
                .into_iter()
                .for_each(|due| self.tell(due)),
            5..9 => self.tell(spawned(&task, attempt)),
            9..12 => {
                // Each with a snapshot before it, as the agent's work is committed.
                self.commits += u32::from(what != 9);
                let (commit, tree) = (format!("c{}", self.commits), format!("t{}", self.commits));
                self.tell(snapshot(&task, &commit, &tree));
                self.tell(committed(&task, &commit, &tree));
            }
            12 => self.tell(verified(&task, tree, true)),
            13 => self.tell(failed(&task, FailureCause::NoChanges)),
            14 => self.tell(failed(&task, FailureCause::Timeout)),
            15 => self.tell(failed(&task, FailureCause::Budget)),
            16 => self.tell(conflicted(&task)),
            17 => self.tell(ended(task)),
            18..21 => self.merge(),
            21 => self.tell(cancelled(task, "")),
            22 if attempt > 1 => self.tell(returned(&task, ReturnCause::TaskCheck)),
            23 => self.tell(asked(&task, self.state.seq)),
            // The other task is a command.
            31 => self.question(&"T1".into(), attempt),
            24 => self.spend(&task),
            25 => self.land(),
            26 => self.tell(finished(RunStatus::NeedsHuman, 3)),
            27 => self.tell(resumed()),
            28 => self.ask(&Request::Reject {
                task,
                message: String::new(),
                at: None,
            }),
            29 => self.ask(&Request::Retry {
                task,
                message: None,
            }),
            30 => self.tell(rejected(&task)),
            33 => self.ask(&adoption_of(&self.state, &task)),
            _ => self.ask(&Request::Approve { task, tree }),
        }
    }

    fn question(&mut self, task: &TaskId, turn: u32) {
        let call = Some(CallOfTurn {
            turn,
            call: format!("q{}", self.state.seq).as_str().into(),
        });
        let origin = Origin {
            from: Sender::Agent(task.clone()),
            call,
            channels: None,
        };
        let question = Outgoing {
            waits: turn.is_multiple_of(2),
            ..Outgoing::new("user", "which?")
        };
        let question = Outgoing {
            kind: Some(MessageKind::Question),
            ..question
        };
        if let Ok(routed) = self.state.decide_message(&origin, &question) {
            routed.events.into_iter().for_each(|event| self.tell(event));
        }
    }

    fn merge(&mut self) {
        let Some(MergeStep::Merge {
            task,
            target,
            candidate,
            ..
        }) = self.state.next_merge()
        else {
            return;
        };
        let commit = Oid::new(format!("m{}", self.state.seq));
        let (prepared, tree) = (commit.clone(), Oid::from("merged"));
        self.tell(merge_started(task.clone(), target.clone(), candidate));
        self.tell(merge_prepared(task.clone(), prepared, tree));
        self.tell(merged(task, commit, target));
    }

    fn spend(&mut self, task: &TaskId) {
        let (request, reply) = (RequestHash::from("request"), BlobId::from("reply"));
        let usage = Usage {
            input_tokens: 90,
            ..Usage::default()
        };
        let requested = Event::ModelRequested {
            task: task.clone(),
            turn: 1,
            model: "m".into(),
            request,
            parts: RequestParts::anew("system".into(), "tools".into(), vec!["message".into()], 100),
            reserved_tokens: 100,
            reserved_micro_usd: None,
        };
        self.tell(requested);
        let stop = orchestrate_core::StopReason::EndTurn;
        self.tell(Event::ModelReplied {
            task: task.clone(),
            turn: 1,
            reply,
            usage,
            micro_usd: None,
            stop,
        });
    }

    fn land(&mut self) {
        let (from, to) = (Oid::from("from"), self.state.integration.clone());
        self.tell(Event::LandingStarted {
            branch: "main".to_owned(),
            from: from.clone(),
            to: to.clone(),
        });
        self.tell(Event::RunLanded {
            branch: "main".to_owned(),
            from,
            to,
        });
    }

    fn ask(&mut self, request: &Request) {
        use orchestrate_core::run::request::Decision;
        match self.state.decide(request).map(|accepted| accepted.decision) {
            Ok(Decision::Record(facts)) => facts.into_iter().for_each(|fact| self.tell(fact)),
            Ok(Decision::Return(back)) => {
                back.tasks
                    .iter()
                    .for_each(|task| self.tell(returned(task, back.cause)));
            }
            Ok(Decision::Adopt(Adoption {
                task, commit, tree, ..
            })) => {
                let (approved, rest) = (self.state.seq.is_multiple_of(2), None);
                self.tell(Event::WorkAdopted(AdoptedWork {
                    task,
                    commit,
                    tree,
                    approved,
                    admitted: Vec::new(),
                    rest,
                }));
            }
            Ok(Decision::Stop) | Err(_) => {}
        }
    }

    /// Returns all offered actions: for the run, and for each reviewed task.
    fn offered(&self) -> Vec<Action> {
        let reports = [true, false].map(|is_live| Standing {
            state: self.state.clone().into(),
            is_live,
        });
        let of_run = reports
            .iter()
            .flat_map(|standing| standing.report().actions(&self.state));
        let of_tasks = self
            .state
            .tasks()
            .flat_map(|record| self.state.actions(&record.task.id));
        of_run
            .chain(of_tasks)
            .chain(self.of_own_changes())
            .collect()
    }

    /// Returns what a review offers if the user has changed something in every worktree where that
    /// can be taken.
    fn of_own_changes(&self) -> Vec<Action> {
        let own = |record: &TaskRecord| {
            let is_open = self.state.require_adoptable(&record.task.id).is_ok();
            is_open.then(|| OwnChanges {
                commits: 1,
                files: Vec::new(),
            })
        };
        let changes = self.state.tasks().map(|record| {
            (
                record.task.id.clone(),
                BranchChanges {
                    own: own(record),
                    ..BranchChanges::default()
                },
            )
        });
        let standing = Standing {
            state: self.state.clone().into(),
            is_live: true,
        };
        let listed = ReviewEntry::listing(&standing, &changes.collect());
        listed.iter().flat_map(ReviewEntry::actions).collect()
    }
}

/// Returns the request that makes a commit on a task's branch its work.
fn adoption_of(state: &RunState, task: &TaskId) -> Request {
    let tip = state
        .task(task)
        .and_then(|record| record.tip().cloned())
        .unwrap_or_else(|| "none".into());
    let (task, commit, tree) = (task.clone(), "own".into(), "own-tree".into());
    Request::Adopt(Adoption {
        task,
        tip,
        commit,
        tree,
        part: None,
    })
}

/// Returns the tree of a task's work, or an unrelated one if there is none.
fn tree_of(state: &RunState, task: &TaskId) -> Oid {
    let tree = state.task(task).and_then(|record| record.tree().cloned());
    tree.unwrap_or_else(|| Oid::from("none"))
}

fn spawned(task: &TaskId, attempt: u32) -> Event {
    let branch = format!("orchestrate/r-abcdef/{task}");
    let agent = (task.as_str() == "T1").then(|| "implementer".to_owned());
    Event::AgentSpawned {
        task: task.clone(),
        attempt,
        agent,
        model: None,
        branch,
        base: Oid::from("base"),
        spec: None,
        sends: None,
    }
}

fn snapshot(task: &TaskId, commit: &str, tree: &str) -> Event {
    facts::snapshot(task.clone(), commit, tree)
}

fn committed(task: &TaskId, commit: &str, tree: &str) -> Event {
    facts::committed(task.clone(), commit, tree)
}

fn verified(task: &TaskId, tree: Oid, passed: bool) -> Event {
    facts::verified(task.clone(), VerifyScope::Task, tree, passed)
}

fn failed(task: &TaskId, cause: FailureCause) -> Event {
    facts::failed(task.clone(), cause, "")
}

fn rejected(task: &TaskId) -> Event {
    let (endpoint, error) = ("http://e/v1".to_owned(), "authenticate".to_owned());
    Event::ModelRejected {
        task: task.clone(),
        turn: 1,
        endpoint,
        error,
    }
}

fn conflicted(task: &TaskId) -> Event {
    facts::conflicted(task.clone())
}

fn returned(task: &TaskId, cause: ReturnCause) -> Event {
    facts::returned(task.clone(), cause)
}

fn asked(task: &TaskId, seq: u64) -> Event {
    Event::ApprovalRequested {
        task: task.clone(),
        call: format!("call{seq}").as_str().into(),
        call_id: "1".into(),
        tool: "run_shell_command".to_owned(),
        summary: "ls".to_owned(),
        arguments: serde_json::Value::Null,
        rule: "ask".to_owned(),
    }
}

/// Requires that an offered action is accepted, or refused only because the time is used up.
fn require_accepted(state: &RunState, action: &Action) -> Result<(), TestCaseError> {
    let request = match action.clone() {
        Action::Approve(task) => Request::Approve {
            tree: tree_of(state, &task),
            task,
        },
        Action::Reject(task) => Request::Reject {
            task,
            message: "no".to_owned(),
            at: None,
        },
        Action::Retry(task) => Request::Retry {
            task,
            message: None,
        },
        Action::Adopt(task) => adoption_of(state, &task),
        Action::Answer(call) => Request::Decide {
            call,
            allowed: true,
            message: None,
        },
        Action::Reply { task, question } => {
            let (to, body) = (task.into(), "this one".into());
            Request::Message {
                to,
                body,
                kind: None,
                reply_to: Some(question),
                deadline_seconds: None,
            }
        }
        Action::Resume {
            more_tokens,
            more_money,
            more_time,
        } if more_tokens || more_money || more_time => {
            let time = more_time.then_some(Duration::from_secs(1_000_000));
            let micro_usd = more_money.then_some(1_000_000);
            let given = Allowance {
                time,
                tokens: more_tokens.then_some(1_000_000),
                micro_usd,
            };
            let resumed = state.decide_resumption(given);
            // A resumption alone lets go on what waits for an endpoint.
            let goes_on = resumed == Ok(None) && !state.rejecting_endpoints().is_empty();
            prop_assert!(
                goes_on || matches!(resumed, Ok(Some(_))),
                "{:?}: {:?}",
                action,
                resumed
            );
            return Ok(());
        }
        Action::Drop {
            task,
            with_dependents,
        } => {
            prop_assert!(
                state.decide_drop(&task, with_dependents).is_ok(),
                "{:?}",
                action
            );
            return Ok(());
        }
        Action::Land | Action::MergeByHand(_) => {
            prop_assert!(
                !state.is_landed() && state.rejected_in_result().is_empty(),
                "{:?}",
                action
            );
            return Ok(());
        }
        _ => return Ok(()),
    };
    let decided = state.decide(&request);
    let has_no_time = matches!(decided, Err(RequestRefused::OutOfTime { .. }));
    prop_assert!(
        decided.is_ok() || has_no_time && state.time_left() == Some(Duration::ZERO),
        "{:?}",
        decided
    );
    Ok(())
}

/// Returns a name for each kind of action.
fn kind(action: &Action) -> String {
    match action {
        Action::Resume { .. } => format!("{action:?}"),
        other => format!("{other:?}")
            .chars()
            .take_while(|c| c.is_ascii_alphabetic())
            .collect(),
    }
}

#[test]
fn each_action_that_is_offered_is_accepted() {
    let settings = (
        prop::sample::select(vec![MergeMode::Auto, MergeMode::Review, MergeMode::None]),
        prop::option::of(20u64..200),
        prop::option::of(50u64..400),
        any::<bool>(),
    );
    let settings = settings.prop_map(|(merge, timeout_ms, budget_tokens, land)| RunSettings {
        merge,
        timeout_ms,
        budget_tokens,
        land,
        ..RunSettings::default()
    });
    let pushes = prop::collection::vec((any::<bool>(), 0u8..34, 0u8..16), 1..80);
    let walks = (settings, prop::option::of(50u64..200), pushes);
    let seen = RefCell::new(BTreeSet::new());
    let ran = TestRunner::new_with_rng(
        Config {
            cases: 1_000,
            failure_persistence: None,
            ..Config::default()
        },
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    )
    .run(&walks, |(settings, tokens, pushes)| {
        let mut walk = Walk::of(settings, tokens);
        for push in pushes {
            walk.push(push);
            for action in walk.offered() {
                require_accepted(&walk.state, &action)?;
                seen.borrow_mut().insert(kind(&action));
            }
        }
        Ok(())
    });
    assert!(
        matches!(ran, Ok(())),
        "{}",
        ran.err()
            .map_or_else(String::new, |error: TestError<_>| error.to_string())
    );
    // Every kind of action was offered, and all were accepted.
    let expected = [
        "Adopt",
        "Answer",
        "Approve",
        "Land",
        "Log",
        "MergeByHand",
        "Reject",
        "Reply",
        "Resume { more_tokens: false, more_money: false, more_time: false }",
        "Resume { more_tokens: false, more_money: false, more_time: true }",
        "Resume { more_tokens: true, more_money: false, more_time: false }",
        "Resume { more_tokens: true, more_money: false, more_time: true }",
        "Retry",
        "Review",
        "RunAnotherPlan",
        "Stop",
    ];
    assert_eq!(seen.into_inner(), expected.map(str::to_owned).into());
}

#[test]
fn each_state_has_its_way_back_to_the_agent() {
    use TaskState::*;
    for (states, expected) in [
        (vec![Verified, AwaitingReview, Merged], Reopening::Reject),
        (vec![Failed, Conflicted, Cancelled], Reopening::Retry),
        (vec![Skipped], Reopening::RetryDependency),
        (
            vec![Pending, Ready, Running, Waiting, Committed],
            Reopening::Resume,
        ),
    ] {
        assert!(
            states.iter().all(|state| state.reopening() == expected),
            "{states:?}"
        );
    }
}
