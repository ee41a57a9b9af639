//! How the files of a project name registries, and what in them keeps a package manager from asking
//! these and no others.

use orchestrate_core::policy::host::WebUrl;

use super::login;

/// How a file names registries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Options of pip, in lines of their own.
    Requirements,
    /// `index-url` and `extra-index-url`, whose values may go on in indented lines.
    Ini,
    /// `registry` or `@scope:registry`, and its value.
    Npmrc,
    /// A key that ends with this, and its value.
    Yaml(&'static str),
    /// `registry`, `@scope:registry` or what is below `registries`, in the file of a workspace of
    /// pnpm.
    Workspace,
    /// Any address at or below one of these keys, from the root on.
    Toml(&'static [&'static str]),
    /// Variables that name an index, at or below one of these keys.
    Variables(&'static [&'static str]),
    /// The settings of tox.
    Tox,
}

/// What keeps a package manager from asking the registries that a file names, and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The address of a registry has a user or a password.
    Login,
    /// A token or a password for a registry stands in the file.
    Token,
    /// The address of a registry is none of the web, or a variable completes it.
    Unclear,
    /// No registry is to be asked.
    NoIndex,
    /// The file may not be read.
    Hidden,
    /// The file is too long to be read.
    TooLong,
}

/// A registry that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) url: WebUrl,
    /// Whether it is asked beside another one.
    pub(super) is_extra: bool,
    /// The name by which packages are pinned to it, if it is asked for no others.
    pub(super) explicit: Option<String>,
}

/// What a file says about registries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) registries: Vec<Named>,
    pub(super) obstacles: Vec<Obstacle>,
    /// The files that it includes, relative to its folder.
    pub(super) includes: Vec<String>,
}

impl Obstacle {
    /// Returns what an agent is told about a call that is refused for it.
    pub(super) fn refusal(self, file: &str) -> String {
        let (why, instead) = match self {
            Obstacle::Login => (
                "names a registry with a user or a password, and none enters the sandbox",
                "name the registry there without it if it answers without one, or",
            ),
            Obstacle::Token => (
                "contains a password or a token for a registry, and none enters the sandbox",
                "do without the package, or",
            ),
            Obstacle::Unclear => (
                "names a registry by something else than a whole address of the web, such as a variable or a path",
                "write its address there as https://host/path, or",
            ),
            Obstacle::NoIndex => (
                "says that no registry is asked (`no-index`)",
                "install from the project's own files with a command, which needs no network, such as `.venv/bin/python \
                 -m pip install --no-index --find-links FOLDER PACKAGE`, or",
            ),
            Obstacle::Hidden => (
                "may name a registry, and a rule or a link keeps it from being read",
                "do without the package, or",
            ),
            Obstacle::TooLong => (
                "may name a registry, and is too long to be read",
                "make it shorter, or",
            ),
        };
        format!(
            "`{file}` {why}; nothing was installed, so that no other registry is asked in its place. Instead, {instead} {}",
            login::BY_USER
        )
    }
}

impl Said {
    fn take(&mut self, text: &str, is_extra: bool) {
        match address(text) {
            Ok(url) => self.registries.push(Named {
                url,
                is_extra,
                explicit: None,
            }),
            Err(obstacle) => self.obstacles.push(obstacle),
        }
    }
}

/// Reads what a text says about registries.
pub(super) fn said(text: &str, format: Format) -> Said {
    let text = text.trim_start_matches('\u{feff}');
    let mut said = match format {
        Format::Requirements => requirements(text),
        Format::Toml(keys) => tables(text, keys, read_value),
        Format::Variables(keys) => tables(text, keys, read_variables),
        Format::Tox => tox(text),
        Format::Workspace => workspace(text),
        Format::Ini | Format::Npmrc | Format::Yaml(_) => settings(text, format),
    };
    let has_tokens = match format {
        Format::Npmrc | Format::Yaml(_) => true,
        Format::Toml(tables) => tables.contains(&"registries"),
        Format::Requirements
        | Format::Ini
        | Format::Workspace
        | Format::Variables(_)
        | Format::Tox => false,
    };
    if has_tokens && login::is_written_in(text) {
        said.obstacles.push(Obstacle::Token);
    }
    said
}

