//! Parses text into a [`Plan`], and reports every error at once.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::fields::attributes::Located;
use crate::fields::identify;
use crate::fields::names;
use crate::fields::names::KnownNames;
use crate::fields::names::ReadAs;
use crate::finding;
use crate::finding::{
    Finding, FindingCode, Findings, Pending, PendingSkip, PlanError, PlanWarning, Skipped,
};
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::lines::LineUse;
use crate::formats::reading::{self, Read, Reading};
use crate::formats::walk::MAX_TASKS;
use crate::formats::whole;
use crate::front_matter;
use crate::front_matter::{FrontMatter, Order};
use crate::import;
use crate::lines::outline;
use crate::lines::outline::{Block, Opaque};
use crate::lines::source::{Inline, Source};
use crate::lines::text;
use crate::mark::{GroupMark, Mark};
use crate::order::assign;
use crate::order::bare_ids;
use crate::order::edges;
use crate::order::edges::{Edges, Unordered};
use crate::order::overlap::Pattern;
use crate::order::reason::Reason;
use crate::order::sequence;
use crate::order::stuck::never_started;
use crate::tasks::draft::Draft;
use crate::tasks::draft::Group;
use crate::tasks::note::{self, Note};
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::Task;
use orchestrate_core::text::invisible::hidden;

/// The maximum size of a plan: a thousand tasks need a tenth of it.
pub const MAX_PLAN_BYTES: usize = 4 * 1024 * 1024;

/// A plan that has no errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The front matter's title, else the first heading of level one.
    pub title: Option<String>,
    /// The front matter; the default if there is none.
    pub front_matter: FrontMatter,
    /// All tasks in the order of the document, including done ones.
    pub tasks: Vec<Task>,
    /// Why a task waits for the ones in its `after`, and for those behind a barrier; a task that
    /// waits only for what it names has no entry. In the order of the tasks.
    #[serde(default)]
    pub reasons: Vec<(TaskId, Reason)>,
    /// What is written when a task is done; a heading without a box, of its own or below it, has no
    /// entry. In the order of the tasks.
    pub marks: Vec<(TaskId, Vec<Mark>)>,
    /// The boxes of groups.
    #[serde(default)]
    pub groups: Vec<GroupMark>,
    /// What it says besides its tasks, section by section.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// Lines that look like work but are not run.
    pub skipped: Vec<Skipped>,
    /// The name of its format, or of the way in which it was read.
    #[serde(default)]
    pub format: String,
    /// What becomes of each line.
    #[serde(default)]
    pub lines: Vec<LineUse>,
    /// The ways to read it, if there are several.
    #[serde(default)]
    pub readings: Vec<Reading>,
    /// Problems that do not prevent a run.
    pub warnings: Vec<PlanWarning>,
}

impl Plan {
    /// Parses a plan.
    ///
    /// # Errors
    /// Every error of the plan at once, in the order of the text.
    pub fn parse(source: &str, known: &KnownNames) -> Result<Self, Vec<PlanError>> {
        let (plan, errors) = read(source, known);
        if errors.is_empty() {
            Ok(plan)
        } else {
            Err(errors)
        }
    }
}

/// Returns what a plan says besides its tasks, section by section, even if the plan has errors.
pub fn notes(text: &str, known: &KnownNames) -> Vec<Note> {
    read(text, known).0.notes
}

/// Returns a section of a plan as written: its heading and everything below it.
///
/// # Errors
/// The plan's headings, if it has no such section.
pub fn section<'t>(
    text: &'t str,
    heading: &str,
    known: &KnownNames,
) -> Result<&'t str, Vec<String>> {
    let notes = notes(text, known);
    note::section(text, &notes, heading)
        .ok_or_else(|| notes.into_iter().filter_map(|note| note.heading).collect())
}

/// Parses a plan as far as possible, and returns its errors with it.
pub(crate) fn read(text: &str, known: &KnownNames) -> (Plan, Vec<PlanError>) {
    if let Err(error) = require_text(text) {
        return (Plan::default(), vec![error]);
    }
    let source = Source::new(text);
    let mut findings = Findings::default();
    let plan = read_source(&source, known, &mut findings);
    let errors = finding::place(findings.errors, &source);
    let mut warnings = finding::place(findings.warnings, &source);
    warnings.extend(never_started(&plan.tasks));
    warnings.sort_by_key(|warning| (warning.line, warning.column));
    let skipped = finding::place_skipped(findings.skipped, &source);
    (
        Plan {
            warnings,
            skipped,
            ..plan
        },
        errors,
    )
}

