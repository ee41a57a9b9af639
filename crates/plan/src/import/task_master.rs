//! task-master's `tasks.json`: a list of tasks, or several by tag, each with subtasks.
//!
//! Subtasks are what their task consists of, told to its agent; their statuses are marked with the
//! task's. They are tasks of their own where their task has neither details nor a test strategy, or
//! where another task waits for one of them.

use std::collections::HashSet;

use crate::fields::attributes::Located;
use crate::finding::{FindingCode, Pending};
use crate::formats::format::Claim;
use crate::import::assemble::{BY_DEPENDENCIES, Contents};
use crate::import::format::{File, JsonFormat, have};
use crate::import::json::Json;
use crate::import::record::Left;
use crate::import::record::{Format, Reader, Record};
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::TaskStatus;

pub(crate) const FORMAT: JsonFormat = JsonFormat {
    name: "task-master",
    claims,
    read,
    example: include_str!("task_master.json"),
};

/// What task-master writes for a finished task.
const DONE: &str = "done";

/// The name of a list of tasks.
const TASKS: &str = "tasks";

const DETAILS: &[(&str, &str)] = &[
    ("description", ""),
    ("details", ""),
    ("testStrategy", "Test strategy"),
    ("acceptanceCriteria", "Acceptance criteria"),
    ("notes", "Notes"),
];

const READ: &[&str] = &[
    "id",
    "title",
    "status",
    "dependencies",
    "priority",
    "subtasks",
];

const IGNORED: &[&str] = &[
    "type",
    "complexity",
    "complexityScore",
    "recommendedSubtasks",
    "expansionPrompt",
    "complexityReasoning",
    "metadata",
    "createdAt",
    "updatedAt",
    "completedAt",
    "effort",
    "actualEffort",
    "assignee",
    "tags",
    "previousStatus",
    "parentTaskId",
    "parentId",
    "relevantFiles",
    "codebasePatterns",
    "existingInfrastructure",
    "scopeBoundaries",
    "implementationApproach",
    "technicalConstraints",
    "skills",
    "category",
];

const TASK: Format = Format {
    details: DETAILS,
    read: READ,
    ignored: IGNORED,
};

/// The tasks of one tag, or of a file without tags.
struct Tag<'a> {
    name: &'a str,
    list: Json<'a>,
}

/// A task before it is known whether its subtasks are tasks.
struct Task {
    record: Record,
    subtasks: Vec<Record>,
    /// Whether it says itself what is to be done.
    has_own_work: bool,
}

fn claims(file: &File<'_>) -> Claim {
    let tags = tags(file);
    let mut lists = tags.iter().map(|tag| tag.list.items());
    let are_tasks = lists.all(|items| {
        let has_titles = items.is_empty() || have(&items, &["title", "name", "description"]);
        has_titles && !have(&items, &["passes", "issue_type"])
    });
    match !tags.is_empty() && are_tasks {
        true => Claim::Mine("it has tasks with a status, by tag or without one"),
        false => Claim::NotMine,
    }
}

/// Returns the lists of tasks of a file, which are several if it has tags.
fn tags<'a>(file: &File<'a>) -> Vec<Tag<'a>> {
    let Some(object) = file.object() else {
        let has_tasks = have(&file.list(), &["subtasks", "testStrategy", "status"]);
        let list = file
            .values
            .first()
            .filter(|_| has_tasks && !file.has_lines());
        return Vec::from_iter(list.map(|list| Tag {
            name: "",
            list: *list,
        }));
    };
    let mut tags = Vec::new();
    for member in object.members() {
        let name = member.name;
        if name == TASKS && member.value.is_array() {
            let list = member.value;
            return vec![Tag { name: "", list }];
        }
        let list = member.value.member(TASKS).filter(|list| list.is_array());
        tags.extend(list.map(|list| Tag { name, list }));
    }
    tags
}

