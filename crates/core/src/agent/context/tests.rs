//! Tests of what is left out of a request, and of how its size is counted.

use super::*;
use crate::agent::conversation::{ModelRequest, Origin, RawBlocks};
use crate::ids::TaskId;

struct Words;

impl TokenCounter for Words {
    fn count(&self, text: &str) -> usize {
        text.split(' ').count()
    }

    fn is_exact(&self) -> bool {
        true
    }
}

fn steps_context() -> Context {
    let names = [
        ("todo_write", "todo_write"),
        ("todowrite", "todo_write"),
        ("react", "react"),
    ];
    Context::new(
        names
            .map(|(name, of)| (name.to_owned(), of.to_owned()))
            .into(),
    )
}

fn turn(n: usize, words: usize) -> [Message; 2] {
    let id = format!("c{n}").as_str().into();
    let call = ToolCall {
        id,
        name: "read_file".to_owned(),
        arguments: serde_json::json!({"path": n}),
    };
    let result = ToolResult {
        call_id: call.id.clone(),
        text: "word ".repeat(words),
        is_error: false,
    };
    [
        Message::Assistant {
            text: String::new(),
            tool_calls: vec![call],
            raw: None,
        },
        Message::Tool {
            results: vec![result],
        },
    ]
}

fn context(turns: usize, words: usize) -> Context {
    let mut context = steps_context();
    context.push(Message::User {
        text: "the task".to_owned(),
    });
    for n in 0..turns {
        for message in turn(n, words) {
            context.push(message);
        }
    }
    context
}

fn request(context: &Context) -> ModelRequest {
    ModelRequest {
        model: "script:x".to_owned(),
        system: "be good".to_owned(),
        tools: [].into(),
        messages: context.sent(),
        max_output_tokens: 10,
        origin: Origin {
            task: TaskId::from("T1"),
            turn: 1,
            returned: None,
        },
        answers: None,
    }
}

/// Returns the tokens of a request with these messages.
fn size(context: &Context) -> usize {
    let size = fixed() + context.tokens(&Words);
    assert_eq!(size, request_tokens(&request(context), &Words));
    size
}

fn fixed() -> usize {
    tokens_beside_messages("be good", &[], &Words)
}

fn sent_under(context: &Context, compaction: Compaction) -> Vec<Message> {
    let mut context = context.clone();
    context.compact(compaction);
    context.sent()
}

#[test]
fn a_request_fits_up_to_its_limit() {
    let size = size(&context(1, 10));
    assert_eq!(fit(size, size, &Words), Fit::Fits(size));
    assert_eq!(fit(size, size - 1, &Words), Fit::TooLarge(size));
}

#[test]
fn a_compacted_request_fits_and_keeps_calls_with_their_results() {
    for turns in 1..20 {
        let mut context = context(turns, 200);
        let bound = 1_500;
        if let Fit::TooLarge(_) = fit(size(&context), bound, &Words) {
            let decision = context.decide(fixed(), bound, &Words).unwrap();
            context.compact(decision);
        }
        let sent = request(&context);
        assert!(
            matches!(
                fit(request_tokens(&sent, &Words), bound, &Words),
                Fit::Fits(_)
            ),
            "{turns} turns"
        );
        for pair in sent.messages.windows(2) {
            let orphan = matches!(pair, [Message::User { .. }, Message::Tool { .. }]);
            assert!(!orphan, "{turns} turns: a result without its call");
        }
        assert!(
            matches!(sent.messages.first(), Some(Message::User { text }) if text.starts_with("the task"))
        );
    }
}

#[test]
fn old_results_are_collapsed_before_turns_are_left_out() {
    let mut context = context(8, 200);
    let decision = context.decide(fixed(), 1_500, &Words).unwrap();
    assert_eq!(decision.dropped, None);
    assert!(decision.collapsed.contains(&2), "{decision:?}");
    context.compact(decision);
    let sent = context.sent();
    let Some(Message::Tool { results }) = sent.get(2) else {
        panic!("{sent:#?}")
    };
    assert!(results[0].text.starts_with("[left out, "), "{results:?}");
    assert_eq!(sent.len(), context.transcript().len());
}

