//! The user's settings that name a registry, and whether a job that reaches registries is given
//! each.
//!
//! A package manager that is not given such a setting would ask a public registry instead, so its
//! caller has to know. Here, nothing is read but which setting it is; a line is only returned if a
//! job sees it, too.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::environment::host::{self, RustHomes};
use crate::environment::network::{HOME_FILES, MACHINE_FILES, is_shown_to_all, without_secrets};
use crate::environment::programs::is_executable;
use crate::environment::secrets::holds_secret;

/// A setting of the user's that names a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrySetting {
    /// The variable or the file, as the user knows it.
    pub place: String,
    /// The package managers that read it.
    pub readers: &'static [&'static str],
    /// Whether a job is given it: not if it seems to contain a password or a token, is not in
    /// UTF-8, or is in an unusual place.
    pub is_given: bool,
    /// The lines of it that name registries, if a job is given it.
    pub lines: Vec<String>,
}

const PIP: &[&str] = &["pip"];
const UV: &[&str] = &["uv"];
const NPM: &[&str] = &["npm", "pnpm", "yarn"];
const PNPM: &[&str] = &["pnpm"];
const YARN: &[&str] = &["yarn"];
const CARGO: &[&str] = &["cargo"];
const GO: &[&str] = &["go"];

/// The variables that name registries, with what reads them.
const VARIABLES: [(&str, &[&str]); 13] = [
    ("PIP_INDEX_URL", PIP),
    ("PIP_EXTRA_INDEX_URL", PIP),
    ("PIP_NO_INDEX", PIP),
    ("UV_DEFAULT_INDEX", UV),
    ("UV_INDEX", UV),
    ("UV_INDEX_URL", UV),
    ("UV_EXTRA_INDEX_URL", UV),
    ("UV_NO_INDEX", UV),
    ("npm_config_registry", NPM),
    ("NPM_CONFIG_REGISTRY", NPM),
    ("YARN_REGISTRY", YARN),
    ("YARN_NPM_REGISTRY_SERVER", YARN),
    ("GOPROXY", GO),
];
/// The variables that name a file of settings, which no job is given.
const NAMING_FILES: [(&str, &[&str]); 5] = [
    ("PIP_CONFIG_FILE", PIP),
    ("UV_CONFIG_FILE", UV),
    ("npm_config_userconfig", NPM),
    ("NPM_CONFIG_USERCONFIG", NPM),
    ("GOENV", GO),
];
/// The variables that name npm's file of settings for all users.
const GLOBAL_FILES: [&str; 2] = ["npm_config_globalconfig", "NPM_CONFIG_GLOBALCONFIG"];
/// The variables that name npm's prefix.
const PREFIXES: [&str; 3] = ["PREFIX", "npm_config_prefix", "NPM_CONFIG_PREFIX"];
/// That file below the prefix, which is where node is installed unless it is set.
const BELOW_PREFIX: &str = "etc/npmrc";
/// That file where a distribution has its own place for it.
const OF_DISTRIBUTION: &str = "/etc/npmrc";
/// The registries that npm, pnpm and yarn ask without any setting.
const PUBLIC: [&str; 2] = ["https://registry.npmjs.org", "https://registry.yarnpkg.com"];
/// The variable that names the folder of the user's settings.
const FOLDER_OF_SETTINGS: &str = "XDG_CONFIG_HOME";
/// That folder, if the variable is not set.
const USUAL_FOLDER: &str = ".config";

/// The beginnings of lines that name a registry in the settings of all package managers.
const KEYS: [&str; 14] = [
    "registry",
    "index-url",
    "extra-index-url",
    "default-index",
    "no-index",
    "index",
    "[[index]]",
    "url",
    "npmregistryserver",
    "replace-with",
    "default",
    "goproxy",
    "goprivate",
    "gonoproxy",
];

