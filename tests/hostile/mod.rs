//! The table of attacks: what holds, case by case, in which tier, as root and as an ordinary user, with its control.
//!
//! Its rows are what ran: every test of a test program whose module is named for attacks ([`suites`]). The short form
//! is one attack of this very program; `ORCHESTRATE_HOSTILE=all` runs all programs and prints the table.

mod controls;
mod suites;
mod table;
mod who;

use std::io::Write as _;

use libtest_mimic::Failed;

use crate::support::{Case, Need, Outcome, case, fail};
use suites::Suite;
use table::Table;
use who::Who;

/// Set to `all`, every attack is tried, and the table is printed.
const LONG_FORM: &str = "ORCHESTRATE_HOSTILE";
/// What the short form tries: quick, in both tiers, and with a control.
const SHORT_FORM: &str = "attacks::a_hard_link_leads_nowhere";

// Not `hostile::`, which is what attacks are called: the table is no row of itself.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("table_of_attacks::every_attack_is_held_off", every_attack_is_held_off).needs(Need::SANDBOX),
        case("table_of_attacks::what_does_not_hold_is_told", table::what_does_not_hold_is_told),
        case("table_of_attacks::a_control_is_found_in_what_a_test_calls", controls::examples_are_found),
    ]
}

fn every_attack_is_held_off() -> Outcome {
    let all = std::env::var_os(LONG_FORM).is_some_and(|value| value == "all");
    let suites = if all { suites::all()? } else { vec![Suite::own(SHORT_FORM)?] };
    let table = filled(&suites)?;
    if all {
        writeln!(std::io::stdout(), "{table}")?;
    }
    let wrong = table.wrong();
    if wrong.is_empty() { Ok(()) } else { fail(format!("{table}\n{}", wrong.join("\n"))) }
}

/// Runs the attacks of the programs as everybody who can be here.
fn filled(suites: &[Suite]) -> Result<Table, Failed> {
    let mut table = Table::default();
    for who in Who::ALL {
        for suite in suites {
            match who.can_start(&suite.program)? {
                Ok(user) => table.enter(who, suite, &suite.run(&user)?)?,
                Err(reason) => table.leave_out(who, suite, &reason),
            }
        }
    }
    table.find_controls(suites)?;
    Ok(table)
}
