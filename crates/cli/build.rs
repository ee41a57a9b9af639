//! Links the unoptimised program at a fixed address.
//!
//! It has 300,000 relocations otherwise, which cost ten milliseconds at each of the many starts
//! that tests make. What users install keeps its random address.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=crates/cli/build.rs");
    if is_set("PROFILE", "debug")
        && is_set("CARGO_CFG_TARGET_OS", "linux")
        && is_set("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a build script is told by the environment what is built"
)]
fn is_set(name: &str, value: &str) -> bool {
    env::var(name).is_ok_and(|set| set == value)
}
