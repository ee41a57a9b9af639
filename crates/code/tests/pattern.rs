//! Patterns in each language.

#![cfg(feature = "grammars")]
#![expect(clippy::unwrap_used, reason = "tests")]

use orchestrate_code::Language::{
    self, Cpp, Go, Java, JavaScript, Python, Rust, Shell, Tsx, TypeScript,
};
use orchestrate_code::{CodeError, Pattern, Source};

const JAVA: &str = "class A<T> extends B {\n\
    \x20 int x;\n\
    \x20 A() { }\n\
    \x20 int f(int a, String... b) {\n\
    \x20   for (int i = 0; i < a; i++) { g(); }\n\
    \x20   for (String s : b) { g(); h(); }\n\
    \x20   if (a > 1) { g(); } else { h(); }\n\
    \x20   while (a > 2) { }\n\
    \x20   do { g(); } while (a > 3);\n\
    \x20   switch (a) { case 1: g(); break; default: h(); }\n\
    \x20   switch (a) { case 1 -> g(); default -> h(); }\n\
    \x20   try (R r = o()) { g(); } catch (E e) { h(); }\n\
    \x20   try { g(); } catch (E | F e) { h(); } finally { g(); }\n\
    \x20   synchronized (this) { g(); }\n\
    \x20   r = () -> { g(); };\n\
    \x20   o = new B(1, 2) { int y; };\n\
    \x20   return 1;\n\
    \x20 }\n\
    \x20 public void g() { }\n\
    }\n\
    class C { }\n\
    interface I { void f(); }\n\
    enum E { A, B; void f() { } }\n\
    record P(int a, int b) { }\n";
const C: &str = "struct S { int a; char b; };\n\
    union U { int a; float b; };\n\
    enum E { A, B };\n\
    typedef struct { int a; } T;\n\
    int f(int a, char *b) {\n\
    \x20 for (int i = 0; i < a; i++) { g(); }\n\
    \x20 for (;;) { }\n\
    \x20 for (i = 0; i < 2; i++) g();\n\
    \x20 if (a > 1) { g(); } else { h(); }\n\
    \x20 if (a) { g(); }\n\
    \x20 while (a > 2) { g(); }\n\
    \x20 do { g(); } while (a);\n\
    \x20 switch (a) { case 1: g(); break; default: h(); }\n\
    \x20 return 1;\n\
    }\n\
    static int g(void) { return 0; }\n\
    char *h(void) { }\n";
const CPP: &str = "namespace n { int a; class C { }; }\n\
    class D : public C { public: int f() { return 1; } };\n\
    struct S { int a; };\n\
    int g(int a) {\n\
    \x20 for (auto x : v) { h(); }\n\
    \x20 for (int i = 0; i < a; i++) { h(); }\n\
    \x20 try { h(); } catch (const E& e) { k(); } catch (...) { }\n\
    \x20 if (a) { h(); }\n\
    \x20 auto l = [&](int b) { return b; };\n\
    \x20 switch (a) { case 1: h(); }\n\
    \x20 return 1;\n\
    }\n\
    int D::h(int a) { return 2; }\n\
    template <typename T> T m(T a) { return a; }\n\
    extern \"C\" { int z; }\n";
const RUST: &str = "struct A { a: u8, b: u8 }\n\
    struct B {}\n\
    struct C(u8);\n\
    union U { a: u8 }\n\
    enum E { A(u8), B { b: u8 } }\n\
    impl A { const X: u8 = 1; fn f(&self) {} }\n\
    impl T for A { type O = u8; fn g(self) { h() } }\n\
    trait T { fn g(self); }\n\
    mod m { fn x() {} use a::b; }\n\
    extern \"C\" { fn y(); }\n\
    fn f(a: u8) -> u8 { match a { 1 => 2, Some(x) if x > 1 => { 3 } _ => 4 } }\n\
    fn g() { match b {} }\n";
