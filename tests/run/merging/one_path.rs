//! An agent's worktree at the path of the user's checkout: what its commands, checks and setups
//! find there, wherever the checkout is and however it was reached.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use libtest_mimic::Failed;
use orchestrate_coordinator::{Archive, CleanOptions, ConfinementChoice, Settings};
use orchestrate_sandbox::Confinement;

use crate::support::{Case, Need, Outcome, Script, World, block_on, case, git, require_words};

/// Go, whose builds record the commit that they were made of.
const GO: Need = Need::new("go", "apt install golang", || {
    Need::starts("go", &["version"])
});

/// What a command sees, in `seen.txt`: where it is, what is hidden, and what git says.
const LOOK: &str = "(pwd; cat theirs.txt; ls -A | grep -v -x seen.txt; git status --short; git log -1 --format=%s; \
                    git describe --always; git diff --stat HEAD) > seen.txt 2>&1; true";

pub(crate) fn cases() -> Vec<Case> {
    type MakesPlace = fn() -> Result<Place, Failed>;
    let places: [(&str, MakesPlace); 4] = [
        ("the checkout", the_checkout),
        ("a subfolder", a_subfolder),
        ("a linked worktree", a_linked_worktree),
        ("a link", a_link),
    ];
    let places = places.map(|(word, place)| {
        case(
            format!("one_path::commands_run_where_the_users_do (from {word})"),
            move || seen_from(place),
        )
    });
    let others = [
        case!(a_checkout_that_is_the_home_is_hidden_too),
        case!(recorded_paths_lead_to_the_agents_files),
        case!(a_build_of_the_base_is_current_for_an_agent).needs(Need::MAKE),
        case!(a_build_of_go_records_its_commit).needs(GO),
    ];
    let tiers = [
        (Confinement::Full, "full"),
        (Confinement::Fallback, "fallback"),
    ];
    let served = tiers.map(|(tier, word)| {
        let name = format!("one_path::a_server_that_hides_dotted_folders_passes ({word})");
        case(name, move || serves(tier))
            .in_tier(tier)
            .needs(Need::PYTHON)
    });
    let in_full = places
        .into_iter()
        .chain(others)
        .map(|case| case.in_tier(Confinement::Full));
    let visible = case!(a_worktree_that_is_not_mounted_is_visible).in_tier(Confinement::Fallback);
    in_full.chain(served).chain([visible]).collect()
}

/// Where a user starts a run.
struct Place {
    world: World,
    /// The folder that it is started in.
    start: PathBuf,
    /// The checkout that this is in.
    checkout: PathBuf,
}

/// Returns a checkout with a file that is in no commit.
fn the_checkout() -> Result<Place, Failed> {
    let world = World::lived_in()?;
    world.repository.write("theirs.txt", "the user's\n")?;
    let checkout = world.repository.path().to_owned();
    Ok(Place {
        start: checkout.clone(),
        checkout,
        world,
    })
}

fn a_subfolder() -> Result<Place, Failed> {
    let place = the_checkout()?;
    Ok(Place {
        start: place.checkout.join("src"),
        ..place
    })
}

fn a_link() -> Result<Place, Failed> {
    let place = the_checkout()?;
    let link = PathBuf::from(place.world.file("link"));
    symlink(&place.checkout, &link)?;
    Ok(Place {
        start: link.join("src"),
        ..place
    })
}

fn a_linked_worktree() -> Result<Place, Failed> {
    let Place { world, .. } = the_checkout()?;
    let linked = PathBuf::from(world.file("linked"));
    world.git(&format!("worktree add -q {} other", linked.display()))?;
    let checkout = linked.canonicalize()?;
    std::fs::write(checkout.join("theirs.txt"), "the user's\n")?;
    Ok(Place {
        start: linked,
        checkout,
        world,
    })
}

fn seen_from(place: fn() -> Result<Place, Failed>) -> Outcome {
    let Place {
        world,
        start,
        checkout,
    } = place()?;
    let before = world.repository.fingerprint()?;
    let plan = world.write("plan.md", &format!("- [ ] T1 look (run: {LOOK})\n"))?;
    let ran = world
        .home
        .orchestrate(&start, &["run", &plan])
        .run()?
        .exits(0)?;
    before.require_same(&world.repository.fingerprint()?)?;
    let branch = world.git("for-each-ref --format=%(refname) refs/heads/orchestrate/*/T1")?;
    let seen = world.repository.show(&branch, "seen.txt")?;
    let base = git(&checkout, &["log", "-1", "--format=%s"])?;
    let files = git(&checkout, &["ls-tree", "--name-only", "HEAD"])?;
    let described = git(&checkout, &["describe", "--always"])?;
    let listed: Vec<String> = [".git", "seen.txt"]
        .into_iter()
        .chain(files.lines())
        .map(str::to_owned)
        .collect();
    let names: Vec<&str> = seen
        .lines()
        .filter(|line| listed.iter().any(|name| name == line))
        .collect();
    let is_there = seen.starts_with(&format!("{}\n", checkout.display()));
    let is_hidden =
        seen.contains("theirs.txt: No such file") && names.len() == files.lines().count() + 1;
    let is_told = seen.ends_with(&format!("?? seen.txt\n{base}\n{described}"));
    assert!(is_there && is_hidden && is_told, "{seen}\n{}", ran.stdout);
    Ok(())
}

