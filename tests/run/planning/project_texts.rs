//! A project's own texts for agents: descriptions of tools, roles of this and other products,
//! instructions, and skills.

use std::path::Path;

use libtest_mimic::Failed;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::run::models::play;
use crate::support::{
    Case, Home, ModelServer, Outcome, Played, Reply, Repository, Script, World, case, done, fail,
    on, put, sandboxed, says, write,
};

/// A description in the reference's format, with one element for each parameter.
const REFERENCE_FORM: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<tool_prompt>
    <description>Reads &lt;one&gt; file &amp; numbers its lines.</description>
    <parameters>
        <parameter name="filepath" required="true">
            <description>Where it is.</description>
            <type>string</type>
        </parameter>
    </parameters>
</tool_prompt>
"#;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_description_in_the_references_form_is_read),
        case!(a_malformed_description_is_refused_with_its_place),
        sandboxed!(what_has_no_effect_is_named),
        case!(what_is_no_file_hangs_and_shows_nothing),
        case!(a_role_that_only_reads_delivers_a_report),
        case!(roles_of_other_products_are_known),
        case!(instructions_follow_the_files_of_a_task),
        case!(a_link_that_leads_out_of_the_commit_is_passed_over),
        case!(a_skill_is_listed_and_read_on_demand),
        case!(a_skill_that_breaks_the_rules_is_named),
    ]
}

/// Returns what the first request says about a tool.
fn described(server: &ModelServer, tool: &str) -> Result<Value, Failed> {
    let requests = server.requests();
    let tools = requests
        .first()
        .and_then(|request| request.body["tools"].as_array())
        .cloned()
        .unwrap_or_default();
    let found = tools
        .iter()
        .map(|entry| &entry["function"])
        .find(|function| function["name"] == tool);
    found
        .cloned()
        .ok_or_else(|| format!("no request describes {tool}: {tools:?}").into())
}

fn a_description_in_the_references_form_is_read() -> Outcome {
    for name in ["read_file.xml", "read_file_prompt.xml", "Read_prompt.xml"] {
        let world = World::lived_in()?;
        world.commit(
            &format!(".orchestrate/prompts/tools/{name}"),
            REFERENCE_FORM,
        )?;
        let server = ModelServer::answering(|_, _| Reply::text("Nothing to do."))?;
        play(
            &world,
            "- [ ] T1 look (model: openai/test) (agent: reviewer)\n",
            &server,
        )?;
        let said = described(&server, "read_file")?;
        let of_path = &said["parameters"]["properties"]["path"];
        assert!(
            said["description"] == "Reads <one> file & numbers its lines."
                && *of_path == json!({"type": "string", "description": "Where it is."}),
            "{name}: {said}"
        );
    }
    Ok(())
}

