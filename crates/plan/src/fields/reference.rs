//! Resolves references to tasks, such as `depends: T1, T003-T005, Tasks 1-4`.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::Range;

use crate::check::finding::{FindingCode, Findings, Pending};
use crate::fields::assign::Name;
use crate::fields::attributes::Located;
use crate::fields::identify;
use crate::read::headings::collect::Group;
use crate::read::headings::heading;
use crate::read::headings::phase;
use orchestrate_core::ids::TaskId;
use orchestrate_core::text::parts::Parts;
use orchestrate_core::text::similar::nearest;

/// The maximum number of suggestions for unknown dependencies: each compares every id.
const MAX_SUGGESTIONS: usize = 20;

/// What may stand before the number of an id that people leave out.
const PREFIXES: [&str; 6] = ["", "t", "s", "us-", "t-", "task-"];

/// What stands between two tasks of one list, as a word of its own in any case.
const CONNECTING: [&str; 17] = [
    "and", "plus", "then", "+", "/", "|", "→", "->", "und", "et", "y", "e", "и", "和", "与", "と",
    "및",
];

/// What joins two tasks of one list without blanks. No id contains any of these.
const JOINTS: [char; 4] = ['+', '/', '|', '→'];

/// What ends an item of a list.
const SEPARATORS: [char; 7] = [',', ';', '&', '\n', '，', '、', '；'];

/// The maximum length of a range: two ids and the separator between them.
const MAX_RANGE_BYTES: usize = 160;

/// What a list of references names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    /// The indices of its tasks.
    pub(crate) tasks: Vec<usize>,
    /// Whether a part of it names no task, so that the list does not say all that its task waits
    /// for.
    pub(crate) has_prose: bool,
}

/// An index of tasks by the references that people write. What only unusual references need is
/// indexed once one of them is found.
pub(crate) struct References<'a> {
    tasks: &'a [Name<'a>],
    exact: HashMap<&'a str, usize>,
    /// By id in lower case; `None` if several ids differ in case only.
    lower: OnceCell<HashMap<String, Option<usize>>>,
    /// By prefix in lower case and number, so that `T1` finds `T001`.
    numbered: OnceCell<HashMap<String, BTreeSet<(u64, usize)>>>,
    /// By number alone; `None` if several tasks have it.
    bare: OnceCell<HashMap<Bare<'a>, Option<usize>>>,
    /// By section and number, for numbers that restart in each; `None` if several tasks of a
    /// section have it.
    in_section: HashMap<usize, BTreeMap<u64, Option<usize>>>,
    /// By the key of its title; `None` if several tasks have it.
    titles: OnceCell<HashMap<String, Option<usize>>>,
    /// By the prefix of the part of the plan where its numbers restart, and id.
    groups: HashMap<(&'a str, &'a str), Range<usize>>,
    /// The tasks of each phase, by its letter and number.
    phases: HashMap<&'a str, Vec<usize>>,
    ids: Vec<&'a str>,
    suggested: Cell<usize>,
}

/// Indexes tasks by a key; a task without one is left out, and `None` stands for several with the
/// same one.
fn unique<K: Eq + Hash>(keys: impl Iterator<Item = Option<K>>) -> HashMap<K, Option<usize>> {
    let mut found = HashMap::with_capacity(keys.size_hint().0);
    for (at, key) in keys.enumerate().filter_map(|(at, key)| Some((at, key?))) {
        found
            .entry(key)
            .and_modify(|found| *found = None)
            .or_insert(Some(at));
    }
    found
}

