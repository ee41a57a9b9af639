//! Tests of reading, writing, editing and deleting files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use orchestrate_tools::harness::ToolHarness;
use orchestrate_tools::{ReadLedger, SeenFile, TEMPORARY_PREFIX};
use serde_json::json;

use crate::support::said;

pub(crate) async fn a_file_is_read_in_numbered_pages(harness: ToolHarness) {
    harness.put("src/a.txt", "one\r\ntwo\nthree").unwrap();
    let output = harness.call("read_file", json!({"path": "./src//a.txt"})).await;
    assert_eq!(said(&output), "ok:      1\tone\n     2\ttwo\n     3\tthree");
    let data = json!({"path": "src/a.txt", "size": 14, "first_line": 1, "last_line": 3, "total_lines": 3});
    assert_eq!(output.data, data);
    let output = harness.call("read_file", json!({"path": "src/a.txt", "offset": 2, "limit": 1})).await;
    assert_eq!(said(&output), "ok:      2\ttwo\n[lines 2-2 of 3; continue with offset 3]");
    let output = harness.call("read_file", json!({"path": "src/b.txt"})).await;
    assert_eq!(said(&output), "Retry: file not found: src/b.txt; list_directory shows which files exist");
    let output = harness.call("read_file", json!({"path": "src"})).await;
    assert_eq!(said(&output), "File: is a directory: src");
}

pub(crate) async fn what_is_no_text_is_refused_with_its_type(harness: ToolHarness) {
    harness.put("a.png", b"\x89PNG\r\n\x1a\n").unwrap();
    harness.put("b", b"caf\xe9").unwrap();
    harness.put("c", b"\xff\xfea\0\n\0").unwrap();
    let output = harness.call("read_file", json!({"path": "a.png"})).await;
    assert_eq!(said(&output), "File: is not text but a PNG image of 8 B: a.png");
    let output = harness.call("read_file", json!({"path": "b"})).await;
    assert_eq!(said(&output), "File: is not valid UTF-8 but looks like latin-1; pass `encoding`: b");
    let output = harness.call("read_file", json!({"path": "b", "encoding": "latin-1"})).await;
    assert_eq!(said(&output), "ok:      1\tcafé");
    let output = harness.call("read_file", json!({"path": "c"})).await;
    assert_eq!(said(&output), "ok:      1\ta");
}

