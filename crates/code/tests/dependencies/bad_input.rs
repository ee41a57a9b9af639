//! Bad input: manifests that are not valid or have no bottom, imports without end.

#[cfg(feature = "grammars")]
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use orchestrate_code::{MAX_MANIFEST_BYTES, Manifest};

#[cfg(feature = "grammars")]
use crate::project::{NEVER, graph, graph_of};

#[test]
fn an_invalid_manifest_is_named_with_its_line() {
    let table = [
        ("Cargo.toml", "[package]\nname = \"a\"\nversion = \n", 3),
        (
            "pyproject.toml",
            "[project]\nname = \"a\"\nname = \"b\"\n",
            3,
        ),
        (
            "package.json",
            "{\n  \"name\": \"a\",\n  \"dependencies\": {\n    \"b\" 1\n  }\n}\n",
            4,
        ),
        ("package.json", "[]", 1),
        ("package.json", "", 1),
        (
            "tsconfig.json",
            "{\n// a comment\n/* and\nanother */ nonsense\n}",
            4,
        ),
        ("pom.xml", "<project>\n  <name>\n</project>\n", 3),
        ("go.mod", "module a\n\nrequire (\n  b v1\n", 3),
        ("go.mod", "go 1.22\n", 1),
        ("go.mod", "module a\nrequire b\n", 2),
        ("go.work", "go 1.22\nuse (\n./a\n", 2),
        (
            "pnpm-workspace.yaml",
            "packages:\n  - a\ncatalog: {a: 1\n",
            3,
        ),
    ];
    for (path, text, line) in table {
        let error = Manifest::read(path, text).unwrap_err();
        assert_eq!(error.line, line, "{path} {text}: {error}");
        assert!(!error.message.is_empty());
    }
    let large = Manifest::read("package.json", &" ".repeat(MAX_MANIFEST_BYTES + 1)).unwrap_err();
    assert_eq!(large.to_string(), "line 1: larger than 512 kB");
    // The others are read.
    let graph = graph(
        "=== a/Cargo.toml\n[\n=== b/Cargo.toml\n[package]\nname = \"b\"\nversion = \"1\"\n",
        NEVER,
    );
    let graph = graph.unwrap();
    assert_eq!(
        (
            graph.invalid[0].path.as_str(),
            graph.packages[0].manifest.as_str()
        ),
        ("a/Cargo.toml", "b/Cargo.toml")
    );
}

#[test]
fn deep_manifests_overflow_no_stack() {
    const DEPTH: usize = 100_000;
    let nested = |open: &str, close: &str| format!("{}{}", open.repeat(DEPTH), close.repeat(DEPTH));
    for (path, text) in [
        ("package.json", format!("{{\"a\": {}}}", nested("[", "]"))),
        ("package.json", nested("{\"a\":", "}")),
        ("tsconfig.json", format!("{{\"a\": {}", "[".repeat(DEPTH))),
        ("Cargo.toml", format!("a = {}", nested("[", "]"))),
        ("pyproject.toml", format!("[{}a]\n", "a.".repeat(DEPTH))),
        ("pom.xml", nested("<a>", "</a>")),
        ("pom.xml", "<a>".repeat(DEPTH)),
        ("go.mod", "(".repeat(DEPTH)),
        ("build.gradle", "api('".repeat(DEPTH)),
        ("CMakeLists.txt", "(".repeat(DEPTH)),
        ("CMakeLists.txt", "find_package(".repeat(DEPTH)),
        (
            "CMakeLists.txt",
            format!("{}find_package(a)", "project(b) ".repeat(DEPTH)),
        ),
        ("requirements.txt", "[".repeat(DEPTH)),
        ("setup.cfg", "[".repeat(DEPTH)),
        ("go.work", "use (\n".repeat(DEPTH)),
        (
            "pnpm-workspace.yaml",
            (0..2_000)
                .map(|depth| format!("{}a:\n", " ".repeat(depth)))
                .collect(),
        ),
        (
            "pnpm-workspace.yaml",
            format!("catalog: {}", nested("[", "]")),
        ),
        ("pnpm-workspace.yaml", "- ".repeat(DEPTH)),
        (
            "pyproject.toml",
            format!("[libraries]\na = {}", nested("{b=", "}")),
        ),
    ] {
        // Whether it is read or refused, the process goes on.
        let _ = Manifest::read(path, &text).map(|manifest| manifest.dependencies.len());
    }
}

