use super::*;

/// The file, below this crate's folder.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/markers.md");

/// If set to `write`, the test writes the file instead of comparing it.
const SWITCH: &str = "ORCHESTRATE_MARKERS";

/// One marker of each kind, with what it says. A new kind is added to the match in [`kind`], then
/// here.
#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
fn examples() -> Vec<(Marker, &'static str)> {
    let key = "rovodev|build|a3f7b2c9d1e5f6a8|1a2b3c4".to_owned();
    let run_id = "r-1".to_owned();
    let ts = 1_738_034_567_890;
    let phase = "build".to_owned();
    let tool = "shellcheck".to_owned();
    let id = "tool_00042".to_owned();
    let failed = Marker::ended("tool_00043", 7, 12, ts);
    let interrupted = Marker::ToolEnd {
        id: "tool_00044".to_owned(),
        rc: 130,
        duration_ms: 950,
        reason: Some(Reason::Interrupted),
        ts,
    };
    vec![
        (
            Marker::IterStart {
                iter: 3,
                run_id: run_id.clone(),
                ts,
            },
            "An agent's turn has begun.",
        ),
        (
            Marker::IterEnd {
                iter: 3,
                run_id: run_id.clone(),
                ts,
            },
            "An agent's turn has ended.",
        ),
        (
            Marker::PhaseStart {
                iter: 3,
                phase: phase.clone(),
                run_id: run_id.clone(),
                ts,
            },
            "A phase of a turn has begun.",
        ),
        (
            Marker::PhaseEnd {
                iter: 3,
                phase: phase.clone(),
                status: "ok".to_owned(),
                run_id,
                ts,
            },
            "A phase of a turn has ended.",
        ),
        (
            Marker::ToolStart {
                id,
                tool: tool.clone(),
                cache_key: key.clone(),
                git_sha: "1a2b3c4".to_owned(),
                ts,
            },
            "A tool is about to start; written before it has any effect.",
        ),
        (
            Marker::ended("tool_00042", 0, 234, ts),
            "A tool has passed. Each started id ends exactly once.",
        ),
        (failed, "A tool has ended with another exit code than zero."),
        (interrupted, "A tool was interrupted, or its end was lost."),
        (
            Marker::CacheHit {
                cache_key: key.clone(),
                tool: tool.clone(),
                ts,
            },
            "A stored result was replayed.",
        ),
        (
            Marker::CacheMiss {
                cache_key: key,
                tool,
                ts,
            },
            "No stored result was found, so the tool runs.",
        ),
        (
            Marker::CacheGuard {
                iter: Some(3),
                reason: "pending_tasks".to_owned(),
                phase: phase.clone(),
                ts,
            },
            "Nothing is replayed, because the plan has open tasks.",
        ),
        (
            Marker::CacheConfig {
                mode: "use".to_owned(),
                scope: phase,
                exported: true,
                iter: Some(3),
                ts,
            },
            "How the cache is used.",
        ),
    ]
}

/// Returns the number of a kind, counted in the order of the type.
fn kind(marker: &Marker) -> usize {
    match marker {
        Marker::IterStart { .. } => 0,
        Marker::IterEnd { .. } => 1,
        Marker::PhaseStart { .. } => 2,
        Marker::PhaseEnd { .. } => 3,
        Marker::ToolStart { .. } => 4,
        Marker::ToolEnd { .. } => 5,
        Marker::CacheHit { .. } => 6,
        Marker::CacheMiss { .. } => 7,
        Marker::CacheGuard { .. } => 8,
        Marker::CacheConfig { .. } => 9,
    }
}

/// The meaning of each field.
const FIELDS: [(&str, &str); 18] = [
    ("allowed", "`0`: nothing is replayed"),
    (
        "cache_key",
        "`agent|phase|hash|commit`: the agent in lower case, 16 digits of SHA-256 over what is asked, the short commit id",
    ),
    ("duration_ms", "milliseconds from the start to the end"),
    ("exit", "the same as `rc`"),
    ("exported", "`1` if the environment sets the mode, else `0`"),
    (
        "git_sha",
        "the short id of the commit that is checked out; `unknown` outside a repository",
    ),
    ("id", "the id of the call; start and end have the same"),
    (
        "iter",
        "the agent's turn, or the loop's iteration; left out where it is not known",
    ),
    ("mode", "`off`, `read`, `write` or `use`"),
    ("phase", "`plan` or `build`"),
    (
        "rc",
        "the exit code, as shells count: 128 and the signal's number for one that a signal ended",
    ),
    (
        "reason",
        "`exit_code_<rc>`, `interrupted` or `timeout`; absent if the tool passed. For a guard: `pending_tasks`",
    ),
    ("result", "`PASS` or `FAIL`"),
    ("run_id", "the run"),
    ("scope", "what the mode holds for: the phase"),
    ("status", "`ok` or `failed`"),
    (
        "tool",
        "the tool's name; for a request to a model, `provider/model`",
    ),
    ("ts", "the time in Unix milliseconds"),
];

