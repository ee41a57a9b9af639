//! Collects the secrets of a run from all their sources.

use std::collections::BTreeMap;

use orchestrate_core::{Redactor, Secret, Task};
use orchestrate_git::Repo;
use orchestrate_model::Environment;

use crate::error::{CoordinatorError, PlanPlace};

/// Returns the redactor for the secrets in these variables, a typed base URL and the repository's
/// configuration.
pub fn redactor_of(
    variables: &BTreeMap<String, String>,
    base_url: Option<&str>,
    repository: Option<&Repo>,
) -> Redactor {
    let environment: Environment = variables.clone().into_iter().collect();
    let of_url = base_url
        .iter()
        .flat_map(|url| Secret::in_url("base_url", url));
    let of_repository = repository.map(Repo::secrets).unwrap_or_default();
    Redactor::new(
        environment
            .secrets()
            .into_iter()
            .chain(of_url)
            .chain(of_repository),
    )
}

/// Refuses a plan that contains a secret, since it is recorded and carried out verbatim.
pub(crate) fn require_none_in(
    redactor: &Redactor,
    text: &str,
    tasks: &[Task],
) -> Result<(), CoordinatorError> {
    let holds = |text: &str| redactor.finds(text).map(str::to_owned);
    let mut lines = text.lines().enumerate();
    if let Some((line, name)) = lines.find_map(|(at, line)| Some((at + 1, holds(line)?))) {
        return Err(CoordinatorError::SecretInPlan {
            place: PlanPlace::Line(line),
            name,
        });
    }
    for task in tasks {
        let written = serde_json::to_string(task).unwrap_or_default();
        if let Some(name) = holds(&written) {
            return Err(CoordinatorError::SecretInPlan {
                place: PlanPlace::Task(task.id.clone()),
                name,
            });
        }
    }
    Ok(())
}
