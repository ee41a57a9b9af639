//! What linters, type checkers and compilers report.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::place::inside;
use crate::answer::Diagnostic;

/// Reads the JSON lines of cargo, each finding once although several targets have it.
pub(crate) fn cargo(stdout: &str, root: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let lines = stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for line in lines.filter(|line| text(line, "/reason") == "compiler-message") {
        let message = text(&line, "/message/message");
        let spans = line
            .pointer("/message/spans")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let span = spans
            .into_iter()
            .find(|span| span.get("is_primary") == Some(&Value::Bool(true)));
        let level = text(&line, "/message/level");
        // A message without a place counts the others, or says that the build ends.
        let Some(span) = span else {
            let is_sum = message.contains("warning emitted")
                || message.contains("warnings emitted")
                || message.starts_with("aborting due to");
            if level == "error" && !is_sum {
                found.push(Diagnostic {
                    severity: "error".to_owned(),
                    message: message.to_owned(),
                    ..Diagnostic::default()
                });
            }
            continue;
        };
        let diagnostic = Diagnostic {
            file: file(text(span, "/file_name"), root),
            line: number(span, "/line_start"),
            column: number(span, "/column_start"),
            code: code(text(&line, "/message/code/code")),
            severity: severity(level).to_owned(),
            message: message.to_owned(),
        };
        if !found.contains(&diagnostic) {
            found.push(diagnostic);
        }
    }
    found
}

/// Reports whether an output is a report in JSON, perhaps after other lines, or nothing.
pub(crate) fn is_json(stdout: &str) -> bool {
    stdout.trim().is_empty() || serde_json::from_str::<IgnoredAny>(json_part(stdout)).is_ok()
}

/// Returns what begins as JSON does.
fn json_part(stdout: &str) -> &str {
    let before = stdout
        .split_inclusive('\n')
        .take_while(|line| !line.starts_with(['[', '{']));
    let start: usize = before.map(str::len).sum();
    let (_, json) = stdout.split_at(start);
    json
}

/// Reads the JSON of `ruff check`.
pub(crate) fn ruff(stdout: &str, root: &str) -> Vec<Diagnostic> {
    let report: Vec<Value> = serde_json::from_str(json_part(stdout)).unwrap_or_default();
    let read = |found: &Value| Diagnostic {
        file: file(text(found, "/filename"), root),
        line: number(found, "/location/row"),
        column: number(found, "/location/column"),
        code: code(text(found, "/code")),
        // Older versions have no levels.
        severity: severity(
            found
                .get("severity")
                .and_then(Value::as_str)
                .unwrap_or("error"),
        )
        .to_owned(),
        message: text(found, "/message").to_owned(),
    };
    report.iter().map(read).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EslintFile {
    file_path: String,
    messages: Vec<Value>,
}

/// Reads the JSON of eslint.
pub(crate) fn eslint(stdout: &str, root: &str) -> Vec<Diagnostic> {
    let report: Vec<EslintFile> = serde_json::from_str(json_part(stdout)).unwrap_or_default();
    let read = |path: &str, found: &Value| Diagnostic {
        file: file(path, root),
        line: number(found, "/line"),
        column: number(found, "/column"),
        code: code(text(found, "/ruleId")),
        severity: if number(found, "/severity") == Some(2) {
            "error"
        } else {
            "warning"
        }
        .to_owned(),
        message: text(found, "/message").to_owned(),
    };
    report
        .iter()
        .flat_map(|of| of.messages.iter().map(|found| read(&of.file_path, found)))
        .collect()
}

/// Reads the JSON of pyright, which counts lines and columns from 0.
pub(crate) fn pyright(stdout: &str, root: &str) -> Vec<Diagnostic> {
    let report: Value = serde_json::from_str(json_part(stdout)).unwrap_or_default();
    let found = report
        .get("generalDiagnostics")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let read = |found: &Value| Diagnostic {
        file: file(text(found, "/file"), root),
        line: one_based(found, "/range/start/line"),
        column: one_based(found, "/range/start/character"),
        code: code(text(found, "/rule")),
        severity: severity(text(found, "/severity")).to_owned(),
        message: text(found, "/message").to_owned(),
    };
    found.map(read).collect()
}

fn one_based(found: &Value, at: &str) -> Option<u32> {
    number(found, at).map(|number| number + 1)
}

/// Reads lines of `file:line:column: severity: message [code]`, of which column, severity and code
/// may be absent, and `file(line,column): severity code: message`. Other lines are passed over.
pub(crate) fn lines(output: &str, root: &str) -> Vec<Diagnostic> {
    output
        .lines()
        .filter_map(|line| with_colons(line, root).or_else(|| with_parentheses(line, root)))
        .collect()
}

fn with_colons(line: &str, root: &str) -> Option<Diagnostic> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let (path, rest) = line.split_once(':')?;
    let (number, rest) = rest.split_once(':')?;
    let line: u32 = number.parse().ok()?;
    let (column, rest) = match rest.split_once(':') {
        Some((column, rest)) if column.parse::<u32>().is_ok() => (column.parse().ok(), rest),
        _ => (None, rest),
    };
    let rest = rest.trim();
    let (level, message) = match rest.split_once(": ") {
        Some((level @ ("error" | "warning" | "note"), message)) => (level, message),
        _ => ("error", rest),
    };
    let (message, code) = trailing_code(message);
    is_path(path).then(|| Diagnostic {
        file: file(path, root),
        line: Some(line),
        column,
        code,
        severity: level.to_owned(),
        message: message.to_owned(),
    })
}

fn with_parentheses(line: &str, root: &str) -> Option<Diagnostic> {
    let (place, rest) = line.split_once("): ")?;
    let (path, place) = place.rsplit_once('(')?;
    let (number, column) = place.split_once(',')?;
    let (head, message) = rest.split_once(": ")?;
    let (level, rule) = head.split_once(' ').unwrap_or((head, ""));
    Some(Diagnostic {
        file: file(path, root),
        line: Some(number.parse().ok()?),
        column: column.parse().ok(),
        code: code(rule),
        severity: severity(level).to_owned(),
        message: message.to_owned(),
    })
}

/// Splits `message  [code]` and `message (code)`.
fn trailing_code(message: &str) -> (&str, Option<String>) {
    for (open, close) in [(" [", ']'), (" (", ')')] {
        if let Some((before, rule)) = message
            .strip_suffix(close)
            .and_then(|text| text.rsplit_once(open))
            && is_code(&rule)
        {
            return (before.trim_end(), code(rule));
        }
    }
    (message, None)
}

fn is_code(code: &&str) -> bool {
    !code.is_empty()
        && code
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_/".contains(c))
}

fn is_path(path: &str) -> bool {
    !path.is_empty() && !path.contains(char::is_whitespace) && path.contains('.')
}

fn severity(level: &str) -> &'static str {
    match level {
        "warning" => "warning",
        "note" | "help" | "information" | "info" | "hint" => "note",
        _ => "error",
    }
}

/// Returns a path relative to the worktree, or as it is for a file outside.
fn file(path: &str, root: &str) -> String {
    inside(path, root).unwrap_or_else(|| path.to_owned())
}

fn text<'a>(value: &'a Value, at: &str) -> &'a str {
    value
        .pointer(at)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn number(value: &Value, at: &str) -> Option<u32> {
    value
        .pointer(at)
        .and_then(Value::as_u64)
        .and_then(|number| u32::try_from(number).ok())
}

fn code(code: &str) -> Option<String> {
    (!code.is_empty()).then(|| code.to_owned())
}
