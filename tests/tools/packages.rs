//! `install_package` as a run has it: registries of this machine that the user allows, and hostile
//! ones beside them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::support::{
    Case, Need, Outcome, Script, World, done, fail, on, require_words, sandboxed,
};

mod checked;
mod go;
mod javascript;
mod uv;

/// Creates a test in the one tier in which packages can be installed.
fn full(name: &str, run: fn() -> Outcome) -> Case {
    sandboxed(format!("packages::{name}"), run).needs(Need::FULL_TIER)
}

pub(crate) fn cases() -> Vec<Case> {
    let others = [
        checked::cases(),
        go::cases(),
        javascript::cases(),
        uv::cases(),
    ];
    let own = [
        full(
            "a_wheel_is_installed_into_the_projects_environment",
            a_wheel_is_installed,
        )
        .needs(Need::PYTHON),
        full(
            "a_hostile_index_of_python_installs_nothing",
            a_hostile_index,
        )
        .needs(Need::PYTHON),
        full(
            "what_has_no_wheel_is_built_in_the_sandbox",
            a_source_is_built,
        )
        .needs(Need::PYTHON),
        full(
            "a_build_has_the_time_that_its_installation_has_left",
            a_build_has_the_time_that_is_left,
        ),
        full(
            "an_index_of_the_user_with_a_password_is_not_replaced",
            an_index_with_a_password,
        )
        .needs(Need::PYTHON),
        full(
            "a_package_of_npm_is_installed_without_its_scripts",
            a_package_of_npm,
        )
        .needs(Need::NPM),
        full(
            "a_hostile_registry_of_npm_installs_nothing",
            a_hostile_registry,
        )
        .needs(Need::NPM),
        full(
            "a_crate_is_added_and_built_without_the_network",
            a_crate_is_added,
        ),
        full(
            "a_call_waits_for_the_user_who_sees_what_it_reaches",
            a_call_waits,
        )
        .needs(Need::NPM),
    ];
    own.into_iter()
        .chain(others.into_iter().flatten())
        .collect()
}

/// What a path of a registry answers with.
#[derive(Clone)]
enum Page {
    Bytes(Vec<u8>),
    Redirect(String),
    /// A body that never ends.
    Endless,
}

/// A registry: pages by their paths, and the paths that it was asked for.
struct Registry {
    port: u16,
    /// What its addresses begin with.
    base: String,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Registry {
    fn start() -> Result<Registry, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let base = format!("http://127.0.0.1:{port}");
        let registry = Registry {
            port,
            base,
            pages: Arc::default(),
            asked: Arc::default(),
        };
        let (pages, asked) = (Arc::clone(&registry.pages), Arc::clone(&registry.asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pages, asked) = (Arc::clone(&pages), Arc::clone(&asked));
                // A client may have gone.
                std::thread::spawn(move || drop(answer(stream, &pages, &asked)));
            }
        });
        Ok(registry)
    }

    fn put(&self, path: &str, page: Page) {
        self.pages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned(), page);
    }

    fn asked(&self) -> Vec<String> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// Answers the requests of one connection.
fn answer(
    stream: TcpStream,
    pages: &Mutex<BTreeMap<String, Page>>,
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let (mut reader, mut writer) = (BufReader::new(stream.try_clone()?), stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let mut words = head.split(' ');
        let (method, path) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(path.to_owned());
        let page = pages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .cloned();
        let (status, headers, body) = match &page {
            Some(Page::Bytes(body)) => (
                "200 X",
                format!("content-length: {}", body.len()),
                body.as_slice(),
            ),
            Some(Page::Redirect(to)) => (
                "302 X",
                format!("location: {to}\r\ncontent-length: 0"),
                &[][..],
            ),
            Some(Page::Endless) => ("200 X", "connection: close".to_owned(), &[][..]),
            None => ("404 X", "content-length: 0".to_owned(), &[][..]),
        };
        let kind = if path.contains("/simple/") {
            "text/html"
        } else {
            "application/octet-stream"
        };
        write!(
            writer,
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{headers}\r\n\r\n"
        )?;
        if method != "HEAD" {
            writer.write_all(body)?;
        }
        if matches!(page, Some(Page::Endless)) {
            loop {
                writer.write_all(&[b' '; 1 << 16])?;
            }
        }
    }
}

const ROLE: &str = "---\nname: builder\ndescription: Builds.\n\
    tools: Read, Write, Bash, install_package, create_virtual_environment\n---\nBuild.\n";
