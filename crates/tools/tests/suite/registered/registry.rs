//! Tests of the registry: tools are added under open categories and found in every way.

use std::sync::Arc;

use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{Answer, Category, Tool, ToolsError, plain_tools};
use serde_json::json;

use crate::probe::probe;
use crate::support::{said, unconfined};

fn names(tools: &[&Arc<dyn Tool>]) -> Vec<String> {
    tools.iter().map(|tool| tool.name().to_owned()).collect()
}

pub(crate) async fn a_strangers_tool_is_found_by_name_category_and_words(_: ToolHarness) {
    let mut registry = plain_tools().unwrap();
    let before = names(&registry.tools(None));
    let stranger = || {
        Arc::new(probe(|_| {
            Box::pin(async { Ok(Answer::new("done", json!(null))) })
        }))
    };
    registry
        .register(stranger(), Category::named("deployment"))
        .unwrap();

    assert_eq!(
        registry.tool("probe").map(|tool| tool.name()),
        Some("probe")
    );
    assert!(registry.tool("Probe").is_none() && registry.tool("no_such_tool").is_none());
    assert_eq!(
        names(&registry.tools(Some(&Category::named("deployment")))),
        ["probe"]
    );
    assert!(registry.tools(Some(&Category::named("nothing"))).is_empty());
    let all = names(&registry.tools(None));
    assert!(
        all.len() == before.len() + 1
            && before.iter().all(|name| all.contains(name))
            && all.is_sorted()
    );

    // By name, by description, and by what its parameters say.
    assert_eq!(names(&registry.search("PROB")), ["probe"]);
    assert_eq!(names(&registry.search("what the test says")), ["probe"]);
    assert_eq!(names(&registry.search("api_key")), ["probe"]);
    assert!(registry.search("nothing that any tool says").is_empty());

    let again = registry.register(stranger(), Category::MEMORY);
    assert!(matches!(again, Err(ToolsError::Duplicate(name)) if name == "probe"));
    let harness = ToolHarness::new(registry, unconfined()).unwrap();
    assert_eq!(said(&harness.call("probe", json!({})).await), "ok: done");
}
