//! Git as agents type it in commands, on a git of their own, in both tiers that confine: what they
//! do there, what tools see of it, and what becomes of it.

use libtest_mimic::Failed;
use orchestrate_coordinator::{ConfinementChoice, Settings};
use orchestrate_sandbox::Confinement;
use serde_json::json;

use super::calls::{Call, assert_answers, commit, in_one_turn, put, shell};
use crate::support::{Case, Outcome, Played, Script, World, case, done, on};

/// A role with every tool that these tests use.
const ROLE: &str = "---\nname: keeper\ndescription: Keeps files.\ntools: read_file, write_file, run_shell_command, \
    git_status, git_diff, git_log, git_add, git_commit, git_branch, git_checkout, git_stash, git_merge\n---\nKeep.\n";

/// A test in a tier.
type Test = fn(Confinement) -> Outcome;

pub(crate) fn cases() -> Vec<Case> {
    let tests: [(&str, Test); 10] = [
        ("tools_and_commands_share_one_git", share_one_git),
        ("all_of_git_works", all_of_git_works),
        ("the_projects_own_hooks_run", the_projects_own_hooks_run),
        ("hooks_of_the_setup_run", hooks_of_the_setup_run),
        ("messages_become_the_body", messages_become_the_body),
        ("commits_are_kept_if_asked", commits_are_kept_if_asked),
        ("a_conflict_comes_back", a_conflict_comes_back),
        (
            "what_is_destroyed_harms_nobody",
            what_is_destroyed_harms_nobody,
        ),
        (
            "what_stays_out_is_not_committed",
            what_stays_out_is_not_committed,
        ),
        ("commits_and_stashes_are_held", commits_and_stashes_are_held),
    ];
    let tiers = [
        (Confinement::Full, "full"),
        (Confinement::Fallback, "fallback"),
    ];
    let mut cases = Vec::new();
    for (name, test) in tests {
        for (tier, word) in tiers {
            let name = format!("typed_git::{name} ({word})");
            cases.push(case(name, move || test(tier)).in_tier(tier));
        }
    }
    cases
}

fn world() -> Result<World, Failed> {
    let world = World::lived_in()?;
    world.commit(".orchestrate/agents/keeper.md", ROLE)?;
    Ok(world)
}

/// Runs one task whose agent makes these calls, one in each turn; returns what each answered.
fn answers(
    world: &World,
    tier: Confinement,
    wanted: &[Call],
) -> Result<(Played, Vec<String>), Failed> {
    let mut script = Script::default();
    for (turn, call) in (1..).zip(wanted) {
        let call = std::slice::from_ref(call);
        script = script.rule(in_one_turn(on("T1", turn), call));
    }
    let played = play(world, tier, &script.rule(done("T1")))?;
    let texts = played.results("T1")?;
    assert_eq!(texts.len(), wanted.len(), "{texts:#?}\n{played}");
    Ok((played, texts))
}

fn play(world: &World, tier: Confinement, script: &Script) -> Result<Played, Failed> {
    world.play("- [ ] T1 work\n", script, |settings: &mut Settings| {
        "keeper".clone_into(&mut settings.run.agent);
        settings.confinement = ConfinementChoice::Exactly(tier);
    })
}

/// Returns the messages on the task's branch, newest first.
fn messages(world: &World, played: &Played) -> Result<String, Failed> {
    let (base, run) = (&played.report.base_commit, &played.report.run_id);
    world.git(&format!("log --format=%B {base}..orchestrate/{run}/T1"))
}

