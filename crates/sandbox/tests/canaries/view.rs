//! What a job sees: its roots, its masks, its environment, and nothing else.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use orchestrate_sandbox::{Additions, Confinement, Content, Exit, Job, Mask, SandboxError, View};

use crate::support::{Scene, Tested, coordinator_of, unique_seconds};
use crate::{Body, Named};

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let confinement = tested.confinement;
    let mut all: Vec<Named> = vec![
        ("writes_in_its_root", writes_in_its_root),
        (
            "hides_what_replaces_a_masked_file",
            hides_what_replaces_a_masked_file,
        ),
        (
            "gets_only_the_named_environment",
            gets_only_the_named_environment,
        ),
        (
            "starts_while_a_masked_file_is_replaced",
            starts_while_a_masked_file_is_replaced,
        ),
        (
            "refuses_a_directory_outside_as_cwd",
            refuses_a_directory_outside_as_cwd,
        ),
        ("refuses_wrong_roots", refuses_wrong_roots),
        ("hides_the_users_home", hides_the_users_home),
        (
            "starts_the_programs_of_the_users_path",
            starts_the_programs_of_the_users_path,
        ),
        ("hides_the_machines_settings", hides_the_machines_settings),
    ];
    if confinement != Confinement::Unconfined {
        all.push((
            "reads_but_does_not_write_a_read_only_root",
            reads_but_does_not_write_a_read_only_root,
        ));
        all.push(("sees_what_the_user_adds", sees_what_the_user_adds));
        all.push((
            "sees_only_parts_of_a_composed_directory",
            sees_only_parts_of_a_composed_directory,
        ));
        all.push((
            "does_not_write_through_a_link",
            does_not_write_through_a_link,
        ));
        all.push(("has_an_empty_private_home", has_an_empty_private_home));
        all.push((
            "hides_a_masked_file_of_a_read_only_root",
            hides_a_masked_file_of_a_read_only_root,
        ));
    }
    if confinement == Confinement::Fallback {
        all.push((
            "sets_modes_of_its_own_files_only",
            sets_modes_of_its_own_files_only,
        ));
    }
    if confinement == Confinement::Full {
        all.push(("shows_masks", shows_masks));
        all.push(("does_not_move_a_masked_file", does_not_move_a_masked_file));
        all.push((
            "refuses_a_mask_of_what_could_be_made",
            refuses_a_mask_of_what_could_be_made,
        ));
        all.push(("bounds_temporary_files", bounds_temporary_files));
        all.push(("sees_only_its_own_processes", sees_only_its_own_processes));
    }
    let bind = |(name, test): Named| {
        (
            format!("view::{name}"),
            Box::new(move || test(&Scene::new(tested))) as Body,
        )
    };
    all.into_iter().map(bind).collect()
}

fn with_view(job: Job, scene: &Scene, masks: Vec<Mask>, read_only: Vec<PathBuf>) -> Job {
    let mut view = scene.view();
    view.read_only.extend(read_only);
    view.masks = masks;
    Job {
        view: View::Host(view),
        ..job
    }
}

fn writes_in_its_root(scene: &Scene) {
    assert_eq!(
        scene.says(
            "pwd; mkdir a && echo hi > a/b && chmod +x a/b && mv a/b c && cat c && touch -d @0 c"
        )
        .1,
        format!("{}\nhi\n", scene.root.path().display())
    );
    assert_eq!(
        std::fs::read_to_string(scene.root.path().join("c")).unwrap(),
        "hi\n"
    );
}

/// Uses a home and a `PATH` without toolchains, of which each has variables.
fn gets_only_the_named_environment(scene: &Scene) {
    let mut job = scene.job("env", &[]);
    job.env.insert("GIVEN".into(), "1".into());
    assert!(
        scene
            .run(&job)
            .stdout
            .text()
            .lines()
            .any(|line| line == "GIVEN=1")
    );
    let mut coordinator = coordinator_of(scene, "env");
    coordinator
        .env_clear()
        .env("HOME", scene.outside.path())
        .env("PATH", "/usr/bin:/bin")
        .env("TOKEN", "1");
    let text = String::from_utf8(coordinator.output().unwrap().stdout).unwrap();
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    // The shell sets the last two.
    let ours = [
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "USER",
        "LOGNAME",
        "GIT_CONFIG_NOSYSTEM",
        "PYTHONDONTWRITEBYTECODE",
    ];
    let known: Vec<&str> = ours.into_iter().chain(["PWD", "OLDPWD"]).collect();
    assert!(names.contains(&"PATH"), "{text}");
    names.retain(|name| !known.contains(name));
    assert_eq!(names, [""; 0], "{text}");
}

