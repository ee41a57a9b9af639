//! The commits that a landing makes: squashed, rebased, worded, and signed as the user's own.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use libtest_mimic::Failed;
use serde_json::json;

use crate::support::{
    Case, Invocation, Need, Outcome, Ran, Rule, Script, World, after, at, case, fail, put, says,
    write,
};

const PLAN: &str = "# Words\n\n- [ ] T1 one\n- [ ] T2 two\n";

const SSH_KEYGEN: Need = Need::new("ssh-keygen", "apt install openssh-client", || {
    are_found(&["ssh-keygen"])
});
const GPG: Need = Need::new("gpg", "apt install gnupg", || {
    are_found(&["gpg", "gpg-agent", "gpgconf"])
});
const GPGSM: Need = Need::new("gpgsm", "apt install gpgsm openssl", || {
    are_found(&["gpgsm", "gpg-agent", "gpgconf", "openssl"])
});

fn are_found(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_found =
        |program: &&str| std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    programs.iter().all(is_found)
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_squash_lands_one_commit_and_is_undone),
        case!(a_rebase_lands_a_commit_for_each_task),
        case!(what_new_commits_change_is_checked_again),
        case!(a_conflict_lands_nothing_in_any_style),
        case!(only_new_work_lands_after_a_squash),
        case!(work_that_the_branch_has_makes_no_commit),
        case!(the_users_template_words_the_commit),
        case!(the_identity_is_that_of_git_commit),
        case!(hooks_are_named_and_not_run),
        case!(hooks_run_as_gits_own_on_request),
        case!(a_branch_that_moves_meanwhile_is_landed_on),
        case!(a_hook_runs_in_the_checkout_that_changed),
        case!(hooks_check_each_commit_of_a_rebase),
        case!(a_hook_that_lands_is_not_run),
        case!(a_landing_signs_its_commits).needs(SSH_KEYGEN),
        case("land_styles::a_landing_signs_by_gpg", || {
            signs_by(sign_by_gpg)
        })
        .needs(GPG),
        case("land_styles::a_landing_signs_by_a_certificate", || {
            signs_by(sign_by_certificate)
        })
        .needs(GPGSM),
        case!(what_cannot_be_signed_does_not_land),
        case!(a_key_with_a_passphrase_is_not_waited_for).needs(SSH_KEYGEN),
        case!(a_repositorys_signing_program_is_not_run),
    ]
}

/// Returns a world with a run of two tasks that has succeeded, each with a file and a summary.
fn ended(options: &[&str]) -> Result<World, Failed> {
    let world = World::with_plan(PLAN)?;
    let script = Script::default()
        .rule(put(after("T1", "write 2"), "one", "2\n"))
        .rule(write("T1", "one", "1\n"))
        .rule(Rule::task("T1").text("Wrote one.\n\nSigned-off-by: Nobody <nobody@example.invalid>"))
        .writes("T2", "two", "2\n");
    let model = world.script(&script)?;
    world.types(
        &[&["run", "plan.md", "--model", &model], options].concat(),
        0,
    )?;
    Ok(world)
}

fn same(actual: &str, expected: &str) -> Outcome {
    assert_eq!(actual, expected, "got {actual:?}\ninstead of {expected:?}");
    Ok(())
}

/// Commits a file to the user's branch, as the user would meanwhile.
fn meanwhile(world: &World, file: &str, text: &str) -> Outcome {
    world.repository.write(file, text)?;
    world.git(&format!("add {file}"))?;
    world
        .git(&format!("commit -q -m Meanwhile -- {file}"))
        .map(drop)
}

