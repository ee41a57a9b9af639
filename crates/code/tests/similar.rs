//! Code that resembles other code.

#![cfg(feature = "grammars")]
#![expect(clippy::unwrap_used, reason = "tests")]

use orchestrate_code::{
    CodeError, CodeFingerprints, FileAnalysis, Language, SimilarCode, Snippet, Source,
};

fn found(language: Language, snippet: &str, text: &str) -> Vec<SimilarCode> {
    let snippet = Snippet::parse(snippet, &[language], &|| false).unwrap();
    let source = Source::parse(language, text, &|| false).unwrap();
    let found = snippet.find(&source, 60, &|| false).unwrap();
    let fingerprints = CodeFingerprints::analyze(&source, &|| false).unwrap();
    assert!(
        found.is_empty() || snippet.may_be_in(&fingerprints, 60),
        "it was found in what cannot have it"
    );
    found
}

const SNIPPET: &str = "fn total(items: &[Item]) -> u32 {\n    let mut sum = 0;\n    for item in items {\n        if item.price > 10 {\n            \
    sum += item.price * item.count;\n        }\n    }\n    log(\"total\", sum);\n    sum\n}\n";

#[test]
fn renamed_and_reformatted_code_is_the_same() {
    let renamed = "// Others.\nfn other() {}\n\npub fn gesamt(posten: &[Posten]) -> u64 { // docs\n    let mut wert = 1;\n    \
        for eines in posten {\n        if eines.preis > 99 { wert += eines.preis * eines.zahl; }\n    }\n    \
        schreibe(\"gesamt\", wert);\n    wert\n}\n\nfn last(a: u8) -> u8 {\n    a + 1\n}\n";
    let regions = found(Language::Rust, SNIPPET, renamed);
    assert_eq!(regions.len(), 1, "{regions:?}");
    assert!(
        regions[0].similarity >= 90 && regions[0].names == 0,
        "{regions:?}"
    );
    assert_eq!((regions[0].line, regions[0].end_line), (4, 11));
    let same = found(Language::Rust, SNIPPET, SNIPPET);
    assert_eq!(
        same,
        [SimilarCode {
            line: 1,
            end_line: 10,
            similarity: 100,
            names: 100
        }]
    );
}

#[test]
fn moved_blocks_are_found() {
    let first = "    for a in b {\n        if a.c > 1 { d(a.c, e); }\n    }\n";
    let second = "    while let Some(f) = g.next() {\n        match f { Ok(h) => i.push(h), Err(j) => return Err(j) }\n    }\n";
    let third = "    let k = l.iter().map(|m| m + 1).collect::<Vec<_>>();\n    assert!(k.len() > 3 && k[0] == 2);\n";
    let function = |blocks: [&str; 3]| format!("fn f() {{\n{}}}\n", blocks.concat());
    let regions = found(
        Language::Rust,
        &function([first, second, third]),
        &function([third, first, second]),
    );
    assert_eq!(regions.len(), 1, "{regions:?}");
    assert!(regions[0].similarity >= 70, "{regions:?}");
}

#[test]
fn other_code_is_not_similar() {
    let other = "struct A { b: u8 }\nimpl A {\n    fn c(&self) -> Option<u8> {\n        match self.b { 0 => None, d => Some(d) }\n    }\n}\n\
        fn e() -> Vec<String> { vec![] }\n";
    assert_eq!(found(Language::Rust, SNIPPET, other), []);
    let snippet = Snippet::parse(SNIPPET, &[Language::Rust], &|| false).unwrap();
    let fingerprints = |language| {
        let source = Source::parse(language, other, &|| false).unwrap();
        CodeFingerprints::analyze(&source, &|| false).unwrap()
    };
    assert!(!snippet.may_be_in(&fingerprints(Language::Rust), 60));
    assert!(
        !snippet.may_be_in(&fingerprints(Language::Go), 1),
        "it is code of another language"
    );
}

#[test]
fn every_copy_is_found() {
    let text = format!(
        "{SNIPPET}\nfn between() -> u8 {{ 1 }}\n\n{}",
        SNIPPET.replace("sum", "all")
    );
    let lines: Vec<(usize, usize)> = found(Language::Rust, SNIPPET, &text)
        .iter()
        .map(|region| (region.line, region.similarity))
        .collect();
    assert_eq!(lines, [(1, 100), (14, 100)]);
}

/// Snippets are often parts of functions, and of classes.
#[test]
fn parts_are_found_in_each_language() {
    let table = [
        (
            Language::Python,
            "    for a in b:\n        if a.c > 1:\n            d(a, 'x')\n            e += 2\n",
            "class A:\n    def f(self):\n        for x in y:\n            if x.z > 3:\n                w(x, 'y')\n                v += 4\n",
        ),
        (
            Language::JavaScript,
            "for (const a of b) { if (a.c > 1) { d(a, 'x'); e += 2; } }",
            "class A {\n  f() {\n    for (const x of y) {\n      if (x.z > 3) {\n        w(x, \"y\")\n        v += 4\n      }\n    }\n  }\n}\n",
        ),
        (
            Language::Go,
            "for _, a := range b {\n\tif a.c > 1 {\n\t\td(a, \"x\")\n\t\te += 2\n\t}\n}",
            "package p\nfunc f() {\n\tfor _, x := range y {\n\t\tif x.z > 3 {\n\t\t\tw(x, \"y\")\n\t\t\tv += 4\n\t\t}\n\t}\n}\n",
        ),
        (
            Language::Java,
            "int f(int a) { for (int b : c) { if (b > 1) { d(b, \"x\"); } } return 2; }",
            "class A {\n  int g(int x) { for (int y : z) { if (y > 3) { w(y, \"v\"); } } return 4; }\n}\n",
        ),
        (
            Language::C,
            "for (i = 0; i < n; i++) { if (a[i] > 1) { d(a[i], \"x\"); } }",
            "int f(int n) {\n  for (j = 3; j < m; j++) { if (b[j] > 4) { e(b[j], \"y\"); } }\n}\n",
        ),
        (
            Language::Shell,
            "for a in b c; do if [ \"$a\" = x ]; then echo \"$a\" | sort; fi; done",
            "f() {\n  for d in e g; do if [ \"$d\" = y ]; then cat \"$d\" | uniq; fi; done\n}\n",
        ),
    ];
    for (language, snippet, text) in table {
        let regions = found(language, snippet, text);
        assert!(
            regions
                .first()
                .is_some_and(|region| region.similarity >= 90),
            "{language}: {regions:?}"
        );
    }
}

#[test]
fn a_snippet_has_a_least_and_a_most_length() {
    for (code, expected) in [
        ("a + b", "it has 3 tokens"),
        (&"x".repeat(300_000), "it is longer than 256 KiB"),
    ] {
        let error = Snippet::parse(code, &[Language::Rust], &|| false).unwrap_err();
        assert!(
            matches!(&error, CodeError::Snippet(reason) if reason.starts_with(expected)),
            "{error}"
        );
    }
    let snippet = Snippet::parse(SNIPPET, &Language::ALL, &|| false).unwrap();
    let text = SNIPPET.repeat(100);
    let source = Source::parse(Language::Rust, &text, &|| false).unwrap();
    assert_eq!(
        snippet.find(&source, 60, &|| true).err(),
        Some(CodeError::Stopped)
    );
    assert_eq!(snippet.find(&source, 60, &|| false).unwrap().len(), 20);
}
