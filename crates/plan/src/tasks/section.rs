//! What the boxes below a heading are, by its words: work, checks, what waits for a person, what is
//! not wanted now.

use std::borrow::Cow;

use crate::lines::text;
use crate::words;
use orchestrate_core::text::parts::Parts;

/// What the boxes of a section are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Tasks.
    Work,
    /// Criteria and notes: no tasks in a plan that has others.
    Checks,
    /// Work of the user, which no run may start.
    Waiting,
    /// What the plan does not want done, at least not now.
    Dropped,
    /// Tasks that the plan does not require.
    Optional,
}

/// Returns the words of a text.
pub(crate) fn words(text: &str) -> Vec<&str> {
    each_word(text).collect()
}

/// Iterates over the words of a text.
pub(crate) fn each_word(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (word, after) = text::next_word(rest)?;
        rest = after;
        Some(word)
    })
}

/// Returns what the boxes below such a heading are.
pub(crate) fn kind(title: &str) -> Kind {
    let lower = title.to_lowercase();
    if is_struck(&lower) || remark(&lower).is_some_and(|remark| words::PUT_OFF.contains(&remark)) {
        return Kind::Dropped;
    }
    let whole = plain(&lower);
    // Most headings are no longer than that.
    let head = lower
        .split_once(['(', ':', '–', '—'])
        .map(|(head, _)| plain(head));
    for heading in [Some(&whole), head.as_ref()].into_iter().flatten() {
        if names(heading, words::DROPPED) || names(heading, words::REMARKS) {
            return Kind::Dropped;
        }
        if waits(heading) {
            return Kind::Waiting;
        }
        if names(heading, words::OPTIONAL) {
            return Kind::Optional;
        }
    }
    let without_remark = lower.split_once('(').map(|(before, _)| plain(before));
    if holds_checks(&whole)
        || without_remark.is_some_and(|before| holds_checks(&before))
        || is_log(&lower)
    {
        return Kind::Checks;
    }
    if is_optional(&lower) {
        return Kind::Optional;
    }
    Kind::Work
}

/// Reports whether what a heading names is no work at all, rather than put off.
pub(crate) fn is_remark(title: &str) -> bool {
    names(&plain(&title.to_lowercase()), words::REMARKS)
}