fn a_malformed_description_is_refused_with_its_place() -> Outcome {
    let table = [
        (
            vec![(
                "grep_prompt.xml",
                "<tool>\n  <description>x</descripton>\n</tool>\n",
            )],
            "read .orchestrate/prompts/tools/grep_prompt.xml:2:17: expected 'description' tag",
        ),
        (
            vec![("grep.xml", "<tool>\n<parameters>{\"a\"</parameters></tool>")],
            "read .orchestrate/prompts/tools/grep.xml:2:1: its <parameters> are not JSON",
        ),
        (
            vec![
                ("grep.xml", REFERENCE_FORM),
                ("grep_prompt.xml", REFERENCE_FORM),
            ],
            "describes `grep` as well; keep one of them",
        ),
    ];
    for (files, said) in table {
        let world = World::plain()?;
        for (name, text) in files {
            world
                .repository
                .write(&format!(".orchestrate/prompts/tools/{name}"), text)?;
        }
        world.commit("plan.md", "- [ ] T1 Make it (run: true)\n")?;
        let ran = world.types(&["run", "plan.md"], 2)?;
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    Ok(())
}

fn what_has_no_effect_is_named() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    for (name, text) in [
        (".mcp.json", "{}\n"),
        (".orchestrate/tools/mine.md", "@alias grep\n"),
        (".orchestrate/prompts/tools/read_fil.xml", REFERENCE_FORM),
        (
            ".orchestrate/prompts/tools/grep.xml",
            &REFERENCE_FORM.replace("filepath", "colour"),
        ),
        (".orchestrate/prompts/system/agnet.md", "Be kind.\n"),
        (".orchestrate/prompts/agent.md", "Be kind.\n"),
    ] {
        world.repository.write(name, text)?;
    }
    world.repository.commit_all("Write what nobody reads")?;
    let named = [
        ".mcp.json: MCP servers are not available yet, so this file has no effect",
        ".orchestrate/tools/mine.md: only files that end in `.tool` are read here, so this file has no effect",
        ".orchestrate/prompts/tools/read_fil.xml: no such tool exists, so this file has no effect; did \
         you mean `read_file`?",
        ".orchestrate/prompts/tools/grep.xml:5:9: colour is not a parameter of `grep`, so it has no effect",
        ".orchestrate/prompts/system/agnet.md: no such prompt exists, so this file has no effect; did you mean \
         `agent`?",
        ".orchestrate/prompts/agent.md: prompts are read from `system` and `tools` in this folder, so this file has no \
         effect",
    ];
    for arguments in [["check", "plan.md"], ["run", "plan.md"]] {
        says(&world.types(&arguments, 0)?, &named)?;
    }
    let doctor = world.orchestrate(&["doctor", "--json"]).run()?;
    assert!(
        named.iter().all(|words| doctor.stdout.contains(words)),
        "{}",
        doctor.stdout
    );
    Ok(())
}

/// Puts something in the place of a file; and the expected message about it.
type Planted<'a> = (&'a dyn Fn(&Path) -> Outcome, &'a str);

fn what_is_no_file_hangs_and_shows_nothing() -> Outcome {
    const CANARY: &str = "canary-7f3a";
    let outside = tempfile::tempdir()?;
    let secret = outside.path().join("credentials");
    std::fs::write(
        &secret,
        format!("{CANARY} = = 1\n- [ ] {CANARY} (agent: {CANARY})\n"),
    )?;
    let pipe = |path: &Path| {
        Ok(
            mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
                .map_err(std::io::Error::from)?,
        )
    };
    let link = |path: &Path| Ok(std::os::unix::fs::symlink(&secret, path)?);
    let environment = |path: &Path| Ok(std::os::unix::fs::symlink("/proc/self/environ", path)?);
    let plants: [Planted<'_>; 3] = [
        (&pipe, "a pipe"),
        (&link, "a link leads out"),
        (&environment, "a link leads out"),
    ];
    for (plant, said) in plants {
        for name in ["orchestrate.toml", "plan.md", "docs/plan.md"] {
            let (home, repository) = (Home::new()?, Repository::plain()?);
            std::fs::create_dir(repository.path().join("docs"))?;
            if name != "plan.md" {
                repository.write("plan.md", "- [ ] T1 Make it (run: true)\n")?;
            }
            plant(&repository.path().join(name))?;
            let plan = if name.ends_with(".md") {
                name
            } else {
                "plan.md"
            };
            let ran = home
                .orchestrate(repository.path(), &["check", plan])
                .env("CANARY", CANARY)
                .run()?
                .exits(2)?;
            if !ran.stderr.contains(said)
                || ran.stderr.contains(CANARY)
                || ran.stdout.contains(CANARY)
            {
                return fail(format!("{name} {said}: {}{}", ran.stdout, ran.stderr));
            }
        }
    }
    // The control: a link that stays inside is followed, and what it leads to is read and shown.
    let (home, repository) = (Home::new()?, Repository::plain()?);
    repository.write("inside.md", &format!("- [ ] T1 {CANARY} (run: true)\n"))?;
    std::os::unix::fs::symlink("inside.md", repository.path().join("plan.md"))?;
    let ran = home
        .orchestrate(repository.path(), &["check", "plan.md"])
        .run()?
        .exits(0)?;
    assert!(ran.stdout.contains(CANARY), "{}", ran.stdout);
    Ok(())
}

