//! Names and versions of packages, by the grammar of each registry: what else a package manager
//! would read, such as an address, a path, a repository or an option, is refused before any runs.

use orchestrate_code::python_name;
use orchestrate_core::text::invisible::shown;
use semver::{Version, VersionReq};
use serde::Deserialize;

/// Maximum length of a name, which is npm's; the other registries take no longer ones.
const MAX_NAME: usize = 214;
/// Maximum length of a version.
const MAX_VERSION: usize = 128;
/// Endings of files that package managers install instead of a package of that name.
const ARCHIVES: [&str; 14] = [
    ".zip", ".whl", ".egg", ".tar", ".tgz", ".gz", ".tbz", ".bz2", ".txz", ".xz", ".tlz", ".lz",
    ".lzma", ".crate",
];
/// Names of npm that stand for something else.
const RESERVED_BY_NPM: [&str; 2] = ["node_modules", "favicon.ico"];
/// What stands for a version of a module of Go beside one: the newest, the newest that is
/// compatible, the newest patch.
const QUERIES_OF_GO: [&str; 3] = ["latest", "upgrade", "patch"];

/// What has a registry and a grammar of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Ecosystem {
    Python,
    JavaScript,
    Rust,
    Go,
}

/// A package that is asked for, in the words of a package manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requested {
    /// The name without extras.
    pub(super) name: String,
    /// The one word that names it with its version.
    pub(super) word: String,
}

impl Ecosystem {
    /// Every ecosystem.
    pub(super) const ALL: [Ecosystem; 4] = [
        Ecosystem::Python,
        Ecosystem::JavaScript,
        Ecosystem::Rust,
        Ecosystem::Go,
    ];

    /// Reads a name and a version.
    ///
    /// # Errors
    /// Says what such a name or version looks like.
    pub(super) fn read(self, package: &str, version: Option<&str>) -> Result<Requested, String> {
        let refused = || refusal(&[self], package, version);
        let (name, extras) = self.split(package).ok_or_else(refused)?;
        let version = version.filter(|version| !matches!(*version, "" | "*"));
        if version.is_some_and(|version| version.len() > MAX_VERSION || is_archive(version)) {
            return Err(refused());
        }
        let word = self.word(name, extras, version).ok_or_else(refused)?;
        Ok(Requested {
            name: name.to_owned(),
            word,
        })
    }

    /// Splits what names a package into its name and its extras; `None` if it names none here.
    fn split(self, package: &str) -> Option<(&str, &str)> {
        let (name, extras) = match self {
            Ecosystem::Python => without_extras(package).unwrap_or((package, "")),
            _ => (package, ""),
        };
        let is_name = match self {
            Ecosystem::Python => is_name_of_python(name),
            Ecosystem::JavaScript => is_name_of_npm(name),
            Ecosystem::Rust => is_name_of_cargo(name),
            Ecosystem::Go => is_module_of_go(name),
        };
        (is_name && name.len() <= MAX_NAME && !is_archive(name)).then_some((name, extras))
    }

    /// Returns the word for a package manager; `None` if the version is none.
    fn word(self, name: &str, extras: &str, version: Option<&str>) -> Option<String> {
        let Some(version) = version else {
            return Some(match self {
                Ecosystem::Go => format!("{name}@latest"),
                _ => format!("{name}{extras}"),
            });
        };
        match self {
            Ecosystem::Python if version == "latest" => Some(format!("{name}{extras}")),
            Ecosystem::Python => Some(format!("{name}{extras}{}", specifiers_of_python(version)?)),
            Ecosystem::JavaScript => {
                let is_range = version.split(' ').all(is_comparator);
                (is_tag(version) || is_range).then(|| format!("{name}@{version}"))
            }
            Ecosystem::Rust if version == "latest" => Some(name.to_owned()),
            Ecosystem::Rust => {
                let all: Vec<&str> = version.split(',').map(str::trim).collect();
                let is_range = all.iter().all(|one| is_comparator(one));
                is_range.then(|| format!("{name}@{}", all.join(",")))
            }
            Ecosystem::Go => {
                let bare = version.strip_prefix('v').unwrap_or(version);
                match QUERIES_OF_GO.contains(&version) {
                    true => Some(format!("{name}@{version}")),
                    false => Version::parse(bare).ok().map(|_| format!("{name}@v{bare}")),
                }
            }
        }
    }

    /// Returns what a package of it is called, with its registry.
    fn kind(self) -> &'static str {
        match self {
            Ecosystem::Python => "a package at PyPI",
            Ecosystem::JavaScript => "a package at npm",
            Ecosystem::Rust => "a crate at crates.io",
            Ecosystem::Go => "a Go module",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Ecosystem::Python => "requests[socks]",
            Ecosystem::JavaScript => "@types/node",
            Ecosystem::Rust => "serde",
            Ecosystem::Go => "golang.org/x/text",
        }
    }

    fn versions(self) -> &'static str {
        match self {
            Ecosystem::Python => "one such as 1.4.2, or a range such as >=1.4,<2",
            Ecosystem::JavaScript => {
                "one such as 1.4.2, a range such as ^1.4 or a tag such as next"
            }
            Ecosystem::Rust => {
                "one such as 1.4.2, which stands for all that are compatible, or =1.4.2"
            }
            Ecosystem::Go => "one such as v1.4.2, or latest, upgrade or patch",
        }
    }

    /// Returns the name of the language.
    pub(super) fn language(self) -> &'static str {
        match self {
            Ecosystem::Python => "Python",
            Ecosystem::JavaScript => "JavaScript",
            Ecosystem::Rust => "Rust",
            Ecosystem::Go => "Go",
        }
    }

    /// Reports whether two spellings name one package.
    pub(super) fn is_same(self, left: &str, right: &str) -> bool {
        let plain = |name: &str| match self {
            Ecosystem::Python => python_name(name),
            Ecosystem::Rust => name.to_ascii_lowercase().replace('_', "-"),
            Ecosystem::JavaScript | Ecosystem::Go => name.to_owned(),
        };
        plain(left) == plain(right)
    }
}

