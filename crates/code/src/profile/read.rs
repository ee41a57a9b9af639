//! Finds out in which format a profile is, and reads it.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::bufread::MultiGzDecoder;

use super::damage::{Damage, ProfileFormat, check};
use super::model::PerformanceAnalysis;
use super::{benchmarks, cprofile, pprof, text};
use crate::error::CodeError;
use crate::source::Stop;

/// Maximum size of a profile in bytes, compressed or not. What is made of one of this size has
/// little memory left.
pub const MAX_PROFILE_BYTES: usize = 32 << 20;
/// Maximum size of a text that is no UTF-8, of which three times as much is made.
const MAX_LOSSY_BYTES: usize = 12 << 20;
/// How a file compressed by gzip begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Maximum size of JSON in bytes: a list of short texts in it takes ten times as much at once.
const MAX_JSON_BYTES: usize = 3 << 20;
/// The number of bytes that are looked at to tell a text from binary data.
const LOOKED_AT: usize = 4_096;
/// The size of the pieces that are decompressed between questions whether to stop.
const PIECE: usize = 1 << 20;

impl PerformanceAnalysis {
    /// Reads a profile in whatever format it is.
    ///
    /// # Errors
    /// [`CodeError::UnknownProfile`] if it is in none that is known, [`CodeError::Profile`] if it
    /// is damaged, and [`CodeError::Stopped`] if `stop` said so.
    pub fn read(profile: &[u8], stop: Stop<'_>) -> Result<PerformanceAnalysis, CodeError> {
        if profile.len() > MAX_PROFILE_BYTES {
            return Err(CodeError::LargeProfile(MAX_PROFILE_BYTES >> 20));
        }
        if profile.starts_with(&GZIP) {
            // Only profiles of pprof are usually compressed.
            let content = decompressed(profile, stop)
                .map_err(|damage| damage.in_format(ProfileFormat::Pprof))?;
            return of_content(&content, stop);
        }
        of_content(profile, stop)
    }

    /// Reads the files of a folder of criterion, by their paths.
    ///
    /// # Errors
    /// As [`PerformanceAnalysis::read`].
    pub fn of_benchmarks(
        files: &[(String, Vec<u8>)],
        stop: Stop<'_>,
    ) -> Result<PerformanceAnalysis, CodeError> {
        benchmarks::of_files(files, stop)
            .map_err(|damage| damage.in_format(ProfileFormat::Criterion))
    }
}

fn decompressed(bytes: &[u8], stop: Stop<'_>) -> Result<Vec<u8>, Damage> {
    let mut content = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes);
    loop {
        check(stop)?;
        let before = content.len();
        let piece = decoder
            .by_ref()
            .take(PIECE as u64)
            .read_to_end(&mut content);
        piece.map_err(|error| {
            Damage::At(format!(
                "what gzip compressed, after {before} bytes: {error}"
            ))
        })?;
        if content.len() == before {
            return Ok(content);
        }
        if content.len() > MAX_PROFILE_BYTES {
            return Err(Damage::At(format!(
                "it decompresses to more than {} MB",
                MAX_PROFILE_BYTES >> 20
            )));
        }
    }
}

fn of_content(bytes: &[u8], stop: Stop<'_>) -> Result<PerformanceAnalysis, CodeError> {
    if is_binary(bytes) {
        return of_binary(bytes, stop);
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) if bytes.len() > MAX_LOSSY_BYTES => {
            return Err(CodeError::LargeProfile(MAX_LOSSY_BYTES >> 20));
        }
        Err(_) => String::from_utf8_lossy(bytes),
    };
    of_text(text.trim_start_matches('\u{feff}'), stop)
}

/// Reports whether bytes that no text has are among the first.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(LOOKED_AT).any(is_strange)
}

fn is_strange(byte: &u8) -> bool {
    *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
}

fn of_binary(bytes: &[u8], stop: Stop<'_>) -> Result<PerformanceAnalysis, CodeError> {
    if cprofile::is_saved(bytes) {
        Err(cprofile::saved())
    } else if pprof::is_begin(bytes) {
        pprof::read(bytes, stop).map_err(|damage| damage.in_format(ProfileFormat::Pprof))
    } else {
        Err(CodeError::UnknownProfile)
    }
}

fn of_text(text: &str, stop: Stop<'_>) -> Result<PerformanceAnalysis, CodeError> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    if is_json && text.len() > MAX_JSON_BYTES {
        return Err(CodeError::LargeProfile(MAX_JSON_BYTES >> 20));
    }
    let (format, found) = if is_json && benchmarks::is_criterion(text) {
        (ProfileFormat::Criterion, benchmarks::read(text, stop))
    } else if cprofile::has_table(text) {
        (ProfileFormat::Cprofile, cprofile::table(text, stop))
    } else if text::is_perf_script(text) {
        (ProfileFormat::PerfScript, text::perf_script(text, stop))
    } else {
        let found =
            text::folded(text, stop).map_err(|damage| damage.in_format(ProfileFormat::Folded))?;
        return found.ok_or(CodeError::UnknownProfile);
    };
    found.map_err(|damage| damage.in_format(format))
}
