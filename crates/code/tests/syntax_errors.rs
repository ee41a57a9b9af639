//! Errors that a change introduces are named where the change made them.

#![cfg(feature = "grammars")]
#![expect(clippy::unwrap_used, reason = "tests")]

use orchestrate_code::{Language, SyntaxErrors};

/// A program of each language with one line to change, its fifth.
const PROGRAMS: [(Language, &str); 10] = [
    (
        Language::C,
        "int a;\n\nint f(int x) {\n    int t = 1;\n    @;\n    return t;\n}\n\nint g(void) { return f(\"a\"[0]); }\n",
    ),
    (
        Language::Cpp,
        "int a;\n\nint f(int x) {\n    int t = 1;\n    @;\n    return t;\n}\n\nint g() { return f(\"a\"[0]); }\n",
    ),
    (
        Language::Go,
        "package a\n\nfunc f(x int) int {\n\tt := 1\n\t@\n\treturn t\n}\n\nfunc g() int { return f(\"a\") }\n",
    ),
    (
        Language::Java,
        "class A {\n\n  int f(int x) {\n    int t = 1;\n    @;\n    return t;\n  }\n\n  int g() { return f(\"a\"); }\n}\n",
    ),
    (
        Language::JavaScript,
        "import a from 'a';\n\nfunction f(x) {\n  let t = 1;\n  @;\n  return t;\n}\n\nconst g = () => f(\"a\");\n",
    ),
    (
        Language::Python,
        "import b\n\ndef f(x):\n    t = 1\n    @\n    return t\n\ndef g():\n    return f(\"a\")\n",
    ),
    (
        Language::Rust,
        "use a::b;\n\nfn f(x: u8) -> u8 {\n    let mut t = 1;\n    @;\n    t\n}\n\nfn g() -> u8 { f(\"a\") }\n",
    ),
    (
        Language::Shell,
        "a=1\n\nf() {\n  t=1\n  @\n  echo \"$t\"\n}\n\nf \"a\"\n",
    ),
    (
        Language::Tsx,
        "import a from 'a';\n\nfunction f(x: number) {\n  let t = 1;\n  @;\n  return t;\n}\n\nconst g = () => <b>{f(\"a\")}</b>;\n",
    ),
    (
        Language::TypeScript,
        "import a from 'a';\n\nfunction f(x: number) {\n  let t = 1;\n  @;\n  return t;\n}\n\nconst g = () => f(\"a\");\n",
    ),
];

/// Returns the first error that a change of the fifth line introduces.
fn introduced(language: Language, text: &str, line: &str) -> Option<(usize, usize, String)> {
    let before = text.replace(
        '@',
        if language == Language::Shell {
            "t=0"
        } else {
            "t = 0"
        },
    );
    let none = SyntaxErrors::introduced(language, None, &before, &|| false).unwrap();
    assert_eq!(none.total, 0, "{language}: {none:?}");
    let found =
        SyntaxErrors::introduced(language, Some(&before), &text.replace('@', line), &|| false)
            .unwrap();
    found
        .first
        .into_iter()
        .next()
        .map(|error| (error.line, error.column, error.message))
}

#[test]
fn an_error_is_named_where_the_change_made_it() {
    let table = [
        ("t = (0", '(', "`(` is not closed"),
        ("t = f(0", '(', "`(` is not closed"),
        ("t = [0", '[', "`[` is not closed"),
        ("{ t = 0", '{', "`{` is not closed"),
        ("t = 0)", ')', "unexpected `)`"),
        ("t = (0))", ')', "unexpected `)`"),
        ("t = \"abc", '"', "the string that begins here does not end"),
    ];
    let mut wrong = Vec::new();
    for (language, text) in PROGRAMS {
        for (line, sign, message) in table {
            let line = match language {
                // Without a word before it, a parenthesis begins an array, and brackets in words
                // are text.
                Language::Shell if line.contains('[') => continue,
                Language::Shell => line.replace(" = ", "=").replace("f(0", "$(f 0"),
                _ => line.to_owned(),
            };
            let indent = text.lines().nth(4).unwrap().find('@').unwrap();
            let at = if sign == ')' {
                line.rfind(sign)
            } else {
                line.find(sign)
            };
            let expected = Some((5, indent + at.unwrap() + 1, message.to_owned()));
            let found = introduced(language, text, &line);
            if found != expected {
                wrong.push(format!(
                    "{language} {line}: {found:?} rather than {expected:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_errors_are_named_in_the_changed_lines() {
    let table = [
        (
            Language::Python,
            "import b\n\ndef f(x):\n    return x\n",
            "import b\n\ndef f(x)\n    return x\n",
            3,
        ),
        (
            Language::Python,
            "import b\n\nclass A:\n  def f(x):\n    if x:\n      pass\n    return x\n",
            "import b\n\nclass A:\n  def f(x):\n    if x\n      pass\n    return x\n",
            5,
        ),
        // What was removed is missing beside the gap.
        (
            Language::C,
            "int a;\n\nint f(int x) {\n  if (x) {\n    g();\n  }\n  return x;\n}\nint b;\n",
            "int a;\n\nint f(int x) {\n  if (x) {\n    g();\n  return x;\n}\nint b;\n",
            3,
        ),
        // The bracket that was added takes the counterpart of another one.
        (
            Language::C,
            "int a;\n\nint f(int x) {\n  if (x)\n    g();\n  return x;\n}\nint b;\n",
            "int a;\n\nint f(int x) {\n  if (x) {\n    g();\n  return x;\n}\nint b;\n",
            4,
        ),
        (
            Language::Rust,
            "mod a;\n\nfn f() {\n    if x {\n        g();\n    }\n}\n",
            "mod a;\n\nfn f() {\n    if x {\n        g(); }\n    }\n}\n",
            5,
        ),
        (
            Language::Go,
            "package a\n\nfunc f() {\n\tx := 1\n}\n",
            "package a\n\nfunc f() {\n\tx := := 1\n}\n",
            4,
        ),
    ];
    for (language, before, after, line) in table {
        let found = SyntaxErrors::introduced(language, Some(before), after, &|| false).unwrap();
        assert_eq!(
            found.first.first().map(|error| error.line),
            Some(line),
            "{language} {after}\n{found:?}"
        );
    }
}

/// A bracket that had no counterpart before is not to blame, nor one that has its counterpart in
/// another branch.
#[test]
fn errors_that_were_there_are_not_named() {
    let unclosed = "int f(int x) {\n  if (x) {\n  if (!x) {\n    g();\n  }\n  return 0;\n}\n";
    let split = "int f(int x) {\n#ifdef A\n  if (x) {\n#else\n  if (!x) {\n#endif\n    g();\n  }\n  return 0;\n}\n";
    for (before, line) in [(unclosed, 6), (split, 9)] {
        let after = before.replace("return 0", "return (0");
        let found = SyntaxErrors::introduced(Language::C, Some(before), &after, &|| false).unwrap();
        let places: Vec<(usize, &str)> = found
            .first
            .iter()
            .map(|error| (error.line, error.message.as_str()))
            .collect();
        assert_eq!(places, [(line, "`(` is not closed")]);
        let after = before.replace("g()", "h()");
        let found = SyntaxErrors::introduced(Language::C, Some(before), &after, &|| false).unwrap();
        assert_eq!(found.total, 0, "{found:?}");
    }
}
