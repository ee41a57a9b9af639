//! The level of a shutdown, shared by all parties: it only rises.
//!
//! Each agent has its own; the higher of its own and the run's applies. The first Ctrl-C drains,
//! the second stops, the third kills; a timeout or `cancel()` raises the agent's own.

use std::sync::{Arc, OnceLock};

pub use orchestrate_core::ShutdownLevel;
use orchestrate_sandbox::Cancel;
use tokio::sync::watch;

/// A level that only rises, shared by all parties.
#[derive(Clone)]
pub struct Shutdown {
    own: Arc<watch::Sender<ShutdownLevel>>,
    run: watch::Receiver<ShutdownLevel>,
    asked: Arc<OnceLock<u8>>,
}

impl Shutdown {
    /// Creates the run's level.
    pub fn of_run() -> Self {
        let (own, run) = watch::channel(ShutdownLevel::None);
        Self {
            own: Arc::new(own),
            run,
            asked: Arc::default(),
        }
    }

    /// Creates an agent's level below this one.
    pub fn of_agent(&self) -> Self {
        let (own, _) = watch::channel(ShutdownLevel::None);
        Self {
            own: Arc::new(own),
            run: self.own.subscribe(),
            asked: Arc::default(),
        }
    }

    /// Creates the level of an agent's last report, which begins although the agent's own work has
    /// been stopped.
    pub fn for_report(&self) -> Self {
        let (own, _) = watch::channel(ShutdownLevel::None);
        Self {
            own: Arc::new(own),
            run: self.run.clone(),
            asked: Arc::clone(&self.asked),
        }
    }

    /// Raises the level; a lower one changes nothing.
    pub fn raise(&self, level: ShutdownLevel) {
        self.own.send_if_modified(|now| {
            let rises = level > *now;
            *now = level.max(*now);
            rises
        });
    }

    /// Raises the level on request, and not because of a limit; the run then ends as interrupted,
    /// with the exit code of the first request.
    pub fn ask(&self, level: ShutdownLevel, exit_code: u8) {
        // Later requests only hurry the first one.
        let _ = self.asked.set(exit_code);
        self.raise(level);
    }

    /// Returns the exit code of the request, or `None` if there was none.
    pub fn asked_exit_code(&self) -> Option<u8> {
        self.asked.get().copied()
    }

    /// Returns the level in effect.
    pub fn level(&self) -> ShutdownLevel {
        (*self.own.borrow()).max(*self.run.borrow())
    }

    /// Reports whether the agent's own level, and not only its run's, has reached this one.
    pub fn is_own(&self, level: ShutdownLevel) -> bool {
        *self.own.borrow() >= level && *self.run.borrow() < level
    }

    /// Waits until the level is at least this.
    pub async fn reached(&self, level: ShutdownLevel) {
        let (mut own, mut run) = (self.own.subscribe(), self.run.clone());
        loop {
            if self.level() >= level {
                return;
            }
            // A closed channel means that the run is gone: only the own level can still rise.
            tokio::select! {
                changed = own.changed() => if changed.is_err() { return },
                changed = run.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
            }
        }
    }

    /// Runs blocking or confined work, asking it to end at [`ShutdownLevel::Stop`] and killing it
    /// at [`ShutdownLevel::Kill`]. The work is always awaited, so that its end can be recorded.
    pub async fn guard<T>(&self, cancel: &Cancel, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        tokio::select! {
            done = &mut work => return done,
            // If the highest level is reached at once, the work is killed without being asked.
            () = self.reached(ShutdownLevel::Stop) => match self.level() {
                ShutdownLevel::Kill => cancel.kill(),
                _ => cancel.cancel(),
            },
        }
        tokio::select! {
            done = &mut work => return done,
            () = self.reached(ShutdownLevel::Kill) => cancel.kill(),
        }
        work.await
    }
}
