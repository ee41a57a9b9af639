//! One repository's journal as every process sees it: runs, facts, blobs, leases, and the inbox.
//!
//! Any number of processes read a store and send requests to it, with or without a coordinator;
//! facts are recorded through [`crate::Journal`] alone. A reader skips facts of types that it does
//! not know, and refuses facts of a newer version, which it would misread.

use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use orchestrate_core::collections::Mutex;
use orchestrate_core::event::{Event, Recorded, RunStatus, VERSION};
use orchestrate_core::ids::{BlobId, RunId, TaskId};
use orchestrate_core::projections::report::Standing;
use orchestrate_core::{Redactor, RunState};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::blobs::{self, Files};
use crate::checksum::Stored;
use crate::clock::Clock;
use crate::database::{self, from_sql, to_sql};
use crate::error::JournalError;
use crate::inbox;
use crate::lease;
use crate::received::{InboxId, Received, Reply};
use orchestrate_core::run::request::{Holder, Purpose, Request};

/// One repository's journal and its blobs; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
    redactor: Redactor,
}

#[derive(Debug)]
struct Inner {
    database: PathBuf,
    leases: PathBuf,
    files: Files,
    clock: Clock,
    connection: Mutex<Connection>,
}

/// The entry of a run in a list of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The id of the run.
    pub run_id: RunId,
    /// The plan's path as typed.
    pub plan: Option<String>,
    /// The plan's title.
    pub title: Option<String>,
    /// Unix milliseconds of the first fact.
    pub started_ms: u64,
    /// Unix milliseconds of the newest fact.
    pub updated_ms: u64,
    /// The number of facts.
    pub facts: u64,
    /// Its status according to its facts. A running run whose lease no process holds was
    /// interrupted.
    pub status: RunStatus,
    /// The exit code; `None` until it has ended.
    pub exit_code: Option<u8>,
    /// Whether one of the records that this entry is made of is damaged, so that the entry says
    /// less than it should.
    pub is_damaged: bool,
}

/// Events of a run, up to the first one that cannot be read.
#[derive(Clone, Debug, Default)]
pub struct ReadableEvents {
    /// The events, oldest first.
    pub events: Vec<Recorded>,
    /// Why the next one cannot be read.
    pub unreadable: Option<JournalError>,
}

impl ReadableEvents {
    /// Returns the events, or why one of them cannot be read.
    fn all(self) -> Result<Vec<Recorded>, JournalError> {
        self.unreadable.map_or(Ok(self.events), Err)
    }
}

