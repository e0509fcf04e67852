//! [`Endings`]: removes tokens that end a reply for the server, and that some servers leave in its text.
use crate::{Said, delimiters::Delimiters, tokens::say};
use std::sync::LazyLock;

/// Source: the tokenizers that the models' makers published, read 2026-11.
const TOKENS: &[&str] = &[
    "</s>",
    "<eos>",
    "[EOS]",
    "[e~[",
    "<|eos|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end_of_sentence|>",
    "<｜end▁of▁sentence｜>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|end|>",
    "<|EOT|>",
    "<|role_end|>",
    "<|end_of_msg|>",
    "<|assistant_end|>",
    "<|END_OF_TURN_TOKEN|>",
    "<end_of_turn>",
    "<turn|>",
    "<seed:eos>",
    "<|observation|>",
    "<|user|>",
];

/// Maximum length of tokens and blanks at the end of a reply, in bytes.
const LONGEST: usize = 256;

/// Holds back the end of a text while it may be such a token, or blanks around it.
#[derive(Default)]
pub(super) struct Endings {
    held: String,
}

/// The set of the tokens.
static SOUGHT: LazyLock<Delimiters> = LazyLock::new(|| Delimiters::new(TOKENS.iter().copied()));

impl Endings {
    pub(super) fn push(&mut self, text: String, said: &mut Vec<Said>) {
        // Each token begins with one of these characters, which are rare in prose.
        let is_plain = || !text.bytes().any(|byte| matches!(byte, b'<' | b'['));
        if self.held.is_empty() && (is_plain() || tail(&text) == text.len()) {
            return said.push(Said::Text(text));
        }
        let whole = std::mem::take(&mut self.held) + &text;
        let (plain, text) = whole.split_at(whole.floor_char_boundary(whole.len().saturating_sub(LONGEST)));
        say(said, Said::Text, plain);
        let end = tail(text);
        self.held = text[end..].to_owned();
        say(said, Said::Text, &text[..end]);
    }

    /// Emits the held text, since text follows or the reply has ended; at the end, without its tokens.
    pub(super) fn flush(&mut self, is_end: bool, said: &mut Vec<Said>) {
        let held = std::mem::take(&mut self.held);
        say(said, Said::Text, if is_end { without_endings(&held) } else { &held });
    }
}

/// The start of the tokens at the end of the text, the last of which may be partial.
fn tail(text: &str) -> usize {
    without_endings(&text[..text.len() - SOUGHT.unfinished(text)]).len()
}

/// The text before such tokens.
pub(crate) fn without_endings(text: &str) -> &str {
    let mut rest = text;
    while let Some(before) = TOKENS.iter().find_map(|token| rest.trim_end().strip_suffix(token)) {
        rest = before;
    }
    rest
}
