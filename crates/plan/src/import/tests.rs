//! Tests of the formats of other trackers: each row is a file and everything that is read from it.

use crate::{KnownNames, Plan, write_boxes};
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::Task;

/// Renders a task in one line: line, id, title, and the fields that are not the default.
fn line(task: &Task) -> String {
    let ids = |ids: &[TaskId]| ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ");
    let fields = [
        (
            "is",
            if task.status == Default::default() {
                String::new()
            } else {
                format!("{:?}", task.status)
            },
        ),
        ("depends", ids(&task.depends)),
        ("after", ids(&task.after)),
        (
            "priority",
            if task.priority == 0 {
                String::new()
            } else {
                task.priority.to_string()
            },
        ),
        ("section", task.section.clone().unwrap_or_default()),
        ("details", task.details.join(" / ")),
    ];
    let mut out = format!("{} {}: {}", task.line, task.id, task.title);
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        out.push_str(&format!(" | {name} {value}"));
    }
    out
}

/// Requires the tasks of a file, its skipped lines and its warnings.
#[track_caller]
fn reads(source: &str, tasks: &[&str], noted: &[&str]) {
    let plan = Plan::parse(source, &KnownNames::default())
        .unwrap_or_else(|errors| panic!("{source}\n{errors:#?}"));
    assert_eq!(
        plan.tasks.iter().map(line).collect::<Vec<_>>(),
        tasks,
        "{source}"
    );
    let skipped = plan
        .skipped
        .iter()
        .map(|skipped| format!("line {}: {}", skipped.line, skipped.reason));
    let found: Vec<String> = skipped
        .chain(plan.warnings.iter().map(ToString::to_string))
        .collect();
    assert_eq!(found, noted, "{source}");
}

#[track_caller]
fn errors(source: &str) -> Vec<String> {
    let errors = Plan::parse(source, &KnownNames::default()).expect_err(source);
    errors.iter().map(ToString::to_string).collect()
}

const PRD: &str = r#"{
  "project": "Shop",
  "branchName": "ralph/cart",
  "description": "A cart that survives a restart.",
  "userStories": [
    {
      "id": "US-002",
      "title": "Show the cart",
      "description": "As a buyer, I see what I chose.",
      "acceptanceCriteria": ["It lists each item", "Typecheck passes"],
      "priority": 2,
      "passes": false,
      "notes": ""
    },
    { "id": "US-001", "title": "Store the cart", "priority": 1, "passes": true },
    { "id": "US-003", "title": "Empty the cart", "priority": 2, "passes": false, "notes": "Ask\nfirst." },
    { "id": "US-004", "title": "Pay", "passes": false }
  ]
}
"#;

#[test]
fn stories_follow_each_other_by_priority() {
    let expected = [
        "15 US-001: Store the cart | is Done | priority 1",
        "6 US-002: Show the cart | details As a buyer, I see what I chose. / Acceptance criteria:\n- It lists each item\n\
         - Typecheck passes",
        "16 US-003: Empty the cart | after US-002 | details Notes:\nAsk\nfirst.",
        "17 US-004: Pay | after US-003",
    ];
    reads(PRD, &expected, &[]);
    let plan = Plan::parse(PRD, &KnownNames::default()).unwrap();
    assert_eq!(plan.title.as_deref(), Some("Shop"));
    assert_eq!(
        plan.notes
            .iter()
            .map(|note| note.text.as_str())
            .collect::<Vec<_>>(),
        ["A cart that survives a restart."]
    );
}

#[test]
fn stories_that_name_dependencies_wait_for_those_alone() {
    reads(
        r#"{"userStories": [{"id": 1, "title": "a", "priority": "low", "passes": false},
{"id": 2, "title": "b", "priority": "high", "dependsOn": [1], "passes": false},
{"id": "3", "title": "c", "passes": false}]}"#,
        &[
            "1 1: a | priority -1",
            "2 2: b | depends 1 | priority 1",
            "3 3: c",
        ],
        &[],
    );
}

#[test]
fn a_plain_list_of_features_has_titles_of_its_descriptions() {
    reads(
        r#"[
  {
    "category": "functional",
    "description": "New chat opens",
    "steps": ["Open the page", "Click"],
    "passes": false
  },
  {"id": "F2", "description": "The page is readable on a phone that is held upright, and in the dark mode of it, too", "passes": true}
]"#,
        &[
            "\
2 new_chat_opens: New chat opens | details Steps:
- Open the page
- Click",
            "8 F2: The page is readable on a phone that is held upright, and in the dark mode of it… | is Done | details The page is readable on a phone that is held upright, and in the dark mode of it, too",
        ],
        &[],
    );
}

