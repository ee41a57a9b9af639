//! Tables of tasks with their status.
//!
//! Each row is a task. The tables number their rows, call them tasks, or have boxes for their
//! status, and are what the document is about: what else has a status, such as a feature, may be a
//! fact.

use crate::formats::document::{Document, Heading};
use crate::formats::format::{Claim, Format};
use crate::formats::task_headings::TaskHeadings;
use crate::lines::outline::Block;
use crate::tasks::table::{self, Table};

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

/// Reports whether something stands below a heading that may be work, but is no such table: the
/// findings of a report, or its figures.
fn says_more(document: &Document<'_, '_>, own: &Heading) -> bool {
    let is_work = own.is_work() && !document.is_in(own.parent, |it| !it.is_work());
    let blocks = document.own(own);
    let mut others: Vec<&Block> = blocks.iter().collect();
    others.retain(|block| document.table(block).is_none());
    let has_figures = others.iter().any(|block| {
        let mut lines = document.source.lines(block.range());
        lines.any(|(_, line)| table::is_rule(line))
    });
    let is_prose = own.level > 1 && !others.is_empty() && others.len() == blocks.len();
    is_work && !own.describes() && (has_figures || is_prose)
}