pub(crate) async fn writing_makes_directories_and_keeps_the_mode(harness: ToolHarness) {
    let output = harness.call("write_file", json!({"path": "new/deep/run.sh", "content": "echo\n"})).await;
    assert_eq!(said(&output), "ok: created new/deep/run.sh (5 B)");
    let path = harness.path().join("new/deep/run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let output = harness.call("write_file", json!({"path": "new/deep/run.sh", "content": "true\n"})).await;
    assert_eq!(said(&output), "ok: replaced new/deep/run.sh (5 B)");
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!((harness.content("new/deep/run.sh").unwrap().as_str(), mode), ("true\n", 0o750));
    let output = harness.call("write_file", json!({"path": "new", "content": ""})).await;
    assert_eq!(said(&output), "File: is a directory: new");
    let output = harness.call("write_file", json!({"path": "a.log", "content": "1\n"})).await;
    assert_eq!(said(&output), "ok: created a.log (2 B); git ignores it, so it will not be committed");
    let output = harness.call("write_file", json!({"path": "unreadable.log", "content": "1\n"})).await;
    let expected = "ok: created unreadable.log (2 B); unknown whether git ignores it: the ignore rules cannot be read";
    assert_eq!((said(&output).as_str(), harness.content("unreadable.log").unwrap().as_str()), (expected, "1\n"));
}

pub(crate) async fn an_edit_keeps_line_ends_and_mark(harness: ToolHarness) {
    harness.put("a", b"\xef\xbb\xbfone\r\ntwo\r\n").unwrap();
    let edit = json!({"path": "a", "old_string": "one\ntwo", "new_string": "1\n2"});
    assert_eq!(said(&harness.call("Edit", edit).await), "ok: updated a: 1 replacement, line 1");
    assert_eq!(fs::read(harness.path().join("a")).unwrap(), b"\xef\xbb\xbf1\r\n2\r\n");
    let edit = json!({"path": "b", "old": "", "new": "made\n"});
    assert_eq!(said(&harness.call("update_file", edit.clone()).await), "ok: created b");
    let expected = "Retry: `old` is empty, which creates a new file, but b exists; pass the text to replace";
    assert_eq!(said(&harness.call("update_file", edit).await), expected);
    harness.put("c.json", "{\"a\": 1}").unwrap();
    let output = harness.call("update_file", json!({"path": "c.json", "old": "1}", "new": "1"})).await;
    assert!(output.text().contains("warning: the file is no longer valid JSON"), "{}", output.text());
}

pub(crate) async fn an_edit_of_a_file_that_changed_is_refused(harness: ToolHarness) {
    harness.put("a", "one\n").unwrap();
    harness.call("read_file", json!({"path": "a"})).await;
    harness.put("a", "one\ntwo\n").unwrap();
    let edit = json!({"path": "a", "old": "one", "new": "1"});
    let expected = "Retry: a has changed since you read it; read it again first";
    assert_eq!(said(&harness.call("update_file", edit.clone()).await), expected);
    assert_eq!(said(&harness.call("write_file", json!({"path": "a", "content": ""})).await), expected);
    assert_eq!(harness.content("a").unwrap(), "one\ntwo\n");
    harness.call("read_file", json!({"path": "a"})).await;
    assert_eq!(said(&harness.call("update_file", edit).await), "ok: updated a: 1 replacement, line 1");
    // The agent's own write counts as seen.
    let edit = json!({"path": "a", "old": "two", "new": "2"});
    assert_eq!(said(&harness.call("update_file", edit).await), "ok: updated a: 1 replacement, line 2");
}

pub(crate) async fn what_was_seen_survives_a_resume(mut harness: ToolHarness) {
    harness.put("a", "one\n").unwrap();
    harness.put("b", "b\n").unwrap();
    harness.call("read_file", json!({"path": "a"})).await;
    harness.call("delete_file", json!({"path": "b"})).await;
    let seen: Vec<SeenFile> = harness.recorder.ends().into_iter().flat_map(|end| end.seen).collect();
    harness.scope.ledger = ReadLedger::restore(&seen);
    harness.put("a", "changed\n").unwrap();
    harness.put("b", "anew\n").unwrap();
    let output = harness.call("update_file", json!({"path": "a", "old": "changed", "new": "x"})).await;
    assert_eq!(said(&output), "Retry: a has changed since you read it; read it again first");
    let output = harness.call("update_file", json!({"path": "b", "old": "anew", "new": "x"})).await;
    assert_eq!(said(&output), "ok: updated b: 1 replacement, line 1");
}

pub(crate) async fn edits_side_by_side_are_both_made(harness: ToolHarness) {
    let words: Vec<String> = (10..30).map(|n| format!("word{n}")).collect();
    harness.put("a", words.join("\n")).unwrap();
    let edits = words.iter().map(|word| harness.call("update_file", json!({"path": "a", "old": word, "new": "x"})));
    let mut pending: Vec<_> = edits.map(Box::pin).collect();
    // The first poll starts each call in its own task, so all of them run before any is awaited.
    std::future::poll_fn(|cx| {
        pending.retain_mut(|edit| edit.as_mut().poll(cx).is_pending());
        if pending.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    assert_eq!(harness.content("a").unwrap(), vec!["x"; 20].join("\n"));
}

pub(crate) async fn deleting_keeps_what_was_there_and_is_recorded(harness: ToolHarness) {
    harness.put("d/a", "precious\n").unwrap();
    std::os::unix::fs::symlink("a", harness.path().join("d/link")).unwrap();
    let output = harness.call("delete_file", json!({"path": "d/link"})).await;
    assert_eq!(said(&output), "ok: deleted the link d/link");
    assert_eq!(harness.content("d/a").unwrap(), "precious\n");
    let output = harness.call("delete_file", json!({"path": "d/a"})).await;
    assert_eq!(said(&output), "ok: deleted d/a; its content: read_file with path `artifact:a1`");
    assert!(!harness.path().join("d/a").exists());
    let deleted: Vec<Vec<String>> = harness.recorder.ends().into_iter().map(|end| end.deleted).collect();
    assert_eq!(deleted, [["d/link"], ["d/a"]]);
    let kept = harness.call("read_file", json!({"path": "artifact:a1"})).await;
    assert_eq!(said(&kept), "ok:      1\tprecious");
    let output = harness.call("delete_file", json!({"path": "d"})).await;
    assert_eq!(said(&output), "File: is a directory: d");
    let output = harness.call("delete_file", json!({"path": "d/a"})).await;
    assert_eq!(said(&output), "Retry: file not found: d/a; list_directory shows which files exist");
}

pub(crate) async fn directories_are_made_once(harness: ToolHarness) {
    harness.put("file", "").unwrap();
    let table = [
        (json!({"path": "a/b"}), "ok: created a/b"),
        (json!({"path": "a/b"}), "ok: a/b exists already"),
        (json!({"path": "x/y", "parents": false}), "Retry: file not found: x; list_directory shows which files exist"),
        (json!({"path": "a/c", "parents": false}), "ok: created a/c"),
        (json!({"path": "file"}), "Retry: a file with that name exists: file"),
        (json!({"path": "file/x"}), "Retry: not a directory: file"),
        (json!({"path": "."}), "ok: . exists already"),
    ];
    for (arguments, expected) in table {
        assert_eq!(said(&harness.call("create_directory", arguments).await), expected);
    }
    assert!(harness.path().join("a/b").is_dir() && !harness.path().join("x").exists());
}

pub(crate) async fn nothing_temporary_stays_behind(harness: ToolHarness) {
    harness.call("write_file", json!({"path": "a", "content": "1"})).await;
    harness.call("write_file", json!({"path": "a", "content": "2"})).await;
    harness.call("write_file", json!({"path": "a/b", "content": "2"})).await;
    let names: Vec<String> =
        fs::read_dir(harness.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["a"]);
    assert!(!names.iter().any(|name| name.starts_with(TEMPORARY_PREFIX)));
}