/// What the user allows: the registry, by its address, and calls that install.
const SETTINGS: &str =
    "allow = ['install_package(greeting)', 'install_package(Greeting)', 'install_package(nowhere)', \
                        'install_package(forged)', 'install_package(liar)', 'install_package(swapped)', \
                        'install_package(away)', 'install_package(metadata)', 'install_package(endless)']
[tools.web_requests]
allowed_domains = ['127.0.0.1']
";

/// Creates a repository with these files, whose task goes to an agent that may install packages.
fn world(files: &[(&str, &str)]) -> Result<World, Failed> {
    let world = World::plain()?;
    world.repository.write("agents/builder.md", ROLE)?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Build (agent: builder)\n")?;
    for (path, text) in files {
        world.repository.write(path, text)?;
    }
    world.repository.commit_all("Begin")?;
    Ok(world)
}

/// A call, and what its answer has to contain.
type Step = (&'static str, Value, String);

/// What has no wheel is built with a second command, which has no time of its own.
fn a_build_has_the_time_that_is_left() -> Outcome {
    const PIP: &str = "#!/bin/sh\ncase \"$*\" in *--version*) echo pip 1.0; exit;; esac\nsleep 6\n\
        case \"$*\" in *only-binary*) echo No matching distribution found; exit 1;; esac\ntouch built\n";
    let world = world(&[("requirements.txt", ""), (".gitignore", ".venv\n")])?;
    let make = format!(
        "mkdir -p .venv/bin && printf '%s' '{PIP}' > .venv/bin/python && chmod +x .venv/bin/python"
    );
    let steps = [
        shell(&make, "exit code 0"),
        install("greeting", "timed out after 8 s"),
        shell("ls built", "No such file"),
    ];
    play(
        &world,
        &format!("{SETTINGS}[tools.code_execution]\ntimeout_seconds = 8\n"),
        &steps,
    )
}

/// Lets the agent make these calls, and requires that each is answered as expected.
fn play(world: &World, settings: &str, steps: &[Step]) -> Outcome {
    play_with(world, settings, &[], steps)
}

/// Does so with variables of the user's.
fn play_with(world: &World, settings: &str, variables: &[(&str, &str)], steps: &[Step]) -> Outcome {
    let (code, said) = run(world, settings, variables, steps)?;
    assert_eq!(code, 0, "{said}");
    assert!(world.repository.read("seen.txt").is_ok(), "{said}");
    Ok(())
}

/// Lets the agent make these calls, and returns the exit code of the run, and all that was said.
/// The result has a file `seen.txt` if each was answered as expected.
fn run(
    world: &World,
    settings: &str,
    variables: &[(&str, &str)],
    steps: &[Step],
) -> Result<(i32, String), Failed> {
    configure(world, settings)?;
    let seen = write("seen.txt", "yes\n");
    let (mut script, mut turn, mut before) = (Script::default(), 0, "");
    for (tool, arguments, expected) in steps.iter().chain([&seen]) {
        turn += 1;
        script = script.rule(on("T1", turn).last_contains(before).call(tool, arguments));
        before = expected;
    }
    let model = world.script(&script.rule(done("T1")))?;
    let run = world
        .orchestrate(&["run", "plan.md", "--model", &model])
        .with_toolchain();
    let ran = variables
        .iter()
        .fold(run, |run, (name, value)| run.env(name, value))
        .run()?;
    if ran.code == 0 {
        // What pins versions is a high risk, so that a person lands it.
        world.types(&["land"], 0)?;
    }
    let log = world.orchestrate(&["log", "T1", "--tools"]).run()?;
    Ok((
        ran.code,
        format!("{}\n{}\n{}", ran.stdout, ran.stderr, log.stdout),
    ))
}

/// Writes the user's settings.
fn configure(world: &World, settings: &str) -> Outcome {
    let config = world.home.path().join("config/orchestrate");
    std::fs::create_dir_all(&config)?;
    Ok(std::fs::write(config.join("config.toml"), settings)?)
}

fn write(path: &str, content: &str) -> Step {
    step("write_file", json!({"path": path, "content": content}), "")
}

fn step(tool: &'static str, arguments: Value, expected: impl Into<String>) -> Step {
    (tool, arguments, expected.into())
}

fn install(package: &str, expected: impl Into<String>) -> Step {
    step("install_package", json!({"package": package}), expected)
}

fn shell(command: &str, expected: impl Into<String>) -> Step {
    step("Bash", json!({"command": command}), expected)
}

/// Runs a program of the test's own, and returns its output.
fn output(program: &str, arguments: &[&str], folder: &Path) -> Result<String, Failed> {
    let ran = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()?;
    match ran.status.success() {
        true => Ok(String::from_utf8(ran.stdout)?),
        false => fail(format!(
            "{program} {arguments:?}: {}",
            String::from_utf8_lossy(&ran.stderr)
        )),
    }
}
/// Writes a wheel, or a source that makes one by a program of its own, and prints the digest.
const MAKE_FOR_PYTHON: &str = r#"
import hashlib, io, sys, tarfile
wheel = '''
import zipfile
def wheel(path, name, text):
    with zipfile.ZipFile(path, "w") as file:
        info = name + "-1.0.dist-info/"
        file.writestr(name + ".py", text)
        file.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: " + name + "\\nVersion: 1.0\\n")
        file.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        file.writestr(info + "RECORD", "")
'''
backend = wheel + '''
def build_wheel(folder, config_settings=None, metadata_directory=None):
    wheel(folder + "/NAME-1.0-py3-none-any.whl", "NAME", "WORD = 'built'\\n")
    return "NAME-1.0-py3-none-any.whl"
'''
kind, path, name = sys.argv[1:]
if kind == "wheel":
    exec(wheel)
    wheel(path, name, "WORD = 'hello'\n")
else:
    with tarfile.open(path, "w:gz") as file:
        def add(inner, text):
            entry = tarfile.TarInfo(name + "-1.0/" + inner)
            entry.size = len(text)
            file.addfile(entry, io.BytesIO(text.encode()))
        add("PKG-INFO", "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n")
        add("pyproject.toml", "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n")
        add("backend.py", backend.replace("NAME", name))
print(hashlib.sha256(open(path, "rb").read()).hexdigest(), end="")
"#;

/// Makes a file for an index of Python, and returns its bytes and its digest.
fn file_of_python(kind: &str, name: &str) -> Result<(Vec<u8>, String), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("made");
    let script = ["-c", MAKE_FOR_PYTHON, kind, &path.to_string_lossy(), name];
    let digest = output("/usr/bin/python3", &script, folder.path())?;
    Ok((std::fs::read(path)?, digest))
}

