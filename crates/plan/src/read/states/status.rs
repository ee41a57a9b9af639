//! Parses the status of a task from an emoji or from words, as tables, headings and bullets show
//! it.

use std::ops::Range;

use memchr::memchr;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

use crate::read::headings::phase;

/// The marks that people put where others have a box. A cross stands for work that is not done yet:
/// a plan says in words that something is cancelled.
const MARKS: &[(char, TaskStatus)] = &[
    ('✅', TaskStatus::Done),
    ('☑', TaskStatus::Done),
    ('✔', TaskStatus::Done),
    ('✓', TaskStatus::Done),
    ('🟢', TaskStatus::Done),
    ('⏳', TaskStatus::InProgress),
    ('⌛', TaskStatus::InProgress),
    ('🚧', TaskStatus::InProgress),
    ('🔄', TaskStatus::InProgress),
    ('🟡', TaskStatus::InProgress),
    ('❌', TaskStatus::Todo),
    ('✗', TaskStatus::Todo),
    ('⬜', TaskStatus::Todo),
    ('🔲', TaskStatus::Todo),
    ('☐', TaskStatus::Todo),
    ('⚪', TaskStatus::Todo),
    ('🔴', TaskStatus::Todo),
    ('📋', TaskStatus::Todo),
    ('🔜', TaskStatus::Todo),
    ('🚫', TaskStatus::Blocked),
    ('⏸', TaskStatus::Blocked),
];

/// What people write for each status; blanks and hyphens count as `_`.
const WORDS: &[(TaskStatus, &[&str])] = &[
    (
        TaskStatus::Todo,
        &[
            "",
            "todo",
            "to_do",
            "open",
            "pending",
            "planned",
            "not_started",
            "not_done",
            "new",
            "ready",
            "next",
            "backlog",
            "draft",
            "proposed",
            "queued",
            "offen",
            "geplant",
            "à_faire",
            "pendiente",
            "pendente",
            "da_fare",
            "待办",
            "未开始",
            "待处理",
            "未着手",
            "не_начато",
            "запланировано",
            "예정",
            "대기",
            "미완료",
            "시작_전",
        ],
    ),
    (
        TaskStatus::Done,
        &[
            "done",
            "complete",
            "completed",
            "finished",
            "merged",
            "shipped",
            "closed",
            "implemented",
            "resolved",
            "fixed",
            "delivered",
            "released",
            "fertig",
            "erledigt",
            "abgeschlossen",
            "terminé",
            "fait",
            "hecho",
            "completado",
            "feito",
            "concluído",
            "fatto",
            "completato",
            "已完成",
            "完成",
            "完了",
            "готово",
            "выполнено",
            "сделано",
            "완료",
        ],
    ),
    (
        TaskStatus::InProgress,
        &[
            "in_progress",
            "wip",
            "doing",
            "ongoing",
            "started",
            "active",
            "partial",
            "partially_done",
            "in_arbeit",
            "en_cours",
            "en_progreso",
            "em_andamento",
            "in_corso",
            "进行中",
            "進行中",
            "в_работе",
            "в_процессе",
            "진행_중",
            "진행중",
        ],
    ),
    (
        TaskStatus::Cancelled,
        &[
            "cancelled",
            "canceled",
            "dropped",
            "skipped",
            "abandoned",
            "obsolete",
            "rejected",
            "won't_do",
            "wontfix",
        ],
    ),
    (
        TaskStatus::Blocked,
        &[
            "blocked",
            "on_hold",
            "paused",
            "waiting",
            "deferred",
            "postponed",
            "blockiert",
            "bloqué",
            "bloqueado",
        ],
    ),
];

/// Words in parentheses at the end of a title that rather say what its task is about (`Handle
/// sockets (closed)`) than how far it is; at the end of a phase's heading they are a status.
const OF_THINGS: &[&str] = &[
    "closed",
    "shipped",
    "delivered",
    "released",
    "new",
    "ready",
    "next",
    "draft",
    "proposed",
    "queued",
    "backlog",
    "active",
    "partial",
    "dropped",
    "skipped",
    "rejected",
    "waiting",
    "paused",
];

/// How the names of the months begin.
const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The maximum number of words before the year of a day (`Fri, 31 Jan`).
const MAX_DAY_WORDS: usize = 3;

/// Returns the status of a leading mark, and the text after it.
pub(crate) fn leading_mark(text: &str) -> Option<(TaskStatus, &str)> {
    let first = text.chars().next().filter(|first| !first.is_ascii())?;
    let (_, status) = MARKS.iter().find(|(mark, _)| *mark == first)?;
    let rest = text.get(first.len_utf8()..)?.trim_start_matches('\u{fe0f}');
    Some((*status, rest.trim_start_matches([' ', ':', '-'])))
}

