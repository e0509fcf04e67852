//! The examples and tests of Alfred's document as a program that uses the library has them, in their order.
//!
//! A binary of its own: it lists all tools that are declared in its program.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use haft::{Profile, prelude::*, providers::Scripted};
use serde_json::{Value, json};
use std::{fs, sync::Arc};

/// Read file contents.
///
/// Args:
///     path: Path to the file to read
///     offset: Line number to start from (1-indexed)
///     limit: Maximum number of lines
///         to read
///
/// Returns:
///     File contents as string
#[tool(reads = "path")]
fn read(
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
    context: &ToolContext,
) -> Result<String, std::io::Error> {
    let content = fs::read_to_string(context.path(path))?;
    let lines = content.split_inclusive('\n').skip(offset.unwrap_or(1) - 1);
    Ok(lines.take(limit.unwrap_or(usize::MAX)).collect())
}

/// Create or overwrite a file.
///
/// Args:
///     path: Path where to write the file
///     content: Content to write
#[tool(writes = "path")]
fn write(path: String, content: String, context: &ToolContext) -> Result<Value, std::io::Error> {
    fs::write(context.path(&path), &content)?;
    Ok(json!({"path": path, "bytes_written": content.len()}))
}

/// Test function.
#[tool]
fn test_func(name: String, #[default(5)] count: i64) -> String {
    format!("Hello {name} {count}")
}

/// Double a number.
/// The second line is for people.
#[tool]
async fn double(x: i64) -> Value {
    json!({"result": x * 2})
}

#[tool]
fn untold() -> Result<String, String> {
    Err("it is broken".into())
}

fn schema(registry: &Registry, name: &str) -> Value {
    registry.get(name).unwrap().told().definition()
}

// "Tool Definition", `test_tool_decorator_registers`, `test_tool_schema_generation`: A-05 to A-09, A-11 to A-20, A-91, A-92
#[test]
fn a_function_is_a_tool_in_the_registry_of_the_program() {
    let mut registry = Registry::declared();
    assert_eq!(registry.names().collect::<Vec<_>>(), ["read", "write", "test_func", "double", "untold"]);
    assert_eq!(
        schema(&registry, "read"),
        json!({"type": "function", "function": {
            "name": "read",
            "description": "Read file contents.",
            "parameters": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Path to the file to read"},
                    "offset": {"type": "integer", "description": "Line number to start from (1-indexed)"},
                    "limit": {"type": "integer", "description": "Maximum number of lines to read"},
                },
                "required": ["path"],
            },
        }})
    );
    let parameters = &schema(&registry, "test_func")["function"]["parameters"];
    assert_eq!(parameters["properties"]["name"]["type"], "string");
    assert_eq!(parameters["properties"]["count"]["type"], "integer");
    assert_eq!(parameters["required"], json!(["name"]));
    assert_eq!(schema(&registry, "double")["function"]["description"], "Double a number.");
    let untold = schema(&registry, "untold");
    assert_eq!(untold["function"]["description"], "");
    assert_eq!(untold["function"]["parameters"], json!({"type": "object", "properties": {}, "required": []}));
    assert_eq!(registry.specs().len(), 5);
    // The function stays a function.
    assert_eq!(test_func("you".into(), 1), "Hello you 1");
    assert!(registry.get("missing").is_none());
    registry.clear();
    assert!(registry.is_empty());
    let own = Registry::default().with(double {}).with(test_func {}).with(double {});
    assert_eq!(own.names().collect::<Vec<_>>(), ["double", "test_func"]);
}

/// An agent that works as Alfred's document says, with these tools.
fn alfred(model: Arc<Scripted>) -> haft::Builder {
    let profile = Profile::named("alfred").unwrap();
    Haft::builder().provider(model).profile(profile).in_memory()
}

// `test_agent_executes_tools`: A-24, A-28, A-29, A-39, A-47, A-48, A-93
#[tokio::test]
async fn the_agent_executes_tools() {
    let model = Arc::new(Scripted::new([]).calls([("double", json!({"x": 5}))]).says("Result is 10"));
    let agent = alfred(model.clone()).tool(double).build().await.unwrap();
    let report = agent.session().unwrap().prompt("Double 5").await.unwrap();
    assert_eq!((report.text.as_str(), model.requests().len()), ("Result is 10", 2));
    let result = report.calls[0].result();
    assert_eq!((result.content.as_str(), result.is_ok()), ("{\n  \"result\": 10\n}", true));
}

// A-32, A-36, A-46, A-50: errors go to the model, and calls in text are read by the library as by the binary
#[tokio::test]
async fn errors_go_to_the_model_and_calls_in_text_are_read() {
    let sentinel = r#"[TOOL_CALLS][{"id": "1", "name": "double", "arguments": {"x": 4}}]"#;
    let model = Scripted::new([]).calls([("untold", json!({})), ("missing", json!({}))]);
    let model = Arc::new(model.says(sentinel).says("done"));
    let agent = alfred(model.clone()).tool(untold).tool(double).build().await.unwrap();
    let report = agent.session().unwrap().prompt("go").await.unwrap();
    let contents: Vec<&str> = report.calls.iter().map(|call| call.result().content.as_str()).collect();
    assert_eq!(contents[0], "Error: it is broken");
    assert!(contents[1].starts_with("Error: Tool 'missing' not found"), "{contents:?}");
    assert_eq!((contents[2], report.text.as_str()), ("{\n  \"result\": 8\n}", "done"));
}

// A-34, A-35, A-62
#[tokio::test]
async fn a_turn_is_a_stream_of_its_text() {
    let agent = alfred(Arc::new(Scripted::new([]).says("Hello there."))).build().await.unwrap();
    let mut turn = agent.session().unwrap().prompt("hi");
    let mut text = String::new();
    while let Some(event) = turn.next().await {
        if let Event::Live(Update::Text { text: chunk }) = event {
            text += &chunk;
        }
    }
    assert_eq!(text, "Hello there.");
}