/// Rejects text that cannot be a plan: empty, binary or too large.
pub(crate) fn require_text(text: &str) -> Result<(), Finding> {
    let bytes = text.len();
    let (code, message, suggestion) = if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let suggestion = "write a list of `- [ ] task` lines";
        (
            FindingCode::EmptyPlan,
            "the plan is empty".to_owned(),
            suggestion,
        )
    } else if text.contains('\0') {
        let message = "the plan is not text".to_owned();
        (FindingCode::BinaryPlan, message, "name a Markdown file")
    } else if bytes > MAX_PLAN_BYTES {
        let message = format!("the plan has {bytes} bytes, at most {MAX_PLAN_BYTES} are allowed");
        (
            FindingCode::PlanTooLarge,
            message,
            "split it into several plans",
        )
    } else {
        return Ok(());
    };
    Err(Finding {
        suggestion: Some(suggestion.to_owned()),
        ..Finding::of_whole(code, message)
    })
}

fn read_source(source: &Source<'_>, known: &KnownNames, findings: &mut Findings) -> Plan {
    let mut front_matter = FrontMatter::default();
    let mut body = source.text.len() - source.text.trim_start_matches('\u{feff}').len();
    if let Some((range, after)) = front_matter::split(source) {
        front_matter = front_matter::read(source, range, known, findings);
        body = after;
    } else if let Some(at) = front_matter::unclosed(source) {
        let found = Pending::new(
            at,
            FindingCode::FrontMatter,
            "",
            "the front matter is not closed",
        );
        findings.error(found.suggest("write a line `---` after it"));
    }
    let way = known.read.or(front_matter.read);
    let mut body = Body {
        source,
        start: body,
        order: front_matter.parallel,
    };
    let read = body.read(way, known, findings);
    let Collected {
        mut drafts,
        groups,
        phases,
        notes,
        title,
        lines,
        ..
    } = read.collected;
    // A format knows its own front matter.
    if ReadAs::named(read.format).is_some() || !read.readings.is_empty() {
        front_matter::note_others(&front_matter, source, findings);
    }
    bare_ids::take(&mut drafts);
    assign::count_on(&mut drafts);
    let names = assign::assign(&drafts, findings);
    let mut files = Vec::with_capacity(drafts.len());
    for draft in &drafts {
        files.push(patterns(draft, findings));
    }
    let titles = drafts.iter().map(|draft| draft.title.as_str());
    let are_closing: Vec<bool> = titles.map(sequence::is_closing).collect();
    let unordered = Unordered {
        text: source.text,
        drafts: &drafts,
        names: &names,
        groups: &groups,
        paths: &files,
        are_closing: &are_closing,
        order: body.order,
    };
    let edges = edges::order(&unordered, findings);
    let ids: Vec<TaskId> = names.into_iter().map(|name| name.id).collect();
    let (mut marks, mut reasons) = (Vec::new(), Vec::new());
    for (id, draft) in ids.iter().zip(&mut drafts) {
        check_names(draft, known, findings);
        if !draft.marks.is_empty() {
            marks.push((id.clone(), std::mem::take(&mut draft.marks)));
        }
    }
    for (id, reason) in ids.iter().zip(&edges.reasons) {
        reasons.extend(reason.clone().map(|reason| (id.clone(), reason)));
    }
    let groups = groups.into_iter().chain(phases);
    Plan {
        title: front_matter.title.clone().or(title),
        front_matter,
        groups: groups.filter_map(|group| group_mark(group, &ids)).collect(),
        tasks: tasks(source, drafts, &ids, edges, &are_closing),
        marks,
        reasons,
        notes,
        format: read.format.to_owned(),
        lines: lines.uses(source, &ids),
        readings: read.readings,
        ..Plan::default()
    }
}

