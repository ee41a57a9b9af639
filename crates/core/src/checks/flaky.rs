//! How often a check is tried on one tree before its result counts: one that fails at random must
//! cost no agent work.
//!
//! A red check is tried again on the very tree (`verify_retries`). Red and green on one tree mean
//! that the check is *flaky*: the tree counts as green, and no result of that check is evidence
//! against work. Once a command has been seen flaky in a run, each red tree gets [`MORE_TRIES`]
//! more tries. Before that, a merged tree that stays red has the branch that it was merged into
//! tried once, which was green before: red there shows that the check is flaky, too. The results
//! are facts; this module only counts them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::collections::{SharedMap, SharedSet, update};
use crate::ids::{BlobId, Oid, TaskId};

/// How many more tries a red tree gets once its check has been seen flaky in the run: with them, a
/// check that fails at random 40% of the time is believed wrongly about once in a hundred times.
pub const MORE_TRIES: u32 = 3;

/// The result of one try of a check on a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyResult {
    /// Whether it passed.
    pub passed: bool,
    /// How it ended, in words.
    pub exit: String,
    /// Its output.
    pub output: BlobId,
}

/// The consequence of a task's own check that has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AfterRedCheck {
    /// It is tried again on the very work.
    TryAgain,
    /// The work is to blame; these are the tries, oldest first.
    Blame(Vec<VerifyResult>),
}

/// A check that failed and passed on one tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FlakyCheck {
    /// The task whose work was checked; `None` for the base of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The command.
    pub command: String,
    /// The tree.
    pub tree: Oid,
    /// How it failed, in words.
    pub exit: String,
    /// The output of the try that failed.
    pub output: BlobId,
}

/// The tries of a check on one tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CheckTries {
    red: Vec<VerifyResult>,
    green: Option<VerifyResult>,
}

/// The result of a check by all its tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TriedCheck {
    /// It is to be tried, or tried again.
    Open,
    /// It has passed.
    Green,
    /// It has failed each time.
    Red,
}

impl CheckTries {
    fn add(&mut self, result: VerifyResult) {
        if result.passed {
            self.green.get_or_insert(result);
        } else {
            self.red.push(result);
        }
    }

    /// Returns the result that counts: once it has passed, no failure does.
    pub(crate) fn result(&self) -> Option<&VerifyResult> {
        self.green.as_ref().or(self.red.last())
    }

    /// Returns the tries that failed, oldest first.
    pub(crate) fn red(&self) -> &[VerifyResult] {
        &self.red
    }
}

/// The object of a check: a tree, or the work that a task has handed over last, in its worktree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Checked {
    Tree(Oid, String),
    Work(TaskId),
}

/// The results of the checks of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CheckResults {
    tries: SharedMap<Checked, CheckTries>,
    /// The commands that have been seen flaky.
    commands: SharedSet<String>,
    /// Each flaky check of a tree, oldest first.
    flaky: Arc<Vec<FlakyCheck>>,
    /// How many of them have been announced.
    announced: usize,
}

/// A try of a check that has ended.
pub(crate) struct Try<'a> {
    /// The task whose work was checked; `None` for the base of the run.
    pub(crate) task: Option<&'a TaskId>,
    /// The tree.
    pub(crate) tree: &'a Oid,
    /// The command.
    pub(crate) command: &'a str,
    /// Its result.
    pub(crate) result: VerifyResult,
}

impl CheckResults {
    /// Adds a try on a tree that is checked out for that.
    pub(crate) fn add(&mut self, tried: Try<'_>) {
        self.add_to(
            &Checked::Tree(tried.tree.clone(), tried.command.to_owned()),
            tried,
        );
    }

    /// Adds a try of a task's own check, in its worktree.
    pub(crate) fn add_own(&mut self, task: &TaskId, tried: Try<'_>) {
        self.add_to(&Checked::Work(task.clone()), tried);
    }

    fn add_to(
        &mut self,
        checked: &Checked,
        Try {
            task,
            tree,
            command,
            result,
        }: Try<'_>,
    ) {
        update(&mut self.tries, checked.clone(), |tries| tries.add(result));
        let tries = self.tries.get(checked);
        let Some(red) = tries
            .filter(|tries| tries.green.is_some())
            .and_then(|tries| tries.red.last())
        else {
            return;
        };
        let seen = FlakyCheck {
            task: task.cloned(),
            command: command.to_owned(),
            tree: tree.clone(),
            exit: red.exit.clone(),
            output: red.output.clone(),
        };
        for known in self.flaky.iter() {
            if known.tree == seen.tree && known.command == seen.command {
                return;
            }
        }
        self.commands.insert_mut(seen.command.clone(), ());
        Arc::make_mut(&mut self.flaky).push(seen);
    }

    /// Forgets the tries of a task's own check, since it hands over new work.
    pub(crate) fn forget_own(&mut self, task: &TaskId) {
        self.tries.remove_mut(&Checked::Work(task.clone()));
    }

    /// Forgets the tries of a check on a tree, since what made it fail may have been mended outside
    /// of the repository.
    pub(crate) fn forget(&mut self, tree: &Oid, command: &str) {
        self.tries
            .remove_mut(&Checked::Tree(tree.clone(), command.to_owned()));
    }

