//! Small plans that were misread once, one fault each, and how a person reads them. The texts stand
//! in files of their own; each line of what is expected is one task, wave, line that is not run or
//! finding.

use crate::tests::styles::reads;

#[test]
fn numbered_headings_may_be_tasks_or_chapters() {
    reads(
        include_str!("cases/numbered_sections.md"),
        "\
1 [todo] Outbox | details Keep what is to be sent.
2 [todo] Sender | details Send it, one letter after the other.
errors 1: this plan can be read in several ways, since headings in a series may be tasks or chapters
",
    );
}

#[test]
fn a_document_without_numbers_is_one_goal() {
    reads(
        include_str!("cases/unnumbered_sections.md"),
        "\
archive [todo] Archive | details The goal is everything that the whole of this plan describes.
> archive: nothing comes before
warnings 1: nothing in it is certain to be a task, so the whole document is the goal of one agent
",
    );
}

#[test]
fn boxes_that_all_stand_below_a_checklist_are_asked_about() {
    reads(
        include_str!("cases/only_a_checklist.md"),
        "\
phase_1_a_crate [todo] Phase 1: a crate of its own
phase_2_1_move [todo] Phase 2.1: move the lexer
phase_2_2_move [todo] Phase 2.2: move the errors
errors 1: this plan can be read in several ways, since all boxes stand below headings of checks
",
    );
}

#[test]
fn a_phase_of_a_checklist_alone_is_asked_about() {
    reads(
        include_str!("cases/checklist_of_a_phase.md"),
        "\
start_an_engine [done] Start an engine
measure_it_with [todo] Measure it with a thousand engines
write_the_manual [todo] Write the manual
line 16: under \"Long-term enhancements\"
errors 1: this plan can be read in several ways, since all boxes of a phase stand below headings of checks
",
    );
}

#[test]
fn a_hyphen_in_a_box_of_kiro_is_a_task_in_progress() {
    reads(
        include_str!("cases/kiro_in_progress.md"),
        "\
1 [in_progress] Test the import
1.1 [todo] Random letters | details Part of 1: Test the import
2.1 [done] Columns | details Part of 2: Draw the inbox
2.2 [todo] Colours | details Part of 2: Draw the inbox
3.1 [todo] Tag it | details Part of 3: Release
> 1: nothing comes before
> 2.2: after 1: its number
> 3.1: after 2.2: its number
> 1.1: after 3.1: optional tasks come last
",
    );
}

#[test]
fn keys_of_attributes_may_be_words_of_prose() {
    reads(
        include_str!("cases/prose_keys.md"),
        "\
create_the [todo] Create the member (model: Member)
show_a_greeting [todo] Show a greeting (after: sign-in)
web_client [todo] Web client | details timeout: 20s / model: large-v2 / tokens: 2048
threads [todo] Threads | details Model: Thread belongs to Member / Verify: the page lists the threads / Run: npm test and read what it says
release [todo] Release | verify npm test
write_to_them [todo] Write to them (agent: the moderator)
wheel_turns_left [todo] Wheel (turns: left and right)
forks_branch [todo] Forks (branch: main)
> create_the / web_client / threads / write_to_them / wheel_turns_left / forks_branch: nothing comes before; together: nothing orders them
> show_a_greeting: after create_the: the plan's order
> release: after show_a_greeting: tests, reviews and releases follow the work
warnings 3: this stays in the title: `model` is provider/model elsewhere
warnings 4: not all of this names tasks, so it stays in the title
warnings 12: this is read as text, not as a command
warnings 13: this is read as text, not as a command
warnings 17: this stays in the title: `agent` is a role elsewhere
warnings 18: this stays in the title: `turns` is a number of turns, at least 1 elsewhere
",
    );
}

