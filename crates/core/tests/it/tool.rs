//! Plain functions as tools.
use haft_core::{
    Access, CallId, Change, Effect, Registry, SessionId, Tool, ToolContext, ToolError, ToolErrorKind,
    ToolOutput, Tracking, Validation, View, tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    future::Future,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Greet a person.
/// This line is for people.
///
/// Args:
///     name: Whom to greet,
///         by first name.
///     times: How often.
///
/// Returns:
///     name: The greeting.
#[tool]
fn greet(name: String, #[default(2)] times: usize) -> String {
    vec![format!("hello {name}"); times].join(", ")
}

#[tool]
async fn bare() {}

/// Draws something.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
#[serde(tag = "shape", rename_all = "lowercase")]
enum Shape {
    Circle { radius: u32 },
    Square { side: u32, color: Option<String> },
}

/// Draws something with a name.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct NamedShape {
    name: String,
    #[serde(flatten)]
    shape: Shape,
}

struct Draw<A>(std::marker::PhantomData<fn() -> A>);

impl<A: for<'de> Deserialize<'de> + JsonSchema + Send + 'static> Tool for Draw<A> {
    const NAME: &'static str = "draw";
    type Args = A;

    fn effects(&self, _: &A, _: &Path) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, _: A, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("drawn"))
    }
}

