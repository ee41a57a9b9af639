//! The complexity of the samples is that of lizard 1.24, and that of the white paper.

#![cfg(feature = "grammars")]
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "samples/table.rs"]
mod samples;

use orchestrate_code::{Complexity, FileAnalysis, FunctionComplexity, Language, Source};

use samples::SAMPLES;

fn measured(language: Language, text: &str) -> Vec<FunctionComplexity> {
    let source = Source::parse(language, text, &|| false).unwrap();
    let complexity = Complexity::analyze(&source, &|| false).unwrap();
    assert_eq!(complexity.syntax_errors, 0);
    complexity.functions
}

/// A function: its name, lines of code, cyclomatic complexity and length.
type Figures = (&'static str, &'static str, usize, usize, usize);

/// What `lizard --csv` prints (NLOC, CCN, length), except for what it takes for functions or does
/// not see: the signature in a trait, and a generic function of TypeScript.
const OF_LIZARD: [Figures; 35] = [
    ("shapes.rs", "area", 3, 3, 3),
    ("shapes.rs", "new", 3, 1, 3),
    ("shapes.rs", "classify", 20, 10, 20),
    ("shapes.rs", "helper", 8, 2, 8),
    ("shapes.rs", "nested", 4, 1, 11),
    ("shapes.py", "__init__", 2, 1, 2),
    ("shapes.py", "area", 7, 5, 8),
    ("shapes.py", "_hidden", 2, 3, 2),
    ("shapes.py", "fetch", 13, 8, 13),
    ("shapes.py", "inner", 4, 2, 4),
    ("shapes.py", "outer", 7, 4, 11),
    ("shapes.js", "constructor", 4, 1, 4),
    ("shapes.js", "area", 3, 2, 3),
    ("shapes.js", "make", 19, 9, 19),
    ("shapes.js", "#hidden", 5, 2, 5),
    ("shapes.js", "walk", 10, 3, 10),
    ("shapes.js", "double", 6, 2, 6),
    ("shapes.js", "(anonymous)", 1, 2, 1),
    ("shapes.js", "main", 3, 1, 3),
    ("shapes.ts", "deep", 3, 3, 3),
    ("shapes.ts", "rename", 5, 3, 5),
    ("shapes.ts", "hidden", 1, 1, 1),
    ("shapes.go", "Area", 9, 4, 9),
    ("shapes.go", "(anonymous)", 6, 2, 6),
    ("shapes.go", "classify", 20, 5, 25),
    ("Shapes.java", "Shapes", 3, 1, 3),
    ("Shapes.java", "area", 27, 10, 27),
    ("Shapes.java", "run", 9, 3, 9),
    ("Shapes.java", "other", 3, 2, 3),
    ("Shapes.java", "sum", 3, 1, 3),
    ("shapes.c", "classify", 30, 13, 32),
    ("shapes.c", "main", 4, 1, 4),
    ("shapes.cpp", "Shape", 1, 1, 1),
    ("shapes.cpp", "count", 18, 8, 18),
    ("shapes.cpp", "sum", 8, 3, 8),
];

/// What lizard does not list.
const OTHERS: [Figures; 4] = [
    ("shapes.rs", "twice", 3, 1, 3),
    ("shapes.ts", "pick", 8, 3, 8),
    ("shapes.sh", "say", 9, 4, 9),
    ("shapes.sh", "build", 11, 6, 11),
];

