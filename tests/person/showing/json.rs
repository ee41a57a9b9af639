//! What programs read: every JSON output has one envelope, and is what its schema says.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::Validator;
use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::support::{Case, Outcome, Ran, Script, World, case, done, fail, lines, on, says, shell};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(every_output_is_what_its_schema_says),
        case!(an_unknown_schema_is_told_with_the_nearest),
    ]
}

/// An agent's task whose call waits for a decision, a command whose work does, and one more.
const PLAN: &str = "\
- [ ] T1 Touch a file
- [ ] T2 Write a file (run: echo 2 > two.txt) (review: required)
- [ ] T3 Write another one (run: echo 3 > three.txt)
";

/// The types of outputs that are of no run.
const OF_NO_RUN: [&str; 19] = [
    "agent",
    "agents",
    "cache",
    "cache.cleared",
    "check",
    "clean.landed",
    "config",
    "config.trust",
    "doctor",
    "error",
    "init",
    "map",
    "permission",
    "runs",
    "schema",
    "schemas",
    "tool",
    "tools",
    "tools.check",
];

/// Commands on a run that waits for its user, each with a `type` that it prints; nothing of the
/// run changes.
const LOOKS: [(&str, &str); 35] = [
    ("adopt T3 --json", "error"),
    ("agents list --json", "agents"),
    ("agents show implementer --json", "agent"),
    ("audit show --json", "audit.call"),
    ("audit verify --json", "audit"),
    ("cache clear --json", "cache.cleared"),
    ("cache stats --json", "cache"),
    ("check plan.md --json", "check"),
    ("check plan.md --map T1 --json", "map"),
    ("clean --dry-run --json", "clean"),
    ("clean --landed --json", "clean.landed"),
    ("config show --json", "config"),
    ("config trust --json", "config.trust"),
    ("diff --json", "diff"),
    ("doctor --json", "doctor"),
    ("init --json", "init"),
    ("log --json", "run.finished"),
    ("log --tools --json", "tool.finished"),
    ("message T9 hello --json", "error"),
    (
        "permissions check --agent implementer --tool read_file --json -- a",
        "permission",
    ),
    ("plan plan.md -o plan.md --json", "error"),
    ("recover --json", "recover"),
    ("retry T3 --json", "error"),
    ("review --json", "review"),
    ("review T2 --json", "review.task"),
    ("schema --json", "schemas"),
    ("schema status --json", "schema"),
    ("status --json", "run.finished"),
    ("status --all --json", "runs"),
    ("tool run --json", "error"),
    ("tools check none.tool --json", "tools.check"),
    ("tools docs --format json", "tools"),
    ("tools info grep --json", "tool"),
    ("tools list --json", "tools"),
    ("tools search grep --json", "tools"),
];

/// Commands that end the run, in this order; `CALL` and `HASH` are those of the call that waits.
const ACTS: [(&str, &str); 12] = [
    (
        "approve CALL --hash HASH --output-format stream-json --follow",
        "run.finished",
    ),
    ("reject T2 -m Again --json", "answer"),
    ("resume --json", "run.finished"),
    ("diff T2 --json", "diff.task"),
    ("approve T2 --json --follow", "run.finished"),
    ("watch --json", "run.finished"),
    ("resume --json", "run.finished"),
    ("stop --json", "answer"),
    ("drop T3 --json", "drop"),
    ("land --output-format stream-json", "run.landed"),
    ("land --undo --json", "run.unlanded"),
    ("discard RUN --yes --json", "discard"),
];

/// The schemas that the program prints, with the names of those that an output was compared with.
struct Schemas {
    validators: BTreeMap<String, Validator>,
    used: BTreeSet<String>,
}

impl Schemas {
    fn printed(world: &World) -> Result<Self, Failed> {
        let mut validators = BTreeMap::new();
        for name in world.types(&["schema"], 0)?.stdout.lines() {
            let words: Vec<&str> = ["schema"].into_iter().chain(name.split(' ')).collect();
            let mut schema = world.types(&words, 0)?.json()?;
            // A field that is not described is a mistake of ours, though a reader ignores it.
            schema["unevaluatedProperties"] = json!(false);
            validators.insert(name.to_owned(), jsonschema::validator_for(&schema)?);
        }
        Ok(Self {
            validators,
            used: BTreeSet::new(),
        })
    }