const TASKS: &str = r#"{
  "tasks": [
    {"id": 1, "title": "Set up", "status": "done", "dependencies": [], "priority": "high"},
    {"id": 2, "title": "Log in", "description": "With a form.", "details": "Use the session.\nNo cookies.",
     "testStrategy": "Try a wrong password.", "status": "pending", "dependencies": [1], "priority": "high",
     "subtasks": [
       {"id": 1, "title": "The form", "status": "done", "dependencies": [], "details": "Plain."},
       {"id": "2", "title": "The check", "status": "pending", "dependencies": [1]}
     ]},
    {"id": "3", "title": "Pages", "status": "in-progress", "dependencies": ["2"],
     "subtasks": [
       {"id": 1, "title": "Start", "status": "pending"},
       {"id": "3.2", "title": "Profile", "status": "pending", "dependencies": [1]}
     ]},
    {"id": 4, "title": "Later", "status": "deferred", "priority": "low"}
  ],
  "metadata": {"version": "1"}
}
"#;

#[test]
fn subtasks_are_the_tasks_of_their_group() {
    let login = "Part of 2: Log in\nWith a form.\nUse the session.\nNo cookies.\n\
                 Test strategy: Try a wrong password.";
    let expected = [
        "3 1: Set up | is Done | priority 1",
        &format!("7 2.1: The form | is Done | depends 1 | priority 1 | details {login} / Plain."),
        &format!("8 2.2: The check | depends 1 2.1 | priority 1 | details {login}"),
        "12 3.1: Start | depends 2.1 2.2 | details Part of 3: Pages",
        "13 3.2: Profile | depends 2.1 2.2 3.1 | details Part of 3: Pages",
        "15 4: Later | is Blocked | priority -1",
    ];
    reads(TASKS, &expected, &[]);
}

#[test]
fn subtasks_of_a_task_with_details_are_tasks_too() {
    reads(
        r#"{"tasks": [
{"id": 1, "title": "a", "details": "x", "status": "pending", "subtasks": [
  {"id": 1, "title": "b", "status": "done"}, {"id": 2, "title": "c", "status": "pending", "dependencies": [1]}]},
{"id": 2, "title": "d", "status": "pending", "dependencies": ["1.1"]},
{"id": 3, "title": "e", "status": "pending", "dependencies": [1]},
{"id": 4, "title": "f", "status": "pending", "subtasks": [
  {"id": 1, "title": "g", "status": "pending", "dependencies": ["1.2", 3], "subtasks": [
    {"id": 1, "title": "h", "status": "pending"}, {"id": 2, "title": "i", "status": "pending", "dependencies": [1]}]}]}]}"#,
        &[
            "3 1.1: b | is Done | details Part of 1: a\nx",
            "3 1.2: c | depends 1.1 | details Part of 1: a\nx",
            "4 2: d | depends 1.1",
            "5 3: e | depends 1.1 1.2",
            "8 4.1.1: h | depends 1.2 3 | details Part of 4: f\nPart of 4.1: g",
            "8 4.1.2: i | depends 1.2 3 4.1.1 | details Part of 4: f\nPart of 4.1: g",
        ],
        &[],
    );
}

#[test]
fn subtasks_of_too_many_levels_are_an_error() {
    let levels = 3_000;
    let source = format!(
        "{{\"tasks\": [{}{}]}}",
        "{\"title\": \"a\", \"status\": \"pending\", \"subtasks\": [".repeat(levels),
        "]}".repeat(levels)
    );
    let found = errors(&source);
    let is_deep = |error: &String| error.contains("groups are nested deeper than");
    assert!(found.iter().any(is_deep), "{found:?}");
}

#[test]
fn a_group_without_an_id_is_named_by_its_title() {
    reads(
        r#"[{"title": "a", "status": "pending", "subtasks": [
{"id": 1, "title": "b", "status": "pending"}, {"title": "c", "status": "pending"}]}]"#,
        &["2 1: b | details Part of a", "2 c: c | details Part of a"],
        &[],
    );
}