impl Store {
    /// Opens a repository's journal in its folder; creates both if they are missing.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be created or is on a network file system, or if the database is
    /// damaged or of another format. The database is then not modified.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        Self::open_with(folder, Clock::SYSTEM)
    }

    /// Opens a repository's journal with this clock for the times of new facts.
    ///
    /// # Errors
    ///
    /// See [`Store::open`].
    pub fn open_with(folder: &Path, clock: Clock) -> Result<Self, JournalError> {
        let database = database::prepare(folder)?;
        let connection = database::connect(&database)?;
        Ok(Self {
            redactor: Redactor::default(),
            inner: Arc::new(Inner {
                leases: folder.join("leases"),
                files: Files::new(folder.join("blobs")),
                clock,
                connection: Mutex::new(connection),
                database,
            }),
        })
    }

    /// Keeps these secrets out of everything that is recorded or sent through the returned store.
    #[must_use]
    pub fn redacting(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Returns the redactor that keeps secrets out of the journal.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Opens a repository's journal if it exists; creates nothing.
    ///
    /// # Errors
    ///
    /// See [`Store::open`].
    pub fn open_existing(folder: &Path) -> Result<Option<Self>, JournalError> {
        let database = folder.join(database::FILE_NAME);
        match database.try_exists() {
            Ok(true) => Self::open(folder).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(JournalError::unusable(folder, error)),
        }
    }

    /// Lists the runs, newest first.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>, JournalError> {
        let found = self.query(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT runs.run, first.ts_ms, newest.ts_ms, newest.seq, first.body, status.body
                 FROM runs
                 JOIN events AS first ON first.run = runs.id AND first.seq = 1
                 JOIN events AS newest ON newest.run = runs.id
                      AND newest.seq = (SELECT max(seq) FROM events WHERE run = runs.id)
                 JOIN events AS status ON status.run = runs.id
                      AND status.seq = (SELECT max(seq) FROM events WHERE run = runs.id
                                        AND type IN ('run.started', 'run.resumed', 'run.finished'))
                 ORDER BY runs.id DESC",
            )?;
            query
                .query_map([], SummaryRow::read)?
                .collect::<Result<Vec<_>, _>>()
        })?;
        Ok(found.into_iter().map(SummaryRow::summary).collect())
    }

    /// Returns the run that was started last, or `None` if there is none. A run that has ended
    /// without any attempt at a task, such as one of a plan that was done already, counts only if
    /// there is no other, and so does one that only makes a plan.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be read.
    pub fn latest_run(&self) -> Result<Option<RunId>, JournalError> {
        let found: Option<String> = self.query(|connection| {
            connection
                .prepare_cached(
                    "SELECT run FROM runs
                     ORDER BY EXISTS (SELECT 1 FROM events WHERE run = runs.id AND seq = 1
                                      AND CASE WHEN json_valid(body) THEN
                                          json_extract(body, '$.settings.plan_file')
                                      END IS NOT NULL),
                              EXISTS (SELECT 1 FROM events
                                      WHERE run = runs.id AND type = 'agent.spawned')
                              OR NOT EXISTS (SELECT 1 FROM events
                                             WHERE run = runs.id AND type = 'run.finished') DESC,
                              id DESC
                     LIMIT 1",
                )?
                .query_row([], |row| row.get(0))
                .optional()
        })?;
        Ok(found.map(RunId::new))
    }

    /// Returns the run with this id, or the only run whose id begins with this prefix.
    ///
    /// # Errors
    ///
    /// Fails if no run or more than one matches.
    pub fn find_run(&self, prefix: &str) -> Result<RunId, JournalError> {
        let mut found: Vec<RunId> = self.query(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT run FROM runs WHERE substr(run, 1, length(?1)) = ?1 ORDER BY run",
            )?;
            let rows = query.query_map([prefix], |row| Ok(RunId::new(row.get::<_, String>(0)?)))?;
            rows.collect()
        })?;
        if found.iter().any(|run| run.as_str() == prefix) {
            return Ok(RunId::from(prefix));
        }
        match (found.pop(), found.is_empty()) {
            (Some(run), true) => Ok(run),
            (Some(last), false) => {
                found.push(last);
                Err(JournalError::AmbiguousRun {
                    prefix: prefix.to_owned(),
                    runs: found,
                })
            }
            (None, _) => Err(JournalError::NoSuchRun(prefix.to_owned())),
        }
    }

    /// Reads at most `limit` facts of a run after a sequence number, oldest first. Fewer mean that
    /// there are no more.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be read, or at a fact that this version cannot read.
    pub fn events(
        &self,
        run: &RunId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, JournalError> {
        self.readable_events(run, after_seq, limit)?.all()
    }

    /// Reads facts as [`Store::events`] does, up to the first one that cannot be read.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be read.
    pub fn readable_events(
        &self,
        run: &RunId,
        after_seq: u64,
        limit: usize,
    ) -> Result<ReadableEvents, JournalError> {
        self.facts(run, limit, |connection, each| {
            let mut query = connection.prepare_cached(
                "SELECT seq, ts_ms, v, type, body, task, sum FROM facts
                 WHERE run = (SELECT id FROM runs WHERE run = ?1) AND seq > ?2 ORDER BY seq",
            )?;
            each_row(
                &mut query.query(params![run.as_str(), to_sql(after_seq)])?,
                each,
            )
        })
    }

    /// Reads at most `limit` facts about one task of a run after a sequence number, oldest first.
    ///
    /// # Errors
    ///
    /// See [`Store::events`].
    pub fn events_of_task(
        &self,
        run: &RunId,
        task: &TaskId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, JournalError> {
        let found = self.facts(run, limit, |connection, each| {
            let mut query = connection.prepare_cached(
                "SELECT seq, ts_ms, v, type, body, task, sum FROM facts
                 WHERE run = (SELECT id FROM runs WHERE run = ?1) AND task = ?2 AND seq > ?3
                 ORDER BY seq",
            )?;
            let of_task = params![run.as_str(), task.as_str(), to_sql(after_seq)];
            each_row(&mut query.query(of_task)?, each)
        });
        found?.all()
    }

    /// Returns the number of a run's facts, whether they can be read or not.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be read.
    pub fn count_events(&self, run: &RunId) -> Result<u64, JournalError> {
        let count: i64 = self.query(|connection| {
            connection
                .prepare_cached(
                    "SELECT count(*) FROM events WHERE run = (SELECT id FROM runs WHERE run = ?1)",
                )?
                .query_row([run.as_str()], |row| row.get(0))
        })?;
        Ok(from_sql(count))
    }

    /// Replays a run and returns its state.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, or if its facts cannot be read.
    pub fn state(&self, run: &RunId) -> Result<RunState, JournalError> {
        let connection = self.lock();
        replay(&self.inner.database, &connection, run)
    }

    /// Returns the state of a run, and whether a process works on it.
    ///
    /// # Errors
    ///
    /// See [`Store::state`] and [`Store::lease`].
    pub fn standing(&self, run: &RunId) -> Result<Standing, JournalError> {
        // In this order: a working process records the run's end before it releases the lease.
        let is_live = self
            .lease(run)?
            .is_some_and(|holder| holder.purpose == Purpose::Run);
        Ok(Standing {
            state: Arc::new(self.state(run)?),
            is_live,
        })
    }

    /// Returns the content of a blob.
    ///
    /// # Errors
    ///
    /// Fails if there is no such blob, or if its content does not match its id.
    pub fn blob(&self, id: &BlobId) -> Result<Vec<u8>, JournalError> {
        blobs::read(&self.inner.database, &self.lock(), &self.inner.files, id)
    }

    /// Returns the live process that holds the lease of a run, or `None` if there is none.
    ///
    /// # Errors
    ///
    /// Fails if the lease's file cannot be read.
    pub fn lease(&self, run: &RunId) -> Result<Option<Holder>, JournalError> {
        lease::holder(&self.inner.leases, run)
    }

    /// Sends a request to the coordinator of a run; returns once the request is durable.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, or if the database cannot be written.
    pub fn send(&self, run: &RunId, command: &Request) -> Result<InboxId, JournalError> {
        let command = self.redactor.all_of(command.clone())?;
        let body = serde_json::to_string(&command).map_err(JournalError::unencodable)?;
        let now = (self.inner.clock.date)();
        self.query(|connection| inbox::send(connection, run, now, &body))?
            .ok_or_else(|| JournalError::NoSuchRun(run.to_string()))
    }

    /// Returns the unanswered requests of a run, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be read.
    pub fn open_requests(&self, run: &RunId) -> Result<Vec<Received>, JournalError> {
        self.query(|connection| inbox::open(connection, run))
    }

    /// Returns the requests that the next process which works on a run carries out, oldest first:
    /// the unanswered ones, except those to stop, which concern the process that they were sent to.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be read.
    pub fn recorded_requests(&self, run: &RunId) -> Result<Vec<Received>, JournalError> {
        let mut recorded = self.open_requests(run)?;
        recorded.retain(|received| !received.request.is_stop());
        Ok(recorded)
    }

    /// Returns the answer to a request, or `None` while it is open.
    ///
    /// # Errors
    ///
    /// Fails if there is no such request.
    pub fn answer(&self, id: InboxId) -> Result<Option<Reply>, JournalError> {
        self.query(|connection| inbox::answer_of(connection, id))?
            .ok_or(JournalError::NoSuchRequest(id))
    }

    /// Waits for the answer to a request; returns `None` if it is still open after `patience`.
    ///
    /// # Errors
    ///
    /// See [`Store::answer`].
    #[expect(
        clippy::disallowed_methods,
        reason = "another process answers through the database, which wakes nobody"
    )]
    pub fn wait_for_answer(
        &self,
        id: InboxId,
        patience: Duration,
    ) -> Result<Option<Reply>, JournalError> {
        let begun = Instant::now();
        loop {
            let answer = self.answer(id)?;
            if answer.is_some() || begun.elapsed() >= patience {
                return Ok(answer);
            }
            std::thread::sleep(inbox::POLL);
        }
    }

    /// Returns the path of the database, for messages.
    pub fn database(&self) -> &Path {
        &self.inner.database
    }

    pub(crate) fn leases(&self) -> &Path {
        &self.inner.leases
    }

    pub(crate) fn files(&self) -> &Files {
        &self.inner.files
    }

    pub(crate) fn clock(&self) -> Clock {
        self.inner.clock
    }

    fn facts(
        &self,
        run: &RunId,
        limit: usize,
        read: impl FnOnce(&Connection, &mut dyn FnMut(Raw) -> bool) -> rusqlite::Result<()>,
    ) -> Result<ReadableEvents, JournalError> {
        let (mut found, mut failed) = (Vec::new(), None);
        if limit == 0 {
            return Ok(ReadableEvents::default());
        }
        self.query(|connection| {
            read(connection, &mut |raw| {
                match raw.decode(run) {
                    Ok(Some(fact)) => found.push(fact),
                    Ok(None) => {}
                    Err(error) => failed = Some(error),
                }
                failed.is_none() && found.len() < limit
            })
        })?;
        Ok(ReadableEvents {
            events: found,
            unreadable: failed,
        })
    }

    fn query<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        ask(&self.lock()).map_err(JournalError::in_database(&self.inner.database))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic leaves nothing half-done: each use of the connection is a single statement.
        self.inner.connection.lock()
    }
}

