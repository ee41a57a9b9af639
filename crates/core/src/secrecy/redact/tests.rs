use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::event::HeldIntegration;

const KEY: &str = "sk-proj-aZ3/9+Qx_7\"Lm\\Tn0pWvB5uYk2RdE8sHcJ4";

fn redactor(value: &str) -> Redactor {
    Redactor::new([Secret::new("KEY", value)])
}

/// Encodes base64 with a table of its own, as another program would.
fn base64_of(bytes: &[u8], last: [char; 2]) -> String {
    let table: Vec<char> = ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .chain(last)
        .collect();
    let bits: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1))
        .collect();
    let sixes = bits.chunks(6).map(|six| {
        six.iter()
            .chain([0; 6].iter())
            .take(6)
            .fold(0, |sum, bit| sum * 2 + bit)
    });
    sixes.map(|six| table[usize::from(six)]).collect()
}

#[test]
fn every_form_is_known() {
    let json = serde_json::to_string(KEY).unwrap();
    let inner = json.trim_matches('"').to_owned();
    let swapped = |c: char| {
        if c.is_ascii_lowercase() {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        }
    };
    let mut forms = vec![
        KEY.to_owned(),
        KEY.to_uppercase(),
        KEY.to_lowercase(),
        KEY.chars().map(swapped).collect(),
        KEY.chars().rev().collect(),
        serde_json::to_string(&inner)
            .unwrap()
            .trim_matches('"')
            .to_owned(),
        inner,
        KEY.chars()
            .map(|c| format!("\\u{:04X}", u32::from(c)))
            .collect(),
        KEY.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        KEY.bytes().map(|byte| format!("{byte:02X}")).collect(),
        KEY.replace('"', "%22")
            .replace('\\', "%5C")
            .replace('/', "%2F")
            .replace('+', "%2B"),
    ];
    for before in 0..3 {
        for after in 0..3 {
            let bytes = [&b"ab"[..before.min(2)], KEY.as_bytes(), &b"yz"[..after]].concat();
            forms.extend([['+', '/'], ['-', '_']].map(|last| base64_of(&bytes, last)));
        }
    }
    let redactor = redactor(KEY);
    for form in forms {
        let text = format!("the server said {form}, and no more");
        let redacted = redactor.text(&text);
        assert!(redacted.contains("[redacted:KEY]"), "{text}");
        // The characters of base64 remain that also contain bits of the neighbouring text.
        let left =
            redacted.replace("[redacted:KEY]", "").len() - "the server said , and no more".len();
        assert!(left <= 8, "{text}: {redacted}");
        assert_eq!(redactor.finds(&text), Some("KEY"));
    }
}

const HARD_KEY: &str = "sk-Q7w&e\"R/t<Y>u'I\\o+P=aS dF%41gH1jK2lZ3xC";

