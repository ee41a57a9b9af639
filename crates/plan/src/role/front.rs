//! Parses the front matter of a role: the keys, their aliases and the values that they accept.

use std::borrow::Cow;

use orchestrate_core::event::settings::{LEAST_CONTEXT_REASON, LEAST_CONTEXT_TOKENS};
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::policy::{Permission, Rule, RuleDecision, RuleText};
use orchestrate_core::{Address, MapChoice};
use serde_json::{Map, Value};

use super::definition::{Role, RoleError, RoleWarning};
use super::product::Product;
use crate::front_and_body::{self, text};
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
    /// A key of other products that has no meaning here and is ignored silently.
    Cosmetic,
    /// A key of other products that is ignored with a warning, since its author expects an effect.
    Unused,
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
    ("color", Key::Cosmetic),
    ("mode", Key::Cosmetic),
    ("isolation", Key::Cosmetic),
    ("license", Key::Cosmetic),
    ("target", Key::Cosmetic),
    ("user-invocable", Key::Cosmetic),
    ("argument-hint", Key::Cosmetic),
    ("hidden", Key::Cosmetic),
    ("infer", Key::Cosmetic),
    ("disable-model-invocation", Key::Cosmetic),
    ("temperature", Key::Unused),
    ("top_p", Key::Unused),
    ("permissionMode", Key::Unused),
    ("mcpServers", Key::Unused),
    ("mcp-servers", Key::Unused),
    ("skills", Key::Unused),
    ("hooks", Key::Unused),
    ("memory", Key::Unused),
    ("background", Key::Unused),
    ("effort", Key::Unused),
    ("initialPrompt", Key::Unused),
    ("handoffs", Key::Unused),
    ("prompt", Key::Unused),
    ("variant", Key::Unused),
    ("timeout_mins", Key::Unused),
    ("omitClaudeMd", Key::Unused),
    ("autoCompactWindow", Key::Unused),
    ("observer", Key::Unused),
    ("observerMessage", Key::Unused),
];

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

/// Parses front matter into a role.
pub(super) struct Reader<'a> {
    role: &'a str,
    product: Product,
    text: &'a str,
    names: &'a ToolNames,
    pub(super) warnings: Vec<RoleWarning>,
}

impl<'a> Reader<'a> {
    /// Creates a reader; `None` counts as empty front matter.
    pub(super) fn new(
        role: &'a str,
        product: Product,
        text: Option<&'a str>,
        names: &'a ToolNames,
    ) -> Self {
        Self {
            role,
            product,
            text: text.unwrap_or_default(),
            names,
            warnings: Vec::new(),
        }
    }

    /// Parses the YAML into its top-level keys.
    ///
    /// # Errors
    /// The text is not a YAML mapping.
    pub(super) fn keys(&self) -> Result<Map<String, Value>, RoleError> {
        front_and_body::mapping(self.text).map_err(|wrong| RoleError::FrontMatter {
            role: self.role.to_owned(),
            line: wrong.line,
            reason: wrong.reason,
        })
    }

    /// Returns the line of a key in the file, from 1.
    fn line(&self, key: &str) -> usize {
        front_and_body::line_of(self.text, key)
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
            self.unknown(key, KEYS.iter().map(|(name, _)| *name));
            role.unknown.insert(key.to_owned(), value.clone());
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
            Key::Cosmetic | Key::Disabled | Key::Kind => {}
            Key::Unused => self.warnings.push(RoleWarning::UnusedKey {
                line: self.line(key),
                key: key.to_owned(),
            }),
        }
        Ok(())
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
        let allowed = match value {
            Value::Object(map) => {
                let allows = |value: &Value| self.require(value.as_bool(), key, expected);
                let mut allowed = Vec::new();
                for (name, value) in map {
                    let names = if allows(value)? {
                        &mut allowed
                    } else {
                        &mut role.disallowed
                    };
                    names.extend(self.tools_of(name));
                }
                role.disallowed.retain(|name| name != "*");
                let is_none = map.get("*") == Some(&Value::Bool(false));
                (is_none || allowed.iter().any(|name| !self.is_default(name))).then(|| {
                    let defaults = self
                        .names
                        .defaults()
                        .filter(|_| !is_none)
                        .map(str::to_owned);
                    defaults.chain(allowed).collect::<Vec<_>>()
                })
            }
            other => Some(
                self.require(list(other), key, expected)?
                    .iter()
                    .flat_map(|name| self.tools_of(name))
                    .collect(),
            ),
        };
        role.tools = allowed
            .filter(|names| !names.iter().any(|name| name == "*"))
            .map(unique);
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
        let is_restricted = |name: &String| {
            let pattern = name
                .split_once('(')
                .map(|(_, rest)| rest.trim_end_matches(')').trim());
            pattern.is_some_and(|pattern| !matches!(pattern, "" | "*"))
        };
        self.warnings
            .extend(names.into_iter().filter(is_restricted).map(|written| {
                RoleWarning::UnappliedPattern {
                    line,
                    tool: self.names.canonical(without_pattern(&written)),
                    written,
                }
            }));
    }

    /// Parses `allow`, `ask` or `deny` for all tools, or a map from tool to one of these, or to a
    /// map from pattern to one of these.
    fn rules(&self, role: &mut Role, key: &str, value: &Value) -> Result<(), RoleError> {
        let expected = "a map from tool to allow, ask or deny";
        let decide = |value: &Value| self.require(decision(value), key, expected);
        let mut rules = Vec::new();
        match value {
            Value::Object(tools) => {
                for (name, value) in tools {
                    match value {
                        Value::Object(patterns) => {
                            for (pattern, value) in patterns {
                                rules.push((format!("{name}({pattern})"), decide(value)?));
                            }
                        }
                        value => rules.push((name.clone(), decide(value)?)),
                    }
                }
            }
            value => rules.push(("*".to_owned(), decide(value)?)),
        }
        for (rule, decision) in rules {
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

fn unique(names: Vec<String>) -> Vec<String> {
    let mut unique: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}

fn decision(value: &Value) -> Option<RuleDecision> {
    serde_json::from_value(value.clone()).ok()
}

/// Returns the name of a tool in a list without a pattern such as that of `Bash(git:*)`.
fn without_pattern(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}

/// Returns a value as it is shown in a warning.
fn shown(value: &Value) -> String {
    text(value).unwrap_or_else(|| value.to_string())
}
