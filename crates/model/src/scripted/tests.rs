use orchestrate_core::TaskId;
use orchestrate_core::agent::conversation::{Origin, ToolResult};

use super::*;

const NAME: &str = "script:demo.jsonl";

fn request(task: &str, turn: u32, last: Message) -> ModelRequest {
    ModelRequest {
        model: NAME.to_owned(),
        system: "s".repeat(40),
        tools: [].into(),
        messages: vec![last],
        max_output_tokens: 100,
        origin: Origin {
            task: TaskId::new(task),
            turn,
            returned: None,
        },
        answers: None,
    }
}

fn user(text: &str) -> Message {
    Message::User {
        text: text.to_owned(),
    }
}

fn ask(model: &ScriptedModel, request: &ModelRequest) -> Result<ModelReply, ModelError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(model.complete(request, &mut |_| {}))
}

fn reply(text: &str, rule: usize) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        tool_calls: Vec::new(),
        stop: StopReason::EndTurn,
        usage: Usage {
            input_tokens: 11,
            cached_tokens: 0,
            output_tokens: text.len().div_ceil(4) as u64,
        },
        raw: Some(RawBlocks {
            model: NAME.to_owned(),
            blocks: vec![json!({"rule": rule})],
        }),
    }
}

#[test]
fn the_first_rule_that_fits_answers() {
    let script = concat!(
        r#"{"task": "T1", "when": {"turn": 2, "last_contains": "FAILED"}, "reply": {"text": "repair"}}"#,
        "\n\r\n",
        r#"{"task": "T1", "when": {"turn": 2}, "reply": {"text": "go on"}}"#,
        "\n",
        r#"{"when": {"last_contains": "FAILED"}, "reply": {"text": "any"}}"#,
    );
    let model = ScriptedModel::parse(NAME, script).unwrap();
    let results = vec![
        ToolResult {
            call_id: "a".into(),
            text: "1 FAILED".into(),
            is_error: true,
        },
        ToolResult {
            call_id: "b".into(),
            text: "fine".into(),
            is_error: false,
        },
    ];
    assert_eq!(
        ask(&model, &request("T1", 2, user("it"))).unwrap(),
        reply("go on", 2)
    );
    let repaired = ask(&model, &request("T1", 2, Message::Tool { results })).unwrap();
    assert_eq!(
        repaired,
        ModelReply {
            usage: Usage {
                input_tokens: 13,
                ..repaired.usage
            },
            ..reply("repair", 1)
        }
    );
    let any = ask(&model, &request("T9", 7, user("FAILED"))).unwrap();
    assert_eq!(
        any,
        ModelReply {
            usage: Usage {
                input_tokens: 12,
                ..any.usage
            },
            ..reply("any", 3)
        }
    );
    assert_eq!(
        ask(&model, &request("T9", 7, user("fine")))
            .unwrap_err()
            .to_string(),
        "answer turn 7 of task T9: no rule of script:demo.jsonl matches; add one, or raise the `times` of one that did"
    );
}

#[test]
fn a_rule_names_the_cause_of_a_return_and_no_words_of_it() {
    let script = concat!(
        r#"{"when": {"returned": "conflict"}, "reply": {"text": "resolve"}}"#,
        "\n",
        r#"{"when": {"returned": "task_check", "turn": 3}, "reply": {"text": "mend"}}"#,
        "\n",
        r#"{"reply": {"text": "go on"}}"#,
    );
    let model = ScriptedModel::parse(NAME, script).unwrap();
    let after = |returned, turn| {
        let request = request("T1", turn, user("any words, a conflict among them"));
        let request = ModelRequest {
            origin: Origin {
                returned,
                ..request.origin.clone()
            },
            ..request
        };
        ask(&model, &request).unwrap().text
    };
    assert_eq!(after(Some(ReturnCause::Conflict), 2), "resolve");
    assert_eq!(after(Some(ReturnCause::TaskCheck), 3), "mend");
    assert_eq!(after(Some(ReturnCause::TaskCheck), 2), "go on");
    assert_eq!(after(Some(ReturnCause::RunCheck), 3), "go on");
    assert_eq!(after(None, 3), "go on");
}

