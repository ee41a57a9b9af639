//! The sequencer: one thread owns the writing connection and the state of a run.
//!
//! It takes all waiting jobs, decides each on a scratch copy of the newest state, writes them in
//! one transaction, and only then publishes the state and sends the results. So every published
//! state is durable, and a job that is refused or cannot be written leaves no trace. Each
//! transaction checks the run's epoch: a writer whose lease went to another process can add
//! nothing.
//!
//! Deliberately absent: an async runtime, and any meaning of a fact beyond `RunState::apply`.

use std::path::Path;
use std::sync::Arc;

use orchestrate_core::event::{Event, Recorded, VERSION};
use orchestrate_core::ids::{RunId, TaskId};
use orchestrate_core::run::request::RequestRefused;
use orchestrate_core::{RedactionError, Redactor, RunState};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tokio::sync::{mpsc, watch};

use crate::blobs::{self, Blob};
use crate::checksum::Stored;
use crate::clock::Timeline;
use crate::database::{self, from_sql, to_sql};
use crate::error::JournalError;
use crate::inbox;
use crate::lease::Lease;
use crate::reader::{self, Store};
use crate::received::Answer;
use crate::write::batch::Batch;
use crate::write::scratch::Scratch;
use orchestrate_core::run::request::Purpose;

/// The maximum number of jobs in one transaction: enough for all agents of a large run to share one
/// sync, few enough that none waits long for the decisions of the others.
const GROUP: usize = 256;

/// A job: decides on the newest state, and is sent the result.
pub(crate) trait Job: Send {
    /// Returns what to record, or `None` if the job refuses.
    fn decide(&mut self, state: &RunState) -> Option<Batch>;
    /// Reports whether the job is recorded only if no request of the run is open.
    fn is_last(&self) -> bool;
    /// Sends the numbers of the facts to the caller, or why there are none.
    fn finish(self: Box<Self>, outcome: Result<Vec<u64>, JournalError>);
}

/// The writing side of a run.
pub(crate) struct Writer {
    store: Store,
    connection: Connection,
    run: RunId,
    /// The id of the run's row.
    key: i64,
    /// The epoch that this writer holds.
    epoch: i64,
    state: Arc<RunState>,
    timeline: Timeline,
    /// Released when the writer ends.
    _lease: Lease,
}

/// Facts, blobs and answers, ready to be written.
struct Staged {
    rows: Vec<Row>,
    blobs: Vec<Blob>,
    answers: Vec<Answer>,
}

struct Row {
    seq: u64,
    ts_ms: u64,
    kind: String,
    task: Option<String>,
    body: String,
    sum: i64,
}

impl Writer {
    /// Starts a run with its first facts.
    pub(crate) fn create(store: &Store, run: &RunId, first: Batch) -> Result<Self, JournalError> {
        let timeline = Timeline::begin(store.clock(), 0);
        let now = timeline.now();
        let lease = Lease::take(store.leases(), run, now, Purpose::Run)?;
        let mut connection = database::connect(store.database())?;
        let mut scratch = Scratch::new(run, now, None);
        let staged = stage(store, &mut scratch, first)?;
        let state = scratch
            .into_next()
            .ok_or_else(|| JournalError::NoSuchRun(run.to_string()))?;
        let database = store.database();
        let key = write(
            database,
            &mut connection,
            &[staged],
            |tx| match begin_run(tx, run).map_err(JournalError::in_database(database))? {
                Some(key) => Ok(key),
                None => Err(JournalError::RunExists(run.clone())),
            },
        )?;
        let (store, run, state) = (store.clone(), run.clone(), Arc::new(state));
        Ok(Self {
            store,
            connection,
            run,
            key,
            epoch: 1,
            state,
            timeline,
            _lease: lease,
        })
    }

    /// Takes over a run: no other process can record its facts from here on.
    pub(crate) fn resume(
        store: &Store,
        run: &RunId,
        purpose: Purpose,
    ) -> Result<Self, JournalError> {
        let mut connection = database::connect(store.database())?;
        find_run(store.database(), &connection, run)?;
        let lease = Lease::take(store.leases(), run, (store.clock().date)(), purpose)?;
        let (key, epoch) = raise_epoch(&mut connection, run)
            .map_err(JournalError::in_database(store.database()))?;
        let state = reader::replay(store.database(), &connection, run)?;
        let timeline = Timeline::begin(store.clock(), state.updated_ms);
        let (store, run, state) = (store.clone(), run.clone(), Arc::new(state));
        Ok(Self {
            store,
            connection,
            run,
            key,
            epoch,
            state,
            timeline,
            _lease: lease,
        })
    }

