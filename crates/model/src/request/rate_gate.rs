//! One gate for each endpoint, key and model: if a provider tells one agent to wait, all agents
//! wait.
//!
//! Providers limit requests by key, so twenty agents that retry independently would keep exceeding
//! the limit. After a pause they continue one after the other, not all at once.

use std::time::Duration;

use orchestrate_core::collections::Mutex;
use tokio::time::Instant;

/// The interval at which waiting requests continue after a pause: short compared with a request,
/// long compared with a burst.
const SPREAD: Duration = Duration::from_millis(50);

/// Delays requests while their provider asks for a pause.
#[derive(Debug, Default)]
pub(crate) struct RateGate(Mutex<Pause>);

#[derive(Debug, Default)]
struct Pause {
    until: Option<Instant>,
    /// Number of requests that wait for the end of this pause.
    waiting: u32,
}

impl RateGate {
    /// Closes the gate for a time from now; has no effect if it is already closed for longer.
    pub(crate) fn pause(&self, wait: Duration) {
        let mut pause = self.0.lock();
        let until = Instant::now() + wait;
        if pause.until.is_none_or(|known| known < until) {
            *pause = Pause {
                until: Some(until),
                waiting: 0,
            };
        }
    }

    /// Waits until the gate is open.
    pub(crate) async fn pass(&self) {
        while let Some(moment) = self.moment() {
            tokio::time::sleep_until(moment).await;
        }
    }

    /// Returns the time at which the caller may continue, or `None` if the gate is open.
    fn moment(&self) -> Option<Instant> {
        let mut pause = self.0.lock();
        let until = pause.until?;
        if until <= Instant::now() {
            return None;
        }
        pause.waiting += 1;
        Some(until + SPREAD * (pause.waiting - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test joins every task")]
    fn one_pause_holds_everybody_and_lets_them_out_in_a_row() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let elapsed = runtime.block_on(async {
            let gate = Arc::new(RateGate::default());
            let start = Instant::now();
            gate.pass().await;
            gate.pause(Duration::from_secs(2));
            gate.pause(Duration::from_secs(1));
            let tasks: Vec<_> = (0..3)
                .map(|_| {
                    let gate = Arc::clone(&gate);
                    tokio::spawn(async move {
                        gate.pass().await;
                        start.elapsed().as_millis()
                    })
                })
                .collect();
            let mut elapsed = Vec::new();
            for task in tasks {
                elapsed.push(task.await.unwrap());
            }
            elapsed
        });
        assert_eq!(elapsed, [2000, 2050, 2100]);
    }
}
