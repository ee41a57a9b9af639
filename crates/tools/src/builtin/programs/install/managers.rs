//! Which package manager installs a package into a project, and how, decided from the project's
//! files.
//!
//! No manager runs the scripts of a package. One of Python is built from its source only if no
//! wheel fits.

use super::super::candidate::{Candidate, words};
use super::super::products::Products;
use super::super::project::{Language, Project};
use super::grammar::{Ecosystem, Requested};
use super::indexes::{OfPip, Reader};
use super::listing::Listing;
use super::sharing::Sharing;

/// What a manager does besides its commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Install {
    /// The command that also builds a package from its source, which runs code of the package.
    pub(super) from_source: Option<Vec<String>>,
    /// What lists the packages that are installed.
    pub(super) listing: Listing,
    /// The hosts that it asks unless it is told otherwise.
    pub(super) hosts: &'static [&'static str],
    /// What of the project's files about registries it follows.
    pub(super) reads: &'static [Reader],
    /// A folder that it makes, and that must not become part of the agent's work.
    pub(super) makes: Option<&'static str>,
    /// Whether later commands need what it has downloaded, from the worktree's own cache.
    pub(super) keeps_downloads: bool,
    /// How checks and other agents get the packages; `None` if they do not.
    pub(super) shares: Option<Sharing>,
    /// Which code of packages runs while they are installed.
    pub(super) code: &'static str,
    /// What an agent has to know of every installation.
    pub(super) note: &'static str,
}

pub(super) type Manager = Candidate<Install>;

const UV: &str = "uv (docs.astral.sh/uv)";
const PIP: &str = "pip in the project's virtual environment (`create_virtual_environment`), or uv \
                   (docs.astral.sh/uv)";
const NPM: &str = "npm (with node, from nodejs.org)";
const PNPM: &str = "pnpm (`npm install --global pnpm`)";
const YARN: &str = "yarn (`npm install --global yarn`)";
const CARGO: &str = "cargo (from rustup.rs)";
const GO: &str = "go (from go.dev)";

const PYPI: &[&str] = &["pypi.org", "files.pythonhosted.org"];
const NPM_REGISTRY: &[&str] = &["registry.npmjs.org"];
const YARN_REGISTRY: &[&str] = &["registry.yarnpkg.com", "registry.npmjs.org"];
const CRATES_IO: &[&str] = &["index.crates.io", "static.crates.io"];
const GO_PROXY: &[&str] = &["proxy.golang.org", "sum.golang.org"];

const NO_SCRIPTS: &str = "the packages' own install scripts are not run";
const SOURCES: &str =
    "a package without a wheel is built from its source, which runs its code in the sandbox";
const NO_CODE: &str = "no code of packages runs until a later command uses them";
const NOT_RECORDED: &str = "pip records this nowhere in the project: add the package to the file \
                            that lists what the project needs";
