//! The author's order of the tasks between two barriers, with the freedom that the plan gives.
//!
//! Tasks go one after another in steps. Neighbours share a step if all of them are marked `[P]`, or
//! if they have no numbers and name files, none of which two of them write; sections go side by
//! side for the same reason. A task that names its dependencies waits for nothing else. A flat
//! checklist (one section, no numbers, no marks) gives all freedom, except that tests and reviews
//! come after what stands before them.
//!
//! Every task comes after earlier ones of the given order only, so that no cycle can arise.

use crate::order::overlap::{Paths, Writers};
use crate::order::reason::Cause;
use crate::read::lines::text::{self, is_one_of};
use crate::read::lists::task_line::Draft;

/// First words of a title that tests or reviews what stands before it.
const CLOSING: &[&str] = &[
    "test",
    "tests",
    "testing",
    "review",
    "verify",
    "validate",
    "checkpoint",
    "final",
    "finally",
    "finalize",
    "finalise",
    "qa",
    "e2e",
];
/// First words of a title that may name a test or a review within the next ones.
const DOING: &[&str] = &[
    "add", "write", "run", "create", "do", "perform", "execute", "ensure", "make",
];
/// First words of a title that only checks.
const CHECKING: &[&str] = &[
    "test",
    "testing",
    "review",
    "verify",
    "validate",
    "checkpoint",
    "qa",
];
/// First words of a title that only checks if it names a test or a review within the next ones.
const CARRYING_OUT: &[&str] = &[
    "run", "do", "perform", "execute", "ensure", "make", "confirm", "check", "final", "finally",
];
/// Such a test or review.
const CHECKS: &[&str] = &[
    "test",
    "tests",
    "review",
    "checkpoint",
    "verification",
    "e2e",
];
/// Words that may follow the name of a test or a review.
const AFTER_CHECKS: &[&str] = &[
    "for", "of", "in", "on", "to", "with", "and", "or", "against", "that", "at", "by", "from",
    "as", "after", "before", "is", "are", "if", "using", "via", "until", "where", "which",
    "covering", "pass", "passes", "passing", "run", "runs", "suite", "suites", "case", "cases",
    "coverage", "first", "again", "still", "green",
];
/// The number of words after a word of [`DOING`] that are looked at.
const WORDS_AFTER: usize = 3;

/// What a task comes after.
pub(crate) struct Wait<'e> {
    pub(crate) task: usize,
    pub(crate) earlier: &'e [usize],
    pub(crate) cause: Cause,
}

