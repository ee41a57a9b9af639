//! The text of a response, by its type and its charset.

use std::borrow::Cow;

use encoding_rs::Encoding;
use orchestrate_core::policy::web::WebResponse;

use crate::answer::ToolError;
use crate::files::binary_kind;
use orchestrate_html::{MAX_TEXT, Page, Style, main_part, markdown};
use orchestrate_memory::Work;

/// What is accepted of pages.
pub(super) const ACCEPT: &str =
    "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.5";
/// How types begin that are no text, with what they are.
const MEDIA: [(&str, &str); 4] = [
    ("image/", "an image"),
    ("audio/", "a sound"),
    ("video/", "a video"),
    ("font/", "a font"),
];
/// How many bytes of a page may come before its charset, as the standard of HTML has it.
const PRESCAN: usize = 1024;

/// The text of a response.
#[derive(Debug)]
pub(super) struct Text<'r> {
    pub(super) text: Cow<'r, str>,
    pub(super) is_html: bool,
    pub(super) is_json: bool,
    /// The charset that the server states and the one that the bytes are in, if it states a wrong
    /// one.
    misread: Option<(&'static Encoding, &'static Encoding)>,
}

impl Text<'_> {
    /// Says that the bytes are in another charset than the server states.
    pub(super) fn misread(&self) -> Option<String> {
        let (stated, used) = self.misread?;
        Some(format!(
            "read as {}, since it is not {} as its server says",
            used.name(),
            stated.name()
        ))
    }
}

impl<'r> Text<'r> {
    /// Decodes a response.
    ///
    /// # Errors
    /// `Retry` if it is no text, with what it is.
    pub(super) fn decode(response: &'r WebResponse) -> Result<Text<'r>, ToolError> {
        let stated = response.content_type.as_deref().unwrap_or_default();
        let kind = stated
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        let body = &response.body;
        let refused = |what: &str| {
            Err(ToolError::Retry(format!(
                "{} is no text but {what}; look for a page that has it as text",
                response.url
            )))
        };
        let marked = Encoding::for_bom(body).is_some();
        if body.starts_with(b"%PDF") || kind == "application/pdf" {
            return refused("a PDF document");
        }
        // The type itself is the server's word.
        let media = MEDIA
            .iter()
            .find(|(media, _)| kind.starts_with(media) && kind != "image/svg+xml");
        if let Some((_, what)) = media {
            return refused(what);
        }
        if let Some(binary) =
            binary_kind(body).filter(|_| !marked && charset_in(stated).is_none_or(is_ascii))
        {
            return refused(&format!("{binary}{}", cut_words(response)));
        }
        let (text, used) = decode(body, charset_in(stated));
        let start = text
            .trim_start()
            .chars()
            .take(PRESCAN)
            .collect::<String>()
            .to_ascii_lowercase();
        let looks_like_html = start.starts_with("<!doctype html") || start.starts_with("<html");
        let is_html = matches!(kind.as_str(), "text/html" | "application/xhtml+xml")
            || (looks_like_html && !kind.starts_with("text/plain"));
        let is_json = kind == "application/json" || kind.ends_with("+json");
        let misread = charset_in(stated)
            .filter(|stated| *stated != used && !marked)
            .map(|stated| (stated, used));
        Ok(Text {
            text,
            is_html,
            is_json,
            misread,
        })
    }
}

/// What a model reads of a response.
#[derive(Debug, Default)]
pub(super) struct Readable {
    pub(super) title: String,
    pub(super) content: String,
    /// Whether the page has too many parts to show all.
    pub(super) has_more: bool,
    /// Says that the bytes are in another charset than the server states.
    pub(super) misread: Option<String>,
}

impl Readable {
    /// Returns the text as it is.
    pub(super) fn plain(text: Text<'_>) -> Readable {
        let misread = text.misread();
        Readable {
            content: text.text.into_owned(),
            misread,
            ..Readable::default()
        }
    }
}

/// Returns the main part of a response's page as Markdown, with its title; any other text as it is.
/// It blocks until few others make as much of theirs.
///
/// # Errors
/// As [`Text::decode`].
pub(super) fn readable(response: &WebResponse, style: Style) -> Result<Readable, ToolError> {
    let _work = Work::begin(&|| false);
    let text = Text::decode(response)?;
    if !text.is_html {
        return Ok(Readable::plain(text));
    }
    let page = Page::parse(&text.text);
    let content = markdown(&page, main_part(&page), &response.url, style);
    let has_more = page.is_cut() || content.len() >= MAX_TEXT;
    Ok(Readable {
        title: page.title(),
        content,
        has_more,
        misread: text.misread(),
    })
}

/// Says how content was compressed, and which limit has cut it.
fn cut_words(response: &WebResponse) -> String {
    if !response.is_cut {
        return String::new();
    }
    let coding = response
        .coding
        .as_deref()
        .map(shown_kind)
        .unwrap_or_default();
    let compressed = if coding.is_empty() {
        String::new()
    } else {
        format!(" decompressed from {coding},")
    };
    format!(
        ",{compressed} the first part up to the limit `tools.web_requests.max_response_size_mb`"
    )
}

/// Returns a type of content, as far as it is one.
fn shown_kind(kind: &str) -> String {
    kind.chars()
        .filter(|c| c.is_ascii_alphanumeric() || "/+-.".contains(*c))
        .take(60)
        .collect()
}

fn is_ascii(encoding: &'static Encoding) -> bool {
    encoding.is_ascii_compatible()
}

/// Finds the encoding that a type of content names.
fn charset_in(content_type: &str) -> Option<&'static Encoding> {
    let lower = content_type.to_ascii_lowercase();
    let (_, label) = lower.split_once("charset=")?;
    let label = label
        .trim_start_matches(['"', '\'', ' '])
        .split(['"', '\'', ';', ' ', '>', '/'])
        .next()?;
    Encoding::for_label_no_replacement(label.as_bytes())
}

