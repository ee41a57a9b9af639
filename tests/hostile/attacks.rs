//! Attacks in whole runs: programs that an agent plants for git to run, links out of its worktree,
//! and access to the git directory. None succeeds, and no work is lost.

use std::io::Write;
use std::os::unix::fs::MetadataExt as _;

use libtest_mimic::Failed;
use orchestrate_coordinator::ConfinementChoice;
use orchestrate_core::TaskState::Failed as FailedTask;
use orchestrate_core::task::FailureCause;
use orchestrate_sandbox::Confinement;
use serde_json::json;

use crate::support::{
    Case, Outcome, Script, World, case, done, fail, git, on, put, shell, write_program,
};

pub(crate) fn cases() -> Vec<Case> {
    type Attack = fn(Confinement) -> Outcome;
    let attacks: [(&str, Attack); 3] = [
        (
            "a_filter_of_a_nested_repository_is_silent",
            a_filter_of_a_nested_repository_is_silent,
        ),
        (
            "a_tampered_git_file_is_silent",
            a_tampered_git_file_is_silent,
        ),
        (
            "a_file_system_monitor_is_silent",
            a_file_system_monitor_is_silent,
        ),
    ];
    let tiers = [
        (Confinement::Full, "full"),
        (Confinement::Fallback, "fallback"),
    ];
    let links = tiers.map(|(tier, word)| {
        let name = format!("attacks::a_hard_link_leads_nowhere_{word}");
        case(name, move || a_hard_link_leads_nowhere(tier)).in_tier(tier)
    });
    let each = tiers.into_iter().flat_map(|(tier, word)| {
        attacks.map(move |(name, attack)| {
            case(format!("attacks::{name}_{word}"), move || attack(tier)).in_tier(tier)
        })
    });
    let tokens = tiers
        .into_iter()
        .chain([(Confinement::Unconfined, "unconfined")])
        .map(|(tier, word)| {
            let name = format!("attacks::a_token_beside_the_commits_is_unreadable_{word}");
            let locks = format!("attacks::the_repository_cannot_be_locked_{word}");
            let work = format!("attacks::a_command_sees_no_work_of_others_{word}");
            [
                case(work, move || a_command_sees_no_work_of_others(tier)).in_tier(tier),
                case(name, move || a_token_beside_the_commits_is_unreadable(tier)).in_tier(tier),
                case(locks, move || the_repository_cannot_be_locked(tier)).in_tier(tier),
            ]
        });
    let programs = case!(a_program_in_the_repository_is_never_ours);
    each.chain(links)
        .chain(tokens.flatten())
        .chain([programs])
        .collect()
}

/// Makes an agent plant a program with a command, and commit. The program leaves a canary wherever
/// it can write. At the end a plain git, run where the agent planted, starts the program, which
/// proves that the attack is real.
fn play(tier: Confinement, plant: &str, plain: &[&str]) -> Outcome {
    let world = World::lived_in()?;
    // It writes to two places: one that only a program outside the sandbox can write to, and one
    // below the worktree.
    let outside = world.home.path().join("canary");
    let program = format!(
        "#!/bin/sh\necho trip >> '{}'\necho trip >> \"$0.canary\"\ncat\n",
        outside.display()
    );
    // An ignored file keeps the worktree from being removed once its work is merged. A command in
    // the full tier names it by the path that it has in the checkout, where it is once it has
    // landed.
    write_program(&world.repository.path().join("evil.sh"), &program)?;
    let plant = format!(
        "cat > evil.sh <<'END'\n{program}END\nchmod +x evil.sh\necho kept > work.txt\necho 1 > stays.log\n{plant}"
    );
    let script = Script::default()
        .rule(
            shell(on("T1", 1), &plant)
                .call("git_status", &json!({}))
                .call("git_diff", &json!({}))
                .call("git_commit", &json!({"message": "Plant"})),
        )
        .rule(put(on("T1", 2), "more.txt", "more\n"))
        .rule(done("T1"));
    let played = world.play(
        "- [ ] T1 plant (verify: test -e work.txt)\n",
        &script,
        |settings| {
            settings.confinement = ConfinementChoice::Exactly(tier);
        },
    )?;
    let worktree = played
        .coordinator
        .layout()
        .worktree(&played.report.run_id, &"T1".into());
    let canaries = [
        worktree.join("evil.sh.canary"),
        world.repository.path().join("evil.sh.canary"),
    ];
    assert!(
        !outside.exists() && !canaries.iter().any(|canary| canary.exists()),
        "the planted program ran on our behalf\n{played}"
    );
    let is_tampered =
        std::fs::read_to_string(worktree.join(".git")).is_ok_and(|text| text.contains("fake"));
    if is_tampered {
        // Only the fallback tier lets an agent write this file. Such a worktree is no longer
        // trusted, and is left as it is.
        played.require(1, &[("T1", FailedTask)])?;
        played.require_failure(
            "T1",
            FailureCause::Worktree,
            "has changed since git wrote it; its files are kept",
        )?;
    } else {
        played.require_merged(&["T1"])?;
        assert!(
            world.merged(&played.report, "work.txt")? == "kept"
                && world.merged(&played.report, "more.txt")? == "more",
            "the agent's files are not in the merged result"
        );
    }
    if std::fs::read_to_string(worktree.join("work.txt"))? != "kept\n" {
        return fail("the agent's files are gone");
    }
    // The control: a git that is not ours. Its answer does not matter, only which programs it
    // starts.
    let _ = git(&worktree, plain);
    match canaries.iter().any(|canary| canary.exists()) {
        true => Ok(()),
        false => fail("the control does not run what was planted"),
    }
}

