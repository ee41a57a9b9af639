//! `.tool` files: what they define, how they are found and called, and their errors.

use crate::reference::table::{Line, case, unit};

/// What defines tools.
const DEFINITION: &str = "crates/tools/src/wrapped/definition/tests.rs";
/// What adds them to the others.
const BUILD: &str = "crates/tools/src/wrapped/build/tests.rs";
/// What calls them in the sandbox.
const SUITE: &str = "crates/tools/tests/suite/registered/wrapped.rs";
/// What calls the tools for the web.
const WEB: &str = "crates/tools/tests/suite/builtin/web.rs";
const ANNOTATIONS: &str = "crates/tools/src/wrapped/annotations.rs";
const CATALOGUE: &str = "crates/tools/src/builtin/catalogue.rs";
const EXEC: &str = "crates/tools/src/builtin/exec.rs";
const TEMPLATE: &str = "crates/tools/src/template/command_template.rs";
const PARAMETER: &str = "crates/tools/src/wrapped/parameter.rs";
const SHIPPED: &str = "crates/tools/src/wrapped/shipped.rs";
const FOUND: &str = "crates/coordinator/src/texts/tool_files.rs";

/// The table.
#[rustfmt::skip]
pub(in crate::reference) const TOOL_FILES: &[Line] = &[
    unit("004-001", "ToolBuilder: scan a directory for *.tool at start-up", FOUND, "a_folder_gives_its_files_and_says_which_cannot_be_used"),
    unit("004-002", "ToolBuilder: read definitions with one shared parser", DEFINITION, "the_references_example_is_a_wrapper"),
    unit("004-003", "ToolBuilder: register simple aliases", DEFINITION, "an_alias_has_neither_command_nor_parameters"),
    unit("004-004", "ToolBuilder: create an instance of the wrapped class for full wrappers", BUILD, "a_wrapper_is_a_tool_that_only_roles_that_list_it_have"),
    unit("004-005", "ToolBuilder: parameters taken from the parser", DEFINITION, "the_references_example_is_a_wrapper"),
    unit("004-006", "ToolBuilder: missing wrapped tool handled", BUILD, "what_is_wrong_is_left_out_and_the_rest_is_added"),
    unit("004-007", "ToolBuilder: non-wrappable tool handled", BUILD, "what_is_wrong_is_left_out_and_the_rest_is_added"),
    unit("004-008", "ToolBuilder: duplicate name handled", BUILD, "what_is_wrong_is_left_out_and_the_rest_is_added"),
    unit("004-009", "WrapInterface.deserialize_wrapped(parameters, command_template)", EXEC, "a_wrappers_arguments_make_the_call_that_the_reference_shows"),
    unit("004-010", "is_wrapped on the request", BUILD, "a_wrapper_is_a_tool_that_only_roles_that_list_it_have"),
    unit("004-011", "annotation @title", DEFINITION, "the_references_example_is_a_wrapper"),
    unit("004-012", "annotation @name", DEFINITION, "the_references_example_is_a_wrapper"),
    unit("004-013", "annotation @wrapped", DEFINITION, "the_references_example_is_a_wrapper"),
    unit("004-014", "annotation @command", DEFINITION, "the_references_example_is_a_wrapper"),
    unit("004-015", "annotation @param", PARAMETER, "declarations_have_a_name_a_type_and_a_text"),
    unit("004-016", "annotation @type", DEFINITION, "descriptions_examples_and_types_are_those_of_real_files"),
    unit("004-017", "annotation @property", DEFINITION, "descriptions_examples_and_types_are_those_of_real_files"),
    unit("004-018", "parser also gives description text and type definitions", DEFINITION, "descriptions_examples_and_types_are_those_of_real_files"),
    // Deliberately different: document 001 wants XML for the former, which has a parser of its own.
    unit("004-019", "a parser for built-in descriptions and one for .tool files", "crates/tools/src/tool/prompt.rs", "a_file_gives_description_and_schema"),
    unit("004-020", "glob.tool: find {arguments} -type f", SUITE, "the_example_of_the_reference_finds_the_files"),
    unit("004-021", "grep.tool: grep {arguments}", SUITE, "the_example_of_the_reference_finds_the_files"),
    unit("004-022", "ls.tool: ls {arguments}", SUITE, "the_example_of_the_reference_finds_the_files"),
    unit("004-023", "Read.tool alias of read_file", CATALOGUE, "names_are_resolved_exactly_then_by_alias_then_without_case"),
    unit("004-024", "WebFetch.tool alias of web_fetch", CATALOGUE, "every_name_of_other_products_leads_to_a_canonical_one"),
    unit("004-025", "WebSearch.tool alias of google_search", CATALOGUE, "every_name_of_other_products_leads_to_a_canonical_one"),
    case("004-026", "agents' tools: Read", "tool_files::an_agent_file_of_that_ecosystem_does_its_work"),
    case("004-027", "agents' tools: Grep", "tool_files::an_agent_file_of_that_ecosystem_does_its_work"),
    case("004-028", "agents' tools: Glob", "tool_files::an_agent_file_of_that_ecosystem_does_its_work"),
    case("004-029", "agents' tools: LS", "tool_files::an_agent_file_of_that_ecosystem_does_its_work"),
    case("004-030", "agents' tools: WebSearch, WebFetch", "web::an_agent_file_with_the_names_of_that_ecosystem_reads_the_web"),
    case("004-031", "agents' tools: TodoWrite (task-tool)", "tool_files::an_agent_file_of_that_ecosystem_does_its_work"),
    case("004-032", "an agent file with `tools: Read, Grep, Glob, LS, …` does its work", "tool_files::an_agent_file_of_that_ecosystem_does_its_work"),
    case("004-033", "BaseTool.is_wrapped", "tool_files::tools_are_listed_searched_and_shown"),
    case("004-034", "BaseTool.command_template", "tool_files::tools_are_listed_searched_and_shown"),
    unit("004-035", "Function.name settable, falls back to the tool's", BUILD, "texts_that_a_wrapper_leaves_out_are_those_of_the_wrapped_tool"),
    unit("004-036", "Function.description settable, falls back to the tool's", BUILD, "texts_that_a_wrapper_leaves_out_are_those_of_the_wrapped_tool"),
    unit("004-037", "Function.parameter_description settable, falls back to the tool's", BUILD, "texts_that_a_wrapper_leaves_out_are_those_of_the_wrapped_tool"),
    unit("004-038", "normal tools keep their own texts", CATALOGUE, "a_project_rewords_one_tool_and_no_other"),
    unit("004-039", "RunCommand is wrappable", EXEC, "a_wrappers_arguments_make_the_call_that_the_reference_shows"),
    unit("004-040", "WebFetch is wrappable", WEB, "a_page_has_other_forms"),
    unit("004-041", "requirement: file-based definition", SHIPPED, "every_file_of_the_folder_is_shipped"),
    unit("004-042", "requirement: automatic discovery", FOUND, "a_folder_gives_its_files_and_says_which_cannot_be_used"),
    unit("004-043", "requirement: JSON schema generated from the file", DEFINITION, "the_references_example_is_a_wrapper"),
    unit("004-044", "requirement: execution by the wrapped tool", SUITE, "the_example_of_the_reference_finds_the_files"),
    unit("004-045", "resource folder resources/wrapped-tools/", SHIPPED, "every_file_of_the_folder_is_shipped"),
    unit("004-046", "only @name and @wrapped -> alias, no changes", DEFINITION, "an_alias_has_neither_command_nor_parameters"),
    unit("004-047", "alias registers the same instance under the new name", BUILD, "an_alias_is_the_same_tool_under_another_name"),
    unit("004-048", "description from the first line, several lines", ANNOTATIONS, "description_and_annotations_are_split_and_continued"),
    unit("004-049", "description optional for an alias", DEFINITION, "an_alias_has_neither_command_nor_parameters"),
    unit("004-050", "blank line before annotations", ANNOTATIONS, "description_and_annotations_are_split_and_continued"),
    unit("004-051", "@title optional for an alias", DEFINITION, "an_alias_has_neither_command_nor_parameters"),
    unit("004-052", "@name required", DEFINITION, "every_mistake_has_its_line_and_its_reason"),
    unit("004-053", "@wrapped required", DEFINITION, "every_mistake_has_its_line_and_its_reason"),
    unit("004-054", "@command optional, placeholder {ARGS}", DEFINITION, "arguments_are_implied_by_their_slot"),
    unit("004-055", "placeholder {arguments}", TEMPLATE, "slots_are_filled_word_by_word_and_nothing_is_split_again"),
    unit("004-056", "@param name {type} [required] text", PARAMETER, "declarations_have_a_name_a_type_and_a_text"),
    unit("004-057", "type array<string>", PARAMETER, "declarations_have_a_name_a_type_and_a_text"),
    unit("004-058", "wrapped tool must be wrappable for a full wrapper", BUILD, "what_is_wrong_is_left_out_and_the_rest_is_added"),
    unit("004-059", "flow: is_wrapped checked when a call is read", BUILD, "a_wrapper_of_a_known_name_is_its_second_form"),
    unit("004-060", "flow: deserialize_wrapped extracts `arguments`", EXEC, "a_wrappers_arguments_make_the_call_that_the_reference_shows"),
    unit("004-061", "flow: resulting request is executed and its result returned", SUITE, "the_example_of_the_reference_finds_the_files"),
    unit("004-062", "example: arguments joined into find . -type f -name '*.vala'", EXEC, "a_wrappers_arguments_make_the_call_that_the_reference_shows"),
    unit("004-063", "example request {command, working_dir: \"\", network: false}", EXEC, "a_wrappers_arguments_make_the_call_that_the_reference_shows"),
    unit("004-064", "network default false", EXEC, "a_wrappers_arguments_make_the_call_that_the_reference_shows"),
    unit("004-065", "example WebFetch {\"arguments\": [\"https://example.com\", \"json\"]}", WEB, "a_page_has_other_forms"),
    unit("004-066", "error: missing @name/@wrapped: error logged, file skipped", DEFINITION, "every_mistake_has_its_line_and_its_reason"),
    unit("004-067", "error: @command without @title or description: error", DEFINITION, "every_mistake_has_its_line_and_its_reason"),
    case("004-068", "error: invalid file: error with path, skipped", "tool_files::a_strangers_files_are_checked"),
    unit("004-069", "error: duplicate name: warning, first wins", BUILD, "what_is_wrong_is_left_out_and_the_rest_is_added"),
    unit("004-070", "error: call without arguments: error says an array is required", SUITE, "arguments_must_be_an_array_of_strings"),
    unit("004-071", "error: arguments not an array: error", SUITE, "arguments_must_be_an_array_of_strings"),
    unit("004-072", "error: array with non-strings: error", SUITE, "arguments_must_be_an_array_of_strings"),
    unit("004-073", "error: @wrapped names no tool: error", BUILD, "what_is_wrong_is_left_out_and_the_rest_is_added"),
    unit("004-074", "error: @wrapped tool not wrappable: error", BUILD, "what_is_wrong_is_left_out_and_the_rest_is_added"),
    case("004-075", "files of that ecosystem can be written by agents", "tool_files::files_of_that_ecosystem_are_written_by_agents"),
];
