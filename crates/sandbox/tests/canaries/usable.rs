//! What must still work inside: shells, compilers, builds and git.

use std::process::{Command, Stdio};
use std::time::Duration;

use orchestrate_sandbox::{Exit, Job};

use crate::support::{Scene, Tested, unique_seconds};
use crate::{Body, Named};

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let all: Vec<Named> = vec![
        ("runs_pipes_and_substitutions", runs_pipes_and_substitutions),
        ("compiles_and_runs_c", compiles_and_runs_c),
        (
            "checks_and_runs_a_crate_offline",
            checks_and_runs_a_crate_offline,
        ),
        ("runs_git", runs_git),
        ("serves_itself", serves_itself),
        ("shares_memory_by_name", shares_memory_by_name),
        ("runs_pools_of_processes", runs_pools_of_processes),
    ];
    let bind = |(name, test): Named| {
        (
            format!("usable::{name}"),
            Box::new(move || test(&Scene::new(tested))) as Body,
        )
    };
    all.into_iter().map(bind).collect()
}

/// Returns the tool that a test needs and that is missing, with the way to install it.
pub(crate) fn missing_tool(test: &str) -> Option<&'static str> {
    let tools = [
        (
            "compiles_and_runs_c",
            "cc",
            "cc (apt install gcc libc6-dev)",
        ),
        (
            "checks_and_runs_a_crate_offline",
            "cargo",
            "cargo (https://rustup.rs)",
        ),
        ("runs_git", "git", "git (apt install git)"),
        (
            "runs_pools_of_processes",
            "python3",
            "python3 (apt install python3)",
        ),
        (
            "a_port_is_free_for_the_next_job",
            "python3",
            "python3 (apt install python3)",
        ),
        (
            "a_job_finds_no_segments_of_another",
            "ipcmk",
            "ipcmk (apt install util-linux)",
        ),
    ];
    let (_, tool, need) = tools.into_iter().find(|(name, ..)| test.ends_with(name))?;
    let works = Command::new(tool)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    (!works.is_ok_and(|status| status.success())).then_some(need)
}

fn runs_pipes_and_substitutions(scene: &Scene) {
    let job = scene.job(
        "bash",
        &[
            "-c",
            "cat <(echo a | tr a b) /dev/null; echo c > /dev/stderr; seq 3 | xargs echo",
        ],
    );
    let finished = scene.run(&job);
    assert_eq!(
        (
            finished.stdout.text().as_str(),
            finished.stderr.text().as_str()
        ),
        ("b\n1 2 3\n", "c\n")
    );
}

fn compiles_and_runs_c(scene: &Scene) {
    let source =
        "#include <pthread.h>\n#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n";
    std::fs::write(scene.root.path().join("main.c"), source).unwrap();
    assert_eq!(
        scene.says("cc -pthread -o program main.c && ./program"),
        (Exit::Code(0), "built\n".to_owned())
    );
}

/// The crate's dependency is in cargo's registry, because this crate itself depends on it.
fn checks_and_runs_a_crate_offline(scene: &Scene) {
    let root = scene.root.path();
    let manifest = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\nitoa = \"1\"\nlibc = \"0.2\"\n";
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(
        root.join("build.rs"),
        "fn main() { println!(\"cargo::rerun-if-changed=build.rs\"); }\n",
    )
    .unwrap();
    let main = "fn main() { println!(\"{}\", itoa::Buffer::new().format(unsafe { libc::getppid() } * 0 + 7)); }\n";
    std::fs::write(root.join("src/main.rs"), main).unwrap();
    let mut job: Job = scene.sh("cargo check --offline -q && cargo run --offline -q");
    job.limits.timeout = Duration::from_secs(110);
    let finished = scene.run(&job);
    assert_eq!(
        (finished.exit, finished.stdout.text()),
        (Exit::Code(0), "7\n".to_owned()),
        "{}",
        finished.stderr.text()
    );
    // A job does not rebuild what an earlier one has built: both see the registry at the same path.
    let again = scene.says(
        "touch src/main.rs && cargo check --offline 2>&1 | grep -c -E '(Checking|Compiling) '",
    );
    assert_eq!(again, (Exit::Code(0), "1\n".to_owned()));
}

fn serves_itself(scene: &Scene) {
    for name in ["own-servers", "own-local-servers"] {
        let (through, said) = scene.probe(&[name]);
        assert!(through, "{said}");
    }
}

fn shares_memory_by_name(scene: &Scene) {
    let name = format!("/canary-{}", unique_seconds());
    let (through, said) = scene.probe(&["named-memory", &name]);
    assert!(through, "{said}");
}

/// They need semaphores and shared memory with a name, and sockets with a path.
fn runs_pools_of_processes(scene: &Scene) {
    let script = "import multiprocessing as m\nfrom multiprocessing import shared_memory as s\n\
        def square(x): return x * x\n\
        if __name__ == '__main__':\n \
        with m.Pool(2) as pool: print(sum(pool.map(square, range(4))))\n \
        with m.Manager() as manager: print(manager.dict(a=1)['a'])\n \
        one = s.SharedMemory(create=True, size=8); one.buf[0] = 7\n \
        two = s.SharedMemory(name=one.name); print(two.buf[0])\n \
        two.close(); one.close(); one.unlink()\n";
    std::fs::write(scene.root.path().join("pool.py"), script).unwrap();
    let (exit, said) = scene.says("python3 -W ignore pool.py 2>err || cat err");
    assert_eq!((exit, said.as_str()), (Exit::Code(0), "14\n1\n7\n"));
}

fn runs_git(scene: &Scene) {
    let script = "git init -q . && echo a > f && git add f && \
                  git -c user.name=a -c user.email=a@b commit -qm m && git log --format=%s";
    let finished = scene.run(&scene.sh(script));
    assert_eq!(
        (finished.exit, finished.stdout.text()),
        (Exit::Code(0), "m\n".to_owned()),
        "{}",
        finished.stderr.text()
    );
}
