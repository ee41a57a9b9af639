//! Tests of paths made up by a hostile model or repository.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use orchestrate_core::policy::RuleDecision::Deny;
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::ErrorKind;
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use serde_json::json;

use crate::support::{calls, policy, said};

/// The content of files that no tool may read or change.
const CANARY: &str = "canary-7f3a";

/// Calls every tool that takes a path with this one, and returns the kind of each refusal.
async fn refusals(harness: &ToolHarness, path: &str) -> Vec<Option<ErrorKind>> {
    let calls = [
        ("read_file", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "evil"})),
        (
            "update_file",
            json!({"path": path, "old": "o", "new": "evil"}),
        ),
        ("create_directory", json!({"path": path})),
        ("list_directory", json!({"path": path})),
        ("search_files", json!({"path": path, "pattern": "*"})),
        ("grep", json!({"path": path, "pattern": "."})),
        ("run_shell_command", json!({"command": "true", "cwd": path})),
        ("delete_file", json!({"path": path})),
    ];
    let mut kinds = Vec::new();
    for (tool, arguments) in calls {
        let output = harness.call(tool, arguments).await;
        assert!(
            !output.text().contains(CANARY),
            "{tool} {path}: {}",
            output.text()
        );
        kinds.push(output.error_kind);
    }
    kinds
}

pub(crate) async fn paths_that_leave_are_refused(harness: ToolHarness) {
    let canary = harness.outside().join("canary");
    fs::write(&canary, CANARY).unwrap();
    let evil = format!("{}-evil/x", harness.path().display());
    fs::create_dir(format!("{}-evil", harness.path().display())).unwrap();
    for path in [
        "../canary",
        "a/../../canary",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        "$HOME/x",
        "file:///etc/passwd",
        &evil,
        ".git",
        ".git/config",
        "./.git/../.git/hooks/x",
        ".GIT/config",
        ".g\u{200c}it/config",
        "\u{feff}.git",
        "git~1/config",
        ".git::$INDEX_ALLOCATION/config",
        "sub\\.git/config",
        "sub/.git/config",
        "/proc/self/mem",
        "/dev/zero",
        "/dev/stdin",
    ] {
        assert_eq!(
            refusals(&harness, path).await,
            vec![Some(ErrorKind::Denied); 9],
            "{path}"
        );
    }
    for path in ["a\0b", &"x".repeat(4097)] {
        assert_eq!(
            refusals(&harness, path).await,
            vec![Some(ErrorKind::Retry); 9],
            "{path:?}"
        );
    }
    assert_eq!(fs::read_to_string(canary).unwrap(), CANARY);
    assert_eq!(fs::read_dir(harness.path()).unwrap().count(), 0);
    // The control: the first of these paths does lead to the file outside.
    assert_eq!(
        fs::read_to_string(harness.path().join("../canary")).unwrap(),
        CANARY
    );
}

/// Uses the names of `what_git_takes_is_stored_as_it_is` in the git crate: both crates must treat
/// them alike.
pub(crate) async fn names_that_git_takes_are_written_and_shown_escaped(harness: ToolHarness) {
    for name in [
        "a\rb",
        "new\nline",
        "esc\u{1b}[2J",
        "readme",
        "README",
        "e\u{301}",
        "\u{e9}",
        "f\u{3164}",
        "x\u{202e}y",
    ] {
        let output = harness
            .call("write_file", json!({"path": name, "content": name}))
            .await;
        assert!(output.success, "{name:?}: {}", output.text());
        assert_eq!(fs::read_to_string(harness.path().join(name)).unwrap(), name);
        assert!(
            !output
                .text()
                .contains(['\r', '\u{1b}', '\u{202e}', '\u{3164}']),
            "{:?}",
            output.text()
        );
    }
    for (tool, arguments) in [
        ("list_directory", json!({})),
        ("search_files", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "[a-z]", "mode": "files"})),
    ] {
        let output = harness.call(tool, arguments).await;
        assert!(
            output.text().contains("a\\rb") && output.text().contains("new\\nline"),
            "{tool}: {:?}",
            output.text()
        );
        assert!(
            !output
                .text()
                .contains(['\r', '\u{1b}', '\u{202e}', '\u{3164}']),
            "{tool}: {:?}",
            output.text()
        );
    }
    // The control: a plain listing of the folder contains these characters.
    let names = fs::read_dir(harness.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(
        names
            .filter(|name| name.contains(['\r', '\u{1b}', '\u{202e}', '\u{3164}']))
            .count(),
        4
    );
}

