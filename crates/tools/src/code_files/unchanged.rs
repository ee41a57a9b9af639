//! The results of analyses by the metadata of the files that they are of: for a file that has not
//! changed since, nothing but its metadata is needed.
//!
//! Only what was found by a file's content is here, and only if any later change gives the file
//! other metadata. None is kept in memory by this alone.

use std::any::{Any, TypeId};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use orchestrate_code::LanguageHint;
use quick_cache::sync::Cache;

use crate::answer::FileStamp;

/// How many results are kept: of several analyses of the files of a few worktrees, in tens of
/// megabytes.
const MAX_KEPT: usize = 200_000;

/// The results that are found by metadata, by the analysis and the number of the inode.
pub(super) struct Unchanged(Cache<(TypeId, u64), OfFile>);

#[derive(Clone)]
struct OfFile {
    stamp: FileStamp,
    hint: LanguageHint,
    result: Weak<dyn Any + Send + Sync>,
}

impl Default for Unchanged {
    fn default() -> Unchanged {
        Unchanged(Cache::new(MAX_KEPT))
    }
}

impl Unchanged {
    /// Returns the result of an analysis of a file that has this metadata.
    pub(super) fn find<T: Send + Sync + 'static>(
        &self,
        stamp: &FileStamp,
        hint: LanguageHint,
    ) -> Option<Arc<T>> {
        let of_file = self.0.get(&(TypeId::of::<T>(), stamp.inode))?;
        if of_file.stamp != *stamp || of_file.hint != hint {
            return None;
        }
        of_file.result.upgrade()?.downcast().ok()
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
        if !stamp.is_settled(now) {
            return;
        }
        let result = Arc::clone(result) as Arc<dyn Any + Send + Sync>;
        let of_file = OfFile {
            stamp: *stamp,
            hint,
            result: Arc::downgrade(&result),
        };
        self.0.insert((TypeId::of::<T>(), stamp.inode), of_file);
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
        let result = Arc::new(1_u8);
        unchanged.keep(&stamp(7), HINT, &result);
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
        drop(result);
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
            let result = Arc::new(1_u8);
            unchanged.keep(&stamp, HINT, &result);
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
        let kept = unchanged.0.len();
        assert!(kept > 0 && kept <= MAX_KEPT, "{kept}");
    }
}
