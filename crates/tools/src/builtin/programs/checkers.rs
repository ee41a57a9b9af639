//! Which programs check and format a project's code, decided from its files and those that a call
//! names.

use std::collections::BTreeSet;

use super::candidate::{Candidate, words};
use super::products::{self, Products};
use super::project::{Language, Project, RustFile};

/// The format of a report of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Findings {
    /// JSON lines of cargo.
    Cargo,
    /// JSON of ruff.
    Ruff,
    /// JSON of eslint.
    Eslint,
    /// JSON of pyright.
    Pyright,
    /// Lines that begin with a place.
    Lines,
    /// Such lines of mypy, which tells apart from them what is wrong with its configuration.
    Mypy,
}

pub(super) type Checker = Candidate<Findings>;
pub(super) type Formatter = Candidate<Formatting>;

/// How a formatter is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Formatting {
    /// By its command, for all files at once.
    Command,
    /// For each of these files with its edition, or why that is not known. rustfmt would format the
    /// modules of a file that it is given as well, so it is given the text.
    EachText(Vec<RustFile>),
}

const RUSTUP: &str = "cargo (from rustup.rs), with `rustup component add clippy rustfmt`";
const GO: &str = "go (from go.dev)";
const GOLANGCI: &str = "golangci-lint (from golangci-lint.run)";
const RUFF: &str = "ruff (`pip install ruff`)";
const BLACK: &str = "black (`pip install black`)";
const MYPY: &str = "mypy (`pip install mypy`)";
const PYRIGHT: &str = "pyright (`pip install pyright` or `npm install pyright`)";
const ESLINT: &str = "eslint (`npm install --save-dev eslint`)";
const TYPESCRIPT: &str = "typescript (`npm install --save-dev typescript`)";
const PRETTIER: &str = "prettier (`npm install --save-dev prettier`)";
const ENDINGS: &[(Language, &[&str])] = &[
    (Language::Rust, &["rs"]),
    (Language::Go, &["go"]),
    (Language::Python, &["py", "pyi"]),
    (
        Language::JavaScript,
        &[
            "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "json", "css", "html",
            "md",
        ],
    ),
];

/// Returns the linters for these files, or the project; preferred ones first, none if there is no
/// linter for them.
pub(super) fn linters(project: &Project, files: &[String]) -> Vec<Checker> {
    by_language(project, files, |language| match language {
        Language::Rust => {
            vec![cargo("clippy", "clippy").versioned(&["cargo", "clippy", "--version"])]
        }
        Language::Go => {
            let golangci = words(&["golangci-lint", "run"]);
            let golangci = Candidate::new("golangci-lint", golangci, GOLANGCI, Findings::Lines);
            vec![golangci, vet()]
        }
        Language::Python => {
            let argv = with(project, "ruff", &["check", "--force-exclude"], files);
            let ruff = Candidate::new("ruff", argv, RUFF, Findings::Ruff);
            vec![ruff.setting(&[("RUFF_OUTPUT_FORMAT", "json")])]
        }
        Language::JavaScript => {
            let argv = with(project, "eslint", &["--format=json"], files);
            vec![Candidate::new("eslint", argv, ESLINT, Findings::Eslint)]
        }
        _ => Vec::new(),
    })
}

