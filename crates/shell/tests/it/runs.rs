//! [`Runs`]: commands that a line runs, also those inside others.
use haft_shell::Runs;

/// Whether a rule `touch *` may be about what the line runs: by a command, by a text, or since it does not tell.
fn may_touch(line: &str) -> bool {
    let runs = Runs::of(line);
    let is_command = runs.commands.iter().any(|command| command.may_be(&["touch"], true));
    is_command || !runs.is_whole || runs.texts.iter().any(|text| Runs::mentions(text, &["touch"]))
}

#[test]
fn what_a_line_may_run_is_found_in_all_that_a_shell_reads() {
    let table = [
        "touch x",
        "true; touch x",
        "(touch x)",
        "{ touch x; }",
        "! touch x",
        "if true; then touch x; fi",
        "for i in 1 2; do touch $i; done",
        "f() { touch x; }; f",
        "case a in a) touch x;; esac",
        "a && b || touch x &",
        "echo $(touch x)",
        "echo `touch x`",
        "X=$(touch x)",
        "[[ -n $(touch x) ]]",
        "echo $(( $(touch x) + 1 ))",
        "cat <(touch x)",
        "cat <<E\n$(touch x)\nE",
        "cat <<E\n`touch x`\nE",
        "echo `echo \\`touch x\\``",
        "echo ${x#$(touch x)}",
        "test -v 'a[$(touch x)]'",
        "printf -v 'a[`touch x`]' y",
        "read 'a[$(touch x)]' <y",
        "unset 'a[$(touch x)]'",
        "declare 'a[$(touch x)]=1'",
        ">log touch x",
        "a >log 2>&1; touch x",
        "'tou'\"ch\" x",
        "\\touch x",
        "to\\\nuch x",
        "$'touch' x",
        "/usr/bin/touch x",
        "~/bin/touch x",
        "A=1 touch x",
        "time touch x",
        "coproc touch x",
        "exec touch x",
        "command -- touch x",
        "builtin command touch x",
        "env -i A=1 touch x",
        "env -u A -S 'touch x'",
        "env --split-string='touch x'",
        "env -iS 'touch x'",
        "env -vS'touch x'",
        "env --split 'touch x'",
        "nohup nice -n 5 setsid touch x",
        "timeout -k 1 5 touch x",
        "sudo -u me touch x",
        "xargs touch",
        "echo x | xargs -n1 -I% touch %",
        "xargs -I% sh -c '% x'",
        "xargs -I% %",
        "xargs env",
        "parallel touch ::: x",
        "flock f touch x",
        "flock f -c 'touch x'",
        "busybox touch x",
        "sh -c 'touch x'",
        "bash -lc 'true; touch x'",
        "bash -o pipefail -c 'touch x'",
        "sh -c '\"$@\"' sh touch x",
        "sh -c 'sh -c \"sh -c touch\"'",
        "echo touch x | sh",
        "sh <<E\ntouch x\nE",
        "bash -s < file",
        "bash <(echo touch x)",
        "bash -c \"$line\"",
        "sh /dev/stdin < file",
        ". <(echo touch x)",
        "source /dev/stdin",
        "eval touch x",
        "eval 'touch' \"x\"",
        "eval \"$line\"",
        "trap 'touch x' EXIT",
        "alias t='touch x'",
        "hash -p /usr/bin/touch t; t x",
        "t=touch; $t x",
        "${t} x",
        "$(echo touch) x",
        "t?uch x",
        "{touch,x}",
        "find . -exec touch {} ;",
        "find . -type f -execdir sh -c 'touch \"$1\"' _ {} +",
        "find . -exec {} \\;",
        "fd -x touch",
        "git bisect run touch x",
        "git submodule foreach 'touch x'",
        "git rebase --exec 'touch x' main",
        "git -c alias.x='!touch x' x",
        "watch -n1 'touch x'",
        "awk 'BEGIN { system(\"tou\" \"ch x\") }'",
        "sed '1e touch x' file",
        "vim -c '!touch x' file",
        "tar --to-command='touch x' -xf a",
        "python3 -c 'import os'",
        "python3 - <<E\nprint(1)\nE",
        "cat x | python3",
        "perl -ne 'print'",
        "ruby -e 'x'",
        "node --eval=x",
        "deno eval x",
        "PAGER='touch x' git log",
        "export GIT_SSH_COMMAND='touch x'; git fetch",
        "uv run touch x",
        "npm exec -- touch x",
        "docker run --rm a touch x",
        "ssh host touch x",
        "npx -c 'touch x'",
        "make -f - <file",
        "make --eval='a:; touch x'",
        "echo '!touch x' | ed file",
        "crontab -",
        "touch 'x",
        "if",
    ];
    let missed: Vec<_> = table.into_iter().filter(|line| !may_touch(line)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn what_only_speaks_of_a_command_does_not_run_it() {
    let table = [
        "echo touch x",
        "echo 'a; touch x'",
        "env echo 'a; touch x'",
        "printf '%s\\n' \"touch x\" >notes",
        "grep -rn 'touch x' src | sort -u",
        "git commit -m 'touch x'",
        "git log --format=%s touch",
        "cat touch; ls touch/",
        "cat <<'E'\n$(touch x)\nE",
        "# touch x\nls",
        "cargo test -p a --features b,c -- --test-threads=1 touch_up",
        "for f in *.rs; do wc -l \"$f\"; done",
        "cd sub && make -j4 2>&1 | tail -n 20",
        "ls -la $HOME \"$x\" ${y:-z} *.c",
        "find . -name '*.rs' -newer touch",
        "find . -name '*.rs' -exec grep -l main {} +",
        "find . -type f | xargs grep -n main",
        "xargs -I% cp % dest/%",
        "python3 script.py -c touch",
        "python3 -m pytest -x tests",
        "node build.js --print",
        "bash build.sh touch",
        "npm run build; docker ps; uv run pytest -k 'a or b'",
        "RUST_LOG=a,b make all",
        "bash --version; python3 --version",
        "awk '{ print $1 }' file",
        "sed -i 's/a/b/' file",
        "timeout 5 cargo build",
        "sudo apt-get install -y python3 bash",
        "docker pull python",
        "if [ -f x ]; then echo y; else exit 1; fi",
        "A=$(git rev-parse HEAD); echo \"$A\"",
        "[[ $x == y ]] && (( 1 + 1 ))",
        "while read -r line; do echo \"$line\"; done <file",
        "function f { ls; }; f",
        "~/.cargo/bin/cargo test",
        "test -n \"$(git status --porcelain)\"",
        "cat >file <<'E'\nlet x = touch;\nE",
        "",
    ];
    let wrong: Vec<_> = table.into_iter().filter(|line| may_touch(line)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_line_only_reads_where_all_its_programs_are_known_to() {
    let table = [
        ("cat a b | grep -c x", true),
        ("ls -la \"$d\" 2>&1", true),
        ("cd sub && sed -n 10,20p a.rs", true),
        ("git log --oneline -5; git --no-pager show HEAD", true),
        ("find . -name '*.rs' -exec grep -l main {} +", true),
        ("find . -type f | xargs -n1 wc -l", true),
        ("timeout 5 sh -c 'sleep 1; echo done' 2>/dev/null", true),
        ("for f in *.rs; do head -n1 \"$f\"; done", true),
        ("echo $(cat a) >&2", true),
        ("sort -u a | uniq -c | awk '{ print $2 }'", true),
        ("uniq a b", false),
        ("awk '{ print > \"b\" }' a", false),
        ("echo a >b", false),
        ("echo a >1", false),
        ("echo a >>b", false),
        ("echo a &>b", false),
        ("cat <<E >b\nx\nE", false),
        ("echo $(touch x)", false),
        ("sort -uo b a", false),
        ("sort --output=b a", false),
        ("sort $x", false),
        ("find . -delete", false),
        ("find . -exec rm {} +", false),
        ("ls | xargs touch", false),
        ("ls | xargs find", false),
        ("sed -i s/a/b/ f", false),
        ("sed -n 's/a/b/w f' g", false),
        ("git status", false),
        ("git show --output=x", false),
        ("tee a", false),
        ("./script", false),
        ("cargo test", false),
        ("$x", false),
        ("eval ls", false),
        ("f() { touch x; }; ls", false),
        ("if", false),
    ];
    for (line, expected) in table {
        assert_eq!(Runs::of(line).only_reads, expected, "{line}");
    }
}

#[test]
fn a_word_that_a_shell_replaces_may_be_what_a_rule_is_about() {
    let is = |line: &str, words: &[&str], more: bool| {
        Runs::of(line).commands.iter().any(|command| command.may_be(words, more))
    };
    let table = [
        ("rm $x", "rm -rf *", true),
        ("rm *", "rm -rf *", true),
        ("rm src/*.o", "rm -rf *", false),
        ("rm -r$x y", "rm -rf *", true),
        ("git push$x", "git push *", true),
        ("git \"$x\" push", "git push *", true),
        ("git status $x", "git push *", false),
        ("xargs git", "git push *", true),
        ("make $x", "make", true),
        ("make all", "make", false),
        (">out git push origin", "git push *", true),
        ("git >out push origin", "git push *", true),
        ("git 2>&1 push", "git push *", true),
        ("git push<in", "git push *", true),
        ("cat <<E push\nx\nE", "cat push", true),
        ("git pushx", "git push *", false),
    ];
    for (line, rule, expected) in table {
        let (words, more) = (rule.strip_suffix(" *").unwrap_or(rule), rule.ends_with('*'));
        assert_eq!(is(line, &words.split(' ').collect::<Vec<_>>(), more), expected, "{line} / {rule}");
    }
}

#[test]
fn a_line_that_is_too_long_or_too_deep_may_run_anything() {
    let nested = |depth: usize| (0..depth).fold("ls".to_owned(), |line, _| format!("eval {line}"));
    let long = [format!("env {} ls", "A=1 ".repeat(300)), "ls; ".repeat(40_000), "$(".repeat(30_000)];
    for line in long.into_iter().chain([nested(9)]) {
        assert!(!Runs::of(&line).is_whole, "{}", &line[..20]);
    }
    assert!(Runs::of(&nested(3)).is_whole && Runs::of(&"ls; ".repeat(5_000)).is_whole);
}
