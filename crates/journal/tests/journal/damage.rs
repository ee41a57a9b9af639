//! A database that is damaged, of another version or not ours is refused with instructions, and not
//! modified.

use std::fs;
use std::path::{Path, PathBuf};

use orchestrate_core::RunState;
use orchestrate_core::event::VERSION;
use orchestrate_journal::{Journal, JournalError, Store};
use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use crate::support::{added, recorded, run, started, store};

/// Creates a journal with some facts; returns its database, with everything in that one file.
fn journal() -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let journal = Journal::create(&store, &run(), started()).unwrap();
    for number in 0..50 {
        journal
            .append_blocking(added(&format!("T{number}")))
            .unwrap();
    }
    drop(journal);
    drop(store);
    let path = folder.path().join("journal.db");
    (folder, path)
}

/// Checks that opening fails and changes nothing; returns the error.
fn check_refused(folder: &Path, path: &Path) -> JournalError {
    let before = fs::read(path).unwrap();
    let refused = Store::open(folder).unwrap_err();
    assert_eq!(fs::read(path).unwrap(), before);
    refused
}

/// Requires that the journal is opened, and has all its tasks.
fn require_whole(folder: &Path) {
    assert_eq!(
        Store::open(folder)
            .unwrap()
            .state(&run())
            .unwrap()
            .tasks()
            .count(),
        50
    );
}

#[test]
fn a_truncated_journal_is_refused() {
    for kept in [0, 50, 1000, 4096, 4096 * 5] {
        let (folder, path) = journal();
        // The control: while it is whole, the journal is opened, and has all its tasks.
        require_whole(folder.path());
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(kept)
            .unwrap();
        let refused = check_refused(folder.path(), &path);
        assert!(
            matches!(refused, JournalError::Corrupt { .. }),
            "{kept}: {refused}"
        );
        assert!(
            refused.to_string().ends_with("it was left as it is"),
            "{refused}"
        );
    }
}

#[test]
fn bytes_that_are_no_database_are_refused() {
    let (folder, path) = journal();
    let whole = fs::read(&path).unwrap();
    let (mut magic, text) = (whole.clone(), "not a database ".repeat(1000));
    magic[0] ^= 1;
    for bytes in [text.as_bytes(), magic.as_slice()] {
        fs::write(&path, bytes).unwrap();
        assert!(matches!(
            check_refused(folder.path(), &path),
            JournalError::Corrupt { .. }
        ));
    }
    // The control: with its own bytes, the same file is opened, and has all its tasks.
    fs::write(&path, whole).unwrap();
    require_whole(folder.path());
}

#[test]
fn a_database_of_another_program_is_refused() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("journal.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    assert!(matches!(
        check_refused(folder.path(), &path),
        JournalError::Corrupt { .. }
    ));
}

