//! The JSON lines of `go test`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::place::places;
use super::tally::Tally;
use crate::answer::TestErrorKind;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    import_path: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
}

#[derive(Default)]
struct Case {
    output: String,
    end: String,
}

/// Reads the standard output of `go test -json` in the module of this name.
pub(crate) fn read(stdout: &str, module: &str) -> Tally {
    let cases = collect(stdout);
    let mut tally = Tally::default();
    let mut failed_packages: Vec<&str> = Vec::new();
    for ((package, test), case) in &cases {
        let below = format!("{test}/");
        // The names of its parts follow directly in the order of the keys.
        let next = cases.range((package.clone(), below.clone())..).next();
        let is_parent =
            next.is_some_and(|((of, other), _)| of == package && other.starts_with(&below));
        // A test with parts ends as its parts do.
        if test.is_empty() || is_parent {
            continue;
        }
        match case.end.as_str() {
            "pass" => tally.passed += 1,
            "skip" => tally.skipped += 1,
            // A test without an end ran while its program crashed.
            _ => {
                let folder = folder(package, module);
                let place = places(&case.output, "").into_iter().next();
                let place =
                    place.map(|(file, line)| (crate::files::path::join(&folder, &file), line));
                failed_packages.push(package);
                tally.fail(format!("{package}.{test}"), &message(&case.output), place);
            }
        }
    }
    for ((package, test), case) in &cases {
        if test.is_empty() && case.end == "fail" && !failed_packages.contains(&package.as_str()) {
            let built = cases
                .iter()
                .filter(|((path, _), _)| path.starts_with(&format!("{package} [")));
            let output: String = built
                .map(|(_, built)| built.output.as_str())
                .chain([case.output.as_str()])
                .collect();
            let is_built = !["[build failed]", "[setup failed]"]
                .iter()
                .any(|mark| case.output.contains(mark));
            let kind = if is_built {
                TestErrorKind::Crash
            } else {
                TestErrorKind::Collection
            };
            tally.lose(
                kind,
                package.clone(),
                &output,
                places(&output, "").into_iter().next(),
            );
        }
    }
    tally
}

/// Collects what each test printed, and how it ended.
fn collect(stdout: &str) -> BTreeMap<(String, String), Case> {
    let mut cases: BTreeMap<(String, String), Case> = BTreeMap::new();
    for event in stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Event>(line).ok())
    {
        let package = if event.package.is_empty() {
            event.import_path
        } else {
            event.package
        };
        let case = cases.entry((package, event.test)).or_default();
        match event.action.as_str() {
            "output" | "build-output" => case.output.push_str(&event.output),
            "pass" | "fail" | "skip" => case.end = event.action,
            _ => {}
        }
    }
    cases
}

fn message(output: &str) -> String {
    output
        .lines()
        .filter(|line| !is_frame(line))
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_frame(line: &str) -> bool {
    ["=== ", "--- "]
        .iter()
        .any(|mark| line.trim_start().starts_with(mark))
}

/// Returns the folder of a package below its module.
fn folder(package: &str, module: &str) -> String {
    package
        .strip_prefix(module)
        .unwrap_or_default()
        .trim_start_matches('/')
        .to_owned()
}
