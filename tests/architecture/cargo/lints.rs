//! The lints of the workspace's manifest, each shown to fire on code that violates it.

use std::fmt::Write as _;

use libtest_mimic::Failed;
use toml::Table;

use super::sample::Sample;
use crate::architecture::{read, require_none, root};
use crate::support::{Outcome, at, fail};

/// Code that violates each lint. A lint without a line here fails the test, since nothing shows
/// that it fires.
const DESERVED: [(&str, &str); 24] = [
    (
        "allow_attributes",
        "#[allow(unused_variables, reason = \"x\")] fn allowed() { let a = 1; }",
    ),
    (
        "allow_attributes_without_reason",
        "#[expect(unused_variables)] fn expected() { let a = 1; }",
    ),
    (
        "await_holding_lock",
        "async fn held(m: &std::sync::Mutex<u8>) { let Ok(_guard) = m.lock() else { return }; std::future::ready(()).await; }",
    ),
    ("cognitive_complexity", COMPLEX),
    ("dbg_macro", "fn debugged() { dbg!(1); }"),
    ("disallowed_methods", "fn ended() { std::process::exit(0) }"),
    (
        "expect_used",
        "fn expecting(a: Option<u8>) { a.expect(\"a\"); }",
    ),
    ("indexing_slicing", "fn indexed(a: &[u8]) -> u8 { a[0] }"),
    (
        "mem_forget",
        "fn forgotten(a: String) { std::mem::forget(a); }",
    ),
    ("missing_docs", "pub fn undocumented() {}"),
    (
        "needless_pass_by_value",
        "fn passed(a: String) -> usize { a.len() }",
    ),
    ("panic", "fn panicking() { panic!(\"a\"); }"),
    ("print_stderr", "fn warning() { eprintln!(\"a\"); }"),
    ("print_stdout", "fn printing() { println!(\"a\"); }"),
    (
        "redundant_clone",
        "fn cloned(a: String) -> String { let b = a.clone(); b }",
    ),
    ("todo", "fn later() { todo!(); }"),
    (
        "too_many_arguments",
        "fn many(_: u8, _: u8, _: u8, _: u8, _: u8, _: u8) {}",
    ),
    ("too_many_lines", LONG),
    ("unimplemented", "fn never() { unimplemented!(); }"),
    ("unreachable_pub", "mod hidden { pub struct Unseen; }"),
    ("unsafe_code", "unsafe fn dangerous() {}"),
    ("unused_must_use", "fn unused(a: Result<(), ()>) { a; }"),
    (
        "unwrap_used",
        "fn unwrapping(a: Option<u8>) { a.unwrap(); }",
    ),
    (
        "wildcard_imports",
        "use std::collections::*; type Map = HashMap<u8, u8>;",
    ),
];

/// A function that is too complex; `BRANCHES` is replaced by many branches.
const COMPLEX: &str = "fn complex(a: u8) -> u8 { BRANCHES 0 }";
/// A function that is too long; `LINES` is replaced by 101 lines, one more than allowed.
const LONG: &str = "fn long(mut a: u64) -> u64 { LINES a }";

/// Runs clippy with the workspace's lints on a crate that violates each of them.
pub(in crate::architecture) fn every_lint_bites() -> Outcome {
    let manifest: Table = read(&root().join("Cargo.toml"))?.parse()?;
    let lints = &manifest["workspace"]["lints"];
    let groups = lints.as_table().ok_or("no lints")?;
    let names = groups.values().filter_map(toml::Value::as_table).flatten();
    let names: Vec<&String> = names
        .filter(|(_, level)| level.as_str() != Some("allow"))
        .map(|(name, _)| name)
        .collect();
    let mut source = "//! A sample.\n".to_owned();
    for name in &names {
        let deserved = DESERVED.iter().find(|(lint, _)| lint == name);
        let text = deserved
            .ok_or_else(|| Failed::from(format!("no line in DESERVED shows that {name} bites")))?
            .1;
        let text = text.replace(
            "BRANCHES",
            &"if a > 1 { if a > 2 { return a; } }\n".repeat(30),
        );
        writeln!(
            source,
            "{}",
            text.replace("LINES", &"a += 1;\n".repeat(101))
        )?;
    }
    let sample = Sample::new(&Table::from_iter([("lints".to_owned(), lints.clone())]).to_string())?;
    sample.write("src/lib.rs", &source)?;
    let ran = sample.cargo(
        &["clippy", "--offline", "--quiet", "--message-format=json"],
        root(),
    )?;
    if ran.code != 0 {
        return fail(format!(
            "the sample does not compile: {}{}",
            ran.stdout, ran.stderr
        ));
    }
    let mut codes = Vec::new();
    for message in crate::support::lines(&ran.stdout)? {
        codes.extend(
            at(&message, "/message/code/code")
                .ok()
                .and_then(|code| code.as_str().map(str::to_owned)),
        );
    }
    let bites = |name: &str| {
        codes
            .iter()
            .any(|code| code.trim_start_matches("clippy::") == name)
    };
    let toothless: Vec<_> = names
        .iter()
        .filter(|name| !bites(name))
        .map(|name| format!("{name} does not bite"))
        .collect();
    require_none(&toothless)
}
