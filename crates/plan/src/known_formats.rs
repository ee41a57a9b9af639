//! The formats that are known, for those who document them.

use crate::formats::document::Document;
use crate::formats::format::{Claim, Format, KnownFormat};
use crate::formats::table::FORMATS;
use crate::front_matter;
use crate::import;
use crate::lines::source::Source;

/// Returns the formats of plans that are recognised by their structure, first those of Markdown.
pub fn formats() -> Vec<KnownFormat> {
    let mut formats: Vec<KnownFormat> = FORMATS.iter().filter_map(known).collect();
    formats.extend(import::formats());
    formats
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