/// The place of each is found without another look at all that is before it, and each is compared
/// with no other one.
#[test]
fn many_declarations_take_little_time() {
    const COUNT: usize = 6_000;
    let all = |one: &dyn Fn(usize) -> String| (0..COUNT).map(one).collect::<String>();
    let maven = |number: usize| {
        format!("<dependency><groupId>g</groupId><artifactId>a{number}</artifactId></dependency>")
    };
    let pom = format!(
        "<project>\n<dependencies>{}</dependencies>\n</project>",
        all(&maven)
    );
    let cmake = format!(
        "project(p)\n{}",
        all(&|number| format!("find_package(A{number} 1 REQUIRED) "))
    );
    let wanted = all(&|number| format!("\"a{number}\","));
    let sources = all(&|number| format!("a{number}.path = \"a\"\n"));
    let python = format!("[project]\ndependencies = [{wanted}]\n[tool.uv.sources]\n{sources}");
    for (path, text) in [
        ("pom.xml", pom),
        ("CMakeLists.txt", cmake),
        ("pyproject.toml", python),
    ] {
        let found = Manifest::read(path, &text).unwrap().dependencies;
        assert_eq!(found.len(), COUNT, "{path}");
        assert!(found.iter().all(|one| one.line == 2), "{path}");
    }
}

/// Wherever in its line a command stands; nor is the word after a variable a name.
#[test]
fn comments_and_variables_of_cmake_declare_nothing() {
    let text = "  # project(a) find_package(B)\nproject (c\n  CXX) find_package( D 2.1\n  REQUIRED )\n\
        Find_Package\n(E)\nfind_package(${F} 3)\nproject(${G} VERSION 1)\n";
    let manifest = Manifest::read("CMakeLists.txt", text).unwrap();
    assert_eq!(manifest.name.as_deref(), Some("c"));
    let found: Vec<(&str, usize, Option<&str>, bool)> = manifest
        .dependencies
        .iter()
        .map(|one| {
            (
                one.name.as_str(),
                one.line,
                one.requirement.as_deref(),
                one.optional,
            )
        })
        .collect();
    assert_eq!(found, [("D", 3, Some("2.1"), false), ("E", 6, None, true)]);
}

#[test]
fn what_leads_to_itself_ends() {
    let text = "=== tsconfig.json\n{\"extends\": \"./tsconfig.json\"}\n\
        === a/tsconfig.json\n{\"extends\": [\"../b/tsconfig\"]}\n\
        === b/tsconfig.json\n{\"extends\": \"../a/tsconfig.json\", \"compilerOptions\": {\"baseUrl\": \"../..\"}}\n\
        === a/x.ts\nimport '../../../../outside';\nimport '~/x';\n\
        === Cargo.toml\n[package]\nname = \"a\"\nversion = \"1\"\n[dependencies]\na = { path = \".\" }\n\
        === src/lib.rs\n#[path = \"lib.rs\"]\nmod again;\nuse self::again::again;\npub use self::x as y;\npub use self::y as x;\n\
        pub use crate::*;\nuse x::z;\nuse super::super::super::up;\n\
        === go.mod\nmodule example.org/a\nreplace example.org/b => ../../outside\n\
        === main.go\npackage main\nimport \"example.org/a\"\nimport \"example.org/b\"\n\
        === p/__init__.py\nfrom . import p\nfrom .... import up\nimport p\n\
        === requirements.txt\n-r requirements.txt\n-r ../../outside.txt\n";
    let graph = graph(text, NEVER).unwrap();
    assert_eq!(graph.cycles, []);
    assert_eq!(graph.invalid, []);
}

