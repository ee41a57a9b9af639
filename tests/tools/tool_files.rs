//! `.tool` files as a user meets them: found, trusted, frozen with the run, listed and checked.

use std::path::PathBuf;

use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::support::{
    Case, Need, Outcome, Script, World, case, done, fail, lines, on, sandboxed, says,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        sandboxed!(a_projects_file_counts_once_its_content_is_trusted),
        sandboxed!(a_file_is_asked_about_on_a_terminal).needs(Need::TERMINAL),
        sandboxed!(a_run_keeps_the_tools_that_it_started_with),
        sandboxed!(an_agent_file_of_that_ecosystem_does_its_work),
        sandboxed!(files_of_that_ecosystem_are_written_by_agents),
        case!(tools_are_listed_searched_and_shown),
        case!(a_strangers_files_are_checked),
        case!(a_hostile_file_stops_no_command),
        case!(a_link_in_the_place_of_the_folder_is_named),
        case!(rules_may_name_the_tools_of_files),
    ]
}

/// The reference's own `glob.tool`, under another name.
const FIND_VALA: &str = "Find files matching glob patterns using find.\n\n@title Glob Pattern Matching\n\
    @name find_vala\n@wrapped run_command\n@command find {arguments} -type f\n\
    @param arguments {array<string>} [required] Array of strings that will be passed to the command\n";
const FILE: &str = ".orchestrate/tools/find_vala.tool";
const ROLE: &str =
    "---\nname: finder\ndescription: Finds files.\ntools: find_vala, Write\n---\nFind them.\n";
const PLAN: &str = "- [ ] T1 Find them (agent: finder)\n";
const SKIPPED: &str = "warning: .orchestrate/tools/find_vala.tool defines a tool for agents and is skipped until you \
    trust it; `orchestrate config trust` shows it";

/// Creates a repository with a role that has the tool, a source file to find, and a plan.
fn world() -> Result<World, Failed> {
    let world = World::plain()?;
    world.repository.write("agents/finder.md", ROLE)?;
    world.repository.write("src/a.vala", "// here\n")?;
    world.repository.write("plan.md", PLAN)?;
    world.repository.commit_all("Add a role")?;
    Ok(world)
}

