//! Finds tasks that write the same paths, by comparing their `files` as paths and globs.
//!
//! A path includes everything below it. The comparison errs on the side of overlap (of a name with
//! wildcards, only what stands before the first and after the last one counts): ordering two tasks
//! needlessly costs time, while a collision costs work.
//!
//! A glob library does not help here: it matches paths, but cannot tell whether two patterns have a
//! path in common.

use orchestrate_core::text::parts::Parts;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

/// The maximum number of bytes of paths and globs that are compared in a plan: less than a second.
/// A thousand paths beside a hundred globs need a tenth of it.
const MAX_COMPARED_BYTES: usize = 100_000_000;

/// The maximum number of `[P]` tasks remembered as writers of one path: each causes a warning, and
/// no sensible plan has more.
const MAX_BESIDE: usize = 32;

/// The maximum length of a path, as on Linux.
const MAX_PATH_BYTES: usize = 4_096;

/// The maximum number of components of a path: each ancestor is looked up.
const MAX_COMPONENTS: usize = 128;

/// A path or glob of `files`, normalised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pattern<'a> {
    /// Its components, joined by `/`.
    path: Cow<'a, str>,
}

/// The characters that begin wildcards, and those that end them.
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];
const WILDCARD_ENDS: [char; 4] = ['*', '?', ']', '}'];

/// The component that matches any number of them.
const ANY: &str = "**";

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
        Ok(Self {
            path: if is_normal {
                Cow::Borrowed(path)
            } else {
                Cow::Owned(components.join("/"))
            },
        })
    }

    /// Reports whether the pattern contains wildcards.
    fn is_glob(&self) -> bool {
        self.path.contains(WILDCARDS)
    }

    /// Returns the components before the first one with a wildcard, as a path.
    fn literal_prefix(&self) -> &str {
        let Some(wildcard) = self.path.find(WILDCARDS) else {
            return &self.path;
        };
        let before = self.path.head(wildcard);
        before.rsplit_once('/').map_or("", |(above, _)| above)
    }

    /// Reports whether some path could match both patterns, of which one is a glob, or be below a
    /// match of both.
    fn overlaps(&self, other: &str) -> bool {
        let (mine, others) = (components(&self.path), components(other));
        let (mut mine, mut others) = (mine.as_slice(), others.as_slice());
        while let ([one, mine_after @ ..], [other, others_after @ ..]) = (mine, others)
            && *one != ANY
            && *other != ANY
        {
            if !names_overlap(one, other) {
                return false;
            }
            (mine, others) = (mine_after, others_after);
        }
        if mine.first() != Some(&ANY) && others.first() != Some(&ANY) {
            return mine.is_empty() && others.is_empty();
        }
        while let ([mine_before @ .., one], [others_before @ .., other]) = (mine, others)
            && *one != ANY
            && *other != ANY
        {
            if !names_overlap(one, other) {
                return false;
            }
            (mine, others) = (mine_before, others_before);
        }
        true
    }
}

/// Returns the components of a pattern; one that is not named as a file may be a directory, which
/// includes everything below it.
fn components(path: &str) -> Vec<&str> {
    let mut components: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let is_file = components
        .last()
        .and_then(|name| name.rfind('.'))
        .is_some_and(|dot| dot > 0);
    if !is_file {
        components.push(ANY);
    }
    components
}

/// Reports whether any name may match both components.
fn names_overlap(one: &str, other: &str) -> bool {
    if !one.contains(WILDCARDS) && !other.contains(WILDCARDS) {
        return one == other;
    }
    let (one_head, other_head) = (before_wildcards(one), before_wildcards(other));
    let (one_tail, other_tail) = (after_wildcards(one), after_wildcards(other));
    (one_head.starts_with(other_head) || other_head.starts_with(one_head))
        && (one_tail.ends_with(other_tail) || other_tail.ends_with(one_tail))
}

fn before_wildcards(name: &str) -> &str {
    name.split(WILDCARDS).next().unwrap_or(name)
}

fn after_wildcards(name: &str) -> &str {
    match name.contains(WILDCARDS) {
        true => name.rsplit(WILDCARD_ENDS).next().unwrap_or(name),
        false => name,
    }
}

/// The paths that the tasks of a plan write, and how much of them was compared.
pub(crate) struct Paths<'a> {
    /// `None` for an invalid path.
    of_tasks: &'a [Vec<Option<Pattern<'a>>>],
    compared: Cell<usize>,
}

impl<'a> Paths<'a> {
    pub(crate) fn new(of_tasks: &'a [Vec<Option<Pattern<'a>>>]) -> Self {
        Self {
            of_tasks,
            compared: Cell::new(0),
        }
    }

    /// Returns the paths of a task.
    pub(crate) fn for_task(&self, task: usize) -> &'a [Option<Pattern<'a>>] {
        self.of_tasks
            .get(task)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Reports whether a glob and a path overlap; `true` once too much was compared.
    fn overlap(&self, glob: &Pattern<'_>, path: &str) -> bool {
        let bytes = 1 + glob.path.len() + path.len();
        self.compared.set(self.compared.get().saturating_add(bytes));
        self.is_too_much() || glob.overlaps(path)
    }

    fn is_too_much(&self) -> bool {
        self.compared.get() > MAX_COMPARED_BYTES
    }
}

/// Records the writers of each path, to find for each task the earlier ones that it collides with.
///
/// Only the latest writer of a path is kept, and a directory's writer replaces the writers of paths
/// below it, since they precede it anyway. Up to [`MAX_BESIDE`] writers that run together are kept.
/// The work is therefore linear in the number of paths, apart from globs ([`MAX_COMPARED_BYTES`]).
#[derive(Default)]
pub(crate) struct Writers<'p> {
    paths: HashMap<&'p str, Vec<usize>>,
    /// These paths, so that those below a directory stand together.
    in_order: BTreeSet<&'p str>,
    globs: BTreeMap<&'p Pattern<'p>, Vec<usize>>,
}

