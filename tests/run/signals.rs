//! Ends runs of the built program from outside: Ctrl-C once, twice and three times, a terminal that
//! closes, and the signals of a service manager. The state is kept, the exit code and the journal
//! agree, no process survives.

use std::path::PathBuf;
use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_sandbox::Confinement;
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    Case, Home, Invocation, Need, Outcome, Rule, Script, WITHOUT_BUBBLEWRAP, World, at, case, done,
    fail, git_program, is_alive, require_gone, sandboxed, says, seconds, until, with_program,
};

/// How long a command may take to start on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(ctrl_c_once_lets_what_runs_end).needs(Need::TERMINAL),
        case!(a_small_terminal_shows_the_total).needs(Need::TERMINAL),
        case!(ctrl_c_twice_stops_and_the_run_goes_on_later).needs(Need::TERMINAL),
        case("signals::ctrl_c_three_times_leaves_no_process_full", || {
            ctrl_c_three_times(Confinement::Full)
        })
        .needs(Need::TERMINAL)
        .in_tier(Confinement::Full),
        case(
            "signals::ctrl_c_three_times_leaves_no_process_fallback",
            || ctrl_c_three_times(Confinement::Fallback),
        )
        .needs(Need::TERMINAL)
        .needs(Need::MOUNTS)
        .in_tier(Confinement::Fallback),
        case!(a_closed_terminal_stops_the_run).needs(Need::TERMINAL),
        case!(a_kill_from_elsewhere_asks_no_process),
        sandboxed!(a_signal_stops_a_landing_that_has_moved_nothing),
        sandboxed!(a_signal_stops_the_landing_of_a_run),
        sandboxed!(a_landing_that_moves_goes_to_its_end),
        sandboxed!(a_kill_ends_a_git_that_never_would),
        case!(the_journal_has_the_exit_code_of_the_process),
    ]
}

/// Creates a world with two tasks: the first one's command runs until it is killed, and the second
/// depends on it.
fn endless(word: &str) -> Result<World, Failed> {
    let one = || Rule::task("T1");
    let script = Script::default()
        .rule(
            one()
                .turn(2)
                .call("write_file", &json!({"path": "one.txt", "content": "1\n"})),
        )
        .rule(one().turn(1).call(
            "run_shell_command",
            &json!({ "command": format!("sleep {word}") }),
        ))
        .rule(done("T1"));
    prepared(
        "- [ ] T1 Wait\n- [ ] T2 After (depends: T1) (run: touch two)\n",
        &script,
    )
}

fn prepared(plan: &str, script: &Script) -> Result<World, Failed> {
    let world = World::with_plan_outside(plan)?;
    world.script(script)?;
    Ok(world)
}

/// Returns the arguments that run the plan.
fn typed(world: &World) -> [String; 4] {
    let model = format!("script:{}", world.file("script.jsonl"));
    [
        "run".to_owned(),
        world.file("plan.md"),
        "--model".to_owned(),
        model,
    ]
}

fn prepare(world: &World) -> Invocation {
    world.orchestrate(&typed(world).each_ref().map(String::as_str))
}

/// Requires what the journal records of the run: status, exit code, the state of each task.
fn require(world: &World, status: &str, exit_code: Option<i32>, tasks: &[&str]) -> Outcome {
    let shown = world.types(&["status", "--json"], 0)?.json()?;
    let states: Vec<_> = at(&shown, "/tasks")?
        .as_array()
        .into_iter()
        .flatten()
        .map(|task| &task["state"])
        .collect();
    assert_eq!(at(&shown, "/status")?, status, "{shown}");
    assert_eq!(*at(&shown, "/exit_code")?, json!(exit_code), "{shown}");
    assert_eq!(json!(states), json!(tasks), "{shown}");
    Ok(())
}

/// Returns the only worktree once it contains a file. Git cannot list a worktree that is being
/// created at that moment.
fn worktree_with(world: &World, file: &str) -> Result<Option<PathBuf>, Failed> {
    let Ok(listed) = world.git("worktree list --porcelain") else {
        return Ok(None);
    };
    let mut paths = listed
        .lines()
        .filter_map(|line| line.strip_prefix("worktree "))
        .skip(1)
        .map(PathBuf::from);
    Ok(paths.find(|path| path.join(file).exists()))
}

