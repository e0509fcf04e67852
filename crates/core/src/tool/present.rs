//! How a profile presents a tool to a model under names of its own: see [`Presentation`].
use crate::{Example, Examples, ToolSpec};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a model is told in place of a tool's own name, description and parameters. What is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Presentation {
    /// Name in place of the tool's own.
    pub name: Option<String>,
    /// Description in place of the tool's own.
    pub description: Option<String>,
    /// Maps the original name of each parameter to the name that the model is told. Shows only listed parameters, in
    /// this order; an empty table shows all under their original names. Hidden parameters may be listed, too.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub parameters: IndexMap<String, String>,
    /// JSON Schemas in place of the tool's own, by the name that the model is told. The tool has to take what they allow.
    #[schemars(with = "std::collections::BTreeMap<String, Value>")]
    pub schemas: IndexMap<String, Value>,
}

impl Presentation {
    /// `spec` as it is presented. `accepted`: the schema with all that the tool takes.
    pub(crate) fn of(&self, spec: &ToolSpec, accepted: &Value) -> ToolSpec {
        let mut told = spec.clone();
        told.name = self.name.clone().unwrap_or(told.name);
        told.description = self.description.clone().unwrap_or(told.description);
        if !self.parameters.is_empty() {
            told.parameters = self.parameters_of(&spec.parameters, accepted);
            let (presented, own, parameters) = (self.clone(), spec.examples.clone(), told.parameters.clone());
            told.examples = Examples::when_needed(move || {
                own.iter().map(|example| presented.example(example.clone(), &parameters)).collect()
            });
        }
        told
    }

    /// An example with the names that the model is shown; parameters that it is not shown are left out.
    fn example(&self, mut example: Example, told: &Value) -> Example {
        let given = std::mem::take(&mut example.arguments);
        let named = self.parameters.iter().filter_map(|(own, name)| {
            let value = given.get(own)?.clone();
            let is_list = told["properties"][name]["type"] == "array" && !value.is_array();
            Some((name.clone(), if is_list { Value::Array(vec![value]) } else { value }))
        });
        example.arguments = Value::Object(named.collect());
        example
    }

    fn parameters_of(&self, own: &Value, accepted: &Value) -> Value {
        let property = |name: &str| own["properties"].get(name).or_else(|| accepted["properties"].get(name));
        // What a model is shown under another name it is shown in full: `file_paths` is a list.
        let told = |own_name: &str, name: &str| match (self.schemas.get(name), own_name == name) {
            (Some(schema), _) => described(property(own_name)?, Some(schema)),
            (None, true) => property(own_name).cloned(),
            (None, false) => described(property(own_name)?, accepted["properties"].get(own_name)),
        };
        let named = self.parameters.iter();
        let properties: Map<String, Value> =
            named.filter_map(|(own, name)| Some((name.clone(), told(own, name)?))).collect();
        let required = own["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let required: Vec<&String> = required.filter_map(|name| self.parameters.get(name)).collect();
        serde_json::json!({"type": "object", "properties": properties, "required": required})
    }

    /// The tool's own name for a parameter that the model was shown under this one.
    pub(crate) fn own_name(&self, told: &str) -> Option<&str> {
        self.parameters.iter().find(|(_, name)| *name == told).map(|(own, _)| own.as_str())
    }
}

/// The accepted schema, with the description of the one that is shown.
fn described(told: &Value, accepted: Option<&Value>) -> Option<Value> {
    let mut schema = accepted.unwrap_or(told).clone();
    if let (Some(object), Some(description)) = (schema.as_object_mut(), told.get("description")) {
        object.entry("description").or_insert_with(|| description.clone());
    }
    Some(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // C-45, O-26, T-08, X-10
    #[test]
    fn a_tool_is_told_under_other_names() {
        let parameters = json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string", "description": "The file."}, "limit": {"type": "integer"},
        }});
        let accepted = json!({"properties": {
            "path": {"type": ["string", "array"]}, "limit": {"type": "integer"}, "more": {"type": "boolean"},
        }});
        let spec =
            ToolSpec { name: "read".into(), description: "d".into(), parameters, examples: vec![].into() };
        let presentation: Presentation = serde_json::from_value(json!({
            "name": "read_file", "parameters": {"path": "file_paths", "more": "more"},
        }))
        .unwrap();
        let told = presentation.of(&spec, &accepted);
        assert_eq!((told.name.as_str(), told.description.as_str()), ("read_file", "d"));
        let expected = json!({"type": "object", "required": ["file_paths"], "properties": {
            "file_paths": {"type": ["string", "array"], "description": "The file."}, "more": {"type": "boolean"},
        }});
        assert_eq!(told.parameters, expected);
        assert_eq!(presentation.own_name("file_paths"), Some("path"));
        assert_eq!(Presentation::default().of(&spec, &accepted), spec);
    }
}
