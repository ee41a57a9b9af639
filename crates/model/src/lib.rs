//! Hides model providers and token counting.
