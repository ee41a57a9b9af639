//! Appends are in order, atomic, decided on the newest state, and refused without a trace.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::task::{Context, Waker};
use std::thread;

use orchestrate_core::event::{Event, RunStatus};
use orchestrate_core::messages::Sender;
use orchestrate_core::run::request::Request;
use orchestrate_core::{RunState, TaskId, TaskState};
use orchestrate_journal::{Appended, Batch, Blob, Clock, Journal, JournalError, Store, fault};
use rusqlite::Connection;
use tempfile::tempdir;

use crate::children::{Other, say};
use crate::support::{added, ready, recorded, run, sent, spawned, started, store, turn};

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn an_append_gives_its_numbers_and_is_there_for_everybody() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal = Journal::create(&store, &run(), started()).unwrap();
    let seqs = block_on(journal.append(vec![added("T1"), ready("T1")])).unwrap();
    assert_eq!(seqs, [2, 3]);
    let facts = recorded(vec![started(), added("T1"), ready("T1")]);
    let reader = crate::support::store(folder.path());
    assert_eq!(reader.events(&run(), 0, 100).unwrap(), facts);
    assert_eq!(reader.events(&run(), 1, 1).unwrap(), facts[1..2]);
    assert_eq!(
        reader.events_of_task(&run(), &"T1".into(), 2, 100).unwrap(),
        facts[2..]
    );
    assert_eq!(
        Some(reader.state(&run()).unwrap()),
        RunState::replay(&facts).unwrap()
    );
    assert_eq!(*journal.state(), reader.state(&run()).unwrap());
    assert_eq!(journal.watch().borrow().seq, 3);
}

#[test]
fn an_impossible_fact_takes_its_whole_batch_with_it() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal = Journal::create(&store, &run(), started()).unwrap();
    let before = journal.state();
    let blob = Blob::new("never named");
    let batch = Batch::from(vec![added("T1"), spawned("T1")]).with_blob(blob.clone());
    let Err(JournalError::Illegal(refused)) = journal.append_blocking(batch) else {
        panic!("an agent cannot be spawned before its task is ready")
    };
    assert_eq!((refused.seq, refused.kind.as_str()), (3, "agent.spawned"));
    assert!(Arc::ptr_eq(&before, &journal.state()));
    assert!(matches!(
        store.blob(blob.id()),
        Err(JournalError::NoSuchBlob(_))
    ));
    assert_eq!(journal.append_blocking(added("T1")).unwrap(), [2]);
}

#[test]
fn a_run_begins_with_run_started_and_only_once() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    assert!(matches!(
        Journal::create(&store, &run(), added("T1")),
        Err(JournalError::Illegal(_))
    ));
    assert_eq!(store.runs().unwrap(), []);
    drop(Journal::create(&store, &run(), started()).unwrap());
    assert!(matches!(
        Journal::create(&store, &run(), started()),
        Err(JournalError::RunExists(_))
    ));
}

#[test]
fn decisions_from_many_threads_never_see_the_same_state() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal = Journal::create(&store, &run(), vec![started(), added("T1")]).unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..8 {
                    let send = journal.append_if(|state: &RunState| {
                        let to = "T1".into();
                        let sequence = state.channel(&Sender::User, &to).sent + 1;
                        state
                            .decide(&Request::message("T1", "hello"))
                            .map(|_| Batch::from(sent("T1", sequence)))
                    });
                    block_on(send).unwrap().recorded().unwrap();
                }
            });
        }
    });
    let found = store.events(&run(), 2, 100).unwrap();
    let sequences = (1..=64)
        .map(|sequence| sent("T1", sequence))
        .collect::<Vec<_>>();
    assert_eq!(
        found.into_iter().map(|fact| fact.event).collect::<Vec<_>>(),
        sequences
    );
    let ask = |state: &RunState| {
        state
            .decide(&Request::message("T1", "hello"))
            .map(|_| Batch::default())
    };
    let refused = block_on(journal.append_if(ask));
    assert!(matches!(refused.unwrap(), Appended::Refused(_)));
    assert_eq!(journal.state().seq, 66);
}

/// Keeps the writer busy until the returned function is called.
fn hold(journal: &Journal) -> impl FnOnce() + use<> {
    let (busy, begun) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let journal = journal.clone();
    let holder = thread::spawn(move || {
        block_on(journal.append_if(move |_| {
            busy.send(()).unwrap();
            held.recv().unwrap();
            Ok::<_, ()>(Batch::default())
        }))
    });
    begun.recv().unwrap();
    move || {
        release.send(()).unwrap();
        holder.join().unwrap().unwrap().recorded().unwrap();
    }
}

