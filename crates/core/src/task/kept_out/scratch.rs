//! The table of caches and build outputs, by the names that the tools of their ecosystems give
//! them.
//!
//! A name that people also give to folders of sources (`build`, `dist`, `target`) counts only
//! beside a file of the ecosystem that makes such a folder, or with a file inside that says what it
//! is. A folder that holds a tracked file is never one of these: it was put under version
//! control.

/// How the surroundings of a new file or folder look.
pub(super) struct Place<'a> {
    /// Reports whether the folder that holds it has an entry of this name, in lower case; `*`
    /// begins a suffix.
    pub(super) beside: &'a dyn Fn(&str) -> bool,
    /// Reports whether the folder itself has an entry of exactly this name.
    pub(super) inside: &'a dyn Fn(&str) -> bool,
}

/// Names of one kind.
struct Row {
    /// The names in lower case; one that begins or ends with `*` is a suffix or a prefix.
    names: &'static [&'static str],
    /// Entries of the same folder of which one must exist, unless there are none; `*` begins a
    /// suffix.
    beside: &'static [&'static str],
    /// Its kind, in words.
    what: &'static str,
}

const fn row(names: &'static [&'static str], what: &'static str) -> Row {
    Row {
        names,
        beside: &[],
        what,
    }
}

const fn beside(
    names: &'static [&'static str],
    beside: &'static [&'static str],
    what: &'static str,
) -> Row {
    Row {
        names,
        beside,
        what,
    }
}

const GRADLE: [&str; 4] = [
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
];

/// Folders of caches and outputs.
#[rustfmt::skip]
const FOLDERS: &[Row] = &[
    row(&["node_modules", "bower_components", "jspm_packages"], "installed packages"),
    row(&["__pycache__"], "compiled Python modules"),
    row(&[".pytest_cache", ".mypy_cache", ".ruff_cache", ".pytype", ".hypothesis", ".tox", ".nox",
        ".eggs", ".ipynb_checkpoints"], "a cache of Python's tools"),
    row(&["*.egg-info", "*.dist-info"], "the metadata of a Python build"),
    row(&[".venv", ".virtualenv"], "a virtual environment"),
    row(&[".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".vite", ".angular",
        ".docusaurus", ".nyc_output", ".sass-cache", ".expo", ".serverless"],
        "a cache of JavaScript's tools"),
    row(&[".gradle", ".kotlin"], "a cache of Gradle"),
    row(&[".terraform"], "installed providers"),
    row(&[".dart_tool", ".stack-work", "dist-newstyle", "zig-cache", ".zig-cache", "zig-out",
        "elm-stuff", ".bloop", ".metals"], "a build output"),
    row(&["htmlcov"], "a report of coverage"),
    row(&[".cache", ".ccls-cache"], "a cache"),
    row(&["cmakefiles", "cmake-build-*"], "an output of CMake"),
    beside(&["target"], &["cargo.toml", "pom.xml", "build.sbt", "project.clj"], "a build output"),
    beside(&["build"], &["cmakelists.txt", "meson.build", "setup.py", "setup.cfg", "pyproject.toml",
        "package.json", "pubspec.yaml"], "a build output"),
    beside(&["build"], &GRADLE, "a build output"),
    beside(&["dist"], &["package.json", "pyproject.toml", "setup.py", "setup.cfg"],
        "a build output"),
    beside(&["out"], &["next.config.js", "next.config.mjs", "next.config.ts", "foundry.toml"],
        "a build output"),
    beside(&["coverage"], &["package.json", "gemfile", "composer.json"], "a report of coverage"),
    beside(&["_build"], &["mix.exs", "rebar.config", "dune-project", "conf.py"], "a build output"),
    beside(&["deps"], &["mix.exs"], "installed packages"),
    beside(&["vendor"], &["composer.json"], "installed packages"),
    beside(&["pods"], &["podfile"], "installed packages"),
    beside(&[".build"], &["package.swift"], "a build output"),
    beside(&["bin", "obj"], &["*.csproj", "*.fsproj", "*.vbproj"], "a build output"),
];

/// Files that the tools leave in a folder which they can make again, with what the folder is then.
const TAGS: [(&str, &str); 3] = [
    ("CACHEDIR.TAG", "a cache, by its CACHEDIR.TAG"),
    ("CMakeCache.txt", "an output of CMake"),
    ("pyvenv.cfg", "a virtual environment"),
];

/// Single files.
const FILES: &[Row] = &[
    row(&["*.pyc", "*.pyo"], "a compiled Python module"),
    row(&["*.log", "nohup.out"], "a log"),
    row(
        &[".ds_store", "thumbs.db", "desktop.ini"],
        "a file of a file manager",
    ),
    row(&["*.swp", "*.swo"], "a file of an editor"),
    row(
        &[
            "*.o", "*.obj", "*.class", "a.out", "*.gcda", "*.gcno", "*.rs.bk",
        ],
        "an output of a compiler",
    ),
    row(
        &[
            "*.tsbuildinfo",
            ".eslintcache",
            ".stylelintcache",
            ".phpunit.result.cache",
        ],
        "a cache of a tool",
    ),
    row(&[".coverage", ".coverage.*"], "a report of coverage"),
    row(&["*.orig", "*.rej"], "a leftover of a patch"),
];

/// Returns what a new file or folder is if the table knows it, by the last part of its path in
/// lower case.
pub(super) fn scratch(name: &str, is_folder: bool, place: &Place<'_>) -> Option<&'static str> {
    if !is_folder {
        return FILES.iter().find(|row| row.has(name)).map(|row| row.what);
    }
    for row in FOLDERS {
        // Its name first: what is beside it is looked up among all entries of its folder.
        if row.has(name) && row.has_beside(place) {
            return Some(row.what);
        }
    }
    for (tag, what) in TAGS {
        if (place.inside)(tag) {
            return Some(what);
        }
    }
    None
}

impl Row {
    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| is_named(known, name))
    }

    fn has_beside(&self, place: &Place<'_>) -> bool {
        self.beside.is_empty() || self.beside.iter().any(|other| (place.beside)(other))
    }
}

/// Reports whether a name is this one; `*` at one end stands for at least one character.
pub(super) fn is_named(known: &str, name: &str) -> bool {
    match (known.strip_prefix('*'), known.strip_suffix('*')) {
        (Some(end), _) => name.len() > end.len() && name.ends_with(end),
        (None, Some(start)) => name.len() > start.len() && name.starts_with(start),
        (None, None) => name == known,
    }
}
