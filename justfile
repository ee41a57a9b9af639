# The commands of this repository. `just` lists them; each can be typed without just as well.

# Everything that `.ci/run` checks apart from installing tools.
export RUSTDOCFLAGS := "-D warnings"

default:
    @just --list --unsorted

# Format, lints, docs, dependencies and tests: green before every commit.
ci: fmt-check clippy doc deny test

# Formats the sources.
fmt:
    cargo fmt --all

# Fails where the sources are not formatted.
fmt-check:
    cargo fmt --all --check

# Runs the lints with warnings denied.
clippy:
    cargo clippy --workspace --all-targets -- -D warnings

# Builds the docs with warnings denied.
doc:
    cargo doc --workspace --no-deps

# Checks bans, licences and sources of dependencies.
deny:
    cargo deny check bans licenses sources

# Checks known vulnerabilities too, which needs the network.
advisories:
    cargo deny check advisories

# Runs every test; those whose outside tool is absent are shown as ignored.
test *ARGS:
    cargo test {{ARGS}}

# Runs every test and fails where an outside tool is absent.
test-all *ARGS:
    ORCHESTRATE_REQUIRE=all cargo test {{ARGS}}

# Writes docs/events.json, the schema of the facts, from the type.
events:
    ORCHESTRATE_EVENTS=write cargo test -p orchestrate-core event_schema

# The long form of the kill test: a SIGKILL before and after each durable append, of plans and of what follows them.
kill:
    ORCHESTRATE_KILL=all cargo test --test orchestrate kill

# Tries every attack, as root and as an ordinary user and in each tier, and prints what holds and which controls trip.
hostile:
    ORCHESTRATE_HOSTILE=all cargo test -q --test orchestrate table_of_attacks

# Measures the figures against their limits (`just bench --check` fails on a miss); names of groups leave out the others.
bench *ARGS:
    cargo bench --bench figures -- {{ARGS}}

# Runs the demonstration of the README.
demo *ARGS:
    cargo run --release -p orchestrate -- demo {{ARGS}}

# Walks through examples/real-input once more and writes down what it printed.
record:
    ORCHESTRATE_RECORD=all cargo test --test orchestrate real_input::this_project_is_changed_checked_reviewed_and_landed
