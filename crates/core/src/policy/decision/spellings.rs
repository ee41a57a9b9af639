//! Spellings of one denied command that a rule about it has to find, and innocent lines that it has
//! to leave alone.

use proptest::prelude::*;

use super::tests::tool_names;
use super::*;

fn denies(rule: &str, command: &str) -> bool {
    let rule = RuleText::new(RuleDecision::Deny, rule, "--deny");
    let policy = Policy::new(&[rule], &tool_names()).unwrap();
    let targets = [Target::Shell(command.to_owned())];
    let (tool, permission) = ("run_shell_command", Permission::CodeExecution);
    let question = Question {
        tool,
        permission,
        access: Access::Own,
        targets: &targets,
    };
    matches!(
        policy.decide(&Grant::of_tools(["run_shell_command"]), &question),
        Decision::Deny { .. }
    )
}

/// What runs `git push` in a shell, or may.
const PUSHES: &[&str] = &[
    // As it is, with what may stand before and behind.
    "git push",
    "  git   push  origin main",
    "git\tpush",
    "git push;",
    "git push &",
    "git push >log 2>&1",
    ">log git push",
    "2>/dev/null git push",
    "</dev/null git push",
    "git push # now",
    // Operators.
    "cargo test && git push",
    "cargo test || git push",
    "cargo test; git push",
    "cargo test & git push",
    "echo y | git push",
    "echo y |& git push",
    "cargo test\ngit push",
    "cargo test \\\n&& git push",
    "a && b || c && { d; git push; }",
    // Words of the shell.
    "if true; then git push; fi",
    "if git push; then :; fi",
    "if false; then :; elif git push; then :; fi",
    "if false; then :; else git push; fi",
    "while git push; do :; done",
    "until git push; do sleep 1; done",
    "for i in 1; do git push; done",
    "case x in x) git push;; esac",
    "case x in (x) git push;; esac",
    "! git push",
    "time git push",
    "time -p git push",
    "coproc git push",
    "[ -d . ] && git push",
    "[[ -d . ]] && git push",
    "((1)) && git push",
    // Groups, functions, substitutions.
    "(git push)",
    "(cd x && (git push))",
    "{ git push; }",
    "f() { git push; }; f",
    "function f { git push; }; f",
    "g() { git \"$@\"; }; g push",
    "echo $(git push)",
    "echo \"$(git push)\"",
    "echo \"a $(echo \"$(git push)\")\"",
    "echo `git push`",
    "echo \"`git push`\"",
    "x=$(git push)",
    "echo ${x:-$(git push)}",
    "diff <(git push) /dev/null",
    "tee >(git push)",
    "cat <<EOF\n$(git push)\nEOF",
    "cat <<'EOF'\ndon't\nEOF\ngit push",
    "cat <<-EOF\n\tit's\n\tEOF\ngit push",
    // Quotes and escapes.
    "'git' push",
    "\"git\" \"push\"",
    "g'i't pu\"sh\"",
    "gi\"\"t push",
    "\\git push",
    "g\\it pu\\sh",
    "git \\\n  push",
    "gi\\\nt push",
    "$'git' push",
    "$'\\x67it' push",
    "git $'\\160ush'",
    "$'\\u0067it' push",
    "$\"git\" push",
    // Variables and patterns.
    "git${IFS}push",
    "git$IFS$9push",
    "g=git; $g push",
    "p=push; git $p",
    "p=push git $p",
    "git ${p:-push}",
    "a=(git push); \"${a[@]}\"",
    "x='git push'; $x",
    "git pu?h",
    "git pus*",
    "/usr/bin/g?t push",
    "/usr/bin/g[i]t push",
    "{git,push}",
    "git {push,}",
    "git {--quiet,push}",
    "git $(echo push)",
    "git `echo push`",
    "$(which git) push",
    "set -- git push; \"$@\"",
    "alias g=git; g push",
    // Another name of the program, and its options.
    "/usr/bin/git push",
    "../../usr/bin/git push",
    "~/bin/git push",
    "git -C . push",
    "git -C \"$dir\" push",
    "git -c user.name=x push",
    "git --git-dir .git push",
    "git --git-dir=.git --work-tree=. push",
    "git --no-pager -C sub push -f",
    "git -c alias.p=push p",
    "git config alias.p push && git p",
    "git submodule foreach git push",
    "git submodule foreach 'git push'",
    "git rebase -x 'git push' main",
    "git rebase --exec='git push' main",
    "git bisect run git push",
    // Programs that run others.
    "A=1 B=2 git push",
    "env git push",
    "env -i PATH=/bin git push",
    "env -u X git push",
    "env -S 'git push'",
    "command git push",
    "command -p git push",
    "builtin command git push",
    "exec git push",
    "exec -a x git push",
    "nohup git push &",
    "setsid -w git push",
    "nice git push",
    "nice -n 5 git push",
    "ionice -c 3 git push",
    "timeout 5 git push",
    "timeout -s KILL 5s git push",
    "timeout --signal=KILL 5 git push",
    "stdbuf -oL git push",
    "flock /tmp/lock git push",
    "sudo -u bob git push",
    "env nohup timeout 5 nice git push",
    "busybox sh -c 'git push'",
    "strace -f -o out git push",
    "xargs git push </dev/null",
    "echo push | xargs git",
    "echo origin | xargs -I{} git push {}",
    "echo git push | xargs -n2 env",
    "echo 'git push' | xargs -I{} sh -c {}",
    "echo x | parallel git push",
    "find . -maxdepth 0 -exec git push \\;",
    "find . -execdir git push {} +",
    "find . -exec sh -c 'git push' \\;",
    "watch -n1 git push",
    "watch 'git push'",
    "ssh host git push",
    "su -c 'git push'",
    "script -c 'git push' /dev/null",
    "docker run -v /a:/b image git push",
    "trap 'git push' EXIT",
    "eval git push",
    "eval 'git push'",
    "eval \"git\" \"push\"",
    "eval \"$(echo git push)\"",
    "x='git push'; eval \"$x\"",
    // Shells and other languages.
    "sh -c 'git push'",
    "bash -lc \"cd x && git push\"",
    "bash -c 'sh -c \"git push\"'",
    "/bin/sh -ec 'git push'",
    "sh -c \"$x\" git push",
    "sh -c '\"$@\"' sh git push",
    "sh -c 'git \"$0\"' push",
    "sh <<EOF\ngit push\nEOF",
    "bash <<< 'git push'",
    "echo 'git push' | sh",
    "echo 'git push' | bash -s",
    "printf 'git %s' push | sh -",
    "source <(echo git push)",
    ". /dev/stdin <<< 'git push'",
    "bash <(echo git push)",
    "echo git push > x.sh; sh x.sh",
    "echo git push > x.sh && chmod +x x.sh && ./x.sh",
    "cat > x.sh <<'EOF'\ngit push\nEOF\nbash ./x.sh",
    "python3 -c \"import subprocess; subprocess.run(['git', 'push'])\"",
    "python3 - <<EOF\nimport os\nos.system('git push')\nEOF",
    "perl -e 'system(\"git push\")'",
    "node -e 'require(\"child_process\").execSync(\"git push\")'",
    "awk 'BEGIN { system(\"git push\") }'",
];

