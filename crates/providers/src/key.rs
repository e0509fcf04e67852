//! [`Key`]: a secret that is sent in one header and nowhere else.
use std::fmt;

/// Replaces a key in messages.
const HIDDEN: &str = "[key]";
/// Minimum length of a key that is hidden. A shorter one is a placeholder for a server that requires any key, and
/// hiding it would garble the server's messages.
const MIN_HIDDEN_BYTES: usize = 8;

/// A vendor's key. It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key without surrounding white space: keys are pasted, and read from files that end in a newline.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Removes the key from `text`, where a server may have echoed it.
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
