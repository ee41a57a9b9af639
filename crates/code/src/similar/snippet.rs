//! Reads snippets, and compares files with them.

use std::collections::BTreeMap;

use super::fingerprint::{Token, fingerprints, tokens};
use super::model::{CodeFingerprints, End, Fingerprinted, RUN, SimilarCode, Snippet};
use super::region::{regions, share};
use crate::analysis::FileAnalysis;
use crate::error::CodeError;
use crate::language::Language;
use crate::pattern::attempts;
use crate::source::{Source, Stop};

/// Minimum number of tokens of a snippet: with fewer, everything would resemble it.
const MIN_TOKENS: usize = 16;
/// Maximum size of a snippet in bytes.
const MAX_SNIPPET_BYTES: usize = 256 << 10;

impl Snippet {
    /// Reads code in each of these languages.
    ///
    /// # Errors
    /// [`CodeError::Snippet`] if it is too short or too long; [`CodeError::NotBuilt`] and
    /// [`CodeError::Stopped`].
    pub fn parse(code: &str, languages: &[Language], stop: Stop<'_>) -> Result<Snippet, CodeError> {
        if code.len() > MAX_SNIPPET_BYTES {
            return Err(CodeError::Snippet("it is longer than 256 KiB".to_owned()));
        }
        let mut read = BTreeMap::new();
        let mut most = 0;
        for language in languages {
            let tokens = tokens_of(code, *language, stop)?;
            most = most.max(tokens.len());
            if tokens.len() >= MIN_TOKENS {
                read.insert(*language, Fingerprinted::from_tokens(&tokens));
            }
        }
        if read.is_empty() {
            let reason =
                format!("it has {most} tokens, and fewer than {MIN_TOKENS} resemble everything");
            return Err(CodeError::Snippet(reason));
        }
        Ok(Snippet { languages: read })
    }

    /// Reports whether a file with these fingerprints may have a region with at least this share of
    /// the snippet's structure, in percent. If not, [`Snippet::find`] finds none.
    pub fn may_be_in(&self, file: &CodeFingerprints, percent: usize) -> bool {
        let Some(snippet) = self.languages.get(&file.language) else {
            return false;
        };
        let shared = snippet
            .fingerprints
            .iter()
            .filter(|hash| file.hashes.binary_search(&end_of(**hash)).is_ok());
        share(shared.count(), snippet.fingerprints.len()) >= percent
    }

    /// Finds regions that have at least this share of the snippet's structure, in percent, the
    /// likest first.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub fn find(
        &self,
        source: &Source<'_>,
        percent: usize,
        stop: Stop<'_>,
    ) -> Result<Vec<SimilarCode>, CodeError> {
        let Some(snippet) = self.languages.get(&source.language()) else {
            return Ok(Vec::new());
        };
        let tokens = tokens(source, 0..source.text().len(), stop)?;
        Ok(regions(snippet, &tokens, percent))
    }
}

impl FileAnalysis for CodeFingerprints {
    fn analyze(source: &Source<'_>, stop: Stop<'_>) -> Result<CodeFingerprints, CodeError> {
        let tokens = tokens(source, 0..source.text().len(), stop)?;
        let mut hashes: Vec<u32> = fingerprints(&tokens)
            .into_iter()
            .map(|found| end_of(found.hash))
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        Ok(CodeFingerprints {
            language: source.language(),
            hashes: hashes.into_boxed_slice(),
        })
    }

    fn memory(&self) -> usize {
        size_of_val(self) + size_of_val(&*self.hashes)
    }
}

/// Returns the last bits of a hash: two that differ only before them cost a file being parsed, and
/// nothing else.
#[expect(clippy::cast_possible_truncation, reason = "the last bits are wanted")]
fn end_of(hash: u64) -> u32 {
    hash as u32
}

impl Fingerprinted {
    fn from_tokens(tokens: &[Token<'_>]) -> Fingerprinted {
        let found = fingerprints(tokens);
        let first = found.first().map(|first| End {
            hash: first.hash,
            beyond: first.at,
        });
        let last = found.last().map(|last| End {
            hash: last.hash,
            beyond: tokens.len() - (last.at + RUN),
        });
        let ends = [first.unwrap_or_default(), last.unwrap_or_default()];
        let fingerprints = found
            .into_iter()
            .map(|fingerprint| fingerprint.hash)
            .collect();
        let names = tokens
            .iter()
            .filter_map(|token| token.name)
            .map(str::to_owned)
            .collect();
        Fingerprinted {
            fingerprints,
            tokens: tokens.len(),
            ends,
            names,
        }
    }
}

/// Returns the tokens of a snippet, which may be a statement, a member or a declaration.
fn tokens_of<'t>(
    code: &'t str,
    language: Language,
    stop: Stop<'_>,
) -> Result<Vec<Token<'t>>, CodeError> {
    let mut best = Vec::new();
    for (before, after) in attempts(language) {
        let text = format!("{before}{code}{after}");
        let source = Source::parse(language, &text, stop)?;
        let range = before.len()..before.len() + code.len();
        let found = tokens(&source, range, stop)?;
        best = found
            .into_iter()
            .map(|token| token.moved_to(code, before.len()))
            .collect();
        if !source.has_error() {
            return Ok(best);
        }
    }
    // Code that is not whole has most of its tokens all the same.
    Ok(best)
}
