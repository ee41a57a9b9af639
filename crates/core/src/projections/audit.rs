//! The audit log: one line of JSON for each tool call that ended, each bound to the one before it
//! by a hash.
//!
//! It is a projection of a run's events: the same events give the same lines, byte for byte, so a
//! log can be completed or compared with the journal at any time. One file can hold the lines of
//! several runs; each run has a chain of its own.

pub mod command;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::event::{ErrorKind, Event, Recorded, Recovery, ResourceUsage, ToolOutcome, rfc3339};
use crate::ids::{AgentId, CallHash, CallId, RunId};
use crate::policy::egress::{EgressDecided, EgressDecision};
use crate::secrecy::taint::{Exposure, Exposures, Leg};
use crate::text::hex;

/// The separator of the content of a line from its hash.
const HASH_FIELD: &str = ",\"hash\":\"";
/// The end of a line.
const END: &str = "\"}";

/// The audit log of one run, as far as its events have been applied.
#[derive(Debug, Default)]
pub struct AuditLog {
    /// The calls that have started and not ended.
    open: BTreeMap<(AgentId, u32, CallId), Started>,
    /// The parked calls, by the hash that a decision names.
    parked: BTreeMap<CallHash, (AgentId, CallId)>,
    /// The calls that were decided about, with whether they may run and the approver that decided;
    /// `None` for a user.
    decided: BTreeMap<(AgentId, CallId), (bool, Option<String>)>,
    /// The exposures of the agents; `None` before the run's first event.
    exposures: Option<Exposures>,
    /// The hash of the newest line; empty before the first.
    head: String,
}

#[derive(Debug, Default)]
struct Started {
    arguments: Value,
    rule: String,
    cached: bool,
    egress: Vec<EgressDecision>,
}

/// One line, without its hash.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// When the call ended, in UTC.
    timestamp: String,
    agent_id: AgentId,
    tool_name: String,
    /// The arguments, secrets redacted.
    parameters: Value,
    success: bool,
    /// In seconds.
    execution_time: f64,
    error: Option<String>,
    /// Whether its result was replayed from the cache, so that nothing ran.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    cached: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    error_class: Option<ErrorKind>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    exit_code: Option<i32>,
    decision: Decision,
    /// The decisions of its program's proxy.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    egress: Vec<EgressDecision>,
    /// The reactions to failures on the way.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    recovered: Vec<Recovery>,
    resource_usage: ResourceUsage,
    /// Which of the three that are dangerous together the agent has after the call, once it has
    /// read text from outside.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    taint: Vec<Leg>,
    run_id: RunId,
    turn: u32,
    call_id: CallId,
    /// The number of the event in the run's journal.
    seq: u64,
    /// The hash of the run's line before this one; empty in its first line.
    previous: String,
}

/// The decision about a call before it ran, and the rule that made it.
#[derive(Serialize, Deserialize)]
struct Decision {
    outcome: DecisionOutcome,
    rule: String,
    /// The name of the program's approver that decided; absent if a user or a rule did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    by: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionOutcome {
    /// A rule allowed it.
    Allowed,
    /// A rule asked, and the user approved it.
    Approved,
    /// A rule, the sandbox or the user denied it.
    Denied,
}

impl AuditLog {
    /// Returns the line of an event that ends a call; `None` for any other event.
    pub fn apply(&mut self, fact: &Recorded) -> Option<String> {
        match (&fact.event, &mut self.exposures) {
            (Event::RunStarted { settings, .. }, exposures) => {
                *exposures = Some(Exposures::new(settings))
            }
            (event, Some(exposures)) => exposures.apply(event),
            (_, None) => {}
        }
        match &fact.event {
            Event::ToolStarted {
                task,
                turn,
                call_id,
                arguments,
                rule,
                cache,
                ..
            } => {
                let cached = cache.as_ref().is_some_and(|lookup| lookup.hit);
                let started = Started {
                    arguments: arguments.clone(),
                    rule: rule.clone(),
                    cached,
                    egress: Vec::new(),
                };
                self.open
                    .insert((task.clone(), *turn, call_id.clone()), started);
                None
            }
            Event::EgressDecided(EgressDecided {
                task,
                turn,
                call_id,
                decision,
            }) => {
                if let Some(started) = self.open.get_mut(&(task.clone(), *turn, call_id.clone())) {
                    started.egress.push(decision.clone());
                }
                None
            }
            Event::ApprovalRequested {
                task,
                call,
                call_id,
                ..
            } => {
                self.parked
                    .insert(call.clone(), (task.clone(), call_id.clone()));
                None
            }
            Event::ApprovalDecided {
                call, allowed, by, ..
            } => {
                self.decided.extend(
                    self.parked
                        .remove(call)
                        .map(|parked| (parked, (*allowed, by.clone()))),
                );
                None
            }
            Event::ToolFinished { .. } => self.ended(fact),
            _ => None,
        }
    }

