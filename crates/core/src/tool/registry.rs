//! [`Registry`]: the tools of a session, by name.
use crate::{
    AnyTool, Presentation, Tool, ToolError, ToolSpec, Validation,
    schema::{self, Problem, Schema},
    tool::{erase, renames::Renames},
};
use indexmap::IndexMap;
use serde_json::Value;
use std::{
    any::TypeId,
    sync::{Arc, OnceLock},
};

/// The tools of an agent, in the order in which they were registered or offered. Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry {
    tools: IndexMap<String, Registered>,
}

/// A tool, and how it is offered.
#[derive(Clone)]
pub struct Registered {
    /// The tool.
    pub tool: Arc<dyn AnyTool>,
    /// Compiled when it is first needed, usually at the first call of the tool: most tools are never called.
    schema: Arc<OnceLock<Schema>>,
    /// The types of the parameters in the schema that models are shown.
    told_types: Arc<OnceLock<Schema>>,
    offer: Offer,
    /// The description that models are shown, if it differs from the tool's own.
    told: Option<Arc<ToolSpec>>,
    presentation: Arc<Presentation>,
}

/// Which agents may call a tool.
#[derive(Clone, Copy, PartialEq)]
enum Offer {
    /// Models are shown the tool.
    Visible,
    /// Models are not shown the tool, but may call it.
    Hidden,
    /// The tool cannot be called, as if it did not exist.
    Disabled,
}

impl Registered {
    /// Returns the arguments under the tool's own names, coerced if `validation` allows it. The error lists every
    /// problem.
    pub fn check(&self, arguments: &Value, validation: Validation) -> Result<Value, ToolError> {
        let named = self.tool.aliases().rename(self.own_names(arguments), self.schema().parameters());
        if validation == Validation::Strict {
            self.check_types(arguments, &named)?;
        }
        self.schema().check(self.told(), &named, validation)
    }

    /// Checks that arguments under the names that models were shown have the types that models were shown, even if the
    /// tool accepts others.
    fn check_types(&self, arguments: &Value, named: &Value) -> Result<(), ToolError> {
        let schema = self.told_types.get_or_init(|| {
            let properties = self.told().parameters.get("properties").cloned().unwrap_or_default();
            Schema::new(serde_json::json!({"type": "object", "properties": properties}))
        });
        let mut problems = schema.problems(arguments)?;
        if problems.is_empty() || !arguments.is_object() {
            return Ok(());
        }
        // All problems are reported at once; those of the same parameters are already included.
        let own = |problem: &Problem| {
            let name = problem.path.first().and_then(Value::as_str).unwrap_or_default();
            self.presentation.own_name(name).unwrap_or(name).to_owned()
        };
        let told: Vec<String> = problems.iter().map(own).collect();
        let rest = self.schema().problems_among(named, &self.told().parameters)?;
        let is_new =
            |problem: &Problem| problem.path.first().is_none_or(|name| told.iter().all(|told| name != told));
        problems.extend(rest.into_iter().filter(is_new));
        Err(schema::refused(self.told(), &problems))
    }

    /// Returns the description that models are shown.
    pub fn told(&self) -> &ToolSpec {
        self.told.as_deref().unwrap_or_else(|| self.tool.spec())
    }

    fn schema(&self) -> &Schema {
        self.schema.get_or_init(|| Schema::new(self.tool.accepts()))
    }

    fn renames(&self) -> Renames<'_> {
        let parameters = self.presentation.parameters.iter();
        Renames::new(parameters.map(|(own, told)| (own.as_str(), told.as_str())))
    }

    /// The tool's own names of the parameters that it accepts but that models were not shown.
    fn untold(&self) -> Vec<&str> {
        let told = &self.told().parameters["properties"];
        let name = |own: &str| self.presentation.parameters.get(own).map_or(own.to_owned(), String::clone);
        let own = self.schema().parameters().get("properties").and_then(Value::as_object);
        own.into_iter()
            .flat_map(|all| all.keys())
            .map(String::as_str)
            .filter(|own| told.get(name(own)).is_none())
            .collect()
    }

    /// The description that models are shown, with parameters and other tools under the names that models are shown.
    fn in_names(&self, tools: &Renames<'_>) -> ToolSpec {
        let mut told = self.told().clone();
        for renames in [&self.renames(), tools] {
            told.description = renames.text(&told.description).into_owned();
            renames.descriptions(&mut told.parameters);
        }
        told
    }

    fn own_names(&self, arguments: &Value) -> Value {
        let Value::Object(arguments) = arguments else { return arguments.clone() };
        let own = |name: &String| self.presentation.own_name(name).unwrap_or(name).to_owned();
        Value::Object(arguments.iter().map(|(name, value)| (own(name), value.clone())).collect())
    }
}