/// What looks like text to a reader that knows only some programs, only some options, or only most
/// of the syntax.
const HIDDEN_PUSHES: &[&str] = &[
    // What the shell reads otherwise than it seems.
    "echo $((1<<2))\ngit push",
    "echo $[1<<2]\ngit push",
    "((x=1<<2))\ngit push",
    "a[1<<x ]=3\ngit push\nx",
    "cat <<$x\nhello\n$x\ngit push",
    "cat <<*\nfoo\n*\ngit push",
    "cat <<EOF\nEO\\\nF\ngit push\nEOF",
    "cat <<EOF\r\nx\nEOF\r\ngit push\nEOF",
    "echo ${x:-'}'}; git push; echo \\'",
    "echo ${x:-\"{\"}; git push; echo }",
    "echo \"${x:-\"'\"}\"; git push; echo \"'\"",
    "echo `echo \\`git push\\``",
    "set -- x; for i do git push; done",
    "for x in git; do $x push; done",
    "for PATH in .; do ls git push; done",
    "select i in a; do git push; done",
    "ls() { git \"$@\"; }; ls push",
    "alias ls=git\nls push",
    "hash -p /usr/bin/git ls; ls push",
    "alias echo=git\necho push",
    "eval 'alias ec''ho=git'\necho push",
    "eval 'alias $(base64 -d x)=git'\necho push",
    "make | tee x.sh; echo git push",
    "make && echo git push | sh",
    "make && echo git push > x.sh",
    "test -v 'a[$(git push)]'",
    "printf -v 'a[$(git push)]' x",
    // Options that hold a command, joined to their letters or not.
    "env -S'git push'",
    "env -Sgit\\ push",
    "env --split-string='git push'",
    "env -iS 'git push'",
    "flock /tmp/l -c 'git push'",
    "script -qec'git push' /dev/null",
    "script -qecg\"i\"t\\ push /dev/null",
    "git grep -O'git push #' hi",
    "git grep -nO'git push #' hi",
    "git grep --open-files='git push #' hi",
    "git filter-branch -f --index-filter 'git push' HEAD",
    "git rebase -ix 'git push' main",
    "git rebase --exe 'git push' main",
    "git fetch --upload-pack 'git push #' .",
    "git fetch 'ext::git push'",
    "git difftool -y -x 'git push #'",
    "git -c core.editor='git push #' commit --amend",
    "git config core.editor 'git push #'; git commit --amend",
    "rg --pre 'git push' x",
    "sort --compress-program='git push' f",
    "sort --comp 'git push' f",
    "find . -okdir git push ';'",
    "split --filter='git push' f",
    "tar cf x --checkpoint-action=exec='git push' f",
    "tar cf x -I 'git push' f",
    "rsync -e 'git push' a b:",
    "cargo test --config 'target.x.runner=[\"git\",\"push\"]'",
    "go test -exec 'git push' ./...",
    "npm exec -- git push",
    "npm run env -- git push",
    "npm --script-shell='git push' test",
    // Programs that are not listed.
    "linux64 git push",
    "x86_64 git push",
    "ssh-agent git push",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
    "eatmydata git push",
    "./ls git push",
    "whatever --flag git push",
    "timeout 5 g?t push",
    "whatever git $x",
    // What programs read as commands.
    "make --eval='x:;git push'",
    "printf 'x:;git push' | make -f -",
    "printf 'x:\\n\\tgit push' | make -f -",
    "sed -n '1e git push' f",
    "sed 's/.*/git push/e' f",
    "echo 'git push' | sed e",
    "echo '1e git push' | sed -f - f",
    "echo 'BEGIN { system(\"git push\") }' | awk -f -",
    "vim -es -c '!git push'",
    "gdb -batch -ex 'shell git push'",
    "sqlite3 :memory: '.shell git push'",
    "echo '!git push' | ed",
    "bash <<'EOF'\n$'\\x67it' push\nEOF",
    "bash -c \"\\$'\\\\x67it' push\"",
    "bash <<< \"\\$'\\\\x67it' push\"",
    "echo \"\\$'\\\\x67it' push\" | sh",
    // The environment.
    "GIT_EDITOR='git push #' git commit --amend",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p",
    "export GIT_EDITOR='git push #'; git commit --amend",
    "PAGER='git push' git log",
    "echo git push > x.sh; BASH_ENV=x.sh bash -c :",
    // Files.
    "echo git push | tee x.sh; sh x.sh",
    "echo git push > $PWD/x.sh; sh x.sh",
    "echo git push > .git/hooks/post-commit; git commit -m x",
    "echo '[alias] p = push' >> .git/config; git p",
    "echo 'git push' > build.rs; cargo build",
    "git commit -m 'git push'; git log -1 --format=%B | sh",
    "git commit -m 'git push'; sh .git/COMMIT_EDITMSG",
    "touch 'git push'; ls | sh",
    "exec > x.sh; echo git push; sh x.sh",
    "ln -s /usr/bin/git g; ./g push",
    "cp /usr/bin/git g && ./g push",
    "cp $(command -v git) g; ./g push",
    "install -m 755 /usr/bin/git g; ./g push",
    "cp /usr/bin/git /usr/local/bin/ls; ls push",
];