fn share_one_git(tier: Confinement) -> Outcome {
    let world = world()?;
    let wanted = [
        shell(
            "echo 1 > one.txt && git add one.txt && git commit -q -m 'Add one' && git log --format=%s -1",
        ),
        ("git_log", json!({"limit": 2})),
        ("git_status", json!({})),
        shell(
            "echo more >> kept.txt && git stash && git stash list && git branch mine && git diff --stat",
        ),
        ("git_stash", json!({"action": "list"})),
        ("git_branch", json!({"action": "list"})),
        ("git_stash", json!({"action": "pop"})),
        (
            "git_branch",
            json!({"action": "create", "branch_name": "tool"}),
        ),
        shell("git status --short; echo stashes:$(git stash list); git rev-parse tool mine"),
        ("git_add", json!({"files": ["kept.txt"]})),
        shell("echo 2 > two.txt; git status --short"),
        commit("By the tool"),
        shell("git log --format=%s -1; git status --short; git branch --show-current"),
        shell("git add two.txt"),
        ("git_diff", json!({"staged": true})),
        shell("git commit -q -m 'Add two'; git checkout -q -b feature; git log --format=%s -2"),
        ("git_status", json!({})),
        ("git_stash", json!({"action": "push"})),
    ];
    let (played, texts) = answers(&world, tier, &wanted)?;
    let expected = [
        (0, "Add one"),
        (1, "Add one"),
        (2, "nothing to commit"),
        (3, "stash@{0}: WIP on orchestrate/"),
        (4, "WIP on orchestrate/"),
        (5, "mine"),
        (6, "M kept.txt"),
        (8, " M kept.txt\\nstashes:\\n"),
        (8, "\"exit_code\":0"),
        (10, "M  kept.txt\\n?? two.txt"),
        (11, "committed"),
        (12, "By the tool\\n?? two.txt\\norchestrate/"),
        (14, "two.txt"),
        (15, "Add two\\nBy the tool"),
        (16, "branch feature"),
        (16, "nothing to commit"),
        (17, "nothing to set aside"),
    ];
    assert_answers(&texts, &expected);
    played.require_merged(&["T1"])?;
    let told = messages(&world, &played)?;
    // Messages are in the order of the commits that took the work.
    let at = ["By the tool", "Add one"].map(|text| told.find(text));
    assert!(at[0] < at[1] && at[0].is_some(), "{told}");
    assert!(told.contains("Add two"), "{told}");
    assert_eq!(world.merged(&played.report, "two.txt")?, "2");
    Ok(())
}

fn all_of_git_works(tier: Confinement) -> Outcome {
    let world = world()?;
    let commands = [
        "echo 1 > a.txt; git add a.txt; git commit -qm a; git mv a.txt b.txt; git commit -qm b; git rm -q b.txt; \
         git commit -qm c; git log --format=%s -3",
        "git checkout -q -b side HEAD~1; echo 2 > side.txt; git add -A; git commit -qm side; git checkout -q -; \
         git merge -q -m merged side; git log --format=%s -1; git cherry-pick side~1 2>&1 | tail -1; git cherry-pick --skip; \
         git status | head -1",
        "git reset -q --hard HEAD~1; git tag here; echo 3 > c.txt; git add c.txt; git commit -qm d; git rebase -q side; \
         git log --format=%s -3; git describe --tags --always; git show --stat HEAD | tail -1",
        "git gc -q && git fsck && git worktree list | wc -l && (git worktree add -q inside && git -C inside status | head -1) \
         && git count-objects -v | grep size-pack",
        "git init -q nested && cd nested && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m own && git log --format=%s && git -C .. log --format=%s -1",
        "git config user.name Other; git config --get user.name; cd src 2>/dev/null; git rev-parse --show-toplevel; git status --short | head -3",
    ];
    let wanted = commands.map(shell);
    let (played, texts) = answers(&world, tier, &wanted)?;
    let expected = [
        (0, "c\\nb\\na"),
        (1, "merged"),
        (2, "d\\nc\\nside"),
        (3, "\"exit_code\":0"),
        (4, "own\\nd"),
        (5, "Other"),
        (5, "\"exit_code\":0"),
    ];
    assert_answers(&texts, &expected);
    let all = texts.concat();
    assert!(!all.contains("fatal: "), "{texts:#?}");
    played.require_merged(&["T1"])?;
    assert_eq!(world.merged(&played.report, "side.txt")?, "2");
    Ok(())
}

