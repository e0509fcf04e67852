//! [`Line`]: programs with their words, of what a shell would run.
use haft_shell::{Deed, Line};

fn runs(line: &str) -> Vec<String> {
    let runs = Line::read(line).deeds.into_iter().filter_map(|deed| match deed {
        Deed::Run(words) => Some(words.into_iter().map(|word| word.text).collect::<Vec<_>>().join("|")),
        _ => None,
    });
    runs.collect()
}

#[test]
fn programs_and_their_words_are_those_that_a_shell_would_run() {
    let table: [(&str, &[&str]); 14] = [
        ("echo \"a; reboot now\"", &["echo|a; reboot now"]),
        ("echo 'x' y; ls -l", &["echo|x|y", "ls|-l"]),
        ("A=1 B=2 make all >log 2>&1", &["make|all"]),
        ("'re'\"bo\"ot \\r\\m $'\\x72\\155' \"a \\\"b\\\" \\c $x\"", &["reboot|rm|rm|a \"b\" \\c $x"]),
        ("a && b || c | d & e", &["a", "b", "c", "d", "e"]),
        ("for i in 1 2; do x $i; done", &["x|$i"]),
        ("if a; then b; else c; fi; while d; do e; done", &["a", "b", "c", "d", "e"]),
        ("f() { g; }; (h); { i; }", &["g", "h", "i"]),
        (
            "echo $(a `b`) ${x:-$(c)} \"$(d)\" <(e)",
            &["echo|$(a `b`)|${x:-$(c)}|$(d)|<(e)", "a|`b`", "b", "c", "d", "e"],
        ),
        ("cat <<E\n$(a)\nreboot\nE\nb", &["cat", "a", "b"]),
        ("cat <<'E'\n$(a)\nE", &["cat"]),
        ("case $x in a) b;; esac", &["b"]),
        ("# reboot\nls", &["ls"]),
        ("", &[]),
    ];
    for (line, expected) in table {
        assert_eq!(runs(line), expected, "{line}");
    }
}

#[test]
fn a_line_may_be_as_long_and_as_deep_as_it_likes() {
    assert_eq!(runs(&"ls; ".repeat(20_000)).len(), 20_000);
    for line in ["$(", "(", "{ ", "\"$(", "if "].map(|open| open.repeat(30_000)) {
        assert!(!Line::read(&line).is_whole);
    }
}
