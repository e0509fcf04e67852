//! [`Grep`] (`grep`): finds lines that match a regular expression, in all the files below a folder.
use crate::{
    FindSettings,
    aliases::{ALL, FILE, FOLDER, LIMIT},
    examples::examples_for,
    files::blocking,
    first::First,
    pattern::{FilePattern, asks_for_hidden},
    report::Page,
    walk::{Root, Rules, walk},
    watch::Watch,
};
use found::Found;
use haft_core::{Aliases, Effect, Example, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use ignore::types::TypesBuilder;
use parking_lot::Mutex;
use query::{Invalid, Query};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

mod found;
mod hits;
mod query;

pub(crate) use query::containing;

pub(crate) struct Grep(pub(crate) FindSettings);

/// Search the contents of files with a regular expression. Leaves out hidden and binary files and what `.gitignore` names.
#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The regular expression (no look-around).
    pattern: String,
    /// File or folder to search; the workspace if left out.
    path: Option<PathBuf>,
    /// Only files that match, e.g. `*.rs` or `src/**/*.{ts,tsx}`.
    glob: Option<String>,
    ignore_case: Option<bool>,
    /// Lines to show around each match.
    context: Option<usize>,
    /// Lines, only the paths of files, or the number of lines in each.
    #[schemars(extend("x-accepts" = {"type": "string", "enum": [
        "content", "files", "count", "lines", "matches", "files_with_matches", "paths"
    ]}))]
    output: Option<Output>,
    /// Lines before each match.
    #[schemars(extend("x-hidden" = true))]
    before: Option<usize>,
    /// Lines after each match.
    #[schemars(extend("x-hidden" = true))]
    after: Option<usize>,
    /// A match may go over several lines.
    #[schemars(extend("x-hidden" = true))]
    multiline: Option<bool>,
    /// The pattern is plain text.
    #[schemars(extend("x-hidden" = true))]
    literal: Option<bool>,
    /// Only whole words.
    #[schemars(extend("x-hidden" = true))]
    word: Option<bool>,
    /// Kind of files, e.g. `rust`.
    #[serde(rename = "type")]
    #[schemars(extend("x-hidden" = true))]
    kind: Option<String>,
    /// Also hidden and ignored files.
    #[schemars(extend("x-hidden" = true))]
    all: Option<bool>,
    #[schemars(extend("x-hidden" = true))]
    limit: Option<usize>,
    #[schemars(extend("x-hidden" = true))]
    offset: Option<usize>,
    /// Lines always have their numbers.
    #[expect(dead_code, reason = "what others ask for is always so")]
    #[schemars(extend("x-hidden" = true))]
    line_numbers: Option<bool>,
}

impl Args {
    /// The arguments for a call of `search`.
    pub(crate) fn of(
        pattern: String,
        path: Option<PathBuf>,
        limit: Option<usize>,
        offset: Option<usize>,
    ) -> Self {
        Self { pattern, path, limit, offset, ..Self::default() }
    }

