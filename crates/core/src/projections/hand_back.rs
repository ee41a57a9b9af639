//! The result that a task hands back to its parent and to people: one value, from the agent's
//! words and from the facts.
//!
//! The agent gives a summary and open questions. Everything else follows from what was recorded,
//! and so does whether the agent's claims hold: a claim that the facts do not bear out is shown
//! with the reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::AgentId;
use crate::record::{AfterFault, CheckReceipt, CheckVerdict, CheckedBy, TaskRecord};
use crate::run::RunState;
use crate::task::{
    ChangedPath, ClaimKind, EndCause, FailureCause, ReturnCause, TaskError, TaskState, Verify,
    claims, has_claims_line, open_questions,
};
use crate::text::invisible::shown;
use crate::text::truncate;

/// The maximum number of characters of a summary: several of them fit into one result.
const MAX_SUMMARY_CHARS: usize = 2_000;

/// How a task's work has ended, or that it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It has not ended.
    Working,
    /// The work was handed over.
    Done,
    /// There was nothing to do.
    NothingToDo,
    /// The agent had no turns left.
    OutOfTurns,
    /// The agent had no tokens left.
    OutOfTokens,
    /// The agent had no money left.
    OutOfMoney,
    /// The agent had no time left.
    OutOfTime,
    /// It failed for another cause.
    Failed,
    /// It could not be merged.
    NotMerged,
    /// It was cancelled.
    Cancelled,
    /// A task that it depends on did not succeed.
    Skipped,
}

/// A reason to doubt a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[serde(tag = "doubt", rename_all = "snake_case")]
pub enum Doubt {
    /// No check ran.
    #[error("no check ran")]
    NoCheck,
    /// The work changed after the check.
    #[error("`{command}` ran before the last change")]
    Outdated {
        /// The check.
        command: String,
    },
    /// The newest check failed.
    #[error("`{command}` ended with {exit}")]
    CheckFailed {
        /// The check.
        command: String,
        /// How it ended.
        exit: String,
    },
    /// The exit code of the command is not that of a check that ran.
    #[error(
        "the result of `{command}` is not known: its exit code is not that of a check that ran"
    )]
    UnknownResult {
        /// The command.
        command: String,
    },
    /// Existing tests were changed or deleted, and the report does not name them.
    #[error("it changed or deleted existing tests that its report does not name: \
             {}", files.join(", "))]
    TestsChanged {
        /// The tests.
        files: Vec<String>,
    },
    /// The work changes nothing.
    #[error("its work changes no file")]
    NoChanges,
    /// The report does not say what it claims.
    #[error("its report has no line `Claims:`")]
    NoClaimsLine,
}

/// A claim that the facts do not bear out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnverifiedClaim {
    /// Its subject.
    pub claim: ClaimKind,
    /// The words of the report; empty if the claim is only that the work has ended.
    pub said: String,
    /// The reasons to doubt it.
    pub why: Vec<Doubt>,
}

impl UnverifiedClaim {
    /// Reports whether nothing speaks against the report but that it does not say what it claims.
    fn is_only_unsaid(&self) -> bool {
        self.why == [Doubt::NoClaimsLine]
    }
}

impl std::fmt::Display for UnverifiedClaim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let why: Vec<String> = self
            .why
            .iter()
            .map(|doubt| shown(&doubt.to_string()))
            .collect();
        let said = if self.said.is_empty() {
            "done".to_owned()
        } else {
            shown(&self.said)
        };
        write!(f, "\"{said}\": {}", why.join("; "))
    }
}

/// A child of the task's agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildOutcome {
    /// The child.
    pub agent_id: AgentId,
    /// How its work has ended.
    pub outcome: Outcome,
}

/// The resources that a task has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsedUp {
    /// Tokens, of requests and replies.
    pub tokens: u64,
    /// Micro-dollars; `None` if a price is not known.
    pub micro_usd: Option<u64>,
    /// Requests answered.
    pub turns: u32,
    /// Milliseconds worked on the newest attempt.
    pub worked_ms: u64,
}

/// What becomes of work because of what its report claims.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
pub enum AfterClaims {
    /// It is taken.
    Take,
    /// It is returned to its agent with what the facts do not bear out.
    Return(Vec<UnverifiedClaim>),
    /// Its task fails because of these.
    Fail(Vec<UnverifiedClaim>),
}