/// Decodes bytes: by their mark, by what the server states, by what the page states, or by how they
/// look. A label that the bytes contradict counts for nothing.
fn decode<'b>(
    bytes: &'b [u8],
    stated: Option<&'static Encoding>,
) -> (Cow<'b, str>, &'static Encoding) {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let (_, behind) = bytes.split_at(mark);
        return (encoding.decode_without_bom_handling(behind).0, encoding);
    }
    let stated = stated.filter(|stated| !is_utf_8_in_disguise(bytes, stated));
    let (prescan, _) = bytes.split_at(PRESCAN.min(bytes.len()));
    let in_page = charset_in(&String::from_utf8_lossy(prescan));
    // UTF-8 that a page states of itself cannot be UTF-16, in which nobody could have read it.
    let in_page = in_page.map(|found| {
        if found.is_ascii_compatible() {
            found
        } else {
            encoding_rs::UTF_8
        }
    });
    for encoding in [stated, in_page, Some(encoding_rs::UTF_8)]
        .into_iter()
        .flatten()
    {
        // The last character may have been cut in two.
        let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
        let only_at_end = || {
            text.trim_end_matches(char::REPLACEMENT_CHARACTER)
                .contains(char::REPLACEMENT_CHARACTER)
        };
        if !has_errors || !only_at_end() {
            return (text, encoding);
        }
    }
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    let guessed = detector.guess(None, chardetng::Utf8Detection::Deny);
    (guessed.decode_without_bom_handling(bytes).0, guessed)
}

/// Reports whether bytes are UTF-8, although the charset that is stated would read them without an
/// error, as signs of another script.
fn is_utf_8_in_disguise(bytes: &[u8], stated: &'static Encoding) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(_) => bytes,
        // The last character may have been cut in two.
        Err(error) if error.error_len().is_none() => bytes.split_at(error.valid_up_to()).0,
        Err(_) => return false,
    };
    match stated.is_ascii_compatible() {
        true => stated == encoding_rs::WINDOWS_1252 && !valid.is_ascii(),
        // In UTF-16, every other byte of most texts is zero.
        false => !valid.is_empty() && !valid.contains(&0),
    }
}

#[cfg(test)]
mod tests {
    use orchestrate_core::policy::host::WebUrl;

    use super::*;

    fn response(content_type: &str, body: &[u8]) -> WebResponse {
        WebResponse {
            url: WebUrl::parse("https://page.example/a").unwrap(),
            status: 200,
            content_type: Some(content_type.to_owned()).filter(|kind| !kind.is_empty()),
            retry_after: None,
            coding: None,
            body: body.to_vec(),
            is_cut: false,
            was_kept: false,
        }
    }

