//! Public projects, downloaded by the clients of their registries and pinned by version and hash.
//!
//! Each is set up by a script, as a user would type it. Conda and .NET are not among them, since
//! their packages are in registries of their own: what `init` and commands make of such projects is
//! tested on files of their form alone (`crates/settings/src/suggest`,
//! `crates/sandbox/src/environment/programs`).

use std::time::Duration;

use super::{Bug, Project};
use crate::support::{Need, Outcome, World};

/// The folder with the scripts, and the files that they copy.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/field/public");
/// What every script may use.
const FETCH: &str = include_str!("public/fetch.sh");

/// The file with the bugs of the npm workspace.
const MINIMIST: &str = "packages/minimist/index.js";

/// How long a project's set-up may take: on a loaded machine, downloads and first builds take
/// minutes.
const SETTING_UP: Duration = Duration::from_secs(900);

const PIP: Need = Need::new(
    "python3 with pip",
    "apt install python3-pip python3-venv",
    || Need::starts("python3", &["-c", "import ensurepip, pip, venv"]),
);
const CMAKE: Need = Need::new("cmake", "apt install cmake", || {
    Need::starts("ctest", &["--version"])
});
/// Maven with the plugins that test a project, of which Debian has a repository, and Debian's
/// sources.
const JAVA: Need = Need::new(
    "maven with Debian's repository of packages",
    "apt install maven libmaven-compiler-plugin-java libmaven-resources-plugin-java libsurefire-java junit4",
    || {
        let plugins = "/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin";
        Need::starts("mvn", &["--version"]) && std::path::Path::new(plugins).exists()
    },
);
const GO: Need = Need::new("go", "apt install golang-go", || {
    Need::starts("go", &["version"])
});
const LFS: Need = Need::new("git-lfs", "apt install git-lfs", || {
    Need::starts("git", &["lfs", "version"])
});

