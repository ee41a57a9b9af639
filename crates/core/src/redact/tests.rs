use proptest::prelude::*;

use super::*;

const KEY: &str = "sk-proj-aZ3/9+Qx_7\"Lm\\Tn0pWvB5uYk2RdE8sHcJ4";

fn redactor(value: &str) -> Redactor {
    Redactor::new([Secret::new("KEY", value)])
}

/// Writes base64 as another program would, by its own table.
fn base64_of(bytes: &[u8], last: [char; 2]) -> String {
    let table: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(last).collect();
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)).collect();
    let sixes = bits.chunks(6).map(|six| six.iter().chain([0; 6].iter()).take(6).fold(0, |sum, bit| sum * 2 + bit));
    sixes.map(|six| table[usize::from(six)]).collect()
}

#[test]
fn every_form_is_known() {
    let json = serde_json::to_string(KEY).unwrap();
    let inner = json.trim_matches('"').to_owned();
    let swapped = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    let mut forms = vec![
        KEY.to_owned(),
        KEY.to_uppercase(),
        KEY.to_lowercase(),
        KEY.chars().map(swapped).collect(),
        KEY.chars().rev().collect(),
        serde_json::to_string(&inner).unwrap().trim_matches('"').to_owned(),
        inner,
        KEY.chars().map(|c| format!("\\u{:04X}", u32::from(c))).collect(),
        KEY.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        KEY.bytes().map(|byte| format!("{byte:02X}")).collect(),
        KEY.replace('"', "%22").replace('\\', "%5C").replace('/', "%2F").replace('+', "%2B"),
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
        // Of base64 the characters remain that also hold bits of what stands around it.
        let left = redacted.replace("[redacted:KEY]", "").len() - "the server said , and no more".len();
        assert!(left <= 8, "{text}: {redacted}");
        assert_eq!(redactor.finds(&text), Some("KEY"));
    }
}

#[test]
fn parts_and_wrapped_lines_are_known() {
    let redactor = redactor(KEY);
    let wrapped = base64_of(KEY.as_bytes(), ['+', '/']);
    let (first, second) = wrapped.split_at(30);
    for (text, expected) in [
        (format!("head {}", &KEY[..20]), "head [redacted:KEY]"),
        (format!("{} tail", &KEY[KEY.len() - 17..]), "[redacted:KEY] tail"),
        (format!("a {first}\n  {second} b"), "a [redacted:KEY]"),
        (format!("{KEY}{KEY} {KEY}"), "[redacted:KEY]"),
        // Ten characters of it tell nobody the rest.
        (format!("head {}", &KEY[..10]), "head sk-proj-aZ"),
    ] {
        let redacted = redactor.text(&text);
        assert!(redacted.starts_with(expected), "{text}: {redacted}");
    }
}

#[test]
fn short_secrets_and_placeholders_hide_no_words() {
    for value in ["", " ", "a", "key", "hunter2", "placeholder", "Not-Needed", "ollama"] {
        let redactor = redactor(value);
        assert!(redactor.is_empty(), "{value}");
        let text = "a key for ollama is not-needed: a placeholder will do";
        assert_eq!(redactor.text(text), text);
    }
    assert_eq!(redactor("hunter22").text("hunter2 hunter22"), "hunter2 [redacted:KEY]");
}

#[test]
fn words_and_names_of_a_project_are_no_secrets() {
    for value in ["password", "postgres", "whatever", "gpt-4o-mini", "my-database-01", "created_at_updated_at"] {
        assert!(redactor(value).is_empty(), "{value}");
    }
    for value in ["hunter22", "sk-0a1b2c3d4e", "correct-horse-battery-staple-and-more", "Xk39x9Qp"] {
        assert!(!redactor(value).is_empty(), "{value}");
    }
    assert!(Redactor::new(Secret::in_url("url", "https://h/v1?deployment=gpt4ominiforus")).is_empty());
}

#[test]
fn the_mark_of_a_secret_is_found() {
    let redactor = redactor(KEY);
    let redacted = redactor.owned(format!("a = {KEY}"));
    assert_eq!((redactor.mark_in(&redacted), redactor.mark_in("[redacted:OTHER] KEY")), (Some("KEY"), None));
}

#[test]
fn what_is_secret_in_a_url() {
    let redacted = |url: &str, text: &str| Redactor::new(Secret::in_url("remote", url)).text(text).into_owned();
    for (url, text, expected) in [
        ("https://me:p%40ssw0rd12@h/x", "p@ssw0rd12 p%40ssw0rd12", "[redacted:remote] [redacted:remote]"),
        ("https://me:pw@host/x", "fetch https://me:pw@host/x: pw", "fetch https://[redacted:remote]/x: pw"),
        ("https://ghp_0123456789abcdefghij@h", "ghp_0123456789abcdefghij", "[redacted:remote]"),
        ("https://somebody-at-work@h/x", "by somebody-at-work", "by somebody-at-work"),
        ("git@github.com:a/b", "git@github.com:a/b", "git@github.com:a/b"),
        ("https://h/v1?api-version=2024-01-01&key=abcdefgh1", "abcdefgh1 2024-01-01", "[redacted:remote] 2024-01-01"),
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
    assert_eq!(redactor.all_of(value), expected);
}

#[test]
fn a_hostile_text_takes_no_time_beyond_its_length() {
    let redactor = redactor(KEY);
    // Each would take hours if every piece that fits were compared from its own beginning.
    let texts = [KEY.repeat(20_000), KEY[..15].repeat(60_000), format!("{}\n", &KEY[..8]).repeat(100_000)];
    for text in &texts {
        assert!(redactor.text(text).len() <= text.len());
    }
}

proptest! {
    /// Wherever a stream is cut, what comes out is what comes out of the whole, and never the secret.
    #[test]
    fn a_stream_is_redacted_across_its_pieces(
        before in "[a-z \n]{0,30}",
        between in "[a-z \n]{0,400}",
        cuts in prop::collection::vec(0_usize..60, 0..40),
    ) {
        let redactor = redactor(KEY);
        let text = format!("{before}{KEY}{between}{KEY}");
        let mut stream = RedactedStream::new(&redactor);
        let (mut rest, mut out) = (text.as_str(), String::new());
        for cut in cuts {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(cut.min(rest.len())));
            out.push_str(&stream.push(piece));
            rest = more;
        }
        out.push_str(&stream.push(rest));
        out.push_str(&stream.finish());
        prop_assert!(!out.contains(KEY));
        prop_assert_eq!(out, redactor.text(&text));
    }

    #[test]
    fn no_text_breaks_it(text in any::<String>(), secret in any::<String>()) {
        let redactor = redactor(&secret);
        let _ = redactor.text(&text);
        let framed = format!("{text}{}{text}", secret.trim());
        prop_assert_eq!(redactor.is_empty(), redactor.finds(&framed).is_none());
    }
}