const GO: &str = "package p\n\
    import \"fmt\"\n\
    type T struct {\n\
    \ta, b int\n\
    }\n\
    type I interface {\n\
    \tF()\n\
    }\n\
    func f(a int) int {\n\
    \tswitch a {\n\
    \tcase 1:\n\
    \t\tg()\n\
    \tcase 2, 3:\n\
    \tdefault:\n\
    \t\th()\n\
    \t}\n\
    \tswitch {\n\
    \tcase a > 1:\n\
    \t\tg()\n\
    \t}\n\
    \tswitch x := y.(type) {\n\
    \tcase int:\n\
    \t\tg(x)\n\
    \t}\n\
    \tselect {\n\
    \tcase v := <-c:\n\
    \t\tg(v)\n\
    \tdefault:\n\
    \t}\n\
    \tfor i := 0; i < 3; i++ {\n\
    \t\tg()\n\
    \t}\n\
    \tfor _, v := range a {\n\
    \t\tg(v)\n\
    \t}\n\
    \tfor {\n\
    \t}\n\
    \treturn 1\n\
    }\n";
const TYPESCRIPT: &str = "class A extends B { x = 1; f(a, b) { return 1; } catch(e) { } }\n\
    switch (a) { case 1: g(); break; default: h(); }\n\
    for (let i = 0; i < 3; i++) { g(); h(); }\n\
    for (;;) { g(); }\n\
    for (const x of y) { g(); }\n\
    for (const k in o) { g(); }\n\
    while (a) { g(); }\n\
    if (a) { g(); } else { h(); }\n\
    try { g(); } catch (e) { h(); } finally { k(); }\n\
    try { g(); } catch { }\n\
    function f(a, b) { return 1; }\n";

const MACROS: &str = "fn f() {\n\
    \x20   assert_eq!(a.b(), c + 1);\n\
    \x20   assert_eq!(a, b, \"why\");\n\
    \x20   assert!(x.y);\n\
    \x20   let v = vec![a.b(); 3];\n\
    \x20   let w = vec![a.b(), 3];\n\
    \x20   let u = foo(vec![0; n()]);\n\
    \x20   println!(\"{}\", format!(\"{}\", a.b()));\n\
    \x20   assert!(matches!(x, Some(_) | None));\n\
    \x20   assert_eq!(vec![1], vec![2]);\n\
    \x20   let o = json!({\"a\": f(1), \"b\": [f(2)]});\n\
    \x20   tokio::select! { r = f(3) => f(4), }\n\
    }\n\
    macro_rules! m { ($a:expr) => { f($a) } }\n";

/// Returns each match with what its names stand for.
fn found(language: Language, pattern: &str, text: &str) -> Vec<String> {
    let pattern = Pattern::parse(language, pattern, &|| false).unwrap();
    assert!(
        pattern.may_match(text)
            || pattern
                .find(&parsed(language, text), &|| false)
                .unwrap()
                .is_empty()
    );
    let matches = pattern
        .find(&parsed(language, text), &|| false)
        .unwrap()
        .into_iter();
    let lines = matches.map(|found| {
        let captures = found
            .captures
            .iter()
            .map(|capture| format!(" {}={}", capture.name, capture.text));
        format!(
            "{}:{}{}",
            found.line,
            found.column,
            captures.collect::<String>()
        )
    });
    lines.collect()
}

fn parsed(language: Language, text: &str) -> Source<'_> {
    let source = Source::parse(language, text, &|| false).unwrap();
    assert_eq!(
        orchestrate_code::SyntaxErrors::find(&source, &|| false)
            .unwrap()
            .total,
        0,
        "{text}"
    );
    source
}