/// Downloads do not fit into the sandbox's small home.
const VARIABLES_OF_UV: &[(&str, &str)] = &[
    ("UV_NO_CACHE", "1"),
    ("UV_NO_PROGRESS", "1"),
    ("UV_LINK_MODE", "copy"),
    ("UV_PYTHON_DOWNLOADS", "never"),
    ("UV_HTTP_RETRIES", "1"),
];
const VARIABLES_OF_PIP: &[(&str, &str)] = &[("PIP_RETRIES", "1")];
const VARIABLES_OF_NPM: &[(&str, &str)] = &[
    ("npm_config_cache", "/tmp/npm"),
    ("npm_config_fetch_retries", "1"),
    ("npm_config_fetch_retry_mintimeout", "1000"),
    ("npm_config_update_notifier", "false"),
    // It would be gone when npm has ended.
    ("npm_config_logs_max", "0"),
    ("YARN_CACHE_FOLDER", "/tmp/yarn"),
];
const VARIABLES_OF_PNPM: &[(&str, &str)] = &[
    // Another version is not downloaded, whatever the project names.
    ("npm_config_manage_package_manager_versions", "false"),
    ("npm_config_cache", "/tmp/npm"),
    ("npm_config_fetch_retries", "1"),
    ("npm_config_fetch_retry_mintimeout", "1000"),
    ("npm_config_update_notifier", "false"),
];
const VARIABLES_OF_BERRY: &[(&str, &str)] = &[
    ("YARN_ENABLE_GLOBAL_CACHE", "false"),
    ("YARN_ENABLE_SCRIPTS", "false"),
    ("YARN_ENABLE_TELEMETRY", "false"),
    ("YARN_HTTP_RETRY", "1"),
    ("YARN_INSTALL_STATE_PATH", ".yarn/state/install-state.gz"),
];
/// The same for a project that does not keep packages in git.
const VARIABLES_OF_BERRY_WITHOUT_CACHE: &[(&str, &str)] = &[
    ("YARN_CACHE_FOLDER", ".yarn/state/cache"),
    ("YARN_ENABLE_GLOBAL_CACHE", "false"),
    ("YARN_ENABLE_SCRIPTS", "false"),
    ("YARN_ENABLE_TELEMETRY", "false"),
    ("YARN_HTTP_RETRY", "1"),
    ("YARN_INSTALL_STATE_PATH", ".yarn/state/install-state.gz"),
];
/// Where there is no `node_modules`, the programs of a project read packages where yarn keeps them.
const OF_BERRY: Products = Products {
    folders: &[".yarn/state", ".yarn/unplugged"],
    marks: &[],
    files: &[],
};
/// Only module proxies are asked, no repositories, and no other version of Go is downloaded.
const VARIABLES_OF_GO: &[(&str, &str)] = &[
    ("GOVCS", "*:off"),
    ("GOTOOLCHAIN", "local"),
    ("GOFLAGS", "-mod=mod -modcacherw"),
];

/// uv as the manager of a project.
const WITH_UV: Install = Install {
    from_source: None,
    listing: Listing::Blocks("uv.lock"),
    hosts: PYPI,
    reads: &[Reader::Uv],
    makes: None,
    keeps_downloads: false,
    shares: None,
    code: SOURCES,
    note: "",
};
const WITH_PIP: Install = Install {
    reads: &[Reader::Pip],
    shares: Some(Sharing::Wheels),
    note: NOT_RECORDED,
    ..WITH_UV
};
const WITH_NPM: Install = Install {
    from_source: None,
    listing: Listing::Npm,
    hosts: NPM_REGISTRY,
    reads: &[Reader::Npm],
    makes: Some("node_modules"),
    keeps_downloads: false,
    shares: Some(Sharing::Npm),
    code: NO_SCRIPTS,
    note: NO_SCRIPTS,
};
const WITH_PNPM: Install = Install {
    listing: Listing::Pnpm,
    shares: None,
    ..WITH_NPM
};
const WITH_YARN: Install = Install {
    listing: Listing::Yarn,
    hosts: YARN_REGISTRY,
    reads: &[Reader::Npm, Reader::Yarn],
    shares: None,
    ..WITH_NPM
};
const WITH_BERRY: Install = Install {
    reads: &[Reader::Berry],
    ..WITH_YARN
};
/// Cargo puts nothing into the project but the name.
const WITH_CARGO: Install = Install {
    from_source: None,
    listing: Listing::Blocks("Cargo.lock"),
    hosts: CRATES_IO,
    reads: &[Reader::Cargo],
    makes: None,
    keeps_downloads: true,
    shares: Some(Sharing::Cargo),
    code: NO_CODE,
    note: "",
};
const WITH_GO: Install = Install {
    listing: Listing::GoMod,
    hosts: GO_PROXY,
    reads: &[],
    shares: Some(Sharing::Go),
    ..WITH_CARGO
};

