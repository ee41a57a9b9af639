//! Shows results on the terminal: tables, next steps, patches, and the only way to standard output.

pub(crate) mod asked;
pub(crate) mod columns;
pub(crate) mod hints;
pub(crate) mod idle;
pub(crate) mod named;
pub(crate) mod next;
pub(crate) mod output;
pub(crate) mod pager;
pub(crate) mod patch;
pub(crate) mod plain;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod terminal;
