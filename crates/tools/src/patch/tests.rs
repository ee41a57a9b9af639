//! Patches in both grammars, parsed, rendered and applied.

use super::*;

/// Applies the hunks of a patch of one file.
fn patched(text: &str, patch: &str) -> Result<String, String> {
    let patch = parse(patch).map_err(|error| error.to_string())?;
    let [Change::Update { hunks, .. }] = &patch.changes[..] else {
        panic!("{patch:?}")
    };
    apply(text, hunks).map_err(|error| error.to_string())
}

/// A patch of one file in the first grammar.
fn update(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n")
}

/// A unified diff of one file.
fn unified(body: &str) -> String {
    format!("--- a/f\n+++ b/f\n{body}")
}

#[test]
fn every_kind_of_change_is_read_and_rendered_again() {
    let text = "*** Begin Patch\n*** Add File: a b.txt\n+one\n+\n*** Delete File: old\n*** Update File: m\n*** Move to: n\n@@ fn f\n x\n-y\n+z\n*** End of File\n*** Update File: only-moved\n*** Move to: there\n*** End Patch";
    let patch = parse(text).unwrap();
    assert_eq!(patch.to_string(), text);
    assert_eq!(
        patch.paths().collect::<Vec<_>>(),
        ["a b.txt", "old", "m", "n", "only-moved", "there"]
    );
}

#[test]
fn a_diff_of_git_becomes_the_same_patch() {
    let diff = "diff --git a/new b/new\nnew file mode 100644\nindex 0000000..5626abf\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\ndiff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\ndiff --git a/m b/n\nsimilarity index 90%\nrename from m\nrename to n\n--- a/m\n+++ b/n\n@@ -1,2 +1,2 @@ fn f\n x\n--- y\n+++ z\ndiff --git a/p b/q\nsimilarity index 100%\nrename from p\nrename to q\n";
    let rendered = "*** Begin Patch\n*** Add File: new\n+one\n+two\n\\ No newline at end of file\n*** Delete File: gone\n*** Add File: empty\n*** Update File: m\n*** Move to: n\n@@ -1,2 +1,2 @@\n x\n--- y\n+++ z\n*** Update File: p\n*** Move to: q\n*** End Patch";
    let patch = parse(diff).unwrap();
    assert_eq!(patch.to_string(), rendered);
    assert_eq!(parse(rendered).unwrap(), patch);
    assert_eq!(parse(&format!("```diff\n{diff}```\n")).unwrap(), patch);
}

