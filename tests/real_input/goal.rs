//! A goal without a plan, against a third-party model server: its agent reads, divides the work
//! among two others, waits, looks at what they hand back, and answers; a user reviews and lands the
//! result.
//!
//! `examples/goal` has the replies and the page with what was typed and printed. Each run is
//! compared with the page.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use orchestrate_sandbox::Confinement;

use super::aimock::{AIMOCK, Aimock};
use crate::support::{
    Case, Home, Outcome, Repository, Session, case, fail, record_if_asked, recorded, require_typed,
    require_words, sandboxed, transcript,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/goal");
/// The sample project, without the plan and the replies of the demo.
const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/quickstart");
const FILES: [&str; 4] = ["README.md", "check.sh", "lib/upper.sh", "tests/upper.sh"];

/// The typed lines, in order.
const TYPED: [&str; 8] = [
    "orchestrate 'Extend textkit by words and reverse, each with a check and a row in the README' --verify 'sh check.sh'",
    "orchestrate log extend_textkit --tools",
    "orchestrate review",
    "orchestrate review extend_textkit",
    "orchestrate land",
    "git log --oneline --graph",
    "sh check.sh",
    "orchestrate clean",
];

pub(super) fn cases() -> Vec<Case> {
    vec![
        sandboxed!("real_input", a_goal_is_divided_reviewed_and_landed)
            .needs(AIMOCK)
            .in_tier(Confinement::Full),
        case(
            "real_input::the_page_of_the_goal_shows_what_is_tested",
            || require_typed(&page(), &TYPED),
        ),
    ]
}

fn page() -> PathBuf {
    Path::new(FOLDER).join("README.md")
}

fn a_goal_is_divided_reviewed_and_landed() -> Outcome {
    let (home, repository) = (Home::new()?, Repository::unborn()?);
    let server = Aimock::start(&Path::new(FOLDER).join("replies.json"))?;
    for file in FILES {
        repository.write(
            file,
            &std::fs::read_to_string(Path::new(PROJECT).join(file))?,
        )?;
    }
    repository.commit_all("Begin textkit")?;
    let before = repository.fingerprint()?;
    let mut session = Session::new(&home, repository.path(), Confinement::Full)?
        .with_variable("OPENAI_BASE_URL", &format!("http://{}/v1", server.address))
        .with_variable("OPENAI_API_KEY", "local")
        .with_variable("ORCHESTRATE_MODEL", "openai/local");
    let [goal, tools, review, look, land, history, check, clean] = TYPED;

    let ran = session.types(goal)?;
    require_words(
        &ran,
        &[
            "└─ write_function_reverse  merged ",
            "answer:\n  | `words` and `reverse` are there",
        ],
    )?;
    before.require_same(&repository.fingerprint()?)?;
    let no_conflicts = "no conflicts between these branches, or with yours";
    require_words(
        &session.types(tools)?,
        &["spawn_child_agent", "wait_for_agents", no_conflicts],
    )?;
    session.types(review)?;
    require_words(
        &session.types(look)?,
        &["+reverse() {", "+words() {", "orchestrate land"],
    )?;
    require_words(&session.types(land)?, &["has landed: main went from"])?;
    require_words(
        &session.types(history)?,
        &["Merge extend_textkit", "Write the function words"],
    )?;
    require_words(&session.types(check)?, &["all checks passed"])?;
    session.types(clean)?;

    let refused: Vec<_> = server
        .asked()?
        .into_iter()
        .filter(|(_, status)| *status != 200)
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
    let shown = transcript(&session, "~/textkit", trimmed);
    if record_if_asked(&page(), &shown)? {
        Ok(())
    } else {
        require_same(&shown, &recorded(&page())?)
    }
}

/// Removes the blanks at the ends of lines.
fn trimmed(shown: &str) -> String {
    shown
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// Requires that a walk printed what the page shows, apart from what differs between any two: ids,
/// times, and which of the two agents came first.
fn require_same(shown: &str, recorded: &str) -> Outcome {
    let [shown, recorded] = [stable(shown)?, stable(recorded)?];
    let missing: Vec<&String> = recorded
        .iter()
        .filter(|line| !shown.contains(line))
        .collect();
    let new: Vec<&String> = shown
        .iter()
        .filter(|line| !recorded.contains(line))
        .collect();
    if shown == recorded {
        return Ok(());
    }
    fail(format!(
        "the page shows {missing:#?} instead of {new:#?}; write it anew: `just record`"
    ))
}

/// Returns the lines in order, without the branches of a history and with neither hashes nor
/// numbers.
fn stable(text: &str) -> Result<Vec<String>, Failed> {
    let run = text
        .lines()
        .find_map(|line| line.strip_prefix("run "))
        .ok_or("no run has begun")?
        .to_owned();
    let mut lines: Vec<String> = text.replace(&run, "RUN").lines().map(stable_line).collect();
    lines.sort();
    Ok(lines)
}

fn stable_line(line: &str) -> String {
    let line = line.trim_start_matches(['*', '|', '\\', '/', ' ']);
    let words = line
        .split_inclusive(|c: char| !c.is_ascii_alphanumeric())
        .map(stable_word);
    let line = words.collect::<String>();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a word with the character that ends it, if there is one.
fn stable_word(word: &str) -> String {
    let (letters, end) = match word.char_indices().next_back() {
        Some((at, c)) if !c.is_ascii_alphanumeric() => word.split_at(at),
        _ => (word, ""),
    };
    let is_hash = letters.len() >= 7 && letters.chars().all(|c| c.is_ascii_hexdigit());
    if is_hash {
        return format!("#{end}");
    }
    let parts: Vec<&str> = letters.split(|c: char| c.is_ascii_digit()).collect();
    let numbered = parts.join("#");
    // Numbers differ in their length.
    let kept = numbered
        .split('#')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("#");
    let kept = if numbered.contains('#') {
        format!("#{kept}")
    } else {
        kept
    };
    format!("{kept}{end}")
}
