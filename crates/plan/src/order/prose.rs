//! Warns of open tasks that say in words what they depend on, where it has no effect: `Wire it up,
//! depends on T1`.
//!
//! What follows such words counts only if it is likely a task or a phase: an id, `task 3`, `Phase
//! 2`, `#3`, a number that nothing is counted with, or the first word of one task's title. Nothing
//! is said of what the task depends on anyway.

use std::collections::HashMap;
use std::ops::Range;

use crate::fields::attributes::Located;
use crate::fields::{identify, key};
use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::text::is_one_of;
use crate::order::assign::Name;
use crate::order::reach::Reach;
use crate::order::reference::{
    CONNECTING, Piece, References, Resolved, is_counted, is_id, words_of,
};
use crate::tasks::draft::Draft;
use crate::tasks::phase;
use crate::words;
use orchestrate_core::text::parts::Parts;

/// Marks around a reference, and those that end a clause.
const MARKS: [char; 8] = ['*', '_', '`', '[', ']', '(', '~', '"'];
const ENDS: [char; 7] = ['.', ',', ';', ':', ')', '!', '?'];

/// The number of words that may stand before the first reference (`after the review of T1`).
const FEW_WORDS: usize = 4;

/// The maximum number of words of one list of references.
const MAX_WORDS: usize = 50;

/// The maximum number of mentions of tasks that are resolved in a plan: far more than findings are
/// shown, since the parts of a group all have its remarks.
const MAX_MENTIONS: usize = 1_000;

/// Reads what texts say of dependencies.
pub(crate) struct Prose<'a> {
    names: &'a [Name<'a>],
    pub(crate) references: &'a References<'a>,
    /// The number of tasks whose titles begin with a word in upper case.
    titles: HashMap<&'a str, usize>,
}

/// What a text says of a dependency.
struct Said<'t> {
    words: &'t str,
    list: &'t str,
}

