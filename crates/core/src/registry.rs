//! Tools by name.
use crate::{AnyTool, Tool, ToolError, ToolErrorKind, ToolSpec, Validation, schema::Schema, tool::erase};
use indexmap::IndexMap;
use serde_json::Value;
use std::sync::Arc;

/// The tools an agent may call, in the order in which they were registered (A-17). Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry {
    tools: IndexMap<String, Registered>,
}

/// A tool with its schema made ready for checking.
#[derive(Clone)]
pub struct Registered {
    /// The tool.
    pub tool: Arc<dyn AnyTool>,
    schema: Arc<Schema>,
}

impl Registered {
    /// The arguments, coerced where `validation` allows it; or an error that lists every problem (C-19 to C-24).
    pub fn check(&self, arguments: &Value, validation: Validation) -> Result<Value, ToolError> {
        self.schema.check(self.tool.spec(), arguments, validation)
    }
}

/// A tool declared with `#[tool]`, found by [`Registry::declared`].
pub struct Declared(pub fn() -> Arc<dyn AnyTool>);
inventory::collect!(Declared);

impl Registry {
    /// Every tool that `#[tool]` declared anywhere in this program, by name (A-14, A-20).
    pub fn declared() -> Self {
        let mut tools: Vec<_> =
            inventory::iter::<Declared>.into_iter().map(|Declared(make)| make()).collect();
        tools.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        tools.into_iter().fold(Self::default(), Self::with_any)
    }

    /// Adds a tool.
    pub fn with(self, tool: impl Tool) -> Self {
        self.with_any(Arc::new(erase(tool)))
    }

    /// Adds a tool of unknown type. A later tool replaces an earlier one of the same name (A-15, T-23).
    pub fn with_any(mut self, tool: Arc<dyn AnyTool>) -> Self {
        self.register(tool);
        self
    }

    /// As [`Registry::with_any`], in place.
    pub fn register(&mut self, tool: Arc<dyn AnyTool>) {
        let schema = Arc::new(Schema::new(tool.spec().parameters.clone()));
        self.tools.insert(tool.spec().name.clone(), Registered { tool, schema });
    }

    /// Removes every tool (A-19).
    pub fn clear(&mut self) {
        self.tools.clear();
    }

    /// Keeps the tools that an agent's definition names.
    pub fn only(&self, names: &[String]) -> Self {
        let tools = self.tools.iter().filter(|(name, _)| names.contains(name));
        Self { tools: tools.map(|(name, tool)| (name.clone(), tool.clone())).collect() }
    }

    /// The tool of this name; else of this name in another case or with blanks around it (faults A61).
    pub fn get(&self, name: &str) -> Option<&Registered> {
        self.tools.get(name).or_else(|| {
            let mut alike = self.tools.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name.trim()));
            alike.next().map(|(_, tool)| tool).filter(|_| alike.next().is_none())
        })
    }

    /// As [`Registry::get`], or what to tell the model: the nearest name and all the names there are.
    pub fn find(&self, name: &str) -> Result<&Registered, ToolError> {
        self.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            let near = crate::schema::nearest(name, &names).map(|near| format!("did you mean `{near}`? "));
            let hint = format!("{}available tools: {}", near.unwrap_or_default(), names.join(", "));
            ToolError::new(ToolErrorKind::Validation, format!("there is no tool `{}`", name.escape_debug()))
                .hint(hint)
                .details(serde_json::json!({"unknown_tool": name}))
        })
    }

    /// In the order of registration (T-32).
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// How the tools present themselves (A-18, T-31).
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.values().map(|registered| registered.tool.spec().clone()).collect()
    }

    /// One line for each tool: "- `name` - description" (T-34).
    pub fn summaries(&self) -> Vec<String> {
        let line = |spec: &ToolSpec| format!("- `{}` - {}", spec.name, spec.description);
        self.tools.values().map(|registered| line(registered.tool.spec())).collect()
    }

    /// How many there are (T-33).
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are none (A-28, T-53).
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, ToolContext, ToolOutput};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use std::path::Path;

    struct Look(&'static str);
    /// Look at a file.
    #[derive(Deserialize, JsonSchema)]
    struct LookArgs {
        /// Which one.
        #[expect(dead_code, reason = "only its schema matters here")]
        path: String,
    }
    impl Tool for Look {
        const NAME: &'static str = "look";
        type Args = LookArgs;
        fn effects(&self, _: &LookArgs, _: &Path) -> Vec<Effect> {
            vec![Effect::Execute(self.0.into())]
        }
        async fn run(&self, _: LookArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text(self.0))
        }
    }

    // A-15 to A-19, T-07, T-23, T-24, T-28, T-30 to T-34, T-43
    #[test]
    fn a_registry_keeps_tools_by_name_and_in_order() {
        let mut registry = Registry::default().with(Look("first")).with(Look("second"));
        assert_eq!((registry.len(), registry.names().collect::<Vec<_>>()), (1, vec!["look"]));
        let effects =
            registry.find("look").unwrap().tool.effects(&serde_json::json!({"path": "a"}), Path::new("/w"));
        assert_eq!(effects.unwrap(), [Effect::Execute("second".into())]);
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
        let Err(error) = registry.find("lok") else { panic!("`lok` is no tool") };
        assert_eq!(error.message, "there is no tool `lok`");
        assert_eq!(error.hint.unwrap(), "did you mean `look`? available tools: look");
    }
}
