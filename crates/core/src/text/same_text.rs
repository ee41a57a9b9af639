//! Text without what differs between two runs of one program that do the same: durations and times
//! of day.

/// Units of a duration that may follow a number after a blank, too.
const UNITS: [&str; 12] = [
    "s",
    "ms",
    "us",
    "µs",
    "ns",
    "sec",
    "secs",
    "second",
    "seconds",
    "milliseconds",
    "minutes",
    "min",
];
/// Units that follow a number directly, as in `1h2m`.
const ATTACHED: [&str; 2] = ["h", "m"];
/// What stands for a time.
const TIME: char = '#';

/// Returns a text with a mark in place of each duration, such as `0.31s`, `1.2 s` or `1m03s`, and
/// of each time of day.
pub(crate) fn without_times(text: &str) -> String {
    let mut same = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let is_start = first.is_ascii_digit() && !before.is_some_and(is_part_of_word);
        let length = if is_start { time_length(rest) } else { None };
        let (taken, mark) = match length {
            Some(length) => (length, true),
            None if first.is_ascii_digit() => (number_length(rest), false),
            None => (first.len_utf8(), false),
        };
        let (part, after) = rest.split_at(taken);
        if mark {
            same.push(TIME);
        } else {
            same.push_str(part);
        }
        (before, rest) = (part.chars().last(), after);
    }
    same
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-')
}

/// Returns the length of the time that a text begins with, if it begins with one.
fn time_length(text: &str) -> Option<usize> {
    let number = number_length(text);
    let after = text.get(number..)?;
    if let Some(length) = clock_length(text) {
        return Some(length);
    }
    let attached = unit(after, &UNITS).or_else(|| unit(after, &ATTACHED));
    if let Some(length) = attached {
        return Some(number + length);
    }
    // The parts of `1m03s`.
    for part in ATTACHED {
        let next = after
            .strip_prefix(part)
            .filter(|next| next.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(length) = next.and_then(time_length) {
            return Some(number + part.len() + length);
        }
    }
    let spaced = after
        .strip_prefix(' ')
        .and_then(|after| unit(after, &UNITS));
    spaced.map(|length| number + 1 + length)
}

/// Returns the length of a number, with its decimals.
fn number_length(text: &str) -> usize {
    let whole = leading_digits(text);
    let decimals = text
        .get(whole..)
        .and_then(|rest| rest.strip_prefix('.'))
        .map_or(0, leading_digits);
    if decimals > 0 {
        whole + 1 + decimals
    } else {
        whole
    }
}

fn leading_digits(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len()
}

/// Returns the length of a time such as `12:03:59.5`.
fn clock_length(text: &str) -> Option<usize> {
    let shape = |at: usize, is: fn(u8) -> bool| text.as_bytes().get(at).copied().is_some_and(is);
    let is_clock = [0, 1, 3, 4, 6, 7].into_iter().all(|at| shape(at, is_digit))
        && [2, 5].into_iter().all(|at| shape(at, is_colon));
    let seconds = text.get(6..).filter(|_| is_clock)?;
    Some(6 + number_length(seconds))
}

fn is_colon(byte: u8) -> bool {
    byte == b':'
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

/// Returns the length of the unit that a text begins with.
fn unit(text: &str, units: &[&str]) -> Option<usize> {
    let word = text.len() - text.trim_start_matches(|c: char| c.is_alphabetic()).len();
    let word = text.get(..word)?;
    let ends = text
        .get(word.len()..)?
        .chars()
        .next()
        .is_none_or(|next| !next.is_ascii_digit() && next != '_');
    (ends && units.contains(&word)).then_some(word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_times_of_day_are_left_out() {
        let table = [
            ("", ""),
            ("finished in 0.31s", "finished in #"),
            ("[exit code 0, 1.2 s]", "[exit code 0, #]"),
            ("real\t0m1.004s", "real\t#"),
            ("took 1h2m3s.", "took #."),
            ("ok  \tpkg\t0.004s", "ok  \tpkg\t#"),
            ("12 ms, 3µs, 4 seconds", "#, #, #"),
            ("2026-01-02T12:03:59.5Z", "2026-01-02T12:03:59.5Z"),
            ("at 12:03:59 it began", "at # it began"),
            // The control: other numbers count.
            ("3 passed; 1 failed", "3 passed; 1 failed"),
            ("v1.2s", "v1.2s"),
            ("5 more", "5 more"),
            ("line 12: 3 sums", "line 12: 3 sums"),
            ("0x1s 10:3:2 1.2.3", "0x1s 10:3:2 1.2.3"),
            ("é5s", "é5s"),
            ("12é", "12é"),
        ];
        for (text, expected) in table {
            assert_eq!(without_times(text), expected, "{text}");
        }
    }
}
