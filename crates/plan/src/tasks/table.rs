//! Parses tables whose rows are tasks: those with a column for the task and one for its status, by
//! their headings or by the marks in their cells.
//!
//! The parser of [`crate::lines::outline`] reads tables as paragraphs, so that their text
//! stays as written elsewhere.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::fields::identify::{self, Leading};
use crate::fields::key::{Key, key_of};
use crate::lines::source::Source;
use crate::lines::text::all_digits;
use crate::tasks::checkbox::read_box;
use crate::tasks::status;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

/// Headings of a column of tasks, parted by bars; below one of the others there may be something
/// else.
const TASK_COLUMNS: &str = "task|tasks|todo|step|story|issue|bug|deliverable|item|work|milestone";
const OTHER_COLUMNS: &str =
    "title|feature|description|name|problem|requirement|component|module|phase";

/// Headings of a column of tasks even where nothing says how far these are, and those that are so
/// as the first column or beside one of ids.
const SURE_COLUMNS: &str = "task|tasks|todo|story|deliverable";
const LISTED_COLUMNS: &str = "milestone|step|issue";

/// What the ids of tasks, stories, phases and milestones begin with.
const LETTERS: &[&str] = &["T", "TASK", "S", "US", "P", "M"];

/// The number of rows from which on a first column of ids makes a list.
const LEAST_ROWS: usize = 2;

/// Headings of the column with its status.
const STATUS_COLUMNS: &str =
    "status|state|done|done?|complete|completed|completed?|progress|✅|✓|✔|☑";

/// Headings of the column with its id.
const ID_COLUMNS: &str = "id|#|no|nr|num|number|no.|nr.|task id";

/// Titles of rows that sum the others up.
const SUMS: [&str; 4] = ["total", "totals", "overall", "sum"];

/// What the line between the head of a table and its rows is made of.
const RULE: [char; 5] = ['|', '-', ':', ' ', '\t'];

/// The cell of a table: its byte range in the source, trimmed.
type Cell = Range<usize>;

/// A table of tasks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// Whether its rows can hardly be anything but tasks: they are numbered or called so, or have
    /// boxes.
    pub(crate) is_certain: bool,
    /// Whether it says how far its tasks are, or what they wait for.
    pub(crate) is_tracked: bool,
}

/// One row of a table of tasks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The byte offset of its line.
    pub(crate) at: usize,
    pub(crate) id: Option<Cell>,
    pub(crate) title: Cell,
    /// Empty at the beginning of its line if there is none.
    pub(crate) status: Cell,
    /// Whether a mark of what is done stands in the column of the status, so that a colour there
    /// says something else.
    pub(crate) is_beside_marks: bool,
    /// The other cells that are not empty, each with the heading of its column.
    pub(crate) others: Vec<(Cell, Cell)>,
}

/// The lines of a table.
struct Lines {
    columns: Vec<Cell>,
    body: Vec<Line>,
}

/// Splits a paragraph that is a table; `None` for any other paragraph.
fn split(source: &Source<'_>, paragraph: Range<usize>) -> Option<Lines> {
    if !source.slice(paragraph.clone()).contains('|') {
        return None;
    }
    let lines: Vec<(usize, &str)> = source.lines(paragraph).collect();
    let rule = lines
        .iter()
        .position(|(_, line)| is_rule(line))
        .filter(|at| *at > 0)?;
    let (offset, line) = lines.get(rule - 1)?;
    let mut body = Vec::new();
    for (offset, line) in lines.iter().skip(rule + 1) {
        body.push(Line {
            at: *offset,
            cells: cells(*offset, line),
        });
    }
    let columns = cells(*offset, line);
    Some(Lines { columns, body })
}

/// Reads a paragraph that is a table of tasks; `None` for any other paragraph.
pub(crate) fn read(source: &Source<'_>, paragraph: Range<usize>) -> Option<Table> {
    let Lines { columns, body } = split(source, paragraph)?;
    let grid = Grid {
        source,
        columns: &columns,
        body: &body,
    };
    let places = grid.places()?;
    let mut rows = Vec::new();
    for line in &body {
        rows.extend(grid.row(line, &places));
    }
    let has_box = rows
        .iter()
        .any(|row| is_box(source.slice(row.status.clone())));
    let is_certain = places.id.is_some() || places.is_called_task || has_box;
    Some(Table {
        rows,
        is_certain,
        is_tracked: places.is_tracked,
    })
}

/// A line of a table.
struct Line {
    at: usize,
    cells: Vec<Cell>,
}

