//! Why a text is not analysed.

use orchestrate_memory::MAX_BYTES;

use crate::language::Language;

/// Maximum size of a text in bytes: a syntax tree needs at least ten times the memory of its text,
/// and no analysis may hold more than [`MAX_BYTES`].
pub const MAX_SOURCE_BYTES: usize = 4 << 20;

/// Why a text is not analysed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// Neither the name nor the first line names a language that is known.
    #[error("not in a language that is understood: {}", Language::names().join(", "))]
    UnknownLanguage,
    /// The program was built without its grammars.
    #[error(
        "this program was built without the grammar of {0}; built with its feature `grammars`, \
         which is on by default, it understands {0}"
    )]
    NotBuilt(Language),
    /// The text is larger than so many bytes, at most [`MAX_SOURCE_BYTES`].
    #[error("larger than {}", size(*.0))]
    TooLarge(u64),
    /// More memory is needed than one work may hold.
    #[error("too much to analyse within {} MB of memory", MAX_BYTES >> 20)]
    TooMuch,
    /// The file of the text cannot be read.
    #[error("cannot be read")]
    Unreadable,
    /// The text holds zero bytes.
    #[error("not a text")]
    Binary,
    /// The caller stopped it.
    #[error("stopped before its end")]
    Stopped,
    /// A profile is in no format that is known.
    #[error(
        "no profile that is known: folded stacks, perf script, pprof, cProfile (its table), JSON \
         of criterion"
    )]
    UnknownProfile,
    /// A profile is larger than so many megabytes.
    #[error("the profile is larger than {0} MB")]
    LargeProfile(usize),
    /// A profile is damaged.
    #[error("the profile was taken for one of {format} and cannot be read: {reason}")]
    Profile {
        /// The name of its format.
        format: &'static str,
        /// Where it is damaged, and how.
        reason: String,
    },
    /// A snippet cannot be compared.
    #[error("the snippet cannot be compared: {0}")]
    Snippet(String),
    /// A pattern is not code of its language.
    #[error("the pattern is not {language} code: {reason}")]
    Pattern {
        /// The language.
        language: Language,
        /// What is wrong.
        reason: String,
    },
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} kB", bytes >> 10),
        _ => format!("{} MB", bytes >> 20),
    }
}
