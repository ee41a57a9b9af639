//! The JSON schemas of the outputs, made of their types: one for each command that has `--json`,
//! one for the events and one for errors.

use std::collections::BTreeSet;

use orchestrate_core::event::VERSION;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::envelope::Envelope;
use super::event_line::EventLine;
use super::output::Output;

/// The prefix of a reference to a definition of the same schema.
const DEFINITIONS: &str = "#/$defs/";

/// A schema that can be asked for.
#[derive(Debug)]
pub(crate) struct Described {
    /// Its name: the words of a command, or what it describes.
    pub(crate) name: &'static str,
    /// The values of `type` of the outputs that it describes.
    types: &'static [&'static str],
    /// The events that it describes besides.
    events: Events,
}

/// Which events a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Events {
    None,
    /// Those of its own time: at their end, the report stands in the place of the event of its
    /// type.
    New,
    /// Earlier ones as well: where a run has ended before and went on, the event of that.
    All,
}

/// The `type` of an error, which every command may print instead of its result.
const ERROR: &str = "error";
/// What follows a run to its end prints.
const OF_RUN: &[&str] = &["run.finished", "run.status"];
/// What follows a run that may stay open for people prints.
const OF_OPEN_RUN: &[&str] = &["run.finished", "run.status", "request.answered"];
/// What sends a request to a run prints: the answer, or the run that it has taken over.
const OF_REQUEST: &[&str] = &["answer", "run.finished", "run.status"];

/// All schemas, by name.
pub(crate) const SCHEMAS: [Described; 40] = [
    streaming("adopt", OF_REQUEST),
    printing("agents list", &["agents"]),
    printing("agents show", &["agent"]),
    streaming("approve", OF_REQUEST),
    printing("audit show", &["audit.call", "audit.foreign"]),
    printing("audit verify", &["audit"]),
    printing("cache clear", &["cache.cleared"]),
    printing("cache stats", &["cache"]),
    printing("check", &["check", "map"]),
    printing("clean", &["clean", "clean.landed"]),
    printing("config show", &["config"]),
    printing("config trust", &["config.trust"]),
    printing("diff", &["diff", "diff.task"]),
    printing("discard", &["discard"]),
    printing("doctor", &["doctor"]),
    printing("drop", &["drop"]),
    printing(ERROR, &[]),
    showing("events", &[]),
    printing("init", &["init"]),
    streaming("land", &["run.landed", "run.unlanded", "run.proposed"]),
    showing("log", &[]),
    streaming("message", OF_REQUEST),
    printing("permissions check", &["permission"]),
    streaming("plan", OF_RUN),
    printing("recover", &["recover", "recover.restored"]),
    streaming("reject", OF_REQUEST),
    streaming("resume", OF_OPEN_RUN),
    streaming("retry", OF_REQUEST),
    printing("review", &["review", "review.task"]),
    streaming("run", OF_OPEN_RUN),
    printing("schema", &["schemas", "schema"]),
    printing("status", &["run.finished", "run.status", "runs"]),
    printing("stop", &["answer"]),
    printing("tool run", &[]),
    printing("tools check", &["tools.check"]),
    printing("tools docs", &["tools"]),
    printing("tools info", &["tool"]),
    printing("tools list", &["tools"]),
    printing("tools search", &["tools"]),
    showing("watch", OF_RUN),
];

/// Returns the schema of a command that prints these types.
const fn printing(name: &'static str, types: &'static [&'static str]) -> Described {
    Described {
        name,
        types,
        events: Events::None,
    }
}

/// Returns the schema of a command that prints what happens, too.
const fn streaming(name: &'static str, types: &'static [&'static str]) -> Described {
    Described {
        name,
        types,
        events: Events::New,
    }
}

/// Returns the schema of a command that prints what has happened, too.
const fn showing(name: &'static str, types: &'static [&'static str]) -> Described {
    Described {
        name,
        types,
        events: Events::All,
    }
}

/// Makes the schema of one line of output.
pub(crate) fn schema_of(described: &Described) -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut outputs = <Envelope<Output>>::json_schema(&mut generator);
    keep_types(&mut outputs, described);
    let mut alternatives = vec![outputs];
    if described.events != Events::None {
        let mut event = <Envelope<EventLine>>::json_schema(&mut generator);
        if described.events == Events::New {
            let reported = json!({"properties": {"type": {"enum": described.types}}});
            event.insert("not".to_owned(), reported);
        }
        alternatives.push(event);
    }
    let definitions = needed_definitions(&mut generator, &alternatives);
    let name = described.name;
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "description": format!(
            "A line that `orchestrate` prints as JSON for `{name}`, in version {VERSION} of the \
             format."
        ),
        "anyOf": alternatives,
        "$defs": definitions,
    })
}

/// Leaves of all outputs those that are described, and errors.
fn keep_types(outputs: &mut Schema, described: &Described) {
    let alternatives = outputs.get_mut("oneOf").and_then(Value::as_array_mut);
    if let Some(alternatives) = alternatives {
        alternatives.retain(|alternative| {
            let kind = alternative.pointer("/properties/type/const");
            let kind = kind.and_then(Value::as_str);
            kind.is_some_and(|kind| kind == ERROR || described.types.contains(&kind))
        });
    }
}

/// Returns the definitions that these schemas refer to, and that those refer to.
fn needed_definitions(generator: &mut SchemaGenerator, schemas: &[Schema]) -> Map<String, Value> {
    let mut all = generator.take_definitions(true);
    let mut open = BTreeSet::new();
    for schema in schemas {
        collect_references(schema.as_value(), &mut open);
    }
    let mut needed = Map::new();
    while let Some(name) = open.pop_first() {
        if let Some(definition) = all.remove(&name) {
            collect_references(&definition, &mut open);
            needed.insert(name, definition);
        }
    }
    needed.sort_keys();
    needed
}

fn collect_references(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            let name = reference.and_then(|reference| reference.strip_prefix(DEFINITIONS));
            names.extend(name.map(str::to_owned));
            fields
                .values()
                .for_each(|inner| collect_references(inner, names));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|inner| collect_references(inner, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types_in(schema: &Value) -> Vec<&str> {
        let alternatives = schema.pointer("/anyOf/0/oneOf").and_then(Value::as_array);
        let types = alternatives.into_iter().flatten();
        types
            .filter_map(|one| one.pointer("/properties/type/const")?.as_str())
            .collect()
    }

    #[test]
    fn a_schema_has_the_types_that_its_command_prints() {
        let mut printed: BTreeSet<&str> = BTreeSet::new();
        for described in &SCHEMAS {
            let schema = schema_of(described);
            let types: BTreeSet<&str> = types_in(&schema).into_iter().collect();
            let expected = described.types.iter().chain(&[ERROR]).copied();
            assert_eq!(types, expected.collect(), "{}", described.name);
            printed.extend(described.types.iter().copied());
        }
        // Each output is of a command.
        let all = <Envelope<Output>>::json_schema(&mut SchemaGenerator::default());
        let all = json!({"anyOf": [all]});
        let unused: Vec<&str> = types_in(&all)
            .into_iter()
            .filter(|kind| *kind != ERROR && !printed.contains(kind))
            .collect();
        assert_eq!(unused, [""; 0]);
    }
}
