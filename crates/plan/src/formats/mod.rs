//! Formats of plans: which one a document has, and what its parts are in it.
//!
//! Each file after the first few is one format; [`numbers`] and [`finish`] are what several share.
//! A document is read by [`walk`], whose lists are in [`items`] and whose tasks in [`drafting`].
//! [`table`] lists them, and [`reading`] chooses among what they find; [`generic`] reads what is of
//! none of them, if [`verdict`] finds only one way to do so.

pub(crate) mod below;
pub(crate) mod collected;
pub(crate) mod document;
mod drafting;
pub(crate) mod format;
pub(crate) mod generic;
pub(crate) mod held;
mod items;
mod left_over;
pub(crate) mod lines;
mod place;
pub(crate) mod reading;
pub(crate) mod table;
mod task_headings;
mod verdict;
pub(crate) mod walk;
pub(crate) mod whole;
pub(crate) mod yaml;

mod finish;
mod numbered_boxes;
mod numbered_lists;
mod numbers;

mod agent_os;
mod agent_os_v1;
mod antigravity_plan;
mod antigravity_task;
mod backlog_md;
mod bmad_story;
mod claude_plan;
mod conductor;
mod cursor;
mod execplan;
mod gsd_plan;
mod gsd_roadmap;
mod kiro;
mod openspec;
mod ralph;
mod spec_kit;
mod status_table;
mod superpowers;
#[cfg(test)]
mod tests;
