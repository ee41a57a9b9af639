//! Warns of open tasks that say in a sentence what they depend on, where it has no effect: `Wire it
//! up, depends on T1`.
//!
//! What follows such words counts only if it is likely a task or a phase: `T1`, `task 3`, `Phase
//! 2`, `#3`, or a number that nothing is counted with. Nothing is said of what the task depends on
//! anyway.

use orchestrate_core::text::parts::Parts;

use crate::fields::attributes::Located;
use crate::fields::{identify, key};
use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::text;
use crate::order::assign::Name;
use crate::order::reach::Reach;
use crate::order::reference::{Piece, References, may_name, words_of};
use crate::tasks::draft::Draft;

/// How many words may stand before the reference (`depends on the registry of Task 1`).
const MOST_BETWEEN: usize = 4;

/// The maximum number of mentions of tasks that are resolved in a plan: far more than findings are
/// shown.
const MAX_MENTIONS: usize = 1_000;

/// What a sentence says of a dependency.
struct Said<'t> {
    /// All of it, with the words that say so.
    words: &'t str,
    /// The reference in it.
    reference: &'t str,
}

/// Warns of what each open task says, apart from what it depends on.
pub(crate) fn check(
    drafts: &[Draft],
    names: &[Name<'_>],
    references: &References<'_>,
    depends: &[Vec<usize>],
    findings: &mut Findings,
) {
    let mut reach = Reach::default();
    let mut mentions = 0;
    for (at, (draft, name)) in drafts.iter().zip(names).enumerate() {
        if !draft.status.runs() {
            continue;
        }
        let likely = &draft.attributes.likely_depends;
        let details = draft.details.iter().map(String::as_str);
        let texts = details.filter(|text| !text.starts_with("```"));
        let lines = [draft.title.as_str()]
            .into_iter()
            .chain(texts)
            .flat_map(str::lines);
        for said in lines.filter_map(said_in) {
            mentions += 1;
            if mentions > MAX_MENTIONS {
                return;
            }
            // What stands in parentheses is read elsewhere, where it is said what has no effect.
            let is_read = likely.iter().any(|own| own.text.contains(said.reference));
            let mut holds = |on: &usize| *on == at || reach.leads(&[depends], at, *on);
            // One that there is not may be a slip.
            let tasks = named(references, name, said.reference);
            if !is_read && !tasks.is_some_and(|tasks| tasks.iter().all(&mut holds)) {
                findings.warn(said.unread(draft.at));
            }
        }
    }
}

/// Returns the tasks that all of a text names.
fn named(references: &References<'_>, name: &Name<'_>, text: &str) -> Option<Vec<usize>> {
    let list = Located::new(text, 0);
    let mut unknown = Findings::default();
    let found = references.resolve(name, &list, &mut unknown);
    let is_named = unknown.errors.is_empty() && !found.has_prose && !found.tasks.is_empty();
    is_named.then_some(found.tasks)
}

/// Returns the first dependency that a line says in words.
fn said_in(line: &str) -> Option<Said<'_>> {
    let words = words_of(line);
    for (at, word) in words.iter().enumerate() {
        if !says_dependency(word, words.get(at + 1)) {
            continue;
        }
        let following = words.iter().enumerate().skip(at + 1).take(MOST_BETWEEN + 1);
        for (begin, first) in following {
            let Some(end) = end_of_reference(&words, begin) else {
                if ends_clause(first) {
                    break;
                }
                continue;
            };
            let reference = line.part(first.at..end);
            return Some(Said {
                words: line.part(word.at..end).trim_matches(MARKS),
                reference: reference.trim_matches(MARKS),
            });
        }
    }
    None
}

/// Marks around a word, and those that end a clause.
const MARKS: [char; 12] = ['*', '_', '`', '[', ']', '(', ')', '.', ',', ';', ':', '"'];

/// What else words begin with that say so, in lower case, besides the keys of fields.
const AFTER: &[&str] = &["after", "once", "wait", "blocked"];

/// What may stand between such a word and a number.
const LINKS: &[&str] = &["on", "by", "for"];

/// Reports whether a word says that what follows it is depended on. The key of a field in brackets
/// is read elsewhere.
fn says_dependency(word: &Piece<'_>, next: Option<&Piece<'_>>) -> bool {
    let is_key = word.text.ends_with(':') || next.is_some_and(|next| next.text == "on:");
    let bare = word.text.trim_matches(MARKS).to_ascii_lowercase();
    let is_field = is_key && word.text.starts_with(['(', '[', '{']);
    let is_key = key::key_of(&bare) == Some(key::Key::Depends);
    !is_field && (is_key || AFTER.iter().any(|stem| bare.starts_with(stem)))
}

