//! [`Notifications`]: how the terminal tells a user who looks elsewhere that something waits for them.

/// What the terminal is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notifications {
    /// A notification as iTerm2 has made it known (OSC 9), and a bell.
    #[default]
    Osc9,
    /// A notification as rxvt has made it known (OSC 777), and a bell.
    Osc777,
    /// A bell.
    Bell,
    /// Nothing.
    Off,
}

impl Notifications {
    /// All of them, as the documentation lists them.
    pub const ALL: [Self; 4] = [Self::Osc9, Self::Osc777, Self::Bell, Self::Off];

    /// As the configuration names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Osc9 => "osc9",
            Self::Osc777 => "osc777",
            Self::Bell => "bell",
            Self::Off => "off",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// What is written to say `text`, which holds no control characters and no `;`.
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
    fn a_name_stands_for_what_is_sent() {
        let table = [
            ("osc9", Some("\x1b]9;haft: done\x07\x07")),
            ("osc777", Some("\x1b]777;notify;haft;done\x07\x07")),
            ("bell", Some("\x07")),
            ("off", Some("")),
            ("loud", None),
        ];
        for (name, expected) in table {
            let sent = Notifications::named(name).map(|known| known.sequence("done"));
            assert_eq!(sent.as_deref(), expected, "{name}");
        }
    }
}
