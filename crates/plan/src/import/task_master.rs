//! task-master's `tasks.json`: a list of tasks, or several by tag, each with subtasks.
//!
//! task-master works on subtasks (`next` names `2.1`) and marks each of them, and a task that is
//! set to done has its subtasks set to done. So a task with subtasks is a group, whose subtasks are
//! told what it says.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::finding::{FindingCode, Pending};
use crate::formats::format::Claim;
use crate::import::assemble::{BY_DEPENDENCIES, Contents};
use crate::import::format::{File, JsonFormat, have};
use crate::import::json::{Json, Member};
use crate::import::ralph;
use crate::import::record::{DEPENDS, Format, Part, Reader, Record};
use crate::lines::outline::MAX_DEPTH;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::task::schedule::cycles;
use orchestrate_core::text::parts::Parts;

pub(crate) const FORMAT: JsonFormat = JsonFormat {
    name: "task-master",
    claims,
    read,
    example: include_str!("task_master.json"),
};

/// The name of a list of tasks.
pub(crate) const TASKS: &str = "tasks";

/// What some versions hold all tags in, beside others.
const TAGS: &str = "tags";

/// The maximum number of numbers that are taken for those of tasks in one list of subtasks.
const MAX_MISREAD: usize = 20;

const TASK: Format = Format {
    done: "done",
    depends: DEPENDS,
    read: &["subtasks"],
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
fn read<'a>(file: &File<'a>, reader: &mut Reader<'_, 'a>) -> Contents {
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
        let running = added.filter(|record| record.status.runs()).count();
        if running > 0 {
            open.push(format!("`{}` ({running})", tag.name));
            if open.len() == 2 {
                last = tag.list.offset;
            }
        }
    }
    shorten(&mut records, reader);
    if open.len() > 1 && reader.tag.is_none() {
        let message = format!(
            "several tags have open tasks, and a run follows one: {}",
            open.join(", ")
        );
        let found = Pending::new(last, FindingCode::SeveralTags, "", message);
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
    let known: Vec<&str> = tags.iter().map(|tag| tag.name.as_ref()).collect();
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
        reader.parts.push(Part {
            range: tag.list.range(),
            reason: Some(reason),
        });
    }
    tags.retain(|tag| tag.name == chosen);
}

/// Adds the tasks of one of several tags.
fn add_tagged<'a>(tag: &Tag<'a>, reader: &mut Reader<'_, 'a>, records: &mut Vec<Record>) {
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
        record.section = Some(tag.name.to_string());
    }
}

/// Adds the tasks of a list, whose ids begin with this prefix, and their subtasks.
fn add<'a>(items: Json<'a>, prefix: &str, reader: &mut Reader<'_, 'a>, records: &mut Vec<Record>) {
    let mut lists = vec![List {
        items,
        parent: None,
        depth: 0,
    }];
    let mut tasks = HashSet::new();
    while let Some(list) = lists.pop() {
        let first = records.len();
        for item in list.items.items() {
            let fields = reader.fields(item, &TASK);
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
        let own = list.parent.and_then(|at| records.get(at)?.id.clone());
        let own = own.map_or(String::new(), |own| format!("{}.", own.text));
        if list.parent.is_none() {
            let ids = records.iter().skip(first).filter_map(id_of);
            tasks = ids.map(str::to_owned).collect();
        }
        let (earlier, added) = records.split_at_mut(first);
        let parent = list.parent.and_then(|at| earlier.get(at));
        let around = Around {
            tasks: &tasks,
            prefix,
            parent,
            own,
        };
        resolve(added, &around);
    }
}

fn begin_with(prefix: &str, record: &mut Record) {
    if let Some(id) = &mut record.id {
        id.text.insert_str(0, prefix);
    }
}

/// Gives a subtask what it has from its task: the beginning of its id, and its priority. Those of a
/// task that is done are done.
fn within(parent: &Record, subtask: &mut Record) {
    subtask.rank = subtask.rank.or(parent.rank);
    if parent.status == TaskStatus::Done && subtask.status.runs() {
        subtask.status = TaskStatus::Done;
        subtask.held = Some("its task is done".into());
    }
    let (Some(own), Some(id)) = (&parent.id, &mut subtask.id) else {
        return;
    };
    // Some files write the whole id, `1.2`.
    let last = id.text.rsplit('.').next().unwrap_or(&id.text);
    id.text = format!("{}.{last}", own.text);
}

/// Shortens the ids that are too long only because each level of a file adds to them.
fn shorten(records: &mut [Record], reader: &mut Reader<'_, '_>) {
    let mut shorter: HashMap<String, String> = HashMap::new();
    for (at, record) in (1..).zip(records.iter_mut()) {
        let Some(id) = &mut record.id else { continue };
        if record.parent.is_none() || id.text.len() <= TaskId::MAX_BYTES {
            continue;
        }
        let number = format!("-{at}");
        let end = id
            .text
            .floor_char_boundary(TaskId::MAX_BYTES - number.len());
        let short = format!("{}{number}", id.text.head(end));
        let message = format!(
            "an id has at most {} bytes, so this one is shortened to `{short}`",
            TaskId::MAX_BYTES
        );
        let code = FindingCode::InvalidId;
        let found = Pending::new(id.offset, code, &id.text, message);
        reader.findings.warn(found);
        shorter.insert(std::mem::replace(&mut id.text, short.clone()), short);
    }
    for on in records.iter_mut().flat_map(|record| &mut record.depends) {
        if let Some(short) = shorter.get(&on.text) {
            on.text.clone_from(short);
        }
    }
}

fn id_of(record: &Record) -> Option<&str> {
    record.id.as_ref().map(|id| id.text.as_str())
}

/// What stands around a list of tasks or of subtasks.
struct Around<'r> {
    /// The ids of the tasks that are no subtasks, of the same tag.
    tasks: &'r HashSet<String>,
    /// What their ids begin with.
    prefix: &'r str,
    parent: Option<&'r Record>,
    /// What the ids of the subtasks begin with.
    own: String,
}

