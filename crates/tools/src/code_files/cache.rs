//! The results of analyses of files, by what they follow from: the analysis, the bytes of the file,
//! and what its name says of its language.
//!
//! All agents of a run share one (`context.shared().value::<AnalysisCache>()`), so what one of them
//! has analysed no other one analyses again, in whichever worktree the same bytes are; an agent
//! that asks for what another one is computing waits for it. A result is kept in memory only, so
//! neither the code of an analysis, which its type names, nor a grammar changes while it is kept.
//! What was stopped before its end is not kept.

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::time::Duration;

use orchestrate_code::{CodeError, FileAnalysis, LanguageHint, Stop};
use orchestrate_core::Oid;
use quick_cache::Weighter;
use quick_cache::sync::{Cache, GuardResult};

use super::unchanged::Unchanged;
use crate::answer::FileStamp;

/// The memory that the results of one run may have together, in bytes: an analysis of 20,000 files
/// of ordinary size.
const MAX_BYTES: usize = 96 << 20;
/// The memory of an ordinary result, in bytes.
const RESULT_BYTES: usize = 5_000;
/// The memory that a result has besides its own, in bytes.
const ENTRY_BYTES: usize = 256;
/// How often an agent that waits for another one's result asks whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// The version of a file that an analysis follows from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileVersion {
    /// The id of its bytes, as [`FileContents`](crate::FileContents) knows it.
    pub(crate) content: Oid,
    pub(crate) hint: LanguageHint,
}

/// The results of one run. Those that are not used again go first.
pub(crate) struct AnalysisCache {
    results: Cache<Key, Kept, Bytes>,
    /// Finds what is in `results` by other means.
    unchanged: Unchanged,
    max_bytes: usize,
}

/// The analysis, and the file.
type Key = (TypeId, FileVersion);

#[derive(Clone)]
struct Kept {
    result: Result<Arc<dyn Any + Send + Sync>, CodeError>,
    bytes: usize,
}

/// Counts the memory of results.
#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Kept> for Bytes {
    fn weight(&self, _: &Key, kept: &Kept) -> u64 {
        kept.bytes as u64
    }
}

impl Default for AnalysisCache {
    fn default() -> AnalysisCache {
        AnalysisCache::with_limit(MAX_BYTES)
    }
}

impl AnalysisCache {
    /// Creates a cache whose results have at most so many bytes.
    pub(crate) fn with_limit(max_bytes: usize) -> AnalysisCache {
        AnalysisCache {
            results: Cache::with_weighter(max_bytes / RESULT_BYTES, max_bytes as u64, Bytes),
            unchanged: Unchanged::default(),
            max_bytes,
        }
    }

    /// Returns the result for a version of a file, if it is known.
    fn find<T: FileAnalysis>(&self, file: &FileVersion) -> Option<Result<Arc<T>, CodeError>> {
        typed(self.results.get(&(TypeId::of::<T>(), file.clone()))?)
    }

    /// Returns the result for a file that has the same metadata as when its result was found last.
    pub(crate) fn find_unchanged<T: FileAnalysis>(
        &self,
        stamp: &FileStamp,
        hint: LanguageHint,
    ) -> Option<Arc<T>> {
        self.unchanged.find(stamp, hint)
    }

    /// Returns the result for a version of a file, if it is known; the file, which has this
    /// metadata, is found by that from now on.
    pub(crate) fn find_for<T: FileAnalysis>(
        &self,
        file: &FileVersion,
        stamp: &FileStamp,
    ) -> Option<Result<Arc<T>, CodeError>> {
        let found = self.find(file);
        if let Some(Ok(result)) = &found {
            self.unchanged.keep(stamp, file.hint, result);
        }
        found
    }

