use super::*;

/// Shows packages as `name version`.
fn shown(packages: &Packages) -> Vec<String> {
    packages
        .iter()
        .flat_map(|(name, versions)| {
            versions
                .iter()
                .map(move |version| format!("{name} {version}"))
        })
        .collect()
}

#[test]
fn the_packages_of_each_file_are_listed() {
    let cargo = "version = 4\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n]\n\n[[package]]\n\
        name = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n\n[[package]]\n\
        name = \"a\"\nversion = \"2.0.0\"\nsource = \"sparse+https://a.example/\"\n";
    assert_eq!(shown(&blocks(cargo)), ["a 1.0.0", "a 2.0.0"]);
    let uv = "version = 1\n\n[[package]]\nname = \"greeting\"\nversion = \"1.0\"\nsource = { registry = \"https://a.example/\" }\n\
        wheels = [\n    { url = \"https://a.example/x.whl\" },\n]\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n\
        source = { virtual = \".\" }\n\n[package.metadata]\nrequires-dist = []\n";
    assert_eq!(shown(&blocks(uv)), ["greeting 1.0"]);
    let of_npm = r#"{"packages": {"node_modules/@s/a": {"version": "1.0.0"}, "node_modules/b/node_modules/@s/a":
        {"version": "2.0.0"}, "own": {"version": "1.0.0"}, "node_modules/own": {"resolved": "own", "link": true}}}"#;
    assert_eq!(shown(&npm(of_npm)), ["@s/a 1.0.0", "@s/a 2.0.0"]);
    let of_pnpm = "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      a:\n        version: 1.0.0\n\n\
        packages:\n\n  a@1.0.0:\n    resolution: {integrity: x}\n\n  '@s/b@2.0.0(a@1.0.0)':\n    engines: {node: '>=4'}\n\n  \
        /c@3.0.0:\n    resolution: {}\n\nsnapshots:\n\n  d@1.0.0: {}\n";
    assert_eq!(shown(&pnpm(of_pnpm)), ["@s/b 2.0.0", "a 1.0.0", "c 3.0.0"]);
    let classic = "# yarn lockfile v1\n\n\n\"@s/a@^1\", \"@s/a@^1.1\":\n  version \"1.2.0\"\n  resolved \"https://a.example/a.tgz\"\n\n\
        b@2:\n  version \"2.0.0\"\n";
    assert_eq!(shown(&yarn(classic)), ["@s/a 1.2.0", "b 2.0.0"]);
    let berry = "__metadata:\n  version: 8\n\n\"a@npm:^1\":\n  version: 1.0.0\n  resolution: \"a@npm:1.0.0\"\n\n\
        \"own@workspace:.\":\n  version: 0.0.0-use.local\n";
    assert_eq!(shown(&yarn(berry)), ["a 1.0.0"]);
    let module = "module example.test/own\n\ngo 1.22\n\nrequire a.example/one v1.0.0\n\nrequire (\n\ta.example/two v2.0.0 // indirect\n\
        \t// a.example/no v1.0.0\n)\n\nreplace a.example/no => ./no\n";
    assert_eq!(
        shown(&go_mod(module)),
        ["a.example/one v1.0.0", "a.example/two v2.0.0"]
    );
}

#[test]
fn a_file_that_is_none_lists_nothing() {
    for text in [
        "",
        "\0",
        "{",
        "[[package]]",
        "[[package]]\nname = a\nversion",
        "packages:\n  :\n  @:\n",
        "require (",
        "@:\n version",
    ] {
        for read in [blocks, npm, pnpm, yarn, go_mod] {
            assert_eq!(read(text), Packages::new(), "{text:?}");
        }
    }
}

#[test]
fn what_an_installation_changes_has_both_versions() {
    let packages = |all: &[(&str, &str)]| {
        let mut packages = Packages::new();
        all.iter()
            .for_each(|(name, version)| add(&mut packages, name, version));
        packages
    };
    let before = packages(&[("a", "1"), ("b", "1"), ("b", "2"), ("c", "1"), ("d", "1")]);
    let after = packages(&[("a", "1"), ("b", "2"), ("b", "3"), ("d", "2"), ("e", "1")]);
    let change = |name: &str, removed: &[&str], added: &[&str]| {
        let owned = |versions: &[&str]| {
            versions
                .iter()
                .map(|version| (*version).to_owned())
                .collect()
        };
        PackageChange {
            name: name.to_owned(),
            removed: owned(removed),
            added: owned(added),
        }
    };
    let expected = [
        change("b", &["1"], &["3"]),
        change("c", &["1"], &[]),
        change("d", &["1"], &["2"]),
        change("e", &[], &["1"]),
    ];
    assert_eq!(changes(&before, &after), expected);
    assert_eq!(changes(&after, &after), []);
}
