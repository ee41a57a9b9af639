//! The JSON lines of nextest, which are those of Rust's test programs.

use serde::Deserialize;

use super::libtest::message;
use super::place::places;
use super::tally::Tally;

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    event: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    stdout: String,
}

/// Reads the standard output of `cargo nextest run`.
pub(crate) fn read(stdout: &str, root: &str) -> Tally {
    let mut tally = Tally::default();
    let events = stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Event>(line).ok());
    for event in events.filter(|event| event.kind == "test") {
        match event.event.as_str() {
            "ok" => tally.passed += 1,
            "ignored" => tally.skipped += 1,
            "failed" | "timeout" => {
                let name = event.name.replacen('$', " ", 1);
                tally.fail(
                    name,
                    &message(&event.stdout),
                    places(&event.stdout, root).into_iter().next(),
                );
            }
            _ => {}
        }
    }
    tally
}
