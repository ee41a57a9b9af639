//! Which programs run a project's tests, decided from its files.

use super::candidate::{Candidate, words};
use super::products::{self, Products};
use super::project::{Language, Project};

/// Where a runner's report is, and its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The text of Rust's test programs.
    Libtest,
    /// JSON lines of nextest.
    Nextest,
    /// JUnit's XML on standard output.
    Junit,
    /// JUnit's XML on standard error, beside a text on standard output.
    JunitBeside,
    /// JUnit's XML in files below these folders, of the project and of its parts.
    JunitFiles(&'static [&'static str]),
    /// The text of Python's `unittest`, on standard error.
    Unittest,
    /// JSON of jest and vitest.
    Jest,
    /// JSON lines of `go test` in the module of this name.
    Go { module: String },
    /// None: only the exit code tells how the tests went.
    ExitCode,
}

pub(super) type Runner = Candidate<Report>;

const CARGO: &str = "cargo (from rustup.rs)";
const NEXTEST: &str = "cargo-nextest (`cargo install --locked cargo-nextest`)";
const PYTEST: &str = "pytest (`pip install pytest`)";
const PYTHON: &str = "python3 (from the system's packages)";
const NODE: &str = "node 20 or newer (from nodejs.org)";
const NPM_INSTALL: &str = "the project's packages (`npm install`)";
const GO: &str = "go (from go.dev)";
const MAVEN: &str = "maven (from the system's packages)";
const GRADLE: &str = "gradle (from gradle.org)";
const CMAKE: &str = "cmake (from the system's packages)";
const MAKE: &str = "make (from the system's packages)";

/// What CTest reads in a build folder that is configured.
const CTEST_MARK: &str = "CTestTestfile.cmake";
/// Where CTest writes its report, below the build folder.
const CTEST_REPORT: &str = "Testing/orchestrate.xml";

/// Returns, for each language of the project with tests, the programs that can run them, preferred
/// ones first.
pub(super) fn runners(project: &Project, pattern: Option<&str>) -> Vec<Vec<Runner>> {
    let mut by_language = Vec::new();
    for language in project.languages() {
        let runners = match language {
            Language::Rust => rust(project, pattern),
            Language::Go => vec![go(project, pattern)],
            Language::Python => python(project, pattern),
            Language::JavaScript => Vec::from_iter(javascript(project, pattern)),
            Language::Maven => vec![maven(project, pattern)],
            Language::Gradle => vec![gradle(project, pattern)],
            Language::CMake => vec![ctest(project, pattern)],
            Language::Make => Vec::from_iter(make(project)),
        };
        if !runners.is_empty() {
            by_language.push(runners);
        }
    }
    by_language
}

/// Reports whether a runner can run a part of the tests.
pub(super) fn takes_pattern(runner: &Runner) -> bool {
    runner.report != Report::ExitCode
}

fn with<'a>(argv: &[&'a str], more: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    argv.iter()
        .copied()
        .chain(more)
        .map(str::to_owned)
        .collect()
}

fn rust(project: &Project, pattern: Option<&str>) -> Vec<Runner> {
    // It runs no tests in documentation, so it is used only where the project is set up for it.
    let runner = if project.has(".config/nextest.toml") {
        let argv = ["cargo", "nextest", "run", "--no-fail-fast"];
        let format = ["--message-format", "libtest-json"];
        let argv = with(&argv, format.into_iter().chain(pattern));
        Candidate::new("cargo nextest", argv, NEXTEST, Report::Nextest)
            .setting(&[("NEXTEST_EXPERIMENTAL_LIBTEST_JSON", "1")])
            .versioned(&["cargo", "nextest", "--version"])
    } else {
        let argv = with(&["cargo", "test", "--no-fail-fast"], pattern);
        Candidate::new("cargo test", argv, CARGO, Report::Libtest)
    };
    vec![runner.making(products::CARGO)]
}

fn go(project: &Project, pattern: Option<&str>) -> Runner {
    let module = project
        .text("go.mod")
        .lines()
        .find_map(|line| line.trim().strip_prefix("module "));
    let module = module
        .unwrap_or_default()
        .trim()
        .trim_matches('"')
        .to_owned();
    let some = pattern.into_iter().flat_map(|pattern| ["-run", pattern]);
    let argv = with(&["go", "test", "-json"], some.chain(["./..."]));
    Candidate::new("go test", argv, GO, Report::Go { module }).versioned(&["go", "version"])
}

