//! What is downloaded once more for the jobs that check a result, and for later agents.
//!
//! What an installation has left in a worktree is its agent's own, which may change it at any time,
//! so nobody else builds from it. The packages go into the run's folder instead, to which no
//! command of an agent can write. They are downloaded by the machine's own programs in a folder
//! without a file of the agent's: only names, versions and digests are taken from its lock file,
//! and the addresses of registries, which the user has allowed. A lock file's digests are compared
//! by the manager that installs from it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::candidate::words;
use super::grammar::Ecosystem;
use super::indexes::{Index, OfPip, Reader};
use super::listing::Packages;

/// Packages in one command: so many names fit into it.
const IN_COMMAND: usize = 5_000;
/// Maximum number of packages: ten such commands.
const MAX_PACKAGES: usize = 50_000;
/// How a lock file of cargo names the registry that needs no name.
const CRATES_IO: [&str; 2] = [
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
];
/// The manifest of a package that depends on those of a lock file.
const MANIFEST: &str = "[package]\nname = \"downloads\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
                        [lib]\npath = \"lib.rs\"\n[dependencies]\n";
/// The settings of cargo that say where its packages are; no other is passed on, since some name
/// programs.
const SOURCES: [&str; 3] = ["replace-with", "registry", "protocol"];
/// Runs the system's pip or, if there is none, the one that Python brings for virtual environments:
/// making one would take longer than to download.
const ANY_PIP: &str = "import runpy, sys
try:
    import pip
except ImportError:
    import ensurepip, pathlib
    bundled = pathlib.Path(ensurepip.__file__).parent / '_bundled'
    folders = [bundled, pathlib.Path('/usr/share/python-wheels')]
    wheels = [wheel for folder in folders for wheel in sorted(folder.glob('pip-*.whl'))]
    sys.path.insert(0, str(wheels[-1]))
sys.argv[0] = 'pip'
runpy.run_module('pip', run_name='__main__')
";
const OPTIONS: &[&str] = &[
    "--no-deps",
    "--only-binary",
    ":all:",
    "--no-input",
    "--no-cache-dir",
    "--disable-pip-version-check",
    "--progress-bar",
    "off",
];

/// How the packages of a manager reach other jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// As wheels, from which pip installs.
    Wheels,
    /// As what is in npm's cache.
    Npm,
    /// As crates, from which cargo builds.
    Cargo,
    /// As modules, from which go builds.
    Go,
}

/// The texts of files, by name.
pub(super) type Texts = BTreeMap<&'static str, String>;

/// What is to be downloaded.
pub(super) struct Wanted<'a> {
    /// The lists before the installation, from which work of other agents may begin, and after it.
    pub(super) lists: [&'a Texts; 2],
    /// The packages that are new, or were asked for.
    pub(super) packages: &'a Packages,
    /// The indexes that the project names.
    pub(super) indexes: &'a [Index],
}

/// A folder to be made, and the commands to be run in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Download {
    pub(super) files: Vec<(&'static str, String)>,
    pub(super) commands: Vec<Vec<String>>,
}

impl Sharing {
    /// Returns the files that list what is to be downloaded.
    pub(super) fn lists(self) -> &'static [&'static str] {
        match self {
            Sharing::Wheels => &[],
            Sharing::Npm => &["package-lock.json"],
            Sharing::Cargo => &["Cargo.lock", ".cargo/config", ".cargo/config.toml"],
            Sharing::Go => &["go.mod", "go.sum"],
        }
    }

    /// Says for whom the packages are there then.
    pub(super) fn for_whom(self) -> &'static str {
        match self {
            Sharing::Wheels => {
                "what checks the result has no network, but finds the downloaded wheels: it has \
                 the package if the project's setup installs it from the file that lists what the \
                 project needs"
            }
            Sharing::Npm => {
                "what checks the result has no network, but finds the downloaded packages: it has \
                 this one if the project's setup installs what the lock file lists, as `npm ci` \
                 does"
            }
            Sharing::Cargo | Sharing::Go => {
                "what checks the result, and later agents, have the package as well"
            }
        }
    }

    /// Returns what to download.
    pub(super) fn downloads(self, wanted: &Wanted<'_>) -> Vec<Download> {
        match self {
            Sharing::Wheels => wheels(wanted).into_iter().collect(),
            Sharing::Npm => of_npm(wanted).into_iter().collect(),
            Sharing::Cargo => each(wanted, of_cargo),
            Sharing::Go => each(wanted, of_go),
        }
    }
}

/// Returns the downloads of both lists, or of one if they are the same.
fn each(wanted: &Wanted<'_>, download: fn(&Texts) -> Option<Download>) -> Vec<Download> {
    let mut downloads: Vec<Download> = wanted.lists.into_iter().filter_map(download).collect();
    downloads.dedup();
    downloads
}

/// Returns the words that name packages, as far as their names and versions are such at a registry.
fn named<'a>(
    ecosystem: Ecosystem,
    packages: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<String> {
    let words =
        packages.filter_map(|(name, version)| Some(ecosystem.read(name, Some(version)).ok()?.word));
    // Most are in both lists, so only different ones count.
    let words: BTreeSet<String> = words.collect();
    words.into_iter().take(MAX_PACKAGES).collect()
}

/// Returns the commands that begin with these words and name all packages.
fn commands(begin: &[String], packages: &[String]) -> Vec<Vec<String>> {
    packages
        .chunks(IN_COMMAND)
        .map(|packages| [begin, packages].concat())
        .collect()
}

