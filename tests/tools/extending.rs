//! Tools that people add, alone and in plugins, with the callbacks of their program; and the
//! reference of all tools.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use libtest_mimic::Failed;
use orchestrate_coordinator::{
    Answer, Category, CoordinatorError, Plugin, PluginError, Settings, ShutdownLevel, Tool,
    ToolContext, ToolError, ToolPlugin, ToolProperties, ToolRegistry,
};
use orchestrate_core::event::Event;
use orchestrate_core::policy::{Permission, RuleDecision, RuleText};
use serde_json::{Value, json};

use crate::support::{
    Case, Outcome, Played, Script, World, case, done, fail, on, plan_input, require_words, runtime,
    says,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_plugin_is_frozen_listed_and_used_in_a_run),
        case!(a_tool_of_the_programs_own_is_used_without_a_plugin),
        case!(a_rule_holds_for_a_plugins_tool),
        case!(callbacks_hear_each_call_and_hold_up_none),
        case!(callbacks_come_in_the_journals_order),
        case!(a_tool_that_blocks_its_thread_fails_alone),
        case!(a_run_goes_on_only_where_its_plugins_are),
        case!(a_plugin_that_cannot_be_used_opens_nothing),
        case!(the_reference_of_the_tools_is_written),
    ]
}

/// What the tool of the test does.
#[derive(Clone, Copy, PartialEq)]
enum How {
    Counts,
    /// Waits until its call is stopped.
    Waits,
    /// Never gives its thread back.
    Blocks,
}

struct WordCount(Value, How);

#[async_trait]
impl Tool for WordCount {
    fn name(&self) -> &str {
        "word_count"
    }

    fn description(&self) -> &str {
        "Counts the words of a text."
    }

    fn category(&self) -> Category {
        Category::named("words")
    }

    fn properties(&self) -> ToolProperties {
        ToolProperties {
            path_fields: &["path"],
            ..ToolProperties::new(Permission::FileRead)
        }
    }

    fn schema(&self) -> &Value {
        &self.0
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        match self.1 {
            How::Counts => {}
            How::Waits => std::future::pending().await,
            How::Blocks => loop {
                std::thread::park();
            },
        }
        let path = arguments["path"].as_str().unwrap_or_default().to_owned();
        let read = context
            .blocking(move |files, _| Ok(files.read(&path)?.1))
            .await?;
        let words = String::from_utf8_lossy(&read).split_whitespace().count();
        let before = context
            .shared()
            .value::<AtomicUsize>()
            .fetch_add(words, Ordering::SeqCst);
        Ok(Answer::new(
            format!("{words} words, {} in this run", before + words),
            json!({"words": words}),
        ))
    }
}

fn word_count(how: How) -> WordCount {
    let properties = json!({"path": {"type": "string"}});
    let schema = json!({"type": "object", "properties": properties, "required": ["path"], "additionalProperties": false});
    WordCount(schema, how)
}

/// The plugin with this tool.
struct Words {
    version: &'static str,
    how: How,
}

impl ToolPlugin for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn version(&self) -> &str {
        self.version
    }

    fn initialize(&self, config: &Value) -> Result<(), PluginError> {
        if config["fails"] == true {
            Err("it is to fail".into())
        } else {
            Ok(())
        }
    }

    fn register_tools(&self, registry: &mut ToolRegistry) -> Result<(), PluginError> {
        registry.register(Arc::new(word_count(self.how)), Category::named("words"))?;
        Ok(())
    }
}

fn plugin(version: &'static str, how: How) -> Plugin {
    Plugin::new(Words { version, how })
}

const ROLE: &str =
    "---\nname: counter\ndescription: Counts.\ntools: word_count, Write\n---\nCount.\n";
const PLAN: &str = "- [ ] T1 Count\n";

/// Creates a repository with a role that has the tool, and a text.
fn world() -> Result<World, Failed> {
    let world = World::plain()?;
    world.repository.write("agents/counter.md", ROLE)?;
    world.repository.write("text.txt", "one two three\n")?;
    world.repository.commit_all("Add a role")?;
    Ok(world)
}

