//! Secrets in whole runs: models, files and commands print them in every form, and none is shown or
//! recorded.

use std::path::Path;

use libtest_mimic::Failed;
use orchestrate_core::TaskState::{Failed as FailedTask, Merged};
use serde_json::json;

use crate::support::{
    Case, ModelServer, Outcome, Reply, Script, World, case, done, fail, on, put, reads, shell,
    write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(what_a_tool_reads_is_redacted),
        case!(what_was_redacted_is_never_written_back),
        case!(ordinary_words_stay_what_they_are),
        case!(what_a_check_says_is_redacted),
        case!(what_a_server_echoes_is_shown_to_nobody),
        case!(a_plan_that_holds_a_key_is_refused),
    ]
}

const KEY: &str = "sk-test-0123456789-ABCDEFGHIJ-never-shown";

/// The password of the repository's remote.
const PASSWORD: &str = "password-of-the-remote-1";

/// A shell command that prints the secrets in every form, each on its own line.
const PRINT: &str = "k=$(cat secret.txt); echo \"$k\"; echo \"$k\" | tr a-zA-Z A-Za-z; printf %s \"$k\" | rev; echo; \
    printf %s \"$k\" | base64; printf %s \"x$k\" | base64; printf %s \"xy$k\" | base64 -w 0 | tr +/ -_; echo; \
    printf %s \"$k\" | od -An -v -tx1 | tr -d ' \\n'; echo; printf %s \"$k\" | od -An -v -tx1 | tr -d '\\n' | tr ' ' %; \
    echo; cat remote.txt";

/// Returns the beginning of each form in lower case, long enough to be unmistakable.
fn traces() -> Vec<String> {
    let backwards: String = KEY.chars().rev().collect();
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = KEY.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let base64 = ["c2stdGVzdC0wMTIz", "zay10ZXN0LTAxMj", "rlXRlc3QtMDEyMz"].map(str::to_owned);
    let cut = |text: &str| text.chars().take(14).collect::<String>().to_lowercase();
    let plain = [KEY, &backwards, &hex, &percent, PASSWORD].map(cut);
    plain
        .into_iter()
        .chain(base64.map(|text| cut(&text)))
        .collect()
}

/// Returns the first trace in a text.
fn trace_in(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    traces().into_iter().find(|trace| text.contains(trace))
}

/// Requires that no trace is in a journal: its database and its blobs.
fn require_unwritten(state: &Path) -> Outcome {
    let mut folders = vec![state.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let is_tree = entry.file_name() == "runs";
            if entry.file_type()?.is_dir() && !is_tree {
                folders.push(entry.path());
            } else if entry.file_type()?.is_file()
                && !entry
                    .file_name()
                    .to_string_lossy()
                    .ends_with("script.jsonl")
            {
                seen += 1;
                if let Some(trace) =
                    trace_in(&String::from_utf8_lossy(&std::fs::read(entry.path())?))
                {
                    return fail(format!("{trace} is in {}", entry.path().display()));
                }
            }
        }
    }
    assert!(seen > 0, "there is no journal to look at");
    Ok(())
}

/// Creates a repository whose files contain the secrets, with a remote whose URL contains the
/// password.
fn world() -> Result<World, Failed> {
    let world = World::lived_in()?;
    let remote = format!("https://me:{PASSWORD}@host.invalid/x.git");
    world.repository.write("secret.txt", KEY)?;
    world
        .repository
        .write("remote.txt", &format!("{remote}\n{PASSWORD}\n"))?;
    world.repository.commit_all("Add what nobody should")?;
    world.git(&format!("remote add origin {remote}"))?;
    Ok(world)
}

fn what_a_tool_reads_is_redacted() -> Outcome {
    let script = Script::default()
        .rule(shell(
            reads(shell(on("T1", 1), PRINT), "secret.txt")
                .call("grep", &json!({"pattern": "password"})),
            "yes \"$(cat secret.txt)\" | head -n 4000",
        ))
        .rule(write("T1", "one.txt", "1\n").turn(2))
        .rule(done("T1"));
    let play = |key: Option<&str>| {
        let world = world()?;
        let played = world.play("- [ ] T1 read\n", &script, |settings| {
            settings.environment = key
                .map(|key| ("OPENAI_API_KEY".to_owned(), key.to_owned()))
                .into_iter()
                .collect();
        })?;
        played.require_merged(&["T1"])?;
        Ok::<_, Failed>((world, played))
    };
    let (world, played) = play(Some(KEY))?;
    let told = format!("{:?}{}", played.requests()?, played.story());
    if let Some(trace) = trace_in(&told) {
        return fail(format!("{trace} in {told}"));
    }
    assert!(
        told.matches("[redacted:OPENAI_API_KEY]").count() >= 8,
        "{told}"
    );
    assert!(told.contains("[redacted:git configuration]"), "{told}");
    require_unwritten(&world.home.state())?;
    // The control: a run without the key has no such secret, and then every form of it is there.
    let (_kept, played) = play(None)?;
    let told = format!("{:?}", played.requests()?).to_lowercase();
    let missing: Vec<String> = traces()
        .into_iter()
        .filter(|trace| !told.contains(trace))
        .collect();
    assert_eq!(
        missing,
        [PASSWORD[..14].to_lowercase()],
        "{missing:?} in {told}"
    );
    Ok(())
}

