//! Tests of the order of tasks: barriers, marks, the front matter's choice, common paths and
//! optional tasks.

use crate::tests::parsing::{fails, reads, warns};
use crate::tests::styles;
use crate::{KnownNames, Plan};
use orchestrate_core::ids::TaskId;

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
        &["T1: a | depends T3", "T2: b", "T3: c | after T2"],
    );
    reads(
        "---\nparallel: phases\n---\n## A\n- [ ] T1 a\n- [ ] T2 b\n## B\n- [ ] T3 c\n",
        &["T1: a", "T2: b", "T3: c | depends T1 T2"],
    );
    for order in ["eager", "depends"] {
        reads(
            &format!(
                "---\nparallel: {order}\n---\n## Phase 1\n1. [ ] a\n2. [ ] b (files: x)\n## Phase 2\n\
                 - [ ] Test c (depends: a)\n- [ ] d (files: x)\n- [ ]* e\n"
            ),
            &[
                "a: a",
                "b: b | files x",
                "test_c: Test c | depends a",
                "d: d | after b | files x",
                "e: e | after b test_c d | optional yes",
            ],
        );
    }
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
fn optional_tasks_come_last() {
    reads(
        "- [ ]* a\n- [ ] b\n- [ ]* c\n- [ ] d\n- [ ] Review all\n",
        &[
            "a: a | after review_all | optional yes",
            "b: b",
            "c: c | after review_all | optional yes",
            "d: d",
            "review_all: Review all | after b d",
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
        "- [ ]* T1 a\n- [!] T2 b (depends: T1)\n- [ ] T3 c (depends: T2)\n",
        &[
            "T1: a | optional yes",
            "T2: b | is Blocked | depends T1",
            "T3: c | depends T2",
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
fn a_number_that_may_be_a_place_or_an_id_is_refused() {
    fails(
        "1. [ ] T3 Parse\n2. [ ] T1 Print\n3. [ ] T2 Ship (depends: 1)\n",
        &["3:26 unknown_dependency 1 → did you mean `T1`?"],
    );
    let plan = "1. [ ] [2] a\n2. [ ] [1] b\n3. [ ] [3] c (depends: 1)\n";
    reads(plan, &["2: a", "1: b | after 2", "3: c | depends 1"]);
    warns("1. [ ] T1 a\n2. [ ] T2 b (depends: 1)\n", &[]);
    fails(
        "## A\n1. [ ] a\n\n## B\n1. [ ] b\n\n## C\n- [ ] c (depends: 1)\n",
        &["8:19 unknown_dependency 1 → write the id of the one that is meant"],
    );
}

#[test]
fn a_flat_checklist_sets_up_first_and_tests_and_releases_last() {
    for heading in ["", "# Site\n\n", "# Site\n\nText.\n\n## 2. Tasks\n\n"] {
        reads(
            &format!(
                "{heading}- [ ] Set up the project\n- [ ] Write the API\n- [ ] Test the API\n\
                 - [ ] QA\n- [ ] Final polish\n- [ ] Deploy to production\n- [ ] Release 1.0\n\
                 - [ ] Documentation\n- [ ] Code review\n- [ ] Verification & Manual Testing\n"
            ),
            &[
                "set_up_the: Set up the project",
                "write_the_api: Write the API | after set_up_the",
                "test_the_api: Test the API | after write_the_api documentation",
                "qa: QA | after test_the_api",
                "final_polish: Final polish | after qa",
                "deploy_to: Deploy to production | after final_polish",
                "release_1_0: Release 1.0 | after deploy_to",
                "documentation: Documentation | after set_up_the",
                "code_review: Code review | after release_1_0",
                "verification: Verification & Manual Testing | after code_review",
            ],
        );
    }
    styles::reads(
        "- [ ] Write the API\n- [ ] Set up CI\n- [ ] Initialise the workspace\n",
        "\
write_the_api [todo] Write the API
set_up_ci [todo] Set up CI
initialise_the [todo] Initialise the workspace
> write_the_api / set_up_ci / initialise_the: nothing comes before; together: nothing orders them
",
    );
}

#[test]
fn a_flat_checklist_with_dependencies_follows_them() {
    reads(
        "- [ ] Test the tokenizer\n- [ ] Scaffold the crate\n- [ ] Test the parser\n- [ ] Parse\n\
         - [ ] Document (depends: Test the parser)\n- [ ] Release (depends: Parse)\n- [ ] Final review\n",
        &[
            "test_the: Test the tokenizer",
            "scaffold_the: Scaffold the crate",
            "test_the_parser: Test the parser | after test_the scaffold_the",
            "parse: Parse",
            "document: Document | depends test_the_parser",
            "release: Release | depends parse",
            "final_review: Final review | after test_the_parser parse document release",
        ],
    );
    // What a test before all work depends on cannot come after that work.
    reads(
        "- [ ] T1 Test a (depends: T3)\n- [ ] T2 b\n- [ ] T3 Test c\n- [ ] T4 d\n",
        &[
            "T1: Test a | depends T3",
            "T2: b",
            "T3: Test c | after T2",
            "T4: d",
        ],
    );
    // What writes the same path follows in this order, too.
    reads(
        "- [ ] Test it (files: a)\n- [ ] Parse (files: a)\n- [ ] Test all (files: a)\n- [ ] Print (files: a)\n",
        &[
            "test_it: Test it | files a",
            "parse: Parse | after test_it | files a",
            "test_all: Test all | after test_it parse print | files a",
            "print: Print | after parse | files a",
        ],
    );
}

#[test]
fn tasks_of_a_section_follow_one_another() {
    reads(
        "# P\n\n## Backend\n\n- [ ] Set up the server\n- [ ] Users API\n- [ ] Posts API\n",
        &[
            "set_up_the: Set up the server",
            "users_api: Users API | after set_up_the",
            "posts_api: Posts API | after users_api",
        ],
    );
    reads(
        "# P\n\n## Backend\n\n- [ ] Users API\n- [ ] Posts API\n\n## Frontend\n\n- [ ] Users page\n- [ ] Posts page\n",
        &[
            "users_api: Users API",
            "posts_api: Posts API | after users_api",
            "users_page: Users page | after posts_api",
            "posts_page: Posts page | after users_page",
        ],
    );
    reads(
        "# Tasks\n\n1.  **Dependencies**\n    -   [ ] Add the crate.\n    -   [ ] Remove the old runner.\n\n\
         2.  **Verification**\n    -   [ ] Start the server.\n    -   [ ] Call the endpoint with curl.\n",
        &[
            "add_the_crate: Add the crate. | details Part of 1: Dependencies",
            "remove_the_old: Remove the old runner. | after add_the_crate | details Part of 1: Dependencies",
            "start_the_server: Start the server. | depends add_the_crate remove_the_old | details Part of 2: Verification",
            "call_the: Call the endpoint with curl. | depends add_the_crate remove_the_old | after start_the_server | details Part of 2: Verification",
        ],
    );
}

#[test]
fn sections_go_side_by_side_if_they_are_marked_or_their_files_differ() {
    reads(
        "## A\n- [ ] a [P]\n- [ ] b [P]\n## B\n- [ ] c [P]\n## C\n- [ ] d [P]\n- [ ] e\n",
        &[
            "a: a | parallel yes",
            "b: b | parallel yes",
            "c: c | parallel yes",
            "d: d | after a b c | parallel yes",
            "e: e | after d",
        ],
    );
    reads(
        "## A\n- [ ] a (files: x)\n- [ ] b (files: x/1)\n## B\n- [ ] c (files: y)\n## C\n- [ ] d (files: x/2)\n",
        &[
            "a: a | files x",
            "b: b | after a | files x/1",
            "c: c | files y",
            "d: d | after b c | files x/2",
        ],
    );
}

#[test]
fn optional_phases_come_last_in_their_order() {
    reads(
        "## Phase 1: core\n- [ ] Build\n## Phase 2: push (optional)\n- [ ] Push\n\
         ## Phase 3: logo (optional)\n- [ ] Draw\n## Phase 4: ship\n- [ ] Ship\n",
        &[
            "build: Build",
            "push: Push | depends build | after ship | optional yes",
            "draw: Draw | depends build | after push | optional yes",
            "ship: Ship | depends build",
        ],
    );
}

#[test]
fn phases_go_by_their_numbers_wherever_they_are_written() {
    reads(
        "## Phase 1\n- [x] a\n## Phase 3\n- [ ] c\n## Phase 2\n- [x] b\n- [ ] bb\n\
         ## Phase 10\n- [ ] e\n## Phase 2.1\n- [ ] f\n",
        &[
            "a: a | is Done",
            "c: c | depends f",
            "b: b | is Done",
            "bb: bb",
            "e: e | depends c",
            "f: f | depends bb",
        ],
    );
    // A dependency says more, and so does a number that several phases have.
    reads(
        "## Phase 3\n- [ ] c\n## Phase 2\n- [ ] b (depends: c)\n",
        &["c: c", "b: b | depends c"],
    );
    reads(
        "## Phase 2\n- [ ] a\n## Phase 1\n- [ ] b\n## Phase 2\n- [ ] c\n",
        &["a: a", "b: b | depends a", "c: c | depends b"],
    );
}

#[test]
fn a_phase_without_plans_goes_by_its_number_too() {
    let phase = |number: &str, more: &str| format!("### Phase {number}: x\n**Goal**: y\n{more}\n");
    let boxes = ["1", "2", "2.1", "3"].map(|number| format!("- [ ] **Phase {number}: x** - y\n"));
    let plan = format!(
        "# Roadmap\n\n{}\n{}{}{}{}",
        boxes.concat(),
        phase("1", "\n- [x] 01-01: a\n- [ ] 01-02: b\n"),
        phase("3", "**Depends on**: Phase 2\n"),
        phase("2.1", ""),
        phase("2", "**Depends on**: Phase 1\n"),
    );
    let tasks = Plan::parse(&plan, &KnownNames::default()).unwrap().tasks;
    let waits = tasks.iter().map(|task| {
        let on: Vec<&str> = task.depends.iter().map(TaskId::as_str).collect();
        format!("{}: {}", task.id, on.join(" "))
    });
    assert_eq!(
        waits.collect::<Vec<_>>(),
        [
            "01-01: ",
            "01-02: ",
            "P3: P2.1 P2",
            "P2.1: P2",
            "P2: 01-01 01-02"
        ]
    );
}

#[test]
fn each_cause_of_a_wave_is_said() {
    styles::reads(
        "## Phase 1\n- [ ] T1 a\n## Phase 2\n- [ ] T2 b (files: x)\n- [ ] T3 c (files: y)\n\
         - [ ] T4 d (depends: T2) (files: y)\n- [ ]* T5 e (depends: T4)\n",
        "\
T1 [todo] a
T2 [todo] b | files x
T3 [todo] c | files y
T4 [todo] d | files y
T5 [todo] e
> T1: nothing comes before
> T2 / T3: after T1: the phase before; together: different files
> T4: T4 after T2: dependency; T4 after T3: the same path
> T5: after T4: dependency
warnings 6: `T3` and `T4` write the same path: the second waits for the first
",
    );
}

#[test]
fn a_list_whose_markers_are_all_one_counts_on() {
    reads(
        "# Tasks\n\n1. [ ] A\n1. [ ] B\n1. [ ] C (depends: 1)\n",
        &["a: A", "b: B | after a", "c: C | depends a"],
    );
}
