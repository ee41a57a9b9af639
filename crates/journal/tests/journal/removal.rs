//! A whole run can be removed, and nothing else of a journal is ever deleted.

use orchestrate_core::event::{Event, ResourceUsage, ToolOutcome};
use orchestrate_core::ids::RunId;
use orchestrate_journal::{Batch, Blob, INLINE_BYTES, Journal, JournalError, Store};
use rusqlite::Connection;
use tempfile::tempdir;

use crate::support::{added, ready, run, spawned, started, store};

/// Starts a run with one call, whose result is this blob, and which names these beside it.
fn record(store: &Store, run: &RunId, result: &Blob, named: &[&Blob]) {
    let journal = Journal::create(store, run, started()).unwrap();
    for event in [added("T1"), ready("T1"), spawned("T1")] {
        journal.append_blocking(event).unwrap();
    }
    let call = || "c1".into();
    let begun = Event::ToolStarted {
        task: "T1".into(),
        turn: 1,
        call_id: call(),
        tool: "look".to_owned(),
        arguments: serde_json::json!({}),
        writes: Vec::new(),
        deletes: Vec::new(),
        rule: "r".to_owned(),
        cache: None,
    };
    journal
        .append_blocking(Event::WorktreePrepared {
            task: "T1".into(),
            onto: None,
        })
        .unwrap();
    journal.append_blocking(begun).unwrap();
    let ended = Event::ToolFinished {
        task: "T1".into(),
        turn: 1,
        call_id: call(),
        tool: "look".to_owned(),
        outcome: ToolOutcome::Ok,
        error_class: None,
        denied_by: None,
        error: None,
        exit_code: None,
        result: result.id().clone(),
        duration_ms: 1,
        resource_usage: ResourceUsage::default(),
        deleted: Vec::new(),
        recovered: Vec::new(),
    };
    let blobs = named.iter().copied().chain([result]).cloned();
    journal
        .append_blocking(blobs.fold(Batch::from(ended), Batch::with_blob))
        .unwrap();
}

#[test]
fn a_run_goes_with_what_it_alone_names() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let other = RunId::from("r-other1");
    let (shared, large) = (Blob::new("shared"), Blob::new(vec![7; INLINE_BYTES + 1]));
    let kept = Blob::new("named by a result of the other run");
    let alone = Blob::new("alone");
    let own = Blob::new(format!(
        "{{\"artifacts\":[\"{}\",\"{}\"]}}",
        large.id(),
        kept.id()
    ));
    let others = Blob::new(format!(
        "{{\"artifacts\":[\"{}\",\"{}\"]}}",
        kept.id(),
        shared.id()
    ));
    record(&store, &run(), &own, &[&shared, &large, &kept, &alone]);
    record(&store, &other, &others, &[]);
    let state = store.state(&other).unwrap();
    let removal = store.begin_removal(&run()).unwrap();
    assert_eq!(removal.facts(), 7);
    // Nobody works on it meanwhile.
    assert!(matches!(
        Journal::resume(&store, &run()),
        Err(JournalError::Held { .. })
    ));
    removal.finish().unwrap();
    assert!(matches!(
        store.state(&run()),
        Err(JournalError::NoSuchRun(_))
    ));
    assert_eq!(store.state(&other).unwrap(), state);
    let has = |blob: &Blob| store.blob(blob.id()).is_ok();
    assert_eq!([&own, &large].map(has), [false, false]);
    assert_eq!([&others, &kept, &shared].map(has), [true; 3]);
    let files = walk(&folder.path().join("blobs"));
    assert_eq!(files, 0, "the file of the large blob is still there");
    // Facts stay as safe as before.
    let refused = Connection::open(store.database())
        .unwrap()
        .execute("DELETE FROM events", [])
        .unwrap_err();
    assert!(
        refused.to_string().contains("facts are never deleted"),
        "{refused}"
    );
    assert!(matches!(
        store.begin_removal(&run()),
        Err(JournalError::NoSuchRun(_))
    ));
}

/// Counts the files below a folder.
fn walk(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| {
            if entry.path().is_dir() {
                walk(&entry.path())
            } else {
                1
            }
        })
        .sum()
}
