//! Tests of reading, writing, editing and deleting files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use orchestrate_core::policy::RuleDecision;
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{CallOutcome, ReadLedger, SeenFile, TEMPORARY_PREFIX};
use serde_json::json;

use crate::support::{calls, policy, said};

pub(crate) async fn a_file_is_read_in_numbered_pages(harness: ToolHarness) {
    harness.put("src/a.txt", "one\r\ntwo\nthree").unwrap();
    let output = harness
        .call("read_file", json!({"path": "./src//a.txt"}))
        .await;
    assert_eq!(said(&output), "ok:      1\tone\n     2\ttwo\n     3\tthree");
    let content = "one\r\ntwo\nthree";
    let data = json!({"path": "src/a.txt", "size": 14, "first_line": 1, "last_line": 3, "total_lines": 3, "content": content});
    assert_eq!(
        (&output.data, &harness.recorder.ends()[0].data),
        (&data, &data)
    );
    let output = harness
        .call(
            "read_file",
            json!({"path": "src/a.txt", "offset": 2, "limit": 1}),
        )
        .await;
    assert_eq!(
        said(&output),
        "ok:      2\ttwo\n[lines 2-2 of 3; continue with offset 3]"
    );
    assert_eq!(output.data["content"], "two\n");
    calls! { harness;
        read_file {"path": "src/b.txt"}
            => "Retry: file not found: src/b.txt; list_directory shows which files exist";
        read_file {"path": "src"} => "File: is a directory: src";
    }
}

/// The record has the text of a page once: a long one only in the body.
pub(crate) async fn a_long_page_is_recorded_once(harness: ToolHarness) {
    let text: String = (1..=250)
        .map(|number| format!("line {number} of the file\n"))
        .collect();
    harness.put("a", &text).unwrap();
    let output = harness.call("read_file", json!({"path": "a"})).await;
    assert_eq!(
        (output.data["content"].as_str(), &output.data["last_line"]),
        (Some(text.as_str()), &json!(250))
    );
    let recorded = harness.recorder.ends().pop().unwrap();
    assert_eq!(
        (recorded.data.get("content"), &recorded.data["last_line"]),
        (None, &json!(250))
    );
    assert_eq!(recorded.text(), output.text());
}

pub(crate) async fn what_is_no_text_is_refused_with_its_type(harness: ToolHarness) {
    harness.put("a.png", b"\x89PNG\r\n\x1a\n").unwrap();
    harness.put("b", b"caf\xe9").unwrap();
    harness.put("c", b"\xff\xfea\0\n\0").unwrap();
    calls! { harness;
        read_file {"path": "a.png"} => "File: is not text but a PNG image of 8 B: a.png";
        read_file {"path": "b"}
            => "File: is not valid utf-8 but looks like windows-1252; pass `encoding`: b";
        read_file {"path": "b", "encoding": "latin-1"} => "ok:      1\tcafé";
        read_file {"path": "c"} => "ok:      1\ta";
    }
}

pub(crate) async fn writing_makes_directories_and_keeps_the_mode(harness: ToolHarness) {
    calls! { harness;
        write_file {"path": "new/deep/run.sh", "content": "echo\n"}
            => "ok: created new/deep/run.sh (5 B)";
    }
    let path = harness.path().join("new/deep/run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    calls! { harness;
        write_file {"path": "new/deep/run.sh", "content": "true\n"}
            => "ok: replaced new/deep/run.sh (5 B)";
    }
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (harness.content("new/deep/run.sh").unwrap().as_str(), mode),
        ("true\n", 0o750)
    );
    calls! { harness;
        write_file {"path": "new", "content": ""} => "File: is a directory: new";
        write_file {"path": "a.log", "content": "1\n"}
            => "ok: created a.log (2 B); git ignores it, so it will not be committed";
    }
    let output = harness
        .call(
            "write_file",
            json!({"path": "unreadable.log", "content": "1\n"}),
        )
        .await;
    let expected = "ok: created unreadable.log (2 B); unknown whether git ignores it: the ignore rules cannot be read";
    assert_eq!(
        (
            said(&output).as_str(),
            harness.content("unreadable.log").unwrap().as_str()
        ),
        (expected, "1\n")
    );
}

