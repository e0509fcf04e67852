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
fn a_sign_for_the_background_is_neither_an_operator_nor_a_handle() {
    let lines = [
        ("a & b", true),
        ("(a) &", true),
        ("if a; then b & fi", true),
        ("nohup a >log 2>&1 &", true),
        ("a && b", false),
        ("a >log 2>&1", false),
        ("a |& b", false),
        ("a &>log", false),
        ("echo 'a & b' \\&", false),
        ("echo $((1 & 2))", false),
    ];
    for (line, expected) in lines {
        assert_eq!(Line::read(line).deeds.contains(&Deed::Background), expected, "{line}");
    }
}

#[test]
fn a_line_may_be_as_long_and_as_deep_as_it_likes() {
    assert_eq!(runs(&"ls; ".repeat(20_000)).len(), 20_000);
    for line in ["$(", "(", "{ ", "\"$(", "if "].map(|open| open.repeat(30_000)) {
        assert!(!Line::read(&line).is_whole);
    }
}

#[test]
fn a_substitution_that_the_grammar_takes_for_text_is_found_and_told() {
    for line in [
        "cat <<E\na `reboot` b\nE",
        "cat <<-E\n\t`reboot`\n\tE",
        "cat <<E\n${x:-`reboot`}\nE",
        "cat <<E\n$x`reboot`\nE",
        "echo `echo \\`reboot\\``",
        "echo \"`echo \\`reboot\\``\"",
        "echo \"${x:-`reboot`}\" ${x/`reboot`/y}",
        "echo ${x#$(reboot)}",
        "echo ${x:-<(reboot)}",
    ] {
        assert!(!Line::read(line).is_whole, "{line}");
        assert!(runs(line).contains(&"reboot".into()), "{line}");
    }
    for line in [
        "cat <<'E'\na `reboot` $(reboot)\nE",
        "cat <<\\E\n`reboot`\nE",
        "cat <<E\na \\`reboot\\` <(reboot)\nE",
        "echo '`reboot`' $'`reboot`' \"\\`reboot\\` <(reboot)\" \\`",
        "awk '{ print $(NF) }' x # `reboot`",
        "[[ $x =~ ^(a|b)$ ]]; echo $((1 < (2)))",
    ] {
        assert!(Line::read(line).is_whole, "{line}");
        assert!(!runs(line).contains(&"reboot".into()), "{line}");
    }
}

#[test]
fn text_that_is_evaluated_is_code() {
    for line in [
        "x='a[$(reboot)]'; echo $((x))",
        "x='a['\\$'(reboot)]'; [[ x -eq 0 ]]",
        "x=$'a[$\\x28reboot)]'; echo ${PATH:x}",
        "read x <<<'a[`reboot`]'; let x",
        "for x in 'a[$(reboot)]'; do ((x)); done",
        "echo 'a[$(reboot)]' | while read x; do echo $[x]; done",
        "x='$(reboot)'; echo ${x@P}",
        "PS4='$(reboot)'; set -x; ls",
        "declare -i 'a[$(reboot)]=1'",
        "unset 'a[$(reboot)]'",
        "[ -v 'a[$(reboot)]' ]",
        "printf '-v' 'a[$(reboot)]' y",
        "printf -va[\\`reboot\\`] y",
        "cat <<E\n$(('$(reboot)'))\nE",
        "echo \"${x:-'$(reboot)'}\"",
    ] {
        assert!(!Line::read(line).is_whole, "{line}");
    }
    for line in [
        "git commit -m 'Explain `reboot`' && echo $HOME && printf 'run `reboot`\\n'",
        "git commit -m \"$(cat <<'E'\nUse `x`\nE\n)\"",
        "x=$(date); echo $((x + 1)) ${x:-$(date)} `date`",
        "for x in a b; do echo ${x%.rs}; done; [[ $x -eq 0 ]]",
    ] {
        assert!(Line::read(line).is_whole, "{line}");
    }
}

#[test]
fn a_here_document_ends_at_its_word_alone() {
    for body in ["E<<X\nE\na\nX", "E <<X\nE\na\nX", " E\nX\nE", "Ex\nE"] {
        assert!(!Line::read(&format!("cat <<E\n{body}")).is_whole, "{body}");
    }
    for line in ["cat <<'E'x\nE\ncat <<X\nEx\na\nX", "cat <<E\\\nO\nEO"] {
        assert!(!Line::read(line).is_whole, "{line}");
    }
    for line in ["cat <<E\nx E\nE", "cat <<-E >y\n\tx\n\tE\nls", "x=$(cat <<'E' | tr a b\n1\n\nE\n)"] {
        assert!(Line::read(line).is_whole, "{line}");
    }
}

#[test]
fn many_hidden_substitutions_are_no_work_without_end() {
    let nested = (0..8).fold("a".to_owned(), |inner, _| format!("cat <<E\n`{inner}` ${{x#$(b)}}\nE\n"));
    for line in [nested.repeat(50), "`\\`".repeat(30_000), "${x#`a`} ".repeat(10_000)] {
        assert!(!Line::read(&line).is_whole);
    }
}
