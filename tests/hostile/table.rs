//! The table's rows, read from the output of test programs, and the verdict on them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use super::controls::Functions;
use super::suites::{DECISIONS, Suite};
use super::who::Who;
use crate::support::Outcome;

/// Where an attack was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Full,
    Fallback,
    /// In no tier, since something other than a sandbox holds the attack off.
    Host,
    /// In no tier, although a sandbox holds the attack off: here it has to succeed.
    Control,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    /// Was not run, for this reason.
    NotRun(String),
}

/// The verdict on the whole table.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Every attack was tried, is held off, and has a control.
    Holds,
    /// Everything that was tried holds; the reason why the rest was not.
    NotRun(String),
    /// What is wrong: see [`Table::wrong`].
    Wrong(Vec<String>),
}

/// One attack.
#[derive(Debug, Default)]
struct Row {
    cells: BTreeMap<(Who, Tier), Ended>,
    has_control: bool,
    /// Whether the attack is a question to the policy, which starts nothing that could get through.
    /// Such tests check side by side what is denied and what is allowed.
    is_decision: bool,
    /// Whether the row is a test elsewhere that the catalogue of attacks names: what it asserts is
    /// all that shows that it would notice.
    is_plain: bool,
}

/// All attacks by their names.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: BTreeMap<String, Row>,
}

const COLUMNS: [(Who, Tier, &str); 6] = [
    (Who::Root, Tier::Full, "FULL"),
    (Who::Root, Tier::Fallback, "FALLBACK"),
    (Who::Root, Tier::Host, "HOST"),
    (Who::User, Tier::Full, "FULL"),
    (Who::User, Tier::Fallback, "FALLBACK"),
    (Who::User, Tier::Host, "HOST"),
];

/// Shown where an attack was not to be tried.
const NO_CELL: &str = "-";
/// Shown for an attack without a control: nothing proves that it is one.
pub(super) const NO_CONTROL: &str = "none";
/// Shown for a question to the policy: see [`Row::is_decision`].
const DECISION: &str = "decision";
/// Shown for a test elsewhere: see [`Row::is_plain`].
pub(super) const PLAIN: &str = "plain test";

/// Splits a test's name into the attack's name and its tier.
fn split(test: &str) -> (String, Tier) {
    let tiers = [
        ("full", Tier::Full),
        ("fallback", Tier::Fallback),
        ("unconfined", Tier::Control),
    ];
    for (word, tier) in tiers {
        if let Some(name) = test.strip_prefix(&format!("{word}::")) {
            return (name.to_owned(), tier);
        }
        let ends = [format!("_{word}"), format!("::{word}")];
        if let Some(name) = ends.iter().find_map(|end| test.strip_suffix(end.as_str())) {
            return (name.to_owned(), tier);
        }
    }
    (test.to_owned(), Tier::Host)
}

/// Returns the name of the attack that a test tries.
pub(super) fn attack_of(test: &str) -> String {
    split(test).0
}

/// Returns the name of a test's row.
pub(super) fn row_of(suite: &str, test: &str) -> String {
    format!("{suite}: {}", attack_of(test))
}

/// Returns the test and the result that a line reports, if it reports one.
fn result(line: &str) -> Option<(&str, Ended)> {
    let (name, ended) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let ended = match (ended, ended.strip_prefix("ignored")) {
        ("ok", _) => Ended::Passed,
        (_, Some(reason)) => Ended::NotRun(reason_of(reason).to_owned()),
        _ => Ended::Failed,
    };
    Some((name.trim(), ended))
}

/// Returns the reason alone: libtest prints it after a comma, our harness in brackets.
fn reason_of(printed: &str) -> &str {
    let bracketed = printed
        .strip_prefix(" (")
        .and_then(|rest| rest.strip_suffix(')'));
    bracketed.unwrap_or_else(|| printed.trim_start_matches([',', ' ']))
}

impl Table {
    /// Enters the results that a program printed; an attack that is missing there counts as failed.
    pub(super) fn enter(&mut self, who: Who, suite: &Suite, printed: &str) -> Outcome {
        let results: BTreeMap<&str, Ended> = printed.lines().filter_map(result).collect();
        for test in &suite.tests {
            self.set(
                who,
                &suite.name(),
                test,
                results.get(test.as_str()).cloned().unwrap_or(Ended::Failed),
            );
        }
        assert!(
            !results.is_empty(),
            "{} ran nothing: {printed}",
            suite.program.display()
        );
        Ok(())
    }

    /// Enters the reason why a program could not be run.
    pub(super) fn leave_out(&mut self, who: Who, suite: &Suite, reason: &str) {
        for test in &suite.tests {
            self.set(who, &suite.name(), test, Ended::NotRun(reason.to_owned()));
        }
    }

    /// Reports whether a row was tried at least once.
    pub(super) fn is_tried(&self, name: &str) -> bool {
        let is_tried = |((_, tier), ended): (&(Who, Tier), &Ended)| {
            *tier != Tier::Control && matches!(ended, Ended::Passed | Ended::Failed)
        };
        self.rows
            .get(name)
            .is_some_and(|row| row.cells.iter().any(is_tried))
    }