/// Files of managers that are not run here, each with what does the work instead.
const OTHERS: [(&str, &str); 7] = [
    ("poetry.lock", "poetry add"),
    ("Pipfile", "pipenv install"),
    ("pdm.lock", "pdm add"),
    ("pixi.lock", "pixi add"),
    ("environment.yml", "conda install"),
    ("bun.lock", "bun add"),
    ("bun.lockb", "bun add"),
];

/// Returns the ecosystems of a project.
pub(super) fn ecosystems(project: &Project) -> Vec<Ecosystem> {
    let of = |language| match language {
        Language::Python => Some(Ecosystem::Python),
        Language::JavaScript => Some(Ecosystem::JavaScript),
        Language::Rust => Some(Ecosystem::Rust),
        Language::Go => Some(Ecosystem::Go),
        Language::Maven | Language::Gradle | Language::CMake | Language::Make => None,
    };
    let mut found: Vec<Ecosystem> = project.languages().into_iter().filter_map(of).collect();
    if project.python() != SYSTEM_PYTHON && !found.contains(&Ecosystem::Python) {
        found.push(Ecosystem::Python);
    }
    found
}

/// Returns the managers that may install a package, the project's own first.
///
/// # Errors
/// Says what to do instead, if the project uses a manager that is not run here, or lacks what its
/// own one needs: a manifest, or a virtual environment.
pub(super) fn managers(
    project: &Project,
    ecosystem: Ecosystem,
    requested: &Requested,
    of_pip: &OfPip,
) -> Result<Vec<Manager>, String> {
    match ecosystem {
        Ecosystem::Python => python(project, &requested.word, of_pip),
        Ecosystem::JavaScript => javascript(project, &requested.word).map(|manager| vec![manager]),
        Ecosystem::Rust => require_manifest(project, "Cargo.toml", "cargo add")
            .map(|()| vec![cargo(&requested.word)]),
        Ecosystem::Go => {
            require_manifest(project, "go.mod", "go get").map(|()| vec![go(&requested.word)])
        }
    }
}

/// The interpreter outside a virtual environment.
const SYSTEM_PYTHON: &str = "python3";

fn python(project: &Project, word: &str, of_pip: &OfPip) -> Result<Vec<Manager>, String> {
    if project.has("uv.lock") || project.mentions(&["pyproject.toml"], "[tool.uv") {
        require_manifest(project, "pyproject.toml", "uv add")?;
        let install = Install {
            from_source: Some(words(&["uv", "add", "--", word])),
            ..WITH_UV
        };
        let argv = words(&["uv", "add", "--no-build", "--", word]);
        return Ok(vec![
            Candidate::new("uv", argv, UV, install).setting(VARIABLES_OF_UV),
        ]);
    }
    refuse_others(
        project,
        &[
            "poetry.lock",
            "Pipfile",
            "pdm.lock",
            "pixi.lock",
            "environment.yml",
        ],
    )?;
    let python = project.python();
    if python == SYSTEM_PYTHON {
        return Err(
            "this project has no virtual environment to install into; make one with \
            create_virtual_environment, as .venv"
                .to_owned(),
        );
    }
    let environment = python.trim_end_matches("/bin/python");
    let mut pip = words(&[
        python,
        "-m",
        "pip",
        "install",
        "--no-input",
        "--no-cache-dir",
    ]);
    pip.extend(words(&[
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
    ]));
    pip.extend(of_pip.options("--index-url", "--extra-index-url"));
    let mut uv = words(&["uv", "pip", "install", "--python", python]);
    uv.extend(of_pip.options("--default-index", "--index"));
    Ok(vec![
        in_environment("pip", pip, environment, word)
            .setting(VARIABLES_OF_PIP)
            .versioned(&[python, "-m", "pip", "--version"]),
        in_environment("uv pip", uv, environment, word).setting(VARIABLES_OF_UV),
    ])
}

