//! The other indexes that a project's own files name.
//!
//! [`PLACES`] lists where: a file, and the keys that name an index in it. Nothing is resolved:
//! where a key has no whole address for its value but a variable, a template or nothing at all, the
//! call is refused with the file and the key. An index that is named is never replaced by the
//! public one: the package manager is told of it, or reads the file itself, or no call is made.
//! Whether a host that is named may be reached is the policy's decision: an agent can write these
//! files.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use orchestrate_core::policy::host::{Host, WebUrl};
use orchestrate_core::text::invisible::shown;
use toml::Value;

use super::super::project::Project;
use super::destinations::{Server, web_part};
use super::grammar::Ecosystem::{self, JavaScript, Python, Rust};
use super::login;
use crate::answer::ToolError;
use crate::files::Files;
use crate::files::path::{join, normalize, split};

/// The largest file that is read: a list of a thousand packages with their hashes has 2 MB.
const MAX_BYTES: u64 = 4 << 20;
/// Maximum number of bytes of all files together.
const MAX_BYTES_OF_ALL: usize = 16 << 20;
/// Maximum number of indexes of a project.
const MAX_INDEXES: usize = 32;

/// What follows the indexes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// pip, and uv in its place: both are told of them.
    Pip,
    /// uv as the manager of a project.
    Uv,
    /// npm, pnpm and the first yarn.
    Npm,
    /// The first yarn alone.
    Yarn,
    /// The later ones.
    Berry,
    Cargo,
    /// None that is run here.
    Other,
}

impl Reader {
    /// Returns the file in which an index has to be named for it.
    fn file(self) -> &'static str {
        match self {
            Reader::Pip | Reader::Other => "requirements.txt",
            Reader::Uv => "pyproject.toml",
            Reader::Npm | Reader::Yarn => ".npmrc",
            Reader::Berry => ".yarnrc.yml",
            Reader::Cargo => ".cargo/config.toml",
        }
    }
}

/// How a file writes the keys that name an index.
#[derive(Clone, Copy, Debug)]
enum Keys {
    /// As options of pip.
    Options,
    /// Each in a line, before its value; also as the end of a word such as `@scope:registry`.
    Lines(&'static [&'static str]),
    /// As paths in TOML, where `*` is any key.
    Toml(&'static [&'static str]),
}

const OF_PIP: Keys = Keys::Lines(&[
    "index-url",
    "index_url",
    "extra-index-url",
    "extra_index_url",
    "no-index",
    "no_index",
]);
const OF_PROJECT: Keys = Keys::Toml(&[
    "tool.uv.index.url",
    "tool.uv.index-url",
    "tool.uv.extra-index-url",
    "tool.uv.no-index",
]);
const OF_UV: Keys = Keys::Toml(&["index.url", "index-url", "extra-index-url", "no-index"]);
const OF_UV_PIP: Keys = Keys::Toml(&["pip.index-url", "pip.extra-index-url", "pip.no-index"]);
const OF_OTHERS: Keys = Keys::Toml(&[
    "tool.poetry.source.url",
    "tool.pdm.source.url",
    "tool.rye.sources.url",
    "tool.pixi.pypi-options.index-url",
    "tool.pixi.pypi-options.extra-index-urls",
    "tool.uv.pip.index-url",
    "tool.uv.pip.extra-index-url",
    "tool.uv.pip.no-index",
]);
const OF_PIXI: Keys = Keys::Toml(&["pypi-options.index-url", "pypi-options.extra-index-urls"]);
/// The variables and options by which tox, hatch and the like name an index.
const VARIABLES: Keys = Keys::Lines(&[
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "--index-url",
    "--extra-index-url",
    "indexserver",
]);
const OF_NPM: Keys = Keys::Lines(&["registry", "_authToken", "_auth", "_password"]);
const OF_BERRY: Keys = Keys::Lines(&["npmRegistryServer", "npmAuthToken", "npmAuthIdent"]);
/// Only later versions of pnpm read them there.
const OF_WORKSPACE: Keys = Keys::Lines(&["registry", "registries"]);
const OF_BUN: Keys = Keys::Toml(&[
    "install.registry",
    "install.registry.url",
    "install.scopes.*",
    "install.scopes.*.url",
]);
const OF_CARGO: Keys = Keys::Toml(&[
    "source.*.registry",
    "registries.*.index",
    "registries.*.token",
    "registry.index",
    "registry.token",
]);

