//! Lines for commands of the user's own, which no run has made: their chain follows from the file
//! alone.

use serde_json::Value;

use super::{Chain, Decision, DecisionOutcome, Entry, lines, sealed};
use crate::event::{ResourceUsage, rfc3339};
use crate::ids::{AgentId, CallId, RunId};

/// A command of the user's own that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandEnd {
    /// Its id.
    pub call: CallId,
    /// The caller, as its key names them.
    pub agent: AgentId,
    /// The name of the tool.
    pub tool: String,
    /// The command, secrets redacted.
    pub parameters: Value,
    /// Its exit code.
    pub exit_code: i32,
    /// Why it failed, unless the code says it.
    pub error: Option<String>,
    /// Whether its result was replayed, so that nothing ran.
    pub cached: bool,
    /// The caller's iteration; 0 if it names none.
    pub iter: u32,
    /// How long it ran in milliseconds.
    pub duration_ms: u64,
    /// When it ended, in Unix milliseconds.
    pub ended_ms: u64,
}

/// Returns a chain's newest line in a file as it is, whether what is before it is right or not.
pub fn last_of(text: &str, chain: &RunId) -> Chain {
    let of_chain = lines(text)
        .flatten()
        .filter(|line| line.entry.run_id == *chain);
    of_chain.last().map_or_else(Chain::default, |line| Chain {
        lines: line.entry.seq,
        head: line.hash.to_owned(),
    })
}

/// Returns the line of a command that follows a chain's newest one, without its end; `None` for
/// parameters that are no JSON.
pub fn line_after(last: &Chain, chain: &RunId, end: CommandEnd) -> Option<String> {
    let success = end.exit_code == 0;
    let error = if success {
        None
    } else if let Some(error) = &end.error {
        Some(error.clone())
    } else {
        Some(format!("exit code {}", end.exit_code))
    };
    let entry = Entry {
        timestamp: rfc3339(end.ended_ms),
        agent_id: end.agent,
        tool_name: end.tool,
        parameters: end.parameters,
        success,
        execution_time: std::time::Duration::from_millis(end.duration_ms).as_secs_f64(),
        error,
        cached: end.cached,
        error_class: None,
        exit_code: Some(end.exit_code),
        // The user has typed it.
        decision: Decision {
            outcome: DecisionOutcome::Allowed,
            rule: "typed".to_owned(),
            by: None,
        },
        egress: Vec::new(),
        recovered: Vec::new(),
        resource_usage: ResourceUsage {
            wall_ms: end.duration_ms,
            ..ResourceUsage::default()
        },
        taint: Vec::new(),
        run_id: chain.clone(),
        turn: end.iter,
        call_id: end.call,
        seq: last.lines + 1,
        previous: last.head.clone(),
    };
    sealed(&entry).map(|(line, _)| line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::projections::audit::check;

    fn end(call: &str, exit_code: i32) -> CommandEnd {
        CommandEnd {
            call: CallId::new(call),
            agent: AgentId::new("local"),
            tool: "true".to_owned(),
            parameters: json!({"command": ["true"]}),
            exit_code,
            error: None,
            cached: false,
            iter: 3,
            duration_ms: 12,
            ended_ms: 1_000,
        }
    }

    #[test]
    fn the_lines_of_commands_are_a_chain_of_their_own() {
        let (chain, other) = (RunId::new("tool-run-a"), RunId::new("tool-run-b"));
        let mut text = String::new();
        for (of, call, exit_code) in [(&chain, "1", 0), (&other, "1", 0), (&chain, "2", 7)] {
            let line = line_after(&last_of(&text, of), of, end(call, exit_code)).unwrap();
            text.push_str(&format!("{line}\n"));
        }
        let chains = check(&text).unwrap();
        assert_eq!((chains[&chain].lines, chains[&other].lines), (2, 1));
        assert_eq!(last_of(&text, &chain).head, chains[&chain].head);
        let failed = text.lines().last().unwrap();
        assert!(
            failed.contains(
                r#""success":false,"execution_time":0.012,"error":"exit code 7","exit_code":7"#
            ),
            "{failed}"
        );
        // A line that is gone is missed.
        let rest: String = text
            .lines()
            .skip(1)
            .map(|line| format!("{line}\n"))
            .collect();
        assert!(check(&rest).is_err());
    }
}
