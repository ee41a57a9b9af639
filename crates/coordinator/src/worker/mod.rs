//! Works on one task: starts an agent, drives its loop or its command, and links it to the run.

pub(crate) mod agent_map;
mod childrens_work;
pub(crate) mod driver;
pub(crate) mod end_facts;
mod failing;
pub(crate) mod faulty_work;
mod hooked_end;
pub(crate) mod link_server;
pub(crate) mod review_end;
pub(crate) mod room;
pub(crate) mod spawn;
pub(crate) mod task_end;
mod under_review;
pub(crate) mod work;
pub(crate) mod workplace;
