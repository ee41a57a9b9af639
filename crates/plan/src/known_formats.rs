//! The formats that are known, for those who document them.

use crate::formats::document::Document;
use crate::formats::format::{Claim, KnownFormat};
use crate::formats::table::FORMATS;
use crate::front_matter;
use crate::import;
use crate::lines::source::Source;

/// Returns the formats of plans that are recognised by their structure, first those of Markdown.
pub fn formats() -> Vec<KnownFormat> {
    let mut found = Vec::new();
    for format in FORMATS {
        let source = Source::new(format.example);
        let start = front_matter::split(&source).map_or(0, |(_, body)| body);
        let claim = (format.claims)(&Document::read(&source, start));
        found.extend(known(format.name, &claim, format.example));
    }
    for format in import::FORMATS {
        let claim = import::claim(format, &Source::new(format.example));
        found.extend(known(format.name, &claim, format.example));
    }
    found
}

/// Returns a format with the reason for which it claims its example.
fn known(name: &'static str, claim: &Claim, example: &'static str) -> Option<KnownFormat> {
    match claim {
        Claim::Mine(signature) | Claim::Weakly(signature) => Some(KnownFormat {
            name,
            signature,
            example,
        }),
        Claim::NotMine | Claim::Contradicting(_) => None,
    }
}
