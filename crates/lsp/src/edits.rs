//! [`by_file`] and [`applied`]: the files of a workspace edit (LSP 3.17, `WorkspaceEdit`), and their texts after it.
use crate::positions::offset;
use lsp_types::{
    AnnotatedTextEdit, DocumentChangeOperation, DocumentChanges, OneOf, TextDocumentEdit, TextEdit, Url,
    WorkspaceEdit,
};
use std::{collections::BTreeMap, path::PathBuf};

/// The edits of each file, by its path.
///
/// # Errors
/// Fails if the edit creates, moves or deletes files, or names something that is not a file.
pub(crate) fn by_file(edit: WorkspaceEdit) -> Result<BTreeMap<PathBuf, Vec<TextEdit>>, String> {
    let mut files: BTreeMap<PathBuf, Vec<TextEdit>> = BTreeMap::new();
    let mut add = |uri: &Url, edits: Vec<TextEdit>| {
        let path = uri.to_file_path().map_err(|()| format!("`{uri}` is no file"))?;
        files.entry(path).or_default().extend(edits);
        Ok::<_, String>(())
    };
    match edit.document_changes {
        Some(DocumentChanges::Edits(all)) => {
            all.into_iter().try_for_each(|one| add(&one.text_document.uri.clone(), plain(one)))?;
        }
        Some(DocumentChanges::Operations(all)) => {
            for one in all {
                match one {
                    DocumentChangeOperation::Edit(one) => add(&one.text_document.uri.clone(), plain(one))?,
                    DocumentChangeOperation::Op(_) => {
                        return Err("it would also make, move or delete files".into());
                    }
                }
            }
        }
        None => {
            let all = edit.changes.unwrap_or_default();
            all.into_iter().try_for_each(|(uri, edits)| add(&uri, edits))?;
        }
    }
    Ok(files)
}

fn plain(edit: TextDocumentEdit) -> Vec<TextEdit> {
    let plain = |edit: OneOf<TextEdit, AnnotatedTextEdit>| match edit {
        OneOf::Left(edit) => edit,
        OneOf::Right(annotated) => annotated.text_edit,
    };
    edit.edits.into_iter().map(plain).collect()
}

/// Returns `text` with all edits applied. The positions of each edit refer to the original text.
///
/// # Errors
/// Fails if two of them overlap.
pub(crate) fn applied(text: &str, edits: &[TextEdit]) -> Result<String, String> {
    let range = |edit: &TextEdit| (offset(text, edit.range.start), offset(text, edit.range.end));
    let mut places: Vec<((usize, usize), &str)> =
        edits.iter().map(|edit| (range(edit), edit.new_text.as_str())).collect();
    // The sort is stable: several insertions at the same place keep their order.
    places.sort_by_key(|(range, _)| *range);
    let (mut made, mut next) = (String::new(), 0);
    for ((from, to), new) in places {
        if from < next || to < from {
            return Err("two of its edits overlap".into());
        }
        made += &text[next..from];
        made += new;
        next = to;
    }
    Ok(made + &text[next..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use lsp_types::{Position, Range};
    use serde_json::json;

    fn edit(from: (u32, u32), to: (u32, u32), new: &str) -> TextEdit {
        let position = |(line, character)| Position::new(line, character);
        TextEdit { range: Range::new(position(from), position(to)), new_text: new.into() }
    }

    #[test]
    fn edits_are_about_the_text_as_it_was() {
        let overlap = Err("two of its edits overlap".to_owned());
        let table = [
            (vec![], Ok("one two\nthree\n".to_owned())),
            (vec![edit((1, 0), (1, 5), "3"), edit((0, 0), (0, 3), "1")], Ok("1 two\n3\n".to_owned())),
            (vec![edit((0, 3), (0, 3), "a"), edit((0, 3), (0, 3), "b")], Ok("oneab two\nthree\n".to_owned())),
            (vec![edit((0, 0), (0, 3), "x"), edit((0, 2), (0, 4), "y")], overlap.clone()),
            (vec![edit((0, 3), (0, 1), "x")], overlap),
            (vec![edit((5, 0), (9, 0), "end")], Ok("one two\nthree\nend".to_owned())),
        ];
        for (edits, expected) in table {
            assert_eq!(applied("one two\nthree\n", &edits), expected, "{edits:?}");
        }
    }

    #[test]
    fn all_forms_of_a_workspace_edit_are_read() {
        let edits = json!([{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}, "newText": "x"}]);
        let document = json!({"textDocument": {"uri": "file:///a%20b.py", "version": null}, "edits": edits});
        let table = [
            (json!({"changes": {"file:///a%20b.py": edits}}), Ok(vec!["/a b.py"])),
            (json!({"documentChanges": [document]}), Ok(vec!["/a b.py"])),
            (json!({}), Ok(vec![])),
            (
                json!({"documentChanges": [document, {"kind": "delete", "uri": "file:///a"}]}),
                Err("it would also make, move or delete files"),
            ),
            (json!({"changes": {"untitled:x": edits}}), Err("`untitled:x` is no file")),
        ];
        for (value, expected) in table {
            let files = by_file(serde_json::from_value(value.clone()).unwrap());
            let paths = files.map(|files| files.into_keys().collect::<Vec<_>>());
            let expected = expected.map(|paths: Vec<&str>| paths.into_iter().map(PathBuf::from).collect());
            assert_eq!(paths, expected.map_err(str::to_owned), "{value}");
        }
    }
}
