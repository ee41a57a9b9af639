//! The caches of tools, such as Go's and uv's, which live outside of the project.
//!
//! Each worktree has its own, which all its commands write to. It begins with a copy of the
//! repository's seed. That is what a setup and a check of a base have left, in the worktree in
//! which no agent ever writes; it replaces the seed once they have passed. So no agent can write
//! what another one's commands or checks read. A seed that is too large to be copied is not: tools
//! then begin with nothing.

use std::io;
use std::path::{Path, PathBuf};

use orchestrate_core::event::settings::WarmLimit;
use orchestrate_files::{
    TemporaryFolder, copy_folder, create_folder, extent, if_there, remove_folder, replace,
    shares_blocks,
};

use crate::checks_error::{ChecksError, blocking};
use crate::layout::Layout;

const MIB: u64 = 1 << 20;
/// The file that names the seed.
const NEWEST: &str = "newest";
/// How the names of seeds begin.
const PREFIX: &str = "seed-";
/// How often a seed is read again that was replaced meanwhile; more is not a coincidence.
const TRIES: usize = 4;

/// Gives a worktree caches of its own, unless it has them.
pub(crate) async fn prepare(
    layout: &Layout,
    worktree: &Path,
    limit: WarmLimit,
) -> Result<(), ChecksError> {
    let (layout, own) = (layout.clone(), Layout::caches_of(worktree));
    let make = move || {
        if own.is_dir() {
            return Ok(());
        }
        begin(&layout.cache_seeds(), &own, limit).map_err(ChecksError::at(own))
    };
    blocking("a copy of caches", make).await
}

/// Makes the caches of a worktree, in which only a setup and a check of a base have run, the
/// repository's seed.
pub(crate) async fn publish(layout: &Layout, worktree: &Path) -> Result<(), ChecksError> {
    let (layout, own) = (layout.clone(), Layout::caches_of(worktree));
    let publish = move || {
        let seeds = layout.cache_seeds();
        make_seed(&seeds, &own).map_err(ChecksError::at(seeds))
    };
    blocking("a seed of caches", publish).await
}

/// Removes the caches of a worktree that is gone.
pub fn forget(worktree: &Path) {
    let own = Layout::caches_of(worktree);
    if let Err(error) = if_there(remove_folder(&own)) {
        tracing::warn!(path = %own.display(), %error, "failed to remove the caches of a worktree");
    }
}

/// Returns how many bytes the caches of a new worktree take.
///
/// # Errors
/// If its thread panics.
pub async fn copied_bytes(layout: &Layout, limit: WarmLimit) -> Result<u64, ChecksError> {
    let seeds = layout.cache_seeds();
    let measure = move || {
        // A seed that is being replaced is measured as nothing: what a copy takes is only
        // estimated.
        let bytes = newest(&seeds).and_then(|seed| bytes_of_copy(&seed, &seeds, limit));
        Ok(bytes.ok().flatten().unwrap_or(0))
    };
    blocking("a look at caches", measure).await
}

/// Creates the caches of a worktree, with a copy of the seed if there is one.
fn begin(seeds: &Path, own: &Path, limit: WarmLimit) -> io::Result<()> {
    let unfinished = own.with_extension("new");
    for _ in 0..TRIES {
        if_there(remove_folder(&unfinished))?;
        // Otherwise it was replaced meanwhile.
        if if_there(copy_seed(seeds, &unfinished, limit))?.is_some() {
            break;
        }
    }
    create_folder(&unfinished)?;
    std::fs::rename(unfinished, own)
}

/// Copies the seed, if there is one that may be copied.
fn copy_seed(seeds: &Path, to: &Path, limit: WarmLimit) -> io::Result<()> {
    if !seeds.join(NEWEST).exists() {
        return Ok(());
    }
    let seed = newest(seeds)?;
    if bytes_of_copy(&seed, seeds, limit)?.is_none() {
        tracing::info!(path = %seed.display(), "the caches of tools are too large to be copied");
        return Ok(());
    }
    copy_folder(&seed, to)
}

/// Returns what a copy of the seed takes; `None` if it is too large.
fn bytes_of_copy(seed: &Path, seeds: &Path, limit: WarmLimit) -> io::Result<Option<u64>> {
    if shares_blocks(seeds)? {
        return Ok(Some(0));
    }
    let found = extent(seed)?;
    let is_within = found.bytes <= limit.mib.saturating_mul(MIB) && found.files <= limit.files;
    Ok(is_within.then_some(found.bytes))
}

/// Makes the caches of a worktree the seed, and removes the one before.
fn make_seed(seeds: &Path, own: &Path) -> io::Result<()> {
    create_folder(seeds)?;
    let seed = TemporaryFolder::create(PREFIX, Some(seeds))?.keep();
    std::fs::rename(own, &seed)?;
    let name = seed.file_name().unwrap_or_default();
    replace(&seeds.join(NEWEST), name.as_encoded_bytes())?;
    for entry in std::fs::read_dir(seeds)? {
        let entry = entry?;
        if entry.file_name() != name
            && entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(PREFIX.as_bytes())
        {
            if_there(remove_folder(&entry.path()))?;
        }
    }
    Ok(())
}

fn newest(seeds: &Path) -> io::Result<PathBuf> {
    Ok(seeds.join(std::fs::read_to_string(seeds.join(NEWEST))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_begins_with_the_newest_seed_and_shares_nothing_with_it() {
        let place = tempfile::tempdir().unwrap();
        let (seeds, own) = (place.path().join("seeds"), |name: &str| {
            place.path().join(name)
        });
        let (limit, none) = (WarmLimit::default(), WarmLimit { mib: 0, files: 0 });
        let put = |folder: &Path, text: &str| std::fs::write(folder.join("entry"), text).unwrap();
        let get = |folder: &Path| std::fs::read_to_string(folder.join("entry")).ok();
        // The first base begins with nothing, and leaves what the next one begins with.
        begin(&seeds, &own("base"), limit).unwrap();
        put(&own("base"), "first");
        make_seed(&seeds, &own("base")).unwrap();
        assert!(!own("base").exists());
        begin(&seeds, &own("T1"), limit).unwrap();
        assert_eq!(get(&own("T1")).as_deref(), Some("first"));
        // What an agent writes is its own.
        put(&own("T1"), "poisoned");
        begin(&seeds, &own("T2"), limit).unwrap();
        assert_eq!(get(&own("T2")).as_deref(), Some("first"));
        // A newer seed takes the place of the one before.
        begin(&seeds, &own("base"), limit).unwrap();
        put(&own("base"), "second");
        make_seed(&seeds, &own("base")).unwrap();
        begin(&seeds, &own("T3"), limit).unwrap();
        assert_eq!(get(&own("T3")).as_deref(), Some("second"));
        assert_eq!(std::fs::read_dir(&seeds).unwrap().count(), 2);
        // What a killed process has copied is copied again.
        std::fs::create_dir_all(own("T4").with_extension("new").join("half")).unwrap();
        begin(&seeds, &own("T4"), limit).unwrap();
        assert_eq!(
            (get(&own("T4")).as_deref(), own("T4").join("half").exists()),
            (Some("second"), false)
        );
        // One that may not be copied, or is damaged, costs only time.
        if !shares_blocks(&seeds).unwrap() {
            begin(&seeds, &own("T5"), none).unwrap();
            assert_eq!(get(&own("T5")), None);
        }
        remove_folder(&newest(&seeds).unwrap()).unwrap();
        begin(&seeds, &own("T6"), limit).unwrap();
        assert_eq!((get(&own("T6")), own("T6").is_dir()), (None, true));
    }
}
