//! The tokio interface, in a program with libtest's own `main`: the hook before `main` makes it the
//! helper.

use std::path::Path;
use std::time::Duration;

use orchestrate_sandbox::{
    Cancel, Confinement, Exit, Helper, HostView, Job, Limits, Network, Sandbox, View,
    helper_installed,
};

fn job(root: &Path, script: &str) -> Job {
    Job {
        view: View::Host(HostView {
            writable: vec![root.to_owned()],
            ..HostView::default()
        }),
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: root.to_owned(),
        stdin: Vec::new(),
        env: Default::default(),
        network: Network::None,
        limits: Limits {
            timeout: Duration::from_secs(60),
            ..Limits::default()
        },
    }
}

async fn appears(path: &Path) {
    while !path.exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn runs_cancels_and_stops_when_dropped() {
    assert!(helper_installed());
    let sandbox = Sandbox::with(Confinement::Unconfined, Helper::default()).unwrap();
    let root = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    let finished = sandbox
        .run_async(job(root.path(), "exit 3"), cancel.clone())
        .await
        .unwrap();
    assert_eq!(finished.exit, Exit::Code(3));

    let running = sandbox.run_async(job(root.path(), "touch first; sleep 60"), cancel.clone());
    let started = root.path().join("first");
    let (finished, ()) = tokio::join!(running, async {
        appears(&started).await;
        cancel.cancel();
    });
    assert_eq!(finished.unwrap().exit, Exit::Cancelled);

    let dropped = sandbox.run_async(
        job(
            root.path(),
            "trap 'touch ended; exit' TERM; touch second; while :; do sleep 0.05; done",
        ),
        Cancel::new(),
    );
    let second = root.path().join("second");
    tokio::select! {
        finished = dropped => panic!("it ended: {finished:?}"),
        () = appears(&second) => {}
    }
    appears(&root.path().join("ended")).await;
}

#[tokio::test]
async fn folders_are_removed_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let (gone, kept) = (folder.path().join("gone"), folder.path().join("kept"));
    for number in 0..200 {
        std::fs::create_dir_all(gone.join(format!("{number}/deep"))).unwrap();
    }
    std::fs::create_dir(&kept).unwrap();
    std::os::unix::fs::symlink(&kept, gone.join("link")).unwrap();
    orchestrate_sandbox::remove_in_background(&[gone.clone(), folder.path().join("not-there")])
        .unwrap();
    while gone.exists() {
        tokio::task::yield_now().await;
    }
    assert!(kept.exists());
}
