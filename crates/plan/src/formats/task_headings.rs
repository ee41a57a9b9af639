//! Which headings of a document of no known format are tasks, or may be.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::fields::identify;
use crate::formats::below;
use crate::formats::document::{BoxedItem, Document, Heading, Siblings};
use crate::formats::numbered_lists;
use crate::formats::numbers;
use crate::tasks::heading;
use crate::tasks::section;
use orchestrate_core::text::parts::Parts;

/// How many series are looked at for a heading: one for each level.
const MAX_OPEN_SERIES: usize = 6;

const PARTLY_FIELDED: &str = "only some of these headings have fields";
const PARTLY_FILLED: &str = "only some headings of a series have tasks";
const PARTLY_NAMED: &str = "a heading between those of tasks may be one as well";

/// The headings of a document that are tasks.
#[derive(Default)]
pub(crate) struct TaskHeadings {
    /// Their blocks, in their order.
    pub(crate) tasks: Vec<usize>,
    /// Whether these are only sections with numbers, or phases.
    pub(crate) are_sections: bool,
    /// Why some of them may be none.
    pub(crate) doubt: Option<&'static str>,
    /// The blocks of the headings that tell of tasks again.
    pub(crate) retold: Vec<usize>,
}

impl TaskHeadings {
    /// Finds those with a word and a number, a box, or fields; without any of these, the sections
    /// of a series.
    pub(crate) fn find(document: &Document<'_, '_>) -> Self {
        let mut own = Self::default();
        let mut may_be: Vec<&Heading> = document.headings.iter().collect();
        may_be.retain(|it| it.is_work() || it.task().is_some());
        let mut fielded = may_be.clone();
        fielded.retain(|it| it.level > 1 && below::has_task_fields(document, it));
        let (steps, mut found): (Vec<&Heading>, Vec<&Heading>) = may_be
            .iter()
            .filter(|it| is_named(document, it))
            .partition(|it| heading::is_step(&it.title));
        if found.is_empty() {
            found = steps;
        }
        found.retain(|it| !is_title_of_series(document, it));
        if let Some(level) = found.iter().map(|it| it.level).min() {
            found.extend(fielded.iter().filter(|it| it.level >= level));
        } else if !fielded.is_empty() {
            found = may_be;
            found.retain(|it| !it.describes() && fielded.iter().any(|own| is_beside(own, it)));
            own.doubt = (found.len() > fielded.len()).then_some(PARTLY_FIELDED);
            keep_counted(&mut found);
        } else {
            own.are_sections = true;
            own.doubt = doubt_of_boxes(document);
            if own.doubt.is_some() {
                own.tasks = chosen(document);
                return own;
            }
            found = sections_without_work(document);
        }
        own.retold = retold(&mut found);
        // What another one is below is a part of it; a heading that groups others is none itself.
        for (at, heading) in found.iter().enumerate() {
            let mut within = found.iter().skip(at + 1);
            let mut within = within.by_ref().take_while(|it| it.at < heading.end);
            if !within.any(|it| it.at > heading.at && !heading::is_step(&it.title)) {
                own.tasks.push(heading.at);
            }
        }
        own.tasks.dedup();
        if !own.are_sections && own.doubt.is_none() {
            let empty = own.sections_without_tasks(document);
            own.add(empty, PARTLY_FILLED);
            let between = own.headings_between(document);
            own.add(between, PARTLY_NAMED);
        }
        own
    }

    /// Adds headings that may be tasks, which makes all of them doubtful.
    fn add(&mut self, mut added: Vec<usize>, doubt: &'static str) {
        if !added.is_empty() {
            self.doubt.get_or_insert(doubt);
            self.tasks.append(&mut added);
            self.tasks.sort_unstable();
            self.tasks.dedup();
        }
    }

    /// Returns the headings that may be tasks, since they stand between some.
    fn headings_between(&self, document: &Document<'_, '_>) -> Vec<usize> {
        let mut between = beside(document, &self.tasks);
        between.retain(|it| it.may_be_task && !self.retold.contains(&it.heading.at));
        between.iter().map(|it| it.heading.at).collect()
    }

