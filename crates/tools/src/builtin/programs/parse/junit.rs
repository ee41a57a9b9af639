//! JUnit's XML, which runners of many languages write.

use roxmltree::{Document, Node};

use super::place::{inside, places};
use super::tally::Tally;

/// Reads all reports in a text, which may contain other lines around them.
pub(crate) fn read(text: &str, root: &str) -> Tally {
    let mut tally = Tally::default();
    // A test's name may contain what XML does not allow, and not every runner leaves it out.
    let text: String = text.chars().map(|c| if is_allowed(c) { c } else { char::REPLACEMENT_CHARACTER }).collect();
    for report in reports(&text) {
        let Ok(document) = Document::parse(report) else { continue };
        for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
            add(&mut tally, case, root);
        }
    }
    tally
}

fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// Returns the XML documents in a text.
fn reports(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("<testsuite") {
        let Some(from) = rest.get(start..) else { break };
        let closing = if from.starts_with("<testsuites") { "</testsuites>" } else { "</testsuite>" };
        let Some(end) = from.find(closing).map(|at| at + closing.len()) else { break };
        let Some((report, after)) = from.split_at_checked(end) else { break };
        found.push(report);
        rest = after;
    }
    found
}

fn add(tally: &mut Tally, case: Node<'_, '_>, root: &str) {
    let child = |name: &str| case.children().find(|node| node.has_tag_name(name));
    let is_off = matches!(case.attribute("status"), Some("disabled" | "notrun"));
    // Node runs tests that are still to do, and does not count how they end.
    let is_to_do = child("skipped").is_some_and(|skipped| skipped.attribute("type") == Some("todo"));
    if is_to_do {
        tally.skipped += 1;
    } else if let Some(failure) = child("failure").or_else(|| child("error")) {
        let printed = child("system-out").or_else(|| child("system-err"));
        let message = message(failure, printed);
        tally.fail(name(case), &message, place(case, &message, root));
    } else if child("skipped").is_some() || is_off {
        tally.skipped += 1;
    } else {
        tally.passed += 1;
    }
}

/// Returns the whole text of a failure if it has one, else its first line, else what the test printed.
fn message(failure: Node<'_, '_>, printed: Option<Node<'_, '_>>) -> String {
    let text = |node: Node<'_, '_>| node.text().unwrap_or_default().trim().to_owned();
    let all = [text(failure), failure.attribute("message").unwrap_or_default().to_owned()];
    let found = all.into_iter().find(|text| !text.is_empty());
    found.or_else(|| printed.map(text)).unwrap_or_default()
}

/// Returns the name with that of its class, or of the suites around it.
fn name(case: Node<'_, '_>) -> String {
    let name = case.attribute("name").unwrap_or_default();
    match case.attribute("classname") {
        Some(class) if class == name => name.to_owned(),
        Some(class) if !matches!(class, "" | "test") => format!("{class}.{name}"),
        _ => {
            let suites = case.ancestors().filter(|node| node.has_tag_name("testsuite"));
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
    let is_stack = |line: &&str| line.trim_start().starts_with("at ");
    // A stack begins where the failure is, and a traceback ends there.
    let stack: String = message.lines().filter(is_stack).map(|line| format!("{line}\n")).collect();
    let of_class: String = stack.lines().filter(|line| !class.is_empty() && line.contains(class)).collect();
    let first = |text: &str| places(text, root).into_iter().next();
    let found = first(&of_class).or_else(|| first(&stack)).or_else(|| places(message, root).into_iter().last());
    found.or_else(|| file.zip(line))
}
