//! Tests of attributes as people write them, and of prose where attributes may stand.

use orchestrate_core::task::Work;

use crate::parse::read;
use crate::tests::styles::reads;
use crate::{KnownNames, Plan};

fn plan(source: &str) -> Plan {
    let (plan, errors) = read(
        source,
        &KnownNames::roles(["implementer", "reviewer", "tester"]),
    );
    assert!(errors.is_empty(), "{source}\n{errors:#?}");
    plan
}

#[test]
fn prose_where_attributes_may_stand_refuses_nothing() {
    reads(
        "- [ ] T1 Show the form (model: User) (turns: many)\n- [ ] T2 Log in (blocked by: SSO) (timeout: none)\n- [ ] T3 Look \
         (files: all of src/a.rs)\n  - Files: look at src/b.rs and its friends\n",
        "\
T1 [todo] Show the form (model: User) (turns: many)
T2 [todo] Log in (timeout: none) | details Depends on: SSO
T3 [todo] Look (files: all of src/a.rs) | files src/a.rs / src/b.rs | details Files: look at src/b.rs and its friends
> T1 / T3: nothing comes before; together: nothing orders them
> T2: after T1: the plan's order
warnings 1: this stays in the title: `model` is provider/model elsewhere
warnings 1: this stays in the title: `turns` is a number of turns, at least 1 elsewhere
warnings 2: `SSO` names no task, so it is read as a remark
warnings 2: this stays in the title: `timeout` is a duration, such as 30s, 5m or 1h elsewhere
warnings 3: this is prose, of which only words that look like paths count as files
warnings 4: this is prose, of which only words that look like paths count as files
",
    );
    for source in [
        "- [ ] T1 a (depends: T9)\n",
        "- [ ] set up\n- [ ] b (depends: set_op)\n",
        "- [ ] set up\n- [ ] b (depends: set)\n",
        "- [ ] a (run: )\n",
        "- [ ] a @testr\n",
    ] {
        let (_, errors) = read(source, &KnownNames::roles(["tester"]));
        assert_eq!(errors.len(), 1, "{source}: {errors:?}");
    }
}

#[test]
fn a_timeout_is_at_most_a_year() {
    reads(
        "- [ ] T1 a (timeout: 365d)\n- [ ] T2 b (timeout: 99999999h)\n",
        "\
T1 [todo] a
T2 [todo] b
errors 2: a timeout is at most a year (8760h)
",
    );
}

#[test]
fn a_line_without_a_bullet_is_an_attribute_as_a_bullet_is() {
    reads(
        "- [ ] T1 Parse it\n- [ ] T2 Print it\n  depends: T1\n  files: src/a.rs,\n  src/b.rs\n  and look\n  \
         **Verify**: cargo test\n- [ ] T3 Ship it\n\n  Some words.\n  Depends on: T2\n  Run: the release\n",
        "\
T1 [todo] Parse it
T2 [todo] Print it | files src/a.rs / src/b.rs | details and look | verify cargo test
T3 [todo] Ship it | details Some words. / Run: the release
> T1: nothing comes before
> T2: after T1: dependency
> T3: after T2: dependency
",
    );
    reads(
        "- [ ] T1 Parse it (see\n  depends: T9)\n  Agent: Claude\n  Files:\n  - src/a.rs\n",
        "\
T1 [todo] Parse it (see | files src/a.rs | details depends: T9) / Agent: Claude
> T1: nothing comes before
warnings 1: `depends: T9` is read as text, not as a dependency
",
    );
    reads(
        "- [ ] T1 a\n  Files: src/a.py\n         src/b.py, `Makefile`\n  for now\n- [ ] T2 b\n- [ ] T3 c\n\n  \
         files: c.py\n  depends: T1\n  T2\n  2 of them\n",
        "\
T1 [todo] a | files src/a.py / src/b.py / Makefile | details for now
T2 [todo] b
T3 [todo] c | files c.py | details 2 of them
> T1 / T2: nothing comes before; together: nothing orders them
> T3: after T1, T2: dependency
",
    );
    reads(
        "### Task 1: A\n\n**Files**: src/a.py\nsrc/b.py\nMore.\n\n### Task 2: B\n\n**Depends**:\nT1\n",
        "\
T1 [todo] A | files src/a.py / src/b.py | details More.
T2 [todo] B
> T1: nothing comes before
> T2: after T1: dependency
",
    );
    reads(
        "- [ ] T1 a\n  depnds: T1\n",
        "T1 [todo] a | details depnds: T1\nerrors 2: unknown key `depnds`\n",
    );
}

