//! A result with a new dependency is checked with that dependency, as the registry has it, and so
//! is later work.

use serde_json::json;

use super::{
    Registry, SETTINGS, Step, full, install, instead_of_crates_io, npmrc, put_crate,
    put_package_of_npm, run, shell, world,
};
use crate::support::{Case, Need, Outcome, World};

pub(super) fn cases() -> Vec<Case> {
    vec![
        full("a_result_is_checked_with_its_new_package_of_npm", of_npm).needs(Need::NPM),
        full("a_result_is_checked_with_its_new_crate", of_cargo),
        full(
            "a_registry_that_serves_another_package_later_reaches_nobody",
            another_package_later,
        )
        .needs(Need::NPM),
    ]
}

/// A check that passes on the base, and then needs the package to be what the registry has.
const CHECK: &str = "if (require('greeting') !== 'hello') process.exit(1)\n";

/// Writes a file that the agent has not read.
fn overwrite(path: &str, content: &str) -> Step {
    shell(&format!("cat > {path} <<'END'\n{content}END"), "")
}

/// Creates a project of npm whose setup installs what its lock file lists.
fn world_of_npm(registry: &Registry) -> Result<World, libtest_mimic::Failed> {
    let world = world(&[
        (
            "package.json",
            "{\"name\": \"own\", \"version\": \"1.0.0\"}\n",
        ),
        (
            "package-lock.json",
            "{\"name\": \"own\", \"version\": \"1.0.0\", \"lockfileVersion\": 3, \"requires\": true,\n\"packages\": {\"\": \
             {\"name\": \"own\", \"version\": \"1.0.0\"}}}\n",
        ),
        (".npmrc", &npmrc(registry)),
        (".gitignore", "node_modules/\n"),
        ("check.js", ""),
        (
            "orchestrate.toml",
            "verify = 'node check.js'\n[worktree]\nsetup = 'npm ci --ignore-scripts --no-audit'\n",
        ),
        (
            "plan.md",
            "- [ ] T1 Build (agent: builder)\n- [ ] T2 Look (run: node check.js && touch two.txt) (depends: T1)\n",
        ),
    ])?;
    world.types(&["config", "trust", "--yes"], 0)?;
    Ok(world)
}

/// Plays both tasks, and requires that their results are green.
fn require_green(world: &World, steps: &[Step]) -> Outcome {
    let (code, said) = run(world, SETTINGS, &[], steps)?;
    let has = |file: &str| world.repository.read(file).is_ok();
    assert!(code == 0 && has("seen.txt") && has("two.txt"), "{said}");
    Ok(())
}

fn of_npm() -> Outcome {
    let registry = Registry::start()?;
    put_package_of_npm(&registry, "greeting", None)?;
    let world = world_of_npm(&registry)?;
    let steps = [
        install("greeting", "finds the downloaded packages"),
        overwrite("check.js", CHECK),
        shell("touch \"$npm_config_cache/x\" 2>&1 || echo kept", "kept"),
        // What an agent does to its own copy is not what its result is checked with.
        shell(
            "echo \"module.exports = 'evil'\" > node_modules/greeting/index.js; node check.js || echo red",
            "red",
        ),
    ];
    require_green(&world, &steps)
}

/// Whoever installs from the lock file gets what it names, or nothing.
fn another_package_later() -> Outcome {
    let registry = Registry::start()?;
    put_package_of_npm(&registry, "greeting", None)?;
    let world = world_of_npm(&registry)?;
    let lock = world.repository.read("package-lock.json")?;
    let entry = json!({"version": "1.0.0", "integrity": format!("sha512-{}==", "A".repeat(86))});
    let wants = "\"dependencies\": {\"greeting\": \"^1.0.0\"}";
    let forged = lock.replace(
        "{\"\": {",
        &format!("{{\"node_modules/greeting\": {entry}, \"\": {{{wants}, "),
    );
    let steps = [
        install("greeting", "finds the downloaded packages"),
        // As if the registry had served another package to the agent.
        overwrite("package-lock.json", &forged),
        overwrite("check.js", CHECK),
    ];
    let (code, said) = run(&world, SETTINGS, &[], &steps)?;
    assert_ne!(code, 0, "{said}");
    assert!(said.contains("npm error code ENOTCACHED"), "{said}");
    Ok(())
}

fn of_cargo() -> Outcome {
    let registry = Registry::start()?;
    put_crate(&registry)?;
    let source = instead_of_crates_io(&registry);
    let world = world(&[
        (
            "Cargo.toml",
            "[package]\nname = \"own\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        (".cargo/config.toml", &source),
        (".gitignore", "/target\n"),
        ("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n"),
        (
            "orchestrate.toml",
            "verify = 'cargo run --quiet | grep hello'\n",
        ),
        (
            "plan.md",
            "- [ ] T1 Build (agent: builder)\n- [ ] T2 Look (run: cargo run -q && touch two.txt) (depends: T1)\n",
        ),
    ])?;
    world.types(&["config", "trust", "--yes"], 0)?;
    let steps = [
        install("greeting", "and later agents, have the package as well"),
        overwrite(
            "src/main.rs",
            "fn main() {\n    println!(\"{}\", greeting::WORD);\n}\n",
        ),
        shell("touch .package-cache/x && ls .package-cache", "cargo"),
    ];
    require_green(&world, &steps)
}