impl Line {
    /// Returns a cell, unless it is empty.
    fn cell(&self, column: usize) -> Option<Cell> {
        let cell = self.cells.get(column).cloned();
        cell.filter(|cell| !cell.is_empty())
    }
}

/// The columns that make a table one of tasks.
struct Places {
    id: Option<usize>,
    title: usize,
    status: Option<usize>,
    /// Whether the heading of the title says that the rows are tasks.
    is_called_task: bool,
    /// Whether there is a status, or a column of what a task waits for.
    is_tracked: bool,
    /// Whether a mark of what is done stands in the column of the status.
    has_done_marks: bool,
}

/// A table before it is known what its columns are.
struct Grid<'g, 'a> {
    source: &'g Source<'a>,
    columns: &'g [Cell],
    body: &'g [Line],
}

impl Grid<'_, '_> {
    /// Returns the column whose heading is the first of these names that one has.
    fn named(&self, names: &str) -> Option<usize> {
        let headings = self.columns.iter();
        let headings: Vec<String> = headings
            .map(|cell| plain(self.source.slice(cell.clone())))
            .collect();
        let mut names = names.split('|');
        names.find_map(|name| headings.iter().position(|heading| heading == name))
    }

    /// Reports whether all cells of a column are such ones, and there are some.
    fn all(&self, column: usize, is: fn(&str) -> bool) -> bool {
        let mut texts = self.body.iter().map(|line| self.text(line, column));
        !self.body.is_empty() && texts.all(is)
    }

    fn has_done_marks(&self, column: usize) -> bool {
        let mut texts = self.body.iter().map(|line| self.text(line, column));
        texts.any(|text| {
            status::leading_mark(text).is_some_and(|(status, _)| status == TaskStatus::Done)
        })
    }

    /// Returns the text of a cell; empty if the line is too short.
    fn text(&self, line: &Line, column: usize) -> &str {
        let cell = line.cells.get(column).cloned();
        self.source.slice(cell.unwrap_or(0..0))
    }

    fn places(&self) -> Option<Places> {
        let first_is_id = self.all(0, is_number) || self.all(0, is_id_with_mark);
        let id = self.named(ID_COLUMNS).or(first_is_id.then_some(0));
        let called = self.named(TASK_COLUMNS);
        let of_marks = self.column_of_marks().filter(|at| Some(*at) != id);
        let status = self.named(STATUS_COLUMNS).or(of_marks);
        if called.is_none() && id.is_none() && status == Some(0) && self.is_legend() {
            return None;
        }
        let begins_with_ids = self.all(0, begins_with_id);
        let has_rows = self.body.len() >= LEAST_ROWS;
        let title = called
            .or((id.is_none() && begins_with_ids).then_some(0))
            .or_else(|| self.other(id, status))
            .or_else(|| self.unnamed(id, status?))
            .or_else(|| has_rows.then_some(self.first_without_key(id?)));
        let title = title.filter(|title| Some(*title) != id && Some(*title) != status)?;
        // A column of numbers says how many tasks there are.
        if self.all(title, |text| is_number(text.trim_matches('*'))) {
            return None;
        }
        let is_plan = id.is_some() && called.is_some() && self.names_dependencies();
        let is_tracked = status.is_some() || is_plan;
        let is_listed = self.named(LISTED_COLUMNS) == Some(title) && (title == 0 || id.is_some())
            || self.named("item") == Some(title) && id.is_some();
        let has_ids = self.all(0, is_id_with_mark) || begins_with_ids;
        let is_list = has_rows && (is_listed || has_ids);
        let is_sure = self.named(SURE_COLUMNS) == Some(title);
        (is_tracked || is_sure || is_list).then_some(Places {
            id,
            title,
            status,
            is_called_task: called == Some(title),
            is_tracked,
            has_done_marks: status.is_some_and(|at| self.has_done_marks(at)),
        })
    }

    /// Returns the column of a known name that may be that of the title. Among columns of other
    /// names, "Description" is not.
    fn other(&self, id: Option<usize>, status: Option<usize>) -> Option<usize> {
        let found = self.named(OTHER_COLUMNS)?;
        let is_described = self.named("description") == Some(found) && id.is_some();
        let is_foreign = is_described && self.named(STATUS_COLUMNS).is_none();
        let first = status.filter(|_| is_foreign);
        let unnamed = first.and_then(|status| self.unnamed(id, status));
        unnamed.or(Some(found))
    }

    /// Returns the first column behind one that says what a task is rather than who does it, or
    /// where; else the next one.
    fn first_without_key(&self, id: usize) -> usize {
        let mut columns = (id + 1..).zip(self.columns.iter().skip(id + 1));
        let found =
            columns.find(|(_, cell)| key_of(&plain(self.source.slice((*cell).clone()))).is_none());
        found.map_or(id + 1, |(at, _)| at)
    }

