//! The configuration as git itself sees it: git is asked for it once, in the directory in question.
//!
//! Libgit2 knows neither `GIT_CONFIG_GLOBAL` and related variables nor every condition of an
//! `includeIf`, so it would see other settings than git: another author, or no filter where git has
//! one. So git is asked (`git config --list`, which reads files and runs nothing), and its answer,
//! as one file in memory without conditions, is all that libgit2 gets.
//!
//! Git itself gets less: settings are passed by value to a process that finds no configuration
//! (`run.rs`). A setting that only the repository's own configuration has is never passed if it
//! names a program.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::MemfdFlags;

use crate::error::GitError;
use crate::error::refusal::RepositoryRefusal;
use crate::program::run::{Program, quoted};
use crate::program::unreadable_config;

/// An additional setting for libgit2: sync objects and refs when they are written.
const DURABLE: &str = "[core]\n\tfsyncObjectFiles = true\n";

/// The settings that determine how files are written and compared. None of them names a program.
const ABOUT_FILES: [&str; 15] = [
    "core.attributesfile",
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.protecthfs",
    "core.protectntfs",
    "core.sharedrepository",
    "core.symlinks",
    "core.trustctime",
    "index.version",
];

/// The settings by which git signs a commit.
const SIGNING: [&str; 7] = [
    "gpg.format",
    "gpg.openpgp.program",
    "gpg.program",
    "gpg.ssh.defaultkeycommand",
    "gpg.ssh.program",
    "gpg.x509.program",
    "user.signingkey",
];
/// The ends of the settings by which the beginnings of addresses are replaced, for all uses and for
/// pushing.
const INSTEAD_OF: &str = ".insteadof";
const PUSH_INSTEAD_OF: &str = ".pushinsteadof";
/// The setting that asks for signed commits.
const SIGN: &str = "commit.gpgsign";

/// The settings that git found, in its order: of two values for one key the later applies.
#[derive(Debug)]
pub(crate) struct Configuration {
    entries: Vec<Entry>,
    /// All settings, as a file for libgit2.
    plain: OwnedFd,
    /// The same with [`DURABLE`] appended.
    durable: OwnedFd,
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// Whether it comes from the repository's own configuration, and not from the user's or the
    /// machine's.
    is_own: bool,
    /// The key as git prints it: section and variable in lower case.
    key: Vec<u8>,
    /// The value; `None` if the key has no `=`, which means true.
    value: Option<Vec<u8>>,
}

impl Configuration {
    /// Reads the configuration that applies in this repository.
    pub(crate) fn of_repository(
        program: &Program,
        git_dir: &Path,
        work_tree: &Path,
    ) -> Result<Configuration, GitError> {
        let listed =
            program
                .list_configuration(git_dir, work_tree)
                .map_err(|error| match error {
                    GitError::Refused {
                        path,
                        refusal: RepositoryRefusal::EndlessConfiguration { seconds, .. },
                    } => {
                        let refusal = RepositoryRefusal::EndlessConfiguration {
                            file: unreadable_config::find(program, git_dir),
                            seconds,
                        };
                        GitError::Refused { path, refusal }
                    }
                    error => error,
                })?;
        Self::parse(&listed)
    }

    /// Reads the configuration that applies outside of any repository.
    pub(crate) fn of_user(program: &Program) -> Result<Configuration, GitError> {
        // There is no repository here, and with this setting git does not look for one.
        Self::parse(&program.list_configuration(Path::new("/dev/null"), Path::new("/"))?)
    }

    /// Reads one file with libgit2, for a repository that cannot be opened.
    pub(crate) fn of_file(path: &Path) -> Result<Configuration, GitError> {
        let failed = GitError::library(format!("read {}", path.display()));
        let config = git2::Config::open(path).map_err(&failed)?;
        let mut entries = Vec::new();
        let mut listed = config.entries(None).map_err(&failed)?;
        while let Some(entry) = listed.next() {
            let entry = entry.map_err(&failed)?;
            let value = entry.has_value().then(|| entry.value_bytes().to_vec());
            entries.push(Entry {
                is_own: true,
                key: entry.name_bytes().to_vec(),
                value,
            });
        }
        Self::new(entries)
    }

