//! The receipts of checks: which check ran, started by the run or by the agent, on what, how it
//! ended, and whether the work has changed since.
//!
//! A fold over the calls of one agent and the checks of its work. Whether a call changed files
//! follows from what it may write and, for a command, from its text; where that is not certain, the
//! work counts as changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checks::{Changes, Reading, read};
use crate::event::{AdoptedWork, ErrorKind, Event, ToolOutcome, VerifyScope};
use crate::ids::{CallId, Oid};
use crate::text::truncate;

/// The maximum number of receipts that are kept of one task: the newest.
const MAX_RECEIPTS: usize = 8;
/// The maximum number of characters of a command in a receipt.
const COMMAND_CHARS: usize = 200;

/// The tool that runs the project's tests.
const RUN_TESTS: &str = "run_tests";
/// The tool that runs a command line.
const RUN_COMMAND: &str = "run_shell_command";

/// The origin of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckedBy {
    /// The agent, in its worktree.
    Agent,
    /// The run, on a whole tree.
    Run,
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// Nothing against the work: it has failed and passed on this very tree.
    Flaky,
    /// Nothing: its end was not observed, something else in its command replaced its exit code, or
    /// it ran no test.
    Unknown,
}

/// One run of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CheckReceipt {
    /// The command.
    pub command: String,
    /// Its origin.
    pub by: CheckedBy,
    /// The tree that it ran on; `None` for the agent's worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// Its verdict.
    pub verdict: CheckVerdict,
    /// How it ended, in words: `exit 1`, `timed out`.
    pub exit: String,
    /// Whether the work may have changed since.
    pub outdated: bool,
}

/// The receipts of one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckReceipts {
    /// Oldest first.
    receipts: Vec<CheckReceipt>,
    /// The checks that have started.
    open: BTreeMap<CallId, OpenCheck>,
}

/// A check that has started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OpenCheck {
    command: String,
    is_exact: bool,
    /// Whether the work may have changed since it started.
    outdated: bool,
}

impl CheckReceipts {
    /// Returns the receipts, oldest first.
    pub(crate) fn all(&self) -> &[CheckReceipt] {
        &self.receipts
    }

    /// Applies an event of the task; `changes_files` says whether a tool can change files, and
    /// `checks` are the commands that check the task.
    pub(crate) fn apply(
        &mut self,
        event: &Event,
        changes_files: impl Fn(&str) -> bool,
        checks: &[&str],
    ) {
        match event {
            Event::ToolStarted {
                call_id,
                tool,
                arguments,
                writes,
                deletes,
                ..
            } => {
                let names = !writes.is_empty() || !deletes.is_empty();
                match of_call(tool, arguments, checks) {
                    Some((Reading::Check { is_exact, changes }, command)) => {
                        if changes != Changes::Never {
                            self.outdate();
                        }
                        let outdated = changes == Changes::After;
                        self.open.insert(
                            call_id.clone(),
                            OpenCheck {
                                command,
                                is_exact,
                                outdated,
                            },
                        );
                    }
                    Some((Reading::Reads, _)) => {}
                    Some((Reading::MayChange, _)) => self.outdate(),
                    None if names || changes_files(tool) => self.outdate(),
                    None => {}
                }
            }
            Event::ToolFinished {
                call_id,
                outcome,
                error_class,
                exit_code,
                ..
            } => {
                self.finished(call_id, (*outcome, *error_class), *exit_code);
            }
            Event::WorktreePrepared { onto: Some(_), .. } => self.outdate(),
            Event::TaskCommitted { tree, .. } | Event::WorkAdopted(AdoptedWork { tree, .. }) => {
                // The run's checks are of a tree.
                let others = self
                    .receipts
                    .iter_mut()
                    .filter(|receipt| receipt.tree.is_some());
                for receipt in others {
                    receipt.outdated = receipt.tree.as_ref() != Some(tree);
                }
            }
            Event::VerifyFinished {
                scope: VerifyScope::Target,
                ..
            } => {}
            Event::VerifyFinished {
                tree,
                command,
                passed,
                exit,
                ..
            } => self.push(CheckReceipt {
                command: truncate(command, COMMAND_CHARS),
                by: CheckedBy::Run,
                tree: Some(tree.clone()),
                verdict: if *passed {
                    CheckVerdict::Passed
                } else {
                    CheckVerdict::Failed
                },
                exit: exit.clone(),
                outdated: false,
            }),
            Event::CheckFlaky(flaky) => {
                self.note_flaky(&flaky.tree, &truncate(&flaky.command, COMMAND_CHARS))
            }
            _ => {}
        }
    }