/// Sends a job to a busy writer: the first poll sends it.
fn send_off<F: Future>(future: &mut Pin<Box<F>>) {
    let polled = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
}

/// Appends while the writer is busy, and prints how many transactions that took.
pub(crate) fn group(folder: &Path) {
    let mut first = vec![started()];
    first.extend((0..32).map(|number| added(&format!("T{number}"))));
    let journal = Journal::create(&store(folder), &run(), first).unwrap();
    let before = fault::appends();
    let release = hold(&journal);
    let mut waiting: Vec<_> = (0..32)
        .map(|number| Box::pin(journal.append(ready(&format!("T{number}")))))
        .collect();
    for future in &mut waiting {
        send_off(future);
    }
    release();
    for future in waiting {
        block_on(future).unwrap();
    }
    say(fault::appends() - before);
}

#[test]
fn requests_that_wait_together_share_one_transaction() {
    let folder = tempdir().unwrap();
    let (said, _) = Other::start("group", folder.path(), None).finish();
    assert_eq!(said, ["1"]);
    assert_eq!(store(folder.path()).state(&run()).unwrap().seq, 65);
}

fn finished() -> Event {
    Event::RunFinished {
        status: RunStatus::Succeeded,
        exit_code: 0,
    }
}

#[test]
fn the_last_facts_of_a_run_wait_for_its_commands() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal =
        Journal::create(&store, &run(), vec![started(), added("T1"), added("T2")]).unwrap();
    // Another process sends it while the end is decided: it is noticed, whatever was checked
    // before.
    let (other, command) = (store.clone(), Request::message("T1", "wait"));
    let sent = Arc::new(OnceLock::new());
    let id = Arc::clone(&sent);
    let last = journal.append_last_if(move |_| {
        id.set(other.send(&run(), &command).unwrap()).unwrap();
        Ok::<_, ()>(Batch::from(finished()))
    });
    let release = hold(&journal);
    let (mut before, mut last) = (Box::pin(journal.append(ready("T1"))), Box::pin(last));
    let mut after = Box::pin(journal.append(ready("T2")));
    send_off(&mut before);
    send_off(&mut last);
    send_off(&mut after);
    release();
    let told = (block_on(before), block_on(last), block_on(after));
    assert!(
        matches!(&told, (Ok(_), Err(JournalError::RequestOpen { .. }), Ok(_))),
        "{told:?}"
    );
    let facts = recorded(vec![
        started(),
        added("T1"),
        added("T2"),
        ready("T1"),
        ready("T2"),
    ]);
    assert_eq!(store.events(&run(), 0, 100).unwrap(), facts);
    let end = || journal.append_last_if(|_| Ok::<_, ()>(Batch::from(finished())));
    assert!(block_on(end()).is_err());
    block_on(journal.answer(*sent.get().unwrap(), Ok(String::new()))).unwrap();
    assert_eq!(block_on(end()).unwrap(), Appended::Recorded(vec![6]));
}

/// Appends on a disk that is full for the third append only.
pub(crate) fn full(folder: &Path) {
    let journal = Journal::create(&store(folder), &run(), started()).unwrap();
    for id in ["T1", "T2", "T2"] {
        let said = journal.append_blocking(added(id));
        say(said.map_or_else(|error| error.to_string(), |seqs| format!("{seqs:?}")));
    }
}

#[test]
fn a_full_disk_refuses_an_append_that_works_later() {
    let folder = tempdir().unwrap();
    let (said, _) = Other::start("full", folder.path(), Some("full:3")).finish();
    let path = folder.path().join("journal.db");
    let refused = JournalError::DiskFull { path }.to_string();
    assert_eq!(said, ["[2]".to_owned(), refused, "[3]".to_owned()]);
    let facts = store(folder.path()).events(&run(), 0, 100).unwrap();
    assert_eq!(facts, recorded(vec![started(), added("T1"), added("T2")]));
}

