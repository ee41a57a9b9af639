use proptest::prelude::*;
use serde_json::json;

use super::*;

fn fact(run: &str, seq: u64, event: &Value) -> Recorded {
    let event = serde_json::from_value(event.clone()).unwrap();
    Recorded {
        run_id: run.into(),
        seq,
        ts_ms: 1_738_034_567_000 + seq,
        v: 1,
        event,
    }
}

fn started(call: &str) -> Value {
    json!({"type": "tool.started", "task": "T1", "turn": 2, "call_id": call, "tool": "read_file",
           "arguments": {"path": format!("{call}.txt")}, "rule": "builtin:files"})
}

fn finished(call: &str) -> Value {
    json!({"type": "tool.finished", "task": "T1", "turn": 2, "call_id": call, "tool": "read_file", "outcome": "ok",
           "result": "blob", "duration_ms": 250, "resource_usage": {"output_bytes": 10, "written_bytes": 0, "wall_ms": 250,
                              "cpu_ms": 40, "peak_memory_bytes": 4096, "processes": 2, "read_bytes": 7}})
}

/// Returns the log of a run with this many calls.
fn log(run: &str, calls: u64) -> (Vec<String>, String) {
    let mut log = AuditLog::default();
    let ids: Vec<String> = (0..calls).map(|n| format!("c{n}")).collect();
    let events = ids.iter().flat_map(|id| [started(id), finished(id)]);
    let lines = events
        .zip(1..)
        .filter_map(|(event, seq)| log.apply(&fact(run, seq, &event)))
        .collect();
    (lines, log.head().to_owned())
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_line_has_the_fields_of_the_reference_and_more() {
    let (lines, head) = log("r-1", 1);
    let line: Value = serde_json::from_str(&lines[0]).unwrap();
    let expected = json!({
        "timestamp": "2025-01-28T03:22:47.002Z",
        "agent_id": "T1",
        "tool_name": "read_file",
        "parameters": {"path": "c0.txt"},
        "success": true,
        "execution_time": 0.25,
        "error": null,
        "decision": {"outcome": "allowed", "rule": "builtin:files"},
        "resource_usage": {"wall_ms": 250, "cpu_ms": 40, "peak_memory_bytes": 4096, "processes": 2, "read_bytes": 7,
                           "written_bytes": 0, "output_bytes": 10},
        "run_id": "r-1",
        "turn": 2,
        "call_id": "c0",
        "seq": 2,
        "previous": "",
        "hash": head,
    });
    assert_eq!(line, expected);
}

#[test]
fn a_call_of_an_older_journal_is_in_the_log() {
    let mut end = finished("c0");
    end["resource_usage"] = json!({"output_bytes": 10, "written_bytes": 3});
    let mut log = AuditLog::default();
    log.apply(&fact("r", 1, &started("c0")));
    let line: Value = serde_json::from_str(&log.apply(&fact("r", 2, &end)).unwrap()).unwrap();
    let usage = &line["resource_usage"];
    assert_eq!(
        (
            &usage["written_bytes"],
            &usage["cpu_ms"],
            &usage["processes"]
        ),
        (&json!(3), &json!(0), &json!(0))
    );
}

#[test]
fn the_same_events_give_the_same_log() {
    assert_eq!(log("r-1", 3), log("r-1", 3));
}

#[test]
fn a_decision_says_who_decided() {
    let asked = json!({"type": "approval.requested", "task": "T1", "call": "hash", "call_id": "c0", "tool": "read_file",
                       "summary": "s", "arguments": {}, "rule": "ask"});
    let decided =
        json!({"type": "approval.decided", "call": "hash", "allowed": true, "message": null});
    let asked_again = json!({"type": "approval.requested", "task": "T1", "call": "other", "call_id": "c3",
                             "tool": "read_file", "summary": "s", "arguments": {}, "rule": "ask"});
    let by_program = json!({"type": "approval.decided", "call": "other", "allowed": true, "message": null, "by": "gate"});
    let refused = {
        let mut end = finished("c1");
        end["outcome"] = json!("denied");
        end["error"] = json!("Security validation failed: no");
        end
    };
    let of_users = [
        asked,
        decided,
        started("c0"),
        finished("c0"),
        started("c1"),
        refused,
        started("c2"),
        finished("c2"),
    ];
    let events: Vec<Value> = of_users
        .into_iter()
        .chain([asked_again, by_program, started("c3"), finished("c3")])
        .collect();
    let mut log = AuditLog::default();
    let lines = events
        .iter()
        .zip(1..)
        .filter_map(|(event, seq)| log.apply(&fact("r", seq, event)));
    let decisions: Vec<Value> = lines
        .map(|line| serde_json::from_str::<Value>(&line).unwrap()["decision"].clone())
        .collect();
    let outcomes: Vec<&Value> = decisions
        .iter()
        .map(|decision| &decision["outcome"])
        .collect();
    assert_eq!(outcomes, ["approved", "denied", "allowed", "approved"]);
    assert_eq!(
        decisions
            .iter()
            .map(|decision| decision["by"].as_str())
            .collect::<Vec<_>>(),
        [None, None, None, Some("gate")]
    );
}

/// The call itself was allowed, but not the file that it came to by a link.
#[test]
fn the_rule_that_denied_a_part_of_a_call_is_named() {
    let mut end = finished("c0");
    end["outcome"] = json!("denied");
    end["denied_by"] = json!("deny:Write(/docs/**)");
    let mut log = AuditLog::default();
    log.apply(&fact("r", 1, &started("c0")));
    let line: Value = serde_json::from_str(&log.apply(&fact("r", 2, &end)).unwrap()).unwrap();
    assert_eq!(
        line["decision"],
        json!({"outcome": "denied", "rule": "deny:Write(/docs/**)"})
    );
}

#[test]
fn each_kind_of_damage_is_found_at_its_line() {
    let (lines, _) = log("r-1", 4);
    let whole = text(&lines);
    // The control: the whole log is right, and so is one that another run's lines stand amid.
    assert_eq!(check(&whole).unwrap()[&RunId::from("r-1")].lines, 4);
    let (others, _) = log("r-2", 1);
    let shared = [&lines[..2], &others[..], &lines[2..]].concat();
    assert_eq!(check(&text(&shared)).unwrap()[&RunId::from("r-1")].lines, 4);

    let broken = |line, fault| Err(Broken { line, fault });
    let flipped = whole.replacen("c1.txt", "cX.txt", 1);
    assert_eq!(check(&flipped), broken(2, Fault::Changed));
    let lost: Vec<String> = [&lines[..1], &lines[2..]].concat();
    assert_eq!(check(&text(&lost)), broken(2, Fault::OutOfOrder));
    let swapped = [&lines[..1], &lines[2..3], &lines[1..2], &lines[3..]].concat();
    assert_eq!(check(&text(&swapped)), broken(2, Fault::OutOfOrder));
    let (forged, _) = log("r-1", 1);
    let inserted = [&lines[..2], &forged[..], &lines[2..]].concat();
    assert_eq!(check(&text(&inserted)), broken(3, Fault::OutOfOrder));
    assert_eq!(check(&whole[..whole.len() - 10]), broken(4, Fault::Torn));
    assert_eq!(check("{}\n"), broken(1, Fault::Unreadable));
}

#[test]
fn a_torn_line_that_was_written_again_is_accepted() {
    let (lines, head) = log("r-1", 2);
    let torn = format!("{}\n{}\n{}\n", lines[0], &lines[1][..40], lines[1]);
    assert_eq!(
        check(&torn).unwrap()[&RunId::from("r-1")],
        Chain { lines: 2, head }
    );
}

#[test]
fn the_torn_line_of_one_run_says_nothing_against_another() {
    let ((one, _), (other, head)) = (log("r-1", 2), log("r-2", 2));
    let torn = one[1][..one[1].len() - 40].to_owned();
    let shared = [one[0].clone(), torn, other[0].clone(), other[1].clone()];
    let unreadable = Broken {
        line: 2,
        fault: Fault::Unreadable,
    };
    let whole = Chain { lines: 2, head };
    assert_eq!(
        check_run(&text(&shared), &RunId::from("r-2")),
        Ok((whole.clone(), Some(unreadable.clone())))
    );
    // The run whose line it is lacks one.
    let (chain, found) = check_run(&text(&shared), &RunId::from("r-1")).unwrap();
    assert_eq!((chain.lines, found), (1, Some(unreadable)));
    // A line of the run itself that cannot be read is named instead of the one after it.
    let own = [other[0][..40].to_owned(), other[1].clone()];
    assert_eq!(
        check_run(&text(&own), &RunId::from("r-2")),
        Err(Broken {
            line: 1,
            fault: Fault::Unreadable
        })
    );
    // Once it has been written again, also after lines of others, nothing is wrong.
    let again = [&shared[..], &one[1..]].concat();
    assert_eq!(
        check_run(&text(&again), &RunId::from("r-2")),
        Ok((whole, None))
    );
    assert_eq!(check(&text(&again)).unwrap()[&RunId::from("r-1")].lines, 2);
}

#[test]
fn what_follows_the_last_record_is_foreign() {
    let ((one, _), (other, _)) = (log("r-1", 2), log("r-2", 2));
    let whole = text(&one);
    let found = |text: &str, is_shared: bool| -> Vec<(usize, String)> {
        let found = foreign(text, &RunId::from("r-1"), is_shared).into_iter();
        found
            .map(|foreign| (foreign.line, foreign.text.to_owned()))
            .collect()
    };
    for (after, expected) in [
        ("", None),
        ("\n", Some("")),
        ("no record\n", Some("no record")),
        ("\0", Some("\0")),
    ] {
        let expected: Vec<(usize, String)> = expected
            .into_iter()
            .map(|text| (3, text.to_owned()))
            .collect();
        for is_shared in [false, true] {
            assert_eq!(
                found(&format!("{whole}{after}"), is_shared),
                expected,
                "{after:?}"
            );
        }
    }
    // Another run's records are foreign in a file of the run's own; in a shared one, so is only
    // what follows them.
    let mixed = format!("{whole}torn\n{}more", text(&other));
    assert_eq!(
        found(&mixed, false)
            .iter()
            .map(|(line, _)| *line)
            .collect::<Vec<_>>(),
        [3, 4, 5, 6]
    );
    assert_eq!(found(&mixed, true), [(6, "more".to_owned())]);
}

#[test]
fn runs_share_a_file() {
    let ((one, _), (other, _)) = (log("r-1", 2), log("r-2", 2));
    let mixed = [
        one[0].clone(),
        other[0].clone(),
        other[1].clone(),
        one[1].clone(),
    ];
    let chains = check(&text(&mixed)).unwrap();
    assert_eq!(
        chains.values().map(|chain| chain.lines).collect::<Vec<_>>(),
        [2, 2]
    );
}

proptest! {
    /// No byte of a line can be changed unnoticed.
    #[test]
    fn every_changed_byte_is_noticed(at in 0_usize..4_000, with in 0x20_u8..0x7f) {
        let (lines, head) = log("r-1", 3);
        let mut bytes = text(&lines).into_bytes();
        let at = at % bytes.len();
        prop_assume!(bytes[at] != with);
        bytes[at] = with;
        let found = check(std::str::from_utf8(&bytes).unwrap());
        let is_noticed = match &found {
            Err(_) => true,
            Ok(chains) => chains.get(&RunId::from("r-1")) != Some(&Chain { lines: 3, head }),
        };
        prop_assert!(is_noticed, "{found:?}");
    }
}