#[test]
fn lines_are_replaced() {
    let table = [
        ("a\nb\nc\n", update("@@\n a\n-b\n+B\n c\n"), "a\nB\nc\n"),
        ("a\nb\nc\n", update(" a\n-b\n"), "a\nc\n"),
        ("f\nx\ng\nx\n", update("@@ g\n-x\n+y\n"), "f\nx\ng\ny\n"),
        ("x\nx\n", update("@@\n-x\n+y\n*** End of File\n"), "x\ny\n"),
        ("a\n", update("@@\n+b\n"), "a\nb\n"),
        ("a", update("@@\n a\n+b\n"), "a\nb\n"),
        ("a\r\nb\r\n", update("@@\n a\n-b\n+c\n"), "a\r\nc\r\n"),
        ("a  \nb\n", update("@@\n a\n-b\n+c\n"), "a  \nc\n"),
        (
            "    a\n    b\n",
            update("@@\n a\n-b\n+    c\n"),
            "    a\n    c\n",
        ),
        (
            "1\n2\n3\nx\n5\n6\nx\n",
            unified("@@ -6,2 +6,2 @@\n 6\n-x\n+y\n"),
            "1\n2\n3\nx\n5\n6\ny\n",
        ),
        (
            "x\n1\n2\nx\n",
            unified("@@ -4 +4 @@\n-x\n+y\n"),
            "x\n1\n2\ny\n",
        ),
        ("a\nb\n", unified("@@ -1,0 +2 @@\n+n\n"), "a\nn\nb\n"),
        (
            "a\nb",
            unified("@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n"),
            "a\nc\n",
        ),
        (
            "a\nb\n",
            unified("@@ -2 +2 @@\n-b\n+c\n\\ No newline at end of file\n"),
            "a\nc",
        ),
        (
            "a\r\nb\r\n",
            unified("@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+a\n+b\n"),
            "a\nb\n",
        ),
        ("a\nb\n", unified("@@ -1 +1 @@\n-a\n+a\r\n"), "a\r\nb\n"),
        (
            "new\na\nb\nc\nd\n",
            unified("@@ -1 +1 @@\n-a\n+A\n@@ -4 +4 @@\n-d\n+D\n"),
            "new\nA\nb\nc\nD\n",
        ),
    ];
    for (text, patch, expected) in table {
        assert_eq!(
            patched(text, &patch).as_deref(),
            Ok(expected),
            "{text:?} {patch}"
        );
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let table = [
        (
            "a\n",
            update("@@\n-b\n+c\n"),
            "hunk 1 does not fit: the file has no lines that begin with `b`; read the file again",
        ),
        (
            "a\nf\n",
            update("@@ f\n-a\n"),
            "hunk 1 does not fit: the file has no lines that begin with `a` below `f`; read the file again",
        ),
        (
            "b\na\n",
            update("@@\n-a\n+x\n@@\n-b\n+y\n"),
            "hunk 2 does not fit: the file has no lines that begin with `b`; read the file again",
        ),
    ];
    for (text, patch, expected) in table {
        assert_eq!(patched(text, &patch), Err(expected.to_owned()));
    }
}

#[test]
fn what_is_no_patch_is_explained() {
    let table = [
        (
            "",
            "the patch changes no file; it begins with `*** Begin Patch`, `diff --git` or `--- `",
        ),
        (
            "please",
            "the patch changes no file; it begins with `*** Begin Patch`, `diff --git` or `--- `",
        ),
        (
            "*** Begin Patch\n*** End Patch",
            "the patch changes no file; it begins with `*** Begin Patch`, `diff --git` or `--- `",
        ),
        (
            "*** Begin Patch\n*** Add File: a\n+x\n",
            "line 4 of the patch: expected *** End Patch, got `the end`",
        ),
        (
            "*** Begin Patch\nx\n",
            "line 2 of the patch: expected `*** Add File: `, `*** Delete File: ` or `*** Update File: `, got `x`",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n*** End Patch",
            "line 3 of the patch: expected a hunk that begins with `@@`, got `*** End Patch`",
        ),
        (
            "--- a/f\n@@ -1 +1 @@\n",
            "line 2 of the patch: expected `+++ ` after `--- `, got `@@ -1 +1 @@`",
        ),
        (
            "--- a/f\n+++ b/f\n@@ -1,3 +1 @@\n-x\n",
            "line 5 of the patch: expected as many lines as the head of the hunk counts, got `the end`",
        ),
        (
            "diff --git a/x b/x\nGIT binary patch\n",
            "line 2 of the patch: binary files cannot be patched",
        ),
        (
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
            "line 2 of the patch: a patch changes no modes; use chmod in a command",
        ),
        (
            "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n",
            "line 2 of the patch: a patch creates only plain files; leave the mode out, and use chmod or ln in a command",
        ),
        (
            "diff --git a/m b/n\ncopy from m\ncopy to n\n",
            "line 2 of the patch: a patch copies no files; use copy_file first",
        ),
        (
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n+z\n",
            "line 6 of the patch: expected `diff --git`, `--- ` or the end: the head of a hunk counts its lines, got `+z`",
        ),
        (
            "--- a/f\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n",
            "line 6 of the patch: expected `rename from` and `rename to` above two different paths, got `the end`",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Begin Patch\n*** End Patch",
            "line 4 of the patch: expected nothing after the end of the patch, got `*** Begin Patch`",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n*** Add File: a\n*** End Patch",
            "the patch changes a twice; join its hunks in one section",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn paths_are_taken_as_they_are_written() {
    let paths = |text: &str| {
        parse(text)
            .unwrap()
            .paths()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let hunk = "@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(
        paths(&format!(
            "--- \"a/f\\303\\274r.txt\"\n+++ \"b/f\\303\\274r.txt\"\n{hunk}"
        )),
        ["für.txt"]
    );
    assert_eq!(
        paths(&format!("--- a/x\t2026-01-01\n+++ a/x\t2026-01-02\n{hunk}")),
        ["a/x"]
    );
    assert_eq!(paths(&format!("--- x\n+++ x\n{hunk}-- \n2.39.5\n")), ["x"]);
    assert_eq!(
        paths("*** Begin Patch\r\n*** Delete File: a b\r\n*** End Patch\r\n"),
        ["a b"]
    );
    let indented = parse("*** Begin Patch\n*** Delete File:  /etc/x\n*** End Patch").unwrap();
    assert_eq!(parse(&indented.to_string()).unwrap(), indented);
}
