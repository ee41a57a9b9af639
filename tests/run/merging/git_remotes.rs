//! What agents push to remote repositories, and pull from them.

use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_coordinator::Settings;
use orchestrate_core::TaskState::Waiting;
use orchestrate_core::event::{ErrorKind, Event};
use orchestrate_core::policy::{RuleDecision, RuleText};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::calls::{Call, assert_answers, calls, commit, in_one_turn, put, shell};
use crate::support::git_server::{GitServer, PASSWORD, USER};
use crate::support::{
    Case, Outcome, Played, Script, World, after, case, done, fail, git, on, until, write_program,
};

/// A role with every tool that these tests use.
const ROLE: &str = "---\nname: keeper\ndescription: Keeps files.\n\
    tools: read_file, write_file, run_shell_command, git_status, git_commit, git_merge, git_push, git_pull\n---\nKeep.\n";
/// How long a process may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(commits_are_pushed_once_the_user_agrees),
        case!(users_commits_are_not_published_unasked),
        case!(only_an_agents_own_branch_is_pushed),
        case!(a_branch_of_a_remote_is_merged),
        case!(a_conflict_with_a_remote_is_resolved),
        case!(each_failure_says_what_to_do),
        case!(credentials_stay_with_git),
        case!(a_server_that_leads_elsewhere_is_not_followed),
        case!(a_helper_of_the_repository_is_not_run),
        case!(a_push_that_was_killed_is_made_again),
    ]
}

/// Returns a repository with the role, and with a bare remote `origin` that has its branch `main`.
fn world() -> Result<World, Failed> {
    let world = World::lived_in()?;
    world.commit(".orchestrate/agents/keeper.md", ROLE)?;
    let remote = world.file("remote.git");
    world.git(&format!("init -q --bare -b trunk {remote}"))?;
    world.git(&format!("remote add origin {remote}"))?;
    world.git("push -q origin main main:trunk")?;
    Ok(world)
}

fn as_keeper(settings: &mut Settings, allowed: &[&str]) {
    "keeper".clone_into(&mut settings.run.agent);
    let rule = |rule: &&str| RuleText::new(RuleDecision::Allow, *rule, "--allow");
    settings.run.rules = allowed.iter().map(rule).collect();
}

fn push(arguments: Value) -> Call {
    ("git_push", arguments)
}

fn pull(arguments: Value) -> Call {
    ("git_pull", arguments)
}

/// Runs one task that makes these calls under rules that allow, and returns what each of them
/// answered.
fn answers(
    world: &World,
    allowed: &[&str],
    wanted: &[Call],
) -> Result<(Played, Vec<String>), Failed> {
    let played = world.play("- [ ] T1 work\n", &calls("T1", wanted), |settings| {
        as_keeper(settings, allowed)
    })?;
    let texts = played.results("T1")?;
    assert_eq!(texts.len(), wanted.len(), "{texts:#?}\n{played}");
    Ok((played, texts))
}

/// Returns the rule and the arguments of the only call that the user was asked about.
fn asked(played: &Played) -> Result<(&str, &Value), Failed> {
    let asked = played.pick(|event| match event {
        Event::ApprovalRequested {
            rule, arguments, ..
        } => Some((rule.as_str(), arguments)),
        _ => None,
    });
    match asked[..] {
        [one] => Ok(one),
        _ => fail(played),
    }
}

/// Returns the branches of the remote, with their commits.
fn at_remote(world: &World) -> Result<String, Failed> {
    git(
        Path::new(&world.file("remote.git")),
        &["for-each-ref", "--format=%(refname:short) %(objectname)"],
    )
}

/// Writes a program.
fn program(path: &Path, script: &str) -> Outcome {
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    write_program(path, &format!("#!/bin/sh\n{script}\n"))
}

