//! What becomes of each line of a document that is rewritten as a plan.
//!
//! The agent that rewrites it ends its answer with a block of code marked `lines`, which says for
//! each line which task it is part of, that all agents are told it, or why it is not run. Nothing
//! is dropped silently: an answer that leaves out a line, or whose task cites none, is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;

use orchestrate_core::ids::TaskId;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use crate::finding::{Finding, FindingCode, PlanError};
use crate::parse::Plan;

/// The mark of the block of code that holds the citations.
const MARK: &str = "lines";

/// How often a line of a document may be cited on average.
const CITED_AT_MOST: usize = 4;

/// What becomes of a line of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineRole {
    /// It is a part of these tasks.
    Task {
        /// The tasks, at least one.
        tasks: Vec<TaskId>,
    },
    /// All agents are told it.
    Told,
    /// It is not run.
    NotRun {
        /// Why not.
        reason: String,
    },
}

/// Some lines of a document, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// The first line, from 1.
    pub from: usize,
    /// The last line.
    pub to: usize,
    /// What becomes of them.
    pub role: LineRole,
}

impl fmt::Display for LineRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineRole::Task { tasks } => {
                let ids: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
                f.write_str(&ids.join(", "))
            }
            LineRole::Told => f.write_str("told to all"),
            LineRole::NotRun { reason } => write!(f, "not run: {reason}"),
        }
    }
}

/// An answer, divided into the plan and what it says of the lines of the document.
pub(crate) struct Divided<'a> {
    pub(crate) plan: String,
    /// What the block of citations holds; `None` without such a block.
    pub(crate) citations: Option<&'a str>,
}

/// Divides an answer into the plan and the last block of citations.
pub(crate) fn divide(answer: &str) -> Divided<'_> {
    let mut found = None;
    for (event, range) in Parser::new_ext(answer, Options::empty()).into_offset_iter() {
        if let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) = event
            && info.trim() == MARK
        {
            found = Some(range);
        }
    }
    let Some(range) = found else {
        return Divided {
            plan: answer.to_owned(),
            citations: None,
        };
    };
    let (before, rest) = answer.split_at(range.start);
    let (block, after) = rest.split_at(range.len());
    Divided {
        plan: format!("{}{}", before.trim_end(), after.trim_end()),
        citations: Some(block),
    }
}

/// Returns what becomes of the lines of a document that an answer rewrites as this plan, in the
/// order of the document.
///
/// # Errors
/// Every citation that is wrong, every line that is left out, and every task without a line.
pub(crate) fn check(
    citations: &str,
    document: &str,
    plan: &Plan,
) -> Result<Vec<Citation>, Vec<PlanError>> {
    let mut read = Read {
        roles: BTreeMap::new(),
        lines: document.lines().count(),
        left: CITED_AT_MOST * document.lines().count(),
        ids: plan.tasks.iter().map(|task| task.id.clone()).collect(),
        errors: Vec::new(),
    };
    for line in citations.lines() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with("```") && !line.starts_with("~~~") {
            read.line(line);
        }
    }
    read.require_all(document);
    read.require_sources(document);
    read.require_work(document);
    if read.errors.is_empty() {
        Ok(joined(read.roles))
    } else {
        Err(read.errors)
    }
}

/// The citations as far as they are read.
struct Read {
    /// The role of each line that is cited.
    roles: BTreeMap<usize, LineRole>,
    /// The number of lines of the document.
    lines: usize,
    /// How many more lines may be cited.
    left: usize,
    /// The tasks of the plan.
    ids: BTreeSet<TaskId>,
    errors: Vec<PlanError>,
}

impl Read {
    fn error(&mut self, message: String) {
        self.errors.push(Finding {
            line: 0,
            column: 0,
            code: FindingCode::Citation,
            message,
            text: String::new(),
            suggestion: None,
        });
    }

    /// Reads one line of citations, such as `3-5, 8: T1, T2` or `9: not run: an example`.
    fn line(&mut self, line: &str) {
        let Some((places, role)) = line.split_once(':') else {
            return self.error(format!(
                "`{line}` is no citation; write `3-5: T1`, `1-2: told` or `9: not run: why`"
            ));
        };
        let role = match self.role(role.trim()) {
            Ok(role) => role,
            Err(message) => return self.error(message),
        };
        for place in places.split(',') {
            match self.place(place.trim()) {
                Ok(lines) => self.assign(lines, &role),
                Err(message) => self.error(message),
            }
        }
    }

