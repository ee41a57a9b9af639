use super::*;
use crate::policy::host::Host;
use crate::policy::tool_names::ToolTraits;

fn rule(decision: RuleDecision, rule: &str) -> RuleText {
    RuleText::new(decision, rule, "--flag")
}

/// The names of other products that these rules use.
pub(super) fn tool_names() -> ToolNames {
    const EDITING: &[&str] = &[
        "update_file",
        "write_file",
        "append_file",
        "apply_patch",
        "delete_file",
    ];
    let mut names = ToolNames::default();
    for (name, permission) in [
        ("read_file", Permission::FileRead),
        ("grep", Permission::FileRead),
        ("write_file", Permission::FileWrite),
        ("delete_file", Permission::FileModify),
        ("run_shell_command", Permission::CodeExecution),
    ] {
        let traits = ToolTraits {
            permission,
            is_default: true,
            changes_files: false,
            deletes_files: false,
            stays_in_view: false,
        };
        names.add(name, traits);
    }
    names.add_alias("Bash", "run_shell_command");
    names.add_family(
        "Read",
        &[
            "read_file",
            "grep",
            "search_files",
            "list_directory",
            "get_file_info",
        ],
    );
    for name in ["Edit", "edit", "Write"] {
        names.add_family(name, EDITING);
    }
    names
}

pub(super) fn policy(rules: &[(RuleDecision, &str)]) -> Policy {
    Policy::new(
        &rules
            .iter()
            .map(|(decision, text)| rule(*decision, text))
            .collect::<Vec<_>>(),
        &tool_names(),
    )
    .unwrap()
}

fn judge(policy: &Policy, tool: &str, permission: Permission, target: Target) -> String {
    let grant = Grant::of_tools([tool]);
    let decision = policy.decide(
        &grant,
        &Question {
            tool,
            permission,
            access: Access::Own,
            targets: &[target],
        },
    );
    let word = match decision {
        Decision::Allow { .. } => "allow",
        Decision::Ask { .. } => "ask",
        Decision::Deny { .. } => "deny",
    };
    format!("{word} by {}", decision.rule())
}

fn shell(policy: &Policy, command: &str) -> String {
    judge(
        policy,
        "run_shell_command",
        Permission::CodeExecution,
        Target::Shell(command.to_owned()),
    )
}

fn write(policy: &Policy, path: &str) -> String {
    judge(
        policy,
        "write_file",
        Permission::FileWrite,
        Target::Path(path.to_owned()),
    )
}

use RuleDecision::{Allow, Ask, Deny};

#[test]
fn deny_goes_before_ask_and_ask_before_allow() {
    let policy = policy(&[
        (Allow, "Bash(git *)"),
        (Ask, "Bash(git push:*)"),
        (Deny, "Bash(* --force)"),
    ]);
    assert_eq!(shell(&policy, "git status"), "allow by allow:Bash(git *)");
    assert_eq!(
        shell(&policy, "git push origin"),
        "ask by ask:Bash(git push:*)"
    );
    assert_eq!(
        shell(&policy, "git push --force"),
        "deny by deny:Bash(* --force)"
    );
    assert_eq!(shell(&policy, "make"), "allow by default");
}

