//! [`Task`]: a request for a model, and the calls that are right.
use serde::Deserialize;
use std::{collections::BTreeMap, fmt, fs, path::Path};

/// How similar the words of a task are to those of the worked examples; see `tasks.toml`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wording {
    /// The same words as in an example.
    Near,
    /// Other words.
    Far,
    /// Words that occur in no example.
    Fresh,
    /// Not looked at while the examples were made.
    HeldOut,
    /// Written after all examples.
    #[default]
    Unseen,
    /// A kind of task that no example has.
    Apart,
}

/// One request in a folder of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    #[serde(default)]
    pub(super) wording: Wording,
    /// The prompt.
    pub request: String,
    /// Files of the folder: names and contents.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// The accepted first calls as lines; `*` stands for anything. `final*` means that no tool is called.
    pub(super) calls: Vec<String>,
    says: Option<Vec<String>>,
    file: Option<(String, String)>,
    gone: Option<String>,
    folder: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tasks {
    task: Vec<Task>,
}

/// Tables `[[task]]`.
pub(super) fn tasks_of(text: &str) -> Result<Vec<Task>, toml::de::Error> {
    Ok(toml::from_str::<Tasks>(text)?.task)
}

impl Task {
    /// Whether `line` is one of the accepted first calls.
    pub(super) fn begins_with(&self, line: &str) -> bool {
        self.calls.iter().any(|pattern| fits(pattern, line))
    }

    /// Whether the answer and the files in `folder` are right at the end.
    pub(super) fn ends_with(&self, answer: &str, folder: &Path) -> bool {
        let answer_low = answer.to_lowercase();
        let has_any = |any: &String| any.split('|').any(|text| answer_low.contains(&text.to_lowercase()));
        let content = |name: &String| fs::read_to_string(folder.join(name)).unwrap_or_default();
        !answer.is_empty()
            && self.says.iter().flatten().all(has_any)
            && self.file.iter().all(|(name, text)| content(name).trim() == *text)
            && self.gone.iter().all(|name| !folder.join(name).exists())
            && self.folder.iter().all(|name| folder.join(name).is_dir())
    }
}

impl fmt::Display for Wording {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Near => "near",
            Self::Far => "far",
            Self::Fresh => "fresh",
            Self::HeldOut => "held-out",
            Self::Unseen => "unseen",
            Self::Apart => "apart",
        })
    }
}

/// Whether `text` matches a pattern in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}
