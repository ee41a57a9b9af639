//! What the structured result of each built-in tool has: its type, and its fields with their
//! meaning, for the reference. A test compares them with what the tools give.

/// The result of a tool.
pub(crate) struct ResultType {
    /// The name of its type.
    pub(crate) name: &'static str,
    /// Whether it is a list of such.
    pub(crate) is_list: bool,
    /// Its fields with their meaning, in order; none if it is no object.
    pub(crate) fields: &'static [Field],
}

/// A field with its meaning.
type Field = (&'static str, &'static str);
/// A tool with the type of its result and its fields.
type Known = (&'static str, &'static str, &'static [Field]);

/// The program that a tool chose for a project.
macro_rules! program {
    ($($more:expr),* $(,)?) => {
        &[
            ("program", "the program's usual name"),
            ("version", "the version that it says it is"),
            ("command", "the command that ran, as words of a shell"),
            ("exit_code", "null if it was ended before it could exit"),
            ("duration_ms", "how long it ran"),
            $($more),*
        ]
    };
}

const FINDINGS: &[Field] = program![
    ("errors", "the number of errors"),
    ("warnings", "the number of warnings and notes"),
    (
        "diagnostics",
        "each with `file`, `line`, `column`, `code`, `severity` and `message`"
    ),
];
const EXECUTION: &[Field] = &[
    ("exit_code", "null if it was ended before it could exit"),
    ("exit", "how it ended, in words"),
    ("stdout", "its standard output"),
    ("stderr", "its standard error"),
    ("duration_ms", "how long it ran"),
    (
        "egress",
        "what was decided about the hosts that it asked for, if it had the network",
    ),
];
const WRITTEN: &[Field] = &[
    ("path", "the real path"),
    ("bytes", "how many were written"),
    ("created", "whether the file is new"),
];
const MERGED: &str = "as `git_merge` has them, in a `MergeResult`";

/// Each tool with its type and its fields.
const OBJECTS: &[Known] = &[
    (
        "read_file",
        "FileContent",
        &[
            ("path", "the real path; absent for an artifact"),
            (
                "size",
                "the size of the file in bytes; absent for an artifact",
            ),
            ("first_line", "the number of the first line that is shown"),
            ("last_line", "that of the last one"),
            ("total_lines", "how many there are, if that is known"),
            ("content", "the lines without numbers"),
        ],
    ),
    ("write_file", "WrittenFile", WRITTEN),
    ("append_file", "WrittenFile", WRITTEN),
    (
        "update_file",
        "UpdatedFile",
        &[
            ("path", "the real path"),
            ("replacements", "how many were made; absent for a new file"),
            (
                "lines",
                "the lines at which they were made; absent for a new file",
            ),
            ("created", "true for a new file, else absent"),
        ],
    ),
    (
        "apply_patch",
        "PatchedFiles",
        &[
            ("changed", "the files that were written"),
            ("deleted", "those that are gone"),
        ],
    ),
    ("delete_file", "DeletedFile", &[("path", "the real path")]),
    (
        "copy_file",
        "CopiedFile",
        &[
            ("src", "the real path that was read"),
            ("dst", "that which was written"),
        ],
    ),
    (
        "move_file",
        "MovedFile",
        &[("src", "the path before"), ("dst", "the path now")],
    ),
    (
        "create_directory",
        "CreatedDirectory",
        &[("path", "the path"), ("created", "whether it is new")],
    ),
    (
        "list_directory",
        "Listing",
        &[
            ("entries", "the paths"),
            ("ignored", "how many were left out because git ignores them"),
            ("complete", "whether these are all"),
        ],
    ),
    (
        "get_file_info",
        "FileInfo",
        &[
            ("path", "the real path"),
            ("type", "`file`, `directory`, `link` or `special`"),
            ("size", "the size in bytes"),
            ("mode", "the permission bits in octal"),
            ("modified", "when its content changed"),
            ("accessed", "when it was read"),
            ("changed", "when its metadata changed"),
            ("lines", "the number of lines of a text"),
            ("encoding", "the encoding of a text"),
            ("content", "why it is not read as text"),
            (
                "git_status",
                "`unchanged`, `new`, `modified`, `deleted` or `ignored`; null for a directory",
            ),
        ],
    ),
    (
        "search_files",
        "FoundFiles",
        &[
            ("files", "the paths, the newest first"),
            ("total", "how many match"),
        ],
    ),
    (
        "grep",
        "Match",
        &[
            ("matches", "how many lines match"),
            (
                "files",
                "each with its `path` and how many of its lines match",
            ),
        ],
    ),
    ("run_shell_command", "ExecutionResult", EXECUTION),
    ("run_python", "ExecutionResult", EXECUTION),
    (
        "run_tests",
        "TestResults",
        program![
            ("passed", "how many passed"),
            ("failed", "how many failed"),
            (
                "skipped",
                "how many were skipped, or failed as their author expects"
            ),
            ("failures", "each with `name`, `message`, `file` and `line`"),
            (
                "errors",
                "what kept tests from running, each with `kind`, `name`, `message`, `file` and `line`"
            ),
        ],
    ),
    ("run_linter", "LintResults", FINDINGS),
    ("run_type_checker", "TypeCheckResults", FINDINGS),
    (
        "run_formatter",
        "FormatResults",
        program![("changed", "the files that were changed")],
    ),
    (
        "install_package",
        "InstallResults",
        program![
            (
                "package",
                "the package, as the package manager was given it"
            ),
            (
                "packages",
                "those that differ from before, each with `name`, `removed` and `added` versions"
            ),
            ("changed", "the files that were changed"),
            (
                "from_source",
                "whether packages may have been built from their sources"
            ),
            (
                "egress",
                "what was decided about the hosts that the package manager asked for"
            ),
            (
                "foreign",
                "hosts that the lock file names, and that belong to no registry of the project"
            ),
        ],
    ),
    (
        "git_status",
        "GitStatus",
        &[
            ("branch", "the agent's branch"),
            ("head", "the last commit"),
            ("changes", "each with git's letter as `status`, and `path`"),
            (
                "selected",
                "what the next commit takes; absent if it takes all",
            ),
            ("merging", "the commit that is being merged, if one is"),
        ],
    ),
    (
        "git_diff",
        "ShownDiff",
        &[
            ("diff", "the diff"),
            (
                "withheld",
                "paths that differ, but may not be shown, if there are any",
            ),
        ],
    ),
    (
        "git_commit",
        "GitCommit",
        &[
            ("id", "the id"),
            ("message", "the whole message"),
            ("author", "as `name <address>`"),
            ("time", "in Unix seconds"),
            ("left_out", "paths that git cannot store, if there are any"),
        ],
    ),
    (
        "git_add",
        "GitSelection",
        &[(
            "selected",
            "what the next commit takes, each with `status` and `path`",
        )],
    ),
    (
        "git_branch",
        "GitBranchResult",
        &[
            ("action", "what was done"),
            ("current", "the branch that the worktree is on"),
            ("head", "the last commit"),
            (
                "branches",
                "the agent's names, each with `name` and `commit`",
            ),
        ],
    ),
    (
        "git_checkout",
        "GitCheckoutResult",
        &[
            ("commit", "the commit that the files are from"),
            (
                "changes",
                "what changed in the worktree, each with `status` and `path`",
            ),
            (
                "before",
                "a commit with the files before, if they differed from the last commit",
            ),
        ],
    ),
    (
        "git_stash",
        "GitStashResult",
        &[
            ("action", "what was done"),
            (
                "entry",
                "the entry that was pushed, popped or dropped, with `commit`, `message` and `time`",
            ),
            ("stashes", "the stack, the newest first"),
            (
                "changes",
                "what changed in the worktree, each with `status` and `path`",
            ),
        ],
    ),
    (
        "git_merge",
        "MergeResult",
        &[
            ("branch", "the name of what was merged"),
            ("other", "the commit that was merged"),
            ("merged", "false if there are conflicts to resolve"),
            (
                "commit",
                "the merge; null if there are conflicts or nothing to merge",
            ),
            (
                "changes",
                "what changed in the worktree, each with `status` and `path`",
            ),
            ("conflicts", "each with `path`, `kind` and `hunks`"),
        ],
    ),
    (
        "git_push",
        "GitPushResult",
        &[
            ("remote", "the remote"),
            ("address", "its address"),
            ("branch", "the branch there"),
            ("commit", "its tip now"),
            (
                "state",
                "whether it is new, was moved, or was there already",
            ),
            (
                "uncommitted",
                "what was not pushed, since it is not committed, if anything",
            ),
        ],
    ),
    (
        "git_pull",
        "GitPullResult",
        &[
            ("remote", "the remote"),
            ("address", "its address"),
            ("branch", "the branch there"),
            ("merge", MERGED),
        ],
    ),
    (
        "analyze_code_structure",
        "CodeStructure",
        &[
            (
                "files",
                "each with its path, its language and its items: kind, name, and first and last line",
            ),
            ("items", "how many items there are"),
        ],
    ),
    (
        "analyze_dependencies",
        "DependencyGraph",
        &[
            (
                "graph",
                "packages, modules with their imports, external packages, cycles, and what is unused, undeclared, \
                       unresolved or invalid",
            ),
            ("totals", "how many there are of each"),
        ],
    ),
    (
        "find_code_patterns",
        "Match",
        &[
            (
                "matches",
                "each with its `path` and the `match`: place, text and what the names stand for",
            ),
            ("total", "how many there are"),
            ("languages", "those in which the pattern can be read"),
        ],
    ),
    (
        "measure_code_complexity",
        "ComplexityMetrics",
        &[
            (
                "functions",
                "each with its `path` and the `function`: name, place, length and the figures",
            ),
            ("totals", "their sums and maxima"),
        ],
    ),
    (
        "find_similar_code",
        "SimilarCode",
        &[
            ("similar", "each with its `path` and the `region`"),
            ("total", "how many there are"),
        ],
    ),
    (
        "analyze_performance",
        "PerformanceAnalysis",
        &[
            ("format", "what wrote the profile"),
            ("measure", "what is measured"),
            ("unit", "what the values count"),
            ("total", "the sum of all values"),
            (
                "functions",
                "the hottest, with their own values and their totals",
            ),
            ("paths", "the hottest"),
            ("left_out", "what is not part of it"),
        ],
    ),
    (
        "fetch_url",
        "WebContent",
        &[
            ("url", "the address that answered, after redirects"),
            ("status", "the status"),
            ("content_type", "the type, as the server states it"),
            ("title", "empty if there is none"),
            ("content", "in the form that was asked for"),
            ("bytes", "the size of what arrived"),
            ("is_cut", "whether there is more"),
        ],
    ),
    (
        "parse_documentation",
        "Documentation",
        &[
            ("url", "the address that answered, after redirects"),
            ("title", "the title"),
            ("headings", "each with those below it"),
            ("code_blocks", "each with `language` and `code`"),
            ("links", "each with `text` and `url`"),
            ("is_cut", "whether there is more"),
        ],
    ),
    (
        "fetch_api_docs",
        "APIDocumentation",
        &[
            ("library", "the library"),
            ("registry", "`docs.rs`, `pypi`, `npm` or `pkg.go.dev`"),
            ("version", "as far as it is known"),
            ("url", "the address of the documentation"),
            ("summary", "what the library is, in a sentence"),
            ("content", "the documentation as Markdown"),
            (
                "others",
                "libraries of the same name in other registries, if there are any",
            ),
            (
                "unanswered",
                "registries that did not answer, if there are any",
            ),
            (
                "refused",
                "registries that may not be asked, if there are any",
            ),
            ("is_cut", "whether there is more"),
        ],
    ),
    (
        "todo_write",
        "Steps",
        &[("items", "each with `content` and `status`")],
    ),
    (
        "react",
        "Notes",
        &[("notes", "each with `kind` and `text`")],
    ),
    (
        "read_plan",
        "PlanText",
        &[
            ("section", "the section, if one was asked for"),
            ("bytes", "the size of the text"),
        ],
    ),
    (
        "read_skill",
        "SkillText",
        &[
            ("name", "the skill"),
            ("file", "its file, if one was asked for"),
            ("bytes", "the size of the text"),
        ],
    ),
    (
        "review_verdict",
        "ReviewVerdict",
        &[
            ("verdict", "the decision"),
            (
                "changes",
                "what has to change, each with `task` and `text`, if anything",
            ),
            ("comment", "remarks that need no change, if there are any"),
        ],
    ),
    (
        "send_message_to_agent",
        "Receipt",
        &[
            (
                "sent",
                "who gets it, each with `to`, `sequence`, `kind` and `acknowledged`",
            ),
            ("refused", "who does not, if anybody"),
            (
                "question",
                "what has become of the question that the call waited with, if it did",
            ),
        ],
    ),
    (
        "spawn_child_agent",
        "AgentHandle",
        &[
            ("agent_id", "the child's id"),
            ("branch", "its branch"),
            ("role", "its role"),
            ("tools", "its tools"),
            (
                "budget",
                "the tokens that it may use; null if only those above it limit it",
            ),
        ],
    ),
    (
        "terminate_agent",
        "KeptWork",
        &[
            ("terminated", "whether anything was stopped"),
            ("agents", "what is left of each, with its branch and commit"),
        ],
    ),
    (
        "get_agent_status",
        "AgentStatus",
        &[
            ("agent_id", "the agent"),
            ("title", "its task"),
            ("role", "its role"),
            ("parent", "the agent that spawned it"),
            ("state", "the task's state"),
            ("turns", "requests answered"),
            ("last_tool", "the last tool that it called"),
            (
                "liveness",
                "`working`, `blocked-on`, `waiting-human`, `idle-done` or `lost`",
            ),
            ("blocked_on", "what it waits for, if it does"),
            ("attempt", "attempts begun"),
            ("tokens", "tokens used"),
            ("summary", "its newest report"),
            ("error", "why it did not succeed"),
            ("hand_back", "what it hands back, once its work has ended"),
            (
                "messages",
                "what is known of the messages to it, if there are any",
            ),
        ],
    ),
    (
        "wait_for_agents",
        "EndedAgentsWait",
        &[
            ("all_done", "whether all of them have ended"),
            ("timed_out", "whether its time was used up before"),
            (
                "has_message",
                "whether a message for the caller has arrived",
            ),
            ("agents", "each as `get_agent_status` has it"),
            (
                "merged",
                "what of their work is in the worktree now, if any is",
            ),
        ],
    ),
    (
        "aggregate_agent_results",
        "AggregatedResults",
        &[
            ("results", "what each hands back"),
            ("changes", "the size of each one's changes"),
            ("overlaps", "the files that several of them change"),
            ("conflicts", "the branches that do not merge cleanly"),
            (
                "unchecked_pairs",
                "how many pairs of branches were not compared",
            ),
            ("usage", "what they used together"),
            ("diff", "the changes of each"),
            ("withheld", "paths that may not be shown, if there are any"),
        ],
    ),
];

/// The tools whose result is a list, with the type and the fields of one of it.
const LISTS: &[Known] = &[
    (
        "git_log",
        "GitCommit",
        &[
            ("id", "the id"),
            ("message", "the whole message"),
            ("author", "as `name <address>`"),
            ("time", "in Unix seconds"),
        ],
    ),
    (
        "web_search",
        "SearchResult",
        &[
            ("title", "the title"),
            ("url", "the address"),
            ("snippet", "the words around what was found"),
        ],
    ),
    (
        "search_stackoverflow",
        "StackOverflowResult",
        &[
            ("title", "the title"),
            ("url", "the address"),
            ("score", "the votes"),
            ("answers", "how many there are"),
            ("is_answered", "whether the author has accepted one"),
            ("tags", "the tags"),
        ],
    ),
    (
        "search_github",
        "GitHubResult",
        &[
            ("name", "the name with its owner"),
            ("url", "the address"),
            ("description", "the description"),
            ("language", "the main language"),
            ("stars", "how many there are"),
            ("updated", "when it was pushed to last"),
        ],
    ),
    (
        "list_active_agents",
        "AgentInfo",
        &[
            ("agent_id", "the agent"),
            ("title", "its task"),
            ("role", "its role"),
            ("parent", "the agent that spawned it"),
            ("state", "the task's state"),
            ("turns", "requests answered"),
            ("last_tool", "the last tool that it called"),
            (
                "liveness",
                "`working`, `blocked-on`, `waiting-human`, `idle-done` or `lost`",
            ),
            ("blocked_on", "what it waits for, if it does"),
        ],
    ),
];

/// The tools whose result is true or false.
const WHETHER: &[Field] = &[("create_virtual_environment", "whether it was made")];

/// Returns what a built-in tool's result has; `None` for tools of others.
pub(crate) fn result_of(tool: &str) -> Option<ResultType> {
    let found = |of: &'static [Known], is_list: bool| {
        let (_, name, fields) = of.iter().find(|(known, ..)| *known == tool)?;
        Some(ResultType {
            name,
            is_list,
            fields,
        })
    };
    found(OBJECTS, false).or_else(|| found(LISTS, true))
}

/// Returns what the result of a built-in tool says that is true or false.
pub(crate) fn whether(tool: &str) -> Option<&'static str> {
    WHETHER
        .iter()
        .find(|(known, _)| *known == tool)
        .map(|(_, about)| *about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::plain_tools;

    #[test]
    fn every_built_in_tool_has_a_result() {
        let registry = plain_tools().unwrap();
        for tool in registry.tools(None) {
            assert!(
                result_of(tool.name()).is_some() || whether(tool.name()).is_some(),
                "{}",
                tool.name()
            );
        }
        let known = OBJECTS
            .iter()
            .chain(LISTS)
            .map(|(name, ..)| *name)
            .chain(WHETHER.iter().map(|(name, _)| *name));
        for name in known {
            assert!(registry.tool(name).is_some(), "{name}");
        }
    }
}
