//! Which tasks write the same paths: the `files` of each, compared as paths and globs.
//!
//! A path covers everything below it. The answer errs on the side of overlap (`{a,b}` and `[ab]` count as `*`
//! and `?`): two tasks that wait for each other in vain lose time, two that collide lose work.
//!
//! No matcher can stand in, since none says whether two patterns have a path in common.

use std::collections::BTreeMap;
use std::ops::Bound;

/// The most globs of one plan: each is compared with every path.
pub(crate) const MAX_GLOBS: usize = 256;

/// The most tasks marked `[P]` that are remembered as writers of one path: each is warned of, and no plan means more.
const MAX_BESIDE: usize = 32;

/// The longest path, as Linux bounds it.
const MAX_PATH_BYTES: usize = 4_096;

/// The most components of a path: each ancestor is looked up.
const MAX_COMPONENTS: usize = 128;

/// A path or glob of `files`, normalised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pattern {
    components: Vec<String>,
}

impl Pattern {
    /// Normalises a path as written.
    ///
    /// # Errors
    /// Why the path is none of the repository.
    pub(crate) fn new(path: &str) -> Result<Self, &'static str> {
        if path.len() > MAX_PATH_BYTES {
            return Err("the path is too long");
        }
        if path.starts_with(['/', '~']) || path.contains('\0') {
            return Err("expected a path inside the repository, relative to its root");
        }
        let mut components: Vec<String> = Vec::new();
        for component in path.split('/') {
            match component {
                "" | "." => {}
                ".." => {
                    components.pop().ok_or("the path leads outside the repository")?;
                }
                name => components.push(name.to_owned()),
            }
        }
        if components.len() > MAX_COMPONENTS { Err("the path is too deep") } else { Ok(Self { components }) }
    }

    /// Reports whether the pattern holds wildcards.
    pub(crate) fn is_glob(&self) -> bool {
        self.components.iter().any(|component| component.contains(['*', '?', '[', '{']))
    }

    /// Returns the path of the components before the first wildcard.
    fn literal_prefix(&self) -> String {
        let plain = |component: &&String| !component.contains(['*', '?', '[', '{']);
        self.components.iter().take_while(plain).map(String::as_str).collect::<Vec<_>>().join("/")
    }

    /// Reports whether this may be a directory above what another pattern matches: `a.md` is none above `**/*.rs`.
    fn holds(&self, other: &Pattern) -> bool {
        let named_as_file = self.components.last().is_some_and(|name| name.rfind('.').is_some_and(|dot| dot > 0));
        !named_as_file || !other.is_glob()
    }

    /// Reports whether some path could match both, or lie below what both match.
    pub(crate) fn overlaps(&self, other: &Pattern) -> bool {
        let (a, b) = (&self.components, &other.components);
        // Where one of them is spent, it is a directory above whatever the other names.
        let (holds, is_held) = (self.holds(other), other.holds(self));
        let is_done = |i: usize, j: usize| match (i == a.len(), j == b.len()) {
            (true, true) => true,
            (true, false) => holds,
            (false, true) => is_held,
            (false, false) => false,
        };
        can_meet(a, b, is_done)
    }
}

/// A piece of a pattern: a component of a path, or a token of a component.
trait Piece {
    /// Reports whether it stands for any number of pieces.
    fn is_many(&self) -> bool;

    /// Reports whether both can stand for the same.
    fn meets(&self, other: &Self) -> bool;
}

impl Piece for String {
    fn is_many(&self) -> bool {
        self == "**"
    }

    fn meets(&self, other: &Self) -> bool {
        component_overlaps(self, other)
    }
}

/// Reports whether the first `i` pieces of one pattern and the first `j` of another can stand for the same, where
/// `is_done` accepts these lengths.
fn can_meet<P: Piece>(a: &[P], b: &[P], is_done: impl Fn(usize, usize) -> bool) -> bool {
    // Row by row, one for each beginning of `a`.
    let mut row: Vec<bool> = vec![false; b.len() + 1];
    for i in 0..=a.len() {
        let mut next: Vec<bool> = Vec::with_capacity(b.len() + 1);
        for j in 0..=b.len() {
            let (x, y) = (i.checked_sub(1).and_then(|i| a.get(i)), j.checked_sub(1).and_then(|j| b.get(j)));
            let Neighbours { up, left, diagonal } = Neighbours::of(&row, &next, j);
            let same = match (x, y) {
                (None, None) => true,
                (Some(x), None) => x.is_many() && up,
                (None, Some(y)) => y.is_many() && left,
                (Some(x), Some(y)) => ((x.is_many() || y.is_many()) && (up || left)) || (diagonal && x.meets(y)),
            };
            if same && is_done(i, j) {
                return true;
            }
            next.push(same);
        }
        row = next;
    }
    false
}

/// What was found one item shorter, in the comparison of two sequences row by row; outside of it nothing is.
struct Neighbours {
    up: bool,
    left: bool,
    diagonal: bool,
}

impl Neighbours {
    /// Looks in the row above and in the row that grows.
    fn of(above: &[bool], row: &[bool], at: usize) -> Self {
        let found = |row: &[bool], at: Option<usize>| at.and_then(|at| row.get(at)).copied().unwrap_or_default();
        let before = at.checked_sub(1);
        Self { up: found(above, Some(at)), left: found(row, before), diagonal: found(above, before) }
    }
}