pub(super) fn projects() -> Vec<Project> {
    let changed = |file: &'static str, good, bad, symptom| Bug {
        file,
        good,
        bad,
        symptom,
    };
    vec![
        Project {
            name: "public_crates_in_a_workspace",
            needs: &[],
            lay_out: |world| set_up(world, include_str!("public/cargo.sh")),
            verify: "cargo test --workspace",
            init: Some(&["found cargo (Cargo.lock)"]),
            bugs: [
                changed(
                    "packages/heck/src/snake.rs",
                    "|f| write!(f, \"_\")",
                    "|f| write!(f, \"+\")",
                    "snake::tests",
                ),
                changed(
                    "packages/strsim/src/lib.rs",
                    "return Ok(count),",
                    "return Ok(count + 1),",
                    "hamming",
                ),
            ],
        },
        Project {
            name: "a_public_python_project_installed_as_editable",
            needs: &[PIP],
            lay_out: |world| set_up(world, include_str!("public/python.sh")),
            verify: ".venv/bin/python -m unittest discover -s tests -t .",
            init: Some(&["found pip (pyproject.toml)", ".venv/"]),
            bugs: [
                changed(
                    "idna/core.py",
                    "raise IDNAError(\"Label must be in",
                    "str(\"Label must be in",
                    "did not emit required error",
                ),
                changed(
                    "idna/core.py",
                    "if not valid_contextj(",
                    "if valid_contextj(",
                    "did not emit required error",
                ),
            ],
        },
        Project {
            name: "a_public_npm_workspace",
            needs: &[Need::NPM],
            lay_out: |world| set_up(world, include_str!("public/npm.sh")),
            verify: "node node_modules/tape/bin/tape packages/*/test/*.js",
            init: None,
            bugs: [
                changed(
                    MINIMIST,
                    "!flags.strings[key] && isNumber(val)",
                    "flags.strings[key] && isNumber(val)",
                    "test/num.js",
                ),
                changed(
                    MINIMIST,
                    "|| !isNumber(arg) ? arg",
                    "|| isNumber(arg) ? arg",
                    "subarg/test/arg.js",
                ),
            ],
        },
        Project {
            name: "a_public_file_server_of_npm",
            needs: &[Need::NPM],
            lay_out: |world| set_up(world, include_str!("public/send.sh")),
            verify: "npm test",
            init: Some(&["found npm (package-lock.json)", "npm ci"]),
            bugs: [
                changed(
                    "lib/containsDotFile.js",
                    "parts[i][0] === '.'",
                    "parts[i][0] === '_'",
                    "containsDotFile",
                ),
                changed(
                    "lib/isUtf8MimeType.js",
                    "'text/') === 0",
                    "'text/') === 1",
                    "isUtf8MimeType",
                ),
            ],
        },
        Project {
            name: "a_public_pnpm_workspace_with_a_pinned_version",
            needs: &[Need::NPM],
            lay_out: |world| set_up(world, include_str!("public/pnpm.sh")),
            verify: "pnpm test",
            init: Some(&[
                "found pnpm (pnpm-lock.yaml)",
                "pnpm install --frozen-lockfile",
            ]),
            bugs: [changed(
                "packages/through/index.js",
                "buffer.push(data)",
                "buffer.unshift(data)",
                "resumer/test/",
            ); 2],
        },
        Project {
            name: "a_public_c_library",
            needs: &[CMAKE],
            lay_out: |world| set_up(world, include_str!("public/c.sh")),
            verify: "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
            init: Some(&["found cmake (CMakeLists.txt)"]),
            bugs: [changed(
                "lib/xmlparse.c",
                "return XML_ERROR_UNDECLARING_PREFIX;",
                "return XML_ERROR_SYNTAX + 0;",
                "tests failed out of",
            ); 2],
        },
        Project {
            name: "a_public_go_module_with_a_vendored_dependency",
            needs: &[GO, PIP],
            lay_out: |world| set_up(world, include_str!("public/go.sh")),
            verify: "go test ./...",
            init: Some(&["found go (go.mod)"]),
            bugs: [
                changed(
                    "vendor/example.invalid/doubling/doubling.go",
                    "2 * number",
                    "3 * number",
                    "found 21",
                ),
                changed(
                    "internal/parser/lexer.go",
                    "emitToken(tokenBraceL)",
                    "emitToken(tokenBraceL + 1)",
                    "TestBraceL",
                ),
            ],
        },
        Project {
            name: "a_public_java_library_built_offline",
            needs: &[JAVA],
            lay_out: |world| set_up(world, include_str!("public/java.sh")),
            verify: "mvn -o -B test",
            init: Some(&["found maven (pom.xml)"]),
            bugs: [changed(
                "src/main/java/org/apache/commons/codec/net/PercentCodec.java",
                "byteCount += canEncode(b) ? 3: 1;",
                "byteCount += canEncode(b) ? 2: 1;",
                "PercentCodecTest",
            ); 2],
        },
        Project {
            name: "a_public_crate_with_a_submodule_and_files_of_git_lfs",
            needs: &[LFS],
            lay_out: |world| set_up(world, include_str!("public/submodule.sh")),
            verify: "cargo test",
            init: Some(&["found cargo (Cargo.lock)"]),
            // Only tests that read files of Git LFS find them.
            bugs: [
                changed(
                    "src/crc.rs",
                    "wrapping_add(data",
                    "wrapping_sub(data",
                    "test_extract_success",
                ),
                changed(
                    "src/gz/mod.rs",
                    "ErrorKind::InvalidInput,\n        \"corrupt",
                    "ErrorKind::InvalidData,\n        \"corrupt",
                    "test_extract_failure",
                ),
            ],
        },
    ]
}

/// Runs a script in the repository, after [`FETCH`].
fn set_up(world: &World, script: &str) -> Outcome {
    std::fs::create_dir_all(world.home.path().join("home"))?;
    let script = format!("{FETCH}\n{script}");
    let shell = world
        .home
        .command("sh", world.repository.path(), &["-c", &script]);
    shell
        .env("FILES", FILES)
        .with_toolchain()
        .patience(SETTING_UP)
        .run()?
        .exits(0)
        .map(drop)
}
