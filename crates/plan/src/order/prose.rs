//! Warns of open tasks that say in words what they depend on, where it has no effect: `Wire it up,
//! depends on T1`. What follows such words counts only if it is an id, or a number behind a word
//! such as `task`, `#` or `on`; and nothing is said of what the task depends on anyway.

use crate::fields::attributes::Located;
use crate::fields::{identify, key};
use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::text::is_one_of;
use crate::order::assign::Name;
use crate::order::reach::Reach;
use crate::order::reference::{CONNECTING, References, Resolved, is_counted, is_id, words_of};
use crate::tasks::draft::Draft;
use crate::words;
use orchestrate_core::text::parts::Parts;

/// Marks around a word, and those that end a clause.
const MARKS: [char; 8] = ['*', '_', '`', '[', ']', '(', '~', '"'];
const ENDS: [char; 7] = ['.', ',', ';', ':', ')', '!', '?'];
/// The number of words that may stand before a reference (`after the review of T1`).
const FEW_WORDS: usize = 4;
/// The maximum number of mentions of tasks that are resolved in a plan: far more than findings are
/// shown, since the parts of a group all have its remarks.
const MAX_MENTIONS: usize = 1_000;

/// What a text says of a dependency.
struct Said<'t> {
    words: &'t str,
    /// The references in it.
    list: &'t str,
}

/// Resolves text in parentheses after a word such as `after` without a colon: returns its tasks if
/// all of it names tasks, else it stays in the title, which is said.
pub(crate) fn likely(
    references: &References<'_>,
    name: &Name<'_>,
    text: &Located,
    findings: &mut Findings,
) -> Resolved {
    let mut unknown = Findings::default();
    let found = references.resolve(name, text, &mut unknown);
    if unknown.errors.is_empty() && !found.has_prose {
        return found;
    }
    let message = "not every word of this is a task, so it stays in the title";
    let warning = Pending::new(
        text.offset,
        FindingCode::UnknownDependency,
        &text.text,
        message,
    );
    let advice = "if it is meant as a dependency, write `(depends: T1)`";
    findings.warn(warning.suggest(Some(advice.to_owned())));
    Resolved {
        tasks: Vec::new(),
        has_prose: true,
    }
}

