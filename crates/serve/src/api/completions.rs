//! [`completions`]: what the end of a text that a person types can become: commands, files and folders, and what MCP servers offer.
use super::{
    Context,
    body::{Body, Id, blocking},
};
use crate::error::{Answer, ApiError, ErrorBody};
use axum::Json;
use haft_engine::Engine;
use haft_present::{
    host::Host,
    matching::{fitting, mention},
    typed::COMMANDS,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use utoipa::ToSchema;

/// Values of an answer: what a person looks through.
const MAX_VALUES: usize = 40;
/// How long the files of a folder are remembered: while a name is typed.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Folders whose files are remembered.
const MAX_FOLDERS: usize = 16;

/// A text that is being typed
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TypedText {
    /// Text of the prompt, up to the cursor
    typed: String,
}

/// What the end of a text can become
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct CompletionList {
    /// Where the values begin in `typed`, in UTF-16 code units, as JavaScript counts
    start: usize,
    /// The best first
    values: Vec<Completion>,
}

/// What can stand at the end of a text
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Completion {
    /// What stands there then: `/plan`, `@src/main.rs`
    text: String,
    /// A few words about it; may be empty
    about: String,
    kind: CompletionKind,
}

/// Kind of a completion
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompletionKind {
    /// `POST …/typed` takes it
    Command,
    File,
    Folder,
    /// An MCP server offers it
    Offer,
}

/// The files of folders in which a person types a name.
#[derive(Default)]
pub(crate) struct FileLists(Mutex<HashMap<PathBuf, Listed>>);

/// Files and folders of a workspace, as they were at a moment.
struct Listed {
    at: Instant,
    files: Arc<Vec<String>>,
}

impl FileLists {
    fn of(&self, host: &dyn Host, workspace: &Path) -> Arc<Vec<String>> {
        if let Some(listed) = self.0.lock().get(workspace)
            && listed.at.elapsed() < REMEMBERED
        {
            return listed.files.clone();
        }
        let files = Arc::new(with_folders(host.files(workspace)));
        let mut known = self.0.lock();
        known.retain(|_, listed| listed.at.elapsed() < REMEMBERED);
        if known.len() < MAX_FOLDERS {
            known.insert(workspace.to_owned(), Listed { at: Instant::now(), files: files.clone() });
        }
        files
    }
}

/// Files, and the folders that they lie in, which end with a slash.
fn with_folders(files: Vec<String>) -> Vec<String> {
    let folders: BTreeSet<String> = files
        .iter()
        .flat_map(|file| file.match_indices('/').map(|(end, _)| file[..=end].to_owned()))
        .collect();
    folders.into_iter().chain(files).collect()
}

/// List what the end of a text that is being typed can become
///
/// A `/` at the beginning completes commands and saved prompts, `@` files and folders of the workspace; either also what MCP
/// servers offer.
#[utoipa::path(post, path = "/v1/sessions/{id}/completions", tag = "sessions", request_body = TypedText,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = CompletionList), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn completions(
    context: Context,
    Id(id): Id,
    Body(TypedText { typed }): Body<TypedText>,
) -> Answer<Json<CompletionList>> {
    let engine = context.hub.engine_of(&id).await?;
    if let Some(offered) = offered(&engine, &typed).await {
        return Ok(Json(offered));
    }
    let list = blocking(move || Ok(known(&context, &engine.setup().workspace, &typed)));
    list.await.map(Json)
}

/// What an MCP server has for `/SERVER:…` and `@SERVER:…`.
async fn offered(engine: &Engine, typed: &str) -> Option<CompletionList> {
    let word = last_word(typed).trim_start_matches(['(', '"']);
    let command = typed.strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    command.or(word.strip_prefix('@')).filter(|name| name.contains(':'))?;
    for source in &engine.setup().sources {
        let Some(found) = source.complete(typed).await else { continue };
        let start = typed.get(..found.start)?.encode_utf16().count();
        let one_line = found.values.into_iter().filter(|value| !value.chars().any(char::is_control));
        let values =
            one_line.map(|text| Completion { text, about: String::new(), kind: CompletionKind::Offer });
        return Some(CompletionList { start, values: values.take(MAX_VALUES).collect() });
    }
    None
}

fn known(context: &Context, workspace: &Path, typed: &str) -> CompletionList {
    let host = &context.hub.settings().host;
    if let Some(name) = typed.strip_prefix('/').filter(|rest| !rest.contains([' ', '\n', '/'])) {
        return CompletionList { start: 0, values: commands(host, workspace, name) };
    }
    let word = last_word(typed);
    let Some(name) = word.strip_prefix('@') else { return CompletionList::default() };
    let files = context.files.of(host, workspace);
    let found = fitting(files.iter().map(String::as_str), name).into_iter().take(MAX_VALUES);
    let value = |place: usize| {
        let kind = if files[place].ends_with('/') { CompletionKind::Folder } else { CompletionKind::File };
        Completion { text: mention(&files[place]), about: String::new(), kind }
    };
    let start = typed.encode_utf16().count() - word.encode_utf16().count();
    CompletionList { start, values: found.map(value).collect() }
}

/// Commands and saved prompts: the name that was typed whole first, then those that begin so.
fn commands(host: &dyn Host, workspace: &Path, typed: &str) -> Vec<Completion> {
    let own = COMMANDS.iter().map(|(name, _, about)| ((*name).to_owned(), (*about).to_owned()));
    let saved = host.prompts(workspace).into_iter().map(|saved| (saved.name, saved.description));
    let all: Vec<(String, String)> = own.chain(saved).collect();
    let mut found = fitting(all.iter().map(|(name, _)| name.as_str()), typed);
    found.sort_by_key(|place| (all[*place].0 != typed, !all[*place].0.starts_with(typed)));
    let value = |place: usize| {
        let (name, about) = all[place].clone();
        Completion { text: format!("/{name}"), about, kind: CompletionKind::Command }
    };
    found.into_iter().take(MAX_VALUES).map(value).collect()
}

fn last_word(typed: &str) -> &str {
    typed.rsplit(char::is_whitespace).next().unwrap_or_default()
}

/// The prompt that a saved one stands for.
pub(super) fn expanded(context: &Context, id: &str, text: &str) -> Answer<Option<String>> {
    let workspace = context.hub.find(id)?.place.workspace;
    let host = &context.hub.settings().host;
    let found = host.expand(&workspace, text, "POST …/completions").map_err(ApiError::from)?;
    let found = found.in_session(text, "fork the session, or begin one with this agent and model")?;
    Ok((found != text).then_some(found))
}
