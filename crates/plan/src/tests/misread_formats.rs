//! Tests of documents of known formats that were misread once: work that is done and ran again,
//! and parts of a plan that were lost without a word.

use crate::tests::styles::reads;

#[test]
fn the_phases_of_a_roadmap_may_be_items() {
    let roadmap = "# Roadmap\n\n- **Phase 1**: Ledger\n  Plans:\n  - [x] 01-01-PLAN.md — tables\n\
        \x20 - [x] 01-01-02-SUMMARY.md\n- **Phase 2**: Report\n  Plans:\n  - [ ] 02-01-PLAN.md — sums\n  - [ ] 02-02-PLAN.md — page\n\
        - **Phase 3**: Send it by mail.\n- **Phase 4**: Print it.\n";
    reads(
        roadmap,
        "\
01-01 [done] tables | details Part of Phase 1: Ledger / Plans:
01_01_02_summary [done] 01-01-02-SUMMARY.md | details Part of Phase 1: Ledger / Plans:
02-01 [todo] sums | details Part of Phase 2: Report / Plans:
02-02 [todo] page | details Part of Phase 2: Report / Plans:
P3 [todo] Phase 3: Send it by mail.
P4 [todo] Phase 4: Print it.
> 02-01: nothing comes before
> 02-02: after 02-01: its number
> P3: after 02-02: the phase before
> P4: after P3: its number
",
    );
    let boxed = "- [x] **Phase 1**: Ledger\n  - [ ] 01-01: tables\n- [ ] **Phase 2**: Report\n  \
        - [ ] 02-01: sums\n- [ ] **Phase 3**: Send it\n";
    reads(
        boxed,
        "\
01-01 [done] tables | details Part of Phase 1: Ledger
02-01 [todo] sums | details Part of Phase 2: Report
P3 [todo] Phase 3: Send it
> 02-01: nothing comes before
> P3: after 02-01: the phase before
line 2: it is an open step of a task that is done: write it beside that task to have it carried out
",
    );
}

#[test]
fn each_milestone_of_an_execplan_is_recorded_or_asked_about() {
    let plan = "This ExecPlan is a living document.\n\n## Progress\n\n- [x] Milestone 1: parse\n\n\
        ## Plan of Work\n\n### Milestone 1: parse\n\nRead it.\n\n### Milestone 2: render\n\nShow it.\n";
    reads(plan, "\
milestone_1 [done] Milestone 1: parse
errors 1: this plan can be read in several ways, since its progress does not mention \"Milestone 2: render\"
");
}
