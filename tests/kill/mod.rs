//! Kills coordinators: wherever one is killed, its run is resumed to the same end, and nothing is
//! lost.
//!
//! The coordinator runs in a child process, which is this program with the hidden first argument
//! [`CHILD_ARGUMENT`]. The journal's fault injection ends it with SIGKILL right after a durable
//! append, or right before it, when the effect is done and the fact is not written.
//! `ORCHESTRATE_KILL=all` tries every append, and kills a wide tree of agents at 100 random
//! instants.

mod afterwards;
mod full_disk;
mod instants;
mod landing;
mod new_attempt;
mod plays;
mod reports;
mod scene;
mod stopped;
mod trees;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;

use libtest_mimic::Failed;
use orchestrate_coordinator::RequestReader;
use orchestrate_core::event::{Event, ToolOutcome};
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{AgentId, Envelope, TaskId, Wait};
use orchestrate_journal::fault;
use serde_json::{Value, json};

use crate::support::{Case, Outcome, Place, case, fail};
use plays::Play;
use scene::{KILLED, Scene};

pub(crate) use scene::coordinate_if_asked;

/// The first argument of a child that runs a coordinator.
const CHILD_ARGUMENT: &str = "__coordinator";
/// The environment variable that selects the appends to try: `all`, or the number of one.
const LONG_FORM: &str = "ORCHESTRATE_KILL";
/// The minimum number of appends of the reference run, so that few of its states are left out.
const LEAST_APPENDS: u64 = 120;
/// One kill in this many may come too late, since runs of agents differ by an append or two.
const SURVIVORS_ONE_IN: usize = 10;
/// How many appends the short form tries, of each kind: in the run of two agents, and in other
/// runs, which are shorter. The long form tries the others.
const SHORT_FORM: u64 = 3;
const SHORTER_FORM: u64 = 1;
/// A fault that no run reaches. With it, each append is a transaction of its own, as in the runs
/// that are killed.
const NO_FAULT: &str = "before:1000000";

/// The empty tree, which git knows in every repository.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

pub(crate) fn cases() -> Vec<Case> {
    let own = vec![
        case!(after_an_append_the_run_is_resumed_to_the_same_end),
        case!(before_an_append_the_run_is_resumed_to_the_same_end),
        case(
            "kill::after_an_append_commands_are_resumed_to_the_same_end",
            || kill_each(commands()?, "after"),
        ),
        case(
            "kill::before_an_append_commands_are_resumed_to_the_same_end",
            || kill_each(commands()?, "before"),
        ),
        case(
            "kill::after_an_append_a_review_is_resumed_to_the_same_end",
            || kill_each(reviewed()?, "after"),
        ),
        case(
            "kill::before_an_append_a_review_is_resumed_to_the_same_end",
            || kill_each(reviewed()?, "before"),
        ),
        case(
            "kill::after_an_append_a_wait_is_resumed_to_the_same_end",
            || kill_each(waiting()?, "after"),
        ),
        case(
            "kill::before_an_append_a_wait_is_resumed_to_the_same_end",
            || kill_each(waiting()?, "before"),
        ),
        case!(after_an_append_spawned_agents_are_resumed_to_the_same_end),
        case(
            "kill::before_an_append_spawned_agents_are_resumed_to_the_same_end",
            || kill_each(spawning()?, "before"),
        ),
        case(
            "kill::after_an_append_a_question_is_resumed_to_the_same_end",
            || kill_each(asking()?, "after"),
        ),
        case(
            "kill::before_an_append_a_question_is_resumed_to_the_same_end",
            || kill_each(asking()?, "before"),
        ),
        case(
            "kill::after_an_append_children_are_merged_to_the_same_end",
            || kill_each(family()?, "after"),
        ),
        case(
            "kill::before_an_append_children_are_merged_to_the_same_end",
            || kill_each(family()?, "before"),
        ),
        case("kill::after_an_append_a_terminated_agent_stays_so", || {
            kill_each(terminating()?, "after")
        }),
        case("kill::before_an_append_a_terminated_agent_stays_so", || {
            kill_each(terminating()?, "before")
        }),
        case(
            "kill::after_an_append_a_tree_is_resumed_to_the_same_end",
            || kill_each(tree()?, "after"),
        ),
        case(
            "kill::before_an_append_a_tree_is_resumed_to_the_same_end",
            || kill_each(tree()?, "before"),
        ),
        case(
            "kill::after_an_append_a_goal_is_resumed_to_the_same_end",
            || kill_each(goal()?, "after"),
        ),
        case(
            "kill::before_an_append_a_goal_is_resumed_to_the_same_end",
            || kill_each(goal()?, "before"),
        ),
        case(
            "kill::after_an_append_an_outage_is_resumed_to_the_same_end",
            || kill_each(outage()?, "after"),
        ),
        case(
            "kill::before_an_append_an_outage_is_resumed_to_the_same_end",
            || kill_each(outage()?, "before"),
        ),
        case!(around_a_rejected_key_the_task_waits_or_goes_on),
        case!(twice_the_run_is_resumed_to_the_same_end),
        case!(during_the_resume_the_run_is_resumed_to_the_same_end),
    ];
    let confined = instants::cases().into_iter().chain(stopped::cases());
    let confined = confined.map(|case| case.depends_on(&[Place::WithoutBubblewrap]));
    let landing = landing::cases()
        .into_iter()
        .map(|case| case.depends_on(&[Place::OldestGit]));
    own.into_iter()
        .chain(reports::cases())
        .chain(confined)
        .chain(full_disk::cases())
        .chain(landing)
        .chain(new_attempt::cases())
        .chain(afterwards::cases())
        .collect()
}

