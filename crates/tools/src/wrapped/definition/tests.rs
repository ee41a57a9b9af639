use super::super::parameter::MAX_DEPTH;
use super::*;

/// The reference's own `glob.tool`.
const GLOB: &str = "Find files matching glob patterns using find. The working directory is the project directory by \
    default. Common usage: [\".\", \"-type\", \"f\", \"-name\", \"*.vala\"] to find all .vala files.\n\n\
    @title Glob Pattern Matching\n@name glob\n@wrapped run_command\n@command find {arguments} -type f\n\
    @param arguments {array<string>} [required] Array of strings that will be passed to the command\n";

fn wrapper(text: &str) -> Wrapper {
    Definition::parse(text).unwrap().wrapper.unwrap()
}

#[test]
fn the_references_example_is_a_wrapper() {
    let definition = Definition::parse(GLOB).unwrap();
    assert_eq!(
        (
            definition.name.text.as_str(),
            definition.wrapped.text.as_str()
        ),
        ("glob", "run_command")
    );
    let wrapper = definition.wrapper.unwrap();
    assert_eq!(wrapper.title.as_deref(), Some("Glob Pattern Matching"));
    assert!(
        wrapper
            .description
            .as_deref()
            .is_some_and(|text| text.ends_with("to find all .vala files."))
    );
    assert_eq!(
        wrapper.command.as_ref().map(CommandTemplate::as_str),
        Some("find {arguments} -type f")
    );
    assert!(wrapper.takes_arguments());
    let arguments = json!({"type": "array", "items": {"type": "string"},
        "description": "Array of strings that will be passed to the command"});
    let expected = json!({"type": "object", "properties": {"arguments": arguments}, "required": ["arguments"],
        "additionalProperties": false});
    assert_eq!(wrapper.schema(), expected);
}

#[test]
fn an_alias_has_neither_command_nor_parameters() {
    let texts = [
        "@name webFetch\n@wrapped web_fetch\n",
        "@name webFetch\n@wrapped web_fetch\n@example {\"name\": \"webFetch\", \"arguments\": {\"url\": \"x\"}}",
        "Fetches a page.\n\n@title Web\n@wrapped web_fetch\n@name webFetch",
    ];
    for text in texts {
        let definition = Definition::parse(text).unwrap();
        let names = (
            definition.name.text.as_str(),
            definition.wrapped.text.as_str(),
        );
        assert_eq!(
            (names, definition.wrapper),
            (("webFetch", "web_fetch"), None),
            "{text}"
        );
    }
}

#[test]
fn descriptions_examples_and_types_are_those_of_real_files() {
    let text = "Two\nlines.\n\nAnd more.\n@title T\n@name x_edit\n@wrapped run_command\n\n@type edit {object} One edit\n\
        @property edit.line {integer} The line\n@property edit.why {string} [optional]\n\
        @example {\"name\": \"x_edit\", \"arguments\": {\"edits\": [{\"line\": 1}]}}\n\
        @param edits {array<edit>} [required] The\n  edits\n";
    let wrapper = wrapper(text);
    assert_eq!(
        wrapper.description.as_deref(),
        Some("Two\nlines.\n\nAnd more.")
    );
    let edit = json!({"type": "object", "description": "One edit", "additionalProperties": false, "required": ["line"],
        "properties": {"line": {"type": "integer", "description": "The line"}, "why": {"type": "string"}}});
    let edits = json!({"type": "array", "items": edit, "description": "The edits"});
    let expected = json!({"type": "object", "properties": {"edits": edits}, "required": ["edits"],
        "additionalProperties": false, "examples": [{"edits": [{"line": 1}]}]});
    assert_eq!(wrapper.schema(), expected);
}

#[test]
fn arguments_are_implied_by_their_slot() {
    let text = "Lists.\n@title List\n@name x_ls\n@wrapped run_command\n@command ls {ARGS}\n@match [\"-la\", \".\"]\n\
        @not_match {\"arguments\": \".\"}\n";
    let wrapper = wrapper(text);
    assert!(wrapper.takes_arguments() && wrapper.parameters[0].required);
    assert_eq!(wrapper.examples, Vec::<Value>::new());
    assert_eq!(
        wrapper.command.unwrap().fill(&json!({"arguments": ["-a"]})),
        Ok(vec!["ls".into(), "-a".into()])
    );
}