fn versions(packages: &Packages) -> impl Iterator<Item = (&str, &str)> {
    packages.iter().flat_map(|(name, versions)| {
        versions
            .iter()
            .map(move |version| (name.as_str(), version.as_str()))
    })
}

fn wheels(wanted: &Wanted<'_>) -> Option<Download> {
    let named = named(Ecosystem::Python, versions(wanted.packages));
    // The project's own interpreter runs what is in the worktree.
    let mut pip = words(&["python3", "-c", ANY_PIP, "download"]);
    pip.extend(words(OPTIONS));
    let of_pip = OfPip::new(wanted.indexes);
    pip.extend(of_pip.options("--index-url", "--extra-index-url"));
    pip.push("--".to_owned());
    let commands = commands(&pip, &named);
    if commands.is_empty() {
        None
    } else {
        Some(Download {
            files: Vec::new(),
            commands,
        })
    }
}

/// Takes names and versions from the lock files: an address in one may lead anywhere.
fn of_npm(wanted: &Wanted<'_>) -> Option<Download> {
    let locks: Vec<serde_json::Value> = wanted
        .lists
        .iter()
        .filter_map(|texts| parsed(texts))
        .collect();
    let packages = locks
        .iter()
        .filter_map(|lock| lock.get("packages")?.as_object())
        .flatten();
    let of_registry = packages.filter_map(|(path, package)| {
        let text = |key: &str| package.get(key).and_then(serde_json::Value::as_str);
        let is_elsewhere = text("resolved").is_some_and(|resolved| !resolved.starts_with("http"));
        let name =
            text("name").or_else(|| path.rsplit_once("node_modules/").map(|(_, name)| name))?;
        (path.contains("node_modules/") && !is_elsewhere).then_some((name, text("version")?))
    });
    let named = named(Ecosystem::JavaScript, of_registry);
    let commands = commands(
        &words(&["npm", "cache", "add", "--ignore-scripts", "--"]),
        &named,
    );
    let indexes = wanted.indexes.iter();
    let settings = indexes
        .filter(|index| index.reader == Reader::Npm)
        .map(|index| format!("{}={}\n", index.key, index.url))
        .collect();
    (!commands.is_empty()).then(|| Download {
        files: vec![(".npmrc", settings)],
        commands,
    })
}

fn parsed(texts: &Texts) -> Option<serde_json::Value> {
    serde_json::from_str(texts.get("package-lock.json")?).ok()
}

/// Lets a package depend on each that the lock file lists, in the versions there.
fn of_cargo(texts: &Texts) -> Option<Download> {
    let lock = texts.get("Cargo.lock").filter(|lock| !lock.is_empty())?;
    let sources = sources(settings_of_cargo(texts))?;
    let (mut manifest, mut count) = (MANIFEST.to_owned(), 0);
    for block in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let mut values = block
                .lines()
                .filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            values.next()?.strip_suffix('"')
        };
        let (Some(name), Some(version)) = (value("name"), value("version")) else {
            continue;
        };
        // What follows `+` makes no other version.
        let version = version.split('+').next().unwrap_or(version);
        let is_of_crates_io = value("source").is_some_and(|source| CRATES_IO.contains(&source));
        let is_named = Ecosystem::Rust
            .read(name, Some(&format!("={version}")))
            .is_ok();
        if is_of_crates_io && is_named {
            count += 1;
            let package =
                format!("package = \"{name}\", version = \"={version}\", default-features = false");
            manifest.push_str(&format!("p{count} = {{ {package} }}\n"));
        }
    }
    let files = vec![
        ("Cargo.toml", manifest),
        ("lib.rs", String::new()),
        ("Cargo.lock", lock.clone()),
        (".cargo/config.toml", sources),
    ];
    (count > 0).then(|| Download {
        files,
        commands: vec![words(&["cargo", "fetch"])],
    })
}

/// Returns the settings of cargo, of which it reads one file.
fn settings_of_cargo(texts: &Texts) -> &str {
    let of_file = |name: &str| {
        texts
            .get(name)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    };
    of_file(".cargo/config")
        .or_else(|| of_file(".cargo/config.toml"))
        .unwrap_or_default()
}

/// Returns what settings of cargo say about the places of its packages; `None` if they cannot be
/// read: another registry would be asked.
fn sources(settings: &str) -> Option<String> {
    let settings = settings.parse::<toml::Table>().ok()?;
    let mut kept = toml::Table::new();
    let sources = settings.get("source").and_then(toml::Value::as_table);
    for (name, source) in sources.into_iter().flatten() {
        let mut source = source.as_table()?.clone();
        source.retain(|key, value| SOURCES.contains(&key) && value.is_str());
        kept.insert(name.clone(), toml::Value::Table(source));
    }
    let kept = toml::Table::from_iter([("source".to_owned(), toml::Value::Table(kept))]);
    Some(kept.to_string())
}

fn of_go(texts: &Texts) -> Option<Download> {
    let text = |name: &str| texts.get(name).cloned().unwrap_or_default();
    let (module, sums) = (text("go.mod"), text("go.sum"));
    let lists_any = !module.is_empty() && !sums.is_empty();
    let commands = vec![words(&["go", "mod", "download"])];
    lists_any.then(|| Download {
        files: vec![("go.mod", module), ("go.sum", sums)],
        commands,
    })
}

#[cfg(test)]
mod tests;
