//! A harness around every tool: one classification of errors, descriptions in XML files, and
//! requirements on all tools.

use crate::reference::table::{Line, unit};

/// What is required of every tool, checked on the built-in ones.
const CONFORMANCE: &str = "crates/tools/tests/suite/execute/conformance.rs";
const DOCUMENTS: &str = "crates/tools/tests/suite/registered/documents.rs";
const ERRORS: &str = "crates/tools/tests/suite/execute/errors.rs";
const FILES: &str = "crates/tools/tests/suite/builtin/files.rs";
const PLUGINS: &str = "crates/tools/tests/suite/registered/plugins.rs";
const RECORDS: &str = "crates/tools/tests/suite/execute/records.rs";
const SEARCH: &str = "crates/tools/tests/suite/builtin/search.rs";
const CATALOGUE: &str = "crates/tools/src/builtin/catalogue.rs";
const OPEN: &str = "crates/tools/src/files/open.rs";
const PROMPT: &str = "crates/tools/src/tool/prompt.rs";
const TEXTS: &str = "crates/coordinator/src/texts/project_texts.rs";

const CONFORMS: &str = "every_built_in_tool_conforms";
const CALLED: &str = "tools_are_called_as_the_documents_call_them";
const UNCHANGED: &str = "every_class_of_failure_passes_unchanged";

/// The table.
#[rustfmt::skip]
pub(in crate::reference) const HARNESS: &[Line] = &[
    unit("001-001", "every call is logged at info as name(arguments)", CONFORMANCE, CONFORMS),
    unit("001-002", "Retry passes through unchanged", ERRORS, UNCHANGED),
    unit("001-003", "execution errors pass through unchanged", ERRORS, UNCHANGED),
    unit("001-004", "file errors pass through unchanged", ERRORS, UNCHANGED),
    unit("001-005", "any other exception becomes an execution error", ERRORS, "a_panic_is_a_failure_of_the_tool"),
    unit("001-006", "the description is loaded from XML by the tool's name", CATALOGUE, "every_tool_has_the_name_of_its_description_file"),
    unit("001-007", "file tools extend the base behaviour", CONFORMANCE, CONFORMS),
    unit("001-008", "a file that is not found can be corrected by the model", OPEN, "every_error_of_the_system_has_its_class"),
    unit("001-009", "a permission error is a file error", OPEN, "every_error_of_the_system_has_its_class"),
    unit("001-010", "undecodable text is a file error", FILES, "what_is_no_text_is_refused_with_its_type"),
    unit("001-011", "any other I/O error is a file error", OPEN, "every_error_of_the_system_has_its_class"),
    unit("001-012", "read_file(filepath) -> text", DOCUMENTS, CALLED),
    unit("001-013", "write_file(filepath) -> text", DOCUMENTS, CALLED),
    unit("001-014", "update_file(filepath) -> text", DOCUMENTS, CALLED),
    unit("001-015", "bash(command) -> text", DOCUMENTS, CALLED),
    unit("001-016", "glob(pattern) -> text", DOCUMENTS, CALLED),
    unit("001-017", "grep(pattern) -> text or list", DOCUMENTS, CALLED),
    unit("001-018", "list_dir(directory) -> text", DOCUMENTS, CALLED),
    unit("001-019", "react -> text", DOCUMENTS, "an_agent_keeps_notes"),
    unit("001-020", "all tools are async", CONFORMANCE, CONFORMS),
    unit("001-021", "all tools go through the wrapper", CONFORMANCE, CONFORMS),
    unit("001-022", "all tools are documented", CONFORMANCE, CONFORMS),
    unit("001-023", "the result is text", CONFORMANCE, CONFORMS),
    unit("001-024", "recoverable errors are Retry, fatal ones are not", OPEN, "every_error_of_the_system_has_its_class"),
    unit("001-025", "the file is <tool>_prompt.xml", TEXTS, "a_tool_is_described_under_each_of_its_names"),
    unit("001-026", "its structure is <tool><description/><parameters/></tool>", PROMPT, "a_project_rewords_and_changes_nothing_else"),
    unit("001-027", "XML replaces the inline text", CATALOGUE, "a_project_rewords_one_tool_and_no_other"),
    unit("001-028", "without XML the inline text stays", CATALOGUE, "a_project_rewords_one_tool_and_no_other"),
    unit("001-029", "one type of errors", ERRORS, UNCHANGED),
    unit("001-030", "ToolExecutionError", ERRORS, UNCHANGED),
    unit("001-031", "TooBroadPatternError below it", SEARCH, "a_search_that_is_too_broad_says_so"),
    unit("001-032", "FileOperationError", ERRORS, UNCHANGED),
    unit("001-033", "ModelRetry", ERRORS, UNCHANGED),
    unit("001-034", "heavy I/O is done off the async threads", DOCUMENTS, "file_tools_work_off_the_threads_of_the_runtime"),
    unit("001-035", "grep's time limit raises too-broad", SEARCH, "a_search_that_is_too_broad_says_so"),
    unit("001-036", "test of the harness: it wraps each call", RECORDS, "a_start_is_recorded_before_the_effect"),
    unit("001-037", "test of the harness: each call is logged", RECORDS, "calls_are_logged_without_secrets"),
    unit("001-038", "test of the harness: Retry is unchanged", ERRORS, UNCHANGED),
    unit("001-039", "test of the harness: execution errors are unchanged", ERRORS, UNCHANGED),
    unit("001-040", "test of the harness: other errors are wrapped", ERRORS, "a_panic_is_a_failure_of_the_tool"),
    unit("001-041", "test of the harness: XML is loaded", PROMPT, "a_file_gives_description_and_schema"),
    unit("001-042", "conformance: all tools are async", CONFORMANCE, CONFORMS),
    unit("001-043", "conformance: all tools are wrapped", CONFORMANCE, CONFORMS),
    unit("001-044", "conformance: all tools are documented", CONFORMANCE, CONFORMS),
    unit("001-045", "conformance: the types of results", CONFORMANCE, CONFORMS),
    unit("001-046", "conformance: file tools take the path first", CONFORMANCE, "violations_are_found"),
    unit("001-047", "conformance is one function for any tool", PLUGINS, "a_plugin_conforms"),
];
