//! A secret that travels in one header and nowhere else.
use std::fmt;

/// What is shown in place of a key.
const HIDDEN: &str = "[key]";
/// A shorter one is no secret, but a word for a server that wants any: hidden, it would tear up what servers say.
const MIN_HIDDEN_BYTES: usize = 8;

/// A vendor's key. It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// White space around it is dropped: keys are pasted, and read from files that end in a new line.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without the key, wherever a server may have echoed it.
    pub(crate) fn hide_in(&self, text: String) -> String {
        match self.0.len() < MIN_HIDDEN_BYTES || !text.contains(&self.0) {
            true => text,
            false => text.replace(&self.0, HIDDEN),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_printed_and_is_cut_out_of_what_a_server_says() {
        let key = Key::new(" sk-secret\n");
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(key.hide_in("bad key sk-secret!".into()), "bad key [key]!");
        assert_eq!(Key::new("").hide_in("abc".into()), "abc");
        assert_eq!(Key::new("x").hide_in("the proxy".into()), "the proxy");
    }
}