#[test]
fn the_list_of_steps_is_never_given_up() {
    let list = |n: usize, name: &str, text: &str, is_error: bool| {
        let id: CallId = format!("list {n}").as_str().into();
        let call = ToolCall {
            id: id.clone(),
            name: name.to_owned(),
            arguments: serde_json::json!({"items": []}),
        };
        let result = ToolResult {
            call_id: id,
            text: text.to_owned(),
            is_error,
        };
        [
            Message::Assistant {
                text: String::new(),
                tool_calls: vec![call],
                raw: None,
            },
            Message::Tool {
                results: vec![result],
            },
        ]
    };
    let mut context = context(2, 30);
    for written in [
        list(1, "todo_write", "[ ] first", false),
        list(2, "TodoWrite", "[~] second", false),
        list(3, "todo_write", "ERROR: third", true),
    ] {
        written
            .into_iter()
            .for_each(|message| context.push(message));
    }
    turn(9, 30)
        .into_iter()
        .for_each(|message| context.push(message));
    let told = |context: &Context, to: usize| {
        let compaction = Compaction {
            collapsed: Vec::new(),
            dropped: Some((1, to)),
        };
        let sent = serde_json::to_string(&sent_under(context, compaction)).unwrap();
        [
            "[ ] first",
            "[~] second",
            "The newest result of `todo_write`:",
        ]
        .map(|text| sent.matches(text).count())
    };
    // Where the newest list is still sent, it is not repeated; where it is left out, the note
    // contains it.
    assert_eq!(
        [told(&context, 5), told(&context, 7), told(&context, 11)],
        [[1, 1, 0], [0, 1, 0], [0, 1, 1]]
    );
}

#[test]
fn the_newest_result_of_each_tool_that_stays_in_view_is_kept() {
    let long = |word: &str| format!("{word} ").repeat(200);
    let mut context = context(0, 0);
    let mut push = |n: usize, name: &str, text: String| {
        let [mut call, mut result] = turn(n, 0);
        if let Message::Assistant { tool_calls, .. } = &mut call {
            name.clone_into(&mut tool_calls[0].name);
        }
        if let Message::Tool { results } = &mut result {
            results[0].text = text;
        }
        context.push(call);
        context.push(result);
    };
    push(1, "react", long("old"));
    push(2, "todo_write", long("steps"));
    push(3, "react", long("notes"));
    push(4, "grep", long("other"));
    let sent = |dropped| {
        let compaction = Compaction {
            collapsed: vec![2, 4, 6, 8],
            dropped,
        };
        let sent = serde_json::to_string(&sent_under(&context, compaction)).unwrap();
        ["old", "steps", "notes", "other"].map(|word| sent.contains(&format!("{word} {word}")))
    };
    assert_eq!(sent(None), [false, true, true, false]);
    assert_eq!(sent(Some((1, 7))), [false, true, true, false]);
}

/// Plays turns of an agent whose results have this many words; returns how often it had to compact.
fn compactions(turns: usize, words: usize, bound: usize) -> usize {
    let (mut context, mut count) = (context(0, 0), 0);
    for n in 0..turns {
        turn(n, words)
            .into_iter()
            .for_each(|message| context.push(message));
        if let Fit::TooLarge(_) = fit(size(&context), bound, &Words) {
            context.compact(context.decide(fixed(), bound, &Words).unwrap());
            count += 1;
        }
    }
    count
}

#[test]
fn compactions_stay_some_turns_apart_however_long_an_agent_works() {
    let (turns, bound) = (100, 3_000);
    // Results too short to be collapsed, some of which collapsing shortens a little, and large
    // ones.
    for words in [20, 100, 200] {
        let of_turn = request_tokens(&request(&context(1, words)), &Words) - PROTOCOL_MARGIN;
        let apart = bound * FREED_PERCENT / 100 / of_turn;
        let count = compactions(turns, words, bound);
        assert!(
            apart >= 1 && count <= turns / apart,
            "{count} compactions in {turns} turns of {words} words"
        );
    }
}

