//! Tables of tasks with their status.
//!
//! Each row is a task. The tables are alike, and number their rows, call them tasks, or
//! have boxes for their status, and are what the document is about: what else has a status, such as
//! a feature, may be a fact.

use std::ops::Range;

use crate::formats::document::Document;
use crate::formats::format::{Claim, Decision, Format, Node, Scope};
use crate::formats::task_headings::TaskHeadings;
use crate::tasks::section::Kind;
use crate::tasks::table::Table;

pub(crate) const FORMAT: Format = Format {
    name: "status-table",
    claims,
    decide,
    finish: None,
    dash_is_progress: false,
    example: include_str!("status_table.md"),
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
        if !document.is_in(heading, |own| {
            !matches!(own.kind, Kind::Work | Kind::Optional)
        }) {
            tables.push(table);
        }
    }
    let are_alike = tables.windows(2).all(|pair| match pair {
        [one, other] => {
            heading(document, &one.title) == heading(document, &other.title)
                && heading(document, &one.status) == heading(document, &other.status)
        }
        _ => true,
    });
    let are_certain = !tables.is_empty() && tables.iter().all(|table| table.is_certain);
    let rows: usize = tables.iter().map(|table| table.rows.len() + HEAD).sum();
    let source = document.source;
    let lines = source.lines(document.start..source.text.len());
    let said = lines.filter(|(_, line)| !line.trim().is_empty()).count();
    let are_all = are_certain && are_alike && rows * LEAST_PART >= said;
    match are_all && TaskHeadings::find(document).tasks.is_empty() {
        true => Claim::Weakly("its work stands in tables with a status, and nowhere else"),
        false => Claim::NotMine,
    }
}

/// Returns the words of the heading of a column.
fn heading(document: &Document<'_, '_>, cell: &Option<Range<usize>>) -> Option<String> {
    let text = document.source.slice(cell.clone()?);
    Some(text.to_lowercase())
}

fn decide(node: &Node<'_>, scope: &Scope<'_>) -> Decision {
    match (node, scope.excluded()) {
        (Node::Heading(_), _) => Decision::Within,
        (Node::Table, None) => Decision::Task,
        (Node::Table, Some(open)) => Decision::not_run(open.reason()),
        (Node::Item(_), _) => Decision::Told,
    }
}