/// The files besides lists of requirements.
const PLACES: [(&str, Ecosystem, Reader, Keys); 22] = [
    ("pip.conf", Python, Reader::Pip, OF_PIP),
    (".venv/pip.conf", Python, Reader::Pip, OF_PIP),
    ("venv/pip.conf", Python, Reader::Pip, OF_PIP),
    ("pyproject.toml", Python, Reader::Uv, OF_PROJECT),
    ("uv.toml", Python, Reader::Uv, OF_UV),
    ("uv.toml", Python, Reader::Other, OF_UV_PIP),
    ("pyproject.toml", Python, Reader::Other, OF_OTHERS),
    (
        "Pipfile",
        Python,
        Reader::Other,
        Keys::Toml(&["source.url"]),
    ),
    ("pdm.toml", Python, Reader::Other, Keys::Toml(&["pypi.url"])),
    ("pixi.toml", Python, Reader::Other, OF_PIXI),
    ("pyproject.toml", Python, Reader::Other, VARIABLES),
    ("hatch.toml", Python, Reader::Other, VARIABLES),
    ("tox.toml", Python, Reader::Other, VARIABLES),
    ("tox.ini", Python, Reader::Other, VARIABLES),
    ("setup.cfg", Python, Reader::Other, VARIABLES),
    (".npmrc", JavaScript, Reader::Npm, OF_NPM),
    (".yarnrc", JavaScript, Reader::Yarn, OF_NPM),
    (".yarnrc.yml", JavaScript, Reader::Berry, OF_BERRY),
    (
        "pnpm-workspace.yaml",
        JavaScript,
        Reader::Other,
        OF_WORKSPACE,
    ),
    ("bunfig.toml", JavaScript, Reader::Other, OF_BUN),
    (".cargo/config", Rust, Reader::Cargo, OF_CARGO),
    (".cargo/config.toml", Rust, Reader::Cargo, OF_CARGO),
];
/// The lists of requirements that are read first.
const LISTS: [&str; 2] = ["requirements.txt", "requirements-dev.txt"];
/// The folders of virtual environments, which may be links to other places.
const ENVIRONMENTS: [&str; 2] = [".venv/", "venv/"];
/// The hosts that are asked where nothing is named: to name one of them elsewhere changes nothing.
const PUBLIC: [&str; 5] = [
    "pypi.org",
    "pypi.python.org",
    "files.pythonhosted.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
];

/// Why a call is refused for a key, or for a whole file.
const UNCLEAR: &str = "names a registry by something else than a whole address (https://host/path) \
    on the line of that key, such as a variable or a path";
const LOGIN: &str = "names a registry with a user or a password, and none enters the sandbox";
const TOKEN: &str = "is a password or a token for a registry, and none enters the sandbox";
const NO_INDEX: &str = "says that no registry is asked; a command such as `.venv/bin/python -m pip \
    install --no-index --find-links FOLDER PACKAGE` needs no network";
const INCLUDE: &str = "includes a list that is not read here, since it is neither in the \
    worktree's root nor in `requirements/`, and may name a registry";
const TOO_MANY: &str = "names one registry too many for a person to read";
const HIDDEN: &str = "may name a registry, and a rule or a link keeps it from being read";
const TOO_LONG: &str = "may name a registry, and is too long to be read";

/// What a key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The address of the index that is asked in the place of the public one.
    Index,
    /// The address of one that is asked beside it.
    ExtraIndex,
    /// That none is asked.
    NoIndex,
    /// A password or a token for one.
    Secret,
    /// Another list of requirements.
    Include,
}

