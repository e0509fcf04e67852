//! Tests of `policy.rs`, through the public names.
use haft_core::Effect;
use haft_core::*;
use std::path::Path;

fn policy(rules: &[(Ruling, &str)], mode: Mode) -> Policy {
    let rules = rules.iter().map(|(ruling, rule)| Rule::parse(*ruling, rule).unwrap()).collect();
    Policy { rules, mode }
}
/// In a workspace `/w` that holds the bare repository `/w/bare`, beside `/store`.
fn judged(policy: &Policy, effects: &[Effect]) -> Verdict {
    let repositories = ["/w/bare", "/store"].map(Path::new);
    policy.judge(effects, Path::new("/w"), &|folder| repositories.contains(&folder))
}
fn verdict(rules: &[(Ruling, &str)], mode: Mode, effect: Effect) -> &'static str {
    match judged(&policy(rules, mode), &[effect]) {
        Verdict::Allow => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Deny { .. } => "deny",
    }
}
fn read(path: &str) -> Effect {
    Effect::Read(path.into())
}
fn write(path: &str) -> Effect {
    Effect::Write(path.into())
}
fn execute(command: &str) -> Effect {
    Effect::execute(command)
}

// X-23, O-40, C-72
#[test]
fn the_mode_settles_what_no_rule_does() {
    use Mode::{AcceptEdits, Ask, Full, ReadOnly};
    let table = [
        (read("a"), ["allow", "allow", "allow", "allow"]),
        (read(".git/config"), ["allow", "allow", "allow", "allow"]),
        (read("/etc/passwd"), ["deny", "ask", "ask", "allow"]),
        (read("../x"), ["deny", "ask", "ask", "allow"]),
        (write("a"), ["deny", "ask", "allow", "allow"]),
        (write("/w/../etc/x"), ["deny", "ask", "ask", "allow"]),
        (write(".git/commondir"), ["deny", "ask", "ask", "allow"]),
        (write("sub/.GIT"), ["deny", "ask", "ask", "allow"]),
        (write("new/HEAD"), ["deny", "ask", "ask", "allow"]),
        (write("bare/config"), ["deny", "ask", "ask", "allow"]),
        (write("bare/hooks/pre-push"), ["deny", "ask", "ask", "allow"]),
        (write("bare.txt"), ["deny", "ask", "allow", "allow"]),
        (execute("ls"), ["deny", "ask", "ask", "allow"]),
        (Effect::Network("http://x/".into()), ["deny", "ask", "ask", "allow"]),
    ];
    for (effect, expected) in table {
        let got = [ReadOnly, Ask, AcceptEdits, Full].map(|mode| verdict(&[], mode, effect.clone()));
        assert_eq!(got, expected, "{effect}");
    }
}

/// Rules that allow are for the work; those that ask or deny hold for its plan, too.
#[test]
fn a_plan_may_need_what_changes_nothing() {
    let rules = [
        (Ruling::Deny, "execute:cargo publish *"),
        (Ruling::Ask, "read:secret"),
        (Ruling::Allow, "read:/etc/*"),
        (Ruling::Allow, "write:**"),
        (Ruling::Allow, "execute:cargo *"),
        (Ruling::Allow, "network:docs.rs"),
    ];
    let table = [
        (read("a"), "allow"),
        (read("secret"), "ask"),
        (read("/etc/passwd"), "allow"),
        (read("/var/x"), "deny"),
        (write("a"), "deny"),
        (write("/etc/passwd"), "deny"),
        (execute("cargo test"), "deny"),
        (execute("cargo test").confined(), "allow"),
        (execute("make").confined(), "allow"),
        (execute("cargo publish x").confined(), "deny"),
        (Effect::execute_in("make", "/elsewhere").confined(), "deny"),
        (Effect::Network("docs.rs".into()), "allow"),
        (Effect::Network("evil.example".into()), "deny"),
    ];
    for (effect, expected) in table {
        assert_eq!(verdict(&rules, Mode::Plan, effect.clone()), expected, "{effect}");
    }
}