/// Reads the address of a registry.
fn address(text: &str) -> Result<WebUrl, Obstacle> {
    let authority = text
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next())
        .unwrap_or_default();
    match WebUrl::parse(text) {
        Ok(url) if !text.contains('{') => Ok(url),
        _ if authority.contains('@') => Err(Obstacle::Login),
        _ => Err(Obstacle::Unclear),
    }
}

/// An option of pip that is about registries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PipOption {
    Index,
    ExtraIndex,
    NoIndex,
    Include,
}

/// The options, each with the number of characters from which it may be cut short.
const PIP_OPTIONS: [(&str, usize, PipOption); 9] = [
    ("-i", 2, PipOption::Index),
    ("--index-url", 4, PipOption::Index),
    ("--pypi-url", 5, PipOption::Index),
    ("--extra-index-url", 4, PipOption::ExtraIndex),
    ("--no-index", 6, PipOption::NoIndex),
    ("-r", 2, PipOption::Include),
    ("--requirement", 10, PipOption::Include),
    ("-c", 2, PipOption::Include),
    ("--constraint", 6, PipOption::Include),
];

/// Reads the options of a list of requirements, as
/// <https://pip.pypa.io/en/stable/reference/requirements-file-format/> says.
fn requirements(text: &str) -> Said {
    let (mut said, mut line) = (Said::default(), String::new());
    for part in text.lines().map(str::trim_end) {
        let is_comment = part.trim_start().starts_with('#');
        match part.strip_suffix('\\').filter(|_| !is_comment) {
            Some(begin) => line.push_str(begin),
            None => {
                line.push_str(part);
                read_options(&line, &mut said);
                line.clear();
            }
        }
    }
    read_options(&line, &mut said);
    said
}

fn read_options(line: &str, said: &mut Said) {
    if !line.trim_start().starts_with('-') {
        return;
    }
    let mut words = line
        .split_whitespace()
        .take_while(|word| !word.starts_with('#'));
    while let Some(word) = words.next() {
        let (key, written) = split_option(word);
        let is_it = |(name, least, _): &&(&str, usize, PipOption)| {
            key.len() >= *least && name.starts_with(key)
        };
        let Some((_, _, option)) = PIP_OPTIONS.iter().find(is_it) else {
            continue;
        };
        if *option == PipOption::NoIndex {
            said.obstacles.push(Obstacle::NoIndex);
            continue;
        }
        let value = written
            .or_else(|| words.next())
            .unwrap_or_default()
            .trim_matches(['"', '\'']);
        match option {
            PipOption::Include => said.includes.push(value.to_owned()),
            PipOption::Index | PipOption::ExtraIndex | PipOption::NoIndex => {
                let is_extra = *option == PipOption::ExtraIndex;
                // As tox has it.
                if value.starts_with(PASSED_ON) {
                    read_index(value, is_extra, said);
                } else {
                    said.take(value, is_extra);
                }
            }
        }
    }
}

/// Splits a word into an option and the value that is written into the same word.
fn split_option(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        return word
            .split_once('=')
            .map_or((word, None), |(key, value)| (key, Some(value)));
    }
    match word.split_at_checked(2) {
        Some((key, value)) if !value.is_empty() => (key, Some(value)),
        _ => (word, None),
    }
}

/// Reads the value of a key of TOML, and those below it.
type ReadValue = fn(&str, &toml::Value, &mut Said);

/// Reads what stands at these keys of TOML. A text that is none names nothing: no package manager
/// can read it.
fn tables(text: &str, keys: &[&str], read: ReadValue) -> Said {
    let mut said = Said::default();
    let Ok(root) = text.parse::<toml::Table>() else {
        return said;
    };
    let root = toml::Value::Table(root);
    for path in keys {
        let value = path.split('.').try_fold(&root, |value, key| value.get(key));
        let last = path.rsplit('.').next().unwrap_or_default();
        value
            .into_iter()
            .for_each(|value| read(last, value, &mut said));
    }
    said
}