/// An empty path, `.` and `./` name the root of the worktree.
pub(crate) async fn nothing_and_a_dot_name_the_root(harness: ToolHarness) {
    harness.put("there", "x").unwrap();
    for name in ["", ".", "./"] {
        let output = harness
            .call(
                "run_shell_command",
                json!({"command": "ls", "working_dir": name}),
            )
            .await;
        assert!(
            output.success && output.text().starts_with("there"),
            "{name:?}: {}",
            output.text()
        );
        for (tool, arguments) in [
            ("list_directory", json!({"path": name})),
            ("search_files", json!({"path": name, "pattern": "*"})),
            ("grep", json!({"path": name, "pattern": "x"})),
        ] {
            let output = harness.call(tool, arguments).await;
            assert!(
                output.success && output.text().starts_with("there"),
                "{tool} {name:?}: {}",
                output.text()
            );
        }
        // The control: the same path fails for tools that need a file.
        for tool in ["read_file", "delete_file"] {
            let output = harness.call(tool, json!({"path": name})).await;
            assert_eq!(
                output.error_kind,
                Some(ErrorKind::File),
                "{tool} {name:?}: {}",
                output.text()
            );
        }
    }
}

pub(crate) async fn links_are_not_followed_outside(harness: ToolHarness) {
    let outside = harness.outside().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), CANARY).unwrap();
    symlink(&outside, harness.path().join("docs")).unwrap();
    symlink("../elsewhere", harness.path().join("up")).unwrap();
    symlink("/proc/self/root", harness.path().join("root")).unwrap();
    symlink("loop", harness.path().join("loop")).unwrap();
    for path in [
        "docs/secret",
        "up/secret",
        "root/etc/passwd",
        "docs/new",
        "up/new",
        "loop/x",
    ] {
        assert_eq!(
            refusals(&harness, path).await,
            vec![Some(ErrorKind::Denied); 9],
            "{path}"
        );
    }
    calls! { harness;
        list_directory {"recursive": true} => "ok: docs  link\nloop  link\nroot  link\nup  link";
        grep {"pattern": CANARY} => "ok: no matches";
        search_files {"pattern": "secret"} => "ok: no file matches below .";
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    // The control: following the links does read the file outside.
    for path in ["docs/secret", "up/secret"] {
        assert_eq!(
            fs::read_to_string(harness.path().join(path)).unwrap(),
            CANARY
        );
    }
}

/// The control for [`links_are_not_followed_outside`]: links inside the worktree are followed.
pub(crate) async fn links_inside_work(harness: ToolHarness) {
    harness.put("b/c", "inside\n").unwrap();
    symlink("b/c", harness.path().join("a")).unwrap();
    symlink("b", harness.path().join("d")).unwrap();
    symlink("nowhere", harness.path().join("dangling")).unwrap();
    let output = harness.call("read_file", json!({"path": "a"})).await;
    assert_eq!(output.data["path"], "b/c");
    calls! { harness;
        write_file {"path": "a", "content": "new"} => "ok: replaced b/c (3 B)";
        write_file {"path": "d/e", "content": "new"} => "ok: created b/e (3 B)";
    }
    assert!(
        fs::symlink_metadata(harness.path().join("a"))
            .unwrap()
            .is_symlink()
    );
    calls! { harness;
        write_file {"path": "dangling", "content": "new"}
            => "Retry: dangling is a dangling link; write to its target instead";
    }
    symlink(harness.path().join("b"), harness.path().join("absolute")).unwrap();
    let expected = "Denied: Security validation failed: `absolute/c` leads through a link out of the worktree, or \
        through an absolute link; name the file itself";
    assert_eq!(
        said(
            &harness
                .call("read_file", json!({"path": "absolute/c"}))
                .await
        ),
        expected
    );
}

