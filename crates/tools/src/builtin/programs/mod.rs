//! Tools that find out which programs a project uses, run them as commands run, and read what they
//! say.
//!
//! What a project uses is decided by pure functions over the files that are there, and every report
//! is read by a pure parser; machine-readable reports are preferred where all common versions of a
//! program have them.

mod candidate;
mod check;
mod checkers;
mod files;
mod format;
mod install;
mod parse;
mod products;
mod project;
mod python;
mod run_tests;
mod runners;
mod rust_edition;
mod states;
mod unmatched;

pub(super) use check::{RunLinter, RunTypeChecker};
pub(super) use format::RunFormatter;
pub(super) use install::InstallPackage;
pub(super) use python::{CreateVirtualEnvironment, RunPython};
pub(super) use run_tests::RunTests;
