//! [`Search`] (`search`): finds lines, files or definitions, in one tool.
use crate::{
    FindSettings,
    aliases::{FOLDER, LIMIT},
    examples::examples_for,
    files::blocking,
    glob,
    grep::{self, grep},
    pattern::{self, FilePattern},
    report::Page,
    walk::Rules,
};
use definitions::definitions;
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};

pub(crate) mod definitions;

pub(crate) struct Search(pub(crate) FindSettings);

/// Search for lines (by a regular expression), files (by name or pattern) or definitions (by name).
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// What to look for; `pattern`, lines in files, if left out.
    #[serde(rename = "type")]
    #[schemars(with = "Option<Kind>", extend("x-accepts" = {"type": "string"}))]
    kind: Option<String>,
    /// The expression, name or pattern.
    query: Option<String>,
    /// Folder to search; the workspace if left out.
    path: Option<PathBuf>,
    #[schemars(extend("x-hidden" = true))]
    limit: Option<usize>,
    #[schemars(extend("x-hidden" = true))]
    offset: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[serde(alias = "grep", alias = "content", alias = "text", alias = "regex")]
    Pattern,
    #[serde(alias = "file", alias = "glob", alias = "filename")]
    Files,
    #[serde(alias = "definition", alias = "symbol", alias = "symbols")]
    Definitions,
}

impl Tool for Search {
    const NAME: &'static str = "search";
    const ALIASES: Aliases = Aliases {
        names: &["code_search", "search_code", "find_definition", "find_definitions"],
        parameters: &[("type", &["t", "-t", "kind", "mode"]), ("query", &["pattern", "name"]), FOLDER, LIMIT],
    };
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        let path = args.path.clone().unwrap_or_default();
        let folder = match meant(args) {
            Ok((Kind::Files, query)) => path.join(pattern::split(&query).0),
            _ => path,
        };
        vec![Effect::Read(workspace.join(folder))]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (ctx, settings) = (ctx.clone(), self.0.clone());
        blocking(move || search(&ctx, args, &settings)).await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// What to look for. A lone `type` that is not a kind is the expression: `search -t "pattern" path`.
fn meant(args: &Args) -> Result<(Kind, String), ToolError> {
    let kind = args.kind.as_ref().map(|kind| {
        let kind = serde_json::Value::from(kind.as_str());
        serde_json::from_value::<Kind>(kind)
    });
    match (kind, &args.kind, &args.query) {
        (None, _, Some(query)) => Ok((Kind::Pattern, query.clone())),
        (Some(Ok(kind)), _, Some(query)) => Ok((kind, query.clone())),
        (Some(Err(_)), Some(expression), None) => Ok((Kind::Pattern, expression.clone())),
        (Some(Err(_)), Some(kind), Some(_)) => {
            let why = format!(
                "cannot call `search`: `type` must be one of `pattern`, `files`, `definitions`, not `{kind}`"
            );
            Err(ToolError::new(ToolErrorKind::Validation, why))
        }
        _ => Err(ToolError::new(ToolErrorKind::Validation, "cannot call `search`: `query` is required")
            .hint(r#"for example: search {"type":"definitions","query":"main"}"#)),
    }
}

fn search(ctx: &ToolContext, args: Args, settings: &FindSettings) -> Result<ToolOutput, ToolError> {
    let (kind, query) = meant(&args)?;
    let page = Page::new(args.offset, args.limit, settings);
    match kind {
        Kind::Pattern => grep(ctx, &grep::Args::of(query, args.path, args.limit, args.offset), settings),
        Kind::Files => files(ctx, &args.path.unwrap_or_default(), &query, page),
        Kind::Definitions => definitions(ctx, &args.path.unwrap_or_default(), &query, &page),
    }
}

/// Matches by a pattern, or by a part of the path, ignoring case.
fn files(ctx: &ToolContext, path: &Path, query: &str, page: Page) -> Result<ToolOutput, ToolError> {
    let rules = Rules { hidden: pattern::asks_for_hidden(query), ..Rules::default() };
    if pattern::is_pattern(query) {
        let (folder, rest) = pattern::split(query);
        let pattern = FilePattern::new(&rest, false)?;
        let wanted = glob::Wanted { matches: &|path| pattern.matches(path), rules, page, called: query };
        return glob::files(ctx, &path.join(folder), &wanted);
    }
    let part = query.to_lowercase();
    let matches = |path: &Path| path.to_string_lossy().to_lowercase().contains(&part);
    glob::files(ctx, path, &glob::Wanted { matches: &matches, rules, page, called: query })
}
