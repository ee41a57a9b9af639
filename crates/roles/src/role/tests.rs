//! Tests of parsing role files, and checks of the shipped roles.

use super::*;
use orchestrate_core::policy::tool_names::ToolTraits;
use orchestrate_core::policy::{Permission, RuleDecision, RuleText};
use orchestrate_core::{Address, MapChoice};

/// Some tools, with the names and families that the files of these tests use.
fn tool_names() -> ToolNames {
    let mut names = ToolNames::default();
    let tools = [
        ("read_file", Permission::FileRead, false),
        ("grep", Permission::FileRead, false),
        ("write_file", Permission::FileWrite, true),
        ("update_file", Permission::FileWrite, true),
        ("run_shell_command", Permission::CodeExecution, true),
        ("todo_write", Permission::None, false),
    ];
    for (name, permission, changes_files) in tools {
        names.add(
            name,
            ToolTraits {
                permission,
                is_default: true,
                changes_files,
                deletes_files: false,
                stays_in_view: false,
            },
        );
    }
    for (alias, canonical) in [
        ("Read", "read_file"),
        ("Write", "write_file"),
        ("Edit", "update_file"),
        ("Bash", "run_shell_command"),
        ("Glob", "search_files"),
        ("Grep", "grep"),
        ("WebFetch", "fetch_url"),
        ("Skill", "read_skill"),
        ("Agent", "spawn_child_agent"),
    ] {
        names.add_alias(alias, canonical);
    }
    names.add_family("edit", &["update_file", "write_file"]);
    names.add_list("edit", &["update_file", "write_file"]);
    names.add_list("search", &["grep", "search_files"]);
    names
}

fn parse(name: &str, text: &str) -> Result<(Role, Vec<RoleWarning>), RoleError> {
    Role::parse(name, text, &tool_names())
}

fn read(text: &str) -> (Role, Vec<RoleWarning>) {
    parse("helper", text).unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_key_is_read() {
    let text = "\u{feff}---  \r\nname: builder\r\ndescription: Builds.\r\ntools: Read, Write, Bash(*), Read\r\ndisallowedTools: WebFetch\r\nchannels: [parent, \"role:tester\"]\r\nmap: 2000\r\nmodel: openai/x\r\nfallback: [openai/b, ollama/c]\r\nmaxTurns: 60\r\ncolor: blue\r\nmetadata:\r\n  orchestrate-context-tokens: \"48000\"\r\n  orchestrate-max-output-tokens: \"8000\"\r\n  orchestrate-delivers: report\r\n  orchestrate-nothing-to-do: \"true\"\r\n  orchestrate-permissions: file_read, code_execution\r\n  theirs: x\r\n---\r\n\r\nYou build.\r\n---\r\nReally.\r\n";
    let expected = Role {
        name: "builder".to_owned(),
        description: "Builds.".to_owned(),
        prompt: "You build.\n---\nReally.".to_owned(),
        tools: Some(names(&["read_file", "write_file", "run_shell_command"])),
        disallowed: names(&["fetch_url"]),
        model: Some("openai/x".to_owned()),
        fallback: Some(names(&["openai/b", "ollama/c"])),
        max_turns: Some(60),
        context_tokens: Some(48_000),
        max_output_tokens: Some(8_000),
        delivers: Delivers::Report,
        may_do_nothing: true,
        strict_hand_back: false,
        permissions: Some([Permission::FileRead, Permission::CodeExecution].into()),
        channels: Some(vec![Address::Parent, Address::Role("tester".to_owned())]),
        map: Some(MapChoice::Tokens(2_000)),
        rules: Vec::new(),
        unknown: serde_json::Map::new(),
    };
    assert_eq!(read(text), (expected, Vec::new()));
}

#[test]
fn a_map_is_on_off_or_of_a_size() {
    let table = [
        ("map: on", Some(MapChoice::On)),
        ("map: true", Some(MapChoice::On)),
        ("map: off", Some(MapChoice::Off)),
        ("map: \"off\"", Some(MapChoice::Off)),
        ("map: 500", Some(MapChoice::Tokens(500))),
        ("map:", None),
        ("", None),
    ];
    for (line, expected) in table {
        let (role, warnings) = read(&format!("---\n{line}\n---\nx\n"));
        assert_eq!((role.map, warnings), (expected, Vec::new()), "{line}");
    }
    for line in ["map: much", "map: -1", "map: [on]", "map: 0"] {
        let error = parse("helper", &format!("---\n{line}\n---\nx\n")).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("`map` expects on, off or a number of tokens"),
            "{error}"
        );
    }
}

