//! What an agent does with git through its tools: select, commit, name, bring back, set aside and
//! merge.

use libtest_mimic::Failed;
use orchestrate_coordinator::{CleanOptions, Settings};
use orchestrate_core::event::{ErrorKind, Event};
use orchestrate_core::policy::{RuleDecision, RuleText};
use serde_json::json;

use super::calls::{Call, assert_answers, calls, commit, in_one_turn, put, shell};
use crate::support::{
    Case, Need, Outcome, Played, Script, WITHOUT_BUBBLEWRAP, World, block_on, case, done, fail, on,
    waits,
};

/// A role with every tool that these tests use.
const ROLE: &str = "---\nname: keeper\ndescription: Keeps files.\ntools: read_file, write_file, run_shell_command, \
    git_status, git_diff, git_log, git_add, git_commit, git_branch, git_checkout, git_stash, git_merge, \
    wait_for_agents\n---\nKeep.\n";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_commit_takes_what_was_selected),
        case!(a_branch_is_a_name_for_a_commit),
        case!(a_checkout_brings_files_and_can_be_undone),
        case!(changes_are_set_aside_for_one_agent),
        case!(what_cannot_be_done_is_not_asked_about),
        case!(another_agents_work_is_merged),
        case!(a_conflict_is_listed_and_resolved),
        case!(hostile_names_and_paths_are_refused),
        case!(a_command_names_the_tool_to_use),
        case!(forbidden_files_are_neither_shown_nor_put_back),
        case!(no_checkout_and_no_merge_changes_forbidden_files),
        case!(git_works_in_the_fallback_tier)
            .needs(Need::FALLBACK_TIER)
            .needs(Need::MOUNTS),
    ]
}

/// Returns a repository with the role.
fn world() -> Result<World, Failed> {
    let world = World::lived_in()?;
    world.commit(".orchestrate/agents/keeper.md", ROLE)?;
    Ok(world)
}

fn as_keeper(settings: &mut Settings) {
    "keeper".clone_into(&mut settings.run.agent);
}

fn checkout(revision: &str, paths: &[&str]) -> Call {
    (
        "git_checkout",
        json!({"branch_or_commit": revision, "paths": paths}),
    )
}

fn stash(action: &str) -> Call {
    ("git_stash", json!({ "action": action }))
}

fn status() -> Call {
    ("git_status", json!({}))
}

/// Runs one task that calls these tools, and returns what each of them answered.
fn answers(world: &World, wanted: &[Call]) -> Result<(Played, Vec<String>), Failed> {
    let played = world.play("- [ ] T1 work\n", &calls("T1", wanted), as_keeper)?;
    let texts = played.results("T1")?;
    assert_eq!(texts.len(), wanted.len(), "{texts:#?}\n{played}");
    Ok((played, texts))
}

/// Returns the subjects on the branch of a task, newest first, since the run's base.
fn subjects(world: &World, played: &Played, task: &str) -> Result<String, Failed> {
    let (base, run) = (&played.report.base_commit, &played.report.run_id);
    world.git(&format!("log --format=%s {base}..orchestrate/{run}/{task}"))
}

fn a_commit_takes_what_was_selected() -> Outcome {
    let world = world()?;
    let wanted = [
        put("a.txt", "one\n"),
        put("b/c.txt", "c\n"),
        put("kept.txt", "changed\n"),
        ("git_add", json!({"files": ["a.txt", "b"]})),
        put("a.txt", "two\n"),
        status(),
        ("git_diff", json!({"staged": true})),
        commit("Add a and c"),
        status(),
        ("git_diff", json!({"staged": true})),
        ("git_add", json!({"files": ["nowhere"]})),
        commit("Add the rest"),
        commit("Nothing"),
    ];
    let (played, texts) = answers(&world, &wanted)?;
    assert_answers(
        &texts,
        &[
            (3, "the next commit takes:\\nA a.txt\\nA b/c.txt"),
            (5, "selected for the next commit:\\nA a.txt\\nA b/c.txt"),
            (6, "+one"),
            (7, "Add a and c"),
            (8, "M a.txt\\nM kept.txt\""),
            (9, "+changed"),
            (
                10,
                "`nowhere` is neither in your worktree nor in your last commit",
            ),
            (11, "Add the rest"),
            (12, "nothing to commit"),
        ],
    );
    played.require_merged(&["T1"])?;
    let first = format!("orchestrate/{}/T1~1", played.report.run_id);
    let shown = [
        world.repository.show(&first, "a.txt")?,
        world.repository.show(&first, "kept.txt")?,
    ];
    let last = world.merged(&played.report, "a.txt")?;
    let found = (subjects(&world, &played, "T1")?, shown, last);
    let texts = ["one".to_owned(), "kept".to_owned()];
    assert_eq!(
        found,
        (
            "Add the rest\nAdd a and c".to_owned(),
            texts,
            "two".to_owned()
        )
    );
    Ok(())
}

