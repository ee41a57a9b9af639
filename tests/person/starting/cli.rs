//! What scripts and users rely on: exit codes, output formats, errors that say what to type next.

use libtest_mimic::Failed;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Case, Home, Outcome, Ran, Repository, Script, World, at, case, done, fail, lines, sandboxed,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(wrong_usage_exits_2_and_says_what_to_type),
        case!(what_is_not_built_yet_is_never_ignored),
        sandboxed!(bad_surroundings_are_refused_before_anything_begins),
        sandboxed!(gits_variables_say_who_commits),
        sandboxed!(the_configuration_that_git_finds_says_who_commits),
        sandboxed!(the_stream_ends_with_the_json_object),
        sandboxed!(a_plan_alone_is_run_and_the_rest_shows_it),
        sandboxed!(the_log_shows_what_commands_printed),
        sandboxed!(signals_end_a_run_with_its_state_kept),
        sandboxed!(a_second_coordinator_is_refused_with_the_firsts_pid),
        sandboxed!(a_dead_run_is_not_called_running_and_goes_on),
        sandboxed!(a_message_takes_a_dead_run_over),
        sandboxed!(a_merge_of_the_users_hides_no_run),
        sandboxed!(nothing_begins_where_nothing_can_be_recorded),
        case!(errors_have_the_format_that_is_set),
        sandboxed!(what_cannot_be_landed_waits_for_a_person),
    ]
}

fn wrong_usage_exits_2_and_says_what_to_type() -> Outcome {
    let world = World::plain()?;
    world.repository.write("plan.md", "- [ ] T1 Write it\n")?;
    world.repository.write("binary.md", "- [ ] T1\u{0}\n")?;
    let table: [(&[&str], &str); 10] = [
        (&[], "Usage"),
        (&["stauts"], "did you mean `orchestrate status`?"),
        (&["run", "nope.md"], "orchestrate demo"),
        (&["run", "binary.md"], "binary"),
        (&["run", "plan.md", "--bogus"], "--bogus"),
        (&["run", "plan.md", "--max-agents", "0"], "from 1 to 1000"),
        (
            &["run", "plan.md", "--context-tokens", "3499"],
            "a whole number, at least 3500, since an agent's instructions",
        ),
        (&["run", "plan.md", "--deny", "Bash(x"], "parenthesis"),
        (&["run", "plan.md", "--deny", "nosuchtool"], "no such tool"),
        (&["status"], "orchestrate run PLAN"),
    ];
    for (arguments, said) in table {
        let ran = world.types(arguments, 2)?;
        assert!(ran.stderr.contains(said), "{arguments:?}: {ran:?}");
        assert!(ran.stdout.is_empty(), "{arguments:?}: {ran:?}");
    }
    let json = world.orchestrate(&["run", "nope.md", "--output-format", "stream-json"]);
    let error = json.run()?.exits(2)?.json()?;
    assert_eq!(at(&error, "/type")?, "error", "{error}");
    assert_eq!(at(&error, "/exit_code")?, 2, "{error}");
    Ok(())
}

fn what_is_not_built_yet_is_never_ignored() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    world.repository.write(
        "replay.md",
        "---\nmodel: replay:r-abcdef\n---\n- [ ] T1 Make it (run: touch made)\n",
    )?;
    let table: [&[&str]; 4] = [
        &["blame", "README.md:1"],
        &["run", "plan.md", "--model", "replay:r-abcdef"],
        &["run", "replay.md"],
        &["check", "replay.md"],
    ];
    for arguments in table {
        let ran = world.types(arguments, 2)?;
        assert!(
            format!("{}{}", ran.stdout, ran.stderr).contains("not available yet"),
            "{arguments:?}: {ran:?}"
        );
    }
    Ok(())
}

