//! Reads HTML: a tree of what matters, its main part, that part as Markdown, and its outline.
//!
//! Every step is a loop over nodes with a bounded depth, so no page overflows a stack, and takes time linear in the
//! size of the page. Nothing of a page is run or loaded.

mod main_part;
mod markdown;
mod outline;
mod tag;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use main_part::main_part;
pub(crate) use markdown::{Style, markdown};
pub use outline::Heading;
pub(crate) use outline::outline;
pub(crate) use tree::Page;
