//! The report of `orchestrate check`: what would run, in which order, and what is wrong.
//!
//! The shape of [`CheckReport`] as JSON is a contract. This module spends no tokens and starts no
//! programs; the caller reports whether a program or a file exists.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::command::{FirstWord, commands_of_checks, commands_of_tasks};
use crate::check::{readings, why};
use crate::citations;
use crate::fields::names::KnownNames;
use crate::finding::{Finding, FindingCode, PlanError, PlanWarning, Skipped};
use crate::formats::lines::LineUse;
use crate::formats::reading::Reading;
use crate::lines::text;
use crate::parse;
use crate::parse::Plan;
use crate::tasks::section::MAX_SHOWN;
use orchestrate_core::agent::price::{DOLLAR, dollars};
use orchestrate_core::event::settings::{MergeMode, RunSettings};
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::schedule::Schedule;
use orchestrate_core::task::{Task, TaskStatus, Work, waiting};
use orchestrate_core::{Price, ReviewMode};

/// The minimum number of turns of a task: look, change, finish.
const LEAST_TURNS: u64 = 3;

/// The width of the text for a terminal.
const COLUMNS: usize = 80;

/// The columns before and after a task's id.
const ID_COLUMN: usize = 8;

/// What a run does with a goal.
const GOAL: &str = "\
The agent gets the whole goal: it reads the repository, may spawn agents for the
parts, merges their work, and answers. What those agents use comes on top.
";

/// The minimum size of a request: a role's fixed prompt and the task.
const LEAST_REQUEST_TOKENS: u64 = 2_500;

/// The result of checking a plan: what would run, in which order, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// The plan's path as typed.
    pub plan: String,
    /// The name of its format, or of the way in which it was read.
    pub format: String,
    /// The plan's title, if it has one.
    pub title: Option<String>,
    /// Every task, including done ones.
    pub tasks: Vec<CheckedTask>,
    /// Groups of tasks that could run in parallel, in order; empty if there are errors.
    pub waves: Vec<Wave>,
    /// Lines that look like work but are not run; the JSON says it of all lines.
    #[serde(skip)]
    pub skipped: Vec<Skipped>,
    /// What becomes of each line.
    pub lines: Vec<LineUse>,
    /// The ways to read it, if there are several.
    pub readings: Vec<Reading>,
    /// Problems that do not prevent a run.
    pub warnings: Vec<PlanWarning>,
    /// Problems that prevent a run.
    pub errors: Vec<PlanError>,
    /// The estimated cost of the run.
    pub estimate: Estimate,
}

/// Tasks that could run in parallel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wave {
    /// The tasks.
    pub tasks: Vec<TaskId>,
    /// What they come after, and why they may run together.
    pub why: String,
}

/// One task of a [`CheckReport`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedTask {
    /// Unique within the plan.
    pub id: TaskId,
    /// Without box, id and attributes.
    pub title: String,
    /// The state of its box.
    pub status: TaskStatus,
    /// The heading above it.
    pub section: Option<String>,
    /// Its line in the plan, from 1.
    pub line: usize,
    /// Tasks that must be merged before it starts.
    pub depends: Vec<TaskId>,
    /// Paths or globs that it declares to write.
    pub files: Vec<String>,
    /// The role that carries it out; null for a command.
    pub agent: Option<String>,
    /// The command that must pass in its worktree.
    pub verify: Option<String>,
    /// The command that carries it out.
    pub run: Option<String>,
    /// `provider/model` for this task only.
    pub model: Option<String>,
    /// Whether a run may leave it out.
    pub optional: bool,
    /// Whether it is marked `[P]`.
    pub parallel: bool,
    /// Whether it is a goal, whose agent may have others work on its parts; only for people.
    #[serde(skip)]
    pub goal: bool,
    /// Its own limits.
    pub limits: TaskLimits,
    /// Among ready tasks, higher priorities go first.
    pub priority: i64,
    /// When its work must be approved before it is merged; null as of the run.
    pub review: Option<ReviewMode>,
    /// The bullets and paragraphs below it, as written.
    pub details: Vec<String>,
}

