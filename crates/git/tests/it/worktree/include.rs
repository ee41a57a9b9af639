//! What `.worktreeinclude` copies into a worktree, and what it never copies.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use orchestrate_git::{BackLink, GitError, RepositoryRefusal, Worktree};
use orchestrate_sandbox::Confinement;

use crate::support::{Fixture, git_in, make_pipe, read, write_files};

/// Creates a repository with these patterns in its `.worktreeinclude`, in which git ignores
/// `local/` and `*.env`.
fn naming(patterns: &str) -> Fixture {
    Fixture::new(&[
        (".gitignore", "local/\n*.env\n"),
        (".worktreeinclude", patterns),
        ("tracked", "1\n"),
    ])
}

fn included(fixture: &Fixture) -> (Worktree, Result<Vec<PathBuf>, GitError>) {
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let copied = repo.worktrees().copy_included(&worktree);
    (worktree, copied)
}

#[test]
fn patterns_are_those_of_git() {
    let files = [
        "local/a",
        "local/deep/b.key",
        "local/c.key",
        "x.env",
        "deep/y.env",
        "z.env",
    ];
    for (patterns, expected) in [
        ("", vec![]),
        ("# local/\n\n", vec![]),
        (
            "local/\n",
            vec!["local/a", "local/c.key", "local/deep/b.key"],
        ),
        ("/local/*\n!/local/deep/\n", vec!["local/a", "local/c.key"]),
        ("local/**/*.key\n", vec!["local/c.key", "local/deep/b.key"]),
        ("*.env\n!z.env\n", vec!["deep/y.env", "x.env"]),
        ("/*.env\n", vec!["x.env", "z.env"]),
        ("../*\n/etc/passwd\ntracked\n", vec![]),
    ] {
        let fixture = naming(patterns);
        write_files(&fixture.project(), &files.map(|file| (file, file)));
        let (worktree, copied) = included(&fixture);
        assert_eq!(
            copied.unwrap(),
            expected.iter().map(PathBuf::from).collect::<Vec<_>>(),
            "{patterns}"
        );
        for file in files {
            let content = std::fs::read_to_string(worktree.path().join(file)).ok();
            assert_eq!(
                content.as_deref(),
                expected.contains(&file).then_some(file),
                "{patterns}: {file}"
            );
        }
    }
    let (_, copied) = included(&Fixture::new(&[("tracked", "1\n")]));
    assert_eq!(copied.unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn names_and_modes_are_kept() {
    let fixture = naming("local/\n");
    let names: [&[u8]; 4] = [
        b"local/-f",
        b"local/\xff",
        b"local/a\nb",
        b"local/with space",
    ];
    let names = names.map(|name| PathBuf::from(OsStr::from_bytes(name)));
    std::fs::create_dir(fixture.project().join("local")).unwrap();
    for name in &names {
        std::fs::write(fixture.project().join(name), "x").unwrap();
    }
    let modes = [0o755, 0o600, 0o444, 0o640];
    for (name, mode) in names.iter().zip(modes) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(fixture.project().join(name), permissions).unwrap();
    }
    // Left by a process that was killed while it copied.
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("local/.a\nb.orchestrate-tmp", "half")]);
    let mut copied = repo.worktrees().copy_included(&worktree).unwrap();
    copied.sort();
    let mut expected = names.to_vec();
    expected.sort();
    assert_eq!(copied, expected);
    let mode = |name: &PathBuf| {
        std::fs::metadata(worktree.path().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    for (name, allowed) in names.iter().zip(modes) {
        let (mode, owners) = (mode(name), allowed & 0o700);
        assert!(
            mode & !allowed == 0 && mode & 0o700 == owners,
            "{}: {mode:o} of {allowed:o}",
            name.display()
        );
    }
}

/// Otherwise what was built before a change would count as newer than the change.
#[test]
fn a_copy_is_not_newer_than_the_file() {
    let fixture = naming("local/\n");
    write_files(&fixture.project(), &[("local/program", "built")]);
    let built = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let program = std::fs::File::options()
        .write(true)
        .open(fixture.project().join("local/program"))
        .unwrap();
    program.set_modified(built).unwrap();
    let (worktree, copied) = included(&fixture);
    assert_eq!(copied.unwrap(), [PathBuf::from("local/program")]);
    let time = std::fs::metadata(worktree.path().join("local/program"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(time, built);
}

#[test]
fn links_are_links_and_pipes_and_repositories_are_left_out() {
    let fixture = naming("local/\nlinked\n*.env\n");
    std::fs::write(
        fixture.project().join(".gitignore"),
        "local/\nlinked\n*.env\n",
    )
    .unwrap();
    let outside = fixture.path().join("outside");
    write_files(&outside, &[("secret", "outside")]);
    write_files(
        &fixture.project(),
        &[("local/kept", "kept"), ("local/nested/inner", "inner")],
    );
    symlink(outside.join("secret"), fixture.project().join("a.env")).unwrap();
    symlink("local/kept", fixture.project().join("b.env")).unwrap();
    symlink(&outside, fixture.project().join("linked")).unwrap();
    make_pipe(&fixture.project().join("local/pipe"));
    git_in(&fixture.project().join("local/nested"), &["init", "-q"]);
    let (worktree, copied) = included(&fixture);
    assert_eq!(
        copied.unwrap(),
        ["a.env", "b.env", "linked", "local/kept"].map(PathBuf::from)
    );
    for (path, expected) in [
        ("local/kept", true),
        ("linked/secret", true),
        ("local", false),
        (".gitignore", false),
    ] {
        assert_eq!(
            fixture
                .repo()
                .worktrees()
                .includes(Path::new(path))
                .unwrap(),
            expected,
            "{path}"
        );
    }
    for (link, target) in [
        ("a.env", outside.join("secret")),
        ("b.env", "local/kept".into()),
        ("linked", outside),
    ] {
        assert_eq!(
            std::fs::read_link(worktree.path().join(link)).unwrap(),
            target
        );
    }
    for absent in ["local/pipe", "local/nested"] {
        assert!(
            worktree.path().join(absent).symlink_metadata().is_err(),
            "{absent}"
        );
    }
}

/// The user's checkout may be at another commit than the worktree, and a folder of one may be a
/// file of the other.
#[test]
fn what_is_in_the_worktree_stays() {
    let fixture = naming("local/\nlinked/\nx.env\n");
    let outside = fixture.path().join("outside");
    write_files(&outside, &[("kept", "outside")]);
    write_files(
        &fixture.project(),
        &[("local", "a file\n"), ("x.env", "tracked\n")],
    );
    symlink(&outside, fixture.project().join("linked")).unwrap();
    fixture.git(&["add", "-f", "local", "linked", "x.env"]);
    fixture.git(&["commit", "-q", "-m", "files"]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    fixture.git(&["rm", "-q", "local", "linked", "x.env"]);
    write_files(
        &fixture.project(),
        &[
            (".gitignore", "local/\nlinked/\n*.env\n"),
            ("local/a", "a"),
            ("linked/kept", "b"),
            ("x.env", "ignored\n"),
        ],
    );
    assert_eq!(
        repo.worktrees().copy_included(&worktree).unwrap(),
        Vec::<PathBuf>::new()
    );
    let text_of = |path: &Path| read(path);
    assert_eq!(
        [
            text_of(&worktree.path().join("local")),
            text_of(&worktree.path().join("x.env"))
        ],
        ["a file\n", "tracked\n"]
    );
    assert_eq!(
        std::fs::read_link(worktree.path().join("linked")).unwrap(),
        outside
    );
    assert_eq!(text_of(&outside.join("kept")), "outside");
    assert_eq!(git_in(worktree.path(), &["status", "--porcelain"]), "");
}

/// Creates a repository whose checkout has a virtual environment, made by hand as pip and uv make
/// it.
fn with_venv() -> Fixture {
    let fixture = Fixture::new(&[
        (".gitignore", ".venv/\n"),
        (".worktreeinclude", ".venv/\n"),
        ("src/canary.py", "WHERE = 'committed'\n"),
    ]);
    let project = fixture.project();
    let (checkout, site) = (project.display(), ".venv/lib/python3/site-packages");
    write_files(
        &project,
        &[
            (
                ".venv/pyvenv.cfg",
                &format!("home = /usr/bin\ncommand = /usr/bin/python3 -m venv {checkout}/.venv\n"),
            ),
            (
                ".venv/bin/tool",
                &format!("#!{checkout}/.venv/bin/python\nprint('tool')\n"),
            ),
            (
                ".venv/bin/activate",
                &format!("VIRTUAL_ENV='{checkout}/.venv'\n"),
            ),
            (&format!("{site}/_canary.pth"), &format!("{checkout}/src\n")),
            (
                &format!("{site}/canary-1.dist-info/direct_url.json"),
                &format!("{{\"url\":\"file://{checkout}\"}}"),
            ),
            (
                &format!("{site}/__editable___other_finder.py"),
                &format!("MAPPING = {{'other': '{checkout}/other'}}\n"),
            ),
            (
                &format!("{site}/__pycache__/__editable___other_finder.cpython-312.pyc"),
                "\u{0}compiled",
            ),
        ],
    );
    std::fs::set_permissions(
        project.join(".venv/bin/tool"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    // What the user has changed since, which no check of a worktree may see.
    write_files(&project, &[("src/canary.py", "WHERE = 'checkout'\n")]);
    fixture
}

#[test]
fn an_editable_install_leads_into_the_worktree() {
    let fixture = with_venv();
    let (worktree, copied) = included(&fixture);
    assert_eq!(copied.unwrap().len(), 6);
    let checkout = fixture.project().display().to_string();
    let text_of = |path: &str| read(worktree.path().join(path));
    let site = ".venv/lib/python3/site-packages";
    for path in [
        ".venv/pyvenv.cfg",
        ".venv/bin/tool",
        ".venv/bin/activate",
        &format!("{site}/_canary.pth"),
        &format!("{site}/canary-1.dist-info/direct_url.json"),
        &format!("{site}/__editable___other_finder.py"),
    ] {
        let text = text_of(path);
        assert!(!text.contains(&checkout), "{path}: {text}");
        assert!(
            text.contains(&worktree.path().display().to_string()),
            "{path}: {text}"
        );
    }
    assert!(!worktree.path().join(site).join("__pycache__").exists());
    let mode = std::fs::metadata(worktree.path().join(".venv/bin/tool"))
        .unwrap()
        .permissions()
        .mode();
    assert_ne!(mode & 0o100, 0);
    let only_here = || fixture.repo().worktrees().uncommitted(&worktree).unwrap();
    assert_eq!(only_here(), Vec::<PathBuf>::new());
    std::fs::write(worktree.path().join(site).join("_canary.pth"), "src\n").unwrap();
    assert_eq!(only_here(), [PathBuf::from(".venv/")]);
}

/// A file of a kind in which no path can be replaced would lead into the checkout.
#[test]
fn a_file_of_any_kind_that_names_the_checkout_is_left_out() {
    let fixture = Fixture::new(&[
        (".gitignore", "build/\n*.env\n"),
        (".worktreeinclude", "build/\n*.env\n"),
    ]);
    let checkout = fixture.project().display().to_string();
    write_files(
        &fixture.project(),
        &[
            ("build/program", &format!("\0{checkout}/data\0")),
            ("build/other", "\0data\0"),
            ("a.env", &format!("DATA={checkout}\n")),
            ("b.env", &format!("DATA={checkout}-2\n")),
        ],
    );
    let (_, copied) = included(&fixture);
    assert_eq!(copied.unwrap(), ["b.env", "build/other"].map(PathBuf::from));
    let warnings: Vec<String> = fixture
        .repo()
        .warnings()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected =
        "a.env, build/program of .worktreeinclude will not be copied: they name this checkout";
    assert!(
        warnings.iter().any(|warning| warning.starts_with(expected)),
        "{warnings:?}"
    );
    let mounted = fixture.repo().confined_in(Confinement::Full);
    let worktree = fixture.worktree(&mounted, "mounted");
    assert_eq!(
        mounted.worktrees().copy_included(&worktree).unwrap().len(),
        4
    );
    assert!(
        mounted
            .warnings()
            .unwrap()
            .iter()
            .all(|warning| !warning.to_string().contains("not be copied"))
    );
}

/// Runs a program in a folder, and returns what it prints; `None` if the program is not installed.
fn printed(program: &str, folder: &Path, arguments: &[&str]) -> Option<String> {
    let ran = match Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
    {
        Err(_) => {
            assert!(
                std::env::var_os("ORCHESTRATE_REQUIRE").is_none(),
                "needs {program}"
            );
            return None;
        }
        Ok(ran) => ran,
    };
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    Some(String::from_utf8(ran.stdout).unwrap())
}

/// The canary of pip and uv: python itself imports the worktree's code.
#[test]
fn python_imports_from_the_worktree() {
    let fixture = with_venv();
    let (worktree, copied) = included(&fixture);
    copied.unwrap();
    let script = "import site; site.addsitedir('.venv/lib/python3/site-packages'); import canary; print(canary.WHERE)";
    let imported = |root: &Path| printed("python3", root, &["-I", "-B", "-c", script]);
    let Some(before) = imported(&fixture.project()) else {
        return;
    };
    assert_eq!(
        [before, imported(worktree.path()).unwrap()],
        ["checkout\n", "committed\n"]
    );
}

/// The canary of npm and pnpm: absolute links, links by way of a global folder, and shims.
#[test]
fn node_requires_from_the_worktree() {
    let fixture = Fixture::new(&[
        (".gitignore", "node_modules/\n"),
        (".worktreeinclude", "node_modules/\n"),
        ("packages/lib/index.js", "module.exports = 'committed';\n"),
    ]);
    let (project, global) = (fixture.project(), fixture.path().join("global"));
    let shim = format!(
        "#!/bin/sh\nexport NODE_PATH=\"{}/node_modules/.pnpm\"\n",
        project.display()
    );
    write_files(
        &project,
        &[
            ("node_modules/.bin/tool", &shim),
            ("node_modules/.keep", ""),
        ],
    );
    std::fs::create_dir(&global).unwrap();
    symlink(project.join("packages/lib"), global.join("lib")).unwrap();
    for (name, target) in [
        ("absolute", project.join("packages/lib")),
        ("linked", global.join("lib")),
        ("climbing", "../../global/lib".into()),
        ("relative", "../packages/lib".into()),
    ] {
        symlink(target, project.join("node_modules").join(name)).unwrap();
    }
    write_files(
        &project,
        &[("packages/lib/index.js", "module.exports = 'checkout';\n")],
    );
    let (worktree, copied) = included(&fixture);
    assert_eq!(copied.unwrap().len(), 6);
    for name in ["absolute", "linked", "climbing", "relative"] {
        let leads = worktree
            .path()
            .join("node_modules")
            .join(name)
            .canonicalize()
            .unwrap();
        assert_eq!(
            leads,
            worktree.path().canonicalize().unwrap().join("packages/lib"),
            "{name}"
        );
    }
    let shim = read(worktree.path().join("node_modules/.bin/tool"));
    assert!(
        shim.contains(&format!(
            "\"{}/node_modules/.pnpm\"",
            worktree.path().display()
        )),
        "{shim}"
    );
    let script = "console.log(['absolute', 'linked', 'climbing', 'relative'].map((name) => require(name)).join())";
    let required = |root: &Path| printed("node", root, &["-e", script]);
    let Some(before) = required(&project) else {
        return;
    };
    let expected = ["checkout", "committed"].map(|word| format!("{}\n", [word; 4].join(",")));
    assert_eq!([before, required(worktree.path()).unwrap()], expected);
}

/// The canary of cargo and go: overrides that git ignores are changed, and committed ones are
/// refused.
#[test]
fn overrides_lead_into_the_worktree_or_are_refused() {
    let written = |checkout: &Path| {
        let checkout = checkout.display();
        [
            (
                ".cargo/config.toml",
                format!("# ours\npaths = [\"{checkout}/vendored/lib\"]\n"),
            ),
            ("go.work", format!("go 1.22\nuse {checkout}/module\n")),
        ]
    };
    let fixture = Fixture::new(&[
        (".gitignore", ".cargo/\ngo.work\n"),
        (".worktreeinclude", ".cargo/\ngo.work\n"),
        ("tracked", "1\n"),
    ]);
    for (name, text) in written(&fixture.project()) {
        write_files(&fixture.project(), &[(name, &text)]);
    }
    let (worktree, copied) = included(&fixture);
    assert_eq!(copied.unwrap().len(), 2);
    for (name, text) in written(worktree.path()) {
        assert_eq!(read(worktree.path().join(name)), text);
    }
    for at in [0, 1] {
        let fixture = Fixture::new(&[("tracked", "1\n")]);
        let (name, text) = &written(&fixture.project())[at];
        fixture.commit_files(&[(name, text)], "override");
        let refused = fixture.repo().require_ready();
        let expected = RepositoryRefusal::LeadsBack {
            path: name.into(),
            link: BackLink::Committed { line: 2 },
        };
        assert!(
            matches!(&refused, Err(GitError::Refused { refusal, .. }) if *refusal == expected),
            "{refused:?}"
        );
    }
}

/// Requires that a run is refused before it starts, and that nothing is copied.
fn require_refused(fixture: &Fixture, path: &Path, link: BackLink) {
    let expected = RepositoryRefusal::LeadsBack {
        path: path.to_owned(),
        link,
    };
    let refused = fixture.repo().require_ready();
    assert!(
        matches!(&refused, Err(GitError::Refused { refusal, .. }) if *refusal == expected),
        "{refused:?}"
    );
    let (worktree, copied) = included(fixture);
    assert!(
        matches!(&copied, Err(GitError::Refused { refusal, .. }) if *refusal == expected),
        "{copied:?}"
    );
    assert_eq!(
        git_in(worktree.path(), &["status", "--porcelain", "--ignored"]),
        ""
    );
}

#[test]
fn what_cannot_be_changed_is_refused_with_its_line() {
    let fixture = naming("local/\n");
    let cache = format!(
        "A=1\nCMAKE_HOME_DIRECTORY:INTERNAL={}\n",
        fixture.project().display()
    );
    write_files(&fixture.project(), &[("local/CMakeCache.txt", &cache)]);
    require_refused(
        &fixture,
        Path::new("local/CMakeCache.txt"),
        BackLink::Configured { line: 2 },
    );
    let fixture = naming("local/\n");
    let finder = format!("\u{0}\n\nM = '{}/src'\n", fixture.project().display());
    write_files(
        &fixture.project(),
        &[("local/__editable___x_finder.py", &finder)],
    );
    require_refused(
        &fixture,
        Path::new("local/__editable___x_finder.py"),
        BackLink::NotText { line: 3 },
    );
}

/// The folder behind a link belongs to the user, so nothing is changed there.
#[test]
fn what_leads_back_from_behind_a_link_is_refused() {
    let fixture = naming("venv.env\n");
    let outside = fixture.path().join("venvs/project");
    let site = outside.join("lib/python3/site-packages");
    write_files(
        &site,
        &[(
            "_canary.pth",
            &format!("# ours\n{}/src\n", fixture.project().display()),
        )],
    );
    symlink(&outside, fixture.project().join("venv.env")).unwrap();
    let link = BackLink::Behind {
        through: "venv.env".into(),
        line: 2,
    };
    require_refused(&fixture, &site.join("_canary.pth"), link);
    write_files(&site, &[("_canary.pth", "/elsewhere/src\n")]);
    fixture.repo().require_ready().unwrap();
}

/// So is a link there, as `npm link` and `flit install --symlink` make them.
#[test]
fn a_link_back_from_behind_a_link_is_refused() {
    let fixture = naming("modules.env\n");
    let outside = fixture.path().join("shared");
    write_files(&outside, &[("other/index.js", "")]);
    symlink("other", outside.join("alias")).unwrap();
    symlink(&outside, fixture.project().join("modules.env")).unwrap();
    fixture.repo().require_ready().unwrap();
    write_files(&outside, &[("@scope/other.js", "")]);
    symlink(fixture.project(), outside.join("@scope/lib")).unwrap();
    let link = BackLink::LinkBehind {
        through: "modules.env".into(),
    };
    require_refused(&fixture, &outside.join("@scope/lib"), link);
}

/// The user may name the checkout by a path with links.
#[test]
fn a_path_through_links_leads_into_the_worktree() {
    let fixture = naming("local/\n");
    let aliases = [
        fixture.path().join("alias/project"),
        fixture.path().join("another"),
    ];
    std::fs::create_dir(fixture.path().join("alias")).unwrap();
    for alias in &aliases {
        symlink(fixture.project(), alias).unwrap();
    }
    let [named, other] = aliases.map(|alias| alias.display().to_string());
    write_files(
        &fixture.project(),
        &[
            (
                "local/pyvenv.cfg",
                &format!("command = python -m venv {named}/local\n"),
            ),
            ("local/a.pth", &format!("{other}\n{named}\n")),
        ],
    );
    let (worktree, copied) = included(&fixture);
    assert_eq!(copied.unwrap().len(), 2);
    let read = |name: &str| read(worktree.path().join(name));
    let at = worktree.path().display();
    assert_eq!(
        read("local/pyvenv.cfg"),
        format!("command = python -m venv {at}/local\n")
    );
    assert_eq!(read("local/a.pth"), format!("{at}\n{at}\n"));
}

#[test]
fn large_ones_are_copied_and_too_many_are_refused_before_a_run() {
    let fixture = naming("local/\n");
    std::fs::create_dir(fixture.project().join("local")).unwrap();
    std::fs::File::create(fixture.project().join("local/large"))
        .unwrap()
        .set_len(64 << 20)
        .unwrap();
    let (worktree, copied) = included(&fixture);
    assert_eq!(copied.unwrap(), ["local/large"].map(PathBuf::from));
    assert_eq!(
        worktree
            .path()
            .join("local/large")
            .metadata()
            .unwrap()
            .len(),
        64 << 20
    );
    for number in 0..50_000 {
        std::fs::File::create(fixture.project().join(format!("local/{number}"))).unwrap();
    }
    let refused = fixture.repo().require_ready();
    let expected = RepositoryRefusal::IncludesTooMuch {
        path: ".worktreeinclude".into(),
        files: 50_001,
    };
    assert!(
        matches!(&refused, Err(GitError::Refused { refusal, .. }) if *refusal == expected),
        "{refused:?}"
    );
}

#[test]
fn an_edit_that_keeps_size_and_time_is_another_fingerprint() {
    let fixture = naming("local/\n");
    let file = fixture.project().join("local/a");
    write_files(&fixture.project(), &[("local/a", "one")]);
    let (repo, before) = (fixture.repo(), std::fs::metadata(&file).unwrap());
    let fingerprint = || repo.worktrees().included_fingerprint().unwrap();
    let first = fingerprint();
    assert_eq!(fingerprint(), first);
    // The clock of a file system moves in steps of milliseconds.
    let edit = || {
        std::fs::write(&file, "two").unwrap();
        std::fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(before.modified().unwrap())
            .unwrap();
        std::fs::metadata(&file).unwrap()
    };
    let after = std::iter::repeat_with(edit)
        .find(|after| after.ctime_nsec() != before.ctime_nsec())
        .unwrap();
    assert_eq!(
        (after.len(), after.modified().unwrap()),
        (before.len(), before.modified().unwrap())
    );
    assert_ne!(fingerprint(), first);
}