/// Reads the value of a key, and those below it.
fn read_value(key: &str, value: &toml::Value, said: &mut Said) {
    match value {
        toml::Value::String(text) => {
            web_part(text)
                .into_iter()
                .for_each(|text| said.take(text, key.contains("extra")));
        }
        toml::Value::Boolean(true) if key == "no-index" => said.obstacles.push(Obstacle::NoIndex),
        toml::Value::Array(values) => values.iter().for_each(|value| read_value(key, value, said)),
        toml::Value::Table(table) => {
            let known = said.registries.len();
            table
                .iter()
                .for_each(|(key, value)| read_value(key, value, said));
            let explicit = explicit_name(table);
            said.registries
                .iter_mut()
                .skip(known)
                .for_each(|named| named.explicit = explicit.clone());
        }
        _ => {}
    }
}

/// Returns the name of a source that poetry or uv asks only for the packages that are pinned to it.
fn explicit_name(source: &toml::Table) -> Option<String> {
    let is_set = |key: &str| source.get(key).and_then(toml::Value::as_bool) == Some(true);
    let priority = source
        .get("priority")
        .and_then(toml::Value::as_str)
        .unwrap_or_default();
    // In the place of the public index, it would keep that from being asked.
    let is_explicit =
        priority.eq_ignore_ascii_case("explicit") || (is_set("explicit") && !is_set("default"));
    source
        .get("name")
        .and_then(toml::Value::as_str)
        .filter(|_| is_explicit)
        .map(str::to_owned)
}

/// Returns the names of the sources to which a `pyproject.toml` pins a package, as poetry and uv
/// read it.
pub(super) fn pins(text: &str, is_package: &dyn Fn(&str) -> bool) -> Vec<String> {
    let root = text.parse::<toml::Table>().unwrap_or_default();
    let tools = root.get("tool").and_then(toml::Value::as_table);
    let tool = |name: &'static str| Some((name, tools?.get(name)?));
    let mut pending: Vec<(&str, &toml::Value)> =
        ["poetry", "uv"].into_iter().filter_map(tool).collect();
    let mut pins = Vec::new();
    while let Some((key, value)) = pending.pop() {
        match value {
            toml::Value::Array(values) => pending.extend(values.iter().map(|value| (key, value))),
            toml::Value::Table(table) => {
                let named = ["source", "index"]
                    .into_iter()
                    .filter_map(|name| table.get(name)?.as_str());
                pins.extend(named.filter(|_| is_package(key)).map(str::to_owned));
                pending.extend(table.iter().map(|(key, value)| (key.as_str(), value)));
            }
            _ => {}
        }
    }
    pins
}

/// The variables that name an index, and whether it is asked beside another one.
const VARIABLES: [(&str, bool); 6] = [
    ("PIP_INDEX_URL", false),
    ("PIP_EXTRA_INDEX_URL", true),
    ("UV_DEFAULT_INDEX", false),
    ("UV_INDEX", true),
    ("UV_INDEX_URL", false),
    ("UV_EXTRA_INDEX_URL", true),
];

/// Reads the variables at a key and below it.
fn read_variables(key: &str, value: &toml::Value, said: &mut Said) {
    match value {
        toml::Value::String(text) if key == "legacy_tox_ini" => {
            let Said {
                registries,
                obstacles,
                ..
            } = tox(text);
            said.registries.extend(registries);
            said.obstacles.extend(obstacles);
        }
        // Of tox.
        toml::Value::String(text) if key == "deps" => read_options(text, said),
        toml::Value::Array(words) if key == "install_command" => {
            let words = words
                .iter()
                .filter_map(toml::Value::as_str)
                .skip_while(|word| !word.starts_with('-'));
            read_options(&words.collect::<Vec<_>>().join(" "), said);
        }
        toml::Value::String(text) => {
            // Where hatch changes variables on a condition, it has the name and the value in one
            // text. The same in a script or a command is for that alone.
            let is_pair = matches!(key, "env-vars" | "value");
            let (name, value) = text
                .split_once('=')
                .filter(|_| is_pair)
                .unwrap_or((key, text.as_str()));
            read_variable(name, value, said);
        }
        toml::Value::Array(values) => values
            .iter()
            .for_each(|value| read_variables(key, value, said)),
        toml::Value::Table(table) => {
            read_pair(key, table, said);
            table
                .iter()
                .for_each(|(key, value)| read_variables(key, value, said));
        }
        _ => {}
    }
}