    /// Returns how the attempts of a row ended.
    pub(super) fn cells(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let row = self.rows.get(name).into_iter();
        row.flat_map(|row| {
            COLUMNS
                .into_iter()
                .map(|(who, tier, _)| row.cell(who, tier))
        })
        .filter(|end| *end != NO_CELL)
    }

    /// Returns which control a row has.
    pub(super) fn control_of(&self, name: &str) -> &'static str {
        self.rows.get(name).map_or(NO_CONTROL, Row::control)
    }

    fn set(&mut self, who: Who, suite: &str, test: &str, ended: Ended) {
        let (_, tier) = split(test);
        let row = self.rows.entry(row_of(suite, test)).or_default();
        row.cells.insert((who, tier), ended);
        row.has_control |= tier == Tier::Control;
        row.is_decision = test.starts_with(DECISIONS);
    }

    /// Finds the controls that are part of the tests. A plain test has to be marked itself: what it
    /// calls is made for many tests, and may hold the control of another one.
    pub(super) fn find_controls(&mut self, suites: &[Suite]) -> Outcome {
        for suite in suites {
            let functions = Functions::of(Path::new(&suite.package))?;
            for test in &suite.tests {
                let name = attack_of(test);
                let function = name.rsplit("::").next().unwrap_or_default();
                let Some(row) = self.rows.get_mut(&row_of(&suite.name(), test)) else {
                    continue;
                };
                row.is_plain = suite.plain.contains(test);
                row.has_control |= if row.is_plain {
                    functions.is_marked(function)
                } else {
                    functions.hold_a_control(function)
                };
            }
        }
        Ok(())
    }

    /// Returns the verdict; with `required`, an attack that was not tried is wrong, too.
    pub(super) fn verdict(&self, required: bool) -> Verdict {
        let (mut wrong, left_out) = (self.wrong(), self.left_out());
        if required {
            wrong.extend(left_out.iter().cloned());
        }
        if !wrong.is_empty() {
            return Verdict::Wrong(wrong);
        }
        left_out
            .into_iter()
            .next()
            .map_or(Verdict::Holds, Verdict::NotRun)
    }

    /// Returns what is wrong: attacks that got through, controls that did not, and attacks without
    /// a control.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, row) in &self.rows {
            if row.is_attack() && row.control() == NO_CONTROL {
                wrong.push(format!("`{name}` has no control"));
            }
            for ((who, tier), _) in row
                .cells
                .iter()
                .filter(|(_, ended)| **ended == Ended::Failed)
            {
                wrong.push(match tier {
                    Tier::Control => format!("the control of `{name}` does not trip as {who:?}"),
                    _ => format!("`{name}` does not hold as {who:?} ({tier:?})"),
                });
            }
        }
        wrong
    }

    /// Returns the reasons why attacks were not tried, each once.
    fn left_out(&self) -> BTreeSet<String> {
        let cells = self.rows.values().flat_map(|row| row.cells.values());
        let reason = |ended: &Ended| match ended {
            Ended::NotRun(reason) => Some(reason.clone()),
            Ended::Passed | Ended::Failed => None,
        };
        cells.filter_map(reason).collect()
    }
}

impl Row {
    /// Reports whether the row contains an attack and not only a control, which is not shown alone.
    fn is_attack(&self) -> bool {
        self.cells.keys().any(|(_, tier)| *tier != Tier::Control)
    }

    fn control(&self) -> &'static str {
        let cells: Vec<&Ended> = self
            .cells
            .iter()
            .filter(|((_, tier), _)| *tier == Tier::Control)
            .map(|cell| cell.1)
            .collect();
        match (cells.as_slice(), self.has_control) {
            ([], true) => "in the test",
            ([], false) if self.is_decision => DECISION,
            ([], false) if self.is_plain => PLAIN,
            ([], false) => NO_CONTROL,
            (cells, _) if cells.contains(&&Ended::Failed) => "DOES NOT TRIP",
            (cells, _) if cells.contains(&&Ended::Passed) => "trips",
            _ => "not run",
        }
    }

    fn cell(&self, who: Who, tier: Tier) -> &'static str {
        match self.cells.get(&(who, tier)) {
            Some(Ended::Passed) => "holds",
            Some(Ended::Failed) => "BROKEN",
            Some(Ended::NotRun(_)) => "not run",
            None => NO_CELL,
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.keys().map(String::len).max().unwrap_or_default();
        writeln!(f, "{:width$}  {:28}{:28}", "", "AS ROOT", "AS A USER")?;
        write!(f, "{:width$}", "ATTACK")?;
        for (_, _, column) in COLUMNS {
            write!(f, "  {column:<8}")?;
        }
        writeln!(f, "  CONTROL")?;
        let (mut counts, mut controls) = (
            BTreeMap::<&str, usize>::new(),
            BTreeMap::<&str, usize>::new(),
        );
        for (name, row) in self.rows.iter().filter(|(_, row)| row.is_attack()) {
            write!(f, "{name:width$}")?;
            for (who, tier, _) in COLUMNS {
                let cell = row.cell(who, tier);
                *counts.entry(cell).or_default() += 1;
                write!(f, "  {cell:<8}")?;
            }
            writeln!(f, "  {}", row.control())?;
            *controls.entry(row.control()).or_default() += 1;
        }
        let count = |word: &str| {
            counts
                .get(word)
                .or(controls.get(word))
                .copied()
                .unwrap_or_default()
        };
        writeln!(
            f,
            "\nattempts: {} held, {} got through, {} not run; controls: {} trip beside, {} in the test, {} of decisions, {} missing, {} broken; {} plain tests",
            count("holds"),
            count("BROKEN"),
            count("not run"),
            count("trips"),
            count("in the test"),
            count(DECISION),
            count(NO_CONTROL),
            count("DOES NOT TRIP"),
            count(PLAIN),
        )?;
        self.left_out()
            .iter()
            .try_for_each(|reason| writeln!(f, "{reason}"))
    }
}