fn a_filter_of_a_nested_repository_is_silent(tier: Confinement) -> Outcome {
    play(
        tier,
        "top=$PWD; git init -q nested && cd nested && git config filter.x.clean \"$top/evil.sh\" && \
         git config filter.x.smudge \"$top/evil.sh\" && echo '* filter=x' > .gitattributes && echo data > data.txt; \
         cd .. ; echo '* filter=x' > .gitattributes; true",
        &["-C", "nested", "add", "-A"],
    )
}

fn a_tampered_git_file_is_silent(tier: Confinement) -> Outcome {
    // Where the file cannot be written, as in the full tier, the attack has failed already.
    play(
        tier,
        "mkdir -p fake/objects fake/refs; echo 'ref: refs/heads/main' > fake/HEAD; \
         printf '[core]\\n\\tfsmonitor = %s\\n\\trepositoryformatversion = 0\\n[filter \"x\"]\\n\\tclean = %s\\n' \
         \"$PWD/evil.sh\" \"$PWD/evil.sh\" > fake/config; echo '* filter=x' > .gitattributes; \
         echo \"gitdir: $PWD/fake\" > .git 2>/dev/null; true",
        &["--git-dir=fake", "--work-tree=.", "add", "-A"],
    )
}

fn a_file_system_monitor_is_silent(tier: Confinement) -> Outcome {
    play(
        tier,
        "git config core.fsmonitor \"$PWD/evil.sh\" 2>/dev/null; git config core.hooksPath \"$PWD\" 2>/dev/null; \
         cp evil.sh pre-commit; cp evil.sh post-checkout; git init -q sub; \
         git -C sub config core.fsmonitor \"$PWD/evil.sh\"; echo s > sub/s.txt; true",
        &["-C", "sub", "status"],
    )
}

/// Files of the user's checkout may be hard links to files elsewhere. An agent's files are copies,
/// and it cannot make a link to a file outside its worktree.
fn a_hard_link_leads_nowhere(tier: Confinement) -> Outcome {
    let world = World::lived_in()?;
    let (repository, outside) = (&world.repository, world.home.path().join("outside"));
    std::fs::create_dir(&outside)?;
    for file in ["kept.txt", "debug.log"] {
        std::fs::copy(repository.path().join(file), outside.join(file))?;
        std::fs::remove_file(repository.path().join(file))?;
        std::fs::hard_link(outside.join(file), repository.path().join(file))?;
    }
    repository.write(".worktreeinclude", "debug.log\n")?;
    let secret = outside.join("secret");
    std::fs::write(&secret, "secret\n")?;
    let command = format!(
        "test -e debug.log && echo mine >> kept.txt && echo mine >> debug.log && echo mine > made.txt; \
         ln '{0}' stolen.txt; ln -f made.txt '{0}'; echo mine >> stolen.txt; true",
        secret.display()
    );
    let script = Script::default()
        .rule(shell(on("T1", 1), &command))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 write\n", &script, |settings| {
        settings.confinement = ConfinementChoice::Exactly(tier);
    })?;
    played.require_merged(&["T1"])?;
    assert!(
        world.merged(&played.report, "kept.txt")? == "kept\nmine"
            && world.merged(&played.report, "made.txt")? == "mine",
        "the agent's own files are not in the merged result"
    );
    let texts = [
        ("kept.txt", "kept\n"),
        ("debug.log", "ignored\n"),
        ("secret", "secret\n"),
    ];
    for (file, text) in texts {
        if std::fs::read_to_string(outside.join(file))? != text {
            return fail(format!("the agent wrote {file} outside its worktree"));
        }
    }
    // The control: a write through the user's own link changes the file outside, which proves that
    // the attack is real.
    std::fs::OpenOptions::new()
        .append(true)
        .open(repository.path().join("kept.txt"))?
        .write_all(b"mine\n")?;
    assert_eq!(
        std::fs::read_to_string(outside.join("kept.txt"))?,
        "kept\nmine\n",
        "no such link"
    );
    Ok(())
}