#[test]
fn a_group_is_done_with_the_last_of_its_subtasks() {
    let source = r#"{"tasks": [{"id": 1, "title": "a", "details": "x", "status": "pending", "subtasks": [
  {"id": 1, "title": "b", "status": "done"},  {"id": 2, "title": "c", "status": "pending"}]}]}"#;
    let expected = source.replace("pending", "done");
    let landed = [TaskId::new("1.2")];
    let known = KnownNames::default();
    assert_eq!(write_boxes(source, &landed, &known), expected);
    let other = [TaskId::new("1.1")];
    assert_eq!(write_boxes(source, &other, &known), source);
}

#[test]
fn one_tag_may_have_open_tasks() {
    let file = |status: &str| {
        format!(
            r#"{{"master": {{"tasks": [{{"id": 1, "title": "a", "status": "{status}"}}], "metadata": {{}}}},
"auth": {{"tasks": [{{"id": 1, "title": "b", "status": "pending"}},
{{"id": 2, "title": "c", "status": "pending", "dependencies": [1]}}]}}}}"#
        )
    };
    let expected = [
        "1 master.1: a | is Done | section master",
        "2 auth.1: b | section auth",
        "3 auth.2: c | depends auth.1 | section auth",
    ];
    reads(&file("done"), &expected, &[]);
    let error = "line 2, column 19: several tags have open tasks, and a run follows one: `master` (1), `auth` (2) (choose \
                 one of them by its name)";
    assert_eq!(errors(&file("pending")), [error]);
    let one = r#"{"master": {"tasks": [{"id": 1, "title": "a", "status": "pending"}]}}"#;
    reads(one, &["1 1: a"], &[]);
}

#[test]
fn a_chosen_tag_is_run_alone() {
    let source = r#"{"master": {"tasks": [
{"id": 1, "title": "a", "status": "pending"}]},
"auth": {"tasks": [
{"id": 1, "title": "b", "status": "pending"},
{"id": 2, "title": "c", "status": "pending", "dependencies": [1]}]}}"#;
    let known = |tag: &str| KnownNames {
        tag: Some(tag.to_owned()),
        ..KnownNames::default()
    };
    let plan = Plan::parse(source, &known("auth")).unwrap();
    let tasks: Vec<String> = plan.tasks.iter().map(line).collect();
    assert_eq!(tasks, ["4 1: b", "5 2: c | depends 1"]);
    let not_run: Vec<(usize, Option<&str>)> = plan
        .lines
        .iter()
        .filter(|own| own.reason.is_some())
        .map(|own| (own.from, own.reason.as_deref()))
        .collect();
    assert_eq!(not_run, [(1, Some("it is of the tag `master`"))]);
    let refused = |source: &str| {
        let errors = Plan::parse(source, &known("api")).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        refused(source),
        ["line 1, column 22: the file has no tag `api` (its tags: master, auth)"]
    );
    let without = r#"{"tasks": [{"id": 1, "title": "a", "status": "done"}]}"#;
    let of_ralph = r#"{"userStories": [{"id": 1, "title": "a", "passes": true}]}"#;
    assert_eq!(
        refused(without),
        ["line 1, column 11: the file has no tag `api` (it has no tags)"]
    );
    for other in [of_ralph, "- [ ] a\n"] {
        assert_eq!(
            refused(other),
            ["line 1, column 1: a tag is chosen, `api`, but only files of task-master have tags"]
        );
    }
}

#[test]
fn a_task_that_is_done_has_no_open_subtasks() {
    reads(
        r#"{"tasks": [{"id": 1, "title": "a", "status": "done", "subtasks": [
{"id": 1, "title": "b", "status": "pending"}, {"id": 2, "title": "c", "status": "done"}]}]}"#,
        &[
            "2 1.1: b | is Done | details Part of 1: a",
            "2 1.2: c | is Done | details Part of 1: a",
        ],
        &["line 2: its task is done"],
    );
}

