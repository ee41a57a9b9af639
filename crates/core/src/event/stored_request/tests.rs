//! Tests that requests are derived from their recorded parts exactly, whatever an agent's context
//! goes through.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Value, json};

use super::*;
use crate::agent::context::{Compaction, Context};
use crate::agent::conversation::{Message, RawBlocks, ToolCall, ToolResult, ToolSpec};
use crate::event::VERSION;
use crate::task::ReturnCause;

/// What happens to an agent's context between, and with, its requests.
#[derive(Clone, Debug)]
enum Act {
    Say(String),
    /// A turn with these calls, whose results have this many lines.
    Turn(Vec<Value>, usize),
    Compact(Vec<usize>, Option<(usize, usize)>),
    Request,
    /// The system text or the tools change.
    Change(u8),
    /// The process dies; another one reads the recorded facts.
    Die,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("line\n\"quoted\" \\ \u{7f} \u{2028} é 🦀".to_owned()),
        "[ -~]{0,12}"
    ]
}

fn argument() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<f64>().prop_map(|number| json!({"at": number})),
        any::<u64>().prop_map(|number| json!({"z": number, "a": [null, -0.0, 1e300]})),
        text().prop_map(Value::from),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let span = prop::option::of((1_usize..3, 2_usize..12));
    prop_oneof![
        2 => text().prop_map(Act::Say),
        4 => (prop::collection::vec(argument(), 1..3), 0_usize..60).prop_map(|(calls, lines)| Act::Turn(calls, lines)),
        1 => (prop::collection::vec(0_usize..16, 0..6), span).prop_map(|(collapsed, span)| Act::Compact(collapsed, span)),
        6 => Just(Act::Request),
        1 => any::<u8>().prop_map(Act::Change),
        1 => Just(Act::Die),
    ]
}

fn turn(number: usize, calls: &[Value], lines: usize) -> [Message; 2] {
    let call = |(at, arguments): (usize, &Value)| ToolCall {
        id: format!("c{number}.{at}").as_str().into(),
        name: ["todo_write", "grep"][at % 2].to_owned(),
        arguments: arguments.clone(),
    };
    let tool_calls: Vec<ToolCall> = calls.iter().enumerate().map(call).collect();
    let result = |call: &ToolCall| ToolResult {
        call_id: call.id.clone(),
        text: format!("{} a line\n", call.id).repeat(lines),
        is_error: lines == 7,
    };
    let results = tool_calls.iter().map(result).collect();
    let raw = lines.is_multiple_of(2).then(|| RawBlocks {
        model: "a/m".to_owned(),
        blocks: calls.to_vec(),
    });
    [
        Message::Assistant {
            text: "so".to_owned(),
            tool_calls,
            raw,
        },
        Message::Tool { results },
    ]
}

/// An agent with its context, and a journal of its requests.
struct Agent {
    context: Context,
    turns: usize,
    system: String,
    tools: Arc<[ToolSpec]>,
    chain: RequestChain,
    facts: Vec<Recorded>,
    blobs: BTreeMap<BlobId, Vec<u8>>,
    sent: Vec<Vec<u8>>,
}

impl Agent {
    fn new() -> Self {
        let mut context = Context::new([("todo_write".to_owned(), "todo_write".to_owned())].into());
        context.push(Message::User {
            text: "the task".to_owned(),
        });
        let (system, tools) = ("be good".to_owned(), Arc::default());
        let (chain, blobs) = (RequestChain::default(), BTreeMap::new());
        Self {
            context,
            turns: 0,
            system,
            tools,
            chain,
            facts: Vec::new(),
            blobs,
            sent: Vec::new(),
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Say(text) => self.context.push(Message::User { text }),
            Act::Turn(calls, lines) => {
                self.turns += 1;
                turn(self.turns, &calls, lines)
                    .into_iter()
                    .for_each(|message| self.context.push(message));
            }
            Act::Compact(collapsed, dropped) => {
                self.context.compact(Compaction { collapsed, dropped })
            }
            Act::Request => self.request(),
            Act::Change(kind) if kind.is_multiple_of(2) => {
                self.system = format!("be good {kind} \"\n")
            }
            Act::Change(kind) => {
                let parameters = json!({"type": "object", "maximum": f64::from(kind) / 3.0});
                self.tools = [ToolSpec {
                    name: "grep".to_owned(),
                    description: String::new(),
                    parameters,
                }]
                .into();
            }
            Act::Die => {
                self.chain = RequestChain::default();
                for fact in &self.facts {
                    let Event::ModelRequested { parts, .. } = &fact.event else {
                        panic!("{fact:?}")
                    };
                    self.chain.follow(fact.seq, parts).unwrap();
                }
            }
        }
    }

