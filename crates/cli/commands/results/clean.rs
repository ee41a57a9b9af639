//! `clean`: removes a run's worktrees whose files are stored elsewhere; `--landed` also removes the
//! branches and snapshots of runs that have landed.

use orchestrate_coordinator::{Archive, CleanOptions, Cleaned, PrunedRun};
use orchestrate_core::RunId;
use orchestrate_core::run::{EXIT_FAILED, EXIT_OK};
use orchestrate_settings::Layer;

use crate::args::CleanArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::run::runtime;
use crate::json::{
    CleanReport, CleanedRun, Envelope, KeptTree, Output, PrunedEntry, RemovedBranch, RemovedTree,
};
use crate::show::{next, output};

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
        format!(
            "failed to {undeleted}; its content is stored elsewhere: delete it yourself, or run \
             clean again"
        )
    });
    let warnings: Vec<String> = warnings.collect();
    let code = warned(&warnings);
    match arguments.json.json {
        true => {
            let report = Output::Cleaned(report(cleaned, arguments.dry_run, warnings));
            output::json(&Envelope::new(Some(&run), report))
        }
        false => output::result(&words(&run, &cleaned, arguments.dry_run)),
    }
    .map(|()| code)
}

/// Prints warnings, and returns the exit code.
fn warned(warnings: &[String]) -> u8 {
    output::warnings(warnings);
    match warnings.is_empty() {
        true => EXIT_OK,
        false => EXIT_FAILED,
    }
}

/// Returns what was removed, or would be, for programs.
fn report(cleaned: Cleaned, dry_run: bool, warnings: Vec<String>) -> CleanReport {
    let (mut removed, mut kept, mut branches) = (Vec::new(), Vec::new(), Vec::new());
    for (task, path) in cleaned.removed {
        removed.push(RemovedTree { task, path });
    }
    for tree in cleaned.kept {
        let ignored = tree.ignored.iter();
        kept.push(KeptTree {
            task: tree.task,
            path: tree.path,
            reason: tree.reason,
            ignored: ignored.map(|path| path.display().to_string()).collect(),
        });
    }
    for branch in cleaned.branches {
        branches.push(RemovedBranch {
            task: branch.task,
            branch: branch.branch,
            kept_as: branch.kept_as,
        });
    }
    CleanReport {
        dry_run,
        removed,
        kept,
        branches,
        in_background: cleaned.goes_on,
        warnings,
    }
}

fn done(dry_run: bool) -> &'static str {
    if dry_run { "would remove" } else { "removed" }
}

/// Describes what was removed, or would be, for people.
fn words(run: &RunId, cleaned: &Cleaned, dry_run: bool) -> String {
    let done = done(dry_run);
    let mut text = String::new();
    for (_, path) in &cleaned.removed {
        text += &format!("{done} {}\n", path.display());
    }
    for kept in &cleaned.kept {
        text += &format!("kept {}: {}\n", kept.path.display(), kept.reason);
    }
    for of in &cleaned.branches {
        let stays = match &of.kept_as {
            Some(name) => format!("its commits stay as {name}"),
            None => "the run's result contains its commits".to_owned(),
        };
        let (task, branch) = (&of.task, &of.branch);
        text += &format!("{done} the branch {branch} of {task}, which failed; {stays}\n");
    }
    if text.is_empty() {
        text = format!("run {run} has no worktrees\n");
    }
    if cleaned.goes_on {
        text.push_str("their files are being deleted in the background\n");
    }
    if !cleaned.branches.is_empty() {
        text.push_str("other ");
    }
    text.push_str("branches and snapshots are kept\n");
    let mut commands = Vec::new();
    if cleaned.kept.iter().any(|kept| kept.is_unfinished) {
        commands.push(format!("orchestrate resume {run}"));
    }
    if cleaned.kept.iter().any(|kept| !kept.ignored.is_empty()) {
        commands.push(format!("orchestrate clean {run} --ignored"));
    }
    let mut branches = cleaned.branches.iter();
    let held = branches.find_map(|branch| branch.kept_as.as_ref());
    if let Some(name) = held.filter(|_| !dry_run) {
        commands.push(format!("orchestrate recover {run} --restore {name}"));
    }
    text.push_str(&next::render(&commands));
    text
}

impl From<PrunedRun> for CleanedRun {
    fn from(pruned: PrunedRun) -> Self {
        let removed = pruned.cleaned.removed.into_iter();
        Self {
            run_id: pruned.run,
            worktrees: removed.map(|removed| removed.1).collect(),
            refs: pruned.refs,
            kept_refs: pruned.kept_refs,
        }
    }
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
    let code = warned(&warnings);
    if arguments.json.json {
        let pruned = Output::Pruned(PrunedEntry {
            dry_run: arguments.dry_run,
            keep_runs,
            items: pruned.runs.into_iter().map(CleanedRun::from).collect(),
            warnings,
        });
        return output::json(&Envelope::new(None, pruned)).map(|()| code);
    }
    let done = done(arguments.dry_run);
    let mut text = String::new();
    for pruned in &pruned.runs {
        let (run, worktrees) = (&pruned.run, pruned.cleaned.removed.len());
        let (refs, kept) = (pruned.refs.len(), pruned.kept_refs.len());
        text +=
            &format!("run {run}: {done} {worktrees} worktrees and {refs} refs; kept {kept} refs\n");
    }
    if pruned.runs.is_empty() && warnings.is_empty() {
        text = format!(
            "nothing to remove: no landed run beside the newest {keep_runs} runs has branches\n"
        );
    }
    output::result(&text).map(|()| code)
}
