//! task-master's `tasks.json`: a list of tasks, or several by tag, each with subtasks.
//!
//! task-master works on subtasks (`next` names `2.1`) and marks each of them, and a task that is
//! set to done has its subtasks set to done. So a task with subtasks is a group, whose subtasks are
//! told what it says.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::finding::{FindingCode, Pending};
use crate::formats::format::Claim;
use crate::import::assemble::{BY_DEPENDENCIES, Contents};
use crate::import::format::{File, JsonFormat, have};
use crate::import::json::{Json, Member};
use crate::import::ralph;
use crate::import::record::{DEPENDS, Format, Reader, Record};
use crate::lines::outline::MAX_DEPTH;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::TaskStatus;

pub(crate) const FORMAT: JsonFormat = JsonFormat {
    name: "task-master",
    claims,
    read,
    example: include_str!("task_master.json"),
};

/// The name of a list of tasks.
const TASKS: &str = "tasks";

/// What some versions hold all tags in, beside others.
const TAGS: &str = "tags";

const TASK: Format = Format {
    done: "done",
    depends: DEPENDS,
};

/// The tasks of one tag, or of a file without tags.
struct Tag<'a> {
    name: Cow<'a, str>,
    list: Json<'a>,
}

/// A list of tasks, or of the subtasks of one.
struct List<'a> {
    items: Json<'a>,
    /// The index of the task whose subtasks they are.
    parent: Option<usize>,
    depth: usize,
}

fn claims(file: &File<'_>) -> Claim {
    let tags = tags(file);
    let mut lists = tags.iter().map(|tag| tag.list.items());
    let are_tasks = lists.all(|items| {
        let has_titles = items.is_empty() || have(&items, &["title", "name", "description"]);
        has_titles && !have(&items, &["passes", "issue_type"])
    });
    Claim::mine_if(
        !tags.is_empty() && are_tasks,
        "it has tasks with a status, by tag or without one",
    )
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
            name: Cow::Borrowed(""),
            list: *list,
        }));
    };
    let mut tags: Vec<Tag<'_>> = Vec::new();
    for member in object.members() {
        if member.name == TASKS && member.value.is_array() {
            return vec![Tag {
                name: Cow::Borrowed(""),
                list: member.value,
            }];
        }
        tags.extend(tag(&member));
    }
    let nested = object.member(TAGS).filter(|tags| tags.is_object());
    for member in nested.map(Json::members).into_iter().flatten() {
        let Some(mut tag) = tag(&member) else {
            continue;
        };
        if tags.iter().any(|known| known.name == tag.name) {
            tag.name = Cow::Owned(format!("{TAGS}.{}", tag.name));
        }
        tags.push(tag);
    }
    tags
}

/// Returns a member as a tag, if it is one.
fn tag<'a>(member: &Member<'a>) -> Option<Tag<'a>> {
    let within = member.value.member(TASKS).filter(|list| list.is_array());
    let list = within.or(Some(member.value).filter(|_| is_bare_tag(member)));
    Some(Tag {
        name: Cow::Borrowed(member.name),
        list: list?,
    })
}

/// Reports whether a member is a tag whose tasks stand right below it.
fn is_bare_tag(member: &Member<'_>) -> bool {
    let items = member.value.items();
    let are_named = items
        .iter()
        .all(|item| item.member("id").is_some() && item.member("title").is_some());
    !items.is_empty()
        && are_named
        && have(&items, &["status", "dependencies", "subtasks"])
        && !have(&items, &[TASKS])
        && !ralph::STORIES.contains(&member.name)
}

/// Reads the tasks of each tag, or of the one that is chosen. With several tags, an id begins with
/// its tag, since each has numbers of its own.
fn read<'a>(file: &File<'a>, reader: &mut Reader<'_>) -> Contents {
    let mut tags = tags(file);
    if let Some(chosen) = reader.tag {
        choose(chosen, &mut tags, reader);
    }
    let mut records = Vec::new();
    let mut open = Vec::new();
    let mut last = 0;
    for tag in &tags {
        let first = records.len();
        match tags.len() {
            1 => add(tag.list, "", reader, &mut records),
            _ => add_tagged(tag, reader, &mut records),
        }
        let added = records.iter().skip(first);
        let running = added.filter(|record| record.draft.status.runs()).count();
        if running > 0 {
            open.push(format!("`{}` ({running})", tag.name));
            if open.len() == 2 {
                last = tag.list.offset;
            }
        }
    }
    if open.len() > 1 && reader.tag.is_none() {
        let message = format!(
            "several tags have open tasks, and a run follows one: {}",
            open.join(", ")
        );
        let found = Pending::new(last, FindingCode::SeveralTags, "", message);
        reader
            .findings
            .error(found.suggest("choose one of them by its name"));
    }
    Contents {
        records,
        order: BY_DEPENDENCIES,
        ..Contents::default()
    }
}