    /// All lines with `word` as a whole word.
    pub(crate) fn of_word(word: String) -> Self {
        Self { pattern: word, literal: Some(true), word: Some(true), ..Self::default() }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Output {
    #[default]
    #[serde(alias = "lines", alias = "matches")]
    Content,
    #[serde(alias = "files_with_matches", alias = "paths")]
    Files,
    Count,
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const ALIASES: Aliases = Aliases {
        names: &[
            "grep_search",
            "search_files",
            "ripgrep",
            "rg",
            "search_file_content",
            "grep_files",
            "codebase_grep",
            "search_text",
            "find_in_files",
        ],
        parameters: &[
            ("pattern", &["query", "regex", "search"]),
            FILE,
            FOLDER,
            ("glob", &["include", "include_pattern", "file_pattern"]),
            ("ignore_case", &["-i", "case_insensitive"]),
            ("after", &["-A", "after_context"]),
            ("before", &["-B", "before_context"]),
            ("context", &["-C", "context_lines"]),
            ("line_numbers", &["-n"]),
            ("output", &["output_mode", "mode"]),
            ("literal", &["fixed_strings", "-F"]),
            ("word", &["-w"]),
            ("multiline", &["-U"]),
            LIMIT,
            ALL,
        ],
    };
    type Args = Args;

    fn effects(&self, args: &Args, workspace: &Path) -> Vec<Effect> {
        vec![Effect::Read(
            args.path.as_ref().map_or_else(|| workspace.to_owned(), |path| workspace.join(path)),
        )]
    }

    async fn run(&self, args: Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (ctx, settings) = (ctx.clone(), self.0.clone());
        blocking(move || grep(&ctx, &args, &settings)).await
    }

    fn examples(&self) -> Vec<Example> {
        examples_for(Self::NAME)
    }
}

/// Searches for an invalid expression as plain text; if it finds nothing, the model reads what is wrong with the
/// expression.
pub(crate) fn grep(ctx: &ToolContext, args: &Args, settings: &FindSettings) -> Result<ToolOutput, ToolError> {
    let root = Root::new(ctx, args.path.as_deref().unwrap_or("".as_ref()), "search")?;
    let page = Page::new(args.offset, args.limit, settings);
    let search = |query: &Query| search(ctx, &root, query, args, &page);
    let invalid = match Query::new(args, settings) {
        Ok(query) => return Ok(search(&query)?.output(&root, args, &page)),
        Err(invalid) => invalid,
    };
    let found = search(&Query::literal(args, settings).map_err(|Invalid(_)| refused(args, &invalid))?)?;
    if found.matches == 0 {
        return Err(refused(args, &invalid));
    }
    let mut output = found.output(&root, args, &page);
    output.for_model +=
        &format!("\n[searched for as plain text: it is not a regular expression: {}]", invalid.0);
    Ok(output)
}

fn refused(args: &Args, Invalid(why): &Invalid) -> ToolError {
    let message =
        format!("cannot search for `{}`: it is not a valid regular expression: {why}", args.pattern);
    let escaped = query::escaped(&args.pattern);
    let hint = format!("use a valid one, such as `class.*Test`; if it is meant literally: `{escaped}`");
    ToolError::new(ToolErrorKind::Validation, message).hint(hint)
}

fn search(
    ctx: &ToolContext,
    root: &Root,
    query: &Query,
    args: &Args,
    page: &Page,
) -> Result<Found, ToolError> {
    let (rules, glob) = (rules(args)?, glob(args)?);
    let watch = Watch::new(ctx);
    let first = Mutex::new(First::new(page.end()));
    let (files, binary) = (AtomicU64::new(0), AtomicU64::new(0));
    walk(root, &rules, &watch, || {
        let mut searcher = query.searcher(page.end());
        let (first, files, binary, watch, glob) = (&first, &files, &binary, &watch, &glob);
        move |real, path| {
            if !path.as_os_str().is_empty() && glob.as_ref().is_some_and(|glob| !glob.matches(path)) {
                return;
            }
            watch.files.fetch_add(1, Relaxed);
            match searcher.search(real, watch) {
                Ok(hits) if hits.binary => _ = binary.fetch_add(1, Relaxed),
                Ok(hits) if hits.matches == 0 => {}
                Ok(hits) => {
                    files.fetch_add(1, Relaxed);
                    watch.found.fetch_add(hits.matches, Relaxed);
                    let mut first = first.lock();
                    first.push(path, hits.results(), hits);
                }
                Err(error) => watch.could_not_open(&error),
            }
        }
    });
    watch.done()?;
    let (note, unreadable) = (watch.note(), watch.unreadable());
    let (files, binary) = (files.into_inner(), binary.into_inner());
    let (searched, matches) = (watch.files.into_inner(), watch.found.into_inner());
    let first = first.into_inner();
    Ok(Found { first, matches, files, searched, binary, unreadable, rules, note })
}

fn rules(args: &Args) -> Result<Rules, ToolError> {
    let all = args.all == Some(true);
    let mut types = None;
    if let Some(kind) = &args.kind {
        let mut builder = TypesBuilder::new();
        builder.add_defaults().select(kind);
        types = Some(builder.build().map_err(|_| unknown_type(kind))?);
    }
    let hidden = all || args.glob.as_deref().is_some_and(asks_for_hidden);
    Ok(Rules { hidden, ignored: all, types })
}

fn unknown_type(kind: &str) -> ToolError {
    ToolError::new(
        ToolErrorKind::User,
        format!("cannot search files of type `{kind}`: no such type is known"),
    )
    .hint("use `glob` instead, e.g. `*.rs`")
}

fn glob(args: &Args) -> Result<Option<FilePattern>, ToolError> {
    args.glob.as_deref().filter(|glob| !glob.is_empty()).map(|glob| FilePattern::new(glob, false)).transpose()
}
