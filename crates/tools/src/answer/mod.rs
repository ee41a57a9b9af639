//! What a call gives back: its output, its notes, its error, and the shapes that they share.

mod contents;
mod error;
mod ledger;
mod notes;
mod output;
mod results;
pub(crate) mod shape;
mod web_results;

pub use contents::{FileContents, FileStamp};
pub(crate) use error::PERMISSION_DENIED;
pub use error::{ErrorKind, ServiceError, ToolError, ToolsError};
pub(crate) use ledger::sha256_hex;
pub use ledger::{ReadLedger, SeenFile};
pub use notes::{Note, NoteKind, Notes};
pub use output::{Answer, Artifact, CallOutcome, ToolOutput};
pub use results::{
    Diagnostic, ExecutionResult, FormatResults, InstallResults, LintResults, PackageChange,
    ProgramRun, TestError, TestErrorKind, TestFailure, TestResults, TypeCheckResults,
};
pub use shape::{MIN_RESULT_TOKENS, allowed_bytes};
pub(crate) use shape::{counted, size};
pub use web_results::{
    APIDocumentation, CodeBlock, Documentation, GitHubResult, PageLink, StackOverflowResult,
    WebContent,
};
