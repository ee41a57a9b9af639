//! Which files are tests: the names by which the tools of the usual ecosystems find them.

use crate::text::case_folding::folded_path;

/// Folders that contain tests, in lower case.
const FOLDERS: [&str; 9] = [
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "testdata",
    "__snapshots__",
    "cypress",
    "e2e",
];
/// Suffixes of a file's stem that make it a test, in lower case.
const STEMS: [&str; 7] = ["_test", "_tests", ".test", ".spec", "_spec", ".cy", ".e2e"];
/// Names of test files, in lower case.
const FILES: [&str; 2] = ["conftest.py", "pytest.ini"];
/// Extensions of languages in which a file named `test` or `tests` is one.
const NAMED_TEST: [&str; 18] = [
    "rs", "py", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "rb", "go", "php", "ex",
    "exs", "lua", "c", "cpp",
];
/// Extensions of languages that name a class, and its file, by what it is.
const BY_CLASS: [&str; 8] = ["java", "kt", "scala", "groovy", "cs", "php", "swift", "vb"];
/// Suffixes of such a name that make it a test.
const CLASSES: [&str; 5] = ["Test", "Tests", "TestCase", "Spec", "IT"];
/// Extensions that only test files have.
const EXTENSIONS: [&str; 4] = ["snap", "bats", "t", "feature"];

/// Reports whether a file is a test, or decides what tests expect.
pub(crate) fn is_test_file(path: &str) -> bool {
    let lower = folded_path(path);
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let folders: Vec<&str> = folders.split('/').collect();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    folders.iter().any(|folder| FOLDERS.contains(folder))
        || FILES.contains(&name)
        || ["test", "tests"].contains(&stem) && NAMED_TEST.contains(&extension)
        || stem.starts_with("test_")
        || STEMS.iter().any(|end| stem.ends_with(end))
        || EXTENSIONS.contains(&extension)
        || BY_CLASS.contains(&extension) && is_test_class(path)
}

/// Reports whether a file is named by a class of tests; only the case tells `FooTest` from
/// `contest`.
fn is_test_class(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let class = name.split('.').next().unwrap_or(name);
    CLASSES.iter().any(|end| {
        class
            .strip_suffix(end)
            .is_some_and(|rest| !rest.is_empty() || *end != "IT")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_in_every_ecosystem_and_other_files_are_none() {
        let tests = [
            "tests/run.rs",
            "src/parser/tests.rs",
            "test.js",
            "lib/test.mjs",
            "shop/tests.py",
            "pkg/server_test.go",
            "web/app.spec.ts",
            "web/app.test.tsx",
            "web/__snapshots__/app.snap",
            "cypress/login.cy.ts",
            "test_app.py",
            "app/conftest.py",
            "src/test/java/a/B.java",
            "a/ParserTest.java",
            "a/OrderIT.java",
            "App.Tests/OrderTests.cs",
            "src/OrderTest.php",
            "ParserSpec.scala",
            "spec/models/order_spec.rb",
            "test/order_test.exs",
            "t/basic.t",
            "ci/run.bats",
        ];
        let others = [
            "src/lib.rs",
            "test.md",
            "docs/testing.md",
            "src/contest.rs",
            "Contest.java",
            "latest.php",
            "IT.java",
            "src/attestation.go",
            "README.md",
            "protest.py",
            "unit.kt",
        ];
        for path in tests {
            assert!(is_test_file(path), "{path}");
        }
        for path in others {
            assert!(!is_test_file(path), "{path}");
        }
    }
}
