//! A worker: takes one task from its recorded state to the point where another party has to act.
//!
//! It follows the coordinator's (`crates/coordinator/src/worker/{spawn,work,faulty_work}.rs`) step
//! by step; every decision is the one of this crate.

use std::collections::BTreeMap;

use orchestrate_core::checks::flaky::AfterRedCheck;
use orchestrate_core::event::{Event, ToolOutcome, VerifyScope};
use orchestrate_core::record::{
    ChildrenSettled, FinishedWork, HandOver, HandOverFinding, HandOverOutcome, HandOverStep,
};
use orchestrate_core::task::{Delivers, FailureCause, ReturnCause};
use orchestrate_core::{
    AfterFault, BlobId, CallId, Oid, ReportGiven, ReviewEnd, TaskId, TaskRecord, VerdictEnd,
    WithoutChanges, WorkStep,
};

use crate::agent::{self, DriverEnd};
use crate::model::{RETURNED_BY_REVIEW, RETURNED_OTHERWISE};
use crate::world::{Shared, World};

/// Runs a worker for a task until it ends.
pub(crate) async fn start(world: Shared, task: TaskId) {
    if let Some(WorkStep::Begin { attempt }) = world.task(&task).next_work() {
        begin(&world, &task, attempt).await;
    }
    loop {
        let record = world.task(&task);
        let goes_on = match record.next_work() {
            Some(WorkStep::SetUp) => set_up(&world, &record).await,
            Some(WorkStep::BringFiles { from, to }) => {
                bring_files(&world, &record, (from, to)).await
            }
            Some(WorkStep::MergeInto { onto }) => merge_into(&world, &record, onto).await,
            Some(WorkStep::Drive) => drive(&world, &record).await,
            Some(WorkStep::Verify { command, tree }) => check(&world, &record, command, tree).await,
            Some(WorkStep::Begin { .. }) | None => false,
        };
        if !goes_on || world.has_stopped() {
            return;
        }
    }
}

/// Starts an attempt.
async fn begin(world: &World, task: &TaskId, attempt: u32) {
    let record = world.task(task);
    let (trees, target) = {
        let state = world.state.borrow();
        let trees = if record.task.verdict {
            state.work_under_review(task)
        } else {
            BTreeMap::new()
        };
        let target = state.target_tip(&record).clone();
        (
            trees,
            if record.task.verdict {
                state.integration.clone()
            } else {
                target
            },
        )
    };
    let is_new = record.task.verdict && (record.attempt() == 0 || *record.shown_work() != trees);
    let base = match record.base() {
        _ if is_new => join(world, &trees, target).await,
        Some(base)
            if record.returns() > 0
                && !record.is_command()
                && !is_merged(world, &record, &target) =>
        {
            base.clone()
        }
        _ => record.first_base().unwrap_or(&target).clone(),
    };
    let agent = (!record.is_command()).then(|| "implementer".to_owned());
    let spec = (!record.is_command()).then(|| BlobId::from("spec"));
    let branch = world.branch(task);
    let model = agent.as_ref().map(|_| "script:x".to_owned());
    let spawned = Event::AgentSpawned {
        task: task.clone(),
        attempt,
        agent,
        model,
        branch,
        base,
        spec,
        sends: None,
    };
    let news =
        (is_new && record.spec().is_some()).then(|| returned(task, ReturnCause::NewWork, None));
    let decide = |state: &orchestrate_core::RunState| {
        let is_next =
            state.task(task).and_then(TaskRecord::next_work) == Some(WorkStep::Begin { attempt });
        let is_current = state.work_under_review(task) == trees;
        if is_next && is_current {
            std::iter::once(spawned).chain(news).collect()
        } else {
            Vec::new()
        }
    };
    world.append(decide).await;
}

/// Merges the work that is reviewed into a commit; what conflicts stays out.
async fn join(world: &World, trees: &BTreeMap<TaskId, Oid>, onto: Oid) -> Oid {
    let mut base = onto;
    for task in trees.keys() {
        let Some(work) = world.task(task).commit().cloned() else {
            continue;
        };
        base = world
            .effect(|git| {
                let merged = git.merge(&base, &work);
                if !merged.conflicts.is_empty() {
                    return base.clone();
                }
                let tree = git.store(&merged.files);
                git.commit(&tree, &[&base, &work])
            })
            .await;
    }
    base
}

fn is_merged(world: &World, record: &TaskRecord, target: &Oid) -> bool {
    let own = record.tip().filter(|tip| record.base() != Some(tip));
    own.is_some_and(|tip| world.git.borrow().contains(target, tip))
}

