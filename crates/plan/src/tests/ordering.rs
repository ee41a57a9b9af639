//! Tests of the order of tasks: barriers, marks, the front matter's choice, common paths and
//! optional tasks.

use crate::tests::parsing::{fails, reads, warns};

#[test]
fn phases_are_barriers() {
    reads(
        "- [ ] T0 before\n\n## Phase 1: Setup\n\n- [ ] T1 a\n- [ ] T2 b (depends: T1)\n- [-] T3 c\n- [ ]* T4 d\n\n### Part\n\n- [ ] T5 e\n\n## Phase 2\n\n- [ ] T6 f\n\n## Polish\n\n- [ ] T7 g\n",
        &[
            "T0: before",
            "T1: a | depends T0",
            "T2: b | depends T0 T1",
            "T3: c | is Cancelled | depends T0",
            "T4: d | depends T0 | after T7 | optional yes",
            "T5: e | depends T0 | after T1 T2",
            "T6: f | depends T2 T5",
            "T7: g | depends T6",
        ],
    );
}

#[test]
fn parallel_marks_run_neighbours_together() {
    reads(
        "## Phase 1\n- [ ] T1 a\n- [ ] T2 [P] b\n- [ ] T3 [P] c\n- [ ] T4 d\n\n## Phase 2\n- [ ] T5 [P] e\n",
        &[
            "T1: a",
            "T2: b | after T1 | parallel yes",
            "T3: c | after T1 | parallel yes",
            "T4: d | after T2 T3",
            "T5: e | depends T1 T2 T3 T4 | parallel yes",
        ],
    );
}

#[test]
fn order_by_front_matter() {
    reads(
        "---\nparallel: sequential\n---\n- [ ] T1 a (depends: T3)\n- [ ] T2 b\n- [ ] T3 c\n",
        &["T1: a | depends T3 | after T3", "T2: b", "T3: c | after T2"],
    );
    reads(
        "---\nparallel: phases\n---\n## A\n- [ ] T1 a\n- [ ] T2 b\n## B\n- [ ] T3 c\n",
        &["T1: a", "T2: b", "T3: c | depends T1 T2"],
    );
}

#[test]
fn writers_of_the_same_path_take_turns() {
    reads(
        "- [ ] T1 a (files: src/)\n- [ ] T2 b (files: src/x.rs)\n- [ ] T3 c (files: docs/a.md)\n- [ ] T4 d (files: src/*.rs)\n- [ ] T5 e (depends: T1) (files: src/lib.rs)\n",
        &[
            "T1: a | files src/",
            "T2: b | after T1 | files src/x.rs",
            "T3: c | files docs/a.md",
            "T4: d | after T2 | files src/*.rs",
            "T5: e | depends T1 | after T4 | files src/lib.rs",
        ],
    );
    warns(
        "- [ ] T1 a (files: src/)\n- [ ] T2 b (files: src/x.rs)\n- [ ] T3 c (depends: T2) (files: src/x.rs)\n",
        &["2:20 write_overlap src/x.rs"],
    );
}

#[test]
fn who_writes_after_tasks_that_run_together_waits_for_all_of_them() {
    reads(
        "---\nparallel: eager\n---\n## A\n- [ ] T1 [P] a (files: a)\n\n## B\n- [ ] T2 [P] b (files: a)\n- [ ] T3 c (files: a)\n",
        &[
            "T1: a | files a | parallel yes",
            "T2: b | files a | parallel yes",
            "T3: c | after T1 T2 | files a",
        ],
    );
}

#[test]
fn optional_tasks_come_last_but_for_what_closes_the_plan() {
    reads(
        "- [ ]* a\n- [ ] b\n- [ ]* c\n- [ ] d\n- [ ] Review all\n",
        &[
            "a: a | after b d | optional yes",
            "b: b",
            "c: c | after b d | optional yes",
            "d: d",
            "review_all: Review all | after a c",
        ],
    );
    // What a required task depends on is required.
    reads(
        "- [ ]* T1 a\n- [ ] T2 b (depends: T1)\n- [ ]* T3 c\n",
        &[
            "T1: a | optional yes",
            "T2: b | depends T1",
            "T3: c | after T2 | optional yes",
        ],
    );
    reads(
        "- [ ]* T1 a\n- [ ]* T2 b\n",
        &["T1: a | optional yes", "T2: b | optional yes"],
    );
    reads(
        "---\nparallel: sequential\n---\n- [ ]* a\n- [ ] b\n",
        &["a: a | after b | optional yes", "b: b"],
    );
}

#[test]
fn a_number_that_may_be_a_place_or_an_id_is_said() {
    let plan = "1. [ ] T3 Parse\n2. [ ] T1 Print\n3. [ ] T2 Ship (depends: 1)\n";
    reads(
        plan,
        &["T3: Parse", "T1: Print | after T3", "T2: Ship | depends T3"],
    );
    warns(plan, &["3:26 look_alike 1 → write the whole id"]);
    let plan = "1. [ ] [2] a\n2. [ ] [1] b\n3. [ ] [3] c (depends: 1)\n";
    reads(plan, &["2: a", "1: b | after 2", "3: c | depends 1"]);
    warns(plan, &["3:24 look_alike 1 → write the whole id"]);
    warns("1. [ ] T1 a\n2. [ ] T2 b (depends: 1)\n", &[]);
    fails(
        "## A\n1. [ ] a\n\n## B\n1. [ ] b\n\n## C\n- [ ] c (depends: 1)\n",
        &["8:19 unknown_dependency 1 → write the id of the one that is meant"],
    );
}