/// Returns the box of a group, if it has one, with the ids of its tasks.
fn group_mark(group: Group, ids: &[TaskId]) -> Option<GroupMark> {
    Some(GroupMark {
        mark: group.mark?,
        tasks: ids.get(group.leaves)?.to_vec(),
    })
}

/// What a plan is looked through for, as part of the advice for one without tasks.
const LOOKED_FOR: &str = "boxes `- [ ] task`, headings `### Task 1: …`, bullets that begin with a mark such as ✅, \
    a table with the columns Task and Status, a numbered list below a heading such as Tasks or Steps";

/// The only format whose files have tags.
const TAGGED: &str = "task-master";

/// What is below the front matter.
struct Body<'s, 'a> {
    source: &'s Source<'a>,
    start: usize,
    /// The order that the front matter says.
    order: Order,
}

impl Body<'_, '_> {
    /// Finds the tasks, and the order that they have; having none or too many is an error, and so
    /// is text that cannot be read.
    fn read(&mut self, way: Option<ReadAs>, known: &KnownNames, findings: &mut Findings) -> Read {
        let is_json = import::is_json(self.source.slice(self.start..self.source.text.len()));
        hidden_characters(self.source, findings);
        let mut read = match is_json {
            true => self.json(known, findings),
            false => self.markdown(way, known, findings),
        };
        let format = read.format;
        if let Some(tag) = known.tag.as_ref().filter(|_| format != TAGGED) {
            let message = format!("a tag is chosen, `{tag}`, but only files of {TAGGED} have tags");
            findings.error(Pending::new(0, FindingCode::SeveralTags, tag, message));
        }
        let may_be_goal = match format {
            "whole" if way.is_some() || findings.skipped.is_empty() => true,
            "whole" => are_examples(&findings.skipped) && whole::has_prose(&read.collected.notes),
            _ => ReadAs::named(format).is_none() && !is_json,
        };
        let collected = &mut read.collected;
        match collected.drafts.len() {
            0 if format.is_empty() => {}
            0 if may_be_goal => self.whole(way, collected, findings),
            0 => no_tasks(findings),
            1..=MAX_TASKS => {}
            many => {
                let message = format!("the plan has {many} tasks, at most {MAX_TASKS} are allowed");
                findings.error(Pending::new(0, FindingCode::TooManyTasks, "", message));
                collected.drafts.clear();
            }
        }
        read
    }

    fn json(&mut self, known: &KnownNames, findings: &mut Findings) -> Read {
        let tag = known.tag.as_deref();
        let Some(imported) = import::read(self.source, self.start, tag, findings) else {
            return Read::default();
        };
        self.order = imported.order;
        Read {
            collected: imported.collected,
            format: imported.format,
            readings: Vec::new(),
        }
    }

    /// Finds the tasks of Markdown; too deep a nesting is an error.
    fn markdown(&self, way: Option<ReadAs>, known: &KnownNames, findings: &mut Findings) -> Read {
        if let Some(offset) = outline::too_deep(self.source) {
            let depth = outline::MAX_DEPTH;
            let message = format!("lists and quotes are nested deeper than {depth}");
            findings.error(Pending::new(offset, FindingCode::TooDeep, "", message));
            return Read::default();
        }
        let document = Document::read(self.source, self.start);
        if self.source.text.contains("<!--") {
            hidden_comments(self.source, &document.blocks, findings);
        }
        if let Some(at) = document.unclosed {
            let message = "this fence is not closed, so everything below it is code";
            let found = Pending::new(at, FindingCode::Unclosed, "", message);
            findings.warn(found.suggest("write its closing marks on a line of their own"));
        }
        document.legend.report(self.source, findings);
        reading::read(&document, way, known, findings)
    }

    /// Makes one task of a document that marks none, if it describes work; else having no tasks is
    /// an error.
    fn whole(&self, way: Option<ReadAs>, collected: &mut Collected, findings: &mut Findings) {
        let text = self.source.slice(self.start..self.source.text.len());
        let at = self.source.text.len() - text.trim_ascii_start().len();
        let draft = match way {
            Some(ReadAs::Whole) => whole::goal(collected, at),
            _ => whole::task(collected, at),
        };
        let Some(draft) = draft else {
            return no_tasks(findings);
        };
        let message =
            "nothing in it is certain to be a task, so the whole document is the goal of one agent";
        let found = Pending::new(at, FindingCode::WholeDocument, &draft.title, message);
        findings.warn(found.suggest("write `- [ ] task` lines to divide it yourself"));
        // The agent of a goal reads the whole of it.
        findings.skipped.clear();
        collected.add(self.source, draft, self.source.text.len());
    }
}