/// Calls `wait` for what each of the tasks, given in an order that fits their dependencies, comes
/// after. `names_all` says of each draft whether it names all that it waits for.
pub(crate) fn waits(
    drafts: &[Draft],
    paths: &Paths<'_>,
    names_all: &[bool],
    line: &[usize],
    wait: &mut dyn FnMut(&Wait<'_>),
) {
    let tasks: Vec<(usize, &Draft)> = line
        .iter()
        .filter_map(|at| Some((*at, drafts.get(*at)?)))
        .collect();
    if is_flat(&tasks) {
        return closing_waits(&tasks, names_all, wait);
    }
    // The barrier between two phases orders them already.
    for phase in tasks.chunk_by(|(_, a), (_, b)| a.phase == b.phase) {
        let mut sequence = Sequence {
            block: Block::default(),
            paths,
            names_all,
            wait,
        };
        for section in phase.chunk_by(|(_, a), (_, b)| a.section_index == b.section_index) {
            sequence.section(section);
        }
    }
}

fn is_flat(tasks: &[(usize, &Draft)]) -> bool {
    let section = tasks.first().map(|(_, draft)| draft.section_index);
    tasks
        .iter()
        .all(|(_, draft)| Some(draft.section_index) == section && !gives_order(draft))
}

fn gives_order(draft: &Draft) -> bool {
    draft.counts || draft.attributes.parallel
}

/// Makes tests and reviews of a flat checklist come after what stands before them, and a task that
/// says in prose what it depends on.
fn closing_waits(tasks: &[(usize, &Draft)], names_all: &[bool], wait: &mut dyn FnMut(&Wait<'_>)) {
    let mut open = Vec::new();
    for (at, draft) in tasks {
        let depends = draft.attributes.names_dependencies();
        let cause = match (depends, names_all.get(*at) == Some(&true)) {
            (true, false) => Some(Cause::Written),
            (false, _) if is_closing(&draft.title) => Some(Cause::Closing),
            _ => None,
        };
        if let Some(cause) = cause.filter(|_| !open.is_empty()) {
            wait(&Wait {
                task: *at,
                earlier: &open,
                cause,
            });
            open.clear();
        }
        open.push(*at);
    }
}

/// Reports whether a title says that it tests or reviews what stands before it.
pub(crate) fn is_closing(title: &str) -> bool {
    match text::next_word(title) {
        Some((first, _)) if is_one_of(first, CLOSING) => true,
        Some((first, rest)) if is_one_of(first, DOING) => names_check(rest),
        _ => false,
    }
}

/// Reports whether a title says that its task only checks what others have done, so that it may
/// find nothing to change; writing a test is work.
pub(crate) fn only_checks(title: &str) -> bool {
    match text::next_word(title) {
        Some((first, rest))
            if is_one_of(first, CHECKING) || is_one_of(first, CHECKS) && stands_alone(rest) =>
        {
            true
        }
        Some((first, rest)) if is_one_of(first, CARRYING_OUT) => names_check(rest),
        _ => false,
    }
}

/// Reports whether more than a blank or a hyphen separates a word from the next one, given the text
/// after it.
fn stands_alone(rest: &str) -> bool {
    let is_joined = rest.starts_with(['-', '_', '/', '\'', '’']);
    let is_followed = rest
        .trim_start_matches(' ')
        .starts_with(char::is_alphanumeric);
    !is_joined && !is_followed
}

/// Reports whether one of the next words is a test or a review itself, rather than a part of
/// another thing's name (`a test data generator`).
fn names_check(text: &str) -> bool {
    let mut rest = text;
    let words = std::iter::from_fn(|| {
        let (word, after) = text::next_word(rest)?;
        rest = after;
        Some((word, after))
    });
    words
        .take(WORDS_AFTER)
        .any(|(word, rest)| is_one_of(word, CHECKS) && (stands_alone(rest) || is_last(rest)))
}

fn is_last(rest: &str) -> bool {
    text::next_word(rest).is_none_or(|(next, _)| is_one_of(next, AFTER_CHECKS))
}

/// Reports whether files may give a task freedom: it names some, and neither its number nor its
/// title orders it.
fn is_free(draft: &Draft) -> bool {
    !draft.attributes.files.is_empty() && !draft.counts && !is_closing(&draft.title)
}

/// Sections that go side by side.
#[derive(Default)]
struct Block<'p> {
    /// What its sections come after.
    waits: Vec<usize>,
    /// The last steps of its sections.
    last: Vec<usize>,
    is_free: bool,
    writers: Writers<'p>,
}

/// Tasks that go side by side.
#[derive(Default)]
struct Step<'p> {
    waits: Vec<usize>,
    members: Vec<usize>,
    all_marked: bool,
    all_free: bool,
    writers: Writers<'p>,
}

struct Sequence<'n> {
    block: Block<'n>,
    paths: &'n Paths<'n>,
    names_all: &'n [bool],
    wait: &'n mut dyn FnMut(&Wait<'_>),
}

