//! The complexity of functions: cyclomatic, cognitive, length and nesting.
//!
//! The cyclomatic complexity counts what lizard 1.24 counts, a `where` of Rust, a `finally` of
//! Python and `#if` and `#ifdef` (not `#ifndef`, nor operators in their conditions) of C included,
//! so that figures can be compared. In the arguments of macros, and in what the grammar does not
//! understand, tokens count wherever they stand, as in lizard. Where lizard takes tokens for what
//! they are not, the figures differ on purpose: it counts the two bars of a Rust closure without
//! parameters as an operator, takes what follows `'0'`, `b'a'` or `'\\'` for a part of a literal,
//! and does not see some conditional expressions of JavaScript.
//!
//! The cognitive complexity is that of SonarSource's white paper. A function inside another has
//! figures of its own and is no part of the outer one, except for lambdas and closures where lizard
//! does not list them either.

mod measure;
mod model;
mod role;

pub use model::{Complexity, FunctionComplexity};
