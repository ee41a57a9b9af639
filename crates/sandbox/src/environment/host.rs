//! The parts of this machine that a job may see besides the roots of its view: system directories,
//! toolchains, trusted programs.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::environment::around::around;
use crate::environment::programs::{Programs, Shell, is_executable, parts};
use crate::environment::secrets::holds_secret;

/// Why the full tier cannot even be tried.
pub(crate) const NO_BUBBLEWRAP: &str = "bubblewrap is not installed; fix: apt install bubblewrap \
     (dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap)";

/// Directories of programs and libraries; a symbolic link among them is shown as a link.
pub(crate) const SYSTEM: [&str; 10] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
];

/// The files of `/etc` that programs need to start, find their libraries, check certificates and
/// name the distribution (pip fails where it sees the name of such a file, but cannot open it).
/// None is secret.
pub(crate) const SETTINGS: [&str; 28] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/pki",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/os-release",
    "/etc/lsb-release",
    "/etc/debian_version",
    "/etc/alpine-release",
    "/etc/arch-release",
    "/etc/centos-release",
    "/etc/fedora-release",
    "/etc/gentoo-release",
    "/etc/redhat-release",
    "/etc/SuSE-release",
    "/etc/system-release",
    "/etc/protocols",
    "/etc/services",
    "/etc/mime.types",
    "/etc/bash.bashrc",
    "/etc/inputrc",
    "/etc/terminfo",
];

/// The files of `/etc` that the full tier replaces by its own versions.
pub(crate) const ACCOUNTS: [&str; 4] = [
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
];

/// The paths at which bubblewrap is looked for first: Ubuntu's AppArmor grants user namespaces by
/// path.
const BUBBLEWRAP: [&str; 3] = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];

/// On a folder, the permission of others to put programs there (sys/stat.h: `S_IWOTH`), sticky or
/// not.
const WRITABLE_BY_OTHERS: u32 = 0o002;

/// The usual folders of programs, appended to those of the coordinator's `PATH`.
const DEFAULT_PATH: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// The parts of cargo's home that contain no credentials.
pub(crate) const CARGO_SHARED: [&str; 3] = ["registry", "git", "bin"];

/// Those of them that cargo downloads into.
pub(crate) const CARGO_DOWNLOADS: [&str; 2] = ["registry", "git"];

/// The homes of the Rust toolchain; `None` if they do not exist.
#[derive(Debug, Clone, Default)]
pub(crate) struct RustHomes {
    pub(crate) cargo_home: Option<PathBuf>,
    pub(crate) rustup_home: Option<PathBuf>,
}

impl RustHomes {
    /// Returns the user's homes, found once in the way of cargo and rustup.
    pub(crate) fn of_user() -> &'static Self {
        static FOUND: OnceLock<RustHomes> = OnceLock::new();
        FOUND.get_or_init(|| Self {
            cargo_home: home_of_tool("CARGO_HOME", ".cargo"),
            rustup_home: home_of_tool("RUSTUP_HOME", ".rustup"),
        })
    }

    /// Lists both homes, as far as they exist.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &Path> {
        [&self.cargo_home, &self.rustup_home]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
    }

    /// Lists the shared parts of cargo's home that exist, with their names.
    pub(crate) fn cargo_shared(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let entries = CARGO_SHARED
            .into_iter()
            .filter_map(|name| Some((name, self.cargo_home.as_ref()?.join(name))));
        entries.filter(|(_, path)| path.is_dir())
    }

    /// Returns cargo's configuration (mirrors and the like) with its path, unless it seems to
    /// contain a token or a password.
    pub(crate) fn cargo_config(&self) -> Option<(PathBuf, Vec<u8>)> {
        let (path, text) = self.any_cargo_config()?;
        let is_secret = holds_secret(&String::from_utf8_lossy(&text));
        (!is_secret).then_some((path, text))
    }

    /// Reports whether a job may see cargo's home at its own path, except for what it must not read
    /// there.
    pub(crate) fn shows_cargo_home(&self) -> bool {
        self.any_cargo_config().is_none() || self.cargo_config().is_some()
    }

    /// Returns it whatever it contains.
    pub(crate) fn any_cargo_config(&self) -> Option<(PathBuf, Vec<u8>)> {
        let home = self.cargo_home.as_ref()?;
        for name in ["config.toml", "config"] {
            let path = home.join(name);
            if let Ok(text) = std::fs::read(&path) {
                return Some((path, text));
            }
        }
        None
    }

    /// Lists the environment variables of the toolchain, with cargo's home at `cargo_home`.
    pub(crate) fn variables(&self, cargo_home: Option<&Path>) -> Vec<(OsString, OsString)> {
        let mut variables = Vec::new();
        if let Some(home) = cargo_home {
            variables.push(("CARGO_HOME".into(), home.into()));
        }
        if let Some(home) = &self.rustup_home {
            variables.push(("RUSTUP_HOME".into(), home.into()));
        }
        variables
    }
}

