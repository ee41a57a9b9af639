//! Checks a parsed plan: findings, commands and the report of `check`.

pub(crate) mod alike;
pub(crate) mod command;
pub(crate) mod finding;
pub(crate) mod report;
pub(crate) mod unread;
pub(crate) mod why;
