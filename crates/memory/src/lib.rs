//! Hides how memory is counted: what a thread holds, and how much work on content from elsewhere
//! may hold, alone and together.
//!
//! A thread that begins a [`Work`] counts what it allocates from then on. The work asks often
//! whether it [is over](is_over), and ends if it holds more than [`MAX_BYTES`]. Only one work at a
//! time grows beyond a few megabytes, and only a few are done side by side; the others wait. So a
//! crafted file costs its own analysis, and neither the process nor the machine.
//!
//! What Rust allocates is counted in programs whose allocator is [`Counted`]; a C library is given
//! the functions of [`counted_c`]. Nothing here ends a work by itself: allocating never fails.

mod allocator;
mod count;
pub mod counted_c;
mod work;

pub use allocator::Counted;
pub use count::held;
pub use work::{MAX_BYTES, Work, is_over, was_over, watched};
