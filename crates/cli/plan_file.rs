//! Reads a plan with the settings and roles that it depends on, and converts its errors into
//! complaints with their places.
//!
//! `check` and `run` both read it here, so both refuse a plan with errors in its text. A check
//! whose program is missing is refused by `run` alone, which asks the sandbox; `check` looks where
//! confined commands do, and warns. If the file of a check is not in the commit, both warn.

use std::sync::Arc;

use orchestrate_coordinator::{FoundTools, Project, Roles, known_names, price_of, prices_date};
use orchestrate_core::{Task, shell_word};
use orchestrate_plan::{
    self, CheckReport, Finding, FindingCode, FirstWord, FrontMatter, KnownNames, Plan, ReadAs,
    Reading, Surroundings,
};
use orchestrate_settings::{Layer, Loaded, Location, Problem, Source};

use crate::context::Context;
use crate::error::{CommandError, Complaint, ErrorKind};
use crate::plan_text::{Origin, PlanText};

/// A plan's text, with the settings and roles that it depends on.
pub(crate) struct PlanFile {
    pub(crate) source: PlanText,
    /// The settings that a run of it would have.
    pub(crate) loaded: Loaded,
    /// The roles at its base revision.
    pub(crate) roles: Roles,
    known: KnownNames,
    /// Errors in its text that only the settings and the repository show.
    refused: Vec<Finding>,
}

/// What to type where a plan can be read in several ways.
pub(crate) const CHOOSE: &str = "; choose one with `--read WAY`, or have a model rewrite the plan \
                                 by `--read model` or by `orchestrate plan`";

/// What the command line says of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Typed {
    /// The settings.
    pub(crate) settings: Vec<(&'static str, String)>,
    /// How the plan is read, if it can be read in several ways.
    pub(crate) read: Option<ReadAs>,
    /// Which tag of it is meant, if it has several.
    pub(crate) tag: Option<String>,
}

/// Opens a plan or a goal with what the command line says; without a project there are only the
/// built-in roles and the user's own.
pub(crate) fn open(
    context: &Context,
    source: PlanText,
    typed: Typed,
    project: Option<&Project>,
) -> Result<PlanFile, CommandError> {
    // A typed goal is taken as it stands.
    let front = if source.is_typed() {
        FrontMatter::default()
    } else {
        orchestrate_plan::front_matter(&source.text)
    };
    let (layer, problems) = Layer::of_plan(&front, &source.shown);
    let loaded = context.load(typed.settings, layer)?;
    let mut refused: Vec<Finding> = problems.iter().map(not_available).collect();
    let of_user = context.directories()?.config;
    let roles = match project {
        None => Roles::without_project(
            Some(&of_user),
            FoundTools::without_project(&of_user)?.registry.names(),
        )?,
        Some(project) => {
            let base = loaded.resolved.text("base");
            // An unknown base from another source is not an error of the plan, and ends the
            // command.
            let unknown = base
                .as_ref()
                .filter(|rev| is_of_plan(&loaded, "base") && !project.has_revision(rev));
            refused.extend(unknown.map(|rev| {
                unknown_base(rev, front.lines.get("base").copied().unwrap_or_default())
            }));
            project.roles(
                base.as_deref().filter(|_| unknown.is_none()),
                Some(&of_user),
            )?
        }
    };
    let known = known_names(&roles, loaded.resolved.text("base_url").is_some());
    let mut file = PlanFile {
        source,
        loaded,
        roles,
        known,
        refused,
    };
    if let Some(way) = typed.read {
        file.read_as(way);
    }
    file.loaded.run.plan_tag.clone_from(&typed.tag);
    file.known.tag = typed.tag;
    Ok(file)
}