/// Git's variables name another configuration than the file in the user's home.
fn the_configuration_that_git_finds_says_who_commits() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    for key in ["user.name", "user.email"] {
        world.git(&format!("config --unset {key}"))?;
    }
    let person =
        |name: &str| format!("[user]\n\tname = {name}\n\temail = {name}@example.invalid\n");
    std::fs::create_dir_all(world.home.path().join("home"))?;
    std::fs::write(world.home.path().join("home/.gitconfig"), person("Wrong"))?;
    let global = world.home.path().join("chosen");
    std::fs::write(&global, person("Chosen"))?;
    let global = global.to_string_lossy().into_owned();
    let counted = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "author.name"),
        ("GIT_CONFIG_VALUE_0", "Counted"),
    ];
    let ways: [(&[(&str, &str)], &str); 3] = [
        (
            &[("GIT_CONFIG_GLOBAL", &global)],
            "Chosen <Chosen@example.invalid>",
        ),
        (&counted, "Counted <Wrong@example.invalid>"),
        (
            &[("GIT_CONFIG_PARAMETERS", "'user.name'='Given'")],
            "Given <Wrong@example.invalid>",
        ),
    ];
    for (variables, expected) in ways {
        let run = world.orchestrate(&["run", "plan.md"]);
        let ran = variables
            .iter()
            .fold(run, |run, (name, value)| run.env(name, value))
            .run()?
            .exits(0)?;
        let signed = world.repository.git(&[
            "log",
            "--format=%an <%ae>",
            "--glob=refs/heads/orchestrate/*",
        ])?;
        if !signed.lines().any(|line| line == expected) || signed.contains("Wrong <") {
            return fail(format!("{variables:?}: {signed}\n{}", ran.stdout));
        }
    }
    Ok(())
}

/// As in git itself, the variables override the configuration; the names of both author and
/// committer have to be known.
fn gits_variables_say_who_commits() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    world.git("config --unset user.name")?;
    let author = [
        ("GIT_AUTHOR_NAME", "Ada"),
        ("GIT_AUTHOR_EMAIL", "ada@example.invalid"),
    ];
    let both = [author[0], author[1], ("GIT_COMMITTER_NAME", "Bot")];
    let type_in = |typed: &[&str], variables: &[(&str, &str)]| {
        let command = world.orchestrate(typed);
        variables
            .iter()
            .fold(command, |command, (name, value)| command.env(name, value))
            .run()
    };
    let refused = type_in(&["run", "plan.md"], &author)?.exits(2)?;
    let doctor = type_in(&["doctor"], &both)?.stdout;
    assert!(
        refused.stderr.contains("git config user.name")
            && doctor.contains("git has a user.name and user.email"),
        "{}",
        refused.stderr + &doctor
    );
    type_in(&["run", "plan.md"], &both)?.exits(0)?;
    // The committer's name may come from the configuration, too.
    world.git("config committer.name Bot")?;
    world.repository.git(&[
        "-c",
        "user.name=Eve",
        "-c",
        "committer.name=Eve",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "Go on",
    ])?;
    type_in(&["land"], &author)?.exits(0)?;
    let signed = world.repository.git(&[
        "log",
        "--format=%an <%ae>, %cn <%ce>",
        "HEAD",
        "--not",
        "HEAD^1",
    ])?;
    let expected = "Ada <ada@example.invalid>, Bot <test@example.invalid>";
    assert_eq!(signed.lines().count(), 3, "{signed}");
    assert!(signed.lines().all(|line| line == expected), "{signed}");
    Ok(())
}

