//! Warm starts: what the base's check has left is there for each agent, belongs to it, and goes
//! with its worktree.

use std::path::Path;

use libtest_mimic::Failed;
use orchestrate_core::TaskState::{Failed as FailedTask, Merged};
use orchestrate_core::event::Event;
use orchestrate_core::event::settings::WarmLimit;
use orchestrate_core::run::request::Request;
use orchestrate_sandbox::Confinement;

use crate::support::{Case, Outcome, Played, Script, World, case, fail, plan_input, runtime};

/// The check of the tests: it notes each time that it runs, in files that git ignores.
const BUILDS: &str = "mkdir -p target && echo built >> target/log && ln -f target/log target/same && touch -d @1000 target/log";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(what_the_bases_check_left_is_in_each_new_worktree),
        case!(what_one_agent_writes_reaches_no_other),
        case!(a_first_build_compiles_only_what_has_changed).in_tier(Confinement::Full),
        case!(outputs_over_the_limit_are_left_out_by_name),
        case!(what_a_failed_check_of_the_base_left_is_gone),
        case!(a_resumed_run_starts_with_the_same_outputs),
        case!(a_run_on_landed_work_starts_with_the_outputs_of_the_one_before),
        case!(caches_of_the_home_are_seeded_by_the_base_alone),
        case!(the_worktree_of_merged_work_goes_at_once),
        case!(a_worktree_with_files_of_its_own_stays),
        // In the other tier, outputs are read for paths, and these are long.
        case!(no_agent_starts_without_room_on_the_disk).in_tier(Confinement::Full),
    ]
}

/// Returns a world whose repository ignores some files.
fn world(ignored: &str) -> Result<World, Failed> {
    let world = World::plain()?;
    world.commit(".gitignore", ignored)?;
    Ok(world)
}

/// Plays a plan of commands, with this check, which has to pass on the base.
fn play(world: &World, plan: &str, verify: &str) -> Result<Played, Failed> {
    world.play(plan, &Script::default(), |settings| {
        settings.run.verify = Some(verify.to_owned());
        settings.run.verify_base = true;
    })
}

/// Reports whether copies share their blocks here, so that their size does not matter.
fn shares_blocks(world: &World) -> Result<bool, Failed> {
    world.write("original", "shared\n")?;
    let copy = ["--reflink=always", "original", "copy"];
    Ok(world
        .home
        .command("cp", world.home.path(), &copy)
        .run()?
        .exits(0)
        .is_ok())
}

fn same(found: &str, expected: &str) -> Outcome {
    assert_eq!(found, expected, "{found:?}, not {expected:?}");
    Ok(())
}

/// Times and links between the files are as they were; the second task begins with other tracked
/// files.
fn what_the_bases_check_left_is_in_each_new_worktree() -> Outcome {
    let world = world("target/\n")?;
    let look = "stat -c '%Y %h' target/log && test target/log -ef target/same && cat target/log";
    let plan = format!(
        "- [ ] T1 look (run: {{ {look}; }} > T1.txt)\n- [ ] T2 look (run: {{ {look}; }} > T2.txt) (depends: T1)\n"
    );
    let played = play(&world, &plan, BUILDS)?;
    played.require_merged(&["T1", "T2"])?;
    for file in ["T1.txt", "T2.txt"] {
        same(&world.merged(&played.report, file)?, "1000 2\nbuilt")?;
    }
    Ok(())
}

