use serde_json::{Value, json};

use super::*;
use crate::CommandTemplate;
use crate::builtin::builtin_tools;
use crate::tool::CallSite;

const FULL: &str = "Counts lines.\n\n@title Count\n@name count_lines\n@wrapped run_command\n@command wc -l {path}\n\
    @param path {string} [required] The file\n";

/// Adds files, each with its name, to the built-in tools.
fn added(files: &[(&str, &str)]) -> (ToolRegistry, Vec<String>) {
    let file = |(path, text): &(&str, &str)| ToolFile {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    };
    let files: Vec<ToolFile> = files.iter().map(file).collect();
    let mut registry = builtin_tools(&|_| None).unwrap();
    let problems = add_tool_files(&mut registry, &files);
    let said = problems
        .iter()
        .map(|problem| format!("{:?}: {problem}", problem.severity))
        .collect();
    (registry, said)
}

fn meant<'a>(registry: &'a ToolRegistry, name: &str) -> Option<&'a str> {
    registry.resolve(name).map(|tool| tool.name())
}

#[test]
fn an_alias_may_lead_to_an_alias_whatever_their_order() {
    let (registry, problems) = added(&[
        ("a", "@name first\n@wrapped second\n"),
        ("b", "@name second\n@wrapped Bash\n"),
        ("c", "@name third\n@wrapped count_lines\n"),
        ("d", FULL),
    ]);
    assert_eq!(problems, [""; 0]);
    let names = ["first", "second", "third"].map(|name| meant(&registry, name));
    assert_eq!(
        names,
        [
            Some("run_shell_command"),
            Some("run_shell_command"),
            Some("count_lines")
        ]
    );
    assert_eq!(registry.names().canonical("THIRD"), "count_lines");
}

#[test]
fn an_alias_is_the_same_tool_under_another_name() {
    let (registry, _) = added(&[("a", "@name webFetch2\n@wrapped read_file\n")]);
    let alias = registry.resolve("webFetch2").unwrap();
    let tool = registry.tool("read_file").unwrap();
    assert!(Arc::ptr_eq(alias, tool));
}

#[test]
fn a_wrapper_is_a_tool_that_only_roles_that_list_it_have() {
    let (registry, problems) = added(&[("a", FULL)]);
    assert_eq!(problems, [""; 0]);
    let (tool, wrapped) = (
        registry.tool("count_lines").unwrap(),
        registry.tool("run_shell_command").unwrap(),
    );
    assert_eq!(
        (tool.title(), tool.description()),
        ("Count", "Counts lines.")
    );
    let wrapping = tool.wrapping().unwrap();
    assert_eq!(wrapping.tool, "run_shell_command");
    assert_eq!(
        wrapping.template.map(CommandTemplate::as_str),
        Some("wc -l {path}")
    );
    assert_eq!(
        (tool.permission(), tool.category()),
        (wrapped.permission(), wrapped.category())
    );
    let traits = registry.names().tool("count_lines").unwrap();
    assert!(!traits.is_default && traits.changes_files && traits.deletes_files);
}

#[test]
fn texts_that_a_wrapper_leaves_out_are_those_of_the_wrapped_tool() {
    let text = "@name quick_shell\n@wrapped Bash\n@param command {string} [required]\n@param timeout {integer} Mine\n";
    let (registry, problems) = added(&[("a", text)]);
    assert_eq!(problems, [""; 0]);
    let (tool, wrapped) = (
        registry.tool("quick_shell").unwrap(),
        registry.tool("run_shell_command").unwrap(),
    );
    assert_eq!(
        (tool.title(), tool.description()),
        ("run_shell_command", wrapped.description())
    );
    let parameter = |tool: &Arc<dyn crate::tool::Tool>, name: &str| {
        tool.schema()["properties"][name]["description"].clone()
    };
    assert_eq!(parameter(tool, "command"), parameter(wrapped, "command"));
    assert_eq!(parameter(tool, "timeout"), json!("Mine"));
    // Without a template, its calls are checked as those of the wrapped tool are.
    let site = CallSite {
        worktree: "/w".into(),
        policy: Arc::default(),
    };
    let fault_of = |arguments: Value| {
        let fault = tool.prepare(&site, arguments).unwrap().fault;
        fault.unwrap().to_string()
    };
    let empty = fault_of(json!({"command": ""}));
    assert_eq!(empty, "Invalid parameters: `command` is empty");
    let long = fault_of(json!({"command": "ls", "timeout": 0}));
    assert!(long.starts_with("Invalid parameters: `timeout`"), "{long}");
}