    fn parse(listed: &[u8]) -> Result<Configuration, GitError> {
        let mut fields = listed
            .strip_suffix(b"\0")
            .unwrap_or(listed)
            .split(|byte| *byte == 0);
        let mut entries = Vec::new();
        while let Some(scope) = fields.next().filter(|scope| !scope.is_empty()) {
            let setting = fields
                .next()
                .ok_or_else(|| GitError::output("config", "a setting is missing"))?;
            let mut parts = setting.splitn(2, |byte| *byte == b'\n');
            let (key, value) = (parts.next().unwrap_or(setting), parts.next());
            let value = value.map(<[u8]>::to_vec);
            let is_own = !matches!(scope, b"system" | b"global" | b"command");
            // The settings of the included files are in the list already.
            if !key.starts_with(b"include.") && !key.starts_with(b"includeif.") {
                entries.push(Entry {
                    is_own,
                    key: key.to_vec(),
                    value,
                });
            }
        }
        Self::new(entries)
    }

    fn new(entries: Vec<Entry>) -> Result<Configuration, GitError> {
        let text: Vec<u8> = entries.iter().flat_map(Entry::text).collect();
        let durable = in_memory(&[&text, DURABLE.as_bytes()].concat())?;
        Ok(Configuration {
            plain: in_memory(&text)?,
            durable,
            entries,
        })
    }

    /// Makes this the only configuration of a libgit2 repository; `durable` adds [`DURABLE`].
    pub(crate) fn give_to(
        &self,
        repository: &git2::Repository,
        durable: bool,
    ) -> Result<(), GitError> {
        let file = if durable { &self.durable } else { &self.plain };
        let given = library_config(file).and_then(|config| repository.set_config(&config));
        given.map_err(GitError::library("hand the configuration over"))
    }

    /// Returns the configuration as an object of libgit2.
    pub(crate) fn for_library(&self) -> Result<git2::Config, GitError> {
        library_config(&self.plain).map_err(GitError::library("hand the configuration over"))
    }

    /// Returns the entry that applies for a key, which must be in lower case.
    fn value(&self, key: &str) -> Option<&Entry> {
        self.entries
            .iter()
            .rev()
            .find(|entry| entry.key == key.as_bytes())
    }

    /// Returns the value of a key, converted to lower case; empty if it is not set.
    pub(crate) fn text(&self, key: &str) -> String {
        let value = self
            .value(key)
            .and_then(|entry| entry.value.as_deref())
            .unwrap_or_default();
        String::from_utf8_lossy(value).to_ascii_lowercase()
    }

    /// Reports whether a boolean setting is true.
    pub(crate) fn is_on(&self, key: &str) -> bool {
        self.value(key).is_some_and(Entry::is_true)
    }

    /// Lists the remotes that have promised to send missing objects (a partial clone), sorted.
    pub(crate) fn promisors(&self) -> Vec<String> {
        let names: BTreeSet<String> = self.entries.iter().filter_map(promisor).collect();
        names.into_iter().collect()
    }

    /// Lists the filters that would change what is stored. An empty program disables a filter.
    pub(crate) fn storing_filters(&self) -> Vec<String> {
        self.filters(&["clean", "process"], |_| true)
    }

    /// Lists the filters for which the repository's own configuration names a program that writes
    /// files.
    pub(crate) fn own_filters(&self) -> Vec<String> {
        self.filters(&["smudge", "process"], |entry| entry.is_own)
    }

