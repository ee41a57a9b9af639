//! The registries that a project's own files name.
//!
//! What is not found here is not reached, so a file in an unusual form costs a message and nothing else. Whether a host
//! that is named may be reached is the policy's decision: an agent can write these files.

use std::collections::BTreeMap;
use std::io::Read as _;

use orchestrate_core::host::{Host, WebUrl};

use super::grammar::Ecosystem;
use super::login;
use crate::files::Files;

/// Number of bytes of a file that are read.
const MAX_BYTES: u64 = 1 << 18;
/// Maximum number of registries of a project.
const MAX_REGISTRIES: usize = 32;

/// How a file names registries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// Options of pip, one in a line.
    Requirements,
    /// `index-url` and `extra-index-url`, whose values may go on in indented lines.
    Ini,
    /// `registry` or `@scope:registry`, and its value.
    Npmrc,
    /// A key that ends with this, and its value.
    Yaml(&'static str),
    /// Any address in the tables whose names begin with one of these.
    Toml(&'static [&'static str]),
}

const FILES: [(&str, Ecosystem, Format); 11] = [
    ("requirements.txt", Ecosystem::Python, Format::Requirements),
    ("requirements-dev.txt", Ecosystem::Python, Format::Requirements),
    ("pip.conf", Ecosystem::Python, Format::Ini),
    (".venv/pip.conf", Ecosystem::Python, Format::Ini),
    ("venv/pip.conf", Ecosystem::Python, Format::Ini),
    ("pyproject.toml", Ecosystem::Python, Format::Toml(&["tool.uv"])),
    ("uv.toml", Ecosystem::Python, Format::Toml(&[""])),
    (".npmrc", Ecosystem::JavaScript, Format::Npmrc),
    (".yarnrc", Ecosystem::JavaScript, Format::Npmrc),
    (".yarnrc.yml", Ecosystem::JavaScript, Format::Yaml("npmRegistryServer")),
    (".cargo/config.toml", Ecosystem::Rust, Format::Toml(&["source.", "registries.", "registry"])),
];
/// The files that pip does not read by itself.
const PASSED_ON: [&str; 3] = ["requirements.txt", "requirements-dev.txt", "pip.conf"];

/// A registry that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Registry {
    pub(super) url: WebUrl,
    /// The file.
    pub(super) file: &'static str,
    /// Whether it is asked beside another one.
    is_extra: bool,
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
    /// Takes those of files that pip does not read by itself.
    pub(super) fn of(registries: &[Registry]) -> Indexes {
        let passed_on = registries.iter().filter(|registry| PASSED_ON.contains(&registry.file));
        let mut indexes = Indexes::default();
        for Registry { url, is_extra, .. } in passed_on {
            match indexes.index {
                None if !is_extra => indexes.index = Some(url.to_string()),
                _ => indexes.extra.push(url.to_string()),
            }
        }
        indexes
    }
}

/// Reads the registries of an ecosystem that the project's files name, in their order and each once.
pub(super) fn registries(files: &Files, ecosystem: Ecosystem) -> Vec<Registry> {
    let texts = FILES.iter().filter_map(|(file, ..)| Some((*file, text(files, file)?))).collect();
    of_texts(&texts, ecosystem)
}

/// Returns the first file of an ecosystem that names a login for a registry.
pub(super) fn with_login(files: &Files, ecosystem: Ecosystem) -> Option<&'static str> {
    let of_ecosystem = FILES.iter().filter(|(_, of, _)| *of == ecosystem).map(|(file, ..)| *file);
    of_ecosystem.into_iter().find(|file| text(files, file).is_some_and(|text| login::is_named_in(&text)))
}

fn of_texts(texts: &BTreeMap<&str, String>, ecosystem: Ecosystem) -> Vec<Registry> {
    let mut found: Vec<Registry> = Vec::new();
    for (file, _, format) in FILES.into_iter().filter(|(_, of, _)| *of == ecosystem) {
        for (url, is_extra) in texts.get(file).map(|text| named(text, format)).unwrap_or_default() {
            if !found.iter().any(|known| known.url == url) {
                found.push(Registry { url, file, is_extra });
            }
        }
    }
    found.truncate(MAX_REGISTRIES);
    found
}

/// Returns the hosts of registries.
pub(super) fn hosts(registries: &[Registry]) -> Vec<Host> {
    registries.iter().map(|registry| registry.url.host().clone()).collect()
}

