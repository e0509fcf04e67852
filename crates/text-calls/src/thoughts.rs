//! [`LeadingThoughts`]: separates thoughts that a server leaves in the text, as a wrapper around its provider.
use futures::{StreamExt, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Request};
use haft_dialects::{Reader, Said, THINK_TAGS, leading_thoughts};
use std::sync::Arc;

/// The lines that `ollama run` prints around thoughts if its output is not a terminal (github.com/ollama/ollama,
/// cmd/cmd.go, 2026-11).
const OLLAMA_RUN: [&str; 2] = ["Thinking...\n", "...done thinking."];

/// Converts `<think>…</think>` at the beginning of a reply to thoughts. The same tags at other places are text.
pub struct LeadingThoughts {
    inner: Arc<dyn Provider>,
    delimiters: [&'static str; 2],
}

impl LeadingThoughts {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner, delimiters: THINK_TAGS }
    }

    /// Wraps a command such as `ollama run`, which prints its own lines around thoughts.
    pub fn of_command(inner: Arc<dyn Provider>) -> Self {
        Self { inner, delimiters: OLLAMA_RUN }
    }
}

impl Provider for LeadingThoughts {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let mut separation = Separation::new(self.delimiters);
        let heard = self.inner.stream(request).map(move |delta| match delta {
            Ok(delta) => separation.hear(delta).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        heard.flat_map(futures::stream::iter).boxed()
    }
}

/// Separates the thoughts of one reply.
struct Separation {
    delimiters: [&'static str; 2],
    reader: Box<dyn Reader>,
}

impl Separation {
    fn new(delimiters: [&'static str; 2]) -> Self {
        Self { delimiters, reader: leading_thoughts(delimiters) }
    }

    fn hear(&mut self, delta: Delta) -> Vec<Delta> {
        let mut said = Vec::new();
        let next = match delta {
            Delta::Text(text) => {
                self.reader.push(&text, &mut said);
                None
            }
            Delta::Retrying { .. } => {
                *self = Self::new(self.delimiters);
                Some(delta)
            }
            Delta::Usage(_) | Delta::Thinking(_) | Delta::Signature(_) => Some(delta),
            Delta::CallStart { .. }
            | Delta::CallArguments { .. }
            | Delta::CallProblem { .. }
            | Delta::Stop(_) => {
                self.reader.end(&mut said);
                Some(delta)
            }
        };
        said.into_iter().filter_map(delta_of).chain(next).collect()
    }
}

/// The delta for an item; calls do not occur here.
fn delta_of(said: Said) -> Option<Delta> {
    match said {
        Said::Text(text) => Some(Delta::Text(text)),
        Said::Thinking(text) => Some(Delta::Thinking(text)),
        Said::ThinkingEnd | Said::Call(_) | Said::Problem(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::StopReason;

    /// The text and the thoughts of a reply that arrives in pieces of `length` characters.
    fn read(delimiters: [&'static str; 2], reply: &str, length: usize) -> (String, String) {
        let (mut separation, mut text, mut thoughts) =
            (Separation::new(delimiters), String::new(), String::new());
        let letters: Vec<char> = reply.chars().collect();
        let pieces = letters.chunks(length).map(|piece| Delta::Text(piece.iter().collect()));
        let deltas = pieces.chain([Delta::Stop(StopReason::EndTurn)]);
        for delta in deltas.flat_map(|delta| separation.hear(delta)) {
            match delta {
                Delta::Text(more) => text += &more,
                Delta::Thinking(more) => thoughts += &more,
                _ => {}
            }
        }
        (text, thoughts)
    }

    fn check(delimiters: [&'static str; 2], table: &[(&str, &str, &str)]) {
        for (reply, text, thoughts) in table {
            for length in [1, 2, 3, 7, 100] {
                let expected = ((*text).to_owned(), (*thoughts).to_owned());
                assert_eq!(read(delimiters, reply, length), expected, "{reply:?} by {length}");
            }
        }
    }

    // H-121
    #[test]
    fn thoughts_at_the_beginning_are_no_text_however_they_are_cut() {
        check(
            THINK_TAGS,
            &[
                ("<think>hm</think>\n\n{\"a\":1}", "{\"a\":1}", "hm"),
                ("\n<think>\nä < b </thin\n</think>yes", "yes", "\nä < b </thin\n"),
                ("<think></think>\nyes", "yes", ""),
                ("<think>without an end", "", "without an end"),
                ("Use <think>tags</think>.", "Use <think>tags</think>.", ""),
                ("<thinking>x</thinking>", "<thinking>x</thinking>", ""),
                ("<thi", "<thi", ""),
                ("a</think>b", "a</think>b", ""),
                (" \n", " \n", ""),
            ],
        );
    }

    // P-16
    #[test]
    fn lines_of_ollama_run_are_no_text_however_they_are_cut() {
        check(
            OLLAMA_RUN,
            &[
                ("Thinking...\nhm... so.\n...done thinking.\n\nyes", "yes", "hm... so.\n"),
                ("Thinking... about it", "Thinking... about it", ""),
                ("Thinking", "Thinking", ""),
                ("<think>a</think>b", "<think>a</think>b", ""),
            ],
        );
    }

    #[test]
    fn a_reply_that_begins_anew_may_begin_with_thoughts() {
        let mut separation = Separation::new(THINK_TAGS);
        separation.hear(Delta::Text("half an answer".into()));
        separation.hear(Delta::Retrying {
            reason: "x".into(),
            after: std::time::Duration::ZERO,
            charged: false,
        });
        assert_eq!(separation.hear(Delta::Text("<think>a</think>b".into())).len(), 2);
    }
}
