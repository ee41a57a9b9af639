//! `clean`: removes a run's worktrees whose files are stored elsewhere; branches and snapshots are kept.

use orchestrate_coordinator::{CleanOptions, KeptWorktree};
use orchestrate_core::report::{EXIT_FAILED, EXIT_OK};
use serde_json::{Value, json};

use crate::args::CleanArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::show::next;
use crate::show::output;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &CleanArgs) -> Result<u8, CommandError> {
    let (_, run) = context.find_run(arguments.which.run.as_deref())?;
    let options = CleanOptions { dry_run: arguments.dry_run, ignored: arguments.ignored };
    let cleaned = context.runs()?.clean(&run, options)?;
    let warnings = cleaned.undeleted.iter().map(|undeleted| {
        format!("failed to {undeleted}; its content is stored elsewhere: delete it yourself, or run clean again")
    });
    let warnings: Vec<String> = warnings.collect();
    warnings.iter().for_each(|warning| output::warning(warning));
    let code = if warnings.is_empty() { EXIT_OK } else { EXIT_FAILED };
    if arguments.json.json {
        let removed = cleaned.removed.iter().map(|(task, path)| json!({"task": task, "path": path}));
        let kept = cleaned.kept.iter().map(|KeptWorktree { task, path, reason, ignored, .. }| {
            let ignored: Vec<_> = ignored.iter().map(|path| path.to_string_lossy()).collect();
            json!({"task": task, "path": path, "reason": reason, "ignored": ignored})
        });
        let (removed, kept): (Vec<Value>, Vec<Value>) = (removed.collect(), kept.collect());
        let object = json!({"run_id": run, "dry_run": arguments.dry_run, "removed": removed, "kept": kept, "warnings": warnings});
        return output::json(&object).map(|()| code);
    }
    let done = if arguments.dry_run { "would remove" } else { "removed" };
    let removed = cleaned.removed.iter().map(|(_, path)| format!("{done} {}\n", path.display()));
    let kept = cleaned.kept.iter().map(|kept| format!("kept {}: {}\n", kept.path.display(), kept.reason));
    let mut text: String = removed.chain(kept).collect();
    if text.is_empty() {
        text = format!("run {run} has no worktrees\n");
    }
    text.push_str("branches and snapshots are kept\n");
    let mut commands = Vec::new();
    if cleaned.kept.iter().any(|kept| kept.is_unfinished) {
        commands.push(format!("orchestrate resume {run}"));
    }
    if cleaned.kept.iter().any(|kept| !kept.ignored.is_empty()) {
        commands.push(format!("orchestrate clean {run} --ignored"));
    }
    text.push_str(&next::render(&commands));
    output::result(&text).map(|()| code)
}
