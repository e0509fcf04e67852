//! `list`, `glob` and `grep` in a folder.
use crate::kit::Kit;
use haft_core::{Effect, Shown, ToolErrorKind};
use haft_tools::{FindSettings, Settings};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
};

fn project() -> Kit {
    let kit = Kit::new();
    kit.put(".gitignore", "target/\n*.log\n");
    kit.put(".github/ci.yml", "run: tests\n");
    kit.put(".git/config", "tests\n");
    kit.put("README.md", "# Tests\nRun the tests.\n");
    kit.put("src/main.rs", "fn main() {\n    run();\n}\n\n#[test]\nfn tests() {}\n");
    kit.put("src/deep/lib.rs", "pub fn run() {}\n");
    kit.put("src-old/main.rs", "fn main() {}\n");
    kit.put("target/out.rs", "fn main() {}\n");
    kit.put("build.log", "run\n");
    kit
}

async fn told(kit: &Kit, tool: &str, table: &[(Value, &str)]) {
    for (arguments, expected) in table {
        assert_eq!(kit.told(tool, arguments.clone()).await.content, *expected, "{tool} {arguments}");
    }
}

#[test]
fn what_looks_for_things_only_reads_and_says_where() {
    let kit = Kit::new();
    let inside = |path: &str| kit.workspace.join(path);
    let table = [
        ("list", json!({}), inside("")),
        ("list", json!({"path": "src"}), inside("src")),
        ("glob", json!({"pattern": "*.rs"}), inside("")),
        ("glob", json!({"pattern": "src/**/*.rs", "path": "a"}), inside("a/src/")),
        ("glob", json!({"pattern": "/etc/*.conf"}), "/etc/".into()),
        ("glob", json!({"pattern": "../*"}), inside("../")),
        ("grep", json!({"pattern": "a"}), inside("")),
        ("grep", json!({"pattern": "a", "path": "/etc"}), "/etc".into()),
        ("search", json!({"query": "a", "path": "src"}), inside("src")),
        ("search", json!({"query": "../*.rs", "type": "files"}), inside("../")),
        ("navigate", json!({"action": "outline", "path": "a.rs"}), inside("a.rs")),
    ];
    for (tool, arguments, path) in table {
        assert_eq!(kit.effects(tool, &arguments).unwrap(), [Effect::Read(path)], "{tool} {arguments}");
    }
}

// P-10
#[tokio::test]
async fn a_folder_is_listed_without_what_is_ignored() {
    let kit = project();
    symlink("src/main.rs", kit.workspace.join("link")).unwrap();
    symlink(".", kit.workspace.join("src/circle")).unwrap();
    let top = ".github/\n.gitignore  14 B\nREADME.md  23 B\nlink -> src/main.rs\nsrc/\nsrc-old/";
    let src = "circle -> .\ndeep/\n  lib.rs  16 B\nmain.rs  48 B";
    told(
        &kit,
        "list",
        &[
            (json!({}), top),
            (json!({"path": "."}), top),
            (json!({"path": kit.workspace}), top),
            (json!({"path": "src", "depth": 2}), src),
            (json!({"path": "src", "recursive": true}), src),
            (json!({"path": "src", "depth": 9, "ignore": ["deep", "circle"]}), "main.rs  48 B"),
            (json!({"path": "target", "all": true}), "out.rs  13 B"),
            (
                json!({"limit": 2}),
                ".github/\n.gitignore  14 B\n\n\
             [2 of 6 entries are shown; ask more narrowly, or continue with offset=2]",
            ),
            (json!({"limit": 2, "offset": 4}), "src/\nsrc-old/"),
            (json!({"offset": 9}), "[there are only 6 entries; use a smaller offset]"),
        ],
    )
    .await;
    // By the names and parameters of others.
    for (tool, arguments) in [
        ("LS", json!({"path": "src"})),
        ("list_directory", json!({"dir_path": "src"})),
        ("list_dir", json!({"target_directory": "src"})),
    ] {
        assert_eq!(kit.told(tool, arguments).await.content, "circle -> .\ndeep/\nmain.rs  48 B", "{tool}");
    }
    fs::create_dir(kit.workspace.join("bare")).unwrap();
    told(&kit, "list", &[(json!({"path": "bare"}), "There is nothing in `bare` that is not ignored.")]).await;
}