fn python(project: &Project, pattern: Option<&str>) -> Vec<Runner> {
    const MANIFESTS: &[&str] = &[
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "requirements.txt",
        "requirements-dev.txt",
    ];
    let python = project.python();
    let is_place =
        |pattern: &str| pattern.contains("::") || pattern.ends_with(".py") || project.has(pattern);
    let some: Vec<&str> = match pattern {
        Some(place) if is_place(place) => vec![place],
        Some(words) => vec!["-k", words],
        None => Vec::new(),
    };
    // A file of this kind cannot be replaced by another one.
    let mut options = vec!["-q", "--junit-xml=/proc/self/fd/2"];
    options.extend(some);
    let module = with(&[python, "-m", "pytest"], options.iter().copied());
    let module = Candidate::new("pytest", module, PYTEST, Report::JunitBeside);
    let mut pytest = vec![module.versioned(&[python, "-m", "pytest", "--version"])];
    if python == "python3" {
        // It may be installed with an interpreter of its own.
        let own = with(&["pytest"], options);
        pytest.push(Candidate::new("pytest", own, PYTEST, Report::JunitBeside));
    }
    let is_set_up = project
        .first(&[
            "pytest.ini",
            "conftest.py",
            "tests/conftest.py",
            "test/conftest.py",
        ])
        .is_some()
        || project.mentions(MANIFESTS, "pytest");
    if !is_set_up {
        pytest.push(unittest(project, pattern));
    }
    pytest
}

fn unittest(project: &Project, pattern: Option<&str>) -> Runner {
    let python = project.python();
    // Its search does not enter a folder that is no package.
    let mut options = Vec::new();
    for folder in ["tests", "test"] {
        if project.any_in(folder, is_test) && !project.has(&format!("{folder}/__init__.py")) {
            options.extend(["-s", folder]);
            break;
        }
    }
    if let Some(pattern) = pattern {
        options.extend(["-k", pattern]);
    }
    let argv = with(&[python, "-m", "unittest", "discover", "-v"], options);
    Candidate::new("unittest", argv, PYTHON, Report::Unittest)
}

fn is_test(name: &str) -> bool {
    name.starts_with("test") && name.ends_with(".py")
}

fn javascript(project: &Project, pattern: Option<&str>) -> Option<Runner> {
    let manifest: serde_json::Value =
        serde_json::from_str(project.text("package.json")).unwrap_or_default();
    let script = manifest
        .pointer("/scripts/test")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let some: Vec<&str> = match pattern {
        Some(name) if !is_file(&name) => vec!["-t", name],
        file => file.into_iter().collect(),
    };
    let words: Vec<&str> = script.split(|c: char| !c.is_alphanumeric()).collect();
    let is_nodes = script.contains("--test");
    let [vitest, jest] = ["vitest", "jest"].map(|name| depends_on(&manifest, name) && !is_nodes);
    let (name, own, options): (_, _, &[&str]) =
        if words.contains(&"vitest") || (vitest && !words.contains(&"jest")) {
            (
                "vitest",
                "node_modules/.bin/vitest",
                &["run", "--reporter=json"],
            )
        } else if words.contains(&"jest") || jest {
            ("jest", "node_modules/.bin/jest", &["--json"])
        } else {
            return node(project, script, pattern);
        };
    let program = project.first(&[own]).unwrap_or(name);
    let argv = with(&[&[program][..], options].concat(), some);
    Some(Candidate::new(name, argv, NPM_INSTALL, Report::Jest))
}

/// Reports whether a manifest of npm names a package that it needs.
fn depends_on(manifest: &serde_json::Value, package: &str) -> bool {
    ["dependencies", "devDependencies"]
        .iter()
        .any(|key| manifest.pointer(&format!("/{key}/{package}")).is_some())
}

fn is_file(pattern: &&str) -> bool {
    pattern.contains('/') || pattern.ends_with("js") || pattern.ends_with("ts")
}

