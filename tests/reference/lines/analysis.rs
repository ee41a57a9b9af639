//! The tools that understand code.

use crate::reference::table::{Line, unit};

const DEPENDENCIES: &str = "crates/tools/tests/suite/builtin/dependencies.rs";
const TESTS: &str = "crates/tools/tests/suite/builtin/analysis.rs";

/// The table.
pub(in crate::reference) const ANALYSIS: &[Line] = &[
    unit(
        "002-103",
        "analyze_code_structure",
        TESTS,
        "a_file_and_a_folder_are_outlined",
    ),
    unit(
        "002-104",
        "analyze_code_structure(path) -> CodeStructure",
        TESTS,
        "a_file_and_a_folder_are_outlined",
    ),
    unit(
        "002-105",
        "find_code_patterns",
        TESTS,
        "code_is_found_by_its_structure",
    ),
    unit(
        "002-106",
        "find_code_patterns(pattern, path=.) -> Match",
        TESTS,
        "code_is_found_by_its_structure",
    ),
    unit(
        "002-107",
        "analyze_dependencies",
        DEPENDENCIES,
        "a_project_and_its_parts_are_shown",
    ),
    unit(
        "002-108",
        "analyze_dependencies(path=.) -> DependencyGraph",
        DEPENDENCIES,
        "a_project_and_its_parts_are_shown",
    ),
    unit(
        "002-109",
        "measure_code_complexity",
        TESTS,
        "functions_are_measured_the_hardest_first",
    ),
    unit(
        "002-110",
        "measure_code_complexity(files) -> ComplexityMetrics",
        TESTS,
        "functions_are_measured_the_hardest_first",
    ),
    unit(
        "002-111",
        "find_similar_code",
        TESTS,
        "code_that_resembles_a_snippet_is_found",
    ),
    unit(
        "002-112",
        "find_similar_code(code_snippet) -> SimilarCode",
        TESTS,
        "code_that_resembles_a_snippet_is_found",
    ),
    unit(
        "002-113",
        "analyze_performance",
        TESTS,
        "the_hottest_functions_of_a_profile_are_found",
    ),
    unit(
        "002-114",
        "analyze_performance(profiling_data) -> PerformanceAnalysis",
        TESTS,
        "the_hottest_functions_of_a_profile_are_found",
    ),
];
