//! Patterns in each language.

#![cfg(feature = "grammars")]
#![expect(clippy::unwrap_used, reason = "tests")]

use orchestrate_code::{CodeError, Language, Pattern, Source};

/// Returns each match with what its names stand for.
fn found(language: Language, pattern: &str, text: &str) -> Vec<String> {
    let pattern = Pattern::parse(language, pattern, &|| false).unwrap();
    assert!(pattern.may_match(text) || pattern.find(&parsed(language, text), &|| false).unwrap().is_empty());
    let matches = pattern.find(&parsed(language, text), &|| false).unwrap().into_iter();
    let lines = matches.map(|found| {
        let captures = found.captures.iter().map(|capture| format!(" {}={}", capture.name, capture.text));
        format!("{}:{}{}", found.line, found.column, captures.collect::<String>())
    });
    lines.collect()
}

fn parsed(language: Language, text: &str) -> Source<'_> {
    let source = Source::parse(language, text, &|| false).unwrap();
    assert_eq!(orchestrate_code::SyntaxErrors::of(&source, &|| false).unwrap().total, 0, "{text}");
    source
}

#[test]
fn code_is_found_by_its_structure_in_each_language() {
    let table: [(Language, &str, &str, &[&str]); 29] = [
        (
            Language::Rust,
            "$X.unwrap()",
            "fn f() {\n    a.b(\n        1).unwrap();\n    // c.unwrap()\n    unwrap();\n}",
            &["2:5 X=a.b(\n        1)"],
        ),
        (Language::Rust, "foo($$$ARGS)", "fn f() { foo(); foo(1, g(2)); }", &["1:10 ARGS=", "1:17 ARGS=1, g(2)"]),
        (Language::Rust, "$X == $X", "fn f() { a == a; a == b; f(1) == f( 1 ); }", &["1:10 X=a", "1:26 X=f(1)"]),
        (Language::Rust, "if $C { $$$B }", "fn f() { if a > 1 { b(); c() } }", &["1:10 C=a > 1 B=b(); c()"]),
        (Language::Rust, "let $N = $V;", "fn f() { let a = 1; let mut b = 2; }", &["1:10 N=a V=1"]),
        (Language::Rust, "fn $F($$$) -> Result<$T, $E> { $$$ }", "pub fn g(a: u8) -> Result<u8, E> { Ok(a) }", &[]),
        (Language::Rust, "Vec<$T>", "struct A { a: Vec<u8>, b: Option<Vec<A>> }", &["1:15 T=u8", "1:34 T=A"]),
        (Language::Rust, "println!($$$)", "fn f() { println!(\"{}\", a); }", &["1:10"]),
        (Language::Rust, "$A + 1", "fn f() { a + 1; a - 1; }", &["1:10 A=a"]),
        (Language::Python, "print($$$A)", "print(1, x=2)\n", &["1:1 A=1, x=2"]),
        (Language::Python, "if $C:\n    $$$B", "if a:\n    b()\n    c()\n", &["1:1 C=a B=b()\n    c()"]),
        (
            Language::Python,
            "def $F(self, $$$): return $V",
            "class A:\n    def f(self, a): return a\n",
            &["2:5 F=f V=a"],
        ),
        (Language::Python, "$X is not None", "x = a is not None\n", &["1:5 X=a"]),
        (
            Language::JavaScript,
            "$X.then($F)",
            "a.then(b).then((x) => x);",
            &["1:1 X=a.then(b) F=(x) => x", "1:1 X=a F=b"],
        ),
        (Language::JavaScript, "console.log($$$)", "if (a) { console.log(a, 'b'); }", &["1:10"]),
        (Language::JavaScript, "async ($$$) => $B", "const f = async (a) => a;", &["1:11 B=a"]),
        (Language::TypeScript, "$X as any", "const a = b as any;", &["1:11 X=b"]),
        (Language::TypeScript, "useState<$T>($$$)", "const a = useState<number>(0);", &["1:11 T=number"]),
        (Language::Tsx, "<Button $$$ />", "const a = <Button a={1} b />;", &["1:11"]),
        (
            Language::Go,
            "if err != nil { $$$B }",
            "package p\nfunc f() {\n\tif err != nil {\n\t\treturn err\n\t}\n}",
            &["3:2 B=return err"],
        ),
        (Language::Go, "fmt.Println($A)", "package p\nfunc f() { fmt.Println(1); fmt.Println(1, 2) }", &["2:12 A=1"]),
        (Language::Java, "System.out.println($X)", "class A { void f() { System.out.println(1); } }", &["1:22 X=1"]),
        (Language::Java, "new $T($$$A)", "class A { Object o = new B(1, 2); }", &["1:22 T=B A=1, 2"]),
        (Language::C, "free($P)", "void f(void) { free(p); free(q->r); }", &["1:16 P=p", "1:25 P=q->r"]),
        (Language::C, "$X = malloc($N)", "void f(void) { p = malloc(3); }", &["1:16 X=p N=3"]),
        (Language::Cpp, "std::move($X)", "void f() { g(std::move(a)); }", &["1:14 X=a"]),
        (Language::Cpp, "$A->$B", "void f() { a->b; a.b; }", &["1:12 A=a B=b"]),
        (Language::Shell, "rm -rf $X", "rm -rf a\nrm -r b\n", &["1:1 X=a"]),
        (Language::Shell, "cd $X || exit", "cd a || exit\ncd b\n", &["1:1 X=a"]),
    ];
    let mut wrong = Vec::new();
    for (language, pattern, text, expected) in table {
        let found = found(language, pattern, text);
        if found != expected {
            wrong.push(format!("{language}: {pattern}: {found:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_name_for_several_stands_for_the_same_code_everywhere() {
    let code = "fn m() { f(x) == g(y); f(x, 1) == g(x, 1); f() == g(); f() == g(x); f(x) == g(); f(x) == g(x, y); }";
    assert_eq!(found(Language::Rust, "f($$$A) == g($$$A)", code), ["1:24 A=x, 1", "1:44 A="]);
    // What follows it does not have to match at once.
    let code = "fn m() { [1, 2] == [1, 2, 0]; [1, 2] == [1, 3, 0]; [1] == [0]; }";
    assert_eq!(found(Language::Rust, "[$$$A] == [$$$A, 0]", code), ["1:10 A=1, 2"]);
}

#[test]
fn a_pattern_that_is_no_code_or_matches_everything_is_refused() {
    for (language, pattern) in [
        (Language::Rust, ""),
        (Language::Rust, "fn ("),
        (Language::Rust, "$X"),
        (Language::Python, "$$$A"),
        (Language::Rust, "a(); b();"),
        (Language::JavaScript, "if ("),
    ] {
        let error = Pattern::parse(language, pattern, &|| false).unwrap_err();
        assert!(matches!(error, CodeError::Pattern { .. }), "{pattern}: {error}");
    }
    let deep = format!("f({}1{})", "(".repeat(200), ")".repeat(200));
    let error = Pattern::parse(Language::Rust, &deep, &|| false).unwrap_err();
    assert!(error.to_string().ends_with("it is nested too deeply"), "{error}");
}

/// A file without a word of the pattern need not be parsed, nor one in which it is only the beginning of another word.
#[test]
fn only_texts_with_every_word_are_searched() {
    let table = [
        ("$X.unwrap()", "fn f() { a.unwrap_or(1); }", false),
        ("$X.unwrap()", "fn f() { a.unwrap_or(b.unwrap()); }", true),
        ("first($X).second()", "fn f() { second(); }", false),
        ("first($X).second()", "fn f() { second(); first(1) }", true),
        ("call(\"ab\")", "fn f() { call(\"\\nab\\n\") }", true),
        ("$F($X)", "fn f() {}", true),
    ];
    for (pattern, text, expected) in table {
        let pattern = Pattern::parse(Language::Rust, pattern, &|| false).unwrap();
        assert_eq!(pattern.may_match(text), expected, "{pattern:?} {text}");
    }
}