pub(crate) async fn what_configures_agents_is_protected(harness: ToolHarness) {
    harness.put("agents/there.md", "x").unwrap();
    symlink("agents", harness.path().join("innocent")).unwrap();
    symlink(".git", harness.path().join("metadata")).unwrap();
    fs::create_dir(harness.path().join(".git")).unwrap();
    for path in [
        "orchestrate.toml",
        ".orchestrate/config.toml",
        ".orchestrate/tools/x.tool",
        "agents/there.md",
        "agents/new.md",
        ".claude/agents/x.md",
        ".github/agents/x.agent.md",
        ".gemini/agents/x.md",
        ".opencode/agents/x.md",
        ".opencode/agent/x.md",
        "innocent/there.md",
        "innocent/new.md",
        "metadata/config",
    ] {
        let output = harness
            .call("write_file", json!({"path": path, "content": "evil"}))
            .await;
        assert_eq!(
            output.error_kind,
            Some(ErrorKind::Denied),
            "{path}: {}",
            output.text()
        );
    }
    // The control: the same tool can write elsewhere.
    assert!(
        harness
            .call(
                "write_file",
                json!({"path": "notes/new.md", "content": "mine"})
            )
            .await
            .success
    );
    assert_eq!(harness.content("agents/there.md").unwrap(), "x");
    assert_eq!(
        fs::read_dir(harness.path().join(".git")).unwrap().count(),
        0
    );
}

pub(crate) async fn pipes_and_devices_do_not_hang(harness: ToolHarness) {
    let (pipe, socket) = (harness.path().join("pipe"), harness.path().join("socket"));
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    for (path, kind) in [("pipe", "a pipe"), ("socket", "a socket")] {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("update_file", json!({"path": path, "old": "a", "new": "b"})),
        ] {
            let expected = format!(
                "Denied: Security validation failed: `{path}` is {kind}; only regular files are opened"
            );
            assert_eq!(
                said(&harness.call(tool, arguments).await),
                expected,
                "{tool}"
            );
        }
    }
    calls! { harness; grep {"pattern": "x"} => "ok: no matches"; }
    // The control: the same tools accept a plain file.
    harness.put("plain", "a").unwrap();
    for (tool, arguments) in [
        ("read_file", json!({"path": "plain"})),
        (
            "update_file",
            json!({"path": "plain", "old": "a", "new": "b"}),
        ),
        ("write_file", json!({"path": "plain", "content": "x"})),
    ] {
        assert!(harness.call(tool, arguments).await.success, "{tool}");
    }
}

pub(crate) async fn hard_links_are_not_written(harness: ToolHarness) {
    let outside = harness.outside().join("shared");
    fs::write(&outside, CANARY).unwrap();
    fs::hard_link(&outside, harness.path().join("a")).unwrap();
    let expected = "Denied: Security validation failed: `a` has 2 hard links, some of which may be outside; delete it and write it again";
    calls! { harness;
        write_file {"path": "a", "content": "evil"} => expected;
        update_file {"path": "a", "old": "canary", "new": "evil"} => expected;
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), CANARY);
    // The control: a write through one name changes the other.
    fs::write(harness.path().join("a"), "evil").unwrap();
    assert_eq!(fs::read_to_string(outside).unwrap(), "evil");
}

