//! Tests of the serialized form of events.

use super::*;
use crate::task::ReturnCause;

#[test]
fn a_fact_is_one_flat_object_in_the_stream() {
    let recorded = Recorded {
        run_id: "r-abcdef".into(),
        seq: 7,
        ts_ms: 1_795_255_200_123,
        v: VERSION,
        event: Event::TaskReady { task: "T1".into() },
    };
    assert_eq!(
        recorded.stream_json().to_string(),
        r#"{"type":"task.ready","ts":"2026-11-21T10:00:00.123Z","run_id":"r-abcdef","seq":7,"v":1,"task":"T1"}"#
    );
}

#[test]
fn every_type_of_events_is_known_by_its_name() {
    let schema = schemars::schema_for!(Event);
    let variants = schema.get("oneOf").and_then(serde_json::Value::as_array);
    let names: Option<Vec<&str>> = variants.and_then(|variants| {
        let mut names = variants
            .iter()
            .map(|of| of.pointer("/properties/type/const")?.as_str());
        names.by_ref().collect()
    });
    assert_eq!(names.as_deref(), Some(&Event::TYPES[..]));
}

#[test]
fn a_journal_of_before_told_no_cause() {
    let told = serde_json::json!({"type": "task.conflicted", "task": "T1", "message": "in a.rs"});
    let (task, message) = ("T1".into(), "in a.rs".to_owned());
    let read: Option<Event> = serde_json::from_value(told).ok();
    assert_eq!(
        read,
        Some(Event::TaskConflicted {
            task,
            cause: ReturnCause::Conflict,
            message
        })
    );
}
