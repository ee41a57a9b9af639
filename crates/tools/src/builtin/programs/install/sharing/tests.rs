use super::*;

fn texts(files: &[(&'static str, &str)]) -> Texts {
    files
        .iter()
        .map(|(name, text)| (*name, (*text).to_owned()))
        .collect()
}

fn downloads(
    sharing: Sharing,
    before: &Texts,
    after: &Texts,
    packages: &[(&str, &str)],
) -> Vec<Download> {
    let index = Index::named(
        "requirements.txt",
        "-i",
        "https://a.example/simple/",
        Reader::Pip,
    );
    downloads_from(sharing, [before, after], packages, &[index])
}

fn downloads_from(
    sharing: Sharing,
    lists: [&Texts; 2],
    packages: &[(&str, &str)],
    indexes: &[Index],
) -> Vec<Download> {
    let packages: Packages = packages
        .iter()
        .map(|(name, version)| ((*name).to_owned(), [(*version).to_owned()].into()))
        .collect();
    sharing.downloads(&Wanted {
        lists,
        packages: &packages,
        indexes,
    })
}

fn said(download: &Download) -> Vec<String> {
    download
        .commands
        .iter()
        .map(|command| command.join(" ").replace(ANY_PIP, "PIP"))
        .collect()
}

#[test]
fn wheels_are_downloaded_by_the_systems_interpreter() {
    let found = downloads(
        Sharing::Wheels,
        &Texts::new(),
        &Texts::new(),
        &[("greeting", "1.0"), ("-r", "1"), ("x", "--y")],
    );
    let [download] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(
        said(download),
        [
            "python3 -c PIP download --no-deps --only-binary :all: --no-input --no-cache-dir \
             --disable-pip-version-check --progress-bar off --index-url https://a.example/simple/ -- greeting==1.0"
        ]
    );
    assert!(downloads(Sharing::Wheels, &Texts::new(), &Texts::new(), &[]).is_empty());
}

#[test]
fn of_a_lock_file_of_npm_only_names_and_versions_count() {
    let before = texts(&[(
        "package-lock.json",
        r#"{"packages": {"node_modules/old": {"version": "1.0.0"}}}"#,
    )]);
    let after = r#"{"packages": {"": {"version": "9.9.9"}, "lib": {"version": "8.8.8"},
        "node_modules/a": {"version": "1.0.0", "resolved": "http://evil.example/a.tgz"},
        "node_modules/a/node_modules/@s/b": {"version": "2.0.0"},
        "node_modules/c": {"version": "3.0.0", "name": "other"},
        "node_modules/d": {"version": "1.0.0", "resolved": "git+ssh://evil.example/d"},
        "node_modules/e": {"version": "file:../e"}, "node_modules/f": {"resolved": "lib", "link": true},
        "node_modules/--cache": {"version": "1.0.0"}}}"#;
    let indexes = [
        Index::named(".npmrc", "registry", "https://a.example/npm/", Reader::Npm),
        Index::named(".npmrc", "@s:registry", "https://b.example/@s", Reader::Npm),
        Index::named(".yarnrc", "registry", "https://c.example/", Reader::Yarn),
    ];
    let after = texts(&[("package-lock.json", after)]);
    let found = downloads_from(Sharing::Npm, [&before, &after], &[], &indexes);
    let [download] = found.as_slice() else {
        panic!("{found:?}")
    };
    let kept = "registry=https://a.example/npm/\n@s:registry=https://b.example/@s\n";
    let files = [(".npmrc", kept.to_owned())];
    assert_eq!(download.files, files);
    assert_eq!(
        said(download),
        ["npm cache add --ignore-scripts -- @s/b@2.0.0 a@1.0.0 old@1.0.0 other@3.0.0"]
    );
}