fn refuses_a_directory_outside_as_cwd(scene: &Scene) {
    for cwd in [
        scene.outside.path().to_owned(),
        PathBuf::from("/"),
        scene.root.path().join("absent"),
        "x".into(),
    ] {
        let job = Job {
            cwd,
            ..scene.sh("true")
        };
        assert!(matches!(
            scene.try_run(&job),
            Err(SandboxError::CwdOutside { .. })
        ));
    }
    symlink(scene.outside.path(), scene.root.path().join("link")).unwrap();
    let job = Job {
        cwd: scene.root.path().join("link"),
        ..scene.sh("true")
    };
    assert!(matches!(
        scene.try_run(&job),
        Err(SandboxError::CwdOutside { .. })
    ));
}

fn refuses_wrong_roots(scene: &Scene) {
    for root in ["/", "/proc", "/dev/shm", "relative", "/absent-root"] {
        let job = with_view(scene.sh("true"), scene, Vec::new(), vec![root.into()]);
        assert!(
            matches!(scene.try_run(&job), Err(SandboxError::View { .. })),
            "{root}"
        );
    }
}

fn reads_but_does_not_write_a_read_only_root(scene: &Scene) {
    let shown = scene.outside.path();
    std::fs::write(shown.join("f"), "shown").unwrap();
    let script = format!(
        "cat {0}/f; echo x > {0}/f; touch {0}/g; rm {0}/f; exit 0",
        shown.display()
    );
    let job = with_view(scene.sh(&script), scene, Vec::new(), vec![shown.to_owned()]);
    let finished = scene.run(&job);
    assert_eq!(
        (finished.exit, finished.stdout.text().as_str()),
        (Exit::Code(0), "shown")
    );
    let left: Vec<_> = std::fs::read_dir(shown)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(
        (left, std::fs::read_to_string(shown.join("f")).unwrap()),
        (vec!["f".into()], "shown".to_owned())
    );
}

/// A path that does not exist is skipped, and a job's own variable counts.
fn sees_what_the_user_adds(scene: &Scene) {
    let added = scene.outside.path();
    std::fs::create_dir(added.join("shown")).unwrap();
    for name in ["shown/f", "not"] {
        std::fs::write(added.join(name), "content\n").unwrap();
    }
    let variables = [("ADDED", "1"), ("OWN", "added")];
    let additions = Additions {
        read_only: vec![added.join("shown"), added.join("absent")],
        env: variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    };
    let adding = Scene {
        tested: scene.tested,
        sandbox: scene.sandbox.clone().adding(additions),
        root: tempfile::tempdir().unwrap(),
        outside: tempfile::tempdir().unwrap(),
    };
    let script = format!(
        "cd {}; cat shown/f not; echo x > shown/f; echo $ADDED $OWN",
        added.display()
    );
    let mut job = adding.sh(&script);
    job.env.insert("OWN".into(), "own".into());
    assert_eq!(adding.run(&job).stdout.text(), "content\n1 own\n");
    assert_eq!(
        std::fs::read_to_string(added.join("shown/f")).unwrap(),
        "content\n"
    );
    // The control: without the addition, nothing of it is seen.
    assert_eq!(scene.run(&scene.sh(&script)).stdout.text(), "\n");
}

