//! What would have allowed a call that no person can allow.
use haft_core::Effect;
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
            Effect::Network("example.org".into()),
            "`allow = [\"network:example.org\"]` under `[rules]` in your configuration allows it, `--permission full` allows everything",
        ),
    ];
    for (effect, expected) in table {
        assert_eq!(narrowest(&[effect], workspace), expected);
    }
}
