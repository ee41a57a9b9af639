//! Which files of a large repository are read for its map.

use std::cmp::Reverse;

use super::task::{MapTask, fixed_part};
use crate::language::Language;

/// Maximum number of files of a map: with more, even their ranks take seconds.
pub const MAX_MAPPED_FILES: usize = 20_000;
/// Maximum size of all files that are parsed for a map, in bytes: a few seconds of work.
pub const MAX_MAPPED_BYTES: u64 = 32 << 20;
/// Maximum size of a file that is parsed for a map, in bytes; larger ones are generated.
pub const MAX_TAGGED_BYTES: u64 = 256 << 10;
/// Maximum length of a path in bytes; a longer one would take the room of several definitions.
const MAX_PATH_BYTES: usize = 200;
/// Folders of other projects' files.
const FOREIGN: [&str; 4] = ["node_modules", "third-party", "third_party", "vendor"];

/// Returns the indices of the files that a map for a task is made of, with their sizes in bytes:
/// those nearest to the files that the task declares first, as far as the limits allow.
pub fn chosen(files: &[(&str, u64)], task: &MapTask<'_>) -> Vec<usize> {
    let declared: Vec<&str> = task.files.iter().map(|file| fixed_part(file)).collect();
    let mut order: Vec<(Reverse<usize>, Reverse<bool>, &str, usize)> = files
        .iter()
        .enumerate()
        .filter(|(_, (path, _))| is_ours(path))
        .map(|(at, (path, _))| {
            let near = declared
                .iter()
                .map(|declared| common_folders(declared, path))
                .max()
                .unwrap_or_default();
            (
                Reverse(near),
                Reverse(Language::of_path(path).is_some()),
                *path,
                at,
            )
        })
        .collect();
    order.sort_unstable();
    let mut bytes = 0_u64;
    let mut chosen = Vec::new();
    for (.., at) in order.into_iter().take(MAX_MAPPED_FILES) {
        let Some((path, size)) = files.get(at) else {
            continue;
        };
        let parsed = if Language::of_path(path).is_some() && *size <= MAX_TAGGED_BYTES {
            *size
        } else {
            0
        };
        if bytes + parsed <= MAX_MAPPED_BYTES {
            bytes += parsed;
            chosen.push(at);
        }
    }
    chosen
}

fn is_ours(path: &str) -> bool {
    path.len() <= MAX_PATH_BYTES && !path.split('/').any(|part| FOREIGN.contains(&part))
}

/// Returns the number of folders at the beginning of two paths that are the same.
fn common_folders(one: &str, other: &str) -> usize {
    let same = one
        .split('/')
        .zip(other.split('/'))
        .take_while(|(one, other)| one == other);
    same.count()
}
