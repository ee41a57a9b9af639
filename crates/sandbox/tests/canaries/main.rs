//! The claims of each tier, as canaries.

fn main() {
    orchestrate_sandbox::run_helper_if_asked();
}