fn commits_are_pushed_once_the_user_agrees() -> Outcome {
    let world = world()?;
    let canary = world.file("canary");
    for hook in ["pre-push", "reference-transaction"] {
        program(
            &world.repository.path().join(".git/hooks").join(hook),
            &format!("touch {canary}"),
        )?;
    }
    let asks = |settings: &mut Settings| {
        as_keeper(settings, &[]);
        settings.run.ask_parks = true;
    };
    let script = calls(
        "T1",
        &[
            put("a.txt", "one\n"),
            commit("Add a"),
            put("b.txt", "later\n"),
            push(json!({})),
        ],
    );
    let played = world.play("- [ ] T1 work\n", &script, asks)?;
    played.require(3, &[("T1", Waiting)])?;
    let before = at_remote(&world)?;
    let run = played.report.run_id.clone();
    let own = format!("orchestrate/{run}/T1");
    let commit = world.git(&format!("rev-parse {own}"))?;
    let (rule, arguments) = asked(&played)?;
    let shown = json!({
        "remote": "origin", "address": world.file("remote.git"), "host": null, "branch": own, "commit": commit,
        "commits": [format!("{} Add a", &commit[..10])],
    });
    assert_eq!(rule, "built-in:remote", "{arguments}\n{before}");
    assert_eq!(*arguments, shown, "{rule}\n{before}");
    assert!(!before.contains(&own), "{rule}: {arguments}\n{before}");
    played.allow_all()?;
    let resumed = world.resume(&run, &script, asks)?;
    resumed.require_merged(&["T1"])?;
    let texts = resumed.results("T1")?;
    assert_answers(
        &texts,
        &[
            (3, "as the new branch origin/orchestrate/"),
            (3, " Add a"),
            (3, "not pushed"),
            (3, "A b.txt"),
        ],
    );
    let pushed = at_remote(&world)?;
    let is_tracked = world.git("branch -r --list origin/orchestrate/*")?;
    let mut expected: Vec<String> = before
        .lines()
        .map(str::to_owned)
        .chain([format!("{own} {commit}")])
        .collect();
    expected.sort();
    assert_eq!(pushed, expected.join("\n"), "{is_tracked}");
    assert!(is_tracked.is_empty(), "{pushed}\n{is_tracked}");
    assert!(!Path::new(&canary).exists(), "{pushed}\n{is_tracked}");
    Ok(())
}

/// A commit below the run's base that the remote lacks goes along, so no rule is enough, however
/// many the agent's are.
fn users_commits_are_not_published_unasked() -> Outcome {
    let world = world()?;
    world.repository.write("draft.txt", "draft\n")?;
    world.repository.commit_all("Private draft")?;
    let draft = world.git("rev-parse HEAD")?;
    let work = [
        put("a.txt", "one\n"),
        commit("Add a"),
        push(json!({"branch": "shared"})),
    ];
    let (_, texts) = answers(&world, &["git_push", "git_push(origin/shared)"], &work)?;
    assert_answers(
        &texts,
        &[(
            2,
            "the rule `built-in:unpublished-commits` needs approval for `origin/shared`, which nobody can give",
        )],
    );
    let asks = |settings: &mut Settings| {
        as_keeper(settings, &["git_push", "git_push(origin/shared)"]);
        settings.run.ask_parks = true;
    };
    let played = world.play("- [ ] T1 work\n", &calls("T1", &work), asks)?;
    let (rule, arguments) = asked(&played)?;
    let shown = json!({"count": 1, "newest": [format!("{} Private draft", &draft[..10])]});
    let has_own = arguments["commits"]
        .as_array()
        .is_some_and(|commits| commits.len() == 1);
    assert_eq!(rule, "built-in:unpublished-commits", "{arguments}");
    assert_eq!(arguments["users_commits"], shown, "{rule}: {arguments}");
    assert!(has_own, "{rule}: {arguments}");
    let branches = at_remote(&world)?;
    assert!(!branches.contains("shared"), "{branches}");
    let run = played.allow_all()?;
    let resumed = world.resume(&run, &calls("T1", &work), asks)?;
    resumed.require_merged(&["T1"])?;
    assert_answers(
        &resumed.results("T1")?,
        &[
            (2, "as the new branch origin/shared"),
            (2, " Private draft"),
        ],
    );
    Ok(())
}

