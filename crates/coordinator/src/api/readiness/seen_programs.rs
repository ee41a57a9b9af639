//! Which of the user's programs a confined command starts, and in which version.
//!
//! A program is asked for its version inside, and also outside if commands start the same file or
//! it is in a folder that only the user can write. Both are asked from a folder of the system,
//! where no project chooses a version. In the project's own folder, programs are asked in the
//! sandbox alone, because a file there may name what is started.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orchestrate_sandbox::{
    Cancel, Confinement, Helper, HostView, Job, Limits, Network, Sandbox, SeenProgram, View,
    seen_program, trusted_program,
};
use orchestrate_settings::{Loaded, Pin, Suggestion};
use serde::{Deserialize, Serialize};

/// The programs of the toolchains whose versions matter to a check, besides the one that `verify`
/// names.
const PROGRAMS: [&str; 12] = [
    "python3", "uv", "pipx", "node", "pnpm", "yarn", "bun", "deno", "ruby", "go", "java", "cargo",
];
/// Programs print their version within milliseconds; a virtual machine on a busy computer takes
/// seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// A folder of the system, in which no project chooses a version.
const FOLDER: &str = "/usr";
/// Prints what each program says of its version, after its position and whether it failed.
const ASK: &str = r#"at=0
for program do
  case "$program" in */go) option=version ;; *) option=--version ;; esac
  failed=
  said=$("$program" $option 2>/dev/null </dev/null) || failed=failed
  if [ -n "$failed" ] && [ -z "$said" ]; then
    said=$("$program" $option 2>&1 >/dev/null </dev/null)
  fi
  said=$(printf '%s' "$said" | grep -v '^[[:space:]]*$' | head -n 1)
  printf '%s\t%s\t%s\n' "$at" "$failed" "$said"
  at=$((at + 1))
done"#;

/// A program of the user's, and what a confined command sees of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProgramSeen {
    /// Its name, or its path in the project.
    pub name: String,
    /// The file that the user's shell starts.
    pub outside: Option<PathBuf>,
    /// The version that it reports there, if it was asked.
    pub outside_version: Option<String>,
    /// The file that a confined command starts.
    pub inside: Option<PathBuf>,
    /// The version that it reports there.
    pub inside_version: Option<String>,
    /// The version that a confined command starts in the project's folder, if it was asked there.
    pub project_version: Option<String>,
    /// Why a command does not start the user's program, or not in the same version.
    pub reason: Option<String>,
    /// What the user can do about that.
    pub fix: Option<String>,
}

/// What a program says of its version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Said {
    has_failed: bool,
    line: String,
}

impl Said {
    fn version(&self) -> Option<String> {
        (!self.has_failed && !self.line.is_empty()).then(|| self.line.clone())
    }

    /// Reports whether it names exactly this version.
    fn names(&self, version: &str) -> bool {
        self.line
            .split_whitespace()
            .any(|word| word.trim_start_matches('v') == version)
    }
}

/// Finds the programs of the user's toolchains, outside, in a sandbox, and there in the folder of a
/// project.
pub(crate) async fn seen_programs(
    sandbox: &Sandbox,
    settings: &Loaded,
    project: Option<&Path>,
) -> Vec<ProgramSeen> {
    let mut names: Vec<String> = PROGRAMS.map(str::to_owned).to_vec();
    for name in of_project(settings, project) {
        if !PROGRAMS.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let seen = found(sandbox, &names);
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for (name, seen) in &seen {
        inside.extend(seen.inside.clone());
        if may_ask(name, seen) {
            outside.extend(seen.outside.clone());
        }
    }
    let inside = versions(sandbox, inside, Path::new(FOLDER)).await;
    let outside = match Sandbox::with(Confinement::Unconfined, Helper::default()) {
        Ok(unconfined) => versions(&unconfined, outside, Path::new(FOLDER)).await,
        Err(_) => BTreeMap::new(),
    };
    let mut programs = compared(seen, &outside, &inside);
    if let Some(project) = project {
        let pins = Pin::read(project);
        ask_in_project(sandbox, project, &mut programs, &pins, true).await;
        add_absent(&mut programs, &pins);
    }
    programs
}

/// Finds those programs of a project that a command of a run starts otherwise than the user's
/// shell. A program is only started if a file of the project chooses its version, since it costs a
/// run time.
pub(crate) async fn different_programs(
    sandbox: &Sandbox,
    settings: &Loaded,
    project: &Path,
) -> Vec<ProgramSeen> {
    let pins = Pin::read(project);
    let seen = found(sandbox, &of_project(settings, Some(project)));
    let none = BTreeMap::new();
    let mut programs = compared(seen, &none, &none);
    ask_in_project(sandbox, project, &mut programs, &pins, false).await;
    add_absent(&mut programs, &pins);
    programs.retain(|program| program.reason.is_some());
    programs
}

/// Adds the programs of which a file of the project pins a version, and which are not installed at
/// all.
fn add_absent(programs: &mut Vec<ProgramSeen>, pins: &[Pin]) {
    for pin in pins {
        let Some(version) = &pin.version else {
            continue;
        };
        if pin.program.contains('/') || programs.iter().any(|program| program.name == pin.program) {
            continue;
        }
        programs.push(ProgramSeen {
            name: pin.program.clone(),
            reason: Some(format!(
                "{} pins {version}, and it is not installed",
                pin.by
            )),
            fix: Some(match pin.program.as_str() {
                "pnpm" | "yarn" => "type `corepack enable`, or install it".to_owned(),
                _ => "install it".to_owned(),
            }),
            ..ProgramSeen::default()
        });
    }
}

/// Returns the names of the programs that a project needs: what its check starts with, its
/// managers, and what its files choose a version of.
fn of_project(settings: &Loaded, project: Option<&Path>) -> Vec<String> {
    let mut names = Vec::new();
    let verify = settings.run.verify.as_deref().unwrap_or("");
    if let Some(first) = verify.split_whitespace().next()
        && is_name(first)
    {
        names.push(first.to_owned());
    }
    if let Some(project) = project {
        let suggestion = Suggestion::read(project, &BTreeSet::new(), &|_| false);
        for found in &suggestion.found {
            names.push(found.manager.to_owned());
        }
        for pin in Pin::read(project) {
            if !pin.program.contains('/') {
                names.push(pin.program);
            }
        }
    }
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(name.clone()));
    names
}