/// Returns an agent that counts and writes down whether it got this answer.
fn counts(expected: &str) -> Script {
    let write = |text: &str| json!({"path": "count.txt", "content": text});
    Script::default()
        .rule(on("T1", 1).call("word_count", &json!({"path": "text.txt"})))
        .rule(
            on("T1", 2)
                .last_contains(expected)
                .call("write_file", &write("yes\n")),
        )
        .rule(on("T1", 2).call("write_file", &write("no\n")))
        .rule(done("T1"))
}

fn play(world: &World, answer: &str, change: impl FnOnce(&mut Settings)) -> Result<Played, Failed> {
    let played = world.play(PLAN, &counts(answer), |settings| {
        settings.run.agent = "counter".to_owned();
        change(settings);
    })?;
    match world.merged(&played.report, "count.txt")?.as_str() {
        "yes" => Ok(played),
        _ => fail(format!("{:?}", played.results("T1")?)),
    }
}

fn deny(rule: &str) -> RuleText {
    RuleText::new(RuleDecision::Deny, rule, "the test")
}

fn a_plugin_is_frozen_listed_and_used_in_a_run() -> Outcome {
    let world = world()?;
    let audit = world.home.path().join("audit.jsonl");
    let played = play(&world, "3 words", |settings| {
        settings.plugins = vec![plugin("1.2.0", How::Counts)];
        settings.audit_log = Some(audit.clone());
    })?;
    let extensions = played.pick(|event| match event {
        Event::RunStarted { settings, .. } => Some(json!(settings.extensions)),
        _ => None,
    });
    let expected = json!({"tools": [], "plugins": [{"name": "words", "version": "1.2.0", "tools": ["word_count"]}]});
    if extensions != [expected] || played.tools("T1").first() != Some(&"word_count") {
        return fail(format!("{extensions:?} {:?}", played.tools("T1")));
    }
    let tools = played.coordinator.tools()?.registry;
    let listed: Vec<&str> = tools
        .tools(Some(&Category::named("words")))
        .iter()
        .map(|tool| tool.name())
        .collect();
    let found: Vec<&str> = tools
        .search("words of a text")
        .iter()
        .map(|tool| tool.name())
        .collect();
    assert_eq!(listed, ["word_count"], "{found:?}");
    assert_eq!(found, ["word_count"], "{listed:?}");
    require_words(
        &std::fs::read_to_string(audit)?,
        &[r#""tool_name":"word_count""#],
    )
}

fn a_tool_of_the_programs_own_is_used_without_a_plugin() -> Outcome {
    let look = json!({"path": "text.txt"});
    let twice = Script::default().rule(
        on("T1", 1)
            .call("word_count", &look)
            .call("word_count", &look),
    );
    let write = |text: &str| json!({"path": "count.txt", "content": text});
    let script = twice
        .rule(
            on("T1", 2)
                .last_contains("3 words, 6 in this run")
                .call("write_file", &write("yes\n")),
        )
        .rule(done("T1"));
    let world = world()?;
    let played = world.play(PLAN, &script, |settings| {
        settings.run.agent = "counter".to_owned();
        settings.tools = vec![Arc::new(word_count(How::Counts))];
    })?;
    let extensions = played.pick(|event| match event {
        Event::RunStarted { settings, .. } => Some(json!(settings.extensions)),
        _ => None,
    });
    let written = world.merged(&played.report, "count.txt")?;
    let listed = world.types(&["tools", "list", "--json"], 0)?.json()?;
    let write = listed["items"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|tool| tool["name"] == "write_file")
        .cloned();
    let used = write.unwrap_or_default()["use"].clone();
    assert!(used["calls"] == 1 && used["success_rate"] == 1.0, "{used}");
    assert!(
        extensions == [json!({"tools": ["word_count"], "plugins": []})] && written == "yes",
        "{extensions:?} {:?}",
        played.results("T1")?
    );
    Ok(())
}

fn a_rule_holds_for_a_plugins_tool() -> Outcome {
    for rule in ["Read(text.txt)", "word_count"] {
        play(&world()?, "Security validation failed", |settings| {
            settings.plugins = vec![plugin("1.2.0", How::Counts)];
            settings.run.rules = vec![deny(rule)];
        })?;
    }
    Ok(())
}

/// What callbacks have heard.
type Heard = Arc<Mutex<Vec<String>>>;

fn note(heard: &Heard, text: String) {
    heard
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(text);
}

/// One function panics each time, and the other one hangs at the last call.
fn callbacks_hear_each_call_and_hold_up_none() -> Outcome {
    let (starts, ends): (Heard, Heard) = Default::default();
    let (started, ended) = (Arc::clone(&starts), Arc::clone(&ends));
    let played = play(&world()?, "ERROR", move |settings| {
        settings.plugins = vec![plugin("1.2.0", How::Counts)];
        settings.run.rules = vec![deny("word_count")];
        settings.on_tool_start = Some(Arc::new(move |start| {
            note(
                &started,
                format!("{} {} {}", start.agent, start.name, start.arguments),
            );
            assert!(start.name.is_empty(), "each time");
        }));
        settings.on_tool_complete = Some(Arc::new(move |end| {
            note(
                &ended,
                format!(
                    "{} {} {}",
                    end.agent,
                    end.name,
                    end.result.lines().next().unwrap_or_default()
                ),
            );
            if end.name == "write_file" {
                loop {
                    std::thread::park();
                }
            }
        }));
    })?;
    let heard = |of: &Heard| of.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
    let (starts, ends) = (heard(&starts), heard(&ends));
    require_words(
        &starts,
        &["T1 word_count {\"path\":\"text.txt\"}\nT1 write_file {\"path\":\"count.txt\""],
    )?;
    require_words(
        &ends,
        &[
            "T1 word_count ERROR: Security validation failed: ",
            "\nT1 write_file ",
        ],
    )?;
    let calls = played.tools("T1").len();
    assert_eq!(starts.lines().count(), calls, "{ends}");
    assert_eq!(ends.lines().count(), calls, "{ends}");
    Ok(())
}

/// How long the function for starts waits for an end that must not come before it returns.
const UNTIL_AN_END: Duration = Duration::from_millis(100);

/// The function for starts is slow: it waits for an end, which a second thread would bring.
fn callbacks_come_in_the_journals_order() -> Outcome {
    let heard = Heard::default();
    let (starts, ends) = (Arc::clone(&heard), Arc::clone(&heard));
    let (end, next_end) = sync_channel(16);
    let next_end = Mutex::new(next_end);
    let played = play(&world()?, "3 words", move |settings| {
        settings.plugins = vec![plugin("1.2.0", How::Counts)];
        settings.on_tool_start = Some(Arc::new(move |start| {
            let next_end = next_end.lock().unwrap_or_else(PoisonError::into_inner);
            let came_before = next_end
                .recv_timeout(UNTIL_AN_END)
                .is_ok_and(|ended| ended == start.call);
            note(
                &starts,
                format!(
                    "start {}{}",
                    start.call,
                    if came_before { " after its end" } else { "" }
                ),
            );
        }));
        settings.on_tool_complete = Some(Arc::new(move |ended| {
            note(&ends, format!("end {}", ended.call));
            end.try_send(ended.call.clone()).unwrap_or_default();
        }));
    })?;
    let recorded: Vec<String> = played.pick(|event| match event {
        Event::ToolStarted { call_id, .. } => Some(format!("start {call_id}")),
        Event::ToolFinished { call_id, .. } => Some(format!("end {call_id}")),
        _ => None,
    });
    let heard = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(heard, recorded, "{heard:?} is not {recorded:?}");
    assert!(recorded.len() >= 4, "{heard:?} is not {recorded:?}");
    Ok(())
}

fn a_tool_that_blocks_its_thread_fails_alone() -> Outcome {
    play(&world()?, "timed out after 1 s", |settings| {
        settings.plugins = vec![plugin("1.2.0", How::Blocks)];
        settings.run.tool_settings.code_execution.timeout_seconds = Some(1);
    })?;
    Ok(())
}

/// How often the user was told of another version.
static TOLD: AtomicUsize = AtomicUsize::new(0);

fn tell(text: &str) {
    if text.ends_with("started with the plugin `words` 1.2.0 and continues with 1.3.0") {
        TOLD.fetch_add(1, Ordering::SeqCst);
    }
}

fn a_run_goes_on_only_where_its_plugins_are() -> Outcome {
    let world = world()?;
    let (called, calls) = sync_channel(1);
    let coordinator = world.coordinator(&counts("interrupted"), |settings| {
        settings.run.agent = "counter".to_owned();
        settings.plugins = vec![plugin("1.2.0", How::Waits)];
        // Only the first call is waited for.
        settings.on_tool_start = Some(Arc::new(move |_| called.try_send(()).unwrap_or_default()));
    })?;
    // The tool is stopped with its agent, and the run can be taken over.
    let run = runtime()?.block_on(async {
        let run = coordinator.start(plan_input(PLAN)?).await?;
        let id = run.id().clone();
        let started =
            tokio::task::spawn_blocking(move || calls.recv_timeout(Duration::from_secs(60)));
        started.await??;
        run.raise(ShutdownLevel::Stop);
        run.wait().await?;
        Ok::<_, Failed>(id)
    })?;
    drop(coordinator);
    let refusal = "it uses the plugin `words` 1.2.0 with the tool `word_count`, which this program does not have";
    let without = world.coordinator(&counts("interrupted"), |_| {})?;
    match runtime()?.block_on(without.resume(&run)).err() {
        Some(error @ CoordinatorError::MissingTools { .. }) => {
            require_words(&error.to_string(), &[refusal])?
        }
        other => return fail(format!("{other:?}")),
    }
    drop(without);
    says(&world.types(&["resume", run.as_str()], 1)?, &[refusal])?;
    let played = world.resume(&run, &counts("interrupted"), |settings| {
        settings.plugins = vec![plugin("1.3.0", How::Counts)];
        settings.warn = tell;
    })?;
    if TOLD.load(Ordering::SeqCst) != 1 {
        return fail("another version is not told");
    }
    let ends = played.results("T1")?;
    assert_eq!(
        world.merged(&played.report, "count.txt")?,
        "yes",
        "{ends:?}"
    );
    Ok(())
}

fn a_plugin_that_cannot_be_used_opens_nothing() -> Outcome {
    let world = World::plain()?;
    let opened = world.coordinator(&Script::default(), |settings| {
        let words = Words {
            version: "1",
            how: How::Counts,
        };
        settings.plugins = vec![Plugin::configured(words, json!({"fails": true}))];
    });
    let Err(error) = opened else {
        return fail("it opens");
    };
    require_words(
        &format!("{error:?}"),
        &["use the plugin `words`: initialize it: it is to fail"],
    )
}

/// An alias and a wrapper of the user's own.
const LINES: &str = "Counts the lines of files.\n\n@title Count lines\n@name count_lines\n@wrapped run_command\n\
    @command wc -l {arguments}\n@param arguments {array<string>} [required] The files\n";
const PEEK: &str = "@name peek\n@wrapped read_file\n";

fn the_reference_of_the_tools_is_written() -> Outcome {
    let world = World::plain()?;
    let docs = world.types(&["tools", "docs"], 0)?.stdout;
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tools.md"))?;
    assert_eq!(docs, page, "it is not docs/tools.md:\n{docs}");
    let folder = world.home.path().join("config/orchestrate/tools");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("count_lines.tool"), LINES)?;
    std::fs::write(folder.join("peek.tool"), PEEK)?;
    let ran = world.types(&["tools", "docs", "--format", "md"], 0)?;
    says(
        &ran,
        &[
            "### `count_lines`\n\n**Count lines**\n\nCounts the lines of files.\n",
            "- command: `wc -l {arguments}`",
        ],
    )?;
    says(
        &ran,
        &[
            "| `arguments` | array of string | yes | The files |",
            "`peek`",
        ],
    )?;
    let json = world
        .types(&["tools", "docs", "--format", "json"], 0)?
        .stdout;
    let listed = world.types(&["tools", "list", "--json"], 0)?.json()?;
    let docs: Value = serde_json::from_str(&json)?;
    assert_eq!(docs["items"], listed["items"]);
    assert!(json.contains("count_lines"), "{json}");
    Ok(())
}