fn a_squash_lands_one_commit_and_is_undone() -> Outcome {
    let world = ended(&[])?;
    let before = world.git("rev-parse main")?;
    let landed = world.types(&["land", "--squash", "--json"], 0)?.json()?;
    if *at(&landed, "/brought")? != "squash" || *at(&landed, "/signed")? != json!(null) {
        return fail(landed.to_string());
    }
    same(
        &world.git(&format!("log --format=%s {before}..main"))?,
        "Words",
    )?;
    let body = world.git("log -1 --format=%b main")?;
    let tasks =
        "- T1: one\n  Wrote one.\n\n  Signed-off-by: Nobody <nobody@example.invalid>\n- T2: two\n";
    assert!(
        body.contains(&tasks.replace("  Signed", ">   Signed")),
        "{body}"
    );
    assert!(body.contains("Assisted-by: orchestrate:script"), "{body}");
    same(&world.git("status --porcelain")?, "?? plan.md")?;
    says(&world.types(&["land"], 0)?, &["main already contains run"])?;
    says(
        &world.types(&["land", "--squash"], 0)?,
        &["main already contains run"],
    )?;
    world.types(&["land", "--undo"], 0)?;
    same(&world.git("rev-parse main")?, &before)
}

fn a_rebase_lands_a_commit_for_each_task() -> Outcome {
    for is_behind in [false, true] {
        let world = ended(&["--verify", "test -e one || test -e two", "--no-verify-base"])?;
        if is_behind {
            meanwhile(&world, "mine", "m\n")?;
        }
        let before = world.git("rev-parse main")?;
        says(
            &world.types(&["land", "--rebase"], 0)?,
            &["one commit for each task"],
        )?;
        let commits = world.repository.git(&[
            "log",
            "--format=%s %an",
            "--min-parents=1",
            &format!("{before}..main"),
        ])?;
        let mut commits: Vec<&str> = commits.lines().collect();
        commits.sort_unstable();
        let merges = world.git(&format!("log --merges --format=%s {before}..main"))?;
        assert_eq!(commits, ["one Test", "two Test"], "{merges}");
        assert!(merges.is_empty(), "{commits:?} {merges}");
        same(
            &format!(
                "{}{}",
                world.repository.read("one")?,
                world.repository.read("two")?
            ),
            "1\n2\n",
        )?;
        world.types(&["land", "--undo"], 0)?;
        same(&world.git("rev-parse main")?, &before)?;
    }
    Ok(())
}

fn what_new_commits_change_is_checked_again() -> Outcome {
    for style in ["--squash", "--rebase"] {
        let world = ended(&["--verify", "test ! -e red"])?;
        meanwhile(&world, "red", "1\n")?;
        let before = world.git("rev-parse main")?;
        says(
            &world.types(&["land", style], 3)?,
            &["`test ! -e red` ended with exit code 1"],
        )?;
        same(&world.git("rev-parse main")?, &before)?;
        world.git("rm -q red")?;
        world.git("commit -q -m Repair")?;
        world.types(&["land", style], 0)?;
    }
    Ok(())
}

fn a_conflict_lands_nothing_in_any_style() -> Outcome {
    let world = ended(&[])?;
    meanwhile(&world, "one", "mine\n")?;
    let before = world.git("rev-parse main")?;
    for style in [&["land"][..], &["land", "--squash"], &["land", "--rebase"]] {
        says(
            &world.types(style, 3)?,
            &["conflict with the result", "in one ("],
        )?;
    }
    same(&world.git("rev-parse main")?, &before)
}

/// The squashed commit is not in the result's history, so git alone would see a conflict in `one`.
fn only_new_work_lands_after_a_squash() -> Outcome {
    for (style, subject) in [("--squash", "Words"), ("--rebase", "one")] {
        let world = ended(&[])?;
        world.types(&["land", "--squash"], 0)?;
        meanwhile(&world, "mine", "m\n")?;
        let before = world.git("rev-parse main")?;
        world.types(&["reject", "T1", "-m", "write 2", "--follow"], 0)?;
        world.types(&["land", style], 0)?;
        same(&world.repository.read("one")?, "2\n")?;
        same(
            &world.git(&format!("diff --name-only {before} main"))?,
            "one",
        )?;
        same(
            &world.git(&format!("log --format=%s {before}..main"))?,
            subject,
        )?;
        assert!(
            !world.git("log -1 --format=%b main")?.contains("T2: two"),
            "the message has a task that landed before"
        );
    }
    Ok(())
}

