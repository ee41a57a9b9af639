//! The facts to decide about a run's branches by: size, risk, overlaps and cost of each.
//!
//! A listing is a function of the run's state and of the changes of each branch, which a caller
//! with access to the repository provides. Risk is a rule about paths, not a judgement about code:
//! it marks branches that change files which decide whether others are right (tests, CI, builds,
//! pinned versions, modes), or that delete most files.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::flaky::FlakyCheck;
use crate::event::MergeTarget;
use crate::ids::{AgentId, Oid, TaskId};
use crate::messages::Envelope;
use crate::projections::report::{ReportUsage, Standing, TaskTaint};
use crate::record::{MergedAttempt, TaskRecord};
use crate::run::RunState;
use crate::task::kept_out::name_of_secret;
use crate::task::{EndCause, LeftAside, TaskState, Verify, is_test_file};
use crate::text::case_folding::folded_path;
use crate::text::invisible::shown;

/// Folders of CI configuration.
const CI_FOLDERS: [&str; 7] = [
    ".github",
    ".gitlab",
    ".circleci",
    ".buildkite",
    ".woodpecker",
    ".ci",
    ".gitea",
];
/// Files of CI configuration.
const CI_FILES: [&str; 8] = [
    ".gitlab-ci.yml",
    ".travis.yml",
    ".drone.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
    "cloudbuild.yaml",
    "jenkinsfile",
];
/// Files that a build runs or takes commands from, in lower case.
const BUILD_FILES: [&str; 31] = [
    "build.rs",
    "cargo.toml",
    "rust-toolchain.toml",
    "rust-toolchain",
    "makefile",
    "gnumakefile",
    "justfile",
    "taskfile.yml",
    "cmakelists.txt",
    "meson.build",
    "configure.ac",
    "build",
    "build.bazel",
    "workspace",
    "module.bazel",
    "dockerfile",
    "containerfile",
    "package.json",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "pom.xml",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "noxfile.py",
    "rakefile",
    "gemfile",
    "go.mod",
    "orchestrate.toml",
];
/// Folders that configure a build.
const BUILD_FOLDERS: [&str; 2] = [".cargo", ".orchestrate"];
/// Lock files that do not end in `.lock`, in lower case.
const LOCK_FILES: [&str; 5] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "go.sum",
    "bun.lockb",
];

/// Files that instruct agents or configure git, in lower case.
const RULE_FILES: [&str; 9] = [
    "agents.md",
    "agents.override.md",
    "claude.md",
    "skill.md",
    "orchestrate.toml",
    ".worktreeinclude",
    ".mcp.json",
    ".gitattributes",
    ".gitmodules",
];
/// Folders whose Markdown files are roles of agents.
const ROLE_FOLDERS: [&str; 2] = ["agents", "agent"];

/// One file that a branch changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Its current path, or its last one if it is deleted.
    pub path: String,
    /// Its previous path, if it was renamed.
    #[serde(skip)]
    pub old_path: Option<String>,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// Whether its mode (executable, link) changed.
    #[serde(skip)]
    pub mode_changed: bool,
    /// Whether it did not exist before.
    #[serde(skip)]
    pub is_new: bool,
}

/// The changes of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchChanges {
    /// The files.
    pub files: Vec<ChangedFile>,
    /// Whether more than half of the files are deleted.
    pub loses_most: bool,
    /// What the user has changed since, which is not in the work; `None` if that cannot become part
    /// of it now.
    pub own: Option<OwnChanges>,
    /// Files whose content looks like a secret, with the reasons.
    pub secrets: Vec<String>,
    /// Their losses of existing tests.
    pub weakened: Vec<String>,
}

/// Changes of a person on a task's branch and in its worktree, which are not in its work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnChanges {
    /// The number of commits on the branch.
    pub commits: usize,
    /// The files that differ in the worktree, sorted.
    pub files: Vec<String>,
}

impl OwnChanges {
    /// Reports whether there are any.
    pub fn is_any(&self) -> bool {
        self.commits > 0 || !self.files.is_empty()
    }
}

impl std::fmt::Display for OwnChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            counted(self.commits, "commit"),
            counted(self.files.len(), "file"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let is = if self.commits + self.files.len() == 1 {
            "is"
        } else {
            "are"
        };
        write!(f, "{} of yours {is} not in it", parts.join(" and "))
    }
}

fn counted(count: usize, what: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{count} {what}s")),
    }
}

