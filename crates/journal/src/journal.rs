//! The handle to the sequencer of one run, cheap to clone and to share between tasks and threads.
//!
//! Facts sent through it are durable when the call returns. Dropping a pending `append` does not
//! cancel it: the facts are recorded all the same. When the last handle is dropped, the writer
//! completes the jobs that it was sent and releases the lease.

use std::convert::Infallible;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use orchestrate_core::RunState;
use orchestrate_core::collections::Mutex;
use orchestrate_core::ids::RunId;
use tokio::sync::{mpsc, oneshot, watch};

use crate::database;
use crate::error::JournalError;
use crate::inbox::{Watch, Watching};
use crate::reader::Store;
use crate::received::{InboxId, Received, Reply};
use crate::write::batch::Batch;
use crate::write::writer::{Job, Writer};
use orchestrate_core::run::request::Purpose;

/// The number of jobs that may wait for the writer. Every worker waits for its own job, so only a
/// run with more agents than a machine can carry reaches this; the next job then waits for room.
const WAITING_REQUESTS: usize = 1024;

/// Appends facts to one run and provides its newest state.
#[derive(Clone)]
pub struct Journal {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    run: RunId,
    requests: Option<mpsc::Sender<Box<dyn Job>>>,
    state: watch::Receiver<Arc<RunState>>,
    thread: Option<JoinHandle<()>>,
    /// The watches of the inbox, which run for as long as the journal is open.
    inbox_watches: Mutex<Vec<Watching>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.requests = None;
        let Some(thread) = self.thread.take() else {
            return;
        };
        // A job may own the last handle, and the writer cannot join itself.
        if thread.thread().id() != thread::current().id() && thread.join().is_err() {
            tracing::error!(run = %self.run, "the writer of the journal panicked");
        }
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal")
            .field("run", &self.inner.run)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// Starts a run; the batch's first fact must be `run.started`.
    ///
    /// # Errors
    ///
    /// Fails if a run with this id exists, if the facts are illegal, or if they cannot be written.
    pub fn create(
        store: &Store,
        run: &RunId,
        first: impl Into<Batch>,
    ) -> Result<Self, JournalError> {
        Self::start(store, run, Writer::create(store, run, first.into())?)
    }

    /// Takes over a run: acquires its lease and replays its facts.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, if another process works on it ([`JournalError::Held`]), or
    /// if its facts cannot be read.
    pub fn resume(store: &Store, run: &RunId) -> Result<Self, JournalError> {
        Self::resume_for(store, run, Purpose::Run)
    }

    /// Takes over a run for another purpose than to work on its tasks.
    ///
    /// # Errors
    ///
    /// See [`Journal::resume`].
    pub fn resume_for(store: &Store, run: &RunId, purpose: Purpose) -> Result<Self, JournalError> {
        Self::start(store, run, Writer::resume(store, run, purpose)?)
    }