/// Returns a key as programs that escape, dump or wrap texts write it, each with the expected
/// result.
#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
fn shapes(key: &str) -> Vec<(&'static str, String)> {
    let each = |write: &dyn Fn(u8) -> String| key.bytes().map(write).collect::<Vec<String>>();
    let json = serde_json::to_string(key)
        .unwrap()
        .trim_matches('"')
        .to_owned();
    let unsafe_as = |write: &dyn Fn(char) -> String| {
        key.chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_string()
                } else {
                    write(c)
                }
            })
            .collect::<String>()
    };
    let named = key
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let hex = each(&|byte| format!("{byte:02x}"));
    let wrap = |text: &str, width: usize| {
        let pieces = text
            .as_bytes()
            .chunks(width)
            .map(|piece| String::from_utf8_lossy(piece).into_owned());
        pieces.collect::<Vec<_>>().join("\n")
    };
    let once = base64_of(key.as_bytes(), ['+', '/']);
    let twice = base64_of(format!("{}\n", wrap(&once, 76)).as_bytes(), ['+', '/']);
    vec![
        ("json", json.clone()),
        (
            "json of a browser",
            json.replace('&', "\\u0026")
                .replace('<', "\\u003c")
                .replace('>', "\\u003E"),
        ),
        ("html", named.clone()),
        ("html twice", named.replace('&', "&amp;")),
        ("html decimal", each(&|byte| format!("&#{byte};")).concat()),
        (
            "html hexadecimal",
            each(&|byte| format!("&#x{byte:02X};")).concat(),
        ),
        (
            "percent twice",
            unsafe_as(&|c| format!("%25{:02X}", u32::from(c))),
        ),
        (
            "octal escapes",
            each(&|byte| format!("\\{byte:03o}")).concat(),
        ),
        (
            "hexadecimal escapes",
            each(&|byte| format!("\\x{byte:02x}")).concat(),
        ),
        ("colons", hex.join(":")),
        (
            "numbers of C",
            hex.iter()
                .map(|byte| format!("0x{byte}"))
                .collect::<Vec<_>>()
                .join(", "),
        ),
        ("numbers of Rust", format!("{:?}", key.as_bytes())),
        ("shell quoting", unsafe_as(&|c| format!("\\{c}"))),
        ("base32", base32_of(key.as_bytes())),
        ("base64 twice", twice),
        ("fold -w 6", wrap(key, 6)),
        (
            "od -An -tx1",
            hex.chunks(16)
                .map(|line| format!(" {}", line.join(" ")))
                .collect::<Vec<_>>()
                .join("\n"),
        ),
        (
            "od -c",
            each(&|byte| format!("   {}", char::from(byte))).concat(),
        ),
        (
            "hexdump -C",
            dump(key, |at, bytes, text| {
                format!("{at:08x}  {}  |{text}|", bytes.join(" "))
            }),
        ),
        (
            "xxd",
            dump(key, |at, bytes, text| {
                let pairs: Vec<String> = bytes.chunks(2).map(<[String]>::concat).collect();
                format!("{at:08x}: {:<40} {text}", pairs.join(" "))
            }),
        ),
        (
            "hexdump",
            dump(key, |at, bytes, _| {
                let pairs: Vec<String> = bytes
                    .chunks(2)
                    .map(|pair| pair.iter().rev().cloned().collect::<String>())
                    .collect();
                format!("{at:07x} {}", pairs.join(" "))
            }),
        ),
    ]
}

