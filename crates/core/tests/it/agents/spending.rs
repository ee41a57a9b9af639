//! What a run spends: reserved before each request, settled with its cost, and limited by the run's
//! budget of money.

use orchestrate_core::agent::budget::{Amount, Reservation};
use orchestrate_core::agent::model_search::{SearchEnded, SearchRequested};
use orchestrate_core::event::{Event, RunStatus, VERSION};
use orchestrate_core::task::FailureCause;
use orchestrate_core::{
    Action, Allowance, BlobId, Recorded, RequestHash, RequestParts, RequestRefused, RunSettings,
    RunState, StopReason, Task, TaskId, Usage,
};

use crate::facts;
use crate::facts::{added, failed, finished, ready, replayed, spawned, started};

/// Returns the state after a story of two agents, such as `a+600` (reserves micro-dollars), `a=250`
/// (is settled), `a=?` (is settled, the price is not known), `a~50` (is cut off), `a!` (fails for
/// the cost), `*` (is resumed with 5,000 micro-dollars), `a/600` (reserves for a search), `a:250`
/// (a search is settled).
fn after(story: &str) -> RunState {
    told(
        RunSettings {
            budget_micro_usd: Some(1_000),
            ..RunSettings::default()
        },
        ["a", "b"],
        story,
    )
}

/// Returns the state after such a story of agents with these ids under these settings.
fn told(settings: RunSettings, agents: [&str; 2], story: &str) -> RunState {
    let started = started(settings);
    let mut events = vec![started];
    for task in agents.map(TaskId::from) {
        events.push(Event::planned(facts::task(task.as_str(), &[])));
        events.push(ready(task.clone()));
        let mut begins = spawned(task, 1);
        if let Event::AgentSpawned { model, .. } = &mut begins {
            *model = Some("m".to_owned());
        }
        events.push(begins);
    }
    for word in story.split_whitespace() {
        let (task, rest) = word.split_at(1);
        let task = TaskId::from(task);
        let amount = rest.get(1..).and_then(|digits| digits.parse().ok());
        events.push(match rest.get(..1) {
            Some("+") => Event::ModelRequested {
                task,
                turn: 1,
                model: "m".to_owned(),
                request: RequestHash::from("request"),
                parts: RequestParts::anew(
                    "system".into(),
                    "tools".into(),
                    vec!["message".into()],
                    100,
                ),
                reserved_tokens: 10,
                reserved_micro_usd: amount,
            },
            Some("=") => Event::ModelReplied {
                task,
                turn: 1,
                reply: BlobId::from("reply"),
                usage: Usage::default(),
                micro_usd: amount,
                stop: StopReason::EndTurn,
            },
            Some("/") => Event::SearchRequested(SearchRequested {
                task,
                turn: 1,
                call_id: "c".into(),
                model: "m".to_owned(),
                reserved_tokens: 10,
                reserved_micro_usd: amount,
            }),
            Some(":") => Event::SearchEnded(SearchEnded {
                task,
                turn: 1,
                call_id: "c".into(),
                usage: Usage {
                    input_tokens: 7,
                    ..Usage::default()
                },
                micro_usd: amount,
                searches: 1,
                error: None,
            }),
            Some("~") => Event::ModelCut {
                task,
                turn: 1,
                tokens: 10,
                micro_usd: amount,
            },
            Some("?") => Event::BudgetWaited {
                task,
                turn: 1,
                tokens: 10,
                micro_usd: amount,
            },
            Some("!") => failed(task, FailureCause::Cost, ""),
            _ => Event::RunResumed {
                pid: 1,
                timeout_ms: None,
                budget_tokens: None,
                budget_micro_usd: Some(5_000),
            },
        });
    }
    replayed(events)
}

