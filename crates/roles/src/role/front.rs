//! Parses the front matter of a role: the keys, their aliases and the values that they accept.

use std::borrow::Cow;

use orchestrate_core::event::settings::{LEAST_CONTEXT_REASON, LEAST_CONTEXT_TOKENS};
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::policy::{Permission, Rule, RuleText};
use orchestrate_core::{Address, MapChoice};
use serde_json::Value;

use super::definition::{Role, RoleError, RoleWarning};
use super::product::Product;
use crate::front_and_body::{Front, text};
use orchestrate_core::text::similar::nearest;

/// The key below `metadata` for what a role delivers.
pub(super) const DELIVERS: &str = "orchestrate-delivers";

/// The meaning of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Name,
    Description,
    Tools,
    Disallowed,
    Model,
    Fallback,
    MaxTurns,
    Permission,
    Channels,
    Map,
    Metadata,
    /// Whether the role is switched off.
    Disabled,
    /// `local`, or `remote` for an agent that runs elsewhere.
    Kind,
}

const KEYS: &[(&str, Key)] = &[
    ("name", Key::Name),
    ("description", Key::Description),
    ("tools", Key::Tools),
    ("disallowedTools", Key::Disallowed),
    ("disallowed-tools", Key::Disallowed),
    ("disallowed_tools", Key::Disallowed),
    ("model", Key::Model),
    ("fallback", Key::Fallback),
    ("fallback_models", Key::Fallback),
    ("maxTurns", Key::MaxTurns),
    ("max_turns", Key::MaxTurns),
    ("maxSteps", Key::MaxTurns),
    ("steps", Key::MaxTurns),
    ("permission", Key::Permission),
    ("channels", Key::Channels),
    ("map", Key::Map),
    ("metadata", Key::Metadata),
    ("disable", Key::Disabled),
    ("disabled", Key::Disabled),
    ("kind", Key::Kind),
];

/// Keys of other products that have no meaning here and are ignored silently.
const COSMETIC: &str = "
    argument-hint color disable-model-invocation hidden infer isolation license mode target
    user-invocable";

/// Keys of other products that are ignored with a warning, since their authors expect an effect.
const UNUSED: &str = "
    autoCompactWindow background effort handoffs hooks initialPrompt mcp-servers mcpServers memory
    observer observerMessage omitClaudeMd permissionMode prompt skills temperature timeout_mins
    top_p variant";

/// Model aliases of other products; a role that names one uses the run's own model.
const OTHERS_MODELS: &[&str] = &["sonnet", "opus", "haiku"];

/// Our own settings below `metadata`.
const SETTINGS: &[&str] = &[
    DELIVERS,
    "orchestrate-nothing-to-do",
    "orchestrate-hand-back",
    "orchestrate-context-tokens",
    "orchestrate-max-output-tokens",
    "orchestrate-max-turns",
    "orchestrate-permissions",
];

/// What `channels` lists.
const CHANNELS: &str =
    "a list of `parent`, `children`, `siblings`, `role:NAME`, `all`, `user` and ids of tasks";

/// What `map` is.
const MAP: &str = "on, off or a number of tokens";

/// Parses the front matter of a role's file.
///
/// # Errors
/// The text is not a YAML mapping.
pub(super) fn parse(role: &str, text: &str) -> Result<Front, RoleError> {
    Front::parse(text).map_err(|wrong| RoleError::FrontMatter {
        role: role.to_owned(),
        line: wrong.line,
        reason: wrong.reason,
    })
}

/// Makes a role of its front matter.
pub(super) struct Reader<'a> {
    pub(super) role: &'a str,
    pub(super) product: Product,
    pub(super) front: &'a Front,
    pub(super) names: &'a ToolNames,
    pub(super) warnings: Vec<RoleWarning>,
}