    /// Returns the tries of a check on a tree.
    pub(crate) fn for_tree(&self, tree: &Oid, command: &str) -> Option<&CheckTries> {
        self.tries
            .get(&Checked::Tree(tree.clone(), command.to_owned()))
    }

    /// Returns the tries of a task's own check on the work that it has handed over.
    pub(crate) fn of_work(&self, task: &TaskId) -> Option<&CheckTries> {
        self.tries.get(&Checked::Work(task.clone()))
    }

    /// Returns what tries of a check say, if a red check is tried again this often; with 0, never.
    pub(crate) fn judge(
        &self,
        tries: Option<&CheckTries>,
        command: &str,
        retries: u32,
    ) -> TriedCheck {
        let Some(tries) = tries else {
            return TriedCheck::Open;
        };
        let allowed = self.allowed(command, retries);
        if tries.green.is_some() {
            TriedCheck::Green
        } else if u32::try_from(tries.red.len()).unwrap_or(u32::MAX) < allowed {
            TriedCheck::Open
        } else {
            TriedCheck::Red
        }
    }

    /// Returns how often a check may fail on one tree before its result counts.
    pub(crate) fn allowed(&self, command: &str, retries: u32) -> u32 {
        let more = if retries > 0 && self.is_flaky(command) {
            MORE_TRIES
        } else {
            0
        };
        retries.saturating_add(more).saturating_add(1)
    }

    /// Reports whether a command has been seen flaky in the run.
    pub(crate) fn is_flaky(&self, command: &str) -> bool {
        self.commands.contains_key(command)
    }

    /// Returns each flaky check of a tree, oldest first.
    pub(crate) fn flaky(&self) -> &[FlakyCheck] {
        &self.flaky
    }

    /// Returns those that no event has announced yet.
    pub(crate) fn unannounced(&self) -> &[FlakyCheck] {
        self.flaky.get(self.announced..).unwrap_or(&[])
    }

    /// Counts an announcement.
    pub(crate) fn announced(&mut self) {
        self.announced = self.flaky.len().min(self.announced + 1);
    }
}

/// The result of the base's check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum BaseResult {
    /// It has none.
    #[default]
    Unknown,
    /// It passed.
    Passed,
    /// It failed.
    Failed(RedBase),
    /// It failed, and is tried again.
    FailedSoFar,
}

/// How the check of a base has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedBase {
    /// The tree.
    pub tree: Oid,
    /// The command.
    pub command: String,
    /// How it ended, in words.
    pub exit: String,
    /// Its output.
    pub output: Option<BlobId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(passed: bool) -> VerifyResult {
        VerifyResult {
            passed,
            exit: "exit code 1".to_owned(),
            output: "output".into(),
        }
    }

    /// Returns the results of these tries, `+` or `-`, of the check `c` on a tree.
    fn tried(results: &mut CheckResults, tree: &str, tries: &str) -> &'static str {
        let tree = Oid::from(tree);
        for passed in tries.chars().map(|mark| mark == '+') {
            results.add(Try {
                task: None,
                tree: &tree,
                command: "c",
                result: result(passed),
            });
        }
        match results.judge(results.for_tree(&tree, "c"), "c", 1) {
            TriedCheck::Open => "open",
            TriedCheck::Green => "green",
            TriedCheck::Red => "red",
        }
    }

    #[test]
    fn a_check_once_seen_flaky_gets_more_tries() {
        let table = [
            ("", "open"),
            ("-", "open"),
            ("+", "green"),
            ("--", "red"),
            ("-+", "green"),
            ("+-", "green"),
        ];
        for (tries, expected) in table {
            let mut results = CheckResults::default();
            assert_eq!(tried(&mut results, "tree", tries), expected, "{tries}");
            assert_eq!(
                results.is_flaky("c"),
                tries.contains('+') && tries.contains('-'),
                "{tries}"
            );
        }
        let mut results = CheckResults::default();
        assert_eq!(tried(&mut results, "before", "--"), "red");
        tried(&mut results, "flaky", "-+");
        // It is open again, although it was judged before.
        assert_eq!(tried(&mut results, "before", ""), "open");
        for (tries, expected) in [
            ("--", "open"),
            ("---", "open"),
            ("----", "open"),
            ("-----", "red"),
        ] {
            assert_eq!(tried(&mut results, tries, tries), expected, "{tries}");
        }
        assert!(!results.is_flaky("another"));
        // Without retries nothing is tried again, whatever is known.
        let tree = Oid::from("-");
        results.add(Try {
            task: None,
            tree: &tree,
            command: "c",
            result: result(false),
        });
        assert_eq!(
            results.judge(results.for_tree(&tree, "c"), "c", 0),
            TriedCheck::Red
        );
    }

    #[test]
    fn each_flaky_tree_is_announced_once() {
        let mut results = CheckResults::default();
        for tree in ["a", "b", "a"] {
            tried(&mut results, tree, "-+");
        }
        let trees: Vec<&str> = results
            .unannounced()
            .iter()
            .map(|flaky| flaky.tree.as_str())
            .collect();
        assert_eq!(trees, ["a", "b"]);
        results.announced();
        assert_eq!(results.unannounced().len(), 1);
        for _ in 0..5 {
            results.announced();
        }
        assert!(results.unannounced().is_empty() && results.flaky().len() == 2);
    }
}
