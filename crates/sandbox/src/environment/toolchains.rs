//! The toolchains that people install below their home: how each is recognised, and what of it a
//! job may see.
//!
//! Only folders of programs, libraries and packages are listed, never one that may hold a
//! password or a token. Everything that is shown is read-only, so a cache is listed only if its
//! tool works with one that it cannot write.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A toolchain, or the packages that one has downloaded.
pub(crate) struct Toolchain {
    /// The name of its project.
    pub(crate) name: &'static str,
    /// Where its folder may be; the first that exists counts.
    pub(crate) homes: &'static [Home],
    /// The programs that use its folder, wherever they are installed. It is also in use if a folder
    /// of `PATH`, or a link in one, leads into its folder.
    pub(crate) programs: &'static [&'static str],
    /// The parts of its folder that are shown; `.` is all of it, and a last `*` stands for the rest
    /// of a name.
    pub(crate) shown: &'static [&'static str],
    /// The paths below these parts that are not shown.
    pub(crate) hidden: &'static [&'static str],
    /// The variables that its programs need.
    pub(crate) variables: &'static [(&'static str, Value)],
}

/// A place of a toolchain's folder.
pub(crate) enum Home {
    /// The folder that this variable names.
    Named(&'static str),
    /// A folder below the one that this variable names.
    BelowNamed(&'static str, &'static str),
    /// A folder below the user's home, or an absolute one.
    Usual(&'static str),
}

/// The value of a variable in a job.
pub(crate) enum Value {
    /// The toolchain's folder.
    Folder,
    /// This text; `{}` stands for the toolchain's folder.
    Text(&'static str),
    /// The same, for a job without a network.
    Offline(&'static str),
    /// The user's own value, if there is one.
    OfUser,
}

/// A kind of installation that is recognised by its files, wherever it is: the parent of a `bin`
/// folder.
pub(crate) struct Installation {
    /// The files or folders that all exist in it; a `*` stands for the rest of a name.
    pub(crate) marks: &'static [&'static str],
    /// Whether all of it is shown, unless it holds more than an installation: an interpreter finds
    /// its libraries, headers and data by its own place, and starts as another one if some of them
    /// are missing.
    pub(crate) is_whole: bool,
    /// See [`Toolchain::shown`].
    pub(crate) shown: &'static [&'static str],
}

/// Files of installations that may contain a password or a token, wherever they are below what is
/// shown.
pub(crate) const SECRETS: [&str; 8] = [
    ".condarc",
    "condarc",
    "conf/management/jmxremote.password",
    "conf/settings.xml",
    "etc/conda",
    "etc/npmrc",
    "lib/node_modules/npm/npmrc",
    "pip.conf",
];

/// The folders and files of a home in which nothing is ever shown, except what the table lists.
pub(crate) const PRIVATE: [&str; 20] = [
    ".config",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".password-store",
    ".mozilla",
    ".thunderbird",
    ".m2",
    ".gradle",
    ".cargo",
    ".local/state",
    ".local/share/keyrings",
    ".local/share/uv/credentials",
];

use Home::{BelowNamed, Named, Usual};
use Value::{Folder, OfUser, Offline, Text};

const fn row(
    name: &'static str,
    homes: &'static [Home],
    shown: &'static [&'static str],
) -> Toolchain {
    Toolchain {
        name,
        homes,
        programs: &[],
        shown,
        hidden: &[],
        variables: &[],
    }
}

/// All toolchains. Rust's is not in the table: its folder is made anew for each job, because cargo
/// writes its locks there.
#[rustfmt::skip]
pub(crate) const TOOLCHAINS: &[Toolchain] = &[
    Toolchain {
        variables: &[("PYENV_ROOT", Folder), ("PYENV_VERSION", OfUser)],
        ..row("pyenv", &[Named("PYENV_ROOT"), Usual(".pyenv")],
            &["bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions"])
    },
    Toolchain {
        variables: &[("RBENV_ROOT", Folder), ("RBENV_VERSION", OfUser)],
        ..row("rbenv", &[Named("RBENV_ROOT"), Usual(".rbenv")],
            &["bin", "libexec", "plugins", "rbenv.d", "shims", "version", "versions"])
    },
    Toolchain {
        variables: &[("NODENV_ROOT", Folder), ("NODENV_VERSION", OfUser)],
        ..row("nodenv", &[Named("NODENV_ROOT"), Usual(".nodenv")],
            &["bin", "libexec", "plugins", "nodenv.d", "shims", "version", "versions"])
    },
    Toolchain {
        programs: &["uv", "uvx"],
        variables: &[("UV_PYTHON_INSTALL_DIR", Folder), ("UV_PYTHON_DOWNLOADS", Text("never")),
            ("UV_OFFLINE", Offline("1"))],
        ..row("uv",
            &[Named("UV_PYTHON_INSTALL_DIR"), BelowNamed("XDG_DATA_HOME", "uv/python"),
                Usual(".local/share/uv/python")],
            &["."])
    },
    Toolchain {
        ..row("uv tools",
            &[Named("UV_TOOL_DIR"), BelowNamed("XDG_DATA_HOME", "uv/tools"),
                Usual(".local/share/uv/tools")],
            &["."])
    },
    row("pipx",
        &[Named("PIPX_HOME"), BelowNamed("XDG_DATA_HOME", "pipx"), Usual(".local/share/pipx"),
            Usual(".local/pipx")],
        &["venvs", "shared", "py"]),
    Toolchain {
        programs: &["python3", "python", "pip", "pip3"],
        variables: &[("PYTHONUSERBASE", Folder)],
        ..row("pip --user", &[Named("PYTHONUSERBASE"), Usual(".local")], &["lib/python3*"])
    },
    row("poetry",
        &[Named("POETRY_HOME"), BelowNamed("XDG_DATA_HOME", "pypoetry"),
            Usual(".local/share/pypoetry")],
        &["venv"]),
    Toolchain {
        variables: &[("NVM_DIR", Folder)],
        ..row("nvm", &[Named("NVM_DIR"), Usual(".nvm"), Usual(".config/nvm")],
            &["alias", "nvm.sh", "nvm-exec", "versions"])
    },
    Toolchain {
        variables: &[("FNM_DIR", Folder)],
        ..row("fnm",
            &[Named("FNM_DIR"), BelowNamed("XDG_DATA_HOME", "fnm"), Usual(".local/share/fnm"),
                Usual(".fnm")],
            &["aliases", "node-versions"])
    },
    Toolchain {
        variables: &[("VOLTA_HOME", Folder)],
        ..row("volta", &[Named("VOLTA_HOME"), Usual(".volta")], &["bin", "layout.*", "tools"])
    },
    Toolchain {
        // Starts the version of a manager that a project pins, as far as the user has used it.
        programs: &["corepack", "pnpm", "yarn"],
        variables: &[("COREPACK_HOME", Offline("{}")), ("COREPACK_ENABLE_NETWORK", Offline("0"))],
        ..row("corepack",
            &[Named("COREPACK_HOME"), BelowNamed("XDG_CACHE_HOME", "node/corepack"),
                Usual(".cache/node/corepack")],
            &["."])
    },
    Toolchain {
        programs: &["pnpm"],
        variables: &[("PNPM_HOME", Folder)],
        ..row("pnpm",
            &[Named("PNPM_HOME"), BelowNamed("XDG_DATA_HOME", "pnpm"), Usual(".local/share/pnpm")],
            &[".tools", "bin", "global", "nodejs"])
    },
    Toolchain {
        variables: &[("ASDF_DATA_DIR", Folder), ("ASDF_DIR", OfUser)],
        ..row("asdf", &[Named("ASDF_DATA_DIR"), Usual(".asdf")],
            &["asdf.sh", "bin", "installs", "lib", "libexec", "plugins", "shims"])
    },
    Toolchain {
        // A configuration that is trusted here runs nothing outside the sandbox.
        variables: &[("MISE_DATA_DIR", Folder), ("MISE_TRUSTED_CONFIG_PATHS", Text("/")),
            ("MISE_OFFLINE", Offline("1"))],
        ..row("mise",
            &[Named("MISE_DATA_DIR"), BelowNamed("XDG_DATA_HOME", "mise"),
                Usual(".local/share/mise")],
            &["installs", "plugins", "shims"])
    },
    Toolchain {
        variables: &[("SDKMAN_DIR", Folder)],
        ..row("sdkman", &[Named("SDKMAN_DIR"), Usual(".sdkman")], &["candidates"])
    },
    Toolchain {
        programs: &["java", "mvn", "gradle"],
        variables: &[("JAVA_HOME", Folder)],
        ..row("java", &[Named("JAVA_HOME")], &["bin", "conf", "include", "jmods", "lib", "release"])
    },
    row("deno", &[Named("DENO_INSTALL"), Usual(".deno")], &["bin"]),
    Toolchain {
        variables: &[("BUN_INSTALL", Folder)],
        ..row("bun", &[Named("BUN_INSTALL"), Usual(".bun")], &["bin", "install/global"])
    },
    row("homebrew", &[Named("HOMEBREW_PREFIX"), Usual("/home/linuxbrew/.linuxbrew")],
        &["Cellar", "bin", "include", "lib", "libexec", "opt", "sbin", "share"]),
    Toolchain {
        programs: &["go"],
        // A repository of the version control may name an address with a password.
        hidden: &["cache/vcs"],
        variables: &[
            ("GOMODCACHE", Folder),
            ("GOPROXY", Offline("off")),
            ("GOFLAGS", OfUser),
            ("GOTOOLCHAIN", OfUser),
            ("GOPRIVATE", OfUser),
            ("GONOSUMDB", OfUser),
            ("GOSUMDB", OfUser),
        ],
        ..row("go modules",
            &[Named("GOMODCACHE"), BelowNamed("GOPATH", "pkg/mod"), Usual("go/pkg/mod")],
            &["."])
    },
    Toolchain {
        programs: &["mvn", "mvnw"],
        // Since 3.9, Maven reads a second repository that it does not write.
        variables: &[
            ("MAVEN_ARGS", Text("-Dmaven.repo.local.tail={} \
                -Dmaven.repo.local.tail.ignoreAvailability=true")),
            ("MAVEN_ARGS", Offline("-o -Dmaven.repo.local.tail={} \
                -Dmaven.repo.local.tail.ignoreAvailability=true")),
        ],
        ..row("maven packages", &[Usual(".m2/repository")], &["."])
    },
    Toolchain {
        programs: &["gradle", "gradlew", "java"],
        variables: &[("GRADLE_RO_DEP_CACHE", Folder)],
        ..row("gradle packages",
            &[BelowNamed("GRADLE_USER_HOME", "caches"), Usual(".gradle/caches")],
            &["modules-2"])
    },
];

/// The kinds of installations that are recognised by their files.
pub(crate) const INSTALLATIONS: &[Installation] = &[
    part(
        &["bin/go", "src/runtime"],
        &["VERSION", "bin", "go.env", "lib", "misc", "pkg", "src"],
    ),
    part(&["lib/node_modules"], &["include/node", "lib/node_modules"]),
    Installation {
        is_whole: true,
        ..part(
            &["conda-meta"],
            &["conda-meta", "include", "lib", "libexec", "ssl"],
        )
    },
    part(&["pyvenv.cfg"], &["include", "lib", "lib64", "pyvenv.cfg"]),
    Installation {
        is_whole: true,
        ..part(&PYTHON, &["include", "lib", "share/terminfo"])
    },
    part(
        &["bin/java", "lib/modules"],
        &["conf", "include", "jmods", "lib", "release"],
    ),
];

/// The marks of every installation of Python, in contrast to folders in which only packages for it
/// are.
pub(crate) const PYTHON: [&str; 2] = ["bin/python3", "lib/python3*/os.py"];

const fn part(marks: &'static [&'static str], shown: &'static [&'static str]) -> Installation {
    Installation {
        marks,
        is_whole: false,
        shown,
    }
}