/// Reads the tasks of each tag, or of the one that is chosen. With several tags, an id begins with
/// its tag, since each has numbers of its own.
fn read<'a>(file: &File<'a>, reader: &mut Reader<'_, 'a>) -> Contents {
    let mut tags = tags(file);
    if let Some(chosen) = reader.tag {
        choose(chosen, &mut tags, reader);
    }
    let mut records = Vec::new();
    let mut open: Vec<(&str, usize, usize)> = Vec::new();
    let has_several = tags.len() > 1;
    for tag in &tags {
        // Each of its tasks repeats it, so it is refused before.
        if has_several && tag.name.len() > TaskId::MAX_BYTES {
            let message = format!(
                "a tag begins the ids of its tasks, so its name has at most {} bytes",
                TaskId::MAX_BYTES
            );
            reader.findings.error(Pending::new(
                tag.list.offset,
                FindingCode::InvalidId,
                tag.name,
                message,
            ));
            continue;
        }
        let prefix = match has_several {
            true => format!("{}.", tag.name),
            false => String::new(),
        };
        let mut tasks = Vec::new();
        for task in tag.list.items() {
            tasks.extend(self::task(task, &prefix, reader));
        }
        let first = records.len();
        add(tasks, &mut records);
        let mut running = 0;
        for record in records.iter_mut().skip(first) {
            record.section = has_several.then(|| tag.name.to_owned());
            running += usize::from(record.status.runs());
        }
        if running > 0 {
            open.push((tag.name, running, tag.list.offset));
        }
    }
    if let ([_, (_, _, second), ..], None) = (open.as_slice(), reader.tag) {
        let names = open
            .iter()
            .map(|(name, running, _)| format!("`{name}` ({running})"))
            .collect::<Vec<_>>()
            .join(", ");
        let message = format!("several tags have open tasks, and a run follows one: {names}");
        let found = Pending::new(*second, FindingCode::SeveralTags, "", message);
        let advice = "choose one of them by its name".to_owned();
        reader.findings.error(found.suggest(Some(advice)));
    }
    Contents {
        records,
        order: BY_DEPENDENCIES,
        ..Contents::default()
    }
}

/// Leaves only the tag with this name; an unknown one is an error.
fn choose<'a>(chosen: &str, tags: &mut Vec<Tag<'a>>, reader: &mut Reader<'_, 'a>) {
    let known: Vec<&str> = tags.iter().map(|tag| tag.name).collect();
    if !known.contains(&chosen) {
        let at = tags.first().map_or(0, |tag| tag.list.offset);
        let message = format!("the file has no tag `{chosen}`");
        let found = Pending::new(at, FindingCode::SeveralTags, chosen, message);
        let advice = match known.concat().is_empty() {
            true => "it has no tags".to_owned(),
            false => format!("its tags: {}", known.join(", ")),
        };
        return reader.findings.error(found.suggest(Some(advice)));
    }
    for tag in tags.iter().filter(|tag| tag.name != chosen) {
        let reason = format!("it is of the tag `{}`", tag.name);
        reader.left.push(Left {
            range: tag.list.range(),
            reason,
        });
    }
    tags.retain(|tag| tag.name == chosen);
}

/// Adds the tasks, with their subtasks as records of their own where those are tasks.
fn add(tasks: Vec<Task>, records: &mut Vec<Record>) {
    let named = named_elsewhere(&tasks);
    for Task {
        mut record,
        subtasks,
        has_own_work,
    } in tasks
    {
        let is_named = |subtask: &Record| {
            subtask
                .id
                .as_ref()
                .is_some_and(|id| named.contains(&id.text))
        };
        let are_tasks = !has_own_work || subtasks.iter().any(is_named);
        let parent = records.len();
        if are_tasks {
            records.push(record);
            records.extend(subtasks.into_iter().map(|subtask| Record {
                parent: Some(parent),
                ..subtask
            }));
        } else {
            subtasks
                .into_iter()
                .for_each(|subtask| fold(&mut record, subtask));
            records.push(record);
        }
    }
}

/// Returns the ids that a task names, or a subtask of another task.
fn named_elsewhere(tasks: &[Task]) -> HashSet<String> {
    let mut named = HashSet::new();
    for task in tasks {
        let own = task
            .record
            .id
            .as_ref()
            .map(|id| format!("{}.", id.text))
            .unwrap_or_default();
        let lists = task
            .subtasks
            .iter()
            .chain([&task.record])
            .flat_map(|record| &record.depends);
        named.extend(
            lists
                .filter(|on| !on.text.starts_with(&own))
                .map(|on| on.text.clone()),
        );
    }
    named
}

