//! The cache of agents' calls in runs: what is replayed, what is said of it, and what cannot go
//! wrong.

use std::path::PathBuf;

use libtest_mimic::Failed;
use orchestrate_coordinator::text_of_result;
use orchestrate_core::event::Event;
use orchestrate_core::policy::CacheMode;
use serde_json::{Value, json};

use super::shell::markers;
use crate::support::{
    Case, Need, Outcome, Played, Ran, Script, World, at, case, done, fail, lines, on, put,
    require_words,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_second_run_replays_its_searches_byte_for_byte),
        case!(report_markers_and_audit_log_say_what_was_replayed),
        case!(the_mode_comes_from_the_option_or_the_environment),
        case!(what_is_listed_is_never_replayed),
        case!(parallel_agents_share_results),
        case!(an_agent_on_another_base_shares_results),
        case!(damaged_results_are_said_once_and_made_again),
        case!(a_cache_that_cannot_be_used_fails_no_call),
        case!(a_full_disk_below_the_cache_fails_no_call).needs(Need::MOUNTS),
    ]
}

/// Variables with their values.
type Variables = &'static [(&'static str, &'static str)];

const PLAN: &str = "- [ ] T1 look\n";

/// An agent that searches, writes a file, and searches again.
fn searches() -> Script {
    let grep = json!({"pattern": "needle"});
    Script::default()
        .rule(
            on("T1", 1)
                .call("grep", &grep)
                .call("grep", &grep)
                .call("search_files", &json!({"pattern": "*"})),
        )
        .rule(put(on("T1", 2), "new.txt", "another needle\n"))
        .rule(on("T1", 3).call("grep", &grep))
        .rule(done("T1"))
}

/// How many calls are replayed in the first run: the second of two equal ones.
const AT_FIRST: u64 = 1;
/// How many in a second run: all searches.
const AGAIN: u64 = 4;

fn world(plan: &str) -> Result<World, Failed> {
    let world = World::with_plan(plan)?;
    for (path, text) in [
        ("a.txt", "a needle\n"),
        ("sub/b.txt", "hay\nneedle\n"),
        ("c.txt", "hay\n"),
    ] {
        world.repository.write(path, text)?;
    }
    world.repository.commit_all("Add files")?;
    Ok(world)
}

/// Returns the texts that the agent saw.
fn seen(played: &Played) -> Result<Vec<String>, Failed> {
    let results = played.pick(|event| match event {
        Event::ToolFinished { result, .. } => Some(result),
        _ => None,
    });
    results
        .into_iter()
        .map(|id| Ok(text_of_result(&played.coordinator.store().blob(id)?)?))
        .collect()
}

fn a_second_run_replays_its_searches_byte_for_byte() -> Outcome {
    let world = world(PLAN)?;
    let play = |mode| world.play(PLAN, &searches(), |settings| settings.run.cache = mode);
    let (without, first, second) = (
        play(CacheMode::Off)?,
        play(CacheMode::Use)?,
        play(CacheMode::Use)?,
    );
    let replayed = [&without, &first, &second].map(|played| played.report.replayed_calls);
    assert_eq!(replayed, [0, AT_FIRST, AGAIN], "{second}");
    let texts = [seen(&without)?, seen(&first)?, seen(&second)?];
    assert_eq!(texts[0], texts[1], "{texts:?}");
    assert_eq!(texts[1], texts[2], "{texts:?}");
    assert_eq!(texts[0].len(), 5, "{texts:?}");
    // Another commit with the same files is the same state; one with another file is another.
    world.git("commit --allow-empty -m Nothing")?;
    let same = play(CacheMode::Use)?;
    world.commit("d.txt", "hay\n")?;
    let other = play(CacheMode::Use)?;
    let replayed = [&same, &other].map(|played| played.report.replayed_calls);
    assert_eq!(replayed, [AGAIN, AT_FIRST], "{other}");
    Ok(())
}

/// Returns the keys under which a task's searches were found or not found, and whether each was.
fn keys(played: &Played, of: &str) -> Vec<(String, bool)> {
    played.pick(|event| match event {
        Event::ToolStarted {
            task,
            cache: Some(lookup),
            ..
        } if task.as_str() == of => Some((lookup.key.clone(), lookup.hit)),
        _ => None,
    })
}

fn agents_on_other_bases_share(world: &World, second: &str) -> Result<Played, Failed> {
    let search = json!({"pattern": "needle", "path": "sub"});
    let script = Script::default()
        .rule(on("T1", 1).call("grep", &search))
        .rule(put(on("T1", 2), second, "another needle\n"))
        .rule(on("T2", 1).call("grep", &search))
        .rule(done("T1"))
        .rule(done("T2"));
    let plan = "- [ ] T1 look and write\n- [ ] T2 look (depends: T1)\n";
    world.play(plan, &script, |settings| {
        settings.run.cache = CacheMode::Use
    })
}

