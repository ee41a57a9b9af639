//! The structure of a file: its modules, types and functions, with their lines, visibility and
//! docs.
//!
//! What stands inside functions is no part of it.

mod c;
mod collect;
mod docs;
mod ecmascript;
mod found;
mod go;
mod java;
mod model;
mod python;
mod rust;
mod shell;

pub(crate) use c::function_name;
pub(crate) use docs::cut;
pub(crate) use java::declaration_begin;
pub use model::{CodeStructure, Item, ItemKind, Visibility};
