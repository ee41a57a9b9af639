//! The SQLite file: where it may be stored, how it is created, and how connections to it are
//! configured.
//!
//! A new database is created under another name and then linked into place, so a file named
//! `journal.db` is either a whole journal or damaged, and a damaged one is never written to.
//! Write-ahead logging lets other connections read while the sequencer writes; `synchronous=FULL`
//! makes a commit durable when it returns.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::JournalError;

/// The name of the database in the folder of a store.
pub(crate) const FILE_NAME: &str = "journal.db";

/// The format of the tables, the events and the blobs, in `PRAGMA user_version`. Other formats are
/// refused. It increases with each change that an older or a newer version would misread.
pub(crate) const FORMAT: i64 = 4;

/// Identifies the file as a journal in `PRAGMA application_id`: "orch" in ASCII.
const APPLICATION_ID: i64 = 0x6f72_6368;

/// The maximum length of a folder's path. SQLite's limit is 512 bytes, and a new database has a
/// longer name at first.
const MAX_FOLDER_BYTES: usize = 470;

/// How long a connection waits for another process's transaction. Each takes about one sync to
/// disk, so this is reached only if a process is stopped in the middle of one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// File systems that lack the shared memory or the locks that write-ahead logging needs, by
/// `statfs` type (`linux/magic.h`).
const FOREIGN_FILE_SYSTEMS: [(u64, &str); 7] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x517b, "SMB"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
];

const TABLES: &str = "
CREATE TABLE runs (
    id    INTEGER PRIMARY KEY,
    run   TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL            -- counts the coordinators that held the lease; only the
                                      -- newest may write
) STRICT;
CREATE TABLE events (
    run   INTEGER NOT NULL REFERENCES runs (id),
    seq   INTEGER NOT NULL,
    ts_ms INTEGER NOT NULL,
    v     INTEGER NOT NULL,
    type  TEXT NOT NULL,
    task  TEXT,
    body  TEXT NOT NULL,              -- the fact as JSON
    sum   INTEGER                     -- the checksum of all this; null in facts that older
                                      -- versions recorded
) STRICT;
CREATE UNIQUE INDEX events_by_seq ON events (run, seq);
CREATE INDEX events_by_task ON events (run, task, seq) WHERE task IS NOT NULL;
CREATE INDEX events_of_status ON events (run, seq)
    WHERE type IN ('run.started', 'run.resumed', 'run.finished');
CREATE TRIGGER events_are_final BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'facts are never changed'); END;
CREATE TABLE blobs (
    id    TEXT NOT NULL UNIQUE,       -- SHA-256 in lower-case hexadecimal
    size  INTEGER NOT NULL,
    bytes BLOB                        -- null: the bytes are in blobs/<two digits>/<the rest>
) STRICT;
CREATE TABLE inbox (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    run     INTEGER NOT NULL REFERENCES runs (id),
    sent_ms INTEGER NOT NULL,
    body    TEXT NOT NULL,            -- the command as JSON
    done    INTEGER,                  -- null while open, 1 if carried out, 0 if refused
    answer  TEXT
) STRICT;
CREATE INDEX inbox_open ON inbox (run, id) WHERE done IS NULL;
";

/// The trigger that keeps facts from being deleted.
pub(crate) const FACTS_STAY: &str = "CREATE TRIGGER events_stay BEFORE DELETE ON events BEGIN \
                                     SELECT RAISE(ABORT, 'facts are never deleted'); END;";

/// Creates the folder and its database if they are missing; returns the path of the database.
pub(crate) fn prepare(folder: &Path) -> Result<PathBuf, JournalError> {
    if folder.as_os_str().len() > MAX_FOLDER_BYTES {
        let reason = format!("its path is longer than {MAX_FOLDER_BYTES} bytes");
        return Err(JournalError::Unusable {
            path: folder.to_owned(),
            reason,
        });
    }
    orchestrate_files::create_folder(folder)
        .map_err(|error| JournalError::unusable(folder, error))?;
    refuse_foreign(folder)?;
    let path = folder.join(FILE_NAME);
    let exists = path.try_exists().map_err(JournalError::at(&path))?;
    if !exists {
        create(folder, &path)?;
    }
    Ok(path)
}

/// Connects to an existing database; refuses one that is damaged or of another format.
pub(crate) fn connect(path: &Path) -> Result<Connection, JournalError> {
    let connection = open(path).map_err(JournalError::in_database(path))?;
    check_owner(path, &connection)?;
    let is_shared = use_wal(&connection).map_err(JournalError::in_database(path))?;
    if !is_shared {
        return Err(JournalError::ForeignFileSystem {
            path: path.to_owned(),
            kind: "a file system without shared memory",
        });
    }
    set_up(&connection).map_err(JournalError::in_database(path))?;
    Ok(connection)
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Reports whether the database has a write-ahead log, which needs shared memory; it gets one if
/// possible.
fn use_wal(connection: &Connection) -> rusqlite::Result<bool> {
    let mut mode: String = pragma(connection, "journal_mode")?;
    if mode != "wal" {
        mode = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
    }
    Ok(mode == "wal")
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA synchronous=FULL; PRAGMA fullfsync=1; PRAGMA checkpoint_fullfsync=1;
         PRAGMA temp_store=MEMORY;",
    )?;
    show_facts(connection)
}