async fn set_up(world: &World, record: &TaskRecord) -> bool {
    let (task, tip) = (&record.task.id, record.tip().unwrap());
    let branch = world.branch(task);
    world
        .effect(|git| {
            git.set_ref(&branch, tip);
            git.check_out(task, tip);
        })
        .await;
    world
        .append(|_| {
            vec![Event::WorktreePrepared {
                task: task.clone(),
                onto: None,
            }]
        })
        .await;
    true
}

/// Brings the files of what was merged into the branch into the worktree.
async fn bring_files(world: &World, record: &TaskRecord, (from, to): (Oid, Oid)) -> bool {
    let task = &record.task.id;
    world.effect(|git| git.bring(task, &from, &to)).await;
    world
        .append(|_| {
            vec![Event::WorktreePrepared {
                task: task.clone(),
                onto: Some(to),
            }]
        })
        .await;
    true
}

/// Writes the merge that work was returned with into the worktree.
async fn merge_into(world: &World, record: &TaskRecord, onto: Oid) -> bool {
    let (task, tip) = (&record.task.id, record.tip().unwrap());
    world
        .effect(|git| {
            let merged = git.merge(tip, &onto);
            let worktree = git.worktree(task);
            (worktree.files, worktree.unresolved) = (merged.files, merged.conflicts);
        })
        .await;
    world
        .append(|_| {
            vec![Event::WorktreePrepared {
                task: task.clone(),
                onto: Some(onto),
            }]
        })
        .await;
    true
}

async fn drive(world: &World, record: &TaskRecord) -> bool {
    let task = &record.task.id;
    let end = if record.is_command() {
        command(world, record).await
    } else {
        agent::drive(world, task).await
    };
    match end {
        DriverEnd::Parked | DriverEnd::Interrupted => false,
        DriverEnd::Finished(summary) => hand_over(world, task, summary).await,
        DriverEnd::Failed(cause, report) => {
            fail_with(world, task, cause, report).await;
            false
        }
    }
}

/// Runs the command of a task; an interrupted one is rerun in a fresh worktree.
async fn command(world: &World, record: &TaskRecord) -> DriverEnd {
    let task = &record.task.id;
    for call in record.open_calls() {
        world
            .append(|_| {
                vec![agent::finished(
                    world,
                    task,
                    (0, call),
                    (ToolOutcome::Interrupted, "interrupted"),
                )]
            })
            .await;
    }
    if record.tip() == record.base() {
        let call = CallId::new(format!("run-{}-{}", record.attempt(), record.returns()));
        world
            .append(|_| vec![agent::started(task, (0, &call))])
            .await;
        let scenario = &world.scenario;
        for act in &scenario.scripts[task].acts {
            if let crate::scenario::Act::Write(file) = act {
                world
                    .effect(|git| scenario.write(task, *file, &mut git.worktree(task).files))
                    .await;
            }
        }
        if world.has_stopped() {
            world
                .append(|_| {
                    vec![agent::finished(
                        world,
                        task,
                        (0, &call),
                        (ToolOutcome::Interrupted, "stopped"),
                    )]
                })
                .await;
            return DriverEnd::Interrupted;
        }
        world
            .append(|_| {
                vec![agent::finished(
                    world,
                    task,
                    (0, &call),
                    (ToolOutcome::Ok, "ok"),
                )]
            })
            .await;
    }
    DriverEnd::Finished("It ran.".to_owned())
}

/// Makes the finished work the tip of the task's branch; returns whether there is more to do.
async fn hand_over(world: &World, task: &TaskId, summary: String) -> bool {
    let record = world.task(task);
    let is_review = record.task.verdict;
    let work = FinishedWork {
        delivers: if is_review {
            Delivers::Verdict
        } else {
            Delivers::Changes
        },
        is_review,
    };
    let mut found = HandOverFinding::Nothing;
    loop {
        found = match work.next_step(found) {
            HandOverStep::FindConflicts => HandOverFinding::Conflicts {
                are_left: !world.git.borrow_mut().worktree(task).unresolved.is_empty(),
            },
            HandOverStep::KeepFiles => HandOverFinding::Kept { takes_claims: true },
            HandOverStep::CommitFiles => {
                commit(world, &record).await;
                HandOverFinding::Committed
            }
            HandOverStep::SettleChildren => HandOverFinding::Settled {
                children: settle_children(world, task).await,
                is_with_work: world.task(task).has_childrens_work(),
            },
            HandOverStep::FindChanges => {
                let (record, commit, tree) = tip(world, task);
                HandOverFinding::Changes {
                    are_found: !record.changes_nothing(&commit, &tree),
                }
            }
            HandOverStep::Compare => HandOverFinding::Compared { takes_claims: true },
            HandOverStep::End(outcome) => return conclude(world, task, outcome, summary).await,
        };
    }
}