fn is_name(word: &str) -> bool {
    word.chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
}

fn found(sandbox: &Sandbox, names: &[String]) -> Vec<(String, SeenProgram)> {
    let mut found = Vec::new();
    for name in names {
        let seen = seen_program(name, sandbox.added_paths());
        if seen.outside.is_some() {
            found.push((name.clone(), seen));
        }
    }
    found
}

/// Asks the programs for their versions in the project's folder, all of them or those that its
/// files choose, and adds the interpreters of its environments.
async fn ask_in_project(
    sandbox: &Sandbox,
    project: &Path,
    programs: &mut Vec<ProgramSeen>,
    pins: &[Pin],
    all: bool,
) {
    for pin in pins.iter().filter(|pin| pin.program.contains('/')) {
        let path = project.join(&pin.program);
        let seen = Some(path).filter(|path| path.exists());
        programs.push(ProgramSeen {
            name: pin.program.clone(),
            inside: seen,
            ..ProgramSeen::default()
        });
    }
    let mut asked = Vec::new();
    for program in programs.iter() {
        if all || pin_of(program, pins).is_some() {
            asked.extend(program.inside.clone());
        }
    }
    if asked.is_empty() {
        return;
    }
    let said = versions(sandbox, asked, project).await;
    for program in programs {
        let pin = pin_of(program, pins);
        if let Some(path) = &program.inside
            && let Some(said) = said.get(path)
            && (all || pin.is_some())
        {
            program.hear(said, pin);
        }
    }
}

fn pin_of<'a>(program: &ProgramSeen, pins: &'a [Pin]) -> Option<&'a Pin> {
    pins.iter().find(|pin| pin.program == program.name)
}

/// Reports whether a program may be started unconfined: it is the one that a command starts too,
/// which excludes those of repositories, or it is where only the user and the system install
/// programs.
fn may_ask(name: &str, seen: &SeenProgram) -> bool {
    let Some(outside) = &seen.outside else {
        return false;
    };
    let Some(folder) = outside.parent() else {
        return false;
    };
    seen.reason.is_none() || trusted_program(folder.as_os_str(), name).as_ref() == Some(outside)
}

/// Compares what programs say of their versions, by their files.
fn compared(
    programs: Vec<(String, SeenProgram)>,
    outside: &BTreeMap<PathBuf, Said>,
    inside: &BTreeMap<PathBuf, Said>,
) -> Vec<ProgramSeen> {
    let mut all = Vec::new();
    for (name, seen) in programs {
        let outside_version = version(seen.outside.as_ref(), outside);
        let inside_version = version(seen.inside.as_ref(), inside);
        all.push(with_versions(name, seen, outside_version, inside_version));
    }
    all
}

fn version(path: Option<&PathBuf>, said: &BTreeMap<PathBuf, Said>) -> Option<String> {
    said.get(path?)?.version()
}

