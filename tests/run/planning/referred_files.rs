//! Projects whose commits only refer to files: submodules, files of Git LFS and partial clones.

use libtest_mimic::Failed;
use orchestrate_coordinator::ConfinementChoice;
use orchestrate_core::TaskState::{Failed as FailedTask, Merged};
use orchestrate_sandbox::Confinement;

use crate::support::{Case, Outcome, Repository, Script, World, case, git, require_words};

const LARGE: &str = "a content that is much longer than the pointer which a commit has of it; ";
/// The SHA-256 of six times the above and a newline, 439 bytes.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:c163d531bd2b400388e92ff2fb02ff262ed929d9cbe5ea9eef0f2e687bb8cc0f\nsize 439\n";
const OBJECT: &str =
    ".git/lfs/objects/c1/63/c163d531bd2b400388e92ff2fb02ff262ed929d9cbe5ea9eef0f2e687bb8cc0f";

pub(crate) fn cases() -> Vec<Case> {
    let in_tier = |word, tier| {
        let name = format!("referred_files::a_change_of_them_fails_its_task_alone_{word}");
        case(name, move || a_change_of_them_fails_its_task_alone(tier)).in_tier(tier)
    };
    vec![
        in_tier("full", Confinement::Full),
        in_tier("fallback", Confinement::Fallback),
        case!(a_run_fetches_what_its_base_lacks),
    ]
}

/// Creates a project with the submodule `sub` and the file `large.bin` of Git LFS.
fn project() -> Result<World, Failed> {
    let (world, inner) = (World::plain()?, Repository::plain()?);
    let repository = &world.repository;
    inner.write("lib.txt", "from the submodule\n")?;
    inner.commit_all("Add a library")?;
    let allowed = ["-c", "protocol.file.allow=always", "submodule", "add", "-q"];
    repository.git(&[&allowed[..], &[&inner.path().display().to_string(), "sub"]].concat())?;
    repository.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    )?;
    repository.write("large.bin", POINTER)?;
    repository.commit_all("Refer to other files")?;
    repository.write(OBJECT, &format!("{}\n", LARGE.repeat(6)))?;
    Ok(world)
}

fn a_change_of_them_fails_its_task_alone(tier: Confinement) -> Outcome {
    let world = project()?;
    let plan = "- [ ] T1 read (run: cat sub/lib.txt > seen.txt; head -c 9 large.bin >> seen.txt)\n\
                - [ ] T2 change the submodule (run: echo mine > sub/lib.txt)\n\
                - [ ] T3 change the large file (run: echo mine > large.bin)\n";
    let played = world.play(plan, &Script::default(), |settings| {
        settings.confinement = ConfinementChoice::Exactly(tier);
        // The merged result is checked with the same files.
        settings.run.verify =
            Some("grep -q submodule sub/lib.txt && test $(wc -c < large.bin) = 439".to_owned());
        settings.run.verify_base = true;
    })?;
    played.require(1, &[("T1", Merged), ("T2", FailedTask), ("T3", FailedTask)])?;
    let seen = world.merged(&played.report, "seen.txt")?;
    let large = world.merged(&played.report, "large.bin")?;
    assert_eq!(seen, "from the submodule\na content", "{large:?}");
    assert_eq!(large, POINTER.trim_end(), "{seen:?}");
    Ok(())
}

/// The clone has neither a checkout nor the files of its commit; the program says that it fetches
/// them.
fn a_run_fetches_what_its_base_lacks() -> Outcome {
    let world = World::plain()?;
    let (origin, clone) = (world.repository.path(), world.home.path().join("clone"));
    git(origin, &["config", "uploadpack.allowFilter", "true"])?;
    let from = format!("file://{}", origin.display());
    let arguments = [
        "clone",
        "-q",
        "--no-checkout",
        "--filter=blob:none",
        &from,
        &clone.display().to_string(),
    ];
    git(world.home.path(), &arguments)?;
    git(&clone, &["config", "user.name", "Test"])?;
    git(&clone, &["config", "user.email", "test@example.invalid"])?;
    std::fs::write(
        world.home.path().join("plan.md"),
        "- [ ] T1 one (run: touch one.txt)\n",
    )?;
    let plan = world.file("plan.md");
    let checked = world.home.orchestrate(&clone, &["doctor"]).run()?;
    require_words(
        &(checked.stdout + &checked.stderr),
        &["of this partial clone", "not here yet"],
    )?;
    let ran = world
        .home
        .orchestrate(&clone, &["run", &plan])
        .run()?
        .exits(0)?;
    require_words(&ran.stderr, &["fetching ", "that this partial clone lacks"])
}