/// Warns of what each open task says, apart from what it depends on.
pub(crate) fn check(
    references: &References<'_>,
    named: &[(&Draft, &Name<'_>)],
    depends: &[Vec<usize>],
    findings: &mut Findings,
) {
    let mut reach = Reach::default();
    let mut mentions = 0;
    for (at, (draft, name)) in named.iter().enumerate() {
        let details = draft.details.iter().map(String::as_str);
        let texts = details.filter(|text| !text.starts_with("```"));
        let texts = [draft.title.as_str()].into_iter().chain(texts);
        for line in texts.flat_map(str::lines).filter(|_| draft.status.runs()) {
            for said in said_in(line) {
                mentions += 1;
                if mentions > MAX_MENTIONS {
                    return;
                }
                let mut likely = draft.attributes.likely_depends.iter();
                let is_read = likely.any(|own| own.text.contains(said.list));
                let list = Located {
                    text: said.list.to_owned(),
                    offset: 0,
                };
                let mut unknown = Findings::default();
                let on = references.resolve(name, &list, &mut unknown);
                let are_all = unknown.errors.is_empty() && !on.has_prose;
                let holds = are_all && reach.leads_to_all(depends, at, &on.tasks);
                if !is_read && !holds {
                    findings.warn(said.unread(draft.at));
                }
            }
        }
    }
}

impl Said<'_> {
    fn unread(&self, offset: usize) -> Pending {
        let message = format!("`{}` is read as text, not as a dependency", self.words);
        let found = Pending::new(offset, FindingCode::UnusedKey, self.words, message);
        found.suggest(Some(format!(
            "if it is one, write `(depends: {})`",
            self.list
        )))
    }
}

/// Returns everything that a line says of dependencies.
fn said_in(line: &str) -> Vec<Said<'_>> {
    let mut said = Vec::new();
    let words = words_of(line);
    let mut rest = words.as_slice();
    while let Some((begin, after)) = rest.split_first() {
        rest = after;
        let own = bare(begin.text);
        let is_field = begin.text.starts_with(['(', '[', '{'])
            && (begin.text.ends_with(':') || after.first().is_some_and(|it| it.text == "on:"));
        if !names_dependency(own) || is_field {
            continue;
        }
        let (mut first, mut end, mut before) = (None, 0, own);
        for (at, word) in after.iter().enumerate() {
            let text = bare(word.text);
            let place = word.at + word.text.find(text).unwrap_or(0);
            let ends =
                word.text.trim_end_matches(MARKS).ends_with(ENDS) && !is_one_of(text, words::LINKS);
            let next = after.get(at + 1).map_or("", |next| next.text);
            let counts = !ends && !is_one_of(next, CONNECTING) && !next.is_empty();
            let is_linked = is_one_of(before, words::LINKS)
                || (first.is_some() && is_one_of(before, CONNECTING));
            if is_reference(text, before, is_linked && !counts) {
                let is_called = is_counted(before);
                let begins = after.get(at.saturating_sub(usize::from(is_called)));
                first.get_or_insert(begins.map_or(place, |it| it.at));
                end = place + text.len();
                rest = after.tail(at + 1);
            } else if first.is_some() && !is_one_of(text, CONNECTING) && !is_counted(text)
                || at >= FEW_WORDS && first.is_none()
            {
                break;
            }
            if ends && !(first.is_some() && word.text.ends_with(',')) {
                break;
            }
            before = text;
        }
        if let Some(first) = first {
            let start = begin.at + begin.text.find(own).unwrap_or(0);
            said.push(Said {
                words: line.part(start..end),
                list: line.part(first..end),
            });
        }
    }
    said
}

/// Reports whether a word is a reference, given the one before it, and whether a number alone would
/// be one.
fn is_reference(word: &str, before: &str, may_be_number: bool) -> bool {
    let number = word.trim_start_matches(['#', '§']);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit());
    if !is_number {
        // `S3` and `H2` are names of things.
        let first = word.split(['–', '—', '-']).next().unwrap_or(word);
        return [word, first]
            .iter()
            .any(|id| is_id(id) && !identify::is_unusual(id));
    }
    let is_marked = number.len() < word.len() || is_counted(before);
    is_marked || (may_be_number && !word.contains('.'))
}

/// Reports whether a task may follow a word as what is depended on.
fn names_dependency(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    key::key_of(&lower) == Some(key::Key::Depends)
        || words::AFTER.iter().any(|stem| lower.starts_with(stem))
}

/// Returns a word without the marks around it.
fn bare(word: &str) -> &str {
    let text = word.trim_start_matches(MARKS);
    text.trim_end_matches(|c| MARKS.contains(&c) || ENDS.contains(&c))
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
        let plan = "- [ ] T1 Parse it\n- [ ] T2 Print it, depends on T1\n- [ ] T3 Ship it after T2.\n- [ ] T4 Sell it\n\
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

    #[test]
    fn a_title_in_words_is_said_to_stay_in_the_title() {
        for form in ["(after Alpha)", "(needs Alpha, Beta)", "(blocked by #3)"] {
            let plan = format!("- [ ] Alpha (see #3)\n- [ ] Beta\n- [ ] Delta {form}\n");
            let (plan, errors) = parse::read(&plan, &KnownNames::default());
            assert!(errors.is_empty(), "{errors:?}");
            let codes: Vec<FindingCode> = plan.warnings.iter().map(|own| own.code).collect();
            let said = codes.contains(&FindingCode::UnknownDependency);
            let depends = plan.tasks.iter().flat_map(|task| &task.depends).count();
            assert_eq!((said, depends), (true, 0), "{form}");
        }
    }
}
