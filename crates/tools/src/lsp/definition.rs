//! [`Definition`] (`definition`): where a symbol is defined.
use super::{Asked, LINE, SYMBOL, failed, listed, occurrence, without};
use crate::{aliases::FILE, files::blocking, report::Page, search::definitions::definitions};
use haft_core::{Aliases, Effect, Tool, ToolContext, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};

pub(super) struct Definition(pub(super) Asked);

/// Find where a symbol is defined that a file uses.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// A file in which the symbol stands.
    path: PathBuf,
    /// The name, e.g. `parse`.
    symbol: String,
    /// The line on which it stands, counted from 1; the first one if left out.
    line: Option<usize>,
}

impl Tool for Definition {
    const NAME: &'static str = "definition";
    const ALIASES: Aliases = Aliases {
        names: &["go_to_definition", "goto_definition", "get_definition", "find_symbol"],
        parameters: &[FILE, SYMBOL, LINE],
    };
    type Args = Args;

    fn effects(&self, _: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(workspace.to_owned())]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Args { path, symbol, line } = args;
        let at = occurrence(ctx, &path, symbol.clone(), line);
        match self.0.servers.definitions(&at).await {
            Ok(found) if found.is_empty() => {
                let text = format!("The language server knows no definition of `{symbol}`.");
                Ok(ToolOutput::text(text))
            }
            Ok(found) => Ok(listed(ctx, &found, "definition", &self.0)),
            Err(error) if error.is_about_call() => {
                Err(failed(&format!("find the definition of `{symbol}`"), &error))
            }
            Err(error) => {
                let (ctx, page) = (ctx.clone(), Page::new(None, None, &self.0.settings));
                let found = blocking(move || definitions(&ctx, Path::new(""), &symbol, &page)).await?;
                Ok(without(&error, "these were found by their names", found))
            }
        }
    }
}