fn a_role_that_only_reads_delivers_a_report() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        ".orchestrate/agents/auditor.md",
        "---\ntools: Read, Grep\n---\nYou look.\n",
    )?;
    world.repository.write(
        ".orchestrate/agents/writer.md",
        "---\ntools: Read, Write\n---\nYou write.\n",
    )?;
    world.repository.write(
        "script.jsonl",
        "{\"reply\": {\"text\": \"All is well.\"}}\n",
    )?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 look (agent: auditor)\n- [ ] T2 write (agent: writer)\n",
    )?;
    world.repository.commit_all("Add roles")?;
    let typed = [
        "run",
        "plan.md",
        "--model",
        "script:script.jsonl",
        "--output-format",
        "json",
    ];
    let report = world.types(&typed, 1)?.json()?;
    // The one that could have written is the control.
    match (
        &report["tasks"][0]["state"],
        &report["tasks"][1]["error"]["cause"],
    ) {
        (state, cause) if state == "merged" && cause == "no_changes" => Ok(()),
        _ => fail(report.to_string()),
    }
}

fn roles_of_other_products_are_known() -> Outcome {
    let world = World::plain()?;
    let front =
        "description: Works.\ntools: [\"read\", \"search\"]\nmodel: Big Model 5\nfavourite: x";
    for (path, front) in [
        (
            ".github/agents/CSharpExpert.agent.md",
            &format!("name: C# Expert\n{front}"),
        ),
        (
            ".gemini/agents/planner.md",
            &format!("name: planner\nkind: local\n{front}"),
        ),
        (
            ".opencode/agent/docs.md",
            &"description: Works.\nmode: subagent\npermission:\n  edit: deny".to_owned(),
        ),
        (
            ".claude/agents/review.md",
            &format!("name: reviewer\n{front}"),
        ),
        (
            "agents/reviewer.md",
            &"name: reviewer\ndescription: Works.".to_owned(),
        ),
    ] {
        world
            .repository
            .write(path, &format!("---\n{front}\n---\nYou work.\n"))?;
    }
    world.commit(
        "plan.md",
        "- [ ] T1 look (agent: csharpexpert)\n- [ ] T2 look (agent: docs)\n",
    )?;
    let listed = world.types(&["agents", "list", "--json"], 0)?.json()?;
    let origins: Vec<Value> = listed["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|role| json!([role["name"], role["origin"], role["shadowed"]]))
        .collect();
    for expected in [
        json!(["csharpexpert", ".github/agents/CSharpExpert.agent.md", []]),
        json!(["planner", ".gemini/agents/planner.md", ["shipped"]]),
        json!(["docs", ".opencode/agent/docs.md", []]),
        json!([
            "reviewer",
            "agents/reviewer.md",
            [".claude/agents/review.md", "shipped"]
        ]),
    ] {
        assert!(
            origins.contains(&expected),
            "{expected} is not in {origins:?}"
        );
    }
    says(
        &world.types(&["agents", "list"], 0)?,
        &["(agents/reviewer.md; instead of .claude/agents/review.md, shipped)"],
    )?;
    let warned = [
        ".github/agents/CSharpExpert.agent.md: line 5: the model `Big Model 5` has no effect, since it names no provider",
        ".github/agents/CSharpExpert.agent.md: line 6: unknown key `favourite` has no effect",
    ];
    says(&world.types(&["check", "plan.md"], 0)?, &warned)
}

/// Returns what follows a role's prompt in the system text of a task's first request.
fn added(played: &Played, of: &str) -> Result<String, Failed> {
    let requests = played.requests()?;
    let request = requests
        .iter()
        .find(|request| request.origin.task.as_str() == of);
    let system = &request.ok_or("the task had no request")?.system;
    let role = include_str!("../../../agents/implementer.md").trim_end();
    let last = role.lines().last().unwrap_or_default();
    match system.split_once(last) {
        Some((_, added)) => Ok(added.to_owned()),
        None => fail(system),
    }
}

fn instructions_follow_the_files_of_a_task() -> Outcome {
    let world = World::plain()?;
    for (path, text) in [
        ("AGENTS.md", "Use tabs.\n"),
        ("core/CLAUDE.md", "@../AGENTS.md\n"),
        ("core/io/AGENTS.md", "Use spaces.\n"),
        ("core/io/AGENTS.override.md", "Use two spaces.\n"),
        ("docs/AGENTS.md", &"Write plainly. ".repeat(500)),
    ] {
        world.repository.write(path, text)?;
    }
    std::os::unix::fs::symlink(
        "../AGENTS.md",
        world.repository.path().join("core/AGENTS.md"),
    )?;
    world.repository.commit_all("Instruct agents")?;
    let plan = "\
- [ ] T1 One (files: core/io/one.rs, AGENTS.md)
- [ ] T2 Two (files: core/two.rs) (depends: T1)
- [ ] T3 Three (files: docs/three.md) (depends: T1)
";
    let rewrite = write("T1", "AGENTS.md", "Use nothing.\n");
    let script = Script::default()
        .rule(rewrite)
        .rule(done("T1"))
        .writes("T2", "core/two.rs", "2\n")
        .writes("T3", "docs/three.md", "3\n");
    let played = world.play(plan, &script, |_| ())?;
    let expected = "\n\nInstructions of this project's owner; where they differ, the last one counts:\n\n\
                    ### AGENTS.md\n\nUse tabs.\n\n### core/io/AGENTS.override.md\n\nUse two spaces.";
    let first = added(&played, "T1")?;
    // T1 has changed the file on the integration branch by now; the base commit counts.
    let second = added(&played, "T2")?;
    let third = added(&played, "T3")?;
    assert!(
        first == expected
            && second == "\n\nInstructions of this project's owner:\n\n### AGENTS.md\n\nUse tabs.",
        "{first}\n{second}"
    );
    let is_cut = third.contains(" bytes left out …]")
        && third.ends_with("too long: all of `AGENTS.md`, a part of `docs/AGENTS.md`. `read_file` shows these files.");
    assert!(is_cut && third.len() < 7_000, "{third}");
    Ok(())
}

fn a_link_that_leads_out_of_the_commit_is_passed_over() -> Outcome {
    let world = World::plain()?;
    let secret = world.home.path().join("secret.md");
    std::fs::write(
        &secret,
        "---\nname: away\ndescription: Is elsewhere.\n---\ncanary-52\n",
    )?;
    let links = [
        ("AGENTS.md", secret.to_string_lossy().into_owned()),
        ("core/AGENTS.md", "nowhere.md".to_owned()),
        ("core/CLAUDE.md", "../../up.md".to_owned()),
        ("agents/away.md", secret.to_string_lossy().into_owned()),
        (".claude/agents/up.md", "../../../up.md".to_owned()),
        ("agents/gone.md", "nowhere.md".to_owned()),
    ];
    for (link, target) in &links {
        let link = world.repository.path().join(link);
        std::fs::create_dir_all(link.parent().ok_or("no folder")?)?;
        std::os::unix::fs::symlink(target, link)?;
    }
    world.repository.write("CLAUDE.md", "Use tabs.\n")?;
    let plan = "- [ ] T1 One (files: core/one.rs)\n";
    world.commit("plan.md", plan)?;
    let warnings: Vec<String> = links
        .iter()
        .map(|(link, _)| {
            format!("{link} is a link to a file that the commit does not contain, and is ignored")
        })
        .collect();
    let warnings: Vec<&str> = warnings.iter().map(String::as_str).collect();
    says(&world.types(&["check", "plan.md"], 0)?, &warnings)?;
    let script = Script::default().writes("T1", "core/one.rs", "1\n");
    let model = world.script(&script)?;
    says(
        &world.types(&["run", "plan.md", "--model", &model], 0)?,
        &warnings,
    )?;
    let told = added(&world.play(plan, &script, |_| ())?, "T1")?;
    assert_eq!(
        told,
        "\n\nInstructions of this project's owner:\n\n### CLAUDE.md\n\nUse tabs."
    );
    Ok(())
}

fn a_skill_is_listed_and_read_on_demand() -> Outcome {
    let world = World::plain()?;
    let skill = |name: &str, body: &str| {
        format!("---\nname: {name}\ndescription: Helps with {name}.\n---\n{body}\n")
    };
    world.repository.write(
        ".claude/skills/release/SKILL.md",
        &skill("release", "Tag it; see references/tags.md."),
    )?;
    world.commit(
        ".claude/skills/release/references/tags.md",
        "Tags begin with v.\n",
    )?;
    let config = world.home.path().join("config/orchestrate");
    std::fs::create_dir_all(config.join("skills/greet"))?;
    std::fs::write(
        config.join("skills/greet/SKILL.md"),
        skill("greet", "Say hello."),
    )?;
    std::fs::write(config.join("secret"), "canary-51\n")?;
    let reads = [
        json!({"name": "release"}),
        json!({"name": "release", "file": "references/tags.md"}),
        json!({"name": "greet"}),
        json!({"name": "greet", "file": "../../secret"}),
        json!({"name": "deploy"}),
    ];
    let rule = reads
        .iter()
        .fold(on("T1", 1), |rule, read| rule.call("read_skill", read));
    let script = Script::default()
        .rule(put(rule, "one", "1"))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 One\n", &script, |settings| {
        settings.user_config_dir = Some(config.clone())
    })?;
    let list = added(&played, "T1")?;
    let told = "\n\nThe project's owner or the user wrote these skills. If one fits your task, read it with `read_skill` \
                and follow it:\n<data-";
    let lines: Vec<&str> = list
        .lines()
        .filter(|line| line.starts_with("greet") || line.starts_with("release"))
        .collect();
    assert!(
        list.starts_with(told)
            && lines == ["greet: Helps with greet.", "release: Helps with release."],
        "{list}"
    );
    played.require_told(
        "T1",
        &[
            "Skill release; its files are in the worktree, below .claude/skills/release",
            "Tag it; see references/tags.md.",
            "Tags begin with v.",
            "Skill greet; only `read_skill` shows its files",
            "the skill `greet` has no file `../../secret`",
            "there is no skill `deploy`; the skills: greet, release",
        ],
    )?;
    assert!(
        !played.told("T1")?.contains("canary-51"),
        "a file outside of a skill was shown"
    );
    Ok(())
}

fn a_skill_that_breaks_the_rules_is_named() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    world.repository.write(
        ".agents/skills/one/SKILL.md",
        "---\nname: two\ndescription: Two.\n---\nDo it.\n",
    )?;
    world
        .repository
        .write(".claude/skills/three/SKILL.md", "Do it.\n")?;
    world
        .repository
        .write(".claude/skills/README.md", "Our skills.\n")?;
    world.repository.commit_all("Add skills")?;
    let checked = world.types(&["check", "plan.md"], 0)?;
    let named = [
        ".agents/skills/one/SKILL.md is not a valid skill and is ignored: failed to read skill `one`: line 2: its name is \
         `two`, which must be the name of its folder",
        ".claude/skills/three/SKILL.md is not a valid skill and is ignored: failed to read skill `three`: it has no front \
         matter with a name and a description",
    ];
    says(&checked, &named)?;
    assert!(!checked.stderr.contains("README"), "{}", checked.stderr);
    Ok(())
}