/// Returns the task's record with the commit and the tree of its branch's tip.
fn tip(world: &World, task: &TaskId) -> (TaskRecord, Oid, Oid) {
    let record = world.task(task);
    let commit = record.tip().unwrap().clone();
    let tree = world.git.borrow().tree_of(&commit);
    (record, commit, tree)
}

/// Carries out what becomes of finished work; returns whether there is more to do.
async fn conclude(world: &World, task: &TaskId, outcome: HandOverOutcome, summary: String) -> bool {
    let (record, commit, tree) = tip(world, task);
    match outcome {
        HandOverOutcome::Conflicted => send_back(world, &record, ReturnCause::Conflict).await,
        HandOverOutcome::WorkLeft => true,
        HandOverOutcome::Waits => false,
        HandOverOutcome::Review => end_review(world, task, summary).await,
        HandOverOutcome::Unchanged => without_changes(world, &record, summary).await,
        HandOverOutcome::Commit => {
            let task = task.clone();
            let committed = Event::TaskCommitted {
                task,
                commit,
                tree,
                summary,
            };
            hand(world, committed).await;
            true
        }
        HandOverOutcome::ClaimsRefused | HandOverOutcome::Plan | HandOverOutcome::Report => {
            panic!("no role of the simulation ends with {outcome:?}")
        }
    }
}

/// Lets an agent wait for those that it spawned, or tells it of them, before it hands over.
async fn settle_children(world: &World, task: &TaskId) -> ChildrenSettled {
    let mut settled = ChildrenSettled::WorkLeft;
    let decide = |state: &orchestrate_core::RunState| match state.decide_hand_over(task) {
        HandOver::Now => {
            settled = ChildrenSettled::Done;
            Vec::new()
        }
        HandOver::AfterMessages => Vec::new(),
        HandOver::AfterChildren(wait) => {
            settled = ChildrenSettled::Waits;
            vec![*wait]
        }
        HandOver::AfterNews => vec![returned(task, ReturnCause::ChildrenEnded, None)],
    };
    world.append(decide).await;
    settled
}

/// Commits the worktree, if it differs from the branch's tip or concludes a merge.
pub(crate) async fn commit(world: &World, record: &TaskRecord) {
    let (task, tip, onto) = (&record.task.id, record.tip().unwrap(), record.onto());
    let made = world
        .effect(|git| {
            let files = git.worktree(task).files.clone();
            let tree = git.store(&files);
            let is_new = tree != git.tree_of(tip) || onto.is_some();
            let parents: Vec<&Oid> = std::iter::once(tip).chain(onto).collect();
            is_new.then(|| (git.commit(&tree, &parents), tree))
        })
        .await;
    let Some((commit, tree)) = made else { return };
    let number = record.snapshot().map_or(1, |snapshot| snapshot.number + 1);
    let (left_out, of) = (Vec::new(), commit.clone());
    let taken = Event::SnapshotTaken {
        task: task.clone(),
        number,
        commit: of,
        tree,
        on_branch: true,
        replaced: false,
        left_out,
        aside: orchestrate_core::LeftAside::default(),
    };
    world.append(|_| vec![taken]).await;
    let branch = world.branch(task);
    world.effect(|git| git.set_ref(&branch, &commit)).await;
}

/// Records that the work is handed over, unless something has to come before; returns whether it
/// was.
async fn hand(world: &World, event: Event) -> bool {
    let task = event.task().unwrap().clone();
    let is_now =
        |state: &orchestrate_core::RunState| state.decide_hand_over(&task) == HandOver::Now;
    world
        .append(|state| {
            if is_now(state) {
                vec![event]
            } else {
                Vec::new()
            }
        })
        .await
        > 0
}

async fn without_changes(world: &World, record: &TaskRecord, summary: String) -> bool {
    let task = record.task.id.clone();
    match record.without_changes(false) {
        WithoutChanges::Report => {
            !hand(
                world,
                Event::TaskMerged {
                    task,
                    commit: None,
                    target: None,
                    summary: Some(summary),
                },
            )
            .await
        }
        WithoutChanges::NothingToDo => !hand(world, Event::NothingToDo { task, summary }).await,
        WithoutChanges::Fail => {
            fail(world, &task, FailureCause::NoChanges).await;
            false
        }
    }
}

/// Returns faulty work to its agent, or ends its task; returns whether there is more to do.
async fn send_back(world: &World, record: &TaskRecord, cause: ReturnCause) -> bool {
    let task = &record.task.id;
    let goes_back =
        record.after_fault(cause, None, world.scenario.settings.merge_rounds) == AfterFault::Return;
    if goes_back {
        world.append(|_| vec![returned(task, cause, None)]).await;
    } else if cause == ReturnCause::Conflict {
        let conflicted = Event::TaskConflicted {
            task: task.clone(),
            cause,
            message: String::new(),
        };
        world.append(|_| vec![conflicted]).await;
    } else {
        fail(world, task, FailureCause::Check).await;
    }
    goes_back
}