#[test]
fn the_time_of_a_run_never_goes_back() {
    let yesterday = Clock {
        date: || crate::support::NOW - 86_400_000,
        steady: || 0,
        asleep: || 0,
    };
    let folder = tempdir().unwrap();
    drop(Journal::create(&store(folder.path()), &run(), started()).unwrap());
    let store = Store::open_with(folder.path(), yesterday).unwrap();
    let journal = Journal::resume(&store, &run()).unwrap();
    journal.append_blocking(added("T1")).unwrap();
    assert_eq!(
        store.events(&run(), 0, 9).unwrap(),
        recorded(vec![started(), added("T1")])
    );
}

/// The date is set forward by a day, and then back by two; five milliseconds pass each time.
#[test]
fn the_time_of_a_run_goes_as_time_goes() {
    static DATE: AtomicU64 = AtomicU64::new(crate::support::NOW);
    static PASSED: AtomicU64 = AtomicU64::new(0);
    const DAY: u64 = 86_400_000;
    let clock = Clock {
        date: || DATE.load(Ordering::Relaxed),
        steady: || PASSED.load(Ordering::Relaxed),
        asleep: || 0,
    };
    let folder = tempdir().unwrap();
    let store = Store::open_with(folder.path(), clock).unwrap();
    let journal = Journal::create(&store, &run(), started()).unwrap();
    let dates = [crate::support::NOW + DAY, crate::support::NOW - DAY];
    for (date, task) in dates.into_iter().zip(["T1", "T2"]) {
        DATE.store(date, Ordering::Relaxed);
        PASSED.fetch_add(5, Ordering::Relaxed);
        journal.append_blocking(added(task)).unwrap();
    }
    assert_eq!(journal.state().worked_ms(), 10);
    drop(journal);
    // A process that takes over while the date is behind continues from the newest fact.
    let resumed = Journal::resume(&store, &run()).unwrap();
    let resume = Event::RunResumed {
        pid: 1,
        timeout_ms: None,
        budget_tokens: None,
        budget_micro_usd: None,
    };
    resumed.append_blocking(resume).unwrap();
    PASSED.fetch_add(5, Ordering::Relaxed);
    resumed.append_blocking(ready("T1")).unwrap();
    assert_eq!(resumed.state().worked_ms(), 15);
    let times: Vec<u64> = store
        .events(&run(), 0, 9)
        .unwrap()
        .iter()
        .map(|fact| fact.ts_ms)
        .collect();
    assert_eq!(
        times,
        [0, 5, 10, 10, 15].map(|since| crate::support::NOW + since)
    );
}

/// The machine sleeps for a night while a task is worked on.
#[test]
fn the_time_in_which_the_machine_sleeps_does_not_count() {
    static PASSED: AtomicU64 = AtomicU64::new(0);
    static ASLEEP: AtomicU64 = AtomicU64::new(0);
    const NIGHT: u64 = 8 * 3_600_000;
    let steady = || PASSED.load(Ordering::Relaxed);
    let clock = Clock {
        date: || crate::support::NOW,
        steady,
        asleep: || ASLEEP.load(Ordering::Relaxed),
    };
    let folder = tempdir().unwrap();
    let store = Store::open_with(folder.path(), clock).unwrap();
    let journal = Journal::create(&store, &run(), started()).unwrap();
    PASSED.fetch_add(5 + NIGHT, Ordering::Relaxed);
    ASLEEP.fetch_add(NIGHT, Ordering::Relaxed);
    journal.append_blocking(added("T1")).unwrap();
    PASSED.fetch_add(5, Ordering::Relaxed);
    journal.append_blocking(ready("T1")).unwrap();
    assert_eq!(journal.state().worked_ms(), 10);
    let facts = store.events(&run(), 0, 9).unwrap();
    assert!(
        matches!(facts[1].event, Event::MachineSlept { slept_ms: NIGHT }),
        "{facts:?}"
    );
    // The dates of facts go on as the calendar does.
    assert_eq!(
        facts.last().unwrap().ts_ms,
        crate::support::NOW + NIGHT + 10
    );
    assert_eq!(facts.len(), 4);
    // The control: as many hours count if the machine is awake.
    PASSED.fetch_add(NIGHT, Ordering::Relaxed);
    journal.append_blocking(added("T2")).unwrap();
    assert_eq!(journal.state().worked_ms(), 10 + NIGHT);
    assert_eq!(store.events(&run(), 0, 9).unwrap().len(), 5);
}

