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

/// What looking for files took.
#[derive(Clone, Copy, Default)]
struct Effort {
    questions: usize,
    tokens: usize,
    found: usize,
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
    let wanted: usize = plays.iter().map(|play| play.wanted.len()).sum();
    let (mut without, mut with) = (
        Effort::default(),
        BUDGETS.map(|size| (size, 0, Effort::default())),
    );
    for play in &plays {
        let maps = stage.maps(play)?;
        let answers = stage.answers(play)?;
        without.add(explore(play, &answers, &BTreeSet::new()));
        for ((_, tokens, effort), map) in with.iter_mut().zip(maps) {
            *tokens += stage.counter.count(&map);
            let shown = play
                .wanted
                .iter()
                .filter(|file| names(&map, file))
                .cloned()
                .collect();
            effort.add(explore(play, &answers, &shown));
        }
    }
    let share = |part: usize, whole: usize| 100.0 * as_f64(part) / as_f64(whole.max(1));
    let per_play = |number: usize| as_f64(number) / as_f64(plays.len().max(1));
    let of_size = |(size, tokens, effort): &(usize, usize, Effort)| {
        let saved = (
            without.questions.saturating_sub(effort.questions),
            without.tokens.saturating_sub(effort.tokens),
        );
        format!(
            "{size}: map {:.0} tk names {:.0} %, saves {:.1} look-ups, {:.0} tk",
            per_play(*tokens),
            share(effort.found, wanted),
            per_play(saved.0),
            per_play(saved.1),
        )
    };
    let sizes = with.iter().map(of_size).collect::<Vec<_>>().join("; ");
    let left = with
        .iter()
        .find(|(size, ..)| *size == DEFAULT)
        .map_or(0, |(.., effort)| effort.questions);
    Ok(vec![Figure {
        name: "look-ups left with a map, of plays from history",
        measured: share(left, without.questions),
        limit: MAX_LEFT,
        unit: "% ",
        beside: format!(
            "{} plays, {:.1} files to find; without: {:.1} look-ups, {:.0} tk; {sizes}",
            plays.len(),
            per_play(wanted),
            per_play(without.questions),
            per_play(without.tokens),
        ),
    }])
}

impl Effort {
    fn add(&mut self, other: Effort) {
        self.questions += other.questions;
        self.tokens += other.tokens;
        self.found += other.found;
    }
}

impl Stage {
    /// Makes plays of a history.
    fn plays(&self, root: &Path) -> Result<Vec<Play>, Failed> {
        let wanted = [
            "log",
            "--no-merges",
            "--no-renames",
            "--diff-filter=M",
            "--name-only",
            COMMITS,
        ];
        let log = git(root, &[&wanted[..], &["--format=%x01%P%x02%s"]].concat())?;
        let all: Vec<(&str, &str, Vec<&str>)> = log.split('\u{1}').filter_map(commit).collect();
        let step = all.len().div_ceil(PLAYS).max(1);
        let chosen = all.into_iter().step_by(step);
        let plays = chosen.map(|(parent, subject, changed)| self.play(parent, subject, &changed));
        let plays = plays.collect::<Result<Vec<_>, Failed>>()?;
        if plays.is_empty() {
            Err("the history has no commit that makes a play".into())
        } else {
            Ok(plays)
        }
    }

    fn play(&self, parent: &str, subject: &str, changed: &[&str]) -> Result<Play, Failed> {
        let stored = self
            .repo
            .store()
            .regular_files(&Oid::new(parent))?
            .into_iter();
        let named = stored.filter_map(|file| {
            let path = file.path.to_str()?.to_owned();
            Some(StoredFile {
                path,
                content: file.content,
                bytes: file.bytes,
            })
        });
        let files = named.collect();
        let mut wanted: BTreeSet<String> = changed.iter().map(|file| (*file).to_owned()).collect();
        let declared = wanted.pop_first().unwrap_or_default();
        Ok(Play {
            subject: subject.to_owned(),
            declared,
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
        let (index, task) = (
            builder.finish(),
            MapTask {
                files: std::slice::from_ref(&play.declared),
                text: &play.subject,
            },
        );
        let Some(map) = index.map(&task, &|| false)? else {
            return Ok(vec![String::new(); BUDGETS.len()]);
        };
        let fitting = |size: usize| {
            map.fit(&|text| self.counter.count(text) <= size)
                .unwrap_or_default()
        };
        Ok(BUDGETS.into_iter().map(fitting).collect())
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
        let is_code =
            |word: &&str| word.contains('_') || word.chars().skip(1).any(char::is_uppercase);
        let long = words(&play.subject).filter(|word| word.len() >= LEAST_WORD);
        let mut asked: Vec<String> = words(&play.subject)
            .filter(is_code)
            .chain(long)
            .map(str::to_owned)
            .collect();
        let declared = play.files.iter().find(|file| file.path == play.declared);
        let tags = declared
            .and_then(|file| self.tags.get(&file.content))
            .cloned()
            .unwrap_or_default();
        let mut used: Vec<&(String, u32)> = tags.references.iter().collect();
        used.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        asked.extend(
            tags.definitions
                .iter()
                .map(|definition| definition.name.clone()),
        );
        asked.extend(used.into_iter().map(|(name, _)| name.clone()));
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
            let lines: Vec<&str> = found
                .values()
                .flatten()
                .take(ANSWER_LINES)
                .map(String::as_str)
                .collect();
            let tokens = self.counter.count(&lines.join("\n"))
                + self.counter.count(&format!("grep({question})"));
            answers.push(Answer {
                files: found.into_keys().collect(),
                tokens,
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
            for (line, at) in text
                .lines()
                .zip(1..)
                .filter(|(line, _)| words(line).any(|word| word == name))
            {
                let line: String = line.chars().take(LINE).collect();
                found
                    .entry(file.path.clone())
                    .or_default()
                    .push(format!("{}:{at}: {line}", file.path));
            }
        }
        Ok(found)
    }
}

/// Takes one answer after the other until all is found, beginning with what a map has shown.
fn explore(play: &Play, answers: &[Answer], shown: &BTreeSet<String>) -> Effort {
    let mut left: BTreeSet<&String> = play.wanted.difference(shown).collect();
    let mut effort = Effort {
        found: shown.len(),
        ..Effort::default()
    };
    for answer in answers {
        if left.is_empty() {
            break;
        }
        effort.questions += 1;
        effort.tokens += answer.tokens;
        if answer.files.len() <= FEW_FILES {
            left.retain(|file| !answer.files.contains(*file));
        }
    }
    effort
}

/// Returns the parent, the subject and the changed files of a commit that makes a play.
fn commit(record: &str) -> Option<(&str, &str, Vec<&str>)> {
    let (parent, rest) = record.split_once('\u{2}')?;
    let (subject, files) = rest.split_once('\n')?;
    let is_code = |file: &&str| {
        matches!(
            LanguageHint::of_path(file),
            Some(LanguageHint::Named(_) | LanguageHint::Header)
        )
    };
    let changed: Vec<&str> = files
        .lines()
        .filter(|file| !file.is_empty())
        .filter(is_code)
        .collect();
    let stem = |file: &str| {
        file.rsplit('/')
            .next()
            .and_then(|name| name.split('.').next())
            .unwrap_or(file)
            .to_lowercase()
    };
    let all: BTreeSet<String> = words(subject).map(str::to_lowercase).collect();
    let is_named = changed.iter().any(|file| all.contains(&stem(file)));
    let makes_play = CHANGED.contains(&changed.len()) && !is_named && parent.len() == 40;
    makes_play.then_some((parent, subject, changed))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

fn as_f64(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}
