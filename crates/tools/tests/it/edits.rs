//! What changes a part of a file, and what changes several files: `edit`, `multi_edit`, `apply_patch`, `code_edit`,
//! `file`.
use crate::kit::Kit;
use haft_core::{Effect, ToolErrorKind};
use haft_tools::{EditSettings, Occurrence, Settings};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};

//
#[tokio::test]
async fn a_call_says_which_occurrence_it_means() {
    let table = [
        (json!({"occurrence": "first"}), Occurrence::Unique, Some("y x x")),
        (json!({"occurrence": "all"}), Occurrence::First, Some("y y y")),
        (json!({"occurrence": "unique"}), Occurrence::First, None),
        (json!({"replace_all": true}), Occurrence::Unique, Some("y y y")),
        (json!({"replace_all": false}), Occurrence::First, Some("y x x")),
        (json!({}), Occurrence::Unique, None),
    ];
    for (said, occurrence, expected) in table {
        let edit = EditSettings { occurrence, ..EditSettings::default() };
        let kit = Kit::with(Settings { edit, ..Settings::default() });
        kit.put("a", "x x x");
        let mut arguments = json!({"path": "a", "old_text": "x", "new_text": "y"});
        arguments.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        let told = kit.told("edit", arguments).await;
        assert_eq!(
            (told.is_ok(), kit.get("a")),
            (expected.is_some(), expected.unwrap_or("x x x").into()),
            "{said}"
        );
    }
}

//
#[tokio::test]
async fn an_edit_is_understood_as_other_systems_write_it() {
    let table = [
        ("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true})),
        ("edit", json!({"filePath": "a", "oldString": "x", "newString": "y", "replaceAll": false})),
        ("replace", json!({"file_path": "a", "instruction": "do", "old_string": "x", "new_string": "y"})),
        ("str_replace", json!({"path": "a", "old_str": "x", "new_str": "y"})),
        ("edit_file", json!({"path": "a", "oldText": "x", "newText": "y"})),
        ("MultiEdit", json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]})),
        ("ApplyPatch", json!({"patchText": "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch"})),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch"})),
        ("code_edit", json!({"file": "a", "action": "replace", "lines": "1:1", "replacement": "y"})),
        ("code_edit", json!({"file_path": "a", "operation": "replace", "start_line": 1, "content": "y"})),
        ("file", json!({"file": "a", "operation": "write", "text": "y\n"})),
        ("Write", json!({"file_path": "a", "content": "y\n"})),
        ("write", json!({"filePath": "a", "content": "y\n"})),
        ("write_file", json!({"path": "a", "contents": "y\n"})),
        ("create_file", json!({"filename": "a", "file_text": "y\n"})),
        ("write_to_file", json!({"path": "a", "content": "y\n"})),
    ];
    for (tool, arguments) in table {
        let kit = Kit::new();
        kit.put("a", "x\n");
        kit.call(tool, arguments.clone()).await.unwrap();
        assert_eq!(kit.get("a"), b"y\n", "{tool} {arguments}");
    }
}

// B28, B29
#[tokio::test]
async fn what_differs_in_blanks_and_quotes_only_is_found_unless_a_profile_forbids_it() {
    let edit = json!({"path": "a", "old_text": "say(\"hi\")\nend", "new_text": "say(\"bye\")\nend"});
    let kit = Kit::new();
    kit.put("a", "\tsay(“hi”)\n\tend\n");
    let output = kit.call("edit", edit.clone()).await.unwrap();
    let expected = "Replaced 1 occurrence in `a`, at line 1. [blanks or quotes differed from `old_text`]";
    assert_eq!((output.for_model.as_str(), kit.get("a")), (expected, b"\tsay(\"bye\")\n\tend\n".to_vec()));
    let settings = EditSettings { exact: true, ..EditSettings::default() };
    let kit = Kit::with(Settings { edit: settings, ..Settings::default() });
    kit.put("a", "\tsay(“hi”)\n\tend\n");
    let told = kit.told("edit", edit).await;
    assert!(
        told.content.starts_with("error: cannot edit `a`: old_text not found in file"),
        "{}",
        told.content
    );
    assert_eq!(kit.get("a"), "\tsay(“hi”)\n\tend\n".as_bytes());
}

