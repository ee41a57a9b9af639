//! The structure of a sample of each language.

#![cfg(feature = "grammars")]
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "samples/table.rs"]
mod samples;

use orchestrate_code::{CodeStructure, FileAnalysis, Language, Source};

use samples::SAMPLES;

fn structure(path: &str, text: &str) -> CodeStructure {
    let language = Language::of_file(path, text).unwrap();
    let source = Source::parse(language, text, &|| false).unwrap();
    CodeStructure::analyze(&source, &|| false).unwrap()
}

/// Returns one line for each item.
fn outline(path: &str, text: &str) -> String {
    let structure = structure(path, text);
    assert_eq!(
        structure.syntax_errors.total, 0,
        "{:?}",
        structure.syntax_errors
    );
    let lines = structure.items.iter().map(|item| {
        let doc = item
            .doc
            .as_deref()
            .map(|doc| format!(" // {doc}"))
            .unwrap_or_default();
        let within = item
            .within
            .as_deref()
            .map(|within| format!("{within}."))
            .unwrap_or_default();
        let (kind, visibility) = (serde_json::to_value(item.kind).unwrap(), &item.visibility);
        let kind = kind.as_str().unwrap();
        format!(
            "{}-{} {visibility} {kind} {within}{}: {}{doc}\n",
            item.line, item.end_line, item.name, item.signature
        )
    });
    lines.collect()
}

#[test]
fn the_items_of_each_language_are_found() {
    let found: Vec<String> = SAMPLES
        .iter()
        .map(|(path, text)| format!("=== {path}\n{}", outline(path, text)))
        .collect();
    assert_eq!(found.join("\n"), include_str!("samples/structure.txt"));
}

/// `LIB_API` made a function of a class, whose members were missing; a type without a tag had no
/// name in its signature.
#[test]
fn classes_with_macros_and_types_without_tags_are_found() {
    let classes = "class LIB_API Thing : public Base {\npublic:\n  int f();\nprivate:\n  void g() {}\n};\n\
        struct API_EXPORT Other final { int h(); };\nint after();\n";
    let types = "typedef struct {\n  int a;\n} point_t;\ntypedef enum { A, B } kind_t, *kind_p;\ntypedef int number;\n";
    let table = [
        (
            "a.hpp",
            classes,
            "1-6 public class Thing: class LIB_API Thing : public Base\n\
             3-3 public method Thing.f: int f()\n\
             5-5 private method Thing.g: void g()\n\
             7-7 public struct Other: struct API_EXPORT Other final\n\
             7-7 public method Other.h: int h()\n\
             8-8 public function after: int after()\n",
        ),
        (
            "a.c",
            types,
            "1-3 public type point_t: typedef struct point_t\n\
             4-4 public type kind_t: typedef enum kind_t, *kind_p\n\
             5-5 public type number: typedef int number\n",
        ),
    ];
    for (path, text, expected) in table {
        assert_eq!(outline(path, text), expected);
    }
}

/// The branches of a condition were read one after the other, so that the function was none.
#[test]
fn a_function_that_a_condition_splits_is_found() {
    let split = "int before(void) { return 1; }\nstatic int f(int a) {\n#ifdef X\n  if (a > 1) {\n#else\n  if (a > 2) {\n#endif\n\
        g();\n  }\n  return 0;\n}\nint after(void) { return 2; }\n";
    let header = "#ifndef A_H\n#define A_H\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void);\nstruct s { int a; };\n\
        #ifdef __cplusplus\n}\n#endif\n#endif\n";
    let table = [
        (
            "a.c",
            split,
            "1-1 public function before: int before(void)\n2-11 private function f: static int f(int a)\n\
             12-12 public function after: int after(void)\n",
        ),
        (
            "a.h",
            header,
            "6-6 public function f: int f(void)\n7-7 public struct s: struct s\n",
        ),
    ];
    for (path, text, expected) in table {
        assert_eq!(outline(path, text), expected);
    }
}

/// A file that is being edited still has most of its structure.
#[test]
fn what_is_around_a_syntax_error_is_found() {
    let table = [
        ("a.rs", "fn one() {}\nfn two( {\nfn three() {}\n", "three"),
        (
            "a.py",
            "def one():\n    x = = 1\n\ndef three():\n    pass\n",
            "three",
        ),
        (
            "a.js",
            "function one() { let = ; }\nfunction three() {}\n",
            "three",
        ),
        (
            "a.go",
            "package a\nfunc one() { x := }\nfunc three() {}\n",
            "three",
        ),
        (
            "A.java",
            "class A { void one() { int = 3; } void three() {} }",
            "three",
        ),
        (
            "a.c",
            "int one() { int = 3; }\nint three() { return 1; }\n",
            "three",
        ),
    ];
    for (path, text, name) in table {
        let structure = structure(path, text);
        assert!(structure.syntax_errors.total > 0, "{path}");
        assert!(
            structure.syntax_errors.first[0].line <= 2,
            "{path}: {:?}",
            structure.syntax_errors
        );
        assert!(
            structure.items.iter().any(|item| item.name == name),
            "{path}: {:?}",
            structure.items
        );
    }
}

