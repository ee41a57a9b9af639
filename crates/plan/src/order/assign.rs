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
    let mut things: HashSet<usize> = HashSet::new();
    for (at, id) in written.iter().enumerate() {
        let Some(id) = id else { continue };
        if let Some(reason) = TaskId::refusal(&id.text) {
            let message = format!("invalid id `{}`: {reason}", id.text);
            findings.error(id.found(FindingCode::InvalidId, message));
        }
        let known = first.entry(TaskId::key(&id.text)).or_insert(id);
        if std::ptr::eq(*known, id) {
            continue;
        }
        // What may be the name of a thing (`S3: …`) is no id of several tasks.
        if known.text == id.text && identify::is_unusual(&id.text) {
            things.insert(at);
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
    let titles = written.iter().filter(|id| id.is_none()).count() + things.len();
    let taken = first.into_keys().filter(|_| titles > 0);
    let mut slugs = Slugs::new(titles, taken);
    let mut names = Vec::with_capacity(drafts.len());
    let lists = lists(drafts);
    for (at, (draft, prefix)) in drafts.iter().zip(prefixes.of_parts).enumerate() {
        let title = draft.title.as_str();
        let id = match written.get(at).and_then(Option::as_ref) {
            Some(id) if things.contains(&at) => {
                let own = slugs.give(&format!("{} {title}", id.text));
                let message = format!("another task has the id `{}`: this one is `{own}`", id.text);
                findings.warn(id.found(FindingCode::LookAlike, message));
                own
            }
            Some(id) => TaskId::new(id.text.to_string()),
            None => slugs.give(title),
        };
        let (number, phase) = (draft.number.as_deref(), draft.phase_label.as_deref());
        names.push(Name {
            id,
            is_slug: draft.id.is_none() || things.contains(&at),
            number,
            title,
            list: lists.get(at).copied().unwrap_or(0),
            prefix,
            phase,
        });
    }
    names
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
fn written<'d>(drafts: &'d [Draft], prefixes: &Prefixes) -> Vec<Option<Written<'d>>> {
    let mut written = Vec::with_capacity(drafts.len());
    let parts = prefixes.of_parts.iter().zip(&prefixes.begin);
    for (draft, (prefix, begins)) in drafts.iter().zip(parts) {
        let prefix = prefix.as_deref().filter(|_| *begins);
        written.push(draft.id.as_ref().map(|id| with_prefix(id, prefix)));
    }
    written
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

/// What stands before the numbers of drafts.
struct Prefixes {
    /// That of each one's part of the plan, if a number stands in several.
    of_parts: Vec<Option<String>>,
    /// Whether the id of each one begins with it.
    begin: Vec<bool>,
}

/// Returns what has to stand before the numbers of each draft: nothing, unless the same number
/// stands in several phases, or in several sections, but only once in each. If no part begins with
/// the number that another one begins with, only the repeated numbers have it.
fn prefixes(drafts: &[Draft], keys: &[Option<String>], findings: &mut Findings) -> Prefixes {
    let none = Prefixes {
        of_parts: vec![None; drafts.len()],
        begin: vec![false; drafts.len()],
    };
    let parts: [Part; 2] = [|draft| draft.phase, |draft| draft.section_index];
    let Some(repeated) = repeated(drafts, keys, |_| 0) else {
        return none;
    };
    for part in parts {
        if self::repeated(drafts, keys, part).is_some() {
            continue;
        }
        let mut begin = vec![true; drafts.len()];
        let mut message = "the numbers restart, so each id begins with its part of the plan";
        if !begins_anew(drafts, keys, part) {
            begin = several(keys);
            message = "another task has this id, so each of them begins with its part of the plan";
        }
        let labels = labels(drafts, part);
        let own = drafts
            .get(repeated)
            .and_then(|draft| Some((draft.id.as_ref()?, labels.get(&part(draft))?)));
        if let Some((id, label)) = own {
            let found = Pending::new(id.offset, FindingCode::LookAlike, &id.text, message);
            findings.warn(found.suggest(Some(format!("this one is `{label}{}`", id.text))));
        }
        let of_parts = drafts.iter().map(|draft| labels.get(&part(draft)).cloned());
        return Prefixes {
            of_parts: of_parts.collect(),
            begin,
        };
    }
    none
}

/// Reports whether a part begins with the number that another one begins with.
fn begins_anew(drafts: &[Draft], keys: &[Option<String>], part: Part) -> bool {
    let (mut parts, mut firsts) = (HashSet::new(), HashSet::new());
    let mut counted = drafts.iter().zip(keys).filter(|(draft, _)| {
        let id = draft.id.as_ref();
        id.is_some_and(|id| restarts(&id.text))
    });
    counted.any(|(draft, key)| parts.insert(part(draft)) && !firsts.insert(key))
}

/// Says of each key whether several drafts have it.
fn several(keys: &[Option<String>]) -> Vec<bool> {
    let (mut seen, mut again) = (HashSet::new(), HashSet::new());
    for key in keys.iter().flatten() {
        if !seen.insert(key) {
            again.insert(key);
        }
    }
    keys.iter()
        .map(|key| key.as_ref().is_some_and(|key| again.contains(key)))
        .collect()
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
