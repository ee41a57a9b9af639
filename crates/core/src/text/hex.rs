//! Bytes in hexadecimal, and behind percent signs.

/// Returns bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        digits.extend(
            [byte >> 4, byte & 0xf]
                .into_iter()
                .filter_map(|digit| char::from_digit(digit.into(), 16)),
        );
    }
    digits
}

/// Returns the bytes of a text with its `%` sequences decoded; what looks like one and is none
/// stays.
pub(crate) fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        if let [b'%', high, low, behind @ ..] = rest
            && let Ok(digits) = std::str::from_utf8(&[*high, *low])
            && let Ok(byte) = u8::from_str_radix(digits, 16)
        {
            bytes.push(byte);
            rest = behind;
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sequences_of_two_digits_are_decoded() {
        assert_eq!(percent_decoded("a%2Fb%41%e9"), b"a/bA\xe9");
        assert_eq!(percent_decoded("100%, %4, %zz%"), b"100%, %4, %zz%");
    }

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(hex(&[]), "");
        assert_eq!(hex(&[0x00, 0x09, 0x0a, 0x7f, 0xf0, 0xff]), "00090a7ff0ff");
    }
}