impl Kind {
    fn from_key(key: &str) -> Kind {
        let key = key.to_ascii_lowercase();
        let last = key.rsplit(['.', ':']).next().unwrap_or(&key);
        if last.starts_with("no") && last.ends_with("index") {
            Kind::NoIndex
        } else if last.contains("extra") || last == "uv_index" {
            Kind::ExtraIndex
        } else if last.contains("auth") || last == "_password" || last == "token" {
            Kind::Secret
        } else {
            Kind::Index
        }
    }
}

/// A key that a file has, with its values.
#[derive(Debug)]
struct Mention {
    key: String,
    kind: Kind,
    values: Vec<String>,
}

/// An index that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) url: WebUrl,
    /// The key that names it, such as `@scope:registry`.
    pub(super) key: String,
    file: String,
    pub(super) reader: Reader,
    /// Whether it is asked beside another one, and replaces none.
    is_extra: bool,
}

/// The indexes that pip is told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OfPip {
    /// The one that replaces its own.
    pub(super) index: Option<String>,
    /// Those beside it.
    pub(super) extra: Vec<String>,
}

impl OfPip {
    /// Takes those of the files of pip: it does not read each by itself, and uv reads none. Where
    /// the first index is not public, a public one that replaces it in another list is left out: it
    /// could serve what the first one has.
    pub(super) fn new(indexes: &[Index]) -> OfPip {
        let mut told = OfPip::default();
        for index in indexes.iter().filter(|index| index.reader == Reader::Pip) {
            let url = index.url.to_string();
            if !index.is_extra && told.index.is_none() {
                told.index = Some(url);
            } else if (index.is_extra || !is_public(index.url.host())) && !told.extra.contains(&url)
            {
                told.extra.push(url);
            }
        }
        told.extra.retain(|url| told.index.as_ref() != Some(url));
        told
    }

    /// Returns the options that name them, by the names of these options.
    pub(super) fn options(&self, index: &str, extra: &str) -> Vec<String> {
        let mut options = Vec::new();
        if let Some(url) = &self.index {
            options.extend([index.to_owned(), url.clone()]);
        }
        for url in &self.extra {
            options.extend([extra.to_owned(), url.clone()]);
        }
        options
    }
}

/// The text of a file, if there is one, or why it may not be read.
type Text = Result<Option<String>, &'static str>;

/// Finds the indexes that the project's files name, in the order of the files.
///
/// # Errors
/// Says why nothing is installed if a file may name one that cannot be read plainly, with the file
/// and the key.
pub(super) fn find(
    files: &Files,
    project: &Project,
    ecosystem: Ecosystem,
) -> Result<Vec<Index>, String> {
    find_with(ecosystem, &lists(project), &|path| text(files, path))
}

fn find_with(
    ecosystem: Ecosystem,
    lists: &BTreeSet<String>,
    read: &dyn Fn(&str) -> Text,
) -> Result<Vec<Index>, String> {
    let mut places: Vec<(&str, Reader, Keys)> = Vec::new();
    if ecosystem == Python {
        let others = lists.iter().map(String::as_str);
        let others = others.filter(|list| !LISTS.contains(list));
        places.extend(
            LISTS
                .into_iter()
                .chain(others)
                .map(|list| (list, Reader::Pip, Keys::Options)),
        );
    }
    let own = PLACES.into_iter().filter(|(_, of, ..)| *of == ecosystem);
    places.extend(own.map(|(file, _, reader, keys)| (file, reader, keys)));
    let (mut found, mut left): (Vec<Index>, usize) = (Vec::new(), MAX_BYTES_OF_ALL);
    for (file, reader, keys) in places {
        let text = match read(file) {
            Ok(None) => continue,
            Ok(Some(text)) if text.len() > left => return Err(refusal(file, TOO_LONG)),
            Ok(Some(text)) => text,
            Err(why) => return Err(refusal(file, why)),
        };
        left -= text.len();
        for mention in keys.mentions(text.trim_start_matches('\u{feff}')) {
            let refused =
                |why: &str| refusal(file, &format!("has `{}`, which {why}", shown(&mention.key)));
            for index in mention.indexes(file, reader, lists).map_err(refused)? {
                if !found.iter().any(|known| known.is_same(&index)) {
                    found.push(index);
                }
            }
            // One that is left out would be replaced by another.
            if found.len() > MAX_INDEXES {
                return Err(refused(TOO_MANY));
            }
        }
    }
    Ok(found)
}