    /// Returns the headings in a section that has no task, unlike others of its series: those of a
    /// series of its own, or else the section. Phases are such sections also if none of them has.
    fn sections_without_tasks(&self, document: &Document<'_, '_>) -> Vec<usize> {
        let mut added = Vec::new();
        let has_task = |it: &Heading| {
            let first = self.tasks.partition_point(|task| *task < it.at);
            self.tasks.get(first).is_some_and(|task| *task < it.end)
        };
        let filled = document.headings.iter().filter(|it| has_task(it));
        let filled: BTreeSet<&str> = filled.filter_map(|it| numbers::named(&it.title)).collect();
        for series in series_of_work(document) {
            let with = series.iter().filter(|it| has_task(it)).count();
            // One numbered section of a document may hold all its tasks.
            if with == 1 && !has_word(&series) {
                continue;
            }
            // Phases that are described before their tasks are the same again.
            let is_again =
                |it: &Heading| numbers::named(&it.title).is_some_and(|name| filled.contains(name));
            if with == 0 && series.iter().all(|it| it.is_phase) {
                let mut empty = series;
                empty.retain(|it| is_open_work(it) && !is_again(it));
                added.extend(empty.iter().map(|it| it.at));
                continue;
            }
            for empty in without_work(&series, has_task) {
                let parts = document.headings_in(empty).iter();
                let mut parts = parts.filter(|it| it.series().is_some() && it.is_work());
                match parts.next() {
                    Some(first) => {
                        added.push(first.at);
                        added.extend(parts.filter(|it| it.level == first.level).map(|it| it.at));
                    }
                    None => added.push(empty.at),
                }
            }
        }
        added
    }
}

/// A heading right beside those of tasks that is none, though it is work by its words and has
/// something below it.
pub(crate) struct Beside<'d> {
    pub(crate) heading: &'d Heading,
    /// Whether it stands between two of them, or ends as they begin (`Final task: …`).
    pub(crate) may_be_task: bool,
    /// Whether it stands below the first of them.
    pub(crate) follows: bool,
}

/// Returns the headings beside those of tasks, whose blocks are in order, that hold none of these.
pub(crate) fn beside<'d>(document: &'d Document<'_, '_>, tasks: &[usize]) -> Vec<Beside<'d>> {
    let is_task = |it: &Heading| tasks.binary_search(&it.at).is_ok();
    let mut ends: HashMap<Siblings, Range<usize>> = HashMap::new();
    for own in document.headings.iter().filter(|it| is_task(it)) {
        ends.entry(own.siblings()).or_insert(own.at..own.at).end = own.at;
    }
    let mut found = Vec::new();
    for heading in &document.headings {
        let Some(ends) = ends.get(&heading.siblings()) else {
            continue;
        };
        let first = tasks.partition_point(|at| *at < heading.at);
        let holds_task = tasks.get(first).is_some_and(|at| *at < heading.end);
        if !holds_task && heading.is_work() && is_open_work(heading) {
            found.push(Beside {
                heading,
                may_be_task: ends.contains(&heading.at) || heading::ends_with_word(&heading.title),
                follows: heading.at > ends.start,
            });
        }
    }
    found
}

/// Reports whether a heading is the title of a document whose sections are a series.
fn is_title_of_series(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let mut outer = document.headings.iter().filter(|it| it.level == 1);
    heading.level == 1 && outer.nth(1).is_none() && !series_of_work(document).is_empty()
}

/// Leaves only the headings that are counted (`Phase 2`, `3. Docs`), if at least two are.
fn keep_counted(found: &mut Vec<&Heading>) {
    let counted: Vec<&Heading> = found
        .iter()
        .copied()
        .filter(|it| it.series().is_some())
        .collect();
    if counted.len() > 1 {
        *found = counted;
    }
}

/// Reports whether a heading stands beside another one, or is that one.
fn is_beside(own: &Heading, other: &Heading) -> bool {
    own.siblings() == other.siblings()
}

/// Reports whether a heading is a task by itself: by a word and a number, or by a box that does not
/// sum up what is below it.
fn is_named(document: &Document<'_, '_>, heading: &Heading) -> bool {
    if heading.task().is_some() {
        return true;
    }
    let sums_up = || {
        let ends_with_box = heading::box_at_end(&heading.title).is_some();
        ends_with_box && document.first_box_below(heading).is_some()
    };
    heading::box_of(&heading.title).is_some() && !heading.is_phase && !sums_up()
}

/// Puts headings in their order, takes those out that only tell of an earlier task again, with its
/// number and its words, and returns the blocks of these.
fn retold(found: &mut Vec<&Heading>) -> Vec<usize> {
    let mut told: HashMap<String, &Heading> = HashMap::new();
    let mut again = Vec::new();
    found.sort_by_key(|it| it.at);
    for heading in found.iter().copied() {
        let Some(task) = heading.task() else { continue };
        match told.entry(task.id()) {
            Entry::Vacant(free) => drop(free.insert(heading)),
            Entry::Occupied(first) if first.get().parent != heading.parent => {
                let (own, other) = (words_of(heading), words_of(first.get()));
                if !own.is_empty() && own.iter().all(|word| other.contains(word)) {
                    again.push(heading.at);
                }
            }
            Entry::Occupied(_) => {}
        }
    }
    found.retain(|it| !again.contains(&it.at));
    again
}

