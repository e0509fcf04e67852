//! [`References`] (`references`): where a symbol is used.
use super::{Asked, LINE, SYMBOL, failed, listed, occurrence, without};
use crate::{
    aliases::FILE,
    files::blocking,
    grep::{self, grep},
};
use haft_core::{Aliases, Effect, Tool, ToolContext, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};

pub(super) struct References(pub(super) Asked);

/// Find all uses of a symbol, its definition included.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// A file in which the symbol stands.
    path: PathBuf,
    /// The name, e.g. `parse`.
    symbol: String,
    /// The line on which it stands, counted from 1; the first one if left out.
    line: Option<usize>,
}

impl Tool for References {
    const NAME: &'static str = "references";
    const ALIASES: Aliases = Aliases {
        names: &["find_references", "find_usages", "get_references", "list_code_usages"],
        parameters: &[FILE, SYMBOL, LINE],
    };
    type Args = Args;

    fn effects(&self, _: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(workspace.to_owned())]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Args { path, symbol, line } = args;
        let at = occurrence(ctx, &path, symbol.clone(), line);
        match self.0.servers.references(&at).await {
            Ok(found) if found.is_empty() => {
                Ok(ToolOutput::text(format!("The language server knows no use of `{symbol}`.")))
            }
            Ok(found) => Ok(listed(ctx, &found, "reference", &self.0)),
            Err(error) if error.is_about_call() => {
                Err(failed(&format!("find the uses of `{symbol}`"), &error))
            }
            Err(error) => {
                let (ctx, settings) = (ctx.clone(), self.0.settings.clone());
                let found = blocking(move || grep(&ctx, &grep::Args::of_word(symbol), &settings)).await?;
                Ok(without(&error, "these lines hold the word", found))
            }
        }
    }
}
