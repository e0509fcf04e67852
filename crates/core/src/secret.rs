//! [`Secrets`]: values that are secret by their name or their looks, hidden from logs, models and child processes.
//!
//! A *secret* here is what lets its holder in somewhere: a key, a password, a token, and what leads to one, such as the
//! socket of an agent that holds keys.
use std::{borrow::Cow, fmt, sync::Arc};

mod looks;
mod names;

/// What stands in place of a secret.
const PLACEHOLDER: &str = "[key]";

/// Shorter values are not searched for: they stand in many texts that are not secrets.
const MIN_SECRET_BYTES: usize = 8;

/// A value that is only taken for a secret because of its variable's name must look like one to be searched for: a
/// password may be `development`, and every word of it would be hidden.
const MIN_GUESSED_BYTES: usize = 16;

/// Whether a variable holds a secret, by its name or by its value.
pub fn is_secret(name: &str, value: &str) -> bool {
    names::is_secret(name, value) || looks::is_secret(value)
}

/// The address without its user name and password; nothing where it has none.
pub fn without_credentials(url: &str) -> Option<String> {
    let (start, end) = looks::credentials(url)?;
    Some(format!("{}{}", &url[..start], &url[end..]))
}

/// Values that must not be shown, in any output. They cannot be printed by accident.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Arc<[String]>);

impl Secrets {
    /// `known` are secrets for sure; of `guessed` those are taken that look like one.
    pub fn new(known: impl IntoIterator<Item = String>, guessed: impl IntoIterator<Item = String>) -> Self {
        let known = known.into_iter().map(|value| value.trim().to_owned());
        let known = known.filter(|value| value.len() >= MIN_SECRET_BYTES);
        let guessed = guessed.into_iter().map(|value| value.trim().to_owned());
        let mut values: Vec<String> = known.chain(guessed.filter(|value| is_unlike_words(value))).collect();
        // The longest first: a part of it may be a secret, too.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values.into())
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values themselves, the longest first.
    pub fn values(&self) -> &Arc<[String]> {
        &self.0
    }

    /// Whether one of them stands in `text`.
    pub fn are_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret)) || self.hide_among_signs(text).is_some()
    }

    /// `text` with `[key]` in place of each of them, also where signs that move the cursor or set a color stand between
    /// its letters.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut hidden = Cow::Borrowed(text);
        for secret in self.0.iter().filter(|secret| text.contains(secret.as_str())) {
            hidden = hidden.replace(secret, PLACEHOLDER).into();
        }
        match self.hide_among_signs(&hidden) {
            Some(hidden) => hidden.into(),
            None => hidden,
        }
    }

    /// The same in what a terminal shows of `text`; `None` if none of them stands there.
    fn hide_among_signs(&self, text: &str) -> Option<String> {
        if self.is_empty() || !text.contains(is_sign) {
            return None;
        }
        let shown: Vec<&str> = anstream::adapter::strip_str(text).collect();
        let plain = shown.concat();
        // Where each byte that is shown stands in `text`.
        let start = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
        let places: Vec<usize> =
            shown.iter().flat_map(|part| start(part)..start(part) + part.len()).collect();
        let found = self.0.iter().flat_map(|secret| plain.match_indices(secret.as_str()));
        let mut found: Vec<_> =
            found.map(|(at, secret)| places[at]..places[at + secret.len() - 1] + 1).collect();
        found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        let (mut hidden, mut end) = (String::new(), 0);
        for range in found {
            if range.start >= end {
                hidden.push_str(&text[end..range.start]);
                hidden.push_str(PLACEHOLDER);
            }
            end = end.max(range.end);
        }
        (end > 0).then(|| hidden + &text[end..])
    }

    /// The same in the lines of a diff, where signs and numbers stand between the lines of a secret that has several.
    pub fn hide_in_diff(&self, lines: &str) -> String {
        let mut hidden = self.hide(lines).into_owned();
        let lines = self.0.iter().filter(|secret| secret.contains('\n')).flat_map(|secret| secret.lines());
        for line in lines.map(str::trim).filter(|line| line.len() >= MIN_GUESSED_BYTES) {
            hidden = hidden.replace(line, PLACEHOLDER);
        }
        hidden
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

fn is_sign(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\r' | '\t')
}

/// Long, with letters and digits, without spaces and no path.
fn is_unlike_words(value: &str) -> bool {
    value.len() >= MIN_GUESSED_BYTES
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !value.starts_with(['/', '.', '~'])
}