/// As after a pull request that the server has squashed, and a pull.
fn work_that_the_branch_has_makes_no_commit() -> Outcome {
    for style in [
        &["land", "--json"][..],
        &["land", "--json", "--squash"],
        &["land", "--json", "--rebase"],
    ] {
        let world = ended(&[])?;
        meanwhile(&world, "one", "1\n")?;
        meanwhile(&world, "two", "2\n")?;
        let before = world.git("rev-parse main")?;
        let landed = world.types(style, 0)?.json()?;
        if *at(&landed, "/brought")? != "nothing" {
            return fail(landed.to_string());
        }
        same(&world.git("rev-parse main")?, &before)?;
    }
    Ok(())
}

fn the_users_template_words_the_commit() -> Outcome {
    let world = ended(&[])?;
    let config = world.home.path().join("config/orchestrate");
    std::fs::create_dir_all(&config)?;
    std::fs::write(
        config.join("config.toml"),
        "[land]\nmessage = \"feat: {title} ({run}) {{other}}\"\n",
    )?;
    world.types(&["land", "--squash"], 0)?;
    let subject = world.git("log -1 --format=%s main")?;
    assert!(subject.starts_with("feat: Words (r-"), "{subject}");
    assert!(subject.ends_with(") {other}"), "{subject}");
    world.types(&["land", "--undo"], 0)?;
    world.types(&["land", "--squash", "-m", "typed {title}"], 0)?;
    same(&world.git("log -1 --format=%s main")?, "typed Words")?;
    world.types(&["land", "--undo"], 0)?;
    world.types(&["land", "--squash", "-m", "typed {tasks}\n\n{tasks}"], 0)?;
    same(&world.git("log -1 --format=%s main")?, "typed T1, T2")?;
    assert!(
        world
            .git("log -1 --format=%b main")?
            .starts_with("- T1: one\n"),
        "the tasks are not listed below the subject"
    );
    world.types(&["land", "--undo"], 0)?;
    let unknown = world.types(&["land", "--squash", "-m", "typed {nope}"], 2)?;
    says(
        &unknown,
        &[
            "--message",
            "fill in `{nope}`: the placeholders are {title}, {run} and {tasks}",
        ],
    )?;
    std::fs::write(config.join("config.toml"), "[land]\nmessage = \"{nope}\"\n")?;
    let known = "no other placeholders than {title}, {run} and {tasks}";
    says(
        &world.types(&["land", "--squash"], 2)?,
        &["config.toml:2", known],
    )?;
    std::fs::remove_file(config.join("config.toml"))?;
    says(
        &world.types(&["land", "-m", "typed"], 0)?,
        &["warning: the message was not used"],
    )?;
    world
        .repository
        .write("orchestrate.toml", "[land]\nmessage = \"theirs\"\n")?;
    says(
        &world.types(&["land"], 2)?,
        &["`land.message` is never read from a repository"],
    )
    .map(drop)
}

