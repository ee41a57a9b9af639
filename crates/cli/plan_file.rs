//! Reads a plan with the settings and roles that it depends on, and converts its errors into
//! complaints with their places.
//!
//! `check` and `run` both read it here, so both refuse a plan with errors in its text. A check
//! whose program is missing is refused by `run` alone, which asks the sandbox; `check` looks where
//! confined commands do, and warns. If the file of a check is not in the commit, both warn.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use orchestrate_coordinator::{FoundTools, Project, Roles, known_names, price_of, prices_date};
use orchestrate_core::text::similar::nearest;
use orchestrate_core::{Task, shell_word};
use orchestrate_files::{Links, read_plain};
use orchestrate_plan::{
    self, CheckReport, Finding, FindingCode, FirstWord, FrontMatter, KnownNames, MAX_PLAN_BYTES,
    Plan, Surroundings,
};
use orchestrate_settings::{Layer, Loaded, Location, Problem, Source, project_root};

use crate::args;
use crate::context::Context;
use crate::error::{CommandError, Complaint, ErrorKind};
use crate::given::Given;

/// A plan's text, with the settings and roles that it depends on.
pub(crate) struct PlanFile {
    /// Its path as typed.
    pub(crate) shown: String,
    pub(crate) text: String,
    /// Whether the text was typed: it is a goal, and there is no file.
    pub(crate) is_typed: bool,
    /// Whether standard input carried the text, so that there is no file either.
    pub(crate) is_input: bool,
    /// The settings that a run of it would have.
    pub(crate) loaded: Loaded,
    /// The roles at its base revision.
    pub(crate) roles: Roles,
    known: KnownNames,
    /// Errors in its text that only the settings and the repository show.
    refused: Vec<Finding>,
}

/// How a goal is named that was typed.
const TYPED_GOAL: &str = "goal";

/// How a plan is named that standard input carries.
const STANDARD_INPUT: &str = "standard input";

/// Reads a plan or a goal with the settings of the command line; without a project there are only
/// the built-in roles and the user's own.
pub(crate) fn open(
    context: &Context,
    argument: &Path,
    typed: Vec<(&'static str, String)>,
    project: Option<&Project>,
) -> Result<PlanFile, CommandError> {
    let given = Given::recognize(context, argument)?;
    let is_input = given == Given::Input;
    let (is_typed, shown, text) = match given {
        Given::Plan(path) => (false, path.display().to_string(), read(context, path)?),
        Given::Input => (false, STANDARD_INPUT.to_owned(), read_input()?),
        Given::Goal(text) => (true, TYPED_GOAL.to_owned(), text.to_owned()),
    };
    // A typed goal is taken as it stands.
    let front = if is_typed {
        FrontMatter::default()
    } else {
        orchestrate_plan::front_matter(&text)
    };
    let (layer, problems) = Layer::of_plan(&front, &shown);
    let loaded = context.load(typed, layer)?;
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
    Ok(PlanFile {
        shown,
        text,
        is_typed,
        is_input,
        loaded,
        roles,
        known,
        refused,
    })
}

impl PlanFile {
    /// Parses the plan for a run.
    pub(crate) fn plan(&self) -> Result<Plan, CommandError> {
        if self.is_typed {
            return Plan::of_goal(&self.text).ok_or_else(lists_tasks);
        }
        let mut errors = self.refused.clone();
        let plan = match Plan::parse(&self.text, &self.known) {
            Ok(plan) => {
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
            if !self.is_input {
                let shown = shell_word(&self.shown);
                hint.push_str(&format!(
                    "; `orchestrate check {shown}` shows the plan again"
                ));
            }
            self.refuse(errors).hint(hint)
        })
    }

    /// Returns the task of making a plan of the goal, or of rewriting the document as one.
    pub(crate) fn to_be_made(&self) -> Result<Plan, CommandError> {
        if !self.refused.is_empty() {
            return Err(self.refuse(self.refused.clone()));
        }
        let plan = match self.is_typed {
            true => Plan::of_goal(&self.text).ok_or_else(lists_tasks)?,
            false => Plan::of_document(&self.text).map_err(|error| self.refuse(vec![error]))?,
        };
        Ok(plan.for_planning())
    }

    /// Creates the error of a plan that cannot be run.
    pub(crate) fn refuse(&self, errors: Vec<Finding>) -> CommandError {
        let text: Arc<str> = self.text.as_str().into();
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
            None => self.shown.clone(),
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
        match self.is_typed {
            true => orchestrate_plan::check_goal(&self.shown, &self.text, &around)
                .ok_or_else(lists_tasks),
            false => Ok(orchestrate_plan::check(&self.shown, &self.text, &around)),
        }
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

/// Reads a plan from standard input.
fn read_input() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    // One byte more than allowed, as of a file.
    let read = io::stdin()
        .take(MAX_PLAN_BYTES as u64 + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| {
        CommandError::usage(format!(
            "failed to read the plan from standard input: {error}"
        ))
    })?;
    utf8(bytes, STANDARD_INPUT)
}

/// Reads a plan's text.
fn read(context: &Context, plan: &Path) -> Result<String, CommandError> {
    let shown = plan.display();
    let failed = |error: std::io::Error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let error = CommandError::usage(format!("failed to read the plan {shown}: {error}"));
        if missing { meant(error, plan) } else { error }
    };
    // One byte more than allowed is enough for the parser to report that it is too large.
    let bytes = open_place(context, plan)
        .read(MAX_PLAN_BYTES as u64)
        .map_err(failed)?;
    utf8(bytes, &shown.to_string())
}

fn utf8(bytes: Vec<u8>, shown: &str) -> Result<String, CommandError> {
    String::from_utf8(bytes).map_err(|error| {
        let bad = error.utf8_error().valid_up_to();
        CommandError::usage(format!(
            "the plan {shown} is not text: byte {bad} is not valid UTF-8"
        ))
        .hint("a plan is a Markdown file; save it as UTF-8")
    })
}

/// The path of a plan, and the repository that a link on the way must not leave.
struct PlanPlace {
    path: PathBuf,
    root: Option<PathBuf>,
}

impl PlanPlace {
    fn read(&self, limit: u64) -> std::io::Result<Vec<u8>> {
        let links = self.root.as_deref().map_or(Links::Anywhere, Links::Below);
        read_plain(&self.path, links, limit)
    }
}

/// Resolves the path of a plan. One outside of the repository may follow any link, since the user
/// named it.
fn open_place(context: &Context, plan: &Path) -> PlanPlace {
    let mut path = context.directory.join(plan);
    let mut root = project_root(&context.directory);
    if path.components().any(|part| part == Component::ParentDir) {
        let real = path
            .parent()
            .and_then(|folder| folder.canonicalize().ok())
            .zip(path.file_name());
        path = real.map_or_else(|| path.clone(), |(folder, name)| folder.join(name));
        root = root.and_then(|root| root.canonicalize().ok());
    }
    PlanPlace {
        root: root.filter(|root| path.starts_with(root)),
        path,
    }
}

/// Adds a hint about the command that was meant, if the plan's name looks like a mistyped one.
fn meant(error: CommandError, plan: &Path) -> CommandError {
    let names = args::command_names();
    let typed = plan.to_string_lossy();
    match nearest(&typed, names.iter().map(String::as_str)) {
        Some(name) => error.hint(format!("did you mean `orchestrate {name}`?")),
        None => error.hint(
            "type the path of a Markdown file with a checklist or a goal, or a goal of several words in quotes; \
             `orchestrate demo` runs an example",
        ),
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
