//! Plays made from a project's history by fixed rules: what a map of the repository costs an agent,
//! and what it saves.
//!
//! A play is a commit that changes two to eight files of code and whose subject names none of them.
//! Its task has the subject as its words and declares the first of the files; the others have to be
//! found in the parent's files. A scripted explorer asks for one name at a time: those that the
//! subject writes as code, its longer words, what the declared file declares, and what it refers
//! to. A file is found once it is in a map, or in an answer that lists few files; the explorer
//! stops when it has found all, or after so many questions. A model asks better questions, several
//! in one turn, and may pass over what it is shown, so these figures compare maps, and do not
//! foretell what an agent does.
//!
//! The history is that of this project, or of the repository that `ORCHESTRATE_MAP_HISTORY` names.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use orchestrate_code::{IndexBuilder, LanguageHint, MapTask, Tags};
use orchestrate_core::{Oid, TokenCounter as _};
use orchestrate_git::Repo;
use orchestrate_model::Tokenizer;
use orchestrate_tools::StoredFile;

use super::maps::names;
use crate::measuring::{Figure, state_folder};
use crate::support::{Repository, git};

/// The variable that names another repository with a history.
const HISTORY: &str = "ORCHESTRATE_MAP_HISTORY";
/// How many plays are made of a history, evenly spaced.
const PLAYS: usize = 24;
/// The newest commits that are looked at.
const COMMITS: &str = "--max-count=4000";
/// How many files of code a play changes.
const CHANGED: std::ops::RangeInclusive<usize> = 2..=8;
/// The sizes of maps in tokens.
const BUDGETS: [usize; 5] = [250, 500, 1_000, 1_500, 2_000];
/// The size that agents get by default.
const DEFAULT: usize = 1_000;
/// An answer that lists more files leads to none.
const FEW_FILES: usize = 10;
/// The most lines of an answer.
const ANSWER_LINES: usize = 50;
/// The longest line of an answer in characters.
const LINE: usize = 160;
/// The most questions of a play.
const QUESTIONS: usize = 30;
/// The least length of a word of the subject that is asked for.
const LEAST_WORD: usize = 5;
/// The share of look-ups that may be left with a map of the default size, in percent: one that
/// saves none only costs.
const MAX_LEFT: f64 = 99.5;

struct Play {
    subject: String,
    /// The file that the task declares.
    declared: String,
    /// Those that are to be found.
    wanted: BTreeSet<String>,
    files: Vec<StoredFile>,
}

/// What a history's plays need: its repository, and the contents that were read.
struct Stage {
    repo: Repo,
    counter: Tokenizer,
    contents: HashMap<Oid, String>,
    tags: HashMap<Oid, Tags>,
}

/// The answer to one question.
struct Answer {
    files: BTreeSet<String>,
    /// The tokens of the question and the answer.
    tokens: usize,
}

/// What looking for files took in all plays.
#[derive(Clone, Copy, Default)]
struct Effort {
    /// The tokens of the maps, and how many of the files they name.
    of_maps: usize,
    named: usize,
    questions: usize,
    tokens: usize,
}

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let named = std::env::var_os(HISTORY).map(PathBuf::from);
    let (own, state) = (Repository::clone_of_project()?, state_folder()?);
    let root = named.as_deref().unwrap_or(own.path());
    let repo = Repo::open(root, state.path())?;
    let mut stage = Stage {
        repo,
        counter: Tokenizer::load()?,
        contents: HashMap::new(),
        tags: HashMap::new(),
    };
    let plays = stage.plays(root)?;
    let mut without = Effort::default();
    let mut with = [Effort::default(); BUDGETS.len()];
    for play in &plays {
        let maps = stage.maps(play)?;
        let answers = stage.answers(play)?;
        without.explore(play, &answers, "");
        for (effort, map) in with.iter_mut().zip(maps) {
            effort.of_maps += stage.counter.count(&map);
            effort.explore(play, &answers, &map);
        }
    }
    let count = as_f64(plays.len());
    let wanted = as_f64(plays.iter().map(|play| play.wanted.len()).sum());
    let (mut sizes, mut left) = (Vec::new(), 0);
    for (size, effort) in BUDGETS.into_iter().zip(with) {
        if size == DEFAULT {
            left = effort.questions;
        }
        sizes.push(format!(
            "{size}: map {:.0} tk names {:.0} %, saves {:.1} look-ups, {:.0} tk",
            as_f64(effort.of_maps) / count,
            100.0 * as_f64(effort.named) / wanted.max(1.0),
            as_f64(without.questions.saturating_sub(effort.questions)) / count,
            as_f64(without.tokens.saturating_sub(effort.tokens)) / count,
        ));
    }
    Ok(vec![Figure {
        name: "look-ups left with a map, of plays from history",
        measured: 100.0 * as_f64(left) / as_f64(without.questions.max(1)),
        limit: MAX_LEFT,
        unit: "% ",
        beside: format!(
            "{} plays, {:.1} files to find; without: {:.1} look-ups, {:.0} tk; {}",
            plays.len(),
            wanted / count,
            as_f64(without.questions) / count,
            as_f64(without.tokens) / count,
            sizes.join("; "),
        ),
    }])
}

