//! Ralph's `prd.json`: user stories or features with `passes`, in an object or as a plain list.
//!
//! Ralph works on one story at a time, by priority: so do we, unless the stories name their
//! dependencies.

use crate::finding::{FindingCode, Pending};
use crate::formats::format::Claim;
use crate::front_matter::Order;
use crate::import::assemble::{BY_DEPENDENCIES, Contents};
use crate::import::format::{File, JsonFormat, have};
use crate::import::json::Json;
use crate::import::record::{Format, Reader, Record, labelled};
use crate::mark::Mark;
use orchestrate_core::task::TaskStatus;

pub(crate) const FORMAT: JsonFormat = JsonFormat {
    name: "ralph-prd",
    claims,
    read,
    example: include_str!("ralph.json"),
};

/// The field that says whether a story is done.
const PASSES: &[&str] = &["passes"];

/// The names of a list of stories whose stories may lack it.
const STORIES: &[&str] = &["userStories", "user_stories", "stories"];

/// The spellings of the field that names dependencies.
const DEPENDS: &[&str] = &[
    "dependencies",
    "dependsOn",
    "depends_on",
    "blockedBy",
    "blocked_by",
];

const STORY: Format = Format {
    details: &[
        ("description", ""),
        ("details", ""),
        ("acceptanceCriteria", "Acceptance criteria"),
        ("acceptance_criteria", "Acceptance criteria"),
        ("steps", "Steps"),
        ("verification", "Verification"),
        ("verificationCommands", "Verification"),
        ("testStrategy", "Test strategy"),
        ("technicalNotes", "Technical notes"),
        ("filesToModify", "Files"),
        ("files", "Files"),
        ("notes", "Notes"),
    ],
    read: &[
        "id",
        "title",
        "name",
        "passes",
        "status",
        "priority",
        "dependencies",
        "dependsOn",
        "depends_on",
        "blockedBy",
        "blocked_by",
    ],
    ignored: &[
        "category",
        "complexity",
        "estimate",
        "completedAt",
        "completed_at",
        "createdAt",
        "updatedAt",
        "epic",
    ],
};

/// The fields of the file beside its stories.
const FILE: Format = Format {
    details: &[
        ("description", ""),
        ("overview", ""),
        ("goal", "Goal"),
        ("constraints", "Constraints"),
        ("technicalNotes", "Technical notes"),
        ("verificationCommands", "Verification"),
        ("qualityChecks", "Quality checks"),
        ("notes", "Notes"),
    ],
    read: &["title", "project", "projectName", "feature", "name"],
    ignored: &[
        "branchName",
        "branch",
        "version",
        "created",
        "createdAt",
        "updatedAt",
        "metadata",
        "status",
        "id",
    ],
};

fn claims(file: &File<'_>) -> Claim {
    let list = file.list();
    if stories(file).is_some() {
        return Claim::Mine("its stories have `passes`, or are called so");
    }
    match !file.has_lines() && have(&list, &["title", "description"]) {
        true => Claim::Weakly("it is a list of objects with a title or a description"),
        false => Claim::NotMine,
    }
}

/// Returns the stories of a file that is certainly of this format.
fn stories<'a>(file: &File<'a>) -> Option<Vec<Json<'a>>> {
    let list = file.list();
    if have(&list, PASSES) {
        return Some(list);
    }
    let mut members = file.object()?.members();
    members.retain(|member| member.value.is_array());
    let called = members.iter().find(|member| STORIES.contains(&member.name));
    let passing = members
        .iter()
        .find(|member| have(&member.value.items(), PASSES));
    Some(called.or(passing)?.value.items())
}

/// Reads the stories, and what the file says beside them.
fn read<'a>(file: &File<'a>, reader: &mut Reader<'_, 'a>) -> Contents {
    let stories = stories(file).unwrap_or_else(|| file.list());
    let mut records: Vec<Record> = stories
        .iter()
        .filter_map(|story| self::story(*story, reader))
        .collect();
    let order = if records.iter().any(|record| !record.depends.is_empty()) {
        BY_DEPENDENCIES
    } else {
        Order::Sequential
    };
    if order == Order::Sequential {
        // A stable sort: equal priorities keep the order of the file.
        records.sort_by_key(|record| record.rank.unwrap_or(i64::MAX));
    }
    let mut contents = Contents {
        records,
        order,
        ..Contents::default()
    };
    if let Some(object) = file.object() {
        about(object, &stories, reader, &mut contents);
    }
    contents
}

/// Reads the fields of the file beside the list of its stories.
fn about<'a>(
    file: Json<'a>,
    stories: &[Json<'a>],
    reader: &mut Reader<'_, 'a>,
    contents: &mut Contents,
) {
    let first = stories.first().map_or(0, |story| story.offset);
    let members = file.members();
    for member in members
        .iter()
        .filter(|member| !member.value.range().contains(&first))
    {
        if !FILE.knows(member.name) {
            reader.unknown.count(*member);
        }
    }
    let find = |name: &str| {
        members
            .iter()
            .find(|member| member.name == name)
            .map(|member| member.value)
    };
    contents.title = FILE
        .read
        .iter()
        .find_map(|name| find(name)?.word())
        .filter(|title| !title.trim().is_empty());
    let mut said = Vec::new();
    for (name, words) in FILE.details {
        let Some(value) = find(name) else { continue };
        let text = value.prose();
        if !text.is_empty() {
            said.push(labelled(words, &text));
            contents.told.push(value.range());
        }
    }
    contents.note = said.join("\n\n");
}

fn story<'a>(story: Json<'a>, reader: &mut Reader<'_, 'a>) -> Option<Record> {
    let fields = reader.fields(story, &STORY);
    let mut record = reader.record(&fields, &STORY)?;
    match (fields.get("passes"), fields.get("status")) {
        (Some(passes), _) => {
            match passes.raw() {
                "true" => record.status = TaskStatus::Done,
                "false" => {}
                other => {
                    let message = "expected true or false";
                    reader.findings.error(Pending::new(
                        passes.offset,
                        FindingCode::InvalidValue,
                        other,
                        message,
                    ));
                }
            }
            record.marks.push(Mark {
                range: passes.range(),
                done: "true".into(),
            });
        }
        (None, Some(status)) => reader.status(&mut record, status, "done"),
        (None, None) => {}
    }
    if let Some(priority) = fields.get("priority") {
        reader.priority(&mut record, priority);
    }
    record.depends = fields
        .first(DEPENDS)
        .map(|ids| reader.ids(ids))
        .unwrap_or_default();
    Some(record)
}