/// Puts a page of an index whose only link is this one.
fn put_link(registry: &Registry, name: &str, link: &str) {
    let file = link
        .split('#')
        .next()
        .unwrap_or_default()
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let page = format!("<!DOCTYPE html><a href=\"{link}\">{file}</a>");
    registry.put(&format!("/simple/{name}/"), Page::Bytes(page.into_bytes()));
}

fn world_of_python(registry: &Registry) -> Result<World, Failed> {
    world(&[(
        "requirements.txt",
        &format!("--index-url {}\n", registry.url("/simple/")),
    )])
}

fn environment() -> Step {
    step(
        "create_virtual_environment",
        json!({"path": ".venv"}),
        "made the virtual environment",
    )
}

fn a_wheel_is_installed() -> Outcome {
    let registry = Registry::start()?;
    let (wheel, digest) = file_of_python("wheel", "greeting")?;
    registry.put("/files/greeting-1.0-py3-none-any.whl", Page::Bytes(wheel));
    put_link(
        &registry,
        "greeting",
        &format!("/files/greeting-1.0-py3-none-any.whl#sha256={digest}"),
    );
    let world = world_of_python(&registry)?;
    let version = json!({"package": "greeting", "version": "1.0"});
    let steps = [
        install("greeting", "make one with create_virtual_environment"),
        environment(),
        step("install_package", version, "installed: greeting 1.0"),
        install("Greeting", "Greeting is installed already"),
        shell(
            ".venv/bin/python -c 'import greeting; print(greeting.WORD)'",
            "hello",
        ),
        // As the setup of a check does, which has no network either.
        shell(
            "echo greeting==1.0 | .venv/bin/python -m pip -q install -t other -r /dev/stdin && ls other; rm -r other",
            "greeting.py",
        ),
        install(
            "greeting @ https://evil.example/",
            "is no name of a package",
        ),
        install("nowhere", "No matching distribution found for nowhere"),
    ];
    play(&world, SETTINGS, &steps)?;
    let files = world.git("ls-files")?;
    assert!(!files.contains(".venv"), "{files}");
    Ok(())
}

