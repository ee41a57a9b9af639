//! Answers that are values, not words: the last reply of an agent whose task asks for JSON.

use serde_json::Value;

/// What an agent is told of the answer that it has to end with.
pub fn instruction(schema: &Value) -> String {
    format!(
        "Your last reply has to be one JSON value that is valid for this JSON Schema, with no \
         words before or after it:\n{schema:#}"
    )
}

/// Returns the JSON value of a reply: the whole of it, or the one that stands in its last fence,
/// or from its first brace to its last one.
pub fn value_in(reply: &str) -> Option<Value> {
    let reply = reply.trim();
    serde_json::from_str(reply)
        .ok()
        .or_else(|| serde_json::from_str(last_fence(reply)?).ok())
        .or_else(|| serde_json::from_str(braced(reply)?).ok())
}

fn last_fence(reply: &str) -> Option<&str> {
    let (before, _) = reply.rsplit_once("```")?;
    let (_, fenced) = before.rsplit_once("```")?;
    Some(fenced.strip_prefix("json").unwrap_or(fenced))
}

fn braced(reply: &str) -> Option<&str> {
    reply.get(reply.find('{')?..=reply.rfind('}')?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_value_of_a_reply_is_found_among_words() {
        let value = json!({"colour": "blue"});
        let replies = [
            r#"{"colour": "blue"}"#,
            " {\"colour\":\"blue\"}\n",
            "Here it is:\n```json\n{\"colour\": \"blue\"}\n```\nAnything else?",
            "```\n{\"colour\": \"blue\"}\n```",
            r#"The answer is {"colour": "blue"}."#,
        ];
        for reply in replies {
            assert_eq!(value_in(reply), Some(value.clone()), "{reply}");
        }
        for reply in ["", "blue is the colour", "}{", "```", "{colour}", "a ``` b"] {
            assert_eq!(value_in(reply), None, "{reply}");
        }
        assert_eq!(value_in("\"blue\""), Some(json!("blue")));
    }
}
