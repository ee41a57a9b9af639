//! Tests of what a call may do: rules, roles, limits and paths.

pub(crate) mod approvals;
pub(crate) mod hostile;
pub(crate) mod limits;
pub(crate) mod permission_check;
pub(crate) mod permissions;
