//! [`LeadingThoughts`]: thoughts that a server leaves in the text, as a provider around a provider.
use futures::{StreamExt, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Request};
use std::sync::Arc;

/// How models write that they begin and stop to think, where their server does not read it (Qwen, DeepSeek, GLM; 2026-11).
const BEGIN: &str = "<think>";
const END: &str = "</think>";

/// Makes thinking of `<think>…</think>` at the beginning of a reply. The same tags anywhere else are text.
pub struct LeadingThoughts {
    inner: Arc<dyn Provider>,
}

impl LeadingThoughts {
    /// Around `inner`.
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner }
    }
}

impl Provider for LeadingThoughts {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let mut place = Place::default();
        let heard = self.inner.stream(request).map(move |delta| match delta {
            Ok(delta) => place.hear(delta).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        heard.flat_map(futures::stream::iter).boxed()
    }
}

/// Where in a reply the next text belongs.
enum Place {
    /// At the beginning, after this, which may become the tag.
    Begin(String),
    /// In the thoughts, after this, which may become the end of them.
    Thoughts(String),
    /// Behind the thoughts: line breaks that only separate are left out.
    Gap,
    Text,
}

impl Default for Place {
    fn default() -> Self {
        Self::Begin(String::new())
    }
}

impl Place {
    fn hear(&mut self, delta: Delta) -> Vec<Delta> {
        match delta {
            Delta::Text(text) => self.text(&text),
            Delta::Retrying { .. } => {
                *self = Self::default();
                vec![delta]
            }
            Delta::Usage(_) | Delta::Thinking(_) | Delta::Signature(_) => vec![delta],
            Delta::CallStart { .. }
            | Delta::CallArguments { .. }
            | Delta::CallProblem { .. }
            | Delta::Stop(_) => self.held().into_iter().chain([delta]).collect(),
        }
    }

    /// What is held back, once it is clear that no tag follows.
    fn held(&mut self) -> Option<Delta> {
        match std::mem::replace(self, Self::Text) {
            Self::Begin(held) => Some(held).filter(|held| !held.is_empty()).map(Delta::Text),
            Self::Thoughts(held) => Some(held).filter(|held| !held.is_empty()).map(Delta::Thinking),
            Self::Gap | Self::Text => None,
        }
    }

    fn text(&mut self, text: &str) -> Vec<Delta> {
        match self {
            Self::Begin(held) => {
                held.push_str(text);
                let begun = held.trim_start();
                if BEGIN.starts_with(begun) {
                    return Vec::new();
                }
                let Some(thoughts) = begun.strip_prefix(BEGIN).map(str::to_owned) else {
                    return self.held().into_iter().collect();
                };
                *self = Self::Thoughts(String::new());
                self.text(&thoughts)
            }
            Self::Thoughts(held) => {
                held.push_str(text);
                if let Some((thoughts, rest)) = held.split_once(END) {
                    let (thoughts, rest) = (thoughts.to_owned(), rest.to_owned());
                    *self = Self::Gap;
                    let thought = Some(thoughts).filter(|thoughts| !thoughts.is_empty()).map(Delta::Thinking);
                    return thought.into_iter().chain(self.text(&rest)).collect();
                }
                let kept =
                    (1..END.len()).rev().find(|length| held.ends_with(&END[..*length])).unwrap_or_default();
                let rest = held.split_off(held.len() - kept);
                let told = std::mem::replace(held, rest);
                Some(told).filter(|told| !told.is_empty()).map(Delta::Thinking).into_iter().collect()
            }
            Self::Gap => {
                let rest = text.trim_start();
                if rest.is_empty() {
                    return Vec::new();
                }
                *self = Self::Text;
                vec![Delta::Text(rest.to_owned())]
            }
            Self::Text => vec![Delta::Text(text.to_owned())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::StopReason;

    /// Text and thoughts of a reply that comes in pieces of `length` letters.
    fn read(reply: &str, length: usize) -> (String, String) {
        let (mut place, mut text, mut thoughts) = (Place::default(), String::new(), String::new());
        let letters: Vec<char> = reply.chars().collect();
        let pieces = letters.chunks(length).map(|piece| Delta::Text(piece.iter().collect()));
        for delta in pieces.chain([Delta::Stop(StopReason::EndTurn)]).flat_map(|delta| place.hear(delta)) {
            match delta {
                Delta::Text(more) => text += &more,
                Delta::Thinking(more) => thoughts += &more,
                _ => {}
            }
        }
        (text, thoughts)
    }

    // H-121
    #[test]
    fn thoughts_at_the_beginning_are_no_text_however_they_are_cut() {
        let table = [
            ("<think>hm</think>\n\n{\"a\":1}", "{\"a\":1}", "hm"),
            ("\n<think>\nä < b </thin\n</think>yes", "yes", "\nä < b </thin\n"),
            ("<think></think>\nyes", "yes", ""),
            ("<think>without an end", "", "without an end"),
            ("Use <think>tags</think>.", "Use <think>tags</think>.", ""),
            ("<thinking>x</thinking>", "<thinking>x</thinking>", ""),
            ("<thi", "<thi", ""),
            ("a</think>b", "a</think>b", ""),
            (" \n", " \n", ""),
        ];
        for (reply, text, thoughts) in table {
            for length in [1, 2, 3, 7, 100] {
                assert_eq!(
                    read(reply, length),
                    (text.to_owned(), thoughts.to_owned()),
                    "{reply:?} by {length}"
                );
            }
        }
    }

    #[test]
    fn a_reply_that_begins_anew_may_begin_with_thoughts() {
        let mut place = Place::default();
        place.hear(Delta::Text("half an answer".into()));
        place.hear(Delta::Retrying { reason: "x".into(), after: std::time::Duration::ZERO, charged: false });
        assert_eq!(place.hear(Delta::Text("<think>a</think>b".into())).len(), 2);
    }
}
