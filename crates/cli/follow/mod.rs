//! Follows a run to its end: shows its events, forwards signals and requests, and lands the result.

pub(crate) mod display;
pub(crate) mod inbox;
pub(crate) mod landing;
pub(crate) mod live;
pub(crate) mod planned;
pub(crate) mod requests;
pub(crate) mod run;
pub(crate) mod signals;
