use super::Ecosystem::{Go, JavaScript, Python, Rust};
use super::*;

/// Files with their texts.
type Files<'a> = &'a [(&'a str, &'a str)];

/// Returns the commands of each manager, joined by ` ; `, with the one that builds from source
/// behind `else`.
fn commands(
    files: Files<'_>,
    ecosystem: Ecosystem,
    indexes: &OfPip,
) -> Result<Vec<String>, String> {
    let package = if ecosystem == Go { "a.example/p" } else { "p" };
    let requested = ecosystem.read(package, Some("1.0.0")).unwrap();
    let shown = |manager: Manager| {
        let all: Vec<String> = manager
            .before
            .iter()
            .chain([&manager.argv])
            .map(|argv| argv.join(" "))
            .collect();
        let source = manager
            .report
            .from_source
            .map(|argv| format!(" else {}", argv.join(" ")))
            .unwrap_or_default();
        format!("{}{source}", all.join(" ; "))
    };
    managers(&Project::of(files), ecosystem, &requested, indexes)
        .map(|all| all.into_iter().map(shown).collect())
}

const PIP: &str = ".venv/bin/python -m pip install --no-input --no-cache-dir --disable-pip-version-check --progress-bar off";
const UV: &str = "uv pip install --python .venv/bin/python";

