//! The formats that are known, for those who document them.

use crate::formats::document::Document;
use crate::formats::format::{Claim, Format};
use crate::formats::table::FORMATS;
use crate::front_matter;
use crate::lines::source::Source;

/// A format of plans in Markdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFormat {
    /// Its name.
    pub name: &'static str,
    /// What tells its documents from all others, as the end of a sentence.
    pub signature: &'static str,
    /// A document of its kind.
    pub example: &'static str,
}

/// Returns the formats of plans in Markdown that are recognised by their structure.
pub fn formats() -> Vec<KnownFormat> {
    FORMATS.iter().filter_map(known).collect()
}

/// Returns a format with the reason for which it claims its example.
fn known(format: &Format) -> Option<KnownFormat> {
    let source = Source::new(format.example);
    let start = front_matter::split(&source).map_or(0, |(_, body)| body);
    match (format.claims)(&Document::read(&source, start)) {
        Claim::Mine(signature) | Claim::Weakly(signature) => Some(KnownFormat {
            name: format.name,
            signature,
            example: format.example,
        }),
        Claim::NotMine | Claim::Contradicting(_) => None,
    }
}
