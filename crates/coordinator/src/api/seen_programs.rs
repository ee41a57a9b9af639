//! Which of the user's programs a confined command starts, and in which version.
//!
//! A program is asked for its version inside, and also outside if commands start the same file or it is in a folder
//! that only the user can write. Both are asked from a folder of the system, where no project chooses a version.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orchestrate_sandbox::{
    Cancel, Confinement, Helper, HostView, Job, Limits, Network, Sandbox, SeenProgram, View, seen_program,
    trusted_program,
};
use orchestrate_settings::Loaded;
use serde::Serialize;

/// The programs of the toolchains whose versions matter to a check, besides the one that `verify` names.
const PROGRAMS: [&str; 12] =
    ["python3", "uv", "pipx", "node", "pnpm", "yarn", "bun", "deno", "ruby", "go", "java", "cargo"];
/// Programs print their version within milliseconds; a virtual machine on a busy computer takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// A folder of the system, in which no project chooses a version.
const FOLDER: &str = "/usr";
/// Prints the first line that each program prints about its version, after its position and a tab.
const ASK: &str = r#"at=0
for program do
  case "$program" in */go) option=version ;; *) option=--version ;; esac
  said=$("$program" $option 2>/dev/null </dev/null) || said=
  printf '%s\t%s\n' "$at" "$(printf '%s' "$said" | head -n 1)"
  at=$((at + 1))
done"#;

/// A program of the user's, and what a confined command sees of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramSeen {
    /// Its name.
    pub name: String,
    /// The file that the user's shell starts.
    pub outside: Option<PathBuf>,
    /// The version that it reports there, if it was asked.
    pub outside_version: Option<String>,
    /// The file that a confined command starts.
    pub inside: Option<PathBuf>,
    /// The version that it reports there.
    pub inside_version: Option<String>,
    /// Why a command does not start the user's program, or not in the same version.
    pub reason: Option<String>,
}

/// Finds the programs of the user's toolchains, outside and in a sandbox.
pub(crate) async fn seen_programs(sandbox: Sandbox, settings: &Loaded) -> Vec<ProgramSeen> {
    let verify = settings.run.verify.as_deref().and_then(|command| command.split_whitespace().next());
    let verify =
        verify.filter(|word| word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter)));
    let mut names = PROGRAMS.to_vec();
    names.extend(verify.filter(|name| !PROGRAMS.contains(name)));
    let seen = names.into_iter().map(|name| (name, seen_program(name, sandbox.added_paths())));
    let seen: Vec<(&str, SeenProgram)> = seen.filter(|(_, seen)| seen.outside.is_some()).collect();
    let inside = seen.iter().filter_map(|(_, seen)| seen.inside.clone());
    let inside = versions(sandbox, inside.collect()).await;
    let outside = seen.iter().filter(|(name, seen)| may_ask(name, seen)).filter_map(|(_, seen)| seen.outside.clone());
    let outside = match Sandbox::with(Confinement::Unconfined, Helper::default()) {
        Ok(unconfined) => versions(unconfined, outside.collect()).await,
        Err(_) => BTreeMap::new(),
    };
    seen.into_iter().map(|(name, seen)| compared(name, seen, &outside, &inside)).collect()
}

/// Reports whether a program may be started unconfined: it is the one that a command starts too, which excludes
/// those of repositories, or it is where only the user and the system install programs.
fn may_ask(name: &str, seen: &SeenProgram) -> bool {
    let Some((folder, outside)) = seen.outside.as_deref().and_then(|path| Some((path.parent()?, path))) else {
        return false;
    };
    seen.reason.is_none() || trusted_program(folder.as_os_str(), name).as_deref() == Some(outside)
}