    fn request(&mut self) {
        let turn = u32::try_from(self.turns).unwrap() + 1;
        let returned = self
            .turns
            .is_multiple_of(3)
            .then_some(ReturnCause::RunCheck);
        let request = ModelRequest {
            model: "a/\"m\"".to_owned(),
            system: self.system.clone(),
            tools: self.tools.clone(),
            messages: self.context.sent(),
            max_output_tokens: 10,
            origin: Origin {
                task: "T1".into(),
                turn,
                returned,
            },
            answers: self
                .turns
                .is_multiple_of(2)
                .then(|| json!({"type": "string"})),
        };
        let DividedRequest { hash, parts, new } = self.chain.divide(&request).unwrap();
        // Other facts come in between.
        let seq = self.facts.last().map_or(3, |fact| fact.seq + 5);
        self.chain.follow(seq, &parts).unwrap();
        for part in new {
            self.blobs.insert(part.id.clone(), part.into_bytes());
        }
        let (task, model) = ("T1".into(), request.model.clone());
        let (reserved_tokens, reserved_micro_usd) = (1, None);
        let event = Event::ModelRequested {
            task,
            turn,
            model,
            request: hash,
            parts,
            reserved_tokens,
            reserved_micro_usd,
        };
        // As it is written and read.
        let event = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        self.facts.push(Recorded {
            run_id: "r-abcdef".into(),
            seq,
            ts_ms: 0,
            v: VERSION,
            event,
        });
        self.sent.push(serde_json::to_vec(&request).unwrap());
    }

    fn derived(&self) -> Result<Vec<Vec<u8>>, Underivable> {
        let mut chain = RequestChain::default();
        let stored = |id: &BlobId| {
            self.blobs
                .get(id)
                .unwrap_or_else(|| panic!("{id} is not stored"))
                .clone()
        };
        let mut read = |id: &BlobId| Ok::<_, Underivable>(stored(id));
        self.facts
            .iter()
            .map(|fact| Ok(chain.derive(fact, &mut read)?.unwrap()))
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_a_context_its_requests_are_derived_exactly(acts in prop::collection::vec(act(), 0..60)) {
        let mut agent = Agent::new();
        for act in acts {
            agent.act(act);
        }
        assert_eq!(agent.derived().unwrap(), agent.sent);
    }
}

fn parts_of(fact: &Recorded) -> &RequestParts {
    match &fact.event {
        Event::ModelRequested { parts, .. } => parts,
        event => panic!("{event:?}"),
    }
}

#[test]
fn a_turn_names_what_it_adds_and_a_compaction_what_it_replaces() {
    let mut agent = Agent::new();
    let turn = || Act::Turn(vec![json!("x")], 50);
    agent.act(Act::Request);
    for _ in 0..5 {
        agent.act(turn());
        agent.act(Act::Request);
    }
    agent.act(Act::Compact(vec![4], None));
    agent.act(Act::Request);
    // The same request once more, as after an outage.
    agent.act(Act::Request);
    // The first two turns are left out.
    agent.act(Act::Compact(Vec::new(), Some((1, 5))));
    agent.act(Act::Request);
    let extents: Vec<_> = agent
        .facts
        .iter()
        .map(|fact| {
            let RequestParts {
                after,
                keep_first,
                add,
                keep_last,
                ..
            } = parts_of(fact);
            (fact.seq, *after, *keep_first, add.len(), *keep_last)
        })
        .collect();
    let expected = [
        (3, None, 0, 1, 0),
        (8, Some(3), 1, 2, 0),
        (13, Some(8), 3, 2, 0),
        (18, Some(13), 5, 2, 0),
        (23, Some(18), 7, 2, 0),
        (28, Some(23), 9, 2, 0),
        (33, Some(28), 4, 1, 6),
        (38, Some(33), 11, 0, 0),
        (43, Some(38), 0, 1, 6),
    ];
    assert_eq!(extents, expected);
}

#[test]
fn bytes_that_are_not_those_that_were_sent_are_refused() {
    let mut agent = Agent::new();
    agent.act(Act::Request);
    let id = parts_of(&agent.facts[0]).add[0].clone();
    agent
        .blobs
        .insert(id, br#"{"role":"user","text":"another task"}"#.to_vec());
    assert!(matches!(agent.derived(), Err(Underivable::OtherHash)));
}
