//! The limits that hold for the calls of a tool, by what it does, for listings.

use orchestrate_core::policy::Permission;
use serde_json::{Value, json};

use crate::call::CallLimits;
use crate::tool::{Category, Tool, ToolProperties};

/// Returns the limits of a tool's calls, each with its unit in its name; an empty object if none is
/// its own.
pub fn limits_of(tool: &dyn Tool, limits: &CallLimits) -> Value {
    let ToolProperties {
        permission,
        names_folders,
        reaches_remotes,
        ..
    } = tool.properties();
    match permission {
        Permission::CodeExecution => json!({
            "timeout_seconds": limits.command_timeout.as_secs(),
            "max_timeout_seconds": limits.max_command_timeout.as_secs(),
            "cpu_seconds": limits.command_cpu.map(|limit| limit.as_secs()),
            "memory_bytes": limits.command_memory_bytes,
            "processes": limits.command_processes,
            "output_bytes": limits.command_output_bytes,
        }),
        Permission::FileRead if names_folders || tool.category() == Category::ANALYSIS => {
            json!({
                "file_bytes": limits.file_bytes,
                "search_seconds": limits.search_timeout.as_secs(),
            })
        }
        Permission::FileRead | Permission::FileWrite | Permission::FileModify => {
            json!({"file_bytes": limits.file_bytes})
        }
        Permission::NetworkAccess => json!({
            "max_timeout_seconds": limits.max_web_timeout.as_secs(),
            "response_bytes": limits.web_response_bytes,
        }),
        Permission::GitOperations if reaches_remotes => {
            json!({"fetched_bytes": limits.fetched_bytes})
        }
        Permission::GitOperations
        | Permission::AgentSpawn
        | Permission::AgentMessage
        | Permission::None => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use orchestrate_core::ToolSettings;

    use super::*;
    use crate::builtin::plain_tools;

    #[test]
    fn the_limits_are_those_of_the_settings() {
        let mut settings = ToolSettings::default();
        settings.code_execution.timeout_seconds = Some(30);
        settings.web_requests.max_response_size_mb = 5;
        let (registry, limits) = (plain_tools().unwrap(), CallLimits::from_settings(&settings));
        let of = |name: &str| limits_of(registry.tool(name).unwrap().as_ref(), &limits);
        assert_eq!(of("run_shell_command")["max_timeout_seconds"], 30);
        assert_eq!(of("fetch_url")["response_bytes"], 5 << 20);
        assert_eq!(of("read_file"), json!({"file_bytes": limits.file_bytes}));
        assert!(
            of("grep")["search_seconds"].is_u64()
                && of("find_similar_code")["search_seconds"].is_u64()
        );
        assert_eq!(of("todo_write"), json!({}));
    }
}