/// What must be the same no matter how often a run was killed.
#[derive(Clone, Debug, PartialEq)]
struct End {
    /// Every file with its mode and content, as a patch from the empty tree, so that a difference
    /// is readable.
    files: String,
    /// The tree of tasks: each with the agent that spawned it.
    parents: BTreeMap<TaskId, Option<AgentId>>,
    report: Value,
}

impl End {
    fn of(scene: &Scene, printed: &str) -> Result<Self, Failed> {
        let report: Value = serde_json::from_str(printed)?;
        let commit = report["integration_commit"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let files = scene.world.repository.git(&["diff", EMPTY_TREE, &commit])?;
        let branch = report["integration_branch"].as_str().unwrap_or_default();
        if scene.world.git(&format!("rev-parse {branch}"))? != commit {
            return fail(format!("{branch} is not at {commit}"));
        }
        let parents = scene
            .state()?
            .tasks()
            .map(|record| (record.task.id.clone(), record.parent.clone()))
            .collect();
        Ok(Self {
            files,
            parents,
            report: without_what_differs(report),
        })
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{:?}\n{:#}", self.files, self.parents, self.report)
    }
}

/// Removes ids, branches, commits, times, tokens, turn counts and models from a report, and sorts
/// its tasks.
fn without_what_differs(mut report: Value) -> Value {
    let differing = [
        "run_id",
        "integration_branch",
        "integration_commit",
        "base_commit",
        "duration_ms",
        "waited_ms",
        "usage",
        "branch",
    ];
    let drop_from = |fields: &mut Value| {
        if let Some(fields) = fields.as_object_mut() {
            fields.retain(|name, _| {
                !differing.contains(&name.as_str())
                    && !["commit", "turns", "model", "take_over", "hand_back"]
                        .contains(&name.as_str())
            });
        }
    };
    drop_from(&mut report);
    let Some(tasks) = report["tasks"].as_array_mut() else {
        return report;
    };
    tasks.iter_mut().for_each(drop_from);
    // Agents of several parents are spawned in any order.
    tasks.sort_by_key(|task| task["id"].to_string());
    report
}

/// A run that is not killed, with which the killed ones are compared.
struct Reference {
    name: &'static str,
    play: Play,
    end: End,
    appends: u64,
    /// How many of the appends the short form tries.
    short_form: u64,
}

impl Reference {
    fn run(name: &'static str, short_form: u64, play: Play) -> Result<(Self, Vec<Event>), Failed> {
        let scene = Scene::of(&play)?;
        let ran = scene.coordinate(NO_FAULT)?.exits(0)?;
        let end = End::of(&scene, &ran.stdout)?;
        let appends = ran.stderr.trim().parse()?;
        assert_eq!(end.report["status"], json!("succeeded"), "{:#}", end.report);
        let events = scene.events()?;
        Ok((
            Self {
                name,
                play,
                end,
                appends,
                short_form,
            },
            events,
        ))
    }

    /// Requires that a run's report equals this one's; the files are not compared.
    fn require_same_report(&self, scene: &Scene, printed: &str) -> Outcome {
        let end = End::of(scene, printed)?;
        if end.report == self.end.report {
            return Ok(());
        }
        fail(format!(
            "{:#}\ninstead of\n{:#}",
            end.report, self.end.report
        ))
    }

    /// Requires that a run that was killed, and resumed to its end, ended as this one.
    fn require_same(&self, scene: &Scene, printed: &str, kills: usize) -> Outcome {
        self.require_same_end(scene, &End::of(scene, printed)?, kills)
    }

    /// Requires of a run's end what [`Reference::require_same`] requires.
    fn require_same_end(&self, scene: &Scene, end: &End, kills: usize) -> Outcome {
        assert_eq!(*end, self.end, "{end}\ninstead of\n{}", self.end);
        scene.require_untouched()?;
        require_requests_derivable(scene)?;
        require_read_once(&scene.events()?)?;
        require_bought_once(&scene.events()?, kills)
    }
}

/// Requires that the parts of every recorded request are there, and make the request that was sent.
fn require_requests_derivable(scene: &Scene) -> Outcome {
    let store = scene.store()?;
    let mut reader = RequestReader::new(&store);
    for fact in store.events(&scene.run()?, 0, usize::MAX)? {
        reader.read(&fact)?;
    }
    Ok(())
}

/// Returns the reference run of two agents, which is made once.
fn two_agents() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        let (reference, events) = Reference::run("two agents", SHORT_FORM, plays::two_agents())?;
        require_conflict_and_red_check(&events, reference.appends)?;
        Ok(reference)
    })
}