impl<'a> Prose<'a> {
    pub(crate) fn new(names: &'a [Name<'a>], references: &'a References<'a>) -> Self {
        let mut titles = HashMap::new();
        for name in names {
            let first = first_word(name.title);
            if first.starts_with(char::is_uppercase) {
                *titles.entry(first).or_default() += 1;
            }
        }
        Self {
            names,
            references,
            titles,
        }
    }

    /// Resolves text in parentheses after a word such as `after`, given the plan before it: returns
    /// its tasks if all of it names tasks, else a finding. Without a colon it may be about
    /// something else (`after 5 minutes`), which is none.
    pub(crate) fn likely(
        &self,
        name: &Name<'_>,
        text: &Located,
        before: &str,
        findings: &mut Findings,
    ) -> Resolved {
        let mut unknown = Findings::default();
        let found = self.references.resolve(name, text, &mut unknown);
        if unknown.errors.is_empty() && !found.has_prose {
            return found;
        }
        let names_some = self
            .mention(name, &text.text, &words_of(&text.text))
            .is_some();
        let word = before
            .trim_end()
            .rsplit(|c: char| !c.is_alphabetic())
            .next();
        if !names_some && word.is_some_and(key::is_word_of_prose) {
            return Resolved {
                is_text: true,
                ..Resolved::default()
            };
        }
        let message = match names_some {
            true => "not every word of this is a task, so it stays in the title",
            false => "this names no task, so it stays in the title",
        };
        let code = FindingCode::UnknownDependency;
        let warning = Pending::new(text.offset, code, &text.text, message);
        let advice = "if it is meant as a dependency, write `(depends: T1)`";
        findings.warn(warning.suggest(Some(advice.to_owned())));
        Resolved {
            has_prose: true,
            ..Resolved::default()
        }
    }

    /// Warns of what each open task says, apart from what it depends on, and of nothing that is
    /// resolved already.
    pub(crate) fn check(&self, drafts: &[Draft], depends: &[Vec<usize>], findings: &mut Findings) {
        let mut reach = Reach::default();
        let mut mentions = 0;
        for (at, (draft, name)) in drafts.iter().zip(self.names).enumerate() {
            if !draft.status.runs() {
                continue;
            }
            let likely = &draft.attributes.likely_depends;
            let details = draft.details.iter().map(String::as_str);
            let texts = details.filter(|text| !text.starts_with("```"));
            for text in [draft.title.as_str()].into_iter().chain(texts) {
                for said in self.said_in(text, name) {
                    mentions += 1;
                    if mentions > MAX_MENTIONS {
                        return;
                    }
                    let is_read = likely.iter().any(|own| own.text.contains(said.list));
                    let tasks = self.tasks(name, &said);
                    let holds = tasks.is_some_and(|on| reach.leads_to_all(depends, at, &on));
                    if !is_read && !holds {
                        findings.warn(said.unread(draft.at));
                    }
                }
            }
        }
    }

    /// Returns the tasks that a text mentions, if there are all of them.
    fn tasks(&self, name: &Name<'_>, said: &Said<'_>) -> Option<Vec<usize>> {
        let list = Located {
            text: said.list.to_owned(),
            offset: 0,
        };
        let mut unknown = Findings::default();
        let found = self.references.resolve(name, &list, &mut unknown);
        (unknown.errors.is_empty() && !found.has_prose).then_some(found.tasks)
    }

    /// Returns everything that a text says of dependencies.
    fn said_in<'t>(&self, text: &'t str, name: &Name<'_>) -> Vec<Said<'t>> {
        let mut said = Vec::new();
        for line in text.lines() {
            let words = words_of(line);
            let mut end = 0;
            for (at, word) in words.iter().enumerate() {
                let own = bare(word);
                if own.at < end || !names_dependency(own.text) || is_field(word, words.get(at + 1))
                {
                    continue;
                }
                let Some(list) = self.mention(name, line, words.tail(at + 1)) else {
                    continue;
                };
                end = list.end;
                said.push(Said {
                    words: line.part(own.at..end),
                    list: line.part(list),
                });
            }
        }
        said
    }

    /// Returns where the references stand that such words of a line begin with, but for a few.
    fn mention(&self, name: &Name<'_>, line: &str, words: &[Piece<'_>]) -> Option<Range<usize>> {
        let links = words.iter().map(bare);
        let links = links.take_while(|word| is_one_of(word.text, words::LINKS));
        let begin = links.count();
        let mut found: Option<Range<usize>> = None;
        let mut called = None;
        let mut is_bridged = false;
        for (at, word) in words.iter().enumerate().take(MAX_WORDS).skip(begin) {
            let own = bare(word);
            let next = words.get(at + 1).map_or("", |next| next.text);
            let place = Place {
                called: called.map(|at| line.tail(at)),
                is_linked: begin > 0 || found.is_some(),
                may_be_number: (at == begin || found.is_some())
                    && (ends_clause(word) || counts_nothing(next)),
            };
            let is_previous = own.text == words::PREVIOUS && is_counted(bare_text(next));
            if is_counted(own.text) {
                called = Some(own.at);
            } else if is_previous || self.is_reference(name, own.text, &place) {
                let start = found.map_or(called.unwrap_or(own.at), |found| found.start);
                found = Some(start..own.at + own.text.len());
                is_bridged = false;
            } else if is_bridged || (found.is_none() && at >= begin + FEW_WORDS) {
                break;
            } else {
                is_bridged = found.is_some();
                called = called.filter(|_| is_bridged);
            }
            if ends_clause(word) && !(found.is_some() && word.text.ends_with(',')) {
                break;
            }
        }
        found
    }

    /// Reports whether a word is a reference, perhaps after a word such as `tasks`.
    fn is_reference(&self, name: &Name<'_>, word: &str, place: &Place<'_>) -> bool {
        let text = word.trim_start_matches(['#', '§']);
        if text.len() < word.len() || place.called.is_some() {
            let begins = text.starts_with(|c: char| c.is_ascii_digit());
            return begins || place.called.is_some_and(phase::begins);
        }
        if !text.contains(|c: char| c.is_ascii_digit()) {
            return self.titles.get(text) == Some(&1) && first_word(name.title) != text;
        }
        let is_named = || self.references.named(name, text).is_some();
        if !text.contains(char::is_alphabetic) {
            return place.may_be_number && (place.is_linked || is_named());
        }
        let first = text.split(['–', '—', '-', '/', '+', '|']).next();
        is_clear(text) || first.is_some_and(is_clear) || is_named()
    }
}

