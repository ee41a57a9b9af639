//! Commands besides `run`: consent on a terminal, the log, the roles, completions, two runs at
//! once.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_coordinator::{Coordinator, Settings, Takeover};
use orchestrate_core::RunId;
use orchestrate_journal::{Journal, Received, Store};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Case, Home, Invocation, Need, Outcome, Repository, Script, WAITING, World, at, case, done,
    fail, git_program, lines, on, reads, runtime, sandboxed, until, with_program, writes,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        sandboxed!(consent_is_typed_once_on_a_terminal).needs(Need::TERMINAL),
        case!(config_trust_asks_for_each_command).needs(Need::TERMINAL),
        sandboxed!(the_transcript_is_what_was_said),
        sandboxed!(a_commit_has_a_subject_and_trailers),
        case!(roles_are_listed_and_shown),
        case!(completions_name_every_command),
        sandboxed!(a_shell_is_offered_runs_tasks_and_roles),
        sandboxed!(boxes_are_written_wherever_landing_is_typed),
        sandboxed!(landing_on_a_full_disk_puts_all_back).needs(Need::MOUNTS),
        sandboxed!(two_runs_work_side_by_side),
        case!(a_required_sandbox_is_required_of_a_takeover),
        sandboxed!(one_goes_to_whoever_took_the_run_just_before),
        sandboxed!(one_whose_coordinator_ends_is_carried_out),
    ]
}

const PLAN: &str = "- [ ] T1 Make it (run: touch made)\n";
const QUESTION: &str = "Allow it in this repository from now on? [y/N] ";

fn boxes_are_written_wherever_landing_is_typed() -> Outcome {
    let world = World::plain()?;
    world.repository.write("plans/plan.md", PLAN)?;
    let type_in = |folder: &str, arguments: &[&str]| {
        world
            .home
            .orchestrate(&world.repository.path().join(folder), arguments)
            .run()?
            .exits(0)
    };
    for (runs, plan, lands) in [("plans", "plan.md", ""), ("", "plans/plan.md", "plans")] {
        type_in(runs, &["run", plan])?;
        type_in(lands, &["land"])?;
        if world.repository.read("plans/plan.md")? != PLAN.replace("[ ]", "[x]") {
            return fail(format!("run in {runs:?}, landed in {lands:?}"));
        }
        type_in(lands, &["land", "--undo"])?;
        if world.repository.read("plans/plan.md")? != PLAN {
            return fail(format!("run in {runs:?}, taken back in {lands:?}"));
        }
    }
    Ok(())
}

/// The file that grows comes after one that shrinks; once both are written, there is no room for
/// the old version of the first.
fn landing_on_a_full_disk_puts_all_back() -> Outcome {
    let world = World::plain()?;
    world.repository.write("a.txt", &"o".repeat(300_000))?;
    world.repository.write("b.txt", "o")?;
    world.git("add .")?;
    world.git("commit -q -m large")?;
    let task = "- [ ] T1 Make it (run: head -c 200000 /dev/urandom > a.txt; head -c 400000 /dev/urandom > b.txt)\n";
    world.repository.write("plan.md", task)?;
    let (program, copy) = (
        env!("CARGO_BIN_EXE_orchestrate"),
        world.home.path().join("copy"),
    );
    std::fs::create_dir(&copy)?;
    let script = format!(
        "set -e; mount -t tmpfs -o size=16m none {0}; cp -a . {0}; cd {0}; {program} run plan.md; set +e
        head -c $(( ($(df --output=avail -k . | tail -1) - 80) * 1024 )) /dev/zero > .git/filler
        {program} land --no-write-back; echo first $?; git status --porcelain --untracked-files=no; rm .git/filler
        {program} land --no-write-back; echo second $?; wc -c a.txt b.txt",
        copy.display()
    );
    let arguments = ["--user", "--map-root-user", "--mount", "sh", "-c", &script];
    let ran = world
        .home
        .command("unshare", world.repository.path(), &arguments)
        .run()?
        .exits(0)?;
    let words = [
        "b.txt (No space left on the disk of",
        "nothing was changed",
        "hint: free some space",
    ];
    let landed = [
        "first 1\nrun ",
        "second 0\n",
        "200000 a.txt\n",
        "400000 b.txt\n",
    ];
    let said = words.iter().all(|words| ran.stderr.contains(words));
    assert!(
        said && landed.iter().all(|words| ran.stdout.contains(words)),
        "{}",
        ran.stdout + &ran.stderr
    );
    Ok(())
}

