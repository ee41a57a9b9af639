//! `doctor`: checks what a run needs on this machine, and prints the exact fix for what is missing.

use orchestrate_coordinator::{CheckStatus, Diagnosis};
use orchestrate_core::run::{EXIT_OK, EXIT_USAGE};
use orchestrate_settings::Layer;

use crate::args::DoctorArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::run;
use crate::json::{Envelope, Output};
use crate::show::output;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &DoctorArgs) -> Result<u8, CommandError> {
    let loaded = context.load(Vec::new(), Layer::default())?;
    let state = context.directories()?.state;
    let diagnosis = run::runtime()?.block_on(Diagnosis::run(&context.directory, &state, &loaded));
    let exit_code = if diagnosis.ok { EXIT_OK } else { EXIT_USAGE };
    if arguments.json.json {
        output::json(&Envelope::new(None, Output::Diagnosis(diagnosis)))?;
    } else {
        output::result(&render(&diagnosis))?;
    }
    Ok(exit_code)
}

fn render(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    for check in &diagnosis.checks {
        let status = match check.status {
            CheckStatus::Ok => "ok     ",
            CheckStatus::Warning => "warning",
            CheckStatus::Missing => "MISSING",
        };
        text.push_str(&format!("{status}  {:<16}  {}\n", check.name, check.found));
        if let Some(fix) = &check.fix {
            // One alternative per line.
            for (at, way) in fix
                .split("; ")
                .flat_map(|part| part.split(", or "))
                .enumerate()
            {
                let lead = if at == 0 { "fix:" } else { " or:" };
                text.push_str(&format!("         {:<16}  {lead} {way}\n", ""));
            }
        }
    }
    for program in diagnosis
        .programs
        .iter()
        .filter(|program| program.reason.is_none())
    {
        text.push_str(&format!(
            "ok       {:<16}  {}\n",
            "program",
            program.found()
        ));
    }
    let has_model = diagnosis
        .checks
        .iter()
        .any(|check| check.name == "model" && check.status == CheckStatus::Ok);
    text.push_str(if diagnosis.ok && !has_model {
        "\nready for plans of `run:` tasks; agents need a model; next: `orchestrate check PLAN`\n"
    } else if diagnosis.ok {
        "\nready to run plans; next: `orchestrate check PLAN`, then `orchestrate run PLAN`\n"
    } else {
        "\nnot ready to run plans: fix what is MISSING\n"
    });
    text
}
