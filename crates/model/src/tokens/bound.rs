//! A cheap upper bound of tokens, which needs no vocabulary.

use orchestrate_core::agent::context::TokenCounter;

/// The size of the pieces in which a text is counted, in bytes. The tokenizer panics at a million
/// blanks in a row, which a model may write. A longer text has at most a few tokens more than
/// counted as a whole, one at each cut.
pub(super) const PIECE_BYTES: usize = 256 * 1024;

/// The pairs of small letters that are no token of their own.
const NO_TOKENS: [&[u8; 2]; 29] = [
    b"bq", b"gk", b"gq", b"jv", b"jz", b"kq", b"kz", b"lq", b"nq", b"qf", b"qg", b"qj", b"qk",
    b"qv", b"qz", b"rj", b"tq", b"wq", b"wz", b"xg", b"xj", b"xk", b"xq", b"xv", b"xw", b"yq",
    b"zj", b"zq", b"zv",
];

/// Letters of which each of these pairs has one, apart from `gk`. They are rare.
const RARE: [u8; 4] = *b"jqxz";

/// Reports whether two small letters are no token of their own.
fn is_split(first: u8, second: u8) -> bool {
    let may_be = RARE.contains(&first) || RARE.contains(&second) || first == b'g';
    may_be && NO_TOKENS.contains(&&[first, second])
}

/// Bounds tokens by bytes, and by fewer in words of small letters.
///
/// Each token stands for at least one byte. The tokenizer joins neighbours as long as the two are
/// a token together; a blank and a small letter are, and so are two small letters, apart from
/// [`NO_TOKENS`]. So in a word, with the blank before it, no two neighbours stand for one byte
/// each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WordBound;

impl TokenCounter for WordBound {
    fn count(&self, text: &str) -> usize {
        // A cut may divide a word.
        let mut tokens = text.len() / PIECE_BYTES;
        let (mut word, mut before) = (0, 0);
        for byte in text.bytes() {
            if !byte.is_ascii_lowercase() {
                tokens += most_tokens(word) + 1;
                // The tokenizer ends a word after `'s` and the like.
                tokens += usize::from(byte == b'\'');
                word = 0;
            } else if word > 0 && !is_split(before, byte) {
                word += 1;
            } else if word == 0 && before == b' ' {
                // The blank was counted as a token of its own.
                tokens -= 1;
                word = 2;
            } else {
                tokens += most_tokens(word);
                word = 1;
            }
            before = byte;
        }
        tokens + most_tokens(word)
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// Returns the most tokens of some bytes of which no two neighbours are tokens of one byte each.
fn most_tokens(bytes: usize) -> usize {
    (2 * bytes + 1) / 3
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokens::Tokenizer;

    #[test]
    fn each_pair_of_a_word_is_a_token() {
        let tokenizer = Tokenizer::load().unwrap();
        for second in b'a'..=b'z' {
            for first in (b'a'..=b'z').chain([b' ']) {
                let pair = String::from_utf8(vec![first, second]).unwrap();
                let is_token = first == b' ' || !is_split(first, second);
                assert_eq!(tokenizer.count(&pair) == 1, is_token, "{pair}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_has_more_tokens(text in "([a-z]{0,9}[ '\n\"A-Z0-9é_.\\\\]{0,2}){0,40}") {
            let exact = Tokenizer::load().unwrap().count(&text);
            prop_assert!(exact <= WordBound.count(&text), "{exact}");
        }

        #[test]
        fn no_text_at_all_has_more_tokens(text in any::<String>()) {
            let exact = Tokenizer::load().unwrap().count(&text);
            prop_assert!(exact <= WordBound.count(&text), "{exact}");
        }
    }
}
