//! The registries that a project's own files name.
//!
//! A registry that is named is never replaced by the public one: the package manager is told of it,
//! or reads the file itself, or no call is made. Whether a host that is named may be reached is the
//! policy's decision: an agent can write these files.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use orchestrate_core::policy::host::{Host, WebUrl};
use orchestrate_core::text::invisible::shown;

use super::super::project::Project;
use super::destinations::Server;
use super::grammar::Ecosystem;
use super::login;
use super::naming::{Format, Named, Obstacle, Said, pins, said};
use crate::error::ToolError;
use crate::files::Files;
use crate::path::{join, normalize, split};

/// The largest file that is read: a list of a thousand packages with their hashes has 2 MB.
const MAX_BYTES: u64 = 4 << 20;
/// Maximum number of registries of a project.
const MAX_REGISTRIES: usize = 32;
/// Maximum number of lists of requirements that are read, and of bytes in all of them.
const MAX_LISTS: usize = 256;
const MAX_BYTES_OF_LISTS: usize = 16 << 20;

/// What follows the registries of a file.
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
    /// Returns where a registry has to be named for it, which is asked beside another one or not.
    fn place(self, is_extra: bool) -> &'static str {
        match self {
            Reader::Pip | Reader::Other if is_extra => {
                "as `--extra-index-url` in `requirements.txt`"
            }
            Reader::Pip | Reader::Other => "as `--index-url` in `requirements.txt`",
            Reader::Uv => "as `[[tool.uv.index]]` in `pyproject.toml`",
            Reader::Npm | Reader::Yarn => "in `.npmrc`",
            Reader::Berry => "in `.yarnrc.yml`",
            Reader::Cargo => "in `.cargo/config.toml`",
        }
    }
}

/// What uv reads in a project; `tool.uv.sources` are no registries, and `tool.uv.pip` is for `uv
/// pip` alone.
const OF_PROJECT: Format = Format::Toml(&[
    "tool.uv.index-url",
    "tool.uv.index",
    "tool.uv.extra-index-url",
    "tool.uv.no-index",
]);
const OF_UV: Format = Format::Toml(&["index-url", "index", "extra-index-url", "no-index"]);
const OF_OTHERS: Format = Format::Toml(&[
    "tool.poetry.source",
    "tool.pdm.source",
    "tool.pixi.pypi-options",
    "tool.rye.sources",
    "tool.uv.pip",
]);
/// What hatch and tox give their environments.
const OF_ENVIRONMENTS: Format = Format::Variables(&["tool.hatch.envs", "tool.tox"]);
const OF_TOX: Format = Format::Variables(&["env_run_base", "env_pkg_base", "env"]);
const OF_CARGO: Format = Format::Toml(&["source", "registries", "registry"]);

/// The files besides lists of requirements.
const FILES: [(&str, Ecosystem, Format, Reader); 22] = [
    ("pip.conf", Ecosystem::Python, Format::Ini, Reader::Pip),
    (
        ".venv/pip.conf",
        Ecosystem::Python,
        Format::Ini,
        Reader::Pip,
    ),
    ("venv/pip.conf", Ecosystem::Python, Format::Ini, Reader::Pip),
    ("pyproject.toml", Ecosystem::Python, OF_PROJECT, Reader::Uv),
    ("uv.toml", Ecosystem::Python, OF_UV, Reader::Uv),
    (
        "uv.toml",
        Ecosystem::Python,
        Format::Toml(&["pip"]),
        Reader::Other,
    ),
    (
        "pyproject.toml",
        Ecosystem::Python,
        OF_OTHERS,
        Reader::Other,
    ),
    (
        "Pipfile",
        Ecosystem::Python,
        Format::Toml(&["source"]),
        Reader::Other,
    ),
    (
        "pdm.toml",
        Ecosystem::Python,
        Format::Toml(&["pypi"]),
        Reader::Other,
    ),
    (
        "pixi.toml",
        Ecosystem::Python,
        Format::Toml(&["pypi-options"]),
        Reader::Other,
    ),
    (
        "pyproject.toml",
        Ecosystem::Python,
        OF_ENVIRONMENTS,
        Reader::Other,
    ),
    (
        "hatch.toml",
        Ecosystem::Python,
        Format::Variables(&["envs"]),
        Reader::Other,
    ),
    ("tox.toml", Ecosystem::Python, OF_TOX, Reader::Other),
    ("tox.ini", Ecosystem::Python, Format::Tox, Reader::Other),
    ("setup.cfg", Ecosystem::Python, Format::Tox, Reader::Other),
    (".npmrc", Ecosystem::JavaScript, Format::Npmrc, Reader::Npm),
    (
        ".yarnrc",
        Ecosystem::JavaScript,
        Format::Npmrc,
        Reader::Yarn,
    ),
    (
        ".yarnrc.yml",
        Ecosystem::JavaScript,
        Format::Yaml("npmRegistryServer"),
        Reader::Berry,
    ),
    // Only later versions of pnpm read it there.
    (
        "pnpm-workspace.yaml",
        Ecosystem::JavaScript,
        Format::Workspace,
        Reader::Other,
    ),
    (
        "bunfig.toml",
        Ecosystem::JavaScript,
        Format::Toml(&["install.registry", "install.scopes"]),
        Reader::Other,
    ),
    (".cargo/config", Ecosystem::Rust, OF_CARGO, Reader::Cargo),
    (
        ".cargo/config.toml",
        Ecosystem::Rust,
        OF_CARGO,
        Reader::Cargo,
    ),
];
/// The file that pins packages to sources.
const MANIFEST: &str = "pyproject.toml";
/// The lists of requirements that are read first.
const LISTS: [&str; 2] = ["requirements.txt", "requirements-dev.txt"];
/// The folder of such lists.
const FOLDER: &str = "requirements";
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

