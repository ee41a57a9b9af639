//! Warns of open tasks that say in words what they depend on, where it has no effect: `Wire it up,
//! depends on T1`.
//!
//! What follows such words counts only if it is clearly a task or a phase: an id, `task 3`, `Phase
//! 2`, `#3`, `§1`, a range of these, or the number of a task that nothing is counted with. `needs 3
//! retries`, `requires Node 20` and `after section 4` are text. Nothing is said of what the task
//! depends on anyway.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

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
use orchestrate_core::text::parts::Parts;

/// Words that a task may follow, perhaps after one of [`LINKS`] and a few others.
const WORDS: [&str; 18] = [
    "after",
    "blocked",
    "builds",
    "depend",
    "dependencies",
    "dependency",
    "dependent",
    "depends",
    "follows",
    "needs",
    "once",
    "prerequisite",
    "prerequisites",
    "relies",
    "requires",
    "until",
    "wait",
    "waits",
];
const LINKS: &[&str] = &["by", "for", "on"];

/// Words between two references, beside those of a list.
const JOINING: &[&str] = &["to", "through", "-", "–", "—", "&", "or"];

/// Those of [`WORDS`] after which a number means a task though none has it.
const SURE: &[&str] = &[
    "blocked",
    "depend",
    "dependencies",
    "dependency",
    "dependent",
    "depends",
];

/// Words before `task` or `phase` that mean one without its number.
const EARLIER: &[&str] = &["previous", "preceding", "prior", "earlier", "above"];

/// Words after a number that is not the number of things.
const VERBS: &[&str] = &["is", "are", "has", "have", "was", "were", "being"];

/// Marks around a reference, and those that end a clause.
const MARKS: [char; 8] = ['*', '_', '`', '[', ']', '(', '~', '"'];
const ENDS: [char; 7] = ['.', ',', ';', ':', ')', '!', '?'];

/// The number of words that may stand before the first reference (`after the review of T1`).
const FEW_WORDS: usize = 4;

/// The maximum length of what is looked at after one of [`WORDS`].
const MAX_BYTES: usize = 300;

/// The maximum number of mentions of tasks that are resolved in a plan: far more than findings are
/// shown, since the parts of a group all have its remarks.
const MAX_MENTIONS: usize = 1_000;

/// Reads what texts say of dependencies.
pub(crate) struct Prose<'a> {
    pub(crate) names: &'a [Name<'a>],
    pub(crate) references: &'a References<'a>,
}

/// What a text says of a dependency.
struct Said<'t> {
    words: &'t str,
    list: &'t str,
}

impl Prose<'_> {
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
        let names_some = self.mentioned(&text.text, name, false).is_some();
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
        static SEARCHER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
            let mut builder = AhoCorasick::builder();
            builder.match_kind(MatchKind::LeftmostLongest);
            builder.ascii_case_insensitive(true).build(WORDS).ok()
        });
        let mut said = Vec::new();
        let mut end = 0;
        for found in SEARCHER.iter().flat_map(|all| all.find_iter(text)) {
            let (before, after) = (text.head(found.start()), text.tail(found.end()));
            let is_part = before.ends_with(is_in_word) || after.starts_with(is_in_word);
            if is_part || is_field(before, after) || found.start() < end {
                continue;
            }
            let near = after.trim_start_matches([' ', ':', '*', '_', '`']);
            let start = text.len() - near.len();
            let near = near.head(near.floor_char_boundary(MAX_BYTES));
            let is_sure = is_one_of(text.part(found.range()), SURE);
            if let Some(list) = self.mentioned(near, name, is_sure) {
                end = start + list.end;
                said.push(Said {
                    words: text.part(found.start()..end),
                    list: near.part(list),
                });
            }
        }
        said
    }

    /// Returns where the references stand that follow one of [`WORDS`].
    fn mentioned(&self, near: &str, name: &Name<'_>, is_sure: bool) -> Option<Range<usize>> {
        let words = words_of(near);
        let begin = words
            .iter()
            .take_while(|word| is_one_of(bare(word).text, LINKS));
        let begin = begin.count();
        for first in begin..=begin + FEW_WORDS {
            let mention = Mention {
                references: self.references,
                name,
                words: words.tail(first),
                may_be_number: first == begin,
                is_sure,
            };
            let found = mention.range(near);
            if found.is_some() || ends_clause(words.get(first)?) {
                return found;
            }
        }
        None
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

/// Words that may begin with references.
struct Mention<'m, 'r> {
    references: &'m References<'r>,
    name: &'m Name<'m>,
    words: &'m [Piece<'m>],
    /// Whether a number alone may be that of a task.
    may_be_number: bool,
    /// Whether it is one, be it of no task.
    is_sure: bool,
}