#[test]
fn a_file_is_of_the_one_format_whose_fields_it_has() {
    let table = [
        (
            r#"{"tasks": [{"id": 1, "title": "a", "passes": false}]}"#,
            "ralph-prd",
        ),
        (r#"{"tasks": [{"id": 1, "title": "a"}]}"#, "task-master"),
        (r#"[{"title": "a", "subtasks": []}]"#, "task-master"),
        (r#"[{"title": "a"}]"#, "ralph-prd"),
        (
            r#"[{"id": "a", "title": "a", "issue_type": "bug"}]"#,
            "beads",
        ),
        (r#"{"id": "a", "title": "a"}"#, "beads"),
        (r#"{"tasks": [{"label": "build", "type": "shell"}]}"#, ""),
        ("// of an editor\n[{\"label\": \"build\"}]", ""),
    ];
    for (source, format) in table {
        let plan = crate::parse::read(source, &KnownNames::default()).0;
        assert_eq!(plan.format, format, "{source}");
    }
    let both = r#"{"userStories": [{"id": 1, "title": "a"}], "tasks": [{"id": 1, "title": "a"}]}"#;
    let error = "line 1, column 1: this JSON has the fields of ralph-prd and of task-master";
    assert_eq!(errors(both), [error]);
}

const ISSUES: &str = r#"{"id":"bd-e","title":"The parser","description":"Fast.","status":"open","priority":1,"issue_type":"epic","created_at":"2026-01-01T00:00:00Z"}
{"id":"bd-a1","title":"Lexer","description":"By hand.","design":"One pass.","status":"closed","priority":1,"issue_type":"task","dependencies":[{"issue_id":"bd-a1","depends_on_id":"bd-e","type":"parent-child"}]}
{"id":"bd-b2","title":"Grammar","status":"open","priority":0,"issue_type":"task","dependencies":[{"issue_id":"bd-b2","depends_on_id":"bd-e","type":"parent-child"},{"issue_id":"bd-b2","depends_on_id":"bd-a1","type":"blocks"},{"issue_id":"bd-b2","depends_on_id":"bd-gone","type":"blocks"}]}
{"id":"bd-c3","title":"Docs","status":"open","priority":2,"issue_type":"chore","acceptance_criteria":"Each rule has an example.","dependencies":[{"issue_id":"bd-c3","depends_on_id":"bd-e","type":"blocks"},{"issue_id":"bd-c3","depends_on_id":"bd-d4","type":"related"}]}
{"id":"bd-d4","title":"Odd","status":"blocked","priority":4,"issue_type":"bug","dependencies":[{"issue_id":"bd-d4","depends_on_id":"bd-c3","type":"discovered-from"}]}
{"id":"bd-gone","title":"Gone","status":"tombstone","priority":2,"issue_type":"task"}
{"id":"bd-m","title":"Hello","status":"open","priority":2,"issue_type":"message"}
"#;

#[test]
fn issues_wait_for_what_blocks_them_and_epics_are_groups() {
    reads(
        ISSUES,
        &[
            "2 bd-a1: Lexer | is Done | priority 1 | details Part of bd-e: The parser\nFast. / By hand. / Design: One pass.",
            "3 bd-b2: Grammar | depends bd-a1 | priority 2 | details Part of bd-e: The parser\nFast.",
            "4 bd-c3: Docs | depends bd-a1 bd-b2 | details Acceptance criteria: Each rule has an example.",
            "5 bd-d4: Odd | is Blocked | priority -2",
        ],
        &["line 7: its type is `message`, which is no work"],
    );
}

#[test]
fn issues_that_no_agent_may_do_are_not_run() {
    let link = r#"{"depends_on_id":"x-1","type":"conditional-blocks"}"#;
    let wait = r#"{"depends_on_id":"x-1","type":"waits-for"}"#;
    let source = format!(
        "{{\"id\":\"x-1\",\"title\":\"a\",\"status\":\"open\"}}\n\
         {{\"id\":\"x-2\",\"title\":\"b\",\"status\":\"open\",\"dependencies\":[{link}]}}\n\
         {{\"id\":\"x-3\",\"title\":\"c\",\"status\":\"open\",\"dependencies\":[{wait}]}}\n\
         {{\"id\":\"x-4\",\"title\":\"d\",\"status\":\"open\",\"assignee\":\"human\"}}\n\
         {{\"id\":\"x-5\",\"title\":\"e\",\"status\":\"hooked\"}}\n"
    );
    reads(
        &source,
        &[
            "1 x-1: a",
            "2 x-2: b | is Blocked",
            "3 x-3: c | depends x-1",
            "4 x-4: d | is Blocked",
            "5 x-5: e | is Blocked",
        ],
        &[
            "line 2: it is to be done only if x-1 fails",
            "line 4: it is work of a person",
        ],
    );
}

#[test]
fn a_group_and_its_own_parts_do_not_wait_for_each_other() {
    let link = |of: &str, on: &str, kind: &str| {
        format!(r#"{{"issue_id":"{of}","depends_on_id":"{on}","type":"{kind}"}}"#)
    };
    let issue = |id: &str, status: &str, links: &[String]| {
        format!(
            "{{\"id\":\"{id}\",\"title\":\"{id}\",\"status\":\"{status}\",\"dependencies\":[{}]}}\n",
            links.join(",")
        )
    };
    let part = [link("x-1", "x", "parent-child"), link("x-1", "x", "blocks")];
    let source = issue("x", "open", &[link("x", "x-1", "blocks")]) + &issue("x-1", "open", &part);
    reads(&source, &["2 x-1: x-1 | details Part of x"], &[]);
    let done = issue("x", "open", &[]) + &issue("x-1", "closed", &part);
    let noted = "line 1: all parts of x are done, and it has no other work";
    reads(
        &done,
        &["2 x-1: x-1 | is Done | details Part of x"],
        &[noted],
    );
    let circle = issue("x", "open", &[link("x", "y", "parent-child")])
        + &issue("y", "open", &[link("y", "x", "parent-child")]);
    assert_eq!(errors(&circle), ["line 1, column 1: `x` is part of itself"]);
}

#[test]
fn errors_have_their_places() {
    let table: [(&str, &[&str]); 9] = [
        (
            "{\n  \"tasks\": [\n    {\"id\": 1,}\n  ]\n}\n",
            &["line 3, column 14: this is not valid JSON: key must be a string"],
        ),
        (
            "{ userStories: [] }",
            &["line 1, column 3: this is not valid JSON: key must be a string"],
        ),
        (
            "{\"id\":\"a\",\"title\":\"b\"}\n{\"id\":\n\n{\"id\":\"c\"",
            &[
                "line 2, column 6: this is not valid JSON: EOF while parsing a value",
                "line 4, column 9: this is not valid JSON: EOF while parsing an object",
            ],
        ),
        (
            "{\"name\": \"app\", \"version\": \"1.0.0\"}",
            &[
                "line 1, column 1: this JSON is no plan that is known (known are Ralph's `userStories` with `passes`, \
               task-master's `tasks`, and the issues of beads, one on each line)",
            ],
        ),
        (
            "{\"tasks\": [{\"id\": \"a b\", \"title\": \"x\"}]}",
            &[
                "line 1, column 19: invalid id `a b`: an id is made of letters, digits, `.`, `_` and `-`",
            ],
        ),
        (
            "{\"tasks\": [{\"id\": 1, \"title\": \"x\"},\n{\"id\": 1, \"title\": \"y\"}]}",
            &["line 2, column 8: another task has the id `1` (change the id of one of them)"],
        ),
        (
            "{\"tasks\": [{\"id\": \"api-1\", \"title\": \"x\"},\n{\"id\": 2, \"title\": \"y\", \"dependencies\": [\"api-2\"]}]}",
            &["line 2, column 42: there is no task `api-2` (did you mean `api-1`?)"],
        ),
        (
            "{\"tasks\": [{\"id\": 1, \"title\": \"x\", \"dependencies\": [2]},\n\
             {\"id\": 2, \"title\": \"y\", \"dependencies\": [1]}]}",
            &[
                "line 1, column 53: these tasks depend on each other: 1 → 2 → 1 (remove one of these dependencies, or move a task)",
            ],
        ),
        (
            "{\"tasks\": [{\"id\": 1, \"title\": \"x\", \"title\": \"y\"}]}",
            &["line 1, column 45: the field `title` is set twice for one task"],
        ),
    ];
    let found = table.map(|(source, _)| errors(source));
    assert_eq!(
        found.to_vec(),
        table.map(|(_, expected)| expected.to_vec()).to_vec()
    );
}

#[test]
fn what_is_odd_is_said_once() {
    reads(
        "[{\"title\": \"a\", \"passes\": false, \"colour\": 1},\n{\"title\": \"b\", \"passes\": false, \"colour\": 2, \"size\": 3},\n\
         {\"passes\": false}]",
        &["1 a: a", "2 b: b | after a"],
        &["line 3: it has no title"],
    );
    reads(
        r#"{"tasks": [{"id": 1, "title": "a\u200bb\u001b", "status": "frozen"}, {"id": 2, "title": "c"}]}"#,
        &["1 1: ab | is Blocked", "1 2: c"],
        &[
            "line 1: its status is not known",
            "line 1, column 31: hidden character U+200B",
            "line 1, column 59: unknown status `frozen`: this task is not run (known: pending, in-progress, done, blocked, deferred, review, cancelled)",
        ],
    );
}

#[test]
fn markdown_that_begins_with_a_bracket_stays_markdown() {
    for text in [
        "[link](x)\n\n- [ ] a\n",
        "{{< toc >}}\n\n- [ ] a\n",
        "{% raw %}\n\n- [ ] a\n",
        "{: .no}\n\n- [ ] a\n",
    ] {
        let plan = Plan::parse(text, &KnownNames::default()).unwrap();
        assert_eq!(
            plan.tasks
                .iter()
                .map(|task| task.title.as_str())
                .collect::<Vec<_>>(),
            ["a"],
            "{text}"
        );
    }
}

#[test]
fn only_the_status_of_landed_tasks_and_of_groups_that_are_complete_is_written() {
    let table = [
        (
            PRD,
            vec!["US-002", "US-001"],
            vec![(
                "\"priority\": 2,\n      \"passes\": false",
                "\"priority\": 2,\n      \"passes\": true",
            )],
        ),
        (
            TASKS,
            vec!["2.2", "3.1"],
            vec![
                (
                    "password.\", \"status\": \"pending\"",
                    "password.\", \"status\": \"done\"",
                ),
                (
                    "\"The check\", \"status\": \"pending\"",
                    "\"The check\", \"status\": \"done\"",
                ),
                (
                    "\"Start\", \"status\": \"pending\"",
                    "\"Start\", \"status\": \"done\"",
                ),
            ],
        ),
        (
            TASKS,
            vec!["3.1", "3.2"],
            vec![
                (
                    "\"Pages\", \"status\": \"in-progress\"",
                    "\"Pages\", \"status\": \"done\"",
                ),
                (
                    "\"Start\", \"status\": \"pending\"",
                    "\"Start\", \"status\": \"done\"",
                ),
                (
                    "\"Profile\", \"status\": \"pending\"",
                    "\"Profile\", \"status\": \"done\"",
                ),
            ],
        ),
        (
            ISSUES,
            vec!["bd-c3"],
            vec![(
                "\"Docs\",\"status\":\"open\"",
                "\"Docs\",\"status\":\"closed\"",
            )],
        ),
        (
            ISSUES,
            vec!["bd-b2"],
            vec![
                (
                    "\"Fast.\",\"status\":\"open\"",
                    "\"Fast.\",\"status\":\"closed\"",
                ),
                (
                    "\"Grammar\",\"status\":\"open\"",
                    "\"Grammar\",\"status\":\"closed\"",
                ),
            ],
        ),
    ];
    for (source, landed, changes) in table {
        for source in [
            source.to_owned(),
            format!("\u{feff}{}", source.replace('\n', "\r\n")),
        ] {
            let ends = |text: &str| {
                if source.contains('\r') {
                    text.replace('\n', "\r\n")
                } else {
                    text.to_owned()
                }
            };
            let mut expected = source.clone();
            for (before, after) in &changes {
                assert_eq!(expected.matches(&ends(before)).count(), 1, "{before}");
                expected = expected.replace(&ends(before), &ends(after));
            }
            let landed: Vec<TaskId> = landed.iter().map(|id| TaskId::new(*id)).collect();
            let written = write_boxes(&source, &landed, &KnownNames::default());
            assert_eq!(written, expected);
            assert_eq!(
                write_boxes(&written, &landed, &KnownNames::default()),
                written
            );
            assert_eq!(write_boxes(&source, &[], &KnownNames::default()), source);
        }
    }
}

#[test]
fn a_task_without_a_status_is_not_written() {
    let source = r#"{"tasks": [{"id": 1, "title": "a"}]}"#;
    assert_eq!(
        write_boxes(source, &[TaskId::new("1")], &KnownNames::default()),
        source
    );
}

#[test]
fn a_truth_value_says_whether_a_task_is_done() {
    for field in ["complete", "completed", "done", "isComplete", "passes"] {
        let source = format!(
            r#"[{{"category": "Fix", "description": "Fix the path", "steps": ["x"], "{field}": true}},
{{"category": "Fix", "description": "Fix the name", "steps": ["y"], "{field}": false}}]"#
        );
        reads(
            &source,
            &[
                "1 fix_the_path: Fix the path | is Done | details Steps:\n- x",
                "2 fix_the_name: Fix the name | details Steps:\n- y",
            ],
            &[],
        );
        let landed = [TaskId::new("fix_the_name")];
        let written = write_boxes(&source, &landed, &KnownNames::default());
        assert_eq!(written, source.replace("false", "true"));
    }
    reads(
        r#"{"tasks": [{"id": 1, "title": "a", "done": true},
{"id": 2, "title": "b", "status": "blocked", "done": false},
{"id": 3, "title": "c", "status": "done", "completed": "2026-01-02"}]}"#,
        &[
            "1 1: a | is Done",
            "2 2: b | is Blocked",
            "3 3: c | is Done",
        ],
        &[],
    );
}

#[test]
fn the_own_number_of_a_subtask_is_that_of_a_task() {
    reads(
        r#"{"tasks": [{"id": 1, "title": "a", "status": "done"},
{"id": 8, "title": "f", "status": "pending", "subtasks": [
{"id": 1, "title": "g", "status": "pending", "dependencies": [1]},
{"id": 2, "title": "h", "status": "pending", "dependencies": [1]}]}]}"#,
        &[
            "1 1: a | is Done",
            "3 8.1: g | depends 1 | details Part of 8: f",
            "4 8.2: h | depends 8.1 | details Part of 8: f",
        ],
        &[],
    );
    let found = errors(
        r#"{"tasks": [{"id": 7, "title": "c", "status": "pending", "subtasks": [
{"id": 1, "title": "d", "status": "pending", "dependencies": [5]},
{"id": 5, "title": "e", "status": "pending", "dependencies": [1]}]}]}"#,
    );
    assert!(found.concat().contains("depend on each other"), "{found:?}");
}

