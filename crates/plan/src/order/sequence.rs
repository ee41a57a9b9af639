//! The author's order of the tasks between two barriers, with the freedom that the plan gives.
//!
//! Tasks go one after another in steps. Neighbours share a step if all of them are marked `[P]`, or
//! if they have no numbers and name files, none of which two of them write; sections go side by
//! side for the same reasons. A task that names its dependencies waits for nothing else. A flat
//! checklist (no sections, no numbers, no marks) gives all freedom, except that the set-up comes
//! first, and tests, reviews and releases last.
//!
//! Every task comes after earlier ones of the resulting order only, so that no cycle can arise.

use std::collections::HashSet;
use std::rc::Rc;

use crate::lines::text::{self, is_one_of};
use crate::order::overlap::{Paths, Writers};
use crate::order::reason::Cause;
use crate::tasks::draft::Draft;
use crate::tasks::section::each_word;

/// First words of a title that only checks what others make.
#[rustfmt::skip]
const CHECKING: &[&str] = &[
    "test", "testing", "review", "verify", "validate", "checkpoint", "qa",
];

/// First words of a title that ends the work in another way.
#[rustfmt::skip]
const ENDING: &[&str] = &[
    "tests", "e2e", "final", "finally", "finalize", "finalise", "polish", "deploy",
    "deployment", "release",
];

/// A test or a review.
#[rustfmt::skip]
const CHECKS: &[&str] = &[
    "test", "tests", "testing", "review", "checkpoint", "verification", "validation", "e2e",
];

/// Those that are none of the product's own functions, as a validation may be.
const TESTS: &[&str] = &["test", "tests", "testing", "review", "qa", "e2e"];

/// First words of a title that may make a test within the next words.
const MAKING: &[&str] = &["add", "write", "create"];

/// First words of a title that may carry out a test or a review.
#[rustfmt::skip]
const CARRYING_OUT: &[&str] = &[
    "run", "do", "perform", "execute", "ensure", "make", "confirm", "check", "final", "finally",
];

/// Words that may follow the name of a test or a review.
#[rustfmt::skip]
const AFTER_CHECKS: &[&str] = &[
    "for", "of", "in", "on", "to", "with", "and", "or", "against", "that", "at", "by", "from",
    "as", "after", "before", "is", "are", "if", "using", "via", "until", "where", "which",
    "covering", "pass", "passes", "passing", "run", "runs", "suite", "suites", "case", "cases",
    "coverage", "first", "again", "still", "green",
];

/// The number of words that are looked at after the first one, and of a short title.
const FEW_WORDS: usize = 3;

/// What a title that sets up what others need begins with, beside "set up".
#[rustfmt::skip]
const SETTING_UP: &[&str] = &[
    "setup", "scaffold", "scaffolding", "bootstrap", "initialize", "initialise", "init",
];

/// What all tasks of a plan need.
#[rustfmt::skip]
const PROJECT: &[&str] = &[
    "project", "repository", "repo", "workspace", "monorepo", "environment", "skeleton",
];

/// The words of a heading that only says that a list of tasks follows.
#[rustfmt::skip]
const LIST: &[&str] = &[
    "task", "tasks", "todo", "todos", "to", "do", "list", "checklist", "open", "remaining",
];

/// A task in an order that fits the dependencies of all.
pub(crate) struct Placed<'d> {
    pub(crate) at: usize,
    pub(crate) draft: &'d Draft,
    /// Whether it depends on others.
    pub(crate) depends: bool,
    /// Whether its title says that it tests, reviews or releases the work of others.
    pub(crate) is_closing: bool,
    /// Whether it closes the plan, and nothing else depends on it.
    pub(crate) closes: bool,
    pub(crate) named: Named,
}

/// What a task names of what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Nothing,
    /// It says the rest in prose.
    Some,
    All,
}

