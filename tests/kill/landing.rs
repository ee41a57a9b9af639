//! Kills a landing, or the undoing of one: the user's checkout is as it was or as landed, and
//! repeating the command completes it.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;

use super::plays::Play;
use super::scene::{Deed, FAILED, KILLED, PLAN, Scene};
use super::{CHILD_ARGUMENT, NO_FAULT};
use crate::person::look;
use crate::support::{Case, Invocation, Outcome, Script, case, write_program};

/// Changes a file and adds one whose name comes later; deletes none that [`look`] reads.
const TASKS: &str = "- [ ] T1 one (run: echo 1 > one.txt)\n- [ ] T2 two (run: echo 2 > kept.txt)\n";
/// Does the same with a large file.
const LARGE: &str =
    "- [ ] T1 one (run: printf %06000d 0 > kept.txt)\n- [ ] T2 two (run: echo 2 > one.txt)\n";
/// Shell code with which a program that git or the coordinator starts kills the coordinator: once,
/// and no other process if its parent has died already.
const KILL_ONCE: &str = "test -e \"$0.killed\" || { grep -q COORDINATOR /proc/$coordinator/cmdline && : > \"$0.killed\" \
                         && kill -KILL $coordinator; }";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case(
            "kill::at_an_append_a_landing_is_finished_by_the_next",
            || at_an_append_a_landing_is_finished_by_the_next(false),
        ),
        case(
            "kill::at_an_append_a_landing_with_a_merge_is_finished_by_the_next",
            || at_an_append_a_landing_is_finished_by_the_next(true),
        ),
        case(
            "kill::before_git_writes_the_checkout_a_landing_is_finished_by_the_next",
            || around_git(Moment::Before("read-tree")),
        ),
        case(
            "kill::while_git_writes_the_checkout_a_landing_is_finished_by_the_next",
            || around_git(Moment::While),
        ),
        case(
            "kill::after_git_wrote_the_checkout_a_landing_is_finished_by_the_next",
            || around_git(Moment::After("read-tree")),
        ),
        case(
            "kill::before_git_moves_the_branch_a_landing_is_finished_by_the_next",
            || around_git(Moment::Before("update-ref")),
        ),
        case(
            "kill::after_git_moved_the_branch_a_landing_is_finished_by_the_next",
            || around_git(Moment::After("update-ref")),
        ),
        case(
            "kill::without_room_to_put_back_a_landing_is_finished_by_the_next",
            || without_room("exit 1", FAILED),
        ),
        case(
            "kill::while_files_are_put_back_a_landing_is_finished_by_the_next",
            || without_room(KILL_ONCE, KILLED),
        ),
    ]
}

/// A run that has ended, to be landed.
struct Landable {
    scene: Scene,
    tip: String,
}

impl Landable {
    /// Runs [`TASKS`]; if `has_moved`, there are new commits on the user's branch, so landing has
    /// to merge.
    fn new(has_moved: bool) -> Result<Self, Failed> {
        let mut run = Self::of(TASKS, "kept.txt", "kept\n")?;
        if has_moved {
            commit(&run.scene, "meanwhile.txt", "m\n")?;
            run.tip = run.scene.world.git("rev-parse main")?;
        }
        Ok(run)
    }

    /// Runs these tasks on a commit in which a file has this text.
    fn of(tasks: &'static str, file: &str, text: &str) -> Result<Self, Failed> {
        let scene = Scene::of(&Play::of(tasks, Script::default()))?;
        scene.world.repository.write(PLAN, tasks)?;
        commit(&scene, file, text)?;
        scene.coordinate(NO_FAULT)?.exits(0)?;
        let tip = scene.world.git("rev-parse main")?;
        Ok(Self { scene, tip })
    }

    /// Returns everything that landing may move. A merge that is repeated has another time, so its
    /// commit is replaced by a word.
    fn look(&self) -> Result<String, Failed> {
        let main = self.scene.world.git("rev-parse main")?;
        let seen = look(&self.scene.world.repository)?;
        Ok(if main == self.tip {
            seen
        } else {
            seen.replace(&main, "landed")
        })
    }

    /// Carries out a deed without a kill and returns the number of its appends.
    fn act(&self, deed: Deed) -> Result<u64, Failed> {
        Ok(self
            .scene
            .act(deed, NO_FAULT)?
            .exits(0)?
            .stderr
            .trim()
            .parse()?)
    }

