//! What of hostile text reaches a terminal.
use haft_present::safe::*;
use std::borrow::Cow;

// D15
#[test]
fn escape_sequences_do_not_reach_the_terminal() {
    let evil = "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{9b}2Jc\u{202e}d\te\nf\r";
    assert_eq!(text(evil), "a]52;c;ZXZpbA==b2Jcd\te\nf");
    assert!(matches!(text("plain ä\n"), Cow::Borrowed(_)));
    let line = serde_json::to_string(evil).unwrap();
    assert!(!json(&line).contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\r']));
    assert_eq!(serde_json::from_str::<String>(&json(&line)).unwrap(), evil);
    let hidden = "a\u{200b}\u{feff}b\u{e0041}";
    let line = serde_json::to_string(hidden).unwrap();
    assert_eq!(json(&line), r#""a\u200b\ufeffb\udb40\udc41""#);
    assert_eq!(serde_json::from_str::<String>(&json(&line)).unwrap(), hidden);
}

// D15
#[test]
fn names_that_differ_look_different() {
    let table = [
        ("a plain name ä漢", "a plain name ä漢"),
        ("one\ntwo\tthree\u{a0}four\u{3000}", "one two three four "),
        ("gpj.\u{202e}exe", "gpj.\\u{202e}exe"),
        ("a\u{2066}b\u{2069}c\u{61c}\u{200f}", "a\\u{2066}b\\u{2069}c\\u{61c}\\u{200f}"),
        ("ad\u{200b}min\u{200d}\u{2060}\u{feff}\u{ad}", "ad\\u{200b}min\\u{200d}\\u{2060}\\u{feff}\\u{ad}"),
        ("x\u{1b}]0;y\u{7}\u{9b}", "x\\u{1b}]0;y\\u{7}\\u{9b}"),
        ("tag\u{e0041}\u{3164}\u{115f}\u{2800}", "tag\\u{e0041}\\u{3164}\\u{115f}\\u{2800}"),
        ("👩\u{200d}💻 ❤\u{fe0f} done", "👩\u{200d}💻 ❤\u{fe0f} done"),
        ("👩\u{200d}x a\u{fe0f}", "👩\\u{200d}x a\\u{fe0f}"),
    ];
    for (text, expected) in table {
        assert_eq!(name(text), expected, "{text:?}");
    }
    assert!(matches!(name("plain"), Cow::Borrowed(_)));
}

// D60
#[test]
fn nothing_is_hidden_from_somebody_who_decides() {
    let table = [
        ("make all", "make all"),
        ("rm -rf x\n", "rm -rf x\\n"),
        ("a\nb", "a\\n\nb"),
        ("a\n\n \n\nb", "a\\n\\n \\n\\n\nb"),
        ("\n\nb", "\\n\\n\nb"),
        ("a\r\u{1b}[2K\u{7}b\t", "a\\r\\u{1b}[2K\\u{7}b\\t"),
        ("x\u{202e}y\u{200b}z\u{e0041}\u{a0}", "x\\u{202e}y\\u{200b}z\\u{e0041}\\u{a0}"),
        ("ä漢😀 \\n", "ä漢😀 \\n"),
    ];
    for (text, expected) in table {
        assert_eq!(visible(text), expected, "{text:?}");
    }
    let hiding = format!("rm -rf x\n{}echo ok{}; evil", "\n".repeat(45), " ".repeat(500));
    let shown = visible(&hiding);
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.ends_with("\necho ok[500 blanks]; evil"), "{shown}");
    assert_eq!(visible_lines("+a\t\r\n-\u{200b}\n"), "+a\t\\r\n-\\u{200b}\n");
    assert_eq!(visible_line("a\nb"), "a\\nb");
}