#[tokio::test]
async fn a_link_that_is_named_is_followed() {
    let kit = project();
    symlink("src", kit.workspace.join("alias")).unwrap();
    told(&kit, "list", &[(json!({"path": "alias"}), "deep/\nmain.rs  48 B")]).await;
    told(&kit, "glob", &[(json!({"pattern": "alias/**/m*.rs"}), "alias/main.rs")]).await;
    let found = "Found 1 match in 1 file\n\nalias/main.rs\n1:fn main() {";
    told(&kit, "grep", &[(json!({"pattern": "main", "path": "alias"}), found)]).await;
    told(&kit, "grep", &[(json!({"pattern": "main", "path": "./alias/main.rs"}), found)]).await;
}

// A folder outside the workspace is the policy's business.
#[tokio::test]
async fn another_folder_is_searched_by_its_absolute_path() {
    let (kit, other) = (Kit::new(), project());
    let src = other.workspace.join("src");
    let main = src.join("main.rs");
    told(&kit, "glob", &[(json!({"pattern": "main.rs", "path": src}), main.to_str().unwrap())]).await;
    let found = format!("Found 1 match in 1 file\n\n{}\n1:fn main() {{", main.display());
    told(&kit, "grep", &[(json!({"pattern": "main", "path": src}), &found)]).await;
    assert_eq!(kit.effects("grep", &json!({"pattern": "main", "path": src})).unwrap(), [Effect::Read(src)]);
}

// O-03, C-69
#[tokio::test]
async fn files_are_found_by_a_pattern_of_their_path() {
    let kit = project();
    told(&kit, "glob", &[
        (json!({"pattern": "*.rs"}), "src/deep/lib.rs\nsrc/main.rs\nsrc-old/main.rs"),
        (json!({"pattern": "**/*.rs", "path": "src"}), "src/deep/lib.rs\nsrc/main.rs"),
        (json!({"pattern": "src/*.rs"}), "src/main.rs"),
        (json!({"pattern": "*.{md,yml}"}), "README.md"),
        (json!({"pattern": ".github/*"}), ".github/ci.yml"),
        (json!({"pattern": "**/.git*"}), ".gitignore"),
        (json!({"pattern": "readme*", "ignore_case": true}), "README.md"),
        (json!({"pattern": "out.rs", "all": true}), "target/out.rs"),
        // A named folder is meant.
        (json!({"pattern": "target/*.rs"}), "target/out.rs"),
        (json!({"pattern": kit.workspace.join("src/*.rs")}), "src/main.rs"),
        (
            json!({"pattern": "*.py"}),
            "No files match `*.py` in the workspace. Hidden and ignored files were left out; `all` takes them in.",
        ),
        (
            json!({"pattern": "*.rs", "limit": 1, "offset": 1}),
            "src/main.rs\n\n[2 to 2 of 3 files are shown; ask more narrowly, or continue with offset=2]",
        ),
    ])
    .await;
    let output = kit.call("Glob", json!({"pattern": "*.rs"})).await.unwrap();
    assert_eq!(output.shown, Shown::Text("Found 3 files".into()));
    assert_eq!(output.details["files"], 3);
}