fn only_an_agents_own_branch_is_pushed() -> Outcome {
    let world = world()?;
    world
        .repository
        .git(&["remote", "add", "evil", "ext::sh -c touch% canary"])?;
    world.git("remote add own .")?;
    world.git(&format!(
        "remote add file file://{}",
        world.repository.path().display()
    ))?;
    world.git("remote add option ssh://-oProxyCommand=id/x")?;
    world.git("branch mine")?;
    world.git("push -q origin main:taken")?;
    world.git("update-ref -d refs/remotes/origin/HEAD")?;
    let before = at_remote(&world)?;
    let to = |branch: &str| push(json!({ "branch": branch }));
    let wanted = [
        push(json!({})),
        put("a.txt", "one\n"),
        commit("Add a"),
        to("main"),
        to("mine"),
        to("trunk"),
        to("master"),
        to("orchestrate/r-other/T1"),
        to("+main"),
        to("x:main"),
        to("refs/heads/main"),
        push(json!({"remote": "evil", "branch": "x"})),
        push(json!({"remote": "own", "branch": "x"})),
        push(json!({"remote": "https://evil.example/x", "branch": "x"})),
        push(json!({"remote": "nowhere", "branch": "x"})),
        push(json!({"branch": "x", "force": true})),
        push(json!({"branch": "a.lock"})),
        push(json!({"remote": "file", "branch": "x"})),
        push(json!({"remote": "option", "branch": "x"})),
        to("x"),
    ];
    let (played, texts) = answers(&world, &["git_push"], &wanted)?;
    assert_answers(
        &texts,
        &[
            (0, "there is nothing to push"),
            (3, "`main` is the branch that the run started from"),
            (4, "`mine` is a branch of the user's"),
            (5, "`trunk` is the default branch of `origin`"),
            (6, "`master` is, by its name, the main branch"),
            (7, "`orchestrate/r-other/T1` is another agent's branch"),
            (8, "`branch` is the short name of one branch"),
            (9, "`branch` is the short name of one branch"),
            (10, "`branch` is the short name of one branch"),
            (
                11,
                "only https, http, ssh, git and folders are used, not `ext`",
            ),
            (12, "its address is a folder of this repository"),
            (13, "`remote` is the name of a remote"),
            (
                14,
                "the repository's configuration has these: evil, file, option, origin, own",
            ),
            (15, "Invalid parameters"),
            (16, "git does not allow this name"),
            (17, "its address is a folder of this repository"),
            (18, "the address names no host"),
            (19, "as the new branch origin/x"),
        ],
    );
    played.require_merged(&["T1"])?;
    let denied = played.pick(|event| match event {
        Event::ToolFinished {
            error_class: Some(kind),
            ..
        } => Some(*kind),
        _ => None,
    });
    let count = denied
        .iter()
        .filter(|kind| **kind == ErrorKind::Denied)
        .count();
    // The control: under the same rule, a plain name is pushed to `origin`, where nothing else has
    // changed. What only the remote knows is asked there, after it was allowed.
    let tip = world.git(&format!(
        "rev-parse orchestrate/{}/T1",
        played.report.run_id
    ))?;
    assert!(
        at_remote(&world)? == format!("{before}\nx {tip}") && count == 5,
        "{denied:?}\n{}",
        at_remote(&world)?
    );
    Ok(())
}