#[test]
fn arguments_with_alternatives_are_told_as_one_object_and_checked_as_they_are() {
    let shapes = json!({
        "type": "object",
        "properties": {
            "shape": {"type": "string", "enum": ["circle", "square"]},
            "radius": {"type": "integer"}, "side": {"type": "integer"}, "color": {"type": "string"},
        },
        "required": ["shape"],
    });
    let registry = Registry::default().with(Draw::<Shape>(std::marker::PhantomData));
    let told = &registry.specs()[0].parameters;
    assert_eq!(*told, shapes);
    let named = Registry::default().with(Draw::<NamedShape>(std::marker::PhantomData));
    let told = &named.specs()[0].parameters;
    assert_eq!(told["required"], json!(["name", "shape"]));
    assert_eq!(told["properties"].as_object().unwrap().len(), 5);
    for (registry, arguments, expected) in [
        (&registry, json!({"shape": "circle", "radius": 1}), true),
        (&registry, json!({"shape": "square", "side": 1, "color": "red"}), true),
        (&registry, json!({"shape": "square", "radius": 1}), false),
        (&registry, json!({"shape": "circle", "radius": 1, "odd": 1}), false),
        (&registry, json!({"shape": "line"}), false),
        (&named, json!({"name": "a", "shape": "circle", "radius": 1}), true),
        (&named, json!({"shape": "circle", "radius": 1}), false),
        (&named, json!({"name": "a", "shape": "circle", "radius": 1, "odd": 1}), false),
    ] {
        let checked = registry.get("draw").unwrap().check(&arguments, Validation::Coerce);
        assert_eq!(checked.is_ok(), expected, "{arguments}: {checked:?}");
    }
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Point {
    x: i64,
    y: f64,
}

/// Take one of each.
#[tool]
#[expect(clippy::too_many_arguments, reason = "one of each")]
fn each(
    text: String,
    whole: i64,
    number: f64,
    truth: bool,
    list: Vec<String>,
    object: BTreeMap<String, u8>,
    point: Point,
    any: Value,
    /// Not needed
    /// at all.
    option: Option<u32>,
    #[default("all")] r#type: String,
) -> Value {
    json!([text, whole, number, truth, list, object, point, any, option, r#type])
}

/// Tell where it runs.
#[tool]
async fn place(ctx: &ToolContext, file: PathBuf) -> Result<ToolOutput, ToolError> {
    let path = ctx.path(&file);
    if file.as_os_str().is_empty() {
        return Err(ToolError::new(ToolErrorKind::User, "no file").hint("name one"));
    }
    Ok(ToolOutput::text(path.display().to_string()).silent())
}

/// Copy a file.
#[tool(reads = "from", writes = "to", crate = haft_core)]
async fn copy(from: PathBuf, to: String) -> Result<(), io::Error> {
    Err(io::Error::other(format!("no room for {} in {to}", from.display())))
}

/// Tell a point.
#[tool]
fn origin() -> Result<Point, String> {
    Ok(Point { x: 0, y: 0.5 })
}

mod elsewhere {
    /// Shout.
    #[haft_core::tool]
    pub(crate) fn shout() -> &'static str {
        "HEY"
    }
}

/// Everything lies where it is called.
struct Plain;
impl View for Plain {
    fn root(&self) -> &Path {
        Path::new("/w")
    }
    fn locate(&self, path: &Path) -> PathBuf {
        self.root().join(path)
    }
    fn changes(&self) -> io::Result<Vec<Change>> {
        Ok(Vec::new())
    }
    fn how(&self) -> Tracking {
        Tracking::Untracked
    }
}
fn context() -> ToolContext {
    ToolContext {
        session: SessionId("s".into()),
        message: "0".into(),
        agent: "haft".into(),
        call: CallId("1".into()),
        channel: None,
        workspace: "/w".into(),
        live: "/w".into(),
        access: Access::default(),
        readable: Default::default(),
        artifacts: "/a".into(),
        jobs: Arc::new(haft_core::NoBackgroundTasks),
        person: Arc::new(haft_core::NoPerson),
        subagents: Arc::new(haft_core::NoSubagents),
        sampler: Arc::new(haft_core::NoSampler),
        cancel: Default::default(),
        on_progress: Arc::new(|_| ()),
        view: Arc::new(Plain),
    }
}

fn call(name: &str, arguments: Value) -> impl Future<Output = Result<ToolOutput, ToolError>> {
    let tools = Registry::declared();
    async move {
        let tool = tools.find(name)?;
        tool.tool.call(tool.check(&arguments, Validation::Strict)?, &context()).await
    }
}

fn schema(name: &str) -> (String, Value) {
    let spec = Registry::declared().find(name).unwrap().tool.spec().clone();
    (spec.description, spec.parameters)
}

// A-17, T-31, T-32, T-33
#[test]
fn tools_stay_in_the_order_in_which_they_were_registered() {
    let registry =
        Registry::default().with(elsewhere::shout {}).with_any(greet::tool()).with_any(bare::tool());
    assert_eq!(registry.names().collect::<Vec<_>>(), ["shout", "greet", "bare"]);
    let specs = registry.specs();
    let told: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!((told, registry.len()), (vec!["shout", "greet", "bare"], 3));
    // Again: it takes the place of the first one.
    let again = registry.with(elsewhere::shout {});
    assert_eq!((again.names().next(), again.len()), (Some("shout"), 3));
}

// from top to bottom of this file
#[test]
fn a_declared_tool_is_in_the_registry_and_its_function_is_as_before() {
    let declared = Registry::declared();
    let names: Vec<&str> = declared.names().collect();
    assert_eq!(names, ["greet", "bare", "each", "place", "copy", "origin", "shout", "double"]);
    let registry = Registry::default().with_any(greet::tool()).with(elsewhere::shout {});
    assert_eq!(registry.names().collect::<Vec<_>>(), ["greet", "shout"]);
    assert_eq!((greet("Ada".into(), 1), elsewhere::shout()), ("hello Ada".into(), "HEY"));
}

//
#[test]
fn the_schema_comes_from_types_and_comments() {
    let expected = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Whom to greet, by first name."},
            "times": {"type": "integer", "default": 2, "description": "How often."},
        },
        "required": ["name"],
    });
    assert_eq!(schema("greet"), ("Greet a person.".into(), expected));
    let bare = json!({"type": "object", "properties": {}, "required": []});
    assert_eq!(schema("bare"), (String::new(), bare));
}