/// Parts that are copied and parts that are mounted are equally read-only.
fn sees_only_parts_of_a_composed_directory(scene: &Scene) {
    let directory = scene.outside.path();
    for name in ["little/deep", "empty", "much", "hidden"] {
        std::fs::create_dir_all(directory.join(name)).unwrap();
    }
    for name in [
        "small",
        "little/deep/f",
        "much/1",
        "much/2",
        "much/3",
        "much/4",
        "secret",
        "hidden/f",
    ] {
        std::fs::write(directory.join(name), "content\n").unwrap();
    }
    std::fs::write(directory.join("large"), "content\n".repeat(4096)).unwrap();
    let shown = ["small", "large", "little", "empty", "much", "absent"];
    let mut view = scene.view();
    view.composed.push(directory.to_owned());
    view.optional
        .extend(shown.iter().map(|name| directory.join(name)));
    let job = |script: &str| Job {
        view: View::Host(view.clone()),
        ..scene.sh(script)
    };
    let script = format!(
        "cd {} || cd /; cat small little/deep/f much/4; head -n 1 large; ls empty; cat secret hidden/f; \
         echo x > small; echo x > large; echo x > much/1; echo x > new; rm -f small much/1; rm -rf little; \
         chmod 777 small little/deep .; mv small moved; echo x > little/deep/new; mkdir new; exit 0",
        directory.display()
    );
    let finished = scene.run(&job(&script));
    assert_eq!(
        (finished.exit, finished.stdout.text()),
        (Exit::Code(0), "content\n".repeat(4))
    );
    let again = scene.run(&job(&format!(
        "cat {0}/small {0}/much/1 {0}/little/deep/f",
        directory.display()
    )));
    assert_eq!(again.stdout.text(), "content\n".repeat(3));
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 7);
    assert_eq!(
        std::fs::read_dir(directory.join("little/deep"))
            .unwrap()
            .count(),
        1
    );
    // The control: the same script reads and changes what the view shows as a whole.
    let mut whole = scene.view();
    whole.writable.push(directory.to_owned());
    let finished = scene.run(&Job {
        view: View::Host(whole),
        ..scene.sh(&script)
    });
    assert_eq!(finished.stdout.text(), "content\n".repeat(6));
    assert!(directory.join("new").exists() && !directory.join("little").exists());
}

fn does_not_write_through_a_link(scene: &Scene) {
    let target = scene.outside.path().join("target");
    std::fs::write(&target, "before").unwrap();
    symlink(&target, scene.root.path().join("file")).unwrap();
    symlink(scene.outside.path(), scene.root.path().join("dir")).unwrap();
    scene.says("echo x > file; echo x >> dir/target; echo x > dir/new; ln -s / own; echo x > own/etc/canary");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "before");
    assert!(!scene.outside.path().join("new").exists());
    // The control: without confinement, the same link leads there.
    let control = Scene::new(Tested::UNCONFINED);
    symlink(&target, control.root.path().join("file")).unwrap();
    control.says("echo x > file");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "x\n");
}

/// In the full tier it is at the path of the user's, where programs have recorded it.
fn has_an_empty_private_home(scene: &Scene) {
    let users = scene.outside.path().canonicalize().unwrap();
    std::fs::write(users.join("theirs"), "").unwrap();
    let mut coordinator = coordinator_of(scene, "echo ~; ls -A ~; touch ~/x && ls ~");
    coordinator
        .env("HOME", &users)
        .env("PATH", "/usr/bin:/bin")
        .env_remove("CARGO_HOME")
        .env_remove("RUSTUP_HOME");
    let said = String::from_utf8(coordinator.output().unwrap().stdout).unwrap();
    let is_full = scene.sandbox.confinement() == Confinement::Full;
    assert!(
        said.ends_with("\nx\n") && said.lines().count() == 2,
        "{said}"
    );
    assert_eq!(said.starts_with(users.to_str().unwrap()), is_full, "{said}");
    assert!(!users.join("x").exists());
    let said = scene.says("touch ~/x && echo t > $TMPDIR/y && cat $TMPDIR/y");
    assert_eq!(said, (Exit::Code(0), "t\n".into()));
    assert_eq!(
        scene.says("ls -A ~ $TMPDIR/y").0,
        Exit::Code(2),
        "the next job has a new one"
    );
    // The control: a file in a folder of both jobs is seen by the next one.
    assert_eq!(scene.says("echo t > shared").0, Exit::Code(0));
    assert_eq!(scene.says("cat shared"), (Exit::Code(0), "t\n".into()));
}

/// Uses a home of the test's own, because a real one may lack these files.
fn hides_the_users_home(scene: &Scene) {
    let home = scene.outside.path();
    let files = [
        ".ssh/id",
        ".bashrc",
        ".cargo/credentials.toml",
        ".cargo/registry/shown",
    ];
    for file in files.map(|file| home.join(file)) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, format!("{}\n", file.file_name().unwrap().display())).unwrap();
    }
    let mut coordinator = coordinator_of(
        scene,
        &format!("cd {}; cat {}; exit 0", home.display(), files.join(" ")),
    );
    coordinator
        .env("HOME", home)
        .env_remove("CARGO_HOME")
        .env_remove("RUSTUP_HOME");
    let said = String::from_utf8(coordinator.output().unwrap().stdout).unwrap();
    // Without a sandbox, everything is read; within one, only what builds need.
    let is_confined = scene.sandbox.confinement() != Confinement::Unconfined;
    assert_eq!(
        said,
        if is_confined {
            "shown\n"
        } else {
            "id\n.bashrc\ncredentials.toml\nshown\n"
        }
    );
}

