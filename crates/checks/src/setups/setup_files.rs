//! The files of a commit that its setup reads or runs, as far as that can be told from its command.
//!
//! They are the usual files of package managers, the files that the command names, and those that
//! these name in turn. Where one of them differs from the base's, the setup runs again, without the
//! network. Nothing that has to hold depends on it: what a setup reads in the end cannot be told
//! from its command.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use orchestrate_core::text::git_path::resolved;
use orchestrate_git::{GitError, Repo};
use serde_json::Value;

/// Files of package managers, by name.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "package.json", "package-lock.json", "npm-shrinkwrap.json", ".npmrc", "binding.gyp", "bun.lock",
    "bun.lockb",
    "bunfig.toml", "yarn.lock", ".yarnrc", ".yarnrc.yml", "pnpm-lock.yaml", "pnpm-workspace.yaml",
    ".pnpmfile.cjs",
    "lerna.json", "deno.json", "deno.lock",
    "pyproject.toml", "setup.py", "setup.cfg", "uv.lock", "uv.toml", "poetry.lock", "poetry.toml",
    "pdm.lock", "Pipfile",
    "Pipfile.lock", "hatch_build.py", "environment.yml", ".python-version", "pip.conf",
    "Cargo.toml", "Cargo.lock", "build.rs", "rust-toolchain", "rust-toolchain.toml",
    "go.mod", "go.sum", "go.work", "go.work.sum",
    "Gemfile", "Gemfile.lock", "composer.json", "composer.lock", "mix.exs", "mix.lock",
    "pubspec.yaml", "pubspec.lock",
    "pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
    "gradle.properties",
    "gradle-wrapper.properties", "gradle-wrapper.jar", "maven-wrapper.properties",
    "libs.versions.toml",
    "nuget.config", "packages.lock.json",
];

/// Folders whose files package managers read or run.
const FOLDERS: &[&str] = &[".yarn", ".cargo", ".mvn"];