/// Returns the words of a lowered heading without the number of its section, joined by blanks.
fn plain(lower: &str) -> String {
    let mut plain = String::with_capacity(lower.len());
    for word in each_word(lower).skip_while(is_number) {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    plain
}

fn is_number(word: &&str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reports whether a heading is one of these, alone or before a noun.
fn names(heading: &str, known: &[&str]) -> bool {
    let mut rests = known.iter().filter_map(|name| heading.strip_prefix(name));
    rests.any(|rest| match rest.strip_prefix(' ') {
        Some(noun) => words::NOUNS.contains(&noun),
        None => rest.is_empty(),
    })
}

fn waits(heading: &str) -> bool {
    let (who, what) = heading.split_once(' ').unwrap_or((heading, ""));
    let next = what.split(' ').next().unwrap_or(what);
    let is_of_person = words::PERSON.contains(&who) && words::OF_PERSON.contains(&next);
    let is_for_person =
        words::PERSON.contains(&next) && words::OF_PERSON.iter().any(|noun| what.ends_with(noun));
    is_of_person
        || (is_for_person && matches!(who, "needs" | "requires"))
        || words::WAITING.contains(&heading)
        || begins_with(heading, words::WAITING_FOR)
}

/// Reports whether the title of a task says that a person does it: `Manually test …`, `User Manual
/// Verification`, `Ask the user …`, `The lead manually reviews …`.
pub(crate) fn is_of_person(title: &str) -> bool {
    // Few titles have one of these words.
    let mut first = each_word(title).skip_while(is_number).take(3);
    let begins = first.any(|word| text::is_one_of(word, words::BY_PERSON));
    let mut parts = title.as_bytes().windows(4);
    if !begins && !parts.any(|part| part.eq_ignore_ascii_case(b"hand")) {
        return false;
    }
    let title = plain(&title.to_lowercase());
    let mut words = title.split(' ');
    if is_by_hand(&title) {
        return !is_for_others(words.next());
    }
    let (first, second, third) = (words.next(), words.next(), words.next());
    match first {
        Some("manually") => true,
        Some("manual") => is_deed(second) || is_deed(third),
        Some("ask") => second == Some("the") && third == Some("user"),
        Some("user") if second == Some("manual") => true,
        Some("user") if second == Some("acceptance") => is_deed(third),
        Some(_) if second == Some("manually") => is_deed(third),
        Some(_) if is_for_others(first) => false,
        Some(_) if third == Some("manually") => is_deed(words.next()),
        _ => false,
    }
}

/// Reports whether a lowered title says that its work is done by hand, rather than speaking of what
/// was done so (`written by hand`).
fn is_by_hand(title: &str) -> bool {
    let Some((before, after)) = title.split_once(" by hand") else {
        return false;
    };
    let mut ends = ["ed", "en", "ing", "made"].iter();
    let is_of_things = ends.any(|end| before.ends_with(end));
    (after.is_empty() || after.starts_with(' ')) && !is_of_things
}

/// Reports whether a title that begins with this word is about what others will be able to do.
fn is_for_others(first: Option<&str>) -> bool {
    matches!(first, Some("let" | "allow" | "support"))
}

/// Reports whether a word is a deed of a person, also as a verb of one (`reviews`, `verifies`).
fn is_deed(word: Option<&str>) -> bool {
    let Some(word) = word else { return false };
    let verb = word.strip_suffix('s').unwrap_or(word);
    [word, verb]
        .iter()
        .any(|word| words::OF_PERSON.contains(word))
}

fn holds_checks(heading: &str) -> bool {
    let mut ends = words::CHECKS_AT_END.iter();
    let is_checks = ends.any(|end| heading.ends_with(end));
    let names_work = || heading.split(' ').any(|word| words::WORK.contains(&word));
    let is_checklist = heading == words::CHECKLIST
        || (has_word(heading, words::CHECKLIST) && says_what_is_checked(heading));
    begins_with(heading, words::CHECKS) || ((is_checks || is_checklist) && !names_work())
}

fn says_what_is_checked(heading: &str) -> bool {
    let known = [words::CHECKED, words::CHECKS, words::OF_PERSON].concat();
    let mut firsts = known.iter().filter_map(|name| name.split(' ').next());
    firsts.any(|first| has_word(heading, first))
}

fn has_word(heading: &str, word: &str) -> bool {
    heading.split(' ').any(|own| own == word)
}

/// Reports whether a lowered heading names a record of what was done, rather than a part of the
/// work (`Phase 2: Audit log`).
fn is_log(heading: &str) -> bool {
    if !heading.contains("log") {
        return false;
    }
    let mut words = each_word(heading);
    let is_counted = number(heading).is_some() || heading.contains([':', '：']);
    words
        .next()
        .is_some_and(|first| !words::PHASES.contains(&first))
        && words
            .last()
            .is_some_and(|last| matches!(last, "log" | "logs"))
        && !is_counted
}

/// Reports whether a text begins with one of these, as whole words.
fn begins_with(text: &str, starts: &[&str]) -> bool {
    let mut rests = starts.iter().filter_map(|start| text.strip_prefix(start));
    rests.any(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Reports whether a lowered heading is struck out as a whole, but for a remark after it that does
/// not call it done.
fn is_struck(title: &str) -> bool {
    let inner = title.strip_prefix("~~").unwrap_or("");
    let Some((text, after)) = inner.split_once("~~") else {
        return false;
    };
    let is_done = after.contains("done") || after.contains("complete");
    let is_remark = after.trim_start().starts_with('(') && !is_done;
    !text.is_empty() && (after.is_empty() || is_remark)
}

/// Reports whether a lowered heading says in parentheses or brackets that its section is optional.
pub(crate) fn is_optional(title: &str) -> bool {
    remark(title).is_some_and(|remark| remark == "optional" || names(remark, words::OPTIONAL))
}

/// Returns the remark in parentheses that ends a heading, but for emoji after it.
fn remark(title: &str) -> Option<&str> {
    let text = title.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ')' | ']'));
    let inner = text.strip_suffix([')', ']'])?.rsplit_once(['(', '[']);
    Some(inner?.1.trim())
}

/// Reports whether the bullets below such a heading are tasks.
pub(crate) fn lists_bullets(title: &str) -> bool {
    let lower = title.to_lowercase();
    let without_remark = lower.split('(').next().unwrap_or(&lower);
    let heading = plain(without_remark);
    let singular = heading.strip_suffix('s').unwrap_or(&heading);
    words::LISTS.contains(&heading.as_str()) || words::LISTS.contains(&singular)
}

/// Reports whether an ordered list below such a heading is work.
pub(crate) fn lists_work(title: &str) -> bool {
    let lower = title.to_lowercase();
    let words = words(&lower);
    words.iter().any(|word| words::WORK.contains(word))
        || words.windows(2).any(|pair| pair.join(" ") == "to do")
}

/// Reports whether a heading names a list of work rather than speaking of it: `Migration plan`, not
/// `Steps before you begin`.
pub(crate) fn names_list(title: &str) -> bool {
    let lower = title.to_lowercase();
    let head = lower.split(['(', ':', '–', '—']).next().unwrap_or(&lower);
    let last = words(head).pop();
    lists_bullets(title) || last.is_some_and(|last| words::WORK.contains(&last))
}

/// Returns the number that a heading begins with.
pub(crate) fn number(title: &str) -> Option<&str> {
    each_word(title)
        .next()
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns a label above a list (`**Out of scope:**`, `Manual steps:`); a sentence is none.
pub(crate) fn label(line: &str) -> Option<&str> {
    /// The maximum number of words of a label; a longer line is a sentence.
    const MAX_WORDS: usize = 5;
    let line = line.trim();
    let text = line.trim_end_matches([':', '：']);
    let strong = ["**", "__"]
        .into_iter()
        .find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark));
    let label = strong
        .or(Some(text).filter(|text| text.len() < line.len()))?
        .trim_end_matches([':', '：'])
        .trim();
    let is_label = !label.is_empty() && !label.contains("**");
    Some(label).filter(|label| is_label && each_word(label).nth(MAX_WORDS).is_none())
}

/// Returns what the boxes below a label are, which may stand above work where the same heading
/// would not.
pub(crate) fn kind_of_label(label: &str) -> Kind {
    let first = each_word(label).next();
    let is_general = first.is_some_and(|first| text::is_one_of(first, words::GENERAL));
    match kind(label) {
        Kind::Checks if is_general => Kind::Work,
        kind => kind,
    }
}

/// Returns a heading without the marks around its words, shortened to what is repeated below it.
pub(crate) fn shown(title: &str) -> Cow<'_, str> {
    /// Each task and each line that is not run repeats it. A longer one is a paragraph.
    const MAX_CHARS: usize = 200;
    let short = text::first_chars(title, MAX_CHARS);
    match short.len() < title.len() {
        true => Cow::Owned(format!("{short}…")),
        false => Cow::Borrowed(title.head(title.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_heading_say_what_its_boxes_are() {
        use Kind::{Checks, Dropped, Optional, Waiting, Work};
        let table = [
            ("Acceptance", Checks),
            ("Test checkpoints", Checks),
            ("3. Validation and Acceptance", Checks),
            ("✅ Definition of Done", Checks),
            ("Release checklist", Checks),
            ("Out of scope", Checks),
            ("Implementation checklist", Work),
            ("Current slice checklist", Work),
            ("Task checklist", Work),
            ("3. Checklist", Checks),
            ("Pre-merge checklist", Checks),
            ("QA checklist", Checks),
            ("Quality checklist", Checks),
            ("Execution checklist", Checks),
            ("Status legend", Checks),
            ("Legend", Checks),
            ("Phase 3: Validation", Work),
            ("Phase 2: Foundational (Blocking Prerequisites)", Work),
            ("Tasks", Work),
            ("Progressive rendering", Work),
            ("Notebook support", Work),
            ("Human-readable errors", Work),
            ("Manual page", Work),
            ("User Review Required", Waiting),
            ("User review page", Waiting),
            ("Open Questions", Waiting),
            ("Manual steps", Waiting),
            ("Waiting for user", Waiting),
            ("⏸ Blocked on the vendor", Waiting),
            ("Sign-off", Waiting),
            ("Approvals (legal)", Waiting),
            ("Approval workflow", Work),
            ("Won't do", Dropped),
            ("5. Rollback Plan", Dropped),
            ("🧊 Icebox (v2)", Dropped),
            ("Long-term enhancements", Dropped),
            ("Deferred rendering", Work),
            ("Future-proof the format", Work),
            ("Phase 5: Future (deferred)", Dropped),
            ("Phase 5: Deferred rendering (shaders)", Work),
            ("~~Phase 4: Old~~ (merged)", Dropped),
            ("~~Phase 4: Old~~ (done)", Work),
            ("~~Old~~ Phase 4: New", Work),
            ("Nice-to-have", Optional),
            ("Backlog: later", Work),
            ("Done Criteria (Observable)", Checks),
            ("Git Checkpoint Log", Checks),
            ("Progress logs", Checks),
            ("Phase 2: Audit log", Work),
            ("3. Audit log", Work),
            ("Log", Work),
            ("Dialog", Work),
            ("Phase 5: Polish (OPTIONAL)", Optional),
            ("Acceptance criteria (optional)", Checks),
        ];
        for (title, expected) in table {
            assert_eq!(kind(title), expected, "{title}");
        }
    }

    #[test]
    fn what_is_done_by_hand_is_a_persons() {
        for title in ["Review by hand the migrated rows", "Try it by hand"] {
            assert!(is_of_person(title), "{title}");
        }
        for title in [
            "Let users manually verify the rows",
            "Let users edit rows by hand",
            "Port the parser written by hand",
        ] {
            assert!(!is_of_person(title), "{title}");
        }
    }

    #[test]
    fn a_heading_of_what_is_next_lists_work() {
        for title in [
            "What's next",
            "What is next",
            "Follow-ups",
            "Follow up",
            "Next Steps (Post-MVP)",
        ] {
            assert!(lists_bullets(title), "{title}");
        }
    }

    #[test]
    fn labels_are_told_from_text() {
        let table = [
            ("**Out of scope:**", Some("Out of scope")),
            ("__Manual steps__", Some("Manual steps")),
            ("Won't do:", Some("Won't do")),
            ("Acceptance criteria of these and all other tasks:", None),
            ("Acceptance criteria", None),
            ("**Out of scope**: nothing", None),
            ("**a** and **b**:", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(label(line), expected, "{line}");
        }
    }
}
