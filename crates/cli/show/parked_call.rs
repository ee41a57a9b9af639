//! Shows a tool call that waits for approval: in full before it is approved, in one line elsewhere.
//!
//! No part of a call can hide: a character that a terminal would not show is escaped, and so is one
//! that only looks like a letter or a blank. Everything here except [`show`] is a pure function.

use std::collections::{BTreeMap, BTreeSet};

use orchestrate_core::run::Approval;
use orchestrate_core::text::invisible::is_invisible;
use orchestrate_core::{CallHash, Event, Recorded, shown_hash, truncate};
use serde_json::Value;
use unicode_script::{Script, UnicodeScript as _};

use crate::error::CommandError;
use crate::json::EventLine;
use crate::show::{columns, output, terminal};

/// The prefix of each line of an argument.
const QUOTE: &str = "  | ";
/// The maximum length, in characters, of an argument on the line of its name.
const SHORT: usize = 60;
/// The maximum number of letters of a script that are named one by one: an alphabet in both cases,
/// so that none of its letters hides.
const MAX_NAMED_LETTERS: usize = 128;
/// Rows of the screen that a page leaves to the question.
const RESERVED_ROWS: usize = 2;

/// Returns the whole call, in several lines.
pub(crate) fn whole(approval: &Approval) -> String {
    let task = &approval.task;
    let tool = written(&approval.tool);
    let rule = written(&approval.rule);
    let mut text = format!("task {task} requests {tool}; the rule {rule} requires your approval\n");
    match &approval.arguments {
        Value::Null => text.push_str(&argument("call", &approval.summary)),
        given => text.push_str(&arguments(given)),
    }
    text.push_str(&letters(&approval.arguments.to_string()));
    text
}

/// Reports whether all of a call is recorded, and none of it would be redacted when it is shown.
pub(crate) fn is_whole(approval: &Approval) -> bool {
    let parts = [
        &approval.tool,
        &approval.summary,
        &approval.arguments.to_string(),
    ];
    orchestrate_core::is_whole(approval) && !parts.iter().any(|part| output::hides_in(part))
}

/// Returns the hash that an approval of a call has to name; `None` if the call cannot be shown in
/// full, and therefore not be approved.
pub(crate) fn hash_to_approve(call: &CallHash, approval: &Approval) -> Option<String> {
    is_whole(approval).then(|| shown_hash(call, approval))
}

/// Returns an event as a line of JSON, with the hash that an approval has to name.
pub(crate) fn event_line(fact: &Recorded) -> EventLine {
    let mut line = EventLine::new(fact);
    if let Event::ApprovalRequested { call, .. } = &fact.event {
        let asked = Approval::requested_by(&fact.event);
        line.hash = asked.and_then(|asked| hash_to_approve(call, &asked));
    }
    line
}

/// Returns a call in one line of about `width` characters, with the number of characters left out.
pub(crate) fn line(text: &str, width: usize) -> String {
    truncate(&written(text), width)
}

/// Returns the whole arguments of a call that has run, for a log.
pub(crate) fn arguments(arguments: &Value) -> String {
    match arguments {
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|field| argument(&written(field.0), &text_of(field.1)))
                .collect()
        }
        other => argument("arguments", &text_of(other)),
    }
}