/// Files that a program of the command reads, by its name.
const OF_PROGRAMS: &[(&str, &[&str])] = &[
    ("make", &["Makefile", "makefile", "GNUmakefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
];

/// The scripts of a package that its installation runs.
const INSTALL_SCRIPTS: [&str; 9] = [
    "preinstall",
    "install",
    "postinstall",
    "prepublish",
    "preprepare",
    "prepare",
    "postprepare",
    "dependencies",
    "postdependencies",
];

/// The keys of a package that its installation does not read; of its scripts, it reads some.
const OF_NO_INSTALLATION: [&str; 14] = [
    "scripts",
    "version",
    "description",
    "keywords",
    "author",
    "contributors",
    "license",
    "homepage",
    "repository",
    "bugs",
    "jest",
    "eslintConfig",
    "prettier",
    "browserslist",
];

/// What may be left out at the end of a script's name.
const EXTENSIONS: [&str; 5] = ["", ".js", ".cjs", ".mjs", ".sh"];

/// The kinds of files that a script runs or reads, rather than what it only works on.
const SCRIPTS: [&str; 14] = [
    "sh", "bash", "py", "js", "cjs", "mjs", "ts", "rb", "pl", "mk", "toml", "json", "txt", "lock",
];

/// The maximum number of scripts that are searched for the names of others, and of bytes of each.
const MOST_SEARCHED: usize = 200;
const MOST_BYTES: usize = 256 << 10;

/// Returns the files of a commit (or tree) that a setup reads or runs, each with the id of its
/// content.
///
/// # Errors
/// If the commit cannot be read.
fn setup_files(
    repo: &Repo,
    treeish: &Oid,
    command: &str,
) -> Result<BTreeMap<PathBuf, Oid>, GitError> {
    let all = repo.store().all_files(treeish)?;
    let mut search = Search {
        repo,
        treeish,
        all: &all,
        found: BTreeSet::new(),
        open: Vec::new(),
    };
    search.open.push(Text {
        folder: PathBuf::new(),
        text: command.to_owned(),
        is_command: true,
    });
    for path in all.keys().filter(|path| is_known(path)) {
        search.found.insert(path.clone());
        if path.ends_with("package.json")
            && let Some(text) = search.read(path)?
        {
            search.open.push(Text {
                folder: folder_of(path),
                text: install_scripts(&text),
                is_command: true,
            });
        }
    }
    search.follow(command)?;
    let found = search.found;
    Ok(all
        .into_iter()
        .filter(|(path, _)| found.contains(path))
        .collect())
}

/// Returns the files in which two commits (or trees) differ for their setup. Of a `package.json`,
/// only what decides an installation counts: agents change its other scripts often.
///
/// # Errors
/// If one of them cannot be read.
pub(crate) fn changed_for_setup(
    repo: &Repo,
    one: &Oid,
    other: &Oid,
    command: &str,
) -> Result<Vec<PathBuf>, GitError> {
    let mut changed = changed(
        &setup_files(repo, one, command)?,
        &setup_files(repo, other, command)?,
    );
    let mut left = Vec::new();
    for path in changed.drain(..) {
        let in_one = |tree: &Oid| {
            Ok(repo
                .store()
                .read_stored(tree, &path)?
                .map(|bytes| installed(&bytes)))
        };
        if !path.ends_with("package.json") || in_one(one)? != in_one(other)? {
            left.push(path);
        }
    }
    Ok(left)
}

/// Returns what decides an installation of a `package.json`, in a form to be compared.
fn installed(bytes: &[u8]) -> Vec<u8> {
    let Ok(Value::Object(package)) = serde_json::from_slice(bytes) else {
        return bytes.to_owned();
    };
    let scripts = install_scripts(&String::from_utf8_lossy(bytes));
    let kept: BTreeMap<&String, &Value> = package
        .iter()
        .filter(|(key, _)| !OF_NO_INSTALLATION.contains(&key.as_str()))
        .collect();
    format!("{kept:?} {scripts}").into_bytes()
}

/// Returns the files that differ between two results of [`setup_files`].
fn changed(one: &BTreeMap<PathBuf, Oid>, other: &BTreeMap<PathBuf, Oid>) -> Vec<PathBuf> {
    let differs = |path: &&PathBuf| one.get(*path) != other.get(*path);
    let mut changed: Vec<PathBuf> = one
        .keys()
        .chain(other.keys())
        .filter(differs)
        .cloned()
        .collect();
    changed.sort();
    changed.dedup();
    changed
}

struct Search<'a> {
    repo: &'a Repo,
    treeish: &'a Oid,
    all: &'a BTreeMap<PathBuf, Oid>,
    found: BTreeSet<PathBuf>,
    open: Vec<Text>,
}

/// A text that may name further files.
struct Text {
    /// The folder in which it is used.
    folder: PathBuf,
    text: String,
    /// Whether all files that it names count, or scripts alone.
    is_command: bool,
}

impl Search<'_> {
    fn follow(&mut self, command: &str) -> Result<(), GitError> {
        for (program, files) in OF_PROGRAMS {
            if words(command).any(|word| word == *program) {
                files
                    .iter()
                    .try_for_each(|file| self.add(Path::new(file)))?;
            }
        }
        let mut searched = 0;
        while let Some(Text {
            folder,
            text,
            is_command,
        }) = self.open.pop()
        {
            searched += 1;
            if searched > MOST_SEARCHED {
                break;
            }
            let names = words(&text)
                .flat_map(|word| EXTENSIONS.map(|extension| format!("{word}{extension}")));
            let paths = names.flat_map(|name| {
                [
                    resolved(&folder, Path::new(&name)),
                    resolved(Path::new(""), Path::new(&name)),
                ]
            });
            paths
                .flatten()
                .filter(|path| is_command || is_script(path))
                .try_for_each(|path| self.add(&path))?;
        }
        Ok(())
    }

    /// Adds a file, if the commit has it, and its text to what is searched.
    fn add(&mut self, path: &Path) -> Result<(), GitError> {
        if !self.all.contains_key(path) || !self.found.insert(path.to_owned()) {
            return Ok(());
        }
        if let Some(text) = self.read(path)? {
            self.open.push(Text {
                folder: folder_of(path),
                text,
                is_command: false,
            });
        }
        Ok(())
    }

    /// Returns the text of a file; `None` for a large one, and for one that is not text.
    fn read(&self, path: &Path) -> Result<Option<String>, GitError> {
        let bytes = self
            .repo
            .store()
            .read_stored(self.treeish, path)?
            .filter(|bytes| bytes.len() <= MOST_BYTES);
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }
}