/// A search of `PATH` alone would find programs in the repository that have the names of ours.
fn a_program_in_the_repository_is_never_ours() -> Outcome {
    let world = World::lived_in()?;
    let outside = world.home.path().join("programs");
    std::fs::create_dir_all(&outside)?;
    let canary = world.home.path().join("canary");
    let git = "/usr/local/bin:/usr/bin:/bin";
    let program = format!(
        "#!/bin/sh\necho trip >> '{}'\nPATH={git} exec \"${{0##*/}}\" \"$@\"\n",
        canary.display()
    );
    for folder in [world.repository.path().join("tools"), outside.clone()] {
        std::fs::create_dir_all(&folder)?;
        for name in ["git", "bwrap"] {
            write_program(&folder.join(name), &program)?;
        }
    }
    let (linked, open) = (
        world.home.path().join("linked"),
        world.home.path().join("open"),
    );
    std::os::unix::fs::symlink(world.repository.path().join("tools"), &linked)?;
    std::fs::create_dir_all(&open)?;
    std::os::unix::fs::symlink(world.repository.path().join("tools/git"), open.join("git"))?;
    let tools = world.repository.path().join("tools");
    for first in [
        tools.to_str().unwrap_or_default(),
        "tools",
        "",
        ".",
        linked.to_str().unwrap_or_default(),
    ]
    .into_iter()
    .chain(open.to_str())
    {
        world
            .orchestrate(&["doctor"])
            .env("PATH", format!("{first}:{git}"))
            .run()?;
        assert!(
            !canary.exists(),
            "a program of the repository ran with PATH={first}:…"
        );
    }
    // Outside the repository such a program is the user's choice. That it runs there proves that
    // the attack is real.
    world
        .orchestrate(&["doctor"])
        .env("PATH", format!("{}:{git}", outside.display()))
        .run()?;
    assert!(canary.exists(), "the control does not run");
    Ok(())
}

/// Files that users and their tools keep in the git directory, besides those that a command's git
/// reads.
const SECRETS: [&str; 11] = [
    "config.worktree",
    "config.orig",
    "credentials",
    "git-crypt/keys/default",
    "modules/sub/config",
    "worktrees/other/config.worktree",
    "FETCH_HEAD",
    "logs/refs/remotes/origin/main",
    "hooks/pre-push",
    "lfs/cache/token",
    "info/token",
];

/// A command cannot read a token in any file of the git directory, but can still ask git everything
/// about commits and files.
fn a_token_beside_the_commits_is_unreadable(tier: Confinement) -> Outcome {
    let world = World::lived_in()?;
    let config = world.repository.read(".git/config")?;
    let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.org:a/b\n";
    let identity = "[user]\n\tname = Ann\n\temail = ann@example.org\n";
    world
        .repository
        .write(".git/config", &format!("{plain}{identity}"))?;
    for file in SECRETS {
        world
            .repository
            .write(&format!(".git/{file}"), "token canary-4711\n")?;
    }
    let (found, told) = look_around(&world, tier)?;
    assert!(
        told.contains("work.txt") && told.ends_with("without complaints"),
        "git does not tell all: {told}"
    );
    // The configuration may hold a secret, too. Then git works only in the tier that can show it
    // another configuration.
    world.repository.write(
        ".git/config",
        &format!("{config}[http]\n\textraHeader = canary-4711\n"),
    )?;
    let (more, told) = look_around(&world, tier)?;
    assert!(
        tier != Confinement::Full || told.ends_with("without complaints"),
        "git does not tell all: {told}"
    );
    let [first, second] = [found, more].map(|text| text.matches("canary-4711").count());
    match tier {
        Confinement::Unconfined if first >= SECRETS.len() && second > first => Ok(()),
        Confinement::Unconfined => fail(format!("the control reads too little: {first}, {second}")),
        _ if (first, second) == (0, 0) => Ok(()),
        _ => fail(format!(
            "a command read what it must not: {first}, {second}"
        )),
    }
}

/// A process that can open the git directory could lock it against us.
fn the_repository_cannot_be_locked(tier: Confinement) -> Outcome {
    let world = World::lived_in()?;
    let command = "own=$(sed 's/gitdir: //' .git); for folder in .git \"$own\" \"$own/..\" \"$own/../..\"; do \
                   sh -c 'exec 9< \"$1\" && stat -Lc %d:%i /proc/self/fd/9' sh \"$folder\" >> found.txt 2>&1; done; true";
    let script = Script::default()
        .rule(shell(on("T1", 1), command))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 lock\n", &script, |settings| {
        settings.confinement = ConfinementChoice::Exactly(tier);
    })?;
    played.require_merged(&["T1"])?;
    let found = world.merged(&played.report, "found.txt")?;
    let directory = std::fs::metadata(world.repository.path().join(".git"))?;
    let number = format!("{}:{}", directory.dev(), directory.ino());
    let is_opened = found.lines().any(|line| line == number);
    assert_eq!(is_opened, tier == Confinement::Unconfined, "{found}");
    Ok(())
}

