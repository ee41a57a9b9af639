//! The `orchestrate` program: argv, signals, colours and exit codes, and nothing else.

fn main() {}
