//! Attacks on what surrounds a worktree: the git directory, the endpoint of the model, and what
//! could listen.

use std::collections::BTreeSet;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use orchestrate_coordinator::ConfinementChoice;

use orchestrate_sandbox::Confinement;

use crate::support::{
    Case, Outcome, Running, Script, World, case, done, fail, git, on, require_words, sandboxed,
    shell, until,
};
use crate::tools::web::Server;

pub(crate) fn cases() -> Vec<Case> {
    let tiers = [
        (Confinement::Full, "full"),
        (Confinement::Fallback, "fallback"),
        (Confinement::Unconfined, "unconfined"),
    ];
    let written = tiers.into_iter().map(|(tier, word)| {
        let name = format!("attacks::nothing_in_the_git_directory_is_written_{word}");
        case(name, move || nothing_in_the_git_directory_is_written(tier)).in_tier(tier)
    });
    let others = [
        sandboxed!("attacks", a_repository_chooses_no_endpoint),
        sandboxed!("attacks", nothing_of_a_run_listens),
        sandboxed!("attacks", nobody_reads_the_memory_of_a_run),
    ];
    written.chain(others).collect()
}

/// What an agent tries in the git directory that its worktree names, which is its own `$w` in the
/// full tier and otherwise in the user's `$c`, and with git, which has one of its own in both; each
/// that works leaves a line.
const ATTEMPTS: &str = r#"
w=$(sed 's/gitdir: //' .git); c=$w; test -d "$w/objects" || c=$w/../..
try() { name=$1; shift; "$@" >/dev/null 2>&1 && echo "$name" >> found.txt; }
echo y > y.txt
try G7-branch git branch made-by-git
try G7-delete git update-ref -d refs/heads/other
try G7-object sh -c 'echo text | git hash-object -w --stdin' sh
try G7-gc git gc -q --prune=now
try G8 git stash push --include-untracked -- y.txt
echo y > y.txt
try G2 sh -c 'printf "[core]\n\tworktree = /tmp\n" >> "$1/config"' sh "$c"
try G3 sh -c 'mkdir -p "$1/hooks"; echo x > "$1/hooks/post-merge"' sh "$c"
try G5 sh -c 'cat "$1/commondir" > "$1/commondir.new" && mv "$1/commondir.new" "$1/commondir"' sh "$w"
try G6 sh -c 'printf "[core]\n\tfsmonitor = x\n" > "$1/config.worktree"' sh "$w"
try G7-ref sh -c 'cp "$1/HEAD" "$1/refs/heads/made"' sh "$c"
try G7-packed sh -c 'touch "$1/packed-refs"' sh "$c"
try G9-ref sh -c 'echo x > "$1/refs/heads/main.lock"' sh "$c"
try G9-packed sh -c 'echo x > "$1/packed-refs.lock"' sh "$c"
try G9-config sh -c 'echo x > "$1/config.lock"' sh "$c"
try rerere sh -c 'mkdir -p "$1/rr-cache/made"' sh "$c"
try info sh -c 'mkdir -p "$1/info"; echo x > "$1/info/attributes"' sh "$c"
try alternates sh -c 'mkdir -p "$1/objects/info"; echo /tmp > "$1/objects/info/alternates"' sh "$c"
try base sh -c 'echo x > "$1/planted"' sh "$w-base/objects"
touch found.txt; true
"#;
/// What of that no tier lets happen.
const NEVER: [&str; 1] = ["base"];
/// What works with git in both tiers, on the agent's own.
const WITH_GIT: [&str; 5] = ["G7-branch", "G7-delete", "G7-object", "G7-gc", "G8"];

/// What the attempts leave where they work.
const MARKS: [&str; 8] = [
    "hooks/post-merge",
    "refs/heads/made",
    "refs/heads/main.lock",
    "packed-refs.lock",
    "config.lock",
    "rr-cache/made",
    "info/attributes",
    "objects/info/alternates",
];

/// Lists what the attempts have left in the user's git directory.
fn marks_in(world: &World) -> Vec<&'static str> {
    let common = world.repository.path().join(".git");
    let mut marks = MARKS.to_vec();
    marks.retain(|mark| common.join(mark).exists());
    marks
}