fn consent_is_typed_once_on_a_terminal() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("orchestrate.toml", "verify = 'test -f made'\n")?;
    world.repository.write("plan.md", PLAN)?;
    let answered = |keys: &str| {
        let terminal = world
            .orchestrate(&["run", "plan.md", "--no-verify-base"])
            .start_in_terminal()?;
        terminal.shows(QUESTION)?;
        terminal.types(keys)?;
        terminal.end()
    };
    let refused = answered("n\n")?.exits(2)?;
    assert!(
        refused
            .stdout
            .contains("needs your consent; nothing was run")
            && world.git("branch")? == "* main",
        "{}",
        refused.stdout
    );
    // Enter alone is no consent either.
    answered("\n")?.exits(2)?;
    let allowed = answered("y\n")?.exits(0)?;
    if !allowed
        .stdout
        .contains("orchestrate.toml:1:1 wants to run this command in the sandbox, as `verify`")
    {
        return fail(allowed.stdout);
    }
    let terminal = world
        .orchestrate(&["run", "plan.md", "--no-verify-base"])
        .start_in_terminal()?;
    let again = terminal.end()?.exits(0)?;
    assert!(!again.stdout.contains(QUESTION), "{}", again.stdout);
    world.repository.write(
        "orchestrate.toml",
        "verify = 'test -f made'\n[worktree]\nsetup = 'x'\nsetup_network = true\n",
    )?;
    let terminal = world
        .orchestrate(&["run", "plan.md", "--no-verify-base"])
        .start_in_terminal()?;
    terminal.shows("MAY USE THE NETWORK")?;
    terminal.shows("Allow it with the network, in this repository from now on? [y/N]")?;
    terminal.types("n\n")?;
    terminal.end()?.exits(2).map(drop)
}

fn config_trust_asks_for_each_command() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "orchestrate.toml",
        "verify = 'make check'\n[worktree]\nsetup = 'make deps'\n",
    )?;
    let trust = || world.orchestrate(&["config", "trust"]);
    let consented = || -> Result<Vec<bool>, Failed> {
        let listed = world.types(&["config", "trust", "--json"], 0)?.json()?;
        Ok(listed["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| one["consented"] == json!(true))
            .collect())
    };
    let terminal = trust().start_in_terminal()?;
    terminal.shows("consent to verify = make check? [y/N] ")?;
    terminal.types("y\n")?;
    terminal.shows("consent to worktree.setup = make deps? [y/N] ")?;
    terminal.types("\n")?;
    let first = terminal.end()?.exits(0)?;
    if !first.stdout.contains("1 without consent") || consented()? != [true, false] {
        return fail(first.stdout);
    }
    // Only commands without consent are asked about again.
    let terminal = trust().start_in_terminal()?;
    terminal.shows("consent to worktree.setup")?;
    terminal.types("yes\n")?;
    let second = terminal.end()?.exits(0)?;
    if second.stdout.contains("consent to verify = make check?") || consented()? != [true, true] {
        return fail(second.stdout);
    }
    // Without a terminal nothing is asked, and nothing is consented to.
    world
        .repository
        .write("orchestrate.toml", "verify = 'make other'\n")?;
    trust().stdin("y\n").run()?.exits(0)?;
    assert_eq!(consented()?, [false], "a pipe consented");
    Ok(())
}

fn a_commit_has_a_subject_and_trailers() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 (run: touch   made)\n- [ ] T2 Make it (run: touch two) (depends: T1)\n",
    )?;
    world.types(&["run", "plan.md"], 0)?;
    let format = "--format=%s|%b|%(trailers:key=Orchestrate-Task,valueonly,separator=%x2C)";
    for (task, subject) in [("T1", "T1: touch made"), ("T2", "Make it")] {
        let branches = world.git("for-each-ref --format=%(refname) refs/heads/orchestrate/")?;
        let branch = branches
            .lines()
            .find(|branch| branch.ends_with(task))
            .unwrap_or_default();
        let commit = world.git(&format!("log -1 {format} {branch}"))?;
        assert!(commit.starts_with(&format!("{subject}|")), "{commit}");
        assert!(commit.trim_end().ends_with(&format!("|{task}")), "{commit}");
    }
    Ok(())
}