/// How closely a branch should be looked at.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It changes only files that others check; new tests are among them, since the old ones still
    /// apply.
    Low,
    /// It changes existing tests, CI, build scripts, lock files or modes, or deletes most files.
    High,
}

/// Another branch that changes the same files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overlap {
    /// The other task.
    pub task: TaskId,
    /// The files that both change, sorted.
    pub paths: Vec<String>,
}

/// One branch of a run, for review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewEntry {
    /// The task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// The agent that spawned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
    /// Attempts begun.
    pub attempt: u32,
    /// The branch's short name.
    pub branch: String,
    /// The commit with the finished work, or `None` while there is none.
    pub commit: Option<Oid>,
    /// Its tree, which an approval is bound to.
    pub tree: Option<Oid>,
    /// The commit with its newest work, if it has ended without success and its branch lacks some
    /// of that; `recover` makes it a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished_commit: Option<Oid>,
    /// Where the task stands.
    pub state: TaskState,
    /// Why the task ended without being merged; `None` unless it did.
    #[serde(skip)]
    pub cause: Option<EndCause>,
    /// The result of the newest check.
    pub verify: Verify,
    /// The files that the task changes, sorted by path: what each merged attempt has changed, and
    /// its newest work.
    pub files: Vec<ChangedFile>,
    /// How closely to look.
    pub risk: Risk,
    /// The reason for each risky file, and how it is changed; empty if the risk is low.
    pub risk_reasons: Vec<String>,
    /// Whether more than half of the files are deleted.
    pub loses_most: bool,
    /// Other branches that change the same files, in the run's order.
    pub overlaps: Vec<Overlap>,
    /// The tokens and the money that the task used.
    pub usage: ReportUsage,
    /// The attempts whose work is in the result, oldest first, including work rejected after it was
    /// merged.
    pub merged: Vec<MergedWork>,
    /// Whether it was built on work that was rejected after it was merged.
    pub stale: bool,
    /// Paths in the work that git cannot store: the `.git` of nested repositories, pipes and
    /// sockets.
    pub left_out: Vec<String>,
    /// What stayed in the worktree on purpose: caches, build outputs, what looks like a secret,
    /// boxes of the plan.
    #[serde(flatten)]
    pub aside: LeftAside,
    /// Why it waits for a person's approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
    /// The questions of its agent that wait for the user's answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Envelope>,
    /// The exposure of its agent, once it has read text from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taint: Option<TaskTaint>,
    /// What the user has changed on its branch and in its worktree, and can make part of the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnChanges>,
    /// The checks of its work that have failed and passed on one tree, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky_checks: Vec<FlakyCheck>,
}

/// An attempt whose work was merged: what counts is the commit that merged it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergedWork {
    /// Its number.
    pub attempt: u32,
    /// The branch of the agent that it was merged into; absent for the result of the run.
    #[serde(default, skip_serializing_if = "MergeTarget::is_integration")]
    pub into: MergeTarget,
    /// The commit on that branch that merged it.
    pub commit: Oid,
}

impl From<&MergedAttempt> for MergedWork {
    fn from(merged: &MergedAttempt) -> Self {
        Self {
            attempt: merged.attempt,
            into: merged.into.clone(),
            commit: merged.commit.clone(),
        }
    }
}

impl BranchChanges {
    /// Adds later changes; the lines of a file that both change are added up.
    pub fn add(&mut self, later: BranchChanges) {
        self.loses_most |= later.loses_most;
        self.secrets.extend(later.secrets);
        self.weakened.extend(later.weakened);
        let mut by_path: BTreeMap<String, ChangedFile> = BTreeMap::new();
        for file in std::mem::take(&mut self.files)
            .into_iter()
            .chain(later.files)
        {
            match by_path.entry(file.path.clone()) {
                Entry::Occupied(earlier) => earlier.into_mut().add(file),
                Entry::Vacant(free) => drop(free.insert(file)),
            }
        }
        self.files = by_path.into_values().collect();
    }
}

impl BranchChanges {
    /// Returns why the changes are a high risk, apart from tests that they weaken.
    pub fn risks(&self) -> Vec<String> {
        let mut reasons = risk_reasons(&self.files);
        reasons.extend(self.secrets.iter().cloned());
        if self.loses_most {
            reasons.push("deletes most of the files".to_owned());
        }
        reasons
    }
}

impl ChangedFile {
    fn add(&mut self, later: ChangedFile) {
        self.added += later.added;
        self.removed += later.removed;
        self.mode_changed |= later.mode_changed;
        self.old_path = self.old_path.take().or(later.old_path);
    }
}