/// The first task changes nothing that is compiled, the second one a package on which nothing
/// depends.
fn a_first_build_compiles_only_what_has_changed() -> Outcome {
    let world = world("target/\n")?;
    let package = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
    };
    let files = [
        ("Cargo.toml", format!("{}[dependencies]\nlower = {{ path = \"lower\" }}\n", package("upper"))),
        (
            "src/lib.rs",
            "pub fn two() -> u32 { 2 * lower::one() }\n#[test]\nfn holds() { assert_eq!(two(), 2) }\n".into(),
        ),
        ("lower/Cargo.toml", package("lower")),
        ("lower/src/lib.rs", "pub fn one() -> u32 { 1 }\n".to_owned()),
    ];
    for (name, text) in files {
        world.repository.write(name, &text)?;
    }
    let locked = "version = 3\n\n[[package]]\nname = \"lower\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"upper\"\n\
                  version = \"0.1.0\"\ndependencies = [\n \"lower\",\n]\n";
    world.commit("Cargo.lock", locked)?;
    let plan = "- [ ] T1 look (run: cargo test --offline 2> T1.txt)\n\
                - [ ] T2 change (run: echo 'pub fn new() {}' >> src/lib.rs; cargo test --offline 2> T2.txt)\n\
                - [ ] T3 change (run: echo 'pub fn new() {}' >> lower/src/lib.rs; cargo test --offline 2> T3.txt)\n";
    let played = play(&world, plan, "cargo test --offline")?;
    played.require_merged(&["T1", "T2", "T3"])?;
    for (file, expected) in [
        ("T1.txt", ""),
        ("T2.txt", "upper"),
        ("T3.txt", "lower upper"),
    ] {
        let text = world.merged(&played.report, file)?;
        let compiled = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("Compiling "));
        let names: Vec<&str> = compiled.filter_map(|line| line.split(' ').next()).collect();
        same(&names.join(" "), expected)?;
    }
    Ok(())
}

/// Neither another agent, nor the check of merged work, nor the base.
fn what_one_agent_writes_reaches_no_other() -> Outcome {
    let world = world("target/\n")?;
    let plan = "- [ ] T1 write (run: echo evil >> target/log; echo evil > target/same; echo evil > target/new; touch one)\n\
                - [ ] T2 look (run: cat target/* > T2.txt) (depends: T1)\n";
    let verify = format!("! grep -r evil target && {BUILDS}");
    let played = play(&world, plan, &verify)?;
    played.require_merged(&["T1", "T2"])?;
    same(&world.merged(&played.report, "T2.txt")?, "built\nbuilt")
}