fn resume(world: &World) -> Outcome {
    world.types(&["resume"], 0)?;
    require(world, "succeeded", Some(0), &["merged", "merged"])
}

fn wait_until_alive(word: &str) -> Outcome {
    until(PATIENCE, || Ok(is_alive(word)?.then_some(())))
}

fn ctrl_c_once_lets_what_runs_end() -> Outcome {
    let plan =
        "- [ ] T1 Wait (run: sleep 1; touch one)\n- [ ] T2 After (depends: T1) (run: touch two)\n";
    let world = prepared(plan, &Script::default())?;
    let before = world.repository.fingerprint()?;
    let terminal = prepare(&world).start_in_terminal()?;
    terminal.shows("T1: started")?;
    terminal.interrupts()?;
    terminal.shows("finishing current turns, starting nothing new; Ctrl-C again stops now")?;
    let ended = terminal.end()?.exits(130)?;
    if !ended.stdout.contains("orchestrate resume r-") {
        return fail(ended.stdout);
    }
    require(&world, "interrupted", Some(130), &["merged", "pending"])?;
    resume(&world)?;
    before.require_same(&world.repository.fingerprint()?)
}

/// Agents for which there is no room are counted; the terminal becomes smaller during the run.
fn a_small_terminal_shows_the_total() -> Outcome {
    let home = Home::new()?;
    let word = seconds(home.path(), 6);
    let plan: String = (1..=6)
        .map(|n| format!("- [ ] T{n} Wait (run: sleep {word})\n"))
        .collect();
    let world = prepared(&plan, &Script::default())?;
    let terminal = prepare(&world).start_in_terminal()?;
    terminal.has_rows(5)?;
    terminal.shows("0 of 6 merged, 6 at work (3 not shown)")?;
    terminal.interrupts()?;
    terminal.shows("Ctrl-C again stops now")?;
    terminal.interrupts()?;
    terminal.end()?.exits(130)?;
    require_gone(&word)
}

fn ctrl_c_twice_stops_and_the_run_goes_on_later() -> Outcome {
    let home = Home::new()?;
    let word = seconds(home.path(), 4);
    let world = endless(&word)?;
    let before = world.repository.fingerprint()?;
    let terminal = prepare(&world).start_in_terminal()?;
    wait_until_alive(&word)?;
    terminal.interrupts()?;
    terminal.shows("Ctrl-C again stops now")?;
    assert!(
        is_alive(&word)?,
        "the control is dead: the first Ctrl-C has ended the command already"
    );
    terminal.interrupts()?;
    terminal.shows("stopping; the state is kept; Ctrl-C again kills")?;
    terminal.end()?.exits(130)?;
    require_gone(&word)?;
    require(&world, "interrupted", Some(130), &["ready", "pending"])?;
    let landed = world.types(&["land", "--json"], 0)?.json()?;
    let left_out = [
        "T1 is ready: it is not included",
        "T2 is pending: it is not included",
    ];
    assert_eq!(*at(&landed, "/warnings")?, json!(left_out), "{landed}");
    resume(&world)?;
    before.require_same(&world.repository.fingerprint()?)
}

/// Returns a plan whose command ignores every signal but SIGKILL, with a child, a grandchild and a
/// daemon that do so, too.
fn deaf(word: &str) -> String {
    let deaf = "trap '' TERM INT HUP QUIT;";
    format!(
        "- [ ] T1 Hang (run: {deaf} sleep {word} & setsid sh -c \"{deaf} sleep {word} & sleep {word}\" & sleep {word})\n"
    )
}