fn is_known(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_list = ["requirements", "constraints"]
        .iter()
        .any(|start| name.starts_with(start));
    let is_in = |folder: &str| {
        path.parent()
            .is_some_and(|parent| parent.iter().any(|part| part == folder))
    };
    NAMES.contains(&name.as_ref())
        || (is_list && !name.ends_with(".md"))
        || FOLDERS.iter().any(|folder| is_in(folder))
}

fn is_script(path: &Path) -> bool {
    path.extension()
        .is_none_or(|extension| SCRIPTS.iter().any(|known| extension == *known))
}

/// Returns the scripts of a `package.json` that its installation runs.
fn install_scripts(text: &str) -> String {
    let Ok(package) = serde_json::from_str::<Value>(text) else {
        return text.to_owned();
    };
    let script = |name: &&str| {
        package
            .get("scripts")?
            .get(*name)?
            .as_str()
            .map(str::to_owned)
    };
    INSTALL_SCRIPTS
        .iter()
        .filter_map(script)
        .collect::<Vec<_>>()
        .join("\n")
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}

/// Returns what a text has between the characters that end a file's name.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(ends_word).filter(|word| !word.is_empty())
}

fn ends_word(next: char) -> bool {
    !(next.is_alphanumeric() || "._/-@+".contains(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_files_are_told_by_name_and_folder() {
        let known = [
            "package.json",
            "apps/web/package-lock.json",
            "requirements-dev.txt",
            ".yarn/releases/yarn.cjs",
        ];
        let other = [
            "src/main.rs",
            "README.md",
            "docs/requirements.md",
            "package.json.bak",
        ];
        assert!(known.iter().all(|path| is_known(Path::new(path))));
        assert!(!other.iter().any(|path| is_known(Path::new(path))));
    }

    #[test]
    fn only_scripts_of_the_installation_count() {
        let text = r#"{"scripts": {"test": "node test.js", "postinstall": "node scripts/patch"}}"#;
        assert_eq!(install_scripts(text), "node scripts/patch");
        assert_eq!(
            words("cd x && ./setup.sh 'a b'").collect::<Vec<_>>(),
            ["cd", "x", "./setup.sh", "a", "b"]
        );
    }

    #[test]
    fn of_a_package_only_what_decides_an_installation_counts() {
        let of = |text: &str| installed(text.as_bytes());
        let base = r#"{"name": "x", "dependencies": {"y": "1"},
            "scripts": {"test": "a", "prepare": "p"}}"#;
        let same = r#"{"name": "x", "scripts": {"prepare": "p", "test": "b"},
            "dependencies": {"y": "1"}, "version": "2"}"#;
        assert_eq!(of(base), of(same));
        for (part, other) in [
            ("\"1\"", "\"2\""),
            ("\"p\"", "\"q\""),
            ("name", "nam"),
            ("}}", "}"),
        ] {
            assert_ne!(of(base), of(&base.replace(part, other)), "{part}");
        }
    }

    #[test]
    fn changes_are_listed() {
        let files = |list: &[(&str, &str)]| {
            list.iter()
                .map(|(path, id)| (path.into(), Oid::new(*id)))
                .collect()
        };
        let one = files(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let other = files(&[("a", "1"), ("b", "2"), ("d", "1")]);
        assert_eq!(changed(&one, &other), ["b", "c", "d"].map(PathBuf::from));
    }
}
