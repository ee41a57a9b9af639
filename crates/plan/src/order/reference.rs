//! Resolves references to tasks, such as `depends: T1, T003-T005, Tasks 1-4`.
//!
//! What could mean two tasks means none: it is an error, and the whole id is asked for.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Range, RangeInclusive};

use crate::fields::attributes::Located;
use crate::fields::identify;
use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::text;
use crate::order::assign::Name;
use crate::tasks::draft::Group;
use crate::words;
use orchestrate_core::text::parts::Parts;
use orchestrate_core::text::similar::nearest;

/// The maximum number of dependencies in a plan: two phases of 500 tasks each need half of it.
pub(crate) const MAX_DEPENDENCIES: usize = 500_000;
/// The maximum number of suggestions for unknown dependencies: each compares every id.
const MAX_SUGGESTIONS: usize = 20;
/// The maximum length of a range: two ids and the separator between them.
const MAX_RANGE_BYTES: usize = 160;
/// The maximum number of phases that one range names.
const MAX_PHASES: u64 = 100;
/// What may stand before the number of an id that people leave out.
const PREFIXES: [&str; 6] = ["", "t", "s", "us-", "t-", "task-"];
/// What stands between two tasks of one list, as a word of its own in any case.
pub(crate) const CONNECTING: &[&str] = &["and", "plus", "then", "->"];
/// What ends an item of a list; no id contains any of these.
const SEPARATORS: [char; 11] = [',', ';', '&', '\n', '+', '/', '|', '→', '，', '、', '；'];
/// What begins a remark behind a task.
const REMARKS: [&str; 5] = [" (", " - ", " – ", " — ", " -- "];
/// What stands between the ends of a range.
const RANGES: [&str; 6] = ["..", "–", "—", " to ", " through ", "-"];
/// Words before the number of a task, or of a group of them.
const TASKS: &[&str] = &[
    "task", "tasks", "step", "steps", "story", "stories", "group", "groups",
];

/// What a list of references names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    /// The indices of its tasks.
    pub(crate) tasks: Vec<usize>,
    /// Whether a part of it names no task, so that the list does not say all that its task waits
    /// for.
    pub(crate) has_prose: bool,
}

/// What a name of a task is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// The id in lower case.
    Id,
    /// The id without the prefix of its part of the plan.
    Unprefixed,
    /// The number alone, also the one that an id ends with.
    Number,
    /// The key of its title, or the word with a number that its title begins with (`F5 Draw it`).
    Title,
}

/// The names of all tasks, which are needed once a plan has a reference.
#[derive(Default)]
struct Index {
    /// `None` stands for several tasks with the same name.
    named: HashMap<(Kind, String), Option<usize>>,
    /// By prefix in lower case and number, so that `T1` finds `T001`.
    numbered: HashMap<String, BTreeSet<(u64, usize)>>,
    /// By list and number, for numbers that restart in each.
    in_list: HashMap<usize, BTreeMap<u64, usize>>,
    /// The tasks of each phase, by its letter and number.
    phases: HashMap<String, Vec<usize>>,
}

/// Resolves references to tasks.
pub(crate) struct References<'a> {
    tasks: &'a [Name<'a>],
    /// By id, which begins with the prefix of the part of the plan where its numbers restart.
    groups: HashMap<String, Range<usize>>,
    index: OnceCell<Index>,
    suggested: Cell<usize>,
}