/// Returns the table of a sample output.
fn of(printed: &str) -> Table {
    let mut table = Table::default();
    for (test, ended) in printed.lines().filter_map(result) {
        table.set(Who::Root, "sample", test, ended);
        table
            .rows
            .entry(row_of("sample", test))
            .or_default()
            .is_plain = test.starts_with("plain::");
    }
    table
}

const NEEDS: &str = "not run: needs bubblewrap (apt install ...)";

/// Returns sample outputs, each with its verdict if attacks may be left out and its verdict if all
/// are required.
fn verdicts() -> Vec<(&'static str, Verdict, Verdict)> {
    let wrong =
        |texts: &[&str]| Verdict::Wrong(texts.iter().map(|text| (*text).to_owned()).collect());
    let not_run = || Verdict::NotRun(NEEDS.to_owned());
    let both = |printed, texts: &[&str]| (printed, wrong(texts), wrong(texts));
    let held = "test full::a ... ok\ntest fallback::a ... ok\ntest unconfined::a ... ok\n";
    vec![
        (held, Verdict::Holds, Verdict::Holds),
        (
            "test unconfined::of_nothing ... ok\n",
            Verdict::Holds,
            Verdict::Holds,
        ),
        (
            "test full::a ... ok\ntest unconfined::a ... ignored, NEEDS\n",
            not_run(),
            wrong(&[NEEDS]),
        ),
        (
            "test full::a ... ignored (NEEDS)\ntest unconfined::a ... ok\n",
            not_run(),
            wrong(&[NEEDS]),
        ),
        both(
            "test full::a ... FAILED\ntest unconfined::a ... ok\n",
            &["`sample: a` does not hold as Root (Full)"],
        ),
        both(
            "test a_fallback ... FAILED\ntest a_unconfined ... ok\n",
            &["`sample: a` does not hold as Root (Fallback)"],
        ),
        both(
            "test full::a ... ok\ntest unconfined::a ... FAILED\n",
            &["the control of `sample: a` does not trip as Root"],
        ),
        both(
            "test full::a ... ok\ntest fallback::a ... ok\n",
            &["`sample: a` has no control"],
        ),
        (
            "test policy::decision::deny ... ok\n",
            Verdict::Holds,
            Verdict::Holds,
        ),
        (
            "test plain::refused ... ok\n",
            Verdict::Holds,
            Verdict::Holds,
        ),
        (
            "test plain::refused ... ignored, NEEDS\n",
            not_run(),
            wrong(&[NEEDS]),
        ),
        both(
            "test plain::refused::full ... ok\ntest plain::refused::fallback ... FAILED\n",
            &["`sample: plain::refused` does not hold as Root (Fallback)"],
        ),
        both(
            "test attack::link ... ok\n",
            &["`sample: attack::link` has no control"],
        ),
        (
            "test full::a ... ignored, NEEDS\n",
            wrong(&["`sample: a` has no control"]),
            wrong(&["`sample: a` has no control", NEEDS]),
        ),
    ]
}

pub(super) fn each_table_has_its_verdict() -> Outcome {
    for (printed, lenient, strict) in verdicts() {
        let table = of(&printed.replace("NEEDS", NEEDS));
        let found = (table.verdict(false), table.verdict(true));
        assert_eq!(found, (lenient, strict), "{printed}\n{table}");
    }
    Ok(())
}

pub(super) fn what_does_not_hold_is_told() -> Outcome {
    let table = of(
        "test full::write      ... ok\ntest fallback::write  ... FAILED\ntest unconfined::write ... ok\n\
                    test full::read ... ignored, not run: needs bubblewrap (...)\ntest unconfined::read ... FAILED\n\
                    test attack::link ... ok\ntest plain::refused ... ok\nrunning 7 tests\n",
    );
    let shown = table.to_string();
    let rows: Vec<String> = shown
        .lines()
        .skip(2)
        .take(4)
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let expected_rows = [
        "sample: attack::link - - holds - - - none",
        "sample: plain::refused - - holds - - - plain test",
        "sample: read not run - - - - - DOES NOT TRIP",
        "sample: write holds BROKEN - - - - trips",
    ];
    assert!(
        rows == expected_rows && shown.ends_with("\nnot run: needs bubblewrap (...)\n"),
        "{shown}"
    );
    Ok(())
}