/// Returns the end of a reference that begins with a word: `T1`, `#3`, a word that counts with its
/// number, or a number that counts nothing (`depends on 3`).
fn end_of_reference(words: &[Piece<'_>], begin: usize) -> Option<usize> {
    let first = words.get(begin)?;
    let next = words.get(begin + 1);
    let bare = first.text.trim_matches(MARKS);
    let end = |word: &Piece<'_>| word.at + word.text.trim_end_matches(MARKS).len();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '–' | '—');
    if bare.starts_with(|c: char| c.is_ascii_digit()) && bare.chars().all(is_number) {
        let before = words.get(begin.checked_sub(1)?)?;
        let is_linked = says_dependency(before, None) || text::is_one_of(before.text, LINKS);
        let counts = !ends_clause(first) && next.is_some_and(|next| !connects(next.text));
        return (is_linked && !counts).then(|| end(first));
    }
    let one = bare.split(['–', '—']).next().unwrap_or(bare);
    if !may_name(one) || identify::is_unusual(one) {
        return None;
    }
    if bare.contains(|c: char| c.is_ascii_digit()) {
        return Some(end(first));
    }
    let next = next?;
    let number = next.text.trim_matches(MARKS).trim_start_matches('#');
    number
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| end(next))
}

fn connects(word: &str) -> bool {
    text::is_one_of(word, &["and", "or", "to", "through"])
}

fn ends_clause(word: &Piece<'_>) -> bool {
    word.text.ends_with(['.', ',', ';', ')'])
}

impl Said<'_> {
    fn unread(&self, offset: usize) -> Pending {
        let message = format!("`{}` is read as text, not as a dependency", self.words);
        let found = Pending::new(offset, FindingCode::UnusedKey, self.words, message);
        found.suggest(format!(
            "if it is one, write `(depends: {})`",
            self.reference
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::finding::FindingCode;
    use crate::{KnownNames, parse};

    /// Returns the texts of a plan's warnings about words that have no effect.
    fn warned(plan: &str) -> Vec<String> {
        let (plan, errors) = parse::read(plan, &KnownNames::default());
        assert!(errors.is_empty(), "{errors:?}");
        let unread = plan
            .warnings
            .into_iter()
            .filter(|warning| warning.code == FindingCode::UnusedKey);
        unread.map(|warning| warning.text).collect()
    }

    /// Reports whether one warning was said, of the beginning of a form.
    fn begins(form: &str, said: &[String]) -> bool {
        matches!(said, [one] if form.starts_with(one.as_str()))
    }

    #[test]
    fn a_dependency_in_words_is_warned_of() {
        let plan = "- [ ] T1 Parse it\n- [ ] T2 Print it, depends on T1\n\
                    - [ ] T3 Ship it after T2.\n- [ ] T4 Sell it\n\
                    - [ ] T5 Use it\n  - Blocked by T4, as it seems\n";
        assert_eq!(warned(plan), ["depends on T1", "after T2", "Blocked by T4"]);
    }

    /// Forms of a dependency, each at the end of the title of a sixth task.
    #[test]
    fn whatever_is_clearly_a_task_is_quoted() {
        for form in [
            "depends on T001–T005",
            "requires T1, T2 and T3",
            "blocked by #3",
            "needs step 2",
            "Depends on: Tasks 2 through 4",
            "Dependencies: Phase 1",
            "Prerequisite: T004",
            "after T2 to T4",
            "after tasks 1-4",
            "after the review of T001",
            "needs the output of task 3",
            "depends on §1",
            "depends on 1 and 2",
            "depends on 3",
            "requires 1-3",
            "after T9",
            "waits for T4",
            "once task 3 is merged",
            "blocked by 12",
        ] {
            let first = "- [ ] T001 a\n- [ ] T002 b\n- [ ] T003 c\n- [ ] T004 d\n- [ ] T005 e\n";
            let title = warned(&format!("{first}- [ ] T006 Wire it up, {form}\n"));
            assert!(begins(form, &title), "{form}");
            let below =
                format!("{first}- [ ] T006 Wire it up\n  - Wire all of it.\n    It {form}.\n");
            assert!(begins(form, &warned(&below)), "{form}");
        }
    }

    #[test]
    fn other_words_and_what_holds_anyway_are_not() {
        let plan = "- [ ] T1 Look after it\n- [ ] T2 Requires Python 3\n- [ ] T3 Call T3 after T3\n\
                    - [ ] T4 Wait (depends on T1)\n- [ ] T5 Go on, after T4 and T1 (depends: T4)\n\
                    - [x] T6 Done after T1\n";
        assert!(warned(plan).is_empty(), "{:?}", warned(plan));
        for text in [
            "needs 3 retries",
            "requires Node 20",
            "after 5 minutes",
            "after 2-4 workers ended",
            "needs more thought",
            "after section 4",
            "depends on the design in section 4",
            "requires S3 and UTF-8",
            "after that, T1 is gone",
            "looked-after T1",
            "needs 2.5 GB",
            "after release 3",
            "needs tasks to run",
        ] {
            let plan = format!(
                "- [ ] 1. a\n- [ ] 2. b\n- [ ] 3. c\n\
                 - [ ] 4. Make it, {text}\n- [ ] 5. (T1) {text}\n"
            );
            assert!(warned(&plan).is_empty(), "{:?}", warned(&plan));
            let plan = format!("- [ ] 1. a\n- [ ] 2. b\n- [ ] 3. c\n- [ ] 4. Make it ({text})\n");
            assert!(warned(&plan).is_empty(), "{:?}", warned(&plan));
        }
    }
}