#[test]
fn figures_are_those_of_lizard() {
    let mut expected: Vec<(String, String, usize, usize, usize)> = OF_LIZARD
        .iter()
        .chain(&OTHERS)
        .map(|(path, name, lines, paths, length)| {
            (
                (*path).to_owned(),
                (*name).to_owned(),
                *lines,
                *paths,
                *length,
            )
        })
        .collect();
    let mut found = Vec::new();
    for (path, text) in SAMPLES {
        for function in measured(Language::of_path(path).unwrap(), text) {
            let name = function.name.rsplit("::").next().unwrap().to_owned();
            found.push((
                path.to_owned(),
                name,
                function.code_lines,
                function.cyclomatic,
                function.length,
            ));
        }
    }
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

/// A text with its functions and their cyclomatic complexity.
type Counted = (Language, &'static str, &'static [(&'static str, usize)]);

/// What lizard counts as well, and where a grammar that does not understand a text would lead
/// astray.
#[test]
fn tokens_count_where_lizard_counts_them() {
    let table: [Counted; 7] = [
        (
            Language::C,
            "int f(int x) {\n#ifdef A\n  x++;\n#endif\n#ifndef B\n  x++;\n#endif\n  return x;\n}\n",
            &[("f", 2)],
        ),
        (
            Language::C,
            "int f(int x) {\n#if defined(A) && defined(B)\n  x++;\n#elif C\n  x--;\n#endif\n  return x;\n}\n",
            &[("f", 3)],
        ),
        // `else` alone after `#ifdef`.
        (
            Language::C,
            "int f(int x) {\n  if (x) {\n    x++;\n  }\n#ifdef A\n  else if (x && 2) {\n    x--;\n  }\n#endif\n  return x;\n}\n\
             int g(void) { return 1; }\n",
            &[("f", 5), ("g", 1)],
        ),
        // Braces on both sides of `#else`, of which one is read; lizard does not know where the
        // first function ends.
        (
            Language::C,
            "int f(int x) {\n#ifdef A\n  if (x) {\n#else\n  if (!x || 2) {\n#endif\n    x++;\n  }\n  return x;\n}\n\
             int g(int x) { if (x) { return 2; } return 1; }\n",
            &[("f", 2), ("g", 2)],
        ),
        (
            Language::C,
            "int f(int x) {\n  if (x != 1 &&\n#ifdef A\n      x != 2 &&\n#endif\n      x != 3)\n    return 1;\n  return x;\n}\n",
            &[("f", 5)],
        ),
        (
            Language::Rust,
            "fn f(a: bool, b: bool) {\n    assert!(a && b || g(x?));\n}\n",
            &[("f", 4)],
        ),
        // Its bars are no operator.
        (
            Language::Rust,
            "fn f() {\n    g().unwrap_or_else(|| 'a' < 'b' && c);\n}\n",
            &[("f", 2)],
        ),
    ];
    for (language, text, expected) in table {
        let source = Source::parse(language, text, &|| false).unwrap();
        let functions = Complexity::analyze(&source, &|| false).unwrap().functions;
        let found: Vec<(&str, usize)> = functions
            .iter()
            .map(|function| (function.name.as_str(), function.cyclomatic))
            .collect();
        assert_eq!(found, expected, "{language}\n{text}");
    }
}

/// The increments that the white paper "Cognitive Complexity" (G. Ann Campbell, SonarSource,
/// version 1.5) lists: for each break of the linear flow, for each level of nesting, for sequences
/// of the same operator, and for jumps to labels. The functions have the control flow of its worked
/// examples.
#[test]
fn cognitive_complexity_is_that_of_the_white_paper() {
    let text = include_str!("samples/Increments.java");
    let found: Vec<(String, usize)> = measured(Language::Java, text)
        .into_iter()
        .map(|function| (function.name, function.cognitive))
        .collect();
    let expected = [
        // Two loops, a condition in both, and a jump to a label.
        ("freeSeats", 1 + 2 + 3 + 1),
        // A switch, whatever its cases.
        ("season", 1),
        // A condition, two loops in it, a handler, and a condition in that; `try` itself is free.
        ("upload", 1 + 2 + 3 + 1 + 2),
        // A lambda is a level of nesting.
        ("later", 2),
        // A condition; a loop; in it a condition with one operator, two more levels, and `if` and
        // `else if` at the deepest; a last condition.
        ("lowest", 1 + 1 + (2 + 1) + 3 + 4 + 5 + 1 + 1),
        // A choice with an operator; a loop; in it `if` and five branches beside it, with two
        // levels in the second.
        (
            "plain",
            (1 + 1) + 1 + 2 + 1 + (3 + 1) + (4 + 1) + 1 + 1 + 1 + 1 + 1,
        ),
    ];
    assert_eq!(
        found,
        expected.map(|(name, figure)| (name.to_owned(), figure))
    );
}

#[test]
fn cognitive_complexity_means_the_same_in_each_language() {
    let table = [
        // `else if` costs one and nests no deeper.
        (
            Language::Rust,
            "fn f() { if a {} else if b { if c {} } else {} }",
            5,
        ),
        (
            Language::Python,
            "def f():\n if a:\n  pass\n elif b:\n  if c:\n   pass\n else:\n  pass\n",
            5,
        ),
        (
            Language::JavaScript,
            "function f() { if (a) {} else if (b) { if (c) {} } else {} }",
            5,
        ),
        (
            Language::TypeScript,
            "function f() { if (a) {} else if (b) { if (c) {} } else {} }",
            5,
        ),
        (
            Language::Go,
            "package p\nfunc f() { if a {} else if b { if c {} } else {} }",
            5,
        ),
        (
            Language::Java,
            "class A { void f() { if (a) {} else if (b) { if (c) {} } else {} } }",
            5,
        ),
        (
            Language::C,
            "void f() { if (a) {} else if (b) { if (c) {} } else {} }",
            5,
        ),
        (
            Language::Cpp,
            "void f() { if (a) {} else if (b) { if (c) {} } else {} }",
            5,
        ),
        (
            Language::Shell,
            "f() { if a; then :; elif b; then if c; then :; fi; else :; fi; }",
            5,
        ),
        // An operator costs one wherever another begins.
        (Language::Cpp, "int A::f() { return f() + A::f(); }", 1),
        (Language::Rust, "fn f() { a && b && c || d || e && f; }", 3),
        (
            Language::Python,
            "def f():\n return a and b and c or d or e and f\n",
            3,
        ),
        (
            Language::Java,
            "class A { void f() { x = a && !(b && c) && (d && e); } }",
            2,
        ),
        (
            Language::JavaScript,
            "function f() { return a ?? b ?? c; }",
            0,
        ),
        // A switch costs one, a label one, a call of itself one.
        (
            Language::Rust,
            "fn f() { 'a: loop { match x { 1 => break 'a, _ => f() } } }",
            1 + 2 + 1 + 1,
        ),
        (
            Language::Go,
            "package p\nfunc f() { for { select { case <-a: goto x } } }",
            1 + 2 + 1,
        ),
        (
            Language::Java,
            "class A { void f() { this.f(); other.f(); } }",
            1,
        ),
    ];
    for (language, text, expected) in table {
        let functions = measured(language, text);
        assert_eq!(functions[0].cognitive, expected, "{language}: {text}");
    }
}