fn a_branch_is_a_name_for_a_commit() -> Outcome {
    let world = world()?;
    let branch =
        |action: &str, name: &str| ("git_branch", json!({"action": action, "branch_name": name}));
    let wanted = [
        put("a.txt", "one\n"),
        commit("One"),
        branch("create", "try/first"),
        branch("create", "try/first"),
        put("a.txt", "two\n"),
        commit("Two"),
        branch("create", "try/first"),
        branch("create", "try"),
        ("git_branch", json!({"action": "list"})),
        branch("create", "other"),
        branch("delete", "other"),
        branch("delete", "other"),
        checkout("try/first~1", &[]),
        checkout("HEAD", &[]),
    ];
    let (played, texts) = answers(&world, &wanted)?;
    assert_answers(
        &texts,
        &[
            (2, "try/first names "),
            (3, "try/first names "),
            (6, "already; delete it first"),
            (7, "cannot stand beside `try/first`"),
            (8, "  try/first "),
            (10, "other is deleted"),
            (11, "you have no branch `other`; yours: try/first"),
            (12, "D a.txt"),
            (13, "A a.txt"),
        ],
    );
    played.require_merged(&["T1"])?;
    let run = &played.report.run_id;
    let listed = world.git(&format!(
        "for-each-ref --format=%(refname) refs/orchestrate/keep/{run}/T1/branch"
    ))?;
    let branches = world.git("branch --list *try*")?;
    assert!(
        listed == format!("refs/orchestrate/keep/{run}/T1/branch/try/first") && branches.is_empty(),
        "{listed}\n{branches}"
    );
    Ok(())
}

fn a_checkout_brings_files_and_can_be_undone() -> Outcome {
    let world = world()?;
    for _ in 0..10 {
        world.git("commit -q --allow-empty -m More")?;
    }
    let wanted = [
        put("a.txt", "one\n"),
        put("run.log", "ignored\n"),
        commit("One"),
        put("a.txt", "two\n"),
        put("new.txt", "new\n"),
        checkout("HEAD", &["a.txt"]),
        status(),
        checkout("HEAD~1", &[]),
        status(),
        checkout("HEAD", &[]),
        status(),
        checkout("main", &["src"]),
        checkout("HEAD", &["nowhere"]),
        checkout("nowhere", &[]),
        ("read_file", json!({"path": "run.log"})),
        ("git_log", json!({})),
        ("git_log", json!({"limit": 1})),
    ];
    let (played, texts) = answers(&world, &wanted)?;
    let logged = [15, 16].map(|at| {
        texts
            .get(at)
            .map_or(0, |text| text.matches("\"author\"").count())
    });
    assert_eq!(logged, [10, 1], "{logged:?}: {:?}", texts.get(15));
    assert_answers(
        &texts,
        &[
            (5, "M a.txt"),
            (6, "A new.txt"),
            (7, "D a.txt\\nD new.txt\\nto undo this, check out "),
            (8, "D a.txt\""),
            (9, "A a.txt"),
            (10, "nothing to commit"),
            (12, "neither HEAD nor your worktree has `nowhere`"),
            (13, "there is no commit `nowhere`"),
            (14, "ignored"),
        ],
    );
    played.require_merged(&["T1"])?;
    // What was replaced is held by a snapshot.
    let held = world.git("log --glob=refs/orchestrate --format=%s -- new.txt")?;
    assert!(held.contains("Snapshot"), "{held}");
    Ok(())
}

