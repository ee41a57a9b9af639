//! Finds tasks that write the same paths, by comparing their `files` as paths and globs.
//!
//! A path includes everything below it. The comparison errs on the side of overlap (`{a,b}` and
//! `[ab]` count as `*` and `?`): ordering two tasks needlessly costs time, while a collision costs
//! work.
//!
//! A glob library does not help here: it matches paths, but cannot tell whether two patterns have a
//! path in common.

use orchestrate_core::text::parts::Parts;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

/// The maximum number of globs in a plan: each is compared with every path.
const MAX_GLOBS: usize = 256;

/// The maximum number of steps spent on comparing the paths of a plan: some hundred thousand
/// comparisons of usual ones, and less than a second. Two hostile globs alone can take millions.
const MAX_STEPS: usize = 50_000_000;

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

/// The characters of wildcards.
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

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

    fn names(&self) -> impl Iterator<Item = &str> {
        names(&self.path)
    }

    /// Reports whether the pattern contains wildcards.
    pub(crate) fn is_glob(&self) -> bool {
        self.path
            .bytes()
            .any(|byte| WILDCARDS.contains(&char::from(byte)))
    }

    /// Returns the components before the first one with a wildcard, as a path.
    fn literal_prefix(&self) -> &str {
        let Some(wildcard) = self.path.find(WILDCARDS) else {
            return &self.path;
        };
        let before = self.path.head(wildcard);
        before.rsplit_once('/').map_or("", |(above, _)| above)
    }

    /// Reports whether this may be a directory that contains matches of another pattern: `a.md`,
    /// for example, contains none of `**/*.rs`.
    fn holds(&self, other: &Pattern<'_>) -> bool {
        let named_as_file = self
            .path
            .rsplit('/')
            .next()
            .is_some_and(|name| name.rfind('.').is_some_and(|dot| dot > 0));
        !named_as_file || !other.is_glob()
    }

    /// Reports whether some path could match both patterns, or be below a match of both; `true`
    /// once the steps are spent.
    fn overlaps(&self, other: &Pattern<'_>, steps: &Steps) -> bool {
        if !steps.take_for(&self.path, &other.path) {
            return true;
        }
        let (a, b): (Vec<&str>, Vec<&str>) = (self.names().collect(), other.names().collect());
        // A pattern with no components left is a directory above the rest of the other.
        let (holds, is_held) = (self.holds(other), other.holds(self));
        let is_done = |i: usize, j: usize| match (i == a.len(), j == b.len()) {
            (true, true) => true,
            (true, false) => holds,
            (false, true) => is_held,
            (false, false) => false,
        };
        can_meet(&a, &b, steps, is_done)
    }
}

/// The paths that the tasks of a plan write, and the steps that comparing them may still take.
pub(crate) struct Paths<'a> {
    /// `None` for an invalid path.
    of_tasks: &'a [Vec<Option<Pattern<'a>>>],
    steps: Steps,
}

impl<'a> Paths<'a> {
    pub(crate) fn new(of_tasks: &'a [Vec<Option<Pattern<'a>>>]) -> Self {
        Self {
            of_tasks,
            steps: Steps::new(MAX_STEPS),
        }
    }

    /// Returns the paths of a task.
    pub(crate) fn for_task(&self, task: usize) -> &'a [Option<Pattern<'a>>] {
        self.of_tasks
            .get(task)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }
}

/// The steps that comparisons may still take.
struct Steps(Cell<usize>);

impl Steps {
    fn new(most: usize) -> Self {
        Self(Cell::new(most))
    }

    /// Takes some steps; reports whether any are left then.
    fn take(&self, steps: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(steps));
        !self.are_spent()
    }

    /// Takes the steps for looking through two texts, which is much quicker than comparing their
    /// characters.
    fn take_for(&self, a: &str, b: &str) -> bool {
        self.take(1 + (a.len() + b.len()) / 8)
    }

    fn are_spent(&self) -> bool {
        self.0.get() == 0
    }
}

/// Why no more paths are compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    /// There are more than [`MAX_GLOBS`] globs.
    Globs,
    /// Comparing them takes more than [`MAX_STEPS`] steps.
    Steps,
}

impl Excess {
    /// Describes the reason.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Globs => format!("more than {MAX_GLOBS} globs in one plan"),
            Self::Steps => {
                "comparing the globs of this plan with its paths takes too long".to_owned()
            }
        }
    }
}

/// A piece of a pattern: a component of a path, or a token of a component.
trait Piece {
    /// Reports whether it matches any number of pieces.
    fn is_many(&self) -> bool;

    /// Reports whether both can match the same text; `true` once the steps are spent.
    fn meets(&self, other: &Self, steps: &Steps) -> bool;
}

impl Piece for &str {
    fn is_many(&self) -> bool {
        *self == "**"
    }

    fn meets(&self, other: &Self, steps: &Steps) -> bool {
        component_overlaps(self, other, steps)
    }
}