fn dump(key: &str, line: impl Fn(usize, &[String], &str) -> String) -> String {
    let lines = key.as_bytes().chunks(16).enumerate().map(|(at, bytes)| {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        line(at * 16, &hex, &String::from_utf8_lossy(bytes))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn base32_of(bytes: &[u8]) -> String {
    let table: Vec<char> = ('A'..='Z').chain('2'..='7').collect();
    let bits: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1))
        .collect();
    let fives = bits.chunks(5).map(|five| {
        five.iter()
            .chain([0; 5].iter())
            .take(5)
            .fold(0, |sum, bit| sum * 2 + bit)
    });
    fives.map(|five| table[usize::from(five)]).collect()
}

#[test]
fn a_key_goes_whole_however_it_is_written() {
    for key in [HARD_KEY, KEY, "sk-proj-abcdefghijklmnopqrstuvwx0123456789"] {
        let redactor = redactor(key);
        for (name, shape) in shapes(key) {
            for (before, after) in [("", ""), ("out: ", " end"), ("a\n", "\nb\n")] {
                let text = format!("{before}{shape}{after}");
                let left = redactor.text(&text).replace("[redacted:KEY]", "");
                // An offset or a label before it, and characters with bits of its neighbours.
                let most = before.len() + after.len() + 32;
                assert!(
                    left.len() <= most,
                    "{name} of {key}: {left:?} is left of {text:?}"
                );
            }
        }
    }
}

#[test]
fn parts_and_wrapped_lines_are_known() {
    let redactor = redactor(KEY);
    let wrapped = base64_of(KEY.as_bytes(), ['+', '/']);
    let (first, second) = wrapped.split_at(30);
    for (text, expected) in [
        (format!("head {}", &KEY[..20]), "head [redacted:KEY]"),
        (
            format!("{} tail", &KEY[KEY.len() - 17..]),
            "[redacted:KEY] tail",
        ),
        (format!("a {first}\n  {second} b"), "a [redacted:KEY]"),
        (format!("{KEY}{KEY} {KEY}"), "[redacted:KEY]"),
        // Ten characters of it reveal too little.
        (format!("head {}", &KEY[..10]), "head sk-proj-aZ"),
    ] {
        let redacted = redactor.text(&text);
        assert!(redacted.starts_with(expected), "{text}: {redacted}");
    }
}

#[test]
fn short_secrets_and_placeholders_hide_no_words() {
    for value in [
        "",
        " ",
        "a",
        "key",
        "hunter2",
        "placeholder",
        "Not-Needed",
        "ollama",
    ] {
        let redactor = redactor(value);
        assert!(redactor.is_empty(), "{value}");
        let text = "a key for ollama is not-needed: a placeholder will do";
        assert_eq!(redactor.text(text), text);
    }
    assert_eq!(
        redactor("hunter22").text("hunter2 hunter22"),
        "hunter2 [redacted:KEY]"
    );
}

#[test]
fn words_and_names_of_a_project_are_no_secrets() {
    for value in [
        "password",
        "postgres",
        "whatever",
        "gpt-4o-mini",
        "my-database-01",
        "created_at_updated_at",
    ] {
        assert!(redactor(value).is_empty(), "{value}");
    }
    for value in [
        "hunter22",
        "sk-0a1b2c3d4e",
        "correct-horse-battery-staple-and-more",
        "Xk39x9Qp",
    ] {
        assert!(!redactor(value).is_empty(), "{value}");
    }
    assert!(
        Redactor::new(Secret::in_url(
            "url",
            "https://h/v1?deployment=gpt4ominiforus"
        ))
        .is_empty()
    );
}

#[test]
fn the_mark_of_a_secret_is_found() {
    let redactor = redactor(KEY);
    let redacted = redactor.owned(format!("a = {KEY}"));
    assert_eq!(
        (
            redactor.mark_in(&redacted),
            redactor.mark_in("[redacted:OTHER] KEY")
        ),
        (Some("KEY"), None)
    );
}

#[test]
fn what_is_secret_in_a_url() {
    let redacted = |url: &str, text: &str| {
        Redactor::new(Secret::in_url("remote", url))
            .text(text)
            .into_owned()
    };
    for (url, text, expected) in [
        (
            "https://me:p%40ssw0rd12@h/x",
            "p@ssw0rd12 p%40ssw0rd12",
            "[redacted:remote] [redacted:remote]",
        ),
        (
            "https://me:pw@host/x",
            "fetch https://me:pw@host/x: pw",
            "fetch https://[redacted:remote]/x: pw",
        ),
        (
            "https://ghp_0123456789abcdefghij@h",
            "ghp_0123456789abcdefghij",
            "[redacted:remote]",
        ),
        (
            "https://somebody-at-work@h/x",
            "by somebody-at-work",
            "by somebody-at-work",
        ),
        (
            "git@github.com:a/b",
            "git@github.com:a/b",
            "git@github.com:a/b",
        ),
        (
            "https://h/v1?api-version=2024-01-01&key=abcdefgh1",
            "abcdefgh1 2024-01-01",
            "[redacted:remote] 2024-01-01",
        ),
    ] {
        assert_eq!(redacted(url, text), expected, "{url}");
    }
}

#[test]
fn values_are_redacted_in_texts_and_names() {
    let redactor = redactor(KEY);
    let value = serde_json::json!({KEY: [{"a": format!("x {KEY}")}, 3, null]});
    let expected = serde_json::json!({"[redacted:KEY]": [{"a": "x [redacted:KEY]"}, 3, null]});
    assert_eq!(redactor.value(value.clone()), expected);
    assert_eq!(redactor.all_of(value).unwrap(), expected);
}

#[test]
fn what_cannot_be_without_a_secret_is_not_kept_with_it() {
    let redactor = redactor("integration.held-by-nobody-at-all");
    let held = HeldIntegration {
        checkout: "integration.held-by-nobody-at-all".to_owned(),
        commit: "1".into(),
    };
    let refused = redactor
        .all_of(crate::Event::IntegrationHeld(held))
        .unwrap_err();
    let (fields, secret) = ("type`, `checkout".to_owned(), "KEY".to_owned());
    assert_eq!(refused, RedactionError::Fixed { fields, secret });
    assert!(!refused.to_string().contains("nobody"), "{refused}");
}

#[test]
fn a_key_is_known_in_one_encoding_within_another() {
    let percent = |text: &str, upper: bool, kept: &str| {
        let byte = |byte: u8| match char::from(byte) {
            c if c.is_ascii_alphanumeric() || kept.contains(c) => c.to_string(),
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        };
        text.bytes().map(byte).collect::<String>()
    };
    for key in [HARD_KEY, KEY] {
        let redactor = redactor(key);
        let mut texts = vec![percent(
            &base64_of(key.as_bytes(), ['+', '/']),
            true,
            "-._~",
        )];
        for kept in ["-._~", "-._~/", "-._~!'()*", ""] {
            for inner in [true, false].map(|upper| percent(key, upper, kept)) {
                texts.push(base64_of(inner.as_bytes(), ['+', '/']));
                texts.push(percent(
                    &base64_of(format!("a{inner}").as_bytes(), ['+', '/']),
                    true,
                    "-._~",
                ));
            }
        }
        for text in texts {
            let left = redactor.text(&text).replace("[redacted:KEY]", "");
            assert!(left.len() <= 8, "{left:?} is left of {text}");
        }
    }
}

#[test]
fn a_hostile_text_takes_no_time_beyond_its_length() {
    let redactor = redactor(KEY);
    // Each would take minutes if every matching piece were compared from its own beginning.
    let texts = [
        KEY.repeat(4_000),
        KEY[..15].repeat(12_000),
        format!("{}\n", &KEY[..8]).repeat(20_000),
    ];
    for text in &texts {
        assert!(redactor.text(text).len() <= text.len());
    }
}

/// The search for a key of a usual form, built once.
static OF_KEY: LazyLock<Redactor> = LazyLock::new(|| redactor(KEY));
/// The search for a key with dashes.
static OF_DASHED_KEY: LazyLock<Redactor> = LazyLock::new(|| redactor(DASHED_KEY));
const DASHED_KEY: &str = "sk-proj-ABCDEFGHIJKLMNOPQRSTUVWX0123456789";

proptest! {
    // Some cases build a search.
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Wherever a stream is cut, its output equals the redacted whole, and never contains the
    /// secret.
    #[test]
    fn a_stream_is_redacted_across_its_pieces(
        before in "[a-z \n]{0,30}",
        between in "[a-z \n]{0,400}",
        cuts in prop::collection::vec(0_usize..60, 0..40),
    ) {
        let text = format!("{before}{KEY}{between}{KEY}");
        let mut stream = RedactedStream::new(&OF_KEY);
        let (mut rest, mut out) = (text.as_str(), String::new());
        for cut in cuts {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(cut.min(rest.len())));
            out.push_str(&stream.push(piece));
            rest = more;
        }
        out.push_str(&stream.push(rest));
        out.push_str(&stream.finish());
        prop_assert!(!out.contains(KEY));
        prop_assert_eq!(out, OF_KEY.text(&text));
    }

    /// All text around a key in any shape stays, and no eight consecutive characters of the key do.
    #[test]
    fn only_the_secret_goes(before in "[g-z \n]{0,40}\n", after in "\n[g-z \n]{0,40}", shape in 0_usize..21) {
        let redactor = &*OF_DASHED_KEY;
        let innocent = format!("{before}00000010  73 6b 2d |sk-|\n{after} a%20b &amp; \\u0041 0x12, 0x34");
        prop_assert_eq!(redactor.text(&innocent), innocent.as_str());
        let (_, shape) = shapes(DASHED_KEY).swap_remove(shape);
        let text = format!("{before}{shape}{after}");
        let redacted = redactor.text(&text);
        prop_assert!(redacted.starts_with(&before) && redacted.ends_with(&after), "{}", redacted);
        prop_assert!(redacted.len() <= before.len() + after.len() + "[redacted:KEY]".len() + 16, "{}", redacted);
    }

    #[test]
    fn no_text_breaks_it(text in any::<String>(), secret in any::<String>()) {
        let redactor = redactor(&secret);
        let _ = redactor.text(&text);
        let framed = format!("{text}{}{text}", secret.trim());
        prop_assert_eq!(redactor.is_empty(), redactor.finds(&framed).is_none());
    }
}
