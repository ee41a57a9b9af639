//! The fields of one record, and the record itself before ids and dependencies are resolved.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::fields::attributes::Located;
use crate::fields::value;
use crate::finding::{FindingCode, Findings, Pending};
use crate::formats::whole::headline;
use crate::formats::yaml::one_line;
use crate::import::json::{Json, Member};
use crate::mark::Mark;
use crate::tasks::draft::{Draft, UNKNOWN};
use crate::tasks::status;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::invisible::hidden;

/// Ralph's field that says whether a task is done.
const PASSES: &str = "passes";

/// Other fields that say so where there is no `status`.
const FLAGS: &[&str] = &["complete", "completed", "done", "isComplete"];

/// The spellings of the field that names dependencies.
pub(crate) const DEPENDS: &[&str] = &[
    "dependencies",
    "dependsOn",
    "depends_on",
    "blockedBy",
    "blocked_by",
];

/// What an agent is told, in this order: the field and the words before it, which may be empty.
const DETAILS: &[(&str, &str)] = &[
    ("description", ""),
    ("details", ""),
    ("design", "Design"),
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
];

/// The rank of a task that names no priority, among those that do.
pub(crate) const MEDIUM: i64 = 2;

/// The maximum number of dependencies of one record: groups pass theirs to each of their tasks.
pub(crate) const MAX_DEPENDENCIES_OF_ONE: usize = 200;

/// What a file says beside its tasks.
pub(crate) struct Part {
    pub(crate) range: Range<usize>,
    /// Why it is not run; `None` if it is told to all.
    pub(crate) reason: Option<String>,
}

/// One task, or one group of tasks, as a tracker stores it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub(crate) draft: Draft,
    /// The byte offset of the end of its object.
    pub(crate) end: usize,
    /// The rank of its priority, lowest first.
    pub(crate) rank: Option<i64>,
    /// The index of the record that it is part of, which is then a group.
    pub(crate) parent: Option<usize>,
}

impl Record {
    /// Returns its id; empty if it has none.
    pub(crate) fn id(&self) -> &str {
        self.draft.id.as_ref().map_or("", |id| &id.text)
    }
}

/// What the fields of one format's records are.
pub(crate) struct Format {
    /// What stands in `status` once a task is done.
    pub(crate) done: &'static str,
    /// The spellings of the field that names the ids of dependencies.
    pub(crate) depends: &'static [&'static str],
}

/// Reads the fields of records.
pub(crate) struct Reader<'s> {
    pub(crate) findings: &'s mut Findings,
    /// The tag that is run, where a file has several.
    pub(crate) tag: Option<&'s str>,
    /// What is beside the tasks.
    pub(crate) parts: Vec<Part>,
}

/// The fields of one object.
pub(crate) struct Fields<'a> {
    pub(crate) range: Range<usize>,
    members: Vec<Member<'a>>,
}

impl<'a> Fields<'a> {
    /// Returns the value of a field, unless it is null.
    pub(crate) fn get(&self, name: &str) -> Option<Json<'a>> {
        self.members
            .iter()
            .find(|member| member.name == name && !member.value.is_null())
            .map(|member| member.value)
    }

    /// Returns the value of the first of several spellings of a field.
    pub(crate) fn first(&self, names: &[&str]) -> Option<Json<'a>> {
        names.iter().find_map(|name| self.get(name))
    }
}

