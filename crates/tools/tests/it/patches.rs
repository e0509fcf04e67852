//! `apply_patch`: how a patch is read and placed.
use crate::kit::Kit;
use serde_json::json;

/// Files by their names, and what they hold.
type Files = &'static [(&'static str, &'static str)];

#[tokio::test]
async fn a_patch_is_read_as_its_grammar_says() {
    let table: [(&str, Files, Files); 11] = [
        ("*** Add File: a\n+x\n+\n*** Delete File: b", &[("b", "1\n")], &[("a", "x\n\n")]),
        ("*** Add File: a", &[], &[("a", "")]),
        ("*** Update File: a\n@@\n x\n-y\n+z", &[("a", "x\ny\n")], &[("a", "x\nz\n")]),
        ("*** Update File: a\n x\n-y", &[("a", "x\ny\n")], &[("a", "x\n")]),
        ("*** Update File: a\n*** Move to: b/c\n", &[("a", "1\n")], &[("b/c", "1\n")]),
        (
            "*** Update File: a\n@@ class A\n@@  def f():\n+x",
            &[("a", "class B\n def f():\nclass A\n def f():\n  y\n")],
            &[("a", "class B\n def f():\nclass A\n def f():\nx\n  y\n")],
        ),
        (
            "*** Update File: a\n@@\n-w\n+x\n@@ y\n-z\n*** End of File",
            &[("a", "w\nz\ny\nz\n1\nz\n")],
            &[("a", "x\nz\ny\nz\n1\n")],
        ),
        ("*** Update File: a\n@@\n x\n\n+y", &[("a", "x\n\n1\n")], &[("a", "x\n\ny\n1\n")]),
        (
            "*** Update File: a\n@@ -1,2 +1 @@ f()\n-x\n@@ -9 +8\n-y",
            &[("a", "x\nf()\nx\ny\n")],
            &[("a", "x\nf()\n")],
        ),
        (
            "  *** Update File:   a b  \n-x\n\n*** Delete File: b",
            &[("a b", "x\n1\n"), ("b", "")],
            &[("a b", "1\n")],
        ),
        (
            "*** Update File: a\n *** End Patch\n-x",
            &[("a", "*** End Patch\nx\n")],
            &[("a", "*** End Patch\n")],
        ),
    ];
    for (patch, before, after) in table {
        let kit = Kit::new();
        before.iter().for_each(|(name, content)| kit.put(name, content));
        kit.call("apply_patch", json!({"patch": patch})).await.unwrap();
        for (name, content) in after {
            assert_eq!(kit.get(name), content.as_bytes(), "{patch:?}");
        }
        let is_left = |name: &str| after.iter().any(|(left, _)| *left == name);
        for (name, _) in before.iter().filter(|(name, _)| !is_left(name)) {
            assert!(!kit.workspace.join(name).exists(), "{patch:?}");
        }
    }
}

#[tokio::test]
async fn a_patch_that_is_invalid_is_told_with_its_line() {
    let kit = Kit::new();
    let table = [
        ("*** Update File: a\n\n*** Delete File: b", "line 1: this update has no lines"),
        (
            "*** Update File: a\n@@\n+x\n*** Frob: b",
            "line 4: each line of a hunk begins with a blank, `-` or `+`",
        ),
        ("*** Update File: a\n@@ x", "line 2: this hunk has no lines"),
        ("*** Add File: a\nx", "line 2: each line of an added file begins with `+`"),
        ("*** Delete File:", "line 1: it names no file"),
        ("", "its first line is not `*** Begin Patch`"),
        ("bad", "its first line is not `*** Begin Patch`"),
        ("*** Begin Patch\n*** End Patch", "it changes no file"),
        ("*** Begin Patch\n*** Delete File: a", "its last line is not `*** End Patch`"),
        ("*** Delete File: a\n*** End Patch", "its first line is not `*** Begin Patch`"),
        (
            "*** Begin Patch\n*** Frob: a\n*** End Patch",
            "line 2: `*** Frob: a` is none of `*** Add File: …`, `*** Update File: …`, `*** Delete File: …`",
        ),
    ];
    for (patch, expected) in table {
        let told = kit.told("apply_patch", json!({"patch": patch})).await;
        let expected = format!("error: cannot read the patch: {expected}\nhint: for example:");
        assert!(told.content.starts_with(&expected), "{patch:?}: {}", told.content);
    }
}

#[tokio::test]
async fn what_stands_around_a_patch_is_forgiven_if_it_is_whole() {
    let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
    let windows = patch.replace('\n', "\r\n");
    let forgiven = [
        patch.to_owned(),
        format!("\n\n{patch}\n\n"),
        " *** Begin Patch \n*** Delete File: a\n *** End Patch\t\n".to_owned(),
        format!("<<'EOF'\n{patch}\nEOF"),
        format!("apply_patch <<-\"X\"\n{patch}\nX\n"),
        format!("```diff\n{patch}\n```"),
        format!("bash -lc 'apply_patch <<\"EOF\"\n{patch}\nEOF\n'"),
        format!("/bin/sh -c \"apply_patch <<'EOF'\n{patch}\nEOF\""),
        format!("apply_patch \"{patch}\""),
        format!("zsh -lc \"apply_patch '{patch}'\""),
        serde_json::to_string(&["apply_patch", patch]).unwrap(),
        serde_json::to_string(&["bash", "-lc", &format!("apply_patch <<'EOF'\n{patch}\nEOF\n")]).unwrap(),
        windows,
    ];
    let kit = Kit::new();
    for patch in forgiven {
        kit.put("a", "");
        kit.call("apply_patch", json!({"patch": patch})).await.unwrap();
        assert!(!kit.workspace.join("a").exists(), "{patch:?}");
    }
    let written = "bash -lc \"apply_patch <<'EOF'\n*** Add File: a\n+say \\\"hi\\\" for \\$5\nEOF\"";
    kit.call("apply_patch", json!({"patch": written})).await.unwrap();
    assert_eq!(kit.get("a"), b"say \"hi\" for $5\n");
    kit.put("b c/a", "");
    let elsewhere = format!("cd 'b c' && apply_patch <<EOF\n{patch}\nEOF");
    kit.call("apply_patch", json!({"patch": elsewhere})).await.unwrap();
    assert!(!kit.workspace.join("b c/a").exists() && kit.workspace.join("a").exists());
}

#[tokio::test]
async fn a_hunk_that_stands_nowhere_is_named() {
    let kit = Kit::new();
    kit.put("a", "a\nb\nc\n");
    let (missing, above) =
        ("its lines are not in the file", "its lines stand above the end of the hunk before it");
    let table = [
        ("@@\n-x\n+y", 1, missing),
        ("@@\n-b\n@@\n-a", 2, above),
        ("@@ z\n+y", 1, missing),
        ("@@\n a\n+x\n b\n@@\n b\n-c", 2, above),
        ("@@\n-a\n*** End of File", 1, "its lines are not at the end of the file"),
    ];
    for (hunks, hunk, why) in table {
        let patch = format!("*** Update File: a\n{hunks}");
        let told = kit.told("apply_patch", json!({"patch": patch})).await.content;
        assert!(
            told.starts_with(&format!("error: cannot update `a`: hunk {hunk} (line ")),
            "{hunks:?}: {told}"
        );
        assert!(told.contains(why), "{hunks:?}: {told}");
        assert_eq!(kit.get("a"), b"a\nb\nc\n", "{hunks:?}");
    }
}
