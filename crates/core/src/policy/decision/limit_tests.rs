//! Decisions under the settings of tools.

use super::*;
use crate::policy::host::{Host, WebUrl};
use crate::policy::web::WebServiceName;

/// The values of the reference.
fn profile() -> ToolSettings {
    let list = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let mut settings = ToolSettings::default();
    settings.file_operations.allowed_extensions =
        Some(list(&[".py", ".md", ".txt", ".json", ".yaml"]));
    settings.file_operations.forbidden_paths =
        list(&["/etc", "/usr", "/var", "/w/T1/private", "vault/keys"]);
    settings.code_execution.allowed_commands =
        Some(list(&["python", "pip", "pytest", "black", "mypy"]));
    settings
}

/// The same paths, and files of all kinds.
fn forbidding() -> ToolSettings {
    let mut settings = profile();
    settings.file_operations.allowed_extensions = None;
    settings
}

fn decide(rules: &[(RuleDecision, &str)], settings: &ToolSettings, target: Target) -> String {
    let text =
        |(decision, rule): &(RuleDecision, &str)| RuleText::new(*decision, *rule, "the user");
    let rules: Vec<RuleText> = rules.iter().map(text).collect();
    let policy = Policy::new(&rules, &ToolNames::default())
        .unwrap()
        .limited(settings, Path::new("/w/T1"));
    let permission = match target {
        Target::Host(_) => Permission::NetworkAccess,
        Target::Argv(_) | Target::Shell(_) => Permission::CodeExecution,
        _ => Permission::FileWrite,
    };
    let question = Question {
        tool: "t",
        permission,
        access: Access::Own,
        targets: &[target],
    };
    match policy.decide(&Grant::of_tools(["t"]), &question) {
        Decision::Allow { rule } => format!("allow {rule}"),
        Decision::Ask { rule } => format!("ask {rule}"),
        Decision::Deny { rule, .. } => format!("deny {rule}"),
    }
}

#[test]
fn a_forbidden_path_covers_what_is_below_it() {
    let table = [
        ("private/a.md", "deny tools.file_operations.forbidden_paths"),
        ("private", "deny tools.file_operations.forbidden_paths"),
        (
            "vault/keys/a.md",
            "deny tools.file_operations.forbidden_paths",
        ),
        ("private-not/a.md", "allow default"),
        ("vault/a.md", "allow default"),
        ("etc/a.md", "allow default"),
    ];
    for (path, expected) in table {
        for target in [
            Target::Path(path.to_owned()),
            Target::Folder(path.to_owned()),
        ] {
            assert_eq!(decide(&[], &forbidding(), target), expected, "{path}");
        }
    }
    // What surrounds the worktree is not in it.
    let mut above = ToolSettings::default();
    above.file_operations.forbidden_paths = vec!["/w".to_owned(), "/w/T1".to_owned()];
    assert_eq!(
        decide(&[], &above, Target::Path("a.md".to_owned())),
        "allow default"
    );
}

#[test]
fn only_files_of_the_allowed_kinds_are_touched() {
    let table = [
        ("src/a.py", true),
        ("A.MD", true),
        ("a.tar.json", true),
        ("a.pyc", false),
        ("Makefile", false),
        (".py", false),
        ("a.py/b", false),
    ];
    for (path, expected) in table {
        let decided = decide(&[], &profile(), Target::Path(path.to_owned()));
        let denied = "deny tools.file_operations.allowed_extensions";
        assert_eq!(
            decided,
            if expected { "allow default" } else { denied },
            "{path}"
        );
    }
    assert_eq!(
        decide(&[], &profile(), Target::Folder("v1.2".to_owned())),
        "allow default"
    );
    assert_eq!(
        decide(
            &[],
            &ToolSettings::default(),
            Target::Path("a.exe".to_owned())
        ),
        "allow default"
    );
}