#[test]
fn a_circle_of_tasks_that_are_done_holds_nothing_back() {
    reads(
        r#"{"tasks": [{"id": 1, "title": "a", "status": "done", "dependencies": [2]},
{"id": 2, "title": "b", "status": "done", "dependencies": [1]},
{"id": 3, "title": "c", "status": "pending", "dependencies": [1]}]}"#,
        &["1 1: a | is Done", "2 2: b | is Done", "3 3: c | depends 1"],
        &[],
    );
}

#[test]
fn a_tag_may_be_the_list_of_its_tasks() {
    reads(
        r#"{"master": [{"id": 1, "title": "a", "status": "done"},
{"id": 2, "title": "b", "status": "pending", "dependencies": [1]}]}"#,
        &["1 1: a | is Done", "2 2: b | depends 1"],
        &[],
    );
    let phases =
        r#"{"phases": [{"name": "x", "tasks": [{"id": 1, "name": "a", "description": "b"}]}]}"#;
    let found = errors(phases).join("\n");
    let expected = "this JSON is no plan that is known (known";
    assert!(found.contains(expected), "{found}");
}

#[test]
fn tags_may_stand_within_the_tags_of_a_file() {
    let nested = r#"{"version": "1.0", "tags": {"master": {"tasks": [
        {"id": 1, "title": "Parse it", "status": "pending"}]},
        "sprint-0": {"tasks": [{"id": 1, "title": "Try it", "status": "pending"}]}},
        "sprint-0": {"tasks": [{"id": 1, "title": "Plan it", "status": "pending"}]}}"#;
    let said = errors(nested).concat();
    assert!(
        said.contains("`sprint-0` (1), `master` (1), `tags.sprint-0` (1)"),
        "{said}"
    );
}

#[test]
fn an_id_that_its_levels_make_too_long_is_refused() {
    let long = r#"{"tasks": [{"id": "the-first-level-of-the-work", "title": "One", "subtasks": [
        {"id": "the-second-level-of-the-work", "title": "Two", "subtasks": [
        {"id": "a-third-level", "title": "Three", "status": "pending"}
        ]}]}]}"#;
    let found = errors(long);
    assert!(found.concat().contains("has at most 64 bytes"), "{found:?}");
}