#[test]
fn a_request_is_sent_only_if_the_money_covers_it() {
    let table = [
        ("", 1_000, "fits"),
        ("", 1_001, "refused"),
        ("a+600", 400, "fits"),
        ("a+600", 401, "waits"),
        ("a+600 a=250", 750, "fits"),
        ("a+600 a=250", 751, "refused"),
        // It has cost more than was reserved.
        ("a+600 a=2000", 1, "refused"),
        ("a+600 b?500 a=0", 500, "fits"),
        ("a+600 a!", 1_000, "fits"),
        ("a+600 *", 5_000, "fits"),
        ("a=900 *", 4_101, "refused"),
        ("a+600 a~50", 950, "fits"),
        ("a+600 a~50", 951, "refused"),
        ("a+600 a~50 a+600", 351, "waits"),
        // A search of the model's endpoint is one more request.
        ("a/600", 401, "waits"),
        ("a/600 a:250", 750, "fits"),
        ("a/600 a:250", 751, "refused"),
        ("a/600 a~600 a:250", 400, "fits"),
        ("a/600 a~600 a:250", 401, "refused"),
    ];
    for (story, micro_usd, expected) in table {
        let amount = Amount {
            tokens: 10,
            micro_usd: Some(micro_usd),
        };
        let found = match after(story).ask_budgets(&"b".into(), amount) {
            Reservation::Fits => "fits",
            Reservation::Waits => "waits",
            Reservation::Refused(_) => "refused",
        };
        assert_eq!(found, expected, "{story}: {micro_usd}");
    }
    assert_eq!(
        after("a+600 b?500").waiting_for(&"b".into()),
        Some(Amount {
            tokens: 10,
            micro_usd: Some(500)
        })
    );
}

#[test]
fn the_cost_of_a_run_is_that_of_its_requests_and_unknown_if_one_is() {
    let costs = |story: &str| {
        let state = after(story);
        let of = |task: &str| state.task(&task.into()).unwrap().cost().micro_usd();
        (of("a"), of("b"), state.cost().micro_usd())
    };
    assert_eq!(costs(""), (Some(0), Some(0), Some(0)));
    assert_eq!(costs("a=250 a=50 b=7"), (Some(300), Some(7), Some(307)));
    assert_eq!(costs("a=250 a=? b=7"), (None, Some(7), None));
}

#[test]
fn a_request_whose_end_nobody_saw_counts_as_its_maximum() {
    let cuts = |story: &str| {
        let cut = after(story)
            .cut_requests()
            .into_iter()
            .map(|event| match event {
                Event::ModelCut {
                    task, micro_usd, ..
                } => format!("{task}~{}", micro_usd.map_or(-1, u64::cast_signed)),
                other => format!("{other:?}"),
            });
        cut.collect::<Vec<_>>().join(" ")
    };
    let table = [
        ("", ""),
        ("a+600 b+7", "a~600 b~7"),
        ("a+?", "a~-1"),
        // Its end is known, or it is counted already.
        ("a+600 a=250", ""),
        ("a+600 a~50", ""),
        ("a+600 b?500", "a~600"),
        ("a=1 a/600 b/?", "a~600 b~-1"),
        ("a/600 a:250", ""),
    ];
    for (story, expected) in table {
        assert_eq!(cuts(story), expected, "{story}");
    }
    assert_eq!(
        after("a+600 * a~600 a+20 a=10").cost().micro_usd(),
        Some(610)
    );
    assert_eq!(
        after("a=1 a/600 * a~600 a/20 a:10 a:10").cost().micro_usd(),
        Some(611)
    );
    assert_eq!(
        after("a/20 a:10 a/20 a~20 a:10")
            .task(&"a".into())
            .unwrap()
            .usage()
            .input_tokens,
        7
    );
}

#[test]
fn a_budget_of_money_needs_the_cost_of_what_was_spent() {
    let decide = |story: &str, micro_usd| {
        let allowance = Allowance {
            micro_usd,
            ..Allowance::default()
        };
        after(story).decide_resumption(allowance).map(drop)
    };
    assert_eq!(decide("a=250", Some(5_000)), Ok(()));
    for unknown in ["a=?", "a+?", "a+9 a~?"] {
        assert_eq!(
            decide(unknown, Some(5_000)),
            Err(RequestRefused::UnknownCost),
            "{unknown}"
        );
        assert_eq!(decide(unknown, None), Ok(()), "{unknown}");
    }
}