/// Commits a file to a branch of the remote, as somebody else does.
fn by_somebody_else(world: &World, branch: &str, path: &str, content: &str) -> Outcome {
    let other = world.home.path().join("other");
    if !other.exists() {
        let (remote, other) = (world.file("remote.git"), world.file("other"));
        world.git(&format!("clone -q {remote} {other}"))?;
    }
    git(&other, &["config", "user.name", "Somebody"])?;
    git(
        &other,
        &["config", "user.email", "somebody@example.invalid"],
    )?;
    git(&other, &["fetch", "-q"])?;
    git(
        &other,
        &["checkout", "-q", "--detach", &format!("origin/{branch}")],
    )?;
    std::fs::write(other.join(path), content)?;
    git(&other, &["add", "-A"])?;
    git(&other, &["commit", "-q", "-m", "Work of somebody"])?;
    git(
        &other,
        &["push", "-q", "origin", &format!("HEAD:refs/heads/{branch}")],
    )?;
    Ok(())
}

/// Notes, as a fetch of the user's does, that a remote has the commits of `main`.
fn fetched_once(world: &World, remote: &str) -> Outcome {
    world.git(&format!("update-ref refs/remotes/{remote}/main main"))?;
    Ok(())
}

fn a_branch_of_a_remote_is_merged() -> Outcome {
    let world = world()?;
    by_somebody_else(&world, "main", "theirs.txt", "theirs\n")?;
    let wanted = [
        put("a.txt", "one\n"),
        commit("Add a"),
        push(json!({"branch": "shared"})),
        pull(json!({})),
        ("read_file", json!({"path": "theirs.txt"})),
        pull(json!({"remote": "origin", "branch": "main"})),
        push(json!({"branch": "shared"})),
        push(json!({"branch": "shared"})),
        pull(json!({"branch": "nowhere"})),
    ];
    let (played, texts) = answers(&world, &["git_push(origin)", "git_pull(origin/*)"], &wanted)?;
    assert_answers(
        &texts,
        &[
            (2, "as the new branch origin/shared"),
            (3, "merged origin/main ("),
            (3, "A theirs.txt"),
            (4, "theirs"),
            (5, "your branch has everything of origin/main"),
            (6, " to origin/shared ("),
            (7, "origin/shared ("),
            (7, " already"),
            (8, "it has no branch of this name"),
        ],
    );
    played.require_merged(&["T1"])?;
    let tip = world.git(&format!(
        "rev-parse orchestrate/{}/T1",
        played.report.run_id
    ))?;
    let merged = world.merged(&played.report, "theirs.txt")?;
    assert!(
        at_remote(&world)?.contains(&format!("shared {tip}")) && merged == "theirs",
        "{merged}"
    );
    Ok(())
}

fn a_conflict_with_a_remote_is_resolved() -> Outcome {
    let world = world()?;
    by_somebody_else(&world, "main", "src/lib.txt", "one\nsomebody\nthree\n")?;
    let begun = [
        put("src/lib.txt", "one\nT1\nthree\n"),
        pull(json!({})),
        commit("Work of one"),
        push(json!({"branch": "shared"})),
        pull(json!({})),
        ("git_status", json!({})),
        commit("Too early"),
        ("read_file", json!({"path": "src/lib.txt"})),
    ];
    let resolved = [
        put("src/lib.txt", "one\nsomebody\nT1\nthree\n"),
        commit("Resolve"),
        push(json!({"branch": "shared"})),
    ];
    let script = Script::default()
        .rule(in_one_turn(on("T1", 1), &begun))
        .rule(in_one_turn(on("T1", 2), &resolved))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 work\n", &script, |settings| {
        as_keeper(settings, &["git_push(origin)", "git_pull(origin)"]);
    })?;
    let texts = played.results("T1")?;
    assert_answers(
        &texts,
        &[
            (1, "nothing was merged, because of `src/lib.txt`"),
            (4, "origin/main ("),
            (4, "src/lib.txt: contents\\n  lines 2-8"),
            (4, "\"theirs\":\"somebody\\n\""),
            (5, "merging "),
            (6, "the merge in progress is not resolved in src/lib.txt:2"),
            (7, "<<<<<<< theirs"),
            (9, "Resolve"),
            (10, " to origin/shared ("),
        ],
    );
    played.require_merged(&["T1"])?;
    let merged = world.merged(&played.report, "src/lib.txt")?;
    assert_eq!(merged, "one\nsomebody\nT1\nthree");
    Ok(())
}

