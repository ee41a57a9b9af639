//! The lists of tools that agents have, each kept once: all agents of a role have the same, and the
//! descriptions and schemas are by far the largest part of what an agent keeps in memory.

use std::sync::Arc;

use orchestrate_core::ToolSpec;
use orchestrate_core::collections::Mutex;

/// How many lists are kept: a run has few roles. Further ones are not shared.
const MOST_LISTS: usize = 32;

/// The lists of tools that agents have.
#[derive(Default)]
pub(crate) struct ToolLists(Mutex<Vec<Arc<[ToolSpec]>>>);

impl ToolLists {
    /// Returns the list that is kept, if it is equal; keeps this one otherwise.
    pub(crate) fn shared(&self, tools: Arc<[ToolSpec]>) -> Arc<[ToolSpec]> {
        let mut lists = self.0.lock();
        if let Some(known) = lists.iter().find(|known| **known == tools) {
            return Arc::clone(known);
        }
        if lists.len() < MOST_LISTS {
            lists.push(Arc::clone(&tools));
        }
        tools
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(name: &str) -> Arc<[ToolSpec]> {
        let tool = ToolSpec {
            name: name.to_owned(),
            description: "finds".to_owned(),
            parameters: serde_json::json!({ "type": "object" }),
        };
        [tool].into()
    }

    #[test]
    fn agents_with_the_same_tools_share_one_list() {
        let lists = ToolLists::default();
        let first = lists.shared(tools("grep"));
        assert!(Arc::ptr_eq(&first, &lists.shared(tools("grep"))));
        let other = lists.shared(tools("glob"));
        assert_eq!(other, tools("glob"));
        assert!(!Arc::ptr_eq(&first, &other));
    }
}