pub(crate) async fn a_huge_file_is_answered_with_its_size(harness: ToolHarness) {
    File::create(harness.path().join("huge"))
        .unwrap()
        .set_len(30 << 30)
        .unwrap();
    let expected = "Retry: line 1 of huge has more than 1 MB; read it with run_shell_command";
    calls! { harness; read_file {"path": "huge"} => expected; }
    let expected = "Retry: huge has 30 GB, more than the limit of 10 MB; read parts of it with read_file or grep";
    let copy = json!({"src": "huge", "dst": "copy"});
    assert_eq!(said(&harness.call("copy_file", copy).await), expected);
    // As code or as a profile, it is neither read nor parsed.
    File::create(harness.path().join("huge.rs"))
        .unwrap()
        .set_len(30 << 30)
        .unwrap();
    let named =
        "huge.rs has 30 GB, more than the limit of 10 MB; read parts of it with read_file or grep";
    let no_profile = "huge.rs has 30 GB, more than the limit of 10 MB; the user can set another one, \
                      `tools.file_operations.max_file_size_mb`, or record fewer samples";
    let below = "[1 file not analysed: huge.rs: larger than 4 MB]";
    for (tool, arguments, expected) in [
        ("analyze_code_structure", json!({"path": "huge.rs"}), named),
        (
            "measure_code_complexity",
            json!({"files": ["huge.rs"]}),
            named,
        ),
        (
            "find_code_patterns",
            json!({"pattern": "f($X)", "path": "huge.rs"}),
            named,
        ),
        (
            "analyze_performance",
            json!({"path": "huge.rs"}),
            no_profile,
        ),
        ("find_code_patterns", json!({"pattern": "f($X)"}), below),
        ("analyze_dependencies", json!({}), below),
    ] {
        let output = harness.call(tool, arguments.clone()).await;
        assert!(
            said(&output).contains(expected),
            "{tool} {arguments}: {}",
            said(&output)
        );
    }
    // The control: a file just below the limit is read.
    harness.put("line", "x".repeat(9 << 20)).unwrap();
    let output = harness.call("read_file", json!({"path": "line"})).await;
    assert!(
        output.success && output.text().len() < 12_100,
        "{}",
        output.text().len()
    );
    assert!(
        output.text().ends_with("more characters in this line]"),
        "{}",
        &output.text()[output.text().len() - 60..]
    );
    let content = "x".repeat((10 << 20) + 1);
    calls! { harness;
        write_file {"path": "new", "content": content}
            => "Retry: new would have 10 MB, more than the limit of 10 MB";
    }
}

pub(crate) async fn a_rule_holds_through_a_link(mut harness: ToolHarness) {
    harness.put("secret/key", CANARY).unwrap();
    symlink("secret", harness.path().join("open")).unwrap();
    // The control: without the rule, the file is read.
    assert!(
        harness
            .call("read_file", json!({"path": "open/key"}))
            .await
            .text()
            .contains(CANARY)
    );
    harness.scope.policy = policy(&[(Deny, "Read(/secret/**)"), (Deny, "Edit(/secret/**)")]);
    for (tool, arguments) in [
        ("read_file", json!({"path": "open/key"})),
        ("grep", json!({"path": "open/key", "pattern": "."})),
        ("write_file", json!({"path": "open/key", "content": "evil"})),
        ("delete_file", json!({"path": "open/key"})),
    ] {
        let output = harness.call(tool, arguments).await;
        assert!(!output.text().contains(CANARY), "{tool}: {}", output.text());
        assert!(!output.success, "{tool}: {}", output.text());
    }
    assert_eq!(harness.content("secret/key").unwrap(), CANARY);
}

/// Returns how often a race is tried: in the short form, or in the long one of `just hostile`
/// (`ORCHESTRATE_HOSTILE=all`). Each try costs two processors its time, as the swaps go on.
fn tries(short: u64, long: u64) -> u64 {
    let is_long = std::env::var("ORCHESTRATE_HOSTILE").is_ok_and(|wanted| wanted == "all");
    if is_long { long } else { short }
}