fn a_hostile_index() -> Outcome {
    let (registry, other) = (Registry::start()?, Registry::start()?);
    let (wheel, _) = file_of_python("wheel", "other")?;
    for name in ["forged", "liar"] {
        registry.put(
            &format!("/files/{name}-1.0-py3-none-any.whl"),
            Page::Bytes(wheel.clone()),
        );
    }
    other.put("/away-1.0-py3-none-any.whl", Page::Bytes(wheel));
    put_link(
        &registry,
        "forged",
        &format!(
            "/files/forged-1.0-py3-none-any.whl#sha256={}",
            "0".repeat(64)
        ),
    );
    put_link(&registry, "liar", "/files/liar-1.0-py3-none-any.whl");
    put_link(&registry, "swapped", "/files/liar-1.0-py3-none-any.whl");
    put_link(
        &registry,
        "away",
        &format!("http://localhost:{}/away-1.0-py3-none-any.whl", other.port),
    );
    put_link(
        &registry,
        "metadata",
        "/files/metadata-1.0-py3-none-any.whl",
    );
    let metadata = Page::Redirect("http://169.254.169.254/latest/meta-data/".to_owned());
    registry.put("/files/metadata-1.0-py3-none-any.whl", metadata);
    registry.put("/simple/endless/", Page::Endless);
    let world = world_of_python(&registry)?;
    let steps = [
        environment(),
        install("forged", "DO NOT MATCH THE HASHES"),
        install("liar", "exit code 1"),
        install("swapped", "No matching distribution found for swapped"),
        install(
            "away",
            format!("[the network refused localhost:{} ", other.port),
        ),
        install("metadata", "[the network refused 169.254.169.254 "),
        install("endless", "killed: memory limit"),
        shell(
            "ls .venv/lib/*/site-packages | grep -E 'forged|liar|swapped|other|away|endless' || echo none",
            "none",
        ),
    ];
    play(
        &world,
        &format!("{SETTINGS}[tools.code_execution]\nmemory_limit_mb = 300\n"),
        &steps,
    )?;
    assert!(other.asked().is_empty(), "{:?}", other.asked());
    Ok(())
}

fn a_source_is_built() -> Outcome {
    let registry = Registry::start()?;
    let (source, digest) = file_of_python("source", "greeting")?;
    registry.put("/files/greeting-1.0.tar.gz", Page::Bytes(source));
    put_link(
        &registry,
        "greeting",
        &format!("/files/greeting-1.0.tar.gz#sha256={digest}"),
    );
    let steps = [
        environment(),
        install(
            "greeting",
            "built from their sources, which ran their code in the sandbox",
        ),
        shell(
            ".venv/bin/python -c 'import greeting; print(greeting.WORD)'",
            "built",
        ),
    ];
    play(&world_of_python(&registry)?, SETTINGS, &steps)
}

/// No job is given such an index, and the public one would learn the name of a private package.
fn an_index_with_a_password() -> Outcome {
    let registry = Registry::start()?;
    let index = registry.url("/simple/");
    let with_password = index.replace("http://", "http://bob:pw@");
    let world = world(&[("requirements.txt", "requests\n")])?;
    let refused = "the user's `PIP_INDEX_URL` names a registry, and no job is given that setting";
    let steps = [environment(), install("greeting", refused)];
    play_with(
        &world,
        SETTINGS,
        &[("PIP_INDEX_URL", &with_password)],
        &steps,
    )?;
    assert!(registry.asked().is_empty(), "{:?}", registry.asked());
    Ok(())
}

/// When packages were published: managers may wait with new ones.
const OLD: &str = "2020-01-01T00:00:00.000Z";

