//! The markers of a run: a projection of its events, so that they are the same whenever they are
//! written.

use std::collections::BTreeMap;

use crate::event::{CacheLookup, Event, Recorded, ToolOutcome};
use crate::ids::{AgentId, CallId, Oid};
use crate::policy::CacheMode;
use crate::policy::cache::{CacheKey, ContentHash, Phase, agent_name};
use crate::projections::marker::{Marker, Reason};
use crate::run::EXIT_INTERRUPTED;

/// The exit code of a call that failed without one.
const FAILED: i32 = 1;
/// The exit code of `timeout` for a command that took too long.
const TIMED_OUT: i32 = 124;
/// How many digits of a commit's id are written.
const COMMIT_DIGITS: usize = 7;
/// Agents work on the plan; none of their turns is for planning only.
const PHASE: Phase = Phase::Build;
/// Why the guard is against replaying requests to models and tools that do not only read: an agent
/// that works has an open task.
const PENDING: &str = "pending_tasks";

/// The markers of one run, as far as its events have been applied.
///
/// A turn lasts until the agent's next one, or until its work is handed over or ended. Requests to
/// a model have the same pair of markers as tools. Calls are numbered in the order in which they
/// start.
#[derive(Debug, Default)]
pub struct RunMarkers {
    calls: u64,
    /// The calls that have started and not ended.
    open: BTreeMap<CallKey, OpenCall>,
    agents: BTreeMap<AgentId, Agent>,
    /// How the run uses the cache.
    cache: CacheMode,
}

type CallKey = (AgentId, Called);

/// How a call ended.
#[derive(Clone, Copy)]
struct CallEnd {
    /// The exit code that stands for it.
    rc: i32,
    /// Why it did not pass.
    reason: Option<Reason>,
}

const PASSED: CallEnd = CallEnd {
    rc: 0,
    reason: None,
};
const FAILED_CALL: CallEnd = CallEnd {
    rc: FAILED,
    reason: Some(Reason::ExitCode),
};
const CUT: CallEnd = CallEnd {
    rc: EXIT_INTERRUPTED as i32,
    reason: Some(Reason::Interrupted),
};

/// What was called in a turn.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Called {
    Model(u32),
    Tool(u32, CallId),
}

#[derive(Debug)]
struct OpenCall {
    id: String,
    started_ms: u64,
}

#[derive(Debug, Default)]
struct Agent {
    role: Option<String>,
    /// The short id of the commit that its work is based on.
    commit: String,
    /// Its turn that has not ended.
    turn: Option<u32>,
}