/// What one agent has made may contain text from outside. Another one gets it with tools, which
/// record that, while its commands see only the user's refs and its own branch, as it is now.
fn a_command_sees_no_work_of_others(tier: Confinement) -> Outcome {
    let world = World::lived_in()?;
    for arguments in [
        &["tag", "-a", "-m", "First", "v1"][..],
        &["update-ref", "refs/remotes/origin/main", "HEAD"],
        &[
            "symbolic-ref",
            "refs/remotes/origin/HEAD",
            "refs/remotes/origin/main",
        ],
    ] {
        world.repository.git(arguments)?;
    }
    let script = Script::default().writes("T1", "notes.txt", "canary-4711\n");
    let exactly = |settings: &mut orchestrate_coordinator::Settings| {
        settings.confinement = ConfinementChoice::Exactly(tier);
    };
    let other = world
        .play("- [ ] T1 note\n", &script, exactly)?
        .report
        .run_id;
    world.git("pack-refs --all")?;
    world.git("branch loose")?;
    let look = format!(
        "c=$(sed 's/gitdir: //' .git); test -d \"$c/objects\" || c=$c/../..; \
         (git log --all -p; git for-each-ref; git branch -a; git show orchestrate/{other}/T1:notes.txt; \
         git show orchestrate/{other}/integration:notes.txt; git grep canary $(git rev-list --all); \
         cat \"$c/packed-refs\" \"$c\"/refs/heads/orchestrate/*/*; ls -R \"$c/refs\") > found.txt 2>&1; true"
    );
    let tell = "(git status --short; git log -1 --format=%s; git describe --tags HEAD~1; git rev-parse \
                --abbrev-ref origin/HEAD; git branch --list loose; git tag; git log -1 --format=%s loose) > told.txt 2>&1";
    let command = |command: &str| {
        (
            "run_shell_command".to_owned(),
            json!({ "command": command }),
        )
    };
    let calls = [
        command(&look),
        ("git_commit".to_owned(), json!({"message": "Work of T2"})),
        command(tell),
    ];
    let script = calls
        .iter()
        .zip(1..)
        .fold(Script::default(), |script, ((tool, arguments), turn)| {
            script.rule(on("T2", turn).call(tool, arguments))
        });
    let played = world.play("- [ ] T2 look\n", &script.rule(done("T2")), exactly)?;
    played.require_merged(&["T2"])?;
    let told = world.merged(&played.report, "told.txt")?;
    let subject = world.git("log -1 --format=%s main")?;
    assert_eq!(
        told,
        format!("?? told.txt\nWork of T2\nv1\norigin/main\n  loose\nv1\n{subject}")
    );
    let found = world.merged(&played.report, "found.txt")?;
    let is_seen = found.contains("canary") || found.contains(&format!("{other}/integration\n"));
    assert_eq!(is_seen, tier == Confinement::Unconfined, "{found}");
    Ok(())
}

/// Returns what a command finds of the secrets, and what git tells it.
///
/// The command does not name the secret, or its redaction would change the command.
fn look_around(world: &World, tier: Confinement) -> Result<(String, String), Failed> {
    let files = SECRETS.map(|file| format!("\"$common/{file}\"")).join(" ");
    let command = format!(
        "echo kept > work.txt; common=$(sed 's/gitdir: //' .git); \
         test -d \"$common/objects\" || common=$common/../..; (cat {files} \"$common/config\"; cat \"$common\"/*; cat \"$common\"/worktrees/*/*) 2>/dev/null | \
         grep -a -o 'canary-471.' > found.txt; \
         (git status --short && git log --oneline && git diff HEAD --stat && git show --stat HEAD && \
         git blame kept.txt && git describe --always && git rev-parse HEAD && git branch --show-current && \
         git ls-files && git log -g --oneline) > told.txt 2>&1 && echo without complaints >> told.txt; true"
    );
    let script = Script::default()
        .rule(shell(on("T1", 1), &command))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 look\n", &script, |settings| {
        settings.confinement = ConfinementChoice::Exactly(tier);
    })?;
    played.require_merged(&["T1"])?;
    Ok((
        world.merged(&played.report, "found.txt")?,
        world.merged(&played.report, "told.txt")?,
    ))
}