// P-12, X-23
#[test]
fn the_first_rule_that_matches_settles_an_effect() {
    use Ruling::{Allow, Ask, Deny};
    let rules = [
        (Deny, "read:**/.ssh/**"),
        (Deny, "read:private"),
        (Deny, "write:/etc/**"),
        (Ask, "write:.git/hooks/**"),
        (Deny, "execute:rm -rf *"),
        (Allow, "write:src/**"),
        (Allow, "execute:git status"),
        (Allow, "execute:cd *"),
        (Allow, "execute:cargo test *"),
        (Allow, "network:https://example.org/*"),
    ];
    let table = [
        (read("/home/me/.ssh/id"), "deny"),
        (read("private/deep/file"), "deny"),
        (read("src/private"), "allow"),
        (write("/etc/passwd"), "deny"),
        (write("src/a/b.rs"), "allow"),
        (write("/w/src/b.rs"), "allow"),
        (write("src/../Cargo.toml"), "ask"),
        (write(".git/hooks/pre-commit"), "ask"),
        (write("src/.git/config"), "ask"),
        (execute("git  status"), "allow"),
        (execute("git status -s"), "ask"),
        (execute("git statusx"), "ask"),
        (execute("cargo test -p a"), "allow"),
        (execute("cargo test"), "allow"),
        (execute("cargo test; ./t.sh"), "ask"),
        (execute("cargo test && cargo test -p a | cargo test; cargo test"), "allow"),
        (execute("cargo test && git log"), "ask"),
        (execute("cargo test && rm -rf $HOME"), "deny"),
        (execute("cargo test && cargo test >x"), "ask"),
        (execute("cargo test && cargo test 'a && cargo test'"), "ask"),
        (execute("&& ;"), "deny"),
        (execute("cd src && git status"), "ask"),
        (execute("cargo test $(./t.sh)"), "ask"),
        (execute("cargo test\n./t.sh"), "ask"),
        (execute("rm -rf $HOME"), "deny"),
        (Effect::Network("https://example.org/a".into()), "allow"),
        (Effect::Network("https://example.org.evil/a".into()), "ask"),
    ];
    for (effect, expected) in table {
        assert_eq!(verdict(&rules, Mode::Ask, effect.clone()), expected, "{effect}");
    }
}

#[test]
fn a_rule_that_asks_or_denies_holds_for_each_command_of_a_line() {
    use Ruling::{Allow, Ask, Deny};
    let rules = [
        (Allow, "execute:git push fork"),
        (Deny, "execute:git push *"),
        (Ask, "execute:touch *"),
        (Deny, "execute@sub:make"),
        (Allow, "execute:env *"),
    ];
    let table = [
        ("true; git push", "deny"),
        ("touch x && git push", "deny"),
        ("(touch x)", "ask"),
        ("env touch x", "ask"),
        ("env ls", "allow"),
        ("git push fork", "allow"),
        ("ls; git push fork", "allow"),
        ("git push fork; git push", "deny"),
        ("cd sub && make", "deny"),
        ("make", "allow"),
        ("eval \"$x\"", "deny"),
        ("$x", "deny"),
        ("echo git push; echo \"touch x\"", "allow"),
        ("vim -c '!touch x'", "ask"),
        ("python3 -c 'import os'", "deny"),
    ];
    for (line, expected) in table {
        assert_eq!(verdict(&rules, Mode::Full, execute(line)), expected, "{line}");
    }
    let told = judged(&policy(&[(Deny, "execute:touch *")], Mode::Full), &[execute("eval \"$x\"")]);
    let reason = "`execute:eval \"$x\"` is denied by the rule `execute:touch *`, which holds for what cannot be read as \
                  plain commands; write them out";
    assert_eq!(told, Verdict::Deny { reason: reason.into() });
}

