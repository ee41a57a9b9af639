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

use crate::lines::text::is_one_of;
use crate::order::overlap::{Paths, Writers, for_task};
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
    "tests", "e2e", "verification", "final", "finally", "finalize", "polish", "deploy",
    "deployment", "release",
];

/// Tests and reviews that a title may make or carry out (`Add tests`, `Run all tests`).
const TESTS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "review",
    "checkpoint",
    "qa",
    "e2e",
];

/// First words of such titles: those that make a test, and those that carry one out.
const MAKING: &[&str] = &["add", "write", "create"];
const CARRYING_OUT: &[&str] = &["run", "perform", "execute", "ensure", "final"];

/// The number of words that are looked at after the first one, and of a short title.
const FEW_WORDS: usize = 3;

/// What a title that sets up what others need begins with, beside "set up".
const SETTING_UP: &[&str] = &["setup", "scaffold", "bootstrap", "initialize"];

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
    let first = plan.first();
    let section = first.map_or(0, |draft| draft.section_index);
    // The title of the plan is no section, and neither is "Tasks".
    let is_whole = section == 0
        || first
            .and_then(|draft| draft.section.as_deref())
            .is_some_and(only_lists);
    is_whole && !plan.iter().any(|draft| gives_order(draft, section))
}

/// Reports whether a heading says no more than that tasks follow.
fn only_lists(heading: &str) -> bool {
    each_word(heading).all(|word| is_one_of(word, LIST) || word.parse::<u32>().is_ok())
}

fn gives_order(draft: &Draft, section: usize) -> bool {
    let is_apart = draft.section_index != section || draft.phase > 0;
    is_apart || draft.counts || draft.attributes.parallel
}

/// Orders a flat checklist: all tasks run together, but for what sets up, and for what tests,
/// reviews or releases the work of the others. A task that says in prose what it depends on comes
/// after those before it.
fn in_checklist(plan: &[Draft], tasks: &[Placed<'_>]) -> Sequence {
    let leading = plan.iter().position(|draft| !sets_up(&draft.title));
    let (mut first, mut work, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for task in tasks {
        let is_leading = leading.is_none_or(|leading| task.at < leading);
        if is_leading && !task.depends {
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

/// Reports whether a title says that it tests, reviews or releases the work of others.
pub(crate) fn is_closing(title: &str) -> bool {
    let mut words = each_word(title);
    let Some(first) = words.next() else {
        return false;
    };
    // What ends a short title, as in "Code review".
    let rest: Vec<&str> = words.take(FEW_WORDS).collect();
    let ends_with_test =
        rest.len() < FEW_WORDS && rest.last().is_some_and(|it| is_one_of(it, TESTS));
    let makes_tests = is_one_of(first, MAKING) && near(title, TESTS);
    is_one_of(first, ENDING)
        || makes_tests
        || only_checks(title)
        || ends_with_test && !sets_up(title)
}

/// Reports whether a title says that its task only checks what others have done, so that it may
/// find nothing to change; writing a test is work.
pub(crate) fn only_checks(title: &str) -> bool {
    let first = each_word(title).next().unwrap_or("");
    is_one_of(first, CHECKING) || is_one_of(first, CARRYING_OUT) && near(title, TESTS)
}

/// Reports whether one of the few words after the first one is such a one: `Add unit tests`.
fn near(title: &str, known: &[&str]) -> bool {
    let words: Vec<&str> = each_word(title).skip(1).take(FEW_WORDS).collect();
    words.iter().any(|word| is_one_of(word, known))
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
    fn admit(&mut self, tasks: &[Placed<'_>], paths: &'p Paths<'p>, stays: bool) {
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
    fn writes_apart(&mut self, tasks: &[Placed<'_>], paths: &'p Paths<'p>) -> bool {
        let own: HashSet<usize> = tasks.iter().map(|task| task.at).collect();
        let mut is_apart = true;
        for task in tasks {
            // Every path is recorded, also after one in common was found.
            for pattern in for_task(paths, task.at).iter().flatten() {
                let earlier = self.writers.record(pattern, task.at, |_| false);
                is_apart &= earlier.iter().all(|at| own.contains(at));
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
        ] {
            assert!(only_checks(title), "{title}");
        }
        for title in [
            "Write unit tests",
            "Add e2e tests",
            "Final polish",
            "Verification email",
            "Finalize the docs",
        ] {
            assert!(!only_checks(title), "{title}");
        }
        for title in [
            "Add a testimonial page",
            "Build the review queue",
            "Write the file",
            "Detest",
            "Latest news",
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