/// A registry that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Registry {
    url: WebUrl,
    /// The file.
    file: String,
    reader: Reader,
    /// Whether it is asked beside another one, and replaces none.
    is_extra: bool,
    /// Whether a file says that it is asked beside another one.
    is_extra_somewhere: bool,
    /// Whether it is asked only for packages that are pinned to it, and the requested one is none
    /// of them.
    is_for_others: bool,
}

/// The indexes that pip is told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes {
    /// The one that replaces its own.
    pub(super) index: Option<String>,
    /// Those beside it.
    pub(super) extra: Vec<String>,
}

impl Indexes {
    /// Takes those of the files of pip: it does not read each by itself, and uv reads none. Where
    /// the first index is not public, a public one that replaces it in another list is left out: it
    /// could serve what the first one has.
    pub(super) fn from_registries(registries: &[Registry]) -> Indexes {
        let passed_on = registries
            .iter()
            .filter(|registry| registry.reader == Reader::Pip);
        let mut indexes = Indexes::default();
        let mut is_private = false;
        for Registry {
            url,
            is_extra,
            is_extra_somewhere,
            ..
        } in passed_on
        {
            match indexes.index {
                None if !is_extra => {
                    is_private = !is_public(url.host());
                    indexes.index = Some(url.to_string());
                }
                Some(_) if !is_extra_somewhere && is_private && is_public(url.host()) => {}
                _ => indexes.extra.push(url.to_string()),
            }
        }
        indexes
    }
}

/// What a project's files say about registries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// In the order of the files, each once for each of its readers.
    pub(super) registries: Vec<Registry>,
    /// What keeps them from being followed, with the file.
    obstacles: Vec<(String, Reader, Obstacle)>,
    /// The first file that names a login for a registry.
    pub(super) login: Option<String>,
    /// The names of the sources to which the requested package is pinned.
    pins: Vec<String>,
}

/// The text of a file, if there is one, or that it may not be read.
type Text = Result<Option<String>, Obstacle>;

impl Found {
    /// Reads what the project's files say to the managers of an ecosystem about a package.
    pub(super) fn look(
        files: &Files,
        project: &Project,
        ecosystem: Ecosystem,
        package: &str,
    ) -> Found {
        Found::find(ecosystem, package, lists(project), &|path| {
            text(files, path)
        })
    }

    fn find(
        ecosystem: Ecosystem,
        package: &str,
        lists: Vec<String>,
        read: &dyn Fn(&str) -> Text,
    ) -> Found {
        let mut found = Found::default();
        if ecosystem == Ecosystem::Python {
            let manifest = read(MANIFEST).ok().flatten().unwrap_or_default();
            found.pins = pins(&manifest, &|name| ecosystem.is_same(name, package));
            found.add_lists(lists, read);
        }
        for (file, _, format, reader) in FILES.into_iter().filter(|(_, of, ..)| *of == ecosystem) {
            found.add(file, format, reader, read(file));
        }
        // One that is left out would be replaced by another.
        if let Some(Registry { file, reader, .. }) = found.registries.get(MAX_REGISTRIES).cloned() {
            found.obstacles.push((file, reader, Obstacle::Unclear));
        }
        found.registries.truncate(MAX_REGISTRIES);
        found
    }