impl Index {
    fn new(tasks: &[Name<'_>]) -> Self {
        let mut index = Self::default();
        for (at, task) in tasks.iter().enumerate() {
            let id = task.id.as_str();
            index.add(Kind::Id, id.to_lowercase(), at);
            index.add(Kind::Title, identify::title_key(task.title), at);
            let first = task.title.split(' ').next().unwrap_or(task.title);
            if task.is_slug && is_id(first) {
                index.add(Kind::Title, first.to_lowercase(), at);
            }
            let prefix = task.prefix.as_deref();
            if let Some(own) = prefix.and_then(|prefix| id.strip_prefix(prefix)) {
                index.add(Kind::Unprefixed, own.to_lowercase(), at);
            }
            if let Some(number) = number_of(task) {
                index.add(Kind::Number, number.to_owned(), at);
            }
            if let Some((prefix, number)) = split_number(id) {
                index
                    .numbered
                    .entry(prefix)
                    .or_default()
                    .insert((number, at));
            }
            if let Some(phase) = task.phase {
                index.phases.entry(phase.to_owned()).or_default().push(at);
            }
            if let Some(number) = task.number.and_then(|number| number.parse().ok()) {
                index
                    .in_list
                    .entry(task.list)
                    .or_default()
                    .insert(number, at);
            }
        }
        index
    }

    fn add(&mut self, kind: Kind, name: String, at: usize) {
        let entry = self.named.entry((kind, name));
        entry.and_modify(|found| *found = None).or_insert(Some(at));
    }

    /// Returns the only task with a name; none if several have it.
    fn one(&self, kind: Kind, name: &str) -> Option<usize> {
        *self.named.get(&(kind, name.to_owned()))?
    }

    fn is_of_several(&self, number: &str) -> bool {
        let found = self
            .named
            .get(&(Kind::Number, bare_number(number).to_owned()));
        found == Some(&None)
    }

    /// Returns the tasks whose ids have a prefix and a number within a range.
    fn numbers(&self, prefix: &str, range: RangeInclusive<u64>) -> Vec<usize> {
        let Some(own) = self.numbered.get(prefix) else {
            return Vec::new();
        };
        let places = own.range((*range.start(), 0)..=(*range.end(), usize::MAX));
        places.map(|(_, at)| *at).collect()
    }
}

impl<'a> References<'a> {
    /// Creates references to these tasks, which are in the order of the plan.
    pub(crate) fn new(tasks: &'a [Name<'a>], groups: &'a [Group]) -> Self {
        let mut known = HashMap::with_capacity(groups.len());
        for group in groups {
            let first = tasks.get(group.leaves.start);
            let prefix = first.and_then(|task| task.prefix.as_deref());
            let id = format!("{}{}", prefix.map_or("", |prefix| prefix), group.id);
            known.insert(id, group.leaves.clone());
        }
        Self {
            tasks,
            groups: known,
            index: OnceCell::new(),
            suggested: Cell::new(0),
        }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(self.tasks))
    }

    fn ids(&self) -> impl Iterator<Item = &'a str> {
        self.tasks.iter().map(|task| task.id.as_str())
    }

    /// Resolves a list of a task, whose own section or part of the plan numbers count in first,
    /// stopping once there are more than [`MAX_DEPENDENCIES`]. An id that no task has is an error;
    /// anything else that names no task is prose, which is a warning.
    pub(crate) fn resolve(
        &self,
        task: &Name<'_>,
        list: &Located,
        findings: &mut Findings,
    ) -> Resolved {
        let mut found = Resolved::default();
        let pieces = pieces(&list.text);
        // What follows `none` explains it.
        if pieces.first().is_some_and(|piece| is_nothing(piece.text)) {
            return found;
        }
        let mut counted = None;
        for Piece { at, text } in pieces {
            if found.tasks.len() > MAX_DEPENDENCIES {
                break;
            }
            // `Phases 1 and 2` are two phases; `2.1` is the id of a task.
            let is_number = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains('.');
            counted = phase_word(text).or(counted.filter(|_| is_number));
            let of_phase = counted.filter(|_| is_number);
            let of_phase = of_phase.map(|word| format!("{word} {text}"));
            let piece = Piece {
                at: list.offset + at,
                text: of_phase.as_deref().unwrap_or(text),
            };
            match self.named(task, piece.text) {
                Some(tasks) => found.tasks.extend(tasks),
                None => self.words(task, &piece, &mut found, findings),
            }
        }
        found
    }

    /// Resolves a piece word by word, since it names nothing as a whole. It names tasks only if it
    /// begins with one; the words after them are prose.
    fn words(
        &self,
        task: &Name<'_>,
        piece: &Piece<'_>,
        found: &mut Resolved,
        findings: &mut Findings,
    ) {
        let named = without_remark(piece.text);
        let bare = without_words(named);
        if is_counted_phase(named) || (!bare.contains(' ') && self.is_meant(bare)) {
            return findings.error(self.unknown(piece.at, named));
        }
        // What follows `Task` is meant as one.
        let start = piece.text.find(bare).unwrap_or_default();
        let is_called = piece.text.head(start).contains(char::is_alphabetic);
        let mut begins_with_task = None;
        let mut prose = None;
        for Piece { at, text: word } in words_of(piece.text.tail(start)) {
            if text::is_one_of(word, CONNECTING) {
                continue;
            }
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            let is_first = begins_with_task.is_none();
            let is_reference = is_id(word) || (is_first && is_called && is_number);
            let tasks = self.named(task, word);
            let begins = *begins_with_task.get_or_insert(is_reference || tasks.is_some());
            match tasks {
                Some(tasks) if begins && prose.is_none() => found.tasks.extend(tasks),
                None if is_reference => findings.error(self.unknown(piece.at + start + at, word)),
                _ => prose = prose.or(Some(start + at)),
            }
        }
        let Some(start) = prose else { return };
        let text = piece.text.tail(start);
        found.has_prose = true;
        let message = format!("`{text}` names no task, so it is read as a remark");
        let code = FindingCode::UnknownDependency;
        let warning = Pending::new(piece.at + start, code, text, message);
        let advice = "if it is meant as a dependency, write the id of the task";
        findings.warn(warning.suggest(Some(advice.to_owned())));
    }

    /// Reports whether a word that names no task is meant as one: it has the form of an id, or is
    /// nearly one.
    fn is_meant(&self, word: &str) -> bool {
        let is_mark = |c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '#');
        let begins = |id: &str| {
            let rest = id.strip_prefix(word);
            rest.is_some_and(|rest| rest.starts_with(['_', '-']))
        };
        word.contains(is_mark)
            || self.may_suggest() && (nearest(word, self.ids()).is_some() || self.ids().any(begins))
    }

    /// Counts a suggestion, and reports whether there may be one more.
    fn may_suggest(&self) -> bool {
        let suggested = self.suggested.get();
        self.suggested.set(suggested + 1);
        suggested < MAX_SUGGESTIONS
    }

    fn unknown(&self, offset: usize, piece: &str) -> Pending {
        let code = FindingCode::UnknownDependency;
        let number = without_words(piece);
        if number.parse::<u64>().is_ok() && self.may_be_several(number) {
            let message = format!("it is not certain which task has the number `{piece}`");
            let advice = "write the id of the one that is meant".to_owned();
            return Pending::new(offset, code, piece, message).suggest(Some(advice));
        }
        let found = Pending::new(offset, code, piece, format!("there is no task `{piece}`"));
        let near = nearest(piece, self.ids()).filter(|_| self.may_suggest());
        found.suggest(near.map(|near| format!("did you mean `{near}`?")))
    }

    /// Reports whether a number may be that of several tasks: of their places, or of their ids.
    fn may_be_several(&self, number: &str) -> bool {
        let index = self.index();
        index.is_of_several(number) || index.one(Kind::Number, bare_number(number)).is_some()
    }

    /// Returns the tasks that a piece names: one, a group, a range, or a phase.
    pub(crate) fn named(&self, task: &Name<'_>, piece: &str) -> Option<Vec<usize>> {
        let bare = without_words(piece);
        let whole = self.one(task, piece).or_else(|| self.one(task, bare));
        whole
            .or_else(|| self.range(task, bare))
            .or_else(|| self.phases(piece))
            .or_else(|| match without_remark(piece) {
                named if named.len() < piece.len() => self.named(task, named),
                _ => None,
            })
    }

    /// Returns the tasks of the phase that a piece names (`Phase 1`), or of several (`Phases
    /// 1-3`), each of which has to exist.
    fn phases(&self, piece: &str) -> Option<Vec<usize>> {
        let letter = phase_word(piece)?.chars().next()?.to_ascii_uppercase();
        let (_, rest) = piece.split_once(' ')?;
        let rest = rest.trim();
        let phases = &self.index().phases;
        if let Some(found) = phases.get(&format!("{letter}{}", rest.to_uppercase())) {
            return Some(found.clone());
        }
        let (first, last) = rest.split_once(['-', '–', '—'])?;
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let mut found = Vec::new();
        for number in (first..=last).take_while(|number| number - first < MAX_PHASES) {
            found.extend(phases.get(&format!("{letter}{number}"))?);
        }
        (first <= last).then_some(found)
    }

    fn one(&self, task: &Name<'_>, name: &str) -> Option<Vec<usize>> {
        if let Some(found) = self.in_own_part(task, name) {
            return Some(found);
        }
        let index = self.index();
        let lower = name.to_lowercase();
        let id = index.one(Kind::Id, &lower);
        if let Some(placed) = self.in_own_list(task, name) {
            // The number may be a place of the list, or stand in an id.
            let named = id.or_else(|| self.with_prefix(name));
            return (named.is_none() || named == Some(placed)).then(|| vec![placed]);
        }
        if let Some(leaves) = self
            .groups
            .get(name.trim_end_matches('.'))
            .filter(|_| id.is_none())
        {
            return Some(leaves.clone().collect());
        }
        let found = id
            .or_else(|| index.one(Kind::Unprefixed, &lower))
            .or_else(|| {
                let (prefix, number) = split_number(name)?;
                index.numbers(&prefix, number..=number).first().copied()
            })
            .or_else(|| self.of_number(task, name))
            .or_else(|| match name.contains(' ') {
                true => index.one(Kind::Title, &identify::title_key(name)),
                false if is_id(name) => index.one(Kind::Title, &lower),
                false => None,
            });
        found.map(|at| vec![at])
    }

    /// Returns the task of a number in the whole plan, unless numbers begin anew where it is named.
    fn of_number(&self, task: &Name<'_>, number: &str) -> Option<usize> {
        let begins_anew = task
            .number
            .is_some_and(|own| self.index().is_of_several(own));
        let found = self.index().one(Kind::Number, bare_number(number))?;
        let other = self.tasks.get(found)?;
        (!begins_anew && task.prefix == other.prefix).then_some(found)
    }

    /// Returns the task whose id has this number behind one of the usual letters.
    fn with_prefix(&self, number: &str) -> Option<usize> {
        let number = number.parse().ok()?;
        let mut found = PREFIXES
            .iter()
            .flat_map(|prefix| self.index().numbers(prefix, number..=number));
        found.next()
    }

    /// Returns the task or the group of a name in the part of the plan, if numbers restart there,
    /// that a task belongs to.
    fn in_own_part(&self, task: &Name<'_>, name: &str) -> Option<Vec<usize>> {
        let prefix = task.prefix.as_deref()?;
        if let Some(leaves) = self.groups.get(&format!("{prefix}{name}")) {
            return Some(leaves.clone().collect());
        }
        let ids = ["", "T", "S", "US-"].map(|letter| format!("{prefix}{letter}{name}"));
        let mut found = ids
            .iter()
            .filter_map(|id| self.index().one(Kind::Id, &id.to_lowercase()));
        found.next().map(|at| vec![at])
    }

    /// Returns the task of a number in a task's list, unless its part of the plan has them.
    fn in_own_list(&self, task: &Name<'_>, number: &str) -> Option<usize> {
        let number: u64 = number.parse().ok().filter(|_| task.prefix.is_none())?;
        self.index().in_list.get(&task.list)?.get(&number).copied()
    }

    /// Resolves `T003-T005`, `T003..T005`, `1-4`, `T1 to T4`; both ends must exist.
    fn range(&self, task: &Name<'_>, text: &str) -> Option<Vec<usize>> {
        if text.len() > MAX_RANGE_BYTES {
            return None;
        }
        let mut places = RANGES.iter().flat_map(|mark| text.match_indices(mark));
        places.find_map(|(at, mark)| {
            let (from, to) = (text.head(at).trim(), text.tail(at + mark.len()).trim());
            self.between(task, from, without_words(to))
        })
    }

    fn between(&self, task: &Name<'_>, from: &str, to: &str) -> Option<Vec<usize>> {
        if self.in_own_list(task, from).is_some() && self.in_own_list(task, to).is_some() {
            let (low, high): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
            let own = self.index().in_list.get(&task.list)?;
            return (low <= high).then(|| own.range(low..=high).map(|(_, at)| *at).collect());
        }
        // The second end of `T003-005` has the letters of the first one.
        let letters = from.trim_end_matches(|c: char| c.is_ascii_digit());
        let first = *self.one(task, from)?.first()?;
        let last = self.one(task, to);
        let last = last.or_else(|| self.one(task, &format!("{letters}{to}")))?;
        let (prefix, low) = split_number(self.tasks.get(first)?.id.as_str())?;
        let (other, high) = split_number(self.tasks.get(*last.last()?)?.id.as_str())?;
        if prefix != other || low > high {
            return None;
        }
        let mut found = self.index().numbers(&prefix, low..=high);
        found.sort_unstable();
        Some(found)
    }
}

