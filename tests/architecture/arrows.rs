//! Which crate may depend on which, and which external libraries each crate may use.
//!
//! A new dependency needs a line here: say what it is for and what it costs.

use toml::{Table, Value};

use super::{Violation, crates, read, require_exactly, require_none, root};
use crate::support::Outcome;

/// What a package may name under `[dependencies]`, `[build-dependencies]` and their target-specific
/// forms.
struct Wall {
    package: &'static str,
    ours: &'static [&'static str],
    others: &'static [&'static str],
}

/// External libraries that every crate except core may use besides its own.
const EVERYWHERE_BUT_CORE: [&str; 5] = ["thiserror", "serde", "serde_json", "tracing", "rustix"];

/// What tests and examples of every crate may use.
const IN_TESTS: [&str; 12] = [
    "async-trait",
    // The parser beside which `just bench plans` measures ours.
    "comrak",
    // Keeps expected texts up to date, in files and in sources.
    "expect-test",
    "libtest-mimic",
    "proc-macro2",
    "proptest",
    "rustix",
    // A server with a certificate of its own; every program of ours contains it.
    "rustls",
    // Checks what the program prints against its schemas; the tools have it in any case.
    "jsonschema",
    "syn",
    "tempfile",
    "toml",
];

const WALLS: [Wall; 21] = [
    Wall {
        package: "orchestrate",
        ours: &[
            "orchestrate-cache",
            "orchestrate-core",
            "orchestrate-coordinator",
            "orchestrate-files",
            "orchestrate-journal",
            "orchestrate-macros",
            "orchestrate-memory",
            "orchestrate-model",
            "orchestrate-plan",
            "orchestrate-settings",
            "orchestrate-tools",
        ],
        // The library: async-trait implements the engine's traits, futures-core is the trait of a
        // stream, schemars describes the arguments of a program's tools and answers.
        // toml_edit changes one value of the user's file and keeps every other byte. unicode-script
        // names the scripts of the letters in a call that is asked about; unicode-width counts a
        // text's columns. Both are tables.
        others: &[
            "async-trait",
            "clap",
            "clap_complete",
            "clap_mangen",
            "futures-core",
            "humantime",
            "miette",
            "schemars",
            "tokio",
            "toml_edit",
            "tracing-subscriber",
            "unicode-script",
            "unicode-width",
        ],
    },
    Wall {
        package: "orchestrate-macros",
        ours: &[],
        others: &[],
    },
    Wall {
        package: "orchestrate-coordinator",
        ours: &[
            "orchestrate-cache",
            "orchestrate-checks",
            "orchestrate-core",
            "orchestrate-files",
            "orchestrate-git",
            "orchestrate-journal",
            "orchestrate-landing",
            "orchestrate-model",
            "orchestrate-plan",
            "orchestrate-roles",
            "orchestrate-sandbox",
            "orchestrate-settings",
            "orchestrate-tools",
            "orchestrate-web",
        ],
        others: &["async-trait", "schemars", "tokio"],
    },
    Wall {
        package: "orchestrate-landing",
        ours: &[
            "orchestrate-checks",
            "orchestrate-core",
            "orchestrate-files",
            "orchestrate-git",
            "orchestrate-journal",
            "orchestrate-plan",
            "orchestrate-sandbox",
        ],
        others: &[],
    },
    Wall {
        package: "orchestrate-checks",
        ours: &[
            "orchestrate-core",
            "orchestrate-files",
            "orchestrate-git",
            "orchestrate-journal",
            "orchestrate-sandbox",
            "orchestrate-web",
        ],
        // A setup's proxy is served while the setup runs, and what is blocking runs on threads.
        others: &["tokio"],
    },
    Wall {
        package: "orchestrate-journal",
        ours: &["orchestrate-core", "orchestrate-files"],
        // Of tokio only the channels: a reply is awaited, the writer itself is a thread.
        others: &["rusqlite", "tokio"],
    },
    Wall {
        package: "orchestrate-git",
        ours: &[
            "orchestrate-core",
            "orchestrate-files",
            "orchestrate-sandbox",
        ],
        // memchr finds a path in hundreds of megabytes; sha2 names the contents of Git LFS; flate2
        // opens objects that an agent may have crafted, in safe code. Other libraries compile all
        // of them already.
        others: &["flate2", "git2", "memchr", "sha2", "tempfile"],
    },
    Wall {
        package: "orchestrate-model",
        ours: &["orchestrate-core"],
        others: &[
            "async-trait",
            "backon",
            "httpdate",
            "reqwest",
            "rustls",
            "tiktoken-rs",
            "tokio",
        ],
    },
    Wall {
        package: "orchestrate-web",
        ours: &["orchestrate-core"],
        // hyper speaks HTTP over connections that this crate has dialled, so that each goes to an
        // address that was decided about; reqwest compiles it and the TLS libraries already. flate2
        // and brotli-decompressor decompress into a bounded buffer; they compile in three seconds.
        others: &[
            "brotli-decompressor",
            "bytes",
            "flate2",
            "http-body-util",
            "httpdate",
            "hyper",
            "hyper-util",
            "rustls",
            "rustls-platform-verifier",
            "tokio",
            "tokio-rustls",
        ],
    },
    Wall {
        package: "orchestrate-sandbox",
        ours: &["orchestrate-files"],
        // anstream, which clap compiles already, takes colours out of outputs. libc provides the
        // numbers of system calls that rustix does not wrap; tokio is for the async API, behind a
        // feature.
        others: &[
            "anstream",
            "landlock",
            "libc",
            "seccompiler",
            "tempfile",
            "tokio",
        ],
    },
    Wall {
        package: "orchestrate-tools",
        ours: &[
            "orchestrate-code",
            "orchestrate-core",
            "orchestrate-html",
            "orchestrate-memory",
            "orchestrate-sandbox",
        ],
        others: &[
            "async-trait",
            // Reads the edition of a Rust package as cargo does, without a process; over toml and
            // serde, which others compile already, it takes 2 seconds.
            "cargo_toml",
            // Guesses a file's encoding; encoding_rs, which grep-searcher uses as well, reads it.
            "chardetng",
            "encoding_rs",
            "globset",
            "grep-regex",
            "grep-searcher",
            "humantime",
            "ignore",
            "jsonschema",
            // Keeps the results of analyses, of which each is computed once; over hashbrown, which
            // others compile already, it takes a second.
            "quick_cache",
            // Parses a pattern as grep-regex does, which uses it as well.
            "regex-syntax",
            // Parses the descriptions of tools, with the position of an error; no dependencies,
            // compiles in under a second.
            "roxmltree",
            // Tells a version and a range of versions from a path or an address; cargo_toml
            // compiles it already.
            "semver",
            "sha2",
            // Finds the lines that are most similar to a requested text.
            "strsim",
            "tokio",
            "tokio-util",
            // Reads the settings of package managers; other crates compile it already.
            "toml",
        ],
    },
    Wall {
        package: "orchestrate-html",
        ours: &["orchestrate-core", "orchestrate-memory"],
        // Splits HTML into tags and texts as browsers do, without dependencies; a tree is made of
        // what matters.
        others: &["html5gum"],
    },
    Wall {
        package: "orchestrate-code",
        ours: &["orchestrate-memory"],
        // The grammars are C sources of 65 MB, behind the feature `grammars`: 25 seconds of CPU
        // time to build. roxmltree, serde-saphyr and toml, which other crates compile already, read
        // manifests.
        others: &[
            // Decompresses profiles of pprof; orchestrate-web compiles it already.
            "flate2",
            // Matches the members of workspaces; orchestrate-tools compiles it already.
            "globset",
            // Reads JSON with comments, with the place of each key; no dependencies.
            "jsonc-parser",
            // Finds the groups of modules that import each other.
            "petgraph",
            // Decodes the records of such profiles; with its macro, it takes 5 seconds to build.
            "prost",
            "roxmltree",
            "serde-saphyr",
            "toml",
            "tree-sitter",
            "tree-sitter-bash",
            "tree-sitter-c",
            "tree-sitter-cpp",
            "tree-sitter-go",
            "tree-sitter-java",
            "tree-sitter-javascript",
            "tree-sitter-python",
            "tree-sitter-rust",
            "tree-sitter-typescript",
        ],
    },
    Wall {
        package: "orchestrate-settings",
        ours: &["orchestrate-core", "orchestrate-files", "orchestrate-plan"],
        // sha2 identifies a project's command by its content, to which the user consents.
        others: &["sha2", "toml"],
    },
    // What the authors of tools test with; no program of ours contains it. It checks schemas and
    // names contents as the tools do.
    Wall {
        package: "orchestrate-tool-testing",
        ours: &[
            "orchestrate-core",
            "orchestrate-sandbox",
            "orchestrate-tools",
        ],
        others: &["async-trait", "jsonschema", "sha2", "tempfile", "tokio"],
    },
    Wall {
        package: "orchestrate-roles",
        // Plans read the YAML of a front matter.
        ours: &["orchestrate-core", "orchestrate-plan"],
        others: &[],
    },
    Wall {
        package: "orchestrate-plan",
        ours: &["orchestrate-core"],
        // pulldown-cmark parses Markdown into events with their places, in a third of the time that
        // comrak takes for its tree, and serde-saphyr front matter. humantime parses durations in
        // all the units that people write. memchr finds line ends and markup, many bytes at a time.
        others: &[
            "humantime",
            "memchr",
            "pulldown-cmark",
            "schemars",
            "serde-saphyr",
            "unicode-normalization",
        ],
    },
    Wall {
        package: "orchestrate-cache",
        ours: &["orchestrate-core", "orchestrate-files"],
        // sha2 names entries and detects damaged ones; tempfile makes the files that are renamed.
        others: &["sha2", "tempfile"],
    },
    Wall {
        package: "orchestrate-files",
        ours: &[],
        others: &["tempfile"],
    },
    // libc has the functions of the system's allocator, which a library of C is given.
    Wall {
        package: "orchestrate-memory",
        ours: &[],
        others: &["libc"],
    },
    Wall {
        package: "orchestrate-core",
        ours: &[],
        // sha2 numbers the blocks of untrusted text; aho-corasick and base64 find secrets in every
        // form; rpds has the maps whose copies share what they have in common; schemars describes
        // for programs what they read as JSON, here and in the crates above;
        // unicode-normalization folds names before they are compared; strsim, on which clap
        // depends, compares them; url, on which reqwest depends, parses hosts and addresses as
        // browsers do.
        others: &[
            "aho-corasick",
            "base64",
            "rpds",
            "schemars",
            "serde",
            "serde_json",
            "sha2",
            "strsim",
            "thiserror",
            "unicode-normalization",
            "url",
        ],
    },
];