impl Effort {
    /// Takes one answer after the other until all is found, beginning with what a map names.
    fn explore(&mut self, play: &Play, answers: &[Answer], map: &str) {
        let mut left: BTreeSet<&String> = play.wanted.iter().collect();
        left.retain(|file| !names(map, file));
        self.named += play.wanted.len() - left.len();
        for answer in answers {
            if left.is_empty() {
                break;
            }
            self.questions += 1;
            self.tokens += answer.tokens;
            if answer.files.len() <= FEW_FILES {
                left.retain(|file| !answer.files.contains(*file));
            }
        }
    }
}

impl Stage {
    /// Makes plays of a history.
    fn plays(&self, root: &Path) -> Result<Vec<Play>, Failed> {
        let log = "log --no-merges --no-renames --diff-filter=M --name-only --format=%x01%P%x02%s";
        let mut words: Vec<&str> = log.split(' ').collect();
        words.push(COMMITS);
        let log = git(root, &words)?;
        let all: Vec<Commit<'_>> = log.split('\u{1}').filter_map(commit).collect();
        let step = all.len().div_ceil(PLAYS).max(1);
        let chosen = all.iter().step_by(step);
        let plays: Vec<Play> = chosen
            .map(|commit| self.play(commit))
            .collect::<Result<_, _>>()?;
        match plays.is_empty() {
            true => Err("the history has no commit that makes a play".into()),
            false => Ok(plays),
        }
    }

    fn play(&self, commit: &Commit<'_>) -> Result<Play, Failed> {
        let mut files = Vec::new();
        for file in self.repo.store().regular_files(&Oid::new(commit.parent))? {
            if let Some(path) = file.path.to_str() {
                files.push(StoredFile {
                    path: path.to_owned(),
                    content: file.content,
                    bytes: file.bytes,
                });
            }
        }
        let changed = commit.changed.iter();
        let mut wanted: BTreeSet<String> = changed.map(|file| (*file).to_owned()).collect();
        Ok(Play {
            subject: commit.subject.to_owned(),
            declared: wanted.pop_first().unwrap_or_default(),
            wanted,
            files,
        })
    }