/// Creates the view `facts` of this connection: all facts, with their checksums. The table of an
/// older version has no place for these; it gets one, unless it cannot be written.
fn show_facts(connection: &Connection) -> rusqlite::Result<()> {
    if !has_sums(connection)?
        && let Err(error) = connection.execute_batch("ALTER TABLE events ADD COLUMN sum INTEGER")
    {
        // Another process may have been faster; and what is read-only can be read.
        tracing::debug!(%error, "the journal has no place for checksums");
    }
    let sum = if has_sums(connection)? {
        "sum"
    } else {
        "NULL AS sum"
    };
    connection.execute_batch(&format!(
        "CREATE TEMP VIEW facts AS SELECT run, seq, ts_ms, v, type, task, body, {sum} FROM \
         main.events"
    ))
}

fn has_sums(connection: &Connection) -> rusqlite::Result<bool> {
    let count: i64 = connection.query_row(
        "SELECT count(*) FROM pragma_table_info('events') WHERE name = 'sum'",
        [],
        |row| row.get(0),
    )?;
    Ok(count > 0)
}

fn check_owner(path: &Path, connection: &Connection) -> Result<(), JournalError> {
    let owner: i64 =
        pragma(connection, "application_id").map_err(JournalError::in_database(path))?;
    if owner != APPLICATION_ID {
        return Err(JournalError::Corrupt {
            path: path.to_owned(),
            reason: "it is empty, truncated, or not a journal of orchestrate".to_owned(),
        });
    }
    let found: i64 = pragma(connection, "user_version").map_err(JournalError::in_database(path))?;
    if found == FORMAT {
        Ok(())
    } else {
        Err(JournalError::OtherFormat {
            path: path.to_owned(),
            found,
            known: FORMAT,
        })
    }
}

fn pragma<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> rusqlite::Result<T> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Creates a whole database under a unique name and links it into place. If another process was
/// faster, its database is used.
fn create(folder: &Path, path: &Path) -> Result<(), JournalError> {
    let half = folder.join(format!("{FILE_NAME}.{}.new", std::process::id()));
    let _ = fs::remove_file(&half);
    let made = fill_and_link(&half, path);
    // A leftover of this name is never read, and the error to report is the first one.
    let _ = fs::remove_file(&half);
    made?;
    orchestrate_files::sync_folder(folder).map_err(JournalError::at(folder))
}

fn fill_and_link(half: &Path, path: &Path) -> Result<(), JournalError> {
    orchestrate_files::create_file(half).map_err(JournalError::at(half))?;
    fill(half).map_err(JournalError::in_database(half))?;
    match fs::hard_link(half, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(JournalError::io(path, error))
        }
        _ => Ok(()),
    }
}

fn fill(path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    // The application id comes last: without it, the file is not a journal.
    connection.execute_batch(&format!(
        "PRAGMA synchronous=FULL; PRAGMA journal_mode=WAL; BEGIN; {TABLES} {FACTS_STAY}
         PRAGMA user_version={FORMAT}; PRAGMA application_id={APPLICATION_ID}; COMMIT;"
    ))?;
    connection.close().map_err(|(_, error)| error)
}

fn refuse_foreign(folder: &Path) -> Result<(), JournalError> {
    let found =
        rustix::fs::statfs(folder).map_err(|error| JournalError::io(folder, error.into()))?;
    match foreign(found.f_type as u64) {
        Some(kind) => Err(JournalError::ForeignFileSystem {
            path: folder.to_owned(),
            kind,
        }),
        None => Ok(()),
    }
}

/// Returns the name of the file system of a `statfs` type if it cannot hold a journal.
fn foreign(kind: u64) -> Option<&'static str> {
    // The type's width and sign differ between platforms; the magic numbers fit 32 bits.
    let kind = kind & 0xffff_ffff;
    FOREIGN_FILE_SYSTEMS
        .iter()
        .find(|(magic, _)| *magic == kind)
        .map(|(_, name)| *name)
}

/// Converts a count for SQLite, whose integers are signed; no count comes near the limit.
pub(crate) fn to_sql(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts a count that [`to_sql`] stored.
pub(crate) fn from_sql(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_of_other_machines_are_known_by_their_types() {
        // As a signed number of 32 bits, the type of CIFS is negative.
        // The control: the last three hold a journal, namely ext4, tmpfs and overlayfs.
        let table = [
            (0x6969, Some("NFS")),
            (0xff53_4d42, Some("CIFS")),
            (0xffff_ffff_ff53_4d42, Some("CIFS")),
            (0xffff_ffff_fe53_4d42, Some("SMB")),
            (0x0102_1997, Some("9p")),
            (0xef53, None),
            (0x0102_1994, None),
            (0x794c_7630, None),
        ];
        for (kind, expected) in table {
            assert_eq!(foreign(kind), expected, "{kind:#x}");
        }
    }
}