/// Reads a table that is one variable: hatch has its name and value there, and tox what it passes
/// on.
fn read_pair(key: &str, table: &toml::Table, said: &mut Said) {
    let text = |name: &str| {
        table
            .get(name)
            .and_then(toml::Value::as_str)
            .unwrap_or_default()
    };
    if key == "env-vars" {
        read_variable(text("key"), text("value"), said);
    }
    if is_variable(key) && table.contains_key("replace") {
        match text("default") {
            "" if is_variable(text("name")) => {}
            "" => said.obstacles.push(Obstacle::Unclear),
            default => read_variable(key, default, said),
        }
    }
}

fn is_variable(name: &str) -> bool {
    VARIABLES.iter().any(|(known, _)| *known == name)
}

/// Reads the value of a variable. What passes on the user's own variable of that kind names
/// nothing.
fn read_variable(name: &str, value: &str, said: &mut Said) {
    // tox has a condition before the name.
    let name = name.trim().rsplit([' ', ':']).next().unwrap_or_default();
    let Some((_, is_extra)) = VARIABLES.iter().find(|(known, _)| *known == name) else {
        return;
    };
    let words = value
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'', ',']));
    words.for_each(|word| read_index(word, *is_extra, said));
}

/// How tox and hatch begin what stands for a variable of the user's.
const PASSED_ON: &str = "{env:";

/// Reads the address of an index, which may have a name, or be what is asked if the user has set no
/// variable.
fn read_index(word: &str, is_extra: bool, said: &mut Said) {
    let passed_on = word
        .strip_prefix(PASSED_ON)
        .and_then(|rest| rest.split(['}', ':']).next());
    match web_part(word) {
        Some(url) => said.take(url.trim_end_matches('}'), is_extra),
        None if word.is_empty() || passed_on.is_some_and(is_variable) => {}
        None => said.obstacles.push(Obstacle::Unclear),
    }
}

/// Reads the settings of tox that are about registries, as <https://tox.wiki/en/stable/config.html>
/// says: variables and options of pip. An index that some of the environments ask beside another
/// one is left out: the others have the same packages without it, as projects do that try the
/// nightly builds of what they depend on.
fn tox(text: &str) -> Said {
    let (mut key, mut said) = ("", Said::default());
    for line in text.lines() {
        let goes_on = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (own, rest) = line.split_once('=').unwrap_or((line, ""));
        let value = if goes_on { line } else { rest.trim() };
        if !goes_on {
            key = own.trim();
        }
        let known = said.registries.len();
        match key {
            "setenv" | "set_env" => {
                value
                    .split_once('=')
                    .into_iter()
                    .for_each(|(name, value)| read_variable(name, value, &mut said));
            }
            // Each has a name.
            "indexserver" => {
                let urls = value.split_once('=').map(|(_, url)| url.split_whitespace());
                urls.into_iter()
                    .flatten()
                    .for_each(|word| read_word(word, &mut said));
            }
            "deps" | "install_command" => {
                let options = value.find(" -").and_then(|start| value.get(start..));
                read_options(
                    if value.starts_with('-') {
                        value
                    } else {
                        options.unwrap_or_default()
                    },
                    &mut said,
                );
            }
            _ => {}
        }
        if has_condition(value) {
            let added = said.registries.split_off(known);
            said.registries
                .extend(added.into_iter().filter(|named| !named.is_extra));
        }
    }
    said
}

/// Reports whether a line of tox holds for some of the environments alone, as `dev: NAME = value`
/// does.
fn has_condition(line: &str) -> bool {
    let before = line.split_once(':').map_or("", |(before, _)| before.trim());
    !before.is_empty()
        && !before.starts_with('-')
        && !before.contains('=')
        && !before.contains(" -")
}