/// Reports whether the first `i` pieces of `a` and the first `j` of `b` can match the same text,
/// for any lengths that `is_done` accepts; `true` once the steps are spent.
fn can_meet<P: Piece>(
    a: &[P],
    b: &[P],
    steps: &Steps,
    is_done: impl Fn(usize, usize) -> bool,
) -> bool {
    // Dynamic programming with one row for each prefix of `a`.
    let mut row: Vec<bool> = vec![false; b.len() + 1];
    for i in 0..=a.len() {
        if !steps.take(b.len() + 1) {
            return true;
        }
        let mut next: Vec<bool> = Vec::with_capacity(b.len() + 1);
        for j in 0..=b.len() {
            let (x, y) = (
                i.checked_sub(1).and_then(|i| a.get(i)),
                j.checked_sub(1).and_then(|j| b.get(j)),
            );
            let Neighbours { up, left, diagonal } = Neighbours::read(&row, &next, j);
            let same = match (x, y) {
                (None, None) => true,
                (Some(x), None) => x.is_many() && up,
                (None, Some(y)) => y.is_many() && left,
                (Some(x), Some(y)) => {
                    ((x.is_many() || y.is_many()) && (up || left))
                        || (diagonal && x.meets(y, steps))
                }
            };
            if same && is_done(i, j) {
                return true;
            }
            next.push(same);
        }
        // Nothing that begins like this much of `a` begins like any of `b`, so longer beginnings do
        // not either.
        if !next.contains(&true) {
            return false;
        }
        row = next;
    }
    false
}

/// The results for prefixes that are one piece shorter; `false` outside the table.
struct Neighbours {
    up: bool,
    left: bool,
    diagonal: bool,
}

impl Neighbours {
    /// Reads them from the previous row and from the current, incomplete one.
    fn read(above: &[bool], row: &[bool], at: usize) -> Self {
        let before = at.checked_sub(1);
        Self {
            up: is_found(above, Some(at)),
            left: is_found(row, before),
            diagonal: is_found(above, before),
        }
    }
}

fn is_found(row: &[bool], at: Option<usize>) -> bool {
    at.and_then(|at| row.get(at)).copied().unwrap_or_default()
}

/// Reports whether any name matches both components; `true` once the steps are spent.
fn component_overlaps(a: &str, b: &str, steps: &Steps) -> bool {
    if !steps.take_for(a, b) {
        return true;
    }
    if !a.contains(WILDCARDS) && !b.contains(WILDCARDS) {
        return a == b;
    }
    let (a, b) = (tokens(a), tokens(b));
    can_meet(&a, &b, steps, |i, j| i == a.len() && j == b.len())
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

    fn meets(&self, other: &Self, _: &Steps) -> bool {
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

/// Records the writers of each path, to find for each task the earlier ones that it collides with.
///
/// Only the latest writer of a path is kept, and a directory's writer replaces the writers of paths
/// below it, since they precede it anyway. Up to [`MAX_BESIDE`] writers that run together are kept.
/// The work is therefore linear in the number of paths, apart from globs ([`MAX_GLOBS`],
/// [`MAX_STEPS`]).
#[derive(Default)]
pub(crate) struct Writers<'p> {
    /// The root of the repository.
    root: Place<'p>,
    globs: BTreeMap<&'p Pattern<'p>, Vec<usize>>,
}

/// A path that is written, or a directory above one.
#[derive(Default)]
struct Place<'p> {
    /// The path, once it is written itself.
    pattern: Option<&'p Pattern<'p>>,
    writers: Vec<usize>,
    below: HashMap<&'p str, Place<'p>>,
}

impl<'p> Writers<'p> {
    /// Records that a task writes a path of these, and returns the earlier tasks that write it too.
    /// `beside` reports whether the task runs together with an earlier one, which is then kept, so
    /// that later tasks wait for both.
    ///
    /// # Errors
    /// There are too many globs, or comparing the paths takes too long.
    pub(crate) fn record(
        &mut self,
        paths: &Paths<'_>,
        pattern: &'p Pattern<'p>,
        task: usize,
        beside: impl Fn(usize) -> bool,
    ) -> Result<Vec<usize>, Excess> {
        let steps = &paths.steps;
        if steps.are_spent() {
            return Err(Excess::Steps);
        }
        let overlapping = self
            .globs
            .iter()
            .filter(|(glob, _)| glob.overlaps(pattern, steps));
        let mut earlier: Vec<usize> = overlapping
            .flat_map(|(_, writers)| writers)
            .copied()
            .collect();
        if pattern.is_glob() {
            self.root.matching(pattern, steps, &mut earlier);
            take_over(self.globs.entry(pattern).or_default(), task, beside);
        } else {
            let place = self.root.descend(pattern, &mut earlier);
            place.overtake(&beside, steps, &mut earlier);
            place.pattern = Some(pattern);
            take_over(&mut place.writers, task, beside);
        }
        earlier.retain(|writer| *writer != task);
        earlier.sort_unstable();
        earlier.dedup();
        match self.globs.len() > MAX_GLOBS {
            true => Err(Excess::Globs),
            false if steps.are_spent() => Err(Excess::Steps),
            false => Ok(earlier),
        }
    }
}

