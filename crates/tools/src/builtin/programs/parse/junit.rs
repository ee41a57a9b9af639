//! JUnit's XML, which runners of many languages write.

use roxmltree::{Document, Node};

use super::place::{inside, paths, places};
use super::tally::Tally;
use crate::answer::TestErrorKind;

/// Maximum number of elements and attributes of a report, which then have about forty megabytes.
const MAX_PARTS: usize = 400_000;
/// What pytest says of a file that it cannot import.
const NOT_COLLECTED: &str = "collection failure";
/// What a report begins with.
const DECLARATION: &str = "<?xml";
/// How many beginnings of a report are tried, the last ones: tests may print any number of them.
const MOST_BEGINNINGS: usize = 16;
/// What begins as a tag does and is none, each with its end.
const NO_TAGS: &[(&str, &str)] = &[("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
/// What Node 20 says of a test that its pattern leaves out, and later versions do not report.
const LEFT_OUT: &str = "test name does not match pattern";

/// Reads the report that a program printed among other lines, after those of its tests; `None` if
/// there is none.
pub(crate) fn printed(text: &str, program: &str, root: &str) -> Option<Tally> {
    let declared = declared(text);
    let report = match declared.last() {
        Some(last) => {
            last_whole(text, &declared).or_else(|| text.get(*last..).map(without_rest))?
        }
        None => last_whole(text, &undeclared(text))?,
    };
    let mut tally = Tally::default();
    read(
        &mut tally,
        report,
        &format!("the report of {program}"),
        root,
    );
    Some(tally)
}

/// Returns where the roots of the last reports begin, each after a declaration, perhaps with other
/// lines between them.
fn declared(text: &str) -> Vec<usize> {
    let mut found: Vec<usize> = text
        .rmatch_indices(DECLARATION)
        .filter_map(|(at, declaration)| root_after(text, at + declaration.len()))
        .take(MOST_BEGINNINGS)
        .collect();
    found.reverse();
    found
}

/// Returns where the root begins that belongs to the declaration which ends here.
fn root_after(text: &str, declaration_end: usize) -> Option<usize> {
    let own = text.get(declaration_end..)?.split(DECLARATION).next()?;
    Some(declaration_end + own.find("<testsuite")?)
}

/// Returns where reports without a declaration begin.
fn undeclared(text: &str) -> Vec<usize> {
    let mut found: Vec<usize> = text
        .rmatch_indices("<testsuites")
        .map(|(at, _)| at)
        .take(MOST_BEGINNINGS)
        .collect();
    found.reverse();
    if found.is_empty() {
        text.find("<testsuite").into_iter().collect()
    } else {
        found
    }
}

/// Returns the last element that begins at one of these places and can be read. What begins inside
/// of another one is a comment of it, or the like.
fn last_whole<'a>(text: &'a str, beginnings: &[usize]) -> Option<&'a str> {
    let (mut found, mut end) = (None, 0);
    for begin in beginnings.iter().copied() {
        let element = text
            .get(begin..)
            .and_then(|rest| rest.get(..element_length(rest)?));
        if let Some(element) =
            element.filter(|element| begin >= end && document(&readable(element)).is_ok())
        {
            (found, end) = (Some(element), begin + element.len());
        }
    }
    found
}

/// Returns the length of the element that a text begins with; `None` if it does not end.
fn element_length(text: &str) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        at += text.get(at..)?.find('<')?;
        let rest = text.get(at..)?;
        let other = NO_TAGS.iter().find(|(begin, _)| rest.starts_with(begin));
        at += match other {
            Some((_, end)) => rest.find(end)? + end.len(),
            None => {
                let tag = rest.get(..tag_length(rest)?)?;
                if tag.starts_with("</") {
                    depth = depth.checked_sub(1)?;
                } else if !tag.ends_with("/>") {
                    depth += 1;
                }
                tag.len()
            }
        };
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Returns the length of the tag that a text begins with; a value in quotes may contain what would
/// end it.
fn tag_length(text: &str) -> Option<usize> {
    let mut quote: Option<char> = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if open == c => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c == '>' => return Some(at + 1),
            None => {}
        }
    }
    None
}

/// Returns a report that cannot be read without what follows it, so that its own fault is named.
fn without_rest(text: &str) -> &str {
    let end = text
        .rfind("</testsuites>")
        .map_or(text.len(), |at| at + "</testsuites>".len());
    text.get(..end).unwrap_or(text)
}

/// Reads a file beside others of its kind.
pub(crate) fn saved(text: &str, path: &str, root: &str) -> Tally {
    let mut tally = Tally::default();
    read(&mut tally, text, path, root);
    tally
}

/// Parses a report, unless it has too many elements and attributes.
fn document(text: &str) -> Result<Document<'_>, roxmltree::Error> {
    let parts = text
        .bytes()
        .filter(|byte| matches!(byte, b'<' | b'='))
        .count();
    if parts > MAX_PARTS {
        Err(roxmltree::Error::NodesLimitReached)
    } else {
        Document::parse(text)
    }
}