/// Says why none of these ecosystems has a package of this name in this version.
pub(super) fn refusal(ecosystems: &[Ecosystem], package: &str, version: Option<&str>) -> String {
    let named: Vec<Ecosystem> = ecosystems
        .iter()
        .copied()
        .filter(|one| one.split(package).is_some())
        .collect();
    if named.is_empty() {
        let examples: Vec<&str> = ecosystems.iter().map(|one| one.example()).collect();
        return format!(
            "`{}` is no name {}, such as {}; addresses, local paths, repositories and options are \
             not installed, and a version goes into `version`",
            shown(package),
            of_either(ecosystems),
            any_of(&examples)
        );
    }
    let version = shown(version.unwrap_or_default());
    let versions: Vec<String> = named
        .iter()
        .map(|one| format!("for {}, name {}", one.kind(), one.versions()))
        .collect();
    format!(
        "`{version}` is no version {}; {}",
        of_either(&named),
        versions.join("; ")
    )
}

/// Says whose name or version is meant.
fn of_either(ecosystems: &[Ecosystem]) -> String {
    let kinds: Vec<String> = ecosystems
        .iter()
        .map(|one| format!("of {}", one.kind()))
        .collect();
    any_of(&kinds)
}

/// Joins the parts of a list, of which one counts.
fn any_of(parts: &[impl AsRef<str>]) -> String {
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        let before = match at {
            0 => "",
            last if last + 1 == parts.len() => " or ",
            _ => ", ",
        };
        text.push_str(before);
        text.push_str(part.as_ref());
    }
    text
}

fn is_archive(text: &str) -> bool {
    ARCHIVES
        .iter()
        .any(|ending| text.to_ascii_lowercase().ends_with(ending))
}

/// Splits `name[extra,other]`, whose extras choose further packages of the same registry.
fn without_extras(package: &str) -> Option<(&str, &str)> {
    let start = package.find('[')?;
    let (name, extras) = package.split_at_checked(start)?;
    let listed = extras.strip_prefix('[')?.strip_suffix(']')?;
    listed
        .split(',')
        .all(is_name_of_python)
        .then_some((name, extras))
}

fn is_name_of_python(name: &str) -> bool {
    is_word(name, "._-") && name.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// Reports whether a text begins with a letter or a digit, and has besides these only such marks.
fn is_word(text: &str, marks: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && has_only(text, marks)
}

fn has_only(text: &str, marks: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
}

fn is_name_of_npm(name: &str) -> bool {
    match name.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| is_word(scope, "._-~") && is_word(name, "._-~")),
        None => is_word(name, "._-~") && !RESERVED_BY_NPM.contains(&name),
    }
}

fn is_name_of_cargo(name: &str) -> bool {
    const LONGEST: usize = 64;
    let is_word = is_word(name, "_-") && !name.starts_with(|c: char| c.is_ascii_digit());
    is_word && name.len() <= LONGEST
}

/// A path below a host's name, which never begins or ends with a dot in any of its parts.
fn is_module_of_go(path: &str) -> bool {
    let is_part = |part: &str| {
        let ends = part.starts_with(['.', '-']) || part.ends_with('.');
        !part.is_empty() && !ends && has_only(part, "-._~")
    };
    let Some((host, _)) = path.split_once('/') else {
        return false;
    };
    let is_host = has_only(host, "-.") && !host.contains(|c: char| c.is_ascii_uppercase());
    host.contains('.') && is_host && path.split('/').all(is_part)
}

/// Returns the specifiers for a version or a range, as <https://peps.python.org/pep-0440/> has
/// them.
fn specifiers_of_python(version: &str) -> Option<String> {
    version
        .split(',')
        .map(one_specifier)
        .collect::<Option<Vec<_>>>()
        .map(|all| all.join(","))
}

fn one_specifier(text: &str) -> Option<String> {
    let text = text.trim();
    let operator = OPERATORS_OF_PYTHON
        .into_iter()
        .find(|operator| text.starts_with(operator))
        .unwrap_or_default();
    let number = text.strip_prefix(operator)?.trim();
    let takes_all = matches!(operator, "" | "==" | "!=");
    let prefix = number
        .strip_suffix(".*")
        .filter(|_| takes_all)
        .unwrap_or(number);
    let operator = if operator.is_empty() { "==" } else { operator };
    is_version_of_python(prefix).then(|| format!("{operator}{number}"))
}

fn is_version_of_python(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && has_only(text, ".!+-_")
        && !text.ends_with(['.', '-', '+', '!'])
}

const OPERATORS_OF_PYTHON: [&str; 7] = ["~=", "==", "!=", "<=", ">=", "<", ">"];

/// Reports whether a text is one comparator of a range of <https://semver.org/> versions.
fn is_comparator(text: &str) -> bool {
    let has_number = text.contains(|c: char| c.is_ascii_digit());
    let is_one = !text.contains([' ', ',']);
    has_number && is_one && VersionReq::parse(text).is_ok()
}

/// Reports whether a text is a name that npm gives to versions.
fn is_tag(text: &str) -> bool {
    // `v1` and `x` are ranges.
    let is_range = text
        .trim_start_matches('v')
        .split('.')
        .all(|part| part == "x" || part.parse::<u64>().is_ok());
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && has_only(text, "._-") && !is_range
}

#[cfg(test)]
mod tests;