fn each_failure_says_what_to_do() -> Outcome {
    let world = world()?;
    by_somebody_else(&world, "main", "theirs.txt", "theirs\n")?;
    world.git("push -q origin main:refs/heads/ahead")?;
    by_somebody_else(&world, "ahead", "ahead.txt", "ahead\n")?;
    let closed = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    world.git(&format!("remote add away http://{closed}/a.git"))?;
    world
        .repository
        .git(&["remote", "add", "gone", &world.file("gone.git")])?;
    for remote in ["away", "gone"] {
        fetched_once(&world, remote)?;
    }
    let hook = Path::new(&world.file("remote.git")).join("hooks/update");
    program(
        &hook,
        "case $1 in */refused*) echo 'name a ticket' >&2; exit 1 ;; esac",
    )?;
    let other = world.file("other.git");
    world.git(&format!("init -q --bare {other}"))?;
    world.git(&format!("remote add stranger {other}"))?;
    let stranger = world.file("stranger");
    world.git(&format!("init -q -b main {stranger}"))?;
    git(
        Path::new(&stranger),
        &[
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.invalid",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ],
    )?;
    git(Path::new(&stranger), &["push", "-q", &other, "main"])?;
    let wanted = [
        put("a.txt", "one\n"),
        commit("Add a"),
        push(json!({"branch": "ahead"})),
        push(json!({"branch": "refused/1"})),
        push(json!({"remote": "away"})),
        push(json!({"remote": "gone"})),
        pull(json!({"remote": "stranger"})),
    ];
    let (played, texts) = answers(
        &world,
        &["git_push", "git_push(127.0.0.1)", "git_pull"],
        &wanted,
    )?;
    assert_answers(
        &texts,
        &[
            (
                2,
                "push to origin: the branch there has commits that this one has not",
            ),
            (2, "Call `git_pull` for that branch, and push again"),
            (3, "the server refused the branch"),
            (3, "remote: name a ticket"),
            (4, "push to away: the server could not be reached"),
            (5, "there is no repository at its address"),
            (5, "Only the user can change that"),
            (6, "`main` has no commit in common with your branch"),
        ],
    );
    let kinds = played.pick(|event| match event {
        Event::ToolFinished {
            error_class: Some(kind),
            ..
        } => Some(*kind),
        _ => None,
    });
    let expected = [
        ErrorKind::Retry,
        ErrorKind::Retry,
        ErrorKind::Network,
        ErrorKind::Execution,
        ErrorKind::Retry,
    ];
    assert_eq!(kinds, expected);
    Ok(())
}

/// Requires that no file below a folder contains a text.
fn require_nowhere(folder: &Path, text: &str) -> Outcome {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            require_nowhere(&path, text)?;
        } else if std::fs::read(&path)?
            .windows(text.len())
            .any(|window| window == text.as_bytes())
        {
            return fail(format!("{} contains the password", path.display()));
        }
    }
    Ok(())
}