/// The toolchains below the home stay where they are, and the job's own home is elsewhere, so that
/// nothing that programs write there becomes work.
fn a_checkout_that_is_the_home_is_hidden_too() -> Outcome {
    let world = World::plain()?;
    let home = world.repository.path();
    for (name, text) in [
        (".cargo/registry/shown", "shown\n"),
        (".ssh/id", "secret\n"),
        (".cargo/credentials", "token\n"),
    ] {
        world.repository.write(name, text)?;
    }
    let look = "(pwd; ls -A .; cat .ssh/id .cargo/credentials; cat .cargo/registry/shown; touch ~/new; ls ~) > seen.txt 2>&1; true";
    let plan = world.write("plan.md", &format!("- [ ] T1 look (run: {look})\n"))?;
    let before = world.repository.fingerprint()?;
    world
        .orchestrate(&["run", &plan])
        .env("HOME", home)
        .run()?
        .exits(0)?;
    before.require_same(&world.repository.fingerprint()?)?;
    let branch = world.git("for-each-ref --format=%(refname) refs/heads/orchestrate/*/T1")?;
    let seen = world.repository.show(&branch, "seen.txt")?;
    let shown = [
        "README.md",
        "shown",
        ".ssh/id: No such file",
        ".cargo/credentials: No such file",
        "new",
    ];
    require_words(&seen, &shown)?;
    let changed = world.git(&format!("diff --name-only HEAD {branch}"))?;
    let is_right = seen.starts_with(&format!("{}\n", home.display())) && changed == "seen.txt";
    assert!(is_right && !seen.contains("secret"), "{seen}\n{changed}");
    Ok(())
}

/// What the setup makes in ignored files records where it was made, as virtual environments,
/// packages that are linked and builds do. It leads to the files of whoever uses it.
fn recorded_paths_lead_to_the_agents_files() -> Outcome {
    let world = World::plain()?;
    world.repository.write(".gitignore", "out/\n")?;
    world.repository.write("data.txt", "of the base\n")?;
    world.repository.commit_all("Add data")?;
    // The user's own, which must not be read.
    world.repository.write("data.txt", "of the user\n")?;
    let setup = "mkdir -p out && printf '#!/bin/sh\\ncat \"%s/data.txt\"\\n' \"$PWD\" > out/tool && chmod +x out/tool && \
                 ln -sf \"$PWD/data.txt\" out/link";
    let plan = "- [ ] T1 change (run: echo of T1 > data.txt; (out/tool; cat out/link; cat data.txt) > seen.txt)\n";
    let verify = "test \"$(out/tool)\" = \"$(cat data.txt)\" && ! grep -q user data.txt out/link";
    let played = world.play(plan, &Script::default(), |settings| {
        settings.confinement = ConfinementChoice::Exactly(Confinement::Full);
        settings.run.worktree_setup = Some(setup.to_owned());
        settings.run.verify = Some(verify.to_owned());
        settings.run.verify_base = true;
    })?;
    played.require_merged(&["T1"])?;
    let seen = world.merged(&played.report, "seen.txt")?;
    assert_eq!(seen, "of T1\nof T1\nof T1");
    Ok(())
}

/// Make compares times: what the setup has built is current for sources that are the same, and for
/// no other.
fn a_build_of_the_base_is_current_for_an_agent() -> Outcome {
    let world = World::plain()?;
    world.repository.write(".gitignore", "out/\n")?;
    for name in ["a", "b"] {
        world.repository.write(&format!("src/{name}.in"), "1\n")?;
    }
    // As a build script that puts the commit's name into a program follows HEAD.
    let rule = "out/%: src/%.in $(shell git rev-parse --git-path HEAD)\n\t@mkdir -p out; cp $< $@; echo made $@\n\
                all: out/a out/b\n";
    world.commit("Makefile", rule)?;
    let plan = "- [ ] T1 build (run: make all > one.txt; echo 2 > src/b.in; make all > two.txt)\n";
    let played = world.play(plan, &Script::default(), |settings| {
        settings.confinement = ConfinementChoice::Exactly(Confinement::Full);
        settings.run.worktree_setup = Some("make all".to_owned());
    })?;
    played.require_merged(&["T1"])?;
    let seen = ["one.txt", "two.txt"].map(|file| world.merged(&played.report, file));
    let [one, two] = seen;
    let (one, two) = (one?, two?);
    assert_eq!(one, "make: Nothing to be done for 'all'.", "{two}");
    assert_eq!(two, "made out/b", "{one}");
    Ok(())
}

