//! Resolves references to tasks, such as `depends: T1, T003-T005, Tasks 1-4`.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::Range;

use crate::fields::attributes::Located;
use crate::fields::identify;
use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::text;
use crate::order::assign::Name;
use crate::tasks::draft::Group;
use crate::tasks::phase;
use crate::words;
use orchestrate_core::text::parts::Parts;
use orchestrate_core::text::similar::nearest;

/// The maximum number of dependencies in a plan: two phases of 500 tasks each need half of it.
pub(crate) const MAX_DEPENDENCIES: usize = 500_000;

/// The maximum number of suggestions for unknown dependencies: each compares every id.
const MAX_SUGGESTIONS: usize = 20;

/// What stands between two tasks of one list, as a word of its own in any case.
const CONNECTING: &[&str] = &["and", "plus", "then", "+", "/", "|", "→", "->"];

/// What joins two tasks of one list without blanks. No id contains any of these.
const JOINTS: [char; 4] = ['+', '/', '|', '→'];

/// What ends an item of a list.
const SEPARATORS: [char; 7] = [',', ';', '&', '\n', '，', '、', '；'];

/// What stands between a task and the reason why it comes first.
const DASHES: [&str; 4] = ["- ", "– ", "— ", "-- "];

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
    /// Whether it is about something else.
    pub(crate) is_text: bool,
}

