//! The files that `ARCHITECTURE.md` and `CONTRIBUTING.md` name exist.

use super::{Violation, read, require_exactly, require_none, root};
use crate::support::Outcome;

const PAGES: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];
/// Names that stand for a file of every crate or folder.
const IN_ALL: [&str; 2] = ["lib.rs", "mod.rs"];

/// Checks the pages.
pub(super) fn pages_hold() -> Outcome {
    let mut found = Vec::new();
    for page in PAGES {
        found.extend(violations(page, &read(&root().join(page))?, &|path| {
            root().join(path).exists()
        }));
    }
    require_none(&found)
}

fn violations(page: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut crate_of_last = String::new();
    for (at, line) in text.lines().enumerate() {
        for name in line
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| is_path(name))
        {
            for path in alternatives(name) {
                let below = format!("{crate_of_last}/src/{path}");
                if !exists(&path) && !exists(&below) {
                    found.push(format!("{page}:{}: there is no {path}", at + 1));
                }
            }
            if let Some((named, _)) = name.split_once("/src/") {
                named.clone_into(&mut crate_of_last);
            }
        }
    }
    found
}

/// Reports whether quoted text is the path of a source file or of something below `crates/` or
/// `tests/`.
fn is_path(quoted: &str) -> bool {
    let is_plain = !IN_ALL.contains(&quoted)
        && quoted
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-./{,}".contains(&byte));
    is_plain
        && (quoted.starts_with("crates/")
            || quoted.starts_with("tests/")
            || quoted.ends_with(".rs"))
}

/// Returns the paths that a path with one list in braces stands for.
fn alternatives(path: &str) -> Vec<String> {
    let Some((before, (list, after))) = path
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return vec![path.to_owned()];
    };
    let with_ending = |name: &str| {
        let whole = format!("{before}{name}{after}");
        if after.is_empty() && !name.contains('.') {
            format!("{whole}.rs")
        } else {
            whole
        }
    };
    list.split(',').map(with_ending).collect()
}

/// Shows that a path to nothing is caught.
pub(super) fn examples_are_caught() -> Outcome {
    let there = [
        "crates/core/src/event/wait.rs",
        "crates/core/src/run/run_state/waiting.rs",
        "crates/core/src/task/claims.rs",
    ];
    let page = "`crates/core/src/event/wait.rs`, `run/run_state/waiting.rs`, `RunState::apply`\n\
                `run/run_state/gone.rs` and `crates/core/src/task/{claims,lost}.rs`\n";
    let expected = [
        "P.md:2: there is no run/run_state/gone.rs",
        "P.md:2: there is no crates/core/src/task/lost.rs",
    ];
    require_exactly(
        &violations("P.md", page, &|path| there.contains(&path)),
        &expected,
    )
}