#[test]
fn a_long_lock_file_of_npm_is_downloaded_whole() {
    let lock = |names: &[String]| {
        let one = |name: &String| format!("\"node_modules/{name}\": {{\"version\": \"1.0.0\"}}");
        format!(
            "{{\"packages\": {{{}}}}}",
            names.iter().map(one).collect::<Vec<_>>().join(", ")
        )
    };
    let mut names: Vec<String> = (0..IN_COMMAND).map(|number| format!("p{number}")).collect();
    let before = lock(&names);
    // The one that was asked for is the last of all.
    names.push("z".to_owned());
    let after = lock(&names);
    let [before, after] =
        [&before, &after].map(|lock| texts(&[("package-lock.json", lock.as_str())]));
    let found = downloads(Sharing::Npm, &before, &after, &[("z", "1.0.0")]);
    let [download] = found.as_slice() else {
        panic!("{}", found.len())
    };
    let sizes: Vec<usize> = download
        .commands
        .iter()
        .map(|command| command.len() - 5)
        .collect();
    assert_eq!(sizes, [IN_COMMAND, 1]);
    assert_eq!(
        download.commands[1].join(" "),
        "npm cache add --ignore-scripts -- z@1.0.0"
    );
}

#[test]
fn cargo_gets_a_manifest_of_our_own_and_no_program_to_run() {
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0+x\"\n\
        source = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"00\"\n\n\
        [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"b\"\nversion = \"2.0.0\"\n\
        source = \"git+https://evil.example/b\"\n\n[[package]]\nname = \"c\"\nversion = \"1 }\\n[build]\"\n\
        source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    let settings = "[build]\nrustc-wrapper = \"./evil\"\n[source.crates-io]\nreplace-with = \"m\" \n\
        [source.m]\nregistry = \"sparse+https://a.example/\"\ndirectory = \"/etc\"\n[registries.m]\n\
        credential-provider = \"./evil\"\n[source.x] # [build]\nregistry = [\"no\"]\n";
    let list = texts(&[("Cargo.lock", lock), (".cargo/config.toml", settings)]);
    let found = downloads(Sharing::Cargo, &list, &list, &[]);
    let [download] = found.as_slice() else {
        panic!("{found:?}")
    };
    let text = |name: &str| {
        download
            .files
            .iter()
            .find(|(file, _)| *file == name)
            .map(|(_, text)| text.as_str())
    };
    let manifest = format!(
        "{MANIFEST}p1 = {{ package = \"a\", version = \"=1.0.0\", default-features = false }}\n"
    );
    assert_eq!(text("Cargo.toml"), Some(manifest.as_str()));
    assert_eq!(text("Cargo.lock"), Some(lock));
    let sources = "[source.crates-io]\nreplace-with = \"m\"\n\n[source.m]\n\
        registry = \"sparse+https://a.example/\"\n\n[source.x]\n";
    assert_eq!(text(".cargo/config.toml"), Some(sources));
    assert_eq!(said(download), ["cargo fetch"]);
    // Work of other agents begins with what was there before.
    let older = texts(&[("Cargo.lock", &lock.replace("\"1.0.0+x\"", "\"0.9.0\""))]);
    assert_eq!(downloads(Sharing::Cargo, &older, &list, &[]).len(), 2);
    assert_eq!(
        downloads(Sharing::Cargo, &Texts::new(), &list, &[]).len(),
        1
    );
    // No other registry is asked in the place of one that is not understood.
    for (file, settings, expected) in [
        (
            ".cargo/config",
            "[source.crates-io]\nreplace-with = \"m\"\n",
            1,
        ),
        (
            ".cargo/config.toml",
            "[source]\ncrates-io = { replace-with = \"m\" }\n",
            1,
        ),
        (
            ".cargo/config.toml",
            "[source]\ncrates-io = { replace-with = \n",
            0,
        ),
        (".cargo/config.toml", "# replace-with\n", 1),
    ] {
        let list = texts(&[("Cargo.lock", lock), (file, settings)]);
        assert_eq!(
            downloads(Sharing::Cargo, &list, &list, &[]).len(),
            expected,
            "{settings}"
        );
    }
}

#[test]
fn go_downloads_what_its_own_lists_say() {
    let list = texts(&[("go.mod", "module own\n"), ("go.sum", "a v1 h1:x\n")]);
    let found = downloads(Sharing::Go, &Texts::new(), &list, &[]);
    let files = vec![
        ("go.mod", "module own\n".to_owned()),
        ("go.sum", "a v1 h1:x\n".to_owned()),
    ];
    assert_eq!(
        found,
        [Download {
            files,
            commands: vec![words(&["go", "mod", "download"])]
        }]
    );
    assert!(
        downloads(
            Sharing::Go,
            &Texts::new(),
            &texts(&[("go.mod", "module own\n")]),
            &[]
        )
        .is_empty()
    );
}