fn the_transcript_is_what_was_said() -> Outcome {
    let world = World::plain()?;
    let script = Script::default()
        .rule(writes(
            reads(on("T1", 1).text("I look first."), "src/lib.txt"),
            "one.txt",
        ))
        .rule(done("T1"));
    let model = script.write_to(&world.home.path().join("model.jsonl"))?;
    world.repository.write("plan.md", "- [ ] T1 Write it\n")?;
    world.types(&["run", "plan.md", "--model", &model], 0)?;
    let log = |arguments: &[&str]| -> Result<String, Failed> {
        Ok(world.types(&[&["log"], arguments].concat(), 0)?.stdout)
    };
    let expected = "--- T1, turn 1\n  | I look first.\n> read_file({\"path\":\"src/lib.txt\"})\n\
        > write_file({\"path\":\"one.txt\",\"content\":\"1\\n\"})\n\
        < read_file: ok\n  |      1\tone\n  |      2\ttwo\n  |      3\tthree\n\
        < write_file: ok\n  | created one.txt (2 B)\n--- T1, turn 2\n  | Done.\n";
    for said in [log(&["T1", "--transcript"])?, log(&["--transcript"])?] {
        assert_eq!(said, expected, "{said}\ninstead of\n{expected}");
    }
    let tools = log(&["--tools"])?;
    assert!(tools.lines().count() >= 6, "{tools}");
    assert!(!tools.contains("error_kind"), "{tools}");
    assert!(tools.contains("  | created one.txt (2 B)\n"), "{tools}");
    let facts = lines(&log(&["--json", "--tools"])?)?;
    let kinds: Vec<&Value> = facts.iter().map(|fact| &fact["type"]).collect();
    assert_eq!(kinds.len(), 4, "{kinds:?}");
    assert!(log(&["--messages"])?.is_empty(), "{kinds:?}");
    Ok(())
}

fn roles_are_listed_and_shown() -> Outcome {
    let world = World::plain()?;
    let role = "---\nname: poet\ndescription: Writes verses.\ntools: read_file, write_file\n---\nRhyme in pairs.\n";
    world.commit(".orchestrate/agents/poet.md", role)?;
    let agents = |arguments: &[&str]| world.orchestrate(&[&["agents"], arguments].concat()).run();
    let names: Vec<String> = agents(&["list", "--json"])?.exits(0)?.json()?["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|role| Some(role["name"].as_str()?.to_owned()))
        .collect();
    let shipped = [
        "coordinator",
        "implementer",
        "planner",
        "poet",
        "researcher",
        "resolver",
        "reviewer",
        "tester",
    ];
    assert_eq!(names, shipped);
    let listed = agents(&["list"])?.exits(0)?.stdout;
    let shown = agents(&["show", "poet"])?.exits(0)?.stdout;
    let words = [
        "poet: Writes verses.",
        ".orchestrate/agents/poet.md",
        "tools: read_file, write_file",
        "Rhyme in pairs.",
    ];
    assert!(
        listed.contains("Writes verses.") && words.iter().all(|word| shown.contains(word)),
        "{listed}\n{shown}"
    );
    let unknown = agents(&["show", "poets"])?.exits(2)?.stderr;
    assert!(unknown.contains("did you mean `poet`?"), "{unknown}");
    Ok(())
}

fn completions_name_every_command() -> Outcome {
    let home = Home::new()?;
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = home
            .orchestrate(home.path(), &["completions", shell])
            .run()?
            .exits(0)?
            .stdout;
        if !script.contains("_ORCHESTRATE_COMPLETE") {
            return fail(format!("{shell} does not ask the program: {script}"));
        }
    }
    home.orchestrate(home.path(), &["completions", "tcsh"])
        .run()?
        .exits(2)?;
    let help = home
        .orchestrate(home.path(), &["--help"])
        .run()?
        .exits(0)?
        .stdout;
    let commands = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let first_words = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let commands: Vec<&str> = first_words.filter(|word| !word.is_empty()).collect();
    assert!(commands.len() >= 20, "{help}");
    let offered = offered(home.orchestrate(home.path(), &["--", "orchestrate", ""]), 1)?;
    let missing = commands.iter().find(|name| !offered.contains(**name));
    assert_eq!(missing, None, "{offered:?}");
    Ok(())
}

/// Returns what a shell is offered for this word of a command line, without options.
fn offered(asked: Invocation, word: usize) -> Result<BTreeSet<String>, Failed> {
    let answer = asked
        .env("_ORCHESTRATE_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", word.to_string())
        .env("_CLAP_IFS", "\n")
        .run()?
        .exits(0)?;
    if !answer.stderr.is_empty() {
        return fail(format!("drawn into the prompt: {}", answer.stderr));
    }
    let names = answer.stdout.lines().filter(|name| !name.starts_with('-'));
    Ok(names.map(str::to_owned).collect())
}