/// The limits that a task has of its own; only those that are set are in the JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskLimits {
    /// The token budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The maximum number of turns of an attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// The time limit of an attempt in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The range of a run's cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Minimum and maximum tokens: a few small requests for each agent, and every turn with a full
    /// context. Work that is returned to its author continues with the same turns; further attempts
    /// that the user requests are not counted.
    pub tokens: [u64; 2],
    /// Minimum and maximum US dollars, for the same requests, with nothing cached; null if a
    /// model's price is not known.
    pub cost_usd: Option<[f64; 2]>,
    /// The same in micro-dollars.
    #[serde(skip)]
    pub cost_micro_usd: Option<[u64; 2]>,
    /// The day of the shipped prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices_date: Option<String>,
}

/// Everything outside a plan that its check depends on.
pub struct Surroundings<'a> {
    /// The names that the plan may use.
    pub known: &'a KnownNames,
    /// The settings that a run of the plan would have.
    pub settings: &'a RunSettings,
    /// Returns the price of the model of a task's agent, if it is known.
    pub price: &'a dyn Fn(&Task) -> Option<Price>,
    /// The day of the shipped prices.
    pub prices_date: Option<&'a str>,
    /// Errors that the caller has found.
    pub refused: &'a [PlanError],
    /// Reports whether the program or file that a command begins with exists.
    pub exists: &'a dyn Fn(FirstWord<'_>) -> bool,
}

#[cfg(test)]
impl<'a> Surroundings<'a> {
    /// Creates surroundings in which no price is known.
    pub(crate) fn unpriced(
        known: &'a KnownNames,
        settings: &'a RunSettings,
        exists: &'a dyn Fn(FirstWord<'_>) -> bool,
    ) -> Self {
        Self {
            known,
            settings,
            price: &|_| None,
            prices_date: None,
            refused: &[],
            exists,
        }
    }
}

/// Parses a plan and creates its report.
pub fn check(name: &str, source: &str, around: &Surroundings<'_>) -> CheckReport {
    let (plan, errors) = parse::read(source, around.known);
    report(name, &plan.within(around.settings), errors, around)
}

/// Creates the report on a typed goal; `None` if the text lists tasks, and so is a plan.
pub fn check_goal(name: &str, text: &str, around: &Surroundings<'_>) -> Option<CheckReport> {
    Some(report(name, &Plan::of_goal(text)?, Vec::new(), around))
}

fn report(
    name: &str,
    plan: &Plan,
    mut errors: Vec<PlanError>,
    around: &Surroundings<'_>,
) -> CheckReport {
    errors.extend(around.refused.iter().cloned());
    errors.extend(unfit(plan, around.settings, around.known));
    errors.sort_by_key(|error| (error.line, error.column));
    let waves = match Schedule::new(&plan.tasks) {
        Ok(schedule) if errors.is_empty() => schedule.waves(),
        _ => Vec::new(),
    };
    let mut warnings = plan.warnings.clone();
    warnings.extend(missing(plan, around));
    warnings.sort_by_key(|warning| (warning.line, warning.column));
    let why = why::of_waves(plan, &waves);
    CheckReport {
        plan: name.to_owned(),
        format: plan.format.clone(),
        title: plan.title.clone(),
        tasks: plan
            .tasks
            .iter()
            .map(|task| checked(task, around.settings))
            .collect(),
        waves: std::iter::zip(waves, why)
            .map(|(tasks, why)| Wave { tasks, why })
            .collect(),
        skipped: plan.skipped.clone(),
        lines: plan.lines.clone(),
        readings: plan.readings.clone(),
        warnings,
        errors,
        estimate: estimate(plan, around),
    }
}

