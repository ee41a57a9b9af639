//! How figures are measured: lines of the table, comparisons, processes of their own, and the setup
//! of measured runs.

mod apart;
mod figure;
mod processor;
mod stage;

pub(crate) use apart::{Place, costs_of, places, tier};
pub(crate) use figure::{Figure, HEADER, Pairs, median, ms, timed};
pub(crate) use processor::{anonymous_mb_below, children_seconds, cpu_ms, seconds, status_kb};
pub(crate) use stage::{
    Worker, add_worktrees, ask_and_write, call, coordinator, coordinator_in, harness, has_program,
    open, plan, repository, run, runtime, settings, state_folder, tasks,
};
