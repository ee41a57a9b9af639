//! Counts the calls and successes of each tool, and measures their durations.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::event::{Event, ToolOutcome};
use crate::ids::{CallId, TaskId};

/// Number of a tool's newest durations from which percentiles are computed.
const KEPT_DURATIONS: usize = 512;

/// The metrics of one tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolMetrics {
    /// Number of calls that ran; refused and replayed ones do not count.
    pub usage_count: u64,
    /// Successes divided by calls; zero without calls.
    pub success_rate: f64,
    /// The median duration of the newest calls.
    pub p50: Duration,
    /// The 95th percentile of the durations of the newest calls.
    pub p95: Duration,
}

#[derive(Debug, Default)]
struct Counts {
    calls: u64,
    successes: u64,
    durations: Vec<Duration>,
}

/// The calls of each tool: those of a run, by its events, or those of an executor.
#[derive(Debug, Default)]
pub struct ToolCalls {
    counts: BTreeMap<String, Counts>,
    /// The calls whose results are being replayed, by their agent and its request.
    replayed: BTreeSet<(TaskId, u32, CallId)>,
}

impl ToolCalls {
    /// Counts the call that an event ends, if it ran.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::ToolStarted {
                task,
                turn,
                call_id,
                cache: Some(lookup),
                ..
            } if lookup.hit => {
                self.replayed.insert((task.clone(), *turn, call_id.clone()));
            }
            Event::ToolFinished {
                task,
                turn,
                call_id,
                tool,
                outcome,
                duration_ms,
                ..
            } => {
                let is_replayed = self
                    .replayed
                    .remove(&(task.clone(), *turn, call_id.clone()));
                if *outcome != ToolOutcome::Denied && !is_replayed {
                    self.add(
                        tool,
                        *outcome == ToolOutcome::Ok,
                        Duration::from_millis(*duration_ms),
                    );
                }
            }
            _ => {}
        }
    }

    /// Counts a call that ran.
    pub fn add(&mut self, tool: &str, success: bool, duration: Duration) {
        let tool = self.counts.entry(tool.to_owned()).or_default();
        let slot = usize::try_from(tool.calls).unwrap_or(0) % KEPT_DURATIONS;
        match tool.durations.get_mut(slot) {
            Some(oldest) => *oldest = duration,
            None => tool.durations.push(duration),
        }
        tool.calls += 1;
        tool.successes += u64::from(success);
    }

    /// Returns the metrics of every tool that has run.
    pub fn metrics(&self) -> BTreeMap<String, ToolMetrics> {
        self.counts
            .iter()
            .map(|(tool, counts)| (tool.clone(), counts.figures()))
            .collect()
    }
}

impl Counts {
    fn figures(&self) -> ToolMetrics {
        let mut sorted = self.durations.clone();
        sorted.sort_unstable();
        let percentile = |per_cent: usize| {
            let rank = (sorted.len() * per_cent).div_ceil(100).saturating_sub(1);
            sorted.get(rank).copied().unwrap_or_default()
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "a rate of more than 2^52 calls is not asked for"
        )]
        let success_rate = if self.calls == 0 {
            0.0
        } else {
            self.successes as f64 / self.calls as f64
        };
        ToolMetrics {
            usage_count: self.calls,
            success_rate,
            p50: percentile(50),
            p95: percentile(95),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replayed_call_is_not_counted() {
        let event = |json: serde_json::Value| serde_json::from_value::<Event>(json).unwrap();
        let mut calls = ToolCalls::default();
        for (id, hit) in [("c1", false), ("c2", true)] {
            calls.apply(&event(
                serde_json::json!({"type": "tool.started", "task": "a", "turn": 1, "call_id": id,
                "tool": "grep", "arguments": {}, "rule": "r", "cache": {"key": "k", "hit": hit}}),
            ));
            calls.apply(&event(
                serde_json::json!({"type": "tool.finished", "task": "a", "turn": 1, "call_id": id,
                "tool": "grep", "outcome": "ok", "result": "blob", "duration_ms": 3}),
            ));
        }
        assert_eq!(calls.metrics()["grep"].usage_count, 1);
    }

    #[test]
    fn figures_are_of_the_newest_calls() {
        let mut calls = ToolCalls::default();
        assert_eq!(calls.metrics(), BTreeMap::new());
        assert_eq!(
            Counts::default().figures(),
            ToolMetrics {
                usage_count: 0,
                success_rate: 0.0,
                ..ToolMetrics::default()
            }
        );
        for n in 1..=100 {
            calls.add("t", n % 4 != 0, Duration::from_millis(n));
        }
        let expected = ToolMetrics {
            usage_count: 100,
            success_rate: 0.75,
            p50: Duration::from_millis(50),
            p95: Duration::from_millis(95),
        };
        assert_eq!(calls.metrics().get("t"), Some(&expected));
    }
}