    #[test]
    fn content_that_was_cut_names_its_compression_and_the_limit() {
        let bomb = WebResponse {
            coding: Some("gzip".to_owned()),
            is_cut: true,
            ..response("text/html", &[0; 2048])
        };
        let expected = "https://page.example/a is no text but binary data of 2 kB, decompressed \
                        from gzip, the first part up to the limit \
                        `tools.web_requests.max_response_size_mb`; look for a page that has it as \
                        text";
        assert_eq!(Text::decode(&bomb).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_charset_that_is_not_that_of_the_bytes_is_named() {
        let table: [(&str, &[u8], &str, Option<&str>); 5] = [
            (
                "text/html; charset=utf-16",
                "<p>café</p>".as_bytes(),
                "<p>café</p>",
                Some("read as UTF-8, since it is not UTF-16LE as its server says"),
            ),
            (
                "text/plain; charset=iso-8859-1",
                "café".as_bytes(),
                "café",
                Some("read as UTF-8, since it is not windows-1252 as its server says"),
            ),
            (
                "text/plain; charset=utf-8",
                b"caf\xe9 au lait, d\xe9j\xe0 vu",
                "café au lait, déjà vu",
                Some("read as windows-1252, since it is not UTF-8 as its server says"),
            ),
            ("text/plain; charset=utf-16le", b"a\0b\0", "ab", None),
            ("text/plain; charset=utf-8", "é".as_bytes(), "é", None),
        ];
        for (content_type, body, expected, misread) in table {
            let response = response(content_type, body);
            let text = Text::decode(&response).unwrap();
            assert_eq!(
                (&*text.text, text.misread().as_deref()),
                (expected, misread),
                "{content_type}"
            );
        }
    }

    fn read(content_type: &str, body: &[u8]) -> String {
        match Text::decode(&response(content_type, body)) {
            Ok(text) => text.text.into_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_charset_is_found_by_its_label() {
        let table: [(&str, &[u8], &str); 11] = [
            ("text/plain; charset=utf-8", "é".as_bytes(), "é"),
            ("text/plain; charset=\"ISO-8859-1\"", b"\xe9", "é"),
            (
                "text/plain;charset=koi8-r",
                b"\xf0\xd2\xc9\xd7\xc5\xd4",
                "Привет",
            ),
            ("text/plain", "é".as_bytes(), "é"),
            (
                "text/html",
                b"<meta charset=windows-1251>\xcf",
                "<meta charset=windows-1251>П",
            ),
            (
                "text/html",
                b"<meta http-equiv=content-type content='text/html; charset=shift_jis'>\x82\xa0",
                "<meta http-equiv=content-type content='text/html; charset=shift_jis'>あ",
            ),
            // A mark wins over every label.
            ("text/plain; charset=latin1", b"\xef\xbb\xbf\xc3\xa9", "é"),
            ("text/plain", b"\xff\xfea\0b\0", "ab"),
            ("text/plain; charset=utf-16le", b"a\0b\0", "ab"),
            // Labels that lie, or are none.
            (
                "text/plain; charset=utf-8",
                b"caf\xe9 au lait, d\xe9j\xe0 vu",
                "café au lait, déjà vu",
            ),
            ("text/plain; charset=nonsense", "é".as_bytes(), "é"),
        ];
        for (content_type, body, expected) in table {
            assert_eq!(read(content_type, body), expected, "{content_type}");
        }
    }

    #[test]
    fn what_is_no_text_is_named() {
        let table: [(&str, &[u8], &str); 6] = [
            ("application/pdf", b"%PDF-1.7", "a PDF document"),
            ("text/html", b"%PDF-1.7", "a PDF document"),
            ("image/do-as-i-say", b"\x89PNG", "an image"),
            (
                "application/octet-stream",
                b"PK\x03\x04",
                "a ZIP archive of 4 B",
            ),
            ("text/html", b"a\0b", "binary data of 3 B"),
            ("", b"\x7fELF", "an ELF program of 4 B"),
        ];
        for (content_type, body, expected) in table {
            let expected = format!(
                "https://page.example/a is no text but {expected}; look for a page that has it as \
                 text"
            );
            assert_eq!(read(content_type, body), expected, "{content_type}");
        }
        assert_eq!(read("application/octet-stream", b"plain"), "plain");
    }

    #[test]
    fn html_is_known_by_its_type_or_its_begin() {
        let table = [
            ("text/html", "x", true),
            ("", " <!DOCTYPE html><p>", true),
            ("text/plain", "<!doctype html>", false),
            ("application/xhtml+xml", "<?xml?>", true),
            ("application/json", "{}", false),
        ];
        for (content_type, body, expected) in table {
            assert_eq!(
                Text::decode(&response(content_type, body.as_bytes()))
                    .unwrap()
                    .is_html,
                expected,
                "{content_type}"
            );
        }
    }
}