/// Replays the facts of a run.
pub(crate) fn replay(
    database: &Path,
    connection: &Connection,
    run: &RunId,
) -> Result<RunState, JournalError> {
    let (mut state, mut failed) = (None, None);
    let read = each_fact(connection, run, &mut |raw| {
        failed = fold(&mut state, &raw, run).err();
        failed.is_none()
    });
    read.map_err(JournalError::in_database(database))?;
    match (failed, state) {
        (Some(error), _) => Err(error),
        (None, Some(state)) => Ok(state),
        (None, None) => Err(JournalError::NoSuchRun(run.to_string())),
    }
}

fn each_fact(
    connection: &Connection,
    run: &RunId,
    each: &mut dyn FnMut(Raw) -> bool,
) -> rusqlite::Result<()> {
    let mut query = connection.prepare_cached(
        "SELECT seq, ts_ms, v, type, body, task, sum FROM facts
         WHERE run = (SELECT id FROM runs WHERE run = ?1) ORDER BY seq",
    )?;
    each_row(&mut query.query([run.as_str()])?, each)
}

fn fold(state: &mut Option<RunState>, raw: &Raw, run: &RunId) -> Result<(), JournalError> {
    match (raw.decode(run)?, state) {
        (Some(fact), Some(state)) => match state.apply(&fact) {
            // Without a checksum, the disk is as likely a cause as a defect.
            Err(illegal) if raw.sum.is_none() => {
                let reason = format!("it cannot follow the records before it: {}", illegal.reason);
                return Err(JournalError::Undecodable {
                    run: run.clone(),
                    seq: raw.seq,
                    reason,
                });
            }
            applied => applied?,
        },
        (Some(fact), state) => *state = Some(RunState::begin(&fact)?),
        // A fact of an unknown type changes nothing in the known state, but it has a number and a
        // time.
        (None, Some(state)) => (state.seq, state.updated_ms) = (raw.seq, raw.ts_ms),
        (None, None) => {}
    }
    Ok(())
}