/// Commands that a rule against `git push` does not mean.
const INNOCENT: &[&str] = &[
    "git status",
    "git commit -m 'Push the button'",
    "git commit -m \"Say when to git push; and how\"",
    "git commit -m \"$message\"",
    "git log --grep push",
    "git --no-pager log --grep push",
    "git log --oneline $(git merge-base main HEAD)..HEAD",
    "git -C \"$dir\" status",
    "git stash list",
    "git add -A && git commit -m push",
    "git diff HEAD~1 -- src/push.rs",
    "git branch push-fix",
    "git checkout -b push",
    "git rebase --continue",
    "git bisect start",
    "git config user.name push",
    "git grep -n push",
    "grep -r push .",
    "grep -rn 'git push' docs",
    "rg 'git push|git pull' -l",
    "find . -name '*push*'",
    "find . -name push -exec grep -l x {} \\;",
    "find . -name '*.rs' | xargs grep -l push",
    "find . -name '*.md' | xargs grep -l \"git push\"",
    "echo git push",
    "echo 'run git push when you are done'",
    "printf '%s\\n' \"git push\"",
    "cat push.txt; git status",
    "cat > notes.md <<'EOF'\nThen type:\ngit push\nEOF",
    "cargo test push",
    "cargo test && git status",
    "cargo run -- git push",
    "make push",
    "npm run push",
    "docker push image",
    "for f in src/*.rs; do rustfmt \"$f\"; done; git status",
    "if git diff --quiet; then echo push; fi",
    "sh build.sh && git status",
    "sh -c 'git status'",
    "bash -c 'cd x && git log'",
    "$CC -o push main.c",
    "sed -i 's/git push/git pull/' README.md",
    "awk '/git push/ { print $2 }' log.txt",
    "python3 -c 'print(1)'",
    "python3 push.py",
    "ls # git push",
    "test -x \"$(command -v git)\"",
    "cd \"$(git rev-parse --show-toplevel)\" && cargo test",
    "env RUST_LOG=push cargo test",
    "timeout 60 cargo test push",
    "xargs -0 rm < push.txt",
    "git fetch origin push",
    "git remote get-url --push origin",
    "pushd src && git status && popd",
    "mkdir -p {src,tests}/push",
    "alias ll='ls -l'",
    "echo \"do not git push\"",
    "git commit -m 'explain git push'",
    "git commit -am 'explain git push'",
    "git commit --message='explain git push'",
    "git tag -a v1 -m 'before git push'",
    "cargo test && git commit -m 'explain git push'",
    "make test && git commit -m 'explain git push'",
    "./build.sh && git log --grep='git push'",
    "git log --grep=push",
    "git grep 'git push'",
    "git stash push",
    "git status && docker push image",
    "docker push image && git status",
    "git diff --quiet 2>/dev/null; docker push image",
    "rg 'git push' docs",
    "rg -n 'git push' docs 2>/dev/null | head -5",
    "npm run push-docs",
    "npm test -- git push",
    "ls git push",
    "test -d git && ls push",
    "echo done # git push",
    "make # git push",
    "pytest -k 'git push'",
    "go test -run 'git push' ./...",
    "cat <<EOF > notes.md\nThen git push\nEOF\ngit add notes.md",
    "sort git push | uniq -c | head",
    "diff git push",
    "if grep -q 'git push' README.md; then echo found; fi",
    "/bin/echo git push",
    "for f in *.md; do grep -l 'git push' \"$f\"; done",
    "sort -k2 git push",
    "cargo test --color always && echo git push",
    "make && echo git push",
    "./build.sh --fast || echo 'git push is next'",
    "make; printf '%s\\n' 'git push'; make test",
    "if make test; then echo git push; fi",
];