    fn role(&self, text: &str) -> Result<LineRole, String> {
        if text == "told" || text == "told to all" {
            return Ok(LineRole::Told);
        }
        if let Some(reason) = text.strip_prefix("not run") {
            let reason = reason.trim_start_matches([':', ',', ';', ' ']).trim_end();
            return match reason.is_empty() {
                true => Err("`not run` needs a reason: `9: not run: an example`".to_owned()),
                false => Ok(LineRole::NotRun {
                    reason: reason.to_owned(),
                }),
            };
        }
        let mut tasks = Vec::new();
        for name in text.split(',') {
            let id = self.ids.get(name.trim());
            let id = id.ok_or_else(|| format!("`{}` is no task of the plan", name.trim()))?;
            tasks.push(id.clone());
        }
        Ok(LineRole::Task { tasks })
    }

    /// Reads the number of a line, or the numbers of the first and the last one.
    fn place(&self, text: &str) -> Result<RangeInclusive<usize>, String> {
        let (first, last) = text.split_once(['-', '–']).unwrap_or((text, text));
        let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse::<usize>()) else {
            return Err(format!("`{text}` is no number of a line"));
        };
        if first == 0 || first > last || last > self.lines {
            return Err(format!(
                "the document has no lines {text}: it has lines 1 to {}",
                self.lines
            ));
        }
        Ok(first..=last)
    }

    fn assign(&mut self, lines: RangeInclusive<usize>, role: &LineRole) {
        for line in lines {
            let Some(left) = self.left.checked_sub(1) else {
                let message = "the citations name the same lines again and again";
                if self.errors.iter().all(|error| error.message != message) {
                    self.error(message.to_owned());
                }
                return;
            };
            self.left = left;
            let Some(other) = self.roles.insert(line, role.clone()) else {
                continue;
            };
            match (&other, role) {
                (LineRole::Task { tasks: first }, LineRole::Task { tasks: second }) => {
                    let mut tasks = first.clone();
                    tasks.extend(second.iter().filter(|id| !first.contains(id)).cloned());
                    self.roles.insert(line, LineRole::Task { tasks });
                }
                _ if other == *role => {}
                _ => self.error(format!("line {line} is cited twice: {other}, and {role}")),
            }
        }
    }

    /// Requires that each line with text is cited.
    fn require_all(&mut self, document: &str) {
        let left_out: Vec<usize> = (1..)
            .zip(document.lines())
            .filter(|(at, line)| !line.trim().is_empty() && !self.roles.contains_key(at))
            .map(|(at, _)| at)
            .collect();
        if !left_out.is_empty() {
            self.error(format!(
                "the citations leave out {} of the document",
                numbered(&left_out)
            ));
        }
    }

    /// Requires that each task cites a line with text.
    fn require_sources(&mut self, document: &str) {
        let mut without = self.ids.clone();
        for (at, line) in (1..).zip(document.lines()) {
            if let Some(LineRole::Task { tasks }) = self.roles.get(&at)
                && !line.trim().is_empty()
            {
                for id in tasks {
                    without.remove(id);
                }
            }
        }
        for id in without {
            self.error(format!("no line of the document is cited for {id}"));
        }
    }

    /// Requires that what the program itself reads as an open task is run, or is not with a
    /// reason.
    fn require_work(&mut self, document: &str) {
        let (read, _) = crate::parse::read(document, &crate::KnownNames::default());
        let open = read
            .tasks
            .iter()
            .filter(|task| task.status.runs() && !task.goal);
        let lost: Vec<usize> = open
            .map(|task| task.line)
            .filter(|line| self.roles.get(line) == Some(&LineRole::Told))
            .collect();
        if !lost.is_empty() {
            self.error(format!(
                "{} of the document: a task is cited by a task of the plan, or is not run with a \
                 reason",
                numbered(&lost)
            ));
        }
    }
}

