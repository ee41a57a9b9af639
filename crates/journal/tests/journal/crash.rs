//! Death by SIGKILL at every append: acknowledged facts are recorded, and nothing that was not
//! sent.

use std::path::Path;
use std::thread;

use orchestrate_core::agent::conversation::StopReason;
use orchestrate_core::event::{Event, Recorded};
use orchestrate_core::{RequestHash, RequestParts, RunState, Usage};
use orchestrate_journal::{Batch, Blob, INLINE_BYTES, Journal, Store};
use tempfile::tempdir;

use crate::children::{Other, say};
use crate::support::{added, delivered, ready, recorded, run, sent, spawned, started, store, turn};

/// The batches of the script, each of one or several facts; the first starts the run.
fn requests() -> Vec<Batch> {
    let small = Blob::new("a request");
    let large = Blob::new(vec![7; INLINE_BYTES + 1]);
    vec![
        Batch::from(vec![started(), added("T1"), added("T2")]),
        Batch::from(ready("T1")),
        Batch::from(vec![spawned("T1"), ready("T2")]),
        Batch::from(turn("T1", 1)),
        Batch::from(Event::ModelRequested {
            task: "T1".into(),
            turn: 1,
            model: "script/demo".to_owned(),
            request: RequestHash::from("request"),
            parts: RequestParts::anew(
                small.id().clone(),
                small.id().clone(),
                vec![small.id().clone()],
                100,
            ),
            reserved_tokens: 100,
            reserved_micro_usd: None,
        })
        .with_blob(small),
        Batch::from(Event::ModelReplied {
            task: "T1".into(),
            turn: 1,
            reply: large.id().clone(),
            usage: Usage::default(),
            micro_usd: None,
            stop: StopReason::EndTurn,
        })
        .with_blob(large),
        Batch::from(vec![sent("T2", 1), sent("T2", 2)]),
        Batch::from(delivered("T2", 1)),
    ]
}

fn facts(requests: &[Batch]) -> Vec<Recorded> {
    recorded(
        requests
            .iter()
            .flat_map(|batch| batch.events.clone())
            .collect(),
    )
}

/// Appends the batches in order and prints the number of each that is acknowledged.
pub(crate) fn script(folder: &Path) {
    let mut requests = requests().into_iter();
    let journal = Journal::create(&store(folder), &run(), requests.next().unwrap()).unwrap();
    say(1);
    for (number, batch) in (2..).zip(requests) {
        journal.append_blocking(batch).unwrap();
        say(number);
    }
}

#[test]
fn killed_right_after_an_append_exactly_that_one_is_there() {
    for k in 1..=requests().len() {
        check_killed(&format!("after:{k}"), k - 1, k);
    }
}

#[test]
fn killed_right_before_an_append_exactly_those_before_it_are_there() {
    for k in 1..=requests().len() {
        check_killed(&format!("before:{k}"), k - 1, k - 1);
    }
}

/// Kills the script, compares the recorded facts, and completes the run with another coordinator.
fn check_killed(fault: &str, acknowledged: usize, durable: usize) {
    let folder = tempdir().unwrap();
    let (said, status) = Other::start("script", folder.path(), Some(fault)).finish();
    assert_eq!(said.len(), acknowledged, "{fault}");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9),
        "{fault}"
    );

    let store = store(folder.path());
    let all = requests();
    let found = store.events(&run(), 0, usize::MAX).unwrap();
    assert_eq!(found, facts(&all[..durable]), "{fault}");
    assert_eq!(store.lease(&run()).unwrap(), None, "{fault}");

    let journal = if durable == 0 {
        Journal::create(&store, &run(), all[0].clone()).unwrap()
    } else {
        Journal::resume(&store, &run()).unwrap()
    };
    for batch in &all[durable.max(1)..] {
        journal.append_blocking(batch.clone()).unwrap();
    }
    let whole = RunState::replay(&facts(&all)).unwrap().unwrap();
    assert_eq!(*journal.state(), whole, "{fault}");
    assert_eq!(store.state(&run()).unwrap(), whole, "{fault}");
    check_blobs(&store, &all);
}

fn check_blobs(store: &Store, requests: &[Batch]) {
    for blob in requests.iter().flat_map(|batch| &batch.blobs) {
        assert_eq!(store.blob(blob.id()).unwrap(), blob.bytes());
    }
}

const CROWD: usize = 4;

/// Appends from several threads until killed, and prints each acknowledged sequence number.
pub(crate) fn crowd(folder: &Path) {
    let mut first = vec![started()];
    for member in 0..CROWD {
        let id = format!("T{member}");
        first.extend([added(&id), ready(&id), spawned(&id)]);
    }
    let journal = Journal::create(&store(folder), &run(), first).unwrap();
    thread::scope(|scope| {
        for member in 0..CROWD {
            let journal = &journal;
            scope.spawn(move || {
                for number in 1.. {
                    let seqs = journal
                        .append_blocking(turn(&format!("T{member}"), number))
                        .unwrap();
                    say(seqs[0]);
                }
            });
        }
    });
}

#[test]
fn killed_amid_many_writers_every_acknowledged_fact_is_there() {
    let folder = tempdir().unwrap();
    let mut other = Other::start("crowd", folder.path(), None);
    let acknowledged: Vec<u64> = std::iter::from_fn(|| other.line())
        .take(200)
        .map(|line| line.parse().unwrap())
        .collect();
    other.kill();
    let store = store(folder.path());
    let found = store.events(&run(), 0, usize::MAX).unwrap();
    let seqs: Vec<u64> = found.iter().map(|fact| fact.seq).collect();
    assert_eq!(seqs, (1..=found.len() as u64).collect::<Vec<_>>());
    let lost = |kept: &[u64]| acknowledged.iter().copied().find(|seq| !kept.contains(seq));
    assert_eq!(lost(&seqs), None);
    // The control: if only the facts before the newest acknowledged one were there, that one would
    // be missed.
    let newest = acknowledged.iter().copied().max().unwrap();
    assert_eq!(lost(&(1..newest).collect::<Vec<_>>()), Some(newest));
    assert_eq!(
        Some(store.state(&run()).unwrap()),
        RunState::replay(&found).unwrap()
    );
}
