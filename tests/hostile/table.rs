//! The rows of the table, made from what test programs print.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use libtest_mimic::Failed;

use super::controls::Functions;
use super::suites::Suite;
use super::who::Who;
use crate::support::{Outcome, fail};

/// Where an attack was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Full,
    Fallback,
    /// In none, since no sandbox is what holds it off.
    Host,
    /// In none, though a sandbox does: it has to get through there.
    Control,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    NotRun,
}

/// One attack.
#[derive(Debug, Default)]
struct Row {
    cells: BTreeMap<(Who, Tier), Ended>,
    has_control: bool,
}

/// All attacks by their names.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: BTreeMap<String, Row>,
    left_out: BTreeSet<String>,
}

const COLUMNS: [(Who, Tier, &str); 6] = [
    (Who::Root, Tier::Full, "FULL"),
    (Who::Root, Tier::Fallback, "FALLBACK"),
    (Who::Root, Tier::Host, "HOST"),
    (Who::User, Tier::Full, "FULL"),
    (Who::User, Tier::Fallback, "FALLBACK"),
    (Who::User, Tier::Host, "HOST"),
];

/// Gives an attack's name without its tier, and the tier.
fn split(test: &str) -> (String, Tier) {
    let tiers = [("full", Tier::Full), ("fallback", Tier::Fallback), ("unconfined", Tier::Control)];
    for (word, tier) in tiers {
        if let Some(name) = test.strip_prefix(&format!("{word}::")) {
            return (name.to_owned(), tier);
        }
        if let Some(name) = test.strip_suffix(&format!("_{word}")) {
            return (name.to_owned(), tier);
        }
    }
    (test.to_owned(), Tier::Host)
}

/// Gives the result that a line tells, if it tells one.
fn result(line: &str) -> Option<(&str, Ended)> {
    let (name, ended) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let ended = match ended {
        "ok" => Ended::Passed,
        ignored if ignored.starts_with("ignored") => Ended::NotRun,
        _ => Ended::Failed,
    };
    Some((name.trim(), ended))
}

impl Table {
    /// Enters what a program printed about its attacks; of one that it did not speak of, that it failed.
    pub(super) fn enter(&mut self, who: Who, suite: &Suite, printed: &str) -> Outcome {
        let results: BTreeMap<&str, Ended> = printed.lines().filter_map(result).collect();
        for test in &suite.tests {
            self.set(who, &suite.name(), test, results.get(test.as_str()).cloned().unwrap_or(Ended::Failed));
        }
        if results.is_empty() { fail(format!("{} ran nothing: {printed}", suite.program.display())) } else { Ok(()) }
    }

    /// Enters that nobody could run a program.
    pub(super) fn leave_out(&mut self, who: Who, suite: &Suite, reason: &str) {
        self.left_out.insert(format!("as {who:?}: {reason}"));
        for test in &suite.tests {
            self.set(who, &suite.name(), test, Ended::NotRun);
        }
    }

    fn set(&mut self, who: Who, suite: &str, test: &str, ended: Ended) {
        let (name, tier) = split(test);
        let row = self.rows.entry(format!("{suite}: {name}")).or_default();
        row.cells.insert((who, tier), ended);
        row.has_control |= tier == Tier::Control;
    }

    /// Looks for the controls that are part of the tests.
    pub(super) fn find_controls(&mut self, suites: &[Suite]) -> Outcome {
        for suite in suites {
            let functions = Functions::of(Path::new(&suite.package))?;
            for test in &suite.tests {
                let (name, _) = split(test);
                let function = name.rsplit("::").next().unwrap_or_default();
                if let Some(row) = self.rows.get_mut(&format!("{}: {name}", suite.name())) {
                    row.has_control |= functions.hold_a_control(function);
                }
            }
        }
        Ok(())
    }

    /// Gives what does not hold: attacks that got through, and controls that did not.
    pub(super) fn wrong(&self) -> Vec<String> {
        let cells = self.rows.iter().flat_map(|(name, row)| row.cells.iter().map(move |cell| (name, cell)));
        let failed = cells.filter(|(_, (_, ended))| **ended == Ended::Failed);
        let told = failed.map(|(name, ((who, tier), _))| match tier {
            Tier::Control => format!("the control of `{name}` does not trip as {who:?}"),
            _ => format!("`{name}` does not hold as {who:?} ({tier:?})"),
        });
        told.collect()
    }
}

impl Row {
    fn control(&self) -> &'static str {
        let cells: Vec<&Ended> =
            self.cells.iter().filter(|((_, tier), _)| *tier == Tier::Control).map(|cell| cell.1).collect();
        match (cells.as_slice(), self.has_control) {
            ([], true) => "in the test",
            ([], false) => "none",
            (cells, _) if cells.contains(&&Ended::Failed) => "DOES NOT TRIP",
            (cells, _) if cells.contains(&&Ended::Passed) => "trips",
            _ => "not run",
        }
    }

    fn cell(&self, who: Who, tier: Tier) -> &'static str {
        match self.cells.get(&(who, tier)) {
            Some(Ended::Passed) => "holds",
            Some(Ended::Failed) => "BROKEN",
            Some(Ended::NotRun) => "not run",
            None => "-",
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
        let (mut counts, mut controls) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
        // Of controls without an attack there is nothing to show.
        let attacks = self.rows.iter().filter(|(_, row)| row.cells.keys().any(|(_, tier)| *tier != Tier::Control));
        for (name, row) in attacks {
            write!(f, "{name:width$}")?;
            for (who, tier, _) in COLUMNS {
                let cell = row.cell(who, tier);
                *counts.entry(cell).or_default() += 1;
                write!(f, "  {cell:<8}")?;
            }
            writeln!(f, "  {}", row.control())?;
            *controls.entry(row.control()).or_default() += 1;
        }
        let count = |word: &str| counts.get(word).or(controls.get(word)).copied().unwrap_or_default();
        writeln!(
            f,
            "\nattacks: {} held, {} got through, {} not run; controls: {} trip beside, {} in the test, {} missing, {} broken",
            count("holds"),
            count("BROKEN"),
            count("not run"),
            count("trips"),
            count("in the test"),
            count("none"),
            count("DOES NOT TRIP"),
        )?;
        self.left_out.iter().try_for_each(|reason| writeln!(f, "{reason}"))
    }
}

/// Enters what a program would have printed.
fn of(printed: &str) -> Result<Table, Failed> {
    let mut table = Table::default();
    for (test, ended) in printed.lines().filter_map(result) {
        table.set(Who::Root, "sample", test, ended);
    }
    Ok(table)
}

pub(super) fn what_does_not_hold_is_told() -> Outcome {
    let table = of("test full::write      ... ok\ntest fallback::write  ... FAILED\ntest unconfined::write ... ok\n\
                    test full::read ... ignored, not run: needs bubblewrap (...)\ntest unconfined::read ... FAILED\n\
                    test attack::link ... ok\nrunning 6 tests\n")?;
    let expected =
        ["the control of `sample: read` does not trip as Root", "`sample: write` does not hold as Root (Fallback)"];
    let shown = table.to_string();
    let rows: Vec<String> =
        shown.lines().skip(2).take(3).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected_rows = [
        "sample: attack::link - - holds - - - none",
        "sample: read not run - - - - - DOES NOT TRIP",
        "sample: write holds BROKEN - - - - trips",
    ];
    if table.wrong() == expected && rows == expected_rows {
        Ok(())
    } else {
        fail(format!("{:?}\n{shown}", table.wrong()))
    }
}
