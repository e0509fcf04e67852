//! The tools as a model reads them. Changing a word here is changing behavior.
use haft_tools::{Settings, builtin};

// C-08, C-14, C-47, A-18
#[test]
fn the_definitions_are_short_and_say_what_a_model_must_know() {
    let tools = builtin(&Settings::default());
    let definitions: Vec<_> = tools.all().map(|tool| tool.tool.spec().definition().to_string()).collect();
    insta::assert_snapshot!(definitions.join("\n"));
}

//
#[test]
fn a_profile_tells_models_of_the_tools_that_it_names() {
    let settings = Settings { offer: ["bash", "read"].map(str::to_owned).into(), ..Settings::default() };
    let tools = builtin(&settings);
    assert_eq!(tools.names().collect::<Vec<_>>(), ["bash", "read"]);
    assert!(tools.get("edit").is_some());
}

#[test]
fn settings_can_be_left_out_but_not_misspelt() {
    let read = |text: &str| toml::from_str::<Settings>(text);
    assert_eq!(read("").unwrap(), Settings::default());
    assert_eq!(read("bash.timeout_max = 60").unwrap().bash.timeout_default, 120);
    assert!(read("bash.timeout = 60").is_err());
}