/// A manager of versions, a folder of programs alone, and one that also leads to what is private.
fn starts_the_programs_of_the_users_path(scene: &Scene) {
    let home = scene.outside.path().canonicalize().unwrap();
    let programs = [
        (".pyenv/shims/tool", "exec $PYENV_ROOT/versions/3/bin/tool"),
        (".pyenv/versions/3/bin/tool", "echo version 3"),
        (".local/bin/alone", "echo alone"),
        (
            ".local/share/uv/tools/x/bin/led",
            "cat $(dirname $(readlink -f $0))/../lib; echo led",
        ),
        ("bin/mixed", "echo mixed"),
        ("opt/far/far", "echo far"),
        ("project/.venv/bin/checkout", "echo the checkout"),
    ];
    let at = |name: &str| home.join(name);
    for (name, line) in programs {
        std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        std::fs::write(at(name), format!("#!/bin/sh\n{line}\n")).unwrap();
        std::fs::set_permissions(at(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let private = [
        "bin/notes",
        ".ssh",
        ".npmrc",
        ".pyenv/versions/3/pip.conf",
        ".local/share/uv/tools/x/lib",
        "opt/far/x",
    ];
    private
        .iter()
        .for_each(|name| std::fs::write(at(name), format!("{name}\n")).unwrap());
    std::fs::create_dir(at("project/.git")).unwrap();
    std::fs::write(at("project/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    symlink(at(".local/share/uv/tools/x/bin/led"), at(".local/bin/led")).unwrap();
    symlink(at("opt/far/far"), at("bin/far")).unwrap();
    symlink(at(".ssh"), at("bin/key")).unwrap();
    let path = ["project/.venv/bin", ".pyenv/shims", ".local/bin", "bin"].map(at);
    let path =
        std::env::join_paths(path.into_iter().chain(["/usr/bin".into(), "/bin".into()])).unwrap();
    let script = format!(
        "tool; alone; led; mixed; far; echo x > {0}/bin/new; echo x >> {0}/bin/mixed; cd {0}; \
         cat bin/notes bin/key .npmrc .pyenv/versions/3/pip.conf opt/far/x; checkout; exit 0",
        home.display()
    );
    let mut coordinator = coordinator_of(scene, &script);
    coordinator
        .env("HOME", &home)
        .env("PATH", path)
        .env("PYENV_ROOT", at(".pyenv"));
    let said = String::from_utf8(coordinator.output().unwrap().stdout).unwrap();
    let started = "version 3\nalone\n.local/share/uv/tools/x/lib\nled\nmixed\nfar\n";
    if scene.sandbox.confinement() == Confinement::Unconfined {
        let all = [
            "bin/notes",
            ".ssh",
            ".npmrc",
            ".pyenv/versions/3/pip.conf",
            "opt/far/x",
            "the checkout",
            "",
        ];
        assert!(said.ends_with(&all.join("\n")), "the control: {said}");
        return;
    }
    assert_eq!(said, started);
    assert!(!at("bin/new").exists());
}

fn hides_the_machines_settings(scene: &Scene) {
    let files = [
        "shadow",
        "gitconfig",
        "machine-id",
        "hostname",
        "shells",
        "fstab",
    ]
    .map(|name| format!("/etc/{name}"));
    let readable = files
        .iter()
        .filter(|file| std::fs::read(file).is_ok_and(|content| !content.is_empty()));
    let readable: Vec<&String> = readable.collect();
    assert!(
        !readable.is_empty(),
        "nothing to hide on this machine among {files:?}"
    );
    for file in readable {
        let (through, said) = scene.probe(&["read", file]);
        assert_eq!(
            through,
            scene.sandbox.confinement() == Confinement::Unconfined,
            "{file}: {said}"
        );
    }
}

fn hides_a_masked_file_of_a_read_only_root(scene: &Scene) {
    let shown = scene.outside.path();
    std::fs::create_dir(shown.join("hooks")).unwrap();
    for (name, text) in [("config", "token"), ("hooks/h", "hook"), ("HEAD", "ref")] {
        std::fs::write(shown.join(name), text).unwrap();
    }
    let masks = vec![
        Mask {
            path: shown.join("config"),
            content: Content::File(b"generated".to_vec()),
        },
        Mask {
            path: shown.join("hooks"),
            content: Content::EmptyDir,
        },
    ];
    let script = format!(
        "cd {}; cat HEAD; cat config hooks/h 2>/dev/null; exit 0",
        shown.display()
    );
    let text = scene
        .run(&with_view(
            scene.sh(&script),
            scene,
            masks,
            vec![shown.to_owned()],
        ))
        .stdout
        .text();
    let expected = if scene.sandbox.confinement() == Confinement::Full {
        "refgenerated"
    } else {
        "ref"
    };
    assert_eq!(text, expected);
    // The control: without masks everything is shown.
    let text = scene
        .run(&with_view(
            scene.sh(&script),
            scene,
            Vec::new(),
            vec![shown.to_owned()],
        ))
        .stdout
        .text();
    assert_eq!(text, "reftokenhook");
}

/// `git config` replaces its file like this, by renaming another over it.
fn starts_while_a_masked_file_is_replaced(scene: &Scene) {
    const JOBS: usize = 10;
    let shown = scene.outside.path();
    let config = shown.join("config");
    std::fs::write(&config, "token").unwrap();
    let masks = vec![Mask {
        path: config.clone(),
        content: Content::File(b"generated".to_vec()),
    }];
    let job = with_view(scene.sh("true"), scene, masks, vec![shown.to_owned()]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                std::fs::write(shown.join("new"), "token").unwrap();
                std::fs::rename(shown.join("new"), &config).unwrap();
            }
        });
        let ended: Vec<_> = (0..JOBS)
            .map(|_| scene.try_run(&job).map(|finished| finished.exit))
            .collect();
        is_over.store(true, Ordering::SeqCst);
        assert!(
            ended.iter().all(|exit| matches!(exit, Ok(Exit::Code(0)))),
            "{ended:?}"
        );
    });
}

/// A file that replaces a masked one while the job runs is not shown either.
fn hides_what_replaces_a_masked_file(scene: &Scene) {
    let (shown, root) = (scene.outside.path(), scene.root.path());
    let config = shown.join("config");
    std::fs::write(&config, "token").unwrap();
    let masks = vec![Mask {
        path: config.clone(),
        content: Content::File(b"generated".to_vec()),
    }];
    let wait = "touch ready; until [ -e go ]; do sleep 0.01; done";
    let script = format!("{wait}; cat {} 2>/dev/null; exit 0", config.display());
    let job = with_view(scene.sh(&script), scene, masks, vec![shown.to_owned()]);
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !root.join("ready").exists() && !is_over.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            std::fs::write(shown.join("new"), "newer token").unwrap();
            std::fs::rename(shown.join("new"), &config).unwrap();
            std::fs::write(root.join("go"), "").unwrap();
        });
        let ended = scene.try_run(&job);
        is_over.store(true, Ordering::SeqCst);
        ended
    });
    let text = ended.unwrap().stdout.text();
    let expected = match scene.sandbox.confinement() {
        Confinement::Full => "generated",
        Confinement::Fallback => "",
        Confinement::Unconfined => "newer token",
    };
    assert_eq!(text, expected);
}