impl<'p> Place<'p> {
    /// Returns the place of a path, and adds the writers of all places on the way to it.
    fn descend(&mut self, pattern: &'p Pattern<'p>, earlier: &mut Vec<usize>) -> &mut Self {
        let mut place = self;
        earlier.extend(&place.writers);
        for name in pattern.names() {
            place = place.below.entry(name).or_default();
            earlier.extend(&place.writers);
        }
        place
    }

    /// Adds the writers of all places that a glob matches, or that contain its matches, until the
    /// steps are spent.
    fn matching(&self, glob: &Pattern<'_>, steps: &Steps, earlier: &mut Vec<usize>) {
        let mut place = self;
        earlier.extend(&place.writers);
        for name in names(glob.literal_prefix()) {
            let Some(next) = place.below.get(name) else {
                return;
            };
            place = next;
            earlier.extend(&place.writers);
        }
        let mut open: Vec<&Place<'_>> = place.below.values().collect();
        while let Some(place) = open.pop().filter(|_| steps.take(1)) {
            if place
                .pattern
                .is_some_and(|pattern| pattern.overlaps(glob, steps))
            {
                earlier.extend(&place.writers);
            }
            open.extend(place.below.values());
        }
    }

    /// Adds the writers of all places below, and keeps only those that run beside the new one.
    fn overtake(
        &mut self,
        beside: &impl Fn(usize) -> bool,
        steps: &Steps,
        earlier: &mut Vec<usize>,
    ) {
        self.below.retain(|_, place| {
            steps.take(1);
            earlier.extend(&place.writers);
            place.writers.retain(|writer| beside(*writer));
            place.overtake(beside, steps, earlier);
            !place.writers.is_empty() || !place.below.is_empty()
        });
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

/// Returns the components of a normalised path.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
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
            let paths = Paths::new(&[]);
            assert_eq!(
                pattern(a).overlaps(&pattern(b), &paths.steps),
                expected,
                "{a} {b}"
            );
            assert_eq!(
                pattern(b).overlaps(&pattern(a), &paths.steps),
                expected,
                "{b} {a}"
            );
            let mut writers = Writers::default();
            let (a_path, b_path) = (pattern(a), pattern(b));
            writers.record(&paths, &a_path, 0, |_| false).unwrap();
            let earlier = writers.record(&paths, &b_path, 1, |_| false).unwrap();
            assert_eq!(!earlier.is_empty(), expected, "recorded {a} {b}");
        }
    }

    /// Returns how many of so many patterns of this length are compared before the steps are spent,
    /// and the steps that are left.
    fn compared(many: usize, length: usize, steps: usize) -> (usize, usize) {
        let texts: Vec<String> = (0..many)
            .map(|at| format!("{}{at}", "*a".repeat(length / 2)))
            .collect();
        let patterns: Vec<Pattern<'_>> = texts.iter().map(|text| pattern(text)).collect();
        let paths = Paths {
            of_tasks: &[],
            steps: Steps::new(steps),
        };
        let mut writers = Writers::default();
        let recorded = patterns
            .iter()
            .enumerate()
            .map(|(at, pattern)| writers.record(&paths, pattern, at, |_| false));
        let compared = recorded
            .take_while(|earlier| *earlier != Err(Excess::Steps))
            .count();
        (compared, paths.steps.0.get())
    }

    #[test]
    fn hostile_globs_take_no_more_than_the_steps_that_they_have() {
        let (compared_all, left) = compared(10, 20, 1_000_000);
        assert_eq!(compared_all, 10);
        let taken = 1_000_000 - left;
        assert!(
            taken > 45 * 20 * 20 / 2,
            "what each comparison takes counts: {taken}"
        );
        // Twice as many of them take four times as many steps, as far as these reach.
        let (compared_all, left) = compared(20, 20, 1_000_000);
        assert_eq!(compared_all, 20);
        assert!(
            (3 * taken..6 * taken).contains(&(1_000_000 - left)),
            "{taken}, then {}",
            1_000_000 - left
        );
        let (compared_few, left) = compared(20, 20, taken);
        assert!(
            (5..20).contains(&compared_few) && left == 0,
            "{compared_few} compared, {left} left"
        );
        assert_eq!(compared(2, 4_000, 1_000), (1, 0));
    }

    #[test]
    fn paths_stay_inside_the_repository() {
        for path in ["/etc/passwd", "~/x", "../x", "a/../../x"] {
            assert!(Pattern::new(path).is_err(), "{path}");
        }
        assert_eq!(Pattern::new("a/../b"), Ok(pattern("b")));
    }
}
