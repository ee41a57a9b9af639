//! Translates signals into requests to a run: the first Ctrl-C drains, the second stops, the third
//! kills.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use orchestrate_coordinator::{Cancel, ShutdownLevel};
use orchestrate_core::run::{EXIT_INTERRUPTED, EXIT_TERMINATED};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CommandError;

/// The signals that end a run.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    interrupts: u32,
}

/// What a signal requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// How urgently the run has to end.
    pub(crate) level: ShutdownLevel,
    /// The message to the user.
    pub(crate) words: &'static str,
    /// The exit code of a run that ends because of it.
    pub(crate) exit_code: u8,
    /// Whether the terminal was closed.
    pub(crate) hung_up: bool,
}

impl Signals {
    /// Starts to handle the signals.
    pub(crate) fn listen() -> Result<Signals, CommandError> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                CommandError::internal(format!("failed to listen to signals: {error}"))
            })
        };
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            interrupts: 0,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Request {
        tokio::select! {
            _ = self.interrupt.recv() => {
                self.interrupts += 1;
                interrupted(self.interrupts)
            }
            _ = self.terminate.recv() => {
                let words = "terminated: stopping; the state is kept";
                Request {
                    level: ShutdownLevel::Stop,
                    words,
                    exit_code: EXIT_TERMINATED,
                    hung_up: false,
                }
            }
            _ = self.hang_up.recv() => {
                let words = "terminal closed: stopping; the state is kept";
                Request {
                    level: ShutdownLevel::Stop,
                    words,
                    exit_code: EXIT_INTERRUPTED,
                    hung_up: true,
                }
            }
        }
    }
}

/// Handles signals for a short operation that must not stop half-way: a signal only keeps it from
/// starting.
pub(crate) struct Attention {
    /// Raised by the first signal.
    pub(crate) cancel: Cancel,
    exit_code: Arc<AtomicU8>,
}

impl Attention {
    /// Starts to handle the signals, until this process ends.
    pub(crate) fn listen() -> Result<Attention, CommandError> {
        let failed =
            |error| CommandError::internal(format!("failed to listen to signals: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::listen()?
        };
        let attention = Attention {
            cancel: Cancel::new(),
            exit_code: Arc::default(),
        };
        let (cancel, exit_code) = (attention.cancel.clone(), Arc::clone(&attention.exit_code));
        let listen = move || {
            let request = runtime.block_on(signals.next());
            exit_code.store(request.exit_code, Ordering::SeqCst);
            cancel.cancel();
            // The signals are handled as long as the runtime exists.
            runtime.block_on(std::future::pending::<()>());
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(listen)
            .map_err(failed)?;
        Ok(attention)
    }

    /// Returns the exit code of an operation that a signal kept from starting.
    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code.load(Ordering::SeqCst)
    }
}

fn interrupted(times: u32) -> Request {
    let (level, words) = match times {
        1 => (
            ShutdownLevel::Drain,
            "finishing current turns, starting nothing new; Ctrl-C again stops now",
        ),
        2 => (
            ShutdownLevel::Stop,
            "stopping; the state is kept; Ctrl-C again kills every process",
        ),
        _ => (
            ShutdownLevel::Kill,
            "killing every process; recorded work is kept",
        ),
    };
    Request {
        level,
        words,
        exit_code: EXIT_INTERRUPTED,
        hung_up: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interrupt_asks_for_more() {
        let levels: Vec<ShutdownLevel> = (1..=4).map(|times| interrupted(times).level).collect();
        use ShutdownLevel::{Drain, Kill, Stop};
        assert_eq!(levels, [Drain, Stop, Kill, Kill]);
    }
}
