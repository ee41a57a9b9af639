//! Landing: the only code that moves the user's branches and checkouts.

pub(crate) mod commit;
pub(crate) mod hooks;
pub(crate) mod move_branch;
pub(crate) mod publish;
pub(crate) mod switch_note;
pub(crate) mod switching;
pub(crate) mod undo_note;