impl ReviewEntry {
    /// Lists every branch of a run, given the changes of each.
    pub fn listing(
        standing: &Standing,
        changes: &BTreeMap<TaskId, BranchChanges>,
    ) -> Vec<ReviewEntry> {
        let mut entries: Vec<ReviewEntry> = Vec::new();
        for record in standing.state.tasks() {
            entries.extend(standing_entry(standing, record, changes));
        }
        let mut by_path: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            for path in touched(&entry.files) {
                by_path.entry(path.to_owned()).or_default().push(at);
            }
        }
        let mut shared: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
        for (path, tasks) in &by_path {
            for (one, other) in tasks
                .iter()
                .flat_map(|one| tasks.iter().map(move |other| (*one, *other)))
            {
                if one != other {
                    shared.entry((one, other)).or_default().push(path.clone());
                }
            }
        }
        let names: Vec<TaskId> = entries.iter().map(|entry| entry.task.clone()).collect();
        for ((one, other), paths) in shared {
            if let (Some(entry), Some(task)) = (entries.get_mut(one), names.get(other))
                && !are_in_line(&standing.state, &entry.task, task)
            {
                entry.overlaps.push(Overlap {
                    task: task.clone(),
                    paths,
                });
            }
        }
        entries
    }
}

/// Reports whether one of two agents is an ancestor of the other: it takes the other's work into
/// its own.
fn are_in_line(state: &RunState, one: &TaskId, other: &TaskId) -> bool {
    state.is_ancestor(one, other) || state.is_ancestor(other, one)
}

/// Returns the entry of a task whose branch has changes, with how the task stands.
fn standing_entry(
    standing: &Standing,
    record: &TaskRecord,
    changes: &BTreeMap<TaskId, BranchChanges>,
) -> Option<ReviewEntry> {
    let (id, run) = (&record.task.id, &standing.state);
    let state = standing.of_task(record);
    let questions = run.questions_to_user().filter(|(agent, _)| *agent == id);
    let awaits = state.awaits_review() || state == TaskState::Verified;
    let holds = if awaits {
        run.holds(record)
    } else {
        Vec::new()
    };
    Some(ReviewEntry {
        state,
        questions: questions.map(|(_, question)| question.clone()).collect(),
        taint: run.taint(id),
        holds: holds.iter().map(ToString::to_string).collect(),
        flaky_checks: run.flaky_checks_of(id).cloned().collect(),
        ..entry(record, changes)?
    })
}

fn entry(record: &TaskRecord, changes: &BTreeMap<TaskId, BranchChanges>) -> Option<ReviewEntry> {
    let mut changes = changes.get(&record.task.id).cloned().unwrap_or_default();
    changes
        .files
        .sort_by(|one, other| one.path.cmp(&other.path));
    let mut reasons = changes.risks();
    reasons.extend(changes.weakened.iter().map(|what| format!("it {what}")));
    let BranchChanges {
        files,
        loses_most,
        own,
        ..
    } = changes;
    Some(ReviewEntry {
        task: record.task.id.clone(),
        title: record.task.title.clone(),
        parent: record.parent.clone(),
        attempt: record.attempt(),
        branch: record.branch().map(str::to_owned)?,
        commit: record.commit().cloned(),
        tree: record.tree().cloned(),
        unfinished_commit: record.left_unfinished().cloned(),
        state: record.state(),
        cause: record.error().map(|error| error.cause),
        verify: record.verify(),
        risk: if reasons.is_empty() {
            Risk::Low
        } else {
            Risk::High
        },
        risk_reasons: reasons,
        loses_most,
        files,
        overlaps: Vec::new(),
        usage: ReportUsage::new(record.usage(), record.cost()),
        merged: record.merged().iter().map(MergedWork::from).collect(),
        stale: record.is_stale(),
        left_out: record.left_out().to_vec(),
        aside: record.aside().clone(),
        holds: Vec::new(),
        questions: Vec::new(),
        taint: None,
        own: own.filter(OwnChanges::is_any),
        flaky_checks: Vec::new(),
    })
}

fn touched(files: &[ChangedFile]) -> BTreeSet<&str> {
    files
        .iter()
        .flat_map(|file| std::iter::once(&file.path).chain(&file.old_path))
        .map(String::as_str)
        .collect()
}

/// Returns, for each changed file that decides about others, what is changed in it.
pub fn risk_reasons(files: &[ChangedFile]) -> Vec<String> {
    files.iter().filter_map(reason).collect()
}

