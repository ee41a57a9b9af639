//! Finds code that resembles other code, whatever its names, literals, layout and comments, and in
//! whatever order its blocks stand.
//!
//! Both are reduced to fingerprints: of the hashes of all runs of `RUN` tokens, the least of each
//! `WINDOW` neighbours (Schleimer, Wilkerson, Aiken: "Winnowing", 2003). Runs of `RUN + WINDOW - 1`
//! tokens that both have are therefore always noticed. The resemblance is the share of the
//! snippet's fingerprints that a region has.

mod fingerprint;
mod model;
mod region;
mod snippet;

pub use model::{CodeFingerprints, SimilarCode, Snippet};
