//! Compares what programs really run of a line with what the policy sees in it.
//!
//! A shell runs each line in a folder of its own: a rule that denies the command in the line has to
//! match if and only if that command ran. Lines that are denied although nothing runs are left out:
//! when in doubt, the policy denies.

use std::path::Path;
use std::process::{Command, Stdio};

use orchestrate_core::policy::{
    Access, Decision, Grant, Permission, Policy, Question, RuleDecision, RuleText, Target,
};

use orchestrate_core::policy::tool_names::ToolNames;

use crate::support::{Case, Need, Outcome, case};

/// A program, the package that contains it, lines with which it creates the file `ran`, and lines
/// with which it does not.
struct Program {
    name: &'static str,
    package: &'static str,
    is_present: fn() -> bool,
    running: &'static [&'static str],
    idle: &'static [&'static str],
}

const PROGRAMS: [Program; 17] = [
    Program {
        name: "xargs",
        package: "findutils",
        is_present: || is_there("xargs"),
        running: &[
            "echo ran | xargs touch",
            "xargs touch ran </dev/null",
            "echo x | xargs -I{} sh -c 'touch ran'",
        ],
        idle: &[
            "echo f | xargs -n1 grep -l 'touch ran'",
            "printf 'touch ran\\0' | xargs -0 echo",
        ],
    },
    Program {
        name: "sed",
        package: "sed",
        is_present: || is_there("sed"),
        running: &[
            "sed '1e touch ran' f",
            "sed 's/.*/touch ran/e' f",
            "echo '1e touch ran' | sed -f - f",
        ],
        idle: &[
            "sed -i 's/x/touch ran/' f",
            "sed 's/touch ran/x/g' f",
            "sed -n 1p f && echo touch ran",
        ],
    },
    Program {
        name: "awk",
        package: "mawk",
        is_present: || is_there("awk"),
        running: &[
            "awk 'BEGIN { system(\"touch ran\") }'",
            "awk 'BEGIN { \"touch ran\" | getline }'",
            "awk 'BEGIN { print 1 | \"touch ran\" }'",
            "echo 'BEGIN { system(\"touch ran\") }' | awk -f -",
        ],
        idle: &[
            "awk '/touch ran/ { print $2 }' f",
            "awk -F: '{ print $1 }' f; echo touch ran",
        ],
    },
    Program {
        name: "find",
        package: "findutils",
        is_present: || is_there("find"),
        running: &[
            "find . -maxdepth 0 -exec touch ran \\;",
            "find f -exec sh -c 'touch ran' \\;",
        ],
        idle: &[
            "find . -name 'touch ran'",
            "find . -name f && echo touch ran",
        ],
    },
    Program {
        name: "env",
        package: "coreutils",
        is_present: || is_there("env"),
        running: &[
            "env touch ran",
            "env -u X A=1 touch ran",
            "env -S 'touch ran'",
            "env -iS'touch ran'",
        ],
        idle: &["env A='x' true && echo touch ran"],
    },
    Program {
        name: "nice",
        package: "coreutils",
        is_present: || is_there("nice"),
        running: &[
            "nice touch ran",
            "nice -n 5 touch ran",
            "nice --adjustment=5 touch ran",
            "nice -5 touch ran",
        ],
        idle: &["nice true && echo touch ran"],
    },
    Program {
        name: "timeout",
        package: "coreutils",
        is_present: || is_there("timeout"),
        running: &[
            "timeout 5 touch ran",
            "timeout -s KILL 5s touch ran",
            "timeout --signal=KILL 5 touch ran",
        ],
        idle: &["timeout 5 true && echo touch ran"],
    },
    Program {
        name: "stdbuf",
        package: "coreutils",
        is_present: || is_there("stdbuf"),
        running: &["stdbuf -oL touch ran", "stdbuf -o L touch ran"],
        idle: &["stdbuf -oL true; echo touch ran"],
    },
    Program {
        name: "flock",
        package: "util-linux",
        is_present: || is_there("flock"),
        running: &["flock lock touch ran", "flock lock -c 'touch ran'"],
        idle: &["flock lock true; echo touch ran"],
    },
    Program {
        name: "setsid",
        package: "util-linux",
        is_present: || is_there("setsid"),
        running: &["setsid -w touch ran"],
        idle: &["setsid -w true; echo touch ran"],
    },
    Program {
        name: "ionice",
        package: "util-linux",
        is_present: || is_there("ionice"),
        running: &["ionice -c 3 touch ran"],
        idle: &["ionice -c 3 true; echo touch ran"],
    },
    Program {
        name: "script",
        package: "util-linux",
        is_present: || is_there("script"),
        running: &[
            "script -c 'touch ran' /dev/null",
            "script -qec'touch ran' /dev/null",
        ],
        idle: &["script -c true /dev/null; echo touch ran"],
    },
    Program {
        name: "make",
        package: "make",
        is_present: || is_there("make"),
        running: &[
            "make --eval='x:;touch ran' x",
            "printf 'x:\\n\\ttouch ran' | make -f -",
        ],
        idle: &[
            "make -f /dev/null x || echo touch ran",
            "make -f /dev/null x; printf '%s\\n' 'touch ran'",
        ],
    },
    Program {
        name: "tar",
        package: "tar",
        is_present: || is_there("tar"),
        running: &["tar cf x.tar --checkpoint=1 --checkpoint-action=exec='touch ran' f"],
        idle: &["tar cf x.tar f && echo touch ran"],
    },
    Program {
        name: "python3",
        package: "python3",
        is_present: || is_there("python3"),
        running: &[
            "python3 -c \"import os; os.system('touch ran')\"",
            "python3 - <<E\nimport os\nos.system('touch ran')\nE",
        ],
        idle: &["python3 -V; echo touch ran"],
    },
    Program {
        name: "perl",
        package: "perl",
        is_present: || is_there("perl"),
        running: &["perl -e 'system(\"touch ran\")'", "perl -e '`touch ran`'"],
        idle: &["perl -v; echo touch ran"],
    },
    Program {
        name: "npm",
        package: "npm",
        is_present: || is_there("npm"),
        running: &["npm exec -c 'touch ran'"],
        idle: &["npm run show -- touch ran"],
    },
];

