//! Other users of the machine can access nothing that a run creates outside worktrees, whatever the
//! umask is.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use orchestrate_sandbox::Confinement;

use crate::support::{
    Case, Home, Need, Outcome, WITHOUT_BUBBLEWRAP, World, case, fail, sandboxed, write_program,
};

/// Sets a umask that removes no permission, then executes the arguments.
const OPEN: &str = "umask 000; exec \"$@\"";

pub(crate) fn cases() -> Vec<Case> {
    let tiers = [
        (Confinement::Full, "full"),
        (Confinement::Fallback, "fallback"),
    ];
    let runs = tiers.map(|(tier, word)| {
        let name = format!("private::what_a_run_makes_is_its_users_alone_{word}");
        let made = case(name, move || what_a_run_makes_is_its_users_alone(tier)).in_tier(tier);
        if tier == Confinement::Fallback {
            made.needs(Need::MOUNTS)
        } else {
            made
        }
    });
    let others = [
        case!(a_state_folder_of_somebody_else_is_refused),
        sandboxed!(what_the_demo_makes_is_its_users_alone),
    ];
    runs.into_iter().chain(others).collect()
}

/// Runs the program with a umask that removes no permission. A `git` that is found before the real
/// one lists the modes in each git directory of ours that it is given, in the file `noted`, and
/// those of git's entries for new worktrees, in the file `entries`.
fn type_in(
    tier: Confinement,
    home: &Home,
    directory: &Path,
    arguments: &[&str],
) -> Result<String, Failed> {
    let bin = home.path().join("bin");
    let temporary = home.path().join("tmp");
    for folder in [&bin, &temporary] {
        std::fs::create_dir_all(folder)?;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    let noted = home.path().join("noted");
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}}\ncase \"$GIT_DIR\" in */orchestrate-scratch-*|*/scratch) \
         find \"$GIT_DIR\" -printf '%m %y %p\\n' >> '{noted}';; esac\n\
         case \"$GIT_INDEX_FILE\" in */worktrees/*) find \"${{GIT_INDEX_FILE%/*/*}}\" \
         \\( -type d -o -name commondir \\) -printf '%m %y %p\\n' >> '{entries}';; esac\n\
         exec git \"$@\"\n",
        noted = noted.display(),
        entries = home.path().join("entries").display()
    );
    write_program(&bin.join("git"), &script)?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let search = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&search)))?;
    let without = format!("{WITHOUT_BUBBLEWRAP}; {OPEN}");
    let shell: &[&str] = match tier {
        Confinement::Fallback => &[
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            &without,
            "sh",
        ],
        _ => &["sh", "-c", OPEN, "sh"],
    };
    let start = if tier == Confinement::Fallback {
        "unshare"
    } else {
        "env"
    };
    let program = [shell, &[env!("CARGO_BIN_EXE_orchestrate")], arguments].concat();
    let ran = home
        .command(start, directory, &program)
        .env("PATH", search)
        .env("TMPDIR", temporary)
        .run()?;
    Ok(ran.exits(0)?.stdout)
}

/// Lists the paths below a folder on which others than the owner have a permission, without the
/// worktrees of runs.
fn open_to_others(folder: &Path) -> Result<Vec<String>, Failed> {
    let open = modes(folder)?
        .into_iter()
        .filter(|(mode, _)| mode & 0o077 != 0);
    Ok(open
        .map(|(mode, path)| format!("{mode:o} {}", path.display()))
        .collect())
}

/// Lists the paths below a folder with their modes, without links and the worktrees of runs.
fn modes(folder: &Path) -> Result<Vec<(u32, PathBuf)>, Failed> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(path) = open.pop() {
        let meta = path.symlink_metadata()?;
        let is_worktree = path.join(".git").is_file();
        if meta.is_symlink() || is_worktree {
            continue;
        }
        if meta.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        }
        found.push((meta.permissions().mode() & 0o7777, path));
    }
    Ok(found)
}

fn require_closed(folder: &Path) -> Outcome {
    let open = open_to_others(folder)?;
    assert!(open.is_empty(), "{}", open.join("\n"));
    Ok(())
}