    /// Reports whether the first column has a different status in each row: the table says what
    /// these mean.
    fn is_legend(&self) -> bool {
        let mut said = BTreeSet::new();
        let mut texts = self.body.iter().map(|line| self.text(line, 0));
        texts.all(|text| is_status(text.trim_matches('`')) && said.insert(text))
    }

    /// Returns the only column of boxes, or of marks of which one says that work is left.
    fn column_of_marks(&self) -> Option<usize> {
        let mut found = Vec::new();
        for column in 0..self.columns.len() {
            let mut texts = self.body.iter().map(|line| self.text(line, column));
            if self.all(column, is_mark) && texts.any(says_open) {
                found.push(column);
            }
        }
        found.pop().filter(|_| found.is_empty())
    }

    /// Returns the first column beside the status and the id: it is the task's, whatever its name,
    /// if all that the table says of its rows is a status. Answers and marks alone may as well say
    /// which features a thing has.
    fn unnamed(&self, id: Option<usize>, status: usize) -> Option<usize> {
        let heading = self.source.slice(self.columns.get(status)?.clone());
        let mut columns = 0..self.columns.len();
        let first = columns.find(|column| *column != status && Some(*column) != id);
        first.filter(|_| heading.contains(char::is_alphabetic) && self.all(status, is_status))
    }

    fn names_dependencies(&self) -> bool {
        self.columns.iter().any(|cell| {
            let heading = plain(self.source.slice(cell.clone()));
            key_of(&heading) == Some(Key::Depends)
        })
    }

    fn row(&self, line: &Line, places: &Places) -> Option<Row> {
        let title = line.cell(places.title)?;
        if SUMS.contains(&plain(self.source.slice(title.clone())).as_str()) {
            return None;
        }
        let own = [Some(places.title), places.status, places.id];
        // A table may have many more columns than most of its rows have cells.
        let width = self.columns.len().min(line.cells.len());
        let mut others = Vec::new();
        for at in (0..width).filter(|at| !own.contains(&Some(*at))) {
            if let (Some(column), Some(cell)) = (self.columns.get(at), line.cell(at)) {
                others.push((column.clone(), cell));
            }
        }
        let mut status = places.status.and_then(|at| line.cells.get(at)).cloned();
        let mut id = places.id.and_then(|at| line.cell(at));
        if status.is_none()
            && let Some(cell) = &mut id
            && let Some((_, rest)) = status::leading_mark(self.source.slice(cell.clone()))
            && !rest.is_empty()
        {
            let start = cell.end - rest.len();
            let mark = self.source.slice(cell.start..start).trim_end();
            status = Some(cell.start..cell.start + mark.len());
            cell.start = start;
        }
        Some(Row {
            at: line.at,
            id,
            title,
            status: status.unwrap_or(line.at..line.at),
            is_beside_marks: places.has_done_marks,
            others,
        })
    }
}

fn is_box(text: &str) -> bool {
    read_box(text.trim_matches('`')).is_some()
}

/// Reports whether a cell is a box or begins with a mark of a status.
fn is_mark(text: &str) -> bool {
    is_box(text) || status::leading_mark(text).is_some()
}

/// Reports whether a mark says that work is left, rather than that there is none of it.
fn says_open(text: &str) -> bool {
    let runs = status::leading_mark(text).is_some_and(|(status, _)| status.runs());
    is_box(text) || (runs && !text.starts_with(['❌', '✗']))
}

fn is_number(text: &str) -> bool {
    text.split('.').all(all_digits)
}

/// Reports whether a cell begins with the id of a task or of a milestone.
fn begins_with_id(text: &str) -> bool {
    leading_id(text).is_some()
}

/// Reports whether a cell is such an id.
fn is_id(text: &str) -> bool {
    leading_id(text).is_some_and(|found| found.rest == text.len())
}

/// Reports whether a cell is such an id, perhaps after a mark of its status.
fn is_id_with_mark(text: &str) -> bool {
    is_id(status::leading_mark(text).map_or(text, |(_, rest)| rest))
}

/// Returns the id of a task or of a milestone that a cell begins with; a number has parts (`1.2`).
fn leading_id(text: &str) -> Option<Leading<'_>> {
    let found = identify::of_item(text)?;
    let letters = found.id.trim_end_matches(|c: char| !c.is_ascii_uppercase());
    let is_number = letters.is_empty() && found.id.contains('.') && is_number(found.id);
    (is_number || LETTERS.contains(&letters)).then_some(found)
}

