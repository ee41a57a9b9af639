//! Tools from a shell: `tool run`, its markers, and the cache, typed in bash as loops do; and tools
//! that files define.

mod certificates;
mod egress;
mod extending;
mod native_search;
mod packages;
mod replay;
mod run_logs;
mod run_replay;
mod shell;
mod tool_files;
mod tool_run;
pub(crate) mod web;

use crate::support::Case;

/// Returns the cases of every module.
pub(crate) fn cases() -> Vec<Case> {
    [
        certificates::cases,
        egress::cases,
        extending::cases,
        native_search::cases,
        packages::cases,
        replay::cases,
        run_logs::cases,
        run_replay::cases,
        tool_files::cases,
        tool_run::cases,
        web::cases,
    ]
    .iter()
    .flat_map(|cases| cases())
    .collect()
}
