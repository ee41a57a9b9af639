//! Hides what tools do: one permissioned, sandboxed executor and the built-in tools.