/// Returns the reference run of a review, which is made once.
fn reviewed() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        Ok(Reference::run("a review", SHORTER_FORM, plays::reviewed())?.0)
    })
}

/// Returns the reference run of three levels of agents that wait for each other.
fn waiting() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        let (reference, events) = Reference::run("a wait", SHORTER_FORM, plays::waiting())?;
        let waits = events
            .iter()
            .filter(|event| matches!(event, Event::AgentWaiting { .. }))
            .count();
        if waits == 2 {
            Ok(reference)
        } else {
            fail(format!("{events:#?}"))
        }
    })
}

/// Returns the reference run of an agent that spawns two others, which is made once.
fn spawning() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        let (reference, events) = Reference::run("a spawn", SHORTER_FORM, plays::spawning())?;
        let spawned = events
            .iter()
            .filter(|event| matches!(event, Event::TaskAdded { spawn: Some(_), .. }))
            .count();
        if spawned == 2 {
            Ok(reference)
        } else {
            fail(format!("{events:#?}"))
        }
    })
}

/// Returns the reference run of a question that waits for its answer.
fn asking() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        let (reference, events) = Reference::run("a question", SHORTER_FORM, plays::asking())?;
        let is_question = |event: &&Event| {
            matches!(
                event,
                Event::AgentWaiting {
                    wait: Wait::Message { .. },
                    ..
                }
            )
        };
        if events.iter().filter(is_question).count() == 1 {
            Ok(reference)
        } else {
            fail(format!("{events:#?}"))
        }
    })
}

/// Returns the reference run of an agent that finishes before its children, whose work conflicts.
fn family() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        let (reference, events) = Reference::run("a family", SHORTER_FORM, plays::family())?;
        let returned = |wanted: ReturnCause| {
            events
                .iter()
                .any(|event| matches!(event, Event::TaskReturned { cause, .. } if *cause == wanted))
        };
        let waited = events
            .iter()
            .any(|event| matches!(event, Event::HandOverWaiting { .. }));
        let is_whole =
            waited && returned(ReturnCause::Conflict) && returned(ReturnCause::ChildrenEnded);
        if is_whole {
            Ok(reference)
        } else {
            fail(format!("{events:#?}"))
        }
    })
}

/// Returns the reference run of an agent that ends its child, which is made once.
fn terminating() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        let (reference, events) =
            Reference::run("a termination", SHORTER_FORM, plays::terminating())?;
        let cancelled = events
            .iter()
            .filter(|event| matches!(event, Event::TaskCancelled { .. }))
            .count();
        if cancelled == 1 {
            Ok(reference)
        } else {
            fail(format!("{events:#?}"))
        }
    })
}