#[test]
fn a_rule_about_the_web_names_a_host_and_no_address() {
    let mut names = tool_names();
    let permission = Permission::NetworkAccess;
    let traits = ToolTraits {
        permission,
        is_default: false,
        changes_files: false,
        deletes_files: false,
        stays_in_view: false,
    };
    names.add("fetch_url", traits);
    let read = |text: &str| Rule::parse(&rule(Deny, text), &names);
    for text in [
        "fetch_url(https://evil.org/*)",
        "fetch_url(domain:https://evil.org)",
        "fetch_url(evil.org/private)",
        "fetch_url(evil.org:8080)",
        "network_access(http://evil.org)",
    ] {
        let is_refused = matches!(read(text), Err(PolicyError::Syntax { reason, .. }) if reason.contains("names a host"));
        assert!(is_refused, "{text}");
    }
    for text in [
        "fetch_url",
        "fetch_url(evil.org)",
        "fetch_url(domain:*.evil.org)",
        "fetch_url(*evil*)",
        "fetch_url([::1])",
        "fetch_url(::1)",
        "Bash(curl https://evil.org/*)",
        "Read(/docs/**)",
    ] {
        assert!(read(text).is_ok(), "{text}");
    }
    let hostless = "matches no host";
    let table = [
        (Deny, "fetch_url(domain:)", hostless),
        (Deny, "fetch_url(domain:evil..com)", hostless),
        (Deny, "fetch_url(evil..com)", hostless),
        (Deny, "fetch_url(domain: evil.com)", hostless),
        (Deny, "Bash(domain:*.)", hostless),
        (Ask, "network_access(*..org)", hostless),
        (Allow, "fetch_url(domain:*.)", hostless),
        (Allow, "fetch_url(domain:*.*.org)", hostless),
        (Allow, "network_access(git*.com)", hostless),
        (
            Allow,
            "network_access()",
            "the parenthesis is empty; write `network_access` for every call",
        ),
        (
            Deny,
            "Bash( )",
            "the parenthesis is empty; write `Bash` for every call",
        ),
        (Deny, "fetch_url(domain:*.*.org)", ""),
        (Deny, "fetch_url(git*.com.)", hostless),
        (Ask, "fetch_url(domain:[fe80::*])", ""),
        (Allow, "fetch_url(domain:*)", ""),
        (Allow, "fetch_url(domain:example.org.)", ""),
        (Allow, "Bash(git..x)", ""),
    ];
    for (decision, text, expected) in table {
        let said = Rule::parse(&rule(decision, text), &names)
            .map_or_else(|error| error.to_string(), |_| String::new());
        assert!(
            said.contains(expected) && said.is_empty() == expected.is_empty(),
            "{text}: {said}"
        );
        assert!(
            expected.is_empty() || said.contains(&format!("`{text}` of --flag")),
            "{text}: {said}"
        );
    }
}

#[test]
fn a_part_is_enough_to_deny_and_not_enough_to_allow() {
    let deny = policy(&[(Deny, "Bash(id)")]);
    for command in [
        "cat a; id",
        "a && id",
        "a | id",
        "a\nid",
        "$(id)",
        "`id`",
        "env X=1 id",
        "timeout 1 /usr/bin/id",
    ] {
        assert_eq!(
            shell(&deny, command),
            "deny by deny:Bash(id)",
            "{command:?}"
        );
    }
    let allow = policy(&[(Allow, "Bash(cat *)")]);
    for command in [
        "cat a; id",
        "cat a && id",
        "cat $(id)",
        "cat a > f",
        "cat a # x\nid",
        "cat {a,b}",
    ] {
        assert_eq!(shell(&allow, command), "allow by default", "{command:?}");
    }
    assert_eq!(shell(&allow, "cat a b"), "allow by allow:Bash(cat *)");
    let status = policy(&[(Allow, "Bash(git status)")]);
    for options in [
        "-c core.fsmonitor=/tmp/x",
        "-c alias.status='!id'",
        "--exec-path=.",
        "-C /",
    ] {
        assert_eq!(
            shell(&status, &format!("git {options} status")),
            "allow by default",
            "{options}"
        );
    }
    assert_eq!(
        shell(&status, "git status"),
        "allow by allow:Bash(git status)"
    );
}

#[test]
fn a_rule_about_editing_holds_for_every_tool_that_edits() {
    let policy = policy(&[(Deny, "Edit(/secrets/**)")]);
    assert_eq!(
        write(&policy, "secrets/key"),
        "deny by deny:Edit(/secrets/**)"
    );
    assert_eq!(write(&policy, "src/secrets/key"), "allow by default");
}

#[test]
fn a_permission_may_stand_for_its_tools() {
    let policy = policy(&[(Ask, "file_write")]);
    assert_eq!(write(&policy, "a"), "ask by ask:file_write");
}