/// Returns the status of words, of a mark, or of a mark and words; of the latter, known words
/// decide. `None` if they say nothing known.
pub(crate) fn of_text(text: &str) -> Option<TaskStatus> {
    let text = text.trim_matches(['*', '_', ' ', '`']);
    let (mark, rest) =
        leading_mark(text).map_or((None, text), |(status, rest)| (Some(status), rest));
    if mark.is_some() && rest.is_empty() {
        return mark;
    }
    of_words(rest).or(mark)
}

/// Returns the status of words, which a remark in parentheses or after a dash may follow, and of a
/// done task also when or where it was done.
fn of_words(text: &str) -> Option<TaskStatus> {
    if lists_values(text) {
        return None;
    }
    of_key(&key_of(text)).or_else(|| says_when_done(text).then_some(TaskStatus::Done))
}

fn of_key(word: &str) -> Option<TaskStatus> {
    WORDS
        .iter()
        .find(|(_, words)| words.contains(&word))
        .map(|(status, _)| *status)
}

/// Reports whether a text names a word for a done task beside one for another (`open, done`), which
/// are values that a task is about rather than its status.
fn lists_values(text: &str) -> bool {
    let Some((first, second)) = text.split_once(',') else {
        return false;
    };
    let named = |text: &str| {
        Some(key_of(text))
            .filter(|word| !word.is_empty())
            .and_then(|word| of_key(&word))
    };
    let is_done = |text: &str| named(text).map(|status| status == TaskStatus::Done);
    matches!((is_done(first), is_done(second)), (Some(first), Some(second)) if first != second)
}

/// Reports whether a text is a word for a done task with the day or the place of that (`completed
/// 2025-01-31`, `merged in #12`, `done: see the log`), rather than with how much is done (`done
/// 3/5`).
fn says_when_done(text: &str) -> bool {
    let text = text.trim_matches(['*', '_', ' ', '`', '[', ']']);
    let Some((word, rest)) = text.split_once([' ', ':']) else {
        return false;
    };
    let is_done = || {
        let word = word.to_lowercase();
        WORDS
            .iter()
            .any(|(status, words)| *status == TaskStatus::Done && words.contains(&word.as_str()))
    };
    let after_colon = text
        .get(word.len()..)
        .and_then(|rest| rest.strip_prefix(": "));
    let is_remark = after_colon
        .is_some_and(|rest| is_day(rest) || !rest.starts_with(|c: char| c.is_ascii_digit()));
    (is_remark || is_day(rest) || is_place(rest)) && is_done()
}

