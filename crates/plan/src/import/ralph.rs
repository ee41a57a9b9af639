//! Ralph's `prd.json`: user stories or features with `passes`, in an object or as a plain list.
//!
//! Ralph works on one story at a time, by priority: so do we, unless the stories name their
//! dependencies.

use crate::formats::format::Claim;
use crate::front_matter::Order;
use crate::import::assemble::{BY_DEPENDENCIES, Contents};
use crate::import::format::{File, JsonFormat, have};
use crate::import::json::Json;
use crate::import::record::{DEPENDS, Format, Reader, Record, labelled};

pub(crate) const FORMAT: JsonFormat = JsonFormat {
    name: "ralph-prd",
    claims,
    read,
    example: include_str!("ralph.json"),
};

/// The field that says whether a story is done.
const PASSES: &[&str] = &["passes"];

/// The names of a list of stories whose stories may lack it.
pub(crate) const STORIES: &[&str] = &["userStories", "user_stories", "stories"];

const STORY: Format = Format {
    done: "done",
    depends: DEPENDS,
};

/// What the file says beside its stories, told to all: the field and the words before it.
const TOLD: &[(&str, &str)] = &[
    ("description", ""),
    ("overview", ""),
    ("goal", "Goal"),
    ("constraints", "Constraints"),
    ("technicalNotes", "Technical notes"),
    ("verificationCommands", "Verification"),
    ("qualityChecks", "Quality checks"),
    ("notes", "Notes"),
];

/// The fields of the file that name it, the best first.
const TITLES: &[&str] = &["title", "project", "projectName", "feature", "name"];

fn claims(file: &File<'_>) -> Claim {
    let list = file.list();
    if stories(file).is_some() {
        return Claim::Mine("its stories have `passes`, or are called so");
    }
    Claim::weakly_if(
        !file.has_lines() && have(&list, &["title", "description"]),
        "it is a list of objects with a title or a description",
    )
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
fn read<'a>(file: &File<'a>, reader: &mut Reader<'_>) -> Contents {
    let stories = stories(file).unwrap_or_else(|| file.list());
    let mut records: Vec<Record> = Vec::new();
    for story in &stories {
        let fields = reader.fields(*story);
        records.extend(reader.record(&fields, &STORY));
    }
    let order = if records
        .iter()
        .any(|record| !record.draft.attributes.depends.is_empty())
    {
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
    reader: &mut Reader<'_>,
    contents: &mut Contents,
) {
    let first = stories.first().map_or(0, |story| story.offset);
    let mut said = Vec::new();
    for member in file.members() {
        let value = member.value;
        if value.range().contains(&first) {
            continue;
        }
        match TOLD.iter().find(|(name, _)| *name == member.name) {
            Some((_, words)) if !value.prose().is_empty() => {
                said.push(labelled(words, &value.prose()));
                reader.part(value.range(), None);
            }
            _ => {}
        }
    }
    contents.note = said.join("\n\n");
    let title = TITLES.iter().find_map(|name| file.member(name)?.word());
    contents.title = title.filter(|title| !title.trim().is_empty());
}
