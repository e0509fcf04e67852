//! [`Documentation`]: parses the doc comment of a function and its parameters.
use std::collections::HashMap;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// A parsed doc comment.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Documentation {
    /// The first line; empty if there is none.
    pub(crate) first_line: String,
    /// The description of each parameter that it names.
    pub(crate) parameters: HashMap<String, String>,
}

/// The lines of the doc comments among `attributes`.
pub(crate) fn lines_of(attributes: &[Attribute]) -> Vec<String> {
    let texts = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Lines joined by a blank.
pub(crate) fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

impl Documentation {
    /// Reads `lines`; a parameter is described only if it is one of `names`.
    pub(crate) fn read(lines: &[String], names: &[String]) -> Self {
        let mut lines = lines.iter().map(|line| line.trim()).skip_while(|line| line.is_empty());
        let first_line = lines.clone().next().unwrap_or_default();
        // If the comment begins with a section, there is no description.
        let first_line = if section(first_line).is_some() { "" } else { first_line }.to_owned();
        let mut parameters = HashMap::<String, String>::new();
        let mut inside = false;
        let mut current = None;
        for line in &mut lines {
            if let Some(title) = section(line) {
                inside = matches!(title.to_ascii_lowercase().as_str(), "args" | "arguments" | "parameters");
                current = None;
            } else if !inside || line.is_empty() {
                current = None;
            } else if let Some((name, text)) = entry(line, names) {
                parameters.insert(name.clone(), text.to_owned());
                current = Some(name);
            } else if let Some(text) = current.as_ref().and_then(|name| parameters.get_mut(name)) {
                let blank = if text.is_empty() { "" } else { " " };
                *text = format!("{text}{blank}{line}");
            }
        }
        Self { first_line, parameters }
    }
}

/// The title of `Args:`, `Returns:`, `# Arguments` …
fn section(line: &str) -> Option<&str> {
    if let Some(title) = line.strip_prefix('#') {
        return Some(title.trim_start_matches('#').trim());
    }
    let title = line.strip_suffix(':')?;
    let word = title.chars().all(|letter| letter.is_alphanumeric() || letter == ' ');
    (word && title.starts_with(|letter: char| letter.is_uppercase())).then_some(title)
}

/// `name: text`, `name (type): text`, `* name - text`, each with or without backticks.
fn entry<'a>(line: &'a str, names: &[String]) -> Option<(String, &'a str)> {
    let line = line.trim_start_matches(['*', '-']).trim_start();
    let unquoted = line.trim_start_matches('`');
    let end = unquoted.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
    let (name, rest) = unquoted.split_at(end);
    let rest = rest.trim_start_matches('`').trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(typed) => typed.split_once(')')?.1.trim_start(),
        None => rest,
    };
    let text = rest.strip_prefix([':', '-', '–', '—'])?;
    names.iter().find(|known| *known == name).map(|name| (name.clone(), text.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Vec<(String, String)>) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let Documentation { first_line, parameters } =
            Documentation::read(&lines, &["a".to_owned(), "b_2".to_owned()]);
        let mut parameters: Vec<_> = parameters.into_iter().collect();
        parameters.sort();
        (first_line, parameters)
    }

    //
    #[test]
    fn a_doc_comment_describes_the_tool_and_its_parameters() {
        let table = [
            ("", "", vec![]),
            ("\n Does it.\n At length.", "Does it.", vec![]),
            (
                "Does it.\n\nArgs:\n    a: The first.\n    b_2: The second.",
                "Does it.",
                vec![("a", "The first."), ("b_2", "The second.")],
            ),
            (
                "D.\nArgs:\n  a: One,\n     two,\n  three.\nReturns:\n  b_2: no",
                "D.",
                vec![("a", "One, two, three.")],
            ),
            (
                "D.\nArgs:\n  a:\n    Below.\n\n  stray\n  b_2 (int): Two.",
                "D.",
                vec![("a", "Below."), ("b_2", "Two.")],
            ),
            (
                "D.\n# Arguments\n* `a` - One: 1.\n- b_2: Two.\n# Errors\na: no",
                "D.",
                vec![("a", "One: 1."), ("b_2", "Two.")],
            ),
            ("D.\nArgs:\n  a: For example\n  note: this.\n", "D.", vec![("a", "For example note: this.")]),
            ("Args:\n  a: One.", "", vec![("a", "One.")]),
            ("D.\na: not in a section", "D.", vec![]),
        ];
        for (text, first_line, parameters) in table {
            let parameters = parameters.into_iter().map(|(name, text)| (name.into(), text.into())).collect();
            assert_eq!(read(text), (first_line.to_owned(), parameters), "{text}");
        }
    }
}
