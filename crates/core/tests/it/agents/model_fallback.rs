//! A model that takes over works on the attempt, and a request that waits for any model stays one
//! outage.

use orchestrate_core::agent::budget::Reservation;
use orchestrate_core::event::Event;
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{
    AgentFact, AgentLoop, AgentSpec, BlobId, ByteBound, Fallback, ModelReply, Oid, RequestHash,
    RequestParts, RunSettings, RunState, SameAgain, Step, StopReason, TaskId, ToolAnswer, ToolCall,
    Usage,
};

use crate::facts::{ready, replayed, resumed, returned, started, task};

fn a() -> TaskId {
    TaskId::from("a")
}

/// Returns the events of a story such as `requested:1 switched:1:b waiting:1`.
fn events(story: &str) -> Vec<Event> {
    let error = "get an answer".to_owned();
    let event = |word: &str| {
        let mut parts = word.split(':');
        let what = parts.next().unwrap();
        let turn = parts.next().map_or(1, |turn| turn.parse().unwrap());
        match what {
            "spawned" => Event::AgentSpawned {
                task: a(),
                attempt: turn,
                agent: Some("implementer".to_owned()),
                model: Some("first".to_owned()),
                branch: "orchestrate/r-abcdef/a".to_owned(),
                base: Oid::from("base"),
                spec: None,
                sends: None,
            },
            "requested" => Event::ModelRequested {
                task: a(),
                turn,
                model: "any".to_owned(),
                request: RequestHash::from("request"),
                parts: RequestParts::anew(
                    "system".into(),
                    "tools".into(),
                    vec!["message".into()],
                    100,
                ),
                reserved_tokens: 5_000,
                reserved_micro_usd: None,
            },
            "replied" => {
                let (reply, usage, stop) =
                    (BlobId::from("reply"), Usage::default(), StopReason::EndTurn);
                Event::ModelReplied {
                    task: a(),
                    turn,
                    reply,
                    usage,
                    micro_usd: None,
                    stop,
                }
            }
            "rejected" => Event::ModelRejected {
                task: a(),
                turn,
                endpoint: "http://e/v1".to_owned(),
                error: error.clone(),
            },
            "waiting" => Event::ModelWaiting {
                task: a(),
                turn,
                error: error.clone(),
            },
            "switched" => {
                let to = parts.next().unwrap().to_owned();
                Event::ModelSwitched {
                    task: a(),
                    turn,
                    from: "before".to_owned(),
                    to,
                    error: error.clone(),
                }
            }
            "slept" => Event::MachineSlept { slept_ms: 7 },
            "resumed" => resumed(),
            _ => returned(a(), ReturnCause::Rejected),
        }
    };
    story.split_whitespace().map(event).collect()
}

fn after(story: &str) -> RunState {
    let started = started(RunSettings {
        budget_tokens: Some(10_000),
        ..RunSettings::default()
    });
    let begun = [started, Event::planned(task("a", &[])), ready(a())];
    replayed(begun.into_iter().chain(events(story)))
}

#[test]
fn the_model_that_took_over_stays_until_the_attempt_ends() {
    let model = |story: &str| {
        let state = after(story);
        let record = state.task(&a()).unwrap();
        let by = record.take_over().map(|by| (by.model.clone(), by.turn));
        assert!(
            by.as_ref()
                .is_none_or(|(model, _)| record.model() == Some(model)),
            "{story}"
        );
        by
    };
    assert_eq!(model("spawned:1 requested:1"), None);
    assert_eq!(
        model("spawned:1 requested:1 switched:1:b"),
        Some(("b".to_owned(), 1))
    );
    let used = "spawned:1 requested:1 switched:1:b requested:1 replied:1 requested:2 replied:2";
    assert_eq!(model(used), Some(("b".to_owned(), 1)));
    assert_eq!(
        model(&format!("{used} switched:3:c")),
        Some(("c".to_owned(), 3))
    );
    assert_eq!(model(&format!("{used} returned spawned:2")), None);
}

#[test]
fn a_model_that_is_left_gives_its_reservation_back() {
    let other = |story: &str| {
        let mut state = after(story);
        state.budget.add("b".into(), None, None);
        state.budget.ask(&"b".into(), 5_000)
    };
    assert_eq!(other("spawned:1 requested:1"), Reservation::Waits);
    assert_eq!(
        other("spawned:1 requested:1 switched:1:b"),
        Reservation::Fits
    );
    assert_eq!(other("spawned:1 requested:1 rejected:1"), Reservation::Fits);
}

#[test]
fn an_outage_lasts_until_the_reply_however_many_models_are_asked() {
    let since = |story: &str| {
        after(story)
            .task(&a())
            .unwrap()
            .outage()
            .map(|outage| outage.since_ms)
    };
    let out = "spawned:1 requested:1 switched:1:b requested:1 waiting:1";
    assert_eq!(since(out), Some(8_000));
    assert_eq!(
        since(&format!("{out} switched:1:first requested:1")),
        Some(8_000)
    );
    assert_eq!(
        since(&format!("{out} switched:1:first requested:1 replied:1")),
        None
    );
    assert_eq!(since(&format!("{out} requested:2")), None);
    assert_eq!(since(&format!("{out} rejected:1")), None);
    assert_eq!(since(&format!("{out} resumed requested:1")), None);
}

