//! A job with a proxy reaches the socket that its caller accepts, in the one tier that can see to
//! it.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use orchestrate_sandbox::{Cancel, Confinement, Exit, Job, Network, SandboxError};

use crate::support::{Scene, Tested};
use crate::{Body, Named};

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let confinement = tested.confinement;
    let full: &[Named] = &[
        (
            "its_connections_are_accepted_outside",
            its_connections_are_accepted_outside,
        ),
        (
            "its_own_variables_lead_nowhere_else",
            its_own_variables_lead_nowhere_else,
        ),
        (
            "without_a_caller_that_accepts_nothing_is_reached",
            without_a_caller_that_accepts_nothing_is_reached,
        ),
    ];
    let fallback: &[Named] = &[
        (
            "its_connections_are_accepted_outside",
            its_connections_are_accepted_outside,
        ),
        (
            "without_a_caller_that_accepts_nothing_is_reached",
            without_a_caller_that_accepts_nothing_is_reached,
        ),
    ];
    let others: &[Named] = &[(
        "other_tiers_refuse_it_before_anything_starts",
        other_tiers_refuse_it,
    )];
    let tests = match confinement {
        Confinement::Full => full,
        Confinement::Fallback => fallback,
        Confinement::Unconfined => others,
    };
    let bind = |(name, test): &Named| {
        (
            format!("proxied::{name}"),
            Box::new({
                let test = *test;
                move || test(&Scene::new(tested))
            }) as Body,
        )
    };
    tests.iter().map(bind).collect()
}

/// Answers the first connection.
fn answer_one(listener: TcpListener) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 4];
        stream.read_exact(&mut asked).unwrap();
        stream.write_all(b"pong").unwrap();
        String::from_utf8(asked.to_vec()).unwrap()
    })
}

fn its_connections_are_accepted_outside(scene: &Scene) {
    let (sender, accepted) = mpsc::sync_channel(1);
    let accept = move |listener| sender.send(answer_one(listener)).unwrap();
    let finished = scene
        .sandbox
        .run_proxied(&scene.probe_job(&["through-proxy"]), &Cancel::new(), accept)
        .unwrap();
    assert_eq!(finished.exit, Exit::Code(0), "{}", finished.stdout.text());
    assert_eq!(accepted.recv().unwrap().join().unwrap(), "ping");
}

fn its_own_variables_lead_nowhere_else(scene: &Scene) {
    let env = [
        ("https_proxy", "http://elsewhere.example:1"),
        ("NO_PROXY", "*"),
        ("PIP_INDEX_URL", "https://a.example"),
    ];
    let env = env.map(|(name, value)| (name.into(), value.into()));
    let script = "echo $https_proxy $ALL_PROXY $CARGO_HTTP_PROXY $npm_config_https_proxy \"[$NO_PROXY]\" $PIP_INDEX_URL; \
        echo \"[$CARGO_NET_OFFLINE]\"; touch \"${CARGO_HOME:-/tmp}/registry\" && cat /etc/hosts; cat /etc/resolv.conf";
    let job = Job {
        env: env.into(),
        ..scene.sh(script)
    };
    let said = scene
        .sandbox
        .run_proxied(&job, &Cancel::new(), drop)
        .unwrap()
        .stdout
        .text();
    let proxy = "http://127.0.0.1:3128";
    let own = "localhost,127.0.0.1,::1";
    let hosts = "127.0.0.1 localhost\n::1 localhost\n";
    assert_eq!(
        said,
        format!("{proxy} {proxy} {proxy} {proxy} [{own}] https://a.example\n[]\n{hosts}")
    );
    // Its own servers are reached directly, unless it has none.
    let job = Job {
        env: [("NO_PROXY".into(), OsString::new())].into(),
        ..scene.sh("echo \"[$NO_PROXY$no_proxy]\"")
    };
    let said = scene
        .sandbox
        .run_proxied(&job, &Cancel::new(), drop)
        .unwrap()
        .stdout
        .text();
    assert_eq!(said, "[]\n");
}

fn without_a_caller_that_accepts_nothing_is_reached(scene: &Scene) {
    let job = Job {
        network: Network::Proxy,
        ..scene.probe_job(&["through-proxy"])
    };
    let finished = scene.run(&job);
    assert_ne!(finished.exit, Exit::Code(0));
    // It depends on the moment whether the socket is closed before the program connects or while it
    // waits.
    let said = finished.stdout.text();
    assert!(
        ["refused", "reset by peer"]
            .iter()
            .any(|closed| said.contains(closed)),
        "{said}"
    );
}

fn other_tiers_refuse_it(scene: &Scene) {
    let asked = [
        scene
            .sandbox
            .run_proxied(&scene.sh("touch started"), &Cancel::new(), drop),
        scene.try_run(&Job {
            network: Network::Proxy,
            ..scene.sh("touch started")
        }),
    ];
    for refused in asked {
        let Err(SandboxError::NoEgress { tier, reason }) = refused else {
            panic!("it ran: {refused:?}")
        };
        assert_eq!(
            (tier, reason.is_empty()),
            (scene.sandbox.confinement(), false)
        );
    }
    assert!(!scene.root.path().join("started").exists());
}
