//! Visits what a walk finds on several threads.
//!
//! The entries, and how they are divided into batches, are the same each time; only the order of
//! the batches and their threads differ. Who needs an order sorts by
//! [`walk_order`](super::walk::walk_order).

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, OnceLock, PoisonError};
use std::thread::{Builder, available_parallelism, panicking, scope};

use super::entry::Entry;
use super::listing::{Listing, Pending, WalkLimits, WalkSummary};
use super::open::Files;
use super::walk::Flow;
use crate::answer::ToolError;
use orchestrate_core::collections::Mutex;

/// Maximum number of threads that help one search besides its own.
const MAX_HELPERS: usize = 3;
/// The threads that help searches now. All searches of the program share one processor less than
/// there are: twenty agents that search at once gain nothing from more threads than their own.
static HELPERS: AtomicUsize = AtomicUsize::new(0);
/// The number of entries that are visited together: few enough to share a directory of large files
/// between threads.
const BATCH: usize = 32;

/// Visits entries on one thread.
pub(crate) trait Visitor: Send {
    /// Visits entries of one directory, ordered by name.
    ///
    /// # Errors
    /// An error ends the walk.
    fn visit(&mut self, entries: Vec<Entry>) -> Result<Flow, ToolError>;
}

impl Files {
    /// Visits the entries that [`Files::walk`] visits, with a visitor for each thread.
    ///
    /// # Errors
    /// As [`Files::walk`].
    pub(crate) fn walk_parallel<V: Visitor>(
        &self,
        start: &str,
        limits: &WalkLimits,
        visitor: impl Fn() -> V + Sync,
    ) -> Result<(Vec<V>, WalkSummary), ToolError> {
        let listing = Listing::new(self, true, limits);
        let first = Task::List(listing.start(start)?);
        let pool = Pool {
            listing,
            limits,
            tasks: Mutex::new(Tasks::new(first)),
            changed: Condvar::new(),
        };
        let worker = || Worker {
            visitor: visitor(),
            left_out: Vec::new(),
        };
        let help = |seat: Seat| {
            let mut helper = worker();
            self.meter().timed(|| pool.run(&mut helper));
            drop(seat);
            helper
        };
        let help = &help;
        let workers = scope(|scope| {
            let mut own = worker();
            pool.run_one(&mut own);
            // With fewer threads than wanted, it only takes longer.
            let seats = std::iter::from_fn(Seat::take).take(pool.wanted());
            let helpers: Vec<_> = seats
                .filter_map(|seat| Builder::new().spawn_scoped(scope, move || help(seat)).ok())
                .collect();
            pool.run(&mut own);
            let helped = helpers
                .into_iter()
                .map(|helper| helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
            std::iter::once(own).chain(helped).collect::<Vec<_>>()
        });
        pool.ended()?;
        let (visitors, left_out): (Vec<V>, Vec<_>) = workers
            .into_iter()
            .map(|worker| (worker.visitor, worker.left_out))
            .unzip();
        Ok((visitors, in_order(left_out)))
    }
}

/// Adds up what was skipped in each directory.
fn in_order(left_out: Vec<Vec<(String, WalkSummary)>>) -> WalkSummary {
    let mut left_out: Vec<_> = left_out.into_iter().flatten().collect();
    left_out.sort_unstable_by(|(left, _), (right, _)| left.split('/').cmp(right.split('/')));
    let mut summary = WalkSummary::default();
    left_out
        .into_iter()
        .for_each(|(_, of_directory)| summary.add(of_directory));
    summary
}

/// What one thread finds.
struct Worker<V> {
    visitor: V,
    /// The directories with skipped entries.
    left_out: Vec<(String, WalkSummary)>,
}

enum Task {
    List(Pending),
    Visit(Vec<Entry>),
}

/// The tasks of one walk.
struct Pool<'w> {
    listing: Listing<'w>,
    limits: &'w WalkLimits,
    tasks: Mutex<Tasks>,
    changed: Condvar,
}

struct Tasks {
    /// The next one is last. A directory's entries come before other directories, so that few
    /// directories are open.
    next: Vec<Task>,
    running: usize,
    waiting: usize,
    is_over: bool,
    error: Option<ToolError>,
}

impl Tasks {
    fn new(first: Task) -> Tasks {
        Tasks {
            next: vec![first],
            running: 0,
            waiting: 0,
            is_over: false,
            error: None,
        }
    }
}

