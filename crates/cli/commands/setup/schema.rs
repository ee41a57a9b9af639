//! `schema`: prints the JSON schema of what a command prints as JSON, or the names of all schemas.

use orchestrate_core::run::EXIT_OK;

use crate::args::SchemaArgs;
use crate::error::CommandError;
use crate::json::{Described, Envelope, Items, Known, Output, SCHEMAS, SchemaText, schema_of};
use crate::show::output;

/// Runs the command.
pub(crate) fn execute(arguments: &SchemaArgs) -> Result<u8, CommandError> {
    let as_json = arguments.json.json;
    match arguments.name.is_empty() {
        true => list(as_json)?,
        false => show(&arguments.name.join(" "), as_json)?,
    }
    Ok(EXIT_OK)
}

fn list(as_json: bool) -> Result<(), CommandError> {
    if as_json {
        let names = SCHEMAS.iter().map(|known| Known {
            name: known.name.to_owned(),
        });
        let names: Items<Known> = names.collect();
        return output::json(&Envelope::new(None, Output::Schemas(names)));
    }
    let names: String = SCHEMAS
        .iter()
        .map(|known| format!("{}\n", known.name))
        .collect();
    output::result(&names)
}

fn show(name: &str, as_json: bool) -> Result<(), CommandError> {
    let schema = schema_of(found(name)?);
    if as_json {
        let text = SchemaText {
            name: name.to_owned(),
            schema,
        };
        return output::json(&Envelope::new(None, Output::Schema(text)));
    }
    output::result(&format!("{schema:#}\n"))
}

fn found(name: &str) -> Result<&'static Described, CommandError> {
    if let Some(known) = SCHEMAS.iter().find(|known| known.name == name) {
        return Ok(known);
    }
    let error = CommandError::usage(format!("there is no schema `{name}`"));
    let names = SCHEMAS.iter().map(|known| known.name);
    Err(error.did_you_mean(name, names, "`orchestrate schema` lists them"))
}
