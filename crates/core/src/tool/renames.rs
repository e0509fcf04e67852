//! [`Renames`]: replaces a tool's own names in texts by the names that the model was shown.
use serde_json::Value;
use std::borrow::Cow;

/// Pairs of a tool's own name and the name that the model was shown.
#[derive(Default)]
pub(crate) struct Renames<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Renames<'a> {
    /// `pairs`: a tool's own name, and the name that the model was shown.
    pub(crate) fn new(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self(pairs.filter(|(own, told)| own != told).collect())
    }

    /// Replaces the names in backticks in `text`. Paths such as `` `files[0].name` `` begin with a name.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.0.is_empty() || !text.contains('`') {
            return Cow::Borrowed(text);
        }
        let pieces = text.split('`').enumerate();
        let renamed = pieces.map(|(place, piece)| match place % 2 {
            0 => piece.to_owned(),
            _ => self.path(piece),
        });
        Cow::Owned(renamed.collect::<Vec<_>>().join("`"))
    }

    /// Replaces the names in the descriptions of a JSON Schema.
    pub(crate) fn descriptions(&self, schema: &mut Value) {
        match schema {
            Value::Object(object) => object.iter_mut().for_each(|(key, value)| match value {
                Value::String(text) if key == "description" => *text = self.text(text).into_owned(),
                value => self.descriptions(value),
            }),
            Value::Array(items) => items.iter_mut().for_each(|item| self.descriptions(item)),
            _ => {}
        }
    }

    fn path(&self, path: &str) -> String {
        let end = path.find(['[', '.']).unwrap_or(path.len());
        let (name, rest) = path.split_at(end);
        let told = self.0.iter().find(|(own, _)| *own == name).map_or(name, |(_, told)| told);
        format!("{told}{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn only_names_in_backticks_are_renamed() {
        let pairs = [("path", "file_paths"), ("file_paths", "x"), ("edit", "edit_file")];
        let renames = Renames::new(pairs.into_iter());
        let table = [
            ("`path` is required", "`file_paths` is required"),
            ("use `edit`, with a path", "use `edit_file`, with a path"),
            ("`path[0].name` is no text", "`file_paths[0].name` is no text"),
            ("`src/path`: `path", "`src/path`: `file_paths"),
        ];
        for (text, expected) in table {
            assert_eq!(renames.text(text), expected);
        }
    }
}
