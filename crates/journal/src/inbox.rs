//! Requests of other processes to the coordinator of a run, as rows of the same database.
//!
//! A request is durable before the call of its sender returns. It stays open until its answer is
//! recorded, in the transaction of the facts that it led to. So it is carried out once: if a
//! coordinator dies before that, the next one finds the request open.

use std::path::PathBuf;
use std::sync::mpsc as std_mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use orchestrate_core::ids::RunId;
use orchestrate_core::run::request::RequestRefused;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::mpsc;

use crate::database::{from_sql, to_sql};
use crate::error::JournalError;
use crate::received::{Answer, InboxId, Received, Reply};

/// The interval at which the inbox is polled: too short for a user to notice, and a poll that finds
/// nothing new costs one pragma.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// The capacity of the channel to the coordinator; further requests stay in the database.
const WAITING_COMMANDS: usize = 64;

/// More requests than a run can have.
const EVERY: usize = i32::MAX as usize;

/// Records a request; returns `None` if there is no such run.
pub(crate) fn send(
    connection: &Connection,
    run: &RunId,
    sent_ms: u64,
    body: &str,
) -> rusqlite::Result<Option<InboxId>> {
    let sent = connection
        .prepare_cached(
            "INSERT INTO inbox (run, sent_ms, body) SELECT id, ?2, ?3 FROM runs WHERE run = ?1 \
             RETURNING id",
        )?
        .query_row(params![run.as_str(), to_sql(sent_ms), body], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(sent.map(InboxId))
}

/// Open requests of a run, oldest first, and the id after which to continue.
struct Page {
    commands: Vec<Received>,
    last: InboxId,
    is_full: bool,
}

/// Reads at most `most` open requests of a run after an id.
///
/// Skips a request that this version does not know: it stays open, and its sender gets no answer.
fn open_after(
    connection: &Connection,
    run: &RunId,
    after: InboxId,
    most: usize,
) -> rusqlite::Result<Page> {
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
            Ok(request) => commands.push(Received {
                id: InboxId(id),
                sent_ms: from_sql(sent_ms),
                request,
            }),
            Err(error) => {
                tracing::warn!(%run, id, %error,
                    "skipping a request that this version does not know")
            }
        }
    }
    Ok(Page {
        commands,
        last,
        is_full: count == most,
    })
}

/// Reads all open requests of a run, oldest first.
pub(crate) fn open(connection: &Connection, run: &RunId) -> rusqlite::Result<Vec<Received>> {
    open_after(connection, run, InboxId(0), EVERY).map(|page| page.commands)
}

/// Records the answer to an open request; reports whether there was one.
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

/// Reads the answer to a request: `Some(None)` while it is open, `None` if there is no such
/// request.
pub(crate) fn answer_of(
    connection: &Connection,
    id: InboxId,
) -> rusqlite::Result<Option<Option<Reply>>> {
    connection
        .prepare_cached("SELECT done, answer FROM inbox WHERE id = ?1")?
        .query_row([id.0], |row| {
            let done: Option<bool> = row.get(0)?;
            Ok(match done {
                Some(true) => Some(Ok(row.get(1)?)),
                Some(false) => Some(Err(read_refusal(row.get(1)?))),
                None => None,
            })
        })
        .optional()
}

fn stored_refusal(refused: &RequestRefused) -> String {
    serde_json::to_string(refused).unwrap_or_else(|_| refused.to_string())
}

/// Parses a stored refusal. One of a kind that this version does not know keeps its stored text.
fn read_refusal(stored: String) -> RequestRefused {
    serde_json::from_str(&stored).unwrap_or(RequestRefused::NotPrepared { error: stored })
}

/// Polls for requests, in a thread of its own, until their receiver or its `Watching` is dropped.
pub(crate) struct Watch {
    pub(crate) connection: Connection,
    pub(crate) database: PathBuf,
    pub(crate) run: RunId,
}

/// Keeps a watch running; dropping it stops the watch and joins its thread.
pub(crate) struct Watching {
    alive: Option<std_mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.alive = None;
        // The thread ends after the current poll, at the latest.
        if self
            .thread
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            tracing::error!("the reader of the inbox panicked");
        }
    }
}

impl Watch {
    /// Starts polling; returns the receiver of the requests. Those that are open already come
    /// first.
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing is ever sent: its end tells that nobody wants to know"
    )]
    pub(crate) fn start(self) -> Result<(mpsc::Receiver<Received>, Watching), JournalError> {
        let (sender, receiver) = mpsc::channel(WAITING_COMMANDS);
        let (alive, closed) = std_mpsc::channel();
        let path = self.database.clone();
        let thread = thread::Builder::new()
            .name("journal-inbox".to_owned())
            .spawn(move || self.look(&sender, &closed))
            .map_err(JournalError::at(&path))?;
        Ok((
            receiver,
            Watching {
                alive: Some(alive),
                thread: Some(thread),
            },
        ))
    }

    fn look(self, sender: &mpsc::Sender<Received>, closed: &std_mpsc::Receiver<()>) {
        let mut newest = InboxId(0);
        let mut seen = None;
        loop {
            // This is the only sender, so the channel has room for each request that is read.
            match self.arrived(sender.capacity(), &mut newest, &mut seen) {
                Ok(commands) => {
                    if !commands
                        .into_iter()
                        .all(|command| sender.try_send(command).is_ok())
                    {
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

    /// Reads at most `most` new requests, if the database has changed since the last poll.
    fn arrived(
        &self,
        most: usize,
        newest: &mut InboxId,
        seen: &mut Option<i64>,
    ) -> rusqlite::Result<Vec<Received>> {
        let version: i64 = self
            .connection
            .pragma_query_value(None, "data_version", |row| row.get(0))?;
        if *seen == Some(version) {
            return Ok(Vec::new());
        }
        let page = open_after(&self.connection, &self.run, *newest, most)?;
        *newest = page.last;
        // More may follow a full page, so the next poll continues even if nothing changes.
        *seen = (!page.is_full).then_some(version);
        Ok(page.commands)
    }
}