/// Returns the reference run of a tree of three levels with everything in it, which is made once.
fn tree() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        let (reference, events) = Reference::run("a tree", SHORTER_FORM, trees::everything())?;
        let returned = |wanted: ReturnCause| {
            events
                .iter()
                .any(|event| matches!(event, Event::TaskReturned { cause, .. } if *cause == wanted))
        };
        let waits = |of: fn(&Wait) -> bool| {
            events
                .iter()
                .filter(|event| matches!(event, Event::AgentWaiting { wait, .. } if of(wait)))
                .count()
        };
        let (agents, answers) = (
            waits(|wait| matches!(wait, Wait::Agents { .. })),
            waits(|wait| matches!(wait, Wait::Message { .. })),
        );
        let parents: Vec<_> = reference
            .end
            .parents
            .values()
            .map(|parent| parent.as_ref().map(AgentId::as_str))
            .collect();
        let below = Some("lead_below");
        let is_whole = agents >= 2
            && answers == 1
            && returned(ReturnCause::Conflict)
            && returned(ReturnCause::Claims);
        // T1, lead_below, write_four, write_three, write_two.
        let is_whole = is_whole && parents == [None, Some("T1"), below, below, Some("T1")];
        if is_whole {
            Ok(reference)
        } else {
            fail(format!("{parents:?}\n{events:#?}"))
        }
    })
}

/// Returns the reference run of a goal, which is made once.
fn goal() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        let reference = Reference::run("a goal", SHORTER_FORM, trees::goal())?.0;
        let end = &reference.end;
        let is_whole =
            end.parents.len() == 2 && end.report["answer"] == json!("All of it is written.");
        if is_whole {
            Ok(reference)
        } else {
            fail(format!("{end:#?}"))
        }
    })
}

/// Returns the reference run of an outage, in which a fall-back takes over and both models are
/// waited for.
fn outage() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        let (reference, events) = Reference::run("an outage", SHORTER_FORM, plays::outage())?;
        let switched = events
            .iter()
            .filter(|event| matches!(event, Event::ModelSwitched { .. }))
            .count();
        let waits = events
            .iter()
            .any(|event| matches!(event, Event::ModelWaiting { .. }));
        if switched == 2 && waits {
            Ok(reference)
        } else {
            fail(format!("{events:#?}"))
        }
    })
}

/// Returns the reference run of commands, which is made once.
fn commands() -> Result<&'static Reference, Failed> {
    static MADE: OnceLock<Result<Reference, String>> = OnceLock::new();
    once(&MADE, || {
        Ok(Reference::run("commands", SHORTER_FORM, plays::commands())?.0)
    })
}

fn once(
    made: &'static OnceLock<Result<Reference, String>>,
    make: impl FnOnce() -> Result<Reference, Failed>,
) -> Result<&'static Reference, Failed> {
    let made = made
        .get_or_init(|| make().map_err(|failure| failure.message().unwrap_or_default().to_owned()));
    made.as_ref().map_err(Failed::from)
}

/// Requires that the reference run of two agents is worth killing: a conflict, a red check and
/// enough appends.
fn require_conflict_and_red_check(events: &[Event], appends: u64) -> Outcome {
    for wanted in [ReturnCause::Conflict, ReturnCause::TaskCheck] {
        assert!(
            events
                .iter()
                .any(|event| matches!(event, Event::TaskReturned { cause,.. } if *cause == wanted)),
            "the reference run has no {wanted:?}"
        );
    }
    // T2 reads files that do not exist yet, or no longer; how often depends on when T1's message
    // arrives, and under load T2 may be done before it is sent.
    let failed = events.iter().filter_map(|event| match event {
        Event::ToolFinished { outcome, tool, .. } if *outcome != ToolOutcome::Ok => {
            Some(tool.as_str())
        }
        _ => None,
    });
    assert!(
        !failed
            .clone()
            .any(|tool| !["read_file", "send_message_to_agent"].contains(&tool)),
        "a call of the reference run failed: {:?}\n{events:#?}",
        failed.collect::<Vec<_>>()
    );
    assert!(
        appends >= LEAST_APPENDS,
        "the reference run has only {appends} appends"
    );
    Ok(())
}

/// Requires that no call has sent its message twice, and that each message to an agent was
/// delivered once.
fn require_read_once(events: &[Event]) -> Outcome {
    let (mut sent, mut calls, mut delivered) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for event in events {
        match event {
            Event::MessageSent { envelope } => {
                let Envelope {
                    from,
                    to,
                    sequence,
                    call,
                    ..
                } = envelope;
                sent.insert((from.clone(), to.clone(), *sequence));
                let call = call.as_ref().map(|of| (of.turn, of.call.clone()));
                assert!(
                    calls.insert((from.clone(), to.clone(), call)),
                    "a call has sent twice: {envelope:?}"
                );
            }
            Event::MessageDelivered {
                from, to, sequence, ..
            } => {
                delivered.push((from.clone(), to.clone().into(), *sequence));
            }
            _ => {}
        }
    }
    delivered.sort();
    let sent: Vec<_> = sent.into_iter().collect();
    assert_eq!(sent, delivered, "sent: {sent:?}\ndelivered: {delivered:?}");
    Ok(())
}