    /// Returns the hash of the newest line; it is empty before the first.
    pub fn head(&self) -> &str {
        &self.head
    }

    fn ended(&mut self, fact: &Recorded) -> Option<String> {
        let Event::ToolFinished {
            task,
            turn,
            call_id,
            tool,
            outcome,
            error_class,
            denied_by,
            error,
            exit_code,
            duration_ms,
            resource_usage,
            recovered,
            ..
        } = &fact.event
        else {
            return None;
        };
        let started = self.open.remove(&(task.clone(), *turn, call_id.clone()));
        let Started {
            arguments: parameters,
            rule,
            cached,
            egress,
        } = started.unwrap_or_default();
        let entry = Entry {
            timestamp: rfc3339(fact.ts_ms),
            agent_id: task.clone(),
            tool_name: tool.clone(),
            parameters,
            success: *outcome == ToolOutcome::Ok,
            execution_time: std::time::Duration::from_millis(*duration_ms).as_secs_f64(),
            error: error.clone(),
            cached,
            error_class: *error_class,
            exit_code: *exit_code,
            decision: self.decision(task, call_id, *outcome, denied_by.clone().unwrap_or(rule)),
            egress,
            recovered: recovered.clone(),
            resource_usage: *resource_usage,
            taint: self
                .exposures
                .as_ref()
                .and_then(|all| all.for_agent(task))
                .map(Exposure::legs)
                .unwrap_or_default(),
            run_id: fact.run_id.clone(),
            turn: *turn,
            call_id: call_id.clone(),
            seq: fact.seq,
            previous: self.head.clone(),
        };
        let (line, head) = sealed(&entry)?;
        self.head = head;
        Some(line)
    }

    fn decision(
        &mut self,
        task: &AgentId,
        call: &CallId,
        outcome: ToolOutcome,
        rule: String,
    ) -> Decision {
        let decided = self.decided.remove(&(task.clone(), call.clone()));
        let is_approved = decided.as_ref().is_some_and(|(allowed, _)| *allowed);
        let outcome = match outcome {
            ToolOutcome::Denied => DecisionOutcome::Denied,
            _ if is_approved => DecisionOutcome::Approved,
            _ => DecisionOutcome::Allowed,
        };
        Decision {
            outcome,
            rule,
            by: decided.and_then(|(_, by)| by),
        }
    }
}

/// The lines of one run in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// How many there are.
    pub lines: u64,
    /// The hash of the last one.
    pub head: String,
}

/// How a chain in a file differs from the one that the journal gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The file has fewer lines: those at the end are missing.
    Fewer(u64),
    /// The lines are not those of the run, although each follows the one before it.
    Other,
}

impl Chain {
    /// Returns how this chain differs from the one that the journal gives, or `None` if it does
    /// not.
    pub fn difference(&self, recorded: &Chain) -> Option<Difference> {
        match recorded.lines.checked_sub(self.lines) {
            _ if self == recorded => None,
            Some(missing) if missing > 0 => Some(Difference::Fewer(missing)),
            _ => Some(Difference::Other),
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Difference::Fewer(1) => f.write_str("its last line is missing"),
            Difference::Fewer(missing) => write!(f, "its last {missing} lines are missing"),
            Difference::Other => {
                f.write_str("its lines are not those of the calls that the journal recorded")
            }
        }
    }
}

/// A line that cannot be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its number in the file, from 1.
    pub line: usize,
    /// The fault.
    pub fault: Fault,
}

/// A fault of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not a line of an audit log.
    Unreadable,
    /// Its content is not what its hash was computed from.
    Changed,
    /// It does not follow the run's line before it: lines are missing, or were moved or added.
    OutOfOrder,
    /// It is the end of the file, and incomplete.
    Torn,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Fault::Unreadable => "it is not a line of an audit log",
            Fault::Changed => "its content does not match its hash, so it was changed",
            Fault::OutOfOrder => {
                "it does not follow the line before it: lines are missing, or were moved or added"
            }
            Fault::Torn => "it is incomplete, and nothing follows it",
        })
    }
}

/// Checks the lines of a file, and returns each run's chain.
///
/// An incomplete line whose beginning is repeated by a later one is accepted: the program that
/// wrote it was killed or the disk was full, and the line was written again.
///
/// # Errors
///
/// Returns the first line that cannot be right.
pub fn check(text: &str) -> Result<BTreeMap<RunId, Chain>, Broken> {
    let mut chains: BTreeMap<RunId, Chain> = BTreeMap::new();
    for line in lines(text) {
        let line = line?;
        line.follow(chains.entry(line.entry.run_id.clone()).or_default())?;
    }
    Ok(chains)
}