impl Named {
    pub(crate) fn new(says_some: bool, says_all: bool) -> Self {
        match says_some {
            true if says_all => Self::All,
            true => Self::Some,
            false => Self::Nothing,
        }
    }
}

/// What a task comes after.
pub(crate) struct Wait {
    pub(crate) task: usize,
    pub(crate) earlier: Rc<[usize]>,
    pub(crate) cause: Cause,
}

/// The author's order of some tasks.
#[derive(Default)]
pub(crate) struct Sequence {
    /// The tasks, none of which waits for a later one.
    pub(crate) line: Vec<usize>,
    pub(crate) waits: Vec<Wait>,
}

/// Returns the author's order of some tasks of a plan.
pub(crate) fn sequence(plan: &[Draft], tasks: &[Placed<'_>], paths: &Paths<'_>) -> Sequence {
    if is_flat(plan) {
        return in_checklist(plan, tasks);
    }
    let mut sections = Sections {
        beside: Beside::default(),
        paths,
        found: Sequence::default(),
    };
    let mut phase = None;
    for section in tasks.chunk_by(|a, b| place_of(a) == place_of(b)) {
        if let Some(first) = section.first().map(|task| task.draft)
            && phase.replace(first.phase) != Some(first.phase)
        {
            sections.begin_phase(first.optional);
        }
        sections.section(section);
    }
    sections.found.line = tasks.iter().map(|task| task.at).collect();
    sections.found
}

/// Returns the tasks of a plan that close it. A test before all work is of what was there before.
pub(crate) fn closing(plan: &[Draft], are_closing: &[bool]) -> Vec<bool> {
    let mut places = plan.iter().zip(are_closing);
    let begin = places.position(|(draft, is_closing)| !sets_up(&draft.title) && !is_closing);
    let mut closing = are_closing.to_vec();
    for before in closing.iter_mut().take(begin.unwrap_or_default()) {
        *before = false;
    }
    closing
}

fn place_of(task: &Placed<'_>) -> [usize; 2] {
    [task.draft.phase, task.draft.section_index]
}

/// Reports whether a plan is a checklist in which nothing gives an order.
fn is_flat(plan: &[Draft]) -> bool {
    let section = plan.first().map_or(0, |draft| draft.section_index);
    // The title of the plan is no section.
    let is_whole = section == 0
        || plan
            .first()
            .and_then(|draft| draft.section.as_deref())
            .is_some_and(only_lists);
    is_whole && !plan.iter().any(|draft| gives_order(draft, section))
}

fn gives_order(draft: &Draft, section: usize) -> bool {
    let is_apart = draft.section_index != section || draft.phase > 0;
    is_apart || draft.counts || draft.attributes.parallel
}

/// Reports whether a heading says no more than that tasks follow.
fn only_lists(heading: &str) -> bool {
    each_word(heading).all(|word| is_one_of(word, LIST) || word.parse::<u32>().is_ok())
}

/// Orders a flat checklist: all tasks run together, but for what sets up, and for what tests,
/// reviews or releases the work of the others. A task that says in prose what it depends on comes
/// after those before it.
fn in_checklist(plan: &[Draft], tasks: &[Placed<'_>]) -> Sequence {
    let leading = plan.iter().position(|draft| !sets_up(&draft.title));
    let (mut first, mut work, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for task in tasks {
        let title = &task.draft.title;
        let is_leading = leading.is_none_or(|leading| task.at < leading);
        let is_first = is_leading || sets_up(title) && names_project(title);
        if is_first && !task.depends {
            first.push(task);
        } else if task.closes {
            last.push(task);
        } else {
            work.push(task);
        }
    }
    let mut found = Sequence::default();
    // The tasks since the last one that came after all before it.
    let mut open: Vec<usize> = Vec::new();
    for task in first {
        if task.named != Named::All {
            found.wait(task.at, std::mem::take(&mut open).into(), Cause::SetUp);
        }
        open.push(task.at);
        found.line.push(task.at);
    }
    let set_up: Rc<[usize]> = open.as_slice().into();
    for task in work.into_iter().chain(last) {
        if task.named == Named::All {
            // It waits for nothing else.
        } else if task.named == Named::Some {
            found.wait(task.at, std::mem::take(&mut open).into(), Cause::Written);
        } else if task.is_closing {
            found.wait(task.at, std::mem::take(&mut open).into(), Cause::Closing);
        } else {
            found.wait(task.at, Rc::clone(&set_up), Cause::SetUp);
            if *open == *set_up {
                open.clear();
            }
        }
        open.push(task.at);
        found.line.push(task.at);
    }
    found
}

impl Sequence {
    fn wait(&mut self, task: usize, earlier: Rc<[usize]>, cause: Cause) {
        self.waits.push(Wait {
            task,
            earlier,
            cause,
        });
    }
}

/// Reports whether a title says that its task sets up what others need.
fn sets_up(title: &str) -> bool {
    let words: Vec<&str> = each_word(title).take(FEW_WORDS).collect();
    match words.as_slice() {
        [set, up, ..] if set.eq_ignore_ascii_case("set") && up.eq_ignore_ascii_case("up") => true,
        // As in "Project setup".
        [first, second] => is_one_of(first, SETTING_UP) || is_one_of(second, SETTING_UP),
        [first, ..] => is_one_of(first, SETTING_UP),
        [] => false,
    }
}

fn names_project(title: &str) -> bool {
    each_word(title).any(|word| is_one_of(word, PROJECT))
}

/// Reports whether a title says that it tests, reviews or releases the work of others.
pub(crate) fn is_closing(title: &str) -> bool {
    let Some((first, rest)) = text::next_word(title) else {
        return false;
    };
    // What ends a short title.
    let last = || match each_word(title).nth(FEW_WORDS) {
        Some(_) => None,
        None => each_word(title).last(),
    };
    is_one_of(first, ENDING)
        || begins_with_check(first, rest)
        || carries_out_check(first, rest)
        || is_one_of(first, MAKING) && names_one_of(rest, TESTS)
        || last().is_some_and(|last| is_one_of(last, TESTS)) && !sets_up(title)
}

/// Reports whether a title says that its task only checks what others have done, so that it may
/// find nothing to change; writing a test is work.
pub(crate) fn only_checks(title: &str) -> bool {
    text::next_word(title).is_some_and(|(first, rest)| {
        begins_with_check(first, rest) || carries_out_check(first, rest)
    })
}

fn carries_out_check(first: &str, rest: &str) -> bool {
    is_one_of(first, CARRYING_OUT) && names_one_of(rest, CHECKS)
}

fn begins_with_check(first: &str, rest: &str) -> bool {
    is_one_of(first, CHECKING) || is_one_of(first, CHECKS) && stands_alone(rest)
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
fn names_one_of(text: &str, checks: &[&str]) -> bool {
    let mut rest = text;
    for _ in 0..FEW_WORDS {
        let Some((word, after)) = text::next_word(rest) else {
            return false;
        };
        if is_one_of(word, checks) && (stands_alone(after) || is_last(after)) {
            return true;
        }
        rest = after;
    }
    false
}

fn is_last(rest: &str) -> bool {
    text::next_word(rest).is_none_or(|(next, _)| is_one_of(next, AFTER_CHECKS))
}

/// Reports whether files may give a task freedom: it names some, and neither its number nor its
/// title orders it.
fn is_free(task: &Placed<'_>) -> bool {
    let draft = task.draft;
    !draft.attributes.files.is_empty() && !draft.counts && !task.is_closing
}

/// Tasks of a section, or sections of a phase, that go side by side.
#[derive(Default)]
struct Beside<'p> {
    /// What they come after.
    waits: Rc<[usize]>,
    /// The last tasks of them.
    last: Vec<usize>,
    all_marked: bool,
    all_free: bool,
    writers: Writers<'p>,
}

impl<'p> Beside<'p> {
    fn after(waits: Rc<[usize]>) -> Self {
        Self {
            waits,
            all_marked: true,
            all_free: true,
            ..Self::default()
        }
    }

    /// Adds a task or a section to these if it may go beside them, or `stays` there in any case;
    /// else it comes after them, and these are what goes beside it.
    fn admit(&mut self, tasks: &[Placed<'_>], paths: &Paths<'p>, stays: bool) {
        let is_marked = tasks.iter().all(|task| task.draft.attributes.parallel);
        let is_apart = tasks.iter().all(is_free) && self.writes_apart(tasks, paths);
        let may_join = is_marked && self.all_marked || is_apart && self.all_free;
        if !(stays || may_join || self.last.is_empty()) {
            *self = Self::after(std::mem::take(&mut self.last).into());
            return self.admit(tasks, paths, true);
        }
        self.all_marked &= is_marked;
        self.all_free &= is_apart;
    }

    /// Records what a task or a section writes; reports whether no other writes it.
    fn writes_apart(&mut self, tasks: &[Placed<'_>], paths: &Paths<'p>) -> bool {
        let own: HashSet<usize> = tasks.iter().map(|task| task.at).collect();
        let mut is_apart = true;
        for task in tasks {
            // Every path is recorded, also after one in common was found.
            for pattern in paths.for_task(task.at).iter().flatten() {
                let earlier = self.writers.record(paths, pattern, task.at, |_| false);
                is_apart &= earlier.is_some_and(|all| all.iter().all(|at| own.contains(at)));
            }
        }
        is_apart
    }
}

/// Puts sections in order.
struct Sections<'p> {
    /// The sections of the phase that go beside the next one, unless that comes after them.
    beside: Beside<'p>,
    paths: &'p Paths<'p>,
    found: Sequence,
}

impl Sections<'_> {
    /// Begins a phase. The barrier before it orders its tasks already, unless they are optional.
    fn begin_phase(&mut self, is_optional: bool) {
        let last = std::mem::take(&mut self.beside.last);
        self.beside = match is_optional {
            true => Beside::after(last.into()),
            false => Beside::after(Rc::default()),
        };
    }

    /// Adds the tasks of a section step by step, beside the sections before it or after them.
    fn section(&mut self, tasks: &[Placed<'_>]) {
        self.beside.admit(tasks, self.paths, false);
        let mut step = Beside::after(Rc::clone(&self.beside.waits));
        for task in tasks {
            step.admit(
                std::slice::from_ref(task),
                self.paths,
                task.named == Named::All,
            );
            step.last.push(task.at);
            if task.named != Named::All {
                let cause = cause_of(task);
                self.found.wait(task.at, Rc::clone(&step.waits), cause);
            }
        }
        self.beside.last.extend(step.last);
    }
}

fn cause_of(task: &Placed<'_>) -> Cause {
    let draft = task.draft;
    if task.is_closing {
        Cause::Closing
    } else if draft.counts && (draft.id.is_some() || draft.number.is_some()) {
        Cause::Numbered
    } else {
        Cause::Written
    }
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
            "Unit tests",
            "Manual testing",
            "Code review",
            "Verification & Manual Testing",
            "Polish",
            "Deploy to production",
            "Release 1.0",
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
            "Verification email",
            "Add email verification",
            "Set up unit testing",
            "Documentation",
        ] {
            assert!(!is_closing(title), "{title}");
        }
    }

    #[test]
    fn titles_that_set_up_are_told() {
        for title in [
            "Set up CI",
            "Set-up",
            "Setup: all",
            "Project setup",
            "Scaffold the app",
        ] {
            assert!(sets_up(title), "{title}");
        }
        for title in [
            "Set the colour",
            "Add a setup wizard page",
            "Initial draft",
            "",
        ] {
            assert!(!sets_up(title), "{title}");
        }
    }
}
