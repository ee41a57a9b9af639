//! `docs/events.json`: the schema of the events for other programs, generated from the type.
//!
//! A test writes it, so that the program itself carries no generator; the same test fails when the
//! file is out of date.

use schemars::generate::SchemaSettings;

use crate::event::{Event, VERSION};

/// The file, below this crate's folder.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/events.json");

/// If set to `write`, the test writes the file instead of comparing it.
const SWITCH: &str = "ORCHESTRATE_EVENTS";

/// Returns the schema of an event as text, with the documentation of each field.
fn schema() -> String {
    let mut schema = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Event>();
    let description = format!(
        "A fact of a run, in version {VERSION}; a stream of facts as JSON lines adds ts, run_id, seq and v. \
         Generated from crates/core/src/event/kinds.rs by `just events`."
    );
    schema.insert("description".to_owned(), description.into());
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

#[test]
fn every_type_of_events_is_known_by_its_name() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let variants = schema["oneOf"].as_array().unwrap();
    let names: Vec<&str> = variants
        .iter()
        .map(|of| of["properties"]["type"]["const"].as_str().unwrap())
        .collect();
    assert_eq!(names, Event::TYPES);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the file is compared with, and written by this test alone"
)]
fn the_schema_of_the_facts_is_up_to_date() {
    if std::env::var(SWITCH).is_ok_and(|value| value == "write") {
        std::fs::write(FILE, schema()).unwrap();
    }
    let written = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        written == schema(),
        "docs/events.json is not what the type says: type `just events`"
    );
}