/// Returns errors that depend on the settings: a default role that does not exist, and dependencies
/// that are never merged.
pub fn unfit(plan: &Plan, settings: &RunSettings, known: &KnownNames) -> Vec<PlanError> {
    let mut found = never_merged(plan, settings);
    let is_known = known.roles.is_empty() || known.roles.contains(&settings.agent);
    // The role of the front matter was checked when it was parsed.
    let is_elsewhere = plan.front_matter.agent.as_ref() != Some(&settings.agent);
    if let Some(task) = plan
        .tasks
        .iter()
        .find(has_default)
        .filter(|_| is_elsewhere && !is_known)
    {
        let roles: Vec<&str> = known.roles.iter().map(String::as_str).collect();
        found.push(Finding {
            line: task.line,
            column: 1,
            code: FindingCode::UnknownRole,
            message: format!(
                "{} names no role, and the default role `{}` does not exist",
                task.id, settings.agent
            ),
            text: String::new(),
            suggestion: Some(format!("known roles: {}", roles.join(", "))),
        });
    }
    found
}

fn has_default(task: &&Task) -> bool {
    task.status.runs() && task.work == Work::Agent(None)
}

/// Returns an error for each task that never starts, since these settings never merge its
/// dependency.
fn never_merged(plan: &Plan, settings: &RunSettings) -> Vec<PlanError> {
    if settings.merge != MergeMode::None {
        return Vec::new();
    }
    let found = |(task, on): (&Task, &TaskId)| Finding {
        line: task.line,
        column: 1,
        code: FindingCode::NeverMerged,
        message: format!(
            "{} depends on {on}, which `merge: none` never merges",
            task.id
        ),
        text: String::new(),
        suggestion: Some("remove `merge: none`".to_owned()),
    };
    waiting(&plan.tasks).into_iter().map(found).collect()
}

fn checked(task: &Task, settings: &RunSettings) -> CheckedTask {
    let (agent, run) = match &task.work {
        Work::Agent(agent) => (
            Some(agent.as_ref().unwrap_or(&settings.agent).clone()),
            None,
        ),
        Work::Run(command) => (None, Some(command.clone())),
    };
    CheckedTask {
        id: task.id.clone(),
        title: task.title.clone(),
        status: task.status,
        section: task.section.clone(),
        line: task.line,
        depends: task.depends.clone(),
        files: task.files.clone(),
        agent,
        verify: task.verify.clone(),
        run,
        model: task.model.clone(),
        optional: task.optional,
        parallel: task.parallel,
        goal: task.goal,
        limits: TaskLimits {
            tokens: task.tokens,
            turns: task.turns,
            timeout_ms: task.timeout_ms,
        },
        priority: task.priority,
        review: task.review,
        details: task.details.clone(),
    }
}

/// Returns a warning for each command whose program or file does not exist.
fn missing(plan: &Plan, around: &Surroundings<'_>) -> Vec<Finding> {
    let checks = commands_of_checks(plan, around.settings, &|_| false).into_iter();
    let commands = checks.chain(commands_of_tasks(plan));
    commands
        .filter(|command| !(around.exists)(command.first))
        .map(|command| command.missing(true))
        .collect()
}

/// Adds up the range of each agent: from a few small requests to every turn with a full context and
/// a full reply.
fn estimate(plan: &Plan, around: &Surroundings<'_>) -> Estimate {
    let settings = around.settings;
    let agents = plan
        .tasks
        .iter()
        .filter(|task| task.status.runs() && matches!(task.work, Work::Agent(_)));
    let (mut least, mut most) = (0u64, 0u64);
    let mut cost = Some([0u64; 2]);
    for task in agents {
        let turns = u64::from(
            task.turns
                .unwrap_or(settings.max_turns)
                .min(settings.max_turns),
        );
        let (input, output) = (
            settings.token_limit_of(task, None),
            u64::from(settings.max_output_tokens),
        );
        let full = turns.saturating_mul(input + output);
        let bound = task.tokens.unwrap_or(u64::MAX);
        let few = LEAST_TURNS.min(turns);
        least = least.saturating_add((few * LEAST_REQUEST_TOKENS).min(bound));
        most = most.saturating_add(full.min(bound));
        cost = cost.zip((around.price)(task)).map(|([low, high], price)| {
            let each = [
                few.saturating_mul(price.most(LEAST_REQUEST_TOKENS, 0)),
                turns.saturating_mul(price.most(input, output)),
            ];
            [low.saturating_add(each[0]), high.saturating_add(each[1])]
        });
    }
    let budget = settings.budget_tokens.unwrap_or(u64::MAX);
    let money = settings.budget_micro_usd.unwrap_or(u64::MAX);
    let cost = cost.map(|range| range.map(|amount| amount.min(money)));
    Estimate {
        tokens: [least.min(budget), most.min(budget)],
        cost_usd: cost.map(|range| range.map(in_dollars)),
        cost_micro_usd: cost,
        prices_date: around.prices_date.map(str::to_owned),
    }
}