pub(crate) fn cases() -> Vec<Case> {
    PROGRAMS
        .into_iter()
        .map(|program| {
            let need = Need::new(program.name, program.package, program.is_present);
            case(
                format!("programs::a_command_that_{}_runs_is_seen", program.name),
                move || compare(&program),
            )
            .needs(need)
        })
        .collect()
}

fn is_there(program: &str) -> bool {
    let ways = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&ways).any(|folder| folder.join(program).is_file())
}

fn compare(program: &Program) -> Outcome {
    let lines = program
        .running
        .iter()
        .map(|line| (line, true))
        .chain(program.idle.iter().map(|line| (line, false)));
    let mut wrong = Vec::new();
    for (line, runs) in lines {
        let (ran, is_denied) = (runs_in_a_folder(line)?, denies_touch(line)?);
        if ran != runs || is_denied != runs {
            wrong.push(format!("{line:?}: ran: {ran}, denied: {is_denied}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Runs a line in a folder of its own, and returns whether the command in it has run.
fn runs_in_a_folder(line: &str) -> Result<bool, libtest_mimic::Failed> {
    let folder = tempfile::tempdir()?;
    write_files(folder.path())?;
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder.path())
        .envs([
            ("HOME", folder.path().as_os_str()),
            ("SHELL", "/bin/sh".as_ref()),
        ])
        .envs([
            ("npm_config_update_notifier", "false"),
            ("npm_config_offline", "true"),
            ("GOFLAGS", "-mod=mod"),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    Ok(folder.path().join("ran").exists())
}

fn write_files(folder: &Path) -> std::io::Result<()> {
    std::fs::write(folder.join("f"), "x\n")?;
    std::fs::write(folder.join("x.go"), "package main\nfunc main() {}\n")?;
    std::fs::write(
        folder.join("package.json"),
        "{ \"scripts\": { \"show\": \"echo\" } }\n",
    )
}

fn denies_touch(line: &str) -> Result<bool, libtest_mimic::Failed> {
    let rule = RuleText::new(RuleDecision::Deny, "Bash(touch ran*)", "--deny");
    let mut names = ToolNames::default();
    names.add_alias("Bash", "run_shell_command");
    let policy = Policy::new(&[rule], &names).map_err(|errors| format!("{errors:?}"))?;
    let targets = [Target::Shell(line.to_owned())];
    let (tool, permission) = ("run_shell_command", Permission::CodeExecution);
    let question = Question {
        tool,
        permission,
        access: Access::Own,
        targets: &targets,
    };
    Ok(matches!(
        policy.decide(&Grant::of_tools(["run_shell_command"]), &question),
        Decision::Deny { .. }
    ))
}
