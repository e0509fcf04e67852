//! What would have allowed a call that no person can allow.
use haft_core::{Effect, Execution, Rule, Ruling};
use haft_present::unattended::narrowest;
use std::path::Path;

#[test]
fn the_narrowest_way_is_named() {
    let workspace = Path::new("/w");
    let table = [
        (Effect::Write("/w/a.txt".into()), "`--permission accept-edits` allows it"),
        (
            Effect::Write("/etc/x".into()),
            "`allow = [\"write:/etc/x\"]` under `[rules]` in your configuration allows it, `--permission full` allows everything",
        ),
        (
            Effect::Write("/w/.git/objects/2b/93acc6".into()),
            "`allow = [\"write:/w/.git/objects/**\"]` under `[rules]` in your configuration allows it, `--permission full` allows everything",
        ),
        (
            Effect::Network("example.org".into()),
            "`allow = [\"network:example.org\"]` under `[rules]` in your configuration allows it, `--permission full` allows everything",
        ),
    ];
    for (effect, expected) in table {
        assert_eq!(narrowest(&[effect], workspace, &[]), expected);
    }
}

#[test]
fn a_way_that_a_rule_is_stricter_than_is_not_named() {
    let rule = |ruling, text| Rule::parse(ruling, text).unwrap();
    let rules = [rule(Ruling::Deny, "write:/w/kept"), rule(Ruling::Ask, "write:**/.claude/**")];
    let table = [
        (
            "/w/.claude/x",
            "`allow = [\"write:/w/.claude/x\"]` under `[rules]` in your configuration allows it",
        ),
        ("/w/kept", "`haft policy check EFFECT` shows the rule that decides"),
        ("/w/a.txt", "`--permission accept-edits` allows it"),
    ];
    for (path, expected) in table {
        assert_eq!(narrowest(&[Effect::Write(path.into())], Path::new("/w"), &rules), expected);
    }
}

#[test]
fn a_rule_that_asks_for_a_command_is_answered_by_a_rule() {
    let rules = [Rule::parse(Ruling::Ask, "execute:*").unwrap()];
    let command = Execution { command: "ls".into(), confined: true, ..Execution::default() };
    let effects = [Effect::Execute(command), Effect::Write("/w/a.txt".into())];
    let expected =
        "`allow = [\"execute:ls\",\"write:/w/a.txt\"]` under `[rules]` in your configuration allows it";
    assert_eq!(narrowest(&effects, Path::new("/w"), &rules), expected);
}