// B28: what is not there at all stays so.
#[tokio::test]
async fn blanks_and_marks_may_differ() {
    let table: &[(&str, &str, &str, &str, &[&str])] = &[
        ("quotes", "x = “a”;\n", "x = \"a\";", "y", &["y\n"]),
        ("inside a line", "say(‘hello’) now\n", "'hello'", "'bye'", &["say('bye') now\n"]),
        ("a blank that does not break", "a\u{a0}b\n", "a b", "c", &["c\n"]),
        ("fullwidth", "你好，世界\n", "你好,世界", "x", &["x\n"]),
        ("a ligature", "the ﬁrst one\n", "first", "last", &["the last one\n"]),
        ("half of a ligature", "the ﬁrst one\n", "the f", "x", &[]),
        ("dots in one sign", "wait… now\n", "wait... now", "x", &["x\n"]),
        ("an accent of its own", "cafe\u{301} au lait\n", "café", "tea", &["tea au lait\n"]),
        ("no accent", "café\n", "cafe", "x", &[]),
        ("halfwidth", "ｶﾞ = ²\n", "ガ = 2", "x", &["x\n"]),
        ("Hangul in its letters", "\u{1112}\u{1161}\u{11ab}\n", "한", "x", &["x\n"]),
        ("blanks at line ends", "a  \nb\t\nc", "a\nb\n", "x\n", &["x\nc"]),
        ("the blanks of the last line stay", "“a”  \nb\n", "\"a\"", "x", &["x  \nb\n"]),
        ("windows line ends", "“a” \r\nb\r\n", "\"a\"\nb", "x", &["x\r\n"]),
        (
            "indentation",
            "    if a:\n        b\n",
            "if a:\n    b",
            "if c:\n    d",
            &["    if c:\n        d\n"],
        ),
        ("as gemini-cli does", "  hello\n    world\n", "hello\nworld", "bye\nmoon", &["  bye\n  moon\n"]),
        ("tabs for blanks", "\tif a:\n\t\tb\n", "if a:\n    b\n", "if a:\n    c\n", &["\tif a:\n\t\tc\n"]),
        ("too deep", "a\n  b\n", "    a\n      b", "    x\n  y", &["x\ny\n"]),
        ("two of them", "“a”\n”a“\n", "\"a\"", "x", &["x\n”a“\n", "“a”\nx\n"]),
        ("blanks alone", "a \nb", "a\n\n", "x", &[]),
        ("another word", "a = “b”", "a = \"c\"", "x", &[]),
        ("blanks in the middle", "a  b\n", "a b", "x", &[]),
    ];
    let kit = Kit::new();
    for (what, text, old, new, expected) in table {
        kit.put("a", text);
        let told = kit.told("edit", json!({"path": "a", "old_text": old, "new_text": new})).await;
        let (after, said) = match expected {
            [after] => (after, "Replaced 1 occurrence in `a`"),
            [] => (text, "error: cannot edit `a`: old_text not found in file"),
            _ => (text, "error: cannot edit `a`: old_text found 2 times in file"),
        };
        assert!(told.content.starts_with(said), "{what}: {}", told.content);
        assert_eq!(kit.get("a"), after.as_bytes(), "{what}");
    }
}

/// What the model is told of a text that is not in the file, where nothing but the text itself counts.
async fn hint(file: impl AsRef<[u8]>, old: &str) -> String {
    let edit = EditSettings { exact: true, ..EditSettings::default() };
    let kit = Kit::with(Settings { edit, ..Settings::default() });
    kit.put("a", file);
    let told = kit.told("edit", json!({"path": "a", "old_text": old, "new_text": "x"})).await;
    told.content.split_once("\nhint: ").unwrap().1.to_owned()
}

