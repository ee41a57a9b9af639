use super::*;

/// Files with their texts.
type Files<'a> = &'a [(&'a str, &'a str)];

fn commands<R>(candidates: &[Candidate<R>]) -> Vec<String> {
    candidates
        .iter()
        .map(|candidate| candidate.argv.join(" "))
        .collect()
}

/// Returns the commands that check, type-check and format a project.
fn all(files: Files<'_>, named: &[&str]) -> [Vec<String>; 3] {
    let (project, named) = (Project::of(files).naming(named), words(named));
    [
        commands(&linters(&project, &named)),
        commands(&type_checkers(&project, &named)),
        commands(&formatters(&project, &named)),
    ]
}

const CLIPPY: &str = "cargo clippy --all-targets --message-format=json --quiet";
const CARGO_CHECK: &str = "cargo check --all-targets --message-format=json --quiet";
const MYPY: &str = "mypy --show-column-numbers --show-error-codes --no-pretty --no-error-summary";

#[test]
fn the_programs_are_those_of_the_language() {
    let table: &[(Files<'_>, [&[&str]; 3])] = &[
        (&[], [&[], &[], &[]]),
        (&[("Makefile", "")], [&[], &[], &[]]),
        (
            &[("Cargo.toml", "")],
            [&[CLIPPY], &[CARGO_CHECK], &["cargo fmt --all"]],
        ),
        (
            &[("go.mod", "")],
            [
                &["golangci-lint run", "go vet ./..."],
                &["go vet ./..."],
                &["gofmt -w ."],
            ],
        ),
        (
            &[("setup.py", "")],
            [
                &["ruff check --force-exclude ."],
                &[
                    "mypy --show-column-numbers --show-error-codes --no-pretty --no-error-summary .",
                    "pyright --outputjson .",
                ],
                &["ruff format --force-exclude .", "black --quiet ."],
            ],
        ),
        (
            &[
                ("pyproject.toml", "[tool.black]\n[tool.pyright]\n"),
                (".venv/bin/black", ""),
                ("venv/bin/ruff", ""),
            ],
            [
                &["venv/bin/ruff check --force-exclude ."],
                &[
                    "pyright --outputjson .",
                    "mypy --show-column-numbers --show-error-codes --no-pretty --no-error-summary .",
                ],
                &[".venv/bin/black --quiet ."],
            ],
        ),
        (
            &[
                ("package.json", "{}"),
                ("node_modules/.bin/eslint", ""),
                ("tsconfig.json", ""),
            ],
            [
                &["node_modules/.bin/eslint --format=json ."],
                &["tsc --noEmit --pretty false"],
                &["prettier --write --log-level=warn ."],
            ],
        ),
        (
            &[("package.json", "{}")],
            [
                &["eslint --format=json ."],
                &[],
                &["prettier --write --log-level=warn ."],
            ],
        ),
        // The first language that has such a program.
        (
            &[("CMakeLists.txt", ""), ("Cargo.toml", "")],
            [&[CLIPPY], &[CARGO_CHECK], &["cargo fmt --all"]],
        ),
    ];
    for (files, expected) in table {
        assert_eq!(all(files, &[]), expected.map(words), "{files:?}");
    }
}

#[test]
fn the_files_decide_the_language_and_are_handed_over() {
    let mixed = [
        (
            "Cargo.toml",
            "[package]\nname = \"m\"\nedition = \"2021\"\n",
        ),
        ("package.json", "{}"),
        ("setup.py", ""),
    ];
    let [lint, types, format] = all(&mixed, &["a/b.py", "-c.py"]);
    assert_eq!(lint, ["ruff check --force-exclude a/b.py ./-c.py"]);
    assert_eq!(types[0], format!("{MYPY} a/b.py ./-c.py"));
    assert_eq!(format[0], "ruff format --force-exclude a/b.py ./-c.py");
    let [lint, _, format] = all(&mixed, &["src/lib.rs"]);
    assert_eq!(
        (lint[0].as_str(), format[0].as_str()),
        (CLIPPY, "rustfmt --edition 2021")
    );
    let members = [
        (
            "Cargo.toml",
            "[workspace.package]\nedition = \"2024\"\n[package]\nname = \"r\"\n",
        ),
        (
            "a/Cargo.toml",
            "[package]\nname = \"a\"\nedition.workspace = true\n",
        ),
    ];
    let project = Project::of(&members).naming(&["a/x.rs", "y.rs"]);
    let [rustfmt] = formatters(&project, &words(&["a/x.rs", "y.rs"]))
        .try_into()
        .unwrap();
    let file = |path: &str, edition: &str| RustFile {
        path: path.to_owned(),
        edition: Ok(edition.to_owned()),
    };
    assert_eq!(rustfmt.before, [words(&["rustfmt", "--edition", "2015"])]);
    assert_eq!(rustfmt.argv, words(&["rustfmt", "--edition", "2024"]));
    assert_eq!(
        rustfmt.report,
        Formatting::EachText(vec![file("a/x.rs", "2024"), file("y.rs", "2015")])
    );
    let [lint, ..] = all(&mixed, &["web/a.ts"]);
    assert_eq!(lint, ["eslint --format=json web/a.ts"]);
    let [lint, ..] = all(&[], &["README"]);
    assert!(lint.is_empty(), "{lint:?}");
}