/// The second agent's base is the merge of the first one's work.
fn an_agent_on_another_base_shares_results() -> Outcome {
    for (written, shares) in [("docs/new.txt", true), ("sub/new.txt", false)] {
        let played = agents_on_other_bases_share(&world("- [ ] T1 look and write\n")?, written)?;
        let (first, second) = (keys(&played, "T1"), keys(&played, "T2"));
        let ([(first, false)], [(second, hit)]) = (first.as_slice(), second.as_slice()) else {
            return fail(format!("{first:?} {second:?}\n{}", played.story()));
        };
        // Each key names its own agent's commit; the hash before it decides.
        let parts = |key: &str| {
            key.rsplit_once('|')
                .map(|(hash, commit)| (hash.to_owned(), commit.to_owned()))
        };
        let (Some((first, at)), Some((second, later))) = (parts(first), parts(second)) else {
            return fail(format!("{first} {second}"));
        };
        assert!(
            *hit == shares && (first == second) == shares && at != later,
            "{written}: {hit} {first}|{at} {second}|{later}"
        );
    }
    Ok(())
}

fn typed(world: &World, more: &[&str]) -> Result<Ran, Failed> {
    let model = world.script(&searches())?;
    world.types(
        &[
            &["run", "plan.md", "--model", &model, "--no-verify-base"],
            more,
        ]
        .concat(),
        0,
    )
}

fn replayed(ran: &Ran) -> Result<Option<u64>, Failed> {
    Ok(at(&ran.json()?, "/replayed_calls")?.as_u64())
}

fn report_markers_and_audit_log_say_what_was_replayed() -> Outcome {
    let world = world(PLAN)?;
    let first = typed(&world, &["--cache", "use", "--output-format", "markers"])?.stdout;
    let count = |text: &str| {
        ["CACHE_HIT", "CACHE_MISS", "TOOL_START"].map(|name| markers(text, name).len())
    };
    // The model is asked four times.
    assert_eq!(count(&first), [1, 3, 8], "{first}");
    let second = typed(&world, &["--cache", "use", "--output-format", "markers"])?.stdout;
    assert_eq!(count(&second), [4, 0, 5], "{second}");
    assert_eq!(markers(&second, "TOOL_END").len(), 5, "{second}");
    let key = |text: &str, name: &str| {
        let line = markers(text, name)
            .first()
            .map(|line| (*line).to_owned())
            .unwrap_or_default();
        line.split(' ')
            .find(|part| part.starts_with("cache_key=implementer|build|"))
            .map(str::to_owned)
    };
    assert!(
        key(&first, "CACHE_MISS").is_some()
            && key(&first, "CACHE_MISS") == key(&second, "CACHE_HIT"),
        "{first}\n{second}"
    );
    let entries = lines(&world.types(&["audit", "show", "--json"], 0)?.stdout)?;
    let cached: Vec<&str> = entries
        .iter()
        .filter(|entry| entry["record"]["cached"] == Value::Bool(true))
        .filter_map(|entry| entry["record"]["tool_name"].as_str())
        .collect();
    assert!(
        cached == ["grep", "grep", "search_files", "grep"] && entries.len() == 5,
        "{entries:?}"
    );
    world.types(&["audit", "verify"], 0)?;
    let text = typed(&world, &["--cache", "use", "--verbose"])?;
    require_words(&text.stdout, &["4 calls were answered from the cache\n"])?;
    require_words(
        &text.stderr,
        &["T1: grep({\"pattern\":\"needle\"}), answered from the cache"],
    )?;
    let fresh = typed(&world, &[])?.stdout;
    assert!(!fresh.contains("from the cache"), "{fresh}");
    Ok(())
}

fn the_mode_comes_from_the_option_or_the_environment() -> Outcome {
    let world = world(PLAN)?;
    let model = world.script(&searches())?;
    let table: [(Variables, &[&str], u64); 8] = [
        (&[], &[], 0),
        (&[("CACHE_MODE", "write")], &[], 0),
        (&[("CACHE_MODE", "read")], &[], AGAIN),
        (&[("CACHE_SKIP", "true")], &[], AGAIN),
        (&[("CACHE_SKIP", "true")], &["--cache", "off"], 0),
        (&[("CACHE_MODE", "off")], &["--cache", "use"], AGAIN),
        (
            &[("CACHE_MODE", "use"), ("ORCHESTRATE_CACHE", "off")],
            &[],
            0,
        ),
        (&[], &["--cache", "read"], AGAIN),
    ];
    for (variables, options, expected) in table {
        let options = [
            &[
                "run",
                "plan.md",
                "--model",
                &model,
                "--no-verify-base",
                "--output-format",
                "json",
            ],
            options,
        ];
        let mut run = world.orchestrate(&options.concat());
        for (name, value) in variables {
            run = run.env(name, value);
        }
        let found = replayed(&run.run()?.exits(0)?)?;
        assert_eq!(found, Some(expected), "{variables:?}\n{options:?}");
    }
    let wrong = world
        .orchestrate(&["run", "plan.md", "--model", &model])
        .env("CACHE_SKIP", "perhaps")
        .run()?
        .exits(2)?;
    require_words(
        &wrong.stderr,
        &["CACHE_MODE and CACHE_SKIP: `perhaps` is not one of true, false"],
    )
}

