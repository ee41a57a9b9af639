//! Commands of other processes to the coordinator of a run, as rows of the same database.
//!
//! A command is durable before its sender is told so. It stays open until its answer is recorded, which happens in
//! the transaction of the facts that it led to, so it is carried out once: a coordinator that died in between
//! finds it open again.

use std::path::PathBuf;
use std::sync::mpsc as std_mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use orchestrate_core::ids::RunId;
use orchestrate_core::request::RequestRefused;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::mpsc;

use crate::database::{from_sql, to_sql};
use crate::error::JournalError;
use crate::received::{Answer, InboxId, Received, Reply};

/// How often the inbox is looked at: a person does not notice it, and one look that finds nothing new costs one
/// pragma.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// Commands taken over but not yet read by the coordinator; the rest waits in the database.
const WAITING_COMMANDS: usize = 64;

/// Writes a command down.
pub(crate) fn send(
    connection: &Connection,
    run: &RunId,
    sent_ms: u64,
    body: &str,
) -> rusqlite::Result<Option<InboxId>> {
    let sent = connection
        .prepare_cached(
            "INSERT INTO inbox (run, sent_ms, body) SELECT id, ?2, ?3 FROM runs WHERE run = ?1 RETURNING id",
        )?
        .query_row(params![run.as_str(), to_sql(sent_ms), body], |row| row.get(0))
        .optional()?;
    Ok(sent.map(InboxId))
}

/// Open commands of a run, oldest first, and the number to go on from.
struct Page {
    commands: Vec<Received>,
    last: InboxId,
    is_full: bool,
}

/// Reads so many open commands of a run after a number.
///
/// A command that this version does not know is passed over: it stays open, and its sender is not answered.
fn open_after(connection: &Connection, run: &RunId, after: InboxId, most: usize) -> rusqlite::Result<Page> {
    let mut query = connection.prepare_cached(
        "SELECT inbox.id, sent_ms, body FROM inbox JOIN runs ON runs.id = inbox.run
         WHERE runs.run = ?1 AND inbox.id > ?2 AND done IS NULL ORDER BY inbox.id LIMIT ?3",
    )?;
    let rows = query.query_map(params![run.as_str(), after.0, to_sql(most as u64)], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))
    })?;
    let (mut commands, mut last, mut count) = (Vec::new(), after, 0);
    for row in rows {
        let (id, sent_ms, body) = row?;
        (last, count) = (InboxId(id), count + 1);
        match serde_json::from_str(&body) {
            Ok(request) => commands.push(Received { id: InboxId(id), sent_ms: from_sql(sent_ms), request }),
            Err(error) => tracing::warn!(%run, id, %error, "skipping a request that this version does not know"),
        }
    }
    Ok(Page { commands, last, is_full: count == most })
}

/// Reads the open commands of a run, oldest first.
pub(crate) fn open(connection: &Connection, run: &RunId) -> rusqlite::Result<Vec<Received>> {
    open_after(connection, run, InboxId(0), WAITING_COMMANDS).map(|page| page.commands)
}

/// Records an answer, once; tells whether there is such a command.
pub(crate) fn answer(tx: &Connection, answer: &Answer) -> rusqlite::Result<bool> {
    let (done, text) = match &answer.reply {
        Ok(text) => (true, text.clone()),
        Err(refused) => (false, stored_refusal(refused)),
    };
    let changed = tx
        .prepare_cached("UPDATE inbox SET done = ?2, answer = ?3 WHERE id = ?1 AND done IS NULL")?
        .execute(params![answer.to.0, done, text])?;
    Ok(changed > 0)
}

/// Reads the answer to a command, or `None` while it is open.
pub(crate) fn answer_of(connection: &Connection, id: InboxId) -> rusqlite::Result<Option<Option<Reply>>> {
    connection
        .prepare_cached("SELECT done, answer FROM inbox WHERE id = ?1")?
        .query_row([id.0], |row| {
            let done: Option<bool> = row.get(0)?;
            let text: Option<String> = row.get(1)?;
            let text = text.unwrap_or_default();
            Ok(done.map(|done| if done { Ok(text) } else { Err(read_refusal(text)) }))
        })
        .optional()
}

fn stored_refusal(refused: &RequestRefused) -> String {
    serde_json::to_string(refused).unwrap_or_else(|_| refused.to_string())
}

/// Reads a refusal as it was stored; one of a kind that this version does not know is shown as it stands.
fn read_refusal(stored: String) -> RequestRefused {
    serde_json::from_str(&stored).unwrap_or(RequestRefused::NotPrepared { error: stored })
}

/// Looks for commands until nobody wants them any more, in a thread of its own.
pub(crate) struct Watch {
    pub(crate) connection: Connection,
    pub(crate) database: PathBuf,
    pub(crate) run: RunId,
}

/// Keeps a watch going: once it is dropped, nobody looks any more.
pub(crate) struct Watching {
    alive: Option<std_mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.alive = None;
        // It waits for nothing but the end of a look.
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the reader of the inbox panicked");
        }
    }
}

impl Watch {
    /// Starts looking; gives where the commands arrive, those that were open before first.
    #[expect(clippy::disallowed_methods, reason = "nothing is ever sent: its end tells that nobody wants to know")]
    pub(crate) fn start(self) -> Result<(mpsc::Receiver<Received>, Watching), JournalError> {
        let (sender, receiver) = mpsc::channel(WAITING_COMMANDS);
        let (alive, closed) = std_mpsc::channel();
        let path = self.database.clone();
        let thread = thread::Builder::new()
            .name("journal-inbox".to_owned())
            .spawn(move || self.look(&sender, &closed))
            .map_err(|error| JournalError::io(&path, error))?;
        Ok((receiver, Watching { alive: Some(alive), thread: Some(thread) }))
    }

    fn look(self, sender: &mpsc::Sender<Received>, closed: &std_mpsc::Receiver<()>) {
        let mut newest = InboxId(0);
        let mut seen = None;
        loop {
            // Nobody else sends, so there is a place for each command that is read.
            match self.arrived(sender.capacity(), &mut newest, &mut seen) {
                Ok(commands) => {
                    if !commands.into_iter().all(|command| sender.try_send(command).is_ok()) {
                        return;
                    }
                }
                Err(error) => {
                    let error = JournalError::database(&self.database, error);
                    tracing::warn!(run = %self.run, %error, "could not read the inbox; retrying");
                }
            }
            let waited = closed.recv_timeout(POLL);
            if sender.is_closed() || waited != Err(std_mpsc::RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// Reads so much of what has arrived, if anything in the database has changed since the last look.
    fn arrived(&self, most: usize, newest: &mut InboxId, seen: &mut Option<i64>) -> rusqlite::Result<Vec<Received>> {
        let version: i64 = self.connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if *seen == Some(version) {
            return Ok(Vec::new());
        }
        let page = open_after(&self.connection, &self.run, *newest, most)?;
        *newest = page.last;
        // A full page may have more behind it, so the next look reads on even if nothing changes.
        *seen = (!page.is_full).then_some(version);
        Ok(page.commands)
    }
}