/// The password comes from the user's credential helper, and, for another remote, from its address.
fn credentials_stay_with_git() -> Outcome {
    let world = world()?;
    let server = GitServer::start(world.home.path())?;
    let secret = helped(&world)?;
    let home = world.home.path().join("home");
    let escaped = PASSWORD.replace('/', "%2F");
    for (remote, login) in [
        ("helped", String::new()),
        ("embedded", format!("{USER}:{escaped}@")),
        ("wrong", "me:wrong@".to_owned()),
    ] {
        world
            .repository
            .git(&["remote", "add", remote, &server.url(&login, "remote.git")])?;
        fetched_once(&world, remote)?;
    }
    let of = |remote: &str| json!({"remote": remote, "branch": format!("of-{remote}")});
    let looks = format!(
        "cat {secret} {} .git/config ../*/.git/config; env; git config --list",
        home.join(".gitconfig").display()
    );
    let wanted = [
        put("a.txt", "one\n"),
        commit("Add a"),
        push(of("helped")),
        push(of("embedded")),
        push(of("wrong")),
        pull(json!({"remote": "helped"})),
        shell(&looks),
    ];
    let told = typed(&world, &wanted)?;
    let seen = server.seen();
    assert!(seen.let_in >= 6, "{seen:?}\n{told}");
    assert!(seen.turned_away >= 3, "{seen:?}\n{told}");
    assert!(!seen.in_arguments, "{seen:?}\n{told}");
    let branches = at_remote(&world)?;
    assert!(branches.contains("of-helped"), "{branches}");
    assert!(branches.contains("of-embedded"), "{branches}");
    assert!(!branches.contains("of-wrong"), "{branches}");
    for expected in [
        "reach wrong: the server did not accept the user's credentials",
        "\"tool\":\"git_pull\",\"outcome\":\"ok\"",
    ] {
        assert!(told.contains(expected), "no {expected:?} in\n{told}");
    }
    for text in [PASSWORD, &escaped] {
        require_nowhere(&world.home.state(), text)?;
        assert!(!told.contains(text), "{told}");
    }
    Ok(())
}

/// Gives the user a helper that knows the password for every server.
fn helped(world: &World) -> Result<String, Failed> {
    let secret = world.write("secret", &format!("username={USER}\npassword={PASSWORD}\n"))?;
    let home = world.home.path().join("home");
    std::fs::create_dir_all(&home)?;
    std::fs::write(
        home.join(".gitconfig"),
        format!("[credential]\n\thelper = \"!cat {secret} #\"\n"),
    )?;
    Ok(secret)
}

/// Runs one task that makes these calls in the built program, and returns its log.
fn typed(world: &World, wanted: &[Call]) -> Result<String, Failed> {
    world.write("plan.md", "- [ ] T1 work\n")?;
    let (model, plan) = (world.script(&calls("T1", wanted))?, world.file("plan.md"));
    let rules = [
        "--allow",
        "git_push(127.0.0.1)",
        "--allow",
        "git_pull(127.0.0.1)",
    ];
    world.types(
        &[
            &["run", &plan, "--model", &model, "--agent", "keeper"],
            &rules[..],
        ]
        .concat(),
        0,
    )?;
    Ok(world.types(&["log", "--json"], 0)?.stdout)
}

/// Neither another server of the web nor the machine's network is asked, whether or not the first
/// server knows the user.
fn a_server_that_leads_elsewhere_is_not_followed() -> Outcome {
    let world = world()?;
    helped(&world)?;
    let other = GitServer::start(world.home.path())?;
    let elsewhere = other.url("", "");
    let servers = [
        (
            "open",
            GitServer::leading_to(elsewhere.trim_end_matches('/'), true)?,
        ),
        (
            "closed",
            GitServer::leading_to(elsewhere.trim_end_matches('/'), false)?,
        ),
        (
            "inside",
            GitServer::leading_to("http://169.254.169.254/latest", true)?,
        ),
    ];
    let mut wanted = vec![put("a.txt", "one\n"), commit("Add a")];
    for (remote, server) in &servers {
        world
            .repository
            .git(&["remote", "add", remote, &server.url("", "remote.git")])?;
        fetched_once(&world, remote)?;
        wanted.extend([
            push(json!({"remote": remote, "branch": "x"})),
            pull(json!({ "remote": remote })),
        ]);
    }
    let before = at_remote(&world)?;
    let told = typed(&world, &wanted)?;
    for (remote, server) in &servers {
        let refused =
            format!("{remote}: the server leads to another address, which is not followed");
        let (times, seen) = (told.matches(&refused).count(), server.seen());
        // Only a server that asks for the password is told.
        assert!(
            times == 2 && (seen.let_in > 0) == (*remote == "closed"),
            "{remote}, {times} times: {seen:?}\n{told}"
        );
    }
    let seen = other.seen();
    let is_unasked = seen.let_in == 0 && seen.turned_away == 0;
    assert!(is_unasked && at_remote(&world)? == before, "{seen:?}");
    require_nowhere(&world.home.state(), PASSWORD)
}

