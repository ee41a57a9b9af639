//! What loops written for other programs rely on, each with the test that shows it.
//!
//! The numbers are those of a list of such things: `000` is about wrapped tools, their markers and
//! their cache, `001` about a harness around every tool, `002` about a catalogue of tools and what
//! limits them, `003` about the context of an execution, `004` about tools that `.tool` files
//! define.

mod lines;
mod table;
mod walk;

use crate::support::{Case, case};

/// Returns the test that walks the table.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        case(
            "reference::every_line_names_a_test_that_exists",
            walk::every_line_names_a_test,
        ),
        case(
            "reference::a_line_without_its_test_is_caught",
            walk::examples_are_caught,
        ),
    ]
}
