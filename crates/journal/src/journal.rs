//! The handle to the sequencer of one run, cheap to clone and to share between tasks and threads.
//!
//! What is sent through it is durable when it returns. Dropping a waiting `append` does not take it back: the
//! facts are recorded all the same. When the last handle is dropped, the writer finishes what it has been sent and
//! gives the lease back.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use orchestrate_core::RunState;
use orchestrate_core::ids::RunId;
use tokio::sync::{mpsc, oneshot, watch};

use crate::batch::Batch;
use crate::database;
use crate::error::JournalError;
use crate::inbox::{Watch, Watching};
use crate::reader::Store;
use crate::received::{InboxId, Received, Reply};
use crate::writer::{Job, Writer};
use orchestrate_core::request::Purpose;

/// Requests that may wait for the writer. Every worker waits for its own, so this is reached only by runs of more
/// agents than a machine carries; the next one then waits for a place.
const WAITING_REQUESTS: usize = 1024;

/// Appends facts to one run and gives its newest state.
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
    /// Those who look into the inbox for as long as the journal is open.
    inbox_watches: Mutex<Vec<Watching>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.requests = None;
        let Some(thread) = self.thread.take() else { return };
        // A request's own handle may be the last one; the writer cannot wait for itself.
        if thread.thread().id() != thread::current().id() && thread.join().is_err() {
            tracing::error!(run = %self.run, "the writer of the journal panicked");
        }
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("run", &self.inner.run).finish_non_exhaustive()
    }
}

impl Journal {
    /// Begins a run; the batch's first fact must be `run.started`.
    ///
    /// # Errors
    ///
    /// Fails if there is a run of that id, if the facts are impossible, and if they cannot be written.
    pub fn create(store: &Store, run: &RunId, first: impl Into<Batch>) -> Result<Self, JournalError> {
        Self::start(store, run, Writer::create(store, run, first.into())?)
    }

    /// Takes a run over: its lease, and its state by replay.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, if another process works on it ([`JournalError::Held`]), and if its facts
    /// cannot be read.
    pub fn resume(store: &Store, run: &RunId) -> Result<Self, JournalError> {
        Self::resume_for(store, run, Purpose::Run)
    }

    /// Takes a run over for something else than to carry its tasks out.
    ///
    /// # Errors
    ///
    /// As [`Journal::resume`].
    pub fn resume_for(store: &Store, run: &RunId, purpose: Purpose) -> Result<Self, JournalError> {
        Self::start(store, run, Writer::resume(store, run, purpose)?)
    }

    fn start(store: &Store, run: &RunId, writer: Writer) -> Result<Self, JournalError> {
        let (requests, waiting) = mpsc::channel(WAITING_REQUESTS);
        let (published, state) = watch::channel(writer.state());
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.serve(waiting, &published))
            .map_err(|error| JournalError::io(store.database(), error))?;
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
    /// Fails if the facts cannot follow what happened before or cannot be written; nothing of the batch is then
    /// recorded, and after [`JournalError::DiskFull`] the same batch can be tried again.
    pub async fn append(&self, batch: impl Into<Batch>) -> Result<Vec<u64>, JournalError> {
        let batch = batch.into();
        self.append_if(move |_| Ok(batch)).await.map(never_refused)
    }

