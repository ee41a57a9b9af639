//! What the imports of each language lead to: a module of the project, a package, or what comes
//! with the language.

mod c;
mod ecmascript;
mod go;
mod java;
mod model;
mod python;
mod resolver;
mod rust;

pub(super) use model::{Found, Link};
pub(super) use resolver::{Resolver, module_of};
