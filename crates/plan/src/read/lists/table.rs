//! Parses tables whose rows are tasks: those with a column for the task and one for its status.
//!
//! The parser of [`crate::read::lines::outline`] reads tables as paragraphs, so that their text
//! stays as written elsewhere.

use std::ops::Range;

use crate::read::lines::source::Source;
use crate::read::lists::checkbox::read_box;
use crate::read::states::status;
use orchestrate_core::text::parts::Parts;

/// Headings of the column that names the task.
const TASK_COLUMNS: &[&str] = &[
    "task",
    "tasks",
    "item",
    "title",
    "step",
    "story",
    "feature",
    "work",
    "description",
    "name",
    "todo",
    "deliverable",
    "bug",
    "issue",
    "problem",
    "requirement",
    "component",
    "module",
    "milestone",
    "phase",
    "funktion",
    "fonctionnalité",
    "funcionalidad",
    "funcionalidade",
    "функция",
    "功能",
    "機能",
    "기능",
    "aufgabe",
    "tâche",
    "tarea",
    "tarefa",
    "attività",
    "задача",
    "任务",
    "タスク",
    "작업",
];
/// Headings of the column with its status.
const STATUS_COLUMNS: &[&str] = &[
    "status",
    "state",
    "done",
    "done?",
    "complete",
    "completed",
    "completed?",
    "✅",
    "✓",
    "✔",
    "☑",
    "progress",
    "erledigt",
    "fertig",
    "fait",
    "hecho",
    "feito",
    "fatto",
    "zustand",
    "stand",
    "statut",
    "état",
    "estado",
    "stato",
    "статус",
    "状态",
    "ステータス",
    "状態",
    "상태",
];
/// Headings of the column with its id.
const ID_COLUMNS: &[&str] = &[
    "id", "#", "no", "nr", "num", "number", "no.", "nr.", "task id", "编号", "番号",
];

/// The cell of a table: its byte range in the source, trimmed.
type Cell = Range<usize>;

/// One row of a table of tasks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The byte offset of its line.
    pub(crate) at: usize,
    pub(crate) id: Option<Cell>,
    pub(crate) title: Cell,
    pub(crate) status: Cell,
    /// The other cells that are not empty, each with the heading of its column.
    pub(crate) others: Vec<(Cell, Cell)>,
}

/// Returns the rows of a paragraph that is a table of tasks; `None` for any other paragraph.
pub(crate) fn rows(source: &Source<'_>, paragraph: Range<usize>) -> Option<Vec<Row>> {
    if !source.slice(paragraph.clone()).contains('|') {
        return None;
    }
    let lines: Vec<(usize, &str)> = source.lines(paragraph).collect();
    let rule = lines
        .iter()
        .position(|(_, line)| is_rule(line))
        .filter(|at| *at > 0)?;
    let (offset, line) = lines.get(rule - 1)?;
    let columns = cells(*offset, line);
    let find = |names: &[&str]| {
        let is_named = |cell: &Cell| names.contains(&plain(source.slice(cell.clone())).as_str());
        columns.iter().position(is_named)
    };
    let status = find(STATUS_COLUMNS)?;
    let id = find(ID_COLUMNS);
    let is_other = |at: &usize| *at != status && Some(*at) != id;
    let named = TASK_COLUMNS.iter().find_map(|name| find(&[name]));
    // A column of any other name is the task's if all that the table says of its rows is a status.
    // Answers and marks alone may as well say which features a thing has.
    let unnamed = || {
        columns
            .get(status)
            .filter(|cell| source.slice((*cell).clone()).contains(char::is_alphabetic))?;
        let first = (0..columns.len()).find(is_other)?;
        let says_status = |(offset, line): &(usize, &str)| {
            cells(*offset, line)
                .get(status)
                .is_some_and(|cell| is_status(source.slice(cell.clone())))
        };
        lines
            .iter()
            .skip(rule + 1)
            .all(says_status)
            .then_some(first)
    };
    let title = named.or_else(unnamed).filter(is_other)?;
    let read = |(offset, line): &(usize, &str)| {
        let own = cells(*offset, line);
        let cell = |at: usize| own.get(at).cloned().filter(|cell| !cell.is_empty());
        // A table may have many more columns than most of its rows have cells.
        let width = columns.len().min(own.len());
        let others = (0..width).filter(|at| *at != title && *at != status && Some(*at) != id);
        Some(Row {
            at: *offset,
            id: id.and_then(cell),
            title: cell(title)?,
            status: own.get(status).cloned().unwrap_or(*offset..*offset),
            others: others
                .filter_map(|at| Some((columns.get(at)?.clone(), cell(at)?)))
                .collect(),
        })
    };
    Some(lines.iter().skip(rule + 1).filter_map(read).collect())
}