fn compared(
    name: &str,
    seen: SeenProgram,
    outside: &BTreeMap<PathBuf, String>,
    inside: &BTreeMap<PathBuf, String>,
) -> ProgramSeen {
    let SeenProgram { outside: path_outside, inside: path_inside, mut reason } = seen;
    let outside_version = path_outside.as_ref().and_then(|path| outside.get(path)).cloned();
    let inside_version = path_inside.as_ref().and_then(|path| inside.get(path)).cloned();
    if reason.is_none() && outside_version.is_some() && outside_version != inside_version {
        reason = Some(match &inside_version {
            Some(_) => "it chooses another version there".to_owned(),
            None => "it does not start there".to_owned(),
        });
    }
    let name = name.to_owned();
    ProgramSeen { name, outside: path_outside, outside_version, inside: path_inside, inside_version, reason }
}

/// Returns the version that each program reports. Programs that report none are absent.
async fn versions(sandbox: Sandbox, programs: Vec<PathBuf>) -> BTreeMap<PathBuf, String> {
    let script = ["-c", ASK, "sh"].map(OsString::from).into_iter();
    let job = Job {
        view: View::Host(HostView { read_only: vec![FOLDER.into()], ..HostView::default() }),
        program: "/bin/sh".into(),
        args: script.chain(programs.iter().map(OsString::from)).collect(),
        cwd: Path::new(FOLDER).to_owned(),
        stdin: Vec::new(),
        // A launcher of package managers would fetch the one that it is asked about.
        env: BTreeMap::from([("COREPACK_ENABLE_NETWORK".into(), "0".into())]),
        network: Network::None,
        limits: Limits { timeout: PATIENCE, ..Limits::default() },
    };
    // Without an answer, the paths alone are compared.
    let Ok(finished) = sandbox.run_async(job, Cancel::new()).await else { return BTreeMap::new() };
    let said = finished.stdout.text();
    let version = |line: &str| {
        let (at, version) = line.split_once('\t')?;
        let program = programs.get(at.parse::<usize>().ok()?)?;
        (!version.is_empty()).then(|| (program.clone(), version.to_owned()))
    };
    said.lines().filter_map(version).collect()
}

impl ProgramSeen {
    /// Renders what a confined command sees, with the difference to the user's shell.
    pub fn found(&self) -> String {
        let at = |path: &Option<PathBuf>, version: &Option<String>| match (path, version) {
            (Some(path), Some(version)) => format!("{version} ({})", path.display()),
            (Some(path), None) => path.display().to_string(),
            (None, _) => "not found".to_owned(),
        };
        let inside = at(&self.inside, &self.inside_version);
        match &self.reason {
            None => format!("{}: {inside}", self.name),
            Some(reason) => {
                let outside = at(&self.outside, &self.outside_version);
                format!("{}: commands see {inside}, your shell {outside}: {reason}", self.name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_never_silent() {
        let seen = |reason: Option<&str>| SeenProgram {
            outside: Some("/home/u/bin/node".into()),
            inside: Some(if reason.is_some() { "/usr/bin/node" } else { "/home/u/bin/node" }.into()),
            reason: reason.map(str::to_owned),
        };
        let of = |path: &str, version: Option<&str>| -> BTreeMap<PathBuf, String> {
            version.map(|version| (path.into(), version.to_owned())).into_iter().collect()
        };
        let own = "/home/u/bin/node";
        let table = [
            (None, Some("v20"), Some("v20"), "node: v20 (/home/u/bin/node)"),
            (None, None, None, "node: /home/u/bin/node"),
            (
                None,
                Some("v20"),
                Some("v18"),
                "node: commands see v18 (/home/u/bin/node), your shell v20 (/home/u/bin/node): it chooses another \
                 version there",
            ),
            (
                None,
                Some("v20"),
                None,
                "node: commands see /home/u/bin/node, your shell v20 (/home/u/bin/node): it does not start there",
            ),
            (
                Some("its folder is private"),
                None,
                Some("v18"),
                "node: commands see v18 (/usr/bin/node), your shell /home/u/bin/node: its folder is private",
            ),
        ];
        for (reason, outside, inside, expected) in table {
            let path = if reason.is_some() { "/usr/bin/node" } else { own };
            let found = compared("node", seen(reason), &of(own, outside), &of(path, inside));
            assert_eq!(found.found(), expected);
        }
    }
}