/// Makes a subtask part of what its task says.
fn fold(task: &mut Record, subtask: Record) {
    let id = subtask.id.as_ref().map_or("", |id| id.text.as_str());
    let own = task
        .id
        .as_ref()
        .map(|id| id.text.clone())
        .unwrap_or_default();
    let state = match subtask.status {
        TaskStatus::Todo | TaskStatus::LeftOut => "",
        TaskStatus::InProgress => " (in progress)",
        TaskStatus::Done => " (done already)",
        TaskStatus::Cancelled => " (cancelled: leave it)",
        TaskStatus::Blocked => " (blocked: leave it)",
    };
    let mut text = format!("Subtask {id}{state}: {}", subtask.title);
    for detail in &subtask.details {
        text.push_str("\n  ");
        text.push_str(&detail.replace('\n', "\n  "));
    }
    task.details.push(text);
    if subtask.status.runs() {
        task.marks.extend(subtask.marks);
    }
    let within = format!("{own}.");
    task.depends.extend(
        subtask
            .depends
            .into_iter()
            .filter(|on| on.text != own && !on.text.starts_with(&within)),
    );
}

fn task<'a>(task: Json<'a>, prefix: &str, reader: &mut Reader<'_, 'a>) -> Option<Task> {
    let fields = reader.fields(task, &TASK);
    let mut record = reader.record(&fields, &TASK)?;
    if let Some(id) = &mut record.id {
        id.text.insert_str(0, prefix);
    }
    if let Some(status) = fields.get("status") {
        reader.status(&mut record, status, DONE);
    }
    if let Some(priority) = fields.get("priority") {
        reader.priority(&mut record, priority);
    }
    let depends = fields
        .get("dependencies")
        .map(|ids| reader.ids(ids))
        .unwrap_or_default();
    record.depends = depends
        .into_iter()
        .map(|on| Located {
            text: format!("{prefix}{}", on.text),
            ..on
        })
        .collect();
    let own = record
        .id
        .as_ref()
        .map(|id| id.text.clone())
        .unwrap_or_default();
    let subtasks = fields.get("subtasks").map(Json::items).unwrap_or_default();
    let subtasks = subtasks
        .into_iter()
        .filter_map(|subtask| self::subtask(subtask, &own, reader))
        .collect();
    let mut subtasks = siblings_resolved(subtasks, &own, prefix);
    let is_done = record.status == TaskStatus::Done;
    for subtask in subtasks.iter_mut().filter(|it| is_done && it.status.runs()) {
        subtask.status = TaskStatus::Done;
        reader.findings.skip(subtask.at, "its task is done");
    }
    let is_said = |name| {
        fields
            .get(name)
            .is_some_and(|value| !matches!(value.raw(), "\"\"" | "[]" | "{}"))
    };
    let has_own_work = subtasks.is_empty() || is_said("details") || is_said("testStrategy");
    Some(Task {
        record,
        subtasks,
        has_own_work,
    })
}

fn subtask<'a>(subtask: Json<'a>, own: &str, reader: &mut Reader<'_, 'a>) -> Option<Record> {
    let fields = reader.fields(subtask, &TASK);
    let mut record = reader.record(&fields, &TASK)?;
    if let Some(id) = &mut record.id {
        // Some files write the whole id, `1.2`.
        let last = id.text.rsplit('.').next().unwrap_or_default();
        id.text = format!("{own}.{last}");
    }
    if let Some(status) = fields.get("status") {
        reader.status(&mut record, status, DONE);
    }
    record.depends = fields
        .get("dependencies")
        .map(|ids| reader.ids(ids))
        .unwrap_or_default();
    Some(record)
}

/// Replaces the dependencies of subtasks by whole ids: `2` is a sibling if there is one, else a
/// task.
fn siblings_resolved(mut subtasks: Vec<Record>, own: &str, prefix: &str) -> Vec<Record> {
    let ids: HashSet<String> = subtasks
        .iter()
        .filter_map(|subtask| Some(subtask.id.as_ref()?.text.clone()))
        .collect();
    for on in subtasks.iter_mut().flat_map(|subtask| &mut subtask.depends) {
        let sibling = format!("{own}.{}", on.text);
        on.text = if ids.contains(&sibling) {
            sibling
        } else {
            format!("{prefix}{}", on.text)
        };
    }
    subtasks
}
