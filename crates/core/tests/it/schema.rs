//! `schema`: what a model reads of one, and how arguments are checked.
use haft_core::{
    Effect, Registry, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Validation, schema::Schema,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// Move some files.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema matters here")]
struct Args {
    /// Where to.
    path: String,
    /// How many.
    count: Option<u32>,
    force: Option<bool>,
    ratio: Option<f64>,
    /// Which ones.
    #[serde(default)]
    files: Vec<File>,
    how: Option<How>,
}
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters here")]
struct File {
    name: String,
}
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum How {
    Fast,
    Slow,
}

struct Move;
impl Tool for Move {
    const NAME: &'static str = "move";
    type Args = Args;
    fn effects(&self, _: &Args, _: &Path) -> Vec<Effect> {
        Vec::new()
    }
    async fn run(&self, _: Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(""))
    }
}

fn check(arguments: Value, validation: Validation) -> Result<Value, String> {
    let registry = Registry::default().with(Move);
    let checked = registry.find("move").unwrap().check(&arguments, validation);
    checked.map_err(|error| {
        let (name, arguments) = *error.example.unwrap_or_default();
        format!("{} [{name} {arguments}]", error.message)
    })
}

#[test]
fn the_schema_is_what_a_model_should_read() {
    let spec = ToolSpec::of::<Args>("move");
    assert_eq!(spec.description, "Move some files.");
    insta::assert_snapshot!(spec.parameters, @r#"{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"Where to."},"count":{"type":"integer","description":"How many."},"force":{"type":"boolean"},"ratio":{"type":"number"},"files":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]},"description":"Which ones."},"how":{"type":"string","enum":["fast","slow"]}},"required":["path"]}"#);
}

// C-68, C-71, C-20, C-21, C-22, C-23, C-24, C-48, C-53, C-57, C-64, A06 to A09
#[test]
fn every_problem_is_told_at_once_with_an_example() {
    let example = r#"[move {"path":"…"}]"#;
    let table = [
        (json!({}), "cannot call `move`: `path` is required"),
        (
            json!({"path": "a", "pth": 1}),
            "cannot call `move`: there is no parameter `pth`; did you mean `path`?",
        ),
        (
            json!({"count": -1, "force": "maybe", "files": [{"nme": 1}]}),
            "cannot call `move`: `path` is required; `count` must be at least 0, not -1; \
             `force` must be a boolean, not a string; `files[0].name` is required",
        ),
        (json!({"path": {"a": 1}}), "cannot call `move`: `path` must be a string, not an object"),
        (json!([1]), "cannot call `move`: the arguments must be an object, not an array"),
    ];
    for (arguments, expected) in table {
        let mut told = check(arguments.clone(), Validation::Coerce).unwrap_err();
        assert!(told.ends_with(example), "{told}");
        told.truncate(told.len() - example.len() - 1);
        let sorted = |text: &str| {
            let mut all: Vec<_> = text
                .trim_start_matches("cannot call `move`: ")
                .split("; `")
                .map(|p| p.trim_start_matches('`').to_owned())
                .collect();
            all.sort();
            all
        };
        assert_eq!(sorted(&told), sorted(expected), "{arguments}");
    }
}

// X-09
#[test]
fn what_small_models_get_wrong_is_put_right() {
    let table = [
        (json!({"path": "a", "count": "3"}), json!({"path": "a", "count": 3})),
        (
            json!({"path": "a", "ratio": "0.5", "force": "True"}),
            json!({"path": "a", "ratio": 0.5, "force": true}),
        ),
        (json!({"path": 7, "count": null}), json!({"path": "7"})),
        (json!({"path": "a", "files": "[{\"name\":\"b\"}]"}), json!({"path": "a", "files": [{"name": "b"}]})),
        (json!("{\"path\":\"a\"}"), json!({"path": "a"})),
    ];
    for (arguments, expected) in table {
        assert_eq!(check(arguments.clone(), Validation::Coerce), Ok(expected), "{arguments}");
        assert!(check(arguments.clone(), Validation::Strict).is_err(), "{arguments}");
        assert_eq!(check(arguments.clone(), Validation::Off), Ok(arguments));
    }
}

#[test]
fn every_kind_of_problem_names_the_parameter_and_what_is_wanted() {
    let schema = json!({
        "type": "object",
        "properties": {
            "at": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            "to": {"$ref": "#/$defs/place"},
            "old": false,
            "name": {"type": "string", "pattern": "^(?!_)[a-z]+$"},
            "kind": {"const": "file"},
        },
        "unevaluatedProperties": false,
        "$defs": {"place": {"type": "object", "required": ["line", "column"]}},
    });
    let schema = Schema::new(schema);
    let table = [
        (
            json!({"at": 1}),
            vec![
                "`at` fits none of 2 alternatives: `at` must be a string, not an integer; or `at` must be an array, not an integer",
            ],
        ),
        (
            json!({"at": [1, "2"]}),
            vec![
                "`at` fits none of 2 alternatives: `at` must be a string, not an array; or `at[1]` must be an integer, not a string",
            ],
        ),
        (json!({"to": {}}), vec!["`to.line` is required", "`to.column` is required"]),
        (json!({"old": 1}), vec!["there is no parameter `old`"]),
        (json!({"nam": "x"}), vec!["there is no parameter `nam`; did you mean `name`?"]),
        (json!({"kind": "folder"}), vec!["`kind` must be \"file\""]),
        // A pattern that the library cannot read is left to the tool.
        (
            json!({"name": "_a", "at": ["x"]}),
            vec![
                "`at` fits none of 2 alternatives: `at` must be a string, not an array; or `at[0]` must be an integer, not a string",
            ],
        ),
        (json!({"name": "_a"}), vec![]),
    ];
    for (arguments, expected) in table {
        let problems = schema.problems(&arguments).unwrap();
        let told: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(told, expected, "{arguments}");
    }
}