/// A manager of hooks writes into the agent's git, where they stay from command to command; the
/// user's own hooks run for the user alone.
fn the_projects_own_hooks_run(tier: Confinement) -> Outcome {
    let world = world()?;
    let hook = world.repository.path().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(world.repository.path().join(".git/hooks"))?;
    crate::support::write_program(&hook, "#!/bin/sh\necho the users hook ran\nexit 1\n")?;
    let wanted = [
        shell(
            "mkdir -p .husky/_ && printf '#!/bin/sh\\necho husky >> ran.txt\\ngit add ran.txt\\n' > .husky/_/pre-commit \
               && chmod +x .husky/_/pre-commit && git config core.hooksPath .husky/_",
        ),
        shell(
            "echo 1 > a.txt; git add a.txt; git commit -qm one; git show --name-only --format= HEAD",
        ),
        shell(
            "git config --unset core.hooksPath; d=$(git rev-parse --git-dir)/hooks; \
               printf '#!/bin/sh\\necho lefthook >> ran.txt; cat /etc/shadow; touch ~/escaped /tmp/escaped; exit 0\\n' > $d/pre-commit; chmod +x $d/pre-commit",
        ),
        shell("echo 2 > a.txt; git commit -qam two; cat ran.txt; git log --format=%s -2"),
    ];
    let (played, texts) = answers(&world, tier, &wanted)?;
    let expected = [(1, "a.txt\\nran.txt"), (3, "husky\\nlefthook\\ntwo\\none")];
    assert_answers(&texts, &expected);
    assert!(!texts.concat().contains("the users hook"), "{texts:#?}");
    assert!(!world.home.path().join("escaped").exists());
    played.require_merged(&["T1"])
}

/// What a setup such as that of husky sets in git holds for every agent.
fn hooks_of_the_setup_run(tier: Confinement) -> Outcome {
    let world = world()?;
    let setup = "mkdir -p .husky/_ && printf '#!/bin/sh\\necho husky >> ran.txt\\n' > .husky/_/pre-commit && \
                 chmod +x .husky/_/pre-commit && git config core.hooksPath .husky/_ && \
                 printf '#!/bin/sh\\necho other\\n' > $(git rev-parse --git-dir)/hooks/post-commit";
    world.commit(".gitignore", "/.husky/_/\n")?;
    let command = "echo 1 > a.txt; git add a.txt; git commit -qm one; cat ran.txt; git log -1 --format=%an; \
                   head -2 $(git rev-parse --git-dir)/hooks/post-commit";
    let script = Script::default()
        .rule(in_one_turn(on("T1", 1), &[shell(command)]))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 work\n", &script, |settings: &mut Settings| {
        "keeper".clone_into(&mut settings.run.agent);
        settings.confinement = ConfinementChoice::Exactly(tier);
        settings.run.worktree_setup = Some(setup.to_owned());
    })?;
    played.require_merged(&["T1"])?;
    assert_answers(
        &played.results("T1")?,
        &[(0, "husky\\nTest\\n#!/bin/sh\\necho other")],
    );
    Ok(())
}

