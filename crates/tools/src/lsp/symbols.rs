//! [`Symbols`] (`symbols`): what a file defines.
use super::{Asked, failed, real, without};
use crate::{
    aliases::FILE,
    files::blocking,
    navigate::outlined,
    report::{Page, counted},
};
use haft_core::{Aliases, Effect, Tool, ToolContext, ToolError, ToolOutput};
use haft_lsp::Defined;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};

pub(super) struct Symbols(pub(super) Asked);

/// List what a source file defines, with line numbers.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// The file.
    path: PathBuf,
}

impl Tool for Symbols {
    const NAME: &'static str = "symbols";
    const ALIASES: Aliases =
        Aliases { names: &["list_symbols", "get_symbols", "get_symbols_overview"], parameters: &[FILE] };
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(workspace.join(&args.path))]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let page = Page::new(None, None, &self.0.settings);
        match self.0.servers.outline(&real(ctx, &args.path)).await {
            Ok(found) => Ok(outline(&args.path, &found, &page)),
            Err(error) if error.is_about_call() => {
                Err(failed(&format!("list the symbols of `{}`", args.path.display()), &error))
            }
            Err(error) => {
                let ctx = ctx.clone();
                let found = blocking(move || outlined(&ctx, &args.path, &page)).await?;
                Ok(without(&error, "these were found by the grammar of the language", found))
            }
        }
    }
}

/// `12-40: struct Name`, indented by what it lies in.
fn outline(path: &Path, found: &[Defined], page: &Page) -> ToolOutput {
    let lines = found.iter().map(|Defined { first, last, depth, text }| {
        let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
        format!("{}{lines}: {text}\n", "  ".repeat(*depth))
    });
    let count = found.len() as u64;
    let (text, shown) = page.fill(lines);
    let text = match count {
        0 => format!("There are no symbols in `{}`.", path.display()),
        _ => text + &page.note(shown, count, "symbols"),
    };
    ToolOutput::text(text.trim_end()).show(format!("Found {}", counted(count, "symbol")))
}