    /// Repeats a deed that was killed. Undoing a landing that is undone already may be refused, as
    /// always.
    fn act_again(&self, deed: Deed) -> Outcome {
        let ran = self.scene.act(deed, NO_FAULT)?;
        if deed == Deed::Undo && ran.code == FAILED && ran.stderr.contains("it has not landed") {
            return Ok(());
        }
        ran.exits(0).map(drop)
    }

    fn require(&self, expected: &str, when: &str) -> Outcome {
        let seen = self.look()?;
        assert_eq!(seen, expected, "{when}:\n{seen}\ninstead of\n{expected}");
        Ok(())
    }
}

fn commit(scene: &Scene, file: &str, text: &str) -> Outcome {
    scene.world.repository.write(file, text)?;
    scene.world.git(&format!("add {file}"))?;
    scene
        .world
        .git(&format!("commit -q --allow-empty -m Meanwhile -- {file}"))
        .map(drop)
}

/// Kills a landing before and after each append, and its undoing; if `has_moved`, it has to merge.
fn at_an_append_a_landing_is_finished_by_the_next(has_moved: bool) -> Outcome {
    let run = Landable::new(has_moved)?;
    let before = run.look()?;
    let landing = run.act(Deed::Land)?;
    let landed = run.look()?;
    assert_ne!(
        landed, before,
        "the control fails: a landing that nothing kills moves nothing that would be seen"
    );
    let undoing = run.act(Deed::Undo)?;
    run.require(&before, "taken back")?;
    let ways = [
        (Deed::Land, landing, [&before, &landed]),
        (Deed::Undo, undoing, [&landed, &before]),
    ];
    for (deed, appends, [from, to]) in ways {
        for fault in (1..=appends).flat_map(|k| [format!("before:{k}"), format!("after:{k}")]) {
            if run.look()? != *from {
                run.act(Deed::Land)?;
            }
            run.scene.act(deed, &fault)?.exits(KILLED)?;
            let seen = run.look()?;
            assert!(
                seen == *from || seen == *to,
                "{deed:?} {fault} left\n{seen}"
            );
            run.act_again(deed)?;
            run.require(to, &format!("{deed:?} again after {fault}"))?;
            if deed == Deed::Land {
                run.act(Deed::Undo)?;
                run.require(from, &format!("{deed:?} {fault}, taken back"))?;
            }
        }
    }
    Ok(())
}

/// When the coordinator dies: before or after the git command of this name, or while git writes the
/// user's files.
#[derive(Clone, Copy)]
pub(super) enum Moment {
    Before(&'static str),
    While,
    After(&'static str),
}

impl Moment {
    /// Makes a child die at this moment.
    pub(super) fn arm(
        self,
        scene: &Scene,
        name: &str,
        child: Invocation,
    ) -> Result<Invocation, Failed> {
        let program = real_git()?.display().to_string();
        let kill = KILL_ONCE.replace("COORDINATOR", CHILD_ARGUMENT);
        let dies_of = |command| format!("case \" $* \" in *\" {command} \"*) {kill};; esac");
        let script = match self {
            Self::Before(command) => format!(
                "coordinator=$PPID; {}\nexec {program} \"$@\"",
                dies_of(command)
            ),
            Self::After(command) => {
                format!(
                    "coordinator=$PPID; {program} \"$@\"; code=$?; {}\nexit $code",
                    dies_of(command)
                )
            }
            // Git starts this program for each file that it writes, so its grandparent is the
            // coordinator.
            Self::While => {
                format!("read -r _ _ _ coordinator _ < /proc/$PPID/stat; {kill}; exec cat")
            }
        };
        let path = program_of(scene, name, &script)?;
        if let Self::While = self {
            configure(scene, "filter.stop.smudge", &path.display().to_string())?;
            return Ok(child);
        }
        found_first(&path, child)
    }
}

/// Sets a value in the user's own configuration: a filter that the repository configures is never
/// run.
fn configure(scene: &Scene, key: &str, value: &str) -> Outcome {
    let home = scene.world.home.path().join("home");
    std::fs::create_dir_all(&home)?;
    let file = home.join(".gitconfig").display().to_string();
    scene
        .world
        .git(&format!("config --file {file} {key} {value}"))
        .map(drop)
}

/// Writes a shell script as a program `git` into a folder of this name.
fn program_of(scene: &Scene, name: &str, script: &str) -> Result<PathBuf, Failed> {
    let folder = scene.world.home.path().join(name);
    std::fs::create_dir(&folder)?;
    let path = folder.join("git");
    write_program(&path, &format!("#!/bin/sh\n{script}\n"))?;
    Ok(path)
}

/// Makes a child find this program before all others.
fn found_first(program: &Path, child: Invocation) -> Result<Invocation, Failed> {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let search = program
        .parent()
        .map(Path::to_owned)
        .into_iter()
        .chain(std::env::split_paths(&others));
    Ok(child.env("PATH", std::env::join_paths(search)?))
}

fn real_git() -> Result<PathBuf, Failed> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&search)
        .map(|folder| folder.join("git"))
        .find(|path: &PathBuf| path.is_file());
    found
        .filter(|path| Path::is_absolute(path))
        .ok_or_else(|| Failed::from("there is no git"))
}

