//! Finds which test of a program is meant by a source file and the name of a function.
//!
//! The module of a test follows from the path of its file. This module deliberately reads no file.

use std::path::Path;

use super::table::attack_of;
use crate::support::Outcome;

/// Reports whether a test of the program with this main file is a function of a source file, in
/// whichever tier.
pub(super) fn is_test(source: &Path, file: &Path, function: &str, test: &str) -> bool {
    let Some(module) = module_of(source, file) else {
        return false;
    };
    let (function, test) = (attack_of(function), attack_of(test));
    let within = if module.is_empty() {
        Some(test.as_str())
    } else {
        test.strip_prefix(&module)
            .and_then(|rest| rest.strip_prefix("::"))
    };
    // The file may hold the test in a module of its own.
    within.is_some_and(|within| within == function || within.ends_with(&format!("::{function}")))
}

/// Returns the module that a file is in the program with this main file, whose own module is empty.
/// Returns `None` if the file is part of another program.
fn module_of(source: &Path, file: &Path) -> Option<String> {
    if file == source {
        return Some(String::new());
    }
    if !source.ends_with("lib.rs") && !source.ends_with("main.rs") {
        return None;
    }
    let path = file.strip_prefix(source.parent()?).ok()?.with_extension("");
    let names: Vec<_> = path
        .iter()
        .map(|name| name.to_string_lossy())
        .filter(|name| name != "mod")
        .collect();
    Some(names.join("::"))
}

pub(super) fn tests_are_found_by_file_and_function() -> Outcome {
    let (library, suite) = ("/p/crates/x/src/lib.rs", "/p/crates/x/tests/suite/main.rs");
    let examples = [
        (
            library,
            "/p/crates/x/src/host/name.rs",
            "host::name::tests::holds",
            true,
        ),
        (
            library,
            "/p/crates/x/src/host/name.rs",
            "host::name::holds",
            true,
        ),
        (
            library,
            "/p/crates/x/src/host/tests.rs",
            "host::tests::holds",
            true,
        ),
        (
            library,
            "/p/crates/x/src/host/mod.rs",
            "host::tests::holds",
            true,
        ),
        (library, "/p/crates/x/src/lib.rs", "tests::holds", true),
        (
            library,
            "/p/crates/x/src/host/name.rs",
            "host::named::holds",
            false,
        ),
        (
            library,
            "/p/crates/x/src/host/name.rs",
            "name::tests::holds",
            false,
        ),
        (
            library,
            "/p/crates/x/src/host/name.rs",
            "host::name::tests::it_holds",
            false,
        ),
        (
            library,
            "/p/crates/x/tests/suite/web.rs",
            "web::holds",
            false,
        ),
        (library, "/p/crates/y/src/web.rs", "web::holds", false),
        (suite, "/p/crates/x/tests/suite/web.rs", "web::holds", true),
        (
            suite,
            "/p/crates/x/tests/suite/web.rs",
            "web::holds::full",
            true,
        ),
        (
            suite,
            "/p/crates/x/tests/suite/web.rs",
            "web::holds_fallback",
            true,
        ),
        (suite, "/p/crates/x/tests/alone.rs", "holds", false),
        (
            "/p/crates/x/tests/alone.rs",
            "/p/crates/x/tests/alone.rs",
            "holds",
            true,
        ),
        (
            "/p/crates/x/tests/alone.rs",
            "/p/crates/x/tests/other.rs",
            "other::holds",
            false,
        ),
    ];
    for (source, file, test, expected) in examples {
        assert_eq!(
            is_test(Path::new(source), Path::new(file), "holds", test),
            expected,
            "{test} of {source} is not taken as expected for `holds` of {file}"
        );
    }
    Ok(())
}