#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
#[test]
fn code_is_found_by_its_structure_in_each_language() {
    let table: [(Language, &str, &str, &[&str]); 29] = [
        (
            Rust,
            "$X.unwrap()",
            "fn f() {\n    a.b(\n        1).unwrap();\n    // c.unwrap()\n    unwrap();\n}",
            &["2:5 X=a.b(\n        1)"],
        ),
        (
            Rust,
            "foo($$$ARGS)",
            "fn f() { foo(); foo(1, g(2)); }",
            &["1:10 ARGS=", "1:17 ARGS=1, g(2)"],
        ),
        (
            Rust,
            "$X == $X",
            "fn f() { a == a; a == b; f(1) == f( 1 ); }",
            &["1:10 X=a", "1:26 X=f(1)"],
        ),
        (
            Rust,
            "if $C { $$$B }",
            "fn f() { if a > 1 { b(); c() } }",
            &["1:10 C=a > 1 B=b(); c()"],
        ),
        (
            Rust,
            "let $N = $V;",
            "fn f() { let a = 1; let mut b = 2; }",
            &["1:10 N=a V=1"],
        ),
        (
            Rust,
            "fn $F($$$) -> Result<$T, $E> { $$$ }",
            "pub fn g(a: u8) -> Result<u8, E> { Ok(a) }",
            &[],
        ),
        (
            Rust,
            "Vec<$T>",
            "struct A { a: Vec<u8>, b: Option<Vec<A>> }",
            &["1:15 T=u8", "1:34 T=A"],
        ),
        (
            Rust,
            "println!($$$)",
            "fn f() { println!(\"{}\", a); }",
            &["1:10"],
        ),
        (Rust, "$A + 1", "fn f() { a + 1; a - 1; }", &["1:10 A=a"]),
        (Python, "print($$$A)", "print(1, x=2)\n", &["1:1 A=1, x=2"]),
        (
            Python,
            "if $C:\n    $$$B",
            "if a:\n    b()\n    c()\n",
            &["1:1 C=a B=b()\n    c()"],
        ),
        (
            Python,
            "def $F(self, $$$): return $V",
            "class A:\n    def f(self, a): return a\n",
            &["2:5 F=f V=a"],
        ),
        (
            Python,
            "$X is not None",
            "x = a is not None\n",
            &["1:5 X=a"],
        ),
        (
            JavaScript,
            "$X.then($F)",
            "a.then(b).then((x) => x);",
            &["1:1 X=a.then(b) F=(x) => x", "1:1 X=a F=b"],
        ),
        (
            JavaScript,
            "console.log($$$)",
            "if (a) { console.log(a, 'b'); }",
            &["1:10"],
        ),
        (
            JavaScript,
            "async ($$$) => $B",
            "const f = async (a) => a;",
            &["1:11 B=a"],
        ),
        (
            TypeScript,
            "$X as any",
            "const a = b as any;",
            &["1:11 X=b"],
        ),
        (
            TypeScript,
            "useState<$T>($$$)",
            "const a = useState<number>(0);",
            &["1:11 T=number"],
        ),
        (
            Tsx,
            "<Button $$$ />",
            "const a = <Button a={1} b />;",
            &["1:11"],
        ),
        (
            Go,
            "if err != nil { $$$B }",
            "package p\nfunc f() {\n\tif err != nil {\n\t\treturn err\n\t}\n}",
            &["3:2 B=return err"],
        ),
        (
            Go,
            "fmt.Println($A)",
            "package p\nfunc f() { fmt.Println(1); fmt.Println(1, 2) }",
            &["2:12 A=1"],
        ),
        (
            Java,
            "System.out.println($X)",
            "class A { void f() { System.out.println(1); } }",
            &["1:22 X=1"],
        ),
        (
            Java,
            "new $T($$$A)",
            "class A { Object o = new B(1, 2); }",
            &["1:22 T=B A=1, 2"],
        ),
        (
            Language::C,
            "free($P)",
            "void f(void) { free(p); free(q->r); }",
            &["1:16 P=p", "1:25 P=q->r"],
        ),
        (
            Language::C,
            "$X = malloc($N)",
            "void f(void) { p = malloc(3); }",
            &["1:16 X=p N=3"],
        ),
        (
            Cpp,
            "std::move($X)",
            "void f() { g(std::move(a)); }",
            &["1:14 X=a"],
        ),
        (Cpp, "$A->$B", "void f() { a->b; a.b; }", &["1:12 A=a B=b"]),
        (Shell, "rm -rf $X", "rm -rf a\nrm -r b\n", &["1:1 X=a"]),
        (Shell, "cd $X || exit", "cd a || exit\ncd b\n", &["1:1 X=a"]),
    ];
    let mut wrong = Vec::new();
    for (language, pattern, text, expected) in table {
        let found = found(language, pattern, text);
        if found != expected {
            wrong.push(format!(
                "{language}: {pattern}: {found:?} instead of {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks what patterns find in a text.
fn check(language: Language, text: &str, rows: &[(&str, &[&str])]) {
    for (pattern, expected) in rows {
        assert_eq!(
            found(language, pattern, text),
            *expected,
            "{language}: {pattern}"
        );
    }
}

/// An identifier alone is no statement or member here, and no head of a loop, so that such patterns
/// were refused.
#[test]
fn what_is_in_braces_may_be_anything_in_java() {
    check(
        Java,
        JAVA,
        &[
            ("for ($$$) { $$$ }", &["5:5", "6:5"]),
            ("for ($T $X : $Y) { $$$ }", &["6:5 T=String X=s Y=b"]),
            ("while ($A) { $$$ }", &["8:5 A=a > 2"]),
            ("switch ($X) { $$$ }", &["10:5 X=a", "11:5 X=a"]),
            ("class $C { $$$ }", &["21:1 C=C"]),
            ("interface $I { $$$ }", &["22:1 I=I"]),
            ("enum $E { $$$ }", &["23:1 E=E"]),
            ("int $F($$$) { $$$ }", &["4:3 F=f"]),
            ("$T $F($$$) { $$$ }", &["4:3 T=int F=f", "23:16 T=void F=f"]),
            ("public void $F($$$) { $$$ }", &["19:3 F=g"]),
            ("synchronized ($X) { $$$ }", &["14:5 X=this"]),
            ("if ($A) { $$$ } else { $$$ }", &["7:5 A=a > 1"]),
            ("() -> { $$$ }", &["15:9"]),
            ("new $T($$$) { $$$ }", &["16:9 T=B"]),
            ("do { $$$ } while ($X);", &["9:5 X=a > 3"]),
            ("record $R($$$) { $$$ }", &["24:1 R=P"]),
            ("catch ($$$) { $$$ }", &["12:30", "13:18"]),
        ],
    );
}

#[test]
fn what_is_in_braces_may_be_anything_in_c_and_cpp() {
    check(
        Language::C,
        C,
        &[
            ("if ($A) { $$$ }", &["10:3 A=a"]),
            ("for ($$$) { $$$ }", &["6:3", "7:3"]),
            (
                "for ($A; $B; $C) { $$$ }",
                &["6:3 A=int i = 0; B=i < a C=i++"],
            ),
            ("switch ($X) { $$$ }", &["13:3 X=a"]),
            ("struct $S { $$$ }", &["1:1 S=S"]),
            ("struct $S { $$$ };", &["1:1 S=S"]),
            ("int $F($$$) { $$$ }", &["5:1 F=f"]),
            ("do { $$$ } while ($X);", &["12:3 X=a"]),
            ("typedef struct { $$$ } $N;", &["4:1 N=T"]),
            ("$T *$F($$$) { $$$ }", &["17:1 T=char F=h"]),
            ("if ($A) { $$$ } else { $$$ }", &["9:3 A=a > 1"]),
        ],
    );
    check(
        Cpp,
        CPP,
        &[
            ("if ($A) { $$$ }", &["8:3 A=a"]),
            ("for ($$$) { $$$ }", &["5:3", "6:3"]),
            ("struct $S { $$$ };", &["3:1 S=S"]),
            (
                "int $F($$$) { $$$ }",
                &["2:30 F=f", "4:1 F=g", "13:1 F=D::h"],
            ),
            ("class $C : public $B { $$$ }", &["2:1 C=D B=C"]),
            ("class $C { $$$ };", &["1:22 C=C"]),
            ("namespace $N { $$$ }", &["1:1 N=n"]),
            ("for (auto $X : $Y) { $$$ }", &["5:3 X=x Y=v"]),
            ("[$$$]($$$) { $$$ }", &["9:12"]),
            (
                "template <typename $T> $R $F($$$) { $$$ }",
                &["14:1 T=T R=T F=m"],
            ),
            ("$R $C::$F($$$) { $$$ }", &["13:1 R=int C=D F=h"]),
            ("extern \"C\" { $$$ }", &["15:1"]),
            ("catch ($$$) { $$$ }", &["7:16", "7:44"]),
        ],
    );
}

/// In TypeScript, such a statement was taken for a method that is named by its keyword.
#[test]
fn what_is_in_braces_may_be_anything_in_rust_go_and_typescript() {
    check(
        Rust,
        RUST,
        &[
            ("match $X { $$$ }", &["11:21 X=a", "12:10 X=b"]),
            ("struct $N { $$$ }", &["1:1 N=A", "2:1 N=B"]),
            ("impl $T for $U { $$$ }", &["7:1 T=T U=A"]),
            ("impl $T { $$$ }", &["6:1 T=A"]),
            ("trait $T { $$$ }", &["8:1 T=T"]),
            ("mod $M { $$$ }", &["9:1 M=m"]),
            ("match $X { $$$, _ => $B }", &["11:21 X=a B=4"]),
            ("union $N { $$$ }", &["4:1 N=U"]),
            ("extern \"C\" { $$$ }", &["10:1"]),
        ],
    );
    check(
        Go,
        GO,
        &[
            ("switch $X { $$$ }", &["10:2 X=a"]),
            ("switch { $$$ }", &["17:2"]),
            ("select { $$$ }", &["25:2"]),
            ("for $$$ { $$$ }", &["30:2", "33:2", "36:2"]),
            ("for { $$$ }", &["36:2"]),
            (
                "for $$$ { $$$B }",
                &["30:2 B=g()", "33:2 B=g(v)", "36:2 B="],
            ),
            ("switch $X := $Y.(type) { $$$ }", &["21:2 X=x Y=y"]),
        ],
    );
    check(
        TypeScript,
        TYPESCRIPT,
        &[
            ("switch ($X) { $$$ }", &["2:1 X=a"]),
            ("for ($$$) { $$$ }", &["3:1", "4:1", "5:1", "6:1"]),
            ("for (const $A of $B) { $$$ }", &["5:1 A=x B=y"]),
            ("catch ($E) { $$$ }", &["9:14 E=e"]),
            ("for (;;) { $$$ }", &["4:1"]),
            ("case $X: $$$", &["2:14 X=1"]),
        ],
    );
    check(
        JavaScript,
        TYPESCRIPT,
        &[
            ("switch ($X) { $$$ }", &["2:1 X=a"]),
            ("for ($$$) { $$$ }", &["3:1", "4:1", "5:1", "6:1"]),
            ("catch ($E) { $$$ }", &["9:14 E=e"]),
        ],
    );
}

/// Such patterns were refused: an identifier alone is no import and no statement, and an arm stands
/// nowhere alone.
#[test]
fn arms_of_switches_and_declarations_in_parentheses_are_found() {
    let arms: &[&str] = &["11:2 X=1 B=g()", "13:2 X=2, 3 B=", "18:2 X=a > 1 B=g()"];
    check(
        Go,
        GO,
        &[
            ("case $X: $$$B", arms),
            ("case $X:\n\t$$$B", arms),
            ("default: $$$", &["14:2", "28:2"]),
            ("case $V := <-$C: $$$", &["26:2 V=v C=c"]),
        ],
    );
    let lists = "package p\nimport (\n\t\"fmt\"\n\t_ \"x\"\n)\nimport \"os\"\nconst (\n\tA = 1\n\tB\n)\nvar (\n\ta int\n)\n\
                 type (\n\tT int\n)\n";
    let rows: &[(&str, &[&str])] = &[
        ("import ( $$$ )", &["2:1"]),
        ("import (\n\t$$$A\n)", &["2:1 A=\"fmt\"\n\t_ \"x\""]),
        ("const ( $$$ )", &["7:1"]),
        ("var ( $$$ )", &["11:1"]),
        ("type ( $$$ )", &["14:1"]),
    ];
    check(Go, lists, rows);
    let rows: &[(&str, &[&str])] = &[
        ("case $X: $$$B", &["10:18 X=1 B=g(); break;"]),
        ("default: $$$", &["10:38"]),
    ];
    check(Java, JAVA, rows);
    let rows: &[(&str, &[&str])] = &[
        ("case $X: $$$B", &["13:16 X=1 B=g(); break;"]),
        ("default: $$$", &["13:36"]),
    ];
    check(Language::C, C, rows);
    check(Cpp, CPP, &[("case $X: $$$", &["10:16 X=1"])]);
    check(
        JavaScript,
        TYPESCRIPT,
        &[("case $X: $$$", &["2:14 X=1"]), ("default: $$$", &["2:34"])],
    );
}

/// Of macros, the grammar knows the tokens alone: what is called there was not found, and an
/// argument was one token.
#[test]
fn arguments_of_macros_are_searched_as_those_of_functions() {
    check(
        Rust,
        MACROS,
        &[
            ("$X.b()", &["2:16 X=a", "5:18 X=a", "6:18 X=a", "8:34 X=a"]),
            (
                "f($A)",
                &["11:25 A=1", "11:37 A=2", "12:26 A=3", "12:34 A=4"],
            ),
            (
                "assert_eq!($A, $B)",
                &["2:5 A=a.b() B=c + 1", "10:5 A=vec![1] B=vec![2]"],
            ),
            ("vec![$X; $N]", &["5:13 X=a.b() N=3", "7:17 X=0 N=n()"]),
            ("vec![$A, $B]", &["6:13 A=a.b() B=3"]),
            (
                "let $V = vec![$$$A];",
                &["5:5 V=v A=a.b(); 3", "6:5 V=w A=a.b(), 3"],
            ),
            ("foo(vec![$$$])", &["7:13"]),
            ("format!($$$)", &["8:20"]),
            (
                "assert!($A)",
                &["4:5 A=x.y", "9:5 A=matches!(x, Some(_) | None)"],
            ),
            ("assert!($A, $B)", &[]),
            ("matches!($X, $P)", &["9:13 X=x P=Some(_) | None"]),
            (
                "$M!($A)",
                &[
                    "4:5 M=assert A=x.y",
                    "9:5 M=assert A=matches!(x, Some(_) | None)",
                    "11:13 M=json A={\"a\": f(1), \"b\": [f(2)]}",
                ],
            ),
            ("tokio::select! { $$$ }", &["12:5"]),
            ("$F(x, $$$)", &[]),
        ],
    );
}

#[test]
fn a_name_for_several_stands_for_the_same_code_everywhere() {
    let code = "fn m() { f(x) == g(y); f(x, 1) == g(x, 1); f() == g(); f() == g(x); f(x) == g(); f(x) == g(x, y); }";
    assert_eq!(
        found(Rust, "f($$$A) == g($$$A)", code),
        ["1:24 A=x, 1", "1:44 A="]
    );
    // What follows it does not have to match at once.
    let code = "fn m() { [1, 2] == [1, 2, 0]; [1, 2] == [1, 3, 0]; [1] == [0]; }";
    assert_eq!(found(Rust, "[$$$A] == [$$$A, 0]", code), ["1:10 A=1, 2"]);
}

#[test]
fn a_pattern_that_is_no_code_or_matches_everything_is_refused() {
    for (language, pattern) in [
        (Rust, ""),
        (Rust, "fn ("),
        (Rust, "$X"),
        (Python, "$$$A"),
        (Rust, "a(); b();"),
        (JavaScript, "if ("),
        (TypeScript, "if ($A)"),
        (Cpp, "while ($A)"),
    ] {
        let error = Pattern::parse(language, pattern, &|| false).unwrap_err();
        assert!(
            matches!(error, CodeError::Pattern { .. }),
            "{pattern}: {error}"
        );
    }
    let deep = format!("f({}1{})", "(".repeat(200), ")".repeat(200));
    let error = Pattern::parse(Rust, &deep, &|| false).unwrap_err();
    assert!(
        error.to_string().ends_with("it is nested too deeply"),
        "{error}"
    );
}

/// A file without a word of the pattern need not be parsed, nor one in which it is only the
/// beginning of another word.
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
        let pattern = Pattern::parse(Rust, pattern, &|| false).unwrap();
        assert_eq!(pattern.may_match(text), expected, "{pattern:?} {text}");
    }
}