impl Mention<'_, '_> {
    /// Returns where the references stand.
    fn range(&self, near: &str) -> Option<Range<usize>> {
        let mut found: Option<Range<usize>> = None;
        let mut called = None;
        for (at, word) in self.words.iter().enumerate() {
            let own = bare(word);
            let is_joint = found.is_some() && joins(own.text);
            let next = self.words.get(at + 1).map(bare);
            let next = next.filter(|next| is_counted(next.text));
            if let Some(next) = next.filter(|_| is_one_of(own.text, EARLIER)) {
                return Some(own.at..next.at + next.text.len());
            }
            if is_counted(own.text) {
                called = Some(own.at);
            } else if self.is_reference(at, &own, called.map(|at| near.tail(at))) {
                let start = found.map_or(called.unwrap_or(own.at), |found| found.start);
                found = Some(start..own.at + own.text.len());
            } else if !is_joint {
                break;
            }
            if ends_clause(word) && !word.text.ends_with(',') {
                break;
            }
        }
        found
    }

    /// Reports whether a word is a reference, perhaps after a word such as `tasks`.
    fn is_reference(&self, at: usize, word: &Piece<'_>, called: Option<&str>) -> bool {
        let text = word.text.trim_start_matches(['#', '§']);
        let begins = text.starts_with(|c: char| c.is_ascii_digit());
        if text.len() < word.text.len() || called.is_some() {
            return begins || called.is_some_and(phase::begins);
        }
        let first = text.split(['–', '—', '-', '/', '+', '|']).next();
        let is_name = is_clear(text) || first.is_some_and(is_clear);
        let is_number = !text.contains(char::is_alphabetic);
        if !text.contains(|c: char| c.is_ascii_digit())
            || is_number && !(self.may_be_number && self.counts_nothing(at))
        {
            return false;
        }
        let is_sure = is_number && self.is_sure;
        is_name || is_sure || self.references.named(self.name, text).is_some()
    }

    /// Reports whether no things are counted by a number.
    fn counts_nothing(&self, at: usize) -> bool {
        let next = self.words.get(at + 1).map_or("", |next| next.text);
        let is_followed = next.starts_with(char::is_alphanumeric);
        let ends = self.words.get(at).is_some_and(ends_clause);
        ends || !is_followed || joins(next) || is_one_of(next, VERBS)
    }
}

/// Reports whether a word has the form of an id, and not that of another name (`S3`, `H2`).
fn is_clear(word: &str) -> bool {
    let is_name = word.starts_with(char::is_alphabetic);
    is_name && is_id(word) && !identify::is_unusual(word)
}

/// Reports whether a word is the key of a field in brackets. These are read elsewhere, where it is
/// said which have no effect.
fn is_field(before: &str, after: &str) -> bool {
    let is_key = after.strip_prefix(" on").unwrap_or(after).starts_with(':');
    is_key && before.ends_with(['(', '[', '{'])
}

fn joins(word: &str) -> bool {
    is_one_of(word, CONNECTING) || is_one_of(word, JOINING)
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '-'
}

/// Returns a word without the marks around it.
fn bare<'t>(word: &Piece<'t>) -> Piece<'t> {
    let text = word.text.trim_start_matches(MARKS);
    Piece {
        at: word.at + word.text.len() - text.len(),
        text: text.trim_end_matches(|c| MARKS.contains(&c) || ENDS.contains(&c)),
    }
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
            "relies on `T3`",
            "builds on Task 2",
            "follows T1..T3",
            "waits for T4",
            "dependent on US-7",
            "after 2 is merged",
            "depends on the previous task",
            "once task 3 is merged",
            "blocked by 12",
        ] {
            let first = "- [ ] T001 a\n- [ ] T002 b\n- [ ] T003 c\n- [ ] T004 d\n- [ ] T005 e\n";
            let words = form.split(" is ").next().unwrap();
            let words = words.trim_end_matches('`');
            assert_eq!(
                warned(&format!("{first}- [ ] T006 Wire it up, {form}\n")),
                [words]
            );
            let below =
                format!("{first}- [ ] T006 Wire it up\n  - Wire all of it.\n    It {form}.\n");
            assert_eq!(warned(&below), [words]);
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