fn a_shell_is_offered_runs_tasks_and_roles() -> Outcome {
    let world =
        World::with_plan("- [ ] T1 Do nothing (run: true)\n- [ ] T2 Nor here (run: true)\n")?;
    let role = "---\nname: poet\ndescription: Writes verses.\n---\nRhyme in pairs.\n";
    world.commit(".orchestrate/agents/poet.md", role)?;
    let report = world.types(&["run", "plan.md", "--json"], 0)?.json()?;
    let run = at(&report, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let ask = |line: &[&str]| {
        let asked = [&["--", "orchestrate"], line].concat();
        offered(world.orchestrate(&asked), line.len())
    };
    assert_eq!(ask(&["status", ""])?, BTreeSet::from([run.clone()]));
    assert_eq!(ask(&["status", "x"])?, BTreeSet::new());
    let tasks = BTreeSet::from(["T1".to_owned(), "T2".to_owned()]);
    assert_eq!(ask(&["retry", "T"])?, tasks);
    let both = ask(&["review", ""])?;
    assert!(both.is_superset(&tasks) && both.contains(&run), "{both:?}");
    let roles = ask(&["run", "plan.md", "--agent", ""])?;
    assert!(
        roles.contains("poet") && roles.contains("reviewer"),
        "{roles:?}"
    );
    assert!(ask(&["message", "role:p"])?.contains("role:poet"));
    let asked = ["--", "orchestrate", "status", ""];
    let outside = world.home.orchestrate(world.home.path(), &asked);
    assert_eq!(offered(outside, 2)?, BTreeSet::new());
    Ok(())
}

fn two_runs_work_side_by_side() -> Outcome {
    let world = World::lived_in()?;
    let before = world.repository.fingerprint()?;
    let plan = world.home.path().join("plan.md");
    std::fs::write(
        &plan,
        format!("{WAITING}- [ ] T2 Make more (run: touch more)\n"),
    )?;
    let arguments = [
        "run",
        &plan.display().to_string(),
        "--output-format",
        "stream-json",
    ];
    let start = || world.orchestrate(&arguments).start();
    let (first, second) = (start()?, start()?);
    // Both work before either ends.
    let has_begun = |line: &str| line.contains("\"tool.started\"");
    let begun = first.line(has_begun)?;
    second.line(has_begun)?;
    // The control: of one run there cannot be two at once, so the second attempt names the process
    // of the first.
    let run = at(&lines(&begun)?[0], "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let refused = world.types(&["resume", &run], 2)?;
    if !refused.stderr.contains(&first.pid().to_string()) {
        return fail(refused.stderr);
    }
    world.repository.write(".git/objects/go", "")?;
    let mut branches = Vec::new();
    for running in [first, second] {
        let report = lines(&running.end()?.exits(0)?.stdout)?
            .pop()
            .unwrap_or_default();
        let branch = at(&report, "/integration_branch")?
            .as_str()
            .unwrap_or_default()
            .to_owned();
        for file in ["one", "more"] {
            world.repository.show(&branch, file)?;
        }
        branches.push(branch);
    }
    before.require_same(&world.repository.fingerprint()?)?;
    let runs = world.types(&["status", "--all", "--json"], 0)?.json()?;
    assert_ne!(branches[0], branches[1], "{runs}");
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(2), "{runs}");
    Ok(())
}

/// Neither `resume` nor a command that resumes the run continues it without a sandbox if one is
/// required now.
fn a_required_sandbox_is_required_of_a_takeover() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 Make it (run: sleep 1; touch made)\n- [ ] T2 Look (depends: T1)\n",
    )?;
    let script = Script::default()
        .rule(on("T2", 1).call("list_files", &json!({})))
        .rule(done("T2"));
    let model = script.write_to(&world.home.path().join("model.jsonl"))?;
    let arguments = [
        "run",
        "plan.md",
        "--no-sandbox",
        "--output-format",
        "stream-json",
        "--model",
        &model,
    ];
    let running = world.orchestrate(&arguments).start()?;
    running.line(|line| line.contains("\"tool.started\""))?;
    running.signal(Signal::KILL)?;
    running.end()?.exits(137)?;
    let typed: [&[&str]; 3] = [
        &["resume"],
        &["message", "T2", "go on", "--follow"],
        &["retry", "T1", "-m", "go on"],
    ];
    for arguments in typed {
        let strict = world
            .orchestrate(arguments)
            .env("ORCHESTRATE_SANDBOX_MODE", "strict");
        let refused = strict.run()?.exits(2)?.stderr;
        if !refused.contains("was started with --no-sandbox, but ORCHESTRATE_SANDBOX_MODE=strict demands the full tier")
        {
            return fail(format!("{arguments:?}: {refused}"));
        }
    }
    world.types(&["message", "T2", "go on", "--follow"], 1)?;
    Ok(())
}