fn what_is_listed_is_never_replayed() -> Outcome {
    let world = world(PLAN)?;
    let json = ["--cache", "use", "--output-format", "json"];
    typed(&world, &json)?;
    std::fs::create_dir_all(world.home.path().join("config/orchestrate"))?;
    let list = "config/orchestrate/non_cacheable_tools.txt";
    world.write(list, "search_files # mine\n")?;
    let of_user = replayed(&typed(&world, &json)?)?;
    world.commit(
        ".orchestrate/non_cacheable_tools.txt",
        "grep\nkeyed: search_files\n",
    )?;
    let both = [
        replayed(&typed(&world, &json)?)?,
        replayed(&typed(&world, &json)?)?,
    ];
    world.write(list, "\n")?;
    let of_project = [
        replayed(&typed(&world, &json)?)?,
        replayed(&typed(&world, &json)?)?,
    ];
    let found = [of_user, both[0], both[1], of_project[0], of_project[1]];
    assert_eq!(found, [Some(3), Some(0), Some(0), Some(0), Some(1)]);
    Ok(())
}

fn parallel_agents_share_results() -> Outcome {
    let tasks = ["T1", "T2", "T3", "T4", "T5", "T6"];
    let plan: String = tasks
        .iter()
        .map(|task| format!("- [ ] {task} look\n"))
        .collect();
    let world = world(&plan)?;
    let mut script = Script::default();
    for task in tasks {
        let name = json!({"path": format!("{task}.txt"), "content": "1\n"});
        script = script
            .rule(on(task, 1).call("grep", &json!({"pattern": "needle"})))
            .rule(on(task, 2).call("write_file", &name))
            .rule(done(task));
    }
    let plan = format!("---\nparallel: eager\n---\n{plan}");
    let play = || {
        world.play(&plan, &script, |settings| {
            settings.run.cache = CacheMode::Use
        })
    };
    let (first, second) = (play()?, play()?);
    let texts = seen(&first)?
        .into_iter()
        .chain(seen(&second)?)
        .filter(|text| text.contains("needle"));
    let texts: Vec<String> = texts.collect();
    let is_same = texts.iter().all(|text| *text == texts[0]) && texts.len() == 2 * tasks.len();
    let from_base = |played: &Played| played.report.replayed_calls;
    assert!(is_same, "{second}");
    assert_eq!(from_base(&second), 6, "{second}");
    assert!(from_base(&first) < 6, "{second}");
    Ok(())
}

/// Returns the stored results.
fn entries(world: &World) -> Result<Vec<PathBuf>, Failed> {
    let files = std::fs::read_dir(world.home.state().join("cache"))?
        .flatten()
        .map(|file| file.path());
    Ok(files
        .filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "entry")
        })
        .collect())
}

fn damaged_results_are_said_once_and_made_again() -> Outcome {
    let world = world(PLAN)?;
    let json = ["--cache", "use", "--output-format", "json"];
    let first = typed(&world, &json)?;
    let stored = entries(&world)?;
    for path in &stored {
        let mut bytes = std::fs::read(path)?;
        let last = bytes.len() - 40;
        bytes[last] ^= 1;
        std::fs::write(path, bytes)?;
    }
    let second = typed(&world, &json)?;
    let said = second
        .stderr
        .matches("a stored result was damaged and has been removed")
        .count();
    assert!(
        stored.len() == 3 && said == 1 && replayed(&second)? == replayed(&first)?,
        "{stored:?}\n{second:?}"
    );
    let third = typed(&world, &json)?;
    assert_eq!(replayed(&third)?, Some(AGAIN), "{third:?}");
    assert!(!third.stderr.contains("damaged"), "{third:?}");
    Ok(())
}

fn a_cache_that_cannot_be_used_fails_no_call() -> Outcome {
    let world = world(PLAN)?;
    std::fs::create_dir_all(world.home.state())?;
    world.write("state/orchestrate/cache", "no folder\n")?;
    let ran = typed(&world, &["--cache", "use", "--output-format", "json"])?;
    let said = ran.stderr.matches("calls run without the cache").count();
    assert!(said == 1 && replayed(&ran)? == Some(0), "{ran:?}");
    Ok(())
}

fn a_full_disk_below_the_cache_fails_no_call() -> Outcome {
    let world = world(PLAN)?;
    let model = world.script(&searches())?;
    let folder = world.home.state().join("cache");
    std::fs::create_dir_all(&folder)?;
    let shown = folder.display();
    let small =
        format!("mount -t tmpfs -o size=4k none '{shown}'; cat /dev/zero > '{shown}/full' || true");
    let typed = [
        "run",
        "plan.md",
        "--model",
        &model,
        "--no-verify-base",
        "--cache",
        "use",
        "--output-format",
        "json",
    ];
    let ran = world
        .home
        .remounted(&small, world.repository.path(), &typed)
        .run()?
        .exits(0)?;
    require_words(
        &ran.stderr,
        &["No space left on device", "calls run without the cache"],
    )?;
    let said = ran.stderr.matches("calls run without the cache").count();
    assert!(said == 1 && replayed(&ran)? == Some(0), "{ran:?}");
    Ok(())
}
