//! [`Notifications`]: how the terminal notifies a user who is looking elsewhere.

/// The escape sequence for notifications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notifications {
    /// A notification of iTerm2 (OSC 9), and a bell.
    #[default]
    Osc9,
    /// A notification of rxvt (OSC 777), and a bell.
    Osc777,
    /// A bell.
    Bell,
    /// Nothing.
    Off,
}

impl Notifications {
    /// The sequence that notifies of `text`, which holds no control characters and no `;`.
    pub(crate) fn sequence(self, text: &str) -> String {
        match self {
            Self::Osc9 => format!("\x1b]9;haft: {text}\x07\x07"),
            Self::Osc777 => format!("\x1b]777;notify;haft;{text}\x07\x07"),
            Self::Bell => "\x07".into(),
            Self::Off => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_sequence() {
        let table = [
            (Notifications::Osc9, "\x1b]9;haft: done\x07\x07"),
            (Notifications::Osc777, "\x1b]777;notify;haft;done\x07\x07"),
            (Notifications::Bell, "\x07"),
            (Notifications::Off, ""),
        ];
        for (kind, expected) in table {
            assert_eq!(kind.sequence("done"), expected, "{kind:?}");
        }
    }
}