/// Names of any kind lead nowhere, but to no panic.
#[test]
fn noise_is_no_error() {
    let noise: String = (0..3_000_u32)
        .map(|number| char::from(b' ' + (number * number % 93) as u8))
        .collect();
    for text in [
        "",
        "\n",
        "\u{feff}",
        "é漢\u{202e}",
        "'",
        "=",
        "::",
        "@",
        "-r",
        "-e .",
        "#",
        "${",
        &noise,
    ] {
        for path in [
            "Cargo.toml",
            "package.json",
            "tsconfig.json",
            "pyproject.toml",
            "setup.cfg",
            "requirements.txt",
            "go.mod",
            "pom.xml",
            "build.gradle",
            "CMakeLists.txt",
            "go.work",
            "pnpm-workspace.yaml",
        ] {
            let _ = Manifest::read(path, text).map(|manifest| manifest.dependencies.len());
        }
        let imports = format!(
            "=== a.py\nimport {text}\nfrom {text} import {text}\n=== a.js\nimport '{text}'; require('{text}'); import '#{text}'\n\
             === a.rs\nuse {text};\nmod {text};\nx!({text}::{text})\n=== a.c\n#include \"{text}\"\n#include <{text}>\n\
             === a.go\npackage a\nimport \"{text}\"\n=== A.java\npackage {text};\nimport {text}.*;\nimport static {text};\n\
             === package.json\n{{\"name\": \"a\", \"imports\": {{\"#*\": \"./*\"}}}}\n"
        );
        graph(&imports, NEVER).unwrap();
    }
}

/// Nothing grows by referring to itself: what aliases repeat is refused.
#[test]
fn what_refers_to_more_than_it_has_stays_small() {
    let alias = |level: usize| {
        format!(
            "x{level}: &x{level} [{}]\n",
            vec![format!("*x{}", level - 1); 9].join(", ")
        )
    };
    let levels: String = (1..9).map(alias).collect();
    let bomb = format!("x0: &x0 a\n{levels}packages: *x8\n");
    assert!(Manifest::read("pnpm-workspace.yaml", &bomb).is_err());
    let large = format!(
        "x: &x {}\npackages: [{}]\n",
        "a".repeat(100_000),
        "*x, ".repeat(20)
    );
    assert!(Manifest::read("pnpm-workspace.yaml", &large).is_err());
    let plain = "x0: &x0 a\npackages: [*x0, 'b']\n";
    assert!(Manifest::read("pnpm-workspace.yaml", plain).is_ok());
}

/// A chain of modules, and one that ends where it begins.
#[cfg(feature = "grammars")]
#[test]
fn long_chains_of_imports_take_no_stack_and_little_time() {
    const LENGTH: usize = 10_000;
    for (ends, expected) in [(false, 0), (true, 1)] {
        let next = |number: usize| {
            if number + 1 < LENGTH || ends {
                (number + 1) % LENGTH
            } else {
                number
            }
        };
        let files: Vec<(String, String)> = (0..LENGTH)
            .map(|number| {
                (
                    format!("m{number}.py"),
                    format!("import m{}\n", next(number)),
                )
            })
            .collect();
        let graph = graph_of(&files, NEVER).unwrap();
        assert_eq!(
            (graph.modules.len(), graph.cycles.len()),
            (LENGTH, expected)
        );
    }
}

/// Each name that is not found could be in any of them, each of which could import it from any
/// other.
#[cfg(feature = "grammars")]
#[test]
fn names_among_many_globs_take_little_time() {
    const GLOBS: usize = 12_000;
    let same = "use crate::*;\n".repeat(GLOBS);
    let others: String = (0..GLOBS)
        .map(|number| format!("use crate::m{number}::*;\n"))
        .collect();
    for globs in [same, others] {
        let text = format!(
            "=== Cargo.toml\n[package]\nname = \"a\"\nversion = \"1\"\n=== src/lib.rs\n{globs}\
             fn f() {{ crate::one::a(); crate::two::b(); self::three::c(); }}\n"
        );
        // It is asked at each step: a few for each of them, not for each two of them.
        let steps = AtomicUsize::new(0);
        let graph = graph(&text, &|| steps.fetch_add(1, Relaxed) > 10 * GLOBS).unwrap();
        assert_eq!(
            (graph.modules.len(), graph.modules[0].imports.len()),
            (1, 0)
        );
    }
}