/// Checks the manifests of the workspace.
pub(super) fn workspace_holds() -> Outcome {
    let mut violations = violations(&read(&root().join("Cargo.toml"))?);
    for folder in crates()? {
        violations.extend(self::violations(&read(&folder.join("Cargo.toml"))?));
    }
    require_none(&violations)
}

/// Returns the dependencies that a manifest names but may not have.
fn violations(manifest: &str) -> Vec<Violation> {
    let manifest: Table = match manifest.parse() {
        Ok(table) => table,
        Err(error) => return vec![error.to_string()],
    };
    let package = manifest
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(Value::as_str);
    let package = package.unwrap_or_default();
    let Some(wall) = WALLS.iter().find(|wall| wall.package == package) else {
        return vec![format!(
            "{package} has no wall in tests/architecture/arrows.rs"
        )];
    };
    let targets = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(Table::values);
    let targets: Vec<&Table> = targets.filter_map(Value::as_table).collect();
    let named = |kind: &str| -> Vec<String> {
        let tables = std::iter::once(&manifest).chain(targets.iter().copied());
        let tables = tables
            .filter_map(|table| table.get(kind))
            .filter_map(Value::as_table);
        tables
            .flat_map(|table| table.iter().map(|(key, value)| real_name(key, value)))
            .collect()
    };
    let shipped = named("dependencies")
        .into_iter()
        .chain(named("build-dependencies"));
    let shipped = shipped.filter(|name| !wall.allows(name));
    let tested = named("dev-dependencies")
        .into_iter()
        .filter(|name| !wall.allows_in_tests(name));
    shipped
        .map(|name| format!("{package} may not depend on {name}"))
        .chain(tested.map(|name| format!("{package} may not depend on {name} in its tests")))
        .collect()
}

