//! Requests are durable when sent, received in order, and open until answered with their facts.

use std::time::Duration;

use orchestrate_core::event::HeldIntegration;
use orchestrate_core::run::request::{Request, RequestRefused, StopLevel};
use orchestrate_core::{Event, Redactor, Secret};
use orchestrate_journal::{Batch, Journal, JournalError, Received, Store};
use rusqlite::Connection;
use tempfile::tempdir;
use tokio::sync::mpsc::error::TryRecvError;

use crate::support::{NOW, added, run, sent, started, store};

fn message(number: u64) -> Request {
    Request::message("T1", format!("message {number}"))
}

fn received(journal: &Journal, count: usize) -> Vec<Received> {
    let mut requests = journal.requests().unwrap();
    (0..count)
        .map(|_| requests.blocking_recv().unwrap())
        .collect()
}

#[test]
fn every_command_comes_out_as_it_went_in() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal = Journal::create(&store, &run(), started()).unwrap();
    let requests = [
        Request::Approve {
            task: "T1".into(),
            tree: "a".into(),
        },
        Request::Reject {
            task: "T1".into(),
            message: "no".to_owned(),
            at: Some("src/lib.rs:3".to_owned()),
        },
        Request::Decide {
            call: "c".into(),
            allowed: true,
            message: None,
        },
        Request::Retry {
            task: "T1".into(),
            message: Some("again".to_owned()),
        },
        message(1),
        Request::Stop {
            level: StopLevel::Drain,
            holder: None,
        },
        Request::StopAgent {
            agent: "T1".into(),
            holder: None,
        },
    ];
    let sent: Vec<Received> = requests
        .into_iter()
        .map(|command| Received {
            id: store.send(&run(), &command).unwrap(),
            sent_ms: NOW,
            request: command,
        })
        .collect();
    assert_eq!(received(&journal, sent.len()), sent);
}

#[test]
fn a_command_that_arrives_later_is_received_and_its_sender_answered() {
    let folder = tempdir().unwrap();
    let journal =
        Journal::create(&store(folder.path()), &run(), vec![started(), added("T1")]).unwrap();
    let mut requests = journal.requests().unwrap();
    // A separate store stands for another process.
    let other: Store = store(folder.path());
    let id = other.send(&run(), &message(1)).unwrap();
    assert_eq!(other.answer(id).unwrap(), None);
    assert_eq!(other.wait_for_answer(id, Duration::ZERO).unwrap(), None);
    let command = requests.blocking_recv().unwrap();
    assert_eq!((command.id, command.request), (id, message(1)));
    let answer = Batch::from(sent("T1", 1)).answering(id, Ok("delivered soon".to_owned()));
    journal.append_blocking(answer).unwrap();
    let answered = other.wait_for_answer(id, Duration::from_secs(60)).unwrap();
    assert_eq!(answered, Some(Ok("delivered soon".to_owned())));
}

#[test]
fn a_command_stays_open_until_its_answer_is_recorded() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal = Journal::create(&store, &run(), vec![started(), added("T1")]).unwrap();
    let ids = [1, 2].map(|number| store.send(&run(), &message(number)).unwrap());
    assert_eq!(received(&journal, 2).len(), 2);
    // An answer is discarded with the illegal fact of its batch.
    let impossible = Batch::from(added("T1")).answering(ids[0], Ok(String::new()));
    assert!(journal.append_blocking(impossible).is_err());
    let refusal = Batch::default().answering(ids[1], Err(RequestRefused::Late));
    journal.append_blocking(refusal).unwrap();
    drop(journal);
    let resumed = Journal::resume(&store, &run()).unwrap();
    let open: Vec<_> = received(&resumed, 1)
        .into_iter()
        .map(|command| command.id)
        .collect();
    assert_eq!(open, ids[..1]);
    assert_eq!(
        store.answer(ids[1]).unwrap(),
        Some(Err(RequestRefused::Late))
    );
}