impl<'a> References<'a> {
    /// Builds the index from every task's names, in the order of the plan.
    pub(crate) fn new(tasks: &'a [Name<'a>], groups: &'a [Group]) -> Self {
        let prefix = |leaves: &Range<usize>| {
            tasks
                .get(leaves.start)
                .and_then(|task| task.prefix.as_deref())
        };
        let group = |group: &'a Group| {
            (
                (prefix(&group.leaves).unwrap_or_default(), group.id.as_str()),
                group.leaves.clone(),
            )
        };
        let mut found = Self {
            tasks,
            exact: HashMap::with_capacity(tasks.len()),
            lower: OnceCell::new(),
            numbered: OnceCell::new(),
            bare: OnceCell::new(),
            in_section: HashMap::new(),
            titles: OnceCell::new(),
            groups: groups.iter().map(group).collect(),
            phases: HashMap::new(),
            ids: tasks.iter().map(|task| task.id.as_str()).collect(),
            suggested: Cell::new(0),
        };
        for (at, task) in tasks.iter().enumerate() {
            let id = task.id.as_str();
            if let Some(phase) = task.phase {
                found.phases.entry(phase).or_default().push(at);
            }
            found.exact.entry(id).or_insert(at);
            if let Some(number) = task.number.and_then(|number| number.parse().ok()) {
                let own = found.in_section.entry(task.section).or_default();
                own.entry(number)
                    .and_modify(|found| *found = None)
                    .or_insert(Some(at));
            }
        }
        found
    }

    fn by_lower(&self) -> &HashMap<String, Option<usize>> {
        self.lower.get_or_init(|| {
            unique(
                self.tasks
                    .iter()
                    .map(|task| Some(task.id.as_str().to_lowercase())),
            )
        })
    }

    fn by_title(&self) -> &HashMap<String, Option<usize>> {
        self.titles.get_or_init(|| {
            unique(
                self.tasks
                    .iter()
                    .map(|task| Some(identify::title_key(task.title))),
            )
        })
    }

    fn by_bare_number(&self) -> &HashMap<Bare<'a>, Option<usize>> {
        // The last number of `3.1` is not the number of a task.
        let last = |id: &str| {
            split_number(id)
                .filter(|(prefix, _)| !prefix.ends_with('.'))
                .map(|(_, last)| last)
        };
        let bare = |task: &Name<'a>| {
            task.number
                .map(Bare::parse)
                .or_else(|| last(task.id.as_str()).map(Bare::Number))
        };
        self.bare
            .get_or_init(|| unique(self.tasks.iter().map(bare)))
    }

    fn by_number(&self) -> &HashMap<String, BTreeSet<(u64, usize)>> {
        self.numbered.get_or_init(|| {
            let mut found: HashMap<String, BTreeSet<(u64, usize)>> = HashMap::new();
            for (at, task) in self.tasks.iter().enumerate() {
                if let Some((prefix, number)) = split_number(task.id.as_str()) {
                    found.entry(prefix).or_default().insert((number, at));
                }
            }
            found
        })
    }

    /// Resolves a list as [`References::resolve`] does, for a task with these names: numbers count
    /// within its section or its part of the plan first.
    pub(crate) fn resolve_in(
        &self,
        task: &Name<'_>,
        list: &Located,
        most: usize,
        findings: &mut Findings,
    ) -> Resolved {
        let numbers = self.in_section.get(&task.section);
        let Some(prefix) = task.prefix.as_deref() else {
            let own = numbers
                .filter(|_| !is_nothing(&list.text))
                .and_then(|numbers| self.numbered_in(numbers, list, most));
            let found = match own {
                Some(tasks) => Resolved {
                    tasks,
                    has_prose: false,
                },
                None => self.resolve(list, most, findings),
            };
            if let Some(numbers) = numbers {
                self.warn_of_numbers(numbers, list, &found, findings);
            }
            return found;
        };
        let own: Vec<String> = pieces(&list.text)
            .into_iter()
            .map(|(_, piece)| {
                let bare = without_words(piece);
                let names = ["", "T", "S", "US-"].map(|letter| format!("{prefix}{letter}{bare}"));
                let is_group = self.groups.contains_key(&(prefix, bare));
                let group = is_group.then(|| format!("{prefix}{bare}"));
                let exact = names
                    .iter()
                    .find(|name| self.exact.contains_key(name.as_str()))
                    .cloned();
                let range = || names.into_iter().find(|name| self.range(name).is_some());
                group
                    .or(exact)
                    .or_else(range)
                    .unwrap_or_else(|| piece.to_owned())
            })
            .collect();
        self.resolve(
            &Located {
                text: own.join(", "),
                offset: list.offset,
            },
            most,
            findings,
        )
    }

    /// Returns the tasks of a section that a list names by nothing but their numbers; `None` for
    /// any other list, and for numbers that are ids.
    fn numbered_in(
        &self,
        numbers: &BTreeMap<u64, Option<usize>>,
        list: &Located,
        most: usize,
    ) -> Option<Vec<usize>> {
        let mut found = Vec::new();
        for (_, piece) in pieces(&list.text) {
            let bare = without_words(piece);
            let (low, high) = bare.split_once(['-', '–', '—']).unwrap_or((bare, bare));
            if self.exact.contains_key(bare) {
                return None;
            }
            let (low, high): (u64, u64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
            let ends_exist =
                low <= high && numbers.contains_key(&low) && numbers.contains_key(&high);
            let own = numbers
                .range(low..=high)
                .filter(|_| ends_exist)
                .map(|(_, at)| *at);
            found.extend(
                own.collect::<Option<Vec<usize>>>()
                    .filter(|own| !own.is_empty())?,
            );
            if found.len() > most {
                break;
            }
        }
        Some(found)
    }

    /// Warns of each number in a list that is the place of one task in its section and stands in
    /// the id of another.
    fn warn_of_numbers(
        &self,
        numbers: &BTreeMap<u64, Option<usize>>,
        list: &Located,
        found: &Resolved,
        findings: &mut Findings,
    ) {
        for (start, piece) in pieces(&list.text) {
            let bare = without_words(piece);
            let Ok(number) = bare.parse::<u64>() else {
                continue;
            };
            let Some(placed) = numbers.get(&number).copied().flatten() else {
                continue;
            };
            let named = PREFIXES
                .iter()
                .find_map(|prefix| self.numbers(prefix, number, number)?.next());
            let Some(named) =
                named.filter(|named| *named != placed && self.suggested.get() < MAX_SUGGESTIONS)
            else {
                continue;
            };
            self.suggested.set(self.suggested.get() + 1);
            let (chosen, other, why) = match found.tasks.contains(&placed) {
                true => (placed, named, "has that number in its id"),
                false => (named, placed, "is at that place of its section"),
            };
            let id = |at: usize| self.ids.get(at).copied().unwrap_or_default();
            let message = format!(
                "`{bare}` is read as `{}`, and not as `{}`, which {why}",
                id(chosen),
                id(other)
            );
            let warning = Pending::new(list.offset + start, FindingCode::LookAlike, bare, message);
            findings.warn(warning.suggest(Some("write the whole id".to_owned())));
        }
    }

    /// Resolves a list, stopping once there are more than `most` tasks. An id that no task has is
    /// an error; anything else that names no task is prose, which is a warning.
    pub(crate) fn resolve(&self, list: &Located, most: usize, findings: &mut Findings) -> Resolved {
        let mut found = Resolved::default();
        let pieces = pieces(&list.text);
        // What follows `none` explains it.
        if pieces.first().is_some_and(|(_, piece)| is_nothing(piece)) {
            return found;
        }
        for (start, piece) in pieces {
            if found.tasks.len() > most {
                break;
            }
            match self.piece(piece) {
                Some(indices) => found.tasks.extend(indices),
                None => self.words(list.offset + start, piece, &mut found, findings),
            }
        }
        found
    }

    /// Resolves text that may be prose: returns its tasks if all of it names tasks, else nothing.
    pub(crate) fn resolve_likely(
        &self,
        task: &Name<'_>,
        text: &Located,
        most: usize,
        findings: &mut Findings,
    ) -> Resolved {
        let mut unknown = Findings::default();
        let found = self.resolve_in(task, text, most, &mut unknown);
        if unknown.errors.is_empty() && !found.has_prose {
            return found;
        }
        let names_some = !found.tasks.is_empty()
            || pieces(&text.text)
                .into_iter()
                .any(|(_, piece)| is_name(piece));
        let message = match names_some {
            true => "not every word of this is a task, so it stays in the title",
            false => "this names no task, so it stays in the title",
        };
        let warning = Pending::new(
            text.offset,
            FindingCode::UnknownDependency,
            &text.text,
            message,
        );
        findings.warn(warning.suggest(Some(
            "if it is meant as a dependency, write `(depends: T1)`".to_owned(),
        )));
        Resolved {
            tasks: Vec::new(),
            has_prose: true,
        }
    }

    /// Resolves a piece word by word, since it names nothing as a whole. It names tasks only if it
    /// begins with one; the words after them are prose.
    fn words(&self, offset: usize, piece: &str, found: &mut Resolved, findings: &mut Findings) {
        let words: Vec<&str> = piece.split_whitespace().collect();
        let bare = without_words(piece);
        if bare.split_whitespace().count() < 2 && self.is_meant(bare) {
            return findings.error(self.unknown(offset, piece));
        }
        let mut own = words.iter().filter(|word| !is_connecting(word));
        let begins_with_task = own
            .next()
            .is_some_and(|word| is_id(word) || self.piece(word).is_some());
        let mut prose = None;
        let mut at = 0;
        for word in words {
            let place = piece
                .get(at..)
                .and_then(|rest| rest.find(word))
                .map_or(at, |found| at + found);
            at = place + word.len();
            match self
                .piece(word)
                .filter(|_| begins_with_task && prose.is_none())
            {
                Some(indices) => found.tasks.extend(indices),
                None if is_connecting(word) => {}
                None if is_id(word) && self.piece(word).is_none() => {
                    findings.error(self.unknown(offset + place, word))
                }
                None => prose = prose.or(Some(place)),
            }
        }
        if let Some(start) = prose {
            found.has_prose = true;
            let text = piece.tail(start);
            let message = format!("`{text}` names no task, so it is read as a remark");
            let warning = Pending::new(
                offset + start,
                FindingCode::UnknownDependency,
                text,
                message,
            );
            findings.warn(warning.suggest(Some(
                "if it is meant as a dependency, write the id of the task".to_owned(),
            )));
        }
    }

    /// Reports whether a word that names no task is meant as one: it has the form of an id, or is
    /// nearly one.
    fn is_meant(&self, word: &str) -> bool {
        let has_form = word.contains(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '#'));
        let begins_id = |id: &&str| {
            id.strip_prefix(word)
                .is_some_and(|rest| rest.starts_with(['_', '-']))
        };
        has_form
            || self.suggested.get() < MAX_SUGGESTIONS && {
                self.suggested.set(self.suggested.get() + 1);
                nearest(word, self.ids.iter().copied()).is_some() || self.ids.iter().any(begins_id)
            }
    }

    fn unknown(&self, offset: usize, piece: &str) -> Pending {
        let number = without_words(piece).parse().map(Bare::Number);
        if number.is_ok_and(|number| self.by_bare_number().get(&number) == Some(&None)) {
            let message = format!("several tasks have the number `{piece}`");
            let found = Pending::new(offset, FindingCode::UnknownDependency, piece, message);
            return found.suggest(Some("write the id of the one that is meant".to_owned()));
        }
        let found = Pending::new(
            offset,
            FindingCode::UnknownDependency,
            piece,
            format!("there is no task `{piece}`"),
        );
        if self.suggested.get() >= MAX_SUGGESTIONS {
            return found;
        }
        self.suggested.set(self.suggested.get() + 1);
        let near =
            nearest(piece, self.ids.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        let joins = || {
            piece
                .contains(JOINTS)
                .then(|| "write commas between several tasks".to_owned())
        };
        found.suggest(near.or_else(joins))
    }

    /// Returns the tasks that a piece names: one, a group, or a range.
    fn piece(&self, piece: &str) -> Option<Vec<usize>> {
        let bare = without_words(piece);
        if let Some(found) = self.one(piece).or_else(|| self.one(bare)) {
            return Some(found);
        }
        self.range(bare)
            .or_else(|| self.phase(piece))
            .or_else(|| self.joined(bare))
    }

    /// Returns the tasks that a word joins (`parser/printer`), if each part of it names one.
    fn joined(&self, word: &str) -> Option<Vec<usize>> {
        if !word.contains(JOINTS) || word.contains(' ') {
            return None;
        }
        let found: Option<Vec<Vec<usize>>> =
            word.split(JOINTS).map(|part| self.one(part)).collect();
        found.map(|tasks| tasks.concat())
    }

    /// Returns the tasks of a phase that a piece names (`Phase 1`).
    fn phase(&self, piece: &str) -> Option<Vec<usize>> {
        let label = phase::of_heading(piece)?.label?;
        self.phases.get(label.as_str()).cloned()
    }

    fn one(&self, name: &str) -> Option<Vec<usize>> {
        if let Some(at) = self.exact.get(name) {
            return Some(vec![*at]);
        }
        if let Some(leaves) = self.group(name.trim_end_matches('.')) {
            return Some(leaves.collect());
        }
        let by_case = self.by_lower().get(&name.to_lowercase()).copied().flatten();
        let by_number = || {
            split_number(name)
                .and_then(|(prefix, number)| self.numbers(&prefix, number, number)?.next())
        };
        let by_bare_number = || {
            self.by_bare_number()
                .get(&Bare::parse(name))
                .copied()
                .flatten()
        };
        let title = || name.contains(' ').then(|| identify::title_key(name));
        let by_title = || self.by_title().get(&title()?).copied().flatten();
        by_case
            .or_else(by_number)
            .or_else(by_bare_number)
            .or_else(by_title)
            .map(|at| vec![at])
    }

    fn group(&self, name: &str) -> Option<Range<usize>> {
        let within = || name.split_once('-').map(|(part, id)| (part.len() + 1, id));
        let with_prefix =
            || within().and_then(|(end, id)| self.groups.get(&(name.get(..end)?, id)));
        self.groups.get(&("", name)).or_else(with_prefix).cloned()
    }

    /// Resolves `T003-T005`, `T003..T005`, `1-4`, `T1 to T4`; both ends must exist.
    fn range(&self, text: &str) -> Option<Vec<usize>> {
        if text.len() > MAX_RANGE_BYTES {
            return None;
        }
        for mark in ["..", "–", "—", " to ", " through ", "-"] {
            for (at, _) in text.match_indices(mark) {
                let (from, to) = (text.get(..at)?.trim(), text.get(at + mark.len()..)?.trim());
                if let Some(found) = self.between(from, without_words(to)) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// Returns the tasks whose ids have a prefix and a number within a range, by number.
    fn numbers(
        &self,
        prefix: &str,
        low: u64,
        high: u64,
    ) -> Option<impl Iterator<Item = usize> + '_> {
        Some(
            self.by_number()
                .get(prefix)?
                .range((low, 0)..=(high, usize::MAX))
                .map(|(_, at)| *at),
        )
    }

    fn between(&self, from: &str, to: &str) -> Option<Vec<usize>> {
        let (first, last) = (
            *self.one(from)?.first()?,
            *self
                .one(to)
                .or_else(|| self.one(&with_prefix(from, to)))?
                .last()?,
        );
        let (prefix, low) = split_number(self.ids.get(first)?)?;
        let (other, high) = split_number(self.ids.get(last)?)?;
        if prefix != other || low > high {
            return None;
        }
        let mut found: Vec<usize> = self.numbers(&prefix, low, high)?.collect();
        found.sort_unstable();
        Some(found)
    }
}

/// Adds the prefix of the first end of `T003-005` to the second.
fn with_prefix(from: &str, to: &str) -> String {
    let digits = from.len() - from.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    format!("{}{to}", from.head(from.len() - digits))
}

/// The number of a task, by which leading zeros do not count.
#[derive(PartialEq, Eq, Hash)]
enum Bare<'a> {
    Number(u64),
    /// One like `3.1`, as written.
    Written(&'a str),
}

impl<'a> Bare<'a> {
    fn parse(number: &'a str) -> Self {
        number.parse().map_or(Self::Written(number), Self::Number)
    }
}

/// Splits an id into a lower-case prefix and its last number: `US-001` is (`us-`, 1).
fn split_number(id: &str) -> Option<(String, u64)> {
    let prefix = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = id.get(prefix.len()..)?.parse().ok()?;
    Some((prefix.to_lowercase(), number))
}

/// Reports whether a word connects two tasks.
fn is_connecting(word: &str) -> bool {
    CONNECTING
        .iter()
        .any(|connecting| connecting.eq_ignore_ascii_case(word))
}

/// Reports whether a piece says that there is no dependency.
fn is_nothing(piece: &str) -> bool {
    let piece = piece.trim_matches(['`', '*', '_', '(', ')', ' ']);
    ["", "none", "nothing", "n/a", "-", "–", "—"]
        .iter()
        .any(|nothing| nothing.eq_ignore_ascii_case(piece))
}

/// Reports whether a word has the form of an id: `T9`, `US-3`, `1.2`.
fn is_id(word: &str) -> bool {
    let has_form = |found: identify::Leading<'_>| found.rest == word.len() && !found.bare_number;
    let is_number = word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    (is_number || is_name(word)) && identify::leading(word).is_some_and(has_form)
}

/// Reports whether a text begins with an id that is no number: `T9`, `US-3`.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase()) && identify::leading(text).is_some()
}

/// Removes `Task`, `Tasks`, `Step`, … before a reference, and the marks around it.
fn without_words(piece: &str) -> &str {
    let piece = piece.trim_matches(['`', '*', '[', ']', '#', ' ']);
    for word in ["tasks", "steps", "stories", "story"] {
        let rest = piece
            .get(..word.len())
            .filter(|head| head.eq_ignore_ascii_case(word))
            .and(piece.get(word.len()..));
        if let Some(rest) = rest.filter(|rest| rest.starts_with([' ', '#'])) {
            return rest.trim_start_matches([' ', '#']);
        }
    }
    heading::without_word(piece).unwrap_or(piece)
}

/// Splits a list at commas, semicolons, `&`, `and` and line ends, and at what joins numbered tasks;
/// returns each piece with its byte offset.
fn pieces(list: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let mut pieces = Vec::new();
    for raw in list.split_inclusive(SEPARATORS) {
        let piece = raw.trim_end_matches(SEPARATORS);
        let lead = piece.len() - piece.trim_start().len();
        let trimmed = piece.trim().trim_end_matches('.');
        let (skip, trimmed) = match trimmed.strip_prefix("and ") {
            Some(rest) => (4, rest),
            None => (0, trimmed),
        };
        for (offset, part) in split_and(trimmed) {
            if !part.trim().is_empty() {
                let begin = at + lead + skip + offset;
                pieces.extend(
                    split_joined(part.trim())
                        .into_iter()
                        .map(|(offset, part)| (begin + offset, part)),
                );
            }
        }
        at += raw.len();
    }
    pieces
}

/// Splits a text that joins numbered tasks without blanks (`T1+T2`); returns each part with its
/// byte offset.
fn split_joined(text: &str) -> Vec<(usize, &str)> {
    if !text.contains(JOINTS) || !text.split(JOINTS).all(is_numbered) {
        return vec![(0, text)];
    }
    let mut at = 0;
    text.split_inclusive(JOINTS)
        .map(|raw| {
            let start = at;
            at += raw.len();
            (start, raw.trim_end_matches(JOINTS))
        })
        .collect()
}

fn is_numbered(part: &str) -> bool {
    TaskId::is_plain(part) && part.contains(|c: char| c.is_ascii_digit())
}

fn split_and(text: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    text.split(" and ")
        .map(|part| {
            let start = at;
            at += part.len() + " and ".len();
            (start, part)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name<'d>(id: &'d str, number: Option<&'d str>) -> Name<'d> {
        Name {
            id: TaskId::new(id.to_owned()),
            number,
            title: id,
            section: 0,
            prefix: None,
            phase: None,
        }
    }

    #[test]
    fn references_find_what_people_mean() {
        let ids = [
            "T001",
            "T002",
            "T003",
            "T010",
            "US-001",
            "US-002",
            "1.1",
            "1.2",
            "setup-db",
            "set_up_the_crate",
        ];
        let tasks: Vec<Name<'_>> = ids.iter().map(|id| name(id, None)).collect();
        let groups = [Group {
            id: "1".to_owned(),
            mark: None,
            leaves: 6..8,
        }];
        let references = References::new(&tasks, &groups);
        let table: [(&str, &[usize]); 28] = [
            ("T001", &[0]),
            ("t001", &[0]),
            ("T1", &[0]),
            ("T001, T003", &[0, 2]),
            ("T001 and T003", &[0, 2]),
            ("T001 T003", &[0, 2]),
            ("T001 + T003", &[0, 2]),
            ("T001 AND T003", &[0, 2]),
            ("T001 und T003", &[0, 2]),
            ("T001、T003", &[0, 2]),
            ("T001, then T003", &[0, 2]),
            ("T001+T003", &[0, 2]),
            ("T1|T2-T3/US-001", &[0, 1, 2, 4]),
            ("setup-db+set_up_the_crate", &[8, 9]),
            ("T001 then T002 (the tables)", &[0, 1]),
            ("US-001 / T003", &[4, 2]),
            ("T001-T003", &[0, 1, 2]),
            ("T001–T010", &[0, 1, 2, 3]),
            ("T001-003", &[0, 1, 2]),
            ("T1 to T3", &[0, 1, 2]),
            ("US-001-US-002", &[4, 5]),
            ("Tasks T1-T2, US-002", &[0, 1, 5]),
            ("1", &[6, 7]),
            ("1.1-1.2", &[6, 7]),
            ("setup-db", &[8]),
            ("Set up the crate", &[9]),
            ("none", &[]),
            ("Task 10", &[3]),
        ];
        for (text, expected) in table {
            let mut findings = Findings::default();
            let found = references.resolve(
                &Located {
                    text: text.to_owned(),
                    offset: 0,
                },
                usize::MAX,
                &mut findings,
            );
            assert_eq!(
                (found.tasks.as_slice(), findings.errors.len()),
                (expected, 0),
                "{text}"
            );
        }
        let mut findings = Findings::default();
        let list = Located {
            text: "T001+T9".to_owned(),
            offset: 0,
        };
        let found = references.resolve(&list, usize::MAX, &mut findings);
        assert_eq!(
            (found.tasks, findings.errors.len()),
            (vec![0], 1),
            "each part is judged by itself"
        );
    }

    #[test]
    fn a_number_within_a_number_is_no_tasks_number() {
        let numbers = [
            ("T1", Some("1")),
            ("T2", Some("2")),
            ("T3.1", Some("3.1")),
            ("4.2", None),
            ("4.5", None),
        ];
        let tasks = numbers.map(|(id, number)| name(id, number));
        let references = References::new(&tasks, &[]);
        let table: [(&str, &[usize]); 5] = [
            ("Task 1", &[0]),
            ("2", &[1]),
            ("Task 3.1", &[2]),
            ("4.2", &[3]),
            ("5", &[]),
        ];
        for (text, expected) in table {
            let mut findings = Findings::default();
            let found = references.resolve(
                &Located {
                    text: text.to_owned(),
                    offset: 0,
                },
                usize::MAX,
                &mut findings,
            );
            assert_eq!(
                (found.tasks.as_slice(), findings.errors.is_empty()),
                (expected, !expected.is_empty()),
                "{text}"
            );
        }
    }
}