#[test]
fn the_files_that_configure_agents_are_protected_unless_the_user_allows_it() {
    let none = Policy::default();
    for path in [
        "orchestrate.toml",
        ".orchestrate/config.toml",
        ".orchestrate/tools/x",
        "agents/a.md",
    ] {
        assert_eq!(
            write(&none, path),
            "deny by built-in:configuration",
            "{path}"
        );
    }
    let aliases = [
        "Orchestrate.toml",
        "ORCHES~1.TOM",
        "orchestrate.toml.",
        "orchestrate.toml::$DATA",
        "orche\u{200d}strate.toml",
        ".Orchestrate/config.toml",
        "ORCHES~2/config.toml",
        "Agents/A.MD",
        ".CLAUDE/agents/x.md",
        "CLAUDE~1/agents/x.md",
    ];
    for path in aliases {
        assert_eq!(
            write(&none, path),
            "deny by built-in:configuration",
            "{path}"
        );
    }
    assert_eq!(write(&none, "src/agents/a.md"), "allow by default");
    let allowed = policy(&[(Allow, "write_file(/agents/**)")]);
    assert_eq!(
        write(&allowed, "agents/a.md"),
        "allow by allow:write_file(/agents/**)"
    );
}

#[test]
fn a_rule_about_a_tool_opens_no_file_that_configures_agents_to_programs() {
    for rule in [
        "write_file(**)",
        "write_file",
        "Edit",
        "update_file(/agents/a.md)",
        "delete_file(**)",
        "*",
    ] {
        for decision in [Allow, Ask] {
            assert!(
                policy(&[(decision, rule)]).protects("agents/a.md"),
                "{decision:?} {rule}"
            );
        }
    }
    let writing = policy(&[(Allow, "file_write(/agents/**)")]);
    assert!(!writing.protects("agents/a.md"));
    assert!(writing.protects("orchestrate.toml"));
    assert!(policy(&[(Ask, "file_write(/agents/**)")]).protects("agents/a.md"));
    assert!(!Policy::default().protects("src/a.md"));
}

#[test]
fn a_rule_never_widens_the_role() {
    let policy = policy(&[(Allow, "write_file")]);
    let question = Question {
        tool: "write_file",
        permission: Permission::FileWrite,
        access: Access::Own,
        targets: &[],
    };
    assert_eq!(
        policy
            .decide(&Grant::of_tools(["read_file"]), &question)
            .rule(),
        "built-in:role"
    );
    let mut grant = Grant::of_tools(["write_file"]);
    grant.permissions.remove(&Permission::FileWrite);
    assert_eq!(policy.decide(&grant, &question).rule(), "built-in:role");
}

#[test]
fn a_command_that_cannot_be_judged_is_refused() {
    assert_eq!(
        shell(&Policy::default(), &"a;".repeat(10_000)),
        "deny by built-in:too-complex"
    );
}

#[test]
fn a_program_with_arguments_is_judged_like_the_line_that_runs_it() {
    let argv = |rule: (RuleDecision, &str), words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        judge(
            &policy(&[rule]),
            "find",
            Permission::CodeExecution,
            Target::Argv(words),
        )
    };
    let push = (Deny, "find(git push *)");
    assert_eq!(
        argv(push, &["git", "push", "origin"]),
        "deny by deny:find(git push *)"
    );
    assert_eq!(
        argv(push, &["sh", "-c", "git push origin"]),
        "deny by deny:find(git push *)"
    );
    // No shell reads these words, so they are one argument.
    assert_eq!(
        argv(push, &["echo", "it's; git push origin"]),
        "allow by default"
    );
    let allowed = (Allow, "find(find *)");
    assert_eq!(
        argv(allowed, &["find", ".", "-name", "*.rs; rm x\n$(y)"]),
        "allow by allow:find(find *)"
    );
}

#[test]
fn a_tool_that_also_reads_or_deletes_follows_the_rules_about_that() {
    let judge = |rule: (RuleDecision, &str), access: Access| {
        let permission = access.permission(Permission::FileWrite);
        let targets = [Target::Path("secret/a".to_owned())];
        let question = Question {
            tool: "apply_patch",
            permission,
            access,
            targets: &targets,
        };
        policy(&[rule])
            .decide(&Grant::of_tools(["apply_patch"]), &question)
            .rule()
            .to_owned()
    };
    let table = [
        (
            (Deny, "Read(secret/**)"),
            Access::Read,
            "deny:Read(secret/**)",
        ),
        (
            (Deny, "file_read(secret/**)"),
            Access::Read,
            "deny:file_read(secret/**)",
        ),
        (
            (Ask, "grep(secret/**)"),
            Access::Read,
            "ask:grep(secret/**)",
        ),
        (
            (Deny, "delete_file(secret/**)"),
            Access::Delete,
            "deny:delete_file(secret/**)",
        ),
        ((Deny, "file_modify"), Access::Delete, "deny:file_modify"),
        (
            (Deny, "apply_patch(secret/**)"),
            Access::Read,
            "deny:apply_patch(secret/**)",
        ),
        ((Deny, "Read(secret/**)"), Access::Own, "default"),
        ((Deny, "delete_file(secret/**)"), Access::Own, "default"),
        ((Deny, "Read(secret/**)"), Access::Delete, "default"),
    ];
    for (rule, access, expected) in table {
        assert_eq!(judge(rule, access), expected, "{rule:?} {access:?}");
    }
}