// O-03, C-69, P-09
#[tokio::test]
async fn lines_are_found_by_a_regular_expression() {
    let kit = project();
    let main = "src/main.rs";
    told(
        &kit,
        "grep",
        &[
            (
                json!({"pattern": "fn \\w+\\("}),
                "Found 4 matches in 3 files\n\n\
             src/deep/lib.rs\n1:pub fn run() {}\n\n\
             src/main.rs\n1:fn main() {\n6:fn tests() {}\n\n\
             src-old/main.rs\n1:fn main() {}",
            ),
            (
                json!({"pattern": "tests", "ignore_case": true, "path": "README.md"}),
                "Found 2 matches in 1 file\n\nREADME.md\n1:# Tests\n2:Run the tests.",
            ),
            (
                json!({"pattern": "run|test", "path": main, "context": 1}),
                "Found 3 matches in 1 file\n\nsrc/main.rs\n\
             1-fn main() {\n2:    run();\n3-}\n4-\n5:#[test]\n6:fn tests() {}",
            ),
            (
                json!({"pattern": "main|tests", "path": main, "-A": 1}),
                "Found 2 matches in 1 file\n\nsrc/main.rs\n1:fn main() {\n2-    run();\n--\n6:fn tests() {}",
            ),
            (
                json!({"pattern": "main|tests", "path": main, "-B": 1, "head_limit": 1}),
                "Found 2 matches in 1 file\n\nsrc/main.rs\n1:fn main() {\n\n\
             [1 of 2 matches are shown; ask more narrowly, or continue with offset=1]",
            ),
            (
                json!({"pattern": "main|tests", "path": main, "before": 1, "offset": 1}),
                "Found 2 matches in 1 file\n\nsrc/main.rs\n5-#[test]\n6:fn tests() {}",
            ),
            (json!({"pattern": "main", "output": "files"}), "Found 2 files\nsrc/main.rs\nsrc-old/main.rs"),
            (
                json!({"pattern": "main", "output_mode": "files_with_matches", "glob": "src/**"}),
                "Found 1 file\nsrc/main.rs",
            ),
            (
                json!({"pattern": "fn", "output_mode": "count", "include": "!*lib*"}),
                "Found 3 matches in 2 files\nsrc/main.rs:2\nsrc-old/main.rs:1",
            ),
            (
                json!({"pattern": "run", "type": "md", "-i": true}),
                "Found 1 match in 1 file\n\nREADME.md\n2:Run the tests.",
            ),
            (
                json!({"pattern": "run", "glob": ".github/*"}),
                "Found 1 match in 1 file\n\n.github/ci.yml\n1:run: tests",
            ),
            (json!({"pattern": "^run$", "all": true}), "Found 1 match in 1 file\n\nbuild.log\n1:run"),
            (
                json!({"pattern": "\\(\\) \\{\\n +run", "path": "src"}),
                "Found 1 match in 1 file\n\nsrc/main.rs\n1:fn main() {\n2:    run();",
            ),
            (
                json!({"pattern": "main.*run", "multiline": true, "output": "files"}),
                "Found 1 file\nsrc/main.rs",
            ),
            (json!({"pattern": "#[test]", "literal": true, "output": "files"}), "Found 1 file\nsrc/main.rs"),
            (
                json!({"pattern": "test", "word": true, "output": "count"}),
                "Found 1 match in 1 file\nsrc/main.rs:1",
            ),
            (
                json!({"pattern": "nowhere", "path": "src"}),
                "No matches for `nowhere` in `src`: 2 files searched. \
             Hidden and ignored files were left out; `all` takes them in.",
            ),
            (
                json!({"pattern": "nowhere", "path": main}),
                "No matches for `nowhere` in `src/main.rs`: 1 file searched.",
            ),
        ],
    )
    .await;
}

// C-67
#[tokio::test]
async fn people_see_how_much_was_found() {
    let kit = project();
    let table = [
        (json!({"pattern": "main"}), "Found 2 matches in 2 files"),
        (json!({"pattern": "deep|run\\(\\);"}), "Found 1 match in 1 file"),
        (json!({"pattern": "main", "output": "files"}), "Found 2 files"),
        (json!({"pattern": "nowhere"}), "Found no matches"),
    ];
    for (arguments, expected) in table {
        let output = kit.call("grep", arguments.clone()).await.unwrap();
        assert_eq!(output.shown, Shown::Text(expected.into()), "{arguments}");
    }
    let details = kit.call("grep", json!({"pattern": "main"})).await.unwrap().details;
    assert_eq!(details, json!({"matches": 2, "files": 2, "searched": 4, "shown": 2, "unreadable": 0}));
}

