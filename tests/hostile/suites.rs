//! Finds the test programs whose tests the table shows: asks cargo for all test programs, and each
//! of them for its tests. Runs these tests: the attacks, and the tests elsewhere that the catalogue
//! of attacks names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use serde_json::Value;

use super::who::User;
use crate::support::{Outcome, PLACE, REQUIRE, workspace_cargo};

/// The modules that contain attacks: each test in one of them is a row of the table. The tests of
/// decisions start nothing.
const MODULES: [&str; 4] = ["attack::", "attacks::", "hostile::", DECISIONS];
pub(super) const DECISIONS: &str = "policy::decision::";
/// The test program that contains only attacks, except for its module [`NO_ATTACK`], which tests
/// what has to work in a sandbox.
const CANARIES: &str = "canaries";
const NO_ATTACK: &str = "usable::";
/// The module of the table's own tests, which are no attacks although its name contains
/// `attacks::`.
const THE_TABLE: &str = "table_of_attacks::";

/// A test program and which of its tests are rows of the table.
pub(super) struct Suite {
    pub(super) program: PathBuf,
    /// The package's folder: the tests are started there, and it contains their sources.
    pub(super) package: PathBuf,
    /// The program's main file.
    pub(super) source: PathBuf,
    /// The names of the tests that are run.
    pub(super) tests: Vec<String>,
    /// Those of them that are in no module of attacks, and are run since the catalogue names them.
    pub(super) plain: BTreeSet<String>,
}

/// Builds this workspace's test programs and returns those that contain attacks, or tests that are
/// named: that function receives the program's main file and the test's name.
pub(super) fn all(is_named: impl Fn(&Path, &str) -> bool) -> Result<Vec<Suite>, Failed> {
    let mut cargo = workspace_cargo(&["test", "--no-run", "--message-format=json"]);
    let built = cargo.stderr(Stdio::inherit()).output()?;
    assert!(built.status.success(), "the tests cannot be built");
    let mut suites = Vec::new();
    for line in String::from_utf8(built.stdout)?.lines() {
        let artifact: Value = serde_json::from_str(line)?;
        if artifact["profile"]["test"] != Value::Bool(true) {
            continue;
        }
        let target = &artifact["target"];
        let (Some(program), Some(manifest), Some(source)) = (
            artifact["executable"].as_str(),
            artifact["manifest_path"].as_str(),
            target["src_path"].as_str(),
        ) else {
            continue;
        };
        let package = Path::new(manifest)
            .parent()
            .ok_or("a manifest without a folder")?;
        let mut suite = Suite::new(program, package, source);
        if target["name"] == CANARIES {
            suite.choose(
                listed(&mut Command::new(program))?,
                |test| !test.contains(NO_ATTACK),
                &is_named,
            );
        } else {
            suite.choose(listed(&mut Command::new(program))?, is_attack, &is_named);
        }
        suites.extend((!suite.tests.is_empty()).then_some(suite));
    }
    assert!(!suites.is_empty(), "no test program holds an attack");
    Ok(suites)
}

/// Reports whether a test is an attack, by its module.
fn is_attack(test: &str) -> bool {
    !test.starts_with(THE_TABLE) && MODULES.iter().any(|module| test.contains(*module))
}