/// Returns the user's settings that name a registry.
#[must_use]
pub fn registry_settings() -> Vec<RegistrySetting> {
    let mut found = settings_of(&host::home_of_user(), &host::variable);
    for (path, readers) in MACHINE_FILES.into_iter().zip([PIP, PIP, UV, UV]) {
        let file = Path::new(path);
        found.extend(setting_of_file(file, path.to_owned(), readers, false));
    }
    let of_distribution = global_setting_of_npm(Path::new(OF_DISTRIBUTION), false);
    found.extend(of_distribution);
    let cargo = RustHomes::of_user();
    if let Some((path, bytes)) = cargo.any_cargo_config() {
        let text = String::from_utf8_lossy(&bytes);
        let given = if cargo.shows_cargo_home() { &*text } else { "" };
        if text.lines().any(is_about_all) {
            let place = path.to_string_lossy().into_owned();
            found.extend(setting(place, CARGO, &text, given));
        }
    }
    found
}

/// Other registries are asked only for packages that name them.
fn is_about_all(line: &str) -> bool {
    line.contains("replace-with") || line.trim_start().starts_with("default")
}

/// Returns the user's settings of cargo, unless they seem to contain a password or a token.
#[must_use]
pub fn cargo_settings() -> Option<Vec<u8>> {
    let (_, settings) = RustHomes::of_user().cargo_config()?;
    Some(settings)
}