impl Pool<'_> {
    /// Runs tasks until there are none.
    fn run<V: Visitor>(&self, worker: &mut Worker<V>) {
        while self.run_one(worker) {}
    }

    /// Runs the next task; returns whether there was one.
    fn run_one<V: Visitor>(&self, worker: &mut Worker<V>) -> bool {
        let Some(task) = self.next() else {
            return false;
        };
        let running = Running(self);
        let outcome = match task {
            Task::List(directory) => self.list(&directory, worker),
            Task::Visit(entries) => self.visit(entries, worker),
        };
        match outcome {
            Ok(Flow::Continue) => {}
            Ok(Flow::Stop) => self.tasks.lock().is_over = true,
            Err(error) => {
                let mut tasks = self.tasks.lock();
                tasks.is_over = true;
                tasks.error.get_or_insert(error);
            }
        }
        drop(running);
        true
    }

    fn list<V: Visitor>(
        &self,
        directory: &Pending,
        worker: &mut Worker<V>,
    ) -> Result<Flow, ToolError> {
        let listed = self.listing.list(directory)?;
        if listed.left_out != WalkSummary::default() {
            worker
                .left_out
                .push((directory.path().to_owned(), listed.left_out));
        }
        let mut entries = listed.entries.into_iter();
        let mut batches = std::iter::from_fn(|| {
            let batch: Vec<Entry> = entries.by_ref().take(BATCH).collect();
            (!batch.is_empty()).then_some(batch)
        });
        let own = batches.next().unwrap_or_default();
        let mut tasks: Vec<Task> = batches.map(Task::Visit).collect();
        tasks.extend(listed.below.into_iter().map(Task::List));
        self.add(tasks);
        self.visit(own, worker)
    }

    fn visit<V: Visitor>(
        &self,
        entries: Vec<Entry>,
        worker: &mut Worker<V>,
    ) -> Result<Flow, ToolError> {
        self.limits.check()?;
        worker.visitor.visit(entries)
    }

    /// Adds tasks to run next, in this order.
    fn add(&self, added: Vec<Task>) {
        if added.is_empty() {
            return;
        }
        let mut tasks = self.tasks.lock();
        tasks.next.extend(added.into_iter().rev());
        self.wake(&tasks);
    }

    /// Waits for a task; returns `None` once there will be no more.
    fn next(&self) -> Option<Task> {
        let mut tasks = self.tasks.lock();
        loop {
            if tasks.is_over {
                return None;
            }
            if let Some(task) = tasks.next.pop() {
                tasks.running += 1;
                return Some(task);
            }
            if tasks.running == 0 {
                return None;
            }
            tasks.waiting += 1;
            tasks = self
                .changed
                .wait(tasks)
                .unwrap_or_else(PoisonError::into_inner);
            tasks.waiting -= 1;
        }
    }

    /// Wakes the threads that wait, if any: waking costs a call of the system.
    fn wake(&self, tasks: &Tasks) {
        if tasks.waiting > 0 {
            self.changed.notify_all();
        }
    }

    /// Returns how many other threads are useful.
    fn wanted(&self) -> usize {
        if self.tasks.lock().next.is_empty() {
            0
        } else {
            MAX_HELPERS
        }
    }

    /// Fails if a task has failed.
    fn ended(&self) -> Result<(), ToolError> {
        self.tasks.lock().error.take().map_or(Ok(()), Err)
    }
}

/// A running task. If it panics, no other thread waits for it.
struct Running<'p, 'w>(&'p Pool<'w>);

impl Drop for Running<'_, '_> {
    fn drop(&mut self) {
        let mut tasks = self.0.tasks.lock();
        tasks.running -= 1;
        tasks.is_over |= panicking();
        if tasks.running == 0 || tasks.is_over {
            self.0.wake(&tasks);
        }
    }
}

/// The right to be a thread that helps.
struct Seat;

impl Seat {
    /// Takes one, if there is one left.
    fn take() -> Option<Seat> {
        static SEATS: OnceLock<usize> = OnceLock::new();
        let seats = *SEATS.get_or_init(|| available_parallelism().map_or(1, NonZero::get) - 1);
        let taken = HELPERS.fetch_add(1, Ordering::Relaxed);
        let seat = Seat;
        if taken < seats { Some(seat) } else { None }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        HELPERS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_searches_share_the_threads_that_help() {
        let most = available_parallelism().unwrap().get() - 1;
        let takes = || std::iter::from_fn(Seat::take).take(100).collect::<Vec<_>>();
        let first = takes();
        // Other tests search as well.
        assert!(first.len() <= most, "{}", first.len());
        assert!(first.len() + takes().len() <= most);
    }
}
