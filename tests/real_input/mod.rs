//! Real input: commands and agents change the code of a clone of this project, and the compiler
//! checks them.
//!
//! `examples/real-input` contains the plan, the replies of the model and the walk-through that
//! these tests record. The tests run the built program in the full tier, with the tests' own model
//! server and with a third-party one ([`aimock`]); `field` has a cargo workspace in both tiers.

mod aimock;
mod goal;
mod replies;
mod walkthrough;

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use orchestrate_sandbox::Confinement;

use crate::support::{
    Case, Home, ModelServer, Need, Outcome, Repository, Session, World, case, fail, require_words,
};
use replies::Replies;

/// The folder with the plan, the replies and the walk-through.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/real-input");

/// This project's git history, which is cloned.
const CLONE: Need = Need::new(
    "a git clone of this project",
    "git clone instead of unpacking an archive",
    || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let found = Repository::of_project().map(|found| found.canonicalize().ok());
        found.is_ok_and(|found| found == root.canonicalize().ok())
    },
);

pub(crate) fn cases() -> Vec<Case> {
    let name = |name: &str| format!("real_input::{name}");
    let mut cases = vec![
        case(
            name("this_project_is_changed_checked_reviewed_and_landed"),
            walk_through,
        )
        .needs(CLONE)
        .in_tier(Confinement::Full),
        case(
            name("the_walk_through_shows_what_is_tested"),
            walkthrough::shows_what_is_tested,
        ),
    ];
    for (tier, word) in [
        (Confinement::Full, "full"),
        (Confinement::Fallback, "fallback"),
    ] {
        let guard = name(&format!("toolchain_and_registry_are_read_only_{word}"));
        cases.push(case(guard, move || toolchain_and_registry_are_read_only(tier)).in_tier(tier));
    }
    cases.extend(aimock::cases());
    cases.extend(goal::cases());
    cases
}

/// Returns the text of a file in [`FOLDER`].
fn example(name: &str) -> Result<String, Failed> {
    fs::read_to_string(Path::new(FOLDER).join(name))
        .map_err(|error| Failed::from(format!("{name}: {error}")))
}

/// Starts a server that answers with the replies in [`FOLDER`].
fn answering() -> Result<ModelServer, Failed> {
    let replies = Replies::parse(&example("replies.json")?)?;
    ModelServer::answering(move |request, _| replies.answer(&request.body))
}

/// Returns the line in which a run reports its tier.
fn printed(tier: Confinement) -> String {
    format!("sandbox tier: {tier}\n")
}

