//! Where a reply is cut while it streams.
use haft_present::pieces::{Piece, Pieces};

fn pieces(text: &str, step: usize) -> Vec<Piece> {
    let mut pieces = Pieces::default();
    let chars: Vec<char> = text.chars().collect();
    let pushed = chars.chunks(step).flat_map(|chunk| pieces.push(&chunk.iter().collect::<String>()));
    let mut all: Vec<Piece> = pushed.collect();
    all.extend(pieces.finish());
    all
}

#[test]
fn a_part_ends_where_a_block_ends() {
    let table: [(&str, &[&str]); 7] = [
        ("one", &["one"]),
        ("one\n\ntwo\n", &["one\n\n", "two\n"]),
        ("- a\n\n  still a\n- b\n", &["- a\n\n  still a\n- b\n"]),
        (
            "text\n```rust\nfn a() {}\n\nfn b() {}\n```\nmore",
            &["text\n", "```rust\nfn a() {}\n\nfn b() {}\n```\n", "more"],
        ),
        ("````\n```\n````\nx", &["````\n```\n````\n", "x"]),
        ("a\n# b\nc", &["a\n", "# b\nc"]),
        ("```code``` is inline\n\nb\n", &["```code``` is inline\n\n", "b\n"]),
    ];
    for (text, expected) in table {
        let found: Vec<String> = pieces(text, 1).into_iter().map(|piece| piece.markdown).collect();
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn a_block_without_end_is_cut_at_lines_and_its_fence_opened_again() {
    let text = format!("```go\n{}```\n", "x\n".repeat(100));
    let found = pieces(&text, 7);
    assert!(found.len() > 2, "{found:?}");
    assert!(found.iter().all(|piece| piece.markdown.starts_with("```go\n")), "{found:?}");
    assert!(found[1..].iter().all(|piece| piece.continues));
    let lines: usize = found.iter().map(|piece| piece.markdown.matches("x\n").count()).sum();
    assert_eq!(lines, 100);
}

#[test]
fn nothing_is_lost_however_the_text_comes() {
    let text = "# a\n\n- b\n  - c\n\npara\nwith lines\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n".repeat(9);
    for step in [1, 3, 64, 10_000] {
        let all: String = pieces(&text, step).into_iter().map(|piece| piece.markdown).collect();
        assert_eq!(all, text, "{step}");
    }
}
