//! The table of ecosystems: how each is recognised, installed, brought along and checked.

use crate::suggest::manifests::{
    NamedIn, REQUIREMENTS, has_composer_script, has_node_script, is_cargo_workspace,
    is_modern_yarn, make_target, names_python_package, needs_crates, needs_node_packages,
    pinned_manager,
};
use crate::suggest::project_files::ProjectFiles;

/// A package manager or build tool, and how a project that uses it is set up and checked.
pub(super) struct Ecosystem {
    /// Its name, as people say it.
    pub(super) name: &'static str,
    /// Of each kind, one ecosystem applies to a folder.
    pub(super) kind: Kind,
    /// The files that pin what it installs.
    pub(super) locks: &'static [&'static str],
    /// Other files that show it; `*` with an end stands for any name with that end.
    pub(super) manifests: &'static [&'static str],
    /// The program that installs what a lock file pins.
    pub(super) manager: &'static str,
    /// Returns the command that does so; `None` if there is nothing to install.
    pub(super) setup: fn(&ProjectFiles) -> Option<String>,
    /// What the manager leaves in a checkout, and a worktree needs if nothing is installed in it.
    pub(super) brought: &'static [&'static str],
    /// Returns the command that runs the project's tests, if it has some.
    pub(super) verify: fn(&ProjectFiles, Installed) -> Option<String>,
}

/// What ecosystems exclude each other in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    JavaScript,
    Python,
    Rust,
    Go,
    Jvm,
    CMake,
    Php,
    Ruby,
    DotNet,
    /// Its targets often call the other tools, so it checks a project only if none of them does.
    Make,
}

/// Where what a project needs comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Installed {
    /// The setup installs it.
    BySetup,
    /// It lies in the checkout, or in the home.
    Already,
}

/// The folders that hold an environment of Python, in the order in which one is chosen.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];
/// The files that show that pytest runs a project's tests.
const PYTEST_FILES: [&str; 3] = ["pytest.ini", "conftest.py", "tests/conftest.py"];

