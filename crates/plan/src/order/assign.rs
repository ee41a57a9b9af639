//! Assigns an id to every task: the written one, made unique where numbers restart, else a slug of
//! its title.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::fields::identify::{self, Slugs};
use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::text;
use crate::tasks::draft::Draft;
use orchestrate_core::ids::TaskId;

/// The names by which a task is referred to.
#[derive(Clone, Debug)]
pub(crate) struct Name<'d> {
    pub(crate) id: TaskId,
    /// Whether the id is made of the title.
    pub(crate) is_slug: bool,
    /// The number of `Task N` or of an ordered list.
    pub(crate) number: Option<&'d str>,
    pub(crate) title: &'d str,
    /// The index of the list that it stands in: numbers rise within one, and sections have their
    /// own.
    pub(crate) list: usize,
    /// What stands before the numbers of its part of the plan (`P2-`), if they restart there.
    pub(crate) prefix: Option<String>,
    /// The letter and number of its phase, such as `P2`.
    pub(crate) phase: Option<&'d str>,
}

/// Returns the names of each draft; ids that are not allowed and duplicate ones are errors.
pub(crate) fn assign<'d>(drafts: &'d [Draft], findings: &mut Findings) -> Vec<Name<'d>> {
    let prefixes = prefixes(drafts, findings);
    let mut first: HashMap<String, String> = HashMap::with_capacity(drafts.len());
    let mut written = Vec::with_capacity(drafts.len());
    for (draft, prefix) in drafts.iter().zip(&prefixes) {
        let own = draft.id.as_ref();
        let text = own.map(|id| with_prefix(&id.text, prefix.as_deref()));
        if let (Some(id), Some(text)) = (own, &text) {
            let problem = refusal(text, first.get(&TaskId::key(text)));
            if let Some((code, message)) = problem {
                let found = Pending::new(id.offset, code, text, message);
                let advice = "change the id of one of them".to_owned();
                let is_double = code == FindingCode::DuplicateId;
                findings.error(found.suggest_if(is_double.then_some(advice)));
            }
            first.entry(TaskId::key(text)).or_insert(text.clone());
        }
        written.push(text);
    }
    let titles = written.iter().filter(|id| id.is_none()).count();
    let taken = first.into_keys().filter(|_| titles > 0);
    let mut slugs = Slugs::new(titles, taken);
    let mut names = Vec::with_capacity(drafts.len());
    let lists = lists(drafts).into_iter().zip(prefixes);
    for ((draft, text), (list, prefix)) in drafts.iter().zip(written).zip(lists) {
        let title = draft.title.as_str();
        names.push(Name {
            id: text.map_or_else(|| slugs.give(title), TaskId::new),
            is_slug: draft.id.is_none(),
            number: draft.number.as_deref(),
            title,
            list,
            prefix,
            phase: draft.phase_label.as_deref(),
        });
    }
    names
}

/// Returns why an id is not allowed, given an earlier one that is the same but for its case.
fn refusal(id: &str, known: Option<&String>) -> Option<(FindingCode, String)> {
    if let Some(reason) = TaskId::refusal(id) {
        let message = format!("invalid id `{id}`: {reason}");
        return Some((FindingCode::InvalidId, message));
    }
    let message = match known? == id {
        true => format!("another task has the id `{id}`"),
        false => format!(
            "the id `{id}` is not always distinguishable from `{}`",
            known?
        ),
    };
    Some((FindingCode::DuplicateId, message))
}

/// Numbers the items of lists whose markers are all `1.`, as these are shown.
pub(crate) fn count_on(drafts: &mut [Draft]) {
    for list in drafts.chunk_by_mut(are_of_one_list) {
        if list.len() == 1 {
            continue;
        }
        for (number, draft) in (1..).zip(list) {
            draft.number = Some(number.to_string());
        }
    }
}

/// Reports whether two tasks after each other are items of one list whose author wrote `1.` each
/// time.
fn are_of_one_list(one: &Draft, next: &Draft) -> bool {
    let are_first = [one, next].map(|draft| draft.number.as_deref() == Some("1"));
    are_first == [true, true] && one.section_index == next.section_index
}

/// Returns the index of the list that each draft stands in.
fn lists(drafts: &[Draft]) -> Vec<usize> {
    let mut lists = Vec::with_capacity(drafts.len());
    let (mut list, mut section, mut last) = (0, 0, 0);
    for draft in drafts {
        let number = draft
            .number
            .as_deref()
            .and_then(|number| number.parse().ok());
        if section != draft.section_index || number.is_some_and(|number: u64| number <= last) {
            (list, section, last) = (list + 1, draft.section_index, 0);
        }
        last = number.unwrap_or(last);
        lists.push(list);
    }
    lists
}

/// Returns an id with the prefix before it, if it is one that counts.
fn with_prefix(id: &str, prefix: Option<&str>) -> String {
    match prefix.filter(|_| restarts(id)) {
        Some(prefix) => format!("{prefix}{id}"),
        None => id.to_owned(),
    }
}

/// Reports whether an id is one that people begin anew in each part of a plan: `3`, `1.2`, `T1`,
/// `F2`, `US-1`.
fn restarts(id: &str) -> bool {
    let number = id
        .strip_prefix("US-")
        .or_else(|| id.strip_prefix('T'))
        .unwrap_or(id);
    text::is_number(number) || identify::is_unusual(id)
}

/// A part of a plan within which numbers count on.
type Part = fn(&Draft) -> usize;

/// Returns what has to stand before the numbers of each draft: nothing, unless the same number
/// stands in several phases, or in several sections, but only once in each.
fn prefixes(drafts: &[Draft], findings: &mut Findings) -> Vec<Option<String>> {
    let parts: [Part; 2] = [|draft| draft.phase, |draft| draft.section_index];
    let first = repeated(drafts, |_| 0);
    let part = parts.iter().find(|part| repeated(drafts, **part).is_none());
    let (Some(draft), Some(part)) = (first, part) else {
        return vec![None; drafts.len()];
    };
    let labels = labels(drafts, *part);
    if let (Some(id), Some(label)) = (&draft.id, labels.get(&part(draft))) {
        let message = "the numbers restart, so each id begins with its part of the plan";
        let found = Pending::new(id.offset, FindingCode::LookAlike, &id.text, message);
        findings.warn(found.suggest(format!("this one is `{label}{}`", id.text)));
    }
    let of_parts = drafts.iter().map(|draft| labels.get(&part(draft)).cloned());
    of_parts.collect()
}

/// Returns the first draft whose number an earlier one of the same part has.
fn repeated(drafts: &[Draft], part: Part) -> Option<&Draft> {
    let mut seen = HashSet::with_capacity(drafts.len());
    drafts.iter().find(|draft| {
        let id = draft.id.as_ref().filter(|id| restarts(&id.text));
        id.is_some_and(|id| !seen.insert((part(draft), TaskId::key(&id.text))))
    })
}

/// Returns the prefix of each part: the letter and number of its phase if that is unique, else `P`
/// and its place.
fn labels(drafts: &[Draft], part: Part) -> HashMap<usize, String> {
    let mut labels: HashMap<usize, String> = HashMap::new();
    let mut taken = BTreeSet::new();
    for draft in drafts {
        let place = labels.len() + 1;
        labels.entry(part(draft)).or_insert_with(|| {
            let own = draft.phase_label.as_deref().map(str::to_owned);
            let free = (place..).map(|at| format!("P{at}"));
            let mut labels = own.into_iter().chain(free);
            let label = labels.find(|label| taken.insert(label.clone()));
            format!("{}-", label.unwrap_or_default())
        });
    }
    labels
}
