//! [`Aliases`]: other names of a tool or its parameters, as other systems call them.
//!
//! A model is shown one name of each tool and parameter, but names that it learned from other systems are accepted,
//! too.
use serde_json::{Map, Value};

/// Other names of a tool and of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aliases {
    /// Other names of the tool.
    pub names: &'static [&'static str],
    /// Other names of parameters, at any depth: the name in the schema, then its aliases.
    pub parameters: &'static [(&'static str, &'static [&'static str])],
}

impl Aliases {
    /// No other names.
    pub const NONE: Self = Self { names: &[], parameters: &[] };

    /// Returns `value` with aliases replaced by the names in `schema`. If an object has a name and its alias, the alias
    /// stays, so that the check reports it.
    pub(crate) fn rename(&self, value: Value, schema: &Value) -> Value {
        match value {
            Value::Object(object) => Value::Object(self.rename_in(object, schema.get("properties"))),
            Value::Array(items) => match schema.get("items") {
                Some(each) => items.into_iter().map(|item| self.rename(item, each)).collect(),
                None => Value::Array(items),
            },
            other => other,
        }
    }

    fn rename_in(&self, object: Map<String, Value>, known: Option<&Value>) -> Map<String, Value> {
        let Some(known) = known.and_then(Value::as_object) else { return object };
        let given: Vec<String> = object.keys().cloned().collect();
        let named = |name: String| match self.parameters.iter().find(|(_, others)| others.contains(&&*name)) {
            Some((own, _))
                if !known.contains_key(&name)
                    && known.contains_key(*own)
                    && !given.iter().any(|name| name == own) =>
            {
                (*own).to_owned()
            }
            _ => name,
        };
        let renamed = object.into_iter().map(|(name, value)| {
            let name = named(name);
            let value = match known.get(&name) {
                Some(inner) => self.rename(value, inner),
                None => value,
            };
            (name, value)
        });
        renamed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    //
    #[test]
    fn other_names_become_those_of_the_schema() {
        let aliases = Aliases { names: &[], parameters: &[("path", &["filePath"]), ("old_text", &["old"])] };
        let edit = json!({"properties": {"old_text": {}}});
        let schema = json!({"properties": {"path": {}, "edits": {"items": edit}}});
        let table = [
            (json!({"filePath": "a"}), json!({"path": "a"})),
            (json!({"filePath": "a", "path": "b"}), json!({"filePath": "a", "path": "b"})),
            (json!({"edits": [{"old": "x"}, 1]}), json!({"edits": [{"old_text": "x"}, 1]})),
            (json!({"old": "not at this depth"}), json!({"old": "not at this depth"})),
            (json!(["no object"]), json!(["no object"])),
        ];
        for (given, expected) in table {
            assert_eq!(aliases.rename(given.clone(), &schema), expected, "{given}");
        }
    }
}