/// Requires that a kill costs an agent at most one request, whose reply was not recorded, as a
/// change of its model does, and that no recorded reply is requested again.
fn require_bought_once(events: &[Event], kills: usize) -> Outcome {
    let mut bought: BTreeMap<_, BTreeMap<u32, (usize, usize)>> = BTreeMap::new();
    let mut switches = BTreeMap::new();
    for event in events {
        match event {
            Event::ModelRequested { task, turn, .. } => {
                bought
                    .entry(task.clone())
                    .or_default()
                    .entry(*turn)
                    .or_default()
                    .0 += 1;
            }
            Event::ModelReplied { task, turn, .. } => {
                bought
                    .entry(task.clone())
                    .or_default()
                    .entry(*turn)
                    .or_default()
                    .1 += 1;
            }
            Event::ModelSwitched { task, .. } => *switches.entry(task.clone()).or_default() += 1,
            _ => {}
        }
    }
    for (task, turns) in bought {
        let repeated: usize = turns.values().map(|(requests, _)| requests - 1).sum();
        let unique = turns.values().all(|(_, replies)| *replies == 1);
        let switched: usize = switches.get(&task).copied().unwrap_or_default();
        assert!(
            repeated <= kills + switched && unique,
            "{task} repeated {repeated} requests after {kills} kills: {turns:?}"
        );
    }
    Ok(())
}

fn after_an_append_the_run_is_resumed_to_the_same_end() -> Outcome {
    // The control: a run that is killed and not resumed has not the end that is compared.
    require_another_end(two_agents()?, "after")?;
    kill_each(two_agents()?, "after")
}

fn before_an_append_the_run_is_resumed_to_the_same_end() -> Outcome {
    // The control: a run that is killed and not resumed has not the end that is compared.
    require_another_end(two_agents()?, "before")?;
    kill_each(two_agents()?, "before")
}

fn after_an_append_spawned_agents_are_resumed_to_the_same_end() -> Outcome {
    // The control: a run that is killed and not resumed lacks the work that its agents have merged
    // in the end.
    require_another_end(spawning()?, "after")?;
    kill_each(spawning()?, "after")
}

/// Requires that a run which is killed in the middle, and not resumed, has other files than the
/// whole one.
fn require_another_end(reference: &Reference, kind: &str) -> Outcome {
    let scene = Scene::of(&reference.play)?;
    scene
        .coordinate(&format!("{kind}:{}", reference.appends / 2))?
        .exits(KILLED)?;
    let files = scene.world.repository.git(&[
        "diff",
        EMPTY_TREE,
        scene.run()?.integration_branch().as_str(),
    ])?;
    assert_ne!(
        files, reference.end.files,
        "it has all files without being resumed:\n{files}"
    );
    Ok(())
}

/// Kills a run right before or after each of several appends, resumes it, and compares its end.
fn kill_each(reference: &Reference, kind: &str) -> Outcome {
    let (all, places) = places(reference.appends, reference.short_form);
    let (next, survivors, failures) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        Mutex::new(BTreeMap::new()),
    );
    let workers = if all {
        thread::available_parallelism().map_or(1, NonZeroUsize::get)
    } else {
        1
    };
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(at) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match caught(|| kill_at(reference, &[&format!("{kind}:{at}")])) {
                        Ok(survived) => drop(survivors.fetch_add(survived, Ordering::Relaxed)),
                        Err(failure) => {
                            let text = failure.message().unwrap_or_default().to_owned();
                            failures
                                .lock()
                                .unwrap_or_else(std::sync::PoisonError::into_inner)
                                .insert(*at, text);
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    let mut told = format!(
        "{}, killed {kind} append k: {} of {} ended the same",
        reference.name,
        places.len() - failures.len(),
        places.len()
    );
    let survivors = survivors.into_inner();
    if survivors > 0 {
        told.push_str(&format!(
            " ({survivors} of them before their append k came)"
        ));
    }
    assert!(
        survivors <= places.len().div_ceil(SURVIVORS_ONE_IN),
        "{told}: that is no longer by chance, and tries nothing"
    );
    if failures.is_empty() {
        scene::say(&told);
        return Ok(());
    }
    let texts: Vec<String> = failures
        .iter()
        .map(|(at, text)| format!("--- {kind}:{at}\n{text}"))
        .collect();
    fail(format!("{told}\n{}", texts.join("\n")))
}

/// Does one of several attempts, whose failed assertion is its failure alone, and does not end the
/// others.
fn caught<T>(attempt: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
    panic::catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|panicked| {
        let text = panicked.downcast_ref::<String>().cloned();
        let text = text.or_else(|| {
            panicked
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
        });
        fail(text.unwrap_or_else(|| "it panicked".to_owned()))
    })
}

