//! An agent's answer that holds a plan: its blocks of code, and its account of a document.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

/// The mark of the block of code that says what becomes of each line of a document.
const MARK: &str = "lines";

/// An answer, divided into the plan and what it says of the lines of the document.
pub(crate) struct Divided<'a> {
    pub(crate) plan: String,
    /// The block of code with the account; `None` without such a block.
    pub(crate) account: Option<&'a str>,
}

/// Divides an answer into the plan and the last account.
pub(crate) fn divide(answer: &str) -> Divided<'_> {
    let blocks = code_blocks(answer);
    let Some(last) = blocks.iter().rfind(|block| block.mark == MARK) else {
        return Divided {
            plan: answer.to_owned(),
            account: None,
        };
    };
    let (before, rest) = answer.split_at(last.whole.start);
    let (account, after) = rest.split_at(last.whole.len());
    Divided {
        plan: [before.trim_end(), after.trim_end()].concat(),
        account: Some(account),
    }
}

/// Returns what is in the only block of code of an answer outside of lists and quotes; `None` if it
/// has another number of them.
pub(crate) fn only_code(answer: &str) -> Option<&str> {
    let mut blocks = code_blocks(answer);
    blocks.retain(|block| !block.is_nested);
    match blocks.as_slice() {
        [only] => Some(answer.get(only.code.clone())?.trim()),
        _ => None,
    }
}

/// A fenced block of code.
struct CodeBlock {
    /// The word after its opening fence.
    mark: String,
    /// Its place, with the fences; it ends with the text if it is not closed.
    whole: Range<usize>,
    /// The place of what is between the fences.
    code: Range<usize>,
    /// Whether it is in a list or a quote.
    is_nested: bool,
}

fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let mut blocks: Vec<CodeBlock> = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                blocks.push(CodeBlock {
                    mark: info.trim().to_owned(),
                    code: range.end..range.end,
                    whole: range,
                    is_nested: depth > 0,
                });
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(_) => {
                if let Some(last) = blocks.last_mut()
                    && range.end <= last.whole.end
                {
                    last.code = last.code.start.min(range.start)..range.end;
                }
            }
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_no_part_of_the_plan() {
        let plan = "- [ ] T1 Add the cart";
        let answer = format!("{plan}\n\n```lines\n1: told\n```\n");
        let divided = divide(&answer);
        assert_eq!(divided.plan, plan);
        assert_eq!(divided.account, Some("```lines\n1: told\n```"));
        assert!(divide(plan).account.is_none());
    }
}