/// An index of tasks by the references that people write.
pub(crate) struct References<'a> {
    tasks: &'a [Name<'a>],
    /// By id in lower case.
    by_id: HashMap<String, usize>,
    /// By prefix in lower case and number, so that `T1` finds `T001`.
    by_number: HashMap<String, BTreeSet<(u64, usize)>>,
    /// By number alone; `None` if several tasks have it.
    by_bare_number: HashMap<&'a str, Option<usize>>,
    /// By id without the prefix of its part of the plan; `None` if several tasks have it.
    without_part: HashMap<String, Option<usize>>,
    /// By list and number, for numbers that restart in each.
    in_list: HashMap<usize, BTreeMap<u64, usize>>,
    /// By the key of its title, once one is looked for; `None` if several tasks have it.
    titles: OnceCell<HashMap<String, Option<usize>>>,
    /// By the prefix of the part of the plan where its numbers restart, and id.
    groups: HashMap<(&'a str, &'a str), Range<usize>>,
    /// The tasks of each phase, by its letter and number.
    phases: HashMap<&'a str, Vec<usize>>,
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
        let mut found = Self {
            tasks,
            by_id: HashMap::with_capacity(tasks.len()),
            by_number: HashMap::new(),
            by_bare_number: unique(tasks.iter().map(number_of)),
            without_part: unique(tasks.iter().map(id_in_part)),
            in_list: HashMap::new(),
            titles: OnceCell::new(),
            groups: HashMap::with_capacity(groups.len()),
            phases: HashMap::new(),
            suggested: Cell::new(0),
        };
        for group in groups {
            let first = tasks.get(group.leaves.start);
            let prefix = first.and_then(|task| task.prefix.as_deref()).unwrap_or("");
            let leaves = group.leaves.clone();
            found.groups.insert((prefix, &group.id), leaves);
        }
        for (at, task) in tasks.iter().enumerate() {
            let id = task.id.as_str();
            found.by_id.entry(id.to_lowercase()).or_insert(at);
            if let Some((prefix, number)) = split_number(id) {
                let own = found.by_number.entry(prefix).or_default();
                own.insert((number, at));
            }
            if let Some(phase) = task.phase {
                found.phases.entry(phase).or_default().push(at);
            }
            if let Some(number) = task.number.and_then(|number| number.parse().ok()) {
                let own = found.in_list.entry(task.list).or_default();
                own.insert(number, at);
            }
        }
        found
    }

    fn ids(&self) -> impl Iterator<Item = &'a str> {
        self.tasks.iter().map(|task| task.id.as_str())
    }

    fn id(&self, at: usize) -> &'a str {
        self.tasks.get(at).map_or("", |task| task.id.as_str())
    }

    fn by_title(&self) -> &HashMap<String, Option<usize>> {
        let titles = self.tasks.iter();
        let titles = titles.map(|task| Some(identify::title_key(task.title)));
        self.titles.get_or_init(|| unique(titles))
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
                Some(tasks) => {
                    found.tasks.extend(tasks);
                }
                None => self.words(task, &piece, &mut found, findings),
            }
        }
        found
    }

    /// Counts a suggestion, and reports whether there may be one more.
    fn may_suggest(&self) -> bool {
        let suggested = self.suggested.get();
        self.suggested.set(suggested + 1);
        suggested < MAX_SUGGESTIONS
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
        let named = without_remark(piece.text).unwrap_or(piece.text);
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
        let is_after_dash = DASHES.iter().any(|dash| text.starts_with(dash));
        // After a dash stands why the tasks before it come first.
        if is_after_dash && begins_with_task == Some(true) {
            return;
        }
        found.has_prose = true;
        let message = format!("`{text}` names no task, so it is read as a remark");
        let code = FindingCode::UnknownDependency;
        let warning = Pending::new(piece.at + start, code, text, message);
        findings.warn(warning.suggest("if it is meant as a dependency, write the id of the task"));
    }

    /// Reports whether a word that names no task is meant as one: it has the form of an id, or is
    /// nearly one.
    fn is_meant(&self, word: &str) -> bool {
        if word.contains(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '#')) {
            return true;
        }
        let begins = self.ids().filter_map(|id| id.strip_prefix(word));
        let mut begins = begins.filter(|rest| rest.starts_with(['_', '-']));
        self.may_suggest() && (nearest(word, self.ids()).is_some() || begins.next().is_some())
    }

    fn unknown(&self, offset: usize, piece: &str) -> Pending {
        let code = FindingCode::UnknownDependency;
        let number = bare_number(without_words(piece));
        if self.by_bare_number.get(number) == Some(&None) {
            let message = format!("several tasks have the number `{piece}`");
            return Pending::new(offset, code, piece, message)
                .suggest("write the id of the one that is meant");
        }
        let found = Pending::new(offset, code, piece, format!("there is no task `{piece}`"));
        if !self.may_suggest() {
            return found;
        }
        let advice = match nearest(piece, self.ids()) {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None if piece.contains(JOINTS) => Some("write commas between several tasks".to_owned()),
            None => None,
        };
        found.suggest_if(advice)
    }

    /// Returns the tasks that a piece names: one, a group, a range, or a phase.
    fn named(&self, task: &Name<'_>, piece: &str) -> Option<Vec<usize>> {
        let bare = without_words(piece);
        self.one(task, piece)
            .or_else(|| self.one(task, bare))
            .or_else(|| self.range(task, bare))
            .or_else(|| self.phase(piece))
            .or_else(|| self.phases(piece))
            .or_else(|| self.named(task, without_remark(piece)?))
    }

    /// Returns the tasks of a phase that a piece names (`Phase 1`).
    fn phase(&self, piece: &str) -> Option<Vec<usize>> {
        let label = phase::of_heading(piece)?.label?;
        self.phases.get(label.as_str()).cloned()
    }

    /// Returns the tasks of the phases that a word counts, one (`Phases 1`) or from one to another
    /// (`Phases 1-6`), each of which has to exist.
    fn phases(&self, piece: &str) -> Option<Vec<usize>> {
        let word = phase_word(piece)?;
        let (_, range) = piece.split_once(' ')?;
        let (first, last) = range.split_once(['-', '–', '—']).unwrap_or((range, range));
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let mut found = Vec::new();
        for number in (first..=last).take(self.phases.len() + 1) {
            found.extend(self.phase(&format!("{word} {number}"))?);
        }
        Some(found).filter(|_| first <= last)
    }

    fn one(&self, task: &Name<'_>, name: &str) -> Option<Vec<usize>> {
        if let Some(found) = self.in_own_part(task, name) {
            return Some(found);
        }
        let lower = name.to_lowercase();
        if let Some(at) = self.by_id.get(&lower) {
            return Some(vec![*at]);
        }
        let of_number = self
            .by_bare_number
            .get(bare_number(name))
            .copied()
            .flatten();
        if let Some(at) = self.in_own_list(task, name) {
            // The number in the id of another task may be meant as well.
            let is_slug = self.tasks.get(at).is_some_and(|task| task.is_slug);
            let is_certain = is_slug || of_number.is_none_or(|other| other == at);
            return is_certain.then(|| vec![at]);
        }
        if let Some(leaves) = self.group(name.trim_end_matches('.')) {
            return Some(leaves.collect());
        }
        if let Some(Some(at)) = self.without_part.get(&lower) {
            return Some(vec![*at]);
        }
        let by_number = split_number(name)
            .and_then(|(prefix, number)| self.numbers(&prefix, number..=number)?.next());
        let found = match by_number {
            Some(at) => Some(at),
            None => match of_number {
                Some(at) => Some(at),
                _ if name.contains(' ') => *self.by_title().get(&identify::title_key(name))?,
                _ => None,
            },
        };
        found.map(|at| vec![at])
    }

    /// Returns the task or the group of a name in the part of the plan, if numbers restart there,
    /// that a task belongs to.
    fn in_own_part(&self, task: &Name<'_>, name: &str) -> Option<Vec<usize>> {
        let prefix = task.prefix.as_deref()?;
        if let Some(leaves) = self.groups.get(&(prefix, name)) {
            return Some(leaves.clone().collect());
        }
        let ids = ["", "T", "S", "US-"].map(|letter| format!("{prefix}{letter}{name}"));
        let found = ids.iter().find_map(|id| self.by_id.get(&id.to_lowercase()));
        found.map(|at| vec![*at])
    }

    /// Returns the task of a number in a task's list, unless its part of the plan has them.
    fn in_own_list(&self, task: &Name<'_>, number: &str) -> Option<usize> {
        let number = number.parse().ok().filter(|_| task.prefix.is_none())?;
        self.in_list.get(&task.list)?.get(&number).copied()
    }

    fn group(&self, name: &str) -> Option<Range<usize>> {
        if let Some(found) = self.groups.get(&("", name)) {
            return Some(found.clone());
        }
        let (part, id) = name.split_once('-')?;
        self.groups.get(&(name.get(..=part.len())?, id)).cloned()
    }

    /// Resolves `T003-T005`, `T003..T005`, `1-4`, `T1 to T4`; both ends must exist.
    fn range(&self, task: &Name<'_>, text: &str) -> Option<Vec<usize>> {
        if text.len() > MAX_RANGE_BYTES {
            return None;
        }
        let marks = ["..", "–", "—", " to ", " through ", "-"];
        let mut places = marks.iter().flat_map(|mark| text.match_indices(mark));
        places.find_map(|(at, mark)| {
            let (from, to) = (text.head(at).trim(), text.tail(at + mark.len()).trim());
            self.between(task, from, without_words(to))
        })
    }

    /// Returns the tasks whose ids have a prefix and a number within a range, by number.
    fn numbers(
        &self,
        prefix: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Option<impl Iterator<Item = usize> + '_> {
        let own = self.by_number.get(prefix)?;
        let places = own.range((*range.start(), 0)..=(*range.end(), usize::MAX));
        Some(places.map(|(_, at)| *at))
    }

    fn between(&self, task: &Name<'_>, from: &str, to: &str) -> Option<Vec<usize>> {
        if self.in_own_list(task, from).is_some() && self.in_own_list(task, to).is_some() {
            let (low, high): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
            let own = self.in_list.get(&task.list).filter(|_| low <= high)?;
            return Some(own.range(low..=high).map(|(_, at)| *at).collect());
        }
        let first = *self.one(task, from)?.first()?;
        let last = self
            .one(task, to)
            .or_else(|| self.one(task, &with_prefix(from, to)))?;
        let (prefix, low) = split_number(self.id(first))?;
        let (other, high) = split_number(self.id(*last.last()?))?;
        if prefix != other || low > high {
            return None;
        }
        let mut found: Vec<usize> = self.numbers(&prefix, low..=high)?.collect();
        found.sort_unstable();
        Some(found)
    }
}