#[test]
fn front_matter_is_optional() {
    for text in ["# You help.\n\nMore.\n", "---\n---\n# You help.\n\nMore.\n"] {
        assert_eq!(
            read(text),
            (Role::bare("helper", "# You help.\n\nMore."), Vec::new())
        );
        assert_eq!(read(text).0.description, "You help.");
    }
}

#[test]
fn what_other_products_write_is_read_as_they_read_it() {
    let text = "---\nname: code-reviewer\ndescription: Use it when: <example>user: \"x\" # y</example>\ntools: Read, Grep\n\
                model: sonnet\ncolor: blue\nmetadata:\n  theirs: x\n---\nYou review.\n";
    let (role, warnings) = read(text);
    assert_eq!(
        role.description,
        "Use it when: <example>user: \"x\" # y</example>"
    );
    assert_eq!(
        (role.name.as_str(), role.model, role.tools),
        ("code-reviewer", None, Some(names(&["read_file", "grep"])))
    );
    assert_eq!(
        warnings,
        [RoleWarning::ForeignModel {
            line: 5,
            model: "sonnet".to_owned()
        }]
    );
}

#[test]
fn a_comment_stays_one_beside_a_description_that_is_no_yaml() {
    let text = "---\ndescription: Use it when: asked\ndisallowedTools: Bash # no shell\nmodel: inherit # x\n---\nYou help.\n";
    let (role, warnings) = read(text);
    assert_eq!(
        (role.description.as_str(), role.disallowed),
        ("Use it when: asked", names(&["run_shell_command"]))
    );
    assert_eq!((role.model, warnings), (None, Vec::new()));
}

#[test]
fn tools_are_a_text_a_list_or_a_map() {
    let table = [
        ("", None, Vec::new()),
        ("tools: []", Some(Vec::new()), Vec::new()),
        (
            "tools: [Read, mcp__x__y]",
            Some(names(&["read_file", "mcp__x__y"])),
            Vec::new(),
        ),
        (
            "tools: [read, search, Edit]",
            Some(names(&["read_file", "grep", "search_files", "update_file"])),
            Vec::new(),
        ),
        (
            "tools: [edit, Skill]",
            Some(names(&["update_file", "write_file", "read_skill"])),
            Vec::new(),
        ),
        (
            "tools: Agent(*), Grep",
            Some(names(&["spawn_child_agent", "grep"])),
            Vec::new(),
        ),
        ("tools: [\"*\"]", None, Vec::new()),
        // A map changes the default set, so what it does not name stays.
        (
            "tools: {read: true, bash: false}",
            None,
            names(&["run_shell_command"]),
        ),
        ("tools: {bash: false}", None, names(&["run_shell_command"])),
        (
            "tools: {\"*\": true, bash: false}",
            None,
            names(&["run_shell_command"]),
        ),
        (
            "tools: {\"*\": false, read: true}",
            Some(names(&["read_file"])),
            Vec::new(),
        ),
        ("tools: {\"*\": false}", Some(Vec::new()), Vec::new()),
    ];
    for (line, tools, disallowed) in table {
        let (role, warnings) = read(&format!("---\n{line}\n---\nx\n"));
        assert_eq!(
            (role.tools, role.disallowed, warnings),
            (tools, disallowed, Vec::new()),
            "{line}"
        );
    }
}

#[test]
fn a_pattern_beside_a_tool_is_warned_of() {
    let table = [
        (
            "tools: Read, Bash(git status:*), Bash()",
            &["Bash(git status:*)"][..],
        ),
        (
            "tools: [\"Bash(git log, git diff)\", Agent]",
            &["Bash(git log, git diff)"],
        ),
        (
            "tools: {\"Bash(git:*)\": true, \"Agent(a)\": false}",
            &["Bash(git:*)", "Agent(a)"],
        ),
        ("disallowedTools: Bash(rm:*), WebFetch", &["Bash(rm:*)"]),
    ];
    for (line, expected) in table {
        let warnings = read(&format!("---\nname: helper\n{line}\n---\nx\n")).1;
        let written = warnings.iter().filter_map(|warning| match warning {
            RoleWarning::UnappliedPattern {
                line: 3, written, ..
            } => Some(written.as_str()),
            _ => None,
        });
        assert_eq!(written.collect::<Vec<_>>(), expected, "{line}");
    }
    let (role, warnings) = read("---\ntools: Bash(git status:*)\n---\nx\n");
    assert_eq!(role.tools, Some(names(&["run_shell_command"])));
    assert!(
        warnings[0]
            .to_string()
            .starts_with("line 2: `Bash(git status:*)` grants all of `run_shell_command`, since")
    );
}