/// Returns a number as tasks are found by it: leading zeros do not count.
fn bare_number(number: &str) -> &str {
    number.trim_start_matches('0')
}

/// Returns the number of a task, or the one that its id ends with. The last number of `3.1` is not
/// the number of a task.
fn number_of<'a>(task: &'a Name<'a>) -> Option<&'a str> {
    if let Some(number) = task.number {
        return Some(bare_number(number));
    }
    // A title may end with any number.
    if task.is_slug {
        return None;
    }
    let id = task.id.as_str();
    let prefix = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = id.tail(prefix.len());
    (!number.is_empty() && !prefix.ends_with('.')).then(|| bare_number(number))
}

/// Splits an id into a lower-case prefix and its last number: `US-001` is (`us-`, 1).
fn split_number(id: &str) -> Option<(String, u64)> {
    let prefix = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = id.get(prefix.len()..)?.parse().ok()?;
    Some((prefix.to_lowercase(), number))
}

/// Reports whether a piece says that there is no dependency.
pub(crate) fn is_nothing(piece: &str) -> bool {
    let piece = piece.trim_matches(['`', '*', '_', '(', ')', ' ']);
    text::is_one_of(piece, &["", "none", "nothing", "n/a", "-", "–", "—"])
}

/// Reports whether a word has the form of an id: `T9`, `US-3`, `1.2`.
pub(crate) fn is_id(word: &str) -> bool {
    let is_name = word.starts_with(|c: char| c.is_ascii_uppercase());
    let is_number = word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let found = identify::leading(word).filter(|_| is_number || is_name);
    found.is_some_and(|found| found.rest == word.len() && !found.bare_number)
}

