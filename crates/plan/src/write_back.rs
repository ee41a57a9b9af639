//! Marks landed tasks as done in the text of a plan, changing nothing else.

use std::collections::BTreeSet;

use crate::fields::names::KnownNames;
use crate::mark::Mark;
use crate::parse;
use orchestrate_core::ids::TaskId;

/// Returns the source with the landed tasks marked as done, by a ticked box or by the value of a field; every other
/// byte is unchanged.
///
/// Tasks without a mark (headings without a box, records without a status) and those that are marked already are left
/// unchanged.
pub fn write_boxes(source: &str, landed: &[TaskId]) -> String {
    let (plan, _) = parse::read(source, &KnownNames::default());
    let landed: BTreeSet<&TaskId> = landed.iter().collect();
    let of_landed = plan.marks.iter().filter(|(id, _)| landed.contains(id)).flat_map(|(_, marks)| marks);
    let mut marks: Vec<&Mark> = of_landed.filter(|mark| !mark.is_set(source)).collect();
    marks.sort_unstable_by_key(|mark| mark.range.start);
    let mut written = String::with_capacity(source.len());
    let mut at = 0;
    for mark in marks {
        written.push_str(source.get(at..mark.range.start).unwrap_or_default());
        written.push_str(&mark.done);
        at = mark.range.end;
    }
    written.push_str(source.get(at..).unwrap_or_default());
    written
}