/// Follows a user who clones this project and lets the program work on it.
fn walk_through() -> Outcome {
    let (home, clone, server) = (Home::new()?, Repository::clone_of_project()?, answering()?);
    let plan = example("plan.md")?;
    clone.write("plan.md", &plan)?;
    let mut session = Session::new(&home, clone.path(), Confinement::Full)?.with_models(&server);
    let [
        check,
        run,
        log,
        review,
        look,
        reject,
        mended,
        land,
        landed,
        undo,
        clean,
    ] = walkthrough::TYPED;

    session.types(check)?;
    let before = clone.fingerprint()?;
    require_words(
        &session.types(run)?,
        &[&printed(Confinement::Full), "succeeded in"],
    )?;
    let integration = clone.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/heads/orchestrate/*/integration",
    ])?;
    require_changes(&clone, &integration, "{} mb")?;
    require_came_back(&server, &session.types(log)?)?;
    for task in ["T1", "T2", "T3", "T4", "T5"] {
        require_compiled(&session.quietly(&format!("orchestrate log {task} --tools"))?)?;
    }

    require_words(&session.types(review)?, &["T5", "merged"])?;
    require_words(
        &session.types(look)?,
        &["+pub fn megabytes", "orchestrate reject T3"],
    )?;
    require_words(
        &session.types(reject)?,
        &[
            "T3: started @implementer with openai/local (attempt 2)",
            "succeeded in",
        ],
    )?;
    require_changes(&clone, &integration, "{} MB")?;
    require_compiled(&session.types(mended)?)?;
    before.require_same(&clone.fingerprint()?)?;

    let was = clone.git(&["rev-parse", "HEAD"])?;
    require_words(
        &session.types(land)?,
        &["has landed: main went from", "boxes"],
    )?;
    require_changes(&clone, "main", "{} MB")?;
    require_words(&session.types(landed)?, &["Merge T"])?;
    let added = "crates/files/src/words.rs";
    if clone.read(added)? != format!("{}\n", clone.show("main", added)?) {
        return fail("the checkout does not hold what has landed");
    }
    require_words(&session.types(undo)?, &["is undone"])?;
    let is_as_before = clone.git(&["rev-parse", "main"])? == was
        && clone.read("plan.md")? == plan
        && clone.git(&["status", "--porcelain"])? == "?? plan.md";
    assert!(is_as_before, "{}", clone.git(&["status"])?);
    session.types(clean)?;
    let left = clone
        .git(&["worktree", "list", "--porcelain"])?
        .matches("worktree ")
        .count();
    assert_eq!(left, 1, "{left} worktrees are left");
    walkthrough::record_if_asked(&session)
}

/// Requires that the changes of all tasks are in a commit.
fn require_changes(clone: &Repository, revision: &str, unit: &str) -> Outcome {
    let table = [
        ("locked.rs", "const TRIES: usize = 16;"),
        ("removal.rs", "const TRIES: usize = 32;"),
        ("lib.rs", "pub mod words;"),
        ("words.rs", unit),
        ("plain.rs", "Self::Below(folder) => Some(folder),"),
        (
            "temporary.rs",
            "pub fn name(&self) -> Option<&std::ffi::OsStr> {",
        ),
    ];
    for (file, words) in table {
        require_words(
            &clone.show(revision, &format!("crates/files/src/{file}"))?,
            &[words],
        )?;
    }
    Ok(())
}

/// Requires that the compiler's error about a changed line is in the log, and that it was sent to
/// the line's author.
fn require_came_back(server: &ModelServer, log: &str) -> Outcome {
    let place = "--> crates/files/src/plain.rs:";
    require_words(
        log,
        &[
            "error[E0308]: `match` arms have incompatible types",
            place,
            "Self::Below(folder) => folder,",
            "FAILED (exit code 101)",
        ],
    )?;
    let told = server.requests().iter().any(|request| {
        let newest = request.body["messages"]
            .as_array()
            .and_then(|messages| messages.last())
            .cloned();
        newest.is_some_and(|newest| newest["role"] == "user" && newest.to_string().contains(place))
    });
    assert!(told, "no request carries the compiler's complaint");
    Ok(())
}

/// Requires that a check compiled the crate.
fn require_compiled(log: &str) -> Outcome {
    let compiled = log.lines().any(|line| {
        let line = line.trim_start_matches([' ', '|']);
        line.starts_with("Checking orchestrate-files v") && line.ends_with("/crates/files)")
    });
    if compiled {
        require_words(
            log,
            &["Finished `dev` profile", "check of the merged tree passed"],
        )
    } else {
        fail(log)
    }
}

/// Tries to write into the toolchain and the registry, in homes that the test creates. Unconfined,
/// it succeeds.
fn toolchain_and_registry_are_read_only(tier: Confinement) -> Outcome {
    let world = World::plain()?;
    let folders = [
        "cargo/registry/src/index/crate-1.0.0",
        "cargo/registry/cache",
        "cargo/bin",
        "rustup/toolchains",
    ];
    let folders: Vec<PathBuf> = folders
        .iter()
        .map(|folder| world.home.path().join(folder))
        .collect();
    folders.iter().try_for_each(fs::create_dir_all)?;
    let plan = "- [ ] T1 Plant a file\n  - run: `for folder in \"$CARGO_HOME\"/registry/src/*/* \"$CARGO_HOME\"/registry/cache \
                \"$CARGO_HOME\"/bin \"$RUSTUP_HOME\"/toolchains; do test -d \"$folder\" || exit 1; \
                touch \"$folder/planted\" && echo wrote || echo refused; done`\n";
    world.repository.write("plan.md", plan)?;
    let mut session = Session::new(&world.home, world.repository.path(), tier)?
        .with_toolchain_below(world.home.path());
    let planted = || {
        folders
            .iter()
            .filter(|folder| folder.join("planted").exists())
            .count()
    };
    let said = |log: &str, word: &str| {
        log.lines()
            .filter(|line| line.trim_start_matches([' ', '|']) == word)
            .count()
    };

    require_words(
        &session.types("orchestrate run plan.md")?,
        &[&printed(tier)],
    )?;
    let log = session.types("orchestrate log --tools")?;
    if (planted(), said(&log, "refused"), said(&log, "wrote")) != (0, folders.len(), 0) {
        return fail(log);
    }
    session.types("orchestrate run plan.md --no-sandbox")?;
    let log = session.types("orchestrate log --tools")?;
    assert_eq!(
        (planted(), said(&log, "wrote")),
        (folders.len(), folders.len()),
        "{log}"
    );
    Ok(())
}