/// Returns an amount in dollars, as it is written in JSON.
#[expect(
    clippy::cast_precision_loss,
    reason = "exact below nine billion dollars, and only for display"
)]
fn in_dollars(micro_usd: u64) -> f64 {
    micro_usd as f64 / DOLLAR as f64
}

impl Estimate {
    /// Describes the cost, with the assumptions behind it.
    fn cost(&self) -> String {
        let date = self.prices_date.as_deref().unwrap_or("an unknown day");
        match self.cost_micro_usd {
            Some([_, 0]) => "no cost".to_owned(),
            Some([least, most]) => format!(
                "cost {} to {} at the prices of {date}\n  (from {LEAST_TURNS} small requests of each agent to all its \
                turns with a full context and a full reply, nothing cached)",
                dollars(least),
                dollars(most)
            ),
            None => "cost unknown".to_owned(),
        }
    }
}

/// Returns a title as it is shown: a long one is cut.
fn shown(title: &str) -> Cow<'_, str> {
    text::shortened(title, MAX_SHOWN)
}

impl CheckReport {
    /// Reports whether a goal was checked, not a plan of tasks.
    pub fn is_goal(&self) -> bool {
        self.tasks.iter().any(|task| task.goal)
    }

    /// Renders the report for a terminal, without colours.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let title = self.title.as_deref().map(shown);
        let title = title.as_deref().unwrap_or("(no title)");
        let _ = writeln!(out, "{}: {title}", self.plan);
        if !self.format.is_empty() {
            let _ = writeln!(out, "read as: {}", self.format);
        }
        out.push_str(&readings::render(&self.readings));
        self.render_tasks(&mut out);
        for (number, Wave { tasks, why }) in (1..).zip(&self.waves) {
            let line = format!("wave {number}: {} ({why})", names(tasks));
            wrap(&mut out, &line);
        }
        if self.errors.is_empty() && self.waves.is_empty() {
            out.push_str(match self.tasks.iter().all(is_done) {
                true => "\nNothing is left to do: every task is done.\n",
                false => "\nNothing would run: no open task can start.\n",
            });
        }
        if !self.waves.is_empty() {
            let [least, most] = self.estimate.tokens;
            let _ = writeln!(out, "\nTokens: {least} to {most}; {}", self.estimate.cost());
            out.push_str(if self.is_goal() { GOAL } else { "" });
        }
        if !self.skipped.is_empty() {
            out.push_str("\nNot run:\n");
        }
        for (reason, lines) in by_reason(&self.skipped) {
            wrap(&mut out, &format!("{lines}: {reason}"));
        }
        for (kind, findings) in [("warning", &self.warnings), ("error", &self.errors)] {
            for finding in findings {
                let _ = writeln!(out, "{kind}: {finding}");
            }
        }
        out
    }

    fn render_tasks(&self, out: &mut String) {
        if self.tasks.is_empty() {
            return;
        }
        out.push_str("\nTasks:\n");
        let width = self
            .tasks
            .iter()
            .map(|task| task.id.as_str().chars().count())
            .max()
            .unwrap_or(0);
        for task in &self.tasks {
            let mark = match task.status {
                TaskStatus::Todo | TaskStatus::LeftOut => ' ',
                TaskStatus::Done => 'x',
                TaskStatus::InProgress => '~',
                TaskStatus::Cancelled => '-',
                TaskStatus::Blocked => '!',
            };
            let mut pieces = vec![format!(
                "  [{mark}] {:width$}  {}",
                task.id.as_str(),
                shown(&task.title)
            )];
            pieces.extend(attributes(task));
            let pieces = pieces.iter().map(String::as_str);
            fill(out, pieces, 2, width + ID_COLUMN);
        }
        if !self.waves.is_empty() {
            out.push_str("\nOrder:\n");
        }
    }
}

