//! Tests of what projects depend on.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read the workspace and ask cargo about it"
)]

mod bad_input;
#[cfg(feature = "grammars")]
mod drawn;
mod own_workspace;
mod project;