/// Reports whether a text begins with a day in digits.
pub(crate) fn is_day(text: &str) -> bool {
    let day = text.split(' ').next().unwrap_or_default();
    let parts = || day.split(['-', '.', '/']);
    parts().count() == 3 && parts().all(is_number)
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reports whether a text names a day by its month.
fn is_day_of_month(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && text.split(' ').take(MAX_DAY_WORDS).any(is_month)
}

fn is_month(word: &str) -> bool {
    let three = word.head(3).to_lowercase();
    MONTHS.contains(&three.as_str())
}

/// Reports whether a text begins with a day without its year (`1/31`).
fn is_short_day(text: &str) -> bool {
    let day = text.split(' ').next().unwrap_or_default();
    day.starts_with(|c: char| c.is_ascii_digit()) && day.contains(['/', '-'])
}

/// Reports whether a text names a day, a commit or a pull request (`on Jan 31`, `in PR #12`),
/// rather than a version in which something was done (`fixed in v2`), which may be what a task is
/// about.
fn is_place(text: &str) -> bool {
    let Some((link, place)) = text.split_once(' ') else {
        return false;
    };
    let has_number = place.contains(|c: char| c.is_ascii_digit());
    let is_change = place.contains(['#', '!']) || place.contains("://") || place.contains("PR ");
    match link {
        "on" => is_day(place) || is_day_of_month(place) || is_short_day(place),
        "in" | "at" | "by" | "via" | "with" => {
            (has_number && is_change) || place.starts_with("commit ")
        }
        _ => false,
    }
}

/// Returns the part of a text that may be a status, without a remark after it, as it stands in the
/// table.
pub(crate) fn key_of(text: &str) -> String {
    without_remark(text).to_lowercase().replace(['-', ' '], "_")
}

fn without_remark(text: &str) -> &str {
    let text = text
        .split(['(', '–', '—', ',', '.', ';'])
        .next()
        .unwrap_or(text);
    let text = text.split_once(" - ").map_or(text, |(words, _)| words);
    text.trim_matches(['*', '_', ' ', '`', '[', ']'])
}

/// Returns the place of the words in a text that say a status; an empty range at 0 if none do.
pub(crate) fn known_words(text: &str) -> Range<usize> {
    let words = without_remark(text);
    match (words.is_empty(), of_words(text), text.find(words)) {
        (false, Some(_), Some(at)) => at..at + words.len(),
        _ => 0..0,
    }
}

/// The maximum length of a heading that is a status, and of the blanks in it.
const MAX_SECTION_BYTES: usize = 40;
const MAX_SECTION_BLANKS: usize = 3;

/// What headings that are a status may name after it: `Completed tasks`.
const NOUNS: &[&str] = &[
    " tasks",
    " items",
    " work",
    " features",
    " steps",
    " phases",
    " milestones",
    " issues",
];

/// Returns the status that the whole of a section's heading says, unless its work is open: `Done`,
/// `Completed tasks`.
pub(crate) fn of_section(heading: &str) -> Option<TaskStatus> {
    // Most headings are longer.
    if heading.len() > MAX_SECTION_BYTES
        || heading.bytes().filter(|byte| *byte == b' ').count() > MAX_SECTION_BLANKS
    {
        return None;
    }
    let lower = heading.trim_end_matches([':', ' ']).to_lowercase();
    let words = NOUNS
        .iter()
        .find_map(|noun| lower.strip_suffix(noun))
        .unwrap_or(&lower);
    // The mark of `✅ Tasks` is an ornament, and `Complete steps` says what to do.
    if words.len() < lower.len() && (words == "complete" || !words.contains(char::is_alphanumeric))
    {
        return None;
    }
    of_text(words).filter(|status| *status != TaskStatus::Todo)
}

/// Removes a status at the end of a heading (`… ✅`, `… ✅ COMPLETED`, `… (done)`) and returns it
/// with the rest.
pub(crate) fn trailing(title: &str) -> Option<(TaskStatus, &str)> {
    let (status, rest, _) = split_trailing(title)?;
    Some((status, rest))
}

/// Returns the place of the status that a line says at its beginning or at its end.
pub(crate) fn place(line: &str) -> Option<Range<usize>> {
    match leading_mark(line) {
        Some((_, rest)) => {
            let mark = line
                .get(..line.len() - rest.len())?
                .trim_end_matches([' ', ':', '-']);
            Some(0..mark.len())
        }
        None => split_trailing(line).map(|(_, _, place)| place),
    }
}

/// Splits a line into its status at the end, the text before it, and the place of the status.
fn split_trailing(title: &str) -> Option<(TaskStatus, &str, Range<usize>)> {
    let title = title.trim_end();
    // Most titles are ASCII, and so without a mark.
    let last = if title.is_ascii() {
        None
    } else {
        title.rfind(is_mark)
    };
    if let Some(at) = last.filter(|at| *at > 0) {
        let status = of_text(title.get(at..)?)?;
        let words = leading_mark(title.get(at..)?).map_or("", |(_, rest)| rest);
        let ends = words.is_empty() || of_words(words).is_some();
        let rest = title.head(at).trim_end_matches([' ', '-', '–', '—']);
        return ends.then_some((status, rest, at..title.len()));
    }
    let (open, inner) = in_parentheses(title)?;
    let status = of_text(inner)?;
    if OF_THINGS.contains(&key_of(inner).as_str()) && phase::of_heading(title).is_none() {
        return None;
    }
    Some((
        status,
        title.get(..open)?.trim_end(),
        open + 1..title.len() - 1,
    ))
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && MARKS.iter().any(|(mark, _)| *mark == c)
}

/// Returns the text in the parentheses or brackets that end a title, and the offset of the opening
/// one.
fn in_parentheses(title: &str) -> Option<(usize, &str)> {
    let open = title.strip_suffix([')', ']'])?.rfind(['(', '['])?;
    let inner = title
        .get(open + 1..title.len() - 1)
        .filter(|inner| !inner.trim().is_empty())?;
    Some((open, inner))
}

/// Returns the words of a title beside an open box that say another status, with that status: a
/// mark of what is done or blocked at its beginning, or a mark or words at its end, in parentheses
/// or after a dash.
pub(crate) fn beside_box(title: &str) -> Option<(TaskStatus, &str)> {
    let title = title.trim_end();
    // Most titles have neither marks nor parentheses nor a dash.
    let has_dash = memchr(b'-', title.as_bytes()).is_some();
    if !has_dash && title.is_ascii() && !title.ends_with([')', ']']) {
        return None;
    }
    let mark = leading_mark(title).filter(|(status, _)| !status.runs());
    if let Some((status, rest)) = mark {
        return Some((
            status,
            title
                .get(..title.len() - rest.len())?
                .trim_end_matches([' ', ':', '-']),
        ));
    }
    if let Some((status, _, place)) = split_trailing(title) {
        return Some((status, title.get(place)?)).filter(|(status, _)| *status != TaskStatus::Todo);
    }
    if let Some(words) = doubtful(title) {
        return Some((of_text(words)?, words));
    }
    let dash = [" - ", " – ", " — "]
        .into_iter()
        .filter_map(|dash| Some(title.rfind(dash)? + dash.len()))
        .max()?;
    let words = title.get(dash..)?;
    let status = of_text(words).filter(|status| *status != TaskStatus::Todo)?;
    Some((status, words))
}

/// Returns the words at the end of a title that are part of it, although they may be meant as a
/// status with which the task would not be run.
pub(crate) fn doubtful(title: &str) -> Option<&str> {
    let (_, inner) = in_parentheses(title.trim_end())?;
    let withholds = of_text(inner).is_some_and(|status| !status.runs());
    (withholds && split_trailing(title).is_none()).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use TaskStatus::{Blocked, Cancelled, Done, InProgress, Todo};

    #[test]
    fn words_and_marks_say_a_status() {
        let table = [
            ("✅", Some(Done)),
            ("✅ Done", Some(Done)),
            ("⏳ Pending", Some(Todo)),
            ("⏳", Some(InProgress)),
            ("🚧 In progress", Some(InProgress)),
            ("❌", Some(Todo)),
            ("❌ Cancelled", Some(Cancelled)),
            ("⬜", Some(Todo)),
            ("🔲 ", Some(Todo)),
            ("**Complete**", Some(Done)),
            ("Not Started", Some(Todo)),
            ("on hold", Some(Blocked)),
            ("done (v2)", Some(Done)),
            ("erledigt", Some(Done)),
            ("进行中", Some(InProgress)),
            ("", Some(Todo)),
            ("Done - merged", Some(Done)),
            ("Blocked - no key", Some(Blocked)),
            ("Done, merged in #12", Some(Done)),
            ("In progress, blocked", Some(InProgress)),
            ("open, done", None),
            ("`done`, `open`, `closed`", None),
            ("Completed 2025-01-31", Some(Done)),
            ("**completed on 31.1.2025**", Some(Done)),
            ("✅ Merged in PR #12", Some(Done)),
            ("Done: see the log", Some(Done)),
            ("Done in commit 1a2b3c", Some(Done)),
            ("done on Fri, 31 Jan", Some(Done)),
            ("done on 1/31", Some(Done)),
            ("Done: 2025-01-31", Some(Done)),
            ("Done: 3 of 5", None),
            ("Fixed on 3 pages", None),
            ("done 3/5", None),
            ("done in 2 of 5", None),
            ("done in part", None),
            ("Fixed 2 bugs", None),
            ("fixed in v2", None),
            ("blocked by 2.1", None),
            ("Done:", None),
            ("50 %", None),
        ];
        for (text, expected) in table {
            assert_eq!(of_text(text), expected, "{text}");
        }
    }

    #[test]
    fn a_title_beside_an_open_box_may_say_a_status() {
        let table = [
            ("✅ Parse", Some((Done, "✅"))),
            ("⏸\u{fe0f} Parse", Some((Blocked, "⏸\u{fe0f}"))),
            ("Parse ✅", Some((Done, "✅"))),
            ("Parse (done)", Some((Done, "done"))),
            ("Parse (in progress)", Some((InProgress, "in progress"))),
            ("Parse (closed)", Some((Done, "closed"))),
            ("Parse — DONE", Some((Done, "DONE"))),
            ("Parse - cancelled", Some((Cancelled, "cancelled"))),
            ("🔄 Synchronise", None),
            ("Parse (todo)", None),
            ("Parse ❌", None),
            ("Parse - the dates", None),
            ("Show what is done", None),
            ("", None),
        ];
        for (title, expected) in table {
            assert_eq!(beside_box(title), expected, "{title}");
        }
    }

    #[test]
    fn a_heading_may_end_with_its_status() {
        let table = [
            ("Phase 1: Setup ✅", Some((Done, "Phase 1: Setup"))),
            (
                "Task 2 - Build ✅ COMPLETED",
                Some((Done, "Task 2 - Build")),
            ),
            ("Stage 3 (in progress)", Some((InProgress, "Stage 3"))),
            ("Use ✅ as a mark", None),
            ("Task 4 (optional)", None),
            ("Task 6: Handle sockets (closed)", None),
            ("Task 6: Handle (done) sockets", None),
            ("Task 6: Filter orders (done, open)", None),
            ("Task 7: Crash (fixed)", Some((Done, "Task 7: Crash"))),
            (
                "Task 8: Parse (completed 2025-01-31)",
                Some((Done, "Task 8: Parse")),
            ),
            ("Task 9: Show (blocked by Task 1)", None),
            (
                "Phase 3: Sockets (closed)",
                Some((Done, "Phase 3: Sockets")),
            ),
            ("Task 5", None),
        ];
        for (title, expected) in table {
            assert_eq!(trailing(title), expected, "{title}");
        }
    }
}
