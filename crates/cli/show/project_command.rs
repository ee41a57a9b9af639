//! A command that a project's files name, as the user is asked about it.

use std::fmt::Write as _;

use orchestrate_core::policy::setup_hosts::PUBLIC_REGISTRIES;
use orchestrate_settings::consent::{NetworkUse, ProjectCommand};

use crate::show::output::one_line;
use crate::show::parked_call;

/// What the network means for the user.
const NETWORK_WARNING: &str = "it MAY USE THE NETWORK, with whatever files of the project it reads \
                               and runs, and can send what it reads";

/// Renders the whole command, and what it sees and reads if it may use the network.
pub(crate) fn render(command: &ProjectCommand) -> String {
    let name = if command.is_file() { "file" } else { "command" };
    let mut text = parked_call::argument(name, &command.command)
        .trim_end()
        .to_owned();
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
    let besides: Vec<String> = network
        .hosts
        .iter()
        .map(|host| one_line(host, 200))
        .collect();
    let besides = if besides.is_empty() {
        String::new()
    } else {
        format!(", and {}", besides.join(", "))
    };
    let _ = writeln!(
        text,
        "it reaches the public registries of packages ({}){besides}; nothing else",
        PUBLIC_REGISTRIES.join(", ")
    );
    text.push_str(
        "you are asked again once the command, what it sees or a host has changed, not for files \
         that it reads\n",
    );
    text
}