/// With the setting, the agent's commits are below the one of its task, unless one of them has what
/// stays out of commits.
fn commits_are_kept_if_asked(tier: Confinement) -> Outcome {
    let key = "printf -- '-----BEGIN %s KEY-----\\nx\\n' 'RSA PRIVATE' > id_rsa";
    let table = [
        ("", "; echo 3 > c.txt", "work\nSecond step\nFirst step"),
        ("", "", "Second step\nFirst step"),
        (
            key,
            "; git rm -q --cached id_rsa; git commit -qm undo; rm id_rsa",
            "work",
        ),
        (
            "echo hidden > ignored.log; git add -f ignored.log",
            "; git rm -q ignored.log; git commit -qm undo",
            "work",
        ),
    ];
    for (first, last, expected) in table {
        let world = world()?;
        world.commit(".gitignore", "ignored.log\n")?;
        let command = format!(
            "{first}\necho 1 > a.txt; git add -A; git -c user.name=Forged commit -qm 'First step'; echo 2 > b.txt; \
             git add -A; git commit -qm 'Second step'{last}"
        );
        let script = Script::default()
            .rule(in_one_turn(on("T1", 1), &[shell(&command)]))
            .rule(done("T1"));
        let played = world.play("- [ ] T1 work\n", &script, |settings: &mut Settings| {
            "keeper".clone_into(&mut settings.run.agent);
            settings.confinement = ConfinementChoice::Exactly(tier);
            settings.run.keep_commits = true;
        })?;
        played.require_merged(&["T1"])?;
        let (base, run) = (&played.report.base_commit, &played.report.run_id);
        let range = format!("{base}..orchestrate/{run}/T1");
        let subjects = world.git(&format!("log --format=%s {range}"))?;
        assert_eq!(subjects, expected, "{first}{last}");
        let authors = world.git(&format!("log --format=%an {range}"))?;
        assert!(!authors.contains("Forged"), "{authors}");
        let files = world.git(&format!("log --format= --name-only {range}"))?;
        assert!(
            !files.contains("id_rsa") && !files.contains("ignored.log"),
            "{files}"
        );
        let told = messages(&world, &played)?;
        assert!(told.contains("First step"), "{told}");
        assert_eq!(world.merged(&played.report, "b.txt")?, "2");
    }
    Ok(())
}

fn messages_become_the_body(tier: Confinement) -> Outcome {
    let world = world()?;
    let wanted = [
        shell("echo 1 > a.txt; git add -A; git commit -qm 'First step' -m 'Because of this.'"),
        shell("echo 2 > b.txt; git add -A; git commit -qm 'Second step'; echo 3 > c.txt"),
    ];
    let (played, _) = answers(&world, tier, &wanted)?;
    played.require_merged(&["T1"])?;
    let (base, run) = (&played.report.base_commit, &played.report.run_id);
    let commits = world.git(&format!("rev-list --count {base}..orchestrate/{run}/T1"))?;
    assert_eq!(commits, "1");
    let told = messages(&world, &played)?;
    let places = [
        "work",
        "First step\n\nBecause of this.",
        "Second step",
        "Orchestrate-",
    ];
    let places = places.map(|text| told.find(text));
    assert!(places.is_sorted() && places[0].is_some(), "{told}");
    assert_eq!(world.merged(&played.report, "c.txt")?, "3");
    Ok(())
}

/// Work that is handed over in the middle of a merge comes back, and goes through once it is
/// resolved.
fn a_conflict_comes_back(tier: Confinement) -> Outcome {
    let world = world()?;
    let make = "git checkout -q -b theirs; echo theirs > a.txt; git add -A; git commit -qm theirs; git checkout -q -; \
                echo ours > a.txt; git add -A; git commit -qm ours; git merge theirs; true";
    let script = Script::default()
        .rule(in_one_turn(on("T1", 1), &[shell(make)]))
        .rule(on("T1", 2).text("finished"))
        .rule(in_one_turn(
            on("T1", 3),
            &[shell(
                "echo both > a.txt; git add a.txt; git commit -qm resolved; git log --format=%s -1",
            )],
        ))
        .rule(done("T1"));
    let played = play(&world, tier, &script)?;
    played.require_merged(&["T1"])?;
    let told = played.told("T1")?;
    assert!(told.contains("a.txt:1"), "{told}");
    assert_eq!(world.merged(&played.report, "a.txt")?, "both");
    // In the middle of a rebase without markers, what counts is the files.
    let make = "git checkout -q -b more; echo 1 > d.txt; git add -A; git commit -qm one; echo 2 > d.txt; git commit -qam two; \
                GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~2; git status | head -1";
    let world = self::world()?;
    let (played, _) = answers(&world, tier, &[shell(make)])?;
    played.require_merged(&["T1"])?;
    assert_eq!(world.merged(&played.report, "d.txt")?, "1");
    Ok(())
}