    /// Returns the newest durable state.
    pub(crate) fn state(&self) -> Arc<RunState> {
        Arc::clone(&self.state)
    }

    /// Serves jobs until there are no senders.
    pub(crate) fn serve(
        mut self,
        mut requests: mpsc::Receiver<Box<dyn Job>>,
        published: &watch::Sender<Arc<RunState>>,
    ) {
        while let Some(first) = requests.blocking_recv() {
            let mut group = Vec::new();
            let mut next = Some(first);
            while let Some(job) = next {
                if job.is_last() {
                    // Its condition applies to the whole transaction, so it must not share one.
                    self.commit(std::mem::take(&mut group), published);
                    self.commit(vec![job], published);
                } else {
                    group.push(job);
                }
                next = if group.len() < group_size() {
                    requests.try_recv().ok()
                } else {
                    None
                };
            }
            self.commit(group, published);
        }
    }

    /// Decides, writes and publishes a group of jobs, and sends the results.
    fn commit(&mut self, group: Vec<Box<dyn Job>>, published: &watch::Sender<Arc<RunState>>) {
        if group.is_empty() {
            return;
        }
        let is_last = group.iter().any(|job| job.is_last());
        let mut scratch = Scratch::new(
            &self.run,
            self.timeline.now(),
            Some(Arc::clone(&self.state)),
        );
        let mut to_write = Vec::new();
        let mut waiting = Vec::new();
        let slept = self.timeline.slept();
        if let Some(slept_ms) = slept {
            // Before anything is decided: the time asleep does not count.
            match stage(
                &self.store,
                &mut scratch,
                Event::MachineSlept { slept_ms }.into(),
            ) {
                Ok(staged) => to_write.push(staged),
                Err(error) => {
                    tracing::warn!(%error, slept_ms, "could not record that the machine slept")
                }
            }
        }
        for mut job in group {
            let Some(batch) = job.decide(scratch.state().unwrap_or(&self.state)) else {
                waiting.push((job, Vec::new()));
                continue;
            };
            match stage(&self.store, &mut scratch, batch) {
                Err(error) => job.finish(Err(error)),
                Ok(staged) => {
                    waiting.push((job, staged.rows.iter().map(|row| row.seq).collect()));
                    to_write.push(staged);
                }
            }
        }
        to_write.retain(|staged| !staged.is_empty());
        let written = self.write(&to_write, is_last);
        if let (Ok(()), Some(slept_ms)) = (&written, slept) {
            // Only now: a sleep whose fact was not written is recorded together with the next
            // group.
            self.timeline.note_slept(slept_ms);
        }
        if let (Ok(()), Some(next)) = (&written, scratch.into_next()) {
            self.state = Arc::new(next);
            published.send_replace(Arc::clone(&self.state));
        }
        for (job, numbers) in waiting {
            job.finish(written.clone().map(|()| numbers));
        }
    }

    fn write(&mut self, staged: &[Staged], is_last: bool) -> Result<(), JournalError> {
        if staged.is_empty() {
            return Ok(());
        }
        let database = self.store.database();
        let (run, key, epoch, newest) = (&self.run, self.key, self.epoch, self.state.seq);
        write(database, &mut self.connection, staged, |tx| {
            let found = newest_of(tx, key).map_err(JournalError::in_database(database))?;
            if found != (epoch, newest) {
                return Err(JournalError::Fenced { run: run.clone() });
            }
            if is_last {
                let open = inbox::open(tx, run).map_err(JournalError::in_database(database))?;
                if !open.is_empty() {
                    return Err(JournalError::RequestOpen { run: run.clone() });
                }
            }
            Ok(key)
        })?;
        Ok(())
    }
}

impl Staged {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.blobs.is_empty() && self.answers.is_empty()
    }
}

#[cfg(feature = "fault-injection")]
fn group_size() -> usize {
    if crate::fault::is_set() { 1 } else { GROUP }
}

#[cfg(not(feature = "fault-injection"))]
fn group_size() -> usize {
    GROUP
}

/// Accepts a batch and prepares its rows; on failure, restores the scratch. Large blobs are written
/// to files here.
fn stage(store: &Store, scratch: &mut Scratch, batch: Batch) -> Result<Staged, JournalError> {
    let Batch {
        events,
        blobs,
        answers,
    } = batch;
    let redactor = store.redactor();
    let mut redacted_events = Vec::new();
    for event in events {
        redacted_events.push(redacted(redactor, event)?);
    }
    let mark = scratch.mark();
    match accepted(store, scratch, redacted_events, &blobs) {
        Ok(rows) => Ok(Staged {
            rows,
            blobs,
            answers: answers
                .into_iter()
                .map(|answer| redacted_answer(redactor, answer))
                .collect(),
        }),
        Err(error) => {
            scratch.go_back(mark);
            Err(error)
        }
    }
}