const RULES: [&str; 4] = [
    "Bash(git push*)",
    "Bash(git push:*)",
    "Bash(git push *)",
    "Bash(git push)",
];

fn passing(rule: &str, lines: &[String]) -> Vec<String> {
    lines
        .iter()
        .filter(|line| !denies(rule, line))
        .cloned()
        .collect()
}

#[test]
fn every_spelling_of_a_denied_command_is_found() {
    let lines: Vec<String> = PUSHES.iter().map(|line| (*line).to_owned()).collect();
    for rule in &RULES[..3] {
        assert_eq!(passing(rule, &lines), [""; 0], "{rule}");
    }
}

#[test]
fn what_hides_a_denied_command_is_found() {
    let lines: Vec<String> = HIDDEN_PUSHES
        .iter()
        .map(|line| (*line).to_owned())
        .collect();
    for rule in RULES {
        assert_eq!(passing(rule, &lines), [""; 0], "{rule}");
    }
}

#[test]
fn what_hides_another_program_is_found() {
    for (rule, command) in [
        ("Bash(rm*)", "rm -f"),
        ("Bash(rm *)", "/bin/rm -f"),
        ("Bash(curl*)", "curl -O"),
    ] {
        let other = |line: &&&str| line.contains("git push") && !line.contains("-O'git");
        let lines: Vec<String> = HIDDEN_PUSHES
            .iter()
            .filter(other)
            .map(|line| line.replace("git push", command))
            .collect();
        assert!(lines.len() > 60);
        assert_eq!(passing(rule, &lines), [""; 0], "{rule}");
    }
}