#[test]
fn a_command_is_judged_with_the_further_lines_of_its_bullet() {
    reads(
        "- [ ] T1 a\n  - verify: true\n    files: f_T1\n- [ ] T2 b\n  - verify: cd x &&\n    make\n    \
         depends: T1\n  - files: src/a.rs,\n    src/b.rs\n- [ ] T3 c\n  - Verify: `ls`\n    shows nothing\n",
        "\
T1 [todo] a | files f_T1 | verify true
T2 [todo] b | files src/a.rs / src/b.rs | verify cd x && / make
T3 [todo] c | details Verify: `ls` / shows nothing
> T1 / T3: nothing comes before; together: nothing orders them
> T2: after T1: dependency
warnings 11: this is read as text, not as a command
",
    );
    reads(
        "- [ ] T1 a\n  - verify: true\n    and look\n",
        "\
T1 [todo] a | details verify: true / and look
> T1: nothing comes before
warnings 2: this is read as text, not as a command
",
    );
}

#[test]
fn a_comma_separates_fields_as_a_semicolon_does() {
    reads(
        "- [ ] T1 a\n- [ ] T2 b (files: src/a.rs, depends: T1)\n- [ ] T3 c (depends: T2, verify: echo 'x, files: y', z)\n",
        "\
T1 [todo] a
T2 [todo] b | files src/a.rs
T3 [todo] c | verify echo 'x, files: y', z
> T1: nothing comes before
> T2: after T1: dependency
> T3: after T2: dependency
",
    );
}