/// Creates the folder of the user's own tools.
fn tools_folder(world: &World) -> Result<PathBuf, Failed> {
    let folder = world.home.path().join("config/orchestrate/tools");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Returns a model that calls the tool and writes down whether it found the file.
fn finder(world: &World) -> Result<String, Failed> {
    let arguments = json!({"arguments": [".", "-type", "f", "-name", "*.vala"]});
    let found = |text: &str| json!({"path": "found.txt", "content": text});
    let script = Script::default()
        .rule(on("T1", 1).call("find_vala", &arguments))
        .rule(
            on("T1", 2)
                .last_contains("./src/a.vala")
                .call("write_file", &found("yes\n")),
        )
        .rule(on("T1", 2).call("write_file", &found("no\n")))
        .rule(done("T1"));
    world.script(&script)
}

/// Runs the plan, and returns whether the tool found the file, and what was said.
fn runs(world: &World, model: &str) -> Result<(bool, String), Failed> {
    let ran = world.types(&["run", "plan.md", "--model", model, "--land"], 0)?;
    let is_found = world.repository.read("found.txt")? == "yes\n";
    world.types(&["land", "--undo"], 0)?;
    Ok((is_found, ran.stderr))
}

fn a_projects_file_counts_once_its_content_is_trusted() -> Outcome {
    let world = world()?;
    let model = finder(&world)?;
    world.commit(FILE, FIND_VALA)?;
    let (is_found, said) = runs(&world, &model)?;
    assert!(!is_found, "not trusted: {is_found}: {said}");
    assert!(said.contains(SKIPPED), "not trusted: {is_found}: {said}");
    let trusted = world.types(&["config", "trust", "--yes"], 0)?;
    says(
        &trusted,
        &[
            "not consented: .orchestrate/tools/find_vala.tool\n",
            "@command find {arguments} -type f",
        ],
    )?;
    // The control: the content that was consented to does its work.
    let (is_found, said) = runs(&world, &model)?;
    assert!(
        is_found && !said.contains("find_vala.tool"),
        "trusted: {is_found}: {said}"
    );
    // Another content needs another consent; what is not committed has no effect.
    world
        .repository
        .write(FILE, &FIND_VALA.replace("-type f", "-type d"))?;
    assert!(
        runs(&world, &model)?.0,
        "a change that is not committed counts"
    );
    world.repository.commit_all("Change the tool")?;
    let (is_found, said) = runs(&world, &model)?;
    assert!(!is_found, "changed: {is_found}: {said}");
    assert!(said.contains(SKIPPED), "changed: {is_found}: {said}");
    Ok(())
}

fn a_file_is_asked_about_on_a_terminal() -> Outcome {
    let world = world()?;
    let model = finder(&world)?;
    world.commit(FILE, FIND_VALA)?;
    let question = "Let agents use it in this repository from now on? [y/N] ";
    let answered = |keys: &str| {
        let terminal = world
            .orchestrate(&["run", "plan.md", "--model", &model])
            .start_in_terminal()?;
        terminal.shows(question)?;
        terminal.types(keys)?;
        terminal.end()?.exits(0)
    };
    let refused = answered("n\n")?;
    if !refused.stdout.contains("is skipped until you trust it") {
        return fail(refused.stdout);
    }
    let allowed = answered("y\n")?;
    assert!(!allowed.stdout.contains("is skipped"), "{}", allowed.stdout);
    assert!(
        allowed.stdout.contains("@command find {arguments} -type f"),
        "{}",
        allowed.stdout
    );
    let again = world
        .orchestrate(&["run", "plan.md", "--model", &model])
        .start_in_terminal()?
        .end()?
        .exits(0)?;
    assert!(!again.stdout.contains(question), "{}", again.stdout);
    Ok(())
}

fn a_run_keeps_the_tools_that_it_started_with() -> Outcome {
    let world = world()?;
    let folder = tools_folder(&world)?;
    std::fs::write(folder.join("find_vala.tool"), FIND_VALA)?;
    let found = json!({"path": "found.txt", "content": "yes\n"});
    let script = Script::default()
        .rule(on("T1", 1).text("Nothing."))
        .rule(on("T1", 2).call("find_vala", &json!({"arguments": ["src"]})))
        .rule(
            on("T1", 3)
                .last_contains("src/a.vala")
                .call("write_file", &found),
        )
        .rule(done("T1"));
    let model = world.script(&script)?;
    let ran = world.types(
        &[
            "run",
            "plan.md",
            "--model",
            &model,
            "--output-format",
            "stream-json",
        ],
        1,
    )?;
    let started = lines(&ran.stdout)?
        .into_iter()
        .find(|line| line["type"] == "run.started")
        .unwrap_or_default();
    let settings = &started["settings"];
    let names = &settings["tools"];
    let frozen = (
        &settings["tool_files"][0]["text"],
        &names["second_forms"],
        &names["aliases"]["run_command"],
    );
    let forms = json!({"glob": "run_shell_command", "grep": "run_shell_command", "ls": "run_shell_command", "webfetch": "fetch_url"});
    assert!(
        frozen == (&json!(FIND_VALA), &forms, &json!("run_shell_command"))
            && !names["tools"]["find_vala"].is_null(),
        "{started}"
    );
    std::fs::remove_file(folder.join("find_vala.tool"))?;
    world.types(&["retry", "T1", "-m", "Go on"], 0)?;
    world.types(&["land"], 0)?;
    assert_eq!(
        world.repository.read("found.txt")?,
        "yes\n",
        "the tool was lost"
    );
    Ok(())
}

fn an_agent_file_of_that_ecosystem_does_its_work() -> Outcome {
    let world = World::plain()?;
    let role = "---\nname: looker\ndescription: Looks.\ntools: Read, Grep, Glob, LS, TodoWrite, WebSearch, WebFetch\n---\n\
        Look.\n";
    world.repository.write("agents/looker.md", role)?;
    world.repository.write("src/a.vala", "// here\n")?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Look (agent: looker)\n")?;
    world.repository.commit_all("Add a role")?;
    let arguments = json!({"arguments": [".", "-name", "*.vala"]});
    let todo = json!({"items": [{"content": "Look", "status": "completed"}]});
    // It may not run commands, so that it is told how the built-in tool is called.
    let script = Script::default()
        .rule(on("T1", 1).call("Glob", &arguments))
        .rule(
            on("T1", 2)
                .last_contains("call `search_files` with `pattern` instead")
                .call("Glob", &json!({"pattern": "**/*.vala"})),
        )
        .rule(
            on("T1", 3)
                .last_contains("src/a.vala")
                .call("Read", &json!({"file_path": "src/a.vala"})),
        )
        .rule(
            on("T1", 4)
                .last_contains("// here")
                .call("task-tool", &todo),
        )
        .rule(on("T1", 5).text("It is in src/a.vala."));
    let model = world.script(&script)?;
    let ran = world.types(&["run", "plan.md", "--model", &model], 0)?;
    assert!(!ran.stderr.contains("unknown tool `task"), "{}", ran.stderr);
    Ok(())
}

fn files_of_that_ecosystem_are_written_by_agents() -> Outcome {
    let world = World::with_plan("- [ ] T1 Write a tool\n")?;
    let written = |path: &str| json!({"path": path, "content": "@name peek\n@wrapped Read\n"});
    let script = Script::default()
        .rule(
            on("T1", 1)
                .call("write_file", &written("resources/wrapped-tools/Peek.tool"))
                .call("write_file", &written(".orchestrate/tools/peek.tool")),
        )
        .rule(
            on("T1", 2)
                .last_contains("only the user may change")
                .text("Done."),
        );
    let model = world.script(&script)?;
    world.types(&["run", "plan.md", "--model", &model, "--land"], 0)?;
    let is_refused = !world.repository.path().join(".orchestrate/tools").exists();
    assert!(is_refused, "the wrong file was written");
    assert!(
        world
            .repository
            .read("resources/wrapped-tools/Peek.tool")?
            .contains("@name peek"),
        "the wrong file was written"
    );
    Ok(())
}

#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
fn tools_are_listed_searched_and_shown() -> Outcome {
    let world = World::plain()?;
    let folder = tools_folder(&world)?;
    std::fs::write(folder.join("find_vala.tool"), FIND_VALA)?;
    std::fs::write(folder.join("broken.tool"), "@name broken\n@command ls\n")?;
    let listed = world.types(&["tools", "list"], 0)?;
    let broken = format!(
        "error: {}:1: the required field `@wrapped` is missing; the file is skipped",
        folder.join("broken.tool").display()
    );
    says(
        &listed,
        &[
            "find_vala              exec      Find files matching glob patterns",
            "read_file",
            &broken,
        ],
    )?;
    let names = |ran: &Value| -> Vec<String> {
        ran["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect()
    };
    let files = names(
        &world
            .types(&["tools", "list", "--category", "exec", "--json"], 0)?
            .json()?,
    );
    assert!(files.contains(&"find_vala".to_owned()), "{files:?}");
    assert!(!files.contains(&"read_file".to_owned()), "{files:?}");
    says(
        &world.types(&["tools", "list", "--category", "fils"], 2)?,
        &["there is no category `fils`", "files"],
    )?;
    let found = names(
        &world
            .types(&["tools", "search", "GLOB PATTERN", "--json"], 0)?
            .json()?,
    );
    assert_eq!(found, ["find_vala"]);
    let all = world.types(&["tools", "list", "--json"], 0)?.json()?;
    let of = |name: &str| {
        all["items"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|tool| tool["name"] == name)
            .cloned()
            .unwrap_or_default()
    };
    let unused = json!({"calls": 0, "success_rate": null, "p50_ms": 0, "p95_ms": 0});
    assert!(of("grep")["cacheable"] == true, "{}", of("grep"));
    assert!(of("write_file")["cacheable"] == false, "{}", of("grep"));
    assert_eq!(of("grep")["use"], unused, "{}", of("grep"));
    assert!(
        of("find_vala")["limits"]["max_timeout_seconds"] == 600
            && of("read_file")["limits"]["file_bytes"] == 10 << 20,
        "{}",
        of("find_vala")
    );
    // A name that stands already, also by way of another one, is not worth a word; another meaning
    // of it is.
    std::fs::write(folder.join("Bash.tool"), "@name Bash\n@wrapped shell\n")?;
    let quiet = world.types(&["tools", "list"], 0)?;
    std::fs::write(folder.join("Bash.tool"), "@name Bash\n@wrapped grep\n")?;
    let warned = world.types(&["tools", "list"], 0)?;
    if quiet.stderr.contains("Bash") || !warned.stderr.contains("the name `Bash` is taken") {
        return fail(format!("{}\n{}", quiet.stderr, warned.stderr));
    }
    std::fs::remove_file(folder.join("Bash.tool"))?;
    let shown = world
        .types(&["tools", "info", "find_vala", "--json"], 0)?
        .json()?;
    let arguments = &shown["parameters"]["properties"]["arguments"];
    let expected = json!({
        "name": "find_vala", "title": "Glob Pattern Matching", "is_wrapped": true, "wrapped": "run_shell_command",
        "command_template": "find {arguments} -type f", "category": "exec", "permission": "code_execution",
    });
    for (key, value) in expected.as_object().into_iter().flatten() {
        assert_eq!(shown[key], *value, "{key}: {shown}");
    }
    if arguments["items"]["type"] != "string" {
        return fail(shown.to_string());
    }
    // A name of another product's leads to our tool and its second form.
    let glob = world
        .types(&["tools", "info", "Glob", "--json"], 0)?
        .json()?;
    let form = &glob["second_forms"][0];
    let of_form = (
        &form["is_wrapped"],
        &form["command_template"],
        &form["title"],
    );
    let expected = (
        &json!(true),
        &json!("find {arguments} -type f"),
        &json!("Glob Pattern Matching"),
    );
    assert_eq!(glob["name"], "search_files", "{glob}");
    assert!(glob["is_wrapped"] == false, "{glob}");
    assert_eq!(of_form, expected, "{glob}");
    let text = [
        "search_files:\n  | ",
        "other names: glob",
        "if it is called as `glob` with `arguments`:",
        "wraps: run_shell_command",
    ];
    says(&world.types(&["tools", "info", "glob"], 0)?, &text)?;
    says(
        &world.types(&["tools", "info", "reed_file"], 2)?,
        &["there is no tool `reed_file`", "read_file"],
    )
}

fn a_strangers_files_are_checked() -> Outcome {
    let world = World::plain()?;
    let write = |name: &str, text: &str| world.repository.write(name, text);
    write("good.tool", FIND_VALA)?;
    write("alias.tool", "@name peek\n@wrapped Read\n")?;
    write(
        "shell.tool",
        "Runs.\n\n@title Run\n@name run_it\n@wrapped Bash\n@command sh -c {ARGS}\n",
    )?;
    write("a.tool", "@name first\n@wrapped second\n")?;
    write("b.tool", "@name second\n@wrapped first\n")?;
    write("taken.tool", "@name Read\n@wrapped grep\n")?;
    write("large.tool", &" ".repeat(20 << 20))?;
    let pipe = world.repository.path().join("pipe.tool");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )?;
    std::os::unix::fs::symlink("nowhere", world.repository.path().join("link.tool"))?;
    says(
        &world.types(&["tools", "check", "good.tool", "alias.tool"], 0)?,
        &["good.tool: ok", "alias.tool: ok"],
    )?;
    says(
        &world.types(&["tools", "check", "taken.tool"], 0)?,
        &["warning: taken.tool:1: the name `Read` is taken"],
    )?;
    let all =
        ["shell", "a", "b", "large", "pipe", "link", "gone"].map(|name| format!("{name}.tool"));
    let arguments: Vec<&str> = ["tools", "check"]
        .into_iter()
        .chain(all.iter().map(String::as_str))
        .collect();
    let expected = [
        "error: shell.tool:6: the template hides a shell",
        "error: a.tool:2: the aliases form a cycle: second → first → second",
        "error: b.tool:2: the aliases form a cycle: first → second → first",
        "error: large.tool: the file is larger than 64 KiB",
        "error: pipe.tool: the file cannot be read: it is a pipe, a socket or a device, not a file",
        "error: link.tool: the file cannot be read: No such file or directory",
        "error: gone.tool: the file cannot be read: No such file or directory",
    ];
    says(&world.types(&arguments, 2)?, &expected)?;
    let checked = world
        .types(&["tools", "check", "good.tool", "shell.tool", "--json"], 2)?
        .json()?;
    let of = |number: usize| {
        (
            checked["items"][number]["file"].clone(),
            checked["items"][number]["ok"].clone(),
        )
    };
    let problem = &checked["items"][1]["problems"][0];
    assert!(
        of(0) == (json!("good.tool"), json!(true))
            && of(1) == (json!("shell.tool"), json!(false))
            && (&problem["severity"], &problem["line"]) == (&json!("error"), &json!(6)),
        "{checked}"
    );
    Ok(())
}

fn rules_may_name_the_tools_of_files() -> Outcome {
    let world = world()?;
    let check = |rule: &str| {
        world
            .orchestrate(&["run", "plan.md", "--model", "script:none", "--deny", rule])
            .run()
    };
    let unknown = check("find_vala")?;
    says(&unknown, &["names `find_vala`, but there is no such tool"])?;
    world.repository.write(FILE, FIND_VALA)?;
    let known = check("find_vala")?;
    assert!(!known.stderr.contains("no such tool"), "{}", known.stderr);
    Ok(())
}

fn a_hostile_file_stops_no_command() -> Outcome {
    let world = world()?;
    let arrays = format!("{}string{}", "array<".repeat(5_000), ">".repeat(5_000));
    let deep = format!("@name deep\n@wrapped Bash\n@param command {{{arrays}}}\n");
    let mut wide =
        "@name wide\n@wrapped Bash\n@type t0 {object}\n@property t0.a {string}\n".to_owned();
    for number in 1..30 {
        let before = number - 1;
        wide.push_str(&format!(
            "@type t{number} {{object}}\n@property t{number}.a {{t{before}}}\n@property t{number}.b {{t{before}}}\n"
        ));
    }
    wide.push_str("@param command {t29}\n");
    for (name, text) in [("deep", &deep), ("wide", &wide)] {
        world
            .repository
            .write(&format!(".orchestrate/tools/{name}.tool"), text)?;
    }
    world.repository.commit_all("Define hostile tools")?;
    for arguments in [
        &["config", "show"][..],
        &["check", "plan.md"],
        &["tools", "list"],
    ] {
        world.types(arguments, 0)?;
    }
    let files = [
        ".orchestrate/tools/deep.tool",
        ".orchestrate/tools/wide.tool",
    ];
    let expected = [
        "error: .orchestrate/tools/deep.tool:3: nested too deeply: at most 16 arrays and objects may contain each other",
        "error: .orchestrate/tools/wide.tool:37: too large: ",
    ];
    says(
        &world.types(&["tools", "check", files[0], files[1]], 2)?,
        &expected,
    )
}

fn a_link_in_the_place_of_the_folder_is_named() -> Outcome {
    let world = world()?;
    world.repository.write("shared/find_vala.tool", FIND_VALA)?;
    std::fs::create_dir_all(world.repository.path().join(".orchestrate"))?;
    std::os::unix::fs::symlink(
        "../shared",
        world.repository.path().join(".orchestrate/tools"),
    )?;
    world.repository.commit_all("Link the tools")?;
    let named = ".orchestrate/tools: only a folder is read here, and this is a link or a file, so this file has no effect";
    says(&world.types(&["check", "plan.md"], 0)?, &[named])
}
