//! What the boxes below a heading are, by its words: work, checks, what waits for a person, what is
//! not wanted now.

use crate::lines::text;
use crate::words;

/// How many words after "manual" may name what is done by hand.
const MAX_BEFORE_DEED: usize = 4;

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
    // A priority says nothing of what has it.
    let of_priority = lower
        .strip_prefix("priority")
        .and_then(|rest| rest.split_once([':', '–', '—']));
    if of_priority.is_some_and(|(_, rest)| holds_checks(&plain(rest)))
        || is_state_of_phase(&whole)
        || holds_checks(&whole)
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

/// Reports whether a word is one of these, be it in the plural.
pub(crate) fn is_any_of(word: &str, known: &[&str]) -> bool {
    known.contains(&word) || known.contains(&singular(word))
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}

fn is_number(word: &&str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reports whether a heading is one of these, alone or before a noun.
fn names(heading: &str, known: &[&str]) -> bool {
    let mut rests = known.iter().filter_map(|name| heading.strip_prefix(name));
    rests.any(|rest| match rest.split_once(' ') {
        Some(("" | "s", noun)) => is_any_of(noun, words::NOUNS),
        Some(_) => false,
        None => matches!(rest, "" | "s"),
    })
}

fn waits(heading: &str) -> bool {
    let words: Vec<&str> = heading.split(' ').collect();
    let is_of_person = match words.as_slice() {
        [who, what, ..] => {
            let is_english = words::PERSON.contains(who) && is_any_of(what, words::OF_PERSON);
            is_english || is_by_hand_elsewhere(what)
        }
        _ => false,
    };
    is_of_person
        || asks(&words)
        || is_person(heading)
        || words::WAITING.contains(&heading)
        || begins_with(heading, words::WAITING_FOR)
}

/// Reports whether lowered words say that a person is asked: `ask the user …`, `put … to the user`,
/// `get human approval`, `needs a user review`.
fn asks(words: &[&str]) -> bool {
    match words {
        ["ask", "the", "user", ..] | ["put", .., "to", "the", "user"] => true,
        ["get" | "needs" | "requires", who, what @ ..] if words::PERSON.contains(who) => {
            let (first, rest) = what.split_first().map_or(("", what), |it| (*it.0, it.1));
            what.last().is_some_and(|last| is_deed(last)) || is_deed_of(first, rest)
        }
        _ => false,
    }
}

/// Reports whether a word stands for a person where it marks work (`[HUMAN]`, `type="manual"`).
pub(crate) fn is_person(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    text::is_one_of(word, words::BY_PERSON)
}

/// Reports whether the title of a task or of a step says that a person does it: `Manually test …`,
/// `User Manual Verification`, `Ask the user …`, `The lead manually reviews …`, `HUMAN: …`.
pub(crate) fn is_of_person(title: &str) -> bool {
    // Few titles have one of these words.
    let has_word = each_word(title).any(|word| {
        let begins = word
            .get(..4)
            .is_some_and(|head| text::is_same_word(head, "manu"));
        begins || text::is_one_of(word, &["user", "human", "hand"])
    });
    has_word && (is_marked(title) || says_person(&title.to_lowercase()))
}

/// Reports whether a title begins or ends with a mark of a person's work: `[HUMAN]`, `Human: …`,
/// `… (human)`, `… (needs manual testing)`.
fn is_marked(title: &str) -> bool {
    let bare = title.trim_start_matches(['*', '_', ' ']);
    let first = match bare.strip_prefix('[') {
        Some(inner) => inner.split_once(']'),
        // A manual is a document, too: `Manual: add a chapter`.
        None => bare
            .split_once([':', '：'])
            .filter(|(word, _)| !text::is_same_word("manual", word)),
    };
    first.is_some_and(|(word, _)| is_person(word)) || remark(title).is_some_and(is_of_person_alone)
}

/// Reports whether a remark says no more than that a person does the work.
fn is_of_person_alone(remark: &str) -> bool {
    let lower = remark.to_lowercase();
    match words(&lower).as_slice() {
        ["manual", rest @ ..] if names_deed(rest) => true,
        words => is_person(remark) || asks(words),
    }
}

/// Reports whether a word is of the name of a task: `Task 2`.
fn is_label(word: &&str) -> bool {
    is_number(word) || words::TASKS.iter().any(|it| it.0 == *word)
}

fn says_person(lower: &str) -> bool {
    let words: Vec<&str> = each_word(lower).skip_while(is_label).collect();
    let is_for_others = words.first().is_some_and(|first| is_for_others(first));
    match words.as_slice() {
        words if asks(words) || names_user(words) => true,
        words if words.iter().take(2).any(|word| is_by_hand_elsewhere(word)) => true,
        words if is_by_hand(&words.join(" ")) => !is_for_others,
        ["manually", ..] | ["user", "sign", "off", ..] => true,
        ["manual", rest @ ..] => names_deed(rest),
        ["user", "acceptance", what, ..] => is_deed(what),
        [
            "user",
            what @ ("verification" | "approval" | "testing"),
            rest @ ..,
        ]
        | ["human", what, rest @ ..] => is_deed_of(what, rest),
        [_, "manually", what, ..] => is_deed(what),
        [_, _, "manually", what, ..] if !is_for_others => is_deed(what),
        _ => false,
    }
}

/// Reports whether lowered words name what a user does by hand: `user manual verification`.
fn names_user(words: &[&str]) -> bool {
    let mut parts = words.windows(3);
    parts.any(|part| matches!(part, ["user", "manual", what] if is_deed(what)))
}

/// Reports whether one of the next few words is a deed (`end to end test`), and says not what
/// something is for or about.
fn names_deed(words: &[&str]) -> bool {
    let mut near = words.iter().take(MAX_BEFORE_DEED);
    let mut near = near
        .by_ref()
        .take_while(|word| !matches!(**word, "for" | "of" | "about"));
    near.any(|word| is_deed(word))
}

/// Reports whether a word is a deed, and what follows it says what is done so: `verification of
/// login`, not `verification flow`.
fn is_deed_of(what: &str, rest: &[&str]) -> bool {
    let link = rest.first().copied().unwrap_or("of");
    let is_link = matches!(link, "of" | "for" | "that" | "before" | "by");
    is_deed(what) && (is_link || (what == "testing" && link == "and"))
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

/// Reports whether a lowered word is a form of "manual" or "manually" in a Romance language that is
/// no word for a book: `manuellement`, `manuais`.
fn is_by_hand_elsewhere(word: &str) -> bool {
    let end = word.strip_prefix("manu").unwrap_or("");
    matches!(end, "elle" | "elles" | "els" | "ais" | "ales" | "ali")
        || end.ends_with("ment")
        || end.ends_with("mente")
}

/// Reports whether a title that begins with this word is about what others will be able to do.
fn is_for_others(first: &str) -> bool {
    matches!(first, "let" | "allow" | "support")
}

/// Reports whether a word is a deed of a person, also as a verb of one (`reviews`, `verifies`).
fn is_deed(word: &str) -> bool {
    let verb = word.strip_suffix('s').unwrap_or(word);
    [word, verb]
        .iter()
        .any(|word| is_any_of(word, words::OF_PERSON))
}

fn holds_checks(heading: &str) -> bool {
    let mut ends = words::CHECKS_AT_END.iter();
    let is_checks = ends.any(|end| heading.ends_with(end));
    let says_how = has_word(heading, words::REPRODUCE);
    let begins = says_how || begins_with(heading, words::CHECKS);
    begins || ((is_checks || is_checklist(heading)) && !names_work(heading))
}

/// Reports whether a heading names a list of checks, alone or with what is checked.
fn is_checklist(heading: &str) -> bool {
    let mut others = heading.split(' ');
    let count = others.clone().count();
    others.any(|word| is_any_of(word, words::CHECKLIST))
        && (count == 1 || names_checked(heading) || has_any(heading, words::DELIVERED))
}

/// Reports whether the title of a document names checks, rather than calling it a checklist alone.
pub(crate) fn names_checks(title: &str) -> bool {
    let heading = plain(&title.to_lowercase());
    is_checklist(&heading) && names_checked(&heading) && !names_work(&heading)
}

/// Reports whether a text says of what stands below it that it is gone through again and again:
/// `Before each commit`.
pub(crate) fn recurs(text: &str) -> bool {
    let lower = text.to_lowercase();
    words(&lower).windows(3).any(|words| match words {
        ["before", "each" | "every", what] => {
            is_any_of(what, words::CHECKED) || is_any_of(what, words::DELIVERED)
        }
        _ => false,
    })
}

fn names_checked(heading: &str) -> bool {
    let known = [words::CHECKED, words::CHECKS, words::OF_PERSON];
    known.iter().any(|known| has_any(heading, known))
}

/// Reports whether a heading has the first word of one of these.
fn has_any(heading: &str, known: &[&str]) -> bool {
    let mut firsts = known.iter().filter_map(|name| name.split(' ').next());
    firsts.any(|first| !words::CHECKLIST.contains(&first) && has_word(heading, first))
}

fn names_work(heading: &str) -> bool {
    heading.split(' ').any(|word| is_any_of(word, words::WORK))
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

/// Reports whether a heading is about how far a phase is: `Phase 1 Status`.
fn is_state_of_phase(heading: &str) -> bool {
    let words: Vec<&str> = heading.split(' ').collect();
    matches!(words.as_slice(), [phase, _, "status"] if words::PHASES.contains(phase))
}

/// Reports whether a text begins with one of these, as whole words.
fn begins_with(text: &str, starts: &[&str]) -> bool {
    let mut rests = starts.iter().filter_map(|start| text.strip_prefix(start));
    rests.any(|rest| matches!(rest.split(' ').next(), Some("" | "s")))
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
    is_any_of(&heading, words::LISTS)
}

/// Reports whether an ordered list below such a heading is work.
pub(crate) fn lists_work(title: &str) -> bool {
    let lower = title.to_lowercase();
    let words = words(&lower);
    if words.contains(&words::REPRODUCE) {
        return false;
    }
    words.iter().any(|word| is_any_of(word, words::WORK))
        || words.windows(2).any(|pair| pair.join(" ") == "to do")
}

/// Reports whether a heading names a list of work rather than speaking of it: `Migration plan`, not
/// `Steps before you begin`.
pub(crate) fn names_list(title: &str) -> bool {
    let lower = title.to_lowercase();
    let head = lower.split(['(', ':', '–', '—']).next().unwrap_or(&lower);
    let last = words(head).pop();
    lists_bullets(title) || last.is_some_and(|last| is_any_of(last, words::WORK))
}

/// Returns the number that a heading begins with.
pub(crate) fn number(title: &str) -> Option<&str> {
    each_word(title).next().filter(is_number)
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
    let is_general = first.is_some_and(|first| is_any_of(&first.to_lowercase(), words::GENERAL));
    match kind(label) {
        Kind::Checks if is_general => Kind::Work,
        kind => kind,
    }
}

/// The maximum number of characters of a heading or a title that is repeated: each task and each
/// line that is not run may repeat it. A longer one is a paragraph.
pub(crate) const MAX_SHOWN: usize = 200;

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
            ("Étapes manuelles", Waiting),
            ("Testes manuais (QA)", Waiting),
            ("Le manuel", Work),
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
            ("Risk Assessment", Dropped),
            ("Risk engine", Work),
            ("Checks & Validation", Checks),
            ("Phase 1 Status", Checks),
            ("Order status", Work),
            ("Steps to reproduce", Checks),
            ("Quality Checks", Checks),
            ("Health check", Work),
            ("Test plan", Checks),
            ("PR checklist", Checks),
            ("Gates", Checks),
            ("Assumptions", Checks),
            ("Constitution Check", Checks),
            ("Definition of Ready", Checks),
            ("Priority 2 — Acceptance criteria validation", Checks),
        ];
        for (title, expected) in table {
            assert_eq!(kind(title), expected, "{title}");
        }
    }

    #[test]
    fn what_is_done_by_hand_is_a_persons() {
        for title in [
            "Review by hand the migrated rows",
            "Try it by hand",
            "Vérifier manuellement dans le navigateur",
            "Testar manualmente no celular",
            "Tests manuels sur iOS",
        ] {
            assert!(is_of_person(title), "{title}");
        }
        for title in [
            "Let users manually verify the rows",
            "Let users edit rows by hand",
            "Port the parser written by hand",
            "Rédiger le manuel",
            "Print the manuals",
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
