//! Random edits of random files: every byte outside an edit stays as it was.
use crate::kit::Kit;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A line without its end, and its end. The number makes each line different, so that it can be named by itself.
fn line() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let pieces: Vec<&[u8]> =
        vec![b"word", b"x", b" ", b"\t", "ü“é”".as_bytes(), b"\xe4\xff", b"\0", b"\x0c", b"$&", b"a\rb"];
    let text = prop::collection::vec(prop::sample::select(pieces), 0..4);
    let end = prop::sample::select(vec![&b"\n"[..], b"\r\n"]);
    (text, end).prop_map(|(text, end)| (text.concat(), end.to_vec()))
}

#[derive(Clone, Debug)]
struct File {
    lines: Vec<(Vec<u8>, Vec<u8>)>,
    mark: bool,
}

impl File {
    fn range(&self, lines: std::ops::Range<usize>) -> Vec<u8> {
        self.lines[lines].iter().flat_map(|(text, end)| [text.clone(), end.clone()].concat()).collect()
    }
    fn mark(&self) -> &'static [u8] {
        if self.mark { b"\xef\xbb\xbf" } else { b"" }
    }
    fn whole(&self) -> Vec<u8> {
        [self.mark().to_vec(), self.range(0..self.lines.len())].concat()
    }
    /// The file with `new` for the text of line `at`.
    fn with(&self, at: usize, new: &[u8]) -> Vec<u8> {
        let mut changed = self.clone();
        changed.lines[at].0 = new.to_vec();
        changed.whole()
    }
}

fn file() -> impl Strategy<Value = (File, usize)> {
    let lines = prop::collection::vec(line(), 1..12);
    let made = (lines, any::<bool>(), any::<bool>()).prop_map(|(mut lines, mark, open)| {
        for (number, (text, _)) in lines.iter_mut().enumerate() {
            text.extend_from_slice(format!("<{number}>").as_bytes());
        }
        if open {
            lines.last_mut().unwrap().1.clear();
        }
        File { lines, mark }
    });
    made.prop_flat_map(|file| {
        let count = file.lines.len();
        (Just(file), 0..count)
    })
}

fn after(file: &File, tool: &str, arguments: Value) -> Vec<u8> {
    thread_local!(static KIT: Kit = Kit::new());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    KIT.with(|kit| {
        kit.put("a", file.whole());
        let told = runtime.block_on(kit.told(tool, arguments));
        assert!(told.is_ok(), "{}", told.content);
        kit.get("a")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    // B18 to B20, B24 to B26
    #[test]
    fn an_edit_changes_what_it_names((file, at) in file()) {
        let old = format!("<{at}>");
        let text = &file.lines[at].0;
        let new = [&text[..text.len() - old.len()], b"$1 new"].concat();
        let edit = json!({"path": "a", "old_text": old, "new_text": "$1 new"});
        prop_assert_eq!(after(&file, "edit", edit), file.with(at, &new));
    }

    #[test]
    fn an_edit_over_line_ends_keeps_them((file, at) in file()) {
        prop_assume!(at + 1 < file.lines.len());
        let end = |at: usize| format!("<{at}>\n");
        let (text, next) = (&file.lines[at].0, &file.lines[at + 1].0);
        let Ok(next) = std::str::from_utf8(next) else { return Ok(()) };
        let mut expected = file.clone();
        expected.lines[at].0 = [&text[..text.len() + 1 - end(at).len()], b"new"].concat();
        expected.lines[at + 1].0 = b"other".to_vec();
        let edit = json!({"path": "a", "old_text": end(at) + next, "new_text": "new\nother"});
        prop_assert_eq!(after(&file, "edit", edit), expected.whole());
    }

    #[test]
    fn several_edits_change_what_they_name((file, at) in file()) {
        let mut expected = file.clone();
        let mut edits = Vec::new();
        for line in [0, at] {
            let old = format!("<{line}>");
            if !expected.lines[line].0.ends_with(old.as_bytes()) { continue }
            let keep = expected.lines[line].0.len() - old.len();
            expected.lines[line].0.truncate(keep);
            edits.push(json!({"old_text": old, "new_text": ""}));
        }
        prop_assert_eq!(after(&file, "multi_edit", json!({"path": "a", "edits": edits})), expected.whole());
    }

    #[test]
    fn lines_change_by_number((file, at) in file(), also in 0..3_usize) {
        let last = (at + also).min(file.lines.len() - 1);
        let edit = json!({"path": "a", "action": "replace", "start": at + 1, "end": last + 1, "text": "new"});
        let mut expected = file.clone();
        let (_, end) = expected.lines[last].clone();
        // What comes ends as the first of what went did, if that line had an end and others come after it.
        let first = file.lines[at].1.clone();
        let end = if end.is_empty() { end } else { first };
        expected.lines.splice(at..=last, [(b"new".to_vec(), end)]);
        prop_assert_eq!(after(&file, "code_edit", edit), expected.whole());
        let mut expected = file.clone();
        expected.lines.drain(at..=last);
        let edit = json!({"path": "a", "action": "delete", "lines": format!("{}:{}", at + 1, last + 1)});
        prop_assert_eq!(after(&file, "code_edit", edit), expected.whole());
    }

    #[test]
    fn a_patch_changes_the_lines_that_it_takes((file, at) in file()) {
        let readable = |line: &[u8]| std::str::from_utf8(line).ok().filter(|line| !line.contains('\r')).map(str::to_owned);
        let Some(old) = readable(&file.lines[at].0) else { return Ok(()) };
        let above = at.checked_sub(1).and_then(|above| readable(&file.lines[above].0));
        let context = above.map(|above| format!(" {above}\n")).unwrap_or_default();
        let patch = format!("*** Begin Patch\n*** Update File: a\n@@\n{context}-{old}\n+new\n*** End Patch");
        let mut expected = file.clone();
        let first = file.lines.iter().flat_map(|(text, end)| [text.contains(&b'\r').then(|| b"\r".to_vec()), Some(end.clone())]);
        let first = first.flatten().find(|end| !end.is_empty()).unwrap_or(b"\n".to_vec());
        expected.lines[at] = (b"new".to_vec(), first);
        prop_assert_eq!(after(&file, "apply_patch", json!({"patch": patch})), expected.whole());
    }
}
