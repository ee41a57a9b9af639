//! Collects the secrets of a run, from everywhere that it takes them from.

use std::collections::BTreeMap;

use orchestrate_core::{Redactor, Secret, Task};
use orchestrate_git::Repo;
use orchestrate_model::Environment;

use crate::error::CoordinatorError;

/// Returns what keeps the secrets of these variables, of a typed base URL and of the repository out of texts.
pub fn redactor_of(
    variables: &BTreeMap<String, String>,
    base_url: Option<&str>,
    repository: Option<&Repo>,
) -> Redactor {
    let environment: Environment = variables.clone().into_iter().collect();
    let of_url = base_url.iter().flat_map(|url| Secret::in_url("base_url", url));
    let of_repository = repository.map(Repo::secrets).unwrap_or_default();
    Redactor::new(environment.secrets().into_iter().chain(of_url).chain(of_repository))
}

/// Refuses a plan that holds a secret: it is recorded and carried out as it stands.
pub(crate) fn require_none_in(redactor: &Redactor, text: &str, tasks: &[Task]) -> Result<(), CoordinatorError> {
    let holds = |text: &str| redactor.finds(text).map(str::to_owned);
    let mut lines = text.lines().enumerate();
    if let Some((line, name)) = lines.find_map(|(at, line)| Some((at + 1, holds(line)?))) {
        return Err(told(&format!("line {line} of the plan"), &name));
    }
    for task in tasks {
        let written = serde_json::to_string(task).unwrap_or_default();
        if let Some(name) = holds(&written) {
            return Err(told(&format!("task {}", task.id), &name));
        }
    }
    Ok(())
}

fn told(place: &str, name: &str) -> CoordinatorError {
    CoordinatorError::Plan(format!(
        "{place} contains the secret {name}, which would be recorded and sent to a model; remove it"
    ))
}