fn changes_are_set_aside_for_one_agent() -> Outcome {
    let world = world()?;
    let wanted = [
        stash("pop"),
        stash("push"),
        put("kept.txt", "mine\n"),
        put("new.txt", "new\n"),
        ("git_stash", json!({})),
        status(),
        stash("list"),
        put("other.txt", "other\n"),
        stash("pop"),
        status(),
        commit("All"),
        put("kept.txt", "aside\n"),
        stash("push"),
        ("read_file", json!({"path": "kept.txt"})),
        put("kept.txt", "in the way\n"),
        stash("pop"),
        checkout("HEAD", &[]),
        put("gone.txt", "gone\n"),
        stash("push"),
        stash("drop"),
        stash("list"),
    ];
    let (played, texts) = answers(&world, &wanted)?;
    assert_answers(
        &texts,
        &[
            (0, "nothing is set aside"),
            (1, "nothing to set aside"),
            (4, "M kept.txt\\nD new.txt"),
            (5, "nothing to commit"),
            (6, "Changes of T1"),
            (8, "is back in your worktree\\nM kept.txt\\nA new.txt"),
            (9, "M kept.txt\\nA new.txt\\nA other.txt"),
            (12, "set aside as "),
            (
                15,
                "it conflicts with your worktree in kept.txt; nothing changed",
            ),
            (19, "dropped "),
            (20, "Changes of T1"),
        ],
    );
    played.require_merged(&["T1"])?;
    let prefix = format!("refs/orchestrate/keep/{}/T1", played.report.run_id);
    let dropped = world
        .repository
        .show(&format!("{prefix}/dropped-stash/000003"), "gone.txt")?;
    block_on(
        world
            .archive()?
            .clean(&played.report.run_id, CleanOptions::default()),
    )?;
    let listed = ["stash", "dropped-stash"].map(|folder| format!("{prefix}/{folder}"));
    let left = world.repository.git(&[
        "for-each-ref",
        "--format=%(refname)",
        &listed[0],
        &listed[1],
    ])?;
    let aside = world
        .repository
        .show(&format!("{prefix}/stash/000002"), "kept.txt")?;
    let found = (dropped.as_str(), left, aside.as_str());
    assert_eq!(found, ("gone", format!("{prefix}/stash/000002"), "aside"));
    Ok(())
}

/// The user is not asked about what git, or the run, refuses whatever the answer is.
fn what_cannot_be_done_is_not_asked_about() -> Outcome {
    let world = World::lived_in()?;
    let more = "git_merge, send_message_to_agent, get_agent_status, spawn_child_agent, terminate_agent, \
        wait_for_agents, aggregate_agent_results";
    world.commit(
        ".orchestrate/agents/keeper.md",
        &ROLE.replace("git_merge", more),
    )?;
    let branch =
        |action: &str, name: &str| ("git_branch", json!({"action": action, "branch_name": name}));
    let (one, several) = (json!({"agent_id": "T9"}), json!({"agent_ids": ["T9"]}));
    let unknown = "there is no agent 'T9' in this run";
    let refused = [
        (
            commit("Nothing"),
            "nothing to commit: the worktree has no changes",
        ),
        (
            ("git_add", json!({"files": ["nowhere"]})),
            "`nowhere` is neither in your worktree nor in your last commit",
        ),
        (branch("delete", "nowhere"), "you have no branch `nowhere`"),
        (
            branch("create", "HEAD"),
            "`HEAD` means something else already",
        ),
        (checkout("nowhere", &[]), "there is no commit `nowhere`"),
        (
            checkout("HEAD", &["nowhere"]),
            "neither HEAD nor your worktree has `nowhere`",
        ),
        (stash("pop"), "nothing is set aside"),
        (stash("drop"), "nothing is set aside"),
        (
            stash("push"),
            "nothing to set aside: the worktree has no changes",
        ),
        (
            merge("nowhere"),
            "`nowhere` cannot be merged; these can: integration",
        ),
        (
            (
                "send_message_to_agent",
                json!({"agent_id": "T9", "message": "x"}),
            ),
            unknown,
        ),
        (("get_agent_status", one.clone()), unknown),
        (
            ("spawn_child_agent", json!({"task": "x", "role": "nobody"})),
            "there is no role 'nobody'",
        ),
        (("terminate_agent", one), unknown),
        (("wait_for_agents", several.clone()), unknown),
        (("aggregate_agent_results", several), unknown),
    ];
    let asks = |((tool, _), _): &(Call, &str)| RuleText::new(RuleDecision::Ask, *tool, "--ask");
    let rules: Vec<RuleText> = refused.iter().map(asks).collect();
    let mut wanted: Vec<Call> = refused.iter().map(|(call, _)| call.clone()).collect();
    wanted.push(put("a.txt", "one\n"));
    let played = world.play("- [ ] T1 work\n", &calls("T1", &wanted), |settings| {
        as_keeper(settings);
        settings.run.rules = rules;
        settings.run.ask_parks = true;
    })?;
    played.require_merged(&["T1"])?;
    let expected: Vec<(usize, &str)> = refused
        .iter()
        .map(|(_, expected)| *expected)
        .enumerate()
        .collect();
    assert_answers(&played.results("T1")?, &expected);
    Ok(())
}