fn settings_of(home: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<RegistrySetting> {
    let mut found = settings_in_variables(variable);
    if home.is_absolute() {
        for (name, by_line) in HOME_FILES {
            let place = format!("~/{name}");
            let file = home.join(name);
            found.extend(setting_of_file(&file, place, readers_of(name), by_line));
        }
    }
    found.extend(settings_elsewhere(home, variable));
    found.extend(global_settings_of_npm(home, variable));
    found
}

fn settings_in_variables(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<RegistrySetting> {
    let mut found = Vec::new();
    for (name, readers) in VARIABLES {
        if let Some(value) = variable(name)
            && !value.is_empty()
        {
            let value = value.to_string_lossy().into_owned();
            let is_given = !holds_secret(&value);
            found.push(RegistrySetting {
                place: name.to_owned(),
                readers,
                is_given,
                lines: if is_given { vec![value] } else { Vec::new() },
            });
        }
    }
    found
}

/// Returns the settings in files to which variables lead, and of which no job is given anything.
fn settings_elsewhere(
    home: &Path,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<RegistrySetting> {
    let mut found = Vec::new();
    for (name, readers) in NAMING_FILES {
        if let Some(path) = variable(name) {
            let place = name.to_owned();
            found.extend(withheld_setting(home, Path::new(&path), place, readers));
        }
    }
    // What is no absolute path counts for no program.
    if let Some(folder) = variable(FOLDER_OF_SETTINGS).map(PathBuf::from)
        && folder.is_absolute()
        && folder != home.join(USUAL_FOLDER)
    {
        for (name, _) in HOME_FILES {
            if let Ok(below) = Path::new(name).strip_prefix(USUAL_FOLDER) {
                let place = format!("{} in ${FOLDER_OF_SETTINGS}", below.display());
                let file = folder.join(below);
                found.extend(withheld_setting(home, &file, place, readers_of(name)));
            }
        }
    }
    found
}

/// Returns the setting in a file of which no job is given anything.
fn withheld_setting(
    home: &Path,
    path: &Path,
    place: String,
    readers: &'static [&'static str],
) -> Option<RegistrySetting> {
    // A pipe would be waited for.
    if is_usual(home, path) || !path.is_file() {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    setting(place, readers, &String::from_utf8_lossy(&bytes), "")
}

/// Reports whether a file is read for itself: npm names the usual one to each program that it
/// starts.
fn is_usual(home: &Path, path: &Path) -> bool {
    let is_in_home = HOME_FILES.iter().any(|(name, _)| home.join(name) == *path);
    is_in_home || MACHINE_FILES.iter().any(|name| Path::new(name) == path)
}

/// Returns what npm's settings for all users name, wherever the user's npm looks for them.
fn global_settings_of_npm(
    home: &Path,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<RegistrySetting> {
    let of_node = prefix_of_node(variable).map(|prefix| prefix.join(BELOW_PREFIX));
    let mut files = BTreeSet::new();
    files.extend(of_node.clone());
    files.extend(
        GLOBAL_FILES
            .into_iter()
            .filter_map(variable)
            .map(PathBuf::from),
    );
    for prefix in PREFIXES.into_iter().filter_map(variable) {
        files.insert(Path::new(&prefix).join(BELOW_PREFIX));
    }
    if let Ok(npmrc) = std::fs::read_to_string(home.join(".npmrc"))
        && let Some(prefix) = prefix_in(&npmrc, home)
    {
        files.insert(prefix.join(BELOW_PREFIX));
    }
    // A relative path depends on where npm is started. A pipe would be waited for.
    files.retain(|path| path.is_absolute() && path.is_file());
    let mut found = Vec::new();
    for path in files {
        // A job sees the folders of the system, but is given none of these variables.
        let is_read = of_node.as_ref() == Some(&path)
            && path.canonicalize().is_ok_and(|real| is_shown_to_all(&real));
        found.extend(global_setting_of_npm(&path, is_read));
    }
    found
}

/// Reads npm's settings for all users, which a job reads, too, or not.
fn global_setting_of_npm(path: &Path, is_read: bool) -> Option<RegistrySetting> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let found = setting(path.to_string_lossy().into_owned(), NPM, &text, &text)?;
    if is_read {
        return Some(found);
    }
    if found.lines.iter().all(|line| is_public(line)) {
        return None;
    }
    Some(RegistrySetting {
        is_given: false,
        lines: Vec::new(),
        ..found
    })
}

/// Reports whether a line of npm's settings names a registry that is asked without it.
fn is_public(line: &str) -> bool {
    let Some((_, value)) = line.split_once('=') else {
        return false;
    };
    let value = value.trim().trim_matches(['"', '\'']);
    PUBLIC.contains(&value.trim_end_matches('/'))
}

/// Returns the folder in which the user's node is installed, by its real path.
fn prefix_of_node(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    for folder in std::env::split_paths(&variable("PATH")?) {
        let node = folder.join("node");
        if is_executable(&node) {
            return Some(node.canonicalize().ok()?.parent()?.parent()?.to_path_buf());
        }
    }
    None
}

/// Returns the prefix that the user's own settings of npm name.
fn prefix_in(npmrc: &str, home: &Path) -> Option<PathBuf> {
    for line in npmrc.lines().rev() {
        if let Some((key, value)) = line.split_once('=')
            && key.trim() == "prefix"
        {
            let prefix = value.trim().trim_matches(['"', '\'']);
            for start in ["~/", "${HOME}/"] {
                if let Some(below) = prefix.strip_prefix(start) {
                    return Some(home.join(below));
                }
            }
            return Some(PathBuf::from(prefix));
        }
    }
    None
}

/// Returns what reads a file of the user's home.
fn readers_of(name: &str) -> &'static [&'static str] {
    match name {
        ".npmrc" => NPM,
        ".config/pnpm/rc" => PNPM,
        ".yarnrc" | ".yarnrc.yml" => YARN,
        ".config/uv/uv.toml" => UV,
        ".config/go/env" => GO,
        _ => PIP,
    }
}

fn setting_of_file(
    path: &Path,
    place: String,
    readers: &'static [&'static str],
    by_line: bool,
) -> Option<RegistrySetting> {
    let bytes = std::fs::read(path).ok()?;
    // A job is given nothing of what is not in UTF-8.
    let given = match std::str::from_utf8(&bytes) {
        Ok(text) => without_secrets(text, by_line),
        Err(_) => None,
    };
    let text = String::from_utf8_lossy(&bytes);
    setting(place, readers, &text, given.as_deref().unwrap_or(""))
}

/// Returns the setting that a text is, of which a job sees what is given; `None` if it names no
/// registry.
fn setting(
    place: String,
    readers: &'static [&'static str],
    text: &str,
    given: &str,
) -> Option<RegistrySetting> {
    let named: Vec<&str> = text.lines().filter(|line| names_registry(line)).collect();
    if named.is_empty() {
        return None;
    }
    let seen: Vec<&str> = given.lines().collect();
    let is_given = named.iter().all(|line| seen.contains(line));
    let lines = if is_given {
        named.into_iter().map(str::to_owned).collect()
    } else {
        Vec::new()
    };
    Some(RegistrySetting {
        place,
        readers,
        is_given,
        lines,
    })
}

