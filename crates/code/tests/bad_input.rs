//! Bad input: no text, no end, no bottom.

#![cfg(feature = "grammars")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};

use orchestrate_code::{
    CodeError, CodeStructure, Complexity, FileAnalysis, Language, MAX_SOURCE_BYTES, Pattern, Source,
};

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

/// After so many questions whether to stop, a parser stops: some recover from errors in quadratic
/// time.
const MAX_ASKED: usize = 5_000;

/// Runs every analysis, unless parsing takes too long.
fn analyze(language: Language, text: &str) {
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) > MAX_ASKED;
    let source = match Source::parse(language, text, &stop) {
        Ok(source) => source,
        Err(error) => return assert_eq!((error, language), (CodeError::Stopped, Language::Shell)),
    };
    CodeStructure::analyze(&source, NEVER).unwrap();
    Complexity::analyze(&source, NEVER).unwrap();
    if let Ok(pattern) = Pattern::parse(language, "f($X)", NEVER) {
        pattern.find(&source, NEVER).unwrap();
    }
}

#[test]
fn deep_nesting_overflows_no_stack() {
    const DEPTH: usize = 3_000;
    for language in Language::ALL {
        for (open, close) in [
            ("(", ")"),
            ("{", "}"),
            ("[", "]"),
            ("if (a) {", "}"),
            ("f(", ")"),
            ("!", ""),
        ] {
            let text = format!("x = {}1{}", open.repeat(DEPTH), close.repeat(DEPTH));
            analyze(language, &text);
            // Without its end.
            analyze(language, &open.repeat(DEPTH));
        }
    }
    // The control: what nests less is found whole, each call within another.
    let source = format!("x = {}1{}", "f(".repeat(30), ")".repeat(30));
    let source = Source::parse(Language::JavaScript, &source, NEVER).unwrap();
    let pattern = Pattern::parse(Language::JavaScript, "f($X)", NEVER).unwrap();
    assert_eq!(pattern.find(&source, NEVER).unwrap().len(), 30);
}

#[test]
fn what_is_no_code_is_no_error() {
    let noise: String = (0..5_000_u32)
        .map(|number| char::from(b' ' + (number * number % 93) as u8))
        .collect();
    // As the bytes of a program are decoded that has no zero byte at its begin.
    let binary: String = (0..5_000_u32)
        .filter_map(|number| char::from_u32(1 + (number.wrapping_mul(2_654_435_761) >> 13) % 0xff))
        .collect();
    let minified = format!("x=1;{}", "function f(a){return a?f(a-1):0};".repeat(2_000));
    for language in Language::ALL {
        for text in [
            "",
            "\n",
            "\u{feff}",
            "\u{fffd}é漢\u{202e}",
            "'",
            "\"\"\"",
            "/*",
            &noise,
            &binary,
            &minified,
        ] {
            analyze(language, text);
        }
    }
}

#[test]
fn a_text_is_neither_binary_nor_too_large() {
    let large = " ".repeat(MAX_SOURCE_BYTES + 1);
    for (text, expected) in [
        ("fn f() {}\0", CodeError::Binary),
        (&large, CodeError::TooLarge(4 << 20)),
    ] {
        assert_eq!(
            Source::parse(Language::Rust, text, NEVER).err(),
            Some(expected)
        );
    }
}

#[test]
fn whatever_takes_long_can_be_stopped() {
    let text = "fn f() { if a { b(1, 2) } }\n".repeat(20_000);
    for language in Language::ALL {
        assert_eq!(
            Source::parse(language, &text, &|| true).err(),
            Some(CodeError::Stopped),
            "{language}"
        );
    }
    let asked = AtomicUsize::new(0);
    let counted = || {
        asked.fetch_add(1, Ordering::Relaxed);
        false
    };
    let source = Source::parse(Language::Rust, &text, &counted).unwrap();
    assert!(asked.load(Ordering::Relaxed) > 100);
    assert_eq!(
        CodeStructure::analyze(&source, &|| true).err(),
        Some(CodeError::Stopped)
    );
    assert_eq!(
        Complexity::analyze(&source, &|| true).err(),
        Some(CodeError::Stopped)
    );
    let pattern = Pattern::parse(Language::Rust, "b($$$A)", NEVER).unwrap();
    assert_eq!(
        pattern.find(&source, &|| true).err(),
        Some(CodeError::Stopped)
    );
    assert_eq!(pattern.find(&source, NEVER).unwrap().len(), 10_000);
}

/// A pattern that could match in many ways takes no exponential time.
#[test]
fn many_variables_take_no_exponential_time() {
    let arguments = "a, ".repeat(2_000);
    let text = format!("fn f() {{ g({arguments}b) }}");
    let source = Source::parse(Language::Rust, &text, NEVER).unwrap();
    let many: Vec<String> = (0..20).map(|number| format!("$$$A{number}, a")).collect();
    let pattern =
        Pattern::parse(Language::Rust, &format!("g({}, c)", many.join(", ")), NEVER).unwrap();
    assert_eq!(pattern.find(&source, NEVER).unwrap(), []);
}