/// No part of a long path or call is looked at once for each other part.
#[cfg(feature = "grammars")]
#[test]
fn long_paths_and_calls_take_little_time() {
    const LENGTH: usize = 50_000;
    let text = format!(
        "=== a.js\nx{};\n=== a.py\nx{}\n=== src/lib.rs\nfn f() {{ x!(a{}) }}\n\
         === Cargo.toml\n[package]\nname = \"a\"\nversion = \"1\"\n",
        ".b()".repeat(LENGTH),
        ".b()".repeat(LENGTH),
        "::a".repeat(LENGTH),
    );
    let graph = graph(&text, NEVER).unwrap();
    let imports = graph.modules.iter().map(|module| module.imports.len());
    assert_eq!((graph.modules.len(), imports.sum::<usize>()), (3, 0));
}

#[cfg(feature = "grammars")]
#[test]
fn minified_code_is_read() {
    let text = format!(
        "=== a.js\n{}require('b');import('./c')\n=== c.js\n\n",
        "function f(a){return a?f(a-1):0};".repeat(20_000)
    );
    let graph = graph(&text, NEVER).unwrap();
    assert_eq!(graph.modules[0].imports.len(), 2);
}

#[cfg(feature = "grammars")]
#[test]
fn whatever_takes_long_can_be_stopped() {
    let files = vec![("a.py".to_owned(), "import b\n".repeat(10_000))];
    assert_eq!(
        graph_of(&files, &|| true).unwrap_err(),
        orchestrate_code::CodeError::Stopped
    );
    // So can what one file alone takes.
    let code = format!(
        "{}fn f() {{ crate::one::a(); }}\n",
        "use crate::*;\n".repeat(1_000)
    );
    let manifest = "[package]\nname = \"a\"\nversion = \"1\"\n".to_owned();
    let files = vec![
        ("Cargo.toml".to_owned(), manifest),
        ("src/lib.rs".to_owned(), code),
    ];
    let asked = AtomicUsize::new(0);
    let count = |most: usize| {
        asked.store(0, Relaxed);
        graph_of(&files, &|| asked.fetch_add(1, Relaxed) >= most)
    };
    count(usize::MAX).unwrap();
    let all = asked.load(Relaxed);
    assert!(all > 1_000, "asked {all} times");
    for most in [all / 4, all / 2, all - 1] {
        assert_eq!(
            count(most).unwrap_err(),
            orchestrate_code::CodeError::Stopped,
            "{most} of {all}"
        );
    }
}

/// Nor is each of many dependencies compared with all others, and joining them can be stopped.
#[cfg(feature = "grammars")]
#[test]
fn many_dependencies_take_little_time_and_can_be_stopped() {
    const COUNT: usize = 6_000;
    let dependencies: Vec<String> = (0..COUNT)
        .map(|number| format!("\"d{number}\": \"1\""))
        .collect();
    let manifest = format!(
        "{{\"name\": \"a\", \"dependencies\": {{{}}}}}",
        dependencies.join(", ")
    );
    let files = vec![
        ("package.json".to_owned(), manifest),
        ("a.js".to_owned(), "import 'd7';\n".to_owned()),
    ];
    let asked = AtomicUsize::new(0);
    let count = |most: usize| {
        asked.store(0, Relaxed);
        graph_of(&files, &|| asked.fetch_add(1, Relaxed) >= most)
    };
    assert_eq!(count(usize::MAX).unwrap().unused.len(), COUNT - 1);
    let all = asked.load(Relaxed);
    assert!(all > 2 * COUNT, "asked {all} times");
    for most in [all / 4, all / 2, all - COUNT / 2] {
        assert_eq!(
            count(most).unwrap_err(),
            orchestrate_code::CodeError::Stopped,
            "{most} of {all}"
        );
    }
}

/// Without grammars, manifests are read all the same.
#[cfg(not(feature = "grammars"))]
#[test]
fn manifests_need_no_grammar() {
    let text = include_str!("samples/node.project");
    let graph = graph(text, NEVER).unwrap();
    assert_eq!(
        (
            graph.packages.len(),
            graph.modules.len(),
            graph.unused.len()
        ),
        (3, 0, 0)
    );
}
