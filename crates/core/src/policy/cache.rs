//! What may be replayed from the cache, and under which key.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::policy::cache_mode::UnknownWord;
use crate::policy::decision;
use crate::text::hex;

/// The agent of a key if nothing names one.
const NO_AGENT: &str = "local";
/// The commit of a key outside a repository.
pub const NO_COMMIT: &str = "unknown";
/// The digits of a hash that stand in a key.
const DIGITS: usize = 16;
/// How a line of an open task begins in a plan.
const OPEN_TASK: &str = "- [ ]";
/// How an exception for calls with a key begins in a list.
const KEYED: &str = "keyed:";
/// The list that is shipped.
const SHIPPED: &str = include_str!("../../config/non_cacheable_tools.txt");

/// The phase of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// The loop plans; it changes nothing but the plan.
    Plan,
    /// The loop works on the plan's tasks.
    #[default]
    Build,
}

impl FromStr for Phase {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "plan" => Ok(Phase::Plan),
            "build" => Ok(Phase::Build),
            _ => Err(UnknownWord {
                text: text.to_owned(),
                known: "plan, build",
            }),
        }
    }
}

impl Display for Phase {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Plan => "plan",
            Phase::Build => "build",
        })
    }
}

/// The key of a result: `agent|phase|hash|commit`, or what the caller gave. Never depends on a turn
/// or an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheKey(String);

impl CacheKey {
    /// Creates the key of a content, given by its hash.
    pub fn new(agent: &str, phase: Phase, content: &ContentHash, commit: &str) -> CacheKey {
        let digits: String = content.0.chars().take(DIGITS).collect();
        CacheKey(format!("{agent}|{phase}|{digits}|{commit}"))
    }

    /// Takes over a key that the caller made.
    pub fn given(text: impl Into<String>) -> CacheKey {
        CacheKey(text.into())
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the agent of a key, in lower case: the first of these names that is set.
pub fn agent_name(names: [Option<&str>; 3]) -> String {
    let set = names
        .into_iter()
        .flatten()
        .map(str::trim)
        .find(|name| !name.is_empty());
    set.unwrap_or(NO_AGENT).to_lowercase()
}

/// The SHA-256 of what a result depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentHash(String);

impl ContentHash {
    /// Returns the hash in hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Hashes the content of one file as it is.
    pub fn of_file(content: &[u8]) -> ContentHash {
        ContentHash(hex(&Sha256::digest(content)))
    }

    /// Hashes parts such that no other parts have the same hash.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> ContentHash {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        ContentHash(hex(&hash.finalize()))
    }
}

/// Reports whether the guard forbids to replay anything: the loop builds, and a line of its plan
/// begins with an open box, so that a replay would pretend that work was done.
pub fn has_pending_tasks(phase: Phase, plan: &str) -> bool {
    let plan = plan.strip_prefix('\u{feff}').unwrap_or(plan);
    phase == Phase::Build
        && plan
            .split(['\n', '\r'])
            .any(|line| line.starts_with(OPEN_TASK))
}

/// The lists of what is never replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonCacheable {
    entries: Vec<String>,
    keyed: Vec<String>,
}

/// A call, as the lists judge it.
#[derive(Clone, Copy, Debug)]
pub struct CachedCall<'a> {
    /// The name of its tool.
    pub tool: &'a str,
    /// Its command, as a shell reads it; empty if it has none.
    pub command: &'a str,
    /// Whether it names what it depends on, by a key or a file.
    pub is_keyed: bool,
}

impl NonCacheable {
    /// Parses the shipped list.
    pub fn shipped() -> NonCacheable {
        let mut lists = NonCacheable {
            entries: Vec::new(),
            keyed: Vec::new(),
        };
        lists.add(SHIPPED);
        lists
    }

    /// Adds the user's list.
    pub fn add(&mut self, list: &str) {
        for line in entries(list) {
            match line.strip_prefix(KEYED) {
                Some(words) => self.keyed.push(words.trim().to_owned()),
                None => self.entries.push(line.to_owned()),
            }
        }
    }