/// Reports whether what looks like work stands only in code and quotes, which show it.
fn are_examples(skipped: &[PendingSkip]) -> bool {
    let places = [Opaque::Code.place(), Opaque::Quote.place()];
    skipped
        .iter()
        .all(|it| places.contains(&it.reason.as_str()))
}

fn no_tasks(findings: &mut Findings) {
    let suggestion = match findings.skipped.as_slice() {
        [] => format!("write a list of `- [ ] task` lines; looked for: {LOOKED_FOR}"),
        [first, ..] => format!(
            "{} lines look like tasks but are none, the first because: {}",
            findings.skipped.len(),
            first.reason
        ),
    };
    let found = Pending::new(0, FindingCode::NoTasks, "", "no tasks found");
    findings.error(found.suggest(suggestion));
}

/// Reports the first hidden character of every line.
fn hidden_characters(source: &Source<'_>, findings: &mut Findings) {
    // No ASCII character is hidden.
    if source.text.is_ascii() {
        return;
    }
    let start = source.text.len() - source.text.trim_start_matches('\u{feff}').len();
    for (offset, line) in source.lines(start..source.text.len()) {
        if line.is_ascii() {
            continue;
        }
        if let Some((at, c)) = hidden(line).next() {
            let message = format!("hidden character U+{:04X}", u32::from(c));
            let code = FindingCode::HiddenText;
            findings.warn(Pending::new(offset + at, code, "", message));
        }
    }
}

/// Reports HTML comments, which are invisible in the rendered plan.
fn hidden_comments(source: &Source<'_>, blocks: &[Block], findings: &mut Findings) {
    for block in blocks {
        match block {
            Block::List(items) => {
                for item in items {
                    comments_in(source, item.text.clone(), findings);
                    hidden_comments(source, &item.blocks, findings);
                }
            }
            Block::Opaque {
                kind: Opaque::Code, ..
            } => {}
            other => comments_in(source, other.range(), findings),
        }
    }
}

fn comments_in(source: &Source<'_>, range: Range<usize>, findings: &mut Findings) {
    if !source.slice(range.clone()).contains("<!--") {
        return;
    }
    let inline = Inline::new(source, range);
    for comment in text::spans(&inline.text).comments {
        let offset = inline.offset(comment.start);
        let text = inline.slice(comment);
        if identify::comment_id(text).is_none() && !is_marker(text) {
            let message = "hidden text in an HTML comment";
            findings.warn(Pending::new(offset, FindingCode::HiddenText, text, message));
        }
    }
}

/// Reports whether a comment only marks a place for a program: `<!-- AC:BEGIN -->`.
fn is_marker(comment: &str) -> bool {
    let text = comment
        .trim_start_matches("<!--")
        .trim_end_matches("-->")
        .trim();
    let signs = text.trim_matches(|c: char| c.is_ascii_uppercase() || matches!(c, ':' | '_'));
    text.contains(':') && signs.is_empty()
}

/// Returns the paths that a task writes; an invalid one is an error.
fn patterns<'d>(draft: &'d Draft, findings: &mut Findings) -> Vec<Option<Pattern<'d>>> {
    let mut patterns = Vec::with_capacity(draft.attributes.files.len());
    for Located { text, offset } in &draft.attributes.files {
        let pattern = Pattern::new(text);
        if let Err(reason) = &pattern {
            let code = FindingCode::InvalidValue;
            findings.error(Pending::new(*offset, code, text, *reason));
        }
        patterns.push(pattern.ok());
    }
    patterns
}