fn bad_surroundings_are_refused_before_anything_begins() -> Outcome {
    let home = Home::new()?;
    let plan = "- [ ] T1 Make it (run: touch made)\n";
    let refuses = |repository: &Repository, said: &str| -> Outcome {
        repository.write("plan.md", plan)?;
        let ran = home
            .orchestrate(repository.path(), &["run", "plan.md"])
            .run()?
            .exits(2)?;
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
        Ok(())
    };
    refuses(&Repository::unborn()?, "no commit yet")?;
    let anonymous = Repository::plain()?;
    anonymous.git(&["config", "--unset", "user.name"])?;
    anonymous.git(&["config", "--unset", "user.email"])?;
    refuses(&anonymous, "git config user.name")?;
    let merging = Repository::plain()?;
    merging.write(".git/MERGE_HEAD", &merging.git(&["rev-parse", "HEAD"])?)?;
    refuses(&merging, "a merge is in progress")?;
    std::fs::write(home.path().join("plan.md"), plan)?;
    let ran = home
        .orchestrate(home.path(), &["run", "plan.md"])
        .run()?
        .exits(2)?;
    assert!(ran.stderr.contains("git init"), "{}", ran.stderr);
    // Agents could never be told a text that cannot be read, so such a run does not start.
    for file in [
        "AGENTS.md",
        ".orchestrate/prompts/system/task.md",
        ".orchestrate/agents/own.md",
    ] {
        let unreadable = Repository::plain()?;
        let path = unreadable.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap_or(unreadable.path()))?;
        std::fs::write(path, b"---\nname: own\ndescription: Own.\n---\nNa\xefve.\n")?;
        unreadable.commit_all("Add a text")?;
        refuses(&unreadable, &format!("{file}: it is not UTF-8"))?;
        let shown = home
            .orchestrate(unreadable.path(), &["status"])
            .run()?
            .exits(2)?;
        if !shown.stderr.contains("this repository has no runs") {
            return fail(shown.stderr);
        }
    }
    // The plan needs a model and there is none, so every way to set one is named.
    let keyless = Repository::plain()?;
    keyless.write("plan.md", "- [ ] T1 Write it\n")?;
    let ran = home
        .orchestrate(keyless.path(), &["run", "plan.md"])
        .run()?
        .exits(2)?;
    let ways = [
        "--model",
        "ORCHESTRATE_MODEL",
        "OPENAI_API_KEY",
        "--base-url",
        "orchestrate demo",
    ];
    assert!(
        ways.iter().all(|way| ran.stderr.contains(way)),
        "{}",
        ran.stderr
    );
    Ok(())
}

fn the_stream_ends_with_the_json_object() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 Make it (run: touch made)\n- [ ] T2 Fail (run: exit 3) (depends: T1)\n",
    )?;
    let ran = world.types(&["run", "plan.md", "--output-format", "stream-json"], 1)?;
    let facts = lines(&ran.stdout)?;
    for (number, fact) in (1..).zip(&facts) {
        for key in ["type", "ts", "run_id", "seq", "v"] {
            at(fact, &format!("/{key}"))?;
        }
        if at(fact, "/seq")?.as_u64() != Some(number) {
            return fail(format!("fact {number} is {fact}"));
        }
    }
    let kinds: Vec<&str> = facts
        .iter()
        .filter_map(|fact| fact.get("type")?.as_str())
        .collect();
    let wanted = [
        "run.started",
        "task.ready",
        "agent.spawned",
        "task.committed",
        "task.merged",
        "task.failed",
        "run.finished",
    ];
    if let Some(missing) = wanted.iter().find(|kind| !kinds.contains(kind)) {
        return fail(format!("no {missing} in {kinds:?}"));
    }
    let last = facts.last().cloned().unwrap_or_default();
    let mut shown = world.types(&["status", "--json"], 0)?.json()?;
    if let Some(object) = shown.as_object_mut() {
        object.remove("approvals");
        object.remove("unread_messages");
        object.remove("questions");
        object.remove("recorded_requests");
        object.remove("messages_to_user");
        object.remove("working");
        object.remove("worktrees");
        for (key, value) in object.iter() {
            if last.get(key) != Some(value) {
                return fail(format!("{key}: {value} instead of {:?}", last.get(key)));
            }
        }
    }
    assert_eq!(at(&last, "/exit_code")?, 1, "{last}");
    assert_eq!(at(&last, "/status")?, "failed", "{last}");
    Ok(())
}