    /// Returns the result for a version of a file, which is computed if it is not known. An error
    /// that follows from the file is a result, too. Others wait for it meanwhile, and one of them
    /// computes it if this one is stopped, or panics.
    ///
    /// # Errors
    /// The error of the analysis; [`CodeError::Stopped`] is kept for nobody.
    pub(crate) fn get_or_compute<T: FileAnalysis>(
        &self,
        file: &FileVersion,
        stop: Stop<'_>,
        compute: impl FnOnce() -> Result<T, CodeError>,
    ) -> Result<Arc<T>, CodeError> {
        let key = (TypeId::of::<T>(), file.clone());
        let guard = loop {
            match self.results.get_value_or_guard(&key, Some(STOP_INTERVAL)) {
                // It was found by the type, so it is a result of this one.
                GuardResult::Value(kept) => {
                    return typed(kept).unwrap_or_else(|| compute().map(Arc::new));
                }
                GuardResult::Guard(guard) => break guard,
                GuardResult::Timeout if stop() => return Err(CodeError::Stopped),
                GuardResult::Timeout => {}
            }
        };
        let result = compute().map(Arc::new);
        let own = result.as_ref().map_or(0, |value| value.memory());
        let bytes = own + ENTRY_BYTES + file.content.as_str().len();
        // A result that would displace most others is used once.
        if !matches!(result, Err(CodeError::Stopped)) && bytes <= self.max_bytes / 8 {
            let result = result
                .clone()
                .map(|value| value as Arc<dyn Any + Send + Sync>);
            // Nobody has put another one in its place.
            let _ = guard.insert(Kept { result, bytes });
        }
        result
    }
}

