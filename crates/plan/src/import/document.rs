//! Recognises the format of a plan in JSON by its content, and reads it.

use std::collections::BTreeSet;

use crate::check::finding::{FindingCode, Findings, Pending};
use crate::front_matter::Order;
use crate::import::assemble::assemble;
use crate::import::json::{Json, Malformed, Member};
use crate::import::record::{Reader, UnknownFields};
use crate::import::task_master::Tag;
use crate::import::{beads, ralph, task_master};
use crate::read::headings::collect::Collected;
use crate::read::lines::source::Source;

/// What is told where no format is recognised.
const FORMATS: &str = "known are Ralph's `userStories` with `passes`, task-master's `tasks`, and the issues of beads, \
                       one on each line";

/// The names of a list of stories whose stories may lack `passes`.
const STORIES: &[&str] = &["userStories", "user_stories", "stories"];

/// The contents of a plan in JSON.
pub(crate) struct Imported {
    pub(crate) collected: Collected,
    pub(crate) order: Order,
}

/// The records of a file, by format.
enum Format<'a> {
    Ralph {
        file: Option<Json<'a>>,
        stories: Vec<Json<'a>>,
    },
    TaskMaster(Vec<Tag<'a>>),
    Beads(Vec<Json<'a>>),
}

/// Reports whether a text is meant as JSON. In Markdown a list or a link begins with `[` but not
/// with `[{`, and what begins with `{` is a template's tag or an attribute.
pub(crate) fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix('[') {
        return rest.trim_start().starts_with('{');
    }
    text.strip_prefix('{')
        .is_some_and(|rest| !rest.starts_with(['{', '%', '#', ':', '.', '!']))
}

/// Reads the text from `start` on; `None` after an error that leaves nothing to read.
pub(crate) fn read(source: &Source<'_>, start: usize, findings: &mut Findings) -> Option<Imported> {
    let values = values(source, start, findings)?;
    let first = values.first().copied()?;
    let Some(format) = recognise(&values) else {
        let found = Pending::new(
            first.offset,
            FindingCode::NoTasks,
            "",
            "this JSON is no plan that is known",
        );
        findings.error(found.suggest(Some(FORMATS.to_owned())));
        return None;
    };
    let mut reader = Reader {
        findings,
        unknown: UnknownFields::default(),
    };
    let contents = match format {
        Format::Ralph { file, stories } => ralph::read(file, &stories, &mut reader),
        Format::TaskMaster(tags) => task_master::read(&tags, &mut reader),
        Format::Beads(issues) => beads::read(&issues, &mut reader),
    };
    reader.unknown.report(reader.findings);
    let order = contents.order;
    Some(Imported {
        collected: assemble(&contents, findings),
        order,
    })
}

/// Returns the value of the text, or one for each line; `None` after an error.
fn values<'a>(source: &Source<'a>, start: usize, findings: &mut Findings) -> Option<Vec<Json<'a>>> {
    let text = source.slice(start..source.text.len());
    let whole = match Json::read(text, start) {
        Ok(whole) => return Some(vec![whole]),
        Err(error) => error,
    };
    let lines = source.lines(start..source.text.len());
    let mut lines = lines
        .into_iter()
        .filter(|(_, line)| !line.trim().is_empty())
        .peekable();
    let is_value =
        |(offset, line): &(usize, &'a str)| Json::read(line, *offset).is_ok_and(Json::is_object);
    if !lines.peek().is_some_and(is_value) {
        malformed(&whole, findings);
        return None;
    }
    let before = findings.errors.len();
    let mut values = Vec::new();
    for (offset, line) in lines {
        match Json::read(line, offset) {
            Ok(value) => values.push(value),
            Err(error) => malformed(&error, findings),
        }
    }
    (findings.errors.len() == before).then_some(values)
}

fn malformed(error: &Malformed, findings: &mut Findings) {
    let message = format!("this is not valid JSON: {}", error.reason);
    findings.error(Pending::new(error.offset, FindingCode::Json, "", message));
}

fn recognise<'a>(values: &[Json<'a>]) -> Option<Format<'a>> {
    match values {
        [one] if one.is_array() => of_list(one.items(), false),
        [one] => of_object(*one),
        lines => of_list(lines.to_vec(), true),
    }
}

fn of_object<'a>(file: Json<'a>) -> Option<Format<'a>> {
    let members = file.members();
    let list = |names: &[&str]| {
        members
            .iter()
            .find(|member| names.contains(&member.name) && member.value.is_array())
    };
    if let Some(stories) = list(STORIES) {
        return Some(Format::Ralph {
            file: Some(file),
            stories: stories.value.items(),
        });
    }
    if let Some(tasks) = list(&["tasks"]) {
        let tag = Tag::new(tasks.name, tasks.value);
        return Some(match have_passes(&tag.tasks) {
            true => Format::Ralph {
                file: Some(file),
                stories: tag.tasks,
            },
            false => Format::TaskMaster(vec![tag]),
        });
    }
    let lists = members
        .iter()
        .map(|member| member.value)
        .filter(|value| value.is_array());
    if let Some(stories) = lists.map(Json::items).find(|items| have_passes(items)) {
        return Some(Format::Ralph {
            file: Some(file),
            stories,
        });
    }
    let tags: Vec<Tag<'_>> = members.iter().filter_map(tagged).collect();
    let is_issue = ["id", "title"]
        .iter()
        .all(|name| members.iter().any(|member| member.name == *name));
    match tags.is_empty() {
        false => Some(Format::TaskMaster(tags)),
        true => is_issue.then(|| Format::Beads(vec![file])),
    }
}

/// Reports whether the first of some records says whether it passes, as Ralph's do.
fn have_passes(items: &[Json<'_>]) -> bool {
    items
        .first()
        .is_some_and(|item| item.member("passes").is_some())
}

/// Returns the tasks of a tag, if the member is one.
fn tagged<'a>(member: &Member<'a>) -> Option<Tag<'a>> {
    let tasks = member
        .value
        .member("tasks")
        .filter(|tasks| tasks.is_array())?;
    Some(Tag::new(member.name, tasks))
}

/// Recognises a list by the fields that its objects have.
fn of_list(items: Vec<Json<'_>>, are_lines: bool) -> Option<Format<'_>> {
    let names: BTreeSet<&str> = items
        .iter()
        .flat_map(|item| item.members())
        .map(|member| member.name)
        .collect();
    let any = |some: &[&str]| some.iter().any(|name| names.contains(name));
    if any(&["passes"]) {
        Some(Format::Ralph {
            file: None,
            stories: items,
        })
    } else if are_lines || any(&["issue_type"]) {
        Some(Format::Beads(items))
    } else if any(&["subtasks", "testStrategy", "status"]) {
        let offset = items.first().map_or(0, |item| item.offset);
        Some(Format::TaskMaster(vec![Tag {
            name: "",
            offset,
            tasks: items,
        }]))
    } else {
        any(&["title", "description"]).then_some(Format::Ralph {
            file: None,
            stories: items,
        })
    }
}