// P-12, X-23
#[test]
fn only_the_commands_of_a_list_may_run_and_the_other_rules_say_how() {
    use Ruling::{Allow, Ask, Deny, Only};
    let rules = [
        (Only, "execute:go *"),
        (Only, "execute:git *"),
        (Only, "execute@sub:make"),
        (Deny, "execute:git push *"),
        (Ask, "execute:git commit *"),
        (Allow, "execute:go vet *"),
    ];
    let table = [
        ("go test ./...", "", ["ask", "allow"]),
        ("go vet ./...", "", ["allow", "allow"]),
        ("git push origin", "", ["deny", "deny"]),
        ("git commit -m x", "", ["ask", "ask"]),
        ("make", "sub", ["ask", "allow"]),
        ("make", "", ["deny", "deny"]),
        ("curl x", "", ["deny", "deny"]),
        ("gofmt", "", ["deny", "deny"]),
        ("go build && rm -rf /", "", ["deny", "deny"]),
        ("go build && git status | git log", "", ["ask", "allow"]),
        ("go build $(curl x)", "", ["deny", "deny"]),
    ];
    for (command, folder, expected) in table {
        let effect = Effect::execute_in(command, folder);
        let got = [Mode::Ask, Mode::Full].map(|mode| verdict(&rules, mode, effect.clone()));
        assert_eq!(got, expected, "{command}");
    }
    let limited = policy(&[(Only, "execute:go *"), (Only, "network:https://a/*")], Mode::Full);
    let network = |target: &str| judged(&limited, &[Effect::Network(target.into())]);
    assert_eq!((network("https://a/x"), judged(&limited, &[write("a")])), (Verdict::Allow, Verdict::Allow));
    let reason = "`execute:rm x` is denied: the rules allow only `execute:go *`; `network:b` is denied: the rules \
                  allow only `network:https://a/*`";
    let both = judged(&limited, &[execute("rm x"), Effect::Network("b".into())]);
    assert_eq!(both, Verdict::Deny { reason: reason.into() });
    let told = Rule::parse(Only, "write:src/**").unwrap_err().to_string();
    assert!(told.contains("`only` is about commands and the network"), "{told}");
}

#[test]
fn a_rule_allows_a_command_in_its_folder_alone() {
    use Ruling::{Allow, Ask, Deny};
    let table = [
        ((Allow, "execute:make"), "", "allow"),
        ((Allow, "execute:make"), ".", "allow"),
        ((Allow, "execute:make"), "sub", "ask"),
        ((Allow, "execute:*"), "sub", "ask"),
        ((Allow, "execute:make"), "/elsewhere", "ask"),
        ((Allow, "execute@.:make"), "", "allow"),
        ((Allow, "execute@.:make"), "sub", "ask"),
        ((Allow, "execute@./sub/:make"), "sub", "allow"),
        ((Allow, "execute@sub:make"), "", "ask"),
        ((Allow, "execute@sub:make"), "sub/deep", "ask"),
        ((Allow, "execute@sub:make *"), "sub/../sub", "allow"),
        ((Allow, "execute@*:make"), "sub", "allow"),
        ((Allow, "execute@**:make"), "", "allow"),
        ((Allow, "execute@**:make"), "sub/deep", "allow"),
        ((Allow, "execute@**:make"), "/elsewhere", "ask"),
        ((Allow, "execute@**:make"), "../elsewhere", "ask"),
        ((Deny, "execute:make"), "sub", "deny"),
        ((Deny, "execute:make"), "/elsewhere", "deny"),
        ((Deny, "execute@/elsewhere/**:make"), "/elsewhere/deep", "deny"),
        ((Deny, "execute@sub:make"), "", "ask"),
        ((Ask, "execute@**:make"), "sub", "ask"),
    ];
    for (rule, folder, expected) in table {
        let effect = Effect::execute_in("make", folder);
        assert_eq!(verdict(&[rule], Mode::AcceptEdits, effect), expected, "{rule:?} in {folder:?}");
    }
}

#[test]
fn a_working_tree_may_lie_in_its_repository() {
    let workspace = Path::new("/store/.git/tree");
    let judge = |path: &str| {
        let effects = [write(path)];
        policy(&[], Mode::AcceptEdits).judge(&effects, workspace, &|folder| folder == Path::new("/store"))
    };
    assert_eq!(judge("src/a.rs"), Verdict::Allow);
    assert!(matches!(judge(".git"), Verdict::Ask { .. }));
    assert!(matches!(judge("/store/config"), Verdict::Ask { .. }));
}