fn outputs_over_the_limit_are_left_out_by_name() -> Outcome {
    let world = world("target/\nsmall/\n")?;
    let config = "verify = 'mkdir -p target small; head -c 3000000 /dev/zero > target/big; echo x > small/x'\n\
                  [worktree]\nwarm_limit = { mib = 1, files = 10 }\n";
    world.commit("orchestrate.toml", config)?;
    world.types(&["config", "trust", "--yes"], 0)?;
    let shares_blocks = shares_blocks(&world)?;
    let expected = if shares_blocks {
        "test -e target/big"
    } else {
        "test ! -e target"
    };
    world.write(
        "plan.md",
        &format!("- [ ] T1 look (run: test -e small/x && {expected} && touch one)\n"),
    )?;
    let ran = world.types(&["run", &world.file("plan.md")], 0)?;
    let words = "new worktrees start with small; without target: 3 MiB in 2 files would be copied; at most 1 MiB in 10 files are";
    assert!(
        shares_blocks || ran.stderr.contains(words),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// The first check is red after it has left a file; a second one passes, without that file.
fn what_a_failed_check_of_the_base_left_is_gone() -> Outcome {
    let world = world("target/\n*.log\n")?;
    world.commit(".worktreeinclude", "now.log\n")?;
    let verify = "test ! -e target/half || exit 7; mkdir -p target; test -e now.log || { touch target/half; exit 1; }";
    world.write(
        "plan.md",
        "- [ ] T1 look (run: test -d target && test ! -e target/half && touch one)\n",
    )?;
    let arguments = ["run", &world.file("plan.md"), "--verify", verify];
    let red = world.types(&arguments, 2)?;
    let Some(run) = red
        .stderr
        .split_whitespace()
        .find(|word| word.starts_with("r-"))
        .map(str::to_owned)
    else {
        return fail(red.stderr);
    };
    world.repository.write("now.log", "")?;
    let run = run
        .trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '-')
        .to_owned();
    world.types(&["resume", &run], 0).map(drop)
}

/// The second process did not check the base, and finds what the first one has noted.
fn a_resumed_run_starts_with_the_same_outputs() -> Outcome {
    let world = world("target/\n*.log\n")?;
    let plan = "- [ ] T1 fail (run: false)\n- [ ] T2 look (run: cp target/log two.txt)\n";
    let played = play(&world, plan, BUILDS)?;
    played.require(1, &[("T1", FailedTask), ("T2", Merged)])?;
    let run = played.report.run_id.clone();
    let path = played.coordinator.layout().worktree(&run, &"T1".into());
    played.coordinator.store().send(
        &run,
        &Request::Retry {
            task: "T1".into(),
            message: None,
        },
    )?;
    drop(played);
    std::fs::remove_dir_all(&path)?;
    let again = world.resume(&run, &Script::default(), |_| {})?;
    again.require(1, &[("T1", FailedTask), ("T2", Merged)])?;
    same(
        &std::fs::read_to_string(path.join("target/log"))?,
        "built\n",
    )
}

/// The base of the second run passed when it was merged, so it is not checked again. Files that
/// have changed since the outputs were made are newer than these.
fn a_run_on_landed_work_starts_with_the_outputs_of_the_one_before() -> Outcome {
    let world = world("target/\nplan.md\n")?;
    world.repository.write("old.txt", "1\n")?;
    world.repository.write("changed.txt", "1\n")?;
    world.repository.commit_all("Files")?;
    let verify = "mkdir -p target; echo built >> target/log";
    let plan = |text: &str| world.write("plan.md", text);
    plan("- [ ] T1 change (run: echo 2 > changed.txt)\n")?;
    world.types(&["run", &world.file("plan.md"), "--verify", verify], 0)?;
    world.types(&["land"], 0)?;
    let look =
        "cp target/log seen.txt; test old.txt -ot target/log; test changed.txt -nt target/log";
    plan(&format!("- [ ] T2 look (run: {look})\n"))?;
    world.types(&["run", &world.file("plan.md"), "--verify", verify], 0)?;
    world.types(&["land"], 0)?;
    same(&world.repository.read("seen.txt")?, "built\n")?;
    // What is cleaned is not there any more.
    world.types(&["clean", "--ignored"], 0)?;
    let runs = world.archive()?.store().runs()?;
    for run in runs {
        world.types(&["clean", run.run_id.as_str(), "--ignored"], 0)?;
    }
    plan("- [ ] T3 look (run: test ! -e target && touch three.txt)\n")?;
    world
        .types(&["run", &world.file("plan.md"), "--verify", verify], 0)
        .map(drop)
}

/// Go's and uv's caches are there. The next run does not check its base, and begins with the same.
fn caches_of_the_home_are_seeded_by_the_base_alone() -> Outcome {
    let world = world("ignored\n")?;
    let verify = "mkdir -p $XDG_CACHE_HOME/go-build; test -e one || test -e two || echo base > $XDG_CACHE_HOME/go-build/entry; \
                  ! grep -q evil $XDG_CACHE_HOME/go-build/entry";
    let plan = "- [ ] T1 write (run: cp $XDG_CACHE_HOME/go-build/entry one; echo evil > $XDG_CACHE_HOME/go-build/entry)\n\
                - [ ] T2 look (run: cp $XDG_CACHE_HOME/go-build/entry two) (depends: T1)\n\
                - [ ] T3 keep (run: echo 3 > $XDG_CACHE_HOME/own; test -w $GRADLE_USER_HOME/.. && touch three)\n";
    let played = play(&world, plan, verify)?;
    played.require_merged(&["T1", "T2", "T3"])?;
    for file in ["one", "two"] {
        same(&world.merged(&played.report, file)?, "base")?;
    }
    let plan = "- [ ] T4 look (run: cp $XDG_CACHE_HOME/go-build/entry four; test ! -e $XDG_CACHE_HOME/own)\n";
    let second = play(&world, plan, verify)?;
    second.require_merged(&["T4"])?;
    same(&world.merged(&second.report, "four")?, "base")?;
    let is_checked =
        |event: &Event| matches!(event, Event::BaseVerified { output: None, .. }).then_some(());
    assert_eq!(second.pick(is_checked).len(), 1, "{second}");
    Ok(())
}

/// That of failed work stays; all are made again if they are needed.
fn the_worktree_of_merged_work_goes_at_once() -> Outcome {
    let world = world("target/\n")?;
    let plan = "- [ ] T1 one (run: echo more >> target/log; touch one)\n- [ ] T2 fail (run: touch half; false)\n";
    let played = play(&world, plan, BUILDS)?;
    played.require(1, &[("T1", Merged), ("T2", FailedTask)])?;
    let (layout, run) = (played.coordinator.layout(), &played.report.run_id);
    let places = ["T1", "T2"].map(|task| layout.worktree(run, &task.into()));
    let is_there = places.each_ref().map(|path| path.exists());
    let gone = played.pick(|event| match event {
        Event::WorktreeRemoved { task } => Some(task.as_str()),
        _ => None,
    });
    let trash = std::fs::read_dir(layout.trash()).map_or(0, Iterator::count);
    if (is_there, gone.as_slice(), trash) != ([false, true], ["T1"].as_slice(), 0) {
        return fail(format!("{is_there:?} {gone:?} {trash}\n{}", played.story()));
    }
    let listed = world.git("worktree list")?;
    let is_listed = |path: &Path| listed.contains(&path.display().to_string());
    assert!(!is_listed(&places[0]), "{listed}");
    Ok(())
}

/// Ignored files that nothing makes again stay until the run is cleaned.
fn a_worktree_with_files_of_its_own_stays() -> Outcome {
    let world = world("target/\n*.log\n")?;
    let played = play(
        &world,
        "- [ ] T1 one (run: echo mine > notes.log; touch one)\n",
        BUILDS,
    )?;
    played.require_merged(&["T1"])?;
    let path = played
        .coordinator
        .layout()
        .worktree(&played.report.run_id, &"T1".into());
    let notes = std::fs::read_to_string(path.join("notes.log")).unwrap_or_default();
    same(&notes, "mine\n")
}

/// The outputs are files without content that together are longer than the disk has room.
fn no_agent_starts_without_room_on_the_disk() -> Outcome {
    const FILE: u64 = 1 << 30;
    let world = world("target/\n")?;
    if shares_blocks(&world)? {
        return Ok(());
    }
    let disk = rustix::fs::statvfs(world.home.path())?;
    let files = 2 * disk.f_bavail.saturating_mul(disk.f_frsize).div_ceil(FILE) + 2;
    let coordinator = world.coordinator(&Script::default(), |settings| {
        settings.run.verify = Some(format!(
            "mkdir -p target && truncate -s {FILE} $(seq -f target/%g {files})"
        ));
        settings.run.verify_base = true;
        settings.run.warm_limit = WarmLimit {
            mib: u64::from(u32::MAX),
            files: 20_000,
        };
    })?;
    let plan = plan_input("- [ ] T1 one (run: touch one)\n")?;
    let ended = runtime()?.block_on(coordinator.run(plan));
    let said = ended
        .err()
        .map_or_else(|| "it ran".to_owned(), |error| error.to_string());
    let takes = said.strip_prefix("start the agent of T1: its worktree takes ");
    let takes = takes.and_then(|said| said.split_once(" MiB, and the disk of "));
    let takes: Option<u64> = takes.and_then(|(mib, _)| mib.parse().ok());
    assert!(
        takes.is_some_and(|mib| mib > files * (FILE >> 20)),
        "{said}"
    );
    Ok(())
}
