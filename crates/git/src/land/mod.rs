//! Landing: the only code that moves a branch and a checkout of the user's.

pub(crate) mod landing;
pub(crate) mod note;
pub(crate) mod switching;