/// Reads settings, one in a line.
fn settings(text: &str, format: Format) -> Said {
    let (mut key, mut said) = (String::new(), Said::default());
    // The indentation of the setting that a line further to the right goes on with.
    let mut of_setting: Option<usize> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let goes_on =
            format == Format::Ini && of_setting.is_some_and(|of_setting| indent > of_setting);
        if format == Format::Ini && line.starts_with('[') && !goes_on {
            of_setting = None;
            continue;
        }
        let (own, mut value) = pair(line, format);
        if goes_on {
            value = line;
        } else {
            (key, of_setting) = (own, Some(indent));
        }
        if format == Format::Ini && key == "no-index" && is_true(value) {
            said.obstacles.push(Obstacle::NoIndex);
        }
        if names_registry(format, &key) {
            addresses_in(value, format)
                .into_iter()
                .for_each(|text| said.take(text, key.contains("extra")));
        }
    }
    said
}

/// Reads the settings in pnpm's file of a workspace, which <https://pnpm.io/settings> lists. A file
/// in one pair of braces may have them anywhere.
fn workspace(text: &str) -> Said {
    let (mut said, mut is_about_registries) = (Said::default(), false);
    for line in text.lines() {
        let is_at_the_root = !line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if is_at_the_root {
            let key = line
                .trim_start_matches(['"', '\''])
                .split(": ")
                .next()
                .unwrap_or_default();
            let key = key.trim_end_matches([':', '"', '\'', ' ']);
            let is_key = matches!(key, "registry" | "registries") || key.ends_with(":registry");
            is_about_registries = is_key || line.starts_with('{');
        }
        if is_about_registries {
            let words = line.split(|c: char| c.is_whitespace() || "\"',[]".contains(c));
            words
                .take_while(|word| !word.starts_with('#'))
                .for_each(|word| read_word(word, &mut said));
        }
    }
    said
}

/// Reads a word of YAML: an address, or a variable or an alias, which may stand for one. A star
/// before anything but a name belongs to a pattern of folders.
fn read_word(word: &str, said: &mut Said) {
    let is_alias = word
        .strip_prefix('*')
        .is_some_and(|name| name.starts_with(char::is_alphanumeric));
    match web_part(word) {
        Some(url) => said.take(url.trim_end_matches('}'), false),
        None if word.contains("${") || is_alias => said.obstacles.push(Obstacle::Unclear),
        None => {}
    }
}

/// Splits a line into its key and its value.
fn pair(line: &str, format: Format) -> (String, &str) {
    let ends = |c: char| c.is_whitespace() || c == '=' || (format == Format::Ini && c == ':');
    let (key, value) = line.split_once(ends).unwrap_or((line, ""));
    let key = key.trim_matches(['"', '\'', ':']);
    let key = match format {
        // As pip spells it.
        Format::Ini => key
            .trim_start_matches('-')
            .to_ascii_lowercase()
            .replace('_', "-"),
        _ => key.to_owned(),
    };
    (
        key,
        value.trim_start_matches(|c: char| c.is_whitespace() || c == '=' || c == ':'),
    )
}

fn names_registry(format: Format, key: &str) -> bool {
    match format {
        Format::Requirements
        | Format::Toml(_)
        | Format::Variables(_)
        | Format::Tox
        | Format::Workspace => false,
        Format::Ini => matches!(key, "index-url" | "extra-index-url"),
        Format::Npmrc => key == "registry" || key.ends_with(":registry"),
        Format::Yaml(ending) => key.ends_with(ending),
    }
}

/// Reads a switch as pip does.
fn is_true(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    value
        .split_whitespace()
        .next()
        .is_some_and(|word| matches!(word, "true" | "yes" | "on" | "1"))
}

/// Returns the words of a value that are addresses, or should be.
fn addresses_in(value: &str, format: Format) -> Vec<&str> {
    match format {
        Format::Requirements
        | Format::Ini
        | Format::Toml(_)
        | Format::Variables(_)
        | Format::Tox
        | Format::Workspace => value.split_whitespace().collect(),
        Format::Npmrc => value
            .split_whitespace()
            .next()
            .map(|word| word.trim_matches(is_quote))
            .into_iter()
            .collect(),
        Format::Yaml(_) => {
            let word = value
                .split_whitespace()
                .next()
                .map(|word| word.trim_matches(is_quote))
                .unwrap_or_default();
            // What stands for a variable that is not set is the only address there; yarn knows no
            // other.
            let address = word
                .split_once(":-")
                .map_or(word, |(_, default)| default.trim_end_matches('}'));
            web_part(address).into_iter().collect()
        }
    }
}