/// The result that a task hands back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandBack {
    /// The agent, whose id is its task's.
    pub agent_id: AgentId,
    /// How its work has ended.
    pub outcome: Outcome,
    /// Why it did not succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// The agent's report or, without one, what the facts say.
    pub summary: String,
    /// Whether the summary is the agent's.
    pub by_agent: bool,
    /// The decisions that it leaves to others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_questions: Vec<String>,
    /// The claims that the facts do not bear out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<UnverifiedClaim>,
    /// The files that its work changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ChangedPath>,
    /// How many other files it changes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_files: usize,
    /// The existing tests that it changes or deletes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_tests: Vec<String>,
    /// The newest checks, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckReceipt>,
    /// The resources that it used.
    pub usage: UsedUp,
    /// The agents that it spawned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildOutcome>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde requires"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Outcome {
    /// Returns how the work has ended, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Working => "not ended",
            Self::Done => "done",
            Self::NothingToDo => "nothing to do",
            Self::OutOfTurns => "out of turns",
            Self::OutOfTokens => "out of tokens",
            Self::OutOfMoney => "out of money",
            Self::OutOfTime => "out of time",
            Self::Failed => "failed",
            Self::NotMerged => "not merged",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    /// Reports whether the agent had used up what it needs.
    pub fn is_at_limit(self) -> bool {
        matches!(
            self,
            Self::OutOfTurns | Self::OutOfTokens | Self::OutOfMoney | Self::OutOfTime
        )
    }

    /// Returns the outcome of a task.
    pub fn from_record(record: &TaskRecord) -> Self {
        match record.state() {
            TaskState::Pending | TaskState::Ready | TaskState::Running | TaskState::Waiting => {
                Self::Working
            }
            TaskState::Committed
            | TaskState::Verified
            | TaskState::AwaitingReview
            | TaskState::Merged => Self::Done,
            TaskState::NothingToDo => Self::NothingToDo,
            TaskState::Conflicted => Self::NotMerged,
            TaskState::Skipped => Self::Skipped,
            TaskState::Cancelled => Self::Cancelled,
            TaskState::Failed => match record.error().map(|error| error.cause) {
                Some(EndCause::Failed(FailureCause::Turns)) => Self::OutOfTurns,
                Some(EndCause::Failed(FailureCause::Budget)) => Self::OutOfTokens,
                Some(EndCause::Failed(FailureCause::Cost)) => Self::OutOfMoney,
                Some(EndCause::Failed(FailureCause::Timeout)) => Self::OutOfTime,
                _ => Self::Failed,
            },
        }
    }
}

impl RunState {
    /// Returns what an agent hands back; `None` until its work has ended, and for a command.
    pub fn ended_hand_back(&self, record: &TaskRecord) -> Option<HandBack> {
        let has_ended = record.attempt() > 0 && Outcome::from_record(record) != Outcome::Working;
        if !has_ended || record.is_command() {
            return None;
        }
        Some(self.hand_back(record))
    }

    /// Returns what a task hands back.
    pub fn hand_back(&self, record: &TaskRecord) -> HandBack {
        let outcome = Outcome::from_record(record);
        let report = if outcome == Outcome::Working {
            ""
        } else {
            record.summary().trim()
        };
        let children = self.children(&record.task.id);
        let children = children.map(|child| ChildOutcome {
            agent_id: child.task.id.clone(),
            outcome: Outcome::from_record(child),
        });
        let (files, omitted_files) = record
            .compared()
            .map_or((&[][..], 0), |work| (&work.files[..], work.omitted));
        HandBack {
            agent_id: record.task.id.clone(),
            outcome,
            error: record.error(),
            summary: match report {
                "" => without_report(record, files.len() + omitted_files),
                report => truncate(report, MAX_SUMMARY_CHARS),
            },
            by_agent: !report.is_empty(),
            open_questions: open_questions(report),
            unverified: match outcome {
                Outcome::Done | Outcome::NothingToDo => record.unverified_claims(report),
                _ if report.is_empty() => Vec::new(),
                _ => record.unverified_claims(report),
            },
            changed_tests: changed_tests(files),
            files: files.to_vec(),
            omitted_files,
            checks: record.checks().to_vec(),
            usage: UsedUp {
                tokens: record.usage().total(),
                micro_usd: record.cost().micro_usd(),
                turns: record.turns(),
                worked_ms: record.worked_ms(self.worked_ms()),
            },
            children: children.collect(),
        }
    }
}

/// Returns what the facts say of work without a report.
fn without_report(record: &TaskRecord, files: usize) -> String {
    let tool = match record.last_tool() {
        Some(tool) => format!(", the last call was of {tool}"),
        None => String::new(),
    };
    format!(
        "no report: {} replies{tool}, {files} files changed",
        record.turns()
    )
}

/// Returns the existing tests that are changed or deleted; new ones only add.
fn changed_tests<'f>(files: impl IntoIterator<Item = &'f ChangedPath>) -> Vec<String> {
    files
        .into_iter()
        .filter(|file| file.changes_test())
        .map(|file| file.path.clone())
        .collect()
}

impl TaskRecord {
    /// Returns the claims of a report that the facts do not bear out. Work that has ended claims to
    /// be done, unless its agent had reached a limit.
    pub fn unverified_claims(&self, report: &str) -> Vec<UnverifiedClaim> {
        self.held_claims(report)
            .into_iter()
            .map(|(claim, _)| claim)
            .collect()
    }

    /// Decides what becomes of work because of what its report claims, if its role is strict about
    /// that and it may be returned `merge_rounds` times in one attempt.
    pub fn after_claims(&self, report: &str, merge_rounds: u32) -> AfterClaims {
        let refused = self.refused_claims(report);
        let after = self.after_fault(ReturnCause::Claims, None, merge_rounds);
        if refused.is_empty() {
            AfterClaims::Take
        } else if after == AfterFault::Return {
            AfterClaims::Return(refused)
        } else if refused.iter().all(UnverifiedClaim::is_only_unsaid) {
            // A report that still lacks only the line of its claims says nothing false.
            AfterClaims::Take
        } else {
            AfterClaims::Fail(refused)
        }
    }

