//! Finds tasks that write the same paths, by comparing their `files`.
//!
//! A path includes everything below it, and a glob everything below the folder before its first
//! wildcard. So the comparison errs on the side of overlap: ordering two tasks needlessly costs
//! time, while a collision costs work.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use orchestrate_core::text::parts::Parts;

/// The maximum number of `[P]` tasks remembered as writers of one path: each causes a warning, and
/// no sensible plan has more.
const MAX_BESIDE: usize = 32;

/// The maximum length of a path, as on Linux.
const MAX_PATH_BYTES: usize = 4_096;

/// The maximum number of components of a path: each ancestor is looked up.
const MAX_COMPONENTS: usize = 128;

/// The characters that begin wildcards.
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

/// A path of `files`, normalised; of a glob, the folder that all its matches are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern<'a> {
    /// Its components, joined by `/`; empty for the whole repository.
    path: Cow<'a, str>,
}

impl<'a> Pattern<'a> {
    /// Normalises a path as written.
    ///
    /// # Errors
    /// The reason why the path is invalid or outside the repository.
    pub(crate) fn new(path: &'a str) -> Result<Self, &'static str> {
        if path.len() > MAX_PATH_BYTES {
            return Err("the path is too long");
        }
        if path.starts_with(['/', '~']) || path.contains('\0') {
            return Err("expected a path inside the repository, relative to its root");
        }
        let mut components: Vec<&str> = Vec::new();
        for component in path.split('/') {
            match component {
                "" | "." => {}
                ".." => {
                    components
                        .pop()
                        .ok_or("the path leads outside the repository")?;
                }
                name => components.push(name),
            }
        }
        if components.len() > MAX_COMPONENTS {
            return Err("the path is too deep");
        }
        let is_normal = components.len() == path.split('/').count();
        let literal = components.iter().position(|it| it.contains(WILDCARDS));
        components.truncate(literal.unwrap_or(components.len()));
        let path = match is_normal && literal.is_none() {
            true => Cow::Borrowed(path),
            false => Cow::Owned(components.join("/")),
        };
        Ok(Self { path })
    }
}

/// The paths that each task of a plan writes; `None` for an invalid one.
pub(crate) type Paths<'a> = [Vec<Option<Pattern<'a>>>];

/// Returns the paths of a task.
pub(crate) fn for_task<'p, 'a>(paths: &'p Paths<'a>, task: usize) -> &'p [Option<Pattern<'a>>] {
    paths.get(task).map_or(&[], Vec::as_slice)
}

/// Records the writers of each path, to find for each task the earlier ones that it collides with.
///
/// Only the latest writer of a path is kept, and a directory's writer replaces the writers of paths
/// below it, since they precede it anyway. Up to [`MAX_BESIDE`] writers that run together are kept.
/// The work is therefore linear in the number of paths.
#[derive(Default)]
pub(crate) struct Writers<'p> {
    paths: BTreeMap<&'p str, Vec<usize>>,
}

impl<'p> Writers<'p> {
    /// Records that a task writes a path, and returns the earlier tasks that write it too. `beside`
    /// reports whether the task runs together with an earlier one, which is then kept, so that
    /// later tasks wait for both.
    pub(crate) fn record(
        &mut self,
        pattern: &'p Pattern<'_>,
        task: usize,
        beside: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let path = pattern.path.as_ref();
        let mut earlier: Vec<usize> = Vec::new();
        let slashes = path.match_indices('/').map(|(at, _)| path.head(at));
        for above in slashes.chain(["", path]) {
            earlier.extend(self.paths.get(above).into_iter().flatten());
        }
        for below in self.below(path) {
            if let Some(writers) = self.paths.get_mut(below) {
                earlier.extend(writers.iter());
                writers.retain(|writer| beside(*writer));
                if writers.is_empty() {
                    self.paths.remove(below);
                }
            }
        }
        let writers = self.paths.entry(path).or_default();
        writers.retain(|writer| *writer != task && beside(*writer));
        if writers.len() == MAX_BESIDE {
            writers.remove(0);
        }
        writers.push(task);
        earlier.retain(|writer| *writer != task);
        earlier.sort_unstable();
        earlier.dedup();
        earlier
    }

    /// Returns the recorded paths below a directory.
    fn below(&self, directory: &str) -> Vec<&'p str> {
        let start = match directory {
            "" => String::new(),
            _ => format!("{directory}/"),
        };
        let bounds = (Bound::Included(start.as_str()), Bound::Unbounded);
        let from = self.paths.range::<str, _>(bounds);
        let paths = from.map(|(path, _)| *path);
        paths.take_while(|path| path.starts_with(&start)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(path: &str) -> Pattern<'_> {
        Pattern::new(path).unwrap()
    }

    #[test]
    fn overlaps_of_paths_and_globs() {
        let table = [
            ("src/a.rs", "src/a.rs", true),
            ("src/a.rs", "./src//a.rs", true),
            ("src/a.rs", "src/b.rs", false),
            ("src", "src/a.rs", true),
            ("src/", "srcs/a.rs", false),
            ("src", "src-a/b.rs", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a.txt", true),
            ("src/*.rs", "src/a/b.rs", true),
            ("src/*.rs", "src", true),
            ("src/**", "src/a/b.rs", true),
            ("**/*.rs", "src/a/b.rs", true),
            ("**/*.rs", "docs/a.md", true),
            ("**/*.rs", "docs", true),
            ("src/**/x.rs", "src/x.rs", true),
            ("src/**/x.rs", "lib/**/x.rs", false),
            ("src/a*.rs", "src/*b.rs", true),
            ("src/a*.rs", "src/b*.rs", true),
            ("a?c", "abc", true),
            ("*", "anything/below", true),
            ("src/{a,b}.rs", "src/a.rs", true),
            ("src/[ab].rs", "src/a.md", true),
            (".", "src/a.rs", true),
        ];
        for (a, b, expected) in table {
            for (first, second) in [(a, b), (b, a)] {
                let (first, second) = (pattern(first), pattern(second));
                let mut writers = Writers::default();
                writers.record(&first, 0, |_| false);
                let earlier = writers.record(&second, 1, |_| false);
                let found = if expected { vec![0] } else { Vec::new() };
                assert_eq!(earlier, found, "{first:?} {second:?}");
            }
        }
    }

    #[test]
    fn a_directory_replaces_the_writers_below_it_but_for_those_beside_it() {
        let (file, directory) = (pattern("src/a.rs"), pattern("src"));
        let mut writers = Writers::default();
        writers.record(&file, 0, |_| false);
        assert_eq!(writers.record(&directory, 1, |_| true), vec![0]);
        assert_eq!(writers.record(&directory, 2, |_| false), vec![0, 1]);
        assert_eq!(writers.record(&file, 3, |_| false), vec![2]);
    }

    #[test]
    fn paths_stay_inside_the_repository() {
        for path in ["/etc/passwd", "~/x", "../x", "a/../../x"] {
            assert!(Pattern::new(path).is_err(), "{path}");
        }
        assert_eq!(Pattern::new("a/../b"), Ok(pattern("b")));
    }
}