fn nothing_in_the_git_directory_is_written(tier: Confinement) -> Outcome {
    let world = World::lived_in()?;
    let before = git(world.repository.path(), &["config", "--list", "--local"])?;
    let script = Script::default()
        .rule(shell(on("T1", 1), ATTEMPTS))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 try\n", &script, |settings| {
        settings.confinement = ConfinementChoice::Exactly(tier);
    });
    if tier == Confinement::Unconfined {
        // The control: without a sandbox attempts of each kind leave their marks, whatever becomes
        // of the run.
        let there = marks_in(&world);
        let mut absent = MARKS.to_vec();
        absent.retain(|mark| !there.contains(mark));
        return if absent.is_empty() {
            Ok(())
        } else {
            fail(format!("the control leaves no {absent:?}"))
        };
    }
    let played = played?;
    played.require_merged(&["T1"])?;
    let found = world.merged(&played.report, "found.txt")?;
    let (with_git, else_done): (Vec<&str>, Vec<&str>) =
        found.lines().partition(|name| WITH_GIT.contains(name));
    assert_eq!(with_git, WITH_GIT, "git does not work: {found}");
    let is_forbidden = |name: &&str| tier != Confinement::Full || NEVER.contains(name);
    let forbidden: Vec<&str> = else_done.into_iter().filter(is_forbidden).collect();
    assert!(
        forbidden.is_empty(),
        "an agent wrote to the user's git directory: {forbidden:?}"
    );
    let planted = marks_in(&world);
    assert!(planted.is_empty(), "{planted:?}");
    let made = git(world.repository.path(), &["branch", "--list", "made*"])?;
    assert_eq!(made, "", "an agent made a branch of the user's");
    let after = git(world.repository.path(), &["config", "--list", "--local"])?;
    let other = git(world.repository.path(), &["rev-parse", "--verify", "other"]);
    assert_eq!(before, after, "the repository is not as it was");
    assert!(other.is_ok(), "the repository is not as it was");
    Ok(())
}

/// A repository may contain the files in which tools look for endpoints; only the user names one.
fn a_repository_chooses_no_endpoint() -> Outcome {
    let server = Server::start()?;
    let world = World::with_plan("- [ ] T1 write\n")?;
    let url = format!("http://127.0.0.1:{}", server.port());
    let variables = format!(
        "OPENAI_BASE_URL={url}/v1\nOPENAI_API_BASE={url}/v1\nOPENAI_API_KEY=key-of-the-repository\n\
         HTTPS_PROXY={url}\nHTTP_PROXY={url}\nALL_PROXY={url}\nSSL_CERT_FILE=./evil.pem\n"
    );
    for file in [".env", ".env.local", ".orchestrate/.env", ".envrc"] {
        world.repository.write(file, &variables)?;
    }
    world.repository.commit_all("Name an endpoint")?;
    let run = |world: &World| {
        world.orchestrate(&[
            "run",
            "plan.md",
            "--model",
            "openai/m",
            "--outage-patience",
            "1s",
        ])
    };
    let nobody = "http://127.0.0.1:9/v1";
    let ran = run(&world)
        .env("OPENAI_BASE_URL", nobody)
        .env("OPENAI_API_KEY", "key-of-the-user")
        .run()?;
    assert!(
        ran.code != 0 && server.asked().is_empty(),
        "the endpoint of the repository was asked: {:?}\n{}",
        server.asked(),
        ran.stderr
    );
    world
        .repository
        .write("orchestrate.toml", &format!("base_url = \"{url}/v1\"\n"))?;
    let refused = run(&world)
        .env("OPENAI_API_KEY", "key-of-the-user")
        .run()?
        .exits(2)?;
    require_words(&refused.stderr, &["base_url"])?;
    assert!(
        server.asked().is_empty(),
        "the endpoint of the repository was asked: {:?}",
        server.asked()
    );
    std::fs::remove_file(world.repository.path().join("orchestrate.toml"))?;
    // The control: the same endpoint is asked if the user names it.
    run(&world)
        .env("OPENAI_BASE_URL", format!("{url}/v1"))
        .env("OPENAI_API_KEY", "key-of-the-user")
        .run()?;
    assert!(!server.asked().is_empty(), "the control asks nobody");
    Ok(())
}

/// Starts a run whose command waits for the file `go` in the folder that is returned.
fn waiting() -> Result<(World, Running, PathBuf), Failed> {
    let world = World::with_plan(
        "- [ ] T1 wait (run: touch started; until test -e go; do sleep 0.05; done)\n",
    )?;
    let model = world.script(&Script::default())?;
    let running = world
        .orchestrate(&["run", "plan.md", "--model", &model, "--no-verify-base"])
        .start()?;
    let worktree = until(crate::support::GRACE, || started_in(&world.home.state()))?;
    Ok((world, running, worktree))
}

