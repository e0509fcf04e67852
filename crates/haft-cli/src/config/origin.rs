//! Where a value comes from, for messages.
use std::path::PathBuf;

/// The person's file as it was read, and the variables that stand over it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub(super) file: PathBuf,
    pub(super) text: String,
    pub(super) variables: Vec<&'static str>,
}

impl Origin {
    /// Whether `variable` is what holds, where the setting has a value.
    pub(super) fn is_variable(&self, variable: &str) -> bool {
        self.variables.contains(&variable)
    }

    /// The variable, or the file and the line, that say `key`; `None` where neither does.
    pub(crate) fn of(&self, variable: &str, key: &str) -> Option<String> {
        match line_of_key(&self.text, key) {
            _ if self.is_variable(variable) => Some(variable.to_owned()),
            Some(line) => Some(format!("{}, line {line}", self.file.display())),
            None => None,
        }
    }
}

/// The line, counted from 1, that sets the key `key` outside of all tables.
pub(super) fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let outside = text.lines().take_while(|line| !line.trim_start().starts_with('['));
    let sets = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    outside.map(sets).position(|sets| sets).map(|line| line + 1)
}

/// `line 3: …` where `words` stand on that line, as they are or in TOML's escapes; else the message alone.
pub(super) fn at_line_of(words: &str, text: &str, message: &str) -> String {
    let quoted = toml::Value::from(words).to_string();
    let has = |line: &str| line.contains(&quoted) || line.contains(words);
    match text.lines().position(has) {
        Some(line) => format!("line {}: {message}", line + 1),
        None => message.to_owned(),
    }
}

/// The line in which the text of a file stops being UTF-8.
pub(super) fn line_of_bad_byte(bytes: &[u8], valid: usize) -> usize {
    bytes[..valid].iter().filter(|byte| **byte == b'\n').count() + 1
}
