//! Derives a run's settings before it starts, and detects what would make its first task fail.

use std::path::{Path, PathBuf};

use orchestrate_checks::{ConfinementChoice, default_memory_mib, place_of};
use orchestrate_core::task::Work;
use orchestrate_core::{Price, RunSettings, Task};
use orchestrate_model::{Environment, ModelName, Models, Preferences};
use orchestrate_plan::{Finding, FirstWord, Plan, PlannedCommand, commands_of_checks};
use orchestrate_sandbox::Confinement;
use orchestrate_settings::{Directories, Loaded, SandboxDemand, Switches};
use serde_json::Value;

use crate::api::coordinator::Coordinator;
use crate::api::readiness::programs;
use crate::error::CoordinatorError;
use crate::run::program::settings::Settings;
use crate::texts::models::{fallbacks, preferences};
use crate::texts::roles::Roles;

/// The manifest of a package of Node, and the folder of its packages.
const PACKAGE: &str = "package.json";
const NODE_MODULES: &str = "node_modules";
/// The maximum size of a manifest that is read.
const MAX_PACKAGE: usize = 1 << 20;
/// The package managers that start a manifest's scripts, with the programs of its packages on their
/// path.
const SCRIPT_RUNNERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];

/// Creates the settings with which a repository is opened.
pub fn settings_of(loaded: &Loaded, directories: &Directories) -> Settings {
    let confinement = match loaded.run.no_sandbox {
        true => ConfinementChoice::Exactly(Confinement::Unconfined),
        false => confinement_of(&loaded.switches),
    };
    let mut run = loaded.run.clone();
    if loaded.resolved.is_of_repository("command_memory_mib") {
        // A repository cannot widen the share of the memory that applies without it.
        let share = default_memory_mib();
        run.command_memory_mib = run
            .command_memory_mib
            .map(|mib| share.map_or(mib, |share| mib.min(share)));
    }
    Settings {
        run,
        environment: loaded.environment.clone(),
        base_url: loaded.run.base_url.clone(),
        confinement,
        demanded_by: SandboxDemand::find(&loaded.switches_given)
            .filter(|demand| demand.is_strict)
            .map(|demand| demand.by),
        additions: loaded.additions.clone(),
        audit_log: loaded.resolved.text("audit_log").map(PathBuf::from),
        worktree_folder: loaded.worktree_folder.clone(),
        base: loaded.resolved.text("base"),
        user_config_dir: Some(PathBuf::from(&directories.config)),
        ..Settings::new(&directories.state)
    }
}

/// Returns how commands are confined unless the user has disabled the sandbox.
pub fn confinement_of(switches: &Switches) -> ConfinementChoice {
    match switches.strict_sandbox {
        true => ConfinementChoice::Exactly(Confinement::Full),
        false => ConfinementChoice::Strongest,
    }
}

/// Checks that every agent of a plan will have a model, as far as possible without a request.
///
/// # Errors
///
/// Fails with the first agent that will have none, and the ways to choose one.
pub async fn require_model(
    loaded: &Loaded,
    roles: &Roles,
    tasks: &[Task],
) -> Result<(), CoordinatorError> {
    let environment: Environment = loaded.environment.clone().into_iter().collect();
    let models = Models::new(environment, loaded.resolved.text("base_url"))
        .with_prices(loaded.run.prices.clone());
    let needs_price = loaded.run.budget_micro_usd.is_some();
    let mut seen: Vec<(Preferences, Vec<&str>)> = Vec::new();
    for task in tasks.iter().filter(|task| task.status.runs()) {
        let Work::Agent(agent) = &task.work else {
            continue;
        };
        let role = roles.role(agent.as_deref().unwrap_or(&loaded.run.agent))?;
        let preferences = preferences(&loaded.run, task, role);
        let fallbacks = fallbacks(&loaded.run, role, "");
        if !seen.contains(&(preferences.clone(), fallbacks.clone())) {
            let mut used = vec![models.choose(&preferences).await?.name];
            for name in &fallbacks {
                used.push(ModelName::parse(name)?);
            }
            for name in &used {
                models.check(name)?;
                if needs_price {
                    models.price(name)?;
                }
            }
            seen.push((preferences, fallbacks));
        }
    }
    Ok(())
}

/// The checks of a plan whose programs are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingPrograms {
    /// Checks that can only fail, and that no agent can fix.
    pub errors: Vec<Finding>,
    /// Checks that may still pass: something else decides, or the project's setup or an unconfined
    /// task may install the program; and checks that were not inspected.
    pub warnings: Vec<Finding>,
}

