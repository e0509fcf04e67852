//! `read`, `write` and `edit` in a folder.
use crate::kit::Kit;
use haft_core::{Effect, Shown, ToolErrorKind};
use haft_tools::{EditSettings, Occurrence, ReadSettings, Settings};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    time::{Duration, Instant},
};

#[test]
fn the_effects_are_those_of_the_call_and_no_more() {
    let kit = Kit::new();
    let file = kit.workspace.join("a");
    let (read, write) = (Effect::Read(file.clone()), Effect::Write(file));
    let table = [
        ("read", json!({"path": "a"}), vec![read.clone()]),
        ("write", json!({"path": "a", "content": ""}), vec![write.clone()]),
        ("edit", json!({"path": "a", "old_text": "a", "new_text": "b"}), vec![read, write]),
        ("bash", json!({"command": "ls"}), vec![Effect::execute("ls").confined()]),
        (
            "bash",
            json!({"command": "ls", "working_dir": "sub"}),
            vec![Effect::execute_in("ls", "sub").confined()],
        ),
        // What goes on keeps its view, and what needs more than a view says so.
        (
            "bash",
            json!({"command": "ls", "background": true}),
            vec![Effect::execute("ls").confined().lasting()],
        ),
        (
            "bash",
            json!({"command": "ls", "background": true, "needs": ["live"]}),
            vec![Effect::execute("ls").lasting()],
        ),
        ("bash", json!({"command": "ls", "needs": ["live"]}), vec![Effect::execute("ls")]),
        ("bash", json!({"command": "ls", "needs": ["network"]}), vec![Effect::execute("ls").with_network()]),
        ("read", json!({"path": "/etc/hosts"}), vec![Effect::Read("/etc/hosts".into())]),
    ];
    for (tool, arguments, expected) in table {
        assert_eq!(kit.effects(tool, &arguments).unwrap(), expected, "{tool}");
    }
}