    /// Adds a project's list, which can make no exceptions; returns the lines that have no effect.
    pub fn add_of_project(&mut self, list: &str) -> Vec<String> {
        let (exceptions, others): (Vec<&str>, Vec<&str>) =
            entries(list).partition(|line| line.starts_with(KEYED));
        self.entries.extend(others.into_iter().map(str::to_owned));
        exceptions.into_iter().map(str::to_owned).collect()
    }

    /// Returns the entry because of which a call is never replayed.
    ///
    /// A command is read as loosely as a rule that denies: what cannot be understood counts as what
    /// an entry names.
    pub fn entry_for(&self, call: CachedCall<'_>) -> Option<&str> {
        let is_exempt =
            |entry: &str| call.is_keyed && self.keyed.iter().any(|keyed| keyed == entry);
        let runs = decision::runs(call.command);
        let names = |entry: &str| entry == call.tool || !call.command.is_empty() && runs(entry);
        self.entries
            .iter()
            .map(String::as_str)
            .find(|entry| names(entry) && !is_exempt(entry))
    }
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    let lines = list
        .lines()
        .map(|line| line.split_once('#').map_or(line, |(line, _)| line).trim());
    lines.filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_of_content_and_never_of_a_turn() {
        let prompt = ContentHash::of_file(b"hello\n");
        let agent = agent_name([None, Some(" "), Some("RovoDev")]);
        let key = CacheKey::new(&agent, Phase::Build, &prompt, "1a2b3c4");
        assert_eq!(key.as_str(), "rovodev|build|5891b5b522d5df08|1a2b3c4");
        let unnamed = CacheKey::new(&agent_name([None; 3]), Phase::Plan, &prompt, NO_COMMIT);
        assert_eq!(unnamed.as_str(), "local|plan|5891b5b522d5df08|unknown");
        assert_ne!(
            ContentHash::of_parts([&b"ab"[..], b"c"]),
            ContentHash::of_parts([&b"a"[..], b"bc"])
        );
        assert_eq!(agent_name([Some("Cli"), Some("a"), Some("b")]), "cli");
    }

    #[test]
    fn the_guard_looks_for_lines_that_begin_with_an_open_box() {
        let table = [
            (Phase::Build, "# Plan\n- [ ] T1\n", true),
            (
                Phase::Build,
                "- [x] T1\n  - [ ] indented\n* [ ] other\n",
                false,
            ),
            (Phase::Build, "\u{feff}- [ ] T1\n", true),
            (Phase::Build, "# Plan\r- [x] T1\r- [ ] T2\r", true),
            (Phase::Build, "# Plan\r\n- [ ] T1\r\n", true),
            (Phase::Plan, "- [ ] T1\n", false),
            (Phase::Build, "", false),
        ];
        for (phase, plan, expected) in table {
            assert_eq!(has_pending_tasks(phase, plan), expected, "{phase} {plan:?}");
        }
    }

    #[test]
    fn the_lists_decide_what_is_replayed() {
        let mut lists = NonCacheable::shipped();
        lists.add("my deploy # mine\n");
        assert_eq!(
            lists.add_of_project("slow-check\nkeyed: git push\n"),
            ["keyed: git push"]
        );
        let table = [
            ("git", "git push origin main", false, Some("git push")),
            ("git", "git push", true, Some("git push")),
            (
                "git",
                "cd x && git commit -m 'fix: it'",
                false,
                Some("git commit"),
            ),
            ("git", "git -C elsewhere push", false, Some("git push")),
            ("git", "git status", false, None),
            (
                "acli",
                "acli rovodev invoke --prompt-file p",
                false,
                Some("acli rovodev invoke"),
            ),
            ("rovodev", "acli rovodev invoke --prompt-file p", true, None),
            ("shellcheck", "shellcheck -e SC1091 a.sh", false, None),
            ("markdownlint", "markdownlint .", false, None),
            ("pre-commit", "pre-commit run --all-files", false, None),
            ("write_file", "", false, Some("write_file")),
            ("my", "my deploy now", false, Some("my deploy")),
            ("slow-check", "slow-check", false, Some("slow-check")),
            ("my", "my deployment", false, None),
        ];
        for (tool, command, is_keyed, expected) in table {
            let call = CachedCall {
                tool,
                command,
                is_keyed,
            };
            assert_eq!(lists.entry_for(call), expected, "{call:?}");
        }
    }
}