/// Compares the landing's commit with one of `git commit` in the same environment.
fn the_identity_is_that_of_git_commit() -> Outcome {
    let world = ended(&[])?;
    world.git("config --unset user.name")?;
    world.git("config --unset user.email")?;
    let included = world.write(
        "included",
        "[user]\n\tname = Included\n[author]\n\tname = Author\n",
    )?;
    let folder = world.repository.path().display();
    user_config(
        &world,
        &format!("[includeIf \"gitdir:{folder}/\"]\n\tpath = {included}\n"),
    )?;
    let dressed = |invocation: Invocation| {
        let named = invocation
            .env("EMAIL", "by@variable.invalid")
            .env("GIT_COMMITTER_NAME", "Committer");
        named
            .env("GIT_AUTHOR_DATE", "2001-02-03 04:05:06 +0700")
            .env("TZ", "UTC-3")
    };
    let git = world.home.command(
        "git",
        world.repository.path(),
        &["commit", "-q", "--allow-empty", "-m", "Mine"],
    );
    dressed(git).run()?.exits(0)?;
    dressed(world.orchestrate(&["land", "--squash"]))
        .run()?
        .exits(0)?;
    let format = "--format=%an|%ae|%ai|%cn|%ce|%(trailers:key=none)%cd";
    let log = world.git(&format!("log -2 {format} --date=format:%z main"))?;
    // The control: the same question about an agent's commit has another answer.
    let of_agent = world.git(&format!(
        "log -1 {format} --date=format:%z --branches=orchestrate/*/T1"
    ))?;
    assert!(
        !of_agent.is_empty() && !log.lines().any(|line| line == of_agent),
        "{of_agent}\n{log}"
    );
    match log.lines().collect::<Vec<_>>().as_slice() {
        [landed, mine] if landed == mine && mine.ends_with("by@variable.invalid|+0300") => Ok(()),
        other => fail(format!("{other:?}")),
    }
}

/// Appends to the user's own configuration of git.
fn user_config(world: &World, text: &str) -> Outcome {
    let home = world.home.path().join("home");
    std::fs::create_dir_all(&home)?;
    let path = home.join(".gitconfig");
    let before = if path.exists() {
        std::fs::read_to_string(&path)?
    } else {
        String::new()
    };
    Ok(std::fs::write(path, before + text)?)
}

/// Lets the user sign with a new key, which `git verify-commit` accepts.
fn sign_by_ssh(world: &World) -> Outcome {
    let key = world.file("key");
    let typed = ["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", &key];
    world
        .home
        .command("ssh-keygen", world.repository.path(), &typed)
        .run()?
        .exits(0)?;
    let public = std::fs::read_to_string(Path::new(&key).with_extension("pub"))?;
    let signers = world.write("signers", &format!("test@example.invalid {public}"))?;
    let of_ssh =
        format!("[gpg]\n\tformat = ssh\n[gpg \"ssh\"]\n\tallowedSignersFile = {signers}\n");
    user_config(
        world,
        &format!("[commit]\n\tgpgSign = true\n[user]\n\tsigningKey = {key}\n{of_ssh}"),
    )
}

fn verified(world: &World, commit: &str) -> Result<bool, Failed> {
    let verify = world
        .home
        .command("git", world.repository.path(), &["verify-commit", commit])
        .run()?;
    Ok(verify.code == 0)
}

fn a_landing_signs_its_commits() -> Outcome {
    let world = ended(&[])?;
    sign_by_ssh(&world)?;
    says(
        &world.types(&["land"], 0)?,
        &["the agents' own commits are not signed"],
    )?;
    assert!(
        !verified(&world, "main")?,
        "a fast-forward cannot be signed"
    );
    for (style, commits) in [("--squash", 1), ("--rebase", 2)] {
        world.types(&["land", "--undo"], 0)?;
        let landed = world.types(&["land", style], 0)?;
        let signed = ["main", "main~1"]
            .iter()
            .map(|commit| verified(&world, commit));
        let signed = signed
            .collect::<Result<Vec<_>, _>>()?
            .iter()
            .filter(|signed| **signed)
            .count();
        if signed != commits || landed.stdout.contains("not signed") {
            return fail(format!("{style}: {signed} signed\n{}", landed.stdout));
        }
    }
    world.types(&["land", "--undo"], 0)?;
    meanwhile(&world, "mine", "m\n")?;
    let landed = world.types(&["land", "--json"], 0)?.json()?;
    assert!(
        verified(&world, "main")? && *at(&landed, "/signed")? == json!(false),
        "{landed}"
    );
    Ok(())
}

/// Ends the agents that hold the keys of a world.
struct KeyAgents<'w>(&'w World);