#[test]
fn aliases_and_permission_maps() {
    let (role, warnings) = read(
        "---\nsteps: 5\nmodel: inherit\npermission:\n  edit: deny\n  bash: {\"git *\": allow, \"*\": ask}\n---\nx\n",
    );
    let rule = |decision, rule: &str| RuleText::new(decision, rule, "role helper");
    let rules = vec![
        rule(RuleDecision::Deny, "edit"),
        rule(RuleDecision::Allow, "bash(git *)"),
        rule(RuleDecision::Ask, "bash(*)"),
    ];
    assert_eq!(
        (role.max_turns, role.model, role.rules, warnings),
        (Some(5), None, rules, Vec::new())
    );
}

#[test]
fn a_permission_for_all_tools_is_one_rule() {
    let (role, warnings) = read("---\npermission: ask\n---\nx\n");
    let rule = RuleText::new(RuleDecision::Ask, "*", "role helper");
    assert_eq!((role.rules, warnings), (vec![rule], Vec::new()));
}

#[test]
fn keys_without_effect_are_reported() {
    let text = "---\ndissallowedTools: Bash\nhooks: {}\nfavourite: x\nmetadata:\n  orchestrate-deliver: report\n---\nx\n";
    let warnings: Vec<String> = read(text).1.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "line 2: unknown key `dissallowedTools`: did you mean `disallowedTools`?",
            "line 3: `hooks` has no effect here",
            "line 4: unknown key `favourite` has no effect",
            "line 6: unknown key `orchestrate-deliver`: did you mean `orchestrate-delivers`?",
        ]
    );
}

#[test]
fn a_key_that_is_unknown_is_kept() {
    let (role, _) = read("---\nfavourite: [x, 1]\ncolor: blue\n---\nx\n");
    assert_eq!(
        serde_json::Value::from(role.unknown),
        serde_json::json!({"favourite": ["x", 1]})
    );
}

#[test]
fn each_product_names_its_roles_and_models_in_its_own_way() {
    let text = "---\nname: shown\ndescription: Helps.\nmodel: gpt-9\n---\nx\n";
    let warning = RoleWarning::ForeignModel {
        line: 4,
        model: "gpt-9".to_owned(),
    };
    let table = [
        (Product::Own, "shown", Some("gpt-9"), Vec::new()),
        (Product::Claude, "shown", None, vec![warning.clone()]),
        (Product::Gemini, "shown", None, vec![warning.clone()]),
        (Product::Copilot, "helper", None, vec![warning.clone()]),
        (Product::OpenCode, "helper", None, vec![warning]),
    ];
    for (product, name, model, expected) in table {
        let (role, warnings) = Role::parse_as(product, "helper", text, &tool_names()).unwrap();
        assert_eq!(
            (role.name.as_str(), role.model.as_deref(), warnings),
            (name, model, expected),
            "{product:?}"
        );
    }
    let several = "---\ndescription: Helps.\nmodel: [One, Two]\n---\nx\n";
    let (role, warnings) =
        Role::parse_as(Product::Copilot, "helper", several, &tool_names()).unwrap();
    let expected = RoleWarning::ForeignModel {
        line: 3,
        model: "[\"One\",\"Two\"]".to_owned(),
    };
    assert_eq!((role.model, warnings), (None, vec![expected]));
}

#[test]
fn a_file_of_a_product_that_is_no_agent_of_this_machine_says_why() {
    let table = [
        (
            Product::OpenCode,
            "---\ndescription: Helps.\ndisable: true\n---\nx\n",
            "use role `helper`: its file disables it",
        ),
        (
            Product::Gemini,
            "---\nname: helper\nkind: remote\n---\nx\n",
            "use role `helper`: it is a remote agent, and agents run on this machine only",
        ),
        (
            Product::OpenCode,
            "---\ndescription: Helps.\npermission:\n  \"a b\": deny\n---\nx\n",
            "read role `helper`, line 3: `permission` expects names of tools and patterns such as `git *`",
        ),
    ];
    for (product, text, expected) in table {
        assert_eq!(
            Role::parse_as(product, "helper", text, &tool_names())
                .unwrap_err()
                .to_string(),
            expected
        );
    }
}

#[test]
fn the_name_of_a_file_is_the_name_of_its_role_where_the_product_says_so() {
    let table = [
        (
            Product::Copilot,
            "CSharpExpert.agent.md",
            Some("csharpexpert"),
        ),
        (Product::Copilot, "api architect.md", Some("api-architect")),
        (Product::OpenCode, "docs.md", Some("docs")),
        (Product::Claude, "code_review.md", Some("code_review")),
        (Product::Claude, "x.agent.md", Some("x.agent")),
        (Product::Gemini, "x.txt", None),
        (Product::Own, ".md", None),
    ];
    for (product, file, expected) in table {
        assert_eq!(product.role_name(file).as_deref(), expected, "{file}");
    }
}