/// Reports whether a line of any of the files names a registry, or says that none is asked.
fn names_registry(line: &str) -> bool {
    let line = line.trim();
    if line.starts_with(['#', ';']) {
        return false;
    }
    // An address in a line of its own belongs to a list; nothing but an index is a table with one
    // there.
    let listed = line.trim_start_matches(['"', '\'', '[', ',', ' ']);
    if listed.starts_with("https://") || listed.starts_with("http://") {
        return true;
    }
    let is_table = listed.starts_with('{') && listed.contains("://");
    let mut words = line.split(|c: char| c.is_whitespace() || c == '=');
    let key = words
        .next()
        .unwrap_or(line)
        .trim_matches(['"', '\''])
        .trim_end_matches(':')
        .trim_end_matches('"');
    let key = key.to_lowercase().replace('_', "-");
    let is_key =
        KEYS.contains(&key.as_str()) || key.ends_with(":registry") || key.starts_with("index-url:");
    is_key || is_table || line.contains("replace-with")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_names_a_registry_is_known_and_whether_a_job_is_given_it() {
        let home = tempfile::tempdir().unwrap();
        let files = [
            (
                ".npmrc",
                "@corp:registry=https://me:pw@npm.example/\nfund=false\n\
                 //npm.example/:_authToken=abc\n",
            ),
            (
                ".yarnrc",
                "registry \"https://npm.example/\"\nauth-type token\n",
            ),
            (
                ".yarnrc.yml",
                "httpProxy: \"http://me:pw@proxy.example\"\nnpmRegistryServer: \
                 \"https://npm.example\"\n",
            ),
            (
                ".config/pip/pip.conf",
                "[global]\nindex_url: https://pypi.example/simple\nextra-index-url =\n    \
                 https://b.example/\n\
                 timeout = 9\n",
            ),
            (
                ".config/uv/uv.toml",
                "# index-url = \"https://me:pw@pypi.example/\"\nlink-mode = \"copy\"\n",
            ),
            (
                ".config/pnpm/rc",
                "#@corp:registry=https://me:pw@npm.example/\n;registry=https://npm.example/\n",
            ),
            (
                "elsewhere/uv/uv.toml",
                "[[index]]\nurl = \"https://pypi.example/\"\n",
            ),
            (
                "elsewhere/npmrc",
                "fund=false\nomit-lockfile-registry-resolved=true\n",
            ),
        ];
        for (name, text) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(home.path().join(".pip")).unwrap();
        let in_latin1 = b"# f\xfcr uns\n[global]\nindex-url = https://pypi.example/simple\n";
        std::fs::write(home.path().join(".pip/pip.conf"), in_latin1).unwrap();
        let variables = [
            (
                "PIP_INDEX_URL",
                OsString::from("http://bob:pw@127.0.0.1:8702/simple"),
            ),
            ("GOPROXY", OsString::from("https://goproxy.example,direct")),
            ("XDG_CONFIG_HOME", home.path().join("elsewhere").into()),
            (
                "NPM_CONFIG_USERCONFIG",
                home.path().join("elsewhere/npmrc").into(),
            ),
            (
                "PIP_CONFIG_FILE",
                home.path().join(".config/pip/pip.conf").into(),
            ),
        ];
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(set, _)| *set == name)
                .map(|(_, value)| value.clone())
        };
        let found = settings_of(home.path(), &variable);
        let found: Vec<(&str, bool, Vec<&str>)> = found
            .iter()
            .map(|setting| {
                (
                    setting.place.as_str(),
                    setting.is_given,
                    setting.lines.iter().map(String::as_str).collect(),
                )
            })
            .collect();
        let expected: [(&str, bool, Vec<&str>); 8] = [
            ("PIP_INDEX_URL", false, vec![]),
            ("GOPROXY", true, vec!["https://goproxy.example,direct"]),
            ("~/.npmrc", false, vec![]),
            ("~/.yarnrc", true, vec!["registry \"https://npm.example/\""]),
            ("~/.yarnrc.yml", false, vec![]),
            (
                "~/.config/pip/pip.conf",
                true,
                vec![
                    "index_url: https://pypi.example/simple",
                    "extra-index-url =",
                    "    https://b.example/",
                ],
            ),
            ("~/.pip/pip.conf", false, vec![]),
            ("uv/uv.toml in $XDG_CONFIG_HOME", false, vec![]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn npms_settings_for_all_users_are_known() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let settings = "@corp:registry=https://npm.example/\n";
        let files = [
            ("opt/bin/node", ""),
            ("opt/etc/npmrc", settings),
            ("own/etc/npmrc", settings),
            ("named", settings),
            ("prefix/etc/npmrc", "fund=false\n"),
            (".npmrc", "prefix = ~/own\nfund=false\n"),
        ];
        for (name, text) in files {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::set_permissions(
            home.join("opt/bin/node"),
            std::fs::Permissions::from_mode(0o755),
        )
        .unwrap();
        let variables = [
            ("PATH", home.join("opt/bin")),
            ("NPM_CONFIG_GLOBALCONFIG", home.join("named")),
            // npm names its own file to each program that it starts.
            ("npm_config_globalconfig", home.join("opt/etc/npmrc")),
            ("PREFIX", home.join("prefix")),
        ];
        let all = |name: &str| {
            let value = variables
                .iter()
                .find(|(set, _)| *set == name)
                .map(|(_, value)| value);
            value.map(|value| value.clone().into_os_string())
        };
        let found = |variable: &dyn Fn(&str) -> Option<OsString>| {
            let found = settings_of(&home, variable).into_iter();
            found
                .map(|setting| (setting.place, setting.readers, setting.is_given))
                .collect::<Vec<_>>()
        };
        let expected = |name: &str| (home.join(name).to_string_lossy().into_owned(), NPM, false);
        assert_eq!(
            found(&all),
            ["named", "opt/etc/npmrc", "own/etc/npmrc"].map(expected)
        );
        assert_eq!(found(&|_| None), [expected("own/etc/npmrc")]);
    }

    #[test]
    fn settings_for_all_users_that_no_job_reads_are_missing_unless_they_are_public() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("npmrc");
        for (text, is_missing) in [
            ("registry=https://a.example/\n", true),
            (
                "registry=https://registry.npmjs.org/\n@b:registry=https://b.example/\n",
                true,
            ),
            ("registry=\"https://registry.npmjs.org/\"\n", false),
        ] {
            std::fs::write(&file, text).unwrap();
            let missing = global_setting_of_npm(&file, false);
            assert_eq!(missing.is_some(), is_missing, "{text}");
            assert!(missing.is_none_or(|missing| !missing.is_given && missing.lines.is_empty()));
            // The control: what a job reads is known, whatever it names.
            assert!(global_setting_of_npm(&file, true).is_some_and(|read| read.is_given));
        }
    }

    #[test]
    fn the_lines_with_the_addresses_of_registries_are_known() {
        let table = [
            (
                "[[index]]\nname = \"a\"\nurl = \"https://a.example/\"\ndefault = true\n",
                vec![0, 2, 3],
            ),
            (
                "index = [\n  { name = \"a\", url = \"https://a.example/\" },\n]\n",
                vec![0, 1],
            ),
            (
                "extra-index-url = [\n  \"https://a.example/\",\n]\nlink-mode = \"copy\"\n",
                vec![0, 1],
            ),
            (
                "# url = \"https://a.example/\"\ncache-dir = \"/a\"\n",
                vec![],
            ),
            (
                "proxy=http://proxy.example:3128\n@corp:registry=https://a.example/\n",
                vec![1],
            ),
        ];
        for (text, expected) in table {
            let lines: Vec<usize> = text
                .lines()
                .enumerate()
                .filter(|(_, line)| names_registry(line))
                .map(|(number, _)| number)
                .collect();
            assert_eq!(lines, expected, "{text}");
        }
    }
}
