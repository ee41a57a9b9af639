//! Plans that can be read in several ways: asked about, read as the user chooses, and read so to
//! the end of the run.

use libtest_mimic::Failed;
use orchestrate_core::task::ReturnCause;
use serde_json::{Value, json};

use crate::support::{
    Case, Need, Outcome, Ran, Rule, Script, World, at, case, lines, require_words, says,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_plan_is_read_as_it_was_chosen_to_the_end),
        case!(a_plan_with_several_readings_is_refused_with_them),
        case!(a_reading_is_chosen_on_a_terminal).needs(Need::TERMINAL),
        case!(a_model_rewrites_a_plan_and_the_result_is_run),
        case!(what_a_model_has_made_is_run_if_the_user_says_so).needs(Need::TERMINAL),
        case!(a_model_that_makes_no_plan_has_nothing_run),
    ]
}

/// Headings of tasks, and boxes below another heading.
const PLAN: &str = "\
# Shop

## Task 1: Add the cart

Show a total.

## Task 2: Add the till

## Rollout

- [ ] Tell the shops (run: touch told)
- [ ] Print the labels (run: touch printed)
";

/// Returns the ids of the tasks of a report.
fn ids(report: &Value) -> Vec<&str> {
    let tasks = report["tasks"].as_array().into_iter().flatten();
    tasks.filter_map(|task| task["id"].as_str()).collect()
}

fn a_plan_is_read_as_it_was_chosen_to_the_end() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let boxes = ["tell_the_shops", "print_the_labels"];
    let report = world
        .types(&["check", "plan.md", "--read", "boxes", "--json"], 0)?
        .json()?;
    assert_eq!(ids(&report), boxes, "{report}");
    assert_eq!(report["format"], "boxes");
    let report = world
        .types(&["check", "plan.md", "--read=headings", "--json"], 0)?
        .json()?;
    assert_eq!(ids(&report), ["T1", "T2"], "{report}");
    // What is typed comes before the front matter.
    let headings = format!("---\nread: headings\n---\n{PLAN}");
    world.repository.write("headings.md", &headings)?;
    for (typed, expected) in [(&[][..], ["T1", "T2"]), (&["--read", "boxes"][..], boxes)] {
        let arguments = [&["check", "headings.md", "--json"], typed].concat();
        let report = world.types(&arguments, 0)?.json()?;
        assert_eq!(ids(&report), expected, "{report}");
    }
    let of_model = format!("---\nread: model\n---\n{PLAN}");
    world.repository.write("model.md", &of_model)?;
    let refused = world.types(&["check", "model.md"], 2)?;
    says(&refused, &["`orchestrate plan model.md -o made.md`"])?;
    world.types(&["check", "model.md", "--read", "boxes"], 0)?;
    // The boxes that are written back are those of the reading that was run.
    world.types(&["plan.md", "--read", "boxes", "--land"], 0)?;
    assert_eq!(
        world.repository.read("plan.md")?,
        PLAN.replace("[ ]", "[x]")
    );
    world.types(&["land", "--undo"], 0)?;
    assert_eq!(world.repository.read("plan.md")?, PLAN);
    world.repository.write(
        "prd.json",
        r#"{"userStories": [{"id": "US-1", "title": "a"}]}"#,
    )?;
    for (arguments, expected) in [
        (
            ["check", "plan.md", "--read", "model"],
            "`orchestrate plan plan.md -o made.md`",
        ),
        (
            ["run", "plan.md", "--read", "lines"],
            "expected headings, boxes, table, items, whole or model",
        ),
        (
            ["run", "fix the login", "--read", "boxes"],
            "`--read` and `--tag` are for the file of a plan",
        ),
        (
            ["run", "prd.json", "--read", "boxes"],
            "`--read boxes` does not fit",
        ),
    ] {
        says(&world.types(&arguments, 2)?, &[expected])?;
    }
    Ok(())
}

const TABLE: &str = "\
  headings     2 tasks  the plan's tasks are its headings
                        Add the cart
                        Add the till
  boxes        2 tasks  the plan's tasks are its boxes
                        Tell the shops
                        Print the labels
  whole        1 task   the whole document is one goal
";

fn a_plan_with_several_readings_is_refused_with_them() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let typed = "choose headings, boxes or whole; `read:` in the front matter keeps the choice";
    let report = world.types(&["check", "plan.md", "--json"], 2)?.json()?;
    let expected = json!([
        {"read": "headings", "tasks": 2, "titles": ["Add the cart", "Add the till"],
         "why": "the plan's tasks are its headings"},
        {"read": "boxes", "tasks": 2, "titles": ["Tell the shops", "Print the labels"],
         "why": "the plan's tasks are its boxes"},
        {"read": "whole", "tasks": 1, "titles": [], "why": "the whole document is one goal"},
    ]);
    assert_eq!(at(&report, "/readings")?, &expected);
    let run = world.types(&["run", "plan.md", "--json"], 2)?.json()?;
    for errors in [at(&report, "/errors")?, at(&run, "/errors")?] {
        let codes: Vec<&Value> = errors.as_array().into_iter().flatten().collect();
        assert_eq!(codes.len(), 1, "{errors}");
        assert_eq!(codes[0]["code"], "ambiguous", "{errors}");
    }
    says(&world.types(&["check", "plan.md"], 2)?, &[TABLE, typed])?;
    let ran = world.types(&["run", "plan.md"], 2)?;
    let hint = "nothing was run; `orchestrate check plan.md` shows the plan again";
    require_words(&ran.stderr, &[TABLE, typed, hint])?;
    world.types(&["status"], 2).map(drop)
}