/// Names lines by their numbers: `line 3`, `lines 3-5, 8`.
fn numbered(lines: &[usize]) -> String {
    let mut ranges: Vec<RangeInclusive<usize>> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some(last) if *last.end() + 1 == *line => *last = *last.start()..=*line,
            _ => ranges.push(*line..=*line),
        }
    }
    let mut names = Vec::new();
    for range in ranges {
        names.push(match range.start() == range.end() {
            true => range.start().to_string(),
            false => format!("{}-{}", range.start(), range.end()),
        });
    }
    let word = if lines.len() == 1 { "line" } else { "lines" };
    format!("{word} {}", names.join(", "))
}

/// Joins neighbouring lines that have the same role.
fn joined(roles: BTreeMap<usize, LineRole>) -> Vec<Citation> {
    let mut citations: Vec<Citation> = Vec::new();
    for (line, role) in roles {
        match citations.last_mut() {
            Some(last) if last.role == role && last.to + 1 == line => last.to = line,
            _ => citations.push(Citation {
                from: line,
                to: line,
                role,
            }),
        }
    }
    citations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KnownNames;

    const DOCUMENT: &str = "# Shop\n\nWe sell books.\n\n- [ ] Add the cart\n  - with a total\n\
                            - [ ] Add the till\n\n## Example\n\n- a receipt\n";
    const PLAN: &str = "# Shop\n\n- [ ] T1 Add the cart with a total\n- [ ] T2 Add the till\n";

    fn checked(citations: &str) -> Result<Vec<String>, Vec<String>> {
        let plan = Plan::parse(PLAN, &KnownNames::default()).unwrap();
        match check(citations, DOCUMENT, &plan) {
            Ok(found) => Ok(found
                .iter()
                .map(|found| format!("{}-{} {}", found.from, found.to, found.role))
                .collect()),
            Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
        }
    }

    #[test]
    fn each_line_of_the_document_is_accounted_for() {
        let whole = "1-3: told\n5-6: T1\n7: T2\n9-11: not run: an example\n";
        assert_eq!(
            checked(whole).unwrap(),
            [
                "1-3 told to all",
                "5-6 T1",
                "7-7 T2",
                "9-11 not run: an example"
            ]
        );
        assert_eq!(
            checked("1-4, 8-11: told\n5: T1\n6: T1, T2\n7: T2").unwrap(),
            [
                "1-4 told to all",
                "5-5 T1",
                "6-6 T1, T2",
                "7-7 T2",
                "8-11 told to all"
            ]
        );
    }

    #[test]
    fn what_is_lost_invented_or_wrong_is_refused() {
        for (citations, expected) in [
            ("1-3: told\n5-6: T1\n7: T2", "leave out lines 9, 11"),
            ("1-11: T1", "no line of the document is cited for T2"),
            (
                "1-4, 8-11: told\n5-6: T1\n7: T2\n4: T2",
                "line 4 is cited twice",
            ),
            (
                "1-6, 8-12: T1\n7: T2",
                "no lines 8-12: it has lines 1 to 11",
            ),
            ("1-6, 8-11: T1\n7: T3", "`T3` is no task of the plan"),
            ("1-6, 8-11: T1\n7: not run", "needs a reason"),
            ("1-6, 8-11: T1\nseven: T2", "`seven` is no number"),
            ("all of it", "is no citation"),
            (&"1-11: T1\n".repeat(5), "again and again"),
            ("0-11: told", "no lines 0-11"),
            (
                "1-6, 8-11: T1, T2\n7: told",
                "line 7 of the document: a task is cited",
            ),
        ] {
            let errors = checked(citations).unwrap_err();
            assert!(
                errors.iter().any(|error| error.contains(expected)),
                "{citations}: {errors:?}"
            );
        }
    }

    #[test]
    fn the_block_of_citations_is_no_part_of_the_plan() {
        let answer = format!("{PLAN}\n```lines\n1: told\n```\n");
        let divided = divide(&answer);
        assert_eq!(divided.plan, PLAN.trim_end());
        assert_eq!(divided.citations, Some("```lines\n1: told\n```"));
        assert!(divide(PLAN).citations.is_none());
    }
}