/// Returns the type checkers for these files, or the project.
pub(super) fn type_checkers(project: &Project, files: &[String]) -> Vec<Checker> {
    by_language(project, files, |language| match language {
        Language::Rust => vec![cargo("cargo check", "check")],
        Language::Go => vec![vet()],
        Language::Python => {
            let options = [
                "--show-column-numbers",
                "--show-error-codes",
                "--no-pretty",
                "--no-error-summary",
            ];
            let mypy = with(project, "mypy", &options, files);
            let mypy = Candidate::new("mypy", mypy, MYPY, Findings::Mypy);
            let pyright = with(project, "pyright", &["--outputjson"], files);
            let pyright = Candidate::new("pyright", pyright, PYRIGHT, Findings::Pyright);
            let prefers_pyright = project.has("pyrightconfig.json")
                || project.mentions(&["pyproject.toml"], "[tool.pyright]");
            if prefers_pyright {
                vec![pyright, mypy]
            } else {
                vec![mypy, pyright]
            }
        }
        Language::JavaScript => {
            // With files, it would not read the project's settings.
            let argv = with(project, "tsc", &["--noEmit", "--pretty", "false"], &[]);
            let tsc = Candidate::new("tsc", argv, TYPESCRIPT, Findings::Lines).making(Products {
                files: &["tsconfig.tsbuildinfo"],
                ..Products::default()
            });
            if project.has("tsconfig.json") {
                vec![tsc]
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    })
}

/// Returns the formatters for these files, or the project.
pub(super) fn formatters(project: &Project, files: &[String]) -> Vec<Formatter> {
    by_language(project, files, |language| match language {
        Language::Rust => {
            let rustfmt = if files.is_empty() {
                cargo_fmt()
            } else {
                rustfmt(project.rust_files())
            };
            vec![rustfmt.versioned(&["rustfmt", "--version"])]
        }
        Language::Go => {
            let argv = listed(&["gofmt", "-w"], files);
            // It has no option that prints its version, which is that of go.
            vec![
                Candidate::new("gofmt", argv, GO, Formatting::Command)
                    .versioned(&["go", "version"]),
            ]
        }
        Language::Python => {
            let ruff = with(project, "ruff", &["format", "--force-exclude"], files);
            let ruff = Candidate::new("ruff format", ruff, RUFF, Formatting::Command);
            let black = with(project, "black", &["--quiet"], files);
            let black = Candidate::new("black", black, BLACK, Formatting::Command);
            let prefers_black = project.mentions(&["pyproject.toml"], "[tool.black]");
            if prefers_black {
                vec![black]
            } else {
                vec![ruff, black]
            }
        }
        Language::JavaScript => {
            let argv = with(project, "prettier", &["--write", "--log-level=warn"], files);
            let prettier = Candidate::new("prettier", argv, PRETTIER, Formatting::Command);
            vec![prettier]
        }
        _ => Vec::new(),
    })
}

/// Returns the language of these files, which are all of one; `None` if they are not, or none is
/// known.
fn language(files: &[String]) -> Option<Language> {
    let of_file = |file: &String| {
        let ending = crate::files::path::split(file).1.rsplit_once('.')?.1;
        ENDINGS
            .iter()
            .find(|(_, endings)| endings.contains(&ending))
            .map(|(language, _)| *language)
    };
    let (first, rest) = files.split_first()?;
    let language = of_file(first)?;
    rest.iter()
        .all(|file| of_file(file) == Some(language))
        .then_some(language)
}

/// Returns the programs for the language of the files, or without files for the first one that has
/// any.
fn by_language<R>(
    project: &Project,
    files: &[String],
    programs: impl Fn(Language) -> Vec<Candidate<R>>,
) -> Vec<Candidate<R>> {
    match files {
        [] => project
            .languages()
            .into_iter()
            .map(programs)
            .find(|found| !found.is_empty())
            .unwrap_or_default(),
        // A folder belongs to the project's first language.
        _ => match language(files).or_else(|| project.languages().into_iter().next()) {
            Some(language) => programs(language),
            None => Vec::new(),
        },
    }
}

/// Returns a command with the project's own copy of a program, else the installed one, for all
/// files by default.
fn with(project: &Project, program: &str, options: &[&str], files: &[String]) -> Vec<String> {
    let own =
        [".venv/bin", "venv/bin", "node_modules/.bin"].map(|folder| format!("{folder}/{program}"));
    let program = own
        .into_iter()
        .find(|path| project.has(path))
        .unwrap_or_else(|| program.to_owned());
    let head = [&[program.as_str()][..], options].concat();
    if program.ends_with("tsc") {
        words(&head)
    } else {
        listed(&head, files)
    }
}

/// Adds the files, or the project's root; a name that begins with `-` would be an option.
fn listed(head: &[&str], files: &[String]) -> Vec<String> {
    let name = |file: &String| {
        if file.starts_with('-') || file.is_empty() {
            format!("./{file}")
        } else {
            file.clone()
        }
    };
    let files = if files.is_empty() {
        vec![".".to_owned()]
    } else {
        files.iter().map(name).collect()
    };
    words(head).into_iter().chain(files).collect()
}

fn cargo(program: &'static str, command: &str) -> Checker {
    let options = ["--all-targets", "--message-format=json", "--quiet"];
    let argv = [words(&["cargo", command]), words(&options)].concat();
    Candidate::new(program, argv, RUSTUP, Findings::Cargo).making(products::CARGO)
}

fn vet() -> Checker {
    let argv = words(&["go", "vet", "./..."]);
    Candidate::new("go vet", argv, GO, Findings::Lines).versioned(&["go", "version"])
}

fn cargo_fmt() -> Formatter {
    let argv = words(&["cargo", "fmt", "--all"]);
    Candidate::new("rustfmt", argv, RUSTUP, Formatting::Command).making(products::CARGO)
}

/// Returns rustfmt for these files: a command for each of their editions, so that the rules judge
/// all of them.
fn rustfmt(files: &[RustFile]) -> Formatter {
    let editions: BTreeSet<&str> = files
        .iter()
        .filter_map(|file| file.edition.as_deref().ok())
        .collect();
    let mut commands: Vec<Vec<String>> = editions.into_iter().map(rustfmt_command).collect();
    let argv = commands.pop().unwrap_or_else(|| words(&["rustfmt"]));
    let report = Formatting::EachText(files.to_vec());
    Candidate {
        before: commands,
        ..Candidate::new("rustfmt", argv, RUSTUP, report)
    }
}

/// Returns the command that formats the text of an edition on its standard input.
pub(super) fn rustfmt_command(edition: &str) -> Vec<String> {
    words(&["rustfmt", "--edition", edition])
}

#[cfg(test)]
mod tests;
