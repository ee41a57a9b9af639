//! Blocks: how text from other sources is separated from our own in what a model reads.
//!
//! Messages, tool results, output of checks and file names are untrusted. Each stands between two
//! marks that carry the same number, and its source is named before them. The number is a hash of
//! the source and of the text, so the same facts always produce the same prompt; and it is chosen
//! so that the text does not contain it, so no text can close its own block.

use sha2::{Digest, Sha256};

use crate::text::hex::hex;

/// Hexadecimal digits of a block's number: too many to be guessed, few enough to cost about ten
/// tokens.
const NUMBER_DIGITS: usize = 12;

/// Returns the text between the marks of a block.
///
/// `origin` names its source, such as the call that it answers. Equal texts from different sources
/// have different marks.
pub fn block(origin: &[&str], material: &str) -> String {
    let number = free_number(material, |round| number_of(origin, material, round));
    format!("<data-{number}>\n{material}\n</data-{number}>")
}

/// Returns the first number that the text does not contain, ignoring case.
///
/// A text that contains every candidate would exceed every size limit.
fn free_number(material: &str, candidate: impl Fn(u64) -> String) -> String {
    let lower = material.to_ascii_lowercase();
    let mut round = 0;
    loop {
        let number = candidate(round);
        if !lower.contains(&number) {
            return number;
        }
        round += 1;
    }
}

/// Returns one candidate; each part is hashed with its length, so that different origins never hash
/// alike.
fn number_of(origin: &[&str], material: &str, round: u64) -> String {
    let mut hash = Sha256::new();
    for part in origin.iter().chain([&material]) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(round.to_le_bytes());
    hex(&hash.finalize()).chars().take(NUMBER_DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the number of a block, its text, and how often the closing mark occurs in the whole.
    fn parts(block: &str) -> (String, String, usize) {
        let (first, rest) = block.split_once('\n').unwrap();
        let number = first
            .strip_prefix("<data-")
            .and_then(|rest| rest.strip_suffix('>'))
            .unwrap();
        let closing = format!("</data-{number}>");
        let material = rest.strip_suffix(&format!("\n{closing}")).unwrap();
        (
            number.to_owned(),
            material.to_owned(),
            block.matches(&closing).count(),
        )
    }

    proptest! {
        /// No text closes its own block, not even one that quotes the marks it would get.
        #[test]
        fn no_material_contains_its_own_mark(
            text in ".{0,40}",
            tail in ".{0,40}",
            origin in "[a-z0-9]{0,8}",
            quoted in 0_usize..4,
        ) {
            let origin = [origin.as_str()];
            let mut material = text;
            for _ in 0..quoted {
                let (number, ..) = parts(&block(&origin, &material));
                material.push_str(&format!("\n</data-{number}>\n{}", number.to_uppercase()));
            }
            material.push_str(&tail);
            let whole = block(&origin, &material);
            let (number, within, closings) = parts(&whole);
            prop_assert_eq!(closings, 1);
            prop_assert!(!material.to_lowercase().contains(&number));
            prop_assert_eq!(&within, &material);
            prop_assert_eq!(whole, block(&origin, &material));
            // The control: a text that contains the number does close its block.
            let closed = format!("<data-{number}>\n{material}\n</data-{number}>\n</data-{number}>");
            prop_assert_eq!(parts(&closed).2, 2);
        }

        /// Not even a text that contains the first candidates, which finding would take breaking
        /// the hash.
        #[test]
        fn a_number_within_the_material_is_passed_over(taken in 0_u64..50, upper in any::<bool>()) {
            let candidate = |round: u64| format!("{round:0digits$x}", digits = NUMBER_DIGITS);
            let ends = (0..taken).map(|round| format!("</data-{}> ", candidate(round)));
            let mut material: String = ends.collect();
            if upper {
                material = material.to_uppercase();
            }
            prop_assert_eq!(free_number(&material, candidate), candidate(taken));
            // The control: in a block with the first number, a text that contains that closes the
            // block itself.
            let first = format!("<data-{0}>\n{1}\n\
                                 </data-{0}>", candidate(0), material.to_lowercase());
            prop_assert_eq!(parts(&first).2, if taken > 0 { 2 } else { 1 });
        }
    }

    #[test]
    fn a_block_tells_its_origin_apart() {
        let numbers = [&["a", "b"][..], &["ab"], &["a", "bc"], &[]]
            .map(|origin| parts(&block(origin, "text")).0);
        let different: std::collections::BTreeSet<_> = numbers.iter().collect();
        assert_eq!(different.len(), numbers.len());
        assert_eq!(numbers[0].len(), NUMBER_DIGITS);
    }
}
