//! The commands that start, show and stop runs, and what only they show.

pub(crate) mod check;
mod choice;
pub(crate) mod demo;
pub(crate) mod nothing_to_do;
pub(crate) mod plan;
mod ready;
pub(crate) mod resume;
mod rewrite;
pub(crate) mod run;
pub(crate) mod showing;
mod stay;
pub(crate) mod stop;