/// Reports whether a piece is `Phase 9` and nothing more.
fn is_counted_phase(piece: &str) -> bool {
    let is_short =
        piece.split_whitespace().count() == 2 && piece.ends_with(|c: char| c.is_ascii_digit());
    is_short && phase_word(piece).is_some()
}

/// Returns what stands before the remark of a piece: `Task 1 (the parser)`, `Task 1 - its tables`.
fn without_remark(piece: &str) -> &str {
    let ends = REMARKS.iter().filter_map(|mark| piece.find(mark));
    piece.head(ends.min().unwrap_or(piece.len())).trim_end()
}

/// Removes `Task`, `Tasks`, `Step`, … before a reference, and the marks around it.
fn without_words(piece: &str) -> &str {
    let piece = piece.trim_matches(['`', '*', '[', ']', '#', '"', '\'', ' ']);
    match piece.split_once([' ', '#']) {
        Some((word, rest)) if text::is_one_of(word, TASKS) => {
            without_words(rest.trim_start_matches([' ', '#']))
        }
        _ => identify::without_word(piece).unwrap_or(piece),
    }
}

/// Reports whether a word may stand before the number of a task or a phase, or of several.
pub(crate) fn is_counted(word: &str) -> bool {
    text::is_one_of(word, TASKS) || phase_word(word).is_some()
}

