# The commands of this repository. `just` lists them; each also works without just.

# The documentation must not have warnings.
export RUSTDOCFLAGS := "-D warnings"

default:
    @just --list --unsorted

# Checks format, lints, docs and dependencies and runs the tests: has to pass before every commit.
ci: fmt-check clippy doc deny test

# Formats the sources.
fmt:
    cargo fmt --all

# Fails if the sources are not formatted.
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

# Checks for known vulnerabilities, which needs the network.
advisories:
    cargo deny check advisories

# Runs the tests, for root with their files in memory; those whose external tool is missing are shown as ignored.
test *ARGS:
    .ci/in-memory cargo test {{ARGS}}

# Runs the tests, and fails if an external tool is missing.
test-all *ARGS:
    ORCHESTRATE_REQUIRE=all .ci/in-memory cargo test {{ARGS}}

# Runs the tests of the whole program one at a time, and prints the 40 slowest with their time and CPU time.
durations *ARGS:
    ORCHESTRATE_DURATIONS=40 cargo test --test orchestrate {{ARGS}} -- --test-threads=1

# Packs every crate as it would be published, and builds a program against what was packed.
packages:
    .ci/packages

# Builds the packages for this machine, or for TARGETS such as x86_64-unknown-linux-gnu, into target/dist/packages.
dist *TARGETS:
    .dist/build {{TARGETS}}

# Writes docs/markers.md, the markers, from the type.
markers:
    ORCHESTRATE_MARKERS=write cargo test -p orchestrate-core marker

# Writes docs/tools.md, the reference of the tools, from the tools.
tools-docs:
    ORCHESTRATE_TOOLS_PAGE=write cargo test -p orchestrate-tools the_page_of_the_tools

# Writes docs/settings.md, every setting, from their table.
settings-docs:
    ORCHESTRATE_SETTINGS_PAGE=write cargo test --test orchestrate the_page_of_the_settings

# Writes docs/plans.md, the formats of plans, from their table.
plan-formats:
    ORCHESTRATE_PLANS_PAGE=write cargo test -p orchestrate-plan the_page_of_the_formats

# Builds the book of docs/ in target/book; needs mdBook.
book:
    mdbook build docs

# Writes what `check --json` prints of a plan in each style, from the program.
plan-styles:
    UPDATE_EXPECT=1 cargo test --test orchestrate plan_styles

# Writes crates/library/interface.txt, the public interface of the library, from its sources.
interface:
    UPDATE_EXPECT=1 cargo test --test orchestrate library_has_the_listed_interface

# Runs the long form of the kill test: SIGKILL before and after each durable append of plans, trees and what follows them,
# and at 100 random instants of 40 agents; and a full disk at each fact of a tree.
kill:
    ORCHESTRATE_KILL=all cargo test --test orchestrate kill

# Cleans and discards worktrees with 200,000 folders, and prints for how long that keeps the prompt.
folders:
    ORCHESTRATE_FOLDERS=all cargo test --release --test orchestrate a_worktree_of_many_folders

# Plays 10,000 whole runs of random trees in one process, without clock or IO.
simulate:
    ORCHESTRATE_SIMULATION=all cargo test --release -p orchestrate-core --test simulation

# Makes maps of 10,000 random repositories, none of which may be over its budget.
maps:
    ORCHESTRATE_MAPS=all cargo test --release -p orchestrate-coordinator --lib no_map_is_over_its_budget

# Tries every attack, as root and as an ordinary user in each tier, and runs the other tests that the catalogue of attacks
# names; prints what holds and which controls trip.
hostile:
    ORCHESTRATE_HOSTILE=all cargo test -q --test orchestrate table_of_attacks
    ORCHESTRATE_HOSTILE=all cargo test -q --test orchestrate crafted_files_cost
    ORCHESTRATE_HOSTILE=all cargo test -q -p orchestrate-code -p orchestrate-html --test memory
    ORCHESTRATE_HOSTILE=all cargo test -q -p orchestrate-tools --test suite hostile::swapped

# Tests control groups in an emulated machine that boots this Linux image, as root and as an ordinary user.
cgroups KERNEL *TESTS:
    cargo test -p orchestrate-sandbox --test canaries --no-run
    crates/sandbox/tests/cgroups.sh {{KERNEL}} {{TESTS}}

# Follows users of public projects (cargo, Python, npm, pnpm, C, Go, Java, a submodule with Git LFS) in each tier; needs the
# network and their tools.
field:
    ORCHESTRATE_FIELD=all cargo test --test orchestrate field::

# Measures the figures against their limits (`just bench --check` fails on a miss); names of groups select only those.
bench *ARGS:
    cargo bench --bench figures -- {{ARGS}}

# Runs the demonstration of the README.
demo *ARGS:
    cargo run -p orchestrate -- demo {{ARGS}}

# Repeats the walk-throughs of examples/real-input, examples/goal and examples/own-project and records their output.
record:
    ORCHESTRATE_RECORD=all cargo test --test orchestrate real_input::this_project_is_changed_checked_reviewed_and_landed
    ORCHESTRATE_RECORD=all cargo test --test orchestrate field::the_first_plan_on_a_project_is_as_shown
    ORCHESTRATE_RECORD=all cargo test --test orchestrate real_input::a_goal_is_divided_reviewed_and_landed
