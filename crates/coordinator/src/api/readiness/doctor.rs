//! Tests what a run needs of this machine, each with the exact fix for a problem.

use std::collections::BTreeMap;
use std::path::Path;

use orchestrate_checks::{require_own_state, with_interpreters};
use orchestrate_git::{GitError, Identities, RepositoryRefusal, installed};
use orchestrate_model::{Environment, ModelError, ModelName, Models, Preferences};
use orchestrate_sandbox::{
    Confinement, Helper, KernelLimits, Sandbox, SeenFolder, kernel_limits, probe,
    programs_below_home,
};
use orchestrate_settings::consent::Consents;
use orchestrate_settings::{Loaded, SandboxDemand, Suggestion};
use orchestrate_tools::makes_maps;
use serde::{Deserialize, Serialize};

use crate::api::coordinator::Coordinator;
use crate::api::project::Project;
use crate::api::readiness::programs::may_find;
use crate::api::readiness::seen_programs::{ProgramSeen, different_programs, seen_programs};
use crate::api::readiness::web_search::SearchService;
use crate::error::CoordinatorError;
use crate::run::machine::confinement::additions_of;
use crate::run::machine::open_files::OpenFiles;
use crate::texts::repository_map::NoMap;

/// The results of all tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Diagnosis {
    /// Whether a run would work.
    pub ok: bool,
    /// The tests, in the order in which a run needs them.
    pub checks: Vec<Check>,
    /// What a confined command sees of the user's programs.
    pub programs: Vec<ProgramSeen>,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Check {
    /// Its subject.
    pub name: String,
    /// Its result.
    pub status: CheckStatus,
    /// What was found.
    pub found: String,
    /// The fix.
    pub fix: Option<String>,
}

/// The result of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// It works.
    Ok,
    /// A run works without it, with restrictions.
    Warning,
    /// No run works without it.
    Missing,
}

impl Diagnosis {
    /// Runs all tests.
    pub async fn run(directory: &Path, state_dir: &Path, settings: &Loaded) -> Self {
        let mut checks = repository(directory, state_dir, &settings.environment);
        if !is_inside(directory, state_dir) {
            checks.push(state(state_dir));
        }
        let files = open_files(settings.run.max_agents);
        // With too few open files no tier can be tested, and each would be blamed.
        let is_tried = files.status == CheckStatus::Ok;
        checks.push(files);
        let mut programs = Vec::new();
        if is_tried {
            checks.extend(sandbox(settings));
            programs = of_commands(directory, state_dir, settings).await;
            checks.extend(programs_below_home().iter().flat_map(of_folder));
        }
        checks.extend(
            programs
                .iter()
                .filter(|program| program.reason.is_some())
                .map(of_program),
        );
        checks.extend(of_project(directory, state_dir, settings));
        checks.extend(hooks(state_dir, settings));
        checks.extend(packages(&programs));
        checks.extend(maps(settings));
        checks.extend(models(settings).await);
        let ok = checks
            .iter()
            .all(|check| check.status != CheckStatus::Missing);
        Self {
            ok,
            checks,
            programs,
        }
    }
}

fn check(name: &'static str, status: CheckStatus, found: impl Into<String>) -> Check {
    Check {
        name: name.to_owned(),
        status,
        found: found.into(),
        fix: None,
    }
}

fn working(name: &'static str, found: impl Into<String>) -> Check {
    check(name, CheckStatus::Ok, found)
}

fn warning(name: &'static str, found: impl Into<String>) -> Check {
    check(name, CheckStatus::Warning, found)
}

fn missing(name: &'static str, found: impl Into<String>) -> Check {
    check(name, CheckStatus::Missing, found)
}

