use super::*;

/// A project and what it suggests.
struct Row {
    name: &'static str,
    /// Its files, separated by blanks.
    paths: &'static str,
    texts: &'static [(&'static str, &'static str)],
    programs: &'static str,
    ignored: &'static str,
    setup: Option<&'static str>,
    verify: Option<&'static str>,
    include: &'static [&'static str],
}

const NODE: (&str, &str) = (
    "package.json",
    r#"{ "scripts": { "test": "mocha" }, "devDependencies": { "mocha": "1" } }"#,
);

const EMPTY: Row = Row {
    name: "",
    paths: "",
    texts: &[],
    programs: "",
    ignored: "",
    setup: None,
    verify: None,
    include: &[],
};

fn suggested(row: &Row) -> Suggestion {
    let set = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<BTreeSet<String>>()
    };
    let texts = row
        .texts
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let mut files = ProjectFiles {
        paths: set(row.paths),
        texts: texts.collect(),
        programs: set(row.programs),
    };
    files
        .paths
        .extend(files.texts.keys().cloned().collect::<Vec<_>>());
    Suggestion::from_files(&[(String::new(), files)], &set(row.ignored))
}

fn check(table: &[Row]) {
    for row in table {
        let found = suggested(row);
        let expected = (
            row.setup.map(str::to_owned),
            row.verify.map(str::to_owned),
            row.include.to_vec(),
        );
        let include: Vec<&str> = found.include.iter().map(String::as_str).collect();
        assert_eq!(
            (found.setup.clone(), found.verify.clone(), include),
            expected,
            "{}: {found:?}",
            row.name
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn javascript_is_installed_by_the_manager_of_its_lock_file() {
    check(&[
        Row {
            name: "npm",
            paths: "package-lock.json",
            texts: &[NODE],
            programs: "npm",
            setup: Some("npm ci"),
            verify: Some("npm test"),
            ..EMPTY
        },
        Row {
            name: "pnpm",
            paths: "pnpm-lock.yaml node_modules",
            texts: &[NODE],
            programs: "npm pnpm",
            ignored: "node_modules",
            setup: Some("pnpm install --frozen-lockfile"),
            verify: Some("pnpm test"),
            ..EMPTY
        },
        Row {
            name: "yarn 1",
            paths: "yarn.lock",
            texts: &[NODE],
            programs: "yarn",
            setup: Some("yarn install --frozen-lockfile"),
            verify: Some("yarn test"),
            ..EMPTY
        },
        Row {
            name: "yarn 4",
            paths: "yarn.lock .yarnrc.yml",
            texts: &[NODE],
            programs: "yarn",
            setup: Some("yarn install --immutable"),
            verify: Some("yarn test"),
            ..EMPTY
        },
        Row {
            name: "bun",
            paths: "bun.lock",
            texts: &[NODE],
            programs: "bun",
            setup: Some("bun install --frozen-lockfile"),
            verify: Some("bun run test"),
            ..EMPTY
        },
        Row {
            name: "a pin decides between two lock files",
            paths: "package-lock.json pnpm-lock.yaml",
            programs: "npm pnpm",
            texts: &[(
                "package.json",
                r#"{ "packageManager": "npm@10.9.0", "dependencies": { "a": "1" } }"#,
            )],
            setup: Some("npm ci"),
            ..EMPTY
        },
        Row {
            name: "a pin without a lock file",
            programs: "npm pnpm",
            texts: &[(
                "package.json",
                r#"{ "packageManager": "pnpm@10.1.0", "scripts": { "test": "vitest" } }"#,
            )],
            verify: Some("pnpm test"),
            ..EMPTY
        },
        Row {
            name: "no lock file",
            paths: "node_modules",
            texts: &[NODE],
            programs: "npm",
            ignored: "node_modules",
            verify: Some("npm test"),
            include: &["node_modules/"],
            ..EMPTY
        },
        Row {
            name: "no manager",
            paths: "pnpm-lock.yaml node_modules",
            texts: &[NODE],
            programs: "npm",
            ignored: "node_modules",
            verify: Some("pnpm test"),
            include: &["node_modules/"],
            ..EMPTY
        },
        Row {
            name: "git does not ignore it",
            paths: "node_modules",
            texts: &[NODE],
            programs: "npm",
            verify: Some("npm test"),
            ..EMPTY
        },
        Row {
            name: "the script of `npm init`, and no packages",
            paths: "package-lock.json",
            programs: "npm",
            texts: &[(
                "package.json",
                r#"{ "scripts": { "test": "echo \"Error: no test specified\" && exit 1" } }"#,
            )],
            ..EMPTY
        },
        Row {
            name: "not JSON",
            paths: "package-lock.json",
            texts: &[("package.json", "{")],
            programs: "npm",
            ..EMPTY
        },
    ]);
}

#[test]
fn python_is_installed_by_its_lock_file_or_brought_along() {
    const PROJECT: (&str, &str) = (
        "pyproject.toml",
        "[dependency-groups]\ndev = ['pytest>=8']\n",
    );
    const EXTRA: (&str, &str) = (
        "pyproject.toml",
        "[project.optional-dependencies]\ntest = ['pytest[x] >= 8']\n",
    );
    const POETRY: (&str, &str) = (
        "pyproject.toml",
        "[tool.poetry.group.dev.dependencies]\npytest = '^8'\n",
    );
    check(&[
        Row {
            name: "uv",
            paths: "uv.lock",
            texts: &[PROJECT],
            programs: "uv python3",
            setup: Some("uv sync --locked"),
            verify: Some(".venv/bin/python -m pytest"),
            ..EMPTY
        },
        Row {
            name: "uv with an extra",
            paths: "uv.lock",
            texts: &[EXTRA],
            programs: "uv",
            setup: Some("uv sync --locked --all-extras"),
            verify: Some(".venv/bin/python -m pytest"),
            ..EMPTY
        },
        Row {
            name: "uv is missing",
            paths: "uv.lock .venv .venv/pyvenv.cfg",
            texts: &[PROJECT],
            programs: "python3",
            ignored: ".venv",
            verify: Some(".venv/bin/python -m pytest"),
            include: &[".venv/"],
            ..EMPTY
        },
        Row {
            name: "poetry",
            paths: "poetry.lock",
            texts: &[POETRY],
            programs: "poetry",
            setup: Some("POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction"),
            verify: Some(".venv/bin/python -m pytest"),
            ..EMPTY
        },
        Row {
            name: "pip with an environment",
            paths: "venv venv/pyvenv.cfg venv/bin/pytest setup.py",
            programs: "python3",
            texts: &[("requirements.txt", "flask==3\n")],
            ignored: "venv",
            verify: Some("venv/bin/python -m pytest"),
            include: &["venv/"],
            ..EMPTY
        },
        Row {
            name: "an environment without the pytest of an extra",
            paths: "tests tests/test_a.py .venv .venv/pyvenv.cfg",
            texts: &[EXTRA],
            ignored: ".venv",
            verify: Some(".venv/bin/python -m unittest discover -s tests"),
            include: &[".venv/"],
            ..EMPTY
        },
        Row {
            name: "pip without one",
            programs: "python3",
            paths: "tests tests/test_a.py tests/__init__.py",
            texts: &[(
                "requirements.txt",
                "# all\nflask==3 ; python_version > '3'\n",
            )],
            setup: Some(
                "python3 -m venv .venv && .venv/bin/python -m pip install -r requirements.txt",
            ),
            verify: Some(".venv/bin/python -m unittest discover -s tests -t ."),
            ..EMPTY
        },
        Row {
            name: "the system's Python",
            paths: "setup.py tests tests/test_a.py",
            programs: "python3",
            verify: Some("python3 -m unittest discover -s tests"),
            ..EMPTY
        },
        Row {
            name: "no tests",
            paths: "setup.py tests tests/data.py",
            programs: "python3",
            ..EMPTY
        },
    ]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn compiled_languages_are_fetched_and_tested() {
    const CRATES: &str = "version = 4\n\n[[package]]\nname = 'a'\n\n[[package]]\nname = 'b'\nsource = 'registry+x'\n";
    check(&[
        Row {
            name: "cargo",
            programs: "cargo",
            texts: &[
                ("Cargo.lock", CRATES),
                ("Cargo.toml", "[package]\nname = 'a'\n"),
            ],
            setup: Some("cargo fetch --locked"),
            verify: Some("cargo test"),
            ..EMPTY
        },
        Row {
            name: "a workspace without dependencies",
            programs: "cargo",
            paths: "target",
            ignored: "target",
            texts: &[
                ("Cargo.lock", "[[package]]\nname = 'a'\n"),
                ("Cargo.toml", "[workspace]\n"),
            ],
            verify: Some("cargo test --workspace"),
            ..EMPTY
        },
        Row {
            name: "go",
            paths: "go.mod go.sum",
            programs: "go",
            setup: Some("go mod download"),
            verify: Some("go test ./..."),
            ..EMPTY
        },
        Row {
            name: "go with vendored modules",
            paths: "go.mod go.sum vendor vendor/modules.txt",
            programs: "go",
            verify: Some("go test ./..."),
            ..EMPTY
        },
        Row {
            name: "maven",
            paths: "pom.xml mvnw",
            programs: "mvn",
            verify: Some("mvn -o -B test"),
            ..EMPTY
        },
        Row {
            name: "maven's wrapper",
            paths: "pom.xml mvnw",
            verify: Some("./mvnw -o -B test"),
            ..EMPTY
        },
        Row {
            name: "gradle",
            paths: "build.gradle.kts gradlew",
            verify: Some("./gradlew --offline test"),
            ..EMPTY
        },
        Row {
            name: "cmake",
            paths: "CMakeLists.txt build",
            ignored: "build",
            verify: Some(CMAKE),
            ..EMPTY
        },
        Row {
            name: "cmake comes before make",
            paths: "CMakeLists.txt",
            texts: &[("Makefile", "test:\n\tctest\n")],
            verify: Some(CMAKE),
            ..EMPTY
        },
        Row {
            name: "make",
            texts: &[(
                "Makefile",
                "CC := cc\nall: a.o\n\ntest check: all\n\tcheck: ./a\n",
            )],
            programs: "make",
            verify: Some("make check"),
            ..EMPTY
        },
        Row {
            name: "no such target",
            texts: &[("Makefile", "test := a\n.PHONY: test\n# test:\n\ttest: x\n")],
            programs: "make",
            ..EMPTY
        },
        Row {
            name: "dotnet",
            paths: "a.sln packages.lock.json",
            programs: "dotnet",
            setup: Some("dotnet restore --locked-mode --packages .nuget/packages"),
            verify: Some("dotnet test --no-restore"),
            ..EMPTY
        },
        Row {
            name: "dotnet without a lock file",
            paths: "a.csproj",
            programs: "dotnet",
            verify: Some("dotnet test"),
            ..EMPTY
        },
    ]);
}

const CMAKE: &str =
    "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";

#[test]
fn php_and_ruby_are_installed_into_the_worktree() {
    check(&[
        Row {
            name: "composer",
            paths: "composer.lock",
            programs: "composer",
            texts: &[("composer.json", r#"{ "scripts": { "test": "phpunit" } }"#)],
            setup: Some("composer install --no-interaction"),
            verify: Some("composer test"),
            ..EMPTY
        },
        Row {
            name: "composer is missing",
            paths: "composer.lock composer.json vendor phpunit.xml.dist",
            ignored: "vendor",
            verify: Some("vendor/bin/phpunit"),
            include: &["vendor/"],
            ..EMPTY
        },
        Row {
            name: "bundler",
            paths: "Gemfile Gemfile.lock spec spec/a_spec.rb",
            programs: "bundle",
            setup: Some("BUNDLE_PATH=vendor/bundle bundle install"),
            verify: Some("BUNDLE_PATH=vendor/bundle bundle exec rspec"),
            ..EMPTY
        },
        Row {
            name: "bundler is missing",
            paths: "Gemfile Gemfile.lock Rakefile vendor vendor/bundle",
            ignored: "vendor/bundle",
            verify: Some("BUNDLE_PATH=vendor/bundle bundle exec rake test"),
            include: &["vendor/bundle/"],
            ..EMPTY
        },
    ]);
}

#[test]
fn several_ecosystems_are_all_set_up_and_checked() {
    check(&[Row {
        name: "npm and go",
        paths: "package-lock.json go.mod go.sum",
        programs: "npm go",
        texts: &[NODE, ("Makefile", "test:\n")],
        setup: Some("npm ci && go mod download"),
        verify: Some("npm test && go test ./..."),
        ..EMPTY
    }]);
}

#[test]
fn what_cannot_be_installed_and_what_may_be_secret_is_said() {
    let missing = Row {
        name: "",
        paths: "package-lock.json",
        texts: &[NODE],
        ignored: ".env a/.env.local .envrc",
        ..EMPTY
    };
    let found = suggested(&missing);
    assert_eq!(found.secrets, [".env", "a/.env.local"]);
    let note = "package-lock.json: commands find no `npm` for `npm ci`; nothing of it lies in the checkout either";
    assert_eq!(found.notes, [note]);
}

#[test]
fn the_folders_of_a_project_are_looked_into_if_its_top_shows_nothing() {
    let place = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("web/package.json", NODE.1),
        ("web/package-lock.json", "{}"),
        ("the server/go.mod", "module a\n"),
        (".hidden/go.mod", "module b\n"),
    ] {
        std::fs::create_dir_all(place.path().join(path).parent().unwrap()).unwrap();
        std::fs::write(place.path().join(path), text).unwrap();
    }
    std::fs::create_dir(place.path().join("web/node_modules")).unwrap();
    let ignored = BTreeSet::from(["web/node_modules".to_owned()]);
    let found = Suggestion::read(place.path(), &ignored, &|_| false);
    assert_eq!(
        found.verify.as_deref(),
        Some("(cd 'the server' && go test ./...) && (cd web && npm test)")
    );
    assert_eq!(found.include, ["web/node_modules/"]);
    let installed = Suggestion::read(place.path(), &ignored, &|program| program == "npm");
    assert_eq!(installed.setup.as_deref(), Some("(cd web && npm ci)"));
    assert!(installed.include.is_empty());

    std::fs::write(place.path().join("Makefile"), "check:\n").unwrap();
    let at_top = Suggestion::read(place.path(), &ignored, &|_| true);
    assert_eq!(
        (at_top.setup, at_top.verify.as_deref()),
        (None, Some("make check"))
    );
}