/// Accepts events, and returns their rows; on failure, the caller has to go back.
fn accepted(
    store: &Store,
    scratch: &mut Scratch,
    events: Vec<Event>,
    blobs: &[Blob],
) -> Result<Vec<Row>, JournalError> {
    let mark = scratch.mark();
    scratch.accept(events)?;
    let mut rows = Vec::new();
    for fact in scratch.since(mark) {
        rows.push(Row::from_fact(fact)?);
    }
    for blob in blobs {
        store.files().keep(blob)?;
    }
    Ok(rows)
}

fn redacted_answer(redactor: &Redactor, Answer { to, reply }: Answer) -> Answer {
    let reply = match reply {
        Ok(text) => Ok(redactor.owned(text)),
        Err(refused) => Err(redactor
            .all_of(refused)
            .unwrap_or_else(RequestRefused::Secret)),
    };
    Answer { to, reply }
}

/// Redacts a fact before it is applied to the state, so that a replay sees the same fact.
fn redacted(redactor: &Redactor, event: Event) -> Result<Event, RedactionError> {
    match event {
        // These are carried out exactly as recorded, and their callers refuse secrets in them.
        Event::RunStarted { .. } | Event::TaskAdded { .. } => Ok(event),
        event => redactor.all_of(event),
    }
}

impl Row {
    fn from_fact(fact: &Recorded) -> Result<Self, JournalError> {
        let body = serde_json::to_value(&fact.event).map_err(JournalError::unencodable)?;
        let kind = body
            .get("type")
            .and_then(serde_json::Value::as_str)
            .unwrap_or("");
        let (task, text) = (fact.event.task().map(TaskId::as_str), body.to_string());
        let Recorded {
            run_id: run,
            seq,
            ts_ms,
            ..
        } = fact;
        let stored = Stored {
            run,
            seq: *seq,
            ts_ms: *ts_ms,
            v: VERSION,
            kind,
            task,
            body: &text,
        };
        let sum = stored.checksum();
        Ok(Self {
            seq: *seq,
            ts_ms: *ts_ms,
            kind: kind.to_owned(),
            task: task.map(str::to_owned),
            body: text,
            sum,
        })
    }
}