#[test]
fn an_unknown_key_hides_no_known_one() {
    reads(
        "- [ ] T1 a (files: a.py, b.py:12, Makefile:3)\n- [ ] T2 b (Effort: S, Depends: T1)\n\
         - [ ] T3 c (depends: T2, note: hi; files: c.py)\n- [ ] T4 d (structure: x, y) (see: http://x.y, role: admin)\n\
         - [ ] T5 e (files: d.py (new), e.py)\n- [ ] T6 f (verify: echo a, note: b)\n",
        "\
T1 [todo] a | files a.py / b.py / Makefile
T2 [todo] b
T3 [todo] c | files c.py
T4 [todo] d (structure: x, y) (see: http://x.y, role: admin)
T5 [todo] e | files d.py / e.py
T6 [todo] f | verify echo a, note: b
> T1 / T4 / T5 / T6: nothing comes before; together: nothing orders them
> T2: after T1: dependency
> T3: after T2: dependency
warnings 2: unknown key `Effort`
warnings 3: unknown key `note`
warnings 4: unknown key `structure`
warnings 4: unknown key `see`
",
    );
    let plan = plan("- [ ] T1 a (turns: 3, note: hi)\n- [ ] T2 b (model: x/y-4, temperature: 0)\n");
    let found: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| (task.title.as_str(), task.turns, task.model.as_deref()))
        .collect();
    assert_eq!(found, [("a", Some(3), None), ("b", None, Some("x/y-4"))]);
    let (_, errors) = read(
        "- [ ] T1 a\n- [ ] T2 b (turns: 3, depnds: T1)\n",
        &KnownNames::default(),
    );
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn other_brackets_are_said_and_marks_around_attributes_go_with_them() {
    reads(
        "- [ ] T1 a\n- [ ] T2 b\n- [ ] T3 c {depends: T1}\n- [ ] T4 d (depends: \"T1\", 'T2')\n\
         - [ ] T5 e _(depends: T1)_ *(files: x.rs)*\n",
        "\
T1 [todo] a
T2 [todo] b
T3 [todo] c {depends: T1}
T4 [todo] d
T5 [todo] e | files x.rs
> T1 / T2 / T3: nothing comes before; together: nothing orders them
> T4 / T5: T5 after T1: dependency; T4 after T1, T2: dependency; together: nothing orders them
",
    );
}

#[test]
fn keys_that_are_words_of_prose_stay_in_the_title() {
    reads(
        "- [ ] T1 Log in\n- [ ] T2 Greet (after: login)\n- [ ] T3 Ship (after: T2) (needs: more thought)\n\
         - [ ] T4 Notify (agent: the customer)\n- [ ] T5 Fork (branch: main) (requires: T9)\n\
         - [ ] T6 Leave (after: log in)\n",
        "\
T1 [todo] Log in
T2 [todo] Greet (after: login)
T3 [todo] Ship (needs: more thought)
T4 [todo] Notify (agent: the customer)
T5 [todo] Fork (branch: main)
T6 [todo] Leave (after: log in)
warnings 2: not all of this names tasks, so it stays in the title
warnings 3: not all of this names tasks, so it stays in the title
warnings 4: this stays in the title: `agent` is a role elsewhere
errors 5: there is no task `T9`
",
    );
}

#[test]
fn a_heading_has_limits_and_roles_but_no_prose_as_attributes() {
    reads(
        "# Plan\n\n### Task 1: Page\n\n**Files:** `src/page.rs` (new function `draw`, used by `App`), tests in `tests/page.rs`\n\
         **Verify:** open the page and look\n**Timeout:** 30s\n\n- Timeout: 30 s for each request\n\n\
         ### Task 2: Menu\n\n**Depends on:** Task 1\n**Verification:** run the app\n**Agent:** backend developer\n",
        "\
T1 [todo] Page | files src/page.rs / tests/page.rs | details Files: `src/page.rs` (new function `draw`, used by `App`), tests in `tests/page.rs` / **Verify:** open the page and look / Timeout: 30 s for each request
T2 [todo] Menu | details **Verification:** run the app / **Agent:** backend developer
> T1: nothing comes before
> T2: after T1: dependency
warnings 5: this is prose, of which only words that look like paths count as files
warnings 6: this is read as text, not as a command
",
    );
}

#[test]
fn marks_in_brackets_are_no_ids_and_leading_numbers_give_no_order() {
    reads(
        "- [ ] [HUMAN] Ask\n- [ ] [wip] Build\n- [ ] [BLOCKED] Sell\n- [ ] [NEW] Tell\n\
         - [ ] (Optional) Logo\n- [ ] Icon [optional]\n- [x] [blocked] Plan\n",
        "\
ask [blocked] Ask
build [in_progress] Build
sell [blocked] Sell
new_tell [todo] [NEW] Tell
logo [todo] Logo
icon [todo] Icon
plan [done] Plan
> build / new_tell: nothing comes before; together: nothing orders them
> logo / icon: after build, new_tell: optional tasks come last; together: nothing orders them
line 1: it is work of a person
",
    );
    reads(
        "- [x] 3 unit tests\n- [ ] 1 test\n- [ ] 2 screens\n- [ ] 404 page\n- [ ] 1st draft\n",
        "\
3_unit_tests [done] 3 unit tests
1_test [todo] 1 test
2_screens [todo] 2 screens
404_page [todo] 404 page
1st_draft [todo] 1st draft
> 1_test / 2_screens / 404_page / 1st_draft: nothing comes before; together: nothing orders them
",
    );
}

#[test]
fn the_name_of_a_thing_is_the_id_of_one_task() {
    reads(
        "- [ ] F1: Log in\n- [ ] S3: Create it\n- [ ] S3: Fill it (depends: F1)\n- [ ] S3 upload\n",
        "\
F1 [todo] Log in
S3 [todo] Create it
S3 [todo] Fill it
s3_upload [todo] S3 upload
errors 3: another task has the id `S3`
",
    );
}

/// Returns what the tasks of a plan that name others depend on.
fn dependencies(source: &str) -> Vec<String> {
    let tasks = plan(source).tasks.into_iter();
    let waiting = tasks.filter(|task| !task.depends.is_empty());
    waiting
        .map(|task| {
            let depends: Vec<&str> = task.depends.iter().map(|id| id.as_str()).collect();
            format!("{}: {}", task.id, depends.join(" "))
        })
        .collect()
}

#[test]
fn a_number_means_the_task_of_its_own_section() {
    assert_eq!(
        dependencies(
            "## Server\n\n- [ ] T1 a\n- [ ] T2 b\n- [ ] T3 c (depends: T1-T2)\n\n## Client\n\n- [ ] T1 d\n\
             - [ ] T2 e (depends: T1)\n- [ ] T3 f (depends: T1-T2)\n",
        ),
        ["P1-T3: P1-T1 P1-T2", "P2-T2: P2-T1", "P2-T3: P2-T1 P2-T2"]
    );
    assert_eq!(
        dependencies(
            "## One\n\n- [ ] Task 1: a\n- [ ] Task 2: b\n\n## Two\n\n- [ ] Task 1: c\n\
             - [ ] Task 2: d (depends: Task 1)\n- [ ] Task 3: e (depends: Tasks 1-2)\n",
        ),
        ["task_2_d: task_1_c", "task_3_e: task_1_c task_2_d"]
    );
    // Lists of one section have numbers of their own, too.
    assert_eq!(
        dependencies(
            "1. [ ] a\n2. [ ] b\n3. [ ] c (depends: 2)\n\nThe client:\n\n1. [ ] d\n2. [ ] e\n\
             3. [ ] f (depends: 1-2)\n",
        ),
        ["c: b", "f: d e"]
    );
}

#[test]
fn a_number_that_only_another_list_has_is_said() {
    let said = |source: &str| -> Vec<String> {
        let plan = plan(source);
        let warnings = plan.warnings.iter();
        warnings
            .map(|warning| format!("{} {}", warning.line, warning.message))
            .collect()
    };
    let plan = "## Server\n\n1. [ ] a\n2. [ ] b\n3. [ ] c\n\n## Client\n\n1. [ ] d\n\
                2. [ ] e (depends: 3)\n";
    assert_eq!(dependencies(plan), ["e: c"]);
    let ids = plan
        .replace("1. [ ]", "- [ ] 1.")
        .replace("2. [ ]", "- [ ] 2.");
    assert_eq!(dependencies(&ids), ["P2-2: c"]);
    // Numbers that go on, and those of a list that has none of its own, mean one task.
    let plan = "## A\n\n1. [ ] a\n2. [ ] b\n\n## B\n\n3. [ ] c (depends: 2)\n\n## C\n\n- [ ] d (depends: 3)\n";
    assert_eq!(dependencies(plan), ["c: b", "d: c"]);
    assert_eq!(said(plan), [""; 0]);
}

#[test]
fn a_fence_below_its_key_is_a_command() {
    reads(
        "### Task 1: A\n\nText.\n**Verify:**\n\n```bash\ncargo test\ncargo clippy\n```\n\n### Task 2: B\n\n\
         - Verify:\n\n  ~~~\n  npm test\n  ~~~\n\n### Task 3: C\n\n**Verify:**\n\n- Open the page\n\n\
         Verify:\n\n```\nlook\n```\n\n**Verify:** as here:\n\n```\nlook\n```\n",
        "\
T1 [todo] A | details Text. | verify set -e / cargo test / cargo clippy
T2 [todo] B | verify npm test
T3 [todo] C | details **Verify:** / Open the page / Verify: / ``` / look / ``` / **Verify:** as here: / ``` / look / ```
> T1: nothing comes before
> T2: after T1: its number
> T3: after T2: its number
warnings 31: this is read as text, not as a command
",
    );
}

#[test]
fn a_bare_id_is_one_beside_others_of_its_letters() {
    reads(
        "- [ ] F5 Refresh the page\n- [ ] F6 Draw it (depends: F5)\n- [ ] S3 upload\n- [x] F7: Log in\n",
        "\
F5 [todo] Refresh the page
F6 [todo] Draw it
s3_upload [todo] S3 upload
F7 [done] Log in
> F5 / s3_upload: nothing comes before; together: nothing orders them
> F6: after F5: dependency
",
    );
    let table = [
        ("## A\n\n- [ ] FE-1 a\n- [ ] FE-2 b\n", ["FE-1", "FE-2"]),
        ("- [ ] F1.1 a\n- [ ] F1.2 b\n", ["F1.1", "F1.2"]),
        (
            "- [ ] S3 upload\n- [ ] S3 download\n",
            ["s3_upload", "s3_download"],
        ),
        (
            "- [ ] S3 upload\n- [ ] H2 headings\n",
            ["s3_upload", "h2_headings"],
        ),
        (
            "- [ ] S3: upload\n- [ ] S3 download\n",
            ["S3", "s3_download"],
        ),
        (
            "## A\n\n- [ ] F1 a\n\n## B\n\n- [ ] F2 b\n",
            ["f1_a", "f2_b"],
        ),
        (
            "- [ ] OAuth2 login\n- [ ] OAuth3 login\n",
            ["oauth2_login", "oauth3_login"],
        ),
        ("- [ ] P1 fix a\n- [ ] P2 fix b\n", ["p1_fix_a", "p2_fix_b"]),
        (
            "- [ ] ISO8601 a\n- [ ] ISO80000 b\n",
            ["iso8601_a", "iso80000_b"],
        ),
    ];
    for (source, expected) in table {
        assert_eq!(ids(source), expected, "{source}");
    }
}

#[test]
fn a_bare_id_is_one_if_a_task_depends_on_it() {
    reads(
        "## A\n\n- [ ] F5 Refresh the page\n- [ ] S3 upload\n\n## B\n\n- [ ] Draw it\n  - depends: F5\n",
        "\
F5 [todo] Refresh the page
s3_upload [todo] S3 upload
draw_it [todo] Draw it
> F5: nothing comes before
> s3_upload / draw_it: draw_it after F5: dependency; s3_upload after F5: the plan's order; \
         together: nothing orders them
",
    );
    let table = [
        (
            "- [ ] EC2 a\n- [ ] b (depends on EC2)\n",
            ["EC2", "b_depends_on_ec2"],
        ),
        ("- [ ] MP3 a\n- [ ] b (needs: MP3)\n", ["MP3", "b"]),
        (
            "- [ ] [MP3] a\n- [ ] MP3 b (after: MP3)\n",
            ["MP3", "mp3_b"],
        ),
        (
            "### F5 a\n\n**Files**: a.rs\n\n### Go\n\n**Depends**: F5\n",
            ["F5", "go"],
        ),
    ];
    for (source, expected) in table {
        assert_eq!(ids(source), expected, "{source}");
    }
}

fn ids(source: &str) -> Vec<String> {
    let tasks = plan(source).tasks;
    tasks.iter().map(|task| task.id.to_string()).collect()
}

#[test]
fn code_in_parentheses_has_no_keys() {
    for code in [
        "withCredentials: true, all of it",
        "state: user, isLoading; getters: isGuest",
        "path: '/library', meta: { requiresAuth: true }",
    ] {
        let (plan, errors) = read(
            &format!("- [ ] T1 Guard the routes ({code})\n"),
            &KnownNames::default(),
        );
        assert!(errors.is_empty() && plan.warnings.is_empty(), "{code}");
    }
}

#[test]
fn a_role_in_a_remark_stays_in_the_title() {
    for (line, title, has_role) in [
        ("J (see @reviewer)", "J (see @reviewer)", false),
        ("J (ask: @reviewer)", "J (ask: @reviewer)", false),
        ("J (@reviewer)", "J", true),
        ("J (@reviewer.)", "J", true),
        ("J (soon) @reviewer", "J (soon)", true),
        ("J @reviewer (files: a.rs)", "J", true),
    ] {
        let plan = plan(&format!("- [ ] {line}\n"));
        let task = &plan.tasks[0];
        let role = Work::Agent(has_role.then(|| "reviewer".to_owned()));
        assert_eq!((task.title.as_str(), &task.work), (title, &role), "{line}");
    }
}
