//! [`Moved`]: replaces the paths of a workspace in texts by those of its copy.
use haft_core::relocated;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::path::{Component, Path};

/// A folder and its copy.
#[derive(Clone)]
pub(crate) struct Moved {
    from: String,
    to: String,
}

impl Moved {
    pub(crate) fn new(from: &Path, to: &Path) -> Self {
        Self { from: from.to_string_lossy().into_owned(), to: to.to_string_lossy().into_owned() }
    }

    /// `text` with paths of the folder replaced by those of the copy.
    pub(super) fn there(&self, text: &str) -> String {
        relocated(text, &self.from, &self.to)
    }

    /// `text` with paths of the copy replaced by those of the folder.
    pub(super) fn back(&self, text: &str) -> String {
        relocated(text, &self.to, &self.from)
    }

    /// Whether `path`, relative to the copy or absolute, is in the copy.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let leads_up = path.components().any(|part| part == Component::ParentDir);
        !leads_up && Path::new(&self.to).join(path).starts_with(&self.to)
    }

    /// `value` with [`Self::there`] applied to every text in it.
    pub(crate) fn all_there<T: Serialize + DeserializeOwned>(&self, value: &T) -> serde_json::Result<T> {
        serde_json::from_value(self.value(serde_json::to_value(value)?))
    }

    /// As `all_there`, for a JSON value.
    pub(super) fn all_there_value(&self, value: &Value) -> Value {
        self.value(value.clone())
    }

    /// `value` with [`Self::back`] applied to every text in it.
    pub(super) fn back_all(&self, value: &Value) -> Value {
        Self { from: self.to.clone(), to: self.from.clone() }.value(value.clone())
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.there(&text).into(),
            Value::Array(values) => values.into_iter().map(|value| self.value(value)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.into_iter().map(|(name, value)| (name, self.value(value))).collect())
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_copy_is_of_it() {
        let moved = Moved::new(Path::new("/code"), Path::new("/tmp/copy"));
        let table = [
            ("a.txt", true),
            ("/tmp/copy/src/a", true),
            ("../a", false),
            ("/tmp/copy/../a", false),
            ("/code/a", false),
            ("/tmp/copying/a", false),
        ];
        for (path, expected) in table {
            assert_eq!(moved.holds(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn only_whole_paths_are_moved() {
        let moved = Moved::new(Path::new("/code"), Path::new("/tmp/copy"));
        let table = [
            ("/code", "/tmp/copy"),
            ("see `/code/a.txt`, /code", "see `/tmp/copy/a.txt`, /tmp/copy"),
            ("/codes /code2 /a/code /code-x", "/codes /code2 /a/code /code-x"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(moved.there(text), expected);
            assert_eq!(moved.back(expected), text);
        }
        assert_eq!(Moved::new(Path::new("/"), Path::new("/tmp/copy")).there("/a/b"), "/a/b");
    }
}
