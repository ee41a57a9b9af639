//! Agents: their children and messages, what they wait for, what they spend, and what they hand
//! back.

mod hand_back;
mod messages;
mod model_fallback;
mod spawning;
mod spending;
mod stopping;
mod waiting;
