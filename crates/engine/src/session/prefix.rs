//! [`RequestPrefix`]: the constant beginning of every request of a session.
use crate::setup::{Agent, Setup, knowledge};
use haft_core::{Registry, ToolSpec, tokens};
use serde_json::Value;
use std::sync::Arc;

/// The beginning of every request. It is built once for each set of tools, because the vendor's prompt cache requires
/// the same bytes.
pub(crate) struct RequestPrefix {
    pub(crate) system: String,
    pub(crate) tools: Arc<[ToolSpec]>,
    /// Estimated tokens of both.
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

/// Estimated tokens of the parts of a request's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefixSize {
    /// The agent's own prompt, with skills and lists of tools in it.
    pub system: u64,
    /// The user's notes for agents.
    pub notes: u64,
    /// The definitions of tools.
    pub tools: u64,
}

impl PrefixSize {
    /// Returns the sizes for the agent of this name, without the tools of sources; `None` if there is no such agent.
    pub fn of(setup: &Setup, agent: &str) -> Option<Self> {
        let agent = setup.agents.iter().find(|known| known.name == agent)?;
        let own = agent.tools.as_ref().map(|names| setup.tools.only(names));
        let prefix = RequestPrefix::new(setup, agent, own.as_ref().unwrap_or(&setup.tools));
        let notes =
            if setup.profile.notes { knowledge::notes(&setup.knowledge.notes) } else { String::new() };
        let (notes, tools) = (tokens::of_text(&notes), tokens::of_tools(&prefix.tools));
        Some(Self { system: prefix.tokens.saturating_sub(notes + tools), notes, tools })
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