fn a_reading_is_chosen_on_a_terminal() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let answered = |keys: &str| {
        let typed = ["run", "plan.md", "--land"];
        let terminal = world.orchestrate(&typed).start_in_terminal()?;
        terminal.shows("Which one is meant: headings, boxes, whole, model?")?;
        terminal.types(keys)?;
        terminal.end()
    };
    let refused = answered("both\n\n")?.exits(2)?;
    let words = [
        "`both` is none of these",
        "can be read in several ways, since",
    ];
    require_words(&refused.stdout, &words)?;
    let chosen = answered("boxes\n")?.exits(0)?;
    let written = world.repository.read("plan.md")?;
    assert_eq!(written, PLAN.replace("[ ]", "[x]"), "{}", chosen.stdout);
    Ok(())
}

/// What a model makes of [`PLAN`].
const MADE: &str = "# Shop\n\n- [ ] T1 Add the cart\n- [ ] T2 Add the till\n\
                    - [ ] T3 Tell the shops (run: touch told) (depends: T1, T2)\n";

/// Returns a script whose planner makes [`MADE`] at the second attempt.
fn planner() -> Script {
    let cited = |lines: &str| format!("{MADE}\n```lines\n{lines}\n```\n");
    let lines = "1, 9: told\n3-5: T1\n7: T2\n11: T3";
    let first = Rule::task("shop")
        .turn(1)
        .usage(json!({"input_tokens": 1000, "output_tokens": 500}))
        .text(&cited(lines));
    let second = Rule::task("shop")
        .returned(ReturnCause::InvalidPlan)
        .usage(json!({"input_tokens": 2000, "output_tokens": 500}))
        .text(&cited(&format!(
            "{lines}\n12: not run: a person prints them"
        )));
    Script::default()
        .rule(first)
        .rule(second)
        .writes("T1", "cart", "1\n")
        .writes("T2", "till", "1\n")
}

/// Types a line in a repository with [`PLAN`], whose model is [`planner`].
fn rewritten(world: &World, arguments: &[&str], code: i32) -> Result<Ran, Failed> {
    let model = world.script(&planner())?;
    let typed = ["run", "plan.md", "--read", "model", "--model", &model];
    world.types(&[&typed, arguments].concat(), code)
}

fn a_model_rewrites_a_plan_and_the_result_is_run() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let refused = rewritten(&world, &[], 2)?;
    let words = [
        "nobody can be asked",
        "`--yes` runs it without a question",
        "`orchestrate plan plan.md -o made.md`",
    ];
    says(&refused, &words)?;
    world.types(&["status"], 2)?;
    let typed = ["--yes", "--land", "--budget-tokens", "50000", "--json"];
    let ran = rewritten(&world, &typed, 0)?;
    // The plan, and the document beside what became of its lines.
    let shown = [
        MADE,
        "    5  Show a total. ",
        "| T2 Add the till\n",
        "| not run: a person prints them",
        "1 line that looks like work is not run: line 12 of the document\n",
    ];
    require_words(&ran.stderr, &shown)?;
    let report = ran.json()?;
    let not_run = json!([{"line": 12, "reason": "a person prints them"}]);
    assert_eq!(report["not_run_lines"], not_run, "{report}");
    let tasks = report["tasks"].as_array().into_iter().flatten();
    let states: Vec<&Value> = tasks.map(|task| &task["state"]).collect();
    assert_eq!(states, ["merged", "merged", "merged"], "{report}");
    // Boxes are ticked where a line of a landed task has one.
    let ticked = PLAN.replacen("[ ]", "[x]", 1);
    assert_eq!(world.repository.read("plan.md")?, ticked);
    world.types(&["land", "--undo"], 0)?;
    assert_eq!(world.repository.read("plan.md")?, PLAN);
    // The run of the plan is the latest, and has what the rewriting has left of the budget.
    let latest = world.types(&["status", "--json"], 0)?.json()?;
    assert_eq!(latest["run_id"], report["run_id"]);
    let facts = lines(&world.types(&["log", "--json"], 0)?.stdout)?;
    assert_eq!(facts[0]["settings"]["budget_tokens"], 46_000);
    Ok(())
}

fn what_a_model_has_made_is_run_if_the_user_says_so() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let model = world.script(&planner())?;
    let answered = |keys: &str| {
        let typed = ["plan.md", "--read", "model", "--model", &model];
        let terminal = world.orchestrate(&typed).start_in_terminal()?;
        terminal.shows("Run this plan? [y/N] ")?;
        terminal.types(keys)?;
        terminal.end()
    };
    let refused = answered("n\n")?.exits(2)?;
    let words = [
        "nothing of the plan was run",
        "the plan is kept: `orchestrate status r-",
    ];
    require_words(&refused.stdout, &words)?;
    let ran = answered("y\n")?.exits(0)?;
    require_words(&ran.stdout, &["T3"])
}

fn a_model_that_makes_no_plan_has_nothing_run() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let script = Script::default().rule(Rule::task("shop").text("I cannot."));
    let model = world.script(&script)?;
    let typed = ["run", "plan.md", "--read", "model", "--yes", "--json"];
    let typed = [&typed[..], &["--model", &model]].concat();
    let report = world.types(&typed, 1)?.json()?;
    let tasks = report["tasks"].as_array().map(Vec::len);
    assert_eq!(
        (tasks, &report["tasks"][0]["error"]["cause"]),
        (Some(1), &json!("invalid_plan")),
        "{report}"
    );
    let needless = world.types(&["run", "plan.md", "--yes"], 2)?;
    says(
        &needless,
        &["`--yes` answers the question of `--read model`"],
    )
}
