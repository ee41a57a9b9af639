//! Which package manager installs a package into a project, and how, decided from the project's
//! files.
//!
//! No manager runs the scripts of a package. One of Python is built from its source only if no
//! wheel fits.

use super::super::candidate::{Candidate, words};
use super::super::products::Products;
use super::super::project::{Language, Project};
use super::grammar::{Ecosystem, Requested};
use super::listing::Listing;
use super::registries::{Indexes, Reader};
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
const PIP: &str = "pip in the project's virtual environment (`create_virtual_environment`), or uv (docs.astral.sh/uv)";
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

const OF_PIP: &[Reader] = &[Reader::Pip];
const OF_UV: &[Reader] = &[Reader::Uv];
const OF_NPM: &[Reader] = &[Reader::Npm];
const OF_YARN: &[Reader] = &[Reader::Npm, Reader::Yarn];
const OF_BERRY_ALONE: &[Reader] = &[Reader::Berry];

const NO_SCRIPTS: &str = "the packages' own install scripts are not run";
const SOURCES: &str =
    "a package without a wheel is built from its source, which runs its code in the sandbox";
const NO_CODE: &str = "no code of packages runs until a later command uses them";
const NOT_RECORDED: &str = "pip records this nowhere in the project: add the package to the file that lists what the \
    project needs";
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
    indexes: &Indexes,
) -> Result<Vec<Manager>, String> {
    match ecosystem {
        Ecosystem::Python => python(project, &requested.word, indexes),
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

#[expect(clippy::too_many_lines, reason = "one manager after the other")]
fn python(project: &Project, word: &str, indexes: &Indexes) -> Result<Vec<Manager>, String> {
    let install = |from_source, listing, reads, shares, note| Install {
        from_source,
        listing,
        hosts: PYPI,
        reads,
        makes: None,
        keeps_downloads: false,
        shares,
        code: SOURCES,
        note,
    };
    if project.has("uv.lock") || project.mentions(&["pyproject.toml"], "[tool.uv") {
        require_manifest(project, "pyproject.toml", "uv add")?;
        let install = install(
            Some(words(&["uv", "add", "--", word])),
            Listing::Blocks("uv.lock"),
            OF_UV,
            None,
            "",
        );
        let uv = Candidate::new(
            "uv",
            words(&["uv", "add", "--no-build", "--", word]),
            UV,
            install,
        );
        return Ok(vec![Candidate {
            variables: VARIABLES_OF_UV,
            ..uv
        }]);
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
    let wheels = Some(Sharing::Wheels);
    let listing = || Listing::SitePackages(python.trim_end_matches("/bin/python"));
    let command = |before: &[&str], index: [&str; 2], wheels: bool| {
        let mut argv = words(before);
        let [index, extra] = index;
        argv.extend(
            indexes
                .index
                .iter()
                .flat_map(|url| [index.to_owned(), url.clone()]),
        );
        argv.extend(
            indexes
                .extra
                .iter()
                .flat_map(|url| [extra.to_owned(), url.clone()]),
        );
        argv.extend(words(if wheels {
            &["--only-binary", ":all:"]
        } else {
            &[]
        }));
        argv.extend(words(&["--", word]));
        argv
    };
    let options = [
        "--no-input",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
    ];
    let of_pip: Vec<&str> = [python, "-m", "pip", "install"]
        .into_iter()
        .chain(options)
        .collect();
    let of_pip = |wheels| command(&of_pip, ["--index-url", "--extra-index-url"], wheels);
    let of_uv = ["uv", "pip", "install", "--python", python];
    let of_uv = |wheels| command(&of_uv, ["--default-index", "--index"], wheels);
    let pip = Candidate::new(
        "pip",
        of_pip(true),
        PIP,
        install(Some(of_pip(false)), listing(), OF_PIP, wheels, NOT_RECORDED),
    );
    let uv = Candidate::new(
        "uv pip",
        of_uv(true),
        PIP,
        install(Some(of_uv(false)), listing(), OF_PIP, wheels, NOT_RECORDED),
    );
    let pip = Candidate {
        variables: VARIABLES_OF_PIP,
        ..pip.versioned(&[python, "-m", "pip", "--version"])
    };
    Ok(vec![
        pip,
        Candidate {
            variables: VARIABLES_OF_UV,
            ..uv
        },
    ])
}

fn javascript(project: &Project, word: &str) -> Result<Manager, String> {
    let manifest: serde_json::Value =
        serde_json::from_str(project.text("package.json")).unwrap_or_default();
    let named = manifest
        .get("packageManager")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let (name, version) = named.split_once('@').unwrap_or((named, ""));
    let install = |listing, hosts, reads, makes| Install {
        from_source: None,
        listing,
        hosts,
        reads,
        makes,
        keeps_downloads: false,
        shares: None,
        code: NO_SCRIPTS,
        note: NO_SCRIPTS,
    };
    let node_modules = Some("node_modules");
    if project.has("pnpm-lock.yaml") || name == "pnpm" {
        let argv = words(&["pnpm", "add", "--ignore-scripts", "--", word]);
        let pnpm = Candidate::new(
            "pnpm",
            argv,
            PNPM,
            install(Listing::Pnpm, NPM_REGISTRY, OF_NPM, node_modules),
        );
        return Ok(Candidate {
            variables: VARIABLES_OF_PNPM,
            ..pnpm
        });
    }
    let is_berry = project.has(".yarnrc.yml") || (name == "yarn" && !version.starts_with("1."));
    if is_berry {
        require_manifest(project, "package.json", "yarn add")?;
        let argv = words(&["yarn", "add", "--mode=skip-build", word]);
        let berry = Candidate::new(
            "yarn",
            argv,
            YARN,
            install(Listing::Yarn, YARN_REGISTRY, OF_BERRY_ALONE, node_modules),
        );
        let variables = if project.has(".yarn/cache") {
            VARIABLES_OF_BERRY
        } else {
            VARIABLES_OF_BERRY_WITHOUT_CACHE
        };
        return Ok(Candidate {
            variables,
            ..berry.making(OF_BERRY)
        });
    }
    if project.has("yarn.lock") || name == "yarn" {
        let argv = words(&[
            "yarn",
            "add",
            "--ignore-scripts",
            "--non-interactive",
            "--no-progress",
            "--",
            word,
        ]);
        let yarn = Candidate::new(
            "yarn",
            argv,
            YARN,
            install(Listing::Yarn, YARN_REGISTRY, OF_YARN, node_modules),
        );
        return Ok(Candidate {
            variables: VARIABLES_OF_NPM,
            ..yarn
        });
    }
    refuse_others(project, &["bun.lock", "bun.lockb"])?;
    let argv = words(&[
        "npm",
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--",
        word,
    ]);
    let install = Install {
        shares: Some(Sharing::Npm),
        ..install(Listing::Npm, NPM_REGISTRY, OF_NPM, node_modules)
    };
    let npm = Candidate::new("npm", argv, NPM, install);
    Ok(Candidate {
        variables: VARIABLES_OF_NPM,
        ..npm
    })
}

/// Adds the crate to the manifest, and downloads it with all others to the worktree's own cache.
fn cargo(word: &str) -> Manager {
    let install = Install {
        reads: &[Reader::Cargo],
        ..caching(Listing::Blocks("Cargo.lock"), CRATES_IO, Sharing::Cargo)
    };
    let cargo = Candidate::new("cargo", words(&["cargo", "fetch"]), CARGO, install);
    Candidate {
        before: vec![words(&["cargo", "add", word])],
        ..cargo
    }
    .making(PACKAGES)
}

/// Returns what a manager does that puts nothing into the project but its name.
fn caching(listing: Listing, hosts: &'static [&'static str], shares: Sharing) -> Install {
    let shares = Some(shares);
    let (code, note) = (NO_CODE, "");
    Install {
        from_source: None,
        listing,
        hosts,
        reads: &[],
        makes: None,
        keeps_downloads: true,
        shares,
        code,
        note,
    }
}

fn go(word: &str) -> Manager {
    let install = caching(Listing::GoMod, GO_PROXY, Sharing::Go);
    let go = Candidate::new("go", words(&["go", "mod", "download"]), GO, install)
        .versioned(&["go", "version"]);
    let go = Candidate {
        before: vec![words(&["go", "get", word])],
        variables: VARIABLES_OF_GO,
        ..go
    };
    go.making(PACKAGES)
}

/// The folder of downloads, which later commands of the agent read.
const PACKAGES: Products = Products {
    folders: &[crate::package_cache::FOLDER],
    marks: &[],
    files: &[],
};

/// Requires the file that a command changes, and does not make itself.
fn require_manifest(project: &Project, manifest: &str, command: &str) -> Result<(), String> {
    match project.has(manifest) {
        true => Ok(()),
        false => Err(format!(
            "`{command}` needs a {manifest} in the worktree's root, and there is none; create it first"
        )),
    }
}

fn refuse_others(project: &Project, files: &[&str]) -> Result<(), String> {
    let other = OTHERS
        .iter()
        .find(|(file, _)| files.contains(file) && project.has(file));
    other.map_or(Ok(()), |(file, command)| {
        Err(format!("this project has {file}, and `{command}` is not run by this tool; ask the user to run it"))
    })
}

#[cfg(test)]
mod tests;