/// Ends a review with its verdict; an agent that has given none is told once.
async fn end_review(world: &World, task: &TaskId, summary: String) -> bool {
    match world.task(task).review_end() {
        ReviewEnd::Conclude => {
            let conclude = |state: &orchestrate_core::RunState| {
                if state.messages_for(task).next().is_some() {
                    return Vec::new();
                }
                state
                    .verdict_end(task)
                    .map(|end| concluded(task, end, summary))
                    .unwrap_or_default()
            };
            world.append(conclude).await == 0
        }
        ReviewEnd::AskForVerdict => {
            world
                .append(|_| vec![returned(task, ReturnCause::NoVerdict, None)])
                .await;
            true
        }
        ReviewEnd::Fail => {
            fail(world, task, FailureCause::NoVerdict).await;
            false
        }
    }
}

fn concluded(task: &TaskId, end: VerdictEnd, summary: String) -> Vec<Event> {
    let reviewer = task.clone();
    match end {
        VerdictEnd::Approve => {
            vec![Event::TaskMerged {
                task: reviewer,
                commit: None,
                target: None,
                summary: Some(summary),
            }]
        }
        VerdictEnd::NothingToDo => vec![Event::NothingToDo {
            task: reviewer,
            summary,
        }],
        VerdictEnd::Await(after) => {
            let ends = after.into_iter().map(|next| match next.after {
                AfterFault::Return => {
                    returned(&next.change.task, ReturnCause::ChangesRequested, None)
                }
                AfterFault::GiveUp(_) => failed(&next.change.task, FailureCause::ChangesRequested),
            });
            std::iter::once(Event::ReviewWaiting { task: reviewer })
                .chain(ends)
                .collect()
        }
    }
}

/// Runs the task's own check; returns whether there is more to do.
async fn check(world: &World, record: &TaskRecord, command: String, tree: Oid) -> bool {
    let (task, scope) = (record.task.id.clone(), VerifyScope::Task);
    let started = Event::VerifyStarted {
        task: task.clone(),
        scope,
        tree: tree.clone(),
        command: command.clone(),
    };
    world.append(|_| vec![started]).await;
    let passed = world
        .scenario
        .passes_own(&task, world.git.borrow().tree(&tree));
    world
        .append(|_| vec![verified(&task, scope, (tree, command), passed)])
        .await;
    let after = world.state.borrow().after_red_check(&task);
    match after {
        _ if passed => false,
        AfterRedCheck::TryAgain => true,
        AfterRedCheck::Blame(_) => send_back(world, record, ReturnCause::TaskCheck).await,
    }
}

/// Returns the event of a check that has ended.
pub(crate) fn verified(
    task: &TaskId,
    scope: VerifyScope,
    (tree, command): (Oid, String),
    passed: bool,
) -> Event {
    let (task, exit, output) = (task.clone(), "exit".to_owned(), BlobId::from("output"));
    Event::VerifyFinished {
        task,
        scope,
        tree,
        command,
        passed,
        exit,
        output,
        duration_ms: 1,
    }
}

/// Returns the event that returns work.
pub(crate) fn returned(task: &TaskId, cause: ReturnCause, onto: Option<Oid>) -> Event {
    let is_review = matches!(cause, ReturnCause::ChangesRequested | ReturnCause::Rejected);
    let text = if is_review {
        RETURNED_BY_REVIEW
    } else {
        RETURNED_OTHERWISE
    };
    Event::TaskReturned {
        task: task.clone(),
        cause,
        text: BlobId::from(text),
        onto,
    }
}

pub(crate) fn failed(task: &TaskId, cause: FailureCause) -> Event {
    Event::TaskFailed {
        task: task.clone(),
        cause,
        message: String::new(),
    }
}

/// Fails a task, unless its work has been handed over meanwhile.
pub(crate) async fn fail(world: &World, task: &TaskId, cause: FailureCause) {
    fail_with(world, task, cause, None).await;
}

/// The same with the last report of an agent that has reached a limit.
async fn fail_with(world: &World, task: &TaskId, cause: FailureCause, report: Option<String>) {
    let decide = |state: &orchestrate_core::RunState| {
        let record = state
            .task(task)
            .filter(|record| record.state().is_workable());
        let cut = record.and_then(TaskRecord::cut);
        let given =
            report.filter(|_| record.is_some_and(|record| record.reached_limit().is_some()));
        let given = given.map(|summary| {
            Event::ReportGiven(ReportGiven {
                task: task.clone(),
                summary,
            })
        });
        cut.into_iter()
            .chain(given)
            .chain(record.map(|_| failed(task, cause)))
            .collect()
    };
    world.append(decide).await;
}
