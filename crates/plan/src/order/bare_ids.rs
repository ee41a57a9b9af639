//! Takes the bare ids that titles begin with (`F5 Refresh the page`) where it is certain that they
//! are ids. Such a word is as often the name of a thing (`S3 upload`).

use std::collections::{HashMap, HashSet};

use crate::fields::attributes::Located;
use crate::fields::identify;
use crate::tasks::draft::Draft;
use orchestrate_core::ids::TaskId;

/// Takes the bare id of each title that no other task has, if another task of its section has an id
/// of the same letters, or if some task depends on it.
pub(crate) fn take(drafts: &mut [Draft]) {
    if drafts.iter().all(|draft| bare(draft).is_none()) {
        return;
    }
    let certain = certain(drafts);
    for (draft, id) in drafts.iter_mut().zip(certain) {
        let Some(text) = id else { continue };
        let title = draft.title.split_off(text.len());
        draft.title = title.trim_start().to_owned();
        let offset = draft.at;
        draft.set_id(Located { text, offset });
    }
}

/// Returns the bare id of a task that has no other one.
fn bare(draft: &Draft) -> Option<&str> {
    let (word, _) = draft.title.split_once(' ')?;
    let is_bare = draft.id.is_none() && identify::bare_letters(word).is_some();
    is_bare.then_some(word)
}

/// Returns the bare id of each task where it is certain that it is one.
fn certain(drafts: &[Draft]) -> Vec<Option<String>> {
    let ids = unique_ids(drafts);
    let mut series: HashMap<(usize, &str), usize> = HashMap::new();
    for (draft, id) in drafts.iter().zip(&ids) {
        if let Some(letters) = id.and_then(identify::bare_letters) {
            *series.entry((draft.section_index, letters)).or_default() += 1;
        }
    }
    let named = named(drafts);
    let mut certain = Vec::with_capacity(drafts.len());
    for (draft, id) in drafts.iter().zip(ids) {
        let bare = id.filter(|_| draft.id.is_none());
        let letters = bare.and_then(identify::bare_letters);
        let beside = letters.and_then(|letters| series.get(&(draft.section_index, letters)));
        let is_one_of_several = beside > Some(&1);
        let own = bare.filter(|id| is_one_of_several || named.contains(id));
        certain.push(own.map(str::to_owned));
    }
    certain
}

/// Returns the id of each task, be it a bare one, unless several tasks have it.
fn unique_ids(drafts: &[Draft]) -> Vec<Option<&str>> {
    let ids: Vec<Option<&str>> = drafts.iter().map(written).collect();
    let mut uses: HashMap<String, usize> = HashMap::new();
    for id in ids.iter().flatten() {
        *uses.entry(TaskId::key(id)).or_default() += 1;
    }
    let unique = ids
        .into_iter()
        .map(|id| id.filter(|id| uses.get(&TaskId::key(id)) == Some(&1)));
    unique.collect()
}

fn written(draft: &Draft) -> Option<&str> {
    match &draft.id {
        Some(id) => Some(&id.text),
        None => bare(draft),
    }
}

/// Returns the words of all dependencies.
fn named(drafts: &[Draft]) -> HashSet<&str> {
    let mut named = HashSet::new();
    for draft in drafts {
        let attributes = &draft.attributes;
        for list in attributes.depends.iter().chain(&attributes.likely_depends) {
            let words = list
                .text
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.');
            named.extend(words.map(|word| word.trim_end_matches('.')));
        }
    }
    named
}