// C-42, C-45, B15
#[tokio::test]
async fn a_file_is_read_by_lines() {
    let kit = Kit::new();
    kit.put("a.txt", "one\ntwo\nthree\n");
    kit.put("empty", "");
    kit.put("latin", b"caf\xe9\n");
    let table = [
        (json!({"path": "a.txt"}), "     1\tone\n     2\ttwo\n     3\tthree"),
        (json!({"path": "./a.txt", "offset": 2}), "     2\ttwo\n     3\tthree"),
        (
            json!({"path": "a.txt", "offset": 2, "limit": 1}),
            "     2\ttwo\n[the file goes on, it has 14 bytes; continue with offset=3]",
        ),
        (
            json!({"path": kit.workspace.join("a.txt"), "offset": 0, "limit": 3}),
            "     1\tone\n     2\ttwo\n     3\tthree",
        ),
        (json!({"path": "empty"}), "[the file is empty]"),
        (
            json!({"path": "latin"}),
            "     1\tcaf\u{fffd}\n[not UTF-8: \u{fffd} stands for what cannot be shown]",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(kit.told("read", arguments.clone()).await.content, expected, "{arguments}");
    }
    let output = kit.call("read", json!({"path": "a.txt", "limit": 2})).await.unwrap();
    let details = json!({
        "path": "a.txt", "from": 1, "lines": 2, "bytes": 14, "truncated": false, "tokens": 21,
    });
    assert_eq!(output.details, details);
}

// C-41, C-42, C-43, C-45, C-46, X-10
#[tokio::test]
async fn several_files_are_read_at_once() {
    let kit = Kit::new();
    kit.put("a", "one\n");
    kit.put("b", "two\nthree\n");
    let table = [
        (json!({"path": ["a", "b"]}), "=== a ===\n     1\tone\n\n=== b ===\n     1\ttwo\n     2\tthree"),
        (json!({"file_paths": ["a"], "offset": 0, "limit": 0}), "=== a ===\n     1\tone"),
        (json!({"filePath": "a"}), "     1\tone"),
        (
            json!({"paths": ["b", "c"]}),
            "=== b ===\n     1\ttwo\n     2\tthree\n\n=== c ===\n[cannot read `c`: no such file]",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(kit.told("read", arguments.clone()).await.content, expected, "{arguments}");
    }
    let both = kit.told("read_many_files", json!({"paths": ["a", "b", "c"]})).await;
    assert_eq!((&both.details["files_read"], &both.details["content"]), (&json!(2), &json!(both.content)));
    assert_eq!(both.shown, Shown::Text("Read 2 of 3 files".into()));
    let none = kit.told("read", json!({"path": ["x", "y"]})).await;
    let expected =
        "error: cannot read `x`: no such file; cannot read `y`: no such file\nhint: the folder holds a, b";
    assert_eq!(none.content, expected);
}

// C-43
#[tokio::test]
async fn several_files_share_the_room_of_one() {
    let read = ReadSettings { max_bytes: 100, ..ReadSettings::default() };
    let kit = Kit::with(Settings { read, ..Settings::default() });
    for name in ["a", "b", "c"] {
        kit.put(name, "x".repeat(90));
    }
    let told = kit.told("read", json!({"path": ["a", "b", "c"]})).await;
    assert!(
        told.content.ends_with("[no room left for `b`, `c`; read them in another call]"),
        "{}",
        told.content
    );
    assert_eq!(told.details["files_read"], 1);
}

#[tokio::test]
async fn a_notebook_is_read_as_its_cells() {
    let kit = Kit::new();
    let cells = json!([{"cell_type": "code", "source": ["a = 1\n", "a"], "outputs": []}]);
    kit.put("a.ipynb", json!({"cells": cells}).to_string());
    kit.put("b.ipynb", "not json");
    let told = kit.told("read", json!({"path": "a.ipynb"})).await.content;
    let cells = "     1\t# --- cell 1 [code]\n     2\ta = 1\n     3\ta\n";
    assert_eq!(told, format!("{cells}[a notebook, shown as its cells; the file itself is JSON]"));
    assert_eq!(kit.told("read", json!({"path": "b.ipynb"})).await.content, "     1\tnot json");
}

// B12, B13, B15, C-44
#[tokio::test]
async fn what_cannot_be_read_is_an_error_with_a_hint() {
    let kit = Kit::new();
    kit.put("src/main.rs", "fn main() {}");
    kit.put("src/lib.rs", "");
    kit.put("program", b"\x7fELF\0\0");
    kit.put("a.pdf", b"%PDF-1.7\n");
    kit.put("bare/.keep", "");
    fs::remove_file(kit.workspace.join("bare/.keep")).unwrap();
    symlink("/dev/zero", kit.workspace.join("zero")).unwrap();
    symlink("circle", kit.workspace.join("circle")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        kit.workspace.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let table = [
        ("src/mian.rs", "error: cannot read `src/mian.rs`: no such file\nhint: did you mean `src/main.rs`?"),
        (
            "src/zzzzzz",
            "error: cannot read `src/zzzzzz`: no such file\nhint: the folder holds lib.rs, main.rs",
        ),
        ("bare/a", "error: cannot read `bare/a`: no such file\nhint: the folder is empty"),
        ("no/a", "error: cannot read `no/a`: no such file\nhint: there is no folder `no`"),
        ("src", "error: cannot read `src`: it is a folder\nhint: the folder holds lib.rs, main.rs"),
        (
            "program/a",
            "error: cannot read `program/a`: a part of the path is a file, not a folder\nhint: leave out what comes after the name of the file",
        ),
        (
            "program",
            "error: cannot read `program`: it looks binary\nhint: look at it with a command, e.g. `file`, `strings` or `xxd`; if it is UTF-16, convert it with `iconv`",
        ),
        (
            "a.pdf",
            "error: cannot read `a.pdf`: it is a PDF\nhint: get its text with a command: `pdftotext -layout FILE -`",
        ),
        ("zero", "error: cannot read `zero`: it is not a regular file"),
        ("pipe", "error: cannot read `pipe`: it is not a regular file"),
    ];
    for (path, expected) in table {
        let told = kit.told("read", json!({"path": path})).await;
        assert_eq!((told.content.as_str(), told.error.unwrap().kind), (expected, ToolErrorKind::User));
    }
    let told = kit.told("read", json!({"path": "src/lib.rs", "offset": 5})).await;
    assert_eq!(
        told.content,
        "error: cannot read `src/lib.rs` from there: it has only 0 lines\nhint: use a smaller `offset`"
    );
    assert!(!kit.told("read", json!({"path": "circle"})).await.is_ok());
}

// a line that is cut is told in the fields, too.
#[tokio::test]
async fn a_line_that_is_cut_makes_the_result_truncated() {
    let kit = Kit::new();
    kit.put("wide", "x".repeat(120_000));
    let told = kit.told("read", json!({"path": "wide"})).await;
    assert!(told.content.ends_with("[cut: this line has 120000 bytes]"), "{}", told.content);
    assert_eq!(told.details["truncated"], true);
}

// B14: a sparse file is as large to the tool as any other.
#[tokio::test]
async fn a_large_file_is_read_only_as_far_as_it_is_shown() {
    let kit = Kit::new();
    kit.put("large", "a line of text\n".repeat(10_000));
    fs::File::options().append(true).open(kit.workspace.join("large")).unwrap().set_len(500 << 20).unwrap();
    let start = Instant::now();
    let told = kit.told("read", json!({"path": "large"})).await;
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(told.content.len() < 50_200);
    assert!(told.content.ends_with(
        "  2000\ta line of text\n[the file goes on, it has 524288000 bytes; continue with offset=2001]"
    ));
    assert_eq!(told.details["truncated"], true);
}

// the accent of a profile
#[tokio::test]
async fn the_raw_form_is_the_content_and_a_marker() {
    let read = ReadSettings {
        numbered: false,
        lines: u64::MAX,
        marker: Some("\n[Content truncated...]".into()),
        ..ReadSettings::default()
    };
    let kit = Kit::with(Settings { read, ..Settings::default() });
    kit.put("a", "x\r\ny");
    kit.put("long", "x".repeat(50_001));
    let output = kit.call("read", json!({"path": "a"})).await.unwrap();
    assert_eq!((output.for_model.as_str(), output.details), ("x\r\ny", Value::Null));
    let output = kit.call("read", json!({"path": "long"})).await.unwrap();
    assert_eq!(output.for_model, "x".repeat(50_000) + "\n[Content truncated...]");
}

//
#[tokio::test]
async fn an_image_is_attached() {
    let kit = Kit::new();
    let files: [(&str, &[u8], Option<&str>); 5] = [
        ("a.png", b"\x89PNG\r\n\x1a\n", Some("image/png")),
        ("b.JPEG", b"\xff\xd8\xff\xe0", Some("image/jpeg")),
        ("c.gif", b"GIF89a", Some("image/gif")),
        ("d.WebP", b"RIFF\0\0\0\0WEBP", Some("image/webp")),
        ("e.jpg", b"text", None),
    ];
    for (name, content, mime) in files {
        kit.put(name, content);
        let output = kit.call("read", json!({"path": name})).await.unwrap();
        assert!(output.for_model.starts_with(&format!("[Image: {name}]")));
        assert_eq!(output.images.first().map(|image| image.mime.as_str()), mime, "{name}");
    }
    kit.put("large.png", vec![0; (5 << 20) + 1]);
    assert!(!kit.told("read", json!({"path": "large.png"})).await.is_ok());
}

// B31
#[tokio::test]
async fn a_file_is_written_byte_for_byte() {
    let kit = Kit::new();
    for (path, content) in [("a", "x\r\ny\t😀"), ("deep/er/b", ""), ("a", "shorter"), ("ü ä", "$&\0")] {
        let output = kit.call("write", json!({"path": path, "content": content})).await.unwrap();
        assert_eq!(kit.get(path), content.as_bytes());
        let bytes = content.len();
        assert_eq!(output.for_model, format!("Wrote {bytes} bytes to `{path}`."));
        assert_eq!(output.details, json!({"path": path, "bytes_written": bytes, "status": "written"}));
    }
}

// B27 to B29
#[tokio::test]
async fn an_edit_says_what_it_did_or_why_not() {
    let kit = Kit::new();
    kit.put("a", "let x = 1;\nlet y = 2;\nlet x = 1;\n");
    let edit = |old: &str, new: &str| json!({"path": "a", "old_text": old, "new_text": new});
    let missed = |why: &str| json!({"path": "a", "edited": false, "error": why});
    let table = [
        (
            edit("let y = 3;", ""),
            "error: cannot edit `a`: old_text not found in file\nhint: the nearest text is at line 2:\nlet y = 2;",
            missed("old_text not found in file"),
        ),
        (
            edit("let x", ""),
            "error: cannot edit `a`: old_text found 2 times in file, at lines 1, 3\nhint: take in more lines around the one that you mean, or set `occurrence`",
            missed("old_text found 2 times in file"),
        ),
        (
            edit("", "x"),
            "error: cannot edit `a`: `old_text` is empty\nhint: give the text to replace; to make a file use `write`",
            missed("`old_text` is empty"),
        ),
        (
            edit("x", "x"),
            "error: cannot edit `a`: `old_text` and `new_text` are the same\nhint: give the text as it should become",
            missed("`old_text` and `new_text` are the same"),
        ),
    ];
    for (arguments, expected, details) in table {
        let told = kit.told("edit", arguments).await;
        assert_eq!((told.content.as_str(), &told.details), (expected, &details));
        assert_eq!(kit.get("a"), b"let x = 1;\nlet y = 2;\nlet x = 1;\n");
    }
    let output = kit.call("edit", edit("y = 2", "why = \"ü\"")).await.unwrap();
    assert_eq!(output.for_model, "Replaced 1 occurrence in `a`, at line 2.");
    assert_eq!(output.details, json!({"path": "a", "edited": true, "bytes_changed": 5, "replaced": 1}));
    assert_eq!(kit.get("a"), "let x = 1;\nlet why = \"ü\";\nlet x = 1;\n".as_bytes());
    let told = kit.told("edit", json!({"path": "b", "old_text": "a", "new_text": "b"})).await;
    assert_eq!(told.content, "error: cannot edit `b`: no such file\nhint: the folder holds a");
}

//
#[tokio::test]
async fn which_occurrence_is_replaced_is_a_setting() {
    for (occurrence, expected) in [(Occurrence::First, "y x"), (Occurrence::All, "y y")] {
        let kit = Kit::with(Settings {
            edit: EditSettings { occurrence, ..EditSettings::default() },
            ..Settings::default()
        });
        kit.put("a", "x x");
        kit.call("edit", json!({"path": "a", "old_text": "x", "new_text": "y"})).await.unwrap();
        assert_eq!(kit.get("a"), expected.as_bytes());
    }
}

// B18 to B20, B24 to B26: the rest is in `edit/replace.rs`, where it costs no file.
#[tokio::test]
async fn an_edit_leaves_every_other_byte() {
    let kit = Kit::new();
    let file = b"\xef\xbb\xbfa\r\nb\0\t \x0c\r\n\xe9";
    kit.put("a", file);
    kit.call("edit", json!({"path": "a", "old_text": "a\nb", "new_text": "A\n$&"})).await.unwrap();
    assert_eq!(kit.get("a"), b"\xef\xbb\xbfA\r\n$&\0\t \x0c\r\n\xe9");
}

// B30
#[tokio::test]
async fn edits_of_one_file_one_after_the_other_all_apply() {
    let kit = Kit::new();
    kit.put("a", "1\n2\n3\n4\n5\n");
    for n in 1..=5 {
        let arguments = json!({"path": "a", "old_text": format!("{n}\n"), "new_text": format!("{n}!\n")});
        kit.call("edit", arguments).await.unwrap();
    }
    assert_eq!(kit.get("a"), b"1!\n2!\n3!\n4!\n5!\n");
}

// B34
#[tokio::test]
async fn an_edit_keeps_mode_and_link() {
    let kit = Kit::new();
    kit.put("run.sh", "echo a");
    fs::set_permissions(kit.workspace.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("run.sh", kit.workspace.join("link")).unwrap();
    kit.call("edit", json!({"path": "link", "old_text": "echo a", "new_text": "echo b"})).await.unwrap();
    assert_eq!(kit.get("run.sh"), b"echo b");
    let mode = fs::metadata(kit.workspace.join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(fs::symlink_metadata(kit.workspace.join("link")).unwrap().is_symlink());
}

// B36
#[tokio::test]
async fn a_workspace_that_is_gone_gives_errors() {
    let kit = Kit::new();
    kit.call("bash", json!({"command": "rm -rf \"$PWD\""})).await.unwrap();
    assert!(kit.call("read", json!({"path": "a"})).await.is_err());
    let told = kit.told("bash", json!({"command": "ls"})).await;
    assert!(told.content.ends_with("the folder does not exist"), "{}", told.content);
}