fn with_versions(
    name: String,
    seen: SeenProgram,
    outside_version: Option<String>,
    inside_version: Option<String>,
) -> ProgramSeen {
    let SeenProgram {
        outside,
        inside,
        mut reason,
        mut fix,
    } = seen;
    if reason.is_none() && outside_version.is_some() && outside_version != inside_version {
        reason = Some(match &inside_version {
            Some(_) => "it chooses another version there".to_owned(),
            None => "it does not start there".to_owned(),
        });
        fix = Some(format!(
            "add to `sandbox.read` in your own configuration the folders that `{name}` reads, and \
             to `sandbox.env` the variables"
        ));
    }
    ProgramSeen {
        name,
        outside,
        outside_version,
        inside,
        inside_version,
        project_version: None,
        reason,
        fix,
    }
}

/// Returns what each program says, started in a folder.
async fn versions(
    sandbox: &Sandbox,
    programs: Vec<PathBuf>,
    folder: &Path,
) -> BTreeMap<PathBuf, Said> {
    let script = ["-c", ASK, "sh"].map(OsString::from).into_iter();
    let job = Job {
        view: View::Host(HostView {
            read_only: vec![folder.to_owned()],
            ..HostView::default()
        }),
        program: "/bin/sh".into(),
        args: script.chain(programs.iter().map(OsString::from)).collect(),
        cwd: folder.to_owned(),
        stdin: Vec::new(),
        // A launcher of package managers would fetch the one that it is asked about.
        env: BTreeMap::from([("COREPACK_ENABLE_NETWORK".into(), "0".into())]),
        network: Network::None,
        limits: Limits {
            timeout: PATIENCE,
            ..Limits::default()
        },
    };
    // Without an answer, the paths alone are compared.
    let Ok(finished) = sandbox.run_async(job, Cancel::new()).await else {
        return BTreeMap::new();
    };
    let mut answers = BTreeMap::new();
    for answer in finished.stdout.text().lines() {
        let parts: Vec<&str> = answer.splitn(3, '\t').collect();
        let [at, failed, line] = parts[..] else {
            continue;
        };
        if let Ok(at) = at.parse::<usize>()
            && let Some(program) = programs.get(at)
        {
            let said = Said {
                has_failed: !failed.is_empty(),
                line: line.trim().to_owned(),
            };
            answers.insert(program.clone(), said);
        }
    }
    answers
}

impl ProgramSeen {
    /// Takes note of what it says in the project, where a file may choose another version.
    fn hear(&mut self, said: &Said, pin: Option<&Pin>) {
        self.project_version = said.version();
        if self.reason.is_some() {
            return;
        }
        if said.has_failed && (pin.is_some() || self.inside_version.is_some()) {
            self.reason = Some(format!("it does not start in this project: {}", said.line));
            self.fix = Some(fix_for(&self.name, pin));
        } else if let Some(pin) = pin
            && let Some(version) = &pin.version
            && !said.names(version)
        {
            self.reason = Some(format!(
                "{} pins {version}, but {} starts in this project",
                pin.by, said.line
            ));
            self.fix = Some(fix_for(&self.name, Some(pin)));
        }
    }

    /// Renders what a confined command sees, with the difference to the user's shell.
    pub fn found(&self) -> String {
        let own = self
            .project_version
            .as_ref()
            .or(self.inside_version.as_ref());
        let inside = path_and_version(&self.inside, &own.cloned());
        match (&self.reason, &self.outside) {
            (None, _) => format!("{}: {inside}", self.name),
            (Some(reason), None) if self.inside.is_none() => format!("{}: {reason}", self.name),
            (Some(reason), None) => format!("{}: commands see {inside}: {reason}", self.name),
            (Some(reason), Some(_)) => {
                let outside = path_and_version(&self.outside, &self.outside_version);
                format!(
                    "{}: commands see {inside}, your shell {outside}: {reason}",
                    self.name
                )
            }
        }
    }
}

fn path_and_version(path: &Option<PathBuf>, version: &Option<String>) -> String {
    match (path, version) {
        (Some(path), Some(version)) => format!("{version} ({})", path.display()),
        (Some(path), None) => path.display().to_string(),
        (None, _) => "not found".to_owned(),
    }
}

