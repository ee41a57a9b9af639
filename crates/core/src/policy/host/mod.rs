//! Hosts: one canonical form, which is decided about and dialled; patterns that match label by
//! label; and which addresses are global.
//!
//! The rules (`crate::policy`), the tools for the web and every other way to another host compare
//! hosts in this form, so no spelling of a host is one thing to the decision and another to the
//! connection.

mod address;
mod git_address;
mod name;
mod pattern;
mod web_url;

pub(crate) use address::is_this_machine;
pub use address::{may_be_led_to, may_lead_to, special_use};
pub use git_address::{GitAddress, InvalidGitAddress, Login};
pub use name::{Host, InvalidHost};
pub use pattern::{HostPattern, covers_host};
pub use web_url::{InvalidUrl, WebUrl, without_user};
