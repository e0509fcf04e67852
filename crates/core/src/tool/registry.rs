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

/// The tools an agent may call, in the order in which they were registered. Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry {
    tools: IndexMap<String, Registered>,
}

/// A tool and how it is offered.
#[derive(Clone)]
pub struct Registered {
    /// The tool.
    pub tool: Arc<dyn AnyTool>,
    /// Made when it is first called: most tools never are.
    schema: Arc<OnceLock<Schema>>,
    /// The schema of the types as models were shown them.
    told_types: Arc<OnceLock<Schema>>,
    offer: Offer,
    /// What models are shown, if that is not what the tool says.
    told: Option<Arc<ToolSpec>>,
    presentation: Arc<Presentation>,
}

/// Which agents may call a tool.
#[derive(Clone, Copy, PartialEq)]
enum Offer {
    /// Models are shown it.
    Visible,
    /// Models are not shown it, but may call it all the same.
    Hidden,
    /// It cannot be called, as if there were no such tool.
    Disabled,
}

impl Registered {
    /// The arguments by their own names, coerced where `validation` allows it; or an error that lists every
    /// problem.
    pub fn check(&self, arguments: &Value, validation: Validation) -> Result<Value, ToolError> {
        let named = self.tool.aliases().rename(self.own_names(arguments), self.schema().parameters());
        if validation == Validation::Strict {
            self.check_types(arguments, &named)?;
        }
        self.schema().check(self.told(), &named, validation)
    }

    /// Arguments under the names that models were shown must have the type that they were shown, though the tool takes
    /// others.
    fn check_types(&self, arguments: &Value, named: &Value) -> Result<(), ToolError> {
        let schema = self.told_types.get_or_init(|| {
            let properties = self.told().parameters.get("properties").cloned().unwrap_or_default();
            Schema::new(serde_json::json!({"type": "object", "properties": properties}))
        });
        let mut problems = schema.problems(arguments)?;
        if problems.is_empty() || !arguments.is_object() {
            return Ok(());
        }
        // All problems at once; those of the same parameters are in already.
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

    /// What models are shown of the tool.
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

    /// The tool's own names of parameters that it takes and models were not shown.
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

    /// What models are shown, if other tools have these names.
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
    /// The type of the function that it was made of.
    pub function: fn() -> TypeId,
    /// File and line of the function.
    pub place: (&'static str, u32),
}
inventory::collect!(Declared);

impl Registry {
    /// Returns every tool that `#[tool]` declared anywhere in this program, by file, and in a file from top to bottom.
    pub fn declared() -> Self {
        let mut declared: Vec<&Declared> = inventory::iter::<Declared>.into_iter().collect();
        declared.sort_by_key(|declared| declared.place);
        declared.into_iter().map(|declared| (declared.tool)()).fold(Self::default(), Self::with_any)
    }

    /// Returns the tool that `#[tool]` made of a function of type `function`.
    pub fn declared_by(function: TypeId) -> Option<Arc<dyn AnyTool>> {
        let found =
            inventory::iter::<Declared>.into_iter().find(|declared| (declared.function)() == function);
        found.map(|declared| (declared.tool)())
    }

    /// Adds a tool.
    pub fn with(self, tool: impl Tool) -> Self {
        self.with_any(Arc::new(erase(tool)))
    }

    /// Adds a tool of unknown type. A later tool replaces an earlier one of the same name.
    pub fn with_any(mut self, tool: Arc<dyn AnyTool>) -> Self {
        self.register(tool);
        self
    }

    /// Adds a tool as [`Registry::with_any`] does, in place.
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

    /// Returns whether there is a tool of this name, whether or not it can be called.
    pub fn contains(&self, name: &str) -> bool {
        self.any(name).is_some()
    }

    /// Adds the tools of `other` behind its own. A name that is there already keeps its tool: what comes from outside
    /// shadows nothing.
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

    /// Tells models of these tools alone, in this order. The others can be called all the same: models know them
    /// from elsewhere, and the policy judges every call.
    pub fn offering<S: AsRef<str>>(self, names: &[S]) -> Self {
        self.offering_or(names, Offer::Hidden)
    }

    /// Like [`Registry::offering`], but the others cannot be called until an agent's definition names them.
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

    /// Tells models of the tool of this name as `presentation` says; nothing where there is no such tool.
    pub fn presenting(mut self, name: &str, presentation: Presentation) -> Self {
        if let Some(registered) = self.tools.get_mut(name) {
            let told = presentation.of(registered.tool.spec(), registered.schema().parameters());
            (registered.told, registered.presentation) = (Some(Arc::new(told)), Arc::new(presentation));
            registered.told_types = Arc::default();
        }
        self
    }

    /// Returns the tool with this name; otherwise the one with this name in another case or surrounded by blanks;
    /// otherwise the one that other products call by this name; otherwise any of these for the name without what gpt-oss and
    /// others add to it.
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

    /// Returns the same as [`Registry::get`], or fails with what to tell the model: the nearest name and all the names
    /// there are.
    pub fn find(&self, name: &str) -> Result<&Registered, ToolError> {
        self.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            let near = crate::schema::nearest(name, &names).map(|near| format!("did you mean `{near}`? "));
            let hint = format!("{}available tools: {}", near.unwrap_or_default(), names.join(", "));
            ToolError::unknown_tool(name, hint)
        })
    }

    /// Returns `error` of a call of the tool `name`, with the names that models were shown. What a hint says of
    /// parameters that they were not shown is left out.
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

    /// Returns the names of the offered tools, in the order of registration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.offered().map(|told| told.name.as_str())
    }

    /// Returns how the offered tools present themselves.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        let tools = self.renames();
        let offered = self.tools.values().filter(|registered| registered.offer == Offer::Visible);
        offered.map(|registered| registered.in_names(&tools)).collect()
    }

    /// Returns the same as models get them: `{"type":"function","function":{name,description,parameters}}`.
    pub fn definitions(&self) -> Vec<Value> {
        self.offered().map(ToolSpec::definition).collect()
    }

    /// Returns one line for each offered tool: "- `name` - description".
    pub fn summaries(&self) -> Vec<String> {
        let line = |spec: &ToolSpec| format!("- `{}` - {}", spec.name, spec.description);
        self.offered().map(line).collect()
    }

    /// Returns every tool that can be called, whether models are shown it or not.
    pub fn all(&self) -> impl Iterator<Item = &Registered> {
        self.tools.values()
    }

    fn offered(&self) -> impl Iterator<Item = &ToolSpec> {
        let offered = self.tools.values().filter(|registered| registered.offer == Offer::Visible);
        offered.map(Registered::told)
    }

    /// Returns how many are offered.
    pub fn len(&self) -> usize {
        self.offered().count()
    }

    /// Returns whether none is offered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The parts of a hint that name none of these in backticks; `None` if each does.
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

/// The name in `functions.NAME` and `NAME<|channel|>commentary`: what its template writes around a name, a model writes into it
/// at times.
fn undecorated(name: &str) -> Option<&str> {
    let bare = name.split_once("<|").map_or(name, |(bare, _)| bare).trim();
    let bare = bare.strip_prefix("functions.").unwrap_or(bare);
    (bare.len() < name.len()).then_some(bare)
}

fn only<'a>(mut found: impl Iterator<Item = &'a Registered>) -> Option<&'a Registered> {
    found.next().filter(|_| found.next().is_none())
}