/// Returns the folder that a variable names, or else the usual one below the user's home, without
/// links in its path; `None` if it does not exist.
fn home_of_tool(name: &str, below_home: &str) -> Option<PathBuf> {
    let folder = match variable(name) {
        Some(named) => PathBuf::from(named),
        None => PathBuf::from(variable("HOME")?).join(below_home),
    };
    real_folder(&folder)
}

fn real_folder(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    real.is_dir().then_some(real)
}

/// Returns a variable of this process.
#[expect(
    clippy::disallowed_methods,
    reason = "the user's programs, toolchains and settings for them are found as by the user's \
              shell"
)]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// How long a count of the user's threads is used: it is part of a bound that leaves room for many
/// times a job's own.
const COUNTED_FOR: Duration = Duration::from_secs(1);

/// Returns the number of the user's threads, counted now or a moment ago: looking at every process
/// of the machine takes longer than starting one.
pub(crate) fn tasks_of_user() -> u64 {
    static COUNTED: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    let mut counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    match *counted {
        Some((since, tasks)) if since.elapsed() < COUNTED_FOR => tasks,
        _ => counted.insert((Instant::now(), count_tasks_of_user())).1,
    }
}

/// Counts the threads of the user's processes. Each has a directory in its process's `task`, so
/// their number is the link count of `task`, minus the two links of every directory.
fn count_tasks_of_user() -> u64 {
    let own = rustix::process::getuid().as_raw();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let mut threads = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_process = name.to_str().is_some_and(|id| id.parse::<u32>().is_ok());
        if is_process
            && let Ok(found) = std::fs::metadata(entry.path().join("task"))
            && found.uid() == own
        {
            threads += found.nlink().saturating_sub(2);
        }
    }
    threads
}

/// Returns bubblewrap's absolute path, resolved once.
pub(crate) fn bubblewrap() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(find_bubblewrap).as_deref()
}

fn find_bubblewrap() -> Option<PathBuf> {
    for usual in BUBBLEWRAP.map(PathBuf::from) {
        if usual.is_file() {
            return Some(usual);
        }
    }
    trusted_program(&own_path(), "bwrap")
}

/// Returns the user's home; the empty path if there is none.
pub(crate) fn home_of_user() -> PathBuf {
    match variable("HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::new(),
    }
}

/// Returns the user's home without links in its path, found once, if it is a directory.
pub(crate) fn real_home() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| real_folder(&home_of_user()))
        .as_deref()
}

/// Returns what a job sees of the user's programs, decided once.
pub(crate) fn programs_of_user() -> &'static Programs {
    static FOUND: OnceLock<Programs> = OnceLock::new();
    FOUND.get_or_init(find_programs)
}

fn find_programs() -> Programs {
    let shell = shell_of_user();
    let mut programs = Programs::for_shell(&shell);
    let mut path = shell.path.iter();
    if path.any(|folder| is_executable(&folder.join("java"))) {
        programs.read_only.extend(java_settings(Path::new("/etc")));
    }
    programs
}

/// Where the system's Java and Maven have the files without which they do not start, or start
/// otherwise: distributions put links to them into `/usr` (Debian: `/etc/java-17-openjdk`,
/// `/etc/maven`). A `*` stands for the rest of a name.
const JAVA_SETTINGS: [&str; 4] = [
    "java-*",
    "maven/logging",
    "maven/m2.conf",
    "maven/toolchains.xml",
];
/// The settings of Maven for repositories, without which it does not start where it sees that they
/// exist.
const MAVEN_SETTINGS: &str = "maven/settings.xml";
/// The elements of these settings that contain a secret, or name one.
const MAVEN_SECRETS: [&str; 5] = [
    "<username",
    "<password",
    "<privateKey",
    "<passphrase",
    "<httpHeaders",
];
/// The file of such a folder that contains passwords.
const JAVA_PASSWORDS: &str = "management/jmxremote.password";

/// Lists those of them that exist in a folder.
fn java_settings(folder: &Path) -> Vec<PathBuf> {
    let found = JAVA_SETTINGS.iter().flat_map(|name| parts(folder, name));
    let mut shown: Vec<PathBuf> = found.flat_map(without_passwords).collect();
    let settings = folder.join(MAVEN_SETTINGS);
    if std::fs::read_to_string(&settings).is_ok_and(|text| !names_secret(&text)) {
        shown.push(settings);
    }
    shown
}

