//! [`Secrets`]: values that are secret by the name of their variable or by their form, hidden from logs, models and
//! child processes.
//!
//! A *secret* here is anything that grants access: a key, a password, a token, or a handle to one, such as the socket
//! of an agent that holds keys.
use parking_lot::RwLock;
use std::{borrow::Cow, cmp::Reverse, fmt, iter, sync::Arc};

mod looks;
mod names;

/// The text that replaces a secret.
const PLACEHOLDER: &str = "[key]";

/// Minimum bytes of a secret that is searched for: shorter values occur in many texts that are not secrets.
const MIN_SECRET_BYTES: usize = 8;

/// Minimum bytes of a value that is a secret only by its variable's name. It must also look like a secret to be
/// searched for: if a password is `development`, every occurrence of that word would be hidden.
const MIN_GUESSED_BYTES: usize = 16;

/// Maximum registered values; the least recently registered one is removed first. A process that runs for months gets a
/// new token every hour.
const MAX_REGISTERED: usize = 200;

/// The values passed to [`register`], the last one registered at the end.
static REGISTERED: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Registers a secret that this process obtains while it runs, such as the token of a sign-in: all [`Secrets`] of the
/// process hide it from then on. A secret of several lines is hidden line by line, since files write its line ends in
/// several ways. Short values are not registered.
pub fn register(value: &str) {
    let value = value.trim();
    let (lines, min) = match value.contains('\n') {
        true => (value.lines().filter(|line| !line.starts_with("-----")).collect(), MIN_GUESSED_BYTES),
        false => (vec![value], MIN_SECRET_BYTES),
    };
    let mut registered = REGISTERED.write();
    for line in lines.into_iter().map(str::trim).filter(|line| line.len() >= min) {
        // A line of JSON may contain the secret in escaped form.
        let quoted = serde_json::Value::from(line).to_string();
        for form in [&quoted[1..quoted.len() - 1], line] {
            registered.retain(|other| other != form);
            registered.push(form.to_owned());
        }
    }
    let too_many = registered.len().saturating_sub(MAX_REGISTERED);
    registered.drain(..too_many);
}

/// Like [`register`], for a value that may be an ordinary word, such as `development`: it is registered only if it
/// looks like a secret.
pub fn register_guessed(value: &str) {
    if is_unlike_words(value.trim()) {
        register(value);
    }
}

/// Whether a variable holds a secret, by its name or by its value.
pub fn is_secret(name: &str, value: &str) -> bool {
    names::is_secret(name, value) || looks::is_secret(value)
}

/// The address without its user name and password; `None` if it has none.
pub fn without_credentials(url: &str) -> Option<String> {
    let (start, end) = looks::credentials(url)?;
    Some(format!("{}{}", &url[..start], &url[end..]))
}

/// Values that must not appear in any output, including those registered in this process. The type's `Debug` output
/// does not show them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Arc<[String]>);

impl Secrets {
    /// `known` are certainly secrets; of `guessed`, only values that look like secrets are used. Of a known secret of
    /// several lines, each line is one as well, unless it may be an ordinary one: programs print and quote lines.
    pub fn new(known: impl IntoIterator<Item = String>, guessed: impl IntoIterator<Item = String>) -> Self {
        let known = known.into_iter().map(|value| value.trim().to_owned());
        let known = known.flat_map(|value| {
            let lines = value.lines().map(str::trim).filter(|line| is_secret_line(line));
            let lines: Vec<String> = lines.map(str::to_owned).collect();
            iter::once(value).chain(lines)
        });
        let known = known.filter(|value| value.len() >= MIN_SECRET_BYTES);
        let guessed = guessed.into_iter().map(|value| value.trim().to_owned());
        let mut values: Vec<String> = known.chain(guessed.filter(|value| is_unlike_words(value))).collect();
        // The longest first, because a part of a secret may be a secret, too.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values.into())
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty() && REGISTERED.read().is_empty()
    }

    /// The values themselves, the longest first.
    pub fn values(&self) -> Arc<[String]> {
        match REGISTERED.read().is_empty() {
            true => self.0.clone(),
            false => self.wanted(|_| true).into(),
        }
    }

    /// The secrets that `is_wanted` selects, the longest first.
    fn wanted(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let registered = REGISTERED.read();
        let all = self.0.iter().chain(&*registered);
        let mut wanted: Vec<String> = all.filter(|secret| is_wanted(secret)).cloned().collect();
        wanted.sort_by_key(|secret| Reverse(secret.len()));
        wanted
    }

    /// Whether one of them is in `text`.
    pub fn are_in(&self, text: &str) -> bool {
        !self.wanted(|secret| text.contains(secret)).is_empty() || self.hide_among_signs(text).is_some()
    }

    /// `text` with `[key]` in place of each of them, even with terminal escape sequences between its characters.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut hidden = Cow::Borrowed(text);
        for secret in self.wanted(|secret| text.contains(secret)) {
            hidden = hidden.replace(&secret, PLACEHOLDER).into();
        }
        match self.hide_among_signs(&hidden) {
            Some(hidden) => hidden.into(),
            None => hidden,
        }
    }

    /// Hides secrets in `text`, ignoring escape sequences within them; `None` if it contains no secret.
    fn hide_among_signs(&self, text: &str) -> Option<String> {
        if self.is_empty() || !text.contains(is_sign) {
            return None;
        }
        let shown: Vec<&str> = anstream::adapter::strip_str(text).collect();
        let plain = shown.concat();
        // The position in `text` of each visible byte.
        let start = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
        let places: Vec<usize> =
            shown.iter().flat_map(|part| start(part)..start(part) + part.len()).collect();
        let secrets = self.wanted(|secret| plain.contains(secret));
        let found = secrets.iter().flat_map(|secret| plain.match_indices(secret.as_str()));
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

    /// Hides secrets in the lines of a diff, in which signs and line numbers separate the lines of a multi-line secret.
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

/// Whether a line of a secret is secret by itself: not the frame of a key, nor words such as a field of JSON or the name
/// of a list in YAML.
fn is_secret_line(line: &str) -> bool {
    let has = |is: fn(&u8) -> bool| line.as_bytes().iter().any(is);
    let is_one_word = !has(u8::is_ascii_whitespace);
    let is_long = line.len() >= MIN_GUESSED_BYTES;
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let is_word = is_one_word && (is_mixed || is_long && !line.ends_with([':', '{', '[', ',']));
    !line.starts_with("-----") && (is_word || is_long && is_mixed)
}

/// Whether `value` looks random: long, with letters and digits, without spaces, and not a path.
fn is_unlike_words(value: &str) -> bool {
    value.len() >= MIN_GUESSED_BYTES
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !value.starts_with(['/', '.', '~'])
}
