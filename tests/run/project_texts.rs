//! A project's own texts for agents: descriptions of tools in XML, and roles that only read.

use std::path::Path;

use libtest_mimic::Failed;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::models::play;
use crate::support::{Case, Home, ModelServer, Outcome, Reply, Repository, World, case, fail, sandboxed, says};

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
        case(
            "project_texts::a_description_in_the_references_form_is_read",
            a_description_in_the_references_form_is_read,
        ),
        case("project_texts::a_malformed_description_is_refused_with_its_place", a_malformed_description_is_refused),
        sandboxed("project_texts::what_has_no_effect_is_named", what_has_no_effect_is_named),
        case("project_texts::what_is_no_file_hangs_and_shows_nothing", what_is_no_file_hangs_and_shows_nothing),
        case("project_texts::a_role_that_only_reads_delivers_a_report", a_role_that_only_reads_delivers_a_report),
    ]
}

/// Returns what the first request says about a tool.
fn described(server: &ModelServer, tool: &str) -> Result<Value, Failed> {
    let requests = server.requests();
    let tools = requests.first().and_then(|request| request.body["tools"].as_array()).cloned().unwrap_or_default();
    let found = tools.iter().map(|entry| &entry["function"]).find(|function| function["name"] == tool);
    found.cloned().ok_or_else(|| format!("no request describes {tool}: {tools:?}").into())
}

fn a_description_in_the_references_form_is_read() -> Outcome {
    for name in ["read_file.xml", "read_file_prompt.xml", "Read_prompt.xml"] {
        let world = World::lived_in()?;
        world.repository.write(&format!(".orchestrate/prompts/tools/{name}"), REFERENCE_FORM)?;
        world.repository.commit_all("Describe a tool")?;
        let server = ModelServer::answering(|_, _| Reply::text("Nothing to do."))?;
        play(&world, "- [ ] T1 look (model: openai/test) (agent: reviewer)\n", &server)?;
        let said = described(&server, "read_file")?;
        let of_path = &said["parameters"]["properties"]["path"];
        if said["description"] != "Reads <one> file & numbers its lines."
            || *of_path != json!({"type": "string", "description": "Where it is."})
        {
            return fail(format!("{name}: {said}"));
        }
    }
    Ok(())
}

fn a_malformed_description_is_refused() -> Outcome {
    let table = [
        (
            vec![("grep_prompt.xml", "<tool>\n  <description>x</descripton>\n</tool>\n")],
            "read .orchestrate/prompts/tools/grep_prompt.xml:2:17: expected 'description' tag",
        ),
        (
            vec![("grep.xml", "<tool>\n<parameters>{\"a\"</parameters></tool>")],
            "read .orchestrate/prompts/tools/grep.xml:2:1: its <parameters> are not JSON",
        ),
        (
            vec![("grep.xml", REFERENCE_FORM), ("grep_prompt.xml", REFERENCE_FORM)],
            "describes `grep` as well; keep one of them",
        ),
    ];
    for (files, said) in table {
        let world = World::plain()?;
        for (name, text) in files {
            world.repository.write(&format!(".orchestrate/prompts/tools/{name}"), text)?;
        }
        world.repository.write("plan.md", "- [ ] T1 Make it (run: true)\n")?;
        world.repository.commit_all("Describe a tool")?;
        let ran = world.types(&["run", "plan.md"], 2)?;
        if !ran.stderr.contains(said) {
            return fail(ran.stderr);
        }
    }
    Ok(())
}