/// A script of two tasks, of which the second begins beside the first, and works once that is done.
fn two_agents(first: &[Call], second: &[&[Call]]) -> Script {
    let first = in_one_turn(on("T1", 1), first);
    let wait = waits(on("T2", 1), &["T1"]);
    let script = Script::default().rule(first).rule(done("T1")).rule(wait);
    let script = (2..).zip(second).fold(script, |script, (turn, calls)| {
        script.rule(in_one_turn(on("T2", turn), calls))
    });
    script.rule(done("T2"))
}

fn merge(branch: &str) -> Call {
    ("git_merge", json!({ "branch": branch }))
}

fn another_agents_work_is_merged() -> Outcome {
    let world = world()?;
    let first = [
        put("one.txt", "1\n"),
        put("src/lib.txt", "ONE\ntwo\nthree\n"),
        commit("Work of one"),
    ];
    let second = [
        put("two.txt", "2\n"),
        merge("T1"),
        status(),
        merge("T1"),
        merge("main"),
        merge("T2"),
    ];
    let script = two_agents(&first, &[&second]);
    let played = world.play("- [ ] T1 a\n- [ ] T2 b\n", &script, as_keeper)?;
    let texts = played.results("T2")?;
    assert_answers(
        &texts,
        &[
            (2, "merged T1 ("),
            (2, "A one.txt\\nM src/lib.txt"),
            (3, "A two.txt\""),
            (4, "your branch has everything of T1"),
            (5, "`main` cannot be merged; these can: integration, T1"),
            (6, "your branch has everything of T2"),
        ],
    );
    played.require_merged(&["T1", "T2"])?;
    let merges = world.git(&format!(
        "log --merges --format=%s {}..orchestrate/{}/T2",
        played.report.base_commit, played.report.run_id
    ))?;
    let files = [
        world.merged(&played.report, "one.txt")?,
        world.merged(&played.report, "two.txt")?,
    ];
    assert_eq!(merges, "Merge T1 into T2", "{files:?}");
    assert_eq!(files, ["1", "2"], "{merges}");
    Ok(())
}

fn a_conflict_is_listed_and_resolved() -> Outcome {
    let world = world()?;
    let first = [
        put("src/lib.txt", "one\nT1\nthree\n"),
        put("one.txt", "1\n"),
        commit("Work of one"),
    ];
    let begun = [
        put("src/lib.txt", "one\nT2\nthree\n"),
        merge("T1"),
        commit("Work of two"),
        merge("T1"),
        status(),
        commit("Too early"),
        stash("push"),
        ("read_file", json!({"path": "src/lib.txt"})),
    ];
    let resolved = [
        put("src/lib.txt", "one\nT1\nT2\nthree\n"),
        commit("Resolve"),
        status(),
    ];
    let script = two_agents(&first, &[&begun, &resolved]);
    let played = world.play("- [ ] T1 a\n- [ ] T2 b\n", &script, as_keeper)?;
    let texts = played.results("T2")?;
    assert_answers(
        &texts,
        &[
            (2, "nothing was merged, because of `src/lib.txt`"),
            (4, "src/lib.txt: contents\\n  lines 2-8"),
            (4, "\"theirs\":\"T1\\n\""),
            (5, "merging "),
            (6, "the merge in progress is not resolved in src/lib.txt:2"),
            (7, "a merge is in progress"),
            (8, "<<<<<<< T1"),
            (10, "Resolve"),
            (11, "nothing to commit"),
        ],
    );
    played.require_merged(&["T1", "T2"])?;
    let returned = played.pick(|event| matches!(event, Event::TaskReturned { .. }).then_some(()));
    let text = world.merged(&played.report, "src/lib.txt")?;
    assert!(returned.is_empty(), "{played}");
    assert_eq!(text, "one\nT1\nT2\nthree", "{played}");
    Ok(())
}

/// Names that mean something else, to git, to a shell or to the run.
const HOSTILE_NAMES: [&str; 18] = [
    "../x",
    "a..b",
    "-x",
    "-o",
    "--upload-pack=x",
    "HEAD",
    "integration",
    "T1",
    "a/",
    "/a",
    "a b",
    "x.lock",
    "deadbeef",
    "é",
    "a^{}",
    "@",
    "a\nb",
    "refs/../x",
];

