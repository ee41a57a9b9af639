//! Spellings of one denied command that a rule about it has to find, and innocent lines that it has to leave alone.

use super::*;

fn denies(rule: &str, command: &str) -> bool {
    let rule = RuleText { decision: RuleDecision::Deny, rule: rule.to_owned(), source: "--deny".to_owned() };
    let policy = Policy::new(&[rule]).unwrap();
    let targets = [Target::Command(command.to_owned())];
    let question = Question { tool: "run_shell_command", permission: Permission::CodeExecution, targets: &targets };
    matches!(policy.decide(&Grant::of_tools(["Bash"]), &question), Decision::Deny { .. })
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

/// What nobody who denies `git push` means.
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
];

#[test]
fn every_spelling_of_a_denied_command_is_found() {
    assert!(PUSHES.len() >= 86);
    for rule in ["Bash(git push*)", "Bash(git push:*)", "Bash(git push *)"] {
        let passed: Vec<&&str> = PUSHES.iter().filter(|command| !denies(rule, command)).collect();
        assert!(passed.is_empty(), "{rule}: {passed:#?}");
    }
}

#[test]
fn innocent_lines_pass() {
    let denied: Vec<&&str> = INNOCENT.iter().filter(|command| denies("Bash(git push*)", command)).collect();
    assert!(denied.is_empty(), "{denied:#?}");
}

#[test]
fn a_rule_without_a_program_finds_its_words_where_the_line_cannot_be_judged() {
    for command in
        ["git push --force", "echo 'git push --force' | sh", "f=--force; git push $f", "x=git; $x push --force"]
    {
        assert!(denies("Bash(* --force)", command), "{command}");
    }
    for command in ["git push", "echo ok | sh", "cargo test --force-warn x"] {
        assert!(!denies("Bash(* --force)", command), "{command}");
    }
}

#[test]
fn a_rule_about_one_word_finds_it_everywhere() {
    for command in
        ["rm -rf x", "ls | xargs rm", "find . -exec rm {} +", "sh -c 'rm x'", "$(which rm) x", "\\rm x", "a=rm; $a x"]
    {
        assert!(denies("Bash(rm *)", command), "{command}");
    }
    for command in ["$CC x.c", "cargo rm serde", "git rm x", "echo rm", "docker run --rm image", "ls \"$x\""] {
        assert!(!denies("Bash(rm *)", command), "{command}");
    }
}