pub(crate) async fn a_file_is_written_in_the_encoding_that_is_asked_for(harness: ToolHarness) {
    let table: [(serde_json::Value, &[u8]); 3] = [
        (json!({"path": "a", "content": "é"}), "é".as_bytes()),
        (
            json!({"path": "a", "content": "é", "encoding": "utf-16le"}),
            b"\xe9\0",
        ),
        (
            json!({"path": "a", "content": "é", "encoding": "latin-1"}),
            b"\xe9",
        ),
    ];
    for (arguments, bytes) in table {
        let path = harness.path().join("a");
        let _ = fs::remove_file(&path);
        let output = harness.call("write_file", arguments).await;
        assert_eq!(
            (output.success, fs::read(&path).unwrap().as_slice()),
            (true, bytes),
            "{}",
            said(&output)
        );
    }
    let unknown = harness
        .call(
            "write_file",
            json!({"path": "b", "content": "x", "encoding": "klingon"}),
        )
        .await;
    assert!(
        said(&unknown).starts_with("Retry: Invalid parameters: ")
            && !harness.path().join("b").exists()
    );
    let lacking = harness
        .call(
            "write_file",
            json!({"path": "b", "content": "€", "encoding": "koi8-r"}),
        )
        .await;
    assert!(
        said(&lacking).starts_with("Retry: ") && !harness.path().join("b").exists(),
        "{}",
        said(&lacking)
    );
}

pub(crate) async fn an_edit_keeps_line_ends_and_mark(harness: ToolHarness) {
    harness.put("a", b"\xef\xbb\xbfone\r\ntwo\r\n").unwrap();
    let edit = json!({"path": "a", "old_string": "one\ntwo", "new_string": "1\n2"});
    calls! { harness; Edit (edit) => "ok: updated a: 1 replacement, line 1"; }
    assert_eq!(
        fs::read(harness.path().join("a")).unwrap(),
        b"\xef\xbb\xbf1\r\n2\r\n"
    );
    let edit = json!({"path": "b", "old": "", "new": "made\n"});
    calls! { harness; update_file (edit.clone()) => "ok: created b"; }
    let expected =
        "Retry: `old` is empty, which creates a new file, but b exists; pass the text to replace";
    assert_eq!(said(&harness.call("update_file", edit).await), expected);
}

/// Only errors that were not there before are named, wherever they are, and nothing is refused.
pub(crate) async fn syntax_errors_that_a_change_introduced_are_named(harness: ToolHarness) {
    let code = "fn one() {\n    f(1);\n}\n\nfn two( {}\n";
    harness.put("a.rs", code).unwrap();
    let update = |old: &str, new: &str| json!({"path": "a.rs", "old": old, "new": new});
    // The error in the last line was there before, and moves.
    let output = harness
        .call(
            "update_file",
            update("    f(1);\n", "    f(1);\n    g(2);\n"),
        )
        .await;
    assert_eq!(said(&output), "ok: updated a.rs: 1 replacement, line 2");
    assert!(
        output.data.get("syntax_errors").is_none(),
        "{}",
        output.data
    );
    let output = harness
        .call("update_file", update("g(2);", "let x = );"))
        .await;
    if cfg!(feature = "grammars") {
        let note =
            "warning: the change introduced a syntax error:\na.rs:3:13: unexpected `)`: let x = );";
        assert_eq!(
            said(&output),
            format!("ok: updated a.rs: 1 replacement, line 3\n{note}")
        );
        let error =
            json!({"line": 3, "column": 13, "message": "unexpected `)`", "text": "let x = );"});
        assert_eq!(
            output.data["syntax_errors"],
            json!([{"path": "a.rs", "errors": {"first": [error], "total": 1}}])
        );
    }
    assert!(harness.content("a.rs").unwrap().contains("let x = );"));
    let output = harness
        .call("update_file", update("let x = );", "let x = 1;"))
        .await;
    assert_eq!(said(&output), "ok: updated a.rs: 1 replacement, line 3");
    harness.put("c.json", "{\"a\": 1}").unwrap();
    let output = harness
        .call(
            "update_file",
            json!({"path": "c.json", "old": "1}", "new": "1"}),
        )
        .await;
    let note = "warning: the change introduced a syntax error:\nc.json:1:7: EOF while parsing an object: {\"a\": 1";
    assert_eq!(
        said(&output),
        format!("ok: updated c.json: 1 replacement, line 1\n{note}")
    );
    let output = harness
        .call(
            "write_file",
            json!({"path": "d.json", "content": "{\n  // on\n  \"a\": 1\n}\n"}),
        )
        .await;
    assert_eq!(said(&output), "ok: created d.json (21 B)");
}