/// A fact as it is stored in the database.
struct Raw {
    seq: u64,
    ts_ms: u64,
    v: u32,
    kind: String,
    body: String,
    task: Option<String>,
    /// The checksum; `None` if an older version recorded the fact.
    sum: Option<i64>,
}

impl Raw {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: from_sql(row.get(0)?),
            ts_ms: from_sql(row.get(1)?),
            v: row.get(2)?,
            kind: row.get(3)?,
            body: row.get(4)?,
            task: row.get(5)?,
            sum: row.get(6)?,
        })
    }

    /// Returns the fact, or `None` if its type is unknown.
    fn decode(&self, run: &RunId) -> Result<Option<Recorded>, JournalError> {
        let Self {
            seq,
            ts_ms,
            v,
            kind,
            body,
            task,
            ..
        } = self;
        let stored = Stored {
            run,
            seq: *seq,
            ts_ms: *ts_ms,
            v: *v,
            kind,
            task: task.as_deref(),
            body,
        };
        if self.sum.is_some_and(|sum| sum != stored.checksum()) {
            let reason = "it has changed on disk since it was recorded".to_owned();
            return Err(JournalError::Undecodable {
                run: run.clone(),
                seq: self.seq,
                reason,
            });
        }
        if self.v > VERSION {
            return Err(JournalError::NewerFact {
                run: run.clone(),
                seq: self.seq,
                v: self.v,
            });
        }
        match serde_json::from_str(&self.body) {
            Ok(event) => Ok(Some(Recorded {
                run_id: run.clone(),
                seq: self.seq,
                ts_ms: self.ts_ms,
                v: self.v,
                event,
            })),
            Err(_) if !Event::TYPES.contains(&self.kind.as_str()) => Ok(None),
            Err(error) => Err(JournalError::Undecodable {
                run: run.clone(),
                seq: self.seq,
                reason: error.to_string(),
            }),
        }
    }
}