/// Adds the prefix of the first end of `T003-005` to the second.
fn with_prefix(from: &str, to: &str) -> String {
    let prefix = from.trim_end_matches(|c: char| c.is_ascii_digit());
    format!("{prefix}{to}")
}

/// Returns a number as tasks are found by it: leading zeros do not count.
fn bare_number(number: &str) -> &str {
    number.trim_start_matches('0')
}

/// Returns the number that the id of a task ends with, or that of one without a written id. The
/// last number of `3.1` is not the number of a task.
fn number_of<'a>(task: &'a Name<'a>) -> Option<&'a str> {
    let own = task
        .number
        .filter(|own| task.is_slug || task.id.as_str().ends_with(own));
    // A title may end with any number.
    if own.is_some() || task.is_slug {
        return own.map(bare_number);
    }
    let id = task.id.as_str();
    let prefix = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = id.tail(prefix.len());
    (!number.is_empty() && !prefix.ends_with('.')).then(|| bare_number(number))
}

/// Returns the id of a task without the prefix of its part of the plan, in lower case.
fn id_in_part(task: &Name<'_>) -> Option<String> {
    let id = task.id.as_str().strip_prefix(task.prefix.as_deref()?)?;
    Some(id.to_lowercase())
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
fn is_id(word: &str) -> bool {
    let is_number = word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let found = identify::leading(word).filter(|_| is_number || is_name(word));
    found.is_some_and(|found| found.rest == word.len() && !found.bare_number)
}

/// Reports whether a text begins with an id that is no number: `T9`, `US-3`.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase()) && identify::leading(text).is_some()
}