#[test]
fn a_newest_turn_that_is_too_large_is_reduced() {
    let large = "word ".repeat(900);
    let call = |n: usize, arguments| ToolCall {
        id: format!("c{n}").as_str().into(),
        name: "tool".to_owned(),
        arguments,
    };
    for calls in [1, 3, 8] {
        for (argument, text) in [
            ("small", large.as_str()),
            (&large, "done"),
            (&large, &large),
        ] {
            let mut context = context(3, 200);
            let ids = 100..100 + calls;
            let tool_calls: Vec<ToolCall> = ids
                .map(|n| call(n, serde_json::json!({"path": "p", "content": argument})))
                .collect();
            let answer = |call: &ToolCall| ToolResult {
                call_id: call.id.clone(),
                text: text.to_owned(),
                is_error: false,
            };
            let results = tool_calls.iter().map(answer).collect();
            context.push(Message::Assistant {
                text: String::new(),
                tool_calls,
                raw: None,
            });
            context.push(Message::Tool { results });
            if let Fit::TooLarge(_) = fit(size(&context), 1_000, &Words) {
                context.compact(context.decide(fixed(), 1_000, &Words).unwrap());
            }
            let sent = request(&context);
            assert!(
                matches!(
                    fit(request_tokens(&sent, &Words), 1_000, &Words),
                    Fit::Fits(_)
                ),
                "{calls} calls: {sent:#?}"
            );
            let Some(Message::Tool { results }) = sent.messages.last() else {
                panic!("{sent:#?}")
            };
            assert_eq!(results.len(), calls);
        }
    }
}

#[test]
fn long_texts_within_arguments_are_reduced_but_no_steps() {
    let large = "word ".repeat(900);
    let items =
        serde_json::json!({"items": [{"content": large}, {"content": "short", "times": 2}]});
    let context = steps_context();
    let left = |name: &str| {
        let call = ToolCall {
            id: "c1".into(),
            name: name.to_owned(),
            arguments: items.clone(),
        };
        context.collapse_call(&call).arguments
    };
    let stub = "[left out, 1 lines: the call was made with the full text]";
    let reduced =
        serde_json::json!({"items": [{"content": stub}, {"content": "short", "times": 2}]});
    assert_eq!(
        [left("edit_files"), left("todo_write"), left("TodoWrite")],
        [reduced, items.clone(), items.clone()]
    );
}

