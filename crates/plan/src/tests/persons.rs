//! Tests of the work of persons, which no agent is given, whatever the format of the plan.

use crate::KnownNames;
use crate::invariants::require_account;
use crate::parse::read;
use crate::tests::styles::reads;

/// What a plan holds back, by the ids of its tasks, and for which reason a line says so.
#[track_caller]
fn holds(source: &str, expected: &[&str]) {
    require_account(source).unwrap();
    let (plan, errors) = read(source, &KnownNames::default());
    assert_eq!(errors, [], "{source}");
    let held = plan.tasks.iter().filter(|task| !task.status.runs());
    let held: Vec<&str> = held.map(|task| task.id.as_str()).collect();
    assert_eq!(held, expected, "{source}");
    for id in held {
        let mut lines = plan.lines.iter();
        let is_said = lines.any(|line| {
            let is_own = line.task.as_ref().is_some_and(|own| own.as_str() == id);
            is_own && line.reason.as_deref() == Some("it is work of a person")
        });
        assert!(is_said, "{id}: {source}");
    }
}

#[test]
fn titles_say_that_a_person_does_it() {
    let boxes = "# P\n\n- [ ] User verification of login\n- [ ] Get human approval\n- [ ] HUMAN: pay\n- [ ] Sign it (human)\n\
                 - [~] [HUMAN] Call them\n- [ ] User verification flow\n- [ ] Human review queue\n- [ ] User manual, chapter 2\n- [ ] Manual: add a page\n\
                 - [ ] See it on a phone (requires manual testing)\n- [ ] Follow the guide (manual API testing)\n\
                 - [ ] User testing and interviews\n- [ ] Manual end-to-end testing\n- [ ] Manual \"all-day\" burn test\n- [ ] Manual of the test rig\n- [ ] User sign-off\n- [ ] User sign-in\n- [ ] Draw the queue (human review states)\n";
    let held = [
        "user",
        "get_human",
        "human_pay",
        "sign_it_human",
        "call_them",
        "see_it_on_a",
        "follow_the_guide",
        "user_testing_and",
        "manual_end_to",
        "manual_all_day",
        "user_sign_off",
    ];
    holds(boxes, &held);
    let tasks = "# P\n\n## 阶段 1 甲\n\n- [ ] Task: Write it\n- [ ] Task: User Manual Verification of it\n- [ ] Task: Manual test\n";
    holds(tasks, &["task_user_manual", "task_manual_test"]);
    let bare = "# P\n\n## Phase 1: Wood\n\n- [ ] Task: Cut it\n    - By hand saw.\n\
                - [ ] Task: Conductor - User Manual Verification 'Phase 1: Wood'\n";
    let (plan, _) = read(bare, &KnownNames::default());
    assert_eq!(plan.format, "conductor");
    let open = plan.tasks.iter().filter(|task| task.status.runs());
    let open: Vec<&str> = open.map(|task| task.title.as_str()).collect();
    assert_eq!(open, ["Cut it"]);
}

#[test]
fn every_format_leaves_the_work_of_a_person_to_them() {
    let table = "| Task | Status |\n|---|---|\n| Write it | todo |\n| [HUMAN] Pay | todo |\n| Manual test of it | todo |\n";
    holds(table, &["pay", "manual_test_of"]);
    let cursor = "---\nname: x\ntodos:\n  - id: a\n    content: Write it\n    status: pending\n  - id: b\n    \
                  content: \"[HUMAN] Pay\"\n    status: pending\n---\n\n# x\n";
    holds(cursor, &["b"]);
    let backlog = |labels| {
        format!(
            "---\nid: task-1\ntitle: Pay\nstatus: To Do\nassignee: []\nlabels: {labels}\n---\n\nNow.\n"
        )
    };
    holds(&backlog("[human]"), &["task-1"]);
    holds(&backlog("text"), &[]);
    holds(
        "<task type=\"manual\">\n<name>Pay</name>\n<action>pay it</action>\n</task>\n",
        &["pay"],
    );
    let tasks = r#"{"tasks":[{"id":1,"title":"[HUMAN] Pay","status":"pending"},{"id":2,"title":"Code","status":"pending"}]}"#;
    holds(tasks, &["1"]);
    let stories = r#"{"userStories":[{"id":"US-1","title":"[HUMAN] Pay","passes":false}]}"#;
    holds(stories, &["US-1"]);
    let issues = "{\"id\":\"b-1\",\"title\":\"[HUMAN] Pay\",\"status\":\"open\"}\n\
                  {\"id\":\"b-2\",\"title\":\"Sign\",\"status\":\"open\",\"issue_type\":\"human\"}\n\
                  {\"id\":\"b-3\",\"title\":\"Call\",\"status\":\"open\",\"labels\":[\"human\"]}\n\
                  {\"id\":\"b-4\",\"title\":\"Code\",\"status\":\"open\",\"labels\":[\"api\"]}\n";
    holds(issues, &["b-1", "b-2", "b-3"]);
}

#[test]
fn what_a_section_or_a_step_leaves_to_a_person_is_said() {
    reads(
        "# P\n\n### Task 1: Letters\n\n- [ ] **Step 1: Put the draft to the user**\n- [ ] **Step 2: Write it**\n\
         - [ ] **Step 3: Verify by hand that it prints**\n- [x] Ask the user\n\n## Ask the user\n\n- [ ] Which colour?\n",
        "\
T1 [todo] Letters | details [ ] **Step 1: Put the draft to the user** / [ ] **Step 2: Write it** / [ ] **Step 3: Verify by hand that it prints** / [x] Ask the user
> T1: nothing comes before
line 12: under \"Ask the user\", which waits for a person
",
    );
}

#[test]
fn an_open_part_of_a_ticked_group_is_open() {
    for source in [
        "- [x] 1. Storage\n  - [x] 1.1 Tables\n    - _For: 4.1_\n  - [ ] 1.2 Indexes\n    - _For: 4.2_\n",
        "# P\n\n- [x] 1. Storage\n  - [x] 1.1 Tables\n  - [ ] 1.2 Indexes\n",
        "# P\n\n- [x] 1 Storage\n- [ ] 1.2 Indexes\n",
    ] {
        let (plan, errors) = read(source, &KnownNames::default());
        assert_eq!(errors, [], "{source}");
        let open = plan.tasks.iter().filter(|task| task.status.runs());
        let open: Vec<&str> = open.map(|task| task.id.as_str()).collect();
        assert_eq!(open, ["1.2"], "{source}");
    }
    let tasks = r#"{"tasks":[{"id":1,"title":"Storage","status":"done","subtasks":[{"id":2,"title":"Indexes","status":"pending"}]}]}"#;
    let (plan, _) = read(tasks, &KnownNames::default());
    let reasons: Vec<&str> = plan
        .lines
        .iter()
        .filter_map(|line| line.reason.as_deref())
        .collect();
    assert_eq!(reasons, ["its task is done"]);
}