fn a_plan_alone_is_run_and_the_rest_shows_it() -> Outcome {
    let world = World::lived_in()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    let before = world.repository.fingerprint()?;
    let run = world.types(&["plan.md"], 0)?;
    before.require_same(&world.repository.fingerprint()?)?;
    let table: [(&str, &[&str]); 4] = [
        (
            &run.stdout,
            &["T1", "merged", "orchestrate/r-", "orchestrate land"],
        ),
        (&run.stderr, &["have uncommitted changes", "T1: merged as"]),
        (&world.types(&["status"], 0)?.stdout, &["succeeded", "T1"]),
        (&world.types(&["log", "T1"], 0)?.stdout, &["T1: committed"]),
    ];
    for (text, words) in table {
        if let Some(missing) = words.iter().find(|word| !text.contains(**word)) {
            return fail(format!("no {missing:?} in {text}"));
        }
    }
    assert!(!run.stderr.contains('\u{1b}'), "colours without a terminal");
    assert!(!run.stdout.contains('\u{1b}'), "colours without a terminal");
    let runs = world.types(&["status", "--all", "--json"], 0)?.json()?;
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(1), "{runs}");
    Ok(())
}

fn the_log_shows_what_commands_printed() -> Outcome {
    let world = World::plain()?;
    let plan = "- [ ] T1 Make it (run: touch made; echo said by the command) (verify: echo said by the check)\n";
    world.repository.write("plan.md", plan)?;
    let run = world.types(&["run", "plan.md"], 0)?;
    assert!(
        run.stderr
            .contains("warning: 1 file has uncommitted changes"),
        "{}",
        run.stderr
    );
    let log = world.types(&["log", "T1", "--tools"], 0)?.stdout;
    let said: Vec<&str> = log
        .lines()
        .filter(|line| !line.contains("Z T1: "))
        .map(|line| line.trim_start_matches([' ', '|']))
        .collect();
    let command = "command: touch made; echo said by the command";
    assert_eq!(
        said,
        [
            command,
            "said by the command",
            "",
            "exit code 0",
            "said by the check"
        ],
        "{log}"
    );
    let transcript = world.types(&["log", "T1", "--transcript"], 0)?.stdout;
    let wanted = "< run: ok\n  | said by the command\n  |\n  | exit code 0\n";
    assert_eq!(transcript, wanted);
    Ok(())
}

fn a_merge_of_the_users_hides_no_run() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    world.types(&["run", "plan.md"], 0)?;
    world
        .repository
        .write(".git/MERGE_HEAD", &world.git("rev-parse HEAD")?)?;
    let table: [(&[&str], i32); 9] = [
        (&["status"], 0),
        (&["log"], 0),
        (&["review"], 0),
        (&["diff", "T1"], 0),
        (&["stop"], 0),
        (&["recover"], 0),
        (&["clean", "--dry-run"], 0),
        (&["land"], 2),
        (&["run", "plan.md"], 2),
    ];
    for (arguments, code) in table {
        let ran = world.types(arguments, code)?;
        if (code == 2) != ran.stderr.contains("a merge is in progress") {
            return fail(format!("{arguments:?}: {ran:?}"));
        }
    }
    Ok(())
}

/// A plan whose only task runs until it is stopped.
const ENDLESS: &str = "- [ ] T1 Wait (run: sleep 600)\n";

fn signals_end_a_run_with_its_state_kept() -> Outcome {
    const DRAINS: (Signal, &str) = (Signal::INT, "Ctrl-C again stops now");
    const STOPS: (Signal, &str) = (Signal::INT, "stopping");
    let table: [(&[(Signal, &str)], i32); 3] = [
        (&[DRAINS, STOPS], 130),
        (&[(Signal::TERM, "stopping")], 143),
        (&[(Signal::HUP, "stopping")], 130),
    ];
    for (signals, code) in table {
        let world = World::plain()?;
        world.repository.write("plan.md", ENDLESS)?;
        let arguments = ["run", "plan.md", "--output-format", "stream-json"];
        let running = world.orchestrate(&arguments).start()?;
        running.line(|line| line.contains("\"tool.started\""))?;
        for (signal, answer) in signals {
            running.signal(*signal)?;
            running.says(answer)?;
        }
        let ended = running.end()?.exits(code)?;
        let last = lines(&ended.stdout)?.pop().unwrap_or_default();
        assert_eq!(at(&last, "/type")?, "run.finished", "{signals:?}: {last}");
        assert_eq!(at(&last, "/exit_code")?, code, "{signals:?}: {last}");
        let status = world.types(&["status", "--json"], 0)?.json()?;
        assert_ne!(at(&status, "/status")?, "running", "{signals:?}: {status}");
    }
    Ok(())
}