/// Returns the words of the title of a task, without a remark in parentheses, in lower case.
fn words_of(heading: &Heading) -> Vec<String> {
    let text = heading::after_mark(&heading.title);
    let title = heading.task().map_or(text, |task| text.tail(task.rest));
    let title = title.split('(').next().unwrap_or(title);
    section::each_word(title).map(str::to_lowercase).collect()
}

/// Returns the headings that may be tasks or chapters, though no word says so: those of a series
/// (`Phase 1`, `2. Client`, in any language) beside each other, none of which holds a box or a
/// table of tasks.
fn sections_without_work<'d>(document: &'d Document<'_, '_>) -> Vec<&'d Heading> {
    let mut series = series_of_work(document);
    series.retain(|own| !own.iter().any(|it| document.holds_work(it)));
    if series.iter().any(has_word) {
        series.retain(has_word);
    }
    series.into_iter().flatten().collect()
}

/// Returns the blocks of the headings that are tasks where headings are chosen and none is one by
/// itself: the sections of each series, whatever stands in them.
pub(crate) fn chosen(document: &Document<'_, '_>) -> Vec<usize> {
    let mut series = series_of_work(document);
    if series.is_empty() {
        series = all_series(document);
        series.retain(|own| !own.iter().all(|it| it.describes()));
    }
    if series.iter().any(has_word) {
        series.retain(has_word);
    }
    let mut found: Vec<usize> = series.iter().flatten().map(|it| it.at).collect();
    found.sort_unstable();
    found
}

/// Returns why headings in a series may be the tasks rather than the boxes of a document.
fn doubt_of_boxes(document: &Document<'_, '_>) -> Option<&'static str> {
    if is_partly_boxed(document) {
        Some("only some headings of a series have boxes")
    } else if has_boxes_beside_series(document) || have_lists_above_boxes(document) {
        Some("headings in a series may be tasks, to which only some boxes belong")
    } else {
        None
    }
}

/// Reports whether only some sections of a series hold boxes or tables of tasks, although all of
/// them are work that is to be done.
fn is_partly_boxed(document: &Document<'_, '_>) -> bool {
    let is_work = |own: &&BoxedItem| !document.is_below(own, |it| !it.is_work());
    let boxes = document.boxes.iter().filter(is_work).count();
    all_series(document).iter().any(|series| {
        let mut with = series.iter().filter(|it| document.holds_work(it));
        // One numbered section of a document may hold all its tasks.
        let only = with
            .next()
            .filter(|_| with.next().is_none() && !has_word(series));
        only.is_none_or(|it| document.boxes_below(it).len() < boxes)
            && !without_work(series, |it| document.holds_work(it)).is_empty()
    })
}

/// Reports whether boxes stand below each heading of a series, which a word counts, but not that of
/// a phase, and open ones right below a heading that nothing counts, no deeper than these: checks,
/// in another language.
fn has_boxes_beside_series(document: &Document<'_, '_>) -> bool {
    let mut deepest = 0;
    for series in all_series(document) {
        let is_whole = series
            .iter()
            .all(|it| document.holds_boxes(it) && !it.is_phase);
        if is_whole && has_word(&series) {
            deepest = series.iter().map(|it| it.level).fold(deepest, u8::max);
        }
    }
    let mut open = document.boxes.iter().filter(|it| it.mark.status.runs());
    deepest > 0
        && open.any(|own| {
            let heading = document.heading_of(own);
            heading.is_some_and(|it| it.level <= deepest && it.is_work())
                && !document.is_below(own, is_counted)
        })
}

fn is_counted(heading: &Heading) -> bool {
    numbers::series(identify::without_emoji(&heading.title)).is_some()
}

/// Reports whether numbered lists stand right below headings of a series, whose boxes stand only
/// below further headings in their sections, as those of what is delivered do.
fn have_lists_above_boxes(document: &Document<'_, '_>) -> bool {
    let has_list = |it: &&Heading| {
        document.holds_boxes(it)
            && document.first_box_below(it).is_none()
            && holds_list(document, it)
    };
    all_series(document)
        .iter()
        .any(|series| series.iter().filter(|it| has_list(it)).count() > 1)
}