fn read(tally: &mut Tally, text: &str, name: &str, root: &str) {
    let text = readable(text);
    let document = match document(text.trim_start_matches('\u{feff}')) {
        Ok(document) => document,
        Err(error) => return tally.lose(TestErrorKind::Report, name, &error.to_string(), None),
    };
    // Other kinds of reports may be in the same folder.
    let is_report = matches!(
        document.root_element().tag_name().name(),
        "testsuite" | "testsuites"
    );
    for case in document
        .descendants()
        .filter(|node| is_report && node.has_tag_name("testcase"))
    {
        add(tally, case, root);
    }
}

/// Returns a report without what XML does not allow: the names and messages of tests may contain
/// it, and not every runner leaves it out.
fn readable(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| {
            if is_allowed(c) {
                c
            } else {
                char::REPLACEMENT_CHARACTER
            }
        })
        .collect();
    let mut parts = text.split("&#");
    let mut readable = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(';') {
            Some((number, rest)) if names_forbidden(number) => {
                readable.push(char::REPLACEMENT_CHARACTER);
                readable.push_str(rest);
            }
            _ => {
                readable.push_str("&#");
                readable.push_str(part);
            }
        }
    }
    if readable.contains("<![CDATA[") {
        readable
    } else {
        readable.replace("]]>", "]]&gt;")
    }
}

/// Reports whether a reference is to a character that XML does not allow.
fn names_forbidden(number: &str) -> bool {
    let number = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    number.is_ok_and(|number| !char::from_u32(number).is_some_and(is_allowed))
}

fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

fn add<'a>(tally: &mut Tally, case: Node<'a, 'a>, root: &str) {
    let skipped = child(case, "skipped");
    let skipped_for = skipped.and_then(|skipped| skipped.attribute("message"));
    let skipped_as = skipped.and_then(|skipped| skipped.attribute("type"));
    if skipped_for == Some(LEFT_OUT) {
        return;
    }
    let is_off = matches!(case.attribute("status"), Some("disabled" | "notrun"));
    // Node runs tests that are still to do, and does not count how they end.
    if skipped_as == Some("todo") {
        tally.skipped += 1;
    } else if let Some(failure) = child(case, "failure").or_else(|| child(case, "error")) {
        let printed = child(case, "system-out").or_else(|| child(case, "system-err"));
        let message = message(failure, printed);
        let place = place(case, &message, root);
        if is_collection(case, failure) {
            tally.lose(
                TestErrorKind::Collection,
                file_of(case, &message, root),
                &message,
                place,
            );
        } else {
            tally.fail(name(case), &message, place);
        }
    } else if skipped.is_some() || is_off {
        tally.skipped += 1;
    } else {
        tally.passed += 1;
    }
}

fn child<'a>(case: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    case.children().find(|node| node.has_tag_name(name))
}

fn is_collection(case: Node<'_, '_>, failure: Node<'_, '_>) -> bool {
    case.attribute("classname").unwrap_or_default().is_empty()
        && failure.attribute("message") == Some(NOT_COLLECTED)
}

/// Returns the file that pytest names as a module, if its message names the file.
fn file_of(case: Node<'_, '_>, message: &str, root: &str) -> String {
    let module = case.attribute("name").unwrap_or_default();
    for path in paths(message, root) {
        if path.trim_end_matches(".py").replace('/', ".") == module {
            return path;
        }
    }
    module.to_owned()
}

/// Returns the whole text of a failure if it has one, else its first line, else what the test
/// printed.
fn message(failure: Node<'_, '_>, printed: Option<Node<'_, '_>>) -> String {
    let all = [
        trimmed_text(failure),
        failure.attribute("message").unwrap_or_default().to_owned(),
    ];
    let found = all.into_iter().find(|text| !text.is_empty());
    found
        .or_else(|| printed.map(trimmed_text))
        .unwrap_or_default()
}

fn trimmed_text(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().trim().to_owned()
}

/// Returns the name with that of its class, or of the suites around it.
fn name(case: Node<'_, '_>) -> String {
    let name = case.attribute("name").unwrap_or_default();
    match case.attribute("classname") {
        Some(class) if class == name => name.to_owned(),
        Some(class) if !matches!(class, "" | "test") => format!("{class}.{name}"),
        _ => {
            let suites = case
                .ancestors()
                .filter(|node| node.has_tag_name("testsuite"));
            let mut names: Vec<&str> = suites.filter_map(|node| node.attribute("name")).collect();
            names.reverse();
            names.retain(|name| !matches!(*name, "" | "pytest"));
            names.push(name);
            names.join(" > ")
        }
    }
}

/// Returns the place that the report names, else the one in the message that belongs to the test.
fn place(case: Node<'_, '_>, message: &str, root: &str) -> Option<(String, u32)> {
    let file = case.attribute("file").and_then(|file| inside(file, root));
    let line = case.attribute("line").and_then(|line| line.parse().ok());
    let class = case.attribute("classname").unwrap_or_default();
    // A stack begins where the failure is, and a traceback ends there.
    let stack: String = message
        .lines()
        .filter(is_stack)
        .map(|line| format!("{line}\n"))
        .collect();
    let of_class: String = stack
        .lines()
        .filter(|line| !class.is_empty() && line.contains(class))
        .collect();
    let in_stack = places(&of_class, root)
        .into_iter()
        .chain(places(&stack, root))
        .next();
    let found = in_stack.or_else(|| places(message, root).into_iter().last());
    found.or_else(|| file.zip(line))
}

fn is_stack(line: &&str) -> bool {
    line.trim_start().starts_with("at ")
}