fn is_quote(c: char) -> bool {
    c == '"' || c == '\''
}

/// Returns an address of the web from its scheme on, before which some managers write how they
/// speak to it.
fn web_part(text: &str) -> Option<&str> {
    let starts = [text.find("http://"), text.find("https://")];
    text.get(starts.into_iter().flatten().min()?..)
}

/// Returns the addresses in a line, one of each word. One with a user or a password is none.
pub(super) fn addresses(line: &str) -> impl Iterator<Item = WebUrl> {
    let words = line.split(|c: char| c.is_whitespace() || "\"'`,;<>()[]{}".contains(c));
    words
        .filter_map(web_part)
        .filter_map(|url| WebUrl::parse(url).ok())
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
    #[test]
    fn what_keeps_a_registry_from_being_asked_is_found() {
        use Obstacle::{Login, NoIndex, Token, Unclear};
        let hatch = Format::Variables(&["envs"]);
        let (uv, yarn, cargo) = (
            Format::Toml(&["tool.uv.index", "tool.uv.no-index"]),
            Format::Yaml("npmRegistryServer"),
            Format::Toml(&["source", "registries"]),
        );
        let table: &[(Format, &str, &[Obstacle])] = &[
            (
                Format::Requirements,
                "--index-url http://bob:pw@127.0.0.1:8702/simple\n",
                &[Login],
            ),
            (
                Format::Requirements,
                "-i https://${USER}:${PASS}@a.example/simple\n",
                &[Login],
            ),
            (
                Format::Requirements,
                "--extra-index-url=https://token@a.example/\n",
                &[Login],
            ),
            (
                Format::Requirements,
                "--trusted-host a --index-u \\\n  'https://bob:pw@a.example/'\n",
                &[Login],
            ),
            (
                Format::Requirements,
                "-ihttps://${HOST}/simple\n-i file:///a\n-i ./index\n",
                &[Unclear; 3],
            ),
            (
                Format::Requirements,
                "# \\\n--no-index --find-links wheels\n",
                &[NoIndex],
            ),
            (
                Format::Requirements,
                "a @ https://bob:pw@a.example/a.whl\n--find-links ./wheels\n-i https://a.example/\n",
                &[],
            ),
            (
                Format::Ini,
                "[global]\nindex_url: https://bob:pw@a.example/\n",
                &[Login],
            ),
            (
                Format::Ini,
                "[install]\nno-index = True\n[global]\nno-index = false\n",
                &[NoIndex],
            ),
            (
                Format::Ini,
                "[global]\nextra-index-url =\n  https://a.example/\n  https://${T}@b.example/\n",
                &[Login],
            ),
            (
                Format::Npmrc,
                "registry=http://bob:pw@a.example/npm/\n",
                &[Login],
            ),
            (Format::Npmrc, "@corp:registry=${REGISTRY}\n", &[Unclear]),
            (
                Format::Npmrc,
                "registry=https://a.example/\n//a.example/:_authToken=npm_SECRET==\n",
                &[Token],
            ),
            (
                Format::Npmrc,
                "registry=https://a.example/\n//a.example/:_authToken=${NPM_TOKEN}\n",
                &[],
            ),
            (
                yarn,
                "npmRegistryServer: \"https://bob:pw@a.example\"\n",
                &[Login],
            ),
            (
                yarn,
                "npmScopes:\n  corp:\n    npmAuthToken: abc\n",
                &[Token],
            ),
            (
                yarn,
                "npmRegistryServer: ${REGISTRY:-https://a.example/}\n",
                &[],
            ),
            (
                hatch,
                "[envs.a.env-vars]\nPIP_INDEX_URL = \"https://{env:USER}:{env:PASS}@a.example/\"\n",
                &[Login],
            ),
            (
                hatch,
                "[envs.a.env-vars]\nUV_INDEX = \"{env:CORP}\"\nUV_INDEX_URL = \"{env:UV_INDEX_URL:}\"\n",
                &[Unclear],
            ),
            (
                hatch,
                "[envs.a.scripts]\nb = \"UV_INDEX=corp uv pip install b\"\nc = [\"PIP_INDEX_URL=file:///a pip install c\"]\n\
                 [envs.a]\ndescription = \"sets UV_INDEX=corp\"\n",
                &[],
            ),
            (
                hatch,
                "[envs.a.overrides]\nenv.CI.env-vars = [{ key = \"UV_INDEX\", value = \"./a\" }]\n",
                &[Unclear],
            ),
            (
                hatch,
                "[envs]\na.PIP_INDEX_URL = { replace = \"env\", name = \"PIP_INDEX_URL\", default = \"\" }\n\
                 b.PIP_INDEX_URL = { replace = \"env\", name = \"CORP\" }\n",
                &[Unclear],
            ),
            (
                Format::Tox,
                "[testenv]\nsetenv =\n    PIP_INDEX_URL = file:///a\n    A = file:///b\n",
                &[Unclear],
            ),
            (
                Format::Tox,
                "[testenv]\ndeps = -r a.txt\npass_env = PIP_INDEX_URL\ncommands = sed -i file:///a\n",
                &[],
            ),
            (
                Format::Tox,
                "[testenv]\nsetenv = PIP_INDEX_URL = https://a.example/{env:PATH}/simple\n",
                &[Unclear],
            ),
            (
                Format::Tox,
                "[testenv]\ninstall_command = pip install -i {env:PIP_INDEX_URL} {packages}\n",
                &[],
            ),
            (
                Format::Tox,
                "[testenv]\ndeps = --index-url={env:PIP_INDEX_URL:https://a.example/}\n",
                &[],
            ),
            (
                Format::Tox,
                "[testenv]\ndeps = --extra-index-url={env:CORP}\n",
                &[Unclear],
            ),
            (
                Format::Workspace,
                "registry: https://bob:pw@a.example/\n",
                &[Login],
            ),
            (
                Format::Workspace,
                "registries:\n  default: ${REGISTRY}\n  '@a': *a\n",
                &[Unclear; 2],
            ),
            (
                Format::Workspace,
                "{ \"packages\": [\"*\", \"!**/test\", \"**\"] }\n",
                &[],
            ),
            (
                Format::Workspace,
                "catalog:\n  token: ^1.0.0\n  a: https://bob:pw@a.example/a.tgz\n",
                &[],
            ),
            (
                uv,
                "[[tool.uv.index]]\nurl = \"https://bob:pw@a.example/\"\n[tool.uv]\nno-index = true\n",
                &[Login, NoIndex],
            ),
            (
                uv,
                "[project]\nurls = { a = \"https://me@a.example/\" }\ntoken = \"a\"\n",
                &[],
            ),
            (
                cargo,
                "[registries.corp]\nindex = \"sparse+https://a.example/\"\ntoken = \"secret\"\n",
                &[Token],
            ),
            (
                cargo,
                "[source]\nm = { registry = \"sparse+https://bob:pw@a.example/\" }\n",
                &[Login],
            ),
        ];
        for (format, text, expected) in table {
            assert_eq!(said(text, *format).obstacles, *expected, "{text}");
        }
    }

    #[test]
    fn no_refusal_repeats_a_password() {
        let refusal = Obstacle::Login.refusal("requirements.txt");
        assert!(refusal.starts_with(
            "`requirements.txt` names a registry with a user or a password, and none enters"
        ));
        assert!(
            Obstacle::NoIndex
                .refusal("pip.conf")
                .contains("`pip.conf` says that no registry is asked")
        );
    }

    #[test]
    fn lists_that_are_included_are_found() {
        let text =
            "-r base.txt\n--constraint=../pins.txt\nrequests\n-rdev.txt # -r no.txt\n-e ./own\n";
        assert_eq!(
            said(text, Format::Requirements).includes,
            ["base.txt", "../pins.txt", "dev.txt"]
        );
    }

    #[test]
    fn a_line_is_read_in_time_of_its_length() {
        // It would take minutes to look for the end of the line from each of these beginnings.
        let word = "https://a.example/".repeat(100_000);
        assert!(addresses(&word).count() <= 1);
        let line = format!("source = \"sparse+{word}\", url = 'https://b.example/'");
        assert_eq!(
            addresses(&line).last(),
            WebUrl::parse("https://b.example/").ok()
        );
    }
}