    /// Returns why a role that is strict about claims refuses a report: it does not say what it
    /// claims, or the facts do not bear out what it lists. What only its prose seems to claim is
    /// named beside that, but is no reason by itself, since prose can be misread.
    fn refused_claims(&self, report: &str) -> Vec<UnverifiedClaim> {
        let mut held = self.held_claims(report);
        if !self.is_command() && !has_claims_line(report) {
            let missing = UnverifiedClaim {
                claim: ClaimKind::Done,
                said: String::new(),
                why: vec![Doubt::NoClaimsLine],
            };
            held.push((missing, true));
        }
        let is_refused = held.iter().any(|(_, counts)| *counts);
        if is_refused {
            held.into_iter().map(|(claim, _)| claim).collect()
        } else {
            Vec::new()
        }
    }

    /// Returns the claims that the facts do not bear out, each with whether it is more than a
    /// reading of prose.
    fn held_claims(&self, report: &str) -> Vec<(UnverifiedClaim, bool)> {
        if self.is_command() {
            return Vec::new();
        }
        let made = claims(report);
        let undeclared = self.undeclared_tests(report);
        let mut held = Vec::new();
        if !made.iter().any(|claim| claim.kind == ClaimKind::Done) && self.reached_limit().is_none()
        {
            let unsaid = UnverifiedClaim {
                claim: ClaimKind::Done,
                said: String::new(),
                why: undeclared.iter().cloned().collect(),
            };
            held.push((unsaid, true));
        }
        for claim in made {
            let mut why = Vec::new();
            match claim.kind {
                ClaimKind::Done => {
                    if self.changed_files().is_empty() && self.delivers_changes() {
                        why.push(Doubt::NoChanges);
                    }
                    why.extend(undeclared.clone());
                }
                ClaimKind::Verified | ClaimKind::TestsPass => why.extend(self.doubt_of_check()),
            }
            let unverified = UnverifiedClaim {
                claim: claim.kind,
                said: claim.said,
                why,
            };
            held.push((unverified, claim.listed));
        }
        held.retain(|(claim, _)| !claim.why.is_empty());
        held
    }

    /// Returns the files that its compared work changes.
    fn changed_files(&self) -> &[ChangedPath] {
        self.compared().map_or(&[], |work| &work.files)
    }

    /// Returns the doubt about tests that are changed although the report does not name them. What
    /// its children changed was theirs to name.
    fn undeclared_tests(&self, report: &str) -> Option<Doubt> {
        let own = self
            .changed_files()
            .iter()
            .filter(|file| !self.childrens_tests().contains(file));
        let mut files = changed_tests(own);
        files.retain(|path| !is_named(path, report));
        (!files.is_empty()).then_some(Doubt::TestsChanged { files })
    }

    /// Reports whether the task has handed over changes, or that it has none although its agent was
    /// to make some.
    fn delivers_changes(&self) -> bool {
        self.state() == TaskState::NothingToDo || self.commit().is_some()
    }

    /// Returns what speaks against a claim that a check passes. The run's own check of the very
    /// work decides, and is waited for.
    fn doubt_of_check(&self) -> Option<Doubt> {
        match self.verify() {
            Verify::Passed => return None,
            Verify::Failed => {
                for receipt in self.checks().iter().rev() {
                    if receipt.by == CheckedBy::Run && receipt.tree.as_ref() == self.tree() {
                        return Some(failed_check(receipt));
                    }
                }
            }
            Verify::None if self.task.verify.is_some() && self.reached_limit().is_none() => {
                return None;
            }
            Verify::None => {}
        }
        let Some(newest) = self.newest_own_check() else {
            return Some(Doubt::NoCheck);
        };
        if newest.outdated {
            return Some(Doubt::Outdated {
                command: newest.command.clone(),
            });
        }
        match newest.verdict {
            CheckVerdict::Passed | CheckVerdict::Flaky => None,
            CheckVerdict::Failed => Some(failed_check(newest)),
            CheckVerdict::Unknown => Some(Doubt::UnknownResult {
                command: newest.command.clone(),
            }),
        }
    }
}

impl TaskRecord {
    /// Returns the newest check of the agent's own that is not outdated, or else the newest.
    fn newest_own_check(&self) -> Option<&CheckReceipt> {
        let mut newest = None;
        for receipt in self.checks().iter().rev() {
            if receipt.by != CheckedBy::Agent {
                continue;
            }
            if !receipt.outdated {
                return Some(receipt);
            }
            if newest.is_none() {
                newest = Some(receipt);
            }
        }
        newest
    }
}

/// Reports whether a report names a file, by its path or its name.
fn is_named(path: &str, report: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    report.contains(path) || report.contains(name)
}

fn failed_check(receipt: &CheckReceipt) -> Doubt {
    let (command, exit) = (receipt.command.clone(), receipt.exit.clone());
    Doubt::CheckFailed { command, exit }
}
