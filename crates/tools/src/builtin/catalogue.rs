//! The table of built-in tools, each with its description file.

use std::sync::{Arc, OnceLock};

use orchestrate_core::policy::tool_names::ToolNames;

use super::{
    agents, aggregate, analysis, children, exec, files, git, names, plan, programs, react, skill,
    todo, verdict, web,
};
use crate::answer::ToolsError;
use crate::registry::ToolRegistry;
use crate::tool::{Prompt, PromptFile, Tool};
use crate::wrapped::add_shipped;

/// Returns a project's own description file for the named tool, if it has one.
pub type Overrides<'a> = &'a dyn Fn(&str) -> Option<PromptFile>;

/// A tool's name, its embedded description file, and its constructor.
type BuiltIn = (&'static str, &'static str, fn(Prompt) -> Arc<dyn Tool>);

macro_rules! built_in {
    ($name:literal, $tool:path) => {
        (
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/prompts/tools/",
                $name,
                ".xml"
            )),
            |prompt| Arc::new($tool(prompt)),
        )
    };
}

const BUILT_INS: &[BuiltIn] = &[
    built_in!("read_file", files::ReadFile),
    built_in!("write_file", files::WriteFile),
    built_in!("update_file", files::UpdateFile),
    built_in!("append_file", files::AppendFile),
    built_in!("apply_patch", files::ApplyPatch),
    built_in!("copy_file", files::CopyFile),
    built_in!("move_file", files::MoveFile),
    built_in!("get_file_info", files::GetFileInfo),
    built_in!("delete_file", files::DeleteFile),
    built_in!("list_directory", files::ListDirectory),
    built_in!("create_directory", files::CreateDirectory),
    built_in!("search_files", files::SearchFiles),
    built_in!("grep", files::Grep),
    built_in!("run_shell_command", exec::RunShellCommand),
    built_in!("run_python", programs::RunPython),
    built_in!("run_tests", programs::RunTests),
    built_in!("run_linter", programs::RunLinter),
    built_in!("run_type_checker", programs::RunTypeChecker),
    built_in!("run_formatter", programs::RunFormatter),
    built_in!("install_package", programs::InstallPackage),
    built_in!(
        "create_virtual_environment",
        programs::CreateVirtualEnvironment
    ),
    built_in!("git_status", git::GitStatus),
    built_in!("git_diff", git::GitDiff),
    built_in!("git_log", git::GitLog),
    built_in!("git_add", git::GitAdd),
    built_in!("git_commit", git::GitCommit),
    built_in!("git_stash", git::GitStash),
    built_in!("git_branch", git::GitBranch),
    built_in!("git_checkout", git::GitCheckout),
    built_in!("git_merge", git::GitMerge),
    built_in!("git_push", git::GitPush),
    built_in!("git_pull", git::GitPull),
    built_in!("analyze_code_structure", analysis::AnalyzeCodeStructure),
    built_in!("analyze_performance", analysis::AnalyzePerformance),
    built_in!("analyze_dependencies", analysis::AnalyzeDependencies),
    built_in!("find_code_patterns", analysis::FindCodePatterns),
    built_in!("find_similar_code", analysis::FindSimilarCode),
    built_in!("measure_code_complexity", analysis::MeasureCodeComplexity),
    built_in!("web_search", web::WebSearch),
    built_in!("fetch_url", web::FetchUrl),
    built_in!("parse_documentation", web::ParseDocumentation),
    built_in!("search_stackoverflow", web::SearchStackOverflow),
    built_in!("search_github", web::SearchGithub),
    built_in!("fetch_api_docs", web::FetchApiDocs),
    built_in!("todo_write", todo::TodoWrite),
    built_in!("react", react::React),
    built_in!("read_plan", plan::ReadPlan),
    built_in!("read_skill", skill::ReadSkill),
    built_in!("review_verdict", verdict::GiveVerdict),
    built_in!("send_message_to_agent", agents::SendMessageToAgent),
    built_in!("spawn_child_agent", children::SpawnChildAgent),
    built_in!("terminate_agent", children::TerminateAgent),
    built_in!("get_agent_status", agents::GetAgentStatus),
    built_in!("list_active_agents", agents::ListActiveAgents),
    built_in!("wait_for_agents", agents::WaitForAgents),
    built_in!("aggregate_agent_results", aggregate::AggregateAgentResults),
];

/// Returns the registry of the built-in tools as they are shipped. They are made once in a process.
///
/// # Errors
/// [`ToolsError::Description`] if a description or a shipped file is malformed.
pub fn plain_tools() -> Result<ToolRegistry, ToolsError> {
    static PLAIN: OnceLock<ToolRegistry> = OnceLock::new();
    if let Some(plain) = PLAIN.get() {
        return Ok(plain.clone());
    }
    let plain = builtin_tools(&|_| None)?;
    Ok(PLAIN.get_or_init(|| plain).clone())
}

