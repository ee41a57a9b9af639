//! The first plan on a user's own project, as `examples/own-project` shows it: a Python project of
//! pyenv.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use libtest_mimic::Failed;
use orchestrate_sandbox::Confinement;
use serde_json::{Value, json};

use crate::support::{
    Case, Home, ModelServer, Need, Outcome, Reply, Repository, Session, World, case, fail,
    record_if_asked, recorded, transcript, write_program,
};

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/examples/own-project/README.md"
);
/// The folder of pyenv with a program for each of its programs.
const SHIMS: &str = ".pyenv/shims";
const PLAN: &str = "# Words

- [ ] T1 Let `slug` drop punctuation (files: src/words/slug.py)
- [ ] T2 Add `shorten`, which cuts a text (files: src/words/shorten.py) (depends: T1)
";
const TYPED: [&str; 8] = [
    "cat plan.md",
    "orchestrate check plan.md",
    "orchestrate plan.md --verify '.venv/bin/python -m unittest discover -s tests'",
    "orchestrate review",
    "orchestrate reject T2 -m 'Cut at word boundaries.' --follow",
    "orchestrate land",
    "git log --oneline --first-parent -4",
    "orchestrate land --undo",
];

pub(super) fn cases() -> Vec<Case> {
    let name = "field::the_first_plan_on_a_project_is_as_shown";
    vec![
        case(name, first_plan)
            .needs(Need::PYTHON)
            .in_tier(Confinement::Full),
    ]
}

fn first_plan() -> Outcome {
    let world = World {
        home: Home::new()?,
        repository: Repository::unborn()?,
    };
    lay_out(&world)?;
    let server = ModelServer::answering(|request, _| answer(&request.body))?;
    let mut session = Session::new(&world.home, world.repository.path(), Confinement::Full)?
        .with_programs(SHIMS)
        .with_models(&server)
        .with_variable("ORCHESTRATE_MODEL", "openai/local");
    let before = world.repository.fingerprint()?;
    for line in TYPED {
        session.types(line)?;
    }
    before.require_same_bytes(&world.repository.fingerprint()?)?;
    let shown = transcript(&session, "~/words", str::to_owned);
    let page = PathBuf::from(PAGE);
    if record_if_asked(&page, &shown)? || timeless(&shown) == timeless(&recorded(&page)?) {
        return Ok(());
    }
    fail(format!(
        "the page differs (`just record` writes it anew) from\n{shown}"
    ))
}

/// Creates the project, with its editable install.
fn lay_out(world: &World) -> Outcome {
    let repository = &world.repository;
    repository.write("src/words/__init__.py", "")?;
    repository.write(
        "src/words/slug.py",
        "def slug(text):\n    return '-'.join(text.lower().split())\n",
    )?;
    repository.write(
        "tests/test_slug.py",
        "import unittest\nfrom words.slug import slug\n\n\nclass Slug(unittest.TestCase):\n    def test_words_are_joined(self):\n        \
         self.assertEqual(slug('One Two'), 'one-two')\n",
    )?;
    repository.write(".gitignore", ".venv/\n__pycache__/\n")?;
    repository.write(".worktreeinclude", ".venv/\n")?;
    repository.write("plan.md", PLAN)?;
    repository.commit_all("Start")?;
    let python = pyenv(world)?;
    world
        .home
        .command(
            &python,
            repository.path(),
            &["-m", "venv", "--without-pip", ".venv"],
        )
        .run()?
        .exits(0)?;
    let site = world
        .home
        .command(
            "sh",
            repository.path(),
            &["-c", "echo .venv/lib/*/site-packages"],
        )
        .run()?
        .stdout;
    repository.write(
        &format!("{}/_words.pth", site.trim_end()),
        &format!("{}/src\n", repository.path().display()),
    )
}

/// Puts the system's Python where pyenv keeps one, and returns its program.
fn pyenv(world: &World) -> Result<String, Failed> {
    let ask = [
        "-c",
        "import sys, os; print(os.path.realpath(sys.executable)); print(os.path.dirname(os.__file__))",
    ];
    let told = world
        .home
        .command("/usr/bin/python3", world.home.path(), &ask)
        .run()?
        .exits(0)?
        .stdout;
    let [program, library] =
        [0, 1].map(|at| PathBuf::from(told.lines().nth(at).unwrap_or_default()));
    let home = world.home.path().join("home");
    let version = home.join(".pyenv/versions/project");
    for folder in [version.join("bin"), version.join("lib"), home.join(SHIMS)] {
        std::fs::create_dir_all(folder)?;
    }
    let copy = version.join("bin/python3");
    std::fs::copy(&program, &copy)?;
    symlink(
        &library,
        version
            .join("lib")
            .join(library.file_name().unwrap_or_default()),
    )?;
    let shim = home.join(SHIMS).join("python3");
    write_program(
        &shim,
        &format!("#!/bin/sh\nexec '{}' \"$@\"\n", copy.display()),
    )?;
    Ok(shim.display().to_string())
}

/// Answers as the model: the first try of T1 breaks the project's test.
fn answer(body: &Value) -> Reply {
    let messages = body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let turn = messages
        .iter()
        .filter(|message| message["role"] == "assistant")
        .count();
    let is_first = !messages.iter().any(|message| {
        message["content"]
            .to_string()
            .contains("Done before this task")
    });
    let edit =
        |old: &str, new: &str| json!({ "path": "src/words/slug.py", "old": old, "new": new });
    let shorten = |cut: &str| json!({ "path": "src/words/shorten.py", "content": format!("def shorten(text, length):\n    return {cut}\n") });
    let reply = Reply::text("");
    match (is_first, turn) {
        (true, 0) => reply
            .call(
                "update_file",
                edit("text.lower().split()", "re.findall('[A-Za-z]+', text)"),
            )
            .call("update_file", edit("def slug", "import re\n\n\ndef slug")),
        (true, 2) => reply.call("update_file", edit(", text)", ", text.lower())")),
        (false, 0) => reply.call("write_file", shorten("text[:length]")),
        (false, 2) => reply.call("write_file", shorten("text[:length + 1].rsplit(' ', 1)[0]")),
        _ => Reply::text("Done; the tests of the project cover it."),
    }
}

/// Replaces what differs between two runs: ids, commits, times and the day of the prices.
fn timeless(text: &str) -> String {
    let is_changing = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_hex = word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_number =
            word.bytes().any(|byte| byte.is_ascii_digit()) && !word.contains(char::is_alphabetic);
        is_hex || word.starts_with("r-") || is_number
    };
    let separators = |c: char| c.is_whitespace() || c == '/';
    let words = text.split(separators).filter(|word| !word.is_empty());
    words
        .map(|word| if is_changing(word) { "…" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}
