//! Reads the files in which people write down agents and procedures: roles, which define an agent,
//! and skills, which an agent reads when its task calls for them.
//!
//! Both are Markdown with a front matter in the formats of several products. The crate does no IO:
//! the caller finds and reads the files.

mod front_and_body;
pub mod role;
pub mod skill;

pub use role::Role;
pub use skill::Skill;