fn agent() -> AgentLoop {
    let spec = AgentSpec {
        task: a(),
        model: "first".to_owned(),
        fallbacks: vec![Fallback {
            model: "small".to_owned(),
            context_tokens: 3_000,
        }],
        system: "system".to_owned(),
        tools: [].into(),
        instruction: "do it".to_owned(),
        context_tokens: 16_000,
        max_output_tokens: 100,
        max_turns: 30,
        answers: None,
        refuses_repeats: true,
    };
    AgentLoop::new(spec, &ToolNames::default())
}

/// Returns the facts of a turn whose only call has a long result.
fn turn(id: &str) -> [AgentFact; 2] {
    let call = ToolCall {
        id: id.into(),
        name: "read_file".to_owned(),
        arguments: serde_json::json!({"path": id}),
    };
    let (text, stop, usage) = (String::new(), StopReason::ToolCalls, Usage::default());
    let reply = ModelReply {
        text,
        tool_calls: vec![call],
        stop,
        usage,
        raw: None,
    };
    let answer = ToolAnswer {
        call_id: id.into(),
        text: "x".repeat(1_000),
        note: String::new(),
        is_error: false,
        same_again: SameAgain::Repeats,
    };
    [
        AgentFact::Replied { reply },
        AgentFact::ToolEnded { answer },
    ]
}

/// A counter for which each byte is a token.
struct Bytes;

impl orchestrate_core::TokenCounter for Bytes {
    fn count(&self, text: &str) -> usize {
        text.len()
    }

    fn is_exact(&self) -> bool {
        true
    }
}

#[test]
fn the_smaller_context_of_a_fall_back_holds_while_it_is_used() {
    let mut agent = agent();
    let asked = |agent: &AgentLoop| match agent.next_step(&Bytes) {
        Step::CallModel(request) => Some((request.model.clone(), request.messages.len())),
        _ => None,
    };
    for fact in ["a", "b", "c"].iter().flat_map(|id| turn(id)) {
        agent.apply(fact).unwrap();
    }
    assert_eq!(asked(&agent), Some(("first".to_owned(), 7)));
    agent
        .apply(AgentFact::ModelSwitched {
            model: "small".to_owned(),
        })
        .unwrap();
    let Step::Compact(compaction) = agent.next_step(&Bytes) else {
        panic!("{:?}", agent.next_step(&Bytes))
    };
    agent.apply(AgentFact::Compacted { compaction }).unwrap();
    let (model, messages) = asked(&agent).unwrap();
    assert!(model == "small" && messages < 7, "{model} {messages}");
    // It is used for later requests, too, and a new attempt starts with the first model again.
    turn("d")
        .into_iter()
        .for_each(|fact| agent.apply(fact).unwrap());
    assert_eq!(agent.model_in_use(), 1);
    agent.apply(AgentFact::AttemptStarted).unwrap();
    assert_eq!((agent.model_in_use(), agent.context_tokens()), (0, 16_000));
}

#[test]
fn only_a_model_of_the_agent_takes_over_and_only_between_turns() {
    let switched = |model: &str| AgentFact::ModelSwitched {
        model: model.to_owned(),
    };
    assert!(agent().apply(switched("other")).is_err());
    let mut working = agent();
    let [reply, result] = turn("a");
    working.apply(reply).unwrap();
    assert!(working.apply(switched("small")).is_err());
    working.apply(result).unwrap();
    working.apply(switched("small")).unwrap();
    assert!(
        matches!(working.next_step(&ByteBound), Step::CallModel(request) if request.model == "small")
    );
}

/// Each event comes a second after the one before it.
#[test]
fn the_time_of_an_outage_does_not_count() {
    let worked = |story: &str| after(&format!("spawned requested {story}")).worked_ms();
    assert_eq!(
        (
            worked(""),
            worked("waiting"),
            worked("waiting replied:1 requested:2")
        ),
        (4_000, 5_000, 6_000)
    );
    assert_eq!(worked("waiting switched:1:b requested:1 replied:1"), 5_000);
    // Nor does a sleep count twice.
    assert_eq!(
        (worked("slept"), worked("waiting slept replied:1")),
        (4_993, 5_000)
    );
}

/// The time that does not count as work is not lost, but neither is it that of a sleep.
#[test]
fn the_time_of_an_outage_is_counted_by_itself() {
    let waited = |story: &str| after(&format!("spawned requested {story}")).waited_ms;
    assert_eq!(
        (
            waited(""),
            waited("waiting"),
            waited("waiting replied:1 requested:2")
        ),
        (0, 0, 1_000)
    );
    assert_eq!(
        (
            waited("slept"),
            waited("waiting switched:1:b requested:1 replied:1")
        ),
        (0, 3_000)
    );
}
