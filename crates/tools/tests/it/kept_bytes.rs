//! Every byte that an edit does not touch stays: `edit`, `apply_patch`, `code_edit`.
use crate::kit::Kit;
use haft_tools::{EditSettings, Occurrence, Settings};
use serde_json::json;
use std::ops::Range;

// B18 to B20, B24 to B28
#[tokio::test]
async fn every_byte_outside_the_edit_stays() {
    use Occurrence::{All, First, Unique};
    type Row = (
        &'static str,
        &'static [u8],
        &'static str,
        &'static str,
        Occurrence,
        Result<(&'static [u8], Vec<usize>), &'static str>,
    );
    let table: Vec<Row> = vec![
        ("plain", b"a\nb\nc", "b", "B", Unique, Ok((b"a\nB\nc", vec![2]))),
        ("windows line ends", b"a\r\nb\r\n", "b", "B", Unique, Ok((b"a\r\nB\r\n", vec![2]))),
        ("over two of them", b"a\r\nb\r\nc", "a\nb", "A\nB", Unique, Ok((b"A\r\nB\r\nc", vec![1]))),
        ("a new line among them", b"a\r\nb\r\n", "b", "b\nc", Unique, Ok((b"a\r\nb\r\nc\r\n", vec![2]))),
        ("given as they are", b"a\r\nb\r\n", "a\r\nb", "A\r\nB", Unique, Ok((b"A\r\nB\r\n", vec![1]))),
        ("mixed, as written", b"a\nb\r\nc\n", "a\nb", "A\nB", Unique, Ok((b"A\nB\r\nc\n", vec![1]))),
        ("mixed, converted", b"a\nb\r\nc\n", "b\nc", "B\nC", Unique, Ok((b"a\nB\r\nC\n", vec![2]))),
        (
            "mixed, either end",
            b"a\r\nb\nc\na\nb\n",
            "a\nb\n",
            "x\n",
            Unique,
            Err("old_text found 2 times in file, at lines 1, 4"),
        ),
        ("mixed, all", b"a\r\nb\na\nb\n", "a\nb", "A\nB", All, Ok((b"A\r\nB\nA\nB\n", vec![1, 3]))),
        (
            "mixed, end for end",
            b"a\r\nb\nc\r\n",
            "a\nb\nc",
            "A\nB\nC",
            Unique,
            Ok((b"A\r\nB\nC\r\n", vec![1])),
        ),
        ("mixed, as they are", b"a\r\nb\n", "b\n", "b\r\n", Unique, Ok((b"a\r\nb\r\n", vec![2]))),
        ("from a windows line end", b"a\r\nb\r\n", "\nb", "\nB", Unique, Ok((b"a\r\nB\r\n", vec![1]))),
        ("plain, given as windows", b"a\nb\n", "a\r\nb", "A\r\nB", Unique, Ok((b"A\nB\n", vec![1]))),
        ("plain, made windows", b"a\nb\n", "a\n", "a\r\n", Unique, Ok((b"a\r\nb\n", vec![1]))),
        ("lone carriage returns", b"a\rb\rc", "a\rb", "A\rB", Unique, Ok((b"A\rB\rc", vec![1]))),
        ("byte order mark", b"\xef\xbb\xbfb\n", "b", "B", Unique, Ok((b"\xef\xbb\xbfB\n", vec![1]))),
        ("Latin-1", b"\xe4\nb\n\xfc", "b", "B", Unique, Ok((b"\xe4\nB\n\xfc", vec![2]))),
        ("NUL", b"\0a\0b\0", "b", "B", Unique, Ok((b"\0a\0B\0", vec![1]))),
        (
            "tabs, blanks, form feed",
            b"\ta \x0c\nb \t\n",
            "b",
            "B",
            Unique,
            Ok((b"\ta \x0c\nB \t\n", vec![2])),
        ),
        ("patterns", b"b", "b", "$& $1 \\1 $$ `$'", Unique, Ok((b"$& $1 \\1 $$ `$'", vec![1]))),
        ("nothing in its place", b"abc", "b", "", Unique, Ok((b"ac", vec![1]))),
        ("ambiguous", b"x\ny\nx\n", "x", "z", Unique, Err("old_text found 2 times in file, at lines 1, 3")),
        ("overlapping", b"aaa", "aa", "b", Unique, Err("old_text found 2 times in file, at lines 1, 1")),
        ("the first", b"x\ny\nx\n", "x", "z", First, Ok((b"z\ny\nx\n", vec![1]))),
        ("all", b"x\ny\nx\n", "x", "xx", All, Ok((b"xx\ny\nxx\n", vec![1, 3]))),
        ("all, side by side", b"aaaa", "aa", "b", All, Ok((b"bb", vec![1, 1]))),
        ("absent", b"abc", "d", "e", All, Err("old_text not found in file")),
        ("longer than the file", b"a", "ab", "e", First, Err("old_text not found in file")),
        ("empty file", b"", "a", "b", Unique, Err("old_text not found in file")),
    ];
    for (what, content, old, new, occurrence, expected) in table {
        let edit = EditSettings { occurrence, exact: true };
        let kit = Kit::with(Settings { edit, ..Settings::default() });
        kit.put("a", content);
        let told = kit.call("edit", json!({"path": "a", "old_text": old, "new_text": new})).await;
        let told = told.map(|output| output.for_model).map_err(|error| error.message);
        let made = expected.clone().map_or(content, |(made, _)| made);
        let expected = expected.map(|(_, lines)| match lines.as_slice() {
            [line] => format!("Replaced 1 occurrence in `a`, at line {line}."),
            lines => {
                let numbers = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                format!("Replaced {} occurrences in `a`, at lines {numbers}.", lines.len())
            }
        });
        assert_eq!(told, expected.map_err(|why| format!("cannot edit `a`: {why}")), "{what}");
        assert_eq!(kit.get("a"), made, "{what}");
    }
}

#[tokio::test]
async fn every_byte_that_no_hunk_takes_away_stays() {
    let table: &[(&str, &[u8], &str, &[u8])] = &[
        ("in the middle", b"a\nb\nc\n", "@@\n a\n-b\n+B", b"a\nB\nc\n"),
        ("no last line end, elsewhere", b"a\nb\nc", "@@\n-a\n+A", b"A\nb\nc"),
        ("no last line end, there", b"a\nb", "@@\n-b\n+B", b"a\nB\n"),
        ("after a line without an end", b"a", "@@\n a\n+b", b"a\nb\n"),
        ("at the end", b"a\r\n", "@@\n+b", b"a\r\nb\r\n"),
        ("into nothing", b"", "@@\n+a", b"a\n"),
        ("line ends", b"a\r\nb\rc\nd\r\n", "@@\n a\n b\n-c\n+C\n d", b"a\r\nb\rC\r\nd\r\n"),
        ("a byte order mark", b"\xef\xbb\xbfa\nb", "@@\n-a\n+A", b"\xef\xbb\xbfA\nb"),
        ("Latin-1", b"\xe4\na\n\xfc", "@@\n-a\n+b", b"\xe4\nb\n\xfc"),
        ("blanks that stay", b"a  \n\tb\n", "@@\n a\n-b\n+c", b"a  \nc\n"),
        ("exact before alike", b" a\na\n", "@@\n-a\n+b", b" a\nb\n"),
        ("marks", "“a”\nb\n".as_bytes(), "@@\n \"a\"\n-b\n+c", "“a”\nc\n".as_bytes()),
        ("below its anchor", b"f\nx\ng\nx\n", "@@ g\n-x\n+y", b"f\nx\ng\ny\n"),
        ("below two", b"A\nf\nB\nf\nx\n", "@@ B\n@@ f\n-x\n+y", b"A\nf\nB\nf\ny\n"),
        ("its anchor again", b"x\nf\nx\n", "@@ f\n f\n-x\n+y", b"x\nf\ny\n"),
        ("put below its anchor", b"f\nx\n", "@@ f\n+y", b"f\ny\nx\n"),
        ("at the end only", b"x\na\nx\n", "@@\n-x\n+y\n*** End of File", b"x\na\ny\n"),
        ("an empty line too many", b"a\nb\n", "@@\n-b\n+c\n ", b"a\nc\n"),
        ("nothing left", b"a\n", "@@\n-a", b""),
    ];
    for (what, content, hunks, expected) in table {
        let kit = Kit::new();
        kit.put("a", content);
        let patch = format!("*** Begin Patch\n*** Update File: a\n{hunks}\n*** End Patch");
        kit.call("apply_patch", json!({"patch": patch})).await.unwrap();
        assert_eq!(kit.get("a"), *expected, "{what}");
    }
}

// P-08, P-29, P-30
#[tokio::test]
async fn lines_come_and_go_and_all_others_stay() {
    type Row = (&'static str, &'static [u8], Range<usize>, &'static str, &'static [u8]);
    let table: &[Row] = &[
        ("replace", b"a\nb\nc\n", 1..2, "B", b"a\nB\nc\n"),
        ("replace by more", b"a\nb\nc\n", 1..2, "B\nBB\n", b"a\nB\nBB\nc\n"),
        ("replace several", b"a\nb\nc\n", 0..2, "X", b"X\nc\n"),
        ("the last, without an end", b"a\nb", 1..2, "B\n", b"a\nB"),
        ("the last, with one", b"a\nb\n", 1..2, "B", b"a\nB\n"),
        ("by an empty line", b"a\nb\n", 0..1, "\n", b"\nb\n"),
        ("insert", b"a\nb\n", 1..1, "x", b"a\nx\nb\n"),
        ("insert first", b"a\n", 0..0, "x", b"x\na\n"),
        ("append", b"a\n", 1..1, "x", b"a\nx\n"),
        ("append to an open end", b"a\nb", 2..2, "x\n", b"a\nb\nx"),
        ("into nothing", b"", 0..0, "x", b"x\n"),
        ("delete", b"a\nb\nc", 0..2, "", b"c"),
        ("delete the last", b"a\nb", 1..2, "", b"a\n"),
        ("windows", b"a\r\nb\r\n", 1..2, "x\ny", b"a\r\nx\r\ny\r\n"),
        ("mixed: as what it replaces", b"a\nb\r\nc\n", 1..2, "x\ny", b"a\nx\r\ny\r\nc\n"),
        ("windows, open end", b"a\r\nb", 1..2, "x\ny", b"a\r\nx\r\ny"),
        ("a byte order mark", b"\xef\xbb\xbfa\nb\n", 0..1, "x", b"\xef\xbb\xbfx\nb\n"),
        ("bytes", b"\xff\0\r\nb\n", 1..2, "x", b"\xff\0\r\nx\n"),
    ];
    for (what, content, gone, text, expected) in table {
        let kit = Kit::new();
        kit.put("a", content);
        let is_at_end = gone.start == content.split_inclusive(|byte| *byte == b'\n').count();
        let action = match (gone.is_empty(), text.is_empty()) {
            (true, _) if is_at_end => "append",
            (true, _) => "insert",
            (false, true) => "delete",
            (false, false) => "replace",
        };
        let arguments = match action {
            "append" => json!({"path": "a", "action": action, "text": text}),
            "insert" => json!({"path": "a", "action": action, "start": gone.start + 1, "text": text}),
            _ => {
                json!({"path": "a", "action": action, "start": gone.start + 1, "end": gone.end, "text": text})
            }
        };
        kit.call("code_edit", arguments).await.unwrap();
        assert_eq!(kit.get("a"), *expected, "{what}");
    }
}