#[test]
fn a_number_means_the_task_of_its_own_section() {
    reads(
        include_str!("cases/restarting_numbers.md"),
        "\
task_1_cut_the [todo] Task 1: cut the wood
task_2_plane_it [todo] Task 2: plane it
task_1_cut_the_2 [todo] Task 1: cut the glass
task_2_fit_it [todo] Task 2: fit it
> task_1_cut_the: nothing comes before
> task_2_plane_it: after task_1_cut_the: its number
> task_1_cut_the_2: after task_2_plane_it: the phase before
> task_2_fit_it: after task_1_cut_the_2: dependency
",
    );
}

#[test]
fn an_id_means_the_task_of_its_own_section() {
    reads(
        include_str!("cases/restarting_ids.md"),
        "\
P1-T1 [todo] cut it
P1-T2 [todo] plane it
P2-T1 [todo] cut it, too
P2-T2 [todo] fit it
> P1-T1: nothing comes before
> P1-T2: after P1-T1: the plan's order
> P2-T1: after P1-T2: the plan's order
> P2-T2: after P2-T1: dependency
warnings 10: the numbers restart, so each id begins with its part of the plan
",
    );
}

#[test]
fn a_table_needs_no_status_where_its_tasks_wait_for_one_another() {
    reads(
        include_str!("cases/table_of_dependencies.md"),
        "\
1.1 [todo] Dig the ground | details Owner: digger
1.2 [todo] Pour the floor | details Owner: mason
2.1 [todo] Raise the walls | details Owner: mason
> 1.1: nothing comes before
> 1.2: after 1.1: dependency
> 2.1: after 1.2: dependency
",
    );
}

#[test]
fn an_unknown_status_in_a_table_is_said() {
    reads(
        include_str!("cases/table_of_statuses.md"),
        "\
1 [done] Choose a place
2 [in_progress] Draw the house
3 [todo] Dig the ground
4 [blocked] Sell it
5 [cancelled] Add a tower
6 [blocked] Plant a tree | details Status: 完成
7 [done] Buy a spade
> 2: nothing comes before
> 3: after 2: dependency
line 10: its status is not known
warnings 10: unknown status `完成`: this task is not run
",
    );
}

#[test]
fn fields_of_a_heading_may_be_prose() {
    reads(
        include_str!("cases/prose_fields.md"),
        "\
T1 [todo] Draw the map | files src/map.rs / tests/map.rs | details Files: `src/map.rs` (new function `draw`, used by `Window`), tests in `tests/map.rs` / **Verify:** open the window and look whether there is a map / Draw it. / Timeout: 20 s for each tile / Priority: visible tiles first
T2 [todo] Draw the legend | details **Verification:** start the program / **Model:** Legend has many signs / **Agent:** designer of maps / Draw it, too.
> T1: nothing comes before
> T2: after T1: dependency
warnings 5: this is prose, of which only words that look like paths count as files
warnings 6: this is read as text, not as a command
",
    );
}

#[test]
fn a_flat_checklist_begins_with_the_set_up_and_ends_with_the_tests() {
    reads(
        include_str!("cases/flat.md"),
        "\
set_up_the [todo] Set up the repository | details [ ] folder of the server / [ ] folder of the pages
tables_of_the [todo] Tables of the database | details [ ] rooms
server [todo] Server | details [ ] sign-in
pages [todo] Pages | details [ ] first page
verification [todo] Verification & Manual Testing | details [ ] the build passes
> set_up_the: nothing comes before
> tables_of_the / server / pages: after set_up_the: the set-up comes first; together: nothing orders them
> verification: after tables_of_the, server, pages: tests, reviews and releases follow the work
",
    );
}

#[test]
fn titles_of_a_flat_checklist_say_what_comes_last() {
    reads(
        include_str!("cases/flat_words.md"),
        "\
set_up_the [todo] Set up the repository
write_the_server [todo] Write the server
test_the_server [todo] Test the server
testing [todo] Testing
verification [todo] Verification
verify_the [todo] Verify the release notes
qa [todo] QA
review_the_pages [todo] Review the pages
final_polish [todo] Final polish
deploy_it [todo] Deploy it
release_2_0 [todo] Release 2.0
documentation [todo] Documentation
> set_up_the: nothing comes before
> write_the_server / documentation: after set_up_the: the set-up comes first; together: nothing orders them
> test_the_server: after write_the_server, documentation: tests, reviews and releases follow the work
> testing: after test_the_server: tests, reviews and releases follow the work
> verification: after testing: tests, reviews and releases follow the work
> verify_the: after verification: tests, reviews and releases follow the work
> qa: after verify_the: tests, reviews and releases follow the work
> review_the_pages: after qa: tests, reviews and releases follow the work
> final_polish: after review_the_pages: tests, reviews and releases follow the work
> deploy_it: after final_polish: tests, reviews and releases follow the work
> release_2_0: after deploy_it: tests, reviews and releases follow the work
",
    );
}

