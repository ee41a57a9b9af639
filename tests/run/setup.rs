//! The project's setup in every worktree: what it reaches, and nothing else does.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use orchestrate_coordinator::ConfinementChoice;
use orchestrate_core::TaskState::Merged;
use orchestrate_sandbox::Confinement;
use serde_json::json;

use libtest_mimic::Failed;

use crate::support::{Case, Outcome, Rule, Script, World, case, done, fail};

pub(crate) fn cases() -> Vec<Case> {
    let tiers = [(Confinement::Full, "full"), (Confinement::Fallback, "fallback")];
    let network = tiers.map(|(tier, name)| {
        case(format!("setup::only_an_allowed_setup_reaches_the_network ({name})"), move || network(tier)).in_tier(tier)
    });
    network.into_iter().collect()
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
                let mut request = Vec::new();
                // Git ends the path that it asks for with a zero.
                let _ = BufReader::new(stream).read_until(0, &mut request);
                let text = String::from_utf8_lossy(&request).trim_end_matches('\0').to_owned();
                let path = text.rsplit('/').next().unwrap_or_default().to_owned();
                record.lock().unwrap_or_else(PoisonError::into_inner).push(path);
            }
        });
        Ok(Self { address, asked })
    }

    /// Returns a command that asks this server for a path; it succeeds in any case.
    fn ask(&self, path: &str) -> String {
        format!("git ls-remote git://{}/{path} || true", self.address)
    }

    /// Returns what was asked for, each once.
    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        asked.sort();
        asked.dedup();
        asked
    }
}

fn network(tier: Confinement) -> Outcome {
    for (setup_network, expected) in [(false, vec![]), (true, vec!["setup".to_owned()])] {
        let (world, server) = (World::plain()?, Server::start()?);
        let command = json!({"command": server.ask("agent")});
        let script = Script::default()
            .rule(Rule::task("T1").turn(1).call("run_shell_command", &command))
            .rule(Rule::task("T1").turn(2).call("write_file", &json!({"path": "one.txt", "content": "1\n"})))
            .rule(done("T1"));
        let plan = format!("- [ ] T1 make it\n- [ ] T2 ask (run: {}; touch two.txt)\n", server.ask("run"));
        let played = world.play(&plan, &script, |settings| {
            settings.confinement = ConfinementChoice::Exactly(tier);
            settings.run.worktree_setup = Some(server.ask("setup"));
            settings.run.setup_network = setup_network;
            settings.run.verify = Some(server.ask("verify"));
            settings.run.verify_base = true;
        })?;
        played.require(0, &[("T1", Merged), ("T2", Merged)])?;
        let asked = server.asked();
        if asked != expected {
            return fail(format!("with setup_network = {setup_network}: {asked:?}\n{}", played.story()));
        }
    }
    Ok(())
}
