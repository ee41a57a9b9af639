//! The snippets of `docs/ci.md`, whose shell commands are taken from the page and run as the build
//! server runs them: with the built program and a scripted model, in a clone without a terminal.
//!
//! What installs the program needs a network and root, and is left out.

use std::fs;
use std::path::PathBuf;

use libtest_mimic::Failed;
use serde_json::json;

use crate::support::{Outcome, Ran, Script, World, at, git, lines};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/ci.md");
/// The step of a workflow that installs the program.
const INSTALL: &str = "Install";
/// A project with a command of its own, which needs consent.
const PROJECT: &str = "verify = \"test -e plan.md\"\n";

/// Shell commands that a build server runs in one shell.
struct Step {
    name: String,
    script: String,
}

/// A repository with a plan, as it is checked out, and the one that it was cloned from.
struct Checkout {
    world: World,
    origin: PathBuf,
}

impl Checkout {
    fn new(plan: &str) -> Result<Self, Failed> {
        let world = World::plain()?;
        world.commit("orchestrate.toml", PROJECT)?;
        world.commit("plan.md", plan)?;
        let origin = world.home.path().join("origin.git");
        let shown = origin.display().to_string();
        git(world.home.path(), &["init", "-q", "--bare", &shown])?;
        world.repository.git(&["remote", "add", "origin", &shown])?;
        Ok(Self { world, origin })
    }

    /// Runs a step; both tasks of a plan write a file.
    fn run(&self, step: &Step) -> Result<Ran, Failed> {
        let script = Script::default()
            .writes("T1", "hi.txt", "hi\n")
            .writes("T2", "bye.txt", "bye\n");
        let model = self.world.script(&script)?;
        let program = PathBuf::from(env!("CARGO_BIN_EXE_orchestrate"));
        let folder = program.parent().ok_or("the program has no folder")?;
        let path = std::env::var("PATH")?;
        let arguments = [
            "--noprofile",
            "--norc",
            "-eo",
            "pipefail",
            "-c",
            &step.script,
        ];
        let repository = self.world.repository.path();
        let shell = self.world.home.command("bash", repository, &arguments);
        shell
            .env("PATH", format!("{}:{path}", folder.display()))
            .env("CI", "true")
            .env("ORCHESTRATE_MODEL", model)
            .env("PLAN", "plan.md")
            .env("PUSH_URL", &self.origin)
            .env("GITHUB_RUN_ID", "7")
            .env("CI_PIPELINE_ID", "7")
            .run()
    }

    /// Requires what a job has to leave: a pushed branch with these files, and a report in which
    /// the run ended with this code.
    fn require_left(&self, files: &str, code: u8) -> Outcome {
        let tree = ["ls-tree", "--name-only", "agents/7", "hi.txt", "bye.txt"];
        assert_eq!(git(&self.origin, &tree)?.trim(), files);
        let report = |name: &str| self.world.repository.read(&format!("report/{name}"));
        let status = lines(&report("status.json")?)?;
        assert_eq!(at(&status[0], "/exit_code")?, &json!(code));
        assert!(!lines(&report("events.jsonl")?)?.is_empty());
        assert!(report("calls.txt")?.contains("write_file"));
        let bundle = ["bundle", "list-heads", "report/branches.bundle"];
        assert!(self.world.repository.git(&bundle)?.contains("/T1"));
        Ok(())
    }
}

pub(super) fn github_runs() -> Outcome {
    let steps = workflow_steps(&snippet("## GitHub Actions")?);
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, [INSTALL, "Consent and check", "Run", "Keep"]);
    let checkout = Checkout::new("- [ ] T1 Say hi\n- [ ] T2 Say bye (depends: T1)\n")?;
    // Twice, as on a runner that keeps its clone.
    for _ in 0..2 {
        for step in steps.iter().filter(|step| step.name != INSTALL) {
            checkout.run(step)?.exits(0)?;
        }
        checkout.require_left("bye.txt\nhi.txt", 0)?;
        git(
            &checkout.origin,
            &["update-ref", "-d", "refs/heads/agents/7"],
        )?;
    }
    Ok(())
}

/// GitLab checks out a commit without its branch. One task waits for a person, so the job ends with
/// exit code 3, and what is merged has been pushed.
pub(super) fn gitlab_runs() -> Outcome {
    let snippet = snippet("## GitLab")?;
    let checkout = Checkout::new("- [ ] T1 Say hi\n- [ ] T2 Say bye (review: required)\n")?;
    checkout
        .world
        .repository
        .git(&["checkout", "-q", "--detach"])?;
    for (list, code) in [("script", 3), ("after_script", 0)] {
        let step = list_of(&snippet, list);
        assert!(step.script.contains("orchestrate"), "{list} is empty");
        checkout.run(&step)?.exits(code)?;
    }
    checkout.require_left("hi.txt", 3)
}

/// Returns the snippet of a section.
fn snippet(section: &str) -> Result<String, Failed> {
    let page = fs::read_to_string(PAGE)?;
    let snippet = page
        .split_once(&format!("\n{section}\n"))
        .and_then(|(_, rest)| rest.split_once("\n```yaml\n"))
        .and_then(|(_, rest)| rest.split_once("\n```\n"));
    let (snippet, _) = snippet.ok_or_else(|| format!("no snippet below {section}"))?;
    Ok(snippet.to_owned())
}

/// Returns the steps of a workflow that run a script: `name` and the lines below `run: |`.
fn workflow_steps(workflow: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut name = "";
    let mut rest = workflow.lines().peekable();
    while let Some(line) = rest.next() {
        if let Some(named) = line.trim_start().strip_prefix("- name: ") {
            name = named;
        }
        if line.trim_start() == "run: |" {
            let mut script = String::new();
            while let Some(below) = rest.next_if(|below| indent(below) > indent(line)) {
                script.push_str(below);
                script.push('\n');
            }
            let name = name.to_owned();
            steps.push(Step { name, script });
        }
    }
    steps
}

/// Returns a list of commands of a job, of which an item is a line or the lines below `- |`.
fn list_of(job: &str, name: &str) -> Step {
    let begin = format!("  {name}:");
    let items = job.lines().skip_while(|line| *line != begin).skip(1);
    let mut script = String::new();
    for line in items.take_while(|line| indent(line) > 2) {
        let command = line.trim_start();
        match command.strip_prefix("- ") {
            Some("|") => continue,
            Some(item) => script.push_str(item),
            None => script.push_str(command),
        }
        script.push('\n');
    }
    let name = name.to_owned();
    Step { name, script }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
