//! What a task names: files, folders and names of definitions.

use std::collections::{BTreeMap, BTreeSet};

/// How far a walk begins at a file that the task declares, or that its text names by a path.
const NAMED: u64 = 100;
/// The same for a file that declares a name which the task's text writes as code.
const DECLARES: u64 = 50;
/// The same for a file beside one that does not exist yet.
const BESIDE: u64 = 20;
/// The same for a file whose name without its ending is a word of the text.
const ALIKE: u64 = 10;
/// The same for a file that declares a name which is a word of the text.
const WORD: u64 = 5;
/// The most files that one word of the text names; more mean that it is an ordinary word.
const MAX_NAMED: usize = 4;
/// The least length of a word that names a file without its ending.
const LEAST_STEM: usize = 4;

/// The task that a map is for.
#[derive(Clone, Copy, Debug, Default)]
pub struct MapTask<'a> {
    /// The files that it declares: paths, folders, or patterns, which count as the folder before
    /// their first wildcard.
    pub files: &'a [String],
    /// Its words.
    pub text: &'a str,
}

/// How clearly a task names a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// Not at all.
    No,
    /// By a word that need not be a name.
    Word,
    /// As code.
    Code,
}

/// The words of a task's text.
pub(super) struct Words<'a> {
    words: BTreeSet<&'a str>,
    /// Those within backticks.
    quoted: BTreeSet<&'a str>,
    text: &'a str,
}

impl<'a> Words<'a> {
    pub(super) fn from_text(text: &'a str) -> Words<'a> {
        let quoted = text
            .split('`')
            .skip(1)
            .step_by(2)
            .flat_map(subjects)
            .collect();
        Words {
            words: names(text).collect(),
            quoted,
            text,
        }
    }

    /// Returns each word once.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'a str> {
        self.words.iter().copied()
    }

    /// Returns how clearly the text names a name.
    pub(super) fn names(&self, name: &str) -> Named {
        if !self.words.contains(name) {
            Named::No
        } else if self.quoted.contains(name) || is_compound(name) {
            Named::Code
        } else {
            Named::Word
        }
    }
}

/// Returns the names that a quoted text is about: in one of several words those that only a program
/// has, such as `Sender` of `Sender::word`, and if there are none, the last.
fn subjects(quoted: &str) -> Vec<&str> {
    let all: Vec<&str> = names(quoted).collect();
    let own = all
        .iter()
        .copied()
        .filter(|name| is_compound(name) || name.starts_with(char::is_uppercase));
    let own: Vec<&str> = own.collect();
    if own.is_empty() {
        all.last().copied().into_iter().collect()
    } else {
        own
    }
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// Reports whether a name consists of several words, as no word of a sentence does.
pub(super) fn is_compound(name: &str) -> bool {
    let has_inner_capital =
        name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase);
    has_inner_capital || name.trim_matches('_').contains('_')
}

/// Returns how far a walk begins at which of these files, whose paths are sorted; `declaring` lists
/// the files that declare a name which the text has.
pub(super) fn beginnings(
    paths: &[&str],
    task: &MapTask<'_>,
    words: &Words<'_>,
    declaring: &BTreeMap<usize, Named>,
) -> BTreeMap<usize, u64> {
    let mut weights: BTreeMap<usize, u64> = BTreeMap::new();
    let mut raise = |at: usize, weight: u64| {
        let own = weights.entry(at).or_default();
        *own = weight.max(*own);
    };
    for declared in task.files {
        let declared = fixed_part(declared);
        let found = at_or_below(paths, declared);
        if found.is_empty() {
            let folder = declared.rsplit_once('/').map_or("", |(folder, _)| folder);
            for at in beside(paths, folder) {
                raise(at, BESIDE);
            }
        }
        for at in found {
            raise(at, NAMED);
        }
    }
    let by_name = by_name(paths);
    for word in words
        .text
        .split(|c: char| c.is_whitespace() || "`'\"()[]{}<>,;|*".contains(c))
    {
        let word = word
            .trim_start_matches("./")
            .trim_end_matches(['.', ':', '!', '?', '/']);
        let word = word.split(':').next().unwrap_or(word);
        let name = word.rsplit('/').next().unwrap_or(word);
        let is_path = |at: &&usize| {
            paths
                .get(**at)
                .is_some_and(|path| ends_with_path(path, word))
        };
        if word.contains(['/', '.']) {
            let found: Vec<usize> = by_name
                .get(name)
                .into_iter()
                .flatten()
                .filter(is_path)
                .copied()
                .collect();
            if found.len() <= MAX_NAMED {
                for at in found {
                    raise(at, NAMED);
                }
            }
            if word.contains('/') {
                for at in at_or_below(paths, word) {
                    raise(at, NAMED);
                }
            }
        }
    }
    for (at, named) in declaring {
        match named {
            Named::Code => raise(*at, DECLARES),
            Named::Word => raise(*at, WORD),
            Named::No => {}
        }
    }
    for stems in by_stem(paths, words)
        .into_values()
        .filter(|found| found.len() <= MAX_NAMED)
    {
        for at in stems {
            raise(at, ALIKE);
        }
    }
    weights
}

/// Returns which of these files, whose paths are sorted, the task declares by their whole paths.
pub(super) fn declared_whole(paths: &[&str], task: &MapTask<'_>) -> BTreeSet<usize> {
    task.files
        .iter()
        .filter_map(|file| paths.binary_search(&file.trim_start_matches("./")).ok())
        .collect()
}

/// Returns the part of a path before its first wildcard.
pub(super) fn fixed_part(declared: &str) -> &str {
    let declared = declared.trim_start_matches("./");
    let fixed = match declared.find(['*', '?', '[', '{']) {
        Some(at) => declared
            .get(..at)
            .and_then(|before| before.rsplit_once('/'))
            .map_or("", |(folder, _)| folder),
        None => declared,
    };
    fixed.trim_end_matches('/')
}

/// Returns the files of sorted paths that are a path or below it.
fn at_or_below(paths: &[&str], path: &str) -> std::ops::Range<usize> {
    if path.is_empty() {
        return 0..0;
    }
    let exact = paths.binary_search(&path).map_or(0..0, |at| at..at + 1);
    if !exact.is_empty() {
        return exact;
    }
    let (first, after) = (format!("{path}/"), format!("{path}0"));
    paths.partition_point(|other| *other < first.as_str())
        ..paths.partition_point(|other| *other < after.as_str())
}

/// Returns the files directly in a folder.
fn beside(paths: &[&str], folder: &str) -> impl Iterator<Item = usize> {
    let is_in = move |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder) == folder;
    paths
        .iter()
        .enumerate()
        .filter(move |(_, path)| is_in(path))
        .map(|(at, _)| at)
}

fn by_name<'p>(paths: &[&'p str]) -> BTreeMap<&'p str, Vec<usize>> {
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        found
            .entry(path.rsplit('/').next().unwrap_or(path))
            .or_default()
            .push(at);
    }
    found
}

/// Returns the files whose names without their endings are words of the text.
fn by_stem<'p>(paths: &[&'p str], words: &Words<'_>) -> BTreeMap<&'p str, Vec<usize>> {
    let words: BTreeSet<String> = words.words.iter().map(|word| word.to_lowercase()).collect();
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.split('.').next().unwrap_or(name);
        if stem.len() >= LEAST_STEM && words.contains(&stem.to_lowercase()) {
            found.entry(stem).or_default().push(at);
        }
    }
    found
}

/// Reports whether a path ends with another one.
fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}