#[test]
fn more_money_continues_what_the_cost_stopped() {
    let mut state = after("a=900 a! b=0 b!");
    let finished = finished(RunStatus::Limit, 4);
    let (run_id, seq) = (state.run_id.clone(), state.seq + 1);
    state
        .apply(&Recorded {
            run_id,
            seq,
            ts_ms: 99,
            v: VERSION,
            event: finished,
        })
        .unwrap();
    let offered = state.actions(&"a".into());
    assert_eq!(
        offered,
        [Action::Resume {
            more_tokens: false,
            more_money: true,
            more_time: false
        }]
    );
    let reopened = |allowance: Allowance| allowance.reopens(&state).len();
    assert_eq!(
        reopened(Allowance {
            micro_usd: Some(5_000),
            ..Allowance::default()
        }),
        2
    );
    assert_eq!(
        reopened(Allowance {
            tokens: Some(5_000),
            ..Allowance::default()
        }),
        0
    );
}

#[test]
fn the_limit_of_a_request_is_that_of_its_agent() {
    let limits = |state: &RunState| {
        ["a", "main_ralph_coordinator", "z"].map(|agent| state.token_limit(&agent.into()))
    };
    let state = after("");
    assert_eq!(limits(&state), [16_000, 1_000_000, 16_000]);

    let mut settings = RunSettings {
        context_tokens: 32_000,
        ..RunSettings::default()
    };
    settings.context_limits.insert("m".to_owned(), 8_000);
    let of_models = |task: &Task| {
        [None, Some("m"), Some("other")].map(|model| settings.token_limit_of(task, model))
    };
    assert_eq!(of_models(&Task::default()), [32_000, 8_000, 32_000]);
    let goal = Task {
        id: "g".into(),
        goal: true,
        ..Task::default()
    };
    assert_eq!(of_models(&goal), [1_000_000, 8_000, 1_000_000]);
    assert_eq!(
        limits(&told(settings, ["a", "b"], "")),
        [8_000, 1_000_000, 32_000]
    );

    // A task cannot get the context of the root by its name.
    let named = told(RunSettings::default(), ["a", "main_ralph_coordinator"], "");
    assert_eq!(limits(&named), [16_000, 16_000, 16_000]);
}

#[test]
fn the_agent_that_gets_the_goal_is_the_root() {
    let settings = RunSettings {
        root_context_tokens: 200_000,
        ..RunSettings::default()
    };
    let mut state = told(settings, ["a", "b"], "");
    let goal = Task {
        id: "fix_it".into(),
        goal: true,
        ..Task::default()
    };
    let part = Task {
        id: "part".into(),
        ..Task::default()
    };
    for (task, parent) in [(goal, None), (part, Some("fix_it"))] {
        let event = added(task, parent);
        let (run_id, seq) = (state.run_id.clone(), state.seq + 1);
        state
            .apply(&Recorded {
                run_id,
                seq,
                ts_ms: 99,
                v: VERSION,
                event,
            })
            .unwrap();
    }
    let limits =
        ["fix_it", "main_ralph_coordinator", "part"].map(|agent| state.token_limit(&agent.into()));
    assert_eq!(limits, [200_000, 200_000, 16_000]);
    assert_eq!(
        state.goal().map(|record| record.task.id.as_str()),
        Some("fix_it")
    );
}

/// What a tool computes that runs no program, such as a search, is no command's.
#[test]
fn only_commands_use_an_agents_processor_time() {
    let mut state = told(RunSettings::default(), ["a", "b"], "");
    for (call, processes) in [("build", 3), ("grep", 0), ("test", 1)] {
        let started = serde_json::json!({"type": "tool.started", "task": "a", "turn": 1, "call_id": call, "tool": "t",
            "arguments": null, "rule": ""});
        let finished = serde_json::json!({"type": "tool.finished", "task": "a", "turn": 1, "call_id": call, "tool": "t",
            "outcome": "ok", "result": "blob", "duration_ms": 1,
            "resource_usage": {"cpu_ms": 40, "processes": processes}});
        for event in [started, finished] {
            let (seq, event) = (state.seq + 1, serde_json::from_value(event).unwrap());
            state
                .apply(&Recorded {
                    run_id: "r-abcdef".into(),
                    seq,
                    ts_ms: seq,
                    v: VERSION,
                    event,
                })
                .unwrap();
        }
    }
    let of = |agent: &str| state.task(&TaskId::from(agent)).unwrap().command_cpu_ms();
    assert_eq!((of("a"), of("b")), (80, 0));
}