#[test]
fn innocent_lines_pass() {
    let denied: Vec<&&str> = INNOCENT
        .iter()
        .filter(|command| denies("Bash(git push*)", command))
        .collect();
    assert!(denied.is_empty(), "{denied:#?}");
}

/// What stands around a command and leaves it what it is.
const BEFORE: [&str; 7] = [
    "",
    "ls; ",
    "echo x | ",
    "cat <<E\nx\nE\n",
    "true && ",
    "echo $((1<<2))\n",
    "! ",
];
const AFTER: [&str; 8] = [
    "",
    " x",
    "; ls",
    " | cat",
    " && echo y",
    " >z",
    "\ntrue",
    " # z",
];

/// Words of a push among the arguments of an unknown program.
const WORDS: [&str; 6] = [
    "git push",
    "'git push'",
    "-c'git push'",
    "--x='git push'",
    "git -C x push",
    "-xg\"i\"t\\ push",
];

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        denies("Bash(git push*)", &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_syntax_makes_it_panic(line in "[git push(){}$<>'\"`\\\\;&|\\n#\\[\\]=*x-]{0,80}") {
        denies("Bash(git push*)", &line);
    }

    /// An unknown program, which begins with `z`, is denied whatever stands around it.
    #[test]
    fn an_unknown_program_with_the_words_is_denied(
        before in prop::sample::select(&BEFORE[..]),
        program in "z[a-z0-9]{0,6}",
        options in "( -{1,2}[a-z]{1,3}| [a-z0-9./]{1,4}){0,3}",
        words in prop::sample::select(&WORDS[..]),
        after in prop::sample::select(&AFTER[..]),
    ) {
        let line = format!("{before}{program}{options} {words}{after}");
        prop_assert!(denies("Bash(git push*)", &line), "{line}");
    }
}

#[test]
fn a_rule_without_a_program_finds_its_words_where_the_line_cannot_be_judged() {
    for command in [
        "git push --force",
        "echo 'git push --force' | sh",
        "f=--force; git push $f",
        "x=git; $x push --force",
    ] {
        assert!(denies("Bash(* --force)", command), "{command}");
    }
    for command in ["git push", "echo ok | sh", "cargo test --force-warn x"] {
        assert!(!denies("Bash(* --force)", command), "{command}");
    }
}

#[test]
fn a_rule_about_one_word_finds_it_everywhere() {
    for command in [
        "rm -rf x",
        "ls | xargs rm",
        "find . -exec rm {} +",
        "sh -c 'rm x'",
        "$(which rm) x",
        "\\rm x",
        "a=rm; $a x",
    ] {
        assert!(denies("Bash(rm *)", command), "{command}");
    }
    for command in [
        "$CC x.c",
        "cargo rm serde",
        "git rm x",
        "echo rm",
        "docker run --rm image",
        "ls \"$x\"",
    ] {
        assert!(!denies("Bash(rm *)", command), "{command}");
    }
}
