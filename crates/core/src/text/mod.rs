//! Texts and names of any origin: how they are compared, cut, and shown so that they cannot
//! deceive.
//!
//! Hides Unicode, git's and the shell's rules for names.

pub mod case_folding;
pub mod git_path;
mod hex;
pub mod invisible;
pub mod message_template;
pub mod parts;
mod redacted;
mod same_text;
mod shell;
pub mod similar;
mod truncation;
mod untrusted;

pub use hex::hex;
pub(crate) use hex::percent_decoded;
pub(crate) use redacted::REDACTED;
pub(crate) use same_text::without_times;
pub use shell::shell_word;
pub(crate) use truncation::is_truncated;
pub use truncation::{cut, in_one_line, shortened, truncate};
pub use untrusted::block;