#[test]
fn a_syntax_error_has_its_place() {
    let table = [
        ("a.rs", "fn f() { let x = ; }\n", 1),
        ("a.rs", "fn f() {\n    g(1\n}\n", 2),
        ("a.py", "x = (\n", 1),
        ("a.ts", "let x: = 3;\n", 1),
    ];
    for (path, text, line) in table {
        let errors = structure(path, text).syntax_errors;
        assert_eq!(
            errors.first.first().map(|error| error.line),
            Some(line),
            "{path} {text}: {errors:?}"
        );
        assert!(!errors.first[0].message.is_empty());
    }
}

#[test]
fn names_that_an_export_lists_are_public() {
    let table: [(&str, &[&str]); 6] = [
        (
            "function a() {}\nfunction b() {}\nexport { a };\nexports.c = function () {};\n",
            &["a", "exports.c"],
        ),
        (
            "const a = () => 1;\nclass b {}\nexport default a;\n",
            &["a"],
        ),
        (
            "function a() {}\nfunction b() {}\nfunction c() {}\nmodule.exports = { a, d: c, e() {} };\n",
            &["a", "c", "e"],
        ),
        (
            "class a {}\nfunction b() {}\nexports = module.exports = a;\n",
            &["a"],
        ),
        (
            "function a() {}\nfunction b() {}\nmodule.exports.x = a;\nother.exports.x = b;\n",
            &["a"],
        ),
        (
            "function a() {}\nfunction b() { module.exports = a; }\n",
            &[],
        ),
    ];
    for (text, expected) in table {
        let items = structure("a.js", text).items;
        let public: Vec<&str> = items
            .iter()
            .filter(|item| item.visibility == "public")
            .map(|item| item.name.as_str())
            .collect();
        assert_eq!(public, expected, "{text}");
    }
}

#[test]
fn what_is_exported_without_a_declaration_is_found() {
    let table = [
        (
            "/** Makes one. */\nexport default function (x) {}\n",
            "2-2 public function default: export default function (x) // Makes one.\n",
        ),
        (
            "export default (a) => a;\n",
            "1-1 public function default: export default (a)\n",
        ),
        (
            "export default class extends K {\n  m() {}\n}\n",
            "1-3 public class default: export default class extends K\n2-2 public method default.m: m()\n",
        ),
        (
            "module.exports = {\n  f(x) {},\n  /** Gets it. */\n  g: function () {},\n  h: (a) => a,\n  k,\n  q: 1,\n};\n",
            "2-2 public function f: f(x)\n4-4 public function g: g: function () // Gets it.\n5-5 public function h: h: (a)\n",
        ),
        (
            "exports = module.exports = { f() {} };\nother = { g() {} };\n",
            "1-1 public function f: f()\n",
        ),
        (
            "export default { data() {} };\n",
            "1-1 public function data: data()\n",
        ),
        (
            "/** Holds it. */\nmodule.exports = class extends K {\n  m() {}\n};\n",
            "2-4 public class module.exports: module.exports = class extends K // Holds it.\n\
             3-3 public method module.exports.m: m()\n",
        ),
        (
            "exports = module.exports = class Name {\n  m() {}\n};\nother = class { n() {} };\n",
            "1-3 public class Name: module.exports = class Name\n2-2 public method Name.m: m()\n",
        ),
        (
            "exports.A = class {};\n",
            "1-1 public class exports.A: exports.A = class\n",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(outline("a.js", text), expected, "{text}");
    }
}

#[test]
fn a_comment_documents_the_constant_of_python_below_it() {
    let text = "# The most.\nLIMIT = 3\nOTHER = 4  # Of this line.\nLAST = 5\n\n# Apart.\n\nALONE = 6\n\n\n\
        class A:\n    FIRST = 0\n    # The least.\n    LEAST: int = 1\n";
    let items = structure("a.py", text).items;
    let docs: Vec<(&str, Option<&str>)> = items
        .iter()
        .map(|item| (item.name.as_str(), item.doc.as_deref()))
        .collect();
    let (limit, least) = (Some("The most."), Some("The least."));
    let without = ["OTHER", "LAST", "ALONE", "A", "FIRST"].map(|name| (name, None));
    let expected: Vec<_> = [("LIMIT", limit)]
        .into_iter()
        .chain(without)
        .chain([("LEAST", least)])
        .collect();
    assert_eq!(docs, expected);
}