impl Reader<'_> {
    /// Returns the line of a key in the file, from 1.
    fn line(&self, key: &str) -> usize {
        self.front.line(key)
    }

    /// Stores one key's value, or warns that it has no effect.
    ///
    /// # Errors
    /// The value is not valid for its key.
    pub(super) fn store(
        &mut self,
        role: &mut Role,
        key: &str,
        value: &Value,
    ) -> Result<(), RoleError> {
        let Some((_, known)) = KEYS.iter().find(|(name, _)| *name == key) else {
            self.without_effect(role, key, value);
            return Ok(());
        };
        if value.is_null() {
            return Ok(());
        }
        match known {
            Key::Name if self.product.names_by_file() => {}
            Key::Name => role.name = self.require(text(value), key, "a text")?,
            Key::Description => role.description = self.require(text(value), key, "a text")?,
            Key::Tools => {
                self.tools(role, key, value)?;
                self.patterns(key, value);
            }
            Key::Disallowed => {
                self.patterns(key, value);
                let names = self.require(list(value), key, "a list of tools")?;
                role.disallowed
                    .extend(names.iter().flat_map(|name| self.tools_of(name)));
            }
            Key::Model => self.model(role, key, value)?,
            Key::Fallback => {
                role.fallback = Some(self.require(list(value), key, "a list of models")?)
            }
            Key::MaxTurns => {
                role.max_turns = Some(self.require(number(value), key, "a number of turns")?)
            }
            Key::Permission => self.rules(role, key, value)?,
            Key::Channels => role.channels = Some(self.require(channels(value), key, CHANNELS)?),
            Key::Map => role.map = Some(self.require(map_choice(value), key, MAP)?),
            Key::Metadata => self.metadata(role, key, value)?,
            Key::Disabled if *value == Value::Bool(true) => {
                return Err(RoleError::Disabled(self.role.to_owned()));
            }
            Key::Kind if *value == "remote" => return Err(RoleError::Remote(self.role.to_owned())),
            Key::Disabled | Key::Kind => {}
        }
        Ok(())
    }

    /// Warns that a key has no effect, unless that is plain.
    fn without_effect(&mut self, role: &mut Role, key: &str, value: &Value) {
        if UNUSED.split_whitespace().any(|name| name == key) {
            if !value.is_null() {
                let (line, key) = (self.line(key), key.to_owned());
                self.warnings.push(RoleWarning::UnusedKey { line, key });
            }
        } else if !COSMETIC.split_whitespace().any(|name| name == key) {
            let known = KEYS.iter().map(|(name, _)| *name);
            let others = [COSMETIC, UNUSED].map(str::split_whitespace);
            self.unknown(key, known.chain(others.into_iter().flatten()));
            role.unknown.insert(key.to_owned(), value.clone());
        }
    }

    /// Parses the model. One that only its own product knows has no effect, since the run has a
    /// model anyway.
    fn model(&mut self, role: &mut Role, key: &str, value: &Value) -> Result<(), RoleError> {
        let requires_provider = self.product.requires_provider();
        let named = text(value).filter(|name| name != "inherit");
        let is_known = |name: &&String| {
            !OTHERS_MODELS.contains(&name.as_str()) && (!requires_provider || name.contains('/'))
        };
        role.model = named.as_ref().filter(is_known).cloned();
        if !requires_provider {
            self.require(text(value), key, "provider/model or `inherit`")?;
        }
        if role.model.is_none() && text(value).as_deref() != Some("inherit") {
            self.warnings.push(RoleWarning::ForeignModel {
                line: self.line(key),
                model: shown(value),
            });
        }
        Ok(())
    }

    fn unknown<'k>(&mut self, key: &str, known: impl Iterator<Item = &'k str>) {
        let (line, key) = (self.line(key), key.to_owned());
        self.warnings.push(match nearest(&key, known) {
            Some(known) => RoleWarning::MisspelledKey {
                line,
                known: known.to_owned(),
                key,
            },
            None => RoleWarning::UnknownKey { line, key },
        });
    }

    fn require<T>(
        &self,
        value: Option<T>,
        key: &str,
        expected: impl Into<Cow<'static, str>>,
    ) -> Result<T, RoleError> {
        value.ok_or_else(|| RoleError::Value {
            role: self.role.to_owned(),
            line: self.line(key),
            key: key.to_owned(),
            expected: expected.into(),
        })
    }

    /// Parses `tools`: a string, a list, or a map from name to whether it is allowed. A map
    /// switches tools of the default set off, and others on; with `"*": false` it starts from none.
    fn tools(&self, role: &mut Role, key: &str, value: &Value) -> Result<(), RoleError> {
        let expected = "a list of tools";
        let Value::Object(map) = value else {
            let named = self.require(list(value), key, expected)?;
            let named = named.iter().flat_map(|name| self.tools_of(name)).collect();
            role.tools = without_all(named);
            return Ok(());
        };
        let mut allowed: Vec<String> = Vec::new();
        for (name, value) in map {
            match self.require(value.as_bool(), key, expected)? {
                true => allowed.extend(self.tools_of(name)),
                false => role.disallowed.extend(self.tools_of(name)),
            }
        }
        role.disallowed.retain(|name| name != "*");
        let is_none = map.get("*") == Some(&Value::Bool(false));
        if is_none {
            role.tools = without_all(allowed);
        } else if !allowed.iter().all(|name| self.is_default(name)) {
            let mut tools: Vec<String> = self.names.defaults().map(str::to_owned).collect();
            tools.extend(allowed);
            role.tools = without_all(tools);
        }
        Ok(())
    }

    fn is_default(&self, tool: &str) -> bool {
        self.names
            .tool(tool)
            .is_some_and(|traits| traits.is_default)
    }

    /// Returns the canonical names of the tools that a name in a list stands for.
    fn tools_of(&self, name: &str) -> Vec<String> {
        self.names.in_role(without_pattern(name))
    }

    /// Warns of patterns in a list of tools, such as `Bash(git status:*)`, which restrict nothing
    /// here.
    fn patterns(&mut self, key: &str, value: &Value) {
        let names = match value {
            Value::Object(map) => map.keys().cloned().collect(),
            other => list(other).unwrap_or_default(),
        };
        let line = self.line(key);
        for written in names {
            let pattern = written.split_once('(').map_or("", |(_, rest)| rest);
            if matches!(pattern.trim_end_matches(')').trim(), "" | "*") {
                continue;
            }
            let tool = self.names.canonical(without_pattern(&written));
            self.warnings.push(RoleWarning::UnappliedPattern {
                line,
                written,
                tool,
            });
        }
    }

    /// Parses `allow`, `ask` or `deny` for all tools, or a map from tool to one of these, or to a
    /// map from pattern to one of these.
    fn rules(&self, role: &mut Role, key: &str, value: &Value) -> Result<(), RoleError> {
        let mut rules = Vec::new();
        match value {
            Value::Object(tools) => {
                for (name, value) in tools {
                    let Value::Object(patterns) = value else {
                        rules.push((name.clone(), value));
                        continue;
                    };
                    for (pattern, value) in patterns {
                        rules.push((format!("{name}({pattern})"), value));
                    }
                }
            }
            value => rules.push(("*".to_owned(), value)),
        }
        for (rule, value) in rules {
            let decision = serde_json::from_value(value.clone()).ok();
            let decision = self.require(decision, key, "a map from tool to allow, ask or deny")?;
            let rule = RuleText::new(decision, rule, format!("role {}", self.role));
            self.require(
                Rule::parse(&rule, self.names).ok(),
                key,
                "names of tools and patterns such as `git *`",
            )?;
            role.rules.push(rule);
        }
        Ok(())
    }

    fn metadata(&mut self, role: &mut Role, key: &str, value: &Value) -> Result<(), RoleError> {
        for (key, value) in self.require(value.as_object(), key, "a map")? {
            match key.as_str() {
                DELIVERS => {
                    let delivers = serde_json::from_value(value.clone()).ok();
                    role.delivers =
                        self.require(delivers, key, "changes, report, verdict or plan")?;
                }
                "orchestrate-nothing-to-do" => {
                    role.may_do_nothing = self.require(truth(value), key, "true or false")?;
                }
                "orchestrate-hand-back" => {
                    let strict = match value.as_str() {
                        Some("strict") => Some(true),
                        Some("shown") => Some(false),
                        _ => None,
                    };
                    role.strict_hand_back = self.require(strict, key, "strict or shown")?;
                }
                "orchestrate-context-tokens" => {
                    let enough = number(value).filter(|tokens| *tokens >= LEAST_CONTEXT_TOKENS);
                    let expected = format!(
                        "a number of tokens from {LEAST_CONTEXT_TOKENS}{LEAST_CONTEXT_REASON}"
                    );
                    role.context_tokens = Some(self.require(enough, key, expected)?);
                }
                "orchestrate-max-output-tokens" => {
                    role.max_output_tokens =
                        Some(self.require(number(value), key, "a number of tokens")?);
                }
                "orchestrate-max-turns" => {
                    role.max_turns = Some(self.require(number(value), key, "a number of turns")?);
                }
                "orchestrate-permissions" => {
                    let names = self.require(list(value), key, "a list of permissions")?;
                    let named = names.iter().map(|name| Permission::named(name)).collect();
                    role.permissions =
                        Some(self.require(named, key, "permissions such as file_read")?);
                }
                // Other products' keys below `metadata` are ignored.
                other if other.starts_with("orchestrate-") => {
                    self.unknown(other, SETTINGS.iter().copied())
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Parses a positive number, which may be written as a string.
fn number<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    let number: u64 = text(value)?.parse().ok()?;
    T::try_from(number).ok().filter(|_| number > 0)
}

/// Parses `true` or `false`, as a YAML value or as the text that other products require below
/// `metadata`.
fn truth(value: &Value) -> Option<bool> {
    let said = value.as_str().and_then(|text| text.trim().parse().ok());
    said.or_else(|| value.as_bool())
}

/// Parses a list, which may be one string with commas; commas inside parentheses do not separate.
fn list(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        Value::String(all) => {
            let mut depth = 0usize;
            let separates = |c: char| {
                match c {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                c == ',' && depth == 0
            };
            Some(
                all.split(separates)
                    .map(str::trim)
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
            )
        }
        _ => None,
    }
}

/// Parses a list of addresses; an empty one allows no message.
fn channels(value: &Value) -> Option<Vec<Address>> {
    let named = list(value)?;
    let is_named = |name: &String| !name.is_empty() && name != "role:";
    named.iter().all(is_named).then(|| {
        named
            .iter()
            .map(|name| Address::from(name.as_str()))
            .collect()
    })
}

/// Parses whether there is a map, and how large; YAML takes some of the words for truth values.
fn map_choice(value: &Value) -> Option<MapChoice> {
    match (truth(value), value.as_str().map(str::trim)) {
        (Some(true), _) | (_, Some("on")) => Some(MapChoice::On),
        (Some(false), _) | (_, Some("off")) => Some(MapChoice::Off),
        _ => number(value).map(MapChoice::Tokens),
    }
}

/// Returns names without doubles; `None` if all tools are meant.
fn without_all(names: Vec<String>) -> Option<Vec<String>> {
    let mut unique: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        if name == "*" {
            return None;
        }
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    Some(unique)
}

/// Returns the name of a tool in a list without a pattern such as that of `Bash(git:*)`.
fn without_pattern(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}

/// Returns a value as it is shown in a warning.
fn shown(value: &Value) -> String {
    text(value).unwrap_or_else(|| value.to_string())
}