#[test]
fn damage_inside_is_found_when_it_is_read() {
    let (folder, path) = journal();
    // The control: while it is whole, the journal is opened, and has all its tasks.
    require_whole(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[4096 * 3..end].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let read = Store::open(folder.path()).and_then(|store| store.state(&run()));
    assert!(
        matches!(read, Err(JournalError::Corrupt { .. })),
        "{read:?}"
    );
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn another_format_is_refused_by_name() {
    for (format, words) in [
        (1, "older orchestrate created it (format 1, this one reads "),
        (99, "newer orchestrate"),
    ] {
        let (folder, path) = journal();
        // The control: with the number of its own format, the journal is opened, and has all its
        // tasks.
        require_whole(folder.path());
        Connection::open(&path)
            .unwrap()
            .pragma_update(None, "user_version", format)
            .unwrap();
        let refused = check_refused(folder.path(), &path);
        assert!(
            matches!(refused, JournalError::OtherFormat { found, .. } if found == format),
            "{refused}"
        );
        assert!(refused.to_string().contains(words), "{refused}");
    }
}

/// Inserts a fact directly into the database, as a newer version would.
fn add_foreign(path: &Path, v: u32, body: &str) {
    Connection::open(path)
        .unwrap()
        .execute(
            "INSERT INTO events (run, seq, ts_ms, v, type, body)
             SELECT run, max(seq) + 1, max(ts_ms), ?1, json_extract(?2, '$.type'), ?2 FROM events",
            (v, body),
        )
        .unwrap();
}

#[test]
fn facts_of_unknown_types_are_passed_over() {
    let (folder, path) = journal();
    add_foreign(&path, VERSION, r#"{"type":"moon.risen","phase":"full"}"#);
    let store = store(folder.path());
    let journal = Journal::resume(&store, &run()).unwrap();
    assert_eq!(journal.append_blocking(added("T50")).unwrap(), [53]);
    let mut facts = vec![started()];
    facts.extend((0..50).map(|number| added(&format!("T{number}"))));
    let mut facts = recorded(facts);
    let mut known = RunState::replay(&facts).unwrap().unwrap();
    let mut last = recorded(vec![added("T50")]).remove(0);
    last.seq = 53;
    facts.push(last.clone());
    known.seq = 52;
    known.apply(&last).unwrap();
    assert_eq!(store.events(&run(), 0, 99).unwrap(), facts);
    assert_eq!(store.state(&run()).unwrap(), known);
}

#[test]
fn facts_that_would_be_misread_are_refused() {
    let (folder, path) = journal();
    add_foreign(&path, VERSION, r#"{"type":"task.ready"}"#);
    let read = store(folder.path()).state(&run());
    assert!(
        matches!(read, Err(JournalError::Undecodable { seq: 52, .. })),
        "{read:?}"
    );

    let (folder, path) = journal();
    add_foreign(&path, VERSION + 1, r#"{"type":"task.ready","task":"T1"}"#);
    let resumed = Journal::resume(&store(folder.path()), &run()).map(|_| ());
    assert!(
        matches!(resumed, Err(JournalError::NewerFact { seq: 52, .. })),
        "{resumed:?}"
    );
}

/// Changes a stored record as a disk may, past what keeps facts from being changed.
fn flip(path: &Path, column: &str, seq: u64) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "DROP TRIGGER IF EXISTS events_are_final;
             UPDATE events SET {column} = {} WHERE seq = {seq};",
            if column == "ts_ms" {
                "ts_ms + 1".to_owned()
            } else {
                format!("replace({column}, 'T1', 'T3')")
            }
        ))
        .unwrap();
}

#[test]
fn a_flipped_bit_is_found_at_reading_and_named() {
    // The record of the eleventh task, whose number is 1 and 0.
    for column in ["body", "task", "ts_ms"] {
        let (folder, path) = journal();
        flip(&path, column, 12);
        let store = store(folder.path());
        let read = store.state(&run()).unwrap_err();
        assert!(
            matches!(&read, JournalError::Undecodable { seq: 12, .. }),
            "{column}: {read}"
        );
        assert!(read.to_string().contains("has changed on disk"), "{read}");
        // What was recorded before it can be read.
        let readable = store.readable_events(&run(), 0, 99).unwrap();
        assert_eq!(readable.events.len(), 11, "{column}");
        assert!(readable.unreadable.is_some() && store.events(&run(), 0, 99).is_err());
        assert_eq!(store.events(&run(), 0, 11).unwrap().len(), 11);
        // The run is listed, with the others.
        assert_eq!(store.runs().unwrap().len(), 1);
    }
}

/// The journal of a version that stored no checksums.
#[test]
fn records_without_a_checksum_stay_readable() {
    let (folder, path) = journal();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("DROP TRIGGER events_are_final; UPDATE events SET sum = NULL;")
        .unwrap();
    connection
        .execute_batch("ALTER TABLE events DROP COLUMN sum")
        .unwrap();
    drop(connection);
    require_whole(folder.path());
    let store = store(folder.path());
    let journal = Journal::resume(&store, &run()).unwrap();
    journal.append_blocking(added("T50")).unwrap();
    drop(journal);
    assert_eq!(store.state(&run()).unwrap().tasks().count(), 51);
    // What cannot follow is taken for damage there: nothing else says what the record was.
    flip(&path, "body", 12);
    let read = store.state(&run()).unwrap_err();
    assert!(matches!(&read, JournalError::Undecodable { .. }), "{read}");
}

#[test]
fn facts_are_never_changed_or_deleted() {
    let (_folder, path) = journal();
    let connection = Connection::open(&path).unwrap();
    for statement in ["DELETE FROM events", "UPDATE events SET body = '{}'"] {
        let refused = connection.execute(statement, []).unwrap_err().to_string();
        assert!(refused.contains("facts are never"), "{refused}");
    }
}

#[test]
fn only_the_user_can_read_a_journal() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempdir().unwrap();
    let folder = parent.path().join("state");
    let store = store(&folder);
    let _journal = Journal::create(&store, &run(), started()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let found = [
        "",
        "leases",
        "journal.db",
        "journal.db-wal",
        "leases/r-abcdef.lock",
    ]
    .map(|name| mode(&folder.join(name)));
    assert_eq!(found, [0o700, 0o700, 0o600, 0o600, 0o600]);
}

#[test]
fn a_folder_without_a_journal_stays_as_it_is() {
    let folder = tempdir().unwrap();
    assert!(Store::open_existing(folder.path()).unwrap().is_none());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_can_hold_no_journal_is_refused_by_name() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let long = [
        dir.path().to_owned(),
        "a".repeat(250).into(),
        "b".repeat(250).into(),
    ]
    .iter()
    .collect::<PathBuf>();
    for folder in [file.join("state"), long.clone()] {
        let error = Store::open(&folder).unwrap_err();
        assert!(
            matches!(&error, JournalError::Unusable { path, .. } if *path == folder),
            "{error}"
        );
    }
    let error = Store::open_existing(&file.join("state")).unwrap_err();
    assert!(matches!(error, JournalError::Unusable { .. }), "{error}");
    assert!(!long.exists(), "it was made");
    // The control: a folder beside the file, and one with a path of half that length, hold a
    // journal.
    for folder in [dir.path().join("state"), dir.path().join("a".repeat(250))] {
        drop(Store::open(&folder).unwrap());
        assert!(folder.join("journal.db").exists(), "{}", folder.display());
    }
}