#[test]
fn gits_own_files_are_allowed_only_by_a_rule_that_names_git() {
    let table = [
        ("write:**", "sub/.git/config", "ask"),
        ("write:**", "bare/config", "ask"),
        ("write:**/.git/**", "sub/.git/config", "allow"),
        ("write:**", "sub/config", "allow"),
    ];
    for (rule, path, expected) in table {
        assert_eq!(verdict(&[(Ruling::Allow, rule)], Mode::Ask, write(path)), expected, "{rule} {path}");
    }
}

#[test]
fn the_strictest_verdict_over_all_effects_counts_and_names_them_all() {
    let denying = policy(&[(Ruling::Deny, "write:b")], Mode::Full);
    assert!(matches!(judged(&denying, &[write("a"), write("b")]), Verdict::Deny { .. }));
    assert_eq!(judged(&denying, &[]), Verdict::Allow);
    let asking = policy(&[(Ruling::Ask, "network:*")], Mode::Ask);
    let push = execute("git push origin main");
    let network = Effect::Network("origin".into());
    let table: [(Vec<Effect>, &str); 5] = [
        (vec![read("a"), push.clone()], "`execute:git push origin main` needs approval"),
        (
            vec![push.clone(), network],
            "`execute:git push origin main` needs approval; \
             `network:origin` must be asked for by the rule `network:*`",
        ),
        (
            vec![push.clone(), write("a"), push.clone()],
            "`execute:git push origin main` and `write:a` need approval",
        ),
        (
            vec![Effect::execute_in("make", "/x"), Effect::execute_in("make", "sub")],
            "`execute@/x:make` needs approval: the folder lies outside of the workspace; \
             `execute@sub:make` needs approval",
        ),
        (
            ["a", "b", "c", "d", "e", "f"].map(write).into(),
            "`write:a`, `write:b`, `write:c`, `write:d` and 2 more need approval",
        ),
    ];
    for (effects, expected) in table {
        assert_eq!(judged(&asking, &effects), Verdict::Ask { reason: expected.into() });
    }
}

#[test]
fn a_bad_rule_says_what_was_expected() {
    let told = |rule: &str| Rule::parse(Ruling::Allow, rule).unwrap_err().to_string();
    assert!(told("ls").starts_with("cannot read the rule `ls`: there is no `:`; expected e.g."));
    assert!(told("eat:x").contains("`eat` is not a kind of effect"));
    assert!(told("write:[").contains("cannot read the rule `write:[`"));
    assert!(told("write@sub:a").contains("only commands run in a folder"));
    assert!(told("execute@:ls").contains("no folder is named between `@` and `:`"));
    for folder in ["/x", "..", "a/../../x"] {
        assert!(told(&format!("execute@{folder}:ls")).contains("is always asked for"), "{folder}");
        assert!(Rule::parse(Ruling::Deny, &format!("execute@{folder}:ls")).is_ok());
    }
}

#[test]
fn rules_about_reading_hold_below_a_folder() {
    use Ruling::{Allow, Ask, Deny};
    let rules = [
        (Allow, "read:.env.example"),
        (Deny, "read:**/.env*"),
        (Ask, "read:notes/**"),
        (Deny, "read:private"),
    ];
    let policy = policy(&rules, Mode::Ask);
    let readable =
        |effect: &str| Readable::new(&policy, Path::new("/w"), &[read(effect)], vec!["/own".into()]);
    let table = [
        ("/w", "/w/a", true),
        ("/w", "/w/.env", false),
        ("/w", "/w/deep/.env.local", false),
        ("/w", "/w/.env.example", true),
        ("/w", "/w/notes/x", false),
        ("/w", "/w/private/deep/x", false),
        ("/w", "/elsewhere/.env", false),
        ("/w", "/own/.env", true),
        // The person was asked about it, and said yes.
        ("/w/notes/deep", "/w/notes/deep/x", true),
        ("/w/notes/deep", "/w/notes/deep/.env", false),
    ];
    for (root, path, expected) in table {
        assert_eq!(readable(root).holds(Path::new(path)), expected, "{path} below {root}");
    }
    assert!(!readable("/w").is_everything() && Readable::default().is_everything());
    assert!(!readable("/w").excludes(Path::new("/w/private")), "something below may be allowed");
}