fn a_second_coordinator_is_refused_with_the_firsts_pid() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "plan.md",
        &format!("{ENDLESS}- [ ] T2 Look at it (depends: T1)\n"),
    )?;
    let model = Script::default()
        .rule(done("T2"))
        .write_to(&world.home.path().join("model.jsonl"))?;
    let arguments = [
        "run",
        "plan.md",
        "--output-format",
        "stream-json",
        "--model",
        &model,
    ];
    let running = world.orchestrate(&arguments).start()?;
    let line = running.line(|line| line.contains("\"tool.started\""))?;
    let fact: Value = serde_json::from_str(&line)?;
    let run = at(&fact, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let second = world.types(&["resume", &run], 2)?;
    if !second.stderr.contains(&running.pid().to_string()) {
        return fail(second.stderr);
    }
    let status = world.types(&["status", "--json"], 0)?.json()?;
    assert_eq!(at(&status, "/status")?, "running", "{status}");
    assert!(at(&status, "/exit_code")?.is_null(), "{status}");
    world.types(&["message", "nobody", "hello"], 2)?;
    // A live coordinator's answer has the configured format, too.
    let sent = world
        .orchestrate(&["message", "T2", "hello"])
        .env("ORCHESTRATE_OUTPUT_FORMAT", "json");
    let said = sent.run()?.exits(0)?.json()?;
    if at(&said, "/answer")? != "message 1 is queued for T2" {
        return fail(said);
    }
    world.types(&["stop"], 0)?;
    running.end()?.exits(130)?;
    // The control: once the first has ended, the same command takes the run over and starts its
    // command again.
    let resumed = world
        .orchestrate(&["resume", &run, "--output-format", "stream-json"])
        .start()?;
    resumed.line(|line| line.contains("\"tool.started\""))?;
    world.types(&["stop"], 0)?;
    resumed.end()?.exits(130).map(drop)
}

/// A plan whose only task runs long enough to be killed in the middle.
const SLOW: &str = "- [ ] T1 Make it (run: sleep 1; touch made)\n";

/// Starts a run of a command and an agent that depends on it, and kills the coordinator while the
/// command runs.
fn killed(home: &Home) -> Result<Repository, Failed> {
    let repository = Repository::plain()?;
    repository.write(
        "plan.md",
        &format!("{SLOW}- [ ] T2 Look at it (depends: T1)\n"),
    )?;
    let script = Script::default().writes("T2", "looked", "1\n");
    let model = script.write_to(&home.path().join("model.jsonl"))?;
    let arguments = [
        "run",
        "plan.md",
        "--output-format",
        "stream-json",
        "--model",
        &model,
    ];
    let running = home.orchestrate(repository.path(), &arguments).start()?;
    running.line(|line| line.contains("\"tool.started\""))?;
    running.signal(Signal::KILL)?;
    running.end()?.exits(137)?;
    Ok(repository)
}

fn a_dead_run_is_not_called_running_and_goes_on() -> Outcome {
    let home = Home::new()?;
    let repository = killed(&home)?;
    let status = home
        .orchestrate(repository.path(), &["status", "--json"])
        .run()?
        .exits(0)?
        .json()?;
    assert_eq!(at(&status, "/status")?, "stopped", "{status}");
    assert!(at(&status, "/exit_code")?.is_null(), "{status}");
    let stopped = home
        .orchestrate(repository.path(), &["stop"])
        .run()?
        .exits(0)?;
    let report = home
        .orchestrate(repository.path(), &["resume", "--json"])
        .run()?
        .exits(0)?
        .json()?;
    assert_eq!(at(&report, "/tasks/0/state")?, "merged", "{report}");
    assert!(stopped.stdout.contains("orchestrate resume"), "{report}");
    Ok(())
}