/// Leaves only the tag with this name; an unknown one is an error.
fn choose<'a>(chosen: &str, tags: &mut Vec<Tag<'a>>, reader: &mut Reader<'_>) {
    let known: Vec<&str> = tags.iter().map(|tag| tag.name.as_ref()).collect();
    if !known.contains(&chosen) {
        let at = tags.first().map_or(0, |tag| tag.list.offset);
        let message = format!("the file has no tag `{chosen}`");
        let found = Pending::new(at, FindingCode::SeveralTags, chosen, message);
        let advice = match known.concat().is_empty() {
            true => "it has no tags".to_owned(),
            false => format!("its tags: {}", known.join(", ")),
        };
        return reader.findings.error(found.suggest(advice));
    }
    for tag in tags.iter().filter(|tag| tag.name != chosen) {
        let reason = format!("it is of the tag `{}`", tag.name);
        reader.part(tag.list.range(), Some(reason));
    }
    tags.retain(|tag| tag.name == chosen);
}

/// Adds the tasks of one of several tags.
fn add_tagged<'a>(tag: &Tag<'a>, reader: &mut Reader<'_>, records: &mut Vec<Record>) {
    // Each of its tasks repeats it, so it is refused before.
    if tag.name.len() > TaskId::MAX_BYTES {
        let message = format!(
            "a tag begins the ids of its tasks, so its name has at most {} bytes",
            TaskId::MAX_BYTES
        );
        let code = FindingCode::InvalidId;
        let found = Pending::new(tag.list.offset, code, &tag.name, message);
        return reader.findings.error(found);
    }
    let first = records.len();
    add(tag.list, &format!("{}.", tag.name), reader, records);
    for record in records.iter_mut().skip(first) {
        record.draft.section = Some(tag.name.to_string());
    }
}

/// Adds the tasks of a list, whose ids begin with this prefix, and their subtasks.
fn add<'a>(items: Json<'a>, prefix: &str, reader: &mut Reader<'_>, records: &mut Vec<Record>) {
    let mut lists = vec![List {
        items,
        parent: None,
        depth: 0,
    }];
    while let Some(list) = lists.pop() {
        let first = records.len();
        for item in list.items.items() {
            let fields = reader.fields(item);
            let Some(mut record) = reader.record(&fields, &TASK) else {
                continue;
            };
            let parent = list.parent.and_then(|at| records.get(at));
            record.parent = list.parent;
            match parent {
                Some(parent) => within(parent, &mut record),
                None => begin_with(prefix, &mut record),
            }
            // One that is deeper is an error once the groups are known.
            let subtasks = fields.get("subtasks").filter(|_| list.depth <= MAX_DEPTH);
            lists.extend(subtasks.map(|items| List {
                items,
                parent: Some(records.len()),
                depth: list.depth + 1,
            }));
            records.push(record);
        }
        let own = list.parent.and_then(|at| records.get(at)).map(Record::id);
        let own = own.filter(|own| !own.is_empty());
        let own = own.map_or(String::new(), |own| format!("{own}."));
        resolve(records.split_at_mut(first).1, prefix, &own);
    }
}

fn begin_with(prefix: &str, record: &mut Record) {
    if let Some(id) = &mut record.draft.id {
        id.text.insert_str(0, prefix);
    }
}

/// Gives a subtask what it has from its task: the beginning of its id, and its priority. Those of a
/// task that is done are done.
fn within(parent: &Record, subtask: &mut Record) {
    subtask.rank = subtask.rank.or(parent.rank);
    if parent.draft.status == TaskStatus::Done {
        subtask.draft.hold(TaskStatus::Done, "its task is done");
    }
    let (Some(own), Some(id)) = (&parent.draft.id, &mut subtask.draft.id) else {
        return;
    };
    // Some files write the whole id, `1.2`.
    let last = id.text.rsplit('.').next().unwrap_or(&id.text);
    id.text = format!("{}.{last}", own.text);
}

/// Replaces the dependencies of the records of a list by whole ids: `2` is a sibling, whose id
/// begins with that of their task, if there is one, else a task.
fn resolve(records: &mut [Record], prefix: &str, own: &str) {
    let siblings = records.iter().filter(|_| !own.is_empty());
    let siblings: HashSet<String> = siblings.map(|it| it.id().to_owned()).collect();
    for record in records {
        let id = record.id().to_owned();
        for on in &mut record.draft.attributes.depends {
            let sibling = format!("{own}{}", on.text);
            // None waits for itself.
            on.text = match siblings.contains(&sibling) && sibling != id {
                true => sibling,
                false => format!("{prefix}{}", on.text),
            };
        }
    }
}
