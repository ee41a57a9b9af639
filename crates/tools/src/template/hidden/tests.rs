use crate::template::CommandTemplate;

const HIDES: &str = "the template hides";
const OPEN: &str = "the program must be fixed";

/// Requires that each template is refused for this reason.
fn refused(reason: &str, templates: &[&str]) {
    for template in templates {
        match CommandTemplate::parse(template, &["arguments", "a"]) {
            Err(said) => assert!(said.contains(reason), "{template}: {said}"),
            Ok(_) => panic!("{template} is taken"),
        }
    }
}

/// Requires that each template is taken.
fn taken(templates: &[&str]) {
    for template in templates {
        let parsed = CommandTemplate::parse(template, &["arguments", "a"]);
        assert!(parsed.is_ok(), "{template}: {parsed:?}");
    }
}

#[test]
fn a_hidden_shell_or_interpreter_is_found() {
    refused(
        HIDES,
        &[
            "sh -c {arguments}",
            "/bin/sh -c {ARGS}",
            "bash -lc '{arguments}'",
            "sh -c 'exec \"$@\"' x {arguments}",
            "sh {arguments}",
            "env A=1 sh -c {arguments}",
            "timeout 5 bash -c {arguments}",
            "busybox sh -c {arguments}",
            "find . -exec sh -c {arguments} ';'",
            "python3.12 -c {arguments}",
            "perl -e {arguments}",
            "node {arguments}",
            "awk {a} file",
            "deno eval {a}",
            "bun run {a}",
            "python3 -m timeit {arguments}",
            "fish --command='eval $argv' x {arguments}",
        ],
    );
    // The control: the same programs are taken where what they run is fixed, or is no shell.
    taken(&[
        "sh scripts/release.sh {arguments}",
        "env A=1 sort {arguments}",
        "timeout 5 make {arguments}",
        "find . -exec wc -l {} +",
        "python3 -m json.tool {arguments}",
        "node --max-old-space-size=4096 build.js {arguments}",
        "awk '{print $1}' {arguments}",
        "deno run main.ts {arguments}",
    ]);
}

#[test]
fn the_value_of_an_option_hides_neither_shell_nor_code() {
    refused(
        HIDES,
        &[
            "env -u FOO sh -c {arguments}",
            "env -S \"sh -c\" {arguments}",
            "env --split-string='sh -c' {arguments}",
            "env -C sub bash {arguments}",
            "timeout -s KILL 5 bash -c {arguments}",
            "timeout -k 5 30 sh {arguments}",
            "nice -n 5 sh -c {arguments}",
            "sudo -u me sh -c {arguments}",
            "stdbuf -o L sh -c {arguments}",
            "setsid -w sh {arguments}",
            "xargs -0 sh -c {arguments}",
            "xargs -I x {arguments}",
            "nohup timeout --signal=KILL 5 bash -c {arguments}",
            "find . -exec env -u A sh {a} ';'",
            "python3 -W ignore -c {arguments}",
            "python3 -X dev {arguments}",
            "bash --rcfile x -o posix {arguments}",
            "bash -o posix {arguments}",
            "sh +x {arguments}",
            "perl -I lib -e {arguments}",
            "node --eval={a} x.js",
            "ruby -r json {arguments}",
        ],
    );
}

#[test]
fn programs_that_hand_their_words_to_a_shell_take_no_arguments() {
    refused(
        HIDES,
        &[
            "script -c {a}",
            "script out.txt --command {a}",
            "ssh host {arguments}",
            "watch ls {arguments}",
            "nohup watch -x ls {a}",
            "parallel wc {arguments}",
            "su -c {a}",
            "git -c alias.x={a} x",
            "git -c alias.x='!sh -c' x {arguments}",
            "git --config-env=alias.x={a} x",
            "git --exec-path={a} log",
            "git -C sub -c core.pager=cat log {arguments}",
            "git rebase -x {a} main",
            "git rebase --exec={a} main",
            "git submodule foreach {a}",
            "git filter-branch {arguments}",
            "git bisect run sh -c {a}",
            "docker exec web sh -c {a}",
            "foo --run='/bin/bash -c' {arguments}",
            "uv run --python 3 python -c {a}",
            "uv run python -c {a}",
            "npx --yes node -e {a}",
            "fd x --exec {a}",
            "tar --to-command={a} -xf x.tar",
        ],
    );
}

#[test]
fn the_program_is_not_an_argument() {
    let templates = [
        "env {arguments}",
        "env A={a} ls",
        "nohup nice {arguments}",
        "timeout 5 {arguments}",
        "find . -exec {arguments}",
        "git bisect run {a}",
        "npx {arguments}",
        "poetry run {arguments}",
        "npm exec -- {arguments}",
    ];
    refused(OPEN, &templates);
}

#[test]
fn plain_commands_are_taken() {
    taken(&[
        "find {arguments} -type f",
        "find . -exec wc -l {} +",
        "grep {arguments}",
        "grep -c sh {arguments}",
        "grep -e {a} src",
        "head -c {a} file",
        "ls {arguments}",
        "cargo {arguments}",
        "cargo test --test {a}",
        "make -C {a}",
        "sh scripts/release.sh {arguments}",
        "bash scripts/release.sh -v {arguments}",
        "python3 -m json.tool {arguments}",
        "python3 scripts/count.py --all {arguments}",
        "uv run python -m pytest {arguments}",
        "node --max-old-space-size=4096 build.js {arguments}",
        "deno run main.ts {arguments}",
        "awk '{print $1}' {arguments}",
        "env LC_ALL=C sort {arguments}",
        "timeout 30 make {arguments}",
        "timeout --signal=KILL 30 make {arguments}",
        "nice make {arguments}",
        "npm exec -- prettier {arguments}",
        "npx prettier {arguments}",
        "git {arguments}",
        "git log -c {arguments}",
        "git --no-pager -C {a} log -x",
        "git clean -x {arguments}",
        "git bisect run make {arguments}",
        // Nothing of theirs is an argument.
        "sh -c 'date; id'",
        "env -u FOO sh -c date",
        "git -c alias.x='!date' x",
    ]);
}