/// Reports whether some name matches both components.
fn component_overlaps(a: &str, b: &str) -> bool {
    if !a.contains(['*', '?', '[', '{']) && !b.contains(['*', '?', '[', '{']) {
        return a == b;
    }
    let (a, b) = (tokens(a), tokens(b));
    can_meet(&a, &b, |i, j| i == a.len() && j == b.len())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    One,
    Any,
}

impl Piece for Token {
    fn is_many(&self) -> bool {
        *self == Token::Any
    }

    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Token::Char(a), Token::Char(b)) => a == b,
            _ => true,
        }
    }
}

fn tokens(component: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = component.chars();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '*' => Token::Any,
            '?' => Token::One,
            '[' => {
                chars.by_ref().find(|c| *c == ']');
                Token::One
            }
            '{' => {
                chars.by_ref().find(|c| *c == '}');
                Token::Any
            }
            other => Token::Char(other),
        });
    }
    tokens
}

/// Remembers who writes what, to find for each task the earlier ones that it collides with.
///
/// Only the latest writer of a path is kept, and a directory's writer replaces those below it: the earlier ones come
/// before that writer anyway. Those that run beside it stay, at most [`MAX_BESIDE`] of them. So the work stays linear
/// in the paths, apart from [`MAX_GLOBS`].
#[derive(Default)]
pub(crate) struct Writers {
    paths: BTreeMap<String, Vec<usize>>,
    globs: BTreeMap<Pattern, Vec<usize>>,
}

impl Writers {
    /// Records that a task writes a path; gives earlier tasks that write it too. `beside` tells which of them the task
    /// runs together with, so that whoever comes next has to wait for them too.
    ///
    /// # Errors
    /// There are more than [`MAX_GLOBS`] globs.
    pub(crate) fn record(
        &mut self,
        pattern: &Pattern,
        task: usize,
        beside: impl Fn(usize) -> bool,
    ) -> Result<Vec<usize>, ()> {
        let path = pattern.components.join("/");
        let literal = if pattern.is_glob() { pattern.literal_prefix() } else { path.clone() };
        let mut earlier: Vec<usize> =
            ancestors(&literal).filter_map(|above| self.paths.get(above)).flatten().copied().collect();
        earlier.extend(self.globs.iter().filter(|(glob, _)| glob.overlaps(pattern)).flat_map(|(_, writers)| writers));
        let below = if literal.is_empty() { String::new() } else { format!("{literal}/") };
        let inside = self.paths.range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded));
        let inside =
            inside.take_while(|(path, _)| path.starts_with(&below)).map(|(path, writers)| (path.clone(), writers));
        if pattern.is_glob() {
            let matches = |path: &str| Pattern::new(path).is_ok_and(|path| path.overlaps(pattern));
            earlier.extend(inside.filter(|(path, _)| matches(path)).flat_map(|(_, writers)| writers));
            take_over(self.globs.entry(pattern.clone()).or_default(), task, beside);
        } else {
            let inside: Vec<String> = inside.map(|(path, _)| path).collect();
            for path in inside {
                let mut writers = self.paths.remove(&path).unwrap_or_default();
                earlier.extend(&writers);
                writers.retain(|writer| beside(*writer));
                if !writers.is_empty() {
                    self.paths.insert(path, writers);
                }
            }
            take_over(self.paths.entry(path).or_default(), task, beside);
        }
        earlier.retain(|writer| *writer != task);
        earlier.sort_unstable();
        earlier.dedup();
        if self.globs.len() > MAX_GLOBS { Err(()) } else { Ok(earlier) }
    }
}

/// Makes a task the latest writer of a path, beside those that it runs together with.
fn take_over(writers: &mut Vec<usize>, task: usize, beside: impl Fn(usize) -> bool) {
    writers.retain(|writer| *writer != task && beside(*writer));
    if writers.len() == MAX_BESIDE {
        writers.remove(0);
    }
    writers.push(task);
}

/// Returns a path and every directory above it, the root (an empty path) included.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let above = path.match_indices('/').map(|(at, _)| path.get(..at).unwrap_or_default());
    std::iter::once("").chain(above).chain((!path.is_empty()).then_some(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(path: &str) -> Pattern {
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
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a.txt", false),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/**", "src/a/b.rs", true),
            ("**/*.rs", "src/a/b.rs", true),
            ("**/*.rs", "docs/a.md", false),
            ("src/**/x.rs", "src/x.rs", true),
            ("src/a*.rs", "src/*b.rs", true),
            ("src/a*.rs", "src/b*.rs", false),
            ("a?c", "abc", true),
            ("*", "anything/below", true),
            ("src/{a,b}.rs", "src/a.rs", true),
            (".", "src/a.rs", true),
        ];
        for (a, b, expected) in table {
            assert_eq!(pattern(a).overlaps(&pattern(b)), expected, "{a} {b}");
            assert_eq!(pattern(b).overlaps(&pattern(a)), expected, "{b} {a}");
            let mut writers = Writers::default();
            writers.record(&pattern(a), 0, |_| false).unwrap();
            assert_eq!(!writers.record(&pattern(b), 1, |_| false).unwrap().is_empty(), expected, "recorded {a} {b}");
        }
    }

    #[test]
    fn paths_stay_inside_the_repository() {
        for path in ["/etc/passwd", "~/x", "../x", "a/../../x"] {
            assert!(Pattern::new(path).is_err(), "{path}");
        }
        assert_eq!(Pattern::new("a/../b"), Ok(pattern("b")));
    }
}