/// An agent that writes back what it read would replace the key with the mark.
fn what_was_redacted_is_never_written_back() -> Outcome {
    let marked = "key = [redacted:OPENAI_API_KEY]";
    let script = Script::default()
        .rule(write("T1", "secret.txt", marked))
        .rule(put(on("T1", 2), "new.txt", &format!("k={KEY}")))
        .rule(write("T1", "one.txt", "1\n").turn(3))
        .rule(done("T1"));
    let play = |name: &str| {
        let world = world()?;
        let played = world.play("- [ ] T1 write\n", &script, |settings| {
            let key = if name == "OPENAI_API_KEY" {
                KEY
            } else {
                "another-0a1b2c3d4e5f6g"
            };
            settings.environment = [(name.to_owned(), key.to_owned())].into();
        })?;
        played.require_merged(&["T1"])?;
        let merged = world.merged(&played.report, "secret.txt")?;
        Ok::<_, Failed>((merged, world.merged(&played.report, "new.txt").ok(), played))
    };
    let (kept, new, played) = play("OPENAI_API_KEY")?;
    assert_eq!(kept, KEY, "{new:?}\n{played}");
    assert!(new.is_none(), "{kept} {new:?} {played}");
    assert!(
        format!("{:?}", played.requests()?).contains("nothing was done"),
        "{kept} {new:?} {played}"
    );
    // Without that secret the same text is written as it is.
    let (kept, new, _) = play("ANTHROPIC_API_KEY")?;
    assert_eq!(kept, marked, "{new:?}");
    assert_eq!(new, Some(format!("k={KEY}")), "{kept}");
    Ok(())
}

/// A password that is an ordinary word is not redacted, so an agent can read and write that word.
fn ordinary_words_stay_what_they_are() -> Outcome {
    let code = "def check(password): return password != 'postgres'";
    let script = Script::default().writes("T1", "check.py", code);
    let world = world()?;
    let played = world.play("- [ ] T1 write\n", &script, |settings| {
        let given = [
            ("https_proxy", "http://me:password@127.0.0.1:1"),
            ("POSTGRES_PASSWORD", "postgres"),
        ];
        settings.environment = given
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    })?;
    played.require_merged(&["T1"])?;
    let merged = world.merged(&played.report, "check.py")?;
    assert_eq!(merged, code);
    Ok(())
}

fn what_a_check_says_is_redacted() -> Outcome {
    let world = world()?;
    world.commit("check.sh", &format!("{PRINT}\nexit 1\n"))?;
    let plan = "- [ ] T1 make (run: sh check.sh; true)\n- [ ] T2 make (run: echo 2 > two.txt) (verify: sh check.sh)\n";
    let played = world.play(plan, &Script::default(), |settings| {
        settings.environment = [("OPENAI_API_KEY".to_owned(), KEY.to_owned())].into();
    })?;
    played.require(1, &[("T1", Merged), ("T2", FailedTask)])?;
    if let Some(trace) = trace_in(&format!("{}{:?}", played.story(), played.report)) {
        return fail(format!("{trace} in {}", played.story()));
    }
    require_unwritten(&world.home.state())
}

fn what_a_server_echoes_is_shown_to_nobody() -> Outcome {
    let (world, shown) = echoed(KEY)?;
    match trace_in(&shown) {
        Some(trace) => return fail(format!("{trace} in {shown}")),
        None if !shown.contains("[redacted:OPENAI_API_KEY]") => return fail(shown),
        None => require_unwritten(&world.home.state())?,
    }
    // The control: whoever gives another key is shown what the same server says, since it is no
    // secret then.
    let (world, shown) = echoed("another-0a1b2c3d4e5f6g")?;
    let is_shown = trace_in(&shown).is_some() && require_unwritten(&world.home.state()).is_err();
    assert!(is_shown, "{shown}");
    Ok(())
}

/// Runs two tasks with this key, whose server says [`KEY`]; returns what the commands of the user
/// then show.
fn echoed(given: &str) -> Result<(World, String), Failed> {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 ask\n- [ ] T2 ask (after: T1)\n")?;
    // One task's reply calls a tool with the key, the other's is a refusal that repeats the key.
    let backwards: String = KEY.chars().rev().collect();
    let server = ModelServer::answering(move |request, number| match number {
        0 => Reply::text(&format!("I was given {KEY}."))
            .call("write_file", json!({"path": KEY, "content": KEY})),
        _ if request.body.to_string().contains("T2") => {
            Reply::error(400, &format!("bad key {KEY} {backwards}"))
        }
        1 => Reply::text(&format!("Done with {KEY}")),
        _ => Reply::error(400, &format!("bad key {KEY} {backwards}")),
    })?;
    let ran = world
        .orchestrate(&[
            "run",
            "plan.md",
            "--model",
            "openai/test",
            "--verbose",
            "--output-format",
            "stream-json",
        ])
        .env("OPENAI_API_KEY", given)
        .env("OPENAI_BASE_URL", server.openai_base())
        .run()?;
    let without_key = |typed: &[&str]| world.orchestrate(typed).run();
    let later = [
        without_key(&["log", "--transcript"])?,
        without_key(&["status", "--json"])?,
    ];
    let shown: String = [&ran]
        .into_iter()
        .chain(&later)
        .map(|ran| format!("{}{}", ran.stdout, ran.stderr))
        .collect();
    Ok((world, shown))
}

fn a_plan_that_holds_a_key_is_refused() -> Outcome {
    let world = World::lived_in()?;
    let plan = format!("- [ ] T1 make (run: true)\n- [ ] T2 publish with {KEY}\n");
    let played = world.play(&plan, &Script::default(), |settings| {
        settings.environment = [("OPENAI_API_KEY".to_owned(), KEY.to_owned())].into();
    });
    let Err(error) = played else {
        return fail("the plan was run");
    };
    let told = error.message().unwrap_or_default().to_owned();
    let says = told.contains("line 2 of the plan: it contains the secret OPENAI_API_KEY")
        && trace_in(&told).is_none();
    if says {
        require_unwritten(&world.home.state())
    } else {
        fail(told)
    }
}