/// What the repository's own configuration names may have come with it, or be a file that an agent
/// has changed.
fn a_helper_of_the_repository_is_not_run() -> Outcome {
    let world = world()?;
    let server = GitServer::start(world.home.path())?;
    let secret = world.write("secret", &format!("username={USER}\npassword={PASSWORD}\n"))?;
    let canary = world.file("canary");
    program(
        &world.repository.path().join("helper.sh"),
        &format!("touch {canary}; cat {secret}"),
    )?;
    world.repository.commit_all("Add a helper")?;
    let url = server.url("", "remote.git");
    let helper = format!("!{}", world.repository.path().join("helper.sh").display());
    world.git(&format!("remote add asks {url}"))?;
    world.git(&format!("config credential.helper {helper}"))?;
    world.git(&format!("config credential.{url}.helper !./helper.sh"))?;
    world.git("config core.askPass ./helper.sh")?;
    fetched_once(&world, "asks")?;
    let wanted = [
        put("a.txt", "one\n"),
        commit("Add a"),
        push(json!({"remote": "asks"})),
        pull(json!({"remote": "asks"})),
    ];
    let told = typed(&world, &wanted)?;
    let said = "which is not run; the user can name it in their own git configuration";
    let seen = server.seen();
    assert_eq!(told.matches(said).count(), 2, "{seen:?}\n{told}");
    assert!(seen.let_in == 0, "{seen:?}\n{told}");
    assert!(!Path::new(&canary).exists(), "{seen:?}\n{told}");
    // The user's own helper is asked, whatever the repository names beside it.
    helped(&world)?;
    let told = typed(&world, &wanted)?;
    assert!(!told.contains(said), "{told}");
    assert_ne!(server.seen().let_in, 0, "{told}");
    assert!(!Path::new(&canary).exists(), "{told}");
    Ok(())
}

fn a_push_that_was_killed_is_made_again() -> Outcome {
    let world = world()?;
    let (begun, go) = (world.file("begun"), world.file("go"));
    let hook = Path::new(&world.file("remote.git")).join("hooks/pre-receive");
    program(
        &hook,
        &format!("touch {begun}\nuntil test -e {go}; do sleep 0.05; done"),
    )?;
    let first = [
        put("a.txt", "one\n"),
        commit("Add a"),
        push(json!({"branch": "shared"})),
    ];
    let again = after("T1", "interrupted");
    let script = Script::default()
        .rule(in_one_turn(on("T1", 1), &first))
        .rule(in_one_turn(again, &[push(json!({"branch": "shared"}))]))
        .rule(done("T1"));
    world.write("plan.md", "- [ ] T1 work\n")?;
    let (model, plan) = (world.script(&script)?, world.file("plan.md"));
    let typed = [
        "run",
        &plan,
        "--model",
        &model,
        "--agent",
        "keeper",
        "--allow",
        "git_push(origin)",
    ];
    let running = world.orchestrate(&typed).start()?;
    until(PATIENCE, || Ok(Path::new(&begun).exists().then_some(())))?;
    running.signal(Signal::KILL)?;
    running.end()?.exits(137)?;
    std::fs::write(&go, "")?;
    world.types(&["resume"], 0)?;
    let told = world.types(&["log", "--json"], 0)?.stdout;
    let run = world.git("for-each-ref --format=%(refname:short) refs/heads/orchestrate/*/T1")?;
    let tip = world.git(&format!("rev-parse {run}"))?;
    let branches = at_remote(&world)?;
    assert!(
        told.contains("interrupted") && branches.contains(&format!("shared {tip}")),
        "{branches}\n{told}"
    );
    Ok(())
}