// A-10 (a parameter always has a type here), A-11
#[test]
fn every_type_has_its_schema() {
    let (_, parameters) = schema("each");
    let kinds = parameters["properties"].as_object().unwrap().iter();
    let kinds: Vec<_> =
        kinds.map(|(name, schema)| (name.as_str(), schema["type"].as_str().unwrap_or("any"))).collect();
    let expected = [
        ("text", "string"),
        ("whole", "integer"),
        ("number", "number"),
        ("truth", "boolean"),
        ("list", "array"),
        ("object", "object"),
        ("point", "object"),
        ("any", "any"),
        ("option", "integer"),
        ("type", "string"),
    ];
    assert_eq!(kinds, expected);
    let required = ["text", "whole", "number", "truth", "list", "object", "point", "any"];
    assert_eq!(parameters["required"], json!(required));
    assert_eq!(parameters["properties"]["option"]["description"], "Not needed at all.");
}

//
#[tokio::test]
async fn what_a_function_returns_is_told_by_its_type() {
    let table = [
        ("greet", json!({"name": "Ada"}), Ok("hello Ada, hello Ada")),
        ("bare", json!({}), Ok("(no output)")),
        ("shout", json!({}), Ok("HEY")),
        ("origin", json!({}), Ok("{\n  \"x\": 0,\n  \"y\": 0.5\n}")),
        ("place", json!({"file": "a"}), Ok("/w/a")),
        ("place", json!({"file": ""}), Err(("no file", ToolErrorKind::User))),
        ("copy", json!({"from": "a", "to": "b"}), Err(("no room for a in b", ToolErrorKind::System))),
        ("greet", json!({}), Err(("cannot call `greet`: `name` is required", ToolErrorKind::Validation))),
    ];
    for (name, arguments, expected) in table {
        let told = call(name, arguments).await.map(|output| output.for_model);
        let told = told.as_deref().map_err(|error| (error.message.as_str(), error.kind));
        assert_eq!(told, expected, "{name}");
    }
}

#[tokio::test]
async fn arguments_that_are_left_out_have_their_default() {
    let arguments = json!({
        "text": "t", "whole": 1, "number": 2.5, "truth": true, "list": ["l"], "object": {"o": 1},
        "point": {"x": 1, "y": 2.0}, "any": null,
    });
    let output = call("each", arguments).await.unwrap();
    assert_eq!(
        output.details,
        json!(["t", 1, 2.5, true, ["l"], {"o": 1}, {"x": 1, "y": 2.0}, null, null, "all"])
    );
}

#[test]
fn effects_are_those_that_the_attribute_names() {
    let effects = |name: &str, arguments: Value| {
        Registry::declared().find(name).unwrap().tool.effects(&arguments, Path::new("/w")).unwrap()
    };
    assert_eq!(
        effects("copy", json!({"from": "a", "to": "/b"})),
        [Effect::Read("/w/a".into()), Effect::Write("/b".into())]
    );
    assert_eq!(effects("greet", json!({"name": "a"})), []);
}

// A function inside a function sees what stands there.
#[test]
fn a_tool_may_be_declared_anywhere() {
    #[derive(Deserialize, JsonSchema)]
    struct Local {
        n: u8,
    }
    /// Twice as much.
    #[tool]
    fn double(local: Local) -> u8 {
        local.n * 2
    }
    assert_eq!(double::tool().spec().description, "Twice as much.");
    assert_eq!(double(Local { n: 2 }), 4);
}

// A journal of before knew no folders.
#[test]
fn a_command_in_the_root_is_a_text_in_the_journal() {
    let table = [
        (Effect::execute("make"), json!({"execute": "make"}), "execute:make"),
        (
            Effect::execute_in("make all", "sub"),
            json!({"execute": {"command": "make all", "folder": "sub"}}),
            "execute@sub:make all",
        ),
    ];
    for (effect, form, told) in table {
        assert_eq!(serde_json::to_value(&effect).unwrap(), form);
        assert_eq!(serde_json::from_value::<Effect>(form).unwrap(), effect);
        assert_eq!(effect.to_string(), told);
    }
}
