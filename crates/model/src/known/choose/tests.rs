use super::*;
use crate::environment::Environment;
use crate::test_server::{Answer, TestServer};

fn environment(pairs: &[(&str, &str)]) -> Environment {
    // A real server on this machine must not answer instead of the test's.
    let nowhere = [
        "OLLAMA_HOST",
        "LLAMACPP_BASE_URL",
        "LMSTUDIO_BASE_URL",
        "VLLM_BASE_URL",
    ];
    nowhere
        .iter()
        .map(|name| (*name, "http://127.0.0.1:1"))
        .chain(pairs.iter().copied())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn choose(models: &Models, preferences: &Preferences) -> Result<(String, String), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    match runtime.block_on(models.choose(preferences)) {
        Ok(choice) => Ok((choice.name.to_string(), choice.why)),
        Err(error) => Err(error.to_string()),
    }
}

fn list(body: &str) -> TestServer {
    TestServer::start(vec![Answer::new(
        200,
        "content-type: application/json\r\n",
        body,
    )])
}

#[test]
fn the_strongest_source_wins() {
    let some = |text: &str| Some(text.to_owned());
    let mut preferences = Preferences {
        flag: some("script:a"),
        plan: some("openai/plan"),
        role: some("openai/role"),
        configured: some("openai/configured"),
    };
    let bare = Models::new(
        environment(&[("ANTHROPIC_API_KEY", "k"), ("OPENROUTER_API_KEY", "k")]),
        None,
    );
    let pair = |name: &str, why: &str| Ok((name.to_owned(), why.to_owned()));
    assert_eq!(
        choose(&bare, &preferences),
        pair("script:a", "as requested")
    );
    preferences.flag = None;
    assert_eq!(choose(&bare, &preferences), pair("openai/plan", "the plan"));
    preferences.plan = None;
    assert_eq!(choose(&bare, &preferences), pair("openai/role", "the role"));
    preferences.role = None;
    assert_eq!(
        choose(&bare, &preferences),
        pair("openai/configured", "the configuration")
    );
    preferences.configured = None;
    assert_eq!(
        choose(&bare, &preferences),
        pair("anthropic/claude-sonnet-5", "ANTHROPIC_API_KEY is set")
    );
}

#[test]
fn a_local_server_answers_where_no_key_is() {
    let server = list(r#"{"data": [{"id": "nomic-embed-text"}, {"id": "qwen3:30b"}]}"#);
    let models = Models::new(environment(&[("OLLAMA_HOST", &server.url)]), None);
    let why = format!("a local server responds at {}/v1", server.url);
    assert_eq!(
        choose(&models, &Preferences::default()),
        Ok(("ollama/qwen3:30b".to_owned(), why))
    );
    assert_eq!(server.asked()[0].line, "GET /v1/models HTTP/1.1");

    let other = list(r#"{"data": [{"id": "m"}]}"#);
    let models = Models::new(
        environment(&[("OPENAI_API_KEY", "k")]),
        Some(other.url.clone()),
    );
    let why = format!("the first model listed by {}", other.url);
    assert_eq!(
        choose(&models, &Preferences::default()),
        Ok(("m".to_owned(), why))
    );
    assert!(
        other.asked()[0]
            .headers
            .iter()
            .all(|header| !header.starts_with("authorization"))
    );
}

#[test]
fn without_any_the_ways_are_listed() {
    let page = list("<html>another program on the port</html>");
    let models = Models::new(environment(&[("VLLM_BASE_URL", &page.url)]), None);
    let error = choose(&models, &Preferences::default()).unwrap_err();
    let expected = format!(
        "choose a model: none is named, no key is set and no local server responds; name one (`model`, \
         ORCHESTRATE_MODEL), or set one of OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, or \
         start a server (ollama at http://127.0.0.1:1/v1, llamacpp at http://127.0.0.1:1, lmstudio at \
         http://127.0.0.1:1, vllm at {}), or name any OpenAI-compatible one (`base_url`)",
        page.url
    );
    assert_eq!(error, expected);
}

#[test]
fn a_name_is_checked_before_it_is_used() {
    let models = Models::new(environment(&[]), None);
    for (name, expected) in [
        (
            "openai/gpt-5",
            "find a key for openai/gpt-5: set OPENAI_API_KEY, or OPENAI_API_KEY_FILE to the path of a file that contains it",
        ),
        (
            "nobody/m",
            "understand the model name \"nobody/m\": no such provider; write openai/…, anthropic/…, gemini/…, \
         openrouter/…, ollama/…, llamacpp/…, lmstudio/…, vllm/… or script:FILE, or name its server (`base_url`)",
        ),
        (
            "replay:r-1",
            "understand the model name \"replay:r-1\": `replay:` is not available yet",
        ),
        ("script:/nope", "load the script /nope: no such file"),
    ] {
        assert_eq!(
            models
                .check(&ModelName::parse(name).unwrap())
                .unwrap_err()
                .to_string(),
            expected
        );
    }
    models
        .check(&ModelName::parse("ollama/m").unwrap())
        .unwrap();
    let anywhere = Models::new(environment(&[]), Some("http://127.0.0.1:1".to_owned()));
    anywhere
        .check(&ModelName::parse("nobody/m").unwrap())
        .unwrap();
    anywhere
        .check(&ModelName::parse("openai/m").unwrap())
        .unwrap();
}

#[test]
fn a_script_is_opened_once_and_counts_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    std::fs::write(
        &file,
        "{\"reply\": {\"text\": \"once\"}, \"times\": 1}\n{\"reply\": {\"text\": \"then\"}}\n",
    )
    .unwrap();
    let name = ModelName::Script(file);
    let request = crate::test_server::request(&name.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let models = Models::new(Environment::default(), None);
    let mut replies = Vec::new();
    for _ in 0..2 {
        let model = models.open(&name, &[]).unwrap();
        replies.push(
            runtime
                .block_on(model.complete(&request, &mut |_| {}))
                .unwrap(),
        );
    }
    let resumed = Models::new(Environment::default(), None)
        .open(&name, &replies)
        .unwrap();
    replies.push(
        runtime
            .block_on(resumed.complete(&request, &mut |_| {}))
            .unwrap(),
    );
    let texts: Vec<&str> = replies.iter().map(|reply| reply.text.as_str()).collect();
    assert_eq!(texts, ["once", "then", "then"]);
}