/// Returns everything that the plan says of a task besides its title and its details.
fn attributes(task: &CheckedTask) -> Vec<String> {
    let withheld = match task.status {
        TaskStatus::Cancelled => Some("(cancelled, not run)"),
        TaskStatus::Blocked => Some("(blocked, not run)"),
        _ => None,
    };
    let optional = match task.status {
        TaskStatus::LeftOut => "(optional, left out)",
        _ => "(optional)",
    };
    let optional = task.optional.then_some(optional);
    let marked = task.parallel.then_some("[P]");
    let remarks = [withheld, optional, marked].into_iter().flatten();
    let mut said: Vec<String> = remarks.map(str::to_owned).collect();
    said.extend(task.agent.as_ref().map(|agent| format!("@{agent}")));
    let limits = &task.limits;
    let valued = [
        ("run", task.run.clone()),
        ("model", task.model.clone()),
        ("depends", Some(names(&task.depends))),
        ("files", Some(task.files.join(", "))),
        ("verify", task.verify.clone()),
        ("tokens", limits.tokens.map(|tokens| tokens.to_string())),
        ("turns", limits.turns.map(|turns| turns.to_string())),
        ("timeout", limits.timeout_ms.map(duration)),
        (
            "priority",
            (task.priority != 0).then(|| task.priority.to_string()),
        ),
        ("review", task.review.map(|review| review.word().to_owned())),
    ];
    for (key, value) in valued {
        said.extend(
            value
                .filter(|value| !value.is_empty())
                .map(|value| format!("{key}: {value}")),
        );
    }
    said
}

/// Writes a time as a plan may write it.
fn duration(milliseconds: u64) -> String {
    humantime::format_duration(Duration::from_millis(milliseconds)).to_string()
}

fn is_done(task: &CheckedTask) -> bool {
    task.status == TaskStatus::Done
}

fn names(ids: &[TaskId]) -> String {
    ids.iter()
        .map(TaskId::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Writes pieces on one line with a gap between them, or on further indented ones where they do not
/// fit into a terminal.
fn fill<'p>(out: &mut String, pieces: impl Iterator<Item = &'p str>, gap: usize, indent: usize) {
    let mut used = 0;
    for (at, piece) in pieces.enumerate() {
        let length = piece.chars().count();
        if at > 0 && used + gap + length > COLUMNS {
            let _ = write!(out, "\n{:indent$}", "");
            used = indent;
        } else if at > 0 {
            let _ = write!(out, "{:gap$}", "");
            used += gap;
        }
        out.push_str(piece);
        used += length;
    }
    out.push('\n');
}

/// Writes text that is wrapped between words, indented by two columns and further lines by four.
fn wrap(out: &mut String, text: &str) {
    fill(
        out,
        ["", ""].into_iter().chain(text.split_whitespace()),
        1,
        4,
    );
}

/// Returns the lines that are skipped for each reason, such as `lines 3, 7-9`; the reasons are in
/// the order of their first lines.
fn by_reason(skipped: &[Skipped]) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for Skipped { line, reason } in skipped {
        let place = *places.entry(reason).or_insert(found.len());
        match found.get_mut(place) {
            Some((_, lines)) => lines.push(*line),
            None => found.push((reason, vec![*line])),
        }
    }
    let named = found.into_iter();
    let named = named.map(|(reason, lines)| (reason, citations::numbered(&lines)));
    named.collect()
}
