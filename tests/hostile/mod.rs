//! The table of attacks: which attacks are held off, in which tier, as root and as an ordinary
//! user, each with its control.
//!
//! A control is a variant of the attack that has to succeed; it proves that the test would notice.
//! The rows are the tests that ran: every test of a test program whose module is named for attacks
//! ([`suites`]), and every other test that the catalogue of attacks names ([`ids`]), which has no
//! control but what it asserts itself. The short form runs one attack of this program;
//! `ORCHESTRATE_HOSTILE=all` runs all programs, prints the table and the catalogue, and fails if a
//! row of the catalogue fails, is missing, or was run by no user.

mod attacks;
mod controls;
mod egress;
mod exfiltration;
mod ids;
mod named;
mod suites;
mod surroundings;
mod table;
mod who;

use std::io::Write as _;

use libtest_mimic::{Completion, Failed};

use crate::support::{Case, Place, case, fail, judging};
use suites::Suite;
use table::{Table, Verdict};
use who::Who;

/// The environment variable that, set to `all`, makes the test run every attack and print the
/// table.
const LONG_FORM: &str = "ORCHESTRATE_HOSTILE";
/// The attack of the short form: quick, in both tiers, and with a control.
const SHORT_FORM: &str = "attacks::a_hard_link_leads_nowhere";
/// What both harnesses print before the messages of the tests that failed.
const FAILURES: &str = "\nfailures:\n";

pub(crate) fn cases() -> Vec<Case> {
    let own = [
        case(
            "table_of_attacks::each_table_has_its_verdict",
            table::each_table_has_its_verdict,
        ),
        case(
            "table_of_attacks::the_table_is_no_row_of_itself",
            suites::the_table_is_no_row_of_itself,
        ),
        case(
            "table_of_attacks::attacks_and_named_tests_are_chosen",
            suites::attacks_and_named_tests_are_chosen,
        ),
        case(
            "table_of_attacks::tests_are_found_by_file_and_function",
            named::tests_are_found_by_file_and_function,
        ),
        case(
            "table_of_attacks::what_does_not_hold_is_told",
            table::what_does_not_hold_is_told,
        ),
        case(
            "table_of_attacks::a_control_is_found_in_what_a_test_calls",
            controls::examples_are_found,
        ),
        case(
            "table_of_attacks::each_id_names_tests_that_exist",
            ids::each_id_names_its_tests,
        ),
        case(
            "table_of_attacks::what_ids_lack_is_told",
            ids::what_ids_lack_is_told,
        ),
    ];
    // The test's name differs for root, who runs every attack as an ordinary user, too.
    let by_root = judging(
        "table_of_attacks::every_attack_is_held_off_as_root_and_as_a_user",
        every_attack_is_held_off,
    );
    let by_user = judging(
        "table_of_attacks::every_attack_is_held_off_as_a_user",
        every_attack_is_held_off,
    );
    let whole = if Who::here().contains(&Who::Root) {
        by_root
    } else {
        by_user
    };
    let whole = whole.depends_on(&[Place::Root]);
    let attacks = attacks::cases()
        .into_iter()
        .map(|case| case.depends_on(&[Place::WithoutBubblewrap]));
    own.into_iter()
        .chain([whole])
        .chain(attacks)
        .chain(egress::cases())
        .chain(exfiltration::cases())
        .chain(surroundings::cases())
        .collect()
}

fn every_attack_is_held_off(required: bool) -> Result<Completion, Failed> {
    let all = std::env::var_os(LONG_FORM).is_some_and(|value| value == "all");
    let suites = if all {
        suites::all(ids::names)?
    } else {
        vec![Suite::own(SHORT_FORM)?]
    };
    let table = filled(&suites)?;
    let mut lacking = Vec::new();
    if all {
        writeln!(
            std::io::stdout(),
            "{table}\n{}",
            ids::rendered(&table, &suites)
        )?;
        lacking = ids::lacking(&table, &suites);
    }
    match table.verdict(required) {
        Verdict::Wrong(wrong) => fail(format!("{table}\n{}", [wrong, lacking].concat().join("\n"))),
        _ if !lacking.is_empty() => fail(lacking.join("\n")),
        Verdict::Holds => Ok(Completion::Completed),
        Verdict::NotRun(reason) => Ok(Completion::ignored_with(reason)),
    }
}

/// Runs the programs' tests as every user that is possible here, and fills the table. Prints what a
/// program with a failure printed.
fn filled(suites: &[Suite]) -> Result<Table, Failed> {
    let mut table = Table::default();
    for &who in Who::here() {
        for suite in suites {
            match who.can_start(&suite.program)? {
                Ok(user) => {
                    let printed = suite.run(&user)?;
                    if printed.contains(FAILURES) {
                        writeln!(
                            std::io::stdout(),
                            "{} as {who:?}:\n{printed}",
                            suite.program.display()
                        )?;
                    }
                    table.enter(who, suite, &printed)?;
                }
                Err(reason) => table.leave_out(who, suite, &reason),
            }
        }
    }
    table.find_controls(suites)?;
    Ok(table)
}