/// Revisions that are no commit's, or that git would read in a way of its own.
const HOSTILE_REVISIONS: [&str; 13] = [
    ":/x",
    "main@{upstream}",
    "stash@{0}",
    "stash",
    "-f",
    "--upload-pack=x",
    "HEAD; id",
    "HEAD^{/x}",
    "../../HEAD",
    "main..HEAD",
    "",
    "HEAD~99",
    "*",
];

fn hostile_names_and_paths_are_refused() -> Outcome {
    let world = world()?;
    let create = |name: &str| {
        (
            "git_branch",
            json!({"action": "create", "branch_name": name}),
        )
    };
    let mut wanted = vec![shell("ln -s /etc out; echo x > run.log")];
    let paths = ["../x", "/etc/passwd", ".git/config", "~/.ssh/id_rsa"];
    let tried = ["out/passwd", "nowhere", "run.log", "a\u{7}b", ":(top)../x"];
    wanted.extend(
        paths
            .iter()
            .chain(&tried)
            .map(|path| ("git_add", json!({ "files": [path] }))),
    );
    wanted.extend(
        paths
            .iter()
            .chain(&tried)
            .map(|path| checkout("HEAD", &[path])),
    );
    wanted.extend(HOSTILE_NAMES.iter().map(|name| create(name)));
    wanted.extend(
        HOSTILE_REVISIONS
            .iter()
            .map(|revision| checkout(revision, &[])),
    );
    wanted.extend(
        HOSTILE_REVISIONS
            .iter()
            .filter(|name| !name.is_empty())
            .map(|name| merge(name)),
    );
    let refused = wanted.len() - 1;
    // The control: by the same calls, a plain path, revision and name go through, as git shows
    // below.
    wanted.extend([
        put("kept.txt", "changed\n"),
        put("plain.txt", "plain\n"),
        checkout("HEAD", &["kept.txt"]),
        ("git_add", json!({"files": ["plain.txt"]})),
        commit("Add a plain file"),
        create("plain"),
        merge("integration"),
    ]);
    let played = world.play("- [ ] T1 work\n", &calls("T1", &wanted), as_keeper)?;
    let classes = played.pick(|event| match event {
        Event::ToolFinished {
            tool, error_class, ..
        } if tool != "run_shell_command" => Some(*error_class),
        _ => None,
    });
    let denied = |at: usize| {
        at % (paths.len() + tried.len()) < paths.len() && at < 2 * (paths.len() + tried.len())
    };
    let class = |at: usize| {
        Some(if denied(at) {
            ErrorKind::Denied
        } else {
            ErrorKind::Retry
        })
        .filter(|_| at < refused)
    };
    let expected: Vec<_> = (0..wanted.len() - 1).map(class).collect();
    if classes != expected {
        let texts = played.results("T1")?;
        let wrong = classes
            .iter()
            .zip(&expected)
            .position(|(found, expected)| found != expected);
        return fail(format!(
            "{wrong:?}: {:?}\n{}",
            wrong.map(|at| &wanted[at + 1]),
            wrong.map_or("", |at| &texts[at + 1])
        ));
    }
    let own = format!("refs/orchestrate/keep/{}/T1/branch", played.report.run_id);
    let listed = world.git(&format!("for-each-ref --format=%(refname) {own}"))?;
    let found = ["plain.txt", "kept.txt"]
        .map(|path| world.repository.show(&listed, path).unwrap_or_default());
    assert_eq!(listed, format!("{own}/plain"), "{found:?}");
    assert_eq!(found, ["plain", "kept"], "{listed}");
    Ok(())
}

fn a_command_names_the_tool_to_use() -> Outcome {
    let world = world()?;
    let wanted = [
        put("a.txt", "a\n"),
        shell("git push origin HEAD"),
        shell("git status --short; git log --oneline -1; git blame kept.txt"),
    ];
    let (played, texts) = answers(&world, &wanted)?;
    assert_answers(
        &texts,
        &[
            (1, "your branch is merged for you"),
            (2, "?? a.txt"),
            (2, "\"exit_code\":0"),
        ],
    );
    played.require_merged(&["T1"])
}

