//! Tools that understand code, which `orchestrate_code` parses.

mod complexity;
mod dependencies;
mod dependency_report;
mod patterns;
mod performance;
mod project;
mod similar;
mod structure;

pub(super) use complexity::MeasureCodeComplexity;
pub(super) use dependencies::AnalyzeDependencies;
pub(super) use patterns::FindCodePatterns;
pub(super) use performance::AnalyzePerformance;
pub(super) use similar::FindSimilarCode;
pub(super) use structure::AnalyzeCodeStructure;