    fn read(&mut self, content: &Oid) -> Result<&str, Failed> {
        match self.contents.entry(content.clone()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let bytes = self.repo.store().read_content(content)?;
                Ok(unknown.insert(String::from_utf8_lossy(&bytes).into_owned()))
            }
        }
    }

    /// Returns a play's maps of all sizes.
    fn maps(&mut self, play: &Play) -> Result<Vec<String>, Failed> {
        for file in play.files.iter().filter(|file| file.is_code()) {
            self.read_tags(file)?;
        }
        let paths: Vec<&str> = play.files.iter().map(|file| file.path.as_str()).collect();
        let mut builder = IndexBuilder::new(&paths);
        for file in &play.files {
            if let Some(tags) = self.tags.get(&file.content) {
                builder.add(&file.path, tags);
            }
        }
        let task = MapTask {
            files: std::slice::from_ref(&play.declared),
            text: &play.subject,
        };
        let index = builder.finish();
        let map = index.map(&task, &|| false)?;
        let fitting = |size: usize| map.as_ref()?.fit(&|text| self.counter.count(text) <= size);
        let maps = BUDGETS.into_iter().map(fitting);
        Ok(maps.map(Option::unwrap_or_default).collect())
    }

    fn read_tags(&mut self, file: &StoredFile) -> Result<(), Failed> {
        if self.tags.contains_key(&file.content) {
            return Ok(());
        }
        let text = self.read(&file.content)?;
        let language = LanguageHint::of_path(&file.path).and_then(|hint| hint.language(text));
        let tags = language.map(|language| Tags::find(language, text, &|| false));
        // A file that cannot be parsed is named, and nothing in it.
        let tags = tags.and_then(Result::ok).unwrap_or_default();
        self.tags.insert(file.content.clone(), tags);
        Ok(())
    }

    /// Returns what the explorer asks for, in its order.
    fn questions(&self, play: &Play) -> Vec<String> {
        let subject = || words(&play.subject).map(str::to_owned);
        let mut asked: Vec<String> = subject().filter(|word| is_name(word)).collect();
        asked.extend(subject().filter(|word| word.len() >= LEAST_WORD));
        let declared = play.files.iter().find(|file| file.path == play.declared);
        if let Some(tags) = declared.and_then(|file| self.tags.get(&file.content)) {
            asked.extend(tags.definitions.iter().map(|found| found.name.clone()));
            let mut used: Vec<&(String, u32)> = tags.references.iter().collect();
            used.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
            asked.extend(used.into_iter().map(|used| used.0.clone()));
        }
        let mut seen = BTreeSet::new();
        asked.retain(|name| !name.is_empty() && seen.insert(name.clone()));
        asked.truncate(QUESTIONS);
        asked
    }

    /// Asks all questions of a play.
    fn answers(&mut self, play: &Play) -> Result<Vec<Answer>, Failed> {
        let mut answers = Vec::new();
        for question in self.questions(play) {
            let found = self.grep(play, &question)?;
            let lines = found.values().flatten().take(ANSWER_LINES);
            let lines: Vec<&str> = lines.map(String::as_str).collect();
            let asked = self.counter.count(&format!("grep({question})"));
            answers.push(Answer {
                tokens: asked + self.counter.count(&lines.join("\n")),
                files: found.into_keys().collect(),
            });
        }
        Ok(answers)
    }

    /// Returns the lines with a name, by file.
    fn grep(&mut self, play: &Play, name: &str) -> Result<BTreeMap<String, Vec<String>>, Failed> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in play.files.iter().filter(|file| file.is_code()) {
            let text = self.read(&file.content)?;
            if !text.contains(name) {
                continue;
            }
            let path = &file.path;
            for (line, at) in text.lines().zip(1..) {
                if words(line).any(|word| word == name) {
                    let line: String = line.chars().take(LINE).collect();
                    let lines = found.entry(path.clone()).or_default();
                    lines.push(format!("{path}:{at}: {line}"));
                }
            }
        }
        Ok(found)
    }
}

/// A commit that makes a play.
struct Commit<'l> {
    parent: &'l str,
    subject: &'l str,
    changed: Vec<&'l str>,
}

/// Parses a commit; `None` if it makes no play.
fn commit(record: &str) -> Option<Commit<'_>> {
    let (parent, rest) = record.split_once('\u{2}')?;
    let (subject, files) = rest.split_once('\n')?;
    let changed: Vec<&str> = files.lines().filter(|file| is_code(file)).collect();
    let words: BTreeSet<String> = words(subject).map(str::to_lowercase).collect();
    let is_named = changed.iter().any(|file| words.contains(&stem(file)));
    let makes_play = CHANGED.contains(&changed.len()) && !is_named && parent.len() == 40;
    makes_play.then_some(Commit {
        parent,
        subject,
        changed,
    })
}

fn is_code(file: &str) -> bool {
    use LanguageHint::{Header, Named};
    matches!(LanguageHint::of_path(file), Some(Named(_) | Header))
}

/// Returns the name of a file without its endings, in lower case.
fn stem(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split('.').next().unwrap_or(file).to_lowercase()
}

/// Reports whether a word is written as names in code are.
fn is_name(word: &str) -> bool {
    word.contains('_') || word.chars().skip(1).any(char::is_uppercase)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

fn as_f64(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}
