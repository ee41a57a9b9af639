//! How urgently things are asked to end: a level that only rises.
//!
//! Each agent has one of its own; what counts is the higher of its own and the run's. The first Ctrl-C drains, the
//! second stops, the third kills; a time-out or `cancel()` raises the agent's own.

use std::sync::{Arc, OnceLock};

use orchestrate_sandbox::Cancel;
use tokio::sync::watch;

/// How urgently something is asked to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownLevel {
    /// Not at all.
    #[default]
    None,
    /// Nothing new is started; what runs goes on to its end.
    Drain,
    /// What runs is interrupted at once and resumed later; its files stay.
    Stop,
    /// Processes are killed at once, without a moment to end by themselves. So are those of git, which no lower level
    /// touches, since the end of what was stopped is stored by it; none begins any more. What they leave is what they
    /// leave if this whole process is killed, and is mended by whoever resumes the run. Only a git that moves the
    /// user's own checkout or branch goes on to its end, under its lock.
    Kill,
}

impl ShutdownLevel {
    /// Returns the next higher level; the highest stays.
    pub fn next(self) -> Self {
        match self {
            ShutdownLevel::None => ShutdownLevel::Drain,
            ShutdownLevel::Drain => ShutdownLevel::Stop,
            ShutdownLevel::Stop | ShutdownLevel::Kill => ShutdownLevel::Kill,
        }
    }
}

/// A level that only rises, shared by everybody whom it concerns.
#[derive(Clone)]
pub struct Shutdown {
    own: Arc<watch::Sender<ShutdownLevel>>,
    run: watch::Receiver<ShutdownLevel>,
    asked: Arc<OnceLock<u8>>,
}

impl Shutdown {
    /// Makes the run's level.
    pub fn of_run() -> Self {
        let (own, run) = watch::channel(ShutdownLevel::None);
        Self { own: Arc::new(own), run, asked: Arc::default() }
    }

    /// Makes an agent's level below this one.
    pub fn of_agent(&self) -> Self {
        let (own, _) = watch::channel(ShutdownLevel::None);
        Self { own: Arc::new(own), run: self.own.subscribe(), asked: Arc::default() }
    }

    /// Raises the level; a lower one changes nothing.
    pub fn raise(&self, level: ShutdownLevel) {
        self.own.send_if_modified(|now| {
            let rises = level > *now;
            *now = level.max(*now);
            rises
        });
    }

    /// Raises the level because somebody asked for it, and not because of a limit; the run then ends interrupted, with
    /// the exit code of whoever asked first.
    pub fn ask(&self, level: ShutdownLevel, exit_code: u8) {
        // Who comes later only hurries what the first one asked for.
        let _ = self.asked.set(exit_code);
        self.raise(level);
    }

    /// Returns the exit code that goes with what was asked for, or `None` if nobody asked.
    pub fn asked_exit_code(&self) -> Option<u8> {
        self.asked.get().copied()
    }

    /// Returns the level that counts now.
    pub fn level(&self) -> ShutdownLevel {
        (*self.own.borrow()).max(*self.run.borrow())
    }

    /// Reports whether the agent itself, and not its run, is asked to end this urgently.
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
            // A closed run channel means that the run is gone: only the own level can still rise.
            tokio::select! {
                changed = own.changed() => if changed.is_err() { return },
                changed = run.changed() => if changed.is_err() { std::future::pending::<()>().await },
            }
        }
    }

    /// Runs blocking or confined work, which is asked to end at [`ShutdownLevel::Stop`] and killed at
    /// [`ShutdownLevel::Kill`]. It still runs to its end, so that its end can be recorded.
    pub async fn guard<T>(&self, cancel: &Cancel, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        tokio::select! {
            done = &mut work => return done,
            // Raised to the highest level at once, it asks nobody.
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