/// Finds the checks that start with a program which commands do not find in the current tier.
///
/// # Errors
///
/// Fails if no command can be run.
pub async fn missing_programs(
    coordinator: &Coordinator,
    plan: &Plan,
    roles: &Roles,
    settings: &RunSettings,
) -> Result<MissingPrograms, CoordinatorError> {
    let reports = |role: &str| roles.role(role).is_ok_and(|role| role.delivers.is_report());
    let checks = commands_of_checks(plan, settings, &reports);
    let names = checks.iter().filter_map(PlannedCommand::program).collect();
    let missing = programs::not_found(coordinator.sandbox(), names).await?;
    // Without a sandbox, a task may install the program of a later check, and a relative folder of
    // the search path differs.
    let confined = coordinator.confinement() != Confinement::Unconfined;
    let is_final = confined && settings.worktree_setup.is_none();
    let mut found = MissingPrograms::default();
    for check in checks
        .iter()
        .filter(|check| check.program().is_some_and(|name| missing.contains(name)))
    {
        let list = if check.is_vital && is_final {
            &mut found.errors
        } else {
            &mut found.warnings
        };
        list.push(check.missing(confined));
    }
    // The project's setup may create any file.
    if settings.worktree_setup.is_none() {
        add_missing_files(&mut found, coordinator, &checks, settings)?;
        add_programs_of_scripts(&mut found, coordinator, &checks, settings)?;
    }
    Ok(found)
}

/// Finds the checks that start with a file which no worktree contains at first. Most are only
/// warnings, since a task may create it; not so the run's own check, which is first made on the
/// base.
fn add_missing_files(
    found: &mut MissingPrograms,
    coordinator: &Coordinator,
    checks: &[PlannedCommand<'_>],
    settings: &RunSettings,
) -> Result<(), CoordinatorError> {
    for check in checks {
        let FirstWord::File(path) = check.first else {
            continue;
        };
        if coordinator.worktree_may_have(path)? {
            continue;
        }
        let is_in_checkout = coordinator.checkout_has(path);
        let is_of_base = settings.verify_base && settings.verify.as_deref() == Some(check.text);
        let list = if is_in_checkout && is_of_base && check.is_vital {
            &mut found.errors
        } else {
            &mut found.warnings
        };
        list.push(if is_in_checkout {
            check.only_in_checkout(path)
        } else {
            check.missing(true)
        });
    }
    Ok(())
}

/// Finds the checks that start a script of `package.json` whose program lies in an ignored folder
/// of the user's checkout alone: a package manager would end with nothing but "not found".
fn add_programs_of_scripts(
    found: &mut MissingPrograms,
    coordinator: &Coordinator,
    checks: &[PlannedCommand<'_>],
    settings: &RunSettings,
) -> Result<(), CoordinatorError> {
    let repo = coordinator.repo();
    if checks
        .iter()
        .all(|check| package_script(check.text).is_none())
    {
        return Ok(());
    }
    let read =
        repo.store()
            .read_file_within(&coordinator.base()?.0, Path::new(PACKAGE), MAX_PACKAGE);
    // A manifest that cannot be read is the package manager's business.
    let Ok(Some(manifest)) = read else {
        return Ok(());
    };
    let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
    for check in checks {
        let script = package_script(check.text)
            .and_then(|name| manifest.get("scripts")?.get(name)?.as_str());
        let Some(FirstWord::Program(program)) = script.and_then(FirstWord::parse) else {
            continue;
        };
        let Some(folder) =
            place_of(repo.workdir(), program).filter(|folder| *folder == NODE_MODULES)
        else {
            continue;
        };
        if coordinator.worktree_may_have(&format!("{folder}/.bin/{program}"))? {
            continue;
        }
        let is_of_base = settings.verify_base && settings.verify.as_deref() == Some(check.text);
        let list = if is_of_base && check.is_vital {
            &mut found.errors
        } else {
            &mut found.warnings
        };
        list.push(check.only_in_folder(program, folder));
    }
    Ok(())
}

/// Returns the script of `package.json` that a command of a package manager starts, if it is plain
/// to see.
fn package_script(command: &str) -> Option<&str> {
    let mut words = command
        .split_whitespace()
        .skip_while(|word| word.contains('='));
    if !SCRIPT_RUNNERS.contains(&words.next()?) {
        return None;
    }
    match words.find(|word| !word.starts_with('-'))? {
        "test" | "t" => Some("test"),
        "run" | "run-script" => words.find(|word| !word.starts_with('-')),
        _ => None,
    }
}

/// Returns the price of the model of a task's agent, as far as it is known without asking any
/// server.
pub fn price_of(loaded: &Loaded, roles: &Roles, task: &Task) -> Option<Price> {
    let Work::Agent(agent) = &task.work else {
        return None;
    };
    let role = roles
        .role(agent.as_deref().unwrap_or(&loaded.run.agent))
        .ok()?;
    let environment: Environment = loaded.environment.clone().into_iter().collect();
    let models = Models::new(environment, loaded.resolved.text("base_url"))
        .with_prices(loaded.run.prices.clone());
    models
        .price(&models.choose_offline(&preferences(&loaded.run, task, role))?)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_that_a_package_manager_starts_is_plain_to_see() {
        let table = [
            ("npm test", Some("test")),
            ("CI=1 npm --silent t -- --watch=false", Some("test")),
            ("pnpm run lint", Some("lint")),
            ("yarn run --silent build", Some("build")),
            ("npm ci", None),
            ("npx mocha", None),
            ("cargo test", None),
            ("npm", None),
        ];
        for (command, script) in table {
            assert_eq!(package_script(command), script, "{command}");
        }
    }
}