#[test]
fn what_is_no_role_says_why() {
    let table = [
        ("", "read role `helper`: it has no prompt"),
        (
            "---\nname: broken\n\nYou help.\n",
            "read role `helper`: its front matter is not closed; end it with a line `---`",
        ),
        (
            "---\nname: Big Name\n---\nx\n",
            "name a role `Big Name`: use lower-case letters, digits, `-` and `_`, at most 64 bytes",
        ),
        (
            "---\nmaxTurns: many\n---\nx\n",
            "read role `helper`, line 2: `maxTurns` expects a number of turns",
        ),
        (
            "---\nmetadata:\n  orchestrate-context-tokens: 3499\n---\nx\n",
            "read role `helper`, line 3: `orchestrate-context-tokens` expects a number of tokens from 3500, since an \
             agent's instructions and tools alone take up most of that",
        ),
        (
            "---\nmetadata:\n  orchestrate-delivers: all\n---\nx\n",
            "read role `helper`, line 3: `orchestrate-delivers` expects changes, report, verdict or plan",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(
            parse("helper", text).unwrap_err().to_string(),
            expected,
            "{text}"
        );
    }
    let broken = parse("helper", "---\nname: [\n---\nx\n").unwrap_err();
    assert!(matches!(broken, RoleError::FrontMatter { .. }), "{broken}");
}

#[test]
fn tools_that_do_not_exist_are_warned_of() {
    let (role, _) = read("---\ntools: Read, Raed, mcp__x__*\n---\nx\n");
    let expected = RoleWarning::UnknownTool {
        tool: "Raed".to_owned(),
        known: tool_names().names().map(str::to_owned).collect(),
    };
    assert_eq!(role.unknown_tools(&tool_names()), [expected]);
}

#[test]
fn the_shipped_roles_are_clean_and_short() {
    let shipped = [
        (
            "implementer",
            include_str!("../../../../agents/implementer.md"),
            Delivers::Changes,
        ),
        (
            "tester",
            include_str!("../../../../agents/tester.md"),
            Delivers::Changes,
        ),
        (
            "reviewer",
            include_str!("../../../../agents/reviewer.md"),
            Delivers::Verdict,
        ),
        (
            "researcher",
            include_str!("../../../../agents/researcher.md"),
            Delivers::Report,
        ),
        (
            "resolver",
            include_str!("../../../../agents/resolver.md"),
            Delivers::Changes,
        ),
        (
            "coordinator",
            include_str!("../../../../agents/coordinator.md"),
            Delivers::Changes,
        ),
    ];
    for (name, text, delivers) in shipped {
        let (role, warnings) = parse(name, text).unwrap();
        assert_eq!(
            (role.name.as_str(), role.delivers, warnings),
            (name, delivers, Vec::new())
        );
        assert!(role.permissions.is_some(), "{name} states its permissions");
        // English prose has more than four bytes per token: this keeps a prompt under about 400
        // tokens.
        assert!(
            role.prompt.len() < 1_700,
            "{name}: {} bytes",
            role.prompt.len()
        );
    }
}

#[test]
fn a_role_whose_tools_only_read_delivers_a_report_unless_it_says_otherwise() {
    let table = [
        (
            "tools: Read, Grep, Glob, git_diff, todo_write",
            Delivers::Report,
        ),
        ("tools: Read, Bash", Delivers::Changes),
        (
            "tools: Read, Write\ndisallowedTools: Write",
            Delivers::Report,
        ),
        (
            "tools: Read, Edit\nmetadata:\n  orchestrate-permissions: file_read",
            Delivers::Report,
        ),
        (
            "tools: Read, Edit\npermission:\n  edit: deny",
            Delivers::Report,
        ),
        (
            "tools: Read, Edit\npermission:\n  edit: ask",
            Delivers::Changes,
        ),
        (
            "tools: Read\nmetadata:\n  orchestrate-delivers: changes",
            Delivers::Changes,
        ),
        (
            "tools: Write\nmetadata:\n  orchestrate-delivers: report",
            Delivers::Report,
        ),
        ("description: Has every tool.", Delivers::Changes),
    ];
    for (front, expected) in table {
        let (role, _) = read(&format!("---\n{front}\n---\nYou help.\n"));
        assert_eq!(role.delivers, expected, "{front}");
    }
}
