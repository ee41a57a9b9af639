//! The issues of beads, one JSON object on each line, or in a list.
//!
//! Only `blocks` and `waits-for` hold an issue back. An issue with parts (`parent-child`) is a
//! group, whatever its type: its parts are the tasks, and hear what it says.

use std::collections::HashMap;

use crate::fields::attributes::Located;
use crate::finding::{FindingCode, Pending};
use crate::formats::format::Claim;
use crate::import::assemble::{BY_DEPENDENCIES, Contents};
use crate::import::format::{File, JsonFormat, have};
use crate::import::json::Json;
use crate::import::record::{
    Fields, Format, MAX_DEPENDENCIES_OF_ONE, Reader, Record, invalid, located,
    too_many_dependencies,
};
use crate::tasks::section;
use orchestrate_core::task::TaskStatus;

pub(crate) const FORMAT: JsonFormat = JsonFormat {
    name: "beads",
    claims,
    read,
    example: include_str!("beads.jsonl"),
};

/// Types of issues that are no work.
const NO_WORK: &[&str] = &[
    "message",
    "merge-request",
    "molecule",
    "gate",
    "event",
    "agent",
    "role",
    "convoy",
    "decision",
];

const ISSUE: Format = Format {
    done: "closed",
    depends: &[],
};

/// The other issues that an issue names.
#[derive(Default)]
struct Links {
    /// Those that it waits for.
    blocks: Vec<Located>,
    /// The one that has to fail before it is done.
    only_if: Option<Located>,
    /// The one that it is part of.
    parent: Option<Located>,
}

fn claims(file: &File<'_>) -> Claim {
    let items = issues(file);
    let are_named = have(&items, &["id"]) && have(&items, &["title"]);
    let is_one = file.object().is_some() || file.has_lines();
    let are_issues = have(&items, &["issue_type"]) || (is_one && are_named);
    Claim::mine_if(
        are_issues && !have(&items, &["passes", "tasks"]),
        "its lines are issues with an id and a title",
    )
}

/// Returns the issues: of the list, of the lines, or the only one.
fn issues<'a>(file: &File<'a>) -> Vec<Json<'a>> {
    match file.object() {
        Some(object) => vec![object],
        None => file.list(),
    }
}

/// Reads the issues.
fn read<'a>(file: &File<'a>, reader: &mut Reader<'_>) -> Contents {
    let mut contents = Contents {
        order: BY_DEPENDENCIES,
        ..Contents::default()
    };
    // The parent that each record names.
    let mut parents: Vec<Option<Located>> = Vec::new();
    for issue in issues(file) {
        if let Some((record, parent)) = self::issue(issue, reader, &mut contents) {
            contents.records.push(record);
            parents.push(parent);
        }
    }
    let ids = contents.records.iter().map(|it| it.id().to_owned());
    let by_id: HashMap<String, usize> = ids.zip(0..).collect();
    for (record, parent) in contents.records.iter_mut().zip(&parents) {
        let parent = parent.as_ref().and_then(|it| by_id.get(&it.text));
        record.parent = parent.copied();
    }
    without_circles(&mut contents.records, reader);
    contents
}

/// Returns an issue and the one that it is part of.
fn issue<'a>(
    issue: Json<'a>,
    reader: &mut Reader<'_>,
    contents: &mut Contents,
) -> Option<(Record, Option<Located>)> {
    let fields = reader.fields(issue);
    let word = |names: &[&str]| fields.first(names).and_then(Json::word).unwrap_or_default();
    let (status, kind) = (word(&["status"]), word(&["issue_type", "type"]));
    if status == "tombstone" {
        contents.deleted.insert(word(&["id"]));
        reader.part(fields.range, Some("it was deleted".to_owned()));
        return None;
    }
    if status == "pinned"
        || NO_WORK.contains(&kind.as_str())
        || !matches!(word(&["_type"]).as_str(), "" | "issue")
    {
        contents.deleted.insert(word(&["id"]));
        let what = if status == "pinned" {
            "it is pinned".to_owned()
        } else {
            format!("its type is `{kind}`")
        };
        reader.leave(fields.range, format!("{what}, which is no work"));
        return None;
    }
    let mut record = reader.record(&fields, &ISSUE)?;
    let links = links(&fields, reader);
    record.draft.attributes.depends = links.blocks;
    let labels = fields.get("labels").map_or(Vec::new(), Json::items);
    let labels = labels.into_iter().filter_map(Json::word);
    let mut words = labels.chain([word(&["assignee"]), kind]);
    record.draft.attributes.by_person = words.any(|word| section::is_person(&word));
    if let Some(on) = links.only_if {
        let reason = format!("it is to be done only if {} fails", on.text);
        record.draft.hold(TaskStatus::Blocked, reason);
    }
    if record.draft.attributes.depends.len() > MAX_DEPENDENCIES_OF_ONE {
        reader
            .findings
            .error(too_many_dependencies(record.draft.at));
        record.draft.attributes.depends.clear();
    }
    Some((record, links.parent))
}

/// Returns the links of an issue to others, apart from those that say nothing of the order.
fn links<'a>(fields: &Fields<'a>, reader: &mut Reader<'_>) -> Links {
    let mut found = Links::default();
    let links = fields.get("dependencies").map_or(Vec::new(), Json::items);
    for link in links {
        let on = link.member("depends_on_id").or_else(|| link.member("id"));
        let Some(on) = on else {
            let message = "expected a link with `depends_on_id` and `type`";
            reader.findings.error(invalid(link, message));
            continue;
        };
        let kind = link
            .member("type")
            .or_else(|| link.member("dependency_type"));
        match kind.and_then(Json::word).as_deref().unwrap_or("blocks") {
            "blocks" | "waits-for" => found.blocks.extend(located(on)),
            "conditional-blocks" => found.only_if = located(on),
            "parent-child" => found.parent = located(on),
            _ => {}
        }
    }
    found
}

/// Reports issues that are part of each other, and lets them stand alone.
fn without_circles(records: &mut [Record], reader: &mut Reader<'_>) {
    // The walk in which a record was first seen, from 1.
    let mut seen = vec![0; records.len()];
    for walk in 1..=records.len() {
        let mut next = Some(walk - 1);
        while let Some(at) = next {
            let (Some(record), Some(first)) = (records.get_mut(at), seen.get_mut(at)) else {
                break;
            };
            if *first == walk {
                let id = record.id();
                let message = format!("`{id}` is part of itself");
                let found = Pending::new(record.draft.at, FindingCode::Cycle, id, message);
                reader.findings.error(found);
                record.parent = None;
            }
            if *first > 0 {
                break;
            }
            *first = walk;
            next = record.parent;
        }
    }
}