impl RunMarkers {
    /// Returns the markers of the next event.
    pub fn apply(&mut self, fact: &Recorded) -> Vec<Marker> {
        match &fact.event {
            Event::RunStarted { settings, .. } => {
                self.cache = settings.cache;
                Vec::new()
            }
            Event::AgentSpawned {
                task, agent, base, ..
            } => {
                let entry = self.agents.entry(task.clone()).or_default();
                entry.role.clone_from(agent);
                entry.commit = short(base);
                Vec::new()
            }
            Event::TurnStarted { task, turn } => self.turn_started(task, *turn, fact),
            Event::ModelRequested {
                task,
                turn,
                model,
                request,
                ..
            } => {
                let content = ContentHash::of_parts([request.as_str().as_bytes()]);
                self.started(
                    (task.clone(), Called::Model(*turn)),
                    model,
                    &content,
                    fact.ts_ms,
                )
            }
            Event::ModelReplied { task, turn, .. } => {
                self.ended(&(task.clone(), Called::Model(*turn)), PASSED, fact.ts_ms)
            }
            Event::ModelFailed { task, turn, .. }
            | Event::ModelRejected { task, turn, .. }
            | Event::ModelSwitched { task, turn, .. } => self.ended(
                &(task.clone(), Called::Model(*turn)),
                FAILED_CALL,
                fact.ts_ms,
            ),
            Event::ModelCut { task, turn, .. } => {
                self.ended(&(task.clone(), Called::Model(*turn)), CUT, fact.ts_ms)
            }
            Event::ToolStarted {
                task,
                turn,
                call_id,
                tool,
                arguments,
                cache,
                ..
            } => {
                let content =
                    ContentHash::of_parts([tool.as_bytes(), arguments.to_string().as_bytes()]);
                let call = (task.clone(), Called::Tool(*turn, call_id.clone()));
                match cache {
                    Some(lookup) => self.looked_up(call, tool, lookup, fact.ts_ms),
                    None => self.started(call, tool, &content, fact.ts_ms),
                }
            }
            Event::ToolFinished {
                task,
                turn,
                call_id,
                outcome,
                exit_code,
                ..
            } => {
                let call = (task.clone(), Called::Tool(*turn, call_id.clone()));
                self.ended(&call, end_of(*outcome, *exit_code), fact.ts_ms)
            }
            Event::TaskCommitted { task, commit, .. } => {
                self.agents.entry(task.clone()).or_default().commit = short(commit);
                self.turn_ended(task, "ok", fact)
            }
            Event::NothingToDo { task, .. } | Event::ReviewWaiting { task } => {
                self.turn_ended(task, "ok", fact)
            }
            Event::TaskFailed { task, .. } => self.turn_ended(task, "failed", fact),
            Event::TaskCancelled { task, .. } => self.turn_ended(task, "cancelled", fact),
            Event::RunFinished { .. } => {
                let agents: Vec<AgentId> = self.agents.keys().cloned().collect();
                agents
                    .iter()
                    .flat_map(|task| self.turn_ended(task, "interrupted", fact))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn turn_started(&mut self, task: &AgentId, turn: u32, fact: &Recorded) -> Vec<Marker> {
        let mut markers = self.turn_ended(task, "ok", fact);
        self.agents.entry(task.clone()).or_default().turn = Some(turn);
        let (iter, run_id, ts) = (u64::from(turn), fact.run_id.to_string(), fact.ts_ms);
        markers.push(Marker::IterStart {
            iter,
            run_id: run_id.clone(),
            ts,
        });
        markers.push(Marker::PhaseStart {
            iter,
            phase: PHASE.to_string(),
            run_id,
            ts,
        });
        markers.extend(self.cache_in_turn(iter, ts));
        markers
    }

    /// Returns how the cache is used in a turn, and what the guard forbids in it.
    fn cache_in_turn(&self, iter: u64, ts: u64) -> Vec<Marker> {
        if self.cache == CacheMode::Off {
            return Vec::new();
        }
        let (mode, scope) = (self.cache.to_string(), PHASE.to_string());
        // Programs that agents run are told nothing of it.
        let configuration = Marker::CacheConfig {
            mode,
            scope: scope.clone(),
            exported: false,
            iter: Some(iter),
            ts,
        };
        let guard = Marker::CacheGuard {
            iter: Some(iter),
            reason: PENDING.to_owned(),
            phase: scope,
            ts,
        };
        std::iter::once(configuration)
            .chain(self.cache.reads().then_some(guard))
            .collect()
    }

    fn turn_ended(&mut self, task: &AgentId, status: &str, fact: &Recorded) -> Vec<Marker> {
        let Some(turn) = self
            .agents
            .get_mut(task)
            .and_then(|agent| agent.turn.take())
        else {
            return Vec::new();
        };
        let (iter, run_id, ts) = (u64::from(turn), fact.run_id.to_string(), fact.ts_ms);
        let (phase, status) = (PHASE.to_string(), status.to_owned());
        vec![
            Marker::PhaseEnd {
                iter,
                phase,
                status,
                run_id: run_id.clone(),
                ts,
            },
            Marker::IterEnd { iter, run_id, ts },
        ]
    }

    fn started(
        &mut self,
        call: CallKey,
        tool: &str,
        content: &ContentHash,
        started_ms: u64,
    ) -> Vec<Marker> {
        let agent = self.agents.entry(call.0.clone()).or_default();
        let key = CacheKey::new(
            &agent_name([agent.role.as_deref(), None, None]),
            PHASE,
            content,
            &agent.commit,
        );
        vec![self.opened(call, tool, key.as_str(), started_ms)]
    }

    /// Returns the markers of a call for which the cache was asked. Nothing runs for one that is
    /// replayed.
    fn looked_up(
        &mut self,
        call: CallKey,
        tool: &str,
        lookup: &CacheLookup,
        ts: u64,
    ) -> Vec<Marker> {
        let (cache_key, name) = (lookup.key.clone(), tool.to_owned());
        match lookup.hit {
            true => vec![Marker::CacheHit {
                cache_key,
                tool: name,
                ts,
            }],
            false => {
                let miss = Marker::CacheMiss {
                    cache_key,
                    tool: name,
                    ts,
                };
                vec![miss, self.opened(call, tool, &lookup.key, ts)]
            }
        }
    }

    fn opened(&mut self, call: CallKey, tool: &str, cache_key: &str, started_ms: u64) -> Marker {
        self.calls += 1;
        let id = format!("tool_{:05}", self.calls);
        let git_sha = self
            .agents
            .entry(call.0.clone())
            .or_default()
            .commit
            .clone();
        self.open.insert(
            call,
            OpenCall {
                id: id.clone(),
                started_ms,
            },
        );
        Marker::ToolStart {
            id,
            tool: tool.to_owned(),
            cache_key: cache_key.to_owned(),
            git_sha,
            ts: started_ms,
        }
    }

    fn ended(&mut self, call: &CallKey, end: CallEnd, ts: u64) -> Vec<Marker> {
        let Some(OpenCall { id, started_ms }) = self.open.remove(call) else {
            return Vec::new();
        };
        let CallEnd { rc, reason } = end;
        vec![Marker::ToolEnd {
            id,
            rc,
            duration_ms: ts.saturating_sub(started_ms),
            reason,
            ts,
        }]
    }
}

/// Returns the end of a tool's call.
fn end_of(outcome: ToolOutcome, exit_code: Option<i32>) -> CallEnd {
    match outcome {
        ToolOutcome::Ok => PASSED,
        ToolOutcome::TimedOut => CallEnd {
            rc: TIMED_OUT,
            reason: Some(Reason::Timeout),
        },
        ToolOutcome::Interrupted => CUT,
        ToolOutcome::Failed | ToolOutcome::Denied => CallEnd {
            rc: exit_code.filter(|code| *code != 0).unwrap_or(FAILED),
            ..FAILED_CALL
        },
    }
}

fn short(commit: &Oid) -> String {
    commit.as_str().chars().take(COMMIT_DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns the lines of events, the first of which is recorded at 1,010 ms, and each next one
    /// 10 ms later.
    fn lines(events: &[Value]) -> Vec<String> {
        let mut markers = RunMarkers::default();
        let facts = events.iter().zip(1..).map(|(event, seq)| Recorded {
            run_id: "r-1".into(),
            seq,
            ts_ms: 1_000 + seq * 10,
            v: 1,
            event: serde_json::from_value(event.clone()).unwrap(),
        });
        facts
            .flat_map(|fact| markers.apply(&fact))
            .map(|marker| marker.to_string())
            .collect()
    }

    fn spawned(task: &str) -> Value {
        json!({"type": "agent.spawned", "task": task,
            "attempt": 1,
            "agent": "Implementer",
            "model": "m",
            "branch": "b",
               "base": "1a2b3c4d5e6f", "spec": null})
    }

    fn turn(task: &str, turn: u32) -> Value {
        json!({"type": "turn.started", "task": task, "turn": turn})
    }

    fn tool_started(call: &str) -> Value {
        json!({"type": "tool.started", "task": "a",
            "turn": 1,
            "call_id": call,
            "tool": "grep",
            "arguments": {},
               "rule": "r"})
    }

    fn tool_finished(call: &str, outcome: &str, exit_code: Option<i32>) -> Value {
        json!({"type": "tool.finished", "task": "a",
            "turn": 1,
            "call_id": call,
            "tool": "grep",
            "outcome": outcome,
               "exit_code": exit_code, "result": "blob", "duration_ms": 1})
    }

    #[test]
    fn a_replayed_call_starts_nothing() {
        let looked_up = |call: &str, hit: bool| {
            let mut event = tool_started(call);
            event["cache"] =
                json!({"key": "implementer|build|0123456789abcdef|1a2b3c4", "hit": hit});
            event
        };
        let found = lines(&[
            spawned("a"),
            looked_up("c1", false),
            tool_finished("c1", "ok", None),
            looked_up("c2", true),
            tool_finished("c2", "ok", None),
        ]);
        let names: Vec<&str> = found
            .iter()
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert_eq!(
            names,
            [
                ":::CACHE_MISS:::",
                ":::TOOL_START:::",
                ":::TOOL_END:::",
                ":::CACHE_HIT:::"
            ]
        );
        let key = " cache_key=implementer|build|0123456789abcdef|1a2b3c4 ";
        assert!(
            found
                .iter()
                .all(|line| line.contains(key) || line.contains("TOOL_END")),
            "{found:?}"
        );
    }

    #[test]
    fn a_turn_surrounds_its_calls() {
        let request = json!({"type": "model.requested",
            "task": "a",
            "turn": 1,
            "model": "openai/m",
            "request": "hash",
                             "parts": {"system": "blob",
                                 "tools": "blob",
                                 "max_output_tokens": 1,
                                 "add": ["blob"]},
                             "reserved_tokens": 1});
        let reply = json!({"type": "model.replied", "task": "a", "turn": 1, "reply": "blob",
                           "usage": {}, "stop": "tool_calls"});
        let committed = json!({"type": "task.committed",
            "task": "a",
            "commit": "77777777",
            "tree": "t",
            "summary": "done"});
        let events = [
            spawned("a"),
            turn("a", 1),
            request,
            reply,
            tool_started("c1"),
            tool_finished("c1", "failed", Some(7)),
            committed,
        ];
        let found = lines(&events);
        let keyless: Vec<String> = found
            .iter()
            .map(|line| {
                line.split(' ')
                    .filter(|field| !field.starts_with("cache_key="))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        assert_eq!(
            keyless,
            [
                ":::ITER_START::: iter=1 run_id=r-1 ts=1020",
                ":::PHASE_START::: iter=1 phase=build run_id=r-1 ts=1020",
                ":::TOOL_START::: id=tool_00001 tool=openai/m git_sha=1a2b3c4 ts=1030",
                ":::TOOL_END::: id=tool_00001 result=PASS rc=0 exit=0 duration_ms=10 ts=1040",
                ":::TOOL_START::: id=tool_00002 tool=grep git_sha=1a2b3c4 ts=1050",
                ":::TOOL_END::: id=tool_00002 result=FAIL rc=7 exit=7 duration_ms=10 \
                 reason=exit_code_7 ts=1060",
                ":::PHASE_END::: iter=1 phase=build status=ok run_id=r-1 ts=1070",
                ":::ITER_END::: iter=1 run_id=r-1 ts=1070",
            ]
        );
        assert!(
            found[2].contains(" cache_key=implementer|build|"),
            "{}",
            found[2]
        );
    }

    #[test]
    fn a_turn_says_how_the_cache_is_used() {
        let started = |cache: &str| {
            let settings = serde_json::to_value(crate::RunSettings::default()).unwrap();
            let mut event = json!({"type": "run.started",
                "plan": null,
                "plan_source": null,
                "title": null,
                                   "settings": settings, "base_commit": "c", "base_branch": null});
            event["settings"]["cache"] = json!(cache);
            event
        };
        let said = |cache: &str| lines(&[started(cache), spawned("a"), turn("a", 3)]).split_off(2);
        let config = |mode: &str| {
            format!(":::CACHE_CONFIG::: mode={mode} scope=build exported=0 iter=3 ts=1030")
        };
        let guard = ":::CACHE_GUARD::: iter=3 allowed=0 reason=pending_tasks phase=build ts=1030"
            .to_owned();
        assert_eq!(said("use"), [config("use"), guard.clone()]);
        assert_eq!(said("read"), [config("read"), guard]);
        assert_eq!(said("write"), [config("write")]);
        assert!(said("off").is_empty());
    }

    #[test]
    fn each_end_of_a_call_has_its_reason() {
        let table = [
            ("ok", None, "result=PASS rc=0 exit=0 duration_ms=10 ts="),
            (
                "failed",
                None,
                "result=FAIL rc=1 exit=1 duration_ms=10 reason=exit_code_1 ts=",
            ),
            (
                "denied",
                None,
                "result=FAIL rc=1 exit=1 duration_ms=10 reason=exit_code_1 ts=",
            ),
            (
                "timed_out",
                None,
                "result=FAIL rc=124 exit=124 duration_ms=10 reason=timeout ts=",
            ),
            (
                "interrupted",
                None,
                "result=FAIL rc=130 exit=130 duration_ms=10 reason=interrupted ts=",
            ),
        ];
        for (outcome, code, expected) in table {
            let found = lines(&[
                spawned("a"),
                tool_started("c"),
                tool_finished("c", outcome, code),
            ]);
            assert!(found[1].contains(expected), "{outcome}: {}", found[1]);
        }
    }

    #[test]
    fn a_turn_ends_once() {
        let end = json!({"type": "run.finished", "status": "failed", "exit_code": 1});
        let failed = json!({"type": "task.failed", "task": "a", "cause": "turns", "message": "m"});
        let found = lines(&[turn("a", 1), turn("b", 1), turn("a", 2), failed, end]);
        let ends: Vec<&str> = found
            .iter()
            .filter(|line| line.starts_with(":::PHASE_END") || line.starts_with(":::ITER_END"))
            .map(|line| line.split(" run_id").next().unwrap_or_default())
            .collect();
        assert_eq!(
            ends,
            [
                ":::PHASE_END::: iter=1 phase=build status=ok",
                ":::ITER_END::: iter=1",
                ":::PHASE_END::: iter=2 phase=build status=failed",
                ":::ITER_END::: iter=2",
                ":::PHASE_END::: iter=1 phase=build status=interrupted",
                ":::ITER_END::: iter=1",
            ]
        );
    }

    #[test]
    fn an_end_without_a_start_is_no_marker() {
        assert_eq!(lines(&[tool_finished("c", "ok", None)]), [""; 0]);
    }
}