/// Returns a manager that fills a virtual environment, first with wheels alone.
fn in_environment(
    program: &'static str,
    begin: Vec<String>,
    environment: &'static str,
    word: &str,
) -> Manager {
    let wheels = words(&["--only-binary", ":all:"]);
    let last = words(&["--", word]);
    let argv = [begin.as_slice(), &wheels, &last].concat();
    let install = Install {
        from_source: Some([begin, last].concat()),
        listing: Listing::SitePackages(environment),
        ..WITH_PIP
    };
    Candidate::new(program, argv, PIP, install)
}

fn javascript(project: &Project, word: &str) -> Result<Manager, String> {
    let manifest: serde_json::Value =
        serde_json::from_str(project.text("package.json")).unwrap_or_default();
    let named = manifest
        .get("packageManager")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let (name, version) = named.split_once('@').unwrap_or((named, ""));
    if project.has("pnpm-lock.yaml") || name == "pnpm" {
        let argv = words(&["pnpm", "add", "--ignore-scripts", "--", word]);
        return Ok(Candidate::new("pnpm", argv, PNPM, WITH_PNPM).setting(VARIABLES_OF_PNPM));
    }
    let is_berry = project.has(".yarnrc.yml") || (name == "yarn" && !version.starts_with("1."));
    if is_berry {
        require_manifest(project, "package.json", "yarn add")?;
        let argv = words(&["yarn", "add", "--mode=skip-build", word]);
        let variables = if project.has(".yarn/cache") {
            VARIABLES_OF_BERRY
        } else {
            VARIABLES_OF_BERRY_WITHOUT_CACHE
        };
        return Ok(Candidate::new("yarn", argv, YARN, WITH_BERRY)
            .setting(variables)
            .making(OF_BERRY));
    }
    if project.has("yarn.lock") || name == "yarn" {
        let mut argv = words(&["yarn", "add", "--ignore-scripts", "--non-interactive"]);
        argv.extend(words(&["--no-progress", "--", word]));
        return Ok(Candidate::new("yarn", argv, YARN, WITH_YARN).setting(VARIABLES_OF_NPM));
    }
    refuse_others(project, &["bun.lock", "bun.lockb"])?;
    let mut argv = words(&[
        "npm",
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
    ]);
    argv.extend(words(&["--", word]));
    Ok(Candidate::new("npm", argv, NPM, WITH_NPM).setting(VARIABLES_OF_NPM))
}

/// Adds the crate to the manifest, and downloads it with all others to the worktree's own cache.
fn cargo(word: &str) -> Manager {
    let fetch = words(&["cargo", "fetch"]);
    let cargo = Candidate::new("cargo", fetch, CARGO, WITH_CARGO).making(PACKAGES);
    Candidate {
        before: vec![words(&["cargo", "add", word])],
        ..cargo
    }
}

fn go(word: &str) -> Manager {
    let download = words(&["go", "mod", "download"]);
    let go = Candidate::new("go", download, GO, WITH_GO)
        .versioned(&["go", "version"])
        .setting(VARIABLES_OF_GO)
        .making(PACKAGES);
    Candidate {
        before: vec![words(&["go", "get", word])],
        ..go
    }
}

/// The folder of downloads, which later commands of the agent read.
const PACKAGES: Products = Products {
    folders: &[crate::tool::package_cache::FOLDER],
    marks: &[],
    files: &[],
};

/// Requires the file that a command changes, and does not make itself.
fn require_manifest(project: &Project, manifest: &str, command: &str) -> Result<(), String> {
    match project.has(manifest) {
        true => Ok(()),
        false => Err(format!(
            "`{command}` needs a {manifest} in the worktree's root, and there is none; create it \
             first"
        )),
    }
}

fn refuse_others(project: &Project, files: &[&str]) -> Result<(), String> {
    let other = OTHERS
        .iter()
        .find(|(file, _)| files.contains(file) && project.has(file));
    other.map_or(Ok(()), |(file, command)| {
        Err(format!(
            "this project has {file}, and `{command}` is not run by this tool; ask the user to run \
             it"
        ))
    })
}

#[cfg(test)]
mod tests;
