//! A command with a network, as a person meets it: asked about by its hosts, approved, and
//! recorded.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use libtest_mimic::Failed;
use orchestrate_coordinator::{ConfinementChoice, Settings};
use orchestrate_core::TaskState::Waiting;
use orchestrate_core::event::Event;
use orchestrate_core::run::request::Request;
use orchestrate_sandbox::Confinement;
use serde_json::json;

use crate::support::{Case, Outcome, Script, World, case, done, fail, on, require_words, write};

pub(crate) fn cases() -> Vec<Case> {
    vec![case!(an_approved_command_reaches_the_hosts_that_it_names).in_tier(Confinement::Full)]
}

fn page_server() -> Result<u16, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // The whole request arrives at once, and what it says does not matter.
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhere\n",
            );
        }
    });
    Ok(port)
}

/// The user lists a host of this machine, so that its address may be a private one; no rule lets
/// programs there.
fn listed(settings: &mut Settings) {
    settings.confinement = ConfinementChoice::Exactly(Confinement::Full);
    settings.run.tool_settings.web_requests.allowed_domains = vec!["localhost".to_owned()];
    settings.run.ask_parks = true;
}

fn an_approved_command_reaches_the_hosts_that_it_names() -> Outcome {
    let (world, port) = (World::lived_in()?, page_server()?);
    let lines = format!(
        "exec 3<>/dev/tcp/127.0.0.1/3128\n\
        printf 'GET http://localhost:{port}/ HTTP/1.1\\r\\nhost: a\\r\\nconnection: close\\r\\n\\r\\n' >&3\n\
        tr -d '\\r' <&3 | tail -1 > page.txt\nexec 4<>/dev/tcp/127.0.0.1/3128\n\
        printf 'CONNECT other.example:443 HTTP/1.1\\r\\n\\r\\n' >&4\ncat <&4\n"
    );
    let asked = json!({"command": "bash run.sh", "network": true, "domains": ["localhost"]});
    let script = Script::default()
        .rule(write("T1", "run.sh", &lines))
        .rule(on("T1", 2).call("run_shell_command", &asked))
        .rule(done("T1"));
    let parked = world.play("- [ ] T1 look\n", &script, listed)?;
    parked.require(3, &[("T1", Waiting)])?;
    let (run, store) = (
        parked.report.run_id.clone(),
        parked.coordinator.store().clone(),
    );
    let calls: Vec<_> = store
        .state(&run)?
        .open_approvals()
        .map(|(call, asked)| (call.clone(), asked.clone()))
        .collect();
    let [(call, approval)] = calls.as_slice() else {
        return fail(parked.story());
    };
    assert_eq!(
        (approval.rule.as_str(), &approval.arguments["domains"]),
        ("built-in:network", &json!(["localhost"])),
        "{approval:?}"
    );
    store.send(
        &run,
        &Request::Decide {
            call: call.clone(),
            allowed: true,
            message: None,
        },
    )?;
    drop(parked);
    let resumed = world.resume(&run, &script, listed)?;
    resumed.require_merged(&["T1"])?;
    if world.merged(&resumed.report, "page.txt")? != "here" {
        return fail(resumed.story());
    }
    let decided = resumed.pick(|event| match event {
        Event::EgressDecided(decided) => {
            Some((decided.decision.asked.clone(), decided.decision.allowed))
        }
        _ => None,
    });
    assert_eq!(
        decided,
        [
            (format!("localhost:{port}"), true),
            ("other.example:443".to_owned(), false)
        ]
    );
    let refused = "the network refused other.example:443 (rule tools.web_requests.allowed_domains)";
    let result = resumed.results("T1")?.remove(1);
    assert!(result.contains(refused), "{result}");
    drop(resumed);
    let shown = world.types(&["log", "T1", "--tools"], 0)?.stdout;
    require_words(
        &shown,
        &[
            &format!("let a program connect to localhost:{port}"),
            "refused other.example:443 to a program",
        ],
    )?;
    let audited = world.types(&["audit", "show", "--json"], 0)?.stdout;
    require_words(&audited, &["\"egress\"", "\"asked\":\"other.example:443\""])
}
