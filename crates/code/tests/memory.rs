//! Shows that the analysis of no text takes more than 64 MB of memory, by what the kernel has
//! counted for this process.

#![cfg(feature = "grammars")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::{Mutex, PoisonError};

use orchestrate_code::{
    CodeError, CodeFingerprints, CodeStructure, Complexity, FileAnalysis, FileImports, Language,
    MAX_MANIFEST_BYTES, MAX_SOURCE_BYTES, Manifest, Pattern, PerformanceAnalysis, Snippet, Source,
    Stop, SyntaxErrors, Tags, within_memory,
};
use orchestrate_memory::Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// The most that one analysis may take, in bytes.
const BOUND: u64 = 64 << 20;
const NEVER: Stop<'static> = &|| false;

/// Held by each test: what is measured is the process.
static ALONE: Mutex<()> = Mutex::new(());

type Analysis = fn(Language, &str, Stop<'_>) -> Result<(), CodeError>;

const ANALYSES: [(&str, Analysis); 8] = [
    ("structure", |language, text, stop| {
        CodeStructure::analyze(&Source::parse(language, text, stop)?, stop).map(drop)
    }),
    ("complexity", |language, text, stop| {
        Complexity::analyze(&Source::parse(language, text, stop)?, stop).map(drop)
    }),
    ("fingerprints", |language, text, stop| {
        CodeFingerprints::analyze(&Source::parse(language, text, stop)?, stop).map(drop)
    }),
    ("imports", |language, text, stop| {
        FileImports::analyze(&Source::parse(language, text, stop)?, stop).map(drop)
    }),
    ("tags", |language, text, stop| {
        Tags::of_source(&Source::parse(language, text, stop)?, stop).map(drop)
    }),
    ("errors", |language, text, stop| {
        SyntaxErrors::introduced(language, Some(""), text, stop).map(drop)
    }),
    ("pattern", |language, text, stop| {
        let pattern = Pattern::parse(language, "$A;$B", stop)
            .or_else(|_| Pattern::parse(language, "b(c)", stop))?;
        pattern
            .find(&Source::parse(language, text, stop)?, stop)
            .map(drop)
    }),
    ("similar", |language, text, stop| {
        let code = "a(b, c); d(e, f); g(h, i); j(k, l); m(n, o); p(q, r); s(t, u); v(w, x);";
        let snippet = Snippet::parse(code, &Language::ALL, stop)?;
        snippet
            .find(&Source::parse(language, text, stop)?, 60, stop)
            .map(drop)
    }),
];

/// How many times smaller the largest files are, except in the long form
/// (`ORCHESTRATE_HOSTILE=all`), and of how many analyses of a text one is done.
const SHORT_PART: usize = 8;
const SHORT_SHARE: usize = 4;

/// The size of a file whose tree often takes less than the bound, so that what is made of it counts
/// as well.
const MIDDLE_BYTES: usize = 256 << 10;

/// What files consist of that take much memory for their size, each in another way.
const CRAFTED: [(Language, &str); 14] = [
    (Language::Python, "x\n"),
    (Language::Python, "def f():pass\n"),
    (Language::Python, "import a\n"),
    (Language::Cpp, "a<b<c>>(d);"),
    (Language::C, "a*b;"),
    (Language::C, "#if A\n{\n#else\n{\n#endif\n"),
    (Language::TypeScript, "a<b>(c);"),
    (Language::JavaScript, "(a,b)=>c;"),
    (Language::Tsx, "<a b={c}/>;"),
    (Language::Rust, "a!{b c};"),
    (Language::Rust, "use a::{b,c};"),
    (Language::Go, "var a=b(c);"),
    (Language::Java, "class A{B<C>d;}"),
    (Language::Shell, "a <<B\n"),
];
/// What is no code of any language, and therefore read in several ways at once.
const STRANGE: &str = "}<a ( '\n\" =[ if { b > ; ";

/// Returns how many times smaller the largest files are.
#[expect(
    clippy::disallowed_methods,
    reason = "a test chooses its form by the environment"
)]
fn part() -> usize {
    let is_long = std::env::var("ORCHESTRATE_HOSTILE").is_ok_and(|wanted| wanted == "all");
    if is_long { 1 } else { SHORT_PART }
}

#[test]
fn no_text_takes_more_than_the_bound() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut peaks = Peaks::default();
    let part = part();
    for (row, (language, piece)) in CRAFTED.into_iter().enumerate() {
        let (_, structure) = ANALYSES[0];
        let large = piece.repeat(MAX_SOURCE_BYTES / part / piece.len());
        peaks.measure(&format!("{language}: {piece:?}, large"), |stop| {
            structure(language, &large, stop)
        });
        let middle = &large[..MIDDLE_BYTES / part.min(2) / piece.len() * piece.len()];
        for (column, (name, analyze)) in ANALYSES.into_iter().enumerate() {
            // The short form does one analysis in four of a text, and each of them of another text.
            if part > 1 && (row + column) % SHORT_SHARE != 0 {
                continue;
            }
            peaks.measure(&format!("{language}: {piece:?}, {name}"), |stop| {
                analyze(language, middle, stop)
            });
        }
    }
    for language in Language::ALL {
        let (_, structure) = ANALYSES[0];
        let text = STRANGE.repeat((1 << 20) / part / STRANGE.len());
        peaks.measure(&format!("{language}: {STRANGE:?}"), |stop| {
            structure(language, &text, stop)
        });
    }
    for (name, profile) in crafted_profiles() {
        peaks.measure(name, |stop| {
            PerformanceAnalysis::read(&profile, stop).map(drop)
        });
    }
    for (path, begin, piece) in MANIFESTS {
        let text = format!(
            "{begin}{}",
            piece.repeat((MAX_MANIFEST_BYTES / part - begin.len()) / piece.len())
        );
        peaks.measure(&format!("{path}: {piece:?}"), |_| {
            Manifest::read(path, &text)
                .map(drop)
                .map_err(|error| CodeError::Snippet(error.to_string()))
        });
    }
    assert!(peaks.too_large.is_empty(), "{:#?}", peaks.too_large);
    let remaining = resident("VmRSS");
    assert!(remaining < BOUND * 2, "{} MB remain", remaining >> 20);
}