impl Index {
    fn is_same(&self, other: &Index) -> bool {
        self.is_extra == other.is_extra
            && self.reader == other.reader
            && self.key == other.key
            && self.url == other.url
    }
}

impl Mention {
    fn new(key: String, values: Vec<String>) -> Mention {
        let kind = Kind::from_key(&key);
        Mention { key, kind, values }
    }

    /// Returns the indexes that it names, or why the call is refused for it.
    fn indexes(
        &self,
        file: &str,
        reader: Reader,
        lists: &BTreeSet<String>,
    ) -> Result<Vec<Index>, &'static str> {
        let mut values = self.values.iter();
        match self.kind {
            Kind::NoIndex if values.any(|value| is_true(value)) => Err(NO_INDEX),
            Kind::Secret if values.any(|value| !value.contains('$')) => Err(TOKEN),
            Kind::Include if !values.all(|list| is_read(list, file, lists)) => Err(INCLUDE),
            Kind::NoIndex | Kind::Secret | Kind::Include => Ok(Vec::new()),
            Kind::Index | Kind::ExtraIndex if self.values.is_empty() => Err(UNCLEAR),
            Kind::Index | Kind::ExtraIndex => values
                .map(|value| {
                    Ok(Index {
                        url: address(value)?,
                        key: self.key.clone(),
                        file: file.to_owned(),
                        reader,
                        is_extra: self.kind == Kind::ExtraIndex,
                    })
                })
                .collect(),
        }
    }
}

/// Reports whether a list that another one includes is read here.
fn is_read(include: &str, file: &str, lists: &BTreeSet<String>) -> bool {
    let (folder, _) = split(file);
    let path = normalize(&join(folder, include), Path::new("/"));
    path.is_ok_and(|path| lists.contains(&path)) && !include.contains(':')
}

/// Reads a switch as pip does.
fn is_true(value: &str) -> bool {
    ["true", "yes", "on", "1"].contains(&value.to_ascii_lowercase().as_str())
}

/// Reads the address of an index.
fn address(value: &str) -> Result<WebUrl, &'static str> {
    let address = web_part(value).unwrap_or(value);
    let after_scheme = address.split_once("://").map_or("", |(_, rest)| rest);
    if after_scheme
        .split('/')
        .next()
        .is_some_and(|authority| authority.contains('@'))
    {
        return Err(LOGIN);
    }
    if value.contains(['$', '{', '\\']) {
        return Err(UNCLEAR);
    }
    WebUrl::parse(address).map_err(|_| UNCLEAR)
}

/// Says why a manager that follows the files of these readers is not run; `None` if it asks the
/// indexes that the project names, and no other in their place.
pub(super) fn replaced(indexes: &[Index], readers: &[Reader]) -> Option<String> {
    let index = indexes
        .iter()
        .find(|index| !is_public(index.url.host()) && !is_asked(&index.url, indexes, readers))?;
    let reader = readers.first().copied().unwrap_or(Reader::Other);
    let why = format!(
        "has `{}`, which names the registry {}, which the package manager that is run here does \
        not read there; name it in `{}` as well",
        shown(&index.key),
        index.url,
        reader.file()
    );
    Some(refusal(&index.file, &why))
}

/// Reports whether an address is one of those that these readers follow.
fn is_asked(url: &WebUrl, indexes: &[Index], readers: &[Reader]) -> bool {
    let plain = url.as_str().trim_end_matches('/');
    let mut own = indexes
        .iter()
        .filter(|index| readers.contains(&index.reader));
    own.any(|index| index.url.as_str().trim_end_matches('/') == plain)
}

