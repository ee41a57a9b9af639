//! uv: a project with a lock file, and a virtual environment that uv fills instead of pip.

use super::{
    Page, Registry, SETTINGS, file_of_python, full, install, play, put_link, shell, world,
};
use crate::support::{Case, Need, Outcome, World};

const UV: Need = Need::new("uv", "pip install uv", || {
    Need::starts("uv", &["--version"])
});

pub(super) fn cases() -> Vec<Case> {
    let cases = [
        full("uv_adds_a_package_to_its_project", a_package_is_added),
        full("a_hostile_index_gives_uv_nothing", a_hostile_index),
        full(
            "a_lock_file_of_uv_that_points_elsewhere_leads_nowhere",
            a_lock_file_points_elsewhere,
        ),
    ];
    cases
        .into_iter()
        .map(|case| case.needs(UV).needs(Need::PYTHON))
        .collect()
}

/// The manifest of a project of uv whose only index is this one.
fn manifest(registry: &Registry, dependencies: &str) -> String {
    format!(
        "[project]\nname = \"own\"\nversion = \"0.1.0\"\nrequires-python = \">=3.8\"\ndependencies = [{dependencies}]\n\n\
         [[tool.uv.index]]\nurl = \"{}\"\ndefault = true\n",
        registry.url("/simple/")
    )
}

fn put_greeting(registry: &Registry) -> Result<String, libtest_mimic::Failed> {
    let (wheel, digest) = file_of_python("wheel", "greeting")?;
    registry.put("/files/greeting-1.0-py3-none-any.whl", Page::Bytes(wheel));
    put_link(
        registry,
        "greeting",
        &format!("/files/greeting-1.0-py3-none-any.whl#sha256={digest}"),
    );
    Ok(digest)
}

fn require_kept_out(world: &World) -> Outcome {
    let files = world.git("ls-files")?;
    let is_right =
        files.contains("uv.lock") && !files.contains(".venv") && !files.contains(".cache");
    assert!(is_right, "{files}");
    Ok(())
}

fn a_package_is_added() -> Outcome {
    let registry = Registry::start()?;
    put_greeting(&registry)?;
    let world = world(&[("pyproject.toml", &manifest(&registry, ""))])?;
    let steps = [
        install(
            "greeting",
            "installed: greeting 1.0\nchanged: pyproject.toml, uv.lock\n",
        ),
        shell(
            ".venv/bin/python -c 'import greeting; print(greeting.WORD)'",
            "hello",
        ),
        install("greeting", "greeting is installed already"),
        install("nowhere", "nowhere was not found in the package registry"),
    ];
    play(&world, SETTINGS, &steps)?;
    require_kept_out(&world)
}

fn a_hostile_index() -> Outcome {
    let (registry, other) = (Registry::start()?, Registry::start()?);
    let (wheel, _) = file_of_python("wheel", "other")?;
    registry.put(
        "/files/liar-1.0-py3-none-any.whl",
        Page::Bytes(wheel.clone()),
    );
    registry.put(
        "/files/forged-1.0-py3-none-any.whl",
        Page::Bytes(file_of_python("wheel", "forged")?.0),
    );
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
    let world = world(&[("pyproject.toml", &manifest(&registry, ""))])?;
    let steps = [
        install("forged", "Hash mismatch"),
        install("liar", "has an invalid package format"),
        install(
            "away",
            format!("[the network refused localhost:{} ", other.port),
        ),
        install("metadata", "[the network refused 169.254.169.254 "),
        shell(
            "ls .venv/lib/*/site-packages | grep -E 'forged|liar|other|away' || echo none",
            "none",
        ),
        shell("git status --porcelain", ""),
    ];
    play(&world, SETTINGS, &steps)?;
    assert!(other.asked().is_empty(), "{:?}", other.asked());
    Ok(())
}

fn a_lock_file_points_elsewhere() -> Outcome {
    let (registry, other) = (Registry::start()?, Registry::start()?);
    put_greeting(&registry)?;
    let elsewhere = format!("http://localhost:{}/evil-1.0-py3-none-any.whl", other.port);
    put_link(&registry, "evil", &elsewhere);
    let lock = format!(
        "version = 1\nrequires-python = \">=3.8\"\n\n[[package]]\nname = \"evil\"\nversion = \"1.0\"\n\
         source = {{ registry = \"{0}\" }}\nwheels = [\n    {{ url = \"{elsewhere}\", hash = \"sha256:{1}\" }},\n]\n\n\
         [[package]]\nname = \"own\"\nversion = \"0.1.0\"\nsource = {{ virtual = \".\" }}\n\
         dependencies = [{{ name = \"evil\" }}]\n\n[package.metadata]\nrequires-dist = [{{ name = \"evil\" }}]\n",
        registry.url("/simple/"),
        "0".repeat(64)
    );
    let world = world(&[
        ("pyproject.toml", &manifest(&registry, "\"evil\"")),
        ("uv.lock", &lock),
    ])?;
    let steps = [
        install(
            "greeting",
            format!("[the network refused localhost:{} ", other.port),
        ),
        shell(
            "ls .venv/lib/*/site-packages | grep -E 'evil' || echo none",
            "none",
        ),
    ];
    play(&world, SETTINGS, &steps)?;
    assert!(other.asked().is_empty(), "{:?}", other.asked());
    Ok(())
}