fn a_message_takes_a_dead_run_over() -> Outcome {
    let home = Home::new()?;
    let repository = killed(&home)?;
    let ran = home
        .orchestrate(
            repository.path(),
            &["message", "T2", "look at both files", "--follow"],
        )
        .run()?
        .exits(0)?;
    let log = home
        .orchestrate(repository.path(), &["log", "--messages"])
        .run()?
        .exits(0)?;
    let told = ran.stderr.contains("taking it over")
        && log.stdout.contains("message from you: look at both files");
    let told = told && log.stdout.contains("T2: has received message 1 from you");
    let told = told && log.stdout.matches("look at both files").count() == 1;
    assert!(told, "{ran:?} {log:?}");
    Ok(())
}

fn nothing_begins_where_nothing_can_be_recorded() -> Outcome {
    let world = World::plain()?;
    world.repository.write("plan.md", SLOW)?;
    // A file where the folder should be stops even a superuser.
    std::fs::write(world.home.path().join("blocked"), "")?;
    let before = world.repository.fingerprint()?;
    let run = world
        .orchestrate(&["run", "plan.md"])
        .env("XDG_STATE_HOME", world.home.path().join("blocked"));
    let ran = run.run()?.exits(2)?;
    before.require_same(&world.repository.fingerprint()?)?;
    let told = ran.stderr.contains("blocked")
        && ran.stderr.contains("set XDG_STATE_HOME to another folder");
    assert!(told, "{}", ran.stderr);
    Ok(())
}

/// The format that the environment or a file sets applies to errors, too, unless the command line
/// names another one.
fn errors_have_the_format_that_is_set() -> Outcome {
    let world = World::plain()?;
    let by_variable = |typed: &[&str]| {
        world
            .orchestrate(typed)
            .env("ORCHESTRATE_OUTPUT_FORMAT", "stream-json")
            .run()?
            .exits(2)
    };
    let is_error = |ran: &Ran| Ok::<_, Failed>(*at(&ran.json()?, "/type")? == "error");
    for typed in [
        ["run", "nowhere.md"],
        ["run", "--bogus"],
        ["land", "r-nowhere"],
    ] {
        let ran = by_variable(&typed)?;
        assert!(is_error(&ran)?, "{typed:?}: {ran:?}");
    }
    for typed in [
        &["run", "nowhere.md", "--output-format", "text"][..],
        &["diff", "T1"],
    ] {
        let ran = by_variable(typed)?;
        assert!(ran.stdout.is_empty(), "{typed:?}: {ran:?}");
    }
    world
        .repository
        .write("orchestrate.toml", "output_format = \"json\"\n")?;
    let ran = world.types(&["run", "nowhere.md"], 2)?;
    assert!(is_error(&ran)?, "{}", ran.stdout);
    Ok(())
}

/// A run that succeeds but cannot be landed ends as the landing does.
fn what_cannot_be_landed_waits_for_a_person() -> Outcome {
    let world = World::plain()?;
    world.commit("mine.txt", "1\n")?;
    world.repository.write("mine.txt", "mine\n")?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 Change it (run: echo theirs > mine.txt)\n",
    )?;
    let ran = world.types(&["run", "plan.md", "--land", "--json"], 3)?;
    let report = ran.json()?;
    let agrees = *at(&report, "/exit_code")? == 3 && *at(&report, "/status")? == "needs_human";
    let kept = world.repository.read("mine.txt")? == "mine\n";
    assert!(agrees && kept && ran.stderr.contains("mine.txt"), "{ran:?}");
    world.git("restore mine.txt")?;
    let landed = world.types(&["run", "plan.md", "--land"], 0)?;
    let said = landed.stderr.contains("has landed") && !landed.stdout.contains("orchestrate land");
    assert!(said, "{landed:?}");
    assert_eq!(world.repository.read("mine.txt")?, "theirs\n", "{landed:?}");
    Ok(())
}