fn reason(file: &ChangedFile) -> Option<String> {
    let paths = std::iter::once(&file.path).chain(&file.old_path);
    let kind = paths.filter_map(|path| kind(path)).min();
    let path = shown(&file.path);
    match kind {
        // It adds a check and changes no existing one.
        Some(Kind::Test) if file.is_new => None,
        Some(kind) if file.is_new => Some(format!("{path} is new: {}", kind.words())),
        Some(kind) => Some(format!("{path} is changed: {}", kind.words())),
        None => file
            .mode_changed
            .then(|| format!("the mode of {path} changed")),
    }
}

/// The part of a project that a file affects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Secret,
    Ci,
    Build,
    Lock,
    Rules,
    Test,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Kind::Secret => "it looks like a secret",
            Kind::Ci => "it decides what runs in CI",
            Kind::Build => "a build runs it or takes commands from it",
            Kind::Lock => "it pins versions",
            Kind::Rules => "it configures agents or git",
            Kind::Test => "it is a test",
        }
    }
}

/// Returns what a file affects, or `None` for an ordinary file.
fn kind(path: &str) -> Option<Kind> {
    let lower = folded_path(path);
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let folders: Vec<&str> = folders.split('/').collect();
    let is_ci = folders.iter().any(|folder| CI_FOLDERS.contains(folder));
    let is_build = folders.iter().any(|folder| BUILD_FOLDERS.contains(folder));
    let is_in_roles = folders
        .last()
        .is_some_and(|folder| ROLE_FOLDERS.contains(folder));
    if name_of_secret(path).is_some() {
        Some(Kind::Secret)
    } else if is_ci || CI_FILES.contains(&name) {
        Some(Kind::Ci)
    } else if is_build || BUILD_FILES.contains(&name) || name.starts_with("dockerfile.") {
        Some(Kind::Build)
    } else if LOCK_FILES.contains(&name) || name.ends_with(".lock") {
        Some(Kind::Lock)
    } else if RULE_FILES.contains(&name) || is_in_roles && name.ends_with(".md") {
        Some(Kind::Rules)
    } else if is_test_file(path) {
        Some(Kind::Test)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunState;
    use crate::event::settings::RunSettings;
    use crate::event::{Event, Recorded, VERSION};
    use crate::task::Task;

    fn changed(path: &str) -> ChangedFile {
        ChangedFile {
            path: path.to_owned(),
            added: 2,
            removed: 1,
            ..ChangedFile::default()
        }
    }

    #[test]
    fn what_decides_about_others_is_a_high_risk() {
        let high = [
            "tests/run.rs",
            "src/parser/tests.rs",
            "pkg/server_test.go",
            "web/app.spec.ts",
            "test_app.py",
            ".github/workflows/ci.yml",
            "ci/Jenkinsfile",
            "build.rs",
            "crates/a/Cargo.toml",
            "Makefile",
            "docker/Dockerfile.prod",
            ".cargo/config.toml",
            "Cargo.lock",
            "web/package-lock.json",
            "go.sum",
            "AGENTS.md",
            "Agents.md::$DATA",
            "WORKTR~1",
            "web/.gitattributes",
            ".claude/agents/reviewer.md",
            ".opencode/agent/reviewer.md",
            ".claude/skills/release/SKILL.md",
            "web/AGENTS.override.md",
            ".env",
            "deploy/server.pem",
        ];
        let low = [
            "src/lib.rs",
            "docs/testing.md",
            "src/contest.rs",
            "src/builder.rs",
            "README.md",
            "lock.txt",
        ];
        let is_risky = |files: &[ChangedFile]| !risk_reasons(files).is_empty();
        for path in high {
            assert!(is_risky(&[changed("src/a.rs"), changed(path)]), "{path}");
        }
        for path in low {
            assert!(!is_risky(&[changed(path)]), "{path}");
        }
        let new = |path: &str| ChangedFile {
            is_new: true,
            ..changed(path)
        };
        assert!(
            !is_risky(&[new("tests/run.rs"), new("src/parser/tests.rs")]),
            "new tests only add"
        );
        for path in [
            "tests/Cargo.toml",
            ".github/workflows/ci.yml",
            "build.rs",
            "Cargo.lock",
            "tests/.gitattributes",
        ] {
            assert!(is_risky(&[new(path)]), "{path}");
        }
        assert_eq!(
            risk_reasons(&[changed("tests/a.rs")]),
            ["tests/a.rs is changed: it is a test"]
        );
        assert!(is_risky(&[ChangedFile {
            mode_changed: true,
            ..changed("src/a.rs")
        }]));
        assert!(is_risky(&[ChangedFile {
            old_path: Some("tests/a.rs".to_owned()),
            ..changed("src/a.rs")
        }]));
    }

    fn state() -> RunState {
        let task = |id: &str| {
            Event::planned(Task {
                id: id.into(),
                title: id.to_owned(),
                ..Task::default()
            })
        };
        let ready = |id: &str| Event::TaskReady { task: id.into() };
        let spawned = |id: &str| Event::AgentSpawned {
            task: id.into(),
            attempt: 1,
            agent: Some("implementer".to_owned()),
            model: Some("script/x".to_owned()),
            branch: format!("orchestrate/r-abcdef/{id}"),
            base: "b0".into(),
            spec: None,
            sends: None,
        };
        let started = Event::RunStarted {
            plan: None,
            plan_source: None,
            title: None,
            settings: Box::new(RunSettings::default()),
            base_commit: "b0".into(),
            base_branch: Some("main".to_owned()),
        };
        let committed = Event::TaskCommitted {
            task: "A".into(),
            commit: "c1".into(),
            tree: "d1".into(),
            summary: "done".to_owned(),
        };
        let events = [
            started,
            task("A"),
            task("B"),
            task("C"),
            ready("A"),
            ready("B"),
            spawned("A"),
            spawned("B"),
            committed,
        ];
        let facts: Vec<Recorded> = events
            .into_iter()
            .zip(1..)
            .map(|(event, seq)| Recorded {
                run_id: "r-abcdef".into(),
                seq,
                ts_ms: seq,
                v: VERSION,
                event,
            })
            .collect();
        RunState::replay(&facts).unwrap().unwrap()
    }

    #[test]
    fn own_changes_are_counted_in_words() {
        let own = |commits, files: &[&str]| OwnChanges {
            commits,
            files: files.iter().map(ToString::to_string).collect(),
        };
        let table = [
            (
                own(1, &["a", "b"]),
                "1 commit and 2 files of yours are not in it",
            ),
            (own(2, &[]), "2 commits of yours are not in it"),
            (own(0, &["a"]), "1 file of yours is not in it"),
        ];
        for (own, expected) in table {
            assert_eq!(own.to_string(), expected);
        }
        assert!(!own(0, &[]).is_any());
    }

    #[test]
    fn branches_are_listed_with_what_they_share() {
        let moved = ChangedFile {
            old_path: Some("src/old.rs".to_owned()),
            ..changed("src/new.rs")
        };
        let of = |files| BranchChanges {
            files,
            ..BranchChanges::default()
        };
        let changes = BTreeMap::from([
            (
                "A".into(),
                of(vec![changed("src/z.rs"), changed("src/old.rs")]),
            ),
            ("B".into(), of(vec![moved, changed("Cargo.lock")])),
        ]);
        let standing = Standing {
            state: state().into(),
            is_live: true,
        };
        let listed = serde_json::to_value(ReviewEntry::listing(&standing, &changes)).unwrap();
        let usage = serde_json::json!({"input_tokens": 0,
            "cached_tokens": 0,
            "output_tokens": 0,
            "cost_usd": 0.0});
        let file = |path: &str| serde_json::json!({"path": path, "added": 2, "removed": 1});
        let expected = serde_json::json!([
            {"task": "A", "title": "A", "attempt": 1,
                "branch": "orchestrate/r-abcdef/A",
                "commit": "c1",
                "tree": "d1",
             "state": "verified", "verify": "none", "files": [file("src/old.rs"), file("src/z.rs")],
             "risk": "low", "risk_reasons": [], "loses_most": false,
             "overlaps": [{"task": "B", "paths": ["src/old.rs"]}],
                 "usage": usage,
                 "merged": [],
                 "stale": false,
                 "left_out": []},
            {"task": "B", "title": "B", "attempt": 1,
                "branch": "orchestrate/r-abcdef/B",
                "commit": null,
                "tree": null,
             "state": "running", "verify": "none",
                 "files": [file("Cargo.lock"), file("src/new.rs")],
             "risk": "high", "risk_reasons": ["Cargo.lock is changed: it pins versions"],
                 "loses_most": false,
             "overlaps": [{"task": "A", "paths": ["src/old.rs"]}],
                 "usage": usage,
                 "merged": [],
                 "stale": false,
                 "left_out": []},
        ]);
        assert_eq!(listed, expected);
    }
}
