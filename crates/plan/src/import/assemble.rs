//! Makes drafts of records: groups give way to their tasks, and dependencies are resolved by exact
//! ids.

use std::collections::{HashMap, HashSet};

use crate::fields::attributes::Located;
use crate::finding::{FindingCode, Findings, Pending};
use crate::formats::collected::Collected;
use crate::formats::held;
use crate::front_matter::Order;
use crate::import::record::{MAX_DEPENDENCIES_OF_ONE, MEDIUM, Record, too_many_dependencies};
use crate::lines::outline::MAX_DEPTH;
use crate::tasks::draft::Draft;
use crate::tasks::draft::Group;
use crate::tasks::handed_down::{part_of, shortened, withheld};
use crate::tasks::note::Note;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::similar::nearest;

/// The order of a plan whose tasks name what they wait for: only that, and files that two of them
/// write.
pub(crate) const BY_DEPENDENCIES: Order = Order::Eager;

/// The maximum number of suggestions for unknown ids: each compares every id.
const MAX_SUGGESTIONS: usize = 20;

/// What a tracker's file says.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) title: Option<String>,
    /// What it says beside its tasks.
    pub(crate) note: String,
    pub(crate) records: Vec<Record>,
    /// The ids of records that were deleted: nothing waits for them.
    pub(crate) deleted: HashSet<String>,
    pub(crate) order: Order,
}

/// Makes drafts of a file's records.
pub(crate) fn assemble(contents: &Contents, findings: &mut Findings) -> Collected {
    let mut children = vec![Vec::new(); contents.records.len()];
    let mut known = HashMap::new();
    let mut outermost = Vec::new();
    for (at, record) in contents.records.iter().enumerate() {
        match record.parent.and_then(|parent| children.get_mut(parent)) {
            Some(siblings) => siblings.push(at),
            None => outermost.push(at),
        }
        if let Some(id) = &record.draft.id {
            known.entry(id.text.clone()).or_insert(at);
        }
    }
    let note = Note {
        line: 1,
        text: contents.note.clone(),
        ..Note::default()
    };
    let found = Collected {
        title: contents.title.clone(),
        notes: vec![note],
        ..Collected::default()
    };
    let mut assembler = Assembler {
        contents,
        children,
        known,
        found,
        findings,
        suggestions: 0,
    };
    for at in outermost {
        assembler.place(at, &Inherited::default());
    }
    assembler.found
}

/// What a record has from the groups around it.
#[derive(Clone, Default)]
struct Inherited {
    depends: Vec<Located>,
    details: Vec<String>,
    /// The status of a cancelled or blocked group, which applies to all its open tasks.
    withheld: Option<TaskStatus>,
    depth: usize,
}

struct Assembler<'r> {
    contents: &'r Contents,
    children: Vec<Vec<usize>>,
    /// Every record by its id.
    known: HashMap<String, usize>,
    found: Collected,
    findings: &'r mut Findings,
    suggestions: usize,
}

impl<'r> Assembler<'r> {
    fn place(&mut self, at: usize, inherited: &Inherited) {
        let Some(record) = self.contents.records.get(at) else {
            return;
        };
        if inherited.depth > MAX_DEPTH {
            let message = format!("groups are nested deeper than {MAX_DEPTH}");
            return self.findings.error(Pending::new(
                record.draft.at,
                FindingCode::TooDeep,
                "",
                message,
            ));
        }
        let mut depends = self.resolve(at, record);
        depends.extend(inherited.depends.iter().cloned());
        if depends.len() > MAX_DEPENDENCIES_OF_ONE {
            return self.findings.error(too_many_dependencies(record.draft.at));
        }
        let children = self
            .children
            .get_mut(at)
            .map(std::mem::take)
            .unwrap_or_default();
        if children.is_empty() {
            self.task(record, depends, inherited);
        } else {
            self.group(record, &children, depends, inherited);
        }
    }

    fn task(&mut self, record: &Record, depends: Vec<Located>, inherited: &Inherited) {
        let mut draft = record.draft.clone();
        draft.attributes.depends = depends;
        draft.attributes.priority = record.rank.map(|rank| MEDIUM.saturating_sub(rank));
        let details = inherited.details.iter().cloned();
        draft.details.splice(0..0, details);
        if let Some(status) = inherited.withheld {
            draft.hold(
                status,
                format!("it is a part of what is {}", held::said(status)),
            );
        }
        self.found.drafts.push(draft);
    }

    fn group(
        &mut self,
        record: &Record,
        children: &[usize],
        depends: Vec<Located>,
        inherited: &Inherited,
    ) {
        let id = record.id().to_owned();
        let mut details = inherited.details.clone();
        details.push(part_of(&id, &record.draft.title));
        details.extend(record.draft.details.iter().cloned());
        let own = withheld(record.draft.status);
        let passed_on = Inherited {
            depends,
            details: vec![shortened(&details.join("\n"))],
            withheld: own.or(inherited.withheld),
            depth: inherited.depth + 1,
        };
        let first = self.found.drafts.len();
        for child in children {
            self.place(*child, &passed_on);
        }
        let leaves = first..self.found.drafts.len();
        let are_done = self.found.drafts.iter().skip(first).all(is_done);
        if record.draft.status.runs() && are_done && !leaves.is_empty() {
            let name = match id.as_str() {
                "" => &record.draft.title,
                id => id,
            };
            let reason = format!("all parts of {name} are done, and it has no other work");
            self.findings.skip(record.draft.at, reason);
        }
        self.found.groups.push(Group {
            id,
            mark: record.draft.marks.first().cloned(),
            leaves,
        });
    }

    /// Returns the dependencies of a record that exist. One between a group and its own part says
    /// nothing about order.
    fn resolve(&mut self, at: usize, record: &Record) -> Vec<Located> {
        let mut found = Vec::new();
        for on in &record.draft.attributes.depends {
            match self.known.get(&on.text).copied() {
                Some(other)
                    if other != at && (self.is_part(at, other) || self.is_part(other, at)) => {}
                // An id that is refused is an error of its own.
                Some(_) if TaskId::refusal(&on.text).is_some() => {}
                Some(_) => found.push(on.clone()),
                None if self.contents.deleted.contains(&on.text) => {}
                None => self.unknown(on),
            }
        }
        found
    }

    /// Reports whether a record belongs to a group, directly or not.
    fn is_part(&self, at: usize, group: usize) -> bool {
        let parent = |at: &usize| {
            self.contents
                .records
                .get(*at)
                .and_then(|record| record.parent)
        };
        std::iter::successors(Some(at), parent)
            .take(MAX_DEPTH + 2)
            .any(|above| above == group)
    }

    fn unknown(&mut self, on: &Located) {
        let message = format!("there is no task `{}`", on.text);
        let found = Pending::new(on.offset, FindingCode::UnknownDependency, &on.text, message);
        self.suggestions += 1;
        let near = if self.suggestions > MAX_SUGGESTIONS {
            None
        } else {
            nearest(&on.text, self.ids())
        };
        let near = near.map(|near| format!("did you mean `{near}`?"));
        self.findings.error(found.suggest_if(near));
    }

    fn ids(&self) -> impl Iterator<Item = &'r str> + use<'r> {
        let ids = self.contents.records.iter().map(Record::id);
        ids.filter(|id| !id.is_empty())
    }
}

fn is_done(draft: &Draft) -> bool {
    draft.status == TaskStatus::Done
}