#[test]
fn a_count_at_the_beginning_of_a_title_is_no_id() {
    reads(
        include_str!("cases/leading_numbers.md"),
        "\
4_tests_of_the [done] 4 tests of the lexer
1_test_of_a [todo] 1 test of a whole file
2_pages_of [todo] 2 pages of settings
404_page [todo] 404 page
2026_report [todo] 2026 report
1st_chapter_of [todo] 1st chapter of the manual
> 1_test_of_a: nothing comes before
> 2_pages_of: after 1_test_of_a: the plan's order
> 404_page: after 2_pages_of: the plan's order
> 2026_report: after 404_page: the plan's order
> 1st_chapter_of: after 2026_report: the plan's order
",
    );
}

#[test]
fn only_paths_are_files() {
    reads(
        include_str!("cases/files_with_remarks.md"),
        "\
T1 [todo] Route | files route.py / tests/test_route.py | details Modify: `route.py` (import, add `_match`, change `send_to`) / Modify: `tests/test_route.py` (class `TestRoute`) / Match the longest prefix.
T2 [todo] Build | files go.mod / Makefile | details Files: `go.mod`, `Makefile` (only `go vet`), `embed` directive / Build it.
> T1: nothing comes before
> T2: after T1: its number
warnings 13: this is prose, of which only words that look like paths count as files
",
    );
}

#[test]
fn boxes_that_are_hidden_are_said() {
    reads(
        include_str!("cases/hidden_boxes.md"),
        "\
visible [todo] visible
> visible: nothing comes before
line 5: its indentation makes it code: write `- [ ]` with less of it
line 6: its indentation makes it code: write `- [ ]` with less of it
line 8: in a quote
line 12: in an HTML block: write an empty line above the list
",
    );
}

#[test]
fn optional_work_comes_last_however_it_is_written() {
    reads(
        include_str!("cases/optional.md"),
        "\
build_it [todo] Build it
paint_it [todo] Paint it
sound_it [todo] Sound it
light_it [todo] Light it
flag [todo] Flag
flag_of_the [todo] Flag of the owner
hand_them_over [todo] Hand them over
> build_it: nothing comes before
> hand_them_over: after build_it: the phase before
> paint_it: after hand_them_over: optional tasks come last
> sound_it: after paint_it: the plan's order
> light_it: after sound_it: the plan's order
> flag: after light_it: the plan's order
> flag_of_the: after flag: the plan's order
",
    );
}

#[test]
fn phases_with_their_details_are_tasks() {
    reads(
        include_str!("cases/roadmap.md"),
        "\
P1 [todo] Phase 1: Form | details **Goal**: Nobody types a number / **Success Criteria**: / The user sees two buttons
P2 [todo] Phase 2: Release | details **Goal**: A tag makes an archive / **Success Criteria**: / A tag starts the build
> P1: nothing comes before
> P2: after P1: the phase before
",
    );
}

#[test]
fn an_open_step_of_a_done_task_is_said() {
    reads(
        include_str!("cases/open_step_of_done.md"),
        "\
1.1 [done] Copy them | details Part of 1: Move the letters
1.2 [blocked] Manual test with a real mailbox | details Part of 1: Move the letters
2 [todo] Announce it
> 2: nothing comes before
line 5: it is work of a person
warnings 6: this does not wait for the task before it, which is work of a person
",
    );
}