impl Check {
    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

fn repository(
    directory: &Path,
    state_dir: &Path,
    variables: &BTreeMap<String, String>,
) -> Vec<Check> {
    let project = match Project::open(directory, state_dir)
        .and_then(|project| project.require_ready().map(|()| project))
    {
        Ok(project) => project,
        Err(CoordinatorError::Git(GitError::Refused { path, refusal })) => {
            return refused(&path, &refusal, variables);
        }
        Err(error) => {
            return vec![
                missing("repository", format!("failed to {error}"))
                    .fix("type `git status` here to see git's message"),
            ];
        }
    };
    let mut checks = vec![
        working("git", project.git()),
        working("repository", project.workdir().display().to_string()),
    ];
    for found in [
        project.warnings(None),
        project.without_effect(None, None, &[]),
    ] {
        let warnings = match found {
            Ok(warnings) => warnings,
            Err(error) => vec![format!("failed to {error}")],
        };
        for text in warnings {
            checks.push(warning("repository", text));
        }
    }
    checks.push(identity(project.has_identity(variables)));
    checks
}

/// Reports why a repository cannot be used, with the tests that do not need one. A program that
/// cannot be used is itself the reason.
fn refused(
    path: &Path,
    refusal: &RepositoryRefusal,
    variables: &BTreeMap<String, String>,
) -> Vec<Check> {
    let git = installed()
        .ok()
        .map(|(version, path)| format!("{version} at {}", path.display()));
    let mut checks: Vec<Check> = git.map(|git| working("git", git)).into_iter().collect();
    let found = format!("{}: {refusal}", path.display());
    checks.push(missing("repository", found).fix(refusal.fix()));
    // The repository may configure an identity.
    if *refusal == RepositoryRefusal::NoRepository {
        checks.push(identity(Identities::of_user(variables).is_some()));
    }
    checks
}

fn identity(is_known: bool) -> Check {
    if is_known {
        return working("identity", "git has a user.name and user.email");
    }
    missing("identity", "git knows no user.name and user.email").fix(
        "type `git config --global user.name \"Your Name\"` and `git config --global user.email \
         you@example.com`",
    )
}

/// Reports whether the state folder is inside the checkout, which was reported already and must not
/// be tested.
fn is_inside(directory: &Path, state_dir: &Path) -> bool {
    let refused = Project::open(directory, state_dir).err();
    matches!(
        refused,
        Some(CoordinatorError::Git(GitError::Refused {
            refusal: RepositoryRefusal::HoldsState { .. },
            ..
        }))
    )
}

/// Tests writing in the folder of journals and worktrees.
fn state(state_dir: &Path) -> Check {
    let trial = state_dir.join(format!(".doctor-{}", std::process::id()));
    if let Err(error) = require_own_state(state_dir) {
        return missing("state", error.to_string())
            .fix("set XDG_STATE_HOME to another folder that you own");
    }
    let tried = orchestrate_files::create_folder(state_dir)
        .and_then(|()| orchestrate_files::write(&trial, b"trial"))
        .and_then(|()| std::fs::remove_file(&trial));
    match tried {
        Ok(()) => working("state", state_dir.display().to_string()),
        Err(error) => missing(
            "state",
            format!("{} cannot be written: {error}", state_dir.display()),
        )
        .fix("make it writable, or set XDG_STATE_HOME to a folder on a local disk"),
    }
}

/// Counts the open files needed by a run's agents, after raising the soft limit as a run does.
fn open_files(agents: usize) -> Check {
    let files = OpenFiles::of_agents(agents);
    let OpenFiles { needed, allowed } = files;
    if files.are_enough() {
        return working(
            "open files",
            format!("{needed} for {agents} agents at once"),
        );
    }
    let found = format!("{agents} agents need {needed}, {allowed} allowed");
    let fewer = Some(files.agents()).filter(|fewer| *fewer > 0);
    let fewer = fewer
        .map(|fewer| format!(", or lower their number: `max_agents = {fewer}`"))
        .unwrap_or_default();
    missing("open files", found).fix(format!(
        "start it where `ulimit -Hn` allows more, such as in a new shell{fewer}"
    ))
}

fn sandbox(settings: &Loaded) -> Vec<Check> {
    let found = probe(&Helper::default());
    let strict = settings.switches.strict_sandbox;
    // A reason includes the fix.
    let tier = |name, result: Result<String, String>, missing: CheckStatus| match result {
        Ok(starts) => working(name, starts),
        Err(reason) => check(name, missing, reason),
    };
    let full_is_needed = strict || found.fallback.is_err();
    let full = tier(
        "sandbox full",
        found.full.clone().map(|()| "starts".to_owned()),
        level(full_is_needed),
    );
    let starts = found
        .fallback
        .map(|()| format!("starts; in it, {}", found.fallback_forbids));
    let fallback = tier(
        "sandbox fallback",
        starts,
        level(found.full.is_err() && !strict),
    );
    let demanded = SandboxDemand::find(&settings.switches_given)
        .map(|demand| demanded(&demand, found.full.is_ok()));
    let kernel = kernel_limits();
    let mut checks: Vec<Check> = [full]
        .into_iter()
        .chain(found.rooms.map(rooms))
        .chain([fallback])
        .chain(demanded)
        .chain([groups(&kernel)])
        .collect();
    if rustix::process::getuid().is_root() && !kernel.is_ok_and(|limits| limits.processes) {
        let found = "the kernel does not limit root's processes: a command that starts too many is \
                     killed, not held back";
        checks.push(warning("sandbox limits", found).fix("run orchestrate as an ordinary user"));
    }
    checks
}

/// Reports whether an agent's commands share what takes long to make.
fn rooms(found: Result<(), String>) -> Check {
    let name = "sandbox rooms";
    match found {
        Ok(()) => working(name, "an agent's commands share one"),
        Err(why) => working(
            name,
            format!("none, so each command takes some milliseconds more: {why}"),
        ),
    }
}

/// Reports which limits of commands the kernel keeps exactly, or why it keeps none.
fn groups(kernel: &Result<KernelLimits, String>) -> Check {
    let found = match kernel {
        Ok(KernelLimits { memory, processes }) => {
            let limited = [("memory", memory), ("processes", processes)]
                .into_iter()
                .filter(|(_, is_limited)| **is_limited);
            let limited: Vec<&str> = limited.map(|(name, _)| name).collect();
            format!(
                "each command has one, with its limit of {}",
                limited.join(" and ")
            )
        }
        Err(why) => format!("none, so limits are checked several times a second: {why}"),
    };
    working("control groups", found)
}

/// Reports what the environment demands of the sandbox, and whether this machine has it.
fn demanded(demand: &SandboxDemand, full_starts: bool) -> Check {
    let SandboxDemand { by, is_strict } = demand;
    let tier = Confinement::Full;
    let refuses = "nothing weaker is used, and the sandbox cannot be switched off";
    match (is_strict, full_starts) {
        (false, _) => {
            let found = format!(
                "{by} demands no tier: the strongest that starts is used, and none only if a run \
                 asks for it"
            );
            working("sandbox mode", found)
        }
        (true, true) => working(
            "sandbox mode",
            format!("{by} demands the tier {tier}, which starts; {refuses}"),
        ),
        (true, false) => {
            let found =
                format!("{by} demands the tier {tier}, which does not start here; {refuses}");
            missing("sandbox mode", found).fix(format!(
                "do what the line `sandbox full` says, or unset {}",
                by.split('=').next().unwrap_or(by)
            ))
        }
    }
}

/// Finds the user's programs in the sandbox of a run; none if no tier starts, which is reported
/// already.
async fn of_commands(directory: &Path, state_dir: &Path, settings: &Loaded) -> Vec<ProgramSeen> {
    let strongest = match settings.switches.strict_sandbox {
        true => Sandbox::with(Confinement::Full, Helper::default()),
        false => Sandbox::strongest(Helper::default()),
    };
    let Ok(sandbox) = strongest else {
        return Vec::new();
    };
    let project = Project::open(directory, state_dir).ok();
    let workdir = project.as_ref().map(Project::workdir);
    seen_programs(
        &sandbox.adding(with_interpreters(
            additions_of(&settings.additions),
            workdir,
        )),
        settings,
        workdir,
    )
    .await
}

/// Warns of a program that commands do not see as the user's shell does.
fn of_program(program: &ProgramSeen) -> Check {
    Check {
        fix: program.fix.clone(),
        ..warning("program", program.found())
    }
}

/// Finds the programs of a run's project that its commands start otherwise than the user's shell,
/// as lines with what to do about each.
pub async fn program_warnings(coordinator: &Coordinator, settings: &Loaded) -> Vec<String> {
    let different = different_programs(
        coordinator.sandbox(),
        settings,
        coordinator.repo().workdir(),
    )
    .await;
    different.iter().map(program_line).collect()
}

fn program_line(program: &ProgramSeen) -> String {
    let fix = program.fix.as_deref().map(|fix| format!("; fix: {fix}"));
    format!("{}{}", program.found(), fix.unwrap_or_default())
}

/// The maximum number of programs of one folder that are named.
const SHOWN_PROGRAMS: usize = 20;

/// Lists the programs of a folder below the home that commands see, and those that may not start
/// there.
fn of_folder(seen: &SeenFolder) -> Vec<Check> {
    let SeenFolder {
        folder,
        programs,
        naming_home,
    } = seen;
    let found = format!("in {}, commands see {}", folder.display(), listed(programs));
    let mut checks = vec![working("programs", found)];
    if !naming_home.is_empty() {
        let found = format!(
            "scripts that name $HOME may not start in commands, where that is an empty folder: {}; \
             they need absolute paths, and those in `sandbox.read` if no folder of your PATH has \
             them",
            listed(naming_home)
        );
        checks.push(working("programs", found));
    }
    checks
}

fn listed(names: &[String]) -> String {
    let shown = names
        .iter()
        .take(SHOWN_PROGRAMS)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN_PROGRAMS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Lists the hooks that are in force, and those that lack the user's consent.
fn hooks(state_dir: &Path, settings: &Loaded) -> Vec<Check> {
    if settings.run.hooks.is_empty() {
        return Vec::new();
    }
    let consents = match Consents::load(state_dir) {
        Ok(consents) => consents,
        Err(error) => {
            let found = format!("failed to {error}");
            return vec![warning("hook", found)];
        }
    };
    let mut checks = Vec::new();
    for hook in &settings.run.hooks {
        let is_untrusted = settings.commands.iter().any(|command| {
            command.place == hook.source
                && command.command == hook.command
                && !consents.covers(command)
        });
        let found = hook.to_string();
        checks.push(match is_untrusted {
            false => working("hook", found),
            true => warning("hook", found)
                .fix("inspect this command of the project's, and give it your consent"),
        });
    }
    checks
}

/// Reports which package managers and build tools a project uses, and what of them a run would
/// miss.
fn of_project(directory: &Path, state_dir: &Path, settings: &Loaded) -> Vec<Check> {
    let Ok(project) = Project::open(directory, state_dir) else {
        return Vec::new();
    };
    let ignored = match project.ignored() {
        Ok(ignored) => ignored,
        Err(error) => {
            return vec![warning("project", format!("failed to {error}"))];
        }
    };
    let suggestion = Suggestion::read(project.workdir(), &ignored, &may_find);
    let names: Vec<String> = suggestion
        .found
        .iter()
        .map(|one| format!("{} ({})", one.name, one.by))
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let mut checks = vec![working("project", names.join(", "))];
    if let (None, Some(verify)) = (&settings.run.verify, &suggestion.verify) {
        let found = "no check is set, so nothing verifies what is merged";
        let fix =
            format!("set `verify`, for example to `{verify}`, which `init` finds in these files");
        checks.push(warning("project", found).fix(fix));
    }
    let Ok(named) = project.include_patterns() else {
        return checks;
    };
    for line in &suggestion.include {
        let is_named = named
            .iter()
            .any(|known| known.trim_matches('/') == line.trim_matches('/'));
        if is_named || settings.run.worktree_setup.is_some() {
            continue;
        }
        let found = format!("{line} lies in your checkout, but no worktree gets it");
        checks.push(warning("project", found).fix(format!("add `{line}` to .worktreeinclude")));
    }
    checks
}

/// Package managers whose caches commands do not see, each with the program that it comes with.
///
/// A cache is shown read-only, or not at all: every job would need a copy of its own, and such
/// caches have gigabytes. Unlike cargo, go, Maven and gradle, these managers cannot use one that
/// they may not write: uv locks its cache, and npm, pnpm and yarn write to theirs even to read. Pip
/// asks an index for what it has in its cache.
const WITHOUT_CACHE: [(&str, &str); 5] = [
    ("uv", "uv"),
    ("pip", "python3"),
    ("npm", "node"),
    ("pnpm", "pnpm"),
    ("yarn", "yarn"),
];

/// Lists the package managers that install nothing in commands, and what to do instead.
fn packages(programs: &[ProgramSeen]) -> Option<Check> {
    let mut managers = Vec::new();
    for (manager, name) in WITHOUT_CACHE {
        let is_seen = programs
            .iter()
            .any(|program| program.name == name && program.inside.is_some());
        if is_seen {
            managers.push(manager);
        }
    }
    let found = format!(
        "an agent's commands cannot install packages with {}, which need a network or write to \
         their caches: agents whose role lists the tool `install_package` add one with it, which \
         you approve; what is installed in your checkout, such as `.venv` or `node_modules`, they \
         see if it is named in .worktreeinclude",
        managers.join(", ")
    );
    (!managers.is_empty()).then(|| working("packages", found))
}

/// Warns that agents get no maps of the repository, if the settings want some.
fn maps(settings: &Loaded) -> Option<Check> {
    let is_missing = settings.run.map_tokens > 0 && !makes_maps();
    let found = format!("agents get no map of the repository: {}", NoMap::NotBuilt);
    is_missing.then(|| warning("map", found).fix("build it with its default features"))
}

fn level(is_needed: bool) -> CheckStatus {
    if is_needed {
        CheckStatus::Missing
    } else {
        CheckStatus::Warning
    }
}

async fn models(settings: &Loaded) -> Vec<Check> {
    let environment: Environment = settings.environment.clone().into_iter().collect();
    let models = Models::new(environment, settings.resolved.text("base_url"));
    let mut checks: Vec<Check> = models
        .keys()
        .into_iter()
        .map(|(provider, variable)| working("key", format!("{} ({variable})", provider.name())))
        .collect();
    for server in models.local_servers().await {
        let found = format!(
            "{} at {} with {} models",
            server.provider.name(),
            server.base_url,
            server.models.len()
        );
        checks.push(working("server", found));
    }
    let preferences = Preferences {
        flag: settings.resolved.text("model"),
        ..Preferences::default()
    };
    let chosen = match models.choose(&preferences).await {
        Ok(choice) => reach(&models, &choice.name).await.map(|()| choice),
        Err(error) => Err(error),
    };
    checks.extend(searches(
        settings,
        chosen.as_ref().ok().map(|choice| &choice.name),
    ));
    checks.push(match chosen {
        Ok(choice) => working("model", format!("{} ({})", choice.name, choice.why)),
        // Plans of commands run without a model.
        Err(ModelError::NoModel(none)) => {
            warning("model", format!("{none}: `run:` tasks work, agents do not")).fix(none.fix())
        }
        Err(error) => missing("model", format!("failed to {error}")).fix(
            "correct its name, key or address in the environment or the configuration, or name \
             another model",
        ),
    });
    checks
}

/// Reports which service searches the web, if one is chosen.
fn searches(settings: &Loaded, model: Option<&ModelName>) -> Option<Check> {
    match SearchService::for_model(settings, model) {
        SearchService::None => None,
        SearchService::InForce(service) => Some(working("web search", service)),
        SearchService::Unusable(why) => Some(warning("web search", why)),
    }
}

/// Requests a model endpoint's list, which shows whether the endpoint responds and accepts the key.
async fn reach(models: &Models, name: &ModelName) -> Result<(), ModelError> {
    models.check(name)?;
    match name {
        ModelName::Script(_) | ModelName::Replay(_) => Ok(()),
        ModelName::Hosted { .. } | ModelName::Other(_) => models.list(name).await.map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_on_packages_names_the_tool_that_installs_one() {
        let seen = |name: &str| ProgramSeen {
            name: name.to_owned(),
            inside: Some(format!("/usr/bin/{name}").into()),
            ..ProgramSeen::default()
        };
        let check = packages(&[seen("python3"), seen("node")]).unwrap();
        assert!(
            check
                .found
                .starts_with("an agent's commands cannot install packages with pip, npm, "),
            "{check:?}"
        );
        assert!(
            check
                .found
                .contains("whose role lists the tool `install_package`"),
            "{check:?}"
        );
        assert_eq!(packages(&[seen("go")]), None);
    }

    #[test]
    fn programs_below_the_home_are_listed_by_folder() {
        let names = |numbers: std::ops::Range<usize>| {
            numbers
                .map(|number| format!("p{number}"))
                .collect::<Vec<_>>()
        };
        let seen = |programs: Vec<String>, naming_home: Vec<String>| {
            let seen = SeenFolder {
                folder: "/home/u/.local/bin".into(),
                programs,
                naming_home,
            };
            of_folder(&seen)
                .into_iter()
                .map(|check| check.found)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            seen(names(1..3), Vec::new()),
            ["in /home/u/.local/bin, commands see p1, p2"]
        );
        let many = seen(names(0..23), names(1..2));
        assert!(many[0].ends_with(", p18, p19 and 3 more"), "{many:?}");
        assert!(
            many[1].contains("where that is an empty folder: p1; "),
            "{many:?}"
        );
    }
}