/// A tool declared with `#[tool]`, found by [`Registry::declared`].
pub struct Declared {
    /// Makes the tool.
    pub tool: fn() -> Arc<dyn AnyTool>,
    /// The type of the function from which it was made.
    pub function: fn() -> TypeId,
    /// File and line of the function.
    pub place: (&'static str, u32),
}
inventory::collect!(Declared);

impl Registry {
    /// Returns every tool that `#[tool]` declared anywhere in this program, sorted by file and line.
    pub fn declared() -> Self {
        let mut declared: Vec<&Declared> = inventory::iter::<Declared>.into_iter().collect();
        declared.sort_by_key(|declared| declared.place);
        declared.into_iter().map(|declared| (declared.tool)()).fold(Self::default(), Self::with_any)
    }

    /// Returns the tool that `#[tool]` made from the function of type `function`.
    pub fn declared_by(function: TypeId) -> Option<Arc<dyn AnyTool>> {
        let found =
            inventory::iter::<Declared>.into_iter().find(|declared| (declared.function)() == function);
        found.map(|declared| (declared.tool)())
    }

    /// Adds a tool.
    pub fn with(self, tool: impl Tool) -> Self {
        self.with_any(Arc::new(erase(tool)))
    }

    /// Adds a tool of any type. A later tool replaces an earlier one of the same name.
    pub fn with_any(mut self, tool: Arc<dyn AnyTool>) -> Self {
        self.register(tool);
        self
    }

    /// Like [`Registry::with_any`], but in place.
    pub fn register(&mut self, tool: Arc<dyn AnyTool>) {
        let (schema, told_types, presentation) = (Arc::default(), Arc::default(), Arc::default());
        let registered =
            Registered { tool, schema, told_types, offer: Offer::Visible, told: None, presentation };
        self.tools.insert(registered.tool.spec().name.clone(), registered);
    }

    /// Removes every tool.
    pub fn clear(&mut self) {
        self.tools.clear();
    }

    /// Keeps the tools that an agent's definition names, and offers them.
    pub fn only(&self, names: &[String]) -> Self {
        let wanted = names.iter().filter_map(|name| self.any(name));
        let wanted: Vec<&str> = wanted.map(|registered| registered.tool.spec().name.as_str()).collect();
        let tools = self.tools.iter().filter(|(name, _)| wanted.contains(&name.as_str()));
        let offer = |(name, tool): (&String, &Registered)| {
            (name.clone(), Registered { offer: Offer::Visible, ..tool.clone() })
        };
        Self { tools: tools.map(offer).collect() }
    }

    /// Returns whether a tool of this name exists, even if it cannot be called.
    pub fn contains(&self, name: &str) -> bool {
        self.any(name).is_some()
    }

    /// Adds the tools of `other` after its own. An existing name keeps its tool, so that tools from outside replace
    /// nothing.
    pub fn joined(mut self, other: &Self) -> Self {
        for (name, registered) in &other.tools {
            self.tools.entry(name.clone()).or_insert_with(|| registered.clone());
        }
        self
    }

    /// Returns all but the tool of this name.
    pub fn without(mut self, name: &str) -> Self {
        self.tools.shift_remove(name);
        self
    }

    /// Shows only these tools to models, in this order. The others can still be called: models may know them from other
    /// products, and the policy judges every call.
    pub fn offering<S: AsRef<str>>(self, names: &[S]) -> Self {
        self.offering_or(names, Offer::Hidden)
    }

    /// Like [`Registry::offering`], but the other tools cannot be called unless an agent's definition names them.
    pub fn offering_only<S: AsRef<str>>(self, names: &[S]) -> Self {
        self.offering_or(names, Offer::Disabled)
    }

    fn offering_or<S: AsRef<str>>(mut self, names: &[S], other: Offer) -> Self {
        let place = |name: &str| names.iter().position(|offered| offered.as_ref() == name);
        for (name, registered) in &mut self.tools {
            registered.offer = if place(name).is_some() { Offer::Visible } else { other };
        }
        self.tools.sort_by_key(|name, _| place(name).unwrap_or(names.len()));
        self
    }

    /// Shows the tool of this name to models according to `presentation`; no effect if there is no such tool.
    pub fn presenting(mut self, name: &str, presentation: Presentation) -> Self {
        if let Some(registered) = self.tools.get_mut(name) {
            let told = presentation.of(registered.tool.spec(), registered.schema().parameters());
            (registered.told, registered.presentation) = (Some(Arc::new(told)), Arc::new(presentation));
            registered.told_types = Arc::default();
        }
        self
    }

    /// Returns the tool with this name; otherwise the only tool whose own or shown name differs at most in case or
    /// surrounding spaces; otherwise the only tool for which other products use this name. If there is none, searches
    /// in the same way for the name without the decorations that gpt-oss and others add. Tools that cannot be called
    /// are not returned.
    pub fn get(&self, name: &str) -> Option<&Registered> {
        self.any(name).filter(|registered| registered.offer != Offer::Disabled)
    }