/// Shows a text on standard error, a screen at a time; returns whether the user has seen all of it.
pub(crate) fn show(text: &str) -> Result<bool, CommandError> {
    let (rows, columns) = terminal::size().unwrap_or((usize::MAX, usize::MAX));
    let room = rows.saturating_sub(RESERVED_ROWS).max(1);
    let pages = pages(text, room, columns.max(1));
    for (number, page) in pages.iter().enumerate() {
        output::note(page);
        let left = pages.len() - number - 1;
        if left > 0 {
            let question = format!("-- {left} more: Enter continues, q leaves it undecided -- ");
            if output::ask(&question).is_none_or(|answer| answer.starts_with('q')) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Splits a text into pages of `rows` rows; a line that is wider than the screen takes several.
fn pages(text: &str, rows: usize, columns: usize) -> Vec<String> {
    let (mut pages, mut page, mut used) = (Vec::new(), Vec::new(), 0);
    for line in text.lines().flat_map(|line| rows_of(line, columns)) {
        if used == rows {
            pages.push(std::mem::take(&mut page).join("\n"));
            used = 0;
        }
        page.push(line);
        used += 1;
    }
    pages.push(page.join("\n"));
    pages
}

/// Splits a line into the rows that it takes on the screen.
fn rows_of(line: &str, columns: usize) -> Vec<&str> {
    let (first, mut rest) = columns::split(line, columns);
    let mut rows = vec![first];
    while !rest.is_empty() {
        let (row, behind) = columns::split(rest, columns);
        rows.push(row);
        rest = behind;
    }
    rows
}

/// Returns one argument, or a project's command, in full, with characters that would not show
/// escaped.
pub(crate) fn argument(name: &str, text: &str) -> String {
    if !text.contains('\n') && text.chars().count() <= SHORT {
        return format!("{name}: {}\n", written(text));
    }
    let (lines, characters) = (text.split('\n').count(), text.chars().count());
    let noun = if lines == 1 { "line" } else { "lines" };
    let mut block = format!("{name} ({lines} {noun}, {characters} characters):\n");
    for line in text.split('\n') {
        block += &format!("{QUOTE}{}\n", written(line));
    }
    block
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Escapes every character that is not a letter, digit, ASCII punctuation or blank within a line.
fn written(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    let end = line.trim_end_matches(' ').len();
    for (at, c) in line.char_indices() {
        match c {
            ' ' if at >= end => safe.extend(c.escape_unicode()),
            '\n' | '\r' | '\t' => safe.extend(c.escape_default()),
            ' ' => safe.push(c),
            _ if c.is_ascii_graphic() || c.is_alphanumeric() && !is_invisible(c) => safe.push(c),
            _ => safe.extend(c.escape_unicode()),
        }
    }
    safe
}

/// Names the non-ASCII letters, script by script, since some look like ASCII letters. An alphabet
/// is named letter by letter; of a larger script, the first letters and the number of the others.
fn letters(text: &str) -> String {
    let mut scripts: BTreeMap<&str, BTreeSet<char>> = BTreeMap::new();
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    for c in letters.filter(|c| !c.is_ascii()) {
        scripts.entry(script_of(c)).or_default().insert(c);
    }
    let mut lines = String::new();
    for (script, found) in scripts {
        let named = output::joined(found.iter().take(MAX_NAMED_LETTERS).map(named));
        lines += &format!("non-ASCII letters, {script}: {named}");
        if found.len() > MAX_NAMED_LETTERS {
            lines += &format!(", and {} more", found.len() - MAX_NAMED_LETTERS);
        }
        lines += "\n";
    }
    lines
}

fn named(c: &char) -> String {
    format!("{} is U+{:04X}", written(&c.to_string()), u32::from(*c))
}

/// Returns the name of a letter's script; letters of several scripts, such as mathematical ones,
/// have none.
fn script_of(c: char) -> &'static str {
    match c.script() {
        Script::Common | Script::Inherited | Script::Unknown => "of no script",
        script => script.full_name(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(arguments: Value) -> Approval {
        let (tool, rule) = ("run_shell_command".to_owned(), "ask:Bash(rm *)".to_owned());
        Approval {
            task: "T1".into(),
            tool,
            summary: String::new(),
            arguments,
            rule,
            decision: None,
        }
    }

    #[test]
    fn nothing_of_a_call_hides() {
        let command = format!(
            "echo {}\n\u{1b}[2J\u{202e}rm\u{3164} -rf\u{a0}src \n\tg\u{456}t",
            "a".repeat(5_000)
        );
        let shown = whole(&asked(json!({"command": command, "timeout": 5})));
        let expected = format!(
            "task T1 requests run_shell_command; the rule ask:Bash(rm *) requires your approval\n\
             command (3 lines, {} characters):\n  | echo {}\n  | \
             \\u{{1b}}[2J\\u{{202e}}rm\\u{{3164}} -rf\\u{{a0}}src\\u{{20}}\n  | \\tg\u{456}t\n\
             timeout: 5\n",
            command.chars().count(),
            "a".repeat(5_000)
        );
        let (before, letters) = shown.split_at(expected.len());
        assert_eq!(before, expected);
        assert!(letters.contains("\u{456} is U+0456"), "{letters}");
    }

    #[test]
    fn a_line_says_what_it_leaves_out() {
        assert_eq!(line("rm -rf src", 20), "rm -rf src");
        assert_eq!(line("rm -rf src", 6), "rm -rf… (4 more characters)");
    }

    #[test]
    fn no_letter_hides_behind_others() {
        let cyrillic: String = ('\u{430}'..='\u{44f}').collect();
        let command = format!(
            "echo {cyrillic} {} \u{3bf}k \u{1d41a} \u{ff41}",
            "日本語".repeat(50)
        );
        let shown = letters(&command);
        for named in [
            "Cyrillic: \u{430} is U+0430, ",
            "\u{44f} is U+044F\n",
            "Greek: \u{3bf} is U+03BF\n",
            "Han: 日 is U+65E5, 本 is U+672C, 語 is U+8A9E\n",
            "of no script: \u{1d41a} is U+1D41A\n",
            "Latin: \u{ff41} is U+FF41\n",
        ] {
            assert!(shown.contains(named), "{named} {shown}");
        }
        let many: String = ('\u{4e00}'..'\u{4f00}').collect();
        assert!(letters(&many).ends_with(", and 128 more\n"));
    }

    #[test]
    fn every_row_is_on_a_page() {
        assert_eq!(pages("日本語\n", 2, 4), ["日本\n語"]);
        assert_eq!(
            pages("one\n\nthree\nfour", 2, 4),
            ["one\n", "thre\ne", "four"]
        );
        assert_eq!(pages("one", 5, 80), ["one"]);
    }
}