fn without_passwords(path: PathBuf) -> Vec<PathBuf> {
    let passwords = path.join(JAVA_PASSWORDS);
    if passwords.exists() {
        around(&path, &[&passwords])
    } else {
        vec![path]
    }
}

/// Reports whether settings of Maven have an element for secrets. The file that is installed has
/// some in comments.
fn names_secret(settings: &str) -> bool {
    let mut rest = settings;
    while let Some((before, comment)) = rest.split_once("<!--") {
        if has_element_for_secrets(before) {
            return true;
        }
        // A comment without an end is none.
        rest = match comment.split_once("-->") {
            Some((_, after)) => after,
            None => comment,
        };
    }
    has_element_for_secrets(rest)
}

fn has_element_for_secrets(settings: &str) -> bool {
    MAVEN_SECRETS
        .iter()
        .any(|element| settings.contains(element))
}

/// Returns where the user's shell looks for programs.
pub(crate) fn shell_of_user() -> Shell<'static> {
    Shell {
        home: home_of_user(),
        path: std::env::split_paths(&own_path())
            .filter(|folder| folder.is_absolute())
            .collect(),
        variable: &variable,
        visible: visible(),
    }
}

/// Returns the variables with which package managers do not try a network: they fail at once with a
/// clear message instead of retrying.
pub(crate) fn offline_variables() -> Vec<(OsString, OsString)> {
    let mut variables = Vec::new();
    if RustHomes::of_user().cargo_home.is_some() {
        variables.push(("CARGO_NET_OFFLINE".into(), "true".into()));
    }
    variables.extend(programs_of_user().offline.clone());
    variables
}

/// Returns a job's `PATH`: the user's folders that it sees, those below one of the view's `roots`
/// included, then cargo's programs and the usual folders.
pub(crate) fn search_path<'a>(roots: impl Iterator<Item = &'a Path>) -> OsString {
    let folders = search_folders(roots);
    std::env::join_paths(folders).unwrap_or_else(|_| OsString::from(DEFAULT_PATH.join(":")))
}

/// Returns the folders of [`search_path`].
pub(crate) fn search_folders<'a>(roots: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let roots: Vec<&Path> = roots.collect();
    let mut all = Vec::new();
    for folder in &programs_of_user().path {
        if let Some(inside) = &folder.inside {
            all.push(inside.clone());
        } else if roots.iter().any(|root| folder.outside.starts_with(root)) {
            all.push(folder.outside.clone());
        }
    }
    for (name, path) in RustHomes::of_user().cargo_shared() {
        if name == "bin" {
            all.push(path);
        }
    }
    all.extend(DEFAULT_PATH.map(PathBuf::from));
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in all {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Lists what every job sees besides the user's programs: the system, and Rust's toolchain.
pub(crate) fn visible() -> Vec<PathBuf> {
    let rust = RustHomes::of_user();
    let mut visible = Vec::from(SYSTEM.map(PathBuf::from));
    visible.extend(rust.cargo_shared().map(|(_, path)| path));
    visible.extend(rust.rustup_home.clone());
    visible
}

fn own_path() -> OsString {
    variable("PATH").unwrap_or_default()
}

/// Finds a program that may run unconfined in a search path.
///
/// Skips the folders of repositories and of their worktrees, relative folders, and folders that
/// every user may write to. The target of a symbolic link must not be in such a folder either.
#[must_use]
pub fn trusted_program(search: &OsStr, name: &str) -> Option<PathBuf> {
    for folder in trusted_folders(search) {
        let program = folder.join(name);
        if is_executable(&program)
            && let Ok(real) = program.canonicalize()
            && real.parent().is_some_and(is_trusted)
        {
            return Some(program);
        }
    }
    None
}

/// Finds a program for which [`trusted_program`] returns `None` because it skips each one in the
/// search path.
#[must_use]
pub fn untrusted_program(search: &OsStr, name: &str) -> Option<PathBuf> {
    if trusted_program(search, name).is_some() {
        return None;
    }
    let mut programs = std::env::split_paths(search).map(|folder| folder.join(name));
    programs.find(|program| is_executable(program))
}

/// Removes from a search path what [`trusted_program`] skips.
pub(crate) fn trusted_search_path(search: &OsStr) -> OsString {
    std::env::join_paths(trusted_folders(search)).unwrap_or_default()
}

fn trusted_folders(search: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(search).filter(|folder| folder.is_absolute() && is_trusted(folder))
}

fn is_trusted(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let Ok(real) = folder.canonicalize() else {
        return false;
    };
    let others_write = real.metadata().map_or(true, |found| {
        found.permissions().mode() & WRITABLE_BY_OTHERS != 0
    });
    let is_repositorys = real.ancestors().any(orchestrate_files::is_repository);
    !others_write && !is_repositorys
}

/// The coordinator's variables that an unconfined job inherits.
const HARMLESS: [&str; 10] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "SHELL",
    "CARGO_HOME",
    "RUSTUP_HOME",
];