#[test]
fn arguments_that_are_large_otherwise_are_left_out() {
    let names: Value = (0..5_000)
        .map(|n| (format!("name {n}"), Value::from(n)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    for arguments in [
        names,
        serde_json::json!({"items": vec![7; 9_000]}),
        serde_json::json!({"n".repeat(9_000): 1}),
    ] {
        let call = ToolCall {
            id: "c1".into(),
            name: "edit_files".to_owned(),
            arguments,
        };
        let left = Context::default()
            .collapse_call(&call)
            .arguments
            .to_string();
        assert!(left.len() < 100 && left.contains("left_out"), "{left}");
    }
}

#[test]
fn nothing_is_decided_when_the_task_alone_is_too_large() {
    let mut context = steps_context();
    context.push(Message::User {
        text: "word ".repeat(5_000),
    });
    turn(1, 10)
        .into_iter()
        .for_each(|message| context.push(message));
    assert_eq!(context.decide(fixed(), 1_000, &Words), None);
}

#[test]
fn a_byte_bound_never_says_too_large() {
    let context = context(3, 5_000);
    assert_eq!(
        fit(
            request_tokens(&request(&context), &ByteBound),
            1_000,
            &ByteBound
        ),
        Fit::Unknown
    );
}

/// Counts words, and keeps the texts that it was asked about.
#[derive(Default)]
struct Watched(std::sync::Mutex<Vec<String>>);

impl TokenCounter for Watched {
    fn count(&self, text: &str) -> usize {
        self.0.lock().unwrap().push(text.to_owned());
        Words.count(text)
    }

    fn is_exact(&self) -> bool {
        true
    }
}

impl Watched {
    /// Returns the number of texts that it was asked about since it was asked this.
    fn take(&self) -> usize {
        std::mem::take(&mut *self.0.lock().unwrap()).len()
    }
}

#[test]
fn a_message_is_counted_once_however_often_it_is_sent() {
    let (mut context, watched, bound) = (context(0, 0), Watched::default(), 3_000);
    let (mut compactions, mut dropped) = (0, 0);
    for n in 0..120 {
        context.tokens(&watched);
        watched.take();
        turn(n, 100)
            .into_iter()
            .for_each(|message| context.push(message));
        if let Fit::TooLarge(_) = fit(size(&context), bound, &Words) {
            let decision = context.decide(fixed(), bound, &watched).unwrap();
            dropped += usize::from(decision.dropped.is_some());
            context.compact(decision);
            compactions += 1;
            context.tokens(&watched);
            watched.take();
        }
        // The new turn's messages, unless the decision has counted them already.
        context.tokens(&watched);
        assert!(watched.take() <= 2, "turn {n}");
        context.tokens(&watched);
        assert_eq!(watched.take(), 0, "turn {n}");
        // A copy knows what its original has counted, except of what stands for other messages.
        context.clone().tokens(&watched);
        assert!(watched.take() <= 1, "turn {n}");
    }
    assert!(compactions > 5 && dropped > 1, "{compactions} {dropped}");
}

#[test]
fn a_reply_counts_as_the_larger_of_the_two_forms_in_which_it_may_be_sent() {
    let text = "word ".repeat(100);
    let tokens = |raw: Option<RawBlocks>| {
        message_tokens(
            &Message::Assistant {
                text: text.clone(),
                tool_calls: Vec::new(),
                raw,
            },
            &Words,
        )
    };
    let blocks = |blocks| {
        Some(RawBlocks {
            model: "anthropic/m".to_owned(),
            blocks,
        })
    };
    let repeated = serde_json::json!({"type": "text", "text": text});
    let thought =
        serde_json::json!({"type": "thinking", "thinking": "word ".repeat(30), "signature": "s"});
    assert_eq!(tokens(None), 101);
    assert_eq!(tokens(blocks(vec![repeated.clone()])), 101);
    assert_eq!(tokens(blocks(vec![thought.clone(), repeated])), 131);
    // A model that takes over gets the text without the blocks.
    assert_eq!(tokens(blocks(vec![thought])), 101);
}

#[test]
fn a_message_that_grows_is_counted_again_and_a_bound_is_not_kept() {
    let mut context = context(1, 5);
    context.push(Message::User {
        text: "one".to_owned(),
    });
    let bound = context.tokens(&ByteBound);
    let one = size(&context) - fixed();
    assert!(one < bound);
    context.push(Message::User {
        text: "two more words".to_owned(),
    });
    assert_eq!(
        size(&context) - fixed(),
        one + "two more words".split(' ').count() - 1
    );
    assert!(context.tokens(&ByteBound) > bound);
}

#[test]
fn the_list_of_what_is_collapsed_does_not_grow_with_the_transcript() {
    let (mut context, bound) = (context(0, 0), 3_000);
    let mut longest = 0;
    for n in 0..300 {
        turn(n, 100)
            .into_iter()
            .for_each(|message| context.push(message));
        if let Fit::TooLarge(_) = fit(size(&context), bound, &Words) {
            let decision = context.decide(fixed(), bound, &Words).unwrap();
            longest = longest.max(decision.collapsed.len());
            context.compact(decision);
        }
    }
    assert!((1..60).contains(&longest), "{longest}");
}