    fn filters(&self, kinds: &[&str], counts: impl Fn(&Entry) -> bool) -> Vec<String> {
        let named = self
            .entries
            .iter()
            .filter(|entry| counts(entry))
            .filter_map(|entry| {
                let key = std::str::from_utf8(&entry.key).ok()?;
                let (name, kind) = key.strip_prefix("filter.")?.rsplit_once('.')?;
                let names_program = kinds.contains(&kind) && !self.text(key).is_empty();
                names_program.then(|| name.to_owned())
            });
        let mut names: Vec<String> = named.collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns the settings to pass to git when it reads or writes files.
    pub(crate) fn about_files(&self) -> Vec<(String, OsString)> {
        ABOUT_FILES
            .iter()
            .filter_map(|key| Some((*key).to_owned()).zip(self.value(key)?.handed_over()))
            .collect()
    }

    /// Returns the filter settings of the user and the machine, to be passed to git.
    pub(crate) fn users_filters(&self) -> Vec<(String, OsString)> {
        let mut filters = Vec::new();
        for entry in &self.entries {
            if !entry.is_own && entry.key.starts_with(b"filter.") {
                let key = String::from_utf8(entry.key.clone()).ok();
                filters.extend(key.zip(entry.handed_over()));
            }
        }
        filters
    }

    /// Returns the settings with which to sign the user's own commits, or `None` if these are not
    /// signed.
    ///
    /// Only the user's and the machine's configuration count, because a repository's could name any
    /// key or program. It can only switch signing off.
    pub(crate) fn signing(&self) -> Option<Vec<(String, OsString)>> {
        if !self.users_value(SIGN).is_some_and(Entry::is_true) || !self.is_on(SIGN) {
            return None;
        }
        let mut settings = Vec::new();
        for key in SIGNING {
            let value = self.users_value(key).and_then(Entry::handed_over);
            settings.extend(Some(key.to_owned()).zip(value));
        }
        Some(settings)
    }

    /// Lists the settings of signing in the repository's own configuration that have no effect.
    pub(crate) fn ignored_signing(&self) -> Vec<String> {
        match self.signing() {
            Some(_) => SIGNING
                .into_iter()
                .filter(|key| self.is_own(key))
                .map(str::to_owned)
                .collect(),
            None if self.is_own(SIGN) && self.is_on(SIGN) => vec![SIGN.to_owned()],
            None => Vec::new(),
        }
    }

    /// Reports whether the repository's own configuration sets a key.
    fn is_own(&self, key: &str) -> bool {
        self.value(key).is_some_and(|entry| entry.is_own)
    }

    /// Returns the entry that would apply for a key, which must be in lower case, without the
    /// repository's own configuration.
    fn users_value(&self, key: &str) -> Option<&Entry> {
        self.entries
            .iter()
            .rev()
            .find(|entry| !entry.is_own && entry.key == key.as_bytes())
    }

    /// Returns the settings that disable the hooks that the configuration names, for git in the
    /// real repository.
    pub(crate) fn without_hooks(&self) -> Vec<(String, OsString)> {
        let keys = self
            .entries
            .iter()
            .filter_map(|entry| std::str::from_utf8(&entry.key).ok());
        let names = keys.filter_map(|key| Some(key.strip_prefix("hook.")?.rsplit_once('.')?.0));
        names
            .map(|name| (format!("hook.{name}.enabled"), OsString::from("false")))
            .collect()
    }

    /// Returns the name of the remote that git would push a branch to.
    pub(crate) fn push_remote(&self, branch: &str) -> String {
        self.unicode_text(&format!("branch.{branch}.pushremote"))
            .or_else(|| self.unicode_text("remote.pushdefault"))
            .unwrap_or_else(|| self.fetch_remote(branch))
    }

    /// Returns the name of the remote that git would fetch a branch from.
    pub(crate) fn fetch_remote(&self, branch: &str) -> String {
        self.unicode_text(&format!("branch.{branch}.remote"))
            .unwrap_or_else(|| "origin".to_owned())
    }

    /// Returns the value of a key, if it has one in UTF-8.
    fn unicode_text(&self, key: &str) -> Option<String> {
        String::from_utf8(self.value(key)?.value.clone()?).ok()
    }

    /// Returns the branch of its remote that git would merge into a branch, if one is configured.
    pub(crate) fn upstream_branch(&self, branch: &str) -> Option<String> {
        // The remote `.` is this repository, whose branches no server has to have.
        if self.unicode_text(&format!("branch.{branch}.remote"))? == "." {
            return None;
        }
        let merged = self.unicode_text(&format!("branch.{branch}.merge"))?;
        Some(merged.strip_prefix("refs/heads/")?.to_owned())
    }

    /// Lists the remotes that have an address, sorted.
    pub(crate) fn remotes(&self) -> Vec<String> {
        let names: BTreeSet<String> = self.entries.iter().filter_map(remote_with_url).collect();
        names.into_iter().collect()
    }

    /// Lists the addresses of a remote, as git would use them: with their beginnings replaced as
    /// configured.
    pub(crate) fn remote_addresses(&self, name: &str, is_for_push: bool) -> Vec<String> {
        let mut addresses = self.texts(&format!("remote.{name}.url"));
        let mut kinds: &[&str] = &[INSTEAD_OF];
        if is_for_push {
            let for_push = self.texts(&format!("remote.{name}.pushurl"));
            if for_push.is_empty() {
                kinds = &[PUSH_INSTEAD_OF, INSTEAD_OF];
            } else {
                addresses = for_push;
            }
        }
        for address in &mut addresses {
            if let Some(other) = kinds.iter().find_map(|kind| self.replaced(address, kind)) {
                *address = other;
            }
        }
        addresses
    }

    /// Reports whether an address, not only its beginning, is configured to be replaced.
    pub(crate) fn replaces_whole(&self, address: &str) -> bool {
        self.entries.iter().any(|entry| {
            let replaces = entry.key.ends_with(INSTEAD_OF.as_bytes())
                || entry.key.ends_with(PUSH_INSTEAD_OF.as_bytes());
            replaces && entry.value.as_deref() == Some(address.as_bytes())
        })
    }

    /// Returns an address with its beginning replaced, by the setting with the longest one.
    fn replaced(&self, address: &str, kind: &str) -> Option<String> {
        let mut longest: Option<(&str, &str)> = None;
        for entry in &self.entries {
            let base = std::str::from_utf8(&entry.key)
                .ok()
                .and_then(|key| key.strip_prefix("url.")?.strip_suffix(kind));
            let begin = entry
                .value
                .as_deref()
                .and_then(|value| std::str::from_utf8(value).ok());
            let (Some(base), Some(begin)) = (base, begin) else {
                continue;
            };
            if address.starts_with(begin)
                && longest.is_none_or(|(_, other)| begin.len() > other.len())
            {
                longest = Some((base, begin));
            }
        }
        let (base, begin) = longest?;
        Some(format!("{base}{}", address.strip_prefix(begin)?))
    }

    /// Returns the values of a key that may have several; an empty one removes those before it.
    fn texts(&self, key: &str) -> Vec<String> {
        let of_key = self
            .entries
            .iter()
            .filter(|entry| entry.key == key.as_bytes());
        let mut texts: Vec<String> = Vec::new();
        for text in of_key.filter_map(|entry| String::from_utf8(entry.value.clone()?).ok()) {
            match text.as_str() {
                "" => texts.clear(),
                _ => texts.push(text),
            }
        }
        texts
    }

    /// Reports whether the repository's own configuration names a program for passwords, which has
    /// no effect.
    pub(crate) fn ignores_helper(&self) -> bool {
        self.entries.iter().any(|entry| {
            entry.is_own
                && is_helper(&entry.key)
                && entry
                    .value
                    .as_deref()
                    .is_some_and(|value| !value.is_empty())
        })
    }

    /// Returns the command by which the user's own configuration starts ssh.
    pub(crate) fn users_ssh(&self) -> Option<OsString> {
        self.users_value("core.sshcommand")?.handed_over()
    }

    /// Returns the folder that `core.hooksPath` names, if it is set.
    pub(crate) fn hooks_folder(&self) -> Option<PathBuf> {
        self.for_library().ok()?.get_path("core.hookspath").ok()
    }

    /// Returns the file of attributes that `core.attributesFile` names, if it is set.
    pub(crate) fn attributes_file(&self) -> Option<PathBuf> {
        self.path("core.attributesfile")
    }

    /// Returns the path that a key is set to, if it is set.
    pub(crate) fn path(&self, key: &str) -> Option<PathBuf> {
        self.for_library().ok()?.get_path(key).ok()
    }
}

/// Returns the name of the remote that a setting makes a promisor.
fn promisor(entry: &Entry) -> Option<String> {
    let key = std::str::from_utf8(&entry.key)
        .ok()?
        .strip_prefix("remote.")?;
    let name = key.strip_suffix(".promisor").filter(|_| entry.is_true());
    Some(
        name.or_else(|| key.strip_suffix(".partialclonefilter"))?
            .to_owned(),
    )
}

/// Returns the name of the remote to which a setting gives an address.
fn remote_with_url(entry: &Entry) -> Option<String> {
    let key = std::str::from_utf8(&entry.key)
        .ok()?
        .strip_prefix("remote.")?;
    let name = key
        .strip_suffix(".url")
        .or_else(|| key.strip_suffix(".pushurl"))?;
    Some(name.to_owned())
}

fn is_helper(key: &[u8]) -> bool {
    key == b"core.askpass" || key.starts_with(b"credential.") && key.ends_with(b".helper")
}

impl Entry {
    /// Reports whether the value means true.
    fn is_true(&self) -> bool {
        self.value
            .as_deref()
            .is_none_or(|value| git2::Config::parse_bool(value).unwrap_or(false))
    }