impl<'p> Writers<'p> {
    /// Records that a task writes a path of these, and returns the earlier tasks that write it too;
    /// `None` if comparing the globs with the paths takes too long. `beside` reports whether the
    /// task runs together with an earlier one, which is then kept, so that later tasks wait for
    /// both.
    pub(crate) fn record(
        &mut self,
        paths: &Paths<'_>,
        pattern: &'p Pattern<'p>,
        task: usize,
        beside: impl Fn(usize) -> bool,
    ) -> Option<Vec<usize>> {
        let mut earlier: Vec<usize> = Vec::new();
        for (glob, writers) in &self.globs {
            if paths.overlap(glob, &pattern.path) {
                earlier.extend(writers);
            }
        }
        let literal = pattern.literal_prefix();
        let slashes = literal.match_indices('/').map(|(at, _)| literal.head(at));
        for above in slashes.chain(["", literal]) {
            earlier.extend(self.paths.get(above).into_iter().flatten());
        }
        let below = self.below(literal);
        if pattern.is_glob() {
            for path in below {
                if paths.overlap(pattern, path) {
                    earlier.extend(self.paths.get(path).into_iter().flatten());
                }
            }
            take_over(self.globs.entry(pattern).or_default(), task, beside);
        } else {
            for path in below {
                paths.compared.set(paths.compared.get() + path.len());
                let writers = self.paths.entry(path).or_default();
                earlier.extend(writers.iter());
                writers.retain(|writer| beside(*writer));
                if writers.is_empty() {
                    self.paths.remove(path);
                    self.in_order.remove(path);
                }
            }
            take_over(self.paths.entry(literal).or_default(), task, beside);
            self.in_order.insert(literal);
        }
        earlier.retain(|writer| *writer != task);
        earlier.sort_unstable();
        earlier.dedup();
        (!paths.is_too_much()).then_some(earlier)
    }

    /// Returns the recorded paths below a directory.
    fn below(&self, directory: &str) -> Vec<&'p str> {
        let start = match directory {
            "" => String::new(),
            _ => format!("{directory}/"),
        };
        let bounds = (Bound::Included(start.as_str()), Bound::Unbounded);
        let from = self.in_order.range::<str, _>(bounds);
        from.copied()
            .take_while(|path| path.starts_with(&start))
            .collect()
    }
}

/// Makes a task the latest writer of a path, keeping only the writers that it runs together with.
fn take_over(writers: &mut Vec<usize>, task: usize, beside: impl Fn(usize) -> bool) {
    writers.retain(|writer| *writer != task && beside(*writer));
    if writers.len() == MAX_BESIDE {
        writers.remove(0);
    }
    writers.push(task);
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
            ("src/*.rs", "src/a.txt", false),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/*.rs", "src", true),
            ("src/**", "src/a/b.rs", true),
            ("**/*.rs", "src/a/b.rs", true),
            ("**/*.rs", "docs/a.md", false),
            ("**/*.rs", "docs", true),
            ("src/**/x.rs", "src/x.rs", true),
            ("src/**/x.rs", "lib/**/x.rs", false),
            ("src/a*.rs", "src/*b.rs", true),
            ("src/a*.rs", "src/b*.rs", false),
            ("a?c", "abc", true),
            ("*", "anything/below", true),
            ("src/{a,b}.rs", "src/a.rs", true),
            ("src/[ab].rs", "src/a.md", false),
            (".", "src/a.rs", true),
        ];
        for (a, b, expected) in table {
            for (first, second) in [(a, b), (b, a)] {
                let (first, second) = (pattern(first), pattern(second));
                let paths = Paths::new(&[]);
                let mut writers = Writers::default();
                writers.record(&paths, &first, 0, |_| false);
                let earlier = writers.record(&paths, &second, 1, |_| false);
                let found = if expected { vec![0] } else { Vec::new() };
                assert_eq!(earlier, Some(found), "{first:?} {second:?}");
            }
        }
    }

    #[test]
    fn a_directory_replaces_the_writers_below_it_but_for_those_beside_it() {
        let paths = Paths::new(&[]);
        let (file, directory) = (pattern("src/a.rs"), pattern("src"));
        let mut writers = Writers::default();
        writers.record(&paths, &file, 0, |_| false);
        assert_eq!(
            writers.record(&paths, &directory, 1, |_| true),
            Some(vec![0])
        );
        assert_eq!(
            writers.record(&paths, &directory, 2, |_| false),
            Some(vec![0, 1])
        );
        assert_eq!(writers.record(&paths, &file, 3, |_| false), Some(vec![2]));
    }

    #[test]
    fn globs_are_compared_until_it_takes_too_long() {
        let paths = Paths::new(&[]);
        let (glob, file) = (pattern("src/*.rs"), pattern("src/a.rs"));
        let mut writers = Writers::default();
        writers.record(&paths, &glob, 0, |_| false);
        paths.compared.set(MAX_COMPARED_BYTES - 20);
        assert_eq!(writers.record(&paths, &file, 1, |_| false), Some(vec![0]));
        assert_eq!(writers.record(&paths, &file, 2, |_| false), None);
    }

    #[test]
    fn paths_stay_inside_the_repository() {
        for path in ["/etc/passwd", "~/x", "../x", "a/../../x"] {
            assert!(Pattern::new(path).is_err(), "{path}");
        }
        assert_eq!(Pattern::new("a/../b"), Ok(pattern("b")));
    }
}