#[test]
fn a_single_command_is_judged_by_its_program_and_a_compound_one_is_asked_about() {
    const DENIED: &str = "deny tools.code_execution.allowed_commands";
    const ASKED: &str = "ask tools.code_execution.allowed_commands";
    let table = [
        ("python a.py --fast 'x y'", "allow default"),
        ("python3.12 -m pytest", "allow default"),
        ("/usr/bin/python a.py", "allow default"),
        ("pytest", "allow default"),
        ("./python a.py", DENIED),
        ("/w/T1/bin/python", DENIED),
        ("curl x", DENIED),
        ("env python a.py", DENIED),
        ("pythonista", DENIED),
        ("sh -c 'python a.py'", DENIED),
        ("python a.py && curl x", ASKED),
        ("python a.py; python b.py", ASKED),
        ("python a.py | tee x", ASKED),
        ("python a.py > x", ASKED),
        ("python $(curl x)", ASKED),
        ("python $X", ASKED),
        ("PATH=. python a.py", ASKED),
        ("$X", ASKED),
        ("", ASKED),
    ];
    for (line, expected) in table {
        assert_eq!(
            decide(&[], &profile(), Target::Shell(line.to_owned())),
            expected,
            "{line}"
        );
        let unlimited = decide(
            &[],
            &ToolSettings::default(),
            Target::Shell(line.to_owned()),
        );
        assert_eq!(unlimited, "allow default", "{line}");
    }
    let argv = |words: &[&str]| Target::Argv(words.iter().map(|word| (*word).to_owned()).collect());
    assert_eq!(
        decide(&[], &profile(), argv(&["python3", "a; b"])),
        "allow default"
    );
    assert_eq!(decide(&[], &profile(), argv(&["curl", "x"])), DENIED);
}

#[test]
fn no_rule_widens_a_limit() {
    let allowing = [(RuleDecision::Allow, "t"), (RuleDecision::Ask, "t(curl *)")];
    let shell = |line: &str| decide(&allowing, &profile(), Target::Shell(line.to_owned()));
    assert_eq!(
        shell("curl x"),
        "deny tools.code_execution.allowed_commands"
    );
    assert_eq!(
        shell("python a; python b"),
        "ask tools.code_execution.allowed_commands"
    );
    assert_eq!(shell("python a"), "allow allow:t");
}

#[test]
fn hosts_that_are_not_listed_are_asked_about() {
    const ASKED: &str = "ask tools.web_requests.allowed_domains";
    let table = [
        ("api.github.com", "allow default"),
        ("a.b.python.org", "allow default"),
        ("github.com", ASKED),
        ("evilgithub.com", ASKED),
        ("github.com.evil.example", ASKED),
    ];
    for (host, expected) in table {
        assert_eq!(
            decide(&[], &ToolSettings::default(), Target::Host(host.to_owned())),
            expected,
            "{host}"
        );
    }
    let allow = [(RuleDecision::Allow, "t(example.org)")];
    let host = Target::Host("example.org".to_owned());
    assert_eq!(
        decide(&allow, &ToolSettings::default(), host),
        "allow allow:t(example.org)"
    );
    // The control: a host is allowed once its pattern is listed, while no list and no odd word
    // stands for all hosts.
    let lists: [(&[&str], &str); 3] = [
        (&[], ASKED),
        (&["*", "", "*."], ASKED),
        (&["*.github.com"], "allow default"),
    ];
    for (listed, expected) in lists {
        let mut settings = ToolSettings::default();
        settings.web_requests.allowed_domains =
            listed.iter().map(|host| (*host).to_owned()).collect();
        let host = Target::Host("api.github.com".to_owned());
        assert_eq!(decide(&[], &settings, host), expected, "{listed:?}");
    }
}

/// Settings with one listed host, the hosts below another one, and a service on this machine.
fn with_hosts() -> ToolSettings {
    let mut settings = ToolSettings::default();
    settings.web_requests.allowed_domains =
        vec!["wiki.corp.example".to_owned(), "*.example.org".to_owned()];
    let service = (WebServiceName::Searxng, "http://localhost:8888/".to_owned());
    settings.web_requests.services = [service].into();
    settings
}

#[test]
fn a_service_is_listed_for_the_tool_that_asks_it() {
    let policy = Policy::default().limited(&with_hosts(), Path::new("/w/T1"));
    let decide = |tool: &'static str| {
        let targets = [Target::Host("localhost".to_owned())];
        let question = Question {
            tool,
            permission: Permission::NetworkAccess,
            access: Access::Own,
            targets: &targets,
        };
        policy
            .decide(&Grant::of_tools([tool]), &question)
            .rule()
            .to_owned()
    };
    assert_eq!(decide("web_search"), "default");
    assert_eq!(decide("fetch_url"), "tools.web_requests.allowed_domains");
}