/// Reports whether a cell says a status: a known word, a mark or a box.
fn is_status(text: &str) -> bool {
    !text.is_empty() && (read_box(text).is_some() || status::of_text(text).is_some())
}

fn plain(text: &str) -> String {
    text.trim_matches(['*', '_', '`', ' ', '\u{fe0f}'])
        .to_lowercase()
}

/// Reports whether a line separates the head of a table from its rows: `|---|:-:|`.
fn is_rule(line: &str) -> bool {
    line.contains('|')
        && line.contains('-')
        && line
            .bytes()
            .all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t'))
}

/// Splits a line at the bars outside code and not escaped.
fn cells(offset: usize, line: &str) -> Vec<Cell> {
    let start = line.len() - line.trim_start().trim_start_matches('|').len();
    let end = line
        .trim_end()
        .strip_suffix('|')
        .map_or(line.trim_end().len(), str::len)
        .max(start);
    let mut bars = Vec::new();
    let (mut in_code, mut is_escaped) = (false, false);
    for (at, byte) in line.bytes().enumerate().take(end).skip(start) {
        match byte {
            b'`' => in_code = !in_code,
            b'|' if !in_code && !is_escaped => bars.push(at),
            _ => {}
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    bars.push(end);
    let mut from = start;
    let mut found = Vec::new();
    for bar in bars {
        let raw = line.part(from..bar);
        let lead = raw.len() - raw.trim_start().len();
        let begin = offset + from + lead;
        found.push(begin..begin + raw.trim().len());
        from = bar + 1;
    }
    found
}

/// Returns the headings of the columns of a table whose rows are tasks.
pub(crate) fn columns(rows: &[Row]) -> Vec<&Range<usize>> {
    let mut columns: Vec<&Range<usize>> = rows
        .iter()
        .flat_map(|row| &row.others)
        .map(|(column, _)| column)
        .collect();
    columns.sort_unstable_by_key(|column| column.start);
    columns.dedup();
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns id, title, status and the other cells of each row.
    fn parsed(text: &str) -> Option<Vec<String>> {
        let source = Source::new(text);
        let slice = |cell: &Cell| source.slice(cell.clone()).to_owned();
        let row = |row: &Row| {
            let others: Vec<String> = row
                .others
                .iter()
                .map(|(head, cell)| format!("{}={}", slice(head), slice(cell)))
                .collect();
            let id = row.id.as_ref().map(slice).unwrap_or_default();
            format!(
                "{id}: {} [{}] {}",
                slice(&row.title),
                slice(&row.status),
                others.join(" ")
            )
        };
        Some(rows(&source, 0..text.len())?.iter().map(row).collect())
    }

    #[test]
    fn a_table_of_tasks_has_a_task_and_a_status() {
        let table = "| # | Task | Owner | Status |\n|---|:----|---|---|\n| 1 | Add `a|b` | x | ✅ Done |\n| 2 | Go | | |\n";
        let expected = ["1: Add `a|b` [✅ Done] Owner=x", "2: Go [] "];
        assert_eq!(parsed(table), Some(expected.map(str::to_owned).to_vec()));
        let expected = vec![": Build [todo] ".to_owned()];
        assert_eq!(
            parsed("Task | **Status**\n--- | ---\nBuild | todo"),
            Some(expected)
        );
        for other in [
            "| Task | Owner |\n|---|---|\n| a | b |",
            "| a | b |",
            "Task | Status\n",
            "| Library | Complete |\n|---|---|\n| a | yes |\n| b | no |",
            "| Library | ✅ |\n|---|---|\n| a | ✅ |\n| b | ❌ |",
            "text",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }
}