/// Creates a run whose only task awaits review, and returns it with its store.
fn awaiting_review() -> Result<(Home, Repository, Store, RunId), Failed> {
    let world = World::plain()?;
    world.repository.write("plan.md", PLAN)?;
    world.types(&["run", "plan.md", "--merge", "review"], 3)?;
    let store = world.archive()?.store().clone();
    let run = store
        .latest_run()?
        .ok_or_else(|| Failed::from("there is no run"))?;
    Ok((world.home, world.repository, store, run))
}

/// Waits for a command that has been sent to a run, and returns it.
fn sent(store: &Store, run: &RunId) -> Result<Received, Failed> {
    until(Duration::from_secs(60), || {
        Ok(store.open_requests(run)?.pop())
    })
}

/// Another process takes the run after the command has found no coordinator, and before the command
/// tries to take it.
fn one_goes_to_whoever_took_the_run_just_before() -> Outcome {
    let (home, repository, store, run) = awaiting_review()?;
    let (calls, pipe) = (home.path().join("calls"), home.path().join("pipe"));
    let rejecting = |task: &str, git: &str| -> Result<Invocation, Failed> {
        let script = format!(
            "echo >> '{}'; {git}\nexec {} \"$@\"",
            calls.display(),
            git_program(&home)?
        );
        let path = with_program(&home, "git", &script)?;
        let typed = ["reject", task, "-m", "no", "--json", "--follow"];
        Ok(home
            .orchestrate(repository.path(), &typed)
            .env("PATH", path))
    };
    // A command for an unknown task calls git as often as any command does to find the run.
    rejecting("T9", ":")?.run()?.exits(2)?;
    let to_find_it = std::fs::read(&calls)?.len();
    std::fs::remove_file(&calls)?;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )?;
    let (calls, shown) = (calls.display(), pipe.display());
    let waits = format!(
        "if test $(wc -c < '{calls}') = {}; then cat '{shown}'; fi",
        to_find_it + 1
    );
    let asking = rejecting("T1", &waits)?.start()?;
    // The command opens the repository in between. A pipe can be opened like this once it has a
    // reader.
    let opening = until(Duration::from_secs(60), || {
        Ok(OpenOptions::new()
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(&pipe)
            .ok())
    })?;
    let quicker = Journal::resume(&store, &run)?;
    drop(opening);
    let received = sent(&store, &run)?;
    runtime()?.block_on(quicker.answer(received.id, Ok("heard".to_owned())))?;
    let answer = asking.end()?.exits(0)?.json()?;
    assert_eq!(*at(&answer, "/answer")?, "heard", "{answer}");
    Ok(())
}

/// The process that sent a command takes the run over if no process is left that could answer.
fn one_whose_coordinator_ends_is_carried_out() -> Outcome {
    let (home, repository, store, run) = awaiting_review()?;
    let ending = Journal::resume(&store, &run)?;
    let asking = home
        .orchestrate(repository.path(), &["approve", "T1", "--follow"])
        .start()?;
    let id = sent(&store, &run)?.id;
    drop(ending);
    let ran = asking.end()?.exits(0)?;
    let log = home
        .orchestrate(repository.path(), &["log", "--json"])
        .run()?
        .exits(0)?
        .stdout;
    let is_answered = matches!(store.answer(id)?, Some(Ok(said)) if ran.stderr.contains(&said));
    let once = ["\"review.approved\"", "\"task.merged\""].map(|fact| log.matches(fact).count());
    assert!(is_answered && once == [1, 1], "{ran:?}\n{log}");
    // A process that comes later still finds that the command was answered.
    let (coordinator, facts) = (
        Coordinator::open(repository.path(), Settings::new(home.state()))?,
        store.state(&run)?.seq,
    );
    let late = runtime()?.block_on(coordinator.resume_with_sent(&run, id))?;
    assert!(
        matches!(late, Takeover::Answered) && store.state(&run)?.seq == facts,
        "it was carried out again"
    );
    Ok(())
}
