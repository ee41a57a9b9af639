//! The snippets of the book's page about the library and of the README, compiled as doc tests.
#![doc = include_str!("../../docs/library.md")]
#![doc = include_str!("../../README.md")]