fn is_test_of_node(name: &str) -> bool {
    [".test.js", ".test.mjs", ".test.cjs"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Returns Node's own runner if the script starts it, or there are tests without a script; else the
/// script itself.
fn node(project: &Project, script: &str, pattern: Option<&str>) -> Option<Runner> {
    let has_tests = ["", "test", "tests", "src"]
        .iter()
        .any(|folder| project.any_in(folder, is_test_of_node));
    let own: Option<Vec<&str>> = match script.split_whitespace().collect::<Vec<_>>().split_first() {
        None if has_tests => Some(vec!["--test"]),
        Some((&"node", rest)) if rest.contains(&"--test") && script.chars().all(is_plain) => {
            Some(rest.to_vec())
        }
        _ => None,
    };
    if let Some(own) = own.filter(|own| !own.iter().any(|word| word.contains('*'))) {
        let some = pattern.map(|pattern| format!("--test-name-pattern={pattern}"));
        let argv = with(
            &["node", "--test-reporter=junit"],
            some.as_deref().into_iter().chain(own),
        );
        return Some(Candidate::new("node", argv, NODE, Report::Junit));
    }
    let is_script = !script.is_empty() && !script.contains("no test specified");
    is_script.then(|| Candidate::new("npm test", words(&["npm", "test"]), NODE, Report::ExitCode))
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || " -_./=:@*".contains(c)
}

fn maven(project: &Project, pattern: Option<&str>) -> Runner {
    let program = own_or(project, &["sh", "mvnw"], &["mvn"]);
    let some = pattern.map(|pattern| format!("-Dtest={pattern}"));
    let options = ["-B", "-Dstyle.color=never", "--fail-at-end", "test"];
    let argv = with(program, options.into_iter().chain(some.as_deref()));
    let report = Report::JunitFiles(&["target/surefire-reports"]);
    Candidate::new("maven", argv, MAVEN, report)
        .versioned(&[program, &["--version"]].concat())
        .making(Products {
            folders: &["target"],
            marks: &["pom.xml"],
            files: &[],
        })
}

/// Returns the project's own script for a shell, or else the program that is installed.
fn own_or<'a>(project: &Project, own: &'a [&'a str], installed: &'a [&'a str]) -> &'a [&'a str] {
    match own {
        [_, script] if project.has(script) => own,
        _ => installed,
    }
}

fn gradle(project: &Project, pattern: Option<&str>) -> Runner {
    let program = own_or(project, &["sh", "gradlew"], &["gradle"]);
    let some = pattern.into_iter().flat_map(|pattern| ["--tests", pattern]);
    // Results of an earlier build would not be written again.
    let options = [
        "--no-daemon",
        "--console=plain",
        "--continue",
        "cleanTest",
        "test",
    ];
    let argv = with(program, options.into_iter().chain(some));
    Candidate::new(
        "gradle",
        argv,
        GRADLE,
        Report::JunitFiles(&["build/test-results"]),
    )
    .versioned(&[program, &["--version"]].concat())
    .making(Products {
        folders: &["build", ".gradle"],
        marks: &["build.gradle", "build.gradle.kts"],
        files: &[],
    })
}

fn ctest(project: &Project, pattern: Option<&str>) -> Runner {
    let some = pattern.into_iter().flat_map(|pattern| ["-R", pattern]);
    let (build, folders, reports) = build_folder(project);
    let options = [
        "--test-dir",
        build,
        "--output-on-failure",
        "--output-junit",
        CTEST_REPORT,
    ];
    let argv = with(&["ctest"], options.into_iter().chain(some));
    let configuration = words(&["cmake", "-S", ".", "-B", build]);
    let is_configured = project.has(&format!("{build}/{CTEST_MARK}"));
    let compilation = words(&["cmake", "--build", build]);
    let before = if is_configured {
        vec![compilation]
    } else {
        vec![configuration, compilation]
    };
    let ctest = Candidate::new("ctest", argv, CMAKE, Report::JunitFiles(reports));
    Candidate {
        before,
        ..ctest.making(Products {
            folders,
            ..Products::default()
        })
    }
}

/// Returns the folder to build in, as one of its products and with its folder of reports: `build`,
/// unless that holds files that git does not ignore.
fn build_folder(
    project: &Project,
) -> (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
) {
    let holds_files = project.has("build") && project.any_in("build", |name| name != CTEST_MARK);
    if holds_files {
        (".ctest-build", &[".ctest-build"], &[".ctest-build/Testing"])
    } else {
        ("build", &["build"], &["build/Testing"])
    }
}

fn make(project: &Project) -> Option<Runner> {
    let makefile = project.text(project.makefile()?);
    let rules = makefile.lines().filter_map(|line| line.split_once(':'));
    let targets: Vec<&str> = rules.map(|(target, _)| target).collect();
    let target = ["test", "check"]
        .into_iter()
        .find(|target| targets.contains(target))?;
    let argv = words(&["make", target]);
    Some(Candidate::new("make", argv, MAKE, Report::ExitCode))
}

#[cfg(test)]
mod tests;