fn ctrl_c_three_times(tier: Confinement) -> Outcome {
    let home = Home::new()?;
    let word = seconds(home.path(), 5 + u32::from(tier == Confinement::Full));
    let world = prepared(&deaf(&word), &Script::default())?;
    let (before, run) = (world.repository.fingerprint()?, typed(&world));
    let arguments = run.each_ref().map(String::as_str);
    let (invocation, name) = match tier {
        Confinement::Full => (prepare(&world), "tier: full"),
        _ => (
            world
                .home
                .remounted(WITHOUT_BUBBLEWRAP, world.repository.path(), &arguments),
            "tier: fallback",
        ),
    };
    let terminal = invocation.start_in_terminal()?;
    terminal.shows(name)?;
    wait_until_alive(&word)?;
    for answer in [
        "Ctrl-C again stops now",
        "Ctrl-C again kills",
        "killing every process; recorded work is kept",
    ] {
        terminal.interrupts()?;
        terminal.shows(answer)?;
    }
    require_gone(&word)?;
    terminal.end()?.exits(130)?;
    before.require_same(&world.repository.fingerprint()?)?;
    // On a loaded machine it may end before it has recorded how. Even then it is not reported as
    // running.
    let recorded = require(&world, "interrupted", Some(130), &["ready"]);
    recorded.or_else(|_| require(&world, "stopped", None, &["ready"]))
}

fn a_kill_from_elsewhere_asks_no_process() -> Outcome {
    for (stop, is_asked) in [(&["stop", "--kill"][..], false), (&["stop"], true)] {
        let polite = "trap 'touch asked' TERM; touch started; while :; do sleep 0.05; done";
        let world = prepared(
            &format!("- [ ] T1 Hang (run: {polite})\n"),
            &Script::default(),
        )?;
        let running = prepare(&world).start()?;
        let worktree = until(PATIENCE, || worktree_with(&world, "started"))?;
        world.types(stop, 0)?;
        running.end()?.exits(130)?;
        if worktree.join("asked").exists() != is_asked {
            return fail(format!("{stop:?}: asked to end: {}", !is_asked));
        }
        // On a loaded machine a killed run may end before it has recorded how.
        let recorded = require(&world, "interrupted", Some(130), &["ready"]);
        recorded.or_else(|failed| {
            if is_asked {
                Err(failed)
            } else {
                require(&world, "stopped", None, &["ready"])
            }
        })?;
    }
    Ok(())
}

fn a_closed_terminal_stops_the_run() -> Outcome {
    let home = Home::new()?;
    let word = seconds(home.path(), 7);
    let world = endless(&word)?;
    let before = world.repository.fingerprint()?;
    let mut terminal = prepare(&world).start_in_terminal()?;
    // The control: while the terminal is open, the command runs, and the run is at work.
    wait_until_alive(&word)?;
    require(&world, "running", None, &["running", "pending"])?;
    terminal.close()?;
    terminal.end()?.exits(130)?;
    require_gone(&word)?;
    require(&world, "interrupted", Some(130), &["ready", "pending"])?;
    resume(&world)?;
    before.require_same(&world.repository.fingerprint()?)
}

fn the_journal_has_the_exit_code_of_the_process() -> Outcome {
    let home = Home::new()?;
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 130)] {
        let word = seconds(home.path(), u32::from(code == 143) + 8);
        let world = endless(&word)?;
        let running = prepare(&world).start()?;
        wait_until_alive(&word)?;
        running.signal(signal)?;
        running.end()?.exits(code)?;
        require_gone(&word)?;
        require(&world, "interrupted", Some(code), &["ready", "pending"])?;
    }
    Ok(())
}

/// Creates a world with a run that has ended and has a file to land.
fn one_to_land(options: &[&str]) -> Result<World, Failed> {
    let world = World::plain()?;
    let plan = world.write("plan.md", "- [ ] T1 Make one (run: touch one)\n")?;
    world.types(&[&["run", &plan], options].concat(), 0)?;
    Ok(world)
}