fn around_git(moment: Moment) -> Outcome {
    let run = Landable::new(false)?;
    configure(&run.scene, "filter.stop.smudge", "cat")?;
    let attributes = run
        .scene
        .world
        .repository
        .path()
        .join(".git/info/attributes");
    std::fs::create_dir_all(run.scene.world.repository.path().join(".git/info"))?;
    std::fs::write(attributes, "one.txt filter=stop\nkept.txt filter=stop\n")?;
    let before = run.look()?;
    run.act(Deed::Land)?;
    let landed = run.look()?;
    run.act(Deed::Undo)?;
    run.require(&before, "taken back")?;
    // After a killed landing, a user may land again or undo it; and vice versa.
    let ways = [
        (Deed::Land, Deed::Land),
        (Deed::Land, Deed::Undo),
        (Deed::Undo, Deed::Undo),
        (Deed::Undo, Deed::Land),
    ];
    for (at, (killed, next)) in ways.into_iter().enumerate() {
        if killed == Deed::Undo {
            run.act(Deed::Land)?;
        }
        let child = run.scene.child(killed, NO_FAULT)?;
        moment
            .arm(&run.scene, &format!("killer-{at}"), child)?
            .run()?
            .exits(KILLED)?;
        run.act_again(next)?;
        configure(&run.scene, "filter.stop.smudge", "cat")?;
        let expected = if next == Deed::Land { &landed } else { &before };
        run.require(expected, &format!("{next:?} after a killed {killed:?}"))?;
        if next == Deed::Land {
            run.act(Deed::Undo)?;
            run.require(
                &before,
                &format!("{next:?} after a killed {killed:?}, taken back"),
            )?;
        }
    }
    Ok(())
}

/// Leaves git no room for a whole file, neither to land nor to put back the files that it has begun
/// to write. `then` is shell code that runs after that, and `code` is the child's exit code.
fn without_room(then: &str, code: i32) -> Outcome {
    let run = Landable::of(LARGE, "kept.txt", &"o".repeat(8_000))?;
    let before = run.look()?;
    run.act(Deed::Land)?;
    let landed = run.look()?;
    run.act(Deed::Undo)?;
    run.require(&before, "taken back")?;
    let (program, kill) = (
        real_git()?.display().to_string(),
        then.replace("COORDINATOR", CHILD_ARGUMENT),
    );
    let script = format!(
        "coordinator=$PPID; trap '' XFSZ
        case \" $* \" in *\" -n \"*) ;; *\" read-tree \"*) ulimit -f 4;;
        *\" checkout-index \"*) (ulimit -f 4; {program} \"$@\"); {kill};; esac
        exec {program} \"$@\""
    );
    for (next, expected) in [(Deed::Land, &landed), (Deed::Undo, &before)] {
        let program = program_of(&run.scene, &format!("full-{next:?}"), &script)?;
        found_first(&program, run.scene.child(Deed::Land, NO_FAULT)?)?
            .run()?
            .exits(code)?;
        let half = run.scene.world.repository.read("kept.txt")?;
        assert!(
            !half.is_empty() && half.trim_matches('o').is_empty() && half.len() < 6_000,
            "{} bytes are not half of what is put back",
            half.len()
        );
        run.act_again(next)?;
        run.require(expected, &format!("{next:?} again"))?;
        if next == Deed::Land {
            run.act(Deed::Undo)?;
        }
    }
    Ok(())
}