/// Checks the lines of one run in a file that other runs may share, and returns its chain, and the
/// first line that cannot be read. Whose that one is cannot be known, so it says nothing against a
/// chain that is whole.
///
/// # Errors
///
/// Returns the first line that cannot be right: one of the run's, or one that cannot be read,
/// before it.
pub fn check_run(text: &str, run: &RunId) -> Result<(Chain, Option<Broken>), Broken> {
    let (mut chain, mut unreadable) = (Chain::default(), None);
    for line in lines(text) {
        match line {
            Err(broken) => _ = unreadable.get_or_insert(broken),
            Ok(line) if line.entry.run_id == *run => {
                line.follow(&mut chain)
                    .map_err(|broken| unreadable.clone().unwrap_or(broken))?;
            }
            Ok(_) => {}
        }
    }
    Ok((chain, unreadable))
}

/// A line of a file that is no record of the run that the file is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign<'a> {
    /// Its number in the file, from 1.
    pub line: usize,
    /// The line.
    pub text: &'a str,
}

/// Returns the lines of a file that are no records of the run: all of them in a file of its own; in
/// one that other runs share, those after the last record of any run, since whose the others are
/// cannot be known.
pub fn foreign<'a>(text: &'a str, run: &RunId, is_shared: bool) -> Vec<Foreign<'a>> {
    let all: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for line in lines(text) {
        match line {
            Ok(_) if is_shared => found.clear(),
            Ok(line) if line.entry.run_id == *run => {}
            Ok(Line { number, .. }) | Err(Broken { line: number, .. }) => found.push(number),
        }
    }
    let mut foreign = Vec::new();
    for number in found {
        if let Some(text) = number.checked_sub(1).and_then(|at| all.get(at)) {
            foreign.push(Foreign { line: number, text });
        }
    }
    foreign
}

/// One line of a file, taken apart.
struct Line<'a> {
    /// Its number in the file, from 1.
    number: usize,
    entry: Entry,
    /// The text that its hash was computed from.
    content: String,
    hash: &'a str,
}

impl Line<'_> {
    /// Adds the line to its run's chain, if it is unchanged and belongs there.
    fn follow(&self, chain: &mut Chain) -> Result<(), Broken> {
        if hash_of(&self.content) != self.hash {
            return Err(Broken {
                line: self.number,
                fault: Fault::Changed,
            });
        }
        if self.entry.previous != chain.head {
            return Err(Broken {
                line: self.number,
                fault: Fault::OutOfOrder,
            });
        }
        *chain = Chain {
            lines: chain.lines + 1,
            head: self.hash.to_owned(),
        };
        Ok(())
    }
}

/// Returns the lines of a file, without incomplete ones that were written again.
fn lines(text: &str) -> impl Iterator<Item = Result<Line<'_>, Broken>> {
    let mut lines = text.lines().zip(1..);
    std::iter::from_fn(move || {
        loop {
            let (line, number) = lines.next()?;
            if let Some((entry, content, hash)) = parsed(line) {
                return Some(Ok(Line {
                    number,
                    entry,
                    content,
                    hash,
                }));
            }
            let is_last = lines.clone().next().is_none();
            if lines.clone().any(|(later, _)| later.starts_with(line)) {
                continue;
            }
            let fault = if is_last && !text.ends_with('\n') {
                Fault::Torn
            } else {
                Fault::Unreadable
            };
            return Some(Err(Broken {
                line: number,
                fault,
            }));
        }
    })
}

/// Splits a line into its entry, the text that its hash was computed from, and the hash.
fn parsed(line: &str) -> Option<(Entry, String, &str)> {
    let (content, rest) = line.rsplit_once(HASH_FIELD)?;
    let content = format!("{content}}}");
    Some((
        serde_json::from_str(&content).ok()?,
        content,
        rest.strip_suffix(END)?,
    ))
}

/// Returns an entry as a line with its hash, and the hash.
fn sealed(entry: &Entry) -> Option<(String, String)> {
    // Cannot fail: every key is a string.
    let content = serde_json::to_string(entry).ok()?;
    let hash = hash_of(&content);
    Some((
        format!("{}{HASH_FIELD}{hash}{END}", content.strip_suffix('}')?),
        hash,
    ))
}

fn hash_of(content: &str) -> String {
    hex(&Sha256::digest(content))
}

#[cfg(test)]
mod tests;
