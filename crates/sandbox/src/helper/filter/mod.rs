//! The restrictions of a program: Landlock's rules, and the filter of system calls.

pub(crate) mod by_pid;
pub(crate) mod conditions;
pub(crate) mod confine;
pub(crate) mod filter_table;
pub(crate) mod landlock;
pub(crate) mod seccomp;