fn shows_masks(scene: &Scene) {
    let root = scene.root.path();
    std::fs::create_dir(root.join("dir")).unwrap();
    for name in [".git", "dir/inside", "kept"] {
        std::fs::write(root.join(name), "original").unwrap();
    }
    let masks = vec![
        Mask {
            path: root.join(".git"),
            content: Content::File(b"generated".to_vec()),
        },
        Mask {
            path: root.join("dir"),
            content: Content::EmptyDir,
        },
        Mask {
            path: root.join("kept"),
            content: Content::ReadOnly,
        },
    ];
    let script =
        "cat .git; ls dir; cat kept; echo x > .git; echo x > kept; touch dir/x; rm .git; exit 0";
    let finished = scene.run(&with_view(scene.sh(script), scene, masks, Vec::new()));
    assert_eq!(finished.stdout.text(), "generatedoriginal");
    let content = [".git", "dir/inside", "kept"]
        .map(|name| std::fs::read_to_string(root.join(name)).unwrap());
    assert_eq!(
        (content, root.join("dir/x").exists()),
        (["original"; 3].map(str::to_owned), false)
    );
    // The control: without masks the same commands show and change everything.
    let finished = scene.run(&with_view(scene.sh(script), scene, Vec::new(), Vec::new()));
    assert_eq!(finished.stdout.text(), "originalinside\noriginal");
    assert!(!root.join(".git").exists() && root.join("dir/x").exists());
}