impl Drop for KeyAgents<'_> {
    fn drop(&mut self) {
        let world = self.0;
        let _ = world
            .home
            .command("gpgconf", world.repository.path(), &["--kill", "all"])
            .run();
    }
}

fn types(world: &World, program: &str, arguments: &[&str]) -> Result<Ran, Failed> {
    world
        .home
        .command(program, world.repository.path(), arguments)
        .stdin("\n")
        .run()?
        .exits(0)
}

/// Lets the user sign with a new key of gpg.
fn sign_by_gpg(world: &World) -> Outcome {
    let of = [
        "--batch",
        "-q",
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        "",
    ];
    let key = [
        "--quick-generate-key",
        "Test <test@example.invalid>",
        "ed25519",
        "sign",
        "never",
    ];
    types(world, "gpg", &[&of[..], &key].concat())?;
    user_config(
        world,
        "[commit]\n\tgpgSign = true\n[user]\n\tsigningKey = test@example.invalid\n",
    )
}

/// How many certificates are tried: gpgsm 2.2 misreads about one file in a few hundred.
const CERTIFICATES: usize = 5;

/// Creates a certificate with its key, and reports whether gpgsm has read them.
fn imports_certificate(world: &World) -> Result<bool, Failed> {
    let [key, certificate, both] =
        ["key.pem", "certificate.pem", "both.p12"].map(|name| world.file(name));
    let subject = "/CN=Test/emailAddress=test@example.invalid";
    let request = [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3", "-subj", subject,
    ];
    let uses = [
        "-addext",
        "keyUsage=digitalSignature,keyCertSign",
        "-keyout",
        &key,
        "-out",
        &certificate,
    ];
    types(world, "openssl", &[&request[..], &uses].concat())?;
    let export = [
        "pkcs12",
        "-export",
        "-inkey",
        &key,
        "-in",
        &certificate,
        "-out",
        &both,
        "-passout",
        "pass:",
    ];
    // Those that every gpgsm reads.
    let ciphers = [
        "-certpbe",
        "PBE-SHA1-3DES",
        "-keypbe",
        "PBE-SHA1-3DES",
        "-macalg",
        "sha1",
    ];
    types(world, "openssl", &[&export[..], &ciphers].concat())?;
    let import = [
        "--batch",
        "--pinentry-mode",
        "loopback",
        "--passphrase-fd",
        "0",
        "--import",
        &both,
    ];
    Ok(world
        .home
        .command("gpgsm", world.repository.path(), &import)
        .stdin("\n")
        .run()?
        .code
        == 0)
}

/// Lets the user sign with a new certificate of gpgsm, which trusts it.
fn sign_by_certificate(world: &World) -> Outcome {
    let mut is_read = false;
    for _ in 0..CERTIFICATES {
        is_read = is_read || imports_certificate(world)?;
    }
    assert!(is_read, "gpgsm reads no certificate");
    let keys = types(world, "gpgsm", &["--with-colons", "-K"])?.stdout;
    let print = keys.lines().find_map(|line| {
        line.strip_prefix("fpr:")?
            .split(':')
            .find(|part| !part.is_empty())
    });
    let Some(print) = print else {
        return fail(keys);
    };
    let folder = world.home.path().join("home/.gnupg");
    std::fs::write(folder.join("trustlist.txt"), format!("{print} S relax\n"))?;
    std::fs::write(folder.join("gpgsm.conf"), "disable-crl-checks\n")?;
    types(world, "gpgconf", &["--kill", "all"])?;
    let user = format!("[user]\n\tsigningKey = {print}\n");
    user_config(
        world,
        &format!("[commit]\n\tgpgSign = true\n[gpg]\n\tformat = x509\n{user}"),
    )
}