#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
#[test]
fn what_is_wrong_is_left_out_and_the_rest_is_added() {
    let cycle = "the aliases form a cycle: ";
    let table: &[(&[&str], &[&str])] = &[
        (
            &["@name a\n@wrapped a\n"],
            &["Error: 0:2: the aliases form a cycle: a → a"],
        ),
        (
            &["@name a\n@wrapped b\n", "@name b\n@wrapped a\n"],
            &[cycle, cycle],
        ),
        (
            &["@name a\n@wrapped reed_file\n"],
            &["Error: 0:2: Wrapped tool 'reed_file' not found; similar tools: `read_file`"],
        ),
        (
            &["@name a\n@wrapped no_such_tool\n"],
            &["Error: 0:2: Wrapped tool 'no_such_tool' not found"],
        ),
        (
            &["@name a\n@wrapped read_file\n@param path {string} [required] x\n"],
            &["Error: 0:2: Tool 'read_file' is not wrappable"],
        ),
        (
            &[
                FULL,
                "D.\n@title T\n@name a\n@wrapped count_lines\n@command ls",
            ],
            &["Error: 1:4: Tool 'count_lines' is not wrappable"],
        ),
        (
            &[FULL, "@name a\n@wrapped b\n@command ls"],
            &["Error: 1:3: with `@command`, `@title` is also required"],
        ),
        (
            &["@name a\n@wrapped Bash\n@param foo {string}\n"],
            &["Error: 0:3: `run_shell_command` has no parameter `foo`; it has `"],
        ),
        (
            &["@name a\n@wrapped Bash\n@param cwd {string}\n"],
            &["Error: 0:2: `run_shell_command` requires `command`, which no parameter gives"],
        ),
        (
            &["@name a\n@wrapped Bash\n@param command {array<string>}\n"],
            &[
                "Error: 0:3: the parameter `command` is of type array, but `run_shell_command` expects string",
            ],
        ),
        (
            &["broken", FULL],
            &["Error: 0:1: the required field `@name` is missing"],
        ),
        (
            &[FULL, FULL],
            &[
                "Warning: 1:4: the name `count_lines` is taken: `0` defines it; the first definition counts",
            ],
        ),
        (
            &["@name a\n@wrapped Read\n", "@name A\n@wrapped Bash\n"],
            &["Warning: 1:1: the name `A` is taken: `0` defines it; the first definition counts"],
        ),
        (
            &["@name Read\n@wrapped grep\n"],
            &[
                "Warning: 0:1: the name `Read` is taken: it means the tool `read_file`; the first definition counts",
            ],
        ),
        // A name that it has already is no loss.
        (
            &[
                "@name Read\n@wrapped read_file\n",
                "@name bash\n@wrapped shell\n",
            ],
            &[],
        ),
        (
            &["@name READ_file\n@wrapped Bash\n"],
            &["Warning: 0:1: the name `READ_file` is taken"],
        ),
        (
            &["D.\n@title T\n@name grep\n@wrapped Bash\n@command rg {ARGS}"],
            &["Warning: 0:3: the name `grep` is taken: `grep` has a second form already"],
        ),
        (
            &[
                "D.\n@title T\n@name read_file\n@wrapped Bash\n@command cat {path}\n@param path {string} x",
            ],
            &[
                "Warning: 0:3: the name `read_file` is taken: it means the tool `read_file`, and only a wrapper",
            ],
        ),
    ];
    for (texts, expected) in table {
        let names: Vec<String> = (0..texts.len()).map(|number| number.to_string()).collect();
        let files: Vec<(&str, &str)> = names
            .iter()
            .map(String::as_str)
            .zip(texts.iter().copied())
            .collect();
        let (registry, problems) = added(&files);
        let fits = problems.len() == expected.len()
            && problems
                .iter()
                .zip(*expected)
                .all(|(said, expected)| said.contains(expected));
        assert!(fits, "{texts:?}: {problems:?}");
        assert_eq!(
            meant(&registry, "count_lines").is_some(),
            texts.contains(&FULL),
            "{texts:?}"
        );
        assert_eq!(meant(&registry, "Read"), Some("read_file"));
    }
}

#[test]
fn a_wrapper_of_a_known_name_is_its_second_form() {
    let text = "Reads.\n@title Read\n@name Read\n@wrapped Bash\n@command cat {ARGS}\n";
    let (registry, problems) = added(&[("a", text)]);
    assert_eq!(problems, [""; 0]);
    let table = [
        (
            "Read",
            json!({"arguments": ["a"]}),
            "Read",
            Some("read_file"),
        ),
        ("read", json!({"arguments": "a"}), "Read", Some("read_file")),
        ("Read", json!({"path": "a"}), "read_file", None),
        ("read_file", json!({"arguments": ["a"]}), "read_file", None),
        (
            "Glob",
            json!({"arguments": ["."]}),
            "glob",
            Some("search_files"),
        ),
        ("Glob", json!({"pattern": "*"}), "search_files", None),
        ("grep", json!({"arguments": ["x"]}), "grep", Some("grep")),
        ("LS", json!({"arguments": []}), "ls", Some("list_directory")),
    ];
    for (name, arguments, tool, first) in table {
        let resolved = registry.resolve_call(name, &arguments).unwrap();
        let found = (
            resolved.tool.name(),
            resolved.first_form.map(|first| first.name()),
        );
        assert_eq!(found, (tool, first), "{name} {arguments}");
        assert_eq!(
            resolved.tool.wrapping().is_some(),
            first.is_some(),
            "{name} {arguments}"
        );
    }
    // A second form has no place in the list of tools that a model sees.
    assert!(registry.tool("Read").is_none() && registry.tool("glob").is_none());
}

#[test]
fn parameters_may_have_the_names_that_a_call_may_use() {
    let text = "@name a\n@wrapped Bash\n@param command {string} [required]\n@param workdir {string}\n\
        @param description {string}\n@param timeout {number}\n";
    assert_eq!(added(&[("a", text)]).1, [""; 0]);
}

#[test]
fn a_file_that_is_too_deep_is_skipped() {
    let deep = format!(
        "@name deep\n@wrapped Bash\n@param command {{{}string}}\n",
        "array<".repeat(5_000)
    );
    let (registry, problems) = added(&[("deep.tool", &deep), ("a", FULL)]);
    assert_eq!(
        problems,
        [
            "Error: deep.tool:3: nested too deeply: at most 16 arrays and objects may contain each other"
        ]
    );
    assert_eq!(
        (meant(&registry, "deep"), meant(&registry, "count_lines")),
        (None, Some("count_lines"))
    );
}

#[test]
fn only_so_many_files_are_read() {
    let texts: Vec<String> = (0..=MAX_FILES)
        .map(|number| format!("@name a{number}\n@wrapped Read\n"))
        .collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|text| ("f", text.as_str())).collect();
    let (_, problems) = added(&files);
    assert_eq!(problems, ["Error: f:1: only the first 256 files are read"]);
}
