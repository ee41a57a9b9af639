use super::*;

/// Files with their texts.
type Files<'a> = &'a [(&'a str, &'a str)];

/// Returns the command of each runner of the first language.
fn first(files: Files<'_>, pattern: Option<&str>) -> Vec<String> {
    let groups = runners(&Project::of(files), pattern);
    groups
        .into_iter()
        .next()
        .unwrap_or_default()
        .iter()
        .map(|runner| runner.argv.join(" "))
        .collect()
}

#[test]
fn what_to_install_is_a_program_and_where_it_is_from() {
    let install = |files: Files<'_>| {
        let groups = runners(&Project::of(files), None);
        groups
            .into_iter()
            .flatten()
            .map(|runner| runner.install)
            .collect::<Vec<_>>()
            .join(", or ")
    };
    assert_eq!(install(&[("Cargo.toml", "")]), "cargo (from rustup.rs)");
    assert_eq!(install(&[("go.mod", "")]), "go (from go.dev)");
    assert_eq!(
        install(&[("package.json", SCRIPT_OF_MOCHA)]),
        "node 20 or newer (from nodejs.org)"
    );
}

const PYTEST: &str = "python3 -m pytest -q --junit-xml=/proc/self/fd/2";
const PYTEST_ALONE: &str = "pytest -q --junit-xml=/proc/self/fd/2";
const PACKAGE_OF_VITEST: &str = r#"{"devDependencies": {"vitest": "4"}}"#;
const SCRIPT_OF_JEST: &str =
    r#"{"scripts": {"test": "NODE_ENV=test jest --ci"}, "devDependencies": {"vitest": "4"}}"#;
const SCRIPT_OF_NODE: &str = r#"{"scripts": {"test": "node --import ./hooks.mjs --test test/"}}"#;
const SCRIPT_OF_MOCHA: &str = r#"{"scripts": {"test": "mocha"}}"#;
const NO_SCRIPT: &str = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;

#[test]
fn the_runner_is_the_projects_own() {
    let table: &[(Files<'_>, &[&str])] = &[
        (&[], &[]),
        (&[("README.md", "")], &[]),
        (
            &[("Cargo.toml", ""), ("Makefile", "test:\n")],
            &["cargo test --no-fail-fast"],
        ),
        (
            &[("Cargo.toml", ""), (".config/nextest.toml", "")],
            &["cargo nextest run --no-fail-fast --message-format libtest-json"],
        ),
        (
            &[("go.mod", "module example.test/a\n")],
            &["go test -json ./..."],
        ),
        (
            &[("pyproject.toml", "[tool.pytest.ini_options]")],
            &[PYTEST, PYTEST_ALONE],
        ),
        (
            &[("setup.py", ""), ("conftest.py", "")],
            &[PYTEST, PYTEST_ALONE],
        ),
        (
            &[("test_a.py", "")],
            &[PYTEST, PYTEST_ALONE, "python3 -m unittest discover -v"],
        ),
        (
            &[("setup.py", ""), ("tests/test_a.py", "")],
            &[
                PYTEST,
                PYTEST_ALONE,
                "python3 -m unittest discover -v -s tests",
            ],
        ),
        (
            &[
                ("tests/test_a.py", ""),
                ("tests/__init__.py", ""),
                (".venv/bin/python", ""),
            ],
            &[
                ".venv/bin/python -m pytest -q --junit-xml=/proc/self/fd/2",
                ".venv/bin/python -m unittest discover -v",
            ],
        ),
        (
            &[("package.json", PACKAGE_OF_VITEST)],
            &["vitest run --reporter=json"],
        ),
        (
            &[
                ("package.json", PACKAGE_OF_VITEST),
                ("node_modules/.bin/vitest", ""),
            ],
            &["node_modules/.bin/vitest run --reporter=json"],
        ),
        (&[("package.json", SCRIPT_OF_JEST)], &["jest --json"]),
        (
            &[("package.json", SCRIPT_OF_NODE)],
            &["node --test-reporter=junit --import ./hooks.mjs --test test/"],
        ),
        (
            &[("package.json", "{}"), ("test/a.test.js", "")],
            &["node --test-reporter=junit --test"],
        ),
        (&[("package.json", SCRIPT_OF_MOCHA)], &["npm test"]),
        (
            &[
                ("package.json", NO_SCRIPT),
                ("Makefile", "all:\n\ncheck: all\n"),
            ],
            &["make check"],
        ),
        (
            &[("pom.xml", ""), ("mvnw", "")],
            &["sh mvnw -B -Dstyle.color=never --fail-at-end test"],
        ),
        (
            &[("build.gradle.kts", "")],
            &["gradle --no-daemon --console=plain --continue cleanTest test"],
        ),
        (
            &[("CMakeLists.txt", "")],
            &["ctest --test-dir build --output-on-failure --output-junit Testing/orchestrate.xml"],
        ),
        (&[("Makefile", "all:\n")], &[]),
    ];
    for (files, expected) in table {
        assert_eq!(first(files, None), *expected, "{files:?}");
    }
}

#[test]
fn a_pattern_is_handed_over_as_each_runner_takes_it() {
    let table: &[(Files<'_>, &str, &str)] = &[
        (
            &[("Cargo.toml", "")],
            "adds",
            "cargo test --no-fail-fast adds",
        ),
        (
            &[("go.mod", "")],
            "TestAdds",
            "go test -json -run TestAdds ./...",
        ),
        (
            &[("conftest.py", "")],
            "adds and not slowly",
            "-k adds and not slowly",
        ),
        (
            &[("conftest.py", "")],
            "test_a.py::test_b",
            "test_a.py::test_b",
        ),
        (
            &[("conftest.py", ""), ("tests", "")],
            "tests",
            "--junit-xml=/proc/self/fd/2 tests",
        ),
        (
            &[("package.json", PACKAGE_OF_VITEST)],
            "adds",
            "--reporter=json -t adds",
        ),
        (
            &[("package.json", PACKAGE_OF_VITEST)],
            "src/a.test.ts",
            "--reporter=json src/a.test.ts",
        ),
        (
            &[("package.json", SCRIPT_OF_NODE)],
            "adds",
            "--test-name-pattern=adds --import ./hooks.mjs --test test/",
        ),
        (
            &[("pom.xml", "")],
            "SumsTest#adds",
            "test -Dtest=SumsTest#adds",
        ),
        (&[("build.gradle", "")], "SumsTest", "test --tests SumsTest"),
        (&[("CMakeLists.txt", "")], "adds", "-R adds"),
    ];
    for (files, pattern, end) in table {
        let argv = first(files, Some(pattern)).remove(0);
        assert!(argv.ends_with(end), "{argv}");
    }
}

#[test]
fn a_build_comes_before_the_tests_of_cmake() {
    let before = |files: &[(&str, &str)]| {
        let runners = runners(&Project::of(files), None).remove(0);
        runners[0]
            .before
            .iter()
            .map(|argv| argv.join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        before(&[("CMakeLists.txt", "")]),
        ["cmake -S . -B build", "cmake --build build"]
    );
    let configured = [("CMakeLists.txt", ""), ("build/CTestTestfile.cmake", "")];
    assert_eq!(before(&configured), ["cmake --build build"]);
}

#[test]
fn every_language_of_a_project_is_told() {
    let files = [
        ("Cargo.toml", ""),
        ("package.json", PACKAGE_OF_VITEST),
        ("test_a.py", ""),
    ];
    let groups = runners(&Project::of(&files), None);
    let programs: Vec<&str> = groups.iter().map(|group| group[0].program).collect();
    assert_eq!(programs, ["cargo test", "pytest", "vitest"]);
}