/// Creates the registry of the built-in tools, with the project's own descriptions where it has
/// any, and of the shipped `.tool` files.
///
/// # Errors
/// [`ToolsError::Description`] if a description or a shipped file is malformed.
pub fn builtin_tools(overrides: Overrides<'_>) -> Result<ToolRegistry, ToolsError> {
    let mut names = ToolNames::default();
    names::add_to(&mut names);
    let mut registry = ToolRegistry::with_names(names);
    for (name, xml, make) in BUILT_INS {
        let own = Prompt::parse(name, xml)?;
        let prompt = match overrides(name) {
            Some(project) => own.reworded(&project)?,
            None => own,
        };
        let tool = make(prompt);
        let category = tool.category();
        registry.register(tool, category)?;
    }
    add_shipped(&mut registry)?;
    Ok(registry)
}

/// Returns the parameters that a project's file describes but the tool does not have, each with its
/// position. Their descriptions have no effect. Empty for an unknown tool.
///
/// # Errors
/// [`ToolsError::Description`] if the file is malformed.
pub fn unknown_parameters(tool: &str, project: &PromptFile) -> Result<Vec<String>, ToolsError> {
    let Some((name, xml, _)) = BUILT_INS.iter().find(|(name, ..)| *name == tool) else {
        return Ok(Vec::new());
    };
    Prompt::parse(name, xml)?.unknown_parameters(project)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Category;

    #[test]
    fn every_tool_has_the_name_of_its_description_file() {
        let registry = builtin_tools(&|_| None).unwrap();
        let names: Vec<&str> = registry
            .tools(None)
            .iter()
            .map(|tool| tool.name())
            .collect();
        let mut expected: Vec<&str> = BUILT_INS.iter().map(|(name, ..)| *name).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_project_rewords_one_tool_and_no_other() {
        let text = "<tool><description>Find it</description></tool>".to_owned();
        let file = PromptFile {
            path: "grep.xml".to_owned(),
            text,
        };
        let project = |name: &str| (name == "grep").then(|| file.clone());
        let own = builtin_tools(&|_| None).unwrap();
        let reworded = builtin_tools(&project).unwrap();
        for tool in own.tools(None) {
            let other = reworded.tool(tool.name()).unwrap();
            let expected = if tool.name() == "grep" {
                "Find it"
            } else {
                tool.description()
            };
            assert_eq!(
                (other.description(), other.schema()),
                (expected, tool.schema())
            );
        }
    }

    #[test]
    fn names_are_resolved_exactly_then_by_alias_then_without_case() {
        let registry = builtin_tools(&|_| None).unwrap();
        let resolved = |name: &str| registry.resolve(name).map(|tool| tool.name().to_owned());
        let table = [
            ("read_file", Some("read_file")),
            ("Bash", Some("run_shell_command")),
            ("LS", Some("list_directory")),
            ("Glob", Some("search_files")),
            ("Grep", Some("grep")),
            ("TodoWrite", Some("todo_write")),
            ("Edit", Some("update_file")),
            ("Git_Status", Some("git_status")),
            ("WebFetch", Some("fetch_url")),
            ("WebSearch", Some("web_search")),
        ];
        for (name, expected) in table {
            assert_eq!(resolved(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn every_name_of_other_products_leads_to_a_canonical_one() {
        let registry = builtin_tools(&|_| None).unwrap();
        let names = registry.names();
        let table = [
            ("TodoWrite", "todo_write"),
            ("task-tool", "todo_write"),
            ("WebFetch", "fetch_url"),
            ("WebSearch", "web_search"),
            ("Agent", "spawn_child_agent"),
            ("bash", "run_shell_command"),
            ("run_command", "run_shell_command"),
            ("Grep", "grep"),
        ];
        for (name, canonical) in table {
            assert_eq!(names.canonical(name), canonical, "{name}");
            assert!(names.alias(canonical).is_none(), "{canonical}");
        }
        // A list names one tool where a rule names a family.
        assert_eq!(names.in_role("edit"), ["update_file", "write_file"]);
        assert_eq!(names.in_role("Edit"), ["update_file"]);
        assert_eq!(names.in_rule("Edit").len(), 7);
    }

    #[test]
    fn tools_are_found_by_category_and_by_words() {
        let registry = builtin_tools(&|_| None).unwrap();
        let names = |tools: Vec<&Arc<dyn Tool>>| {
            tools
                .iter()
                .map(|tool| tool.name().to_owned())
                .collect::<Vec<_>>()
        };
        let git = "git_add git_branch git_checkout git_commit git_diff git_log git_merge git_pull \
                   git_push git_stash git_status";
        assert_eq!(names(registry.tools(Some(&Category::GIT))).join(" "), git);
        assert_eq!(
            names(registry.search("SANDBOX")),
            ["run_python", "run_shell_command"]
        );
        assert_eq!(
            registry.nearest("read_fil"),
            ["read_file", "read_skill", "read_plan"]
        );
    }

    /// Keeps the fixed part of a request small; a token of such text has about four bytes.
    #[test]
    fn the_words_of_the_default_tools_stay_short() {
        const MAX_BYTES: usize = 5_500;
        let registry = builtin_tools(&|_| None).unwrap();
        let bytes: usize = registry
            .tools(None)
            .iter()
            .filter(|tool| tool.properties().is_default)
            .map(|tool| {
                tool.name().len() + tool.description().len() + tool.schema().to_string().len()
            })
            .sum();
        assert!(bytes < MAX_BYTES, "{bytes} bytes");
    }
}
