//! What a new run needs before it begins: its id, scripts at absolute paths, and settings that can
//! hold.

use std::hash::{BuildHasher as _, Hasher as _};

use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::task::waiting;
use orchestrate_core::{RunId, RunSettings, Task};
use orchestrate_journal::unix_ms;
use orchestrate_tools::ToolRegistry;

use crate::error::CoordinatorError;
use crate::texts::models;

/// Creates a run id: the time in seconds in base 36, so that ids sort by time, and three random
/// digits.
pub(super) fn new_run_id() -> RunId {
    let random = std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
        % 36_u64.pow(3);
    RunId::new(format!(
        "r-{}{:0>3}",
        base36(unix_ms() / 1_000),
        base36(random)
    ))
}

/// Makes the paths of scripts absolute, since a run may be taken over from another folder.
pub(super) fn anchored(
    run: RunSettings,
    tasks: Vec<Task>,
) -> Result<(RunSettings, Vec<Task>), CoordinatorError> {
    let run = RunSettings {
        model: anchor(run.model)?,
        plan_model: anchor(run.plan_model)?,
        default_model: anchor(run.default_model)?,
        fallback_models: anchor_all(&run.fallback_models)?,
        default_fallback_models: anchor_all(&run.default_fallback_models)?,
        ..run
    };
    let tasks = tasks.into_iter().map(|task| {
        Ok(Task {
            model: anchor(task.model)?,
            ..task
        })
    });
    Ok((run, tasks.collect::<Result<_, CoordinatorError>>()?))
}

fn anchor(name: Option<String>) -> Result<Option<String>, CoordinatorError> {
    name.map(|name| models::anchored(&name)).transpose()
}

fn anchor_all(names: &[String]) -> Result<Vec<String>, CoordinatorError> {
    names.iter().map(|name| models::anchored(name)).collect()
}

/// Refuses an alternative that could never answer, since it would be ignored.
pub(super) fn require_alternatives(
    run: &RunSettings,
    tools: &ToolRegistry,
) -> Result<(), CoordinatorError> {
    for (tool, other) in &run.tool_settings.alternatives {
        if let Some(reason) = tools.alternative_fault(tool, other) {
            return Err(CoordinatorError::Alternative {
                pair: format!("{tool}={other}"),
                reason,
            });
        }
    }
    Ok(())
}

/// Without merging, the dependencies of an open task never become part of the result.
pub(super) fn require_no_waiting(
    tasks: &[Task],
    run: &RunSettings,
) -> Result<(), CoordinatorError> {
    if run.merge != MergeMode::None {
        return Ok(());
    }
    match waiting(tasks).first() {
        None => Ok(()),
        Some((task, on)) => Err(CoordinatorError::NeverMerged {
            task: task.id.clone(),
            on: (*on).clone(),
        }),
    }
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).unwrap_or_default();
        digits.extend(char::from_digit(digit, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}
