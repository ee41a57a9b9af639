//! What is made of loaded settings before a run begins, and what would make it fail at its first task.

use std::path::PathBuf;

use orchestrate_core::Task;
use orchestrate_core::task::Work;
use orchestrate_model::{Environment, ModelError, ModelName, Models, Preferences};
use orchestrate_sandbox::Confinement;

use crate::coordinator::{ConfinementChoice, Settings};
use crate::error::CoordinatorError;
use crate::models::preferences;
use crate::roles::Roles;
use crate::settings::{Directories, Loaded};

/// Makes the settings with which a repository is opened.
pub fn settings_of(loaded: &Loaded, directories: &Directories) -> Settings {
    let confinement = match (loaded.run.no_sandbox, loaded.switches.strict_sandbox) {
        (true, _) => ConfinementChoice::Exactly(Confinement::Unconfined),
        (false, true) => ConfinementChoice::Exactly(Confinement::Full),
        (false, false) => ConfinementChoice::Strongest,
    };
    Settings {
        run: loaded.run.clone(),
        environment: loaded.environment.clone(),
        base_url: loaded.run.base_url.clone(),
        confinement,
        base: loaded.resolved.text("base"),
        user_config_dir: Some(PathBuf::from(&directories.config)),
        ..Settings::new(&directories.state)
    }
}

/// Makes sure that every agent of a plan will have a model, as far as can be told without asking one.
///
/// # Errors
///
/// Fails with the first that will have none, and the ways to have one.
pub async fn require_model(loaded: &Loaded, roles: &Roles, tasks: &[Task]) -> Result<(), CoordinatorError> {
    let environment: Environment = loaded.environment.clone().into_iter().collect();
    let models = Models::new(environment, loaded.resolved.text("base_url"));
    let mut seen: Vec<Preferences> = Vec::new();
    for task in tasks.iter().filter(|task| task.status.runs()) {
        let Work::Agent(agent) = &task.work else { continue };
        let role = roles.role(agent.as_deref().unwrap_or(&loaded.run.agent))?;
        let preferences = preferences(&loaded.run, task, role);
        if !seen.contains(&preferences) {
            check(&models, &preferences).await?;
            seen.push(preferences);
        }
    }
    Ok(())
}

async fn check(models: &Models, preferences: &Preferences) -> Result<(), ModelError> {
    let name: ModelName = models.choose(preferences).await?.name;
    models.check(&name)
}