impl Toolchain {
    /// Returns its folder if it exists, as named.
    pub(crate) fn folder(
        &self,
        home: &Path,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        for place in self.homes {
            if let Some(folder) = place.folder(home, variable)
                && folder.is_dir()
            {
                return Some(folder);
            }
        }
        None
    }

    /// Returns the variables of a job that sees the folder: those of any job, or those that only a
    /// job without a network gets.
    pub(crate) fn variables_for(
        &self,
        folder: &Path,
        variable: &dyn Fn(&str) -> Option<OsString>,
        offline: bool,
    ) -> Vec<(OsString, OsString)> {
        let mut variables = Vec::new();
        for (name, kind) in self.variables {
            if matches!(kind, Offline(_)) != offline {
                continue;
            }
            let value = match kind {
                Folder => Some(folder.as_os_str().to_owned()),
                Text(text) | Offline(text) => with_folder(text, folder),
                OfUser => variable(name),
            };
            if let Some(value) = value {
                variables.push(((*name).into(), value));
            }
        }
        variables
    }
}

impl Home {
    fn folder(&self, home: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        match self {
            Named(name) => absolute(variable(name)?),
            BelowNamed(name, below) => Some(absolute(variable(name)?)?.join(below)),
            Usual(below) => Some(home.join(below)),
        }
    }
}

fn absolute(path: OsString) -> Option<PathBuf> {
    let path = PathBuf::from(path);
    path.is_absolute().then_some(path)
}

/// Returns a text with the folder's name in it; a name that would be split into words is not
/// passed.
fn with_folder(text: &str, folder: &Path) -> Option<OsString> {
    if !text.contains("{}") {
        return Some(text.into());
    }
    let name = folder.to_str()?;
    if name.contains(char::is_whitespace) {
        return None;
    }
    Some(text.replace("{}", name).into())
}
