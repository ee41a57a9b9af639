//! Assigns an id to every task: the written one, made unique where numbers restart, else a slug of
//! its title.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::fields::attributes::Located;
use crate::fields::identify::{self, Slugs};
use crate::finding::{FindingCode, Findings, Pending};
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
    let keys: Vec<Option<String>> = drafts
        .iter()
        .map(|draft| Some(TaskId::key(&draft.id.as_ref()?.text)))
        .collect();
    let prefixes = prefixes(drafts, &keys, findings);
    let written = written(drafts, &prefixes);
    let mut first: HashMap<String, &Written<'_>> = HashMap::with_capacity(drafts.len());
    for id in written.iter().flatten() {
        if let Some(reason) = TaskId::refusal(&id.text) {
            let message = format!("invalid id `{}`: {reason}", id.text);
            findings.error(id.found(FindingCode::InvalidId, message));
        }
        let known = first.entry(TaskId::key(&id.text)).or_insert(id);
        if std::ptr::eq(*known, id) {
            continue;
        }
        let message = match known.text == id.text {
            true => format!("another task has the id `{}`", id.text),
            false => format!(
                "the id `{}` is not always distinguishable from `{}`",
                id.text, known.text
            ),
        };
        let found = id.found(FindingCode::DuplicateId, message);
        findings.error(found.suggest(Some("change the id of one of them".to_owned())));
    }
    let titles = written.iter().filter(|id| id.is_none()).count();
    let taken = first.into_keys().filter(|_| titles > 0);
    let mut slugs = Slugs::new(titles, taken);
    let mut names = Vec::with_capacity(drafts.len());
    let lists = lists(drafts);
    for (at, (draft, prefix)) in drafts.iter().zip(prefixes).enumerate() {
        let title = draft.title.as_str();
        let id = match written.get(at).and_then(Option::as_ref) {
            Some(id) => TaskId::new(id.text.to_string()),
            None => slugs.give(title),
        };
        let (number, phase) = (draft.number.as_deref(), draft.phase_label.as_deref());
        names.push(Name {
            id,
            is_slug: draft.id.is_none(),
            number,
            title,
            list: lists.get(at).copied().unwrap_or(0),
            prefix,
            phase,
        });
    }
    names
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

/// An id as it counts, with the offset at which it is written.
struct Written<'d> {
    text: Cow<'d, str>,
    offset: usize,
}

impl Written<'_> {
    fn found(&self, code: FindingCode, message: String) -> Pending {
        Pending::new(self.offset, code, &self.text, message)
    }
}

/// Returns the id of each draft as it counts, if one is written.
fn written<'d>(drafts: &'d [Draft], prefixes: &[Option<String>]) -> Vec<Option<Written<'d>>> {
    let drafts = drafts.iter().zip(prefixes);
    let written = drafts.map(|(draft, prefix)| {
        let id = draft.id.as_ref()?;
        Some(with_prefix(id, prefix.as_deref()))
    });
    written.collect()
}

/// Returns an id with the prefix before it, if it is one that counts.
fn with_prefix<'d>(id: &'d Located, prefix: Option<&str>) -> Written<'d> {
    let text = match prefix.filter(|_| restarts(&id.text)) {
        Some(prefix) => Cow::Owned(format!("{prefix}{}", id.text)),
        None => Cow::Borrowed(id.text.as_str()),
    };
    Written {
        text,
        offset: id.offset,
    }
}

/// Reports whether an id is one that people begin anew in each part of a plan: `3`, `1.2`, `T1`,
/// `F2`, `US-1`.
fn restarts(id: &str) -> bool {
    let number = id
        .strip_prefix("US-")
        .or_else(|| id.strip_prefix('T'))
        .unwrap_or(id);
    let is_number = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_number && !number.is_empty()) || identify::is_unusual(id)
}

/// A part of a plan within which numbers count on.
type Part = fn(&Draft) -> usize;

/// Returns what stands before the numbers of each draft: nothing, unless the same number stands in
/// several phases, or in several sections, but only once in each.
fn prefixes(
    drafts: &[Draft],
    keys: &[Option<String>],
    findings: &mut Findings,
) -> Vec<Option<String>> {
    let parts: [Part; 2] = [|draft| draft.phase, |draft| draft.section_index];
    let first = repeated(drafts, keys, |_| 0).and_then(|at| drafts.get(at));
    let part = parts
        .into_iter()
        .find(|part| repeated(drafts, keys, *part).is_none());
    let (Some(first), Some(part)) = (first, part) else {
        return vec![None; drafts.len()];
    };
    let labels = labels(drafts, part);
    if let Some((id, label)) = first.id.as_ref().zip(labels.get(&part(first))) {
        let message = "the numbers restart, so each id begins with its part of the plan";
        let found = Pending::new(id.offset, FindingCode::LookAlike, &id.text, message);
        findings.warn(found.suggest(Some(format!("this one is `{label}{}`", id.text))));
    }
    let prefixes = drafts.iter().map(|draft| labels.get(&part(draft)).cloned());
    prefixes.collect()
}

/// Returns the first draft whose number an earlier one of the same part has.
fn repeated(drafts: &[Draft], keys: &[Option<String>], part: Part) -> Option<usize> {
    let mut seen = HashSet::with_capacity(keys.iter().flatten().count());
    drafts.iter().zip(keys).position(|(draft, key)| {
        let restarts = draft.id.as_ref().is_some_and(|id| restarts(&id.text));
        restarts && !seen.insert((part(draft), key))
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