/// Checks the names in a task: role and model. Warns of a role or model on a command, which has no
/// agent.
fn check_names(draft: &Draft, known: &KnownNames, findings: &mut Findings) {
    let attributes = &draft.attributes;
    let (agent, model) = (&attributes.agent, &attributes.model);
    if let Some(Located { text, offset }) = agent {
        findings.errors.extend(names::role(text, *offset, known));
    }
    if let Some(Located { text, offset }) = model {
        findings.errors.extend(names::model(text, *offset, known));
    }
    if attributes.run.is_none() {
        return;
    }
    for Located { text, offset } in [agent, model].into_iter().flatten() {
        let message = "a task with `run` has no agent, so this has no effect";
        findings.warn(Pending::new(*offset, FindingCode::UnusedKey, text, message));
    }
}

fn tasks(
    source: &Source<'_>,
    drafts: Vec<Draft>,
    ids: &[TaskId],
    edges: Edges,
    are_closing: &[bool],
) -> Vec<Task> {
    let named = |places: Vec<usize>| -> Vec<TaskId> {
        let mut named = Vec::with_capacity(places.len());
        named.extend(places.into_iter().filter_map(|at| ids.get(at).cloned()));
        named
    };
    let mut tasks = Vec::with_capacity(drafts.len());
    let mut waits = edges.depends.into_iter().zip(edges.after);
    for (at, (draft, is_closing)) in drafts.into_iter().zip(are_closing).enumerate() {
        let (Some(id), Some((depends, after))) = (ids.get(at), waits.next()) else {
            break;
        };
        let line = source.line_of(draft.at);
        let review = draft.attributes.review;
        let mut task = draft.into_task(id.clone());
        task.line = line;
        task.depends = named(depends);
        task.after = named(after);
        task.review = review;
        task.may_change_nothing =
            *is_closing && task.files.is_empty() && sequence::only_checks(&task.title);
        task.tests_what_it_follows = !task.after.is_empty() && *is_closing;
        // What it says in prose about its dependencies.
        let remarks = edges.remarks.get(&at).into_iter().flatten();
        task.details
            .extend(remarks.map(|remark| format!("Depends on: {remark}")));
        tasks.push(task);
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(findings: &[Finding]) -> Vec<(usize, usize, FindingCode)> {
        findings
            .iter()
            .map(|found| (found.line, found.column, found.code))
            .collect()
    }

    #[test]
    fn ids_that_look_alike_or_are_one_branch_somewhere_are_duplicates() {
        let pairs = [
            ("[t1a]", "T1a"),
            ("[ﬁx]", "[fix]"),
            ("[é]", "[É]"),
            ("[Ａ]", "[a]"),
            ("[b]", "[B]"),
        ];
        for (one, two) in pairs {
            let source = format!("- [ ] {one}: Make it\n- [ ] {two}: Mend it\n");
            let (_, errors) = read(&source, &KnownNames::default());
            assert_eq!(
                codes(&errors).first().map(|found| (found.0, found.2)),
                Some((2, FindingCode::DuplicateId)),
                "{one} {two}: {errors:?}"
            );
        }
        let (plan, errors) = read(
            "- [ ] T1a: Make it\n- [ ] T1b: Mend it\n",
            &KnownNames::default(),
        );
        assert!(errors.is_empty() && plan.tasks.len() == 2, "{errors:?}");
    }

    #[test]
    fn a_slug_is_none_that_looks_like_a_written_id() {
        let (plan, errors) = read("- [ ] [Make]: One\n- [ ] make\n", &KnownNames::default());
        let ids: Vec<&str> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!((ids, errors), (vec!["Make", "make_2"], Vec::new()));
    }

    #[test]
    fn invisible_characters_are_warned_of_unless_text_needs_them() {
        let hangul = "- [ ] T1 ha\u{3164}n\n- [ ] T2 va\u{fe0f}r\n- [ ] T3 ⚠\u{fe0f} fine\n- [ ] T4 x\u{e0041}\u{115f}\n";
        let (plan, errors) = read(hangul, &KnownNames::default());
        assert!(errors.is_empty(), "{errors:?}");
        let hidden = FindingCode::HiddenText;
        assert_eq!(
            codes(&plan.warnings),
            [(1, 12, hidden), (2, 12, hidden), (4, 11, hidden)]
        );
        let titles: Vec<&str> = plan.tasks.iter().map(|task| task.title.as_str()).collect();
        assert_eq!(titles, ["han", "var", "⚠\u{fe0f} fine", "x"]);
    }
}