fn does_not_move_a_masked_file(scene: &Scene) {
    let root = scene.root.path();
    std::fs::write(root.join(".git"), "original").unwrap();
    let masks = vec![Mask {
        path: root.join(".git"),
        content: Content::ReadOnly,
    }];
    let finished = scene.run(&with_view(
        scene.sh("mv .git other"),
        scene,
        masks,
        Vec::new(),
    ));
    assert_ne!(finished.exit, Exit::Code(0));
    assert_eq!(
        std::fs::read_to_string(root.join(".git")).unwrap(),
        "original"
    );
    // The control: without the mask it is moved.
    let finished = scene.run(&with_view(
        scene.sh("mv .git other"),
        scene,
        Vec::new(),
        Vec::new(),
    ));
    assert_eq!(finished.exit, Exit::Code(0));
}

fn refuses_a_mask_of_what_could_be_made(scene: &Scene) {
    let masks = vec![Mask {
        path: scene.root.path().join("absent"),
        content: Content::ReadOnly,
    }];
    let job = with_view(scene.sh("true"), scene, masks, Vec::new());
    assert!(matches!(
        scene.try_run(&job),
        Err(SandboxError::View { .. })
    ));
}

fn bounds_temporary_files(scene: &Scene) {
    let (_, text) = scene.says(
        "df -k /tmp /dev/shm ~ | awk 'NR>1 {print $2}'; touch /x /dev/x; echo x > /etc/passwd",
    );
    let sizes: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(sizes, ["1048576", "65536", "262144"]);
    assert!(
        text.matches("Read-only file system").count() >= 2
            || text.matches("Permission denied").count() >= 2,
        "{text}"
    );
    // The control: the bounded folders are not the machine's own, which other processes fill.
    let device = |scene: &Scene| scene.says("stat -c %d /tmp").1;
    assert_ne!(device(scene), device(&Scene::new(Tested::UNCONFINED)));
}

fn sees_only_its_own_processes(scene: &Scene) {
    let seconds = unique_seconds();
    let mut other = Command::new("sleep").arg(&seconds).spawn().unwrap();
    let sees_it = |scene: &Scene| {
        let (_, arguments) = scene.says("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'");
        arguments.lines().any(|argument| argument == seconds)
    };
    // The control: without a sandbox, the other process is visible.
    let seen = (sees_it(scene), sees_it(&Scene::new(Tested::UNCONFINED)));
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(seen, (false, true));
    let (_, text) = scene.says("ls /proc | grep -c '^[0-9]'");
    assert!(text.trim().parse::<u32>().unwrap() < 8, "{text}");
}

fn sets_modes_of_its_own_files_only(scene: &Scene) {
    let (own, outside, said) = modes_after_attempts(scene);
    assert_eq!((own, outside), (0o711, 0o644), "{said}");
    // The control: nothing else keeps the mode of the file outside.
    let (_, outside, said) = modes_after_attempts(&Scene::new(Tested::UNCONFINED));
    assert_eq!(outside, 0o600, "{said}");
}

/// Changes the modes of a file in the root and of one outside in several ways, and returns both.
fn modes_after_attempts(scene: &Scene) -> (u32, u32, String) {
    let outside = scene.outside.path().join("f");
    for file in [scene.root.path().join("f"), outside.clone()] {
        std::fs::write(file, "").unwrap();
    }
    symlink(&outside, scene.root.path().join("link")).unwrap();
    symlink("f", scene.root.path().join("inner")).unwrap();
    let script = format!(
        "chmod 700 $PWD/f; chmod 600 link; chmod 600 {}; chmod 600 ../*/f; chmod 4700 f; chmod a+x inner; chmod 700 ~; exit 0",
        outside.display()
    );
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    std::fs::set_permissions(&outside, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (_, said) = scene.says(&script);
    (mode(&scene.root.path().join("f")), mode(&outside), said)
}
