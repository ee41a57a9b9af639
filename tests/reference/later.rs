//! What is not there yet, each with the reason.

use super::table::{Line, elsewhere};

const NETWORK: &str = "it needs the network, which no tool of an agent has yet";
const AGENTS: &str = "the window of a model that is smaller and known comes first";
const ANALYSIS: &str = "no tool parses code yet";

/// The table.
pub(super) const LATER: &[Line] = &[
    elsewhere("002-044", "install_package", NETWORK),
    elsewhere("002-045", "install_package(package, version)", NETWORK),
    elsewhere("002-075", "web_search", NETWORK),
    elsewhere("002-076", "web_search finds 10 results unless asked otherwise", NETWORK),
    elsewhere("002-077", "SearchResult", NETWORK),
    elsewhere("002-078", "fetch_url", NETWORK),
    elsewhere("002-079", "fetch_url waits 30 s unless asked otherwise", NETWORK),
    elsewhere("002-080", "WebContent", NETWORK),
    elsewhere("002-081", "parse_documentation", NETWORK),
    elsewhere("002-082", "Documentation", NETWORK),
    elsewhere("002-083", "search_stackoverflow", NETWORK),
    elsewhere("002-084", "StackOverflowResult", NETWORK),
    elsewhere("002-085", "search_github", NETWORK),
    elsewhere("002-086", "GitHubResult", NETWORK),
    elsewhere("002-087", "fetch_api_docs", NETWORK),
    elsewhere("002-088", "APIDocumentation", NETWORK),
    elsewhere("002-103", "analyze_code_structure", ANALYSIS),
    elsewhere("002-104", "CodeStructure", ANALYSIS),
    elsewhere("002-105", "find_code_patterns", ANALYSIS),
    elsewhere("002-106", "Match", ANALYSIS),
    elsewhere("002-107", "analyze_dependencies", ANALYSIS),
    elsewhere("002-108", "DependencyGraph", ANALYSIS),
    elsewhere("002-109", "measure_code_complexity", ANALYSIS),
    elsewhere("002-110", "ComplexityMetrics", ANALYSIS),
    elsewhere("002-111", "find_similar_code", ANALYSIS),
    elsewhere("002-112", "SimilarCode", ANALYSIS),
    elsewhere("002-113", "analyze_performance", ANALYSIS),
    elsewhere("002-114", "PerformanceAnalysis", ANALYSIS),
    elsewhere("002-154", "network_access covers web_search and fetch_url", NETWORK),
    elsewhere("002-156", "git_operations covers git_push", NETWORK),
    elsewhere("002-182", "the root has 1,000,000 tokens", AGENTS),
];
