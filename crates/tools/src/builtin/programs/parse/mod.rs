//! Readers of what programs report: text in, results out.

mod diagnostics;
mod go;
mod jest;
mod junit;
mod libtest;
mod nextest;
mod place;
mod tally;
mod unittest;

pub(super) use diagnostics::{cargo, eslint, is_json, lines, pyright, ruff};
pub(super) use tally::{MAX_KEPT, Tally};

pub(super) use {
    go::read as go, jest::read as jest, junit::printed as junit, junit::saved as junit_file,
    libtest::read as libtest, nextest::read as nextest, unittest::read as unittest,
};

#[cfg(test)]
mod tests;
