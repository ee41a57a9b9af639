//! The tools for files.

use crate::reference::table::{Line, unit};

const FILES_TESTS: &str = "crates/tools/tests/suite/builtin/files.rs";
const SEARCH_TESTS: &str = "crates/tools/tests/suite/builtin/search.rs";

/// The table.
pub(in crate::reference) const FILES: &[Line] = &[
    unit(
        "002-001",
        "read_file",
        FILES_TESTS,
        "a_file_is_read_in_numbered_pages",
    ),
    unit(
        "002-002",
        "read_file(path)",
        FILES_TESTS,
        "a_file_is_read_in_numbered_pages",
    ),
    unit(
        "002-003",
        "read_file reads UTF-8 unless asked otherwise",
        FILES_TESTS,
        "what_is_no_text_is_refused_with_its_type",
    ),
    unit(
        "002-004",
        "read_file gives the text",
        FILES_TESTS,
        "a_long_page_is_recorded_once",
    ),
    unit(
        "002-005",
        "write_file",
        FILES_TESTS,
        "writing_makes_directories_and_keeps_the_mode",
    ),
    unit(
        "002-006",
        "write_file(content)",
        FILES_TESTS,
        "writing_makes_directories_and_keeps_the_mode",
    ),
    unit(
        "002-007",
        "write_file writes UTF-8 unless asked otherwise",
        FILES_TESTS,
        "a_file_is_written_in_the_encoding_that_is_asked_for",
    ),
    unit(
        "002-008",
        "write_file says whether it succeeded",
        FILES_TESTS,
        "a_file_is_written_in_the_encoding_that_is_asked_for",
    ),
    unit(
        "002-009",
        "append_file",
        FILES_TESTS,
        "text_is_appended_in_the_files_own_encoding",
    ),
    unit(
        "002-010",
        "append_file(path, content)",
        FILES_TESTS,
        "text_is_appended_in_the_files_own_encoding",
    ),
    unit(
        "002-011",
        "delete_file",
        FILES_TESTS,
        "deleting_keeps_what_was_there_and_is_recorded",
    ),
    unit(
        "002-012",
        "delete_file says whether it succeeded",
        FILES_TESTS,
        "deleting_keeps_what_was_there_and_is_recorded",
    ),
    unit(
        "002-013",
        "list_directory",
        SEARCH_TESTS,
        "a_listing_honours_ignore_files_and_says_so",
    ),
    unit(
        "002-014",
        "list_directory lists one level unless asked otherwise",
        SEARCH_TESTS,
        "a_listing_honours_ignore_files_and_says_so",
    ),
    unit(
        "002-015",
        "list_directory gives paths",
        SEARCH_TESTS,
        "a_listing_honours_ignore_files_and_says_so",
    ),
    unit(
        "002-016",
        "create_directory",
        FILES_TESTS,
        "directories_are_made_once",
    ),
    unit(
        "002-017",
        "create_directory makes parents unless asked otherwise",
        FILES_TESTS,
        "directories_are_made_once",
    ),
    unit(
        "002-018",
        "create_directory without parents",
        FILES_TESTS,
        "directories_are_made_once",
    ),
    unit(
        "002-019",
        "create_directory says whether it succeeded",
        FILES_TESTS,
        "directories_are_made_once",
    ),
    unit(
        "002-020",
        "copy_file",
        FILES_TESTS,
        "files_are_copied_and_moved_but_replace_nothing",
    ),
    unit(
        "002-021",
        "copy_file(src, dst)",
        FILES_TESTS,
        "files_are_copied_and_moved_but_replace_nothing",
    ),
    unit(
        "002-022",
        "move_file",
        FILES_TESTS,
        "files_are_copied_and_moved_but_replace_nothing",
    ),
    unit(
        "002-023",
        "move_file(src, dst)",
        FILES_TESTS,
        "files_are_copied_and_moved_but_replace_nothing",
    ),
    unit(
        "002-024",
        "get_file_info",
        FILES_TESTS,
        "the_facts_of_a_file_are_told",
    ),
    unit(
        "002-025",
        "FileInfo",
        FILES_TESTS,
        "the_facts_of_a_file_are_told",
    ),
    unit(
        "002-026",
        "search_files",
        SEARCH_TESTS,
        "files_are_found_by_glob_newest_first",
    ),
    unit(
        "002-027",
        "search_files searches the worktree unless asked otherwise",
        SEARCH_TESTS,
        "files_are_found_by_glob_newest_first",
    ),
    unit(
        "002-028",
        "search_files gives paths",
        SEARCH_TESTS,
        "files_are_found_by_glob_newest_first",
    ),
];
