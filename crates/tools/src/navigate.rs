//! [`Navigate`] (`navigate`): lists a folder's entries, or a file's outline or imports.
use crate::{
    FindSettings,
    aliases::{ACTION, FILE, FOLDER, LIMIT},
    code::{self, Code, Definition},
    examples::examples_for,
    files::{Place, blocking},
    list::list_folder,
    report::{Page, counted},
    watch::Watch,
};
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};

pub(crate) struct Navigate(pub(crate) FindSettings);

/// Find your way: list a folder, or see a source file's outline (what it defines, with line numbers) or imports.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// `list` a folder, `outline` or `imports` of a file.
    action: Option<Action>,
    /// The folder or file; the workspace if left out.
    path: Option<PathBuf>,
    #[schemars(extend("x-hidden" = true))]
    limit: Option<usize>,
    #[schemars(extend("x-hidden" = true))]
    offset: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Outline,
    Imports,
}

impl Tool for Navigate {
    const NAME: &'static str = "navigate";
    const ALIASES: Aliases = Aliases {
        names: &[
            "outline",
            "file_outline",
            "get_file_outline",
            "list_code_definition_names",
            "document_symbols",
        ],
        parameters: &[ACTION, FILE, FOLDER, LIMIT],
    };
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(
            args.path.as_ref().map_or_else(|| workspace.to_owned(), |path| workspace.join(path)),
        )]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (ctx, settings) = (ctx.clone(), self.0.clone());
        blocking(move || navigate(&ctx, args, &settings)).await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

fn navigate(ctx: &ToolContext, args: Args, settings: &FindSettings) -> Result<ToolOutput, ToolError> {
    let path = args.path.unwrap_or_default();
    let page = Page::new(args.offset, args.limit, settings);
    let meant = if ctx.path(&path).is_dir() { Action::List } else { Action::Outline };
    match args.action.unwrap_or(meant) {
        Action::List => list_folder(ctx, path, args.limit, args.offset, settings),
        Action::Outline => outlined(ctx, &path, &page),
        Action::Imports => Ok(imports(&path, &code_of(ctx, &path, "see the imports of")?, &page)),
    }
}

/// What the file defines, by the grammar of its language.
pub(crate) fn outlined(ctx: &ToolContext, path: &Path, page: &Page) -> Result<ToolOutput, ToolError> {
    Ok(outline(path, &code_of(ctx, path, "outline")?, page))
}

fn code_of(ctx: &ToolContext, path: &Path, verb: &str) -> Result<Code, ToolError> {
    let content = Place::new(ctx, path).content(verb, code::MAX_SOURCE)?;
    let Some(language) = code::language_of(path) else {
        let why = format!("cannot {verb} `{}`: its language is not known", path.display());
        let hint = format!("use `read` or `grep`; known are {}", code::known());
        return Err(ToolError::new(ToolErrorKind::User, why).hint(hint));
    };
    let watch = Watch::new(ctx);
    let code = code::code(language, content, &watch);
    watch.done()?;
    code.ok_or_else(|| {
        let why = format!("cannot {verb} `{}`: understanding it takes too long", path.display());
        ToolError::new(ToolErrorKind::User, why).hint("use `read` or `grep`")
    })
}

fn outline(path: &Path, code: &Code, page: &Page) -> ToolOutput {
    let what = "definition";
    report(path, code.definitions.iter().map(line), code.definitions.len(), what, page)
}

/// `12-40: struct Name`, indented by what it lies in.
fn line(definition: &Definition) -> String {
    let Definition { first, last, depth, line, .. } = definition;
    let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
    format!("{}{lines}: {line}\n", "  ".repeat(*depth))
}

fn imports(path: &Path, code: &Code, page: &Page) -> ToolOutput {
    let lines = code.imports.iter().map(|(line, text)| format!("{line}: {text}\n"));
    report(path, lines, code.imports.len(), "import", page)
}

fn report(
    path: &Path,
    lines: impl Iterator<Item = String>,
    number: usize,
    what: &str,
    page: &Page,
) -> ToolOutput {
    let found = format!("Found {}", counted(number as u64, what));
    let many = format!("{what}s");
    let (text, shown) = page.fill(lines);
    let text = match number {
        0 => format!("There are no {many} in `{}`.", path.display()),
        number => text + &page.note(shown, number as u64, &many),
    };
    ToolOutput::text(text.trim_end()).show(found).details(json!({many: number, "shown": shown}))
}