#[test]
fn a_tool_that_chooses_a_program_follows_the_rules_about_commands() {
    let judge = |rule: (RuleDecision, &str), argv: &[&str]| {
        let targets = [Target::Argv(
            argv.iter().map(|word| (*word).to_owned()).collect(),
        )];
        let permission = Permission::CodeExecution;
        let access = Access::Run.beside(Permission::CodeExecution);
        let question = Question {
            tool: "run_tests",
            permission,
            access,
            targets: &targets,
        };
        policy(&[rule])
            .decide(&Grant::of_tools(["run_tests"]), &question)
            .rule()
            .to_owned()
    };
    let (cargo, script): (&[&str], &[&str]) = (&["cargo", "test", "adds"], &["python3", "-I", "-"]);
    let table = [
        ((Deny, "Bash(cargo *)"), cargo, "deny:Bash(cargo *)"),
        ((Deny, "Bash"), cargo, "deny:Bash"),
        (
            (Deny, "run_tests(cargo test:*)"),
            cargo,
            "deny:run_tests(cargo test:*)",
        ),
        (
            (Ask, "code_execution(cargo test:*)"),
            cargo,
            "ask:code_execution(cargo test:*)",
        ),
        ((Deny, "Bash(git push:*)"), cargo, "default"),
        ((Deny, "Read(cargo *)"), cargo, "default"),
        ((Deny, "Bash(python3:*)"), script, "deny:Bash(python3:*)"),
        ((Deny, "Bash(git push:*)"), script, "default"),
    ];
    for (rule, argv, expected) in table {
        assert_eq!(judge(rule, argv), expected, "{rule:?}");
    }
}

#[test]
fn hosts_match_label_by_label() {
    let table = [
        ("github.com", "github.com", true),
        ("github.com", "GitHub.com.", true),
        ("*.github.com", "api.github.com", true),
        ("*.github.com", "a.b.github.com", true),
        ("*.github.com", "github.com", false),
        ("*.github.com", ".github.com", false),
        ("*.github.com", "evilgithub.com", false),
        ("github.com", "github.com.evil.org", false),
        ("git*.com", "github.com", true),
        ("domain:github.com", "github.com", true),
        ("domain:*.github.com", "api.github.com", true),
        ("domain:*.github.com", "github.com", false),
        ("domain:*", "github.com", true),
        ("127.0.0.1", "0x7f.1", true),
        ("127.0.0.1", "[::ffff:127.0.0.1]", true),
        ("b\u{fc}cher.example", "xn--bcher-kva.example", true),
    ];
    for (pattern, host, expected) in table {
        let policy = policy(&[(Deny, &format!("web({pattern})"))]);
        let decision = judge(
            &policy,
            "web",
            Permission::NetworkAccess,
            Target::Host(host.to_owned()),
        );
        assert_eq!(decision.starts_with("deny"), expected, "{pattern} {host}");
    }
}