/// Returns the name of the package behind a dependency, which may be renamed.
fn real_name(key: &str, value: &Value) -> String {
    value
        .get("package")
        .and_then(Value::as_str)
        .unwrap_or(key)
        .to_owned()
}

impl Wall {
    fn allows(&self, name: &str) -> bool {
        let everywhere = self.package != "orchestrate-core" && EVERYWHERE_BUT_CORE.contains(&name);
        everywhere || self.ours.contains(&name) || self.others.contains(&name)
    }

    /// Reports whether tests may use a package. The root's tests may use every crate of ours, to
    /// start helpers and enable features; the other crates' tests may use what their crate does,
    /// and the crate itself with its test hooks.
    fn allows_in_tests(&self, name: &str) -> bool {
        let of_ours = name.starts_with("orchestrate") && self.package == "orchestrate";
        let is_kit = self.package == "orchestrate-tools" && name == "orchestrate-tool-testing";
        of_ours || is_kit || self.allows(name) || name == self.package || IN_TESTS.contains(&name)
    }
}

/// Shows the check examples that it must catch.
pub(super) fn examples_are_caught() -> Outcome {
    let upward = "[package]\nname = 'orchestrate-core'\n[dependencies]\norchestrate-journal.workspace = true\n";
    require_exactly(
        &violations(upward),
        &["orchestrate-core may not depend on orchestrate-journal"],
    )?;
    let sibling = "[package]\nname = 'orchestrate-tools'\n[dev-dependencies]\norchestrate-git.workspace = true\n";
    require_exactly(
        &violations(sibling),
        &["orchestrate-tools may not depend on orchestrate-git in its tests"],
    )?;
    let renamed = "[package]\nname = 'orchestrate-tools'\n[target.'cfg(unix)'.dependencies]\n\
                   quiet = { package = 'git2', version = '0.21' }\n";
    require_exactly(
        &violations(renamed),
        &["orchestrate-tools may not depend on git2"],
    )?;
    let runtime = "[package]\nname = 'orchestrate-git'\n[build-dependencies]\ntokio = '1'\n";
    require_exactly(
        &violations(runtime),
        &["orchestrate-git may not depend on tokio"],
    )?;
    let stranger = "[package]\nname = 'orchestrate-utils'\n";
    require_exactly(
        &violations(stranger),
        &["orchestrate-utils has no wall in tests/architecture/arrows.rs"],
    )
}