/// Packs a package of npm, and puts it into the registry with this digest or its own.
fn put_package_of_npm(registry: &Registry, name: &str, forged: Option<&str>) -> Outcome {
    let folder = tempfile::tempdir()?;
    let scripts = json!({"postinstall": "echo ran > \"$INIT_CWD/ran.txt\""});
    let manifest = json!({"name": name, "version": "1.0.0", "scripts": scripts});
    std::fs::write(folder.path().join("package.json"), manifest.to_string())?;
    std::fs::write(
        folder.path().join("index.js"),
        "module.exports = 'hello';\n",
    )?;
    let packed: Value = serde_json::from_str(&output("npm", &["pack", "--json"], folder.path())?)?;
    let value = |name: &str| {
        packed
            .pointer(&format!("/0/{name}"))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let path = format!("/npm/{name}/-/{name}-1.0.0.tgz");
    registry.put(
        &path,
        Page::Bytes(std::fs::read(folder.path().join(value("filename")))?),
    );
    let dist =
        json!({"tarball": registry.url(&path), "integrity": forged.unwrap_or(value("integrity"))});
    let versions = json!({"1.0.0": {"name": name, "version": "1.0.0", "dist": dist, "hasInstallScript": true}});
    let page = json!({"name": name, "dist-tags": {"latest": "1.0.0"}, "time": {"1.0.0": OLD}, "versions": versions});
    registry.put(
        &format!("/npm/{name}"),
        Page::Bytes(page.to_string().into_bytes()),
    );
    Ok(())
}

fn npmrc(registry: &Registry) -> String {
    format!("registry={}\n", registry.url("/npm/"))
}

fn a_package_of_npm() -> Outcome {
    let registry = Registry::start()?;
    put_package_of_npm(&registry, "greeting", None)?;
    let manifest = "{\"name\": \"own\", \"version\": \"1.0.0\"}\n";
    let world = world(&[("package.json", manifest), (".npmrc", &npmrc(&registry))])?;
    let steps = [
        install(
            "greeting",
            "installed: greeting 1.0.0\nchanged: package-lock.json, package.json\n",
        ),
        shell(
            "node -e 'console.log(require(\"greeting\"))'; ls ran.txt",
            "hello\n[standard error]\nls: ",
        ),
        install("greeting/../x", "is no name of a package"),
    ];
    play(&world, SETTINGS, &steps)?;
    let (files, manifest) = (
        world.git("ls-files")?,
        world.repository.read("package.json")?,
    );
    match files.contains("node_modules") || !manifest.contains("\"greeting\"") {
        true => fail(format!("{files}\n{manifest}")),
        false => Ok(()),
    }
}

fn a_hostile_registry() -> Outcome {
    let (registry, other) = (Registry::start()?, Registry::start()?);
    put_package_of_npm(&registry, "forged", Some("sha512-AAAA"))?;
    put_package_of_npm(&registry, "greeting", None)?;
    let elsewhere = format!("http://localhost:{}/evil-1.0.0.tgz", other.port);
    let manifest = json!({"name": "own", "version": "1.0.0", "dependencies": {"evil": "^1.0.0"}});
    let lock = json!({"name": "own", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
        "": manifest, "node_modules/evil": {"version": "1.0.0", "resolved": elsewhere}}});
    let (manifest, lock) = (manifest.to_string(), serde_json::to_string_pretty(&lock)?);
    let world = world(&[
        ("package.json", &manifest),
        ("package-lock.json", &lock),
        (".npmrc", &npmrc(&registry)),
    ])?;
    let steps = [
        install(
            "forged",
            format!("[the network refused localhost:{} ", other.port),
        ),
        install(
            "greeting",
            "names hosts that belong to no registry of this project: localhost",
        ),
        shell(
            "rm package-lock.json; printf '{\"name\": \"own\", \"version\": \"1.0.0\"}' > package.json",
            "",
        ),
        install("forged", "EINTEGRITY"),
        shell(
            "ls node_modules | grep -E 'forged|evil' || echo none",
            "none",
        ),
    ];
    play(&world, SETTINGS, &steps)?;
    assert!(other.asked().is_empty(), "{:?}", other.asked());
    Ok(())
}

/// Packs a crate, and puts it into the registry with its entry in the index.
fn put_crate(registry: &Registry) -> Outcome {
    let folder = tempfile::tempdir()?;
    let manifest = "[package]\nname = \"greeting\"\nversion = \"1.0.0\"\nedition = \"2021\"\nlicense = \"MIT\"\n\
        description = \"Greets.\"\n";
    std::fs::write(folder.path().join("Cargo.toml"), manifest)?;
    std::fs::create_dir(folder.path().join("src"))?;
    std::fs::write(
        folder.path().join("src/lib.rs"),
        "pub const WORD: &str = \"hello\";\n",
    )?;
    output(
        "cargo",
        &[
            "package",
            "--no-verify",
            "--allow-dirty",
            "--offline",
            "--target-dir",
            "t",
        ],
        folder.path(),
    )?;
    let made = folder.path().join("t/package/greeting-1.0.0.crate");
    let digest = output("sha256sum", &[&made.to_string_lossy()], folder.path())?;
    let digest = digest.split_whitespace().next().unwrap_or_default();
    let (none, version) = (json!([]), "1.0.0");
    let entry = json!({"name": "greeting", "vers": version, "deps": none, "cksum": digest, "features": {}, "yanked": false});
    registry.put(
        "/index/config.json",
        Page::Bytes(json!({"dl": registry.url("/dl")}).to_string().into_bytes()),
    );
    registry.put(
        "/index/gr/ee/greeting",
        Page::Bytes(format!("{entry}\n").into_bytes()),
    );
    registry.put(
        "/dl/greeting/1.0.0/download",
        Page::Bytes(std::fs::read(made)?),
    );
    Ok(())
}