#[test]
fn only_a_host_that_the_user_names_leads_to_addresses_and_ports_of_its_own() {
    let allow = |rule: &str| RuleText::new(RuleDecision::Allow, rule, "the user");
    let rules = [
        allow("fetch_url(domain:printer)"),
        allow("fetch_url(*.lan)"),
        allow("fetch_url"),
    ];
    let policy = Policy::new(&rules, &ToolNames::default())
        .unwrap()
        .limited(&with_hosts(), Path::new("/w/T1"));
    let table = [
        ("fetch_url", "wiki.corp.example", "10.0.0.7", true),
        ("fetch_url", "WIKI.corp.example.", "fd00::7", true),
        ("fetch_url", "printer", "192.168.1.9", true),
        ("web_search", "printer", "192.168.1.9", false),
        ("web_search", "localhost", "127.0.0.1", true),
        ("fetch_url", "localhost", "127.0.0.1", false),
        ("fetch_url", "a.example.org", "127.0.0.1", false),
        ("fetch_url", "nas.lan", "192.168.1.2", false),
        (
            "fetch_url",
            "metadata.google.internal",
            "169.254.169.254",
            false,
        ),
        ("fetch_url", "[::ffff:127.0.0.1]", "127.0.0.1", false),
    ];
    for (tool, host, address, may) in table {
        let host = Host::parse(host).unwrap();
        let address = address.parse().unwrap();
        assert_eq!(
            policy.refuse_address(tool, &host, address).is_none(),
            may,
            "{tool} {host}"
        );
        assert_eq!(
            policy.refuse_port(tool, &host, 8080).is_none(),
            may,
            "{tool} {host}"
        );
        assert!(
            policy
                .refuse_address(tool, &host, "1.1.1.1".parse().unwrap())
                .is_none(),
            "{tool} {host}"
        );
        assert!(
            policy.refuse_port(tool, &host, 443).is_none(),
            "{tool} {host}"
        );
    }
}

#[test]
fn what_no_answer_of_the_users_opens_is_known_before_a_host_is_resolved() {
    let allow = |host: &str| {
        RuleText::new(
            RuleDecision::Allow,
            format!("fetch_url(domain:{host})"),
            "the user",
        )
    };
    let policy = Policy::new(
        &["wiki.corp.example", "10.0.0.7"].map(allow),
        &ToolNames::default(),
    )
    .unwrap();
    let table = [
        ("https://a.example/", ""),
        ("http://a.example:443/", ""),
        ("http://a.example:8080/", "built-in:port"),
        ("https://10.0.0.8/", "built-in:address"),
        ("http://0x7f.1/", "built-in:address"),
        ("http://[::1]/", "built-in:address"),
        ("http://localhost/", "built-in:address"),
        ("http://a.localhost/", "built-in:address"),
        ("http://10.0.0.7:8080/", ""),
        ("http://wiki.corp.example:8080/", ""),
    ];
    for (url, expected) in table {
        let found = match policy.refuse_url("fetch_url", &WebUrl::parse(url).unwrap()) {
            Some(Decision::Deny { rule, .. }) => rule,
            other => other.map_or_else(String::new, |decision| format!("{decision:?}")),
        };
        assert_eq!(found, expected, "{url}");
    }
}

#[test]
fn a_name_that_the_user_names_leads_to_a_private_network_and_to_addresses_that_are_named_too() {
    let allow = |host: &str| {
        RuleText::new(
            RuleDecision::Allow,
            format!("fetch_url(domain:{host})"),
            "the user",
        )
    };
    let rules = [
        "wiki.corp.example",
        "localhost",
        "127.0.0.1",
        "169.254.169.254",
    ]
    .map(allow);
    let policy = Policy::new(&rules, &ToolNames::default()).unwrap();
    let table = [
        ("wiki.corp.example", "192.168.1.9", true),
        ("wiki.corp.example", "100.64.0.1", true),
        // The user names these addresses as well, or does not.
        ("wiki.corp.example", "127.0.0.1", true),
        ("wiki.corp.example", "::ffff:127.0.0.1", true),
        ("wiki.corp.example", "127.0.0.2", false),
        ("wiki.corp.example", "::1", false),
        ("other.corp.example", "127.0.0.1", false),
        ("wiki.corp.example", "169.254.169.254", false),
        ("wiki.corp.example", "168.63.129.16", false),
        ("wiki.corp.example", "fe80::1", false),
        ("localhost", "::1", true),
        ("localhost", "169.254.169.254", false),
        ("127.0.0.1", "127.0.0.1", true),
        ("169.254.169.254", "169.254.169.254", true),
    ];
    for (host, address, may) in table {
        let refused = policy.refuse_address(
            "fetch_url",
            &Host::parse(host).unwrap(),
            address.parse().unwrap(),
        );
        assert_eq!(refused.is_none(), may, "{host} {address}");
    }
    for (address, why) in [
        ("127.0.0.2", "the user does not name that address as well"),
        (
            "169.254.169.254",
            "no name may lead there, only an address in the call itself",
        ),
    ] {
        let host = Host::parse("wiki.corp.example").unwrap();
        match policy.refuse_address("fetch_url", &host, address.parse().unwrap()) {
            Some(Decision::Deny { reason, .. }) => assert!(reason.ends_with(why), "{reason}"),
            other => panic!("{address}: {other:?}"),
        }
    }
}