/// Returns the variables of the coordinator that contain no secrets.
pub(crate) fn harmless_variables() -> Vec<(OsString, OsString)> {
    let mut variables = Vec::new();
    for name in HARMLESS {
        if let Some(value) = variable(name) {
            variables.push((name.into(), value));
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn finds_no_program_where_an_agent_or_everybody_could_have_put_it() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        for folder in [
            "bin",
            "repository/tools/bin",
            "worktree/bin",
            "everybodys",
            "linked",
        ] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for folder in ["bin", "repository/tools/bin", "worktree/bin", "everybodys"] {
            std::fs::write(at(folder).join("bwrap"), "").unwrap();
            std::fs::set_permissions(at(folder).join("bwrap"), PermissionsExt::from_mode(0o755))
                .unwrap();
        }
        std::fs::create_dir(at("repository/.git")).unwrap();
        // Another sandbox leaves such a folder in `/tmp`.
        std::fs::create_dir(at(".git")).unwrap();
        std::fs::write(at("repository/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(at("worktree/.git"), "gitdir: elsewhere").unwrap();
        std::fs::set_permissions(at("everybodys"), PermissionsExt::from_mode(0o1777)).unwrap();
        symlink(at("repository/tools/bin/bwrap"), at("linked/bwrap")).unwrap();
        symlink(at("repository/tools/bin"), at("way")).unwrap();
        let search = |folders: &[&str]| {
            std::env::join_paths(folders.iter().map(|folder| at(folder))).unwrap()
        };
        let passed_over = [
            "repository/tools/bin",
            "worktree/bin",
            "everybodys",
            "linked",
            "way",
            "absent",
        ];
        assert_eq!(trusted_program(&search(&passed_over), "bwrap"), None);
        assert_eq!(trusted_program(OsStr::new(".::bin"), "bwrap"), None);
        assert_eq!(
            untrusted_program(&search(&passed_over), "bwrap"),
            Some(at("repository/tools/bin/bwrap"))
        );
        assert_eq!(
            trusted_program(&search(&[&passed_over[..], &["bin"]].concat()), "bwrap"),
            Some(at("bin/bwrap"))
        );
        assert_eq!(
            untrusted_program(&search(&[&passed_over[..], &["bin"]].concat()), "bwrap"),
            None
        );
        assert_eq!(
            trusted_search_path(&search(&["way", "bin", "worktree/bin"])),
            search(&["bin"])
        );
    }

    #[test]
    fn the_settings_of_java_and_maven_are_seen_without_passwords() {
        let place = tempfile::tempdir().unwrap();
        for name in [
            "java-17-openjdk/security/java.security",
            "java-21-openjdk/management/jmxremote.password",
            "java-21-openjdk/management/management.properties",
            "java-21-openjdk/net.properties",
            "maven/m2.conf",
            "maven/logging/simplelogger.properties",
            "passwd",
        ] {
            std::fs::create_dir_all(place.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(place.path().join(name), "").unwrap();
        }
        let found = || {
            let found = java_settings(place.path()).into_iter();
            found
                .map(|path| {
                    path.strip_prefix(place.path())
                        .unwrap()
                        .display()
                        .to_string()
                })
                .collect::<BTreeSet<_>>()
        };
        let expected = [
            "java-17-openjdk",
            "java-21-openjdk/management/management.properties",
            "java-21-openjdk/net.properties",
            "maven/logging",
            "maven/m2.conf",
        ];
        let expected = BTreeSet::from(expected.map(str::to_owned));
        assert_eq!(found(), expected);
        let table = [
            (
                "<settings><!-- <password>example</password> --></settings>",
                true,
            ),
            (
                "<settings><!-- a --><server><password>s</password></server></settings>",
                false,
            ),
            ("<settings><!-- <password>s</password></settings>", false),
        ];
        for (text, is_shown) in table {
            std::fs::write(place.path().join(MAVEN_SETTINGS), text).unwrap();
            assert_eq!(found().contains(MAVEN_SETTINGS), is_shown, "{text}");
        }
    }

    #[test]
    fn counts_the_threads_of_own_processes() {
        let (stop, stopped) = std::sync::mpsc::sync_channel::<()>(1);
        let listed = || std::fs::read_dir("/proc/self/task").unwrap().count() as u64;
        let another = std::thread::spawn(move || stopped.recv());
        assert!(listed() >= 2 && count_tasks_of_user() >= listed());
        drop(stop);
        another.join().unwrap().unwrap_err();
    }
}