/// All ecosystems. Of one kind, the first whose lock file exists applies, else the first whose
/// manifest does.
#[rustfmt::skip]
pub(super) const ECOSYSTEMS: &[Ecosystem] = &[
    Ecosystem {
        name: "pnpm", kind: Kind::JavaScript, manager: "pnpm",
        locks: &["pnpm-lock.yaml"], manifests: &["pnpm-workspace.yaml"],
        setup: |files| node_setup(files, "pnpm install --frozen-lockfile"),
        brought: &["node_modules"], verify: |files, _| node_check(files, "pnpm test"),
    },
    Ecosystem {
        name: "yarn", kind: Kind::JavaScript, manager: "yarn",
        locks: &["yarn.lock"], manifests: &[".yarnrc.yml"],
        setup: yarn_setup,
        brought: &["node_modules"], verify: |files, _| node_check(files, "yarn test"),
    },
    Ecosystem {
        name: "bun", kind: Kind::JavaScript, manager: "bun",
        locks: &["bun.lock", "bun.lockb"], manifests: &["bunfig.toml"],
        setup: |files| node_setup(files, "bun install --frozen-lockfile"),
        brought: &["node_modules"], verify: |files, _| node_check(files, "bun run test"),
    },
    Ecosystem {
        name: "npm", kind: Kind::JavaScript, manager: "npm",
        locks: &["package-lock.json", "npm-shrinkwrap.json"], manifests: &["package.json"],
        setup: |files| node_setup(files, "npm ci"),
        brought: &["node_modules"], verify: |files, _| node_check(files, "npm test"),
    },
    Ecosystem {
        name: "uv", kind: Kind::Python, manager: "uv",
        locks: &["uv.lock"], manifests: &["uv.toml"],
        setup: uv_setup,
        brought: &ENVIRONMENTS, verify: python_check,
    },
    Ecosystem {
        name: "poetry", kind: Kind::Python, manager: "poetry",
        locks: &["poetry.lock"], manifests: &["poetry.toml"],
        setup: |_| Some(POETRY_SETUP.to_owned()),
        brought: &ENVIRONMENTS, verify: python_check,
    },
    Ecosystem {
        name: "pip", kind: Kind::Python, manager: "python3",
        locks: &REQUIREMENTS, manifests: &["pyproject.toml", "setup.py", "setup.cfg", "tox.ini"],
        setup: pip_setup,
        brought: &ENVIRONMENTS, verify: python_check,
    },
    Ecosystem {
        name: "cargo", kind: Kind::Rust, manager: "cargo",
        locks: &["Cargo.lock"], manifests: &["Cargo.toml"],
        setup: |files| needs_crates(files).then(|| "cargo fetch --locked".to_owned()),
        brought: &[], verify: cargo_check,
    },
    Ecosystem {
        name: "go", kind: Kind::Go, manager: "go",
        locks: &["go.sum"], manifests: &["go.mod", "go.work"],
        setup: |files| (!files.has("vendor/modules.txt")).then(|| "go mod download".to_owned()),
        brought: &[], verify: |_, _| Some("go test ./...".to_owned()),
    },
    Ecosystem {
        name: "maven", kind: Kind::Jvm, manager: "mvn",
        locks: &[], manifests: &["pom.xml"],
        setup: |_| None,
        brought: &[],
        verify: |files, _| Some(format!("{} -o -B test", wrapped(files, "mvn", "mvnw"))),
    },
    Ecosystem {
        name: "gradle", kind: Kind::Jvm, manager: "gradle",
        locks: &[],
        manifests: &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
        setup: |_| None,
        brought: &[],
        verify: |files, _| Some(format!("{} --offline test", wrapped(files, "gradle", "gradlew"))),
    },
    Ecosystem {
        name: "cmake", kind: Kind::CMake, manager: "cmake",
        locks: &[], manifests: &["CMakeLists.txt"],
        setup: |_| None,
        brought: &[], verify: |_, _| Some(CMAKE_CHECK.to_owned()),
    },
    Ecosystem {
        name: "composer", kind: Kind::Php, manager: "composer",
        locks: &["composer.lock"], manifests: &["composer.json"],
        setup: |_| Some("composer install --no-interaction".to_owned()),
        brought: &["vendor"], verify: php_check,
    },
    Ecosystem {
        name: "bundler", kind: Kind::Ruby, manager: "bundle",
        locks: &["Gemfile.lock"], manifests: &["Gemfile"],
        setup: |_| Some(format!("{BUNDLE_PATH} bundle install")),
        brought: &["vendor/bundle"], verify: ruby_check,
    },
    Ecosystem {
        name: "dotnet", kind: Kind::DotNet, manager: "dotnet",
        locks: &["packages.lock.json"], manifests: &["*.sln", "*.slnx", "*.csproj", "*.fsproj"],
        setup: |_| Some("dotnet restore --locked-mode --packages .nuget/packages".to_owned()),
        brought: &[], verify: |_, installed| Some(match installed {
            Installed::BySetup => "dotnet test --no-restore".to_owned(),
            Installed::Already => "dotnet test".to_owned(),
        }),
    },
    Ecosystem {
        name: "make", kind: Kind::Make, manager: "make",
        locks: &[], manifests: &["GNUmakefile", "makefile", "Makefile"],
        setup: |_| None,
        brought: &[],
        verify: |files, _| Some(format!("make {}", make_target(files, &["check", "test"])?)),
    },
];

/// Configures, builds and tests in a folder of its own, as CMake's own tutorial does.
const CMAKE_CHECK: &str =
    "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";
/// The environment is created in the project, where commands find it.
const POETRY_SETUP: &str = "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction";
/// Where gems are installed, so that they are part of the worktree.
const BUNDLE_PATH: &str = "BUNDLE_PATH=vendor/bundle";

/// Returns the programs whose existence matters.
pub(super) fn managers() -> Vec<&'static str> {
    ECOSYSTEMS.iter().map(|row| row.manager).collect()
}

/// Returns the ecosystems of a folder: of each kind the one that its files show, each with the file
/// that does.
pub(super) fn ecosystems_of(files: &ProjectFiles) -> Vec<(&'static Ecosystem, String)> {
    let pinned = pinned_manager(files).map(|(name, _)| name);
    let mut chosen: Vec<(&Ecosystem, String)> = Vec::new();
    let mut kinds: Vec<Kind> = Vec::new();
    for row in ECOSYSTEMS {
        if !kinds.contains(&row.kind) {
            kinds.push(row.kind);
            chosen.extend(ecosystem_of_kind(files, row.kind, pinned.as_deref()));
        }
    }
    chosen
}

/// Returns the ecosystem of a kind. The manager that `package.json` pins comes first, then one with
/// a lock file.
fn ecosystem_of_kind(
    files: &ProjectFiles,
    kind: Kind,
    pinned: Option<&str>,
) -> Option<(&'static Ecosystem, String)> {
    let rows = || ECOSYSTEMS.iter().filter(|row| row.kind == kind);
    let shown = |row: &'static Ecosystem, marks: &[&str]| {
        let by = marks.iter().find_map(|mark| files.shows(mark))?;
        Some((row, by.to_owned()))
    };
    let is_pinned = |row: &&Ecosystem| kind == Kind::JavaScript && pinned == Some(row.name);
    let of_pin = rows()
        .filter(is_pinned)
        .find_map(|row| shown(row, row.locks).or_else(|| shown(row, &["package.json"])));
    let of_lock = || rows().find_map(|row| shown(row, row.locks));
    let of_manifest = || rows().find_map(|row| shown(row, row.manifests));
    of_pin.or_else(of_lock).or_else(of_manifest)
}