/// Requires that a landing signs its commit so that git verifies it.
fn signs_by(sign: fn(&World) -> Outcome) -> Outcome {
    let world = ended(&[])?;
    let folder = world.home.path().join("home/.gnupg");
    std::fs::create_dir_all(&folder)?;
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
    let _agents = KeyAgents(&world);
    sign(&world)?;
    let landed = world.types(&["land", "--squash"], 0)?;
    if verified(&world, "main")?
        && !verified(&world, "main~1")?
        && !landed.stdout.contains("not signed")
    {
        return Ok(());
    }
    fail(format!("{}\n{}", landed.stdout, landed.stderr))
}

fn what_cannot_be_signed_does_not_land() -> Outcome {
    let world = ended(&[])?;
    user_config(
        &world,
        "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n",
    )?;
    let before = world.repository.fingerprint()?;
    says(
        &world.types(&["land", "--squash"], 2)?,
        &[
            "failed to sign the commit of the landing",
            "nothing has landed",
        ],
    )?;
    before.require_same(&world.repository.fingerprint()?)?;
    // The control: the same landing goes through where nothing is to be signed.
    world.git("config commit.gpgSign false")?;
    world.types(&["land", "--squash"], 0)?;
    same(&world.repository.show("main", "one")?, "1")
}

/// The landing has no terminal on which a passphrase could be typed, and the program that is to ask
/// for it fails.
fn a_key_with_a_passphrase_is_not_waited_for() -> Outcome {
    let world = ended(&[])?;
    sign_by_ssh(&world)?;
    let changes_passphrase = |old: &str, new: &str| -> Outcome {
        let typed = ["-q", "-p", "-P", old, "-N", new, "-f", &world.file("key")];
        world
            .home
            .command("ssh-keygen", world.repository.path(), &typed)
            .run()?
            .exits(0)
            .map(drop)
    };
    changes_passphrase("", "of the user")?;
    let before = world.repository.fingerprint()?;
    let refused = world
        .orchestrate(&["land", "--squash"])
        .env("SSH_ASKPASS", "false")
        .run()?
        .exits(2)?;
    says(
        &refused,
        &[
            "failed to sign the commit of the landing",
            "nothing has landed",
        ],
    )?;
    before.require_same(&world.repository.fingerprint()?)?;
    // The control: the same key signs once it needs no passphrase.
    changes_passphrase("of the user", "")?;
    world.types(&["land", "--squash"], 0)?;
    assert!(verified(&world, "main")?, "the landing is not signed");
    Ok(())
}

fn a_repositorys_signing_program_is_not_run() -> Outcome {
    let world = ended(&[])?;
    let (marker, program) = (world.file("ran"), world.file("program"));
    std::fs::write(&program, format!("#!/bin/sh\ntouch {marker}\nexit 1\n"))?;
    world
        .home
        .command("chmod", world.repository.path(), &["755", &program])
        .run()?
        .exits(0)?;
    let keys = [
        "gpg.program",
        "gpg.openpgp.program",
        "gpg.ssh.program",
        "gpg.x509.program",
        "gpg.ssh.defaultKeyCommand",
    ];
    for key in keys {
        world.git(&format!("config {key} {program}"))?;
    }
    world.git("config commit.gpgSign true")?;
    let landed = world.types(&["land", "--squash"], 0)?;
    says(
        &landed,
        &["warning: commit.gpgsign in the repository's own git configuration is not used"],
    )?;
    world.types(&["land", "--undo"], 0)?;
    // The user's own signing does not take anything from there either.
    for format in ["openpgp", "ssh", "x509"] {
        world.git(&format!("config gpg.format {format}"))?;
        user_config(
            &world,
            "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n",
        )?;
        says(
            &world.types(&["land", "--squash"], 2)?,
            &["failed to sign the commit of the landing"],
        )?;
    }
    assert!(
        !Path::new(&marker).exists(),
        "the repository's program was run"
    );
    Ok(())
}

/// Writes an executable hook of the repository.
fn hook(world: &World, name: &str, script: &str) -> Outcome {
    let path = world.repository.path().join(".git/hooks").join(name);
    std::fs::create_dir_all(world.repository.path().join(".git/hooks"))?;
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
    let path = path.display().to_string();
    world
        .home
        .command("chmod", world.repository.path(), &["755", &path])
        .run()?
        .exits(0)
        .map(drop)
}

