//! [`RemoteTool`]: a tool of a server as a tool of Haft.
use super::server::Server;
use futures::future::BoxFuture;
use haft_core::{
    AnyTool, Effect, Examples, ToolContext, ToolError, ToolOutput, ToolSpec, schema::merge_alternatives,
};
use rmcp::model::Tool;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::{path::Path, sync::Arc};

/// Maximum length of a name: vendors accept only that many letters, digits, `_` and `-`.
const MAX_NAME_LENGTH: usize = 64;

/// A tool of a server.
pub(super) struct RemoteTool {
    spec: ToolSpec,
    accepted: Value,
    server: Arc<Server>,
    /// The server's name of the tool.
    name: String,
    effect: Effect,
    /// Whether the server says that the tool only reads.
    is_read_only: bool,
}

impl RemoteTool {
    /// A tool with a name that `is_free`.
    pub(super) fn new(server: &Arc<Server>, tool: &Tool, is_free: impl Fn(&str) -> bool) -> Self {
        let own = &server.settings.name;
        let spec = ToolSpec {
            name: name(own, &tool.name, is_free),
            description: tool.description.as_deref().unwrap_or_default().to_owned(),
            parameters: parameters(&tool.input_schema),
            examples: Examples::default(),
        };
        let is_read_only = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true);
        let effect = Effect::execute(command(own, tool));
        let effect = if is_read_only && server.settings.trust_hints { effect.read_only() } else { effect };
        let (name, accepted) = (tool.name.to_string(), accepted(&tool.input_schema));
        Self { spec, accepted, server: server.clone(), name, effect, is_read_only }
    }

    pub(super) fn server(&self) -> &str {
        &self.server.settings.name
    }
}

impl AnyTool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn accepts(&self) -> Value {
        self.accepted.clone()
    }

    /// The tool's effects are unknown, so the call counts as a command. The command contains a fingerprint of the
    /// definition: a tool with a changed description needs a new permission (faults D44).
    fn effects(&self, _: &Value, _: &Path) -> Result<Vec<Effect>, ToolError> {
        Ok(vec![self.effect.clone()])
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Calls have a timeout of their own for a silent server, and may take longer while the server asks the user.
    fn ends_itself(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, args: Value, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let arguments = args.as_object().cloned().unwrap_or_default();
            self.server.call(&self.name, arguments, ctx).await
        })
    }
}

/// Formats `mcp:SERVER TOOL PRINT`: plain words for rules, which are not a command that a shell would find.
fn command(server: &str, tool: &Tool) -> String {
    format!("mcp:{} {} {}", clean(server), clean(&tool.name), print(tool))
}

/// Formats `mcp__SERVER__TOOL`, shortened if necessary and unique.
fn name(server: &str, tool: &str, is_free: impl Fn(&str) -> bool) -> String {
    let whole = format!("mcp__{}__{}", clean(server), clean(tool));
    let fitting = match whole.len() > MAX_NAME_LENGTH {
        true => format!("{}_{}", &whole[..MAX_NAME_LENGTH - 9], &hash(whole.as_bytes())[..8]),
        false => whole,
    };
    if is_free(&fitting) {
        return fitting;
    }
    let short = &fitting[..fitting.len().min(MAX_NAME_LENGTH - 5)];
    let mut numbered = (2..).map(|number| format!("{short}_{number}"));
    numbered.find(|name| is_free(name)).expect("some number is free")
}

/// The name with each character other than letters, digits, `_` and `-` replaced by `_`.
fn clean(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

/// Fingerprint of the server's whole definition of the tool.
fn print(tool: &Tool) -> String {
    hash(&serde_json::to_vec(tool).unwrap_or_default())[..16].to_owned()
}

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// What the model is shown. The arguments of a call are an object. Providers require that the schema says so, with
/// `properties` even if there are none, and refuse the whole request if one tool has alternatives or conditions at the
/// top. Arguments are checked against the server's own schema.
fn parameters(schema: &Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    merge_alternatives(&mut schema);
    for key in ["not", "if", "then", "else", "enum", "const", "items"] {
        schema.remove(key);
    }
    schema.insert("type".into(), json!("object"));
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".into(), json!({}));
    }
    Value::Object(schema)
}

/// The server's own schema, if it is one of an object.
fn accepted(schema: &Map<String, Value>) -> Value {
    match schema.get("type").is_none_or(|kind| kind == "object") {
        true => {
            let mut own = schema.clone();
            own.entry("type").or_insert_with(|| json!("object"));
            Value::Object(own)
        }
        false => parameters(schema),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_are_distinct() {
        let long = "a".repeat(80);
        let table = [
            ("git hub", "create.issue", "", "mcp__git_hub__create_issue"),
            ("x", "y", "mcp__x__y", "mcp__x__y_2"),
            ("x", "ä\u{202e}", "", "mcp__x____"),
            ("x", &long, "", &format!("mcp__x__{}_6de81da4", "a".repeat(47))),
        ];
        for (server, tool, taken, expected) in table {
            let name = name(server, tool, |name| name != taken);
            assert_eq!(name, expected);
            assert!(name.len() <= MAX_NAME_LENGTH);
        }
    }

    #[test]
    fn parameters_are_an_object() {
        let (a, b) = (json!({"type": "string"}), json!({"type": "integer"}));
        let table = [
            (json!({}), json!({"type": "object", "properties": {}})),
            (json!({"type": "array", "items": a}), json!({"type": "object", "properties": {}})),
            (
                json!({"properties": {"a": a}, "required": ["a"], "anyOf": [{"properties": {"a": b, "b": b}}, {"$ref": "#/x"}]}),
                json!({"type": "object", "properties": {"a": {"anyOf": [a, b]}, "b": b}, "required": ["a"]}),
            ),
        ];
        for (schema, expected) in table {
            assert_eq!(parameters(schema.as_object().unwrap()), expected);
        }
        let union = json!({"oneOf": [
            {"properties": {"kind": {"const": "circle"}, "size": {"type": "number"}}, "required": ["kind", "size"]},
            {"properties": {"kind": {"const": "label"}, "size": {"type": "string"}}, "required": ["kind", "size"]},
        ]});
        let union = union.as_object().unwrap();
        let told = parameters(union);
        assert_eq!(told["properties"]["kind"], json!({"enum": ["circle", "label"]}));
        assert_eq!(told["properties"]["size"], json!({"anyOf": [{"type": "number"}, {"type": "string"}]}));
        assert_eq!(told["required"], json!(["kind", "size"]));
        assert_eq!(accepted(union)["oneOf"], union["oneOf"]);
    }
}
