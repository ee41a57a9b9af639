//! Go: a module proxy in the layout of <https://go.dev/ref/mod#goproxy-protocol>, named by the
//! user's own `GOPROXY`.
//!
//! Go asks no proxy for `localhost` and for addresses of the loopback interface, so its name ends
//! with a dot here.

use libtest_mimic::Failed;

use super::{Page, Registry, Step, full, install, output, play_with, shell, world};
use crate::support::{Case, Need, Outcome, World};

const GO: Need = Need::new("go", "apt install golang-go", || {
    Need::starts("go", &["version"])
});
/// The module proxy is none that the project or the tool knows, so a rule names it.
const SETTINGS: &str = "allow = ['install_package', 'install_package(domain:localhost)']\n";

pub(super) fn cases() -> Vec<Case> {
    let cases = [
        full(
            "a_module_of_go_is_added_and_built_without_the_network",
            a_module_is_added,
        ),
        full("a_hostile_module_proxy_installs_nothing", a_hostile_proxy),
    ];
    cases
        .into_iter()
        .map(|case| case.needs(GO).needs(Need::PYTHON))
        .collect()
}

const ZIP: &str = r#"
import sys, zipfile
path, name = sys.argv[1:]
with zipfile.ZipFile(path, "w") as file:
    file.writestr(name + "@v1.0.0/go.mod", "module " + name + "\n")
    file.writestr(name + "@v1.0.0/greeting.go", "package greeting\n\nconst Word = \"hello\"\n")
"#;

/// Puts a module at a name, which says that it is another one if that is given.
fn put_module(registry: &Registry, name: &str, declares: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("made.zip");
    output(
        "/usr/bin/python3",
        &["-c", ZIP, &path.to_string_lossy(), name],
        folder.path(),
    )?;
    let put = |file: &str, bytes: Vec<u8>| {
        registry.put(&format!("/go/{name}/@v/{file}"), Page::Bytes(bytes))
    };
    put("list", b"v1.0.0\n".to_vec());
    put(
        "v1.0.0.info",
        b"{\"Version\": \"v1.0.0\", \"Time\": \"2026-01-01T00:00:00Z\"}".to_vec(),
    );
    put("v1.0.0.mod", format!("module {declares}\n").into_bytes());
    put("v1.0.0.zip", std::fs::read(path)?);
    Ok(())
}

fn address(registry: &Registry) -> String {
    format!("http://localhost.:{}/go", registry.port)
}

/// Plays with the user's settings for modules: this proxy, and, as for modules that no database of
/// sums knows, none.
fn play(world: &World, proxy: &str, steps: &[Step]) -> Outcome {
    play_with(
        world,
        SETTINGS,
        &[("GOPROXY", proxy), ("GOSUMDB", "off")],
        steps,
    )
}

fn world_of_go(sums: &str) -> Result<World, Failed> {
    let main = "package main\n\nimport (\n\t\"fmt\"\n\n\t\"a.example/greeting\"\n)\n\n\
        func main() { fmt.Println(greeting.Word) }\n";
    world(&[
        ("go.mod", "module own.example/own\n\ngo 1.19\n"),
        ("go.sum", sums),
        ("main.go", main),
    ])
}

fn a_module_is_added() -> Outcome {
    let registry = Registry::start()?;
    put_module(&registry, "a.example/greeting", "a.example/greeting")?;
    let world = world_of_go("")?;
    let steps = [
        install(
            "a.example/greeting",
            "installed: a.example/greeting v1.0.0\nchanged: go.mod, go.sum\n",
        ),
        shell("go run .", "hello"),
        install(
            "a.example/greeting",
            "a.example/greeting is installed already",
        ),
    ];
    play(&world, &address(&registry), &steps)?;
    let files = world.git("ls-files")?;
    assert!(!files.contains(".package-cache"), "{files}");
    assert!(files.contains("go.sum"), "{files}");
    Ok(())
}

fn a_hostile_proxy() -> Outcome {
    let registry = Registry::start()?;
    put_module(&registry, "a.example/greeting", "a.example/greeting")?;
    put_module(&registry, "a.example/liar", "a.example/other")?;
    put_module(&registry, "a.example/metadata", "a.example/metadata")?;
    let redirect = Page::Redirect("http://169.254.169.254/latest/meta-data/".to_owned());
    registry.put("/go/a.example/metadata/@v/v1.0.0.zip", redirect);
    put_module(&registry, "a.example/away", "a.example/away")?;
    let away = Page::Redirect("http://away.example/away.zip".to_owned());
    registry.put("/go/a.example/away/@v/v1.0.0.zip", away);
    let sums = format!("a.example/greeting v1.0.0 h1:{}=\n", "A".repeat(43));
    let world = world_of_go(&sums)?;
    let steps = [
        install("a.example/greeting", "SECURITY ERROR"),
        install(
            "a.example/liar",
            "module declares its path as: a.example/other",
        ),
        install(
            "a.example/metadata",
            "[the network refused 169.254.169.254 ",
        ),
        install("a.example/away", "[the network refused away.example"),
        install("b.example/direct", "[the network refused b.example"),
        shell("git diff --quiet go.mod && echo unchanged", "unchanged"),
    ];
    play(&world, &format!("{},direct", address(&registry)), &steps)
}
