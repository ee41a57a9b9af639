//! One writer per run, enforced by the kernel and the database; runs do not interfere with each
//! other.

use std::path::Path;

use orchestrate_core::run::request::{Holder, Purpose};
use orchestrate_journal::{Journal, JournalError};
use tempfile::tempdir;

use crate::children::{Other, say, wait_for_parent};
use crate::support::{NOW, added, run, started, store};

/// Holds a run until the parent process ends it.
pub(crate) fn hold(folder: &Path) {
    let _journal = Journal::create(&store(folder), &run(), started()).unwrap();
    say("held");
    wait_for_parent();
}

#[test]
fn a_second_coordinator_is_refused_with_the_pid_of_the_first() {
    let folder = tempdir().unwrap();
    let mut other = Other::start("hold", folder.path(), None);
    assert_eq!(other.line().as_deref(), Some("held"));
    let store = store(folder.path());
    let pid = other.pid();
    assert_eq!(
        store.lease(&run()).unwrap(),
        Some(Holder {
            pid,
            since_ms: NOW,
            purpose: Purpose::Run
        })
    );
    match Journal::resume(&store, &run()) {
        Err(JournalError::Held { run: held, holder }) => {
            assert_eq!((held, holder.pid), (run(), pid))
        }
        other => panic!("taken over from a live process: {other:?}"),
    }
    other.kill();
    assert_eq!(store.lease(&run()).unwrap(), None);
    assert_eq!(Journal::resume(&store, &run()).unwrap().state().seq, 1);
}

#[test]
fn a_writer_that_lost_its_lease_can_add_nothing() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let first = Journal::create(&store, &run(), started()).unwrap();
    std::fs::remove_file(folder.path().join("leases/r-abcdef.lock")).unwrap();
    let second = Journal::resume(&store, &run()).unwrap();
    for _ in 0..2 {
        let refused = first.append_blocking(added("T1"));
        assert!(matches!(refused, Err(JournalError::Fenced { .. })));
    }
    assert_eq!(second.append_blocking(added("T1")).unwrap(), [2]);
    assert_eq!(store.state(&run()).unwrap(), *second.state());
}

const SIDE_FACTS: u64 = 40;

/// Records a run of its own beside others in the same database.
pub(crate) fn side(folder: &Path, name: &str) {
    let run = format!("r-{}", name.replace('-', ""));
    let journal = Journal::create(&store(folder), &run.as_str().into(), started()).unwrap();
    for number in 1..SIDE_FACTS {
        journal
            .append_blocking(added(&format!("T{number}")))
            .unwrap();
    }
}

#[test]
fn two_processes_record_two_runs_side_by_side() {
    let folder = tempdir().unwrap();
    let others = ["side-one", "side-two"].map(|name| Other::start(name, folder.path(), None));
    for other in others {
        assert!(other.finish().1.success());
    }
    let store = store(folder.path());
    let mut found: Vec<(String, u64)> = store
        .runs()
        .unwrap()
        .into_iter()
        .map(|run| (run.run_id.to_string(), run.facts))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            ("r-sideone".to_owned(), SIDE_FACTS),
            ("r-sidetwo".to_owned(), SIDE_FACTS)
        ]
    );
}

#[test]
fn a_run_that_is_not_there_cannot_be_resumed() {
    let folder = tempdir().unwrap();
    let refused = Journal::resume(&store(folder.path()), &run());
    assert!(matches!(refused, Err(JournalError::NoSuchRun(_))));
}