/// Returns the appends to try: evenly spread in the short form, all of them (then the flag is set),
/// or one.
fn places(appends: u64, short_form: u64) -> (bool, Vec<u64>) {
    let wanted = std::env::var(LONG_FORM).unwrap_or_default();
    let spread = || {
        (1..=short_form)
            .map(|part| part * appends / (short_form + 1))
            .collect()
    };
    match wanted.parse() {
        Ok(only) => (false, vec![only]),
        Err(_) if wanted == "all" => (true, (1..=appends).collect()),
        Err(_) => (false, spread()),
    }
}

/// Lets each fault kill a coordinator of one run in turn, then resumes the run to its end. Returns
/// how many faults were not reached.
///
/// Two agents at once make a few appends more or less (a message that arrives between two steps is
/// a turn of its own), so a run may end before the last appends of the reference run. It must then
/// have made fewer appends than the fault needs.
fn kill_at(reference: &Reference, faults: &[&str]) -> Result<usize, Failed> {
    let (scene, mut survived) = (Scene::of(&reference.play)?, 0);
    for fault in faults {
        let ran = scene.coordinate(fault)?;
        let place: u64 = fault.split_once(':').unwrap_or_default().1.parse()?;
        if ran.code == 0 && ran.stderr.trim().parse::<u64>()? < place {
            survived += 1;
        } else {
            ran.exits(KILLED)?;
        }
        scene.require_untouched()?;
    }
    let ran = scene.coordinate(NO_FAULT)?.exits(0)?;
    reference.require_same(&scene, &ran.stdout, faults.len())?;
    Ok(survived)
}

/// Lets faults kill one run, which must be long enough for each of them.
fn kill_in_turn(faults: &[&str]) -> Outcome {
    match kill_at(two_agents()?, faults)? {
        0 => Ok(()),
        survived => fail(format!("{survived} of {faults:?} never came")),
    }
}

fn twice_the_run_is_resumed_to_the_same_end() -> Outcome {
    kill_in_turn(&["after:40", "before:30"])?;
    kill_in_turn(&["before:90", "after:9", "after:20"])
}

fn during_the_resume_the_run_is_resumed_to_the_same_end() -> Outcome {
    kill_in_turn(&["after:60", "before:1", "after:1", "before:2", "after:2"])
}

/// Kills a run before and after the last appends, which say that a task waits for its endpoint and
/// that the run ends.
fn around_a_rejected_key_the_task_waits_or_goes_on() -> Outcome {
    let play = plays::rejected();
    let reference = Scene::of(&play)?;
    let appends: u64 = reference
        .coordinate(NO_FAULT)?
        .exits(0)?
        .stderr
        .trim()
        .parse()?;
    let rejected = |scene: &Scene| -> Result<usize, Failed> {
        Ok(scene
            .events()?
            .iter()
            .filter(|event| matches!(event, Event::ModelRejected { .. }))
            .count())
    };
    for (kind, at, recorded) in [
        ("before", appends - 1, 0),
        ("after", appends - 1, 1),
        ("before", appends, 1),
    ] {
        let scene = Scene::of(&play)?;
        scene.coordinate(&format!("{kind}:{at}"))?.exits(KILLED)?;
        if rejected(&scene)? != recorded {
            return fail(format!("{kind}:{at}: {:#?}", scene.events()?));
        }
        // The endpoint accepts the key from now on.
        let report: Value = serde_json::from_str(&scene.coordinate(NO_FAULT)?.exits(0)?.stdout)?;
        let task = &report["tasks"][0];
        assert_eq!(task["state"], json!("merged"), "{kind}:{at}: {report:#}");
        assert_eq!(task["attempt"], json!(1), "{kind}:{at}: {report:#}");
        scene.require_untouched()?;
    }
    Ok(())
}

/// Installs the fault that the environment names.
fn install_fault() -> Result<(), Failed> {
    Ok(fault::from_env()?)
}