fn hooks_are_named_and_not_run() -> Outcome {
    let world = ended(&[])?;
    let marker = world.file("ran");
    for name in [
        "pre-commit",
        "pre-merge-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-merge",
        "post-checkout",
    ] {
        hook(&world, name, &format!("touch {marker}"))?;
    }
    says(
        &world.types(&["land"], 0)?,
        &["hooks not run: post-merge ("],
    )?;
    world.types(&["land", "--undo"], 0)?;
    let skipped = world.types(&["land", "--squash", "--json"], 0)?.json()?;
    assert_eq!(
        *at(&skipped, "/skipped_hooks")?,
        json!([
            "pre-commit",
            "prepare-commit-msg",
            "commit-msg",
            "post-merge"
        ]),
        "{skipped}"
    );
    world.types(&["land", "--undo"], 0)?;
    meanwhile_without_hooks(&world, "mine")?;
    says(
        &world.types(&["land"], 0)?,
        &["hooks not run: pre-merge-commit, prepare-commit-msg, commit-msg, post-merge ("],
    )?;
    assert!(!Path::new(&marker).exists(), "a hook was run");
    Ok(())
}

fn meanwhile_without_hooks(world: &World, file: &str) -> Outcome {
    world.repository.write(file, "m\n")?;
    world.git(&format!("add {file}"))?;
    let none = ["-c", "core.hooksPath=/dev/null"];
    world
        .repository
        .git(&[&none[..], &["commit", "-q", "-m", "Meanwhile", "--", file]].concat())
        .map(drop)
}

fn hooks_run_as_gits_own_on_request() -> Outcome {
    let world = ended(&[])?;
    meanwhile_without_hooks(&world, "mine")?;
    let log = world.file("log");
    hook(
        &world,
        "prepare-commit-msg",
        &format!("echo prepare $2 >> {log}; echo 'Change-Id: I1' >> \"$1\""),
    )?;
    hook(
        &world,
        "commit-msg",
        &format!("echo message $(git config user.name) >> {log}; grep -q Change-Id \"$1\""),
    )?;
    hook(
        &world,
        "post-merge",
        &format!("echo merged $1 $(cat one) >> {log}"),
    )?;
    says(
        &world.types(&["land", "--hooks"], 0)?,
        &["merged with its new commits"],
    )?;
    same(
        &std::fs::read_to_string(&log)?,
        "prepare merge\nmessage Test\nmerged 0 1\n",
    )?;
    assert!(
        world
            .git("log -1 --format=%B main")?
            .contains("Change-Id: I1"),
        "the hook's message was not used"
    );
    world.types(&["land", "--undo"], 0)?;
    hook(&world, "commit-msg", "echo no such ticket; exit 3")?;
    let before = world.git("rev-parse main")?;
    let refused = world.types(&["land", "--squash", "--hooks"], 3)?;
    says(
        &refused,
        &[
            "failed to run the hook commit-msg: it ended with exit code 3",
            "no such ticket",
        ],
    )?;
    same(&world.git("rev-parse main")?, &before)?;
    // The control: the same landing goes through where the hooks are not asked for, and names those
    // that were not run.
    says(
        &world.types(&["land", "--squash"], 0)?,
        &["hooks not run: prepare-commit-msg, commit-msg, post-merge ("],
    )?;
    same(&world.repository.show("main", "one")?, "1")
}

/// A hook moves the branch while the commit of the landing is made, as another landing would.
fn a_branch_that_moves_meanwhile_is_landed_on() -> Outcome {
    let world = ended(&[])?;
    let marker = world.file("moved");
    let commit = "git commit-tree -p main -m Meanwhile main^{tree}";
    let moves = format!(
        "test -e {marker} || {{ touch {marker}; git update-ref refs/heads/main $({commit}); }}"
    );
    hook(&world, "prepare-commit-msg", &moves)?;
    world.types(&["land", "--squash", "--hooks"], 0)?;
    same(&world.git("log -1 --format=%s main~1")?, "Meanwhile")?;
    same(&world.repository.show("main", "one")?, "1")
}

