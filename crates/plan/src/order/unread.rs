//! Warns of tasks that say in words what they depend on, outside parentheses, where it has no
//! effect: `Wire it up, depends on T1`.
//!
//! Only words that are followed by a numbered id of the plan are taken for that.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;

use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::text::{first_chars, is_one_of, next_word};
use crate::tasks::draft::Draft;
use orchestrate_core::ids::TaskId;
use orchestrate_core::text::parts::Parts;

/// Words that a task may follow, perhaps after one of [`LINKS`].
const WORDS: &[&str] = &["depends", "depend", "dependent", "blocked", "waits"];
const LINKS: &[&str] = &["on", "by", "for"];
/// Words that a task may follow.
const WORDS_ALONE: &[&str] = &[
    "after",
    "requires",
    "needs",
    "prerequisite",
    "prerequisites",
];

/// Warns of each open task that says so, and names no dependencies otherwise.
pub(crate) fn check(plan: &str, drafts: &[Draft], ids: &[TaskId], findings: &mut Findings) {
    if !may_say(plan) {
        return;
    }
    let known = Known {
        ids,
        set: OnceCell::new(),
    };
    for (draft, own) in drafts.iter().zip(ids) {
        if !draft.status.runs() || draft.attributes.names_dependencies() {
            continue;
        }
        let in_details = || {
            draft
                .details
                .iter()
                .find_map(|detail| said_first(detail, &known))
        };
        let said = said_in(&draft.title, &known).or_else(in_details);
        let Some(said) = said.filter(|said| said.id != own.as_str()) else {
            continue;
        };
        let message = format!("`{}` is read as text, not as a dependency", said.words);
        let found = Pending::new(draft.at, FindingCode::UnusedKey, said.words, message);
        findings.warn(found.suggest(Some(format!(
            "if it is one, write `(depends: {})`",
            said.id
        ))));
    }
}

/// The ids of a plan.
struct Known<'a> {
    ids: &'a [TaskId],
    /// Few plans need them.
    set: OnceCell<HashSet<&'a str>>,
}

impl Known<'_> {
    /// Reports whether a word is an id with a number.
    fn has_numbered(&self, word: &str) -> bool {
        let all = || self.ids.iter().map(TaskId::as_str).collect();
        word.bytes().any(|byte| byte.is_ascii_digit()) && self.set.get_or_init(all).contains(word)
    }
}

/// What a text says of a dependency.
struct Said<'t> {
    words: &'t str,
    id: &'t str,
}

/// Reports whether a plan may have one of [`WORDS`] or [`WORDS_ALONE`]; most have none, and looking
/// at each word takes much longer.
fn may_say(plan: &str) -> bool {
    // Without the first letters, which may be capitals.
    const ENDINGS: [&str; 7] = [
        "epend",
        "locked",
        "aits",
        "fter",
        "equires",
        "eeds",
        "rerequisite",
    ];
    static SEARCHER: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new(ENDINGS));
    SEARCHER
        .as_ref()
        .is_none_or(|searcher| searcher.find(plan).is_some())
}

/// Returns the first words of a text that name a dependency.
fn said_in<'t>(text: &'t str, known: &Known<'_>) -> Option<Said<'t>> {
    let mut rest = text;
    while let Some((_, after)) = next_word(rest) {
        if let Some(said) = said_first(rest, known) {
            return Some(said);
        }
        rest = after;
    }
    None
}

/// Returns the words at the beginning of a text if they name a dependency.
fn said_first<'t>(text: &'t str, known: &Known<'_>) -> Option<Said<'t>> {
    let (word, rest) = next_word(text)?;
    let may_be_linked = is_one_of(word, WORDS);
    if !may_be_linked && !is_one_of(word, WORDS_ALONE) {
        return None;
    }
    let start = text.len() - rest.len() - word.len();
    let rest = match next_word(rest)? {
        (link, after) if may_be_linked && is_one_of(link, LINKS) => after,
        _ => rest,
    };
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    // A longer word is no id.
    let id = first_chars(rest, TaskId::MAX_BYTES + 1)
        .split(ends_word)
        .next()
        .unwrap_or_default()
        .trim_end_matches('.');
    let end = text.len() - rest.len() + id.len();
    known.has_numbered(id).then(|| Said {
        words: text.part(start..end),
        id,
    })
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | ';' | ':' | ')')
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

    #[test]
    fn other_words_and_read_dependencies_are_not() {
        let plan = "- [ ] T1 Look after it\n- [ ] T2 Requires Python 3\n- [ ] T3 Ship it after T9\n\
                    - [ ] T4 Wait (depends on T1)\n- [ ] T5 Go on, after T1 (depends: T2)\n- [x] T6 Done after T1\n\
                    - [ ] T7 Call T7 after T7\n";
        assert!(warned(plan).is_empty(), "{:?}", warned(plan));
    }
}