    /// Withdraws what a check on a tree says against the work, since it has passed there, too.
    fn note_flaky(&mut self, tree: &Oid, command: &str) {
        for receipt in &mut self.receipts {
            if receipt.tree.as_ref() == Some(tree)
                && receipt.command == command
                && receipt.verdict == CheckVerdict::Failed
            {
                receipt.verdict = CheckVerdict::Flaky;
            }
        }
    }

    fn finished(
        &mut self,
        call: &CallId,
        outcome: (ToolOutcome, Option<ErrorKind>),
        exit_code: Option<i32>,
    ) {
        let Some(OpenCheck {
            command,
            is_exact,
            outdated,
        }) = self.open.remove(call)
        else {
            return;
        };
        let (verdict, exit) = match (outcome, exit_code) {
            // It did not run: it was refused, or its arguments were at fault.
            ((ToolOutcome::Denied, _), _) | ((_, Some(ErrorKind::Retry)), None) => return,
            // Its runner ran, but its pattern matches no test.
            ((_, Some(ErrorKind::Retry)), Some(_)) => {
                (CheckVerdict::Unknown, "no test matched".to_owned())
            }
            ((ToolOutcome::Interrupted, _), _) => (CheckVerdict::Unknown, "interrupted".to_owned()),
            ((ToolOutcome::TimedOut, _), _) => (CheckVerdict::Failed, "timed out".to_owned()),
            ((ToolOutcome::Ok, _), None | Some(0)) if is_exact => {
                (CheckVerdict::Passed, "exit 0".to_owned())
            }
            ((ToolOutcome::Ok, _), None | Some(0)) => (CheckVerdict::Unknown, "exit 0".to_owned()),
            (_, Some(code)) => (CheckVerdict::Failed, format!("exit {code}")),
            (_, None) => (CheckVerdict::Failed, "failed".to_owned()),
        };
        self.push(CheckReceipt {
            command,
            by: CheckedBy::Agent,
            tree: None,
            verdict,
            exit,
            outdated,
        });
    }

    /// Records that the agent's files may have changed.
    fn outdate(&mut self) {
        let own = self
            .receipts
            .iter_mut()
            .filter(|receipt| receipt.by == CheckedBy::Agent);
        for receipt in own {
            receipt.outdated = true;
        }
        // Calls of one turn may run side by side.
        for open in self.open.values_mut() {
            open.outdated = true;
        }
    }

    fn push(&mut self, receipt: CheckReceipt) {
        self.receipts.push(receipt);
        let surplus = self.receipts.len().saturating_sub(MAX_RECEIPTS);
        self.receipts.drain(..surplus);
    }
}

/// Reads a call that runs a command or the tests; `None` for any other tool.
fn of_call(tool: &str, arguments: &Value, checks: &[&str]) -> Option<(Reading, String)> {
    let name = if tool == RUN_TESTS {
        "test_pattern"
    } else {
        "command"
    };
    let text = arguments
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default();
    match tool {
        RUN_TESTS => {
            let command = format!("{RUN_TESTS} {text}");
            Some((
                Reading::Check {
                    is_exact: true,
                    changes: Changes::Never,
                },
                truncate(command.trim(), COMMAND_CHARS),
            ))
        }
        RUN_COMMAND => Some((read(text, checks), truncate(text, COMMAND_CHARS))),
        _ => None,
    }
}