/// Where a word stands that may be a reference.
struct Place<'t> {
    /// The text from the word on that says what is counted (`tasks`).
    called: Option<&'t str>,
    /// Whether it stands after a word such as `on`, or after another reference.
    is_linked: bool,
    /// Whether a number alone may be that of a task.
    may_be_number: bool,
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

/// Reports whether a task may follow a word as what is depended on.
fn names_dependency(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    key::key_of(&lower) == Some(key::Key::Depends)
        || words::AFTER.iter().any(|stem| lower.starts_with(stem))
}

/// Reports whether no things are counted by a number before such a word.
fn counts_nothing(next: &str) -> bool {
    !next.starts_with(char::is_alphanumeric) || is_one_of(next, CONNECTING)
}

/// Reports whether a word has the form of an id, and not that of another name (`S3`, `H2`).
fn is_clear(word: &str) -> bool {
    let is_name = word.starts_with(char::is_alphabetic);
    is_name && is_id(word) && !identify::is_unusual(word)
}

/// Reports whether a word is the key of a field in brackets. These are read elsewhere, where it is
/// said which have no effect.
fn is_field(word: &Piece<'_>, next: Option<&Piece<'_>>) -> bool {
    let is_key = word.text.ends_with(':') || next.is_some_and(|next| next.text == "on:");
    is_key && word.text.starts_with(['(', '[', '{'])
}

fn first_word(title: &str) -> &str {
    bare_text(title.split_whitespace().next().unwrap_or(""))
}

/// Returns a word without the marks around it.
fn bare<'t>(word: &Piece<'t>) -> Piece<'t> {
    let text = word.text.trim_start_matches(MARKS);
    Piece {
        at: word.at + word.text.len() - text.len(),
        text: bare_text(text),
    }
}

fn bare_text(word: &str) -> &str {
    let text = word.trim_start_matches(MARKS);
    text.trim_end_matches(|c| MARKS.contains(&c) || ENDS.contains(&c))
}

/// Reports whether a clause ends with a word.
fn ends_clause(word: &Piece<'_>) -> bool {
    word.text.trim_end_matches(MARKS).ends_with(ENDS)
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
            "requires 1-3",
            "after T9",
            "waits for T4",
            "depends on the previous task",
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
    fn a_task_may_be_called_by_the_first_word_of_its_title() {
        for form in [
            "depends on Alpha",
            "waits for Alpha and Beta",
            "after Alpha",
        ] {
            let plan = format!("- [ ] Alpha parser\n- [ ] Beta\n- [ ] Delta {form}\n");
            assert_eq!(warned(&plan), [form]);
        }
        for form in ["(after Alpha)", "(needs Alpha, Beta)", "(blocked by #3)"] {
            let plan = format!("- [ ] Alpha (see #3)\n- [ ] Beta\n- [ ] Delta {form}\n");
            let (plan, errors) = parse::read(&plan, &KnownNames::default());
            assert!(errors.is_empty(), "{errors:?}");
            let codes: Vec<FindingCode> = plan.warnings.iter().map(|own| own.code).collect();
            let depends = plan.tasks.iter().flat_map(|task| &task.depends).count();
            assert_eq!(
                (codes, depends),
                (vec![FindingCode::UnknownDependency], 0),
                "{form}"
            );
        }
    }
}