/// Writes everything in one transaction, durable on return; `admit` checks inside it and returns
/// the run's row.
fn write(
    database: &Path,
    connection: &mut Connection,
    staged: &[Staged],
    admit: impl FnOnce(&Transaction<'_>) -> Result<i64, JournalError>,
) -> Result<i64, JournalError> {
    #[cfg(feature = "fault-injection")]
    let number = crate::fault::before_write(
        staged
            .iter()
            .flat_map(|staged| &staged.rows)
            .map(|row| row.kind.as_str()),
    )
    .map_err(|crate::fault::DiskFull| JournalError::DiskFull {
        path: database.to_owned(),
    })?;
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(JournalError::in_database(database))?;
    let key = admit(&tx)?;
    for staged in staged {
        insert(&tx, key, staged).map_err(JournalError::in_database(database))?;
    }
    tx.commit().map_err(JournalError::in_database(database))?;
    #[cfg(feature = "fault-injection")]
    crate::fault::after_write(number);
    Ok(key)
}

fn insert(tx: &Transaction<'_>, key: i64, staged: &Staged) -> rusqlite::Result<()> {
    for blob in &staged.blobs {
        blobs::insert(tx, blob)?;
    }
    let mut add = tx.prepare_cached(
        "INSERT INTO events (run, seq, ts_ms, v, type, task, body, sum) VALUES (?1, ?2, ?3, ?4, \
         ?5, ?6, ?7, ?8)",
    )?;
    for row in &staged.rows {
        let (seq, ts_ms) = (to_sql(row.seq), to_sql(row.ts_ms));
        add.execute(params![
            key, seq, ts_ms, VERSION, row.kind, row.task, row.body, row.sum
        ])?;
    }
    for answer in &staged.answers {
        inbox::answer(tx, answer)?;
    }
    Ok(())
}

/// Adds a run and returns its row, or `None` if there is one already.
fn begin_run(tx: &Transaction<'_>, run: &RunId) -> rusqlite::Result<Option<i64>> {
    tx.prepare_cached("INSERT OR IGNORE INTO runs (run, epoch) VALUES (?1, 1) RETURNING id")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()
}

fn find_run(database: &Path, connection: &Connection, run: &RunId) -> Result<(), JournalError> {
    let found: Option<i64> = connection
        .query_row(
            "SELECT id FROM runs WHERE run = ?1",
            [run.as_str()],
            |row| row.get(0),
        )
        .optional()
        .map_err(JournalError::in_database(database))?;
    match found {
        Some(_) => Ok(()),
        None => Err(JournalError::NoSuchRun(run.to_string())),
    }
}

/// Fences all earlier writers of the run; returns its row and the new epoch.
fn raise_epoch(connection: &mut Connection, run: &RunId) -> rusqlite::Result<(i64, i64)> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let raised = tx.query_row(
        "UPDATE runs SET epoch = epoch + 1 WHERE run = ?1 RETURNING id, epoch",
        [run.as_str()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    tx.commit()?;
    Ok(raised)
}

/// Returns the run's epoch and the number of its newest fact.
fn newest_of(tx: &Transaction<'_>, key: i64) -> rusqlite::Result<(i64, u64)> {
    tx.prepare_cached(
        "SELECT epoch, (SELECT max(seq) FROM events WHERE run = runs.id) FROM runs WHERE id = ?1",
    )?
    .query_row([key], |row| Ok((row.get(0)?, from_sql(row.get(1)?))))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc as std_mpsc;

    use orchestrate_core::{RunSettings, Task};

    use super::*;

    type Outcome = Result<Vec<u64>, JournalError>;

    struct Wish(Option<Batch>, std_mpsc::Sender<Outcome>);

    impl Job for Wish {
        fn decide(&mut self, _: &RunState) -> Option<Batch> {
            self.0.take()
        }

        fn is_last(&self) -> bool {
            false
        }

        fn finish(self: Box<Self>, outcome: Outcome) {
            self.1.send(outcome).unwrap();
        }
    }

    fn started() -> Event {
        Event::RunStarted {
            plan: None,
            plan_source: None,
            title: None,
            settings: Box::new(RunSettings::default()),
            base_commit: "1".into(),
            base_branch: None,
        }
    }

    fn added(id: &str, bytes: usize) -> Batch {
        let task = Task {
            id: id.into(),
            title: "x".repeat(bytes),
            ..Task::default()
        };
        Event::planned(task).into()
    }

    /// Commits batches as one group; returns the result of each.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test sends one reply through each"
    )]
    fn commit(writer: &mut Writer, batches: Vec<Batch>) -> Vec<Outcome> {
        let (published, _) = watch::channel(writer.state());
        let (jobs, told): (Vec<Box<dyn Job>>, Vec<_>) = batches
            .into_iter()
            .map(|batch| {
                let (sender, told) = std_mpsc::channel();
                (Box::new(Wish(Some(batch), sender)) as Box<dyn Job>, told)
            })
            .unzip();
        writer.commit(jobs, &published);
        told.into_iter().map(|told| told.recv().unwrap()).collect()
    }

    #[test]
    fn an_impossible_request_leaves_the_others_of_its_group_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let run = RunId::from("r-abcdef");
        let mut writer = Writer::create(&store, &run, started().into()).unwrap();
        let mut half = added("T2", 1);
        half.events.extend(added("T1", 1).events);
        let told = commit(&mut writer, vec![added("T1", 1), half, added("T2", 1)]);
        let [Ok(first), Err(JournalError::Illegal(_)), Ok(last)] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!((&first[..], &last[..]), (&[2][..], &[3][..]));
        assert_eq!(store.state(&run).unwrap(), *writer.state());
    }

    #[test]
    fn a_full_database_tells_everybody_and_works_again_once_there_is_space() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let run = RunId::from("r-abcdef");
        let mut writer = Writer::create(&store, &run, started().into()).unwrap();
        let before = writer.state();
        let limit = |writer: &Writer, pages: i64| {
            writer
                .connection
                .pragma_update_and_check(None, "max_page_count", pages, |row| row.get::<_, i64>(0))
                .unwrap()
        };
        let pages = limit(&writer, 1);
        let wishes = || vec![added("T1", 100_000), added("T2", 100_000)];
        for outcome in commit(&mut writer, wishes()) {
            assert!(
                matches!(outcome, Err(JournalError::DiskFull { .. })),
                "{outcome:?}"
            );
        }
        assert!(Arc::ptr_eq(&before, &writer.state()));
        assert_eq!(store.state(&run).unwrap(), *before);
        limit(&writer, pages + 1000);
        let told: Vec<_> = commit(&mut writer, wishes())
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert_eq!(told, [[2], [3]]);
        assert_eq!(store.state(&run).unwrap(), *writer.state());
    }
}