impl PlanFile {
    /// Parses the plan for a run.
    pub(crate) fn plan(&self) -> Result<Plan, CommandError> {
        if self.source.is_typed() {
            return Plan::of_goal(&self.source.text).ok_or_else(lists_tasks);
        }
        let mut errors = self.refused.clone();
        let plan = match Plan::parse(&self.source.text, &self.known) {
            Ok(plan) => {
                errors.extend(self.not_read_so(&plan.format));
                let plan = plan.within(&self.loaded.run);
                let unfit = orchestrate_plan::unfit(&plan, &self.loaded.run, &self.known);
                errors.extend(unfit);
                Some(plan)
            }
            Err(wrong) => {
                errors.extend(wrong);
                None
            }
        };
        errors.sort_by_key(|error| (error.line, error.column));
        plan.filter(|_| errors.is_empty()).ok_or_else(|| {
            let mut hint = "nothing was run".to_owned();
            if let Origin::File(_) = self.source.origin {
                hint.push_str(&format!(
                    "; `{}` shows the plan again",
                    self.check_command()
                ));
            }
            if errors
                .iter()
                .any(|error| error.code == FindingCode::Ambiguous)
            {
                hint.push_str(CHOOSE);
            }
            if errors
                .iter()
                .any(|error| error.code == FindingCode::SeveralTags)
            {
                hint.push_str("; choose one with `--tag NAME`");
            }
            self.refuse(errors).hint(hint)
        })
    }

    /// Has the plan read in a way that the user has chosen.
    pub(crate) fn read_as(&mut self, way: ReadAs) {
        self.known.read = Some(way);
        self.loaded.run.plan_read = Some(way.word().to_owned());
    }

    /// Returns the ways to read the plan, if there are several and none is chosen.
    pub(crate) fn readings(&self) -> Vec<Reading> {
        match self.check(&|_| true) {
            Ok(report) => report.readings,
            Err(_) => Vec::new(),
        }
    }

    /// Returns the command that checks the plan as it is read here.
    pub(crate) fn check_command(&self) -> String {
        let name = self.source.argument();
        let mut command = format!("orchestrate check {name}");
        if let Some(way) = self.known.read {
            command.push_str(&format!(" --read {}", way.word()));
        }
        if let Some(tag) = &self.known.tag {
            command.push_str(&format!(" --tag {}", shell_word(tag)));
        }
        command
    }

    /// Returns the task of making a plan of the goal, or of rewriting the document as one.
    pub(crate) fn to_be_made(&self) -> Result<Plan, CommandError> {
        if !self.refused.is_empty() {
            return Err(self.refuse(self.refused.clone()));
        }
        let plan = match self.source.is_typed() {
            true => Plan::of_goal(&self.source.text).ok_or_else(lists_tasks)?,
            false => {
                Plan::of_document(&self.source.text).map_err(|error| self.refuse(vec![error]))?
            }
        };
        Ok(plan.for_planning())
    }

    /// Creates the error of a plan that cannot be run.
    pub(crate) fn refuse(&self, errors: Vec<Finding>) -> CommandError {
        let text: Arc<str> = self.source.text.as_str().into();
        let complaints = errors.into_iter();
        let complaints = complaints.map(|finding| self.complaint(&text, finding));
        CommandError::of_complaints(ErrorKind::Usage, complaints.collect())
    }

    /// Converts a finding into a complaint.
    fn complaint(&self, text: &Arc<str>, finding: Finding) -> Complaint {
        let start = offset(text, &finding);
        let code = serde_json::to_value(finding.code).ok();
        Complaint {
            code: code.and_then(|code| code.as_str().map(str::to_owned)),
            place: Some(self.place(&finding)),
            message: finding.message,
            line: finding.line,
            column: finding.column,
            excerpt: start.map(|start| {
                let end = start + finding.text.len().min(text.len() - start);
                (Arc::clone(text), start..end)
            }),
            text: Some(finding.text),
            suggestion: finding.suggestion,
        }
    }

