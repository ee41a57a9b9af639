//! Admission by disk space: an agent starts only if the disk has room for its worktree, since a
//! disk that fills up stops all of them in the middle of their work.

use orchestrate_checks::{Preparation, blocking, caches, warm};
use orchestrate_core::TaskId;

use crate::error::CoordinatorError;
use crate::run::context::RunContext;

/// What is left for git's entry, the journal and the first snapshots.
const SPARE: u64 = 2 << 20;

/// Requires that the disk has room for a task's worktree, if that has to be created.
///
/// # Errors
/// [`CoordinatorError::NoRoom`].
pub(crate) async fn require(context: &RunContext, task: &TaskId) -> Result<(), CoordinatorError> {
    let (host, state) = (&context.host, context.state());
    let is_there = state.task(task).is_none_or(|record| record.is_prepared());
    if is_there || host.site.layout.worktree(&context.run, task).exists() {
        return Ok(());
    }
    let preparation = Preparation::for_run(&state);
    let outputs = warm::copied_bytes(&host.site, &preparation).await?;
    let caches = caches::copied_bytes(&host.site.layout, preparation.warm_limit).await?;
    let tracked = context.git(|repo| repo.worktrees().tracked_bytes()).await?;
    let needed = [outputs, caches, tracked, SPARE]
        .into_iter()
        .fold(0, u64::saturating_add);
    let path = host.site.layout.run(&context.run);
    let looked_at = path.clone();
    let look = move || {
        let free = orchestrate_files::create_folder(&looked_at)
            .and_then(|()| orchestrate_files::free_bytes(&looked_at));
        free.map_err(CoordinatorError::at(looked_at))
    };
    let free = blocking("a look at the disk", look).await?;
    let admitted = context.admitted.admit(&context.state(), task, needed, free);
    admitted.map_err(|room| CoordinatorError::NoRoom {
        task: task.clone(),
        path,
        needed,
        room,
    })
}
