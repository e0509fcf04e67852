//! [`Glob`] (`glob`): finds files by a pattern of their path.
use crate::{
    FindSettings,
    aliases::{ALL, FOLDER, LIMIT},
    examples::examples_for,
    files::blocking,
    first::First,
    pattern::{self, FilePattern},
    report::{Page, counted},
    walk::{Root, Rules, walk},
    watch::Watch,
};
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolOutput};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

pub(crate) struct Glob(pub(crate) FindSettings);

/// Find files by a pattern of their path. Sorted by path; leaves out hidden files and what `.gitignore` names.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// For example `*.rs` (at any depth) or `src/**/*.{ts,tsx}`.
    pattern: String,
    /// Folder to look in; the workspace if left out.
    path: Option<PathBuf>,
    /// At most so many.
    #[schemars(extend("x-hidden" = true))]
    limit: Option<usize>,
    /// Leave out so many at the beginning.
    #[schemars(extend("x-hidden" = true))]
    offset: Option<usize>,
    /// Also hidden and ignored files.
    #[schemars(extend("x-hidden" = true))]
    all: Option<bool>,
    #[schemars(extend("x-hidden" = true))]
    ignore_case: Option<bool>,
}

impl Tool for Glob {
    const NAME: &'static str = "glob";
    const ALIASES: Aliases = Aliases {
        names: &[
            "find_files",
            "file_search",
            "find",
            "fd",
            "glob_search",
            "find_by_name",
            "list_files_by_pattern",
        ],
        parameters: &[
            ("pattern", &["query", "glob", "glob_pattern"]),
            FOLDER,
            LIMIT,
            ALL,
            ("ignore_case", &["case_insensitive"]),
        ],
    };
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(workspace.join(folder_of(args).0))]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (ctx, settings) = (ctx.clone(), self.0.clone());
        blocking(move || {
            let (folder, rest) = folder_of(&args);
            let ignore_case = args.ignore_case == Some(true);
            let wanted = Wanted {
                matches: &{
                    let pattern = FilePattern::new(&rest, ignore_case)?;
                    move |path| pattern.matches(path)
                },
                rules: Rules {
                    hidden: args.all == Some(true) || pattern::asks_for_hidden(&rest),
                    ignored: args.all == Some(true),
                    types: None,
                },
                page: Page::new(args.offset, args.limit, &settings),
                called: &args.pattern,
            };
            files(&ctx, &folder, &wanted)
        })
        .await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// The folder that the call names, with what its pattern adds to it, and the rest of the pattern.
fn folder_of(args: &Args) -> (PathBuf, String) {
    let (folder, rest) = pattern::split(&args.pattern);
    (args.path.clone().unwrap_or_default().join(folder), rest)
}

/// Which files are looked for.
pub(crate) struct Wanted<'a> {
    pub(crate) matches: &'a (dyn Fn(&Path) -> bool + Sync),
    pub(crate) rules: Rules,
    pub(crate) page: Page,
    /// Their name for the model.
    pub(crate) called: &'a str,
}

/// The wanted files below `folder`, by path.
pub(crate) fn files(ctx: &ToolContext, folder: &Path, wanted: &Wanted<'_>) -> Result<ToolOutput, ToolError> {
    let root = Root::folder(ctx, folder, "look for files in")?;
    let watch = Watch::new(ctx);
    let (first, number) = find(&root, wanted, &watch);
    watch.done()?;
    if number == 0 {
        let text = format!("No files match `{}` in {}.{}", wanted.called, root.said(), wanted.rules.note());
        return Ok(ToolOutput::text(text + &watch.note())
            .show("Found no files")
            .details(json!({"files": 0})));
    }
    let (mut text, shown) = wanted.page.fill(first.iter().map(|(path, ())| root.called(path) + "\n"));
    text += &wanted.page.note(shown, number, "files");
    let found = format!("Found {}", counted(number, "file"));
    let details = json!({"files": number, "shown": shown, "unreadable": watch.unreadable()});
    Ok(ToolOutput::text(text.trim_end().to_owned() + &watch.note()).show(found).details(details))
}

/// The first files, and how many there are in all.
fn find(root: &Root, wanted: &Wanted<'_>, watch: &Watch<'_>) -> (First<()>, u64) {
    let most = wanted.page.end();
    let (all, number) = (Mutex::new(First::new(most)), AtomicU64::new(0));
    walk(root, &wanted.rules, watch, || {
        let mut own = Own { first: First::new(most), all: &all, number: 0, sum: &number };
        move |_, path| {
            watch.files.fetch_add(1, Relaxed);
            if (wanted.matches)(path) {
                watch.found.fetch_add(1, Relaxed);
                own.number += 1;
                own.first.push(path, 1, ());
            }
        }
    });
    (all.into_inner(), number.into_inner())
}

/// What one thread found, merged with the others' when it ends.
struct Own<'a> {
    first: First<()>,
    all: &'a Mutex<First<()>>,
    number: u64,
    sum: &'a AtomicU64,
}

impl Drop for Own<'_> {
    fn drop(&mut self) {
        self.sum.fetch_add(self.number, Relaxed);
        let own = std::mem::replace(&mut self.first, First::new(0));
        self.all.lock().append(own);
    }
}
