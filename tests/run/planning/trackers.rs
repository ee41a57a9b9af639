//! Plans that other trackers keep as JSON, through the built program: checked, run, landed, and
//! marked as done.

use serde_json::json;

use crate::support::{Case, Outcome, Rule, Script, World, at, case, fail, says, write};

const STORIES: &str = r#"{
  "project": "Shop",
  "description": "A cart that survives a restart.",
  "userStories": [
    { "id": "US-001", "title": "Set up", "priority": 1, "passes": true },
    {
      "id": "US-002",
      "title": "Store the cart",
      "description": "As a buyer, I find my cart again.",
      "acceptanceCriteria": ["one.txt exists"],
      "priority": 2,
      "passes": false,
      "notes": ""
    }
  ]
}
"#;

const TASKS: &str = r#"{"master": {"tasks": [
  {"id": 1, "title": "Set up", "status": "done"},
  {"id": 2, "title": "Store", "details": "In one.txt.", "status": "pending", "dependencies": [1],
   "subtasks": [{"id": 1, "title": "Name it", "status": "pending"}]}
]}}
"#;

const ISSUES: &str = "{\"id\":\"bd-a1\",\"title\":\"Set up\",\"status\":\"closed\",\"issue_type\":\"task\"}\n\
                      {\"id\":\"bd-b2\",\"title\":\"Store\",\"status\":\"open\",\"issue_type\":\"task\",\"dependencies\":\
                      [{\"issue_id\":\"bd-b2\",\"depends_on_id\":\"bd-a1\",\"type\":\"blocks\"}]}\n";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_file_of_each_is_checked_run_and_marked),
        case!(an_agent_hears_what_a_story_says),
        case!(a_file_without_statuses_is_left_and_that_is_said),
        case!(a_tag_is_chosen_among_several),
    ]
}

/// Runs a file whose open task writes `one.txt`, and lands it.
fn landed(
    name: &str,
    text: &str,
    task: &str,
) -> Result<(World, crate::support::Ran), libtest_mimic::Failed> {
    let world = World::plain()?;
    world.repository.write(name, text)?;
    let model = world.script(&Script::default().writes(task, "one.txt", "1\n"))?;
    let ran = world.types(&["run", name, "--model", &model, "--land"], 0)?;
    Ok((world, ran))
}

fn a_file_of_each_is_checked_run_and_marked() -> Outcome {
    let pending = r#""status": "pending""#;
    let table = [
        (
            "prd.json",
            STORIES,
            "US-002",
            STORIES.replace("\"passes\": false", "\"passes\": true"),
        ),
        (
            "tasks.json",
            TASKS,
            "2.1",
            TASKS.replace(pending, r#""status": "done""#),
        ),
        (
            "issues.jsonl",
            ISSUES,
            "bd-b2",
            ISSUES.replace("\"status\":\"open\"", "\"status\":\"closed\""),
        ),
    ];
    for (name, text, task, expected) in table {
        let (world, ran) = landed(name, text, task)?;
        says(&ran, &["has landed: main went from", name])?;
        let marked = world.repository.read(name)?;
        if marked != expected || !world.repository.path().join("one.txt").exists() {
            return fail(format!("{name}: {marked}{}{}", ran.stdout, ran.stderr));
        }
        let report = world.types(&["check", name, "--json"], 0)?.json()?;
        for (pointer, value) in [
            ("/tasks/1/id", json!(task)),
            ("/tasks/1/status", json!("done")),
            ("/errors", json!([])),
        ] {
            assert_eq!(at(&report, pointer)?, &value, "{pointer} of {report}");
        }
        world.types(&["land", "--undo"], 0)?;
        assert_eq!(world.repository.read(name)?, text);
    }
    Ok(())
}

fn an_agent_hears_what_a_story_says() -> Outcome {
    let script = Script::default()
        .rule(write("US-002", "one.txt", "1\n"))
        .rule(Rule::task("US-002").text("Done."));
    let played = World::lived_in()?.play(STORIES, &script, |_| ())?;
    let told = [
        "Store the cart",
        "As a buyer, I find my cart again.",
        "Acceptance criteria",
        "- one.txt exists",
    ];
    played.require_told(
        "US-002",
        &[&told[..], &["A cart that survives a restart."]].concat(),
    )
}

fn a_file_without_statuses_is_left_and_that_is_said() -> Outcome {
    let text = r#"{"tasks": [{"id": 1, "title": "Store"}]}"#;
    let (world, ran) = landed("tasks.json", text, "1")?;
    says(
        &ran,
        &["were left unchanged: no landed task has a box or a status in it"],
    )?;
    assert_eq!(world.repository.read("tasks.json")?, text);
    Ok(())
}

/// Two tags with open tasks, whose ids are the same.
const TAGS: &str = r#"{
  "shop": {"tasks": [{"id": 1, "title": "Store", "status": "pending"}]},
  "till": {"tasks": [{"id": 1, "title": "Count", "status": "pending"}]}
}
"#;

fn a_tag_is_chosen_among_several() -> Outcome {
    let world = World::plain()?;
    world.repository.write("tasks.json", TAGS)?;
    let refused = world.types(&["check", "tasks.json", "--json"], 2)?.json()?;
    let error = at(&refused, "/errors/0")?;
    assert_eq!(error["code"], "several_tags", "{refused}");
    let advice = "choose one of them by its name";
    assert_eq!(error["suggestion"], advice, "{refused}");
    let model = world.script(&Script::default().writes("1", "one.txt", "1\n"))?;
    let typed = ["run", "tasks.json", "--tag", "till", "--land"];
    world.types(&[&typed[..], &["--model", &model]].concat(), 0)?;
    // The task of the other tag has the same id.
    let (before, after) = TAGS.rsplit_once("pending").ok_or("no status")?;
    let written = world.repository.read("tasks.json")?;
    assert_eq!(written, format!("{before}done{after}"));
    let table: [(&[&str], &str); 3] = [
        (
            &["check", "tasks.json", "--tag", "cart"],
            "the file has no tag `cart`",
        ),
        (
            &["run", "fix the cart", "--tag", "till"],
            "a typed goal is taken as it stands",
        ),
        (
            &["run", "tasks.json", "--read", "model", "--tag", "till"],
            "`--tag` has no effect",
        ),
    ];
    for (arguments, expected) in table {
        says(&world.types(arguments, 2)?, &[expected])?;
    }
    Ok(())
}