fn text(files: &Files, path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    files.open(path).ok()?.file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the addresses that a text names as registries, and whether each is asked beside another one.
fn named(text: &str, format: Format) -> Vec<(WebUrl, bool)> {
    let (mut heading, mut key, mut found) = (String::new(), String::new(), Vec::new());
    for line in text.lines() {
        let goes_on = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('[') && !goes_on {
            heading = line.trim_matches(['[', ']']).trim().to_owned();
            continue;
        }
        let own: String = line.chars().take_while(|c| !c.is_whitespace() && *c != '=').collect();
        if !(goes_on && format == Format::Ini) {
            key = own;
        }
        if names_registry(format, &heading, &key) {
            let is_extra = key.contains("extra");
            found.extend(addresses(line).map(|url| (url, is_extra)));
        }
    }
    found
}

fn names_registry(format: Format, heading: &str, key: &str) -> bool {
    let key = key.trim_matches(['"', '\'']);
    match format {
        Format::Requirements => matches!(key, "-i" | "--index-url" | "--extra-index-url"),
        Format::Ini => matches!(key, "index-url" | "extra-index-url"),
        Format::Npmrc => key == "registry" || key.ends_with(":registry"),
        Format::Yaml(ending) => key.trim_end_matches(':').trim_end_matches(['"', '\'']).ends_with(ending),
        Format::Toml(tables) => tables.iter().any(|table| heading.starts_with(table)),
    }
}

/// Returns the addresses in a line, one of each word. One with a user or a password is none: no job is given those.
pub(super) fn addresses(line: &str) -> impl Iterator<Item = WebUrl> {
    let words = line.split(|c: char| c.is_whitespace() || "\"'`,;<>()[]{}".contains(c));
    let texts = words.filter_map(|word| {
        let starts = [word.find("http://"), word.find("https://")];
        word.get(starts.into_iter().flatten().min()?..)
    });
    texts.filter_map(|url| WebUrl::parse(url).ok()).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &'static str, text: &str) -> Vec<String> {
        let (_, ecosystem, _) = FILES.into_iter().find(|(name, ..)| *name == file).unwrap();
        let texts = BTreeMap::from([(file, text.to_owned())]);
        of_texts(&texts, ecosystem).iter().map(|registry| registry.url.to_string()).collect()
    }

    #[test]
    fn each_file_names_its_registries() {
        let table: &[(&str, &str, &[&str])] = &[
            (
                "requirements.txt",
                "# -i https://no.example/\nrequests\n--index-url https://a.example/simple\n--extra-index-url=https://b.example/\n\
                 -i http://c.example/\nx @ https://no.example/x.whl\n--find-links https://no.example/\n",
                &["https://a.example/simple", "https://b.example/", "http://c.example/"],
            ),
            (
                "pip.conf",
                "[global]\nindex-url = https://a.example/\n; index-url = https://no.example/\nextra-index-url =\n    \
                 https://b.example/\n    https://c.example/\nproxy = http://no.example/\n",
                &["https://a.example/", "https://b.example/", "https://c.example/"],
            ),
            (
                "pyproject.toml",
                "[project]\nurls = { home = \"https://no.example/\" }\n[[tool.uv.index]]\nname = \"a\"\n\
                 url = \"https://a.example/simple/\"\n[tool.uv]\nextra-index-url = [\n  \"https://b.example/\",\n]\n\
                 [tool.other]\nurl = \"https://no.example/\"\n",
                &["https://a.example/simple/", "https://b.example/"],
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
                 [registries.corp]\nindex = \"sparse+https://b.example/\"\n[http]\nproxy = \"http://no.example/\"\n",
                &["https://a.example/index/", "https://b.example/"],
            ),
            ("requirements.txt", "-i https://user:password@a.example/\n-i file:///a\n-i ftp://a.example/\n", &[]),
            ("requirements.txt", "-i https://A.example:443/x\n-i https://a.example/x\n", &["https://a.example/x"]),
        ];
        for (file, text, expected) in table {
            assert_eq!(found(file, text), *expected, "{file}");
        }
        let many: String = (0..100).map(|number| format!("-i https://r{number}.example/\n")).collect();
        assert_eq!(found("requirements.txt", &many).len(), MAX_REGISTRIES);
    }

    #[test]
    fn a_line_is_read_in_time_of_its_length() {
        // It would take minutes to look for the end of the line from each of these beginnings.
        let word = "https://a.example/".repeat(100_000);
        assert!(addresses(&word).count() <= 1);
        let line = format!("source = \"sparse+{word}\", url = 'https://b.example/'");
        assert_eq!(addresses(&line).last(), WebUrl::parse("https://b.example/").ok());
    }

    #[test]
    fn pip_is_told_of_what_it_does_not_read() {
        let texts = [
            ("requirements.txt", "--extra-index-url https://b.example/\n-i https://a.example/\n"),
            ("pip.conf", "[global]\nindex-url = https://c.example/\n"),
            (".venv/pip.conf", "[global]\nindex-url = https://d.example/\n"),
        ];
        let texts = texts.into_iter().map(|(file, text)| (file, text.to_owned())).collect();
        let registries = of_texts(&texts, Ecosystem::Python);
        let expected = Indexes {
            index: Some("https://a.example/".to_owned()),
            extra: vec!["https://b.example/".to_owned(), "https://c.example/".to_owned()],
        };
        assert_eq!(Indexes::of(&registries), expected);
        assert_eq!(hosts(&registries).len(), 4);
        assert_eq!(of_texts(&texts, Ecosystem::Rust), []);
    }
}