fn what_has_no_effect_is_named() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    for (name, text) in [
        (".mcp.json", "{}\n"),
        (".orchestrate/tools/mine.tool", "@alias grep\n"),
        (".orchestrate/prompts/tools/read_fil.xml", REFERENCE_FORM),
        (".orchestrate/prompts/tools/grep.xml", &REFERENCE_FORM.replace("filepath", "colour")),
        (".orchestrate/prompts/system/agnet.md", "Be kind.\n"),
        (".orchestrate/prompts/agent.md", "Be kind.\n"),
    ] {
        world.repository.write(name, text)?;
    }
    world.repository.commit_all("Write what nobody reads")?;
    let named = [
        ".mcp.json: MCP servers are not available yet, so this file has no effect",
        ".orchestrate/tools/mine.tool: tools of a project are not available yet, so this file has no effect",
        ".orchestrate/prompts/tools/read_fil.xml: no such tool exists, so this file has no effect; did \
         you mean `read_file`?",
        ".orchestrate/prompts/tools/grep.xml:5:9: colour is not a parameter of `grep`, so it has no effect",
        ".orchestrate/prompts/system/agnet.md: no such prompt exists, so this file has no effect; did you mean \
         `agent`?",
        ".orchestrate/prompts/agent.md: prompts are read from `system` and `tools` in this folder, so this file has no \
         effect",
    ];
    for arguments in [["check", "plan.md"], ["run", "plan.md"]] {
        let typed = world.orchestrate(&arguments).env("AGENT_NAME", "ci");
        let ran = typed.run()?.exits(0)?;
        says(&ran, &named)?;
        if arguments[0] == "run" {
            says(&ran, &["AGENT_NAME has no effect: `tool run`, which it is for, is not available yet"])?;
        }
    }
    let doctor = world.orchestrate(&["doctor", "--json"]).run()?;
    if named.iter().all(|words| doctor.stdout.contains(words)) { Ok(()) } else { fail(doctor.stdout) }
}

/// Puts something in the place of a file; and the expected message about it.
type Planted<'a> = (&'a dyn Fn(&Path) -> Outcome, &'a str);

fn what_is_no_file_hangs_and_shows_nothing() -> Outcome {
    const CANARY: &str = "canary-7f3a";
    let outside = tempfile::tempdir()?;
    let secret = outside.path().join("credentials");
    std::fs::write(&secret, format!("{CANARY} = = 1\n- [ ] {CANARY} (agent: {CANARY})\n"))?;
    let pipe = |path: &Path| {
        Ok(mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).map_err(std::io::Error::from)?)
    };
    let link = |path: &Path| Ok(std::os::unix::fs::symlink(&secret, path)?);
    let environment = |path: &Path| Ok(std::os::unix::fs::symlink("/proc/self/environ", path)?);
    let plants: [Planted<'_>; 3] = [(&pipe, "a pipe"), (&link, "a link leads out"), (&environment, "a link leads out")];
    for (plant, said) in plants {
        for name in ["orchestrate.toml", "plan.md", "docs/plan.md"] {
            let (home, repository) = (Home::new()?, Repository::plain()?);
            std::fs::create_dir(repository.path().join("docs"))?;
            if name != "plan.md" {
                repository.write("plan.md", "- [ ] T1 Make it (run: true)\n")?;
            }
            plant(&repository.path().join(name))?;
            let plan = if name.ends_with(".md") { name } else { "plan.md" };
            let ran = home.orchestrate(repository.path(), &["check", plan]).env("CANARY", CANARY).run()?.exits(2)?;
            if !ran.stderr.contains(said) || ran.stderr.contains(CANARY) || ran.stdout.contains(CANARY) {
                return fail(format!("{name} {said}: {}{}", ran.stdout, ran.stderr));
            }
        }
    }
    // The control: a link that stays inside is followed, and what it leads to is read and shown.
    let (home, repository) = (Home::new()?, Repository::plain()?);
    repository.write("inside.md", &format!("- [ ] T1 {CANARY} (run: true)\n"))?;
    std::os::unix::fs::symlink("inside.md", repository.path().join("plan.md"))?;
    let ran = home.orchestrate(repository.path(), &["check", "plan.md"]).run()?.exits(0)?;
    if ran.stdout.contains(CANARY) { Ok(()) } else { fail(ran.stdout) }
}

fn a_role_that_only_reads_delivers_a_report() -> Outcome {
    let world = World::plain()?;
    world.repository.write(".orchestrate/agents/auditor.md", "---\ntools: Read, Grep\n---\nYou look.\n")?;
    world.repository.write(".orchestrate/agents/writer.md", "---\ntools: Read, Write\n---\nYou write.\n")?;
    world.repository.write("script.jsonl", "{\"reply\": {\"text\": \"All is well.\"}}\n")?;
    world.repository.write("plan.md", "- [ ] T1 look (agent: auditor)\n- [ ] T2 write (agent: writer)\n")?;
    world.repository.commit_all("Add roles")?;
    let typed = ["run", "plan.md", "--model", "script:script.jsonl", "--output-format", "json"];
    let report = world.types(&typed, 1)?.json()?;
    // The one that could have written is the control.
    match (&report["tasks"][0]["state"], &report["tasks"][1]["error"]["cause"]) {
        (state, cause) if state == "merged" && cause == "no_changes" => Ok(()),
        _ => fail(report.to_string()),
    }
}