#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
#[test]
fn every_mistake_has_its_line_and_its_reason() {
    let full = "Text.\n@title T\n@name x\n@wrapped run_command\n";
    let with = |more: &str| format!("{full}{more}");
    let table = [
        ("".to_owned(), 1, "the required field `@name` is missing"),
        (
            "@wrapped a\n".to_owned(),
            1,
            "the required field `@name` is missing",
        ),
        (
            "@name a\n".to_owned(),
            1,
            "the required field `@wrapped` is missing",
        ),
        ("@name\n@wrapped a\n".to_owned(), 1, "`@name` has no value"),
        (
            "@name a b\n@wrapped c\n".to_owned(),
            1,
            "a tool's name has at most 64 letters",
        ),
        (
            format!("@name {}\n@wrapped c\n", "a".repeat(65)),
            1,
            "a tool's name has at most 64 letters",
        ),
        (
            "@name a\n@wrapped ../c\n".to_owned(),
            2,
            "a tool's name has at most 64 letters",
        ),
        (
            "@name a\n@wrapped c\n@name b\n".to_owned(),
            3,
            "`@name` is already on line 1",
        ),
        (
            "@name a\n@wraped c\n".to_owned(),
            2,
            "unknown annotation `@wraped`; did you mean `@wrapped`?",
        ),
        (
            "@name a\n@author c\n".to_owned(),
            2,
            "unknown annotation `@author`; known: @title, @name",
        ),
        (
            "@name x\n@title T\n@wrapped c\n@command ls".to_owned(),
            4,
            "with `@command`, a description is also required",
        ),
        (
            "Text.\n@name x\n@wrapped c\n@command ls".to_owned(),
            4,
            "with `@command`, `@title` is also required",
        ),
        (
            with("@command sh -c {ARGS}"),
            5,
            "the template hides a shell",
        ),
        (with("@command {arguments}"), 5, "the program must be fixed"),
        (with("@command ls {dir}"), 5, "`{dir}` names no parameter"),
        (
            with("@command ls\n@param dir {string} x"),
            6,
            "the parameter `dir` is not used",
        ),
        (
            with("@command ls {a}\n@param a {object} x"),
            6,
            "the parameter `a` is an object",
        ),
        (
            with("@command ls {a}\n@param a {array<object>} x"),
            6,
            "must be an array of plain values",
        ),
        (
            with("@command ls --x={a}\n@param a {array<string>} x"),
            6,
            "its slot is a part of a word",
        ),
        (
            with("@param a {string}\n@param a {string}"),
            6,
            "the parameter `a` is already on line 5",
        ),
        (
            with("@param a {thing}"),
            5,
            "the type `thing` is not declared above",
        ),
        (with("@param a string"), 5, "the type in braces is missing"),
        (
            with("@type t {string}"),
            5,
            "the type `t` must be `{object}`",
        ),
        (
            with("@type t {object}\n@type t {object}"),
            6,
            "the type `t` is declared twice",
        ),
        (
            with("@property t.a {string}"),
            5,
            "`@type t {object}` must stand above its properties",
        ),
        (
            with("@type t {object}\n@property a {string}"),
            6,
            "`a` is not a property",
        ),
        (
            with("@type t {object}\n@property t.a {t}"),
            6,
            "the type `t` is not declared above",
        ),
        (
            with("@type t {object}\n@property t.a {int}\n@property t.a {int}"),
            7,
            "`t.a` is declared twice",
        ),
        (
            with("@param a {int}\n@example {"),
            6,
            "the value of `@example` is not JSON",
        ),
        (
            with("@param a {int}\n@example 3"),
            6,
            "must be an object or an array",
        ),
        (
            with("@param a {int}\n@example {\"a\": \"b\"}"),
            6,
            "the example does not fit the parameters",
        ),
        (
            with("@command ls {a}\n@param a {string}\n@match {\"a\": \"-l\"}"),
            7,
            "does not begin with `-`",
        ),
        (
            with("@command ls {a}\n@param a {string}\n@not_match {\"a\": \"l\"}"),
            7,
            "fit, but must not",
        ),
        (
            " ".repeat(MAX_BYTES + 1),
            1,
            "the file is larger than 64 KiB",
        ),
    ];
    for (text, line, reason) in table {
        let shown: String = text.chars().take(200).collect();
        let mistake = Definition::parse(&text).unwrap_err();
        assert!(
            mistake.line == line && mistake.reason.contains(reason),
            "{shown}: {mistake:?}"
        );
    }
    // The control: without their mistakes, the same fields define a tool.
    for more in [
        "@command ls {a}\n@param a {string} x",
        "@command ls {a}\n@param a {array<string>} x",
        "@command ls {a}\n@param a {string}\n@match {\"a\": \"l\"}",
        "@command ls {a}\n@param a {string}\n@not_match {\"a\": \"-l\"}",
        "@param a {int}\n@example {\"a\": 1}",
    ] {
        assert_eq!(wrapper(&with(more)).title.as_deref(), Some("T"), "{more}");
    }
}