    fn any(&self, name: &str) -> Option<&Registered> {
        self.called(name).or_else(|| undecorated(name).and_then(|name| self.called(name)))
    }

    fn called(&self, name: &str) -> Option<&Registered> {
        let alike = |known: &str| known.eq_ignore_ascii_case(name.trim());
        let called = |tool: &&Registered| alike(&tool.told().name) || alike(&tool.tool.spec().name);
        let called_elsewhere =
            |tool: &&Registered| tool.tool.aliases().names.iter().any(|known| alike(known));
        let by_name = || only(self.tools.values().filter(called));
        self.tools.get(name).or_else(by_name).or_else(|| only(self.tools.values().filter(called_elsewhere)))
    }

    /// Returns the same as [`Registry::get`]. The error tells the model the nearest name, and all names.
    pub fn find(&self, name: &str) -> Result<&Registered, ToolError> {
        self.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            let near = crate::schema::nearest(name, &names).map(|near| format!("did you mean `{near}`? "));
            let hint = format!("{}available tools: {}", near.unwrap_or_default(), names.join(", "));
            ToolError::unknown_tool(name, hint)
        })
    }

    /// Returns the error `error` of a call of the tool `name` with the names that models were shown. Parts of the hint
    /// about parameters that models were not shown are removed.
    pub fn in_shown_names(&self, name: &str, error: ToolError) -> ToolError {
        let called = self.get(name);
        let parameters = called.map(Registered::renames).unwrap_or_default();
        let tools = self.renames();
        let told = |text: &str| tools.text(&parameters.text(text)).into_owned();
        let hint = error.hint.as_deref().and_then(|hint| match called {
            Some(called) => without(hint, &called.untold()),
            None => Some(hint.to_owned()),
        });
        ToolError { message: told(&error.message), hint: hint.as_deref().map(told), ..error }
    }

    fn renames(&self) -> Renames<'_> {
        Renames::new(
            self.tools.iter().map(|(own, registered)| (own.as_str(), registered.told().name.as_str())),
        )
    }

    /// Returns the names of the offered tools, as models are shown them: in the order of [`Registry::offering`],
    /// otherwise of registration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.offered().map(|told| told.name.as_str())
    }

    /// Returns the descriptions of the offered tools.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        let tools = self.renames();
        let offered = self.tools.values().filter(|registered| registered.offer == Offer::Visible);
        offered.map(|registered| registered.in_names(&tools)).collect()
    }

    /// Returns the descriptions of the offered tools in the form for models:
    /// `{"type":"function","function":{name,description,parameters}}`.
    pub fn definitions(&self) -> Vec<Value> {
        self.offered().map(ToolSpec::definition).collect()
    }

    /// Returns one line for each offered tool: "- `name` - description".
    pub fn summaries(&self) -> Vec<String> {
        let line = |spec: &ToolSpec| format!("- `{}` - {}", spec.name, spec.description);
        self.offered().map(line).collect()
    }

    /// Returns every tool, including those that models are not shown and those that cannot be called.
    pub fn all(&self) -> impl Iterator<Item = &Registered> {
        self.tools.values()
    }

    fn offered(&self) -> impl Iterator<Item = &ToolSpec> {
        let offered = self.tools.values().filter(|registered| registered.offer == Offer::Visible);
        offered.map(Registered::told)
    }

    /// Returns the number of offered tools.
    pub fn len(&self) -> usize {
        self.offered().count()
    }

    /// Returns whether no tool is offered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The parts of a hint that contain none of these names in backticks; `None` if all contain one.
fn without(hint: &str, names: &[&str]) -> Option<String> {
    let is_told = |part: &&str| {
        let quoted = part.split('`').skip(1).step_by(2);
        !quoted.map(|name| name.split(['[', '.']).next().unwrap_or(name)).any(|name| names.contains(&name))
    };
    let kept = hint.split("; ").filter_map(|advice| {
        let ways: Vec<&str> = advice.split(", or ").filter(is_told).collect();
        (!ways.is_empty()).then(|| ways.join(", or "))
    });
    let kept: Vec<String> = kept.collect();
    (!kept.is_empty()).then(|| kept.join("; "))
}

/// The name in `functions.NAME` and `NAME<|channel|>commentary`. Models sometimes add parts of their template to a
/// name.
fn undecorated(name: &str) -> Option<&str> {
    let bare = name.split_once("<|").map_or(name, |(bare, _)| bare).trim();
    let bare = bare.strip_prefix("functions.").unwrap_or(bare);
    (bare.len() < name.len()).then_some(bare)
}

fn only<'a>(mut found: impl Iterator<Item = &'a Registered>) -> Option<&'a Registered> {
    found.next().filter(|_| found.next().is_none())
}