/// Manifests that take much memory for their size: the path, the begin, and what is repeated.
const MANIFESTS: [(&str, &str, &str); 14] = [
    ("package.json", "{\"a\":[", "0,"),
    ("package.json", "{\"a\":[", "{},"),
    (
        "package.json",
        "{\"dependencies\":{\"a\":\"\"",
        ",\"b\":\"\"",
    ),
    ("tsconfig.json", "{\"a\":[", "[],"),
    ("Cargo.toml", "a=[", "0,"),
    ("Cargo.toml", "a=[", "{},"),
    ("Cargo.toml", "", "[[a]]\n"),
    ("pyproject.toml", "[project]\ndependencies=[", "'a',"),
    ("pom.xml", "<project><dependencies>", "<a/>"),
    ("pom.xml", "<project><dependencies>", "<a b='c'>d</a>"),
    ("requirements.txt", "", "a\n"),
    ("go.mod", "module a\nrequire (\n", "a v1\n"),
    ("pnpm-workspace.yaml", "packages:\n", "- a\n"),
    ("build.gradle", "dependencies {\n", "api 'a:b:c'\n"),
];

/// Returns profiles that take much memory for their size, each of the largest size that the limits
/// of files allow.
fn crafted_profiles() -> Vec<(&'static str, Vec<u8>)> {
    const BYTES: usize = 3_000_000;
    let numbered = |line: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for number in 0.. {
            text.push_str(&line(number));
            if text.len() > BYTES {
                break;
            }
        }
        text.into_bytes()
    };
    let repeated =
        |begin: &[u8], piece: &[u8]| [begin, &piece.repeat(BYTES / piece.len())].concat();
    vec![
        ("functions", numbered(&|number| format!("{number:x} 1\n"))),
        (
            "paths",
            numbered(&|number| format!("{};{};{} 1\n", number % 97, number % 89, number)),
        ),
        ("no UTF-8", repeated(b"a 1\n", b"\xff")),
        (
            "samples of criterion",
            repeated(b"{\"sampling_mode\":1,\"iters\":[0", b",0"),
        ),
        (
            "strings of pprof",
            repeated(b"\x0a\x04\x08\x01\x10\x02", b"\x32\0"),
        ),
        ("locations of pprof", numbered_locations(BYTES)),
    ]
}

fn numbered_locations(bytes: usize) -> Vec<u8> {
    let mut profile = b"\x0a\x04\x08\x01\x10\x02".to_vec();
    for number in 0_u32.. {
        let digits = [
            number & 127 | 128,
            number >> 7 & 127 | 128,
            number >> 14 & 127,
        ];
        profile.extend_from_slice(b"\x22\x04\x08");
        profile.extend(digits.map(|digit| u8::try_from(digit).unwrap()));
        if profile.len() > bytes {
            break;
        }
    }
    profile
}

/// What the kernel has counted.
#[derive(Default)]
struct Peaks {
    too_large: Vec<String>,
}

impl Peaks {
    /// Notes a work that takes more than the bound.
    fn measure(&mut self, name: &str, work: impl FnOnce(Stop<'_>) -> Result<(), CodeError>) {
        let before = restart_peak();
        let result = within_memory(NEVER, work);
        let growth = resident("VmHWM").saturating_sub(before);
        let said = result.map_or_else(|error| error.to_string(), |()| "done".to_owned());
        if growth > BOUND {
            self.too_large
                .push(format!("{name}: {} MB ({said:.120})", growth >> 20));
        }
    }
}

#[test]
fn what_a_bound_ends_says_so() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let statements = "x\n".repeat(MAX_SOURCE_BYTES / 2);
    let parsed = |stop: Stop<'_>| Source::parse(Language::Python, &statements, stop).map(drop);
    let error = within_memory(NEVER, parsed).unwrap_err();
    assert_eq!(
        error.to_string(),
        "too much to analyse within 56 MB of memory"
    );
}

/// A file as people write them, of 1.25 MB; what resembles it is found in one of half of that. The
/// short form takes a part of both.
#[test]
fn an_ordinary_file_is_analysed_whatever_its_size() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let piece = include_str!("../src/complexity/measure.rs");
    let part = part().min(SHORT_SHARE);
    let text = piece.repeat((5 << 18) / part / piece.len());
    let half = piece.repeat((5 << 17) / part / piece.len());
    for (name, analyze) in ANALYSES {
        let text = match name {
            // It is no Rust.
            "pattern" => continue,
            "fingerprints" | "similar" => &half,
            _ => &text,
        };
        let result = within_memory(NEVER, |stop| analyze(Language::Rust, text, stop));
        assert_eq!(result, Ok(()), "{name}");
    }
}

/// Has the kernel count the peak anew; returns the memory that the process holds.
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel is asked through files"
)]
fn restart_peak() -> u64 {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    resident("VmRSS")
}

/// Returns a figure of this process, in bytes.
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel is asked through files"
)]
fn resident(figure: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with(figure))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes << 10
}