/// A server of files as many are: what is in a folder whose name begins with a dot does not exist
/// for it.
const SERVER: &str = "import os\n\ndef send(path):\n    parts = os.path.realpath(path).split(os.sep)\n    \
                      if any(part.startswith('.') for part in parts):\n        return 404, b''\n    \
                      with open(path, 'rb') as file:\n        return 200, file.read()\n";
/// Its own suite.
const SUITE: &str = "import os, unittest, server\n\nHERE = os.path.dirname(os.path.abspath(__file__))\n\n\
                     class Serving(unittest.TestCase):\n    def test_a_file_is_sent(self):\n        \
                     self.assertEqual(server.send(os.path.join(HERE, 'page.html')), (200, b'page\\n'))\n\n    \
                     def test_a_hidden_one_is_not(self):\n        \
                     self.assertEqual(server.send(os.path.join(HERE, '.hidden'))[0], 404)\n";

/// The state folder is where it usually is: below one whose name begins with a dot.
fn serves(tier: Confinement) -> Outcome {
    let world = World::plain()?;
    for (name, text) in [
        ("server.py", SERVER),
        ("suite.py", SUITE),
        ("page.html", "page\n"),
        (".hidden", "secret\n"),
    ] {
        world.repository.write(name, text)?;
    }
    world.repository.commit_all("Serve")?;
    let test = "/usr/bin/python3 -B -m unittest suite";
    let played = world.play(
        &format!("- [ ] T1 test (run: {test} && touch tested)\n"),
        &Script::default(),
        |settings| {
            settings.state_dir = world.home.path().join(".local/state/orchestrate");
            settings.confinement = ConfinementChoice::Exactly(tier);
            settings.run.verify = Some(test.to_owned());
            settings.run.verify_base = true;
        },
    )?;
    played.require_merged(&["T1"])?;
    // The control: the same suite, below a folder whose name begins with a dot.
    let hidden = world.home.path().join(".hidden/T1");
    std::fs::create_dir_all(&hidden)?;
    for name in ["server.py", "suite.py", "page.html", ".hidden"] {
        std::fs::copy(world.repository.path().join(name), hidden.join(name))?;
    }
    let control = world
        .home
        .command(
            "/usr/bin/python3",
            &hidden,
            &["-B", "-m", "unittest", "suite"],
        )
        .run()?;
    assert_ne!(control.code, 0, "the control serves what is hidden");
    Ok(())
}

/// It is in the home, and gone with everything above it once its run is cleaned.
fn a_worktree_that_is_not_mounted_is_visible() -> Outcome {
    let world = World::plain()?;
    let state = world.home.path().join(".local/state/orchestrate");
    let played = world.play(
        "- [ ] T1 look (run: pwd > seen.txt)\n",
        &Script::default(),
        |settings| {
            settings.state_dir = state.clone();
            settings.confinement = ConfinementChoice::Exactly(Confinement::Fallback);
        },
    )?;
    played.require_merged(&["T1"])?;
    let seen = PathBuf::from(world.merged(&played.report, "seen.txt")?);
    let folder = world
        .home
        .path()
        .canonicalize()?
        .join("orchestrate-worktrees");
    assert!(seen.starts_with(&folder), "{}", seen.display());
    assert!(seen.ends_with("T1"), "{}", seen.display());
    let run = played.report.run_id.clone();
    let link = state
        .join("repos")
        .join(played.coordinator.repo().id())
        .join("runs")
        .join(run.as_str());
    let led = link.read_link()?;
    drop(played);
    let archive = Archive::open(world.repository.path(), Settings::new(&state))?;
    block_on(archive.clean(&run, CleanOptions::default()))?;
    let left: Vec<_> = [led, link, seen]
        .into_iter()
        .filter(|path| path.symlink_metadata().is_ok())
        .collect();
    assert!(left.is_empty(), "{left:?}");
    Ok(())
}

fn a_build_of_go_records_its_commit() -> Outcome {
    let world = World::plain()?;
    world.repository.write(".gitignore", "out/\n")?;
    world
        .repository
        .write("go.mod", "module example.invalid/m\n\ngo 1.18\n")?;
    world
        .repository
        .write("main.go", "package main\n\nfunc main() {}\n")?;
    let commit = world.repository.commit_all("Program")?;
    let build =
        "GOCACHE=/tmp/cache go build -o out/m . && go version -m out/m | grep vcs > seen.txt";
    let played = world.play(
        &format!("- [ ] T1 build (run: {build})\n"),
        &Script::default(),
        |settings| {
            settings.confinement = ConfinementChoice::Exactly(Confinement::Full);
        },
    )?;
    played.require_merged(&["T1"])?;
    let seen = world.merged(&played.report, "seen.txt")?;
    require_words(
        &seen,
        &[&format!("vcs.revision={commit}"), "vcs.modified=false"],
    )
}