/// Reports whether a cell says a status: a known word, a mark or a box.
fn is_status(text: &str) -> bool {
    !text.is_empty() && (read_box(text).is_some() || status::of_cell(text).is_some())
}

fn plain(text: &str) -> String {
    text.trim_matches(['*', '_', '`', ' ', '\u{fe0f}'])
        .to_lowercase()
}

/// Reports whether a line separates the head of a table from its rows: `|---|:-:|`.
pub(crate) fn is_rule(line: &str) -> bool {
    line.contains('|') && line.contains('-') && line.trim_matches(RULE).is_empty()
}

/// Splits a line at the bars outside code and not escaped.
fn cells(offset: usize, line: &str) -> Vec<Cell> {
    let start = line.len() - line.trim_start().trim_start_matches('|').len();
    let trimmed = line.trim_end();
    let end = trimmed
        .strip_suffix('|')
        .unwrap_or(trimmed)
        .len()
        .max(start);
    let (mut in_code, mut is_escaped) = (false, false);
    let mut from = offset + start;
    let mut found = Vec::new();
    let cells = line.part(start..end).split(|c| {
        let is_bar = c == '|' && !in_code && !is_escaped;
        in_code ^= c == '`';
        is_escaped = c == '\\' && !is_escaped;
        is_bar
    });
    for raw in cells {
        let begin = from + raw.len() - raw.trim_start().len();
        found.push(begin..begin + raw.trim().len());
        from += raw.len() + 1;
    }
    found
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
        Some(read(&source, 0..text.len())?.rows.iter().map(row).collect())
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
        let expected = vec![
            "4: Seiten [⏳] ".to_owned(),
            "5: Tests [⬜ offen] ".to_owned(),
        ];
        let in_german =
            "| Teil | Was | Stand |\n|---|---|---|\n| 4 | Seiten | ⏳ |\n| 5 | Tests | ⬜ offen |";
        assert_eq!(parsed(in_german), Some(expected));
        let expected = vec![
            "1: Parse [] Needs=none".to_owned(),
            "2: Print [] Needs=1".to_owned(),
        ];
        let ordered = "| ID | Task | Needs |\n|---|---|---|\n| 1 | Parse | none |\n| 2 | Print | 1 |\n| | Total | 2 |";
        assert_eq!(parsed(ordered), Some(expected));
        let expected = vec![
            ": M1: Frame [] Days=3".to_owned(),
            ": M2: Roof [] Days=2".to_owned(),
        ];
        let milestones = "| Etappe | Days |\n|---|---|\n| M1: Frame | 3 |\n| M2: Roof | 2 |";
        assert_eq!(parsed(milestones), Some(expected));
        let expected = vec![
            "1: Mur [⬜ Plus tard] Description=en bois".to_owned(),
            "2: Toit [✅ Fait] Description=en tuiles".to_owned(),
        ];
        let in_french = "| # | Étape | Description | Statut |\n|---|---|---|---|\n\
             | 1 | Mur | en bois | ⬜ Plus tard |\n| 2 | Toit | en tuiles | ✅ Fait |";
        assert_eq!(parsed(in_french), Some(expected));
        let expected = vec![
            ": 缓存 [✅ 已完成] 优先级=🔴 高".to_owned(),
            ": 登录 [⏳ 进行中] 优先级=🟢 低".to_owned(),
        ];
        let in_chinese = "| 任务 | 优先级 | 状态 |\n|---|---|---|\n\
             | 缓存 | 🔴 高 | ✅ 已完成 |\n| 登录 | 🟢 低 | ⏳ 进行中 |";
        assert_eq!(parsed(in_chinese), Some(expected));
        let expected = vec![
            "R1: Crash [] Notes=old".to_owned(),
            "R2: Leak [] Notes=new".to_owned(),
        ];
        let issues =
            "| ID | Issue | Notes |\n|---|---|---|\n| R1 | Crash | old |\n| R2 | Leak | new |";
        assert_eq!(parsed(issues), Some(expected));
        for other in [
            "| Item | Decision |\n|---|---|\n| Database | SQLite |\n| Parser | own |",
            "| Status | Meaning |\n|---|---|\n| `todo` | not begun |\n| `done` | at the end |",
            "| Item | Owner |\n|---|---|\n| a | b |",
            "| a | b |",
            "Task | Status\n",
            "| Library | Complete |\n|---|---|\n| a | yes |\n| b | no |",
            "| Library | ✅ |\n|---|---|\n| a | ✅ |\n| b | ❌ |",
            "| Library | Fast | Small |\n|---|---|---|\n| a | ✅ | ⬜ |\n| b | ⬜ | ⬜ |",
            "text",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }
}