fn what_a_run_makes_is_its_users_alone(tier: Confinement) -> Outcome {
    let world = World::plain()?;
    let plan = "- [ ] T1 look (run: stat -c %a \"$HOME\" \"$TMPDIR\" > modes.txt)\n\
                - [ ] T2 make (run: echo 2 > two.txt)\n";
    world.commit("plan.md", plan)?;
    let type_in =
        |arguments: &[&str]| type_in(tier, &world.home, world.repository.path(), arguments);
    type_in(&["run", "plan.md", "--verify", "test -d ."])?;
    type_in(&["review", "T1"])?;
    type_in(&["land"])?;
    type_in(&["config", "set", "max_agents", "2"])?;
    for made in ["state", "config", "tmp"] {
        require_closed(&world.home.path().join(made))?;
    }
    let in_git = world.repository.path().join(".git");
    let may_write = modes(&in_git)?
        .into_iter()
        .filter(|(mode, _)| mode & 0o002 != 0);
    let may_write: Vec<String> = may_write
        .map(|(mode, path)| format!("{mode:o} {}", path.display()))
        .collect();
    assert!(may_write.is_empty(), "{}", may_write.join("\n"));
    type_in(&["clean"])?;
    require_closed(&world.home.path().join("state"))?;
    let own = world.repository.read("modes.txt")?;
    assert!(
        tier != Confinement::Fallback || own == "700\n700\n",
        "a command's own folders: {own}"
    );
    let noted = world.home.path().join("noted");
    assert!(
        !open_to_others(&noted)?.is_empty(),
        "the control is closed: what a program makes with the same umask is not open to others"
    );
    let noted = std::fs::read_to_string(noted)?;
    let entries = std::fs::read_to_string(world.home.path().join("entries"))?;
    let open: Vec<&str> = noted
        .lines()
        .chain(entries.lines())
        .filter(|line| !line.starts_with("700 d") && !line.starts_with("600 f"))
        .collect();
    let repositories = noted
        .lines()
        .filter(|line| line.ends_with("/config"))
        .count();
    let entries = entries
        .lines()
        .filter(|line| line.ends_with("/commondir"))
        .count();
    assert!(
        open.is_empty() && repositories > 1 && entries > 0,
        "{repositories} repositories, {entries} entries\n{}",
        open.join("\n")
    );
    Ok(())
}

fn what_the_demo_makes_is_its_users_alone() -> Outcome {
    let home = Home::new()?;
    type_in(Confinement::Full, &home, home.path(), &["demo"])?;
    let folders = std::fs::read_dir(home.path().join("tmp"))?.collect::<Result<Vec<_>, _>>()?;
    let folders: Vec<PathBuf> = folders.into_iter().map(|entry| entry.path()).collect();
    let [folder] = &folders[..] else {
        return fail(format!("{folders:?}"));
    };
    let mode = folder.metadata()?.permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "{}", folder.display());
    require_closed(&home.path().join("state"))
}

fn a_state_folder_of_somebody_else_is_refused() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 make (run: touch made)\n")?;
    let above = world.home.path().join("state");
    std::fs::create_dir_all(above.join("orchestrate"))?;
    let refused = |reason: &str| -> Outcome {
        let ran = world.types(&["run", "plan.md"], 2)?;
        let is_told = ran.stderr.contains(reason) && ran.stderr.contains("XDG_STATE_HOME");
        assert!(
            is_told && world.home.state().read_dir()?.next().is_none(),
            "{}",
            ran.stderr
        );
        Ok(())
    };
    std::fs::set_permissions(&above, std::fs::Permissions::from_mode(0o777))?;
    refused("every user can write to")?;
    std::fs::set_permissions(&above, std::fs::Permissions::from_mode(0o700))?;
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(above.join("orchestrate"), Some(65_534), Some(65_534))?;
        refused("belongs to another user")?;
        // State that is only read is not trusted either, not even behind a link.
        let elsewhere = world.home.path().join("elsewhere");
        std::fs::rename(&above, &elsewhere)?;
        std::os::unix::fs::symlink(&elsewhere, &above)?;
        refused("belongs to another user")?;
        for looking in [
            &["status"][..],
            &["status", "--all"],
            &["log"],
            &["review"],
            &["check", "plan.md"],
        ] {
            let ran = world.types(looking, 2)?;
            assert!(
                (ran.stderr + &ran.stdout).contains("belongs to another user"),
                "{looking:?} does not say it"
            );
        }
    }
    Ok(())
}