impl Sequence<'_> {
    /// Adds the tasks of a section, beside the sections before it or after them.
    fn section(&mut self, tasks: &[(usize, &Draft)]) {
        let is_free = tasks.iter().all(|(_, draft)| is_free(draft));
        let joins = self.block.is_free && is_free && self.writes_apart(tasks);
        if !joins {
            let waits = std::mem::take(&mut self.block.last);
            self.block = Block {
                waits,
                is_free,
                ..Block::default()
            };
            if is_free {
                self.writes_apart(tasks);
            }
        }
        let last = self.steps(tasks, self.block.waits.clone());
        self.block.last.extend(last);
    }

    /// Records what a section writes in its block; reports whether no other section of the block
    /// writes it.
    fn writes_apart(&mut self, tasks: &[(usize, &Draft)]) -> bool {
        let mut own: Vec<usize> = tasks.iter().map(|(at, _)| *at).collect();
        own.sort_unstable();
        let writers = &mut self.block.writers;
        // Every path is recorded, also after one in common was found.
        let paths = self.paths;
        tasks.iter().fold(true, |apart, (at, _)| {
            write(writers, *at, paths, |earlier| {
                own.binary_search(&earlier).is_ok()
            }) && apart
        })
    }

    /// Adds the tasks of a section step by step, and returns those of its last step.
    fn steps(&mut self, tasks: &[(usize, &Draft)], waits: Vec<usize>) -> Vec<usize> {
        let mut step = Step {
            waits,
            all_marked: true,
            all_free: true,
            ..Step::default()
        };
        for (at, draft) in tasks {
            let marked = draft.attributes.parallel;
            let free = is_free(draft);
            let apart = free && write(&mut step.writers, *at, self.paths, |_| false);
            let joins = step.members.is_empty()
                || (marked && step.all_marked)
                || (free && step.all_free && apart);
            if self.names_all.get(*at) == Some(&true) {
                step.add(*at, marked, free && apart);
                continue;
            }
            if !joins {
                step = Step {
                    waits: step.members,
                    all_marked: true,
                    all_free: true,
                    ..Step::default()
                };
                if free {
                    write(&mut step.writers, *at, self.paths, |_| false);
                }
            }
            step.add(*at, marked, free);
            let cause = match draft.counts {
                _ if is_closing(&draft.title) => Cause::Closing,
                true if draft.id.is_some() || draft.number.is_some() => Cause::Numbered,
                _ => Cause::Written,
            };
            if !step.waits.is_empty() {
                (self.wait)(&Wait {
                    task: *at,
                    earlier: &step.waits,
                    cause,
                });
            }
        }
        step.members
    }
}

impl Step<'_> {
    fn add(&mut self, at: usize, marked: bool, free: bool) {
        self.members.push(at);
        self.all_marked &= marked;
        self.all_free &= free;
    }
}

/// Records what a task writes; reports whether no other task does, apart from some.
fn write<'p>(
    writers: &mut Writers<'p>,
    at: usize,
    paths: &Paths<'p>,
    except: impl Fn(usize) -> bool,
) -> bool {
    paths
        .for_task(at)
        .iter()
        .flatten()
        .fold(true, |apart, pattern| {
            let earlier = writers.record(paths, pattern, at, |_| false);
            apart && earlier.is_ok_and(|earlier| earlier.into_iter().all(&except))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_that_close_are_told() {
        for title in [
            "Test the parser",
            "Write unit tests",
            "Final review",
            "Run all the tests",
            "Checkpoint",
            "Review it",
            "Add e2e tests",
            "Write tests: all",
            "Create a test in tests/a.rs",
            "Ensure all tests pass",
        ] {
            assert!(is_closing(title), "{title}");
        }
        for title in [
            "Checkpoint - Ensure all tests pass",
            "Final checkpoint",
            "Run all the tests",
            "Verify the login",
            "Verification",
            "Verification: all",
        ] {
            assert!(only_checks(title), "{title}");
        }
        for title in [
            "Write unit tests",
            "Add e2e tests",
            "Final polish",
            "Verification email",
            "Finalize the docs",
            "Create the review page",
        ] {
            assert!(!only_checks(title), "{title}");
        }
        for title in [
            "Create OTP verification logs table",
            "Add a test-data generator",
            "Add a testimonial page",
            "Build the review queue",
            "Write the file",
            "Detest",
            "Latest news",
        ] {
            assert!(!is_closing(title), "{title}");
        }
    }
}
