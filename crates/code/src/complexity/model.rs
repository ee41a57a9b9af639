//! The figures.

use serde::{Deserialize, Serialize};

use crate::language::Language;

/// The complexity of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complexity {
    /// The language that it was read in.
    pub language: Language,
    /// Its functions, in the order in which they begin.
    pub functions: Vec<FunctionComplexity>,
    /// The number of places where it is not valid; figures around them may be wrong.
    pub syntax_errors: usize,
}

/// The complexity of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionComplexity {
    /// The name; `(anonymous)` without one.
    pub name: String,
    /// The number of the first line, from 1.
    pub line: usize,
    /// The number of the last line.
    pub end_line: usize,
    /// The number of its lines, with comments and empty lines, and with functions in it.
    pub length: usize,
    /// The number of its lines with code, without those of functions in it.
    pub code_lines: usize,
    /// The number of its parameters.
    pub parameters: usize,
    /// The number of linearly independent paths.
    pub cyclomatic: usize,
    /// How hard it is to follow.
    pub cognitive: usize,
    /// The greatest depth of control flow inside control flow.
    pub nesting: usize,
}