/// There is no page and no port of ours: nothing that a browser, a neighbour or an agent could ask.
fn nothing_of_a_run_listens() -> Outcome {
    let (_world, mut running, worktree) = waiting()?;
    // The sockets of other tests come and go; one of the run would stay.
    let found = until(crate::support::GRACE, || {
        Ok(listening(running.pid())?.is_empty().then_some(()))
    });
    let found = if found.is_err() {
        listening(running.pid())?
    } else {
        Vec::new()
    };
    std::fs::write(worktree.join("go"), "")?;
    ends(&mut running)?;
    assert!(found.is_empty(), "a run listens: {found:?}");
    // The control: sockets of this process that listen are found.
    let (stream, datagram) = (
        TcpListener::bind("127.0.0.1:0")?,
        UdpSocket::bind("127.0.0.1:0")?,
    );
    let found = listening(std::process::id())?.len();
    drop((stream, datagram));
    assert!(found >= 2, "the control finds no socket");
    Ok(())
}

/// A run holds the keys of the user: no other process of the user reads its memory, and no core
/// file has it.
fn nobody_reads_the_memory_of_a_run() -> Outcome {
    let (_world, mut running, worktree) = waiting()?;
    let read = |pid: u32, file: &str| std::fs::read(format!("/proc/{pid}/{file}"));
    let (limits, environment) = (
        read(running.pid(), "limits"),
        read(running.pid(), "environ"),
    );
    std::fs::write(worktree.join("go"), "")?;
    ends(&mut running)?;
    let limits = String::from_utf8(limits?)?;
    let core = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max core file size"));
    let has_none =
        core.is_some_and(|both| both.split_whitespace().take(2).all(|limit| limit == "0"));
    // Root reads the memory of every process.
    let is_hidden = environment.is_err() || rustix::process::geteuid().is_root();
    assert!(has_none, "core files: {core:?}, hidden: {is_hidden}");
    assert!(is_hidden, "core files: {core:?}, hidden: {is_hidden}");
    // The control: a process that hides nothing is read.
    assert!(
        !read(std::process::id(), "environ")?.is_empty(),
        "the control shows nothing"
    );
    Ok(())
}

fn ends(running: &mut Running) -> Outcome {
    until(crate::support::GRACE, || {
        Ok(running.has_ended()?.then_some(()))
    })
}

/// Returns the folder in which the command of the run has started.
fn started_in(folder: &Path) -> Result<Option<PathBuf>, Failed> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(None);
    };
    for entry in entries {
        let path = entry?.path();
        if path.join("started").exists() {
            return Ok(Some(path));
        }
        if path.is_dir()
            && !path.is_symlink()
            && let Some(found) = started_in(&path)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the sockets that a process has open; `None` if it does not show them to its own user.
fn sockets_of(pid: &str) -> Option<BTreeSet<String>> {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let targets =
        links.filter_map(|entry| Some(std::fs::read_link(entry.path()).ok()?.to_str()?.to_owned()));
    Some(
        targets
            .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
            .collect(),
    )
}

/// Returns the addresses at which a process takes connections or datagrams. Of one that hides its
/// sockets, these are all of its user's that no other process has.
fn listening(pid: u32) -> Result<Vec<String>, Failed> {
    let tables = tables();
    let is_of = match sockets_of(&pid.to_string()) {
        Some(own) => tables
            .iter()
            .filter(|(inode, ..)| own.contains(inode))
            .collect::<Vec<_>>(),
        None => {
            let user = rustix::process::getuid().as_raw().to_string();
            let pids = std::fs::read_dir("/proc")?
                .flatten()
                .map(|entry| entry.file_name());
            let others: BTreeSet<String> = pids
                .filter_map(|name| sockets_of(name.to_str()?))
                .flatten()
                .collect();
            tables
                .iter()
                .filter(|(inode, owner, _)| *owner == user && !others.contains(inode))
                .collect()
        }
    };
    Ok(is_of
        .into_iter()
        .map(|(.., address)| address.clone())
        .collect())
}

/// Returns the inode, the user and the address of each socket that takes connections or datagrams.
fn tables() -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    // The state of a listening TCP socket, and of an unconnected UDP one (proc_pid_net(5)).
    for (table, state) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
        // Without IPv6, its tables are not there.
        let text = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if let [_, local, _, is, _, _, _, user, _, inode, ..] = fields.as_slice()
                && *is == state
            {
                found.push((
                    (*inode).to_owned(),
                    (*user).to_owned(),
                    format!("{table} {local}"),
                ));
            }
        }
    }
    found
}
