//! Reads HTML: a tree of what matters, its main part, that part as Markdown, and its outline.
//!
//! Every step is a loop over nodes with a bounded depth, so no page overflows a stack, and takes
//! time linear in the size of the page. Nothing of a page is run or loaded.

mod formula;
mod language;
mod link;
mod main_part;
mod markdown;
mod outline;
mod script;
mod tag;
#[cfg(test)]
mod tests;
mod text;
mod tree;

pub use main_part::{Part, main_part};
pub use markdown::{MAX_TEXT, Style, escaped, markdown};
pub use outline::{Heading, Outline, outline};
pub use tree::Page;
