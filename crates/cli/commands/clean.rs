//! `clean`: removes a run's worktrees whose files are kept elsewhere; branches and snapshots stay.

use serde_json::{Value, json};

use crate::args::CleanArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::output;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &CleanArgs) -> Result<u8, CommandError> {
    let (_, run) = context.find_run(arguments.which.run.as_deref())?;
    let cleaned = context.runs()?.clean(&run, arguments.dry_run)?;
    if arguments.json.json {
        let removed = cleaned.removed.iter().map(|(task, path)| json!({"task": task, "path": path}));
        let kept = cleaned.kept.iter().map(|(task, path, why)| json!({"task": task, "path": path, "reason": why}));
        let (removed, kept): (Vec<Value>, Vec<Value>) = (removed.collect(), kept.collect());
        let object = json!({"run_id": run, "dry_run": arguments.dry_run, "removed": removed, "kept": kept});
        return output::json(&object).map(|()| 0);
    }
    let done = if arguments.dry_run { "would remove" } else { "removed" };
    let removed = cleaned.removed.iter().map(|(_, path)| format!("{done} {}\n", path.display()));
    let kept = cleaned.kept.iter().map(|(_, path, why)| format!("kept {}: {}\n", path.display(), why));
    let mut text: String = removed.chain(kept).collect();
    if text.is_empty() {
        text = format!("run {run} has no worktrees\n");
    }
    text.push_str("branches and snapshots stay\n");
    output::result(&text).map(|()| 0)
}