#[test]
fn times_counts_over_agents_and_over_a_resume() {
    let script =
        "{\"reply\": {\"text\": \"once\"}, \"times\": 1}\n{\"reply\": {\"text\": \"then\"}}";
    let model = ScriptedModel::parse(NAME, script).unwrap();
    let first = ask(&model, &request("T1", 1, user("it"))).unwrap();
    assert_eq!(first, reply("once", 1));
    assert_eq!(
        ask(&model, &request("T2", 1, user("it"))).unwrap(),
        reply("then", 2)
    );

    let resumed = ScriptedModel::parse(NAME, script).unwrap().resume([&first]);
    assert_eq!(
        ask(&resumed, &request("T1", 2, user("it"))).unwrap(),
        reply("then", 2)
    );

    let mut foreign = first;
    foreign.raw = Some(RawBlocks {
        model: "script:other.jsonl".into(),
        blocks: vec![json!({"rule": 1})],
    });
    let fresh = ScriptedModel::parse(NAME, script)
        .unwrap()
        .resume([&foreign]);
    assert_eq!(
        ask(&fresh, &request("T1", 2, user("it"))).unwrap(),
        reply("once", 1)
    );
}

#[test]
fn calls_get_ids_and_given_usage_is_kept() {
    let script = concat!(
        r#"{"reply": {"text": "", "tool_calls": [{"name": "grep", "arguments": {"pattern": "x"}}, {"name": "git_status"}], "#,
        r#""usage": {"input_tokens": 5, "cached_tokens": 3, "output_tokens": 2}}}"#
    );
    let model = ScriptedModel::parse(NAME, script)
        .unwrap()
        .paced(Duration::from_millis(50));
    let expected = ModelReply {
        text: String::new(),
        tool_calls: vec![
            ToolCall {
                id: "call_3_1".into(),
                name: "grep".into(),
                arguments: json!({"pattern": "x"}),
            },
            ToolCall {
                id: "call_3_2".into(),
                name: "git_status".into(),
                arguments: json!({}),
            },
        ],
        stop: StopReason::ToolCalls,
        usage: Usage {
            input_tokens: 5,
            cached_tokens: 3,
            output_tokens: 2,
        },
        raw: Some(RawBlocks {
            model: NAME.to_owned(),
            blocks: vec![json!({"rule": 1})],
        }),
    };
    assert_eq!(
        ask(&model, &request("T1", 3, user("it"))).unwrap(),
        expected
    );
}

#[test]
fn a_bad_line_is_named() {
    let good = r#"{"reply": {"text": "x"}}"#;
    for (line, problem) in [
        ("{", "EOF while parsing an object, at column 1"),
        (
            r#"{"reply": {"text": "x"}, "tims": 1}"#,
            "unknown field `tims`, expected one of `task`, `when`, `reply`, `times`, at column 31",
        ),
        (
            r#"{"reply": {"text": "x"}, "times": 0}"#,
            "`times` is 0, so the rule never matches; remove the rule, or `times` for no limit",
        ),
        (
            r#"{"reply": {}}"#,
            "`reply` has neither `text` nor `tool_calls`",
        ),
        (
            r#"{"reply": {"tool_calls": [{"name": ""}]}}"#,
            "a tool call has an empty `name` (arguments {})",
        ),
        (
            r#"{"when": {"returned": "clash"}, "reply": {"text": "x"}}"#,
            "unknown variant `clash`, expected one of `conflict`, `task_check`, `run_check`, `deletions`, `unstorable`, \
             `changes_requested`, `claims`, `no_verdict`, `invalid_plan`, `invalid_answer`, `hook`, `new_work`, \
             `children_ended`, `rejected`, `retried`, `rest`, at column 29",
        ),
        (r#"{"task": "T1"}"#, "missing field `reply`, at column 14"),
    ] {
        let error = ScriptedModel::parse(NAME, &format!("{good}\n\n{line}\n")).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("load the script demo.jsonl, line 3: {problem}")
        );
    }
    assert_eq!(
        ScriptedModel::parse(NAME, "\n").unwrap_err().to_string(),
        "load the script demo.jsonl: has no rules"
    );
}

#[test]
fn a_missing_file_is_named() {
    let error = ScriptedModel::load(Path::new("absent/script.jsonl"))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "load the script absent/script.jsonl: cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn the_script_of_the_book_answers() {
    let page = include_str!("../../../../docs/scripts.md");
    let script = page
        .split_once("```jsonl\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .unwrap()
        .0;
    let model = ScriptedModel::parse(NAME, script).unwrap();
    let wrong = ask(&model, &request("T1", 1, user("Write a greeting"))).unwrap();
    assert_eq!(
        wrong.tool_calls[0].arguments,
        json!({"path": "hi.txt", "content": "Helo\n"})
    );
    let mut returned = request("T1", 3, user("FAILED"));
    returned.origin.returned = Some(ReturnCause::TaskCheck);
    let right = ask(&model, &returned).unwrap();
    assert_eq!(
        right.tool_calls[0].arguments,
        json!({"path": "hi.txt", "content": "Hello\n"})
    );
    assert_eq!(
        ask(&model, &request("T1", 4, user("written")))
            .unwrap()
            .text,
        "The greeting is written."
    );
}
