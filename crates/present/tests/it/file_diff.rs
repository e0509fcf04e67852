//! What a change does to a file, line by line.
use haft_present::file_diff::{DiffLine, hunks};

fn told(before: &str, after: &str) -> Vec<String> {
    let number = |number: Option<usize>| number.map_or("-".to_owned(), |number| number.to_string());
    let part = |(is_other, text): &(bool, String)| match is_other {
        true => format!("[{text}]"),
        false => text.clone(),
    };
    let line = |line: &DiffLine| {
        let parts: String = line.parts.iter().map(part).collect();
        format!("{} {} {parts}", number(line.old), number(line.new))
    };
    hunks(before, after).iter().flatten().map(line).collect()
}

#[test]
fn lines_have_their_numbers_and_what_differs_in_them_is_marked() {
    let ends = "- - \\ no line break at the end of the file";
    let table: [(&str, &str, &[&str]); 5] = [
        (
            "a\nreturn x - y\nb\n",
            "a\nreturn x + y\nb\n",
            &["1 1 a", "2 - return x [-] y", "- 2 return x [+] y", "3 3 b"],
        ),
        ("", "one\ntwo\n", &["- 1 one", "- 2 two"]),
        ("one\n", "", &["1 - one"]),
        ("a", "a\n", &["1 - a", ends, "- 1 a"]),
        ("x y\r\n", "x y\u{202e}\n", &["1 - x [y]\\r", "- 1 x [y\\u{202e}]"]),
    ];
    for (before, after, expected) in table {
        assert_eq!(told(before, after), expected, "{before:?} {after:?}");
    }
}
