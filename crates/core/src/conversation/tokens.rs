//! [`of_message`], [`of_tools`] and [`of_text`]: estimate how many tokens messages, tools and texts take in a request.
use crate::{Clip, Keep, Message, Part, ToolResult, ToolSpec, clip};

/// Tokens of a message beyond its texts: its role and delimiters.
const MESSAGE_TOKENS: u64 = 6;
/// Tokens of a tool's definition in a request beyond its texts.
const TOOL_TOKENS: u64 = 12;
/// Tokens of a picture of 1000 by 1000 pixels (docs.anthropic.com, "Vision", 2025-10: width × height / 750). A page of
/// a document counts as its text and such a picture (docs.anthropic.com, "PDF support", 2025-12).
const IMAGE_TOKENS: u64 = 1_400;
/// Tokens of the line that says how much is left out of a text.
const OMISSION_TOKENS: u64 = 20;

/// About how many tokens a message takes in a request.
pub fn of_message(message: &Message) -> u64 {
    MESSAGE_TOKENS
        + match message {
            Message::User { parts } | Message::Assistant { parts } => parts.iter().map(of_part).sum(),
            Message::Tool { result, .. } => of_result(result),
        }
}

/// About how many tokens a text takes.
pub fn of_text(text: &str) -> u64 {
    clip::tokens(text) as u64
}

/// About how many tokens the definitions of tools take in a request.
pub fn of_tools(specs: &[ToolSpec]) -> u64 {
    let of_one =
        |spec: &ToolSpec| TOOL_TOKENS + of_text(&spec.description) + of_text(&spec.parameters.to_string());
    specs.iter().map(of_one).sum()
}

/// Shortens `text` to about `tokens` tokens: keeps its beginning and its end with a line between them. `hint` says how
/// to see the rest.
pub fn fit(text: &str, tokens: u64, hint: &str) -> String {
    let mut bytes = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    loop {
        let fitted = Clip { lines: usize::MAX, bytes, keep: Keep::Both }.apply(text, hint);
        let taken = of_text(&fitted).saturating_sub(of_text(hint) + OMISSION_TOKENS);
        if taken <= tokens || bytes == 0 {
            return fitted;
        }
        bytes = bytes / 4 * 3;
    }
}

fn of_part(part: &Part) -> u64 {
    match part {
        Part::Text { text } => of_text(text),
        Part::Thinking { text, signature } => {
            of_text(text) + signature.as_deref().map(of_text).unwrap_or_default()
        }
        Part::Image(_) => IMAGE_TOKENS,
        Part::Document(document) => {
            of_text(&document.text).saturating_add(IMAGE_TOKENS.saturating_mul(document.pages as u64))
        }
        Part::ToolCall(call) => MESSAGE_TOKENS + of_text(&call.name) + of_text(&call.arguments.to_string()),
    }
}

pub(crate) fn of_result(result: &ToolResult) -> u64 {
    of_text(&result.content) + IMAGE_TOKENS * result.images.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_so_many_tokens() {
        for (letter, tokens) in [("a", 100), ("字", 100), ("я", 50), ("a", 0), ("\u{1f600}", 9)] {
            let fitted = fit(&letter.repeat(9_000), tokens, "see `x`");
            assert!(of_text(&fitted) <= tokens + OMISSION_TOKENS + of_text("see `x`"), "{letter}: {fitted}");
        }
        assert_eq!(fit("short", 2, ""), "short");
    }
}