#[tokio::test]
async fn a_missed_text_is_answered_with_the_nearest_one() {
    let file = b"fn main() {\n    let count = 1;\n    println!(\"{count}\");\n}\n";
    let table = [
        ("let count = 2;", "the nearest text is at line 2:\n    let count = 1;"),
        ("\tlet count = 1;", "the nearest text is at line 2 (only blanks differ):\n    let count = 1;"),
        ("\nlet cuont = 1;\n", "the nearest text is at line 1:\nfn main() {\n    let count = 1;"),
        (
            "fn other() {\n    let count = 1;\n    println!(\"{count}!\");\n}",
            "the nearest text is at line 1:\nfn main() {\n    let count = 1;\n    println!(\"{count}\");\n}",
        ),
        ("unlike anything else", "nothing like it is in the file: read it and copy the text from it"),
        ("\n \n", "read the file and copy the text from it"),
    ];
    for (old, expected) in table {
        assert_eq!(hint(file, old).await, expected, "{old:?}");
    }
}

#[tokio::test]
async fn the_block_with_most_in_common_is_shown_as_far_as_it_differs() {
    let block = |name: &str, last: &str| {
        let lines: Vec<String> = (0..10).map(|line| format!("    {name}({line});")).collect();
        format!("{{\n{}\n    {last};\n}}\n", lines.join("\n"))
    };
    let file = block("first", "end") + &block("second", "end");
    let expected = "the nearest text is at line 14:\n{\n    second(0);\n    second(1);\n    second(2);\n    \
                    second(3);\n    second(4);\n    second(5);\n    second(6);\n…\nthe first line that differs \
                    is 25:\n    end;";
    assert_eq!(hint(file, &block("second", "stop")).await, expected);
}

#[tokio::test]
async fn nothing_replaced_by_something_makes_a_file_but_only_where_there_is_none() {
    let kit = Kit::new();
    let edit = |path: &str| json!({"path": path, "old_text": "", "new_text": "x"});
    let output = kit.call("edit", edit("deep/a")).await.unwrap();
    assert_eq!((output.for_model.as_str(), kit.get("deep/a")), ("Wrote 1 bytes to `deep/a`.", b"x".to_vec()));
    assert!(!kit.told("edit", edit("deep/a")).await.is_ok());
    assert_eq!(kit.get("deep/a"), b"x");
}

//
#[tokio::test]
async fn several_edits_are_made_in_order_or_not_at_all() {
    let kit = Kit::new();
    let edit = |edits: Value| json!({"path": "a", "edits": edits});
    let one = |old: &str, new: &str| json!({"old_text": old, "new_text": new});
    kit.put("a", "1\r\n2\r\n2\r\n");
    let failing = [
        (
            json!([one("1", "2"), one("3", "4")]),
            "error: cannot edit `a`: edit 2 of 2: old_text not found in file\n\
             hint: nothing like it is in the file: read it and copy the text from it\n\
             [no edit was made: send all of them again]",
        ),
        (
            json!([one("2", "3")]),
            "error: cannot edit `a`: edit 1 of 1: old_text found 2 times in file, at lines 2, 3\n\
             hint: take in more lines around the one that you mean, or set `occurrence`\n\
             [no edit was made: send all of them again]",
        ),
        (json!([]), "error: cannot edit `a`: `edits` is empty\nhint: give at least one edit"),
        (json!([{"old_text": "a", "new": "b", "x": 1}]), "error: cannot call `multi_edit`: "),
    ];
    for (edits, expected) in failing {
        let told = kit.told("multi_edit", edit(edits)).await;
        assert!(told.content.starts_with(expected), "{}", told.content);
        assert_eq!(kit.get("a"), b"1\r\n2\r\n2\r\n");
    }
    let edits =
        json!([one("1\n", "1\n5\n"), {"old_text": "2", "new_text": "3", "occurrence": "all"}, one("5", "6")]);
    let output = kit.call("multi_edit", edit(edits)).await.unwrap();
    assert_eq!(kit.get("a"), b"1\r\n6\r\n3\r\n3\r\n");
    assert_eq!(output.for_model, "Made 3 edits in `a`, at lines 1, 3, 4, 2.");
    assert_eq!(output.details, json!({"path": "a", "edited": true, "bytes_changed": 3, "replaced": 4}));
    let made = kit.call("multi_edit", json!({"path": "n", "edits": [one("", "a b"), one("a", "c")]})).await;
    assert_eq!(
        (made.unwrap().for_model.as_str(), kit.get("n")),
        ("Made 2 edits in `n`, at line 1.", b"c b".to_vec())
    );
}

