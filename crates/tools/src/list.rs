//! [`List`] (`list`): lists what a folder holds.
use crate::{
    FindSettings,
    aliases::{ALL, FOLDER},
    examples::examples_for,
    files::blocking,
    report::{Page, counted},
    walk::{Root, Rules, Shown, shown},
    watch::Watch,
};
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use ignore::{DirEntry, WalkBuilder, overrides::OverrideBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

pub(crate) struct List(pub(crate) FindSettings);

/// List a folder: folders end in `/`, files come with their size. Leaves out what `.gitignore` names.
#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The folder; the workspace if left out.
    path: Option<PathBuf>,
    /// How many levels of folders, 1 if left out.
    depth: Option<usize>,
    /// Also what is ignored.
    #[schemars(extend("x-hidden" = true))]
    all: Option<bool>,
    /// All levels.
    #[schemars(extend("x-hidden" = true))]
    recursive: Option<bool>,
    /// Patterns of what to leave out.
    #[serde(default)]
    #[schemars(extend("x-hidden" = true))]
    ignore: Vec<String>,
    #[schemars(extend("x-hidden" = true))]
    limit: Option<usize>,
    #[schemars(extend("x-hidden" = true))]
    offset: Option<usize>,
}

impl Tool for List {
    const NAME: &'static str = "list";
    const ALIASES: Aliases = Aliases {
        names: &["ls", "list_dir", "list_directory", "list_files", "list_folder", "dir", "tree", "read_dir"],
        parameters: &[FOLDER, ("depth", &["max_depth", "levels"]), ALL],
    };
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(
            args.path.as_ref().map_or_else(|| workspace.to_owned(), |path| workspace.join(path)),
        )]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (ctx, settings) = (ctx.clone(), self.0.clone());
        blocking(move || list(&ctx, &args, &settings)).await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// Lists one level, for `navigate`.
pub(crate) fn list_folder(
    ctx: &ToolContext,
    path: PathBuf,
    limit: Option<usize>,
    offset: Option<usize>,
    settings: &FindSettings,
) -> Result<ToolOutput, ToolError> {
    list(ctx, &Args { path: Some(path), limit, offset, ..Args::default() }, settings)
}

fn list(ctx: &ToolContext, args: &Args, settings: &FindSettings) -> Result<ToolOutput, ToolError> {
    let root = Root::folder(ctx, args.path.as_deref().unwrap_or("".as_ref()), "list")?;
    let watch = Watch::new(ctx);
    let (page, mut number) = (Page::new(args.offset, args.limit, settings), 0);
    let walker = walker(&root, args, &watch)?
        .build()
        .filter_map(|entry| entry.map_err(|e| watch.could_not_read(&e)).ok());
    let below = walker.filter(|entry| entry.depth() > 0).take_while(|_| watch.goes_on());
    let differing = Shown::below(&root, ctx);
    let lines: Box<dyn Iterator<Item = String>> = match differing.is_empty() {
        true => Box::new(below.map(|entry| line(&entry))),
        false => Box::new(as_shown(below, &root, args, &differing).into_iter()),
    };
    let mut entries = lines.inspect(|_| number += 1);
    let (mut text, shown) = page.fill(entries.by_ref());
    entries.for_each(drop);
    watch.done()?;
    text += &page.note(shown, number, "entries");
    if number == 0 {
        let ignored = if args.all == Some(true) { "" } else { " that is not ignored" };
        text = format!("There is nothing in {}{ignored}.", root.said());
    }
    let details = json!({"entries": number, "shown": shown, "unreadable": watch.unreadable()});
    let found = counted(number, "entry");
    Ok(ToolOutput::text(text.trim_end().to_owned() + &watch.note()).show(found).details(details))
}

/// The lines with the files that the view shows, in place of those in the folder itself.
fn as_shown(
    entries: impl Iterator<Item = DirEntry>,
    root: &Root,
    args: &Args,
    differing: &Shown,
) -> Vec<String> {
    let mut lines: BTreeMap<PathBuf, String> = BTreeMap::new();
    for entry in entries.filter(|entry| !differing.replaces(entry.path())) {
        lines.insert(root.below(entry.path()).to_owned(), line(&entry));
    }
    for (real, lies) in differing.files(&rules(args)) {
        let path = root.below(real);
        let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let all = above.map(|folder| (folder, "/".to_owned())).chain([(path, size_of(lies))]);
        for (path, rest) in all.filter(|(path, _)| depth(args).is_none_or(|most| path.iter().count() <= most))
        {
            let indent = "  ".repeat(path.iter().count().saturating_sub(1));
            let name = shown(path.file_name().unwrap_or_default().as_ref());
            lines.entry(path.to_owned()).or_insert_with(|| format!("{indent}{name}{rest}\n"));
        }
    }
    lines.into_values().collect()
}

fn size_of(path: &Path) -> String {
    fs::metadata(path).map_or(String::new(), |found| size(found.len()))
}

fn rules(args: &Args) -> Rules {
    Rules { hidden: true, ignored: args.all == Some(true), types: None }
}

/// Levels of folders; `None` for all.
fn depth(args: &Args) -> Option<usize> {
    if args.recursive == Some(true) { None } else { Some(args.depth.unwrap_or(1).max(1)) }
}

fn walker(root: &Root, args: &Args, watch: &Watch<'_>) -> Result<WalkBuilder, ToolError> {
    let mut walker = rules(args).walker(root, watch);
    walker.max_depth(depth(args)).sort_by_file_name(|a, b| a.cmp(b));
    let mut left_out = OverrideBuilder::new(&root.real);
    for pattern in &args.ignore {
        left_out.add(&format!("!{pattern}")).map_err(refused)?;
    }
    walker.overrides(left_out.build().map_err(refused)?);
    Ok(walker)
}

fn refused(error: ignore::Error) -> ToolError {
    ToolError::new(ToolErrorKind::User, format!("cannot leave out what `ignore` names: {error}"))
        .hint("for example: `*.log`, `build/`")
}

/// Indented by its depth.
fn line(entry: &DirEntry) -> String {
    let indent = "  ".repeat(entry.depth().saturating_sub(1));
    let name = shown(entry.file_name().as_ref());
    let kind = entry.file_type();
    let rest = match kind {
        Some(kind) if kind.is_dir() => "/".into(),
        Some(kind) if kind.is_file() => entry.metadata().map_or(String::new(), |found| size(found.len())),
        Some(kind) if kind.is_symlink() => {
            fs::read_link(entry.path()).map_or(String::new(), |target| format!(" -> {}", shown(&target)))
        }
        _ => "  (no regular file)".into(),
    };
    format!("{indent}{name}{rest}\n")
}

/// `  7 B`, `  1.5 KB`: enough to see whether it can be read at once.
fn size(bytes: u64) -> String {
    let units = ["KB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("  {bytes} B");
    }
    let mut size = bytes as f64 / 1_000.0;
    let mut unit = 0;
    while size >= 999.95 && unit + 1 < units.len() {
        size /= 1_000.0;
        unit += 1;
    }
    format!("  {size:.1} {}", units[unit])
}