/// Reports whether a numbered list stands right below a heading, or below one in its section that
/// speaks of work, but holds no boxes.
fn holds_list(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let mut inner = document.headings_in(heading).iter();
    let is_work = |it: &Heading| section::lists_work(&it.title) && !document.holds_boxes(it);
    numbered_lists::has_one_right_below(document, heading)
        || inner.any(|it| is_work(it) && numbered_lists::has_one_right_below(document, it))
}

/// Returns the sections of a series that have no work though others have, and are to be done.
fn without_work<'d>(series: &Series<'d>, has_work: impl Fn(&Heading) -> bool) -> Vec<&'d Heading> {
    let (with, mut without): (Vec<&Heading>, Vec<&Heading>) =
        series.iter().copied().partition(|it| has_work(it));
    if with.is_empty() {
        return Vec::new();
    }
    without.retain(|it| is_open_work(it));
    without
}

/// Reports whether something stands below a heading that calls it neither done nor a description.
pub(crate) fn is_open_work(heading: &Heading) -> bool {
    let status = heading::status(&heading.title);
    heading.end > heading.at + 1
        && status.is_none_or(|status| status.runs())
        && !heading.describes()
}

/// Headings that count on.
type Series<'d> = Vec<&'d Heading>;

/// Reports whether a series counts by a word.
fn has_word(series: &Series<'_>) -> bool {
    series.iter().any(|it| it.series() != Some(""))
}

/// Returns the series that may be tasks: a word counts them, they count on from one section to the
/// next, a heading above them speaks of work, or no heading above the boxes does.
fn series_of_work<'d>(document: &'d Document<'_, '_>) -> Vec<Series<'d>> {
    let mut series = all_series(document);
    let names_work = |it: &Heading| {
        // The title of a document of sections speaks of all of it.
        let holds_boxes = match it.level {
            1 => document.first_box_below(it).is_some(),
            _ => document.holds_boxes(it),
        };
        holds_boxes && section::names_list(&it.title)
    };
    let are_boxes_vague = !document.boxes.is_empty() && !document.headings.iter().any(names_work);
    series.retain(|own| {
        let Some(first) = own.first() else {
            return false;
        };
        let parent = first.parent.and_then(|at| document.headings.get(at));
        has_word(own)
            || own.iter().any(|it| it.parent != first.parent)
            || parent.is_some_and(|parent| {
                let may_be_work = parent.is_work() && parent.level > 1 && !parent.describes();
                let is_counted = own
                    .iter()
                    .map(|it| it.place())
                    .eq((1..).map(Some).take(own.len()));
                (are_boxes_vague && may_be_work && is_counted) || section::lists_work(&parent.title)
            })
    });
    series
}

/// Reports whether several headings are counted.
pub(crate) fn has_series(document: &Document<'_, '_>) -> bool {
    !all_series(document).is_empty()
}

/// Returns the blocks of the sections without work of each series in which another one has some.
pub(crate) fn left_out(
    document: &Document<'_, '_>,
    has_work: impl Fn(&Heading) -> bool,
) -> BTreeSet<usize> {
    let series = all_series(document);
    let without = series.iter().flat_map(|own| without_work(own, &has_work));
    without.map(|it| it.at).collect()
}

/// Returns the series of at least two headings that speak of work, beside each other or in sections
/// beside each other.
fn all_series<'d>(document: &'d Document<'_, '_>) -> Vec<Series<'d>> {
    let mut series: Vec<Series<'_>> = Vec::new();
    for heading in document.headings.iter().filter(|it| it.is_work()) {
        if heading.series().is_none() {
            continue;
        }
        // A chapter ends a series of the one before it.
        let mut open = series.iter_mut().rev().take(MAX_OPEN_SERIES);
        match open.find(|own| continues(document, own, heading)) {
            Some(own) => own.push(heading),
            None => series.push(vec![heading]),
        }
    }
    series.retain(|own| own.len() > 1);
    series
}

/// Reports whether a heading goes on with a series, in the same section or in the next one.
fn continues(document: &Document<'_, '_>, series: &Series<'_>, heading: &Heading) -> bool {
    let (Some(last), Some(word)) = (series.last(), heading.series()) else {
        return false;
    };
    if last.level != heading.level {
        return false;
    }
    let is_same = last.series() == Some(word);
    if last.parent == heading.parent {
        // `PR 1` and `Improvement 2` beside each other are of one kind.
        return is_same || (!word.is_empty() && last.series() != Some(""));
    }
    if !is_same {
        return false;
    }
    let sections = [last, heading].map(|it| document.headings.get(it.parent?));
    let [Some(own), Some(other)] = sections else {
        return false;
    };
    let next = last.place().and_then(|place| place.checked_add(1));
    is_beside(own, other) && next.is_some() && next == heading.place()
}
