//! The rules of `deny.toml`, each shown to refuse a stand-in for what it names.

use libtest_mimic::Failed;
use toml::{Table, Value};

use super::sample::Sample;
use crate::architecture::{read, require_none, root};
use crate::support::{Outcome, fail};

fn rules() -> Result<String, Failed> {
    read(&root().join("deny.toml"))
}

/// Returns the output of one check of cargo-deny on a crate that depends on a stand-in of this name
/// and licence.
fn verdict(name: &str, license: &str, check: &str) -> Result<String, Failed> {
    let sample = Sample::new(&format!(
        "[dependencies]\n{name} = {{ path = \"{name}\", version = \"0.0.0\" }}\n"
    ))?;
    sample.dependency(name, "", "")?;
    sample.write("Cargo.lock", "version = 4\n")?;
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\nlicense = \"{license}\"\n"
    );
    sample.write(&format!("{name}/Cargo.toml"), &manifest)?;
    sample.write("deny.toml", &rules()?)?;
    let ran = sample.cargo(&["deny", "--offline", "check", check], root())?;
    Ok(format!("{}{}", ran.stdout, ran.stderr))
}

/// Checks that each crate under `[bans] deny` is refused for that reason, and that a harmless one
/// is not.
pub(in crate::architecture) fn every_crate_is_refused() -> Outcome {
    let harmless = verdict("harmless", "MIT", "bans")?;
    if !harmless.contains("bans ok") {
        return fail(format!("the control is refused: {harmless}"));
    }
    let rules: Table = rules()?.parse()?;
    let denied = rules["bans"]["deny"]
        .as_array()
        .ok_or("no list of denied crates")?;
    let mut let_through = Vec::new();
    for name in denied
        .iter()
        .filter_map(|entry| entry.get("crate"))
        .filter_map(Value::as_str)
    {
        let said = verdict(name, "MIT", "bans")?;
        if !said.contains(&format!(
            "error[banned]: crate '{name} = 0.0.0' is explicitly banned"
        )) {
            let_through.push(format!("{name} is let through: {said}"));
        }
    }
    require_none(&let_through)
}

/// Checks that a licence which requires more than attribution is refused for that, and that the
/// usual ones are not.
pub(in crate::architecture) fn only_permissive_licences_pass() -> Outcome {
    for (license, expected) in [
        ("MIT OR Apache-2.0", "licenses ok"),
        ("GPL-3.0-only", "licenses FAILED"),
        ("LGPL-2.1-or-later", "licenses FAILED"),
        ("MPL-2.0", "licenses FAILED"),
        ("BUSL-1.1", "licenses FAILED"),
    ] {
        let said = verdict("stranger", license, "licenses")?;
        if !said.contains(expected) {
            return fail(format!("{license} is not `{expected}`: {said}"));
        }
    }
    Ok(())
}