    /// Adds lists of requirements with those that they include.
    fn add_lists(&mut self, mut pending: Vec<String>, read: &dyn Fn(&str) -> Text) {
        let (mut seen, mut left) = (BTreeSet::new(), MAX_BYTES_OF_LISTS);
        pending.reverse();
        while let Some(file) = pending.pop() {
            if !seen.insert(file.clone()) {
                continue;
            }
            if seen.len() > MAX_LISTS {
                self.obstacles.push((file, Reader::Pip, Obstacle::Unclear));
                break;
            }
            let text = read(&file);
            let length = text
                .as_ref()
                .ok()
                .and_then(Option::as_ref)
                .map_or(0, String::len);
            if length > left {
                self.obstacles.push((file, Reader::Pip, Obstacle::TooLong));
                break;
            }
            left -= length;
            let includes = self.add(&file, Format::Requirements, Reader::Pip, text);
            let (folder, _) = split(&file);
            let inside = includes
                .iter()
                .rev()
                .filter(|include| !include.starts_with('/'));
            pending.extend(
                inside.filter_map(|include| normalize(&join(folder, include), Path::new("/")).ok()),
            );
        }
    }

    /// Adds what a file says, and returns what it includes.
    fn add(&mut self, file: &str, format: Format, reader: Reader, text: Text) -> Vec<String> {
        let mut said = match text {
            Ok(None) => return Vec::new(),
            Ok(Some(text)) => {
                if self.login.is_none() && login::is_named_in(&text) {
                    self.login = Some(file.to_owned());
                }
                said(&text, format)
            }
            Err(obstacle) => Said {
                obstacles: vec![obstacle],
                ..Said::default()
            },
        };
        said.obstacles.dedup();
        self.obstacles.extend(
            said.obstacles
                .into_iter()
                .map(|obstacle| (file.to_owned(), reader, obstacle)),
        );
        for Named {
            url,
            is_extra,
            explicit,
        } in said.registries
        {
            let is_pinned =
                |source: &String| self.pins.iter().any(|pin| pin.eq_ignore_ascii_case(source));
            let is_for_others = explicit.is_some_and(|source| !is_pinned(&source));
            // One too many shows that there are more.
            let is_full = self.registries.len() > MAX_REGISTRIES;
            match self
                .registries
                .iter_mut()
                .find(|known| known.url == url && known.reader == reader)
            {
                Some(known) => {
                    known.is_extra &= is_extra;
                    known.is_extra_somewhere |= is_extra;
                    known.is_for_others &= is_for_others;
                }
                None if is_full => {}
                None => {
                    let (file, is_extra_somewhere) = (file.to_owned(), is_extra);
                    self.registries.push(Registry {
                        url,
                        file,
                        reader,
                        is_extra,
                        is_extra_somewhere,
                        is_for_others,
                    });
                }
            }
        }
        said.includes
    }

    /// Says why a manager that follows the files of these readers is not run; `None` if it asks the
    /// registries that the project names, and no other in their place.
    pub(super) fn refusal(&self, readers: &[Reader]) -> Option<String> {
        // uv follows this setting of its own.
        let is_followed = |reader: Reader, obstacle: Obstacle| {
            obstacle == Obstacle::NoIndex && reader == Reader::Uv && readers.contains(&reader)
        };
        let obstacle = self
            .obstacles
            .iter()
            .find(|(_, reader, obstacle)| !is_followed(*reader, *obstacle));
        if let Some((file, _, obstacle)) = obstacle {
            return Some(obstacle.refusal(&shown(file)));
        }
        let is_own = |registry: &Registry| readers.contains(&registry.reader);
        let is_asked = |url: &WebUrl| {
            self.registries
                .iter()
                .any(|own| is_own(own) && plain(&own.url) == plain(url))
        };
        let is_replaced = |registry: &&Registry| {
            !is_public(registry.url.host()) && !registry.is_for_others && !is_asked(&registry.url)
        };
        let replaced = self.registries.iter().find(is_replaced)?;
        let place = readers
            .first()
            .copied()
            .unwrap_or(Reader::Other)
            .place(replaced.is_extra);
        Some(format!(
            "`{}` names the registry {}, which the package manager that is run here does not read there; nothing was \
            installed, so that no other registry is asked in its place. Instead, name it {place} as well, or {}",
            shown(&replaced.file),
            replaced.url,
            login::BY_USER
        ))
    }
}

fn is_public(host: &Host) -> bool {
    PUBLIC.contains(&host.to_string().as_str())
}

/// Returns an address as it is compared.
fn plain(url: &WebUrl) -> &str {
    url.as_str().trim_end_matches('/')
}