const PATCH: &str = "*** Begin Patch
*** Add File: new/a.txt
+one
+two
*** Update File: b.sh
*** Move to: bin/b.sh
@@ def f():
-  x
+  y
*** Update File: c.txt
@@
 1
+2
*** Delete File: d.txt
*** End Patch";

// C-67
#[tokio::test]
async fn a_patch_adds_changes_moves_and_deletes() {
    let kit = Kit::new();
    for (path, content) in [("b.sh", "def f():\n  x\n"), ("c.txt", "1\r\n3"), ("d.txt", "")] {
        kit.put(path, content);
    }
    fs::set_permissions(kit.workspace.join("b.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = |name: &str| kit.workspace.join(name);
    let expected: Vec<Effect> = vec![
        Effect::Write(path("new/a.txt")),
        Effect::Read(path("b.sh")),
        Effect::Write(path("b.sh")),
        Effect::Write(path("bin/b.sh")),
        Effect::Read(path("c.txt")),
        Effect::Write(path("c.txt")),
        Effect::Read(path("d.txt")),
        Effect::Write(path("d.txt")),
    ];
    assert_eq!(kit.effects("apply_patch", &json!({"patch": PATCH})).unwrap(), expected);
    let output = kit.call("apply_patch", json!({"patch": PATCH})).await.unwrap();
    assert_eq!(
        output.for_model,
        "Added `new/a.txt`\nMoved `b.sh` to `bin/b.sh` at line 2\nUpdated `c.txt` at line 1\nDeleted `d.txt`"
    );
    assert_eq!(output.shown, haft_core::Shown::Text("Patched 4 files".into()));
    assert_eq!(kit.get("new/a.txt"), b"one\ntwo\n");
    assert_eq!(kit.get("bin/b.sh"), b"def f():\n  y\n");
    assert_eq!(kit.get("c.txt"), b"1\r\n2\r\n3");
    assert_eq!((path("b.sh").exists(), path("d.txt").exists()), (false, false));
    assert_eq!(fs::metadata(path("bin/b.sh")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn a_patch_is_applied_whole_or_not_at_all() {
    let kit = Kit::new();
    let patch = |body: &str| json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch")});
    let add = "*** Add File: new\n+x\n";
    let table = [
        (
            format!("{add}*** Update File: a\n@@\n-2\n+x\n@@\n-teh end\n+x"),
            "error: cannot update `a`: hunk 2 (line 8 of the patch): its lines are not in the file\n\
             hint: in `a` the nearest text is at line 3:\nthe end\n[nothing was changed: send the whole patch again]",
        ),
        (
            format!("{add}*** Update File: a\n@@\n-2\n@@\n-1"),
            "error: cannot update `a`: hunk 2 (line 7 of the patch): its lines stand above the end of the hunk before it, or above its `@@` line\n\
             hint: give the hunks in the order of the file, with lines of their own\n[nothing was changed: send the whole patch again]",
        ),
        (
            format!("{add}*** Delete File: no\n*** Update File: b\n-x"),
            "error: cannot delete `no`: no such file; cannot update `b`: no such file\n\
             hint: the folder holds a\n[nothing was changed: send the whole patch again]",
        ),
        (
            format!("{add}*** Add File: ./new\n+y"),
            "error: cannot add `./new`: the patch makes it twice\nhint: [nothing was changed: send the whole patch again]",
        ),
        (
            format!("{add}*** Update File: a\n1\n-2"),
            "error: cannot read the patch: line 5: each line of a hunk begins with a blank, `-` or `+`\nhint: for example:",
        ),
    ];
    kit.put("a", "1\n2\nthe end\n");
    for (body, expected) in table {
        let told = kit.told("apply_patch", patch(&body)).await;
        assert!(told.content.starts_with(expected), "{}\n{expected}", told.content);
        assert_eq!((kit.get("a"), kit.workspace.join("new").exists()), (b"1\n2\nthe end\n".to_vec(), false));
    }
    let twice =
        "*** Update File: a\n-1\n+0\n*** Update File: ./a\n-0\n+9\n*** Delete File: a\n*** Add File: a\n+8";
    kit.call("apply_patch", patch(twice)).await.unwrap();
    assert_eq!(kit.get("a"), b"8\n");
    kit.call("apply_patch", patch("*** Update File: a\n*** Move to: b\n*** Delete File: b")).await.unwrap();
    assert_eq!((kit.workspace.join("a").exists(), kit.workspace.join("b").exists()), (false, false));
}

#[tokio::test]
async fn an_update_that_only_adds_makes_a_file_unless_another_may_be_meant() {
    let kit = Kit::new();
    kit.put("main.rs", "1\n");
    let patch = |path: &str, hunk: &str| json!({"patch": format!("*** Update File: {path}\n@@\n{hunk}")});
    for (path, hunk) in
        [("mian.rs", " 1\n+2"), ("no/a", "+2"), ("a", "-1\n+2"), ("a", "@@ x\n+1"), ("a", " 1")]
    {
        let told = kit.told("apply_patch", patch(path, hunk)).await;
        assert!(told.content.contains("no such file"), "{path} {hunk}: {}", told.content);
    }
    let output = kit.call("apply_patch", patch("a", " 1\n+2")).await.unwrap();
    assert_eq!((output.for_model.as_str(), kit.get("a")), ("Added `a`", b"1\n2\n".to_vec()));
}

// B34
#[tokio::test]
async fn a_patch_keeps_links_and_modes() {
    let kit = Kit::new();
    kit.put("run.sh", "a\n");
    fs::set_permissions(kit.workspace.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("run.sh", kit.workspace.join("link")).unwrap();
    let patch = "*** Update File: link\n-a\n+b\n*** Update File: run.sh\n-b\n+c";
    kit.call("apply_patch", json!({"patch": patch})).await.unwrap();
    assert_eq!(kit.get("run.sh"), b"c\n");
    assert_eq!(fs::metadata(kit.workspace.join("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(fs::symlink_metadata(kit.workspace.join("link")).unwrap().is_symlink());
}

// P-08, P-29, P-30, C-67
#[tokio::test]
async fn lines_are_edited_by_number() {
    let kit = Kit::new();
    let table = [
        (
            json!({"action": "replace", "start": 2, "end": 3, "text": "x"}),
            "1\r\nx\r\n",
            "Replaced lines 2 to 3 by 1 line in `a`, which has 2 lines.",
        ),
        (
            json!({"action": "insert", "start": 1, "text": "0\n"}),
            "0\r\n1\r\n2\r\n3\r\n",
            "Added line 1 in `a`, which has 4 lines.",
        ),
        (json!({"action": "delete", "start": 3}), "1\r\n2\r\n", "Deleted line 3 in `a`, which has 2 lines."),
        (
            json!({"action": "append", "text": "4\n5"}),
            "1\r\n2\r\n3\r\n4\r\n5\r\n",
            "Added lines 4 to 5 in `a`, which has 5 lines.",
        ),
        (
            json!({"action": "insert", "start": 4, "text": "4"}),
            "1\r\n2\r\n3\r\n4\r\n",
            "Added line 4 in `a`, which has 4 lines.",
        ),
    ];
    for (mut arguments, content, said) in table {
        kit.put("a", "1\r\n2\r\n3\r\n");
        arguments["path"] = "a".into();
        let output = kit.call("code_edit", arguments).await.unwrap();
        assert_eq!((output.for_model.as_str(), kit.get("a")), (said, content.as_bytes().to_vec()));
    }
    kit.call("code_edit", json!({"path": "n", "action": "append", "text": "a"})).await.unwrap();
    assert_eq!(kit.get("n"), b"a\n");
}

// P-08
#[tokio::test]
async fn lines_that_are_not_there_are_told_with_how_many_there_are() {
    let kit = Kit::new();
    kit.put("a", "1\n2\n3\n");
    let table = [
        (
            json!({"action": "replace", "start": 4, "text": "x"}),
            "there is no line 4: the file has 3 lines\nhint: read the file again: its lines may have shifted",
        ),
        (
            json!({"action": "delete", "start": 2, "end": 9}),
            "there is no line 9: the file has 3 lines\nhint: read the file again: its lines may have shifted",
        ),
        (
            json!({"action": "insert", "start": 5, "text": "x"}),
            "there is no line 5: the file has 3 lines\nhint: read the file again: its lines may have shifted",
        ),
        (json!({"action": "replace"}), "`start` is required to replace; `text` is required to replace"),
        (json!({"action": "delete", "start": 3, "end": 2}), "`end` (2) is before `start` (3)"),
        (json!({"action": "insert", "start": 0, "text": "x"}), "`start` is counted from 1"),
        (json!({"action": "delete", "lines": "a:b"}), "`lines` is not `start:end`"),
    ];
    for (mut arguments, why) in table {
        arguments["path"] = "a".into();
        let told = kit.told("code_edit", arguments).await;
        assert_eq!(told.content, format!("error: cannot edit `a`: {why}"));
        assert_eq!(
            (told.error.unwrap().kind, kit.get("a")),
            (ToolErrorKind::Validation, b"1\n2\n3\n".to_vec())
        );
    }
}

// P-07, P-27
#[tokio::test]
async fn a_whole_file_is_read_written_extended_and_deleted() {
    let kit = Kit::new();
    let path = || -> PathBuf { kit.workspace.join("d/a") };
    let file = |arguments: Value| kit.call("file", arguments);
    let output = file(json!({"path": "d/a", "action": "write", "content": "1\n"})).await.unwrap();
    assert_eq!(output.for_model, "Wrote 2 bytes to `d/a`.");
    let output = file(json!({"path": "d/a", "action": "append", "content": "2"})).await.unwrap();
    assert_eq!((output.for_model.as_str(), kit.get("d/a")), ("Appended 1 bytes to `d/a`.", b"1\n2".to_vec()));
    assert_eq!(file(json!({"path": "d/a"})).await.unwrap().for_model, "     1\t1\n     2\t2");
    assert_eq!(kit.effects("file", &json!({"path": "d/a"})).unwrap(), [Effect::Read(path())]);
    let wrong = kit.told("file", json!({"path": "d/a", "action": "write"})).await;
    assert_eq!(
        wrong.content,
        "error: cannot write `d/a`: `content` is required\nhint: give the text to write as `content`"
    );
    assert_eq!(file(json!({"path": "d/a", "action": "delete"})).await.unwrap().for_model, "Deleted `d/a`.");
    assert!(!path().exists());
    let gone = kit.told("file", json!({"path": "d/a", "action": "delete"})).await;
    assert_eq!(gone.content, "error: cannot delete `d/a`: no such file\nhint: the folder is empty");
}
