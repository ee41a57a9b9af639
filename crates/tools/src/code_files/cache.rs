//! The results of analyses of files, by what they follow from: the analysis, the bytes of the file,
//! and what its name says of its language.
//!
//! All agents of a run share one (`context.shared().value::<AnalysisCache>()`), so what one of them
//! has analysed no other one analyses again, in whichever worktree the same bytes are; an agent
//! that asks for what another one is computing waits for it. A result is kept in memory only, so
//! neither the code of an analysis, which its type names, nor a grammar changes while it is kept.
//! What was stopped before its end is not kept.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use orchestrate_code::{CodeError, LanguageHint, Source, Stop};
use orchestrate_core::Oid;

use super::unchanged::Unchanged;
use crate::contents::FileStamp;

/// The memory that the results of one run may have together, in bytes: an analysis of 20,000 files
/// of ordinary size.
const MAX_BYTES: usize = 96 << 20;
/// To what share of that the results are cut back, so that this happens rarely.
const KEPT: (usize, usize) = (3, 4);
/// The memory that a result has besides its own, in bytes.
const ENTRY_BYTES: usize = 256;
/// How often an agent that waits for another one's result asks whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// What is found out from the syntax tree of one file alone.
pub(crate) trait FileAnalysis: Send + Sync + Sized + 'static {
    /// Analyses a parsed file.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    fn analyze(source: &Source<'_>, stop: Stop<'_>) -> Result<Self, CodeError>;

    /// Returns about how many bytes of memory it holds.
    fn memory(&self) -> usize;
}

/// The version of a file that an analysis follows from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileVersion {
    /// The id of its bytes, as [`FileContents`](crate::FileContents) knows it.
    pub(crate) content: Oid,
    pub(crate) hint: LanguageHint,
}

/// The results of one run.
pub(crate) struct AnalysisCache {
    results: Mutex<Results>,
    /// A result was computed, or will not be.
    ended: Condvar,
    /// What is in `results` as well.
    unchanged: Unchanged,
    max_bytes: usize,
}

#[derive(Default)]
struct Results {
    by_analysis: HashMap<TypeId, HashMap<FileVersion, Slot>>,
    bytes: usize,
}

enum Slot {
    /// It is being computed.
    Pending,
    Known {
        result: Known,
        bytes: usize,
        /// Whether it was used since the last time that results were removed.
        is_used: bool,
    },
}

type Known = Result<Arc<dyn Any + Send + Sync>, CodeError>;

impl Default for AnalysisCache {
    fn default() -> AnalysisCache {
        AnalysisCache::with_limit(MAX_BYTES)
    }
}

impl AnalysisCache {
    /// Creates a cache whose results have at most so many bytes.
    pub(crate) fn with_limit(max_bytes: usize) -> AnalysisCache {
        AnalysisCache {
            results: Mutex::default(),
            ended: Condvar::new(),
            unchanged: Unchanged::default(),
            max_bytes,
        }
    }

    /// Returns the result for a version of a file, if it is known.
    #[cfg(test)]
    fn find<T: FileAnalysis>(&self, file: &FileVersion) -> Option<Result<Arc<T>, CodeError>> {
        let known = self.results().find(TypeId::of::<T>(), file)?;
        typed(known)
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
        // Until it is kept, no result is removed.
        let mut results = self.results();
        let found = typed(results.find(TypeId::of::<T>(), file)?);
        if let Some(Ok(result)) = &found {
            self.unchanged.keep(stamp, file.hint, result);
        }
        found
    }

    /// Returns the result for a version of a file, which is computed if it is not known. An error
    /// that follows from the file is a result, too.
    ///
    /// # Errors
    /// The error of the analysis; [`CodeError::Stopped`] is kept for nobody.
    pub(crate) fn get_or_compute<T: FileAnalysis>(
        &self,
        file: &FileVersion,
        stop: Stop<'_>,
        compute: impl FnOnce() -> Result<T, CodeError>,
    ) -> Result<Arc<T>, CodeError> {
        let analysis = TypeId::of::<T>();
        if let Some(known) = self.find_or_claim(analysis, file, stop)? {
            // It was found by the type, so it is a result of this one.
            return typed(known).unwrap_or_else(|| compute().map(Arc::new));
        }
        let claim = Claim {
            cache: self,
            analysis,
            file,
        };
        let result = compute().map(Arc::new);
        if !matches!(result, Err(CodeError::Stopped)) {
            let bytes = result.as_ref().map_or(0, |value| value.memory());
            let known = result
                .clone()
                .map(|value| value as Arc<dyn Any + Send + Sync>);
            self.keep(
                &claim,
                known,
                bytes + ENTRY_BYTES + file.content.as_str().len(),
            );
        }
        result
    }