    /// Compares each line of an output with the schema of its command.
    fn require(&mut self, typed: &str, ran: &Ran) -> Result<Vec<Value>, Failed> {
        let is_of = |name: &&String| typed == *name || typed.starts_with(&format!("{name} "));
        let name = self
            .validators
            .keys()
            .filter(is_of)
            .max_by_key(|name| name.len());
        let name = name
            .ok_or_else(|| format!("no schema is that of `{typed}`"))?
            .clone();
        let printed = lines(&ran.stdout)?;
        if printed.is_empty() {
            return Err(format!("`{typed}` has printed nothing: {}", ran.stderr).into());
        }
        for line in &printed {
            if let Err(error) = self.validators[&name].validate(line) {
                let place = error.instance_path();
                return Err(format!("`{typed}`: {error} at {place} in {line:#}").into());
            }
            require_envelope(typed, line)?;
        }
        self.used.insert(name);
        Ok(printed)
    }
}

fn require_envelope(typed: &str, line: &Value) -> Outcome {
    let kind = line["type"].as_str().unwrap_or_default();
    let has_run = line["run_id"]
        .as_str()
        .is_some_and(|run| run.starts_with("r-"));
    let is_whole = line["v"] == 1
        && line["ts"].as_str().is_some_and(|ts| ts.ends_with('Z'))
        && has_run != OF_NO_RUN.contains(&kind)
        && has_run == line.get("run_id").is_some();
    match is_whole {
        true => Ok(()),
        false => fail(format!("`{typed}` has no envelope: {line:#}")),
    }
}

/// Every command that has `--json` is among these, since each schema is used, and the program's own
/// test finds a command without one.
fn every_output_is_what_its_schema_says() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let mut schemas = Schemas::printed(&world)?;
    let script = Script::default()
        .rule(shell(on("T1", 1), "touch one.txt"))
        .rule(done("T1"));
    let model = world.script(&script)?;
    let run = "run plan.md --output-format stream-json --ask run_shell_command(touch*) --model";
    let words: Vec<&str> = run.split(' ').chain([model.as_str()]).collect();
    let ran = world.orchestrate(&words).env("ORCHESTRATE_ASK", "park");
    let stream = schemas.require(run, &ran.run()?.exits(3)?)?;
    let asked = stream
        .iter()
        .find(|line| line["type"] == "approval.requested");
    let asked = asked.ok_or("no call waits")?;
    let text = |field: &str| asked[field].as_str().unwrap_or_default().to_owned();
    let (call, hash, run) = (text("call"), text("hash"), text("run_id"));
    for (typed, kind) in LOOKS.iter().chain(&ACTS) {
        let typed = typed.replace("CALL", &call).replace("HASH", &hash);
        let typed = typed.replace("RUN", &run);
        let words: Vec<&str> = typed.split(' ').collect();
        let ran = world.orchestrate(&words).run()?;
        let printed = schemas.require(&typed, &ran)?;
        let found = printed.iter().find(|line| line["type"] == *kind);
        let found = found.ok_or_else(|| format!("`{typed}`: {}", ran.stdout))?;
        // Both are also described by themselves.
        match typed.as_str() {
            "log --json" => drop(schemas.require("events", &ran)?),
            "tool run --json" => drop(schemas.require("error", &ran)?),
            "status --json" => assert_eq!(found["approvals"][0]["hash"], hash, "{found:#}"),
            // A report without its tasks is no event either.
            "resume --json" => {
                let mut report = found.clone();
                report["tasks"] = json!("garbage");
                let schema = &schemas.validators["resume"];
                assert!(schema.is_valid(found) && !schema.is_valid(&report));
            }
            _ => {}
        }
    }
    let unused: Vec<&String> = schemas
        .validators
        .keys()
        .filter(|name| !schemas.used.contains(*name))
        .collect();
    assert_eq!(unused, [""; 0], "no output of these was read");
    Ok(())
}

fn an_unknown_schema_is_told_with_the_nearest() -> Outcome {
    let world = World::plain()?;
    says(
        &world.types(&["schema", "agent", "list"], 2)?,
        &[
            "there is no schema `agent list`",
            "did you mean `agents list`?",
        ],
    )?;
    says(
        &world.types(&["schema", "nothing like it"], 2)?,
        &["`orchestrate schema` lists them"],
    )
}