#[test]
fn commands_of_other_runs_and_of_newer_versions_are_left_alone() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal = Journal::create(&store, &run(), started()).unwrap();
    let _other = Journal::create(&store, &"r-others".into(), started()).unwrap();
    store.send(&"r-others".into(), &message(1)).unwrap();
    Connection::open(store.database())
        .unwrap()
        .execute_batch("INSERT INTO inbox (run, sent_ms, body) SELECT id, 0, '{\"command\":\"fly\"}' FROM runs")
        .unwrap();
    let id = store.send(&run(), &message(2)).unwrap();
    assert_eq!(received(&journal, 1)[0].id, id);
}

#[test]
fn more_commands_than_the_channel_holds_all_arrive() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal = Journal::create(&store, &run(), started()).unwrap();
    let ids: Vec<_> = (0..150)
        .map(|number| store.send(&run(), &message(number)).unwrap())
        .collect();
    let found: Vec<_> = received(&journal, ids.len())
        .into_iter()
        .map(|command| command.id)
        .collect();
    assert_eq!(found, ids);
}

#[test]
fn the_inbox_ends_with_the_journal() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal = Journal::create(&store, &run(), started()).unwrap();
    let mut requests = journal.requests().unwrap();
    drop(journal);
    assert_eq!(requests.try_recv(), Err(TryRecvError::Disconnected));
    assert!(matches!(
        store.send(&"r-nowhere".into(), &message(1)),
        Err(JournalError::NoSuchRun(_))
    ));
}

/// The watch of the inbox ends when the journal is closed, even if its requests are not received.
#[test]
fn commands_that_nobody_reads_keep_no_journal_open() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal = Journal::create(&store, &run(), started()).unwrap();
    for number in 0..150 {
        store.send(&run(), &message(number)).unwrap();
    }
    let mut requests = journal.requests().unwrap();
    assert!(requests.blocking_recv().is_some());
    drop(journal);
    while requests.try_recv().is_ok() {}
    assert_eq!(requests.try_recv(), Err(TryRecvError::Disconnected));
}

/// The passphrase contains the name of the fact's type, so the secret cannot be removed from it.
#[test]
fn a_fact_that_a_secret_cannot_be_taken_out_of_is_refused() {
    const PASSPHRASE: &str = "integration.held-by-nobody-at-all";
    let folder = tempdir().unwrap();
    let store =
        store(folder.path()).redacting(Redactor::new([Secret::new("PASSPHRASE", PASSPHRASE)]));
    let journal = Journal::create(&store, &run(), started()).unwrap();
    let held = HeldIntegration {
        checkout: format!("/home/{PASSPHRASE}"),
        commit: "1".repeat(40).as_str().into(),
    };
    let refused = journal
        .append_blocking(Event::IntegrationHeld(held))
        .unwrap_err();
    let told = refused.to_string();
    assert!(
        matches!(refused, JournalError::Secret(_))
            && told.contains("PASSPHRASE")
            && told.contains("`checkout`")
    );
    assert!(!told.contains("nobody"), "{told}");
    // Later facts are recorded as usual, without the secret.
    let answered = store
        .send(&run(), &Request::message("T1", PASSPHRASE))
        .unwrap();
    let failed = Batch::default().answering(
        answered,
        Err(RequestRefused::NotPrepared {
            error: format!("no {PASSPHRASE}"),
        }),
    );
    journal.append_blocking(failed).unwrap();
    assert_eq!(
        store.answer(answered).unwrap(),
        Some(Err(RequestRefused::NotPrepared {
            error: "no [redacted:PASSPHRASE]".to_owned()
        }))
    );
    drop((journal, store));
    for entry in std::fs::read_dir(folder.path())
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_file())
    {
        let bytes = std::fs::read(entry.path()).unwrap();
        assert!(
            !bytes
                .windows(PASSPHRASE.len())
                .any(|part| part == PASSPHRASE.as_bytes()),
            "{:?}",
            entry.path()
        );
    }
}
