//! Checks a parsed plan: findings, commands and the report of `check`.

pub(crate) mod command;
pub(crate) mod readings;
pub(crate) mod report;
pub(crate) mod why;
