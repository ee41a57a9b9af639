//! The project's setup in every worktree: what it reaches, and nothing else does.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use orchestrate_coordinator::ConfinementChoice;
use orchestrate_core::TaskState::{Failed as FailedTask, Merged};
use orchestrate_core::task::FailureCause;
use orchestrate_sandbox::Confinement;
use serde_json::json;

use libtest_mimic::Failed;

use crate::support::{Case, Outcome, Script, World, case, done, fail, on, writes};

pub(crate) fn cases() -> Vec<Case> {
    let tiers = [
        (Confinement::Full, "full"),
        (Confinement::Fallback, "fallback"),
    ];
    let network = tiers.map(|(tier, name)| {
        case(
            format!("setup::only_an_allowed_setup_reaches_the_network ({name})"),
            move || network(tier),
        )
        .in_tier(tier)
    });
    let configured = tiers.map(|(tier, name)| {
        let name =
            format!("setup::what_names_its_folder_is_shared_where_all_have_the_same ({name})");
        case(name, move || configured(tier)).in_tier(tier)
    });
    let others = [
        case!(its_result_is_shared_and_leads_into_each_worktree),
        case!(a_result_that_cannot_be_moved_is_made_in_each_worktree),
        case!(what_an_agent_writes_never_runs_with_the_network),
        case!(a_host_that_is_not_named_is_refused_and_said),
        case!(a_change_of_what_it_reads_has_to_pass_without_the_network),
        case!(a_failed_setup_is_not_shared),
        case!(a_setup_that_fails_with_the_network_runs_once),
        case!(a_landing_is_checked_after_its_run_was_cleaned),
        case!(its_worktree_is_cleaned_with_the_run),
    ];
    network
        .into_iter()
        .chain(configured)
        .chain(others)
        .collect()
}

/// A server on the loopback that records what is asked of it, and answers nothing.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Result<Self, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, asked) = (listener.local_addr()?, Arc::<Mutex<Vec<String>>>::default());
        let record = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut request = String::new();
                let mut reader = BufReader::new(stream);
                let _ = reader.read_line(&mut request);
                let path = request.split('/').nth(1).unwrap_or_default().to_owned();
                record
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(path);
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                    line.clear();
                }
                let none =
                    "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                let _ = reader.get_mut().write_all(none.as_bytes());
            }
        });
        Ok(Self { address, asked })
    }

    /// Returns a command that asks this server for a path; it succeeds in any case.
    fn ask(&self, path: &str) -> String {
        format!("git ls-remote http://{}/{path} || true", self.address)
    }

    /// Returns the setting that lets a setup reach this server.
    fn hosts(&self) -> Vec<String> {
        vec![self.address.to_string()]
    }

    /// Returns what was asked for, sorted.
    fn asked(&self) -> Vec<String> {
        let mut asked = self
            .asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        asked.sort();
        asked
    }
}

fn network(tier: Confinement) -> Outcome {
    for (setup_network, is_named, expected) in [
        (false, true, vec![]),
        (true, false, vec![]),
        (true, true, vec!["setup".to_owned()]),
    ] {
        let (world, server) = (World::plain()?, Server::start()?);
        let command = json!({"command": server.ask("agent")});
        let script = Script::default()
            .rule(on("T1", 1).call("run_shell_command", &command))
            .rule(writes(on("T1", 2), "one.txt"))
            .rule(done("T1"));
        let plan = format!(
            "- [ ] T1 make it\n- [ ] T2 ask (run: {}; touch two.txt)\n",
            server.ask("run")
        );
        let played = world.play(&plan, &script, |settings| {
            settings.confinement = ConfinementChoice::Exactly(tier);
            settings.run.worktree_setup = Some(server.ask("setup"));
            settings.run.setup_network = setup_network;
            settings.run.setup_hosts = if is_named { server.hosts() } else { Vec::new() };
            settings.run.verify = Some(server.ask("verify"));
            settings.run.verify_base = true;
        })?;
        played.require_merged(&["T1", "T2"])?;
        let asked = server.asked();
        assert_eq!(
            asked, expected,
            "with setup_network = {setup_network}, {is_named}: {asked:?}\n{played}"
        );
    }
    Ok(())
}

/// A setup that makes other files each time that it runs, and one that names its worktree.
const MAKES: &str = "mkdir -p made/bin made/empty; cat /proc/sys/kernel/random/uuid > made/id; \
                     printf '#!%s/made/python\\n' \"$PWD\" > made/bin/tool; chmod +x made/bin/tool; ln -sf \"$PWD/made/id\" made/link";
/// Passes if the script and the link lead into the worktree of the command.
const LEADS_HERE: &str = "test -x made/bin/tool && test -d made/empty && grep -qxF \"#!$PWD/made/python\" made/bin/tool \
                          && test \"$(readlink made/link)\" = \"$PWD/made/id\"";