#[test]
fn the_manager_is_the_projects_own() {
    let pip = format!("{PIP} --only-binary :all: -- p==1.0.0 else {PIP} -- p==1.0.0");
    let uv_pip = format!("{UV} --only-binary :all: -- p==1.0.0 else {UV} -- p==1.0.0");
    let uv = "uv add --no-build -- p==1.0.0 else uv add -- p==1.0.0";
    let npm = "npm install --ignore-scripts --no-audit --no-fund -- p@1.0.0";
    let pnpm = "pnpm add --ignore-scripts -- p@1.0.0";
    let yarn = "yarn add --ignore-scripts --non-interactive --no-progress -- p@1.0.0";
    let berry = "yarn add --mode=skip-build p@1.0.0";
    let table: &[(Files<'_>, Ecosystem, &[&str])] = &[
        (
            &[("requirements.txt", ""), (".venv/bin/python", "")],
            Python,
            &[&pip, &uv_pip],
        ),
        (
            &[
                ("pyproject.toml", ""),
                ("uv.lock", ""),
                (".venv/bin/python", ""),
            ],
            Python,
            &[uv],
        ),
        (&[("pyproject.toml", "[[tool.uv.index]]\n")], Python, &[uv]),
        (&[("package.json", "{}")], JavaScript, &[npm]),
        (&[("package.json", "no json")], JavaScript, &[npm]),
        (
            &[("package.json", "{}"), ("pnpm-lock.yaml", "")],
            JavaScript,
            &[pnpm],
        ),
        (
            &[("package.json", r#"{"packageManager": "pnpm@9.0.0"}"#)],
            JavaScript,
            &[pnpm],
        ),
        (
            &[("package.json", "{}"), ("yarn.lock", "")],
            JavaScript,
            &[yarn],
        ),
        (
            &[("package.json", r#"{"packageManager": "yarn@1.22.22"}"#)],
            JavaScript,
            &[yarn],
        ),
        (
            &[
                ("package.json", r#"{"packageManager": "yarn@4.9.0"}"#),
                ("yarn.lock", ""),
            ],
            JavaScript,
            &[berry],
        ),
        (
            &[
                ("package.json", "{}"),
                ("yarn.lock", ""),
                (".yarnrc.yml", ""),
            ],
            JavaScript,
            &[berry],
        ),
        (
            &[("Cargo.toml", "")],
            Rust,
            &["cargo add p@1.0.0 ; cargo fetch"],
        ),
        (
            &[("go.mod", "")],
            Go,
            &["go get a.example/p@v1.0.0 ; go mod download"],
        ),
    ];
    for (files, ecosystem, expected) in table {
        assert_eq!(
            commands(files, *ecosystem, &OfPip::default()).as_deref(),
            Ok(owned(expected).as_slice()),
            "{files:?}"
        );
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn indexes_of_the_project_are_passed_on() {
    let indexes = OfPip {
        index: Some("https://a.example/".to_owned()),
        extra: vec![
            "https://b.example/".to_owned(),
            "https://c.example/".to_owned(),
        ],
    };
    let found = commands(&[(".venv/bin/python", "")], Python, &indexes).unwrap();
    let options = "--index-url https://a.example/ --extra-index-url https://b.example/ --extra-index-url https://c.example/";
    assert!(found[0].starts_with(&format!(
        "{PIP} {options} --only-binary :all: -- p==1.0.0 else {PIP} {options} -- p"
    )));
    let options =
        "--default-index https://a.example/ --index https://b.example/ --index https://c.example/";
    assert!(found[1].starts_with(&format!(
        "{UV} {options} --only-binary :all: -- p==1.0.0 else {UV} {options} -- p"
    )));
}

#[test]
fn every_manager_says_which_files_about_registries_it_follows() {
    use Reader::{Berry, Cargo, Npm, Pip, Uv, Yarn};
    let table: &[(Files<'_>, Ecosystem, &[&[Reader]])] = &[
        (&[(".venv/bin/python", "")], Python, &[&[Pip], &[Pip]]),
        (&[("pyproject.toml", "[tool.uv]\n")], Python, &[&[Uv]]),
        (&[("package.json", "{}")], JavaScript, &[&[Npm]]),
        (&[("pnpm-lock.yaml", "")], JavaScript, &[&[Npm]]),
        (&[("yarn.lock", "")], JavaScript, &[&[Npm, Yarn]]),
        (
            &[("package.json", "{}"), (".yarnrc.yml", "")],
            JavaScript,
            &[&[Berry]],
        ),
        (&[("Cargo.toml", "")], Rust, &[&[Cargo]]),
        (&[("go.mod", "")], Go, &[&[]]),
    ];
    for (files, ecosystem, expected) in table {
        let package = if *ecosystem == Go { "a.example/p" } else { "p" };
        let requested = ecosystem.read(package, None).unwrap();
        let found = managers(
            &Project::of(files),
            *ecosystem,
            &requested,
            &OfPip::default(),
        )
        .unwrap();
        assert_eq!(
            found
                .iter()
                .map(|manager| manager.report.reads)
                .collect::<Vec<_>>(),
            *expected,
            "{files:?}"
        );
    }
}

#[test]
fn a_manager_that_is_not_run_is_named() {
    let table: &[(Files<'_>, Ecosystem, &str)] = &[
        (
            &[("pyproject.toml", ""), ("poetry.lock", "")],
            Python,
            "`poetry add` is not run by this tool",
        ),
        (
            &[("Pipfile", ""), (".venv/bin/python", "")],
            Python,
            "`pipenv install`",
        ),
        (
            &[("package.json", "{}"), ("bun.lock", "")],
            JavaScript,
            "`bun add`",
        ),
        (
            &[("requirements.txt", "")],
            Python,
            "create_virtual_environment",
        ),
        (
            &[("package.json", "{}")],
            Rust,
            "`cargo add` needs a Cargo.toml",
        ),
        (&[("Cargo.toml", "")], Go, "`go get` needs a go.mod"),
        (
            &[("uv.lock", "")],
            Python,
            "`uv add` needs a pyproject.toml",
        ),
        (
            &[(".yarnrc.yml", "")],
            JavaScript,
            "`yarn add` needs a package.json",
        ),
    ];
    for (files, ecosystem, expected) in table {
        let refusal = commands(files, *ecosystem, &OfPip::default()).unwrap_err();
        assert!(refusal.contains(expected), "{files:?}: {refusal}");
    }
}

#[test]
fn a_project_may_be_one_of_several_ecosystems() {
    let of = |files: Files<'_>| ecosystems(&Project::of(files));
    assert_eq!(of(&[("README.md", "")]), []);
    assert_eq!(
        of(&[("Cargo.toml", ""), ("package.json", "")]),
        [Rust, JavaScript]
    );
    assert_eq!(
        of(&[("go.mod", ""), (".venv/bin/python", "")]),
        [Go, Python]
    );
    assert_eq!(of(&[("pom.xml", ""), ("setup.py", "")]), [Python]);
}