/// Returns cargo's configuration that replaces crates.io by a registry.
fn instead_of_crates_io(registry: &Registry) -> String {
    let index = registry.url("/index/");
    format!(
        "[source.crates-io]\nreplace-with = \"own\"\n[source.own]\nregistry = \"sparse+{index}\"\n"
    )
}

fn a_crate_is_added() -> Outcome {
    let registry = Registry::start()?;
    put_crate(&registry)?;
    let source = instead_of_crates_io(&registry);
    let world = world(&[
        (
            "Cargo.toml",
            "[package]\nname = \"own\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        (".cargo/config.toml", &source),
        (".gitignore", "/target\n"),
        (
            "src/main.rs",
            "fn main() {\n    println!(\"{}\", greeting::WORD);\n}\n",
        ),
    ])?;
    let steps = [
        install(
            "greeting",
            "installed: greeting 1.0.0\nchanged: Cargo.lock, Cargo.toml\n",
        ),
        shell("cargo run --quiet", "hello"),
    ];
    play(&world, SETTINGS, &steps)?;
    let files = world.git("ls-files")?;
    assert!(!files.contains(".package-cache"), "{files}");
    assert!(files.contains("Cargo.lock"), "{files}");
    Ok(())
}

/// The user is asked about a call with the manager and the hosts that it may reach, and it installs
/// once approved.
fn a_call_waits() -> Outcome {
    let registry = Registry::start()?;
    put_package_of_npm(&registry, "greeting", None)?;
    let registries = format!(
        "{}@corp:registry=https://npm.corp.example/\n",
        npmrc(&registry)
    );
    let manifest = "{\"name\": \"own\", \"version\": \"1.0.0\"}\n";
    let world = world(&[("package.json", manifest), (".npmrc", &registries)])?;
    configure(
        &world,
        "[tools.web_requests]\nallowed_domains = ['127.0.0.1']\n",
    )?;
    let asks = on("T1", 1).call("install_package", &json!({"package": "greeting"}));
    let model = world.script(&Script::default().rule(asks).rule(done("T1")))?;
    let run = world
        .orchestrate(&["run", "plan.md", "--model", &model])
        .env("ORCHESTRATE_ASK", "park");
    run.with_toolchain().run()?.exits(3)?;
    assert!(registry.asked().is_empty(), "{:?}", registry.asked());
    let status = world.types(&["status", "--json"], 0)?.json()?;
    let own = format!("127.0.0.1:{}", registry.port);
    let asked = json!({
        "package": "greeting", "manager": "npm", "registries": ["registry.npmjs.org", own],
        "closed_registries": ["npm.corp.example"], "code": "the packages' own install scripts are not run",
    });
    assert!(
        status["approvals"][0]["arguments"] == asked
            && status["approvals"][0]["rule"] == "built-in:packages",
        "{status}"
    );
    let call = status["approvals"][0]["call"].as_str().unwrap_or_default();
    let shown = world.types(&["approve", call], 2)?;
    let lines = format!(
        "package: greeting\nmanager: npm\nregistries: [\"registry.npmjs.org\",\"{own}\"]\n\
         closed_registries: [\"npm.corp.example\"]\ncode: the packages' own install scripts are not run\n"
    );
    require_words(&shown.stdout, &[&lines])?;
    let hash = shown
        .stdout
        .rsplit("hash ")
        .next()
        .unwrap_or_default()
        .trim();
    world
        .orchestrate(&["approve", call, "--hash", hash, "--follow"])
        .with_toolchain()
        .run()?
        .exits(0)?;
    require_words(
        &world.types(&["log", "T1", "--tools"], 0)?.stdout,
        &["installed: greeting 1.0.0"],
    )
}