#[test]
fn headings_say_what_is_done() {
    reads(
        include_str!("cases/statuses_in_headings.md"),
        "\
T1 [done] Lexer | details It works.
T2 [in_progress] Parser | details Half of it works.
T3 [done] Printer | details It prints.
T4 [done] Manual | details It is read.
T5 [cancelled] Plugins | details Nobody wants them.
T6 [blocked] Themes | details Next year.
T7 [done] Release | details It is out.
T8 [todo] Advertise | details Write to the newspapers.
> T2: nothing comes before
> T8: after T2: its number
",
    );
}

#[test]
fn numbered_chapters_are_one_goal() {
    reads(
        include_str!("cases/numbered_document.md"),
        "\
migration_of_the [todo] Migration of the letters | details The goal is everything that the whole of this plan describes.
> migration_of_the: nothing comes before
warnings 1: nothing in it is certain to be a task, so the whole document is the goal of one agent
",
    );
}

#[test]
fn headings_of_tasks_beside_boxes_are_asked_about() {
    reads(
        include_str!("cases/tasks_beside_boxes.md"),
        "\
T1 [todo] Mend the speed | details It is always zero; read it from the wheel.
T2 [todo] Add a curve | details Draw the speed of one hour.
line 17: a box; the plan's tasks are its headings
line 18: a box; the plan's tasks are its headings
errors 1: this plan can be read in several ways, since headings and boxes outside of them look like tasks
",
    );
}

#[test]
fn a_reference_to_nothing_is_said() {
    reads(
        include_str!("cases/references.md"),
        "\
T1 [todo] Dig | files src/dig.rs | details Dig the ground.
T2 [todo] Pour | details Pour the floor.
T3 [todo] Raise | details Raise the walls. / Depends on: the drawing in section 4
T4 [todo] Cover | details Cover it.
warnings 17: `the drawing in section 4` names no task, so it is read as a remark
errors 11: there is no task `§1`
errors 23: there is no task `Task 9`
",
    );
}

#[test]
fn a_task_that_is_told_again_is_one_task() {
    reads(
        include_str!("cases/retold_tasks.md"),
        "\
T1 [todo] Routes | details Add them.
T2 [todo] Update handlers | details Call the routes.
T3 [todo] Tests | details Write them.
> T1: nothing comes before
> T2: after T1: dependency
> T3: after T2: dependency
",
    );
}

#[test]
fn fences_of_an_example_nest() {
    reads(
        include_str!("cases/nested_fences.md"),
        "\
T1 [todo] Write the introduction | files README.md | details **Step 1: Write this** / ```markdown / # Gadget /  / ## Install /  / ```bash / cargo install gadget / ``` /  / ## Use /  / It says: /  / ``` / good day / ``` /  / ## Licence /  / MIT / ``` / **Step 2: Read it aloud** / Mend what sounds wrong.
T2 [todo] Check the links | files LINKS.md | details **Step 1: Follow each**
> T1: nothing comes before
> T2: after T1: its number
",
    );
}

#[test]
fn issues_of_beads_wait_for_what_blocks_them() {
    reads(
        include_str!("cases/beads.jsonl"),
        "\
m-2 [todo] Outbox | details Part of m-1: Mail
m-3 [in_progress] Sender | details Part of m-1: Mail
m-4 [blocked] Rest
m-5 [blocked] Themes
m-7 [blocked] Sign the contract
> m-2: nothing comes before
> m-3: after m-2: dependency
line 7: it is work of a person
",
    );
}

#[test]
fn tasks_of_task_master_have_its_statuses() {
    reads(
        include_str!("cases/task_master.json"),
        "\
1 [done] Dig
2.1 [done] floor | details Part of 2: Build / of stone / Test strategy: measure it
2.2 [todo] walls | details Part of 2: Build / of stone / Test strategy: measure it / two feet
3 [blocked] Garden
4 [cancelled] Tower
5 [blocked] Bridge
6 [blocked] Roof
7 [todo] Move in
> 2.2: nothing comes before
> 7: after 2.2: dependency
",
    );
}
