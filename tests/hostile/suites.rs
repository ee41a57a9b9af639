//! Finds the test programs that contain attacks: asks cargo for all test programs, and each of them
//! for its tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use serde_json::Value;

use super::who::User;
use crate::support::{Outcome, REQUIRE, fail, workspace_cargo};

/// The modules that contain attacks: each test in one of them is a row of the table. The tests of
/// decisions start nothing.
const MODULES: [&str; 4] = ["attack::", "attacks::", "hostile::", DECISIONS];
pub(super) const DECISIONS: &str = "policy::";
/// The test program that contains only attacks, except for its module [`NO_ATTACK`], which tests
/// what has to work in a sandbox.
const CANARIES: &str = "canaries";
const NO_ATTACK: &str = "usable::";
/// The module of the table's own tests. It has to be skipped, since its name contains `attacks::`
/// and a test program looks for a pattern anywhere in a name.
const THE_TABLE: &str = "table_of_attacks::";

/// A test program and which of its tests are attacks.
pub(super) struct Suite {
    pub(super) program: PathBuf,
    /// The package's folder: its tests are started there, and it contains their sources.
    pub(super) package: PathBuf,
    /// The arguments that select tests; the program is started once for each element.
    chosen: Vec<Vec<String>>,
    /// The names of the selected tests.
    pub(super) tests: Vec<String>,
}

/// Builds this workspace's test programs and returns those that contain attacks.
pub(super) fn all() -> Result<Vec<Suite>, Failed> {
    let mut cargo = workspace_cargo(&["test", "--no-run", "--message-format=json"]);
    let built = cargo.stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return fail("the tests cannot be built");
    }
    let mut suites = Vec::new();
    for line in String::from_utf8(built.stdout)?.lines() {
        let artifact: Value = serde_json::from_str(line)?;
        if artifact["profile"]["test"] != Value::Bool(true) {
            continue;
        }
        let (Some(program), Some(manifest)) = (artifact["executable"].as_str(), artifact["manifest_path"].as_str())
        else {
            continue;
        };
        let package = Path::new(manifest).parent().ok_or("a manifest without a folder")?;
        let is_canaries = artifact["target"]["name"] == CANARIES;
        let chosen = if is_canaries {
            vec![vec!["--skip".to_owned(), NO_ATTACK.to_owned()]]
        } else {
            MODULES.map(|module| vec![module.to_owned()]).to_vec()
        };
        let suite = Suite::new(PathBuf::from(program), package.to_owned(), chosen)?;
        suites.extend((!suite.tests.is_empty()).then_some(suite));
    }
    if suites.is_empty() { fail("no test program holds an attack") } else { Ok(suites) }
}

impl Suite {
    /// Returns this program with those of its tests whose names contain a word.
    pub(super) fn own(word: &str) -> Result<Self, Failed> {
        let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        Self::new(std::env::current_exe()?, package, vec![vec![word.to_owned()]])
    }

    fn new(program: PathBuf, package: PathBuf, chosen: Vec<Vec<String>>) -> Result<Self, Failed> {
        let mut suite = Self { program, package, chosen: Vec::new(), tests: Vec::new() };
        for mut arguments in chosen {
            arguments.extend(["--skip".to_owned(), THE_TABLE.to_owned()]);
            let listed = Command::new(&suite.program).args(&arguments).arg("--list").output()?;
            let text = String::from_utf8(listed.stdout)?;
            let names: Vec<_> =
                text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect();
            if !names.is_empty() {
                suite.tests.extend(names);
                suite.chosen.push(arguments);
            }
        }
        suite.tests.sort();
        suite.tests.dedup();
        Ok(suite)
    }

    /// Returns the name of the package's folder, or `program` for the root package.
    pub(super) fn name(&self) -> String {
        let is_root = self.package == Path::new(env!("CARGO_MANIFEST_DIR"));
        if is_root { "program".to_owned() } else { self.package.file_name().unwrap_or_default().display().to_string() }
    }

    /// Runs the attacks and returns what was printed.
    pub(super) fn run(&self, user: &User) -> Result<String, Failed> {
        let mut printed = String::new();
        for arguments in &self.chosen {
            let mut command = user.command(&self.program);
            // So a test that cannot run is reported as ignored, and is distinguished from one that fails.
            command.args(arguments).env_remove(REQUIRE).current_dir(&self.package).stdin(Stdio::null());
            let ran = command.output()?;
            printed.push_str(&String::from_utf8_lossy(&ran.stdout));
        }
        Ok(printed)
    }
}

pub(super) fn the_table_is_no_row_of_itself() -> Outcome {
    let tests = Suite::own("attacks::")?.tests;
    let own = tests.iter().filter(|test| test.starts_with(THE_TABLE)).count();
    if own == 0 && !tests.is_empty() { Ok(()) } else { fail(tests.join("\n")) }
}