/// Returns the lists of requirements of a project, the usual one first.
fn lists(project: &Project) -> Vec<String> {
    let in_root = project
        .entries("")
        .filter(|path| is_list(path) && !LISTS.contains(path));
    let others = in_root.chain(project.entries(FOLDER).filter(is_text));
    LISTS.into_iter().chain(others).map(str::to_owned).collect()
}

fn is_text(path: &&str) -> bool {
    path.ends_with(".txt") || path.ends_with(".in")
}

/// Reports whether a file is named as a list of requirements, or of constraints.
fn is_list(name: &str) -> bool {
    let is_text = name.ends_with(".txt") || name.ends_with(".in");
    is_text && (name.contains("requirements") || name.contains("constraints"))
}

/// Returns where registries answer.
pub(super) fn servers(registries: &[Registry]) -> Vec<Server> {
    registries
        .iter()
        .map(|registry| Server::from_url(&registry.url))
        .collect()
}

/// Reads a file. One that a rule hides from the agent is hidden from the package manager, too,
/// which would then ask its own registry.
fn text(files: &Files, path: &str) -> Text {
    let opened = match files.open(path) {
        Ok(opened) => opened,
        Err(ToolError::Denied { .. })
            if !ENVIRONMENTS.iter().any(|folder| path.starts_with(folder)) =>
        {
            return Err(Obstacle::Hidden);
        }
        Err(_) => return Ok(None),
    };
    let mut bytes = Vec::new();
    let read = opened.file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Obstacle::TooLong);
    }
    // pip reads lists in UTF-16, too, which PowerShell writes; a mark at their beginning tells.
    Ok(read
        .ok()
        .map(|_| encoding_rs::UTF_8.decode(&bytes).0.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files with their texts.
    type Texts<'a> = &'a [(&'a str, &'a str)];

    /// Looks at files.
    fn look(files: Texts<'_>, ecosystem: Ecosystem) -> Found {
        look_for("requests", files, ecosystem)
    }

    fn look_for(package: &str, files: Texts<'_>, ecosystem: Ecosystem) -> Found {
        Found::find(ecosystem, package, lists(&Project::of(files)), &|path| {
            let text = files
                .iter()
                .find(|(file, _)| *file == path)
                .map(|(_, text)| (*text).to_owned());
            Ok(text)
        })
    }

    fn found(file: &str, text: &str) -> Vec<String> {
        let ecosystem = FILES
            .into_iter()
            .find(|(name, ..)| *name == file)
            .map(|(_, ecosystem, ..)| ecosystem);
        let found = look(&[(file, text)], ecosystem.unwrap_or(Ecosystem::Python));
        found
            .registries
            .iter()
            .map(|registry| registry.url.to_string())
            .collect()
    }

    #[test]
    fn each_file_names_its_registries() {
        let table: &[(&str, &str, &[&str])] = &[
            (
                "requirements.txt",
                "# -i https://no.example/\nrequests\n--index-url https://a.example/simple\n--extra-index-url=https://b.example/\n\
                 -i http://c.example/\nx @ https://no.example/x.whl\n--find-links https://no.example/\n",
                &[
                    "https://a.example/simple",
                    "https://b.example/",
                    "http://c.example/",
                ],
            ),
            (
                "pip.conf",
                "[global]\nindex-url = https://a.example/\n; index-url = https://no.example/\nextra-index-url =\n    \
                 https://b.example/\n    https://c.example/\nproxy = http://no.example/\n",
                &[
                    "https://a.example/",
                    "https://b.example/",
                    "https://c.example/",
                ],
            ),
            // Where all settings are indented, none goes on with the one before.
            (
                "pip.conf",
                "[global]\n    index-url = https://a.example/\n    timeout = 9\n    extra-index-url =\n\n      \
                 https://b.example/\n[install]\n  trusted-host = b.example\n",
                &["https://a.example/", "https://b.example/"],
            ),
            (
                "Pipfile",
                "  [[source]]\n  url = \"https://a.example/\"\n  [packages]\n",
                &["https://a.example/"],
            ),
            (
                "pyproject.toml",
                "[project]\nurls = { home = \"https://no.example/\" }\n[[tool.uv.index]]\nname = \"a\"\n\
                 url = \"https://a.example/simple/\"\n[tool.uv]\nextra-index-url = [\n  \"https://b.example/\",\n]\n\
                 publish-url = \"https://no.example/\"\n[tool.uv.sources]\na = { git = \"https://no.example/\" }\n\
                 [tool.other]\nurl = \"https://no.example/\"\n",
                &["https://a.example/simple/", "https://b.example/"],
            ),
            (
                "pyproject.toml",
                "[tool]\npoetry.source = [{ url = 'https://a.example/' }]\n",
                &["https://a.example/"],
            ),
            (
                "pyproject.toml",
                "[[tool.uv.index]\nurl = \"https://a.example/\"\n",
                &[],
            ),
            (
                "uv.toml",
                "index-url = \"https://a.example/\"\n[[index]]\nurl = \"https://b.example/\"\n",
                &["https://a.example/", "https://b.example/"],
            ),
            (
                ".npmrc",
                "registry=https://a.example/npm/\n@corp:registry = https://b.example/\nproxy=http://no.example/\n\
                 //a.example/:_authToken=x\nhttps-proxy=http://no.example/\n",
                &["https://a.example/npm/", "https://b.example/"],
            ),
            (
                ".yarnrc",
                "registry \"https://a.example/\"\n\"@c:registry\" \"https://b.example/\"\n",
                &["https://a.example/", "https://b.example/"],
            ),
            (
                ".yarnrc.yml",
                "npmRegistryServer: \"https://a.example\"\nnpmScopes:\n  corp:\n    npmRegistryServer: https://b.example/\n\
                 httpProxy: http://no.example/\n",
                &["https://a.example/", "https://b.example/"],
            ),
            (
                ".cargo/config.toml",
                "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://a.example/index/\"\n\
                 [registries.corp]\nindex = \"sparse+https://b.example/\"\n[http]\nproxy = \"http://no.example/\"\n\
                 [registries]\nc = { index = \"sparse+https://c.example/\" }\n",
                &[
                    "https://a.example/index/",
                    "https://c.example/",
                    "https://b.example/",
                ],
            ),
            (
                "requirements.txt",
                "-i https://user:password@a.example/\n-i file:///a\n-i ftp://a.example/\n",
                &[],
            ),
            (
                "requirements.txt",
                "-i https://A.example:443/x\n-i https://a.example/x\n",
                &["https://a.example/x"],
            ),
        ];
        for (file, text, expected) in table {
            assert_eq!(found(file, text), *expected, "{file}");
        }
    }

    #[test]
    fn files_of_other_programs_name_their_registries() {
        let table: &[(&str, &str, &[&str])] = &[
            (
                "pyproject.toml",
                "[tool.hatch.envs.default]\ninstaller = \"uv\"\n[tool.hatch.envs.default.env-vars]\n\
                 PIP_INDEX_URL = \"https://a.example/\"\nHOME_PAGE = \"https://no.example/?a=b\"\n\
                 [tool.hatch.envs.test.overrides]\nenv.CI.env-vars = [\"UV_INDEX=corp=https://b.example/\"]\n\
                 [tool.tox]\nlegacy_tox_ini = \"\"\"\n[testenv]\nset_env = UV_INDEX_URL=https://c.example/\n\"\"\"\n",
                &[
                    "https://a.example/",
                    "https://b.example/",
                    "https://c.example/",
                ],
            ),
            (
                "tox.toml",
                "[env_run_base]\ndeps = [\"pytest\", \"--extra-index-url=https://a.example/\"]\n\
                 install_command = [\"python\", \"-m\", \"pip\", \"install\", \"-i\", \"https://b.example/\"]\n\
                 set_env = { PIP_INDEX_URL = \"https://c.example/\", Z = \"https://no.example/\" }\n[env.a.set_env]\n\
                 UV_INDEX = { replace = \"env\", name = \"CORP\", default = \"https://d.example/\" }\n",
                &[
                    "https://a.example/",
                    "https://b.example/",
                    "https://c.example/",
                    "https://d.example/",
                ],
            ),
            (
                "tox.ini",
                "[tox]\nindexserver =\n    default = https://a.example/\n[testenv]\nsetenv =\n    py39: \
                 PIP_INDEX_URL = {env:PIP_INDEX_URL:https://b.example/}\n    HOME_PAGE = https://no.example/\n    \
                 dev: PIP_EXTRA_INDEX_URL = https://no.example/nightly\n\
                 deps =\n    --extra-index-url=https://c.example/\n    dev: --extra-index-url https://no.example/\n\
                 install_command = python -m pip install -i {env:PIP_INDEX_URL:https://d.example/} {opts}\n\
                 commands = curl -i https://no.example/\n",
                &[
                    "https://a.example/",
                    "https://b.example/",
                    "https://c.example/",
                    "https://d.example/",
                ],
            ),
            (
                "pnpm-workspace.yaml",
                "packages:\n- packages/*\nregistry: https://a.example\nregistries: # all\n  default: 'https://b.example/' # \
                 https://no.example/\n\n  \"@corp\": https://c.example/npm/\n\"@d:registry\": https://d.example/\n\
                 catalog:\n  a: https://no.example/a.tgz\n",
                &[
                    "https://a.example/",
                    "https://b.example/",
                    "https://c.example/npm/",
                    "https://d.example/",
                ],
            ),
            (
                "pnpm-workspace.yaml",
                "{ packages: [a], registries: { default: https://a.example/, '@b': \"https://b.example/\"} }\n",
                &["https://a.example/", "https://b.example/"],
            ),
        ];
        for (file, text, expected) in table {
            assert_eq!(found(file, text), *expected, "{file}");
        }
    }

    #[test]
    fn a_registry_that_another_program_is_told_of_is_not_replaced() {
        use Reader::{Npm, Pip};
        let workspace = (
            "pnpm-workspace.yaml",
            "registries:\n  '@corp': https://a.example/\n",
        );
        let [pnpm, both] = [
            &[workspace][..],
            &[workspace, (".npmrc", "@corp:registry=https://a.example/\n")],
        ]
        .map(|files| {
            look(files, Ecosystem::JavaScript)
                .refusal(&[Npm])
                .unwrap_or_default()
        });
        assert!(
            pnpm.contains("`pnpm-workspace.yaml` names the registry https://a.example/"),
            "{pnpm}"
        );
        assert_eq!(both, "");
        let index = "-i https://a.example/simple\n";
        let tox = (
            "tox.ini",
            "[testenv]\nsetenv = PIP_INDEX_URL = https://a.example/simple\n",
        );
        let [tox, told] = [&[tox][..], &[tox, ("requirements.txt", index)]].map(|files| {
            look(files, Ecosystem::Python)
                .refusal(&[Pip])
                .unwrap_or_default()
        });
        assert!(
            tox.contains(
                "`tox.ini` names the registry https://a.example/simple, which the package"
            ),
            "{tox}"
        );
        assert_eq!(told, "");
        // Named as the index, what is asked beside another one would replace it.
        let extra = (
            "tox.ini",
            "[testenv]\nsetenv = PIP_EXTRA_INDEX_URL = https://a.example/simple\n",
        );
        let told = (
            "requirements.txt",
            "--extra-index-url https://a.example/simple\n",
        );
        let [extra, told] = [&[extra][..], &[extra, told]].map(|files| {
            look(files, Ecosystem::Python)
                .refusal(&[Pip])
                .unwrap_or_default()
        });
        assert!(
            extra.contains("name it as `--extra-index-url` in `requirements.txt` as well"),
            "{extra}"
        );
        assert_eq!(told, "");
    }

    #[test]
    fn only_what_is_pinned_to_an_explicit_source_is_refused() {
        let poetry = "[[tool.poetry.source]]\nname = \"corp\"\nurl = \"https://a.example/\"\npriority = \"explicit\"\n\
                      [tool.poetry.dependencies]\nrequests = \"*\"\nTorch_Vision = { version = \"*\", source = \"Corp\" }\n\
                      [tool.poetry.group.dev.dependencies]\nown = [{ version = \"1\", source = \"corp\" }]\n";
        let unnamed = poetry.replace("name = \"corp\"\n", "");
        let primary = poetry.replace("explicit", "primary");
        let uv = "[tool]\nuv.sources = { own = { index = \"corp\" } }\n";
        let of_uv = "[[index]]\nname = \"corp\"\nurl = \"https://a.example/\"\nexplicit = true\n";
        let default = format!("{of_uv}default = true\n");
        let both = "[[tool.pdm.source]]\nurl = \"https://a.example/\"\n";
        let both = format!("{poetry}{both}");
        let table: &[(Texts<'_>, &str, bool)] = &[
            (&[("pyproject.toml", poetry)], "requests", false),
            (&[("pyproject.toml", poetry)], "torch-vision", true),
            (&[("pyproject.toml", poetry)], "own", true),
            (&[("pyproject.toml", &unnamed)], "requests", true),
            (&[("pyproject.toml", &primary)], "requests", true),
            (&[("pyproject.toml", &both)], "requests", true),
            (
                &[("uv.toml", of_uv), ("pyproject.toml", uv)],
                "requests",
                false,
            ),
            (&[("uv.toml", of_uv), ("pyproject.toml", uv)], "own", true),
            (&[("uv.toml", &default)], "requests", true),
        ];
        for (files, package, is_refused) in table {
            let refusal = look_for(package, files, Ecosystem::Python).refusal(&[Reader::Pip]);
            assert_eq!(
                refusal.is_some(),
                *is_refused,
                "{package} {files:?}: {refusal:?}"
            );
        }
    }

    #[test]
    fn what_is_too_much_is_refused_at_once() {
        // To look for each among all others would take half a minute.
        let many: String = (0..20_000)
            .map(|number| format!("-i https://r{number}.example/\n"))
            .collect();
        assert_eq!(found("requirements.txt", &many).len(), MAX_REGISTRIES);
        let refusal =
            look(&[("requirements.txt", &many)], Ecosystem::Python).refusal(&[Reader::Pip]);
        assert!(refusal.is_some_and(|refusal| refusal.starts_with("`requirements.txt` names")));
        let long = "#".repeat(MAX_BYTES_OF_LISTS / 2);
        let long = long.as_str();
        let all = [
            ("requirements.txt", long),
            ("requirements-dev.txt", long),
            ("requirements/a.txt", "a\n"),
        ];
        assert_eq!(
            look(&all[..2], Ecosystem::Python).refusal(&[Reader::Pip]),
            None
        );
        let refusal = look(&all, Ecosystem::Python).refusal(&[Reader::Pip]);
        assert!(refusal.is_some_and(|refusal| {
            refusal.starts_with("`requirements/a.txt` may name a registry, and is")
        }));
    }

    #[test]
    fn pip_is_told_of_what_its_files_name() {
        let files = [
            (
                "requirements.txt",
                "--extra-index-url https://b.example/\n-i https://a.example/\n-r requirements/base.txt\n",
            ),
            (
                "requirements/base.txt",
                "-r ../pins/more.txt\n--extra-index-url https://e.example/\n",
            ),
            ("requirements/dev.in", "--index-url https://b.example/\n"),
            (
                "pins/more.txt",
                "-r ../requirements.txt\n-i https://f.example/\n",
            ),
            ("pip.conf", "[global]\nindex-url = https://c.example/\n"),
            (
                ".venv/pip.conf",
                "[global]\nindex-url = https://d.example/\n",
            ),
        ];
        let found = look(&files, Ecosystem::Python);
        // Where one file names it as the index, and another one beside it, it is the index.
        let extra = [
            "https://a.example/",
            "https://e.example/",
            "https://f.example/",
            "https://c.example/",
            "https://d.example/",
        ];
        let expected = Indexes {
            index: Some("https://b.example/".to_owned()),
            extra: extra.map(str::to_owned).to_vec(),
        };
        assert_eq!(Indexes::from_registries(&found.registries), expected);
        assert_eq!(
            (
                servers(&found.registries).len(),
                found.refusal(&[Reader::Pip])
            ),
            (6, None)
        );
        assert_eq!(look(&files, Ecosystem::Rust), Found::default());
    }

    #[test]
    fn the_public_index_is_not_asked_beside_another_one_because_another_list_names_it() {
        let (own, public) = (
            "-i https://a.example/simple\n",
            "-i https://pypi.org/simple\n",
        );
        let extra = "--extra-index-url https://pypi.org/simple\n";
        let of = |first: &str, second: &str| {
            let found = look(
                &[
                    ("requirements.txt", first),
                    ("requirements-dev.txt", second),
                ],
                Ecosystem::Python,
            );
            let Indexes { index, extra } = Indexes::from_registries(&found.registries);
            (index.unwrap_or_default(), extra.join(" "))
        };
        let (a, pypi) = (
            "https://a.example/simple".to_owned(),
            "https://pypi.org/simple".to_owned(),
        );
        assert_eq!(of(own, public), (a.clone(), String::new()));
        assert_eq!(of(own, extra), (a.clone(), pypi.clone()));
        assert_eq!(
            of(&format!("{own}{extra}"), public),
            (a.clone(), pypi.clone())
        );
        assert_eq!(of(public, own), (pypi, a));
    }

    #[test]
    fn what_uv_reads_for_uv_pip_alone_is_not_replaced() {
        let (of_project, of_uv) = (
            "[tool.uv.pip]\nindex-url = \"https://a.example/\"\n",
            "[pip]\nindex-url = \"https://a.example/\"\n",
        );
        let both = format!("{of_project}[[tool.uv.index]]\nurl = \"https://a.example/\"\n");
        for (file, text, is_refused) in [
            ("pyproject.toml", of_project, true),
            ("uv.toml", of_uv, true),
            ("pyproject.toml", both.as_str(), false),
        ] {
            let refusal = look(&[(file, text)], Ecosystem::Python)
                .refusal(&[Reader::Uv])
                .unwrap_or_default();
            assert_eq!(
                refusal.contains("name it as `[[tool.uv.index]]`"),
                is_refused,
                "{text}: {refusal}"
            );
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
    #[test]
    fn a_registry_that_is_named_is_never_replaced() {
        use Reader::{Berry, Npm, Pip, Uv, Yarn};
        let poetry = "[[tool.poetry.source]]\nname = \"corp\"\nurl = \"https://a.example/simple/\"\npriority = \"primary\"\n";
        let pdm = poetry.replace("poetry", "pdm");
        let uv = "[[tool.uv.index]]\nurl = \"https://a.example/simple\"\ndefault = true\n";
        let both = format!("{poetry}{uv}");
        let own = "-i https://a.example/simple\n";
        let (login, none) = ("`requirements.txt` names a registry with a user", "");
        let table: &[(Texts<'_>, &[Reader], &str)] = &[
            (
                &[(
                    "requirements.txt",
                    "-i http://bob:pw@127.0.0.1:8702/simple\n",
                )],
                &[Pip],
                login,
            ),
            (
                &[(
                    "requirements.txt",
                    "-i https://${USER}:${PASS}@a.example/\n",
                )],
                &[Uv],
                login,
            ),
            (
                &[(
                    "pip.conf",
                    "[global]\nindex-url = https://bob:pw@a.example/\n",
                )],
                &[Pip],
                "`pip.conf` names a registry with",
            ),
            (
                &[("requirements/base.txt", "-i https://bob:pw@a.example/\n")],
                &[Pip],
                "`requirements/base.txt` names",
            ),
            (
                &[("requirements.txt", "--no-index\n--find-links wheels\n")],
                &[Pip],
                "`requirements.txt` says that no registry",
            ),
            (
                &[("uv.toml", "no-index = true\n")],
                &[Pip],
                "`uv.toml` says that no registry is asked",
            ),
            (&[("uv.toml", "no-index = true\n")], &[Uv], none),
            (
                &[("pyproject.toml", poetry)],
                &[Pip],
                "`pyproject.toml` names the registry https://a.example/simple/, which",
            ),
            (
                &[("pyproject.toml", &pdm)],
                &[Pip],
                "name it as `--index-url` in `requirements.txt` as well",
            ),
            (
                &[("pyproject.toml", poetry), ("requirements.txt", own)],
                &[Pip],
                none,
            ),
            (&[("pyproject.toml", &both)], &[Uv], none),
            (
                &[("requirements.txt", own)],
                &[Uv],
                "name it as `[[tool.uv.index]]` in `pyproject.toml` as well",
            ),
            (
                &[("uv.toml", "index-url = \"https://a.example/\"\n")],
                &[Pip],
                "`uv.toml` names the registry https://a.example/",
            ),
            (
                &[("Pipfile", "[[source]]\nurl = \"https://pypi.org/simple\"\n")],
                &[Uv],
                none,
            ),
            (
                &[("requirements.txt", own), ("requirements-dev.txt", own)],
                &[Pip],
                none,
            ),
        ];
        for (files, readers, expected) in table {
            let refusal = look(files, Ecosystem::Python)
                .refusal(readers)
                .unwrap_or_default();
            let is_it = if expected.is_empty() {
                refusal.is_empty()
            } else {
                refusal.contains(expected)
            };
            assert!(
                is_it && !refusal.contains("bob") && !refusal.contains("PASS"),
                "{files:?}: {refusal}"
            );
        }
        let npm = look(
            &[(".npmrc", "registry=https://a.example/\n")],
            Ecosystem::JavaScript,
        );
        assert_eq!(
            [&[Npm][..], &[Npm, Yarn], &[Berry]].map(|readers| npm.refusal(readers).is_none()),
            [true, true, false]
        );
        let rye = look(
            &[(
                "pyproject.toml",
                &poetry.replace("poetry.source", "rye.sources"),
            )],
            Ecosystem::Python,
        );
        let bun = "[install.scopes]\ncorp = \"https://a.example/\"\n";
        let bun = look(&[("bunfig.toml", bun)], Ecosystem::JavaScript);
        assert!(
            rye.refusal(&[Pip])
                .is_some_and(|refusal| refusal.contains("the registry https://a.example/simple/"))
        );
        assert!(
            bun.refusal(&[Npm])
                .is_some_and(|refusal| refusal.contains("name it in `.npmrc` as well"))
        );
        let hidden = Found::find(Ecosystem::JavaScript, "react", Vec::new(), &|_| {
            Err(Obstacle::Hidden)
        });
        assert!(
            hidden
                .refusal(&[Npm])
                .is_some_and(|refusal| refusal.starts_with("`.npmrc` may name a registry"))
        );
    }
}