/// Whatever is left of the agent's git, its work is merged, and git works again in the next
/// command.
fn what_is_destroyed_harms_nobody(tier: Confinement) -> Outcome {
    let destroyed = [
        "d=$(git rev-parse --absolute-git-dir); rm -rf $d/* 2>/dev/null; git status",
        "d=$(git rev-parse --absolute-git-dir); rm -rf $d/objects; ln -s / $d/objects; rm $d/HEAD; ln -s /etc/passwd $d/HEAD",
        "d=$(git rev-parse --absolute-git-dir); rm $d/index $d/packed-refs; mkfifo $d/index $d/packed-refs $d/refs/heads/pipe",
        "git checkout -q --detach; git branch -D -q $(git branch --format='%(refname:short)' | grep orchestrate/)",
        "git config core.fsmonitor /bin/false; git config core.worktree /; git config core.bare true; git config include.path /dev/zero",
    ];
    for destroy in destroyed {
        let world = world()?;
        let wanted = [
            shell("echo 1 > a.txt; git add -A; git commit -qm one"),
            shell(&format!("{destroy}; true")),
            ("git_status", json!({})),
            ("git_stash", json!({"action": "list"})),
            put("b.txt", "2\n"),
            commit("After it"),
        ];
        let (played, texts) = answers(&world, tier, &wanted)?;
        assert_answers(&texts, &[(5, "committed")]);
        played.require_merged(&["T1"])?;
        assert_eq!(world.merged(&played.report, "b.txt")?, "2", "{destroy}");
    }
    Ok(())
}

/// The snapshot decides what is committed, whatever was staged.
fn what_stays_out_is_not_committed(tier: Confinement) -> Outcome {
    let world = world()?;
    let wanted = [
        shell(
            "echo 1 > a.txt; printf -- '-----BEGIN %s KEY-----\\nx\\n' 'RSA PRIVATE' > id_rsa; git add -A; git commit -qm all",
        ),
        shell(
            "printf -- '-----BEGIN %s KEY-----\\ny\\n' 'RSA PRIVATE' > other_rsa; git add other_rsa",
        ),
        commit("Take it"),
        shell("git reset -q"),
    ];
    let (played, texts) = answers(&world, tier, &wanted)?;
    assert_answers(&texts, &[(2, "stay out of commits: id_rsa, other_rsa")]);
    let run = &played.report.run_id;
    let files = world.git(&format!("ls-tree -r --name-only orchestrate/{run}/T1"))?;
    assert!(
        files.contains("a.txt") && !files.contains("rsa"),
        "{files}\n{played}"
    );
    Ok(())
}

/// What the snapshot lacks is held by refs of the run.
fn commits_and_stashes_are_held(tier: Confinement) -> Outcome {
    let world = world()?;
    let wanted = [shell(
        "echo lost > lost.txt; git add -A; git commit -qm 'Not in the end'; git checkout -q -b aside; \
               echo x > aside.txt; git add -A; git commit -qm Aside; git checkout -q -; echo s >> kept.txt; git stash -q; \
               git reset -q --hard HEAD~1; echo end > end.txt",
    )];
    let (played, _) = answers(&world, tier, &wanted)?;
    played.require_merged(&["T1"])?;
    let run = &played.report.run_id;
    let held = world.git(&format!(
        "for-each-ref --format=%(refname)|%(subject) refs/orchestrate/keep/{run}/T1"
    ))?;
    for part in ["/branch/aside|Aside", "/stash/000001|WIP on"] {
        assert!(held.contains(part), "{held}");
    }
    let aside = held.lines().find(|line| line.contains("/branch/aside"));
    let aside = aside.and_then(|line| line.split('|').next());
    let aside = aside.ok_or_else(|| Failed::from("no ref of the branch"))?;
    assert_eq!(world.repository.show(aside, "lost.txt")?, "lost");
    // No ref of the user's names any of it.
    let users = world.git("log --branches=main --tags --remotes --format=%s")?;
    assert!(!users.contains("Aside"), "{users}");
    Ok(())
}