/// Plays two commands that record what the setup has made, one on the base and one on its result.
fn ids(setup: &str, each: &str, confinement: ConfinementChoice) -> Result<Vec<String>, Failed> {
    let world = World::plain()?;
    world.repository.write(".gitignore", "made/\n")?;
    world.repository.commit_all("Ignore")?;
    let task = |id: &str, rest: &str| {
        format!("- [ ] {id} note (run: {each} && cp made/id {id}.txt){rest}\n")
    };
    let plan = [task("T1", ""), task("T2", ""), task("T3", " (depends: T1)")].concat();
    let played = world.play(&plan, &Script::default(), |settings| {
        settings.confinement = confinement;
        settings.run.worktree_setup = Some(setup.to_owned());
        settings.run.verify = Some(each.to_owned());
        settings.run.verify_base = true;
    })?;
    played.require_merged(&["T1", "T2", "T3"])?;
    ["T1.txt", "T2.txt", "T3.txt"]
        .iter()
        .map(|file| world.merged(&played.report, file))
        .collect()
}

/// The base has one result; where the tree is another one, the setup runs again.
fn its_result_is_shared_and_leads_into_each_worktree() -> Outcome {
    let ids = ids(MAKES, LEADS_HERE, ConfinementChoice::Strongest)?;
    let [first, second, third] = ids.as_slice() else {
        return fail(ids.join(" "));
    };
    assert!(first == second && second != third, "{}", ids.join(" "));
    Ok(())
}

fn a_result_that_cannot_be_moved_is_made_in_each_worktree() -> Outcome {
    for unmovable in ["mkfifo made/pipe", "echo changed >> .gitignore"] {
        require_shared(false, unmovable, ConfinementChoice::Strongest)?;
    }
    Ok(())
}

/// What a configuration has recorded is the same path for all worktrees where each is mounted at
/// the checkout's.
fn configured(tier: Confinement) -> Outcome {
    let is_mounted = tier == Confinement::Full;
    require_shared(
        is_mounted,
        "echo \"SOURCE=$PWD\" > made/CMakeCache.txt",
        ConfinementChoice::Exactly(tier),
    )
}

/// Requires that two worktrees have the same result of a setup that ends with this command, or each
/// its own.
fn require_shared(expected: bool, command: &str, confinement: ConfinementChoice) -> Outcome {
    let setup = format!("{MAKES}; test -e made/again || {{ touch made/again; {command}; }}");
    let ids = ids(&setup, LEADS_HERE, confinement)?;
    let [first, second, _] = ids.as_slice() else {
        return fail(ids.join(" "));
    };
    assert_eq!((first == second), expected, "{command}: {}", ids.join(" "));
    Ok(())
}

/// The setup runs a file of the repository, which an agent changes; its result on the base has to
/// do from then on.
fn what_an_agent_writes_never_runs_with_the_network() -> Outcome {
    let (world, server) = (World::plain()?, Server::start()?);
    world.repository.write(".gitignore", "made/\n")?;
    world.repository.write(
        "setup.sh",
        &format!("mkdir -p made; touch made/x; {}\n", server.ask("setup")),
    )?;
    world.repository.commit_all("Set up")?;
    let evil = json!({"command": format!("echo '{}' > setup.sh", server.ask("evil"))});
    let script = Script::default()
        .rule(on("T1", 1).call("run_shell_command", &evil))
        .rule(done("T1"));
    let plan =
        "- [ ] T1 change it\n- [ ] T2 look (run: test -e made/x && touch two.txt) (depends: T1)\n";
    let played = world.play(plan, &script, |settings| {
        settings.run.worktree_setup = Some("sh setup.sh".to_owned());
        settings.run.setup_network = true;
        settings.run.setup_hosts = server.hosts();
        settings.run.verify = Some("test -e made/x".to_owned());
        settings.run.verify_base = true;
    })?;
    played.require_merged(&["T1", "T2"])?;
    let asked = server.asked();
    assert_eq!(asked, ["setup"], "{played}");
    Ok(())
}

/// What the setup made from the base may not fit; without the network, it cannot be made anew. It
/// fits again once the change is reverted, and not what the setup has made in between.
fn a_change_of_what_it_reads_has_to_pass_without_the_network() -> Outcome {
    let (world, server) = (World::plain()?, Server::start()?);
    let setup = format!(
        "mkdir -p made && {} && grep -qF one package.json && cp package.json made/",
        server.ask("setup")
    );
    world.repository.write(".gitignore", "made/\n")?;
    world.repository.write("package.json", "{\"one\": 1}\n")?;
    world.repository.commit_all("Set up")?;
    let plan = "- [ ] T1 keep (run: echo '{\"one\": 2}' > package.json)\n\
                - [ ] T2 revert (run: echo '{\"one\": 1}' > package.json; touch two.txt) (depends: T1)\n\
                - [ ] T3 break (run: echo '{\"two\": 2}' > package.json) (depends: T2)\n";
    let played = world.play(plan, &Script::default(), |settings| {
        settings.run.worktree_setup = Some(setup.clone());
        settings.run.setup_network = true;
        settings.run.setup_hosts = server.hosts();
        settings.run.merge_rounds = 0;
        settings.run.verify = Some("cmp package.json made/package.json".to_owned());
        settings.run.verify_base = true;
    })?;
    played.require(1, &[("T1", Merged), ("T2", Merged), ("T3", FailedTask)])?;
    played.require_failure(
        "T3",
        FailureCause::Check,
        "change what the setup reads in your checkout",
    )?;
    let asked = server.asked();
    assert_eq!(asked, ["setup"], "{played}");
    Ok(())
}

