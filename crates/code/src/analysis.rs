//! What is found out from the syntax tree of one file alone.

use crate::error::CodeError;
use crate::source::{Source, Stop};

/// The result of an analysis of one file.
pub trait FileAnalysis: Send + Sync + Sized + 'static {
    /// Analyses a parsed file.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    fn analyze(source: &Source<'_>, stop: Stop<'_>) -> Result<Self, CodeError>;

    /// Returns about how many bytes of memory it holds.
    fn memory(&self) -> usize;
}