/// Returns a file whose types contain each other: each has properties of the type before, so many
/// of them.
fn chain(types: usize, properties: usize) -> String {
    let mut text =
        "@name x\n@wrapped run_command\n@type t0 {object} The first\n@property t0.a {string}\n"
            .to_owned();
    for number in 1..types {
        text.push_str(&format!("@type t{number} {{object}}\n"));
        for property in 0..properties {
            text.push_str(&format!(
                "@property t{number}.p{property} {{t{}}}\n",
                number - 1
            ));
        }
    }
    text
}

#[test]
fn types_are_nested_so_deep_and_no_deeper() {
    let arrays = |depth: usize| format!("{}string{}", "array<".repeat(depth), ">".repeat(depth));
    let with = |kind: &str| {
        Definition::parse(&format!(
            "@name x\n@wrapped run_command\n@param command {{{kind}}}\n"
        ))
    };
    assert!(with(&arrays(MAX_DEPTH - 1)).is_ok());
    for depth in [MAX_DEPTH, 5_000] {
        let mistake = with(&arrays(depth)).unwrap_err();
        assert!(
            mistake.line == 3 && mistake.reason.starts_with("nested too deeply: "),
            "{depth}: {mistake:?}"
        );
    }
    assert!(with("array<".repeat(10_000).as_str()).is_err());
    // The arrays of a type and of its users count together, and so do types in types.
    let text = |inner: usize, outer: usize| {
        let inner = arrays(inner).replace("string", "int");
        let outer = arrays(outer).replace("string", "t");
        format!(
            "@name x\n@wrapped Bash\n@type t {{object}}\n@property t.a {{{inner}}}\n@param command {{{outer}}}\n"
        )
    };
    assert!(Definition::parse(&text(7, MAX_DEPTH - 9)).is_ok());
    let mistake = Definition::parse(&text(7, MAX_DEPTH - 8)).unwrap_err();
    assert!(
        mistake.line == 5 && mistake.reason.starts_with("nested too deeply: "),
        "{mistake:?}"
    );
    let mistake = Definition::parse(&chain(1_000, 1)).unwrap_err();
    assert!(
        mistake.reason.starts_with("nested too deeply: "),
        "{mistake:?}"
    );
}

#[test]
fn types_are_written_out_up_to_a_size() {
    let mistake =
        Definition::parse(&format!("{}@param command {{t11}}\n", chain(12, 3))).unwrap_err();
    assert!(
        mistake.line > 3 && mistake.reason.starts_with("too large: "),
        "{mistake:?}"
    );
    // Each of the types is small enough, and not all uses of one together.
    let long = "x".repeat(MAX_BYTES / 4);
    let uses = |count: usize| {
        let params: String = (0..count)
            .map(|number| format!("@param p{number} {{t}}\n"))
            .collect();
        Definition::parse(&format!(
            "@name x\n@wrapped Bash\n@type t {{object}} {long}\n{params}"
        ))
    };
    let schema = uses(3).unwrap().wrapper.unwrap().schema();
    assert_eq!(schema["properties"]["p2"]["description"], long);
    let mistake = uses(4).unwrap_err();
    assert!(
        mistake.line == 7 && mistake.reason.starts_with("too large: "),
        "{mistake:?}"
    );
    // What a file writes itself always fits.
    let params: String = (0..MAX_BYTES / 40)
        .map(|number| format!("@param p{number} {{string}} x\n"))
        .collect();
    assert!(Definition::parse(&format!("@name x\n@wrapped Bash\n{params}")).is_ok());
}
