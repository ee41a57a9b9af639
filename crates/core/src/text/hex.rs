//! Bytes in hexadecimal.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(hex(&[]), "");
        assert_eq!(hex(&[0x00, 0x09, 0x0a, 0x7f, 0xf0, 0xff]), "00090a7ff0ff");
    }
}
