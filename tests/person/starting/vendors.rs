//! Who chooses the provider that gets the code: the user, or others with the user's consent.

use crate::support::{
    Case, ModelServer, Outcome, Ran, Reply, World, fail, require_words, sandboxed,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![sandboxed!(a_repository_chooses_no_provider_without_consent)]
}

const PLAIN: &str = "- [ ] T1 write the first file\n";

/// The user's own model is at another provider, on this machine. The one that others choose is at
/// an address that is not known to be this machine, though the test's server answers there.
fn types(
    world: &World,
    server: &ModelServer,
    path: &str,
    arguments: &[&str],
    code: i32,
) -> Result<Ran, libtest_mimic::Failed> {
    let elsewhere = server.anthropic_base().replacen("127.0.0.1", "0.0.0.0", 1) + path;
    let typed = world
        .orchestrate(arguments)
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", server.openai_base());
    typed
        .env("ANTHROPIC_API_KEY", "k")
        .env("ANTHROPIC_BASE_URL", elsewhere)
        .run()?
        .exits(code)
}

fn a_repository_chooses_no_provider_without_consent() -> Outcome {
    let server = ModelServer::answering(|_, _| Reply::text("There is nothing to do."))?;
    let role =
        "---\nname: implementer\ndescription: Writes.\nmodel: anthropic/theirs\n---\nYou write.\n";
    let doors = [
        (
            "plan.md",
            "- [ ] T1 write the first file (model: anthropic/theirs)\n",
            "the task T1 of the plan",
        ),
        (
            "plan.md",
            "---\nmodel: anthropic/theirs\n---\n- [ ] T1 write the first file\n",
            "the plan",
        ),
        (
            "orchestrate.toml",
            "model = 'anthropic/theirs'\n",
            "`model` of orchestrate.toml:1:1",
        ),
        (
            "orchestrate.toml",
            "fallback_models = ['anthropic/theirs']\n",
            "`fallback_models` of orchestrate.toml:1:1",
        ),
        (
            "agents/implementer.md",
            role,
            "the role `implementer` (agents/implementer.md)",
        ),
    ];
    for (file, text, place) in doors {
        let world = World::plain()?;
        world.repository.write("plan.md", PLAIN)?;
        world.repository.write(file, text)?;
        world.git("add .")?;
        world.git("commit -q -m theirs")?;
        let refused = types(&world, &server, "", &["run", "plan.md"], 2)?;
        let words = [
            place,
            "chooses anthropic/theirs",
            "`orchestrate config trust --provider anthropic`",
        ];
        require_words(&refused.stderr, &words)?;
        let checked = types(&world, &server, "", &["check", "plan.md"], 0)?;
        require_words(&checked.stderr, &[place, "needs your consent", words[2]])?;
    }
    if !server.requests().is_empty() {
        return fail(format!("{} requests were sent", server.requests().len()));
    }
    let world = World::plain()?;
    world.repository.write("plan.md", doors[0].1)?;
    types(
        &world,
        &server,
        "",
        &["config", "trust", "--provider", "anthropic"],
        0,
    )?;
    let checked = types(&world, &server, "", &["check", "plan.md"], 0)?;
    assert!(!checked.stderr.contains("consent"), "{}", checked.stderr);
    // The consent is to this endpoint.
    let moved = types(&world, &server, "/elsewhere", &["run", "plan.md"], 2)?;
    require_words(
        &moved.stderr,
        &[
            "/elsewhere",
            "you have not allowed the provider `anthropic`",
        ],
    )?;
    types(&world, &server, "", &["run", "plan.md"], 1)?;
    // The controls: the user's own choices need no consent.
    let asked = server.requests().len();
    types(
        &world,
        &server,
        "/elsewhere",
        &["run", "plan.md", "--model", "anthropic/mine"],
        1,
    )?;
    match server
        .requests()
        .iter()
        .filter(|request| request.path.ends_with("/v1/messages"))
        .count()
    {
        count if asked > 0 && count > asked => Ok(()),
        count => fail(format!(
            "{asked} requests after the consent, {count} with the user's own model"
        )),
    }
}