/// Reports whether a piece is `Phase 9` and nothing more.
fn is_counted_phase(piece: &str) -> bool {
    let is_short =
        piece.split_whitespace().count() == 2 && piece.ends_with(|c: char| c.is_ascii_digit());
    is_short && phase_word(piece).is_some()
}

/// Returns what stands before the remark in parentheses that ends a piece: `Task 1 (the parser)`.
fn without_remark(piece: &str) -> Option<&str> {
    let (before, _) = piece.strip_suffix(')')?.split_once(" (")?;
    Some(before.trim_end())
}

/// Removes `Task`, `Tasks`, `Step`, … before a reference, and the marks around it.
fn without_words(piece: &str) -> &str {
    let piece = piece.trim_matches(['`', '*', '[', ']', '#', ' ']);
    match piece.split_once([' ', '#']) {
        Some((word, rest)) if text::is_one_of(word, TASKS) => rest.trim_start_matches([' ', '#']),
        _ => identify::without_word(piece).unwrap_or(piece),
    }
}

/// Words before the number of a task.
const TASKS: &[&str] = &["task", "tasks", "step", "steps", "story", "stories"];

/// Reports whether a word names a task or a phase, or may stand before the number of one.
pub(crate) fn may_name(word: &str) -> bool {
    let is_name = word.starts_with(char::is_alphabetic) && is_id(word);
    let is_counted = text::is_one_of(word, TASKS) || phase_word(word).is_some();
    is_name || is_counted || word.starts_with(['#', '§'])
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

/// Splits a list at commas, semicolons, `&`, `and` and line ends outside parentheses.
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
        let table: [(&str, &[usize]); 26] = [
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
        let list = Located::new(text, 0);
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
            ("T1+T9", &[], 1, 0),
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
