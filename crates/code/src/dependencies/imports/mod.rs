//! What files import, each by a pure function of its language and its text.

mod c;
mod collect;
mod collector;
mod ecmascript;
mod go;
mod java;
mod model;
mod python;
mod rust;

pub use model::{FileImports, ImportKind};
pub(super) use model::{Form, Import, ModuleDeclaration};