/// A command may change a forbidden file, whose content git then knows.
fn forbidden_files_are_neither_shown_nor_put_back() -> Outcome {
    let world = world()?;
    world.commit("secrets/k.md", "old\n")?;
    let change = "echo hidden-line > secrets/k.md; echo shown-line > other.md";
    let wanted = [
        shell(change),
        ("git_diff", json!({})),
        stash("push"),
        shell("cat secrets/k.md"),
    ];
    let played = world.play("- [ ] T1 work\n", &calls("T1", &wanted), |settings| {
        as_keeper(settings);
        settings.run.tool_settings.file_operations.forbidden_paths = vec!["secrets".to_owned()];
    })?;
    let texts = played.results("T1")?;
    let [_, diff, stashed, kept] = texts.as_slice() else {
        return fail(format!("{texts:#?}"));
    };
    let shows = diff.contains("shown-line")
        && diff.contains("[not shown, as the rules demand: secrets/k.md]");
    assert!(shows && !diff.contains("hidden-line"), "{diff}");
    assert!(
        stashed.contains("the user forbids `secrets`") && kept.contains("hidden-line"),
        "{stashed}\n{kept}"
    );
    Ok(())
}

/// A command may also put a forbidden file into its branch; no tool of another agent brings it from
/// there.
fn no_checkout_and_no_merge_changes_forbidden_files() -> Outcome {
    let world = world()?;
    world.commit("secrets/k.md", "old\n")?;
    let state = || shell("cat secrets/k.md kept.txt");
    let first = [
        shell("echo hidden-line > secrets/k.md; echo theirs > kept.txt"),
        commit("Work of one"),
    ];
    let second = [
        merge("T1"),
        checkout("T1", &[]),
        state(),
        checkout("T1", &["kept.txt"]),
        state(),
    ];
    let third = [
        shell("echo mine > secrets/k.md"),
        checkout("HEAD", &[]),
        state(),
        shell("echo old > secrets/k.md"),
    ];
    let script = two_agents(&first, &[&second, &third]);
    let played = world.play("- [ ] T1 a\n- [ ] T2 b\n", &script, |settings| {
        as_keeper(settings);
        settings.run.tool_settings.file_operations.forbidden_paths = vec!["secrets".to_owned()];
    })?;
    let refused =
        "nothing was changed, since this would change `secrets/k.md`: the user forbids `secrets`";
    let expected = [
        (1, refused),
        (2, refused),
        (3, "old\\nkept"),
        (4, "M kept.txt"),
        (5, "old\\ntheirs"),
        (7, refused),
        (8, "mine\\ntheirs"),
    ];
    assert_answers(&played.results("T2")?, &expected);
    played.require_merged(&["T1", "T2"])
}

/// The repository's configuration has settings that are not shown.
fn git_works_in_the_fallback_tier() -> Outcome {
    let world = world()?;
    world
        .repository
        .git(&["config", "credential.helper", "!echo password=s3cret"])?;
    let reads = "git status --short && git diff --stat && git log --format=%s -1 && git blame kept.txt && \
        (cd src && git -C .. rev-parse --show-toplevel)";
    let script = calls(
        "T1",
        &[
            put("kept.txt", "changed\n"),
            shell(reads),
            shell("cat \"$(git rev-parse --git-dir)/config\"; git config --get credential.helper"),
            shell("git commit -qam x; echo config: $(git log -1 --format=%s)"),
        ],
    );
    let model = world.script(&script)?;
    let plan = world.write("plan.md", "- [ ] T1 work\n")?;
    let typed = ["run", &plan, "--model", &model, "--agent", "keeper"];
    world
        .home
        .remounted(WITHOUT_BUBBLEWRAP, world.repository.path(), &typed)
        .run()?
        .exits(0)?;
    let coordinator = world.coordinator(&script, as_keeper)?;
    let run = coordinator
        .store()
        .latest_run()?
        .ok_or_else(|| Failed::from("there is no run"))?;
    let mut told = String::new();
    for fact in coordinator.store().events(&run, 0, usize::MAX)? {
        if let Event::ToolFinished { result, .. } = fact.event {
            told.push_str(&String::from_utf8(coordinator.store().blob(&result)?)?);
        }
    }
    let shown = [
        " M kept.txt",
        "1 file changed",
        "Change .orchestrate/agents/keeper.md",
        "Not Committed Yet",
        "config: x",
    ];
    assert!(shown.iter().all(|text| told.contains(text)), "{told}");
    assert!(!told.contains("s3cret"), "{told}");
    Ok(())
}
