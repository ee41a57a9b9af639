//! `cache`: shows and removes the results that are kept for replay.

use orchestrate_cache::{Cache, CacheError};

use crate::args::{CacheArgs, CacheCommand};
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::json::{CacheCleared, CacheStatistics, Envelope, Output};
use crate::show::output;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &CacheArgs) -> Result<u8, CommandError> {
    let cache = Cache::open(&context.directories()?.state)?;
    match &arguments.command {
        CacheCommand::Stats(format) => stats(&cache, format.json),
        CacheCommand::Clear(format) => clear(&cache, format.json),
    }
    .map(|()| 0)
}

fn stats(cache: &Cache, as_json: bool) -> Result<(), CommandError> {
    let found = cache.statistics()?;
    if as_json {
        let statistics = Output::Cache(CacheStatistics {
            entries: found.entries,
            bytes: found.bytes,
            limit_bytes: found.limit_bytes,
            hits: found.hits,
            misses: found.misses,
        });
        return output::json(&Envelope::new(None, statistics));
    }
    output::result(&format!(
        "{} results, {} of {} bytes\n{} hits, {} misses\n",
        found.entries, found.bytes, found.limit_bytes, found.hits, found.misses
    ))
}

fn clear(cache: &Cache, as_json: bool) -> Result<(), CommandError> {
    let cleared = cache.clear()?;
    if as_json {
        let cleared = Output::CacheCleared(CacheCleared {
            entries: cleared.entries,
            bytes: cleared.bytes,
        });
        return output::json(&Envelope::new(None, cleared));
    }
    output::result(&format!(
        "removed {} results, {} bytes\n",
        cleared.entries, cleared.bytes
    ))
}

impl From<CacheError> for CommandError {
    fn from(error: CacheError) -> Self {
        CommandError::new(ErrorKind::Failed, format!("failed to {error}"))
    }
}
