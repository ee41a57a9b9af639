//! The rules that cargo's own tools check, clippy and cargo-deny: each is shown to take effect.

pub(super) mod bans;
pub(super) mod denied;
pub(super) mod lints;
mod sample;
