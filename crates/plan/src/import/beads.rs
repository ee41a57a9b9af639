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
use crate::import::record::Left;
use crate::import::record::{Format, MAX_DEPENDENCIES_OF_ONE, Reader, Record};
use orchestrate_core::task::TaskStatus;

pub(crate) const FORMAT: JsonFormat = JsonFormat {
    name: "beads",
    claims,
    read,
    example: include_str!("beads.jsonl"),
};

/// What beads writes for a finished issue.
const DONE: &str = "closed";

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

/// Who has to do what no agent can.
const PERSON: &str = "human";

const ISSUE: Format = Format {
    details: &[
        ("description", ""),
        ("design", "Design"),
        ("acceptance_criteria", "Acceptance criteria"),
        ("notes", "Notes"),
    ],
    read: &[
        "id",
        "title",
        "status",
        "priority",
        "issue_type",
        "type",
        "dependencies",
        "_type",
        "assignee",
    ],
    ignored: &[
        "key",
        "value",
        "owner",
        "estimated_minutes",
        "created_at",
        "created_by",
        "updated_at",
        "started_at",
        "closed_at",
        "closed_by_session",
        "close_reason",
        "external_ref",
        "spec_id",
        "source_repo",
        "source_system",
        "content_hash",
        "compaction_level",
        "compacted_at",
        "compacted_at_commit",
        "original_size",
        "labels",
        "comments",
        "comment_count",
        "dependency_count",
        "dependent_count",
        "dependents",
        "parent",
        "deleted_at",
        "deleted_by",
        "delete_reason",
        "original_type",
        "due_at",
        "defer_until",
        "metadata",
        "pinned",
        "ephemeral",
        "is_template",
        "sender",
        "epic_total_children",
        "epic_closed_children",
    ],
};

fn claims(file: &File<'_>) -> Claim {
    let items = match file.object() {
        Some(object) => vec![object],
        None => file.list(),
    };
    let are_named = have(&items, &["id"]) && have(&items, &["title"]);
    let is_one = file.object().is_some() || file.has_lines();
    let are_issues = have(&items, &["issue_type"]) || (is_one && are_named);
    match are_issues && !have(&items, &["passes", "tasks"]) {
        true => Claim::Mine("its lines are issues with an id and a title"),
        false => Claim::NotMine,
    }
}

/// Reads the issues.
fn read<'a>(file: &File<'a>, reader: &mut Reader<'_, 'a>) -> Contents {
    let issues = match file.object() {
        Some(object) => vec![object],
        None => file.list(),
    };
    let mut contents = Contents {
        order: BY_DEPENDENCIES,
        ..Contents::default()
    };
    // The parent that each record names.
    let mut parents: Vec<Option<Located>> = Vec::new();
    for issue in issues {
        if let Some((record, parent)) = self::issue(issue, reader, &mut contents) {
            contents.records.push(record);
            parents.push(parent);
        }
    }
    let ids = contents
        .records
        .iter()
        .enumerate()
        .filter_map(|(at, record)| Some((record.id.as_ref()?.text.clone(), at)));
    let by_id: HashMap<String, usize> = ids.collect();
    for (record, parent) in contents.records.iter_mut().zip(&parents) {
        record.parent = parent
            .as_ref()
            .and_then(|parent| by_id.get(&parent.text))
            .copied();
    }
    without_circles(&mut contents.records, reader);
    contents
}

/// Returns an issue and the one that it is part of.
fn issue<'a>(
    issue: Json<'a>,
    reader: &mut Reader<'_, 'a>,
    contents: &mut Contents,
) -> Option<(Record, Option<Located>)> {
    let fields = reader.fields(issue, &ISSUE);
    let word = |names: &[&str]| fields.first(names).and_then(Json::word).unwrap_or_default();
    let (status, kind) = (word(&["status"]), word(&["issue_type", "type"]));
    if status == "tombstone" {
        contents.deleted.insert(word(&["id"]));
        reader.left.push(Left {
            range: fields.range,
            reason: "it was deleted".to_owned(),
        });
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
    if let Some(status) = fields.get("status") {
        reader.status(&mut record, status, DONE);
    }
    if let Some(priority) = fields.get("priority") {
        reader.priority(&mut record, priority);
    }
    let (mut parent, mut only_if) = (None, None);
    for link in fields
        .get("dependencies")
        .map(Json::items)
        .unwrap_or_default()
    {
        let Some(on) = link.member("depends_on_id").or_else(|| link.member("id")) else {
            let message = "expected a link with `depends_on_id` and `type`";
            reader.findings.error(Pending::new(
                link.offset,
                FindingCode::InvalidValue,
                link.raw(),
                message,
            ));
            continue;
        };
        let on = Located {
            text: on.word().unwrap_or_default(),
            offset: on.offset,
        };
        let kind = link
            .member("type")
            .or_else(|| link.member("dependency_type"))
            .and_then(Json::word);
        match kind.as_deref().unwrap_or("blocks") {
            "blocks" | "waits-for" => record.depends.push(on),
            "conditional-blocks" => only_if = Some(on),
            "parent-child" => parent = Some(on),
            _ => {}
        }
    }
    let is_of_person = word(&["assignee"]).eq_ignore_ascii_case(PERSON);
    let reason = match only_if {
        _ if is_of_person => Some("it is work of a person".to_owned()),
        Some(on) => Some(format!("it is to be done only if {} fails", on.text)),
        None => None,
    };
    if let Some(reason) = reason.filter(|_| record.status.runs()) {
        record.status = TaskStatus::Blocked;
        reader.findings.skip(record.at, reason);
    }
    if record.depends.len() > MAX_DEPENDENCIES_OF_ONE {
        reader.too_many_dependencies(record.at);
        record.depends.clear();
    }
    Some((record, parent))
}

/// Reports issues that are part of each other, and lets them stand alone.
fn without_circles(records: &mut [Record], reader: &mut Reader<'_, '_>) {
    // The circle in which a record was first seen, from 1.
    let mut seen = vec![0; records.len()];
    for start in 0..records.len() {
        let mut at = start;
        loop {
            match seen.get_mut(at) {
                Some(mark) if *mark == 0 => *mark = start + 1,
                Some(mark) if *mark == start + 1 => {
                    if let Some(record) = records.get_mut(at) {
                        let id = record.id.as_ref().map_or("", |id| id.text.as_str());
                        let message = format!("`{id}` is part of itself");
                        reader.findings.error(Pending::new(
                            record.at,
                            FindingCode::Cycle,
                            id,
                            message,
                        ));
                        record.parent = None;
                    }
                    break;
                }
                _ => break,
            }
            match records.get(at).and_then(|record| record.parent) {
                Some(parent) => at = parent,
                None => break,
            }
        }
    }
}
