//! What every request of a session begins with.
use crate::setup::{Agent, Setup, knowledge};
use haft_core::{Registry, ToolSpec, tokens};
use serde_json::Value;
use std::sync::Arc;

/// The part of every request that does not change while the tools stay the same, made once: what is the same byte for
/// byte is read from the vendor's cache.
pub(crate) struct RequestPrefix {
    pub(crate) system: String,
    pub(crate) tools: Arc<[ToolSpec]>,
    /// About how many tokens both take.
    pub(crate) tokens: u64,
}

impl RequestPrefix {
    pub(crate) fn new(setup: &Setup, agent: &Agent, tools: &Registry) -> Self {
        let list = setup.profile.tool_list.as_ref().filter(|_| !tools.is_empty());
        let specs = tools.specs();
        let list =
            list.map(|template| template.replace("{tools}", &tool_list(&specs, &setup.profile.tool_line)));
        let notes =
            if setup.profile.notes { knowledge::notes(&setup.knowledge.notes) } else { String::new() };
        let skills = knowledge::skills(&setup.knowledge, tools);
        let system = agent.system.clone() + &notes + &skills + &list.unwrap_or_default();
        Self { tokens: tokens::of_text(&system) + tokens::of_tools(&specs), system, tools: specs }
    }
}

/// A line for each tool, such as `- name(param: type, …): description`.
fn tool_list(specs: &[ToolSpec], line: &str) -> String {
    let lines = specs.iter().map(|spec| {
        let parameters = spec.parameters.get("properties").and_then(Value::as_object);
        let parameters = parameters.into_iter().flatten().map(|(name, schema)| {
            format!("{name}: {}", schema.get("type").and_then(Value::as_str).unwrap_or("any"))
        });
        let first = spec.description.lines().next().unwrap_or_default();
        let line = line.replace("{name}", &spec.name);
        let line = line.replace("{parameters}", &parameters.collect::<Vec<_>>().join(", "));
        line.replace("{description}", first)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    //
    #[test]
    fn the_tool_list_has_a_line_for_each_tool() {
        let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {}}});
        let spec = ToolSpec {
            name: "read".into(),
            description: "Read a file.\nOr a part of it.".into(),
            parameters,
            examples: vec![].into(),
        };
        let line = crate::setup::Profile::standard().tool_line;
        assert_eq!(tool_list(&[spec], &line), "- read(path: string, limit: any): Read a file.");
    }
}