fn page() -> String {
    let mut page = "# Markers\n\n\
        To follow a run or a loop line by line, ask for `--output-format markers`. Generated from `crates/core/src/projections/marker.rs` by `just markers`.\n\n\
        A marker begins its line. Its fields are separated by one space each; no value contains a space: spaces, control\n\
        characters, `%` and `:::` are written as `%` and two hexadecimal digits. Text of tools and models that looks like\n\
        a marker is escaped before it is written: `:::NAME:::` at the beginning of a line becomes `::\\:NAME:::`.\n\n"
        .to_owned();
    for (marker, about) in examples() {
        page.push_str(&format!("{about}\n\n```text\n{marker}\n```\n\n"));
    }
    page.push_str("| field | meaning |\n|---|---|\n");
    for (field, meaning) in FIELDS {
        page.push_str(&format!(
            "| `{field}` | {} |\n",
            meaning.replace('|', "\\|")
        ));
    }
    page
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the file is compared with, and written by this test alone"
)]
fn the_page_of_the_markers_is_up_to_date() {
    if std::env::var(SWITCH).is_ok_and(|value| value == "write") {
        std::fs::write(FILE, page()).unwrap();
    }
    let written = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        written == page(),
        "docs/markers.md is not what the type says: type `just markers`"
    );
    let kinds: std::collections::BTreeSet<usize> =
        examples().iter().map(|(marker, _)| kind(marker)).collect();
    assert_eq!(kinds.len(), 10, "each kind has an example");
    for (marker, _) in examples() {
        let (_, fields) = marker.parts();
        let unknown = fields
            .iter()
            .find(|(field, _)| !FIELDS.iter().any(|(known, _)| known == field));
        assert_eq!(unknown, None, "{marker}");
    }
}

#[test]
fn a_marker_is_one_line_of_fields_without_spaces() {
    let start = Marker::ToolStart {
        id: "a b\n".to_owned(),
        tool: "50%\u{2028}".to_owned(),
        cache_key: "k".to_owned(),
        git_sha: "s".to_owned(),
        ts: 1,
    };
    assert_eq!(
        start.to_string(),
        ":::TOOL_START::: id=a%20b%0A tool=50%25%E2%80%A8 cache_key=k git_sha=s ts=1"
    );
    let like_a_marker = Marker::ended(":::TOOL_END:::", 0, 1, 5).to_string();
    assert_eq!(like_a_marker.matches(":::").count(), 2, "{like_a_marker}");
    let table = [
        (
            Marker::ended("i", 0, 234, 5),
            ":::TOOL_END::: id=i result=PASS rc=0 exit=0 duration_ms=234 ts=5",
        ),
        (
            Marker::ended("i", 7, 12, 5),
            ":::TOOL_END::: id=i result=FAIL rc=7 exit=7 duration_ms=12 reason=exit_code_7 ts=5",
        ),
        (
            Marker::CacheGuard {
                iter: None,
                reason: "pending_tasks".to_owned(),
                phase: "build".to_owned(),
                ts: 5,
            },
            ":::CACHE_GUARD::: allowed=0 reason=pending_tasks phase=build ts=5",
        ),
    ];
    for (marker, line) in table {
        assert_eq!(marker.to_string(), line);
    }
}

/// Escapes a text in pieces of this size.
fn escaped(text: &str, piece: usize) -> String {
    let (mut escape, mut out) = (MarkerEscape::default(), Vec::new());
    text.as_bytes()
        .chunks(piece)
        .for_each(|piece| escape.push(piece, &mut out));
    escape.finish(&mut out);
    assert_eq!(
        escape.is_whole(),
        text.is_empty() || text.ends_with('\n'),
        "{text:?}"
    );
    String::from_utf8(out).unwrap()
}

#[test]
fn only_a_line_that_looks_like_a_marker_is_escaped_however_it_arrives() {
    let long = format!(":::{}:::", "A".repeat(LONGEST_NAME + 1));
    let table = [
        (
            ":::TOOL_END::: id=tool_00001 rc=0\n",
            "::\\:TOOL_END::: id=tool_00001 rc=0\n",
        ),
        ("a\n:::X1:::b\n:::Y:::", "a\n::\\:X1:::b\n::\\:Y:::"),
        ("", ""),
        (":::", ":::"),
        (":::TOOL_END", ":::TOOL_END"),
        (":::TOOL_END::", ":::TOOL_END::"),
        (":::TOOL_END::x", ":::TOOL_END::x"),
        ("::: warning\n:::\n", "::: warning\n:::\n"),
        (" :::A:::\n", " :::A:::\n"),
        ("::::A:::\n", "::::A:::\n"),
        (":::\n:::A:::\n", ":::\n::\\:A:::\n"),
        ("::\n\n", "::\n\n"),
        (":::a:::", ":::a:::"),
        (&long, &long),
    ];
    for (text, expected) in table {
        for piece in 1..=text.len().max(1) {
            assert_eq!(
                escaped(text, piece),
                expected,
                "{text:?} in pieces of {piece}"
            );
        }
    }
}
