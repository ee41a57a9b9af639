//! The tools that a program adds to the built-in ones, as a run freezes them in its first event.
//!
//! Only the program has their code, so a run that started with them can be continued only by a
//! program that has them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The tools that a program adds to the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ToolExtensions {
    /// The names of the tools that it adds one by one.
    pub tools: Vec<String>,
    /// The plugins.
    pub plugins: Vec<PluginTools>,
}

/// A plugin and the tools that it brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PluginTools {
    /// The name of the plugin.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The names of its tools.
    pub tools: Vec<String>,
}

impl ToolExtensions {
    /// Returns the part of these tools that is not among the ones of another program; `None` if
    /// that has all of them. A plugin of another version counts as the same plugin if it still has
    /// the tools.
    pub fn missing_in(&self, other: &ToolExtensions) -> Option<MissingTools> {
        let mut missing = MissingTools::default();
        for plugin in &self.plugins {
            let same = other.plugins.iter().find(|known| known.name == plugin.name);
            let mut tools = plugin.tools.clone();
            if let Some(same) = same {
                tools.retain(|tool| !same.tools.contains(tool));
            }
            if same.is_none() || !tools.is_empty() {
                missing.plugins.push(PluginTools {
                    tools,
                    ..plugin.clone()
                });
            }
        }
        for name in &self.tools {
            if !other.all().any(|known| known == name) {
                missing.tools.push(name.clone());
            }
        }
        (missing != MissingTools::default()).then_some(missing)
    }

    /// Returns the plugins whose version differs in another program, each with the version there.
    pub fn other_versions<'a>(
        &'a self,
        other: &'a ToolExtensions,
    ) -> impl Iterator<Item = (&'a PluginTools, &'a str)> {
        self.plugins.iter().filter_map(|plugin| {
            let same = other
                .plugins
                .iter()
                .find(|known| known.name == plugin.name)?;
            (same.version != plugin.version).then_some((plugin, same.version.as_str()))
        })
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.tools
            .iter()
            .chain(self.plugins.iter().flat_map(|plugin| &plugin.tools))
    }
}

/// Tools that a run started with and a program lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingTools {
    /// Tools that the program added one by one.
    pub tools: Vec<String>,
    /// Plugins, each with those of its tools that are missing.
    pub plugins: Vec<PluginTools>,
}

impl fmt::Display for MissingTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_plugins = self.plugins.iter().map(|plugin| {
            let PluginTools {
                name,
                version,
                tools,
            } = plugin;
            match tools.is_empty() {
                true => format!("the plugin `{name}` {version}"),
                false => format!("the plugin `{name}` {version} with {}", named(tools)),
            }
        });
        let alone = Some(named(&self.tools)).filter(|_| !self.tools.is_empty());
        f.write_str(&of_plugins.chain(alone).collect::<Vec<_>>().join(", and "))
    }
}

fn named(tools: &[String]) -> String {
    let kind = if tools.len() == 1 {
        "the tool"
    } else {
        "the tools"
    };
    format!("{kind} `{}`", tools.join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(name: &str, version: &str, tools: &[&str]) -> PluginTools {
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        PluginTools {
            name: name.to_owned(),
            version: version.to_owned(),
            tools,
        }
    }

    fn extensions(tools: &[&str], plugins: &[PluginTools]) -> ToolExtensions {
        ToolExtensions {
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            plugins: plugins.to_vec(),
        }
    }

    #[test]
    fn what_a_program_lacks_is_named() {
        let frozen = extensions(&["own"], &[plugin("words", "1.0", &["count", "sort"])]);
        let table = [
            (
                extensions(&["own"], &[plugin("words", "1.0", &["count", "sort"])]),
                None,
            ),
            (
                extensions(
                    &["own", "more"],
                    &[plugin("words", "2.0", &["count", "sort", "more"])],
                ),
                None,
            ),
            // A tool that a plugin brings now is there, too.
            (
                extensions(&[], &[plugin("words", "1.0", &["count", "sort", "own"])]),
                None,
            ),
            (
                extensions(&[], &[plugin("words", "1.0", &["count", "sort"])]),
                Some("the tool `own`"),
            ),
            (
                extensions(&["own"], &[plugin("words", "2.0", &["count"])]),
                Some("the plugin `words` 1.0 with the tool `sort`"),
            ),
            (
                // The plugin itself is what the run used, whatever else has the names.
                extensions(&["count", "sort"], &[]),
                Some("the plugin `words` 1.0 with the tools `count`, `sort`, and the tool `own`"),
            ),
        ];
        for (here, expected) in table {
            let missing = frozen.missing_in(&here).map(|missing| missing.to_string());
            assert_eq!(missing.as_deref(), expected, "{here:?}");
        }
        assert_eq!(ToolExtensions::default().missing_in(&frozen), None);
    }

    #[test]
    fn other_versions_of_a_plugin_are_listed() {
        let frozen = extensions(&[], &[plugin("a", "1", &["x"]), plugin("b", "1", &["y"])]);
        let here = extensions(&[], &[plugin("a", "2", &["x"]), plugin("b", "1", &["y"])]);
        let found: Vec<_> = frozen
            .other_versions(&here)
            .map(|(plugin, here)| (plugin.name.as_str(), here))
            .collect();
        assert_eq!(found, [("a", "2")]);
    }
}