fn each_row(
    rows: &mut rusqlite::Rows<'_>,
    each: &mut dyn FnMut(Raw) -> bool,
) -> rusqlite::Result<()> {
    while let Some(row) = rows.next()? {
        if !each(Raw::read(row)?) {
            break;
        }
    }
    Ok(())
}

/// One row of the list of runs.
struct SummaryRow {
    run: RunId,
    started_ms: u64,
    updated_ms: u64,
    facts: u64,
    first: String,
    status: String,
}

impl SummaryRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            run: RunId::new(row.get::<_, String>(0)?),
            started_ms: from_sql(row.get(1)?),
            updated_ms: from_sql(row.get(2)?),
            facts: from_sql(row.get(3)?),
            first: row.get(4)?,
            status: row.get(5)?,
        })
    }

    /// Returns the entry; of one run, what is damaged is left out, so that the other runs can be
    /// listed.
    fn summary(self) -> RunSummary {
        let first: Option<Event> = serde_json::from_str(&self.first).ok();
        let status: Option<Event> = serde_json::from_str(&self.status).ok();
        let is_damaged = first.is_none() || status.is_none();
        let (plan, title) = match first {
            Some(Event::RunStarted { plan, title, .. }) => (plan, title),
            _ => (None, None),
        };
        let (status, exit_code) = match status {
            Some(Event::RunFinished { status, exit_code }) => (status, Some(exit_code)),
            Some(_) => (RunStatus::Running, None),
            None => (RunStatus::Failed, None),
        };
        RunSummary {
            plan,
            title,
            started_ms: self.started_ms,
            updated_ms: self.updated_ms,
            facts: self.facts,
            status,
            exit_code,
            is_damaged,
            run_id: self.run,
        }
    }
}