    fn start(store: &Store, run: &RunId, writer: Writer) -> Result<Self, JournalError> {
        let (requests, waiting) = mpsc::channel(WAITING_REQUESTS);
        let (published, state) = watch::channel(writer.state());
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.serve(waiting, &published))
            .map_err(JournalError::at(store.database()))?;
        Ok(Self {
            inner: Arc::new(Inner {
                store: store.clone(),
                run: run.clone(),
                requests: Some(requests),
                state,
                thread: Some(thread),
                inbox_watches: Mutex::default(),
            }),
        })
    }

    /// Records a batch; returns the sequence numbers of its facts once they are durable.
    ///
    /// # Errors
    ///
    /// Fails if the facts cannot follow the recorded ones or cannot be written. Nothing of the
    /// batch is then recorded, and after [`JournalError::DiskFull`] the same batch can be tried
    /// again.
    pub async fn append(&self, batch: impl Into<Batch>) -> Result<Vec<u64>, JournalError> {
        let batch = batch.into();
        let appended = self.append_if(move |_| Ok(batch)).await?;
        Ok(appended.never_refused())
    }

    /// Records the batch that `decide` returns for the newest state, with no other append in
    /// between.
    ///
    /// `decide` sees everything that was sent before it. It runs inside the sequencer, so it must
    /// be quick and must not wait for this journal. If it refuses, nothing is recorded.
    ///
    /// # Errors
    ///
    /// See [`Journal::append`].
    pub async fn append_if<E: Send + 'static>(
        &self,
        decide: impl FnOnce(&RunState) -> Result<Batch, E> + Send + 'static,
    ) -> Result<Appended<E>, JournalError> {
        let (job, outcome) = deciding(decide, false);
        self.request(job, outcome).await
    }

    /// Records a run's last facts like [`Journal::append_if`], but only if no request is open. The
    /// sender of a later request finds that the run has ended.
    ///
    /// # Errors
    ///
    /// See [`Journal::append`]; also fails with [`JournalError::RequestOpen`].
    pub async fn append_last_if<E: Send + 'static>(
        &self,
        decide: impl FnOnce(&RunState) -> Result<Batch, E> + Send + 'static,
    ) -> Result<Appended<E>, JournalError> {
        let (job, outcome) = deciding(decide, true);
        self.request(job, outcome).await
    }

    async fn request<E>(
        &self,
        job: Box<dyn Job>,
        outcome: oneshot::Receiver<Outcome<E>>,
    ) -> Outcome<E> {
        let sent = self.queue()?.send(job).await;
        sent.map_err(|_| self.closed())?;
        outcome.await.map_err(|_| self.closed())?
    }

    fn queue(&self) -> Result<&mpsc::Sender<Box<dyn Job>>, JournalError> {
        self.inner.requests.as_ref().ok_or_else(|| self.closed())
    }

    /// Records a batch and blocks until it is durable; must not be called from async code.
    ///
    /// # Errors
    ///
    /// See [`Journal::append`].
    pub fn append_blocking(&self, batch: impl Into<Batch>) -> Result<Vec<u64>, JournalError> {
        let batch = batch.into();
        let (job, outcome) = deciding(move |_| Ok(batch), false);
        let sent = self.queue()?.blocking_send(job);
        sent.map_err(|_| self.closed())?;
        let appended = outcome.blocking_recv().map_err(|_| self.closed())??;
        Ok(appended.never_refused())
    }

    /// Reserves room for one job in the writer's queue, so that a batch can be sent without
    /// waiting.
    ///
    /// # Errors
    ///
    /// Fails if the journal is closed.
    pub async fn reserve(&self) -> Result<Slot, JournalError> {
        let reserved = self.queue()?.clone().reserve_owned().await;
        let permit = reserved.map_err(|_| self.closed())?;
        Ok(Slot {
            permit,
            journal: self.clone(),
        })
    }

    /// Answers a request that led to no facts; otherwise its answer belongs in the batch of the
    /// facts (see [`Batch::answering`]).
    ///
    /// # Errors
    ///
    /// See [`Journal::append`].
    pub async fn answer(&self, to: InboxId, reply: Reply) -> Result<(), JournalError> {
        self.append(Batch::default().answering(to, reply)).await?;
        Ok(())
    }

    /// Returns the newest durable state.
    pub fn state(&self) -> Arc<RunState> {
        Arc::clone(&self.inner.state.borrow())
    }

    /// Returns a receiver of the durable state. A slow receiver sees only the newest state, and can
    /// read the facts in between from the store.
    pub fn watch(&self) -> watch::Receiver<Arc<RunState>> {
        self.inner.state.clone()
    }

    /// Returns a receiver of the run's open requests and of those that arrive, until the receiver
    /// or the journal is dropped.
    ///
    /// Each receiver gets every open request, so a coordinator creates only one.
    ///
    /// # Errors
    ///
    /// Fails if another connection to the database cannot be opened.
    pub fn requests(&self) -> Result<mpsc::Receiver<Received>, JournalError> {
        let watch = Watch {
            connection: database::connect(self.inner.store.database())?,
            database: self.inner.store.database().to_owned(),
            run: self.inner.run.clone(),
        };
        let (receiver, watching) = watch.start()?;
        self.inner.inbox_watches.lock().push(watching);
        Ok(receiver)
    }

    /// Returns the id of the run.
    pub fn run(&self) -> &RunId {
        &self.inner.run
    }

    fn closed(&self) -> JournalError {
        JournalError::Closed(self.inner.run.clone())
    }
}

