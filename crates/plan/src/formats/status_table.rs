//! Tables of tasks with their status.
//!
//! Each row is a task. The tables number their rows, call them tasks, or have boxes for their
//! status, and are what the document is about: what else has a status, such as a feature, may be a
//! fact.

use crate::formats::document::{Document, Heading};
use crate::formats::format::{Claim, Format};
use crate::formats::task_headings::TaskHeadings;
use crate::tasks::table::Table;

pub(crate) const FORMAT: Format = Format {
    name: "status-table",
    claims,
    tables_are_tasks: true,
    example: include_str!("status_table.md"),
    ..Format::NONE
};

/// The least part of the lines that stands in such tables, so that they are what the document is
/// about.
const LEAST_PART: usize = 3;

/// The lines above the rows of a table.
const HEAD: usize = 2;

fn claims(document: &Document<'_, '_>) -> Claim {
    if !document.boxes.is_empty() {
        return Claim::NotMine;
    }
    let mut tables: Vec<Table> = Vec::new();
    for (heading, table) in document.tables() {
        if !document.is_in(heading, |own| !own.is_work()) {
            tables.push(table);
        }
    }
    let are_certain = !tables.is_empty()
        && tables
            .iter()
            .all(|table| table.is_certain && table.is_tracked);
    let rows: usize = tables.iter().map(|table| table.rows.len() + HEAD).sum();
    let source = document.source;
    let lines = source.lines(document.start..source.text.len());
    let said = lines.filter(|(_, line)| !line.trim().is_empty()).count();
    let are_all = are_certain && rows * LEAST_PART >= said;
    let is_elsewhere = document.headings.iter().any(|own| says_more(document, own));
    Claim::weakly_if(
        are_all && !is_elsewhere && TaskHeadings::find(document).tasks.is_empty(),
        "its work stands in tables with a status, and nowhere else",
    )
}

/// Reports whether text stands below the heading of a section that may be work, but no such table:
/// the findings of a report.
fn says_more(document: &Document<'_, '_>, own: &Heading) -> bool {
    let blocks = document.own(own);
    let is_work = own.is_work() && !document.is_in(own.parent, |it| !it.is_work());
    let may_be_work = is_work && own.level > 1 && !own.describes();
    may_be_work && !blocks.is_empty() && blocks.iter().all(|it| document.table(it).is_none())
}