/// The branch is checked out in another worktree than the one in which `land` is typed.
fn a_hook_runs_in_the_checkout_that_changed() -> Outcome {
    let world = ended(&[])?;
    let (log, linked) = (world.file("log"), world.file("linked"));
    world.git("switch -q -c other")?;
    world.git(&format!("worktree add -q {linked} main"))?;
    hook(
        &world,
        "post-merge",
        &format!("pwd -P >> {log}; cat one >> {log}"),
    )?;
    world.types(&["land", "--hooks"], 0)?;
    let real = std::fs::canonicalize(&linked)?;
    same(
        &std::fs::read_to_string(&log)?,
        &format!("{}\n1\n", real.display()),
    )?;
    // A hook that does not end as one should does not make a failure of what has landed.
    world.types(&["land", "--undo"], 0)?;
    hook(&world, "post-merge", "kill -KILL $PPID")?;
    says(
        &world.types(&["land", "--hooks"], 0)?,
        &["main went from", "warning: the result has landed, but"],
    )
}

/// The second commit is refused, so that nothing lands although the first was made.
fn hooks_check_each_commit_of_a_rebase() -> Outcome {
    let world = ended(&[])?;
    let (log, before) = (world.file("log"), world.git("rev-parse main")?);
    hook(
        &world,
        "pre-commit",
        &format!("echo pre-commit >> {log}; exit 1"),
    )?;
    hook(
        &world,
        "prepare-commit-msg",
        "echo 'Change-Id: I1' >> \"$1\"",
    )?;
    hook(
        &world,
        "commit-msg",
        &format!("head -1 \"$1\" >> {log}; echo no ticket; test $(wc -l < {log}) -lt 2"),
    )?;
    let named = world.types(&["land", "--rebase", "--json"], 0)?.json()?;
    if *at(&named, "/skipped_hooks")? != json!(["pre-commit", "prepare-commit-msg", "commit-msg"]) {
        return fail(named.to_string());
    }
    world.types(&["land", "--undo"], 0)?;
    let refused = world.types(&["land", "--rebase", "--hooks"], 3)?;
    says(
        &refused,
        &[
            "failed to run the hook commit-msg: it ended with exit code 1",
            "no ticket",
        ],
    )?;
    same(&world.git("rev-parse main")?, &before)?;
    let said = std::fs::read_to_string(&log)?;
    let mut subjects: Vec<&str> = said.lines().collect();
    subjects.sort_unstable();
    same(&subjects.join(" "), "one two")?;
    hook(&world, "commit-msg", "grep -q Change-Id \"$1\"")?;
    says(
        &world.types(&["land", "--rebase", "--hooks"], 0)?,
        &["hooks not run: pre-commit (pre-commit would not"],
    )?;
    let found = world.git(&format!(
        "log --format=%(trailers:key=Change-Id,valueonly) {before}..main"
    ))?;
    same(
        &found
            .lines()
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
        "I1 I1",
    )
}

/// An agent must not choose what runs unconfined in the user's checkout.
fn a_hook_that_lands_is_not_run() -> Outcome {
    let world = World::plain()?;
    world.git("config core.hooksPath hooks")?;
    let marker = world.file("ran");
    world.repository.write("plan.md", &format!(
        "- [ ] T1 hook (run: mkdir -p hooks && printf '#!/bin/sh\\ntouch {marker}\\n' > hooks/post-merge && chmod 755 hooks/post-merge)\n"
    ))?;
    world.types(&["run", "plan.md"], 0)?;
    says(
        &world.types(&["land", "--hooks"], 0)?,
        &["hooks not run: post-merge ("],
    )?;
    assert!(!Path::new(&marker).exists(), "it was run");
    Ok(())
}