#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
#[test]
fn a_program_reaches_what_a_rule_about_the_network_allows() {
    let judge = |rules: &[(RuleDecision, &str)], target: Target| {
        let targets = [target];
        let permission = Permission::NetworkAccess;
        let access = Access::Network.beside(Permission::CodeExecution);
        let question = Question {
            tool: "run_shell_command",
            permission,
            access,
            targets: &targets,
        };
        policy(rules)
            .decide(&Grant::of_tools(["run_shell_command"]), &question)
            .rule()
            .to_owned()
    };
    let host = |host: &str| Target::Host(host.to_owned());
    type Row<'r> = (&'r [(RuleDecision, &'r str)], Target, &'r str);
    let table: [Row<'_>; 17] = [
        (&[], host("crates.io"), NETWORK_RULE),
        (&[], Target::Network, NETWORK_RULE),
        (&[(Allow, "Bash")], host("crates.io"), NETWORK_RULE),
        (
            &[(Allow, "Bash(crates.io)")],
            host("crates.io"),
            NETWORK_RULE,
        ),
        (
            &[(Allow, "grep(crates.io)")],
            host("crates.io"),
            NETWORK_RULE,
        ),
        (
            &[(Allow, "Bash(domain:crates.io)")],
            host("Crates.IO."),
            "allow:Bash(domain:crates.io)",
        ),
        (
            &[(Allow, "Bash(domain:crates.io)")],
            host("static.crates.io"),
            NETWORK_RULE,
        ),
        (
            &[(Allow, "network_access(*.crates.io)")],
            host("static.crates.io"),
            "allow:network_access(*.crates.io)",
        ),
        (
            &[(Allow, "network_access(*.crates.io)")],
            host("*.Crates.io"),
            "allow:network_access(*.crates.io)",
        ),
        (
            &[(Allow, "network_access(*.crates.io)")],
            host("*.a.crates.io"),
            "allow:network_access(*.crates.io)",
        ),
        (
            &[(Allow, "network_access(*.crates.io)")],
            host("*.io"),
            NETWORK_RULE,
        ),
        (
            &[(Allow, "network_access(a.crates.io)")],
            host("*.crates.io"),
            NETWORK_RULE,
        ),
        (
            &[(Deny, "network_access(*.crates.io)")],
            host("*.crates.io"),
            "deny:network_access(*.crates.io)",
        ),
        (
            &[(Allow, "network_access(*.crates.io)")],
            Target::Network,
            NETWORK_RULE,
        ),
        (
            &[(Allow, "network_access")],
            Target::Network,
            "allow:network_access",
        ),
        (
            &[(Allow, "network_access"), (Deny, "Bash(domain:a.org)")],
            host("a.org"),
            "deny:Bash(domain:a.org)",
        ),
        (
            &[(Allow, "network_access"), (Ask, "network_access(*.org)")],
            host("a.org"),
            "ask:network_access(*.org)",
        ),
    ];
    for (rules, target, expected) in table {
        assert_eq!(
            judge(rules, target.clone()),
            expected,
            "{rules:?} {target:?}"
        );
    }
    // Nor does a rule about a command name a host of the user's own network.
    let printer = Host::parse("printer").unwrap();
    let address = "192.168.1.9".parse().unwrap();
    for (rule, may) in [("Bash(printer)", false), ("Bash(domain:printer)", true)] {
        let refused =
            policy(&[(Allow, rule)]).refuse_address("run_shell_command", &printer, address);
        assert_eq!(refused.is_none(), may, "{rule}");
    }
}

#[test]
fn consent_to_hosts_covers_none_that_another_rule_asks_about() {
    let covers = |rules: &[(RuleDecision, &str)], named: &str, host: &str| {
        let named = HostPattern::parse(named).unwrap();
        let host = Host::parse(host).unwrap();
        let targets = [Target::Host(host.to_string())];
        let (permission, access) = (Permission::NetworkAccess, Access::Network);
        let question = Question {
            tool: "run_shell_command",
            permission,
            access,
            targets: &targets,
        };
        policy(rules).consent_covers(&question, &named, &host)
    };
    type Row<'r> = (&'r [(RuleDecision, &'r str)], &'r str, &'r str, bool);
    let table: [Row<'_>; 9] = [
        (&[], "*.github.com", "api.github.com", true),
        (&[], "*.github.com", "github.com", false),
        (
            &[(Ask, "network_access(api.github.com)")],
            "*.github.com",
            "api.github.com",
            false,
        ),
        (
            &[(Ask, "Bash(domain:api.github.com)")],
            "*.github.com",
            "api.github.com",
            false,
        ),
        (
            &[(Ask, "network_access(api.github.com)")],
            "*.github.com",
            "raw.github.com",
            true,
        ),
        (
            &[(Ask, "network_access(api.github.com)")],
            "api.github.com",
            "api.github.com",
            true,
        ),
        (
            &[(Ask, "network_access(*.github.com)")],
            "*.github.com",
            "api.github.com",
            true,
        ),
        (
            &[(Ask, "network_access")],
            "*.github.com",
            "api.github.com",
            true,
        ),
        (
            &[(Ask, "grep(api.github.com)")],
            "*.github.com",
            "api.github.com",
            true,
        ),
    ];
    for (rules, named, host, expected) in table {
        assert_eq!(
            covers(rules, named, host),
            expected,
            "{rules:?} {named} {host}"
        );
    }
}

#[test]
fn a_denial_says_whether_the_tool_or_the_permission_is_missing() {
    let grant = |tools: &[&str], permissions: &[Permission]| Grant {
        permissions: permissions.iter().copied().collect(),
        ..Grant::of_tools(tools.iter().copied())
    };
    let table = [
        (
            grant(&["grep"], &[]),
            "it lists the tool, but lacks the permission `file_read`",
        ),
        (
            grant(&[], &[Permission::FileRead]),
            "it has the permission, but does not list the tool",
        ),
        (
            grant(&[], &[]),
            "it lists neither the tool nor the permission `file_read`",
        ),
    ];
    for (grant, expected) in table {
        let question = Question {
            tool: "grep",
            permission: Permission::FileRead,
            access: Access::Own,
            targets: &[],
        };
        let Decision::Deny { reason, .. } = Policy::default().decide(&grant, &question) else {
            panic!("{expected}")
        };
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn every_bad_rule_is_reported() {
    let errors = Policy::new(
        &[
            rule(Deny, "Bash(x"),
            rule(Deny, "ok"),
            rule(Ask, ""),
            rule(Ask, "a b"),
        ],
        &tool_names(),
    )
    .unwrap_err();
    assert_eq!(errors.len(), 3);
}

/// Whatever the rules and limits, the part about paths decides as the whole does.
#[test]
fn the_part_about_paths_decides_as_the_whole() {
    let rules: [&[(RuleDecision, &str)]; 7] = [
        &[],
        &[(Allow, "grep(src/**)")],
        &[(Deny, "Bash(git push:*)"), (Deny, "write_file")],
        &[
            (Deny, "grep(secret/**)"),
            (Ask, "Read(*.key)"),
            (Allow, "grep(secret/open)"),
        ],
        &[(Deny, "file_read(*.pem)")],
        &[(Ask, "read_file(secret)")],
        &[(Deny, "grep")],
    ];
    let mut limited = ToolSettings::default();
    limited.file_operations.forbidden_paths = vec!["secret/own".to_owned()];
    let mut kinds = ToolSettings::default();
    kinds.file_operations.allowed_extensions = Some(vec![".RS".to_owned(), ".key".to_owned()]);
    let paths = [
        "src/a.rs",
        "secret/own/a.rs",
        "secret/open",
        "a.key",
        "b.pem",
        "AGENTS.md",
        ".claude/agents/a.md",
    ];
    let mut free = 0;
    for (rules, settings) in rules.iter().flat_map(|rules| {
        [ToolSettings::default(), limited.clone(), kinds.clone()].map(|s| (rules, s))
    }) {
        let whole = policy(rules).limited(&settings, Path::new("/w/T1"));
        for (access, granted) in [
            (Access::Own, "grep"),
            (Access::Read, "grep"),
            (Access::Write, "grep"),
            (Access::Own, "t"),
        ] {
            let permission = access.permission(Permission::FileRead);
            let grant = Grant::of_tools([granted]);
            let question = Question {
                tool: "grep",
                permission,
                access,
                targets: &[],
            };
            let part = whole.about_paths(&grant, &question);
            free += usize::from(part.is_none());
            for target in paths.iter().flat_map(|path| {
                [
                    Target::Path((*path).to_owned()),
                    Target::Folder((*path).to_owned()),
                ]
            }) {
                let targets = [target];
                let question = Question {
                    targets: &targets,
                    ..question
                };
                let expected = whole.decide(&grant, &question);
                match &part {
                    Some(part) => assert_eq!(
                        part.decide(&grant, &question),
                        expected,
                        "{rules:?} {question:?}"
                    ),
                    None => assert!(
                        matches!(expected, Decision::Allow { .. }),
                        "{rules:?} {question:?}"
                    ),
                }
            }
        }
    }
    // Without a rule or a limit about it, reading is free.
    assert_eq!(free, 7);
}