    /// Names the source of a finding: a check without a line in the plan comes from another source
    /// of settings.
    pub(crate) fn place(&self, finding: &Finding) -> String {
        let is_setting = finding.line == 0 && finding.code == FindingCode::ProgramNotFound;
        match place_of(&self.loaded, "verify").filter(|_| is_setting) {
            Some(place) => place.to_string(),
            None => self.source.shown.clone(),
        }
    }

    /// Reports whether a worktree of the run may contain a file; the project's setup may create
    /// any.
    pub(crate) fn may_have(&self, project: &Project, path: &str) -> bool {
        let base = self.loaded.resolved.text("base");
        self.loaded.run.worktree_setup.is_some() || project.may_have(base.as_deref(), path)
    }

    /// Returns the report of what a run of the plan would do, and of its problems.
    pub(crate) fn check(
        &self,
        exists: &dyn Fn(FirstWord<'_>) -> bool,
    ) -> Result<CheckReport, CommandError> {
        let around = Surroundings {
            known: &self.known,
            settings: &self.loaded.run,
            price: &|task: &Task| price_of(&self.loaded, &self.roles, task),
            prices_date: Some(prices_date()),
            refused: &self.refused,
            exists,
        };
        match self.source.is_typed() {
            true => orchestrate_plan::check_goal(&self.source.shown, &self.source.text, &around)
                .ok_or_else(lists_tasks),
            false => {
                let PlanText { shown, text, .. } = &self.source;
                let mut report = orchestrate_plan::check(shown, text, &around);
                report.errors.extend(self.not_read_so(&report.format));
                Ok(report)
            }
        }
    }

    /// Returns the error of a plan that is not read in the chosen way, since its format allows no
    /// other than its own; one that has no format has other errors.
    fn not_read_so(&self, format: &str) -> Option<Finding> {
        let way = self.known.read?.word();
        (format != way && !format.is_empty()).then(|| Finding {
            line: 0,
            column: 0,
            code: FindingCode::InvalidValue,
            message: format!("`--read {way}` does not fit this file: it is read as {format}"),
            text: String::new(),
            suggestion: Some(format!("run it without `--read {way}`")),
        })
    }
}

/// Returns the error of a typed goal that is a plan.
fn lists_tasks() -> CommandError {
    CommandError::usage("this text lists tasks, so it is a plan and not a goal")
        .hint("write it to a file, and run that")
}

/// Reports whether the effective value of a setting comes from the plan.
fn is_of_plan(loaded: &Loaded, key: &str) -> bool {
    place_of(loaded, key).is_some_and(|place| place.source == Source::Plan)
}

/// Returns where the effective value of a setting comes from; `None` if that is its default.
fn place_of<'l>(loaded: &'l Loaded, key: &str) -> Option<&'l Location> {
    loaded.resolved.chosen.get(key)?.place.as_ref()
}

fn not_available(problem: &Problem) -> Finding {
    Finding {
        line: problem.place.line,
        column: problem.place.column,
        code: FindingCode::NotAvailable,
        message: problem.message.clone(),
        text: String::new(),
        suggestion: problem.suggestion.clone(),
    }
}

fn unknown_base(rev: &str, line: usize) -> Finding {
    Finding {
        line,
        column: usize::from(line > 0),
        code: FindingCode::UnknownBase,
        message: format!("`{rev}` is not a commit of this repository"),
        text: format!("base: {rev}"),
        suggestion: Some("name a branch, a tag or a commit".to_owned()),
    }
}

/// Returns the byte offset of a finding's text, which may begin after the place of the finding, on
/// the same line.
fn offset(text: &str, finding: &Finding) -> Option<usize> {
    let before: usize = text
        .split_inclusive('\n')
        .take(finding.line.checked_sub(1)?)
        .map(str::len)
        .sum();
    let rest = text.get(before..)?;
    let within = rest
        .char_indices()
        .nth(finding.column.checked_sub(1)?)
        .map_or(rest.len(), |(at, _)| at);
    let line = rest.get(within..)?.lines().next().unwrap_or_default();
    Some(before + within + line.find(&finding.text).unwrap_or_default())
}