impl<'a> Reader<'_> {
    /// Splits an object into its fields; one that is set twice is an error.
    pub(crate) fn fields(&mut self, object: Json<'a>) -> Fields<'a> {
        let members = object.members();
        let mut seen = BTreeSet::new();
        for member in &members {
            if !seen.insert(member.name) {
                let message = format!("the field `{}` is set twice for one task", member.name);
                self.findings.error(Pending::new(
                    member.value.offset,
                    FindingCode::DuplicateKey,
                    member.value.raw(),
                    message,
                ));
            }
        }
        Fields {
            range: object.range(),
            members,
        }
    }

    /// Says that a part of the file is not run, although it may look like work.
    pub(crate) fn leave(&mut self, range: Range<usize>, reason: impl Into<String>) {
        let reason = reason.into();
        self.findings.skip(range.start, reason.clone());
        self.part(range, Some(reason));
    }

    /// Says that a part of the file is told, or why it is not run.
    pub(crate) fn part(&mut self, range: Range<usize>, reason: Option<String>) {
        self.parts.push(Part { range, reason });
    }

    /// Returns what every format says in the same way: title and details, and the id if there is
    /// one. A record without a title is skipped.
    pub(crate) fn record(&mut self, fields: &Fields<'a>, format: &Format) -> Option<Record> {
        for value in ["title", "name"].iter().filter_map(|name| fields.get(name)) {
            self.warn_of_hidden(value);
        }
        let text = |names: &[&str]| {
            fields
                .first(names)
                .and_then(Json::word)
                .filter(|text| !text.trim().is_empty())
        };
        let written = text(&["title", "name"]).map(|title| one_line(Some(&title)));
        let Some(title) =
            written.or_else(|| text(&["description"]).map(|text| headline(text.trim())))
        else {
            self.leave(fields.range.clone(), "it has no title");
            return None;
        };
        let draft = Draft {
            at: fields.range.start,
            id: fields.get("id").and_then(located),
            details: self.details(fields, &title),
            title,
            ..Draft::default()
        };
        let mut record = Record {
            draft,
            end: fields.range.end,
            ..Record::default()
        };
        let flag = fields.members.iter().find(|member| is_flag(member));
        match (fields.get(PASSES), fields.get("status"), flag) {
            (Some(passes), _, _) => self.passes(&mut record, passes),
            (None, Some(status), _) => self.status(&mut record, status, format.done),
            (None, None, Some(flag)) => self.passes(&mut record, flag.value),
            (None, None, None) => {}
        }
        if let Some(priority) = fields.get("priority") {
            self.priority(&mut record, priority);
        }
        if let Some(ids) = fields.first(format.depends) {
            record.draft.attributes.depends = self.ids(ids);
        }
        Some(record)
    }

    /// Returns what an agent is told beside the title.
    fn details(&mut self, fields: &Fields<'a>, title: &str) -> Vec<String> {
        let mut details = Vec::new();
        for (name, words) in DETAILS {
            let Some(value) = fields.get(name) else {
                continue;
            };
            self.warn_of_hidden(value);
            let text = value.prose();
            if !text.is_empty() && text != title {
                details.push(labelled(words, &text));
            }
        }
        details
    }

    /// Sets the status by whether a task is done, and its mark.
    fn passes(&mut self, record: &mut Record, value: Json<'a>) {
        match value.raw() {
            "true" => record.draft.status = TaskStatus::Done,
            "false" => {}
            _ => {
                let found = invalid(value, "expected true or false");
                self.findings.error(found);
            }
        }
        record.draft.marks.push(Mark {
            range: value.range(),
            done: "true".into(),
        });
    }

    /// Sets the status that a field names, and its mark; an unknown word is not run.
    fn status(&mut self, record: &mut Record, value: Json<'a>, done: &str) {
        let word = value.word().unwrap_or_default();
        record.draft.marks.push(Mark {
            range: value.range(),
            done: format!("\"{done}\"").into(),
        });
        if let Some(status) = status_named(&word) {
            record.draft.status = status;
            return;
        }
        record.draft.hold(TaskStatus::Blocked, UNKNOWN);
        let message = format!("unknown status `{word}`: this task is not run");
        let found = invalid(value, &message)
            .suggest("known: pending, in-progress, done, blocked, deferred, review, cancelled");
        self.findings.warn(found);
    }

    /// Sets the rank of a priority; an unknown word has none.
    fn priority(&mut self, record: &mut Record, value: Json<'a>) {
        record.rank = value.word().and_then(|word| rank_named(&word));
        if record.rank.is_none() {
            let message = "expected a whole number, or one of critical, high, medium and low";
            self.findings.warn(invalid(value, message));
        }
    }

    /// Returns the ids in a list, or the only one.
    fn ids(&mut self, value: Json<'a>) -> Vec<Located> {
        let items = if value.is_array() {
            value.items()
        } else {
            vec![value]
        };
        if items.len() > MAX_DEPENDENCIES_OF_ONE {
            self.findings.error(too_many_dependencies(value.offset));
            return Vec::new();
        }
        let mut ids = Vec::new();
        for item in items {
            match item.word() {
                Some(_) => ids.extend(located(item)),
                None => {
                    let found = invalid(item, "expected the id of a task");
                    self.findings.error(found);
                }
            }
        }
        ids
    }

    /// Warns of hidden characters that are written as escapes; those written as such are found in
    /// the source.
    fn warn_of_hidden(&mut self, value: Json<'a>) {
        if !value.raw().contains("\\u") {
            return;
        }
        let Ok(decoded) = serde_json::from_str::<String>(value.raw()) else {
            return;
        };
        if let Some((_, c)) = hidden(&decoded).next() {
            let message = format!("hidden character U+{:04X}", u32::from(c));
            self.findings.warn(Pending::new(
                value.offset,
                FindingCode::HiddenText,
                "",
                message,
            ));
        }
    }
}

/// Reports whether a field says that a task is done, or that it is not; with another value than
/// true and false, such as a date, it says something else.
fn is_flag(member: &Member<'_>) -> bool {
    FLAGS.contains(&member.name) && matches!(member.value.raw(), "true" | "false")
}

/// Returns the error of a value that is not what its field expects.
pub(crate) fn invalid(value: Json<'_>, message: &str) -> Pending {
    Pending::new(
        value.offset,
        FindingCode::InvalidValue,
        value.raw(),
        message,
    )
}

/// Returns the error of a task that depends on too many others.
pub(crate) fn too_many_dependencies(offset: usize) -> Pending {
    let message = format!(
        "a task depends on at most {MAX_DEPENDENCIES_OF_ONE} others, with those of its groups"
    );
    Pending::new(offset, FindingCode::TooManyDependencies, "", message)
}

/// Returns an id with its place.
pub(crate) fn located(id: Json<'_>) -> Option<Located> {
    let found = Located::new(id.word()?.trim(), id.offset);
    Some(found).filter(|found| !found.text.is_empty())
}

/// Returns a text below its label; several lines begin below it.
pub(crate) fn labelled(words: &str, text: &str) -> String {
    match (words, text.contains('\n') || text.starts_with("- ")) {
        ("", _) => text.to_owned(),
        (words, true) => format!("{words}:\n{text}"),
        (words, false) => format!("{words}: {text}"),
    }
}

/// Returns the status that a word of any tracker means.
///
/// `review` waits for a person, as `deferred` does, and what is `hooked` is another worker's: such
/// a task is not run, nor are those that depend on it.
fn status_named(word: &str) -> Option<TaskStatus> {
    match word.to_lowercase().replace(['-', ' '], "_").as_str() {
        "review" | "hooked" => Some(TaskStatus::Blocked),
        key => status::of_key(key),
    }
}

/// Returns the rank of a priority, lowest first: a number, `P1`, or a word.
fn rank_named(word: &str) -> Option<i64> {
    let number = word.trim().parse().ok();
    number.or_else(|| Some(MEDIUM - value::priority(word)?))
}