#[tokio::test]
async fn text_of_every_kind_is_searched() {
    let kit = Kit::new();
    kit.put("crlf", "one;\r\ntwo;\r\n");
    kit.put("latin", b"caf\xe9 one;\n");
    kit.put("mark", "\u{feff}one;\n");
    kit.put("nul", b"one;\n\0\n");
    kit.put("no-end", "Größe one;");
    kit.put("wide", [0xff, 0xfe, b'o', 0, b'n', 0, b'e', 0, b';', 0]);
    kit.put("empty", "");
    told(
        &kit,
        "grep",
        &[
            (
                json!({"pattern": "one;$"}),
                "Found 5 matches in 5 files\n\ncrlf\n1:one;\n\nlatin\n1:caf\u{fffd} one;\n\nmark\n1:one;\n\n\
             no-end\n1:Größe one;\n\nwide\n1:one;",
            ),
            (json!({"pattern": "gRÖßE \\w", "-i": true, "output": "files"}), "Found 1 file\nno-end"),
            (
                json!({"pattern": "one", "path": "nul"}),
                "No matches for `one` in `nul`: 1 file searched, 1 of them binary and left out.",
            ),
        ],
    )
    .await;
}

// X-21, B08
#[tokio::test]
async fn long_lines_and_many_matches_are_cut_with_a_note() {
    let find = FindSettings { results: 100, max_bytes: 200, longest_line: 20 };
    let kit = Kit::with(Settings { find, ..Settings::default() });
    kit.put("a", format!("{}here{}\n", "äö".repeat(5_000), "x".repeat(90)));
    kit.put("b", format!("here{}\n", "x".repeat(90)));
    let many: String = (1..=50).map(|number| format!("row {number}\n")).collect();
    kit.put("rows", &many);
    kit.put("zeros/rows", &many);
    let a = "Found 1 match in 1 file\n\na\n1:…öäöhere";
    let text = kit.told("grep", json!({"pattern": "here", "path": "a"})).await.content;
    assert!(text.starts_with("Found 1 match in 1 file\n\na\n1:…"), "{text}");
    assert!(text.contains("öhere") && text.ends_with("… [cut: this line has 20094 bytes]"), "{a} {text}");
    let page = kit.told("grep", json!({"pattern": "row"})).await.content;
    assert!(page.starts_with("Found 100 matches in 2 files\n\nrows\n1:row 1\n2:row 2\n"), "{page}");
    let note = "of 100 matches are shown; ask more narrowly, or continue with offset=";
    assert!(page.len() < 350 && page.contains(note), "{page}");
    let (mut offset, mut pages, mut rows) = (0, 0, 0);
    loop {
        let page = kit.told("grep", json!({"pattern": "row", "offset": offset})).await.content;
        rows += page.matches(":row ").count();
        pages += 1;
        let Some((_, next)) = page.split_once("continue with offset=") else { break };
        offset = next.trim_end_matches(']').parse().unwrap();
    }
    assert!(rows == 100 && pages > 3, "{rows} rows on {pages} pages");
}

#[tokio::test]
async fn the_same_tree_gives_the_same_page_every_time() {
    let kit = Kit::new();
    for number in 0..300 {
        kit.put(&format!("{}/{number}.txt", number % 7), "x\nx\n");
    }
    for (tool, arguments) in
        [("grep", json!({"pattern": "x", "limit": 9})), ("glob", json!({"pattern": "*", "limit": 9}))]
    {
        let first = kit.told(tool, arguments.clone()).await.content;
        for _ in 0..20 {
            assert_eq!(kit.told(tool, arguments.clone()).await.content, first);
        }
    }
}

// B12, B13, B40
#[tokio::test]
async fn nothing_in_a_tree_can_stop_a_search() {
    let kit = Kit::new();
    kit.put("a.txt", "found\n");
    kit.put("closed/b.txt", "found\n");
    kit.put("trap/c.txt", "found\n");
    symlink("/dev/zero", kit.workspace.join("zero")).unwrap();
    symlink(".", kit.workspace.join("circle")).unwrap();
    symlink("/dev/zero", kit.workspace.join("trap/.gitignore")).unwrap();
    for pipe in ["pipe", "closed/.ignore"] {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, kit.workspace.join(pipe), kind, mode, 0).unwrap();
    }
    fs::write(kit.workspace.join(OsStr::from_bytes(b"\xff.txt")), "found\n").unwrap();
    kit.put("line\nbreak.txt", "found\n");
    let files = "a.txt\nline\\nbreak.txt\n\u{fffd}.txt";
    let note = "\n[2 files or folders could not be read and were left out]";
    told(&kit, "glob", &[(json!({"pattern": "*.txt"}), &format!("{files}{note}"))]).await;
    told(
        &kit,
        "grep",
        &[(json!({"pattern": "found", "output": "files"}), &format!("Found 3 files\n{files}{note}"))],
    )
    .await;
    told(&kit, "list", &[(
        json!({"recursive": true}),
        &format!("a.txt  6 B\ncircle -> .\nline\\nbreak.txt  6 B\npipe  (no regular file)\nzero -> /dev/zero\n\u{fffd}.txt  6 B{note}"),
    )])
    .await;
    // Where the folder itself has such a list, it does without.
    told(&kit, "glob", &[(json!({"pattern": "trap/*.txt"}), "trap/c.txt")]).await;
}

