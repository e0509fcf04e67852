//! Tests of `conversation/clip.rs`, through the public names.
use haft_core::clip::*;
use proptest::prelude::*;

fn clip(lines: usize, bytes: usize, keep: Keep, text: &str) -> String {
    Clip { lines, bytes, keep }.apply(text, "")
}

proptest! {
    // C-43: Latin letters count a quarter, whatever they take in bytes; what lies behind them counts whole.
    #[test]
    fn tokens_are_counted_by_characters(text in "[a-zé\u{2ff}\u{300}日\u{1f600}\n]{0,40}") {
        let wide = text.chars().filter(|letter| *letter > '\u{2ff}').count();
        prop_assert_eq!(tokens(&text), (text.chars().count() - wide).div_ceil(4) + wide);
    }
}

//
#[test]
fn long_text_keeps_its_ends_and_says_what_is_missing() {
    let table = [
        ("fits", clip(2, 9, Keep::Both, "a\nb\n"), "a\nb\n"),
        ("empty", clip(0, 0, Keep::Both, ""), ""),
        (
            "too many lines, head",
            clip(2, 99, Keep::Head, "a\nb\nc\nd"),
            "a\nb\n[3 bytes, 1 lines left out]\n",
        ),
        (
            "too many lines, tail",
            clip(2, 99, Keep::Tail, "a\nb\nc\nd\n"),
            "[4 bytes, 2 lines left out]\nc\nd\n",
        ),
        ("both ends", clip(2, 99, Keep::Both, "a\nb\nc\nd\n"), "a\n[4 bytes, 2 lines left out]\nd\n"),
        ("one long line", clip(9, 4, Keep::Both, "abcdefgh"), "ab\n[4 bytes, 0 lines left out]\ngh"),
        ("cut between characters", clip(9, 5, Keep::Head, "äöü"), "äö\n[2 bytes, 0 lines left out]\n"),
    ];
    for (what, got, expected) in table {
        assert_eq!(got, expected, "{what}");
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_unsaid(text in "[aä\n]{0,60}", lines in 0usize..9, bytes in 0usize..30) {
        for keep in [Keep::Head, Keep::Tail, Keep::Both] {
            let clipped = Clip { lines, bytes, keep }.split(&text);
            prop_assert_eq!(clipped.head.len() + clipped.missing_bytes + clipped.tail.len(), text.len());
            let whole = clipped.missing_bytes == 0;
            prop_assert!(whole || clipped.head.len() + clipped.tail.len() <= bytes);
            prop_assert!(text.starts_with(clipped.head) && text.ends_with(clipped.tail));
        }
    }
}