/// Through every tool that writes text, in each of the languages.
pub(crate) async fn every_language_and_tool_names_syntax_errors(harness: ToolHarness) {
    let table = [
        (
            "a.c",
            "int f(void) { return 1; }\n",
            "int f(void) { return (; }\n",
        ),
        ("a.cpp", "class A { int f(); };\n", "class A { int f(; };\n"),
        (
            "a.go",
            "package a\n\nfunc f() {}\n",
            "package a\n\nfunc f( {}\n",
        ),
        (
            "a.java",
            "class A { void f() {} }\n",
            "class A { void f( {} }\n",
        ),
        ("a.js", "function f() {}\n", "function f( {}\n"),
        (
            "a.py",
            "def f():\n    return 1\n",
            "def f(:\n    return 1\n",
        ),
        ("a.rs", "fn f() {}\n", "fn f( {}\n"),
        (
            "a.sh",
            "if true; then echo; fi\n",
            "if true; then echo; )\n",
        ),
        ("a.ts", "function f(a: number) {}\n", "function f(a: ) {}\n"),
        ("a.tsx", "const a = <b>c</b>;\n", "const a = <b>c</b;\n"),
    ];
    for (path, good, bad) in table {
        let write = |content: &str| json!({"path": path, "content": content});
        let output = harness.call("write_file", write(bad)).await;
        let note = "\nwarning: the change introduced";
        let is_named =
            said(&output).contains(note) && said(&output).contains(&format!("\n{path}:"));
        assert_eq!(
            is_named,
            cfg!(feature = "grammars"),
            "{path}: {}",
            said(&output)
        );
        let again = harness.call("write_file", write(bad)).await;
        let good_again = harness.call("write_file", write(good)).await;
        for output in [again, good_again] {
            assert!(
                output.success && !said(&output).contains("warning"),
                "{path}: {}",
                said(&output)
            );
        }
        let lines = |mark: char, text: &str| {
            text.lines()
                .map(|line| format!("{mark}{line}\n"))
                .collect::<String>()
        };
        let hunk = format!("@@\n{}{}", lines('-', good), lines('+', bad));
        let patch = format!(
            "*** Begin Patch\n*** Update File: {path}\n{hunk}*** Add File: new/{path}\n{}*** End Patch",
            lines('+', good)
        );
        let output = harness.call("apply_patch", json!({"patch": patch})).await;
        let said = said(&output);
        assert!(
            said.starts_with(&format!("ok: updated {path}\ncreated new/{path}")),
            "{said}"
        );
        assert_eq!(said.contains(note), cfg!(feature = "grammars"), "{said}");
        assert!(!said.contains(&format!("\nnew/{path}:")), "{said}");
    }
    // A file that moves has the errors that it had.
    let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@\n-fn f( {}\n+fn g() {}\n+fn f( {}\n*** End Patch";
    calls! { harness; apply_patch {"patch": patch} => "ok: moved a.rs to b.rs"; }
}

/// A file that is too large, or no text of a language, is written without a word.
pub(crate) async fn what_is_too_large_to_check_is_written_all_the_same(harness: ToolHarness) {
    let large = "fn f( {}\n".repeat(200_000);
    let many = "fn f( {}\n\n".repeat(40);
    for (path, content, expected) in [
        ("large.rs", large.as_str(), "ok: created large.rs (1 MB)"),
        ("notes.txt", "fn f( {}", "ok: created notes.txt (8 B)"),
    ] {
        calls! { harness; write_file {"path": path, "content": content} => expected; }
    }
    let output = harness
        .call("write_file", json!({"path": "many.rs", "content": many}))
        .await;
    assert!(said(&output).lines().count() <= 8, "{}", said(&output));
    assert_eq!(
        said(&output).contains("syntax errors"),
        cfg!(feature = "grammars"),
        "{}",
        said(&output)
    );
}

pub(crate) async fn an_edit_of_a_file_that_changed_is_refused(harness: ToolHarness) {
    harness.put("a", "one\n").unwrap();
    harness.call("read_file", json!({"path": "a"})).await;
    harness.put("a", "one\ntwo\n").unwrap();
    let edit = json!({"path": "a", "old": "one", "new": "1"});
    let expected = "Retry: a has changed since you read it; read it again first";
    calls! { harness; update_file (edit.clone()) => expected; }
    assert_eq!(
        said(
            &harness
                .call("write_file", json!({"path": "a", "content": ""}))
                .await
        ),
        expected
    );
    assert_eq!(harness.content("a").unwrap(), "one\ntwo\n");
    harness.call("read_file", json!({"path": "a"})).await;
    calls! { harness; update_file (edit) => "ok: updated a: 1 replacement, line 1"; }
    // The agent's own write counts as seen.
    let edit = json!({"path": "a", "old": "two", "new": "2"});
    calls! { harness; update_file (edit) => "ok: updated a: 1 replacement, line 2"; }
}

pub(crate) async fn what_was_seen_survives_a_resume(mut harness: ToolHarness) {
    harness.put("a", "one\n").unwrap();
    harness.put("b", "b\n").unwrap();
    harness.call("read_file", json!({"path": "a"})).await;
    harness.call("delete_file", json!({"path": "b"})).await;
    let seen: Vec<SeenFile> = harness
        .recorder
        .ends()
        .into_iter()
        .flat_map(|end| end.seen)
        .collect();
    harness.scope.ledger = ReadLedger::restore(&seen);
    harness.put("a", "changed\n").unwrap();
    harness.put("b", "anew\n").unwrap();
    calls! { harness;
        update_file {"path": "a", "old": "changed", "new": "x"}
            => "Retry: a has changed since you read it; read it again first";
        update_file {"path": "b", "old": "anew", "new": "x"}
            => "ok: updated b: 1 replacement, line 1";
    }
}

pub(crate) async fn edits_side_by_side_are_both_made(harness: ToolHarness) {
    let words: Vec<String> = (10..30).map(|n| format!("word{n}")).collect();
    harness.put("a", words.join("\n")).unwrap();
    let edits = words
        .iter()
        .map(|word| harness.call("update_file", json!({"path": "a", "old": word, "new": "x"})));
    let mut pending: Vec<_> = edits.map(Box::pin).collect();
    // The first poll starts each call in its own task, so all of them run before any is awaited.
    std::future::poll_fn(|cx| {
        pending.retain_mut(|edit| edit.as_mut().poll(cx).is_pending());
        if pending.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    assert_eq!(harness.content("a").unwrap(), vec!["x"; 20].join("\n"));
}

pub(crate) async fn deleting_keeps_what_was_there_and_is_recorded(harness: ToolHarness) {
    harness.put("d/a", "precious\n").unwrap();
    std::os::unix::fs::symlink("a", harness.path().join("d/link")).unwrap();
    calls! { harness; delete_file {"path": "d/link"} => "ok: deleted the link d/link"; }
    assert_eq!(harness.content("d/a").unwrap(), "precious\n");
    calls! { harness;
        delete_file {"path": "d/a"}
            => "ok: deleted d/a; its content: read_file with path `artifact:a1`";
    }
    assert!(!harness.path().join("d/a").exists());
    let deleted: Vec<Vec<String>> = harness
        .recorder
        .ends()
        .into_iter()
        .map(|end| end.deleted)
        .collect();
    assert_eq!(deleted, [["d/link"], ["d/a"]]);
    calls! { harness;
        read_file {"path": "artifact:a1"} => "ok:      1\tprecious";
        delete_file {"path": "d"} => "File: is a directory: d";
        delete_file {"path": "d/a"}
            => "Retry: file not found: d/a; list_directory shows which files exist";
    }
}

/// What a rule says about reading a file holds for its copy.
pub(crate) async fn a_copy_of_a_deleted_file_is_read_by_the_rules_about_the_file(
    mut harness: ToolHarness,
) {
    for name in ["secret/key", "secret/old", "plain"] {
        harness.put(name, "precious\n").unwrap();
    }
    std::os::unix::fs::symlink("secret", harness.path().join("alias")).unwrap();
    harness
        .call("read_file", json!({"path": "secret/old"}))
        .await;
    assert!(
        harness
            .call("delete_file", json!({"path": "alias/key"}))
            .await
            .success
    );
    let patch = "*** Begin Patch\n*** Delete File: secret/old\n*** End Patch";
    assert!(
        harness
            .call("apply_patch", json!({ "patch": patch }))
            .await
            .success
    );
    assert!(
        harness
            .call("delete_file", json!({"path": "plain"}))
            .await
            .success
    );
    harness.scope.ask_parks = true;
    for decision in [RuleDecision::Deny, RuleDecision::Ask] {
        harness.scope.policy = policy(&[(decision, "Read(/secret/**)")]);
        let rule = if decision == RuleDecision::Deny {
            "deny:Read(/secret/**)"
        } else {
            "ask:Read(/secret/**)"
        };
        for (artifact, is_secret) in [("a1", true), ("a2", true), ("a3", false), ("a4", false)] {
            let path = format!("artifact:{artifact}");
            let told = match harness.outcome("read_file", json!({ "path": path })).await {
                CallOutcome::NeedsApproval { rule, .. } => rule,
                CallOutcome::Done(output) => {
                    output.denied_by.clone().unwrap_or_else(|| said(&output))
                }
                CallOutcome::Waits => unreachable!("{path} waits for agents"),
            };
            let expected = match artifact {
                _ if is_secret => rule,
                "a3" => "ok:      1\tprecious",
                _ => "Retry: there is no artifact `a4`",
            };
            assert_eq!(told, expected, "{rule} {artifact}");
        }
    }
}

pub(crate) async fn directories_are_made_once(harness: ToolHarness) {
    harness.put("file", "").unwrap();
    let table = [
        (json!({"path": "a/b"}), "ok: created a/b"),
        (json!({"path": "a/b"}), "ok: a/b exists already"),
        (
            json!({"path": "x/y", "parents": false}),
            "Retry: file not found: x; list_directory shows which files exist",
        ),
        (json!({"path": "a/c", "parents": false}), "ok: created a/c"),
        (
            json!({"path": "file"}),
            "Retry: a file with that name exists: file",
        ),
        (json!({"path": "file/x"}), "Retry: not a directory: file"),
        (json!({"path": "."}), "ok: . exists already"),
    ];
    for (arguments, expected) in table {
        calls! { harness; create_directory (arguments) => expected; }
    }
    assert!(harness.path().join("a/b").is_dir() && !harness.path().join("x").exists());
}

pub(crate) async fn nothing_temporary_stays_behind(harness: ToolHarness) {
    harness
        .call("write_file", json!({"path": "a", "content": "1"}))
        .await;
    harness
        .call("write_file", json!({"path": "a", "content": "2"}))
        .await;
    harness
        .call("write_file", json!({"path": "a/b", "content": "2"}))
        .await;
    let names: Vec<String> = fs::read_dir(harness.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["a"]);
    assert!(!names.iter().any(|name| name.starts_with(TEMPORARY_PREFIX)));
}

pub(crate) async fn text_is_appended_in_the_files_own_encoding(harness: ToolHarness) {
    let append = |path: &str, content: &str| json!({"path": path, "content": content});
    calls! { harness;
        append_file (append("new/a.txt", "one\n")) => "ok: created new/a.txt (4 B added)";
        append_file (append("new/a.txt", "two")) => "ok: appended to new/a.txt (3 B added)";
    }
    assert_eq!(harness.content("new/a.txt").unwrap(), "one\ntwo");
    harness.put("b", b"\xff\xfea\0").unwrap();
    harness.call("append_file", append("b", "é")).await;
    assert_eq!(
        fs::read(harness.path().join("b")).unwrap(),
        b"\xff\xfea\0\xe9\0"
    );
    harness.put("c", b"\x89PNG\r\n\x1a\n").unwrap();
    let output = harness.call("append_file", append("c", "x")).await;
    assert_eq!(said(&output), "File: is not text but a PNG image of 8 B: c");
    // The rest of a file that changed is still unknown to the agent.
    harness
        .call("read_file", json!({"path": "new/a.txt"}))
        .await;
    harness.put("new/a.txt", "changed\n").unwrap();
    harness
        .call("append_file", append("new/a.txt", "more\n"))
        .await;
    calls! { harness;
        write_file (append("new/a.txt", ""))
            => "Retry: new/a.txt has changed since you read it; read it again first";
    }
}

pub(crate) async fn files_are_copied_and_moved_but_replace_nothing(harness: ToolHarness) {
    harness.put("run.sh", "echo\n").unwrap();
    harness.put("there.txt", "x").unwrap();
    fs::set_permissions(
        harness.path().join("run.sh"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    calls! { harness;
        copy_file {"src": "run.sh", "dst": "bin/copy.sh"} => "ok: copied run.sh to bin/copy.sh";
    }
    let mode = fs::metadata(harness.path().join("bin/copy.sh"))
        .unwrap()
        .permissions()
        .mode()
        & 0o777;
    assert_eq!(
        (harness.content("bin/copy.sh").unwrap().as_str(), mode),
        ("echo\n", 0o755)
    );
    calls! { harness;
        move_file {"src": "run.sh", "dst": "bin"}
            => "Retry: bin is a directory; name the new file in it";
    }
    let output = harness
        .call("move_file", json!({"src": "run.sh", "dst": "bin/run.sh"}))
        .await;
    assert_eq!(
        (said(&output).as_str(), &output.deleted[..]),
        ("ok: moved run.sh to bin/run.sh", &["run.sh".to_owned()][..])
    );
    assert!(!harness.path().join("run.sh").exists());
    for tool in ["copy_file", "move_file"] {
        let output = harness
            .call(tool, json!({"src": "bin/run.sh", "dst": "there.txt"}))
            .await;
        assert_eq!(said(&output), "Retry: exists already: there.txt");
        let output = harness
            .call(tool, json!({"src": "bin", "dst": "other"}))
            .await;
        assert_eq!(said(&output), "File: is a directory: bin");
    }
    assert_eq!(harness.content("there.txt").unwrap(), "x");
}

pub(crate) async fn the_facts_of_a_file_are_told(harness: ToolHarness) {
    harness.put("a.txt", "one\ntwo\n").unwrap();
    harness.put("b.log", b"\0").unwrap();
    fs::set_permissions(
        harness.path().join("a.txt"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    let data = harness
        .call("get_file_info", json!({"path": "a.txt"}))
        .await
        .data;
    let facts = [
        "path",
        "type",
        "size",
        "mode",
        "lines",
        "encoding",
        "git_status",
    ]
    .map(|name| data[name].clone());
    let expected = [
        json!("a.txt"),
        json!("file"),
        json!(8),
        json!("0640"),
        json!(2),
        json!("utf-8"),
        json!("modified"),
    ];
    assert_eq!(facts, expected);
    let data = harness
        .call("get_file_info", json!({"path": "b.log"}))
        .await
        .data;
    assert_eq!(
        [&data["content"], &data["git_status"]],
        [
            &json!("is not text but binary data of 1 B"),
            &json!("ignored")
        ]
    );
    let output = harness.call("get_file_info", json!({"path": "."})).await;
    assert!(
        said(&output).starts_with("ok: path: .\ntype: directory\n"),
        "{output:?}"
    );
}

pub(crate) async fn a_patch_changes_every_file_or_none(harness: ToolHarness) {
    harness.put("a.txt", "one\ntwo\n").unwrap();
    harness.put("gone.txt", "bye\n").unwrap();
    harness.put("old.sh", "echo\n").unwrap();
    fs::set_permissions(
        harness.path().join("old.sh"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let changes = "*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: new/b.txt\n+b\n*** Delete File: gone.txt\n*** Update File: old.sh\n*** Move to: new.sh\n@@\n-echo\n+true\n";
    let patch =
        |more: &str| json!({"patch": format!("*** Begin Patch\n{changes}{more}*** End Patch\n")});
    let output = harness
        .call(
            "apply_patch",
            patch("*** Update File: missing\n@@\n-x\n+y\n"),
        )
        .await;
    assert!(
        said(&output).starts_with("Retry: file not found: missing"),
        "{output:?}"
    );
    assert_eq!(harness.content("a.txt").unwrap(), "one\ntwo\n");
    let output = harness.call("apply_patch", patch("")).await;
    assert_eq!(
        said(&output),
        "ok: updated a.txt\ncreated new/b.txt\ndeleted gone.txt\nmoved old.sh to new.sh"
    );
    assert_eq!(output.deleted, ["gone.txt", "old.sh"]);
    let contents = ["a.txt", "new/b.txt", "new.sh"].map(|path| harness.content(path).unwrap());
    assert_eq!(contents, ["1\ntwo\n", "b\n", "true\n"]);
    let mode = fs::metadata(harness.path().join("new.sh"))
        .unwrap()
        .permissions()
        .mode()
        & 0o777;
    assert_eq!(mode, 0o755);
    assert_eq!(output.artifacts.len(), 2, "what was deleted is kept");
    let outside = "--- a/../../canary\n+++ b/../../canary\n@@ -0,0 +1 @@\n+x\n";
    let output = harness.call("apply_patch", json!({"patch": outside})).await;
    assert!(said(&output).starts_with("Denied: "), "{output:?}");
}

pub(crate) async fn a_patch_that_fails_on_the_disk_is_undone(harness: ToolHarness) {
    harness.put("a.txt", "one\n").unwrap();
    harness.put("b.txt", "b\n").unwrap();
    harness.put("gone.sh", "echo\n").unwrap();
    harness.put("old.txt", "old\n").unwrap();
    fs::set_permissions(
        harness.path().join("gone.sh"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    // The last file has another hard link, which is found only when it is written.
    fs::hard_link(harness.path().join("b.txt"), harness.path().join("twin")).unwrap();
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** Update File: a.txt\n@@\n-one\n+1\n*** Delete File: gone.sh\n*** Update File: old.txt\n*** Move to: moved.txt\n*** Update File: b.txt\n@@\n-b\n+c\n*** End Patch";
    let output = harness.call("apply_patch", json!({"patch": patch})).await;
    assert!(said(&output).starts_with("Denied: "), "{output:?}");
    let contents =
        ["a.txt", "b.txt", "gone.sh", "old.txt"].map(|path| harness.content(path).unwrap());
    assert_eq!(contents, ["one\n", "b\n", "echo\n", "old\n"]);
    let mode = fs::metadata(harness.path().join("gone.sh"))
        .unwrap()
        .permissions()
        .mode()
        & 0o777;
    assert_eq!(mode, 0o755);
    assert!(
        ["new.txt", "moved.txt"]
            .iter()
            .all(|path| !harness.path().join(path).exists())
    );
}

pub(crate) async fn a_patch_of_one_file_under_two_names_is_refused(harness: ToolHarness) {
    harness.put("dir/f", "a\nb\n").unwrap();
    std::os::unix::fs::symlink("dir", harness.path().join("link")).unwrap();
    let patch = "*** Begin Patch\n*** Update File: dir/f\n@@\n-a\n+A\n*** Update File: link/f\n@@\n-b\n+B\n*** End Patch";
    calls! { harness;
        apply_patch {"patch": patch}
            => "Retry: Invalid parameters: the patch changes dir/f under two names";
    }
    assert_eq!(harness.content("dir/f").unwrap(), "a\nb\n");
}

pub(crate) async fn an_edit_keeps_the_encoding_of_a_file(harness: ToolHarness) {
    let text = "caf\u{e9} au lait, d\u{e9}j\u{e0} vu\n";
    let bytes: Vec<u8> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    harness.put("menu.txt", &bytes).unwrap();
    calls! { harness;
        update_file {"path": "menu.txt", "old": "lait", "new": "th\u{e9}"}
            => "ok: updated menu.txt: 1 replacement, line 1";
    }
    assert_eq!(
        fs::read(harness.path().join("menu.txt")).unwrap(),
        b"caf\xe9 au th\xe9, d\xe9j\xe0 vu\n"
    );
}

pub(crate) async fn rules_about_reading_and_deleting_hold_for_tools_that_also_do_that(
    mut harness: ToolHarness,
) {
    harness.put("secret/a", "x\n").unwrap();
    std::os::unix::fs::symlink("secret", harness.path().join("link")).unwrap();
    let delete = "*** Begin Patch\n*** Delete File: secret/a\n*** End Patch";
    let rename = "*** Begin Patch\n*** Update File: link/a\n*** Move to: b\n*** End Patch";
    let table = [
        (
            "Read(secret/**)",
            "copy_file",
            json!({"src": "secret/a", "dst": "b"}),
        ),
        (
            "file_read(secret/**)",
            "copy_file",
            json!({"src": "link/a", "dst": "b"}),
        ),
        (
            "Read(secret/**)",
            "move_file",
            json!({"src": "secret/a", "dst": "b"}),
        ),
        ("Read(secret/**)", "apply_patch", json!({"patch": rename})),
        (
            "delete_file(secret/**)",
            "apply_patch",
            json!({"patch": delete}),
        ),
        (
            "file_modify(secret/**)",
            "apply_patch",
            json!({"patch": rename}),
        ),
        (
            "Write(b)",
            "copy_file",
            json!({"src": "secret/a", "dst": "b"}),
        ),
    ];
    for (rule, tool, arguments) in table {
        harness.scope.policy = policy(&[(RuleDecision::Deny, rule)]);
        let output = harness.call(tool, arguments).await;
        assert!(
            said(&output).starts_with("Denied: "),
            "{rule} {tool}: {output:?}"
        );
        assert!(
            harness.path().join("secret/a").exists() && !harness.path().join("b").exists(),
            "{rule} {tool}"
        );
    }
    harness.scope.policy = policy(&[(RuleDecision::Deny, "move_file(secret/**)")]);
    let output = harness
        .call("delete_file", json!({"path": "secret/a"}))
        .await;
    assert!(output.success, "{output:?}");
}