fn refusal(file: &str, why: &str) -> String {
    format!(
        "`{}` {why}; nothing was installed, so that no other registry is asked in its place. \
        Change that, or {}",
        shown(file),
        login::BY_USER
    )
}

/// Returns where the indexes answer.
pub(super) fn servers(indexes: &[Index]) -> Vec<Server> {
    indexes
        .iter()
        .map(|index| Server::from_url(&index.url))
        .collect()
}

fn is_public(host: &Host) -> bool {
    PUBLIC.contains(&host.to_string().as_str())
}

impl Keys {
    /// Returns the keys that a text has.
    fn mentions(self, text: &str) -> Vec<Mention> {
        match self {
            Keys::Options => options(text),
            Keys::Lines(keys) => lines(text, keys),
            Keys::Toml(paths) => tables(text, paths),
        }
    }
}

/// The options of pip that are about indexes, each by as much of it as tells it from others.
const OPTIONS: [(&str, Kind); 9] = [
    ("-i", Kind::Index),
    ("--i", Kind::Index),
    ("--py", Kind::Index),
    ("--ex", Kind::ExtraIndex),
    ("--no-i", Kind::NoIndex),
    ("-r", Kind::Include),
    ("--requirem", Kind::Include),
    ("-c", Kind::Include),
    ("--cons", Kind::Include),
];

/// Reads the options of a list of requirements, as
/// <https://pip.pypa.io/en/stable/reference/requirements-file-format/> says.
fn options(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('-'))
    {
        let mut words = line
            .split_whitespace()
            .take_while(|word| !word.starts_with('#'));
        while let Some(word) = words.next() {
            let Some((_, kind)) = OPTIONS.iter().find(|(start, _)| word.starts_with(start)) else {
                continue;
            };
            let (key, written) = match (word.split_once('='), word.split_at_checked(2)) {
                (Some((key, value)), _) if word.starts_with("--") => (key, Some(value)),
                (_, Some((key, value))) if key != "--" && !value.is_empty() => (key, Some(value)),
                _ => (word, None),
            };
            let value = match kind {
                Kind::NoIndex => Some("true"),
                _ => written.or_else(|| words.next()),
            };
            mentions.push(Mention {
                key: key.to_owned(),
                kind: *kind,
                values: value
                    .map(|value| value.trim_matches(['"', '\'']).to_owned())
                    .into_iter()
                    .collect(),
            });
        }
    }
    mentions
}

/// Reads settings, each in a line: a key, and its values. An index that is asked beside another one
/// under a condition, as `dev: NAME = value` in a file of tox, is left out: the other environments
/// have the same packages without it.
fn lines(text: &str, keys: &[&str]) -> Vec<Mention> {
    let mut mentions: Vec<Mention> = Vec::new();
    let mut was_key = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        let known = mentions.len();
        for key in keys {
            let Some(found) = KeyInLine::find(line, key) else {
                continue;
            };
            let mention = Mention::new(found.word(), found.values());
            let is_conditional = mention.kind == Kind::ExtraIndex && found.before.contains(':');
            // What passes on the user's own variable names nothing.
            if found.rest.contains(['=', ':', '$']) && !is_conditional {
                mentions.push(mention);
            }
        }
        // An address alone goes on with the value of the line before.
        if was_key && web_part(line) == Some(line) {
            mentions.extend(
                mentions
                    .last()
                    .map(|last| Mention::new(last.key.clone(), Vec::new())),
            );
        }
        was_key = mentions.len() > known;
    }
    mentions
}

/// A key in a line.
struct KeyInLine<'t> {
    before: &'t str,
    key: &'t str,
    rest: &'t str,
}