/// Returns what to do about a program that starts in another version than a file of the project
/// chooses, or not at all.
fn fix_for(name: &str, pin: Option<&Pin>) -> String {
    match pin.map(|pin| pin.by) {
        Some("package.json") => format!(
            "type `{name} --version` in your checkout: it fetches the pinned version, which \
             commands then find without a network"
        ),
        Some(by) if by.ends_with("pyvenv.cfg") => {
            format!(
                "create the environment of {by} again, with a Python that is installed in a folder \
                 of its own"
            )
        }
        Some(by) if by.starts_with("rust-toolchain") => {
            "type `rustup toolchain install` in your checkout".to_owned()
        }
        Some(by) => format!("install the version that {by} names with your version manager"),
        None => format!(
            "type `{name} --version` in your checkout to see what it needs, and install that"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_never_silent() {
        let seen = |reason: Option<&str>| SeenProgram {
            outside: Some("/home/u/bin/node".into()),
            inside: Some(
                if reason.is_some() {
                    "/usr/bin/node"
                } else {
                    "/home/u/bin/node"
                }
                .into(),
            ),
            reason: reason.map(str::to_owned),
            fix: None,
        };
        let of = |path: &str, version: Option<&str>| -> BTreeMap<PathBuf, Said> {
            let said = |version: &str| Said {
                has_failed: false,
                line: version.to_owned(),
            };
            version
                .map(|version| (path.into(), said(version)))
                .into_iter()
                .collect()
        };
        let own = "/home/u/bin/node";
        let table = [
            (
                None,
                Some("v20"),
                Some("v20"),
                "node: v20 (/home/u/bin/node)",
            ),
            (None, None, None, "node: /home/u/bin/node"),
            (
                None,
                Some("v20"),
                Some("v18"),
                "node: commands see v18 (/home/u/bin/node), your shell v20 (/home/u/bin/node): it \
                 chooses another version there",
            ),
            (
                None,
                Some("v20"),
                None,
                "node: commands see /home/u/bin/node, your shell v20 (/home/u/bin/node): it does \
                 not start there",
            ),
            (
                Some("its folder is private"),
                None,
                Some("v18"),
                "node: commands see v18 (/usr/bin/node), your shell /home/u/bin/node: its folder \
                 is private",
            ),
        ];
        for (reason, outside, inside, expected) in table {
            let path = if reason.is_some() {
                "/usr/bin/node"
            } else {
                own
            };
            let programs = vec![("node".to_owned(), seen(reason))];
            let found = compared(programs, &of(own, outside), &of(path, inside));
            assert_eq!(found[0].found(), expected);
        }
    }

    #[test]
    fn a_pinned_program_that_is_not_installed_is_told() {
        let pin = |program: &str, version: Option<&str>| Pin {
            program: program.to_owned(),
            by: "package.json",
            version: version.map(str::to_owned),
        };
        let mut programs = vec![ProgramSeen {
            name: "yarn".to_owned(),
            ..ProgramSeen::default()
        }];
        add_absent(
            &mut programs,
            &[
                pin("pnpm", Some("9.1.0")),
                pin("yarn", Some("4.1.0")),
                pin("ruby", None),
            ],
        );
        let added: Vec<String> = programs.iter().skip(1).map(ProgramSeen::found).collect();
        assert_eq!(
            added,
            ["pnpm: package.json pins 9.1.0, and it is not installed"]
        );
    }

    #[test]
    fn what_a_project_chooses_is_compared_with_what_starts() {
        let pin = |by, version: Option<&str>| {
            Some(Pin {
                program: "pnpm".to_owned(),
                by,
                version: version.map(str::to_owned),
            })
        };
        let said = |has_failed, line: &str| Said {
            has_failed,
            line: line.to_owned(),
        };
        let table = [
            (
                pin("package.json", Some("9.1.0")),
                said(false, "9.1.0"),
                None,
            ),
            (
                pin("package.json", Some("20.1.0")),
                said(false, "v20.1.0"),
                None,
            ),
            (
                pin("package.json", Some("9.1.0")),
                said(false, "10.20.0"),
                Some((
                    "package.json pins 9.1.0, but 10.20.0 starts in this project",
                    "type `pnpm --version` in your checkout: it fetches",
                )),
            ),
            (
                pin(".python-version", None),
                said(true, "pyenv: version `3.13' is not installed"),
                Some((
                    "it does not start in this project: pyenv: version `3.13' is not installed",
                    "install the version that .python-version names",
                )),
            ),
            (
                pin(".venv/pyvenv.cfg", Some("3.11.7")),
                said(false, "Python 3.11.2"),
                Some((
                    ".venv/pyvenv.cfg pins 3.11.7, but Python 3.11.2 starts",
                    "create the environment",
                )),
            ),
            (None, said(false, "10.20.0"), None),
            (
                None,
                said(true, "it needs a license"),
                Some(("it does not start in this project", "type `pnpm --version`")),
            ),
        ];
        for (pin, said, expected) in table {
            let mut program = ProgramSeen {
                name: "pnpm".to_owned(),
                inside: Some("/bin/pnpm".into()),
                inside_version: Some("10.20.0".to_owned()),
                ..ProgramSeen::default()
            };
            program.hear(&said, pin.as_ref());
            let (reason, fix) = (program.reason.as_deref(), program.fix.as_deref());
            match expected {
                None => assert_eq!((reason, fix), (None, None), "{said:?}"),
                Some((reason_begins, fix_begins)) => {
                    assert!(reason.unwrap().starts_with(reason_begins), "{reason:?}");
                    assert!(fix.unwrap().starts_with(fix_begins), "{fix:?}");
                }
            }
        }
    }
}