/// Returns the folder of the environment of Python in a checkout.
pub(super) fn environment(files: &ProjectFiles) -> Option<&'static str> {
    ENVIRONMENTS
        .into_iter()
        .find(|folder| files.has(&format!("{folder}/pyvenv.cfg")))
}

fn node_setup(files: &ProjectFiles, command: &str) -> Option<String> {
    needs_node_packages(files).then(|| command.to_owned())
}

fn node_check(files: &ProjectFiles, command: &str) -> Option<String> {
    has_node_script(files, "test").then(|| command.to_owned())
}

fn yarn_setup(files: &ProjectFiles) -> Option<String> {
    let option = if is_modern_yarn(files) {
        "--immutable"
    } else {
        "--frozen-lockfile"
    };
    node_setup(files, &format!("yarn install {option}"))
}

fn uv_setup(files: &ProjectFiles) -> Option<String> {
    let extras = match names_python_package(files, "pytest") {
        Some(NamedIn::Extra) => " --all-extras",
        Some(NamedIn::Always) | None => "",
    };
    Some(format!("uv sync --locked{extras}"))
}

/// Requirements pin less than a lock file, so an environment that lies in the checkout comes before
/// them.
fn pip_setup(files: &ProjectFiles) -> Option<String> {
    if environment(files).is_some() {
        return None;
    }
    let lists = REQUIREMENTS
        .iter()
        .filter(|name| files.has(name))
        .map(|name| format!(" -r {name}"));
    Some(format!(
        "python3 -m venv .venv && .venv/bin/python -m pip install{}",
        lists.collect::<String>()
    ))
}

fn python_check(files: &ProjectFiles, installed: Installed) -> Option<String> {
    let folder = match installed {
        Installed::BySetup => Some(".venv"),
        Installed::Already => environment(files),
    };
    let python = folder.map_or_else(
        || "python3".to_owned(),
        |folder| format!("{folder}/bin/python"),
    );
    let has_pytest = folder.is_some_and(|folder| files.has(&format!("{folder}/bin/pytest")));
    let is_of_pytest = PYTEST_FILES.iter().any(|name| files.has(name));
    let pytest = Some(format!("{python} -m pytest"));
    if has_pytest {
        return pytest;
    }
    let wanted = pytest.filter(|_| is_of_pytest || names_python_package(files, "pytest").is_some());
    let unittest = unittest_check(files, &python);
    // What lies in the checkout shows what the user runs there.
    if installed == Installed::Already && folder.is_some() {
        unittest.or(wanted)
    } else {
        wanted.or(unittest)
    }
}

fn unittest_check(files: &ProjectFiles, python: &str) -> Option<String> {
    let tests = ["tests", "test"]
        .into_iter()
        .find(|folder| files.has_below(folder, "test", ".py"))?;
    let top = if files.has(&format!("{tests}/__init__.py")) {
        " -t ."
    } else {
        ""
    };
    Some(format!("{python} -m unittest discover -s {tests}{top}"))
}

fn cargo_check(files: &ProjectFiles, _: Installed) -> Option<String> {
    let whole = if is_cargo_workspace(files) {
        " --workspace"
    } else {
        ""
    };
    Some(format!("cargo test{whole}"))
}

fn php_check(files: &ProjectFiles, _: Installed) -> Option<String> {
    if has_composer_script(files, "test") {
        return Some("composer test".to_owned());
    }
    let is_phpunit = files.has("phpunit.xml") || files.has("phpunit.xml.dist");
    is_phpunit.then(|| "vendor/bin/phpunit".to_owned())
}

fn ruby_check(files: &ProjectFiles, installed: Installed) -> Option<String> {
    let own = installed == Installed::BySetup || files.has("vendor/bundle");
    let with = if own {
        format!("{BUNDLE_PATH} ")
    } else {
        String::new()
    };
    let tests = match () {
        () if files.has_below("spec", "", ".rb") => "rspec",
        () if files.has("Rakefile") => "rake test",
        () => return None,
    };
    Some(format!("{with}bundle exec {tests}"))
}

/// Returns the program of the machine; its wrapper in the project only where there is none, since
/// it would download one.
fn wrapped(files: &ProjectFiles, program: &'static str, wrapper: &str) -> String {
    if files.finds(program) || !files.has(wrapper) {
        program.to_owned()
    } else {
        format!("./{wrapper}")
    }
}