/// The group that would have recorded the night is refused as a whole.
#[test]
fn a_sleep_that_could_not_be_written_is_recorded_with_the_next_facts() {
    static PASSED: AtomicU64 = AtomicU64::new(0);
    static ASLEEP: AtomicU64 = AtomicU64::new(0);
    const NIGHT: u64 = 8 * 3_600_000;
    let steady = || PASSED.load(Ordering::Relaxed);
    let clock = Clock {
        date: || crate::support::NOW,
        steady,
        asleep: || ASLEEP.load(Ordering::Relaxed),
    };
    let folder = tempdir().unwrap();
    let store = Store::open_with(folder.path(), clock).unwrap();
    let journal = Journal::create(&store, &run(), vec![started(), added("T1")]).unwrap();
    store.send(&run(), &Request::message("T1", "wait")).unwrap();
    PASSED.fetch_add(5 + NIGHT, Ordering::Relaxed);
    ASLEEP.fetch_add(NIGHT, Ordering::Relaxed);
    let end = journal.append_last_if(|_| Ok::<_, ()>(Batch::from(finished())));
    assert!(matches!(
        block_on(end),
        Err(JournalError::RequestOpen { .. })
    ));
    // The machine sleeps once more before anything is written.
    PASSED.fetch_add(5 + NIGHT, Ordering::Relaxed);
    ASLEEP.fetch_add(NIGHT, Ordering::Relaxed);
    for task in ["T2", "T3"] {
        journal.append_blocking(added(task)).unwrap();
    }
    assert_eq!(journal.state().worked_ms(), 10);
    let facts = store.events(&run(), 2, 9).unwrap();
    let slept: Vec<bool> = facts
        .iter()
        .map(|fact| matches!(fact.event, Event::MachineSlept { .. }))
        .collect();
    assert_eq!(slept, [true, false, false]);
    assert!(
        matches!(facts[0].event, Event::MachineSlept { slept_ms } if slept_ms == 2 * NIGHT),
        "{facts:?}"
    );
}

#[test]
fn runs_are_listed_newest_first_and_found_by_prefix() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    assert_eq!(store.latest_run().unwrap(), None);
    for id in ["r-abc111", "r-abc222"] {
        drop(Journal::create(&store, &id.into(), vec![started(), added("T1")]).unwrap());
    }
    let listed: Vec<(String, u64)> = store
        .runs()
        .unwrap()
        .into_iter()
        .map(|run| (run.run_id.to_string(), run.facts))
        .collect();
    assert_eq!(
        listed,
        [("r-abc222".to_owned(), 2), ("r-abc111".to_owned(), 2)]
    );
    assert_eq!(store.latest_run().unwrap(), Some("r-abc222".into()));
    // One that only makes a plan is not looked for, and a damaged one closes no other.
    let mut planning = started();
    if let Event::RunStarted { settings, .. } = &mut planning {
        settings.plan_file = Some("-".to_owned());
    }
    drop(Journal::create(&store, &"r-made333".into(), vec![planning, added("T1")]).unwrap());
    assert_eq!(store.latest_run().unwrap(), Some("r-abc222".into()));
    let damage = Connection::open(folder.path().join("journal.db")).unwrap();
    damage
        .execute_batch("DROP TRIGGER events_are_final; UPDATE events SET body = '{' WHERE run = 3")
        .unwrap();
    assert!(store.latest_run().is_ok());
    assert_eq!(store.find_run("r-abc1").unwrap(), "r-abc111".into());
    assert!(matches!(
        store.find_run("r-x"),
        Err(JournalError::NoSuchRun(_))
    ));
    let Err(JournalError::AmbiguousRun { runs, .. }) = store.find_run("r-a") else {
        panic!("two runs have this prefix")
    };
    assert_eq!(runs, ["r-abc111".into(), "r-abc222".into()]);
}

#[test]
fn the_last_handle_gives_the_run_back() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal =
        Journal::create(&store, &run(), vec![started(), added("T1"), ready("T1")]).unwrap();
    let second = journal.clone();
    drop(journal);
    assert!(store.lease(&run()).unwrap().is_some());
    drop(second);
    assert_eq!(store.lease(&run()).unwrap(), None);
    let resumed = Journal::resume(&store, &run()).unwrap();
    let state = resumed.state();
    assert_eq!(
        state.task(&TaskId::from("T1")).unwrap().state(),
        TaskState::Ready
    );
    resumed
        .append_blocking(vec![spawned("T1"), turn("T1", 1)])
        .unwrap();
}