/// Returns the word for a phase, or for several, that a text begins with, as one counts.
fn phase_word(text: &str) -> Option<&str> {
    let word = text.split(' ').next()?;
    let one = word.strip_suffix('s').unwrap_or(word);
    text::is_one_of(one, words::PHASES).then_some(one)
}

/// A part of a text with its byte offset.
pub(crate) struct Piece<'t> {
    pub(crate) at: usize,
    pub(crate) text: &'t str,
}

/// Splits a list at the separators and `and` outside parentheses.
fn pieces(list: &str) -> Vec<Piece<'_>> {
    let mut enclosed = text::parentheses(list, &[]).into_iter().peekable();
    let separators = list.match_indices(SEPARATORS);
    let mut ends: Vec<(usize, &str)> = separators.chain(list.match_indices(" and ")).collect();
    ends.sort_unstable();
    ends.push((list.len(), ""));
    let mut pieces = Vec::new();
    let (mut start, mut outside) = (0, 0);
    for (end, separator) in ends {
        while let Some((_, close)) = enclosed.next_if(|(open, _)| *open < end) {
            outside = outside.max(close);
        }
        if end < outside {
            continue;
        }
        let raw = list.part(start..end);
        let text = raw.trim_start();
        let text = text.strip_prefix("and ").unwrap_or(text).trim_start();
        let at = end - text.len();
        let text = text.trim_end().trim_end_matches('.');
        if !text.is_empty() {
            pieces.push(Piece { at, text });
        }
        start = end + separator.len();
    }
    pieces
}