/// Three tasks learn of one failure, and what to do about it.
fn a_setup_that_fails_with_the_network_runs_once() -> Outcome {
    let (world, server) = (World::plain()?, Server::start()?);
    let plan = "- [ ] T1 one (run: true)\n- [ ] T2 two (run: true)\n- [ ] T3 three (run: true)\n";
    let played = world.play(plan, &Script::default(), |settings| {
        settings.run.worktree_setup = Some(format!(
            "{}; echo npm error code E401; exit 1",
            server.ask("setup")
        ));
        settings.run.setup_network = true;
        settings.run.setup_hosts = server.hosts();
    })?;
    played.require(
        1,
        &[("T1", FailedTask), ("T2", FailedTask), ("T3", FailedTask)],
    )?;
    played.require_failure(
        "T3",
        FailureCause::Setup,
        "private registries do not answer",
    )?;
    let asked = server.asked();
    assert_eq!(asked, ["setup"], "{played}");
    Ok(())
}

/// A changed script, an import or a computed path may ask for anything; the consent names what is
/// reached.
fn a_host_that_is_not_named_is_refused_and_said() -> Outcome {
    let (world, server) = (World::plain()?, Server::start()?);
    let played = world.play(
        "- [ ] T1 one (run: true)\n",
        &Script::default(),
        |settings| {
            settings.run.worktree_setup =
                Some(format!("echo asking; {}; exit 1", server.ask("setup")));
            settings.run.setup_network = true;
        },
    )?;
    played.require(1, &[("T1", FailedTask)])?;
    played.require_failure(
        "T1",
        FailureCause::Setup,
        "name it in `worktree.setup_hosts`",
    )?;
    played.require_failure("T1", FailureCause::Setup, "exit code 1: refused: ")?;
    played.require_failure(
        "T1",
        FailureCause::Setup,
        &format!("`{}` is no host of the setup", server.address),
    )?;
    assert!(server.asked().is_empty(), "{played}");
    Ok(())
}

/// The check of a merge with what the user has committed meanwhile needs what the setup made, and
/// so the network.
fn a_landing_is_checked_after_its_run_was_cleaned() -> Outcome {
    let (world, server) = (World::plain()?, Server::start()?);
    world.repository.write(".gitignore", "made/\n")?;
    let setup = format!("mkdir -p made; touch made/x; {}", server.ask("setup"));
    let config = format!(
        "verify = 'test -e made/x'\n[worktree]\nsetup = '{setup}'\nsetup_network = true\nsetup_hosts = ['{}']\n",
        server.address
    );
    world.repository.write("orchestrate.toml", &config)?;
    world.repository.commit_all("Set up")?;
    world.types(&["config", "trust", "--yes"], 0)?;
    world.write("plan.md", "- [ ] T1 one (run: touch one.txt)\n")?;
    world.types(&["run", &world.file("plan.md")], 0)?;
    world.types(&["clean", "--ignored"], 0)?;
    world.repository.write("users.txt", "1\n")?;
    world.repository.commit_all("Meanwhile")?;
    world.types(&["land"], 0)?;
    let asked = server.asked();
    assert_eq!(asked, ["setup", "setup"]);
    Ok(())
}

fn a_failed_setup_is_not_shared() -> Outcome {
    let world = World::plain()?;
    let played = world.play(
        "- [ ] T1 one (run: touch one.txt)\n",
        &Script::default(),
        |settings| {
            settings.run.worktree_setup =
                Some("touch half; echo no such package; exit 4".to_owned());
        },
    )?;
    played.require(1, &[("T1", FailedTask)])?;
    played.require_failure("T1", FailureCause::Setup, "exit code 4\nno such package")?;
    let path = played
        .coordinator
        .layout()
        .worktree(&played.report.run_id, &"T1".into());
    assert!(
        !path.join("half").exists(),
        "the result of a failed setup was shared"
    );
    Ok(())
}

fn its_worktree_is_cleaned_with_the_run() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("orchestrate.toml", "[worktree]\nsetup = 'true'\n")?;
    world.types(&["config", "trust", "--yes"], 0)?;
    world.write("plan.md", "- [ ] T1 one (run: touch one.txt)\n")?;
    world.types(&["run", &world.file("plan.md")], 0)?;
    let worktrees = world.git("worktree list --porcelain")?;
    let path = worktrees.lines().find_map(|line| {
        line.strip_prefix("worktree ")
            .filter(|path| path.ends_with("/+setup"))
    });
    let Some(path) = path.map(Path::new) else {
        return fail(worktrees);
    };
    world.types(&["clean"], 0)?;
    assert!(!path.exists(), "the worktree of the setup is left");
    Ok(())
}
