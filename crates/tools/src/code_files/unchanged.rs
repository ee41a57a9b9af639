//! The results of analyses by the metadata of the files that they are of: for a file that has not
//! changed since, nothing but its metadata is needed.
//!
//! Only what was found by a file's content is here, and only if any later change gives the file
//! other metadata. All of it is forgotten whenever results are removed from the cache, so that none
//! is kept in memory by this alone, and that one is used is noticed again.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use orchestrate_code::LanguageHint;
use rustc_hash::FxHashMap;

use crate::contents::FileStamp;

/// How many results are kept: of several analyses of the files of a few worktrees, in tens of
/// megabytes.
const MAX_KEPT: usize = 200_000;
/// The number of parts, each with a lock of its own, so that the threads of a walk seldom wait for
/// each other.
const PARTS: usize = 64;
/// How many inodes in a row are in one part: the files of a directory mostly are, and one thread
/// looks at them.
const NEIGHBOURS: u64 = 64;

/// The results that are found by metadata.
pub(super) struct Unchanged(Vec<Mutex<Part>>);

/// By the analysis and the number of the inode, which the file system chooses: no agent can make
/// many that collide.
type Part = FxHashMap<(TypeId, u64), OfFile>;

struct OfFile {
    stamp: FileStamp,
    hint: LanguageHint,
    result: Arc<dyn Any + Send + Sync>,
}

impl Default for Unchanged {
    fn default() -> Unchanged {
        Unchanged(std::iter::repeat_with(Mutex::default).take(PARTS).collect())
    }
}

impl Unchanged {
    /// Returns the result of an analysis of a file that has this metadata.
    pub(super) fn find<T: Send + Sync + 'static>(
        &self,
        stamp: &FileStamp,
        hint: LanguageHint,
    ) -> Option<Arc<T>> {
        let part = self.part(stamp)?;
        let of_file = part.get(&(TypeId::of::<T>(), stamp.inode))?;
        let result = (of_file.stamp == *stamp && of_file.hint == hint)
            .then(|| Arc::clone(&of_file.result))?;
        drop(part);
        result.downcast().ok()
    }

    /// Keeps the result of an analysis, unless the file may still change without other metadata.
    pub(super) fn keep<T: Send + Sync + 'static>(
        &self,
        stamp: &FileStamp,
        hint: LanguageHint,
        result: &Arc<T>,
    ) {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let Some(mut part) = self.part(stamp).filter(|_| stamp.is_settled(now)) else {
            return;
        };
        if part.len() >= MAX_KEPT / PARTS {
            part.clear();
        }
        let result = Arc::clone(result) as Arc<dyn Any + Send + Sync>;
        part.insert(
            (TypeId::of::<T>(), stamp.inode),
            OfFile {
                stamp: *stamp,
                hint,
                result,
            },
        );
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.0
            .iter()
            .for_each(|part| part.lock().unwrap_or_else(PoisonError::into_inner).clear());
    }

    fn part(&self, stamp: &FileStamp) -> Option<MutexGuard<'_, Part>> {
        let number = usize::try_from(stamp.inode / NEIGHBOURS % PARTS as u64).ok()?;
        self.0
            .get(number)
            .map(|part| part.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINT: LanguageHint = LanguageHint::Header;

    fn stamp(inode: u64) -> FileStamp {
        FileStamp {
            device: 1,
            inode,
            size: 3,
            modified: (100, 0),
            changed: (100, 5),
        }
    }

    #[test]
    fn a_result_is_found_by_the_same_metadata_alone() {
        let unchanged = Unchanged::default();
        unchanged.keep(&stamp(7), HINT, &Arc::new(1_u8));
        assert_eq!(unchanged.find::<u8>(&stamp(7), HINT).as_deref(), Some(&1));
        assert_eq!(
            unchanged.find::<u16>(&stamp(7), HINT),
            None,
            "another analysis"
        );
        assert_eq!(
            unchanged.find::<u8>(&stamp(7), LanguageHint::FirstLine),
            None,
            "another language"
        );
        let others = [
            stamp(8),
            FileStamp {
                device: 2,
                ..stamp(7)
            },
            FileStamp {
                size: 4,
                ..stamp(7)
            },
            FileStamp {
                modified: (100, 1),
                ..stamp(7)
            },
            FileStamp {
                changed: (101, 5),
                ..stamp(7)
            },
        ];
        for other in others {
            assert_eq!(unchanged.find::<u8>(&other, HINT), None, "{other:?}");
        }
        unchanged.clear();
        assert_eq!(unchanged.find::<u8>(&stamp(7), HINT), None);
    }

    /// Within the clock's resolution, a file may change again and have the same metadata.
    #[test]
    fn a_file_that_was_changed_just_now_is_not_kept() {
        let unchanged = Unchanged::default();
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let seconds = i64::try_from(now.as_secs()).unwrap();
        for (changed, expected) in [(seconds, None), (seconds - 10, Some(1))] {
            let stamp = FileStamp {
                changed: (changed, 0),
                ..stamp(7)
            };
            unchanged.keep(&stamp, HINT, &Arc::new(1_u8));
            assert_eq!(
                unchanged.find::<u8>(&stamp, HINT).as_deref(),
                expected.as_ref()
            );
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let unchanged = Unchanged::default();
        for inode in 0..300_000 {
            unchanged.keep(&stamp(inode), HINT, &Arc::new(()));
        }
        let kept: usize = unchanged
            .0
            .iter()
            .map(|part| part.lock().unwrap().len())
            .sum();
        assert!(kept > 0 && kept <= MAX_KEPT, "{kept}");
    }
}