fn a_signal_stops_a_landing_that_has_moved_nothing() -> Outcome {
    let home = Home::new()?;
    let word = seconds(home.path(), 7);
    let world = one_to_land(&["--verify", &format!("test ! -e mine || sleep {word}")])?;
    world.commit("mine", "1\n")?;
    let before = world.repository.fingerprint()?;
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let landing = world.orchestrate(&["land"]).start()?;
        wait_until_alive(&word)?;
        landing.signal(signal)?;
        let ended = landing.end()?.exits(code)?;
        if !ended
            .stderr
            .contains("interrupted before anything was moved\nhint: `orchestrate land r-")
        {
            return fail(ended.stderr);
        }
        require_gone(&word)?;
        before.require_same(&world.repository.fingerprint()?)?;
    }
    Ok(())
}

/// The branch has a commit beyond the run's base, so the landing has something to check; `stop`
/// names the signal.
fn a_signal_stops_the_landing_of_a_run() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make one (run: touch one)\n")?;
    world.commit("mine", "1\n")?;
    let word = seconds(world.home.path(), 7);
    let verify = format!("test ! -e mine || sleep {word}");
    let typed = [
        "run", "plan.md", "--base", "HEAD~1", "--land", "--json", "--verify", &verify,
    ];
    let before = world.repository.fingerprint()?;
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let running = world.orchestrate(&typed).start()?;
        wait_until_alive(&word)?;
        says(
            &world.types(&["stop"], 2)?,
            &["is landing it", &format!("`kill {}` stops", running.pid())],
        )?;
        running.signal(signal)?;
        let ended = running.end()?.exits(code)?;
        says(
            &ended,
            &[
                "interrupted before anything was moved\nhint: `orchestrate land r-",
                "\"status\":\"interrupted\"",
            ],
        )?;
        require_gone(&word)?;
        before.require_same(&world.repository.fingerprint()?)?;
    }
    Ok(())
}

/// The process that moves the checkout sends the signal.
fn a_landing_that_moves_goes_to_its_end() -> Outcome {
    let world = one_to_land(&[])?;
    let script = format!(
        "case \"$*\" in *read-tree*) kill -INT $PPID;; esac\nexec {} \"$@\"",
        git_program(&world.home)?
    );
    let path = with_program(&world.home, "git", &script)?;
    let landed = world
        .orchestrate(&["land"])
        .env("PATH", &path)
        .run()?
        .exits(0)?;
    assert!(
        world.git("status --porcelain")?.is_empty() && world.repository.path().join("one").exists(),
        "{}",
        landed.stdout + &landed.stderr
    );
    Ok(())
}

/// Git blocks forever: while a worktree is filled, or while work is merged with the other task's.
fn a_kill_ends_a_git_that_never_would() -> Outcome {
    for hangs in ["read-tree --reset", "merge-tree --write-tree"] {
        let world = World::with_plan(
            "- [ ] T1 Make one (run: touch one)\n- [ ] T2 Make two (run: touch two)\n",
        )?;
        let [begun, never] = ["begun", "never"].map(|name| world.home.path().join(name));
        mkfifoat(CWD, &never, Mode::RUSR | Mode::WUSR)?;
        let waits = format!(
            "echo begun > {}; read word < {}",
            begun.display(),
            never.display()
        );
        let script = format!(
            "case \"$*\" in *'{hangs}'*) {waits};; esac\nexec {} \"$@\"",
            git_program(&world.home)?
        );
        let path = with_program(&world.home, "git", &script)?;
        let typed = ["run", "plan.md", "--output-format", "stream-json"];
        let running = world.orchestrate(&typed).env("PATH", &path).start()?;
        until(PATIENCE, || Ok(begun.exists().then_some(())))?;
        for answer in ["Ctrl-C again stops now", "Ctrl-C again kills", "killing"] {
            running.signal(Signal::INT)?;
            running.says(answer)?;
        }
        running.end()?.exits(130)?;
        // It recorded its end: a run whose process just died is reported as stopped.
        let status = world.types(&["status", "--json"], 0)?.json()?;
        assert_eq!(at(&status, "/status")?, "interrupted", "{hangs}: {status}");
        world.types(&["resume"], 0)?;
        world.types(&["land"], 0)?;
        assert!(
            ["one", "two"]
                .iter()
                .all(|name| world.repository.path().join(name).exists()),
            "{hangs}: something is lost"
        );
    }
    Ok(())
}
