//! What a tool asks of the outside, and what the outside answers.

mod decided_hosts;
mod interfaces;
mod operations;
mod search_service;

pub use decided_hosts::DecidedHosts;
pub use interfaces::{
    AgentService, AgentsWait, ArtifactPage, ArtifactStore, CallRecord, CallRecorder, ConflictHunk,
    EgressService, EndSlot, EndedAgentsWait, GitBranch, GitBranchResult, GitChange,
    GitCheckoutResult, GitCommit, GitPullResult, GitPushResult, GitService, GitStash,
    GitStashResult, GitStatus, MergeConflict, MergeResult, MergedWork, NoReplay, OutgoingMessage,
    PageRange, PlanService, ProxiedProgram, PullPlan, PushPlan, PushState, RemoteTerms,
    ReplayService, Replayable, ReviewService, Services, ShownDiff, ShowsPath, SkillService,
    UsersCommits, WebService,
};
pub use operations::{AgentOperation, BranchAction, ChildRequest, GitOperation, StashAction};
pub use search_service::{FoundByModel, Search, SearchService};
