//! `recover`: lists a run's stored commits (snapshots, attempts, merges), and restores one of them
//! as a branch.

use orchestrate_core::event::rfc3339;

use crate::args::RecoverArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::json::{Envelope, Output, RestoredCommit, StoredCommit};
use crate::show::progress::short;
use crate::show::table::aligned;
use crate::show::{next, output};

const HEAD: [&str; 4] = ["NAME", "COMMIT", "TIME", "WHAT"];

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &RecoverArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let runs = context.runs()?.telling(output::warning);
    if let Some(name) = &arguments.restore {
        let branch = runs.recover(&run, name, arguments.branch.as_deref())?;
        return if arguments.json.json {
            let (name, branch) = (name.clone(), branch);
            let restored = Output::Restored(RestoredCommit { name, branch });
            output::json(&Envelope::new(Some(&run), restored))
        } else {
            output::line(&format!(
                "{name} is now the branch {branch}; nothing was checked out"
            ))
        }
        .map(|()| 0);
    }
    let kept = runs.kept(&run)?;
    if arguments.json.json {
        let list = kept.into_iter().map(|kept| StoredCommit {
            name: kept.name,
            commit: kept.commit,
            ts: time_of(kept.time_unix),
            subject: kept.subject,
        });
        let list = Output::Stored(list.collect());
        return output::json(&Envelope::new(Some(&run), list)).map(|()| 0);
    }
    if kept.is_empty() {
        let state = store.state(&run)?;
        let why = match state.landed() {
            Some(landed) => format!("its work has landed in {}", landed.branch),
            None => "none of its work was committed".to_owned(),
        };
        return output::line(&format!("run {run} has no snapshots: {why}")).map(|()| 0);
    }
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(kept.iter().map(|kept| {
        let commit = short(&kept.commit).to_owned();
        let subject = output::one_line(&kept.subject, 60);
        [
            output::one_line(&kept.name, 80),
            commit,
            time_of(kept.time_unix),
            subject,
        ]
    }));
    let next = next::render(&[format!("orchestrate recover {run} --restore NAME")]);
    output::result(&format!("{}{next}", aligned(&rows))).map(|()| 0)
}

fn time_of(seconds: i64) -> String {
    rfc3339(u64::try_from(seconds).unwrap_or_default() * 1000)
}
