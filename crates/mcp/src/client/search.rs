//! [`ToolSearch`] (`tool_search`): finds tools that are too many to be described to the model.
use super::{found::Found, tool::RemoteTool};
use futures::future::BoxFuture;
use haft_core::{AnyTool, Clip, Effect, Keep, ToolContext, ToolError, ToolErrorKind, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path, sync::Arc};

/// Find tools by what they do. Those found can be called from then on, by the names given here.
#[derive(Deserialize, JsonSchema)]
struct Args {
    /// Words, or a tool's name.
    query: String,
    /// At most so many; 5 if left out.
    limit: Option<usize>,
}

const TOOL_NAME: &str = "tool_search";
const DEFAULT_RESULTS: usize = 5;
const MAX_RESULTS: usize = 20;

/// A schema can be as long as it likes; the whole answer cannot.
const MAX_ANSWER: Clip = Clip { lines: 2_000, bytes: 30_000, keep: Keep::Head };

pub(super) struct ToolSearch {
    spec: ToolSpec,
    tools: Vec<Arc<RemoteTool>>,
    found: Found,
}

impl ToolSearch {
    pub(super) fn new(tools: Vec<Arc<RemoteTool>>, found: Found) -> Self {
        let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
        tools.iter().for_each(|tool| *servers.entry(tool.server()).or_default() += 1);
        let servers: Vec<_> = servers.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        let mut spec = ToolSpec::of::<Args>(TOOL_NAME);
        spec.description += &format!(" There are tools of: {}.", servers.join(", "));
        Self { spec, tools, found }
    }

    fn search(&self, args: &Args) -> Vec<&Arc<RemoteTool>> {
        let words: Vec<String> = args.query.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let scored = self.tools.iter().map(|tool| (score(tool.spec(), &words), tool));
        let mut scored: Vec<_> = scored.filter(|(score, _)| *score > 0).collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let limit = args.limit.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
        scored.into_iter().map(|(_, tool)| tool).take(limit).collect()
    }
}

/// How well a tool fits: a word counts most as the whole name, more in the name than in the description.
fn score(spec: &ToolSpec, words: &[String]) -> usize {
    let (name, description) = (spec.name.to_lowercase(), spec.description.to_lowercase());
    let points = words.iter().map(|word| match () {
        () if name == *word || name.ends_with(&format!("__{word}")) => 20,
        () if name.contains(word.as_str()) => 5,
        () if description.contains(word.as_str()) => 1,
        () => 0,
    });
    points.sum()
}

impl AnyTool for ToolSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn leaves_files(&self) -> bool {
        true
    }
    fn is_idempotent(&self) -> bool {
        true
    }
    fn effects(&self, _: &Value, _: &Path) -> Result<Vec<Effect>, ToolError> {
        Ok(Vec::new())
    }

    fn call<'a>(&'a self, args: Value, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let wrong = |error| ToolError::new(ToolErrorKind::Validation, format!("cannot search: {error}"));
            let args: Args = serde_json::from_value(args).map_err(wrong)?;
            let found = self.search(&args);
            if found.is_empty() {
                let message = format!("no tool fits `{}`", args.query);
                return Err(ToolError::new(ToolErrorKind::User, message).hint("try other words, one or two"));
            }
            let names: Vec<String> = found.iter().map(|tool| tool.spec().name.clone()).collect();
            self.found.add(&ctx.session, &names);
            let told: Vec<String> = found.iter().map(|tool| tell(tool.spec())).collect();
            let text = MAX_ANSWER.apply(&told.join("\n\n"), "search for fewer");
            Ok(ToolOutput::text(text).details(json!({"tools": names})).show(names.join(", ")))
        })
    }
}

fn tell(spec: &ToolSpec) -> String {
    format!("{}: {}\nparameters: {}", spec.name, spec.description, spec.parameters)
}