    /// Records what the decision on the newest state says, with nothing in between.
    ///
    /// The decision sees everything that was sent before it and runs inside the sequencer: it must be quick, and
    /// must not wait for this journal. Its refusal is the inner error, and nothing is recorded then.
    ///
    /// # Errors
    ///
    /// As [`Journal::append`].
    pub async fn append_if<E: Send + 'static>(
        &self,
        decide: impl FnOnce(&RunState) -> Result<Batch, E> + Send + 'static,
    ) -> Result<Result<Vec<u64>, E>, JournalError> {
        let (job, outcome) = deciding(decide, false);
        self.request(job, outcome).await
    }

    /// Records a run's last facts as [`Journal::append_if`] does, but only where no command is open: one that is sent
    /// later finds that the run has ended.
    ///
    /// # Errors
    ///
    /// As [`Journal::append`], and with [`JournalError::CommandOpen`].
    pub async fn append_last_if<E: Send + 'static>(
        &self,
        decide: impl FnOnce(&RunState) -> Result<Batch, E> + Send + 'static,
    ) -> Result<Result<Vec<u64>, E>, JournalError> {
        let (job, outcome) = deciding(decide, true);
        self.request(job, outcome).await
    }

    async fn request<E>(&self, job: Box<dyn Job>, outcome: oneshot::Receiver<Outcome<E>>) -> Outcome<E> {
        let requests = self.inner.requests.as_ref().ok_or_else(|| self.closed())?;
        requests.send(job).await.map_err(|_| self.closed())?;
        outcome.await.map_err(|_| self.closed())?
    }

    /// Records a batch from a thread that may block; not to be called from async code.
    ///
    /// # Errors
    ///
    /// As [`Journal::append`].
    pub fn append_blocking(&self, batch: impl Into<Batch>) -> Result<Vec<u64>, JournalError> {
        let batch = batch.into();
        let (job, outcome) = deciding(move |_| Ok(batch), false);
        let requests = self.inner.requests.as_ref().ok_or_else(|| self.closed())?;
        requests.blocking_send(job).map_err(|_| self.closed())?;
        outcome.blocking_recv().map_err(|_| self.closed())?.map(never_refused)
    }

    /// Reserves the place of one request, so that what it will record can be handed over without waiting.
    ///
    /// # Errors
    ///
    /// Fails if the journal is closed.
    pub async fn reserve(&self) -> Result<Slot, JournalError> {
        let requests = self.inner.requests.clone().ok_or_else(|| self.closed())?;
        let permit = requests.reserve_owned().await.map_err(|_| self.closed())?;
        Ok(Slot { permit, journal: self.clone() })
    }

    /// Answers a command that led to no facts; one that did is answered in their batch (see [`Batch::answering`]).
    ///
    /// # Errors
    ///
    /// As [`Journal::append`].
    pub async fn answer(&self, to: InboxId, reply: Reply) -> Result<(), JournalError> {
        self.append(Batch::default().answering(to, reply)).await.map(|_| ())
    }

    /// Returns the newest durable state.
    pub fn state(&self) -> Arc<RunState> {
        Arc::clone(&self.inner.state.borrow())
    }

    /// Follows the durable state; a follower that is slow sees the newest only, and reads the facts between from
    /// the store.
    pub fn watch(&self) -> watch::Receiver<Arc<RunState>> {
        self.inner.state.clone()
    }

    /// Receives the run's open commands and then those that arrive, until the receiver or the journal is dropped.
    ///
    /// Each receiver gets every open command, so a coordinator makes one.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be opened once more.
    pub fn commands(&self) -> Result<mpsc::Receiver<Received>, JournalError> {
        let watch = Watch {
            connection: database::connect(self.inner.store.database())?,
            database: self.inner.store.database().to_owned(),
            run: self.inner.run.clone(),
        };
        let (receiver, watching) = watch.start()?;
        self.inner.inbox_watches.lock().unwrap_or_else(PoisonError::into_inner).push(watching);
        Ok(receiver)
    }

    /// Returns the run.
    pub fn run(&self) -> &RunId {
        &self.inner.run
    }

    fn closed(&self) -> JournalError {
        JournalError::Closed(self.inner.run.clone())
    }
}

/// The reserved place of one request; it keeps the journal open.
#[derive(Debug)]
pub struct Slot {
    /// Dropped before the journal, whose writer ends once nobody can send.
    permit: mpsc::OwnedPermit<Box<dyn Job>>,
    journal: Journal,
}

impl Slot {
    /// Hands a batch over at once; the future resolves when it is durable, and dropping it takes nothing back.
    pub fn append(
        self,
        batch: impl Into<Batch>,
    ) -> impl Future<Output = Result<Vec<u64>, JournalError>> + Send + 'static {
        let (batch, run) = (batch.into(), self.journal.run().clone());
        let (job, outcome) = deciding(move |_| Ok(batch), false);
        self.permit.send(job);
        async move { outcome.await.map_err(|_| JournalError::Closed(run))?.map(never_refused) }
    }
}

/// What a request is told: the facts' numbers or its own refusal, or why nothing could be recorded.
type Outcome<E> = Result<Result<Vec<u64>, E>, JournalError>;

/// A request that decides by a closure.
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
    let job = Deciding { decide: Some(decide), refusal: None, is_last, requester };
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
        let outcome = match self.refusal {
            Some(refusal) => outcome.map(|_| Err(refusal)),
            None => outcome.map(Ok),
        };
        // A requester that no longer waits has nobody to tell.
        let _ = self.requester.send(outcome);
    }
}

fn never_refused(outcome: Result<Vec<u64>, std::convert::Infallible>) -> Vec<u64> {
    match outcome {
        Ok(numbers) => numbers,
        Err(never) => match never {},
    }
}
