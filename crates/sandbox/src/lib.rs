//! Starts processes, confined by the kernel.
//!
//! Every process of orchestrate is started here: confined by a [`Sandbox`] in one of the tiers of
//! [`Confinement`]; for the git program alone, by [`trusted`]; or, for a command that the user
//! types and that no agent causes, by [`pass_through`]. The kernel is the boundary; the text of a
//! command is never examined.
//!
//! How a job runs: the coordinator's spawner thread starts this very program again as a
//! *supervisor* ([`run_helper_if_asked`]), in the full tier inside bubblewrap's namespaces. The
//! supervisor starts the program under Landlock, seccomp and limits, and ends every descendant when
//! the program ends, when it is ordered to, or when the coordinator dies.
//!
//! What no tier prevents: access to a file outside through a hard link in a writable root (copy
//! such files, or show caches read-only). The fallback tier also reveals the names, sizes and times
//! of files outside (`stat`), and ignores masks below writable roots.

mod cancel;
mod descriptors;
mod disk_usage;
mod egress;
mod environment;
mod error;
mod helper;
mod job;
mod live_output;
mod machine;
mod own_process;
mod run;
mod setup;
mod spawner;
mod sys;
mod tier;
mod unconfined;

pub use cancel::Cancel;
pub use environment::host::{trusted_program, untrusted_program};
pub use environment::interpreters::interpreters_of_project;
pub use environment::registries::{RegistrySetting, cargo_settings, registry_settings};
pub use environment::seen::{SeenFolder, SeenProgram, programs_below_home, seen_program};
pub use error::SandboxError;
pub use helper::{HELPER_ARG, helper_installed, run_helper_if_asked};
pub use job::{
    Captured, Content, Exit, Finished, HostView, Job, Limits, Mask, Mount, Mounted, Network, Seen,
    StandIn, StandInFile, Usage, View,
};
pub use live_output::LiveOutput;
pub use machine::memory_bytes;
pub use own_process::{allow_open_files, protect_process};
pub use run::probe::{Probe, probe};
pub use run::sandbox::{Additions, Bounds, Downloads, Sandbox};
pub use setup::cgroups::{KernelLimits, kernel_limits, leave_control_groups};
pub use setup::launch::confined_search_path;
pub use setup::view::can_mount_at;
pub use tier::{Confinement, Helper};
pub use unconfined::passthrough::{Interrupts, Passed, Sink, pass_through};
pub use unconfined::removal::remove_in_background;
pub use unconfined::trusted::{Trusted, TrustedOutput, trusted};