    /// Returns the value as it is passed to a process.
    fn handed_over(&self) -> Option<OsString> {
        Some(OsString::from_vec(
            self.value.clone().unwrap_or_else(|| b"true".to_vec()),
        ))
    }

    /// Returns the setting in the syntax of a configuration file.
    fn text(&self) -> Vec<u8> {
        let mut parts = self.key.splitn(2, |byte| *byte == b'.');
        let (Some(section), Some(rest)) = (parts.next(), parts.next()) else {
            return Vec::new();
        };
        let mut parts = rest.rsplitn(2, |byte| *byte == b'.');
        let (name, below) = (parts.next().unwrap_or(rest), parts.next());
        let mut text = [b"[", section].concat();
        if let Some(below) = below {
            text.extend([b" \"", quoted(below).as_slice(), b"\""].concat());
        }
        text.extend([b"]\n\t", name].concat());
        if let Some(value) = &self.value {
            text.extend([b" = \"", quoted(value).as_slice(), b"\""].concat());
        }
        text.push(b'\n');
        text
    }
}

/// Returns a setting in the syntax of a configuration file.
pub(crate) fn text_of(key: &str, value: &OsStr) -> Vec<u8> {
    Entry {
        is_own: true,
        key: key.as_bytes().to_vec(),
        value: Some(value.as_bytes().to_vec()),
    }
    .text()
}

fn library_config(file: &OwnedFd) -> Result<git2::Config, git2::Error> {
    let mut config = git2::Config::new()?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    config.add_file(&path, git2::ConfigLevel::App, true)?;
    Ok(config)
}

/// Creates an anonymous file in memory, so that a kill leaves none behind.
fn in_memory(text: &[u8]) -> Result<OwnedFd, GitError> {
    let file = rustix::fs::memfd_create("git-settings", MemfdFlags::CLOEXEC);
    let mut file = File::from(file.map_err(GitError::errno("make a file", "in memory"))?);
    file.write_all(text)
        .map_err(GitError::io("write to a file", "in memory"))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::program::run::Environment;
    use crate::repo::repository::Identities;

    /// Values that are hard to write to a file, and keys without a value.
    const ODD: &str = "[a \"B \\\\ \\\" c\"]\n\tlines = \"one\\ntwo\"\n\tsigns = \" # ; \\\" \\\\ \
                       \"\n\talone\n\tempty =\n\
                       \tmany = 1\n\tmany = 2\n[core]\n\tautocrlf = input\n";

    struct Stage {
        folder: tempfile::TempDir,
    }

    impl Stage {
        fn new() -> Self {
            let stage = Self {
                folder: tempfile::tempdir().unwrap(),
            };
            let write = |name: &str, text: &str| {
                let path = stage.path(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            };
            git2::Repository::init(stage.path("project")).unwrap();
            write(
                "home/.gitconfig",
                "[user]\n\tname = Home\n\temail = home@example.invalid\n",
            );
            write("xdg/git/config", "[user]\n\temail = xdg@example.invalid\n");
            write(
                "global",
                &format!("{ODD}[user]\n\tname = Global\n\temail = global@example.invalid\n"),
            );
            write("system", "[committer]\n\tname = System\n");
            stage
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        /// Runs git as its user would, and returns its standard output.
        fn git(&self, variables: &[(&str, OsString)], args: &[&str]) -> Vec<u8> {
            #[expect(clippy::disallowed_methods, reason = "git as its user would run it")]
            let mut git = Command::new("git");
            let git = git
                .args(args)
                .current_dir(self.path("project"))
                .env_clear()
                .envs(variables.iter().cloned());
            let done = git.output().unwrap();
            assert!(done.status.success(), "{done:?}");
            done.stdout
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the search path by which git is found"
    )]
    fn search_path() -> OsString {
        std::env::var_os("PATH").unwrap_or_default()
    }

    /// Every way in which a user can select the configuration.
    fn ways(stage: &Stage) -> Vec<Vec<(&'static str, OsString)>> {
        let around = || vec![("PATH", search_path()), ("HOME", stage.path("home").into())];
        let with = |more: Vec<(&'static str, OsString)>| around().into_iter().chain(more).collect();
        let numbered = vec![
            ("GIT_CONFIG_COUNT", "2".into()),
            ("GIT_CONFIG_KEY_0", "user.name".into()),
            ("GIT_CONFIG_VALUE_0", "Counted".into()),
            ("GIT_CONFIG_KEY_1", "core.autocrlf".into()),
            ("GIT_CONFIG_VALUE_1", "true".into()),
        ];
        vec![
            around(),
            with(vec![("GIT_CONFIG_GLOBAL", stage.path("global").into())]),
            with(vec![("GIT_CONFIG_SYSTEM", stage.path("system").into())]),
            with(vec![
                ("GIT_CONFIG_SYSTEM", stage.path("system").into()),
                ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ]),
            with(vec![("XDG_CONFIG_HOME", stage.path("xdg").into())]),
            with(numbered),
            with(vec![(
                "GIT_CONFIG_PARAMETERS",
                "'user.name'='Parameter' 'user.email'='p@example.invalid'".into(),
            )]),
        ]
    }

    #[test]
    fn what_libgit2_is_given_is_what_git_lists() {
        let stage = Stage::new();
        for variables in ways(&stage) {
            let environment: Environment = variables
                .iter()
                .map(|(name, value)| ((*name).into(), value.clone()))
                .collect();
            let program = Program::find().unwrap().with(environment);
            let project = stage.path("project");
            let ours =
                Configuration::of_repository(&program, &project.join(".git"), &project).unwrap();
            let given = ours.for_library().unwrap();
            let mut listed = Vec::new();
            let mut entries = given.entries(None).unwrap();
            while let Some(entry) = entries.next() {
                let entry = entry.unwrap();
                listed.extend(entry.name_bytes());
                if entry.has_value() {
                    listed.extend([b"\n", entry.value_bytes()].concat());
                }
                listed.push(0);
            }
            let expected = stage.git(&variables, &["config", "--list", "-z"]);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(&listed), text(&expected), "{variables:?}");
            let by = Identities::found(&given, &Default::default()).unwrap();
            for (variable, by) in [
                ("GIT_AUTHOR_IDENT", by.author),
                ("GIT_COMMITTER_IDENT", by.committer),
            ] {
                let expected = text(&stage.git(&variables, &["var", variable]));
                assert!(
                    expected.starts_with(&format!("{} <{}> ", by.name, by.email)),
                    "{expected} {variables:?}"
                );
            }
        }
    }

    #[test]
    fn outside_of_a_repository_the_users_configuration_holds() {
        let stage = Stage::new();
        let variables = ways(&stage).remove(1);
        let environment = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect();
        let ours = Configuration::of_user(&Program::find().unwrap().with(environment)).unwrap();
        assert_eq!(ours.text("user.name"), "global");
    }

    #[test]
    fn only_the_user_says_how_commits_are_signed() {
        let of = |texts: &[(&str, &str)]| {
            let listed = texts
                .iter()
                .map(|(scope, setting)| format!("{scope}\0{}\0", setting.replacen('=', "\n", 1)));
            Configuration::parse(listed.collect::<String>().as_bytes()).unwrap()
        };
        let (on, off) = ("commit.gpgsign=true", "commit.gpgsign=false");
        let (key, program) = ("user.signingkey=k", "gpg.ssh.program=p");
        /// The settings with their scopes, how many are handed over, and which are ignored.
        type Row<'t> = (&'t [(&'t str, &'t str)], Option<usize>, &'t [&'t str]);
        let table: [Row<'_>; 7] = [
            (&[], None, &[]),
            (&[("global", on), ("global", key)], Some(1), &[]),
            (&[("global", on), ("local", off)], None, &[]),
            (
                &[("local", on), ("local", program)],
                None,
                &["commit.gpgsign"],
            ),
            (
                &[("global", on), ("local", key), ("worktree", program)],
                Some(0),
                &["gpg.ssh.program", "user.signingkey"],
            ),
            (
                &[("command", on), ("system", key), ("local", key)],
                Some(1),
                &["user.signingkey"],
            ),
            (&[("global", off), ("global", key)], None, &[]),
        ];
        for (settings, handed_over, ignored) in table {
            let configuration = of(settings);
            assert_eq!(
                configuration.signing().map(|given| given.len()),
                handed_over,
                "{settings:?}"
            );
            assert_eq!(configuration.ignored_signing(), ignored, "{settings:?}");
        }
    }

    #[test]
    fn the_branch_that_another_is_fetched_from_is_read() {
        let table = [
            ("origin", "refs/heads/main", Some("main")),
            ("origin", "refs/heads/team/next", Some("team/next")),
            ("origin", "refs/pull/1/head", None),
            (".", "refs/heads/main", None),
        ];
        for (remote, merge, expected) in table {
            let listed =
                format!("local\0branch.Work.remote\n{remote}\0local\0branch.Work.merge\n{merge}\0");
            let configuration = Configuration::parse(listed.as_bytes()).unwrap();
            assert_eq!(
                configuration.upstream_branch("Work").as_deref(),
                expected,
                "{remote} {merge}"
            );
            assert_eq!(configuration.upstream_branch("other"), None);
        }
    }
}
