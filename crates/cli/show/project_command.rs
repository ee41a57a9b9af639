//! A command that a project's files name, as the user is asked about it.

use std::fmt::Write as _;

use orchestrate_settings::consent::{NetworkUse, ProjectCommand};

use crate::show::output::one_line;
use crate::show::parked_call;

/// What the network means for the user.
const NETWORK_WARNING: &str =
    "it MAY USE THE NETWORK: it can send what it reads, and reach the services of this machine";
/// How many of the files that a setup reads are named.
const MAX_NAMED: usize = 20;

/// Renders the whole command, and what it sees and reads if it may use the network.
pub(crate) fn render(command: &ProjectCommand) -> String {
    let name = if command.is_file() { "file" } else { "command" };
    let mut text = parked_call::argument(name, &command.command).trim_end().to_owned();
    text.push('\n');
    if let Some(network) = &command.network {
        text.push_str(&render_network(network));
    }
    text
}

fn render_network(network: &NetworkUse) -> String {
    let mut text = format!("{NETWORK_WARNING}.\n");
    for seen in &network.sees {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "it sees {}", one_line(seen, 200));
    }
    if !network.files.is_empty() {
        let named: Vec<String> =
            network.files.keys().take(MAX_NAMED).map(|path| one_line(&path.to_string_lossy(), 200)).collect();
        let more = network.files.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(" and {more} more files") } else { String::new() };
        let _ = writeln!(text, "it reads or runs, as far as known, {}{more}", named.join(", "));
        text.push_str("you are asked again once one of these files, or the command, has changed\n");
    }
    text
}
