//! The tools as a model reads them. Changing a word here is changing behaviour.
use haft_tools::{Settings, builtin};

#[test]
fn the_definitions_are_short_and_say_what_a_model_must_know() {
    let definitions: Vec<_> =
        builtin(&Settings::default()).specs().iter().map(|spec| spec.definition()).collect();
    let text = definitions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    // About four characters make a token.
    assert!(text.len() / 4 < 700, "{} characters", text.len());
    insta::assert_snapshot!(text);
}

#[test]
fn settings_can_be_left_out_but_not_misspelt() {
    let read = |text: &str| toml::from_str::<Settings>(text);
    assert_eq!(read("").unwrap(), Settings::default());
    assert_eq!(read("bash.timeout_max = 60").unwrap().bash.timeout_default, 120);
    assert!(read("bash.timeout = 60").is_err());
}
