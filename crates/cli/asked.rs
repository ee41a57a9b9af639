//! A tool call that waits for a person, as that person sees it: whole before it is approved, in one line elsewhere.
//!
//! Nothing of a call can hide: what a terminal would not show is written out, and so is what only looks like a letter
//! or a blank. Everything here but [`show`] is a pure function.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use orchestrate_core::invisible::is_invisible;
use orchestrate_core::run_state::Approval;
use serde_json::Value;

use crate::error::CommandError;

use crate::{output, terminal};

/// What each line of an argument begins with.
const QUOTE: &str = "  | ";
/// The longest text of one line that stands beside its name.
const SHORT: usize = 60;
/// Letters beyond ASCII that are named one by one; a call with more of them is in another script.
const MAX_NAMED_LETTERS: usize = 12;
/// Lines of the screen that a page leaves to the question.
const RESERVED_ROWS: usize = 2;

/// Returns the whole call, several lines.
pub(crate) fn whole(approval: &Approval) -> String {
    let Approval { task, tool, rule, arguments, .. } = approval;
    let mut text = format!("task {task} asks for {}, since the rule {} asks a person\n", written(tool), written(rule));
    match arguments {
        Value::Null => text.push_str(&argument("call", &approval.summary)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| text.push_str(&argument(&written(name), &text_of(value))));
        }
        other => text.push_str(&argument("arguments", &text_of(other))),
    }
    text.push_str(&letters(&arguments.to_string()));
    text
}

/// Reports whether all of a call is recorded, and whether this program would show all of it.
pub(crate) fn is_whole(approval: &Approval) -> bool {
    let parts = [&approval.tool, &approval.summary, &approval.arguments.to_string()];
    orchestrate_coordinator::is_whole(approval) && !parts.iter().any(|part| output::hides_in(part))
}

/// Returns a call in one line of about so many characters, which says how many it leaves out.
pub(crate) fn line(text: &str, width: usize) -> String {
    let safe = written(text);
    let more = safe.chars().count().saturating_sub(width);
    match safe.char_indices().nth(width) {
        Some((at, _)) => format!("{}… ({more} more characters)", safe.get(..at).unwrap_or_default()),
        None => safe,
    }
}

/// Returns the whole arguments of a call that has run, for a log.
pub(crate) fn arguments(arguments: &Value) -> String {
    match arguments {
        Value::Object(fields) => fields.iter().map(|(name, value)| argument(&written(name), &text_of(value))).collect(),
        other => argument("arguments", &text_of(other)),
    }
}

/// Shows a text on standard error, a screen at a time; tells whether the person has seen all of it.
pub(crate) fn show(text: &str) -> Result<bool, CommandError> {
    let (rows, columns) = terminal::size().unwrap_or((usize::MAX, usize::MAX));
    let room = rows.saturating_sub(RESERVED_ROWS).max(1);
    let pages = pages(text, room, columns.max(1));
    for (number, page) in pages.iter().enumerate() {
        output::note(page);
        let left = pages.len() - number - 1;
        if left > 0 {
            let question = format!("-- {left} more: Enter shows the next, q leaves it undecided -- ");
            if output::ask(&question).is_none_or(|answer| answer.starts_with('q')) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Cuts a text into pages of so many rows; a line that is wider than the screen takes several.
fn pages(text: &str, rows: usize, columns: usize) -> Vec<String> {
    let (mut pages, mut page, mut used) = (Vec::new(), Vec::new(), 0);
    let lines = text.lines().flat_map(|line| {
        let chars: Vec<char> = line.chars().collect();
        let pieces: Vec<String> = chars.chunks(columns).map(|piece| piece.iter().collect()).collect();
        if pieces.is_empty() { vec![String::new()] } else { pieces }
    });
    for line in lines {
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

/// Returns one argument, or another's command, whole: what no line shows is written out.
pub(crate) fn argument(name: &str, text: &str) -> String {
    if !text.contains('\n') && text.chars().count() <= SHORT {
        return format!("{name}: {}\n", written(text));
    }
    let (lines, characters) = (text.split('\n').count(), text.chars().count());
    let mut block =
        format!("{name} ({lines} {}, {characters} characters):\n", if lines == 1 { "line" } else { "lines" });
    text.split('\n').for_each(|line| _ = writeln!(block, "{QUOTE}{}", written(line)));
    block
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Writes out every character that is no letter, digit, sign of ASCII or blank within a line.
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

/// Names the letters beyond ASCII: some look like those of ASCII.
fn letters(text: &str) -> String {
    let found: BTreeSet<char> = text.chars().filter(|c| !c.is_ascii() && c.is_alphanumeric()).collect();
    if found.is_empty() {
        return String::new();
    }
    let named = |c: &char| format!("{} is U+{:04X}", written(&c.to_string()), u32::from(*c));
    let all: Vec<String> = found.iter().take(MAX_NAMED_LETTERS).map(named).collect();
    let more = if found.len() > all.len() { ", and others" } else { "" };
    format!("letters beyond ASCII: {}{more}\n", all.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(arguments: Value) -> Approval {
        let (tool, rule) = ("run_shell_command".to_owned(), "ask:Bash(rm *)".to_owned());
        Approval { task: "T1".into(), tool, summary: String::new(), arguments, rule, decision: None }
    }

    #[test]
    fn nothing_of_a_call_hides() {
        let command = format!("echo {}\n\u{1b}[2J\u{202e}rm\u{3164} -rf\u{a0}src \n\tg\u{456}t", "a".repeat(5_000));
        let shown = whole(&asked(json!({"command": command, "timeout": 5})));
        let expected = format!(
            "task T1 asks for run_shell_command, since the rule ask:Bash(rm *) asks a person\n\
             command (3 lines, {} characters):\n  | echo {}\n  | \\u{{1b}}[2J\\u{{202e}}rm\\u{{3164}} -rf\\u{{a0}}src\\u{{20}}\n  \
             | \\tg\u{456}t\ntimeout: 5\n",
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
    fn every_row_is_on_a_page() {
        assert_eq!(pages("one\n\nthree\nfour", 2, 4), ["one\n", "thre\ne", "four"]);
        assert_eq!(pages("one", 5, 80), ["one"]);
    }
}
