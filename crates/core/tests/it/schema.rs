//! `schema`: what a model reads of one, and how arguments are checked.
use haft_core::{
    Effect, Registry, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Validation, schema::Schema,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, path::Path};

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

/// Describe fields of a contact.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters here")]
struct Contact {
    /// A name and its new value; null clears it.
    fields: BTreeMap<String, Option<String>>,
    others: Map<String, Value>,
    places: Vec<Option<u64>>,
    shape: Option<Shape>,
    pair: Option<(u8, String)>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema matters here")]
enum Shape {
    Circle { radius: f64 },
    Line { ends: (i32, i32) },
}

/// A null says nothing where a parameter can be left out, and something where it cannot.
#[test]
fn a_null_in_a_list_or_a_map_is_kept() {
    let schema = ToolSpec::of::<Contact>("contact");
    let check = |arguments: &Value, validation| {
        Schema::new(schema.parameters.clone())
            .check(&schema, arguments, validation)
            .map_err(|error| error.message)
    };
    let given = json!({"fields": {"phone": null, "name": "Ann"}, "others": {"a": null}, "places": [1, null], "shape": null});
    let mut expected = given.clone();
    expected.as_object_mut().unwrap().remove("shape");
    assert_eq!(check(&given, Validation::Coerce), Ok(expected.clone()));
    assert_eq!(check(&expected, Validation::Strict), Ok(expected));
    let corrected = json!({"fields": {"a": 1}, "others": {}, "places": ["18446744073709551615"]});
    let expected = json!({"fields": {"a": "1"}, "others": {}, "places": [u64::MAX]});
    assert_eq!(check(&corrected, Validation::Coerce), Ok(expected));
    // Which of two types was meant is not clear.
    let two = json!({"type": "object", "properties": {"command": {"type": ["string", "array"]}}});
    let given = Schema::new(two).check(&schema, &json!({"command": 7}), Validation::Coerce);
    assert!(given.is_err_and(|error| error.message.contains("`command` must be")));
    // As servers of MCP say that a parameter may be cleared.
    let clears = json!({"type": "object", "properties": {"due": {"type": ["string", "null"]}, "note": {"type": "string"}}});
    let cleared = Schema::new(clears).check(&schema, &json!({"due": null, "note": null}), Validation::Coerce);
    assert_eq!(cleared.map_err(|error| error.message), Ok(json!({"due": null})));
}

#[test]
fn an_example_that_is_made_from_the_schema_passes() {
    let mut schema = ToolSpec::of::<Contact>("contact");
    schema.parameters["required"] = json!(["fields", "others", "places", "shape", "pair"]);
    let example = haft_core::schema::example(&schema);
    let checked = Schema::new(schema.parameters.clone()).check(&schema, &example, Validation::Strict);
    assert_eq!(checked.map_err(|error| error.message), Ok(example.clone()), "{example}");
}

// C-22: JSON Schema takes 3.0 for an integer, and so do tools
#[test]
fn a_whole_number_with_a_point_is_an_integer() {
    for validation in [Validation::Coerce, Validation::Strict] {
        assert_eq!(
            check(json!({"path": "a", "count": 3.0}), validation),
            Ok(json!({"path": "a", "count": 3}))
        );
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
            "how": {"oneOf": [{"const": "fast", "description": "Soon."}, {"const": "slow"}]},
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
        (json!({"how": "fst"}), vec!["`how` must be one of [\"fast\",\"slow\"], not \"fst\""]),
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