/// Asks a program for the names of its tests.
fn listed(program: &mut Command) -> Result<Vec<String>, Failed> {
    // The tests are those of every place.
    let listed = program
        .arg("--list")
        .env_remove(PLACE)
        .stdin(Stdio::null())
        .output()?;
    assert!(listed.status.success(), "{program:?} lists no tests");
    let text = String::from_utf8(listed.stdout)?;
    Ok(text
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}

impl Suite {
    /// Returns this program with those of its tests whose names contain a word.
    pub(super) fn own(word: &str) -> Result<Self, Failed> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut suite = Self::new(
            std::env::current_exe()?,
            package,
            package.join("tests/main.rs"),
        );
        let tests = listed(&mut Command::new(&suite.program))?;
        suite.choose(
            tests,
            |test| !test.starts_with(THE_TABLE) && test.contains(word),
            |_, _| false,
        );
        Ok(suite)
    }

    /// Returns a program of which no test is chosen.
    pub(super) fn new(
        program: impl Into<PathBuf>,
        package: &Path,
        source: impl Into<PathBuf>,
    ) -> Self {
        Self {
            program: program.into(),
            package: package.to_owned(),
            source: source.into(),
            tests: Vec::new(),
            plain: BTreeSet::new(),
        }
    }

    /// Chooses the attacks and the named ones among the program's tests.
    pub(super) fn choose(
        &mut self,
        mut listed: Vec<String>,
        is_attack: impl Fn(&str) -> bool,
        is_named: impl Fn(&Path, &str) -> bool,
    ) {
        listed.sort();
        for test in listed {
            let is_plain = !is_attack(&test);
            if is_plain && !is_named(&self.source, &test) {
                continue;
            }
            if is_plain {
                self.plain.insert(test.clone());
            }
            self.tests.push(test);
        }
    }

    /// Returns the name of the package's folder, or `program` for the root package.
    pub(super) fn name(&self) -> String {
        let is_root = self.package == Path::new(env!("CARGO_MANIFEST_DIR"));
        if is_root {
            "program".to_owned()
        } else {
            self.package
                .file_name()
                .unwrap_or_default()
                .display()
                .to_string()
        }
    }

    /// Returns the arguments that select the chosen tests. They leave out all others, since our
    /// harness takes any number of tests to leave out and only one to run.
    fn arguments<'a>(&self, listed: &'a [String]) -> Vec<&'a str> {
        let mut arguments = vec!["--exact"];
        for test in listed.iter().filter(|test| !self.tests.contains(test)) {
            arguments.extend(["--skip", test.as_str()]);
        }
        arguments
    }

    /// Runs the chosen tests, all in one process, and returns what was printed.
    pub(super) fn run(&self, user: &User) -> Result<String, Failed> {
        // The user is asked again for all tests, since the name of one may differ for this user.
        let listed = listed(&mut user.command(&self.program))?;
        let mut command = user.command(&self.program);
        // So a test that cannot run is reported as ignored, and is distinguished from one that
        // fails.
        command
            .args(self.arguments(&listed))
            .env_remove(REQUIRE)
            .env_remove(PLACE);
        command.current_dir(&self.package).stdin(Stdio::null());
        Ok(String::from_utf8_lossy(&command.output()?.stdout).into_owned())
    }
}

pub(super) fn the_table_is_no_row_of_itself() -> Outcome {
    let tests = Suite::own("attacks::")?.tests;
    let own = tests
        .iter()
        .filter(|test| test.starts_with(THE_TABLE))
        .count();
    assert!(own == 0 && !tests.is_empty(), "{}", tests.join("\n"));
    Ok(())
}

pub(super) fn attacks_and_named_tests_are_chosen() -> Outcome {
    let mut suite = Suite::new("program", Path::new("/x"), "/x/tests/main.rs");
    let listed = [
        "table_of_attacks::a",
        "policy::decision::tests::a",
        "kill::b",
        "kill::a",
        "hostile::a",
    ]
    .map(str::to_owned);
    suite.choose(listed.to_vec(), is_attack, |source, test| {
        source.ends_with("tests/main.rs") && test == "kill::a"
    });
    let plain: Vec<&str> = suite.plain.iter().map(String::as_str).collect();
    let found = (
        suite.tests.join(" "),
        plain.join(" "),
        suite.arguments(&listed).join(" "),
    );
    let expected = (
        "hostile::a kill::a policy::decision::tests::a".to_owned(),
        "kill::a".to_owned(),
        "--exact --skip table_of_attacks::a --skip kill::b".to_owned(),
    );
    assert_eq!(found, expected);
    Ok(())
}