/// Returns the words of a text.
pub(crate) fn words_of(text: &str) -> Vec<Piece<'_>> {
    let mut at = 0;
    let mut words = Vec::new();
    for raw in text.split_inclusive(char::is_whitespace) {
        let text = raw.trim_end();
        words.extend(Some(Piece { at, text }).filter(|word| !word.text.is_empty()));
        at += raw.len();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use orchestrate_core::ids::TaskId;

    fn name<'d>(id: &'d str, number: Option<&'d str>) -> Name<'d> {
        Name {
            id: TaskId::new(id.to_owned()),
            is_slug: false,
            number,
            title: id,
            list: 0,
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
        let table: [(&str, &[usize]); 29] = [
            ("T001", &[0]),
            ("t001", &[0]),
            ("T1", &[0]),
            ("T001, T003", &[0, 2]),
            ("T001 and T003", &[0, 2]),
            ("T001 T003", &[0, 2]),
            ("T001 + T003", &[0, 2]),
            ("T001 AND T003", &[0, 2]),
            ("T001 (the parser, and so on), T003", &[0, 2]),
            ("Task 10 of the first part", &[3]),
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
            let found = resolve(&references, text, &mut findings);
            assert_eq!(
                (found.tasks.as_slice(), findings.errors.len()),
                (expected, 0),
                "{text}"
            );
        }
    }

    /// Resolves a list of references of a task that none of them names.
    fn resolve(references: &References<'_>, text: &str, findings: &mut Findings) -> Resolved {
        let list = Located {
            text: text.to_owned(),
            offset: 0,
        };
        references.resolve(&name("other", None), &list, findings)
    }

    #[test]
    fn the_word_before_a_number_counts_those_after_it() {
        let mut tasks = ["T1", "T2", "T3", "T4", "T5"].map(|id| name(id, id.strip_prefix('T')));
        let [first, second, third, fourth, _] = &mut tasks;
        (first.phase, second.phase, third.phase) = (Some("P1"), Some("P1"), Some("P1"));
        fourth.phase = Some("P2");
        let references = References::new(&tasks, &[]);
        let table: [(&str, &[usize], usize); 9] = [
            ("Phases 1 and 2", &[0, 1, 2, 3], 0),
            ("Phases 1-2", &[0, 1, 2, 3], 0),
            ("Phase 2, 1", &[3, 0, 1, 2], 0),
            ("Phases 1, 3 and T5", &[0, 1, 2, 4], 1),
            ("Phases 3", &[], 1),
            ("Phase 2, task 1", &[3, 0], 0),
            ("Phase 2, Task 1 and 5", &[3, 0, 4], 0),
            ("Steps 3, 4 and 5", &[2, 3, 4], 0),
            ("tasks 1–3 and 5", &[0, 1, 2, 4], 0),
        ];
        for (text, expected, errors) in table {
            let mut findings = Findings::default();
            let found = resolve(&references, text, &mut findings);
            assert_eq!(
                (found.tasks.as_slice(), findings.errors.len()),
                (expected, errors),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_clearly_a_reference_is_never_dropped() {
        let tasks = [name("T1", Some("1")), name("setup", None)];
        let references = References::new(&tasks, &[]);
        let table: [(&str, &[usize], usize, usize); 12] = [
            ("Task 1 - its tables are read", &[0], 0, 0),
            ("Task 9 - its tables are read", &[], 1, 0),
            ("Task 1 (A), Task 9", &[0], 1, 0),
            ("Task 9 of the plan", &[], 1, 1),
            ("§1", &[], 1, 0),
            ("Phase 9", &[], 1, 0),
            ("Tasks 1-2", &[], 1, 0),
            ("T1-T3", &[], 1, 0),
            ("F5, US-3", &[], 2, 0),
            ("T1+T9", &[0], 1, 0),
            ("setup and T1 und T3", &[1, 0], 1, 1),
            ("the design in section 4", &[], 0, 1),
        ];
        for (text, expected, errors, warnings) in table {
            let mut findings = Findings::default();
            let found = resolve(&references, text, &mut findings);
            assert_eq!(
                (
                    found.tasks.as_slice(),
                    findings.errors.len(),
                    findings.warnings.len()
                ),
                (expected, errors, warnings),
                "{text}"
            );
        }
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
            let found = resolve(&references, text, &mut findings);
            assert_eq!(
                (found.tasks.as_slice(), findings.errors.is_empty()),
                (expected, !expected.is_empty()),
                "{text}"
            );
        }
    }
}