    /// Returns a known result; if there is none, and nobody computes it, `None` lets the caller
    /// compute it.
    fn find_or_claim(
        &self,
        analysis: TypeId,
        file: &FileVersion,
        stop: Stop<'_>,
    ) -> Result<Option<Known>, CodeError> {
        let mut results = self.results();
        loop {
            if let Some(known) = results.find(analysis, file) {
                return Ok(Some(known));
            }
            let by_file = results.by_analysis.entry(analysis).or_default();
            if !by_file.contains_key(file) {
                by_file.insert(file.clone(), Slot::Pending);
                return Ok(None);
            }
            let waited = self.ended.wait_timeout(results, STOP_INTERVAL);
            results = waited.unwrap_or_else(PoisonError::into_inner).0;
            if stop() {
                return Err(CodeError::Stopped);
            }
        }
    }

    fn keep(&self, claim: &Claim<'_>, result: Known, bytes: usize) {
        let mut results = self.results();
        // A result that would displace most others is used once.
        if bytes > self.max_bytes / 8 {
            return;
        }
        results.bytes += bytes;
        let removed = if results.bytes > self.max_bytes {
            self.unchanged.clear();
            results.remove_to(self.max_bytes / KEPT.1 * KEPT.0)
        } else {
            Vec::new()
        };
        let by_file = results.by_analysis.entry(claim.analysis).or_default();
        by_file.insert(
            claim.file.clone(),
            Slot::Known {
                result,
                bytes,
                is_used: false,
            },
        );
        drop(results);
        // Nobody waits while they are freed.
        drop(removed);
    }

    fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Results {
    fn find(&mut self, analysis: TypeId, file: &FileVersion) -> Option<Known> {
        match self.by_analysis.get_mut(&analysis)?.get_mut(file)? {
            Slot::Pending => None,
            Slot::Known {
                result, is_used, ..
            } => {
                *is_used = true;
                Some(result.clone())
            }
        }
    }

    /// Removes results until they have at most so many bytes, first those that were not used since
    /// the last time.
    fn remove_to(&mut self, bytes: usize) -> Vec<Slot> {
        let mut removed = Vec::new();
        for spares_used in [true, false] {
            let left = &mut self.bytes;
            for by_file in self.by_analysis.values_mut() {
                let unused = by_file.extract_if(|_, slot| match slot {
                    Slot::Known { is_used, .. } if *left > bytes && spares_used && *is_used => {
                        *is_used = false;
                        false
                    }
                    Slot::Known { bytes: of_it, .. } if *left > bytes => {
                        *left -= *of_it;
                        true
                    }
                    _ => false,
                });
                removed.extend(unused.map(|(_, slot)| slot));
            }
        }
        removed
    }
}

fn typed<T: FileAnalysis>(known: Known) -> Option<Result<Arc<T>, CodeError>> {
    match known {
        Ok(value) => value.downcast::<T>().ok().map(Ok),
        Err(error) => Some(Err(error)),
    }
}

/// A result that is being computed. Others wait for it until this is dropped, also by a panic.
struct Claim<'c> {
    cache: &'c AnalysisCache,
    analysis: TypeId,
    file: &'c FileVersion,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut results = self.cache.results();
        if let Some(by_file) = results.by_analysis.get_mut(&self.analysis)
            && matches!(by_file.get(self.file), Some(Slot::Pending))
        {
            by_file.remove(self.file);
        }
        drop(results);
        self.cache.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use orchestrate_code::Language;

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
    fn an_unchanged_file_is_found_until_results_are_removed() {
        let (cache, hint) = (
            AnalysisCache::with_limit(100_000),
            LanguageHint::Named(Language::Rust),
        );
        let add = |content: &str| {
            cache
                .get_or_compute(&version(content), &never, || Ok(Sample(5_000)))
                .unwrap()
        };
        let first = add("first");
        assert_eq!(cache.find_unchanged::<Sample>(&stamp(100), hint), None);
        cache
            .find_for::<Sample>(&version("first"), &stamp(100))
            .unwrap()
            .unwrap();
        assert_eq!(
            cache.find_unchanged::<Sample>(&stamp(100), hint).as_ref(),
            Some(&first)
        );
        (0..100).for_each(|number| drop(add(&number.to_string())));
        assert_eq!(cache.find_unchanged::<Sample>(&stamp(100), hint), None);
        // Which of the unused results remain is open.
        let remains = usize::from(cache.find::<Sample>(&version("first")).is_some());
        assert_eq!(
            Arc::strong_count(&first),
            1 + remains,
            "nothing else has it"
        );
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
        assert!(kept < 8, "{kept}");
        assert!(cache.results().bytes <= 100_000);
        // All of them were used now, and room is made all the same.
        (20..60).for_each(add);
        assert!(
            cache.results().bytes <= 100_000,
            "{}",
            cache.results().bytes
        );
        let bytes_of = |slot: &Slot| {
            if let Slot::Known { bytes, .. } = slot {
                *bytes
            } else {
                0
            }
        };
        let sum: usize = cache
            .results()
            .by_analysis
            .values()
            .flat_map(HashMap::values)
            .map(bytes_of)
            .sum();
        assert_eq!(sum, cache.results().bytes);
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
