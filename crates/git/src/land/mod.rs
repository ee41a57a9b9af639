//! Landing: the only code that moves the user's branches and checkouts.

pub(crate) mod commit;
pub(crate) mod hooks;
pub(crate) mod landing;
pub(crate) mod note;
pub(crate) mod publish;
pub(crate) mod switching;
pub(crate) mod undo;