/// Nothing outside is read or written while a directory is repeatedly swapped with a link to the
/// outside.
pub(crate) async fn swapped_directories_never_lead_outside(harness: ToolHarness) {
    let calls = tries(200, 1_500);
    let outside = harness.outside().join("target");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), CANARY).unwrap();
    harness.put("dir/f", "inside").unwrap();
    symlink(&outside, harness.path().join("link")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swaps = Arc::new(AtomicU64::new(0));
    let stopped = Arc::clone(&stop);
    let counted = Arc::clone(&swaps);
    let path = harness.path().to_owned();
    let swapper = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            renameat_with(
                CWD,
                path.join("dir"),
                CWD,
                path.join("link"),
                RenameFlags::EXCHANGE,
            )
            .unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut scope = harness.scope.clone();
    let (mut inside, mut refused) = (0, 0);
    for number in 0..calls {
        // A new agent every hundred calls, to stay below the rate limit.
        scope.agent = orchestrate_core::TaskId::new(format!("T{}", number / 100));
        let (tool, arguments) = match number % 4 {
            0 => ("read_file", json!({"path": "dir/f"})),
            1 => ("write_file", json!({"path": "dir/g", "content": "x"})),
            2 => ("list_directory", json!({"path": "dir"})),
            _ => ("grep", json!({"pattern": "."})),
        };
        let call = harness.make_call(tool, arguments);
        let orchestrate_tools::CallOutcome::Done(output) =
            harness.executor.call(&call, &scope).await
        else {
            unreachable!("nothing asks")
        };
        assert!(!output.text().contains(CANARY), "{}", output.text());
        if output.success {
            inside += 1
        } else {
            refused += 1
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    // The control: while the link is in the directory's place, the path does lead outside.
    let at = |name: &str| harness.path().join(name);
    if !at("dir").is_symlink() {
        renameat_with(CWD, at("dir"), CWD, at("link"), RenameFlags::EXCHANGE).unwrap();
    }
    assert_eq!(fs::read_to_string(at("dir/f")).unwrap(), CANARY);
    let names: Vec<_> = fs::read_dir(&outside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["f"]);
    assert!(swaps.load(Ordering::Relaxed) > 0 && inside + refused == calls);
}

/// A search neither follows a link nor waits for a pipe that takes the place of a file while it
/// runs.
pub(crate) async fn swapped_files_are_not_searched(harness: ToolHarness) {
    let searches = tries(60, 300);
    let outside = harness.outside().join("canary");
    fs::write(&outside, CANARY).unwrap();
    for folder in 0..20 {
        harness.put(&format!("dir/{folder}/f"), "inside\n").unwrap();
        symlink(&outside, harness.path().join(format!("dir/{folder}/link"))).unwrap();
        let pipe = harness.path().join(format!("dir/{folder}/pipe"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    }
    let (stop, path) = (Arc::new(AtomicBool::new(false)), harness.path().join("dir"));
    let stopped = Arc::clone(&stop);
    let swapper = std::thread::spawn(move || {
        let mut swaps = 0;
        while !stopped.load(Ordering::Relaxed) {
            let folder = path.join((swaps / 2 % 20).to_string());
            let other = if swaps % 2 == 0 { "link" } else { "pipe" };
            renameat_with(
                CWD,
                folder.join("f"),
                CWD,
                folder.join(other),
                RenameFlags::EXCHANGE,
            )
            .unwrap();
            swaps += 1;
        }
        swaps
    });
    let mut scope = harness.scope.clone();
    let mut lines = 0;
    for number in 0..searches {
        scope.agent = orchestrate_core::TaskId::new(format!("T{}", number / 100));
        let call = harness.make_call("grep", json!({"pattern": "."}));
        let orchestrate_tools::CallOutcome::Done(output) =
            harness.executor.call(&call, &scope).await
        else {
            unreachable!("nothing asks")
        };
        assert!(
            output.success && !output.text().contains(CANARY),
            "{}",
            output.text()
        );
        lines += output.text().matches(":1:inside").count();
    }
    stop.store(true, Ordering::Relaxed);
    // The control: the searches found files, and there were links in their places.
    assert!(swapper.join().unwrap() > 20 && lines > 0, "{lines}");
}