impl<'t> KeyInLine<'t> {
    /// Finds a key that is a word or the end of one.
    fn find(line: &'t str, key: &'t str) -> Option<KeyInLine<'t>> {
        line.match_indices(key).find_map(|(at, _)| {
            let (before, rest) = line.split_at_checked(at)?;
            let rest = rest.strip_prefix(key)?;
            let begins = before.is_empty() || before.ends_with(ends_word);
            let ends = rest.is_empty() || rest.starts_with(ends_word);
            (begins && ends).then_some(KeyInLine { before, key, rest })
        })
    }

    /// Returns the whole word, such as `@scope:registry`.
    fn word(&self) -> String {
        let mut parts = self.before.rsplit(|c: char| c != ':' && ends_word(c));
        format!("{}{}", parts.next().unwrap_or(""), self.key)
    }

    /// Returns the words after it that are addresses, or the first one if that is none.
    fn values(&self) -> Vec<String> {
        let ends_value = |c: char| c.is_whitespace() || "\"',".contains(c);
        let start = self
            .rest
            .trim_start_matches(|c: char| ends_value(c) || c == '=' || c == ':');
        let mut words = start
            .split(ends_value)
            .filter(|word| !word.is_empty())
            .take_while(|word| !word.starts_with(['#', ';']))
            .map(|word| word.trim_end_matches(['}', ']', ')', ';']).to_owned());
        let mut values: Vec<String> = words.next().into_iter().collect();
        values.extend(words.take_while(|word| word.contains("://")));
        values
    }
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || "=:\"'{}[](),".contains(c)
}

/// Reads what stands at these paths of TOML. A text that is none names nothing: no package manager
/// can read it.
fn tables(text: &str, paths: &[&str]) -> Vec<Mention> {
    let Ok(table) = text.parse::<toml::Table>() else {
        return Vec::new();
    };
    let root = Value::Table(table);
    let mut mentions = Vec::new();
    for path in paths {
        let mut values = Vec::new();
        add_values(&root, path, &mut values);
        if !values.is_empty() {
            mentions.push(Mention::new((*path).to_owned(), values));
        }
    }
    mentions
}

fn add_values(value: &Value, path: &str, values: &mut Vec<String>) {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    match value {
        Value::Array(all) => all.iter().for_each(|one| add_values(one, path, values)),
        Value::Table(table) => table
            .iter()
            .filter(|(name, _)| key == "*" || name.as_str() == key)
            .for_each(|(_, one)| add_values(one, rest, values)),
        Value::String(text) if path.is_empty() => values.push(text.clone()),
        Value::Boolean(switch) if path.is_empty() => values.push(switch.to_string()),
        _ => {}
    }
}

/// Returns the lists of requirements, and of constraints, of a project.
fn lists(project: &Project) -> BTreeSet<String> {
    let in_root = project
        .entries("")
        .filter(|name| name.contains("requirements") || name.contains("constraints"));
    let others = in_root
        .chain(project.entries("requirements"))
        .filter(|path| path.ends_with(".txt") || path.ends_with(".in"));
    LISTS.into_iter().chain(others).map(str::to_owned).collect()
}

/// Reads a file. One that a rule hides from the agent is hidden from the package manager, too,
/// which would then ask its own registry.
fn text(files: &Files, path: &str) -> Text {
    let opened = match files.open(path) {
        Ok(opened) => opened,
        Err(ToolError::Denied { .. })
            if !ENVIRONMENTS.iter().any(|folder| path.starts_with(folder)) =>
        {
            return Err(HIDDEN);
        }
        Err(_) => return Ok(None),
    };
    let mut bytes = Vec::new();
    let read = opened.file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if bytes.len() as u64 > MAX_BYTES {
        return Err(TOO_LONG);
    }
    // pip reads lists in UTF-16, too, which PowerShell writes; a mark at their beginning tells.
    Ok(read
        .ok()
        .map(|_| encoding_rs::UTF_8.decode(&bytes).0.into_owned()))
}

#[cfg(test)]
impl Index {
    /// Creates the index that a key of a file names in the place of the public one.
    pub(super) fn named(file: &str, key: &str, url: &str, reader: Reader) -> Index {
        Index {
            url: WebUrl::parse(url).unwrap(),
            key: key.to_owned(),
            file: file.to_owned(),
            reader,
            is_extra: false,
        }
    }
}

#[cfg(test)]
mod tests;
