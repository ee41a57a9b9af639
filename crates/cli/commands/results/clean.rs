//! `clean`: removes a run's worktrees whose files are stored elsewhere; `--landed` also removes the
//! branches and snapshots of runs that have landed.

use orchestrate_coordinator::{
    Archive, CleanOptions, Cleaned, CleanedBranch, KeptWorktree, PrunedRun,
};
use orchestrate_core::RunId;
use orchestrate_core::run::{EXIT_FAILED, EXIT_OK};
use orchestrate_settings::Layer;
use serde_json::{Value, json};

use crate::args::CleanArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::run::runtime;
use crate::show::next;
use crate::show::output;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &CleanArgs) -> Result<u8, CommandError> {
    if arguments.landed {
        return prune(context, arguments);
    }
    let (_, run) = context.find_run(arguments.which.run.as_deref())?;
    let options = CleanOptions {
        dry_run: arguments.dry_run,
        ignored: arguments.ignored,
    };
    let cleaned = runtime()?.block_on(context.runs()?.clean(&run, options))?;
    let warnings = cleaned.undeleted.iter().map(|undeleted| {
        format!("failed to {undeleted}; its content is stored elsewhere: delete it yourself, or run clean again")
    });
    let warnings: Vec<String> = warnings.collect();
    warnings.iter().for_each(|warning| output::warning(warning));
    let code = if warnings.is_empty() {
        EXIT_OK
    } else {
        EXIT_FAILED
    };
    match arguments.json.json {
        true => output::json(&object(&run, &cleaned, arguments.dry_run, &warnings)),
        false => output::result(&words(&run, &cleaned, arguments.dry_run)),
    }
    .map(|()| code)
}

/// Returns what was removed, or would be, as JSON.
fn object(run: &RunId, cleaned: &Cleaned, dry_run: bool, warnings: &[String]) -> Value {
    let removed = cleaned
        .removed
        .iter()
        .map(|(task, path)| json!({"task": task, "path": path}));
    let kept = cleaned.kept.iter().map(
        |KeptWorktree {
             task,
             path,
             reason,
             ignored,
             ..
         }| {
            let ignored: Vec<_> = ignored.iter().map(|path| path.to_string_lossy()).collect();
            json!({"task": task, "path": path, "reason": reason, "ignored": ignored})
        },
    );
    let branches = cleaned.branches.iter().map(
        |CleanedBranch {
             task,
             branch,
             kept_as,
         }| json!({"task": task, "branch": branch, "kept_as": kept_as}),
    );
    let (removed, kept): (Vec<Value>, Vec<Value>) = (removed.collect(), kept.collect());
    let branches: Vec<Value> = branches.collect();
    json!({"run_id": run, "dry_run": dry_run, "removed": removed, "kept": kept, "branches": branches,
        "in_background": cleaned.goes_on, "warnings": warnings})
}

/// Describes what was removed, or would be, for people.
fn words(run: &RunId, cleaned: &Cleaned, dry_run: bool) -> String {
    let done = if dry_run { "would remove" } else { "removed" };
    let removed = cleaned
        .removed
        .iter()
        .map(|(_, path)| format!("{done} {}\n", path.display()));
    let kept = cleaned
        .kept
        .iter()
        .map(|kept| format!("kept {}: {}\n", kept.path.display(), kept.reason));
    let branches = cleaned.branches.iter().map(
        |CleanedBranch {
             task,
             branch,
             kept_as,
         }| {
            let stays = match kept_as {
                Some(name) => format!("its commits stay as {name}"),
                None => "the run's result contains its commits".to_owned(),
            };
            format!("{done} the branch {branch} of {task}, which failed; {stays}\n")
        },
    );
    let mut text: String = removed.chain(kept).chain(branches).collect();
    if text.is_empty() {
        text = format!("run {run} has no worktrees\n");
    }
    if cleaned.goes_on {
        text.push_str("their files are being deleted in the background\n");
    }
    let others = if cleaned.branches.is_empty() {
        ""
    } else {
        "other "
    };
    text.push_str(&format!("{others}branches and snapshots are kept\n"));
    let mut commands = Vec::new();
    if cleaned.kept.iter().any(|kept| kept.is_unfinished) {
        commands.push(format!("orchestrate resume {run}"));
    }
    if cleaned.kept.iter().any(|kept| !kept.ignored.is_empty()) {
        commands.push(format!("orchestrate clean {run} --ignored"));
    }
    let held = cleaned
        .branches
        .iter()
        .find_map(|branch| branch.kept_as.as_ref());
    if let Some(name) = held.filter(|_| !dry_run) {
        commands.push(format!("orchestrate recover {run} --restore {name}"));
    }
    text.push_str(&next::render(&commands));
    text
}

/// Removes what has landed of older runs.
fn prune(context: &Context, arguments: &CleanArgs) -> Result<u8, CommandError> {
    context.store()?;
    let loaded = context.load(Vec::new(), Layer::default())?;
    let keep_runs = loaded.resolved.keep_runs();
    let options = CleanOptions {
        dry_run: arguments.dry_run,
        ignored: arguments.ignored,
    };
    let runs = Archive::open(&context.directory, context.settings(&loaded)?)?;
    let pruned = runtime()?.block_on(runs.prune(keep_runs, options))?;
    let failed = pruned.failed.into_iter();
    let failed = failed
        .map(|(run, error)| format!("run {run}: {}", CommandError::from(error).in_one_line()));
    let warnings: Vec<String> = failed.collect();
    warnings.iter().for_each(|warning| output::warning(warning));
    let code = if warnings.is_empty() {
        EXIT_OK
    } else {
        EXIT_FAILED
    };
    if arguments.json.json {
        let object = |pruned: &PrunedRun| {
            let worktrees: Vec<_> = pruned
                .cleaned
                .removed
                .iter()
                .map(|(_, path)| path)
                .collect();
            json!({"run_id": pruned.run, "worktrees": worktrees, "refs": pruned.refs, "kept_refs": pruned.kept_refs})
        };
        let runs: Vec<Value> = pruned.runs.iter().map(object).collect();
        let object = json!({"dry_run": arguments.dry_run, "keep_runs": keep_runs, "runs": runs, "warnings": warnings});
        return output::json(&object).map(|()| code);
    }
    let done = if arguments.dry_run {
        "would remove"
    } else {
        "removed"
    };
    let mut text = String::new();
    for PrunedRun {
        run,
        cleaned,
        refs,
        kept_refs,
    } in &pruned.runs
    {
        let (worktrees, refs, kept) = (cleaned.removed.len(), refs.len(), kept_refs.len());
        text.push_str(&format!(
            "run {run}: {done} {worktrees} worktrees and {refs} refs; kept {kept} refs\n"
        ));
    }
    if pruned.runs.is_empty() && warnings.is_empty() {
        text = format!(
            "nothing to remove: no landed run beside the newest {keep_runs} runs has branches\n"
        );
    }
    output::result(&text).map(|()| code)
}