// B40
#[tokio::test]
async fn what_may_not_be_read_is_counted() {
    let kit = Kit::new();
    kit.put("a.txt", "found\n");
    kit.put("closed/b.txt", "found\n");
    kit.put("secret.txt", "found\n");
    for path in ["closed", "secret.txt"] {
        fs::set_permissions(kit.workspace.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    if fs::read(kit.workspace.join("secret.txt")).is_ok() {
        // The superuser reads everything.
        return;
    }
    let note = "\n[2 files or folders could not be read and were left out]";
    told(
        &kit,
        "grep",
        &[(json!({"pattern": "found", "output": "files"}), &format!("Found 1 file\na.txt{note}"))],
    )
    .await;
    fs::set_permissions(kit.workspace.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
}

// C-44, B15
#[tokio::test]
async fn what_cannot_be_searched_is_an_error_with_a_hint() {
    let kit = project();
    symlink("/dev/zero", kit.workspace.join("zero")).unwrap();
    let table = [
        ("list", json!({"path": "scr"}), "cannot list `scr`: no such file", "did you mean `src`?"),
        (
            "list",
            json!({"path": "README.md"}),
            "cannot list `README.md`: it is a file, not a folder",
            "name its folder, or look into it with `read`",
        ),
        (
            "glob",
            json!({"pattern": "scr/*.rs"}),
            "cannot look for files in `scr/`: no such file",
            "did you mean `src`?",
        ),
        (
            "glob",
            json!({"pattern": "a[.rs"}),
            "cannot use `a[.rs` as a pattern of files: unclosed character class; missing ']'",
            "for example: `*.rs`, `src/**/*.{ts,tsx}`; a backslash takes a sign literally: `\\[`",
        ),
        (
            "grep",
            json!({"pattern": "x", "path": "src/mian.rs"}),
            "cannot search `src/mian.rs`: no such file",
            "did you mean `src/main.rs`?",
        ),
        (
            "grep",
            json!({"pattern": "x", "path": "zero"}),
            "cannot search `zero`: it is not a regular file",
            "",
        ),
        (
            "grep",
            json!({"pattern": "lost(and|"}),
            "cannot search for `lost(and|`: it is not a valid regular expression: unclosed group",
            "use a valid one, such as `class.*Test`; if it is meant literally: `lost\\(and\\|`",
        ),
        (
            "grep",
            json!({"pattern": "x", "type": "klingon"}),
            "cannot search files of type `klingon`: no such type is known",
            "use `glob` instead, e.g. `*.rs`",
        ),
    ];
    for (tool, arguments, message, hint) in table {
        let error = kit.call(tool, arguments.clone()).await.unwrap_err();
        let got = (error.kind, error.message.as_str(), error.hint.as_deref().unwrap_or_default());
        // The pattern is wrong, not what it is held against.
        let is_pattern = message.contains("regular expression");
        let kind = if is_pattern { ToolErrorKind::Validation } else { ToolErrorKind::User };
        assert_eq!(got, (kind, message, hint), "{tool} {arguments}");
    }
}

#[tokio::test]
async fn what_is_no_expression_is_searched_for_as_it_stands() {
    let kit = project();
    let expected = "Found 1 match in 1 file\n\nsrc/main.rs\n2:    run();\n\
                    [searched for as plain text: it is not a regular expression: unclosed group]";
    told(&kit, "grep", &[(json!({"pattern": "   run("}), expected)]).await;
}