/// Replaces the dependencies of the records of a list by whole ids: `2` is a sibling, whose id
/// begins with that of their task, if there is one, else a task.
fn resolve(records: &mut [Record], around: &Around<'_>) {
    let mut by_id = HashMap::new();
    if !around.own.is_empty() {
        let ids = (0..).zip(records.iter());
        by_id.extend(ids.filter_map(|(at, record)| Some((id_of(record)?.to_owned(), at))));
    }
    let misread = misread(records, &by_id, around);
    for (from, record) in records.iter_mut().enumerate() {
        for on in &mut record.depends {
            let sibling = format!("{}{}", around.own, on.text);
            let to = by_id.get(&sibling).copied();
            on.text = match to.filter(|to| !misread.contains(&Step { from, to: *to })) {
                Some(_) => sibling,
                None => format!("{}{}", around.prefix, on.text),
            };
        }
    }
}

/// Returns the steps between siblings that cannot be meant: they would wait for each other, and a
/// task has the same number.
fn misread(
    records: &[Record],
    by_id: &HashMap<String, usize>,
    around: &Around<'_>,
) -> HashSet<Step> {
    let mut waits = Vec::with_capacity(records.len());
    for record in records {
        let siblings = record.depends.iter();
        let siblings = siblings.map(|on| format!("{}{}", around.own, on.text));
        let found = siblings.filter_map(|id| by_id.get(&id).copied());
        waits.push(found.collect::<Vec<usize>>());
    }
    let mut found = HashSet::new();
    while found.len() < MAX_MISREAD
        && let Some(cycle) = cycles(&waits, 1).pop()
        && let Some(step) = around.misread_step(records, &cycle)
        && let Some(needs) = waits.get_mut(step.from)
    {
        needs.retain(|need| *need != step.to);
        found.insert(step);
    }
    found
}

/// A subtask that waits for another one, by their indices.
#[derive(PartialEq, Eq, Hash)]
struct Step {
    from: usize,
    to: usize,
}

impl Around<'_> {
    /// Returns the step of a cycle that rather means a task: one that the task around them waits
    /// for, else a step to a later subtask.
    fn misread_step(&self, records: &[Record], cycle: &[usize]) -> Option<Step> {
        let mut best = None;
        for pair in cycle.windows(2) {
            let [from, to] = pair else { continue };
            let id = records.get(*to).and_then(id_of);
            let Some(task) = id.and_then(|id| self.task_beside(id)) else {
                continue;
            };
            let step = Step {
                from: *from,
                to: *to,
            };
            let on = self.parent.map_or(&[][..], |parent| &parent.depends);
            if on.iter().any(|on| on.text == task) {
                return Some(step);
            }
            let is_later = step.to >= step.from;
            if best.is_none() || is_later {
                best = Some(step);
            }
        }
        best
    }

    /// Returns the task with the number that a subtask has, unless the subtask is within it.
    fn task_beside(&self, subtask: &str) -> Option<String> {
        let number = subtask.strip_prefix(&self.own)?;
        let task = format!("{}{number}", self.prefix);
        let is_around = self.own.starts_with(&format!("{task}."));
        (self.tasks.contains(&task) && !is_around).then_some(task)
    }
}