/// Reserved room for one job in the writer's queue; it keeps the journal open.
#[derive(Debug)]
pub struct Slot {
    /// Comes before the journal, so it is dropped first: the writer ends once there are no senders.
    permit: mpsc::OwnedPermit<Box<dyn Job>>,
    journal: Journal,
}

impl Slot {
    /// Sends a batch immediately. The future resolves once the batch is durable; dropping it does
    /// not cancel the append.
    pub fn append(
        self,
        batch: impl Into<Batch>,
    ) -> impl Future<Output = Result<Vec<u64>, JournalError>> + Send + 'static {
        let (batch, run) = (batch.into(), self.journal.run().clone());
        let (job, outcome) = deciding(move |_| Ok(batch), false);
        self.permit.send(job);
        async move {
            let appended = outcome.await.map_err(|_| JournalError::Closed(run))??;
            Ok(appended.never_refused())
        }
    }
}

/// The outcome for a batch that is recorded only if its decision allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Appended<E> {
    /// It is durable; the sequence numbers of its facts.
    Recorded(Vec<u64>),
    /// The decision refused it, so nothing was recorded.
    Refused(E),
}

impl<E> Appended<E> {
    /// Returns the sequence numbers of the facts.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn recorded(self) -> Result<Vec<u64>, E> {
        match self {
            Self::Recorded(numbers) => Ok(numbers),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}

impl Appended<Infallible> {
    /// Returns the sequence numbers of the facts of a batch that cannot be refused.
    pub fn never_refused(self) -> Vec<u64> {
        match self {
            Self::Recorded(numbers) => numbers,
            Self::Refused(never) => match never {},
        }
    }
}

/// The outcome for a job's batch, or why nothing was recorded.
type Outcome<E> = Result<Appended<E>, JournalError>;

/// A job that decides by a closure.
struct Deciding<F, E> {
    decide: Option<F>,
    refusal: Option<E>,
    is_last: bool,
    requester: oneshot::Sender<Outcome<E>>,
}

fn deciding<F, E>(decide: F, is_last: bool) -> (Box<dyn Job>, oneshot::Receiver<Outcome<E>>)
where
    F: FnOnce(&RunState) -> Result<Batch, E> + Send + 'static,
    E: Send + 'static,
{
    let (requester, outcome) = oneshot::channel();
    let job = Deciding {
        decide: Some(decide),
        refusal: None,
        is_last,
        requester,
    };
    (Box::new(job), outcome)
}

impl<F, E> Job for Deciding<F, E>
where
    F: FnOnce(&RunState) -> Result<Batch, E> + Send,
    E: Send,
{
    fn decide(&mut self, state: &RunState) -> Option<Batch> {
        match self.decide.take()?(state) {
            Ok(batch) => Some(batch),
            Err(refusal) => {
                self.refusal = Some(refusal);
                None
            }
        }
    }

    fn is_last(&self) -> bool {
        self.is_last
    }

    fn finish(self: Box<Self>, outcome: Result<Vec<u64>, JournalError>) {
        let outcome = match (outcome, self.refusal) {
            (Ok(_), Some(refusal)) => Ok(Appended::Refused(refusal)),
            (Ok(numbers), None) => Ok(Appended::Recorded(numbers)),
            (Err(error), _) => Err(error),
        };
        // The caller may no longer wait for the result.
        let _ = self.requester.send(outcome);
    }
}