fn typed<T: FileAnalysis>(kept: Kept) -> Option<Result<Arc<T>, CodeError>> {
    match kept.result {
        Ok(value) => value.downcast::<T>().ok().map(Ok),
        Err(error) => Some(Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use orchestrate_code::{Language, Source};

    use super::*;

    /// An analysis whose result is given by the tests.
    #[derive(Debug, PartialEq)]
    struct Sample(usize);

    impl FileAnalysis for Sample {
        fn analyze(source: &Source<'_>, _: Stop<'_>) -> Result<Sample, CodeError> {
            Ok(Sample(source.text().len()))
        }

        fn memory(&self) -> usize {
            self.0
        }
    }

    fn version(content: &str) -> FileVersion {
        FileVersion {
            content: Oid::new(content),
            hint: LanguageHint::Named(Language::Rust),
        }
    }

    fn stamp(seconds: i64) -> FileStamp {
        FileStamp {
            device: 1,
            inode: 2,
            size: 3,
            modified: (seconds, 0),
            changed: (seconds, 0),
        }
    }

    fn never() -> bool {
        false
    }

    /// What is found by metadata is forgotten with what is removed, and keeps nothing in memory.
    #[test]
    fn an_unchanged_file_is_found_until_its_result_is_removed() {
        let cache = AnalysisCache::with_limit(100_000);
        let hint = LanguageHint::Named(Language::Rust);
        let add = |content: &str| {
            let compute = || Ok(Sample(5_000));
            drop(cache.get_or_compute(&version(content), &never, compute));
        };
        add("first");
        let find = || cache.find_unchanged::<Sample>(&stamp(100), hint);
        assert_eq!(find(), None);
        let first = cache.find_for::<Sample>(&version("first"), &stamp(100));
        assert_eq!(find().map(Ok), first);
        drop(first);
        // Others are used as well, so they take its place.
        for number in 0..1_000 {
            add(&number.to_string());
            add(&number.to_string());
        }
        assert_eq!(cache.find::<Sample>(&version("first")), None);
        assert_eq!(find(), None);
    }

    #[test]
    fn a_result_is_computed_once() {
        let cache = AnalysisCache::default();
        let computed = AtomicUsize::new(0);
        let get = |file: &FileVersion| {
            let compute = || Ok(Sample(computed.fetch_add(1, Ordering::SeqCst)));
            cache.get_or_compute(file, &never, compute).unwrap()
        };
        assert_eq!(cache.find::<Sample>(&version("a")), None);
        assert_eq!([get(&version("a")).0, get(&version("a")).0], [0, 0]);
        assert_eq!(get(&version("b")).0, 1, "other bytes");
        let header = FileVersion {
            hint: LanguageHint::Header,
            ..version("a")
        };
        assert_eq!(get(&header).0, 2, "another language");
        assert_eq!(
            *cache.find::<Sample>(&version("a")).unwrap().unwrap(),
            Sample(0)
        );
    }

    #[test]
    fn what_follows_from_the_file_is_kept_and_a_stop_is_not() {
        let cache = AnalysisCache::default();
        let get = |result: Result<Sample, CodeError>| {
            cache.get_or_compute(&version("a"), &never, || result)
        };
        assert_eq!(get(Err(CodeError::Stopped)), Err(CodeError::Stopped));
        assert_eq!(get(Err(CodeError::Binary)), Err(CodeError::Binary));
        assert_eq!(get(Ok(Sample(1))), Err(CodeError::Binary));
    }

    #[test]
    fn those_that_were_not_used_go_first() {
        let cache = AnalysisCache::with_limit(100_000);
        let add = |number: usize| {
            cache
                .get_or_compute(&version(&number.to_string()), &never, || Ok(Sample(5_000)))
                .unwrap();
        };
        (0..18).for_each(add);
        let is_kept = |number: usize| {
            cache
                .find::<Sample>(&version(&number.to_string()))
                .is_some()
        };
        assert!((0..9).all(is_kept), "these are used");
        (18..20).for_each(add);
        assert!((0..9).all(is_kept));
        let kept = (9..20).filter(|number| is_kept(*number)).count();
        assert!(kept < 11, "{kept}");
        assert!(cache.results.weight() <= 100_000);
        // All of them were used now, and room is made all the same.
        (20..60).for_each(add);
        assert!(cache.results.weight() <= 100_000);
        let large = cache
            .get_or_compute(&version("large"), &never, || Ok(Sample(50_000)))
            .unwrap();
        assert_eq!(
            (large.0, is_kept(0), cache.find::<Sample>(&version("large"))),
            (50_000, is_kept(0), None)
        );
    }

    /// Two agents ask for the same: the second one waits for the first one's result, and computes
    /// it itself if the first one was stopped, or has panicked.
    #[test]
    fn two_agents_compute_it_once() {
        type First = fn() -> Result<Sample, CodeError>;
        let table: [(First, usize); 3] = [
            (|| Ok(Sample(1)), 1),
            (|| Err(CodeError::Stopped), 2),
            (|| panic!("a defect"), 2),
        ];
        for (first, expected) in table {
            let cache = AnalysisCache::default();
            let (begun, may_end) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let compute = || {
                        begun.wait();
                        may_end.wait();
                        first()
                    };
                    let get = || drop(cache.get_or_compute(&version("a"), &never, compute));
                    drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(get)));
                });
                begun.wait();
                let asked = AtomicUsize::new(0);
                let releases = || {
                    // It asks only while it waits.
                    if asked.fetch_add(1, Ordering::SeqCst) == 0 {
                        may_end.wait();
                    }
                    false
                };
                let second = cache
                    .get_or_compute(&version("a"), &releases, || Ok(Sample(2)))
                    .unwrap();
                assert_eq!(second.0, expected);
            });
        }
    }

    #[test]
    fn who_waits_can_be_stopped() {
        let cache = AnalysisCache::default();
        let compute = || {
            let second = cache.get_or_compute(&version("a"), &|| true, || Ok(Sample(2)));
            assert_eq!(second, Err(CodeError::Stopped));
            Ok(Sample(1))
        };
        assert_eq!(
            *cache
                .get_or_compute(&version("a"), &never, compute)
                .unwrap(),
            Sample(1)
        );
    }
}
