//! [`Registry`]: tools by name, and what a call is checked against.
use haft_core::{
    Aliases, Effect, Registry, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput, Validation,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

struct Look(&'static str);
/// Look at a file.
#[derive(Deserialize, JsonSchema)]
struct LookArgs {
    /// Which one.
    #[expect(dead_code, reason = "only its schema matters here")]
    #[schemars(extend("x-accepts" = {"type": ["string", "array"]}))]
    path: String,
    #[expect(dead_code, reason = "only its schema matters here")]
    #[schemars(extend("x-hidden" = true))]
    again: Option<bool>,
}
impl Tool for Look {
    const NAME: &'static str = "look";
    const ALIASES: Aliases = Aliases { names: &["view"], parameters: &[("path", &["file"])] };
    type Args = LookArgs;
    fn effects(&self, _: &LookArgs, _: &Path) -> Vec<Effect> {
        vec![Effect::execute(self.0)]
    }
    async fn run(&self, _: LookArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self.0))
    }
}

// T-03, A-15, A-16, A-18, A-19, C-12, C-13, C-14, C-52, T-07, T-23, T-24, T-28, T-30, T-34, T-43
#[test]
fn a_registry_keeps_tools_by_name_and_in_order() {
    let mut registry = Registry::default().with(Look("first")).with(Look("second"));
    assert_eq!((registry.len(), registry.names().collect::<Vec<_>>()), (1, vec!["look"]));
    let effects =
        registry.find("look").unwrap().tool.effects(&serde_json::json!({"path": "a"}), Path::new("/w"));
    assert_eq!(effects.unwrap(), [Effect::execute("second")]);
    assert_eq!(registry.summaries(), ["- `look` - Look at a file."]);
    insta::assert_snapshot!(registry.specs()[0].definition(), @r#"{"type":"function","function":{"name":"look","description":"Look at a file.","parameters":{"type":"object","properties":{"path":{"type":"string","description":"Which one."}},"required":["path"]}}}"#);
    registry.clear();
    assert!(registry.is_empty());
}

// A-46, X-34, A06, A61
#[test]
fn an_unknown_name_is_answered_with_the_names_there_are() {
    let registry = Registry::default().with(Look(""));
    assert!(registry.find(" Look ").is_ok());
    let Err(error) = registry.find("lok") else { panic!("`lok` is not a tool") };
    assert_eq!(error.message, "there is no tool `lok`");
    assert_eq!(error.hint.unwrap(), "did you mean `look`? available tools: look");
}

#[test]
fn what_a_template_writes_around_a_name_is_no_part_of_it() {
    let registry = Registry::default().with(Look(""));
    for name in ["look<|channel|>commentary", "functions.look", "functions.View<|channel|>json"] {
        assert!(registry.find(name).is_ok(), "{name}");
    }
    for name in ["<|channel|>commentary", "functions.", "functions.lok", "others.look"] {
        assert!(registry.find(name).is_err(), "{name}");
    }
}

// X-10
#[test]
fn more_is_understood_than_models_are_told() {
    let registry = Registry::default().with(Look(""));
    let look = registry.find("View").unwrap();
    let table = [
        (serde_json::json!({"file": "a"}), Ok(serde_json::json!({"path": "a"}))),
        (
            serde_json::json!({"path": ["a"], "again": true}),
            Ok(serde_json::json!({"path": ["a"], "again": true})),
        ),
        (
            serde_json::json!({"path": "a", "twice": 1}),
            Err("cannot call `look`: there is no parameter `twice`"),
        ),
    ];
    for (given, expected) in table {
        let checked = look.check(&given, Validation::Coerce).map_err(|error| error.message);
        assert_eq!(checked, expected.map_err(str::to_owned), "{given}");
    }
    // As models were shown, in a strict profile; a hint names nothing that they were not.
    let strict = |given| look.check(&given, Validation::Strict).map_err(|error| error.message);
    let refused = "cannot call `look`: `path` must be a string, not an array; there is no parameter `agan`";
    assert_eq!(strict(serde_json::json!({"path": ["a"], "agan": true})), Err(refused.to_owned()));
    assert_eq!(strict(serde_json::json!({"file": ["a"]})), Ok(serde_json::json!({"path": ["a"]})));
    for (hint, expected) in [
        ("look closer, or `again`; use a smaller `path`", Some("look closer; use a smaller `path`")),
        ("look `again`", None),
    ] {
        let error = ToolError::new(ToolErrorKind::User, "x").hint(hint);
        assert_eq!(registry.in_shown_names("look", error).hint.as_deref(), expected);
    }
    let off = registry.clone().offering_only::<&str>(&[]);
    assert!(off.get("look").is_none() && off.find("look").is_err());
    assert_eq!(off.only(&["view".to_owned()]).names().collect::<Vec<_>>(), ["look"]);
    let quiet = registry.offering::<&str>(&[]);
    assert!(quiet.is_empty() && quiet.specs().is_empty() && quiet.get("look").is_some());
    assert_eq!(quiet.only(&["view".to_owned()]).names().collect::<Vec<_>>(), ["look"]);
}
